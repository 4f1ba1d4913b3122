"""What the forests have in common that are grown on a cluster of a parameter."""

from __future__ import annotations

import copy
import inspect
import os
from abc import abstractmethod
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from spinney._cluster.active import use_workers
from spinney._cluster.growth import Workers
from spinney.dataset import Dataset
from spinney.ensemble._forest import BaseForest, ForestClassifier

if TYPE_CHECKING:
    from typing_extensions import Self


class ClusterForest(BaseForest):
    """Base class of the forests that are grown on a cluster; the local class comes after it."""

    # The class of the same name that grows on one machine.
    _local_class: ClassVar[type[BaseForest]]
    # The parameter that the local class does not have.
    _connection: ClassVar[str]
    # Classifiers have these.
    _choose_labels: Any
    _list_probabilities: Any
    # A cluster grows one forest at a time.
    _shares_folds = False

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Give the class the parameters of the local one, and its own."""
        super().__init_subclass__(**arguments)
        local = cls.__bases__[-1]
        if "__init__" in vars(local):
            cls._local_class = local
            cls.__init__ = _add_parameter(local.__init__, cls._connection)  # type: ignore[misc, method-assign]

    # --- Growth ---------------------------------------------------------------------------------

    @abstractmethod
    def _connect(self) -> Workers:
        """Return the workers of the cluster."""

    @abstractmethod
    def _read_collections(self, X: Any, others: list[Any]) -> tuple[Any, list[Any]]:
        """Return arguments of `fit` that are collections of the cluster as local ones."""

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, sample_ids: Any, samples: Any, groups: Any
    ) -> Self:
        workers = self._connect()
        X, others = self._read_collections(X, [y, sample_weight, sample_ids, groups])
        y, sample_weight, sample_ids, groups = others
        if isinstance(X, (str, os.PathLike)):
            X = Dataset.open(X, n_jobs=self._count_threads())
        with use_workers(workers):
            super()._fit(X, y, sample_weight, sample_ids, samples, groups)
        return self

    # --- Predictions ----------------------------------------------------------------------------

    @abstractmethod
    def _is_collection(self, X: Any) -> bool:
        """Return whether X is a collection of the cluster, for which predictions are lazy."""

    @abstractmethod
    def _apply_lazily(self, method: str, X: Any) -> Any:
        """Return what a method of the local class predicts for a collection, as a collection."""

    def _make_sample(self, method: str) -> Any:
        """Return what a method predicts for one row, with types and shapes, but no values."""
        n_values = self.n_outputs_ * max(self.forest_.n_classes)
        values = self._split_outputs(np.zeros((1, n_values)))
        if method == "predict_proba":
            return self._list_probabilities(values)
        return self._choose_labels(values) if self._task == "classification" else values[..., 0]

    def predict(self, X: Any, *args: Any, **options: Any) -> Any:
        """Predict as the local class does; for a collection of the cluster lazily.

        Parameters
        ----------
        X : {array-like, sparse matrix, collection} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        *args, **options
            The parameters of the local class, unless `X` is a collection.

        Returns
        -------
        y : ndarray or collection of shape (n_samples,) or (n_samples, n_outputs)
            Class labels, or numbers as float64.
        """
        if self._is_collection(X):
            if args or options:
                raise TypeError("A collection of the cluster is predicted without other arguments.")
            return self._apply_lazily("predict", X)
        return super().predict(X, *args, **options)  # type: ignore[misc]

    # --- Copies ---------------------------------------------------------------------------------

    def to_local(self) -> Any:
        """Return the forest as an estimator of the class that grows on one machine.

        Returns
        -------
        forest : object
            Of the class of the same name in `spinney`, with the parameters and the fitted
            attributes of this one. The trees are shared.
        """
        # The parameters are attributes as well.
        local = object.__new__(self._local_class)
        vars(local).update(vars(self))
        del vars(local)[self._connection]
        return local

    def save(self, path: Any) -> None:
        """Write the forest to a file, which :func:`spinney.load` reads as the local class.

        Parameters
        ----------
        path : str or path-like
            The file. An existing one is replaced.
        """
        self.to_local().save(path)

    def __getstate__(self) -> dict[str, Any]:
        """Return what pickles and copies have: all but the connection to the cluster."""
        return {**super().__getstate__(), self._connection: None}

    def __sklearn_clone__(self) -> Any:
        """Return an estimator that is not fitted, of the same connection, which is not copied."""
        new = super(ClusterForest, copy.copy(self)).__sklearn_clone__()
        setattr(new, self._connection, getattr(self, self._connection))
        return new


class ClusterClassifier(ClusterForest, ForestClassifier):
    """Base class of the forests of a cluster that classify."""

    def predict_proba(self, X: Any) -> Any:
        """Predict as the local class does; for a collection of the cluster lazily.

        Parameters
        ----------
        X : {array-like, sparse matrix, collection} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        proba : ndarray or collection of shape (n_samples, n_classes), or list of one per output
            float64; columns are in the order of `classes_`.
        """
        if self._is_collection(X):
            return self._apply_lazily("predict_proba", X)
        return super().predict_proba(X)


def _add_parameter(initialize: Any, name: str) -> Any:
    """Return an `__init__` with one keyword more, which is stored."""

    @wraps(initialize)
    def __init__(self: Any, *args: Any, **parameters: Any) -> None:
        value = parameters.pop(name, None)
        initialize(self, *args, **parameters)
        setattr(self, name, value)

    signature = inspect.signature(initialize)
    new = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
    __init__.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), new]
    )
    return __init__
