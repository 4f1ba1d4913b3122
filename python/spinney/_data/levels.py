"""The categories of one column: its distinct values, and the code of the value in each row."""

from __future__ import annotations

from numbers import Number
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney._data import frames

# Integers up to this are exact as float64.
_EXACT = 2**53
# A sort of 100,000 values takes 5 ms, the look-up of this many distinct ones 0.1 ms.
_COUNTED = 1024
# Rows that are sorted at a time: a tenth of a second, for strings.
_ROWS_AT_ONCE = 1 << 17
# Rows that are looked at before it is asked whether all values have occurred.
_LOOKED_AT_FIRST = 1024
# A comparison of 20,000 places takes 3 us, and looking them up 25 us.
_SOUGHT = 6


class Unhashable:
    """Stands for a value that cannot be hashed, and is equal to no other."""

    def __init__(self, value: Any) -> None:
        self.kind = type(value).__name__
        self._text = repr(value)

    def __repr__(self) -> str:
        """Return how the value is written."""
        return self._text


class Levels(NamedTuple):
    """A column as values, and for each row the place of its value.

    The places number the values where the column came from, such as the categories of a
    series of pandas. So the column is read once: there are few values, and what is found
    out about them changes their places.
    """

    values: NDArray[Any]
    """The values: where `find_levels` returns them, they are distinct and ascending, or in the
    order of an ordered categorical type, except that 0 comes first."""
    places: NDArray[np.integer[Any]]
    """The place of each row's value; -1 where the value is missing."""
    of_places: NDArray[np.intp] | None
    """The index of the value of each place, and of the place -1 in the end; -1 for values that are
    missing. None if places are indices of values."""

    def with_zero(self) -> Levels:
        """Return levels that have 0, too, which none of the distinct values is."""
        assert self.of_places is not None
        of_places = np.where(self.of_places < 0, -1, self.of_places + 1)
        return Levels(np.insert(self.values, 0, 0.0), self.places, of_places)


Coded = tuple[NDArray[Any], NDArray[np.intp]]
"""Distinct values, and the index of its value for each of some others, which may be equal."""


def find_levels(column: Any, name: str) -> Levels:
    """Return the distinct values of a column and which of them each row has.

    Parameters
    ----------
    column : ndarray, or column of a data frame
    name : str
        What messages call the feature.

    Raises
    ------
    TypeError
        If the values cannot be hashed or sorted.
    """
    try:
        values, places = factorize(column)
    except TypeError:
        raise TypeError(
            f"Categorical feature {name} must hold strings, numbers or other values that can be "
            "hashed and sorted."
        ) from None
    used = find_used(values.shape[0], places)
    if not isinstance(column, np.ndarray) and frames.is_ordered(column):
        distinct, codes = values[used], np.arange(used.shape[0])
    else:
        distinct, codes = _find_distinct(values[used], name)
    distinct, codes = _put_zero_first(distinct, codes)
    of_places = np.full(values.shape[0] + 1, -1, dtype=np.intp)
    of_places[used] = codes
    return Levels(distinct, places, of_places)


def find_used(n: int, places: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
    """Return the places, from 0 to n - 1, that occur."""
    # The last entry belongs to -1. Mostly a few rows have nearly all of the values.
    occurs = np.zeros(n + 1, dtype=bool)
    first, others = places[:_LOOKED_AT_FIRST], places[_LOOKED_AT_FIRST:]
    occurs[first.astype(np.intp)] = True
    unseen = (~occurs[:-1]).nonzero()[0]
    if unseen.shape[0] <= _SOUGHT:
        for place in unseen.tolist():
            occurs[place] = (others == place).any()
    else:
        # NumPy takes three times as long to look up by narrower indices.
        occurs[others.astype(np.intp, copy=False)] = True
    return occurs[:-1].nonzero()[0]


def factorize(column: Any) -> tuple[NDArray[Any], NDArray[np.integer[Any]]]:
    """Return values of a column and, for each row, the index of its value; -1 if it is missing.

    There may be values that no row has, and values that are missing or equal to others.

    Parameters
    ----------
    column : ndarray, or column of a data frame

    Raises
    ------
    TypeError
        If a value cannot be hashed.
    """
    if not isinstance(column, np.ndarray):
        return frames.factorize(column)
    if column.dtype.kind in "iuf" and (counted := _factorize_by_counting(column)) is not None:
        return counted
    if column.dtype.kind != "O":
        values, codes = np.unique(column, return_inverse=True)
        return values, codes.reshape(-1)
    cells = column.tolist()
    code_of: dict[Any, int] = {}
    for cell in cells:
        code_of.setdefault(cell, len(code_of))
    codes = np.fromiter(map(code_of.__getitem__, cells), dtype=np.intp, count=len(cells))
    return make_object_array(list(code_of)), codes


def number_distinct(column: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the distinct values, ascending, and for each row the index of its value.

    `np.unique` with `return_inverse` returns both, too, but sorts all rows, which takes eight
    times as long.

    Parameters
    ----------
    column : ndarray of shape (n_samples,)
        Of any dtype that NumPy sorts.
    """
    if column.dtype.kind in "iu" and (counted := _factorize_by_counting(column)) is not None:
        values, codes = counted
        is_present = np.bincount(codes, minlength=values.shape[0]) > 0
        numbers = np.cumsum(is_present) - 1
        return values[is_present], numbers.take(codes)
    if column.dtype.kind == "O":
        # Objects are compared by Python, which takes twenty times as long as to hash them.
        values, places = factorize(column)
        distinct, ranks = np.unique(values, return_inverse=True)
        return distinct, ranks.reshape(-1).take(places)
    distinct = _unique_by_parts(column)
    numbers = np.empty(column.shape[0], dtype=np.intp)
    for start in range(0, column.shape[0], _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        numbers[rows] = np.searchsorted(distinct, column[rows])
    return distinct, numbers


def _unique_by_parts(column: NDArray[Any]) -> NDArray[Any]:
    """Return what `np.unique` returns, by parts: it sorts for seconds, and Ctrl-C has to wait."""
    if column.shape[0] <= _ROWS_AT_ONCE:
        return np.unique(column)
    starts = range(0, column.shape[0], _ROWS_AT_ONCE)
    return np.unique(
        np.concatenate([np.unique(column[start : start + _ROWS_AT_ONCE]) for start in starts])
    )


def _factorize_by_counting(column: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]] | None:
    """Factorize integers of a small range, of any dtype, without a sort; None for others."""
    # The column of a matrix in C order is read several times.
    column = np.ascontiguousarray(column)
    if column.shape[0] == 0:
        return None
    # These ignore NaN, unless there is nothing else.
    low, high = np.fmin.reduce(column).item(), np.fmax.reduce(column).item()
    if not (-_EXACT < low <= high < _EXACT and high - low < _COUNTED):
        return None
    low = int(low)
    values = np.arange(low, int(high) + 1).astype(column.dtype)
    if column.dtype.kind == "f":
        # NaN is no number of a place, and differs from any value.
        places = np.nan_to_num(column, nan=low) if np.isnan(column).any() else column
        places = places.astype(np.int64)
        differs = column != places
        if differs.any():
            if not np.isnan(column[differs]).all():
                return None
            return values, np.where(differs, -1, places - low)
    else:
        places = column.astype(np.int64)
    return values, places - low if low != 0 else places


def list_items(values: NDArray[Any]) -> list[Any]:
    """Return the values as objects that are equal if they are the same category.

    Numbers and strings become objects of Python, which are equal across dtypes. Dates stay NumPy's
    own, because as Python's they would lose their unit.
    """
    return list(values) if values.dtype.kind in "mM" else values.tolist()


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NA, NaN or NaT."""
    if value is None:
        return True
    differs = value != value
    # The comparison of pandas.NA with itself gives NA instead of a bool.
    return not isinstance(differs, (bool, np.bool_)) or bool(differs)


def make_object_array(values: list[Any]) -> NDArray[Any]:
    """Return an array of objects of one dimension, also for values that are sequences."""
    # np.array would make an array of two dimensions of tuples that have the same length.
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _find_distinct(values: NDArray[Any], name: str) -> Coded:
    """Return the distinct values, ascending, and the code of each; -1 for missing ones."""
    codes = np.full(values.shape, -1, dtype=np.intp)
    if values.dtype.kind != "O":
        # NaN and NaT differ from themselves.
        present = values == values
        distinct, codes[present] = np.unique(values[present], return_inverse=True)
        return distinct, codes
    cells = values.tolist()
    are_strings = set(map(type, cells)) <= {str}
    present = set(cells) if are_strings else {cell for cell in cells if not is_missing(cell)}
    ordered = _sort(list(present), name)
    if ordered == cells:
        return values, np.arange(values.shape[0])
    code_of = {value: code for code, value in enumerate(ordered)}
    codes[:] = [code_of.get(cell, -1) for cell in cells]
    return make_object_array(ordered), codes


def _put_zero_first(values: NDArray[Any], codes: NDArray[np.intp]) -> Coded:
    """Return values and codes in which 0, if it is among the ascending values, has code 0."""
    if values.dtype.kind == "O":
        zeros = [code for code, value in enumerate(values) if _is_zero(value)]
    elif values.dtype.kind in "biuf":
        zeros = np.flatnonzero(values == 0).tolist()
    else:
        zeros = []
    if not zeros:
        return values, codes
    zero = zeros[0]
    values = np.concatenate([values[zero : zero + 1], values[:zero], values[zero + 1 :]])
    if values.dtype.kind == "f":
        # The column may have -0.0, which is the same category as 0.0.
        values[0] = 0.0
    # The last entry belongs to the code -1, of missing values.
    new_code_of = np.arange(values.shape[0] + 1)
    new_code_of[:zero] += 1
    new_code_of[zero] = 0
    new_code_of[-1] = -1
    return values, new_code_of[codes]


def _sort(values: list[Any], name: str) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:
        kinds = sorted({type(value).__name__ for value in values})
        raise TypeError(
            f"Categorical feature {name} must hold values that can be sorted, such as only strings "
            f"or only numbers. Got values of the types {', '.join(kinds)} instead."
        ) from None


def _is_zero(value: Any) -> bool:
    # Most categories are strings, and to ask the abstract class about them is slow.
    is_number = not isinstance(value, str) and isinstance(value, Number)
    return is_number and bool(value == 0)
