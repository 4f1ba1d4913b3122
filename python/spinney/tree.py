"""The estimators of single trees."""

from spinney._decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from spinney._extra_tree import ExtraTreeClassifier, ExtraTreeRegressor

__all__ = [
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
]
