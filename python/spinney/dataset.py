"""Data sets that are encoded once and taken wherever `X` is."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from spinney._arrays import convert_objects, secure_sparse, to_native
from spinney._categorical_features import find_categorical_features
from spinney._categories import Categories, LookUp, count_categories
from spinney._matrices import CHECK_X, CodedMatrix, ignore_overflow, read_matrix
from spinney._messages import reject_parameter, warn_caller
from spinney._spinney import Columns

# How many names a message lists.
_LISTED = 5


class Dataset:
    """The columns of a matrix, encoded once.

    `fit` encodes the matrix that it gets: it sorts the values of each column and numbers them. A
    data set holds the result, and is taken wherever `X` is: by all methods of estimators, by the
    functions of `spinney.model_selection`, and by what scikit-learn builds of estimators, such as
    `GridSearchCV`. What is grown and predicted is the same, bit for bit, as from the matrix.

    A data set does not change. `dataset[rows]` is a view of some of its rows. What is grown on a
    view is the same, bit for bit, as from these rows of the matrix: their columns are copied and
    numbered anew when they are needed, which takes far less time than to encode them.

    Parameters
    ----------
    X : {array-like, data frame, sparse matrix} of shape (n_samples, n_features)
        What `fit` takes.
    categorical_features : None, "from_dtype" or array-like of {bool, int, str}, default=None
        Which features are categorical, as for estimators. The parameter of an estimator that gets
        the data set must be None, "from_dtype", or name the same features.
    n_jobs : int, default=None
        Number of threads that encode. None means 1, unless a `joblib.parallel_config` says
        otherwise; -1 means all.

    Raises
    ------
    ValueError, TypeError
        If `X` or a parameter is illegal. The message names it.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import GridSearchCV
    >>> import spinney
    >>> X, y = load_digits(return_X_y=True)
    >>> dataset = spinney.Dataset(X)
    >>> dataset[:1000].shape
    (1000, 64)
    >>> grid = {"max_depth": [4, 8]}
    >>> search = GridSearchCV(spinney.DecisionTreeClassifier(random_state=0), grid, cv=3)
    >>> search.fit(dataset, y).best_params_
    {'max_depth': 8}
    """

    __slots__ = (
        "__weakref__",
        "_categories",
        "_columns",
        "_feature_names",
        "_is_categorical",
        "_rows",
    )

    _columns: Columns
    # The rows of the columns that this is a view of, uint32; None for all.
    _rows: NDArray[np.uint32] | None
    _is_categorical: NDArray[np.bool_] | None
    # The categories of all rows.
    _categories: Categories | None
    _feature_names: NDArray[Any] | None

    def __init__(self, X: Any, *, categorical_features: Any = None, n_jobs: Any = None) -> None:
        if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
            reject_parameter("Dataset", "n_jobs", n_jobs, "an int other than 0 or None")
        if isinstance(X, Dataset):
            X.read_columns(categorical_features)
            self._share(X)
            return
        with ignore_overflow():
            coded, self._is_categorical, self._categories = read_matrix(X, categorical_features)
            matrix = check_array(
                secure_sparse(coded), estimator="Dataset", input_name="X", **CHECK_X
            )
        self._feature_names = _read_names(X)
        self._encode(to_native(convert_objects(matrix)), int(effective_n_jobs(n_jobs)))

    @classmethod
    def of_codes(
        cls,
        X: Any,
        is_categorical: NDArray[np.bool_] | None,
        categories: Categories | None,
        feature_names: NDArray[Any] | None,
        n_threads: int = 1,
    ) -> Dataset:
        """Return the data set of a matrix that has codes in the place of categories.

        Parameters
        ----------
        X : ndarray, CompressedMatrix or Columns
        is_categorical : ndarray of bool of shape (n_features,), or None
        categories : Categories or None
        feature_names : ndarray of str of shape (n_features,), or None
        n_threads : int
            Threads that encode.
        """
        dataset = object.__new__(cls)
        dataset._is_categorical, dataset._categories = is_categorical, categories
        dataset._feature_names = feature_names
        dataset._encode(X, n_threads)
        return dataset

    def _encode(self, X: Any, n_threads: int) -> None:
        self._columns = Columns(X, count_categories(self._categories), n_threads)
        self._rows = None
        for known in self._categories or ():
            if known is not None:
                # Estimators share it.
                known.flags.writeable = False

    def _share(self, other: Dataset) -> None:
        """Take over what another data set consists of."""
        self._columns, self._rows = other._columns, other._rows
        self._is_categorical, self._categories = other._is_categorical, other._categories
        self._feature_names = other._feature_names

    # --- What it is -----------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and number of features."""
        return self._columns.shape

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features, if `X` was a data frame that has any."""
        return None if self._feature_names is None else list(self._feature_names)

    @property
    def is_categorical(self) -> NDArray[np.bool_] | None:
        """Which features are categorical; None if none is."""
        return None if self._is_categorical is None else self._is_categorical.copy()

    @property
    def n_bytes(self) -> int:
        """Bytes in memory. Views share those of all rows."""
        return self._columns.n_bytes

    def __repr__(self) -> str:
        """Return what is inside, in one line; of a view, what is inside the whole."""
        (n_rows, n_features), columns = self.shape, self._columns
        n_categorical = 0 if self._is_categorical is None else int(self._is_categorical.sum())
        n_distinct = columns.n_distinct
        parts = [
            f"{n_features - n_categorical:,} numeric and {n_categorical:,} categorical features",
            f"{n_distinct.min():,} to {n_distinct.max():,} distinct values",
            f"{int(columns.has_missing.sum()):,} features with missing values",
            "sparse" if columns.is_sparse else "dense",
            f"{self.n_bytes:,} bytes",
        ]
        view = "" if self._rows is None else "view of "
        return f"<Dataset: {view}{n_rows:,} rows, {', '.join(parts)}>"

    # --- Rows -----------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Dataset:
        """Return some rows, as a view: nothing is copied or encoded.

        Parameters
        ----------
        key : slice, or array-like of int or bool
            The rows, as for arrays: ints may be negative, and may repeat.

        Raises
        ------
        IndexError
            If a row does not exist.
        TypeError
            If `key` is of another type, such as one int: a data set has no single rows.
        """
        if isinstance(key, tuple) and len(key) == 2 and _is_everything(key[1]):
            key = key[0]
        rows = _list_rows(key, len(self))
        view = object.__new__(Dataset)
        view._share(self)
        view._rows = rows if self._rows is None else self._rows[rows]
        view._columns = self._columns.with_rows(view._rows)
        return view

    def __iter__(self) -> Any:
        """Raise TypeError: a data set has no single rows."""
        raise TypeError("A Dataset cannot be iterated over: it has no single rows.")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the values of a dense data set, for scikit-learn's `BaggingClassifier` and others.

        Parameters
        ----------
        dtype : dtype, default=None
            None means float64, or object if there are categories that are no numbers.
        copy : bool, default=None
            False is refused: there are no values, only their numbers.
        """
        if copy is False:
            raise ValueError("The values of a Dataset are computed: copy=False is not possible.")
        if self._columns.is_sparse:
            raise TypeError("A sparse Dataset does not become an array. Pass the matrix itself.")
        values: NDArray[Any] = self._columns.decode()
        categories = self._list_categories() or []
        if any(known is not None and known.dtype.kind not in "biuf" for known in categories):
            values = values.astype(object)
        for feature, known in enumerate(categories):
            if known is not None and known.shape[0] > 0:
                present = values[:, feature] == values[:, feature]
                codes = values[present, feature].astype(np.intp)
                values[present, feature] = known[codes]
        return values if dtype is None else values.astype(dtype)

    def __reduce__(self) -> Any:
        """Return what a pickle holds: the values, with the codes of categories. Encoding is exact.

        A view becomes a data set of its rows.
        """
        values = to_native(self._columns.decode())
        state = (values, self._is_categorical, self._list_categories(), self._feature_names)
        return Dataset.of_codes, state

    # --- For estimators -------------------------------------------------------------------------

    def read_columns(self, categorical_features: Any) -> CodedMatrix:
        """Return the columns for `fit`, and the categories that occur in these rows.

        Parameters
        ----------
        categorical_features : None, "from_dtype" or array-like of bool, int or str
            The parameter of the estimator.

        Raises
        ------
        ValueError
            If the parameter is illegal, or names other features than those that are categorical.
        """
        if categorical_features is not None and not isinstance(categorical_features, str):
            wanted = np.asarray(categorical_features)
            if self._feature_names is not None and wanted.dtype.kind in "UO":
                wanted = np.array([self._find_feature(name) for name in wanted], dtype=np.intp)
            mask = find_categorical_features(self.make_stand_in(), wanted)
            if not _are_same_features(mask, self._is_categorical):
                raise ValueError(
                    "categorical_features must be None or name the features that are categorical "
                    f"in the Dataset, {_list_features(self._is_categorical)}. "
                    f"Got {_list_features(mask)} instead."
                )
        else:
            # "from_dtype", or an error.
            find_categorical_features(self.make_stand_in(), categorical_features)
        return CodedMatrix(self._columns, self.is_categorical, self._list_categories())

    def _find_feature(self, name: Any) -> int:
        names = self.feature_names or []
        if name not in names:
            raise ValueError(
                f"categorical_features has an item value '{name}' which is not a valid feature "
                f"name of the Dataset. Its feature names: {names}"
            )
        return names.index(name)

    def _list_categories(self) -> Categories | None:
        """Return the categories that occur in these rows."""
        if self._rows is None or self._categories is None:
            return self._categories
        present = self._columns.present_codes()
        return [
            None if known is None else known[:0] if codes is None else known[codes]
            for known, codes in zip(self._categories, present, strict=True)
        ]

    def make_stand_in(self) -> NDArray[np.float32]:
        """Return an array of this shape without memory, for checks of shapes by scikit-learn."""
        return np.broadcast_to(np.float32(0), self.shape)

    def name_features_of(self, estimator: Any) -> None:
        """Set the attribute of a fitted estimator that has the names of the features."""
        if self._feature_names is not None:
            estimator.feature_names_in_ = self._feature_names.copy()

    def check_features_of(self, estimator: Any) -> None:
        """Raise ValueError unless a fitted estimator has these features; warn as scikit-learn."""
        known, names = getattr(estimator, "feature_names_in_", None), self._feature_names
        if known is None or names is None:
            validate_data(estimator, self.make_stand_in(), skip_check_array=True, reset=False)
            if names is not None:
                warn_caller(
                    f"X has feature names, but {type(estimator).__name__} was fitted without "
                    "feature names"
                )
        elif not np.array_equal(known, names):
            raise ValueError(_describe_difference(list(known), list(names)))

    def recode(
        self, is_categorical: NDArray[np.bool_] | None, categories: Categories | None
    ) -> Columns:
        """Return the columns for predictions by an estimator that has these categories.

        Raises
        ------
        ValueError
            If other features are categorical for the estimator.
        """
        if not _are_same_features(is_categorical, self._is_categorical):
            raise ValueError(
                "The categorical features of the Dataset must be those of the estimator, "
                f"{_list_features(is_categorical)}. Got {_list_features(self._is_categorical)} "
                "instead."
            )
        if self._categories is None or categories is self._categories:
            return self._columns
        assert categories is not None
        look_up = LookUp(categories)
        codes = [
            None if known is None or known.shape[0] == 0 else look_up.find_codes(feature, known)
            for feature, known in enumerate(self._categories)
        ]
        if all(of_feature is None for of_feature in codes):
            return self._columns
        return self._columns.with_codes(codes)


class _Named(BaseEstimator):
    """Has the names of features that scikit-learn reads from a matrix."""


def _read_names(X: Any) -> NDArray[Any] | None:
    named = _Named()
    validate_data(named, X, skip_check_array=True)
    names: NDArray[Any] | None = getattr(named, "feature_names_in_", None)
    return names


def _is_everything(key: Any) -> bool:
    return key is Ellipsis or (isinstance(key, slice) and key == slice(None))


def _list_rows(key: Any, n_rows: int) -> NDArray[np.uint32]:
    """Return the numbers of the rows that a key stands for."""
    if isinstance(key, slice):
        return np.ascontiguousarray(np.arange(n_rows, dtype=np.uint32)[key])
    rows = np.asarray(key)
    if rows.size == 0 and rows.dtype.kind == "f":
        # An empty list.
        rows = rows.astype(np.intp)
    if rows.ndim != 1 or rows.dtype.kind not in "biu":
        raise TypeError(
            "The rows of a Dataset must be a slice, or an array-like of ints or bools of one "
            f"dimension. Got {key!r} instead."
        )
    if rows.dtype.kind == "b":
        if rows.shape[0] != n_rows:
            raise IndexError(
                f"A mask of the rows of a Dataset must have {n_rows} values, one per row. "
                f"Got {rows.shape[0]} instead."
            )
        return np.flatnonzero(rows).astype(np.uint32)
    outside = (rows >= n_rows) | (rows < -n_rows) if rows.dtype.kind == "i" else rows >= n_rows
    if outside.any():
        raise IndexError(
            f"The rows of a Dataset must be ints from {-n_rows} to {n_rows - 1}. "
            f"Got {rows[outside][0]} instead."
        )
    if rows.dtype.kind == "i":
        rows = np.where(rows < 0, rows + n_rows, rows)
    return rows.astype(np.uint32)


def _are_same_features(one: NDArray[np.bool_] | None, other: NDArray[np.bool_] | None) -> bool:
    return _list_features(one) == _list_features(other)


def _list_features(mask: NDArray[np.bool_] | None) -> list[int]:
    return [] if mask is None else np.flatnonzero(mask).tolist()


def _describe_difference(known: list[Any], names: list[Any]) -> str:
    """Return what is wrong with the names of features, in scikit-learn's words."""
    message = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(names) - set(known)), sorted(set(known) - set(names))
    for title, differing in (
        ("Feature names unseen at fit time:", unseen),
        ("Feature names seen at fit time, yet now missing:", missing),
    ):
        if differing:
            more = ["- ..."] if len(differing) > _LISTED else []
            lines = [f"- {name}" for name in differing[:_LISTED]]
            message += "\n".join([title, *lines, *more]) + "\n"
    if not unseen and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    return message
