"""Survival forests whose trees are never stored."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spinney._common.progress import show_progress
from spinney._common.types import (
    MaxFeatures,
)
from spinney._fit.params import with_parameters
from spinney._fit.signatures import LazyParameters, SurvivalParameters
from spinney.ensemble._lazy_base import BaseLazyForest
from spinney.survival._base import SurvivalForest, refuse_oob_score


@with_parameters
class LazySurvivalForest(SurvivalForest, BaseLazyForest, LazyParameters, SurvivalParameters):
    """A survival forest whose trees are never stored.

    `fit` only encodes the training data. A prediction expands the nodes of each tree that some
    query row reaches, and no others. Risks and curves equal, bit for bit, the ones of a
    `RandomSurvivalForest` with the same parameters and `random_state` (with `splitter="random"`,
    of `ExtraSurvivalTrees`). A lazy forest pays for few query rows, and its memory does not
    grow with the number of trees.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"logrank", "logrank_fast"}, default="logrank"
        What splits maximise: the log-rank statistic of the two children ("logrank"), or LeBlanc and
        Crowley's approximation of it by the hazard of the node ("logrank_fast").
    splitter : {"best", "random"}, default="best"
        How the threshold of a feature is chosen. "best" takes the best of all thresholds. "random"
        draws one threshold uniformly between the smallest and the largest value that the feature
        has in the node.
    traversal : {"auto", "batched", "single", "eager"}, default="auto"
        How query rows descend a tree. Predictions do not depend on it. "batched": all rows
        together, visiting only nodes that some row reaches. "single": one row after the other, each
        along its own path. "eager": each tree is grown completely, asked for predictions and
        dropped, as `max_leaf_nodes` and `ccp_alpha` require. "auto": "eager" where these two
        parameters require it or there are at least twice as many query rows as training rows,
        otherwise "batched".
    max_depth : int, default=None
        Largest depth of a leaf. None means no limit.
    min_samples_split : int or float, default=6
        A node with fewer samples becomes a leaf. A float is a fraction of the number of training
        samples.
    min_samples_leaf : int or float, default=3
        Each child of a split must have at least this many samples. A float is a fraction of the
        number of training samples.
    min_weight_fraction_leaf : float, default=0.0
        Each child of a split must have at least this fraction of the total sample weight.
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
        Number of features that each node draws as candidates for its split. A float is a fraction
        of all features, "sqrt" and "log2" are functions of their number, and None means all.
        Features that are constant in the node count as drawn, unless `feature_sampling="active"`.
        If all drawn features are constant, the node goes on drawing until it finds one that is not.
    max_leaf_nodes : int, default=None
        Largest number of leaves of a tree. The tree is then grown best first: the next node to be
        split is the one whose split has the highest statistic. None means no limit.
    bootstrap : bool or "poisson", default=True
        The samples that each tree is grown on. True: drawn ones. False: all samples. "poisson": all
        samples, the weight of each multiplied by a random count with mean 1 from a Poisson
        distribution. That count is determined by the id of the sample (see `fit`), the number of
        the tree and `random_state`.
    n_jobs : int, default=None
        Number of threads for `fit` and for predictions. None means 1 unless
        `joblib.parallel_config` sets another number, and -1 means all processors. Results do not
        depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of everything that is random: the features that nodes draw, the order that decides
        between equally good splits, random thresholds, and the samples of the trees of a forest. An
        int, which may be as large as 2**64 - 1, makes results repeatable.
    verbose : int, default=0
        Whether to report on stderr, during predictions, how many trees are done. 0: no report. 1: a
        progress bar if tqdm is installed, otherwise at most one line per second. 2 or more: a line
        at every update.
    max_samples : int or float, default=None
        Number of draws per tree with `bootstrap=True`. None means as many as there are samples. A
        float is a fraction of the total sample weight and may exceed 1.0. With `replace=False` it
        is a fraction of the number of samples with a positive weight.
    low_memory : bool, default=False
        Has no effect: curves are computed when they are asked for. It exists for compatibility with
        scikit-survival.
    ccp_alpha : float, default=0.0
        Price of a leaf in split-complexity pruning: a grown tree is cut back to the subtree with
        the highest sum of log-rank statistics of its splits, less the prices of leaves. 0.0 means
        no pruning.
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
    replace : bool, default=True
        Whether `bootstrap=True` draws with replacement. If False, no sample is drawn twice, drawn
        samples keep their weights, and `max_samples` must not exceed the number of samples with a
        positive weight.
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
    category_order : {"auto", "node", "tree"}, default="auto"
        Which samples order the categories of a feature; a split cuts this order in two. "node": the
        samples of the node, in each node. "tree": samples that the tree is not grown on, or, if it
        is grown on all, a random half of them, once per tree; this keeps splits from fitting noise.
        `min_samples_category` has no effect on such features, and a tree drops a feature with more
        than 32 categories if its order does not correlate with the targets of the other samples.
        "auto": "tree" for features with more than 10 categories, unless `min_samples_category` is
        above 1; otherwise "node". Random thresholds need no order.
    handle_unknown : {"ignore", "error"}, default="ignore"
        What predictions do with categories that did not occur in `fit`. "ignore": splits send them
        to the child with the larger weight, and a warning names features without any known
        category, perhaps because their type has changed. "error": they raise ValueError. Missing
        values are no unknown categories.
    min_events_leaf : int, default=None
        Each child of a split must have events of at least this weight. None means no limit.
    cause : int, default=None
        The number of the cause whose events are predicted: splits, risks and scores see events of
        other causes as censorings. None means that all events are alike.

    Attributes
    ----------
    forest_ : LazyForest
        The encoded training data.
    unique_times_ : ndarray of shape (n_times,)
        The distinct times of the training samples, ascending.
    event_times_ : ndarray of shape (n_event_times,)
        Those at which there was an event (of `cause`).
    causes_ : ndarray of int64
        The numbers of the causes of events, ascending: 1 if `y` has bools.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`. Exists only if `X` has names that are all strings.
    is_categorical_ : ndarray of bool of shape (n_features_in_,), or None
        Which features are categorical. None if no feature is.
    categories_ : list of (ndarray or None), or None
        For each categorical feature, its distinct values in `fit`: sorted, except that 0 comes
        first. The index of a value is the code that stands for it in the compiled trees. The entry
        of a numeric feature is None. None if no feature is categorical.

    See Also
    --------
    RandomSurvivalForest : The same with stored trees, for many queries.
    spinney.LazyForestRegressor : The same for numbers.

    References
    ----------
    M. Guillame-Bert and A. Dubrawski, "Batched Lazy Decision Trees", 2016.

    H. Ishwaran, U. B. Kogalur, E. H. Blackstone, M. S. Lauer, "Random survival forests", Annals of
    Applied Statistics 2, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from spinney.survival import LazySurvivalForest
    >>> rng = np.random.default_rng(0)
    >>> X, years = rng.random((60, 4)), rng.exponential(3, 60)
    >>> lazy = LazySurvivalForest(20, random_state=0).fit(X[1:], (years[1:] < 5, years[1:]))
    >>> lazy.predict(X[:1]).shape
    (1,)
    """

    max_features: MaxFeatures = "sqrt"

    def _predict_curves(
        self, X: Any, at: NDArray[np.float64], curve: str | int, oob_score: bool
    ) -> NDArray[np.float64]:
        check_is_fitted(self)
        if oob_score:
            refuse_oob_score(self)
        rows, n_threads = self._validate_X_predict(X), self._count_threads()
        forest = self._take_trees()
        traversal = self._choose_lazy(forest, "a curve")
        with show_progress(self._read_verbose(), 0, len(forest)) as watcher:
            return forest.curves(rows, at, curve, traversal, n_threads, watcher)

    def _interpret(self, values: NDArray[np.float64]) -> tuple[NDArray[Any], Any]:
        risks = values[..., 0]
        return risks, None
