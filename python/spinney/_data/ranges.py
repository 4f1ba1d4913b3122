"""What a column of numbers holds: bools, whole numbers, decimals or floats, from which to which."""

from __future__ import annotations

from decimal import Decimal
from numbers import Integral
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from spinney._data.levels import is_missing

Range = tuple[Any, Any]
"""The least and the largest known value of a column of numbers: two bools, ints or floats."""

# What objects are: the first of these kinds that all of them belong to.
_KINDS: tuple[tuple[type, tuple[type, ...]], ...] = (
    (bool, (bool, np.bool_)),
    (int, (Integral, np.bool_)),
    (Decimal, (Decimal,)),
)


def find_range(
    column: NDArray[Any] | nw.Series[Any], numbers: NDArray[np.float64], name: str
) -> Range:
    """Return the least and the largest known value of a column. Their type tells what it holds.

    Parameters
    ----------
    column : ndarray or narwhals.Series of shape (n_samples,)
    numbers : ndarray of shape (n_samples,)
        The column as numbers, NaN where a value is missing. There are known values.
    name : str
        What messages call the column.

    Raises
    ------
    TypeError
        If the column holds strings.
    """
    kind = _find_kind(column)
    if kind is str:
        raise TypeError(
            f"Missing values among strings are filled with categories. Got strings in the column "
            f"{name}: name it in categorical_features, or convert it to numbers."
        )
    if kind is int:
        # As floats, integers above 2**53 would be rounded.
        if isinstance(column, nw.Series) and column.dtype.is_integer():
            return int(column.min()), int(column.max())
        cells = _list_cells(column)
        return int(min(cells)), int(max(cells))
    low, high = float(np.nanmin(numbers)), float(np.nanmax(numbers))
    return (bool(low), bool(high)) if kind is bool else (low, high)


def to_kind(
    values: NDArray[np.float64], column: NDArray[Any] | nw.Series[Any], limits: Range
) -> list[Any]:
    """Return predicted numbers as what a column holds, within the limits.

    Parameters
    ----------
    values : ndarray
    column : ndarray or narwhals.Series
        If it has no known value and its type does not tell, the limits do.
    limits : tuple
        What `find_range` returned.
    """
    low, high = limits
    kind = _find_kind(column) or type(low)
    # The mean of equal numbers may differ from them by rounding.
    values = np.clip(values, float(low), float(high))
    if kind is bool:
        return [value >= 0.5 for value in values.tolist()]
    if kind is int:
        low, high = round(low), round(high)
        return [min(max(int(value), low), high) for value in np.rint(values).tolist()]
    if kind is Decimal:
        n_digits = max(-cell.as_tuple().exponent for cell in _list_cells(column))
        return [round(Decimal(value), n_digits) for value in values.tolist()]
    floats: list[float] = values.tolist()
    return floats


def _find_kind(column: NDArray[Any] | nw.Series[Any]) -> type | None:
    """Return bool, int, Decimal, str or float, whatever a column holds; None if nothing tells."""
    if isinstance(column, nw.Series):
        dtype = column.dtype
        if dtype == nw.Boolean:
            return bool
        if dtype.is_integer() or dtype.is_float():
            return int if dtype.is_integer() else float
    elif column.dtype.kind != "O":
        # Arrays come back as floats.
        return float
    cells = _list_cells(column)
    if not cells:
        return None
    if any(isinstance(cell, (str, bytes)) for cell in cells):
        return str
    of_kinds = (kind for kind, types in _KINDS if all(isinstance(cell, types) for cell in cells))
    return next(of_kinds, float)


def _list_cells(column: NDArray[Any] | nw.Series[Any]) -> list[Any]:
    """Return the known values of a column, as objects."""
    cells = column.tolist() if isinstance(column, np.ndarray) else column.drop_nulls().to_list()
    return [cell for cell in cells if not is_missing(cell)]
