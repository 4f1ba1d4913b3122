"""What all estimators share: they follow scikit-learn's conventions and hand tasks to Rust."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags, check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from spinney._common.checks import (
    check_monotonic_cst,
    check_sample_ids,
    check_sample_weight,
    check_total,
)
from spinney._common.messages import reject_parameter
from spinney._common.sklearn_base import BaseEstimator, MultiOutputMixin
from spinney._common.threads import count_threads
from spinney._data.arrays import convert_objects, secure_sparse, to_native
from spinney._data.categories import Categories, convert_frame, count_categories, encode
from spinney._data.matrices import CHECK_X, make_stand_in, read_matrix, watch_checks
from spinney._data.unknown_categories import UNKNOWN, UnknownCategories
from spinney._fit.draws import Draws
from spinney._fit.params import read_tree_parameters, replace_friedman_mse
from spinney._fit.target import EncodedTarget
from spinney._fit.task import Settings, Task
from spinney._spinney import Columns, check_params
from spinney.dataset import Dataset

_CHECK_Y = {"ensure_2d": False, "dtype": None}

# An int from this one on is the seed of a tree or forest itself. Seeds that are drawn from
# scikit-learn's random states begin here, so that each of them can be given as a `random_state`.
_FIRST_SEED = 2**32


class BaseTreeEstimator(MultiOutputMixin, BaseEstimator, ABC):
    """Base class of the estimators of trees and forests."""

    # The parameters that all of them have, of any type until they are checked.
    criterion: Any
    max_depth: Any
    min_samples_split: Any
    min_samples_leaf: Any
    min_weight_fraction_leaf: Any
    max_features: Any
    random_state: Any
    max_leaf_nodes: Any
    min_impurity_decrease: Any
    ccp_alpha: Any
    monotonic_cst: Any
    n_jobs: Any
    feature_sampling: Any
    categorical_features: Any
    min_samples_category: Any

    n_features_in_: int
    n_outputs_: int
    is_categorical_: NDArray[np.bool_] | None
    categories_: Categories | None
    # What older pickles did.
    handle_unknown: Any = "ignore"
    # Whether the targets are classes.
    _classifies: ClassVar[bool]
    # Whether the folds of a cross-validation can be predicted in one call of the compiled part.
    _shares_folds: ClassVar[bool] = True

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    @contextmanager
    def _restore_on_error(self) -> Iterator[None]:
        """Give the estimator its attributes back if anything fails in the context."""
        before = self.__dict__.copy()
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    # --- Parameters -----------------------------------------------------------------------------

    def _check_params(self) -> Settings:
        """Return the parameters; raise InvalidParameterError if one is illegal for any data.

        As in scikit-learn the data are looked at later.
        """
        tree_params = self._read_tree_params()
        if self.monotonic_cst is not None and np.ndim(self.monotonic_cst) == 0:
            self._reject("monotonic_cst", "an array-like or None")
        check_params({**tree_params, "monotonic_cst": None}, type(self).__name__, self._classifies)
        self._read_handle_unknown()
        n_threads = self._count_threads()
        self._check_own_params()
        return Settings(tree_params, self._draw_seed(), n_threads)

    def _check_own_params(self) -> None:
        """Raise an error if a parameter that only some of the estimators have is illegal."""

    def _read_tree_params(self) -> dict[str, Any]:
        params = read_tree_parameters(self)
        if not self._classifies:
            # It may have been set after `__init__`.
            params["criterion"] = replace_friedman_mse(params["criterion"])
        return params

    def _read_handle_unknown(self) -> str:
        if not isinstance(self.handle_unknown, str) or self.handle_unknown not in UNKNOWN:
            self._reject("handle_unknown", "a str among {'ignore', 'error'}")
        return self.handle_unknown

    def _draw_seed(self) -> int:
        seed = int(self.random_state) if isinstance(self.random_state, Integral) else 0
        if _FIRST_SEED <= seed < 2**64:
            return seed
        try:
            random_state = check_random_state(self.random_state)
        except ValueError:
            random_state = None
        if random_state is None:
            expected = "an int in the range [0, 2**64), a numpy.random.RandomState or None"
            self._reject("random_state", expected)
        return _FIRST_SEED + int(random_state.randint(np.iinfo(np.int32).max))

    def _count_threads(self) -> int:
        if self.n_jobs is not None and (not isinstance(self.n_jobs, Integral) or self.n_jobs == 0):
            self._reject("n_jobs", "an int other than 0 or None")
        return count_threads(self.n_jobs)

    def _reject(self, name: str, expected: str) -> NoReturn:
        """Raise InvalidParameterError for the value of a parameter."""
        reject_parameter(type(self).__name__, name, getattr(self, name), expected)

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
        return to_native(X), task, self._make_draws(n_samples, weights, sample_ids)

    def _read_X_y(self, X: Any, y: Any, *, check_input: bool = True) -> tuple[Any, NDArray[Any]]:
        """Return X with codes for categories, and y of shape (n_samples, n_outputs)."""
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
        with watch_checks():
            coded = self._learn_categories(X)
            is_encoded = isinstance(coded, Columns)
            checked, y = validate_data(
                self,
                make_stand_in(coded.shape) if is_encoded else secure_sparse(coded),
                y,
                validate_separately=(CHECK_X, _CHECK_Y),
            )
            if isinstance(X, Dataset):
                X.name_features_of(self)
            elif coded is not X:
                # The matrix of codes has no feature names: read them from the original X.
                validate_data(self, X, skip_check_array=True)
        return coded if is_encoded else convert_objects(checked), y

    def _learn_categories(self, X: Any) -> Any:
        """Return X with codes for categories, which are remembered; frames become matrices."""
        if isinstance(X, Dataset):
            coded = X.read_columns(self.categorical_features)
        else:
            coded = read_matrix(X, self.categorical_features, self._count_threads())
        X, self.is_categorical_, self.categories_ = coded
        return X

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
        """Return weights of samples multiplied by those of their classes; None if all are 1."""
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
        constraints = self._check_constraints(target)
        tree_params = {**settings.tree_params, "monotonic_cst": constraints}
        return Task(
            y=target.y,
            n_classes=target.n_classes,
            params=tree_params,
            estimator=type(self).__name__,
            seed=settings.seed,
            balanced_subsample=self._balances_subsamples(),
            n_categories=count_categories(self.categories_),
            n_threads=settings.n_threads,
        )

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
        constraints = check_monotonic_cst(self.monotonic_cst, self.n_features_in_)
        if self.is_categorical_ is not None and np.any(np.array(constraints)[self.is_categorical_]):
            raise ValueError("Categorical features cannot have monotonic constraints.")
        return constraints

    def _balances_subsamples(self) -> bool:
        """Return whether classes get the same total weight in the sample of each tree."""
        return False

    @abstractmethod
    def _make_draws(
        self,
        n_samples: int,
        weights: NDArray[np.float64] | None,
        sample_ids: NDArray[np.uint64] | None,
    ) -> Draws:
        """Return how the samples of the trees are drawn."""

    # --- Predictions ----------------------------------------------------------------------------

    def _validate_X_predict(self, X: Any, check_input: bool = True) -> Any:
        """Return X with codes for categories, in the form that the compiled part takes."""
        if self._needs_no_check(X):
            return X
        check_is_fitted(self)
        if isinstance(X, Dataset) and check_input:
            X.check_features_of(self)
        if self.is_categorical_ is not None:
            return self._encode_categories(X, check_input)
        if isinstance(X, Dataset):
            return X.recode(None, None, None)
        with watch_checks():
            if check_input:
                matrix = convert_frame(X)
                if matrix is not X:
                    validate_data(self, X, skip_check_array=True, reset=False)
                    return to_native(matrix)
                X = validate_data(
                    self,
                    secure_sparse(X),
                    accept_sparse="csr",
                    ensure_all_finite=False,
                    reset=False,
                )
                X = convert_objects(X)
        return to_native(X)

    def _encode_categories(self, X: Any, check_input: bool) -> Any:
        """Return X with codes for categories, and tell of those that are unknown."""
        assert self.is_categorical_ is not None
        assert self.categories_ is not None
        # What is no matrix is refused below.
        is_one_row = getattr(X, "shape", (0,))[:1] == (1,) or (isinstance(X, list) and len(X) == 1)
        unknown = UnknownCategories(self, self._read_handle_unknown(), is_one_row=is_one_row)
        if isinstance(X, Dataset):
            coded: Any = X.recode(self.is_categorical_, self.categories_, unknown.note)
        else:
            with watch_checks():
                if check_input:
                    validate_data(self, X, skip_check_array=True, reset=False)
                X = encode(X, self.is_categorical_, self.categories_, self, unknown.note)
                coded = to_native(X.tocsr() if hasattr(X, "tocsr") else X)
        unknown.tell()
        return coded

    def _validate_values(self, X: Any) -> Any:
        """Return what `_validate_X_predict` does, a matrix of its values also for a Dataset."""
        if not isinstance(X, Dataset):
            return self._validate_X_predict(X)
        check_is_fitted(self)
        X.check_features_of(self)
        X.check_categorical(self.is_categorical_)
        return self._validate_X_predict(X.read_values(), check_input=False)

    def _needs_no_check(self, X: Any) -> bool:
        """Return whether scikit-learn's checks of X would all pass and return X itself.

        They take longer than a forest takes for one row. They ask whether the estimator has been
        fitted, and whether X is a matrix of numbers with at least one row, the features of the fit
        and their names. An array of floats has no names and needs no conversion, unless it is
        part of other memory and not aligned. Missing and infinite values are legal.
        """
        fitted = vars(self)
        return (
            type(X) is np.ndarray
            and X.ndim == 2
            and X.dtype.char in "fd"
            and X.dtype.isnative
            and X.flags.aligned
            and X.shape[0] > 0
            and X.shape[1] == fitted.get("n_features_in_")
            and "feature_names_in_" not in fitted
            and fitted.get("is_categorical_") is None
        )

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
