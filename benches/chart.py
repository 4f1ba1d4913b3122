"""Draw the chart of README from a file of results: how many times as long other libraries take.

    python benches/chart.py [results.json] [chart.svg]

`make peers` writes such a file, and `benches/peers/README.md` has its format. The chart is written
as text, so that the same results give the same file. Works that the file lacks are left out.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.json"
CHART = HERE.parent / "docs" / "benchmarks.svg"

_RANDOM_FOREST = "random forest of 100, bootstrap, square-root features; "

# What is shown: a heading, and for each row the key of the work and what the chart calls it.
PANELS = (
    (
        "Sparse data",
        (
            ("one tree, random 100000 x 1000, density 0.01", "one tree, random, 1 % nonzero"),
            ("one tree, 20 Newsgroups", "one tree, 20 Newsgroups"),
            ("random forest of 100, HIV, fingerprint counts", "random forest, HIV fingerprints"),
            ("random forest of 100, 20 Newsgroups, TF-IDF", "random forest, 20 Newsgroups"),
            ("extra trees of 100, 20 Newsgroups, TF-IDF", "extra trees, 20 Newsgroups"),
        ),
    ),
    (
        "Dense data",
        (
            (
                "one tree, all features; make_classification, 100000 x 30",
                "one tree, 100,000 x 30",
            ),
            (
                _RANDOM_FOREST + "make_classification, 100000 x 30",
                "random forest, 100,000 x 30",
            ),
            (
                "regression forest of 20, bootstrap, all features; friedman1, 50000 x 10",
                "regression forest, 50,000 x 10",
            ),
            (
                "random forest of 20, bootstrap, square-root features; covertype, 464809 x 54",
                "random forest, covertype",
            ),
            ("random forest, geometric mean of 12 real tables", "random forest, 12 real tables"),
            ("extra trees, geometric mean of 12 real tables", "extra trees, 12 real tables"),
        ),
    ),
)
# The libraries, by their names in the file, and their colours.
OURS = ("spinney", "spinney sparse")
PEERS = (
    (("scikit-learn", "sklearn sparse"), "scikit-learn", "#e69f00"),
    (("intelex", "intelex, 256 bins"), "intelex (256 bins)", "#56b4e9"),
    (("YDF",), "YDF", "#009e73"),
    (("ranger",), "ranger", "#cc79a7"),
)

WIDTH, LEFT, RIGHT = 860, 250, 150
BAR, ROW_GAP, PANEL_GAP, TOP = 14, 10, 34, 74
LARGEST = 100


class Bar(NamedTuple):
    """How long a library takes: compared with ours, and in seconds, if these are known."""

    ratio: float
    seconds: float | None
    ours: float


def read_bars(row: dict[str, dict[str, float]]) -> dict[str, Bar]:
    """Return the bar of each library that a row has."""
    seconds = row.get("seconds", {})
    ours = next((seconds[name] for name in OURS if name in seconds), math.nan)
    ratios = {name: value / ours for name, value in seconds.items()} | row.get("ratios", {})
    return {
        title: Bar(ratios[name], seconds.get(name), ours)
        for names, title, _ in PEERS
        for name in names
        if name in ratios
    }


def format_seconds(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"


def place(ratio: float) -> float:
    """Return the x of a ratio, on a logarithmic scale that begins at 1."""
    share = math.log(max(ratio, 1.0)) / math.log(LARGEST)
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def write_text(x: float, y: float, content: str, **style: str | int) -> str:
    attributes = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in style.items())
    return f'<text x="{x:.1f}" y="{y:.1f}"{attributes}>{escape(content)}</text>'


def draw(rows: dict[str, dict[str, dict[str, float]]]) -> str:
    """Return the chart as SVG."""
    colors = {title: color for _, title, color in PEERS}
    parts, y = [], float(TOP)
    for heading, works in PANELS:
        known = [(rows[key], label) for key, label in works if key in rows]
        if not known:
            continue
        parts.append(write_text(12, y + 4, heading, font_weight="bold", font_size=15))
        y += 18
        for row, label in known:
            bars = read_bars(row)
            middle = y + len(bars) * BAR / 2 + 4
            parts.append(write_text(LEFT - 10, middle, label, text_anchor="end"))
            for title, (ratio, seconds, ours) in bars.items():
                width = place(ratio) - LEFT
                parts.append(
                    f'<rect x="{LEFT}" y="{y:.1f}" width="{width:.1f}" height="{BAR - 2}" '
                    f'fill="{colors[title]}"/>'
                )
                number = f"{ratio:.0f}x" if ratio >= 10 else f"{ratio:.1f}x"
                if seconds is not None:
                    number += f" ({format_seconds(seconds)}, not {format_seconds(ours)})"
                parts.append(write_text(LEFT + width + 5, y + BAR - 4, number, font_size=11))
                y += BAR
            y += ROW_GAP
        y += PANEL_GAP - ROW_GAP
    height = y - PANEL_GAP + 34
    x = float(LEFT)
    legend = []
    for title, color in colors.items():
        legend.append(f'<rect x="{x:.1f}" y="38" width="12" height="12" fill="{color}"/>')
        legend.append(write_text(x + 17, 48.5, title))
        x += 40 + 7 * len(title)
    axis = []
    for tick in (1, 2, 5, 10, 20, 50, 100):
        line = f'<line x1="{place(tick):.1f}" x2="{place(tick):.1f}" y1="{TOP - 10}" '
        axis.append(f'{line}y2="{height - 24:.1f}" stroke="#dddddd"/>')
        axis.append(write_text(place(tick), height - 8, f"{tick}x", text_anchor="middle"))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" '
        f'viewBox="0 0 {WIDTH} {height:.0f}" font-family="Helvetica, Arial, sans-serif" '
        'font-size="13" fill="#222222">'
    )
    title = "How many times as long as Spinney other libraries take to fit (one thread)"
    return "\n".join(
        [
            head,
            f"<title>{escape(title)}</title>",
            f'<rect width="{WIDTH}" height="{height:.0f}" fill="#ffffff"/>',
            *axis,
            write_text(12, 24, title, font_weight="bold", font_size=16),
            *legend,
            *parts,
            "</svg>",
            "",
        ]
    )


def main(arguments: list[str]) -> None:
    results = Path(arguments[0]) if arguments else RESULTS
    chart = Path(arguments[1]) if len(arguments) > 1 else CHART
    read = json.loads(results.read_text(encoding="utf-8"))
    if read["format"] != 1:
        sys.exit(f"error: {results} must have format 1, got {read['format']}")
    chart.write_text(draw(read["rows"]), encoding="utf-8")
    print(f"drawn from {results}: {chart}")


if __name__ == "__main__":
    main(sys.argv[1:])
