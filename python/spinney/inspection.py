"""Fitted trees as text."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from spinney._messages import reject_parameter
from spinney._tree import BaseDecisionTree
from spinney._validation import is_bool

# Longer sets of categories are cut off after this many names.
_MAX_NAMED = 10


def export_text(
    decision_tree: BaseDecisionTree,
    *,
    feature_names: Any = None,
    class_names: Any = None,
    max_depth: int | None = 10,
    spacing: int = 3,
    decimals: int = 2,
    show_weights: bool = False,
) -> str:
    """Return the rules of a tree as text.

    The text has the form of :func:`sklearn.tree.export_text`, which supports neither categories nor
    missing values. A split on a categorical feature lists the categories of the node that go to one
    child. All other categories go to the other child, including those that are unknown. If a
    feature had missing values in training, "or missing" shows where these go.

    Parameters
    ----------
    decision_tree : DecisionTree or ExtraTree estimator
        A fitted tree, which may be one of the `estimators_` of a forest.
    feature_names : array-like of shape (n_features,), default=None
        Names of the features. None means "feature_0", "feature_1" and so on.
    class_names : array-like of shape (n_classes,), default=None
        Names of the classes, in the order of `classes_`. None means `classes_` itself. Trees with
        several outputs show no names of classes.
    max_depth : int, default=10
        Depth of the deepest nodes that are shown. None means that all are.
    spacing : int, default=3
        Number of dashes before each node, and so the indentation per level.
    decimals : int, default=2
        Number of decimal places.
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
    |--- color not in {blue}
    |   |--- class: 0
    |--- color in {blue}
    |   |--- class: 1
    <BLANKLINE>
    """
    if not isinstance(decision_tree, BaseDecisionTree):
        raise TypeError(
            "The 'decision_tree' parameter of export_text must be a decision tree of spinney. "
            f"Got {decision_tree!r} instead."
        )
    if max_depth is not None:
        _check_int("max_depth", max_depth, 0, " or None")
    _check_int("spacing", spacing, 1)
    _check_int("decimals", decimals, 0)
    if not is_bool(show_weights):
        _reject("show_weights", show_weights, "a bool")
    check_is_fitted(decision_tree)
    tree = decision_tree.tree_
    if feature_names is None:
        features = [f"feature_{feature}" for feature in range(tree.n_features)]
    else:
        features = _read_names("feature_names", feature_names)
        if len(features) != tree.n_features:
            raise ValueError(
                f"feature_names must contain {tree.n_features} elements, got {len(features)}"
            )
    conditions = _Conditions(decision_tree, features, decimals)
    leaves = _Leaves(decision_tree, class_names, decimals, bool(show_weights))

    lines = []
    # A stack of the nodes to be shown: the condition that leads to a node, the node, its level.
    pending: list[tuple[str, int, int]] = [("", 0, 1)]
    heights: list[int] = []
    while pending:
        condition, node, level = pending.pop()
        if condition:
            lines.append(f"{_make_indent(level - 1, spacing)} {condition}")
        indent = _make_indent(level, spacing)
        left, right = int(tree.children_left[node]), int(tree.children_right[node])
        is_leaf = left < 0
        if is_leaf:
            lines.append(f"{indent}{leaves.describe(node)}")
        elif max_depth is not None and level > max_depth + 1:
            heights = heights or _measure_heights(tree.children_left, tree.children_right)
            lines.append(f"{indent} truncated branch of depth {heights[node]}")
        else:
            left_condition, right_condition = conditions.describe(node)
            pending += [(right_condition, right, level + 1), (left_condition, left, level + 1)]
    return "\n".join([*lines, ""])


class _Conditions:
    """The conditions under which samples go to the children of a node."""

    def __init__(self, estimator: BaseDecisionTree, features: list[Any], decimals: int) -> None:
        self._tree = estimator.tree_
        self._features = features
        self._decimals = decimals
        self._n_categories = self._tree.n_categories
        self._categories = estimator.categories_
        self._with_missing = set(estimator._with_missing.tolist())

    def describe(self, node: int) -> tuple[str, str]:
        """Return the conditions of the left and of the right child."""
        feature = int(self._tree.feature[node])
        if self._n_categories[feature] > 0:
            listed, listed_left = self._tree.category_set(node)
            sides = self._describe_set(feature, listed)
            left, right = sides if listed_left else sides[::-1]
            # If the listed set is empty, no value goes to its side.
            has_empty_side, empty_is_left = listed.shape[0] == 0, listed_left
        else:
            threshold = float(self._tree.threshold[node])
            left, right = (f"{sign} {threshold:.{self._decimals}f}" for sign in ("<=", "> "))
            # No value is above infinity.
            has_empty_side, empty_is_left = threshold == np.inf, False
        if feature in self._with_missing:
            missing_left = bool(self._tree.missing_go_to_left[node])
            if has_empty_side and missing_left == empty_is_left:
                sides = "is missing", "is not missing"
                left, right = sides if missing_left else sides[::-1]
            elif missing_left:
                left += " or missing"
            else:
                right += " or missing"
        name = self._features[feature]
        return f"{name} {left}", f"{name} {right}"

    def _describe_set(self, feature: int, codes: NDArray[np.int64]) -> tuple[str, str]:
        """Return the condition for the categories with these codes, and the one for all others."""
        assert self._categories is not None
        categories = self._categories[feature]
        assert categories is not None
        named = categories[codes[:_MAX_NAMED]].tolist()
        names = [_format_category(category) for category in named]
        if codes.shape[0] > _MAX_NAMED:
            names.append(f"... {codes.shape[0] - _MAX_NAMED} more")
        members = f"{{{', '.join(names)}}}"
        return f"in {members}", f"not in {members}"


class _Leaves:
    """The predictions of leaves."""

    def __init__(
        self, estimator: BaseDecisionTree, class_names: Any, decimals: int, show_weights: bool
    ) -> None:
        self._tree = estimator.tree_
        self._decimals = decimals
        self._show_weights = show_weights
        self._is_classifier = is_classifier(estimator)
        self._classes: Any = None
        if class_names is not None:
            class_names = _read_names("class_names", class_names)
        if self._is_classifier:
            classes: Any = vars(estimator)["classes_"]
            self._classes = classes if class_names is None else class_names
            if len(self._classes) != len(classes):
                raise ValueError(
                    "When `class_names` is an array, it should contain as many items as "
                    f"`decision_tree.classes_`. Got {len(self._classes)} while the tree was fitted "
                    f"with {len(classes)} classes."
                )

    def describe(self, node: int) -> str:
        """Return what the leaf predicts."""
        tree = self._tree
        # With several outputs, the first value of each, as in scikit-learn.
        value = tree.value[node][0] if tree.n_outputs == 1 else tree.value[node].T[0]
        if not self._is_classifier:
            return f" value: {self._format_values(value)}"
        winner: Any = np.argmax(value)
        if tree.n_outputs == 1 and tree.n_classes[0] != 1:
            winner = self._classes[winner]
        weights = ""
        if self._show_weights:
            weight = tree.weighted_n_node_samples[node]
            weights = f" weights: {self._format_values(value * weight)}"
        return f"{weights} class: {winner}"

    def _format_values(self, values: Iterable[float]) -> str:
        return f"[{', '.join(f'{value:.{self._decimals}f}' for value in values)}]"


def _make_indent(level: int, spacing: int) -> str:
    return ("|" + " " * spacing) * (level - 1) + "|" + "-" * spacing


def _measure_heights(left: NDArray[np.int32], right: NDArray[np.int32]) -> list[int]:
    """Return for each node the number of levels of the subtree that it is the root of."""
    heights = [1] * left.shape[0]
    # Children have larger ids than their parents.
    for node in range(len(heights) - 1, -1, -1):
        if left[node] >= 0:
            heights[node] = 1 + max(heights[left[node]], heights[right[node]])
    return heights


def _format_category(category: Any) -> str:
    # Categories that are whole numbers may be stored as floats.
    is_whole = isinstance(category, float) and category.is_integer()
    return str(int(category) if is_whole else category)


def _read_names(name: str, names: Any) -> list[Any]:
    if isinstance(names, (str, bytes)) or not hasattr(names, "__len__"):
        _reject(name, names, "an array-like or None")
    array = check_array(names, ensure_2d=False, dtype=None, ensure_min_samples=0)
    return list(array)


def _check_int(name: str, value: Any, least: int, more: str = "") -> None:
    if not isinstance(value, Integral) or value < least:
        _reject(name, value, f"an int in the range [{least}, inf){more}")


def _reject(name: str, got: Any, expected: str) -> NoReturn:
    reject_parameter("export_text", name, got, expected)
