"""What boosting of classes, and of numbers, predicts."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import d2_pinball_score
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from spinney._common.checks import is_bool
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

    # The parameter with the level of the quantile, or with several of them.
    _level: ClassVar[str]
    # Whether levels may be 0 and 1.
    _takes_ends: ClassVar[bool] = False

    def _check_losses(self) -> None:
        super()._check_losses()
        if not self._needs_level():
            return
        given = getattr(self, self._level)
        is_list = self._list_levels() is not None
        ends = ("[0.0, 1.0]", "(0.0, 1.0)")[not self._takes_ends]
        expected = f"a float in the range {ends}"
        if self.loss == "quantile":
            expected += ", or a list of one or more of them"
        elif is_list:
            expected += " unless loss='quantile'"
        levels = list(given) if is_list else [given]
        for level in levels:
            is_number = isinstance(level, Real) and not is_bool(level)
            if not is_number or not (0.0 < level < 1.0 or (self._takes_ends and level in (0, 1))):
                self._reject(self._level, expected)
        if is_list and (not levels or self.loss != "quantile"):
            self._reject(self._level, expected)

    def _needs_level(self) -> bool:
        """Return whether the parameter with the level must be one."""
        return True

    def _list_levels(self) -> tuple[float, ...] | None:
        """Return the levels, if several quantiles are predicted at once."""
        given = getattr(self, self._level)
        is_list = isinstance(given, (list, tuple, np.ndarray)) and np.ndim(given) > 0
        return tuple(given) if is_list else None

    def _check_alike(self, before: dict[str, Any]) -> None:
        super()._check_alike(before)
        known, wanted = before["_loss"].levels, self._list_levels()
        if known != wanted:
            raise ValueError(
                f"warm_start=True adds to the trees of earlier calls: {self._level} must have "
                f"their levels, {known}. Got {wanted} instead."
            )

    def _get_power(self) -> float | None:
        """Return the power of the variance, if the loss is a deviance."""
        return _POWERS.get(self.loss)

    def _get_level(self) -> float:
        """Return the level of the quantile, or the share of small residuals."""
        return float(getattr(self, self._level))

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
        levels = self._list_levels()
        if levels is not None:
            return Loss.of_quantiles(tuple(map(float, levels)))
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
        y : ndarray of shape (n_samples,), or (n_samples, n_levels)
            float64. Of several quantiles, a column for each level, in their order. They are sorted
            in each row, so that none is above one of a higher level.
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
        y : ndarray of shape (n_samples,), or (n_samples, n_levels)
        """
        for raw in self._staged_raw_predict(X):
            yield self._loss.predict(raw)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return how much of the loss of a constant the predictions take away; 1 is the best.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples. None means that all are 1.

        Returns
        -------
        score : float
            The coefficient of determination; of several quantiles, the mean of
            :func:`sklearn.metrics.d2_pinball_score` over the levels.
        """
        check_is_fitted(self)
        if self._loss.levels is None:
            return float(super().score(X, y, sample_weight))
        columns = zip(self._loss.levels, self.predict(X).T, strict=True)
        scores = [
            d2_pinball_score(y, column, sample_weight=sample_weight, alpha=level)
            for level, column in columns
        ]
        return float(np.mean(scores))
