"""Targets that are times until an event: from `y` to times and events, and the score of risks."""

from __future__ import annotations

import re
from typing import Any, ClassVar, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import RegressorTags, Tags

from spinney._common.messages import warn_caller
from spinney._common.rows import take_rows
from spinney._data.levels import is_missing
from spinney._fit.draws import Draws
from spinney._fit.target import EncodedTarget
from spinney._spinney import count_concordance

# Codes of events: 0 is no event, others are causes.
_MAX_CAUSE = 2**16
# Words in names by which columns of times and of events are known.
_WORDS_OF_TIMES = re.compile(
    "(time|duration|second|minute|hour|day|week|month|year|tenure|lifetime|futime|followup|age)s?"
)
_WORDS_OF_EVENTS = re.compile(
    "event|status|die|died|dead|death|deaths|fail|failed|failure|cens|censor|censored|censoring|"
    "cause|observed|churn|churned|left|relapse|relapsed|recurrence"
)


class Concordance(NamedTuple):
    """How often risks order pairs of samples as the times of their events do.

    The fields are those that `sksurv.metrics.concordance_index_censored` returns.

    See Also
    --------
    spinney.survival.concordance_index : Returns such an object.

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
        # The risk is a number, and scikit-learn draws partial dependence of regressors.
        tags.estimator_type = "regressor"
        tags.regressor_tags = RegressorTags()
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
        check_codes(y)
        events, times = y.T
        is_event = select_events(events, self.cause)
        if np.count_nonzero(is_event) == 1:
            of_cause = "" if self.cause is None else f" of cause {self.cause}"
            warn_caller(
                f"y has one event{of_cause} among {times.shape[0]} samples. All risks and curves "
                "rest on this sample."
            )
        self.unique_times_ = np.unique(times)
        self.event_times_ = np.unique(times[is_event])
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
        Whether the time ends with an event; or the number of its cause, 0 for a censored time. A
        warning tells if there is no 0 among several codes.
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
    pairs = read_survival((event, time_exit))
    check_codes(pairs)
    events, times = pairs.T
    distinct, place, n_leaving = np.unique(times, return_inverse=True, return_counts=True)
    n_events = np.bincount(place, weights=events > 0, minlength=distinct.shape[0])
    at_risk = np.cumsum(n_leaving[::-1])[::-1]
    return distinct, np.cumprod(1.0 - n_events / at_risk, dtype=np.float64)


def read_survival(y: Any) -> NDArray[np.float64]:
    """Return events and times, of shape (n_samples, 2), of any form in which they may be given."""
    names, parts = _split(y)
    events, times = (_to_array(part) for part in parts)
    _check_places(names, events, times)
    _check_known("Events", events)
    _check_known("Times", times)
    if times.dtype.kind not in "biuf":
        raise ValueError(f"Times in y must be numbers. Got {_name_types(times)} instead.")
    if events.dtype.kind not in "biuf":
        raise ValueError(
            "Events in y must be bool, or the numbers of causes, 0 for none. "
            f"Got {_name_types(events)} instead."
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
            f"Got {codes[~is_code][0]}. Events come first, times second."
        )
    # Of a few samples that are scored, three may have three causes and two times.
    _check_swapped(pairs, 0)
    return pairs


def _check_known(what: str, values: NDArray[Any]) -> None:
    """Raise ValueError if some of many objects are no values."""
    if values.dtype.kind != "O":
        return
    missing = np.flatnonzero([is_missing(value) for value in values.flat])
    if missing.size:
        raise ValueError(
            f"{what} in y must be known for each sample. Got {missing.size} missing value(s), the "
            f"first in row {missing[0]}."
        )


def check_codes(y: NDArray[np.float64]) -> None:
    """Look for two mistakes in events and times of shape (n_samples, 2) that are to be learned.

    Raise ValueError if times seem to stand in the place of events, and warn if no event is 0 though
    there are other codes than 1.
    """
    # Swapped, the codes of one cause and of censoring are two times.
    _check_swapped(y, 2)
    events = y[:, 0]
    causes = np.unique(events[events > 0])
    if causes.size and causes[-1] > 1 and (events > 0).all():
        codes = ", ".join(f"{code:g}" for code in causes[:5])
        warn_caller(
            f"No sample is censored: the codes of events in y are {codes}, and none is 0, which "
            "stands for a censored time. If 1 stands for censored and 2 for an event, as in R, "
            "subtract 1 from the codes."
        )


def _check_swapped(y: NDArray[np.float64], n_few: int) -> None:
    """Raise ValueError if there are far more causes than times, or few times and more causes."""
    events, times = y.T
    n_causes, n_times = np.unique(events[events > 0]).shape[0], np.unique(times).shape[0]
    if n_causes > 10 * n_times or n_times <= n_few < n_causes:
        raise ValueError(
            f"y must have events first and times second. Got events of {n_causes} causes and "
            f"{n_times} different times: they seem to be swapped."
        )


def is_pair(y: Any) -> bool:
    """Return whether a target is given as (events, times)."""
    return isinstance(y, tuple) and len(y) == 2


def take_survival(y: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows of a target, in the form in which it is given."""
    return tuple(take_rows(part, rows) for part in y) if is_pair(y) else take_rows(y, rows)


def make_indexable(y: Any) -> Any:
    """Return a target whose rows scikit-learn can take: a structured array in place of a pair."""
    if not is_pair(y):
        return y
    pairs = read_survival(y)
    kind = _to_array(y[0]).dtype
    packed = np.empty(pairs.shape[0], dtype=[("event", kind), ("time", np.float64)])
    packed["event"], packed["time"] = pairs.T
    return packed


def _split(y: Any) -> tuple[list[Any], list[Any]]:
    """Return the names of events and times, if they have any, and the two themselves."""
    if is_pair(y):
        return [getattr(part, "name", None) for part in y], list(y)
    if hasattr(y, "columns"):
        frame = nw.from_native(y, eager_only=True)
        if len(frame.columns) != 2:
            raise ValueError(
                "A data frame y must have two columns, events and times. "
                f"Got {len(frame.columns)} of them."
            )
        return frame.columns, [frame.get_column(name).to_numpy() for name in frame.columns]
    array = np.asarray(y)
    if array.dtype.names is not None:
        if len(array.dtype.names) != 2:
            raise ValueError(
                "A structured array y must have two fields, events and times. "
                f"Got {len(array.dtype.names)} of them."
            )
        return list(array.dtype.names), [array[name] for name in array.dtype.names]
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(
            "y must be a structured array of events and times, a data frame or an array of these "
            f"two columns, or a pair (events, times). Got an array of shape {array.shape}."
        )
    return [None, None], [array[:, 0], array[:, 1]]


def _to_array(part: Any) -> NDArray[Any]:
    """Return an array; of objects such as Python's bools, one of their common type."""
    array = np.asarray(part)
    return np.asarray(array.tolist()) if array.dtype.kind == "O" else array


def _name_types(array: NDArray[Any]) -> str:
    """Return the type of values, for a message."""
    if array.dtype.kind != "O":
        return str(array.dtype)
    return "objects of " + ", ".join(sorted({type(value).__name__ for value in array.flat}))


def _check_places(names: list[Any], events: NDArray[Any], times: NDArray[Any]) -> None:
    """Raise ValueError if types or names tell that times stand in the place of events."""
    first, second = (re.split(r"[\W\d_]+", str(name).lower()) for name in names)
    are_swapped = (
        any(map(_WORDS_OF_TIMES.fullmatch, first))
        and any(map(_WORDS_OF_EVENTS.fullmatch, second))
        and not any(map(_WORDS_OF_TIMES.fullmatch, second))
    )
    if are_swapped:
        got = f"{names[0]!r} and {names[1]!r}"
    elif times.dtype.kind == "b" and events.dtype.kind != "b":
        got = f"values of type {events.dtype} and {times.dtype}"
    else:
        return
    raise ValueError(f"y must have events first and times second. Got {got}: they are swapped.")
