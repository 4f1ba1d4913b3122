"""Boosting of times until an event: targets, the hazard of all samples, and predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from spinney._common.checks import check_int
from spinney._common.messages import warn_caller
from spinney._data.arrays import to_rows
from spinney._fit.survival import SurvivalTarget, read_survival, score_risks, select_events
from spinney.ensemble._boosting import BaseGradientBoosting, Training, Validation
from spinney.ensemble._losses import Loss
from spinney.survival._base import refuse_oob_score
from spinney.survival._curves import SurvivalCurves
from spinney.survival._scores import Censoring

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NoReturn

    from spinney._fit.draws import Draws
    from spinney._fit.target import EncodedTarget
    from spinney._fit.task import Settings, Task
    from spinney._spinney import Forest


class SurvivalBoosting(SurvivalTarget, SurvivalCurves, BaseGradientBoosting):
    """Base class of boosting of times."""

    _losses: ClassVar[tuple[str, ...]] = ("coxph", "squared", "ipcwls")
    _explained: ClassVar[tuple[str, str]] = ("raw prediction", "predict")
    # What other boosting has as parameters.
    criterion: Any = "deprecated"
    init: Any = None

    baseline_cumulative_hazard_: NDArray[np.float64]
    # The censoring of the training samples, while `fit` runs with "ipcwls".
    _censoring: Censoring

    # --- Parameters and targets -----------------------------------------------------------------

    def _check_own_params(self) -> None:
        super()._check_own_params()
        if self.cause is not None:
            check_int(type(self).__name__, "cause", self.cause, 1, end=2**63)
        self._check_real("dropout_rate", 0.0, 1.0, "[0.0, 1.0)", is_open=False)
        if self.dropout_rate == 1.0:
            self._reject("dropout_rate", "a float in the range [0.0, 1.0)")

    def _make_loss(self, target: EncodedTarget) -> Loss:  # noqa: ARG002 - classifiers need it
        return Loss("cox" if self.loss == "coxph" else self.loss, 0.0)

    def _check_outputs(self, y: NDArray[Any]) -> None:
        """Do nothing: events and times are one target."""

    def _read_data(
        self, settings: Settings, X: Any, y: Any, *arguments: Any, **others: Any
    ) -> tuple[Any, Task, Draws]:
        X, task, draws = super()._read_data(settings, X, y, *arguments, **others)
        pairs = np.asarray(task.target.y[:, ::-1], dtype=np.float64)
        self._learn_times(pairs, draws)
        weights = draws.sample_weight
        if self.loss == "ipcwls":
            known = pairs if weights is None else pairs[weights > 0]
            self._censoring = Censoring.learn(self._mark_events(known))
            draws = draws._replace(sample_weight=self._weigh_seen(pairs, weights))
        return X, task._replace(y=self._encode_pairs(pairs).reshape(-1, 1)), draws

    def _mark_events(self, pairs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return events and times, where events of other causes are censorings."""
        return np.column_stack([select_events(pairs[:, 0], self.cause), pairs[:, 1]])

    def _encode_pairs(self, pairs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the compiled part reads: see `Rounds`."""
        events, times = self._mark_events(pairs).T
        if self.loss != "coxph" and np.any(times[events > 0] <= 0.0):
            raise ValueError(f"loss={self.loss!r} needs times of events above 0. Got 0.0.")
        if self.loss != "ipcwls":
            signed: NDArray[np.float64] = np.where(events > 0, times, -times)
            return signed
        # Those that weigh nothing need not have a logarithm.
        logs: NDArray[np.float64] = np.log(np.where(events > 0, times, 1.0))
        return logs

    def _weigh_seen(
        self, pairs: NDArray[np.float64], weights: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Return weights of samples by inverse probabilities of censoring: 0 without an event."""
        events, times = self._mark_events(pairs).T
        own: NDArray[np.float64] = events * (1.0 if weights is None else weights)
        if not own.any():
            self._refuse_censored()
        # Of an event and a censoring at one time, the event comes first.
        seen = self._censoring.at(np.nextafter(times, -1.0))
        np.divide(own, seen, out=own, where=own > 0)
        return own

    def _refuse_censored(self) -> NoReturn:
        """Raise ValueError as the compiled part does for survival trees and forests."""
        of = "" if self.cause is None else f" but for events of other causes than {self.cause}"
        raise ValueError(
            "y must be at least one time that ends with an event. "
            f"Got only censored times{of} instead."
        )

    def _encode_y_val(self, y: Any) -> NDArray[np.float64]:
        return self._encode_pairs(read_survival(y))

    def _make_validation(self, given: tuple[Any, Any, Any]) -> Validation | None:
        made = super()._make_validation(given)
        if made is None or self.loss == "coxph":
            return made
        return made._replace(weights=self._weigh_seen(read_survival(given[1]), made.weights))

    # --- Growth ---------------------------------------------------------------------------------

    def _fit_init(
        self,
        X: Any,  # noqa: ARG002 - other boosting starts with estimators
        y: NDArray[np.float64],
        weights: NDArray[np.float64] | None,
        *,
        has_weights: bool,  # noqa: ARG002
    ) -> None:
        start = 0.0
        if self.loss != "ipcwls":
            weights = ~np.signbit(y) * (1.0 if weights is None else weights)
            if not weights.any():
                self._refuse_censored()
        if self.loss == "squared":
            y = np.log(np.where(np.signbit(y), 1.0, y))
        if self.loss != "coxph":
            start = np.average(y, weights=weights)
        self._start = np.array([start])
        self.init_ = self._make_init()

    def _boost(
        self,
        task: Task,
        matrix: Any,
        training: Training,
        validation: Validation | None,
        monitor: Any,
    ) -> None:
        super()._boost(task, matrix, training, validation, monitor)
        self.__dict__.pop("_censoring", None)
        self.__dict__.pop("baseline_cumulative_hazard_", None)
        before, after = self.train_score_[[0, -1]]
        if self.second_order and after > before:
            warn_caller(
                f"The loss of the training samples has risen from {before:.3g} to {after:.3g}: "
                "steps by second derivatives are too long where few samples have events. Raise "
                "l2_regularization, or min_samples_leaf."
            )
        if self.loss == "coxph":
            raw = self._add_rounds(to_rows(matrix))[:, 0]
            self.baseline_cumulative_hazard_ = self._find_baseline(*training[1:], raw)

    def _find_baseline(
        self,
        y: NDArray[np.float64],
        weights: NDArray[np.float64] | None,
        raw: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return Breslow's estimate of the cumulative hazard at the times of events."""
        weights = np.ones_like(raw) if weights is None else weights
        is_event, times = ~np.signbit(y), np.abs(y)
        n_times = len(self.event_times_)
        # Of each sample, how many of the times it has reached.
        reached = np.searchsorted(self.event_times_, times, side="right")
        hazards = np.bincount(reached, weights * np.exp(raw), minlength=n_times + 1)
        at_risk = np.cumsum(hazards[::-1])[::-1][1:]
        events = np.bincount(reached[is_event] - 1, weights[is_event], minlength=n_times)
        added = np.divide(events, at_risk, out=np.zeros(n_times), where=events > 0)
        baseline: NDArray[np.float64] = np.cumsum(added)
        return baseline

    # --- Predictions ----------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the logarithm of the relative hazard of each sample, or its time.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            float64. With `loss="coxph"` risks: the higher, the earlier the event is expected. With
            `loss="ipcwls"` times.
        """
        return self._loss.predict(self._raw_predict(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Yield what `predict` returns, after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Yields
        ------
        y : ndarray of shape (n_samples,)
        """
        for raw in self._staged_raw_predict(X):
            yield self._loss.predict(raw)

    def score(self, X: Any, y: Any) -> float:
        """Return the concordance of predictions and the times of events (Harrell's C).

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
        risks = self.predict(X) if self.loss == "coxph" else -self.predict(X)
        return score_risks(read_survival(y), risks, self.cause)

    def _predict_curves(
        self, X: Any, at: NDArray[np.float64], curve: str | int, oob_score: bool
    ) -> NDArray[np.float64]:
        if oob_score:
            refuse_oob_score(self)
        if "baseline_cumulative_hazard_" not in vars(self):
            raise ValueError(
                "Survival and hazard functions need loss='coxph', by which hazards are "
                f"proportional. Got loss={self.loss!r}."
            )
        if isinstance(curve, int) and self.causes_.tolist() != [curve]:
            raise ValueError(
                f"Boosting learns hazards without those of competing causes, {self.causes_}. "
                "RandomSurvivalForest predicts incidences of one among several causes."
            )
        raw = self._raw_predict(X)[:, 0]
        steps = np.concatenate([[0.0], self.baseline_cumulative_hazard_])
        baseline = steps[np.searchsorted(self.event_times_, at, side="right")]
        hazards: NDArray[np.float64] = np.exp(raw)[:, None] * baseline
        if curve == "hazard":
            return hazards
        survival: NDArray[np.float64] = np.exp(-hazards)
        return survival if curve == "survival" else 1.0 - survival

    # --- Files ----------------------------------------------------------------------------------

    def _find_fault(self, forest: Forest) -> str | None:
        baseline = vars(self).get("baseline_cumulative_hazard_", self.event_times_)
        if baseline.shape != self.event_times_.shape or baseline.dtype != np.float64:
            return "the baseline hazard"
        return super()._find_fault(forest)

    def _convert_to_sklearn(self) -> NoReturn:
        raise TypeError(f"scikit-learn has no survival models, as {type(self).__name__} is one.")
