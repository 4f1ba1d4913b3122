"""Forests on clusters of processes of this machine, and data sets larger than memory.

Two worker processes of one thread against one process of two threads; what is sent to a worker
beside the encoded data set; forests whose workers are killed at random, whose bits must be those of
the local forest; fits in a control group with less memory than the encoded data (Linux, as root);
and what it takes to encode a Parquet file, beside reading it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from common import print_versions
from spinney import Dataset, RandomForestClassifier

GROUPS = Path("/sys/fs/cgroup")


def make_problem(n_rows: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    return X, (X[:, :10].sum(axis=1) + rng.normal(size=n_rows) > 0).astype(int)


@contextlib.contextmanager
def start(n_workers: int) -> Iterator:
    from distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    cluster = LocalCluster(n_workers=n_workers, **options)
    try:
        with Client(cluster) as client:
            yield client
    finally:
        # Dask waits in vain for killed workers that are about to start again.
        with contextlib.suppress(TimeoutError):
            cluster.close()


@contextlib.contextmanager
def start_again_quickly() -> Iterator:
    """Have workers that are killed come back.

    A worker that starts by itself imports for seconds. If one of ten is killed every second, all of
    them are soon starting, and after 15 seconds Dask gives them up. So workers are forked from a
    process that has imported everything, and Dask waits longer.
    """
    import dask
    from distributed.utils import get_mp_context

    settings = {
        "distributed.worker.multiprocessing-method": "forkserver",
        "distributed.deploy.lost-worker-timeout": "10 minutes",
    }
    with dask.config.set(settings):
        get_mp_context().set_forkserver_preload(["distributed", "spinney.dask"])
        yield


def compare_speed(arguments: argparse.Namespace) -> None:
    from spinney import dask as on_dask

    X, y = make_problem(arguments.rows, 30)
    trees = {"n_estimators": arguments.trees, "random_state": 0}
    least = {"one process, two threads": np.inf, "two processes, one thread": np.inf}
    with start(2) as client:
        # Workers import what they need.
        on_dask.RandomForestClassifier(4).fit(X[:1000], y[:1000])
        for repeat in range(arguments.repeats):
            start_of_local = time.perf_counter()
            local = RandomForestClassifier(**trees, n_jobs=2).fit(X, y)
            start_of_cluster = time.perf_counter()
            # Other data at each repeat, so that they are sent.
            weights = np.full(len(y), 1.0 + repeat)
            forest = on_dask.RandomForestClassifier(**trees, client=client)
            forest.fit(X + np.float32(repeat), y, weights)
            end = time.perf_counter()
            for name, seconds in zip(
                least, (start_of_cluster - start_of_local, end - start_of_cluster), strict=True
            ):
                least[name] = min(least[name], seconds)
            if repeat == 0:
                assert local.forest_.seeds == forest.forest_.seeds
    for name, seconds in least.items():
        print(f"{name:42}{seconds:10.2f} s")
    one, two = least.values()
    print(f"{'speed of two processes to one':42}{one / two:10.2f}", flush=True)
    count_bytes(X, y, arguments)


def count_bytes(X: np.ndarray, y: np.ndarray, arguments: argparse.Namespace) -> None:
    """Print what goes to a worker: the job once, with the data or the path of their file."""
    from spinney._cluster.growth import use_workers
    from spinney._cluster.pool import PoolWorkers

    sizes = []

    class Weighing(PoolWorkers):
        def share(self, job: Any) -> str:
            sizes.append(len(pickle.dumps(job)))
            return super().share(job)

    forest = RandomForestClassifier(arguments.trees, random_state=0)
    dataset = Dataset(X)
    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor(2) as pool:
        for data in (dataset, dataset):
            with use_workers(Weighing(pool, 2, directory)):
                forest.fit(data, y)
            dataset.save(Path(directory) / "data")
    print(f"{'a job with its data':42}{sizes[0]:10,} bytes")
    print(f"{'a job of data that have a file':42}{sizes[1]:10,} bytes", flush=True)


class Killer(threading.Thread):
    """Kills a random worker every second, but not the last one, and no one that is starting.

    Dask gives up workers that die while they start.
    """

    def __init__(self, client: Any, seed: int) -> None:
        super().__init__()
        self._nannies, self._chance = client.cluster.workers, random.Random(seed)
        self._stop_asked = threading.Event()
        self.n_alive: list[int] = []
        self.n_killed = 0

    def run(self) -> None:
        while not self._stop_asked.wait(1.0):
            processes = [(n.status.name, n.process) for n in list(self._nannies.values())]
            pids = [
                process.pid
                for status, process in processes
                if process and status == process.status.name == "running" and process.pid
            ]
            self.n_alive.append(len(pids))
            if len(pids) > 1:
                os.kill(self._chance.choice(pids), signal.SIGKILL)
                self.n_killed += 1

    def stop(self) -> None:
        self._stop_asked.set()
        self.join()


def kill_at_random(arguments: argparse.Namespace) -> None:
    from spinney import dask as on_dask

    X, y = make_problem(arguments.rows, 20)
    trees = {"n_estimators": arguments.kill_trees, "random_state": 0}
    local = RandomForestClassifier(**trees, n_jobs=2).fit(X, y)
    expected = [section.tobytes() for section in local.forest_.sections()]
    n_good = n_killed = 0
    with start_again_quickly():
        for run in range(arguments.runs):
            with start(arguments.workers) as client:
                killer = Killer(client, run)
                killer.start()
                begin = time.perf_counter()
                forest = on_dask.RandomForestClassifier(**trees, client=client)
                try:
                    forest.fit(X, y)
                finally:
                    killer.stop()
                seconds = time.perf_counter() - begin
            is_good = [section.tobytes() for section in forest.forest_.sections()] == expected
            n_good, n_killed = n_good + is_good, n_killed + killer.n_killed
            print(
                f"run {run + 1}: {'the bits of the local forest' if is_good else 'OTHER BITS'} in "
                f"{seconds:.1f} s, {killer.n_killed} killed, alive when the next was "
                f"{np.mean(killer.n_alive):.1f} on average and {min(killer.n_alive)} at least",
                flush=True,
            )
    print(
        f"{arguments.workers} workers, {n_killed} killed, {arguments.kill_trees} trees: the bits "
        f"of the local forest in {n_good} of {arguments.runs} runs",
        flush=True,
    )
    assert n_good == arguments.runs


# --- Less memory than data ----------------------------------------------------------------------

FIT = """
import sys, time
import numpy as np
from spinney import Dataset, RandomForestClassifier
start = time.perf_counter()
dataset = Dataset.open(sys.argv[1])
y = np.random.default_rng(0).integers(0, 2, len(dataset))
forest = RandomForestClassifier(2, max_depth=6, random_state=0).fit(dataset, y)
seconds = time.perf_counter() - start
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
peak, own = (int(status[name].split()[0]) * 1024 for name in ("VmHWM", "RssAnon"))
print(f"{forest.forest_.node_counts.sum()} nodes in {seconds:.1f} s, ", end="")
print(f"peak {peak:,} bytes resident, in the end {own:,} of them not of the file")
"""


@contextlib.contextmanager
def limit_memory(n_bytes: int) -> Iterator[tuple[Path, Path]]:
    """Yield two files of a control group that has no more memory than this.

    A process writes to the first one in order to join; the second one has the most bytes that were
    taken.
    """
    is_old = (GROUPS / "memory").is_dir()
    group = (GROUPS / "memory" if is_old else GROUPS) / f"spinney-{os.getpid()}"
    names = ["memory.limit_in_bytes", "tasks", "memory.max_usage_in_bytes"]
    limit, tasks, peak = names if is_old else ["memory.max", "cgroup.procs", "memory.peak"]
    group.mkdir()
    try:
        (group / limit).write_text(str(n_bytes))
        yield group / tasks, group / peak
    finally:
        group.rmdir()


def make_blocks(n_rows: int, n_features: int) -> Iterator[sp.csr_matrix]:
    """Yield sparse rows with 50 entries each."""
    rng = np.random.default_rng(0)
    for start_of_block in range(0, n_rows, 20_000):
        size = min(20_000, n_rows - start_of_block)
        values = rng.integers(1, 1000, size * 50).astype(np.float32)
        indices = rng.integers(0, n_features, size * 50)
        yield sp.csr_matrix((values, indices, np.arange(size + 1) * 50), shape=(size, n_features))


def fit_beyond_memory(arguments: argparse.Namespace) -> None:
    limit = arguments.limit_mb << 20
    wanted = limit * 3 // 2
    with tempfile.TemporaryDirectory(dir=arguments.directory) as directory:
        path = Path(directory) / "data"
        for kind in ("dense", "sparse"):
            begin = time.perf_counter()
            if kind == "dense":
                # Two bytes per cell.
                n_rows = wanted // (2 * 200)
                X = np.lib.format.open_memmap(
                    Path(directory) / "X.npy", "w+", np.float32, (n_rows, 200), True
                )
                rng = np.random.default_rng(0)
                for column in X.T:
                    column[:] = rng.integers(0, 60_000, n_rows)
                Dataset.write(path, X, max_memory=limit // 2)
                (Path(directory) / "X.npy").unlink()
            else:
                # Some twelve bytes per entry.
                Dataset.write(path, make_blocks(wanted // (12 * 49), 20_000), max_memory=limit // 2)
            seconds = time.perf_counter() - begin
            size = path.stat().st_size
            with path.open("rb") as file:
                # What is in memory would be charged to this process.
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            with limit_memory(limit) as (tasks, peak):
                # The shell joins the group, and becomes Python: all that Python takes counts.
                enter = ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(tasks)]
                command = [*enter, sys.executable, "-c", FIT, str(path)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                charged = int(peak.read_text())
            print(
                f"{kind}: {size:,} bytes (written in {seconds:.0f} s), limit {limit:,} bytes "
                f"(the file is {size / limit:.2f} times that): {done.stdout.strip()}; "
                # Libraries that other processes have read are resident, too.
                f"at most {charged:,} bytes counted by the group",
                flush=True,
            )


def encode_parquet(arguments: argparse.Namespace) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory(dir=arguments.directory) as directory:
        path, out = Path(directory) / "X.parquet", Path(directory) / "data"
        rng = np.random.default_rng(0)
        n_rows = arguments.parquet_rows
        columns = {f"f{n}": rng.normal(size=n_rows).astype(np.float32) for n in range(100)}
        pq.write_table(pa.table(columns), path)
        Dataset(np.zeros((2, 1)))  # It imports.
        steps = {
            "read by pyarrow": lambda: pq.read_table(path),
            "encode what was read": lambda: Dataset(table, n_jobs=2),
            "read, encode and write, in 1 GB": lambda: Dataset.write(out, path, n_jobs=2),
            "write as many bytes, without us": lambda: write_bytes(Path(directory) / "raw", size),
        }
        table, size = pq.read_table(path), 0
        least = {name: [np.inf, np.inf] for name in steps}
        for _ in range(arguments.repeats):
            for name, step in steps.items():
                begin, begin_of_cpu = time.perf_counter(), time.process_time()
                step()
                seconds = time.perf_counter() - begin, time.process_time() - begin_of_cpu
                least[name] = [min(pair) for pair in zip(least[name], seconds, strict=True)]
                size = out.stat().st_size if out.exists() else 0
        print(f"Parquet, {n_rows:,} x 100 float32, two threads; the file has {size:,} bytes")
        print(f"{'':42}{'seconds':>10}{'of CPU':>10}")
        for name, (seconds, of_cpu) in least.items():
            print(f"{name:42}{seconds:10.2f}{of_cpu:10.2f}", flush=True)


def write_bytes(path: Path, n_bytes: int) -> None:
    piece = bytes(1 << 22)
    with path.open("wb") as file:
        for _ in range(n_bytes // len(piece)):
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())


PARTS = {
    "speed": compare_speed,
    "kills": kill_at_random,
    "memory": fit_beyond_memory,
    "parquet": encode_parquet,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--trees", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--workers", type=int, default=10)
    parser.add_argument("--kill-trees", type=int, default=500)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--limit-mb", type=int, default=1024)
    parser.add_argument("--parquet-rows", type=int, default=1_000_000)
    parser.add_argument("--directory", default=None, help="for large files")
    arguments = parser.parse_args()
    print_versions()
    for part in arguments.parts:
        PARTS[part](arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
