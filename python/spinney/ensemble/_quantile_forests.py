"""Forests that predict quantiles from all training targets in their leaves."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn import ensemble as of_sklearn

from spinney._common.types import (
    Bootstrap,
    CategoryOrder,
    MaxFeatures,
    NumberCriterion,
)
from spinney._fit.params import with_parameters
from spinney._fit.signatures import HonestParameters, ImpurityParameters
from spinney.ensemble._quantile_base import QuantileForestRegressor
from spinney.tree import DecisionTreeRegressor, ExtraTreeRegressor


@of_sklearn.RandomForestRegressor.register
@with_parameters
class RandomForestQuantileRegressor(QuantileForestRegressor, HonestParameters, ImpurityParameters):
    """A random forest that predicts quantiles of the target, from all samples in its leaves.

    Trees grow as in `RandomForestRegressor`. A quantile is one of the training targets that lie
    in the leaves of a sample, over all trees (Meinshausen's quantile regression forest). The names
    are as in quantile-forest's class, but leaves keep all of their samples by default, in three
    to four bytes for a sample and tree. Sparse matrices, missing values, categories, weights and
    several outputs are taken. Predictions are the same, bit for bit, whatever the number of threads
    and the storage of `X` is.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    default_quantiles : float, list of float, "mean" or None, default=0.5
        What `predict` returns if `quantiles` is not given: quantiles in [0, 1], or "mean" (None
        means the same).
    criterion : {"squared_error", "absolute_error", "poisson"}, default="squared_error"
        The loss that splits minimise: variance, mean absolute error, or half the mean Poisson
        deviance.
    max_depth : int, default=None
        Largest depth of a leaf. None means no limit.
    min_samples_split : int or float, default=2
        A node with fewer samples becomes a leaf. A float is a fraction of the number of training
        samples.
    min_samples_leaf : int or float, default=1
        Each child of a split must have at least this many samples. A float is a fraction of the
        number of training samples.
    max_samples_leaf : int, float or None, default=None
        Largest number of samples that a leaf keeps, drawn at random. A float is a fraction of the
        number of training samples. None means all: quantile-forest keeps one by default.
    min_weight_fraction_leaf : float, default=0.0
        Each child of a split must have at least this fraction of the total sample weight.
    max_features : int, float, {"sqrt", "log2"} or None, default=1.0
        Number of features that each node draws as candidates for its split. A float is a fraction
        of all features, "sqrt" and "log2" are functions of their number, and None means all.
        Features that are constant in the node count as drawn, unless `feature_sampling="active"`.
        If all drawn features are constant, the node goes on drawing until it finds one that is not.
    max_leaf_nodes : int, default=None
        Largest number of leaves of a tree. The tree is then grown best first: the next node to be
        split is the one whose split reduces the impurity of the tree most. None means no limit.
    min_impurity_decrease : float, default=0.0
        A node is split only if the split reduces the impurity by at least this much. The reduction
        is multiplied by the node's fraction of the total sample weight.
    bootstrap : bool or "poisson", default=True
        The samples that each tree is grown on. True: drawn ones. False: all samples. "poisson": all
        samples, the weight of each multiplied by a random count with mean 1 from a Poisson
        distribution. That count is determined by the id of the sample (see `fit`), the number of
        the tree and `random_state`.
    oob_score : bool, str or callable, default=False
        Whether to predict the mean of each training sample by the trees that were not grown on it,
        and to score these out-of-bag predictions. True: by R2. The name of a scorer of
        scikit-learn, or a scorer that `make_scorer` returns, scores by it. Any other callable is
        called with the true targets and the predicted ones, and returns the score. Samples that
        every tree was grown on are left out, with a warning. Needs a `bootstrap` other than False.
    n_jobs : int, default=None
        Number of threads for `fit` and for predictions. None means 1 unless
        `joblib.parallel_config` sets another number, and -1 means all processors. Results do not
        depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of everything that is random: the features that nodes draw, the order that decides
        between equally good splits, random thresholds, and the samples of the trees of a forest. An
        int, which may be as large as 2**64 - 1, makes results repeatable.
    verbose : int, default=0
        Whether to report on stderr how many trees are grown. 0: no report. 1: a progress bar if
        tqdm is installed, otherwise at most one line per second. 2 or more: a line at every update.
    warm_start : bool, default=False
        If True, a further call of `fit` keeps the trees of the forest and adds trees until there
        are `n_estimators`. It must be to the same data, whose samples the leaves of all trees get.
    ccp_alpha : float, default=0.0
        Price of a leaf in minimal cost-complexity pruning. A grown tree is cut back to the subtree
        with the lowest sum of impurity and prices of leaves. 0.0 means no pruning.
    max_samples : int or float, default=None
        Number of draws per tree with `bootstrap=True`. None means as many as there are samples. A
        float is a fraction of the total sample weight and may exceed 1.0. With `replace=False` it
        is a fraction of the number of samples with a positive weight.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        For each feature 1 if the means of leaves must not fall as the feature grows, -1 if they
        must not rise, 0 if there is no constraint. Quantiles are not constrained.
    interaction_cst : "pairwise", "no_interactions" or sequence of collections of int, default=None
        Groups of features that may interact: each path of a tree has features of one group alone. A
        sequence of collections of feature numbers, in which features that are in none of them are
        one more group; "pairwise": all groups of two; "no_interactions": each feature alone. None:
        no constraint. A feature that may not split a node counts as one that is constant there: see
        `max_features`.
    feature_sampling : {"all", "active"}, default="all"
        The features among which a node draws `max_features`: "all" of them, or only the "active"
        ones, which are not constant in the node. If a node has fewer active features than it draws,
        it uses all of them.
    replace : bool, default=True
        Whether `bootstrap=True` draws with replacement. If False, no sample is drawn twice, drawn
        samples keep their weights, and `max_samples` must not exceed the number of samples with a
        positive weight.
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
    handle_unknown : {"ignore", "error"}, default="ignore"
        What predictions do with categories that did not occur in `fit`. "ignore": splits send them
        to the child with the larger weight, and a warning names features without any known
        category, perhaps because their type has changed. "error": they raise ValueError. Missing
        values are no unknown categories.
    honest : bool, default=False
        Whether one part of the samples of a tree chooses its splits, and the other part fills its
        leaves, so that no leaf predicts what its splits have looked for. A leaf that gets no sample
        gives its place to its sibling. Limits such as `min_samples_leaf` are of the samples that
        choose splits; nodes, their importances too, know the samples that fill leaves. Samples in
        neither part are out of bag. Not with `monotonic_cst`.
    honest_fraction : float, default=0.5
        The share of the different samples of a tree that choose its splits, with `honest`.
    subforest_size : int, default=None
        How many trees, one after the other, share a drawn half of the samples, from which each
        draws its own without replacement: `max_samples`, at most half of all, or the whole half
        (None). `predict_standard_error` then tells the error from what these groups of trees differ
        by. `n_estimators` is a multiple of it; it needs `bootstrap=True`. None: each tree draws for
        itself.

    Attributes
    ----------
    estimator_ : DecisionTreeRegressor
        The kind of tree that the forest consists of, not fitted.
    estimators_ : list of DecisionTreeRegressor
        The trees as estimators that share the memory of the forest. They are made when this
        attribute is first read. Where features are categorical they take codes, see `to_codes`.
    estimators_samples_ : list of ndarray
        For each tree, the sorted indices of the samples it was grown on. They are drawn again when
        this attribute is read.
    feature_importances_ : ndarray of shape (n_features,)
        Mean over the trees of the total decrease of impurity by the splits on each feature,
        normalised to a sum of 1.
    forest_ : Forest
        The compiled forest.
    n_features_in_ : int
        Number of features seen in `fit`.
    expected_value_ : float, or ndarray of shape (n_outputs,)
        The prediction if nothing is known of a sample: with the contributions of `shap_values` it
        adds up to the prediction.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`. Exists only if `X` has names that are all strings.
    is_categorical_ : ndarray of bool of shape (n_features_in_,), or None
        Which features are categorical. None if no feature is.
    categories_ : list of ndarray and None, or None
        For each categorical feature, its distinct values in `fit`: sorted, except that 0 comes
        first. The index of a value is the code that stands for it in the compiled trees. The entry
        of a numeric feature is None. None if no feature is categorical.
    n_outputs_ : int
        Number of outputs (columns of `y`).
    oob_score_ : float
        Out-of-bag score of the samples that some tree was not grown on; NaN if there are none.
        Exists only if `oob_score` is not False.
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Out-of-bag predictions of the training samples, NaN for samples that every tree was grown
        on. Exists only if `oob_score` is not False.

    See Also
    --------
    RandomForestRegressor : With `criterion="quantile"` trees are grown for one quantile.

    Notes
    -----
    A prediction takes O(samples in the leaves) for each sample, however many training samples there
    are.

    References
    ----------
    N. Meinshausen, "Quantile Regression Forests", Journal of Machine Learning Research 7, 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from spinney import RandomForestQuantileRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestQuantileRegressor(min_samples_leaf=5, random_state=0).fit(X, y)
    >>> low, median, high = forest.predict(X[:1], quantiles=[0.05, 0.5, 0.95])[0]
    >>> bool(low < median < high)
    True
    """

    default_quantiles: Any = 0.5
    criterion: NumberCriterion = "squared_error"
    max_samples_leaf: float | None = None
    max_features: MaxFeatures = 1.0
    replace: bool = True
    category_order: CategoryOrder = "auto"

    _splitter: ClassVar[str] = "best"
    _tree_class: ClassVar[type[DecisionTreeRegressor]] = DecisionTreeRegressor


@of_sklearn.ExtraTreesRegressor.register
@with_parameters
class ExtraTreesQuantileRegressor(QuantileForestRegressor, HonestParameters, ImpurityParameters):
    """Extremely randomized trees that predict quantiles, from all samples in their leaves.

    As `RandomForestQuantileRegressor`, with the trees of `ExtraTreesRegressor`.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    default_quantiles : float, list of float, "mean" or None, default=0.5
        What `predict` returns if `quantiles` is not given: quantiles in [0, 1], or "mean" (None
        means the same).
    criterion : {"squared_error", "absolute_error", "poisson"}, default="squared_error"
        The loss that splits minimise: variance, mean absolute error, or half the mean Poisson
        deviance.
    max_depth : int, default=None
        Largest depth of a leaf. None means no limit.
    min_samples_split : int or float, default=2
        A node with fewer samples becomes a leaf. A float is a fraction of the number of training
        samples.
    min_samples_leaf : int or float, default=1
        Each child of a split must have at least this many samples. A float is a fraction of the
        number of training samples.
    max_samples_leaf : int, float or None, default=None
        Largest number of samples that a leaf keeps, drawn at random. A float is a fraction of the
        number of training samples. None means all: quantile-forest keeps one by default.
    min_weight_fraction_leaf : float, default=0.0
        Each child of a split must have at least this fraction of the total sample weight.
    max_features : int, float, {"sqrt", "log2"} or None, default=1.0
        Number of features that each node draws as candidates for its split. A float is a fraction
        of all features, "sqrt" and "log2" are functions of their number, and None means all.
        Features that are constant in the node count as drawn, unless `feature_sampling="active"`.
        If all drawn features are constant, the node goes on drawing until it finds one that is not.
    max_leaf_nodes : int, default=None
        Largest number of leaves of a tree. The tree is then grown best first: the next node to be
        split is the one whose split reduces the impurity of the tree most. None means no limit.
    min_impurity_decrease : float, default=0.0
        A node is split only if the split reduces the impurity by at least this much. The reduction
        is multiplied by the node's fraction of the total sample weight.
    bootstrap : bool or "poisson", default=False
        The samples that each tree is grown on. True: drawn ones. False: all samples. "poisson": all
        samples, the weight of each multiplied by a random count with mean 1 from a Poisson
        distribution. That count is determined by the id of the sample (see `fit`), the number of
        the tree and `random_state`.
    oob_score : bool, str or callable, default=False
        Whether to predict the mean of each training sample by the trees that were not grown on it,
        and to score these out-of-bag predictions. True: by R2. The name of a scorer of
        scikit-learn, or a scorer that `make_scorer` returns, scores by it. Any other callable is
        called with the true targets and the predicted ones, and returns the score. Samples that
        every tree was grown on are left out, with a warning. Needs a `bootstrap` other than False.
    n_jobs : int, default=None
        Number of threads for `fit` and for predictions. None means 1 unless
        `joblib.parallel_config` sets another number, and -1 means all processors. Results do not
        depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of everything that is random: the features that nodes draw, the order that decides
        between equally good splits, random thresholds, and the samples of the trees of a forest. An
        int, which may be as large as 2**64 - 1, makes results repeatable.
    verbose : int, default=0
        Whether to report on stderr how many trees are grown. 0: no report. 1: a progress bar if
        tqdm is installed, otherwise at most one line per second. 2 or more: a line at every update.
    warm_start : bool, default=False
        If True, a further call of `fit` keeps the trees of the forest and adds trees until there
        are `n_estimators`. It must be to the same data, whose samples the leaves of all trees get.
    ccp_alpha : float, default=0.0
        Price of a leaf in minimal cost-complexity pruning. A grown tree is cut back to the subtree
        with the lowest sum of impurity and prices of leaves. 0.0 means no pruning.
    max_samples : int or float, default=None
        Number of draws per tree with `bootstrap=True`. None means as many as there are samples. A
        float is a fraction of the total sample weight and may exceed 1.0. With `replace=False` it
        is a fraction of the number of samples with a positive weight.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        For each feature 1 if the means of leaves must not fall as the feature grows, -1 if they
        must not rise, 0 if there is no constraint. Quantiles are not constrained.
    interaction_cst : "pairwise", "no_interactions" or sequence of collections of int, default=None
        Groups of features that may interact: each path of a tree has features of one group alone. A
        sequence of collections of feature numbers, in which features that are in none of them are
        one more group; "pairwise": all groups of two; "no_interactions": each feature alone. None:
        no constraint. A feature that may not split a node counts as one that is constant there: see
        `max_features`.
    feature_sampling : {"all", "active"}, default="all"
        The features among which a node draws `max_features`: "all" of them, or only the "active"
        ones, which are not constant in the node. If a node has fewer active features than it draws,
        it uses all of them.
    replace : bool, default=True
        Whether `bootstrap=True` draws with replacement. If False, no sample is drawn twice, drawn
        samples keep their weights, and `max_samples` must not exceed the number of samples with a
        positive weight.
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
    handle_unknown : {"ignore", "error"}, default="ignore"
        What predictions do with categories that did not occur in `fit`. "ignore": splits send them
        to the child with the larger weight, and a warning names features without any known
        category, perhaps because their type has changed. "error": they raise ValueError. Missing
        values are no unknown categories.
    honest : bool, default=False
        Whether one part of the samples of a tree chooses its splits, and the other part fills its
        leaves, so that no leaf predicts what its splits have looked for. A leaf that gets no sample
        gives its place to its sibling. Limits such as `min_samples_leaf` are of the samples that
        choose splits; nodes, their importances too, know the samples that fill leaves. Samples in
        neither part are out of bag. Not with `monotonic_cst`.
    honest_fraction : float, default=0.5
        The share of the different samples of a tree that choose its splits, with `honest`.
    subforest_size : int, default=None
        How many trees, one after the other, share a drawn half of the samples, from which each
        draws its own without replacement: `max_samples`, at most half of all, or the whole half
        (None). `predict_standard_error` then tells the error from what these groups of trees differ
        by. `n_estimators` is a multiple of it; it needs `bootstrap=True`. None: each tree draws for
        itself.

    Attributes
    ----------
    estimator_ : ExtraTreeRegressor
        The kind of tree that the forest consists of, not fitted.
    estimators_ : list of ExtraTreeRegressor
        The trees as estimators that share the memory of the forest. They are made when this
        attribute is first read. Where features are categorical they take codes, see `to_codes`.
    estimators_samples_ : list of ndarray
        For each tree, the sorted indices of the samples it was grown on. They are drawn again when
        this attribute is read.
    feature_importances_ : ndarray of shape (n_features,)
        Mean over the trees of the total decrease of impurity by the splits on each feature,
        normalised to a sum of 1.
    forest_ : Forest
        The compiled forest.
    n_features_in_ : int
        Number of features seen in `fit`.
    expected_value_ : float, or ndarray of shape (n_outputs,)
        The prediction if nothing is known of a sample: with the contributions of `shap_values` it
        adds up to the prediction.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`. Exists only if `X` has names that are all strings.
    is_categorical_ : ndarray of bool of shape (n_features_in_,), or None
        Which features are categorical. None if no feature is.
    categories_ : list of ndarray and None, or None
        For each categorical feature, its distinct values in `fit`: sorted, except that 0 comes
        first. The index of a value is the code that stands for it in the compiled trees. The entry
        of a numeric feature is None. None if no feature is categorical.
    n_outputs_ : int
        Number of outputs (columns of `y`).
    oob_score_ : float
        Out-of-bag score of the samples that some tree was not grown on; NaN if there are none.
        Exists only if `oob_score` is not False.
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Out-of-bag predictions of the training samples, NaN for samples that every tree was grown
        on. Exists only if `oob_score` is not False.

    See Also
    --------
    RandomForestQuantileRegressor : The same with the best thresholds.

    References
    ----------
    N. Meinshausen, "Quantile Regression Forests", Journal of Machine Learning Research 7, 2006.

    P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63, 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from spinney import ExtraTreesQuantileRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = ExtraTreesQuantileRegressor(min_samples_leaf=5, random_state=0).fit(X, y)
    >>> forest.predict(X, quantiles=[0.1, 0.9]).shape
    (442, 2)
    """

    default_quantiles: Any = 0.5
    criterion: NumberCriterion = "squared_error"
    max_samples_leaf: float | None = None
    max_features: MaxFeatures = 1.0
    bootstrap: Bootstrap = False
    replace: bool = True

    _splitter: ClassVar[str] = "random"
    _tree_class: ClassVar[type[ExtraTreeRegressor]] = ExtraTreeRegressor
