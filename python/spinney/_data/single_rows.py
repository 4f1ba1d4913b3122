"""What is no matrix of samples: rows, records, values; and what to pass instead."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Number
from typing import Any

import numpy as np
from scipy import sparse


def refuse_rows(X: Any) -> None:
    """Raise ValueError for a dict, dicts, a row or a value in the place of a matrix.

    scikit-learn says of them that they do not contain any features, or fails in other words, where
    the features have names or categories.
    """
    if sparse.issparse(X):
        # Some sparse matrices are dicts.
        return
    got = f"a {type(X).__name__}"
    is_list = isinstance(X, (list, tuple))
    shape = getattr(X, "shape", None)
    if isinstance(X, Mapping):
        if all(isinstance(value, str) or np.ndim(value) == 0 for value in X.values()):
            cure = "Pass a frame of one row: pandas.DataFrame([row])."
        else:
            cure = "Pass a frame: pandas.DataFrame(columns)."
    elif is_list and X and isinstance(X[0], Mapping):
        got += f" of {type(X[0]).__name__}"
        rows = "one row" if len(X) == 1 else "these rows"
        cure = f"Pass a frame of {rows}: pandas.DataFrame(rows)."
    elif _is_value(X) or shape == ():
        got, cure = f"scalar array instead:\narray={X!r}", "Pass a matrix or a frame."
    elif (
        (isinstance(shape, tuple) and len(shape) == 1)
        or (is_list and X and all(map(_is_value, X)))
        # An array of Arrow.
        or (hasattr(X, "to_pylist") and not hasattr(X, "schema"))
    ):
        n_values = shape[0] if shape else len(X)
        got = f"1D array instead:\n{got} of {n_values} values"
        cure = (
            "One row is a matrix of one row. Reshape your data by array.reshape(1, -1), or by "
            "array.reshape(-1, 1) if they are the values of one feature; or pass a frame of one "
            "row, such as X.iloc[[0]] or pandas.DataFrame([row])."
        )
    else:
        return
    got = got if "instead" in got else f"{got} instead"
    raise ValueError(f"Expected 2D array, got {got}. {cure}")


def _is_value(value: Any) -> bool:
    return value is None or isinstance(value, (str, bytes, Number, np.generic))
