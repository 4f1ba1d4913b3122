"""The tables of `project.py`, and how they are written: `python benches/peers/project_tables.py`.

Without arguments it prints those of the committed results, as docs/project.md has them.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "project.json"
SIDES = {"scikit-learn": "project_before.py", "Spinney": "project_after.py"}
# What a side is measured by, with its unit.
STEPS = {
    "read the table": "s",
    "encode it once": "s",
    "grid search": "s",
    "predict the held-out houses": "s",
    "importances of all columns": "s",
    "save the model": "s",
    "load it, predict one house": "s",
    "all steps": "s",
}
SCORES = {"R2": "", "mean error": "$", "one fit": "s", "model file": "bytes"}
SIZES = {"R2, held-out houses": "", "model file": "bytes", "memory": "bytes", "lines of code": ""}
N_NAMED = 5


def count_lines(file: Path) -> int:
    """Return the number of lines of code: without empty lines, comments and docstrings."""
    lines = map(str.strip, file.read_text(encoding="utf-8").splitlines())
    return sum(bool(line) and not line.startswith(("#", '"""')) for line in lines)


def make_tables(runs: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the tables: steps, sizes, scores, and the most important columns."""

    def median(name: str, key: str, step: str | None = None) -> float | None:
        values = [run[key] if step is None else run[key].get(step) for run in runs[name]]
        return None if None in values else float(f"{statistics.median(values):.4g}")

    steps = [[step, u, *(median(s, "seconds", step) for s in SIDES)] for step, u in STEPS.items()]
    lines = [count_lines(HERE / file) for file in SIDES.values()]
    of_sides = [[median(side, key) for side in SIDES] for key in ("r2", "bytes", "memory")]
    sizes = [
        [name, unit, *values]
        for (name, unit), values in zip(SIZES.items(), [*of_sides, lines], strict=True)
    ]
    keys = ("r2", "error", "fit", "bytes")
    scores = [[name, *(median(name, key) for key in keys)] for name in runs]
    named = [list(runs[side][0]["importances"].items())[:N_NAMED] for side in SIDES]
    important = [
        [str(number), *(f"{name} {loss:.3f}" for name, loss in row)]
        for number, row in enumerate(zip(*named, strict=True), 1)
    ]
    return [
        {"title": "steps", "head": ["", "unit", *SIDES], "rows": steps},
        {"title": "sizes", "head": ["", "unit", *SIDES], "rows": sizes},
        {"title": "scores", "head": ["", *SCORES], "rows": scores},
        {"title": "importances", "head": ["", *SIDES], "rows": important},
    ]


def write_value(value: Any, unit: str) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if unit == "bytes":
        return f"{value / 1e6:.1f}"
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
