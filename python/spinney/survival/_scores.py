"""Scores of survival models that scikit-survival computes."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney._fit.survival import read_survival


def integrated_brier_score(y_train: Any, y_test: Any, estimate: Any, times: Any) -> float:
    """Return the mean squared error of survival curves over some times, by scikit-survival.

    Parameters
    ----------
    y_train, y_test : structured array, data frame or pair of arrays
        Events and times of the training samples, and of the samples that are predicted, in any form
        that `fit` takes. The training samples say how probable it is to be censored.
    estimate : array-like of shape (n_samples, n_times)
        The probabilities of no event, as `predict_survival_function` returns them.
    times : array-like of shape (n_times,)
        The times, ascending, within the times of `y_test`.

    Returns
    -------
    score : float
        0 is perfect; a prediction of one half everywhere scores 0.25.

    Raises
    ------
    ImportError
        If scikit-survival is not installed.

    References
    ----------
    E. Graf et al., "Assessment and comparison of prognostic classification schemes for survival
    data", Statistics in Medicine 18, 1999.

    Examples
    --------
    >>> from spinney.survival import integrated_brier_score
    >>> y = ([True, True, True], [1.0, 2.0, 3.0])
    >>> integrated_brier_score(y, y, [[0.5, 0.5]] * 3, [1.0, 2.0])  # doctest: +SKIP
    0.25
    """
    metrics = _import_metrics("integrated_brier_score")
    return float(metrics.integrated_brier_score(_pair(y_train), _pair(y_test), estimate, times))


def cumulative_dynamic_auc(
    y_train: Any, y_test: Any, estimate: Any, times: Any
) -> tuple[NDArray[np.float64], float]:
    """Return how well risks tell those with an event up to a time from the others.

    It is computed by scikit-survival.

    Parameters
    ----------
    y_train, y_test : structured array, data frame or pair of arrays
        Events and times, as for :func:`integrated_brier_score`.
    estimate : array-like of shape (n_samples,) or (n_samples, n_times)
        Risks, or risks at each time such as cumulative hazards.
    times : array-like of shape (n_times,)
        The times, ascending, within the times of `y_test`.

    Returns
    -------
    auc : ndarray of shape (n_times,)
        Areas under the receiver operating characteristic.
    mean_auc : float
        Their mean, weighted by how survival falls.

    Raises
    ------
    ImportError
        If scikit-survival is not installed.

    References
    ----------
    H. Uno et al., "Evaluating prediction rules for t-year survivors with censored regression
    models", Journal of the American Statistical Association 102, 2007.

    Examples
    --------
    >>> from spinney.survival import cumulative_dynamic_auc
    >>> y = ([True, True, True], [1.0, 2.0, 3.0])
    >>> cumulative_dynamic_auc(y, y, [3.0, 2.0, 1.0], [1.5, 2.5])[1]  # doctest: +SKIP
    1.0
    """
    metrics = _import_metrics("cumulative_dynamic_auc")
    auc, mean = metrics.cumulative_dynamic_auc(_pair(y_train), _pair(y_test), estimate, times)
    return auc, float(mean)


def _pair(y: Any) -> NDArray[Any]:
    """Return a structured array of events and times."""
    pairs = read_survival(y)
    structured = np.empty(pairs.shape[0], dtype=[("event", "?"), ("time", "<f8")])
    structured["event"], structured["time"] = pairs[:, 0] > 0, pairs[:, 1]
    return structured


def _import_metrics(name: str) -> Any:
    try:
        return import_module("sksurv.metrics")
    except ImportError as error:
        raise ImportError(
            f"{name} needs the package scikit-survival: python -m pip install scikit-survival"
        ) from error
