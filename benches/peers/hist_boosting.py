"""HistGradientBoosting of ours and of scikit-learn; its losses beside LightGBM and CatBoost, too.

    python benches/peers/hist_boosting.py [--quick] [--rounds 100] [--repeats 3] [--sets adult ...]
    python benches/peers/hist_boosting.py --losses [--sets california ...]

One thread. Times are the least CPU seconds of fits that take turns, so that other work on the
machine counts little: 100 rounds on tables, and on normal numbers of few rows, where the price of a
call weighs most. `--losses` has the losses of rows that are held out instead: means over five
seeds of the split, of squared errors by the variance, or of logarithms; and how many times ours is
scikit-learn's, and the lower one of LightGBM and CatBoost, with equal rounds and leaves. Of these
ratios, one for each seed, the mean and the standard deviation are printed.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.ensemble
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

import spinney
from boosting import LOADERS, Data, load_real
from common import (
    geometric_mean,
    is_there,
    positive,
    print_versions,
    processor_seconds,
    record,
)
from data_sets import find_data
from real import SETS

SMALL_ROWS = (100, 1_000, 5_000)
SEEDS = (0, 1, 2, 3, 4)
# scikit-learn's classes take no sparse matrices.
TIMED = [name for name in LOADERS if name not in ("20 newsgroups", "hiv")]
_MORE = (
    "magic04",
    "protein",
    "ames",
    "beijing air",
    "nycflights",
    "plant editing",
    "splice",
    "kddcup99",
)
REAL: dict[str, Callable[[], Data]] = {
    **{name: LOADERS[name] for name in TIMED if name != "normal"},
    **{name: partial(load_real, name) for name in _MORE},
}
# Rows that losses are of: to learn from, and to hold out.
MOST_ROWS = 5_000
LEAVES, LEAST = 31, 20


def load_small(n_rows: int) -> Data:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 10))
    return X, X[:, 0] * X[:, 1] + X[:, 2] + rng.standard_normal(n_rows), "Regressor"


def make(module: Any, kind: str, rounds: int, **parameters: Any) -> Any:
    given = {"max_iter": rounds, "early_stopping": False, "random_state": 0, **parameters}
    if module is spinney:
        given["n_jobs"] = 1
    return getattr(module, f"HistGradientBoosting{kind}")(**given)


def compare_times(name: str, data: Data, rounds: int, repeats: int) -> None:
    X, y, kind = data
    modules = {"spinney": spinney, "scikit-learn": sklearn.ensemble}
    seconds: dict[str, list[float]] = {who: [] for who in modules}
    for _ in range(repeats):
        for who, module in modules.items():
            model = make(module, kind, rounds)
            seconds[who].append(processor_seconds(lambda model=model: model.fit(X, y)))
    least = {who: min(times) for who, times in seconds.items()}
    ours, theirs = least.values()
    print(
        f"{name:14} {X.shape[0]:7} x {X.shape[1]:<3} {rounds} rounds: spinney {ours:8.3f}  "
        f"scikit-learn {theirs:8.3f} ({theirs / ours:5.2f}x)",
        flush=True,
    )
    record(f"histogram boosting, {name}", least)


def measure_loss(model: Any, X: Any, y: np.ndarray, scale: float) -> float:
    if hasattr(model, "predict_proba"):
        return float(log_loss(y, model.predict_proba(X), labels=model.classes_))
    return float(np.mean((model.predict(X) - y) ** 2) / scale)


def make_others(kind: str, rounds: int) -> dict[str, Any]:
    """Return models of LightGBM and CatBoost, if they are there, of as many rounds and leaves."""
    made = {}
    if is_there("lightgbm"):
        lightgbm = importlib.import_module("lightgbm")
        of_kind = getattr(lightgbm, "LGBM" + kind)
        made["LightGBM"] = of_kind(
            n_estimators=rounds, num_leaves=LEAVES, min_child_samples=LEAST, n_jobs=1, verbose=-1
        )
    if is_there("catboost"):
        catboost = importlib.import_module("catboost")
        made["CatBoost"] = getattr(catboost, "CatBoost" + kind)(
            iterations=rounds,
            learning_rate=0.1,
            grow_policy="Lossguide",
            max_leaves=LEAVES,
            depth=16,
            min_data_in_leaf=LEAST,
            thread_count=1,
            verbose=0,
            allow_writing_files=False,
            random_state=0,
        )
    return made


def compare_losses(name: str, data: Data, rounds: int) -> list[float]:
    """Return how many times ours is scikit-learn's, and the lower one of the others'."""
    X, y, kind = data
    losses: dict[str, list[float]] = {}
    for seed in SEEDS:
        rows, held_out = train_test_split(np.arange(len(y)), test_size=0.3, random_state=seed)
        rows, held_out, scale = rows[:MOST_ROWS], held_out[:MOST_ROWS], float(np.var(y))
        models = {
            "spinney": make(spinney, kind, rounds),
            "scikit-learn": make(sklearn.ensemble, kind, rounds),
            **make_others(kind, rounds),
        }
        for who, model in models.items():
            loss = measure_loss(model.fit(X[rows], y[rows]), X[held_out], y[held_out], scale)
            losses.setdefault(who, []).append(loss)
    means = {who: statistics.fmean(own) for who, own in losses.items()}
    others = [losses[who] for who in ("LightGBM", "CatBoost") if who in losses]
    found = []
    for peers in ([losses["scikit-learn"]], others):
        if peers:
            # The lower one in the mean of the seeds: the better of two draws would be too low.
            best = min(peers, key=sum)
            ratios = [a / b for a, b in zip(losses["spinney"], best, strict=True)]
            found.append((statistics.fmean(ratios), statistics.stdev(ratios)))
    shown = "  ".join(f"{who} {mean:.5f}" for who, mean in means.items())
    shares = "  ".join(f"{mean:.4f} ± {spread:.4f}" for mean, spread in found)
    print(f"{name:14} loss: {shown}   ours/scikit-learn, ours/better: {shares}", flush=True)
    record(f"histogram boosting, {name}: loss", means, kind="scores")
    return [mean for mean, _ in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="ten rounds, once")
    parser.add_argument("--losses", action="store_true", help="losses of held-out rows instead")
    parser.add_argument("--rounds", type=positive, default=100)
    parser.add_argument("--repeats", type=positive, default=3)
    parser.add_argument("--sets", nargs="+", choices=[*TIMED, *_MORE])
    arguments = parser.parse_args()
    rounds, repeats = (10, 1) if arguments.quick else (arguments.rounds, arguments.repeats)
    print_versions()
    shares: list[list[float]] = []
    with threadpool_limits(1):
        for name in arguments.sets or (REAL if arguments.losses else TIMED):
            if name in SETS and not find_data(SETS[name][0]).exists():
                print(f"skipped: {name} is not there")
                continue
            data = (LOADERS | REAL)[name]()
            assert not sp.issparse(data[0])
            if arguments.losses:
                shares.append(compare_losses(name, data, rounds))
            else:
                compare_times(name, data, rounds, repeats)
        if not arguments.losses:
            for n_rows in SMALL_ROWS:
                # Short fits take more turns.
                compare_times("few rows", load_small(n_rows), rounds, 5 * repeats)
    for whose, own in enumerate(zip(*shares, strict=True)):
        peer = ("scikit-learn's", "that of the better of LightGBM and CatBoost")[whose]
        print(f"geometric mean of {len(own)} tables: {geometric_mean(list(own)):.4f} of {peer}")


if __name__ == "__main__":
    main()
