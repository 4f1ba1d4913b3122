"""The estimators of single trees that take the best split."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn import tree as of_sklearn
from sklearn.utils.metadata_routing import UNUSED

from spinney._common.types import (
    CategoryOrder,
    ClassCriterion,
    ClassWeight,
    MaxFeatures,
    NumberCriterion,
    Splitter,
)
from spinney._fit.params import with_parameters
from spinney._fit.signatures import ImpurityParameters
from spinney._fit.target import ClassTarget, NumberTarget
from spinney.tree._base import BaseDecisionTree


@of_sklearn.DecisionTreeClassifier.register
@with_parameters
class DecisionTreeClassifier(ClassTarget, BaseDecisionTree, ImpurityParameters):
    """A classification tree with exact splits, for dense and sparse data.

    Has the interface of :class:`sklearn.tree.DecisionTreeClassifier`. The tree is the same, bit for
    bit, however the numbers in `X` are stored (dense or sparse, dtype, memory order) and whatever
    the number of threads is.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        The impurity that splits minimise: Gini impurity, or Shannon entropy in bits. "log_loss" is
        another name of "entropy".
    splitter : {"best", "random"}, default="best"
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
    max_features : int, float, {"sqrt", "log2"} or None, default=None
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
    DecisionTreeRegressor : The same for numbers.
    ExtraTreeClassifier : The same with random thresholds.
    RandomForestClassifier : A mean of many such trees.
    plot_tree : Draws a tree.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen, C. Stone, "Classification and Regression Trees", 1984.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spinney import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    criterion: ClassCriterion = "gini"
    splitter: Splitter = "best"
    max_features: MaxFeatures = None
    class_weight: ClassWeight = None
    category_order: CategoryOrder = "auto"

    __metadata_request__predict_proba: ClassVar[dict[str, str]] = {"check_input": UNUSED}

    def _weigh_classes(
        self,
        y: NDArray[Any],
        codes: NDArray[np.uint32],  # noqa: ARG002 - forests need it
        sample_weight: NDArray[np.float64] | None,  # noqa: ARG002 - "balanced" ignores it
    ) -> NDArray[np.float64] | None:
        return self._read_class_weight(y)

    def predict(self, X: Any, check_input: bool = True) -> NDArray[Any]:
        """Predict the class of each sample: the one with the largest weight in its leaf.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        check_input : bool, default=True
            If False, scikit-learn's checks and conversions of `X` are skipped.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Class labels. Of classes with equal weights, the first in `classes_`.
        """
        return self._choose_labels(self._predict_values(X, check_input))

    def predict_proba(self, X: Any, check_input: bool = True) -> Any:
        """Predict the probability of each class: its fraction of the weight in the sample's leaf.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        check_input : bool, default=True
            If False, scikit-learn's checks and conversions of `X` are skipped.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes), or list of one such array per output
            float64; columns are in the order of `classes_`.
        """
        return self._list_probabilities(self._predict_values(X, check_input))


@of_sklearn.DecisionTreeRegressor.register
@with_parameters
class DecisionTreeRegressor(NumberTarget, BaseDecisionTree, ImpurityParameters):
    """A regression tree with exact splits, for dense and sparse data.

    Has the interface of :class:`sklearn.tree.DecisionTreeRegressor`. The tree is the same, bit for
    bit, however the numbers in `X` are stored (dense or sparse, dtype, memory order) and whatever
    the number of threads is.

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error", "quantile", "poisson"}, default="squared_error"
        The loss that splits minimise. It also determines what a leaf predicts. "squared_error":
        variance, the mean. "absolute_error": mean absolute error, the median. "quantile": mean
        pinball loss, the quantile given by `quantile`. "poisson": half the mean Poisson deviance,
        the mean; this is for targets that are counts or rates, and each child of a split must have
        a target above 0.
    splitter : {"best", "random"}, default="best"
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
    max_features : int, float, {"sqrt", "log2"} or None, default=None
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
    DecisionTreeClassifier : The same for classes.
    ExtraTreeRegressor : The same with random thresholds.
    RandomForestRegressor : A mean of many such trees.
    plot_tree : Draws a tree.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen, C. Stone, "Classification and Regression Trees", 1984.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from spinney import DecisionTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> DecisionTreeRegressor(random_state=0).fit(X, y).get_depth() > 3
    True
    """

    criterion: NumberCriterion = "squared_error"
    splitter: Splitter = "best"
    max_features: MaxFeatures = None
    quantile: float = 0.5
    category_order: CategoryOrder = "auto"

    def predict(self, X: Any, check_input: bool = True) -> NDArray[np.float64]:
        """Predict the target of each sample: the mean, median or quantile of its leaf.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        check_input : bool, default=True
            If False, scikit-learn's checks and conversions of `X` are skipped.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            float64.
        """
        return self._predict_values(X, check_input)[..., 0]
