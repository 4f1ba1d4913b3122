"""Lazy forests: trees are expanded at prediction time, only along paths that a query row takes."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spinney._bagged import BaggedClassifier, BaggedRegressor, BaseBaggedTrees
from spinney._categories import count_categories
from spinney._descriptions import (
    CLASSIFIER,
    ESTIMATOR,
    FOREST,
    FOREST_CLASSIFIER,
    LAZY_FOREST,
    REGRESSOR,
)
from spinney._docs import fill_docstring
from spinney._params import store_parameters
from spinney._progress import progress
from spinney._spinney import LazyForest

if TYPE_CHECKING:
    from typing_extensions import Self

_TRAVERSALS = ("auto", "batched", "single", "eager")
# What trees are not grown by.
_NOT_OF_TREES = frozenset(
    {
        "bootstrap",
        "categorical_features",
        "class_weight",
        "max_samples",
        "n_estimators",
        "n_jobs",
        "random_state",
        "replace",
        "traversal",
        "verbose",
    }
)


@dataclass(frozen=True)
class Exploration:
    """What query rows find in a lazy forest, and what it took.

    Attributes
    ----------
    prediction : ndarray
    probabilities : ndarray, list of ndarray or None
    n_visited_nodes : int
    n_visited_rows : int
    peak_words : int
    path_lengths : ndarray of shape (n_queries,), int64
    weights : sparse matrix of shape (n_queries, n_samples) or None
    """

    prediction: NDArray[Any]
    probabilities: Any
    n_visited_nodes: int
    n_visited_rows: int
    peak_words: int
    path_lengths: NDArray[np.int64]
    weights: Any


class BaseLazyForest(BaseBaggedTrees):
    """Base class of the lazy forests; not for direct use."""

    forest_: LazyForest

    def fit(self, X: Any, y: Any, sample_weight: Any = None, sample_ids: Any = None) -> Self:
        """Encode the training data; no tree is grown.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples: any real dtype and memory order, CSC or CSR with either index
            width (other sparse formats are converted). Values are compared as float64; an entry
            that a sparse matrix does not store is 0. NaN is missing, and so are None and NA in data
            frames. Columns of categorical features may hold strings or anything that has an order.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The targets: class labels of any type, or numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, as for the forests; None means 1 for all.
        sample_ids : array-like of int of shape (n_samples,), default=None
            Names of the samples, of which the counts of `bootstrap="poisson"` are functions, as for
            the forests; None means 0 to n_samples - 1.

        Returns
        -------
        self : object
            The fitted estimator. If anything fails, the estimator stays as it was.
        """
        with self._all_or_nothing():
            return self._fit(X, y, sample_weight, sample_ids)

    def _fit(self, X: Any, y: Any, sample_weight: Any, sample_ids: Any) -> Self:
        params = self._params()
        n_threads = self._n_threads()
        self._check_sampling_params()
        traversal = self._checked_traversal()
        seed = self._seed()
        X, target, draws, params["monotonic_cst"] = self._read(X, y, sample_weight, sample_ids)
        weights = draws.sample_weight
        ids = draws.sample_ids if draws.scheme == "poisson" else None
        forest = LazyForest(
            X,
            # What is kept is nobody else's.
            target.y.copy(),
            target.n_classes,
            draws._replace(
                sample_weight=None if weights is None else weights.copy(),
                sample_ids=None if ids is None else ids.copy(),
            ),
            self._balances_subsamples(),
            type(self).__name__,
            {name: value for name, value in params.items() if name not in _NOT_OF_TREES},
            seed,
            int(self.n_estimators),
            count_categories(self.categories_),
            n_threads,
        )
        forest.check_traversal(traversal)
        self.forest_ = forest
        return self

    def _checked_traversal(self) -> str:
        if not isinstance(self.traversal, str) or self.traversal not in _TRAVERSALS:
            self._reject("traversal", "a str among {'auto', 'batched', 'single', 'eager'}")
        return self.traversal

    def _predict_values(self, X: Any) -> NDArray[np.float64]:
        X = self._validate_X_predict(X, True)
        traversal, n_threads = self._checked_traversal(), self._n_threads()
        with progress(self._checked_verbose(), 0, len(self.forest_)) as watcher:
            values = self.forest_.predict(X, traversal, n_threads, watcher)
        return self._shaped(values)

    def _shaped(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.n_outputs_ == 1:
            return values
        return values.reshape(values.shape[0], self.n_outputs_, -1)

    def explore(self, X: Any, weights: bool = False) -> Exploration:
        """Predict, and tell what it took and which training rows are behind it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; CSC is converted to CSR.
        weights : bool, default=False
            Whether to return the weights of training rows, too. Needs a lazy traversal: where trees
            are grown as a whole, nobody knows the training rows of a leaf.

        Returns
        -------
        exploration : Exploration
            Predictions, counts of visited nodes and rows, path lengths, weights.
        """
        X = self._validate_X_predict(X, True)
        traversal, n_threads = self._checked_traversal(), self._n_threads()
        if weights and traversal == "auto":
            # Also where there are so many query rows that predicting would be eager.
            traversal = "batched"
            try:
                self.forest_.check_traversal(traversal)
            except ValueError as error:
                raise ValueError(f"weights=True needs a lazy traversal: {error}") from error
        with progress(self._checked_verbose(), 0, len(self.forest_)) as watcher:
            values, visits, path_lengths, csr = self.forest_.explore(
                X, traversal, bool(weights), n_threads, watcher
            )
        matrix = None
        if csr is not None:
            matrix = sparse.csr_matrix(csr, shape=(path_lengths.shape[0], self.forest_.n_samples))
        prediction, probabilities = self._answers(self._shaped(values))
        return Exploration(prediction, probabilities, *visits, path_lengths, matrix)

    @abstractmethod
    def _answers(self, values: NDArray[np.float64]) -> tuple[NDArray[Any], Any]:
        """Return what `predict` and `predict_proba` return, given the means over the trees."""

    def __len__(self) -> int:
        """Return the number of trees."""
        return len(self.forest_)


@fill_docstring(ESTIMATOR, FOREST, LAZY_FOREST, CLASSIFIER, FOREST_CLASSIFIER)
class LazyForestClassifier(BaggedClassifier, BaseLazyForest):
    """A forest of classification trees that are never stored.

    `fit` only encodes the training data. A prediction expands the nodes of each tree that some
    query row reaches, and no others. The predictions are, bit for bit, those of a
    :class:`RandomForestClassifier` with the same parameters and `random_state` (with
    `splitter="random"`, those of an :class:`ExtraTreesClassifier`). They depend neither on which
    query rows are predicted together nor on the number of threads. A lazy forest pays for few query
    rows, and its memory does not grow with the number of trees.

    Out-of-bag estimates and `warm_start` are missing, because no tree is kept. A pickle contains
    the training data.

    Parameters
    ----------
    n_estimators : int, default=100
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
    splitter : {"best", "random"}, default="best"
    traversal : {"auto", "batched", "single", "eager"}, default="auto"
    max_depth : int, default=None
    min_samples_split : int or float, default=2
    min_samples_leaf : int or float, default=1
    min_weight_fraction_leaf : float, default=0.0
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
    max_leaf_nodes : int, default=None
    min_impurity_decrease : float, default=0.0
    bootstrap : bool or "poisson", default=True
    n_jobs : int, default=None
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
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
    forest_ : LazyForest
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
    is_categorical_ : ndarray of bool of shape (n_features_in_,), or None
    categories_ : list of (ndarray or None), or None
    n_outputs_ : int

    References
    ----------
    M. Guillame-Bert and A. Dubrawski, "Batched Lazy Decision Trees", 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spinney import LazyForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> lazy = LazyForestClassifier(20, random_state=0).fit(X[:-1], y[:-1])
    >>> int(lazy.predict(X[-1:])[0])
    2
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        splitter: str = "best",
        traversal: str = "auto",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: str | float | None = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool | str = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
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

    def _answers(self, values: NDArray[np.float64]) -> tuple[NDArray[Any], Any]:
        return self._labels(values), self._probabilities(values)


@fill_docstring(ESTIMATOR, FOREST, LAZY_FOREST, REGRESSOR)
class LazyForestRegressor(BaggedRegressor, BaseLazyForest):
    """A forest of regression trees that are never stored.

    `fit` only encodes the training data. A prediction expands the nodes of each tree that some
    query row reaches, and no others. The predictions are, bit for bit, those of a
    :class:`RandomForestRegressor` with the same parameters and `random_state` (with
    `splitter="random"`, those of an :class:`ExtraTreesRegressor`). They depend neither on which
    query rows are predicted together nor on the number of threads. A lazy forest pays for few query
    rows, and its memory does not grow with the number of trees.

    Out-of-bag estimates and `warm_start` are missing, because no tree is kept. A pickle contains
    the training data.

    Parameters
    ----------
    n_estimators : int, default=100
    criterion : {"squared_error", "absolute_error", "quantile", "poisson"}, default="squared_error"
    splitter : {"best", "random"}, default="best"
    traversal : {"auto", "batched", "single", "eager"}, default="auto"
    max_depth : int, default=None
    min_samples_split : int or float, default=2
    min_samples_leaf : int or float, default=1
    min_weight_fraction_leaf : float, default=0.0
    max_features : int, float, {"sqrt", "log2"} or None, default=1.0
    max_leaf_nodes : int, default=None
    min_impurity_decrease : float, default=0.0
    bootstrap : bool or "poisson", default=True
    n_jobs : int, default=None
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
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
    forest_ : LazyForest
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
    is_categorical_ : ndarray of bool of shape (n_features_in_,), or None
    categories_ : list of (ndarray or None), or None
    n_outputs_ : int

    References
    ----------
    M. Guillame-Bert and A. Dubrawski, "Batched Lazy Decision Trees", 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from spinney import LazyForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> lazy = LazyForestRegressor(20, random_state=0).fit(X, y)
    >>> lazy.explore(X[:1], weights=True).weights.shape
    (1, 442)
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        splitter: str = "best",
        traversal: str = "auto",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: str | float | None = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool | str = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
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

    def _answers(self, values: NDArray[np.float64]) -> tuple[NDArray[Any], Any]:
        prediction = values[..., 0]
        return prediction, None
