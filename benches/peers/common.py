"""What the peer benches share: fair timing, tree comparison, and the versions line."""

from __future__ import annotations

import argparse
import datetime as dt
import gc
import importlib
import importlib.util
import json
import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

REPOSITORY = Path(__file__).resolve().parents[2]
# Data sets too large to ship; laid beside the repository.
SHARED_DATA = REPOSITORY.parent / "shared" / "data"

# A contender whose first run takes longer than this many seconds is not run again: its
# run-to-run noise is then small beside the ratios that are reported.
SLOW_SECONDS = 60.0

TREE_ARRAYS = (
    "children_left",
    "children_right",
    "feature",
    "threshold",
    "missing_go_to_left",
    "value",
    "impurity",
    "n_node_samples",
    "weighted_n_node_samples",
)


@dataclass
class Timing:
    """The seconds of each run of one contender, and the model of its last run."""

    seconds: list[float] = field(default_factory=list)
    model: object = None

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def time_interleaved(
    contenders: dict[str, Callable[[], object]], repeats: int, slow_seconds: float = SLOW_SECONDS
) -> dict[str, Timing]:
    """Call each contender up to `repeats` times, taking turns.

    Turns spread a slow phase of the machine over all contenders instead of hitting one.
    """
    timings = {name: Timing() for name in contenders}
    for _ in range(repeats):
        for name, fit in contenders.items():
            timing = timings[name]
            if timing.seconds and timing.seconds[0] > slow_seconds:
                continue
            gc.collect()
            start = time.perf_counter()
            timing.model = fit()
            timing.seconds.append(time.perf_counter() - start)
    return timings


def seconds(work: Callable[[], object]) -> float:
    """Return how long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def processor_seconds(work: Callable[[], object]) -> float:
    """Return how long the processor works on one call, on all threads together."""
    start = time.process_time()
    work()
    return time.process_time() - start


def is_there(package: str) -> bool:
    """Return whether a package is installed; say so if it is not."""
    there = importlib.util.find_spec(package) is not None
    if not there:
        print(f"skipped: {package} is not installed")
    return there


def positive(text: str) -> int:
    """Read an int of at least 1: a type for `argparse`."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {number}")
    return number


def same_bits(first, second) -> bool:
    """Whether all arrays of two `tree_` objects are equal bit for bit."""
    for name in TREE_ARRAYS:
        a, b = np.asarray(getattr(first, name)), np.asarray(getattr(second, name))
        if a.dtype != b.dtype or a.shape != b.shape or a.tobytes() != b.tobytes():
            return False
    return True


def mean_depth(tree) -> float:
    """Depth of the leaf of an average training sample.

    A sample is counted once in every internal node on its way, so the sum of their sizes is the
    sum of the depths.
    """
    internal = np.asarray(tree.children_left) >= 0
    sizes = np.asarray(tree.n_node_samples, dtype=np.float64)
    return float(sizes[internal].sum() / sizes[0])


def geometric_mean(values: list[float]) -> float:
    return math.exp(statistics.fmean(math.log(value) for value in values))


def cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def record(work: str, values: dict[str, float], kind: str = "seconds") -> None:
    """Write a row of results into the file that the variable SPINNEY_RESULTS names, if it is set.

    `benches/peers/README.md` has the format. Values of the same work and kind are replaced.

    Parameters
    ----------
    work : str
        What was measured: the key of the row.
    values : dict
        By the name of the library.
    kind : str
        "seconds", "ratios" of seconds to those of spinney, or "scores" on held-out rows.
    """
    path = os.environ.get("SPINNEY_RESULTS")
    if not path:
        return
    file = Path(path)
    results = json.loads(file.read_text()) if file.exists() else {"format": 1, "rows": {}}
    results["versions"] = {**results.get("versions", {}), **find_versions()}
    results["processor"] = cpu_model()
    rounded = {name: float(f"{value:.4g}") for name, value in values.items()}
    results["rows"].setdefault(work, {})[kind] = rounded
    results.setdefault("scripts", {})[work] = Path(sys.argv[0]).name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")


def record_timings(
    work: str, timings: dict[str, Timing], scores: dict[str, float] | None = None
) -> None:
    """Record the median seconds of each contender, and perhaps its score on held-out rows."""
    record(work, {name: timing.median for name, timing in timings.items()})
    if scores:
        record(work, scores, "scores")


def find_versions() -> dict[str, str]:
    modules = {"spinney": "spinney", "scikit-learn": "sklearn", "numpy": "numpy", "scipy": "scipy"}
    found = {name: importlib.import_module(m).__version__ for name, m in modules.items()}
    return {**found, "Python": platform.python_version()}


def describe_run(command: str, others: dict[str, str] | None = None) -> dict[str, Any]:
    """Return what a file of results says of a run: command, day, versions and machine."""
    return {
        "command": command,
        "date": dt.datetime.now(tz=dt.timezone.utc).date().isoformat(),
        "versions": find_versions() | (others or {}),
        "machine": f"{cpu_model()}, {os.cpu_count()} cores, one thread",
    }


def write_results(path: Path, results: dict[str, Any]) -> None:
    """Write a file of results of format 1, which `benches/papers/report.py` reads."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"format": 1, **results}, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def print_versions(threads: int = 1) -> None:
    print(
        ", ".join(f"{name} {version}" for name, version in find_versions().items()),
        f"{cpu_model()}, {threads} thread{'s' if threads > 1 else ''}",
        sep="\n",
        flush=True,
    )
