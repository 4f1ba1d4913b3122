"""Pictures of fitted trees, of what forests find important, of how sure they are, of effects."""

from spinney.plotting._effects import plot_effect_intervals, plot_targeting
from spinney.plotting._importance import plot_importance
from spinney.plotting._intervals import plot_prediction_intervals, plot_quantile_fan
from spinney.plotting._partial_dependence import plot_partial_dependence
from spinney.plotting._survival import plot_survival_function
from spinney.tree import plot_tree

__all__ = [
    "plot_effect_intervals",
    "plot_importance",
    "plot_partial_dependence",
    "plot_prediction_intervals",
    "plot_quantile_fan",
    "plot_survival_function",
    "plot_targeting",
    "plot_tree",
]
