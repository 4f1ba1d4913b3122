"""Gradient boosting with the names of scikit-learn's histogram boosting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn import ensemble as of_sklearn

from spinney._fit.params import with_parameters
from spinney._fit.signatures import HistogramParameters
from spinney.ensemble._boosting_targets import BoostingOfClasses, BoostingOfNumbers
from spinney.ensemble._histogram_boosting import HistogramBoosting


@of_sklearn.HistGradientBoostingClassifier.register
@with_parameters
class HistGradientBoostingClassifier(HistogramBoosting, BoostingOfClasses, HistogramParameters):
    """Gradient boosting of classes by second derivatives, for dense and sparse data.

    Has the interface of :class:`sklearn.ensemble.HistGradientBoostingClassifier`, and takes sparse
    matrices, any number of categories and `max_bins=None`, for cuts between all values. It is
    :class:`GradientBoostingClassifier` with `second_order=True` under other names and defaults.
    Where a feature has more than `max_bins` values, bins have equally many samples as
    scikit-learn's do, but may end one sample earlier or later.

    Parameters
    ----------
    loss : {"log_loss"}, default="log_loss"
        The deviance, of two or more classes.
    learning_rate : float, default=0.1
        What each tree's contribution is multiplied by. Smaller rates need more rounds, and usually
        predict better.
    max_iter : int, default=100
        Number of rounds. A round grows one tree, or one for each class if there are more than two.
    max_leaf_nodes : int, default=31
        Largest number of leaves of a tree. The tree is then grown best first: the next node to be
        split is the one whose split reduces the impurity of the tree most. None means no limit.
    max_depth : int, default=None
        Largest depth of a leaf. None means no limit.
    min_samples_leaf : int or float, default=20
        Each child of a split must have at least this many samples. A float is a fraction of the
        number of training samples.
    l2_regularization : float, default=0.0
        Is added to sums of second derivatives, so that leaves of few samples add less. Needs
        `second_order=True`.
    max_features : int, float, {"sqrt", "log2"} or None, default=1.0
        How many features a node draws: an int is a number, a float a fraction of all, rounded up.
        If none of them can be cut, the draw goes on.
    max_bins : int, default=255
        The most bins of the values of a feature, missing ones aside, up to 255: cuts are between
        bins. None: cuts are between any two values that differ.
    categorical_features : None, "from_dtype" or array-like, default="from_dtype"
        Which features are categorical. None: no feature. "from_dtype": the columns of a data frame
        that have a categorical dtype. Otherwise a boolean mask, or the indices or names of the
        categorical features; a list may have "from_dtype" among them. A categorical column may have
        any number of distinct values, of any type that can be sorted, such as strings. A split
        sends a set of categories to one child. Categories that do not occur in the node, or did not
        occur in `fit`, go to the child with the larger weight.
    monotonic_cst : dict or array-like of int of shape (n_features,), default=None
        For each feature 1 if raw predictions must not fall as the feature grows, -1 if they must
        not rise, 0 if there is no constraint; or a dict of names of features with them. More than
        two classes are not supported.
    interaction_cst : "pairwise", "no_interactions" or sequence of collections of int, default=None
        Groups of features that may interact: each path of a tree has features of one group alone. A
        sequence of collections of feature numbers, in which features that are in none of them are
        one more group; "pairwise": all groups of two; "no_interactions": each feature alone. None:
        no constraint. Takes no `min_weight_fraction_leaf` and no `feature_sampling="active"`.
    warm_start : bool, default=False
        If True, a further call of `fit` keeps the trees and adds rounds until there are
        `n_estimators`.
    early_stopping : bool or "auto", default="auto"
        Whether rounds end early: see `n_iter_no_change`. "auto": if there are more than 10,000
        samples.
    scoring : str, callable or None, default="loss"
        What early stopping goes by. "loss": the loss. Otherwise the name of a scorer of
        scikit-learn, a scorer, or None for `score`; they see up to 10,000 of the training samples.
    validation_fraction : int, float or None, default=0.1
        Share, or number, of the samples that is left out for early stopping, unless `fit` gets
        `X_val`. None: early stopping goes by the training samples.
    n_iter_no_change : int, default=10
        With early stopping, no further round begins when the score has not risen by `tol` in so
        many rounds.
    tol : float, default=1e-07
        By how much the score must rise; see `n_iter_no_change`.
    verbose : int, default=0
        Whether to print the number of each round, and its scores if there are some.
    random_state : int, RandomState instance or None, default=None
        Seed of everything that is random: the features that nodes draw, the order that decides
        between equally good splits, and the samples that are left out for early stopping. An int
        makes results repeatable.
    n_jobs : int, default=None
        Number of threads for `fit` and for predictions. None means 1 unless
        `joblib.parallel_config` sets another number, and -1 means all processors. Results do not
        depend on it.
    handle_unknown : {"ignore", "error"}, default="ignore"
        What predictions do with categories that did not occur in `fit`. "ignore": splits send them
        to the child with the larger weight, and a warning names features without any known
        category, perhaps because their type has changed. "error": they raise ValueError. Missing
        values are no unknown categories.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, by which the weights of samples are multiplied: a dict, or
        "balanced" for weights that give all classes the same total. None: 1 for all.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The sorted class labels.
    n_classes_ : int
        Number of classes.
    do_early_stopping_ : bool
        Whether rounds could end early.
    n_iter_ : int
        Number of rounds that were made.
    n_trees_per_iteration_ : int
        Number of trees of a round.
    train_score_ : ndarray of shape (n_iter_ + 1,) or (0,)
        Scores of training samples: before the first round, and after each. Higher is better; of
        `scoring="loss"`, they are the negative loss. Empty without early stopping.
    validation_score_ : ndarray of shape (n_iter_ + 1,) or (0,)
        The same of the samples that were left out or given.
    estimators_ : ndarray of DecisionTreeRegressor, (n_iter_, n_trees_per_iteration_)
        The trees as estimators, of shape (n_estimators_, n_trees_per_iteration_). They are made
        when this attribute is first read. Where features are categorical they take codes, see
        `to_codes`.
    forest_ : spinney.Forest
        The compiled trees, round by round.
    init_ : estimator
        What the rounds begin with: a fitted estimator, or "zero".
    feature_importances_ : ndarray of shape (n_features_in_,)
        Mean over the trees of the total decrease of impurity by the splits on each feature,
        normalised to a sum of 1.
    expected_value_ : float or ndarray of shape (n_classes,)
        The raw prediction if nothing is known of a sample: with the contributions of `shap_values`
        it adds up to the raw prediction.
    max_features_ : int
        Number of features that each node draws.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`. Exists only if `X` has names that are all strings.
    is_categorical_ : ndarray of bool of shape (n_features_in_,), or None
        Which features are categorical. None if no feature is.
    categories_ : list of ndarray, or None
        For each categorical feature, its distinct values in `fit`: sorted, except that 0 comes
        first. The index of a value is the code that stands for it in the compiled trees. The entry
        of a numeric feature is None. None if no feature is categorical.

    See Also
    --------
    HistGradientBoostingRegressor : The same for numbers.
    GradientBoostingClassifier : Trees by first derivatives, and more losses.

    References
    ----------
    T. Chen and C. Guestrin, "XGBoost: a scalable tree boosting system", KDD 2016.

    G. Ke et al., "LightGBM: a highly efficient gradient boosting decision tree", NIPS 2017.

    Examples
    --------
    >>> from spinney import HistGradientBoostingClassifier
    >>> X, y = [[float(i)] for i in range(60)], ["no"] * 30 + ["yes"] * 30
    >>> model = HistGradientBoostingClassifier(random_state=0).fit(X, y)
    >>> model.predict([[0.5], [52.5]])
    array(['no', 'yes'], dtype='<U3')
    """

    loss: Literal["log_loss"] = "log_loss"
    class_weight: Any = None

    _losses: ClassVar[tuple[str, ...]] = ("log_loss",)

    def _weigh_classes(  # type: ignore[override]
        self,
        y: NDArray[Any],
        codes: NDArray[np.uint32],  # noqa: ARG002 - forests need it
        sample_weight: NDArray[np.float64] | None,  # noqa: ARG002 - "balanced" ignores it
    ) -> NDArray[np.float64] | None:
        return self._read_class_weight(y)


@of_sklearn.HistGradientBoostingRegressor.register
@with_parameters
class HistGradientBoostingRegressor(HistogramBoosting, BoostingOfNumbers, HistogramParameters):
    """Gradient boosting of numbers by second derivatives, for dense and sparse data.

    Has the interface of :class:`sklearn.ensemble.HistGradientBoostingRegressor`, and takes sparse
    matrices, any number of categories and `max_bins=None`, for cuts between all values. It is
    :class:`GradientBoostingRegressor` with `second_order=True` under other names and defaults.
    Where a feature has more than `max_bins` values, bins have equally many samples as
    scikit-learn's do, but may end one sample earlier or later.

    Parameters
    ----------
    loss : str, default="squared_error"
        "squared_error", "absolute_error", "quantile", "poisson" or "gamma". The last two are of
        positive numbers, whose logarithm the trees add up to.
    quantile : float or list of float, default=None
        The level of the quantile that is predicted with `loss="quantile"`; or a list of levels,
        whose quantiles do not cross: `predict` then has a column for each.
    learning_rate : float, default=0.1
        What each tree's contribution is multiplied by. Smaller rates need more rounds, and usually
        predict better.
    max_iter : int, default=100
        Number of rounds. A round grows one tree, or one for each class if there are more than two.
    max_leaf_nodes : int, default=31
        Largest number of leaves of a tree. The tree is then grown best first: the next node to be
        split is the one whose split reduces the impurity of the tree most. None means no limit.
    max_depth : int, default=None
        Largest depth of a leaf. None means no limit.
    min_samples_leaf : int or float, default=20
        Each child of a split must have at least this many samples. A float is a fraction of the
        number of training samples.
    l2_regularization : float, default=0.0
        Is added to sums of second derivatives, so that leaves of few samples add less. Needs
        `second_order=True`.
    max_features : int, float, {"sqrt", "log2"} or None, default=1.0
        How many features a node draws: an int is a number, a float a fraction of all, rounded up.
        If none of them can be cut, the draw goes on.
    max_bins : int, default=255
        The most bins of the values of a feature, missing ones aside, up to 255: cuts are between
        bins. None: cuts are between any two values that differ.
    categorical_features : None, "from_dtype" or array-like, default="from_dtype"
        Which features are categorical. None: no feature. "from_dtype": the columns of a data frame
        that have a categorical dtype. Otherwise a boolean mask, or the indices or names of the
        categorical features; a list may have "from_dtype" among them. A categorical column may have
        any number of distinct values, of any type that can be sorted, such as strings. A split
        sends a set of categories to one child. Categories that do not occur in the node, or did not
        occur in `fit`, go to the child with the larger weight.
    monotonic_cst : dict or array-like of int of shape (n_features,), default=None
        For each feature 1 if raw predictions must not fall as the feature grows, -1 if they must
        not rise, 0 if there is no constraint; or a dict of names of features with them. More than
        two classes are not supported.
    interaction_cst : "pairwise", "no_interactions" or sequence of collections of int, default=None
        Groups of features that may interact: each path of a tree has features of one group alone. A
        sequence of collections of feature numbers, in which features that are in none of them are
        one more group; "pairwise": all groups of two; "no_interactions": each feature alone. None:
        no constraint. Takes no `min_weight_fraction_leaf` and no `feature_sampling="active"`.
    warm_start : bool, default=False
        If True, a further call of `fit` keeps the trees and adds rounds until there are
        `n_estimators`.
    early_stopping : bool or "auto", default="auto"
        Whether rounds end early: see `n_iter_no_change`. "auto": if there are more than 10,000
        samples.
    scoring : str, callable or None, default="loss"
        What early stopping goes by. "loss": the loss. Otherwise the name of a scorer of
        scikit-learn, a scorer, or None for `score`; they see up to 10,000 of the training samples.
    validation_fraction : int, float or None, default=0.1
        Share, or number, of the samples that is left out for early stopping, unless `fit` gets
        `X_val`. None: early stopping goes by the training samples.
    n_iter_no_change : int, default=10
        With early stopping, no further round begins when the score has not risen by `tol` in so
        many rounds.
    tol : float, default=1e-07
        By how much the score must rise; see `n_iter_no_change`.
    verbose : int, default=0
        Whether to print the number of each round, and its scores if there are some.
    random_state : int, RandomState instance or None, default=None
        Seed of everything that is random: the features that nodes draw, the order that decides
        between equally good splits, and the samples that are left out for early stopping. An int
        makes results repeatable.
    n_jobs : int, default=None
        Number of threads for `fit` and for predictions. None means 1 unless
        `joblib.parallel_config` sets another number, and -1 means all processors. Results do not
        depend on it.
    handle_unknown : {"ignore", "error"}, default="ignore"
        What predictions do with categories that did not occur in `fit`. "ignore": splits send them
        to the child with the larger weight, and a warning names features without any known
        category, perhaps because their type has changed. "error": they raise ValueError. Missing
        values are no unknown categories.

    Attributes
    ----------
    do_early_stopping_ : bool
        Whether rounds could end early.
    n_iter_ : int
        Number of rounds that were made.
    n_trees_per_iteration_ : int
        Number of trees of a round.
    train_score_ : ndarray of shape (n_iter_ + 1,) or (0,)
        Scores of training samples: before the first round, and after each. Higher is better; of
        `scoring="loss"`, they are the negative loss. Empty without early stopping.
    validation_score_ : ndarray of shape (n_iter_ + 1,) or (0,)
        The same of the samples that were left out or given.
    estimators_ : ndarray of DecisionTreeRegressor, (n_iter_, n_trees_per_iteration_)
        The trees as estimators, of shape (n_estimators_, n_trees_per_iteration_). They are made
        when this attribute is first read. Where features are categorical they take codes, see
        `to_codes`.
    forest_ : spinney.Forest
        The compiled trees, round by round.
    init_ : estimator
        What the rounds begin with: a fitted estimator, or "zero".
    feature_importances_ : ndarray of shape (n_features_in_,)
        Mean over the trees of the total decrease of impurity by the splits on each feature,
        normalised to a sum of 1.
    expected_value_ : float or ndarray of shape (n_classes,)
        The raw prediction if nothing is known of a sample: with the contributions of `shap_values`
        it adds up to the raw prediction.
    max_features_ : int
        Number of features that each node draws.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`. Exists only if `X` has names that are all strings.
    is_categorical_ : ndarray of bool of shape (n_features_in_,), or None
        Which features are categorical. None if no feature is.
    categories_ : list of ndarray, or None
        For each categorical feature, its distinct values in `fit`: sorted, except that 0 comes
        first. The index of a value is the code that stands for it in the compiled trees. The entry
        of a numeric feature is None. None if no feature is categorical.

    See Also
    --------
    HistGradientBoostingClassifier : The same for classes.
    GradientBoostingRegressor : Trees by first derivatives, and more losses.

    References
    ----------
    T. Chen and C. Guestrin, "XGBoost: a scalable tree boosting system", KDD 2016.

    G. Ke et al., "LightGBM: a highly efficient gradient boosting decision tree", NIPS 2017.

    Examples
    --------
    >>> from spinney import HistGradientBoostingRegressor
    >>> X, y = [[float(i)] for i in range(60)], [1.0] * 30 + [5.0] * 30
    >>> model = HistGradientBoostingRegressor(random_state=0).fit(X, y)
    >>> model.predict([[0.5], [52.5]]).round(3)
    array([1., 5.])
    """

    loss: Literal["squared_error", "absolute_error", "gamma", "poisson", "quantile"] = (
        "squared_error"
    )
    quantile: float | Sequence[float] | NDArray[np.float64] | None = None

    _losses: ClassVar[tuple[str, ...]] = (
        "squared_error",
        "absolute_error",
        "gamma",
        "poisson",
        "quantile",
    )
    _level: ClassVar[str] = "quantile"
    _takes_ends: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Keep the parameters as they are."""

    def _check_losses(self) -> None:
        super()._check_losses()
        if self._list_levels() is not None and self.scoring != "loss":
            self._reject("scoring", "'loss' with several quantiles")

    def _needs_level(self) -> bool:
        return self.quantile is not None or self.loss == "quantile"

    def _get_level(self) -> float:
        return 0.5 if self.quantile is None else super()._get_level()
