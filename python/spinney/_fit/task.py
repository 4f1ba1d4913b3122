"""What the compiled part is asked to do with a matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney._common.formats import check_format
from spinney._fit.draws import Draws, Strata, Subforests
from spinney._fit.target import EncodedTarget
from spinney._fit.tree_samples import TreeSamples
from spinney._spinney import (
    Forest,
    LazyForest,
    Tree,
    fill_forest,
    fit_forest,
    fit_tree,
    predict_folds,
)

Watcher = Callable[[int], None] | None
"""Is called now and then with the number of trees that are done."""


# The number of the form that pickles have, of lazy forests too.
_FORMAT = 1
# The fields of draws that are tuples of fields themselves.
_PARTS_OF_DRAWS: dict[str, Any] = {
    "strata": Strata,
    "given": TreeSamples,
    "subforests": Subforests,
}


class Settings(NamedTuple):
    """The parameters of an estimator that are read before the data."""

    tree_params: dict[str, Any]
    """Parameters of the trees, by scikit-learn's names."""
    seed: int
    n_threads: int


class Task(NamedTuple):
    """All that trees are a function of, except the matrix, and how they are grown.

    The compiled part reads the fields by their names.
    """

    y: NDArray[np.uint32] | NDArray[np.float64] | None
    """Targets of shape (n_samples, n_outputs), in C order: codes of classes, or numbers.

    If `survival`, of shape (n_samples, 2): times, and events, 0 for a censored time. None if
    nothing is predicted.
    """
    n_classes: list[int] | None
    """Number of classes of each output; None for numbers."""
    params: dict[str, Any]
    """Parameters of the trees, by scikit-learn's names."""
    estimator: str
    """The name by which messages about parameters call the estimator."""
    seed: int
    draws: Draws | None = None
    """How the rows of each tree are drawn, and their weights; None: all rows, of weight 1."""
    n_trees: int = 1
    first_tree: int = 0
    """Number of the first tree. A tree is a function of the seed and of its number."""
    balanced_subsample: bool = False
    """Whether classes get the same total weight in the sample of each tree."""
    n_categories: list[int] | None = None
    """Number of categories of each feature, 0 for a numeric one; None if all are numeric.

    Values of a categorical feature are codes below that number, or NaN.
    """
    n_threads: int = 1
    watcher: Watcher = None
    survival: bool = False
    """Whether the columns of `y` are times and events."""
    cause: int | None = None
    """The number of the events that are predicted; None for all but 0."""

    def __reduce__(self) -> Any:
        """Return what a pickle holds: its number, and values by the names of the fields."""
        draws = None if self.draws is None else self.draws._asdict()
        for name in _PARTS_OF_DRAWS:
            if draws is not None and draws[name] is not None:
                draws[name] = draws[name]._asdict()
        return _read_task, (_FORMAT, {**self._asdict(), "draws": draws})

    @property
    def target(self) -> EncodedTarget:
        """The targets with the numbers of their classes."""
        assert self.y is not None
        return EncodedTarget(self.y, self.n_classes)

    def grow_tree(self, X: Any, draws: Draws) -> tuple[Tree, int, NDArray[np.int64]]:
        """Grow a tree.

        Parameters
        ----------
        X : ndarray or CompressedMatrix
        draws : Draws
            Of the scheme "all".

        Returns
        -------
        tree : Tree
        max_features : int
            Number of features that each node draws.
        with_missing : ndarray of int64
            The features that have missing values, ascending.
        """
        return fit_tree(X, self._replace(draws=draws))

    def grow_forest(
        self, X: Any, draws: Draws, first_tree: int, n_trees: int, watcher: Watcher
    ) -> tuple[Forest, int, NDArray[np.int64]]:
        """Grow the trees with the numbers `first_tree` to `first_tree + n_trees - 1`.

        Returns
        -------
        forest : Forest
        max_features : int
            Number of features that each node draws.
        with_missing : ndarray of int64
            The features that have missing values, ascending.
        """
        task = self._replace(draws=draws, first_tree=first_tree, n_trees=n_trees, watcher=watcher)
        return fit_forest(X, task)

    def fill_leaves(self, forest: Forest, X: Any, draws: Draws) -> Forest:
        """Return honest trees: those of a forest, with the leaves of the samples that fill them.

        Parameters
        ----------
        forest : Forest
            What `grow_forest` has grown by the same draws.
        X : ndarray, CSR matrix or Columns
        draws : Draws
            With an `honest_fraction`.
        """
        return fill_forest(forest, X, self._replace(draws=draws))

    def make_lazy_forest(self, X: Any, draws: Draws, n_trees: int) -> LazyForest:
        """Return a lazy forest, which consists of the encoded training data."""
        # The compiled object keeps these arrays. Callers could write to the originals.
        draws = draws.copy_arrays(keep_weights=True)
        return LazyForest(X, self._replace(y=self.target.y.copy(), draws=draws, n_trees=n_trees))

    def predict_folds(
        self,
        X: Any,
        folds: list[tuple[NDArray[np.uint32], bool, NDArray[np.uint32], Draws]],
        sample_ids: NDArray[np.uint64] | None,
        n_trees: int | None,
        watcher: Watcher,
    ) -> list[NDArray[np.float64]]:
        """Return what estimators of the training rows of folds predict for the test rows.

        Parameters
        ----------
        X : ndarray, or CompressedMatrix in CSR form
            All rows.
        folds : list of tuple
            For each fold: its training rows; or, if the bool is True, the rows that are left out of
            training, ascending. Then its test rows, and how samples of the training rows are drawn.
        sample_ids : ndarray of shape (n_samples,) or None
            Ids of all rows; None means their numbers.
        n_trees : int or None
            Trees per forest; None if the estimator is a single tree.
        watcher : callable or None
            Is called with the number of trees that are done in all folds together.
        """
        is_tree = n_trees is None
        task = self._replace(n_trees=1 if n_trees is None else n_trees, watcher=watcher)
        return predict_folds(X, task, folds, sample_ids, is_tree)


def _read_task(number: int, fields: dict[str, Any]) -> Task:
    """Return the task that a pickle holds, unless its form is newer than this version."""
    check_format("task of trees", number, _FORMAT, "Load")
    draws = fields["draws"]
    if draws is not None:
        parts = {name: draws.get(name) for name in _PARTS_OF_DRAWS}
        made = {name: part and _PARTS_OF_DRAWS[name](**part) for name, part in parts.items()}
        draws = {**draws, **made}
    return Task(**{**fields, "draws": None if draws is None else Draws(**draws)})
