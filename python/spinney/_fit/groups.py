"""Groups of samples, which are drawn as a whole, and halves of the samples that trees share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from spinney._data.levels import is_missing
from spinney._fit.draws import Draws, Subforests, count_draws_without_replacement


def read_groups(groups: Any, n_samples: int, is_drawn: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the number of the group of each sample, in the order of their first drawn samples.

    Parameters
    ----------
    groups : array-like of shape (n_samples,) or None
        The name of the group of each sample; None: each sample is one.
    n_samples : int
    is_drawn : ndarray of bool of shape (n_samples,)
        Samples that are not, as their weight is 0, get the number -1.
    """
    numbers = np.full(n_samples, -1, dtype=np.int64)
    if groups is None:
        numbers[is_drawn] = np.arange(np.count_nonzero(is_drawn))
        return numbers
    if isinstance(groups, (str, bytes)) or np.ndim(groups) == 0:
        raise ValueError(
            f"groups must be an array-like of a value for each sample. Got {groups!r}."
        )
    if np.ndim(groups) > 1 and np.shape(groups)[1:] != (1,):
        raise ValueError(
            f"groups must have one value for each sample. Got an array of shape {np.shape(groups)}."
        )
    names: NDArray[Any] = column_or_1d(np.asarray(groups))
    if len(names) != n_samples:
        raise ValueError(
            f"groups must have a value for each of the {n_samples} samples of X. Got {len(names)}."
        )
    is_object = names.dtype.kind == "O"
    n_missing = np.count_nonzero(
        [is_missing(name) for name in names] if is_object else names != names
    )
    if n_missing:
        raise ValueError(f"groups must be known for each sample. Got {n_missing} missing values.")
    if is_object:
        names = names.astype(str)
    _, firsts, codes = np.unique(names[is_drawn], return_index=True, return_inverse=True)
    places = np.empty(len(firsts), dtype=np.int64)
    places[np.argsort(firsts)] = np.arange(len(firsts))
    numbers[is_drawn] = places[codes.ravel()]
    return numbers


def draw_groups(draws: Draws, groups: Any, max_samples: Any) -> Draws:
    """Return draws of whole groups in the place of draws of samples.

    Parameters
    ----------
    draws : Draws
        Of any scheme but "strata" and "given".
    groups : array-like of shape (n_samples,)
    max_samples : int, float or None
        The groups that are drawn; a float is a fraction of them.
    """
    weights, n_samples = draws.sample_weight, draws.n_samples
    is_drawn = np.ones(n_samples, dtype=bool) if weights is None else weights > 0
    numbers = read_groups(groups, n_samples, is_drawn)
    n_groups = int(numbers.max(initial=-1)) + 1
    # Samples of weight 0 are never drawn, whatever their group is.
    codes = np.maximum(numbers, 0).astype(np.uint32)
    if draws.scheme == "poisson":
        return draws._replace(groups=codes, sample_ids=codes.astype(np.uint64))
    if draws.scheme == "all":
        return draws._replace(groups=codes)
    n_draws: int | None = n_groups
    if max_samples is not None:
        n_draws = count_draws_without_replacement(max_samples, n_groups, None)
    scheme = "groups " + draws.scheme
    return draws._replace(scheme=scheme, n_draws=n_draws, groups=codes)


def share_halves(draws: Draws, max_samples: Any, size: int, seeds: list[int]) -> Draws:
    """Return draws from halves of the samples, or of their groups, that trees share.

    Parameters
    ----------
    draws : Draws
        Of samples, or of groups.
    max_samples : int, float or None
        What each tree draws of them; a float is a fraction of all, None all of a half.
    size : int
        How many trees share a half.
    seeds : list of int
        The seeds of all trees.
    """
    weights, groups = draws.sample_weight, draws.groups
    is_drawn = np.ones(draws.n_samples, dtype=bool) if weights is None else weights > 0
    n_units = int(np.count_nonzero(is_drawn))
    if groups is not None:
        n_units = len(np.unique(groups[is_drawn]))
    n_draws = count_draws_without_replacement(max_samples, n_units, None)
    subforests = Subforests(np.array(seeds, dtype=np.uint64), size)
    return draws._replace(scheme="halves", n_draws=n_draws, subforests=subforests)
