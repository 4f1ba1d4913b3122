"""What pictures of trees show in each node: lines of text, shares of classes, and a colour."""

from __future__ import annotations

import colorsys
from collections.abc import Iterable
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from spinney._common.checks import check_int, is_bool
from spinney._common.digits import Default, Format, exactly
from spinney._common.messages import reject_parameter
from spinney.tree._base import BaseDecisionTree
from spinney.tree._words import TreeWords, find_names

# Longer names are cut.
_MAX_NAME = 22
# The names of the categories of a set take at most about as many characters.
_MAX_MEMBERS = 16
# A condition of more characters gets two lines.
_MAX_LINE = 26
# The number of values that are shown of longer lists.
_MAX_VALUES = 4
# The colours of Okabe and Ito, which people with colour blindness can tell apart.
_PALETTE = (
    (0.90, 0.62, 0.00),
    (0.34, 0.71, 0.91),
    (0.00, 0.62, 0.45),
    (0.80, 0.47, 0.65),
    (0.94, 0.89, 0.26),
    (0.00, 0.45, 0.70),
    (0.84, 0.37, 0.00),
)

# The smallest float64.
_LEAST = float(np.finfo(np.float64).min)
# From here on, a number has more digits before its point than float64 knows.
_LARGE = 1e16

Color = tuple[float, float, float]
"""Red, green and blue, from 0 to 1."""


class Options(NamedTuple):
    """The parameters that `plot_tree` and `export_graphviz` have in common."""

    owner: str
    """Name of the function."""
    max_depth: int | None
    feature_names: Any
    class_names: Any
    label: str
    filled: bool
    impurity: bool
    node_ids: bool
    proportion: bool
    rounded: bool
    precision: int | None

    @classmethod
    def of(cls, owner: str, arguments: dict[str, Any]) -> Options:
        """Return the options among the `locals()` of the function."""
        return cls(owner, *(arguments[name] for name in cls._fields[1:]))

    def check(self) -> None:
        """Raise ValueError if a parameter is illegal."""
        if self.max_depth is not None:
            check_int(self.owner, "max_depth", self.max_depth, 0, " or None")
        if self.precision is not None:
            check_int(self.owner, "precision", self.precision, 0, " or None")
        if self.label not in ("all", "root", "none"):
            reject_parameter(self.owner, "label", self.label, "'all', 'root' or 'none'")
        for name in ("filled", "impurity", "node_ids", "proportion", "rounded"):
            if not is_bool(getattr(self, name)):
                reject_parameter(self.owner, name, getattr(self, name), "a bool")


def make_format(precision: int) -> Format:
    """Return a format with at most `decimals` digits after the point, without trailing zeros."""

    def format_number(number: float) -> str:
        is_small = number != 0 and abs(number) < 10.0**-precision
        if is_small or abs(number) >= _LARGE:
            return f"{number:.{max(precision, 1)}g}"
        text = f"{number:.{precision}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text

    return format_number


class NodeLabels:
    """The labels of the nodes of a tree.

    Parameters
    ----------
    estimator : estimator
        A fitted tree.
    options : Options
    show_shares : bool
        Whether classifiers have a line with the shares of the classes.

    Attributes
    ----------
    class_names : list of str or None
        Names of the classes of a classifier of one output, cut if they are long. None if
        `options.class_names` is False.
    class_colors : list of Color or None
        Colours of the classes of a classifier of one output.
    """

    def __init__(self, estimator: BaseDecisionTree, options: Options, show_shares: bool) -> None:
        options.check()
        is_choice = is_bool(options.class_names)
        given = None if is_choice else options.class_names
        names = find_names(options.owner, estimator, options.feature_names, given, "x[{}]")
        names = names._replace(features=[cut_name(name) for name in names.features])
        self._shows_classes = not is_choice or bool(options.class_names)
        if is_choice and names.classes is not None and len(names.classes) == 1:
            names = names._replace(classes=[_name_by_numbers(names.classes[0])])
        self._options = options
        self._show_shares = show_shares
        self._tree = estimator.tree_
        is_asked = not isinstance(options.precision, Default)
        format_threshold = self.format_number if is_asked else exactly(self.format_number)
        self._words = TreeWords(
            estimator, names, self.format_number, _list_members, format_threshold
        )
        self._criterion = str(estimator.criterion)
        self._is_classifier = is_classifier(estimator)
        self.class_names: list[str] | None = None
        self.class_colors: list[Color] | None = None
        if names.classes is not None and self._tree.n_outputs == 1:
            if self._shows_classes:
                self.class_names = [cut_name(str(label)) for label in names.classes[0]]
            self.class_colors = choose_colors(len(names.classes[0]))
        # The range of the values, or of the impurities, that colours stand for.
        scale = self._tree.value[:, 0, 0] if self._tree.n_outputs == 1 else -self._tree.impurity
        # Impurities of targets beyond 1e154 may overflow: the nodes are as impure as can be. Halves
        # have finite differences.
        self._scale = np.nan_to_num(scale, nan=_LEAST, neginf=_LEAST) / 2
        self._lowest, self._highest = float(self._scale.min()), float(self._scale.max())

    def format_number(self, number: float) -> str:
        """Return a number with as many digits after the point as wanted."""
        return make_format(self._options.precision or 0)(number)

    def list_lines(self, node: int) -> list[str]:
        """Return the lines of text of a node."""
        options, tree = self._options, self._tree
        has_labels = options.label == "all" or (options.label == "root" and node == 0)
        lines = [f"node #{node}" if has_labels else str(node)] if options.node_ids else []
        if tree.children_left[node] >= 0:
            lines += self._describe_condition(node)
        if options.impurity:
            impurity = self.format_number(float(tree.impurity[node]))
            lines.append(f"{self._criterion} = {impurity}" if has_labels else impurity)
        lines.append(self._count_samples(node, has_labels))
        lines += self._describe_value(node, has_labels)
        return lines

    def _describe_condition(self, node: int) -> list[str]:
        condition = self._words.describe_split(node)
        line = f"{condition.feature} {condition.left}"
        lines = [line] if len(line) <= _MAX_LINE else [condition.feature, condition.left]
        if condition.missing_left is not None:
            lines.append(f"missing: {'yes' if condition.missing_left else 'no'}")
        return lines

    def _count_samples(self, node: int, has_labels: bool) -> str:
        n_samples = int(self._tree.n_node_samples[node])
        if self._options.proportion:
            share = 100 * n_samples / int(self._tree.n_node_samples[0])
            text = f"{share:.1f}%"
        else:
            text = str(n_samples)
        return f"samples = {text}" if has_labels else text

    def _describe_value(self, node: int, has_labels: bool) -> list[str]:
        tree = self._tree
        value = tree.value[node]
        if not self._is_classifier:
            text = self._list_values(value[:, 0])
            return [f"value = {text}" if has_labels else text]
        lines = []
        if self._show_shares and tree.n_outputs == 1:
            weight = 1.0 if self._options.proportion else float(tree.weighted_n_node_samples[node])
            text = self._list_values(value[0] * weight)
            lines.append(f"value = {text}" if has_labels else text)
        if not self._shows_classes:
            return lines
        winners = [
            cut_name(self._words.name_class(node, output))
            for output in range(min(tree.n_outputs, _MAX_VALUES))
        ]
        text = ", ".join(winners) + (", …" if tree.n_outputs > _MAX_VALUES else "")
        if tree.n_outputs == 1 and not self._show_shares:
            text += f" ({100 * float(value[0].max()):.0f}%)"
        return [*lines, f"class = {text}" if has_labels else text]

    def _list_values(self, values: Iterable[float]) -> str:
        values = list(values)
        texts = [self.format_number(float(value)) for value in values[:_MAX_VALUES]]
        if len(values) == 1:
            return texts[0]
        return f"[{', '.join(texts)}{', …' if len(values) > _MAX_VALUES else ''}]"

    def list_shares(self, node: int) -> list[float]:
        """Return the shares of the classes; nothing for numbers, or for several outputs."""
        if self.class_colors is None:
            return []
        shares: list[float] = self._tree.value[node][0].tolist()
        return shares

    def choose_fill(self, node: int) -> Color:
        """Return the colour of a node.

        For classes, the largest class's colour, the stronger the farther it is ahead of the next
        one. Else the stronger the larger the value, or, with several outputs, the purer the node.
        """
        if self.class_colors is not None:
            shares = self._tree.value[node][0]
            winner = int(np.argmax(shares))
            others = np.delete(shares, winner)
            next_share = float(others.max()) if others.shape[0] > 0 else 0.0
            ahead = (float(shares[winner]) - next_share) / (1.0 - next_share)
            return mix_with_white(self.class_colors[winner], 0.05 + 0.55 * ahead)
        width = self._highest - self._lowest
        place = (float(self._scale[node]) - self._lowest) / width if width > 0 else 0.5
        return mix_with_white(_PALETTE[0], 0.05 + 0.65 * place)


def _name_by_numbers(classes: NDArray[Any]) -> NDArray[Any]:
    """Return symbolic names of classes, as scikit-learn's."""
    return np.array([f"y[{code}]" for code in range(classes.shape[0])])


def cut_name(name: str, length: int = _MAX_NAME) -> str:
    """Return a name on one line, without its end if it is long."""
    name = " ".join(name.split())
    return name if len(name) <= length else f"{name[: length - 1].rstrip()}…"


def choose_colors(n: int) -> list[Color]:
    """Return distinct colours: the palette's, or hues at equal distances if they run out."""
    if n <= len(_PALETTE):
        return list(_PALETTE[:n])
    # Neighbours differ in lightness too.
    return [colorsys.hls_to_rgb(i / n, 0.45 + 0.2 * (i % 2), 0.7) for i in range(n)]


def mix_with_white(color: Color, share: float) -> Color:
    """Return a colour that has a share of this one; the rest is white."""
    red, green, blue = (1.0 - share * (1.0 - part) for part in color)
    return red, green, blue


def _list_members(names: Iterable[str], n_names: int) -> str:
    """Return as many names as there is room for, at least one."""
    shown: list[str] = []
    length = 0
    for name in islice(names, n_names):
        name = cut_name(name)
        length += len(name) + 2
        if shown and length > _MAX_MEMBERS:
            break
        shown.append(name)
    return ", ".join(shown) + (", …" if len(shown) < n_names else "")
