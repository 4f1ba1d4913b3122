"""Importances of features by the samples that trees have not seen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from spinney._arrays import CompressedMatrix
from spinney._draws import Draws
from spinney._messages import reject_parameter
from spinney._progress import show_progress
from spinney._spinney import Forest, forest_oob_importances
from spinney._validation import check_int
from spinney.dataset import reject_dataset

_NAME = "permutation_importance_oob"
# Scores, as scikit-learn names them, and the losses of the compiled part.
_CLASS_LOSSES = {"accuracy": "wrong", "neg_brier_score": "brier"}
_NUMBER_LOSSES = {"neg_mean_squared_error": "squared", "neg_mean_absolute_error": "absolute"}
# The columns of a sparse matrix with up to so many are faster to read as dense ones.
_FEW_COLUMNS = 256
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


class OobImportance(ABC):
    """Mixin of the grown forests, whose trees have not seen all samples."""

    forest_: Forest
    n_features_in_: int
    n_outputs_: int
    verbose: Any
    _draws: Draws | None
    _classifies: ClassVar[bool]
    classes_: Any

    def permutation_importance_oob(
        self,
        X: Any,
        y: Any,
        *,
        n_repeats: int = 5,
        groups: Any = None,
        scoring: str | None = None,
        importance_type: str = "permutation",
        n_null_fits: int = 0,
        random_state: Any = None,
    ) -> Bunch:
        """Return how much worse trees predict unseen samples if a column is permuted.

        For each tree, the columns of the samples that it has not seen are permuted among them. The
        importance of a feature is what the mean score of the tree loses by the permutation of its
        column, as a mean over the trees (Breiman, 2001). A feature that says nothing has importance
        0 but for chance, however many values it has: unlike in `feature_importances_`. Chance is in
        the samples too: what the column and the target have in common by accident, in either
        direction, shows in all repeats.

        Only samples that meet the column on their path in a tree are sent through it again. The
        time therefore follows the depth of the trees, not the number of columns. Sparse matrices
        stay sparse.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples that the forest was fitted to, in their order. Sparse formats other than CSR
            are converted to it.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        n_repeats : int, default=5
            How often columns are permuted. Results have one column per repeat.
        groups : list of array-like of int, default=None
            Sets of features whose columns are permuted together, such as the one-hot columns of a
            category. A feature may be in one of them at most; those in none are left as they are.
            None means that each feature is a group of its own.
        scoring : {"accuracy", "neg_brier_score", "neg_mean_squared_error", \
                "neg_mean_absolute_error"}, default=None
            The score of a tree: for classes one of the first two, for numbers one of the others.
            None means the first one that is possible. "neg_brier_score" is the negative sum of
            squared differences of class shares. With several outputs, the mean over them.
        importance_type : {"permutation", "impurity"}, default="permutation"
            "impurity" permutes nothing. The importance is the decrease of impurity by the splits on
            the feature, judged by the unseen samples: the mean product of what these splits add to
            the prediction of the tree, and of the target less the mean of the tree (Li et al.,
            2019). For features that say nothing it is about 0, as well. Results have
            one column per tree that has not seen all samples; `n_repeats` and `random_state` have
            no influence, and `groups` and `scoring` must be None.
        n_null_fits : int, default=0
            How many forests to grow to permuted targets, for p-values: each with the parameters of
            this one and a seed of its own, without sample weights and ids. 0 means p-values that
            take no fits.
        random_state : int, RandomState instance or None, default=None
            Seed of the permutations. An int makes them repeatable.

        Returns
        -------
        result : Bunch
            With these attributes:

            importances : ndarray of shape (n_groups, n_repeats) or (n_features, n_trees), float64
                Of each repeat or tree.
            importances_mean : ndarray of shape (n_groups,), float64
                Means over repeats or trees.
            importances_std : ndarray of shape (n_groups,), float64
                Standard deviations over them.
            p_values : ndarray of shape (n_groups,), float64
                The chance that a feature which says nothing has an importance as large. By default
                by the importances that are 0 or negative, and their mirror images (Janitza et al.,
                2018). This needs many features, of which most say nothing. NaN if no importance is
                negative. With `n_null_fits`, by the importances of the same feature in forests for
                permuted targets (Altmann et al., 2010): the share of these forests and of this one
                in which it is as large. `n_null_fits=99` tells chances from 0.01 on.

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
        random = check_random_state(random_state)
        loss = self._read_scoring(scoring)
        permutations = None
        n_groups = self.n_features_in_
        if importance_type == "permutation":
            group_of, n_groups = self._read_groups(groups)
            seed = int(random.randint(np.iinfo(np.int32).max))
            # Features in no group are the last one.
            n_all = n_groups + int(np.any(group_of == n_groups))
            permutations = (loss, group_of, n_all, int(n_repeats), seed)
        else:
            for name, value in (("groups", groups), ("scoring", scoring)):
                if value is not None:
                    expected = "None if importance_type='impurity'"
                    reject_parameter(_NAME, name, value, expected)
        samples = X
        X, target, draws = self._read_training(X, y)
        with show_progress(int(self.verbose), 0, len(self.forest_), "permuting") as watcher:
            importances = forest_oob_importances(
                self.forest_, X, target, draws, permutations, self._count_threads(), watcher
            )
        if permutations is None:
            importances = np.ascontiguousarray(importances[~np.isnan(importances).any(axis=1)].T)
        else:
            importances = importances[:n_groups]
        if importances.shape[1] == 0:
            raise ValueError("There is no tree that has not seen all samples.")
        mean = importances.mean(axis=1)
        if n_null_fits == 0:
            p_values = _compare_with_mirrored(mean)
        else:
            # The forest itself is one of those that chance may make.
            n_as_large = np.ones(mean.shape)
            for _ in range(n_null_fits):
                null, of_null = self._fit_null(samples, y, random)
                result = null.permutation_importance_oob(
                    samples,
                    of_null,
                    n_repeats=n_repeats,
                    groups=groups,
                    scoring=scoring,
                    importance_type=importance_type,
                    random_state=random,
                )
                n_as_large += result.importances_mean >= mean
            p_values = n_as_large / (1 + n_null_fits)
        return Bunch(
            importances=importances,
            importances_mean=mean,
            importances_std=importances.std(axis=1),
            p_values=p_values,
        )

    def _fit_null(self, X: Any, y: Any, random: np.random.RandomState) -> tuple[Any, Any]:
        """Return a forest like this one for a permuted target, and the target."""
        permuted = np.asarray(y)[random.permutation(len(y))]
        seed = int(random.randint(np.iinfo(np.int32).max))
        null: Any = clone(self)
        return null.set_params(random_state=seed).fit(X, permuted), permuted

    def _read_scoring(self, scoring: Any) -> str:
        """Return the loss that belongs to a score."""
        losses = _CLASS_LOSSES if self._classifies else _NUMBER_LOSSES
        if scoring is None:
            return next(iter(losses.values()))
        if not isinstance(scoring, str) or scoring not in losses:
            expected = f"a str among {set(losses)} or None"
            reject_parameter(_NAME, "scoring", scoring, expected)
        return losses[scoring]

    def _read_groups(self, groups: Any) -> tuple[NDArray[np.uint32], int]:
        """Return the group of each feature, and the number of groups."""
        n_features = self.n_features_in_
        if groups is None:
            return np.arange(n_features, dtype=np.uint32), n_features
        group_of = np.full(n_features, len(groups), dtype=np.uint32)
        for number, group in enumerate(groups):
            features = np.asarray(group)
            is_legal = (
                features.ndim == 1
                and features.size > 0
                and features.dtype.kind in "iu"
                and bool(np.all((features >= 0) & (features < n_features)))
            )
            if not is_legal:
                expected = f"a list of lists of ints in the range [0, {n_features})"
                reject_parameter(_NAME, "groups", groups, expected)
            if (
                np.any(group_of[features] != len(groups))
                or np.unique(features).size < features.size
            ):
                reject_parameter(_NAME, "groups", groups, "a list of lists without common features")
            group_of[features] = number
        return group_of, len(groups)

    def _read_training(self, X: Any, y: Any) -> tuple[Any, NDArray[np.float64], Draws]:
        """Return the training data in the form that the compiled part takes."""
        reject_dataset(_NAME, "X", X)
        if self._draws is None:
            raise ValueError(
                "A forest that from_sklearn has made does not know the samples of its trees: "
                f"{_NAME} is not possible."
            )
        if self._draws.scheme == "all":
            raise ValueError(
                f"{_NAME} needs samples that trees have not seen. Got a forest whose trees have "
                "seen all samples: set bootstrap."
            )
        X = self._validate_X_predict(X)
        target = np.asarray(y)
        target = target.reshape(-1, 1) if target.ndim == 1 else target
        check_consistent_length(X, target)
        if target.ndim != 2 or target.shape[1] != self.n_outputs_:
            raise ValueError(
                f"y must have the {self.n_outputs_} output(s) of training. "
                f"Got shape {np.shape(y)} instead."
            )
        if X.shape[0] != self._draws.n_samples:
            raise ValueError(
                f"X must be the training samples, {self._draws.n_samples} rows. "
                f"Got {X.shape[0]} instead."
            )
        if self._classifies:
            target = self._encode_classes(target)
        if isinstance(X, CompressedMatrix) and X.shape[1] <= _FEW_COLUMNS:
            X = sparse.csr_matrix((X.data, X.indices, X.indptr), shape=X.shape).toarray()
        if not isinstance(X, CompressedMatrix):
            # Rows are read in no order.
            X = np.ascontiguousarray(X, None if X.dtype in _FLOATS else np.float64)
        return X, np.require(target, np.float64, requirements=("C", "A")), self._draws

    def _encode_classes(self, labels: NDArray[Any]) -> NDArray[np.float64]:
        """Return the codes of class labels."""
        codes = np.empty(labels.shape)
        classes = [self.classes_] if self.n_outputs_ == 1 else self.classes_
        for output, known in enumerate(classes):
            column = labels[:, output].astype(known.dtype)
            places = np.minimum(np.searchsorted(known, column), known.shape[0] - 1)
            unknown = known[places] != column
            if unknown.any():
                raise ValueError(
                    f"y must have the classes of training. Got {column[unknown][0]!r} as well."
                )
            codes[:, output] = places
        return codes

    @abstractmethod
    def _validate_X_predict(self, X: Any, check_input: bool = True) -> Any:
        """Return X in the form that the compiled part takes."""

    @abstractmethod
    def _count_threads(self) -> int:
        """Return the number of threads."""


def _compare_with_mirrored(importances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the shares as large of the importances that are not positive, and their mirrors."""
    negative = importances[importances < 0]
    if negative.size == 0:
        return np.full(importances.shape, np.nan)
    null = np.concatenate([negative, -negative, importances[importances == 0]])
    null.sort()
    return 1 - np.searchsorted(null, importances, side="left") / null.size
