"""How a forest is grown on a cluster, whatever the cluster: ranges of trees, until all are there.

Each host gets the data set once, as a file. A task is a few trees: a function of the data set, of
parameters and of numbers of trees. So it does not matter where and how often it runs, and when a
worker is lost, its trees are grown elsewhere.
"""

from __future__ import annotations

import secrets
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import reduce
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from spinney._cluster import host_cache
from spinney._cluster.task import Grown, Job, Missing, Parcel, Report
from spinney._fit.task import Watcher
from spinney._spinney import Forest
from spinney.storage._models import map_file

# Bytes of a file that are sent at a time.
_PIECE = 1 << 25
# Seconds of work in a task, once it is known how long a tree takes.
_TASK_SECONDS = 2.0
# Tasks that are handed out for each that can run.
_AHEAD = 2
# Seconds without any worker, and losses in a row per task that can run, after which to give up.
_PATIENCE = 300.0
_MAX_LOSSES = 8
# Seconds without a finished task after which to look whether there are other workers now.
_LOOK = 10.0
# Bytes that the growth of a tree takes at least for a sample: rows, keys, ranks and targets.
_BYTES_PER_SAMPLE = 32


class LostError(Exception):
    """A worker died, or the result of a task has gone with it: the task is to be run again."""


class Worker(NamedTuple):
    """What is known of a worker, or of a machine whose workers are alike."""

    report: Report
    n_threads: int
    memory: int | None
    """Bytes that it may use; None if there is no limit."""


class Cluster(Protocol):
    """What the plan needs of a cluster. `Any` is what the cluster calls a worker or a task."""

    def count_slots(self) -> int:
        """Return the number of tasks that run at a time."""

    def ask(self, job_version: str, keys: list[str]) -> dict[Any, Worker]:
        """Return what the workers say, without those that die meanwhile; see `report_host`."""

    def send(
        self, workers: list[Any], piece: NDArray[np.uint8], arguments: tuple[str, str, int, int]
    ) -> None:
        """Let workers of several hosts `receive` a piece. Those that die do not matter."""

    def submit(self, job: Job, first_tree: int, n_trees: int) -> Any:
        """Start a task, which is `grow_range`."""

    def wait(self, tasks: list[Any], seconds: float) -> Iterable[Any]:
        """Return the tasks that are done, at the latest after some seconds."""

    def collect(self, task: Any) -> Grown | Missing:
        """Return the result of a task that is done; raise LostError if there is none."""

    def cancel(self, tasks: list[Any]) -> None:
        """Give up tasks."""


def grow(
    cluster: Cluster, job: Job, first_tree: int, n_trees: int, watcher: Watcher
) -> tuple[Forest, int, NDArray[np.int64]]:
    """Grow the trees with the numbers from `first_tree` on; see `Task.grow_forest`.

    Raises
    ------
    MemoryError, OSError
        If a worker or a host has too little memory or disk space. The message says how much it
        takes.
    RuntimeError
        If versions of spinney differ, or workers die again and again.
    TimeoutError
        If there are no workers.
    """
    distribute(cluster, job)
    plan = _Plan(cluster, job, first_tree, n_trees)
    with plan.running():
        while plan.n_done < n_trees:
            plan.hand_out()
            plan.take_in()
            if watcher is not None:
                watcher(plan.n_done)
    return plan.join()


class _Plan:
    """The trees of a forest that is being grown.

    Parameters
    ----------
    cluster : Cluster
    job : Job
    first_tree, n_trees : int
    """

    def __init__(self, cluster: Cluster, job: Job, first_tree: int, n_trees: int) -> None:
        self._cluster, self._job, self._n_trees = cluster, job, n_trees
        # The first tree and the number of trees of ranges that are to be handed out, and are.
        self._pending = deque([(first_tree, n_trees)])
        self._running: dict[Any, tuple[int, int]] = {}
        self._grown: dict[int, Grown] = {}
        self.n_done = 0
        self._seconds = 0.0
        self._n_losses = 0
        # When there were workers, and when a task was done or hosts were asked.
        self._last_seen = self._last_news = time.monotonic()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Cancel what is handed out in the end."""
        try:
            yield
        finally:
            self._cluster.cancel(list(self._running))

    def hand_out(self) -> None:
        """Start as many tasks as keep the cluster busy."""
        n_slots = self._cluster.count_slots()
        if n_slots > 0:
            self._last_seen = time.monotonic()
        elif time.monotonic() - self._last_seen > _PATIENCE:
            raise TimeoutError(f"The cluster has had no workers for {_PATIENCE:.0f} seconds.")
        size = self._choose_size(n_slots)
        while self._pending and len(self._running) < _AHEAD * max(n_slots, 1):
            first, n_trees = self._pending.popleft()
            if n_trees > size:
                self._pending.appendleft((first + size, n_trees - size))
            taken = min(n_trees, size)
            task = self._cluster.submit(self._job, first, taken)
            self._running[task] = (first, taken)

    def _choose_size(self, n_slots: int) -> int:
        """Return the number of trees of a task."""
        if self.n_done == 0:
            return 1
        by_time = int(_TASK_SECONDS * self.n_done / max(self._seconds, 1e-9))
        # All workers are to be done at the same time.
        fair = sum(n for _, n in self._pending) // (_AHEAD * max(n_slots, 1))
        return max(1, min(by_time, fair))

    def take_in(self) -> None:
        """Collect what is done; what was lost is to be handed out again."""
        asks = time.monotonic() - self._last_news > _LOOK
        for task in self._cluster.wait(list(self._running), 1.0):
            numbers = self._running.pop(task)
            try:
                result = self._cluster.collect(task)
            except LostError as error:
                self._note_loss(numbers, error)
                continue
            if isinstance(result, Missing):
                self._note_loss(numbers, f"the host {result.host} has no data set")
                asks = True
                continue
            self._grown[numbers[0]] = result
            self.n_done += numbers[1]
            self._seconds += result.seconds
            self._n_losses = 0
            self._last_news = time.monotonic()
        if asks:
            # A worker is of a new host or has little memory, or files were removed.
            distribute(self._cluster, self._job)
            self._last_news = time.monotonic()

    def _note_loss(self, numbers: tuple[int, int], reason: Any) -> None:
        self._pending.appendleft(numbers)
        self._n_losses += 1
        if self._n_losses > _MAX_LOSSES * max(1, len(self._running)):
            raise RuntimeError(
                f"The cluster has lost {self._n_losses} tasks in a row without finishing one. "
                f"Workers that have too little memory are killed: {describe_need(self._job, 1)}. "
                f"The last loss: {reason}"
            )

    def join(self) -> tuple[Forest, int, NDArray[np.int64]]:
        """Return all trees, in the order of their numbers."""
        grown = [self._grown[first] for first in sorted(self._grown)]
        forest = reduce(Forest.extended, (part.forest for part in grown))
        return forest, grown[0].max_features, grown[0].with_missing


def distribute(cluster: Cluster, job: Job) -> None:
    """Give each host the files that it does not have."""
    parcels = [parcel for parcel in (job.dataset, job.arrays) if parcel.head is None]
    workers = cluster.ask(job.version, [parcel.key for parcel in parcels])
    check_memory(job, workers.values())
    one_of_host = {worker.report.host: at for at, worker in workers.items()}
    for parcel in parcels:
        lacking = [at for at in one_of_host.values() if parcel.key in workers[at].report.missing]
        for at in lacking:
            free = workers[at].report.free_space
            if free < parcel.n_bytes:
                raise OSError(
                    f"The host of {at} needs {parcel.n_bytes:,} bytes of disk space for the data "
                    f"set, and has {free:,}. Set the environment variable "
                    f"{host_cache.VARIABLE} of its workers to another directory."
                )
        if lacking:
            _send(cluster, lacking, parcel)


def _send(cluster: Cluster, workers: list[Any], parcel: Parcel) -> None:
    path, sender = host_cache.find(parcel.key), secrets.token_hex(8)
    if path is None:
        raise FileNotFoundError(f"The file {parcel.key} is no longer in the cache of this machine.")
    data = map_file(path)
    for start in range(0, parcel.n_bytes, _PIECE):
        piece = data[start : start + _PIECE].copy()
        cluster.send(workers, piece, (parcel.key, sender, parcel.n_bytes, start))


def check_memory(job: Job, workers: Iterable[Worker]) -> None:
    """Raise MemoryError if a worker, or all workers of a host, have too little memory."""
    n_threads: dict[str, int] = {}
    for worker in workers:
        host, memory = worker.report.host, worker.report.memory
        n_threads[host] = n_threads.get(host, 0) + worker.n_threads
        for limit, n, who in (
            (worker.memory, worker.n_threads, "A worker"),
            (memory, n_threads[host], "A host"),
        ):
            # The data set itself is mapped: a host with less memory is slow, and no more.
            mapped = job.dataset.n_bytes if who == "A worker" else 0
            if limit and mapped + _count_bytes(job, n) > limit:
                raise MemoryError(
                    f"{who} of the cluster has {limit:,} bytes of memory and {n} threads: "
                    f"{describe_need(job, n)}."
                )


def _count_bytes(job: Job, n_threads: int) -> int:
    return job.arrays.n_bytes + n_threads * _BYTES_PER_SAMPLE * job.draws.n_samples


def describe_need(job: Job, n_threads: int) -> str:
    """Return how much memory a worker needs, in words."""
    return (
        f"it needs at least {_count_bytes(job, n_threads):,} bytes to grow trees, and "
        f"{job.dataset.n_bytes:,} bytes of the data set count as its own"
    )
