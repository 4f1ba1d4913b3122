"""Names of features, as scikit-learn reads and compares them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from spinney._common.messages import warn_caller

# How many names a message lists.
_LISTED = 5


class _Named(BaseEstimator):
    """Has the names of features that scikit-learn reads from a matrix."""


def read_names(X: Any) -> NDArray[Any] | None:
    """Return the names of the features of a matrix, or None."""
    named = _Named()
    validate_data(named, X, skip_check_array=True)
    names: NDArray[Any] | None = getattr(named, "feature_names_in_", None)
    return names


def check_names(estimator: Any, known: NDArray[Any] | None, names: NDArray[Any] | None) -> None:
    """Raise ValueError unless the features have the known names; warn if only one has any.

    Both are in scikit-learn's words.

    Parameters
    ----------
    estimator : estimator instance
        What the warning names.
    known : ndarray of str or None
        The names that the features had in an earlier call.
    names : ndarray of str or None
        The names that they have now.
    """
    if known is not None and names is not None:
        if not np.array_equal(known, names):
            raise ValueError(describe_difference(list(known), list(names)))
    elif names is not None:
        warn_caller(
            f"X has feature names, but {type(estimator).__name__} was fitted without feature names"
        )
    elif known is not None:
        warn_caller(
            f"X does not have valid feature names, but {type(estimator).__name__} was fitted with "
            "feature names"
        )


def check_names_in(estimator: Any, input_features: Any) -> None:
    """Raise ValueError unless these are the names of the features of a fitted estimator.

    Parameters
    ----------
    estimator : estimator instance
        A fitted one.
    input_features : array-like of str or None
        None is always right.
    """
    if input_features is None:
        return
    names = np.asarray(input_features, dtype=object)
    known = getattr(estimator, "feature_names_in_", None)
    if known is not None and not np.array_equal(known, names):
        raise ValueError("input_features is not equal to feature_names_in_")
    if names.shape != (estimator.n_features_in_,):
        raise ValueError(
            "input_features should have length equal to number of features "
            f"({estimator.n_features_in_}), got {len(names)}"
        )


def keep_names(estimator: Any, before: dict[str, Any]) -> None:
    """Check the names of the features against the names of an earlier call, which stay.

    scikit-learn's `partial_fit` does the same.

    Parameters
    ----------
    estimator : estimator instance
        Has the names of the features of this call.
    before : dict
        The attributes that the earlier call has set.
    """
    name = "feature_names_in_"
    known = before.get(name)
    check_names(estimator, known, vars(estimator).pop(name, None))
    if known is not None:
        setattr(estimator, name, known)


def describe_difference(known: list[Any], names: list[Any]) -> str:
    """Return what is wrong with the names of features, in scikit-learn's words."""
    message = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(names) - set(known)), sorted(set(known) - set(names))
    for title, differing in (
        ("Feature names unseen at fit time:", unseen),
        ("Feature names seen at fit time, yet now missing:", missing),
    ):
        if differing:
            more = ["- ..."] if len(differing) > _LISTED else []
            lines = [f"- {name}" for name in differing[:_LISTED]]
            message += "\n".join([title, *lines, *more]) + "\n"
    if not unseen and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    return message
