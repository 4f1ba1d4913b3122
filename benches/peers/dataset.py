"""Data sets that are encoded once, against arrays: CPU seconds of searches and fits.

A grid search of candidates times folds, for trees and forests, from a `Dataset` and from an array:
the scores must agree in every bit. Then what makes a data set, writes it to a file,
opens the file, takes four fifths of its rows, and fits to an opened file against to one in memory.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV

from common import print_versions, record
from spinney import Dataset, DecisionTreeClassifier, ExtraTreesClassifier, RandomForestClassifier


def make_problem(n_rows: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Return columns of few and of many values, and classes that depend on ten of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    X[:, ::2] = X[:, ::2].round(1)
    return X, (X[:, :10].sum(axis=1) + rng.normal(size=n_rows) > 0).astype(int)


def in_turns(calls: list[Callable[[], Any]], repeats: int) -> list[float]:
    """Return the least CPU seconds of each call, which are made in turns."""
    least = [np.inf] * len(calls)
    for _ in range(repeats):
        for at, call in enumerate(calls):
            start = time.process_time()
            call()
            least[at] = min(least[at], time.process_time() - start)
    return least


def compare_searches(X: np.ndarray, y: np.ndarray, arguments: argparse.Namespace) -> None:
    leaves = [1 + 2 * n for n in range(arguments.candidates)]
    contenders = {
        "tree, square-root features": DecisionTreeClassifier(max_features="sqrt", random_state=0),
        "forest of 5": RandomForestClassifier(5, random_state=0),
        f"forest of {arguments.trees}": RandomForestClassifier(arguments.trees, random_state=0),
        f"extra trees of {arguments.trees}": ExtraTreesClassifier(arguments.trees, random_state=0),
    }
    print(f"\n{'grid search':30}{'arrays':>10}{'data set':>10}{'ratio':>10}")
    for name, estimator in contenders.items():
        search = GridSearchCV(estimator, {"min_samples_leaf": leaves}, cv=5, refit=False)
        scores = {}

        def of_array(search: Any = search, scores: dict = scores) -> None:
            scores["array"] = search.fit(X, y).cv_results_["mean_test_score"]

        def of_dataset(search: Any = search, scores: dict = scores) -> None:
            scores["data set"] = search.fit(Dataset(X), y).cv_results_["mean_test_score"]

        arrays, ours = in_turns([of_array, of_dataset], arguments.repeats)
        assert (scores["array"] == scores["data set"]).all(), "the scores are the same"
        print(f"{name:30}{arrays:>10.2f}{ours:>10.2f}{ours / arrays:>10.2f}", flush=True)
        work = f"grid search of {len(leaves)} candidates, {len(X):,} x {X.shape[1]}, {name}"
        record(work, {"spinney": ours, "spinney, arrays": arrays})


def time_steps(X: np.ndarray, y: np.ndarray, arguments: argparse.Namespace) -> None:
    forest = RandomForestClassifier(arguments.trees, random_state=0)
    rows = np.random.default_rng(0).permutation(len(X))[: len(X) * 4 // 5]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "data.spinney"
        dataset = Dataset(X)
        dataset.save(path)
        opened = Dataset.open(path)
        steps = {
            "encode": lambda: Dataset(X),
            "save": lambda: dataset.save(path.with_suffix(".again")),
            "open": lambda: Dataset.open(path),
            "take four fifths of the rows": dataset[rows]._columns.own,
            "encode these rows": lambda: Dataset(X[rows]),
            "fit to an array": lambda: forest.fit(X, y),
            "fit to a data set in memory": lambda: forest.fit(dataset, y),
            "fit to an opened file": lambda: forest.fit(opened, y),
        }
        seconds = in_turns(list(steps.values()), arguments.repeats)
        print(f"\n{'steps':30}{'seconds':>10}")
        for name, taken in zip(steps, seconds, strict=True):
            print(f"{name:30}{taken:>10.3f}", flush=True)
        in_memory, from_file = seconds[-2:]
        work = f"forest of {arguments.trees} from an opened file, {len(X):,} x {X.shape[1]}"
        record(work, {"spinney": from_file, "spinney, data set in memory": in_memory})
        size, array = path.stat().st_size, X.nbytes
        print(f"the file has {size / array:.2f} of the bytes of the array")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows and candidates")
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--candidates", type=int, default=20)
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rows, arguments.candidates = arguments.rows // 10, 2
    X, y = make_problem(arguments.rows, arguments.features)
    print(f"Data sets of {X.shape[0]:,} x {X.shape[1]}: CPU seconds on one thread")
    print_versions()
    time_steps(X, y, arguments)
    compare_searches(X, y, arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
