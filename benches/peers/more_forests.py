"""Balanced forests, embeddings, imputation and Boruta, beside the libraries that are used for them.

    python benches/peers/more_forests.py [--quick] [--parts balanced embedding imputation boruta]

One thread. imbalanced-learn and boruta are optional: what is not installed is said to be skipped.
Imputation is compared column by column: IterativeImputer with scikit-learn's extra trees takes its
time for a column times the columns and cycles, which would be hours for the larger tables.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings

import numpy as np
import scipy.sparse as sp
import sklearn.ensemble
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedShuffleSplit

import spinney
from common import (
    is_there,
    positive,
    print_versions,
    record,
    seconds,
    time_interleaved,
)
from data_sets import find_data
from real import SETS
from spinney.feature_selection import Boruta
from spinney.impute import MissForestImputer

SEED = 0


def show(name: str, values: dict[str, float], more: str = "") -> None:
    ours = values["spinney"]
    others = "".join(
        f"  {who} {value:8.3f} ({value / ours:5.1f}x)"
        for who, value in values.items()
        if who != "spinney"
    )
    print(f"{name:40} spinney {ours:8.3f}{others}{more}")
    record(name, values)


def balanced(quick: bool) -> None:
    if not is_there("imblearn"):
        return
    from imblearn.ensemble import BalancedRandomForestClassifier

    kinds = {
        "spinney": spinney.BalancedRandomForestClassifier,
        "imbalanced-learn": BalancedRandomForestClassifier,
    }
    for name in ("hiv", "adult", "kddcup99"):
        if not find_data(SETS[name][0]).exists():
            print(f"skipped: {name} is not there")
            continue
        table = SETS[name][1]()
        X, y = table.X, np.asarray(table.y)
        if name == "kddcup99":
            y = (y == 11).astype(int)  # normal connections
        if quick and name != "hiv":
            X, y = X[:20_000], y[:20_000]
        times, scores = {who: [] for who in kinds}, {who: [] for who in kinds}
        splits = StratifiedShuffleSplit(2 if quick else 10, test_size=0.25, random_state=SEED)
        for train, test in splits.split(np.zeros(len(y)), y):
            for who, kind in kinds.items():
                forest = kind(100, sampling_strategy="all", replacement=True, random_state=SEED)
                times[who].append(seconds(lambda: forest.fit(X[train], y[train])))  # noqa: B023
                scores[who].append(balanced_accuracy_score(y[test], forest.predict(X[test])))
        accuracy = "; balanced accuracy " + ", ".join(
            f"{statistics.fmean(found):.4f} +- {statistics.stdev(found):.4f}"
            for found in scores.values()
        )
        medians = {who: statistics.median(found) for who, found in times.items()}
        show(f"balanced forest, {name}", medians, accuracy)


def embedding(quick: bool) -> None:
    X = np.random.default_rng(SEED).normal(size=(5000 if quick else 20_000, 30))
    kinds = {
        "spinney": spinney.RandomTreesEmbedding,
        "scikit-learn": sklearn.ensemble.RandomTreesEmbedding,
    }
    timings = time_interleaved(
        {
            who: lambda kind=kind: kind(100, random_state=SEED).fit_transform(X)
            for who, kind in kinds.items()
        },
        5,
    )
    medians = {who: timing.median for who, timing in timings.items()}
    show(f"embedding, {X.shape[0]} x 30", medians)


def imputation(quick: bool) -> None:
    rng = np.random.default_rng(SEED)
    for n_samples, n_features in ((500, 20),) if quick else ((2000, 300), (25_000, 50)):
        X = rng.normal(size=(n_samples, 8)) @ rng.normal(size=(8, n_features))
        X += 0.3 * rng.normal(size=X.shape)
        X[rng.random(X.shape) < 0.2] = np.nan
        is_known = ~np.isnan(X[:, 0])
        others = X[:, 1:]
        filled = np.nan_to_num(others)
        for max_features in (0.5, "sqrt"):
            imputer = MissForestImputer(max_features=max_features)
            imputer.is_categorical_, imputer.n_features_in_ = None, n_features
            runs = {
                "spinney": (imputer._make_forest(0, 2**32), others),
                "scikit-learn": (
                    sklearn.ensemble.ExtraTreesRegressor(100, random_state=SEED),
                    filled,
                ),
            }
            medians = {}
            for who, (forest, data) in runs.items():
                start = time.perf_counter()
                forest.fit(data[is_known], X[is_known, 0])
                forest.predict(data[~is_known])
                medians[who] = time.perf_counter() - start
            name = f"a column of {n_samples} x {n_features}, max_features={max_features}"
            show(f"imputation, {name}", medians)


def boruta(quick: bool) -> None:
    if not is_there("boruta"):
        return
    # boruta_py asks for names that NumPy has dropped.
    vars(np).update(int=int, float=float)
    from boruta import BorutaPy

    sizes = ((500, 40),) if quick else ((2600, 500),)
    for n_samples, n_features in sizes:
        X, y = make_classification(
            n_samples,
            n_features,
            n_informative=8,
            n_redundant=12,
            n_clusters_per_class=4,
            shuffle=False,
            random_state=SEED,
        )
        n_iter = 15
        ours = Boruta(
            spinney.RandomForestClassifier(max_depth=5), max_iter=n_iter, random_state=SEED
        )
        forest = sklearn.ensemble.RandomForestClassifier(max_depth=5, n_jobs=1)
        theirs = BorutaPy(forest, n_estimators="auto", max_iter=n_iter, random_state=SEED)
        times = {
            "spinney": seconds(lambda: ours.fit(X, y)),  # noqa: B023
            "boruta_py": seconds(lambda: theirs.fit(X, y)),  # noqa: B023
        }
        selected = f"; found {ours.support_.sum()}, {theirs.support_.sum()}"
        show(f"Boruta, {n_samples} x {n_features}, {n_iter} forests", times, selected)
    path = None if quick else find_data("news20_bydate_tfidf.npz")
    if path is not None and path.exists():
        X = sp.load_npz(path).tocsr()[:2000]
        X = X[:, np.flatnonzero(X.getnnz(axis=0) >= 20)]
        y = np.load(find_data("news20_bydate_meta.npz"))["y"][:2000]
        selector = Boruta(n_estimators=100, max_iter=10, random_state=SEED)
        spent = seconds(lambda: selector.fit(X, y))
        print(
            f"Boruta, 20 Newsgroups {X.shape[0]} x {X.shape[1]} (sparse): {spent:.1f} s, "
            f"{selector.n_features_} confirmed after {selector.n_iter_} forests"
        )


PARTS = {
    "balanced": balanced,
    "embedding": embedding,
    "imputation": imputation,
    "boruta": boruta,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="less data")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--repeats", type=positive, default=1)
    arguments = parser.parse_args()
    print_versions()
    warnings.simplefilter("ignore")
    for _ in range(arguments.repeats):
        for part in arguments.parts:
            PARTS[part](arguments.quick)


if __name__ == "__main__":
    main()
