"""What a worker of a cluster does: it grows some trees of a forest on data that its host has."""

from __future__ import annotations

import io
import os
import platform
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney._cluster import host_cache
from spinney._fit.draws import Draws
from spinney._fit.task import Task
from spinney._spinney import Forest, __version__
from spinney.dataset._files import get_head, parse_dataset
from spinney.storage._models import map_file

# Contents that a process keeps open: those of two forests.
_N_OPEN = 4


class Parcel(NamedTuple):
    """A file that workers need."""

    key: str
    """The hash of its content; of a file that all hosts can read, its path."""
    n_bytes: int
    head: bytes | None = None
    """What such a file begins with; None if the file is in the cache of each host."""


class Job(NamedTuple):
    """All that trees are a function of but their numbers. It is small: arrays are in parcels."""

    version: str
    dataset: Parcel
    arrays: Parcel
    """The targets, weights and ids of the samples."""
    task: Task
    draws: Draws


class Grown(NamedTuple):
    """Some trees of a forest."""

    forest: Forest
    max_features: int
    with_missing: NDArray[np.int64]
    seconds: float


class Report(NamedTuple):
    """What a worker says of its host."""

    host: str
    missing: list[str]
    """The keys of the contents that the host does not have."""
    free_space: int
    """Bytes for files."""
    memory: int
    """Bytes of the machine; 0 if that is not known."""


class Missing(NamedTuple):
    """The host of the worker does not have the data."""

    host: str


def make_job(dataset: Parcel, task: Task, draws: Draws) -> Job:
    """Return the job of a forest; its arrays are written to the cache of this host."""
    file = io.BytesIO()
    for array in (task.y, draws.sample_weight, draws.sample_ids):
        np.save(file, np.empty(0) if array is None else array, allow_pickle=False)
    data = np.frombuffer(file.getbuffer(), np.uint8)
    return Job(
        __version__,
        dataset,
        Parcel(host_cache.add([data]), len(data)),
        task._replace(y=task.y[:0], n_threads=1),
        draws._replace(sample_weight=None, sample_ids=None),
    )


def check_version(version: str) -> None:
    """Raise RuntimeError if this process has another version of spinney."""
    if version != __version__:
        raise RuntimeError(
            f"All machines must have the same version of spinney, {version}. "
            f"Got {__version__} on {platform.node()}."
        )


def report_host(version: str, keys: list[str]) -> Report:
    """Return what the host of this process has of some contents."""
    check_version(version)
    missing = [key for key in keys if host_cache.find(key) is None]
    has_sizes = hasattr(os, "sysconf")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if has_sizes else 0
    return Report(host_cache.get_host(), missing, host_cache.get_free_space(), memory)


def grow_range(job: Job, first_tree: int, n_trees: int) -> Grown | Missing:
    """Grow the trees with the numbers from `first_tree` on, on one thread."""
    check_version(job.version)
    try:
        columns = _contents.get(job.dataset, _open_columns)
        y, weights, ids = _contents.get(job.arrays, _open_arrays)
    except _MissingError:
        return Missing(host_cache.get_host())
    draws = job.draws._replace(sample_weight=weights, sample_ids=ids)
    start = time.perf_counter()
    grown = job.task._replace(y=y).grow_forest(columns, draws, first_tree, n_trees, None)
    return Grown(*grown, time.perf_counter() - start)


class _MissingError(Exception):
    """The host does not have a content."""


class _Contents:
    """The contents that this process has opened last."""

    def __init__(self) -> None:
        self._opened: OrderedDict[Parcel, Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, parcel: Parcel, open_file: Callable[[Parcel, Path], Any]) -> Any:
        """Return a content; open it if necessary, once for all threads."""
        with self._lock:
            if parcel not in self._opened:
                path = host_cache.find(parcel.key) if parcel.head is None else Path(parcel.key)
                if path is None:
                    raise _MissingError
                self._opened[parcel] = open_file(parcel, path)
                while len(self._opened) > _N_OPEN:
                    self._opened.popitem(last=False)
            self._opened.move_to_end(parcel)
            return self._opened[parcel]


def _open_columns(parcel: Parcel, path: Path) -> Any:
    try:
        data = map_file(path)
    except OSError as error:
        raise OSError(
            f"All hosts must be able to read the file of the data set, {str(path)!r}. "
            f"On {platform.node()}: {error}"
        ) from None
    if parcel.head is not None and get_head(data).tobytes() != parcel.head:
        raise ValueError(f"{str(path)!r} is not the file that the Dataset was opened from.")
    return parse_dataset(data, 1)[0]


def _open_arrays(_parcel: Parcel, path: Path) -> Any:
    with path.open("rb") as file:
        y, *others = (np.load(file, allow_pickle=False) for _ in range(3))
    return y, *(array if array.size else None for array in others)


_contents = _Contents()
