"""Isolation forests: how soon random cuts part a sample from the others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn import ensemble as of_sklearn
from sklearn.utils.validation import check_is_fitted

from spinney._common.checks import check_int, check_sample_weight, check_verbose, is_bool
from spinney._common.messages import warn_caller
from spinney._common.sklearn_base import OutlierMixin
from spinney._common.types import HandleUnknown, RandomState
from spinney._data.arrays import to_native, to_rows
from spinney._data.categories import count_categories
from spinney._explain.shap import ShapValues
from spinney._fit.draws import Draws
from spinney._fit.params import store_parameters
from spinney._fit.task import Watcher
from spinney._spinney import (
    Columns,
    Forest,
    Tree,
    fit_isolation_forest,
    list_drawn_rows,
    list_tree_features,
    list_tree_seeds,
    mean_path_length,
)
from spinney.conversion._to_sklearn import convert_isolation_forest
from spinney.ensemble._forest_trees import ForestTrees
from spinney.ensemble._tree_features import number_features
from spinney.tree import ExtraTreeRegressor

if TYPE_CHECKING:
    from typing_extensions import Self

# Trees that draw this many rows in all are grown together: the numbers of the rows take 64 MB.
_ROWS_AT_A_TIME = 2**24
# The number of samples that a tree of max_samples="auto" sees.
_AUTO_SAMPLES = 256


@of_sklearn.IsolationForest.register
class IsolationForest(OutlierMixin, ForestTrees, ShapValues):
    """An isolation forest, which tells anomalies from ordinary samples, dense or sparse.

    Each tree divides a few samples by random cuts: a node draws a feature that varies in it, and a
    threshold between the extremes of that feature. Few cuts separate an anomaly from the others,
    so its path is short. The forest has the interface and the scores of
    :class:`sklearn.ensemble.IsolationForest`. It also takes missing values, categorical features,
    a :class:`~spinney.Dataset`, and sparse data with any `contamination`, compares values as
    float64, and reads of the training data only the samples that trees draw. It is the same, bit
    for bit, however the numbers in `X` are stored and whatever the number of threads is. Tree
    number t does not depend on `n_estimators`.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    max_samples : "auto", int or float, default="auto"
        Number of samples that each tree draws. A float is a fraction of the samples, and "auto" is
        256. No more are drawn than there are.
    contamination : "auto" or float, default="auto"
        The proportion of anomalies in the training data, at most 0.5, from which the threshold of
        `predict` follows. "auto" means the threshold of the paper, a score of -0.5.
    max_features : int or float, default=1.0
        Number of features that a tree has, chosen at random; each node draws one of them. A float
        is a fraction of the features.
    bootstrap : bool, default=False
        Whether samples are drawn with replacement. A sample that is drawn k times counts as k.
    n_jobs : int, default=None
        Number of threads. None means 1 unless `joblib.parallel_config` sets another number, and -1
        means all processors. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of everything that is random: samples, features and thresholds. An int, which may be as
        large as 2**64 - 1, makes results repeatable.
    verbose : int, default=0
        Whether to report on stderr how many trees are grown. 0: no report. 1: a progress bar if
        tqdm is installed, otherwise at most one line per second. 2 or more: a line at every update.
    warm_start : bool, default=False
        If True, a further call of `fit` keeps the trees of the forest and adds trees until there
        are `n_estimators`. With the same data and an int as `random_state` the result is the forest
        that a single call grows. Features must have the names of the first call.
    categorical_features : None, "from_dtype" or array-like of bool, int or str, default=None
        Which features are categorical. None: no feature. "from_dtype": the columns of a data frame
        that have a categorical dtype. Otherwise a boolean mask, or the indices or names of the
        categorical features; a list may have "from_dtype" among them. A node sends a random subset
        of the categories to one child. Categories that did not occur in it go to the child with
        more samples.
    handle_unknown : {"ignore", "error"}, default="ignore"
        What predictions do with categories that did not occur in `fit`. "ignore": splits send them
        to the child with the larger weight, and a warning names features without any known
        category, perhaps because their type has changed. "error": they raise ValueError. Missing
        values are no unknown categories.

    Attributes
    ----------
    offset_ : float
        What `decision_function` subtracts from the scores: -0.5, or the percentile of the training
        scores that `contamination` says.
    max_samples_ : int
        Number of samples that each tree has drawn.
    estimator_ : ExtraTreeRegressor
        The kind of tree that the forest consists of, not fitted.
    estimators_ : list of ExtraTreeRegressor
        The trees as estimators. They predict the length of the path of a sample, given its
        `estimators_features_`. They are made when this attribute is first read.
    estimators_features_ : list of ndarray
        For each tree, the features from which its nodes draw one.
    estimators_samples_ : list of ndarray
        For each tree, the sorted indices of the samples it was grown on. They are drawn again when
        this attribute is read.
    forest_ : Forest
        The compiled forest.
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
    sklearn.ensemble.IsolationForest : scikit-learn's, with the same interface.

    Notes
    -----
    Let h be the mean over the trees of the length of the path of a sample, where a leaf of n
    samples adds c(n), the mean length of a path that would isolate one of them. The score is
    ``-2 ** (-h / c(max_samples_))``, as in scikit-learn. `shap_values` divides h, which
    `path_length` returns, among the features.

    `fit` takes O(samples drawn * depth) time, besides O(samples drawn * features) to encode if
    there are categories, and O(entries of the samples drawn) if they are sparse.

    References
    ----------
    F. T. Liu, K. M. Ting, Z.-H. Zhou, "Isolation Forest", ICDM 2008.

    Examples
    --------
    >>> from spinney import IsolationForest
    >>> X = [[-1.1], [0.3], [0.5], [100]]
    >>> forest = IsolationForest(random_state=0).fit(X)
    >>> forest.predict([[0.1], [0], [90]])
    array([ 1,  1, -1])
    """

    max_samples: Any
    contamination: Any
    max_features: Any
    bootstrap: Any
    verbose: Any
    warm_start: Any

    _task: ClassVar[str] = "isolation"
    _explained = ("path length", "path_length")
    _tree_class = ExtraTreeRegressor
    # A path has one length. Not an attribute that `fit` sets.
    n_outputs_ = 1
    # Number of features that each tree draws; the features of the trees where that does not tell.
    _n_own_features: int
    _own_features: list[NDArray[np.int64]]

    offset_: float
    max_samples_: int

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        max_samples: float | Literal["auto"] = "auto",
        contamination: float | Literal["auto"] = "auto",
        max_features: float = 1.0,
        bootstrap: bool = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int | bool = 0,
        warm_start: bool = False,
        categorical_features: Any = None,
        handle_unknown: HandleUnknown = "ignore",
    ) -> None:
        store_parameters(locals())

    # --- Parameters -----------------------------------------------------------------------------

    def _check_params(self) -> tuple[int, int]:
        """Return the seed and the number of threads; raise an error for illegal parameters."""
        name = type(self).__name__
        check_int(name, "n_estimators", self.n_estimators, 1)
        self._check_amount("max_samples", "'auto', ")
        self._check_amount("max_features")
        contamination = self.contamination
        is_share = isinstance(contamination, Real) and 0.0 < float(contamination) <= 0.5
        if not (is_share or (isinstance(contamination, str) and contamination == "auto")):
            self._reject("contamination", "'auto' or a float in the range (0.0, 0.5]")
        for flag in ("bootstrap", "warm_start"):
            if not is_bool(getattr(self, flag)):
                self._reject(flag, "a bool")
        check_verbose(name, self.verbose)
        self._read_handle_unknown()
        return self._draw_seed(), self._count_threads()

    def _check_amount(self, name: str, more: str = "") -> None:
        """Raise InvalidParameterError unless a parameter is a number or a share of things."""
        value = getattr(self, name)
        if isinstance(value, str):
            is_legal = bool(more) and value == "auto"
        elif isinstance(value, Integral):
            is_legal = int(value) >= 1
        else:
            is_legal = isinstance(value, Real) and 0.0 < float(value) <= 1.0
        if not is_legal:
            self._reject(name, f"{more}an int in the range [1, inf) or a float in (0.0, 1.0]")

    def _count_samples(self, n_samples: int) -> int:
        """Return how many of `n_samples` samples each tree draws."""
        if isinstance(self.max_samples, str):
            return min(_AUTO_SAMPLES, n_samples)
        if not isinstance(self.max_samples, Integral):
            return max(int(self.max_samples * n_samples), 1)
        if int(self.max_samples) > n_samples:
            warn_caller(
                f"max_samples ({self.max_samples}) is greater than the total number of samples "
                f"({n_samples}). max_samples will be set to n_samples for estimation."
            )
        return min(int(self.max_samples), n_samples)

    def _count_features(self) -> int:
        """Return how many features the nodes of a tree draw from."""
        if isinstance(self.max_features, Integral):
            n_features = int(self.max_features)
            if n_features > self.n_features_in_:
                raise ValueError(
                    f"max_features must be at most the number of features, {self.n_features_in_}. "
                    f"Got {n_features} instead."
                )
            return n_features
        return max(1, int(self.max_features * self.n_features_in_))

    # --- Growth ---------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Grow the trees.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples: numbers of any real dtype, in any memory order or sparse format.
            Values are compared as float64. An entry that a sparse matrix does not store is 0. NaN
            is a missing value; so are None and NA in data frames. Columns of categorical features
            may hold strings or other values that can be sorted.
        y : None
            Is ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. None means 1 for all. A sample is drawn with a probability
            proportional to its weight; drawn samples count alike. Samples of weight 0 have no
            influence.

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
            return self._fit(X, sample_weight)

    def _fit(self, X: Any, sample_weight: Any) -> Self:
        before = self.__dict__.copy()
        seed, n_threads = self._check_params()
        matrix = self._validate_X(X)
        n_samples = matrix.shape[0]
        self.n_features_in_ = matrix.shape[1]
        weights, is_used = None, np.ones(n_samples, dtype=bool)
        if sample_weight is not None:
            weights = check_sample_weight(sample_weight, n_samples)
            is_used = weights > 0
        # Without weights above 0 the compiled part tells what is wrong.
        n_used = int(np.count_nonzero(is_used))
        self.max_samples_ = self._count_samples(max(n_used, 1))
        scheme = "with replacement" if self.bootstrap else "distinct"
        draws = Draws(scheme, n_samples, 1, self.max_samples_, weights, None)
        grow_trees = partial(self._grow_bags, matrix, draws, seed, n_threads)
        n_own = self._count_features()
        known = self._list_known_features(n_own)
        self._grow_without_target(before, grow_trees, draws)
        self._n_own_features = n_own
        if known is None:
            self.__dict__.pop("_own_features", None)
        else:
            new = self._draw_features(self.forest_.seeds[len(known) :], n_own)
            self._own_features = [*known, *new]
        if isinstance(self.contamination, str):
            self.offset_ = -0.5
        else:
            scores = self._score(to_rows(to_native(matrix)))[is_used]
            self.offset_ = float(np.percentile(scores, 100.0 * self.contamination))
        return self

    def _list_known_features(self, n_own: int) -> list[NDArray[np.int64]] | None:
        """Return the features of the trees that a warm start keeps, unless all can be drawn again.

        `n_own` is how many features the new trees draw.
        """
        is_warm = self.warm_start and hasattr(self, "forest_") and self._knows_features()
        known = vars(self).get("_own_features")
        if not is_warm or (known is None and vars(self).get("_n_own_features", n_own) == n_own):
            return None
        return self.estimators_features_

    def _grow_bags(
        self,
        X: Any,
        draws: Draws,
        seed: int,
        n_threads: int,
        first_tree: int,
        n_new: int,
        watcher: Watcher,
    ) -> tuple[Forest, int, NDArray[np.int64]]:
        """Grow trees; only rows that they draw are read."""
        max_depth = int(np.ceil(np.log2(max(self.max_samples_, 2))))
        max_features = self._count_features()
        n_own = None if max_features == self.n_features_in_ else max_features
        n_categories = count_categories(self.categories_)
        # Categories are encoded, numbers are read where they are.
        is_encoded = n_categories is not None and not isinstance(X, Columns)
        n_together = max(n_threads, _ROWS_AT_A_TIME // self.max_samples_)
        X = to_rows(to_native(X))
        forest: Forest | None = None
        for first in range(first_tree, first_tree + n_new, n_together):
            n_trees = min(n_together, first_tree + n_new - first)
            bags = list_drawn_rows(draws, list_tree_seeds(seed, first, n_trees), n_threads)
            rows = X
            if is_encoded:
                drawn = np.unique(np.concatenate(bags))
                bags = [np.searchsorted(drawn, bag).astype(np.uint32) for bag in bags]
                rows = X[drawn]
            report = None if watcher is None else partial(_report_more, watcher, first - first_tree)
            shape = (seed, first, max_depth, n_own)
            new = fit_isolation_forest(rows, bags, shape, n_categories, n_threads, report)
            forest = new if forest is None else forest.extended(new)
        assert forest is not None
        # Nodes draw one feature. Which features have missing values is known of those rows alone.
        return forest, 1, np.empty(0, dtype=np.int64)

    def _select_estimator_params(self) -> dict[str, Any]:
        mask = self.is_categorical_
        return {
            "max_features": 1,
            "max_depth": int(np.ceil(np.log2(max(self.max_samples_, 2)))),
            "categorical_features": None if mask is None else np.flatnonzero(mask).tolist(),
        }

    @property
    def estimators_features_(self) -> list[NDArray[np.int64]]:
        """The features from which the nodes of each tree draw one.

        The trees of `estimators_` number these alone, as in scikit-learn: they take
        ``X[:, features]``.

        Returns
        -------
        features : list of ndarray of int64
            For each tree its features, ascending unless the tree comes from scikit-learn.
        """
        self._check_has_trees("estimators_features_")
        if not self._knows_features():
            raise AttributeError(
                "A forest that from_sklearn has made, and that was saved by version 0.3, does not "
                "know the features of its trees."
            )
        known = vars(self).get("_own_features")
        if known is not None:
            return [features.copy() for features in known]
        # Files of version 0.3 do not have the number.
        n_own = vars(self).get("_n_own_features", self._count_features())
        return self._draw_features(self.forest_.seeds, n_own)

    def _knows_features(self) -> bool:
        return "_own_features" in vars(self) or self._draws is not None

    def _draw_features(self, seeds: list[int], n_own: int) -> list[NDArray[np.int64]]:
        drawn = list_tree_features(seeds, self.n_features_in_, n_own)
        return [features.astype(np.int64) for features in drawn]

    def _keep_features(self, trees: list[Any]) -> None:
        everything = np.arange(self.n_features_in_)
        own = [tree._features_of_forest for tree in trees]
        self._own_features = [everything if of_tree is None else of_tree for of_tree in own]

    def _make_tree_estimator(self, tree: int, seed: int) -> Any:
        estimator = super()._make_tree_estimator(tree, seed)
        if not self._knows_features():
            return estimator
        known = vars(self).get("_own_features")
        n_own = vars(self).get("_n_own_features", self._count_features())
        features = self._draw_features([seed], n_own)[0] if known is None else known[tree]
        if np.array_equal(features, np.arange(self.n_features_in_)):
            return estimator
        # Its features are numbered as scikit-learn's are.
        places = np.zeros(self.n_features_in_, dtype=np.int64)
        places[features] = np.arange(len(features))
        counts = self._count_categories()[features]
        estimator.tree_ = number_features(estimator.tree_, places, counts)
        estimator.n_features_in_ = len(features)
        estimator._features_of_forest = features
        of_forest = estimator._names_of_forest
        names = of_forest.features
        if self.is_categorical_ is not None:
            mask = self.is_categorical_[features]
            is_any = bool(mask.any())
            estimator.is_categorical_ = mask if is_any else None
            estimator.set_params(
                categorical_features=np.flatnonzero(mask).tolist() if is_any else None
            )
            codes, values = estimator.categories_, of_forest.categories
            estimator.categories_ = [codes[f] for f in features] if is_any else None
            of_forest = of_forest._replace(
                categories=[values[f] for f in features] if is_any else None
            )
        estimator._names_of_forest = of_forest._replace(
            features=None if names is None else names[features]
        )
        return estimator

    def _widen(self, tree: Any) -> Tree:
        if tree._features_of_forest is None:
            return super()._widen(tree)
        return number_features(tree.tree_, tree._features_of_forest, self._count_categories())

    def _count_categories(self) -> NDArray[np.uint32]:
        """Return the number of categories of each feature, 0 for a numeric one."""
        counts = count_categories(self.categories_) or [0] * self.n_features_in_
        return np.array(counts, dtype=np.uint32)

    def _restore(self, attributes: dict[str, Any], forest: Forest) -> str | None:
        fault = super()._restore(attributes, forest)
        known = vars(self).get("_own_features", [np.arange(0)] * len(forest))
        n_own = vars(self).get("_n_own_features", 1)
        is_sound = (
            len(known) == len(forest)
            and all(
                own.ndim == 1
                and own.dtype == np.int64
                and np.isin(own, range(forest.n_features)).all()
                for own in known
            )
            and type(n_own) is int
            and 1 <= n_own <= forest.n_features
        )
        return fault if is_sound else "the features of trees"

    # --- Predictions ----------------------------------------------------------------------------

    def path_length(self, X: Any) -> NDArray[np.float64]:
        """Return the mean length of the paths of samples, from the root to a leaf of their own.

        It is what `shap_values` explains.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        lengths : ndarray of shape (n_samples,), float64
            The mean over the trees. A leaf of n samples adds the mean length of a path that would
            isolate one of them.
        """
        X = self._validate_X_predict(X)
        return self.forest_.predict(X, self._count_threads())[:, 0]

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return how ordinary samples are: the opposite of the anomaly score of the paper.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        scores : ndarray of shape (n_samples,), float64
            Between -1 and 0. The lower, the more abnormal.
        """
        return self._score(self._validate_X_predict(X))

    def _score(self, X: Any) -> NDArray[np.float64]:
        lengths = self.forest_.predict(X, self._count_threads())[:, 0]
        usual = mean_path_length(self.max_samples_)
        # A single sample is isolated from the outset: as in scikit-learn it gets the score of the
        # usual path.
        shares = lengths / usual if usual > 0.0 else np.ones_like(lengths)
        scores: NDArray[np.float64] = -np.exp2(-shares)
        return scores

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the scores of samples, less `offset_`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        scores : ndarray of shape (n_samples,), float64
            Negative for anomalies. The lower, the more abnormal.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Predict which samples are anomalies.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        is_inlier : ndarray of shape (n_samples,), int64
            -1 for anomalies, 1 for ordinary samples.
        """
        check_is_fitted(self)
        return np.where(self.decision_function(X) < 0.0, -1, 1)

    def _convert_to_sklearn(self) -> Any:
        return convert_isolation_forest(self)


def _report_more(watcher: Callable[[int], None], n_before: int, n_done: int) -> None:
    watcher(n_before + n_done)
