"""Categories and missing values: what they cost beside numbers, and what one-hot columns cost.

Also what a data frame costs at prediction beside its codes.

Needs the real data beside the repository; cases whose data are absent are said to be skipped.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np
import pandas as pd
import sklearn
import sklearn.compose
import sklearn.datasets
import sklearn.ensemble
import sklearn.impute
import sklearn.metrics
import sklearn.pipeline
import sklearn.preprocessing

import spinney
from common import (
    positive,
    print_versions,
    record,
    record_timings,
    time_interleaved,
)
from data_sets import find_data

FLIGHTS = "nycflights13_joined.csv.gz"
ADULT = ("adult_train.csv.gz", "adult_test.csv.gz")


def many_levels(repeats: int) -> None:
    """One tree on a column of 4,000 categories, and on a numeric one of as many values."""
    if not find_data(FLIGHTS).exists():
        print(f"\nskipped: {FLIGHTS} is not there")
        return
    flights = pd.read_csv(find_data(FLIGHTS), low_memory=False).dropna(subset=["arr_delay"])
    codes = flights["tailnum"].astype("category").cat.codes.to_numpy(np.float64)
    X = codes[:, None]
    X[codes < 0] = np.nan
    numbers = np.random.default_rng(0).permutation(int(codes.max()) + 1).astype(np.float64)
    numeric = np.where(np.isnan(X), np.nan, numbers[np.nan_to_num(X).astype(int)])
    n_levels = len(np.unique(codes[codes >= 0]))
    print(f"\none tree, {len(X):,} flights, tailnum ({n_levels} levels): seconds")
    print(f"{'':36}{'categorical':>12}{'numeric':>10}{'ratio':>8}")
    delay = flights["arr_delay"].to_numpy()
    for name, tree_class, y, params in (
        ("regression, full", spinney.DecisionTreeRegressor, delay, {}),
        ("two classes, full", spinney.DecisionTreeClassifier, delay > 15, {}),
        ("regression, depth 8", spinney.DecisionTreeRegressor, delay, {"max_depth": 8}),
        ("two classes, depth 8", spinney.DecisionTreeClassifier, delay > 15, {"max_depth": 8}),
    ):
        timings = time_interleaved(
            {
                "categorical": lambda c=tree_class, y=y, p=params: c(
                    categorical_features=[0], random_state=0, **p
                ).fit(X, y),
                "numeric": lambda c=tree_class, y=y, p=params: c(random_state=0, **p).fit(
                    numeric, y
                ),
            },
            repeats,
        )
        ours, theirs = timings["categorical"].median, timings["numeric"].median
        work = f"one tree on a column of {n_levels} values, {name}"
        record(work, {"spinney": theirs, "spinney, categories": ours})
        print(f"{name:36}{ours:>12.3f}{theirs:>10.3f}{ours / theirs:>8.2f}", flush=True)


def adult(repeats: int, n_trees: int) -> None:
    """A forest on Adult with its categories, and scikit-learn's on one-hot columns."""
    paths = [find_data(name) for name in ADULT]
    if not all(path.exists() for path in paths):
        print(f"\nskipped: {' or '.join(ADULT)} is not there")
        return
    train, test = (pd.read_csv(path, na_values="?") for path in paths)
    is_rich = [
        (frame.pop("income").str.strip(" .") == ">50K").to_numpy() for frame in (train, test)
    ]
    names = list(train.select_dtypes(exclude="number").columns)
    ours = spinney.RandomForestClassifier(
        n_trees, categorical_features=names, min_samples_leaf=3, random_state=0
    )
    encoder = sklearn.compose.make_column_transformer(
        (sklearn.preprocessing.OneHotEncoder(handle_unknown="ignore"), names),
        remainder="passthrough",
    )
    theirs = sklearn.pipeline.make_pipeline(
        encoder,
        sklearn.ensemble.RandomForestClassifier(n_trees, min_samples_leaf=3, random_state=0),
    )
    timings = time_interleaved(
        {
            "spinney, categories": lambda: ours.fit(train, is_rich[0]),
            "scikit-learn, one-hot": lambda: theirs.fit(train, is_rich[0]),
        },
        repeats,
    )
    print(f"\nforest of {n_trees} on Adult (min_samples_leaf=3): seconds and AUC on the test set")
    scores = []
    for name, timing in timings.items():
        shares = timing.model.predict_proba(test)[:, 1]
        scores.append(sklearn.metrics.roc_auc_score(is_rich[1], shares))
        print(f"{name:36}{timing.median:>12.3f}{scores[-1]:>10.4f}", flush=True)
    # The same names in all rows, for the chart and the tables.
    libraries = ("spinney", "scikit-learn")
    record_timings(
        f"random forest of {n_trees}, Adult, scikit-learn's on one-hot columns",
        dict(zip(libraries, timings.values(), strict=True)),
        dict(zip(libraries, scores, strict=True)),
    )


def missing(repeats: int) -> None:
    """The same fit with a tenth of all cells missing."""
    X, classes = sklearn.datasets.make_classification(
        50_000, n_features=20, n_informative=12, random_state=0
    )
    X = X.astype(np.float32)
    numbers = X[:, :5].sum(1) + np.random.default_rng(1).normal(size=len(X))
    holed = X.copy()
    holed[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    print("\n50,000 x 20, a tenth of the cells missing: seconds")
    print(f"{'':36}{'missing':>12}{'none':>10}{'ratio':>8}")
    for name, estimator, y in (
        ("one tree", spinney.DecisionTreeClassifier(random_state=0), classes),
        ("forest of 20", spinney.RandomForestClassifier(20, random_state=0), classes),
        ("extra trees, 20", spinney.ExtraTreesClassifier(20, random_state=0), classes),
        ("one regression tree", spinney.DecisionTreeRegressor(random_state=0), numbers),
        ("regression forest of 5", spinney.RandomForestRegressor(5, random_state=0), numbers),
    ):
        timings = time_interleaved(
            {
                "missing": lambda e=estimator, y=y: e.fit(holed, y),
                "none": lambda e=estimator, y=y: e.fit(X, y),
            },
            repeats,
        )
        with_them, without = timings["missing"].median, timings["none"].median
        work = f"{name}, 50,000 x 20, without and with a tenth of the cells missing"
        record(work, {"spinney": without, "spinney, missing cells": with_them})
        print(f"{name:36}{with_them:>12.3f}{without:>10.3f}{with_them / without:>8.2f}", flush=True)


def frames(repeats: int) -> None:
    """Prediction of a data frame of ten categorical columns, and of its codes."""
    rng = np.random.default_rng(0)
    n_rows, n_trees = 100_000, 100
    codes = rng.integers(0, [4, 6, 8, 10, 15, 20, 30, 50, 80, 100], size=(n_rows, 10))
    y = (codes @ rng.normal(size=10) + rng.normal(scale=20, size=n_rows)) > 0
    names = [f"column {n}" for n in range(10)]
    frame = pd.DataFrame({name: codes[:, n] for n, name in enumerate(names)})
    frame = frame.apply(lambda column: ("level " + column.astype(str)).astype("category"))
    forest = spinney.RandomForestClassifier(n_trees, max_depth=12, random_state=0)
    of_frame = sklearn.clone(forest).set_params(categorical_features="from_dtype").fit(frame, y)
    of_codes = sklearn.clone(forest).set_params(categorical_features=list(range(10)))
    rows = codes.astype(np.float32)
    of_codes.fit(rows, y)
    timings = time_interleaved(
        {
            "spinney": lambda: of_frame.predict_proba(frame),
            "spinney, codes": lambda: of_codes.predict_proba(rows),
        },
        repeats,
    )
    ours, theirs = (timing.median for timing in timings.values())
    print(f"\npredictions for {n_rows:,} rows of 10 categories: seconds")
    print(f"{'':36}{'frame':>12}{'codes':>10}{'ratio':>8}")
    name = f"forest of {n_trees}"
    print(f"{name:36}{ours:>12.3f}{theirs:>10.3f}{ours / theirs:>8.2f}", flush=True)
    record_timings(f"prediction by {n_trees} trees, a frame of {n_rows:,} x 10 categories", timings)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=positive, default=3, help="runs of each (default: 3)")
    parser.add_argument("--trees", type=positive, default=100, help="trees on Adult (default: 100)")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print_versions(1)
    many_levels(arguments.repeats)
    adult(arguments.repeats, arguments.trees)
    missing(arguments.repeats)
    frames(arguments.repeats)
    return 0


if __name__ == "__main__":
    sys.exit(main())
