"""Scores of survival models, in which censored samples are made up for by weights.

A sample whose event is seen stands for those that were censored before: it weighs 1 / G(time), G
being the probability not to be censored up to a time (inverse probability of censoring weights).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney._fit.survival import Concordance, read_survival, select_events
from spinney.survival._curves import read_times
from spinney.survival._pairs import sum_below
from spinney.survival._step_function import StepFunction


class Censoring(NamedTuple):
    """The Kaplan-Meier estimate of the probability not to be censored."""

    times: NDArray[np.float64]
    survival: NDArray[np.float64]

    @classmethod
    def learn(cls, y: NDArray[np.float64]) -> Censoring:
        """Return the estimate by events and times of shape (n_samples, 2).

        Of an event and a censoring at one time, the event comes first.
        """
        times, place, n_leaving = np.unique(y[:, 1], return_inverse=True, return_counts=True)
        n_events = np.bincount(place, weights=y[:, 0] > 0, minlength=times.shape[0])
        at_risk = np.cumsum(n_leaving[::-1])[::-1] - n_events
        # Where all that are left have an event, none can be censored.
        hazard = (n_leaving - n_events) / np.maximum(at_risk, 1.0)
        return cls(times, np.cumprod(1.0 - hazard))

    def at(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities at some times."""
        places = np.searchsorted(self.times, times, side="right")
        return np.concatenate([[1.0], self.survival])[places]

    def find_end(self) -> float:
        """Return the first time at which the probability is 0; infinity if there is none."""
        is_over = self.survival <= 0.0
        return float(self.times[np.argmax(is_over)]) if is_over.any() else np.inf


def brier_score(
    y_train: Any, y_test: Any, estimate: Any, times: Any, cause: int | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean squared error of predicted probabilities at some times.

    Parameters
    ----------
    y_train, y_test : structured array, data frame or pair of arrays
        Events and times of the training samples, and of the samples that are predicted, in any form
        that `fit` takes. The training samples say how probable it is to be censored. They may be
        the same.
    estimate : array-like of shape (n_samples, n_times), or of functions of shape (n_samples,)
        The probabilities of no event, as `predict_survival_function` returns them. With `cause`,
        the probabilities that its event has happened, as `predict_cumulative_incidence_function`
        returns them.
    times : float or array-like of shape (n_times,)
        The times, ascending, within those of `y_train` and `y_test`.
    cause : int, default=None
        The cause whose events are predicted; events of others compete with them. None if there is
        one cause. ValueError if there are several.

    Returns
    -------
    times : ndarray of shape (n_times,)
    scores : ndarray of shape (n_times,)
        0 is perfect; a prediction of one half for all samples scores 0.25.

    Raises
    ------
    ValueError
        If an argument is illegal. The message names it.

    References
    ----------
    E. Graf et al., "Assessment and comparison of prognostic classification schemes for survival
    data", Statistics in Medicine 18, 1999.

    R. Schoop et al., "Quantifying the predictive accuracy of time-to-event models in the presence
    of competing risks", Biometrical Journal 53, 2011.

    Examples
    --------
    >>> from spinney.survival import brier_score
    >>> y = ([True, True, False], [1.0, 2.0, 3.0])
    >>> brier_score(y, y, [[0.5, 0.0], [0.5, 0.5], [0.5, 1.0]], [1.0, 2.0])[1].round(3).tolist()
    [0.25, 0.083]
    """
    own = _read(y_train, y_test, times, cause)
    values = _read_estimate(estimate, own.y.shape[0], own.at)
    if values.ndim != 2:
        raise ValueError(
            f"estimate must have shape ({own.y.shape[0]}, {own.at.shape[0]}), a probability at "
            f"each time. Got {values.shape}."
        )
    chances = 1.0 - values if cause is None else values
    has_happened = (own.is_event[:, None] & (own.y[:, 1:] <= own.at)).astype(np.float64)
    errors = (has_happened - chances) ** 2
    scores: NDArray[np.float64] = (errors * own.weigh()).mean(axis=0)
    return own.at, scores


def integrated_brier_score(
    y_train: Any, y_test: Any, estimate: Any, times: Any, cause: int | None = None
) -> float:
    """Return the mean over some times of the mean squared error of predicted probabilities.

    It is the integral of :func:`brier_score` by the trapezoidal rule, divided by the span of time.

    Parameters
    ----------
    y_train, y_test : structured array, data frame or pair of arrays
        Events and times, as for :func:`brier_score`.
    estimate : array-like of shape (n_samples, n_times), or of functions of shape (n_samples,)
        Probabilities, as for :func:`brier_score`.
    times : array-like of shape (n_times,)
        Two times or more, ascending, within those of `y_train` and `y_test`.
    cause : int, default=None
        The cause whose events are predicted, as for :func:`brier_score`.

    Returns
    -------
    score : float
        0 is perfect; a prediction of one half everywhere scores 0.25.

    Raises
    ------
    ValueError
        If an argument is illegal. The message names it.

    References
    ----------
    E. Graf et al., "Assessment and comparison of prognostic classification schemes for survival
    data", Statistics in Medicine 18, 1999.

    Examples
    --------
    >>> from spinney.survival import integrated_brier_score
    >>> y = ([True, True, True], [1.0, 2.0, 3.0])
    >>> integrated_brier_score(y, y, [[0.5, 0.5]] * 3, [1.0, 2.0])
    0.25
    """
    at, scores = brier_score(y_train, y_test, estimate, times, cause)
    if at.shape[0] < 2:
        raise ValueError(f"times must be two times or more. Got {times!r}.")
    integral = ((scores[1:] + scores[:-1]) / 2) @ np.diff(at)
    return float(integral / (at[-1] - at[0]))


def cumulative_dynamic_auc(
    y_train: Any,
    y_test: Any,
    estimate: Any,
    times: Any,
    tied_tol: float = 1e-8,
    cause: int | None = None,
) -> tuple[NDArray[np.float64], float]:
    """Return how well risks tell those with an event up to a time from the others.

    Parameters
    ----------
    y_train, y_test : structured array, data frame or pair of arrays
        Events and times, as for :func:`brier_score`.
    estimate : array-like of shape (n_samples,) or (n_samples, n_times), or of functions
        Risks, or risks at each time such as cumulative hazards.
    times : float or array-like of shape (n_times,)
        The times, ascending, within those of `y_train` and `y_test`.
    tied_tol : float, default=1e-8
        Risks that differ by no more are equal.
    cause : int, default=None
        The cause whose events are told from all else: from no event yet, and from events of other
        causes. None if there is one cause. ValueError if there are several.

    Returns
    -------
    auc : ndarray of shape (n_times,)
        Areas under the receiver operating characteristic: the shares of pairs in which the sample
        with the event has the higher risk, pairs of equal risk counting half. NaN where there are
        no pairs.
    mean_auc : float
        Their mean, weighted by how the probability of an event rises up to each time.

    Raises
    ------
    ValueError
        If an argument is illegal. The message names it.

    References
    ----------
    H. Uno et al., "Evaluating prediction rules for t-year survivors with censored regression
    models", Journal of the American Statistical Association 102, 2007.

    H. Hung, C. T. Chiang, "Estimation methods for time-dependent AUC models with survival data",
    Canadian Journal of Statistics 38, 2010.

    P. Blanche, J.-F. Dartigues, H. Jacqmin-Gadda, "Estimating and comparing time-dependent areas
    under receiver operating characteristic curves for censored event times with competing risks",
    Statistics in Medicine 32, 2013.

    Examples
    --------
    >>> from spinney.survival import cumulative_dynamic_auc
    >>> y = ([True, True, True], [1.0, 2.0, 3.0])
    >>> cumulative_dynamic_auc(y, y, [3.0, 2.0, 1.0], [1.5, 2.5])[1]
    1.0
    """
    own = _read(y_train, y_test, times, cause)
    values = _read_estimate(estimate, own.y.shape[0], own.at)
    weights = own.weigh()
    areas = np.empty(own.at.shape[0])
    for place, time in enumerate(own.at):
        risks = values if values.ndim == 1 else values[:, place]
        is_case = own.is_event & (own.y[:, 1] <= time)
        areas[place] = _find_area(risks, is_case, weights[:, place], tied_tol)
    rises = np.diff(
        _estimate_incidence(own.y[:, 1], own.y[:, 0], own.is_event, own.at), prepend=0.0
    )
    is_known = ~np.isnan(areas) & (rises > 0)
    total = rises[is_known].sum()
    mean = (areas[is_known] * rises[is_known]).sum() / total if total > 0 else np.nan
    return areas, float(mean)


def concordance_index_ipcw(
    y_train: Any,
    y_test: Any,
    estimate: Any,
    tau: float | None = None,
    tied_tol: float = 1e-8,
    cause: int | None = None,
) -> Concordance:
    """Return how often risks order pairs of samples, with weights that make up for censoring.

    Harrell's concordance (:func:`concordance_index`) depends on when samples are censored; this one
    does not, if censoring does not depend on the samples. With `cause`, those who had an event of
    another cause before are among those without an event, as they will have none.

    Parameters
    ----------
    y_train, y_test : structured array, data frame or pair of arrays
        Events and times, as for :func:`brier_score`.
    estimate : array-like of shape (n_samples,)
        Risks: the higher, the earlier the event is expected.
    tau : float, default=None
        Only events before this time count. None means all.
    tied_tol : float, default=1e-8
        Risks that differ by no more are equal.
    cause : int, default=None
        The cause whose events are predicted. None if there is one cause. ValueError if there are
        several.

    Returns
    -------
    concordance : Concordance
        A named tuple (cindex, concordant, discordant, tied_risk, tied_time). The last four are the
        numbers of pairs, without weights.

    Raises
    ------
    ValueError
        If an argument is illegal. The message names it.

    Notes
    -----
    O(n log(n)^2) for n samples.

    References
    ----------
    H. Uno et al., "On the C-statistics for evaluating overall adequacy of risk prediction
    procedures with censored survival data", Statistics in Medicine 30, 2011.

    M. Wolbers et al., "Concordance for prognostic models with competing risks", Biostatistics 15,
    2014.

    Examples
    --------
    >>> from spinney.survival import concordance_index_ipcw
    >>> y = ([True, True, False], [1.0, 2.0, 3.0])
    >>> concordance_index_ipcw(y, y, [0.9, 0.1, 0.5]).cindex
    0.6666666666666666
    """
    train, y, is_event = _read_targets(y_train, y_test, cause)
    risks = np.asarray(estimate, dtype=np.float64)
    if risks.shape != y.shape[:1] or np.isnan(risks).any():
        raise ValueError(
            f"estimate must be {y.shape[0]} risks without NaN. Got shape {risks.shape}."
        )
    # By time; of one time events come first, since those that are censored then are later.
    order = np.lexsort((y[:, 0] == 0, y[:, 1]))
    events, times = y[order].T
    risks = risks[order]
    n_samples = times.shape[0]
    is_counted = is_event[order] & (True if tau is None else times < tau)
    of_event = np.flatnonzero(is_counted)
    censoring = Censoring.learn(train)
    unseen = censoring.at(times)
    is_competitor = (events > 0) & ~is_event[order]
    if of_event.size and (unseen[: of_event[-1] + 1] <= 0).any():
        raise ValueError(
            f"tau must be at most {censoring.find_end():g}, from where on all samples of y_train "
            f"are censored. Got {tau!r}."
        )
    # The first sample that is later than an event.
    later = np.searchsorted(times, times[of_event], side="left")
    same_events = np.concatenate([[0], np.cumsum(events > 0)])
    stop = np.searchsorted(times, times[of_event], side="right")
    start = later + same_events[stop] - same_events[later]
    ordered = np.sort(risks)
    ranks = np.argsort(np.argsort(risks, kind="stable"), kind="stable")
    low = np.searchsorted(ordered, risks[of_event] - tied_tol, side="left")
    high = np.searchsorted(ordered, risks[of_event] + tied_tol, side="right")
    bounds = (low, high, np.full_like(low, n_samples))

    def add_up(
        places: NDArray[np.intp], of_rank: NDArray[np.intp], own: NDArray[Any]
    ) -> NDArray[np.float64]:
        return np.array([sum_below(places, bound, of_rank, own) for bound in bounds])

    # For each event: the samples that are later, of lower risk, of at most the same, and all.
    n_pairs = add_up(start, ranks, np.ones(n_samples))
    weights = 1.0 / unseen[of_event]
    sums = n_pairs @ weights**2
    if is_competitor.any():
        is_weighed = is_competitor & (unseen > 0)
        competing = np.divide(1.0, unseen, out=np.zeros(n_samples), where=is_weighed)
        earlier = n_samples - start
        sums = sums + add_up(earlier, ranks[::-1], competing[::-1]) @ weights
        n_pairs = n_pairs + add_up(earlier, ranks[::-1], is_competitor[::-1])
    below, upto, total = sums
    cindex = (below + upto) / 2 / total if total > 0 else np.nan
    concordant, up_to_tied, n_all = (int(n) for n in n_pairs.sum(axis=1))
    n_tied_times = int((stop - start).sum())
    return Concordance(
        float(cindex), concordant, n_all - up_to_tied, up_to_tied - concordant, n_tied_times
    )


class _Scored(NamedTuple):
    """What scores at times need of the targets."""

    y: NDArray[np.float64]
    is_event: NDArray[np.bool_]
    at: NDArray[np.float64]
    censoring: Censoring

    def weigh(self) -> NDArray[np.float64]:
        """Return the weights of samples at each time, of shape (n_samples, n_times).

        Of an event up to a time 1 / G(its time), of a sample that is still watched 1 / G(time), and
        0 of one that is censored.
        """
        events, times = self.y[:, :1] > 0, self.y[:, 1:]
        own = np.maximum(self.censoring.at(times), np.finfo(np.float64).tiny)
        is_over = times <= self.at
        return np.where(is_over, events / own, 1.0 / self.censoring.at(self.at))


def _read(y_train: Any, y_test: Any, times: Any, cause: int | None) -> _Scored:
    train, test, is_event = _read_targets(y_train, y_test, cause)
    at = read_times(np.atleast_1d(times) if np.ndim(times) == 0 else times)
    last = min(train[:, 1].max(), test[:, 1].max())
    censoring = Censoring.learn(train)
    if at[-1] > last or censoring.at(at[-1:])[0] <= 0:
        bound = min(last, censoring.find_end())
        relation = "below" if bound == censoring.find_end() else "at most"
        raise ValueError(
            f"times must be {relation} {bound:g}, up to which samples of y_train and y_test are "
            f"watched. Got {at[-1]:g}."
        )
    return _Scored(test, is_event, at, censoring)


def _read_targets(
    y_train: Any, y_test: Any, cause: int | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Return the two targets, and which events of the second are of the cause."""
    train, test = read_survival(y_train), read_survival(y_test)
    for name, y in (("y_train", train), ("y_test", test)):
        if y.shape[0] == 0:
            raise ValueError(f"{name} must have samples. Got none.")
    causes = np.unique(np.concatenate([train[:, 0], test[:, 0]]))
    causes = causes[causes > 0].astype(np.int64)
    if cause is None and causes.size > 1:
        raise ValueError(
            f"cause must be one of {causes.tolist()}, the causes in y. Got None. For events of any "
            "cause give (events > 0, times)."
        )
    if cause is not None and cause not in causes:
        raise ValueError(f"cause must be one of {causes.tolist()}. Got {cause!r}.")
    return train, test, select_events(test[:, 0], cause)


def _read_estimate(estimate: Any, n_samples: int, at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return estimates of shape (n_samples,) or (n_samples, n_times)."""
    given = list(estimate) if not hasattr(estimate, "dtype") else estimate
    if len(given) > 0 and isinstance(given[0], StepFunction):
        given = [function(at) for function in given]
    values = np.asarray(given, dtype=np.float64)
    if values.shape not in ((n_samples,), (n_samples, at.shape[0])):
        raise ValueError(
            f"estimate must have a row for each of {n_samples} samples, and a column for each of "
            f"{at.shape[0]} times. Got shape {values.shape}."
        )
    if np.isnan(values).any():
        raise ValueError("estimate must not be NaN.")
    return values


def _find_area(
    risks: NDArray[np.float64],
    is_case: NDArray[np.bool_],
    weights: NDArray[np.float64],
    tied_tol: float,
) -> float:
    """Return the weighted share of pairs of a case and another sample that risks order."""
    order = np.argsort(risks, kind="stable")
    others = order[~is_case[order]]
    sums = np.concatenate([[0.0], np.cumsum(weights[others])])
    total = weights[is_case].sum() * sums[-1]
    if not total > 0:
        return np.nan
    below = sums[np.searchsorted(risks[others], risks[is_case] - tied_tol, side="left")]
    upto = sums[np.searchsorted(risks[others], risks[is_case] + tied_tol, side="right")]
    return float(weights[is_case] @ (below + upto) / 2 / total)


def _estimate_incidence(
    times: NDArray[np.float64],
    events: NDArray[np.float64],
    is_event: NDArray[np.bool_],
    at: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return Aalen and Johansen's estimate of the probability of some of the events."""
    distinct, place, n_leaving = np.unique(times, return_inverse=True, return_counts=True)
    n_any, n_own = (
        np.bincount(place, weights=which, minlength=distinct.shape[0])
        for which in (events > 0, is_event)
    )
    at_risk = np.cumsum(n_leaving[::-1])[::-1]
    surviving = np.concatenate([[1.0], np.cumprod(1.0 - n_any / at_risk)[:-1]])
    incidence = np.concatenate([[0.0], np.cumsum(surviving * n_own / at_risk)])
    return incidence[np.searchsorted(distinct, at, side="right")]
