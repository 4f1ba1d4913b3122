"""Who grows the trees of the forests that are fitted here: threads of this process, or workers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spinney._cluster.growth import Workers

# The workers, and the process that may ask them: one that it forks, such as a worker, has a copy of
# this variable, but not the threads that serve a pool.
_active: ContextVar[tuple[Workers | None, int]] = ContextVar("spinney_workers")


def get_workers() -> Workers | None:
    """Return who grows the trees of forests here; None means the threads of this process."""
    workers, process = _active.get((None, 0))
    return workers if process == os.getpid() else None


@contextmanager
def use_workers(workers: Workers | None) -> Iterator[None]:
    """Let workers grow the trees of the forests that are fitted within the block."""
    token = _active.set((workers, os.getpid()))
    try:
        yield
    finally:
        _active.reset(token)
