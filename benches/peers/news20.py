"""One unlimited tree over all features of 20 Newsgroups (TF-IDF, split by date)."""

from __future__ import annotations

import argparse
import sys

import numpy as np
import scipy.sparse as sp
import sklearn.tree

import spinney
from common import (
    mean_depth,
    positive,
    print_versions,
    record_timings,
    time_interleaved,
)
from data_sets import find_data

FILES = ("news20_bydate_tfidf.npz", "news20_bydate_meta.npz")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--repeats", type=positive, default=3, help="runs per contender (default: 3)"
    )
    arguments = parser.parse_args()

    print("20 Newsgroups, TF-IDF: one tree, all features, unlimited depth")
    paths = [find_data(name) for name in FILES]
    for path in paths:
        if not path.exists():
            print(f"skipped: {path} not found")
            return 0
    print_versions()

    X, meta = sp.load_npz(paths[0]), np.load(paths[1])
    train, y = meta["is_train"], meta["y"]
    X_train, X_test = X[train].tocsc(), X[~train]
    print(
        f"train {X_train.shape[0]} x {X_train.shape[1]}, {X_train.nnz} nonzeros; "
        f"test {X_test.shape[0]} rows"
    )
    timings = time_interleaved(
        {
            "spinney": lambda: spinney.DecisionTreeClassifier(random_state=0, n_jobs=1).fit(
                X_train, y[train]
            ),
            "scikit-learn": lambda: sklearn.tree.DecisionTreeClassifier(random_state=0).fit(
                X_train, y[train]
            ),
        },
        arguments.repeats,
    )

    scores = {name: timing.model.score(X_test, y[~train]) for name, timing in timings.items()}
    print(
        f"{'':14}{'seconds':>10}{'runs':>6}{'accuracy':>10}{'depth':>7}{'mean depth':>12}"
        f"{'leaves':>8}{'ns/nonzero/level':>18}"
    )
    for name, timing in timings.items():
        tree = timing.model.tree_
        levels = mean_depth(tree)
        print(
            f"{name:14}{timing.median:>10.3f}{len(timing.seconds):>6}"
            f"{scores[name]:>10.4f}{tree.max_depth:>7}{levels:>12.1f}"
            f"{tree.n_leaves:>8}{timing.median * 1e9 / (X_train.nnz * levels):>18.2f}"
        )
    record_timings("one tree, 20 Newsgroups", timings, scores)
    ratio = timings["scikit-learn"].median / timings["spinney"].median
    print(f"scikit-learn / spinney: {ratio:.2f}")
    print("level: a step of the way of an average training row (mean depth of its leaf)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
