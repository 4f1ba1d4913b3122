"""What a causal forest predicts: effects, their errors, intervals, and what they differ by."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spinney._base.features import FeatureReader
from spinney._common.blocks import divide_rows, join_blocks
from spinney._common.checks import is_bool
from spinney._data.arrays import to_rows
from spinney._spinney import Forest
from spinney.causal._moments import (
    N_MOMENTS,
    check_alpha,
    find_effects,
    find_intervals,
    find_variances,
)


class EffectPredictions(FeatureReader):
    """Base class of the forests whose leaves predict moments of outcomes and treatments."""

    subforest_size: Any
    forest_: Forest
    oob_prediction_: NDArray[np.float64]

    def predict(self, X: Any, interval: bool = False, alpha: float = 0.05) -> Any:
        """Predict the effect of the treatment at samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        interval : bool, default=False
            Whether to return the bounds of intervals as well; see `predict_interval`.
        alpha : float, default=0.05
            How often intervals miss.

        Returns
        -------
        effects : ndarray of shape (n_samples,)
            float64: by how much the outcome changes if the treatment grows by 1. NaN where all
            training samples nearby had the same treatment.
        low : ndarray of shape (n_samples,)
            If `interval`.
        high : ndarray of shape (n_samples,)
            If `interval`.
        """
        if not is_bool(interval):
            raise ValueError(f"interval must be a bool. Got {interval!r}.")
        if interval:
            check_alpha(alpha)
            effects, errors = self._predict_both(X)
            return (effects, *find_intervals(effects, errors, alpha))
        rows = self._validate_X_predict(X)
        return find_effects(self.forest_.predict(to_rows(rows), self._count_threads()))

    def predict_interval(
        self, X: Any, alpha: float = 0.05
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return intervals of the effects at samples: the effects, minus and plus their errors.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        alpha : float, default=0.05
            How often intervals miss, if the errors of the forest are random alone. Where effects
            change fast, a forest also has a bias, of which intervals do not know.

        Returns
        -------
        low, high : ndarray of shape (n_samples,)
            float64.
        """
        return tuple(self.predict(X, interval=True, alpha=alpha)[1:])

    def predict_and_var(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the effects at samples, and their variances.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        effects, variances : ndarray of shape (n_samples,)
            float64. Variances are of the estimates: how much these would differ if the data were
            drawn anew. With few trees they are too large.
        """
        effects, errors = self._predict_both(X)
        return effects, errors**2

    def prediction_stderr(self, X: Any) -> NDArray[np.float64]:
        """Return the standard errors of the effects at samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        errors : ndarray of shape (n_samples,)
            float64.
        """
        return self._predict_both(X)[1]

    def _predict_both(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return effects and their standard errors."""
        rows = to_rows(self._validate_X_predict(X))
        n_samples, n_threads = rows.shape[0], self._count_threads()
        effects = find_effects(self.forest_.predict(rows, n_threads))
        bag_size = self.subforest_size
        blocks = divide_rows(n_samples, N_MOMENTS * len(self.forest_) // bag_size)
        variances = join_blocks(
            n_samples,
            (
                find_variances(self.forest_.predict_trees(rows, n_threads, block, bag_size))
                for block in blocks
            ),
        )
        return effects, np.sqrt(variances)

    def oob_predict(self) -> NDArray[np.float64]:
        """Return the effects at the training samples, by the trees that have not seen them.

        Returns
        -------
        effects : ndarray of shape (n_samples,)
            float64, a copy of `oob_prediction_`.
        """
        check_is_fitted(self)
        return self.oob_prediction_.copy()

    def effect(self, X: Any, *, T0: float = 0, T1: float = 1) -> NDArray[np.float64]:
        """Return what changing the treatment from `T0` to `T1` does to the outcome.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        T0, T1 : float, default=0, 1
            Amounts of the treatment.

        Returns
        -------
        effects : ndarray of shape (n_samples,)
            float64.
        """
        effects: NDArray[np.float64] = _find_change(T0, T1) * self.predict(X)
        return effects

    def effect_interval(
        self, X: Any, *, T0: float = 0, T1: float = 1, alpha: float = 0.05
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return intervals of what `effect` returns; see `predict_interval`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        T0, T1 : float, default=0, 1
            Amounts of the treatment.
        alpha : float, default=0.05
            How often intervals miss.

        Returns
        -------
        low, high : ndarray of shape (n_samples,)
            float64.
        """
        check_alpha(alpha)
        change = _find_change(T0, T1)
        effects, errors = self._predict_both(X)
        return find_intervals(change * effects, abs(change) * errors, alpha)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """How much the splits on each feature lower the squared error of outcomes by treatments.

        It is measured on the samples that fill the leaves, and normalised to a sum of 1. What it
        tells is what effects differ by, not what outcomes differ by.

        Returns
        -------
        importances : ndarray of shape (n_features_in_,)
            float64.
        """
        check_is_fitted(self)
        return self.forest_.compute_feature_importances()


def _find_change(T0: Any, T1: Any) -> float:
    for name, amount in (("T0", T0), ("T1", T1)):
        if not (isinstance(amount, Real) and np.isfinite(float(amount))):
            raise ValueError(f"{name} must be a finite number. Got {amount!r}.")
    return float(T1) - float(T0)
