"""The mean prediction of trees where only some features are known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney._spinney import Forest, forest_partial_dependence


class PartialDependence:
    """Mixin of the estimators that have trees."""

    def _average_over_others(
        self, features: Any, points: NDArray[np.float64], forest: Forest | None = None
    ) -> NDArray[np.float64]:
        """Return the means at points where only some features are known.

        Parameters
        ----------
        features : array-like of int of shape (n_known,)
        points : ndarray of shape (n_known, n_points)
        forest : Forest, default=None
            Whose means; None means the estimator's own.

        Returns
        -------
        means : ndarray of shape (n_points, n_values)
        """
        if forest is None:
            forest = self._get_forest()  # type: ignore[attr-defined]
        return forest_partial_dependence(
            forest,
            np.asarray(features, dtype=np.uint32),
            np.ascontiguousarray(points, dtype=np.float64),
            self._count_threads(),  # type: ignore[attr-defined]
        )

    def _predict_dependent(self, rows: Any, forest: Forest) -> NDArray[np.float64]:
        """Return what the average is the mean of, of shape (n_samples, n_values)."""
        n_threads: int = self._count_threads()  # type: ignore[attr-defined]
        return forest.predict(rows, n_threads)

    def _compute_partial_dependence_recursion(
        self, grid: NDArray[Any], target_features: Any
    ) -> NDArray[np.float64]:
        """Return the means for :func:`sklearn.inspection.partial_dependence`, which asks for them.

        Parameters
        ----------
        grid : ndarray of shape (n_points, n_known)
        target_features : ndarray of int of shape (n_known,)

        Returns
        -------
        means : ndarray of shape (n_outputs, n_points), or (n_points,) for one output
        """
        means = self._average_over_others(target_features, np.asarray(grid).T)
        return means[:, 0] if means.shape[1] == 1 else means.T
