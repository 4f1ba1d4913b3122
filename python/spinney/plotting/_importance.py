"""A picture of what features matter to a tree or forest."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from spinney._common.checks import check_int, require_matplotlib
from spinney.ensemble._forest import BaseForest
from spinney.tree import BaseDecisionTree
from spinney.tree._labels import cut_name
from spinney.tree._words import find_feature_names

_MAX_NAME = 32


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

    Parameters
    ----------
    estimator : tree or forest
        A fitted estimator of this package. Lazy forests have no importances.
    feature_names : array-like of shape (n_features_in_,), default=None
        Names of the features. None means those that `fit` saw, or else "x[0]", "x[1]" and so on.
    n_features : int, default=20
        Number of features to show, the most important ones. None means all.
    ax : matplotlib axes, default=None
        Where to draw. None means the current axes, or those of a new figure if there is none.

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
    if not isinstance(estimator, (BaseDecisionTree, BaseForest)):
        raise TypeError(
            "The 'estimator' parameter of plot_importance must be a tree or a forest of spinney. "
            f"Got {estimator!r} instead."
        )
    check_is_fitted(estimator)
    if n_features is not None:
        check_int("plot_importance", "n_features", n_features, 1, " or None")
    names = find_feature_names("plot_importance", estimator, feature_names, "x[{}]")
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
    ax.barh(places, importances[order], color="#8fc3e8", height=0.7)
    if isinstance(estimator, BaseForest):
        low, high = np.percentile(estimator.tree_importances()[:, order], [10, 90], axis=0)
        ax.hlines(places, low, high, color="#20425c", linewidth=1.5)
        ax.set_xlabel("importance; line: 10th to 90th percentile of the trees")
    else:
        ax.set_xlabel("importance")
    labels = [cut_name(names[feature], _MAX_NAME) for feature in order]
    ax.set_yticks(places, labels, parse_math=False)
    ax.invert_yaxis()
    ax.set_xlim(left=0)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax
