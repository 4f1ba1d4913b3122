"""Forests: random forests, extra trees, lazy forests without stored trees, isolation forests."""

from typing import TYPE_CHECKING

from spinney._common.lazy import load_when_used

if TYPE_CHECKING:
    from spinney._cluster.pool import grow_with
    from spinney.ensemble._ada_boost import AdaBoostClassifier, AdaBoostRegressor
    from spinney.ensemble._bagging import BaggingClassifier, BaggingRegressor
    from spinney.ensemble._balanced_forest import BalancedRandomForestClassifier
    from spinney.ensemble._extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
    from spinney.ensemble._gradient_boosting import (
        GradientBoostingClassifier,
        GradientBoostingRegressor,
    )
    from spinney.ensemble._hist_gradient_boosting import (
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
    )
    from spinney.ensemble._isolation_forest import IsolationForest
    from spinney.ensemble._lazy import LazyForestClassifier, LazyForestRegressor
    from spinney.ensemble._lazy_base import Exploration
    from spinney.ensemble._quantile_forests import (
        ExtraTreesQuantileRegressor,
        RandomForestQuantileRegressor,
    )
    from spinney.ensemble._random_forest import RandomForestClassifier, RandomForestRegressor
    from spinney.ensemble._random_trees_embedding import RandomTreesEmbedding
else:
    __getattr__, __dir__ = load_when_used(
        __name__,
        {
            "spinney._cluster.pool": ("grow_with",),
            "spinney.ensemble._ada_boost": ("AdaBoostClassifier", "AdaBoostRegressor"),
            "spinney.ensemble._bagging": ("BaggingClassifier", "BaggingRegressor"),
            "spinney.ensemble._balanced_forest": ("BalancedRandomForestClassifier",),
            "spinney.ensemble._extra_trees": ("ExtraTreesClassifier", "ExtraTreesRegressor"),
            "spinney.ensemble._gradient_boosting": (
                "GradientBoostingClassifier",
                "GradientBoostingRegressor",
            ),
            "spinney.ensemble._hist_gradient_boosting": (
                "HistGradientBoostingClassifier",
                "HistGradientBoostingRegressor",
            ),
            "spinney.ensemble._isolation_forest": ("IsolationForest",),
            "spinney.ensemble._lazy": ("LazyForestClassifier", "LazyForestRegressor"),
            "spinney.ensemble._lazy_base": ("Exploration",),
            "spinney.ensemble._quantile_forests": (
                "ExtraTreesQuantileRegressor",
                "RandomForestQuantileRegressor",
            ),
            "spinney.ensemble._random_forest": (
                "RandomForestClassifier",
                "RandomForestRegressor",
            ),
            "spinney.ensemble._random_trees_embedding": ("RandomTreesEmbedding",),
        },
    )

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "BalancedRandomForestClassifier",
    "Exploration",
    "ExtraTreesClassifier",
    "ExtraTreesQuantileRegressor",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "IsolationForest",
    "LazyForestClassifier",
    "LazyForestRegressor",
    "RandomForestClassifier",
    "RandomForestQuantileRegressor",
    "RandomForestRegressor",
    "RandomTreesEmbedding",
    "grow_with",
]
