"""One run of a side, or of a boosted model, for `project.py`: seconds, scores, bytes, memory.

A side (`project_before.py`, `project_after.py`) has a function for each step. Boosted models, with
their defaults, fit the columns of the second side.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import processor_seconds
from project_data import TREATMENT, read_houses
from project_tables import BOOSTING, OPTIONAL, SIDES, STEPS

if TYPE_CHECKING:
    import argparse

# Averages of effects need more trees than `--trees`, and a small run needs some, too.
TREES_OF_EFFECT = 4
FEWEST_TREES_OF_EFFECT = 100
N_CONTRIBUTIONS = 5


class Clock:
    """Seconds of the processor for each step, in the order of STEPS, and what it warned of."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.warnings: dict[str, list[str]] = {}

    def run(self, step: str, work: Callable[[], Any]) -> Any:
        if step not in STEPS:
            raise KeyError(step)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            start = time.process_time()
            done = work()
            self.seconds[step] = time.process_time() - start
        if caught:
            self.warnings[step] = [str(warning.message) for warning in caught]
        return done


def find_peak() -> int:
    """Return the peak memory of this process in bytes."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def import_side(name: str) -> tuple[Any, set[str]]:
    """Return the module of a side, and the steps that are left out; imports are no step."""
    missing = set()
    if name == "scikit-learn":
        for step, package in OPTIONAL.items():
            if find_spec(package) is None:
                missing.add(step)
            else:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    importlib.import_module("econml.dml" if package == "econml" else package)
    return importlib.import_module(SIDES[name].removesuffix(".py")), missing


def measure_side(name: str, split: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Run the steps of a side in this process."""
    from sklearn.base import clone

    side, left_out = import_side(name)
    clock = Clock()
    run, trees = clock.run, arguments.trees
    houses, held_out, prices, truth = run(
        "read the table", lambda: read_split(split, arguments.rows)
    )
    # The first arguments of functions of the second side: its model has two parts.
    words: tuple[Any, ...] = ()
    table, judges = houses, (held_out, truth)
    if name == "Spinney":
        encoded, table = run("encode it once", lambda: side.encode(houses))
        words, judges = (encoded,), (table, prices)
    found = run("grid search", lambda: side.search(table, prices, trees))
    model = (*words, found.best_estimator_)
    predicted = run("predict the held-out houses", lambda: side.predict(*model, held_out))
    low, high = run(
        "intervals of the held-out houses",
        lambda: side.find_intervals(*words, table, prices, held_out, trees),
    )
    importances = run(
        "importances of all columns",
        lambda: side.find_importances(*model, *judges, arguments.permutations),
    )
    explained, effect = None, (None, None)
    if "explain one house" not in left_out:
        explained = run("explain one house", lambda: side.explain(*model, held_out[:1]))
    if "effect of a deck" not in left_out:
        n_trees = max(TREES_OF_EFFECT * trees, FEWEST_TREES_OF_EFFECT)
        effect = run("effect of a deck", lambda: side.find_effect(*words, houses, prices, n_trees))
    with tempfile.TemporaryDirectory() as name_of_folder:
        folder = Path(name_of_folder)
        run("save the model", lambda: side.save(*model, folder))

        def load_and_predict() -> Any:
            loaded = side.load(folder)
            return side.predict(*(loaded if words else (loaded,)), held_out[:1])

        if run("load it, predict one house", load_and_predict) != predicted[:1]:
            sys.exit(f"error: {name} predicts something else when it is loaded")
        n_bytes = sum(file.stat().st_size for file in folder.iterdir())
    peak = find_peak()
    fit = processor_seconds(lambda: clone(found.best_estimator_).fit(table, prices))
    has_deck = houses[TREATMENT] > 0
    return {
        "seconds": clock.seconds | {"all steps": sum(clock.seconds.values())},
        "fit": fit,
        "parameters": {key.split("__")[-1]: value for key, value in found.best_params_.items()},
        "importances": importances.sort_values(ascending=False).to_dict(),
        "first_house": {"prediction": float(predicted[0]), "price": float(truth.iloc[0])},
        "contributions": list_contributions(explained),
        **judge(predicted, truth),
        "inside": float(((low <= truth) & (truth <= high)).mean()),
        "width": find_width(low, high),
        "effect": effect[0],
        "effect_error": effect[1],
        "difference": float(prices[has_deck].mean() - prices[~has_deck].mean()),
        "warnings": clock.warnings,
        "bytes": n_bytes,
        "memory": peak,
    }


def find_width(low: Any, high: Any) -> float:
    """Return the median width of intervals."""
    import numpy as np

    return float(np.median(high - low))


def list_contributions(explained: Any) -> list[tuple[str, float]] | None:
    """Return the largest contributions to a price, each with its name."""
    if explained is None:
        return None
    found = getattr(explained, "contributions", None)
    if found is None:
        # Names of columns have the step of the encoder before them.
        found = [(name.split("__")[-1], value) for name, value in explained.items()]
    return [(name, float(value)) for name, value in found[:N_CONTRIBUTIONS]]


def measure_boosting(name: str, split: int, n_rows: int | None) -> dict[str, Any]:
    """Fit one of the boosted models, with its defaults, in this process."""
    import joblib

    from project_after import add_words, encode

    module, _, class_name = name.rpartition(".")
    model = getattr(importlib.import_module(module), class_name)(**BOOSTING[name], random_state=0)
    houses, held_out, prices, truth = read_split(split, n_rows)
    words, _ = encode(houses)
    train, test = add_words(houses, words), add_words(held_out, words)
    for column in train.select_dtypes(exclude="number"):
        train[column] = train[column].astype("category")
        known = train[column].cat.categories
        test[column] = test[column].astype("category").cat.set_categories(known)
    if module == "lightgbm":
        # It takes no spaces in names.
        train.columns = test.columns = [f"column{number}" for number in range(train.shape[1])]
    seconds = processor_seconds(lambda: model.fit(train, prices))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model"
        if module == "spinney":
            model.save(file)
        else:
            joblib.dump(model, file)
        n_bytes = file.stat().st_size
    return {"fit": seconds, **judge(model.predict(test), truth), "bytes": n_bytes}


def read_split(split: int, n_rows: int | None) -> Any:
    """Return training and held-out houses, and their prices."""
    from sklearn.model_selection import train_test_split

    houses, prices = read_houses()
    return train_test_split(houses[:n_rows], prices[:n_rows], random_state=split)


def judge(predicted: Any, truth: Any) -> dict[str, float]:
    from sklearn.metrics import mean_absolute_error, r2_score

    return {"r2": r2_score(truth, predicted), "error": mean_absolute_error(truth, predicted)}
