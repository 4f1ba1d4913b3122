"""Grow exact trees on real sparse data, compare with scikit-learn, and draw one.

``make demo`` runs this script. It trains on the two data sets in ``examples/data``: mushrooms
(classification) and lipophilicity of molecules (regression). Each tree is grown three times over:
by spinney from the sparse matrix, by spinney from the same matrix stored densely, and by
scikit-learn from the sparse matrix. The two spinney trees must be bit-identical; if they are not,
the exit code is 1.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")  # draw to a file: no display is needed

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
import sklearn
import sklearn.tree

import spinney

DATA = Path(__file__).resolve().parent / "data"
REPEATS = 5

TREE_ARRAYS = (
    "children_left",
    "children_right",
    "feature",
    "threshold",
    "missing_go_to_left",
    "value",
    "impurity",
    "n_node_samples",
    "weighted_n_node_samples",
)


@dataclass(frozen=True)
class Task:
    """One data set, split, with the estimators that suit it."""

    name: str
    X_train: sp.csc_matrix
    y_train: np.ndarray
    X_test: sp.csr_matrix
    y_test: np.ndarray
    metric: str
    ours: type
    theirs: type
    parameters: dict
    feature_names: list[str] | None = None


@dataclass(frozen=True)
class Result:
    """Median seconds, held-out scores, and the tree grown from the sparse matrix."""

    sparse_seconds: float
    dense_seconds: float
    peer_seconds: float
    score: float
    peer_score: float
    same_tree: bool
    model: object


def mushrooms() -> Task:
    X = sp.load_npz(DATA / "agaricus.npz")
    meta = np.load(DATA / "agaricus_meta.npz")
    train = meta["is_train"]
    names = np.array(["edible", "poisonous"])
    y = names[meta["y"]]
    return Task(
        "agaricus",
        X[train].tocsc(),
        y[train],
        X[~train],
        y[~train],
        "accuracy",
        spinney.DecisionTreeClassifier,
        sklearn.tree.DecisionTreeClassifier,
        {"random_state": 0},
        list(meta["feature_names"]),
    )


def molecules() -> Task:
    X = sp.load_npz(DATA / "lipophilicity_ecfp4_counts.npz")
    y = np.load(DATA / "lipophilicity_meta.npz")["y"]
    test = np.zeros(X.shape[0], dtype=bool)
    test[np.random.default_rng(0).permutation(X.shape[0])[: X.shape[0] // 5]] = True
    return Task(
        "lipophilicity",
        X[~test].tocsc(),
        y[~test],
        X[test],
        y[test],
        "R²",
        spinney.DecisionTreeRegressor,
        sklearn.tree.DecisionTreeRegressor,
        {"random_state": 0, "min_samples_leaf": 5},
    )


def median_fit(build, X, y):
    """Median seconds of ``REPEATS`` fits, and the last fitted model."""
    seconds = []
    for _ in range(REPEATS):
        model = build()
        start = time.perf_counter()
        model.fit(X, y)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), model


def same_bits(first, second) -> bool:
    """Whether all arrays of two trees are equal bit for bit."""
    for name in TREE_ARRAYS:
        a, b = np.asarray(getattr(first, name)), np.asarray(getattr(second, name))
        if a.dtype != b.dtype or a.shape != b.shape or a.tobytes() != b.tobytes():
            return False
    return True


def run(task: Task) -> Result:
    def ours():
        return task.ours(**task.parameters, n_jobs=1)

    def theirs():
        return task.theirs(**task.parameters)

    sparse_seconds, sparse = median_fit(ours, task.X_train, task.y_train)
    dense_seconds, dense = median_fit(ours, task.X_train.toarray(), task.y_train)
    peer_seconds, peer = median_fit(theirs, task.X_train, task.y_train)
    return Result(
        sparse_seconds,
        dense_seconds,
        peer_seconds,
        sparse.score(task.X_test, task.y_test),
        peer.score(task.X_test, task.y_test),
        same_bits(sparse.tree_, dense.tree_),
        sparse,
    )


HEADER = (
    f"{'':14}{'':>6}{'':>9}{'':>9}{'spinney':>10}{'spinney':>10}{'sklearn':>10}"
    f"{'':>8}{'':>10}{'':>9}{'':>9}{'same':>6}\n"
    f"{'data set':14}{'rows':>6}{'columns':>9}{'density':>9}{'sparse':>10}{'dense':>10}"
    f"{'sparse':>10}{'ratio':>8}{'metric':>10}{'spinney':>9}{'sklearn':>9}{'tree':>6}"
)


def table_line(task: Task, result: Result) -> str:
    n_rows, n_columns = task.X_train.shape
    density = task.X_train.nnz / (n_rows * n_columns)
    seconds = (result.sparse_seconds, result.dense_seconds, result.peer_seconds)
    return (
        f"{task.name:14}{n_rows:>6}{n_columns:>9}{density:>9.4f}"
        + "".join(f"{value:>8.4f} s" for value in seconds)
        + f"{result.peer_seconds / result.sparse_seconds:>7.1f}x{task.metric:>10}"
        f"{result.score:>9.4f}{result.peer_score:>9.4f}{'yes' if result.same_tree else 'NO':>6}"
    )


def draw(task: Task, model, path: Path) -> None:
    figure, axes = plt.subplots(figsize=(18, 10), layout="constrained")
    # plot_tree reads nothing but the arrays of `tree_`, which have scikit-learn's names; its type
    # check alone insists on scikit-learn's own classes.
    with sklearn.config_context(skip_parameter_validation=True):
        sklearn.tree.plot_tree(
            model,
            feature_names=task.feature_names,
            class_names=list(model.classes_),
            filled=True,
            rounded=True,
            impurity=False,
            fontsize=8,
            ax=axes,
        )
    figure.suptitle(
        f"Edible or poisonous? {task.X_train.shape[0]} mushrooms, {model.tree_.node_count} nodes. "
        "Columns are 0 or 1, so “property <= 0.5” means “has not this property”."
    )
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--output", type=Path, default=Path("spinney_tree.png"), help="where the picture goes"
    )
    arguments = parser.parse_args()

    print(f"spinney {spinney.__version__}, scikit-learn {sklearn.__version__}, one thread\n")
    print(HEADER)
    mushroom_task, molecule_task = mushrooms(), molecules()
    mushroom_result = run(mushroom_task)
    print(table_line(mushroom_task, mushroom_result), flush=True)
    molecule_result = run(molecule_task)
    print(table_line(molecule_task, molecule_result), flush=True)
    print(
        f"\nSeconds: medians of {REPEATS} fits on the training rows. Ratio: scikit-learn sparse to "
        "spinney sparse.\nAccuracy and R² on held-out rows. Same tree: all arrays of spinney's "
        "sparse and dense fit are bit-identical."
    )

    draw(mushroom_task, mushroom_result.model, arguments.output)
    print(f"Picture of the agaricus tree: {arguments.output}")

    if not (mushroom_result.same_tree and molecule_result.same_tree):
        print("error: the sparse and the dense fit grew different trees", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
