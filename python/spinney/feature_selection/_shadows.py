"""Shadows: columns with the values of features, in a random order of the samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import rankdata

from spinney._data.frames import SINGLE

# The number of numbers that 16 bits can tell apart.
_SMALL = 2**16


def number_values(matrix: NDArray[Any]) -> NDArray[Any]:
    """Return a dense matrix with the numbers of the values of each column, in their order.

    Trees with best thresholds part samples alike by numbers and by values, and integers are encoded
    faster. Missing values stay missing.

    Parameters
    ----------
    matrix : ndarray of shape (n_samples, n_features)

    Returns
    -------
    numbers : ndarray of shape (n_samples, n_features), uint16, float32 or float64
        In Fortran order.
    """
    ranks = [rankdata(column, "dense", nan_policy="omit") - 1 for column in matrix.T]
    numbers = np.asfortranarray(np.column_stack(ranks))
    if matrix.shape[0] > SINGLE:
        return numbers
    is_small = matrix.shape[0] <= _SMALL and not np.isnan(numbers).any()
    return numbers.astype(np.uint16 if is_small else np.float32, order="F")


def with_shadows(matrix: Any, least: int, rng: np.random.Generator) -> tuple[Any, NDArray[np.intp]]:
    """Return a matrix with a shadow of each column behind them, and whose shadows these are.

    Each shadow has an order of the samples of its own.

    Parameters
    ----------
    matrix : ndarray or CSC matrix of shape (n_samples, n_features)
    least : int
        Columns have several shadows each if there would be fewer of them otherwise.
    rng : numpy.random.Generator

    Returns
    -------
    matrix : ndarray or CSC matrix of shape (n_samples, n_features + n_shadows)
    features : ndarray of int of shape (n_shadows,)
        The column that each shadow has the values of.
    """
    n_features = matrix.shape[1]
    features = np.tile(np.arange(n_features), -(-least // n_features) if least > n_features else 1)
    values = matrix[:, features]
    if not sparse.issparse(matrix):
        shadows = rng.permuted(values, axis=0)
        return np.asfortranarray(np.column_stack([matrix, shadows])), features
    return sparse.hstack([matrix, _permute_columns(values, rng)], format="csc"), features


def _permute_columns(matrix: Any, rng: np.random.Generator) -> Any:
    """Return a CSC matrix whose entries are in other rows: in each column in random ones."""
    n_rows = matrix.shape[0]
    indices = np.empty_like(matrix.indices)
    for start, end in zip(matrix.indptr, matrix.indptr[1:], strict=False):
        if end > start:
            indices[start:end] = rng.choice(n_rows, end - start, replace=False)
    permuted = sparse.csc_matrix((matrix.data, indices, matrix.indptr), shape=matrix.shape)
    permuted.sort_indices()
    return permuted
