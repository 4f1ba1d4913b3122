"""Which rows the trees of a causal forest see: little bags, and honest halves of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney._fit.tree_samples import TreeSamples, place_rows


class Units:
    """What is drawn: rows with a weight, or whole groups of them.

    Parameters
    ----------
    groups : ndarray of int64 of shape (n_samples,)
        The number of the group of each row, -1 for rows that are never drawn.
    """

    def __init__(self, groups: NDArray[np.int64]) -> None:
        self.groups = groups
        self.n_units = int(groups.max(initial=-1)) + 1
        self._are_rows = np.array_equal(groups, np.arange(self.n_units))

    def list_rows(self, units: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Return the rows of some units, ascending; of a unit that is named k times, k times."""
        if self._are_rows:
            return np.sort(units.astype(np.uint32))
        counts = np.bincount(units, minlength=self.n_units)
        # Rows that are never drawn have group -1: the last place.
        of_row = np.append(counts, 0)[self.groups]
        return np.repeat(np.arange(len(of_row), dtype=np.uint32), of_row)


class LittleBags(NamedTuple):
    """How the trees draw: `bag_size` trees, one after the other, share a half of the units.

    The next bag has the other half, so that the two have no unit in common.
    """

    units: Units
    seed: int
    bag_size: int
    n_draws: int
    """Units of a tree."""
    n_growing: int
    """How many of them choose the splits; 0: all of them, which fill the leaves, too."""

    def draw_tree(self, tree: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Return the rows that grow a tree, and those that fill its leaves.

        They are functions of the seed and of the number of the tree.
        """
        bag, place = divmod(tree, self.bag_size)
        pair, is_second = divmod(bag, 2)
        shuffled = _make_generator(self.seed, pair).permutation(self.units.n_units)
        size = self.units.n_units // 2
        half = shuffled[-size:] if is_second else shuffled[:size]
        own = _make_generator(self.seed, bag, place + 1).permutation(half)[: self.n_draws]
        if self.n_growing == 0:
            rows = self.units.list_rows(own)
            return rows, rows
        growing, filling = own[: self.n_growing], own[self.n_growing :]
        return self.units.list_rows(growing), self.units.list_rows(filling)


class Batch(NamedTuple):
    """The rows of some trees."""

    growing: TreeSamples
    filling: TreeSamples
    unseen: NDArray[np.uint8]
    """Of shape (n_samples, n_bytes): a bit for each tree, 1 where it has not seen the row."""


def draw_batch(bags: LittleBags, first: int, seeds: list[int]) -> Batch:
    """Return the rows of the trees with the numbers from `first` on, which have these seeds."""
    drawn = [bags.draw_tree(first + place) for place in range(len(seeds))]
    unseen = np.ones((len(bags.units.groups), len(seeds)), dtype=bool)
    for place, parts in enumerate(drawn):
        for rows in parts:
            unseen[rows, place] = False
    growing, filling = (place_rows(seeds, list(part)) for part in zip(*drawn, strict=True))
    return Batch(growing, filling, np.packbits(unseen, axis=1, bitorder="little"))


def draw_bootstraps(units: Units, seeds: list[int]) -> TreeSamples:
    """Return, for trees with these seeds, rows of units that are drawn with replacement."""
    n = units.n_units
    drawn = [_make_generator(seed).integers(0, n, n) for seed in seeds]
    return place_rows(seeds, list(map(units.list_rows, drawn)))


def _make_generator(seed: int, *numbers: int) -> np.random.Generator:
    return np.random.default_rng([seed, *numbers])
