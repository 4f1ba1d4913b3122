"""Prediction with forests: batches and one row, dense and sparse, against scikit-learn.

Fitted once, timed in turns. Both libraries get the same rows and as many threads. Needs the real
data beside the repository for the rows of covertype and 20 Newsgroups; without them these rows are
said to be skipped.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse
import sklearn.datasets
import sklearn.ensemble

import spinney
from common import positive, print_versions, record, time_interleaved
from data_sets import find_data

SEED = 0
# One row is asked for so often per run, as the clock is coarse.
ROW_CALLS = 200


@dataclass(frozen=True)
class Case:
    """A forest, the rows on which it is fitted, and those that are asked for."""

    name: str
    kind: str
    n_trees: int
    load: Callable[[], tuple]
    method: str = "predict_proba"
    calls: int = 1
    files: tuple[str, ...] = ()


def classification(n_train: int = 30_000) -> tuple[np.ndarray, np.ndarray]:
    X, y = sklearn.datasets.make_classification(
        n_train + 20_000,
        n_features=30,
        n_informative=10,
        n_redundant=5,
        flip_y=0.1,
        random_state=SEED,
    )
    return X.astype(np.float32), y


def dense(dtype: type) -> tuple:
    X, y = classification()
    return X[:30_000], y[:30_000], X[30_000:].astype(dtype)


def one_row() -> tuple:
    X, y = classification()
    return X[:30_000], y[:30_000], X[:1]


def friedman() -> tuple:
    X, y = sklearn.datasets.make_friedman1(80_000, n_features=10, noise=1.0, random_state=SEED)
    X = X.astype(np.float32)
    return X[:30_000], y[:30_000], X[30_000:]


def covertype() -> tuple:
    arrays = np.load(find_data("covertype.npz"))
    order = np.random.default_rng(SEED).permutation(len(arrays["y"]))
    X = np.ascontiguousarray(arrays["X"], dtype=np.float32)[order]
    y = arrays["y"][order]
    return X[:465_000], y[:465_000], X[465_000:565_000]


def random_sparse() -> tuple:
    rng = np.random.default_rng(SEED)
    X = scipy.sparse.random(40_000, 5_000, 0.002, format="csr", random_state=SEED, dtype=np.float32)
    sums = np.asarray(X[:, :50].sum(axis=1)).ravel()
    y = (sums + 0.1 * rng.random(40_000) > 0.1).astype(int)
    return X[:20_000], y[:20_000], X[20_000:]


def news() -> tuple:
    X = scipy.sparse.load_npz(find_data("news20_bydate_tfidf.npz")).tocsr()
    meta = np.load(find_data("news20_bydate_meta.npz"))
    is_train = meta["is_train"]
    return X[is_train], meta["y"][is_train], X[~is_train]


CASES = (
    Case("20,000 x 30, float32", "RandomForestClassifier", 100, lambda: dense(np.float32)),
    Case("20,000 x 30, float64", "RandomForestClassifier", 100, lambda: dense(np.float64)),
    Case("one row of 30", "RandomForestClassifier", 100, one_row, calls=ROW_CALLS),
    Case("50,000 x 10, a number", "RandomForestRegressor", 100, friedman, "predict"),
    Case(
        "covertype, 100,000 x 54",
        "RandomForestClassifier",
        20,
        covertype,
        files=("covertype.npz",),
    ),
    Case("sparse, 20,000 x 5,000", "RandomForestClassifier", 50, random_sparse),
    Case(
        "20 newsgroups, 7,532 x 56,436",
        "RandomForestClassifier",
        100,
        news,
        files=("news20_bydate_tfidf.npz", "news20_bydate_meta.npz"),
    ),
)


def compare(case: Case, arguments: argparse.Namespace) -> None:
    missing = [name for name in case.files if not find_data(name).exists()]
    if missing:
        print(f"{case.name:32}skipped, {missing[0]} is not there")
        return
    n_trees = max(case.n_trees // 10, 1) if arguments.quick else case.n_trees
    X, y, rows = case.load()
    models = {}
    for name, library in (("spinney", spinney), ("scikit-learn", sklearn.ensemble)):
        forest = getattr(library, case.kind)(n_trees, random_state=SEED, n_jobs=-1).fit(X, y)
        models[name] = forest.set_params(n_jobs=arguments.jobs)
        getattr(forest, case.method)(rows)

    def ask(model: object) -> None:
        for _ in range(case.calls):
            getattr(model, case.method)(rows)

    runs = {name: lambda m=model: ask(m) for name, model in models.items()}
    timings = time_interleaved(runs, arguments.repeats)
    ours, theirs = (timing.median / case.calls * 1e3 for timing in timings.values())
    print(
        f"{case.name:32}{n_trees:>6}{ours:>12.3f}{theirs:>14.3f}{theirs / ours:>8.2f}", flush=True
    )
    threads = "" if arguments.jobs == 1 else f", {arguments.jobs} threads"
    seconds = {name: timing.median / case.calls for name, timing in timings.items()}
    record(f"prediction by {n_trees} trees, {case.name}{threads}", seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=positive, default=5, help="runs of each (default: 5)")
    parser.add_argument("--jobs", type=positive, default=1, help="threads (default: 1)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the trees")
    parser.add_argument("--only", nargs="+", help="cases whose names have one of these in them")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print_versions(arguments.jobs)
    print(f"{'milliseconds':32}{'trees':>6}{'spinney':>12}{'scikit-learn':>14}{'ratio':>8}")
    for case in CASES:
        if not arguments.only or any(part in case.name for part in arguments.only):
            compare(case, arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
