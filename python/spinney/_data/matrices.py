"""From the `X` of a user to a matrix of numbers: codes for categories, frames as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney._data.categorical_features import find_categorical_features, warn_of_no_type
from spinney._data.categories import Categories, convert_frame, learn
from spinney._data.numbers import refuse_text
from spinney._data.single_rows import refuse_rows

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


def read_matrix(
    X: Any, categorical_features: Any, n_threads: int, *, expects_types: bool = True
) -> CodedMatrix:
    """Return X with codes for categories; frames become matrices.

    Parameters
    ----------
    X : {array-like, data frame, sparse matrix} of shape (n_samples, n_features)
    categorical_features : None, "from_dtype" or array-like of bool, int or str
    n_threads : int
        Threads that encode an array of numbers with categories.
    expects_types : bool, default=True
        Whether to warn if "from_dtype" finds no column of a categorical type.
    """
    refuse_rows(X)
    is_categorical = find_categorical_features(X, categorical_features)
    coded, categories = (
        (convert_frame(X), None) if is_categorical is None else learn(X, is_categorical, n_threads)
    )
    if expects_types:
        # An error, which would have said more, has not come.
        warn_of_no_type(X, categorical_features)
    return CodedMatrix(coded, is_categorical, categories)


def make_stand_in(shape: tuple[int, int]) -> NDArray[np.float32]:
    """Return an array of this shape without memory, for checks of shapes by scikit-learn."""
    return np.broadcast_to(np.float32(0), shape)


@contextmanager
def watch_checks(X: Any) -> Iterator[None]:
    """Run scikit-learn's checks of X: sums that overflow do not matter, strings get advice."""
    # They test finiteness by sums.
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            yield
        except ValueError as error:
            is_of_strings = any(words in str(error) for words in _OF_STRINGS)
            if not is_of_strings or "categorical_features" in str(error):
                # The error has its cure.
                raise
            refuse_text(error, np.array(X, dtype=object), None)
