"""Data frames of pandas and polars, and of other libraries that have the same methods."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_CATEGORICAL_DTYPES = {"CategoricalDtype", "Categorical", "Enum"}


def is_frame(X: Any) -> bool:
    """Return whether X is a data frame."""
    return hasattr(X, "columns") and (_is_like_pandas(X) or hasattr(X, "to_series"))


def is_sparse_frame(frame: Any) -> bool:
    """Return whether all columns of a frame are sparse columns of pandas."""
    return all(hasattr(dtype, "fill_value") for dtype in frame.dtypes)


def find_categorical_dtypes(frame: Any) -> NDArray[np.bool_]:
    """Return for each column of a frame whether its dtype is categorical."""
    return np.array([type(dtype).__name__ in _CATEGORICAL_DTYPES for dtype in frame.dtypes], bool)


def get_column(X: Any, feature: int) -> Any:
    """Return a column of a frame or of an array."""
    if isinstance(X, np.ndarray):
        return X[:, feature]
    return X.iloc[:, feature] if _is_like_pandas(X) else X.to_series(feature)


def select_columns(X: Any, features: NDArray[np.intp]) -> Any:
    """Return columns of a frame or of an array as a frame or an array."""
    if isinstance(X, np.ndarray):
        return X[:, features]
    if _is_like_pandas(X):
        return X.iloc[:, features]
    names = X.columns
    return X.select([names[feature] for feature in features])


def _is_like_pandas(X: Any) -> bool:
    return hasattr(X, "iloc")
