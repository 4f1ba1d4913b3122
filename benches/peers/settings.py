"""The settings that people use, beside the default ones: what each costs, against scikit-learn.

Leaves of several rows, class weights, sample weights, entropy, several outputs, best-first growth,
monotonic constraints, warm starts, float64, and AdaBoost over small trees, on real tables of up to
20,000 rows. One thread. The last column divides our time by that of our plain fit.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np
import sklearn.ensemble
import sklearn.tree

import spinney
from common import (
    geometric_mean,
    positive,
    print_versions,
    record,
    time_interleaved,
)
from data_sets import find_data
from real import ROWS, SEED, SETS, Table, estimator, halves

PLANS = ("random forest", "extra trees", "one tree")
N_TREES = 5
N_BOOSTED, BOOSTED_DEPTH = 20, 3

TWO_OUTPUTS = "two outputs"
REAL_WEIGHTS = "real weights"
BOOSTED = "AdaBoost"
MONOTONIC = "monotonic"
WARM = "warm start"
DOUBLE = "float64"
ACTIVE = "active features"
# What each setting sets. Classes or numbers alone have those that are named after them.
SETTINGS = {
    "plain": {},
    "leaves of 2": {"min_samples_leaf": 2},
    "leaves of 5": {"min_samples_leaf": 5},
    "least weight": {"min_weight_fraction_leaf": 2e-4},
    "least decrease": {"min_impurity_decrease": 1e-6},
    REAL_WEIGHTS: {},
    TWO_OUTPUTS: {},
    "balanced": {"class_weight": "balanced"},
    "balanced subsample": {"class_weight": "balanced_subsample"},
    "entropy": {"criterion": "entropy"},
    "best first": {"max_leaf_nodes": 1_000_000},
    MONOTONIC: {},
    WARM: {"warm_start": True},
    DOUBLE: {},
    ACTIVE: {"feature_sampling": "active"},
    BOOSTED: {},
}
OF_CLASSES = ("balanced", "balanced subsample", "entropy")
OF_NUMBERS = (BOOSTED,)


def is_possible(setting: str, plan: str, table: Table) -> bool:
    """Whether an estimator has a setting."""
    if setting in (OF_CLASSES if table.is_regression else OF_NUMBERS):
        return False
    if setting == MONOTONIC and not table.is_regression and len(np.unique(table.y)) > 2:
        return False
    if setting == BOOSTED:
        return plan == "one tree"
    if setting == WARM and plan == "one tree":
        return False
    return setting != "balanced subsample" or plan != "one tree"


def target_of(table: Table, setting: str) -> np.ndarray:
    """Return the target, or two of them: the second has the classes or numbers of other rows."""
    y = np.asarray(table.y)
    return np.column_stack([y, np.roll(y, 1)]) if setting == TWO_OUTPUTS else y


def make(library, plan: str, setting: str, *, is_regression: bool):
    """Make an estimator with a setting."""
    model = estimator(library, plan, is_regression=is_regression, n_trees=N_TREES, n_jobs=1)
    if setting == BOOSTED:
        small = model.set_params(max_depth=BOOSTED_DEPTH)
        return sklearn.ensemble.AdaBoostRegressor(small, n_estimators=N_BOOSTED, random_state=SEED)
    model.set_params(**SETTINGS[setting])
    return model.set_params(n_estimators=1) if setting == WARM else model


def fit(library, plan: str, setting: str, X: np.ndarray, y: np.ndarray, table: Table):
    """Fit an estimator with a setting."""
    model = make(library, plan, setting, is_regression=table.is_regression)
    if setting == MONOTONIC:
        model.set_params(monotonic_cst=[1] + [0] * (X.shape[1] - 1))
    weights = None
    if setting == REAL_WEIGHTS:
        weights = np.random.default_rng(SEED).random(len(X)) + 0.1
    model.fit(X, y, sample_weight=weights)
    # The trees of a warm start come one by one.
    for n_trees in range(2, N_TREES + 1) if setting == WARM else ():
        model.set_params(n_estimators=n_trees).fit(X, y)
    return model


def run(name: str, table: Table, plans: list[str], settings: list[str], repeats: int):
    """Time all settings; yield plan, setting, ratio, and our time over that of our plain fit."""
    single = np.asarray(table.X, dtype=np.float32)
    double = np.asarray(table.X, dtype=np.float64)
    for plan in plans:
        plain = np.nan
        for setting in settings:
            if not is_possible(setting, plan, table):
                continue
            X, y = double if setting == DOUBLE else single, target_of(table, setting)
            # scikit-learn draws from all features.
            libraries = {"spinney": spinney} | (
                {} if setting == ACTIVE else {"scikit-learn": sklearn}
            )
            work = {
                who: partial(fit, library, plan, setting, X, y, table)
                for who, library in libraries.items()
            }
            timings = time_interleaved(work, repeats)
            found = {who: min(timing.seconds) for who, timing in timings.items()}
            ours, theirs = found["spinney"], found.get("scikit-learn", np.nan)
            plain = ours if setting == "plain" else plain
            ratio = theirs / ours
            print(
                f"{name:14}{plan:15}{setting:20}{ours * 1e3:>9.1f} ms{theirs * 1e3:>10.1f} ms"
                f"{ratio:>8.2f}{ours / plain:>8.2f}",
                flush=True,
            )
            record(f"{plan}, {setting}, {name}", found)
            yield plan, setting, ratio, ours / plain


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = ["magic04", "california", "adult", "covertype"]
    parser.add_argument("--sets", nargs="+", choices=SETS, default=default)
    parser.add_argument("--plans", nargs="+", choices=PLANS, default=list(PLANS))
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--repeats", type=positive, default=5)
    args = parser.parse_args()
    print_versions()
    print(f"{'':49}{'spinney':>12}{'scikit-learn':>13}{'ratio':>8}{'plain':>8}")
    ratios: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for name in args.sets:
        file, read = SETS[name]
        if not find_data(file).exists():
            print(f"{name}: skipped, {file} is not there")
            continue
        table, _ = halves(read(), ROWS)
        for plan, setting, *found in run(name, table, args.plans, args.settings, args.repeats):
            ratios.setdefault((plan, setting), []).append(tuple(found))
    print("\ngeometric means, and our time over that of our plain fit")
    for (plan, setting), found in ratios.items():
        values, of_plain = zip(*found, strict=True)
        print(
            f"{plan:15}{setting:20}{geometric_mean(values):>8.2f}{min(values):>10.2f} at least"
            f"{geometric_mean(of_plain):>8.2f}{max(of_plain):>8.2f} at most"
        )


if __name__ == "__main__":
    main()
