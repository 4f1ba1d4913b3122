"""How many threads `n_jobs` means."""

from __future__ import annotations

from typing import Any

from joblib import effective_n_jobs, parallel_config
from joblib.parallel import (
    LokyBackend,
    MultiprocessingBackend,
    SequentialBackend,
    ThreadingBackend,
    get_active_backend,
)

# Those that use one machine. A backend of another library may be a subclass.
_LOCAL = (LokyBackend, MultiprocessingBackend, SequentialBackend, ThreadingBackend)


def count_threads(n_jobs: Any) -> int:
    """Return the number of threads on this machine.

    Parameters
    ----------
    n_jobs : int or None
        As for scikit-learn: -1 means one per core, and None what `joblib.parallel_config` says,
        else 1. A backend that spreads work over a cluster counts the cores of all machines, but
        threads run on one: there -1 means the cores of this machine, and None means 1.
    """
    backend, _ = get_active_backend()
    if type(backend) in _LOCAL:
        return int(effective_n_jobs(n_jobs))
    with parallel_config(backend="threading"):
        return int(effective_n_jobs(1 if n_jobs is None else n_jobs))
