"""Forests: random forests, extra trees, and lazy forests, which predict without storing a tree."""

from typing import TYPE_CHECKING

from spinney._common.lazy import load_when_used

if TYPE_CHECKING:
    from spinney._cluster.pool import grow_with
    from spinney.ensemble._extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
    from spinney.ensemble._lazy import LazyForestClassifier, LazyForestRegressor
    from spinney.ensemble._lazy_base import Exploration
    from spinney.ensemble._random_forest import RandomForestClassifier, RandomForestRegressor
else:
    __getattr__, __dir__ = load_when_used(
        __name__,
        {
            "spinney._cluster.pool": ("grow_with",),
            "spinney.ensemble._extra_trees": ("ExtraTreesClassifier", "ExtraTreesRegressor"),
            "spinney.ensemble._lazy": ("LazyForestClassifier", "LazyForestRegressor"),
            "spinney.ensemble._lazy_base": ("Exploration",),
            "spinney.ensemble._random_forest": (
                "RandomForestClassifier",
                "RandomForestRegressor",
            ),
        },
    )

__all__ = [
    "Exploration",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "LazyForestClassifier",
    "LazyForestRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "grow_with",
]
