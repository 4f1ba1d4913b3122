"""Survival forests of ours, of scikit-survival and of comprisk.

    python benches/peers/survival.py [--quick] [--parts flchain weibull sparse ...]

One thread, or two in `weibull`. Fits of 100 trees with leaves of 3 to flchain (which comes with
scikit-survival), each in a process of its own that tells its peak memory; to Weibull times of 58
columns; to a sparse matrix, beside a regression forest; 100 rounds of boosting of flchain, with the
concordance of held-out rows; the concordance of 100,000 rows; and the concordances of held-out rows
of three data sets of scikit-survival (`quality`), and of the 77 of SurvSet (`survset`, which is not
run by default): ours on all, and all contenders on those of 1,000 rows or more, of which at most
3,000 are taken. What is not installed is said to be skipped.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import pickle
import resource
import statistics
import subprocess
import sys

import numpy as np
from scipy import sparse

import spinney
from common import is_there, print_versions, record, seconds
from spinney.survival import (
    ExtraSurvivalTrees,
    GradientBoostingSurvival,
    RandomSurvivalForest,
    concordance_index,
)

PARTS = ("flchain", "weibull", "sparse", "boosting", "concordance", "quality")
MOST_ROWS = 3000
# Least rows of a leaf in SurvSet: scikit-survival's default and randomForestSRC's.
LEAVES = (3, 15)
SEED = 0


def make_models(n_trees: int, n_threads: int, min_samples_leaf: int = 3) -> dict[str, object]:
    """Return the forests that there are, by name."""
    own = {"min_samples_leaf": min_samples_leaf, "random_state": SEED, "n_jobs": n_threads}
    models: dict[str, object] = {
        "logrank": RandomSurvivalForest(n_trees, **own),
        "logrank_fast": RandomSurvivalForest(n_trees, criterion="logrank_fast", **own),
        "extra": ExtraSurvivalTrees(n_trees, **own),
    }
    if importlib.util.find_spec("sksurv") is not None:
        from sksurv.ensemble import RandomSurvivalForest as Theirs

        models["scikit-survival"] = Theirs(n_trees, **own)
    if importlib.util.find_spec("comprisk") is not None:
        from comprisk import CompetingRiskForest

        models["comprisk"] = CompetingRiskForest(n_trees, **own)
    return models


def fit(who: str, model: object, X: np.ndarray, events: np.ndarray, times: np.ndarray) -> object:
    """Fit a forest to targets in its own form."""
    if who == "scikit-survival":
        y = np.empty(len(times), dtype=[("event", "?"), ("time", "<f8")])
        y["event"], y["time"] = events, times
        return model.fit(X, y)
    if who == "comprisk":
        return model.fit(X, times, events.astype(int))
    return model.fit(X, (events, times))


def read_survival_data(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return numbers, events and times of a data set of scikit-survival, without missing values."""
    import pandas as pd
    import sksurv.datasets

    X, y = getattr(sksurv.datasets, f"load_{name}")()
    X = pd.get_dummies(X, dtype=float).astype(float)
    X = X.fillna(X.median()).to_numpy()
    events, times = (y[field] for field in y.dtype.names)
    return X, events.astype(bool), times.astype(float)


def fit_flchain(who: str, n_rows: int) -> None:
    """Print the seconds and the memory of a fit; for a process of its own."""
    X, events, times = read_survival_data("flchain")
    rows = np.random.default_rng(SEED).permutation(len(X))[:n_rows]
    X, events, times = X[rows], events[rows], times[rows]
    model = make_models(100, 1)[who]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    took = seconds(lambda: fit(who, model, X, events, times))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    asked = seconds(lambda: model.predict(X[:1000]))
    print(
        f"flchain {n_rows}, {who:16} fit {took:8.2f} s, memory {(peak - before) / 1024:8.1f} MB, "
        f"risks of 1000 rows {asked:.3f} s",
        flush=True,
    )


def run_flchain(quick: bool) -> None:
    if not is_there("sksurv"):
        return
    for n_rows in (1000,) if quick else (2000, 7000):
        for who in make_models(1, 1):
            options = ["--only", who, "--rows", str(n_rows)]
            done = subprocess.run([sys.executable, __file__, *options], check=False)
            if done.returncode:
                print(f"flchain {n_rows}, {who}: ended with {done.returncode}")


def make_weibull(n_rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return 58 columns, events and times."""
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(n_rows, 58))
    scale = np.exp(0.5 * X[:, 0] - 0.4 * X[:, 1] + 0.3 * X[:, 2] * X[:, 3])
    times, ends = scale * rng.weibull(1.5, n_rows), rng.exponential(2.0, n_rows)
    return X, times <= ends, np.minimum(times, ends)


def run_weibull(quick: bool) -> None:
    for n_rows in (2000,) if quick else (5000, 10_000, 50_000):
        X, events, times = make_weibull(n_rows)
        found = {}
        for who, model in make_models(100, 2).items():
            if who == "scikit-survival":
                continue
            if who == "comprisk":
                # Its functions are compiled at the first call.
                fit(who, make_models(2, 2)[who], X[:500], events[:500], times[:500])
            found[who] = seconds(
                lambda: fit(who, model, X, events, times)  # noqa: B023
            )
            size = len(pickle.dumps(model)) / 2**20
            print(f"weibull {n_rows}, {who:14} fit {found[who]:8.2f} s, pickle {size:7.1f} MB")
        record(f"weibull {n_rows}", found)


def run_sparse(quick: bool) -> None:
    n_rows, n_columns = (2000, 4000) if quick else (10_000, 20_000)
    rng = np.random.default_rng(SEED)
    X = sparse.random_array((n_rows, n_columns), density=0.01, format="csr", rng=rng)
    strength = np.asarray(X[:, :50].sum(axis=1)).ravel()
    times, ends = np.exp(-strength) * rng.exponential(size=n_rows), rng.exponential(2.0, n_rows)
    y = (times <= ends, np.minimum(times, ends))
    own = {"min_samples_leaf": 3, "random_state": SEED}
    found = {
        name: seconds(lambda: RandomSurvivalForest(20, criterion=name, **own).fit(X, y))  # noqa: B023
        for name in ("logrank", "logrank_fast")
    }
    forest = spinney.RandomForestRegressor(20, max_features="sqrt", **own)
    found["regression"] = seconds(lambda: forest.fit(X, y[1]))
    print("sparse, 20 trees:", ", ".join(f"{who} {took:.2f} s" for who, took in found.items()))
    record("sparse", found)


def run_boosting(quick: bool) -> None:
    if not is_there("sksurv"):
        return
    from sksurv.ensemble import GradientBoostingSurvivalAnalysis

    X, events, times = read_survival_data("flchain")
    order = np.random.default_rng(SEED).permutation(len(X))[: 1400 if quick else None]
    cut = len(order) * 9 // 10
    train, query = order[:cut], order[cut:]
    models = {
        "ours": GradientBoostingSurvival(random_state=SEED),
        "ours, second order": GradientBoostingSurvival(
            second_order=True, l2_regularization=1.0, random_state=SEED
        ),
        "scikit-survival": GradientBoostingSurvivalAnalysis(random_state=SEED),
    }
    found = {}
    for who, model in models.items():
        found[who] = seconds(
            lambda: fit(who, model, X[train], events[train], times[train])  # noqa: B023
        )
        score = concordance_index(events[query], times[query], model.predict(X[query])).cindex
        print(f"boosting, flchain {cut}, {who:18} {found[who]:7.2f} s, concordance {score:.4f}")
    record("boosting", found)


def run_concordance(quick: bool) -> None:
    rng = np.random.default_rng(SEED)
    n_rows = 100_000
    events, times, risks = (
        rng.random(n_rows) < 0.5,
        rng.exponential(size=n_rows),
        rng.random(n_rows),
    )
    took = seconds(lambda: concordance_index(events, times, risks))
    print(f"concordance of {n_rows} rows: {took:.3f} s")
    if not quick and is_there("sksurv"):
        from sksurv.metrics import concordance_index_censored

        theirs = seconds(lambda: concordance_index_censored(events, times, risks))
        print(f"  scikit-survival: {theirs:.2f} s")


def run_quality(quick: bool) -> None:
    """Compare concordances of held-out rows over splits."""
    if not is_there("sksurv"):
        return
    from sksurv.metrics import concordance_index_censored

    names = ("gbsg2", "whas500", "veterans_lung_cancer")
    for name in names:
        X, events, times = read_survival_data(name)
        scores: dict[str, list[float]] = {}
        for split in range(2 if quick else 10):
            order = np.random.default_rng(split).permutation(len(X))
            cut = len(X) * 3 // 4
            train, query = order[:cut], order[cut:]
            for who, model in make_models(200, 2).items():
                fit(who, model, X[train], events[train], times[train])
                predict = model.predict_risk if who == "comprisk" else model.predict
                risks = np.ravel(predict(X[query]))
                scored = concordance_index_censored(events[query], times[query], risks)
                scores.setdefault(who, []).append(scored[0])
        shown = ", ".join(f"{who} {statistics.fmean(values):.3f}" for who, values in scores.items())
        print(f"concordance, {name}: {shown}")


def run_survset(quick: bool) -> None:
    """Compare concordances of held-out rows of many data sets, over splits."""
    if not is_there("SurvSet"):
        return
    import pandas as pd
    from SurvSet.data import SurvLoader

    loader = SurvLoader()
    means: dict[str, list[float]] = {}
    sizes: dict[str, list[float]] = {}
    for name in sorted(loader.df_ds[~loader.df_ds["is_td"]]["ds"]):
        table = loader.load_dataset(name)["df"]
        events = table["event"].to_numpy().astype(bool)
        times = table["time"].to_numpy(dtype=float)
        X = pd.get_dummies(table.drop(columns=["pid", "event", "time"]), dtype=float).astype(float)
        rows = np.random.default_rng(SEED).permutation(len(X))[:MOST_ROWS]
        # Peers take no categories, and comprisk no missing values.
        X = X.fillna(X.median()).fillna(0).to_numpy()[rows]
        events, times = events[rows], times[rows]
        is_large = len(table) >= 1000
        scores: dict[str, list[float]] = {}
        for split, n_leaf in itertools.product(range(1 if quick else 5), LEAVES):
            order = np.random.default_rng(split).permutation(len(X))
            train, query = order[: len(X) * 3 // 4], order[len(X) * 3 // 4 :]
            if not events[train].any():
                continue
            for who, model in make_models(100, 2, n_leaf).items():
                if who == "logrank_fast" or (not is_large and who != "logrank"):
                    continue
                fit(who, model, X[train], events[train], times[train])
                predict = model.predict_risk if who == "comprisk" else model.predict
                risks = np.ravel(predict(X[query]))
                found = concordance_index(events[query], times[query], risks).cindex
                scores.setdefault(f"{who}, leaves of {n_leaf}", []).append(found)
                if is_large and split == 0:
                    sizes.setdefault(f"{who}, leaves of {n_leaf}", []).append(count_leaves(model))
        shown = {who: statistics.fmean(values) for who, values in scores.items()}
        print(
            f"survset, {name} ({len(table)} rows): "
            + "; ".join(f"{who} {value:.3f}" for who, value in shown.items()),
            flush=True,
        )
        if is_large:
            for who, value in shown.items():
                means.setdefault(who, []).append(value)
    for who, values in means.items():
        # Ours with leaves of as many rows, on the same sets.
        ours = means["logrank, " + who.split(", ")[1]]
        more = [value - own for value, own in zip(values, ours, strict=True)]
        error = statistics.stdev(more) / len(more) ** 0.5
        print(
            f"survset, mean of {len(values)} sets: {who} {statistics.fmean(values):.4f}, more than "
            f"ours {statistics.fmean(more):+.4f} +- {error:.4f}, "
            f"{statistics.fmean(sizes[who]):.0f} leaves a tree"
        )


def count_leaves(model: object) -> float:
    """Return the mean number of leaves of the trees."""
    if hasattr(model, "trees_"):
        return statistics.fmean(int(np.sum(tree.is_leaf_flags)) for tree in model.trees_)
    trees = [getattr(tree, "tree_", tree) for tree in model.estimators_]
    return statistics.fmean(int(np.sum(tree.children_left < 0)) for tree in trees)


def main() -> None:
    """Print a line for each piece of work."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--parts", nargs="+", choices=(*PARTS, "survset"), default=PARTS)
    parser.add_argument("--only", help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only:
        fit_flchain(arguments.only, arguments.rows)
        return
    print_versions()
    for part in arguments.parts:
        globals()[f"run_{part}"](arguments.quick)


if __name__ == "__main__":
    main()
