"""Intervals that hold and standard errors, beside MAPIE, coverforest and forestci.

    python benches/peers/intervals.py [--quick] [--splits 20]

One thread. First the coverage and the mean width of 90 % intervals over splits of real tables; then
the times of intervals for 5,000 rows beyond the fit, and of standard errors. MAPIE, coverforest and
forestci are optional: what is not installed is said to be skipped.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics

import numpy as np
import sklearn.ensemble

import spinney
from common import is_there, positive, print_versions, record, seconds
from real import load_numbers
from spinney.conformal import (
    ConformalizedQuantileRegressor,
    CrossConformalRegressor,
    JackknifeAfterBootstrapRegressor,
)

SEED = 0
TABLES = ("california", "protein", "diamonds", "beijing air", "ames")


def list_models() -> dict[str, object]:
    forest = spinney.RandomForestRegressor(100, min_samples_leaf=5, random_state=SEED)
    quantiles = spinney.RandomForestQuantileRegressor(100, min_samples_leaf=5, random_state=SEED)
    models: dict[str, object] = {
        "J+aB": JackknifeAfterBootstrapRegressor(forest),
        "CV+": CrossConformalRegressor(forest, cv=10),
        "CQR": ConformalizedQuantileRegressor(quantiles),
    }
    if importlib.util.find_spec("mapie") is not None:
        from mapie.regression import CrossConformalRegressor as TheirCross

        models["MAPIE CV+"] = TheirCross(estimator=forest, confidence_level=0.9, cv=10)
    return models


def coverage(n_splits: int, n_train: int) -> None:
    for name in TABLES:
        loaded = load_numbers(name)
        if loaded is None:
            continue
        X, y = loaded
        n = min(n_train, len(y) // 2)
        found: dict[str, list[tuple[float, float]]] = {}
        for split in range(n_splits):
            order = np.random.default_rng(split).permutation(len(y))
            train, query = order[:n], order[n : 2 * n]
            for who, model in list_models().items():
                model.fit_conformalize(X[train], y[train])
                ways: dict[str, dict[str, bool]] = {who: {}}
                if "MAPIE" not in who:
                    ways[f"{who}, shortest"] = {"minimize_interval_width": True}
                for way, arguments in ways.items():
                    _, intervals = model.predict_interval(X[query], **arguments)
                    low, high = intervals[:, 0, 0], intervals[:, 1, 0]
                    inside = (low <= y[query]) & (y[query] <= high)
                    width = (high - low).mean() / y.std()
                    found.setdefault(way, []).append((inside.mean(), width))
        for who, values in found.items():
            covered, widths = zip(*values, strict=True)
            print(
                f"{name:12} {n:5} rows, {who:14} covers {statistics.fmean(covered):.1%} of 90 %, "
                f"mean width {statistics.fmean(widths):.3f} deviations"
            )


def times(quick: bool) -> None:
    loaded = load_numbers("california")
    if loaded is None:
        return
    X, y = loaded
    n_train, n_query = (1000, 500) if quick else (10_000, 5000)
    X, query, y = X[:n_train], X[n_train : n_train + n_query], y[:n_train]
    model = JackknifeAfterBootstrapRegressor(spinney.RandomForestRegressor(100, random_state=SEED))
    fit = seconds(lambda: model.fit_conformalize(X, y))
    ask = seconds(lambda: model.predict_interval(query))
    plain = seconds(lambda: spinney.RandomForestRegressor(100, random_state=SEED).fit(X, y))
    print(f"J+aB, {n_train} and {n_query} rows: fit {fit:.2f} s (forest {plain:.2f}), {ask:.2f} s")
    record("J+aB intervals", {"spinney": fit + ask})
    if is_there("mapie"):
        from mapie.regression import CrossConformalRegressor as TheirCross
        from mapie.regression import JackknifeAfterBootstrapRegressor as Theirs

        forest = spinney.RandomForestRegressor(100, random_state=SEED)
        peer = Theirs(estimator=forest, confidence_level=0.9, resampling=30)
        fit = seconds(lambda: peer.fit_conformalize(X, y))
        ask = seconds(lambda: peer.predict_interval(query))
        print(f"  MAPIE with the same forest, 30 resamplings: fit {fit:.2f} s, {ask:.2f} s")
        ours = CrossConformalRegressor(forest, cv=10)
        own = seconds(lambda: ours.fit_conformalize(X, y).predict_interval(query))
        peer = TheirCross(estimator=forest, confidence_level=0.9, cv=10)
        theirs = seconds(lambda: peer.fit_conformalize(X, y).predict_interval(query))
        print(f"CV+ of 10 folds: {own:.2f} s, MAPIE with the same forest {theirs:.2f} s")
    if is_there("coverforest"):
        time_coverforest(X, y, query)
    n_trees = 100 if quick else 500
    forest = spinney.RandomForestRegressor(n_trees, random_state=SEED).fit(X, y)
    own = seconds(lambda: forest.predict_standard_error(query[:2000]))
    print(f"standard errors of {len(query[:2000])} rows, {n_trees} trees: {own:.2f} s")
    if is_there("forestci"):
        import forestci

        peer = sklearn.ensemble.RandomForestRegressor(n_trees, random_state=SEED).fit(X, y)
        theirs = seconds(
            lambda: forestci.random_forest_error(peer, X.shape, query[:2000], calibrate=False)
        )
        print(f"  forestci: {theirs:.2f} s ({theirs / own:.0f}x)")
        record("standard errors", {"spinney": own, "forestci": theirs})


def time_coverforest(X: np.ndarray, y: np.ndarray, query: np.ndarray) -> None:
    try:
        from coverforest import CoverForestRegressor
    except ImportError as error:
        # Its version 0.0.3 reads names of scikit-learn that 1.8 has no more.
        print(f"  coverforest is skipped: {error}")
        return
    peer = CoverForestRegressor(100, method="bootstrap", random_state=SEED)
    fit = seconds(lambda: peer.fit(X, y))
    ask = seconds(lambda: peer.predict(query, alpha=0.1))
    print(f"  coverforest J+aB: fit {fit:.2f} s, {ask:.2f} s")


def main() -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--splits", type=positive, default=20)
    arguments = parser.parse_args()
    print_versions()
    coverage(2 if arguments.quick else arguments.splits, 500 if arguments.quick else 2000)
    times(arguments.quick)


if __name__ == "__main__":
    main()
