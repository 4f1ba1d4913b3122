"""Intervals and sets from the trees that have not seen a sample (jackknife+ after bootstrap)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spinney._common.messages import warn_caller
from spinney._common.types import ConformityScore
from spinney._fit.labels import read_labels
from spinney._fit.params import store_parameters
from spinney.conformal._intervals import ConformalRegressor, predict_means
from spinney.conformal._sets import ConformalClassifier
from spinney.ensemble import RandomForestClassifier, RandomForestRegressor
from spinney.ensemble._forest import ForestClassifier, ForestRegressor

if TYPE_CHECKING:
    from typing_extensions import Self


class JackknifeAfterBootstrapRegressor(ConformalRegressor):
    """Intervals by the out-of-bag residuals of one forest (jackknife+ after bootstrap).

    The residual of a training sample is its distance from the mean of the trees that have not seen
    it. For a new sample, each training sample gives two values: the prediction of these trees,
    minus and plus its residual. The bounds of the interval are order statistics of these values.
    No second forest is grown. The names are as in MAPIE's class.

    Parameters
    ----------
    estimator : forest regressor or None, default=None
        A forest of `spinney.ensemble`, not fitted, whose trees leave samples out. None means
        `RandomForestRegressor()`.
    confidence_level : float or list of float, default=0.9
        How often intervals shall cover.

    Attributes
    ----------
    estimator_ : forest regressor
        The fitted forest.
    residuals_ : ndarray of shape (n_samples_out_of_bag,)
        Targets less predictions, of the training samples that some tree has not seen.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    CrossConformalRegressor : The same from forests that are grown for folds.
    ConformalizedQuantileRegressor : Intervals that are wider where targets spread more.

    Notes
    -----
    The intervals cover a new target with a probability of at least ``1 - 2 * alpha``, where `alpha`
    is ``1 - confidence_level``, if samples are exchangeable, and in practice with about
    ``1 - alpha`` (theorem 1 of the paper). A prediction takes O(training samples * trees / 8) for
    each sample: sums of eight trees are looked up in tables.

    References
    ----------
    B. Kim, C. Xu, R. F. Barber, "Predictive inference is free with the jackknife+-after-bootstrap",
    NeurIPS 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from spinney.conformal import JackknifeAfterBootstrapRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = JackknifeAfterBootstrapRegressor(confidence_level=[0.8, 0.9])
    >>> model.fit_conformalize(X[:400], y[:400]).predict_interval(X[400:])[1].shape
    (42, 2, 2)
    """

    estimator_: Any
    residuals_: NDArray[np.float64]

    def __init__(self, estimator: Any = None, *, confidence_level: Any = 0.9) -> None:
        store_parameters(locals())

    def fit_conformalize(
        self, X: Any, y: Any, sample_weight: Any = None, samples: Any = None
    ) -> Self:
        """Grow the forest, and keep the residuals of its training samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples.
        y : array-like of shape (n_samples,)
            The targets.
        sample_weight, samples : default=None
            As for the forest: with `samples`, whole groups of samples can be left out of trees
            together.

        Returns
        -------
        self : object
        """
        self._read_levels()
        forest = self._make_forest(RandomForestRegressor, (ForestRegressor,))
        if not forest.bootstrap:
            raise ValueError(
                "Intervals come from trees that have not seen a sample: set bootstrap=True, or use "
                "CrossConformalRegressor."
            )
        forest.fit(X, y, sample_weight=sample_weight, samples=samples)
        self._check_one_output(forest)
        unseen, means = predict_unseen(forest, X)
        residuals = np.asarray(y, dtype=np.float64).ravel() - means[:, 0]
        is_known = ~np.isnan(residuals)
        self._check_levels(int(np.count_nonzero(is_known)))
        self.estimator_, self._unseen = forest, np.ascontiguousarray(unseen[is_known])
        self.residuals_ = residuals[is_known]
        self.n_features_in_ = forest.n_features_in_
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the target of each sample: the mean of all trees.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return predict_means(self.estimator_, X)

    def _bound(
        self, X: Any, levels: list[float], shortest: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        forest = self.estimator_
        rows, n_threads = forest._validate_X_predict(X), forest._count_threads()
        values = forest.forest_.predict_trees(rows, n_threads)[:, :, 0]
        return self._bound_by_residuals(values, self._unseen, levels, shortest, n_threads)


class JackknifeAfterBootstrapClassifier(ConformalClassifier):
    """Sets of classes by the out-of-bag probabilities of one forest (jackknife+ after bootstrap).

    The score of a training sample says how little its class conforms to the trees that have not
    seen it. A class is in the set of a new sample unless it conforms less than the classes of most
    training samples do, each time by the trees that have not seen the training sample. No second
    forest is grown.

    Parameters
    ----------
    estimator : forest classifier or None, default=None
        A forest of `spinney.ensemble`, not fitted, whose trees leave samples out. None means
        `RandomForestClassifier()`.
    confidence_level : float or list of float, default=0.9
        How often sets shall have the true class.
    conformity_score : {"lac", "aps"}, default="lac"
        "lac": 1 minus the probability of the class; the smallest sets. "aps": the sum of the
        probabilities down to the class's own; sets that are larger where the forest is less sure.

    Attributes
    ----------
    estimator_ : forest classifier
        The fitted forest.
    conformity_scores_ : ndarray of shape (n_samples_out_of_bag,)
        The scores of the training samples that some tree has not seen.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    CrossConformalClassifier : The same from forests that are grown for folds.

    References
    ----------
    Y. Romano, M. Sesia, E. J. Candes, "Classification with valid and adaptive coverage", NeurIPS
    2020, section 2.4.

    B. Kim, C. Xu, R. F. Barber, "Predictive inference is free with the jackknife+-after-bootstrap",
    NeurIPS 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spinney.conformal import JackknifeAfterBootstrapClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = JackknifeAfterBootstrapClassifier(confidence_level=0.95).fit_conformalize(X, y)
    >>> labels, sets = model.predict_set(X)
    >>> sets.shape
    (150, 3, 1)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        confidence_level: Any = 0.9,
        conformity_score: ConformityScore = "lac",
    ) -> None:
        store_parameters(locals())

    def fit_conformalize(
        self, X: Any, y: Any, sample_weight: Any = None, samples: Any = None
    ) -> Self:
        """Grow the forest, and keep the scores of its training samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples.
        y : array-like of shape (n_samples,)
            The class labels.
        sample_weight, samples : default=None
            As for the forest.

        Returns
        -------
        self : object
        """
        self._read_levels()
        self._check_score()
        forest = self._make_forest(RandomForestClassifier, (ForestClassifier,))
        if not forest._leaves_samples_out():
            raise ValueError(
                "Sets come from trees that have not seen a sample: set bootstrap=True, or use "
                "CrossConformalClassifier."
            )
        forest.fit(X, y, sample_weight=sample_weight, samples=samples)
        self._check_one_output(forest)
        unseen, means = predict_unseen(forest, X)
        is_known = ~np.isnan(means[:, 0])
        codes = np.searchsorted(forest.classes_, np.ravel(read_labels(y))[is_known])
        scores = self._score_known(means[is_known], codes)
        self._check_levels(scores.shape[0])
        known = unseen[is_known]
        self._shares = known / known.sum(axis=1, keepdims=True)
        self.estimator_, self.conformity_scores_ = forest, scores
        self.n_features_in_ = forest.n_features_in_
        return self

    def _list_probabilities_without(
        self, X: Any
    ) -> tuple[Callable[[slice], NDArray[np.float64]], int]:
        forest = self.estimator_
        rows = forest._validate_X_predict(X)
        values = forest.forest_.predict_trees(rows, forest._count_threads())
        return (
            lambda rows: np.tensordot(self._shares, values[rows], axes=(1, 1)),
            values.shape[0],
        )


def predict_unseen(forest: Any, X: Any) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Return which trees have not seen the training samples, and their means.

    Returns
    -------
    unseen : ndarray of shape (n_samples, n_trees)
        1 for trees that have not seen a sample.
    means : ndarray of shape (n_samples, n_values)
        NaN where there are no such trees.
    """
    rows, n_threads = forest._validate_X_predict(X), forest._count_threads()
    unseen = forest._draws.mark_unseen(forest.forest_.seeds, n_threads)
    means, n_trees = forest.forest_.predict_oob(rows, forest._draws, n_threads)
    means[n_trees == 0] = np.nan
    n_seen = int(np.count_nonzero(n_trees == 0))
    if n_seen:
        warn_caller(
            f"All trees have seen {n_seen} of {unseen.shape[0]} samples, so nothing is known of "
            "them out of bag: predictions come from the others. More trees leave fewer samples out."
        )
    return unseen, means
