"""Pictures of survival curves: `plot_survival_function`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spinney._common.checks import require_matplotlib
from spinney._fit.survival import kaplan_meier_estimator, read_survival
from spinney.plotting._frame import hide_frame
from spinney.survival import LazySurvivalForest, RandomSurvivalForest, SurvivalTree
from spinney.survival._curves import SurvivalCurves

_MOST = 30
_GREY = "#555555"


def plot_survival_function(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    labels: Any = None,
    ax: Any = None,
) -> Any:
    """Draw the survival curves of some samples, coloured from low to high risk.

    Parameters
    ----------
    model : survival model of spinney.survival
        A fitted one.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The samples, at most 30.
    y : structured array, data frame or pair of arrays, default=None
        Events and times of any samples, such as the training's: their Kaplan-Meier curve is
        drawn beside.
    labels : list of str of length n_samples, default=None
        Names of the samples, for a legend.
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
    >>> import numpy as np
    >>> from spinney.plotting import plot_survival_function
    >>> from spinney.survival import RandomSurvivalForest
    >>> rng = np.random.default_rng(0)
    >>> X, years = rng.random((60, 4)), rng.exponential(3, 60)
    >>> forest = RandomSurvivalForest(20, random_state=0).fit(X, (years < 5, years))
    >>> plot_survival_function(forest, X[:5], (years < 5, years)).get_ylabel()
    'probability of no event'
    """
    if not isinstance(model, SurvivalCurves):
        names = ", ".join(
            kind.__name__ for kind in (SurvivalTree, RandomSurvivalForest, LazySurvivalForest)
        )
        raise TypeError(f"model must be a survival model, such as {names}. Got {model!r} instead.")
    check_is_fitted(model)
    times = model.unique_times_
    curves = model.predict_survival_function(X, return_array=True)
    n_samples = curves.shape[0]
    if not 1 <= n_samples <= _MOST:
        raise ValueError(f"X must have 1 to {_MOST} samples. Got {n_samples} of them.")
    if labels is not None and len(labels) != n_samples:
        raise ValueError(f"labels must be {n_samples} names. Got {len(labels)} of them.")
    require_matplotlib("plot_survival_function")
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    ax = plt.gca() if ax is None else ax
    # Of two curves that cross, the one with more events in all is the riskier.
    rank_of = np.argsort(np.argsort(-curves.mean(axis=1), kind="stable"), kind="stable")
    colours = mpl.colormaps["viridis_r"](0.05 + 0.9 * rank_of / max(n_samples - 1, 1))
    for row, curve in enumerate(curves):
        _draw_steps(
            ax,
            times,
            curve,
            color=colours[row],
            linewidth=1.4,
            label=None if labels is None else str(labels[row]),
        )
    if y is not None:
        events, ends = read_survival(y).T
        known, share = kaplan_meier_estimator(events > 0, ends)
        _draw_steps(
            ax,
            known,
            share,
            color=_GREY,
            linestyle="--",
            linewidth=1.6,
            label="all (Kaplan-Meier)",
        )
    ax.set_ylim(0, 1.02)
    ax.set_xlim(left=0)
    ax.set_xlabel("time")
    ax.set_ylabel("probability of no event")
    if labels is not None or y is not None:
        ax.legend(frameon=False)
    return hide_frame(ax)


def _draw_steps(
    ax: Any, times: NDArray[np.float64], shares: NDArray[np.float64], **style: Any
) -> None:
    """Draw a survival curve, which begins with 1 at time 0."""
    if times[0] > 0:
        times, shares = np.insert(times, 0, 0.0), np.insert(shares, 0, 1.0)
    ax.step(times, shares, where="post", **style)
