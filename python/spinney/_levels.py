"""The categories of one column: its distinct values, and the code of the value in each row."""

from __future__ import annotations

from numbers import Number
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Levels(NamedTuple):
    """A column as distinct values and codes, which are indices into the distinct values."""

    values: NDArray[Any]
    """The distinct values, ascending, except that 0 comes first."""
    codes: NDArray[np.intp]
    """The code of each row; -1 where the value is missing."""


def find_levels(column: Any, name: str) -> Levels:
    """Return the distinct values of a column and the code of each row.

    Parameters
    ----------
    column : ndarray, or column of a data frame
    name : str
        What messages call the feature.
    """
    if hasattr(column, "cat") and hasattr(column.dtype, "categories"):
        pandas_codes = getattr(column.cat, "codes", None)
        if pandas_codes is not None:
            categories = column.cat.categories.to_numpy()
            return _drop_unused(categories, pandas_codes.to_numpy(), name)
    present, missing = _split_missing(column)
    values, codes = _find_distinct(present, name)
    if missing is not None:
        everywhere = np.full(missing.shape, -1, dtype=np.intp)
        everywhere[~missing] = codes
        codes = everywhere
    return _put_zero_first(values, codes)


def list_items(values: NDArray[Any]) -> list[Any]:
    """Return the values as objects that are equal if they are the same category.

    Numbers and strings become those of Python, which are equal across dtypes. Dates stay those of
    NumPy, because as Python's they would lose their unit.
    """
    return list(values) if values.dtype.kind in "mM" else values.tolist()


def _split_missing(column: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return values that are not missing, and which rows are missing.

    The latter is None for arrays that have no missing values and for arrays of objects, among which
    `_find_distinct` finds them.
    """
    missing: NDArray[np.bool_] | None
    if isinstance(column, np.ndarray):
        if column.dtype.kind not in "fmM":
            return column, None
        # NaN and NaT differ from themselves.
        missing = column != column
        present = column[~missing]
    elif hasattr(column, "isna"):
        missing = np.array(column.isna().to_numpy())
        present = column[~missing].to_numpy()
    else:
        missing = np.array(column.is_null().to_numpy())
        present = column.drop_nulls().to_numpy()
    if present.dtype.kind == "f":
        # In polars NaN is not null.
        is_nan = np.isnan(present)
        missing[np.flatnonzero(~missing)[is_nan]] = True
        present = present[~is_nan]
    return present, missing


def _find_distinct(values: NDArray[Any], name: str) -> Levels:
    """Return the distinct values, ascending, and the code of each; -1 for None, NA and NaN."""
    if values.dtype.kind != "O":
        distinct, codes = np.unique(values, return_inverse=True)
        return Levels(distinct, codes.reshape(-1))
    cells = values.tolist()
    try:
        different = set(cells)
    except TypeError:
        raise TypeError(
            f"Categorical feature {name} must hold strings, numbers or other values that can be "
            "hashed and sorted."
        ) from None
    present = _sort([value for value in different if not _is_missing(value)], name)
    code_of = dict.fromkeys(different, -1)
    code_of.update((value, code) for code, value in enumerate(present))
    codes = np.fromiter(map(code_of.__getitem__, cells), dtype=np.intp, count=len(cells))
    return Levels(_make_object_array(present), codes)


def _drop_unused(categories: NDArray[Any], codes: NDArray[Any], name: str) -> Levels:
    """Return the levels of a column that is given as categories in any order and codes of these.

    Categories that no row has are left out, because they are not distinct values of the column.
    """
    # The last entry is that of the code -1, of missing values.
    occurs = np.zeros(categories.shape[0] + 1, dtype=bool)
    occurs[codes] = True
    used = np.flatnonzero(occurs[:-1])
    values, new_codes = _find_distinct(categories[used], name)
    new_code_of = np.full(categories.shape[0] + 1, -1, dtype=np.intp)
    new_code_of[used] = new_codes
    return _put_zero_first(values, new_code_of[codes])


def _put_zero_first(values: NDArray[Any], codes: NDArray[np.intp]) -> Levels:
    """Return levels in which 0, if it is among the ascending values, has code 0."""
    if values.dtype.kind == "O":
        zeros = [code for code, value in enumerate(values) if _is_zero(value)]
    elif values.dtype.kind in "biuf":
        zeros = np.flatnonzero(values == 0).tolist()
    else:
        zeros = []
    if not zeros:
        return Levels(values, codes)
    zero = zeros[0]
    values = np.concatenate([values[zero : zero + 1], values[:zero], values[zero + 1 :]])
    if values.dtype.kind == "f":
        # The column may have -0.0, which is the same category as 0.0.
        values[0] = 0.0
    # The last entry is that of the code -1, of missing values.
    new_code_of = np.arange(values.shape[0] + 1)
    new_code_of[:zero] += 1
    new_code_of[zero] = 0
    new_code_of[-1] = -1
    return Levels(values, new_code_of[codes])


def _sort(values: list[Any], name: str) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:
        kinds = sorted({type(value).__name__ for value in values})
        raise TypeError(
            f"Categorical feature {name} must hold values that can be sorted, such as only strings "
            f"or only numbers. Got values of the types {', '.join(kinds)} instead."
        ) from None


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    differs = value != value
    # The comparison of pandas.NA with itself gives NA instead of a bool.
    return not isinstance(differs, (bool, np.bool_)) or bool(differs)


def _is_zero(value: Any) -> bool:
    is_number = isinstance(value, Number)
    return is_number and bool(value == 0)


def _make_object_array(values: list[Any]) -> NDArray[Any]:
    # np.array would make an array of two dimensions of tuples that have the same length.
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
