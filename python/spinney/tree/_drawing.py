"""The drawing of a tree by matplotlib. Lengths are in points at the font size `_FONT_SIZE`.

This module needs matplotlib, which is optional, so it is imported when a tree is drawn.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyBboxPatch, Rectangle
from matplotlib.text import Text
from matplotlib.textpath import text_to_path
from numpy.typing import NDArray

from spinney._common.messages import warn_caller
from spinney.tree._labels import Color, NodeLabels, Options
from spinney.tree._layout import place_nodes

_FONT_SIZE = 10.0
_LINE_HEIGHT = 12.0
# Between a box and its text.
_PADDING = 4.5
# Screens round the widths of letters to whole pixels. With 3 to 12 points at 72 to 200 dots per
# inch, lines of text are up to 1.15 times as wide as their outlines.
_SCREEN_WIDTH = 1.15
_BAR_HEIGHT = 5.0
_CURVE_HEIGHT = 28.0
# Between the boxes of a level, and between levels of trees that grow down or to the right.
_GAP = 6.0
_LEVEL_GAP = 26.0
_ROTATED_LEVEL_GAP = 38.0
# The size of text where there is more room than the tree needs, and in figures that are made for
# the tree. Those have at most this many inches on a side.
_MAX_FONT_SIZE = 12.0
_OWN_FONT_SIZE = 8.0
_MAX_INCHES = 60.0


class _Box(NamedTuple):
    """The box of a node, without its place."""

    node: int
    text: str
    shares: list[float]
    curve: NDArray[np.float64] | None
    width: float
    height: float

    @property
    def below_text(self) -> float:
        """Height of what is below the text: the bar or the curve."""
        height = _BAR_HEIGHT if self.shares else 0.0 if self.curve is None else _CURVE_HEIGHT
        return height + 2 if height else 0.0


class _Plan(NamedTuple):
    """Where the boxes are: the coordinates of their centres, and the size of the whole."""

    x: list[float]
    y: list[float]
    width: float
    height: float
    is_rotated: bool


class _ScaledText(Text):
    """A text whose size follows the scale of its axes, so that it stays in its box."""

    def __init__(self, x: float, y: float, text: str, zorder: float = 4.0) -> None:
        super().__init__(
            x,
            y,
            text,
            fontsize=_FONT_SIZE,
            horizontalalignment="center",
            verticalalignment="center",
            # Names may contain dollars.
            parse_math=False,
            zorder=zorder,
        )

    def _fit(self) -> None:
        ax: Any = self.axes
        corners = ax.transData.transform([(0.0, 0.0), (1.0, 0.0)])
        points = float(corners[1, 0] - corners[0, 0]) * 72.0 / ax.figure.dpi
        # A change would ask for the next drawing.
        if abs(points * _FONT_SIZE - self.get_fontsize()) > 1e-6:
            self.set_fontsize(points * _FONT_SIZE)

    def draw(self, renderer: Any) -> None:
        """Draw the text, in the size that the axes have now."""
        self._fit()
        super().draw(renderer)

    def get_window_extent(self, renderer: Any = None, dpi: float | None = None) -> Any:
        """Return the extent of the text, in the size that the axes have now."""
        self._fit()
        return super().get_window_extent(renderer, dpi)


def draw_tree(
    children_left: NDArray[np.int64],
    children_right: NDArray[np.int64],
    labels: NodeLabels,
    curves: dict[int, NDArray[np.float64]],
    options: Options,
    ax: Any,
    fontsize: float | None,
    rotate: bool | None,
) -> list[Any]:
    """Draw a tree on axes; return the boxes of its nodes. See `plot_tree`."""
    boxes, left, right = _make_boxes(
        children_left, children_right, labels, curves, options.max_depth
    )
    legend = _Legend(labels)
    directions = [False, True] if rotate is None else [bool(rotate)]
    plans = [_plan(boxes, left, right, legend, is_rotated) for is_rotated in directions]
    if ax is None and not plt.get_fignums():
        plan = min(plans, key=lambda plan: max(plan.width, 1.4 * plan.height))
        ax = _make_axes(plan, fontsize or _OWN_FONT_SIZE)
        plans = [plan]
    else:
        ax = _find_axes() if ax is None else ax
        ax.clear()
    plan, scale = _choose(plans, ax, fontsize)
    extent = ax.get_window_extent()
    half_width, half_height = (
        side * 36.0 / ax.figure.dpi / scale for side in (extent.width, extent.height)
    )
    # The tree is in the middle of the axes.
    ax.set_xlim(plan.width / 2 - half_width, plan.width / 2 + half_width)
    ax.set_ylim(plan.height / 2 + half_height, plan.height / 2 - half_height)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_axis_off()
    _draw_edges(ax, boxes, left, right, plan)
    legend.draw(ax, plan.width / 2, _GAP)
    return [
        _draw_box(ax, box, (x, y), labels, options)
        for box, x, y in zip(boxes, plan.x, plan.y, strict=True)
    ]


def _find_axes() -> Any:
    """Return the current axes; if the current figure has none, axes that fill it."""
    figure = plt.gcf()
    return plt.gca() if figure.axes else figure.add_axes((0.0, 0.0, 1.0, 1.0))


def _make_axes(plan: _Plan, fontsize: float) -> Any:
    """Return axes that fill a new figure, in which the text of the tree has the size `fontsize`."""
    inches = fontsize / _FONT_SIZE / 72.0
    size = [min(max(side * inches, 2.0), _MAX_INCHES) for side in (plan.width, plan.height)]
    return plt.figure(figsize=size).add_axes((0.0, 0.0, 1.0, 1.0))


def _choose(plans: list[_Plan], ax: Any, fontsize: float | None) -> tuple[_Plan, float]:
    """Return the plan that leaves room for the largest text, and the points per unit of length."""
    extent = ax.get_window_extent()
    points = [side * 72.0 / ax.figure.dpi for side in (extent.width, extent.height)]
    scales = [min(points[0] / plan.width, points[1] / plan.height) for plan in plans]
    best = int(np.argmax(scales))
    plan, scale = plans[best], scales[best]
    wanted = (fontsize or _MAX_FONT_SIZE) / _FONT_SIZE
    if fontsize is not None and scale < 0.99 * wanted:
        warn_caller(
            f"The tree does not fit into its axes with fontsize={fontsize}. Its text has "
            f"{scale * _FONT_SIZE:.1f} points instead. Axes of {plan.width * wanted / 72:.1f} by "
            f"{plan.height * wanted / 72:.1f} inches would be large enough."
        )
    return plan, min(scale, wanted)


def _make_boxes(
    children_left: NDArray[np.int64],
    children_right: NDArray[np.int64],
    labels: NodeLabels,
    curves: dict[int, NDArray[np.float64]],
    max_depth: int | None,
) -> tuple[list[_Box], list[int], list[int]]:
    """Return the boxes that are shown, in preorder, and for each its children among them, or -1."""
    boxes: list[_Box] = []
    left: list[int] = []
    right: list[int] = []
    # A stack of the nodes to be shown: the node, its depth, the place of its parent, the side.
    pending: list[tuple[int, int, int, list[int]]] = [(0, 0, -1, left)]
    while pending:
        node, depth, parent, side = pending.pop()
        if parent >= 0:
            side[parent] = len(boxes)
        is_cut = max_depth is not None and depth > max_depth
        text = "(...)" if is_cut else "\n".join(labels.list_lines(node))
        shares = [] if is_cut else labels.list_shares(node)
        boxes.append(_measure(node, text, shares, None if is_cut else curves.get(node)))
        left.append(-1)
        right.append(-1)
        if children_left[node] >= 0 and not is_cut:
            here = len(boxes) - 1
            pending.append((int(children_right[node]), depth + 1, here, right))
            pending.append((int(children_left[node]), depth + 1, here, left))
    return boxes, left, right


def _measure(node: int, text: str, shares: list[float], curve: NDArray[np.float64] | None) -> _Box:
    lines = text.split("\n")
    width = max(map(_measure_width, lines)) + 2 * _PADDING
    box = _Box(node, text, shares, curve, width, _LINE_HEIGHT * len(lines) + 2 * _PADDING)
    return box._replace(height=box.height + box.below_text)


def _measure_width(text: str) -> float:
    font = FontProperties(size=_FONT_SIZE)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return _SCREEN_WIDTH * float(width)


def _plan(
    boxes: list[_Box], left: list[int], right: list[int], legend: _Legend, is_rotated: bool
) -> _Plan:
    """Place boxes below the legend, in a tree that grows down, or, if rotated, to the right."""
    across = [box.height if is_rotated else box.width for box in boxes]
    along = [box.width if is_rotated else box.height for box in boxes]
    centres = place_nodes(left, right, across, _GAP)
    low = min(centre - extent / 2 for centre, extent in zip(centres, across, strict=True))
    high = max(centre + extent / 2 for centre, extent in zip(centres, across, strict=True))
    depths = [0] * len(boxes)
    for place in range(len(boxes)):
        if left[place] >= 0:
            depths[left[place]] = depths[right[place]] = depths[place] + 1
    extents = [0.0] * (max(depths) + 1)
    for depth, extent in zip(depths, along, strict=True):
        extents[depth] = max(extents[depth], extent)
    level_gap = _ROTATED_LEVEL_GAP if is_rotated else _LEVEL_GAP
    starts = np.concatenate([[0.0], np.cumsum(np.array(extents) + level_gap)])
    # The boxes of a level begin on one line.
    levels = np.array([starts[depth] for depth in depths]) + np.array(along) / 2
    places = np.array(centres) - low
    x, y = (levels, places) if is_rotated else (places, levels)
    breadth, length = high - low, float(starts[-1]) - level_gap
    size = (length, breadth) if is_rotated else (breadth, length)
    width = max(size[0], legend.width)
    x += _GAP + (width - size[0]) / 2
    y += _GAP + legend.height
    return _Plan(
        x.tolist(),
        y.tolist(),
        width + 2 * _GAP,
        size[1] + legend.height + 2 * _GAP,
        is_rotated,
    )


def _draw_edges(ax: Any, boxes: list[_Box], left: list[int], right: list[int], plan: _Plan) -> None:
    segments = []
    for parent, box in enumerate(boxes):
        for child, answer in ((left[parent], "yes"), (right[parent], "no")):
            if child < 0:
                continue
            start, end = (plan.x[parent], plan.y[parent]), (plan.x[child], plan.y[child])
            if plan.is_rotated:
                start = start[0] + box.width / 2, start[1]
                end = end[0] - boxes[child].width / 2, end[1]
            else:
                start = start[0], start[1] + box.height / 2
                end = end[0], end[1] - boxes[child].height / 2
            segments.append((start, end))
            if parent == 0:
                middle = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
                text = _ScaledText(*middle, answer, zorder=1.5)
                text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 1.0})
                ax.add_artist(text)
    ax.add_collection(LineCollection(segments, colors="0.55", linewidths=0.8, zorder=1))


def _draw_box(
    ax: Any, box: _Box, centre: tuple[float, float], labels: NodeLabels, options: Options
) -> Any:
    x, y = centre[0] - box.width / 2, centre[1] - box.height / 2
    is_cut = box.text == "(...)"
    color = labels.choose_fill(box.node) if options.filled and not is_cut else (1.0, 1.0, 1.0)
    style = f"round,pad=0,rounding_size={_PADDING}" if options.rounded else "square,pad=0"
    patch = FancyBboxPatch(
        (x, y),
        box.width,
        box.height,
        boxstyle=style,
        facecolor=color,
        edgecolor="0.3",
        linewidth=0.8,
        zorder=2,
    )
    ax.add_artist(patch)
    ax.add_artist(_ScaledText(centre[0], centre[1] - box.below_text / 2, box.text, zorder=4))
    if box.curve is not None:
        _draw_curve(ax, box.curve, x + _PADDING, y + box.height - _PADDING, box.width)
    left, top = x + _PADDING, y + box.height - _PADDING - _BAR_HEIGHT + 1
    for share, color in zip(box.shares, labels.class_colors or [], strict=False):
        if share == 0.0:
            continue
        width = share * (box.width - 2 * _PADDING)
        bar_patch = Rectangle((left, top), width, _BAR_HEIGHT, facecolor=color, zorder=3)
        ax.add_artist(bar_patch)
        left += width
    return patch


def _draw_curve(
    ax: Any, curve: NDArray[np.float64], left: float, bottom: float, width: float
) -> None:
    """Draw a curve, whose points are in [0, 1], and its axes at the bottom of a box."""
    corner, size = np.array([left, bottom]), np.array([width - 2 * _PADDING, -_CURVE_HEIGHT + 1])
    axes = np.array([[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
    lines = [corner + points * size for points in (axes, curve)]
    colors, widths = ["0.6", "0.15"], [0.6, 1.1]
    ax.add_collection(LineCollection(lines, colors=colors, linewidths=widths, zorder=3))


class _Legend:
    """The colours of the classes, in rows of at most `_PER_ROW` above the tree."""

    _PER_ROW = 6
    _MAX_CLASSES = 18

    def __init__(self, labels: NodeLabels) -> None:
        names, colors = labels.class_names, labels.class_colors
        entries = list(zip(names, colors, strict=True)) if names and colors else []
        # More colours could not be told apart.
        shown = entries if len(entries) <= self._MAX_CLASSES else []
        self._rows = [
            [(name, color, _measure_width(name)) for name, color in shown[at : at + self._PER_ROW]]
            for at in range(0, len(shown), self._PER_ROW)
        ]
        self.height = len(self._rows) * (_LINE_HEIGHT + 4) + (_GAP if self._rows else 0.0)
        self.width = max((self._measure_row(row) for row in self._rows), default=0.0)

    @staticmethod
    def _measure_row(row: list[tuple[str, Color, float]]) -> float:
        return sum(width + 3 * _FONT_SIZE for _, _, width in row) - _FONT_SIZE

    def draw(self, ax: Any, centre: float, top: float) -> None:
        """Draw the rows below `top`."""
        for row in self._rows:
            x, y = centre - self._measure_row(row) / 2, top + _LINE_HEIGHT / 2
            for name, color, width in row:
                side = 0.8 * _FONT_SIZE
                ax.add_artist(Rectangle((x, y - side / 2), side, side, facecolor=color))
                x += 1.4 * _FONT_SIZE
                text = _ScaledText(x, y, name)
                text.set_horizontalalignment("left")
                ax.add_artist(text)
                x += width + 1.6 * _FONT_SIZE
            top += _LINE_HEIGHT + 4
