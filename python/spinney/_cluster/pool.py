"""Forests on the processes of a pool, on one machine or on many."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from joblib import cpu_count

from spinney._cluster.active import use_workers
from spinney._cluster.growth import Workers
from spinney._cluster.job import Job
from spinney._common.checks import check_int
from spinney._common.messages import reject_parameter


class PoolWorkers(Workers):
    """The processes, or threads, of an executor. They read the job from a file.

    Parameters
    ----------
    executor : concurrent.futures.Executor
    max_workers : int
    directory : str or path-like, or None
    """

    def __init__(self, executor: Any, max_workers: int, directory: Any) -> None:
        self._executor, self._max_workers, self._parent = executor, max_workers, directory
        self._directory: TemporaryDirectory[str] | None = None
        self._tasks: list[Future[Any]] = []

    def count(self) -> int:
        """Return the number of tasks that run at a time."""
        return self._max_workers

    def share(self, job: Job) -> str:
        """Write the job to a file, and its data to one that workers map; return the path."""
        self._directory = TemporaryDirectory(
            prefix="spinney-", dir=self._parent, ignore_cleanup_errors=True
        )
        path = Path(self._directory.name) / "job"
        with path.open("xb") as file:
            pickle.dump(job.with_file(path.with_name("data")), file, protocol=5)
        return str(path)

    def submit(self, shared: str, first_tree: int, n_trees: int) -> Future[Any]:
        """Start a task."""
        task: Future[Any] = self._executor.submit(_grow, shared, first_tree, n_trees)
        self._tasks.append(task)
        return task

    def release(self) -> None:
        """Cancel what has not begun, and remove the files."""
        for task in self._tasks:
            task.cancel()
        if self._directory is not None:
            self._directory.cleanup()
        self._tasks, self._directory = [], None


# The data are mapped: the last job that a process has opened costs it no memory.
@lru_cache(maxsize=1)
def _open(path: str) -> Job:
    job: Job = pickle.loads(Path(path).read_bytes())
    return job


def _grow(path: str, first_tree: int, n_trees: int) -> Any:
    return _open(path).grow(first_tree, n_trees)


@contextmanager
def grow_with(executor: Any, *, max_workers: Any = None, directory: Any = None) -> Iterator[None]:
    """Let the workers of a pool or of a cluster grow the trees of forests, and fit committees.

    Within the block, `fit` of every forest that keeps its trees hands ranges of trees to the
    workers, puts them in the order of their numbers, and gets the forest that threads of this
    process would have grown, bit for bit. Of `BaggingClassifier` and `BaggingRegressor`, the
    workers fit the models. Out-of-bag estimates and predictions are computed here. Lazy forests and
    single trees do not change, nor do fits of other threads and processes, such as those that a
    search with `n_jobs` starts.

    Parameters
    ----------
    executor : concurrent.futures.Executor, distributed.Client, or spinney.ray.RayWorkers
        An executor of the standard library, of loky, of mpi4py (``MPIPoolExecutor``), or
        any other with a method ``submit(function, *arguments)`` that returns futures of
        `concurrent.futures`. Its workers must have this version of spinney.
    max_workers : int, default=None
        Number of tasks that the executor runs at a time. None means the number of cores of this
        machine. Dask and Ray know it themselves.
    directory : str or path-like, default=None
        Where the data are written for the workers of an executor, for as long as a fit takes. All
        of them must see it; if they are on several machines, it is in a shared file system. None
        means the directory for temporary files. A `Dataset` that has a file, which they must see as
        well, is not written.

    Raises
    ------
    ValueError, TypeError
        If a parameter is illegal. The message names it.

    Examples
    --------
    >>> from concurrent.futures import ProcessPoolExecutor
    >>> from sklearn.datasets import load_iris
    >>> import spinney
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = spinney.RandomForestClassifier(random_state=0)
    >>> with ProcessPoolExecutor() as pool, spinney.grow_with(pool):  # doctest: +SKIP
    ...     forest.fit(X, y)
    """
    if max_workers is not None:
        check_int("grow_with", "max_workers", max_workers, 1, " or None")
    if type(executor).__module__.partition(".")[0] == "distributed":
        from spinney._cluster.dask_workers import DaskWorkers

        executor = DaskWorkers(executor)
    if isinstance(executor, Workers):
        for name, value in (("max_workers", max_workers), ("directory", directory)):
            if value is not None:
                reject_parameter("grow_with", name, value, "None for a cluster of Dask or Ray")
        workers = executor
    elif callable(getattr(executor, "submit", None)):
        workers = PoolWorkers(executor, int(max_workers or cpu_count()), directory)
    else:
        expected = "a concurrent.futures.Executor, a distributed.Client or a spinney.ray.RayWorkers"
        reject_parameter("grow_with", "executor", executor, expected)
    with use_workers(workers):
        yield
