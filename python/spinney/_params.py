"""The parameters of the estimators: how `__init__` stores them, and which of them a tree has."""

from __future__ import annotations

from typing import Any

# What the compiled part reads to grow a tree, whatever the estimator. All other parameters of
# estimators are read in Python.
TREE_PARAMETERS = frozenset(
    {
        "ccp_alpha",
        "criterion",
        "feature_sampling",
        "max_depth",
        "max_features",
        "max_leaf_nodes",
        "min_impurity_decrease",
        "min_samples_category",
        "min_samples_leaf",
        "min_samples_split",
        "min_weight_fraction_leaf",
        "monotonic_cst",
        "quantile",
        "splitter",
    }
)


def store_parameters(arguments: dict[str, Any]) -> None:
    """Store the arguments of an `__init__` as attributes, unchanged, as scikit-learn requires.

    Parameters
    ----------
    arguments : dict
        The `locals()` of `__init__` before anything else is assigned.
    """
    estimator = arguments["self"]
    for name, value in arguments.items():
        if name != "self":
            setattr(estimator, name, value)


def select_tree_parameters(params: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that a tree is grown by."""
    return {name: value for name, value in params.items() if name in TREE_PARAMETERS}
