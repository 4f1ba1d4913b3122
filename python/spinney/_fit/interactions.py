"""Which features may interact in a tree."""

from __future__ import annotations

from itertools import combinations
from numbers import Integral
from typing import Any


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
        raise ValueError(
            f"'interaction_cst' must be 'pairwise', 'no_interactions' or a sequence, got "
            f"{interaction_cst!r}."
        )
    try:
        groups = [list(group) for group in interaction_cst]
    except TypeError:
        raise ValueError(
            "Interaction constraints must be a sequence of tuples or lists, got "
            f"interaction_cst={interaction_cst!r}."
        ) from None
    listed = [feature for group in groups for feature in group]
    illegal = [f for f in listed if not isinstance(f, Integral) or f not in features]
    if illegal:
        raise ValueError(
            "Interaction constraints must consist of integer indices in [0, n_features - 1] = "
            f"[0, {n_features - 1}], specifying the position of features, got interaction_cst with "
            f"{illegal!r}."
        )
    rest = sorted(set(features) - set(listed))
    numbers = [[int(feature) for feature in group] for group in groups]
    return [*numbers, rest] if rest else numbers
