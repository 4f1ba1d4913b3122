"""Targets of classifiers and of regressors: from `y` to codes and numbers, and back to labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from spinney._common.checks import check_counts, check_targets_are_numbers
from spinney._common.messages import warn_caller
from spinney._common.sklearn_base import RegressorMixin
from spinney._common.types import Classes
from spinney._data.levels import number_distinct
from spinney._fit.labels import LabelledMixin, read_labels
from spinney._fit.params import replace_friedman_mse


class EncodedTarget(NamedTuple):
    """A target in the form that the compiled part reads."""

    y: NDArray[np.uint32] | NDArray[np.float64]
    """Codes of classes, or numbers; C-ordered, of shape (n_samples, n_outputs)."""
    n_classes: list[int] | None
    """Number of classes of each output; None for numbers."""


class ClassTarget(LabelledMixin, ABC):
    """Mixin of the estimators that predict class labels."""

    _task: ClassVar[str] = "classification"
    # The strings that `class_weight` may be.
    _class_weight_presets: ClassVar[tuple[str, ...]] = ("balanced",)

    classes_: Classes
    n_classes_: Any
    n_outputs_: int
    class_weight: Any
    _reject: Callable[[str, str], NoReturn]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _check_own_params(self) -> None:
        super()._check_own_params()  # type: ignore[misc]
        weight, presets = self.class_weight, self._class_weight_presets
        is_preset = isinstance(weight, str) and weight in presets
        if not (is_preset or weight is None or isinstance(weight, (dict, list))):
            names = ", ".join(map(repr, presets))
            self._reject("class_weight", f"a str among {{{names}}}, a dict, a list or None")

    def _check_counts(self, targets: NDArray[Any]) -> None:
        """Do nothing: classes are no counts."""

    def _read_y(self, y: Any) -> Any:
        return read_labels(y)

    def _encode_y(self, y: NDArray[Any]) -> EncodedTarget:
        if y.dtype.kind == "O":
            # Others than strings are refused by the first of them.
            check_classification_targets(y[:1])
        numbered = [number_distinct(column) for column in y.T]
        classes = [labels for labels, _ in numbered]
        _check_classes(y, classes)
        self.__dict__.update(make_class_attributes(classes))
        codes = np.column_stack([numbers for _, numbers in numbered]).astype(np.uint32, order="C")
        return EncodedTarget(codes, [labels.shape[0] for labels in classes])

    @abstractmethod
    def _weigh_classes(
        self,
        y: NDArray[Any],
        codes: NDArray[np.uint32],
        sample_weight: NDArray[np.float64] | None,
    ) -> NDArray[np.float64] | None:
        """Return the weight that its classes give each sample; None if all are 1."""

    def _read_class_weight(self, y: NDArray[Any]) -> NDArray[np.float64] | None:
        """Return the weights of samples by `class_weight` as scikit-learn's trees understand it."""
        if self.class_weight is None:
            return None
        try:
            weights: NDArray[np.float64] = compute_sample_weight(self.class_weight, y)
        except (TypeError, ValueError) as error:
            raise ValueError(f"The 'class_weight' parameter is illegal: {error}") from error
        if not np.all(np.isfinite(weights) & (weights >= 0)):
            self._reject("class_weight", "finite and non-negative for every class")
        return weights

    def _choose_labels(self, values: NDArray[np.float64]) -> NDArray[Any]:
        """Return the class with the largest value; of equal values, the first class."""
        return self._take_labels(np.argmax(values, axis=-1))

    def _take_labels(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Return classes by their codes: of shape (n_samples,), or (n_samples, n_outputs)."""
        if self.n_outputs_ == 1:
            labels: NDArray[Any] = self.classes_.take(codes)
            return labels
        return np.column_stack([c.take(b) for c, b in zip(self.classes_, codes.T, strict=True)])

    def _list_probabilities(self, values: NDArray[np.float64]) -> Any:
        """Return what `predict_proba` returns: an array, or a list with one array per output."""
        if self.n_outputs_ == 1:
            return values
        return [values[:, output, :n] for output, n in enumerate(self.n_classes_)]

    @abstractmethod
    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each class."""

    def predict_log_proba(self, X: Any) -> Any:
        """Predict the natural logarithm of the probability of each class; -inf where it is 0.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes), or list of one such array per output
            float64; columns are in the order of `classes_`.
        """
        proba = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(proba) if self.n_outputs_ == 1 else [np.log(p) for p in proba]


class NumberTarget(RegressorMixin):
    """Mixin of the estimators that predict numbers."""

    _task: ClassVar[str] = "regression"

    criterion: Any
    quantile: Any
    min_samples_leaf: Any
    # How scikit-learn's message describes the sum that targets must have for Poisson regression.
    _wanted_sum: ClassVar[str] = "positive"

    def __post_init__(self) -> None:
        self.criterion = replace_friedman_mse(self.criterion)

    def _read_y(self, y: Any) -> Any:
        return y

    def _encode_y(self, y: NDArray[Any]) -> EncodedTarget:
        targets = check_targets_are_numbers(y)
        self._check_counts(targets)
        if self.criterion == "quantile":
            warn_of_small_leaves(self.quantile, self.min_samples_leaf, targets.shape[0])
        return EncodedTarget(np.require(targets, requirements="A"), None)

    def _check_counts(self, targets: NDArray[Any]) -> None:
        """Raise ValueError for targets that the criterion "poisson" cannot have, if it is used."""
        # What is no number is refused when it is converted.
        if self.criterion == "poisson" and targets.dtype.kind in "biuf":
            check_counts(targets, self._wanted_sum)


def _check_classes(y: NDArray[Any], classes: list[NDArray[Any]]) -> None:
    """Let scikit-learn refuse numbers that are no classes, and warn of labels that mostly differ.

    Its check sorts all labels, of strings for seconds in which Ctrl-C has to wait. So it gets few.
    """
    n_distinct = [labels.shape[0] for labels in classes]
    if 2 * sum(n_distinct) > y.shape[0]:
        check_classification_targets(y)
    elif y.dtype.kind not in "biuU":
        # At least two of each, so that no warning says that they mostly differ.
        n_rows = 2 * max(n_distinct)
        few = np.column_stack([np.resize(labels, n_rows) for labels in classes])
        check_classification_targets(few)


def warn_of_small_leaves(quantile: float, min_samples_leaf: float, n_samples: int) -> None:
    """Warn if leaves may be too small to have a quantile that is not one of their extremes."""
    tail = min(quantile, 1.0 - quantile)
    is_count = isinstance(min_samples_leaf, Integral)
    smallest = int(min_samples_leaf if is_count else np.ceil(min_samples_leaf * n_samples))
    # 10 * (1 - 0.9) is less than 1 by rounding alone.
    needed = int(np.ceil(1.0 / tail * (1.0 - 1e-12)))
    if smallest < needed:
        warn_caller(
            f"criterion='quantile' with {quantile=} needs leaves of at least {needed} samples. "
            f"With {min_samples_leaf=} leaves may have {smallest}: their quantiles are then "
            "extremes of few targets, and predictions lie closer to the median than asked for. "
            f"Set min_samples_leaf to {needed} or more; several times as many is better."
        )


def make_class_attributes(labels: list[NDArray[Any]]) -> dict[str, Any]:
    """Return the fitted attributes that describe the classes.

    Parameters
    ----------
    labels : list of ndarray
        The sorted labels of each output.
    """
    n_classes = [of_output.shape[0] for of_output in labels]
    if len(labels) == 1:
        return {"classes_": labels[0], "n_classes_": n_classes[0]}
    return {"classes_": labels, "n_classes_": np.array(n_classes, dtype=np.intp)}
