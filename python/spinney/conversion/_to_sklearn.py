"""From estimators of spinney to fitted ones of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn.ensemble
import sklearn.tree
from numpy.typing import NDArray
from sklearn.base import is_classifier

from spinney._spinney import Tree

# Attributes that mean the same there.
_SHARED = (
    "feature_names_in_",
    "n_features_in_",
    "n_outputs_",
    "oob_decision_function_",
    "oob_prediction_",
    "oob_score_",
)
# What classes are called there that have another name here.
_NAMES = {"BalancedRandomForestClassifier": "RandomForestClassifier"}
# Criteria whose trees scikit-learn predicts with when values are missing.
_CRITERIA_WITH_MISSING = ("gini", "entropy", "log_loss", "squared_error", "friedman_mse", "poisson")


def convert_tree(estimator: Any) -> Any:
    """Return a fitted tree of scikit-learn that predicts as `estimator` does, which is fitted."""
    _check_expressible(estimator, estimator._with_missing)
    converted: Any = getattr(sklearn.tree, type(estimator).__name__)()
    _set_parameters(converted, estimator)
    _set_attributes(converted, estimator)
    converted.max_features_ = estimator.max_features_
    converted.tree_ = _convert_arrays(estimator.tree_, converted)
    return converted


def convert_forest(estimator: Any) -> Any:
    """Return a fitted forest of scikit-learn that predicts as `estimator` does."""
    with_missing = [growth.with_missing for growth in estimator._growths]
    _check_expressible(estimator, np.concatenate(with_missing))
    name = type(estimator).__name__
    converted: Any = getattr(sklearn.ensemble, _NAMES.get(name, name))()
    _set_parameters(converted, estimator)
    _set_attributes(converted, estimator)
    # Each tree is unpacked, converted and dropped.
    trees = (
        estimator._make_tree_estimator(number, seed)
        for number, seed in enumerate(estimator.forest_.seeds)
    )
    converted.estimator_ = type(converted.estimator)()
    converted.estimators_ = [_convert_tree_of_forest(tree) for tree in trees]
    return converted


def convert_boosting(estimator: Any) -> Any:
    """Return fitted gradient boosting of scikit-learn that predicts as `estimator` does."""
    _check_is_numeric(estimator)
    name = type(estimator).__name__
    # The exact trees have no place in scikit-learn's histogram boosting.
    theirs = name.removeprefix("Hist")
    if any(growth.with_missing.size for _, growth in estimator._growths):
        raise ValueError(
            f"This {name} was fitted to missing values, which scikit-learn's {theirs} does not "
            "take."
        )
    if estimator._loss.name == "deviance":
        raise ValueError(
            f"This {name} has loss={estimator.loss!r}, which scikit-learn's {theirs} does not have."
        )
    if estimator._loss.levels is not None:
        raise ValueError(
            f"scikit-learn's boosting predicts one quantile. This {name} predicts "
            f"{list(estimator._loss.levels)}: fit a model for each level, and convert these."
        )
    converted: Any = getattr(sklearn.ensemble, theirs)()
    _copy_parameters(converted, estimator)
    converted.set_params(n_estimators=estimator.n_estimators, learning_rate=estimator._rate)
    if estimator._loss.name == "quantile":
        converted.set_params(alpha=estimator._loss.parameter)
    _set_attributes(converted, estimator)
    for attribute in ("init_", "max_features_", "n_estimators_", "n_trees_per_iteration_"):
        setattr(converted, attribute, getattr(estimator, attribute))
    for attribute in ("train_score_", "oob_improvement_", "oob_scores_", "oob_score_"):
        if attribute in vars(estimator):
            setattr(converted, attribute, getattr(estimator, attribute))
    converted._loss = converted._get_loss(sample_weight=None)
    trees = estimator.estimators_
    converted.estimators_ = np.empty(trees.shape, dtype=object)
    for at, tree in np.ndenumerate(trees):
        converted.estimators_[at] = convert_tree(tree)
    return converted


def convert_isolation_forest(estimator: Any) -> Any:
    """Return a fitted isolation forest of scikit-learn that scores as `estimator` does."""
    _check_is_numeric(estimator)
    converted: Any = sklearn.ensemble.IsolationForest()
    _copy_parameters(converted, estimator)
    _set_attributes(converted, estimator)
    converted.offset_ = estimator.offset_
    converted.max_samples_ = converted._max_samples = estimator.max_samples_
    converted.estimator_ = converted._get_estimator()
    converted.estimators_ = [_convert_random_tree(tree) for tree in estimator.estimators_]
    everything = [np.arange(estimator.n_features_in_)] * len(converted.estimators_)
    converted.estimators_features_ = getattr(estimator, "estimators_features_", everything)
    # If there are fewer than all, scikit-learn gives each tree its own.
    converted._max_features = min(map(len, converted.estimators_features_))
    converted._decision_path_lengths, converted._average_path_length_per_tree = zip(
        *(_divide_path_lengths(tree.tree_) for tree in converted.estimators_), strict=True
    )
    return converted


def convert_embedding(estimator: Any) -> Any:
    """Return fitted random trees of scikit-learn that code samples as `estimator` does."""
    _check_is_numeric(estimator)
    converted: Any = sklearn.ensemble.RandomTreesEmbedding()
    _copy_parameters(converted, estimator)
    _set_attributes(converted, estimator)
    converted.n_outputs_ = 1
    converted.estimator_ = sklearn.tree.ExtraTreeRegressor()
    converted.estimators_ = [_convert_random_tree(tree) for tree in estimator.estimators_]
    converted.one_hot_encoder_ = estimator.one_hot_encoder_
    converted._n_features_out = sum(map(len, converted.one_hot_encoder_.categories_))
    return converted


def _convert_random_tree(tree: Any) -> Any:
    converted: Any = sklearn.tree.ExtraTreeRegressor(max_features=1)
    _set_attributes(converted, tree)
    converted.max_features_ = 1
    converted.random_state = tree.random_state
    converted.tree_ = _convert_arrays(tree.tree_, converted)
    return converted


def _divide_path_lengths(tree: Any) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return for each node the nodes above it and itself, and what its samples add to a path."""
    n_nodes = tree.compute_node_depths()
    return n_nodes, tree.value[:, 0, 0] - (n_nodes - 1)


def _convert_tree_of_forest(tree: Any) -> Any:
    converted = convert_tree(tree)
    # A seed that scikit-learn refuses: tools that repeat the draws of its forests would otherwise
    # take rows for seen that the tree has not seen.
    converted.random_state = tree.random_state
    return converted


def _check_expressible(estimator: Any, with_missing: NDArray[np.int64]) -> None:
    """Raise ValueError for what scikit-learn has nothing for."""
    name = type(estimator).__name__
    _check_is_numeric(estimator)
    if estimator.criterion == "quantile" and estimator.quantile != 0.5:
        raise ValueError(
            f"This {name} predicts quantiles of level {estimator.quantile}, for which scikit-learn "
            "has no criterion."
        )
    criterion = _convert_criterion(estimator.criterion)
    if with_missing.size and criterion not in _CRITERIA_WITH_MISSING:
        raise ValueError(
            f"This {name} was fitted to missing values, which scikit-learn's trees do not take "
            f"with criterion={criterion!r}."
        )
    if with_missing.size and estimator.monotonic_cst is not None:
        raise ValueError(
            f"This {name} was fitted to missing values, which scikit-learn's trees do not take "
            "with monotonic constraints."
        )


def _check_is_numeric(estimator: Any) -> None:
    """Raise ValueError if there are categorical features."""
    if estimator.is_categorical_ is not None:
        raise ValueError(
            f"This {type(estimator).__name__} has categorical features, and scikit-learn's trees "
            "have no splits by sets of categories. Fit to one-hot columns instead, or use "
            "to_treelite."
        )


def _convert_criterion(criterion: str) -> str:
    """Return the criterion that scikit-learn has for the one that a tree was grown by."""
    return "absolute_error" if criterion == "quantile" else criterion


def _set_parameters(converted: Any, estimator: Any) -> None:
    """Give a converted estimator the parameters that it has in common with the original."""
    _copy_parameters(converted, estimator)
    converted.criterion = _convert_criterion(estimator.criterion)
    if getattr(estimator, "bootstrap", None) == "poisson":
        converted.bootstrap = True


def _copy_parameters(converted: Any, estimator: Any) -> None:
    known = converted.get_params(deep=False)
    params = estimator.get_params(deep=False)
    converted.set_params(**{name: params[name] for name in params if name in known})
    if isinstance(params["random_state"], (int, np.integer)) and params["random_state"] >= 2**32:
        # scikit-learn takes no such number, and has another random stream.
        converted.random_state = None


def _set_attributes(converted: Any, estimator: Any) -> None:
    for name in _SHARED:
        if name in vars(estimator):
            setattr(converted, name, getattr(estimator, name))
    if is_classifier(estimator):
        converted.classes_ = estimator.classes_
        converted.n_classes_ = estimator.n_classes_
        if estimator.n_outputs_ > 1 and hasattr(converted, "estimators"):
            converted.n_classes_ = list(estimator.n_classes_)


def _convert_arrays(tree: Tree, estimator: Any) -> Any:
    """Return scikit-learn's object for the arrays of a tree."""
    # Any tree has the class and the type of nodes that are wanted.
    example = sklearn.tree.DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0]).tree_
    state = example.__getstate__()
    is_split = tree.children_left >= 0
    threshold = tree.threshold[is_split]
    if np.any(threshold == -np.inf):
        raise ValueError(
            f"This {type(estimator).__name__} has cuts at infinite values, which scikit-learn does "
            "not take."
        )
    nodes = np.zeros(tree.node_count, dtype=state["nodes"].dtype)
    nodes["left_child"] = tree.children_left
    nodes["right_child"] = tree.children_right
    nodes["feature"] = tree.feature
    nodes["threshold"] = tree.threshold
    nodes["threshold"][is_split] = round_down(threshold)
    nodes["impurity"] = tree.impurity
    nodes["n_node_samples"] = tree.n_node_samples
    nodes["weighted_n_node_samples"] = tree.weighted_n_node_samples
    nodes["missing_go_to_left"] = tree.missing_go_to_left
    converted = type(example)(tree.n_features, tree.n_classes.astype(np.intp), tree.n_outputs)
    values = np.array(tree.value, dtype=np.float64, order="C")
    converted.__setstate__(
        state
        | {
            "max_depth": tree.max_depth,
            "node_count": tree.node_count,
            "nodes": nodes,
            "values": values,
        }
    )
    return converted


def round_down(threshold: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest values of float32 that are not above thresholds, as float64.

    A value of float32 is at most a threshold if and only if it is at most the rounded threshold. A
    threshold below all finite values of float32 stays as it is.
    """
    with np.errstate(over="ignore"):
        nearest = threshold.astype(np.float32)
    below = np.nextafter(nearest, np.float32(-np.inf))
    rounded = np.where(nearest > threshold, below, nearest).astype(np.float64)
    return np.where(np.isfinite(rounded), rounded, threshold)
