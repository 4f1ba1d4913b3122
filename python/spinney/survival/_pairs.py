"""Sums over pairs of samples, faster than by visiting the pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def sum_below(
    places: NDArray[np.intp],
    bounds: NDArray[np.intp],
    ranks: NDArray[np.intp],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return, for each query, the weight of the elements from a place on with ranks below a bound.

    Elements stand in blocks of 1, 2, 4 and so on, each in order of rank. The elements from a place
    on are O(log n) of these blocks, at most one of each size. O(n log(n)^2) in all.

    Parameters
    ----------
    places, bounds : ndarray of shape (n_queries,)
        The first place, and the bound, of each query.
    ranks, weights : ndarray of shape (n_elements,)
        Ranks are below n_elements.

    Returns
    -------
    sums : ndarray of shape (n_queries,)
    """
    n_elements = ranks.shape[0]
    # The place 0 has no element, so that each place has a bit that is set.
    n_levels = int(n_elements).bit_length()
    padded = np.full(1 << n_levels, n_elements)
    padded[1 : n_elements + 1] = ranks
    weighed = np.zeros(1 << n_levels)
    weighed[1 : n_elements + 1] = weights
    sums = np.zeros(places.shape[0])
    place = places + 1
    for level in range(n_levels):
        takes = np.flatnonzero(place >> level & 1)
        if takes.size == 0:
            continue
        block = place[takes] >> level
        # Ranks of later blocks are larger, so that one search finds a place in any block.
        keys = padded + (n_elements + 1) * (np.arange(padded.shape[0]) >> level)
        order = np.argsort(keys, kind="stable")
        upto = np.concatenate([[0.0], np.cumsum(weighed[order])])
        stop = np.searchsorted(keys[order], block * (n_elements + 1) + bounds[takes], side="left")
        sums[takes] += upto[stop] - upto[block << level]
        place[takes] += 1 << level
    return sums
