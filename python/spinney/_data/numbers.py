"""The numbers of the columns of a matrix, and what to do with columns that hold none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Any, NoReturn

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from spinney._common.messages import ColumnError, warn_caller
from spinney._data.frames import (
    CATEGORICAL_TYPES,
    NESTED_TYPES,
    TIMES,
    Column,
    as_series,
    factorize,
)
from spinney._data.levels import is_missing

# Columns that a message lists.
_LISTED = 20
# Values by which it is told what a column of text holds.
_LOOKED_AT = 100
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE = re.compile(
    r"\s*((1[6-9]|2[01])\d\d[-/.]\d{1,2}([-/.]\d{1,2})?|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d\d)"
    rf"|\d{{1,2}}[ -]{_MONTH}[ -]\d{{2,4}}|{_MONTH} \d{{1,2}},? \d{{2,4}})(?!\d)",
    re.IGNORECASE,
)
_READ_DATES = (
    "Read them (pandas.to_datetime, str.to_date of polars), and convert them to numbers, such as "
    "days since a date"
)


def to_numbers(column: Column, name: Any) -> NDArray[Any]:
    """Return the numbers of a column of a frame, NaN where they are missing.

    Raises
    ------
    TypeError
        If the column holds dates, times or durations: as numbers they would depend on their unit.
    ValueError, TypeError
        If a value is no number. The message has the cure.
    """
    if isinstance(column, np.ndarray):
        return column
    series = as_series(column)
    if series.dtype.is_temporal():
        raise TypeError(_describe_dates(name, f"values of the type {series.dtype}"))
    if isinstance(series.dtype, CATEGORICAL_TYPES):
        # pyarrow's own conversion takes a missing value for one of the others.
        values, codes = factorize(column)
        return np.append(_convert_categories(values, name), np.nan).take(codes, mode="wrap")
    if series.dtype == nw.Boolean:
        series = series.cast(nw.Float32)
    values = series.to_numpy()
    if values.ndim != 1 or isinstance(series.dtype, NESTED_TYPES):
        raise TypeError(
            f"Column {name} holds values of the type {series.dtype}, which are no numbers. Make a "
            "column of each of their parts."
        )
    if values.dtype.kind in "biuf":
        return values
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: column {name}.")
    values = values.astype(object)
    values[series.is_null().to_numpy()] = np.nan
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        text = _describe_others(error, f"column {name} of the type {series.dtype}", values)
        raise type(error)(text) from None


def _convert_categories(values: NDArray[Any], name: Any) -> NDArray[np.float64]:
    if values.dtype.kind in "mM":
        raise TypeError(_describe_dates(name, "dates or durations as categories"))
    try:
        return np.array([np.nan if is_missing(value) else value for value in values], np.float64)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"{error}: column {name} has a categorical type. "
            'categorical_features="from_dtype" reads all columns of such types as categories. A '
            'list of names may have "from_dtype" among them.'
        ) from None


def refuse_text(error: Exception, X: NDArray[Any], mask: NDArray[np.bool_] | None) -> NoReturn:
    """Raise an error for an array with columns that are no numbers, each with its cure.

    Parameters
    ----------
    error : Exception
        By which NumPy or scikit-learn refuses the array.
    X : ndarray of shape (n_samples, n_features)
    mask : ndarray of bool of shape (n_features,), or None
        Features that may hold anything.
    """
    faults: list[Exception] = []
    for feature, column in enumerate(X.T if X.ndim == 2 else ()):
        if mask is not None and mask[feature]:
            continue
        try:
            column.astype(np.float64)
        except (TypeError, ValueError) as of_column:
            text = _describe_others(of_column, f"column at index {feature}", column)
            faults.append(type(of_column)(text))
    if not any(str(fault).startswith(str(error)) for fault in faults):
        # Of strings that may be numbers, scikit-learn says something else.
        advice = "Columns of strings are read if categorical_features names them."
        raise ValueError("\n".join([str(error), advice, *map(str, faults[:_LISTED])])) from error
    raise_faults(faults)


def warn_of_dates(categories: Sequence[NDArray[Any] | None], names: Sequence[Any]) -> None:
    """Warn of categorical features that are dates as text: later dates are unknown categories.

    Parameters
    ----------
    categories : Categories
    names : sequence
        Of the features.
    """
    columns = [
        str(names[feature])
        for feature, known in enumerate(categories)
        if known is not None
        and known.dtype.kind in "OU"
        and known.size > 1
        and _are_dates(known[:_LOOKED_AT].tolist())
    ]
    if columns:
        more = f" and {len(columns) - _LISTED} more" if len(columns) > _LISTED else ""
        warn_caller(
            f"Categorical features hold dates as text: {', '.join(columns[:_LISTED])}{more}. Dates "
            f"that `fit` has not seen are unknown categories. {_READ_DATES}."
        )


def _are_dates(values: list[Any]) -> bool:
    return all(isinstance(value, str) and _DATE.match(value) for value in values)


def raise_faults(faults: list[Exception]) -> NoReturn:
    """Raise what is wrong with the columns of a matrix as one error."""
    if len(faults) == 1:
        raise faults[0] from None
    lines = [f"- {fault}" for fault in faults[:_LISTED]]
    if len(faults) > _LISTED:
        lines.append(f"- ... and {len(faults) - _LISTED} more")
    raise ColumnError("\n".join([f"X has {len(faults)} columns that are refused:", *lines]))


def _describe_dates(name: Any, what: str) -> str:
    return (
        f"Column {name} holds {what}, which are no numbers. Convert them to numbers, such as days "
        "since a date, or name the column in categorical_features."
    )


def _describe_others(error: Exception, column: str, values: NDArray[Any]) -> str:
    """Return what to do with a column whose values NumPy does not convert."""
    present = (value for value in values.tolist() if not is_missing(value))
    sample = list(islice(present, _LOOKED_AT))
    if all(isinstance(value, TIMES) for value in sample):
        cure = "holds dates or times. Convert them to numbers, such as days since a date"
    elif _are_dates(sample):
        cure = f"holds dates as text. {_READ_DATES}"
    elif any(map(_is_number, sample)):
        cure = (
            "holds numbers and text. If the text stands for missing values, make them missing "
            '(pandas.to_numeric(column, errors="coerce"), cast(strict=False) of polars)'
        )
    else:
        return f"{error}: {column} must hold numbers, or be named in categorical_features."
    return f"{error}: {column} {cure}, or name the column in categorical_features."


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
