"""Forests that are grown by the workers of a Dask cluster; `spinney[dask]` installs what they need.

Bit for bit, the classes of the same names in `spinney` grow the same forests, however many
workers there are and whatever becomes of them.

Results are gathered from the workers that have them. The executor of `Client.get_executor` would
take them through the scheduler, and its futures never end if that fails.
"""

from __future__ import annotations

import asyncio
from concurrent import futures
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

try:
    import dask
    import dask.array as da
    from dask.base import is_dask_collection
    from distributed import Client, Future, KilledWorker, get_client
    from distributed.comm.core import CommClosedError
except ImportError as error:
    raise ImportError(
        "spinney.dask needs the packages dask and distributed: "
        'python -m pip install "spinney[dask]"'
    ) from error

from spinney import ensemble
from spinney._cluster.growth import Workers
from spinney._cluster.job import Grown, Job
from spinney.dataset import Dataset
from spinney.ensemble._cluster_forest import ClusterClassifier, ClusterForest

__all__ = [
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
]


class DaskWorkers(Workers):
    """The workers of a client.

    Parameters
    ----------
    client : distributed.Client
    """

    LOST = (
        CommClosedError,
        ConnectionError,
        KilledWorker,
        TimeoutError,
        asyncio.CancelledError,
        futures.CancelledError,
    )

    def __init__(self, client: Client) -> None:
        self._client = client
        self._tasks: list[Future] = []

    def count(self) -> int:
        """Return the threads of all workers."""
        return sum(self._client.nthreads().values())

    def share(self, job: Job) -> Future:
        """Send the job to one worker, and from it to the others; the scheduler does not see it."""
        try:
            return self._client.scatter(job, broadcast=True, direct=True, hash=False)
        except (KeyError, OSError) as error:
            # Whoever tries in vain to connect to a machine gets a plain OSError, and the scheduler
            # looks for a worker that dies meanwhile.
            raise ConnectionError(f"the data could not be sent: {error!r}") from error

    def submit(self, shared: Future, first_tree: int, n_trees: int) -> futures.Future[Grown]:
        """Start a task; Dask runs it again when its worker dies."""
        task = self._client.submit(Job.grow, shared, first_tree, n_trees, pure=False)
        self._tasks.append(task)
        coming: futures.Future[Grown] = asyncio.run_coroutine_threadsafe(
            self._client.gather(task, direct=True, asynchronous=True),
            self._client.loop.asyncio_loop,
        )
        return coming

    def release(self) -> None:
        """Cancel what has not begun; what is done is no longer needed."""
        if self._tasks:
            self._client.cancel(self._tasks, force=True)
        self._tasks = []


class DaskForest(ClusterForest):
    """Base class of the forests that are grown by Dask."""

    _connection: ClassVar[str] = "client"
    client: Client | None

    def _connect(self) -> DaskWorkers:
        try:
            client = get_client() if self.client is None else self.client
        except ValueError:
            raise ValueError(
                "client=None means the current client of Dask, and there is none. Make a "
                "distributed.Client, or pass one."
            ) from None
        if not isinstance(client, Client):
            self._reject("client", "a distributed.Client or None")
        return DaskWorkers(client)

    def _read_collections(self, X: Any, others: list[Any]) -> tuple[Any, list[Any]]:
        others = list(dask.compute(*others))
        if not is_dask_collection(X):
            return X, others
        n_threads = self._count_threads()
        with TemporaryDirectory(prefix="spinney-", ignore_cleanup_errors=True) as directory:
            path = Path(directory) / "data"
            Dataset.write(path, X, categorical_features=self.categorical_features, n_jobs=n_threads)
            return Dataset._open_temporary(path, n_threads), others

    def _is_collection(self, X: Any) -> bool:
        return bool(is_dask_collection(X))

    def _apply_lazily(self, method: str, X: Any) -> Any:
        """Return dask arrays of what a method of the local class predicts for blocks of rows."""
        is_frame = not isinstance(X, da.Array)
        blocks = X.to_delayed() if is_frame else X.rechunk({1: -1}).to_delayed().ravel()
        lengths = [np.nan] * len(blocks) if is_frame else X.chunks[0]
        model = dask.delayed(self.to_local(), pure=False, traverse=False)
        results = [getattr(model, method)(block) for block in blocks]

        def join(parts: list[Any], of_output: NDArray[Any]) -> Any:
            shape, dtype = of_output.shape[1:], of_output.dtype
            pairs = zip(parts, lengths, strict=True)
            return da.concatenate(
                [da.from_delayed(part, (length, *shape), dtype) for part, length in pairs]
            )

        sample = self._make_sample(method)
        if not isinstance(sample, list):
            return join(results, sample)
        return [join([part[n] for part in results], sample[n]) for n in range(len(sample))]


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


class ExtraTreesRegressor(DaskForest, ensemble.ExtraTreesRegressor):
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


class RandomForestRegressor(DaskForest, ensemble.RandomForestRegressor):
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
