"""Which training rows lie in the leaves of a forest, and their targets."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney._fit.draws import Draws
from spinney._spinney import list_rows_of_leaves

_MOST_IN_A_BYTE = 255


class LeafRows(NamedTuple):
    """The training rows in each leaf of each tree, and how often they count.

    Rows are named by their ranks: their places in the order of the first target. The compiled part
    reads the fields.
    """

    n_rows: NDArray[np.int64]
    """Number of rows of each tree."""
    n_nodes: NDArray[np.int64]
    """Number of nodes of each tree."""
    rows: NDArray[np.uint32]
    """Tree by tree, leaf by leaf, ascending."""
    counts: NDArray[np.uint8] | NDArray[np.uint32] | None
    """How often each of the rows counts; None if all count once."""
    firsts: NDArray[np.uint64]
    """For each tree, bits of its rows: the first ones of their leaves."""
    leaves: NDArray[np.uint64]
    """For each tree, bits of its nodes: its leaves."""
    weights: NDArray[np.uint64] | None
    """By rank, the weights by which counts are multiplied; None if all are 1."""
    values: NDArray[np.float64]
    """Of shape (n_outputs, n_samples): the targets of each output, ascending."""
    ranks: NDArray[np.uint32]
    """Of shape (n_outputs - 1, n_samples): the ranks in the other outputs, by rank."""

    def is_sound(self) -> bool:
        """Return whether the fields, which may come from a file, have the types they should have.

        The compiled part checks the values.
        """
        kinds: list[tuple[Any, int, set[Any]]] = [
            (self.n_rows, 1, {np.int64}),
            (self.n_nodes, 1, {np.int64}),
            (self.rows, 1, {np.uint32}),
            (self.counts, 1, {np.uint8, np.uint32}),
            (self.firsts, 1, {np.uint64}),
            (self.leaves, 1, {np.uint64}),
            (self.weights, 1, {np.uint64}),
            (self.values, 2, {np.float64}),
            (self.ranks, 2, {np.uint32}),
        ]
        return all(
            (array is None and number in (3, 6))
            or (
                isinstance(array, np.ndarray)
                and array.ndim == ndim
                and array.dtype.type in dtypes
                and array.flags.c_contiguous
            )
            for number, (array, ndim, dtypes) in enumerate(kinds)
        )


def list_leaf_rows(
    leaves: NDArray[np.int64],
    trees: tuple[NDArray[np.int64], list[int]],
    draws: Draws,
    y: NDArray[np.float64],
    limit: int | None,
    n_threads: int,
) -> LeafRows:
    """Return the training rows in each leaf.

    Parameters
    ----------
    leaves : ndarray of shape (n_samples, n_trees)
        The leaf that each training row reaches in each tree.
    trees : tuple
        For each tree the number of its nodes, and its seed.
    draws : Draws
        How rows are drawn, and their weights.
    y : ndarray of shape (n_samples, n_outputs)
    limit : int or None
        So many rows of a leaf are kept, drawn at random.
    n_threads : int
    """
    order = np.argsort(y[:, 0], kind="stable")
    n_nodes, seeds = trees
    *lists, weights = list_rows_of_leaves(
        np.ascontiguousarray(leaves),
        (n_nodes, np.array(seeds, dtype=np.uint64)),
        draws,
        order.astype(np.uint32),
        limit,
        n_threads,
    )
    n_rows, n_nodes, rows, all_counts, firsts, leaf_bits = lists
    most = int(all_counts.max(initial=1))
    counts: Any = all_counts
    if most <= _MOST_IN_A_BYTE:
        counts = None if most == 1 else all_counts.astype(np.uint8)
    ranks = np.empty((y.shape[1] - 1, y.shape[0]), dtype=np.uint32)
    for output, column in enumerate(y.T[1:]):
        of_row = np.empty(y.shape[0], dtype=np.uint32)
        of_row[np.argsort(column, kind="stable")] = np.arange(y.shape[0], dtype=np.uint32)
        ranks[output] = of_row[order]
    values = np.ascontiguousarray(np.sort(y.T, axis=1))
    return LeafRows(n_rows, n_nodes, rows, counts, firsts, leaf_bits, weights, values, ranks)
