"""Columns of dates, times and durations, which come back as they are."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from spinney._data.categorical_features import find_categorical_features
from spinney._data.frames import get_column, get_names, is_frame, is_of_time, replace_columns


def find_times(X: Any, categorical_features: Any) -> list[int]:
    """Return the places of the columns of a frame that hold dates and are not categorical.

    Parameters
    ----------
    X : array-like, data frame or Dataset
        Only frames have such columns.
    categorical_features : None, "from_dtype" or array-like of bool, int or str
        The parameter.
    """
    if not is_frame(X):
        return []
    mask = find_categorical_features(X, categorical_features)
    places = range(X.shape[1]) if mask is None else np.flatnonzero(~mask).tolist()
    return [place for place in places if is_of_time(get_column(X, place))]


def hide_columns(X: Any, places: list[int]) -> Any:
    """Return X, if it is a frame with zeros in the place of some columns.

    Raises
    ------
    TypeError
        If a value of these columns is missing.
    """
    if not places or not is_frame(X):
        return X
    zeros = {}
    for place in places:
        if place >= X.shape[1]:
            # What reads the frame counts its columns.
            break
        column = get_column(X, place)
        is_null = column.is_null()
        if is_null.any():
            raise TypeError(
                f"Column {get_names(X)[place]!r} of the type {column.dtype} must be complete: "
                "dates, times and durations come back as they are. To fill them, convert them to "
                "numbers, such as days since a date, or name the column in categorical_features."
            )
        zeros[place] = is_null.cast(nw.Float32).to_native()
    return replace_columns(X, zeros)
