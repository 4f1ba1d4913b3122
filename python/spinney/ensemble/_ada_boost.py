"""AdaBoost of classes (SAMME) and of numbers (R2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn import ensemble as of_sklearn
from sklearn.utils.validation import check_is_fitted

from spinney._common.types import RandomState
from spinney._fit.labels import LabelledMixin, read_labels
from spinney._fit.params import store_parameters
from spinney.ensemble._reweighted import SortedDraws, TreeRounds
from spinney.ensemble._weight_boosting import WeightBoosting
from spinney.tree import DecisionTreeClassifier, DecisionTreeRegressor


class AdaBoostClassifier(WeightBoosting, LabelledMixin, of_sklearn.AdaBoostClassifier):
    """AdaBoost of classes (SAMME): each estimator is fitted to what those before it get wrong.

    All samples begin with the same weight. After each round the samples whose class the new
    estimator gets wrong weigh more. The classes that all estimators predict are votes, by weights
    that are larger the fewer errors an estimator makes. Is scikit-learn's
    :class:`sklearn.ensemble.AdaBoostClassifier`, over samples that are encoded once: the same
    rounds in a fraction of the time, with missing values and categories.

    Parameters
    ----------
    estimator : estimator or None, default=None
        What is fitted in each round: a classifier of spinney or of others whose `fit` takes
        `sample_weight`. None means ``DecisionTreeClassifier(max_depth=1)``. Its parameters say
        which features are categorical, and how many threads there are.
    n_estimators : int, default=50
        Largest number of rounds. They end earlier if an estimator makes no error.
    learning_rate : float, default=1.0
        What the weight of each estimator is multiplied by. Smaller rates need more rounds.
    random_state : int, RandomState instance or None, default=None
        Seed of the random states that the estimators get. An int makes results repeatable.

    Attributes
    ----------
    estimator_ : estimator
        The estimator of which copies are fitted.
    estimators_ : list of estimators
        The fitted estimators.
    estimator_weights_ : ndarray of shape (n_estimators,)
        The weight of each estimator's votes; 0 for rounds that did not take place.
    estimator_errors_ : ndarray of shape (n_estimators,)
        For each estimator the share of wrong classes, by the weights of its round; 1 for rounds
        that did not take place.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    n_classes_ : int
        Number of classes.
    feature_importances_ : ndarray of shape (n_features,)
        Mean of the importances of the estimators, by their weights.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`. Exists only if `X` has names that are all strings.
    is_categorical_ : ndarray of bool of shape (n_features_in_,), or None
        Which features are categorical. None if no feature is.
    categories_ : list of (ndarray or None), or None
        For each categorical feature, its distinct values in `fit`. None if no feature is
        categorical.

    See Also
    --------
    GradientBoostingClassifier : Boosting by the gradient of a loss, usually more accurate.

    References
    ----------
    J. Zhu, H. Zou, S. Rosset, T. Hastie, "Multi-class AdaBoost", Statistics and its Interface 2,
    2009.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from spinney import AdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> AdaBoostClassifier(n_estimators=20, random_state=0).fit(X, y).score(X, y) > 0.97
    True
    """

    # scikit-learn below 1.8 has this parameter, which has no effect.
    algorithm = "deprecated"

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        random_state: RandomState = None,
    ) -> None:
        store_parameters(locals())

    def _make_default(self) -> Any:
        return DecisionTreeClassifier(max_depth=1)

    def _boost(self, iboost: int, X: Any, y: Any, sample_weight: Any, random_state: Any) -> Any:
        # scikit-learn takes the logarithm of weights, some of which may be 0.
        with np.errstate(divide="ignore"):
            return super()._boost(iboost, X, y, sample_weight, random_state)

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Yield what `score` returns, after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples. None means that all are 1.

        Yields
        ------
        score : float
        """
        yield from super().staged_score(X, read_labels(y), sample_weight)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the votes for each class, by the weights of the estimators.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        score : ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, 1)
            For two classes, from -1, all votes are for the first class, to 1. For one class, 0.
        """
        *_, (_, votes) = self._add_votes(X)
        return self._shape_votes(votes, self.estimator_weights_.sum())

    def staged_decision_function(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Yield what `decision_function` returns, after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Yields
        ------
        score : ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, 1)
        """
        for total, votes in self._add_votes(X):
            yield self._shape_votes(votes, total)

    def _add_votes(self, X: Any) -> Iterator[tuple[float, NDArray[np.float64]]]:
        """Yield, after each round, the sum of weights and of votes: (n_samples, n_classes)."""
        check_is_fitted(self)
        n_classes = self.n_classes_
        total: float = 0.0
        votes: Any = 0.0
        for weight, codes in zip(self.estimator_weights_, self._ask_each(X), strict=False):
            # A column for each class that is chosen. Of one class, nobody is against it.
            of_choice = np.full((n_classes, n_classes), -1 / max(n_classes - 1, 1) * weight)
            np.fill_diagonal(of_choice, weight if n_classes > 1 else 0.0)
            total += weight
            votes = votes + of_choice.take(codes, axis=1)
            yield total, votes

    def _shape_votes(self, votes: NDArray[np.float64], total: float) -> NDArray[np.float64]:
        shares = votes / total
        if self.n_classes_ == 2:
            return np.asarray(shares[1] - shares[0])
        return np.ascontiguousarray(shares.T)


class AdaBoostRegressor(WeightBoosting, of_sklearn.AdaBoostRegressor):
    """AdaBoost of numbers (R2): each estimator is fitted to what those before it get wrong.

    Each round draws as many samples as there are, with replacement, and fits an estimator to them.
    All samples begin with the same chance. After each round the samples whose target the new
    estimator misses by less get a smaller one. What is predicted is the median of the estimators'
    predictions, by weights that are larger the less an estimator errs. Is scikit-learn's
    :class:`sklearn.ensemble.AdaBoostRegressor`, over samples that are encoded once: the same draws
    in a fraction of the time, with missing values and categories.

    Parameters
    ----------
    estimator : estimator or None, default=None
        What is fitted in each round: a regressor of spinney or of others. None means
        ``DecisionTreeRegressor(max_depth=3)``. Its parameters say which features are categorical,
        and how many threads there are.
    n_estimators : int, default=50
        Largest number of rounds. They end earlier if an estimator makes no error, or if its mean
        loss is half of the largest one or more.
    learning_rate : float, default=1.0
        What the weight of each estimator is multiplied by. Smaller rates need more rounds.
    loss : {"linear", "square", "exponential"}, default="linear"
        How errors, as shares of the largest one, become losses. "linear": they are losses.
        "square": their squares. "exponential": 1 minus the exponential function of minus the share.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples that are drawn, and of the random states that the estimators get. An int
        makes results repeatable.

    Attributes
    ----------
    estimator_ : estimator
        The estimator of which copies are fitted.
    estimators_ : list of estimators
        The fitted estimators.
    estimator_weights_ : ndarray of shape (n_estimators,)
        The weight of each estimator in the median; 0 for rounds that did not take place.
    estimator_errors_ : ndarray of shape (n_estimators,)
        The mean loss of each estimator, by the chances of its round; 1 for rounds that did not take
        place.
    feature_importances_ : ndarray of shape (n_features,)
        Mean of the importances of the estimators, by their weights.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`. Exists only if `X` has names that are all strings.
    is_categorical_ : ndarray of bool of shape (n_features_in_,), or None
        Which features are categorical. None if no feature is.
    categories_ : list of (ndarray or None), or None
        For each categorical feature, its distinct values in `fit`. None if no feature is
        categorical.

    See Also
    --------
    GradientBoostingRegressor : Boosting by the gradient of a loss, usually more accurate.

    References
    ----------
    H. Drucker, "Improving Regressors using Boosting Techniques", ICML 1997.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from spinney import AdaBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> AdaBoostRegressor(n_estimators=20, random_state=0).fit(X, y).score(X, y) > 0.5
    True
    """

    loss: Any

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        loss: Literal["linear", "square", "exponential"] = "linear",
        random_state: RandomState = None,
    ) -> None:
        store_parameters(locals())

    def _make_default(self) -> Any:
        return DecisionTreeRegressor(max_depth=3)

    def _boost(self, iboost: int, X: Any, y: Any, sample_weight: Any, random_state: Any) -> Any:
        if isinstance(self._rounds, TreeRounds):
            random_state = SortedDraws(random_state)
        return super()._boost(iboost, X, y, sample_weight, random_state)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the target of each sample: the median of the estimators, by their weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return self._find_medians(np.array(list(self._ask_each(X))).T)

    def staged_predict(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Yield what `predict` returns, after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Yields
        ------
        y : ndarray of shape (n_samples,)
        """
        predictions = np.array(list(self._ask_each(X))).T
        for n in range(1, predictions.shape[1] + 1):
            yield self._find_medians(predictions[:, :n])

    def _find_medians(self, predictions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return medians of predictions of the first estimators: (n_samples, n_estimators)."""
        order = np.argsort(predictions, axis=1)
        sums = np.cumsum(self.estimator_weights_[order], axis=1)
        places = np.argmax(sums >= 0.5 * sums[:, -1:], axis=1)[:, None]
        medians = np.take_along_axis(predictions, np.take_along_axis(order, places, 1), 1)
        return np.asarray(medians[:, 0])
