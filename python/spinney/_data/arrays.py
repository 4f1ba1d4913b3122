"""Arrays and sparse matrices in the forms that scipy and the compiled part can read safely."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spinney._spinney import Columns, check_sparse


class CompressedMatrix:
    """The arrays of a CSC or CSR matrix, unchanged: scipy's classes would convert and check them.

    Parameters
    ----------
    format : {"csc", "csr"}
    shape : tuple of (int, int)
    data, indices, indptr : ndarray
    """

    __slots__ = ("data", "format", "indices", "indptr", "shape")

    def __init__(
        self,
        format: str,  # noqa: A002 - scipy's name
        shape: tuple[int, int],
        data: NDArray[Any],
        indices: NDArray[Any],
        indptr: NDArray[Any],
    ) -> None:
        self.format = format
        self.shape = shape
        self.data = data
        self.indices = indices
        self.indptr = indptr

    def take_rows(self, rows: NDArray[Any]) -> CompressedMatrix:
        """Return some rows, in CSR form."""
        kind = sparse.csr_matrix if self.format == "csr" else sparse.csc_matrix
        matrix = kind((self.data, self.indices, self.indptr), shape=self.shape)
        return _compress(matrix.tocsr()[rows])


def to_native(X: Any) -> Any:
    """Return X in native byte order, aligned, with a dtype of at most 64 bits.

    Data are copied only where one of these requires it. float16 becomes float32 and long double
    becomes float64. Bools become bytes that are 0 or 1, because the memory of a bool array may hold
    other bytes, which NumPy takes for True.

    Parameters
    ----------
    X : ndarray, CSC or CSR matrix, or Columns

    Returns
    -------
    X : ndarray, CompressedMatrix or Columns
    """
    if isinstance(X, Columns):
        return X
    return _compress(X) if sparse.issparse(X) else _to_native_array(X)


def _to_native_array(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype == np.bool_:
        truth: NDArray[np.bool_] = array.view(np.uint8) != 0
        return truth.view(np.uint8)
    dtype = array.dtype.newbyteorder("=")
    if dtype == np.float16:
        dtype = np.dtype(np.float32)
    elif dtype.kind == "f" and dtype.itemsize > 8:
        dtype = np.dtype(np.float64)
    return np.require(array, dtype=dtype, requirements="A")


def _compress(X: Any) -> CompressedMatrix:
    data, indices, indptr = (
        np.ascontiguousarray(_to_native_array(part)) for part in (X.data, X.indices, X.indptr)
    )
    if indices.dtype != indptr.dtype and indices.dtype.kind == indptr.dtype.kind == "i":
        indices, indptr = indices.astype(np.int64), indptr.astype(np.int64)
    return CompressedMatrix(X.format, X.shape, data, indices, indptr)


def to_rows(X: Any) -> Any:
    """Return a matrix that `to_native` has returned, as CSR if it is CSC.

    Predictions read rows. X has been checked, so scipy can convert it.
    """
    if getattr(X, "format", None) != "csc":
        return X
    return _compress(sparse.csc_matrix((X.data, X.indices, X.indptr), shape=X.shape).tocsr())


def secure_sparse(X: Any) -> Any:
    """Return X in a form that scipy can convert without reading or writing out of bounds.

    scipy does not check index arrays when it converts a matrix. Entries that the arrays of a CSC or
    CSR matrix hold beyond `indptr[-1]` are dropped. What is not sparse is returned as it is.

    Parameters
    ----------
    X : object

    Returns
    -------
    X : object

    Raises
    ------
    ValueError, TypeError
        If the index arrays of a sparse matrix are illegal.
    """
    if not sparse.issparse(X):
        return X
    if X.format in ("csc", "csr"):
        structure = _compress(X)
        # Dummy data: only the structure is checked.
        structure.data = np.zeros(X.data.shape, dtype=np.uint8)
        check_sparse(structure)
        nnz = X.indptr[-1]
        if nnz < X.data.shape[0]:
            X = type(X)((X.data[:nnz], X.indices[:nnz], X.indptr), shape=X.shape)
        if X.dtype == np.bool_ and not X.has_canonical_format:
            # The sum of two entries True at one place is True. As bytes it would be 2, so the
            # entries are summed before they become bytes.
            X = X.copy()
            X.sum_duplicates()
    elif X.format == "bsr":
        # The check may rebind or prune the arrays of the matrix it is called on, so it is called on
        # a second matrix with the same arrays.
        blocks = sparse.bsr_array((X.data, X.indices, X.indptr), shape=X.shape)
        blocks.check_format(full_check=True)
    elif X.format == "coo":
        # The constructor checks the indices.
        sparse.coo_array((X.data, (X.row, X.col)), shape=X.shape)
    return X


def convert_objects(X: Any) -> Any:
    """Return X, converted to float64 if its dtype is object. None becomes NaN.

    scikit-learn converts arrays of objects, except those that it makes of some data frames itself.

    Raises
    ------
    TypeError
        If X holds dates or durations: as numbers they would depend on their unit.
    """
    if X.dtype.kind in "mM":
        raise TypeError(
            f"X holds values of the type {X.dtype}, which are no numbers. Convert them to numbers, "
            "such as days since a date, or name their columns in categorical_features."
        )
    return X.astype(np.float64) if X.dtype == object else X
