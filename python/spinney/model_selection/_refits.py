"""Refits of the folds of a cross-validation on rows that are encoded once.

scikit-learn's loop clones an estimator for each fold, fits the clone to rows of `X`, and passes it
on with rows of `X` to the scorers, which may be functions of the user. So `X` stays what it is. The
loop also passes parameters of `fit`, and takes the same rows of them. Here these are the numbers of
the rows, by which `fit` takes its rows from a data set.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from numpy.typing import NDArray
from sklearn.base import clone

from spinney._base.estimator import BaseTreeEstimator
from spinney.dataset import Dataset

ROWS = "_rows_of_fold"
"""The name of the parameter of `fit` that has the numbers of the rows."""


class EncodedRefits:
    """Makes estimators that are fitted to some rows of a data set.

    Parameters
    ----------
    estimator : a tree, a forest or a lazy forest
        It is not changed.
    dataset : Dataset
        All rows.
    """

    def __init__(self, estimator: BaseTreeEstimator, dataset: Dataset) -> None:
        self._estimator = estimator
        self._dataset = dataset

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
        y: Any = None,
        *,
        _rows_of_fold: NDArray[Any],
        **of_user: Any,
    ) -> Any:
        del estimator.fit, estimator.__sklearn_clone__
        if getattr(estimator, "bootstrap", None) == "poisson" and of_user.get("sample_ids") is None:
            of_user["sample_ids"] = _rows_of_fold
        return estimator.fit(self._dataset[_rows_of_fold], y, **of_user)
