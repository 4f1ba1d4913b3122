"""Refits for scikit-learn's loop where it replaces class labels by their codes.

For probabilities `sklearn.model_selection.cross_val_predict` fits estimators to codes of classes,
by which it puts their columns in order. `class_weight`, as a dict, has the labels, so that it would
give its weights to other classes or to none. Here the estimator of a fold is fitted to the labels,
and gets the codes as its classes when it is fitted.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from spinney._fit.target import make_class_attributes


class CodedRefits:
    """Makes estimators whose `fit` takes codes of classes.

    Parameters
    ----------
    estimator : a classifier of this package
        It is not changed.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        The labels of all rows.
    """

    def __init__(self, estimator: Any, y: Any) -> None:
        self._estimator = estimator
        self._classes = [np.unique(column) for column in _list_columns(np.asarray(y))]

    def make_estimator(self) -> Any:
        """Return an estimator whose `fit` takes codes; so do its clones."""
        estimator: Any = clone(self._estimator)
        estimator.fit = partial(self._fit, estimator)
        estimator.__sklearn_clone__ = self.make_estimator
        return estimator

    def _fit(self, estimator: Any, X: Any, y: NDArray[Any], **params: Any) -> Any:
        del estimator.fit, estimator.__sklearn_clone__
        pairs = zip(self._classes, _list_columns(y), strict=True)
        columns = [labels[codes] for labels, codes in pairs]
        fitted = estimator.fit(X, columns[0] if y.ndim == 1 else np.column_stack(columns), **params)
        found = [fitted.classes_] if fitted.n_outputs_ == 1 else fitted.classes_
        pairs = zip(self._classes, found, strict=True)
        own_codes = [np.searchsorted(labels, present) for labels, present in pairs]
        vars(fitted).update(make_class_attributes(own_codes))
        return fitted


def _list_columns(y: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the targets of each output; raise ValueError if there are no columns."""
    if y.ndim == 1:
        return [y]
    if y.ndim != 2:
        raise ValueError(f"y must have one or two dimensions. Got {y.ndim} instead.")
    return list(y.T)
