"""Fast decision trees and forests with exact splits, in scikit-learn's interface.

Modules and the names that they define are loaded when they are first used.
"""

from typing import TYPE_CHECKING

from spinney._common.lazy import load_when_used
from spinney._common.moved import explain_moved_modules
from spinney._spinney import __version__

if TYPE_CHECKING:
    from spinney import (
        causal,
        conformal,
        conversion,
        dataset,
        ensemble,
        feature_selection,
        impute,
        inspection,
        model_selection,
        plotting,
        storage,
        survival,
        tree,
    )
    from spinney import dask as dask
    from spinney import ray as ray
    from spinney.conversion import from_sklearn, to_sklearn
    from spinney.dataset import Dataset
    from spinney.ensemble import (
        AdaBoostClassifier,
        AdaBoostRegressor,
        BaggingClassifier,
        BaggingRegressor,
        BalancedRandomForestClassifier,
        ExtraTreesClassifier,
        ExtraTreesQuantileRegressor,
        ExtraTreesRegressor,
        GradientBoostingClassifier,
        GradientBoostingRegressor,
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        IsolationForest,
        LazyForestClassifier,
        LazyForestRegressor,
        RandomForestClassifier,
        RandomForestQuantileRegressor,
        RandomForestRegressor,
        RandomTreesEmbedding,
        grow_with,
    )
    from spinney.plotting import plot_importance
    from spinney.storage import load
    from spinney.tree import (
        DecisionTreeClassifier,
        DecisionTreeRegressor,
        ExtraTreeClassifier,
        ExtraTreeRegressor,
        export_graphviz,
        export_text,
        plot_tree,
    )
else:
    __getattr__, __dir__ = load_when_used(
        __name__,
        {
            "spinney.conversion": ("from_sklearn", "to_sklearn"),
            "spinney.dataset": ("Dataset",),
            "spinney.ensemble": (
                "AdaBoostClassifier",
                "AdaBoostRegressor",
                "BaggingClassifier",
                "BaggingRegressor",
                "BalancedRandomForestClassifier",
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
            ),
            "spinney.plotting": ("plot_importance",),
            "spinney.storage": ("load",),
            "spinney.tree": (
                "DecisionTreeClassifier",
                "DecisionTreeRegressor",
                "ExtraTreeClassifier",
                "ExtraTreeRegressor",
                "export_graphviz",
                "export_text",
                "plot_tree",
            ),
        },
        (
            "causal",
            "conformal",
            "conversion",
            "dask",
            "dataset",
            "ensemble",
            "feature_selection",
            "impute",
            "inspection",
            "model_selection",
            "plotting",
            "ray",
            "storage",
            "survival",
            "tree",
        ),
    )

explain_moved_modules()

# Without `dask` and `ray`: whoever imports all names need not have these packages.
__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "BalancedRandomForestClassifier",
    "Dataset",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
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
    "__version__",
    "causal",
    "conformal",
    "conversion",
    "dataset",
    "ensemble",
    "export_graphviz",
    "export_text",
    "feature_selection",
    "from_sklearn",
    "grow_with",
    "impute",
    "inspection",
    "load",
    "model_selection",
    "plot_importance",
    "plot_tree",
    "plotting",
    "storage",
    "survival",
    "to_sklearn",
    "tree",
]
