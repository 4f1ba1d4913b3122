"""Forests that are grown by the workers of a Dask cluster; `spinney[dask]` installs what they need.

The forests are, bit for bit, those of the classes of the same names in `spinney`, however many
workers there are and whatever becomes of them.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Iterable, Iterator
from concurrent import futures
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

try:
    import dask
    import dask.array as da
    from dask.base import is_dask_collection
    from distributed import Client, Future, KilledWorker, get_client, wait
    from distributed.comm.core import CommClosedError
except ImportError as error:
    raise ImportError(
        "spinney.dask needs the packages dask and distributed: "
        'python -m pip install "spinney[dask]"'
    ) from error

from spinney import ensemble
from spinney._cluster import host_cache
from spinney._cluster.forest import ClusterClassifier, ClusterForest, ClusterRegressor
from spinney._cluster.plan import LostError, Worker
from spinney._cluster.task import Grown, Job, Missing, grow_range, report_host
from spinney.dataset import Dataset

__all__ = [
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
]

# What a call of a worker raises when the worker dies.
_LOST = (CommClosedError, KilledWorker, CancelledError, ConnectionError, TimeoutError)
# Seconds after which to look whether a result that is on its way has been lost.
_LOOK = 0.5


class DaskCluster:
    """The workers of a client.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._name = f"spinney-{secrets.token_hex(8)}"

    def count_slots(self) -> int:
        """Return the threads of all workers."""
        return sum(self._client.nthreads().values())

    def ask(self, job_version: str, keys: list[str]) -> dict[str, Worker]:
        """Return what each worker says of its host."""
        reports = self._client.run(report_host, job_version, keys, on_error="return")
        known = self._client.scheduler_info(n_workers=-1)["workers"]
        workers = {}
        for address, report in reports.items():
            if isinstance(report, _LOST) or address not in known:
                continue
            if isinstance(report, BaseException):
                raise RuntimeError(f"The worker {address} cannot grow trees: {report}") from report
            about = known[address]
            workers[address] = Worker(report, about["nthreads"], about["memory_limit"])
        return workers

    def send(
        self, workers: list[str], piece: NDArray[np.uint8], arguments: tuple[str, str, int, int]
    ) -> None:
        """Send a piece to one worker, and from it to the others; the scheduler does not see it."""
        try:
            future = self._client.scatter(
                piece, workers=workers, broadcast=True, direct=True, hash=False, timeout=30
            )
            results = self._client.run(
                _receive, future.key, arguments, workers=workers, on_error="return"
            )
        except (*_LOST, OSError):
            # Whoever tries in vain to connect to a machine gets a plain OSError.
            return
        known = self._client.scheduler_info(n_workers=-1)["workers"]
        for address, result in results.items():
            is_error = isinstance(result, BaseException) and address in known
            if is_error and not isinstance(result, (*_LOST, KeyError)):
                raise result

    def submit(self, job: Job, first_tree: int, n_trees: int) -> Future:
        """Start a task on any worker."""
        key = f"{self._name}-{first_tree}-{n_trees}-{secrets.token_hex(4)}"
        return self._client.submit(grow_range, job, first_tree, n_trees, key=key, pure=False)

    def wait(self, tasks: list[Future], seconds: float) -> Iterable[Future]:
        """Return the tasks that are done."""
        try:
            done: set[Future] = wait(tasks, timeout=seconds, return_when="FIRST_COMPLETED").done
            return done
        except TimeoutError:
            return []
        except CancelledError:
            return [task for task in tasks if task.cancelled()]

    def collect(self, task: Future) -> Grown | Missing:
        """Return the result of a task, which comes from its worker.

        When the worker has died, Dask runs the task again, and `gather` waits for that: for ever if
        no worker is left. The status of the task tells.
        """
        coming = asyncio.run_coroutine_threadsafe(
            self._client.gather(task, direct=True, asynchronous=True),
            self._client.loop.asyncio_loop,
        )
        try:
            while not futures.wait([coming], _LOOK).done:
                if task.status in ("pending", "lost"):
                    raise LostError("the worker died before its result was collected")
            result: Grown | Missing = coming.result()
        except _LOST as error:
            raise LostError(error) from None
        finally:
            if not coming.done():
                # This ends `gather`, too.
                self.cancel([task])
        return result

    def cancel(self, tasks: list[Future]) -> None:
        """Give up tasks: those that have not begun do not begin."""
        if tasks:
            self._client.cancel(tasks, force=True)


def _receive(key: str, arguments: tuple[str, str, int, int], dask_worker: Any = None) -> None:
    """Write a piece that this worker has in its memory to the cache of its host."""
    host_cache.receive(*arguments, dask_worker.data[key])


class DaskForest(ClusterForest):
    """Base class of the forests that are grown by Dask."""

    _connection: ClassVar[str] = "client"
    client: Client | None

    @contextmanager
    def _connect(self) -> Iterator[DaskCluster]:
        try:
            client = get_client() if self.client is None else self.client
        except ValueError:
            raise ValueError(
                "client=None means the current client of Dask, and there is none. Make a "
                "distributed.Client, or pass one."
            ) from None
        if not isinstance(client, Client):
            self._reject("client", "a distributed.Client or None")
        yield DaskCluster(client)

    def _read_collections(self, X: Any, others: list[Any]) -> tuple[Any, list[Any]]:
        others = list(dask.compute(*others))
        if not is_dask_collection(X):
            return X, others
        path = host_cache.get_directory() / f".writing-{secrets.token_hex(8)}"
        Dataset.write(
            path, X, categorical_features=self.categorical_features, n_jobs=self._count_threads()
        )
        return os.path.realpath(path), others

    def _is_collection(self, X: Any) -> bool:
        return bool(is_dask_collection(X))

    def _apply_lazily(self, method: str, X: Any) -> Any:
        """Return dask arrays of what a method of the local class predicts for blocks of rows."""
        is_frame = not isinstance(X, da.Array)
        blocks = X.to_delayed() if is_frame else X.rechunk({1: -1}).to_delayed().ravel()
        lengths = [np.nan] * len(blocks) if is_frame else X.chunks[0]
        model = dask.delayed(self.to_local(), pure=False, traverse=False)
        sample = self._make_sample(method)
        results = [dask.delayed(_apply)(model, method, block) for block in blocks]

        def join(parts: list[Any], of_output: NDArray[Any]) -> Any:
            shapes = [(length, *of_output.shape[1:]) for length in lengths]
            arrays = [
                da.from_delayed(part, shape, dtype=of_output.dtype)
                for part, shape in zip(parts, shapes, strict=True)
            ]
            return da.concatenate(arrays)

        if not isinstance(sample, list):
            return join(results, sample)
        return [join([part[n] for part in results], sample[n]) for n in range(len(sample))]


def _apply(model: Any, method: str, block: Any) -> Any:
    return getattr(model, method)(block)


class ExtraTreesClassifier(DaskForest, ClusterClassifier, ensemble.ExtraTreesClassifier):
    """Extremely randomised trees, grown by the workers of a Dask cluster.

    It is, bit for bit, the forest of the class of the same name in `spinney`, whose parameters and
    attributes it has. `n_jobs` is the number of threads of this machine, which encodes the data,
    estimates out of bag and predicts.

    Parameters
    ----------
    client : distributed.Client, default=None
        The cluster. None means the current client of Dask. Copies and pickles have None.

    Examples
    --------
    >>> from distributed import Client
    >>> from sklearn.datasets import load_iris
    >>> from spinney.dask import ExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> with Client(n_workers=2) as client:  # doctest: +SKIP
    ...     forest = ExtraTreesClassifier(random_state=0).fit(X, y)
    """


class ExtraTreesRegressor(DaskForest, ClusterRegressor, ensemble.ExtraTreesRegressor):
    """Extremely randomised trees, grown by the workers of a Dask cluster.

    It is, bit for bit, the forest of the class of the same name in `spinney`, whose parameters and
    attributes it has. `n_jobs` is the number of threads of this machine, which encodes the data,
    estimates out of bag and predicts.

    Parameters
    ----------
    client : distributed.Client, default=None
        The cluster. None means the current client of Dask. Copies and pickles have None.

    Examples
    --------
    >>> from distributed import Client
    >>> from sklearn.datasets import load_diabetes
    >>> from spinney.dask import ExtraTreesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> with Client(n_workers=2) as client:  # doctest: +SKIP
    ...     forest = ExtraTreesRegressor(random_state=0).fit(X, y)
    """


class RandomForestClassifier(DaskForest, ClusterClassifier, ensemble.RandomForestClassifier):
    """A random forest, grown by the workers of a Dask cluster.

    It is, bit for bit, the forest of the class of the same name in `spinney`, whose parameters and
    attributes it has. `n_jobs` is the number of threads of this machine, which encodes the data,
    estimates out of bag and predicts.

    Parameters
    ----------
    client : distributed.Client, default=None
        The cluster. None means the current client of Dask. Copies and pickles have None.

    Examples
    --------
    >>> from distributed import Client
    >>> from sklearn.datasets import load_iris
    >>> from spinney.dask import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> with Client(n_workers=2) as client:  # doctest: +SKIP
    ...     forest = RandomForestClassifier(random_state=0).fit(X, y)
    """


class RandomForestRegressor(DaskForest, ClusterRegressor, ensemble.RandomForestRegressor):
    """A random forest, grown by the workers of a Dask cluster.

    It is, bit for bit, the forest of the class of the same name in `spinney`, whose parameters and
    attributes it has. `n_jobs` is the number of threads of this machine, which encodes the data,
    estimates out of bag and predicts.

    Parameters
    ----------
    client : distributed.Client, default=None
        The cluster. None means the current client of Dask. Copies and pickles have None.

    Examples
    --------
    >>> from distributed import Client
    >>> from sklearn.datasets import load_diabetes
    >>> from spinney.dask import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> with Client(n_workers=2) as client:  # doctest: +SKIP
    ...     forest = RandomForestRegressor(random_state=0).fit(X, y)
    """
