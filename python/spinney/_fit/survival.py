"""Targets that are times until an event: from `y` to times and events, and the score of risks."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags

from spinney._fit.draws import Draws
from spinney._fit.target import EncodedTarget
from spinney._spinney import count_concordance

# Codes of events: 0 is no event, others are causes.
_MAX_CAUSE = 2**16


class Concordance(NamedTuple):
    """How often risks order pairs of samples as the times of their events do.

    The fields are those that `sksurv.metrics.concordance_index_censored` returns.

    Examples
    --------
    >>> from spinney.survival import concordance_index
    >>> concordance_index([True, False], [1.0, 2.0], [0.9, 0.1])
    Concordance(cindex=1.0, concordant=1, discordant=0, tied_risk=0, tied_time=0)
    """

    cindex: float
    """The share of pairs in order; pairs of equal risk count half. NaN if there are no pairs."""
    concordant: int
    """Pairs whose sample with the earlier event has the higher risk."""
    discordant: int
    """Pairs whose sample with the earlier event has the lower risk."""
    tied_risk: int
    """Pairs of equal risk."""
    tied_time: int
    """Pairs of an event and a censoring at the same time; they count above, too."""


class SurvivalTarget:
    """Mixin of the estimators that predict times until an event."""

    _task: ClassVar[str] = "survival"

    cause: Any
    unique_times_: NDArray[np.float64]
    event_times_: NDArray[np.float64]
    causes_: NDArray[np.int64]
    n_outputs_: int

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.required = True
        tags.target_tags.single_output = False
        return tags

    def _read_y(self, y: Any) -> NDArray[np.float64]:
        return read_survival(y)

    def _check_counts(self, targets: NDArray[Any]) -> None:
        """Do nothing: times are no counts."""

    def _encode_y(self, y: NDArray[Any]) -> EncodedTarget:
        # Events and times are one output. The compiled part wants times first.
        self.n_outputs_ = 1
        return EncodedTarget(np.ascontiguousarray(y[:, ::-1], dtype=np.float64), None)

    def _learn_times(self, y: NDArray[np.float64], draws: Draws) -> None:
        """Set the attributes that describe the times; samples of weight 0 do not show."""
        if draws.sample_weight is not None:
            y = y[draws.sample_weight > 0]
        events, times = y.T
        self.unique_times_ = np.unique(times)
        self.event_times_ = np.unique(times[select_events(events, self.cause)])
        self.causes_ = np.unique(events[events > 0]).astype(np.int64)

    def score(self, X: Any, y: Any) -> float:
        """Return the concordance of the predicted risks and the times of events (Harrell's C).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.
        y : structured array, data frame or pair of arrays
            Their events and times, as `fit` takes them.

        Returns
        -------
        cindex : float
            1 if all pairs are in order, 0.5 by chance; NaN if no two samples can be compared.
        """
        risks = self.predict(X)  # type: ignore[attr-defined]
        return score_risks(self._read_y(y), risks, self.cause)


def select_events(events: NDArray[np.float64], cause: int | None) -> NDArray[np.bool_]:
    """Return which events are of a cause, or of any cause if it is None."""
    return events > 0 if cause is None else events == cause


def score_risks(
    y: NDArray[np.float64], risks: NDArray[np.float64], cause: int | None = None
) -> float:
    """Return the concordance of risks, given events and times of shape (n_samples, 2).

    Events of other causes than `cause` are as censorings.
    """
    return concordance_index(select_events(y[:, 0], cause), y[:, 1], risks).cindex


def concordance_index(
    event_indicator: Any, event_time: Any, estimate: Any, tied_tol: float = 1e-8
) -> Concordance:
    """Return how often risks order pairs of samples as the times of their events do.

    A pair consists of a sample with an event, and of one whose time is later, or is censored at the
    same time.

    Parameters
    ----------
    event_indicator : array-like of bool of shape (n_samples,)
        Whether the time ends with an event.
    event_time : array-like of shape (n_samples,)
        The times.
    estimate : array-like of shape (n_samples,)
        Risks: the higher, the earlier the event is expected.
    tied_tol : float, default=1e-8
        Risks that differ by no more are equal.

    Returns
    -------
    concordance : Concordance
        A named tuple (cindex, concordant, discordant, tied_risk, tied_time).

    Notes
    -----
    O(n log n) for n samples.

    References
    ----------
    F. E. Harrell et al., "Evaluating the yield of medical tests", Journal of the American Medical
    Association 247, 1982.

    Examples
    --------
    >>> from spinney.survival import concordance_index
    >>> concordance_index([True, True, False], [1.0, 2.0, 3.0], [0.9, 0.1, 0.5]).cindex
    0.6666666666666666
    """
    events = np.ascontiguousarray(event_indicator)
    if events.dtype != bool:
        raise ValueError(f"event_indicator must be bool. Got {events.dtype} instead.")
    times = np.ascontiguousarray(event_time, dtype=np.float64)
    risks = np.ascontiguousarray(estimate, dtype=np.float64)
    if not events.shape == times.shape == risks.shape or events.ndim != 1:
        raise ValueError(
            "event_indicator, event_time and estimate must have shape (n_samples,). "
            f"Got {events.shape}, {times.shape} and {risks.shape}."
        )
    for name, values in (("event_time", times), ("estimate", risks)):
        if np.isnan(values).any():
            raise ValueError(f"{name} must not be NaN.")
    counts = count_concordance(events, times, risks, float(tied_tol))
    n_pairs = sum(counts[:3])
    cindex = (counts[0] + 0.5 * counts[2]) / n_pairs if n_pairs else np.nan
    return Concordance(float(cindex), *counts)


def kaplan_meier_estimator(
    event: Any, time_exit: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the Kaplan-Meier estimate of the probability that no event has happened.

    Parameters
    ----------
    event : array-like of shape (n_samples,)
        Whether the time ends with an event.
    time_exit : array-like of shape (n_samples,)
        The times.

    Returns
    -------
    time : ndarray of shape (n_times,)
        The distinct times, ascending.
    prob_survival : ndarray of shape (n_times,)
        The probability from each time on.

    References
    ----------
    E. L. Kaplan, P. Meier, "Nonparametric estimation from incomplete observations", Journal of the
    American Statistical Association 53, 1958.

    Examples
    --------
    >>> from spinney.survival import kaplan_meier_estimator
    >>> kaplan_meier_estimator([True, False, True], [1.0, 2.0, 3.0])[1].round(3).tolist()
    [0.667, 0.667, 0.0]
    """
    events, times = read_survival((event, time_exit)).T
    distinct, place, n_leaving = np.unique(times, return_inverse=True, return_counts=True)
    n_events = np.bincount(place, weights=events > 0, minlength=distinct.shape[0])
    at_risk = np.cumsum(n_leaving[::-1])[::-1]
    return distinct, np.cumprod(1.0 - n_events / at_risk, dtype=np.float64)


def read_survival(y: Any) -> NDArray[np.float64]:
    """Return events and times, of shape (n_samples, 2), of any form in which they may be given."""
    events, times = _split(y)
    if times.dtype.kind not in "biuf":
        raise ValueError(f"Times in y must be numbers. Got {times.dtype} instead.")
    if events.dtype.kind not in "biuf":
        raise ValueError(
            "Events in y must be bool, or the numbers of causes, 0 for none. "
            f"Got {events.dtype} instead."
        )
    if events.shape != times.shape or times.ndim != 1:
        raise ValueError(
            "y must have an event and a time for each sample. "
            f"Got events of shape {events.shape} and times of shape {times.shape}."
        )
    pairs = np.empty((times.shape[0], 2))
    pairs[:, 0], pairs[:, 1] = events, times
    is_legal = np.isfinite(pairs[:, 1]) & (pairs[:, 1] >= 0)
    if not is_legal.all():
        bad = pairs[~is_legal, 1][0]
        raise ValueError(f"Times in y must be finite and not below 0. Got {bad}.")
    codes = pairs[:, 0]
    is_code = (codes >= 0) & (codes <= _MAX_CAUSE) & (codes == np.floor(codes))
    if not is_code.all():
        raise ValueError(
            "Events in y must be bool, or the numbers of causes, 0 for none. "
            f"Got {codes[~is_code][0]}."
        )
    return pairs


def _split(y: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return events and times."""
    if isinstance(y, tuple) and len(y) == 2:
        return np.asarray(y[0]), np.asarray(y[1])
    if hasattr(y, "columns"):
        frame = nw.from_native(y, eager_only=True)
        if len(frame.columns) != 2:
            raise ValueError(
                "A data frame y must have two columns, events and times. "
                f"Got {len(frame.columns)} of them."
            )
        events, times = (frame.get_column(name).to_numpy() for name in frame.columns)
        return events, times
    array = np.asarray(y)
    if array.dtype.names is not None:
        if len(array.dtype.names) != 2:
            raise ValueError(
                "A structured array y must have two fields, events and times. "
                f"Got {len(array.dtype.names)} of them."
            )
        events, times = (array[name] for name in array.dtype.names)
        if times.dtype.kind == "b" and events.dtype.kind != "b":
            raise ValueError(
                "A structured array y must have events in the first field and times in the second."
            )
        return events, times
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(
            "y must be a structured array of events and times, a data frame or an array of these "
            f"two columns, or a pair (events, times). Got an array of shape {array.shape}."
        )
    return array[:, 0], array[:, 1]
