"""Draw the figures of the site: `python docs/drawings/draw.py [folder]`.

The trees are real: they are grown here, and what is marked is what a lazy forest visits. Colours
are those of the page (`currentColor`) or variables of the theme, to suit light and dark.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
from sklearn.datasets import load_iris

from spinney import DecisionTreeClassifier, LazyForestClassifier

HERE = Path(__file__).resolve().parent
MARK = "var(--drawing-mark, #1a6faf)"
FAINT = 'stroke="currentColor" stroke-opacity="0.3"'


def text(x: float, y: float, content: str, size: int = 13, anchor: str = "middle", **more) -> str:
    style = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" text-anchor="{anchor}" '
        f'fill="currentColor"{style}>{escape(content)}</text>'
    )


def svg(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'style="max-width: {width}px; width: 100%" font-family="sans-serif">'
    )
    return "\n".join([head, f"<title>{escape(title)}</title>", *parts, "</svg>", ""])


def place_nodes(tree) -> dict[int, tuple[float, int]]:
    """Return for each node its place among the leaves, from 0 to 1, and its depth."""
    places, leaves = {}, 0
    n_leaves = int((tree.children_left < 0).sum())

    def visit(node: int, depth: int) -> float:
        nonlocal leaves
        if tree.children_left[node] < 0:
            x = (leaves + 0.5) / n_leaves
            leaves += 1
        else:
            children = (tree.children_left[node], tree.children_right[node])
            x = sum(visit(int(child), depth + 1) for child in children) / 2
        places[node] = (x, depth)
        return x

    visit(0, 0)
    return places


def draw_tree(tree, queries: np.ndarray, left: int, top: int, width: int) -> list[str]:
    """Draw a tree: the nodes on the paths of the queries are filled and show their rows."""
    paths = [set(np.flatnonzero(row)) for row in queries]
    visited = set().union(*paths)
    places = {
        node: (left + x * width, top + 52 * depth) for node, (x, depth) in place_nodes(tree).items()
    }
    lines, circles = [], []
    for node, (x, y) in places.items():
        for child in (tree.children_left[node], tree.children_right[node]):
            if child >= 0:
                marked = int(child) in visited
                style = f'stroke="{MARK}" stroke-width="3"' if marked else FAINT
                to_x, to_y = places[int(child)]
                lines.append(
                    f'<line x1="{x:.0f}" y1="{y:.0f}" x2="{to_x:.0f}" y2="{to_y:.0f}" {style}/>'
                )
        if node in visited:
            circles.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="13" fill="{MARK}"/>')
            rows = str(tree.n_node_samples[node])
            circles.append(
                text(x, y + 4, rows, 11).replace("currentColor", "var(--drawing-on-mark, #ffffff)")
            )
        else:
            circles.append(
                f'<circle cx="{x:.0f}" cy="{y:.0f}" r="7" '
                f'fill="var(--color-background-primary, #ffffff)" {FAINT}/>'
            )
    return lines + circles


def draw_descents(n_queries: int, title: str) -> str:
    """Draw which nodes of a tree some query rows reach."""
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(27)
    held_out = rng.permutation(len(y))[:40]
    train = np.setdiff1d(np.arange(len(y)), held_out)
    tree = DecisionTreeClassifier(random_state=3).fit(X[train], y[train])
    queries = X[held_out[:n_queries]]
    paths = tree.decision_path(queries).toarray()
    # What is drawn is what the lazy forest of the same tree reports.
    lazy = LazyForestClassifier(
        1, max_features=None, bootstrap=False, traversal="batched", random_state=3
    )
    seen = lazy.fit(X[train], y[train]).explore(queries)
    assert seen.n_visited_nodes == int(paths.any(axis=0).sum())
    n_nodes = tree.tree_.node_count
    caption = f"{seen.n_visited_nodes} of {n_nodes} nodes visited, {seen.n_visited_rows} rows read"
    depth = tree.get_depth()
    parts = [text(260, 22, title, 15, font_weight="bold")]
    parts += draw_tree(tree.tree_, paths, 20, 52, 480)
    parts.append(text(260, 52 + 52 * depth + 36, caption))
    return svg(520, 52 + 52 * depth + 52, f"{title}: {caption}", parts)


def draw_cell() -> str:
    """Draw the way of a cell from the array to the split."""
    column = np.array([0.3, 7.5, 0.0, 0.3, 2.1, 0.0])
    values, ranks = np.unique(column, return_inverse=True)
    steps = (
        ("a column of X", [f"{value:g}" for value in column]),
        ("its values, sorted", [f"{value:g}" for value in values]),
        ("ranks of the rows", [str(rank) for rank in ranks]),
        ("entries of a node", [f"{ranks[row]} · row {row}" for row in (0, 4, 1)]),
        ("cuts, scored", ["0 | 1 2 3", "0 1 | 2 3", "0 1 2 | 3"]),
        ("the split", ["x ≤ 1.2"]),
    )
    notes = (
        "any dtype",
        "a table",
        "integers",
        "zeros are counted",
        "exact integers",
        "a midpoint",
    )
    parts, width, gap = [], 118, 24
    for number, ((title, cells), note) in enumerate(zip(steps, notes, strict=True)):
        column_of, row_of = number % 3, number // 3
        left, top = 10 + column_of * (width + gap), 30 + row_of * 220
        parts.append(text(left + width / 2, top, title, 13, font_weight="bold"))
        for place, cell in enumerate(cells):
            y = top + 12 + 24 * place
            parts.append(
                f'<rect x="{left}" y="{y}" width="{width}" height="22" rx="3" fill="{MARK}" '
                'fill-opacity="0.16"/>'
            )
            parts.append(text(left + width / 2, y + 16, cell))
        parts.append(text(left + width / 2, top + 12 + 24 * len(cells) + 16, note, 11))
        if column_of:
            parts.append(text(left - gap / 2, top + 70, "→", 18))
    return svg(10 + 3 * width + 2 * gap + 10, 366, "The way of a cell from array to split", parts)


def draw_cut() -> str:
    """Draw why only the nonzeros of a sparse column need be looked at."""
    parts = [text(250, 22, "A column with 12 rows, 4 of them stored", 14, font_weight="bold")]
    entries = (-2.0, 1.0, 1.0, 3.0)
    groups = ([(f"{v:g}", False) for v in entries[:1]], [("0  (8 rows, counted)", True)])
    groups += ([(f"{v:g}", False) for v in entries[1:]],)
    x = 20
    for group in groups:
        for label, wide in group:
            width = 210 if wide else 56
            opacity = "0.08" if wide else "0.35"
            parts.append(
                f'<rect x="{x}" y="44" width="{width}" height="36" rx="4" fill="{MARK}" '
                f'fill-opacity="{opacity}"/>'
            )
            parts.append(text(x + width / 2, 67, label))
            x += width + 6
    for cut in (79, 295, 419):
        parts.append(
            f'<line x1="{cut}" x2="{cut}" y1="36" y2="94" stroke="currentColor" '
            'stroke-width="1.5" stroke-dasharray="4 3"/>'
        )
        parts.append(text(cut, 110, "cut"))
    return svg(500, 122, "Cuts of a sparse column lie between stored values and zero", parts)


def draw_assumptions() -> str:
    """Draw what a causal forest takes for given: no arrows from what features do not tell."""
    boxes = {
        "features X": (250, 24),
        "treatment T": (80, 120),
        "outcome y": (420, 120),
        "hidden": (250, 196),
    }
    arrows = [
        ((205, 44), (110, 100), "", MARK),
        ((295, 44), (390, 100), "", MARK),
        ((140, 120), (358, 120), "the effect, given X", MARK),
        ((210, 186), (112, 142), "", None),
        ((290, 186), (388, 142), "", None),
    ]
    tip = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="currentColor"/></marker>'
        "</defs>"
    )
    parts = [tip]
    for (x1, y1), (x2, y2), label, colour in arrows:
        style = (
            f'stroke="{colour}" stroke-width="2"' if colour else f'{FAINT} stroke-dasharray="5 4"'
        )
        parts.append(
            f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" {style} marker-end="url(#tip)"/>'
        )
        if label:
            parts.append(text((x1 + x2) / 2, y1 - 8, label))
        if not colour:
            middle = ((x1 + x2) / 2, (y1 + y2) / 2 + 6)
            parts.append(text(*middle, "\u2715", 18))
    for label, (x, y) in boxes.items():
        is_hidden = label == "hidden"
        style = f'{FAINT} stroke-dasharray="5 4" fill="none"'
        if not is_hidden:
            style = f'fill="{MARK}" fill-opacity="0.15"'
        parts.append(f'<rect x="{x - 60}" y="{y - 18}" width="120" height="36" rx="6" {style}/>')
        parts.append(text(x, y + 5, label))
    return svg(500, 220, "Features tell all that moves both the treatment and the outcome", parts)


def main(folder: Path) -> None:
    drawings = {
        "lazy-one.svg": draw_descents(1, "One query row"),
        "lazy-five.svg": draw_descents(5, "Five query rows together"),
        "lazy-forty.svg": draw_descents(40, "Forty query rows together"),
        "cell.svg": draw_cell(),
        "sparse-column.svg": draw_cut(),
        "assumptions.svg": draw_assumptions(),
    }
    for name, drawing in drawings.items():
        (folder / name).write_text(drawing, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
