"""Frames of pandas with nullable columns, as NumPy reads them."""

from __future__ import annotations

from typing import Any
from weakref import ref

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from spinney._data.frames import get_column, is_sparse_frame


def let_numpy_read_floats(frame: Any) -> Any:
    """Return the frame; NumPy now makes floats of it if its columns are all numbers or bools.

    Of nullable columns, such as Int64, pandas makes objects, even where no value is missing.
    scikit-learn's ColumnTransformer stacks what NumPy reads, so that all of its columns would
    become objects. The frame stays what it is. Its copies are read as pandas reads them.

    Parameters
    ----------
    frame : data frame
        Frames of other libraries than pandas are read as floats anyway.
    """
    if not has_own_types(frame):
        return frame
    # The frame holds the function, and so the function must not hold the frame.
    own, read_as_usual = ref(frame), type(frame).__array__

    def read(dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        frame = own()
        if dtype is None and _has_only_numbers(frame):
            dtype = np.float64
        array: NDArray[Any] = read_as_usual(frame, dtype, copy)
        return array

    # NumPy looks at the object before it looks at its class.
    object.__setattr__(frame, "__array__", read)
    return frame


def has_own_types(X: Any) -> bool:
    """Return whether X is a frame of pandas, not sparse, with types that NumPy does not have."""
    if not hasattr(X, "iloc") or X.ndim != 2 or is_sparse_frame(X):
        return False
    return any(not isinstance(dtype, np.dtype) for dtype in X.dtypes)


def to_array(frame: Any) -> NDArray[Any]:
    """Return what a frame of pandas holds: floats if all columns are numbers, else objects.

    scikit-learn cannot read nullable columns beside categories. Missing values are NaN.
    """
    dtype = np.float64 if _has_only_numbers(frame) else object
    array: NDArray[Any] = frame.to_numpy(dtype=dtype, na_value=np.nan)
    return array


def _has_only_numbers(frame: Any) -> bool:
    types = (get_column(frame, place).dtype for place in range(frame.shape[1]))
    return all(dtype.is_numeric() or dtype == nw.Boolean for dtype in types)
