"""What the classifiers share, and what the regressors share: the way from y to codes and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Tags, check_array, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from spinney._validation import check_counts


class EncodedTarget(NamedTuple):
    """A target as the compiled part wants it."""

    y: NDArray[np.uint32] | NDArray[np.float64]
    """Classes or numbers, C-ordered, of shape (n_samples, n_outputs)."""
    n_classes: list[int] | None
    """Number of classes of each output; None for numbers."""
    class_weights: NDArray[np.float64] | None
    """The weight of each sample that its class gives it, if any."""


class ClassTarget(ClassifierMixin, ABC):
    """What predicts class labels; to be mixed into a `BaseTreeEstimator`."""

    classes_: Any
    n_classes_: Any
    n_outputs_: int
    class_weight: Any
    _reject: Callable[[str, str], NoReturn]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    @abstractmethod
    def _class_weights(
        self,
        y: NDArray[Any],
        codes: NDArray[np.uint32],
        sample_weight: NDArray[np.float64] | None,
    ) -> NDArray[np.float64] | None:
        """Return the weight of each sample that its classes give it, if any."""

    def _encode_y(
        self, y: NDArray[Any], sample_weight: NDArray[np.float64] | None
    ) -> EncodedTarget:
        check_classification_targets(y)
        columns = [np.unique(column, return_inverse=True) for column in y.T]
        classes = [labels for labels, _ in columns]
        n_classes = [labels.shape[0] for labels in classes]
        if self.n_outputs_ == 1:
            self.classes_, self.n_classes_ = classes[0], n_classes[0]
        else:
            self.classes_, self.n_classes_ = classes, np.array(n_classes, dtype=np.intp)
        codes = np.column_stack([codes for _, codes in columns]).astype(np.uint32, order="C")
        return EncodedTarget(codes, n_classes, self._class_weights(y, codes, sample_weight))

    def _given_class_weights(self, y: NDArray[Any]) -> NDArray[np.float64] | None:
        """Return what `class_weight` says in scikit-learn's trees."""
        if self.class_weight is None:
            return None
        try:
            weights: NDArray[np.float64] = compute_sample_weight(self.class_weight, y)
        except (TypeError, ValueError) as error:
            raise ValueError(f"The 'class_weight' parameter is illegal: {error}") from error
        if not np.all(np.isfinite(weights) & (weights >= 0)):
            self._reject("class_weight", "finite and non-negative for every class")
        return weights

    def _labels(self, values: NDArray[np.float64]) -> NDArray[Any]:
        """Return the class of largest value; of several, the first."""
        best = np.argmax(values, axis=-1)
        if self.n_outputs_ == 1:
            labels: NDArray[Any] = self.classes_.take(best)
            return labels
        return np.column_stack([c.take(b) for c, b in zip(self.classes_, best.T, strict=True)])

    def _probabilities(self, values: NDArray[np.float64]) -> Any:
        """Return the values as `predict_proba` does: a list for several outputs."""
        if self.n_outputs_ == 1:
            return values
        return [values[:, output, :n] for output, n in enumerate(self.n_classes_)]

    @abstractmethod
    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each class."""

    def predict_log_proba(self, X: Any) -> Any:
        """Predict the logarithm of the probability of each class; -inf where it is 0.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; CSC is converted to CSR.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes), or list of one such array per output
            Columns in the order of `classes_`.
        """
        proba = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(proba) if self.n_outputs_ == 1 else [np.log(p) for p in proba]


class NumberTarget(RegressorMixin):
    """What predicts numbers; to be mixed into a `BaseTreeEstimator`."""

    criterion: Any
    _wanted_sum: ClassVar[str] = "positive"

    def _encode_y(
        self,
        y: NDArray[Any],
        sample_weight: NDArray[np.float64] | None,  # noqa: ARG002 - for classes
    ) -> EncodedTarget:
        numbers = check_array(y, dtype=np.float64, order="C", input_name="y")
        if self.criterion == "poisson":
            check_counts(numbers, self._wanted_sum)
        return EncodedTarget(numbers, None, None)
