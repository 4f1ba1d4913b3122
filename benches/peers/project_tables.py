"""The tables of `project.py`, and how they are written: `python benches/peers/project_tables.py`.

Without arguments it prints those of the committed results, as docs/project.md has them.
"""

from __future__ import annotations

import json
import statistics
import sys
from itertools import zip_longest
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "project.json"
SIDES = {"scikit-learn": "project_before.py", "Spinney": "project_after.py"}
FORESTS = {
    "scikit-learn": "sklearn.ensemble.RandomForestRegressor",
    "Spinney": "spinney.RandomForestRegressor",
}
# Boosted models: their classes, and what they are told.
BOOSTING: dict[str, dict[str, Any]] = {
    "spinney.GradientBoostingRegressor": {"categorical_features": "from_dtype"},
    "spinney.HistGradientBoostingRegressor": {},
    "sklearn.ensemble.HistGradientBoostingRegressor": {},
    "lightgbm.LGBMRegressor": {"n_jobs": 1, "verbose": -1},
}
# What a side is measured by, with its unit.
STEPS = {
    "read the table": "s",
    "encode it once": "s",
    "grid search": "s",
    "predict the held-out houses": "s",
    "intervals of the held-out houses": "s",
    "importances of all columns": "s",
    "explain one house": "s",
    "effect of a deck": "s",
    "save the model": "s",
    "load it, predict one house": "s",
    "all steps": "s",
}
# Steps for which the first side needs a package beside scikit-learn.
OPTIONAL = {"explain one house": "shap", "effect of a deck": "econml"}
SCORES = {"R2": "", "mean error": "$", "one fit": "s", "model file": "bytes"}
SIZES = {
    "R2, held-out houses": ("r2", ""),
    "held-out prices in intervals of 90 %": ("inside", ""),
    "median width of these intervals": ("width", "$"),
    "with a deck, prices are higher by": ("difference", "$"),
    "a deck adds to the price": ("effect", "$"),
    "standard error of that": ("effect_error", "$"),
    "model file": ("bytes", "bytes"),
    "memory": ("memory", "bytes"),
}
N_NAMED = 5


def count_lines(file: Path) -> int:
    """Return the number of lines of code: without empty lines, comments and docstrings."""
    lines = map(str.strip, file.read_text(encoding="utf-8").splitlines())
    return sum(bool(line) and not line.startswith(("#", '"""')) for line in lines)


def make_tables(runs: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the tables: steps, sizes, scores, the most important columns, and one price."""

    def median(name: str, key: str, step: str | None = None) -> float | None:
        values = [run[key] if step is None else run[key].get(step) for run in runs[name]]
        return None if None in values else float(f"{statistics.median(values):.4g}")

    steps = [[step, u, *(median(s, "seconds", step) for s in SIDES)] for step, u in STEPS.items()]
    sizes: list[list[Any]] = [
        [name, unit, *(median(side, key) for side in SIDES)] for name, (key, unit) in SIZES.items()
    ]
    sizes.append(["lines of code", "", *(count_lines(HERE / file) for file in SIDES.values())])
    keys = ("r2", "error", "fit", "bytes")
    scores = [[FORESTS.get(name, name), *(median(name, key) for key in keys)] for name in runs]
    first = {side: runs[side][0] for side in SIDES}
    important = [list(run["importances"].items())[:N_NAMED] for run in first.values()]
    adding = [run["contributions"] or [] for run in first.values()]
    one_house = rank(adding, "{} {:+,.0f}")
    one_house += [
        [key, *(f"{run['first_house'][key]:,.0f}" for run in first.values())]
        for key in ("prediction", "price")
    ]
    return [
        {"title": "steps", "head": ["", "unit", *SIDES], "rows": steps},
        {"title": "sizes", "head": ["", "unit", *SIDES], "rows": sizes},
        {"title": "scores", "head": ["", *SCORES], "rows": scores},
        {"title": "importances", "head": ["", *SIDES], "rows": rank(important, "{} {:.3f}")},
        {"title": "one house", "head": ["", *SIDES], "rows": one_house},
    ]


def rank(named: list[list[tuple[str, float]]], form: str) -> list[list[str | None]]:
    """Return rows of what comes first, second and so on of each side."""
    rows = zip_longest(*named)
    return [
        [str(number), *(item and form.format(*item) for item in row)]
        for number, row in enumerate(rows, 1)
    ]


def write_value(value: Any, unit: str) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if unit == "bytes":
        return f"{value / 1e6:.1f}" if value >= 1e6 else f"{value / 1e6:.2f}"
    if unit == "$":
        return f"{value:,.0f}"
    if unit == "s":
        return f"{value:.2f}" if value < 10 else f"{value:.1f}"
    return f"{value:.3f}" if value < 1 else f"{value:g}"


def write_table(table: dict[str, Any]) -> str:
    """Return a table as Markdown, with units in the names of rows or columns."""
    words = {"bytes": ", MB", "$": ", $", "s": ", seconds", "": ""}
    head, rows = table["head"], table["rows"]
    if "unit" in head:
        head = [name for name in head if name != "unit"]
        rows = [[n + words[u], *(write_value(v, u) for v in values)] for n, u, *values in rows]
    else:
        units = [SCORES.get(name, "") for name in head]
        rows = [[write_value(v, u) for v, u in zip(row, units, strict=True)] for row in rows]
        head = [name + words[unit] for name, unit in zip(head, units, strict=True)]
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main(file: Path) -> None:
    for table in json.loads(file.read_text(encoding="utf-8"))["tables"]:
        print(write_table(table), end="\n\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS)
