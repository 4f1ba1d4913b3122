"""Single trees, and the functions that show them as text and as pictures."""

from spinney.tree._base import BaseDecisionTree
from spinney.tree._decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from spinney.tree._extra_tree import ExtraTreeClassifier, ExtraTreeRegressor
from spinney.tree._plot import plot_tree
from spinney.tree._text import export_graphviz, export_text

__all__ = [
    "BaseDecisionTree",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "export_graphviz",
    "export_text",
    "plot_tree",
]
