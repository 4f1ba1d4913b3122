"""From the `X` of a user to a matrix of numbers: codes for categories, frames as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney._data.categorical_features import find_categorical_features
from spinney._data.categories import Categories, convert_frame, learn

# NaN is a missing value and infinities are ordinary values, so finiteness is not required.
CHECK_X: dict[str, Any] = {"accept_sparse": ("csc", "csr"), "ensure_all_finite": False}
"""How scikit-learn checks the matrix."""


# How scikit-learn and NumPy refuse strings.
_OF_STRINGS = ("could not convert string", "not compatible with arrays of bytes/strings")


class CodedMatrix(NamedTuple):
    """A matrix with codes in the place of categories, and what the codes stand for."""

    X: Any
    """The argument itself, if it has no categories and is no frame that needs conversion; encoded,
    if it is an array of numbers with categories."""
    is_categorical: NDArray[np.bool_] | None
    """Which features are categorical; None if none is."""
    categories: Categories | None


def read_matrix(X: Any, categorical_features: Any, n_threads: int) -> CodedMatrix:
    """Return X with codes for categories; frames become matrices.

    Parameters
    ----------
    X : {array-like, data frame, sparse matrix} of shape (n_samples, n_features)
    categorical_features : None, "from_dtype" or array-like of bool, int or str
    n_threads : int
        Threads that encode an array of numbers with categories.
    """
    is_categorical = find_categorical_features(X, categorical_features)
    if is_categorical is None:
        return CodedMatrix(convert_frame(X), None, None)
    coded, categories = learn(X, is_categorical, n_threads)
    return CodedMatrix(coded, is_categorical, categories)


def make_stand_in(shape: tuple[int, int]) -> NDArray[np.float32]:
    """Return an array of this shape without memory, for checks of shapes by scikit-learn."""
    return np.broadcast_to(np.float32(0), shape)


@contextmanager
def watch_checks() -> Iterator[None]:
    """Run scikit-learn's checks of X: sums that overflow do not matter, strings get advice."""
    # They test finiteness by sums.
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            yield
        except ValueError as error:
            if not any(words in str(error) for words in _OF_STRINGS):
                raise
            raise ValueError(
                f"{error}\nColumns of strings are read if categorical_features names them."
            ) from error
