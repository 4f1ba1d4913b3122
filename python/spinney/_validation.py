"""What scikit-learn's validation leaves to us: arrays in a form that the compiled part reads."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array


def native(X: Any) -> Any:
    """Return X in native byte order, aligned, with a dtype of at most 64 bits.

    Nothing is copied unless it has to be. float16 becomes float32; long doubles become float64.
    """
    if sparse.issparse(X):
        return _native_sparse(X)
    return _native_array(X)


def _native_array(array: NDArray[Any]) -> NDArray[Any]:
    dtype = array.dtype.newbyteorder("=")
    if dtype == np.float16:
        dtype = np.dtype(np.float32)
    elif dtype.kind == "f" and dtype.itemsize > 8:
        dtype = np.dtype(np.float64)
    return np.require(array, dtype=dtype, requirements="A")


def _native_sparse(X: Any) -> Any:
    parts = [_native_array(part) for part in (X.data, X.indices, X.indptr)]
    data, indices, indptr = (np.ascontiguousarray(part) for part in parts)
    if indices.dtype != indptr.dtype:
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


def convertible(X: Any) -> Any:
    """Return X; raise ValueError if it is a CSC matrix that scipy could not convert safely to CSR.

    scipy trusts index arrays when it converts, and writes out of bounds if they lie.
    """
    if sparse.issparse(X) and X.format == "csc":
        # A second matrix over the same arrays: the check may rebind or prune them.
        sparse.csc_array((X.data, X.indices, X.indptr), shape=X.shape).check_format(full_check=True)
    return X


def check_sample_weight(sample_weight: Any, n_samples: int) -> NDArray[np.float64]:
    """Return the weights as one float64 per sample; signs and length are checked when they are encoded.

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
    if weights.ndim != 1:
        raise ValueError(
            f"sample_weight must be a scalar or have shape ({n_samples},). "
            f"Got shape {weights.shape} instead."
        )
    return weights
