"""Lazy forests: trees are expanded at prediction time, only along paths that a query row takes."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spinney._bagged import BaggedClassifier, BaggedRegressor, BaseBaggedTrees
from spinney._descriptions import LAZY_CLASSIFIER, LAZY_REGRESSOR, QUERY
from spinney._docs import fill_docstring
from spinney._params import store_parameters
from spinney._progress import show_progress
from spinney._spinney import LazyForest

if TYPE_CHECKING:
    from typing_extensions import Self

_TRAVERSALS = ("auto", "batched", "single", "eager")


@dataclass(frozen=True)
class Exploration:
    """The predictions of a lazy forest for some query rows, and how they came about.

    Attributes
    ----------
    prediction : ndarray
        What `predict` returns.
    probabilities : ndarray, list of ndarray or None
        What `predict_proba` returns; None for a regressor.
    n_visited_nodes : int
        Number of nodes that were visited in all trees. With `traversal="single"` a node counts once
        for each query row that visits it. If trees are grown completely (`traversal="eager"`), all
        their nodes count.
    n_visited_rows : int
        Sum over these nodes of the number of training rows in each.
    peak_words : int
        Largest number of words that the recursive algorithm holds for one tree, counted as in
        table 3 of "Batched Lazy Decision Trees": one for each training row of each node on the path
        and of its children that are visited, and four for each node of a tree that is grown.
    path_lengths : ndarray of shape (n_queries,), int64
        Number of nodes on the path of each query row, summed over all trees.
    weights : sparse matrix of shape (n_queries, n_samples) or None
        CSR, float64; None if it was not asked for. The weight of each training row in each
        prediction: its share of the leaf that the query row reaches, averaged over the trees. Each
        row sums to 1. Up to rounding, `weights @ y` is the prediction, or the probability of a
        class if `y` is 1 for this class and 0 for the others. This does not hold where leaves
        predict medians or quantiles, or where `monotonic_cst` limits predictions.
    """

    prediction: NDArray[Any]
    probabilities: Any
    n_visited_nodes: int
    n_visited_rows: int
    peak_words: int
    path_lengths: NDArray[np.int64]
    weights: Any


class BaseLazyForest(BaseBaggedTrees):
    """Base class of the lazy forests."""

    forest_: LazyForest

    def _fit(self, X: Any, y: Any, sample_weight: Any, sample_ids: Any) -> Self:
        settings = self._check_params()
        X, task, draws = self._read_data(settings, X, y, sample_weight, sample_ids)
        forest = task.make_lazy_forest(X, draws, int(self.n_estimators))
        forest.check_traversal(self.traversal)
        self.forest_ = forest
        return self

    def _check_own_params(self) -> None:
        super()._check_own_params()
        self._read_traversal()

    def _read_traversal(self) -> str:
        if not isinstance(self.traversal, str) or self.traversal not in _TRAVERSALS:
            self._reject("traversal", "a str among {'auto', 'batched', 'single', 'eager'}")
        return self.traversal

    def _predict_values(self, X: Any) -> NDArray[np.float64]:
        X = self._validate_X_predict(X)
        traversal, n_threads = self._read_traversal(), self._count_threads()
        with show_progress(self._read_verbose(), 0, len(self.forest_)) as watcher:
            values = self.forest_.predict(X, traversal, n_threads, watcher)
        return self._split_outputs(values)

    @fill_docstring(QUERY)
    def explore(self, X: Any, weights: bool = False) -> Exploration:
        """Predict, and report the visited nodes and the training rows behind each prediction.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        weights : bool, default=False
            Whether to return the weights of the training rows in each prediction. This needs trees
            that are not grown completely, because a grown tree does not know the training rows of
            its leaves.

        Returns
        -------
        exploration : Exploration
            The predictions, counts of visited nodes and training rows, path lengths, and weights.

        Raises
        ------
        ValueError
            If `weights` is True and `traversal`, `max_leaf_nodes` or `ccp_alpha` require trees that
            are grown completely.
        """
        X = self._validate_X_predict(X)
        traversal, n_threads = self._read_traversal(), self._count_threads()
        if weights and traversal == "auto":
            # For many query rows "auto" would grow trees completely.
            traversal = "batched"
            try:
                self.forest_.check_traversal(traversal)
            except ValueError as error:
                raise ValueError(f"weights=True needs a lazy traversal: {error}") from error
        with show_progress(self._read_verbose(), 0, len(self.forest_)) as watcher:
            values, visits, path_lengths, csr = self.forest_.explore(
                X, traversal, bool(weights), n_threads, watcher
            )
        matrix = None
        if csr is not None:
            matrix = sparse.csr_matrix(csr, shape=(path_lengths.shape[0], self.forest_.n_samples))
        prediction, probabilities = self._interpret(self._split_outputs(values))
        return Exploration(prediction, probabilities, *visits, path_lengths, matrix)

    @abstractmethod
    def _interpret(self, values: NDArray[np.float64]) -> tuple[NDArray[Any], Any]:
        """Return predictions, and probabilities or None, given means over the trees."""

    def __len__(self) -> int:
        """Return the number of trees."""
        return len(self.forest_)


@fill_docstring(LAZY_CLASSIFIER)
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

    def _interpret(self, values: NDArray[np.float64]) -> tuple[NDArray[Any], Any]:
        return self._choose_labels(values), self._list_probabilities(values)


@fill_docstring(LAZY_REGRESSOR)
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

    def _interpret(self, values: NDArray[np.float64]) -> tuple[NDArray[Any], Any]:
        prediction = values[..., 0]
        return prediction, None
