"""Pictures of how sure predictions are: intervals, and quantiles along a feature."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spinney._common.checks import check_int, is_bool, require_matplotlib
from spinney._common.messages import warn_caller
from spinney.conformal._intervals import ConformalRegressor
from spinney.ensemble._quantile_base import QuantileForestRegressor
from spinney.plotting._frame import hide_frame
from spinney.tree._words import find_feature_names

_BLUE, _DARK, _RED = "#8fc3e8", "#20425c", "#c8452f"
# The number of samples that are averaged at each point of a fan.
_SAMPLES_OF_FAN = 50


def plot_prediction_intervals(
    model: Any,
    X: Any,
    y: Any,
    *,
    confidence_level: float | None = None,
    quantiles: Any = None,
    ax: Any = None,
    level: int | None = None,
) -> Any:
    """Draw the intervals of samples, sorted by prediction, and the targets that are outside.

    The title says how many targets are inside, and how wide intervals are on average.

    Parameters
    ----------
    model : regressor of spinney.conformal, or quantile forest
        A fitted one.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The samples.
    y : array-like of shape (n_samples,)
        Their targets.
    confidence_level : float, default=None
        The level to draw, one of the `confidence_level` of a conformal model. None means the first.
    quantiles : pair of float, default=None
        For a quantile forest, the bounds; None means 0.05 and 0.95.
    ax : matplotlib axes, default=None
        Where to draw. None means the current axes.
    level : int, default=None
        Deprecated in 0.4, and gone in 0.6: the place of the level in the model's
        `confidence_level`. Use `confidence_level`.

    Returns
    -------
    ax : matplotlib axes

    Raises
    ------
    TypeError, ValueError
        If an argument is illegal. The message names it.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from spinney.conformal import JackknifeAfterBootstrapRegressor
    >>> from spinney.plotting import plot_prediction_intervals
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = JackknifeAfterBootstrapRegressor().fit_conformalize(X[:300], y[:300])
    >>> ax = plot_prediction_intervals(model, X[300:], y[300:])
    >>> ax.get_xlabel()
    'samples, by prediction'
    """
    prediction, low, high = _find_bounds(model, X, confidence_level, level, quantiles)
    targets = np.asarray(y, dtype=np.float64).ravel()
    if targets.shape != prediction.shape:
        raise ValueError(
            f"y must have a target for each of {prediction.shape[0]} samples. "
            f"Got {targets.shape[0]} of them."
        )
    require_matplotlib("plot_prediction_intervals")
    import matplotlib.pyplot as plt

    ax = plt.gca() if ax is None else ax
    order = np.argsort(prediction, kind="stable")
    places = np.arange(order.shape[0])
    inside = (low <= targets) & (targets <= high)
    ax.vlines(places, low[order], high[order], color=_BLUE, linewidth=1.0, zorder=1)
    ax.plot(places, prediction[order], color=_DARK, linewidth=1.2, zorder=2)
    for is_of, color, label in ((inside, _DARK, "inside"), (~inside, _RED, "outside")):
        shown = is_of[order]
        ax.scatter(places[shown], targets[order][shown], s=8, color=color, label=label, zorder=3)
    ax.set_title(f"{inside.mean():.1%} inside, mean width {(high - low).mean():.4g}")
    ax.set_xlabel("samples, by prediction")
    ax.set_ylabel("target")
    ax.legend(frameon=False)
    return hide_frame(ax)


def plot_quantile_fan(
    forest: Any,
    X: Any,
    feature: Any,
    *,
    quantiles: Any = (0.05, 0.25, 0.5, 0.75, 0.95),
    grid_resolution: int = 60,
    ax: Any = None,
) -> Any:
    """Draw how quantiles of the target change with one feature.

    At each value of the feature the quantiles are means over samples that have this value and
    otherwise their own: partial dependence of quantiles. Of many samples, 50 are taken.

    Parameters
    ----------
    forest : quantile forest
        A fitted one, of one output.
    X : array or data frame of shape (n_samples, n_features)
        Samples.
    feature : int or str
        Number or name of a numeric feature.
    quantiles : list of float, default=(0.05, 0.25, 0.5, 0.75, 0.95)
        The bounds of bands, an odd number: the one in the middle is a line.
    grid_resolution : int, default=60
        Number of values of the feature, between its least and its largest one.
    ax : matplotlib axes, default=None
        Where to draw. None means the current axes.

    Returns
    -------
    ax : matplotlib axes

    Raises
    ------
    TypeError, ValueError
        If an argument is illegal. The message names it.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from spinney import RandomForestQuantileRegressor
    >>> from spinney.plotting import plot_quantile_fan
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> forest = RandomForestQuantileRegressor(min_samples_leaf=5, random_state=0).fit(X, y)
    >>> plot_quantile_fan(forest, X, "bmi").get_xlabel()
    'bmi'
    """
    if not isinstance(forest, QuantileForestRegressor):
        raise TypeError(f"forest must be a quantile forest of spinney. Got {forest!r} instead.")
    check_is_fitted(forest)
    check_int("plot_quantile_fan", "grid_resolution", grid_resolution, 2)
    bounds = sorted(map(float, quantiles))
    if len(bounds) % 2 == 0:
        raise ValueError(f"quantiles must be an odd number of them. Got {len(bounds)}.")
    names = find_feature_names("plot_quantile_fan", forest, None, "x[{}]")
    number = _find_feature(names, feature)
    is_frame = hasattr(X, "iloc")
    rows = np.unique(np.linspace(0, X.shape[0] - 1, _SAMPLES_OF_FAN).astype(int))
    column = np.asarray(X.iloc[:, number] if is_frame else X[:, number], dtype=np.float64)
    grid = np.linspace(np.nanmin(column), np.nanmax(column), grid_resolution)
    fan = np.empty((grid_resolution, len(bounds)))
    some: Any = X.iloc[rows].copy() if is_frame else np.array(X[rows], dtype=np.float64)
    for place, value in enumerate(grid):
        if is_frame:
            some.isetitem(number, np.full(rows.shape[0], value))
        else:
            some[:, number] = value
        fan[place] = forest.predict(some, bounds).reshape(rows.shape[0], -1).mean(axis=0)

    require_matplotlib("plot_quantile_fan")
    import matplotlib.pyplot as plt

    ax = plt.gca() if ax is None else ax
    middle = len(bounds) // 2
    for band in range(middle):
        low, high = bounds[band], bounds[-1 - band]
        share = 0.25 + 0.5 * band / max(middle, 1)
        ax.fill_between(
            grid,
            fan[:, band],
            fan[:, -1 - band],
            color=_BLUE,
            alpha=share,
            linewidth=0,
            label=f"{low:g} to {high:g}",
        )
    ax.plot(grid, fan[:, middle], color=_DARK, linewidth=1.5, label=f"{bounds[middle]:g}")
    ax.set_xlabel(names[number], parse_math=False)
    ax.set_ylabel("quantiles of the target")
    ax.legend(frameon=False)
    return hide_frame(ax)


def _find_bounds(
    model: Any, X: Any, confidence_level: Any, level: Any, quantiles: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return predictions, and the lower and upper bounds."""
    if isinstance(model, QuantileForestRegressor):
        if confidence_level is not None or level is not None:
            raise ValueError(
                "confidence_level is for models of spinney.conformal: quantiles names the bounds "
                "of a quantile forest."
            )
        low, high = (0.05, 0.95) if quantiles is None else quantiles
        found = model.predict(X, [low, 0.5, high])
        if found.ndim != 2:
            raise ValueError(f"Intervals are of one output. Got {model.n_outputs_} of them.")
        return found[:, 1], found[:, 0], found[:, 2]
    if not isinstance(model, ConformalRegressor):
        raise TypeError(
            "model must be a regressor of spinney.conformal or a quantile forest. "
            f"Got {model!r} instead."
        )
    if quantiles is not None:
        raise ValueError("quantiles are for quantile forests.")
    check_is_fitted(model)
    place = _find_level(model._read_levels(), confidence_level, level)
    prediction, intervals = model.predict_interval(X)
    return prediction, intervals[:, 0, place], intervals[:, 1, place]


def _find_level(levels: list[float], confidence_level: Any, level: Any) -> int:
    """Return the place of the level that is to be drawn."""
    if level is not None:
        warn_caller(
            "level is deprecated and will be removed in spinney 0.6: "
            "confidence_level names the level itself.",
            FutureWarning,
        )
        check_int("plot_prediction_intervals", "level", level, 0)
        if confidence_level is not None or level >= len(levels):
            raise ValueError(
                f"level must be below {len(levels)}, the number of levels, and without "
                f"confidence_level. Got {level}."
            )
        return int(level)
    if confidence_level is None:
        return 0
    if is_bool(confidence_level) or confidence_level not in levels:
        raise ValueError(
            f"confidence_level must be one of the model's, {levels}. Got {confidence_level!r}."
        )
    return levels.index(confidence_level)


def _find_feature(names: list[str], feature: Any) -> int:
    """Return the number of a feature."""
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(f"feature must be one of {names}. Got {feature!r} instead.")
        return names.index(feature)
    check_int("plot_quantile_fan", "feature", feature, 0)
    if feature >= len(names):
        raise ValueError(f"feature must be below {len(names)}. Got {feature} instead.")
    return int(feature)
