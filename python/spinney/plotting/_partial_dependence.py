"""A picture of how the prediction changes with a feature: `plot_partial_dependence`."""

from __future__ import annotations

from typing import Any

import numpy as np

from spinney._common.checks import require_matplotlib
from spinney._common.messages import reject_parameter
from spinney._common.types import DependenceKind
from spinney.causal import CausalForest
from spinney.inspection import partial_dependence
from spinney.plotting._frame import hide_frame
from spinney.tree._words import find_feature_names

_NAME = "plot_partial_dependence"
_DARK, _GREY = "#20425c", "#b5b5b5"
# Curves of samples that a picture shows.
_MOST = 200


def plot_partial_dependence(
    estimator: Any,
    X: Any,
    feature: Any,
    *,
    kind: DependenceKind = "average",
    target: int | None = None,
    grid_resolution: int = 100,
    percentiles: tuple[float, float] = (0.05, 0.95),
    times: Any = None,
    ax: Any = None,
) -> Any:
    """Draw the prediction of trees as a feature varies, which may be categorical and have gaps.

    A number is drawn as a line, and a category as a point for each of its values. What is drawn is
    what :func:`spinney.inspection.partial_dependence` returns. scikit-learn's
    :class:`~sklearn.inspection.PartialDependenceDisplay` makes the grid itself, and does not sort
    categories beside missing values.

    Parameters
    ----------
    estimator : tree or forest
        A fitted estimator of this package. Lazy forests have no trees.
    X : {array-like, sparse matrix, data frame, Dataset} of shape (n_samples, n_features)
        Samples, whose values the axis spans.
    feature : int or str
        The feature that varies, by number or name.
    kind : {"average", "individual", "both"}, default="average"
        Whether to draw the average, the curves of the first 200 samples, or both.
    target : int, default=None
        Which one of several classes, outputs or times to draw, by its number. None means all of
        them, or the one that there is.
    grid_resolution : int, default=100
        Number of values of a numeric feature.
    percentiles : tuple of two floats, default=(0.05, 0.95)
        The first and the last value of a numeric feature, as quantiles.
    times : array-like of shape (n_times,), default=None
        For a survival model, times of whose survival probabilities to draw the dependence. None
        means the risk.
    ax : matplotlib axes, default=None
        Where to draw. None means the current axes.

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
    >>> import pandas as pd
    >>> from spinney import RandomForestRegressor
    >>> from spinney.plotting import plot_partial_dependence
    >>> X = pd.DataFrame({"colour": ["red", "blue", None] * 10, "size": range(30)})
    >>> forest = RandomForestRegressor(20, categorical_features=["colour"], random_state=0)
    >>> ax = plot_partial_dependence(forest.fit(X, X["size"]), X, "colour")
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['blue', 'red']
    """
    if np.ndim(feature) != 0:
        reject_parameter(_NAME, "feature", feature, "one feature, by its name or number")
    found = partial_dependence(
        estimator,
        X,
        [feature],
        kind=kind,
        grid_resolution=grid_resolution,
        percentiles=percentiles,
        times=times,
    )
    curves = found["individual" if kind == "individual" else "average"]
    n_targets = curves.shape[0]
    if target is not None and target not in range(n_targets):
        reject_parameter(_NAME, "target", target, f"an int in the range [0, {n_targets}) or None")
    require_matplotlib(_NAME)
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    ax = plt.gca() if ax is None else ax
    targets = list(range(n_targets)) if target is None else [target]
    names = find_feature_names(_NAME, estimator, None, "x[{}]")
    number = names.index(feature) if isinstance(feature, str) else int(feature)
    mask = estimator.is_categorical_
    is_categorical = mask is not None and bool(mask[number])
    values = found["grid_values"][0]
    places = np.arange(len(values)) if is_categorical else values
    style = {"marker": "o", "linestyle": "none"} if is_categorical else {}
    colours = [_DARK] if len(targets) == 1 else mpl.colormaps["viridis"](np.linspace(0, 0.9, 9))
    for place, one in enumerate(targets):
        colour = colours[place % len(colours)]
        if kind != "average":
            many = found["individual"][one, :_MOST].T
            faint = colour if len(targets) > 1 else _GREY
            ax.plot(places, many, color=faint, alpha=0.4, linewidth=0.6, **style)
        if kind != "individual":
            label = _name_target(estimator, one, n_targets, times)
            ax.plot(places, found["average"][one], color=colour, label=label, zorder=3, **style)
    if is_categorical:
        ax.set_xticks(places, [str(value) for value in values], parse_math=False)
    ax.set_xlabel(names[number], parse_math=False)
    ax.set_ylabel("effect" if isinstance(estimator, CausalForest) else "prediction")
    if len(targets) > 1 and kind != "individual":
        ax.legend(frameon=False)
    return hide_frame(ax)


def _name_target(estimator: Any, target: int, n_targets: int, times: Any) -> str:
    """Return what a legend calls a target."""
    if times is not None:
        return f"time {np.ravel(times)[target]:g}"
    if estimator._task == "classification":
        # Of two classes the second alone is a target.
        return str(estimator.classes_[target if n_targets > 1 else 1])
    return f"output {target}"
