"""How the draws of two trees agree: what the infinitesimal jackknife needs to know of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney._fit.draws import Draws
from spinney._spinney import draw_rows

# The most counts, one for each row and tree, of a block of trees.
_COUNTS_AT_ONCE = 2**24
# What rounding may add to a sum of variances that is 0, as a share of the sum of squares.
_ROUNDING = 1e-9


class DrawProducts(NamedTuple):
    """Sums over the training rows, each multiplied by the row's factor, see `find_factors`."""

    gram: NDArray[np.float64]
    """Of shape (n_trees, n_trees): the products of the centred counts of each two trees."""
    variance: float
    """The sum of the variances of the counts."""


def multiply_draws(draws: Draws, seeds: list[int], n_threads: int) -> DrawProducts:
    """Return the products of the draws of each two trees.

    Parameters
    ----------
    draws : Draws
    seeds : list of int
        The seeds of the trees.
    n_threads : int

    Raises
    ------
    ValueError
        If trees were grown on the same samples, or if some class has all of its samples in each.
    """
    n_trees, n_samples = len(seeds), draws.n_samples
    step = max(1, _COUNTS_AT_ONCE // n_samples)
    starts = range(0, n_trees, step)
    first: list[NDArray[Any]] = []

    def count(block: int) -> NDArray[Any]:
        if block == 0 and first:
            return first[0]
        counts = _count_rows(draws, seeds[starts[block] :][:step], n_threads)
        if block == 0:
            first.append(counts)
        return counts

    factors = find_factors(draws, count, len(starts)) if n_trees > 1 else None
    if factors is None:
        raise _same_samples(n_trees, draws)
    of_rows = np.sqrt(factors) if np.ndim(factors) else None

    def weigh(block: int) -> NDArray[Any]:
        counts = count(block)
        if of_rows is not None:
            if draws.strata is not None:
                counts = _centre_strata(counts, draws.strata.of_row, of_rows > 0)
            return counts * of_rows
        # Products of single precision are twice as fast, and exact while sums are small integers.
        is_small = int(counts.max()) * int(counts.sum(axis=1, dtype=np.int64).max()) < 2**22
        return counts.astype(np.float32 if is_small else np.float64)

    gram = np.empty((n_trees, n_trees))
    total, squares = np.zeros(n_samples), 0.0
    for row, start in enumerate(starts):
        counts = weigh(row)
        total += counts.sum(axis=0, dtype=np.float64)
        own = slice(start, start + counts.shape[0])
        for column in range(row + 1):
            other = counts if column == row else weigh(column)
            others = slice(starts[column], starts[column] + other.shape[0])
            gram[own, others] = counts @ other.T
            gram[others, own] = gram[own, others].T
        squares += float(np.trace(gram[own, own]))
    mean = total / n_trees
    # (N - m)(N - m)' from N N', without a copy of N.
    against = np.concatenate([weigh(block) @ mean for block in range(len(starts))])
    centred = gram - against[:, None] - against[None, :] + mean @ mean
    variance = squares / n_trees - float(mean @ mean)
    if variance <= _ROUNDING * squares / n_trees:
        raise _same_samples(n_trees, draws)
    if of_rows is None:
        centred, variance = centred * factors, variance * float(factors)
    return DrawProducts(centred, variance)


def find_factors(
    draws: Draws, count: Callable[[int], NDArray[Any]], n_blocks: int
) -> NDArray[np.float64] | float | None:
    """Return by how much the squared covariance of each row's count with predictions is too small.

    The covariance of a count with a mean of drawn rows is what the row adds to the mean, times
    ``(v - c) / m``: the variance of the count less its covariance with another count, by its mean.
    With replacement this is 1. If s of n rows are drawn without replacement, it is
    ``(n - s) / (n - 1)``, and the factor ``n (n - 1) / (n - s)**2`` makes the jackknife of a mean
    the usual variance of a mean (Wager and Athey, 2018).

    Parameters
    ----------
    draws : Draws
    count : callable
        Returns the counts of a block of trees, of shape (n_trees, n_samples).
    n_blocks : int

    Returns
    -------
    factors : float, ndarray of shape (n_samples,) or None
        None if all trees have the same rows.
    """
    if draws.scheme == "all":
        return None
    weights = draws.sample_weight
    is_used = np.ones(draws.n_samples, dtype=bool) if weights is None else weights > 0
    if draws.scheme == "without replacement":
        n = int(np.count_nonzero(is_used))
        return _correct(n, n if draws.n_draws is None else draws.n_draws)
    if draws.scheme == "strata":
        return _find_factors_of_strata(draws, is_used)
    if draws.scheme == "given" or draws.groups is not None:
        return _find_factors_of_given(draws, is_used, count, n_blocks)
    return 1.0


def _correct(n: int, n_drawn: float) -> float | None:
    """Return the factor where `n_drawn` of `n` rows are drawn; None if all are."""
    return n * (n - 1) / (n - n_drawn) ** 2 if n_drawn < n else None


def _find_factors_of_strata(draws: Draws, is_used: NDArray[np.bool_]) -> NDArray[np.float64]:
    strata = draws.strata
    assert strata is not None
    sizes = np.bincount(strata.of_row[is_used], minlength=len(strata.n_draws)).tolist()
    drawn = [n if own is None else own for n, own in zip(sizes, strata.n_draws, strict=True)]
    factors = np.ones(len(sizes))
    for stratum, (n, n_drawn) in enumerate(zip(sizes, drawn, strict=True)):
        if n == 0 or n_drawn == 0:
            continue
        is_all = strata.n_draws[stratum] is None or (not strata.replace and n_drawn == n)
        again = strata.n_draws_again
        if again is None:
            own = 1.0 if strata.replace and not is_all else _correct(n, n_drawn)
            if own is None:
                raise ValueError(
                    "Standard errors compare trees that were grown on different samples of each "
                    f"class. Got trees that have all {n} samples of class number {stratum}: draw "
                    "fewer of them, or with replacement."
                )
            factors[stratum] = own
            continue
        # Drawn again from all that was drawn: v - c grows by that of the first draws.
        mean = n_drawn / n
        first = 0.0 if is_all else mean
        if not strata.replace and not is_all:
            first = mean * (n - n_drawn) / (n - 1)
        factors[stratum] = (1.0 + (again - 1) / sum(drawn) * first / mean) ** -2
    return np.where(is_used, factors[strata.of_row], 0.0)


def _centre_strata(
    counts: NDArray[Any], of_row: NDArray[np.uint32], is_used: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the counts of each tree less their mean in the stratum.

    Where rows are drawn again from those of all strata, the sizes of strata vary. What they add to
    a prediction is no sample's doing.
    """
    centred = counts.astype(np.float64)
    for stratum in range(int(of_row.max()) + 1):
        own = (of_row == stratum) & is_used
        if own.any():
            centred[:, own] -= centred[:, own].mean(axis=1, keepdims=True)
    return centred


def _find_factors_of_given(
    draws: Draws, is_used: NDArray[np.bool_], count: Callable[[int], NDArray[Any]], n_blocks: int
) -> NDArray[np.float64] | None:
    """Return the factors of rows that a caller has given, or that are drawn by groups.

    Rows that are in the same trees, equally often, are one unit, such as a group or a block. A unit
    of k rows counts once: each of its rows has the factor of the unit, divided by k.
    """
    multiply = np.random.default_rng(0)
    names = np.zeros(draws.n_samples, dtype=np.uint64)
    total, most, n_trees = np.zeros(draws.n_samples, dtype=np.int64), 0, 0
    for block in range(n_blocks):
        counts = count(block)
        by_tree = multiply.integers(2**64, size=counts.shape[0], dtype=np.uint64)
        # Sums modulo 2**64: equal for equal counts, and for others hardly ever.
        names += by_tree @ counts.astype(np.uint64)
        total += counts.sum(axis=0, dtype=np.int64)
        most, n_trees = max(most, int(counts.max())), n_trees + counts.shape[0]
    is_drawn = is_used & (total > 0)
    _, units, sizes = np.unique(names[is_drawn], return_inverse=True, return_counts=True)
    shares = np.zeros(draws.n_samples)
    shares[is_drawn] = 1.0 / sizes[units]
    n_drawn = float(total @ shares) / n_trees
    # Rows that count several times were drawn with replacement.
    factor = 1.0 if most > 1 else _correct(len(sizes), n_drawn)
    return None if factor is None else factor * shares


def _same_samples(n_trees: int, draws: Draws) -> ValueError:
    return ValueError(
        "Standard errors compare trees that were grown on different samples: set "
        f"bootstrap=True and several trees. Got {n_trees} tree(s), and "
        f"{'drawn' if n_trees < 2 and draws.scheme != 'all' else 'all'} samples for each. With "
        "replace=False, max_samples must leave some out."
    )


def _count_rows(draws: Draws, seeds: list[int], n_threads: int) -> NDArray[Any]:
    """Return how often trees have drawn each training sample."""
    return np.stack(draw_rows(draws, seeds, n_threads))
