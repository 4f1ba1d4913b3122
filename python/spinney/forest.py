"""Random forests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from spinney._descriptions import FOREST_CLASSIFIER, FOREST_REGRESSOR
from spinney._docs import fill_docstring
from spinney._forest import ForestClassifier, ForestRegressor
from spinney._params import store_parameters
from spinney.tree import DecisionTreeClassifier, DecisionTreeRegressor


@fill_docstring(FOREST_CLASSIFIER)
class RandomForestClassifier(ForestClassifier):
    """A random forest of classification trees with exact splits, for dense and sparse data.

    Predicts the mean of the predictions of its trees. Has the interface of
    :class:`sklearn.ensemble.RandomForestClassifier`. The forest is the same, bit for bit, however
    the numbers in `X` are stored (dense or sparse, dtype, memory order) and whatever the number of
    threads is. Tree number t does not depend on `n_estimators`.

    Parameters
    ----------
    n_estimators : int, default=100
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
    max_depth : int, default=None
    min_samples_split : int or float, default=2
    min_samples_leaf : int or float, default=1
    min_weight_fraction_leaf : float, default=0.0
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
    max_leaf_nodes : int, default=None
    min_impurity_decrease : float, default=0.0
    bootstrap : bool or "poisson", default=True
    oob_score : bool or callable, default=False
    n_jobs : int, default=None
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
    warm_start : bool, default=False
    class_weight : dict, list of dict, "balanced" or "balanced_subsample", default=None
    ccp_alpha : float, default=0.0
    max_samples : int or float, default=None
    monotonic_cst : array-like of int of shape (n_features,), default=None
    feature_sampling : {"all", "active"}, default="all"
    replace : bool, default=True
    categorical_features : None, "from_dtype" or array-like of bool, int or str, default=None
    min_samples_category : int, default=1

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or list of ndarray
    n_classes_ : int, or ndarray of int
    estimator_ : DecisionTreeClassifier
    estimators_ : list of DecisionTreeClassifier
    estimators_samples_ : list of ndarray
    feature_importances_ : ndarray of shape (n_features,)
    forest_ : Forest
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
    is_categorical_ : ndarray of bool of shape (n_features_in_,), or None
    categories_ : list of (ndarray or None), or None
    n_outputs_ : int
    oob_score_ : float
    oob_decision_function_ : ndarray of shape (n_samples, n_classes) or \
            (n_samples, n_classes, n_outputs)

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
        store_parameters(locals())


@fill_docstring(FOREST_REGRESSOR)
class RandomForestRegressor(ForestRegressor):
    """A random forest of regression trees with exact splits, for dense and sparse data.

    Predicts the mean of the predictions of its trees. Has the interface of
    :class:`sklearn.ensemble.RandomForestRegressor`. The forest is the same, bit for bit, however
    the numbers in `X` are stored (dense or sparse, dtype, memory order) and whatever the number of
    threads is. Tree number t does not depend on `n_estimators`.

    Parameters
    ----------
    n_estimators : int, default=100
    criterion : {"squared_error", "absolute_error", "quantile", "poisson"}, default="squared_error"
    max_depth : int, default=None
    min_samples_split : int or float, default=2
    min_samples_leaf : int or float, default=1
    min_weight_fraction_leaf : float, default=0.0
    max_features : int, float, {"sqrt", "log2"} or None, default=1.0
    max_leaf_nodes : int, default=None
    min_impurity_decrease : float, default=0.0
    bootstrap : bool or "poisson", default=True
    oob_score : bool or callable, default=False
    n_jobs : int, default=None
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
    warm_start : bool, default=False
    ccp_alpha : float, default=0.0
    max_samples : int or float, default=None
    monotonic_cst : array-like of int of shape (n_features,), default=None
    feature_sampling : {"all", "active"}, default="all"
    replace : bool, default=True
    quantile : float, default=0.5
    categorical_features : None, "from_dtype" or array-like of bool, int or str, default=None
    min_samples_category : int, default=1

    Attributes
    ----------
    estimator_ : DecisionTreeRegressor
    estimators_ : list of DecisionTreeRegressor
    estimators_samples_ : list of ndarray
    feature_importances_ : ndarray of shape (n_features,)
    forest_ : Forest
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
    is_categorical_ : ndarray of bool of shape (n_features_in_,), or None
    categories_ : list of (ndarray or None), or None
    n_outputs_ : int
    oob_score_ : float
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)

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
        store_parameters(locals())
