"""scikit-learn's benchmark of covertype: the errors of a tree and two forests of 20 trees.

The split is that of the benchmark: the rows shuffled by NumPy's generator of seed 13, the first
522,911 to learn from and the other 58,101 to predict; spruce and fir against the rest. The
benchmark also standardises the numeric columns, which does not change how trees split them.
"""

from __future__ import annotations

import sys

import numpy as np
import sklearn.ensemble
import sklearn.tree

import spinney
from paper import find_missing, least_seconds, parse_arguments, round_figures, write_results

COVERTYPE = "covertype.npz"
N_ROWS, N_TRAIN, SEED = 581_012, 522_911, 13
# The name of the class in both libraries, its parameters, and the error that the benchmark's
# docstring has.
MODELS = (
    ("one tree", "DecisionTreeClassifier", {"min_samples_split": 5}, 0.0469),
    ("random forest of 20", "RandomForestClassifier", {"n_estimators": 20}, 0.0243),
    ("extra trees of 20", "ExtraTreesClassifier", {"n_estimators": 20}, 0.0198),
)
# Draws among the features that vary in a node; scikit-learn has no such parameter.
ACTIVE = {"feature_sampling": "active"}
SOURCE = "scikit-learn's benchmark of covertype (bench_covertype.py), with the split of T. Joachims"
NOTE = (
    "The single tree has a lower error than the benchmark's docstring says, and the forests have "
    "higher ones; so they have in scikit-learn, run here on the same split. The docstring does not "
    "say by which version its figures were made. Most of covertype's columns do not vary in small "
    "nodes; forests that draw among the columns that do "
    '(`feature_sampling="active"`) have errors near those of the docstring.'
)


def read_split(folder) -> tuple[np.ndarray, np.ndarray]:
    file = np.load(folder / COVERTYPE)
    X, y = file["X"], file["y"]
    if len(X) != N_ROWS:
        sys.exit(f"error: {folder / COVERTYPE} must have {N_ROWS} rows, got {len(X)}")
    order = np.arange(N_ROWS)
    np.random.RandomState(SEED).shuffle(order)  # as the benchmark does
    return np.ascontiguousarray(X[order], dtype=np.float32), (y[order] != 1).astype(np.int64)


def find_class(library, name: str):
    """Return a class of ours or theirs."""
    if library is spinney:
        return getattr(spinney, name)
    return getattr(sklearn.tree if "DecisionTree" in name else sklearn.ensemble, name)


def measure(library, name: str, parameters: dict, X, y) -> tuple[float, float]:
    """Return the error on the test rows, and the processor seconds of the fit."""
    model = find_class(library, name)(random_state=SEED, **parameters)
    seconds = least_seconds({"fit": lambda: model.fit(X[:N_TRAIN], y[:N_TRAIN])}, 1)["fit"]
    wrong = np.mean(model.predict(X[N_TRAIN:]) != y[N_TRAIN:])
    return round_figures(float(wrong)), seconds


def make_plot(rows: list[list]) -> dict:
    """Return the errors by the seconds of a fit."""
    lines = {
        "Spinney": [[row[4], row[1]] for row in rows if row[2]],
        "scikit-learn": [[row[5], row[2]] for row in rows if row[2]],
        "Spinney, active features": [[row[4], row[1]] for row in rows if not row[2]],
    }
    title = "One tree, random forest, extra trees"
    return {"title": title, "x": "seconds of a fit", "y": "error", "lines": lines}


def main() -> int:
    arguments = parse_arguments(__doc__.splitlines()[0])
    if find_missing(arguments.data, (COVERTYPE,)):
        return 1
    X, y = read_split(arguments.data)
    rows = []
    for title, name, parameters, published in MODELS:
        error, seconds = measure(spinney, name, parameters, X, y)
        their_error, their_seconds = measure(sklearn, name, parameters, X, y)
        ratio = f"{their_seconds / seconds:.1f}"
        rows.append([title, error, their_error, published, seconds, their_seconds, ratio])
        print(*rows[-1], flush=True)
    for title, name, parameters, published in MODELS[1:]:
        error, seconds = measure(spinney, name, parameters | ACTIVE, X, y)
        rows.append([f"{title}, active features", error, "", published, seconds, "", ""])
        print(*rows[-1], flush=True)
    write_results(
        arguments.out,
        "covertype",
        title="Covertype",
        source=SOURCE,
        tables=[
            {
                "title": "Errors on 58,101 rows after learning from 522,911, and seconds of a fit",
                "head": [
                    "model",
                    "error",
                    "scikit-learn",
                    "in the benchmark",
                    "seconds",
                    "scikit-learn",
                    "ratio",
                ],
                "rows": rows,
                "note": NOTE,
            }
        ],
        plots=[make_plot(rows)],
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
