"""Random states: those of scikit-learn, and larger seeds."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from spinney._common.messages import reject_parameter

# An int from this one on is the seed of a tree or forest itself. Seeds that are drawn from
# scikit-learn's random states begin here, so that each of them can be given as a `random_state`.
FIRST_SEED = 2**32


def read_random_state(owner: str, random_state: Any) -> np.random.RandomState:
    """Return scikit-learn's random state; for ints that it does not take, one of our own.

    Parameters
    ----------
    owner : str
        The class whose parameter `random_state` it is.
    random_state : int, RandomState instance or None

    Raises
    ------
    InvalidParameterError
        If it is none of these, or an int outside the range [0, 2**64).
    """
    is_int = isinstance(random_state, Integral)
    if is_int and FIRST_SEED <= int(random_state) < 2**64:
        return np.random.RandomState(np.random.MT19937(int(random_state)))
    try:
        state: np.random.RandomState = check_random_state(random_state)
    except ValueError:
        expected = "an int in the range [0, 2**64), a numpy.random.RandomState or None"
        reject_parameter(owner, "random_state", random_state, expected)
    return state
