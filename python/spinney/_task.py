"""The calls of the compiled part that grow trees, with the arguments that they share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney._draws import Draws
from spinney._spinney import Forest, LazyForest, Tree, fit_forest, fit_tree, predict_folds
from spinney._target import EncodedTarget

Watcher = Callable[[int], None] | None
"""Is called now and then with the number of trees that are done."""


class Settings(NamedTuple):
    """The parameters of an estimator that are read before the data."""

    tree_params: dict[str, Any]
    """Parameters of the trees, by scikit-learn's names."""
    seed: int
    n_threads: int


@dataclass(frozen=True)
class Task:
    """What the trees of an estimator are grown by, apart from the matrix and the drawn samples."""

    estimator: str
    """The name by which messages about parameters call the estimator."""
    settings: Settings
    target: EncodedTarget
    n_categories: list[int] | None
    """Number of categories of each feature, 0 for a numeric one; None if all are numeric."""
    balanced_subsample: bool
    """Whether classes get the same total weight in the sample of each tree."""

    def _list_arguments(self) -> dict[str, Any]:
        """Return the arguments that all functions of the compiled part share."""
        return {
            "y": self.target.y,
            "n_classes": self.target.n_classes,
            "estimator": self.estimator,
            "params": self.settings.tree_params,
            "seed": self.settings.seed,
            "n_threads": self.settings.n_threads,
            "n_categories": self.n_categories,
        }

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
        return fit_tree(X, sample_weight=draws.sample_weight, **self._list_arguments())

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
        return fit_forest(
            X,
            draws=draws,
            balanced_subsample=self.balanced_subsample,
            first_tree=first_tree,
            n_trees=n_trees,
            watcher=watcher,
            **self._list_arguments(),
        )

    def make_lazy_forest(self, X: Any, draws: Draws, n_trees: int) -> LazyForest:
        """Return the encoded training data, of which a lazy forest consists."""
        arguments = self._list_arguments()
        # The compiled object keeps these arrays. Callers could write to the originals.
        arguments["y"] = self.target.y.copy()
        return LazyForest(
            X,
            draws=draws.copy_arrays(keep_weights=True),
            balanced_subsample=self.balanced_subsample,
            n_trees=n_trees,
            **arguments,
        )

    def predict_folds(
        self,
        X: Any,
        folds: list[tuple[NDArray[np.uint32], NDArray[np.uint32], Draws]],
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
            For each fold its training rows, its test rows, and how samples of the training rows are
            drawn.
        sample_ids : ndarray of shape (n_samples,) or None
            Ids of all rows; None means their numbers.
        n_trees : int or None
            Trees per forest; None if the estimator is a single tree.
        watcher : callable or None
            Is called with the number of trees that are done in all folds together.
        """
        return predict_folds(
            X,
            folds=folds,
            sample_ids=sample_ids,
            balanced_subsample=self.balanced_subsample,
            n_trees=1 if n_trees is None else n_trees,
            is_tree=n_trees is None,
            watcher=watcher,
            **self._list_arguments(),
        )
