"""The estimators of single trees."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney._descriptions import QUERY, TREE_CLASSIFIER, TREE_REGRESSOR
from spinney._docs import fill_docstring
from spinney._params import store_parameters
from spinney._target import ClassTarget, NumberTarget
from spinney._tree import BaseDecisionTree


@fill_docstring(TREE_CLASSIFIER)
class DecisionTreeClassifier(ClassTarget, BaseDecisionTree):
    """A classification tree with exact splits, for dense and sparse data.

    Has the interface of :class:`sklearn.tree.DecisionTreeClassifier`. The tree is the same, bit for
    bit, however the numbers in `X` are stored (dense or sparse, dtype, memory order) and whatever
    the number of threads is.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
    splitter : {"best", "random"}, default="best"
    max_depth : int, default=None
    min_samples_split : int or float, default=2
    min_samples_leaf : int or float, default=1
    min_weight_fraction_leaf : float, default=0.0
    max_features : int, float, {"sqrt", "log2"} or None, default=None
    random_state : int, RandomState instance or None, default=None
    max_leaf_nodes : int, default=None
    min_impurity_decrease : float, default=0.0
    class_weight : dict, list of dict or "balanced", default=None
    ccp_alpha : float, default=0.0
    monotonic_cst : array-like of int of shape (n_features,), default=None
    n_jobs : int, default=None
    feature_sampling : {"all", "active"}, default="all"
    categorical_features : None, "from_dtype" or array-like of bool, int or str, default=None
    min_samples_category : int, default=1

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or list of ndarray
    n_classes_ : int, or ndarray of int
    feature_importances_ : ndarray of shape (n_features,)
    max_features_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
    is_categorical_ : ndarray of bool of shape (n_features_in_,), or None
    categories_ : list of (ndarray or None), or None
    n_outputs_ : int
    tree_ : Tree

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
        store_parameters(locals())

    def _weigh_classes(
        self,
        y: NDArray[Any],
        codes: NDArray[np.uint32],  # noqa: ARG002 - forests need it
        sample_weight: NDArray[np.float64] | None,  # noqa: ARG002 - "balanced" ignores it
    ) -> NDArray[np.float64] | None:
        return self._read_class_weight(y)

    @fill_docstring(QUERY)
    def predict(self, X: Any, check_input: bool = True) -> NDArray[Any]:
        """Predict the class of each sample: the one with the largest weight in its leaf.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        check_input : bool, default=True

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Class labels. Of classes with equal weights, the first in `classes_`.
        """
        return self._choose_labels(self._predict_values(X, check_input))

    @fill_docstring(QUERY)
    def predict_proba(self, X: Any, check_input: bool = True) -> Any:
        """Predict the probability of each class: its fraction of the weight in the sample's leaf.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        check_input : bool, default=True

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes), or list of one such array per output
            float64; columns are in the order of `classes_`.
        """
        return self._list_probabilities(self._predict_values(X, check_input))


@fill_docstring(TREE_REGRESSOR)
class DecisionTreeRegressor(NumberTarget, BaseDecisionTree):
    """A regression tree with exact splits, for dense and sparse data.

    Has the interface of :class:`sklearn.tree.DecisionTreeRegressor`. The tree is the same, bit for
    bit, however the numbers in `X` are stored (dense or sparse, dtype, memory order) and whatever
    the number of threads is.

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error", "quantile", "poisson"}, default="squared_error"
    splitter : {"best", "random"}, default="best"
    max_depth : int, default=None
    min_samples_split : int or float, default=2
    min_samples_leaf : int or float, default=1
    min_weight_fraction_leaf : float, default=0.0
    max_features : int, float, {"sqrt", "log2"} or None, default=None
    random_state : int, RandomState instance or None, default=None
    max_leaf_nodes : int, default=None
    min_impurity_decrease : float, default=0.0
    ccp_alpha : float, default=0.0
    monotonic_cst : array-like of int of shape (n_features,), default=None
    n_jobs : int, default=None
    feature_sampling : {"all", "active"}, default="all"
    quantile : float, default=0.5
    categorical_features : None, "from_dtype" or array-like of bool, int or str, default=None
    min_samples_category : int, default=1

    Attributes
    ----------
    feature_importances_ : ndarray of shape (n_features,)
    max_features_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
    is_categorical_ : ndarray of bool of shape (n_features_in_,), or None
    categories_ : list of (ndarray or None), or None
    n_outputs_ : int
    tree_ : Tree

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
        store_parameters(locals())

    @fill_docstring(QUERY)
    def predict(self, X: Any, check_input: bool = True) -> NDArray[np.float64]:
        """Predict the target of each sample: the mean, median or quantile of its leaf.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        check_input : bool, default=True

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            float64.
        """
        return self._predict_values(X, check_input)[..., 0]


@fill_docstring(TREE_CLASSIFIER)
class ExtraTreeClassifier(DecisionTreeClassifier):
    """An extremely randomised classification tree, for dense and sparse data.

    A :class:`DecisionTreeClassifier` that by default draws one random threshold for each feature
    and takes the best of these. Has the interface of :class:`sklearn.tree.ExtraTreeClassifier`.
    Such a tree is meant as a part of an ensemble.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
    splitter : {"best", "random"}, default="random"
    max_depth : int, default=None
    min_samples_split : int or float, default=2
    min_samples_leaf : int or float, default=1
    min_weight_fraction_leaf : float, default=0.0
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
    random_state : int, RandomState instance or None, default=None
    max_leaf_nodes : int, default=None
    min_impurity_decrease : float, default=0.0
    class_weight : dict, list of dict or "balanced", default=None
    ccp_alpha : float, default=0.0
    monotonic_cst : array-like of int of shape (n_features,), default=None
    n_jobs : int, default=None
    feature_sampling : {"all", "active"}, default="all"
    categorical_features : None, "from_dtype" or array-like of bool, int or str, default=None
    min_samples_category : int, default=1

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or list of ndarray
    n_classes_ : int, or ndarray of int
    feature_importances_ : ndarray of shape (n_features,)
    max_features_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
    is_categorical_ : ndarray of bool of shape (n_features_in_,), or None
    categories_ : list of (ndarray or None), or None
    n_outputs_ : int
    tree_ : Tree

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
        store_parameters(locals())


@fill_docstring(TREE_REGRESSOR)
class ExtraTreeRegressor(DecisionTreeRegressor):
    """An extremely randomised regression tree, for dense and sparse data.

    A :class:`DecisionTreeRegressor` that by default draws one random threshold for each feature
    and takes the best of these. Has the interface of :class:`sklearn.tree.ExtraTreeRegressor`.
    Such a tree is meant as a part of an ensemble.

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error", "quantile", "poisson"}, default="squared_error"
    splitter : {"best", "random"}, default="random"
    max_depth : int, default=None
    min_samples_split : int or float, default=2
    min_samples_leaf : int or float, default=1
    min_weight_fraction_leaf : float, default=0.0
    max_features : int, float, {"sqrt", "log2"} or None, default=1.0
    random_state : int, RandomState instance or None, default=None
    max_leaf_nodes : int, default=None
    min_impurity_decrease : float, default=0.0
    ccp_alpha : float, default=0.0
    monotonic_cst : array-like of int of shape (n_features,), default=None
    n_jobs : int, default=None
    feature_sampling : {"all", "active"}, default="all"
    quantile : float, default=0.5
    categorical_features : None, "from_dtype" or array-like of bool, int or str, default=None
    min_samples_category : int, default=1

    Attributes
    ----------
    feature_importances_ : ndarray of shape (n_features,)
    max_features_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
    is_categorical_ : ndarray of bool of shape (n_features_in_,), or None
    categories_ : list of (ndarray or None), or None
    n_outputs_ : int
    tree_ : Tree

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
        store_parameters(locals())
