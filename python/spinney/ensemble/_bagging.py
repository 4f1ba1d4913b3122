"""Committees: the same estimator, fitted again and again to drawn samples."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import Tags, check_X_y
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from spinney._base.features import FeatureReader
from spinney._base.saving import Stored
from spinney._cluster.active import get_workers
from spinney._cluster.growth import run
from spinney._cluster.job import CommitteeJob, Members
from spinney._common.checks import (
    check_int,
    check_sample_weight,
    check_signs,
    check_targets,
    check_targets_are_numbers,
    is_bool,
)
from spinney._common.messages import warn_caller
from spinney._common.sklearn_base import RegressorMixin
from spinney._common.types import RandomState
from spinney._data.arrays import to_native
from spinney._data.categories import have_same_categories
from spinney._fit.draws import count_draws_without_replacement
from spinney._fit.labels import LabelledMixin, read_labels
from spinney._fit.params import store_parameters
from spinney._fit.tree_samples import read_samples
from spinney.dataset import Dataset
from spinney.tree import DecisionTreeClassifier, DecisionTreeRegressor

if TYPE_CHECKING:
    from typing_extensions import Self

_N_SEEDS = 2**31 - 1


class Bagging(Stored, FeatureReader):
    """Base class of the two."""

    estimator: Any
    n_estimators: Any
    max_samples: Any
    bootstrap: Any
    oob_score: Any
    warm_start: Any

    estimator_: Any
    estimators_: list[Any]
    estimators_samples_: list[NDArray[np.uint32]]
    oob_score_: float
    # Of classifiers.
    classes_: NDArray[Any]

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        max_samples: float | None = None,
        bootstrap: bool = True,
        oob_score: bool = False,
        warm_start: bool = False,
        random_state: RandomState = None,
    ) -> None:
        store_parameters(locals())

    # --- The estimator --------------------------------------------------------------------------

    def _get_base(self) -> Any:
        """Return the estimator of which copies are fitted."""
        return self._make_default() if self.estimator is None else self.estimator

    @abstractmethod
    def _make_default(self) -> Any:
        """Return the estimator that is used if none is given."""

    @property
    def _expects_types(self) -> bool:  # type: ignore[override]
        wanted: bool = self._get_base()._expects_types
        return wanted

    def _choose_categorical_features(self) -> Any:
        return self._get_base()._choose_categorical_features()

    def _read_handle_unknown(self) -> str:
        wanted: str = self._get_base()._read_handle_unknown()
        return wanted

    def _count_threads(self) -> int:
        n_threads: int = self._get_base()._count_threads()
        return n_threads

    # --- Parameters -----------------------------------------------------------------------------

    def _check_parameters(self) -> int:
        """Return the seed of all that is drawn; raise an error if a parameter is illegal."""
        name, base = type(self).__name__, self._get_base()
        if not isinstance(base, FeatureReader) or is_classifier(base) != is_classifier(self):
            kind = "classifier" if is_classifier(self) else "regressor"
            self._reject(
                "estimator",
                f"None or a {kind} of spinney; scikit-learn's class of this name takes any other",
            )
        check_int(name, "n_estimators", self.n_estimators, 1)
        size: Any = self.max_samples
        is_number = isinstance(size, Real) and not is_bool(size)
        is_share = is_number and not isinstance(size, Integral)
        most = 1.0 if is_share else 2**32 - 1
        if size is not None and not (is_number and 0.0 < size <= most):
            self._reject(
                "max_samples",
                "an int in the range [1, 2**32), a float in the range (0.0, 1.0] or None",
            )
        for flag in ("bootstrap", "oob_score", "warm_start"):
            if not is_bool(getattr(self, flag)):
                self._reject(flag, "a bool")
        return self._draw_seed() % 2**32

    def _count_draws(self, n_rows: int) -> int:
        """Return how many of so many rows with a positive weight are drawn for an estimator."""
        n = count_draws_without_replacement(self.max_samples, n_rows, None) or n_rows
        if not self.bootstrap and n > n_rows:
            self._reject(
                "max_samples",
                f"at most the {n_rows} samples of positive weight with bootstrap=False",
            )
        return n

    # --- Training -------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, samples: Any = None) -> Self:
        """Fit the estimators, here or, within :func:`spinney.grow_with`, by workers.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dataset} of shape (n_samples, n_features)
            The training samples, which are encoded once for all estimators.
        y : array-like of shape (n_samples,)
            The targets: class labels of any type that can be sorted, or numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, which the estimators get. None means 1 for all. Samples with
            weight 0 have no influence: no estimator draws them.
        samples : list of array-like, ndarray or sparse matrix, default=None
            The samples of each estimator, where none are drawn: the training rows of folds, groups
            or windows of time. A list with an array of indices, or a mask, for each estimator; or
            counts of shape (n_estimators, n_samples). Needs ``bootstrap=True, max_samples=None``.

        Returns
        -------
        self : object
            The fitted committee.

        Raises
        ------
        ValueError, TypeError
            If a parameter or an argument is illegal. The message names it. Whatever is raised, the
            committee keeps the attributes it had before the call.
        """
        with self._restore_on_error():
            return self._fit(X, y, sample_weight, samples)

    def _fit(self, X: Any, y: Any, sample_weight: Any, samples: Any) -> Self:
        before = self.__dict__.copy()
        seed = self._check_parameters()
        is_warm = bool(self.warm_start) and "estimators_" in before
        coded = to_native(self._validate_X(X))
        n_samples = coded.shape[0]
        if not isinstance(X, Dataset):
            X = Dataset._of_codes(
                coded,
                self.is_categorical_,
                self.categories_,
                vars(self).get("feature_names_in_"),
                self._count_threads(),
            )
        numbers = np.arange(n_samples).reshape(-1, 1)
        check_targets(type(self).__name__, y)
        is_of_classes = is_classifier(self)
        _, y = check_X_y(
            numbers,
            read_labels(y) if is_of_classes else check_targets_are_numbers(y, ensure_2d=False),
            y_numeric=not is_of_classes,
            estimator=self,
        )
        self._learn_targets(y)
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, n_samples)
            check_signs(sample_weight, "sample_weight")
        n_known = len(self.estimators_) if is_warm else 0
        if is_warm:
            self._check_alike(before)
        rows = self._choose_rows(n_samples, sample_weight, samples, seed)
        new = [self._make_estimator(own) for own, _ in rows[n_known:]]
        members = Members(y, sample_weight, new, [own for _, own in rows[n_known:]])
        fitted = _fit_members(X, members)
        self.estimator_ = self._get_base()
        self.estimators_ = [*before["estimators_"], *fitted] if is_warm else fitted
        known = before["estimators_samples_"] if is_warm else []
        self.estimators_samples_ = [*known, *members.rows]
        for name in ("oob_score_", "oob_decision_function_", "oob_prediction_"):
            vars(self).pop(name, None)
        if self.oob_score:
            self._judge_out_of_bag(X, y, sample_weight)
        return self

    @abstractmethod
    def _learn_targets(self, y: NDArray[Any]) -> None:
        """Set what is known of the targets."""

    def _check_alike(self, before: dict[str, Any]) -> None:
        """Raise ValueError if a warm start has other features than the earlier call."""
        n_known = len(before["estimators_"])
        if self.n_estimators < n_known:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={n_known} when warm_start==True"
            )
        if self.n_estimators == n_known:
            warn_caller("A warm start without a larger n_estimators fits no new estimators.")
        known = before["categories_"]
        is_alike = before["n_features_in_"] == self.n_features_in_
        if not is_alike or not have_same_categories(known, self.categories_):
            raise ValueError(
                "warm_start=True adds to the estimators of earlier calls: X must have their "
                f"{before['n_features_in_']} features, with their categories."
            )

    def _choose_rows(
        self, n_samples: int, weights: NDArray[np.float64] | None, samples: Any, seed: int
    ) -> list[tuple[int, NDArray[np.uint32]]]:
        """Return for each estimator its seed, and the rows that it is fitted to."""
        weighted = np.arange(n_samples) if weights is None else np.flatnonzero(weights)
        n_draws, n = self._count_draws(weighted.size), int(self.n_estimators)
        seeds = np.random.RandomState(seed).randint(_N_SEEDS, size=n).tolist()
        if samples is not None:
            if self.max_samples is not None or not self.bootstrap:
                raise ValueError(
                    "samples says which samples each estimator gets, and needs bootstrap=True and "
                    "max_samples=None."
                )
            given = read_samples(samples, n_samples, list(range(n))).list_rows(list(range(n)))
            for number, own_rows in enumerate(given):
                if weights is not None and not weights[own_rows].any():
                    raise ValueError(
                        "samples must give each estimator a sample of positive weight. Got only "
                        f"samples of weight 0 for estimator {number} instead."
                    )
            return list(zip(seeds, given, strict=True))
        chosen = []
        for own in seeds:
            rng = np.random.RandomState(own)
            if self.bootstrap:
                rows = weighted[np.sort(rng.randint(weighted.size, size=n_draws))]
            elif n_draws < weighted.size:
                rows = weighted[np.sort(rng.permutation(weighted.size)[:n_draws])]
            else:
                rows = weighted
            chosen.append((own, rows.astype(np.uint32)))
        return chosen

    def _make_estimator(self, seed: int) -> Any:
        """Return a copy of the estimator with a random state of its own."""
        made = clone(self._get_base())
        names = sorted(made.get_params())
        rng = np.random.RandomState(seed)
        random = [name for name in names if name.rpartition("__")[2] == "random_state"]
        made.set_params(**{name: int(rng.randint(_N_SEEDS)) for name in random})
        if "handle_unknown" in names:
            # A category that only others have seen is none that nobody knows.
            made.set_params(handle_unknown="ignore")
        return made

    def _judge_out_of_bag(self, X: Dataset, y: NDArray[Any], weights: Any) -> None:
        """Set the means of the predictions of estimators that have not seen a sample."""
        sums: Any = None
        n_unseen = np.zeros(len(y))
        for estimator, rows in zip(self.estimators_, self.estimators_samples_, strict=True):
            unseen = np.setdiff1d(np.arange(len(y)), rows)
            if not unseen.size:
                continue
            found = self._ask(estimator, X[unseen])
            if sums is None:
                sums = np.zeros((len(y), *found.shape[1:]))
            sums[unseen] += found
            n_unseen[unseen] += 1.0
        if sums is None:
            raise ValueError("oob_score=True needs estimators that have not seen all samples.")
        if np.any(n_unseen == 0.0):
            warn_caller(
                f"{np.count_nonzero(n_unseen == 0.0)} samples were drawn for all estimators, and "
                "have no out-of-bag prediction. Take more estimators."
            )
        with np.errstate(invalid="ignore"):
            means = sums / n_unseen.reshape(-1, *[1] * (sums.ndim - 1))
        is_known = n_unseen > 0.0
        self._keep_out_of_bag(means, y, is_known, None if weights is None else weights[is_known])

    @abstractmethod
    def _keep_out_of_bag(
        self, means: NDArray[np.float64], y: NDArray[Any], is_known: NDArray[Any], weights: Any
    ) -> None:
        """Set out-of-bag predictions, of which those of some samples are known, and their score."""

    # --- Predictions ----------------------------------------------------------------------------

    @abstractmethod
    def _ask(self, estimator: Any, X: Any) -> NDArray[np.float64]:
        """Return what one of the estimators predicts, in a form whose mean can be taken."""

    def _average(self, X: Any) -> NDArray[np.float64]:
        """Return the mean of what the estimators predict."""
        check_is_fitted(self)
        # Tells of unknown categories once, and refuses other features in the name of this class.
        self._validate_X_predict(X)
        first, *others = self.estimators_
        total = self._ask(first, X)
        for estimator in others:
            total = total + self._ask(estimator, X)
        return total / len(self.estimators_)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Mean of the importances of the estimators.

        Returns
        -------
        importances : ndarray of shape (n_features,), float64
        """
        check_is_fitted(self)
        each = [estimator.feature_importances_ for estimator in self.estimators_]
        importances: NDArray[np.float64] = np.mean(each, axis=0)
        return importances

    def __len__(self) -> int:
        """Return the number of estimators."""
        return len(self.estimators_)

    def __getitem__(self, index: Any) -> Any:
        """Return one of the estimators."""
        return self.estimators_[index]

    def __iter__(self) -> Iterator[Any]:
        """Return an iterator over the estimators."""
        return iter(self.estimators_)

    # --- Files ----------------------------------------------------------------------------------

    def _find_fault(self, forest: Any) -> str | None:  # noqa: ARG002 - there are no own trees
        kind = type(self.estimator_)
        if not self.estimators_ or len(self.estimators_) != len(self.estimators_samples_):
            return f"{len(self.estimators_)} estimators, {len(self.estimators_samples_)} samples"
        for own in self.estimators_:
            if type(own) is not kind or own.n_features_in_ != self.n_features_in_:
                return f"an estimator that is no {kind.__name__} of {self.n_features_in_} features"
            if is_classifier(self) and not np.isin(own.classes_, self.classes_).all():
                return "an estimator of other classes"
        return None


class BaggingClassifier(LabelledMixin, Bagging):
    """A committee of classifiers, each fitted to drawn samples, such as boosting.

    What is predicted is the mean of the probabilities. Has the names of
    :class:`sklearn.ensemble.BaggingClassifier`, over samples that are encoded once. Equal seeds
    draw other samples, and all features are for all estimators: they draw features themselves.

    Parameters
    ----------
    estimator : estimator or None, default=None
        What is fitted: a classifier of spinney, such as `GradientBoostingClassifier`. None means
        ``DecisionTreeClassifier()``. Its parameters say which features are categorical, and how
        many threads there are.
    n_estimators : int, default=10
        Number of estimators.
    max_samples : int, float or None, default=None
        How many samples are drawn for an estimator: a number, or a share. None means as many as
        have a positive weight.
    bootstrap : bool, default=True
        Whether samples are drawn with replacement. False, with `max_samples=None`: each estimator
        gets all samples, and they differ by their random states alone.
    oob_score : bool, default=False
        Whether to score the predictions for samples by the estimators that have not seen them.
    warm_start : bool, default=False
        If True, a further call of `fit` keeps the estimators and adds others until there are
        `n_estimators`.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples that are drawn, and of the random states that the estimators get. An int
        makes results repeatable.

    Attributes
    ----------
    estimator_ : estimator
        The estimator of which copies are fitted.
    estimators_ : list of estimators
        The fitted estimators.
    estimators_samples_ : list of ndarray of uint32
        For each estimator the rows that it is fitted to, ascending; a row that was drawn k times is
        listed k times.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Mean of the importances of the estimators.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`. Exists only if `X` has names that are all strings.
    is_categorical_ : ndarray of bool of shape (n_features_in_,), or None
        Which features are categorical. None if no feature is.
    categories_ : list of ndarray, or None
        For each categorical feature, its distinct values in `fit`. None if no feature is
        categorical.
    classes_ : ndarray of shape (n_classes,)
        The sorted class labels.
    n_classes_ : int
        Number of classes.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Mean probabilities by the estimators that have not seen a sample; NaN if all have. Exists
        only with `oob_score=True`.
    oob_score_ : float
        The share of samples whose class these predict.

    See Also
    --------
    RandomForestClassifier : A committee of trees, in much less time.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spinney import BaggingClassifier, GradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> boosting = GradientBoostingClassifier(n_estimators=20)
    >>> model = BaggingClassifier(boosting, 20, oob_score=True, random_state=0).fit(X, y)
    >>> model.oob_score_ > 0.9
    True
    """

    n_classes_: int
    oob_decision_function_: NDArray[np.float64]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        return tags

    def _make_default(self) -> Any:
        return DecisionTreeClassifier()

    def _learn_targets(self, y: NDArray[Any]) -> None:
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        self.n_classes_ = len(self.classes_)

    def _check_alike(self, before: dict[str, Any]) -> None:
        super()._check_alike(before)
        if not np.array_equal(before["classes_"], self.classes_):
            raise ValueError(
                "warm_start=True adds to the estimators of earlier calls: y must have their "
                f"classes, {before['classes_']}. Got {self.classes_} instead."
            )

    def _ask(self, estimator: Any, X: Any) -> NDArray[np.float64]:
        found = estimator.predict_proba(X)
        shares = np.zeros((found.shape[0], self.n_classes_))
        # What an estimator was fitted to may lack classes.
        shares[:, np.searchsorted(self.classes_, estimator.classes_)] = found
        return shares

    def _keep_out_of_bag(
        self, means: NDArray[np.float64], y: NDArray[Any], is_known: NDArray[Any], weights: Any
    ) -> None:
        self.oob_decision_function_ = means
        predicted = self.classes_[np.argmax(means[is_known], axis=1)]
        self.oob_score_ = float(accuracy_score(y[is_known], predicted, sample_weight=weights))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each sample: the one with the largest mean probability.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        codes = np.argmax(self.predict_proba(X), axis=1)
        labels: NDArray[Any] = self.classes_[codes]
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each class: the mean of what the estimators predict.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            float64; columns are in the order of `classes_`.
        """
        return self._average(X)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the natural logarithm of the probability of each class; -inf where it is 0.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


class BaggingRegressor(RegressorMixin, Bagging):
    """A committee of regressors, each fitted to drawn samples, such as boosting.

    What is predicted is the mean. Has the names of :class:`sklearn.ensemble.BaggingRegressor`, over
    samples that are encoded once. Equal seeds draw other samples, and all features are for all
    estimators: they draw features themselves.

    Parameters
    ----------
    estimator : estimator or None, default=None
        What is fitted: a regressor of spinney, such as `GradientBoostingRegressor`. None means
        ``DecisionTreeRegressor()``. Its parameters say which features are categorical, and how many
        threads there are.
    n_estimators : int, default=10
        Number of estimators.
    max_samples : int, float or None, default=None
        How many samples are drawn for an estimator: a number, or a share. None means as many as
        have a positive weight.
    bootstrap : bool, default=True
        Whether samples are drawn with replacement. False, with `max_samples=None`: each estimator
        gets all samples, and they differ by their random states alone.
    oob_score : bool, default=False
        Whether to score the predictions for samples by the estimators that have not seen them.
    warm_start : bool, default=False
        If True, a further call of `fit` keeps the estimators and adds others until there are
        `n_estimators`.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples that are drawn, and of the random states that the estimators get. An int
        makes results repeatable.

    Attributes
    ----------
    estimator_ : estimator
        The estimator of which copies are fitted.
    estimators_ : list of estimators
        The fitted estimators.
    estimators_samples_ : list of ndarray of uint32
        For each estimator the rows that it is fitted to, ascending; a row that was drawn k times is
        listed k times.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Mean of the importances of the estimators.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`. Exists only if `X` has names that are all strings.
    is_categorical_ : ndarray of bool of shape (n_features_in_,), or None
        Which features are categorical. None if no feature is.
    categories_ : list of ndarray, or None
        For each categorical feature, its distinct values in `fit`. None if no feature is
        categorical.
    oob_prediction_ : ndarray of shape (n_samples,)
        Mean predictions by the estimators that have not seen a sample; NaN if all have. Exists only
        with `oob_score=True`.
    oob_score_ : float
        Their coefficient of determination.

    See Also
    --------
    RandomForestRegressor : A committee of trees, in much less time.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from spinney import BaggingRegressor, GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> boosting = GradientBoostingRegressor(n_estimators=30)
    >>> model = BaggingRegressor(boosting, 30, oob_score=True, random_state=0).fit(X, y)
    >>> model.oob_score_ > 0.4
    True
    """

    oob_prediction_: NDArray[np.float64]

    def _make_default(self) -> Any:
        return DecisionTreeRegressor()

    def _learn_targets(self, y: NDArray[Any]) -> None:
        """Do nothing: numbers have no classes."""

    def _ask(self, estimator: Any, X: Any) -> NDArray[np.float64]:
        found: NDArray[np.float64] = estimator.predict(X)
        return found

    def _keep_out_of_bag(
        self, means: NDArray[np.float64], y: NDArray[Any], is_known: NDArray[Any], weights: Any
    ) -> None:
        if means.ndim > 1:
            raise ValueError("oob_score=True scores one number for each sample, not several.")
        self.oob_prediction_ = means
        self.oob_score_ = float(r2_score(y[is_known], means[is_known], sample_weight=weights))

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the target of each sample: the mean of what the estimators predict.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        y : ndarray of shape (n_samples,), or (n_samples, n_levels) of several quantiles
        """
        return self._average(X)


def _fit_members(X: Dataset, members: Members) -> list[Any]:
    """Return fitted models, which workers fit if there are any."""
    workers, n = get_workers(), len(members.models)
    if workers is None or not n:
        return [members.fit(X, number) for number in range(n)]
    parts = run(workers, CommitteeJob(X, members), 0, n, None)
    return [model for part in parts for model in part.models]
