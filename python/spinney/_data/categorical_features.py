"""The parameter `categorical_features`: which features of a matrix are categorical."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from spinney._common.messages import InvalidParameterError
from spinney._data.frames import are_categorical, get_names, is_frame


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
    if isinstance(categorical_features, str):
        if categorical_features != "from_dtype":
            raise InvalidParameterError(
                "categorical_features must be an array-like of bool, int or str, 'from_dtype' or "
                f"None. Got {categorical_features!r} instead."
            )
        if not is_of_columns:
            return None
        wanted = are_categorical(X)
    else:
        wanted = np.asarray(categorical_features)
    if wanted.size == 0:
        return None
    _check_kind(wanted)
    if wanted.dtype.kind == "b":
        mask = _copy_mask(wanted, _count_features(X))
    elif wanted.dtype.kind in "iu":
        mask = _mask_indices(wanted, _count_features(X))
    else:
        mask = _mask_names(wanted, X)
    return mask if mask.any() else None


def mark_categorical(
    categorical_features: Any, shape: tuple[int, int], names: list[str] | None
) -> NDArray[np.bool_] | None:
    """Return which features are categorical, given shape and names of a matrix that is not there.

    Parameters
    ----------
    categorical_features : array-like of bool, int or str
    shape : tuple of (int, int)
    names : list of str, or None
        Of the features.
    """
    wanted = np.asarray(categorical_features)
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
            "when the model is fitted on data without feature names."
        )
    names = get_names(X)
    # Where several columns have a name, the name stands for the first of them.
    places = {name: place for place, name in reversed(list(enumerate(names)))}
    mask = np.zeros(n_features, dtype=bool)
    for name in wanted:
        if name not in places:
            raise ValueError(
                f"categorical_features has an item value '{name}' which is not a valid feature "
                f"name of the training data. Observed feature names: {names}"
            )
        mask[places[name]] = True
    return mask
