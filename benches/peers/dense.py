"""Dense data: forests and single trees of ours and of other libraries.

Equal thread counts, float32 input in C order, medians of interleaved repeats. All trees are grown
until their leaves are pure. Growth is timed with the encoding of the input, without prediction.
Libraries that are not installed are left out.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import math
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import sklearn.datasets
import sklearn.ensemble
import sklearn.tree
from sklearn.metrics import accuracy_score, r2_score

import spinney
from common import (
    Timing,
    mean_depth,
    positive,
    print_versions,
    record_timings,
    same_bits,
    time_interleaved,
)
from data_sets import find_data
from table1 import parse_rows

SEED = 0
QUICK_DIVISOR = 10
COVERTYPE = "covertype.npz"
COVERTYPE_TRAIN_SHARE = 0.8
RANGER_SCRIPT = Path(__file__).with_name("ranger.R")


@dataclass(frozen=True)
class Split:
    """Training and held-out rows; classes numbered from 0, or float targets."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    @property
    def regression(self) -> bool:
        return self.y_train.dtype.kind == "f"

    def score(self, predicted: np.ndarray) -> float:
        metric = r2_score if self.regression else accuracy_score
        return float(metric(self.y_test, predicted))


@dataclass(frozen=True)
class Plan:
    """What is grown, and scikit-learn's class for it."""

    kind: str
    sklearn_class: type
    n_trees: int | None = None  # None: a single tree
    splitter: str = "best"
    bootstrap: bool = False
    max_features: str | None = None

    @property
    def title(self) -> str:
        size = "" if self.n_trees is None else f" of {self.n_trees}"
        features = "all" if self.max_features is None else "square-root"
        return f"{self.kind}{size}{', bootstrap' * self.bootstrap}, {features} features"

    def quick(self) -> Plan:
        n_trees = None if self.n_trees is None else self.n_trees // QUICK_DIVISOR
        return replace(self, n_trees=n_trees)

    def columns_drawn(self, n_features: int) -> int:
        return math.isqrt(n_features) if self.max_features == "sqrt" else n_features


@dataclass(frozen=True)
class Fitted:
    """A model, ready to predict the held-out rows."""

    predict: Callable[[], np.ndarray]
    trees: tuple = ()  # ours only
    seconds: float | None = None  # by the contender's own clock, where ours sees more than the fit


@dataclass(frozen=True)
class Found:
    """The version of an optional library, or what of it is missing."""

    version: str | None = None
    missing: str | None = None


@dataclass(frozen=True)
class Contender:
    name: str
    fit: Callable[[Plan, Split, int], Fitted]
    # None: always there, and named by `print_versions`.
    find: Callable[[], Found] | None = None

    def found(self) -> Found:
        return Found() if self.find is None else self.find()


@dataclass(frozen=True)
class Case:
    plan: Plan
    data: str
    load: Callable[[int], Split]  # takes what the number of rows is divided by
    peers: tuple[Contender, ...]
    file: Path | None = None
    threads: bool = False  # of spinney, several against one


def fit_spinney(plan: Plan, split: Split, n_jobs: int) -> Fitted:
    regressor = split.regression
    parameters = {"max_features": plan.max_features, "random_state": SEED, "n_jobs": n_jobs}
    if plan.n_trees is None:
        tree_class = spinney.DecisionTreeRegressor if regressor else spinney.DecisionTreeClassifier
        model = tree_class(splitter=plan.splitter, **parameters)
        model.fit(split.X_train, split.y_train)
        return Fitted(lambda: model.predict(split.X_test), (model.tree_,))
    kind = "RandomForest" if plan.splitter == "best" else "ExtraTrees"
    forest_class = getattr(spinney, kind + ("Regressor" if regressor else "Classifier"))
    forest = forest_class(plan.n_trees, bootstrap=plan.bootstrap, **parameters)
    forest.fit(split.X_train, split.y_train)
    trees = tuple(estimator.tree_ for estimator in forest.estimators_)
    return Fitted(lambda: forest.predict(split.X_test), trees)


def fit_sklearn(plan: Plan, split: Split, n_jobs: int) -> Fitted:
    parameters = {"max_features": plan.max_features, "random_state": SEED}
    if plan.n_trees is not None:
        parameters |= {"n_estimators": plan.n_trees, "bootstrap": plan.bootstrap, "n_jobs": n_jobs}
    model = plan.sklearn_class(**parameters).fit(split.X_train, split.y_train)
    return Fitted(lambda: model.predict(split.X_test))


def fit_intelex(plan: Plan, split: Split, n_jobs: int, *, exact: bool) -> Fitted:
    """Grow a forest by scikit-learn-intelex, which splits between 256 bins unless told otherwise.

    As many bins as rows give exact splits. On covertype its trees are smaller and better: as ours
    with `feature_sampling="active"`, they seem to draw among features that vary in the node, while
    scikit-learn's count constant ones as drawn.
    """
    from sklearnex.ensemble import RandomForestClassifier

    model = RandomForestClassifier(
        plan.n_trees,
        max_features=plan.max_features,
        bootstrap=plan.bootstrap,
        random_state=SEED,
        n_jobs=n_jobs,
        **({"max_bins": split.X_train.shape[0]} if exact else {}),
    ).fit(split.X_train, split.y_train)
    return Fitted(lambda: model.predict(split.X_test))


def fit_ydf(plan: Plan, split: Split, n_jobs: int) -> Fitted:
    """Grow a forest by YDF: exact splits, by entropy, the only criterion that it has."""
    import ydf

    ydf.verbose(0)
    model = ydf.RandomForestLearner(
        label="y",
        num_trees=plan.n_trees,
        bootstrap_training_dataset=plan.bootstrap,
        num_candidate_attributes=plan.columns_drawn(split.X_train.shape[1]),
        discretize_numerical_columns=False,
        max_depth=-1,
        min_examples=1,
        winner_take_all=False,
        compute_oob_performances=False,
        random_seed=SEED,
        num_threads=n_jobs,
    ).train({"x": split.X_train, "y": split.y_train})
    return Fitted(lambda: model.predict_class({"x": split.X_test}).astype(split.y_test.dtype))


def fit_ranger(plan: Plan, split: Split, n_jobs: int) -> Fitted:
    """Grow a forest by ranger in a process of R, which times the fit itself."""
    n_train, n_features = split.X_train.shape
    n_test = split.X_test.shape[0]
    columns = plan.columns_drawn(n_features)
    # ranger takes seed 0 for no seed.
    numbers = (n_train, n_test, n_features, plan.n_trees, columns, n_jobs, SEED + 1)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "X_train").write_bytes(split.X_train.tobytes(order="F"))
        (directory / "X_test").write_bytes(split.X_test.tobytes(order="F"))
        (directory / "y_train").write_bytes(split.y_train.astype(np.int32).tobytes())
        done = subprocess.run(
            ["Rscript", str(RANGER_SCRIPT), name, *map(str, numbers)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        shares = np.fromfile(directory / "shares").reshape(-1, n_test)
    return Fitted(lambda: shares.argmax(axis=0), seconds=float(done.stdout))


@cache
def find_intelex() -> Found:
    try:
        import sklearnex  # noqa: F401
    except ImportError:
        return Found(missing="sklearnex")
    package = "scikit-learn-intelex"
    return Found(f"{package} {importlib.metadata.version(package)}")


@cache
def find_ydf() -> Found:
    try:
        import ydf
    except ImportError:
        return Found(missing="ydf")
    return Found(f"ydf {ydf.__version__}")


@cache
def find_ranger() -> Found:
    if shutil.which("Rscript") is None:
        return Found(missing="Rscript")
    code = 'cat("ranger", format(packageVersion("ranger")), "in R", format(getRversion()))'
    done = subprocess.run(["Rscript", "-e", code], capture_output=True, check=False, text=True)
    return Found(done.stdout) if done.returncode == 0 else Found(missing="ranger, a package of R,")


SPINNEY = Contender("spinney", fit_spinney)
ONE_THREAD = Contender("spinney, 1 thread", lambda plan, split, _: fit_spinney(plan, split, 1))
SKLEARN = Contender("scikit-learn", fit_sklearn)
INTELEX = Contender("intelex, 256 bins", partial(fit_intelex, exact=False), find_intelex)
INTELEX_EXACT = Contender("intelex, exact", partial(fit_intelex, exact=True), find_intelex)
YDF = Contender("YDF", fit_ydf, find_ydf)
RANGER = Contender("ranger", fit_ranger, find_ranger)


def cut(X: np.ndarray, y: np.ndarray, n_train: int) -> Split:
    X = np.ascontiguousarray(X, dtype=np.float32)
    return Split(X[:n_train], y[:n_train], X[n_train:], y[n_train:])


def load_classification(divisor: int) -> Split:
    n_train, n_test = 100_000 // divisor, 20_000 // divisor
    X, y = sklearn.datasets.make_classification(
        n_train + n_test,
        n_features=30,
        n_informative=10,
        n_redundant=5,
        flip_y=0.1,
        random_state=SEED,
    )
    return cut(X, y, n_train)


def load_small(divisor: int) -> Split:
    n_train = n_test = 1_000 // divisor
    X, y = sklearn.datasets.make_classification(n_train + n_test, n_features=20, random_state=SEED)
    return cut(X, y, n_train)


def load_covertype(divisor: int) -> Split:
    arrays = np.load(find_data(COVERTYPE))
    X, y = arrays["X"], arrays["y"]
    order = np.random.default_rng(SEED).permutation(len(y))[: len(y) // divisor]
    return cut(X[order], y[order].astype(np.int64) - 1, int(COVERTYPE_TRAIN_SHARE * len(order)))


def load_friedman(divisor: int) -> Split:
    n_train, n_test = 50_000 // divisor, 10_000 // divisor
    X, y = sklearn.datasets.make_friedman1(
        n_train + n_test, n_features=10, noise=1.0, random_state=SEED
    )
    return cut(X, y, n_train)


def load_large(divisor: int) -> Split:
    """Make normal columns and a curved border between the classes; a tenth of y is flipped.

    `make_classification` would take several times the memory.
    """
    n_train, n_test = 1_000_000 // divisor, 100_000 // divisor
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((n_train + n_test, 100), dtype=np.float32)
    border = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] ** 2 - np.abs(X[:, 4]) + X[:, 5]
    y = (border > 0).astype(np.int64)
    y[rng.random(len(y)) < 0.1] ^= 1
    return cut(X, y, n_train)


RANDOM_FOREST = Plan(
    "random forest",
    sklearn.ensemble.RandomForestClassifier,
    n_trees=100,
    bootstrap=True,
    max_features="sqrt",
)
EXTRA_TREES = Plan(
    "extra trees",
    sklearn.ensemble.ExtraTreesClassifier,
    n_trees=100,
    splitter="random",
    max_features="sqrt",
)
REGRESSION_FOREST = Plan(
    "regression forest",
    sklearn.ensemble.RandomForestRegressor,
    n_trees=20,
    bootstrap=True,
)
TREE = Plan("one tree", sklearn.tree.DecisionTreeClassifier)

CASES = (
    Case(
        RANDOM_FOREST,
        "make_classification",
        load_classification,
        (SKLEARN, INTELEX, INTELEX_EXACT, YDF, RANGER),
    ),
    Case(EXTRA_TREES, "make_classification", load_classification, (SKLEARN,)),
    Case(TREE, "make_classification", load_classification, (SKLEARN,)),
    Case(
        replace(RANDOM_FOREST, n_trees=20),
        "covertype",
        load_covertype,
        (SKLEARN, INTELEX, INTELEX_EXACT),
        file=COVERTYPE,
    ),
    Case(REGRESSION_FOREST, "friedman1", load_friedman, (SKLEARN,)),
    Case(RANDOM_FOREST, "make_classification", load_small, (SKLEARN,)),
    Case(TREE, "normal columns, curved border", load_large, (ONE_THREAD,), threads=True),
)


def cell_levels(plan: Plan, fitted: Fitted, n_features: int) -> float:
    """Cells that the nodes of all trees look at, if each draws as many features as it is told."""
    rows = sum(mean_depth(tree) * int(tree.n_node_samples[0]) for tree in fitted.trees)
    return rows * plan.columns_drawn(n_features)


def line(
    name: str,
    plan: Plan,
    split: Split,
    timing: Timing,
    score: float,
    spinney_seconds: float | None,
) -> str:
    """A line of the table; `spinney_seconds` is None on the line that the others are divided by."""
    fitted = timing.model
    ratio = "" if spinney_seconds is None else f"{timing.median / spinney_seconds:.2f}"
    cells = [
        f"   {name:20}{timing.median:>10.3f}{len(timing.seconds):>6}{ratio:>9}",
        f"{score:>10.4f}",
    ]
    if fitted.trees:
        visited = cell_levels(plan, fitted, split.X_train.shape[1])
        depth = np.mean([mean_depth(tree) for tree in fitted.trees])
        cells.append(f"{depth:>12.1f}{timing.median * 1e9 / visited:>15.2f}")
    return "".join(cells)


def compare(number: int, arguments: argparse.Namespace) -> bool:
    """Print a row; return False if spinney's trees depend on the number of threads."""
    case = CASES[number - 1]
    plan = case.plan.quick() if arguments.quick else case.plan
    heading = f"{number}  {plan.title}; {case.data}"
    if case.file is not None and not find_data(case.file).exists():
        print(f"{heading}\n   skipped: {case.file} not found", flush=True)
        return True
    split = case.load(QUICK_DIVISOR if arguments.quick else 1)
    n_train, n_features = split.X_train.shape
    print(f"{heading}, {n_train} + {split.X_test.shape[0]} x {n_features}", flush=True)

    n_jobs = arguments.threads if case.threads else arguments.jobs
    ours = f"spinney, {n_jobs} threads" if case.threads else SPINNEY.name
    found = {peer.name: peer.fit for peer in case.peers if peer.found().missing is None}
    own_seconds: dict[str, list[float]] = {}

    def run(name: str, fit: Callable[[Plan, Split, int], Fitted]) -> Fitted:
        fitted = fit(plan, split, n_jobs)
        if fitted.seconds is not None:
            own_seconds.setdefault(name, []).append(fitted.seconds)
        return fitted

    timings = time_interleaved(
        {name: partial(run, name, fit) for name, fit in {ours: fit_spinney, **found}.items()},
        arguments.repeats,
    )
    for name, seconds in own_seconds.items():
        timings[name].seconds = seconds

    scores = {name: split.score(timing.model.predict()) for name, timing in timings.items()}
    record_timings(f"{plan.title}; {case.data}, {n_train} x {n_features}", timings, scores)
    print(line(ours, plan, split, timings[ours], scores[ours], None))
    for peer in case.peers:
        missing = peer.found().missing
        if missing is not None:
            print(f"   {peer.name:20}skipped: {missing} not found")
            continue
        timing, score = timings[peer.name], scores[peer.name]
        print(line(peer.name, plan, split, timing, score, timings[ours].median), flush=True)
    if not case.threads:
        return True
    one, many = timings[ONE_THREAD.name].model.trees, timings[ours].model.trees
    same = all(same_bits(a, b) for a, b in zip(one, many, strict=True))
    print(f"   same tree: {'yes' if same else 'NO'}", flush=True)
    return same


def print_peers(numbers: list[int]) -> None:
    """Print the versions of the optional peers of these rows."""
    peers = {peer.name: peer for number in numbers for peer in CASES[number - 1].peers}
    versions = dict.fromkeys(peer.found().version for peer in peers.values())
    if any(versions):
        print(", ".join(filter(None, versions)))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help=f"{QUICK_DIVISOR} times fewer trees and rows of data"
    )
    parser.add_argument(
        "--rows",
        type=partial(parse_rows, n_rows=len(CASES)),
        default=list(range(1, len(CASES) + 1)),
        help="these rows only, e.g. 1,4-6",
    )
    parser.add_argument(
        "--repeats", type=positive, default=3, help="runs per contender (default: 3)"
    )
    parser.add_argument("--jobs", type=positive, default=1, help="threads of each (default: 1)")
    parser.add_argument(
        "--threads", type=int, default=2, help="threads to set against one, row 7 (default: 2)"
    )
    arguments = parser.parse_args()
    if arguments.threads < 2:
        parser.error(f"--threads must be at least 2, got {arguments.threads}")
    return arguments


def main() -> int:
    arguments = parse_arguments()
    print("Dense data: equal thread counts, float32 input, medians of interleaved repeats")
    print_versions(arguments.jobs)
    print_peers(arguments.rows)
    print(
        f"   {'':20}{'seconds':>10}{'runs':>6}{'ratio':>9}{'score':>10}{'mean depth':>12}"
        f"{'ns/cell/level':>15}"
    )
    # Every row is printed, also after one that fails.
    same = [compare(number, arguments) for number in arguments.rows]
    print(
        "rows: training + held out; ratio: of the seconds to those of spinney's first line;\n"
        "score: accuracy, or R2 of a regression, on the held-out rows; mean depth: of the leaf of\n"
        "an average row of a tree's sample; cell: a row of the sample in one of the features that\n"
        "a node draws; 256 bins: not exact"
    )
    if not all(same):
        print("error: the number of threads shows in the tree", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
