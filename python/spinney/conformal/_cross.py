"""Intervals and sets from forests that are grown for the folds of a cross-validation (CV+)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from spinney._common.rows import take_rows
from spinney._common.types import ConformityScore
from spinney._fit.labels import read_labels
from spinney._fit.params import store_parameters
from spinney.conformal._intervals import ConformalRegressor
from spinney.conformal._levels import FoldConformal
from spinney.conformal._models import fit_model, get_forest, predict_means
from spinney.conformal._sets import PlusClassifier, ProbabilitiesWithout
from spinney.conformal._weights import Training, read_training
from spinney.ensemble import RandomForestClassifier, RandomForestRegressor
from spinney.ensemble._forest import ForestClassifier, ForestRegressor

if TYPE_CHECKING:
    from typing_extensions import Self


class CrossConformalRegressor(FoldConformal, ConformalRegressor):
    """Intervals by the residuals of a cross-validation (CV+).

    A forest is grown without each fold, and this forest gives the residuals of the fold. For
    a new sample, each training sample gives two values: the prediction of the forest that has not
    seen it, minus and plus its residual. The bounds of the interval are order statistics of these
    values. The names are as in MAPIE's class.

    Parameters
    ----------
    estimator : forest regressor, Pipeline or None, default=None
        A forest of `spinney.ensemble`, not fitted, or a pipeline that ends in one, which is fitted
        as a whole without each fold. None means `RandomForestRegressor()`.
    confidence_level : float or list of float, default=0.9
        How often intervals shall cover.
    cv : int, cross-validation generator or iterable, default=5
        How the data are split, as in scikit-learn. Each sample must be in one fold.
    bounds : tuple of two float or None, default=None
        The least and the largest value that a target can have, None where there is no such value:
        ``(0, None)`` for counts. Intervals end there; the targets of `fit` must be within.

    Attributes
    ----------
    estimator_ : forest regressor
        The forest of all samples, by which `predict` predicts.
    estimators_ : list of forest regressor
        The forests without each fold.
    residuals_ : ndarray of shape (n_samples,)
        Targets less predictions, of the training samples.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    JackknifeAfterBootstrapRegressor : The same from the trees of one forest.

    Notes
    -----
    The intervals cover a new target with a probability of at least about ``1 - 2 * alpha``, where
    `alpha` is ``1 - confidence_level``, if samples are exchangeable, and in practice with about
    ``1 - alpha``. With `groups` and a splitter that keeps groups together, this holds for the
    target of a sample of a new group.

    References
    ----------
    R. F. Barber, E. J. Candes, A. Ramdas, R. J. Tibshirani, "Predictive inference with the
    jackknife+", Annals of Statistics 49, 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from spinney.conformal import CrossConformalRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = CrossConformalRegressor(confidence_level=0.9).fit_conformalize(X[:400], y[:400])
    >>> y_new, intervals = model.predict_interval(X[400:])
    >>> bool((intervals[:, 0, 0] < intervals[:, 1, 0]).all())
    True
    """

    cv: Any

    estimator_: Any
    estimators_: list[Any]
    residuals_: NDArray[np.float64]

    def __init__(
        self,
        estimator: Any = None,
        *,
        confidence_level: Any = 0.9,
        cv: Any = 5,
        bounds: Any = None,
    ) -> None:
        store_parameters(locals())

    def fit_conformalize(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> Self:
        """Grow the forests, and keep the residuals of the folds.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples.
        y : array-like of shape (n_samples,)
            The targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights for the forests and for the scores. Samples of weight 0 are as if absent. If all
            weights are whole numbers, the score of a sample of weight w counts as w scores,
            otherwise as many as its weight is of the mean weight.
        groups : array-like of shape (n_samples,), default=None
            Groups of samples, for a splitter such as `GroupKFold` that keeps them together.

        Returns
        -------
        self : object
        """
        self._read_levels()
        self._read_bounds()
        forest = self._make_forest(RandomForestRegressor, (ForestRegressor,))
        training = read_training(X, y, sample_weight)
        whole = fit_model(
            clone(forest), training.X, training.y, sample_weight=training.sample_weight
        )
        self._check_one_output(get_forest(whole))
        targets = self._read_targets(training.y)
        folds = Folds(forest, self.cv, training, targets, groups)
        residuals = targets - folds.predict_left_out(training.X, predict_means)
        copies = training.count_copies()
        self._check_levels(residuals.shape[0], copies)
        self.estimator_, self.estimators_ = whole, folds.forests
        self.residuals_, self._folds = residuals, folds.of_sample.astype(np.uint32)
        self._copies = copies
        self.n_features_in_ = self._count_features(training.X)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the target of each sample, by the forest of all training samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return predict_means(self.estimator_, X)

    def _bound(
        self, X: Any, levels: list[float], shortest: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        means = np.stack([predict_means(forest, X) for forest in self.estimators_], axis=1)
        n_threads = get_forest(self.estimator_)._count_threads()
        return self._bound_by_residuals(means, self._folds, levels, shortest, n_threads)


class CrossConformalClassifier(FoldConformal, PlusClassifier):
    """Sets of classes by the probabilities of a cross-validation (CV+).

    A forest is grown without each fold. The score of a training sample says how little its class
    conforms to the forest that has not seen it. A class is in the set of a new sample unless it
    conforms less than the classes of most training samples do, each time by the forest that has not
    seen the training sample. The names are as in MAPIE's class.

    Parameters
    ----------
    estimator : forest classifier, Pipeline or None, default=None
        A forest of `spinney.ensemble`, not fitted, or a pipeline that ends in one, which is fitted
        as a whole without each fold. None means `RandomForestClassifier()`.
    confidence_level : float or list of float, default=0.9
        How often sets shall have the true class.
    conformity_score : {"lac", "aps"}, default="lac"
        "lac": 1 minus the probability of the class; the smallest sets. "aps": the sum of the
        probabilities down to the class's own; sets that are larger where the forest is less sure.
    cv : int, cross-validation generator or iterable, default=5
        How the data are split, as in scikit-learn. Each sample must be in one fold.

    Attributes
    ----------
    estimator_ : forest classifier
        The forest of all samples, by which `predict` predicts.
    estimators_ : list of forest classifier
        The forests without each fold.
    conformity_scores_ : ndarray of shape (n_samples,)
        The scores of the training samples.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    JackknifeAfterBootstrapClassifier : The same from the trees of one forest.

    References
    ----------
    Y. Romano, M. Sesia, E. J. Candes, "Classification with valid and adaptive coverage", NeurIPS
    2020, section 2.4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spinney.conformal import CrossConformalClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CrossConformalClassifier(confidence_level=[0.8, 0.95]).fit_conformalize(X, y)
    >>> model.predict_set(X)[1].shape
    (150, 3, 2)
    """

    cv: Any

    estimators_: list[Any]

    def __init__(
        self,
        estimator: Any = None,
        *,
        confidence_level: Any = 0.9,
        conformity_score: ConformityScore = "lac",
        cv: Any = 5,
    ) -> None:
        store_parameters(locals())

    def fit_conformalize(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> Self:
        """Grow the forests, and keep the scores of the folds.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples.
        y : array-like of shape (n_samples,)
            The class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights for the forests and for the scores. Samples of weight 0 are as if absent. If all
            weights are whole numbers, the score of a sample of weight w counts as w scores,
            otherwise as many as its weight is of the mean weight.
        groups : array-like of shape (n_samples,), default=None
            Groups of samples, for a splitter such as `GroupKFold` that keeps them together.

        Returns
        -------
        self : object
        """
        self._read_levels()
        self._check_score()
        forest = self._make_forest(RandomForestClassifier, (ForestClassifier,))
        training = read_training(X, y, sample_weight)
        whole = fit_model(
            clone(forest), training.X, training.y, sample_weight=training.sample_weight
        )
        self._check_one_output(get_forest(whole))
        labels = np.ravel(np.asarray(read_labels(training.y)))
        folds = Folds(forest, self.cv, training, labels, groups)
        classes = get_forest(whole).classes_
        probabilities = folds.predict_left_out(
            training.X, lambda own, rows: _predict(own, rows, classes)
        )
        scores = self._score_known(probabilities, np.searchsorted(classes, labels))
        copies = training.count_copies()
        self._check_levels(scores.shape[0], copies)
        self.estimator_, self.estimators_ = whole, folds.forests
        self.conformity_scores_, self._folds = scores, folds.of_sample
        self._copies = copies
        self.n_features_in_ = self._count_features(training.X)
        return self

    def _list_probabilities_without(self, X: Any) -> tuple[ProbabilitiesWithout, int]:
        of_folds = np.array([_predict(own, X, self.classes_) for own in self.estimators_])

        def find(block: tuple[int, int]) -> Callable[[tuple[int, int]], NDArray[np.float64]]:
            own = of_folds[:, slice(*block)]
            return lambda training: own[self._folds[slice(*training)]]

        return find, of_folds.shape[1]


class Folds:
    """Forests that are grown without each fold of a cross-validation.

    Parameters
    ----------
    forest : estimator instance
        A forest that is not fitted.
    cv : int, cross-validation generator or iterable
        Each sample must be in one fold.
    training : Training
    y : ndarray of shape (n_samples,)
        The targets of `training`.
    groups : array-like or None
        Of the caller's rows.
    """

    def __init__(
        self, forest: Any, cv: Any, training: Training, y: NDArray[Any], groups: Any
    ) -> None:
        X, weights = training.X, training.sample_weight
        groups, cv = training.take_groups(groups), training.take_folds(cv)
        self.of_sample = np.full(y.shape[0], -1)
        self.forests: list[Any] = []
        splitter = check_cv(cv, y, classifier=is_classifier(forest))
        for fold, (train, test) in enumerate(splitter.split(X, y, groups)):
            if np.any(self.of_sample[test] >= 0):
                raise ValueError("cv must have each sample in one fold. Got some in several.")
            self.of_sample[test] = fold
            own = fit_model(
                clone(forest),
                take_rows(X, train),
                y[train],
                sample_weight=weights if np.ndim(weights) == 0 else weights[train],
            )
            self.forests.append(own)
        if np.any(self.of_sample < 0):
            raise ValueError("cv must have each sample in one fold. Got some in none.")

    def predict_left_out(
        self, X: Any, predict: Callable[[Any, Any], NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Return what the forests predict for the samples of their folds."""
        places, parts = [], []
        for fold, forest in enumerate(self.forests):
            rows = np.flatnonzero(self.of_sample == fold)
            places.append(rows)
            parts.append(predict(forest, take_rows(X, rows)))
        predictions = np.concatenate(parts)
        return predictions[np.argsort(np.concatenate(places))]


def _predict(forest: Any, X: Any, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return the probabilities of all classes; a forest may not know some of them."""
    known = forest.predict_proba(X)
    probabilities = np.zeros((known.shape[0], classes.shape[0]))
    probabilities[:, np.searchsorted(classes, get_forest(forest).classes_)] = known
    return probabilities
