"""The tree estimators: scikit-learn's parameters, defaults and attributes over spinney's trees."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney._base import BaseDecisionTree
from spinney._target import ClassTarget, NumberTarget


class DecisionTreeClassifier(ClassTarget, BaseDecisionTree):
    """An exact classification tree, on dense or sparse data.

    A drop-in for :class:`sklearn.tree.DecisionTreeClassifier`. The tree is the same, bit for bit,
    for any storage of the same numbers and any number of threads.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        What a split minimises: Gini impurity, or Shannon entropy in bits (the last two are one).
    splitter : {"best", "random"}, default="best"
        The best threshold of each feature, or one drawn uniformly between the feature's extremes
        in the node.
    max_depth : int, default=None
        Depth of the deepest leaf at most; None means no limit.
    min_samples_split : int or float, default=2
        Nodes with fewer samples are leaves. A float is a share of the training samples.
    min_samples_leaf : int or float, default=1
        Fewest samples in a child. A float is a share of the training samples.
    min_weight_fraction_leaf : float, default=0.0
        Least share of the total weight in a child.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        How many features a node draws: a number, a share, the square root or the logarithm of
        their number, or all. Constant features count as drawn, unless `feature_sampling` says
        otherwise; the draw goes on until one is not constant.
    random_state : int, RandomState instance or None, default=None
        Key of all that is random: the features drawn, the order that decides ties between equally
        good splits, random thresholds.
    max_leaf_nodes : int, default=None
        Leaves at most: the node whose split lowers the impurity of the tree most is split first.
        None means no limit.
    min_impurity_decrease : float, default=0.0
        A node is split only if that lowers the impurity, weighted by the node's share of the total
        weight, by at least this much.
    class_weight : dict, list of dict or "balanced", default=None
        Weight of each class, multiplied with `sample_weight`; a list has one dict per output.
        "balanced" makes all classes weigh the same.
    ccp_alpha : float, default=0.0
        The price per leaf of minimal cost-complexity pruning: the grown tree is cut back to the
        subtree that costs least. 0.0 means no pruning.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        Per feature 1 if predictions must not fall where it grows, -1 if they must not rise, 0 if
        it is not constrained. Of two classes, predictions are the shares of the second; more are
        refused.
    n_jobs : int, default=None
        Threads for fitting and predicting. None means 1 unless `joblib.parallel_config` says
        otherwise, -1 all processors. The result does not depend on it.
    feature_sampling : {"all", "active"}, default="all"
        Among which features a node draws `max_features`: all, or those that are not constant in
        the node (all of them if they are fewer). There is no difference if all are drawn.
    categorical_features : None, "from_dtype" or array-like of bool, int or str, default=None
        Which features are categorical: none; those columns of a data frame that have a categorical
        dtype; or those that a mask, indices or names tell. Values of a categorical feature may be
        of any type that has an order, strings among them, and there may be any number of them. A
        split sends some of its node's categories to one side. Categories that are not in the node,
        or were not in training, go with the child of larger weight.
    min_samples_category : int, default=1
        Categories with fewer samples in a node are not told apart there.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or list of ndarray
        The class labels, ascending; one array per output.
    n_classes_ : int, or ndarray of int
        The number of classes, of each output.
    feature_importances_ : ndarray of shape (n_features,)
        Mean decrease of impurity per feature, normalised.
    max_features_ : int
        The number of features that a node draws.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names that are all strings.
    is_categorical_ : ndarray of bool of shape (n_features_in_,), or None
        Which features are categorical; None if none is.
    categories_ : list of (ndarray or None), or None
        Of each categorical feature the values seen in `fit`, ascending but for 0, which comes
        first. The code of a value, in `tree_`, is its place. None if no feature is categorical.
    n_outputs_ : int
        Number of outputs.
    tree_ : Tree
        The tree: read-only arrays with one entry per node.

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

    def __init__(
        self,
        *,
        criterion: str = "gini",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: str | float | None = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        n_jobs: int | None = None,
        feature_sampling: str = "all",
        categorical_features: Any = None,
        min_samples_category: int = 1,
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.n_jobs = n_jobs
        self.feature_sampling = feature_sampling
        self.categorical_features = categorical_features
        self.min_samples_category = min_samples_category

    def _class_weights(
        self,
        y: NDArray[Any],
        codes: NDArray[np.uint32],  # noqa: ARG002 - balanced by the labels, as in scikit-learn
        sample_weight: NDArray[np.float64] | None,  # noqa: ARG002 - has no say, as there
    ) -> NDArray[np.float64] | None:
        return self._given_class_weights(y)

    def predict(self, X: Any, check_input: bool = True) -> NDArray[Any]:
        """Predict the class of each sample: the one with most weight in the sample's leaf.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; CSC is converted to CSR.
        check_input : bool, default=True
            False skips scikit-learn's checks and conversions of `X`.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Class labels. Of classes with equal weight, the first in `classes_`.
        """
        return self._labels(self._predict_values(X, check_input))

    def predict_proba(self, X: Any, check_input: bool = True) -> Any:
        """Predict the probability of each class: its share of the weight in the sample's leaf.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; CSC is converted to CSR.
        check_input : bool, default=True
            False skips scikit-learn's checks and conversions of `X`.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes), or list of one such array per output
            Columns in the order of `classes_`.
        """
        return self._probabilities(self._predict_values(X, check_input))


class DecisionTreeRegressor(NumberTarget, BaseDecisionTree):
    """An exact regression tree, on dense or sparse data.

    A drop-in for :class:`sklearn.tree.DecisionTreeRegressor`. The tree is the same, bit for bit,
    for any storage of the same numbers and any number of threads.

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error", "quantile", "poisson"}, default="squared_error"
        What a split minimises, and so what a leaf predicts: the variance around the mean; the mean
        absolute error about the median; the mean pinball loss about a quantile; or half the mean
        Poisson deviance about the mean, for targets that are counts or rates, where a split may not
        leave a side whose targets are all 0.
    splitter : {"best", "random"}, default="best"
        The best threshold of each feature, or one drawn uniformly between the feature's extremes
        in the node.
    max_depth : int, default=None
        Depth of the deepest leaf at most; None means no limit.
    min_samples_split : int or float, default=2
        Nodes with fewer samples are leaves. A float is a share of the training samples.
    min_samples_leaf : int or float, default=1
        Fewest samples in a child. A float is a share of the training samples.
    min_weight_fraction_leaf : float, default=0.0
        Least share of the total weight in a child.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        How many features a node draws: a number, a share, the square root or the logarithm of
        their number, or all. Constant features count as drawn, unless `feature_sampling` says
        otherwise; the draw goes on until one is not constant.
    random_state : int, RandomState instance or None, default=None
        Key of all that is random: the features drawn, the order that decides ties between equally
        good splits, random thresholds.
    max_leaf_nodes : int, default=None
        Leaves at most: the node whose split lowers the impurity of the tree most is split first.
        None means no limit.
    min_impurity_decrease : float, default=0.0
        A node is split only if that lowers the impurity, weighted by the node's share of the total
        weight, by at least this much.
    ccp_alpha : float, default=0.0
        The price per leaf of minimal cost-complexity pruning: the grown tree is cut back to the
        subtree that costs least. 0.0 means no pruning.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        Per feature 1 if predictions must not fall where it grows, -1 if they must not rise, 0 if
        it is not constrained. With several outputs it holds for each.
    n_jobs : int, default=None
        Threads for fitting and predicting. None means 1 unless `joblib.parallel_config` says
        otherwise, -1 all processors. The result does not depend on it.
    feature_sampling : {"all", "active"}, default="all"
        Among which features a node draws `max_features`: all, or those that are not constant in
        the node (all of them if they are fewer). There is no difference if all are drawn.
    quantile : float, default=0.5
        The share of a leaf's weight that lies below its prediction if `criterion` is "quantile";
        between 0 and 1, neither included. Where a target meets the share exactly, the prediction is
        half way to the next one, so that 0.5 gives the median.
    categorical_features : None, "from_dtype" or array-like of bool, int or str, default=None
        Which features are categorical: none; those columns of a data frame that have a categorical
        dtype; or those that a mask, indices or names tell. Values of a categorical feature may be
        of any type that has an order, strings among them, and there may be any number of them. A
        split sends some of its node's categories to one side. Categories that are not in the node,
        or were not in training, go with the child of larger weight.
    min_samples_category : int, default=1
        Categories with fewer samples in a node are not told apart there.

    Attributes
    ----------
    feature_importances_ : ndarray of shape (n_features,)
        Mean decrease of impurity per feature, normalised.
    max_features_ : int
        The number of features that a node draws.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names that are all strings.
    is_categorical_ : ndarray of bool of shape (n_features_in_,), or None
        Which features are categorical; None if none is.
    categories_ : list of (ndarray or None), or None
        Of each categorical feature the values seen in `fit`, ascending but for 0, which comes
        first. The code of a value, in `tree_`, is its place. None if no feature is categorical.
    n_outputs_ : int
        Number of outputs.
    tree_ : Tree
        The tree: read-only arrays with one entry per node.

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

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: str | float | None = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        n_jobs: int | None = None,
        feature_sampling: str = "all",
        quantile: float = 0.5,
        categorical_features: Any = None,
        min_samples_category: int = 1,
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.n_jobs = n_jobs
        self.feature_sampling = feature_sampling
        self.quantile = quantile
        self.categorical_features = categorical_features
        self.min_samples_category = min_samples_category

    def predict(self, X: Any, check_input: bool = True) -> NDArray[np.float64]:
        """Predict the target of each sample: the mean of the sample's leaf, its median or quantile.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; CSC is converted to CSR.
        check_input : bool, default=True
            False skips scikit-learn's checks and conversions of `X`.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Means, float64.
        """
        return self._predict_values(X, check_input)[..., 0]


class ExtraTreeClassifier(DecisionTreeClassifier):
    """An extremely randomised classification tree, on dense or sparse data.

    A :class:`DecisionTreeClassifier` that draws one threshold per feature. A drop-in for
    :class:`sklearn.tree.ExtraTreeClassifier`; made for ensembles.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        What a split minimises: Gini impurity, or Shannon entropy in bits (the last two are one).
    splitter : {"best", "random"}, default="random"
        The best threshold of each feature, or one drawn uniformly between the feature's extremes
        in the node.
    max_depth : int, default=None
        Depth of the deepest leaf at most; None means no limit.
    min_samples_split : int or float, default=2
        Nodes with fewer samples are leaves. A float is a share of the training samples.
    min_samples_leaf : int or float, default=1
        Fewest samples in a child. A float is a share of the training samples.
    min_weight_fraction_leaf : float, default=0.0
        Least share of the total weight in a child.
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
        How many features a node draws: a number, a share, the square root or the logarithm of
        their number, or all. Constant features count as drawn, unless `feature_sampling` says
        otherwise; the draw goes on until one is not constant.
    random_state : int, RandomState instance or None, default=None
        Key of all that is random: the features drawn, the order that decides ties between equally
        good splits, random thresholds.
    max_leaf_nodes : int, default=None
        Leaves at most: the node whose split lowers the impurity of the tree most is split first.
        None means no limit.
    min_impurity_decrease : float, default=0.0
        A node is split only if that lowers the impurity, weighted by the node's share of the total
        weight, by at least this much.
    class_weight : dict, list of dict or "balanced", default=None
        Weight of each class, multiplied with `sample_weight`; a list has one dict per output.
        "balanced" makes all classes weigh the same.
    ccp_alpha : float, default=0.0
        The price per leaf of minimal cost-complexity pruning: the grown tree is cut back to the
        subtree that costs least. 0.0 means no pruning.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        Per feature 1 if predictions must not fall where it grows, -1 if they must not rise, 0 if
        it is not constrained. Of two classes, predictions are the shares of the second; more are
        refused.
    n_jobs : int, default=None
        Threads for fitting and predicting. None means 1 unless `joblib.parallel_config` says
        otherwise, -1 all processors. The result does not depend on it.
    feature_sampling : {"all", "active"}, default="all"
        Among which features a node draws `max_features`: all, or those that are not constant in
        the node (all of them if they are fewer). There is no difference if all are drawn.
    categorical_features : None, "from_dtype" or array-like of bool, int or str, default=None
        Which features are categorical: none; those columns of a data frame that have a categorical
        dtype; or those that a mask, indices or names tell. Values of a categorical feature may be
        of any type that has an order, strings among them, and there may be any number of them. A
        split sends some of its node's categories to one side. Categories that are not in the node,
        or were not in training, go with the child of larger weight.
    min_samples_category : int, default=1
        Categories with fewer samples in a node are not told apart there.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or list of ndarray
        The class labels, ascending; one array per output.
    n_classes_ : int, or ndarray of int
        The number of classes, of each output.
    feature_importances_ : ndarray of shape (n_features,)
        Mean decrease of impurity per feature, normalised.
    max_features_ : int
        The number of features that a node draws.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names that are all strings.
    is_categorical_ : ndarray of bool of shape (n_features_in_,), or None
        Which features are categorical; None if none is.
    categories_ : list of (ndarray or None), or None
        Of each categorical feature the values seen in `fit`, ascending but for 0, which comes
        first. The code of a value, in `tree_`, is its place. None if no feature is categorical.
    n_outputs_ : int
        Number of outputs.
    tree_ : Tree
        The tree: read-only arrays with one entry per node.

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63, 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spinney import ExtraTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ExtraTreeClassifier(max_depth=3, random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        *,
        criterion: str = "gini",
        splitter: str = "random",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: str | float | None = "sqrt",
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        n_jobs: int | None = None,
        feature_sampling: str = "all",
        categorical_features: Any = None,
        min_samples_category: int = 1,
    ) -> None:
        super().__init__(
            criterion=criterion,
            splitter=splitter,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            random_state=random_state,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            class_weight=class_weight,
            ccp_alpha=ccp_alpha,
            monotonic_cst=monotonic_cst,
            n_jobs=n_jobs,
            feature_sampling=feature_sampling,
            categorical_features=categorical_features,
            min_samples_category=min_samples_category,
        )


class ExtraTreeRegressor(DecisionTreeRegressor):
    """An extremely randomised regression tree, on dense or sparse data.

    A :class:`DecisionTreeRegressor` that draws one threshold per feature. A drop-in for
    :class:`sklearn.tree.ExtraTreeRegressor`; made for ensembles.

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error", "quantile", "poisson"}, default="squared_error"
        What a split minimises, and so what a leaf predicts: the variance around the mean; the mean
        absolute error about the median; the mean pinball loss about a quantile; or half the mean
        Poisson deviance about the mean, for targets that are counts or rates, where a split may not
        leave a side whose targets are all 0.
    splitter : {"best", "random"}, default="random"
        The best threshold of each feature, or one drawn uniformly between the feature's extremes
        in the node.
    max_depth : int, default=None
        Depth of the deepest leaf at most; None means no limit.
    min_samples_split : int or float, default=2
        Nodes with fewer samples are leaves. A float is a share of the training samples.
    min_samples_leaf : int or float, default=1
        Fewest samples in a child. A float is a share of the training samples.
    min_weight_fraction_leaf : float, default=0.0
        Least share of the total weight in a child.
    max_features : int, float, {"sqrt", "log2"} or None, default=1.0
        How many features a node draws: a number, a share, the square root or the logarithm of
        their number, or all. Constant features count as drawn, unless `feature_sampling` says
        otherwise; the draw goes on until one is not constant.
    random_state : int, RandomState instance or None, default=None
        Key of all that is random: the features drawn, the order that decides ties between equally
        good splits, random thresholds.
    max_leaf_nodes : int, default=None
        Leaves at most: the node whose split lowers the impurity of the tree most is split first.
        None means no limit.
    min_impurity_decrease : float, default=0.0
        A node is split only if that lowers the impurity, weighted by the node's share of the total
        weight, by at least this much.
    ccp_alpha : float, default=0.0
        The price per leaf of minimal cost-complexity pruning: the grown tree is cut back to the
        subtree that costs least. 0.0 means no pruning.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        Per feature 1 if predictions must not fall where it grows, -1 if they must not rise, 0 if
        it is not constrained. With several outputs it holds for each.
    n_jobs : int, default=None
        Threads for fitting and predicting. None means 1 unless `joblib.parallel_config` says
        otherwise, -1 all processors. The result does not depend on it.
    feature_sampling : {"all", "active"}, default="all"
        Among which features a node draws `max_features`: all, or those that are not constant in
        the node (all of them if they are fewer). There is no difference if all are drawn.
    quantile : float, default=0.5
        The share of a leaf's weight that lies below its prediction if `criterion` is "quantile";
        between 0 and 1, neither included. Where a target meets the share exactly, the prediction is
        half way to the next one, so that 0.5 gives the median.
    categorical_features : None, "from_dtype" or array-like of bool, int or str, default=None
        Which features are categorical: none; those columns of a data frame that have a categorical
        dtype; or those that a mask, indices or names tell. Values of a categorical feature may be
        of any type that has an order, strings among them, and there may be any number of them. A
        split sends some of its node's categories to one side. Categories that are not in the node,
        or were not in training, go with the child of larger weight.
    min_samples_category : int, default=1
        Categories with fewer samples in a node are not told apart there.

    Attributes
    ----------
    feature_importances_ : ndarray of shape (n_features,)
        Mean decrease of impurity per feature, normalised.
    max_features_ : int
        The number of features that a node draws.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names that are all strings.
    is_categorical_ : ndarray of bool of shape (n_features_in_,), or None
        Which features are categorical; None if none is.
    categories_ : list of (ndarray or None), or None
        Of each categorical feature the values seen in `fit`, ascending but for 0, which comes
        first. The code of a value, in `tree_`, is its place. None if no feature is categorical.
    n_outputs_ : int
        Number of outputs.
    tree_ : Tree
        The tree: read-only arrays with one entry per node.

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

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        splitter: str = "random",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: str | float | None = 1.0,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        n_jobs: int | None = None,
        feature_sampling: str = "all",
        quantile: float = 0.5,
        categorical_features: Any = None,
        min_samples_category: int = 1,
    ) -> None:
        super().__init__(
            criterion=criterion,
            splitter=splitter,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            random_state=random_state,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            ccp_alpha=ccp_alpha,
            monotonic_cst=monotonic_cst,
            n_jobs=n_jobs,
            feature_sampling=feature_sampling,
            quantile=quantile,
            categorical_features=categorical_features,
            min_samples_category=min_samples_category,
        )
