"""What fitted trees and forests say: as text, in the words of one prediction, and on average."""

from spinney._explain.one_prediction import ExplainedPrediction
from spinney.inspection._neighbours import class_prototypes, outlier_scores
from spinney.inspection._partial_dependence import partial_dependence
from spinney.tree import export_graphviz, export_text

__all__ = [
    "ExplainedPrediction",
    "class_prototypes",
    "export_graphviz",
    "export_text",
    "outlier_scores",
    "partial_dependence",
]
