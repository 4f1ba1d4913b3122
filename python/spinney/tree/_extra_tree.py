"""The estimators of single extremely randomised trees."""

from dataclasses import field

from sklearn import tree as of_sklearn

from spinney._common.types import CategoryOrder, MaxFeatures, Splitter
from spinney._fit.params import with_parameters
from spinney.tree._decision_tree import DecisionTreeClassifier, DecisionTreeRegressor


@of_sklearn.ExtraTreeClassifier.register
@with_parameters
class ExtraTreeClassifier(DecisionTreeClassifier):
    """An extremely randomised classification tree, for dense and sparse data.

    A :class:`DecisionTreeClassifier` that by default draws one random threshold for each feature
    and takes the best of these. Has the interface of :class:`sklearn.tree.ExtraTreeClassifier`.
    Such a tree is meant as a part of an ensemble.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        The impurity that splits minimise: Gini impurity, or Shannon entropy in bits. "log_loss" is
        another name of "entropy".
    splitter : {"best", "random"}, default="random"
        How the threshold of a feature is chosen. "best" takes the best of all thresholds. "random"
        draws one threshold uniformly between the smallest and the largest value that the feature
        has in the node.
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
    random_state : int, RandomState instance or None, default=None
        Seed of everything that is random: the features that nodes draw, the order that decides
        between equally good splits, random thresholds, and the samples of the trees of a forest. An
        int, which may be as large as 2**64 - 1, makes results repeatable.
    max_leaf_nodes : int, default=None
        Largest number of leaves of a tree. The tree is then grown best first: the next node to be
        split is the one whose split reduces the impurity of the tree most. None means no limit.
    min_impurity_decrease : float, default=0.0
        A node is split only if the split reduces the impurity by at least this much. The reduction
        is multiplied by the node's fraction of the total sample weight.
    class_weight : dict, list of dict or "balanced", default=None
        Weights of the classes, by which the weights of their samples are multiplied. A dict maps
        labels to weights; a list has one dict per output. "balanced" weighs each class inversely to
        its frequency in `y`. None means 1 for all classes.
    ccp_alpha : float, default=0.0
        Price of a leaf in minimal cost-complexity pruning. A grown tree is cut back to the subtree
        with the lowest sum of impurity and prices of leaves. 0.0 means no pruning.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        For each feature 1 if predictions must not fall as the feature grows, -1 if they must not
        rise, 0 if there is no constraint. The constrained prediction is the probability of the
        second class. More than two classes, and several outputs, are not supported.
    n_jobs : int, default=None
        Number of threads for `fit` and for predictions. None means 1 unless
        `joblib.parallel_config` sets another number, and -1 means all processors. Results do not
        depend on it.
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

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or list of ndarray
        The class labels, sorted. A list with one array per output if there are several outputs.
    n_classes_ : int, or ndarray of int
        Number of classes. An array with one entry per output if there are several outputs.
    feature_importances_ : ndarray of shape (n_features,)
        Total decrease of impurity by the splits on each feature, normalised to a sum of 1.
    max_features_ : int
        Number of features that each node draws.
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
    tree_ : Tree
        The compiled tree: read-only arrays with one entry per node.

    See Also
    --------
    ExtraTreeRegressor : The same for numbers.
    DecisionTreeClassifier : The same with the best thresholds.
    ExtraTreesClassifier : A mean of many such trees.

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63, 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spinney import ExtraTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ExtraTreeClassifier(random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    splitter: Splitter = "random"
    max_features: MaxFeatures = "sqrt"
    # Random thresholds need no order.
    category_order: CategoryOrder = field(init=False)


@of_sklearn.ExtraTreeRegressor.register
@with_parameters
class ExtraTreeRegressor(DecisionTreeRegressor):
    """An extremely randomised regression tree, for dense and sparse data.

    A :class:`DecisionTreeRegressor` that by default draws one random threshold for each feature
    and takes the best of these. Has the interface of :class:`sklearn.tree.ExtraTreeRegressor`.
    Such a tree is meant as a part of an ensemble.

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error", "quantile", "poisson"}, default="squared_error"
        The loss that splits minimise. It also determines what a leaf predicts. "squared_error":
        variance, the mean. "absolute_error": mean absolute error, the median. "quantile": mean
        pinball loss, the quantile given by `quantile`. "poisson": half the mean Poisson deviance,
        the mean; this is for targets that are counts or rates, and each child of a split must have
        a target above 0.
    splitter : {"best", "random"}, default="random"
        How the threshold of a feature is chosen. "best" takes the best of all thresholds. "random"
        draws one threshold uniformly between the smallest and the largest value that the feature
        has in the node.
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
    random_state : int, RandomState instance or None, default=None
        Seed of everything that is random: the features that nodes draw, the order that decides
        between equally good splits, random thresholds, and the samples of the trees of a forest. An
        int, which may be as large as 2**64 - 1, makes results repeatable.
    max_leaf_nodes : int, default=None
        Largest number of leaves of a tree. The tree is then grown best first: the next node to be
        split is the one whose split reduces the impurity of the tree most. None means no limit.
    min_impurity_decrease : float, default=0.0
        A node is split only if the split reduces the impurity by at least this much. The reduction
        is multiplied by the node's fraction of the total sample weight.
    ccp_alpha : float, default=0.0
        Price of a leaf in minimal cost-complexity pruning. A grown tree is cut back to the subtree
        with the lowest sum of impurity and prices of leaves. 0.0 means no pruning.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        For each feature 1 if predictions must not fall as the feature grows, -1 if they must not
        rise, 0 if there is no constraint. The constraints hold for each output.
    n_jobs : int, default=None
        Number of threads for `fit` and for predictions. None means 1 unless
        `joblib.parallel_config` sets another number, and -1 means all processors. Results do not
        depend on it.
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
    handle_unknown : {"ignore", "error"}, default="ignore"
        What predictions do with categories that did not occur in `fit`. "ignore": splits send them
        to the child with the larger weight, and a warning names features without any known
        category, perhaps because their type has changed. "error": they raise ValueError. Missing
        values are no unknown categories.

    Attributes
    ----------
    feature_importances_ : ndarray of shape (n_features,)
        Total decrease of impurity by the splits on each feature, normalised to a sum of 1.
    max_features_ : int
        Number of features that each node draws.
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
    tree_ : Tree
        The compiled tree: read-only arrays with one entry per node.

    See Also
    --------
    ExtraTreeClassifier : The same for classes.
    DecisionTreeRegressor : The same with the best thresholds.
    ExtraTreesRegressor : A mean of many such trees.

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63, 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from spinney import ExtraTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ExtraTreeRegressor(random_state=0).fit(X, y).get_depth() > 3
    True
    """

    splitter: Splitter = "random"
    max_features: MaxFeatures = 1.0
    # Random thresholds need no order.
    category_order: CategoryOrder = field(init=False)
