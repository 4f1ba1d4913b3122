"""Gradient boosting of ours, of scikit-learn and, if it is installed, of LightGBM.

    python benches/peers/boosting.py [--quick] [--rounds 100] [--repeats 3] [--sets california ...]

One thread. Times are medians of runs that take turns: whole fits of trees of depth 3 beside
scikit-learn's `GradientBoosting*`, and of 31 leaves of at least 20 rows beside LightGBM, which has
255 bins and splits by second derivatives. Last the largest difference between predictions of ours
and of scikit-learn's, in units of the standard deviation of the targets, or of 1 for scores of
classes: two features that part the rows of a small node alike are a tie, which both draw.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.ensemble

import spinney
from common import positive, print_versions, record, time_interleaved
from data_sets import find_data
from real import SETS

# A matrix, targets, and how the names of classes end.
Data = tuple[Any, np.ndarray, str]
# Rows that are taken at most.
MOST_ROWS = 100_000
SPARSE_ROUNDS = 5


def load_real(name: str) -> Data:
    """Return a table of `real.py` with codes for categories; one class against the others."""
    data = SETS[name][1]()
    X, y = data.X[:MOST_ROWS], data.y[:MOST_ROWS]
    if data.is_regression:
        return X, y, "Regressor"
    largest = np.bincount(y).argmax() if name in ("covertype", "kddcup99") else y.max()
    return X.astype(np.float32), (y == largest).astype(float), "Classifier"


def load_normal() -> Data:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((MOST_ROWS, 30)).astype(np.float32)
    return X, X[:, 0] * X[:, 1] + X[:, 2] + rng.standard_normal(MOST_ROWS), "Regressor"


_REAL = ("california", "diamonds", "adult", "covertype", "20 newsgroups", "hiv")
LOADERS: dict[str, Callable[[], Data]] = {
    **{name: partial(load_real, name) for name in _REAL},
    "normal": load_normal,
}


def answer(model: object, X: object) -> np.ndarray:
    """Return numbers, or scores of classes."""
    method = "decision_function" if hasattr(model, "decision_function") else "predict"
    return getattr(model, method)(X)


def compare_with_scikit_learn(name: str, rounds: int, repeats: int) -> None:
    X, y, kind = LOADERS[name]()
    rounds = SPARSE_ROUNDS if sp.issparse(X) else rounds
    works = {
        who: lambda module=module: getattr(module, f"GradientBoosting{kind}")(
            n_estimators=rounds, random_state=0
        ).fit(X, y)
        for who, module in (("spinney", spinney), ("scikit-learn", sklearn.ensemble))
    }
    timings = time_interleaved(works, repeats)
    ours, theirs = timings["spinney"], timings["scikit-learn"]
    rows = X[:5000]
    scale = np.std(y) if kind == "Regressor" else 1.0
    difference = np.abs(answer(ours.model, rows) - answer(theirs.model, rows)).max() / scale
    print(
        f"{name:12} depth 3, {rounds} rounds: spinney {ours.median:8.3f}  scikit-learn "
        f"{theirs.median:8.3f} ({theirs.median / ours.median:5.1f}x)  differ by {difference:.1e}"
    )
    record(f"boosting, {name}: depth 3", {who: t.median for who, t in timings.items()})


def compare_with_lightgbm(name: str, rounds: int, repeats: int) -> None:
    if importlib.util.find_spec("lightgbm") is None:
        return
    import lightgbm

    X, y, kind = LOADERS[name]()
    shape = {"max_leaf_nodes": 31, "max_depth": None, "min_samples_leaf": 20}
    ours = getattr(spinney, f"GradientBoosting{kind}")
    theirs = getattr(lightgbm, "LGBMRegressor" if kind == "Regressor" else "LGBMClassifier")
    options = {"n_jobs": 1, "verbose": -1, "deterministic": True, "force_row_wise": True}
    works = {
        "spinney": lambda: ours(n_estimators=rounds, random_state=0, **shape).fit(X, y),
        "LightGBM": lambda: theirs(n_estimators=rounds, **options).fit(X, y),
    }
    timings = time_interleaved(works, repeats)
    own, other = (timings[who].median for who in ("spinney", "LightGBM"))
    print(
        f"{name:12} 31 leaves, {rounds} rounds: spinney {own:8.3f}  LightGBM {other:8.3f} "
        f"({own / other:5.2f} of its time)"
    )
    record(f"boosting, {name}: 31 leaves", {who: t.median for who, t in timings.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="ten rounds, once")
    parser.add_argument("--rounds", type=positive, default=100)
    parser.add_argument("--repeats", type=positive, default=3)
    parser.add_argument("--sets", nargs="+", choices=LOADERS, default=list(LOADERS))
    arguments = parser.parse_args()
    rounds, repeats = (10, 1) if arguments.quick else (arguments.rounds, arguments.repeats)
    print_versions()
    for name in arguments.sets:
        if name in SETS and not find_data(SETS[name][0]).exists():
            print(f"skipped: {name} is not there")
            continue
        compare_with_scikit_learn(name, rounds, repeats)
        compare_with_lightgbm(name, rounds, repeats)


if __name__ == "__main__":
    main()
