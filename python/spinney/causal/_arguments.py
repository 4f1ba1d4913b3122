"""The arguments of `fit` of a causal forest as arrays of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from spinney._common.checks import check_sample_weight
from spinney._fit.groups import read_groups as read_groups  # noqa: PLC0414 - handed on


def read_numbers(values: Any, name: str, n_samples: int) -> NDArray[np.float64]:
    """Return a finite number for each sample."""
    array = _read_column(values, name, n_samples)
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


def read_treatments(T: Any, n_samples: int) -> tuple[NDArray[np.float64], NDArray[Any] | None]:
    """Return treatments as numbers, and the two labels that 0 and 1 stand for.

    There are none if treatments are numbers or bools.
    """
    array = _read_column(T, "T", n_samples)
    labels = None
    if array.dtype.kind not in "biuf":
        try:
            numbers = np.array(array, dtype=np.float64)
        except (TypeError, ValueError):
            labels, numbers = _read_labels(array)
        array = numbers
    numbers = read_numbers(array, "T", n_samples)
    return numbers, labels


def _read_labels(array: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.float64]]:
    is_missing = np.array([label is None or label != label for label in array.tolist()])
    if is_missing.any():
        raise ValueError(
            f"T must be known for each sample. Got {np.count_nonzero(is_missing)} missing values."
        )
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
    """Return the weights of samples; None if there are none."""
    if sample_weight is None:
        return None
    weights = check_sample_weight(sample_weight, n_samples)
    if np.any(weights < 0):
        raise ValueError(f"sample_weight must not be negative. Got {weights.min():g}.")
    if not np.any(weights > 0):
        raise ValueError("sample_weight must be positive for at least one sample.")
    return weights


def _read_column(values: Any, name: str, n_samples: int) -> NDArray[Any]:
    if values is None or isinstance(values, (str, bytes)) or np.ndim(values) == 0:
        raise ValueError(
            f"{name} must be an array-like of a value for each sample. Got {values!r}."
        )
    array: NDArray[Any] = column_or_1d(np.asarray(values))
    if len(array) != n_samples:
        raise ValueError(
            f"{name} must have a value for each of the {n_samples} samples of X. Got {len(array)}."
        )
    return array
