"""The held-out loss of boosting by what is done with categories.

    python benches/peers/boosted_categories.py [--sets adult ames] [--rows 20000] [--seeds 5]

Five tables of `real.py`, each parted anew for each seed. The loss is that of probabilities for
classes, and the squared error over the variance of the target for numbers. *Codes* are the
categories in alphabetical order as numbers. *Target statistics* are means of the targets of the
rows before each row in a random order, drawn towards the mean of all (ordered target statistics,
Prokhorenkova et al. 2018), one for each class but the first. Printed are the mean of the loss over
that of codes, and in brackets by how many standard errors of the paired differences it is lower.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.metrics import log_loss

import spinney
from categories import codes
from common import positive
from data_sets import find_data
from real import SETS, Table

DEFAULT = ("adult", "kddcup99", "ames", "nycflights", "diamonds")
# Rows that target statistics count at the mean of all.
PRIOR = 10.0
# Classes of a smaller share of the rows are left out: training may lack them.
LEAST_SHARE = 0.002
MAX_TEST_ROWS = 10_000


def with_frequent_classes(data: Table) -> Table:
    if data.is_regression:
        return data
    shares = np.bincount(data.y) / len(data.y)
    return data.rows(np.flatnonzero(shares[data.y] >= LEAST_SHARE))


def parted(data: Table, n_rows: int, seed: int) -> tuple[Table, Table]:
    """Return training rows, at most `n_rows`, and held-out rows."""
    n = len(data.y)
    n_test = min(MAX_TEST_ROWS, n // 4)
    order = np.random.default_rng(seed).permutation(n)
    return data.rows(order[n_test : n_test + n_rows]), data.rows(order[:n_test])


def indicators(train: Table) -> np.ndarray:
    """Return the target, or whether a row has a class, for each class but the first."""
    if train.is_regression:
        return train.y[:, None]
    return (train.y[:, None] == np.unique(train.y)[1:]).astype(float)


def with_statistics(train: Table, test: Table, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return both with ordered target statistics in the place of categories."""
    rng = np.random.default_rng(seed)
    targets = indicators(train)
    means = targets.mean(axis=0)
    parts = ([], [])
    for name, column in train.frame.items():
        if column.dtype != "category":
            parts[0].append(column.to_numpy(float)[:, None])
            parts[1].append(test.frame[name].to_numpy(float)[:, None])
            continue
        order = rng.permutation(len(column))
        shuffled = pd.Series(column.cat.codes.to_numpy()[order])
        groups = pd.DataFrame(targets[order]).groupby(shuffled)
        before = groups.cumsum().to_numpy() - targets[order]
        n_before = groups.cumcount().to_numpy()[:, None]
        of_rows = np.empty_like(targets)
        of_rows[order] = (before + PRIOR * means) / (n_before + PRIOR)
        sums, counts = groups.sum(), groups.size()
        of_codes = (sums + PRIOR * means).div(counts + PRIOR, axis=0)
        found = of_codes.reindex(test.frame[name].cat.codes).fillna(dict(enumerate(means)))
        parts[0].append(of_rows)
        parts[1].append(found.to_numpy())
    return np.hstack(parts[0]), np.hstack(parts[1])


def loss(model, train: tuple, test: tuple) -> float:
    model.fit(*train)
    X, y = test
    if hasattr(model, "classes_"):
        return log_loss(y, model.predict_proba(X), labels=model.classes_)
    return float(np.mean((y - model.predict(X)) ** 2) / np.var(train[1]))


def treatments(train: Table, test: Table, seed: int) -> dict[str, Callable[[object], float]]:
    """Return by name what gives the loss of a model, given the rows in one form or another."""

    def of(X_train, X_test, **options) -> Callable[[object], float]:
        def measure(model) -> float:
            model.set_params(**{k: v for k, v in options.items() if k in model.get_params()})
            return loss(model, (X_train, train.y), (X_test, test.y))

        return measure

    sets = {"categorical_features": "from_dtype"}
    frames = (train.frame, test.frame)
    return {
        "codes": of(codes(train.frame), codes(test.frame)),
        "as they are": of(*frames, **sets),
        "node": of(*frames, **sets, category_order="node"),
        "node, 20 rows": of(*frames, **sets, category_order="node", min_samples_category=20),
        "tree": of(*frames, **sets, category_order="tree"),
        "statistics": of(*with_statistics(train, test, seed)),
    }


def models(*, is_regression: bool, seed: int) -> dict[str, object]:
    suffix = "Regressor" if is_regression else "Classifier"
    gradient = getattr(spinney, f"GradientBoosting{suffix}")
    hist = getattr(spinney, f"HistGradientBoosting{suffix}")
    leaves = {"max_depth": None, "max_leaf_nodes": 31, "min_samples_leaf": 20}
    return {
        "GradientBoosting": gradient(random_state=seed),
        "second_order": gradient(second_order=True, random_state=seed, **leaves),
        "HistGradientBoosting": hist(early_stopping=False, random_state=seed),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=DEFAULT)
    parser.add_argument("--models", nargs="+")
    parser.add_argument("--only", nargs="+", help="treatments beside codes")
    parser.add_argument("--rows", type=positive, default=20_000, help="at most so many train")
    parser.add_argument("--seeds", type=positive, default=5)
    arguments = parser.parse_args()
    for name in arguments.sets:
        file, read = SETS[name]
        if not find_data(file).exists():
            print(f"{name}: skipped, {file} is not there")
            continue
        data = with_frequent_classes(read())
        losses: dict[tuple[str, str], list[float]] = {}
        for seed in range(arguments.seeds):
            train, test = parted(data, arguments.rows, seed)
            ways = treatments(train, test, seed)
            for kind, model in models(is_regression=data.is_regression, seed=seed).items():
                if arguments.models and kind not in arguments.models:
                    continue
                for way, measure in ways.items():
                    if way != "codes" and arguments.only and way not in arguments.only:
                        continue
                    is_known = "category_order" in model.get_params()
                    if is_known or way in ("codes", "as they are", "statistics"):
                        losses.setdefault((kind, way), []).append(measure(clone(model)))
        for (kind, way), found in losses.items():
            of_codes = losses[kind, "codes"]
            differences = np.subtract(of_codes, found)
            ratio = np.mean(found) / np.mean(of_codes)
            line = f"{name:12}{kind:22}{way:16}{np.mean(found):9.5f}{ratio:8.3f}"
            if way != "codes":
                error = differences.std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
                line += f"  ({differences.mean() / error:+.1f})"
            print(line, flush=True)


if __name__ == "__main__":
    main()
