"""How sure predictions are: the spread of targets, and the standard error of means."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spinney._explain.out_of_bag import OutOfBag, check_oob_score
from spinney._spinney import draw_rows

# The most numbers, one for each row and tree, that are held at once.
_NUMBERS_AT_ONCE = 2**24


class StandardErrors(OutOfBag, ABC):
    """Mixin of the grown forests: how far predictions would be others with other training data."""

    n_outputs_: int

    def predict_standard_error(self, X: Any, *, oob_score: bool = False) -> Any:
        """Return the standard errors of the means that the forest predicts.

        They say how much the means would vary from one training set to the next (Wager, Hastie and
        Efron's infinitesimal jackknife, with their correction for the number of trees), and not how
        much targets vary: for that see `return_std` of regressors, and quantile forests. The forest
        needs many trees, some times as many as for predictions. Estimates that the correction makes
        negative are 0.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        oob_score : bool, default=False
            Whether `X` are the training samples, and the errors belong to the means out of bag: of
            the trees that have not seen a sample.

        Returns
        -------
        errors : ndarray of shape (n_samples,) or (n_samples, n_outputs) of a regressor; \
                (n_samples, n_classes), or a list of one such array per output, of a classifier
            float64. Of classes, errors of the shares that `predict_proba` returns. NaN where fewer
            than two trees have not seen a sample, with `oob_score`.

        Raises
        ------
        ValueError
            If all trees were grown on the same samples (`bootstrap=False`), or if there is one tree
            alone.

        Notes
        -----
        O(training samples * trees**2) once per call, by products of matrices, and O(trees**2) for
        each sample.

        References
        ----------
        S. Wager, T. Hastie, B. Efron, "Confidence intervals for random forests: the jackknife and
        the infinitesimal jackknife", Journal of Machine Learning Research 15, 2014, equation 7.
        """
        check_is_fitted(self)
        matrix: Any = self._validate_X_predict(X)  # type: ignore[attr-defined]
        n_threads: int = self._count_threads()  # type: ignore[attr-defined]
        check_oob_score(oob_score)
        counted = self._mark_trees(matrix.shape[0], n_threads, oob_score)
        gram, n_samples, variance = self._multiply_counts(n_threads)
        values = self.forest_.predict_trees(matrix, n_threads)
        errors = np.empty((values.shape[0], values.shape[2]))
        step = max(1, _NUMBERS_AT_ONCE // values.shape[1])
        for start in range(0, values.shape[0], step):
            block = slice(start, start + step)
            own = None if counted is None else counted[block]
            for value in range(values.shape[2]):
                centred, n_trees = _centre(values[block, :, value], own)
                # t' G t / B^2, less what the trees' own variance adds to it.
                jackknife = np.einsum("ij,ij->i", centred @ gram, centred)
                surplus = n_samples * variance * np.einsum("ij,ij->i", centred, centred)
                found = np.sqrt(np.maximum(jackknife - surplus, 0.0)) / n_trees
                errors[block, value] = np.where(n_trees > 1, found, np.nan)
        if counted is not None:
            self._warn_of_seen(int(np.count_nonzero(counted.sum(axis=1) < 2)))
        split: NDArray[np.float64] = self._split_outputs(errors)  # type: ignore[attr-defined]
        return self._interpret_errors(split)

    @abstractmethod
    def _interpret_errors(self, errors: NDArray[np.float64]) -> Any:
        """Return errors, as `_split_outputs` returns values, in the shape of predictions."""

    def _multiply_counts(self, n_threads: int) -> tuple[NDArray[np.float64], int, float]:
        """Return the products of the centred counts of draws of each two trees.

        Returns
        -------
        gram : ndarray of shape (n_trees, n_trees)
        n_samples : int
        variance : float
            The mean over the samples of the variance of their counts.
        """
        n_trees = len(self.forest_)
        draws = self._know_draws("predict_standard_error")
        if draws.scheme == "all" or n_trees < 2:
            raise ValueError(
                "Standard errors compare trees that were grown on different samples: set "
                f"bootstrap=True and several trees. Got {n_trees} tree(s), and "
                f"{'all' if draws.scheme == 'all' else 'drawn'} samples for each."
            )
        n_samples = draws.n_samples
        step = max(1, _NUMBERS_AT_ONCE // n_samples)
        seeds = self.forest_.seeds
        blocks = [seeds[start : start + step] for start in range(0, n_trees, step)]
        first = self._count_rows(blocks[0], n_threads)

        def count(block: int) -> NDArray[Any]:
            return first if block == 0 else self._count_rows(blocks[block], n_threads)

        gram = np.empty((n_trees, n_trees))
        total, squares = np.zeros(n_samples), 0.0
        for row in range(len(blocks)):
            counts = count(row)
            total += counts.sum(axis=0, dtype=np.float64)
            own = slice(row * step, row * step + counts.shape[0])
            for column in range(row + 1):
                other = counts if column == row else count(column)
                others = slice(column * step, column * step + other.shape[0])
                gram[own, others] = counts @ other.T
                gram[others, own] = gram[own, others].T
            squares += float(np.trace(gram[own, own]))
        mean = total / n_trees
        # (N - m)(N - m)' from N N', without a copy of N.
        against = np.concatenate([count(block) @ mean for block in range(len(blocks))])
        centred = gram - against[:, None] - against[None, :] + mean @ mean
        variance = (squares / n_trees - float(mean @ mean)) / n_samples
        return centred, n_samples, variance

    def _count_rows(self, seeds: list[int], n_threads: int) -> NDArray[Any]:
        """Return how often trees have drawn each training sample."""
        assert self._draws is not None
        counts = np.stack(draw_rows(self._draws, seeds, n_threads))
        # Products of single precision are twice as fast, and exact while sums are small integers.
        is_small = int(counts.max()) * int(counts.sum(axis=1, dtype=np.int64).max()) < 2**22
        return counts.astype(np.float32 if is_small else np.float64)


def _centre(
    values: NDArray[np.float64], counted: NDArray[np.bool_] | None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return values of trees less their mean, 0 for trees that do not count; and how many count."""
    n_rows, n_trees = values.shape
    if counted is None:
        return values - values.mean(axis=1, keepdims=True), np.full(n_rows, n_trees)
    n_counted = np.count_nonzero(counted, axis=1)
    means = np.where(counted, values, 0.0).sum(axis=1) / np.maximum(n_counted, 1)
    return np.where(counted, values - means[:, None], 0.0), np.maximum(n_counted, 1)
