"""Variances by little bags: trees that share a half of the samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx


def find_errors(
    values: NDArray[np.float64], size: int, unseen: NDArray[np.uint8] | None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return standard errors of means over trees, and how many bags count for each row.

    What the means of bags vary by, less the part that comes from the few trees of a bag, is the
    variance of the mean (Athey, Tibshirani, Wager 2019, section 4).

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_trees, n_values)
        What trees predict.
    size : int
        How many trees, one after the other, are a bag.
    unseen : ndarray of shape (n_rows, n_trees) or None
        0 where a tree has seen a row. A bag counts if none of its trees has. None if all count.

    Returns
    -------
    errors : ndarray of shape (n_rows, n_values)
        NaN where fewer than two bags count.
    n_bags : ndarray of shape (n_rows,)
    """
    n_rows, n_trees, n_values = values.shape
    bags = values.reshape(n_rows, n_trees // size, size, n_values)
    counted = np.ones(bags.shape[:2], dtype=bool)
    if unseen is not None:
        np.all(unseen.reshape(bags.shape[:3]) != 0, axis=2, out=counted)
    n_bags = np.count_nonzero(counted, axis=1)
    is_known = n_bags > 1
    errors = np.full((n_rows, n_values), np.nan)
    bags, mask = bags[is_known], counted[is_known][:, :, None, None]
    n_counted = n_bags[is_known][:, None]
    means = np.where(mask, bags, 0.0).sum(axis=(1, 2)) / (n_counted * size)
    least = np.where(mask, bags, np.inf).min(axis=(1, 2))
    most = np.where(mask, bags, -np.inf).max(axis=(1, 2))
    # The rounded mean of equal values need not be one of them.
    means = np.where(least == most, least, means)
    centred = np.where(mask, bags - means[:, None, None], 0.0)
    between = np.sum(centred.mean(axis=2) ** 2, axis=1) / n_counted
    total = np.sum(centred**2, axis=(1, 2)) / (n_counted * size)
    noise = (total - between) / (size - 1)
    error = np.maximum(between, noise) * np.sqrt(2.0 / n_counted)
    errors[is_known] = np.sqrt(remove_noise(between - noise, error))
    return errors, n_bags


def remove_noise(
    difference: NDArray[np.float64], error: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the mean of what a variance can be, given that it is not negative.

    It is estimated by a difference that has a known standard error. With a flat prior on the
    positive numbers, the mean is that of a truncated normal distribution.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = difference / error
        # The density over the distribution function. Far below 0 both vanish: `erfcx` is the
        # quotient of the two that does not. Far above 0 it is infinite, and the quotient 0.
        hazard = np.sqrt(2.0 / np.pi) / erfcx(-ratio / np.sqrt(2.0))
    # Without any error the difference is the variance.
    return np.where(error > 0, difference + error * hazard, np.maximum(difference, 0.0))
