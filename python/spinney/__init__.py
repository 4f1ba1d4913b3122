"""Fast decision trees and forests with exact splits, in scikit-learn's interface."""

from spinney._spinney import __version__
from spinney.conversion import from_sklearn
from spinney.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from spinney.forest import RandomForestClassifier, RandomForestRegressor
from spinney.inspection import export_text
from spinney.lazy import LazyForestClassifier, LazyForestRegressor
from spinney.storage import load
from spinney.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

__all__ = [
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
    "export_text",
    "from_sklearn",
    "load",
]
