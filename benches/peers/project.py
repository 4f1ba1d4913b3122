"""A whole project with scikit-learn and with Spinney: seconds, scores, bytes, lines of code.

House prices from categories, holes and a listing (`project_data.py`). Each side
(`project_before.py`, `project_after.py`) searches four settings, predicts held-out houses, finds
the importances of the columns, and stores its model. Two boosted models, with their defaults, fit
the columns of the second side. Each runs on one thread, in a process of its own for each split.
Medians are printed. `--out` keeps them in a file, from which docs/project.md has its tables.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from common import describe_run, is_there, positive, write_results
from data_sets import find_data
from project_data import FILE, read_houses
from project_tables import SIDES, STEPS, make_tables, write_table

BOOSTING = ("HistGradientBoostingRegressor", "LightGBM")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "LOKY_MAX_CPU_COUNT")


class Clock:
    """Seconds of each step, in the order of STEPS."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def run(self, step: str, work: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        done = work()
        self.seconds[step] = time.perf_counter() - start
        return done


def find_peak() -> int:
    """Return the peak memory of this process in bytes."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def measure_forest(name: str, split: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Run the steps of a side in this process."""
    clock, steps = Clock(), iter(STEPS)
    # Imports are no step.
    side: Any = importlib.import_module(SIDES[name].removesuffix(".py"))
    houses, held_out, prices, truth = clock.run(
        next(steps), lambda: read_split(split, arguments.rows)
    )
    if name == "scikit-learn":
        next(steps)
        found = clock.run(next(steps), lambda: side.search(houses, prices, arguments.trees))
        model: tuple[Any, ...] = (found.best_estimator_,)
        judges = (held_out, truth)
    else:
        words, dataset = clock.run(next(steps), lambda: side.encode(houses))
        found = clock.run(next(steps), lambda: side.search(dataset, prices, arguments.trees))
        model = (words, found.best_estimator_)
        judges = (dataset, prices)
    predicted = clock.run(next(steps), lambda: side.predict(*model, held_out))
    importances = clock.run(
        next(steps), lambda: side.find_importances(*model, *judges, arguments.permutations)
    )
    with tempfile.TemporaryDirectory() as name_of_folder:
        folder = Path(name_of_folder)
        clock.run(next(steps), lambda: side.save(*model, folder))

        def load_and_predict() -> Any:
            loaded = side.load(folder)
            return side.predict(*(loaded if len(model) > 1 else (loaded,)), held_out[:1])

        if clock.run(next(steps), load_and_predict) != predicted[:1]:
            sys.exit(f"error: {name} predicts something else when it is loaded")
        n_bytes = sum(file.stat().st_size for file in folder.iterdir())
    return {
        "seconds": clock.seconds | {next(steps): sum(clock.seconds.values())},
        "fit": found.refit_time_,
        "parameters": {key.split("__")[-1]: value for key, value in found.best_params_.items()},
        "importances": importances.sort_values(ascending=False).to_dict(),
        **judge(predicted, truth),
        "bytes": n_bytes,
        "memory": find_peak(),
    }


def measure_boosting(name: str, split: int, n_rows: int | None) -> dict[str, Any]:
    """Fit one of the two boosted models, with its defaults, in this process."""
    import joblib

    from project_after import add_words, encode

    houses, held_out, prices, truth = read_split(split, n_rows)
    words, _ = encode(houses)
    train, test = add_words(houses, words), add_words(held_out, words)
    for column in train.select_dtypes(exclude="number"):
        train[column] = train[column].astype("category")
        known = train[column].cat.categories
        test[column] = test[column].astype("category").cat.set_categories(known)
    if name == "LightGBM":
        import lightgbm

        # It takes no spaces in names.
        train.columns = test.columns = [f"column{number}" for number in range(train.shape[1])]
        model = lightgbm.LGBMRegressor(n_jobs=1, random_state=0, verbose=-1)
    else:
        from sklearn.ensemble import HistGradientBoostingRegressor

        model = HistGradientBoostingRegressor(random_state=0)
    clock = Clock()
    clock.run("fit", lambda: model.fit(train, prices))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.joblib"
        joblib.dump(model, file)
        n_bytes = file.stat().st_size
    return {**clock.seconds, **judge(model.predict(test), truth), "bytes": n_bytes}


def read_split(split: int, n_rows: int | None) -> Any:
    """Return training and held-out houses, and their prices."""
    from sklearn.model_selection import train_test_split

    houses, prices = read_houses()
    return train_test_split(houses[:n_rows], prices[:n_rows], random_state=split)


def judge(predicted: Any, truth: Any) -> dict[str, float]:
    from sklearn.metrics import mean_absolute_error, r2_score

    return {"r2": r2_score(truth, predicted), "error": mean_absolute_error(truth, predicted)}


def measure_in_fresh_process(name: str, split: int, arguments: argparse.Namespace) -> Any:
    # This process has imported little, so that the child's peak, which starts from it, is its own.
    command = [sys.executable, __file__, "--measure", name, str(split)]
    command += ["--trees", str(arguments.trees), "--permutations", str(arguments.permutations)]
    command += ["--rows", str(arguments.rows)] if arguments.rows else []
    environment = os.environ | dict.fromkeys(THREADS, "1")
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return json.loads(done.stdout)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=positive, default=3, help="runs of each (default: 3)")
    parser.add_argument("--trees", type=positive, default=100, help="of a forest (default: 100)")
    parser.add_argument("--permutations", type=positive, default=5, help="of a column (default: 5)")
    everything = [*SIDES, *BOOSTING]
    parser.add_argument("--models", nargs="+", default=everything, choices=everything, metavar="M")
    parser.add_argument("--rows", type=positive, help="take the first houses only")
    parser.add_argument(
        "--quick", action="store_true", help="one split, 400 houses, 5 trees, 1 permutation"
    )
    parser.add_argument("--out", type=Path, help="file of results")
    parser.add_argument("--measure", nargs=2, metavar=("NAME", "SPLIT"), help="print JSON")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.splits, arguments.permutations = 1, 1
        arguments.rows, arguments.trees = 400, 5
    return arguments


def main() -> int:
    arguments = parse_arguments()
    if not find_data(FILE).exists():
        print(f"skipped: {FILE} is not there")
        return 0
    if arguments.measure:
        name, split = arguments.measure[0], int(arguments.measure[1])
        run = (
            measure_forest(name, split, arguments)
            if name in SIDES
            else measure_boosting(name, split, arguments.rows)
        )
        print(json.dumps(run))
        return 0
    runs: dict[str, list[dict[str, Any]]] = {
        name: [] for name in arguments.models if name != "LightGBM" or is_there("lightgbm")
    }
    for split in range(arguments.splits):
        for name, done in runs.items():
            done.append(measure_in_fresh_process(name, split, arguments))
    others = ["pandas", *(["lightgbm"] if "LightGBM" in runs else [])]
    run = describe_run("python benches/peers/project.py", {name: version(name) for name in others})
    results = {**run, "tables": make_tables(runs), "runs": runs}
    print(", ".join(f"{name} {number}" for name, number in results["versions"].items()))
    print(f"{results['machine']}; medians of {arguments.splits} splits")
    for table in results["tables"]:
        print("", write_table(table), sep="\n")
    if arguments.out:
        write_results(arguments.out, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
