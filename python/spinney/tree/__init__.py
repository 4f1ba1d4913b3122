"""Single trees, and the functions that show them as text and as pictures."""

from typing import TYPE_CHECKING

from spinney._common.lazy import load_when_used

if TYPE_CHECKING:
    from spinney.tree._base import BaseDecisionTree
    from spinney.tree._decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
    from spinney.tree._extra_tree import ExtraTreeClassifier, ExtraTreeRegressor
    from spinney.tree._plot import plot_tree
    from spinney.tree._text import export_graphviz, export_text
else:
    __getattr__, __dir__ = load_when_used(
        __name__,
        {
            "spinney.tree._base": ("BaseDecisionTree",),
            "spinney.tree._decision_tree": ("DecisionTreeClassifier", "DecisionTreeRegressor"),
            "spinney.tree._extra_tree": ("ExtraTreeClassifier", "ExtraTreeRegressor"),
            "spinney.tree._plot": ("plot_tree",),
            "spinney.tree._text": ("export_graphviz", "export_text"),
        },
    )

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
