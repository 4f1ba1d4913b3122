"""What all survival models share: curves of the time until an event."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spinney._common.checks import is_bool
from spinney.survival._step_function import StepFunction


class SurvivalCurves(ABC):
    """Mixin of the survival models: curves from the training samples in the leaves of a sample."""

    unique_times_: NDArray[np.float64]
    causes_: NDArray[np.int64]

    @abstractmethod
    def _predict_curves(
        self, X: Any, at: NDArray[np.float64], curve: str | int
    ) -> NDArray[np.float64]:
        """Return curves at some times, of shape (n_samples, n_times).

        `curve` is "hazard", "survival" or the number of a cause.
        """

    def predict_survival_function(
        self, X: Any, return_array: bool = False, times: Any = None
    ) -> NDArray[Any]:
        """Predict the probability that no event has happened, as a function of time.

        It is the mean over the trees of the Kaplan-Meier estimate in the leaf of a sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        return_array : bool, default=False
            Whether to return values at `times` instead of functions.
        times : array-like of shape (n_times,), default=None
            Times, ascending. None means `unique_times_`.

        Returns
        -------
        curves : ndarray of StepFunction of shape (n_samples,), or ndarray of shape \
                (n_samples, n_times)
        """
        return self._list_curves(X, return_array, times, "survival")

    def predict_cumulative_hazard_function(
        self, X: Any, return_array: bool = False, times: Any = None
    ) -> NDArray[Any]:
        """Predict the cumulative hazard of an event as a function of time.

        It is the mean over the trees of the Nelson-Aalen estimate in the leaf of a sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        return_array : bool, default=False
            Whether to return values at `times` instead of functions.
        times : array-like of shape (n_times,), default=None
            Times, ascending. None means `unique_times_`.

        Returns
        -------
        curves : ndarray of StepFunction of shape (n_samples,), or ndarray of shape \
                (n_samples, n_times)
        """
        return self._list_curves(X, return_array, times, "hazard")

    def predict_cumulative_incidence_function(
        self, X: Any, cause: int = 1, return_array: bool = False, times: Any = None
    ) -> NDArray[Any]:
        """Predict the probability that an event of a cause has happened, as a function of time.

        It is the mean over the trees of the Aalen-Johansen estimate in the leaf of a sample: events
        of other causes compete. With one cause it is 1 minus the survival function.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        cause : int, default=1
            One of `causes_`: the number that `y` has in the place of an event.
        return_array : bool, default=False
            Whether to return values at `times` instead of functions.
        times : array-like of shape (n_times,), default=None
            Times, ascending. None means `unique_times_`.

        Returns
        -------
        curves : ndarray of StepFunction of shape (n_samples,), or ndarray of shape \
                (n_samples, n_times)
        """
        check_is_fitted(self)
        if cause not in self.causes_:
            raise ValueError(f"cause must be one of {self.causes_.tolist()}. Got {cause!r}.")
        return self._list_curves(X, return_array, times, int(cause))

    def _list_curves(self, X: Any, return_array: Any, times: Any, curve: str | int) -> NDArray[Any]:
        check_is_fitted(self)
        if not is_bool(return_array):
            raise TypeError(f"return_array must be a bool. Got {return_array!r} instead.")
        at = self.unique_times_ if times is None else read_times(times)
        values = self._predict_curves(X, at, curve)
        if return_array:
            return values
        functions = np.empty(values.shape[0], dtype=object)
        for row, of_row in enumerate(values):
            functions[row] = StepFunction(at, of_row)
        return functions


def read_times(times: Any) -> NDArray[np.float64]:
    """Return times; raise ValueError unless they ascend."""
    try:
        at = np.ascontiguousarray(times, dtype=np.float64)
    except (TypeError, ValueError):
        # Words, or lists of other lengths.
        at = np.empty(0)
    is_legal = at.ndim == 1 and at.size > 0 and np.isfinite(at).all() and np.all(np.diff(at) > 0)
    if not is_legal:
        raise ValueError(f"times must be finite numbers, ascending. Got {times!r}.")
    return at
