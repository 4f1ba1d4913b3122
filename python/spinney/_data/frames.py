"""Data frames of pandas, polars and pyarrow, and of other libraries that narwhals reads."""

from __future__ import annotations

import datetime as dt
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Column = Any
"""A column of a frame: an array of numbers, a series of pandas that is categorical, or else a
`narwhals.Series`. The first two are read as they are: narwhals takes longer to look at such a
column than it takes to read 10,000 rows."""

SINGLE = 2**24
"""Single precision has all integers up to this."""

# Columns of these types are exact in single precision.
_SMALL_TYPES = {nw.Boolean, nw.Float32, nw.Int8, nw.Int16, nw.UInt8, nw.UInt16}
# How pandas names its categorical type.
_CATEGORY = "category"
CATEGORICAL_TYPES = (nw.Categorical, nw.Enum)
"""The types of columns whose values are categories by type."""
NESTED_TYPES = (nw.Array, nw.List, nw.Struct)
"""Each value of a column of these types is several."""
TIMES = (dt.date, dt.time, dt.timedelta)
"""Python's own dates and times."""


def is_frame(X: Any) -> bool:
    """Return whether X is a data frame; raise TypeError for one that is not read yet."""
    if isinstance(X, (np.ndarray, list, tuple)) or sparse.issparse(X):
        return False
    if _is_like_pandas(X):
        # narwhals refuses several columns of one name.
        return bool(X.ndim == 2)
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(
            f"X must hold its data. Got a {type(X).__name__} instead, which is only a query: "
            "collect it into a data frame."
        )
    return isinstance(frame, nw.DataFrame)


def is_plain(X: Any) -> bool:
    """Return whether NumPy makes one array of numbers of X, without a column for which it errs."""
    if not is_frame(X):
        return True
    return _is_like_pandas(X) and all(
        isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in X.dtypes
    )


def is_sparse_frame(X: Any) -> bool:
    """Return whether all columns of a frame are sparse columns of pandas whose cells may be 0."""
    return _is_like_pandas(X) and all(getattr(dtype, "fill_value", None) == 0 for dtype in X.dtypes)


def get_columns(X: Any, mask: NDArray[np.bool_]) -> list[Column]:
    """Return the columns of a frame, given which of them are to be read as categories."""
    if not _is_like_pandas(X):
        return list(nw.from_native(X, eager_only=True).iter_columns())
    columns = zip(X.items(), mask.tolist(), strict=True)
    return [_read_pandas_column(column, is_categorical) for (_, column), is_categorical in columns]


def are_categorical(X: Any) -> NDArray[np.bool_]:
    """Return for each column of a frame whether its type is categorical."""
    if not _is_like_pandas(X):
        types = nw.from_native(X, eager_only=True).schema.values()
        return np.array([isinstance(of, CATEGORICAL_TYPES) for of in types], dtype=bool)
    mask = np.zeros(X.shape[1], dtype=bool)
    for place, dtype in enumerate(X.dtypes):
        if dtype.name == _CATEGORY:
            mask[place] = True
        elif not isinstance(dtype, np.dtype):
            # A type of pyarrow may be one of categories. It is known without a look at any value.
            of = nw.from_native(X.iloc[:0, place], series_only=True).dtype
            mask[place] = isinstance(of, CATEGORICAL_TYPES)
    return mask


def take_columns(X: Any, start: int, end: int) -> Any:
    """Return the columns of a frame from one place up to another, as a frame."""
    if _is_like_pandas(X):
        return X.iloc[:, start:end]
    return nw.from_native(X, eager_only=True)[:, start:end].to_native()


def get_column(X: Any, place: int) -> nw.Series[Any]:
    """Return the column of a frame at a place: names need not be strings, and may repeat."""
    if _is_like_pandas(X):
        return as_series(X.iloc[:, place])
    column: nw.Series[Any] = nw.from_native(X, eager_only=True)[:, place]
    return column


def replace_columns(X: Any, columns: dict[int, Any]) -> Any:
    """Return a copy of a frame with other columns, of its library, at some places."""
    if _is_like_pandas(X):
        X = X.copy()
        for place, column in columns.items():
            X.isetitem(place, column)
        return X
    frame = nw.from_native(X, eager_only=True)
    new = [nw.from_native(c, series_only=True).alias(frame.columns[p]) for p, c in columns.items()]
    return frame.with_columns(*new).to_native() if new else frame.clone().to_native()


def without_repeated_names(X: Any) -> Any:
    """Return X; if names of its columns repeat, with numbers: scikit-learn refuses to read them."""
    if _is_like_pandas(X) and X.ndim == 2 and not X.columns.is_unique:
        return X.set_axis(range(X.shape[1]), axis=1)
    return X


def to_pandas(X: Any) -> Any:
    """Return a frame as one of pandas, or of a library with the same interface."""
    return X if _is_like_pandas(X) else nw.from_native(X, eager_only=True).to_pandas()


def get_names(X: Any) -> list[Any]:
    """Return the names of the columns of a frame."""
    return list(X.columns if _is_like_pandas(X) else nw.from_native(X, eager_only=True).columns)


def is_small(column: Column) -> bool:
    """Return whether single precision has every number of a column."""
    if not isinstance(column, np.ndarray):
        return bool(as_series(column).dtype in _SMALL_TYPES)
    if column.dtype.kind in "iu" and column.size > 0:
        return max(-int(column.min()), int(column.max())) <= SINGLE
    return bool(column.dtype.itemsize <= 4)


def is_of_time(column: nw.Series[Any]) -> bool:
    """Return whether a column holds dates, times, durations or periods."""
    native_type = getattr(column.to_native(), "dtype", None)
    if column.dtype.is_temporal() or str(native_type).startswith("period"):
        return True
    # pandas has dates of Python as objects.
    cells = column.drop_nulls().to_list() if column.dtype == nw.Object else []
    return bool(cells) and all(isinstance(cell, TIMES) for cell in cells)


def is_ordered(column: Column) -> bool:
    """Return whether the type of a column, which is no array, puts its categories in an order."""
    native = column.to_native() if isinstance(column, nw.Series) else column
    return bool(getattr(getattr(native, "dtype", None), "ordered", False)) or (
        isinstance(column, nw.Series) and isinstance(column.dtype, nw.Enum)
    )


def factorize(column: Column) -> tuple[NDArray[Any], NDArray[np.integer[Any]]]:
    """Return values of a column and, for each row, the index of its value; -1 if it is missing.

    There may be values that no row has, and values that are missing. The column is no array.

    Raises
    ------
    TypeError
        If the values cannot be hashed or sorted.
    """
    native = column.to_native() if isinstance(column, nw.Series) else column
    # The accessor `cat` of pandas would make a series of the codes.
    array: Any = getattr(native, "array", None)
    codes = getattr(array, "codes", None)
    if codes is not None:
        return array.categories.to_numpy(), codes
    if isinstance(column.dtype, NESTED_TYPES):
        raise TypeError(f"values of the type {column.dtype} cannot be sorted")
    if hasattr(array, "__arrow_array__") and isinstance(column.dtype, CATEGORICAL_TYPES):
        # A dictionary of Arrow. pandas marks missing values by -1, also where indices are unsigned.
        return _factorize_arrow(array.__arrow_array__())
    if hasattr(native, "factorize"):
        codes, values = native.factorize()
        return values.to_numpy(), codes
    if hasattr(native, "combine_chunks"):
        return _factorize_arrow(native)
    if isinstance(column.dtype, (nw.Categorical, nw.Enum, nw.String)):
        return _factorize_polars(column)
    missing = column.is_null().to_numpy()
    values, present = np.unique(column.drop_nulls().to_numpy(), return_inverse=True)
    codes = np.full(missing.shape, -1, dtype=np.intp)
    codes[~missing] = present
    return values, codes


def _factorize_arrow(native: Any) -> tuple[NDArray[Any], NDArray[np.intp]]:
    encoded = native.dictionary_encode().unify_dictionaries().combine_chunks()
    # Depending on its version, pyarrow returns an array or one chunk.
    encoded = encoded.chunk(0) if hasattr(encoded, "chunk") else encoded
    # Indices may be unsigned, which have no -1.
    codes = encoded.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
    return encoded.dictionary.to_numpy(zero_copy_only=False), codes.astype(np.intp, copy=False)


def _factorize_polars(column: nw.Series[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    if column.dtype == nw.String:
        column = column.cast(nw.Categorical)
    native = column.to_native()
    places = native.to_physical().fill_null(0).to_numpy()
    present = ~native.is_null().to_numpy()
    # A row of each category; its place among all of the library's categories may be any.
    row_of = np.full(int(places.max(initial=0)) + 1, -1, dtype=np.intp)
    row_of[places[present]] = np.flatnonzero(present)
    used = np.flatnonzero(row_of >= 0)
    code_of = np.full(row_of.shape, -1, dtype=np.intp)
    code_of[used] = np.arange(used.shape[0])
    values = column[row_of[used].tolist()].cast(nw.String).to_numpy().astype(object)
    return values, np.where(present, code_of[places], -1)


def _is_like_pandas(X: Any) -> bool:
    return hasattr(X, "iloc")


def _read_pandas_column(column: Any, is_categorical: bool) -> Column:
    dtype = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf" and not is_categorical:
        return column.to_numpy()
    return column if dtype.name == _CATEGORY else as_series(column)


def as_series(column: Any) -> nw.Series[Any]:
    """Return a column, which is no array, as a series of narwhals."""
    return column if isinstance(column, nw.Series) else nw.from_native(column, series_only=True)
