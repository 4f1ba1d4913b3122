"""What weights mean for scores: rows of weight 0 are absent, and others count as copies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import BaseCrossValidator, PredefinedSplit, check_cv
from sklearn.utils import indexable
from sklearn.utils.validation import _num_samples

from spinney._common.rows import take_rows


class Training(NamedTuple):
    """The arguments of a fit, without rows of weight 0."""

    X: Any
    y: Any
    sample_weight: Any
    is_used: NDArray[np.bool_] | None
    """Which of the caller's rows are there. None if all are."""

    def take(self, rows: NDArray[np.int64]) -> Training:
        """Return some of the rows that are there."""
        weights = self.sample_weight
        weights = weights if np.ndim(weights) == 0 else weights[rows]
        return Training(take_rows(self.X, rows), take_rows(self.y, rows), weights, None)

    def take_samples(self, samples: Any) -> Any:
        """Return the samples of trees, as `fit` of a forest takes them, of the rows there are."""
        if self.is_used is None or samples is None:
            return samples
        if sparse.issparse(samples) or (isinstance(samples, np.ndarray) and samples.ndim == 2):
            return sparse.csc_matrix(samples)[:, np.flatnonzero(self.is_used)]
        return [self._take_bag(np.asarray(bag)) for bag in samples]

    def _take_bag(self, bag: NDArray[Any]) -> NDArray[Any]:
        """Return the rows of a tree, or a mask of them. The forest refuses what is no row."""
        assert self.is_used is not None
        if bag.dtype.kind == "b":
            return bag[self.is_used] if bag.shape == self.is_used.shape else bag
        n_rows = self.is_used.shape[0]
        if bag.dtype.kind not in "iu" or bool(np.any((bag < 0) | (bag >= n_rows))):
            raise ValueError(
                f"samples must have indices in the range [0, {n_rows}), or a mask, for each tree. "
                f"Got {bag!r}."
            )
        return self._renumber(bag)

    def _renumber(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """Return the new numbers of those of some rows that are there."""
        assert self.is_used is not None
        numbers = np.cumsum(self.is_used, dtype=np.int64) - 1
        kept: NDArray[np.int64] = numbers[rows[self.is_used[rows]]]
        return kept

    def take_groups(self, groups: Any) -> Any:
        """Return the groups of the rows that are there."""
        if self.is_used is None or groups is None:
            return groups
        return take_rows(groups, np.flatnonzero(self.is_used))

    def take_folds(self, cv: Any) -> Any:
        """Return a splitter of the rows that are there, where `cv` names rows of the caller."""
        names_rows = isinstance(cv, PredefinedSplit) or (
            not isinstance(cv, BaseCrossValidator)
            and not hasattr(cv, "split")
            and isinstance(cv, Iterable)
        )
        if self.is_used is None or not names_rows:
            return cv
        splits = check_cv(cv).split(np.zeros(self.is_used.shape[0]))
        folds = [tuple(self._renumber(np.asarray(rows)) for rows in fold) for fold in splits]
        # A fold may have had no other rows.
        return [(train, test) for train, test in folds if test.size]

    def count_copies(self) -> NDArray[np.float64] | None:
        """Return how many rows each row counts as; None if each counts once.

        Whole weights are numbers of copies. Fractions say nothing of how many rows there are, so
        that their mean is 1.
        """
        if self.sample_weight is None or np.ndim(self.sample_weight) == 0:
            return None
        weights = np.asarray(self.sample_weight, dtype=np.float64)
        is_equal = bool(np.all(weights == weights[0]))
        if not np.array_equal(weights, np.floor(weights)):
            return None if is_equal else weights * (weights.shape[0] / weights.sum())
        return None if is_equal and weights[0] == 1.0 else weights


def read_training(X: Any, y: Any, sample_weight: Any) -> Training:
    """Return the arguments of a fit without the rows of weight 0, which are as if absent.

    The forest refuses weights that are illegal.
    """
    (X,) = indexable(X)
    if sample_weight is None:
        return Training(X, y, None, None)
    weights = np.asarray(sample_weight)
    if weights.ndim != 1:
        return Training(X, y, sample_weight, None)
    if weights.dtype.kind not in "biuf":
        weights = weights.astype(np.float64)
    is_used = weights != 0
    is_legal = weights.shape[0] == _num_samples(X) and bool(is_used.any())
    if not is_legal or bool(is_used.all()):
        return Training(X, y, weights, None)
    rows = np.flatnonzero(is_used)
    return Training(take_rows(X, rows), take_rows(y, rows), weights[rows], is_used)
