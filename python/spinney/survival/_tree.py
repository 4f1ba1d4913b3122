"""The estimator of a single survival tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spinney._common.types import (
    CategoryOrder,
    MaxFeatures,
    Splitter,
)
from spinney._fit.params import with_parameters
from spinney._fit.signatures import SurvivalParameters
from spinney.survival._base import StoredSurvivalModel
from spinney.tree._base import BaseDecisionTree

if TYPE_CHECKING:
    from typing_extensions import Self


@with_parameters
class SurvivalTree(StoredSurvivalModel, BaseDecisionTree, SurvivalParameters):
    """A survival tree with exact log-rank splits.

    It predicts when an event will happen, from times that may be censored: of some samples it is
    only known that nothing had happened up to a time. Has the interface of scikit-survival's class.
    The tree is the same, bit for bit, however the numbers in `X` are stored (dense or sparse,
    dtype, memory order) and whatever the number of threads is.

    Parameters
    ----------
    criterion : {"logrank", "logrank_fast"}, default="logrank"
        What splits maximise: the log-rank statistic of the two children ("logrank"), or LeBlanc and
        Crowley's approximation of it by the hazard of the node ("logrank_fast").
    splitter : {"best", "random"}, default="best"
        How the threshold of a feature is chosen. "best" takes the best of all thresholds. "random"
        draws one threshold uniformly between the smallest and the largest value that the feature
        has in the node.
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
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Number of features that each node draws as candidates for its split. A float is a fraction
        of all features, "sqrt" and "log2" are functions of their number, and None means all.
        Features that are constant in the node count as drawn, unless `feature_sampling="active"`.
        If all drawn features are constant, the node goes on drawing until it finds one that is not.
    random_state : int, RandomState instance or None, default=None
        Seed of everything that is random: the features that nodes draw, the order that decides
        between equally good splits, random thresholds, and the samples of the trees of a forest. An
        int, which may be as large as 2**64 - 1, makes results repeatable.
    max_leaf_nodes : int, default=None
        Largest number of leaves of a tree. The tree is then grown best first: the next node to be
        split is the one whose split has the highest statistic. None means no limit.
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
    n_jobs : int, default=None
        Number of threads for `fit` and for predictions. None means 1 unless
        `joblib.parallel_config` sets another number, and -1 means all processors. Results do not
        depend on it.
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
    tree_ : Tree
        The compiled tree: read-only arrays with one entry per node.
    unique_times_ : ndarray of shape (n_times,)
        The distinct times of the training samples, ascending.
    event_times_ : ndarray of shape (n_event_times,)
        Those at which there was an event (of `cause`).
    causes_ : ndarray of int64
        The numbers of the causes of events, ascending: 1 if `y` has bools.
    feature_importances_ : ndarray of shape (n_features,)
        Mean over the trees of the sum of the log-rank statistics of the splits on each feature,
        normalised to a sum of 1. They are biased towards features with many distinct values, such
        as ids, which can fit noise: `permutation_importance_oob` is not.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`. Exists only if `X` has names that are all strings.
    expected_value_ : float
        The risk if nothing is known of a sample: with the contributions of `shap_values` it adds up
        to the predicted risk.
    max_features_ : int
        Number of features that each node draws.
    is_categorical_ : ndarray of bool of shape (n_features_in_,), or None
        Which features are categorical. None if no feature is.
    categories_ : list of ndarray and None, or None
        For each categorical feature, its distinct values in `fit`: sorted, except that 0 comes
        first. The index of a value is the code that stands for it in the compiled trees. The entry
        of a numeric feature is None. None if no feature is categorical.

    See Also
    --------
    RandomSurvivalForest : The mean of many trees.

    References
    ----------
    M. LeBlanc, J. Crowley, "Survival trees by goodness of split", Journal of the American
    Statistical Association 88, 1993.

    Examples
    --------
    >>> import numpy as np
    >>> from spinney.survival import SurvivalTree
    >>> age = np.array([[30], [35], [40], [60], [65], [70]])
    >>> died = np.array([False, True, False, True, True, True])
    >>> years = np.array([12.0, 11.0, 15.0, 4.0, 3.0, 5.0])
    >>> tree = SurvivalTree().fit(age, (died, years))
    >>> tree.predict([[38], [66]]).round(2).tolist()
    [0.33, 4.83]
    """

    splitter: Splitter = "best"
    max_features: MaxFeatures = None
    category_order: CategoryOrder = "auto"

    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples: numbers of any real dtype, in any memory order or sparse format.
            Values are compared as float64. An entry that a sparse matrix does not store is 0. NaN
            is a missing value; so are None and NA in data frames. Columns of categorical features
            may hold strings or other values that can be sorted.
        y : structured array, data frame or pair of arrays
            Events and times: a structured array of an event (bool) and a time, a data frame or an
            array of these two columns, or a pair (events, times). An event is a bool, or the number
            of its cause, 0 for a censored time. Times are finite and not negative.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. None means 1 for all. Samples with weight 0 have no influence.
        check_input : bool, default=True
            If False, scikit-learn's checks and conversions of `X` are skipped.

        Returns
        -------
        self : object
        """
        return super().fit(X, y, sample_weight, check_input)

    def predict(self, X: Any, check_input: bool = True) -> NDArray[np.float64]:
        """Predict the risk of each sample: the expected number of events.

        It is the sum of the cumulative hazard at all `event_times_`: the higher it is, the earlier
        the event is expected.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        check_input : bool, default=True
            If False, scikit-learn's checks and conversions of `X` are skipped.

        Returns
        -------
        risks : ndarray of shape (n_samples,)
        """
        return self._predict_values(X, check_input)[:, 0]

    def _list_leaf_curves(self) -> dict[int, NDArray[np.float64]]:
        leaves = np.flatnonzero(self.tree_.children_left < 0)
        times = self.unique_times_
        x = np.concatenate([[0.0], times / max(times[-1], np.finfo(np.float64).tiny)])
        values = self._find_curves_of_tree(0, leaves, times)
        y = np.insert(values, 0, 1.0, axis=1)
        # A curve keeps its value up to the next time.
        return {
            leaf: np.column_stack([np.repeat(x, 2)[1:], np.repeat(own, 2)[:-1]])
            for leaf, own in zip(leaves.tolist(), y, strict=True)
        }
