"""Forests on text and molecules: random forests and extra trees, square-root features.

20 Newsgroups (TF-IDF, split by date) and the HIV screen (fingerprint counts, a fixed random fifth
held out). Only growth is timed, encoding included.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np
import scipy.sparse as sp
import sklearn.ensemble
from sklearn.metrics import accuracy_score, roc_auc_score

import spinney
from common import (
    mean_depth,
    positive,
    print_versions,
    record_timings,
    time_interleaved,
)
from data_sets import find_data

SEED = 0
TEST_SHARE = 0.2


@dataclass(frozen=True)
class Split:
    """Training and test rows of a data set, classes numbered from 0."""

    X_train: sp.csc_matrix
    y_train: np.ndarray
    X_test: sp.csr_matrix
    y_test: np.ndarray


@dataclass(frozen=True)
class DataSet:
    title: str
    files: tuple[Path, ...]
    load: Callable[[], Split]
    metric: str
    score: Callable[[np.ndarray, np.ndarray], float]


@dataclass(frozen=True)
class Kind:
    """A kind of forest: the name of its class."""

    title: str
    bootstrap: bool
    name: str


RANDOM_FOREST = Kind("random forest", True, "RandomForestClassifier")
EXTRA_TREES = Kind("extra trees", False, "ExtraTreesClassifier")

NEWS20_FILES = ("news20_bydate_tfidf.npz", "news20_bydate_meta.npz")
HIV_FILES = ("hiv_ecfp4_counts.npz", "hiv_meta.npz")


def make_split(X: sp.csr_matrix, y: np.ndarray, train: np.ndarray) -> Split:
    return Split(sp.csc_matrix(X[train]), y[train], X[~train], y[~train])


def load_news20() -> Split:
    matrix, meta = map(find_data, NEWS20_FILES)
    arrays = np.load(meta)
    return make_split(sp.load_npz(matrix), arrays["y"], arrays["is_train"])


def load_hiv() -> Split:
    matrix, meta = map(find_data, HIV_FILES)
    y = np.load(meta)["y"].astype(np.int64)
    train = np.random.default_rng(SEED).permutation(len(y)) >= TEST_SHARE * len(y)
    return make_split(sp.load_npz(matrix), y, train)


def accuracy(y: np.ndarray, shares: np.ndarray) -> float:
    return float(accuracy_score(y, shares.argmax(axis=1)))


def auc(y: np.ndarray, shares: np.ndarray) -> float:
    return float(roc_auc_score(y, shares[:, 1]))


NEWS20 = DataSet("20 Newsgroups, TF-IDF", NEWS20_FILES, load_news20, "accuracy", accuracy)
HIV = DataSet("HIV, fingerprint counts", HIV_FILES, load_hiv, "AUC", auc)
CASES = ((NEWS20, (RANDOM_FOREST, EXTRA_TREES)), (HIV, (RANDOM_FOREST,)))


def grow(library: ModuleType, kind: Kind, split: Split, n_trees: int, n_jobs: int) -> object:
    forest = getattr(library, kind.name)(
        n_trees,
        max_features="sqrt",
        bootstrap=kind.bootstrap,
        random_state=SEED,
        n_jobs=n_jobs,
    )
    return forest.fit(split.X_train, split.y_train)


def compare(data: DataSet, kind: Kind, split: Split, arguments: argparse.Namespace) -> None:
    size = {"n_trees": arguments.trees, "n_jobs": arguments.jobs}
    timings = time_interleaved(
        {
            "spinney": partial(grow, spinney, kind, split, **size),
            "scikit-learn": partial(grow, sklearn.ensemble, kind, split, **size),
        },
        arguments.repeats,
    )
    scores = {
        name: data.score(split.y_test, timing.model.predict_proba(split.X_test))
        for name, timing in timings.items()
    }
    bootstrap = "bootstrap" if kind.bootstrap else "no bootstrap"
    print(f"{kind.title} of {arguments.trees}, {bootstrap}")
    print(f"{'':14}{'seconds':>10}{'runs':>6}{data.metric:>10}{'mean depth':>12}{'nodes':>10}")
    for name, timing in timings.items():
        trees = [estimator.tree_ for estimator in timing.model.estimators_]
        print(
            f"{name:14}{timing.median:>10.3f}{len(timing.seconds):>6}"
            f"{scores[name]:>10.4f}"
            f"{np.mean([mean_depth(tree) for tree in trees]):>12.1f}"
            f"{sum(tree.node_count for tree in trees):>10}"
        )
    record_timings(f"{kind.title} of {arguments.trees}, {data.title}", timings, scores)
    ratio = timings["scikit-learn"].median / timings["spinney"].median
    print(f"scikit-learn / spinney: {ratio:.2f}", flush=True)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--repeats", type=positive, default=3, help="runs per contender (default: 3)"
    )
    parser.add_argument(
        "--trees", type=positive, default=100, help="trees per forest (default: 100)"
    )
    parser.add_argument("--jobs", type=positive, default=1, help="threads of either (default: 1)")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    print("Forests: square-root features, unlimited depth")
    print_versions(arguments.jobs)
    for data, kinds in CASES:
        print(f"\n{data.title}")
        missing = [name for name in data.files if not find_data(name).exists()]
        if missing:
            print(f"skipped: {missing[0]} not found")
            continue
        split = data.load()
        print(
            f"train {split.X_train.shape[0]} x {split.X_train.shape[1]}, "
            f"{split.X_train.nnz} nonzeros; test {split.X_test.shape[0]} rows"
        )
        for kind in kinds:
            compare(data, kind, split, arguments)
    print("\nmean depth: of the leaf of an average row of a tree's sample; nodes: of all trees")
    return 0


if __name__ == "__main__":
    sys.exit(main())
