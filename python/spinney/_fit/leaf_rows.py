"""Which training rows lie in the leaves of a forest, and their targets."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from spinney._fit.draws import Draws
from spinney._spinney import Forest, list_rows_of_leaves

_MOST_IN_A_BYTE = 255
# Bits of a word of marks.
_WORD = 64
# Leaves of rows, one for each tree, that are held at once: 64 MiB.
_LEAVES_AT_ONCE = 2**23


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
    order: NDArray[np.uint32]
    """By rank, the place of the row in the training data."""

    def of_tree(self, tree: int) -> LeafRows:
        """Return the rows of one tree, without copies."""
        n_rows, n_nodes = int(self.n_rows[tree]), int(self.n_nodes[tree])
        start = int(self.n_rows[:tree].sum())
        firsts = int((-(-self.n_rows[:tree] // _WORD)).sum())
        leaves = int((-(-self.n_nodes[:tree] // _WORD)).sum())
        own = slice(start, start + n_rows)
        return self._replace(
            n_rows=self.n_rows[tree : tree + 1],
            n_nodes=self.n_nodes[tree : tree + 1],
            rows=self.rows[own],
            counts=None if self.counts is None else self.counts[own],
            firsts=self.firsts[firsts : firsts - (-n_rows // _WORD)],
            leaves=self.leaves[leaves : leaves - (-n_nodes // _WORD)],
        )

    def check_alike(self, known: LeafRows) -> None:
        """Raise ValueError if targets or weights differ from those that other trees know."""
        arguments = {"order": "y", "values": "y", "ranks": "y", "weights": "sample_weight"}
        for field, argument in arguments.items():
            if not np.array_equal(getattr(self, field), getattr(known, field)):
                refuse_other_samples(argument)

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
            (self.order, 1, {np.uint32}),
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
    forest: Forest,
    X: Any,
    draws: Draws,
    y: NDArray[np.float64],
    limit: int | None,
    n_threads: int,
) -> LeafRows:
    """Return the training rows in each leaf.

    Parameters
    ----------
    forest : Forest
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        The training rows.
    draws : Draws
        How rows are drawn, and their weights.
    y : ndarray of shape (n_samples, n_outputs)
    limit : int or None
        The most rows of a leaf that are kept, drawn at random.
    n_threads : int
    """
    n_samples, n_trees = y.shape[0], len(forest)
    order = np.argsort(y[:, 0], kind="stable").astype(np.uint32)
    parts, weights = [], None
    step = max(n_threads, _LEAVES_AT_ONCE // n_samples)
    for start in range(0, n_trees, step):
        numbers = range(start, min(start + step, n_trees))
        seeds = [forest.seeds[number] for number in numbers]
        some = forest if step >= n_trees else Forest([forest.tree(n) for n in numbers], seeds)
        *lists, weights = list_rows_of_leaves(
            some.apply(X, n_threads),
            (some.node_counts.astype(np.int64), np.array(seeds, dtype=np.uint64)),
            draws,
            order,
            limit,
            n_threads,
        )
        lists[3] = _narrow_counts(lists[3])
        parts.append(lists)
    n_rows, n_nodes, rows, counts, firsts, leaves = zip(*parts, strict=True)
    if any(of_trees is not None for of_trees in counts):
        counts = tuple(
            np.ones(len(own), dtype=np.uint8) if of_trees is None else of_trees
            for own, of_trees in zip(rows, counts, strict=True)
        )
    ranks = np.empty((y.shape[1] - 1, n_samples), dtype=np.uint32)
    for output, column in enumerate(y.T[1:]):
        of_row = np.empty(n_samples, dtype=np.uint32)
        of_row[np.argsort(column, kind="stable")] = np.arange(n_samples, dtype=np.uint32)
        ranks[output] = of_row[order]
    values = np.ascontiguousarray(np.sort(y.T, axis=1))
    return LeafRows(
        _join(n_rows),
        _join(n_nodes),
        _join(rows),
        None if counts[0] is None else _join(counts),
        _join(firsts),
        _join(leaves),
        weights,
        values,
        ranks,
        order,
    )


def refuse_other_samples(name: str) -> NoReturn:
    """Raise ValueError for an argument of `fit` that differs from an earlier call's."""
    raise ValueError(
        "warm_start=True adds to the trees of earlier calls, whose leaves know their samples: "
        f"{name} must be that of the earlier calls. Got another one; set warm_start=False to start "
        "anew."
    )


def _join(parts: tuple[NDArray[Any], ...]) -> NDArray[Any]:
    """Return lists of trees as one, without a copy if there is one alone."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _narrow_counts(counts: NDArray[np.uint32]) -> Any:
    """Return counts in bytes, if they fit; None if all are 1."""
    most = int(counts.max(initial=1))
    if most == 1:
        return None
    return counts.astype(np.uint8) if most <= _MOST_IN_A_BYTE else counts
