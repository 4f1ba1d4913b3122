"""Explanations: contributions of features, proximities and importances, against other libraries.

Contributions are compared with those of shap's TreeExplainer and, if it is installed, shapiq's, on
the forest that `to_sklearn` makes; peers that are slow get some of the rows, and their seconds are
multiplied. Fails where contributions differ, or do not add up to the prediction. Proximities
are compared with NumPy, which compares the leaves of all pairs tree by tree; importances by
unseen rows with the predictions that scikit-learn's permutation_importance makes.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
import scipy.sparse
import sklearn.datasets

import spinney
from common import positive, print_versions, record
from data_sets import find_data

SEED = 0


def best_seconds(work: Callable[[], object], repeats: int) -> tuple[float, object]:
    """Return the least CPU seconds of some runs, and the last result."""
    seconds, result = [], None
    for _ in range(repeats):
        start = time.process_time()
        result = work()
        seconds.append(time.process_time() - start)
    return min(seconds), result


def deep_forest(n_trees: int, n_rows: int) -> tuple[object, np.ndarray]:
    X, y = sklearn.datasets.make_classification(
        30_000, n_features=30, n_informative=10, random_state=SEED
    )
    forest = spinney.RandomForestClassifier(n_trees, random_state=SEED, n_jobs=-1).fit(X, y)
    return forest.set_params(n_jobs=1), X[:n_rows]


def show(work: str, ours: float, theirs: dict[str, float]) -> None:
    ratios = "".join(f"{name:>12}{s:>10.2f}{s / ours:>8.1f}x" for name, s in theirs.items())
    print(f"{work:34}{ours:>10.3f}{ratios}", flush=True)
    record(work, {"spinney": ours, **theirs})


def compare_contributions(arguments: argparse.Namespace) -> bool:
    forest, rows = deep_forest(arguments.trees, 1000)
    ours, values = best_seconds(lambda: forest.shap_values(rows), arguments.repeats)
    error = np.abs(values.sum(axis=1) + forest.expected_value_ - forest.predict_proba(rows)).max()
    few = rows[: arguments.peer_rows]
    pairs_seconds, pairs = best_seconds(
        lambda: forest.shap_values(rows[:100], interactions=True), arguments.repeats
    )
    theirs, theirs_pairs, sound = {}, {}, error <= 1e-12
    model = forest.to_sklearn()
    if importlib.util.find_spec("shap"):
        import shap

        explainer = shap.TreeExplainer(model)
        seconds, found = best_seconds(lambda: explainer.shap_values(few, check_additivity=False), 1)
        theirs["shap"] = seconds * len(rows) / len(few)
        sound &= np.allclose(found, values[: len(few)], atol=1e-9)
        two = few[:2]
        seconds, found = best_seconds(lambda: explainer.shap_interaction_values(two), 1)
        theirs_pairs["shap"] = seconds * 100 / len(two)
        sound &= np.allclose(found, pairs[: len(two)], atol=1e-9)
    if importlib.util.find_spec("shapiq"):
        import shapiq

        for order, index, to in ((1, "SV", theirs), (2, "k-SII", theirs_pairs)):
            explainer = shapiq.TreeExplainer(model, max_order=order, index=index, class_index=1)
            one = few[0]
            seconds, _ = best_seconds(lambda e=explainer, row=one: e.explain(row), 1)
            to["shapiq"] = seconds * (len(rows) if order == 1 else 100)
    show("contributions, 1,000 rows", ours, theirs)
    show("pairs, 100 rows", pairs_seconds, theirs_pairs)
    print(f"{'':4}sum of contributions less prediction: at most {error:.1e}")
    return sound


def compare_proximities(arguments: argparse.Namespace) -> bool:
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(5000, 20))
    y = X[:, 0] * X[:, 1] + rng.normal(size=5000)
    n_trees = arguments.trees * 5
    forest = spinney.RandomForestRegressor(n_trees, random_state=SEED, n_jobs=-1).fit(X, y)
    forest.set_params(n_jobs=1)
    ours, found = best_seconds(lambda: forest.proximity(X), 1)

    def compare_leaves() -> np.ndarray:
        leaves = forest.apply(X).astype(np.int32)
        counts = np.zeros((5000, 5000), dtype=np.int32)
        for tree in leaves.T:
            counts += tree[:, np.newaxis] == tree
        return counts

    theirs, counts = best_seconds(compare_leaves, 1)
    show("proximities, 5,000 x 5,000 rows", ours, {"NumPy": theirs})
    return np.array_equal(found.toarray() * n_trees, counts)


def compare_importances(arguments: argparse.Namespace) -> bool:
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(5000, 1000))
    y = (X[:, :10].sum(axis=1) + rng.normal(size=5000) > 0).astype(int)
    forest = spinney.RandomForestClassifier(arguments.trees, random_state=SEED).fit(X, y)
    ours, result = best_seconds(
        lambda: forest.permutation_importance_oob(X, y, random_state=SEED), arguments.repeats
    )
    model, few = forest.to_sklearn(), 10
    theirs, _ = best_seconds(
        lambda: [model.score(rng.permuted(X, axis=0), y) for _ in range(few)], 1
    )
    # One prediction of all rows per column and repeat.
    show("importances of 1,000 columns", ours, {"scikit-learn": theirs / few * 1000 * 5})
    return set(np.argsort(-result.importances_mean)[:10]) == set(range(10))


def explain_text(arguments: argparse.Namespace) -> bool:
    files = [find_data(f"news20_bydate_{part}.npz") for part in ("tfidf", "meta")]
    if not all(file.exists() for file in files):
        print("20 Newsgroups skipped, its files are not there")
        return True
    X, meta = scipy.sparse.load_npz(files[0]).tocsr(), np.load(files[1], allow_pickle=True)
    is_train = meta["is_train"].astype(bool)
    forest = spinney.RandomForestClassifier(arguments.trees, random_state=SEED, n_jobs=2)
    forest.fit(X[is_train], meta["y"][is_train])
    seconds, _ = best_seconds(lambda: forest.fit(X[is_train], meta["y"][is_train]), 1)
    found, _ = best_seconds(
        lambda: forest.permutation_importance_oob(X[is_train], meta["y"][is_train]), 1
    )
    print(f"20 Newsgroups, importances of 56,436 columns: {found / seconds:.1f} fits (CPU seconds)")
    record("importances of 56,436 columns of text", {"spinney": found, "spinney, a fit": seconds})
    rows = X[~is_train][: arguments.text_rows]
    start = time.perf_counter()
    values = forest.shap_values(rows)
    seconds = time.perf_counter() - start
    record(f"contributions, {rows.shape[0]} rows of text, 2 threads", {"spinney": seconds})
    sums = np.column_stack([np.ravel(part.sum(axis=1)) for part in values])
    error = np.abs(sums + forest.expected_value_ - forest.predict_proba(rows)).max()
    nnz = sum(part.nnz for part in values)
    print(
        f"20 Newsgroups, {rows.shape[0]} rows, 2 threads: {seconds:.2f} s "
        f"({100 * seconds / rows.shape[0]:.2f} s a hundred rows), {nnz:,} nonzeros, "
        f"error {error:.1e}"
    )
    return error <= 1e-12


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=positive, default=3, help="runs of ours (default: 3)")
    parser.add_argument("--trees", type=positive, default=100, help="trees (default: 100)")
    parser.add_argument(
        "--peer-rows", type=positive, default=20, help="rows that shap explains (default: 20)"
    )
    parser.add_argument(
        "--text-rows", type=positive, default=100, help="rows of 20 Newsgroups (default: 100)"
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the trees")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.trees = max(arguments.trees // 10, 1)
    warnings.simplefilter("ignore")
    print_versions()
    print(f"{'CPU seconds, one thread':34}{'spinney':>10}")
    sound = [
        compare_contributions(arguments),
        compare_proximities(arguments),
        compare_importances(arguments),
        explain_text(arguments),
    ]
    return 0 if all(sound) else 1


if __name__ == "__main__":
    sys.exit(main())
