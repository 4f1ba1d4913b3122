"""Real data: forests and single trees of ours and of other libraries on ordinary tables.

Every table of the data beside the repository, and the sparse matrices there. Categories are
ordinal codes (missing: -1), and a missing number is put below all numbers of its column, so that
every library can read the same float32 array; `--native` gives ours the categories instead.
Growth is timed, without prediction. Sets that are absent are said to be skipped.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import importlib.util
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
import scipy.sparse
import sklearn.base
import sklearn.ensemble
import sklearn.tree
from sklearn.metrics import accuracy_score, r2_score

import spinney
from common import (
    geometric_mean,
    positive,
    print_versions,
    record,
    record_timings,
    time_interleaved,
)
from data_sets import find_data

SEED = 0
ROWS = 20_000
QUICK_ROWS = 4_000
# Held-out rows, on which accuracy or R2 is measured.
MAX_TEST_ROWS = 10_000
# Trees of a forest. Fewer of all rows, as scikit-learn takes half a minute for one set.
N_TREES, N_TREES_IN_FULL, N_TREES_QUICK = 10, 2, 2
# The time that a forest takes with each of these `min_samples_split` says how much of the time
# goes into nodes of fewer rows.
LEAST_SPLITS = (2, 17, 65, 257, 1025)


@dataclass(frozen=True)
class Table:
    """A data set: `X` as codes, `frame` with its categories (`None` if there are none)."""

    X: np.ndarray | scipy.sparse.csr_matrix
    y: np.ndarray
    frame: pd.DataFrame | None = None

    @property
    def is_regression(self) -> bool:
        return self.y.dtype.kind == "f"

    def rows(self, index: np.ndarray) -> Table:
        frame = None if self.frame is None else self.frame.iloc[index]
        return Table(self.X[index], self.y[index], frame)


def table(frame: pd.DataFrame, y: np.ndarray) -> Table:
    """Encode a frame: codes for categories, and missing numbers below all others."""
    frame = frame.reset_index(drop=True)
    names = frame.select_dtypes(exclude="number").columns
    frame = frame.astype(dict.fromkeys(names, "category"))
    codes = {}
    for name, column in frame.items():
        if name in names:
            codes[name] = column.cat.codes
        else:
            codes[name] = column.fillna(column.min() - 1)
    X = np.ascontiguousarray(pd.DataFrame(codes), dtype=np.float32)
    return Table(X, y, frame if len(names) else None)


def csv(name: str, target: str, *, drop: tuple[str, ...] = (), **options) -> Table:
    frame = pd.read_csv(find_data(name), low_memory=False, **options)
    frame = frame.dropna(subset=[target])
    y = frame.pop(target)
    frame = frame.drop(columns=list(drop))
    if y.dtype.kind == "f":
        return table(frame, y.to_numpy(np.float64))
    return table(frame, pd.factorize(y, sort=True)[0])


def flights() -> Table:
    known_later = ("dep_time", "arr_time", "air_time", "dep_delay", "time_hour")
    loaded = csv("nycflights13_joined.csv.gz", "arr_delay")
    kept = [name for name in loaded.frame if name not in known_later]
    return table(loaded.frame[kept], loaded.y)


def numbers(loaded: Table) -> Table:
    """Take classes that are numbers for numbers."""
    return Table(loaded.X, loaded.y.astype(np.float64), loaded.frame)


def covertype() -> Table:
    arrays = np.load(find_data("covertype.npz"))
    return Table(np.ascontiguousarray(arrays["X"], dtype=np.float32), arrays["y"] - 1)


def sparse(stem: str, meta: str) -> Table:
    X = scipy.sparse.load_npz(find_data(f"{stem}.npz")).tocsr()
    y = np.load(find_data(f"{meta}.npz"))["y"]
    return Table(X, y.astype(np.float64 if y.dtype.kind == "f" else np.int64))


# The file of each set, and how it is read.
SETS: dict[str, tuple[str, Callable[[], Table]]] = {
    "adult": ("adult_train.csv.gz", lambda: csv("adult_train.csv.gz", "income", na_values="?")),
    "magic04": ("magic04.csv.gz", lambda: csv("magic04.csv.gz", "class")),
    "plant editing": (
        "plant_c2u_editing.csv.gz",
        lambda: csv("plant_c2u_editing.csv.gz", "edited", drop=("editing_extent", "gene")),
    ),
    "splice": ("splice.csv.gz", lambda: csv("splice.csv.gz", "Class")),
    "covertype": ("covertype.npz", covertype),
    "kddcup99": ("kddcup99_10pct.csv.gz", lambda: csv("kddcup99_10pct.csv.gz", "label")),
    "nycflights": ("nycflights13_joined.csv.gz", flights),
    "beijing air": ("beijing_air.csv.gz", lambda: csv("beijing_air.csv.gz", "PM2.5")),
    "protein": ("protein_casp.csv.gz", lambda: csv("protein_casp.csv.gz", "RMSD")),
    "diamonds": ("diamonds.csv.gz", lambda: numbers(csv("diamonds.csv.gz", "price"))),
    "california": (
        "california_housing.csv.gz",
        lambda: csv("california_housing.csv.gz", "median_house_value"),
    ),
    "ames": (
        "ames_housing.csv.gz",
        lambda: numbers(csv("ames_housing.csv.gz", "SalePrice", drop=("Order", "PID"))),
    ),
    "agaricus": ("agaricus.npz", lambda: sparse("agaricus", "agaricus_meta")),
    "20 newsgroups": (
        "news20_bydate_tfidf.npz",
        lambda: sparse("news20_bydate_tfidf", "news20_bydate_meta"),
    ),
    "hiv": ("hiv_ecfp4_counts.npz", lambda: sparse("hiv_ecfp4_counts", "hiv_meta")),
    "lipophilicity": (
        "lipophilicity_ecfp4_counts.npz",
        lambda: sparse("lipophilicity_ecfp4_counts", "lipophilicity_meta"),
    ),
}

PLANS = ("random forest", "extra trees", "one tree")


def load_numbers(name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the numbers and codes of a set as float64, and its targets; None if it is absent."""
    file, read = SETS[name]
    if not find_data(file).exists():
        print(f"skipped: {name} is not there")
        return None
    loaded = read()
    return np.asarray(loaded.X, dtype=np.float64), np.asarray(loaded.y, dtype=np.float64)


def estimator(library, plan: str, *, is_regression: bool, n_trees: int, n_jobs: int):
    """Make an estimator of `sklearn`, `spinney` or `sklearnex`; all have the same names."""
    suffix = "Regressor" if is_regression else "Classifier"
    if plan == "one tree":
        owner = library.tree if hasattr(library, "tree") else library
        return getattr(owner, "DecisionTree" + suffix)(random_state=SEED)
    kind = {"random forest": "RandomForest", "extra trees": "ExtraTrees"}[plan] + suffix
    owner = library.ensemble if hasattr(library, "ensemble") else library
    return getattr(owner, kind)(n_trees, max_features="sqrt", random_state=SEED, n_jobs=n_jobs)


@cache
def intelex():
    """scikit-learn-intelex, or `None`."""
    if importlib.util.find_spec("sklearnex") is None:
        return None
    importlib.import_module("sklearnex.ensemble")
    return importlib.import_module("sklearnex")


def contenders(
    plan: str, *, is_dense: bool, is_regression: bool, n_trees: int, n_jobs: int
) -> dict[str, object]:
    options = {"is_regression": is_regression, "n_trees": n_trees, "n_jobs": n_jobs}
    found = {
        "spinney": estimator(spinney, plan, **options),
        "scikit-learn": estimator(sklearn, plan, **options),
    }
    if plan != "one tree" and is_dense and intelex() is not None:
        found["intelex"] = estimator(intelex(), plan, **options)
    return found


def n_splits(model) -> int:
    """How many splits the trees of a model of ours have."""
    trees = getattr(model, "estimators_", [model])
    return sum(tree.tree_.node_count - tree.tree_.n_leaves for tree in trees)


def halves(data: Table, n_rows: int | None, seed: int = SEED) -> tuple[Table, Table]:
    """Training rows, at most `n_rows`, and held-out rows, in random order."""
    n = len(data.y)
    n_test = min(MAX_TEST_ROWS, n // 4)
    order = np.random.default_rng(seed).permutation(n)
    n_train = n - n_test if n_rows is None else min(n_rows, n - n_test)
    return data.rows(order[:n_train]), data.rows(order[n_train : n_train + n_test])


class Ratios:
    """The ratios of all sets, by plan and peer, for the geometric means at the end."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, str], list[float]] = {}
        # By plan and peer, those of dense tables alone.
        self.of_tables: dict[str, dict[str, list[float]]] = {}

    def add(self, plan: str, peer: str, ratio: float, is_table: bool) -> None:
        self.found.setdefault((plan, peer), []).append(ratio)
        if is_table:
            self.of_tables.setdefault(plan, {}).setdefault(peer, []).append(ratio)

    def print(self) -> None:
        print(f"\n{'':42}{'sets':>6}{'geometric mean':>16}{'worst':>8}")
        for (plan, peer), ratios in self.found.items():
            mean, worst = geometric_mean(ratios), min(ratios)
            print(f"{plan + ' against ' + peer:42}{len(ratios):>6}{mean:>16.2f}{worst:>8.2f}")
        for plan, of_peers in self.of_tables.items():
            means = {peer: geometric_mean(of_peer) for peer, of_peer in of_peers.items()}
            n_tables = max(map(len, of_peers.values()))
            record(f"{plan}, geometric mean of {n_tables} real tables", means, "ratios")


def compare(name: str, data: Table, arguments: argparse.Namespace, ratios: Ratios) -> None:
    """Print the rows of one set."""
    train, test = halves(data, arguments.rows)
    metric = r2_score if data.is_regression else accuracy_score
    is_dense = not scipy.sparse.issparse(train.X)
    kind = "number" if data.is_regression else f"{len(np.unique(data.y))} classes"
    print(f"{name}, {train.X.shape[0]} x {train.X.shape[1]}, {kind}")
    for plan in arguments.plans:
        models = contenders(
            plan,
            is_dense=is_dense,
            is_regression=data.is_regression,
            n_trees=arguments.trees,
            n_jobs=arguments.jobs,
        )
        runs = {peer: lambda m=model: m.fit(train.X, train.y) for peer, model in models.items()}
        tests = dict.fromkeys(models, test.X)
        if arguments.native and train.frame is not None:
            native = sklearn.base.clone(models["spinney"])
            native.set_params(categorical_features="from_dtype")
            runs["categories"] = lambda m=native: m.fit(train.frame, train.y)
            tests["categories"] = test.frame
        timings = time_interleaved(runs, arguments.repeats)
        of = "" if plan == "one tree" else f" of {arguments.trees}"
        scores = {
            peer: metric(test.y, timing.model.predict(tests[peer]))
            for peer, timing in timings.items()
        }
        record_timings(f"{plan}{of}, {name}, {len(train.y)} rows", timings, scores)
        ours = timings["spinney"]
        for peer, timing in timings.items():
            cells = f"   {plan:15}{peer:14}{timing.median:>9.4f}{scores[peer]:>8.3f}"
            if peer == "spinney":
                splits = n_splits(timing.model)
                cells += f"{'':8}{splits:>10}{timing.median * 1e6 / splits:>9.2f}"
            else:
                ratio = timing.median / ours.median
                cells += f"{ratio:>8.2f}"
                ratios.add(plan, peer, ratio, is_dense)
            print(cells, flush=True)


def by_size(name: str, data: Table, arguments: argparse.Namespace, ratios: Ratios) -> None:
    """Print which share of the time of our fits goes into nodes of how many rows.

    Subtrees of at most 64 rows are what a least split of 65 saves. Printed are what they cost for
    each of their splits, the ratio to scikit-learn, and what it would be if they cost nothing.
    """
    train, _ = halves(data, arguments.rows)
    options = {
        "is_regression": data.is_regression,
        "n_trees": arguments.trees,
        "n_jobs": arguments.jobs,
    }
    for plan in arguments.plans:
        models = {"scikit-learn": estimator(sklearn, plan, **options)}
        for least in LEAST_SPLITS:
            models[str(least)] = estimator(spinney, plan, **options).set_params(
                min_samples_split=least
            )
        runs = {key: lambda m=model: m.fit(train.X, train.y) for key, model in models.items()}
        timings = time_interleaved(runs, arguments.repeats)
        medians = {key: timing.median for key, timing in timings.items()}
        seconds = [medians[str(least)] for least in LEAST_SPLITS]
        ends = [*seconds[1:], 0.0]
        shares = [before - after for before, after in zip(seconds, ends, strict=True)]
        cells = "".join(f"{100 * share / seconds[0]:>10.0f}" for share in shares)
        of_small = medians["2"] - medians["65"]
        n_small = max(n_splits(models["2"]) - n_splits(models["65"]), 1)
        cells += f"{1e9 * of_small / n_small:>10.0f}"
        for peer, key in (("scikit-learn", "2"), ("scikit-learn, free", "65")):
            ratio = medians["scikit-learn"] / medians[key]
            ratios.add(plan, peer, ratio, is_table=False)
            cells += f"{ratio:>8.1f}"
        print(f"{name:16}{plan:15}{seconds[0]:>9.4f}{cells}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=positive, default=ROWS, help=f"rows (default: {ROWS})")
    parser.add_argument("--full", action="store_true", help="all rows")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS} rows, one run")
    parser.add_argument("--jobs", type=positive, default=1, help="threads (default: 1)")
    parser.add_argument("--trees", type=positive, help="trees of a forest")
    parser.add_argument("--repeats", type=positive, default=3, help="runs of each (default: 3)")
    parser.add_argument("--plans", nargs="+", choices=PLANS, default=PLANS)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=tuple(SETS), metavar="SET")
    parser.add_argument("--native", action="store_true", help="ours with categories, too")
    parser.add_argument("--by-size", action="store_true", help="where the time goes instead")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    default_trees = N_TREES
    if arguments.full:
        arguments.rows, arguments.repeats, default_trees = None, 1, N_TREES_IN_FULL
    if arguments.quick:
        arguments.rows, arguments.repeats, default_trees = QUICK_ROWS, 1, N_TREES_QUICK
    arguments.trees = arguments.trees or default_trees

    print_versions(arguments.jobs)
    if intelex() is None:
        print("scikit-learn-intelex is not there")
    else:
        print(f"scikit-learn-intelex {importlib.metadata.version('scikit-learn-intelex')}")
    print(f"forests of {arguments.trees} trees, square-root features; seconds of a fit\n")
    if arguments.by_size:
        heads = ("2-16", "17-64", "65-256", "257-1024", "above")
        heads = "".join(f"{head:>10}" for head in (*heads, "ns/split"))
        print(f"{'rows of a node, % of the time':31}{'s':>9}{heads}{'ratio':>8}{'free':>8}")
    else:
        heads = f"{'s':>9}{'score':>8}{'ratio':>8}{'splits':>10}{'us/split':>9}"
        print(f"{'':32}{heads}")
    ratios = Ratios()
    for name in arguments.sets:
        file, load = SETS[name]
        if not find_data(file).exists():
            print(f"{name}: skipped, {file} is not there")
            continue
        data = load()
        if arguments.by_size:
            by_size(name, data, arguments, ratios)
        else:
            compare(name, data, arguments, ratios)
    if ratios.found:
        ratios.print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
