"""Scorers of survival models, for the parameter `scoring` of ours and of scikit-learn's."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney._common.asking import ask, find_model
from spinney._common.checks import check_int
from spinney._common.messages import reject_parameter
from spinney._fit.survival import read_survival, score_risks, select_events
from spinney.survival._curves import read_times
from spinney.survival._scores import (
    Censoring,
    brier_score,
    concordance_index_ipcw,
    cumulative_dynamic_auc,
    integrated_brier_score,
)

SCORERS_OF_RISKS = ("concordance", "concordance_ipcw", "cumulative_dynamic_auc")
SCORERS = (*SCORERS_OF_RISKS, "neg_integrated_brier_score")
# How many times scores look at, unless they are told.
_N_TIMES = 33


class SurvivalScorer:
    """A scorer of survival models; see `make_survival_scorer`."""

    def __init__(
        self, name: str, times: NDArray[np.float64] | None, tau: float | None, cause: int | None
    ) -> None:
        self.name, self.times, self.tau, self.cause = name, times, tau, cause

    def __repr__(self) -> str:
        """Return the call that makes it."""
        times = None if self.times is None else self.times.tolist()
        given = (("times", times), ("tau", self.tau), ("cause", self.cause))
        options = "".join(f", {name}={value}" for name, value in given if value is not None)
        return f"make_survival_scorer({self.name!r}{options})"

    @property
    def needs_curves(self) -> bool:
        """Whether the score is of more than one number for each sample."""
        return self.name not in SCORERS_OF_RISKS

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Return the score of a fitted model for samples and their events and times."""
        of_model = getattr(find_model(estimator), "cause", None)
        cause = of_model if self.cause is None else self.cause
        pairs = read_survival(y)
        if cause is None:
            pairs[:, 0] = pairs[:, 0] > 0
        if not select_events(pairs[:, 0], cause).any():
            return np.nan
        at = self._choose_times(pairs, cause)
        if self.needs_curves:
            curves = _ask_curves(estimator, X, at, cause)
            if at.shape[0] == 1:
                return -float(brier_score(pairs, pairs, curves, at, cause)[1][0])
            return -integrated_brier_score(pairs, pairs, curves, at, cause)
        if cause == of_model:
            risks = ask(estimator, "predict", X)
        else:
            risks = _ask_curves(estimator, X, at, cause).mean(axis=1)
        if self.name == "concordance":
            return score_risks(pairs, risks, cause)
        if self.name == "cumulative_dynamic_auc":
            return cumulative_dynamic_auc(pairs, pairs, risks, at, cause=cause)[1]
        tau = Censoring.learn(pairs).find_end() if self.tau is None else self.tau
        return concordance_index_ipcw(pairs, pairs, risks, tau, cause=cause).cindex

    def _choose_times(self, pairs: NDArray[np.float64], cause: int | None) -> NDArray[np.float64]:
        if self.times is not None:
            return self.times
        of_events = pairs[select_events(pairs[:, 0], cause), 1]
        at = np.unique(np.quantile(of_events, np.linspace(0.1, 0.9, _N_TIMES)))
        is_known = Censoring.learn(pairs).at(at) > 0
        return at[is_known] if is_known.any() else at[:1]


def _ask_curves(
    estimator: Any, X: Any, at: NDArray[np.float64], cause: int | None
) -> NDArray[np.float64]:
    """Return the probabilities of no event, or of an event of a cause, at some times."""
    options: dict[str, Any] = {"return_array": True, "times": at}
    if cause is None:
        method = "predict_survival_function"
    else:
        method = "predict_cumulative_incidence_function"
        options["cause"] = cause
    curves: NDArray[np.float64] = ask(estimator, method, X, **options)
    return curves


def make_survival_scorer(
    name: str, *, times: Any = None, tau: float | None = None, cause: int | None = None
) -> SurvivalScorer:
    """Return a scorer of survival models, for the parameter `scoring`.

    Functions of scikit-learn (`cross_val_score`, `GridSearchCV`, `permutation_importance`) take it,
    and those of `spinney.model_selection`, which take its name as well. The censoring is estimated
    from the samples that are scored. Models may stand at the end of a pipeline.

    Parameters
    ----------
    name : {"concordance", "concordance_ipcw", "cumulative_dynamic_auc", \
            "neg_integrated_brier_score"}
        The score. "concordance": Harrell's, as `score`. "concordance_ipcw": see
        :func:`concordance_index_ipcw`. "cumulative_dynamic_auc": the mean over `times`, see
        :func:`cumulative_dynamic_auc`. "neg_integrated_brier_score": the negative of
        :func:`integrated_brier_score`; with one time, of :func:`brier_score`.
    times : float or array-like of shape (n_times,), default=None
        The times of the last two scores, ascending. None means 33 quantiles of the times of events,
        from 0.1 to 0.9.
    tau : float, default=None
        The time before which events count in "concordance_ipcw". None means all events up to the
        time from which all samples are censored.
    cause : int, default=None
        The cause whose events are scored. If the model has another `cause`, the risk is the mean of
        the cumulative incidence at `times`. None means the `cause` of the model; if that is None,
        events of any cause.

    Returns
    -------
    scorer : callable
        Called with an estimator, samples and their `y`, it returns a float: the higher, the better.
        NaN if there are no events.

    Raises
    ------
    ValueError, TypeError
        If an argument is illegal. The message names it.

    Examples
    --------
    >>> import numpy as np
    >>> from spinney.model_selection import cross_val_score
    >>> from spinney.survival import RandomSurvivalForest, make_survival_scorer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((90, 4))
    >>> y = (np.ones(90, dtype=bool), rng.exponential(0.1 + X[:, 0]))
    >>> forest = RandomSurvivalForest(20, random_state=0)
    >>> scorer = make_survival_scorer("neg_integrated_brier_score", times=[0.2, 0.4])
    >>> cross_val_score(forest, X, y, scoring=scorer).shape
    (5,)
    """
    owner = "make_survival_scorer"
    if name not in SCORERS:
        reject_parameter(owner, "name", name, f"a str among {set(SCORERS)}")
    at = None
    if times is not None:
        if name.startswith("concordance"):
            reject_parameter(owner, "times", times, f"None for {name!r}")
        at = read_times(np.atleast_1d(times) if np.ndim(times) == 0 else times)
    if tau is not None and name != "concordance_ipcw":
        reject_parameter(owner, "tau", tau, f"None for {name!r}")
    if cause is not None:
        check_int(owner, "cause", cause, 1)
    return SurvivalScorer(name, at, tau, cause)


def read_scoring(scoring: Any) -> Any:
    """Return the argument `scoring` with scorers in place of the names of survival scores."""
    if isinstance(scoring, str):
        return make_survival_scorer(scoring) if scoring in SCORERS else scoring
    if isinstance(scoring, dict):
        return {key: read_scoring(one) for key, one in scoring.items()}
    if isinstance(scoring, (list, tuple, set)) and any(one in SCORERS for one in scoring):
        return {one: read_scoring(one) for one in scoring}
    return scoring
