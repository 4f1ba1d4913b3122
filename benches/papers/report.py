"""Make a page and plots of each file of results.

    python benches/papers/report.py [folder to write to] [files of results]

Of `results/NAME.json` come `NAME.md`, the tables with what they say, and `NAME-0.svg` and so on,
the plots. The same results give the same files, which a test looks after. A table has `title`,
`head`, `rows`, `note` and perhaps `text`. A plot has `title`, `x`, `y` and `lines`, lists of points
by name, over two logarithmic axes. A plot of trees has `title`, `keys`, which are names of colours,
and `trees` by name: a node has `lines` of text, the `color` of a key and, if it is split, its two
`children`.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

RESULTS = Path(__file__).resolve().parent / "results"
# Told apart by people who do not see red and green alike; readable on white and on black.
COLORS = ("#3182bd", "#e6800f", "#2ca25f", "#c35a9e", "#888888")
# So narrow that letters are readable on a telephone; wide screens draw it larger.
WIDTH, PLOT, LEFT, RIGHT, BOTTOM = 420, 230, 58, 26, 48
# Of trees, which stand in pairs: their margin, the height of a name and of a level; of the box of a
# node: its margin, the height of a line, and the width of a letter.
TREE_LEFT, TREE_NAME, LEVEL, MARGIN, BOX_LINE, BOX_LETTER = 10, 26, 68, 5, 13, 6.2
# Where the keys of lines begin, and what one takes: a row, and a mark with so much per letter.
KEYS_LEFT, KEYS_TOP, KEY_HEIGHT, MARK_WIDTH, LETTER = 16, 32, 18, 34, 6.6


def list_ticks(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 times powers of ten within a range.

    If these are many, the powers alone; if they are few, other multiples, too.
    """
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    inside: list[float] = []
    for factors in ((1, 2, 5), range(1, 10), [half / 2 for half in range(2, 20)]):
        if len(inside) < 2:
            ticks = [factor * 10.0**e for e in exponents for factor in factors]
            inside = [tick for tick in ticks if low * 0.999 <= tick <= high * 1.001]
    if len(inside) > 7:
        inside = [tick for tick in inside if f"{tick:e}".startswith("1.")]
    return inside


def format_number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:g}"


def place_keys(names: Iterable[str]) -> list[tuple[float, float]]:
    """Return where the key of each line stands, in as many rows as the width takes."""
    places, x, y = [], float(KEYS_LEFT), float(KEYS_TOP)
    for name in names:
        width = MARK_WIDTH + LETTER * len(name)
        if places and x + width > WIDTH:
            x, y = float(KEYS_LEFT), y + KEY_HEIGHT
        places.append((x, y))
        x += width
    return places


def write(x: float, y: float, content: str, anchor: str = "middle", **more: Any) -> str:
    """Return text in the colour of the page."""
    style = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="currentColor"{style}>'
        f"{escape(content)}</text>"
    )


def write_title(title: str) -> str:
    return write(WIDTH / 2, 20, title, font_weight="bold", font_size=14)


def write_key(place: tuple[float, float], number: int, name: str) -> list[str]:
    x, y = place
    color = COLORS[number % len(COLORS)]
    mark = f'<rect x="{x:.1f}" y="{y:.1f}" width="12" height="12" fill="{color}"/>'
    return [mark, write(x + 17, y + 10.5, name, "start")]


def join_parts(title: str, height: float, parts: list[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        'style="max-width: 32rem; width: 100%" font-family="sans-serif" font-size="12">'
    )
    return "\n".join([head, f"<title>{escape(title)}</title>", *parts, "</svg>", ""])


def draw_lines(plot: dict[str, Any]) -> str:
    """Return lines over two logarithmic axes, as SVG."""
    keys = place_keys(plot["lines"])
    top = keys[-1][1] + KEY_HEIGHT + 30
    height = top + PLOT + BOTTOM
    points = [point for line in plot["lines"].values() for point in line]
    bounds = [(min(values), max(values)) for values in zip(*points, strict=True)]
    (x_low, x_high), (y_low, y_high) = bounds

    def place(point: list[float]) -> tuple[float, float]:
        across = math.log(point[0] / x_low) / math.log(x_high / x_low)
        up = math.log(point[1] / y_low) / math.log(y_high / y_low)
        x = LEFT + across * (WIDTH - LEFT - RIGHT)
        return x, top + (1 - up) * PLOT

    parts = [write_title(plot["title"])]
    for tick in list_ticks(x_low, x_high):
        x, _ = place([tick, y_low])
        parts.append(write(x, top + PLOT + 18, format_number(tick)))
    for tick in list_ticks(y_low, y_high):
        _, y = place([x_low, tick])
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" '
            'stroke="currentColor" stroke-opacity="0.2"/>'
        )
        parts.append(write(LEFT - 8, y + 4, format_number(tick), "end"))
    parts.append(write((LEFT + WIDTH - RIGHT) / 2, height - 8, plot["x"]))
    parts.append(write(LEFT, top - 14, plot["y"], "end"))
    for number, (name, line) in enumerate(plot["lines"].items()):
        color = COLORS[number % len(COLORS)]
        places = " ".join("{:.1f},{:.1f}".format(*place(point)) for point in line)
        parts.append(f'<polyline points="{places}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts += [
            '<circle cx="{:.1f}" cy="{:.1f}" r="3" fill="{}"/>'.format(*place(point), color)
            for point in line
        ]
        parts += write_key(keys[number], number, name)
    return join_parts(plot["title"], height, parts)


def count_leaves(node: dict[str, Any]) -> int:
    return sum(map(count_leaves, node["children"])) if "children" in node else 1


def find_depth(node: dict[str, Any]) -> int:
    return 1 + max(map(find_depth, node["children"])) if "children" in node else 0


def draw_box(node: dict[str, Any], middle: float, top: float) -> list[str]:
    width = 2 * MARGIN + BOX_LETTER * max(map(len, node["lines"]))
    box = (
        f'<rect x="{middle - width / 2:.1f}" y="{top:.1f}" width="{width:.1f}" '
        f'height="{find_height(node):.1f}" rx="3" fill="{COLORS[node["color"]]}" '
        f'fill-opacity="0.25" stroke="{COLORS[node["color"]]}"/>'
    )
    places = [top + MARGIN + BOX_LINE * (number + 0.8) for number in range(len(node["lines"]))]
    lines = zip(places, node["lines"], strict=True)
    return [box, *(write(middle, y, line, font_size=11) for y, line in lines)]


def find_height(node: dict[str, Any]) -> float:
    return 2 * MARGIN + BOX_LINE * len(node["lines"])


def draw_node(node: dict[str, Any], left: float, top: float, leaf_width: float) -> list[str]:
    """Return a node and those below it, each in the middle above its leaves."""
    middle = left + leaf_width * count_leaves(node) / 2
    parts = draw_box(node, middle, top)
    bottom = top + find_height(node)
    for child, word, anchor in zip(
        node.get("children", ()), ("yes", "no"), ("end", "start"), strict=False
    ):
        width = leaf_width * count_leaves(child)
        end, side = left + width / 2, -4 if word == "yes" else 4
        parts.append(
            f'<line x1="{middle:.1f}" x2="{end:.1f}" y1="{bottom:.1f}" y2="{top + LEVEL:.1f}" '
            'stroke="currentColor" stroke-opacity="0.5"/>'
        )
        place = ((middle + end) / 2 + side, (bottom + top + LEVEL) / 2 - 2)
        parts.append(write(*place, word, anchor, font_size=10))
        parts += draw_node(child, left, top + LEVEL, leaf_width)
        left += width
    return parts


def draw_trees(plot: dict[str, Any]) -> str:
    """Return trees in pairs, as SVG."""
    keys = place_keys(plot["keys"])
    parts = [write_title(plot["title"])]
    for number, name in enumerate(plot["keys"]):
        parts += write_key(keys[number], number, name)
    top, width = keys[-1][1] + KEY_HEIGHT + 20, WIDTH / 2 - TREE_LEFT
    trees = list(plot["trees"].items())
    for first in range(0, len(trees), 2):
        pair = trees[first : first + 2]
        for number, (name, tree) in enumerate(pair):
            left = TREE_LEFT + number * width
            parts.append(write(left + width / 2, top + 12, name))
            parts += draw_node(tree, left, top + TREE_NAME, width / count_leaves(tree))
        top += TREE_NAME + LEVEL * (max(find_depth(tree) for _, tree in pair) + 1)
    return join_parts(plot["title"], top, parts)


def draw_plot(plot: dict[str, Any]) -> str:
    """Return a plot as SVG; its text has the colour of the page."""
    return draw_trees(plot) if "trees" in plot else draw_lines(plot)


def write_row(cells: list[Any]) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def write_page(results: dict[str, Any]) -> str:
    """Return the tables and what they say, as a part of a page in Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    parts = [f"After {results['source']}."] if "source" in results else []
    parts.append(f"```console\n{results['command']}\n```")
    for table in results["tables"]:
        head = [write_row(table["head"]), write_row(["---", *["---:"] * (len(table["head"]) - 1)])]
        parts.append(f"**{table['title']}**")
        parts.append("\n".join([*head, *map(write_row, table["rows"])]))
        parts.append(table["note"])
        if "text" in table:
            parts.append(f"```text\n{table['text'].rstrip()}\n```")
    parts.append(f"Measured on {results['date']}: {results['machine']}; {versions}.")
    return "\n\n".join(parts) + "\n"


def main(folder: Path, files: list[Path]) -> None:
    for file in files:
        results = json.loads(file.read_text(encoding="utf-8"))
        if results["format"] != 1:
            sys.exit(f"error: {file} must have format 1, got {results['format']}")
        (folder / f"{file.stem}.md").write_text(write_page(results), encoding="utf-8")
        for number, plot in enumerate(results["plots"]):
            path = folder / f"{file.stem}-{number}.svg"
            path.write_text(draw_plot(plot), encoding="utf-8")


if __name__ == "__main__":
    given = [Path(argument) for argument in sys.argv[1:]]
    main(given[0] if given else RESULTS, given[1:] or sorted(RESULTS.glob("*.json")))
