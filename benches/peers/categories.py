"""What native categories cost at prediction, beside the same columns as codes: time and file size.

    python benches/peers/categories.py [--sets adult ames] [--trees 50] [--rows 20000] [--row]

Random forests on tables of `real.py`. Predictions are of held-out rows, on one thread. The time is
that of the trees alone, for rows whose categories have been looked up; it is the median of the
repeats, which take turns. Both forests get float64, as from a frame. The last line has the
geometric means of the ratios.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import spinney
from data_sets import find_data
from real import SETS, halves

SEED = 0
DEFAULT = ("adult", "kddcup99", "ames", "nycflights", "diamonds")


def fit(X, y: np.ndarray, n_trees: int, *, is_regression: bool, **options):
    kind = spinney.RandomForestRegressor if is_regression else spinney.RandomForestClassifier
    return kind(n_trees, random_state=SEED, n_jobs=2, **options).fit(X, y)


def codes(frame: pd.DataFrame) -> np.ndarray:
    """Return the columns with codes in the place of categories, and NaN where they are missing."""
    columns = [
        column.cat.codes.replace(-1, np.nan) if column.dtype == "category" else column
        for _, column in frame.items()
    ]
    return np.column_stack([column.to_numpy(np.float64) for column in columns])


def seconds(forest, X) -> float:
    start = time.perf_counter()
    forest.forest_.predict(X, 1)
    return time.perf_counter() - start


def bytes_per_node(forest) -> float:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "model"
        forest.save(path)
        return path.stat().st_size / sum(forest.forest_.node_counts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=DEFAULT)
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--rows", type=int, help="at most this many training rows")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--row", action="store_true", help="predict one row at a time")
    arguments = parser.parse_args()
    print("set           ns a row and tree: categories codes ratio   bytes a node: likewise")
    ratios = []
    for name in arguments.sets:
        file, read = SETS[name]
        if not find_data(file).exists():
            print(f"{name}: skipped, {file} is not there")
            continue
        train, test = halves(read(), arguments.rows)
        options = {"n_trees": arguments.trees, "is_regression": train.is_regression}
        native = fit(train.frame, train.y, categorical_features="from_dtype", **options)
        coded = fit(codes(train.frame), train.y, **options)
        rows = native._validate_X_predict(test.frame)
        cells = coded._validate_X_predict(codes(test.frame))
        if arguments.row:
            rows, cells = np.ascontiguousarray(rows[:200]), np.ascontiguousarray(cells[:200])
        times = ([], [])
        for _ in range(arguments.repeats + 1):
            for kept, forest, X in zip(times, (native, coded), (rows, cells), strict=True):
                parts = [X[i : i + 1] for i in range(len(X))] if arguments.row else [X]
                kept.append(sum(seconds(forest, part) for part in parts))
        # The first makes the forms of the trees.
        per_row = [
            1e9 * statistics.median(kept[1:]) / len(rows) / arguments.trees for kept in times
        ]
        sizes = [bytes_per_node(forest) for forest in (native, coded)]
        ratios.append((per_row[0] / per_row[1], sizes[0] / sizes[1]))
        print(
            f"{name:13} {per_row[0]:29.0f} {per_row[1]:5.0f} {ratios[-1][0]:5.2f}"
            f" {sizes[0]:9.1f} {sizes[1]:5.1f} {ratios[-1][1]:5.2f}"
        )
    means = [float(np.exp(np.mean(np.log(kind)))) for kind in zip(*ratios, strict=True)]
    print(f"geometric means: time {means[0]:.2f}, bytes {means[1]:.2f}")


if __name__ == "__main__":
    main()
