"""Trees as text."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from spinney._base import BaseDecisionTree

# Categories of a split that are named.
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

    The text of :func:`sklearn.tree.export_text`, which knows neither categories nor missing values.
    A split on a categorical feature names those of the node's categories that go to one side; all
    others go to the other, unknown ones included. If a feature had missing values in training,
    "or missing" tells where they go.

    Parameters
    ----------
    decision_tree : estimator
        A fitted tree, which may be one of a forest's `estimators_`.
    feature_names : array-like of shape (n_features,), default=None
        The names of the features; None means "feature_0", "feature_1" and so on.
    class_names : array-like of shape (n_classes,), default=None
        The names of the classes in the order of `classes_`; None means `classes_` itself. Only for
        one output.
    max_depth : int, default=10
        Deepest level of nodes that are shown; None means all.
    spacing : int, default=3
        Spaces between the edges of two levels.
    decimals : int, default=2
        Digits of numbers behind the point.
    show_weights : bool, default=False
        Whether to show the weights of the classes in each leaf.

    Returns
    -------
    report : str

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
    if not isinstance(show_weights, (bool, np.bool_)):
        raise _illegal("show_weights", show_weights, "a bool")
    check_is_fitted(decision_tree)
    tree = decision_tree.tree_
    if feature_names is None:
        features = [f"feature_{feature}" for feature in range(tree.n_features)]
    else:
        features = _names("feature_names", feature_names)
        if len(features) != tree.n_features:
            raise ValueError(
                f"feature_names must contain {tree.n_features} elements, got {len(features)}"
            )
    conditions = _Conditions(decision_tree, features, decimals)
    leaves = _Leaves(decision_tree, class_names, decimals, bool(show_weights))

    lines = []
    # What is to be shown, last first: nodes with their levels, and the lines above them.
    pending: list[tuple[str, int, int]] = [("", 0, 1)]
    heights: list[int] = []
    while pending:
        condition, node, level = pending.pop()
        if condition:
            lines.append(f"{_indent(level - 1, spacing)} {condition}")
        indent = _indent(level, spacing)
        left, right = int(tree.children_left[node]), int(tree.children_right[node])
        is_leaf = left < 0
        if is_leaf:
            lines.append(f"{indent}{leaves.text(node)}")
        elif max_depth is not None and level > max_depth + 1:
            heights = heights or _heights(tree.children_left, tree.children_right)
            lines.append(f"{indent} truncated branch of depth {heights[node]}")
        else:
            of_left, of_right = conditions.of(node)
            pending += [(of_right, right, level + 1), (of_left, left, level + 1)]
    return "\n".join([*lines, ""])


class _Conditions:
    """What the sides of splits say."""

    def __init__(self, estimator: BaseDecisionTree, features: list[Any], decimals: int) -> None:
        self._tree = estimator.tree_
        self._features = features
        self._decimals = decimals
        self._n_categories = self._tree.n_categories
        self._categories = estimator.categories_
        self._with_missing = set(estimator._with_missing.tolist())

    def of(self, node: int) -> tuple[str, str]:
        """Return the conditions for the left child and for the right one."""
        feature = int(self._tree.feature[node])
        if self._n_categories[feature] > 0:
            listed, listed_left = self._tree.category_set(node)
            sides = self._of_set(feature, listed)
            left, right = sides if listed_left else sides[::-1]
            # Of an empty set nothing is left but missing values.
            is_empty, empty_left = listed.shape[0] == 0, listed_left
        else:
            threshold = float(self._tree.threshold[node])
            left, right = (f"{sign} {threshold:.{self._decimals}f}" for sign in ("<=", "> "))
            is_empty, empty_left = threshold == np.inf, False
        if feature in self._with_missing:
            missing_left = bool(self._tree.missing_go_to_left[node])
            if is_empty and missing_left == empty_left:
                sides = "is missing", "is not missing"
                left, right = sides if missing_left else sides[::-1]
            elif missing_left:
                left += " or missing"
            else:
                right += " or missing"
        name = self._features[feature]
        return f"{name} {left}", f"{name} {right}"

    def _of_set(self, feature: int, codes: NDArray[np.int64]) -> tuple[str, str]:
        assert self._categories is not None
        categories = self._categories[feature]
        assert categories is not None
        names = [_category(category) for category in categories[codes[:_MAX_NAMED]].tolist()]
        if codes.shape[0] > _MAX_NAMED:
            names.append(f"... {codes.shape[0] - _MAX_NAMED} more")
        members = f"{{{', '.join(names)}}}"
        return f"in {members}", f"not in {members}"


class _Leaves:
    """What leaves say."""

    def __init__(
        self, estimator: BaseDecisionTree, class_names: Any, decimals: int, show_weights: bool
    ) -> None:
        self._tree = estimator.tree_
        self._decimals = decimals
        self._show_weights = show_weights
        self._is_classifier = is_classifier(estimator)
        self._classes: Any = None
        if class_names is not None:
            class_names = _names("class_names", class_names)
        if self._is_classifier:
            classes: Any = vars(estimator)["classes_"]
            self._classes = classes if class_names is None else class_names
            if len(self._classes) != len(classes):
                raise ValueError(
                    "When `class_names` is an array, it should contain as many items as "
                    f"`decision_tree.classes_`. Got {len(self._classes)} while the tree was fitted "
                    f"with {len(classes)} classes."
                )

    def text(self, node: int) -> str:
        tree = self._tree
        # Of several outputs the first value each, as scikit-learn has it.
        value = tree.value[node][0] if tree.n_outputs == 1 else tree.value[node].T[0]
        if not self._is_classifier:
            return f" value: {self._list(value)}"
        winner: Any = np.argmax(value)
        if tree.n_outputs == 1 and tree.n_classes[0] != 1:
            winner = self._classes[winner]
        weights = ""
        if self._show_weights:
            weights = f" weights: {self._list(value * tree.weighted_n_node_samples[node])}"
        return f"{weights} class: {winner}"

    def _list(self, values: Iterable[float]) -> str:
        return f"[{', '.join(f'{value:.{self._decimals}f}' for value in values)}]"


def _indent(level: int, spacing: int) -> str:
    return ("|" + " " * spacing) * (level - 1) + "|" + "-" * spacing


def _heights(left: NDArray[np.int32], right: NDArray[np.int32]) -> list[int]:
    """Return the number of levels of the subtree below each node, its own included."""
    heights = [1] * left.shape[0]
    # Children come after their parents.
    for node in range(len(heights) - 1, -1, -1):
        if left[node] >= 0:
            heights[node] = 1 + max(heights[left[node]], heights[right[node]])
    return heights


def _category(category: Any) -> str:
    # Whole numbers may be stored as floats.
    is_whole = isinstance(category, float) and category.is_integer()
    return str(int(category) if is_whole else category)


def _names(name: str, names: Any) -> list[Any]:
    if isinstance(names, (str, bytes)) or not hasattr(names, "__len__"):
        raise _illegal(name, names, "an array-like or None")
    array = check_array(names, ensure_2d=False, dtype=None, ensure_min_samples=0)
    return list(array)


def _check_int(name: str, value: Any, least: int, more: str = "") -> None:
    if not isinstance(value, Integral) or value < least:
        raise _illegal(name, value, f"an int in the range [{least}, inf){more}")


def _illegal(name: str, got: Any, expected: str) -> ValueError:
    return ValueError(
        f"The {name!r} parameter of export_text must be {expected}. Got {got!r} instead."
    )
