"""The random forests of classification and regression."""

from __future__ import annotations

from typing import ClassVar

from sklearn import ensemble as of_sklearn

from spinney._common.types import (
    CategoryOrder,
    ClassCriterion,
    ForestClassWeight,
    MaxFeatures,
    NumberCriterion,
    SamplesByClass,
)
from spinney._fit.params import with_parameters
from spinney._fit.signatures import HonestParameters, ImpurityParameters
from spinney.ensemble._forest import ForestClassifier, ForestRegressor
from spinney.tree import DecisionTreeClassifier, DecisionTreeRegressor


@of_sklearn.RandomForestClassifier.register
@with_parameters
class RandomForestClassifier(ForestClassifier, HonestParameters, ImpurityParameters):
    """A random forest of classification trees with exact splits, for dense and sparse data.

    Predicts the mean of the predictions of its trees. Has the interface of
    :class:`sklearn.ensemble.RandomForestClassifier`. The forest is the same, bit for bit, however
    the numbers in `X` are stored (dense or sparse, dtype, memory order) and whatever the number of
    threads is. Tree number t does not depend on `n_estimators`.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        The impurity that splits minimise: Gini impurity, or Shannon entropy in bits. "log_loss" is
        another name of "entropy".
    max_depth : int, default=None
        Largest depth of a leaf. None means no limit.
    min_samples_split : int or float, default=2
        A node with fewer samples becomes a leaf. A float is a fraction of the number of training
        samples.
    min_samples_leaf : int or float, default=1
        Each child of a split must have at least this many samples. A float is a fraction of the
        number of training samples.
    min_weight_fraction_leaf : float, default=0.0
        Each child of a split must have at least this fraction of the total sample weight.
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
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
        Whether to predict each training sample by the trees that were not grown on it, and to score
        these out-of-bag predictions. True: by accuracy. The name of a scorer of scikit-learn, such
        as "roc_auc", or a scorer that `make_scorer` returns, scores the out-of-bag probabilities or
        classes, whichever it asks for. Any other callable is called with the true classes and the
        predicted ones, both as indices into `classes_`, never with probabilities, and returns the
        score. Samples that every tree was grown on are left out, with a warning. Needs a
        `bootstrap` other than False.
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
        are `n_estimators`. With the same data and an int as `random_state` the result is the forest
        that a single call grows. Features must have the names of the first call.
    class_weight : dict, list of dict, "balanced" or "balanced_subsample", default=None
        Weights of the classes, by which the weights of their samples are multiplied. A dict maps
        labels to weights; a list has one dict per output. "balanced" gives each class the same
        total weight, `sample_weight` included. "balanced_subsample" does so within the sample of
        each tree, where samples have the weights that `fit` describes. With `bootstrap=True` and
        `replace=True` these weights become probabilities to be drawn, but for "balanced_subsample",
        which is applied after drawing. None means 1 for all classes.
    ccp_alpha : float, default=0.0
        Price of a leaf in minimal cost-complexity pruning. A grown tree is cut back to the subtree
        with the lowest sum of impurity and prices of leaves. 0.0 means no pruning.
    max_samples : int or float, default=None
        Number of draws per tree with `bootstrap=True`. None means as many as there are samples. A
        float is a fraction of the total sample weight and may exceed 1.0. With `replace=False` it
        is a fraction of the number of samples with a positive weight.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        For each feature 1 if predictions must not fall as the feature grows, -1 if they must not
        rise, 0 if there is no constraint. The constrained prediction is the probability of the
        second class. More than two classes, and several outputs, are not supported.
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
    class_sampling : str, float, dict, callable or None, default=None
        How many samples of each class a tree gets with `bootstrap=True`, in imbalanced-learn's
        words. None: classes are ignored. "all": every class gets as many samples as the smallest
        one. "not minority", "majority" and so on: only these classes do. A float: the samples of
        the smaller of two classes divided by the samples of the larger one. A dict maps labels to
        numbers of samples; a callable is called with `y` and returns such a dict. Classes that are
        not named get as many draws as they have samples. Within a class all samples are equally
        likely, and trees weigh them by their weights.
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
    classes_ : ndarray of shape (n_classes,), or list of ndarray
        The class labels, sorted. A list with one array per output if there are several outputs.
    n_classes_ : int, or ndarray of int
        Number of classes. An array with one entry per output if there are several outputs.
    estimator_ : DecisionTreeClassifier
        The kind of tree that the forest consists of, not fitted.
    estimators_ : list of DecisionTreeClassifier
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
    expected_value_ : ndarray of shape (n_classes,) or list of such arrays
        The prediction if nothing is known of a sample: with the contributions of `shap_values` it
        adds up to the prediction.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`. Exists only if `X` has names that are all strings.
    is_categorical_ : ndarray of bool of shape (n_features_in_,), or None
        Which features are categorical. None if no feature is.
    categories_ : list of (ndarray or None), or None
        For each categorical feature, its distinct values in `fit`: sorted, except that 0 comes
        first. The index of a value is the code that stands for it in the compiled trees. The entry
        of a numeric feature is None. None if no feature is categorical.
    n_outputs_ : int
        Number of outputs (columns of `y`).
    oob_score_ : float
        Out-of-bag score of the samples that some tree was not grown on; NaN if there are none.
        Exists only if `oob_score` is not False.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes) or \
            (n_samples, n_classes, n_outputs)
        Out-of-bag probabilities of the training samples, NaN for samples that every tree was grown
        on. Exists only if `oob_score` is not False.

    See Also
    --------
    RandomForestRegressor : The same for numbers.
    ExtraTreesClassifier : The same with random thresholds.
    BalancedRandomForestClassifier : Draws as many samples of each class.
    GradientBoostingClassifier : Trees that follow one another.
    LazyForestClassifier : The same without stored trees.

    References
    ----------
    L. Breiman, "Random forests", Machine Learning 45, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spinney import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> RandomForestClassifier(20, random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    criterion: ClassCriterion = "gini"
    max_features: MaxFeatures = "sqrt"
    class_weight: ForestClassWeight = None
    class_sampling: SamplesByClass | None = None
    replace: bool = True
    category_order: CategoryOrder = "auto"

    _splitter: ClassVar[str] = "best"
    _tree_class: ClassVar[type[DecisionTreeClassifier]] = DecisionTreeClassifier


@of_sklearn.RandomForestRegressor.register
@with_parameters
class RandomForestRegressor(ForestRegressor, HonestParameters, ImpurityParameters):
    """A random forest of regression trees with exact splits, for dense and sparse data.

    Predicts the mean of the predictions of its trees. Has the interface of
    :class:`sklearn.ensemble.RandomForestRegressor`. The forest is the same, bit for bit, however
    the numbers in `X` are stored (dense or sparse, dtype, memory order) and whatever the number of
    threads is. Tree number t does not depend on `n_estimators`.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"squared_error", "absolute_error", "quantile", "poisson"}, default="squared_error"
        The loss that splits minimise. It also determines what a leaf predicts. "squared_error":
        variance, the mean. "absolute_error": mean absolute error, the median. "quantile": mean
        pinball loss, the quantile given by `quantile`. "poisson": half the mean Poisson deviance,
        the mean; this is for targets that are counts or rates, and each child of a split must have
        a target above 0.
    max_depth : int, default=None
        Largest depth of a leaf. None means no limit.
    min_samples_split : int or float, default=2
        A node with fewer samples becomes a leaf. A float is a fraction of the number of training
        samples.
    min_samples_leaf : int or float, default=1
        Each child of a split must have at least this many samples. A float is a fraction of the
        number of training samples.
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
        Whether to predict each training sample by the trees that were not grown on it, and to score
        these out-of-bag predictions. True: by R2. The name of a scorer of scikit-learn, or a scorer
        that `make_scorer` returns, scores by it. Any other callable is called with the true targets
        and the predicted ones, and returns the score. Samples that every tree was grown on are left
        out, with a warning. Needs a `bootstrap` other than False.
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
        are `n_estimators`. With the same data and an int as `random_state` the result is the forest
        that a single call grows. Features must have the names of the first call.
    ccp_alpha : float, default=0.0
        Price of a leaf in minimal cost-complexity pruning. A grown tree is cut back to the subtree
        with the lowest sum of impurity and prices of leaves. 0.0 means no pruning.
    max_samples : int or float, default=None
        Number of draws per tree with `bootstrap=True`. None means as many as there are samples. A
        float is a fraction of the total sample weight and may exceed 1.0. With `replace=False` it
        is a fraction of the number of samples with a positive weight.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        For each feature 1 if predictions must not fall as the feature grows, -1 if they must not
        rise, 0 if there is no constraint. The constraints hold for each output.
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
    quantile : float, default=0.5
        The quantile that leaves predict with `criterion="quantile"`: the fraction of a leaf's
        weight whose targets lie below the prediction, above 0.0 and below 1.0. If the targets up to
        one of them have exactly this fraction, the prediction is half way from that one to the next
        larger one, so that 0.5 gives the median. Leaves should be larger than
        `1 / min(quantile, 1 - quantile)`: see `min_samples_leaf`.
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
    expected_value_ : float or ndarray of shape (n_outputs,)
        The prediction if nothing is known of a sample: with the contributions of `shap_values` it
        adds up to the prediction.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`. Exists only if `X` has names that are all strings.
    is_categorical_ : ndarray of bool of shape (n_features_in_,), or None
        Which features are categorical. None if no feature is.
    categories_ : list of (ndarray or None), or None
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
    RandomForestClassifier : The same for classes.
    ExtraTreesRegressor : The same with random thresholds.
    RandomForestQuantileRegressor : Predicts quantiles as well.
    GradientBoostingRegressor : Trees that follow one another.
    LazyForestRegressor : The same without stored trees.

    References
    ----------
    L. Breiman, "Random forests", Machine Learning 45, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from spinney import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> RandomForestRegressor(20, random_state=0).fit(X, y).score(X, y) > 0.8
    True
    """

    criterion: NumberCriterion = "squared_error"
    max_features: MaxFeatures = 1.0
    replace: bool = True
    quantile: float = 0.5
    category_order: CategoryOrder = "auto"

    _splitter: ClassVar[str] = "best"
    _tree_class: ClassVar[type[DecisionTreeRegressor]] = DecisionTreeRegressor
