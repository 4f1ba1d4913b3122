"""Effects, and their variances, from the moments that the leaves of a causal forest predict.

The moments of a leaf are the sums of s, sW, sY, sWY and sWW over its rows, divided by the number of
rows: s is the weight of a row, W its centred treatment and Y its centred outcome.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx

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


def find_weights(
    moments: NDArray[np.float64], expected: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return by how much effects grow with each moment, counted from expected moments.

    Parameters
    ----------
    moments : ndarray of shape (n, 5)
    expected : ndarray of shape (1, 5)

    Returns
    -------
    weights : ndarray of shape (n, 5)
        Times the differences of the moments from the expected ones, they add up to the difference
        of the effects.
    """
    a = find_effects(expected)[0]
    b = (expected[0, 2] - a * expected[0, 1]) / expected[0, 0]
    s, w, _, _, _ = moments.T
    zero = np.zeros_like(s)
    # Of s, sW, sY, sWY and sWW in the two brackets.
    slope = np.stack([zero, -b + zero, zero, zero + 1.0, -a + zero], axis=1)
    level = np.stack([-b + zero, -a + zero, zero + 1.0, zero, zero], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: NDArray[np.float64] = (s[:, None] * slope - w[:, None] * level) / _find_spread(
            moments
        )[:, None]
    return found


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


def remove_noise(
    between: NDArray[np.float64], noise: NDArray[np.float64], n_bags: int
) -> NDArray[np.float64]:
    """Return the mean of what the variance can be, given that it is not negative.

    The difference of the two estimates has an error whose size is known. With a flat prior on the
    positive numbers, the mean is that of a truncated normal distribution.
    """
    error = np.maximum(between, noise) * np.sqrt(2.0 / n_bags)
    difference = between - noise
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = difference / error
        # The density over the distribution function. Far below 0 both vanish: `erfcx` is the
        # quotient of the two that does not. Far above 0 it is infinite, and the quotient 0.
        hazard = np.sqrt(2.0 / np.pi) / erfcx(-ratio / np.sqrt(2.0))
    # Without any error the difference is the variance.
    return np.where(error > 0, difference + error * hazard, np.maximum(difference, 0.0))


def find_intervals(effects: Any, errors: Any, alpha: float) -> tuple[Any, Any]:
    """Return the bounds of normal intervals that miss with a chance of `alpha`."""
    from scipy.stats import norm

    reach = norm.ppf(1.0 - alpha / 2.0) * errors
    return effects - reach, effects + reach
