"""Arrays and frames with other values in some of their cells."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from spinney._data.categories import Categories
from spinney._data.frames import is_frame


def fill_cells(
    X: Any,
    old: NDArray[np.float64],
    new: NDArray[np.float64],
    categories: Categories | None,
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

    Returns
    -------
    X : ndarray or data frame
        Frames stay what they are, with the types of their columns. Of other matrices an array: of
        float64, or of objects where categories are no numbers.
    """
    filled = {}
    for feature in np.flatnonzero(np.isnan(old).any(axis=0)).tolist():
        rows = np.flatnonzero(np.isnan(old[:, feature]))
        values: NDArray[Any] = new[rows, feature]
        of_feature = None if categories is None else categories[feature]
        if of_feature is not None:
            values = of_feature[values.astype(np.intp)]
        filled[feature] = (rows, values)
    if is_frame(X):
        return _fill_frame(X, filled)
    array = np.asarray(X)
    array = array.astype(object if array.dtype.kind in "OSU" else np.float64)
    for feature, (rows, values) in filled.items():
        array[rows, feature] = values
    return array


def _fill_frame(X: Any, filled: dict[int, tuple[NDArray[np.intp], NDArray[Any]]]) -> Any:
    frame = nw.from_native(X, eager_only=True)
    names = frame.columns
    series = []
    for feature, (rows, values) in filled.items():
        column = frame[names[feature]]
        if column.dtype.is_integer():
            values = np.rint(values).astype(np.int64)
        elif column.dtype == nw.Boolean:
            values = values.astype(np.float64) >= 0.5
        if frame.implementation.is_pandas_like():
            native = nw.to_native(column).copy()
            native.iloc[rows] = values
            series.append(nw.from_native(native, series_only=True))
        else:
            items = nw.new_series(
                column.name, values.tolist(), column.dtype, backend=frame.implementation
            )
            series.append(column.scatter(rows.tolist(), items))
    return frame.with_columns(*series).to_native() if series else frame.clone().to_native()
