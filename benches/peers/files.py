"""Model files and pickles: bytes a node, and the time of loading, against scikit-learn's pickles.

Every forest is fitted once, by both libraries, and written to a temporary directory. scikit-learn's
forest is written and loaded by joblib, as its documentation recommends. A load is timed alone, and
with the prediction of one row, for which the trees are read. With --gigabyte, forests are as large
as makes scikit-learn's pickles a gigabyte. Needs the real data beside the repository for covertype;
without them its rows are skipped.
"""

from __future__ import annotations

import argparse
import pickle
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import joblib
import numpy as np
import sklearn.ensemble

import spinney
from common import positive, print_versions, record, time_interleaved
from data_sets import find_data

SEED = 0


def covertype(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Half of the rows; of two classes, the most frequent one and the others."""
    data = np.load(find_data("covertype.npz"))
    rows = np.random.default_rng(SEED).permutation(data["y"].shape[0])[::2]
    y = data["y"][rows]
    return data["X"][rows].astype(np.float32), y == 2 if n_classes == 2 else y


def friedman() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(SEED)
    X = rng.random((50_000, 10), dtype=np.float32)
    signal = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return X, signal + 10 * X[:, 3] + 5 * X[:, 4] + rng.normal(size=50_000)


# The last item of each is how many trees make a pickle of a gigabyte.
CASES: tuple[tuple[str, str, Callable[[], tuple[np.ndarray, np.ndarray]], int], ...] = (
    ("covertype, two classes", "RandomForestClassifier", lambda: covertype(2), 240),
    ("covertype, seven classes", "RandomForestClassifier", lambda: covertype(7), 140),
    ("friedman1, a number", "RandomForestRegressor", friedman, 220),
)


def compare(
    name: str, kind: str, load: Callable, n_trees: int, arguments: argparse.Namespace
) -> None:
    if "covertype" in name and not find_data("covertype.npz").exists():
        print(f"{name:26}skipped, covertype.npz is not there")
        return
    X, y = load()
    ours, theirs = (
        getattr(library, kind)(n_trees, random_state=SEED, n_jobs=-1).fit(X, y)
        for library in (spinney, sklearn.ensemble)
    )
    for forest in (ours, theirs):
        forest.set_params(n_jobs=arguments.jobs)
    n_nodes = int(ours.forest_.node_counts.sum())
    n_theirs = sum(tree.tree_.node_count for tree in theirs.estimators_)
    row = X[:1]
    with tempfile.TemporaryDirectory() as directory:
        file, pickled = Path(directory, "spinney"), Path(directory, "joblib")
        ours.save(file)
        joblib.dump(theirs, pickled)
        sizes = [file.stat().st_size / n_nodes, len(pickle.dumps(ours)) / n_nodes]
        sizes.append(pickled.stat().st_size / n_theirs)
        megabytes = pickled.stat().st_size / 1e6
        timings = time_interleaved(
            {
                "load": lambda: spinney.load(file, n_jobs=arguments.jobs),
                "joblib": lambda: joblib.load(pickled),
                "load, predict": lambda: spinney.load(file, n_jobs=arguments.jobs).predict(row),
                "joblib, predict": lambda: joblib.load(pickled).predict(row),
            },
            arguments.repeats,
        )
    seconds = [timing.median for timing in timings.values()]
    for what, pair in (("load", seconds[:2]), ("load and first row", seconds[2:])):
        libraries = dict(zip(("spinney", "scikit-learn"), pair, strict=True))
        record(f"{what}, {n_trees} trees, {name}", libraries)
    times = [of_one * 1e3 for of_one in seconds]
    print(
        f"{name:26}{n_nodes:>11,}{sizes[0]:>7.1f}{sizes[1]:>8.1f}{sizes[2]:>9.1f}{megabytes:>9.0f}"
        f"{times[0]:>9.1f}{times[1]:>9.1f}{times[1] / times[0]:>7.1f}"
        f"{times[2]:>9.1f}{times[3]:>9.1f}{times[3] / times[2]:>7.1f}",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trees", type=positive, default=20, help="trees (default: 20)")
    parser.add_argument("--gigabyte", action="store_true", help="140 to 240 trees")
    parser.add_argument("--repeats", type=positive, default=5, help="runs of each (default: 5)")
    parser.add_argument("--jobs", type=positive, default=1, help="threads (default: 1)")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print_versions(arguments.jobs)
    print(f"{'':37}{'bytes a node':^24}{'':9}{'load, ms':^25}{'load and first row, ms':^25}")
    print(
        f"{'':26}{'nodes':>11}{'file':>7}{'pickle':>8}{'sklearn':>9}{'MB there':>9}"
        + f"{'spinney':>9}{'joblib':>9}{'ratio':>7}" * 2
    )
    for name, kind, load, n_large in CASES:
        compare(name, kind, load, n_large if arguments.gigabyte else arguments.trees, arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
