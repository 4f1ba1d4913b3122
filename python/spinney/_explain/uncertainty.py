"""How sure predictions are: the spread of targets, and the standard error of means."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spinney._common.blocks import divide_rows, join_blocks
from spinney._common.messages import warn_caller
from spinney._explain.draw_products import DrawProducts, multiply_draws
from spinney._explain.little_bags import find_errors
from spinney._explain.out_of_bag import OutOfBag, check_oob_score
from spinney._fit.draws import Subforests

# A variance is told from chance if it is this many times as large as the error that chance leaves.
_DEVIATIONS = 3.0
# No forest of more times as many trees is named.
_MOST_TIMES = 100.0


class StandardErrors(OutOfBag, ABC):
    """Mixin of the grown forests: how far predictions would be others with other training data."""

    n_outputs_: int

    def predict_standard_error(self, X: Any, *, oob_score: bool = False) -> Any:
        """Return the standard errors of the means that the forest predicts.

        They say how much the means would vary from one training set to the next (Wager, Hastie and
        Efron's infinitesimal jackknife, with their correction for the number of trees), and not how
        much targets vary: for that see `return_std` of regressors, and quantile forests. The forest
        needs many trees, some times as many as for predictions. An estimate that the correction
        makes negative is NaN, and a warning names a number of trees that would do.

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
            than two trees have not seen a sample, with `oob_score`, and where there are too few
            trees. 0 where all trees predict the same.

        Raises
        ------
        ValueError
            If all trees were grown on the same samples (`bootstrap=False`, or draws without
            replacement of all samples, also of all samples of one class), or if there is one tree
            alone.

        Notes
        -----
        O(training samples * trees**2) once per call, by products of matrices, and O(trees**2) for
        each sample. With `subforest_size` the errors are by little bags (Athey, Tibshirani, Wager):
        by what the means of trees that share a half of the samples vary by, in O(trees) for each
        sample; they are never negative, and rather too large with few trees. Out of bag, all trees
        of a half must not have seen the sample.

        If s of n samples are drawn without replacement, variances are multiplied by
        Wager and Athey's ``n (n - 1) / (n - s)**2``, with `class_sampling` in each class. Rows that
        `samples` always gives together are one sample, such as a group.

        References
        ----------
        S. Wager, T. Hastie, B. Efron, "Confidence intervals for random forests: the jackknife and
        the infinitesimal jackknife", Journal of Machine Learning Research 15, 2014, equation 7.

        S. Wager, S. Athey, "Estimation and inference of heterogeneous treatment effects using
        random forests", Journal of the American Statistical Association 113, 2018, equation 8.

        S. Athey, J. Tibshirani, S. Wager, "Generalized random forests", Annals of Statistics 47,
        2019, section 4.
        """
        check_is_fitted(self)
        matrix: Any = self._validate_X_predict(X)  # type: ignore[attr-defined]
        n_threads: int = self._count_threads()  # type: ignore[attr-defined]
        check_oob_score(oob_score)
        unseen = self._find_unseen_trees(matrix.shape[0], n_threads) if oob_score else None
        draws = self._know_draws("predict_standard_error")
        found: _Variances | _LittleBags
        if draws.subforests is None:
            found = _Variances(
                multiply_draws(draws, self.forest_.seeds, n_threads), draws.n_samples
            )
        else:
            found = _LittleBags(self.forest_.seeds, draws.subforests)
        blocks = (
            found.find_errors(
                self.forest_.predict_trees(matrix, n_threads, rows),
                None if unseen is None else unseen.of_rows(rows),
            )
            for rows in divide_rows(matrix.shape[0], len(self.forest_))
        )
        errors = join_blocks(matrix.shape[0], blocks)
        self._warn_of_seen(found.n_seen)
        found.warn_of_few_trees()
        split: NDArray[np.float64] = self._split_outputs(errors)  # type: ignore[attr-defined]
        return self._interpret_errors(split)

    @abstractmethod
    def _interpret_errors(self, errors: NDArray[np.float64]) -> Any:
        """Return errors, as `_split_outputs` returns values, in the shape of predictions."""


class _LittleBags:
    """Finds the standard errors of forests whose trees share halves of the samples."""

    def __init__(self, seeds: list[int], subforests: Subforests) -> None:
        n_trees, size = len(seeds), subforests.size
        if n_trees < 2 * size:
            raise ValueError(
                "Standard errors compare trees that were grown on different halves of the samples. "
                f"Got {n_trees} trees, of which {size} share a half: set a larger n_estimators."
            )
        if n_trees % size or seeds != subforests.tree_seeds[:n_trees].tolist():
            raise ValueError(
                f"Standard errors need all {size} trees that share a half, one after the other, as "
                "fit has grown them. Other trees were assigned to estimators_."
            )
        self._size = size
        self.n_seen = 0
        """Rows of which the trees of fewer than two halves have seen nothing."""

    def find_errors(
        self, values: NDArray[np.float64], unseen: NDArray[np.uint8] | None
    ) -> NDArray[np.float64]:
        errors, n_bags = find_errors(values, self._size, unseen)
        self.n_seen += int(np.count_nonzero(n_bags < 2))
        return errors

    def warn_of_few_trees(self) -> None:
        """Do nothing: with few trees the errors are too large, and never negative."""


class _Variances:
    """Finds the standard errors of blocks of rows, and counts those that cannot be told.

    Parameters
    ----------
    products : DrawProducts
    n_samples : int
        Number of training samples.
    """

    def __init__(self, products: DrawProducts, n_samples: int) -> None:
        self._products, self._n_samples = products, n_samples
        self.n_seen = 0
        """Rows that fewer than two trees have not seen."""
        self._n_values = self._n_negative = 0
        # Sums over values: the variances that were found, and what chance adds to them.
        self._found = self._by_chance = 0.0

    def find_errors(
        self, values: NDArray[np.float64], unseen: NDArray[np.uint8] | None
    ) -> NDArray[np.float64]:
        """Return standard errors.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_trees, n_values)
            What trees predict.
        unseen : ndarray of shape (n_rows, n_trees) or None
            0 where a tree has seen a row and does not count. None if all count.
        """
        errors = np.empty((values.shape[0], values.shape[2]))
        counted = None if unseen is None else unseen != 0
        if counted is not None:
            self.n_seen += int(np.count_nonzero(counted.sum(axis=1) < 2))
        for value in range(values.shape[2]):
            centred, n_trees = _centre(values[:, :, value], counted)
            squares = np.einsum("ij,ij->i", centred, centred)
            # t' G t / B^2, less what the trees' own variance adds to it.
            jackknife = np.einsum("ij,ij->i", centred @ self._products.gram, centred)
            surplus = self._products.variance * squares
            variances = jackknife - surplus
            # Trees that all agree have no variance.
            is_negative = (variances < 0.0) & (squares > 0.0)
            is_known = (n_trees > 1) & ~is_negative
            root = np.sqrt(np.maximum(variances, 0.0)) / n_trees
            errors[:, value] = np.where(is_known, root, np.nan)
            self._n_values += n_trees.shape[0]
            self._n_negative += int(np.count_nonzero(is_negative & (n_trees > 1)))
            of_trees = np.square(n_trees, dtype=np.float64)
            self._found += float(np.sum(variances / of_trees))
            self._by_chance += float(np.sum(surplus / of_trees))
        return errors

    def warn_of_few_trees(self) -> None:
        """Warn of values whose variance was negative, and name a number of trees that would do.

        Chance adds ``surplus`` to a variance, about ``sqrt(2 / n_samples)`` of which is left as an
        error when it is taken off. It falls as trees are added, and the variance stays.
        """
        if self._n_negative == 0:
            return
        n_trees = self._products.gram.shape[0]
        error = self._by_chance * np.sqrt(2.0 / self._n_samples)
        times = _DEVIATIONS * error / self._found if self._found > 0.0 else _MOST_TIMES
        times = min(max(times, 2.0), _MOST_TIMES)
        warn_caller(
            f"{self._n_negative} of {self._n_values} standard errors are NaN: {n_trees} trees are "
            "too few to tell them from what trees differ by chance. About "
            f"{math.ceil(times * n_trees / 100) * 100} trees would tell most of them."
        )


def _centre(
    values: NDArray[np.float64], counted: NDArray[np.bool_] | None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return values of trees less their mean, 0 for trees that do not count; and how many count."""
    n_rows, n_trees = values.shape
    if counted is None:
        counted = np.ones((1, n_trees), dtype=bool)
    n_counted = np.count_nonzero(counted, axis=1)
    n_counted = np.broadcast_to(n_counted, n_rows)
    means = np.where(counted, values, 0.0).sum(axis=1) / np.maximum(n_counted, 1)
    least = np.where(counted, values, np.inf).min(axis=1)
    most = np.where(counted, values, -np.inf).max(axis=1)
    # The rounded mean of equal values need not be one of them.
    means = np.where(least == most, least, means)
    return np.where(counted, values - means[:, None], 0.0), np.maximum(n_counted, 1)
