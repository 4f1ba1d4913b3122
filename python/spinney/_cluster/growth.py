"""How workers grow a forest: ranges of trees, until all are there.

A range of trees is a function of the data set, of parameters and of numbers of trees. So it does
not matter where and how often it is grown, and what is lost is grown again.

Dask and Ray carry the data, run a task again whose worker has died, and cancel tasks. This file
does what they do not:

- It chooses ranges that take two seconds. Nobody knows beforehand how long a tree takes: with a
  task for each tree small trees drown in messages, and with few tasks a lost one costs much.
- It ends. Dask waits for ever for a task when no worker is left, and cancels tasks when the last
  worker that had the job has died: then the job is shared again.
- It reports progress, and puts the trees in the order of their numbers.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import reduce
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from spinney._cluster.job import Job
from spinney._fit.task import Watcher
from spinney._spinney import Forest

# Seconds of work in a task, once it is known how long a tree takes.
_TASK_SECONDS = 2.0
# Tasks that are handed out for each that can run.
_AHEAD = 2
# Seconds without any worker after which to give up.
_PATIENCE = 300.0
# Times, and seconds, that only losses came in, after which to give up: both, as trees may take
# hours, and a cluster may lose workers every second.
_MAX_LOSSES = 10
_LOSING = 60.0
# Seconds to wait for tasks, and for new workers after all tasks were lost.
_LOOK = 1.0


class Workers(ABC):
    """Those who grow trees: what this room needs to know of a pool or of a cluster."""

    LOST: ClassVar[tuple[type[BaseException], ...]] = ()
    """What a task raises that has died with its worker, and is to run again."""

    @abstractmethod
    def count(self) -> int:
        """Return the number of tasks that run at a time."""

    @abstractmethod
    def share(self, job: Job) -> Any:
        """Bring a job to where the workers can read it; return what stands for it in tasks."""

    @abstractmethod
    def submit(self, shared: Any, first_tree: int, n_trees: int) -> Future[Any]:
        """Start a task: `Job.grow` with these numbers."""

    @abstractmethod
    def release(self) -> None:
        """Give up what has not begun, and remove what was shared."""


def grow(
    workers: Workers, job: Job, first_tree: int, n_trees: int, watcher: Watcher
) -> tuple[Forest, int, NDArray[np.int64]]:
    """Grow the trees with the numbers from `first_tree` on; see `Task.grow_forest`.

    Raises
    ------
    RuntimeError
        If workers die again and again, or their version of spinney is another one.
    TimeoutError
        If there are no workers.
    """
    grown = run(workers, job, first_tree, n_trees, watcher)
    forest = reduce(Forest.extended, (part.forest for part in grown))
    return forest, grown[0].max_features, grown[0].with_missing


def run(workers: Workers, job: Job, first: int, n: int, watcher: Watcher) -> list[Any]:
    """Grow the parts with the numbers from `first` on, which workers return some at a time.

    Raises
    ------
    RuntimeError
        If workers die again and again, or their version of spinney is another one.
    TimeoutError
        If there are no workers.
    """
    growth = _Growth(workers, job, first, n)
    try:
        while growth.n_done < n:
            growth.hand_out()
            growth.take_in()
            if watcher is not None:
                watcher(growth.n_done)
    finally:
        workers.release()
    return [growth.grown[part] for part in sorted(growth.grown)]


class _Growth:
    """A forest that is being grown."""

    def __init__(self, workers: Workers, job: Job, first_tree: int, n_trees: int) -> None:
        self._workers, self._job = workers, job
        self._shared: Any = None
        # The first tree and the number of trees of ranges that are to be handed out, and are.
        self._pending = deque([(first_tree, n_trees)])
        self._running: dict[Future[Any], tuple[int, int]] = {}
        self.grown: dict[int, Any] = {}
        self.n_done, self._seconds, self._n_losses = 0, 0.0, 0
        # When there were workers, and when a task was finished.
        self._last_seen = self._last_news = time.monotonic()

    def hand_out(self) -> None:
        """Start as many tasks as keep the workers busy."""
        n_slots = self._workers.count()
        if n_slots > 0:
            self._last_seen = time.monotonic()
        elif time.monotonic() - self._last_seen > _PATIENCE:
            raise TimeoutError(f"The cluster has had no workers for {_PATIENCE:.0f} seconds.")
        n_wanted = _AHEAD * n_slots
        size = self._choose_size(n_wanted)
        try:
            while self._pending and len(self._running) < n_wanted:
                self._shared = self._shared or self._workers.share(self._job)
                first, n_trees = self._pending[0]
                taken = min(n_trees, size)
                self._running[self._workers.submit(self._shared, first, taken)] = (first, taken)
                self._pending.popleft()
                if taken < n_trees:
                    self._pending.appendleft((first + taken, n_trees - taken))
        except self._workers.LOST as error:
            self._note_loss(error)

    def _choose_size(self, n_tasks: int) -> int:
        """Return the number of trees of a task, if `n_tasks` tasks are handed out at a time."""
        if self.n_done == 0:
            return 1
        by_time = int(_TASK_SECONDS * self.n_done / max(self._seconds, 1e-9))
        # All workers are to be done at the same time.
        fair = sum(n for _, n in self._pending) // max(n_tasks, 1)
        return max(1, min(by_time, fair))

    def take_in(self) -> None:
        """Collect what is done; what was lost is to be handed out again."""
        if not self._running:
            time.sleep(_LOOK)
        lost = None
        for task in wait(self._running, _LOOK, FIRST_COMPLETED).done:
            first, n_trees = self._running.pop(task)
            try:
                self.grown[first] = task.result()
            except self._workers.LOST as error:
                self._pending.appendleft((first, n_trees))
                lost = error
            else:
                self.n_done += n_trees
                self._seconds += self.grown[first].seconds
                self._n_losses, self._last_news = 0, time.monotonic()
        if lost is not None:
            self._note_loss(lost)

    def _note_loss(self, reason: BaseException) -> None:
        """Share the job again, which may have died with its workers."""
        self._shared = None
        self._n_losses += 1
        seconds = time.monotonic() - self._last_news
        if self._n_losses > _MAX_LOSSES and seconds > _LOSING:
            raise RuntimeError(
                f"The cluster has lost tasks for {seconds:.0f} seconds without finishing one. "
                "Workers that have too little memory are killed: to grow trees, one needs at least "
                f"{self._job.n_bytes:,} bytes. The last loss: {reason!r}"
            ) from reason
