"""Causal forests: the effect of a treatment, given features."""

from __future__ import annotations

from dataclasses import field
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spinney._base.features import FeatureReader
from spinney._base.saving import Stored
from spinney._common.blocks import divide_rows, join_blocks
from spinney._common.checks import check_int, check_verbose, is_bool
from spinney._common.messages import warn_caller
from spinney._common.progress import show_progress
from spinney._data.arrays import to_native, to_rows
from spinney._data.categories import count_categories
from spinney._fit.draws import Draws
from spinney._fit.params import with_parameters
from spinney._fit.signatures import TreeParameters
from spinney._fit.task import Task
from spinney._spinney import Columns, Forest, check_params, fill_leaves, list_tree_seeds
from spinney.causal._arguments import (
    check_varies,
    read_groups,
    read_numbers,
    read_treatments,
    read_weights,
)
from spinney.causal._bags import LittleBags, Units, draw_batch
from spinney.causal._centring import Centring
from spinney.causal._estimates import (
    Estimate,
    LinearEstimates,
    Scored,
    average,
    average_of_arm,
    average_of_overlap,
    rank_average,
    regress,
)
from spinney.causal._moments import N_MOMENTS, find_effects, find_intervals, find_variances

if TYPE_CHECKING:
    from typing_extensions import Self

# A centred treatment that is as small, relative to the largest, has no part in splits: its outcome
# would be divided by it. In leaves it counts.
_NEGLIGIBLE = 1e-6
# Cells of rows and trees whose draws are held at once.
_DRAWS_AT_ONCE = 2**24
# Propensities outside these bounds are warned about, if more than this share of samples has them.
_LEAST_PROPENSITY = 0.05
_SHARE_OUTSIDE = 0.01
# Of the trees that centre the data. Leaves of 5 samples take the treatment of some for certain, and
# leaves of 40 miss more of what moves both treatments and outcomes.
_CENTRING_LEAF = 15
_LEAST_CENTRING_TREES = 50


@with_parameters
class CausalForest(Stored, FeatureReader, TreeParameters):
    """A causal forest: what a treatment does, and for whom, with intervals.

    Outcomes and treatments are centred: less what forests, out of bag, expect of them given the
    features. Trees then look for groups of samples in which the treatment does different things.
    Half of the samples of a tree choose its splits, and the other half fills its leaves ("honest").
    The effect at a sample is the slope of a regression of outcomes on treatments, in which training
    samples weigh by how often they share its leaves.

    This is the effect of the treatment if features tell all that moves both the treatment and the
    outcome, and if samples like it are found with and without the treatment.

    Parameters
    ----------
    n_estimators : int, default=2000
        Number of trees, a multiple of `subforest_size`. Intervals need more trees than effects.
    max_samples : int or float, default=0.5
        Number of samples, or of groups, that each tree draws without replacement, for both halves.
        A float is a fraction of them, at most 0.5.
    subforest_size : int, default=2
        How many trees share a random half of the samples. Variances come from these little bags.
    honest : bool, default=True
        Whether other samples fill the leaves of a tree than those that have chosen its splits.
    honest_fraction : float, default=0.5
        Share of the samples of a tree that choose the splits, if `honest`.
    max_features : "auto", int, float, {"sqrt", "log2"} or None, default="auto"
        Number of features that each node draws as candidates for its split. "auto" is the square
        root of their number, rounded up, plus 20, or all if there are fewer. A float is a fraction
        of all features, "sqrt" and "log2" are functions of their number, and None means all.
    model_y : float, array-like, estimator or None, default=None
        What is expected of outcomes, given the features. None: what forests of all features
        predict out of bag. A number or an array of shape (n_samples,) says what is known. An
        estimator of scikit-learn is fitted without each of `cv` folds, and predicts them.
    model_t : float, array-like, estimator or None, default=None
        The same for treatments: of a binary one the propensity, 0.5 if a fair coin has chosen. The
        estimator may be a classifier.
    cv : int, default=5
        Number of folds for estimators as `model_y` and `model_t`.
    max_depth : int, default=None
        Largest depth of a leaf. None means no limit.
    min_samples_split : int or float, default=2
        A node with fewer samples becomes a leaf. A float is a fraction of the number of training
        samples.
    min_samples_leaf : int or float, default=5
        Each child of a split must have at least this many of the samples that choose splits. A
        float is a fraction of the number of all samples. Leaves that none of the other samples
        reach are removed.
    max_leaf_nodes : int, default=None
        Largest number of leaves of a tree. The tree is then grown best first: the next node to be
        split is the one whose split reduces the impurity of the tree most. None means no limit.
    feature_sampling : {"all", "active"}, default="all"
        The features among which a node draws `max_features`: "all" of them, or only the "active"
        ones, which are not constant in the node. If a node has fewer active features than it draws,
        it uses all of them.
    categorical_features : None, "from_dtype" or array-like of bool, int or str, default=None
        Which features are categorical. None: no feature. "from_dtype": the columns of a data frame
        that have a categorical dtype. Otherwise a boolean mask, or the indices or names of the
        categorical features; a list may have "from_dtype" among them. A categorical column may have
        any number of distinct values, of any type that can be sorted, such as strings. A split
        sends a set of categories to one child. Categories that do not occur in the node, or did not
        occur in `fit`, go to the child with the larger weight.
    min_samples_category : int, default=1
        In each node, all categories of a feature that have fewer samples than this are treated as
        one category. Missing values are a category here: if they are fewer, they go where the other
        rare categories go.
    handle_unknown : {"ignore", "error"}, default="ignore"
        What predictions do with categories that did not occur in `fit`. "ignore": splits send them
        to the child with the larger weight, and a warning names features without any known
        category, perhaps because their type has changed. "error": they raise ValueError. Missing
        values are no unknown categories.
    n_jobs : int, default=None
        Number of threads for `fit` and for predictions. None means 1 unless
        `joblib.parallel_config` sets another number, and -1 means all processors. Results do not
        depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of everything that is random: halves and samples of trees, features that nodes draw,
        folds, and the order that decides between equally good splits. An int, which may be as large
        as 2**64 - 1, makes results repeatable.
    verbose : int, default=0
        Whether to report on stderr how many trees are grown. 0: no report. 1: a progress bar if
        tqdm is installed, otherwise at most one line per second. 2 or more: a line at every update.

    Attributes
    ----------
    forest_ : Forest
        The compiled trees. They predict moments, not effects.
    labels_ : ndarray of shape (2,) or None
        The labels without and with the treatment; None if treatments are numbers or bools.
    is_binary_ : bool
        Whether treatments are 0 or 1, or labels.
    oob_prediction_ : ndarray of shape (n_samples,)
        The effects at the training samples, by the trees that have not seen them. This and the
        next two are NaN for samples of weight 0.
    expected_y_ : ndarray of shape (n_samples,)
        What was expected of the outcomes.
    expected_t_ : ndarray of shape (n_samples,)
        What was expected of the treatments: the propensities of a binary one.
    feature_importances_ : ndarray of shape (n_features_in_,)
        How much the splits on each feature lower the squared error of outcomes by treatments,
        among the samples that fill the leaves; normalised to a sum of 1.
    max_features_ : int
        Number of features that each node draws.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`. Exists only if `X` has names that are all strings.
    is_categorical_ : ndarray of bool of shape (n_features_in_,), or None
        Which features are categorical. None if no feature is.
    categories_ : list of ndarray, or None
        For each categorical feature, its distinct values in `fit`: sorted, except that 0 comes
        first. The index of a value is the code that stands for it in the compiled trees. The entry
        of a numeric feature is None. None if no feature is categorical.

    Notes
    -----
    A split lowers the squared error of centred outcomes (Y) by centred treatments (W) as much as
    it can (the "R-loss"): the trees are regression trees of Y / W with weights W ** 2. Samples for
    which W vanishes have no part in splits, but in leaves.

    Categories are ordered by the samples of the node alone, so that trees stay honest.

    References
    ----------
    S. Wager, S. Athey, "Estimation and inference of heterogeneous treatment effects using random
    forests", Journal of the American Statistical Association 113, 2018.

    S. Athey, J. Tibshirani, S. Wager, "Generalized random forests", Annals of Statistics 47, 2019.

    X. Nie, S. Wager, "Quasi-oracle estimation of heterogeneous treatment effects", Biometrika 108,
    2021.

    Examples
    --------
    >>> import numpy as np
    >>> from spinney.causal import CausalForest
    >>> rng = np.random.default_rng(0)
    >>> X, T = rng.normal(size=(1000, 5)), rng.integers(0, 2, 1000)
    >>> y = X[:, 1] + (X[:, 0] > 0) * T + rng.normal(size=1000)
    >>> forest = CausalForest(200, model_t=0.5, random_state=0).fit(X, T, y)
    >>> forest.predict([[-1, 0, 0, 0, 0], [1, 0, 0, 0, 0]]).round(1)
    array([0.3, 1. ])
    """

    n_estimators: int = field(default=2000, kw_only=False)
    max_samples: float = 0.5
    subforest_size: int = 2
    honest: bool = True
    honest_fraction: float = 0.5
    max_features: float | Literal["auto", "sqrt", "log2"] | None = "auto"
    min_samples_leaf: float = 5
    model_y: Any = None
    model_t: Any = None
    cv: int = 5
    verbose: int = 0
    min_weight_fraction_leaf: float = field(default=0.0, init=False)
    ccp_alpha: float = field(default=0.0, init=False)

    _task: ClassVar[str] = "effects"

    forest_: Forest
    labels_: NDArray[Any] | None
    is_binary_: bool
    oob_prediction_: NDArray[np.float64]
    expected_y_: NDArray[np.float64]
    expected_t_: NDArray[np.float64]
    max_features_: int
    # Of the training samples: treatments, outcomes, weights, numbers of groups (-1: of weight 0),
    # and the variance of the treatment given the features, unless it is binary.
    _treatments: NDArray[np.float64]
    _outcomes: NDArray[np.float64]
    _weights: NDArray[np.float64] | None
    _groups: NDArray[np.int64]
    _spread: NDArray[np.float64] | None
    _seed: int

    # --- Parameters -----------------------------------------------------------------------------

    def _check_params(self) -> tuple[int, int]:
        """Return the seed and the number of threads; raise an error for illegal parameters."""
        name = type(self).__name__
        check_int(name, "subforest_size", self.subforest_size, 2)
        check_int(name, "n_estimators", self.n_estimators, 2 * self.subforest_size)
        if self.n_estimators % self.subforest_size:
            self._reject("n_estimators", f"a multiple of subforest_size, {self.subforest_size}")
        max_samples: Any = self.max_samples
        if isinstance(max_samples, Integral):
            check_int(name, "max_samples", max_samples, 2)
        elif not (isinstance(max_samples, Real) and 0.0 < float(max_samples) <= 0.5):
            self._reject("max_samples", "an int in the range [2, inf) or a float in (0.0, 0.5]")
        if not is_bool(self.honest):
            self._reject("honest", "a bool")
        fraction: Any = self.honest_fraction
        if not (isinstance(fraction, Real) and 0.0 < float(fraction) < 1.0):
            self._reject("honest_fraction", "a float in the range (0.0, 1.0)")
        check_int(name, "cv", self.cv, 2)
        check_verbose(name, self.verbose)
        check_params(self._make_tree_params(21), name, "regression")
        self._read_handle_unknown()
        return self._draw_seed(), self._count_threads()

    def _make_tree_params(self, n_features: int) -> dict[str, Any]:
        """Return the parameters of trees, by scikit-learn's names."""
        max_features: Any = self.max_features
        if isinstance(max_features, str) and max_features == "auto":
            max_features = min(int(np.ceil(np.sqrt(n_features))) + 20, n_features)
        return {
            "category_order": "node",
            "ccp_alpha": 0.0,
            "criterion": "squared_error",
            "feature_sampling": self.feature_sampling,
            "max_depth": self.max_depth,
            "max_features": max_features,
            "max_leaf_nodes": self.max_leaf_nodes,
            "min_impurity_decrease": 0.0,
            "min_samples_category": self.min_samples_category,
            "min_samples_leaf": self.min_samples_leaf,
            "min_samples_split": self.min_samples_split,
            "min_weight_fraction_leaf": 0.0,
            "monotonic_cst": None,
            "splitter": "best",
        }

    # --- Growth ---------------------------------------------------------------------------------

    def fit(self, X: Any, T: Any, y: Any, *, sample_weight: Any = None, groups: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The features: all that may move both treatments and outcomes, as known before the
            treatment.
        T : array-like of shape (n_samples,)
            The treatments: 0 and 1, bools, two labels, or amounts.
        y : array-like of shape (n_samples,)
            The outcomes.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. None means 1 for all. Samples of weight 0 have no influence.
        groups : array-like of shape (n_samples,), default=None
            The group of each sample, such as a school or a patient, whose samples depend on each
            other. Groups are drawn as a whole, and standard errors are by groups.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            If a parameter or an argument is illegal. The message names it. Whatever is raised, the
            estimator keeps the attributes it had before the call.
        """
        with self._restore_on_error():
            return self._fit(X, T, y, sample_weight, groups)

    def _fit(self, X: Any, T: Any, y: Any, sample_weight: Any, groups: Any) -> Self:
        self._seed, n_threads = self._check_params()
        matrix = self._validate_X(X)
        n_samples, self.n_features_in_ = matrix.shape
        treatments, self.labels_ = read_treatments(T, n_samples)
        outcomes = read_numbers(y, "y", n_samples)
        weights = read_weights(sample_weight, n_samples)
        is_drawn = np.ones(n_samples, dtype=bool) if weights is None else weights > 0
        units = Units(read_groups(groups, n_samples, is_drawn))
        check_varies(treatments[is_drawn])
        self.is_binary_ = bool(np.isin(treatments, (0.0, 1.0)).all())
        counts = count_categories(self.categories_)
        columns = matrix
        if not isinstance(matrix, Columns):
            columns = Columns(to_native(matrix), counts, n_threads)
        task = Task(
            y=None,
            n_classes=None,
            params=self._make_tree_params(self.n_features_in_),
            estimator=type(self).__name__,
            seed=self._seed,
            n_categories=counts,
            n_threads=n_threads,
        )
        bags = self._make_bags(units)
        centring_task = task._replace(
            params={
                **task.params,
                "max_features": None,
                "max_depth": None,
                "max_leaf_nodes": None,
                "min_samples_leaf": _CENTRING_LEAF,
                "min_samples_split": 2,
            }
        )
        n_trees = max(_LEAST_CENTRING_TREES, self.n_estimators // 4)
        self._centre(
            Centring(X, columns, centring_task, units, weights, n_trees, self.cv),
            treatments,
            outcomes,
        )
        self._treatments, self._outcomes = treatments, outcomes
        self._weights, self._groups = weights, units.groups
        self._grow(columns, task, bags)
        return self

    def _make_bags(self, units: Units) -> LittleBags:
        """Return how trees draw; raise ValueError if there are too few samples for that."""
        what = "samples of positive weight" if len(units.groups) == units.n_units else "groups"
        max_samples: Any = self.max_samples
        share = 1 if isinstance(max_samples, Integral) else units.n_units
        n_draws = int(max_samples * share)
        n_growing = round(self.honest_fraction * n_draws) if self.honest else 0
        if self.honest:
            n_growing = min(max(n_growing, 1), n_draws - 1)
        if not 2 <= n_draws <= units.n_units // 2:
            raise ValueError(
                f"max_samples={self.max_samples!r} must be 2 to half of the {units.n_units} {what}."
            )
        return LittleBags(units, self._seed, self.subforest_size, n_draws, n_growing)

    def _centre(
        self, centring: Centring, treatments: NDArray[np.float64], outcomes: NDArray[np.float64]
    ) -> None:
        """Learn what is expected of outcomes and treatments, and tell of a lack of overlap."""
        seeds = list_tree_seeds(self._seed, self.n_estimators, 3)
        self.expected_y_ = centring.expect(self.model_y, "model_y", outcomes, seeds[0])
        self.expected_t_ = centring.expect(self.model_t, "model_t", treatments, seeds[1])
        self._spread = None
        is_drawn = centring.units.groups >= 0
        if not self.is_binary_:
            squares = (treatments - self.expected_t_) ** 2
            # Of rows of weight 0, estimators have expected nothing.
            squares[~is_drawn] = 0.0
            self._spread = centring.expect(None, "model_t", squares, seeds[2])
            return
        propensity = self.expected_t_[is_drawn]
        if np.any((propensity < 0.0) | (propensity > 1.0)):
            raise ValueError(
                "model_t must expect a binary treatment with a propensity in [0, 1]. "
                f"Got {propensity.min():g} to {propensity.max():g}."
            )
        is_outside = np.minimum(propensity, 1.0 - propensity) < _LEAST_PROPENSITY
        if is_outside.mean() > _SHARE_OUTSIDE:
            warn_caller(
                f"{100.0 * is_outside.mean():.1f} % of the samples have a propensity below "
                f"{_LEAST_PROPENSITY} or above {1.0 - _LEAST_PROPENSITY}: for them the data say "
                "little of what the other treatment would have done. See expected_t_; estimates "
                "can leave samples out by `subset`, or take target='overlap'."
            )

    def _grow(self, columns: Any, task: Task, bags: LittleBags) -> None:
        """Grow the trees, some at a time, and find the effects out of bag."""
        is_drawn = bags.units.groups >= 0
        n_samples = len(is_drawn)
        w = np.where(is_drawn, self._treatments - self.expected_t_, 0.0)
        y = np.where(is_drawn, self._outcomes - self.expected_y_, 0.0)
        is_used = np.abs(w) > _NEGLIGIBLE * np.abs(w).max()
        if not is_used.any():
            raise ValueError(
                "T must vary beyond what model_t expects. All treatments are as expected."
            )
        quotients = np.divide(y, w, out=np.zeros(n_samples), where=is_used)
        split_weights = np.where(is_used, w * w, 0.0)
        if self._weights is not None:
            split_weights *= self._weights
        task = task._replace(y=quotients.reshape(-1, 1))
        rows, n_threads = to_rows(columns), task.n_threads
        forest: Forest | None = None
        sums, n_unseen = np.zeros((n_samples, N_MOMENTS)), np.zeros(n_samples)
        step = max(1, _DRAWS_AT_ONCE // n_samples)
        with show_progress(int(self.verbose), 0, self.n_estimators) as report:
            for first in range(0, self.n_estimators, step):
                n_new = min(step, self.n_estimators - first)
                batch = draw_batch(bags, first, list_tree_seeds(task.seed, first, n_new))
                draws = Draws("given", n_samples, 1, None, split_weights, None, given=batch.growing)
                grown, self.max_features_, _ = task.grow_forest(columns, draws, first, n_new, None)
                filling = batch.filling
                own = fill_leaves(
                    grown, rows, (w, y, self._weights), filling.starts, filling.rows, n_threads
                )
                means, n_trees = own.predict_counted(rows, batch.unseen, n_threads)
                is_any = n_trees > 0
                sums[is_any] += means[is_any] * n_trees[is_any, None]
                n_unseen += n_trees
                forest = own if forest is None else forest.extended(own)
                if report is not None:
                    report(first + n_new)
        assert forest is not None
        self.forest_ = forest
        n_unseen[~is_drawn] = 0
        n_seen = int(np.count_nonzero(n_unseen[is_drawn] == 0))
        if n_seen:
            warn_caller(
                f"All trees have seen {n_seen} of the samples: their effects out of bag are NaN. "
                "Set a larger n_estimators."
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            self.oob_prediction_ = find_effects(sums / n_unseen[:, None])

    # --- Effects --------------------------------------------------------------------------------

    def predict(self, X: Any, interval: bool = False, alpha: float = 0.05) -> Any:
        """Predict the effect of the treatment at samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        interval : bool, default=False
            Whether to return the bounds of intervals as well; see `predict_interval`.
        alpha : float, default=0.05
            How often intervals miss.

        Returns
        -------
        effects : ndarray of shape (n_samples,)
            float64: by how much the outcome changes if the treatment grows by 1. NaN where all
            training samples nearby had the same treatment.
        low : ndarray of shape (n_samples,)
            If `interval`.
        high : ndarray of shape (n_samples,)
            If `interval`.
        """
        if not is_bool(interval):
            raise ValueError(f"interval must be a bool. Got {interval!r}.")
        if interval:
            check_alpha(alpha)
            effects, errors = self._predict_both(X)
            return (effects, *find_intervals(effects, errors, alpha))
        rows = self._validate_X_predict(X)
        return find_effects(self.forest_.predict(to_rows(rows), self._count_threads()))

    def predict_interval(
        self, X: Any, alpha: float = 0.05
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return intervals of the effects at samples: the effects, minus and plus their errors.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        alpha : float, default=0.05
            How often intervals miss, if the errors of the forest are random alone. Where effects
            change fast, a forest also has a bias, of which intervals do not know.

        Returns
        -------
        low, high : ndarray of shape (n_samples,)
            float64.
        """
        return tuple(self.predict(X, interval=True, alpha=alpha)[1:])

    def predict_and_var(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the effects at samples, and their variances.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        effects, variances : ndarray of shape (n_samples,)
            float64. Variances are of the estimates: how much these would differ if the data were
            drawn anew. With few trees they are too large.
        """
        effects, errors = self._predict_both(X)
        return effects, errors**2

    def prediction_stderr(self, X: Any) -> NDArray[np.float64]:
        """Return the standard errors of the effects at samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        errors : ndarray of shape (n_samples,)
            float64.
        """
        return self._predict_both(X)[1]

    def _predict_both(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return effects and their standard errors."""
        rows = to_rows(self._validate_X_predict(X))
        n_samples, n_threads = rows.shape[0], self._count_threads()
        effects = find_effects(self.forest_.predict(rows, n_threads))
        blocks = divide_rows(n_samples, N_MOMENTS * len(self.forest_))
        variances = join_blocks(
            n_samples,
            (
                find_variances(
                    self.forest_.predict_trees(rows, n_threads, block), self.subforest_size
                )
                for block in blocks
            ),
        )
        return effects, np.sqrt(variances)

    def oob_predict(self) -> NDArray[np.float64]:
        """Return the effects at the training samples, by the trees that have not seen them.

        Returns
        -------
        effects : ndarray of shape (n_samples,)
            float64, a copy of `oob_prediction_`.
        """
        check_is_fitted(self)
        return self.oob_prediction_.copy()

    def effect(self, X: Any, *, T0: float = 0, T1: float = 1) -> NDArray[np.float64]:
        """Return what changing the treatment from `T0` to `T1` does to the outcome.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        T0, T1 : float, default=0, 1
            Amounts of the treatment.

        Returns
        -------
        effects : ndarray of shape (n_samples,)
            float64.
        """
        effects: NDArray[np.float64] = (T1 - T0) * self.predict(X)
        return effects

    def effect_interval(
        self, X: Any, *, T0: float = 0, T1: float = 1, alpha: float = 0.05
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return intervals of what `effect` returns; see `predict_interval`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        T0, T1 : float, default=0, 1
            Amounts of the treatment.
        alpha : float, default=0.05
            How often intervals miss.

        Returns
        -------
        low, high : ndarray of shape (n_samples,)
            float64.
        """
        check_alpha(alpha)
        effects, errors = self._predict_both(X)
        return find_intervals((T1 - T0) * effects, abs(T1 - T0) * errors, alpha)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """How much the splits on each feature lower the squared error of outcomes by treatments.

        It is measured on the samples that fill the leaves, and normalised to a sum of 1. What it
        tells is what effects differ by, not what outcomes differ by.

        Returns
        -------
        importances : ndarray of shape (n_features_in_,)
            float64.
        """
        check_is_fitted(self)
        return self.forest_.compute_feature_importances()

    # --- Estimates ------------------------------------------------------------------------------

    def scores(self) -> NDArray[np.float64]:
        """Return the doubly robust score of each training sample.

        The mean of the scores is the average effect, also if either the effects or the propensities
        are somewhat wrong. Means over groups of samples, and regressions on features, are estimates
        for these.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            float64. NaN for samples of weight 0.

        Raises
        ------
        ValueError
            If the treatment of a sample is certain, given its features.
        """
        scored, rows = self._list_scored(None)
        scores = np.full(len(self._treatments), np.nan)
        scores[rows] = scored.score()
        return scores

    def average_treatment_effect(
        self,
        target: Literal["all", "treated", "control", "overlap"] = "all",
        *,
        subset: Any = None,
    ) -> Estimate:
        """Return the average effect of the treatment, and its standard error.

        Parameters
        ----------
        target : {"all", "treated", "control", "overlap"}, default="all"
            Over which samples: all, those with or without the treatment, or all by the variance of
            their treatment, which is small where one of the arms is rare.
        subset : array-like of shape (n_samples,) or (n,), default=None
            A mask or indices of training samples. None: all.

        Returns
        -------
        estimate : Estimate
            The fields `estimate` and `standard_error`, and `interval(alpha)`.

        Raises
        ------
        ValueError
            If `target` is illegal, or if the treatment of a sample is certain, given its features.
        """
        targets = ("all", "treated", "control", "overlap")
        if target not in targets:
            raise ValueError(f"target must be one of {targets}. Got {target!r}.")
        scored, _ = self._list_scored(subset)
        if target == "all":
            return average(scored.score(), scored)
        if target == "overlap":
            return average_of_overlap(scored)
        if not self.is_binary_:
            raise ValueError(f"target={target!r} needs a binary treatment. Use 'all' or 'overlap'.")
        return average_of_arm(scored, of_treated=target == "treated")

    def best_linear_projection(self, A: Any = None, *, subset: Any = None) -> LinearEstimates:
        """Return the linear regression of the effects on features.

        Parameters
        ----------
        A : array-like of shape (n_samples, n_columns), default=None
            Numbers of the training samples. None: the intercept alone.
        subset : array-like of shape (n_samples,) or (n,), default=None
            A mask or indices of training samples. None: all.

        Returns
        -------
        projection : LinearEstimates
            `coef`, `standard_errors` and `p_values` of shape (1 + n_columns,), the intercept first.
            Errors are HC3, by groups if there are any.
        """
        scored, rows = self._list_scored(subset)
        design = np.ones((len(rows), 1))
        if A is not None:
            table = np.asarray(A, dtype=np.float64)
            table = table.reshape(-1, 1) if table.ndim == 1 else table
            if table.ndim != 2 or len(table) != len(self._treatments):
                raise ValueError(
                    f"A must have a row for each of the {len(self._treatments)} training samples. "
                    f"Got shape {table.shape}."
                )
            design = np.column_stack([design, table[rows]])
            if not np.isfinite(design).all():
                raise ValueError("A must be finite.")
        return regress(scored.score(), design, scored)

    def rank_average_treatment_effect(
        self,
        priorities: Any,
        target: Literal["AUTOC", "QINI"] = "AUTOC",
        *,
        subset: Any = None,
    ) -> Estimate:
        """Return how well priorities tell who gains from the treatment.

        Let the samples of highest priority be treated first: the curve of targeting is their mean
        effect less that of all, by their share. This is the area below it.

        Parameters
        ----------
        priorities : array-like of shape (n_samples,)
            Of the training samples, by a model that has not seen them: such as a forest of other
            data, or a rule.
        target : {"AUTOC", "QINI"}, default="AUTOC"
            "AUTOC": all shares count alike, which finds effects of a few samples. "QINI": by size.
        subset : array-like of shape (n_samples,) or (n,), default=None
            A mask or indices of training samples. None: all.

        Returns
        -------
        estimate : Estimate
            0 for priorities that tell nothing. The standard error is from halves of the samples, or
            of the groups.
        """
        if target not in ("AUTOC", "QINI"):
            raise ValueError(f"target must be 'AUTOC' or 'QINI'. Got {target!r}.")
        given = read_numbers(priorities, "priorities", len(self._check_fitted()))
        scored, rows = self._list_scored(subset)
        return rank_average(scored.score(), given[rows], scored, target, self._seed)

    def calibration(self) -> LinearEstimates:
        """Return whether the forest has found how effects differ.

        Outcomes are regressed on treatments times the mean of the effects, and times what effects
        differ from it, all out of bag.

        Returns
        -------
        calibration : LinearEstimates
            Two coefficients. The first is 1 if the mean is right. The second is 1 if the
            differences are right, and above 0 if there are any. P-values are of one side, against
            0.
        """
        scored, _ = self._list_scored(None)
        mean = np.average(scored.effects, weights=scored.weights)
        design = np.column_stack(
            [scored.treatments * mean, scored.treatments * (scored.effects - mean)]
        )
        found = regress(scored.outcomes, design, scored)
        p_values = np.where(found.coef > 0, found.p_values / 2.0, 1.0 - found.p_values / 2.0)
        return found._replace(p_values=p_values)

    def _check_fitted(self) -> NDArray[np.float64]:
        """Return the treatments of the training samples; raise NotFittedError without any."""
        check_is_fitted(self)
        return self._treatments

    def _list_scored(self, subset: Any) -> tuple[Scored, NDArray[np.int64]]:
        """Return the training samples of a subset that have a weight, and their numbers."""
        n_samples = len(self._check_fitted())
        is_drawn = self._groups >= 0
        if subset is not None:
            chosen = np.asarray(subset)
            is_mask = chosen.dtype.kind == "b" and chosen.shape == (n_samples,)
            is_indices = (
                chosen.dtype.kind in "iu"
                and chosen.ndim == 1
                and bool(np.all((chosen >= 0) & (chosen < n_samples)))
            )
            if not (is_mask or is_indices):
                raise ValueError(
                    f"subset must be a mask of the {n_samples} training samples, or indices of "
                    f"some. Got shape {chosen.shape} of type {chosen.dtype}."
                )
            mask = np.zeros(n_samples, dtype=bool)
            mask[chosen] = True
            is_drawn = is_drawn & mask
        rows = np.flatnonzero(is_drawn)
        if len(rows) == 0:
            raise ValueError("subset has no samples of positive weight.")
        if not np.isfinite(self.oob_prediction_[rows]).all():
            raise ValueError(
                "There are samples without an effect out of bag: set a larger n_estimators, or "
                "leave them out by `subset`."
            )
        everything = Scored(
            self._outcomes - self.expected_y_,
            self._treatments - self.expected_t_,
            self.expected_t_,
            self.oob_prediction_,
            self._spread,
            np.ones(n_samples) if self._weights is None else self._weights,
            self._groups,
        )
        return everything.take(rows), rows

    # --- Files ----------------------------------------------------------------------------------

    def _get_forest(self) -> Forest:
        return self.forest_

    def _restore(self, attributes: dict[str, Any], forest: Forest) -> str | None:
        self.forest_ = forest
        return super()._restore(attributes, forest)

    def _find_fault(self, forest: Forest) -> str | None:
        if type(self.n_features_in_) is not int or self.n_features_in_ != forest.n_features:
            return f"n_features_in_ is {self.n_features_in_} for trees of {forest.n_features}"
        if forest.n_classes != [1] * N_MOMENTS:
            return f"trees of other numbers than moments, {forest.n_classes}"
        counts = count_categories(self.categories_) or []
        if (counts if any(counts) else []) != forest.n_categories:
            return "categories_ has other numbers of categories than the trees"
        optional = {"_weights", "_spread"}
        kinds: dict[str, Any] = {
            "_treatments": np.float64,
            "_outcomes": np.float64,
            "_weights": np.float64,
            "_spread": np.float64,
            "_groups": np.int64,
            "oob_prediction_": np.float64,
            "expected_y_": np.float64,
            "expected_t_": np.float64,
        }
        for name, dtype in kinds.items():
            array = getattr(self, name)
            if array is None and name in optional:
                continue
            if array.dtype != dtype or array.shape != self._treatments.shape:
                return f"{name} is no array of a value for each training sample"
        if type(self.subforest_size) is not int or len(forest) % self.subforest_size:
            return f"{len(forest)} trees in bags of {self.subforest_size}"
        return None


def check_alpha(alpha: Any) -> None:
    """Raise ValueError unless `alpha` is a chance."""
    if not (isinstance(alpha, Real) and 0.0 < float(alpha) < 1.0):
        raise ValueError(f"alpha must be a float in the range (0.0, 1.0). Got {alpha!r}.")
