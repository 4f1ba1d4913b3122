"""Categorical features: matrices with values of any type become matrices of codes.

The categories of a feature are the distinct values of its column in `fit`. The code of a category
is its index in ascending order, or in the order of a categorical type, except that 0, if it
occurs, has code 0. Entries that a sparse matrix does not store are 0, so their code is 0 and they
can stay unstored. A value that did not occur in `fit` gets the number of categories as its code.
None, NA and NaN are missing values and become NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from spinney._data.arrays import convert_objects, secure_sparse, to_native
from spinney._data.frames import (
    SINGLE,
    get_columns,
    get_names,
    is_frame,
    is_plain,
    is_small,
    is_sparse_frame,
)
from spinney._data.levels import (
    Levels,
    Unhashable,
    factorize,
    find_levels,
    is_missing,
    list_items,
    make_object_array,
)
from spinney._data.numbers import raise_faults, refuse_text, to_numbers, warn_of_dates
from spinney._spinney import Columns

# A query may have no rows.
_ANYTHING: dict[str, Any] = {"dtype": None, "ensure_all_finite": False, "ensure_min_samples": 0}
DOUBLE = 2**53
"""Double precision tells integers below this apart."""


Categories = list[NDArray[Any] | None]
"""For each feature its categories, indexed by their codes; None for a numeric feature."""


class LookUp:
    """The codes of categories, in tables that are made when they are first asked for.

    Parameters
    ----------
    categories : Categories
    """

    def __init__(self, categories: Categories) -> None:
        self.categories = categories
        self._code_of: dict[int, dict[Any, int]] = {}

    def find_codes(self, feature: int, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return the codes of values: NaN if missing, the number of categories if unknown."""
        known = self.categories[feature]
        assert known is not None
        if feature not in self._code_of:
            self._code_of[feature] = {item: code for code, item in enumerate(list_items(known))}
        code_of, unknown = self._code_of[feature], known.shape[0]
        codes = [
            np.nan if is_missing(value) else code_of.get(value, unknown)
            for value in list_items(values)
        ]
        return np.array(codes, dtype=np.float64)


# The look-ups by estimator. They are no attributes, so that neither pickles nor files have them.
_LOOK_UPS: WeakKeyDictionary[Any, LookUp] = WeakKeyDictionary()


def learn(X: Any, mask: NDArray[np.bool_], n_threads: int) -> tuple[Any, Categories]:
    """Return X with codes in its categorical columns, and the categories that the codes stand for.

    Parameters
    ----------
    X : {array-like, data frame, sparse matrix} of shape (n_samples, n_features)
        It is not changed.
    mask : ndarray of bool of shape (n_features,)
        Which features are categorical.
    n_threads : int
        Threads that encode an array of numbers.

    Returns
    -------
    X : Columns, ndarray of float32 or float64, or CSC or CSR matrix of float64
        An array of numbers is encoded at once.
    categories : Categories
    """
    X = _check(X, mask)
    if X.shape[0] == 0:
        # In the words of scikit-learn, which checks what has no categories.
        raise ValueError(
            f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required."
        )
    if isinstance(X, np.ndarray) and (learned := _learn_numbers(X, mask, n_threads)) is not None:
        return learned
    categories: Categories = [None] * mask.shape[0]

    def number_values(feature: int, values: NDArray[Any]) -> NDArray[np.float64]:
        categories[feature] = values
        return np.arange(values.shape[0], dtype=np.float64)

    coded = _recode(X, mask, find_levels, number_values)
    warn_of_dates(categories, _name_columns(X))
    return coded, categories


def encode(
    X: Any,
    mask: NDArray[np.bool_],
    categories: Categories,
    owner: Any = None,
    note: Note | None = None,
) -> Any:
    """Return X with codes in its categorical columns, given the categories that `learn` returned.

    Parameters
    ----------
    X : {array-like, data frame, sparse matrix} of shape (n_samples, n_features)
        It is not changed.
    mask : ndarray of bool of shape (n_features,)
        Which features are categorical.
    categories : Categories
    owner : object, default=None
        The estimator that has the categories. Its next call finds the tables that this one makes.
    note : callable, default=None
        Is told the values, and their codes, of each categorical feature.

    Returns
    -------
    X : ndarray of float32 or float64, or CSC or CSR matrix of float64
    """
    look_up = None if owner is None else _LOOK_UPS.get(owner)
    if look_up is None or look_up.categories is not categories:
        look_up = LookUp(categories)
        if owner is not None:
            _LOOK_UPS[owner] = look_up
    return _recode(_check(X, mask), mask, _read_values, look_up.find_codes, note)


def restore_sparse(X: Any, mask: NDArray[np.bool_], categories: Categories) -> Any:
    """Return a sparse matrix with categories, which are numbers, in the place of their codes.

    Parameters
    ----------
    X : CSC or CSR matrix of shape (n_samples, n_features)
        It is not changed.
    mask : ndarray of bool of shape (n_features,)
    categories : Categories

    Returns
    -------
    X : CSC or CSR matrix of float64
    """

    def find_values(feature: int, codes: NDArray[Any]) -> NDArray[np.float64]:
        known = categories[feature]
        assert known is not None
        if known.dtype.kind in "iu" and not are_exact(known):
            raise ValueError(
                "The values of a sparse Dataset must be numbers that float64 tells apart. Got "
                f"integers of 2**53 or more as categories of the feature {feature}. Pass the "
                "matrix itself."
            )
        return known[codes.astype(np.intp)].astype(np.float64)

    return _recode_sparse(X, mask, find_values)


def convert_frame(X: Any) -> Any:
    """Return X; if it is a data frame with a column that NumPy does not convert, as a matrix."""
    if is_frame(X) and X.shape[1] == 0:
        # scikit-learn refuses this array in clear words, and errs for such a frame.
        return np.empty(X.shape)
    if is_plain(X) or is_sparse_frame(X):
        return X
    return _recode_dense(X, np.zeros(X.shape[1], dtype=bool), _read_values, LookUp([]).find_codes)


def count_categories(categories: Categories | None) -> list[int] | None:
    """Return the number of categories of each feature, 0 for a numeric one; None if all are."""
    if categories is None:
        return None
    return [0 if known is None else known.shape[0] for known in categories]


def replace_by_codes(categories: Categories | None) -> Categories | None:
    """Return the categories of the same data after codes have taken the place of categories."""
    if categories is None:
        return None
    return [None if c is None else np.arange(c.shape[0], dtype=np.float64) for c in categories]


def have_same_categories(one: Categories | None, other: Categories | None) -> bool:
    """Return whether codes stand for the same categories."""
    if one is None or other is None:
        return one is other

    def agree(a: NDArray[Any] | None, b: NDArray[Any] | None) -> bool:
        return a is b if a is None or b is None else list_items(a) == list_items(b)

    return len(one) == len(other) and all(map(agree, one, other))


Reader = Callable[[Any, str], Levels]
"""A function from a column and its name to its values."""

Coder = Callable[[int, NDArray[Any]], NDArray[np.float64]]
"""A function from a feature and values of its column to the codes of these values."""

Note = Callable[
    [int, NDArray[Any], NDArray[np.float64], NDArray[np.integer[Any]] | None],
    None,
]
"""A function of a feature, values of its column, their codes, and for each row the index of its
value, -1 if it is missing; None if rows have all of the values."""


def _learn_numbers(
    X: NDArray[Any], mask: NDArray[np.bool_], n_threads: int
) -> tuple[Columns, Categories] | None:
    """Return what `learn` does, for an array of numbers; None if it has to be read as any other."""
    # Of bools and half precision the categories would be of another type.
    if X.dtype.kind not in "iuf" or (X.dtype.kind == "f" and X.dtype.itemsize not in (4, 8)):
        return None
    learned = Columns.learn(to_native(X), mask.tolist(), n_threads)
    if learned is None:
        return None
    columns, values = learned
    if X.dtype.itemsize == 8 and X.dtype.kind != "f" and not all(map(are_exact, values)):
        return None
    return columns, [None if known is None else known.astype(X.dtype) for known in values]


def are_exact(values: NDArray[Any] | None) -> bool:
    """Return whether float64 has all of these integers; they may have become floats already."""
    if values is None or values.size == 0:
        return True
    return bool(max(-float(values.min()), float(values.max())) < DOUBLE)


def are_floats(categories: NDArray[Any] | None) -> bool:
    """Return whether float64 has all categories of a feature, which may be numeric (None)."""
    if categories is None or categories.dtype.kind in "bf":
        return True
    return categories.dtype.kind in "iu" and are_exact(categories)


def _check(X: Any, mask: NDArray[np.bool_]) -> Any:
    """Return X as a data frame, a CSC or CSR matrix, or an array of any type."""
    frame = is_frame(X)
    if frame and not is_sparse_frame(X):
        return X
    if frame or sparse.issparse(X):
        matrix = check_array(secure_sparse(X), accept_sparse=("csc", "csr"), **_ANYTHING)
        if frame and matrix.dtype.kind == "f":
            _check_sparse_columns(X, mask)
        return matrix
    # As an array of objects, a list keeps numbers and strings as they are.
    return check_array(X if hasattr(X, "dtype") else np.array(X, dtype=object), **_ANYTHING)


def _check_sparse_columns(X: Any, mask: NDArray[np.bool_]) -> None:
    """Raise ValueError if categories of a frame, whose columns become floats, would merge."""
    for feature in np.flatnonzero(mask).tolist():
        stored = X.iloc[:, feature].array.sp_values
        if stored.dtype.kind in "iu" and not are_exact(stored):
            raise ValueError(
                f"Categorical feature {get_names(X)[feature]!r} must hold integers below 2**53, "
                "because the sparse columns of X have several types and become float64, which does "
                "not tell larger ones apart. Pass sparse columns of one type, or dense ones."
            )


def _recode(
    X: Any,
    mask: NDArray[np.bool_],
    read: Reader,
    find_codes: Coder,
    note: Note | None = None,
) -> Any:
    """Return X, which has been checked, with codes in its categorical columns."""
    if X.shape[1] != mask.shape[0]:
        raise ValueError(f"X must have {mask.shape[0]} features. Got {X.shape[1]} instead.")
    if sparse.issparse(X):
        return _recode_sparse(X, mask, find_codes, note)
    return _recode_dense(X, mask, read, find_codes, note)


def _recode_dense(
    X: Any,
    mask: NDArray[np.bool_],
    read: Reader,
    find_codes: Coder,
    note: Note | None = None,
) -> NDArray[np.floating[Any]]:
    """Return a matrix of codes and numbers, made column by column.

    It is in single precision if that has the codes and, by type or value, all numbers.
    """
    if isinstance(X, np.ndarray):
        columns = list(X.T)
        is_exact = is_small(X)
    else:
        columns = get_columns(X, mask)
        is_exact = all(map(is_small, (columns[feature] for feature in np.flatnonzero(~mask))))
    names = _name_columns(X)
    is_single = is_exact and X.shape[0] <= SINGLE
    coded = np.empty(X.shape, dtype=np.float32 if is_single else np.float64, order="F")
    if isinstance(X, np.ndarray) and not mask.all():
        coded[:, ~mask] = _read_array(X, mask)
    faults: list[Exception] = []
    for feature, column in enumerate(columns):
        try:
            if mask[feature]:
                levels = read(column, names[feature])
                codes = find_codes(feature, levels.values)
                if note is not None:
                    note(feature, levels.values, codes, levels.places)
                _translate(levels, codes, coded[:, feature])
            elif not isinstance(X, np.ndarray):
                coded[:, feature] = to_numbers(column, names[feature])
        except (TypeError, ValueError) as error:  # noqa: PERF203 - the others are told of, too
            faults.append(error)
    if faults:
        raise_faults(faults)
    return coded


def _name_columns(X: Any) -> list[str]:
    """Return what messages call the columns of a matrix, which has been checked."""
    if isinstance(X, np.ndarray) or sparse.issparse(X):
        return [f"at index {feature}" for feature in range(X.shape[1])]
    return [repr(name) for name in get_names(X)]


def _read_array(X: NDArray[Any], mask: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the columns of numbers of an array of any type."""
    try:
        numbers: NDArray[Any] = convert_objects(
            check_array(X[:, ~mask], ensure_all_finite=False, ensure_min_samples=0)
        )
    except (TypeError, ValueError) as error:
        if X.dtype.kind not in "OSU":
            raise
        refuse_text(error, X, mask)
    return numbers


def _read_values(column: Any, name: str) -> Levels:  # noqa: ARG001 - a `Reader`
    """Return values of a column of a query; what cannot be hashed is a category of its own."""
    try:
        values, places = factorize(column)
    except TypeError:
        cells = column.tolist() if isinstance(column, np.ndarray) else column.to_list()
        values, places = factorize(make_object_array([_make_hashable(cell) for cell in cells]))
    return Levels(values, places, None)


def _make_hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return Unhashable(value)
    return value


def _recode_sparse(
    X: Any, mask: NDArray[np.bool_], find_codes: Coder, note: Note | None = None
) -> Any:
    exact = _sum_exactly(X)
    X = X.astype(np.float64)
    X.sum_duplicates()
    data = X.data if exact is None else exact
    n_samples, n_features = X.shape
    is_csr = X.format == "csr"
    features = X.indices if is_csr else _repeat_per_entry(X, np.arange(n_features))
    rows = _repeat_per_entry(X, np.arange(n_samples)) if is_csr else X.indices
    # The stored entries of categorical features, feature by feature.
    entries = np.flatnonzero(mask[features])
    entries = entries[np.argsort(features[entries], kind="stable")]
    ends = np.searchsorted(features[entries], np.arange(n_features + 1))
    # What has to be stored in rows that have no entry: rows, feature, code.
    filled: list[tuple[NDArray[Any], int, float]] = []
    for feature in np.flatnonzero(mask).tolist():
        own = entries[ends[feature] : ends[feature + 1]]
        levels = find_levels(data[own], f"at index {feature}")
        has_unstored = own.shape[0] < n_samples
        if has_unstored and not (levels.values.shape[0] > 0 and levels.values[0] == 0):
            # 0 occurs in the rows without an entry, though in no entry.
            levels = levels.with_zero()
        new_codes = find_codes(feature, levels.values)
        if note is not None:
            note(feature, levels.values, new_codes, None)
        X.data[own] = _translate(levels, new_codes, np.empty(own.shape))
        if has_unstored and new_codes[0] != 0.0:
            # 0 did not occur in `fit`. So its code is not 0 and has to be stored.
            unstored = np.setdiff1d(np.arange(n_samples), rows[own], assume_unique=True)
            filled.append((unstored, feature, float(new_codes[0])))
    if filled:
        parts = [(np.full(r.shape, code), r, np.full(r.shape, f)) for r, f, code in filled]
        data, r, f = (np.concatenate(part) for part in zip(*parts, strict=True))
        X = X + sparse.coo_matrix((data, (r, f)), shape=X.shape).asformat(X.format)
    return X


def _sum_exactly(X: Any) -> NDArray[Any] | None:
    """Return the entries of a sparse matrix as integers if float64 does not tell them apart.

    Entries at one place are added up, as `sum_duplicates` of scipy does. None stands for entries
    that are exact as float64.
    """
    is_wide = X.dtype.kind in "iu" and X.dtype.itemsize == 8 and X.nnz > 0
    if not is_wide or max(-int(X.data.min()), int(X.data.max())) < DOUBLE:
        return None
    X = X.copy()
    X.sum_duplicates()
    entries: NDArray[Any] = X.data
    return entries


def _translate(levels: Levels, new_codes: NDArray[np.float64], out: NDArray[Any]) -> NDArray[Any]:
    """Set `out` to the new code of the value of each row, NaN where it is missing; return it."""
    # The last entry belongs to -1, which stands for missing values.
    table = np.empty(new_codes.shape[0] + 1, dtype=out.dtype)
    table[:-1] = new_codes
    table[-1] = np.nan
    if levels.of_places is not None:
        table = table.take(levels.of_places)
    return table.take(levels.places, mode="wrap", out=out)


def _repeat_per_entry(X: Any, values: NDArray[Any]) -> NDArray[Any]:
    """Return for each entry the value of its row of a CSR, or of its column of a CSC matrix."""
    return np.repeat(values, np.diff(X.indptr))
