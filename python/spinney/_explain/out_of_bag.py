"""Which trees have not seen a training sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spinney._common.checks import is_bool
from spinney._common.messages import warn_caller
from spinney._fit.joined_draws import SAMPLES_UNKNOWN
from spinney._spinney import Forest

if TYPE_CHECKING:
    from spinney._fit.draws import Draws, UnseenTrees


class OutOfBag:
    """Mixin of the grown forests: predictions of samples by trees that have not seen them."""

    forest_: Forest
    _draws: Draws | None
    _foreign_seeds: Sequence[int]

    def _know_draws(self, asked: str) -> Draws:
        """Return how the trees have drawn their samples; raise ValueError if that is not known.

        `asked` is what messages say the caller has asked for.
        """
        if self._draws is None:
            raise ValueError(f"{asked} is not possible. {SAMPLES_UNKNOWN}")
        foreign = set(self._foreign_seeds)
        n_foreign = sum(seed in foreign for seed in self.forest_.seeds)
        if n_foreign > 0:
            raise ValueError(
                f"{asked} needs the samples that each tree has seen. In earlier calls of fit, with "
                f"warm_start=True, {n_foreign} of {len(self.forest_)} trees were grown on other "
                "data than those of the last call."
            )
        return self._draws

    def _find_draws(self, asked: str) -> Draws:
        """As `_know_draws`; raise ValueError if the trees have seen all samples."""
        draws = self._know_draws(asked)
        if draws.scheme == "all":
            raise ValueError(
                f"{asked} needs samples that trees have not seen. Got a forest whose trees have "
                "seen all samples: set bootstrap."
            )
        return draws

    def _get_draws(self, n_samples: int) -> Draws:
        """As `_find_draws`; raise ValueError unless `fit` saw `n_samples` samples."""
        draws = self._find_draws("oob_score=True")
        if draws.n_samples != n_samples:
            raise ValueError(
                f"X must be the training samples if oob_score=True: {draws.n_samples} samples. "
                f"Got {n_samples} instead."
            )
        return draws

    def _predict_means(self, X: Any, n_threads: int, oob_score: bool) -> NDArray[np.float64]:
        """Return the means of the trees, or of those that have not seen a sample (NaN if none)."""
        if not oob_score:
            return self.forest_.predict(X, n_threads)
        values, n_trees = self.forest_.predict_oob(X, self._get_draws(X.shape[0]), n_threads)
        values[n_trees == 0] = np.nan
        self._warn_of_seen(int(np.count_nonzero(n_trees == 0)))
        return values

    def _find_unseen_trees(self, n_rows: int, n_threads: int) -> UnseenTrees:
        """Return which trees count for each training sample: those that have not seen it."""
        return self._get_draws(n_rows).mark_unseen(self.forest_.seeds, n_threads)

    def _warn_of_seen(self, n_seen: int) -> None:
        if n_seen > 0:
            warn_caller(
                f"Some inputs do not have OOB scores: all trees were grown on {n_seen} samples, "
                "whose predictions are NaN. This probably means too few trees were used to compute "
                "any reliable OOB estimates."
            )


def check_oob_score(oob_score: Any) -> None:
    """Raise TypeError unless the argument of a prediction is a bool."""
    if not is_bool(oob_score):
        raise TypeError(f"oob_score must be a bool. Got {oob_score!r} instead.")
