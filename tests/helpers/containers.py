"""The containers of samples, and the forms of targets, that estimators take."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp

import spinney

INTEGERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")


def lock(array):
    """Return a copy that nobody can write to."""
    array = array.copy()
    array.flags.writeable = False
    return array


def lock_sparse(matrix):
    """Return a sparse matrix whose arrays nobody can write to."""
    for name in ("data", "indices", "indptr"):
        getattr(matrix, name).flags.writeable = False
    return matrix


def with_indices(X, kind, dtype):
    """Return a sparse matrix with indices of a type."""
    matrix = kind(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(dtype), matrix.indptr.astype(dtype)
    return lock_sparse(matrix)


def with_other_entries(X, kind=sp.csr_array):
    """Return a matrix with entries in another order, duplicates, and zeros that are stored."""
    halves = np.where(X % 2 == 0, X / 2, X)
    rows, columns = np.nonzero(np.ones_like(X))
    rests = (X - halves)[rows, columns]
    is_twice = rests != 0
    data = np.r_[halves[rows, columns], rests[is_twice]]
    rows, columns = np.r_[rows, rows[is_twice]], np.r_[columns, columns[is_twice]]
    major, minor = (rows, columns) if kind is sp.csr_array else (columns, rows)
    # Within each row, the last columns come first.
    order = np.lexsort((-minor, major))
    n_major = X.shape[0] if kind is sp.csr_array else X.shape[1]
    indptr = np.r_[0, np.cumsum(np.bincount(major, minlength=n_major))]
    matrix = kind((data[order], minor[order], indptr), shape=X.shape)
    assert not matrix.has_sorted_indices
    return lock_sparse(matrix)


def in_steps(X):
    """Return a view whose rows and columns are neither next to each other nor in order."""
    wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]))
    view = wide[::-2, ::3]
    view[...] = X
    return view


def unaligned(X):
    """Return an array that begins at an odd address."""
    raw = np.frombuffer(b"\0" + X.tobytes(), dtype="u1")[1:]
    return raw.view(X.dtype).reshape(X.shape)


def mixed(X):
    """Return a frame of columns of several types, with rows named by an index that is no order."""
    types = ("int8", "float32", "UInt16", "Float64")
    columns = {f"c{n}": pd.Series(X[:, n]).astype(t) for n, t in enumerate(types)}
    return pd.DataFrame(columns).set_axis(np.arange(len(X))[::-1], axis=0)


DENSE = {
    "read-only": lock,
    "Fortran order": np.asfortranarray,
    "float32": lambda X: lock(X.astype("f4")),
    "float16": lambda X: X.astype("f2"),
    "swapped bytes": lambda X: lock(X.astype(">f8")),
    "swapped bytes of integers": lambda X: X.astype(">i4"),
    "steps": in_steps,
    "unaligned": unaligned,
    "objects": lambda X: lock(X.astype(object)),
    "lists": lambda X: X.tolist(),
    "pandas": pd.DataFrame,
    "pandas, mixed": mixed,
    "pandas, Arrow": lambda X: pd.DataFrame(X).astype("double[pyarrow]"),
    "polars": lambda X: pl.DataFrame(X, schema=list("abcd")),
    "polars, mixed": lambda X: pl.from_pandas(mixed(X)),
    "Arrow": lambda X: pa.table({name: X[:, n] for n, name in enumerate("abcd")}),
    "Arrow, chunks": lambda X: pa.concat_tables(
        [pa.Table.from_pandas(pd.DataFrame(X[:5])), pa.Table.from_pandas(pd.DataFrame(X[5:]))]
    ),
    "Dataset": spinney.Dataset,
    **{dtype: (lambda X, t=dtype: lock(X.astype(t))) for dtype in INTEGERS},
}
SPARSE = {
    **{
        f"{kind.__name__}, {dtype}": partial(with_indices, kind=kind, dtype=dtype)
        for kind in (sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array)
        for dtype in ("i4", "i8")
    },
    "other entries by row": with_other_entries,
    "other entries by column": partial(with_other_entries, kind=sp.csc_array),
    "csr of float32": lambda X: lock_sparse(sp.csr_array(X.astype("f4"))),
    "csr of int8": lambda X: lock_sparse(sp.csr_array(X.astype("i1"))),
    "csc of uint16": lambda X: lock_sparse(sp.csc_array(X.astype("u2"))),
    "coo": sp.coo_array,
    "lil": sp.lil_matrix,
    "dok": sp.dok_array,
    "bsr": lambda X: sp.bsr_array(X, blocksize=(2, 2)),
    "dia": sp.dia_matrix,
    "pandas, sparse": lambda X: pd.DataFrame.sparse.from_spmatrix(sp.csc_matrix(X)),
    "Dataset, sparse": lambda X: spinney.Dataset(sp.csr_array(X)),
}
# Of truth values: equal to an array of 0 and 1.
BOOLS = {
    "bool": lambda X: lock(X.astype(bool)),
    "csr of bool": lambda X: sp.csr_array(X.astype(bool)),
    "pandas, bool": lambda X: pd.DataFrame(X.astype(bool)),
    "polars, bool": lambda X: pl.DataFrame(X.astype(bool), schema=list("abcd")),
    "Arrow, bool": lambda X: pa.table(
        {name: X[:, n].astype(bool) for n, name in enumerate("abcd")}
    ),
}


def content_of(container):
    """Return everything that a container has, to tell whether it was changed."""
    if isinstance(container, spinney.Dataset):
        return container.shape
    if hasattr(container, "indptr"):
        parts = (container.data, container.indices, container.indptr)
        return [(part.dtype, part.tobytes()) for part in parts]
    if isinstance(container, np.ndarray):
        return container.dtype, container.tolist(), container.flags.writeable
    if isinstance(container, pd.Series):
        return container.dtype, container.index.tolist(), container.tolist()
    if isinstance(container, tuple):
        return [content_of(part) for part in container]
    if isinstance(container, pd.DataFrame):
        return container.dtypes.to_dict(), container.to_dict("split")
    if isinstance(container, (pl.DataFrame, pa.Table)):
        return str(container.schema), pa.table(container).to_pydict()
    return pickle.dumps(container)


def column(y):
    """Return a column vector, of which scikit-learn's convention is to warn."""
    return y.reshape(-1, 1)


def series(y, **options):
    """Return a series whose index is no order."""
    return pd.Series(y, index=np.arange(len(y))[::-1], **options)


NUMBERS = {
    "list": lambda y: y.tolist(),
    "tuple": lambda y: tuple(y.tolist()),
    "read-only": lock,
    "float32": lambda y: y.astype("f4"),
    "swapped bytes": lambda y: y.astype(">f8"),
    "steps": lambda y: np.repeat(y, 2)[::2],
    "objects": lambda y: y.astype(object),
    "column": column,
    "Series": series,
    "Series, Arrow": lambda y: series(y, dtype="double[pyarrow]"),
    "Series, Int64": lambda y: series(y).astype("Int64"),
    "DataFrame": lambda y: series(y).to_frame("y"),
    "polars": pl.Series,
    "polars, frame": lambda y: pl.DataFrame({"y": y}),
    "Arrow": pa.array,
    "Arrow, chunks": lambda y: pa.chunked_array([y[:5], y[5:]]),
    **{dtype: (lambda y, t=dtype: lock(y.astype(t))) for dtype in INTEGERS[:4]},
}
# Labels are 0, 1 and 2.
CLASSES = {name: make for name, make in NUMBERS.items() if name != "Series, Arrow"} | {
    dtype: (lambda y, t=dtype: lock(y.astype(t))) for dtype in INTEGERS
}
# Labels whose order is that of 0, 1 and 2.
LABELS = {
    "strings": np.array(["a", "b", "c"]),
    "strings as objects": np.array(["a", "b", "c"], dtype=object),
    "negative": np.array([-7, 0, 5]),
    "halves": np.array([0.0, 1.0, 2.0]),
    "huge": np.array([0, 2**62, 2**62 + 1]),
}
LABEL_FORMS = {
    "list": list,
    "column": column,
    "Series": series,
    "category": lambda y: series(y).astype("category"),
    "objects": lambda y: y.astype(object),
    "read-only": lock,
}


def pair_of(make):
    return lambda y: (make(y[0]), make(y[1]))


def structured(y):
    record = np.empty(len(y[1]), dtype=[("event", y[0].dtype), ("time", "f8")])
    record["event"], record["time"] = y
    return record


TIMES = {
    "structured": structured,
    "structured, read-only": lambda y: lock(structured(y)),
    "recarray": lambda y: structured(y).view(np.recarray),
    "records": lambda y: structured(y).tolist(),
    "two columns": np.column_stack,
    "two columns as lists": lambda y: np.column_stack(y).tolist(),
    "pair of lists": pair_of(list),
    "pair of Series": pair_of(series),
    "pair of polars": pair_of(pl.Series),
    "pair of Arrow": pair_of(pa.array),
    "integers": lambda y: (y[0].astype(int), y[1].astype("f4")),
    "pandas": lambda y: pd.DataFrame({"event": y[0], "time": y[1]}),
    "pandas, index": lambda y: pd.DataFrame({"event": series(y[0]), "time": series(y[1])}),
    "polars": lambda y: pl.DataFrame({"event": y[0], "time": y[1]}),
    "Arrow": lambda y: pa.table({"event": y[0], "time": y[1]}),
    "pandas, nullable": lambda y: pd.DataFrame({"event": y[0], "time": y[1]}).convert_dtypes(),
}
EFFECTS = {
    "lists": pair_of(list),
    "Series": pair_of(series),
    "polars": pair_of(pl.Series),
    "Arrow": pair_of(pa.array),
    "read-only": pair_of(lock),
}
FORMS = {
    "numbers": NUMBERS,
    "classes": CLASSES,
    "times": TIMES,
    "effects": EFFECTS,
    "nothing": {},
}
