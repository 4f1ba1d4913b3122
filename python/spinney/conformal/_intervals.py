"""What the regressors with intervals share: levels, and the order statistics of residuals."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spinney._common.sklearn_base import RegressorMixin
from spinney.conformal._levels import Conformal, find_rank

# Numbers of a block of query rows, one for each training sample, that are held at once.
_NUMBERS_AT_ONCE = 2**22


class ConformalRegressor(RegressorMixin, Conformal):
    """Base class of the regressors that predict intervals."""

    _predicts: ClassVar[str] = "Intervals"

    @abstractmethod
    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the target of each sample."""

    @abstractmethod
    def _bound(
        self, X: Any, levels: list[float]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the lower and the upper bounds, of shape (n_samples, n_levels)."""

    def predict_interval(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Predict the target of each sample, and intervals that cover it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            What `predict` returns.
        intervals : ndarray of shape (n_samples, 2, n_levels)
            The lower and the upper bounds, for each level of `confidence_level`.
        """
        check_is_fitted(self)
        lower, upper = self._bound(X, self._read_levels())
        return self.predict(X), np.stack([lower, upper], axis=1)


def bound_by_residuals(
    means: Callable[[slice], NDArray[np.float64]],
    n_samples: int,
    residuals: NDArray[np.float64],
    levels: list[float],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return order statistics of predictions less and plus residuals.

    Parameters
    ----------
    means : callable
        Returns for some query rows, of shape (n_residuals, n_rows), the predictions by models that
        have not seen the sample of each residual.
    n_samples : int
        Number of query rows.
    residuals : ndarray of shape (n_residuals,)
    levels : list of float

    Returns
    -------
    lower, upper : ndarray of shape (n_samples, n_levels)
    """
    n = residuals.shape[0]
    ranks = [find_rank(level, n) - 1 for level in levels]
    opposite = [n - 1 - rank for rank in ranks]
    lower, upper = np.empty((n_samples, len(levels))), np.empty((n_samples, len(levels)))
    step = max(1, _NUMBERS_AT_ONCE // n)
    for start in range(0, n_samples, step):
        block = slice(start, min(start + step, n_samples))
        of_block = np.ascontiguousarray(means(block).T)
        least = np.partition(of_block - residuals, sorted(set(opposite)), axis=1)
        most = np.partition(of_block + residuals, sorted(set(ranks)), axis=1)
        lower[block], upper[block] = least[:, opposite], most[:, ranks]
    return lower, upper


def predict_means(forest: Any, X: Any) -> NDArray[np.float64]:
    """Return means, also of forests that predict quantiles by default."""
    rows = forest._validate_X_predict(X)
    means: NDArray[np.float64] = forest.forest_.predict(rows, forest._count_threads())[:, 0]
    return means


def find_quantile(scores: NDArray[np.float64], level: float) -> float:
    """Return the score that a new one does not exceed with this probability, at least."""
    place = find_rank(level, scores.shape[0]) - 1
    return float(np.partition(scores, place)[place])
