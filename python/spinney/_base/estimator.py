"""What the estimators with targets share: they follow scikit-learn and hand tasks to Rust."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length

from spinney._base.features import FeatureReader
from spinney._common.checks import (
    check_monotonic_cst,
    check_sample_ids,
    check_sample_weight,
    check_targets,
    check_total,
)
from spinney._common.sklearn_base import MultiOutputMixin
from spinney._data.arrays import to_native
from spinney._data.categories import count_categories
from spinney._data.matrices import CHECK_X
from spinney._fit.draws import Draws
from spinney._fit.interactions import interaction_groups
from spinney._fit.params import read_tree_parameters, replace_friedman_mse
from spinney._fit.target import EncodedTarget
from spinney._fit.task import Settings, Task
from spinney._spinney import check_params

_CHECK_Y = {"ensure_2d": False, "dtype": None}


class BaseTreeEstimator(MultiOutputMixin, FeatureReader):
    """Base class of the estimators of trees and forests."""

    # The parameters that all of them have, of any type until they are checked.
    criterion: Any
    max_depth: Any
    min_samples_split: Any
    min_samples_leaf: Any
    min_weight_fraction_leaf: Any
    max_features: Any
    max_leaf_nodes: Any
    min_impurity_decrease: Any
    ccp_alpha: Any
    monotonic_cst: Any
    # Models of earlier versions, and some estimators, do not have it.
    interaction_cst: Any = None
    # Whether `monotonic_cst` may be a dict by the names of features.
    _names_constraints: ClassVar[bool] = False
    feature_sampling: Any
    min_samples_category: Any

    n_outputs_: int
    # What is predicted: "classification", "regression" or "survival".
    _task: ClassVar[str]
    # What the trees predict, if it is something else.
    _task_of_trees: ClassVar[str | None] = None
    # Whether the folds of a cross-validation can be predicted in one call of the compiled part.
    _shares_folds: ClassVar[bool] = True

    # --- Parameters -----------------------------------------------------------------------------

    def _check_params(self) -> Settings:
        """Return the parameters; raise InvalidParameterError if one is illegal for any data.

        As in scikit-learn the data are looked at later.
        """
        tree_params = self._read_tree_params()
        is_named = self._names_constraints and isinstance(self.monotonic_cst, dict)
        if self.monotonic_cst is not None and np.ndim(self.monotonic_cst) == 0 and not is_named:
            others = ", a dict" if self._names_constraints else ""
            self._reject("monotonic_cst", f"an array-like{others} or None")
        task = self._task_of_trees or self._task
        of_features = {"monotonic_cst": None, "interaction_cst": None}
        check_params({**tree_params, **of_features}, type(self).__name__, task)
        self._read_handle_unknown()
        n_threads = self._count_threads()
        self._check_own_params()
        return Settings(tree_params, self._draw_seed(), n_threads)

    def _check_own_params(self) -> None:
        """Raise an error if a parameter that only some of the estimators have is illegal."""

    def _read_tree_params(self) -> dict[str, Any]:
        params = read_tree_parameters(self)
        if self._task == "regression":
            # It may have been set after `__init__`.
            params["criterion"] = replace_friedman_mse(params["criterion"])
        return params

    # --- Training data --------------------------------------------------------------------------

    def _read_data(
        self,
        settings: Settings,
        X: Any,
        y: Any,
        sample_weight: Any,
        sample_ids: Any = None,
        *,
        check_input: bool = True,
    ) -> tuple[Any, Task, Draws]:
        """Return the arguments of `fit` in the form that the compiled part takes."""
        X, y = self._read_X_y(X, y, check_input=check_input)
        n_samples = X.shape[0]
        if sample_ids is not None:
            sample_ids = check_sample_ids(sample_ids, n_samples)
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, n_samples)
        target = self._encode_y(y)
        weights = self._weigh_samples(y, target.y, sample_weight)
        task = self._make_task(settings, target)
        draws = self._make_draws(n_samples, weights, sample_ids)
        return to_native(X), task, self._stratify(draws, y, target)

    def _read_X_y(self, X: Any, y: Any, *, check_input: bool = True) -> tuple[Any, NDArray[Any]]:
        """Return X with codes for categories, and y of shape (n_samples, n_outputs)."""
        check_targets(type(self).__name__, y)
        y = self._read_y(y)
        if check_input:
            X, y = self._validate_X_y(X, y)
        else:
            X = self._learn_categories(X)
        self.n_features_in_ = X.shape[1]
        y = np.atleast_1d(y)
        if y.ndim == 1:
            y = y.reshape(-1, 1)
        if y.ndim != 2:
            raise ValueError(
                "y must have shape (n_samples,) or (n_samples, n_outputs). "
                f"Got {y.ndim} dimensions instead."
            )
        check_consistent_length(X, y)
        self.n_outputs_ = y.shape[1]
        return X, y

    def _validate_X_y(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        """Return X with codes for categories, and y, as arrays that scikit-learn has checked."""
        return self._validate_fit(X, {"validate_separately": (CHECK_X, _CHECK_Y)}, y)

    @abstractmethod
    def _read_y(self, y: Any) -> Any:
        """Return the argument `y` of `fit` in the form in which scikit-learn may check it."""

    @abstractmethod
    def _check_counts(self, targets: NDArray[Any]) -> None:
        """Raise ValueError for numbers that are no counts, where the criterion asks for counts."""

    @abstractmethod
    def _encode_y(self, y: NDArray[Any]) -> EncodedTarget:
        """Return the targets, of shape (n_samples, n_outputs), in the form of the compiled part."""

    def _weigh_samples(
        self,
        y: NDArray[Any],
        codes: NDArray[Any],
        sample_weight: NDArray[np.float64] | None,
    ) -> NDArray[np.float64] | None:
        """Return weights of samples times the weights of their classes; None if all are 1."""
        class_weights = self._weigh_classes(y, codes, sample_weight)
        if class_weights is None:
            return sample_weight
        if sample_weight is not None:
            with np.errstate(over="ignore"):
                class_weights = class_weights * sample_weight
        check_total(class_weights, "sample_weight times class_weight")
        return class_weights

    def _weigh_classes(
        self,
        y: NDArray[Any],  # noqa: ARG002 - classifiers need the arguments
        codes: NDArray[Any],  # noqa: ARG002
        sample_weight: NDArray[np.float64] | None,  # noqa: ARG002
    ) -> NDArray[np.float64] | None:
        return None

    def _make_task(self, settings: Settings, target: EncodedTarget) -> Task:
        of_features = {
            "monotonic_cst": self._check_constraints(target),
            "interaction_cst": interaction_groups(self.interaction_cst, self.n_features_in_),
        }
        return Task(
            y=target.y,
            n_classes=target.n_classes,
            params={**settings.tree_params, **of_features},
            estimator=type(self).__name__,
            seed=settings.seed,
            balanced_subsample=self._balances_subsamples(),
            n_categories=count_categories(self.categories_),
            n_threads=settings.n_threads,
        )

    def _number_constraints(self) -> Any:
        """Return constraints by the numbers of features where a dict has them by name."""
        if not isinstance(self.monotonic_cst, dict):
            return self.monotonic_cst
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            raise ValueError(
                f"{type(self).__name__} was not fitted on data with feature names. Pass "
                "monotonic_cst as an integer array instead."
            )
        unknown = sorted(set(self.monotonic_cst) - set(names), key=str)
        if unknown:
            shown = [*unknown[:5], "..."] if len(unknown) > 5 else unknown
            raise ValueError(
                f"monotonic_cst contains {len(unknown)} unexpected feature names: {shown}."
            )
        return [self.monotonic_cst.get(name, 0) for name in names]

    def _check_constraints(self, target: EncodedTarget) -> list[int] | None:
        """Return the monotonic constraints; raise ValueError, in scikit-learn's words."""
        if self.monotonic_cst is None:
            return None
        if target.n_classes is not None and self.n_outputs_ > 1:
            raise ValueError(
                "Monotonicity constraints are not supported with multiple outputs of classes."
            )
        if target.n_classes is not None and target.n_classes[0] > 2:
            raise ValueError(
                "Monotonicity constraints are not supported with multiclass classification"
            )
        constraints = check_monotonic_cst(self._number_constraints(), self.n_features_in_)
        if self.is_categorical_ is not None and np.any(np.array(constraints)[self.is_categorical_]):
            raise ValueError("Categorical features cannot have monotonic constraints.")
        return constraints

    def _balances_subsamples(self) -> bool:
        """Return whether classes get the same total weight in the sample of each tree."""
        return False

    def _stratify(
        self,
        draws: Draws,
        y: NDArray[Any],  # noqa: ARG002 - forests that draw by class need the arguments
        target: EncodedTarget,  # noqa: ARG002
    ) -> Draws:
        """Return the draws; by class where a forest draws a number of samples of each class."""
        return draws

    @abstractmethod
    def _make_draws(
        self,
        n_samples: int,
        weights: NDArray[np.float64] | None,
        sample_ids: NDArray[np.uint64] | None,
    ) -> Draws:
        """Return how the samples of the trees are drawn."""

    def _split_outputs(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return predicted values with an axis for the outputs if there are several.

        Parameters
        ----------
        values : ndarray of shape (n_samples, n_outputs * n_values)
            For each output the probabilities of the classes, or one number.

        Returns
        -------
        values : ndarray of shape (n_samples, n_values) or (n_samples, n_outputs, n_values)
        """
        if self.n_outputs_ == 1:
            return values
        return values.reshape(values.shape[0], self.n_outputs_, -1)
