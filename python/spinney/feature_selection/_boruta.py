"""Which features matter at all: those that are more important than random ones (Boruta)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import binom, false_discovery_control, rankdata
from sklearn.base import clone, is_classifier
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags, check_array
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from spinney._base.features import FeatureReader
from spinney._base.saving import Stored
from spinney._common.checks import (
    check_int,
    check_monotonic_cst,
    check_sample_weight,
    check_targets,
    check_verbose,
    is_bool,
)
from spinney._common.messages import reject_parameter
from spinney._common.progress import show_progress
from spinney._common.types import (
    RandomState,
    ShadowImportance,
)
from spinney._data.nullable import has_own_types, to_array
from spinney._fit.interactions import interaction_groups
from spinney._fit.labels import read_labels
from spinney._fit.params import store_parameters
from spinney._fit.survival import is_pair, make_indexable
from spinney._spinney import Columns, list_tree_seeds
from spinney.ensemble import RandomForestClassifier, RandomForestRegressor
from spinney.ensemble._forest import BaseForest
from spinney.feature_selection._shadows import number_values, with_shadows

if TYPE_CHECKING:
    from typing_extensions import Self

# The largest importance of fewer shadows says little.
_LEAST_SHADOWS = 5
_IMPORTANCES = ("impurity", "corrected", "permutation")
# With n_estimators="auto" a feature is in _USES trees, if trees of _DEPTH levels use it once.
_USES, _DEPTH = 100, 10

_ACCEPTED, _TENTATIVE, _REJECTED = 1, 0, -1


class Boruta(SelectorMixin, Stored, FeatureReader):
    """Selects all features that matter: those that are more important than shadows (Boruta).

    A forest is grown on the features and on as many shadows, which have the values of the features
    in a random order of the samples. A feature scores a hit if it is more important than the most
    important shadow. After many forests, a feature with more hits than chance allows is confirmed,
    and one with fewer is rejected and dropped. The names are as in boruta_py's `BorutaPy`, and
    sparse matrices, missing values and categories are taken as they are. The result does not depend
    on the number of threads; a sparse matrix and an array of its values get different shadows.

    Parameters
    ----------
    estimator : forest or None, default=None
        The forest that is asked: one of `spinney.ensemble`, not fitted. None means a
        `RandomForestClassifier` for classes, and a `RandomForestRegressor` for numbers. Its
        `n_estimators`, `random_state`, `warm_start` and `oob_score` are not used. Shadows have the
        constraints of their features where it has `monotonic_cst`.
    n_estimators : int or "auto", default="auto"
        Number of trees of each forest. "auto": enough that a feature is used a hundred times.
    perc : int or float, default=100
        Features are compared with this percentile of the importances of the shadows. 100 means the
        most important shadow; less finds more features, also wrong ones.
    alpha : float, default=0.05
        Level of the tests.
    two_step : bool, default=True
        How tests of many features are corrected. True: of the features of one iteration by
        Benjamini and Hochberg, of the iterations by Bonferroni. False: of the features by
        Bonferroni.
    max_iter : int, default=100
        Largest number of forests.
    importance_type : {"impurity", "corrected", "permutation"}, default="impurity"
        The importances: `feature_importances_`, or by `permutation_importance_oob` with
        `importance_type="impurity"` or "permutation", which are not larger for features of many
        values.
    early_stopping : bool, default=False
        Whether to stop if the decisions have not changed in `n_iter_no_change` iterations.
    n_iter_no_change : int, default=20
        See `early_stopping`.
    n_jobs : int, default=None
        Number of threads of the forests. None means `estimator`'s number, if it is given, else 1
        unless `joblib.parallel_config` sets another number; -1 means all processors.
    random_state : int, RandomState instance or None, default=None
        Seed of shadows and forests. An int, which may be as large as 2**64 - 1, makes results
        repeatable.
    verbose : int, default=0
        Whether to report on stderr how many forests are grown. 0: no report. 1: a progress bar if
        tqdm is installed, otherwise at most one line per second. 2 or more: a line at every update.
    categorical_features : None, "from_dtype" or array-like of bool, int or str, default=None
        Which features are categorical, as for forests. None means those of `estimator`, if it is
        given.

    Attributes
    ----------
    n_features_ : int
        Number of confirmed features.
    support_ : ndarray of bool of shape (n_features_in_,)
        Which features are confirmed.
    support_weak_ : ndarray of bool of shape (n_features_in_,)
        Which of the undecided features have a median importance above the best shadow's.
    ranking_ : ndarray of int of shape (n_features_in_,)
        1 for confirmed features, 2 for features of `support_weak_`, and numbers from 3 on for the
        others, by the median of their ranks.
    importance_history_ : ndarray of shape (n_forests, n_features)
        The importances in each forest, NaN for features that were dropped before.
    shadow_history_ : ndarray of shape (n_forests,)
        What the importances were compared with.
    n_iter_ : int
        Number of forests.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`. Exists only if `X` has names that are all strings.

    See Also
    --------
    spinney.RandomForestClassifier : Has `permutation_importance_oob`: scores without a feature.
    spinney.plot_importance : Draws importances.

    References
    ----------
    M. Kursa, W. Rudnicki, "Feature selection with the Boruta package", Journal of Statistical
    Software 36, 2010.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from spinney.feature_selection import Boruta
    >>> X, y = make_classification(
    ...     300, 10, n_informative=3, n_redundant=0, shuffle=False, random_state=0
    ... )
    >>> Boruta(max_iter=20, random_state=0).fit(X, y).support_[:3].tolist()
    [True, True, True]
    """

    estimator: Any
    n_estimators: Any
    perc: Any
    alpha: Any
    two_step: Any
    max_iter: Any
    importance_type: Any
    early_stopping: Any
    n_iter_no_change: Any
    verbose: Any

    n_features_: int
    support_: NDArray[np.bool_]
    support_weak_: NDArray[np.bool_]
    ranking_: NDArray[np.int64]
    importance_history_: NDArray[np.float64]
    shadow_history_: NDArray[np.float64]
    n_iter_: int

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int | Literal["auto"] = "auto",
        perc: float = 100,
        alpha: float = 0.05,
        two_step: bool = True,
        max_iter: int = 100,
        importance_type: ShadowImportance = "impurity",
        early_stopping: bool = False,
        n_iter_no_change: int = 20,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int | bool = 0,
        categorical_features: Any = None,
    ) -> None:
        store_parameters(locals())

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    # --- Parameters -----------------------------------------------------------------------------

    def _check_params(self) -> None:
        name = type(self).__name__
        if self.estimator is not None and not isinstance(self.estimator, BaseForest):
            expected = "a forest of spinney.ensemble or None"
            reject_parameter(name, "estimator", self.estimator, expected)
        if not (isinstance(self.n_estimators, str) and self.n_estimators == "auto"):
            check_int(name, "n_estimators", self.n_estimators, 1, " or 'auto'")
        self._check_real("perc", 100.0)
        self._check_real("alpha", 1.0)
        check_int(name, "max_iter", self.max_iter, 1)
        check_int(name, "n_iter_no_change", self.n_iter_no_change, 1)
        for flag in ("two_step", "early_stopping"):
            if not is_bool(getattr(self, flag)):
                self._reject(flag, "a bool")
        if not isinstance(self.importance_type, str) or self.importance_type not in _IMPORTANCES:
            self._reject("importance_type", f"a str among {set(_IMPORTANCES)}")
        check_verbose(name, self.verbose)
        self._count_threads()

    def _check_real(self, name: str, most: float) -> None:
        value = getattr(self, name)
        if not isinstance(value, Real) or is_bool(value) or not 0.0 < float(value) <= most:
            self._reject(name, f"a number in the range (0, {most:g}]")

    def _make_estimator(self, y: Any) -> Any:
        """Return the forest, not fitted."""
        if self.estimator is None:
            forest: Any = RandomForestRegressor() if _is_numeric(y) else RandomForestClassifier()
        else:
            forest = clone(self.estimator)
        # Each fit is of another forest, of which nothing but importances is asked.
        forest.set_params(warm_start=False, oob_score=False)
        if self.n_jobs is not None:
            forest.n_jobs = self.n_jobs
        if self.importance_type != "impurity" and not forest.bootstrap:
            raise ValueError(
                f"importance_type={self.importance_type!r} needs samples out of bag: the estimator "
                "must have bootstrap=True."
            )
        return forest

    def _choose_categorical_features(self) -> Any:
        if self.categorical_features is None and self.estimator is not None:
            return self.estimator.categorical_features
        return self.categorical_features

    # --- Fit ------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the features that matter.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples, as for forests.
        y : array-like of shape (n_samples,)
            The targets: class labels, or numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, which the forests get.

        Returns
        -------
        self : object
            The fitted selector.

        Raises
        ------
        ValueError, TypeError
            If a parameter or an argument is illegal. The message names it. Whatever is raised, the
            selector keeps the attributes it had before the call.
        """
        with self._restore_on_error():
            self._check_params()
            check_targets(type(self).__name__, y)
            seed = self._draw_seed()
            forest = self._make_estimator(y)
            if is_pair(y) and np.ndim(y[0]) == 1:
                y = make_indexable(y)
            y = read_labels(y) if is_classifier(forest) else y
            matrix, y = self._validate_fit(X, {"validate_separately": _CHECKS}, y)
            matrix = self._read_values(matrix, forest)
            self.n_features_in_ = matrix.shape[1]
            constraints = getattr(forest, "monotonic_cst", None)
            if constraints is not None:
                check_monotonic_cst(constraints, self.n_features_in_)
            groups = getattr(forest, "interaction_cst", None)
            interaction_groups(groups, self.n_features_in_)
            if sample_weight is not None:
                sample_weight = check_sample_weight(sample_weight, matrix.shape[0])
                if 0 < np.count_nonzero(sample_weight) < matrix.shape[0]:
                    # Shadows have values of samples that count.
                    is_used = np.flatnonzero(sample_weight)
                    matrix, y, sample_weight = matrix[is_used], y[is_used], sample_weight[is_used]
            self._decide(matrix, y, sample_weight, forest, seed)
        return self

    def _read_values(self, matrix: Any, forest: Any) -> Any:
        """Return the features as a CSC matrix or an array, of numbers that forests read fast."""
        if isinstance(matrix, Columns):
            matrix = matrix.decode()
        if sparse.issparse(matrix):
            # A copy, whose entries do not depend on how the matrix stores them.
            columns = sparse.csc_matrix(matrix, copy=True)
            columns.sum_duplicates()
            columns.eliminate_zeros()
            return columns
        # Random thresholds depend on the values.
        return number_values(matrix) if forest._splitter == "best" else matrix

    def _decide(self, matrix: Any, y: Any, sample_weight: Any, forest: Any, seed: int) -> None:
        n_features = matrix.shape[1]
        state = np.full(n_features, _TENTATIVE)
        hits = np.zeros(n_features, dtype=np.int64)
        history, shadow_history = [], []
        n_unchanged = 0
        work = "growing"
        with show_progress(int(self.verbose), 0, self.max_iter, work, "forest") as report:
            for iteration in range(1, self.max_iter + 1):
                active = np.flatnonzero(state != _REJECTED)
                forest_seed, shadow_seed = list_tree_seeds(seed, 2 * iteration, 2)
                rng = np.random.default_rng(shadow_seed)
                importances, shadows = self._measure(
                    matrix[:, active], active, y, sample_weight, forest, forest_seed, rng
                )
                limit = float(np.percentile(shadows, self.perc))
                row = np.full(n_features, np.nan)
                row[active] = importances
                history.append(row)
                shadow_history.append(limit)
                hits[active] += importances > limit
                before = state.copy()
                self._test(state, hits, iteration)
                n_unchanged = 0 if np.any(state != before) else n_unchanged + 1
                if report is not None:
                    report(iteration)
                is_still = self.early_stopping and n_unchanged >= self.n_iter_no_change
                if is_still or not np.any(state == _TENTATIVE):
                    break
        self._conclude(state, np.array(history), np.array(shadow_history))

    def _measure(
        self,
        features: Any,
        active: NDArray[np.intp],
        y: Any,
        sample_weight: Any,
        forest: Any,
        seed: int,
        rng: np.random.Generator,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the importances of features and of their shadows in one forest."""
        matrix, shadowed = with_shadows(features, _LEAST_SHADOWS, rng)
        numbers = np.concatenate([active, active[shadowed]])
        if self.is_categorical_ is not None and self.is_categorical_[active].any():
            forest.categorical_features = np.flatnonzero(self.is_categorical_[numbers])
        else:
            forest.categorical_features = None
        constraints = getattr(self.estimator, "monotonic_cst", None)
        if constraints is not None:
            forest.monotonic_cst = np.asarray(constraints)[numbers]
        groups = getattr(self.estimator, "interaction_cst", None)
        if groups is not None:
            # A shadow may interact with what its feature may interact with.
            groups = interaction_groups(groups, self.n_features_in_) or []
            forest.interaction_cst = [np.flatnonzero(np.isin(numbers, group)) for group in groups]
        forest.n_estimators = self._count_trees(matrix.shape[1], forest)
        forest.random_state = seed
        forest.fit(matrix, y, sample_weight=sample_weight)
        if self.importance_type == "impurity":
            importances = forest.feature_importances_
        else:
            shuffling = int(rng.integers(2**32))
            kind = "impurity" if self.importance_type == "corrected" else "permutation"
            importances = forest.permutation_importance_oob(
                matrix, y, n_repeats=1, importance_type=kind, random_state=shuffling
            ).importances_mean
        return importances[: active.shape[0]], importances[active.shape[0] :]

    def _count_trees(self, n_columns: int, forest: Any) -> int:
        if isinstance(self.n_estimators, Integral):
            return int(self.n_estimators)
        depth = _DEPTH if forest.max_depth is None else forest.max_depth
        return max(1, int(_USES * n_columns / (np.sqrt(n_columns) * depth)))

    def _test(self, state: NDArray[np.int64], hits: NDArray[np.int64], n_iterations: int) -> None:
        """Decide on features that have more or fewer hits than chance allows."""
        active = np.flatnonzero(state != _REJECTED)
        p_more = binom.sf(hits[active] - 1, n_iterations, 0.5)
        p_fewer = binom.cdf(hits[active], n_iterations, 0.5)
        is_more = self._are_significant(p_more, n_iterations, len(state))
        is_fewer = self._are_significant(p_fewer, n_iterations, len(state))
        is_open = state[active] == _TENTATIVE
        state[active[is_open & is_more]] = _ACCEPTED
        state[active[is_open & is_fewer]] = _REJECTED

    def _are_significant(
        self, p: NDArray[np.float64], n_iterations: int, n_features: int
    ) -> NDArray[np.bool_]:
        significant: NDArray[np.bool_]
        if self.two_step:
            significant = (false_discovery_control(p) <= self.alpha) & (
                p <= self.alpha / n_iterations
            )
        else:
            significant = p <= self.alpha / n_features
        return significant

    def _conclude(
        self,
        state: NDArray[np.int64],
        history: NDArray[np.float64],
        shadow_history: NDArray[np.float64],
    ) -> None:
        self.importance_history_, self.shadow_history_ = history, shadow_history
        self.n_iter_ = history.shape[0]
        self.support_ = state == _ACCEPTED
        self.n_features_ = int(np.count_nonzero(self.support_))
        is_open = state == _TENTATIVE
        medians = np.median(history, axis=0)
        self.support_weak_ = is_open & (medians > np.median(shadow_history))
        self.ranking_ = np.where(self.support_, 1, 2)
        others = np.flatnonzero(~(self.support_ | self.support_weak_))
        if others.size:
            ranks = rankdata(-history[:, others], axis=1, nan_policy="omit")
            self.ranking_[others] = 2 + rankdata(np.nanmedian(ranks, axis=0), method="dense")

    def _find_fault(self, forest: Any) -> str | None:  # noqa: ARG002 - there are no trees
        found = self.support_
        is_sound = found.dtype == np.bool_ and found.shape == (self.n_features_in_,)
        return None if is_sound else f"support_ is no mask of {self.n_features_in_} features"

    # --- Selection ------------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Return the selected features.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)

        Returns
        -------
        X_r : {ndarray, sparse matrix} of shape (n_samples, n_selected_features)
            Of frames too, unless `set_output` asks for frames. Objects if a selected column of a
            frame holds no numbers.

        Raises
        ------
        ValueError
            If X has other features than those of `fit`.
        """
        makes_array = _get_output_config("transform", self)["dense"] == "default"
        if not (makes_array and has_own_types(X)):
            return super().transform(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return to_array(self._transform(X))

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_


def _is_numeric(y: Any) -> bool:
    """Return whether targets are numbers and no classes."""
    if y is None:
        # It is refused with X.
        return False
    y = read_labels(y)
    # The next check does not say that it is about y.
    check_array(y, ensure_2d=False, dtype=None, accept_sparse=True, input_name="y")
    return bool(type_of_target(y).startswith("continuous"))


# X is checked as for forests; y has any type.
_CHECKS = (
    {"accept_sparse": ("csc", "csr"), "ensure_all_finite": False},
    {"ensure_2d": False, "dtype": None},
)
