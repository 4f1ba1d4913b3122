"""The samples of the trees of a forest that several calls of `fit` have grown."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spinney._fit.draws import Draws
from spinney._fit.tree_samples import place_rows
from spinney._spinney import Forest

SAMPLES_UNKNOWN = (
    "The forest does not know the samples of all its trees: it comes from scikit-learn, or trees "
    "of other forests were assigned to estimators_."
)

# How many trees, the last ones, are compared with data.
_WITNESSES = 16
# The fields of draws that are no arrays.
_NUMBERS = ("scheme", "n_samples", "n_draws", "honest_fraction")


def draw_alike(one: Draws, other: Draws) -> bool:
    """Return whether a tree, whatever its seed, gets the same samples by both."""
    if any(getattr(one, name) != getattr(other, name) for name in _NUMBERS):
        return False
    if one.scheme == "all" and one.honest_fraction is None:
        return True
    return (
        _are_equal(one.sample_weight, other.sample_weight)
        and (one.scheme != "poisson" or np.array_equal(_name_rows(one), _name_rows(other)))
        and all(map(_are_equal, one.strata or (), other.strata or ()))
        and all(map(_are_equal, one.given or (), other.given or ()))
        and _are_equal(one.groups, other.groups)
        and (one.subforests is None) == (other.subforests is None)
        and (
            one.subforests is None
            or other.subforests is None
            or one.subforests.is_alike(other.subforests)
        )
    )


def _are_equal(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return one is other or (type(one) is type(other) and bool(one == other))


def _name_rows(draws: Draws) -> NDArray[np.uint64]:
    ids = draws.sample_ids
    return np.arange(draws.n_samples, dtype=np.uint64) if ids is None else ids


def join_draws(parts: list[tuple[Draws, list[int]]], n_threads: int) -> Draws:
    """Return draws that give each tree the rows that the draws of its own part give it.

    Parameters
    ----------
    parts : list of tuple
        Draws, and the seeds of the trees that were grown by them. The last part says how many
        samples there are, and their weights. All have the same `honest_fraction`, so that the
        parts of a tree's rows stay what they were.
    n_threads : int
    """
    last = parts[-1][0]
    if all(draw_alike(draws, last) for draws, _ in parts):
        return last
    seeds = [seed for _, own in parts for seed in own]
    rows = [bag for draws, own in parts for bag in draws.list_rows(own, n_threads)]
    return last._replace(
        scheme="given",
        n_draws=None,
        sample_weight=None if last.draws_by_weight else last.sample_weight,
        sample_ids=None,
        strata=None,
        groups=None if last.honest_fraction is None else last.groups,
        subforests=None,
        given=place_rows(seeds, [bag.astype(np.uint32) for bag in rows]),
    )


def hold_samples(forest: Forest, X: object, draws: Draws, n_threads: int) -> bool:
    """Return whether leaves hold as many of the drawn samples as when their trees were grown.

    If not, the trees were grown on other data than `X`. The last trees are looked at.

    Parameters
    ----------
    forest : Forest
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    draws : Draws
        By which the trees were grown.
    n_threads : int
    """
    first = max(len(forest) - _WITNESSES, 0)
    trees = [forest.tree(number) for number in range(first, len(forest))]
    seeds = forest.seeds[first:]
    leaves = Forest(trees, seeds).apply(X, n_threads)
    if leaves.shape[0] != draws.n_samples:
        return False
    bags = draws.list_filling_rows(seeds, n_threads)
    for tree, bag, reached in zip(trees, bags, leaves.T, strict=True):
        n_held = np.bincount(reached[np.unique(bag)], minlength=tree.node_count)
        surplus = (n_held - tree.n_node_samples)[tree.children_left < 0]
        # Rows of weight 0 are in no leaf; of these schemes they may be in the bag.
        allowed = np.inf if draws.scheme in ("all", "given") else 0
        if surplus.min() < 0 or surplus.max() > allowed:
            return False
    return True
