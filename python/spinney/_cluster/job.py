"""What a worker does: it grows some trees of a forest."""

from __future__ import annotations

import pickle
import platform
import time
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney._fit.task import Task
from spinney._spinney import Forest, __version__, fit_forest
from spinney.dataset import Dataset


class Grown(NamedTuple):
    """Some trees of a forest."""

    forest: Forest
    max_features: int
    with_missing: NDArray[np.int64]
    seconds: float


class Job:
    """All that the trees of a forest are a function of, but their numbers.

    The data travel as the path of a file, if the data set has one that all hosts can read, and as
    bytes otherwise. A worker opens them when it grows its first trees.

    Parameters
    ----------
    dataset : Dataset
    task : Task
        With the draws.
    """

    def __init__(self, dataset: Dataset, task: Task) -> None:
        self._version, self._dataset = __version__, dataset
        self._task = task._replace(n_threads=1, watcher=None)
        arrays: list[pickle.PickleBuffer] = []
        pickle.dumps(self._task, protocol=5, buffer_callback=arrays.append)
        self.n_bytes = dataset.n_bytes + sum(array.raw().nbytes for array in arrays)

    def with_file(self, path: Path) -> Job:
        """Return the job with data that have a file; write it if there is none."""
        return Job(self._dataset._with_file(path), self._task)

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
    def _columns(self) -> Any:
        open_dataset, arguments = self._carried
        try:
            return open_dataset(*arguments)._read_columns(None).X
        except OSError as error:
            raise OSError(
                "All hosts must be able to read the file of the data set. "
                f"On {platform.node()}: {error}"
            ) from None

    def grow(self, first_tree: int, n_trees: int) -> Grown:
        """Grow the trees with the numbers from `first_tree` on, on one thread."""
        if self._version != __version__:
            raise RuntimeError(
                f"All machines must have the same version of spinney, {self._version}. "
                f"Got {__version__} on {platform.node()}."
            )
        columns, start = self._columns, time.perf_counter()
        task = self._task._replace(first_tree=first_tree, n_trees=n_trees)
        return Grown(*fit_forest(columns, task), time.perf_counter() - start)
