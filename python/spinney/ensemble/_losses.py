"""The losses of boosting: what they are called, where raw predictions begin, and what they mean."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, softmax
from sklearn.dummy import DummyClassifier, DummyRegressor

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

    @property
    def key(self) -> tuple[str, float]:
        """What the compiled part reads."""
        return "squared_error" if self.name == "ipcwls" else self.name, self.parameter

    @property
    def is_of_logs(self) -> bool:
        """Whether logarithms are predicted."""
        return self.name in ("deviance", "ipcwls")

    @property
    def factor(self) -> float:
        """By which scikit-learn multiplies the loss in its scores."""
        return 2.0 if self.name == "squared_error" or self.key == ("log_loss", 2.0) else 1.0

    def make_init(self) -> Any:
        """Return the estimator that predicts the best constant."""
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
            numbers = predictions.astype(np.float64).reshape(-1, 1)
            return np.log(numbers) if self.is_of_logs else numbers
        shares = np.clip(predictions, _LEAST_SHARE, 1.0 - _LEAST_SHARE, dtype=np.float64)
        if self.n_raw > 1:
            logs = np.log(shares)
            centred: NDArray[np.float64] = logs - logs.mean(axis=1, keepdims=True)
            return centred
        logits: NDArray[np.float64] = logit(shares[:, 1:2])
        return logits / 2.0 if self.name == "exponential" else logits

    def predict(self, raw: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return numbers of shape (n_samples,), or shares of the classes."""
        if self.name not in ("log_loss", "exponential"):
            return np.exp(raw[:, 0]) if self.is_of_logs else raw[:, 0]
        if self.n_raw > 1:
            shares: NDArray[np.float64] = softmax(raw, axis=1)
            return shares
        second = expit(2.0 * raw[:, 0] if self.name == "exponential" else raw[:, 0])
        return np.column_stack([1.0 - second, second])
