"""Effects, and their variances, from the moments that the leaves of a causal forest predict.

The moments of a leaf are the sums of s, sW, sY, sWY and sWW over its rows, divided by the number of
rows: s is the weight of a row, W its centred treatment and Y its centred outcome.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney._explain.little_bags import remove_noise

N_MOMENTS = 5


def find_effects(moments: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the slopes of weighted regressions of outcomes on treatments.

    Parameters
    ----------
    moments : ndarray of shape (n, 5)
        Means over the trees.

    Returns
    -------
    effects : ndarray of shape (n,)
        NaN where all treatments are equal.
    """
    s, w, y, wy, _ = moments.T
    spread = _find_spread(moments)
    effects = np.full(len(moments), np.nan)
    np.divide(wy * s - w * y, spread, out=effects, where=spread > 0)
    return effects


def _find_spread(moments: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the denominators of effects; 0 where nothing but rounding is left of them."""
    s, w, _, _, ww = moments.T
    spread = ww * s - w * w
    return np.where(spread > 1e-14 * ww * s, spread, 0.0)


def find_variances(of_trees: NDArray[np.float64], bag_size: int) -> NDArray[np.float64]:
    """Return the variances of effects by the bootstrap of little bags.

    Trees of a bag share a half of the rows. What their mean varies by from bag to bag, less the
    part of it that comes from the few trees of a bag, is the variance of the forest.

    Parameters
    ----------
    of_trees : ndarray of shape (n, n_trees, 5)
        The moments that each tree predicts.
    bag_size : int
        Number of trees of a bag.
    """
    moments = of_trees.mean(axis=1)
    s, w, y, _, _ = moments.T
    effects = find_effects(moments)
    spread = _find_spread(moments)
    intercepts = (y - effects * w) / s
    # Of each tree: how far the equations of the regression are from being solved.
    slope = of_trees @ np.array([0.0, 0.0, 0.0, 1.0, 0.0])
    slope -= of_trees[..., 4] * effects[:, None] + of_trees[..., 1] * intercepts[:, None]
    level = of_trees[..., 2] - of_trees[..., 1] * effects[:, None]
    level -= of_trees[..., 0] * intercepts[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        influence = (s[:, None] * slope - w[:, None] * level) / spread[:, None]
    bags = influence.reshape(len(influence), influence.shape[1] // bag_size, bag_size)
    between = np.mean(bags.mean(axis=2) ** 2, axis=1)
    noise = (np.mean(influence**2, axis=1) - between) / (bag_size - 1)
    return remove_noise(between, noise, bags.shape[1])


def find_intervals(effects: Any, errors: Any, alpha: float) -> tuple[Any, Any]:
    """Return the bounds of normal intervals that miss with a chance of `alpha`."""
    from scipy.stats import norm

    reach = norm.ppf(1.0 - alpha / 2.0) * errors
    return effects - reach, effects + reach
