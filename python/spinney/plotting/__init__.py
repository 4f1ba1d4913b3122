"""Pictures of fitted trees, and of what forests find important."""

from spinney.plotting._importance import plot_importance
from spinney.tree import plot_tree

__all__ = ["plot_importance", "plot_tree"]
