"""Intervals and sets from any estimator, by samples that it has not seen (split conformal)."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit
from sklearn.utils import (
    Tags,
    assert_all_finite,
    check_consistent_length,
    column_or_1d,
    get_tags,
    indexable,
)
from sklearn.utils.validation import _num_samples, check_is_fitted

from spinney._common.checks import (
    check_sample_weight,
    check_signs,
    check_targets_are_numbers,
    is_bool,
)
from spinney._common.messages import reject_parameter
from spinney._common.seeds import read_random_state
from spinney._common.types import ConformityScore, RandomState
from spinney._fit.labels import read_labels
from spinney._fit.params import store_parameters
from spinney.conformal._intervals import ConformalRegressor
from spinney.conformal._levels import Conformal
from spinney.conformal._models import fit_model
from spinney.conformal._sets import ConformalClassifier
from spinney.conformal._weights import Training, read_training
from spinney.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

if TYPE_CHECKING:
    from typing_extensions import Self


class Parting(NamedTuple):
    """How samples are parted into those that a model is fitted to, and those held out."""

    size: float | int
    random_state: np.random.RandomState


def read_parting(model: Any) -> Parting:
    """Return what the parameters `conformalize_size` and `random_state` of a model say."""
    size = model.conformalize_size
    is_number = isinstance(size, Real) and not is_bool(size)
    if not is_number or not (0.0 < size < 1.0 or (isinstance(size, Integral) and int(size) > 0)):
        expected = "a float in the range (0.0, 1.0), or an int in the range [1, inf)"
        reject_parameter(type(model).__name__, "conformalize_size", size, expected)
    return Parting(size, read_random_state(type(model).__name__, model.random_state))


def fit_to(model: Any, samples: Training) -> Any:
    """Fit an estimator or a pipeline, which gets weights if there are any."""
    weights = samples.sample_weight
    arguments = {} if weights is None else {"sample_weight": weights}
    return fit_model(model, samples.X, samples.y, **arguments)


def part_samples(training: Training, groups: Any, parting: Parting) -> tuple[Training, Training]:
    """Return the samples that a model is fitted to, and those that are held out.

    Parameters
    ----------
    training : Training
    groups : array-like or None
        Of the caller's rows. Rows of a group stay together.
    parting : Parting
        How many are held out: of the groups if there are any, else of the rows.
    """
    kind = ShuffleSplit if groups is None else GroupShuffleSplit
    splitter = kind(1, test_size=parting.size, random_state=parting.random_state)
    n_samples = _num_samples(training.X)
    if n_samples == 0:
        raise ValueError("Found array with 0 sample(s) while a minimum of 2 is required.")
    numbers = np.arange(n_samples)
    rows, held_out = next(splitter.split(numbers, groups=training.take_groups(groups)))
    return training.take(rows), training.take(held_out)


class SplitConformal(Conformal):
    """Base class of the models of any estimator, whose scores are of samples that are held out."""

    prefit: Any
    conformalize_size: Any
    random_state: Any

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def fit_conformalize(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> Self:
        """Fit the estimator to a part of the samples, and find out how it does on the others.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples: what the estimator takes. With ``prefit=True`` it must not have seen any.
        y : array-like of shape (n_samples,)
            The targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights for the estimator and for the scores. Samples of weight 0 are as if absent. If
            all weights are whole numbers, the score of a sample of weight w counts as w scores,
            otherwise as many as its weight is of the mean weight.
        groups : array-like of shape (n_samples,), default=None
            Groups of samples. Those of a group are all fitted to or all held out. Not allowed with
            ``prefit=True``, which parts nothing.

        Returns
        -------
        self : object
        """
        if self._is_prefit():
            if groups is not None:
                raise ValueError("groups must be None with prefit=True: no samples are parted.")
            return self.conformalize(X, y, sample_weight)
        parting = read_parting(self)
        self._read_parameters()
        training = self._read_samples(X, y, sample_weight)
        fitted_to, held_out = part_samples(training, groups, parting)
        model = fit_to(self._make_model(), fitted_to)
        return self._adopt(model, held_out)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Do what `fit_conformalize` does, under the name that scikit-learn calls."""
        return self.fit_conformalize(X, y, sample_weight, groups)

    def conformalize(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find out how the fitted estimator does on samples that it has not seen.

        The estimator is the one that was given with ``prefit=True``, else that of an earlier call
        of `fit_conformalize`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples that the estimator has not seen.
        y : array-like of shape (n_samples,)
            The targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights for the scores, as for `fit_conformalize`.

        Returns
        -------
        self : object
        """
        if self._is_prefit():
            model = self._make_model()
            check_is_fitted(model)
        else:
            check_is_fitted(self)
            model = self.estimator_
        self._read_parameters()
        samples = self._read_samples(X, y, sample_weight)
        if is_classifier(self) and not np.isin(samples.y, model.classes_).any():
            known, got = (np.unique(labels).tolist() for labels in (model.classes_, samples.y))
            raise ValueError(f"y must have classes that the estimator knows, {known}. Got {got}.")
        return self._adopt(model, samples)

    def _is_prefit(self) -> bool:
        if not is_bool(self.prefit):
            reject_parameter(type(self).__name__, "prefit", self.prefit, "a bool")
        if self.prefit and self.estimator is None:
            reject_parameter(
                type(self).__name__, "estimator", None, "a fitted estimator with prefit=True"
            )
        return bool(self.prefit)

    def _make_model(self) -> Any:
        """Return the estimator that was given, or a copy that is not fitted."""
        given = self.estimator
        if given is None:
            return self._make_default()
        wants_classes = is_classifier(self)
        methods = ["fit", "predict", *(["predict_proba"] if wants_classes else [])]
        has_all = all(hasattr(given, method) for method in methods)
        if not has_all or is_classifier(given) != wants_classes:
            kind = "classifier" if wants_classes else "regressor"
            expected = f"None, or a {kind} with {', '.join(methods)}"
            reject_parameter(type(self).__name__, "estimator", given, expected)
        return given if self.prefit else clone(given)

    def _read_samples(self, X: Any, y: Any, sample_weight: Any) -> Training:
        """Return the arguments of a fit, with legal weights."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        (X,) = indexable(X)
        y = column_or_1d(self._read_y(y), warn=True)
        check_consistent_length(X, y)
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, _num_samples(X))
            check_signs(sample_weight, "sample_weight")
        return read_training(X, y, sample_weight)

    def _adopt(self, model: Any, held_out: Training) -> Self:
        """Set what is known of a fitted estimator by samples that it has not seen."""
        scores = self._score_samples(model, held_out)
        copies = held_out.count_copies()
        self._check_levels(scores.shape[0], copies)
        self.estimator_, self._copies = model, copies
        self._keep_scores(scores)
        self.n_features_in_ = self._count_features(held_out.X)
        return self

    @abstractmethod
    def _make_default(self) -> Any:
        """Return the estimator that is used if none is given."""

    @abstractmethod
    def _read_parameters(self) -> None:
        """Raise InvalidParameterError if a parameter is illegal for any data."""

    @abstractmethod
    def _read_y(self, y: Any) -> NDArray[Any]:
        """Return targets or labels as an array."""

    @abstractmethod
    def _score_samples(self, model: Any, samples: Training) -> NDArray[np.float64]:
        """Return how little samples conform to a fitted estimator."""

    @abstractmethod
    def _keep_scores(self, scores: NDArray[np.float64]) -> None:
        """Set the attribute that has the scores."""

    def _find_fault(self, forest: Any) -> str | None:  # noqa: ARG002 - there are no own trees
        n_features = getattr(self.estimator_, "n_features_in_", None)
        if n_features != self.n_features_in_:
            return f"n_features_in_ is {self.n_features_in_} for an estimator of {n_features}"
        return None


class SplitConformalRegressor(SplitConformal, ConformalRegressor):
    """Intervals by the residuals of samples that are held out (split conformal prediction).

    Any regressor is fitted to a part of the samples, or has been fitted before. The residuals of
    samples that it has not seen say how far its predictions may be off. All intervals are equally
    wide. The names are as in MAPIE's class.

    Parameters
    ----------
    estimator : regressor or None, default=None
        Any regressor, or a pipeline that ends in one. None means `GradientBoostingRegressor()`.
    confidence_level : float or list of float, default=0.9
        How often intervals shall cover.
    prefit : bool, default=False
        Whether `estimator` is fitted already. It is then used as it is, and all samples of
        `fit_conformalize` or `conformalize` are taken as samples that it has not seen.
    conformalize_size : float or int, default=0.25
        How many samples are held out: a share, or a number. With `groups`, of the groups. Has no
        effect with ``prefit=True``.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice of the samples that are held out.
    bounds : tuple of two float or None, default=None
        The least and the largest value that a target can have, None where there is no such value:
        ``(0, None)`` for counts. Intervals end there; the targets of `fit` must be within.

    Attributes
    ----------
    estimator_ : regressor
        The fitted regressor, by which `predict` predicts.
    residuals_ : ndarray of shape (n_samples_held_out,)
        Targets less predictions, of the samples that are held out.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    CrossConformalRegressor : Forests, of which all samples are used for both.
    ConformalizedQuantileRegressor : Intervals that are wider where targets spread more.

    Notes
    -----
    The intervals cover a new target with a probability of at least the level, if samples are
    exchangeable, whatever the estimator is.

    References
    ----------
    J. Lei, M. G'Sell, A. Rinaldo, R. Tibshirani, L. Wasserman, "Distribution-free predictive
    inference for regression", Journal of the American Statistical Association 113, 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from spinney import GradientBoostingRegressor
    >>> from spinney.conformal import SplitConformalRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> boosting = GradientBoostingRegressor(random_state=0).fit(X[:300], y[:300])
    >>> model = SplitConformalRegressor(boosting, prefit=True).conformalize(X[300:400], y[300:400])
    >>> y_new, intervals = model.predict_interval(X[400:])
    >>> intervals.shape
    (42, 2, 1)
    """

    estimator_: Any
    residuals_: NDArray[np.float64]

    def __init__(
        self,
        estimator: Any = None,
        *,
        confidence_level: Any = 0.9,
        prefit: bool = False,
        conformalize_size: Any = 0.25,
        random_state: RandomState = None,
        bounds: Any = None,
    ) -> None:
        store_parameters(locals())

    def _make_default(self) -> Any:
        return GradientBoostingRegressor()

    def _read_parameters(self) -> None:
        self._read_levels()
        self._read_bounds()

    def _read_y(self, y: Any) -> NDArray[Any]:
        targets = check_targets_are_numbers(y, ensure_2d=False)
        # Those of both parts are within the bounds.
        self._read_targets(targets)
        return targets

    def _score_samples(self, model: Any, samples: Training) -> NDArray[np.float64]:
        residuals: NDArray[np.float64] = samples.y - self._ask(model, samples.X)
        return residuals

    def _keep_scores(self, scores: NDArray[np.float64]) -> None:
        self.residuals_ = scores

    def _ask(self, model: Any, X: Any) -> NDArray[np.float64]:
        found = np.asarray(model.predict(X), dtype=np.float64)
        if found.ndim > 1 and found.shape[1] != 1:
            raise ValueError(
                f"estimator must predict one number for each sample. Got {found.shape[1]}."
            )
        return found.ravel()

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the target of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self._ask(self.estimator_, X)

    def _bound(
        self, X: Any, levels: list[float], shortest: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        # All intervals lie around their predictions as one around 0 does.
        around = np.zeros((1, 1)), np.zeros(self.residuals_.shape[0], dtype=np.uint32)
        below, above = self._bound_by_residuals(*around, levels, shortest, 1)
        center = self.predict(X)[:, None]
        return center + below, center + above


class SplitConformalClassifier(SplitConformal, ConformalClassifier):
    """Sets of classes by the scores of samples that are held out (split conformal prediction).

    Any classifier with probabilities is fitted to a part of the samples, or has been fitted before.
    The score of a sample that it has not seen says how little its class conforms. A class is in the
    set of a new sample unless it conforms less than the classes of most samples held out do. The
    names are as in MAPIE's class.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Any classifier with `predict_proba`, or a pipeline that ends in one. None means
        `GradientBoostingClassifier()`.
    confidence_level : float or list of float, default=0.9
        How often sets shall have the true class.
    conformity_score : {"lac", "aps"}, default="lac"
        "lac": 1 minus the probability of the class; the smallest sets. "aps": the sum of the
        probabilities down to the class's own; sets that are larger where the classifier is less
        sure.
    prefit : bool, default=False
        Whether `estimator` is fitted already. It is then used as it is, and all samples of
        `fit_conformalize` or `conformalize` are taken as samples that it has not seen.
    conformalize_size : float or int, default=0.25
        How many samples are held out: a share, or a number. With `groups`, of the groups. Has no
        effect with ``prefit=True``.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice of the samples that are held out.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier, by which `predict` predicts.
    conformity_scores_ : ndarray of shape (n_samples_held_out,)
        The scores of the samples that are held out. Infinite if the classifier does not know the
        class of a sample.
    classes_ : ndarray of shape (n_classes,)
        The class labels that the classifier knows, sorted.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    CrossConformalClassifier : Forests, of which all samples are used for both.

    References
    ----------
    M. Sadinle, J. Lei, L. Wasserman, "Least ambiguous set-valued classifiers with bounded error
    levels", Journal of the American Statistical Association 114, 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from spinney.conformal import SplitConformalClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SplitConformalClassifier(LogisticRegression(max_iter=1000), random_state=0)
    >>> model.fit_conformalize(X, y).predict_set(X)[1].shape
    (150, 3, 1)
    """

    estimator_: Any

    def __init__(
        self,
        estimator: Any = None,
        *,
        confidence_level: Any = 0.9,
        conformity_score: ConformityScore = "lac",
        prefit: bool = False,
        conformalize_size: Any = 0.25,
        random_state: RandomState = None,
    ) -> None:
        store_parameters(locals())

    def _make_default(self) -> Any:
        return GradientBoostingClassifier()

    def _read_parameters(self) -> None:
        self._read_levels()
        self._check_score()

    def _read_y(self, y: Any) -> NDArray[Any]:
        labels = np.asarray(read_labels(y))
        assert_all_finite(labels, input_name="y")
        return labels

    def _score_samples(self, model: Any, samples: Training) -> NDArray[np.float64]:
        known = np.asarray(model.classes_)
        probabilities = np.asarray(model.predict_proba(samples.X), dtype=np.float64)
        is_known = np.isin(samples.y, known)
        codes = np.searchsorted(known, samples.y[is_known])
        # No set has a class that the classifier does not know.
        scores = np.full(samples.y.shape[0], np.inf)
        scores[is_known] = self._score_known(probabilities[is_known], codes)
        return scores

    def _keep_scores(self, scores: NDArray[np.float64]) -> None:
        self.conformity_scores_ = scores

    def _count_less(self, X: Any) -> NDArray[np.float64]:
        order = np.argsort(self.conformity_scores_, kind="stable")
        copies = np.ones(order.shape[0]) if self._copies is None else self._copies[order]
        sums = np.concatenate([[0.0], np.cumsum(copies)])
        scores = self._score_classes(np.asarray(self.estimator_.predict_proba(X), dtype=np.float64))
        # Rounding must not part scores that are equal.
        places = np.searchsorted(self.conformity_scores_[order], scores - 1e-12, side="left")
        return sums[places]
