"""What spinney is for, in four comparisons with scikit-learn and a picture.

``make demo`` runs this script. Its data are in ``examples/data``, come with scikit-learn, or are
drawn at random. Both libraries use one thread and the same settings.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")  # draw to a file: no display is needed

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import scipy.sparse as sp
import sklearn
import sklearn.ensemble
import sklearn.tree
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import LeaveOneOut
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import spinney
from spinney.model_selection import cross_val_predict

DATA = Path(__file__).resolve().parent / "data"


def measure_seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def print_lines(ours: float, theirs: float, our_result: str, their_result: str) -> None:
    ratio = theirs / ours
    print(f"     spinney       {ours:8.2f} s    {our_result}")
    print(f"     scikit-learn  {theirs:8.2f} s    {their_result}    {ratio:.0f} times as long\n")


def split(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of training rows and of held-out rows, a fifth."""
    rows = np.random.default_rng(0).permutation(n_rows)
    return rows[n_rows // 5 :], rows[: n_rows // 5]


def grow_on_molecules(scale: float) -> None:
    """Sparse columns: counts of substructures of molecules."""
    X = sp.load_npz(DATA / "lipophilicity_ecfp4_counts.npz").tocsr()
    y = np.load(DATA / "lipophilicity_meta.npz")["y"]
    train, test = split(X.shape[0])
    n_trees = max(int(100 * scale), 2)
    print(
        f"1. Molecules: {X.shape[0]} rows, {X.shape[1]} columns that count substructures, nearly "
        f"all 0.\n   A forest of {n_trees} trees predicts how well a molecule dissolves in fat. "
        "The matrix stays sparse."
    )
    settings = {"n_estimators": n_trees, "max_features": "sqrt", "random_state": 0}
    ours = spinney.RandomForestRegressor(**settings)
    theirs = sklearn.ensemble.RandomForestRegressor(**settings)
    seconds = [measure_seconds(lambda m=m: m.fit(X[train], y[train])) for m in (ours, theirs)]
    results = (
        f"R2 {model.score(X[test], y[test]):.3f} on held-out rows" for model in (ours, theirs)
    )
    print_lines(*seconds, *results)


def grow_on_random_matrix(scale: float) -> None:
    """A sparse matrix that is larger: one tree."""
    n_rows = int(100_000 * scale)
    rng = np.random.default_rng(0)
    X = sp.random(n_rows, 100, 0.01, format="csc", dtype=np.float32, random_state=rng)
    y = rng.integers(0, 2, n_rows)
    print(
        f"2. Random numbers: {n_rows} rows, 100 columns, 1 % of the entries are not 0. One tree, "
        "grown\n   until each leaf has one class."
    )
    ours = spinney.DecisionTreeClassifier(random_state=0)
    theirs = sklearn.tree.DecisionTreeClassifier(random_state=0)
    seconds = [measure_seconds(lambda m=m: m.fit(X, y)) for m in (ours, theirs)]
    results = (f"{model.get_n_leaves()} leaves" for model in (ours, theirs))
    print_lines(*seconds, *results)


def grow_on_table(scale: float) -> spinney.DecisionTreeClassifier:
    """Categories and missing values; return a small tree to draw."""
    table = pd.read_csv(DATA / "adult.csv.gz", na_values="?").iloc[: int(32_561 * scale)]
    y = np.where(table.pop("income") == ">50K", "over 50K", "up to 50K")
    names = list(table.select_dtypes(exclude="number"))
    table = table.astype(dict.fromkeys(names, "category"))
    train, test = split(len(y))
    n_trees = max(int(100 * scale), 2)
    n_missing = int(table.isna().sum().sum())
    print(
        f"3. A census: {table.shape[0]} people, {table.shape[1]} columns, {len(names)} of them "
        f"categories, {n_missing} values missing.\n   A forest of {n_trees} trees predicts who "
        "earns over 50,000 dollars. spinney takes the table as it is;\n   for scikit-learn each "
        "category becomes a column."
    )
    settings = {"n_estimators": n_trees, "random_state": 0}
    ours = spinney.RandomForestClassifier(categorical_features="from_dtype", **settings)
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), names), remainder="passthrough"
    )
    theirs = make_pipeline(columns, sklearn.ensemble.RandomForestClassifier(**settings))
    seconds, results = [], []
    for model in (ours, theirs):
        seconds.append(measure_seconds(lambda m=model: m.fit(table.iloc[train], y[train])))
        shares = model.predict_proba(table.iloc[test])[:, 0]
        area = roc_auc_score(y[test] == model.classes_[0], shares)
        results.append(f"AUC {area:.4f} on held-out rows")
    print_lines(*seconds, *results)
    tree = spinney.DecisionTreeClassifier(
        max_depth=3, categorical_features="from_dtype", random_state=0
    )
    return tree.fit(table.iloc[train], y[train])


def leave_one_out(scale: float) -> None:
    """Cross-validation that shares its work."""
    X, y = load_breast_cancer(return_X_y=True)
    kept = np.arange(len(y)) % max(int(1 / scale), 1) == 0
    X, y = X[kept], y[kept]
    n_trees = max(int(100 * scale), 2)
    print(
        f"4. Leave-one-out: each of {len(y)} patients is diagnosed by a forest of {n_trees} trees "
        "that was grown\n   on the others. spinney shares the work between these forests, and "
        "finds what they would."
    )
    settings = {"n_estimators": n_trees, "criterion": "entropy", "random_state": 0}
    ours = spinney.RandomForestClassifier(bootstrap="poisson", **settings)
    found: list[np.ndarray] = []
    seconds = measure_seconds(lambda: found.append(cross_val_predict(ours, X, y, cv=LeaveOneOut())))
    theirs = sklearn.ensemble.RandomForestClassifier(**settings)
    one_fit = min(measure_seconds(lambda: theirs.fit(X[1:], y[1:])) for _ in range(3))
    print_lines(
        seconds,
        one_fit * len(y),
        f"{100 * (found[0] == y).mean():.1f} % are right",
        f"estimated: {len(y)} fits of {one_fit:.3f} s",
    )


def draw(tree: spinney.DecisionTreeClassifier, path: Path) -> None:
    plt.figure(figsize=(14, 7))
    spinney.plot_tree(tree, filled=True, rounded=True, impurity=False)
    plt.savefig(path, dpi=110)
    plt.close("all")
    print(f"A small tree of the census is drawn in {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--output", type=Path, default=Path("spinney_tree.png"), help="where the picture goes"
    )
    parser.add_argument(
        "--scale", type=float, default=1.0, help="share of the rows and trees (default: all)"
    )
    arguments = parser.parse_args()
    if not 0.0 < arguments.scale <= 1.0:
        parser.error(f"--scale must be above 0 and at most 1, got {arguments.scale}")
    print(f"spinney {spinney.__version__}, scikit-learn {sklearn.__version__}, one thread each\n")
    grow_on_molecules(arguments.scale)
    grow_on_random_matrix(arguments.scale)
    tree = grow_on_table(arguments.scale)
    leave_one_out(arguments.scale)
    draw(tree, arguments.output)


if __name__ == "__main__":
    main()
