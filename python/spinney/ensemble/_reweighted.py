"""How AdaBoost gets its estimators: scikit-learn boosts, over samples that are encoded once."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from spinney._common.seeds import FIRST_SEED
from spinney._data.arrays import CompressedMatrix, to_native
from spinney._data.categories import count_categories
from spinney._fit.target import ClassTarget
from spinney._spinney import Columns, Tree
from spinney.dataset import Dataset
from spinney.tree._base import BaseDecisionTree

# Larger trees descend row by row, which takes no longer then.
_FEW_NODES = 7


class Rounds:
    """Fits estimators to samples, given the numbers of these samples.

    Parameters
    ----------
    X : Dataset
    y : ndarray of shape (n_samples,)
        Class labels, or numbers.
    """

    def __init__(self, X: Dataset, y: NDArray[Any]) -> None:
        self._X = X
        self.y = y

    def fit(
        self, estimator: Any, rows: NDArray[np.intp] | None, y: NDArray[Any], weights: Any
    ) -> None:
        """Fit an estimator to some samples, or, if `rows` is None, to all samples with weights."""
        if rows is None:
            estimator.fit(self._X, y, sample_weight=weights)
        else:
            estimator.fit(self._X[rows], y)

    def predict(self, estimator: Any) -> NDArray[Any]:
        """Return what an estimator predicts for all samples."""
        found: NDArray[Any] = estimator.predict(self._X)
        if found.ndim > 1:
            raise ValueError(
                "estimator must predict one number or label for each sample. "
                f"Got {type(estimator).__name__}, which predicts an array of shape {found.shape}."
            )
        return found


class TreeRounds(Rounds):
    """Grows our trees: targets are encoded once, too, and no argument is checked twice.

    Classes are predicted as their numbers, and `y` has these.

    Parameters
    ----------
    X : Dataset
    y : ndarray of shape (n_samples,)
        Class labels, or numbers.
    coded : ndarray, CompressedMatrix or Columns
        `X` as a matrix, with codes in the place of categories.
    tree : BaseDecisionTree
        It has the parameters of all trees.
    """

    def __init__(self, X: Dataset, y: NDArray[Any], coded: Any, tree: BaseDecisionTree) -> None:
        self._kind: Any = type(tree)
        self._parameters = clone(tree).get_params(deep=False)
        first = self.make_tree(0)
        settings = first._check_params()
        self._columns, self._task, self._draws = first._read_data(settings, X, y, None)
        self._learned = {
            name: value for name, value in vars(first).items() if name not in self._parameters
        }
        codes: NDArray[Any] = self._task.target.y[:, 0]
        super().__init__(X, codes.astype(np.intp) if isinstance(tree, ClassTarget) else codes)
        shares_codes = isinstance(tree, ClassTarget) or first.categories_ is None
        self._rows = TreeRows(coded, settings.n_threads) if shares_codes else None
        # Without limits of samples, of which copies are several, a row that is drawn k times may
        # weigh k instead. Without some rows others could have other codes.
        limits = [self._parameters[name] for name in ("min_samples_split", "min_samples_leaf")]
        has_limits = limits != [2, 1] or not all(isinstance(limit, Integral) for limit in limits)
        self._weighs_draws = first.categories_ is None and not has_limits
        self._rng = np.random.RandomState(0)

    def make_tree(self, random_state: int) -> Any:
        """Return a tree that is not grown, as `clone` does, but without asking for parameters."""
        tree = self._kind.__new__(self._kind)
        vars(tree).update(self._parameters, random_state=random_state)
        return tree

    def fit(
        self, estimator: Any, rows: NDArray[np.intp] | None, y: NDArray[Any], weights: Any
    ) -> None:
        """Grow a tree."""
        vars(estimator).update(self._learned)
        columns, task, draws = self._columns, self._task, self._draws
        if rows is None:
            of_classes = draws.sample_weight
            draws = draws._replace(
                sample_weight=weights if of_classes is None else weights * of_classes
            )
        elif self._weighs_draws:
            draws = draws._replace(sample_weight=np.bincount(rows, minlength=len(self.y)) * 1.0)
        else:
            # These rows may lack some categories, so that the others have other codes.
            columns = estimator._learn_categories(self._X[rows])
            n_categories = count_categories(estimator.categories_)
            task = task._replace(y=y.reshape(-1, 1), n_categories=n_categories)
        # What `_draw_seed` draws: to seed a generator takes a thirtieth of what a new one takes.
        self._rng.seed(estimator.random_state)
        seed = FIRST_SEED + int(self._rng.randint(np.iinfo(np.int32).max))
        task = task._replace(seed=seed)
        grown = task.grow_tree(columns, draws)
        tree, estimator.max_features_, estimator._with_missing = grown
        weighs_draws = rows is not None and self._weighs_draws
        estimator.tree_ = tree.with_copies() if weighs_draws else tree

    def predict(self, estimator: Any) -> NDArray[Any]:
        """Return what a tree predicts for all samples."""
        return super().predict(estimator) if self._rows is None else self._rows.predict(estimator)


class FollowedEstimator:
    """Stands for an estimator in scikit-learn's loop, which knows samples by their numbers.

    Parameters
    ----------
    rounds : Rounds
    estimator : estimator instance
        Not fitted.
    """

    def __init__(self, rounds: Rounds, estimator: Any) -> None:
        self._rounds = rounds
        self._estimator = estimator

    @property
    def classes_(self) -> NDArray[Any]:
        """The class labels."""
        classes: NDArray[Any] = self._estimator.classes_
        return classes

    def fit(self, rows: NDArray[np.intp], y: NDArray[Any], sample_weight: Any = None) -> None:
        """Fit the estimator; without weights to samples that were drawn."""
        drawn = rows[:, 0] if sample_weight is None else None
        self._rounds.fit(self._estimator, drawn, y, sample_weight)

    def predict(self, _rows: NDArray[np.intp]) -> NDArray[Any]:
        """Return what the estimator predicts for all samples."""
        return self._rounds.predict(self._estimator)


class TreeRows:
    """Samples for which trees are asked, one tree after the other: they are read once.

    Parameters
    ----------
    X : ndarray, CompressedMatrix or Columns
        With codes in the place of categories.
    n_threads : int
    """

    def __init__(self, X: Any, n_threads: int) -> None:
        self._X = to_native(X.decode()) if isinstance(X, Columns) else X
        self._n_threads = n_threads
        self._columns: Any = None
        if isinstance(self._X, CompressedMatrix):
            kind = sparse.csr_matrix if self._X.format == "csr" else sparse.csc_matrix
            arrays = (self._X.data, self._X.indices, self._X.indptr)
            self._columns = kind(arrays, shape=self._X.shape).tocsc()

    def predict(self, estimator: BaseDecisionTree) -> NDArray[Any]:
        """Return what a tree of one output predicts: numbers, or the numbers of classes."""
        tree = estimator.tree_
        values = tree.value[:, 0]
        is_of_classes = isinstance(estimator, ClassTarget)
        of_leaves: NDArray[Any] = values.argmax(axis=1) if is_of_classes else values[:, 0]
        is_numeric = estimator.categories_ is None
        is_canonical = self._columns is None or self._columns.has_canonical_format
        is_small = is_numeric and is_canonical and len(values) <= _FEW_NODES
        predicted: NDArray[Any] = of_leaves[self._divide(tree) if is_small else self._descend(tree)]
        return predicted

    def _divide(self, tree: Tree) -> NDArray[Any]:
        """Return the leaves of all rows, of which each split divides all at once.

        Of a stump this takes half of the time of a descent, row by row.
        """
        left, right = tree.children_left.tolist(), tree.children_right.tolist()
        missing_left, thresholds = tree.missing_go_to_left, tree.threshold
        features = tree.feature.tolist()

        def reach(node: int) -> Any:
            if left[node] < 0:
                return np.uint8(node)
            column = self._read_column(features[node])
            goes_left = column <= thresholds[node]
            if missing_left[node] and column.dtype.kind == "f":
                goes_left |= np.isnan(column)
            return np.where(goes_left, reach(left[node]), reach(right[node]))

        return np.broadcast_to(reach(0), self._X.shape[:1])

    def _read_column(self, feature: int) -> NDArray[Any]:
        if self._columns is None:
            values: NDArray[Any] = self._X[:, feature]
            return values
        own = slice(*self._columns.indptr[feature : feature + 2])
        column = np.zeros(self._X.shape[0], dtype=self._columns.dtype)
        column[self._columns.indices[own]] = self._columns.data[own]
        return column

    def _descend(self, tree: Tree) -> NDArray[np.int64]:
        """Return the leaves of all rows, each of which descends alone."""
        rows = self._X
        if self._columns is not None:
            # A tree uses few of many columns, and the others need not be read.
            used = np.unique(tree.feature[tree.feature >= 0])
            few = self._columns[:, used].tocsr()
            indices = used.astype(few.indices.dtype)[few.indices]
            rows = CompressedMatrix("csr", rows.shape, few.data, indices, few.indptr)
        return tree.apply(rows, self._n_threads)


class SortedDraws(np.random.RandomState):
    """Draws what another random state would, from the same stream, with rows in ascending order.

    scikit-learn looks the draws up one by one, which takes as long as a tree if they have no order.
    The order of its rows does not change a tree.

    Parameters
    ----------
    random_state : RandomState
    """

    def __init__(self, random_state: np.random.RandomState) -> None:
        super().__init__(random_state._bit_generator)

    def choice(  # type: ignore[override]
        self, a: NDArray[np.intp], size: int, replace: bool, p: NDArray[np.float64]
    ) -> NDArray[np.intp]:
        """Return `size` of the rows `a`, drawn with these probabilities, with replacement."""
        assert replace
        sums = np.cumsum(p)
        return a[np.searchsorted(sums / sums[-1], np.sort(self.random_sample(size)), side="right")]
