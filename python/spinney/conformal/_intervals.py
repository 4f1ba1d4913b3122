"""What the regressors with intervals share: levels, and the order statistics of residuals."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spinney._common.checks import is_bool
from spinney._common.sklearn_base import RegressorMixin
from spinney._spinney import bound_intervals
from spinney.conformal._levels import Conformal, find_rank


class ConformalRegressor(RegressorMixin, Conformal):
    """Base class of the regressors that predict intervals."""

    _predicts: ClassVar[str] = "Intervals"

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
        unseen : ndarray of shape (n_residuals,), uint32, or (n_residuals, n_models), uint8
            The model that has not seen the sample of each residual; or 1 for the models that have
            not seen it, whose mean is taken.
        levels : list of float
        shortest : bool
            Whether intervals are the shortest ones.
        n_threads : int

        Returns
        -------
        lower, upper : ndarray of shape (n_samples, n_levels)
        """
        n = self.residuals_.shape[0]
        self._check_levels(n, 2 if shortest else 1)
        ranks = [find_rank(level, n) - 1 for level in levels]
        predictions = np.ascontiguousarray(predictions)
        bounds = bound_intervals(predictions, unseen, self.residuals_, ranks, shortest, n_threads)
        lower, upper = np.split(bounds, 2, axis=1)
        return lower, upper

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
        return self.predict(X), np.stack([lower, upper], axis=1)


def predict_means(forest: Any, X: Any) -> NDArray[np.float64]:
    """Return means, also of forests that predict quantiles by default."""
    rows = forest._validate_X_predict(X)
    means: NDArray[np.float64] = forest.forest_.predict(rows, forest._count_threads())[:, 0]
    return means


def find_quantile(scores: NDArray[np.float64], level: float) -> float:
    """Return the score that a new one does not exceed with this probability, at least."""
    place = find_rank(level, scores.shape[0]) - 1
    return float(np.partition(scores, place)[place])
