"""Isolation forests of ours, of scikit-learn and, if it is installed, of isotree.

    python benches/peers/isolation.py [--quick] [--repeats 5] [--seeds 10]

One thread. Times are medians of runs that take turns: to fit, to score all rows of the training
data, and to fit with `contamination=0.01`, which scores them once more. Then the area under the ROC
curve of labelled anomalies, as mean and standard deviation over seeds.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import scipy.sparse as sp
import sklearn.ensemble
from sklearn.metrics import roc_auc_score

import spinney
from common import positive, print_versions, record, time_interleaved
from data_sets import find_data
from real import SETS

SEED = 0
OURS, THEIRS = spinney.IsolationForest, sklearn.ensemble.IsolationForest


def matrices(n_rows: int) -> Iterator[tuple[str, object]]:
    """Yield names and training data."""
    rng = np.random.default_rng(SEED)
    normal = rng.normal(size=(n_rows, 30))
    yield f"{n_rows} x 30, float64", normal
    yield f"{n_rows} x 30, float32", normal.astype(np.float32)
    for name, file in (
        ("20 Newsgroups", "news20_bydate_tfidf.npz"),
        ("HIV fingerprints", "hiv_ecfp4_counts.npz"),
    ):
        path = find_data(file)
        if path.exists():
            # scikit-learn fits to CSC and scores CSR: the format that it is given is converted.
            yield name, sp.load_npz(path).tocsr()
        else:
            print(f"skipped: {path} not found")


def isotree_of(X: object) -> tuple[Callable[[], object], Callable[[object], object]] | None:
    """Return what fits and what scores, by isotree with the settings of the paper."""
    if importlib.util.find_spec("isotree") is None:
        return None
    from isotree import IsolationForest

    options = {
        "ndim": 1,
        "ntrees": 100,
        "sample_size": 256,
        "missing_action": "fail",
        "nthreads": 1,
        "random_seed": SEED + 1,
    }
    data = X.tocsc() if sp.issparse(X) else X
    return (lambda: IsolationForest(**options).fit(data)), (lambda model: model.predict(X))


def measure(name: str, X: object, repeats: int) -> None:
    works = {
        "fit": {
            "spinney": lambda: OURS(random_state=SEED).fit(X),
            "scikit-learn": lambda: THEIRS(random_state=SEED).fit(X),
        },
        "fit, contamination": {
            "spinney": lambda: OURS(contamination=0.01, random_state=SEED).fit(X),
            "scikit-learn": lambda: THEIRS(contamination=0.01, random_state=SEED).fit(X),
        },
    }
    fitted = {kind: kind(random_state=SEED).fit(X) for kind in (OURS, THEIRS)}
    works["score"] = {
        "spinney": lambda: fitted[OURS].score_samples(X),
        "scikit-learn": lambda: fitted[THEIRS].score_samples(X),
    }
    of_isotree = isotree_of(X)
    if of_isotree is not None:
        fit, score = of_isotree
        model = fit()
        works["fit"]["isotree"] = fit
        works["score"]["isotree"] = lambda: score(model)
    seconds = {
        work: {who: timing.median for who, timing in time_interleaved(runs, repeats).items()}
        for work, runs in works.items()
    }
    seconds["fit + score"] = {
        who: seconds["fit"][who] + seconds["score"][who] for who in seconds["score"]
    }
    for work, by_library in seconds.items():
        ours = by_library["spinney"]
        others = "".join(
            f"  {who} {time:8.4f} ({time / ours:5.1f}x)"
            for who, time in by_library.items()
            if who != "spinney"
        )
        print(f"{name:22} {work:19} spinney {ours:8.4f}{others}")
        record(f"isolation forest, {name}: {work}", by_library)


def labelled() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield names, rows, and whether they are anomalies."""
    for name, file in (("kddcup99", "kddcup99_10pct.csv.gz"), ("covertype", "covertype.npz")):
        path = find_data(file)
        if not path.exists():
            print(f"skipped: {path} not found")
            continue
        X = np.asarray(SETS[name][1]().X)
        if name == "covertype":
            classes = np.load(path)["y"]
            is_odd, is_normal = classes == classes.min() + 3, classes == classes.min() + 1
            name = "covertype, class 4 against 2"
        else:
            labels = pd.read_csv(path, usecols=["label"])["label"].to_numpy()
            is_normal = labels == "normal"
            # These two are most of the rows.
            is_odd = ~np.isin(labels, ["normal", "smurf", "neptune"])
            name = "kddcup99, rare attacks"
        kept = is_odd | is_normal
        yield name, X[kept], is_odd[kept]


def compare(name: str, X: np.ndarray, is_odd: np.ndarray, n_seeds: int) -> None:
    """Print the area under the ROC curve of both libraries."""
    for who, kind in (("spinney", OURS), ("scikit-learn", THEIRS)):
        areas = [
            roc_auc_score(is_odd, -kind(random_state=seed).fit(X).score_samples(X))
            for seed in range(n_seeds)
        ]
        mean, spread = statistics.fmean(areas), statistics.stdev(areas)
        print(f"{name:30} {len(X):7} rows  {who:12} AUC {mean:.4f} +- {spread:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, three seeds")
    parser.add_argument("--repeats", type=positive, default=5)
    parser.add_argument("--seeds", type=positive, default=10)
    arguments = parser.parse_args()
    print_versions()
    for name, X in matrices(10_000 if arguments.quick else 100_000):
        measure(name, X, arguments.repeats)
    for name, X, is_odd in labelled():
        compare(name, X, is_odd, 3 if arguments.quick else arguments.seeds)


if __name__ == "__main__":
    main()
