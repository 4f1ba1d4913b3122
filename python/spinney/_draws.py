"""On which rows the trees of a forest are grown: parameters of the estimators made definite."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney._messages import warn_caller
from spinney._spinney import draw_rows


class Draws(NamedTuple):
    """All that the draws of the trees are a function of, beside the seed of each tree."""

    scheme: str
    """"all", "with replacement", "without replacement" or "poisson"."""
    n_samples: int
    n_outputs: int
    n_draws: int | None
    """Draws per tree, of the schemes with and without replacement; None: one per sample."""
    sample_weight: NDArray[np.float64] | None
    """Those of the classes included."""
    sample_ids: NDArray[np.uint64] | None

    def kept(self) -> Draws:
        """Return the draws without what has no influence on them, and with arrays of their own."""
        weight = None if self.scheme == "all" else self.sample_weight
        ids = self.sample_ids if self.scheme == "poisson" else None
        return self._replace(
            sample_weight=None if weight is None else weight.copy(),
            sample_ids=None if ids is None else ids.copy(),
        )

    def rows(self, seeds: list[int], n_threads: int) -> list[NDArray[Any]]:
        """Return the rows of each tree, ascending, a row that was drawn k times k times."""
        dtype = np.int32 if self.n_samples <= np.iinfo(np.int32).max else np.int64
        everything = np.arange(self.n_samples, dtype=dtype)
        if self.scheme == "all":
            return [everything.copy() for _ in seeds]
        return [np.repeat(everything, counts) for counts in draw_rows(self, seeds, n_threads)]


def number_of_draws(max_samples: Any, n_samples: int, weights: NDArray[np.float64] | None) -> int:
    """Return the number of draws with replacement that `max_samples` asks for.

    A share is one of the total weight, as in scikit-learn 1.9, so that an integer weight of k is
    worth k rows.
    """
    if max_samples is None:
        return n_samples
    if isinstance(max_samples, Integral):
        return int(max_samples)
    total = n_samples if weights is None else float(weights.sum())
    n_draws = max(int(max_samples * total), 1)
    if n_draws < max(10, n_samples ** (1 / 3)):
        whole = "number of samples" if weights is None else "total sum of sample weights"
        warn_caller(
            f"Using the fractional value {max_samples=} when the {whole} is {total} results in a "
            f"low number ({n_draws}) of bootstrap samples. We recommend passing `max_samples` as "
            "an integer instead.",
        )
    return n_draws


def number_of_rows(
    max_samples: Any, n_samples: int, weights: NDArray[np.float64] | None
) -> int | None:
    """Return the number of draws without replacement; a share is one of the rows with a weight."""
    if max_samples is None or isinstance(max_samples, Integral):
        return None if max_samples is None else int(max_samples)
    n_rows = n_samples if weights is None else int(np.count_nonzero(weights))
    return max(int(max_samples * n_rows), 1)
