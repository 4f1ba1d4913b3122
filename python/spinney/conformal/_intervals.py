"""What the regressors with intervals share: levels, and the order statistics of residuals."""

from __future__ import annotations

import math
from abc import abstractmethod
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spinney._common.checks import is_bool
from spinney._common.messages import reject_parameter
from spinney._common.sklearn_base import RegressorMixin
from spinney._spinney import bound_intervals
from spinney.conformal._levels import Conformal, count_scores, find_mass


class ConformalRegressor(RegressorMixin, Conformal):
    """Base class of the regressors that predict intervals."""

    _predicts: ClassVar[str] = "Intervals"

    bounds: Any
    residuals_: NDArray[np.float64]

    @abstractmethod
    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the target of each sample."""

    @abstractmethod
    def _bound(
        self, X: Any, levels: list[float], shortest: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the lower and the upper bounds, of shape (n_samples, n_levels)."""

    def _bound_by_residuals(
        self,
        predictions: NDArray[np.float64],
        unseen: NDArray[Any],
        levels: list[float],
        shortest: bool,
        n_threads: int,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the bounds by predictions of models that have not seen the residuals' samples.

        Parameters
        ----------
        predictions : ndarray of shape (n_samples, n_models)
        unseen : ndarray of shape (n_residuals,), uint32, or (n_residuals, n_bytes), uint8
            The model that has not seen the sample of each residual; or the bits of `UnseenTrees`,
            for models whose mean is taken.
        levels : list of float
        shortest : bool
            Whether intervals are the shortest ones.
        n_threads : int

        Returns
        -------
        lower, upper : ndarray of shape (n_samples, n_levels)
        """
        n, copies = self.residuals_.shape[0], self._copies
        self._check_levels(n, copies, 2 if shortest else 1)
        masses = [find_mass(level, count_scores(n, copies)) for level in levels]
        bounds = bound_intervals(
            np.ascontiguousarray(predictions),
            unseen,
            self.residuals_,
            copies,
            masses,
            shortest,
            n_threads,
        )
        lower, upper = np.split(bounds, 2, axis=1)
        return lower, upper

    def _read_bounds(self) -> tuple[float, float]:
        """Return the least and the largest value that a target can have."""
        given = self.bounds
        expected = "None or a pair of numbers, the lower one first; None in it is no bound"
        if given is None:
            return -np.inf, np.inf
        is_pair = isinstance(given, (tuple, list)) and len(given) == 2
        if not is_pair or not all(
            value is None or (isinstance(value, Real) and not is_bool(value)) for value in given
        ):
            reject_parameter(type(self).__name__, "bounds", given, expected)
        low, high = given
        low = -np.inf if low is None else float(low)
        high = np.inf if high is None else float(high)
        if not low < high:
            reject_parameter(type(self).__name__, "bounds", given, expected)
        return low, high

    def _read_targets(self, y: Any) -> NDArray[np.float64]:
        """Return the targets. Raise ValueError if one is beyond the bounds."""
        targets = np.asarray(y, dtype=np.float64).ravel()
        low, high = self._read_bounds()
        wrong = targets[(targets < low) | (targets > high)]
        if wrong.size:
            raise ValueError(
                f"y must be within bounds={self.bounds!r}. Got {wrong.size} target(s) beyond, such "
                f"as {wrong[0]:g}."
            )
        return targets

    def predict_interval(
        self, X: Any, minimize_interval_width: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Predict the target of each sample, and intervals that cover it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.
        minimize_interval_width : bool, default=False
            Whether to take the shortest interval of its level, which may have more of the targets
            beyond one of its bounds than beyond the other. Good for targets whose spread is
            one-sided. Bounds that are chosen so cover a little less often.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            What `predict` returns.
        intervals : ndarray of shape (n_samples, 2, n_levels)
            The lower and the upper bounds, for each level of `confidence_level`.
        """
        check_is_fitted(self)
        shortest = minimize_interval_width
        if not is_bool(shortest):
            raise TypeError(f"minimize_interval_width must be a bool. Got {shortest!r} instead.")
        lower, upper = self._bound(X, self._read_levels(), bool(shortest))
        intervals = np.stack([lower, upper], axis=1)
        return self.predict(X), np.clip(intervals, *self._read_bounds())


def find_quantile(
    scores: NDArray[np.float64], level: float, copies: NDArray[np.float64] | None
) -> float:
    """Return the score that a new one does not exceed with this probability, at least."""
    mass = find_mass(level, count_scores(scores.shape[0], copies))
    if copies is None:
        place = max(math.ceil(mass), 1) - 1
        return float(np.partition(scores, place)[place])
    order = np.argsort(scores, kind="stable")
    place = int(np.searchsorted(np.cumsum(copies[order]), mass))
    return float(scores[order[min(place, scores.shape[0] - 1)]])
