"""HistGradientBoosting of ours and of scikit-learn.

    python benches/peers/hist_boosting.py [--quick] [--rounds 100] [--repeats 3] [--sets adult ...]
    python benches/peers/hist_boosting.py --losses [--sets california ...]

One thread. Times are the least CPU seconds of fits that take turns, so that other work on the
machine counts little: 100 rounds on tables, and on normal numbers of few rows, where the price of a
call weighs most. `--losses` has the losses of rows that are held out instead: means over three
seeds of the split, of squared errors by the variance, or of logarithms.
"""

from __future__ import annotations

import argparse
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
from common import positive, print_versions, processor_seconds, record
from data_sets import find_data
from real import SETS

SMALL_ROWS = (100, 1_000, 5_000)
SEEDS = (0, 1, 2)
# scikit-learn's classes take no sparse matrices.
TIMED = [name for name in LOADERS if name not in ("20 newsgroups", "hiv")]
_MORE = ("magic04", "protein", "ames", "beijing air", "nycflights", "plant editing", "splice")
DENSE: dict[str, Callable[[], Data]] = {
    **{name: LOADERS[name] for name in TIMED},
    **{name: partial(load_real, name) for name in _MORE},
}
# Rows that losses are of.
MOST_ROWS = 30_000


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
    if hasattr(model, "classes_"):
        return float(log_loss(y, model.predict_proba(X), labels=model.classes_))
    return float(np.mean((model.predict(X) - y) ** 2) / scale)


def compare_losses(name: str, data: Data, rounds: int) -> None:
    X, y, kind = data
    losses = []
    for seed in SEEDS:
        rows, held_out = train_test_split(np.arange(len(y)), test_size=0.3, random_state=seed)
        rows, scale = rows[:MOST_ROWS], float(np.var(y))
        models = {
            "spinney": make(spinney, kind, rounds),
            "spinney, exact cuts": make(spinney, kind, rounds, max_bins=None),
            "scikit-learn": make(sklearn.ensemble, kind, rounds),
        }
        losses.append(
            [
                measure_loss(model.fit(X[rows], y[rows]), X[held_out], y[held_out], scale)
                for model in models.values()
            ]
        )
    means, spread = np.mean(losses, axis=0), np.std(losses, axis=0).max()
    shown = "  ".join(f"{who} {mean:.5f}" for who, mean in zip(models, means, strict=True))
    print(
        f"{name:14} loss: {shown}  ours/theirs {means[0] / means[2]:.4f} and "
        f"{means[1] / means[2]:.4f}; between seeds {spread:.5f}",
        flush=True,
    )
    record(
        f"histogram boosting, {name}: loss", dict(zip(models, means, strict=True)), kind="scores"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="ten rounds, once")
    parser.add_argument("--losses", action="store_true", help="losses of held-out rows instead")
    parser.add_argument("--rounds", type=positive, default=100)
    parser.add_argument("--repeats", type=positive, default=3)
    parser.add_argument("--sets", nargs="+", choices=DENSE)
    arguments = parser.parse_args()
    rounds, repeats = (10, 1) if arguments.quick else (arguments.rounds, arguments.repeats)
    print_versions()
    with threadpool_limits(1):
        for name in arguments.sets or (DENSE if arguments.losses else TIMED):
            if name in SETS and not find_data(SETS[name][0]).exists():
                print(f"skipped: {name} is not there")
                continue
            data = DENSE[name]()
            assert not sp.issparse(data[0])
            if arguments.losses:
                compare_losses(name, data, rounds)
            else:
                compare_times(name, data, rounds, repeats)
        if not arguments.losses:
            for n_rows in SMALL_ROWS:
                # Short fits take more turns.
                compare_times("few rows", load_small(n_rows), rounds, 5 * repeats)


if __name__ == "__main__":
    main()
