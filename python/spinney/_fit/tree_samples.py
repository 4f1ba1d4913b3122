"""The samples of each tree, as a caller gives them to `fit`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spinney._spinney import list_tree_seeds

_MOST = 2**32 - 1


class TreeSamples(NamedTuple):
    """The rows on which each tree is grown. The compiled part reads these fields."""

    tree_seeds: NDArray[np.uint64]
    starts: NDArray[np.int64]
    """Where the rows of each tree begin, and where the last ones end."""
    rows: NDArray[np.uint32]
    """Tree by tree and ascending; a row that counts k times is listed k times."""

    def is_sound(self) -> bool:
        """Return whether the fields, which may come from a file, have the types they should have.

        The compiled part checks the values.
        """
        wanted = (np.uint64, np.int64, np.uint32)
        return all(
            isinstance(field, np.ndarray) and field.ndim == 1 and field.dtype == dtype
            for field, dtype in zip(self, wanted, strict=True)
        )

    def list_rows(self, seeds: list[int]) -> list[NDArray[np.uint32]]:
        """Return the rows of the trees with these seeds."""
        places = {seed: place for place, seed in enumerate(self.tree_seeds.tolist())}
        missing = [seed for seed in seeds if seed not in places]
        if missing:
            raise ValueError(
                "The samples of trees were given for other trees than the one with the seed "
                f"{missing[0]}."
            )
        bounds = self.starts.tolist()
        return [self.rows[bounds[places[seed]] : bounds[places[seed] + 1]] for seed in seeds]

    def begins_with(self, other: TreeSamples) -> bool:
        """Return whether the first trees have the samples of all trees of another object."""
        n_trees = other.starts.shape[0]
        return np.array_equal(self.starts[:n_trees], other.starts) and np.array_equal(
            self.rows[: other.rows.shape[0]], other.rows
        )


def read_samples(samples: Any, n_samples: int, seeds: list[int]) -> TreeSamples:
    """Return the samples of trees with these seeds.

    Parameters
    ----------
    samples : list of array-like, ndarray or sparse matrix
        For each tree the indices of its samples, or a mask of them; or counts, in an array or
        sparse matrix of shape (n_trees, n_samples).
    n_samples : int
        Number of rows of the data.
    seeds : list of int
        The seed of each tree.
    """
    if sparse.issparse(samples) or (isinstance(samples, np.ndarray) and samples.ndim == 2):
        bags = _read_counts(samples, n_samples, len(seeds))
    elif not isinstance(samples, (list, tuple)) or len(samples) != len(seeds):
        of_list = isinstance(samples, (list, tuple))
        got = f"{len(samples)} of them" if of_list else type(samples).__name__
        raise ValueError(
            f"samples must have the samples of each of the {len(seeds)} trees: a list of arrays of "
            f"indices, or counts of shape ({len(seeds)}, {n_samples}). Got {got} instead."
        )
    else:
        bags = [_read_rows(rows, tree, n_samples) for tree, rows in enumerate(samples)]
    for tree, bag in enumerate(bags):
        if not 0 < bag.shape[0] <= _MOST:
            raise ValueError(f"samples must have a sample for each tree. Got none for tree {tree}.")
    return place_rows(seeds, bags)


def place_rows(seeds: list[int], bags: list[NDArray[np.uint32]]) -> TreeSamples:
    """Return the samples of trees, given their seeds and their sorted rows."""
    starts = np.cumsum([0, *map(len, bags)], dtype=np.int64)
    return TreeSamples(np.array(seeds, dtype=np.uint64), starts, np.concatenate(bags))


def _read_rows(rows: Any, tree: int, n_samples: int) -> NDArray[np.uint32]:
    """Return the sorted rows of a tree, given indices or a mask."""
    given = np.asarray(rows)
    if given.ndim == 1 and given.size == 0:
        return np.zeros(0, dtype=np.uint32)
    if given.ndim != 1 or given.dtype.kind not in "iub":
        raise ValueError(
            f"samples must have a 1D array of indices, or a mask, for each tree. Got {given.ndim} "
            f"dimensions of type {given.dtype} for tree {tree}."
        )
    if given.dtype.kind == "b":
        if given.shape[0] != n_samples:
            raise ValueError(
                f"A mask in samples must be of the {n_samples} samples. "
                f"Got {given.shape[0]} values for tree {tree}."
            )
        return np.flatnonzero(given).astype(np.uint32)
    wrong = given[(given < 0) | (given >= n_samples)]
    if wrong.size:
        raise ValueError(
            f"samples must have indices in the range [0, {n_samples}). "
            f"Got {wrong[0]} for tree {tree}."
        )
    return np.sort(given).astype(np.uint32)


def _read_counts(counts: Any, n_samples: int, n_trees: int) -> list[NDArray[np.uint32]]:
    """Return the rows of each tree, given how often each row counts."""
    matrix = sparse.csr_matrix(counts)
    if matrix.shape != (n_trees, n_samples):
        raise ValueError(
            f"Counts in samples must have the shape (n_estimators, n_samples), "
            f"({n_trees}, {n_samples}). Got {matrix.shape} instead. Indices come as a list with an "
            "array for each tree."
        )
    matrix.sum_duplicates()
    values = matrix.data
    is_whole = values.dtype.kind in "iub" or bool(np.all(values == np.floor(values)))
    if not is_whole or bool(np.any(values < 0)) or bool(np.any(values > _MOST)):
        raise ValueError("Counts in samples must be whole numbers that are not negative.")
    times = np.split(values.astype(np.int64), matrix.indptr[1:-1])
    rows = np.split(matrix.indices.astype(np.uint32), matrix.indptr[1:-1])
    return [np.repeat(of_tree, n) for of_tree, n in zip(rows, times, strict=True)]


def list_seeds(seed: int, n_trees: int, grown: list[int]) -> list[int]:
    """Return the seeds of the trees of a forest; some trees may have been grown before."""
    return [*grown, *list_tree_seeds(seed, len(grown), max(n_trees - len(grown), 0))][:n_trees]
