"""What a worker does: it grows some trees of a forest, or fits some models of a committee."""

from __future__ import annotations

import pickle
import platform
import time
from abc import ABC, abstractmethod
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from spinney._cluster.active import use_workers
from spinney._fit.task import Task
from spinney._spinney import Forest, __version__, fit_forest
from spinney.dataset import Dataset


class Grown(NamedTuple):
    """Some trees of a forest."""

    forest: Forest
    max_features: int
    with_missing: NDArray[np.int64]
    seconds: float


class Job(ABC):
    """All that the parts of a model are a function of, but their numbers.

    The data travel as the path of a file, if the data set has one that all hosts can read, and as
    bytes otherwise. A worker opens them when it grows its first part.

    Parameters
    ----------
    dataset : Dataset
    task : object
        What is to be done with the data.
    """

    def __init__(self, dataset: Dataset, task: Any) -> None:
        self._version, self._dataset, self._task = __version__, dataset, task
        arrays: list[pickle.PickleBuffer] = []
        pickle.dumps(task, protocol=5, buffer_callback=arrays.append)
        self.n_bytes = dataset.n_bytes + sum(array.raw().nbytes for array in arrays)

    def with_file(self, path: Path) -> Job:
        """Return the job with data that have a file; write it if there is none."""
        return type(self)(self._dataset._with_file(path), self._task)

    def __sizeof__(self) -> int:
        """Return the bytes in memory, by which Dask decides what a worker keeps there."""
        return self.n_bytes

    def __getstate__(self) -> dict[str, Any]:
        """Return what travels."""
        names = ("_version", "_carried", "_task", "n_bytes")
        return {name: getattr(self, name) for name in names}

    @cached_property
    def _carried(self) -> tuple[Any, tuple[Any, ...]]:
        """What a pickle of the data has: the function that opens them, and its arguments."""
        carried: tuple[Any, tuple[Any, ...]] = self._dataset.__reduce__()
        return carried

    @cached_property
    def _opened(self) -> Dataset:
        open_dataset, arguments = self._carried
        try:
            opened: Dataset = open_dataset(*arguments)
            return opened
        except OSError as error:
            raise OSError(
                "All hosts must be able to read the file of the data set. "
                f"On {platform.node()}: {error}"
            ) from None

    def grow(self, first: int, n: int) -> Any:
        """Grow the parts with the numbers from `first` on, on one thread."""
        if self._version != __version__:
            raise RuntimeError(
                f"All machines must have the same version of spinney, {self._version}. "
                f"Got {__version__} on {platform.node()}."
            )
        # A model of a committee may be a forest: its trees grow here.
        with use_workers(None):
            return self._grow(first, n)

    @abstractmethod
    def _grow(self, first: int, n: int) -> Any:
        """Do what `grow` does; the result has the seconds that it took."""


class ForestJob(Job):
    """The trees of a forest. The task is a `Task` with the draws."""

    def __init__(self, dataset: Dataset, task: Task) -> None:
        super().__init__(dataset, task._replace(n_threads=1, watcher=None))

    @cached_property
    def _columns(self) -> Any:
        return self._opened._read_columns(None).X

    def _grow(self, first: int, n: int) -> Grown:
        columns, start = self._columns, time.perf_counter()
        task = self._task._replace(first_tree=first, n_trees=n)
        return Grown(*fit_forest(columns, task), time.perf_counter() - start)


class Fitted(NamedTuple):
    """Some models of a committee."""

    models: list[Any]
    seconds: float


class Members(NamedTuple):
    """Models that are to be fitted, each to rows of its own.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
    weights : ndarray of shape (n_samples,), or None
    models : list of estimators
        Not fitted.
    rows : list of ndarray of uint32
        A row that counts k times is listed k times.
    """

    y: NDArray[Any]
    weights: NDArray[np.float64] | None
    models: list[Any]
    rows: list[NDArray[np.uint32]]

    def fit(self, dataset: Dataset, number: int) -> Any:
        """Return the fitted model with this number."""
        rows = self.rows[number]
        told = {} if self.weights is None else {"sample_weight": self.weights[rows]}
        return clone(self.models[number]).fit(dataset[rows], self.y[rows], **told)


class CommitteeJob(Job):
    """The models of a committee. The task is a `Members`."""

    def _grow(self, first: int, n: int) -> Fitted:
        dataset, start = self._opened, time.perf_counter()
        models = [self._task.fit(dataset, number) for number in range(first, first + n)]
        return Fitted(models, time.perf_counter() - start)
