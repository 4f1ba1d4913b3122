"""The arguments of `fit` of a causal forest as arrays of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from spinney._common.checks import check_sample_weight, check_signs, refuse_dates
from spinney._data.levels import is_missing

# Of numbers from one to the other, squares of quotients are neither 0 nor infinite.
_LEAST, _MOST = 1e-50, 1e50
# Means of weights from 2^-10 to 2^10 leave most of the bits that squares of treatments have.
_USUAL_EXPONENT = 10


def read_numbers(values: Any, name: str, n_samples: int) -> NDArray[np.float64]:
    """Return a finite number for each sample."""
    array = _read_column(values, name, n_samples)
    refuse_dates(array, name)
    try:
        numbers = np.array(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name} must hold numbers: {error}") from None
    n_bad = int(np.count_nonzero(~np.isfinite(numbers)))
    if n_bad:
        raise ValueError(
            f"{name} must be finite and known for each sample. Got {n_bad} values that are NaN or "
            "infinite. Leave these samples out."
        )
    return numbers


def check_unit(numbers: NDArray[np.float64], name: str) -> None:
    """Raise ValueError if numbers are so large or small that effects cannot be computed."""
    largest = np.abs(numbers).max(initial=0.0)
    if largest != 0.0 and not _LEAST <= largest <= _MOST:
        raise ValueError(
            f"{name} must have a largest magnitude from {_LEAST:g} to {_MOST:g}. "
            f"Got {largest:g}: choose another unit."
        )


def read_pair(T: Any, y: Any) -> tuple[Any, Any]:
    """Return treatments and outcomes, which may come as the two columns of one target."""
    if y is not None:
        return T, y
    pair = np.asarray(T)
    if pair.dtype.names is not None and len(pair.dtype.names) == 2:
        of_treatment, of_outcome = pair.dtype.names
        return pair[of_treatment], pair[of_outcome]
    if pair.ndim != 2 or pair.shape[1] != 2:
        raise ValueError(
            "y must be the outcomes. Without it T must have two columns, treatments and outcomes. "
            f"Got y=None and T of shape {pair.shape}."
        )
    return pair[:, 0], pair[:, 1]


def read_treatments(
    T: Any, n_samples: int, known: NDArray[Any] | None = None
) -> tuple[NDArray[np.float64], NDArray[Any] | None]:
    """Return treatments as numbers, and the two labels that 0 and 1 stand for.

    There are none if treatments are numbers or bools. If labels are `known`, there are no others.
    """
    array = _read_column(T, "T", n_samples)
    labels = None
    if array.dtype.kind in "mM":
        raise ValueError(f"T must be numbers, bools or two labels. Got {array.dtype}.")
    if array.dtype.kind not in "biuf":
        # Words are labels, also those that spell numbers.
        numbers = None if any(isinstance(value, str) for value in array) else _to_numbers(array)
        if numbers is None:
            labels, numbers = _read_labels(array, known)
        array = numbers
    numbers = read_numbers(array, "T", n_samples)
    return numbers, labels


def _to_numbers(array: NDArray[Any]) -> NDArray[np.float64] | None:
    try:
        return np.array(array, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _read_labels(
    array: NDArray[Any], known: NDArray[Any] | None
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    n_missing = sum(map(is_missing, array.tolist()))
    if n_missing:
        raise ValueError(f"T must be known for each sample. Got {n_missing} missing values.")
    if known is not None:
        if not np.isin(array, known).all():
            raise ValueError(f"T must have the labels that it had in fit, {known.tolist()}.")
        return known, (array == known[1]).astype(np.float64)
    labels, codes = np.unique(array, return_inverse=True)
    if len(labels) != 2:
        raise ValueError(
            "T must be numbers, bools or two labels: without and with the treatment, in the order "
            f"of sorting. Got {len(labels)} labels, {labels[:5].tolist()}."
        )
    return labels, codes.ravel().astype(np.float64)


def check_varies(treatments: NDArray[np.float64]) -> None:
    """Raise ValueError if all treatments are equal."""
    if len(treatments) == 0 or np.ptp(treatments) == 0:
        got = f"{treatments[0]:g} for all {len(treatments)}" if len(treatments) else "none"
        raise ValueError(
            "T must have samples with and without the treatment, or with several amounts of it, "
            f"among those of positive weight. Got {got}."
        )


def read_weights(sample_weight: Any, n_samples: int) -> NDArray[np.float64] | None:
    """Return the weights of samples; None if there are none.

    Very large and very small ones are multiplied by a power of two that brings their mean between 1
    and 2: they would leave no digits for squares. Weights of a usual size stay, so that a weight of
    k does the same as k copies.
    """
    if sample_weight is None:
        return None
    weights = check_sample_weight(sample_weight, n_samples)
    check_signs(weights, "sample_weight")
    exponent = int(np.frexp(weights.mean())[1]) - 1
    return weights if abs(exponent) <= _USUAL_EXPONENT else np.ldexp(weights, -exponent)


def _read_column(values: Any, name: str, n_samples: int) -> NDArray[Any]:
    if values is None or isinstance(values, (str, bytes)) or np.ndim(values) == 0:
        raise ValueError(
            f"{name} must be an array-like of a value for each sample. Got {values!r}."
        )
    given = np.asarray(values)
    if given.dtype.kind == "c":
        raise ValueError(f"{name} must hold real numbers. Got {given.dtype}.")
    array: NDArray[Any] = column_or_1d(given)
    if len(array) != n_samples:
        raise ValueError(
            f"{name} must have a value for each of the {n_samples} samples of X. Got {len(array)}."
        )
    return array
