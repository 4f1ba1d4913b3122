"""Fitted trees as text: rules, and the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from spinney._common.checks import check_int, is_bool
from spinney._common.digits import Default, Format, exactly, fix_decimals, resolve
from spinney._common.messages import reject_parameter
from spinney._common.types import LabelledNodes
from spinney._spinney import Tree
from spinney.tree._base import BaseDecisionTree
from spinney.tree._labels import NodeLabels, Options
from spinney.tree._words import (
    TreeWords,
    check_tree,
    find_names,
    list_shown,
    measure_heights,
)

# Longer sets of categories are cut off after this many names.
_MAX_NAMED = 10
# scikit-learn's number of decimals, where nobody has asked for one.
_DEFAULT_DECIMALS = Default(2)
_DEFAULT_PRECISION = Default(3)


def export_text(
    decision_tree: BaseDecisionTree,
    *,
    feature_names: Any = None,
    class_names: Any = None,
    max_depth: int | None = 10,
    spacing: int = 3,
    decimals: int = _DEFAULT_DECIMALS,
    show_weights: bool = False,
) -> str:
    """Return the rules of a tree as text.

    The text has the form of :func:`sklearn.tree.export_text`, which supports neither categories nor
    missing values. A split on a categorical feature lists the categories of the node that go to one
    child, after their number and the number of all categories of the feature. All other categories
    go to the other child, including those that are unknown. If a feature had missing values in
    training, "or missing" shows where these go.

    Parameters
    ----------
    decision_tree : DecisionTree or ExtraTree estimator
        A fitted tree, which may be one of the `estimators_` of a forest.
    feature_names : array-like of shape (n_features,), default=None
        Names of the features. None means those that `fit` saw, or else "feature_0", "feature_1" and
        so on.
    class_names : array-like of shape (n_classes,), default=None
        Names of the classes, in the order of `classes_`. None means `classes_` itself; for a tree
        of a forest, the forest's names. Trees with several outputs show no names of classes.
    max_depth : int, default=10
        Depth of the deepest nodes that are shown. None means that all are.
    spacing : int, default=3
        Number of dashes before each node, and so the indentation per level.
    decimals : int, default=2
        Number of decimal places. If it is not given, there are more where two would not do: where
        a threshold would be another number, so that the text would send some samples elsewhere than
        the tree does; where a value other than 0 would look like 0; or where all values in leaves
        would be about the same.
    show_weights : bool, default=False
        Whether to show the weights of the classes in each leaf of a classifier.

    Returns
    -------
    report : str
        A line for each condition and each leaf. Each line ends in a newline.

    Raises
    ------
    TypeError, ValueError
        If an argument is illegal. The message names it.
    sklearn.exceptions.NotFittedError
        If the tree is not fitted.

    Examples
    --------
    >>> from spinney import DecisionTreeClassifier, export_text
    >>> X = [["red"], ["blue"], ["green"], ["red"]]
    >>> tree = DecisionTreeClassifier(categorical_features=[0]).fit(X, [0, 1, 0, 0])
    >>> print(export_text(tree, feature_names=["color"]))
    |--- color not in {1 of 3: blue}
    |   |--- class: 0
    |--- color in {1 of 3: blue}
    |   |--- class: 1
    <BLANKLINE>
    """
    tree = check_tree("export_text", decision_tree)
    if max_depth is not None:
        check_int("export_text", "max_depth", max_depth, 0, " or None")
    check_int("export_text", "spacing", spacing, 1)
    check_int("export_text", "decimals", decimals, 0)
    if not is_bool(show_weights):
        reject_parameter("export_text", "show_weights", show_weights, "a bool")
    names = find_names("export_text", tree, feature_names, class_names, "feature_{}")
    nodes = tree.tree_
    format_number, format_threshold = _choose_formats(nodes, max_depth, decimals)
    words = TreeWords(tree, names, format_number, _list_members, format_threshold)

    lines = []
    # A stack of the nodes to be shown: the condition that leads to a node, the node, its level.
    pending: list[tuple[str, int, int]] = [("", 0, 1)]
    heights: list[int] = []
    while pending:
        condition, node, level = pending.pop()
        if condition:
            lines.append(f"{_make_indent(level - 1, spacing)} {condition}")
        indent = _make_indent(level, spacing)
        left, right = int(nodes.children_left[node]), int(nodes.children_right[node])
        is_leaf = left < 0
        if is_leaf:
            lines.append(f"{indent}{_describe_leaf(words, tree, node, bool(show_weights))}")
        elif max_depth is not None and level > max_depth + 1:
            heights = heights or measure_heights(nodes.children_left, nodes.children_right)
            lines.append(f"{indent} truncated branch of depth {heights[node]}")
        else:
            left_condition, right_condition = _describe_split(words, node)
            pending += [(right_condition, right, level + 1), (left_condition, left, level + 1)]
    return "\n".join([*lines, ""])


def _choose_formats(tree: Tree, max_depth: int | None, decimals: int) -> tuple[Format, Format]:
    """Return how numbers are written, and how thresholds are."""
    plain = fix_decimals(decimals)
    if not isinstance(decimals, Default):
        return plain, plain
    shown = list_shown(tree, max_depth)
    leaves = shown[tree.children_left[shown] < 0]
    values = resolve(tree.value[leaves][:, :, 0].ravel(), fix_decimals, decimals)
    return values, exactly(plain)


def _describe_split(words: TreeWords, node: int) -> tuple[str, str]:
    """Return the conditions of the left and of the right child."""
    feature, left, right, missing_left = words.describe_split(node)
    if missing_left is not None:
        left, right = (
            (f"{left} or missing", right) if missing_left else (left, f"{right} or missing")
        )
    return f"{feature} {left}", f"{feature} {right}"


def _describe_leaf(
    words: TreeWords, estimator: BaseDecisionTree, node: int, show_weights: bool
) -> str:
    """Return what a leaf predicts."""
    tree = words.tree
    # With several outputs, the first value of each, as in scikit-learn.
    value = tree.value[node][0] if tree.n_outputs == 1 else tree.value[node].T[0]
    if not is_classifier(estimator):
        return f" value: {_format_values(words, value)}"
    winner: Any = np.argmax(value)
    if tree.n_outputs == 1 and tree.n_classes[0] != 1:
        winner = words.name_class(node)
    weights = ""
    if show_weights:
        weight = tree.weighted_n_node_samples[node]
        weights = f" weights: {_format_values(words, value * weight)}"
    return f"{weights} class: {winner}"


def _format_values(words: TreeWords, values: Iterable[float]) -> str:
    return f"[{', '.join(map(words.format_number, values))}]"


def _list_members(names: Iterable[str], n_names: int) -> str:
    more = [f"... {n_names - _MAX_NAMED} more"] if n_names > _MAX_NAMED else []
    return ", ".join([*islice(names, _MAX_NAMED), *more])


def _make_indent(level: int, spacing: int) -> str:
    return ("|" + " " * spacing) * (level - 1) + "|" + "-" * spacing


def export_graphviz(
    decision_tree: BaseDecisionTree,
    out_file: Any = None,
    *,
    max_depth: int | None = None,
    feature_names: Any = None,
    class_names: Any = None,
    label: LabelledNodes = "all",
    filled: bool = False,
    leaves_parallel: bool = False,
    impurity: bool = True,
    node_ids: bool = False,
    proportion: bool = False,
    rotate: bool = False,
    rounded: bool = False,
    special_characters: bool = False,
    precision: int | None = _DEFAULT_PRECISION,
    fontname: str = "helvetica",
) -> str | None:
    """Export a tree in the language of Graphviz.

    The parameters are as in :func:`sklearn.tree.export_graphviz`, and a split on a categorical
    feature or with missing values is shown as :func:`plot_tree` shows it. Long names are cut.

    Parameters
    ----------
    decision_tree : DecisionTree or ExtraTree estimator
        A fitted tree, which may be one of the `estimators_` of a forest.
    out_file : file object, str or path, default=None
        Where the text goes. None means that it is returned.
    max_depth : int, default=None
        Depth of the deepest nodes that are shown. None means that all are.
    feature_names : array-like of shape (n_features,), default=None
        Names of the features. None means those that `fit` saw, or else "x[0]", "x[1]" and so on.
    class_names : array-like of shape (n_classes,) or bool, default=None
        Names of the classes, in the order of `classes_`. None means `classes_` itself; for a tree
        of a forest, the forest's names. True means "y[0]", "y[1]" and so on. False means that
        classes are not named. Trees with several outputs have the names of `classes_`.
    label : {'all', 'root', 'none'}, default='all'
        In which nodes numbers have labels.
    filled : bool, default=False
        Whether colours show the largest class of a node, or the size of its value.
    leaves_parallel : bool, default=False
        Whether all leaves are drawn at the bottom.
    impurity : bool, default=True
        Whether to show the impurity of each node.
    node_ids : bool, default=False
        Whether to show the number of each node.
    proportion : bool, default=False
        Whether to show shares in the place of numbers of samples and of weights of classes.
    rotate : bool, default=False
        Whether the tree grows from left to right.
    rounded : bool, default=False
        Whether boxes have round corners.
    special_characters : bool, default=False
        Whether "<=" becomes "≤".
    precision : int, default=3
        Number of decimal places. None means 0. Of smaller numbers, that many digits are shown. If
        it is not given, a threshold has as many digits as it takes to send each sample where the
        tree sends it.
    fontname : str, default='helvetica'

    Returns
    -------
    dot_data : str or None
        The text, if `out_file` is None.

    Raises
    ------
    TypeError, ValueError
        If an argument is illegal. The message names it.
    sklearn.exceptions.NotFittedError
        If the tree is not fitted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spinney import DecisionTreeClassifier, export_graphviz
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    >>> print(export_graphviz(tree).splitlines()[0])
    digraph Tree {
    """
    tree = check_tree("export_graphviz", decision_tree)
    own = {"leaves_parallel": leaves_parallel, "rotate": rotate}
    for name, value in (own | {"special_characters": special_characters}).items():
        if not is_bool(value):
            reject_parameter("export_graphviz", name, value, "a bool")
    if not isinstance(fontname, str):
        reject_parameter("export_graphviz", "fontname", fontname, "a str")
    options = Options.of("export_graphviz", locals())
    labels = NodeLabels(tree, options, show_shares=True)
    styles = [name for name, wanted in (("filled", filled), ("rounded", rounded)) if wanted]
    style = f', style="{", ".join(styles)}", color="black"' if styles else ""
    font = f"fontname={_quote(fontname)}"
    lines = ["digraph Tree {", f"node [shape=box{style}, {font}] ;"]
    if leaves_parallel:
        lines.append("graph [ranksep=equally, splines=polyline] ;")
    lines.append(f"edge [{font}] ;")
    if rotate:
        lines.append("rankdir=LR ;")
    children_left, children_right = tree.tree_.children_left, tree.tree_.children_right
    leaves = []
    # A stack of the nodes to be shown, and their depths.
    pending = [(0, 0)]
    while pending:
        node, depth = pending.pop()
        if max_depth is not None and depth > max_depth:
            lines.append(f'{node} [label="(...)"] ;')
            leaves.append(node)
            continue
        text = "\n".join(labels.list_lines(node))
        if special_characters:
            text = text.replace("<=", "≤")
        fill = f', fillcolor="{_format_color(labels.choose_fill(node))}"' if filled else ""
        lines.append(f"{node} [label={_quote(text)}{fill}] ;")
        left, right = int(children_left[node]), int(children_right[node])
        if left < 0:
            leaves.append(node)
            continue
        for child, answer in ((left, "yes"), (right, "no")):
            head = f' [headlabel="{answer}", labeldistance=2.5]' if node == 0 else ""
            lines.append(f"{node} -> {child}{head} ;")
        pending += [(right, depth + 1), (left, depth + 1)]
    if leaves_parallel:
        lines.append(f"{{rank=same ; {' ; '.join(map(str, leaves))}}} ;")
    text = "\n".join([*lines, "}"])
    if out_file is None:
        return text
    if isinstance(out_file, (str, PathLike)):
        Path(out_file).write_text(text, encoding="utf-8")
    elif hasattr(out_file, "write"):
        out_file.write(text)
    else:
        reject_parameter("export_graphviz", "out_file", out_file, "a file, a path or None")
    return None


def _quote(text: str) -> str:
    """Return a text as a string of Graphviz, in which a backslash and an n end a line."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _format_color(color: tuple[float, float, float]) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in color)
