"""Neighbours: rows that a forest sends to the same leaves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from spinney._messages import reject_parameter
from spinney._spinney import Forest, draw_rows
from spinney._validation import check_int, is_bool

if TYPE_CHECKING:
    from spinney._draws import Draws

# Pairs of rows in a leaf that are counted between two looks at Ctrl-C: a fraction of a second.
_PAIRS_AT_ONCE = 10_000_000
# Counts of trees are 4 bytes wide, as the indices of rows are.
_MAX_ROWS = 2**31 - 1


class ForestNeighbours(ABC):
    """Mixin of the grown forests, by whose leaves rows are neighbours."""

    forest_: Forest
    _draws: Draws | None

    def proximity(self, X: Any, Y: Any = None, *, oob: bool = False) -> Any:
        """Return how often two samples share a leaf.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        Y : {array-like, sparse matrix} of shape (n_others, n_features), default=None
            Other samples. None means `X`.
        oob : bool, default=False
            Whether to look only at trees that have seen neither of the two samples. `X` must then
            be the training samples, in their order, and `Y` None.

        Returns
        -------
        proximity : sparse matrix of shape (n_samples, n_others)
            CSR, float64: the share of the trees in which the two samples reach the same leaf; with
            `oob`, of the trees that have seen neither of them. Pairs that share no leaf are not
            stored. Indices ascend in each row. While it is made it takes 16 bytes per stored pair,
            and some 35 per sample and tree.

        Raises
        ------
        NotFittedError
            If the forest is not fitted.
        ValueError, TypeError
            If an argument is illegal, or if samples out of bag are asked for from a forest that
            does not know them. The message names it.
        MemoryError
            If the result needs more memory than there is.
        """
        check_is_fitted(self)
        if not is_bool(oob):
            reject_parameter("proximity", "oob", oob, "a bool")
        if oob and Y is not None:
            reject_parameter("proximity", "Y", Y, "None if oob=True")
        members = self._list_memberships(X)
        unseen = self._list_unseen(members.shape[0]) if oob else None
        if unseen is not None:
            members = _keep_unseen(members, unseen)
        others = members if Y is None else self._list_memberships(Y)
        shape = (members.shape[0], others.shape[0])
        parts = _count_shared(members, others)
        del members, others
        return _divide_counts(parts, shape, len(self.forest_), unseen)

    def nearest(self, X: Any, k: int = 10, *, Y: Any) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return the samples that share most leaves with each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        k : int, default=10
            How many samples to look for.
        Y : {array-like, sparse matrix} of shape (n_others, n_features)
            The samples among which to look: usually those of the training, which a forest does not
            keep.

        Returns
        -------
        indices : ndarray of shape (n_samples, k), int64
            The rows of `Y` that share most leaves, most of all first; of equal ones the first in
            `Y`. -1 where there are fewer that share a leaf.
        shares : ndarray of shape (n_samples, k), float64
            The shares of trees in which they share a leaf. 0 where there are fewer.

        Raises
        ------
        NotFittedError
            If the forest is not fitted.
        ValueError, TypeError
            If an argument is illegal. The message names it.
        """
        check_int("nearest", "k", k, 1)
        return list_nearest(self.proximity(X, Y), int(k))

    def _list_memberships(self, X: Any) -> Any:
        """Return a CSR matrix of shape (n_samples, nodes of all trees): 1 where a sample ends."""
        leaves = self.apply(X)
        n_samples, n_trees = leaves.shape
        if n_samples > _MAX_ROWS or n_samples * n_trees > _MAX_ROWS:
            raise ValueError(
                f"proximity takes fewer than 2**31 leaves of samples. Got {n_samples} samples and "
                f"{n_trees} trees: ask for some of the samples at a time."
            )
        ends = np.cumsum(self.forest_.node_counts)
        leaves += ends - self.forest_.node_counts
        columns = leaves.astype(np.int32 if ends[-1] <= _MAX_ROWS else np.int64)
        del leaves
        # A row and another share as many leaves as there are trees, at most.
        ones = np.ones(columns.size, dtype=np.min_scalar_type(-n_trees - 1))
        indptr = np.arange(0, columns.size + 1, n_trees, dtype=columns.dtype)
        return sparse.csr_matrix((ones, columns.ravel(), indptr), shape=(n_samples, int(ends[-1])))

    def _list_unseen(self, n_samples: int) -> NDArray[np.bool_]:
        """Return whether each tree was grown without each sample: (n_samples, n_trees)."""
        if self._draws is None:
            raise ValueError(
                "A forest that from_sklearn has made does not know the samples of its trees: "
                "oob=True is not possible."
            )
        if self._draws.n_samples != n_samples:
            raise ValueError(
                "X must be the training samples if oob=True: "
                f"{self._draws.n_samples} samples. Got {n_samples} instead."
            )
        counts = draw_rows(self._draws, self.forest_.seeds, self._count_threads())
        return np.column_stack([count == 0 for count in counts])

    @abstractmethod
    def apply(self, X: Any) -> NDArray[np.int64]:
        """Return the leaf that each sample reaches in each tree."""

    @abstractmethod
    def _count_threads(self) -> int:
        """Return the number of threads."""


def _keep_unseen(members: Any, unseen: NDArray[np.bool_]) -> Any:
    """Return the memberships in trees that have not seen a sample."""
    # Each sample has one entry per tree, in the order of the trees.
    kept = unseen.ravel()
    indptr = np.concatenate([[0], np.cumsum(unseen.sum(axis=1))])
    parts = (members.data[kept], members.indices[kept], indptr)
    return sparse.csr_matrix(parts, shape=members.shape)


# The numbers of trees in which some rows share a leaf with others, row after row; the others; and
# how many of them each row has.
_Counts = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]


def _count_shared(members: Any, others: Any) -> list[_Counts]:
    """Return in how many trees samples share a leaf, given their memberships."""
    by_leaf = others.T.tocsr()
    # Both are ones.
    by_leaf.data = others.data
    parts = []
    for rows in _divide(members, by_leaf):
        counts = members[rows] @ by_leaf
        counts.sort_indices()
        parts.append((counts.data, counts.indices, np.diff(counts.indptr)))
    return parts


def _divide_counts(
    parts: list[_Counts], shape: tuple[int, int], n_trees: int, unseen: NDArray[np.bool_] | None
) -> Any:
    """Return counts as shares of the trees, or, out of bag, of those that both have not seen.

    Empties the list of the counts.
    """
    lengths = np.concatenate([part[2] for part in parts] or [np.zeros(0, np.int64)])
    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    n = int(indptr[-1])
    shares = np.empty(n)
    indices = np.empty(n, dtype=np.int32 if n <= _MAX_ROWS else np.int64)
    first = first_row = 0
    # A part is given up as soon as it is copied.
    parts.reverse()
    while parts:
        counts, columns, row_lengths = parts.pop()
        part = slice(first, first + counts.size)
        totals: Any = n_trees
        if unseen is not None:
            row_of = np.repeat(np.arange(first_row, first_row + row_lengths.size), row_lengths)
            totals = _count_both(unseen, row_of, columns)
        np.divide(counts, totals, out=shares[part])
        indices[part] = columns
        first, first_row = part.stop, first_row + row_lengths.size
    return sparse.csr_matrix((shares, indices, indptr.astype(indices.dtype)), shape=shape)


def _divide(members: Any, by_leaf: Any) -> Iterator[slice]:
    """Yield slices of rows that have so many pairs in leaves that Ctrl-C need not wait."""
    # Single precision will do, and takes little memory.
    sizes = np.diff(by_leaf.indptr).astype(np.float32)
    pairs = np.concatenate([[0], np.cumsum(members @ sizes, dtype=np.float64)])
    first, n_rows = 0, members.shape[0]
    while first < n_rows:
        last = int(np.searchsorted(pairs, pairs[first] + _PAIRS_AT_ONCE, side="right")) - 1
        last = min(max(last, first + 1), n_rows)
        yield slice(first, last)
        first = last


def _count_both(
    unseen: NDArray[np.bool_], rows: NDArray[Any], columns: NDArray[Any]
) -> NDArray[np.int64]:
    """Return for pairs of samples in how many trees neither is seen."""
    bits = np.packbits(unseen, axis=1)
    counts = np.empty(rows.size, dtype=np.int64)
    step = max(1, _PAIRS_AT_ONCE // max(1, bits.shape[1]))
    for first in range(0, rows.size, step):
        part = slice(first, first + step)
        both = bits[rows[part]] & bits[columns[part]]
        counts[part] = _COUNT_OF_BITS[both].sum(axis=1)
    return counts


_COUNT_OF_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1).sum(axis=1)


def list_nearest(weights: Any, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the columns with the largest entries of each row of a CSR matrix, and the entries."""
    n_rows = weights.shape[0]
    indices = np.full((n_rows, k), -1, dtype=np.int64)
    largest = np.zeros((n_rows, k))
    for row in range(n_rows):
        part = slice(weights.indptr[row], weights.indptr[row + 1])
        values, columns = weights.data[part], weights.indices[part]
        # Of equal ones the first column.
        order = np.lexsort((columns, -values))[:k]
        indices[row, : order.size] = columns[order]
        largest[row, : order.size] = values[order]
    return indices, largest
