"""What the features contribute to survival at some times, by SHAP values."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spinney._spinney import Forest, forest_expected_value
from spinney.survival._curves import read_times


class ExplainedCurves:
    """Mixin of the survival models that store trees."""

    @abstractmethod
    def _find_curves_of_tree(
        self, number: int, leaves: NDArray[np.int64], at: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the survival at some times in some leaves of a tree."""

    def _make_forest_of_curves(self, at: NDArray[np.float64]) -> Forest:
        """Return a forest of the same splits, whose leaves predict the survival at some times."""
        forest: Forest = self._get_forest()  # type: ignore[attr-defined]
        trees = []
        for number in range(len(forest)):
            tree = forest.tree(number)
            leaves = np.flatnonzero(tree.children_left < 0)
            values = np.zeros((tree.node_count, at.shape[0]))
            values[leaves] = self._find_curves_of_tree(number, leaves, at)
            trees.append(tree.with_values(values))
        return Forest(trees, forest.seeds)

    def expected_survival(self, times: Any) -> NDArray[np.float64]:
        """Return the probability of no event up to some times if nothing is known of a sample.

        With the contributions of `shap_values(X, times=times)` it adds up to the survival function.

        Parameters
        ----------
        times : array-like of shape (n_times,)
            Times, ascending.

        Returns
        -------
        expected : ndarray of shape (n_times,), float64
        """
        check_is_fitted(self)
        forest = self._make_forest_of_curves(read_times(times))
        n_threads = self._count_threads()  # type: ignore[attr-defined]
        expected: NDArray[np.float64] = forest_expected_value(forest, n_threads)
        return expected

    def shap_values(self, X: Any, *, interactions: bool = False, times: Any = None) -> Any:
        """Explain risks, or survival at some times, by the contributions of the features.

        They are those of a :class:`~spinney.RandomForestRegressor`: exact, path-dependent SHAP
        values. With `expected_value_` they add up to the risk; with `expected_survival(times)` to
        the survival function at these times.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        interactions : bool, default=False
            Whether to divide the contributions of each feature among its pairs with the others.
        times : array-like of shape (n_times,), default=None
            Times, ascending, at which the survival function is explained. None means the risk.

        Returns
        -------
        values : ndarray, CSR matrix, or list of these
            float64, of shape (n_samples, n_features), or (n_samples, n_features, n_times) with
            `times`. If `X` is sparse, a CSR matrix, or one for each time. Interactions have a
            second axis of features behind the first, also for sparse `X`.

        Raises
        ------
        NotFittedError
            If the model is not fitted.
        ValueError, TypeError
            If an argument is illegal. The message says how.
        MemoryError
            If the contributions need more memory than there is.
        """
        if times is None:
            return super().shap_values(X, interactions=interactions)  # type: ignore[misc]
        check_is_fitted(self)
        forest = self._make_forest_of_curves(read_times(times))
        return self._contribute(forest, X, interactions)  # type: ignore[attr-defined]

    def to_shap(self, X: Any, *, times: Any = None) -> Any:
        """Explain risks, or survival at some times, by the contributions of the features, for shap.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Contributions are dense, since the plots of shap want them so.
        times : array-like of shape (n_times,), default=None
            Times, ascending, at which the survival function is explained. None means the risk.

        Returns
        -------
        explanation : shap.Explanation
            `values`, `base_values` (the expected risk, or survival at each time), `data` with the
            samples, the names of the features if `fit` saw any, and the times as names of outputs.

        Raises
        ------
        ImportError
            If shap is not installed.
        NotFittedError
            If the model is not fitted.
        ValueError, TypeError
            If an argument is illegal. The message says how.
        """
        if times is None:
            return super().to_shap(X)  # type: ignore[misc]
        check_is_fitted(self)
        at = read_times(times)
        forest = self._make_forest_of_curves(at)
        values = self._explain(X, sparse_output=False, forest=forest)  # type: ignore[attr-defined]
        names = [f"{time:g}" for time in at]
        return self._make_explanation(  # type: ignore[attr-defined]
            X, values, self.expected_survival(at), names
        )
