"""Lazy forests: trained when they are asked, on what the questions need."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spinney._bagged import BaggedClassifier, BaggedRegressor, BaseBaggedTrees
from spinney._categories import numbers_of
from spinney._progress import progress
from spinney._spinney import LazyForest
from spinney._task import Task

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
        As `predict` returns it.
    probabilities : ndarray, list of ndarray or None
        As `predict_proba` returns it; None of a regressor.
    n_visited_nodes : int
        Nodes visited in all trees; one that is visited for several rows one after the other
        (`traversal="single"`) counts each time, and so does every node of a tree that is grown.
    n_visited_rows : int
        Their training rows.
    peak_words : int
        The most words that the recursive algorithm holds for one tree, counted as in table 3 of
        "Batched Lazy Decision Trees": one per training row of each node on the path and of its
        children that are followed, and four per node of a tree that is grown.
    path_lengths : ndarray of shape (n_queries,), int64
        Nodes on the paths of each query row, over all trees.
    weights : sparse matrix of shape (n_queries, n_samples) or None
        CSR, if asked for: the weights of the training rows behind each prediction, the mean over
        the trees of their shares of the leaf. Rows sum to 1, and weights @ y is the prediction, or
        with a column per class its probability, up to rounding (unless leaves predict medians, and
        up to `monotonic_cst`, which may cut predictions off).
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
        task = Task(
            # What is kept is nobody else's.
            y=target.y.copy(),
            n_classes=target.n_classes,
            params={name: value for name, value in params.items() if name not in _NOT_OF_TREES},
            estimator=type(self).__name__,
            seed=seed,
            draws=draws._replace(
                sample_weight=None if weights is None else weights.copy(),
                sample_ids=None if ids is None else ids.copy(),
            ),
            n_trees=int(self.n_estimators),
            balanced_subsample=self._balances_subsamples(),
            n_categories=numbers_of(self.categories_),
            n_threads=n_threads,
        )
        forest = LazyForest(X, task)
        forest.check_traversal(traversal)
        self.forest_ = forest
        return self

    def _checked_traversal(self) -> str:
        if not isinstance(self.traversal, str) or self.traversal not in _TRAVERSALS:
            raise self._illegal("traversal", "a str among {'auto', 'batched', 'single', 'eager'}")
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


class LazyForestClassifier(BaggedClassifier, BaseLazyForest):
    """A forest of exact classification trees that are never stored.

    `fit` encodes the training data once; when it is asked, every tree is traversed together with
    the query rows, and only where some of them go. The predictions are, bit for bit, those of a
    :class:`RandomForestClassifier` with the same parameters and `random_state` (with
    `splitter="random"`, of an :class:`ExtraTreesClassifier`), for any batches of query rows and any
    number of threads. That pays for few query rows; memory does not grow with the number of trees.

    There is nothing out of bag and no `warm_start`, as there are no trees to be kept. A pickle
    carries the training data.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        What a split minimises: Gini impurity, or Shannon entropy in bits (the last two are one).
    splitter : {"best", "random"}, default="best"
        How the threshold of a feature is chosen: the best, as in random forests, or one drawn at
        random, as in extremely randomised trees.
    traversal : {"auto", "batched", "single", "eager"}, default="auto"
        How query rows meet a tree; no prediction depends on it. "batched": all at once, and only
        nodes that some of them reach are visited. "single": one after the other, a path each.
        "eager": the tree is grown, asked and dropped, which `max_leaf_nodes` and `ccp_alpha` need.
        "auto": batched, unless trees are needed as a whole, or there are twice as many query
        rows as training rows.
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
    n_jobs : int, default=None
        Threads for encoding and predicting. None means 1 unless `joblib.parallel_config` says
        otherwise, -1 all processors. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Key of all that is random: samples, the features drawn, the order that decides ties between
        equally good splits, random thresholds.
    verbose : int, default=0
        Whether to show on stderr, when predicting, how many trees have been asked: 1 by a progress
        bar if tqdm is installed, else by a line per second; more by lines at every look.
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
    forest_ : LazyForest
        The compiled, encoded training data.
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
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.splitter = splitter
        self.traversal = traversal
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.feature_sampling = feature_sampling
        self.replace = replace
        self.categorical_features = categorical_features
        self.min_samples_category = min_samples_category

    def _answers(self, values: NDArray[np.float64]) -> tuple[NDArray[Any], Any]:
        return self._labels(values), self._probabilities(values)


class LazyForestRegressor(BaggedRegressor, BaseLazyForest):
    """A forest of exact regression trees that are never stored.

    `fit` encodes the training data once; when it is asked, every tree is traversed together with
    the query rows, and only where some of them go. The predictions are, bit for bit, those of a
    :class:`RandomForestRegressor` with the same parameters and `random_state` (with
    `splitter="random"`, of an :class:`ExtraTreesRegressor`), for any batches of query rows and any
    number of threads. That pays for few query rows; memory does not grow with the number of trees.

    There is nothing out of bag and no `warm_start`, as there are no trees to be kept. A pickle
    carries the training data.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"squared_error", "absolute_error", "quantile", "poisson"}, default="squared_error"
        What a split minimises, and so what a leaf predicts: the variance around the mean; the mean
        absolute error about the median; the mean pinball loss about a quantile; or half the mean
        Poisson deviance about the mean, for targets that are counts or rates, where a split may not
        leave a side whose targets are all 0. The forest predicts the mean of its leaves.
    splitter : {"best", "random"}, default="best"
        How the threshold of a feature is chosen: the best, as in random forests, or one drawn at
        random, as in extremely randomised trees.
    traversal : {"auto", "batched", "single", "eager"}, default="auto"
        How query rows meet a tree; no prediction depends on it. "batched": all at once, and only
        nodes that some of them reach are visited. "single": one after the other, a path each.
        "eager": the tree is grown, asked and dropped, which `max_leaf_nodes` and `ccp_alpha` need.
        "auto": batched, unless trees are needed as a whole, or there are twice as many query
        rows as training rows.
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
    n_jobs : int, default=None
        Threads for encoding and predicting. None means 1 unless `joblib.parallel_config` says
        otherwise, -1 all processors. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Key of all that is random: samples, the features drawn, the order that decides ties between
        equally good splits, random thresholds.
    verbose : int, default=0
        Whether to show on stderr, when predicting, how many trees have been asked: 1 by a progress
        bar if tqdm is installed, else by a line per second; more by lines at every look.
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
    forest_ : LazyForest
        The compiled, encoded training data.
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
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.splitter = splitter
        self.traversal = traversal
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.feature_sampling = feature_sampling
        self.replace = replace
        self.quantile = quantile
        self.categorical_features = categorical_features
        self.min_samples_category = min_samples_category

    def _answers(self, values: NDArray[np.float64]) -> tuple[NDArray[Any], Any]:
        prediction = values[..., 0]
        return prediction, None
