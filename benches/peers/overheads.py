"""What a forest costs beside its splits: tiny data, many trees, an import, two threads."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import warnings

import numpy as np
import sklearn.datasets
import sklearn.ensemble

import spinney
from common import positive, print_versions, record, time_interleaved

# Of the trees of a small forest; a large one has this many times more.
N_TREES = 100
TIMES = 10
FORESTS = (
    "RandomForestClassifier",
    "ExtraTreesClassifier",
    "RandomForestRegressor",
    "ExtraTreesRegressor",
)


def tiny() -> None:
    """100 trees on 150 x 4 rows, against scikit-learn; and ten times as many trees."""
    X, classes = sklearn.datasets.load_iris(return_X_y=True)
    numbers = X[:, 3] + np.random.default_rng(0).normal(scale=0.1, size=len(X))
    heads = f"{'spinney':>12}{'scikit-learn':>14}{'ratio':>8}{f'{TIMES}x the trees':>16}"
    print(f"\n{N_TREES} trees on {X.shape[0]} x {X.shape[1]} (iris)\n{'':24}{heads}")
    for name in FORESTS:
        y = classes if name.endswith("Classifier") else numbers

        def fit(library, n_trees=N_TREES, name=name, y=y):
            return getattr(library, name)(n_trees, random_state=0).fit(X, y)

        timings = time_interleaved(
            {
                "ours": lambda fit=fit: fit(spinney),
                "theirs": lambda fit=fit: fit(sklearn.ensemble),
                "more": lambda fit=fit: fit(spinney, TIMES * N_TREES),
            },
            9,
        )
        ours, theirs, more = (timings[key].median for key in ("ours", "theirs", "more"))
        print(
            f"{name:24}{ours * 1e3:>9.2f} ms{theirs * 1e3:>11.2f} ms{theirs / ours:>8.1f}"
            f"{more / ours:>15.1f}x",
            flush=True,
        )
        record(f"{name} of {N_TREES} trees on iris", {"spinney": ours, "scikit-learn": theirs})


def imports(repeats: int) -> None:
    """Import a forest class in a fresh Python that has imported those of scikit-learn."""
    program = (
        "import time, sklearn.ensemble; start = time.perf_counter(); "
        "from spinney import RandomForestClassifier; print(time.perf_counter() - start)"
    )
    command = [sys.executable, "-c", program]
    # The first one compiles the modules.
    runs = [subprocess.run(command, check=True, capture_output=True) for _ in range(1 + repeats)]
    seconds = statistics.median(float(run.stdout) for run in runs[1:])
    print(f"\nimport of a forest class, beyond scikit-learn: {seconds * 1e3:.1f} ms", flush=True)
    record("import of a forest class, beyond scikit-learn", {"spinney": seconds})


def threads(n_jobs: int, repeats: int) -> None:
    """100 trees on 100,000 x 30, on one thread and on several."""
    X, y = sklearn.datasets.make_classification(
        100_000, n_features=30, n_informative=15, random_state=0
    )
    X = X.astype(np.float32)
    print(f"\n{N_TREES} trees on 100,000 x 30, 1 thread and {n_jobs}")
    for name in FORESTS[:2]:

        def fit(n_jobs, name=name):
            return getattr(spinney, name)(N_TREES, random_state=0, n_jobs=n_jobs).fit(X, y)

        timings = time_interleaved(
            {"one": lambda fit=fit: fit(1), "many": lambda fit=fit: fit(n_jobs)}, repeats
        )
        one, many = timings["one"].median, timings["many"].median
        record(
            f"{name} of {N_TREES} trees on 100,000 x 30, {n_jobs} threads",
            {"spinney": many, "spinney, one thread": one},
        )
        print(f"{name:24}{one:>9.2f} s {many:>9.2f} s{one / many:>8.2f}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=positive, default=2, help="threads (default: 2)")
    parser.add_argument("--repeats", type=positive, default=3, help="runs of each (default: 3)")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print_versions(arguments.jobs)
    tiny()
    imports(3 * arguments.repeats)
    threads(arguments.jobs, arguments.repeats)
    return 0


if __name__ == "__main__":
    sys.exit(main())
