"""Categories that did not occur in `fit`: what predictions say of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney._common.messages import warn_caller
from spinney._data.levels import Unhashable, find_used, list_items

UNKNOWN = ("ignore", "error")
"""The legal values of `handle_unknown`."""

# How many values a message lists.
_LISTED = 5

# The messages of a call that asks for several predictions of the same rows; None outside of one.
_TOLD: ContextVar[set[str] | None] = ContextVar("_TOLD", default=None)
_IS_SILENT: ContextVar[bool] = ContextVar("_IS_SILENT", default=False)


@contextmanager
def tell_once() -> Iterator[None]:
    """Give the same warning only once in the context, which asks for several predictions."""
    outer = _TOLD.get()
    token = _TOLD.set(set() if outer is None else outer)
    try:
        yield
    finally:
        _TOLD.reset(token)


@contextmanager
def tell_nothing() -> Iterator[None]:
    """Give no warning in the context, whose rows are no user's: nobody could act on it."""
    token = _IS_SILENT.set(True)
    try:
        yield
    finally:
        _IS_SILENT.reset(token)


class _Feature(NamedTuple):
    """A feature without any known category."""

    name: str
    n_distinct: int
    example: Any
    kinds: list[str]
    known_kinds: list[str]

    def __str__(self) -> str:
        """Return what is to be said of the feature."""
        values = "value" if self.n_distinct == 1 else "distinct values"
        text = f"{self.name} ({self.n_distinct} {values}, such as {self.example!r}"
        if self.known_kinds and not set(self.kinds) & set(self.known_kinds):
            kinds, known_kinds = " or ".join(self.kinds), " or ".join(self.known_kinds)
            text += f", of the type {kinds}, where `fit` got the type {known_kinds}"
        return text + ")"


class UnknownCategories:
    """Notes the unknown categories of one matrix, and warns of them or raises an error.

    Parameters
    ----------
    estimator : estimator instance
        It is fitted, and has categorical features.
    handle_unknown : {"ignore", "error"}
    is_one_row : bool
        Whether the matrix has one row.
    """

    def __init__(self, estimator: Any, handle_unknown: str, *, is_one_row: bool) -> None:
        self._estimator = estimator
        self._is_one_row = is_one_row
        self._refuses = handle_unknown == "error"
        self._features: list[_Feature] = []

    def note(
        self,
        feature: int,
        values: NDArray[Any],
        codes: NDArray[np.float64],
        places: NDArray[np.integer[Any]] | None,
    ) -> None:
        """Look at the values of a feature.

        Parameters
        ----------
        feature : int
        values : ndarray
            They may repeat.
        codes : ndarray of float64
            Their codes: NaN if missing, the number of known categories if unknown.
        places : ndarray of int or None
            For each row the index of its value, -1 if it is missing. None if rows have all values.

        Raises
        ------
        ValueError
            If a category is unknown and the estimator refuses such.
        """
        known = self._estimator.categories_[feature]
        are_unknown = codes == known.shape[0]
        if not are_unknown.any():
            return
        if places is not None:
            # No row may have some of the values, such as unused levels of pandas.
            used = find_used(values.shape[0], places)
            values, codes, are_unknown = values[used], codes[used], are_unknown[used]
            if not are_unknown.any():
                return
        name = self._name(feature)
        if self._refuses:
            unknown = list(dict.fromkeys(list_items(values[are_unknown])))
            more = f" and {len(unknown) - _LISTED} more" if len(unknown) > _LISTED else ""
            raise ValueError(
                f"Found unknown categories {unknown[:_LISTED]}{more} in the categorical feature "
                f"{name}, whose {known.shape[0]} categories are in categories_[{feature}]. "
                "handle_unknown='error' refuses them; handle_unknown='ignore' predicts."
            )
        if (codes < known.shape[0]).any():
            return
        unknown = list(dict.fromkeys(list_items(values[are_unknown])))
        kinds, known_kinds = _list_kinds(unknown), _list_kinds(list_items(known))
        if self._is_one_row and set(kinds) & set(known_kinds):
            # One row may well have a new category: that is nothing to warn of.
            return
        self._features.append(_Feature(name, len(unknown), unknown[0], kinds, known_kinds))

    def tell(self) -> None:
        """Warn of the features without any known category."""
        if not self._features or _IS_SILENT.get():
            return
        message = (
            "No category that occurs is known from `fit`, of the categorical feature "
            f"{', '.join(map(str, self._features))}. Splits send unknown categories to the child "
            "of larger weight; handle_unknown='error' refuses them."
        )
        told = _TOLD.get()
        if told is not None:
            if message in told:
                return
            told.add(message)
        warn_caller(message)

    def _name(self, feature: int) -> str:
        names = getattr(self._estimator, "feature_names_in_", None)
        return f"at index {feature}" if names is None else repr(str(names[feature]))


def _list_kinds(values: list[Any]) -> list[str]:
    """Return the names of the types of values; all numbers have one, as equal ones are equal."""
    return sorted(set(map(_name_kind, values)))


def _name_kind(value: Any) -> str:
    if isinstance(value, Unhashable):
        return value.kind
    return "number" if isinstance(value, Number) else type(value).__name__
