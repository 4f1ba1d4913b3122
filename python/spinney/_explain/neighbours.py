"""Neighbours: rows that a forest sends to the same leaves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from spinney._common.checks import check_int
from spinney._common.messages import reject_parameter, warn_caller
from spinney._data.unknown_categories import tell_once
from spinney._explain.out_of_bag import OutOfBag, check_oob_score
from spinney._spinney import share_leaves

_MAX_INDEX = 2**31 - 1


class ForestNeighbours(OutOfBag, ABC):
    """Mixin of the grown forests, by whose leaves rows are neighbours."""

    def proximity(
        self, X: Any, Y: Any = None, *, oob_score: bool = False, oob: Any = "deprecated"
    ) -> Any:
        """Return how often two samples share a leaf.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        Y : {array-like, sparse matrix} of shape (n_others, n_features), default=None
            Other samples. None means `X`.
        oob_score : bool, default=False
            Whether to look only at trees that have seen neither of the two samples. `X` must then
            be the training samples, in their order, and `Y` None.
        oob : bool, default="deprecated"
            The name of `oob_score` until 0.6.

        Returns
        -------
        proximity : sparse matrix of shape (n_samples, n_others)
            CSR, float64: the share of the trees in which the two samples reach the same leaf; with
            `oob_score`, of the trees that have seen neither of them. Pairs that share no leaf are
            not stored, nor are pairs where each tree has seen one. Indices ascend in each row. It
            takes 12 bytes per stored pair, and while it is made some 20 per sample and tree, and 4
            per node.

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
        if not (isinstance(oob, str) and oob == "deprecated"):
            warn_caller(
                "The parameter oob of proximity is now called oob_score, and its old name goes in "
                "version 0.6.",
                FutureWarning,
            )
            oob_score = oob
        check_oob_score(oob_score)
        if oob_score and Y is not None:
            reject_parameter("proximity", "Y", Y, "None if oob_score=True")
        with tell_once():
            leaves = self.apply(X)
            others = None if Y is None else self.apply(Y)
        unseen = None
        if oob_score:
            draws = self._get_draws(leaves.shape[0])
            bits = draws.mark_unseen(self.forest_.seeds, self._count_threads())
            unseen = bits.of_rows((0, leaves.shape[0]))
        n_others = leaves.shape[0] if others is None else others.shape[0]
        indptr, indices, shares = share_leaves(leaves, others, unseen, self._count_threads())
        if shares.size <= _MAX_INDEX:
            # scipy wants both arrays of one type.
            indptr = indptr.astype(np.int32)
        return sparse.csr_matrix((shares, indices, indptr), shape=(leaves.shape[0], n_others))

    def nearest(self, X: Any, k: int = 10, *, Y: Any) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return the samples that share most leaves with each sample.

        It takes the time of :meth:`proximity` without its memory: 16 bytes per sample and neighbour
        of the result, 4 per tree and sample of `Y`, and some 40 MB.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        k : int, default=10
            How many samples to look for.
        Y : {array-like, sparse matrix} of shape (n_others, n_features)
            The samples among which to look: usually the training samples, which a forest does not
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
        check_is_fitted(self)
        with tell_once():
            X = self._validate_X_predict(X)
            Y = self._validate_X_predict(Y)
        return self.forest_.nearest(X, Y, int(k), self._count_threads())

    @abstractmethod
    def apply(self, X: Any) -> NDArray[np.int64]:
        """Return the leaf that each sample reaches in each tree."""

    @abstractmethod
    def _validate_X_predict(self, X: Any, check_input: bool = True) -> Any:
        """Return X with codes for categories, in the form that the compiled part takes."""

    @abstractmethod
    def _count_threads(self) -> int:
        """Return the number of threads."""


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
