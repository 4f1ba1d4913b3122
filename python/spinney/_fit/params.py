"""The parameters of the estimators: how `__init__` stores them, and which of them a tree has."""

from __future__ import annotations

from typing import Any

from sklearn.base import RegressorMixin

from spinney._common.messages import warn_caller

# What the compiled part reads to grow a tree, whatever the estimator. All other parameters of
# estimators are read in Python.
TREE_PARAMETERS = frozenset(
    {
        "category_order",
        "ccp_alpha",
        "criterion",
        "feature_sampling",
        "max_depth",
        "max_features",
        "max_leaf_nodes",
        "min_events_leaf",
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
# Those that only some of the estimators have.
_OF_SOME = frozenset({"category_order", "min_events_leaf", "quantile", "splitter"})


def store_parameters(arguments: dict[str, Any]) -> None:
    """Store the arguments of an `__init__` as attributes, unchanged, as scikit-learn requires.

    As there, the deprecated criterion "friedman_mse" is replaced, with a warning.

    Parameters
    ----------
    arguments : dict
        The `locals()` of `__init__` before anything else is assigned.
    """
    estimator = arguments["self"]
    for name, value in arguments.items():
        if name == "criterion" and isinstance(estimator, RegressorMixin):
            value = replace_friedman_mse(value)
        if name != "self":
            setattr(estimator, name, value)


def read_tree_parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters that trees are grown by, from the attributes of an estimator.

    As in scikit-learn they are not parameters of the `__init__` of every subclass.

    Raises
    ------
    AttributeError
        If the `__init__` of a subclass has not set a parameter.
    """
    names = sorted(TREE_PARAMETERS - _OF_SOME)
    names += [name for name in sorted(_OF_SOME) if hasattr(estimator, name)]
    return {name: getattr(estimator, name) for name in names}


def replace_friedman_mse(criterion: Any) -> Any:
    """Return the criterion; warn, as scikit-learn does, and replace it, if it is deprecated."""
    if not isinstance(criterion, str) or criterion != "friedman_mse":
        return criterion
    warn_caller(
        "criterion='friedman_mse' is deprecated, as in scikit-learn. It is the same as "
        "'squared_error'; use this name to remove the warning.",
        FutureWarning,
    )
    return "squared_error"
