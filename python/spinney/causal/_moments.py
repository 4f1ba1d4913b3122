"""Effects, and their variances, from the moments that the leaves of a causal forest predict.

The moments of a leaf are the sums of s, sW, sY, sZY and sZW over its rows, divided by the number of
rows: s is the weight of a row, W its centred treatment, Y its centred outcome and Z its centred
instrument. Without an instrument Z is W. With one, the sum of sZ is the last moment.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney._explain.little_bags import remove_noise

N_MOMENTS = 5
N_MOMENTS_OF_INSTRUMENTS = 6


def find_effects(moments: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the slopes of weighted regressions of outcomes on treatments.

    Parameters
    ----------
    moments : ndarray of shape (n, 5) or (n, 6)
        Means over the trees.

    Returns
    -------
    effects : ndarray of shape (n,)
        NaN where all treatments are equal, or instruments say nothing of them.
    """
    s, y, zy, z = (moments[:, place] for place in (0, 2, 3, _place_of_instrument(moments)))
    spread = _find_spread(moments)
    effects = np.full(len(moments), np.nan)
    np.divide(zy * s - z * y, spread, out=effects, where=spread != 0)
    return effects


def _place_of_instrument(moments: NDArray[np.float64]) -> int:
    return 5 if moments.shape[-1] == N_MOMENTS_OF_INSTRUMENTS else 1


def find_weights(
    moments: NDArray[np.float64], expected: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return by how much effects grow with each moment, counted from expected moments.

    Parameters
    ----------
    moments : ndarray of shape (n, n_moments)
    expected : ndarray of shape (1, n_moments)

    Returns
    -------
    weights : ndarray of shape (n, n_moments)
        Times the differences of the moments from the expected ones, they add up to the difference
        of the effects.
    """
    effects = find_effects(expected)
    return _weigh(moments, effects, (expected[:, 2] - effects * expected[:, 1]) / expected[:, 0])


def _weigh(
    moments: NDArray[np.float64], effects: NDArray[np.float64], intercepts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return by how much effects grow with each moment, counted from those of some regressions."""
    instrument = _place_of_instrument(moments)
    # How the equations of the regression grow with the moments.
    slope, level = np.zeros((2, *moments.shape))
    slope[:, 3] = level[:, 2] = 1.0
    slope[:, 4] = level[:, 1] = -effects
    slope[:, instrument] = level[:, 0] = -intercepts
    s, z = moments[:, [0]], moments[:, [instrument]]
    with np.errstate(divide="ignore", invalid="ignore"):
        found: NDArray[np.float64] = (s * slope - z * level) / _find_spread(moments)[:, None]
    return found


def _find_spread(moments: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the denominators of effects; 0 where nothing but rounding is left of them."""
    s, w, zw, z = (moments[:, place] for place in (0, 1, 4, _place_of_instrument(moments)))
    spread = zw * s - z * w
    return np.where(np.abs(spread) > 1e-14 * np.abs(zw * s), spread, 0.0)


def find_variances(of_bags: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the variances of effects by what bags of trees with disjoint samples agree in.

    Trees of a bag share a half of the rows, and the next bag has the other half. If T(S) is what
    trees of the half S predict on average, and U what the forest predicts, the mean of T(S) T(S')
    over disjoint halves is an unbiased estimate of the squared expectation, as they are
    independent. So U ** 2 less this mean is one of the variance of U, with that from the number of
    trees. (What the means of bags vary by is larger: it counts what two or more rows do together
    several times.)

    Parameters
    ----------
    of_bags : ndarray of shape (n, n_bags, n_moments)
        The mean moments that the trees of each bag predict.
    """
    moments = of_bags.mean(axis=1)
    effects = find_effects(moments)
    weights = _weigh(moments, effects, (moments[:, 2] - effects * moments[:, 1]) / moments[:, 0])
    # Of each bag: how far the equations of the regression are from being solved.
    influence = np.einsum("rbm,rm->rb", of_bags, weights)
    n_pairs = influence.shape[1] // 2
    pairs = influence[:, : 2 * n_pairs].reshape(-1, n_pairs, 2)
    agreement = np.mean(pairs.prod(axis=2), axis=1)
    size = np.mean(pairs**2, axis=(1, 2))
    return remove_noise(-agreement, np.sqrt((size**2 + agreement**2) / n_pairs))


def check_alpha(alpha: Any) -> None:
    """Raise ValueError unless `alpha` is a chance."""
    if not (isinstance(alpha, Real) and 0.0 < float(alpha) < 1.0):
        raise ValueError(f"alpha must be a float in the range (0.0, 1.0). Got {alpha!r}.")


def find_intervals(effects: Any, errors: Any, alpha: float) -> tuple[Any, Any]:
    """Return the bounds of normal intervals that miss with a chance of `alpha`."""
    from scipy.stats import norm

    reach = norm.ppf(1.0 - alpha / 2.0) * errors
    return effects - reach, effects + reach
