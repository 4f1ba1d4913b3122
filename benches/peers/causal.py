"""Causal forests of ours and, if it is installed, of EconML.

    python benches/peers/causal.py [--quick] [--rows 4000] [--trees 500] [--seeds 3]

One thread. Both get the same residuals: outcomes and treatments less what our forests expect of
them. Times are medians over the seeds, in turns. Errors are root mean squares against the true
effects of 2,000 new rows, and the share of these that intervals of 90 % cover. A is the first
set-up of Nie and Wager, in B propensities and effects share a feature, and in C 2 to 8 % are
treated.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from common import positive, print_versions, record
from spinney.causal import CausalForest

N_FEATURES = 20
N_NEW = 2000
# Features, treatments, outcomes and true effects.
Data = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def draw(design: str, n: int, seed: int) -> Data:
    """Return rows of a design."""
    rng = np.random.default_rng([seed, ord(design)])
    if design == "A":
        X = rng.random((n, N_FEATURES))
        both = np.sin(np.pi * X[:, 0] * X[:, 1])
        share, effects = np.clip(both, 0.1, 0.9), (X[:, 0] + X[:, 1]) / 2
        base = both + 2 * (X[:, 2] - 0.5) ** 2 + X[:, 3] + X[:, 4] / 2 - effects / 2
    else:
        X = rng.standard_normal((n, N_FEATURES))
        share = 1 / (1 + np.exp(-X[:, 0] - X[:, 1] / 2))
        share = 0.02 + 0.06 * share if design == "C" else share
        effects = 1 / (1 + np.exp(-3 * X[:, 0])) + (X[:, 2] > 0) / 2
        base = X[:, 0] + X[:, 1]
    T = (rng.random(n) < share).astype(float)
    return X, T, base + effects * T + rng.standard_normal(n), effects


def fit_ours(X: np.ndarray, T: np.ndarray, y: np.ndarray, trees: int, seed: int) -> Any:
    # The residuals are centred.
    known = {"model_y": 0.0, "model_t": 0.0}
    return CausalForest(trees, subforest_size=4, n_jobs=1, random_state=seed, **known).fit(X, T, y)


def fit_econml(X: np.ndarray, T: np.ndarray, y: np.ndarray, trees: int, seed: int) -> Any:
    from econml.grf import CausalForest as Theirs

    model = Theirs(trees, criterion="mse", n_jobs=1, inference=True, random_state=seed)
    return model.fit(X, T, y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=positive, default=4000)
    parser.add_argument("--trees", type=positive, default=500)
    parser.add_argument("--seeds", type=positive, default=3)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rows, arguments.trees, arguments.seeds = 1000, 100, 1
    fits: dict[str, Callable[..., Any]] = {"Spinney": fit_ours}
    if importlib.util.find_spec("econml") is not None:
        fits["EconML"] = fit_econml
    print_versions()
    print("design, library, fit, predict, intervals (seconds), error, covered")
    for design in "ABC":
        measured: dict[str, list[list[float]]] = {name: [] for name in fits}
        seconds: dict[str, float] = {}
        errors: dict[str, float] = {}
        for seed in range(arguments.seeds):
            X, T, y, _ = draw(design, arguments.rows, seed)
            new, _, _, effects = draw(design, N_NEW, 1000 + seed)
            # Shallow trees: what is expected is all that is wanted.
            centring = CausalForest(500, max_depth=1, n_jobs=1, random_state=seed).fit(X, T, y)
            w, v = T - centring.expected_t_, y - centring.expected_y_
            for name, fit in fits.items():
                start = perf_counter()
                model = fit(X, w, v, arguments.trees, seed)
                fitted = perf_counter()
                found = np.ravel(model.predict(new))
                predicted = perf_counter()
                low, high = (np.ravel(bound) for bound in model.predict_interval(new, alpha=0.1))
                done = perf_counter()
                error = np.sqrt(np.mean((found - effects) ** 2))
                covered = np.mean((low < effects) & (effects < high))
                times = fitted - start, predicted - fitted, done - predicted
                measured[name].append([*times, error, covered])
        for name, of_seeds in measured.items():
            numbers = [median(column) for column in zip(*of_seeds, strict=True)]
            seconds[name], errors[name] = numbers[0], numbers[3]
            print(design, name, *(f"{number:.3f}" for number in numbers), sep="  ", flush=True)
        work = f"causal forest, design {design}"
        record(work, seconds)
        record(work, errors, "scores")


if __name__ == "__main__":
    main()
