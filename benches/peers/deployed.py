"""A batch through one forest, as the libraries that are made for prediction run it.

Ours, scikit-learn, treelite's interpreter (gtil) and its compiled form (tl2cgen) predict with the
same forest; YDF and LightGBM with forests of their own, of as many trees and about as many leaves.
A forest of scikit-learn that was converted to ours is timed too. All get the same rows in float32
and as many threads. Libraries that are absent are said to be skipped. Compiling takes minutes.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import sklearn.ensemble

import spinney
from common import positive, print_versions, record_timings, time_interleaved
from predict import SEED, classification

Predict = Callable[[], object]


def gtil(forest: spinney.RandomForestClassifier, rows: np.ndarray, jobs: int) -> Predict:
    import treelite

    model = forest.to_treelite()
    return lambda: treelite.gtil.predict(model, rows, nthread=jobs)


def tl2cgen(forest: spinney.RandomForestClassifier, rows: np.ndarray, jobs: int) -> Predict:
    import tl2cgen

    with tempfile.TemporaryDirectory() as directory:
        library = Path(directory) / "forest.so"
        # A file for each few trees, which a compiler can hold.
        params = {"parallel_comp": len(forest.estimators_)}
        tl2cgen.export_lib(forest.to_treelite(), "gcc", library, params=params, nthread=jobs)
        predictor = tl2cgen.Predictor(library, nthread=jobs)
    return lambda: predictor.predict(tl2cgen.DMatrix(rows))


def ydf(forest: spinney.RandomForestClassifier, rows: np.ndarray, jobs: int) -> Predict:
    import ydf

    ydf.verbose(0)
    X, y = training_rows()

    def columns(X: np.ndarray) -> dict[str, np.ndarray]:
        return {f"f{i}": np.ascontiguousarray(column) for i, column in enumerate(X.T)}

    learner = ydf.RandomForestLearner(
        "y",
        num_trees=len(forest.estimators_),
        max_depth=-1,
        min_examples=1,
        winner_take_all=False,
        compute_oob_performances=False,
        random_seed=SEED,
    )
    model = learner.train(columns(X) | {"y": y})
    asked = columns(rows)
    return lambda: model.predict(asked, num_threads=jobs)


def lightgbm(forest: spinney.RandomForestClassifier, rows: np.ndarray, jobs: int) -> Predict:
    import lightgbm

    n_leaves = np.mean([tree.get_n_leaves() for tree in forest.estimators_])
    model = lightgbm.LGBMClassifier(
        boosting_type="rf",
        n_estimators=len(forest.estimators_),
        num_leaves=int(n_leaves),
        min_child_samples=1,
        min_child_weight=0.0,
        min_split_gain=0.0,
        subsample=0.63,
        subsample_freq=1,
        colsample_bytree=1.0,
        feature_fraction_bynode=1 / np.sqrt(rows.shape[1]),
        random_state=SEED,
        verbose=-1,
        n_jobs=jobs,
    )
    model.fit(*training_rows())
    return lambda: model.predict_proba(rows)


# Each with the module that it needs.
OTHERS: dict[str, tuple[str, Callable[..., Predict]]] = {
    "treelite gtil": ("treelite", gtil),
    "tl2cgen": ("tl2cgen", tl2cgen),
    "YDF": ("ydf", ydf),
    "LightGBM": ("lightgbm", lightgbm),
}


def training_rows() -> tuple[np.ndarray, np.ndarray]:
    X, y = classification()
    return X[:30_000], y[:30_000]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=positive, default=9, help="runs of each (default: 9)")
    parser.add_argument("--jobs", type=positive, default=1, help="threads (default: 1)")
    parser.add_argument("--trees", type=positive, default=100, help="trees (default: 100)")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print_versions(arguments.jobs)
    X, y = training_rows()
    rows = classification()[0][30_000:]
    forest = spinney.RandomForestClassifier(arguments.trees, random_state=SEED, n_jobs=-1)
    forest.fit(X, y).set_params(n_jobs=arguments.jobs)
    theirs = sklearn.ensemble.RandomForestClassifier(arguments.trees, random_state=SEED, n_jobs=-1)
    theirs.fit(X, y).set_params(n_jobs=arguments.jobs)
    converted = spinney.from_sklearn(theirs).set_params(n_jobs=arguments.jobs)
    contenders: dict[str, Predict] = {
        "spinney": lambda: forest.predict_proba(rows),
        "scikit-learn": lambda: theirs.predict_proba(rows),
        "scikit-learn's, converted": lambda: converted.predict_proba(rows),
    }
    for name, (module, prepare) in OTHERS.items():
        if importlib.util.find_spec(module) is None:
            print(f"{name:28}skipped, {module} is not installed")
            continue
        contenders[name] = prepare(forest, rows, arguments.jobs)
    for predict in contenders.values():
        predict()
    timings = time_interleaved(contenders, arguments.repeats)
    ours = timings["spinney"].median
    print(f"{'20,000 x 30, ' + str(arguments.trees) + ' trees':28}{'ms':>10}{'of ours':>10}")
    for name, timing in timings.items():
        print(f"{name:28}{timing.median * 1e3:>10.1f}{timing.median / ours:>10.2f}")
    threads = "" if arguments.jobs == 1 else f", {arguments.jobs} threads"
    record_timings(f"prediction beside others, {arguments.trees} trees{threads}", timings)
    return 0


if __name__ == "__main__":
    sys.exit(main())
