"""Gradient boosting of classes and of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn import ensemble as of_sklearn

from spinney._fit.params import with_parameters
from spinney._fit.signatures import BoostingParameters
from spinney.ensemble._boosting_targets import BoostingOfClasses, BoostingOfNumbers


@of_sklearn.GradientBoostingClassifier.register
@with_parameters
class GradientBoostingClassifier(BoostingOfClasses, BoostingParameters):
    """Gradient boosting of classes by trees with exact splits, for dense and sparse data.

    Trees are grown one after the other, each on what the loss still wants. Has the interface of
    :class:`sklearn.ensemble.GradientBoostingClassifier`, and grows the same trees, but for ties
    between features and draws of them. Missing values and categories are taken as they are.

    Parameters
    ----------
    loss : {"log_loss", "exponential"}, default="log_loss"
        What the trees lower. "log_loss": the deviance, of two or more classes. "exponential": the
        loss of AdaBoost, of two classes.
    learning_rate : float, default=0.1
        What each tree's contribution is multiplied by. Smaller rates need more rounds, and usually
        predict better.
    n_estimators : int, default=100
        Number of rounds. A round grows one tree, or one for each class if there are more than two.
    subsample : float, default=1.0
        Share of the samples that the trees of a round are grown on, drawn anew for each round
        without replacement. Below 1.0 the others score the round: see `oob_improvement_`.
    criterion : str, default="deprecated"
        Has no effect. As in scikit-learn, any other value than the default warns.
    min_samples_split : int or float, default=2
        A node with fewer samples becomes a leaf. A float is a fraction of the number of training
        samples.
    min_samples_leaf : int or float, default=1
        Each child of a split must have at least this many samples. A float is a fraction of the
        number of training samples.
    min_weight_fraction_leaf : float, default=0.0
        Each child of a split must have at least this fraction of the total sample weight.
    max_depth : int, default=3
        Largest depth of a leaf. None means no limit.
    min_impurity_decrease : float, default=0.0
        A node is split only if the split reduces the impurity by at least this much. The reduction
        is multiplied by the node's fraction of the total sample weight.
    init : estimator, "zero" or None, default=None
        What the rounds begin with. None: the best constant. "zero": 0. An estimator: what it
        predicts, once it is fitted to `X` and `y`.
    random_state : int, RandomState instance or None, default=None
        Seed of everything that is random: the samples of rounds, the features that nodes draw, the
        order that decides between equally good splits, and the samples that are left out for early
        stopping. An int makes results repeatable. For ints below 2**32, rounds and early stopping
        draw the samples that scikit-learn draws.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Number of features that each node draws as candidates for its split. A float is a fraction
        of all features, "sqrt" and "log2" are functions of their number, and None means all.
        Features that are constant in the node count as drawn, unless `feature_sampling="active"`.
        If all drawn features are constant, the node goes on drawing until it finds one that is not.
    verbose : int, default=0
        Whether to print the losses of rounds. 0: no. 1: of the first rounds and then ever more
        rarely. 2 or more: of every round.
    max_leaf_nodes : int, default=None
        Largest number of leaves of a tree. The tree is then grown best first: the next node to be
        split is the one whose split reduces the impurity of the tree most. None means no limit.
    warm_start : bool, default=False
        If True, a further call of `fit` keeps the trees and adds rounds until there are
        `n_estimators`.
    validation_fraction : float, default=0.1
        Share of the samples that is left out for early stopping, unless `fit` gets `X_val`.
    n_iter_no_change : int, default=None
        If given, no further round begins when the loss of the samples for validation has not fallen
        by `tol` in so many rounds. None: all rounds are made.
    tol : float, default=0.0001
        By how much the loss must fall; see `n_iter_no_change`.
    ccp_alpha : float, default=0.0
        Price of a leaf in minimal cost-complexity pruning. A grown tree is cut back to the subtree
        with the lowest sum of impurity and prices of leaves. 0.0 means no pruning.
    n_jobs : int, default=None
        Number of threads for `fit` and for predictions. None means 1 unless
        `joblib.parallel_config` sets another number, and -1 means all processors. Results do not
        depend on it.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        For each feature 1 if raw predictions must not fall as the feature grows, -1 if they must
        not rise, 0 if there is no constraint. Of two classes, the raw prediction is of the second;
        more classes are not supported.
    feature_sampling : {"all", "active"}, default="all"
        The features among which a node draws `max_features`: "all" of them, or only the "active"
        ones, which are not constant in the node. If a node has fewer active features than it draws,
        it uses all of them.
    categorical_features : None, "from_dtype" or array-like of bool, int or str, default=None
        Which features are categorical. None: no feature. "from_dtype": the columns of a data frame
        that have a categorical dtype. Otherwise a boolean mask, or the indices or names of the
        categorical features; a list may have "from_dtype" among them. A categorical column may have
        any number of distinct values, of any type that can be sorted, such as strings. A split
        sends a set of categories to one child. Categories that do not occur in the node, or did not
        occur in `fit`, go to the child with the larger weight.
    min_samples_category : int, default=1
        In each node, all categories of a feature that have fewer samples than this are treated as
        one category. Missing values are a category here: if they are fewer, they go where the other
        rare categories go.
    category_order : {"auto", "node", "tree"}, default="auto"
        Which samples order the categories of a feature; a split cuts this order in two. "node": the
        samples of the node, in each node. "tree": samples that the tree is not grown on, or, if it
        is grown on all, a random half of them, once per tree; this keeps splits from fitting noise.
        `min_samples_category` has no effect on such features, and a tree drops a feature with more
        than 32 categories if its order does not correlate with the targets of the other samples.
        "auto": "tree" for features with more than 10 categories, unless `min_samples_category` is
        above 1; otherwise "node". Random thresholds need no order.
    second_order : bool, default=False
        Whether splits and leaves use second derivatives of the loss, as in LightGBM, XGBoost and
        scikit-learn's `HistGradientBoosting`: with sums G of negative gradients and H of second
        derivatives, a leaf adds `G / (H + l2_regularization)`, and a split gains the sum of
        `G**2 / (H + l2_regularization)` over its children, less that of the node. Children with H
        below 0.001 are illegal. For losses without second derivatives H is the number of samples,
        and leaves add quantiles of residuals. It grows trees of all data by the fast engine, and
        takes no `min_weight_fraction_leaf` and no `feature_sampling="active"`. Categories are
        ordered by `G / (H + l2_regularization + 10)`, and of more than 256 categories the rare ones
        are one.
    l2_regularization : float, default=0.0
        Is added to sums of second derivatives, so that leaves of few samples add less. Needs
        `second_order=True`.
    interaction_cst : "pairwise", "no_interactions" or sequence of collections of int, default=None
        Groups of features that may interact: each path of a tree has features of one group alone. A
        sequence of collections of feature numbers, in which features that are in none of them are
        one more group; "pairwise": all groups of two; "no_interactions": each feature alone. None:
        no constraint. Takes no `min_weight_fraction_leaf` and no `feature_sampling="active"`.
    handle_unknown : {"ignore", "error"}, default="ignore"
        What predictions do with categories that did not occur in `fit`. "ignore": splits send them
        to the child with the larger weight, and a warning names features without any known
        category, perhaps because their type has changed. "error": they raise ValueError. Missing
        values are no unknown categories.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The sorted class labels.
    n_classes_ : int
        Number of classes.
    n_estimators_ : int
        Number of rounds that were made.
    n_trees_per_iteration_ : int
        Number of trees of a round.
    estimators_ : ndarray of DecisionTreeRegressor, (n_estimators_, n_trees_per_iteration_)
        The trees as estimators, of shape (n_estimators_, n_trees_per_iteration_). They are made
        when this attribute is first read. Where features are categorical they take codes, see
        `to_codes`.
    forest_ : spinney.Forest
        The compiled trees, round by round.
    train_score_ : ndarray of shape (n_estimators_,)
        The loss of the samples in bag after each round.
    oob_improvement_ : ndarray of shape (n_estimators_,)
        By how much each round has lowered the loss of the samples out of bag. Exists only if
        `subsample` is below 1.0.
    oob_scores_ : ndarray of shape (n_estimators_,)
        The loss of the samples out of bag after each round. Exists only if `subsample` is below
        1.0.
    oob_score_ : float
        The last of `oob_scores_`.
    init_ : estimator or "zero"
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
    GradientBoostingRegressor : The same for numbers.
    RandomForestClassifier : Trees that do not depend on each other.

    References
    ----------
    J. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics
    29, 2001.

    J. Friedman, "Stochastic gradient boosting", Computational Statistics & Data Analysis 38, 2002.

    Examples
    --------
    >>> from spinney import GradientBoostingClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]
    >>> model = GradientBoostingClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> model.predict([[0.5], [2.5]])
    array(['no', 'yes'], dtype='<U3')
    """

    loss: Literal["log_loss", "exponential"] = "log_loss"

    _losses: ClassVar[tuple[str, ...]] = ("log_loss", "exponential")


@of_sklearn.GradientBoostingRegressor.register
@with_parameters
class GradientBoostingRegressor(BoostingOfNumbers, BoostingParameters):
    """Gradient boosting of numbers by trees with exact splits, for dense and sparse data.

    Trees are grown one after the other, each on what the loss still wants. Has the interface of
    :class:`sklearn.ensemble.GradientBoostingRegressor`, and grows the same trees, but for ties
    between features and draws of them. Missing values and categories are taken as they are.

    Parameters
    ----------
    loss : str, default="squared_error"
        What the trees lower: "squared_error", "absolute_error", "huber", which is squared for small
        residuals and absolute for others, "quantile", or the deviance of positive numbers, whose
        logarithm is then predicted: "poisson" for counts, "gamma", or "tweedie" for numbers of
        which many are 0.
    learning_rate : float, default=0.1
        What each tree's contribution is multiplied by. Smaller rates need more rounds, and usually
        predict better.
    n_estimators : int, default=100
        Number of rounds. A round grows one tree, or one for each class if there are more than two.
    subsample : float, default=1.0
        Share of the samples that the trees of a round are grown on, drawn anew for each round
        without replacement. Below 1.0 the others score the round: see `oob_improvement_`.
    criterion : str, default="deprecated"
        Has no effect. As in scikit-learn, any other value than the default warns.
    min_samples_split : int or float, default=2
        A node with fewer samples becomes a leaf. A float is a fraction of the number of training
        samples.
    min_samples_leaf : int or float, default=1
        Each child of a split must have at least this many samples. A float is a fraction of the
        number of training samples.
    min_weight_fraction_leaf : float, default=0.0
        Each child of a split must have at least this fraction of the total sample weight.
    max_depth : int, default=3
        Largest depth of a leaf. None means no limit.
    min_impurity_decrease : float, default=0.0
        A node is split only if the split reduces the impurity by at least this much. The reduction
        is multiplied by the node's fraction of the total sample weight.
    init : estimator, "zero" or None, default=None
        What the rounds begin with. None: the best constant. "zero": 0. An estimator: what it
        predicts, once it is fitted to `X` and `y`.
    random_state : int, RandomState instance or None, default=None
        Seed of everything that is random: the samples of rounds, the features that nodes draw, the
        order that decides between equally good splits, and the samples that are left out for early
        stopping. An int makes results repeatable. For ints below 2**32, rounds and early stopping
        draw the samples that scikit-learn draws.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Number of features that each node draws as candidates for its split. A float is a fraction
        of all features, "sqrt" and "log2" are functions of their number, and None means all.
        Features that are constant in the node count as drawn, unless `feature_sampling="active"`.
        If all drawn features are constant, the node goes on drawing until it finds one that is not.
    alpha : float or list of float, default=0.9
        The level of the quantile with `loss="quantile"`, or a list of levels, whose quantiles do
        not cross: `predict` then has a column for each. With `loss="huber"`, the share of the
        residuals that count as small.
    verbose : int, default=0
        Whether to print the losses of rounds. 0: no. 1: of the first rounds and then ever more
        rarely. 2 or more: of every round.
    max_leaf_nodes : int, default=None
        Largest number of leaves of a tree. The tree is then grown best first: the next node to be
        split is the one whose split reduces the impurity of the tree most. None means no limit.
    warm_start : bool, default=False
        If True, a further call of `fit` keeps the trees and adds rounds until there are
        `n_estimators`.
    validation_fraction : float, default=0.1
        Share of the samples that is left out for early stopping, unless `fit` gets `X_val`.
    n_iter_no_change : int, default=None
        If given, no further round begins when the loss of the samples for validation has not fallen
        by `tol` in so many rounds. None: all rounds are made.
    tol : float, default=0.0001
        By how much the loss must fall; see `n_iter_no_change`.
    ccp_alpha : float, default=0.0
        Price of a leaf in minimal cost-complexity pruning. A grown tree is cut back to the subtree
        with the lowest sum of impurity and prices of leaves. 0.0 means no pruning.
    n_jobs : int, default=None
        Number of threads for `fit` and for predictions. None means 1 unless
        `joblib.parallel_config` sets another number, and -1 means all processors. Results do not
        depend on it.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        For each feature 1 if raw predictions must not fall as the feature grows, -1 if they must
        not rise, 0 if there is no constraint. Of two classes, the raw prediction is of the second;
        more classes are not supported.
    feature_sampling : {"all", "active"}, default="all"
        The features among which a node draws `max_features`: "all" of them, or only the "active"
        ones, which are not constant in the node. If a node has fewer active features than it draws,
        it uses all of them.
    categorical_features : None, "from_dtype" or array-like of bool, int or str, default=None
        Which features are categorical. None: no feature. "from_dtype": the columns of a data frame
        that have a categorical dtype. Otherwise a boolean mask, or the indices or names of the
        categorical features; a list may have "from_dtype" among them. A categorical column may have
        any number of distinct values, of any type that can be sorted, such as strings. A split
        sends a set of categories to one child. Categories that do not occur in the node, or did not
        occur in `fit`, go to the child with the larger weight.
    min_samples_category : int, default=1
        In each node, all categories of a feature that have fewer samples than this are treated as
        one category. Missing values are a category here: if they are fewer, they go where the other
        rare categories go.
    category_order : {"auto", "node", "tree"}, default="auto"
        Which samples order the categories of a feature; a split cuts this order in two. "node": the
        samples of the node, in each node. "tree": samples that the tree is not grown on, or, if it
        is grown on all, a random half of them, once per tree; this keeps splits from fitting noise.
        `min_samples_category` has no effect on such features, and a tree drops a feature with more
        than 32 categories if its order does not correlate with the targets of the other samples.
        "auto": "tree" for features with more than 10 categories, unless `min_samples_category` is
        above 1; otherwise "node". Random thresholds need no order.
    second_order : bool, default=False
        Whether splits and leaves use second derivatives of the loss, as in LightGBM, XGBoost and
        scikit-learn's `HistGradientBoosting`: with sums G of negative gradients and H of second
        derivatives, a leaf adds `G / (H + l2_regularization)`, and a split gains the sum of
        `G**2 / (H + l2_regularization)` over its children, less that of the node. Children with H
        below 0.001 are illegal. For losses without second derivatives H is the number of samples,
        and leaves add quantiles of residuals. It grows trees of all data by the fast engine, and
        takes no `min_weight_fraction_leaf` and no `feature_sampling="active"`. Categories are
        ordered by `G / (H + l2_regularization + 10)`, and of more than 256 categories the rare ones
        are one.
    l2_regularization : float, default=0.0
        Is added to sums of second derivatives, so that leaves of few samples add less. Needs
        `second_order=True`.
    interaction_cst : "pairwise", "no_interactions" or sequence of collections of int, default=None
        Groups of features that may interact: each path of a tree has features of one group alone. A
        sequence of collections of feature numbers, in which features that are in none of them are
        one more group; "pairwise": all groups of two; "no_interactions": each feature alone. None:
        no constraint. Takes no `min_weight_fraction_leaf` and no `feature_sampling="active"`.
    handle_unknown : {"ignore", "error"}, default="ignore"
        What predictions do with categories that did not occur in `fit`. "ignore": splits send them
        to the child with the larger weight, and a warning names features without any known
        category, perhaps because their type has changed. "error": they raise ValueError. Missing
        values are no unknown categories.
    power : float, default=1.5
        With `loss="tweedie"`, the power of the mean that is in proportion to the variance. 1.0 is
        `loss="poisson"`, and 2.0 `loss="gamma"`.

    Attributes
    ----------
    n_estimators_ : int
        Number of rounds that were made.
    n_trees_per_iteration_ : int
        Number of trees of a round.
    estimators_ : ndarray of DecisionTreeRegressor, (n_estimators_, n_trees_per_iteration_)
        The trees as estimators, of shape (n_estimators_, n_trees_per_iteration_). They are made
        when this attribute is first read. Where features are categorical they take codes, see
        `to_codes`.
    forest_ : spinney.Forest
        The compiled trees, round by round.
    train_score_ : ndarray of shape (n_estimators_,)
        The loss of the samples in bag after each round.
    oob_improvement_ : ndarray of shape (n_estimators_,)
        By how much each round has lowered the loss of the samples out of bag. Exists only if
        `subsample` is below 1.0.
    oob_scores_ : ndarray of shape (n_estimators_,)
        The loss of the samples out of bag after each round. Exists only if `subsample` is below
        1.0.
    oob_score_ : float
        The last of `oob_scores_`.
    init_ : estimator or "zero"
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
    GradientBoostingClassifier : The same for classes.
    RandomForestRegressor : Trees that do not depend on each other.

    References
    ----------
    J. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics
    29, 2001.

    J. Friedman, "Stochastic gradient boosting", Computational Statistics & Data Analysis 38, 2002.

    Examples
    --------
    >>> from spinney import GradientBoostingRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 1.0, 5.0, 5.0]
    >>> model = GradientBoostingRegressor(n_estimators=100, random_state=0).fit(X, y)
    >>> model.predict([[0.5], [2.5]]).round(3)
    array([1., 5.])
    """

    loss: Literal[
        "squared_error",
        "absolute_error",
        "huber",
        "quantile",
        "poisson",
        "gamma",
        "tweedie",
    ] = "squared_error"
    alpha: float | Sequence[float] | NDArray[np.float64] = 0.9
    power: float = 1.5

    _losses: ClassVar[tuple[str, ...]] = (
        "squared_error",
        "absolute_error",
        "huber",
        "quantile",
        "poisson",
        "gamma",
        "tweedie",
    )
    _level: ClassVar[str] = "alpha"

    def __post_init__(self) -> None:
        """Keep the criterion, which has no effect, as it is."""

    def _check_losses(self) -> None:
        super()._check_losses()
        self._check_real("power", 1.0, np.inf, "[1.0, inf)", is_open=False)

    def _get_power(self) -> float | None:
        return float(self.power) if self.loss == "tweedie" else super()._get_power()
