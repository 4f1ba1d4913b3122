"""Categorical features: from columns of any type to codes, and the way of codes back to categories.

A category of a feature is a distinct value of its column in `fit`; its code is its place among them
in ascending order, but that 0 comes first if it occurs. So entries that a sparse matrix does not
store have code 0, or occur in no row, and stay away. A value that `fit` has not seen gets the
number of categories for a code; None, NA and NaN are missing and become NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from spinney._validation import numbers, sound

Categories = list[NDArray[Any] | None]
"""Of each feature its categories in the order of their codes; None if it is numeric."""

_ANYTHING: dict[str, Any] = {"dtype": None, "ensure_all_finite": False}


def categorical_mask(X: Any, categorical_features: Any) -> NDArray[np.bool_] | None:
    """Return which features are categorical; None if none is. Errors are scikit-learn's.

    Parameters
    ----------
    X : {array-like, data frame, sparse matrix} of shape (n_samples, n_features)
        As it was given to `fit`.
    categorical_features : None, "from_dtype" or array-like of bool, int or str
        The parameter.
    """
    if categorical_features is None:
        return None
    if isinstance(categorical_features, str):
        if categorical_features != "from_dtype":
            raise ValueError(
                "categorical_features must be an array-like of bool, int or str, 'from_dtype' or "
                f"None. Got {categorical_features!r} instead."
            )
        if not _is_frame(X):
            return None
        wanted = np.array([_is_categorical(dtype) for dtype in X.dtypes], dtype=bool)
    else:
        wanted = np.asarray(categorical_features)
    if wanted.size == 0:
        return None
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
    mask = _mask(X, wanted)
    return mask if mask.any() else None


def _mask(X: Any, wanted: NDArray[Any]) -> NDArray[np.bool_]:
    n_features = _n_features(X)
    if wanted.dtype.kind == "b":
        if wanted.shape[0] != n_features:
            raise ValueError(
                "categorical_features set as a boolean mask must have shape (n_features,), got: "
                f"{wanted.shape}"
            )
        return wanted.copy()
    mask = np.zeros(n_features, dtype=bool)
    if wanted.dtype.kind in "iu":
        if wanted.max() >= n_features or wanted.min() < 0:
            raise ValueError(
                "categorical_features set as integer indices must be in [0, n_features - 1]"
            )
        mask[wanted] = True
        return mask
    if not _is_frame(X):
        raise ValueError(
            "categorical_features should be passed as an array of integers or as a boolean mask "
            "when the model is fitted on data without feature names."
        )
    names = list(X.columns)
    # Of equal names the first.
    places = {name: place for place, name in reversed(list(enumerate(names)))}
    for name in wanted:
        if name not in places:
            raise ValueError(
                f"categorical_features has an item value '{name}' which is not a valid feature "
                f"name of the training data. Observed feature names: {names}"
            )
        mask[places[name]] = True
    return mask


def _n_features(X: Any) -> int:
    shape: tuple[int, ...] = X.shape if hasattr(X, "shape") else np.array(X, dtype=object).shape
    if len(shape) != 2:
        # scikit-learn has the words.
        check_array(X, **_ANYTHING)
    return shape[1]


def learn(X: Any, mask: NDArray[np.bool_]) -> tuple[Any, Categories]:
    """Return X with codes in its categorical columns, and the categories behind these.

    Parameters
    ----------
    X : {array-like, data frame, sparse matrix} of shape (n_samples, n_features)
        Nothing is written to it.
    mask : ndarray of shape (n_features,)
        Which features are categorical.

    Returns
    -------
    X : ndarray of float64, or CSC or CSR matrix of float64
    categories : Categories
    """
    categories: Categories = [None] * mask.shape[0]

    def recode(feature: int, levels: NDArray[Any]) -> NDArray[np.float64]:
        categories[feature] = levels
        return np.arange(levels.shape[0], dtype=np.float64)

    return _recoded(X, mask, recode), categories


def encode(X: Any, mask: NDArray[np.bool_], categories: Categories) -> Any:
    """Return X with codes in its categorical columns, given the categories that `learn` has seen.

    Parameters
    ----------
    X : {array-like, data frame, sparse matrix} of shape (n_samples, n_features)
        Nothing is written to it.
    mask : ndarray of shape (n_features,)
        Which features are categorical.
    categories : Categories
        Theirs.

    Returns
    -------
    X : ndarray of float64, or CSC or CSR matrix of float64
    """

    def recode(feature: int, levels: NDArray[Any]) -> NDArray[np.float64]:
        known = categories[feature]
        assert known is not None
        codes = {category: code for code, category in enumerate(_items(known))}
        return np.array([codes.get(level, len(codes)) for level in _items(levels)], np.float64)

    return _recoded(X, mask, recode)


def numbers_of(categories: Categories | None) -> list[int] | None:
    """Return the number of categories of each feature, 0 of a numeric one; None if all are."""
    if categories is None:
        return None
    return [0 if known is None else known.shape[0] for known in categories]


def codes_of(categories: Categories | None) -> Categories | None:
    """Return the categories of data whose categories are codes."""
    if categories is None:
        return None
    return [
        None if known is None else np.arange(known.shape[0], dtype=np.float64)
        for known in categories
    ]


def are_same(one: Categories | None, other: Categories | None) -> bool:
    """Return whether codes stand for the same categories."""
    if one is None or other is None:
        return one is other

    def agree(a: NDArray[Any] | None, b: NDArray[Any] | None) -> bool:
        return a is b if a is None or b is None else _items(a) == _items(b)

    return len(one) == len(other) and all(map(agree, one, other))


# --- Matrices -----------------------------------------------------------------------------------

Recode = Callable[[int, NDArray[Any]], NDArray[np.float64]]
"""From a feature and the levels of its column to the codes of these."""


def _recoded(X: Any, mask: NDArray[np.bool_], recode: Recode) -> Any:
    if _is_frame(X):
        if all(hasattr(dtype, "fill_value") for dtype in X.dtypes):
            # A frame of sparse columns.
            X = check_array(X, accept_sparse=("csc", "csr"), **_ANYTHING)
    elif sparse.issparse(X):
        X = check_array(sound(X), accept_sparse=("csc", "csr"), **_ANYTHING)
    else:
        # Of a list, numbers and strings stay what they are.
        X = check_array(X if hasattr(X, "dtype") else np.array(X, dtype=object), **_ANYTHING)
    if X.shape[1] != mask.shape[0]:
        raise ValueError(f"X must have {mask.shape[0]} features. Got {X.shape[1]} instead.")
    if sparse.issparse(X):
        return _recoded_sparse(X, mask, recode)
    coded = np.empty(X.shape, dtype=np.float64, order="F")
    if not mask.all():
        coded[:, ~mask] = _numeric_part(X, np.flatnonzero(~mask))
    names = None if isinstance(X, np.ndarray) else list(X.columns)
    for feature in np.flatnonzero(mask).tolist():
        name = f"at index {feature}" if names is None else repr(names[feature])
        levels, at = _factorised(_column(X, feature), name)
        # The last is of those that are missing, at -1.
        coded[:, feature] = np.append(recode(feature, levels), np.nan)[at]
    return coded


def _numeric_part(X: Any, features: NDArray[np.intp]) -> Any:
    if hasattr(X, "iloc"):
        part = X.iloc[:, features]
    elif _is_frame(X):
        names = X.columns
        part = X.select([names[feature] for feature in features])
    else:
        part = X[:, features]
    return numbers(check_array(part, ensure_all_finite=False, ensure_min_samples=0))


def _recoded_sparse(X: Any, mask: NDArray[np.bool_], recode: Recode) -> Any:
    X = X.astype(np.float64)
    X.sum_duplicates()
    n_samples = X.shape[0]
    entries = np.flatnonzero(mask[X.indices] if X.format == "csr" else _major(X, mask))
    features = X.indices if X.format == "csr" else _major(X, np.arange(X.shape[1]))
    rows = X.indices if X.format == "csc" else _major(X, np.arange(n_samples))
    entries = entries[np.argsort(features[entries], kind="stable")]
    ends = np.searchsorted(features[entries], np.arange(X.shape[1] + 1))
    filled: list[tuple[NDArray[Any], int, float]] = []
    for feature in np.flatnonzero(mask).tolist():
        own = entries[ends[feature] : ends[feature + 1]]
        levels, at = _factorised(X.data[own], f"at index {feature}")
        has_zero = levels.shape[0] > 0 and levels[0] == 0
        has_absent = own.shape[0] < n_samples
        if has_absent and not has_zero:
            levels, at = np.insert(levels, 0, 0.0), np.where(at < 0, at, at + 1)
        codes = recode(feature, levels)
        X.data[own] = np.append(codes, np.nan)[at]
        if has_absent and codes[0] != 0.0:
            absent = np.setdiff1d(np.arange(n_samples), rows[own], assume_unique=True)
            filled.append((absent, feature, float(codes[0])))
    if filled:
        # Zeros are a category that training has not seen.
        parts = [(np.full(r.shape, code), r, np.full(r.shape, f)) for r, f, code in filled]
        data, r, f = (np.concatenate(part) for part in zip(*parts, strict=True))
        X = X + sparse.coo_matrix((data, (r, f)), shape=X.shape).asformat(X.format)
    return X


def _major(X: Any, values: NDArray[Any]) -> NDArray[Any]:
    """Return for each entry the value of the row of a CSR, or of the column of a CSC matrix."""
    return np.repeat(values, np.diff(X.indptr))


# --- Columns ------------------------------------------------------------------------------------


class _Factors(NamedTuple):
    levels: NDArray[Any]
    """Distinct values in the order of codes."""
    at: NDArray[np.intp]
    """Of each row its place among them; -1 if it is missing."""


def _factorised(column: Any, name: str) -> _Factors:
    if hasattr(column, "cat") and hasattr(column.dtype, "categories"):
        pandas_codes = getattr(column.cat, "codes", None)
        if pandas_codes is not None:
            return _of_levels(column.cat.categories.to_numpy(), pandas_codes.to_numpy(), name)
    if isinstance(column, np.ndarray):
        values, missing = column, None
        if column.dtype.kind in "fmM":
            missing = column != column
            values = column[~missing]
    elif hasattr(column, "isna"):
        missing = np.array(column.isna().to_numpy())
        values = column[~missing].to_numpy()
    else:
        missing = np.array(column.is_null().to_numpy())
        values = column.drop_nulls().to_numpy()
    if missing is not None and values.dtype.kind == "f":
        # Polars tells NaN from null.
        is_nan = np.isnan(values)
        missing[np.flatnonzero(~missing)[is_nan]] = True
        values = values[~is_nan]
    levels, at = _distinct(values, name)
    if missing is None:
        return _in_order(levels, at)
    everywhere = np.full(missing.shape, -1, dtype=np.intp)
    everywhere[~missing] = at
    return _in_order(levels, everywhere)


def _distinct(values: NDArray[Any], name: str) -> _Factors:
    """Return the distinct values, ascending, and the place of each value."""
    if values.dtype.kind != "O":
        levels, at = np.unique(values, return_inverse=True)
        return _Factors(levels, at.reshape(-1))
    cells = values.tolist()
    try:
        distinct = set(cells)
    except TypeError:
        raise TypeError(
            f"Categorical feature {name} must hold strings, numbers or other values that can be "
            "hashed and sorted."
        ) from None
    present = _ascending([value for value in distinct if not _is_missing(value)], name)
    places = dict.fromkeys(distinct, -1)
    places.update((level, place) for place, level in enumerate(present))
    at = np.fromiter(map(places.__getitem__, cells), dtype=np.intp, count=len(cells))
    return _Factors(_objects(present), at)


def _of_levels(values: NDArray[Any], at: NDArray[Any], name: str) -> _Factors:
    """Return the factors of places among distinct values of any order, of which some occur."""
    occurs = np.zeros(values.shape[0] + 1, dtype=bool)
    occurs[at] = True
    used = np.flatnonzero(occurs[:-1])
    levels, order = _distinct(values[used], name)
    places = np.full(values.shape[0] + 1, -1, dtype=np.intp)
    places[used] = order
    return _in_order(levels, places[at])


def _in_order(levels: NDArray[Any], at: NDArray[np.intp]) -> _Factors:
    """Return factors of ascending levels with 0 in front."""
    if levels.dtype.kind == "O":
        zeros = [place for place, level in enumerate(levels) if _is_zero(level)]
    elif levels.dtype.kind in "biuf":
        zeros = np.flatnonzero(levels == 0).tolist()
    else:
        zeros = []
    if not zeros:
        return _Factors(levels, at)
    zero = zeros[0]
    levels = np.concatenate([levels[zero : zero + 1], levels[:zero], levels[zero + 1 :]])
    if levels.dtype.kind == "f":
        # Of the two zeros the positive one.
        levels[0] = 0.0
    places = np.arange(levels.shape[0] + 1)
    places[:zero] += 1
    places[zero] = 0
    places[-1] = -1
    return _Factors(levels, places[at])


def _ascending(levels: list[Any], name: str) -> list[Any]:
    try:
        return sorted(levels)
    except TypeError:
        kinds = sorted({type(level).__name__ for level in levels})
        raise TypeError(
            f"Categorical feature {name} must hold values that can be sorted, such as only strings "
            f"or only numbers. Got values of the types {', '.join(kinds)} instead."
        ) from None


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    differs = value != value
    # pandas.NA does not know.
    return not isinstance(differs, (bool, np.bool_)) or bool(differs)


def _is_zero(value: Any) -> bool:
    is_number = isinstance(value, Number)
    return is_number and bool(value == 0)


def _objects(values: list[Any]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _items(values: NDArray[Any]) -> list[Any]:
    # Python's numbers and strings are equal across types; dates would lose their unit.
    return list(values) if values.dtype.kind in "mM" else values.tolist()


# --- Frames -------------------------------------------------------------------------------------


def _is_frame(X: Any) -> bool:
    """Return whether X is a data frame of pandas or polars, or one alike."""
    return hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "to_series"))


def _column(X: Any, feature: int) -> Any:
    if isinstance(X, np.ndarray):
        return X[:, feature]
    return X.iloc[:, feature] if hasattr(X, "iloc") else X.to_series(feature)


def _is_categorical(dtype: Any) -> bool:
    return type(dtype).__name__ in {"CategoricalDtype", "Categorical", "Enum"}
