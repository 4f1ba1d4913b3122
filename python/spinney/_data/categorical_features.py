"""The parameter `categorical_features`: which features of a matrix are categorical."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from spinney._common.messages import InvalidParameterError, warn_caller
from spinney._data.frames import are_categorical, get_names, is_frame

FROM_DTYPE = "from_dtype"
"""Stands for the columns of a frame whose types are categorical, also among names or indices."""

_KEEP_NAMES = "A ColumnTransformer keeps the names with verbose_feature_names_out=False"
_PASS_FRAMES = (
    f'In a pipeline, .set_output(transform="pandas") makes the steps pass on frames. {_KEEP_NAMES}'
)


def find_categorical_features(X: Any, categorical_features: Any) -> NDArray[np.bool_] | None:
    """Return which features are categorical; None if none is.

    Parameters
    ----------
    X : {array-like, data frame, sparse matrix} of shape (n_samples, n_features)
        The argument of `fit`.
    categorical_features : None, "from_dtype" or array-like of bool, int or str
        The parameter.

    Returns
    -------
    mask : ndarray of bool of shape (n_features,), or None

    Raises
    ------
    ValueError
        If the parameter is illegal, in the words of scikit-learn's histogram gradient boosting.
    """
    if categorical_features is None:
        return None
    is_of_columns = is_frame(X)
    by_type, named = divide_by_type(categorical_features)
    mask = None if named.size == 0 else _mark_named(named, X)
    if by_type and is_of_columns:
        mask = are_categorical(X) if mask is None else mask | are_categorical(X)
    return mask if mask is not None and mask.any() else None


def divide_by_type(categorical_features: Any) -> tuple[bool, NDArray[Any]]:
    """Return whether features are to be found by their types, and what names others."""
    if isinstance(categorical_features, str):
        if categorical_features != FROM_DTYPE:
            raise InvalidParameterError(
                "categorical_features must be an array-like of bool, int or str, 'from_dtype' or "
                f"None. Got {categorical_features!r} instead."
            )
        return True, np.array([])
    wanted = np.asarray(categorical_features)
    if wanted.dtype.kind not in "UO" or wanted.ndim != 1:
        return False, wanted
    # The array may have made strings of ints.
    named = [of for of in categorical_features if not isinstance(of, str) or of != FROM_DTYPE]
    if len(named) == wanted.shape[0]:
        return False, wanted
    return True, np.asarray(named)


def warn_of_no_type(X: Any, categorical_features: Any) -> None:
    """Warn if features are to be found by their types, and no column is of a categorical type."""
    if categorical_features is None or not divide_by_type(categorical_features)[0]:
        return
    if is_frame(X) and are_categorical(X).any():
        return
    told = f'categorical_features="{FROM_DTYPE}" finds no column of a categorical type'
    if is_frame(X):
        warn_caller(
            f'{told}. Name the columns, or convert them, such as by astype("category") of pandas. '
            "An encoder makes numbers of categories: let a ColumnTransformer pass them through."
        )
    else:
        warn_caller(
            f"{told}: X is a {type(X).__name__}, whose columns have no types of their own. "
            f"{_PASS_FRAMES}. Otherwise pass indices."
        )


def _mark_named(wanted: NDArray[Any], X: Any) -> NDArray[np.bool_]:
    """Return which features a mask, indices or names stand for."""
    _check_kind(wanted)
    if wanted.dtype.kind == "b":
        return _copy_mask(wanted, _count_features(X))
    if wanted.dtype.kind in "iu":
        return _mask_indices(wanted, _count_features(X))
    return _mask_names(wanted, X)


def mark_categorical(
    categorical_features: Any, shape: tuple[int, int], names: list[str] | None
) -> NDArray[np.bool_] | None:
    """Return which features are categorical, given shape and names of a matrix that is not there.

    Features that are to be found by their types are left out.

    Parameters
    ----------
    categorical_features : None, "from_dtype" or array-like of bool, int or str
    shape : tuple of (int, int)
    names : list of str, or None
        Of the features.
    """
    if categorical_features is None:
        return None
    _, wanted = divide_by_type(categorical_features)
    if wanted.dtype.kind in "UO" and names is not None:
        for name in wanted:
            if name not in names:
                raise ValueError(
                    f"categorical_features has an item value '{name}' which is not a valid feature "
                    f"name of the data set. Its feature names: {names}"
                )
        wanted = np.array([names.index(name) for name in wanted], dtype=np.intp)
    return find_categorical_features(np.broadcast_to(np.float32(0), shape), wanted)


def are_same_features(one: NDArray[np.bool_] | None, other: NDArray[np.bool_] | None) -> bool:
    """Return whether two masks, None for one without any, have the same features."""
    return list_features(one) == list_features(other)


def list_features(mask: NDArray[np.bool_] | None) -> list[int]:
    """Return the features of a mask."""
    return [] if mask is None else np.flatnonzero(mask).tolist()


def _check_kind(wanted: NDArray[Any]) -> None:
    legal = "categorical_features must be an array-like of bool, int or str, got:"
    if wanted.dtype.kind not in "iubUO":
        raise ValueError(f"{legal} {wanted.dtype.name}.")
    if wanted.ndim != 1:
        raise ValueError(
            f"categorical_features must have one dimension. Got shape {wanted.shape} instead."
        )
    if wanted.dtype.kind == "O":
        kinds = {type(name).__name__ for name in wanted if not isinstance(name, str)}
        if kinds:
            raise ValueError(f"{legal} {', '.join(sorted(kinds))}.")


def _count_features(X: Any) -> int:
    shape: tuple[int, ...] = X.shape if hasattr(X, "shape") else np.array(X, dtype=object).shape
    if len(shape) != 2:
        # scikit-learn raises the error that its users know.
        check_array(X, dtype=None, ensure_all_finite=False)
    return shape[1]


def _copy_mask(wanted: NDArray[np.bool_], n_features: int) -> NDArray[np.bool_]:
    if wanted.shape[0] != n_features:
        raise ValueError(
            "categorical_features set as a boolean mask must have shape (n_features,), got: "
            f"{wanted.shape}"
        )
    return wanted.copy()


def _mask_indices(wanted: NDArray[Any], n_features: int) -> NDArray[np.bool_]:
    if wanted.max() >= n_features or wanted.min() < 0:
        raise ValueError(
            "categorical_features set as integer indices must be in [0, n_features - 1]"
        )
    mask = np.zeros(n_features, dtype=bool)
    mask[wanted] = True
    return mask


def _mask_names(wanted: NDArray[Any], X: Any) -> NDArray[np.bool_]:
    n_features = _count_features(X)
    if not is_frame(X):
        raise ValueError(
            "categorical_features should be passed as an array of integers or as a boolean mask "
            "when the model is fitted on data without feature names. "
            f"{_PASS_FRAMES}."
        )
    names = get_names(X)
    # Where several columns have a name, the name stands for the first of them.
    places = {name: place for place, name in reversed(list(enumerate(names)))}
    mask = np.zeros(n_features, dtype=bool)
    for name in wanted:
        if name not in places:
            is_prefixed = any(str(of).endswith(f"__{name}") for of in names)
            raise ValueError(
                f"categorical_features has an item value '{name}' which is not a valid feature "
                f"name of the training data. Observed feature names: {names}"
                + (f". {_KEEP_NAMES}." if is_prefixed else "")
            )
        mask[places[name]] = True
    return mask
