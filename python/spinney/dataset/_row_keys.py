"""Which rows a key in brackets means: an integer, a slice, a mask or a list, as in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_everything(key: Any) -> bool:
    """Return whether the key of an axis stands for all of it."""
    return key is Ellipsis or (isinstance(key, slice) and key == slice(None))


def list_rows(key: Any, n_rows: int) -> NDArray[np.uint32]:
    """Return the numbers of the rows that a key stands for."""
    if isinstance(key, slice):
        return np.ascontiguousarray(np.arange(n_rows, dtype=np.uint32)[key])
    rows = np.asarray(key)
    if rows.size == 0 and rows.dtype.kind == "f":
        # An empty list.
        rows = rows.astype(np.intp)
    if rows.ndim != 1 or rows.dtype.kind not in "biu":
        raise TypeError(
            "The rows of a Dataset must be a slice, or an array-like of ints or bools of one "
            f"dimension. Got {key!r} instead."
        )
    if rows.dtype.kind == "b":
        if rows.shape[0] != n_rows:
            raise IndexError(
                f"A mask of the rows of a Dataset must have {n_rows} values, one per row. "
                f"Got {rows.shape[0]} instead."
            )
        return np.flatnonzero(rows).astype(np.uint32)
    outside = (rows >= n_rows) | (rows < -n_rows) if rows.dtype.kind == "i" else rows >= n_rows
    if outside.any():
        raise IndexError(
            f"The rows of a Dataset must be ints from {-n_rows} to {n_rows - 1}. "
            f"Got {rows[outside][0]} instead."
        )
    if rows.dtype.kind == "i":
        rows = np.where(rows < 0, rows + n_rows, rows)
    return rows.astype(np.uint32)
