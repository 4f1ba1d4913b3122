"""What the lazy forests share: training data that are kept, and predictions without a model."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spinney._base.saving import Stored, find_fault_of_target
from spinney._common.checks import check_int
from spinney._common.progress import show_progress
from spinney._explain.neighbours import list_nearest
from spinney._fit.draws import Draws
from spinney._fit.task import Task
from spinney._spinney import Columns, LazyForest
from spinney.ensemble._bagged import BaseBaggedTrees

if TYPE_CHECKING:
    from typing_extensions import Self

_TRAVERSALS = ("auto", "batched", "single", "eager")


@dataclass(frozen=True, eq=False)
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

    See Also
    --------
    LazyForestClassifier.explore : Returns such an object.
    LazyForestRegressor.explore : Returns one for targets that are numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from spinney import LazyForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = LazyForestRegressor(20, random_state=0).fit(X[1:], y[1:])
    >>> seen = forest.explore(X[:1], weights=True)
    >>> float(abs(seen.weights @ y[1:] - forest.predict(X[:1])).max()) < 1e-9
    True
    """

    prediction: NDArray[Any]
    probabilities: Any
    n_visited_nodes: int
    n_visited_rows: int
    peak_words: int
    path_lengths: NDArray[np.int64]
    weights: Any

    def __eq__(self, other: object) -> bool:
        """Return whether two explorations have the same bits."""
        if not isinstance(other, Exploration):
            return NotImplemented
        return all(map(_are_equal, vars(self).values(), vars(other).values()))

    __hash__ = None  # type: ignore[assignment]


def _are_equal(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_are_equal, one, other))
    if sparse.issparse(one) and sparse.issparse(other):
        return one.shape == other.shape and bool((one != other).nnz == 0)
    return type(one) is type(other) and bool(np.array_equal(one, other))


class BaseLazyForest(Stored, BaseBaggedTrees):
    """Base class of the lazy forests."""

    splitter: Any
    category_order: Any
    traversal: Any

    forest_: LazyForest

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, sample_ids: Any, samples: Any, groups: Any
    ) -> Self:
        settings = self._check_params()
        X, task, draws = self._read_data_of_bags(
            settings, X, y, sample_weight, sample_ids, samples, groups
        )
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

    def _take_trees(self) -> LazyForest:
        """Return the forest with as many trees as `n_estimators` says now: none is grown yet."""
        self._check_n_estimators()
        is_as_fitted = len(self.forest_) == self.n_estimators
        return self.forest_ if is_as_fitted else self.forest_.with_n_trees(int(self.n_estimators))

    def _predict_values(self, X: Any) -> NDArray[np.float64]:
        X = self._validate_X_predict(X)
        traversal, n_threads, forest = (
            self._read_traversal(),
            self._count_threads(),
            self._take_trees(),
        )
        with show_progress(self._read_verbose(), 0, len(forest)) as watcher:
            values = forest.predict(X, traversal, n_threads, watcher)
        return self._split_outputs(values)

    def explore(self, X: Any, weights: bool = False) -> Exploration:
        """Predict, and report the visited nodes and the training rows behind each prediction.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
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
        traversal, n_threads, forest = (
            self._read_traversal(),
            self._count_threads(),
            self._take_trees(),
        )
        if weights:
            traversal = self._choose_lazy(forest, "weights=True")
        with show_progress(self._read_verbose(), 0, len(forest)) as watcher:
            values, visits, path_lengths, csr = forest.explore(
                X, traversal, bool(weights), n_threads, watcher
            )
        matrix = None
        if csr is not None:
            matrix = sparse.csr_matrix(csr, shape=(path_lengths.shape[0], forest.n_samples))
        prediction, probabilities = self._interpret(self._split_outputs(values))
        return Exploration(prediction, probabilities, *visits, path_lengths, matrix)

    def _choose_lazy(self, forest: LazyForest, asked: str) -> str:
        """Return a traversal that knows the training samples of leaves.

        Raises ValueError, which names what was asked for, where trees are grown completely.
        """
        traversal = self._read_traversal()
        if traversal == "auto":
            # For many query rows "auto" would grow trees completely.
            traversal = "batched"
        try:
            forest.check_traversal(traversal)
        except ValueError as error:
            raise ValueError(f"{asked} needs a lazy traversal: {error}") from error
        return traversal

    def nearest(self, X: Any, k: int = 10) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the training samples that weigh most in each prediction.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        k : int, default=10
            How many training samples to look for.

        Returns
        -------
        indices : ndarray of shape (n_samples, k), int64
            Rows of the training data, the largest weight first; of equal weights the first
            row. -1 where fewer rows have a weight.
        weights : ndarray of shape (n_samples, k), float64
            Their weights in the prediction, as `explore` returns them. 0 where there are fewer.

        Raises
        ------
        ValueError, TypeError
            If `k` is not an int of at least 1, or if `traversal`, `max_leaf_nodes` or `ccp_alpha`
            require trees that are grown completely.
        """
        check_int("nearest", "k", k, 1)
        return list_nearest(self.explore(X, weights=True).weights, int(k))

    @abstractmethod
    def _interpret(self, values: NDArray[np.float64]) -> tuple[NDArray[Any], Any]:
        """Return predictions, and probabilities or None, given means over the trees."""

    def __len__(self) -> int:
        """Return the number of trees."""
        return len(self._take_trees())

    # --- Files ----------------------------------------------------------------------------------

    def _list_stored_attributes(self) -> dict[str, Any]:
        _, (X, task) = self.forest_.__reduce__()
        columns = Columns(X, task.n_categories)
        return {**super()._list_stored_attributes(), "columns": columns, "task": task}

    def _restore(self, attributes: dict[str, Any], forest: Any) -> str | None:  # noqa: ARG002
        columns, task = attributes.pop("columns"), attributes.pop("task")
        is_sound = (
            isinstance(columns, Columns)
            and isinstance(task, Task)
            and task.y is not None
            and task.survival == (self._task == "survival")
            and (task.n_categories or []) == columns.n_categories
            and isinstance(task.draws, Draws)
            and task.draws.is_sound()
            and task.draws.n_samples == columns.shape[0]
        )
        if not is_sound:
            return "the training data of a lazy forest"
        self.forest_ = LazyForest(columns, task)
        return super()._restore(attributes, task)

    def _find_fault(self, forest: Task) -> str | None:
        assert forest.y is not None
        n_outputs = 1 if forest.survival else forest.y.shape[1]
        n_classes = forest.n_classes or [1] * n_outputs
        return find_fault_of_target(
            self, self.forest_.n_features, n_classes, forest.n_categories or []
        )
