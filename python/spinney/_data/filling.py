"""Arrays and frames with values in the cells where some are missing."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Number
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from spinney._data.categories import Categories, are_floats
from spinney._data.frames import get_column, get_names, is_frame, replace_columns
from spinney._data.ranges import Range, find_range, to_kind


def find_ranges(
    X: Any, numbers: NDArray[np.float64], features: Iterable[int]
) -> list[Range | None]:
    """Return the ranges of the known values of some columns; None for all others.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_features)
    numbers : ndarray of shape (n_samples, n_features)
        X as numbers, NaN where a value is missing.
    features : iterable of int
        The columns. They are not categorical, and have some known value.

    Raises
    ------
    TypeError
        If a column holds strings.
    """
    X = _as_cells(X)
    ranges: list[Range | None] = [None] * numbers.shape[1]
    for feature in features:
        column, name = _read_column(X, feature)
        ranges[feature] = find_range(column, numbers[:, feature], name)
    return ranges


def fill_cells(
    X: Any,
    old: NDArray[np.float64],
    new: NDArray[np.float64],
    categories: Categories | None,
    ranges: list[Range | None],
) -> Any:
    """Return a copy of a matrix with new values where there were none.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_features)
        It is not changed.
    old, new : ndarray of shape (n_samples, n_features)
        Its numbers and codes, NaN where a value is missing, and the same with values there.
    categories : list of (ndarray or None), or None
        The categories of each categorical feature, which codes stand for.
    ranges : list of (tuple or None)
        What `find_ranges` returned: new values lie within.

    Returns
    -------
    X : ndarray or data frame
        Frames stay what they are, with the types of their columns. Of other matrices an array: of
        float64, or of objects where categories are no numbers.

    Raises
    ------
    ValueError
        If the type of a column does not have a new value.
    """
    X = _as_cells(X)
    filled: dict[int, tuple[NDArray[np.intp], Any]] = {}
    for feature in np.flatnonzero(np.isnan(old).any(axis=0)).tolist():
        rows = np.flatnonzero(np.isnan(old[:, feature]))
        numbers = new[rows, feature]
        known, limits = None if categories is None else categories[feature], ranges[feature]
        if known is not None:
            filled[feature] = rows, known[numbers.astype(np.intp)]
        else:
            assert limits is not None
            filled[feature] = rows, to_kind(numbers, _read_column(X, feature)[0], limits)
    if is_frame(X):
        names = get_names(X)
        columns = {
            feature: _fill_column(get_column(X, feature), names[feature], rows, values)
            for feature, (rows, values) in filled.items()
        }
        return replace_columns(X, columns)
    array = X.astype(np.float64 if all(map(are_floats, categories or ())) else object)
    for feature, (rows, values) in filled.items():
        array[rows, feature] = values
    return array


def _as_cells(X: Any) -> Any:
    """Return X as a frame or an array, which has the cells of a list as they are."""
    if is_frame(X):
        return X
    return np.array(X, dtype=object) if isinstance(X, (list, tuple)) else np.asarray(X)


def _read_column(X: Any, feature: int) -> tuple[NDArray[Any] | nw.Series[Any], str]:
    """Return a column and what messages call it."""
    if isinstance(X, np.ndarray):
        return X[:, feature], f"at index {feature}"
    return get_column(X, feature), repr(get_names(X)[feature])


def _fill_column(column: nw.Series[Any], name: Any, rows: NDArray[np.intp], values: Any) -> Any:
    """Return a column of a frame, as its library has it, with values in some rows."""
    if rows.shape[0] == len(column) and not _is_type_of(column, values):
        # A column without a value has the type that its library gives to missing values alone.
        return _make_column(column, values, None).to_native()
    try:
        if hasattr(column.to_native(), "iloc"):
            return _fill_pandas_column(column, rows, values)
        return column.scatter(rows.tolist(), _make_column(column, values, column.dtype)).to_native()
    except Exception as error:
        # Each library has exceptions of its own.
        raise ValueError(
            f"The column {name!r} must have a type that has the predicted values, as in fit. Got "
            f"the type {column.dtype}, and the value {values[0]!r} among others: {error}"
        ) from error


def _fill_pandas_column(column: nw.Series[Any], rows: NDArray[np.intp], values: Any) -> Any:
    native = column.to_native()
    dtype = native.dtype
    if hasattr(dtype, "categories"):
        known = set(dtype.categories)
        unknown = [value for value in dict.fromkeys(list(values)) if value not in known]
        if unknown and dtype.ordered:
            raise ValueError("the ordered type does not have it")
        native = native.cat.add_categories(unknown)
    is_sparse = hasattr(dtype, "fill_value")
    native = native.sparse.to_dense() if is_sparse else native.copy()
    items = _make_column(column, values, native.dtype).to_native()
    native.iloc[rows] = items.array
    return native.astype(dtype) if is_sparse else native


def _make_column(column: nw.Series[Any], values: Any, dtype: Any) -> nw.Series[Any]:
    """Return a column of values, of a type or, if that is None, of their own, for a library."""
    native = column.to_native()
    made: nw.Series[Any]
    if hasattr(native, "iloc"):
        index = None if dtype is not None else native.index
        made = nw.from_native(type(native)(values, index, dtype), series_only=True)
    else:
        items = _list_items(values, column)
        made = nw.new_series(column.name, items, dtype, backend=column.implementation)
    is_infinite = made.dtype.is_float() and bool(np.isinf(made.to_numpy()).any())
    if is_infinite and not np.isinf(np.asarray(values, dtype=np.float64)).any():
        raise OverflowError("it is too large")
    return made


def _list_items(values: Any, column: nw.Series[Any]) -> list[Any]:
    """Return values as objects of which a library makes a column of the type of this one."""
    if isinstance(values, list):
        return values
    if values.dtype.kind in "mM" and column.dtype.is_temporal():
        # Their numbers are the same in all time zones.
        values = values.astype(column.head(0).to_numpy().dtype).astype(np.int64)
    items: list[Any] = values.tolist()
    return items


def _is_type_of(column: nw.Series[Any], values: Any) -> bool:
    """Return whether the type of a column, which has no value, is one of such values."""
    native, dtype = column.to_native(), column.dtype
    if str(getattr(native, "dtype", "")) == "object":
        # narwhals says what the values are.
        return True
    if isinstance(dtype, (nw.Categorical, nw.Enum)):
        return True
    if dtype == nw.Unknown:
        # Of pandas it is a type of its own, such as a sparse one; else that of missing values.
        return hasattr(native, "iloc")
    is_of_numbers = dtype.is_numeric() or dtype == nw.Boolean
    return is_of_numbers == isinstance(values[0], (Number, np.bool_))
