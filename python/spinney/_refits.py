"""Refits of the folds of a cross-validation on rows that are encoded once.

scikit-learn's loop clones an estimator for each fold, fits the clone to rows of `X`, and passes it
on. It also passes parameters of `fit`, of which it takes the same rows. Here these are the numbers
of the rows, so that `fit` knows which of the encoded rows it gets.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from spinney._crossval import SharedWork
from spinney._draws import Growth
from spinney._forest import BaseForest
from spinney._progress import show_progress
from spinney._spinney import EncodedRows
from spinney._splits import Split
from spinney._tree import BaseDecisionTree

ROWS = "_rows_of_fold"
"""The name of the parameter of `fit` that has the numbers of the rows."""


class EncodedRefits:
    """Makes estimators that are fitted to some of the encoded rows.

    Parameters
    ----------
    estimator : tree or forest
        It is not changed.
    work : SharedWork
        Without categorical features.
    """

    def __init__(self, estimator: BaseDecisionTree | BaseForest, work: SharedWork) -> None:
        self._estimator = estimator
        self._work = work
        task = work.task._replace(n_trees=work.n_trees)
        self._rows = EncodedRows(work.X, task, work.ids)
        parameters = estimator.get_params(deep=False)
        # What `fit` finds out about the features is the same in all folds.
        self._attributes = {
            name: value for name, value in vars(work.template).items() if name not in parameters
        }

    def make_estimator(self) -> Any:
        """Return an estimator whose `fit` takes encoded rows; so do its clones.

        `fit` also removes what makes the estimator differ from others of its class.
        """
        estimator: Any = clone(self._estimator)
        estimator.fit = partial(self._fit, estimator)
        estimator.__sklearn_clone__ = self.make_estimator
        return estimator

    def _fit(
        self,
        estimator: Any,
        X: Any,  # noqa: ARG002 - the rows are known
        y: Any = None,  # noqa: ARG002
        *,
        _rows_of_fold: NDArray[np.intp],
        **of_user: Any,  # noqa: ARG002 - weights and ids of all rows are known
    ) -> Any:
        n_samples = self._work.n_samples
        rows = np.asarray(_rows_of_fold, dtype=np.uint32)
        split = Split(rows, False, np.empty(0, dtype=np.uint32), n_samples)
        draws, attributes = self._work.describe_refit(split)
        fold = (*split[:3], draws)
        fitted = self._attributes | attributes
        if isinstance(estimator, BaseDecisionTree):
            tree, max_features, with_missing = self._rows.grow_tree(fold)
            fitted |= {"tree_": tree, "max_features_": max_features, "_with_missing": with_missing}
        else:
            n_trees = int(estimator.n_estimators)
            with show_progress(int(estimator.verbose), 0, n_trees) as watcher:
                forest, max_features, with_missing = self._rows.grow_forest(fold, watcher)
            if draws.scheme == "poisson":
                ids = rows.astype(np.uint64) if self._work.ids is None else self._work.ids[rows]
                draws = draws._replace(sample_ids=ids)
            vars(estimator).update(fitted)
            growth = Growth(estimator._select_estimator_params(), max_features, with_missing)
            fitted |= {
                "forest_": forest,
                "_growths": [growth] * n_trees,
                "_draws": draws.copy_arrays(keep_weights=False),
            }
        vars(estimator).update(fitted)
        del estimator.fit, estimator.__sklearn_clone__
        return estimator
