"""A whole project with scikit-learn and with Spinney: seconds, scores, bytes, lines of code.

House prices from categories, holes and a listing (`project_data.py`). Each side
(`project_before.py`, `project_after.py`) searches four settings, predicts held-out houses with
intervals, finds the importances of the columns, explains one price, estimates what a deck adds to
prices, and stores its model. Boosted models, with their defaults, fit the columns of the second
side. Each runs on one thread, in a process of its own for each split (`project_measure.py`).
Medians are printed; seconds are those of the processor. `--out` keeps them in a file, from which
docs/project.md has its tables. Steps of the first side that need shap or EconML are left out if
these are not installed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from common import describe_run, is_there, positive, write_results
from data_sets import find_data
from project_data import FILE
from project_measure import measure_boosting, measure_side
from project_tables import BOOSTING, OPTIONAL, SIDES, make_tables, write_table

LIGHTGBM = "lightgbm.LGBMRegressor"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "LOKY_MAX_CPU_COUNT")


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
            measure_side(name, split, arguments)
            if name in SIDES
            else measure_boosting(name, split, arguments.rows)
        )
        print(json.dumps(run))
        return 0
    others = ["pandas"]
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in arguments.models}
    if LIGHTGBM in runs:
        if is_there("lightgbm"):
            others.append("lightgbm")
        else:
            del runs[LIGHTGBM]
    if "scikit-learn" in runs:
        for step, package in OPTIONAL.items():
            if is_there(package):
                others.append(package)
            else:
                print(f"left out with scikit-learn: {step}")
    for split in range(arguments.splits):
        for name, done in runs.items():
            done.append(measure_in_fresh_process(name, split, arguments))
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
