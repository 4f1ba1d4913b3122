"""Fast decision trees and forests with exact splits, in scikit-learn's interface.

Modules and the names that they define are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from spinney._spinney import __version__

if TYPE_CHECKING:
    from spinney import dask as dask
    from spinney import (
        dataset,
        extra_trees,
        forest,
        inspection,
        lazy,
        model_selection,
        neighbours,
        plotting,
        tree,
    )
    from spinney import ray as ray
    from spinney.conversion import from_sklearn
    from spinney.dataset import Dataset
    from spinney.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
    from spinney.forest import RandomForestClassifier, RandomForestRegressor
    from spinney.inspection import export_graphviz, export_text
    from spinney.lazy import LazyForestClassifier, LazyForestRegressor
    from spinney.plotting import plot_importance, plot_tree
    from spinney.storage import load
    from spinney.tree import (
        DecisionTreeClassifier,
        DecisionTreeRegressor,
        ExtraTreeClassifier,
        ExtraTreeRegressor,
    )

__all__ = [
    "Dataset",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "LazyForestClassifier",
    "LazyForestRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "__version__",
    "dataset",
    "export_graphviz",
    "export_text",
    "extra_trees",
    "forest",
    "from_sklearn",
    "inspection",
    "lazy",
    "load",
    "model_selection",
    "neighbours",
    "plot_importance",
    "plot_tree",
    "plotting",
    "tree",
]

# The public modules, and the names that the package takes from each.
_MODULES = {
    "conversion": ("from_sklearn",),
    "dataset": ("Dataset",),
    "extra_trees": ("ExtraTreesClassifier", "ExtraTreesRegressor"),
    "forest": ("RandomForestClassifier", "RandomForestRegressor"),
    "inspection": ("export_graphviz", "export_text"),
    "lazy": ("LazyForestClassifier", "LazyForestRegressor"),
    "model_selection": (),
    "neighbours": (),
    "plotting": ("plot_importance", "plot_tree"),
    "storage": ("load",),
    "tree": (
        "DecisionTreeClassifier",
        "DecisionTreeRegressor",
        "ExtraTreeClassifier",
        "ExtraTreeRegressor",
    ),
}
# Public modules that need an optional package. A list of the names of the package is without them,
# because whoever loads all names of such a list need not have these packages.
_OPTIONAL = ("dask", "ray")
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load a public module, or the module that defines a public name."""
    is_module = name in _MODULES or name in _OPTIONAL
    if not is_module and name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_MODULE_OF.get(name, name)}")
    value = module if is_module else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the names of the package, whether or not they are loaded yet."""
    return sorted({*globals(), *__all__})
