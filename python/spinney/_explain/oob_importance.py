"""Importances of features by the samples that trees have not seen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import get_scorer_names
from sklearn.utils import Bunch, assert_all_finite, check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from spinney._common.checks import check_int, check_verbose, is_bool
from spinney._common.messages import reject_parameter
from spinney._common.progress import show_progress
from spinney._common.rows import take_rows
from spinney._common.types import (
    Classes,
    ImportanceType,
)
from spinney._data.arrays import CompressedMatrix
from spinney._explain.oob_scores import score_permutations
from spinney._explain.out_of_bag import OutOfBag
from spinney._fit.draws import Draws, mend_rounding
from spinney._spinney import forest_oob_importances

_NAME = "permutation_importance_oob"
# Scores, as scikit-learn names them, and the losses of the compiled part.
_CLASS_LOSSES = {"accuracy": "wrong", "neg_brier_score": "brier"}
_NUMBER_LOSSES = {"neg_mean_squared_error": "squared", "neg_mean_absolute_error": "absolute"}
# So many samples count unless more are asked for.
_ENOUGH_SAMPLES = 20_000
# The columns of a sparse matrix with at most this many are faster to read as dense ones.
_FEW_COLUMNS = 256
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


class OobImportance(OutOfBag, ABC):
    """Mixin of the grown forests, whose trees have not seen all samples."""

    n_features_in_: int
    n_outputs_: int
    verbose: Any
    _task: ClassVar[str]
    classes_: Classes

    def permutation_importance_oob(
        self,
        X: Any,
        y: Any,
        *,
        n_repeats: int = 5,
        groups: Any = None,
        scoring: Any = None,
        importance_type: ImportanceType = "permutation",
        n_null_fits: int = 0,
        max_samples: Any = None,
        random_state: Any = None,
        verbose: Any = None,
    ) -> Bunch:
        """Return how much worse trees predict unseen samples if a column is permuted.

        For each tree, the columns of the samples that it has not seen are permuted among them. The
        importance of a feature is what the mean score of the tree loses by the permutation of its
        column, as a mean over the trees (Breiman, 2001). Other scores are scores of the
        whole forest, see `scoring`. Unlike in `feature_importances_`, an uninformative feature has
        an importance near 0, however many values it has. It is not exactly 0: if the column and the
        target are correlated by chance in these samples, this shows in all repeats.

        Only samples that meet the column on their path in a tree are sent through it again. The
        time therefore follows the depth of the trees, not the number of columns. Sparse matrices
        of more than 256 columns stay sparse; narrower ones are read faster as dense ones.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dataset} of shape (n_samples, n_features)
            The samples that the forest was fitted to, in their order. Sparse formats other than CSR
            are converted to it. The values of a `Dataset` are copied into a matrix.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        n_repeats : int, default=5
            How often columns are permuted. Results have one column per repeat.
        groups : list of array-like of int or str, default=None
            Sets of features, by number or name, whose columns are permuted together, such as the
            one-hot columns of a category. A feature may be in one of them at most; those in none
            are left as they are.
            None means that each feature is a group of its own.
        scoring : str or callable, default=None
            The score. For classes "accuracy" and "neg_brier_score", and for numbers
            "neg_mean_squared_error" and "neg_mean_absolute_error", are scores of trees; None means
            the first one that is possible. "neg_brier_score" is the negative sum of squared
            differences of class shares. With several outputs, the mean over them.

            Any other name of a scorer of scikit-learn, and any callable with the arguments
            `estimator`, `X` and `y`, is a score of the forest: of its predictions out of bag, for
            each sample by the trees that have not seen it. Samples that all trees have seen are
            left out. Columns are permuted among all samples, alike for all trees. A callable may
            use `predict`, `predict_proba` and `classes_` of the estimator, for the X that it gets,
            whose columns are not permuted. `get_scorer("accuracy")` is such a callable. It is
            called once per repeat for each feature, or group, that changes a prediction. Changed
            predictions are held for one repeat at a time. Scores know no weights of samples or
            classes.
        importance_type : {"permutation", "impurity"}, default="permutation"
            "impurity" permutes nothing. The importance is the decrease of impurity by the splits on
            the feature, judged by the unseen samples: the mean product of what these splits add to
            the prediction of the tree, and of the target less the mean target of the unseen samples
            at the split. Li et al. (2019) take the target as it is. That makes a split on noise
            look harmful where it divides the unseen samples in other shares than the samples that
            it was chosen by; as written here, noise is about 0 as well. Results have one column per
            tree that has not seen all samples; `n_repeats` and `random_state` have no influence,
            and `groups` and `scoring` must be None.
        n_null_fits : int, default=0
            How many forests to grow to permuted targets, for p-values: each with the parameters of
            this one and a seed of its own, without sample weights and ids. 0 means p-values that
            take no fits.
        max_samples : int or float, default=None
            How many training samples count, at most; they are drawn at random. A float is a share
            of them. None means 20,000: the time grows with the samples, and means over so many
            change little with more. 1.0 means all.
        random_state : int, RandomState instance or None, default=None
            Seed of the permutations and of the samples that count. An int makes them repeatable.
        verbose : int, default=None
            Whether to show the trees that are done, as `verbose` of the forest does. None means
            the value of the forest.

        Returns
        -------
        result : Bunch
            With these attributes:

            importances : ndarray of shape (n_groups, n_repeats) or (n_features, n_trees), float64
                Of each repeat or tree.
            importances_mean : ndarray of shape (n_groups,), float64
                Means over repeats or trees.
            importances_std : ndarray of shape (n_groups,), float64
                Standard deviations over them. Those over repeats say how much the permutation
                matters, not how much the samples do.
            p_values : ndarray of shape (n_groups,), float64
                The probability that an uninformative feature scores as high. By default it is
                estimated from the importances that are 0 or negative, and their mirror images
                (Janitza et al., 2018). This needs many features, most of them uninformative. It is
                0 for an importance above all of these, and NaN if no importance is negative. With
                `n_null_fits`, it is estimated from the importances of the same feature in forests
                that are fitted to permuted targets (Altmann et al., 2010): the share of these
                forests, and this one, in which the importance is at least as large. The smallest
                value with `n_null_fits=99` is 0.01.

        Raises
        ------
        NotFittedError
            If the forest is not fitted.
        ValueError, TypeError
            If an argument is illegal, or if the trees have seen all samples (`bootstrap=False`).
            The message says which.

        References
        ----------
        A. Altmann et al., "Permutation importance: a corrected feature importance measure",
        Bioinformatics 26, 2010.

        L. Breiman, "Random Forests", Machine Learning 45, 2001.

        X. Li et al., "A Debiased MDI Feature Importance Measure for Random Forests", NeurIPS 2019.

        S. Janitza, E. Celik, A.-L. Boulesteix, "A computationally fast variable importance test for
        random forests for high-dimensional data", Advances in Data Analysis and Classification 12,
        2018.
        """
        check_is_fitted(self)
        check_int(_NAME, "n_repeats", n_repeats, 1)
        if importance_type not in ("permutation", "impurity"):
            expected = "a str among {'permutation', 'impurity'}"
            reject_parameter(_NAME, "importance_type", importance_type, expected)
        check_int(_NAME, "n_null_fits", n_null_fits, 0)
        if verbose is not None:
            check_verbose(_NAME, verbose)
        random = check_random_state(random_state)
        scoring = self._find_scorer(scoring)
        loss = self._read_scoring(scoring)
        is_permuted = importance_type == "permutation"
        for name, value in (("groups", groups), ("scoring", scoring)):
            if value is not None and not is_permuted:
                expected = "None if importance_type='impurity'"
                reject_parameter(_NAME, name, value, expected)
        group_of, n_groups = self._read_groups(groups)
        seed = int(random.randint(np.iinfo(np.int32).max))
        samples, y = X, self._read_given(y)
        X, target, draws = self._read_training(X, y)
        asked = _choose_rows(X.shape[0], max_samples, seed)
        shown = int(self.verbose if verbose is None else verbose)
        if loss is None:
            importances = score_permutations(
                self,
                X,
                (samples, y, draws, asked),
                scoring,
                (group_of, n_groups),
                (int(n_repeats), seed),
                shown,
            )
        else:
            permutations = (loss, group_of, n_groups, int(n_repeats), seed) if is_permuted else None
            n_threads = self._count_threads()
            with show_progress(shown, 0, len(self.forest_), "permuting") as watcher:
                importances = forest_oob_importances(
                    self.forest_, X, target, draws, permutations, asked, n_threads, watcher
                )
        if not is_permuted:
            importances = np.ascontiguousarray(importances[~np.isnan(importances).any(axis=1)].T)
        if importances.shape[1] == 0 or (importances.size > 0 and np.isnan(importances).all()):
            raise ValueError("There is no tree that has not seen all samples.")
        mean = importances.mean(axis=1)
        if n_null_fits == 0:
            p_values = _compare_with_mirrored(mean)
        else:
            # The forest itself is one of those that chance may make.
            n_as_large = np.ones(mean.shape)
            for _ in range(n_null_fits):
                null, of_null = self._fit_null(samples, y, X.shape[0], random)
                result = null.permutation_importance_oob(
                    samples,
                    of_null,
                    n_repeats=n_repeats,
                    groups=groups,
                    scoring=scoring,
                    importance_type=importance_type,
                    max_samples=max_samples,
                    random_state=random,
                    verbose=shown,
                )
                n_as_large += result.importances_mean >= mean
            p_values = n_as_large / (1 + n_null_fits)
        return Bunch(
            importances=importances,
            importances_mean=mean,
            importances_std=importances.std(axis=1),
            p_values=p_values,
        )

    def _read_given(self, y: Any) -> Any:
        """Return targets in the form that functions get, and from which rows can be taken."""
        return self._read_y(y)

    def _take_given(self, y: Any, rows: NDArray[np.intp]) -> Any:
        """Return some rows of what `_read_given` returns."""
        return take_rows(y, rows)

    def _find_scorer(self, scoring: Any) -> Any:
        """Return a scorer in place of a name that scikit-learn does not know."""
        return scoring

    def _fit_null(
        self, X: Any, y: Any, n_samples: int, random: np.random.RandomState
    ) -> tuple[Any, Any]:
        """Return a forest like this one for a permuted target, and the target."""
        permuted = self._take_given(y, random.permutation(n_samples))
        seed = int(random.randint(np.iinfo(np.int32).max))
        null: Any = clone(self)
        return null.set_params(random_state=seed).fit(X, permuted), permuted

    def _read_scoring(self, scoring: Any) -> str | None:
        """Return the loss that belongs to a score of trees; None for a score of the forest."""
        losses = _CLASS_LOSSES if self._task == "classification" else _NUMBER_LOSSES
        if scoring is None:
            return next(iter(losses.values()))
        is_name = isinstance(scoring, str)
        if not (callable(scoring) or (is_name and scoring in get_scorer_names())):
            expected = "a name in sklearn.metrics.get_scorer_names(), a callable or None"
            reject_parameter(_NAME, "scoring", scoring, expected)
        return losses.get(scoring) if is_name else None

    def _read_groups(self, groups: Any) -> tuple[NDArray[np.uint32], int]:
        """Return the group of each feature, and the number of groups."""
        n_features = self.n_features_in_
        if groups is None:
            return np.arange(n_features, dtype=np.uint32), n_features
        sets: list[NDArray[Any] | None] = [None]
        if isinstance(groups, (list, tuple, np.ndarray)):
            sets = [self._read_group(group) for group in groups]
        group_of = np.full(n_features, len(sets), dtype=np.uint32)
        for number, features in enumerate(sets):
            if features is None:
                expected = (
                    "a list of lists of names of features, or of ints in the range "
                    f"[0, {n_features})"
                )
                reject_parameter(_NAME, "groups", groups, expected)
            if np.any(group_of[features] != len(sets)) or np.unique(features).size < features.size:
                reject_parameter(_NAME, "groups", groups, "a list of lists without common features")
            group_of[features] = number
        return group_of, len(sets)

    def _read_group(self, group: Any) -> NDArray[Any] | None:
        """Return the numbers of the features of a group; None if it is illegal."""
        given = np.asarray(group)
        if given.ndim != 1 or given.size == 0:
            return None
        if given.dtype.kind in "iu":
            is_there = (given >= 0) & (given < self.n_features_in_)
            return given if is_there.all() else None
        names = list(getattr(self, "feature_names_in_", []))
        return np.array([names.index(name) for name in group]) if set(group) <= set(names) else None

    def _read_training(self, X: Any, y: Any) -> tuple[Any, NDArray[np.float64], Draws]:
        """Return the training data in the form that the compiled part takes."""
        draws = self._find_draws(_NAME)
        # Values are needed, row after row.
        X = self._validate_values(X)
        target = self._read_oob_target(y)
        check_consistent_length(X, target)
        if X.shape[0] != draws.n_samples:
            raise ValueError(
                f"X must be the training samples, {draws.n_samples} rows. Got {X.shape[0]} instead."
            )
        if isinstance(X, CompressedMatrix) and X.shape[1] <= _FEW_COLUMNS:
            X = sparse.csr_matrix((X.data, X.indices, X.indptr), shape=X.shape).toarray()
        if not isinstance(X, CompressedMatrix):
            # Rows are read in no order.
            X = np.ascontiguousarray(X, None if X.dtype in _FLOATS else np.float64)
        return X, np.require(target, np.float64, requirements=("C", "A")), draws

    def _read_oob_target(self, y: Any) -> NDArray[np.float64]:
        """Return targets of shape (n_samples, n_outputs): numbers, or codes of classes."""
        target = np.asarray(y)
        target = target.reshape(-1, 1) if target.ndim == 1 else target
        if target.ndim != 2 or target.shape[1] != self.n_outputs_:
            raise ValueError(
                f"y must have the {self.n_outputs_} output(s) of training. "
                f"Got shape {np.shape(y)} instead."
            )
        if self._task == "classification":
            return self._encode_classes(target)
        numbers: NDArray[np.float64] = np.asarray(target, dtype=np.float64)
        assert_all_finite(numbers, input_name="y")
        return numbers

    def _encode_classes(self, labels: NDArray[Any]) -> NDArray[np.float64]:
        """Return the codes of class labels."""
        codes = np.empty(labels.shape)
        classes = [self.classes_] if self.n_outputs_ == 1 else self.classes_
        for output, known in enumerate(classes):
            column = labels[:, output]
            try:
                places = np.minimum(np.searchsorted(known, column), known.shape[0] - 1)
                unknown = known[places] != column
            except TypeError:
                # Labels of another type, which have no order with the labels of training.
                places = np.zeros(column.shape, dtype=np.intp)
                unknown = np.ones(column.shape, dtype=bool)
            if unknown.any():
                raise ValueError(
                    f"y must have the classes of training. Got {column[unknown][0]!r} as well."
                )
            codes[:, output] = places
        return codes

    @abstractmethod
    def _read_y(self, y: Any) -> Any:
        """Return the argument `y` of `fit` in the form in which scikit-learn may check it."""

    @abstractmethod
    def _validate_values(self, X: Any) -> Any:
        """Return X as a matrix that the compiled part takes, also for a Dataset."""

    @abstractmethod
    def _count_threads(self) -> int:
        """Return the number of threads."""


def _choose_rows(n_samples: int, max_samples: Any, seed: int) -> NDArray[np.bool_] | None:
    """Return which samples count; None if all do."""
    n: Any = _ENOUGH_SAMPLES if max_samples is None else max_samples
    is_number, is_share = isinstance(n, Real) and not is_bool(n), not isinstance(n, Integral)
    if not is_number or not (0 < n <= 1 if is_share else n >= 1):
        expected = "an int of at least 1, a float in the range (0, 1] or None"
        reject_parameter(_NAME, "max_samples", max_samples, expected)
    n_chosen = max(1, int(mend_rounding(n * n_samples))) if is_share else int(n)
    if n_chosen >= n_samples:
        return None
    asked = np.zeros(n_samples, dtype=np.bool_)
    asked[np.random.RandomState(seed).permutation(n_samples)[:n_chosen]] = True
    return asked


def _compare_with_mirrored(importances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the shares as large of the importances that are not positive, and their mirrors."""
    negative = importances[importances < 0]
    if negative.size == 0:
        return np.full(importances.shape, np.nan)
    null = np.concatenate([negative, -negative, importances[importances == 0]])
    null.sort()
    return 1 - np.searchsorted(null, importances, side="left") / null.size
