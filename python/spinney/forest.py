"""The random forests: scikit-learn's parameters, defaults and attributes over spinney's trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from spinney._forest import ForestClassifier, ForestRegressor
from spinney.tree import DecisionTreeClassifier, DecisionTreeRegressor


class RandomForestClassifier(ForestClassifier):
    """A random forest of exact classification trees, on dense or sparse data.

    A drop-in for :class:`sklearn.ensemble.RandomForestClassifier`. The forest is the same, bit for
    bit, for any storage of the same numbers and any number of threads; tree number t is a function
    of `random_state` and t.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        What a split minimises: Gini impurity, or Shannon entropy in bits (the last two are one).
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
    max_leaf_nodes : int, default=None
        Leaves at most: the node whose split lowers the impurity of its tree most is split first.
        None means no limit.
    min_impurity_decrease : float, default=0.0
        A node is split only if that lowers the impurity, weighted by the node's share of the total
        weight, by at least this much.
    bootstrap : bool or "poisson", default=True
        On which samples each tree is grown: drawn ones (True), all (False), or all with a Poisson
        count of mean 1 as a factor of their weight, which is a function of the sample's id (see
        `fit`), the tree and `random_state`.
    oob_score : bool or callable, default=False
        Whether to predict each sample by the trees that have not seen it and to score that: by
        accuracy, or by a function of true and predicted targets. Needs a bootstrap.
    n_jobs : int, default=None
        Threads for fitting and predicting. None means 1 unless `joblib.parallel_config` says
        otherwise, -1 all processors. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Key of all that is random: samples, the features drawn, the order that decides ties between
        equally good splits, random thresholds.
    verbose : int, default=0
        Whether to show on stderr how many trees are grown: 1 by a progress bar if tqdm is
        installed, else by a line per second; more by lines at every look.
    warm_start : bool, default=False
        Whether a further call of `fit` adds trees until there are `n_estimators`, instead of
        growing a new forest. With the same data and an int as `random_state` the forest is the one
        that a single call grows.
    class_weight : dict, list of dict, "balanced" or "balanced_subsample", default=None
        Weight of each class, multiplied with `sample_weight`; a list has one dict per output.
        "balanced" makes all classes weigh the same, `sample_weight` counted in, and
        "balanced_subsample" does so in the sample of each tree. Under a bootstrap with replacement
        all but the latter are chances to be drawn.
    ccp_alpha : float, default=0.0
        The price per leaf of minimal cost-complexity pruning: each grown tree is cut back to the
        subtree that costs least. 0.0 means no pruning.
    max_samples : int or float, default=None
        The number of draws per tree with `bootstrap=True`; None means as many as there are
        samples. A float is a share of the total weight, which may be above 1.0; without replacement
        a share of the samples with a weight.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        Per feature 1 if predictions must not fall where it grows, -1 if they must not rise, 0 if
        it is not constrained. Of two classes, predictions are the shares of the second; more are
        refused.
    feature_sampling : {"all", "active"}, default="all"
        Among which features a node draws `max_features`: all, or those that are not constant in
        the node (all of them if they are fewer). There is no difference if all are drawn.
    replace : bool, default=True
        Whether `bootstrap=True` draws with replacement. If not, no sample is drawn twice, weights
        are those of the drawn samples in the tree, and `max_samples` is at most the number of
        samples with a weight.
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
    estimator_ : DecisionTreeClassifier
        The kind of tree that the forest is made of, not fitted.
    estimators_ : list of DecisionTreeClassifier
        The trees, as estimators that share the forest's memory; made when asked for.
    estimators_samples_ : list of ndarray
        The samples that each tree was grown on, ascending; drawn again when asked for.
    feature_importances_ : ndarray of shape (n_features,)
        Mean decrease of impurity per feature: the mean of the trees', normalised.
    forest_ : Forest
        The compiled forest.
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
    oob_score_ : float
        The score out of bag, if `oob_score` is not False.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes) or \
            (n_samples, n_classes, n_outputs)
        Probabilities out of bag, if `oob_score` is not False; zeros for samples that all trees
        have seen.

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

    _splitter: ClassVar[str] = "best"
    _tree_class: ClassVar[type[DecisionTreeClassifier]] = DecisionTreeClassifier

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: str | float | None = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool | str = True,
        oob_score: bool | Callable[..., Any] = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        max_samples: float | None = None,
        monotonic_cst: Any = None,
        feature_sampling: str = "all",
        replace: bool = True,
        categorical_features: Any = None,
        min_samples_category: int = 1,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.feature_sampling = feature_sampling
        self.replace = replace
        self.categorical_features = categorical_features
        self.min_samples_category = min_samples_category


class RandomForestRegressor(ForestRegressor):
    """A random forest of exact regression trees, on dense or sparse data.

    A drop-in for :class:`sklearn.ensemble.RandomForestRegressor`. The forest is the same, bit for
    bit, for any storage of the same numbers and any number of threads; tree number t is a function
    of `random_state` and t.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"squared_error", "absolute_error", "quantile", "poisson"}, default="squared_error"
        What a split minimises, and so what a leaf predicts: the variance around the mean; the mean
        absolute error about the median; the mean pinball loss about a quantile; or half the mean
        Poisson deviance about the mean, for targets that are counts or rates, where a split may not
        leave a side whose targets are all 0. The forest predicts the mean of its leaves.
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
    max_leaf_nodes : int, default=None
        Leaves at most: the node whose split lowers the impurity of its tree most is split first.
        None means no limit.
    min_impurity_decrease : float, default=0.0
        A node is split only if that lowers the impurity, weighted by the node's share of the total
        weight, by at least this much.
    bootstrap : bool or "poisson", default=True
        On which samples each tree is grown: drawn ones (True), all (False), or all with a Poisson
        count of mean 1 as a factor of their weight, which is a function of the sample's id (see
        `fit`), the tree and `random_state`.
    oob_score : bool or callable, default=False
        Whether to predict each sample by the trees that have not seen it and to score that: by
        R2, or by a function of true and predicted targets. Needs a bootstrap.
    n_jobs : int, default=None
        Threads for fitting and predicting. None means 1 unless `joblib.parallel_config` says
        otherwise, -1 all processors. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Key of all that is random: samples, the features drawn, the order that decides ties between
        equally good splits, random thresholds.
    verbose : int, default=0
        Whether to show on stderr how many trees are grown: 1 by a progress bar if tqdm is
        installed, else by a line per second; more by lines at every look.
    warm_start : bool, default=False
        Whether a further call of `fit` adds trees until there are `n_estimators`, instead of
        growing a new forest. With the same data and an int as `random_state` the forest is the one
        that a single call grows.
    ccp_alpha : float, default=0.0
        The price per leaf of minimal cost-complexity pruning: each grown tree is cut back to the
        subtree that costs least. 0.0 means no pruning.
    max_samples : int or float, default=None
        The number of draws per tree with `bootstrap=True`; None means as many as there are
        samples. A float is a share of the total weight, which may be above 1.0; without replacement
        a share of the samples with a weight.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        Per feature 1 if predictions must not fall where it grows, -1 if they must not rise, 0 if
        it is not constrained. With several outputs it holds for each.
    feature_sampling : {"all", "active"}, default="all"
        Among which features a node draws `max_features`: all, or those that are not constant in
        the node (all of them if they are fewer). There is no difference if all are drawn.
    replace : bool, default=True
        Whether `bootstrap=True` draws with replacement. If not, no sample is drawn twice, weights
        are those of the drawn samples in the tree, and `max_samples` is at most the number of
        samples with a weight.
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
    estimator_ : DecisionTreeRegressor
        The kind of tree that the forest is made of, not fitted.
    estimators_ : list of DecisionTreeRegressor
        The trees, as estimators that share the forest's memory; made when asked for.
    estimators_samples_ : list of ndarray
        The samples that each tree was grown on, ascending; drawn again when asked for.
    feature_importances_ : ndarray of shape (n_features,)
        Mean decrease of impurity per feature: the mean of the trees', normalised.
    forest_ : Forest
        The compiled forest.
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
    oob_score_ : float
        The score out of bag, if `oob_score` is not False.
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Predictions out of bag, if `oob_score` is not False; zeros for samples that all trees have
        seen.

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

    _splitter: ClassVar[str] = "best"
    _tree_class: ClassVar[type[DecisionTreeRegressor]] = DecisionTreeRegressor

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: str | float | None = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool | str = True,
        oob_score: bool | Callable[..., Any] = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: float | None = None,
        monotonic_cst: Any = None,
        feature_sampling: str = "all",
        replace: bool = True,
        quantile: float = 0.5,
        categorical_features: Any = None,
        min_samples_category: int = 1,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.feature_sampling = feature_sampling
        self.replace = replace
        self.quantile = quantile
        self.categorical_features = categorical_features
        self.min_samples_category = min_samples_category
