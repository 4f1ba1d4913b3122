"""The class `Dataset`: its columns, its rows, its file."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from spinney._common.checks import check_int, check_n_jobs, check_verbose
from spinney._common.messages import warn_caller
from spinney._common.threads import count_threads
from spinney._data.arrays import convert_objects, secure_sparse, to_native
from spinney._data.categorical_features import (
    are_same_features,
    divide_by_type,
    list_features,
    mark_categorical,
)
from spinney._data.categories import Categories, LookUp, Note, are_floats, restore_sparse
from spinney._data.feature_names import check_names, read_names
from spinney._data.matrices import CHECK_X, CodedMatrix, make_stand_in, read_matrix, watch_checks
from spinney._spinney import Columns
from spinney.dataset._encoded_columns import EncodedColumns
from spinney.dataset._files import StoredDataset
from spinney.dataset._row_keys import is_everything, list_rows
from spinney.dataset._sparse_writer import are_blocks, write_blocks
from spinney.dataset._writer import open_source, write_source


class Dataset(EncodedColumns):
    """The columns of a matrix, encoded once.

    `fit` encodes the matrix that it gets: it sorts the values of each column and numbers them. A
    data set holds the result, and can be passed in the place of `X`: to the methods of estimators,
    to the functions of `spinney.model_selection` and `spinney.inspection`, and to scikit-learn's
    tools around estimators, such as `GridSearchCV`. What is grown, predicted and explained is the
    same, bit for bit, as from the matrix.

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

    See Also
    --------
    spinney.load : Reads models; `Dataset.open` reads data sets.
    spinney.model_selection.cross_validate : Folds that share the encoded columns.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import GridSearchCV
    >>> import spinney
    >>> X, y = load_digits(return_X_y=True)
    >>> dataset = spinney.Dataset(X)
    >>> grid = {"max_depth": [4, 8]}
    >>> search = GridSearchCV(spinney.DecisionTreeClassifier(random_state=0), grid, cv=3)
    >>> search.fit(dataset, y).best_params_
    {'max_depth': 8}
    """

    __slots__ = ()

    def __init__(self, X: Any, *, categorical_features: Any = None, n_jobs: Any = None) -> None:
        check_n_jobs("Dataset", n_jobs)
        if isinstance(X, Dataset):
            X._read_columns(categorical_features)
            self._share(X)
            return
        n_threads = count_threads(n_jobs)
        with watch_checks(X):
            read = read_matrix(X, categorical_features, n_threads)
            matrix, self._is_categorical, self._categories = read
            if not isinstance(matrix, Columns):
                matrix = check_array(
                    secure_sparse(matrix), estimator="Dataset", input_name="X", **CHECK_X
                )
                matrix = to_native(convert_objects(matrix))
        self._feature_names = read_names(X)
        self._encode(matrix, n_threads)

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
    def is_sparse(self) -> bool:
        """Whether `X` was sparse."""
        return self._columns.is_sparse

    @property
    def n_bytes(self) -> int:
        """Bytes in memory. Views share the memory of all rows."""
        return self._columns.n_bytes

    def __sizeof__(self) -> int:
        """Return the bytes in memory, by which dask decides what it sends once and not in tasks."""
        return object.__sizeof__(self) + self.n_bytes

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
        if isinstance(key, tuple) and len(key) == 2 and is_everything(key[1]):
            key = key[0]
        return self._view(list_rows(key, len(self)))

    def __iter__(self) -> Any:
        """Raise TypeError: a data set has no single rows."""
        raise TypeError("A Dataset cannot be iterated over: it has no single rows.")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the values of a dense data set, for scikit-learn's `BaggingClassifier` and others.

        Parameters
        ----------
        dtype : dtype, default=None
            None means float64, or object if there are categories that are no numbers, or integers
            that float64 does not tell apart.
        copy : bool, default=None
            False is refused: there are no values, only their numbers.
        """
        if copy is False:
            raise ValueError("The values of a Dataset are computed: copy=False is not possible.")
        if self.is_sparse:
            raise TypeError("A sparse Dataset does not become an array. Pass the matrix itself.")
        values: NDArray[Any] = self._columns.decode()
        categories = self._list_categories() or []
        if not all(map(are_floats, categories)):
            values = values.astype(object)
        for feature, known in enumerate(categories):
            if known is not None and known.shape[0] > 0:
                present = values[:, feature] == values[:, feature]
                codes = values[present, feature].astype(np.intp)
                values[present, feature] = known[codes]
        return values if dtype is None else values.astype(dtype)

    # --- Files ----------------------------------------------------------------------------------

    @classmethod
    def write(
        cls,
        path: Any,
        source: Any,
        *,
        categorical_features: Any = None,
        max_memory: Any = 2**30,
        n_jobs: int | None = None,
        verbose: Any = 0,
    ) -> None:
        """Encode a matrix that does not fit in memory, some columns at a time, into a file.

        The file is the one that `Dataset(X).save(path)` writes. If the call ends early, no file is
        left, and one that existed stays.

        Parameters
        ----------
        path : str or path-like
            The file. Its directory has the room for two of it while it is written, and for five of
            it if it is sparse.
        source : path of a Parquet or Arrow file, ndarray or dask array of shape \
                (n_samples, n_features), data frame, dask data frame, sparse matrix, or iterable \
                of sparse matrices
            pyarrow reads the columns of files, only the encoded ones; Arrow files are files
            of its IPC format and of Feather. An array may be a `numpy.memmap`; in Fortran order its
            columns are read once, in C order all of it is read for each portion of the columns. A
            data frame may be a table of pyarrow that is mapped. A dask collection is computed anew
            for each portion. An iterable, such as a generator that calls scikit-learn's
            `load_svmlight_file` for parts of a file, yields blocks of rows, which are read once.
        categorical_features : None, "from_dtype" or array-like of {bool, int, str}, default=None
            Which features are categorical.
        max_memory : int, default=2**30
            Bytes for the columns that are encoded at a time, some 48 per cell, or nonzero of sparse
            blocks, and at least one column. Beside these, the tables of distinct values take at
            most 8 bytes for each; with sparse blocks, a block and 16 bytes per row.
        n_jobs : int, default=None
            Threads that encode.
        verbose : int, default=0
            Whether to report on stderr how many columns are encoded, as for forests.

        Raises
        ------
        ValueError, TypeError
            If a column or a parameter is illegal. The message names it.
        ImportError
            If the source is a path, and pyarrow is not installed.
        """
        check_int("Dataset.write", "max_memory", max_memory, 1)
        check_verbose("Dataset.write", verbose)
        real_path = Path(os.path.realpath(path))
        encode = partial(cls._encode_portion, n_jobs=n_jobs)
        arguments = (categorical_features, int(max_memory), encode, count_threads(n_jobs))
        if sparse.issparse(source):
            source = [source]
        if are_blocks(source):
            write_blocks(real_path, source, *arguments, int(verbose))
        else:
            write_source(real_path, open_source(source), *arguments, int(verbose))

    @classmethod
    def _encode_portion(
        cls, X: Any, categorical_features: Any, n_jobs: int | None
    ) -> tuple[Columns, StoredDataset]:
        dataset = cls(X, categorical_features=categorical_features, n_jobs=n_jobs)
        return dataset._columns, dataset._get_stored()

    # --- For estimators -------------------------------------------------------------------------

    def _read_columns(
        self, categorical_features: Any, *, expects_types: bool = True
    ) -> CodedMatrix:
        """Return the columns for `fit`, and the categories that occur in these rows.

        Parameters
        ----------
        categorical_features : None, "from_dtype" or array-like of bool, int or str
            The parameter of the estimator.
        expects_types : bool, default=True
            Whether to warn if "from_dtype" finds no categorical feature.

        Raises
        ------
        ValueError
            If the parameter is illegal, or names other features than those that are categorical.
        """
        if categorical_features is not None:
            by_type, named = divide_by_type(categorical_features)
            mask, ours = (
                mark_categorical(named, self.shape, self.feature_names),
                self._is_categorical,
            )
            if by_type and ours is None and expects_types:
                warn_caller(
                    'categorical_features="from_dtype" finds no categorical feature in the '
                    "Dataset. Its own categorical_features, where it is made, says which there are."
                )
            if not by_type:
                is_legal = are_same_features(mask, ours)
            else:
                is_legal = set(list_features(mask)) <= set(list_features(ours))
            if not is_legal:
                raise ValueError(
                    "categorical_features must be None or name the features that are categorical "
                    f"in the Dataset, {list_features(ours)}. Got {list_features(mask)} instead."
                )
        return CodedMatrix(self._columns, self.is_categorical, self._list_categories())

    def _read_values(self) -> Any:
        """Return the values as a matrix, for what cannot be computed from their numbers.

        Returns
        -------
        X : ndarray or CSR matrix of shape (n_samples, n_features)
            float64; of a dense data set object if it has categories that float64 does not have.

        Raises
        ------
        ValueError
            If a sparse data set has such categories.
        """
        if not self.is_sparse:
            return np.asarray(self)
        matrix, categories = self._columns.decode(), self._list_categories()
        if categories is None:
            return matrix
        assert self._is_categorical is not None
        return restore_sparse(matrix, self._is_categorical, categories)

    def _name_features_of(self, estimator: Any) -> None:
        """Set the attribute of a fitted estimator that has the names of the features."""
        if self._feature_names is not None:
            estimator.feature_names_in_ = self._feature_names.copy()

    def _check_features_of(self, estimator: Any) -> None:
        """Raise ValueError unless a fitted estimator has these features; warn as scikit-learn."""
        known, names = getattr(estimator, "feature_names_in_", None), self._feature_names
        if known is None or names is None:
            # This counts the features, and warns if only the estimator has names.
            validate_data(estimator, make_stand_in(self.shape), skip_check_array=True, reset=False)
        if names is not None:
            check_names(estimator, known, names)

    def _check_categorical(self, is_categorical: NDArray[np.bool_] | None) -> None:
        """Raise ValueError if other features are categorical for an estimator."""
        if not are_same_features(is_categorical, self._is_categorical):
            raise ValueError(
                "The Dataset must have the categorical features of the estimator, "
                f"{list_features(is_categorical)}. Got {list_features(self._is_categorical)} "
                "instead."
            )

    def _recode(
        self,
        is_categorical: NDArray[np.bool_] | None,
        categories: Categories | None,
        note: Note | None,
    ) -> Columns:
        """Return the columns for predictions by an estimator that has these categories.

        Parameters
        ----------
        is_categorical : ndarray of bool of shape (n_features,), or None
        categories : Categories or None
        note : callable or None
            Is told the categories, and their codes, of features that have unknown ones.

        Raises
        ------
        ValueError
            If other features are categorical for the estimator.
        """
        self._check_categorical(is_categorical)
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
        if note is not None:
            self._note_present(codes, look_up, note)
        return self._columns.with_codes(codes)

    def _note_present(
        self, codes: list[NDArray[np.float64] | None], look_up: LookUp, note: Note
    ) -> None:
        """Note the categories of these rows, given the codes of the categories of all rows."""
        known = look_up.categories
        are_unknown = (
            of_all is not None and ours is not None and bool((of_all == ours.shape[0]).any())
            for of_all, ours in zip(codes, known, strict=True)
        )
        features = [feature for feature, has_unknown in enumerate(are_unknown) if has_unknown]
        # A view has to look for the categories that its rows have.
        present = self._list_categories() if features else None
        for feature in features:
            assert present is not None
            values = present[feature]
            assert values is not None
            note(feature, values, look_up.find_codes(feature, values), None)
