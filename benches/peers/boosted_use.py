"""Boosted models of ours and of LightGBM: time to predict many rows, and memory of a fit (Linux).

    python benches/peers/boosted_use.py [--quick]

One thread. Predicted are 100,000 rows x 30 by 500 trees of 31 leaves: the least processor seconds
of runs that take turns. Memory is what a fit of ten rounds adds at its peak, in a process of its
own, beside the bytes of `X`: 100,000 x 30 numbers, and 20 Newsgroups (one class against the
others). Freed memory is given back before a fit, which a tiny one has warmed up.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
from typing import Any

import numpy as np

from common import is_there, print_versions, processor_seconds
from data_sets import find_data
from memory import (
    CLEAR_REFS,
    FILES,
    RESET_PEAK,
    give_back_free_memory,
    input_bytes,
    news20,
    random_dense,
    status_bytes,
)

SHAPE = {"max_depth": None, "max_leaf_nodes": 31, "min_samples_leaf": 20}
# The module, the class, and what makes leaves and rounds equal.
MODELS: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "spinney, exact": ("spinney", "GradientBoostingClassifier", "n_estimators", SHAPE),
    "spinney, histograms": (
        "spinney",
        "HistGradientBoostingClassifier",
        "max_iter",
        {"early_stopping": False},
    ),
    "LightGBM": ("lightgbm", "LGBMClassifier", "n_estimators", {"verbose": -1}),
}
CASES = {"dense 100000 x 30": random_dense, "20 Newsgroups TF-IDF": news20}
TRAINING_ROWS, ROUNDS, ROUNDS_OF_FIT = 20_000, 500, 10


def make(who: str, rounds: int) -> Any:
    module, name, argument, options = MODELS[who]
    made = getattr(importlib.import_module(module), name)
    return made(**{argument: rounds}, n_jobs=1, random_state=0, **options)


def compare_predictions(rounds: int, repeats: int) -> None:
    X, _ = random_dense()
    y = X[:, 0] * X[:, 1] + X[:, 2] + np.random.default_rng(0).normal(scale=0.3, size=len(X)) > 0.75
    models = {
        who: make(who, rounds).fit(X[:TRAINING_ROWS], y[:TRAINING_ROWS])
        for who in MODELS
        if is_there(MODELS[who][0])
    }
    least = dict.fromkeys(models, np.inf)
    for _ in range(repeats):
        for who, model in models.items():
            least[who] = min(least[who], processor_seconds(lambda m=model: m.predict_proba(X)))
    for who, seconds in least.items():
        shown = f"{seconds / least['LightGBM']:6.2f} of LightGBM's" if "LightGBM" in least else ""
        print(f"{who:20} {rounds} trees, 100,000 rows: {seconds:7.3f} s {shown}", flush=True)


def measure_memory(case: str, who: str) -> dict[str, int]:
    X, y = CASES[case]()
    y = y == y.max()
    some = np.r_[np.flatnonzero(y)[:50], np.flatnonzero(~y)[:50]]
    make(who, 1).fit(X[some], y[some])
    give_back_free_memory()
    CLEAR_REFS.write_text(RESET_PEAK)
    before = status_bytes("VmRSS")
    make(who, ROUNDS_OF_FIT).fit(X, y)
    return {"input": input_bytes(X), "growth": status_bytes("VmHWM") - before}


def compare_memory() -> None:
    if not CLEAR_REFS.exists():
        print(f"skipped: {CLEAR_REFS} not found (Linux only)")
        return
    for case, load in CASES.items():
        if not all(find_data(name).exists() for name in FILES.get(load, ())):
            continue
        for who in MODELS:
            if is_there(MODELS[who][0]):
                command = [sys.executable, __file__, "--measure", case, who]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                found = json.loads(done.stdout)
                print(
                    f"{who:20} {case}: X {found['input'] / 1e6:6.1f} MB, the fit adds "
                    f"{found['growth'] / 1e6:6.1f} MB",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="50 trees, once")
    parser.add_argument("--measure", nargs=2, metavar=("CASE", "MODEL"), help="print JSON")
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure_memory(*arguments.measure)))
        return
    print_versions()
    compare_predictions(*((50, 1) if arguments.quick else (ROUNDS, 5)))
    compare_memory()


if __name__ == "__main__":
    main()
