"""The nodes of fitted trees in words: names of features, classes and categories, and conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from spinney._common.digits import Format
from spinney._common.messages import reject_parameter
from spinney._data.categories import Categories
from spinney._spinney import Tree
from spinney.tree._base import BaseDecisionTree


class Condition(NamedTuple):
    """Which samples go to the children of a node."""

    feature: str
    left: str
    """What holds for the feature of samples that go left, for example "<= 0.5"."""
    right: str
    """What holds for all others."""
    missing_left: bool | None
    """Whether samples in which the feature is missing go left; None if there were none in training,
    or if `left` and `right` say so."""


class Names(NamedTuple):
    """The names of a tree's features, classes and categories, where they are known."""

    features: list[str]
    """One per feature."""
    classes: list[NDArray[Any]] | None
    """For each output the names of its classes; None for a regressor."""
    categories: Categories | None
    """For each feature its categories, None for a numeric one."""


def check_tree(owner: str, estimator: Any) -> BaseDecisionTree:
    """Return a fitted tree; raise TypeError or NotFittedError for anything else."""
    if not isinstance(estimator, BaseDecisionTree):
        raise TypeError(
            f"The 'decision_tree' parameter of {owner} must be a decision tree of spinney. "
            f"Got {estimator!r} instead."
        )
    check_is_fitted(estimator)
    return estimator


def find_names(
    owner: str,
    tree: BaseDecisionTree,
    feature_names: Any,
    class_names: Any,
    default_name: str,
) -> Names:
    """Return the names that the user gives, or else those that the estimator knows.

    A tree of a forest knows the names of the forest, though it takes codes.

    Parameters
    ----------
    owner : str
        Name of the function whose parameters these are.
    tree : estimator
        A fitted tree.
    feature_names : array-like of shape (n_features,) or None
    class_names : array-like of shape (n_classes,) or None
        Only for trees of one output.
    default_name : str
        The name of a feature without a name, with a place for its index.
    """
    of_forest = tree._names_of_forest
    features = find_feature_names(owner, tree, feature_names, default_name)
    classes: Any = None
    if is_classifier(tree):
        classes = vars(tree)["classes_"] if of_forest is None else of_forest.classes
        classes = [classes] if tree.n_outputs_ == 1 else list(classes)
    if class_names is not None:
        given = read_names(owner, "class_names", class_names)
        if classes is not None and tree.n_outputs_ == 1:
            if len(given) != len(classes[0]):
                raise ValueError(
                    "When `class_names` is an array, it should contain as many items as "
                    f"`decision_tree.classes_`. Got {len(given)} while the tree was fitted "
                    f"with {len(classes[0])} classes."
                )
            classes = [np.array(given)]
    categories = tree.categories_ if of_forest is None else of_forest.categories
    return Names(features, classes, categories)


def find_feature_names(
    owner: str, estimator: Any, feature_names: Any, default_name: str
) -> list[str]:
    """Return the names that the user gives, or the names that `fit` saw, or numbered names."""
    n_features = int(estimator.n_features_in_)
    if feature_names is not None:
        names = read_names(owner, "feature_names", feature_names)
        if len(names) != n_features:
            raise ValueError(f"feature_names must contain {n_features} elements, got {len(names)}")
        return [str(name) for name in names]
    of_forest = getattr(estimator, "_names_of_forest", None)
    known = (
        getattr(estimator, "feature_names_in_", None) if of_forest is None else of_forest.features
    )
    if known is not None:
        return [str(name) for name in known]
    return [default_name.format(feature) for feature in range(n_features)]


def read_names(owner: str, name: str, names: Any) -> list[Any]:
    """Return the items of an array-like of names; raise ValueError if it is none."""
    is_array_like = any(hasattr(names, sign) for sign in ("__len__", "shape", "__array__"))
    if np.isscalar(names) or not is_array_like:
        reject_parameter(owner, name, names, "an array-like or None")
    array = check_array(names, ensure_2d=False, dtype=None, ensure_min_samples=0)
    return list(array)


class TreeWords:
    """The splits and predictions of a tree in words.

    Parameters
    ----------
    estimator : estimator
        A fitted tree.
    names : Names
    format_number : callable
        Returns a number as text.
    list_members : callable
        Returns the names of the categories of a set as text, cut short if there are many.
    format_threshold : callable
        Returns a threshold as text.
    """

    def __init__(
        self,
        estimator: BaseDecisionTree,
        names: Names,
        format_number: Format,
        list_members: Callable[[Iterable[str], int], str],
        format_threshold: Format,
    ) -> None:
        self.tree = estimator.tree_
        self.names = names
        self.format_number = format_number
        self._list_members = list_members
        self._format_threshold = format_threshold
        self._n_categories = self.tree.n_categories
        self._with_missing = set(estimator._with_missing.tolist())

    def describe_split(self, node: int) -> Condition:
        """Return the conditions of the left and of the right child of a node."""
        feature = int(self.tree.feature[node])
        if self._n_categories[feature] > 0:
            listed, listed_left = self.tree.category_set(node)
            members = self._describe_set(feature, listed)
            sides = f"in {members}", f"not in {members}"
            left, right = sides if listed_left else sides[::-1]
            # If the listed set is empty, no value goes to its side.
            has_empty_side, empty_is_left = listed.shape[0] == 0, listed_left
        else:
            threshold = float(self.tree.threshold[node])
            left, right = (f"{sign} {self._format_threshold(threshold)}" for sign in ("<=", "> "))
            # No value is above infinity.
            has_empty_side, empty_is_left = threshold == np.inf, False
        missing_left: bool | None = None
        if feature in self._with_missing:
            missing_left = bool(self.tree.missing_go_to_left[node])
            if has_empty_side and missing_left == empty_is_left:
                sides = "is missing", "is not missing"
                left, right = sides if missing_left else sides[::-1]
                missing_left = None
        return Condition(self.names.features[feature], left, right, missing_left)

    def _describe_set(self, feature: int, codes: NDArray[np.int64]) -> str:
        """Return a set of categories, with their number and the number of all of the feature."""
        if codes.shape[0] == 0:
            return "{}"
        assert self.names.categories is not None
        categories = self.names.categories[feature]
        assert categories is not None
        names = (_format_category(category) for category in categories[codes].tolist())
        counts = f"{codes.shape[0]} of {categories.shape[0]}"
        return f"{{{counts}: {self._list_members(names, codes.shape[0])}}}"

    def name_class(self, node: int, output: int = 0) -> str:
        """Return the class that a node predicts for an output."""
        assert self.names.classes is not None
        return str(self.names.classes[output][int(np.argmax(self.tree.value[node][output]))])


def _format_category(category: Any) -> str:
    # Categories that are whole numbers may be stored as floats.
    is_whole = isinstance(category, float) and category.is_integer()
    return str(int(category) if is_whole else category)


def list_shown(tree: Tree, max_depth: int | None) -> NDArray[np.intp]:
    """Return the nodes down to a depth, or all of them."""
    shown = [np.zeros(1, dtype=np.intp)]
    while shown[-1].size and (max_depth is None or len(shown) <= max_depth):
        splits = shown[-1][tree.children_left[shown[-1]] >= 0]
        children = np.concatenate([tree.children_left[splits], tree.children_right[splits]])
        shown.append(children.astype(np.intp))
    return np.concatenate(shown)


def measure_heights(left: NDArray[np.int64], right: NDArray[np.int64]) -> list[int]:
    """Return for each node the number of levels of the subtree that it is the root of."""
    heights = [1] * left.shape[0]
    # Children have larger ids than their parents.
    for node in range(len(heights) - 1, -1, -1):
        if left[node] >= 0:
            heights[node] = 1 + max(heights[left[node]], heights[right[node]])
    return heights
