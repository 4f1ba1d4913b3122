"""Trees that number the features of all data, or those that they have drawn alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spinney._spinney import Tree

_BITS = 64


def number_features(
    tree: Tree, places: NDArray[np.int64], n_categories: NDArray[np.uint32]
) -> Tree:
    """Return a tree of the same splits, whose features have other numbers.

    Parameters
    ----------
    tree : Tree
    places : ndarray of int64
        For each feature that the tree uses, by its old number, the new one.
    n_categories : ndarray of uint32
        For each feature, by its new number, how many categories it has; 0 for a numeric one.
    """
    is_split = tree.children_left >= 0
    feature = np.full(tree.node_count, -2, dtype=np.int32)
    feature[is_split] = places[tree.feature[is_split]]
    with_set = is_split & (np.append(n_categories, 0)[feature] > 0)
    threshold = tree.threshold.copy()
    # There they have the numbers of their sets.
    threshold[with_set] = np.arange(np.count_nonzero(with_set))
    words = [word for node in np.flatnonzero(with_set) for word in _write_set(tree, int(node))]
    return Tree(
        len(n_categories),
        [int(n) for n in tree.n_classes],
        tree.children_left.astype(np.int32),
        tree.children_right.astype(np.int32),
        feature,
        threshold,
        tree.missing_go_to_left,
        tree.impurity,
        tree.n_node_samples,
        tree.weighted_n_node_samples,
        tree.value,
        n_categories,
        np.array(words, dtype=np.uint64),
    )


def _write_set(tree: Tree, node: int) -> list[int]:
    """Return the categories that a split lists, as the constructor of trees reads them."""
    codes, listed_go_left = tree.category_set(node)
    others_left = 0 if listed_go_left else 1 << 63
    if codes.size == 0:
        return [others_left]
    first = int(codes[0]) // _BITS
    words = [0] * (int(codes[-1]) // _BITS + 1 - first)
    for code in codes.tolist():
        words[code // _BITS - first] |= 1 << code % _BITS
    return [others_left | len(words) << 32 | first, *words]
