"""Which forest: forests of ours beside scikit-learn's and beside boosting, on eight real tables.

    python benches/peers/which.py [--quick] [--sets adult magic04 ...] [--out FILE]

All libraries have default parameters and one thread. Printed are thousands of training rows a
second and of rows predicted a second (the held-out rows, in one batch), kilobytes of the model
file, and accuracy or R2 of held-out rows, and the AUC of two classes. Libraries that take
categories get a data frame that has them; others get codes. `--out` writes a file, of which
`benches/papers/report.py` makes tables; rows of sets that are not measured again stay in it. What
is not installed is said to be skipped.
"""

from __future__ import annotations

import argparse
import importlib
import json
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import threadpoolctl
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score

from common import (
    describe_run,
    geometric_mean,
    is_there,
    positive,
    print_versions,
    time_interleaved,
    write_results,
)
from data_sets import find_data
from real import QUICK_ROWS, ROWS, SEED, SETS, Table, halves

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
# A fit that takes longer is not repeated: CatBoost's take minutes.
SLOW_SECONDS = 10.0

FIT, PREDICT = "Training rows a second, thousands", "Rows predicted a second, thousands"
FILE = "Model file, kB"
SCORE, AUC = "Accuracy or R2", "AUC"
NOTES = {
    FIT: "More is better. Of a set: its name, training rows x columns, and what is predicted.",
    PREDICT: "More is better. All held-out rows are predicted in one call.",
    FILE: "Less is better. `save` of Spinney, joblib of scikit-learn, own formats of the others.",
    SCORE: "On held-out rows; more is better. Accuracy of classes, R2 of numbers.",
    AUC: "On held-out rows; more is better. Sets of two classes.",
}
MEAN = "geometric mean"


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


def find_categories(X: Any) -> list[str]:
    """Return the names of the columns of a frame that are not numbers."""
    return [] if isinstance(X, np.ndarray) else list(X.select_dtypes(exclude="number"))


@dataclass(frozen=True)
class Contender:
    """The class of a library, without its ending; its data, its parameters and its file."""

    module: str
    stem: str
    take: Callable[[Table], Any]
    options: dict[str, Any]
    save: Callable[[Any, str], object]

    def make(self, suffix: str, X: Any) -> Any:
        options = dict(self.options)
        if self.module == "catboost":
            options["cat_features"] = find_categories(X)
        return getattr(importlib.import_module(self.module), self.stem + suffix)(**options)


OURS = {"categorical_features": "from_dtype", "random_state": SEED, "n_jobs": 1}
CONTENDERS = {
    "Spinney, random forest": Contender(
        "spinney", "RandomForest", as_is, OURS, lambda model, path: model.save(path)
    ),
    "Spinney, extra trees": Contender(
        "spinney", "ExtraTrees", as_is, OURS, lambda model, path: model.save(path)
    ),
    "scikit-learn, random forest": Contender(
        "sklearn.ensemble",
        "RandomForest",
        as_codes,
        {"random_state": SEED, "n_jobs": 1},
        joblib.dump,
    ),
    "scikit-learn, histogram boosting": Contender(
        "sklearn.ensemble",
        "HistGradientBoosting",
        as_is,
        {"random_state": SEED},
        joblib.dump,
    ),
    "LightGBM": Contender(
        "lightgbm",
        "LGBM",
        as_is,
        {"random_state": SEED, "n_jobs": 1, "verbose": -1},
        lambda model, path: model.booster_.save_model(path),
    ),
    "XGBoost": Contender(
        "xgboost",
        "XGB",
        as_is,
        {"random_state": SEED, "n_jobs": 1, "enable_categorical": True},
        lambda model, path: model.save_model(path + ".ubj"),
    ),
    "CatBoost": Contender(
        "catboost",
        "CatBoost",
        with_strings,
        {"random_state": SEED, "thread_count": 1, "verbose": 0, "allow_writing_files": False},
        lambda model, path: model.save_model(path),
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


def measure(data: Table, arguments: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Return the numbers of each table of results by contender."""
    train, test = halves(data, arguments.rows)
    suffix = "Regressor" if data.is_regression else "Classifier"
    has_auc = not data.is_regression and data.y.max() == 1
    fits, predictions, asked = {}, {}, {}
    contenders = {name: own for name, own in CONTENDERS.items() if is_there(own.module)}
    for name, contender in contenders.items():
        X, asked[name] = contender.take(train), contender.take(test)
        fits[name] = partial(contender.make(suffix, X).fit, X, train.y)
    fitted = time_interleaved(fits, arguments.repeats, SLOW_SECONDS)
    models = {name: timing.model for name, timing in fitted.items()}
    for name, model in models.items():
        model.predict(asked[name])
        predictions[name] = partial(model.predict, asked[name])
    predicted = time_interleaved(predictions, arguments.repeats)
    found: dict[str, dict[str, float]] = {FIT: {}, PREDICT: {}, FILE: {}, SCORE: {}}
    if has_auc:
        found[AUC] = {}
    metric = r2_score if data.is_regression else accuracy_score
    for name, model in models.items():
        found[FIT][name] = round_figures(len(train.y) / fitted[name].median / 1e3)
        found[PREDICT][name] = round_figures(len(test.y) / predicted[name].median / 1e3)
        found[FILE][name] = round_figures(count_bytes(contenders[name], model) / 1e3)
        found[SCORE][name] = round(metric(test.y, np.ravel(predicted[name].model)), 4)
        if has_auc:
            shares = model.predict_proba(asked[name])[:, 1]
            found[AUC][name] = round(roc_auc_score(test.y, shares), 4)
    return found


def describe(name: str, data: Table, n_rows: int) -> str:
    train, _ = halves(data, n_rows)
    kind = "a number" if data.is_regression else f"{data.y.max() + 1} classes"
    return f"{name}, {len(train.y):,} x {train.X.shape[1]}, {kind}"


def print_set(name: str, found: dict[str, dict[str, float]]) -> None:
    print(f"\n{name}")
    titles = {FIT: "fit k/s", PREDICT: "predict k/s", FILE: "kB", SCORE: "score", AUC: "AUC"}
    print(f"{'':34}" + "".join(f"{titles[title]:>12}" for title in found))
    for contender in found[FIT]:
        cells = "".join(f"{numbers[contender]:>12,}" for numbers in found.values())
        print(f"{contender:34}{cells}", flush=True)


def merge(old: list[dict[str, Any]], found: dict[str, dict[str, dict[str, float]]]):
    """Return tables with a row for each set, and with means: of `old`, and of what was found."""
    tables = []
    for title, note in NOTES.items():
        rows: dict[str, dict[str, float]] = {}
        for table in old:
            if table["title"] == title:
                names = table["head"][1:]
                rows |= {row[0]: dict(zip(names, row[1:], strict=True)) for row in table["rows"]}
        rows.pop(MEAN, None)
        rows |= {name: numbers[title] for name, numbers in found.items() if title in numbers}
        order = [n for stem in TABLES for n in rows if n.split(",")[0] == stem]
        names = [name for name in CONTENDERS if all(name in rows[n] for n in order)]
        cells = [[name, *(rows[name][who] for who in names)] for name in order]
        if title in (FIT, PREDICT, FILE) and order:
            means = (geometric_mean([rows[name][who] for name in order]) for who in names)
            cells.append([MEAN, *map(round_figures, means)])
        tables.append({"title": title, "head": ["table", *names], "rows": cells, "note": note})
    return tables


def write(path: Path, found: dict[str, dict[str, dict[str, float]]]) -> None:
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
    parser.add_argument("--repeats", type=positive, default=3, help="runs of each (default: 3)")
    parser.add_argument("--sets", nargs="+", choices=TABLES, default=TABLES, metavar="SET")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS} rows, one run")
    parser.add_argument("--out", type=Path, help="file of results to write")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rows, arguments.repeats = QUICK_ROWS, 1
    warnings.simplefilter("ignore")
    print_versions()
    found = {}
    for name in arguments.sets:
        file, read = SETS[name]
        if not find_data(file).exists():
            print(f"{name}: skipped, {file} is not there")
            continue
        data = read()
        title = describe(name, data, arguments.rows)
        with threadpoolctl.threadpool_limits(1):
            found[title] = measure(data, arguments)
        print_set(title, found[title])
    if arguments.out is not None:
        write(arguments.out, found)


if __name__ == "__main__":
    main()
