"""From fitted estimators of scikit-learn to estimators of spinney."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn.ensemble
import sklearn.tree
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from spinney._fit.draws import Growth
from spinney._fit.target import EncodedTarget, make_class_attributes
from spinney._spinney import Forest, Tree, mean_path_length
from spinney.conversion._to_sklearn import round_down
from spinney.storage._classes import list_classes

_SHARED = (
    "feature_names_in_",
    "oob_decision_function_",
    "oob_prediction_",
    "oob_score_",
)


def from_sklearn(model: Any) -> Any:
    """Return an estimator of spinney that predicts the same numbers as one of scikit-learn.

    scikit-learn compares values that are rounded to float32 with thresholds of float64. Here
    thresholds are moved to where this rounding takes place, so that every finite value, of whatever
    dtype, goes the same way, and single trees predict the same bits. Forests do too when
    scikit-learn predicts with one thread; with several it adds up its trees in an order that
    varies, and the last bits of its own results with it.

    Parameters
    ----------
    model : estimator of a tree, a forest or gradient boosting, or RandomTreesEmbedding
        A fitted estimator of scikit-learn; it is not changed. Several outputs and missing values
        are fine.

    Returns
    -------
    estimator : object
        A fitted estimator of the class of the same name, with the same parameters. The samples that
        the trees of a forest were grown on are not known to it: it has no `estimators_samples_` and
        cannot be continued with ``warm_start=True``.

    Raises
    ------
    TypeError
        If the model is of another class.
    ValueError
        If the model is a `RandomTreesEmbedding` with `max_leaf_nodes`, which numbers its leaves in
        the order in which it has grown them.
    NotFittedError
        If the model is not fitted.

    Examples
    --------
    >>> import spinney
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomForestClassifier(random_state=0).fit(X, y)
    >>> (spinney.from_sklearn(model).predict_proba(X) == model.predict_proba(X)).all()
    np.True_
    """
    places = (sklearn.tree, sklearn.ensemble)
    ours = {
        name: own
        for name, own in list_classes()
        if any(hasattr(m, name) for m in places) and not name.startswith(_NOT_CONVERTED)
    }
    kind, name = type(model), type(model).__name__
    is_tree, is_forest = (kind is getattr(m, name, None) for m in places)
    if name not in ours or not (is_tree or is_forest):
        raise TypeError(
            f"model must be an estimator of one of scikit-learn's classes {', '.join(ours)}. "
            f"Got {model!r} instead."
        )
    check_is_fitted(model)
    convert = _CONVERSIONS.get(name, _convert_tree if is_tree else _convert_forest)
    return convert(ours[name], model)


def _convert_tree(estimator_class: Any, model: Any) -> Any:
    estimator = _start(estimator_class, model)
    estimator.tree_ = _convert_arrays(model.tree_)
    estimator.max_features_ = int(model.max_features_)
    estimator._with_missing = _NO_FEATURES
    return estimator


def _convert_forest(estimator_class: Any, model: Any) -> Any:
    estimator = _start(estimator_class, model)
    trees = model.estimators_
    estimator.forest_ = Forest(
        [_convert_arrays(tree.tree_) for tree in trees],
        [tree.random_state if isinstance(tree.random_state, int) else 0 for tree in trees],
    )
    growths = {
        n: Growth(estimator._select_estimator_params(), n, _NO_FEATURES)
        for n in {int(tree.max_features_) for tree in trees}
    }
    estimator._growths = [growths[int(tree.max_features_)] for tree in trees]
    estimator._draws = None
    return estimator


def _convert_boosting(estimator_class: Any, model: Any) -> Any:
    estimator = _start(estimator_class, model)
    trees = model.estimators_
    estimator.n_estimators_, estimator.n_trees_per_iteration_ = trees.shape
    estimator.max_features_ = int(model.max_features_)
    for name in ("init_", "train_score_", "oob_improvement_", "oob_scores_"):
        if name in vars(model):
            setattr(estimator, name, getattr(model, name))
    n_classes = [len(estimator.classes_)] if is_classifier(model) else None
    estimator._loss = estimator._make_loss(EncodedTarget(np.zeros((1, 1)), n_classes))
    estimator._find_start()
    # They were all drawn from one random state, which is not known any more.
    estimator.forest_ = Forest(
        [_convert_arrays(tree.tree_) for tree in trees.ravel()], list(range(trees.size))
    )
    growth = Growth(estimator._select_tree_params(), estimator.max_features_, _NO_FEATURES)
    estimator._growths = [(estimator.n_estimators_, growth)]
    return estimator


def _convert_isolation_forest(estimator_class: Any, model: Any) -> Any:
    estimator = _start(estimator_class, model)
    estimator.offset_ = float(model.offset_)
    estimator.max_samples_ = int(model.max_samples_)
    features = [np.asarray(own, dtype=np.int64) for own in model.estimators_features_]
    _set_random_trees(estimator, model, features)
    estimator._own_features = features
    return estimator


def _convert_embedding(estimator_class: Any, model: Any) -> Any:
    if model.max_leaf_nodes is not None:
        raise ValueError(
            "A RandomTreesEmbedding with max_leaf_nodes numbers its leaves in the order in which "
            f"it has grown them, and ours from left to right. Got {model!r}."
        )
    estimator = _start(estimator_class, model)
    _set_random_trees(estimator, model, [np.arange(model.n_features_in_)] * len(model.estimators_))
    return estimator


def _set_random_trees(estimator: Any, model: Any, features: list[NDArray[Any]]) -> None:
    """Give an estimator the trees of a model that predicts nothing, with lengths of paths.

    Parameters
    ----------
    estimator, model : estimator instance
    features : list of ndarray
        For each tree, the number that each of its features has in the model.
    """
    trees = [
        _convert_arrays(tree.tree_, (model.n_features_in_, own, _measure_paths(tree.tree_)))
        for tree, own in zip(model.estimators_, features, strict=True)
    ]
    estimator.forest_ = Forest(trees, [tree.random_state for tree in model.estimators_])
    growth = Growth(estimator._select_estimator_params(), 1, _NO_FEATURES)
    estimator._growths = [growth] * len(trees)
    estimator._draws = None


def _measure_paths(tree: Any) -> NDArray[np.float64]:
    """Return for each node the mean length of the paths that isolate its samples."""
    sizes, place = np.unique(tree.n_node_samples, return_inverse=True)
    lengths = np.array([mean_path_length(int(size)) for size in sizes])
    paths: NDArray[np.float64] = tree.compute_node_depths() - 1.0 + lengths[place]
    return paths.reshape(-1, 1, 1)


# Models that hold more than their trees say.
_CONVERSIONS: dict[str, Callable[[Any, Any], Any]] = {
    "GradientBoostingClassifier": _convert_boosting,
    "GradientBoostingRegressor": _convert_boosting,
    "IsolationForest": _convert_isolation_forest,
    "RandomTreesEmbedding": _convert_embedding,
}

# scikit-learn keeps binned trees of the first, and anyone's estimators of the others.
_NOT_CONVERTED = ("HistGradientBoosting", "AdaBoost", "Bagging")

# Where missing values go is known of every split; whether there were any is not.
_NO_FEATURES: NDArray[np.int64] = np.empty(0, dtype=np.int64)


def _start(estimator_class: Any, model: Any) -> Any:
    """Return an estimator with the parameters of a model, and what its `fit` found out."""
    known = estimator_class().get_params(deep=False)
    params = model.get_params(deep=False)
    estimator = estimator_class(**{name: params[name] for name in params if name in known})
    for name in _SHARED:
        if name in vars(model):
            setattr(estimator, name, getattr(model, name))
    estimator.n_features_in_ = int(model.n_features_in_)
    if "n_outputs_" not in vars(estimator_class):
        # Boosting has one, and does not say so there.
        estimator.n_outputs_ = int(getattr(model, "n_outputs_", 1))
    estimator.is_categorical_ = estimator.categories_ = None
    if is_classifier(model):
        labels = [model.classes_] if estimator.n_outputs_ == 1 else list(model.classes_)
        vars(estimator).update(make_class_attributes(labels))
    return estimator


def _convert_arrays(
    tree: Any, others: tuple[int, NDArray[Any], NDArray[np.float64]] | None = None
) -> Tree:
    """Return the arrays of a tree of scikit-learn in preorder, with thresholds for float64.

    Parameters
    ----------
    tree : sklearn.tree._tree.Tree
    others : tuple or None
        A number of features, the number that each of the tree's has among them, and the values of
        the nodes, in the place of the tree's own.
    """
    if others is None:
        others = int(tree.n_features), np.arange(tree.n_features), tree.value
    n_features, numbers, values = others
    left, right = tree.children_left, tree.children_right
    is_split = left >= 0
    order = np.arange(tree.node_count)
    if np.any(left[is_split] != order[is_split] + 1):
        # Trees that were grown best-first, or pruned.
        order = _find_preorder(left.tolist(), right.tolist())
    place = np.empty_like(order)
    place[order] = np.arange(order.shape[0])
    is_split = is_split[order]
    threshold = tree.threshold[order]
    threshold[is_split] = _move_to_rounding(threshold[is_split])
    links = [np.where(is_split, place[child[order]], -1) for child in (left, right)]
    return Tree(
        n_features,
        [int(n) for n in tree.n_classes],
        links[0].astype(np.int32),
        links[1].astype(np.int32),
        np.where(is_split, numbers[tree.feature[order]], -2).astype(np.int32),
        threshold,
        tree.missing_go_to_left[order].astype(np.uint8),
        tree.impurity[order],
        tree.n_node_samples[order].astype(np.int64),
        tree.weighted_n_node_samples[order],
        values[order],
    )


def _find_preorder(left: list[int], right: list[int]) -> NDArray[np.int64]:
    order, pending = [], [0]
    while pending:
        node = pending.pop()
        order.append(node)
        if left[node] >= 0:
            pending += (right[node], left[node])
    return np.array(order, dtype=np.int64)


def _move_to_rounding(threshold: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest numbers that are at most thresholds once they are rounded to float32."""
    below = round_down(threshold).astype(np.float32)
    above = np.nextafter(below, np.float32(np.inf))
    with np.errstate(invalid="ignore"):
        middle = (below.astype(np.float64) + above.astype(np.float64)) / 2
    # The number in the middle is rounded to the even one of its neighbours.
    is_even = below.view(np.uint32) % 2 == 0
    moved = np.where(is_even, middle, np.nextafter(middle, -np.inf))
    return np.where(np.isfinite(below) & np.isfinite(above), moved, threshold)
