"""A batch through one forest, as the libraries that are made for prediction run it.

Treelite's interpreter (gtil) and its compiled form (tl2cgen) predict with our forest;
scikit-learn, YDF and LightGBM with forests of their own, of as many trees and about as many
leaves. The forest of scikit-learn, converted to ours, is timed too. All get the same rows in
float32 and as many threads. Libraries that are absent are said to be skipped. Compiling takes
minutes.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import sklearn.ensemble

import spinney
from common import positive, print_versions, record_timings, time_interleaved
from predict import SEED, dense

Predict = Callable[[], object]


@dataclass(frozen=True)
class Task:
    """Our forest, the rows that it was fitted on, those that are asked for, and the threads."""

    forest: spinney.RandomForestClassifier
    X: np.ndarray
    y: np.ndarray
    rows: np.ndarray
    jobs: int


def gtil(task: Task) -> Predict:
    import treelite

    model = task.forest.to_treelite()
    return lambda: treelite.gtil.predict(model, task.rows, nthread=task.jobs)


def tl2cgen(task: Task) -> Predict:
    import tl2cgen

    with tempfile.TemporaryDirectory() as directory:
        library = Path(directory) / "forest.so"
        # A file for each tree: a compiler would take very long for one of all trees.
        params = {"parallel_comp": len(task.forest.estimators_)}
        tl2cgen.export_lib(
            task.forest.to_treelite(), "gcc", library, params=params, nthread=task.jobs
        )
        predictor = tl2cgen.Predictor(library, nthread=task.jobs)
    return lambda: predictor.predict(tl2cgen.DMatrix(task.rows))


def ydf(task: Task) -> Predict:
    import ydf

    ydf.verbose(0)

    def columns(X: np.ndarray) -> dict[str, np.ndarray]:
        return {f"f{i}": np.ascontiguousarray(column) for i, column in enumerate(X.T)}

    learner = ydf.RandomForestLearner(
        "y",
        num_trees=len(task.forest.estimators_),
        max_depth=-1,
        min_examples=1,
        winner_take_all=False,
        compute_oob_performances=False,
        random_seed=SEED,
    )
    model = learner.train(columns(task.X) | {"y": task.y})
    asked = columns(task.rows)
    return lambda: model.predict(asked, num_threads=task.jobs)


def lightgbm(task: Task) -> Predict:
    import lightgbm

    n_leaves = np.mean([tree.get_n_leaves() for tree in task.forest.estimators_])
    model = lightgbm.LGBMClassifier(
        boosting_type="rf",
        n_estimators=len(task.forest.estimators_),
        num_leaves=int(n_leaves),
        min_child_samples=1,
        min_child_weight=0.0,
        min_split_gain=0.0,
        subsample=0.63,
        subsample_freq=1,
        colsample_bytree=1.0,
        feature_fraction_bynode=1 / np.sqrt(task.rows.shape[1]),
        random_state=SEED,
        verbose=-1,
        n_jobs=task.jobs,
    )
    model.fit(task.X, task.y)
    return lambda: model.predict_proba(task.rows)


# Each with the module that it needs.
OTHERS: dict[str, tuple[str, Callable[[Task], Predict]]] = {
    "treelite gtil": ("treelite", gtil),
    "tl2cgen": ("tl2cgen", tl2cgen),
    "YDF": ("ydf", ydf),
    "LightGBM": ("lightgbm", lightgbm),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=positive, default=9, help="runs of each (default: 9)")
    parser.add_argument("--jobs", type=positive, default=1, help="threads (default: 1)")
    parser.add_argument("--trees", type=positive, default=100, help="trees (default: 100)")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print_versions(arguments.jobs)
    X, y, rows = dense(np.float32)
    forest = spinney.RandomForestClassifier(arguments.trees, random_state=SEED, n_jobs=-1)
    forest.fit(X, y).set_params(n_jobs=arguments.jobs)
    theirs = sklearn.ensemble.RandomForestClassifier(arguments.trees, random_state=SEED, n_jobs=-1)
    theirs.fit(X, y).set_params(n_jobs=arguments.jobs)
    converted = spinney.from_sklearn(theirs).set_params(n_jobs=arguments.jobs)
    task = Task(forest, X, y, rows, arguments.jobs)
    contenders: dict[str, Predict] = {
        "spinney": lambda: forest.predict_proba(rows),
        "scikit-learn": lambda: theirs.predict_proba(rows),
        "scikit-learn's, converted": lambda: converted.predict_proba(rows),
    }
    for name, (module, prepare) in OTHERS.items():
        if importlib.util.find_spec(module) is None:
            print(f"{name:28}skipped, {module} is not installed")
            continue
        contenders[name] = prepare(task)
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
