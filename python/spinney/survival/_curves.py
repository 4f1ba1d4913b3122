"""What all survival models share: curves of the time until an event."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spinney._common.checks import is_bool
from spinney._common.messages import reject_parameter
from spinney._explain.out_of_bag import check_oob_score
from spinney.survival._step_function import StepFunction


class SurvivalCurves(ABC):
    """Mixin of the survival models: curves from the training samples in the leaves of a sample."""

    unique_times_: NDArray[np.float64]
    causes_: NDArray[np.int64]

    @abstractmethod
    def _predict_curves(
        self, X: Any, at: NDArray[np.float64], curve: str | int, oob_score: bool
    ) -> NDArray[np.float64]:
        """Return curves at some times, of shape (n_samples, n_times).

        `curve` is "hazard", "survival" or the number of a cause. `oob_score` tells whether each
        sample is predicted by the trees that have not seen it; ValueError if there are none.
        """

    def predict_survival_function(
        self, X: Any, return_array: bool = False, times: Any = None, *, oob_score: bool = False
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
            Times, ascending. None means `unique_times_`. Functions know all times in either case;
            their places are `unique_times_` and these.
        oob_score : bool, default=False
            Whether `X` are the training samples, and each is predicted by the trees that have not
            seen it. NaN, with a warning, where there are none. For grown forests with `bootstrap`.

        Returns
        -------
        curves : ndarray of StepFunction of shape (n_samples,), or ndarray of shape \
                (n_samples, n_times)
            They are 1 before the first event. After the last of `unique_times_` they keep the value
            that they have there, since nothing is known of later times.
        """
        return self._list_curves(X, return_array, times, "survival", oob_score)

    def predict_cumulative_hazard_function(
        self, X: Any, return_array: bool = False, times: Any = None, *, oob_score: bool = False
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
            Times, ascending. None means `unique_times_`. Functions know all times in either case;
            their places are `unique_times_` and these.
        oob_score : bool, default=False
            Whether `X` are the training samples, and each is predicted by the trees that have not
            seen it. NaN, with a warning, where there are none. For grown forests with `bootstrap`.

        Returns
        -------
        curves : ndarray of StepFunction of shape (n_samples,), or ndarray of shape \
                (n_samples, n_times)
            They are 0 before the first event. After the last of `unique_times_` they keep the value
            that they have there, since nothing is known of later times.
        """
        return self._list_curves(X, return_array, times, "hazard", oob_score)

    def predict_cumulative_incidence_function(
        self,
        X: Any,
        cause: int = 1,
        return_array: bool = False,
        times: Any = None,
        *,
        oob_score: bool = False,
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
            Times, ascending. None means `unique_times_`. Functions know all times in either case;
            their places are `unique_times_` and these.
        oob_score : bool, default=False
            Whether `X` are the training samples, and each is predicted by the trees that have not
            seen it. NaN, with a warning, where there are none. For grown forests with `bootstrap`.

        Returns
        -------
        curves : ndarray of StepFunction of shape (n_samples,), or ndarray of shape \
                (n_samples, n_times)
            They are 0 before the first event. After the last of `unique_times_` they keep the value
            that they have there, since nothing is known of later times.
        """
        check_is_fitted(self)
        if cause not in self.causes_:
            raise ValueError(f"cause must be one of {self.causes_.tolist()}. Got {cause!r}.")
        return self._list_curves(X, return_array, times, int(cause), oob_score)

    def predict_quantile(
        self, X: Any, quantiles: Any = 0.5, *, oob_score: bool = False
    ) -> NDArray[np.float64]:
        """Predict quantiles of the time until an event, by default the median.

        It is the first time at which the survival function is not above 1 minus the quantile.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        quantiles : float or array-like of shape (n_quantiles,), default=0.5
            Between 0 and 1: 0.25 asks for the time by which a quarter has had an event.
        oob_score : bool, default=False
            Whether `X` are the training samples, and each is predicted by the trees that have not
            seen it. NaN, with a warning, where there are none. For grown forests with `bootstrap`.

        Returns
        -------
        times : ndarray of shape (n_samples,), or (n_samples, n_quantiles) for an array of quantiles
            inf where so many events are not seen up to the last of `unique_times_`.

        Raises
        ------
        ValueError, TypeError
            If an argument is illegal. The message names it.
        """
        try:
            wanted = np.asarray(quantiles, dtype=np.float64)
        except (TypeError, ValueError):
            wanted = np.array(np.nan)
        if wanted.ndim > 1 or wanted.size == 0 or not ((wanted > 0) & (wanted < 1)).all():
            expected = "numbers above 0 and below 1"
            reject_parameter("predict_quantile", "quantiles", quantiles, expected)
        curves = self.predict_survival_function(X, return_array=True, oob_score=oob_score)
        found = np.empty((curves.shape[0], wanted.size))
        for place, quantile in enumerate(wanted.ravel()):
            # Products of shares miss a half by rounding.
            is_reached = curves <= 1.0 - quantile + 1e-12
            first = self.unique_times_[np.argmax(is_reached, axis=1)]
            found[:, place] = np.where(is_reached.any(axis=1), first, np.inf)
        found[np.isnan(curves[:, 0])] = np.nan
        return found if wanted.ndim else found[:, 0]

    def _list_curves(
        self, X: Any, return_array: Any, times: Any, curve: str | int, oob_score: Any
    ) -> NDArray[Any]:
        check_is_fitted(self)
        if not is_bool(return_array):
            raise TypeError(f"return_array must be a bool. Got {return_array!r} instead.")
        check_oob_score(oob_score)
        at = self.unique_times_ if times is None else read_times(times)
        if return_array:
            return self._predict_curves(X, at, curve, oob_score)
        at = np.union1d(self.unique_times_, at)
        values = self._predict_curves(X, at, curve, oob_score)
        functions = np.empty(values.shape[0], dtype=object)
        start = 1.0 if curve == "survival" else 0.0
        for row, of_row in enumerate(values):
            is_known = not np.isnan(of_row[0])
            functions[row] = StepFunction(
                at, of_row, domain=(-np.inf, np.inf), before=start if is_known else np.nan
            )
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
