"""What scikit-learn's validation leaves to us: arrays in a form that the compiled part reads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from spinney._spinney import check_sparse


def native(X: Any) -> Any:
    """Return X in native byte order, aligned, with a dtype of at most 64 bits.

    Nothing is copied unless it has to be. float16 becomes float32, long doubles become float64, and
    bools become bytes that are 0 or 1 (NumPy takes any other byte for True, too).
    """
    if sparse.issparse(X):
        return _native_sparse(X)
    return _native_array(X)


def _native_array(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype == np.bool_:
        truth: NDArray[np.bool_] = array.view(np.uint8) != 0
        return truth.view(np.uint8)
    dtype = array.dtype.newbyteorder("=")
    if dtype == np.float16:
        dtype = np.dtype(np.float32)
    elif dtype.kind == "f" and dtype.itemsize > 8:
        dtype = np.dtype(np.float64)
    return np.require(array, dtype=dtype, requirements="A")


def _native_sparse(X: Any) -> CompressedMatrix:
    data, indices, indptr = (
        np.ascontiguousarray(_native_array(part)) for part in (X.data, X.indices, X.indptr)
    )
    if indices.dtype != indptr.dtype and indices.dtype.kind == indptr.dtype.kind == "i":
        indices, indptr = indices.astype(np.int64), indptr.astype(np.int64)
    return CompressedMatrix(X.format, X.shape, data, indices, indptr)


class CompressedMatrix:
    """The arrays of a CSC or CSR matrix, as they are: scipy's classes would convert and check them.

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


def numbers(X: Any) -> Any:
    """Return X, as float64 if it has objects: numbers, and None for what is missing.

    scikit-learn converts such arrays, but not those that it makes of some data frames.
    """
    return X.astype(np.float64) if X.dtype == object else X


def sound(X: Any) -> Any:
    """Return X, without what a sparse matrix stores beyond its last entry.

    Raise ValueError or TypeError if the index arrays of a sparse matrix lie: scipy trusts them when
    it converts, and writes out of bounds.
    """
    if not sparse.issparse(X):
        return X
    if X.format in ("csc", "csr"):
        structure = _native_sparse(X)
        # Whatever the data are, they are none of this check's business.
        structure.data = np.zeros(X.data.shape, dtype=np.uint8)
        check_sparse(structure)
        nnz = X.indptr[-1]
        if nnz < X.data.shape[0]:
            X = type(X)((X.data[:nnz], X.indices[:nnz], X.indptr), shape=X.shape)
        if X.dtype == np.bool_ and not X.has_canonical_format:
            # True and true is true: to be settled before bools become bytes.
            X = X.copy()
            X.sum_duplicates()
    elif X.format == "bsr":
        # A second matrix over the same arrays: the check may rebind or prune them.
        blocks = sparse.bsr_array((X.data, X.indices, X.indptr), shape=X.shape)
        blocks.check_format(full_check=True)
    elif X.format == "coo":
        sparse.coo_array((X.data, (X.row, X.col)), shape=X.shape)
    return X


def check_counts(y: NDArray[np.float64], wanted: str) -> None:
    """Raise ValueError unless Poisson regression is possible, in scikit-learn's words.

    Its trees want a "positive" sum and its forests one that is "strictly positive".
    """
    if np.any(y < 0):
        raise ValueError(
            "Some value(s) of y are negative which is not allowed for Poisson regression."
        )
    if not np.any(y > 0):
        raise ValueError(f"Sum of y is not {wanted} which is necessary for Poisson regression.")


def check_monotonic_cst(monotonic_cst: Any, n_features: int) -> list[int]:
    """Return the constraint of each feature, or raise ValueError in scikit-learn's words."""
    constraints = np.asarray(monotonic_cst)
    legal = "monotonic_cst must be None or an array-like of -1, 0 or 1"
    if constraints.ndim != 1 or constraints.dtype.kind not in "iufb":
        raise ValueError(f"{legal}, but got {monotonic_cst!r}")
    if constraints.shape[0] != n_features:
        raise ValueError(
            f"monotonic_cst has shape {constraints.shape[0]} but the input data X has "
            f"{n_features} features."
        )
    if not np.all(np.isin(constraints, (-1, 0, 1))):
        raise ValueError(f"{legal}, but got {np.unique(constraints)}")
    return [int(constraint) for constraint in constraints]


def check_sample_weight(sample_weight: Any, n_samples: int) -> NDArray[np.float64]:
    """Return the weights as one float64 per sample; their signs are checked when they are encoded.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,) or float
    n_samples : int
    """
    if np.isscalar(sample_weight):
        sample_weight = np.full(n_samples, sample_weight)
    weights: NDArray[np.float64] = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, order="C", input_name="sample_weight"
    )
    if weights.ndim != 1 or weights.shape[0] != n_samples:
        raise ValueError(
            f"sample_weight must be a scalar or a 1D array of shape ({n_samples},). "
            f"Got shape {weights.shape} instead."
        )
    return weights
