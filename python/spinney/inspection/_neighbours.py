"""What the proximities of samples in a forest say: outliers, and prototypes of classes.

Both follow L. Breiman and A. Cutler, "Random Forests", manual, 2003.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import column_or_1d

from spinney._common.checks import check_int
from spinney._common.messages import reject_parameter
from spinney._data.levels import is_missing
from spinney._explain.neighbours import list_nearest
from spinney.dataset import Dataset


def outlier_scores(proximity: Any, y: Any) -> NDArray[np.float64]:
    """Return how far samples are from the others of their class.

    A sample is an outlier if its proximities to its class are small. Let s be the number of all
    samples, divided by the sum of the squared proximities of a sample to the others of its class.
    The score is (s - m) / d, with the median m of s in the class, and the median d of abs(s - m).

    Parameters
    ----------
    proximity : sparse matrix of shape (n_samples, n_samples)
        What `proximity(X)` of a forest returns, for the samples of `y`.
    y : array-like of shape (n_samples,)
        Class labels; for numbers, give all samples the same one.

    Returns
    -------
    scores : ndarray of shape (n_samples,), float64
        Scores above 10 are worth a look. Infinite for a sample that shares no leaf with its
        class, 0 for a class whose samples have all the same.

    Raises
    ------
    ValueError, TypeError
        If an argument is illegal. The message names it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spinney import RandomForestClassifier
    >>> from spinney.inspection import outlier_scores
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(50, random_state=0).fit(X, y)
    >>> outlier_scores(forest.proximity(X), y).shape
    (150,)
    """
    proximity, y = _check("outlier_scores", proximity, y)
    coordinates = proximity.tocoo()
    rows, columns = coordinates.row, coordinates.col
    is_other = (y[rows] == y[columns]) & (rows != columns)
    squares = np.bincount(
        rows[is_other], weights=coordinates.data[is_other] ** 2, minlength=y.shape[0]
    )
    with np.errstate(divide="ignore"):
        raw = y.shape[0] / squares
    scores = np.empty(y.shape[0])
    for label in np.unique(y):
        members = y == label
        of_class = raw[members]
        finite = of_class[np.isfinite(of_class)]
        median = float(np.median(finite)) if finite.size else 0.0
        deviation = float(np.median(np.abs(finite - median))) if finite.size else 0.0
        distances = of_class - median
        # All that differ are infinitely far where most have the same.
        with np.errstate(divide="ignore", invalid="ignore"):
            scores[members] = np.where(distances == 0, 0.0, distances / deviation)
    return scores


def class_prototypes(
    proximity: Any, X: Any, y: Any, *, k: int = 20
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return for each class a sample in its midst, and the medians of its neighbours.

    The sample is the one that has most samples of the class among its k nearest.

    Parameters
    ----------
    proximity : sparse matrix of shape (n_samples, n_samples)
        What `proximity(X)` of a forest returns.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples, as numbers.
    y : array-like of shape (n_samples,)
        Class labels.
    k : int, default=20
        Number of neighbours, among which a sample counts itself.

    Returns
    -------
    prototypes : ndarray of shape (n_classes, n_features), float64
        For each class, in sorted order, the median of each feature over the samples of the class
        among the k nearest; missing values are left out.
    centres : ndarray of shape (n_classes,), int64
        The samples in whose neighbourhoods they are.

    Raises
    ------
    ValueError, TypeError
        If an argument is illegal. The message names it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spinney import RandomForestClassifier
    >>> from spinney.inspection import class_prototypes
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(50, random_state=0).fit(X, y)
    >>> prototypes, centres = class_prototypes(forest.proximity(X), X, y)
    >>> prototypes.shape, y[centres].tolist()
    ((3, 4), [0, 1, 2])
    """
    proximity, y = _check("class_prototypes", proximity, y)
    check_int("class_prototypes", "k", k, 1)
    X = X._read_values() if isinstance(X, Dataset) else X
    rows = X.tocsr() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[0] != y.shape[0]:
        raise ValueError(
            f"X must have a row for each of the {y.shape[0]} samples of y. "
            f"Got shape {rows.shape} instead."
        )
    nearest, _ = list_nearest(proximity, int(k))
    is_there = nearest >= 0
    labels = np.unique(y)
    prototypes = np.empty((labels.shape[0], rows.shape[1]))
    centres = np.empty(labels.shape[0], dtype=np.int64)
    for number, label in enumerate(labels):
        is_of_class = is_there & (y[nearest] == label)
        centres[number] = np.argmax(is_of_class.sum(axis=1))
        members = nearest[centres[number]][is_of_class[centres[number]]]
        values = rows[members].toarray() if sparse.issparse(rows) else rows[members]
        # The median of a feature that is missing in all of them is missing, without a warning.
        is_absent = np.isnan(values).all(axis=0)
        prototypes[number] = np.where(
            is_absent, np.nan, np.nanmedian(np.where(is_absent, 0.0, values), axis=0)
        )
    return prototypes, centres


def _check(owner: str, proximity: Any, y: Any) -> tuple[Any, NDArray[Any]]:
    """Return a CSR matrix of proximities, and labels, that fit together."""
    y = column_or_1d(y)
    if any(is_missing(label) for label in y):
        raise ValueError("y must have a label for each sample. Got a missing one.")
    if not sparse.issparse(proximity):
        reject_parameter(owner, "proximity", type(proximity).__name__, "a sparse matrix")
    if proximity.shape != (y.shape[0],) * 2:
        raise ValueError(
            f"proximity must have shape ({y.shape[0]}, {y.shape[0]}), as y has {y.shape[0]} "
            f"samples. Got {proximity.shape} instead."
        )
    return proximity.tocsr(), y
