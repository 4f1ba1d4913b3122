"""Missing values are predicted by forests, column by column, until that changes little."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import Tags
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from spinney._base.features import FeatureReader
from spinney._base.saving import Stored
from spinney._common.checks import check_int, check_verbose, is_bool
from spinney._common.progress import show_progress
from spinney._common.sklearn_base import OneToOneFeatureMixin, TransformerMixin
from spinney._common.types import (
    ColumnOrder,
    HandleUnknown,
    MaxFeatures,
    RandomState,
    Splitter,
)
from spinney._data.filling import fill_cells, find_ranges
from spinney._data.frames import is_frame, is_sparse_frame, to_pandas, without_repeated_names
from spinney._data.nullable import let_numpy_read_floats
from spinney._data.ranges import Range
from spinney._data.unknown_categories import tell_nothing
from spinney._fit.params import store_parameters
from spinney._spinney import Columns, check_params, list_tree_seeds
from spinney.dataset import Dataset
from spinney.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from spinney.impute._times import find_times, hide_columns

if TYPE_CHECKING:
    from typing_extensions import Self

_COLUMNS = ("ascending", "descending")
# For numbers and for categories.
_FORESTS: dict[str, tuple[Any, Any]] = {
    "random": (ExtraTreesRegressor, ExtraTreesClassifier),
    "best": (RandomForestRegressor, RandomForestClassifier),
}


class _Filled(NamedTuple):
    """The matrix after a cycle over the columns, and the forests that have filled it."""

    matrix: NDArray[np.float64]
    forests: dict[int, Any]
    errors: NDArray[np.float64]


class MissForestImputer(OneToOneFeatureMixin, TransformerMixin, Stored, FeatureReader):
    """Fills missing values of numbers and categories by forests (missForest).

    Each column that has missing values is predicted from all others by a forest, which is grown on
    the samples that have a value: a regressor for numbers, a classifier for categories.
    This is done for all columns in turn, from the one with the fewest missing values on, and again
    with the values that were filled in, until the filled values change more than in the cycle
    before. In the first cycle forests take missing values as they are, so that nothing is filled
    with means first. Data frames come back as frames of their kind, with their types and
    categories; a value that is filled in lies within the known ones, and is one that the type of
    its column has. Complete columns of dates, times or durations come back as they are. The result
    does not depend on the number of threads.

    Parameters
    ----------
    max_iter : int, default=10
        Largest number of cycles.
    n_estimators : int, default=100
        Number of trees of each forest.
    splitter : {"random", "best"}, default="random"
        The forests: extremely randomised trees, which err less here, or random forests, which the
        paper uses.
    max_features : int, float, {"sqrt", "log2"} or None, default=0.5
        Number of columns that each node draws as candidates for its split; a float is a fraction of
        all. 1.0 errs a little less and takes up to twice the time; the paper's "sqrt" errs more and
        takes a tenth of it where columns are many.
    min_samples_leaf : int or float, default=1
        Each child of a split must have at least this many samples.
    columns : {"ascending", "descending"}, default="ascending"
        The order of the columns: by the number of their missing values.
    skip_complete : bool, default=True
        Whether columns without missing values in `fit` have no forest. If False, `transform` fills
        missing values in these, too; if True, it raises an error for them.
    n_jobs : int, default=None
        Number of threads. None means 1 unless `joblib.parallel_config` sets another number, and -1
        means all processors. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of all forests. An int, which may be as large as 2**64 - 1, makes results repeatable.
    verbose : int, default=0
        Whether to report on stderr how many forests are grown in a cycle. 0: no report. 1: a
        progress bar if tqdm is installed, otherwise at most one line per second. 2 or more: a line
        at every update.
    categorical_features : None, "from_dtype" or array-like of bool, int or str, \
            default="from_dtype"
        Which columns are categorical. "from_dtype": the columns of a data frame with a categorical
        dtype. Otherwise a boolean mask, or the indices or names of the columns, such as columns of
        strings. None: no column.
    handle_unknown : {"ignore", "error"}, default="ignore"
        What `transform` does with categories that did not occur in `fit`. "ignore": forests send
        them with the larger part of the samples. "error": they raise ValueError.

    Attributes
    ----------
    n_iter_ : int
        Number of cycles whose values are used; 1 if there is nothing to fill.
    oob_error_ : ndarray of shape (n_features_in_,)
        For each column the error of its forest in the last cycle, for values that are known, by the
        trees that have not seen them: the mean squared error of numbers, the share of wrong
        categories. NaN for columns without a forest.
    forests_ : dict
        The forests of the last cycle, by the number of the column that they predict.
    ranges_ : list of (tuple or None)
        For each numeric column that has a forest, its least and its largest known value: two bools,
        ints or floats, whatever the column holds. Values that are filled in lie between. None for
        all other columns.
    passes_through_ : ndarray of bool of shape (n_features_in_,)
        Which columns hold dates, times or durations: no forest sees them, and they come back as
        they are.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`. Exists only if `X` has names that are all strings.
    is_categorical_ : ndarray of shape (n_features_in_,) or None
        Which features are categorical. None if no feature is.
    categories_ : list or None
        For each categorical feature, its distinct values in `fit`: sorted, except that 0 comes
        first. The index of a value is the code that stands for it in the compiled trees. The entry
        of a numeric feature is None. None if no feature is categorical.

    See Also
    --------
    spinney.RandomForestRegressor : Forests take missing values as they are, without an imputer.
    sklearn.impute.KNNImputer : Means of the nearest samples.

    References
    ----------
    D. Stekhoven, P. Buehlmann, "MissForest: non-parametric missing value imputation for mixed-type
    data", Bioinformatics 28, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from spinney.impute import MissForestImputer
    >>> X = np.array([[1, 2], [2, 4], [3, np.nan], [4, 8], [np.nan, 10], [6, 12], [7, 14]])
    >>> filled = MissForestImputer(random_state=0).fit_transform(X)
    >>> bool(np.isnan(filled).any())
    False
    """

    max_iter: Any
    n_estimators: Any
    splitter: Any
    max_features: Any
    min_samples_leaf: Any
    columns: Any
    skip_complete: Any
    verbose: Any

    n_iter_: int
    oob_error_: NDArray[np.float64]
    forests_: dict[int, Any]
    passes_through_: NDArray[np.bool_]
    ranges_: list[Range | None]

    def __init__(
        self,
        *,
        max_iter: int = 10,
        n_estimators: int = 100,
        splitter: Splitter = "random",
        max_features: MaxFeatures = 0.5,
        min_samples_leaf: float = 1,
        columns: ColumnOrder = "ascending",
        skip_complete: bool = True,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int | bool = 0,
        categorical_features: Any = "from_dtype",
        handle_unknown: HandleUnknown = "ignore",
    ) -> None:
        store_parameters(locals())

    # The default of `categorical_features` is "from_dtype", also for arrays.
    _expects_types = False

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    # --- Fit ------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Grow the forests.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The samples. NaN is a missing value; so are None and NA in data frames.
        y : None
            Is ignored.

        Returns
        -------
        self : object
            The fitted imputer.

        Raises
        ------
        ValueError, TypeError
            If a parameter or an argument is illegal. The message names it. Whatever is raised, the
            imputer keeps the attributes it had before the call.
        """
        with self._restore_on_error():
            self._fill_training_data(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:  # noqa: ARG002
        """Grow the forests, and return the training samples with the values that these filled in.

        `transform` of the same samples fills in what the last forests predict, which have seen the
        known values of the samples: the values are similar.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The samples.
        y : None
            Is ignored.

        Returns
        -------
        X : ndarray or data frame of shape (n_samples, n_features)
            A copy without missing values. A frame has its types and categories; whole numbers and
            bools that were missing are rounded predictions. Of other data an array: of float64, or
            of objects where categories are no numbers.
        """
        with self._restore_on_error():
            matrix, filled = self._fill_training_data(X)
            return self._fill(X, matrix, filled)

    def _fill_training_data(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the samples as numbers and codes, and the same with the missing ones filled in."""
        self._check_params()
        seed = self._draw_seed()
        matrix = self._read_training_data(X)
        self.n_features_in_ = matrix.shape[1]
        is_missing = np.isnan(matrix)
        n_missing = is_missing.sum(axis=0)
        empty = np.flatnonzero(n_missing == matrix.shape[0])
        if empty.size:
            raise ValueError(
                f"Columns must have a value in some sample. Got none in {self._name(empty)}."
            )
        order = np.argsort(n_missing if self.columns == "ascending" else -n_missing, kind="stable")
        is_wanted = (n_missing > 0) | (~self.passes_through_ & (not self.skip_complete))
        wanted = [int(f) for f in order if is_wanted[f]]
        endless = [feature for feature in sorted(wanted) if np.isinf(matrix[:, feature]).any()]
        if endless:
            raise ValueError(
                "Columns that forests predict must be finite. Got infinity in "
                f"{self._name(np.array(endless))}."
            )
        if wanted and np.count_nonzero(~self.passes_through_) == 1:
            raise ValueError(
                "X must have at least 2 columns of numbers or categories, as each is predicted "
                "from the others. Got 1."
            )
        of_numbers = [feature for feature in wanted if not self._mark_categorical()[feature]]
        self.ranges_ = find_ranges(X, matrix, of_numbers)
        before: _Filled | None = None
        changes: tuple[float, float] | None = None
        self.n_iter_ = 1
        for cycle in range(self.max_iter if wanted else 0):
            start = matrix if before is None else before.matrix
            filled = self._fill_once(start, is_missing, wanted, seed, cycle)
            if before is not None:
                new_changes = self._measure_changes(before.matrix, filled.matrix, is_missing)
                if changes is not None and _has_grown(changes, new_changes):
                    break
                changes = new_changes
            before, self.n_iter_ = filled, cycle + 1
            if not is_missing.any() or changes == (0.0, 0.0):
                break
        self.forests_ = {} if before is None else before.forests
        nothing = np.full(matrix.shape[1], np.nan)
        self.oob_error_ = nothing if before is None else before.errors
        return matrix, matrix if before is None else before.matrix

    def _check_params(self) -> None:
        name = type(self).__name__
        check_int(name, "max_iter", self.max_iter, 1)
        if not isinstance(self.columns, str) or self.columns not in _COLUMNS:
            self._reject("columns", "'ascending' or 'descending'")
        if not isinstance(self.splitter, str) or self.splitter not in _FORESTS:
            self._reject("splitter", "a str among {'random', 'best'}")
        if not is_bool(self.skip_complete):
            self._reject("skip_complete", "a bool")
        check_verbose(name, self.verbose)
        self._read_handle_unknown()
        check_int(name, "n_estimators", self.n_estimators, 1)
        forest = RandomForestRegressor(**self._list_forest_params())
        check_params(forest._read_tree_params(), name, "regression")
        self._count_threads()

    def _list_forest_params(self) -> dict[str, Any]:
        names = ("n_estimators", "max_features", "min_samples_leaf", "n_jobs")
        return {name: getattr(self, name) for name in names}

    def _read_training_data(self, X: Any) -> NDArray[np.float64]:
        _refuse_sparse(X)
        passed = find_times(X, self.categorical_features)
        coded = self._validate_X(without_repeated_names(hide_columns(X, passed)))
        matrix = coded.decode() if isinstance(coded, Columns) else coded
        self.passes_through_ = np.zeros(matrix.shape[1], dtype=bool)
        self.passes_through_[passed] = True
        return np.array(matrix, dtype=np.float64, order="F")

    # --- Cycles ---------------------------------------------------------------------------------

    def _fill_once(
        self,
        start: NDArray[np.float64],
        is_missing: NDArray[np.bool_],
        wanted: list[int],
        seed: int,
        cycle: int,
    ) -> _Filled:
        """Fill the missing values of some columns in turn by forests that are grown for it."""
        matrix = start.copy(order="F")
        forests: dict[int, Any] = {}
        errors = np.full(matrix.shape[1], np.nan)
        seeds = list_tree_seeds(seed, cycle * matrix.shape[1], matrix.shape[1])
        work = f"cycle {cycle + 1}, growing"
        with show_progress(int(self.verbose), 0, len(wanted), work, "forest") as report:
            for number, feature in enumerate(wanted):
                is_known = ~is_missing[:, feature]
                others = np.delete(matrix, self._list_hidden(feature), axis=1)
                forest = self._make_forest(feature, seeds[feature])
                target = self._read_target(matrix[is_known, feature], feature)
                errors[feature] = _fit(forest, others[is_known], target)
                forests[feature] = forest
                if not is_known.all():
                    matrix[~is_known, feature] = _predict(forest, others[~is_known])
                if report is not None:
                    report(number + 1)
        return _Filled(matrix, forests, errors)

    def _make_forest(self, feature: int, seed: int) -> Any:
        """Return the forest that predicts a column from all others."""
        is_categorical = self._mark_categorical()
        kind: Any = _FORESTS[self.splitter][int(is_categorical[feature])]
        others = np.delete(is_categorical, self._list_hidden(feature))
        # Samples out of bag tell the error. Extra trees draw few of them.
        draws = {"replace": False, "max_samples": 0.8} if self.splitter == "random" else {}
        return kind(
            **self._list_forest_params(),
            **draws,
            bootstrap=True,
            oob_score=_find_error,
            random_state=seed,
            categorical_features=np.flatnonzero(others) if others.any() else None,
        )

    def _list_hidden(self, feature: int) -> list[int]:
        """Return the columns that the forest of a column does not see."""
        return [feature, *np.flatnonzero(self.passes_through_).tolist()]

    def _mark_categorical(self) -> NDArray[np.bool_]:
        if self.is_categorical_ is None:
            return np.zeros(self.n_features_in_, dtype=bool)
        return self.is_categorical_

    def _read_target(self, values: NDArray[np.float64], feature: int) -> NDArray[Any]:
        return values.astype(np.int64) if self._mark_categorical()[feature] else values

    def _measure_changes(
        self,
        old: NDArray[np.float64],
        new: NDArray[np.float64],
        is_missing: NDArray[np.bool_],
    ) -> tuple[float, float]:
        """Return how much filled numbers and filled categories have changed (paper, section 2)."""
        is_categorical = self._mark_categorical()
        of_numbers, of_codes = is_missing & ~is_categorical, is_missing & is_categorical
        total = float(np.sum(new[of_numbers] ** 2))
        change = float(np.sum((new[of_numbers] - old[of_numbers]) ** 2))
        n_codes = int(np.count_nonzero(of_codes))
        n_changed = int(np.count_nonzero(new[of_codes] != old[of_codes]))
        return change / total if total > 0.0 else 0.0, n_changed / max(n_codes, 1)

    # --- New samples ----------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Return samples with their missing values filled in by the forests of `fit`.

        The forests predict in the order of the columns, in as many cycles as `fit` has used.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        X : ndarray or data frame of shape (n_samples, n_features)
            A copy without missing values. A frame has its types and categories; whole numbers and
            bools that were missing are rounded predictions. Of other data an array: of float64, or
            of objects where categories are no numbers.

        Raises
        ------
        ValueError
            If `X` has missing values in columns that had none in `fit`, unless
            `skip_complete=False`; or if the type of a column does not have a value that its forest
            predicts.
        TypeError
            If dates, times or durations are missing, in columns that are not categorical.
        """
        check_is_fitted(self)
        _refuse_sparse(X)
        read = hide_columns(X, np.flatnonzero(self.passes_through_).tolist())
        if not hasattr(self, "feature_names_in_"):
            read = without_repeated_names(read)
        rows = self._validate_values(read)
        rows = rows.decode() if isinstance(rows, Columns) else rows
        matrix = np.array(rows, dtype=np.float64, order="F")
        is_missing = np.isnan(matrix)
        unable = np.setdiff1d(np.flatnonzero(is_missing.any(axis=0)), list(self.forests_))
        if unable.size:
            raise ValueError(
                f"X has missing values in {self._name(unable)}, which had none in fit and so have "
                "no forest. Fit with skip_complete=False."
            )
        filled = matrix.copy(order="F")
        for _ in range(self.n_iter_ if is_missing.any() else 0):
            for feature, forest in self.forests_.items():
                rows_of = is_missing[:, feature]
                if rows_of.any():
                    others = np.delete(filled[rows_of], self._list_hidden(feature), axis=1)
                    filled[rows_of, feature] = _predict(forest, others)
        return self._fill(X, matrix, filled)

    def _fill(self, X: Any, old: NDArray[np.float64], new: NDArray[np.float64]) -> Any:
        """Return X with new numbers and codes where old ones are missing."""
        filled = fill_cells(X, old, new, self.categories_, self.ranges_)
        if is_frame(filled) and _get_output_config("transform", self)["dense"] == "pandas":
            # scikit-learn would lose the types of the frames of other libraries.
            return to_pandas(filled)
        return let_numpy_read_floats(filled)

    def _find_fault(self, forest: Any) -> str | None:  # noqa: ARG002 - there are no own trees
        n_features = self.n_features_in_
        for feature, own in self.forests_.items():
            if type(feature) is not int or not 0 <= feature < n_features:
                return f"a forest for the column {feature!r} of {n_features}"
            is_categorical = int(self._mark_categorical()[feature])
            kinds = [kinds[is_categorical] for kinds in _FORESTS.values()]
            n_others = n_features - len(self._list_hidden(feature))
            if type(own) not in kinds or own.n_features_in_ != n_others:
                return f"the forest for the column {feature}"
        mask = None if self.is_categorical_ is None else self.is_categorical_.tolist()
        known = self.categories_
        if mask != (None if known is None else [of is not None for of in known]):
            return "is_categorical_ contradicts categories_"
        return None if type(self.n_iter_) is int else "n_iter_ is no int"

    def _name(self, features: NDArray[np.intp]) -> str:
        """Return names or numbers of columns for a message."""
        names = getattr(self, "feature_names_in_", None)
        listed = [repr(names[f]) if names is not None else str(f) for f in features[:5]]
        more = f" and {features.size - 5} more" if features.size > 5 else ""
        return f"column {', '.join(listed)}{more}"


def _predict(forest: Any, X: NDArray[np.float64]) -> NDArray[Any]:
    # Categories that are new to a forest of some column are nothing to tell of.
    with tell_nothing():
        predicted: NDArray[Any] = forest.predict(X)
    return predicted


def _refuse_sparse(X: Any) -> None:
    if (
        sparse.issparse(X)
        or (isinstance(X, Dataset) and X.is_sparse)
        or (is_frame(X) and X.shape[1] > 0 and is_sparse_frame(X))
    ):
        raise TypeError(
            "MissForestImputer fills dense data. Got sparse data: what it does not store is 0 "
            "and not missing."
        )


def _find_error(true: NDArray[Any], predicted: NDArray[Any]) -> float:
    """Return the mean squared error of numbers, or the share of wrong codes."""
    true, predicted = true.ravel(), predicted.ravel()
    if predicted.dtype.kind == "f":
        return float(np.mean((true - predicted) ** 2))
    return float(np.mean(true != predicted))


def _fit(forest: Any, X: NDArray[np.float64], y: NDArray[Any]) -> float:
    """Fit a forest, and return its error out of bag; NaN if all trees have seen all samples."""
    with warnings.catch_warnings():
        # With few samples or trees, the error covers the samples that some tree has not seen.
        warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
        # Codes may be as many as samples.
        warnings.filterwarnings("ignore", "The number of unique classes is greater than 50%")
        forest.fit(X, y)
    error = float(forest.oob_score_)
    # Files hold no functions: the forest becomes one without the estimate.
    forest.oob_score = False
    for name in ("oob_score_", "oob_prediction_", "oob_decision_function_"):
        vars(forest).pop(name, None)
    return error


def _has_grown(old: tuple[float, float], new: tuple[float, float]) -> bool:
    """Return whether changes have grown for all kinds of values that change."""
    kinds = [(was, now) for was, now in zip(old, new, strict=True) if was > 0.0 or now > 0.0]
    return bool(kinds) and all(now > was for was, now in kinds)
