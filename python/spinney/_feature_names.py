"""Names of features, as scikit-learn reads and compares them."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

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
