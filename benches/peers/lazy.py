"""Lazy forests: CPU seconds of the three traversals, and against scikit-learn's forest.

First the table of "Batched Lazy Decision Trees" (Guillame-Bert & Dubrawski, 2016): bagged entropy
trees, min_samples_split=5, max_depth=20, to predict one row that is left out (the mean over a few),
and in ten folds. Nominal columns become indicators. Then what these visit and hold: the paper's
figure 2 and table 3. Then what a user of a forest would have to do instead: fit it and predict 100
rows. All times include fitting and encoding.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier as TheirForest
from sklearn.model_selection import StratifiedKFold

from common import print_versions, record
from data_sets import find_data
from spinney import LazyForestClassifier

SEED = 0
N_QUERIES = 100
TRAVERSALS = ("eager", "single", "batched", "auto")
# Rows that are left out one by one: one alone may meet long paths or short ones.
ONES, FEW_ONES, MANY_ROWS = 12, 4, 5000
# One row at a time, all folds of larger data take hours.
SINGLE_FOLDS_UP_TO = 200
Problem = tuple[np.ndarray | sp.csr_matrix, np.ndarray]


def read(name: str, label: str, drop: tuple[str, ...] = ()) -> Problem:
    """Return numbers as they are and nominal columns as indicators, sparse if most cells are 0."""
    with gzip.open(find_data(name), "rt", newline="") as file:
        header, *rows = csv.reader(file)
    columns = dict(zip(header, map(np.array, zip(*rows, strict=True)), strict=True))
    y = np.unique(columns[label], return_inverse=True)[1]
    parts = []
    for title, column in columns.items():
        if title == label or title in drop:
            continue
        try:
            parts.append(column.astype(np.float64)[:, None])
        except ValueError:
            parts.append(column[:, None] == np.unique(column))
    X = np.hstack(parts).astype(np.float32)
    return (sp.csr_matrix(X) if np.mean(X != 0) < 0.3 else X), y


def breast() -> Problem:
    return load_breast_cancer(return_X_y=True)


def adult() -> Problem:
    return read("adult_train.csv.gz", "income")


def gamma() -> Problem:
    return read("magic04.csv.gz", "class")


def leukemia(label: str) -> Problem:
    with np.load(find_data("all_leukemia.npz")) as arrays:
        return arrays["X"], np.unique(arrays[label], return_inverse=True)[1]


def editing() -> Problem:
    return read("plant_c2u_balanced.csv.gz", "edited", ("editing_extent", "gene", "species"))


def news20() -> Problem:
    y = np.load(find_data("news20_bydate_meta.npz"))["y"]
    return sp.load_npz(find_data("news20_bydate_tfidf.npz")), y


DATA: dict[str, Callable[[], Problem]] = {
    "Breast": breast,
    "Adult": adult,
    "Gamma": gamma,
    # The lineage takes one split, after which there is nothing to be lazy about.
    "ALL": partial(leukemia, "y_lineage"),
    "ALL, mol.": partial(leukemia, "y_mol_biol"),
    "C-to-U": editing,
}
QUICK = ("Breast", "Gamma", "C-to-U")
# Whose visits are counted: one row at a time, the others take an hour.
COUNTED = ("Breast", "ALL", "ALL, mol.", "C-to-U")
VISITORS = ("eager", "single", "batched")


def load(names: Iterable[str]) -> Iterator[tuple[str, Problem]]:
    """Yield the problems whose files are there, by name; say which are not."""
    for name in names:
        try:
            problem = {**DATA, "20 Newsgroups": news20}[name]()
        except FileNotFoundError as error:
            print(f"{name:20}skipped, {Path(error.filename).name} is not there")
            continue
        yield name, problem


def cpu_seconds(work: Callable[[], object], repeats: int) -> tuple[float, object]:
    """Return the median of the CPU seconds, and the last result."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        result = work()
        seconds.append(time.process_time() - start)
    return float(np.median(seconds)), result


def lazy_forest(traversal: str, n_trees: int) -> LazyForestClassifier:
    return LazyForestClassifier(
        n_trees,
        criterion="entropy",
        max_features=None,
        min_samples_split=5,
        max_depth=20,
        random_state=SEED,
        traversal=traversal,
    )


def predict(traversal: str, n_trees: int, problem: Problem, folds: list) -> np.ndarray:
    X, y = problem
    forest = lazy_forest(traversal, n_trees)
    return np.concatenate(
        [forest.fit(X[train], y[train]).predict_proba(X[test]) for train, test in folds]
    )


def ones(n_rows: int) -> list:
    """Return folds that leave one row out each."""
    rows = np.random.default_rng(SEED).permutation(n_rows)
    n_ones = ONES if n_rows < MANY_ROWS else FEW_ONES
    return [(np.delete(rows, i), rows[i : i + 1]) for i in range(n_ones)]


def tenfold(y: np.ndarray) -> list:
    """Return ten folds; classes of fewer rows are spread as far as they go."""
    folds = StratifiedKFold(10, shuffle=True, random_state=SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return list(folds.split(np.zeros(len(y)), y))


def count_visits(name: str, problem: Problem, arguments) -> None:
    """Print nodes and rows per tree, and peak words, of the first of ten folds."""
    X, y = problem
    train, test = tenfold(y)[0]
    cells = []
    for traversal in VISITORS:
        found = lazy_forest(traversal, arguments.trees).fit(X[train], y[train]).explore(X[test])
        nodes, rows = (n / arguments.trees for n in (found.n_visited_nodes, found.n_visited_rows))
        cells += [f"{nodes:>10.0f}{rows:>12.0f}{found.peak_words:>9}"]
    print(f"{name:10}", *cells, flush=True)


def compare_traversals(name: str, problem: Problem, title: str, folds: list, arguments) -> None:
    traversals = [
        traversal
        for traversal in TRAVERSALS
        if traversal != "single" or sum(len(test) for _, test in folds) <= SINGLE_FOLDS_UP_TO
    ]
    found = {
        traversal: cpu_seconds(
            partial(predict, traversal, arguments.trees, problem, folds), arguments.repeats
        )
        for traversal in traversals
    }
    expected = found["eager"][1]
    assert all((values == expected).all() for _, values in found.values()), "lazy is eager"
    eager = found["eager"][0]
    # One left out, or all ten folds.
    per = len(folds) if len(folds[0][1]) == 1 else 1
    cells = [f"{found[t][0] / per:>10.3f}" if t in found else f"{'-':>10}" for t in TRAVERSALS]
    print(f"{name:10}{title:>10}", *cells, f"{eager / found['batched'][0]:>12.2f}", flush=True)


def compare_with_forest(name: str, problem: Problem, arguments) -> None:
    X, y = problem
    order = np.random.default_rng(SEED).permutation(len(y))
    test, train = order[:N_QUERIES], order[N_QUERIES:]

    def answers(forest):
        return forest.fit(X[train], y[train]).predict_proba(X[test])

    ours, _ = cpu_seconds(
        lambda: answers(LazyForestClassifier(arguments.trees, random_state=SEED)),
        arguments.repeats,
    )
    theirs, _ = cpu_seconds(
        lambda: answers(TheirForest(arguments.trees, random_state=SEED)), arguments.repeats
    )
    print(f"{name:20}{ours:>10.2f}{theirs:>14.2f}{theirs / ours:>10.1f}", flush=True)
    work = f"fit of {arguments.trees} trees and {N_QUERIES} predictions, {name}"
    record(work, {"spinney": ours, "scikit-learn": theirs})


def compare_floods(name: str, problem: Problem, arguments) -> None:
    """Many more query rows than training rows: where "auto" has to turn."""
    X, y = problem
    X = X.toarray() if sp.issparse(X) else X
    rng = np.random.default_rng(SEED)
    for times in (1, 2, 4, 16):
        queries = X[rng.integers(0, len(X), times * len(X))]
        queries = (queries + rng.normal(0, 0.01, queries.shape)).astype(np.float32)
        cells = []
        for traversal in ("eager", "batched", "auto"):
            forest = LazyForestClassifier(
                arguments.trees, random_state=SEED, traversal=traversal
            ).fit(X, y)
            seconds, _ = cpu_seconds(partial(forest.predict, queries), arguments.repeats)
            cells.append(f"{seconds:>10.2f}")
        print(f"{name:14}{times:>6}", *cells, flush=True)


def parse_arguments(description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--repeats", type=int, default=3, help="runs per contender (default: 3)")
    parser.add_argument("--trees", type=int, default=100, help="trees per forest (default: 100)")
    parser.add_argument("--quick", action="store_true", help="10 trees, one run, small data")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.repeats, arguments.trees = 1, min(arguments.trees, 10)
    for name in ("repeats", "trees"):
        if getattr(arguments, name) < 1:
            parser.error(f"--{name} must be at least 1, got {getattr(arguments, name)}")
    return arguments


def main() -> int:
    arguments = parse_arguments(__doc__.splitlines()[0])
    print(f"Lazy forests of {arguments.trees} trees: CPU seconds of fit and predict")
    print_versions()
    print(f"\n{'':20}", *(f"{t:>10}" for t in TRAVERSALS), f"{'eager/batched':>12}")
    names = QUICK if arguments.quick else tuple(DATA)
    for name, problem in load(names):
        y = problem[1]
        compare_traversals(name, problem, "one row", ones(len(y)), arguments)
        compare_traversals(name, problem, "10 folds", tenfold(y), arguments)
    print(f"\n{'per tree':10}", *(f"{t + ': nodes':>15}{'rows':>7}{'words':>9}" for t in VISITORS))
    for name, problem in load(name for name in names if name in COUNTED):
        count_visits(name, problem, arguments)
    print(f"\n{N_QUERIES} rows, defaults{'':4}{'lazy':>10}{'scikit-learn':>14}{'ratio':>10}")
    for name, problem in load(("Gamma", "20 Newsgroups")):
        compare_with_forest(name, problem, arguments)
    print(f"\n{'queries per row':20}", *(f"{t:>10}" for t in ("eager", "batched", "auto")))
    for name, problem in load(("Breast", "C-to-U")):
        compare_floods(name, problem, arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
