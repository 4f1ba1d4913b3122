"""Make tables from a file of results: one for each script, below its command.

    python benches/tables.py [results.json] [tables.md]

A comment with the name of the script begins each part, so that a page can include the part alone.
`make peers` writes such a file, and `benches/peers/README.md` has its format. The same results give
the same page, which a test looks after.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS, TABLES = HERE / "results.json", HERE / "tables.md"
# What the tables call those that are not called by their names in the file.
NAMES = {
    "spinney": "Spinney",
    "spinney sparse": "Spinney, sparse",
    "spinney dense": "Spinney, dense",
    "sklearn sparse": "scikit-learn, sparse",
}
OURS = ("spinney", "spinney sparse")

Row = dict[str, dict[str, float]]


def write_cell(row: Row, name: str) -> str:
    """Return the seconds of a library, how many times as long as ours that is, and its score."""
    seconds = row.get("seconds", {})
    ours = next((seconds[own] for own in OURS if own in seconds), None)
    ratio = row.get("ratios", {}).get(name)
    if ratio is None and ours and name in seconds and not name.startswith("spinney"):
        ratio = seconds[name] / ours
    times = "" if ratio is None else f"{ratio:.0f}x" if ratio >= 10 else f"{ratio:.1f}x"
    if name not in seconds:
        return times
    value = seconds[name]
    written = f"{value:g} s" if value >= 0.01 else f"{value * 1e3:g} ms"
    score = row.get("scores", {}).get(name)
    return written + (f" ({times})" if times else "") + ("" if score is None else f" [{score:.3f}]")


def write_table(rows: dict[str, Row]) -> str:
    """Return a table in Markdown; the columns are all libraries that a row has, ours first."""
    names = list(dict.fromkeys(n for row in rows.values() for part in row.values() for n in part))
    names.sort(key=lambda name: name not in OURS)
    lines = [
        ["work", *(NAMES.get(name, name) for name in names)],
        ["---", *["---:"] * len(names)],
        *([work, *(write_cell(row, name) for name in names)] for work, row in rows.items()),
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write_page(results: dict) -> str:
    scripts: dict[str, dict[str, Row]] = {}
    for work, row in results["rows"].items():
        scripts.setdefault(results["scripts"][work], {})[work] = row
    parts = []
    for script, rows in scripts.items():
        parts.append(f"<!-- {script} -->")
        parts.append(f"```console\npython benches/peers/{script}\n```")
        parts.append(write_table(rows))
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    parts.append("<!-- machine -->")
    parts.append(f"Measured on: {results['processor']}; {versions}.")
    return "\n\n".join(parts) + "\n"


def main(arguments: list[str]) -> None:
    results = Path(arguments[0]) if arguments else RESULTS
    tables = Path(arguments[1]) if len(arguments) > 1 else TABLES
    read = json.loads(results.read_text(encoding="utf-8"))
    if read["format"] != 1:
        sys.exit(f"error: {results} must have format 1, got {read['format']}")
    tables.write_text(write_page(read), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
