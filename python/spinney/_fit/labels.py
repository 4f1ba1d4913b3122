"""Class labels of any library, as arrays in which distinct labels are distinct.

scikit-learn's checks turn nullable integers into float64, which does not tell integers above 2^53
apart, and refuse integers in an array of objects. So labels are read before they are checked.
"""

from __future__ import annotations

import sys
from numbers import Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spinney._common.sklearn_base import ClassifierMixin
from spinney._data.levels import is_missing

# Integers below this are exact as float64.
_EXACT = 2**53


class LabelledMixin(ClassifierMixin):
    """Scores classes by labels of any library."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of samples whose class is predicted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples. None means that all are 1.

        Returns
        -------
        score : float
        """
        # scikit-learn would compare integers of nullable types as float64.
        return float(super().score(X, read_labels(y), sample_weight))


def read_labels(y: Any) -> Any:
    """Return labels in the form in which scikit-learn may check them.

    Parameters
    ----------
    y : object
        The argument of `fit`. What is no labels is left to the checks.

    Returns
    -------
    y : object
        An array, where one has to be made; else the argument itself.

    Raises
    ------
    ValueError
        If labels are missing, or integers that no common type tells apart.
    """
    if isinstance(y, np.ndarray):
        return _read_objects(y) if y.dtype.kind == "O" else y
    if isinstance(y, (list, tuple)):
        return _read_list(y)
    if y is None or sparse.issparse(y):
        return y
    if hasattr(y, "iloc") and getattr(y, "ndim", 0) == 2:
        # narwhals refuses several columns of one name.
        columns = [nw.from_native(column, series_only=True) for _, column in y.items()]
        return _read_frame(y, columns)
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(y, (pandas.Index, pandas.api.extensions.ExtensionArray)):
        y = pandas.Series(y)
    labels = nw.from_native(y, allow_series=True, pass_through=True)
    if isinstance(labels, nw.DataFrame):
        columns = [labels[name] for name in labels.columns]
        return _read_frame(y, columns)
    if not isinstance(labels, nw.Series):
        return y
    if _is_whole(labels):
        return _read_whole(labels)
    array = np.asarray(y)
    return _read_objects(array) if array.dtype.kind == "O" else array


def _read_frame(y: Any, columns: list[nw.Series[Any]]) -> Any:
    """Return the labels of several outputs."""
    if not any(map(_is_whole, columns)):
        array = np.asarray(y)
        return _read_objects(array) if array.dtype.kind == "O" else y
    parts = [_read_whole(column) if _is_whole(column) else column.to_numpy() for column in columns]
    if any(part.dtype.kind == "O" for part in parts):
        return _read_objects(np.column_stack([part.astype(object) for part in parts]))
    stacked = np.column_stack(parts)
    if stacked.dtype.kind == "f":
        _check_exact(number for part in parts if part.dtype.kind in "iu" for number in part)
    return stacked


def _is_whole(labels: nw.Series[Any]) -> bool:
    return bool(labels.dtype.is_integer()) or labels.dtype == nw.Boolean


def _read_whole(labels: nw.Series[Any]) -> NDArray[Any]:
    """Return a column of integers or bools, which may be of a nullable type."""
    missing = labels.is_null().to_numpy()
    if missing.any():
        _reject_missing(int(missing.argmax()), None)
    array: NDArray[Any] = labels.to_numpy()
    return array


def _read_list(y: Any) -> Any:
    """Return a list of labels; numbers of several types as an array."""
    try:
        array = np.asarray(y)
    except ValueError:
        # Rows of several lengths.
        return y
    if array.dtype.kind == "O":
        return _read_objects(array)
    if array.dtype.kind == "f" and array.size and np.fmax.reduce(np.abs(array), None) >= _EXACT:
        _check_exact(np.array(y, dtype=object).ravel())
    return y


def _read_objects(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of objects; if all are numbers, as an array of numbers."""
    cells = array.ravel().tolist()
    kinds = set(map(type, cells))
    if kinds <= {str}:
        return array
    for place, cell in enumerate(cells):
        if is_missing(cell):
            _reject_missing(place // (array.shape[1] if array.ndim == 2 else 1), cell)
    if all(issubclass(kind, (Real, np.bool_)) for kind in kinds):
        numbers = np.array(cells)
        if numbers.dtype.kind == "f":
            _check_exact(cells)
        if numbers.dtype.kind != "O":
            return numbers.reshape(array.shape)
        if kinds == {int}:
            largest = max(cells, key=abs)
            raise ValueError(
                f"y must hold integers of at most 64 bits. Got {largest}. Pass strings instead."
            )
    if len(kinds) > 1 and any(issubclass(kind, str) for kind in kinds) and array.ndim == 1:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(
            "y must hold labels that can be sorted, such as only strings or only numbers. "
            f"Got labels of the types {names}."
        )
    return array


def _check_exact(numbers: Any) -> None:
    """Raise ValueError if an integer is too large for the float64 that it would become."""
    for number in numbers:
        if not isinstance(number, (float, np.floating)) and abs(int(number)) >= _EXACT:
            raise ValueError(
                "y must hold integers below 2**53 if it also holds floats, or integers that have "
                f"no type in common: as float64, larger ones cannot be told apart. Got {number}. "
                "Pass labels of one type, such as int64 or strings."
            )


def _reject_missing(row: int, value: Any) -> None:
    got = "a missing one" if value is None else repr(value)
    raise ValueError(
        f"Input y contains NaN or another missing value: there must be a label for each sample. "
        f"Got {got} in row {row}."
    )
