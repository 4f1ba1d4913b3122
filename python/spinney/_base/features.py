"""What all estimators share: how they read the features of samples, and random states."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from spinney._common.checks import check_n_jobs
from spinney._common.documentation import DocumentedEstimator
from spinney._common.messages import reject_parameter
from spinney._common.seeds import FIRST_SEED, read_random_state
from spinney._common.threads import count_threads
from spinney._data.arrays import convert_objects, secure_sparse, to_native
from spinney._data.categories import Categories, convert_frame, encode
from spinney._data.matrices import CHECK_X, make_stand_in, read_matrix, watch_checks
from spinney._data.single_rows import refuse_rows
from spinney._data.unknown_categories import UNKNOWN, UnknownCategories
from spinney._spinney import Columns
from spinney.dataset import Dataset


class FeatureReader(DocumentedEstimator, ABC):
    """Base class of all estimators: reads matrices of features, for `fit` and for predictions."""

    random_state: Any
    n_jobs: Any
    categorical_features: Any
    # What older pickles did.
    handle_unknown: Any = "ignore"
    # Whether categorical_features="from_dtype" asks for at least one column of such a type. Where
    # it is the default, it does not.
    _expects_types: ClassVar[bool] = True

    n_features_in_: int
    # Exists only if `fit` saw names.
    feature_names_in_: NDArray[Any]
    is_categorical_: NDArray[np.bool_] | None
    categories_: Categories | None

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

    def _read_handle_unknown(self) -> str:
        if not isinstance(self.handle_unknown, str) or self.handle_unknown not in UNKNOWN:
            self._reject("handle_unknown", "a str among {'ignore', 'error'}")
        return self.handle_unknown

    def _choose_categorical_features(self) -> Any:
        """Return the parameter that says which features are categorical."""
        return self.categorical_features

    def _draw_seed(self) -> int:
        seed = int(self.random_state) if isinstance(self.random_state, Integral) else 0
        if FIRST_SEED <= seed < 2**64:
            return seed
        random_state = read_random_state(type(self).__name__, self.random_state)
        return FIRST_SEED + int(random_state.randint(np.iinfo(np.int32).max))

    def _count_threads(self) -> int:
        check_n_jobs(type(self).__name__, self.n_jobs)
        return count_threads(self.n_jobs)

    def _reject(self, name: str, expected: str) -> NoReturn:
        """Raise InvalidParameterError for the value of a parameter."""
        reject_parameter(type(self).__name__, name, getattr(self, name), expected)

    # --- Training data --------------------------------------------------------------------------

    def _validate_X(self, X: Any) -> Any:
        """Return X with codes for categories, as an array or a matrix that scikit-learn checked."""
        return self._validate_fit(X, CHECK_X)[0]

    def _validate_fit(self, X: Any, checks: dict[str, Any], *y: Any) -> tuple[Any, Any]:
        """Return X with codes for categories, and y, if it is given.

        Parameters
        ----------
        X : object
            The argument of `fit`.
        checks : dict
            Arguments of scikit-learn's `validate_data`.
        *y : object
            The argument of `fit`; nothing if there is none.
        """
        with watch_checks(X):
            coded = self._learn_categories(X)
            is_encoded = isinstance(coded, Columns)
            matrix = make_stand_in(coded.shape) if is_encoded else secure_sparse(coded)
            checked = validate_data(self, matrix, *y, **checks)
            checked, y_checked = checked if y else (checked, None)
            if isinstance(X, Dataset):
                X._name_features_of(self)
            elif coded is not X:
                # The matrix of codes has no feature names: read them from the original X.
                validate_data(self, X, skip_check_array=True)
        return coded if is_encoded else convert_objects(checked), y_checked

    def _learn_categories(self, X: Any) -> Any:
        """Return X with codes for categories, which are remembered; frames become matrices."""
        wanted = self._choose_categorical_features()
        if isinstance(X, Dataset):
            coded = X._read_columns(wanted, expects_types=self._expects_types)
        else:
            coded = read_matrix(X, wanted, self._count_threads(), expects_types=self._expects_types)
        X, self.is_categorical_, self.categories_ = coded
        return X

    # --- Predictions ----------------------------------------------------------------------------

    def _validate_X_predict(self, X: Any, check_input: bool = True) -> Any:
        """Return X with codes for categories, in the form that the compiled part takes."""
        if self._needs_no_check(X):
            return X
        check_is_fitted(self)
        refuse_rows(X)
        if isinstance(X, Dataset) and check_input:
            X._check_features_of(self)
        if self.is_categorical_ is not None:
            return self._encode_categories(X, check_input)
        if isinstance(X, Dataset):
            return X._recode(None, None, None)
        with watch_checks(X):
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
                    # No rows in, none out.
                    ensure_min_samples=0,
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
            coded: Any = X._recode(self.is_categorical_, self.categories_, unknown.note)
        else:
            with watch_checks(X):
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
        X._check_features_of(self)
        X._check_categorical(self.is_categorical_)
        return self._validate_X_predict(X._read_values(), check_input=False)

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
