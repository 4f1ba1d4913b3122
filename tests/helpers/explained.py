"""What trees are expected to predict if only some features are known, in exact fractions."""

from fractions import Fraction

import numpy as np


def list_trees(estimator):
    trees = getattr(estimator, "estimators_", [estimator])
    return [tree.tree_ for tree in trees]


def value_of(tree, row, known, node=0):
    """Return what a tree is expected to predict if some features of a row are known."""
    left, right = int(tree.children_left[node]), int(tree.children_right[node])
    if left < 0:
        return [Fraction(float(value)) for value in tree.value[node].ravel()]
    feature = tree.feature[node]
    if feature in known:
        cell = row[feature]
        if np.isnan(cell):
            goes_left = bool(tree.missing_go_to_left[node])
        elif np.isnan(tree.threshold[node]):
            goes_left = cell in tree.category_sets(node)[0]
        else:
            goes_left = cell <= tree.threshold[node]
        return value_of(tree, row, known, left if goes_left else right)
    weights = [Fraction(float(tree.weighted_n_node_samples[child])) for child in (left, right)]
    values = [value_of(tree, row, known, child) for child in (left, right)]
    total = sum(weights)
    return [(weights[0] * a + weights[1] * b) / total for a, b in zip(*values, strict=True)]
