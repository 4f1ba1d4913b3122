"""Which features may interact in a tree."""

from __future__ import annotations

from itertools import combinations
from numbers import Integral
from typing import Any

_LEGAL = (
    "'pairwise', 'no_interactions', or a sequence of collections of ints from 0 to {n_features} - 1"
)


def interaction_groups(interaction_cst: Any, n_features: int) -> list[list[int]] | None:
    """Return the groups of features that may be on one path, or None if all may.

    Features that are in no group are one more, as in scikit-learn's `HistGradientBoosting`.
    Raises ValueError for anything else than its forms.
    """
    if interaction_cst is None:
        return None
    features = range(n_features)
    if isinstance(interaction_cst, str):
        if interaction_cst == "pairwise":
            return [list(pair) for pair in combinations(features, 2)] or [[0]]
        if interaction_cst == "no_interactions":
            return [[feature] for feature in features]
        raise _illegal(interaction_cst, n_features)
    try:
        groups = [list(group) for group in interaction_cst]
    except TypeError:
        raise _illegal(interaction_cst, n_features) from None
    listed = [feature for group in groups for feature in group]
    if any(not isinstance(feature, Integral) or feature not in features for feature in listed):
        raise _illegal(interaction_cst, n_features)
    rest = sorted(set(features) - set(listed))
    numbers = [[int(feature) for feature in group] for group in groups]
    return [*numbers, rest] if rest else numbers


def _illegal(interaction_cst: Any, n_features: int) -> ValueError:
    legal = _LEGAL.format(n_features=n_features)
    return ValueError(f"interaction_cst must be {legal}. Got {interaction_cst!r}.")
