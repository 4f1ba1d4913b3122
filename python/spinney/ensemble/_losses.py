"""The losses of boosting: what they are called, where raw predictions begin, and what they mean."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, softmax
from sklearn import config_context
from sklearn.dummy import DummyClassifier, DummyRegressor

from spinney._spinney import mean_loss_of

# What probabilities are cut to before they become logits.
_LEAST_SHARE = float(np.finfo(np.float64).eps)


class Loss(NamedTuple):
    """A loss, and how raw predictions and predictions follow from each other."""

    name: str
    """By which the compiled part knows it."""
    parameter: float
    """The level of a quantile, the power of a deviance, or the number of classes."""
    n_raw: int = 1
    """Raw predictions of a sample, and trees of a round."""
    levels: tuple[float, ...] | None = None
    """The levels, if several quantiles are predicted at once: one for each raw prediction."""

    @classmethod
    def of_quantiles(cls, levels: tuple[float, ...]) -> Loss:
        """Return the mean of the losses of several quantiles."""
        return cls("quantile", 0.0, len(levels), levels)

    @property
    def key(self) -> tuple[str, float]:
        """What the compiled part reads, unless there are several quantiles."""
        return "squared_error" if self.name == "ipcwls" else self.name, self.parameter

    @property
    def is_of_logs(self) -> bool:
        """Whether logarithms are predicted."""
        return self.name in ("deviance", "ipcwls", "squared")

    @property
    def parts(self) -> list[Loss]:
        """The losses whose mean this one is: one for each level, or this one."""
        if self.levels is None:
            return [self]
        return [Loss(self.name, level) for level in self.levels]

    @property
    def n_seeds(self) -> int:
        """Seeds of a round. The trees of all levels have the same, as if each level were alone."""
        return 1 if self.levels is not None else self.n_raw

    def mean(
        self,
        y: NDArray[np.float64],
        raw: NDArray[np.float64],
        weights: NDArray[np.float64] | None,
        delta: float,
    ) -> float:
        """Return the weighted mean loss of raw predictions, of shape (n_samples, n_raw)."""
        if self.levels is None:
            return mean_loss_of(self.key, y, raw, weights, delta)
        losses = [
            mean_loss_of(part.key, y, np.ascontiguousarray(raw[:, [i]]), weights, delta)
            for i, part in enumerate(self.parts)
        ]
        return float(np.mean(losses))

    @property
    def factor(self) -> float:
        """By which scikit-learn multiplies the loss in its scores."""
        return 2.0 if self.name == "squared_error" or self.key == ("log_loss", 2.0) else 1.0

    def fit_init(self, y: NDArray[np.float64], weights: NDArray[np.float64] | None) -> Any:
        """Return the estimator of the best constants, fitted to targets."""
        anything = np.zeros((y.shape[0], 1))
        # The targets have been checked.
        with config_context(assume_finite=True, skip_parameter_validation=True):
            fitted = [
                part.make_init().fit(anything, y, sample_weight=weights) for part in self.parts
            ]
        if self.levels is None:
            return fitted[0]
        return make_constant(np.concatenate([init.predict(anything[:1]) for init in fitted]))

    def make_init(self) -> Any:
        """Return the estimator that predicts the best constant of one loss."""
        if self.name in ("log_loss", "exponential"):
            return DummyClassifier(strategy="prior")
        if self.name in ("absolute_error", "huber"):
            return DummyRegressor(strategy="quantile", quantile=0.5)
        if self.name == "quantile":
            return DummyRegressor(strategy="quantile", quantile=self.parameter)
        return DummyRegressor(strategy="mean")

    def link(self, predictions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return raw predictions, (n_samples, n_raw), for numbers or shares of all classes."""
        if self.name not in ("log_loss", "exponential"):
            numbers = predictions.astype(np.float64)
            if numbers.ndim == 1:
                # What is predicted for each sample is where all levels begin.
                numbers = np.repeat(numbers[:, np.newaxis], self.n_raw, axis=1)
            return np.log(numbers) if self.is_of_logs else numbers
        shares = np.clip(predictions, _LEAST_SHARE, 1.0 - _LEAST_SHARE, dtype=np.float64)
        if self.n_raw > 1:
            logs = np.log(shares)
            centred: NDArray[np.float64] = logs - logs.mean(axis=1, keepdims=True)
            return centred
        logits: NDArray[np.float64] = logit(shares[:, 1:2])
        return logits / 2.0 if self.name == "exponential" else logits

    def predict(self, raw: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return numbers, of shape (n_samples,) or (n_samples, n_levels), or shares of classes.

        Of several quantiles, the raw predictions of a sample are sorted, so that they do not cross.
        """
        if self.levels is not None:
            ordered = np.empty_like(raw)
            ordered[:, np.argsort(self.levels, kind="stable")] = np.sort(raw, axis=1)
            return ordered
        if self.name not in ("log_loss", "exponential"):
            return np.exp(raw[:, 0]) if self.is_of_logs else raw[:, 0]
        if self.n_raw > 1:
            shares: NDArray[np.float64] = softmax(raw, axis=1)
            return shares
        second = expit(2.0 * raw[:, 0] if self.name == "exponential" else raw[:, 0])
        return np.column_stack([1.0 - second, second])


def make_constant(constants: NDArray[np.float64]) -> Any:
    """Return an estimator that predicts these numbers for each sample."""
    init = DummyRegressor(strategy="constant", constant=constants)
    return init.fit(np.zeros((1, 1)), constants.reshape(1, -1))
