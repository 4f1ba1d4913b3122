"""The workers of a client of Dask.

Results are gathered from the workers that have them. The executor of `Client.get_executor` would
take them through the scheduler, and its futures never end if that fails.
"""

from __future__ import annotations

import asyncio
from concurrent import futures
from typing import Any

from distributed import Client, Future, KilledWorker
from distributed.comm.core import CommClosedError

from spinney._cluster.growth import Workers
from spinney._cluster.job import Job


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

    def submit(self, shared: Future, first_tree: int, n_trees: int) -> futures.Future[Any]:
        """Start a task; Dask runs it again when its worker dies."""
        task = self._client.submit(Job.grow, shared, first_tree, n_trees, pure=False)
        self._tasks.append(task)
        coming: futures.Future[Any] = asyncio.run_coroutine_threadsafe(
            self._client.gather(task, direct=True, asynchronous=True),
            self._client.loop.asyncio_loop,
        )
        return coming

    def release(self) -> None:
        """Cancel what has not begun; what is done is no longer needed."""
        if self._tasks:
            self._client.cancel(self._tasks, force=True)
        self._tasks = []
