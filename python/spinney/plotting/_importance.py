"""A picture of what features matter to a tree or forest, or matter at all."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spinney._common.checks import check_int, require_matplotlib
from spinney.causal import CausalForest
from spinney.ensemble._boosted_trees import BoostedTrees
from spinney.ensemble._forest import BaseForest
from spinney.feature_selection import Boruta
from spinney.plotting._frame import hide_frame
from spinney.tree import BaseDecisionTree
from spinney.tree._labels import cut_name
from spinney.tree._words import find_feature_names

_MAX_NAME = 32
_BLUE, _DARK, _GREY = "#8fc3e8", "#20425c", "#d9d9d9"


def plot_importance(
    estimator: Any,
    *,
    feature_names: Any = None,
    n_features: int | None = 20,
    ax: Any = None,
) -> Any:
    """Draw the importances of the features, and how they spread over the trees of a forest.

    A bar is the importance of a feature in `feature_importances_`. For a forest, a line goes from
    the tenth to the ninetieth percentile of the importances of the feature in single trees.

    For a :class:`~spinney.feature_selection.Boruta` there are boxes in the place of bars: the
    quartiles of the importances of a feature in all forests, and whiskers to the least and the
    largest. Confirmed features are blue, undecided ones white, rejected ones grey, and a line shows
    the median of the importances that features are compared with.

    Parameters
    ----------
    estimator : tree, forest or Boruta
        A fitted estimator of this package. Lazy forests have no importances.
    feature_names : array-like of shape (n_features_in_,), default=None
        Names of the features. None means those that `fit` saw, or else "x[0]", "x[1]" and so on.
    n_features : int, default=20
        Number of features to show, the most important ones. None means all.
    ax : matplotlib axes, default=None
        Where to draw. None means the current axes, or the axes of a new figure if there is none.

    Returns
    -------
    ax : matplotlib axes

    Raises
    ------
    TypeError, ValueError
        If an argument is illegal. The message names it.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spinney import RandomForestClassifier, plot_importance
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> ax = plot_importance(RandomForestClassifier(20, random_state=0).fit(X, y))
    >>> len(ax.get_yticklabels())
    4
    """
    kinds = (BaseDecisionTree, BaseForest, BoostedTrees, CausalForest, Boruta)
    if not isinstance(estimator, kinds):
        raise TypeError(
            "The 'estimator' parameter of plot_importance must be a tree, a forest, boosting or a "
            f"Boruta of spinney. Got {estimator!r} instead."
        )
    check_is_fitted(estimator)
    if n_features is not None:
        check_int("plot_importance", "n_features", n_features, 1, " or None")
    names = find_feature_names("plot_importance", estimator, feature_names, "x[{}]")
    if isinstance(estimator, Boruta):
        importances = np.nanmedian(estimator.importance_history_, axis=0)
    else:
        importances = estimator.feature_importances_
    # Of equally important features, the first ones.
    order = np.argsort(-importances, kind="stable")[:n_features]

    require_matplotlib("plot_importance")
    import matplotlib.pyplot as plt

    if ax is None and not plt.get_fignums():
        _, ax = plt.subplots(figsize=(6.4, 1.2 + 0.24 * len(order)), layout="constrained")
    elif ax is None:
        if not plt.gcf().axes:
            # The figure has no layout yet. This one leaves room for the names of the features.
            plt.gcf().set_layout_engine("constrained")
        ax = plt.gca()
    places = np.arange(len(order))
    if isinstance(estimator, Boruta):
        _draw_boxes(ax, estimator, order)
    else:
        _draw_bars(ax, estimator, importances, order)
    labels = [cut_name(names[feature], _MAX_NAME) for feature in order]
    ax.set_yticks(places, labels, parse_math=False)
    ax.invert_yaxis()
    ax.set_xlim(left=0)
    return hide_frame(ax)


def _draw_bars(
    ax: Any, estimator: Any, importances: NDArray[np.float64], order: NDArray[np.intp]
) -> None:
    places = np.arange(len(order))
    ax.barh(places, importances[order], color=_BLUE, height=0.7)
    if isinstance(estimator, BaseForest):
        low, high = np.percentile(estimator.tree_importances()[:, order], [10, 90], axis=0)
        ax.hlines(places, low, high, color=_DARK, linewidth=1.5)
        ax.set_xlabel("importance; line: 10th to 90th percentile of the trees")
    else:
        ax.set_xlabel("importance")


def _draw_boxes(ax: Any, selector: Boruta, order: NDArray[np.intp]) -> None:
    for place, feature in enumerate(order):
        history = selector.importance_history_[:, feature]
        least, low, middle, high, most = np.nanpercentile(history, [0, 25, 50, 75, 100])
        is_open = selector.support_weak_[feature]
        color = _BLUE if selector.support_[feature] else "white" if is_open else _GREY
        ax.hlines(place, least, most, color=_DARK, linewidth=1.0, zorder=1)
        ax.barh(place, high - low, left=low, color=color, edgecolor=_DARK, height=0.6, zorder=2)
        ax.vlines(middle, place - 0.3, place + 0.3, color=_DARK, linewidth=1.5, zorder=3)
    ax.axvline(np.median(selector.shadow_history_), color=_DARK, linestyle="--", linewidth=1.0)
    ax.set_xlabel("importance; dashed: the best shadow")
