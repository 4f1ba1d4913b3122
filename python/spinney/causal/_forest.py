"""Causal forests: the effect of a treatment, given features."""

from __future__ import annotations

from dataclasses import field
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from spinney._base.saving import Stored
from spinney._cluster.active import get_workers
from spinney._common.checks import check_int, check_verbose, is_bool
from spinney._common.messages import warn_caller
from spinney._common.progress import show_progress
from spinney._data.arrays import to_native
from spinney._data.categories import count_categories
from spinney._fit.groups import read_groups
from spinney._fit.interactions import interaction_groups
from spinney._fit.params import with_parameters
from spinney._fit.signatures import TreeParameters
from spinney._fit.task import Task
from spinney._spinney import Columns, Forest, check_params, list_tree_seeds
from spinney.causal._arguments import (
    check_unit,
    check_varies,
    read_numbers,
    read_pair,
    read_treatments,
    read_weights,
)
from spinney.causal._averages import INSTEAD, AverageEffects
from spinney.causal._bags import LittleBags, Units
from spinney.causal._centring import Centring
from spinney.causal._explained import ExplainedEffects
from spinney.causal._growth import Centred, Source, grow_filled
from spinney.causal._moments import N_MOMENTS, N_MOMENTS_OF_INSTRUMENTS
from spinney.dataset import Dataset

if TYPE_CHECKING:
    from typing_extensions import Self

# Propensities outside these bounds are warned about, if more than this share of samples has them.
_LEAST_PROPENSITY = 0.05
_SHARE_OUTSIDE = 0.01
# Of the trees that centre the data. Leaves of 5 samples take the treatment of some for certain, and
# leaves of 40 miss more of what moves both treatments and outcomes.
_CENTRING_LEAF = 15
_LEAST_CENTRING_TREES = 50


@with_parameters
class CausalForest(Stored, AverageEffects, ExplainedEffects, TreeParameters):
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
        Number of trees, at least two little bags. Intervals need more trees than effects.
    max_samples : int or float, default=0.5
        Number of samples, or of groups, that each tree draws without replacement, for both halves.
        A float is a fraction of them, at most 0.5.
    subforest_size : int, default=4
        How many trees share a random half of the samples, a little bag. The next bag has the other
        half. Variances come from what such pairs of bags agree in.
    honest : bool, default=True
        Whether other samples fill the leaves of a tree than those that have chosen its splits.
    honest_fraction : float, default=0.5
        Share of the samples of a tree that choose the splits, if `honest`.
    criterion : {"r_loss", "het"}, default="r_loss"
        What splits look for. "r_loss": that outcomes are explained by treatments as well as can be.
        "het": that effects differ, by labels that each node makes anew, as in grf; its errors are
        larger where treatments are rare. With an instrument it is always "het".
    alpha : float, default=0.2
        Each child of a split has at least this share of the samples of its parent, below 0.5. The
        theory of intervals is for shares up to 0.2.
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
    model_z : float, array-like, estimator or None, default=None
        The same for instruments, if `fit` is given any.
    cv : int, default=5
        Number of folds for estimators as `model_y`, `model_t` and `model_z`.
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
    interaction_cst : "pairwise", "no_interactions" or sequence of collections of int, default=None
        Groups of features that may interact: each path of a tree has features of one group alone. A
        sequence of collections of feature numbers, in which features that are in none of them are
        one more group; "pairwise": all groups of two; "no_interactions": each feature alone. None:
        no constraint. A feature that may not split a node counts as one that is constant there: see
        `max_features`.
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
    monotonic_cst : None, default=None
        Constraints are refused. They hold for the samples that choose splits, and others fill the
        leaves.
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
    expected_z_ : ndarray of shape (n_samples,), or None
        What was expected of the instruments, if there are any.
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

    See Also
    --------
    Estimate : An average effect, with its standard error.
    LinearEstimates : A linear projection of effects.
    spinney.RandomForestRegressor : A forest for outcomes alone.

    Notes
    -----
    A split lowers the squared error of centred outcomes (Y) by centred treatments (W) as much as
    it can (the "R-loss"): the trees are regression trees of Y / W with weights W ** 2. Samples for
    which W vanishes have no part in splits, but in leaves.

    With `criterion="het"` they are regression trees of labels: of how much each sample would change
    the effect in its node.

    Categories are ordered by the samples of the node alone, so that trees stay honest.

    References
    ----------
    S. Wager, S. Athey, "Estimation and inference of heterogeneous treatment effects using random
    forests", Journal of the American Statistical Association 113, 2018.

    S. Athey, J. Tibshirani, S. Wager, "Generalized random forests", Annals of Statistics 47, 2019.

    T. Xu, R. Zhu, X. Shao, "On variance estimation of random forests with infinite-order
    U-statistics", Electronic Journal of Statistics 18, 2024.

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
    array([0.2, 1. ])
    """

    n_estimators: int = field(default=2000, kw_only=False)
    max_samples: float = 0.5
    subforest_size: int = 4
    honest: bool = True
    honest_fraction: float = 0.5
    criterion: Literal["r_loss", "het"] = "r_loss"
    alpha: float = 0.2
    max_features: float | Literal["auto", "sqrt", "log2"] | None = "auto"
    min_samples_leaf: float = 5
    model_y: Any = None
    model_t: Any = None
    model_z: Any = None
    cv: int = 5
    verbose: int = 0
    monotonic_cst: Any = None
    min_weight_fraction_leaf: float = field(default=0.0, init=False)
    ccp_alpha: float = field(default=0.0, init=False)

    _task: ClassVar[str] = "effects"

    labels_: NDArray[Any] | None
    max_features_: int

    # --- Parameters -----------------------------------------------------------------------------

    def _check_params(self) -> tuple[int, int]:
        """Return the seed and the number of threads; raise an error for illegal parameters."""
        name = type(self).__name__
        check_int(name, "subforest_size", self.subforest_size, 1)
        check_int(name, "n_estimators", self.n_estimators, 2 * self.subforest_size)
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
        if self.monotonic_cst is not None:
            self._reject(
                "monotonic_cst",
                "None: other samples fill leaves than those that choose splits, so that no "
                "constraint would hold",
            )
        check_verbose(name, self.verbose)
        check_params(self._make_tree_params(21), name, "effects")
        self._read_handle_unknown()
        return self._draw_seed(), self._count_threads()

    def _make_tree_params(self, n_features: int) -> dict[str, Any]:
        """Return the parameters of trees, by scikit-learn's names."""
        max_features: Any = self.max_features
        if isinstance(max_features, str) and max_features == "auto":
            max_features = min(int(np.ceil(np.sqrt(n_features))) + 20, n_features)
        return {
            "alpha": self.alpha,
            "category_order": "node",
            "ccp_alpha": 0.0,
            "criterion": self.criterion,
            "feature_sampling": self.feature_sampling,
            "interaction_cst": None,
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

    def fit(
        self,
        X: Any,
        T: Any,
        y: Any = None,
        *,
        instrument: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The features: all that may move both treatments and outcomes, as known before the
            treatment.
        T : array-like of shape (n_samples,)
            The treatments: 0 and 1, bools, two labels, or amounts. With `y=None`, both, as scikit-
            learn's searches pass one target on: shape (n_samples, 2), treatments and outcomes.
        y : array-like of shape (n_samples,), default=None
            The outcomes.
        instrument : array-like of shape (n_samples,), default=None
            Numbers or bools that move treatments, and outcomes by these alone, such as a drawn
            invitation. What moves both treatments and outcomes may then be hidden. Effects are of
            those whose treatment it moves.
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
            return self._fit(X, T, y, instrument, sample_weight, groups)

    def _fit(
        self, X: Any, T: Any, y: Any, instrument: Any, sample_weight: Any, groups: Any
    ) -> Self:
        self.labels_ = None
        source, task, units = self._read(X, T, y, sample_weight, groups, instrument)
        bags = self._make_bags(units)
        self._centre(X, source, task, units)
        self._check_overlap()
        is_drawn = units.groups >= 0

        def centre(values: Any, expected: Any) -> NDArray[np.float64]:
            return np.where(is_drawn, values - expected, 0.0)

        data = Centred(
            centre(self._treatments, self.expected_t_),
            centre(self._outcomes, self.expected_y_),
            self._weights,
        )
        if self._instruments is not None:
            data = data._replace(instruments=centre(self._instruments, self.expected_z_))
        self._compliance = self._find_compliance(source, task, bags, data)
        with show_progress(int(self.verbose), 0, self.n_estimators) as report:
            filled = grow_filled(source, task, bags, data, self.n_estimators, report)
        self.forest_, self.max_features_, self.oob_prediction_ = filled
        n_seen = int(np.count_nonzero(~np.isfinite(self.oob_prediction_[is_drawn])))
        if n_seen:
            warn_caller(
                f"All trees have seen {n_seen} of the samples: their effects out of bag are NaN. "
                "Set a larger n_estimators."
            )
        return self

    def _find_compliance(
        self, source: Source, task: Task, bags: LittleBags, data: Centred
    ) -> NDArray[np.float64] | None:
        """Return what instruments do to treatments, out of bag; None if there are none."""
        if data.instruments is None or not _is_binary(self._instruments):
            return None
        seed = list_tree_seeds(self._seed, self.n_estimators, 4)[3]
        task = task._replace(params={**task.params, "criterion": "r_loss"}, seed=seed)
        data = Centred(data.instruments, data.treatments, data.weights)
        n_trees = max(_LEAST_CENTRING_TREES, self.n_estimators // 4)
        return grow_filled(source, task, bags._replace(seed=seed), data, n_trees, None).oob_effects

    def _read(
        self, X: Any, T: Any, y: Any, sample_weight: Any, groups: Any, instrument: Any = None
    ) -> tuple[Source, Task, Units]:
        """Return samples in the form that the compiled part takes, and what is drawn of them."""
        self._seed, n_threads = self._check_params()
        workers, dataset = get_workers(), None
        if workers is not None:
            dataset = Dataset(X, categorical_features=self.categorical_features, n_jobs=n_threads)
        matrix = self._validate_X(X if dataset is None else dataset)
        n_samples, self.n_features_in_ = matrix.shape
        T, y = read_pair(T, y)
        treatments, self.labels_ = read_treatments(T, n_samples, self.labels_)
        outcomes = read_numbers(y, "y", n_samples)
        weights = read_weights(sample_weight, n_samples)
        is_drawn = np.ones(n_samples, dtype=bool) if weights is None else weights > 0
        units = Units(read_groups(groups, n_samples, is_drawn))
        check_varies(treatments[is_drawn])
        check_unit(treatments, "T")
        check_unit(outcomes, "y")
        self._instruments = None
        if instrument is not None:
            self._instruments = read_numbers(instrument, "instrument", n_samples)
            check_unit(self._instruments, "instrument")
            if np.ptp(self._instruments[is_drawn]) == 0:
                raise ValueError("instrument must vary among the samples of positive weight.")
        elif self.model_z is not None:
            self._reject("model_z", "None without an instrument")
        self.is_binary_ = _is_binary(treatments)
        counts = count_categories(self.categories_)
        columns = matrix
        if not isinstance(matrix, Columns):
            columns = Columns(to_native(matrix), counts, n_threads)
        source = Source(columns, dataset, workers)
        params = self._make_tree_params(self.n_features_in_)
        params["interaction_cst"] = interaction_groups(self.interaction_cst, self.n_features_in_)
        if instrument is not None:
            params["criterion"] = "het"
        task = Task(
            y=None,
            n_classes=None,
            params=params,
            estimator=type(self).__name__,
            seed=self._seed,
            n_categories=counts,
            n_threads=n_threads,
        )
        self._treatments, self._outcomes = treatments, outcomes
        self._weights, self._groups = weights, units.groups
        return source, task, units

    def _make_bags(self, units: Units) -> LittleBags:
        """Return how trees draw; raise ValueError if there are too few samples for that."""
        what = "samples of positive weight" if len(units.groups) == units.n_units else "groups"
        max_samples: Any = self.max_samples
        share = 1 if isinstance(max_samples, Integral) else units.n_units
        if units.n_units < 4:
            raise ValueError(f"There must be at least four {what}. Got {units.n_units}.")
        n_draws = int(max_samples * share)
        n_growing = round(self.honest_fraction * n_draws) if self.honest else 0
        if self.honest:
            n_growing = min(max(n_growing, 1), n_draws - 1)
        if not 2 <= n_draws <= units.n_units // 2:
            raise ValueError(
                f"max_samples={self.max_samples!r} must be 2 to half of the {units.n_units} {what}."
            )
        return LittleBags(units, self._seed, self.subforest_size, n_draws, n_growing)

    def _centre(self, X: Any, source: Source, task: Task, units: Units) -> None:
        """Learn what is expected of outcomes and treatments."""
        own = {
            "criterion": "squared_error",
            "max_features": None,
            "max_depth": None,
            "max_leaf_nodes": None,
            "min_samples_leaf": _CENTRING_LEAF,
            "min_samples_split": 2,
        }
        params = {**task.params, **own}
        del params["alpha"]
        task = task._replace(params=params)
        n_trees = max(_LEAST_CENTRING_TREES, self.n_estimators // 4)
        centring = Centring(X, source, task, units, self._weights, n_trees, self.cv)
        seeds = list_tree_seeds(self._seed, self.n_estimators, 4)
        self.expected_y_ = centring.expect(self.model_y, "model_y", self._outcomes, seeds[0])
        self.expected_t_ = centring.expect(self.model_t, "model_t", self._treatments, seeds[1])
        self._spread = self.expected_z_ = None
        if self._instruments is not None:
            self.expected_z_ = centring.expect(self.model_z, "model_z", self._instruments, seeds[2])
        elif not self.is_binary_:
            squares = (self._treatments - self.expected_t_) ** 2
            # Of rows of weight 0, estimators have expected nothing.
            squares[self._groups < 0] = 0.0
            self._spread = centring.expect(None, "model_t", squares, seeds[2])
        for name, values, expected in (
            ("model_t", self._treatments, self.expected_t_),
            ("model_z", self._instruments, self.expected_z_),
        ):
            if expected is None or not _is_binary(values):
                continue
            known = expected[self._groups >= 0]
            if np.any((known < 0.0) | (known > 1.0)):
                raise ValueError(
                    f"{name} must expect what is 0 or 1 with a propensity in [0, 1]. "
                    f"Got {known.min():g} to {known.max():g}."
                )

    def _check_overlap(self) -> None:
        """Warn if treatments, or instruments, of more than a few samples are nearly certain."""
        given, expected = self._treatments, self.expected_t_
        if self._instruments is not None and self.expected_z_ is not None:
            given, expected = self._instruments, self.expected_z_
        if not _is_binary(given):
            return
        propensity = expected[self._groups >= 0]
        is_outside = np.minimum(propensity, 1.0 - propensity) < _LEAST_PROPENSITY
        if is_outside.mean() > _SHARE_OUTSIDE:
            warn_caller(
                f"{100.0 * is_outside.mean():.1f} % of the samples have a propensity below "
                f"{_LEAST_PROPENSITY} or above {1.0 - _LEAST_PROPENSITY}: for them the data say "
                "little of what the other treatment would have done. See expected_t_; estimates "
                "can leave samples out by `subset`, or take target='overlap'."
            )

    # --- Scores ---------------------------------------------------------------------------------

    def score(self, X: Any, T: Any, y: Any = None, *, sample_weight: Any = None) -> float:
        """Return how much better effects explain outcomes than one effect for all: the R-score.

        Treatments and outcomes of these samples are centred among themselves, as `fit` does it. The
        loss of effects is the mean square of what they leave over, (Y - effect W) ** 2. Searches of
        scikit-learn pass treatments and outcomes on as the two columns of one target:
        ``GridSearchCV(forest, parameters).fit(X, numpy.column_stack([T, y]))``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, others than those of `fit`.
        T : array-like of shape (n_samples,)
            Their treatments. With `y=None`, both, of shape (n_samples, 2).
        y : array-like of shape (n_samples,), default=None
            Their outcomes.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. None means 1 for all.

        Returns
        -------
        score : float
            1 less the loss of the predicted effects, divided by the loss of the best constant
            effect. 0 or less: the forest has found no differences that hold for these samples.
            Scores are small, as most of what outcomes vary by is noise.

        Raises
        ------
        ValueError, TypeError
            If an argument is illegal. The message names it. `model_y` and `model_t` must not be
            arrays, which are of the samples of `fit`. With an instrument there is no such score:
            the loss is smallest at effects that are biased by what is hidden.
        """
        effects = self.predict(X)
        self._refuse_instrument("score", INSTEAD)
        other = clone(self).set_params(random_state=self._seed)
        other.labels_ = self.labels_
        other._centre(X, *other._read(X, T, y, sample_weight, None))
        w = other._treatments - other.expected_t_
        v = other._outcomes - other.expected_y_
        s = np.ones(len(w)) if other._weights is None else other._weights
        w, v, s, effects = (part[s > 0] for part in (w, v, s, effects))
        constant = np.sum(s * w * v) / np.sum(s * w * w)
        losses = [np.sum(s * (v - effect * w) ** 2) for effect in (effects, constant)]
        return float(1.0 - losses[0] / losses[1])

    # --- Files ----------------------------------------------------------------------------------

    def _get_forest(self) -> Forest:
        return self.forest_

    def _restore(self, attributes: dict[str, Any], forest: Forest) -> str | None:
        self.forest_ = forest
        return super()._restore(attributes, forest)

    def _find_fault(self, forest: Forest) -> str | None:
        if type(self.n_features_in_) is not int or self.n_features_in_ != forest.n_features:
            return f"n_features_in_ is {self.n_features_in_} for trees of {forest.n_features}"
        n_moments = N_MOMENTS if self._instruments is None else N_MOMENTS_OF_INSTRUMENTS
        if forest.n_classes != [1] * n_moments:
            return f"trees of other numbers than moments, {forest.n_classes}"
        counts = count_categories(self.categories_) or []
        if (counts if any(counts) else []) != forest.n_categories:
            return "categories_ has other numbers of categories than the trees"
        always = ("_treatments", "_outcomes", "oob_prediction_", "expected_y_", "expected_t_")
        optional = ("_weights", "_spread", "_instruments", "_compliance", "expected_z_")
        for name in ("_groups", *always, *optional):
            array = getattr(self, name)
            if array is None and name in optional:
                continue
            dtype = np.int64 if name == "_groups" else np.float64
            if array.dtype != dtype or array.shape != self._treatments.shape:
                return f"{name} is no array of a value for each training sample"
        if type(self.subforest_size) is not int or len(forest) < 2 * self.subforest_size:
            return f"{len(forest)} trees in bags of {self.subforest_size}"
        return None


def _is_binary(values: Any) -> bool:
    return bool(np.isin(values, (0.0, 1.0)).all())
