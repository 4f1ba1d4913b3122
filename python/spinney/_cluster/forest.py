"""What the forests have in common that are grown on a cluster."""

from __future__ import annotations

import copy
import inspect
import os
from abc import abstractmethod
from contextlib import AbstractContextManager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney._cluster import host_cache
from spinney._cluster.plan import Cluster, grow
from spinney._cluster.task import Parcel, make_job
from spinney._fit.draws import Draws
from spinney._fit.task import Task, Watcher
from spinney._spinney import Forest
from spinney.dataset import Dataset
from spinney.ensemble._forest import BaseForest, ForestClassifier, ForestRegressor

if TYPE_CHECKING:
    from typing_extensions import Self


class _Site(NamedTuple):
    """Where a forest is being grown."""

    cluster: Cluster
    dataset: Parcel


class ClusterForest(BaseForest):
    """Base class of the forests that are grown on a cluster; the local class comes after it."""

    # The class of the same name that grows on one machine.
    _local_class: ClassVar[type[BaseForest]]
    # The parameter that the local class does not have.
    _connection: ClassVar[str]
    # Classifiers have these.
    _choose_labels: Any
    _list_probabilities: Any
    _site: _Site
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
    def _connect(self) -> AbstractContextManager[Cluster]:
        """Return the cluster."""

    @abstractmethod
    def _read_collections(self, X: Any, others: list[Any]) -> tuple[Any, list[Any]]:
        """Return arguments of `fit` that are collections of the cluster as local ones.

        `X` may become the path of a file in the cache of this host.
        """

    def _fit(self, X: Any, y: Any, sample_weight: Any, sample_ids: Any) -> Self:
        with self._connect() as cluster:
            X, others = self._read_collections(X, [y, sample_weight, sample_ids])
            dataset, parcel = self._ship(X)
            self._site = _Site(cluster, parcel)
            try:
                super()._fit(dataset, *others)
            finally:
                self.__dict__.pop("_site", None)
        return self

    def _ship(self, X: Any) -> tuple[Dataset, Parcel]:
        """Return the encoded data, and the file of them that workers read."""
        n_threads = self._count_threads()
        if isinstance(X, (str, os.PathLike)):
            dataset = Dataset.open(X, n_jobs=n_threads)
            path, head = dataset.get_file()
            n_bytes = path.stat().st_size
            if path.parent == Path(os.path.realpath(host_cache.get_directory())):
                # A collection, which has just been written there.
                return dataset, Parcel(host_cache.adopt(path), n_bytes)
            return dataset, Parcel(str(path), n_bytes, head.tobytes())
        dataset = Dataset(X, categorical_features=self.categorical_features, n_jobs=n_threads)
        key = host_cache.add(dataset.list_chunks(n_threads))
        return dataset, Parcel(key, (host_cache.get_directory() / key).stat().st_size)

    def _grow_trees(
        self,
        X: Any,  # noqa: ARG002 - workers read the file
        task: Task,
        draws: Draws,
        first_tree: int,
        n_trees: int,
        watcher: Watcher,
    ) -> tuple[Forest, int, NDArray[np.int64]]:
        job = make_job(self._site.dataset, task, draws)
        return grow(self._site.cluster, job, first_tree, n_trees, watcher)

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
        return self._choose_labels(values) if self._classifies else values[..., 0]

    def predict(self, X: Any) -> Any:
        """Predict as the local class does; for a collection of the cluster lazily.

        Parameters
        ----------
        X : {array-like, sparse matrix, collection} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        y : ndarray or collection of shape (n_samples,) or (n_samples, n_outputs)
            Class labels, or numbers as float64.
        """
        if self._is_collection(X):
            return self._apply_lazily("predict", X)
        return super().predict(X)  # type: ignore[misc]

    # --- Copies ---------------------------------------------------------------------------------

    def to_local(self) -> Any:
        """Return the forest as an estimator of the class that grows on one machine.

        Returns
        -------
        forest : object
            Of the class of the same name in `spinney`, with the parameters and the fitted
            attributes of this one. The trees are shared.
        """
        parameters = self.get_params(deep=False)
        del parameters[self._connection]
        local: Any = self._local_class(**parameters)
        attributes = vars(self)
        vars(local).update(
            {name: attributes[name] for name in attributes.keys() - {self._connection}}
        )
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
            The samples.

        Returns
        -------
        proba : ndarray or collection of shape (n_samples, n_classes), or list of one per output
            float64; columns are in the order of `classes_`.
        """
        if self._is_collection(X):
            return self._apply_lazily("predict_proba", X)
        return super().predict_proba(X)


class ClusterRegressor(ClusterForest, ForestRegressor):
    """Base class of the forests of a cluster that predict numbers."""


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
