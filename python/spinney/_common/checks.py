"""Checks of arguments that scikit-learn's own validation does not make."""

from __future__ import annotations

import math
from importlib.util import find_spec
from numbers import Integral, Number
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from spinney._common.messages import reject_parameter


def is_bool(value: Any) -> bool:
    """Return whether a value is a bool of Python or NumPy."""
    return isinstance(value, (bool, np.bool_))


def check_int(
    owner: str, name: str, value: Any, least: int, more: str = "", *, end: float = math.inf
) -> None:
    """Raise ValueError unless a parameter is an int from the least one on, and below the end."""
    if not isinstance(value, Integral) or not least <= int(value) < end:
        bound = "inf" if end == math.inf else f"2**{math.log2(end):g}"
        reject_parameter(owner, name, value, f"an int in the range [{least}, {bound}){more}")


def check_n_jobs(owner: str, n_jobs: Any) -> None:
    """Raise ValueError unless `n_jobs` says for how many threads it asks."""
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        reject_parameter(owner, "n_jobs", n_jobs, "an int other than 0 or None")


def check_verbose(owner: str, verbose: Any) -> None:
    """Raise ValueError unless `verbose` is an int that is not negative, or a bool."""
    if not isinstance(verbose, (Integral, np.bool_)) or verbose < 0:
        reject_parameter(owner, "verbose", verbose, "an int in the range [0, inf) or a bool")


def check_targets(owner: str, y: Any) -> None:
    """Raise ValueError if the argument `y` of `fit` is nothing, or the name of a column."""
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, but the target y is None.")
    if isinstance(y, (str, bytes, Number)):
        raise ValueError(
            f"y must be an array-like of the targets, one for each sample. Got {y!r} instead. Pass "
            "the values of a column, such as X['target'], and leave it out of X."
        )


def require_matplotlib(owner: str) -> None:
    """Raise ImportError, which names the function that draws, if matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        raise ImportError(f"{owner} draws by matplotlib, which is not installed.")


def check_counts(y: NDArray[np.float64], wanted_sum: str) -> None:
    """Raise ValueError, in scikit-learn's words, for targets that Poisson regression cannot have.

    Parameters
    ----------
    y : ndarray
    wanted_sum : {"positive", "strictly positive"}
        How the message describes the sum. scikit-learn's trees and forests have different words.
    """
    if np.any(y < 0):
        raise ValueError(
            "Some value(s) of y are negative which is not allowed for Poisson regression."
        )
    if not np.any(y > 0):
        raise ValueError(f"Sum of y is not {wanted_sum} which is necessary for Poisson regression.")


def check_monotonic_cst(monotonic_cst: Any, n_features: int) -> list[int]:
    """Return the constraint of each feature; raise ValueError, in scikit-learn's words."""
    constraints = np.asarray(monotonic_cst)
    legal = "monotonic_cst must be None or an array-like of -1, 0 or 1"
    if constraints.ndim != 1 or constraints.dtype.kind not in "iufb":
        raise ValueError(f"{legal}, but got {monotonic_cst!r}")
    if constraints.shape[0] != n_features:
        raise ValueError(
            f"monotonic_cst has shape {constraints.shape[0]} but the input data X has "
            f"{n_features} features."
        )
    if not np.all(np.isin(constraints, (-1, 0, 1))):
        raise ValueError(f"{legal}, but got {np.unique(constraints)}")
    return [int(constraint) for constraint in constraints]


def check_sample_weight(
    sample_weight: Any, n_samples: int, name: str = "sample_weight"
) -> NDArray[np.float64]:
    """Return one float64 weight per sample. The compiled part checks that none is negative.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,) or float
    n_samples : int
    name : str, default="sample_weight"
        The argument, as messages name it.
    """
    if np.isscalar(sample_weight):
        sample_weight = np.full(n_samples, sample_weight)
    refuse_dates(sample_weight, name)
    try:
        weights: NDArray[np.float64] = check_array(
            sample_weight, ensure_2d=False, dtype=np.float64, order="C", input_name=name
        )
    except (TypeError, ValueError) as error:
        if name in str(error):
            raise
        # NumPy does not know which argument it converts.
        raise type(error)(f"{name} must hold numbers: {error}") from None
    if weights.ndim != 1 or weights.shape[0] != n_samples:
        raise ValueError(
            f"{name} must be a scalar or a 1D array of shape ({n_samples},). "
            f"Got shape {weights.shape} instead."
        )
    check_total(weights, name)
    return np.require(weights, requirements="A")


def refuse_dates(values: Any, name: str) -> None:
    """Raise TypeError for dates and durations: as numbers they would depend on their unit."""
    dtype = np.asarray(values).dtype
    if dtype.kind in "mM":
        raise TypeError(
            f"{name} must hold numbers. Got values of the type {dtype}: convert them to numbers, "
            "such as days since a date."
        )


def check_targets_are_numbers(y: Any, **checks: Any) -> NDArray[np.float64]:
    """Return targets as finite float64, by scikit-learn's `check_array` with more checks.

    Raises
    ------
    ValueError, TypeError
        If they hold anything else. The message names `y`.
    """
    refuse_dates(y, "y")
    # The check tests finiteness by a sum, which may overflow.
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            targets: NDArray[np.float64] = check_array(
                y, dtype=np.float64, order="C", input_name="y", **checks
            )
        except (TypeError, ValueError) as error:
            if "y" in str(error).split():
                raise
            # NumPy does not know which argument it converts.
            raise type(error)(
                f"y must hold numbers: {error}. Labels are for classifiers."
            ) from None
    return targets


def check_signs(weights: NDArray[np.float64], name: str) -> None:
    """Raise ValueError if a weight is negative or none is positive.

    The compiled part checks the weights that it gets; this is for those that it does not see.
    """
    if np.any(weights < 0):
        raise ValueError(f"{name} must not be negative. Got a least weight of {weights.min():g}.")
    if not weights.any():
        raise ValueError(
            f"{name} must be positive for at least one sample. Got only zeros instead."
        )


def check_total(weights: NDArray[np.float64], name: str) -> None:
    """Raise ValueError if weights are so large that a float may not hold their total."""
    largest = float(weights.max(initial=0.0))
    if not np.isfinite(largest * int(np.count_nonzero(weights))):
        raise ValueError(
            f"{name} must be small enough for a finite total. "
            f"Got a largest weight of {largest:g} instead."
        )


def check_sample_ids(sample_ids: Any, n_samples: int) -> NDArray[np.uint64]:
    """Return one uint64 id per sample.

    Parameters
    ----------
    sample_ids : array-like of int of shape (n_samples,)
    n_samples : int
    """
    ids = np.asarray(sample_ids)
    if ids.dtype.kind == "f" and isinstance(sample_ids, (list, tuple)):
        # NumPy makes floats of ints if some are beyond int64 and others are not.
        ids = np.asarray(sample_ids, dtype=object)
    if ids.dtype.kind == "O":
        # Integers beyond int64, or nullable ones of a data frame.
        values = ids.ravel().tolist()
        if all(isinstance(i, Integral) and 0 <= int(i) < 2**64 for i in values):
            ids = np.array(values, dtype=np.uint64).reshape(ids.shape)
    if ids.dtype.kind not in "iu":
        raise ValueError(
            "sample_ids must be integers in the range [0, 2**64). "
            f"Got values of type {ids.dtype} instead."
        )
    if ids.shape != (n_samples,):
        raise ValueError(
            f"sample_ids must have shape ({n_samples},), one per sample. "
            f"Got shape {ids.shape} instead."
        )
    if ids.size and ids.min() < 0:
        raise ValueError(
            f"sample_ids must be integers in the range [0, 2**64). Got {ids.min()} instead."
        )
    return np.require(ids, dtype=np.uint64, requirements=("C", "A"))
