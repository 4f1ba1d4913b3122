"""Pictures of what a treatment does: effects with intervals, and whom to treat first."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from spinney._common.checks import require_matplotlib
from spinney._common.messages import reject_parameter
from spinney.causal import CausalForest
from spinney.causal._moments import check_alpha, find_intervals
from spinney.plotting._frame import hide_frame

_BLUE, _DARK, _GREY = "#8fc3e8", "#20425c", "#8a8a8a"
# Shares of the samples at which the curve of targeting is drawn.
_SHARES = np.linspace(0.02, 1.0, 99)


def plot_effect_intervals(
    forest: Any, X: Any, *, by: Any = None, alpha: float = 0.05, ax: Any = None
) -> Any:
    """Draw the effects of a treatment at samples, with their intervals.

    The title says of how many samples the interval is above 0, and of how many below.

    Parameters
    ----------
    forest : CausalForest
        A fitted one.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The samples.
    by : array-like of shape (n_samples,), default=None
        A number for each sample, such as its age, that says where it is drawn. None means its place
        in the order of effects.
    alpha : float, default=0.05
        How often intervals miss.
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
    >>> from spinney.causal import CausalForest
    >>> from spinney.plotting import plot_effect_intervals
    >>> rng = np.random.default_rng(0)
    >>> X, T = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    >>> forest = CausalForest(40, model_t=0.5, random_state=0).fit(X, T, T + rng.normal(size=200))
    >>> plot_effect_intervals(forest, X[:50], by=X[:50, 0]).get_ylabel()
    'effect'
    """
    _check("plot_effect_intervals", forest)
    effects, low, high = forest.predict(X, interval=True, alpha=alpha)
    if by is None:
        places = np.argsort(np.argsort(effects, kind="stable"), kind="stable").astype(np.float64)
    else:
        places = np.asarray(by, dtype=np.float64)
        if places.shape != effects.shape:
            raise ValueError(
                f"by must have a number for each of the {len(effects)} samples. "
                f"Got shape {places.shape}."
            )
    require_matplotlib("plot_effect_intervals")
    import matplotlib.pyplot as plt

    ax = plt.gca() if ax is None else ax
    ax.axhline(0.0, color=_GREY, linewidth=1.0, linestyle="--", zorder=0)
    ax.vlines(places, low, high, color=_BLUE, linewidth=1.0, zorder=1)
    ax.scatter(places, effects, s=6, color=_DARK, zorder=2)
    ax.set_title(f"{np.mean(low > 0):.1%} above 0, {np.mean(high < 0):.1%} below")
    ax.set_xlabel("samples, by effect" if by is None else getattr(by, "name", None) or "by")
    ax.set_ylabel("effect")
    return hide_frame(ax)


def plot_targeting(
    forest: Any, priorities: Any, *, subset: Any = None, alpha: float = 0.05, ax: Any = None
) -> Any:
    """Draw how much more those gain from a treatment who come first: the curve of targeting.

    It is the mean effect on the share of the training samples of the highest priorities, less the
    mean effect on all, by this share. `rank_average_treatment_effect` is the area below it. Effects
    are doubly robust scores; the first hundredths, which are few samples, are not drawn.

    Parameters
    ----------
    forest : CausalForest
        A fitted one.
    priorities : array-like of shape (n_samples,)
        Of the training samples, by a rule, or by a model that has not seen them.
    subset : array-like of shape (n_samples,) or (n,), default=None
        A mask or indices of training samples. None: all.
    alpha : float, default=0.05
        How often the band misses, at each share by itself.
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
    >>> from spinney.causal import CausalForest
    >>> from spinney.plotting import plot_targeting
    >>> rng = np.random.default_rng(0)
    >>> X, T = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    >>> y = X[:, 0] * T + rng.normal(size=200)
    >>> forest = CausalForest(40, model_t=0.5, random_state=0).fit(X, T, y)
    >>> plot_targeting(forest, X[:, 0]).get_xlabel()
    'share that is treated'
    """
    _check("plot_targeting", forest)
    check_alpha(alpha)
    gains, errors = forest._trace_targeting(priorities, subset, _SHARES)
    low, high = find_intervals(gains, errors, alpha)
    require_matplotlib("plot_targeting")
    import matplotlib.pyplot as plt

    ax = plt.gca() if ax is None else ax
    ax.axhline(0.0, color=_GREY, linewidth=1.0, linestyle="--", zorder=0)
    ax.fill_between(_SHARES, low, high, color=_BLUE, alpha=0.5, linewidth=0, zorder=1)
    ax.plot(_SHARES, gains, color=_DARK, linewidth=1.5, zorder=2)
    ax.set_xlim(0, 1)
    ax.set_xlabel("share that is treated")
    ax.set_ylabel("mean effect less that of all")
    return hide_frame(ax)


def _check(function: str, forest: Any) -> None:
    if not isinstance(forest, CausalForest):
        reject_parameter(function, "forest", forest, "a CausalForest of spinney.causal")
    check_is_fitted(forest)
