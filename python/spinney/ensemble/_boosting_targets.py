"""What boosting of classes, and of numbers, predicts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags

from spinney._fit.target import ClassTarget, EncodedTarget, NumberTarget
from spinney.ensemble._boosting import BaseGradientBoosting
from spinney.ensemble._losses import Loss

# Losses of means whose logarithm is predicted, with the power of the mean that is the variance.
_POWERS = {"poisson": 1.0, "gamma": 2.0}


class BoostingOfClasses(ClassTarget, BaseGradientBoosting):
    """Base class of boosting of classes."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        return tags

    def _weigh_classes(
        self,
        y: NDArray[Any],  # noqa: ARG002 - a class with weights of classes needs the arguments
        codes: NDArray[np.uint32],  # noqa: ARG002
        sample_weight: NDArray[np.float64] | None,  # noqa: ARG002
    ) -> None:
        return None

    def _weigh_samples(
        self,
        y: NDArray[Any],
        codes: NDArray[Any],
        sample_weight: NDArray[np.float64] | None,
    ) -> NDArray[np.float64] | None:
        n_present = np.count_nonzero(np.bincount(codes[:, 0], sample_weight))
        if n_present < 2:
            raise ValueError(
                f"y contains {n_present} class after sample_weight trimmed classes with zero "
                "weights, while a minimum of 2 classes are required."
            )
        return super()._weigh_samples(y, codes, sample_weight)

    def _make_loss(self, target: EncodedTarget) -> Loss:
        assert target.n_classes is not None
        n_classes = target.n_classes[0]
        if self.loss == "exponential" and n_classes > 2:
            raise ValueError(
                f"loss='{self.loss}' is only suitable for a binary classification problem, you "
                f"have n_classes={n_classes}. Please use loss='log_loss' instead."
            )
        return Loss(self.loss, float(n_classes), 1 if n_classes == 2 else n_classes)

    def _check_alike(self, before: dict[str, Any]) -> None:
        super()._check_alike(before)
        if not np.array_equal(before["classes_"], self.classes_):
            raise ValueError(
                "warm_start=True adds to the trees of earlier calls: y must have their classes, "
                f"{before['classes_']}. Got {self.classes_} instead."
            )

    def _encode_y_val(self, y: Any) -> NDArray[np.float64]:
        labels = np.asarray(self._read_y(y)).ravel()
        places = np.minimum(np.searchsorted(self.classes_, labels), self.n_classes_ - 1)
        if not np.array_equal(self.classes_[places], labels):
            unknown = labels[self.classes_[places] != labels][0]
            raise ValueError(f"y_val must have classes of y, see classes_. Got {unknown!r}.")
        codes: NDArray[np.float64] = places.astype(np.float64)
        return codes

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return raw predictions: the start plus the learning rate times the sum of leaves.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            float64. Of two classes the score of the second, above 0 where it is predicted.
        """
        return self._shape_raw(self._raw_predict(X))

    def staged_decision_function(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Yield what `decision_function` returns, after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Yields
        ------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        yield from map(self._shape_raw, self._staged_raw_predict(X))

    def _shape_raw(self, raw: NDArray[np.float64]) -> NDArray[np.float64]:
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def _label(self, raw: NDArray[np.float64]) -> NDArray[Any]:
        """Return the classes that raw predictions stand for."""
        is_binary = raw.shape[1] == 1
        codes = (raw[:, 0] >= 0).astype(np.intp) if is_binary else np.argmax(raw, axis=1)
        return self._take_labels(codes)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each sample: the most probable.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        return self._label(self._raw_predict(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield what `predict` returns, after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Yields
        ------
        y : ndarray of shape (n_samples,)
        """
        yield from map(self._label, self._staged_raw_predict(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            float64; columns are in the order of `classes_`.
        """
        raw = self._raw_predict(X)
        return self._loss.predict(raw)

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Yield what `predict_proba` returns, after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Yields
        ------
        proba : ndarray of shape (n_samples, n_classes)
        """
        for raw in self._staged_raw_predict(X):
            yield self._loss.predict(raw)


class BoostingOfNumbers(NumberTarget, BaseGradientBoosting):
    """Base class of boosting of numbers."""

    def _get_power(self) -> float | None:
        """Return the power of the variance, if the loss is a deviance."""
        return _POWERS.get(self.loss)

    @abstractmethod
    def _get_level(self) -> float:
        """Return the level of the quantile, or the share of small residuals."""

    def _check_counts(self, targets: NDArray[Any]) -> None:
        power = self._get_power()
        if power is None:
            return
        if power >= 2.0:
            if np.any(targets <= 0.0):
                raise ValueError(
                    f"loss={self.loss!r} requires strictly positive y. Got {targets.min()}."
                )
        elif np.any(targets < 0.0) or not np.any(targets > 0.0):
            raise ValueError(
                f"loss={self.loss!r} requires non-negative y and sum(y) > 0. "
                f"Got numbers from {targets.min()} to {targets.max()}."
            )

    def _make_loss(self, target: EncodedTarget) -> Loss:  # noqa: ARG002 - classifiers need it
        power = self._get_power()
        if power is not None:
            return Loss("deviance", power)
        return Loss(self.loss, self._get_level())

    def _encode_y_val(self, y: Any) -> NDArray[np.float64]:
        return self._encode_y(np.asarray(y).reshape(-1, 1)).y[:, 0].astype(np.float64)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the target of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            float64.
        """
        raw = self._raw_predict(X)
        return self._loss.predict(raw)

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
