"""Pictures of fitted trees: `plot_tree`."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from spinney._common.checks import is_bool, require_matplotlib
from spinney._common.digits import Default
from spinney._common.messages import reject_parameter
from spinney._common.types import LabelledNodes
from spinney.tree._base import BaseDecisionTree
from spinney.tree._labels import NodeLabels, Options
from spinney.tree._words import check_tree

# scikit-learn's precision, where nobody has asked for one.
_DEFAULT_PRECISION = Default(3)


def plot_tree(
    decision_tree: BaseDecisionTree,
    *,
    max_depth: int | None = None,
    feature_names: Any = None,
    class_names: Any = None,
    label: LabelledNodes = "all",
    filled: bool = False,
    impurity: bool = True,
    node_ids: bool = False,
    proportion: bool = False,
    rounded: bool = False,
    precision: int | None = _DEFAULT_PRECISION,
    ax: Any = None,
    fontsize: float | None = None,
    rotate: bool | None = None,
) -> list[Any]:
    """Draw a tree.

    The parameters are as in :func:`sklearn.tree.plot_tree`, and `rotate`. No two boxes overlap.
    Each inner node shows the condition under which samples go to its first child ("yes"), and
    "missing: yes" or "missing: no" if its feature had missing values in training. A split on a
    categorical feature shows how many of the categories it lists, and the first of them. A bar
    shows the shares of the classes in a node, whose colours are explained above the tree. The
    leaves of survival trees have their survival curves, from time 0 to the last time of the
    training data and from 0 to 1. Long names are cut.

    Parameters
    ----------
    decision_tree : DecisionTree or ExtraTree estimator
        A fitted tree, which may be one of the `estimators_` of a forest.
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
    impurity : bool, default=True
        Whether to show the impurity of each node.
    node_ids : bool, default=False
        Whether to show the number of each node.
    proportion : bool, default=False
        Whether to show shares in the place of numbers of samples.
    rounded : bool, default=False
        Whether boxes have round corners.
    precision : int, default=3
        Number of decimal places. None means 0. Of smaller numbers, that many digits are shown. If
        it is not given, a threshold has as many digits as it takes to send each sample where the
        tree sends it.
    ax : matplotlib axes, default=None
        Where to draw; what is there is removed. None means the current axes, or, if there is no
        figure, the axes of a new one, which is as large as the tree needs.
    fontsize : float, default=None
        Size of the text in points. None means as large as the axes allow. If the tree does not fit
        into the axes at this size, it is drawn smaller, with a warning.
    rotate : bool, default=None
        Whether the tree grows from left to right. None means in the direction that leaves room for
        larger text.

    Returns
    -------
    boxes : list of matplotlib patches
        The boxes of the nodes that are shown, in preorder.

    Raises
    ------
    TypeError, ValueError
        If an argument is illegal. The message names it.
    sklearn.exceptions.NotFittedError
        If the tree is not fitted.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spinney import DecisionTreeClassifier, plot_tree
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> len(plot_tree(tree))
    5
    """
    tree = check_tree("plot_tree", decision_tree)
    if rotate is not None and not is_bool(rotate):
        reject_parameter("plot_tree", "rotate", rotate, "a bool or None")
    if not (fontsize is None or _is_positive(fontsize)):
        reject_parameter("plot_tree", "fontsize", fontsize, "a positive number or None")
    options = Options.of("plot_tree", locals())
    labels = NodeLabels(tree, options, show_shares=False)
    nodes = tree.tree_
    require_matplotlib("plot_tree")
    from spinney.tree._drawing import draw_tree

    curves = tree._list_leaf_curves()
    return draw_tree(
        nodes.children_left, nodes.children_right, labels, curves, options, ax, fontsize, rotate
    )


def _is_positive(number: Any) -> bool:
    return isinstance(number, Real) and 0 < float(number) < np.inf
