"""Which forest: forests and boosting of ours beside those of other libraries, on real data.

    python benches/peers/which.py [--quick] [--sets adult magic04 ...] [--seeds 5] [--out FILE]

Eight tables, and three sets of other kinds: text, fingerprints and a table of many categories. All
libraries have default parameters and one thread. Each seed draws other rows to train on and to hold
out. Printed are thousands of training rows a second and of rows predicted a second (the held-out
rows, in one batch), kilobytes of the model file, medians of the seeds; and accuracy or R2 of
held-out rows, and the AUC of two classes, means of the seeds with their standard deviation. Seconds
are those of the processor, which other work on the machine disturbs less. Libraries that take
categories get a data frame that has them; others get codes. `--out` writes a file after each set,
of which `benches/papers/report.py` makes tables; rows of sets that are not measured again stay in
it. What is not installed is said to be skipped.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp
import threadpoolctl
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score

from common import (
    describe_run,
    geometric_mean,
    is_there,
    positive,
    print_versions,
    processor_seconds,
    write_results,
)
from data_sets import find_data
from real import QUICK_ROWS, SETS, Table, halves

TABLES = (
    "adult",
    "magic04",
    "plant editing",
    "covertype",
    "diamonds",
    "protein",
    "california",
    "ames",
)
# Of which means are not: sparse text and fingerprints, and aircraft and airports as categories.
OTHERS = ("20 newsgroups", "hiv", "nycflights")
# Of a column, by scikit-learn's histogram boosting.
MOST_CATEGORIES = 255
# Training rows that are taken at most: five fits of CatBoost's 1,000 rounds take long, and boosting
# of 20 classes grows 2,000 trees.
ROWS = 4_000
FEWER_ROWS = {"20 newsgroups": 2_000}
SEEDS = 5

FIT, PREDICT = "Training rows a second, thousands", "Rows predicted a second, thousands"
FILE = "Model file, kB"
SCORE, AUC = "Accuracy or R2", "AUC"
NOTES = {
    FIT: "More is better. Of a set: its name, training rows x columns, and what is predicted. "
    "Seconds are those of the processor; means are of the tables above them.",
    PREDICT: "More is better. All held-out rows are predicted in one call.",
    FILE: "Less is better. `save` of Spinney, joblib of scikit-learn, own formats of the others.",
    SCORE: "On held-out rows; more is better. Accuracy of classes, R2 of numbers: mean of five "
    "splits ± their standard deviation. Ranks are of the tables above them; 1 is best.",
    AUC: "On held-out rows; more is better. Sets of two classes.",
}
MEAN, RANK = "geometric mean", "mean rank"
SPREAD, ABSENT = " ± ", "–"


def as_is(data: Table) -> Any:
    """Return the data frame, or the array of a table that has no categories."""
    return data.X if data.frame is None else data.frame


def as_codes(data: Table) -> np.ndarray:
    return data.X


def with_strings(data: Table) -> Any:
    """Return the frame, with strings for categories, and one for a missing category."""
    if data.frame is None:
        return data.X
    names = find_categories(data.frame)
    return data.frame.assign(
        **{name: data.frame[name].astype(object).fillna("").astype(str) for name in names}
    )


def with_few_categories(data: Table) -> Any:
    """Return the frame, with codes in columns of more categories than scikit-learn takes."""
    X = as_is(data)
    many = [name for name in find_categories(X) if len(X[name].cat.categories) > MOST_CATEGORIES]
    return X.assign(**{name: X[name].cat.codes for name in many}) if many else X


def find_categories(X: Any) -> list[str]:
    """Return the names of the columns of a frame that are not numbers."""
    return list(X.select_dtypes(exclude="number")) if hasattr(X, "columns") else []


@dataclass(frozen=True)
class Contender:
    """The class of a library, without its ending; its data, its parameters and its file."""

    module: str
    stem: str
    take: Callable[[Table], Any]
    options: dict[str, Any]
    save: Callable[[Any, str], object]
    # How `predict` takes one thread, if the model does not have it.
    at_prediction: dict[str, int] = field(default_factory=dict)
    takes_sparse: bool = True

    def make(self, suffix: str, X: Any, seed: int) -> Any:
        options = {"random_state": seed, **self.options}
        if self.module == "catboost":
            options["cat_features"] = find_categories(X)
        return getattr(importlib.import_module(self.module), self.stem + suffix)(**options)


OURS = {"categorical_features": "from_dtype", "n_jobs": 1}


def of_ours(stem: str) -> Contender:
    return Contender("spinney", stem, as_is, OURS, lambda model, path: model.save(path))


CONTENDERS = {
    "Spinney, random forest": of_ours("RandomForest"),
    "Spinney, extra trees": of_ours("ExtraTrees"),
    "Spinney, boosting": of_ours("GradientBoosting"),
    "Spinney, histogram boosting": of_ours("HistGradientBoosting"),
    "scikit-learn, random forest": Contender(
        "sklearn.ensemble", "RandomForest", as_codes, {"n_jobs": 1}, joblib.dump
    ),
    "scikit-learn, histogram boosting": Contender(
        "sklearn.ensemble",
        "HistGradientBoosting",
        with_few_categories,
        {},
        joblib.dump,
        takes_sparse=False,
    ),
    "LightGBM": Contender(
        "lightgbm",
        "LGBM",
        as_is,
        {"n_jobs": 1, "verbose": -1},
        lambda model, path: model.booster_.save_model(path),
    ),
    "XGBoost": Contender(
        "xgboost",
        "XGB",
        as_is,
        {"n_jobs": 1, "enable_categorical": True},
        lambda model, path: model.save_model(path + ".ubj"),
    ),
    # Its 1,000 rounds over ten thousand sparse columns take longer than everything else together.
    "CatBoost": Contender(
        "catboost",
        "CatBoost",
        with_strings,
        {"thread_count": 1, "verbose": 0, "allow_writing_files": False},
        lambda model, path: model.save_model(path),
        {"thread_count": 1},
        takes_sparse=False,
    ),
}


def count_bytes(contender: Contender, model: Any) -> int:
    with tempfile.TemporaryDirectory() as folder:
        contender.save(model, str(Path(folder) / "model"))
        return sum(path.stat().st_size for path in Path(folder).iterdir())


def round_figures(number: float) -> float:
    """Return a number of three figures, an int if it has no decimals then."""
    rounded = float(f"{number:.3g}")
    return int(rounded) if rounded >= 100 else rounded


def measure_once(
    contender: Contender, train: Table, test: Table, seed: int, found: dict[str, list[float]]
) -> None:
    """Fit and predict once, and append the numbers to those of the seeds before."""
    suffix = "Regressor" if train.is_regression else "Classifier"
    X, asked = contender.take(train), contender.take(test)
    model = contender.make(suffix, X, seed)
    fitted = processor_seconds(lambda: model.fit(X, train.y))
    # The first call may lay out what the next ones read.
    model.predict(asked, **contender.at_prediction)
    predicted = processor_seconds(lambda: model.predict(asked, **contender.at_prediction))
    y = np.ravel(model.predict(asked, **contender.at_prediction))
    metric = r2_score if train.is_regression else accuracy_score
    numbers = {
        FIT: len(train.y) / fitted / 1e3,
        PREDICT: len(test.y) / predicted / 1e3,
        FILE: count_bytes(contender, model) / 1e3,
        SCORE: metric(test.y, y),
    }
    if not train.is_regression and train.y.max() == 1:
        numbers[AUC] = roc_auc_score(test.y, model.predict_proba(asked)[:, 1])
    for title, number in numbers.items():
        found.setdefault(title, []).append(number)


def summarize(title: str, numbers: list[float]) -> float | str:
    """Return the median of speeds and sizes, and the mean of scores with their spread."""
    if title not in (SCORE, AUC):
        return round_figures(statistics.median(numbers))
    spread = statistics.stdev(numbers) if len(numbers) > 1 else 0.0
    return f"{statistics.fmean(numbers):.4f}{SPREAD}{spread:.4f}"


def measure(data: Table, n_rows: int, n_seeds: int) -> dict[str, dict[str, float | str]]:
    """Return the cells of each table of results by contender."""
    contenders = {name: own for name, own in CONTENDERS.items() if is_there(own.module)}
    numbers: dict[str, dict[str, list[float]]] = {name: {} for name in contenders}
    for seed in range(n_seeds):
        train, test = halves(data, n_rows, seed)
        for name, contender in contenders.items():
            if contender.takes_sparse or not sp.issparse(data.X):
                measure_once(contender, train, test, seed, numbers[name])
    titles = [title for title in NOTES if any(title in own for own in numbers.values())]
    return {
        title: {
            name: summarize(title, own[title]) if title in own else ABSENT
            for name, own in numbers.items()
        }
        for title in titles
    }


def describe(name: str, data: Table, n_rows: int) -> str:
    train, _ = halves(data, n_rows)
    kind = "a number" if data.is_regression else f"{data.y.max() + 1} classes"
    return f"{name}, {len(train.y):,} x {train.X.shape[1]}, {kind}"


def print_set(name: str, found: dict[str, dict[str, float | str]]) -> None:
    print(f"\n{name}")
    titles = {FIT: "fit k/s", PREDICT: "predict k/s", FILE: "kB", SCORE: "score", AUC: "AUC"}
    print(f"{'':34}" + "".join(f"{titles[title]:>17}" for title in found))
    for contender in found[FIT]:
        cells = "".join(f"{numbers[contender]:>17}" for numbers in found.values())
        print(f"{contender:34}{cells}", flush=True)


def rank(cells: list[list[Any]]) -> list[float]:
    """Return the mean rank of each column; 1 is the highest of a row."""
    means = [[float(cell.split(SPREAD)[0]) for cell in row[1:]] for row in cells]
    ranks = [[1 + sum(b > a for b in row) for a in row] for row in means]
    return [round(statistics.fmean(column), 1) for column in zip(*ranks, strict=True)]


def merge(
    old: list[dict[str, Any]], found: dict[str, dict[str, dict[str, float | str]]]
) -> list[dict[str, Any]]:
    """Return tables with a row for each set, and with means: of `old`, and of what was found."""
    tables = []
    for title, note in NOTES.items():
        rows: dict[str, dict[str, float | str]] = {}
        for table in old:
            if table["title"] == title:
                names = table["head"][1:]
                rows |= {row[0]: dict(zip(names, row[1:], strict=True)) for row in table["rows"]}
        rows |= {name: numbers[title] for name, numbers in found.items() if title in numbers}

        def take(stems: tuple[str, ...], rows: dict[str, dict[str, float | str]] = rows):
            order = [n for stem in stems for n in rows if n.split(",")[0] == stem]
            return [[name, *(rows[name].get(who, ABSENT) for who in CONTENDERS)] for name in order]

        cells = take(TABLES)
        if cells and title in (FIT, PREDICT, FILE):
            columns = list(zip(*cells, strict=True))[1:]
            cells.append([MEAN, *(round_figures(geometric_mean(list(own))) for own in columns)])
        elif cells and title == SCORE:
            cells.append([RANK, *rank(cells)])
        cells += take(OTHERS)
        tables.append({"title": title, "head": ["table", *CONTENDERS], "rows": cells, "note": note})
    return tables


def write(path: Path, found: dict[str, dict[str, dict[str, float | str]]]) -> None:
    """Write the file of results, in the format of `benches/papers`."""
    old = json.loads(path.read_text(encoding="utf-8"))["tables"] if path.exists() else []
    measured = {CONTENDERS[name].module for numbers in found.values() for name in numbers[FIT]}
    others = [module for module in ("lightgbm", "xgboost", "catboost") if module in measured]
    versions = {module: importlib.import_module(module).__version__ for module in others}
    run = describe_run("python benches/peers/which.py", versions)
    tables = merge(old, found)
    write_results(path, {"title": "Which forest", **run, "tables": tables, "plots": []})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=positive, default=ROWS, help=f"rows (default: {ROWS})")
    parser.add_argument("--seeds", type=positive, default=SEEDS, help=f"splits (default: {SEEDS})")
    every = TABLES + OTHERS
    parser.add_argument("--sets", nargs="+", choices=every, default=every, metavar="SET")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS} rows, one split")
    parser.add_argument("--out", type=Path, help="file of results to write")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rows, arguments.seeds = QUICK_ROWS, 1
    warnings.simplefilter("ignore")
    print_versions()
    found = {}
    for name in arguments.sets:
        file, read = SETS[name]
        if not find_data(file).exists():
            print(f"{name}: skipped, {file} is not there")
            continue
        data = read()
        n_rows = min(arguments.rows, FEWER_ROWS.get(name, arguments.rows))
        title = describe(name, data, n_rows)
        with threadpoolctl.threadpool_limits(1):
            found[title] = measure(data, n_rows, arguments.seeds)
        print_set(title, found[title])
        if arguments.out is not None:
            write(arguments.out, found)


if __name__ == "__main__":
    main()
