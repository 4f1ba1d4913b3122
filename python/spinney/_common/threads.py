"""How many threads `n_jobs` means."""

from __future__ import annotations

import os
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
# More threads for a core would only wait for each other, and thousands take minutes to start.
_MOST_PER_CORE = 16


def count_threads(n_jobs: Any) -> int:
    """Return the number of threads on this machine, at most 16 for each core.

    Parameters
    ----------
    n_jobs : int or None
        As for scikit-learn: -1 means one per core, and None what `joblib.parallel_config` says,
        else 1. A backend that spreads work over a cluster counts the cores of all machines, but
        threads run on one: there -1 means the cores of this machine, and None means 1.
    """
    backend, _ = get_active_backend()
    if type(backend) in _LOCAL:
        asked = effective_n_jobs(n_jobs)
    else:
        with parallel_config(backend="threading"):
            asked = effective_n_jobs(1 if n_jobs is None else n_jobs)
    return min(int(asked), _MOST_PER_CORE * (os.cpu_count() or 1))
