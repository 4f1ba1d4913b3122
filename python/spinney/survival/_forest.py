"""Survival forests with stored trees: random ones and extremely randomised ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from spinney._common.checks import is_bool
from spinney._common.messages import reject_parameter
from spinney._common.types import (
    CategoryOrder,
    MaxFeatures,
)
from spinney._explain.oob_scores import score_values
from spinney._fit.draws import UnseenTrees
from spinney._fit.leaf_rows import refuse_other_samples
from spinney._fit.params import with_parameters
from spinney._fit.signatures import HonestParameters, SurvivalParameters
from spinney._fit.survival import read_survival, score_risks, take_survival
from spinney._fit.target import EncodedTarget
from spinney.ensemble._forest import BaseForest
from spinney.survival._base import StoredSurvivalModel, SurvivalForest
from spinney.survival._scorers import SCORERS_OF_RISKS, SurvivalScorer, read_scoring
from spinney.survival._tree import SurvivalTree

if TYPE_CHECKING:
    from typing_extensions import Self


class BaseSurvivalForest(SurvivalForest, StoredSurvivalModel, BaseForest):
    """Base class of the grown survival forests."""

    _OOB_ATTRIBUTES: ClassVar[tuple[str, ...]] = ("oob_score_", "oob_prediction_")
    _tree_class: ClassVar[type[SurvivalTree]] = SurvivalTree

    oob_prediction_: NDArray[np.float64]
    # The argument `y` of `fit`, while it runs.
    _given: Any

    def _select_estimator_params(self) -> dict[str, Any]:
        known = self._tree_class().get_params(deep=False)
        params = super()._select_estimator_params() | {"cause": self.cause}
        return {name: value for name, value in params.items() if name in known}

    def _make_tree_estimator(self, tree: int, seed: int) -> Any:
        estimator = super()._make_tree_estimator(tree, seed)
        for name in ("unique_times_", "event_times_", "causes_", "_events"):
            setattr(estimator, name, getattr(self, name))
        estimator._leaf_rows = self._leaf_rows.of_tree(tree)
        return estimator

    def _check_alike(self, before: dict[str, Any]) -> None:
        super()._check_alike(before)
        if self._growths[0].params["cause"] != self.cause:
            raise ValueError(
                "warm_start=True adds to the trees of earlier calls: cause must be theirs, "
                f"{self._growths[0].params['cause']}. Got {self.cause} instead."
            )
        # Risks of trees are sums over them.
        if not np.array_equal(before["event_times_"], self.event_times_):
            refuse_other_samples("y, with the samples that weigh more than 0,")

    def _take_other_data(self, grown_seeds: list[int]) -> NoReturn:  # noqa: ARG002
        refuse_other_samples("X")

    def _refuse_other_trees(self) -> NoReturn:
        raise AttributeError(
            "The trees of a survival forest cannot be replaced: it knows the samples in the leaves "
            "of its own trees alone."
        )

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, sample_ids: Any, samples: Any, groups: Any
    ) -> Self:
        # A function that scores out of bag gets the targets as they are given.
        self._given = y
        try:
            return super()._fit(X, y, sample_weight, sample_ids, samples, groups)
        finally:
            self.__dict__.pop("_given", None)

    def _set_oob_attributes(
        self,
        values: NDArray[np.float64],
        target: EncodedTarget,  # noqa: ARG002 - see `_fit`
        is_known: NDArray[np.bool_],
    ) -> None:
        risks = self.oob_prediction_ = values[..., 0]
        known = np.flatnonzero(is_known)
        given, scorer = self._take_given(self._given, known), self._find_oob_scorer()
        if scorer is None:
            self.oob_score_ = self._score_oob(given, risks[known], self._score_risks)
        else:
            self.oob_score_ = score_values(self, values[known], given, scorer)

    def _find_oob_scorer(self) -> SurvivalScorer | None:
        score = self.oob_score
        found = read_scoring(score) if isinstance(score, str) else score
        is_scorer = isinstance(found, SurvivalScorer)
        if is_scorer and not found.needs_curves:
            scorer: SurvivalScorer = found
            return scorer
        if is_scorer or not (is_bool(found) or callable(found)):
            names = ", ".join(map(repr, SCORERS_OF_RISKS))
            self._reject("oob_score", f"a bool, a callable or a score of risks among {names}")
        return None

    def _score_risks(self, y: Any, risks: NDArray[np.float64]) -> float:
        return score_risks(read_survival(y), risks, self.cause)

    def _find_unseen(self, n_rows: int, n_threads: int) -> UnseenTrees:
        unseen = self._find_unseen_trees(n_rows, n_threads)
        self._warn_of_seen(unseen.count_seen())
        return unseen

    def _interpret_errors(self, errors: NDArray[np.float64]) -> Any:
        return errors[..., 0]

    def _read_scoring(self, scoring: Any) -> str | None:
        # Concordance is no sum over samples: the forest is scored as a whole.
        return None if scoring is None else super()._read_scoring(scoring)

    def _read_oob_target(self, y: Any) -> NDArray[np.float64]:
        return self._read_y(y)

    def _read_given(self, y: Any) -> Any:
        read_survival(y)
        return y

    def _take_given(self, y: Any, rows: NDArray[np.intp]) -> Any:
        return take_survival(y, rows)

    def _find_scorer(self, scoring: Any) -> Any:
        found = read_scoring(scoring)
        if isinstance(found, SurvivalScorer) and found.needs_curves:
            names = ", ".join(sorted(SCORERS_OF_RISKS))
            expected = f"a score of risks, such as {names}"
            reject_parameter("permutation_importance_oob", "scoring", scoring, expected)
        return found


@with_parameters
class RandomSurvivalForest(BaseSurvivalForest, HonestParameters, SurvivalParameters):
    """A random forest that predicts when an event will happen, from times that may be censored.

    Trees are grown by the exact log-rank statistic. Risks and curves are means over the trees. Has
    the interface of scikit-survival's class, but takes missing values, categories, sparse matrices
    and sample weights, and needs no memory for curves. The forest is the same, bit for bit, however
    the numbers in `X` are stored and whatever the number of threads is.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"logrank", "logrank_fast"}, default="logrank"
        What splits maximise: the log-rank statistic of the two children ("logrank"), or LeBlanc and
        Crowley's approximation of it by the hazard of the node ("logrank_fast").
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
    oob_score : bool, str or callable, default=False
        Whether to predict the risk of each training sample by the trees that were not grown on it,
        and to score these out-of-bag predictions. True: by concordance. "concordance",
        "concordance_ipcw", "cumulative_dynamic_auc" or what `make_survival_scorer` returns for them
        scores by it. Any other callable is called with the events and times, in the form in which
        `fit` got them, and the predicted risks, and returns the score. Samples that every tree was
        grown on are left out, with a warning. Needs a `bootstrap` other than False.
    n_jobs : int, default=None
        Number of threads for `fit` and for predictions. None means 1 unless
        `joblib.parallel_config` sets another number, and -1 means all processors. Results do not
        depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of everything that is random: the features that nodes draw, the order that decides
        between equally good splits, random thresholds, and the samples of the trees of a forest. An
        int, which may be as large as 2**64 - 1, makes results repeatable.
    verbose : int, default=0
        Whether to report on stderr how many trees are grown. 0: no report. 1: a progress bar if
        tqdm is installed, otherwise at most one line per second. 2 or more: a line at every update.
    warm_start : bool, default=False
        If True, a further call of `fit` keeps the trees of the forest and adds trees until there
        are `n_estimators`. It must be to the same data, whose samples the leaves of all trees get.
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
    honest : bool, default=False
        Whether one part of the samples of a tree chooses its splits, and the other part fills its
        leaves, so that no leaf predicts what its splits have looked for. A leaf that gets no sample
        gives its place to its sibling. Limits such as `min_samples_leaf` are of the samples that
        choose splits; nodes, their importances too, know the samples that fill leaves. Samples in
        neither part are out of bag. Not with `monotonic_cst`.
    honest_fraction : float, default=0.5
        The share of the different samples of a tree that choose its splits, with `honest`.
    subforest_size : int, default=None
        How many trees, one after the other, share a drawn half of the samples, from which each
        draws its own without replacement: `max_samples`, at most half of all, or the whole half
        (None). `predict_standard_error` then tells the error from what these groups of trees differ
        by. `n_estimators` is a multiple of it; it needs `bootstrap=True`. None: each tree draws for
        itself.

    Attributes
    ----------
    estimator_ : SurvivalTree
        The kind of tree that the forest consists of, not fitted.
    estimators_ : list of SurvivalTree
        The trees as estimators that share the memory of the forest. They are made when this
        attribute is first read. Where features are categorical they take codes, see `to_codes`.
    estimators_samples_ : list of ndarray
        For each tree, the sorted indices of the samples it was grown on. They are drawn again when
        this attribute is read.
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
    forest_ : Forest
        The compiled forest.
    n_features_in_ : int
        Number of features seen in `fit`.
    expected_value_ : float
        The risk if nothing is known of a sample: with the contributions of `shap_values` it adds up
        to the predicted risk.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`. Exists only if `X` has names that are all strings.
    is_categorical_ : ndarray of bool of shape (n_features_in_,), or None
        Which features are categorical. None if no feature is.
    categories_ : list of ndarray and None, or None
        For each categorical feature, its distinct values in `fit`: sorted, except that 0 comes
        first. The index of a value is the code that stands for it in the compiled trees. The entry
        of a numeric feature is None. None if no feature is categorical.
    oob_score_ : float
        Out-of-bag score of the samples that some tree was not grown on; NaN if there are none.
        Exists only if `oob_score` is not False.
    oob_prediction_ : ndarray of shape (n_samples,)
        Out-of-bag risks of the training samples, NaN for samples that every tree was grown on.
        Exists only if `oob_score` is not False.

    See Also
    --------
    ExtraSurvivalTrees : The same with random thresholds.
    LazySurvivalForest : The same without stored trees.

    Notes
    -----
    A split is sought in O(n log n) for each feature and node of n samples. Leaves keep their
    training samples, in four bytes for a sample and tree; a curve takes O(samples in the leaves +
    training samples).

    References
    ----------
    H. Ishwaran, U. B. Kogalur, E. H. Blackstone, M. S. Lauer, "Random survival forests", Annals of
    Applied Statistics 2, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from spinney.survival import RandomSurvivalForest
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((300, 4))
    >>> years, end = rng.exponential(1 + 4 * X[:, 0]), rng.uniform(0, 8, 300)
    >>> y = (years <= end, np.minimum(years, end))
    >>> forest = RandomSurvivalForest(random_state=0).fit(X, y)
    >>> curves = forest.predict_survival_function(X[:2], return_array=True, times=[1, 2, 4])
    >>> curves.shape
    (2, 3)
    """

    max_features: MaxFeatures = "sqrt"
    replace: bool = True
    category_order: CategoryOrder = "auto"

    _splitter: ClassVar[str] = "best"


@with_parameters
class ExtraSurvivalTrees(BaseSurvivalForest, HonestParameters, SurvivalParameters):
    """Extremely randomized survival trees: thresholds are drawn.

    As `RandomSurvivalForest`, but for each feature of a node one threshold is drawn, and the cut
    with the highest log-rank statistic is taken.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"logrank", "logrank_fast"}, default="logrank"
        What splits maximise: the log-rank statistic of the two children ("logrank"), or LeBlanc and
        Crowley's approximation of it by the hazard of the node ("logrank_fast").
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
    oob_score : bool, str or callable, default=False
        Whether to predict the risk of each training sample by the trees that were not grown on it,
        and to score these out-of-bag predictions. True: by concordance. "concordance",
        "concordance_ipcw", "cumulative_dynamic_auc" or what `make_survival_scorer` returns for them
        scores by it. Any other callable is called with the events and times, in the form in which
        `fit` got them, and the predicted risks, and returns the score. Samples that every tree was
        grown on are left out, with a warning. Needs a `bootstrap` other than False.
    n_jobs : int, default=None
        Number of threads for `fit` and for predictions. None means 1 unless
        `joblib.parallel_config` sets another number, and -1 means all processors. Results do not
        depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of everything that is random: the features that nodes draw, the order that decides
        between equally good splits, random thresholds, and the samples of the trees of a forest. An
        int, which may be as large as 2**64 - 1, makes results repeatable.
    verbose : int, default=0
        Whether to report on stderr how many trees are grown. 0: no report. 1: a progress bar if
        tqdm is installed, otherwise at most one line per second. 2 or more: a line at every update.
    warm_start : bool, default=False
        If True, a further call of `fit` keeps the trees of the forest and adds trees until there
        are `n_estimators`. It must be to the same data, whose samples the leaves of all trees get.
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
    honest : bool, default=False
        Whether one part of the samples of a tree chooses its splits, and the other part fills its
        leaves, so that no leaf predicts what its splits have looked for. A leaf that gets no sample
        gives its place to its sibling. Limits such as `min_samples_leaf` are of the samples that
        choose splits; nodes, their importances too, know the samples that fill leaves. Samples in
        neither part are out of bag. Not with `monotonic_cst`.
    honest_fraction : float, default=0.5
        The share of the different samples of a tree that choose its splits, with `honest`.
    subforest_size : int, default=None
        How many trees, one after the other, share a drawn half of the samples, from which each
        draws its own without replacement: `max_samples`, at most half of all, or the whole half
        (None). `predict_standard_error` then tells the error from what these groups of trees differ
        by. `n_estimators` is a multiple of it; it needs `bootstrap=True`. None: each tree draws for
        itself.

    Attributes
    ----------
    estimator_ : SurvivalTree
        The kind of tree that the forest consists of, not fitted.
    estimators_ : list of SurvivalTree
        The trees as estimators that share the memory of the forest. They are made when this
        attribute is first read. Where features are categorical they take codes, see `to_codes`.
    estimators_samples_ : list of ndarray
        For each tree, the sorted indices of the samples it was grown on. They are drawn again when
        this attribute is read.
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
    forest_ : Forest
        The compiled forest.
    n_features_in_ : int
        Number of features seen in `fit`.
    expected_value_ : float
        The risk if nothing is known of a sample: with the contributions of `shap_values` it adds up
        to the predicted risk.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`. Exists only if `X` has names that are all strings.
    is_categorical_ : ndarray of bool of shape (n_features_in_,), or None
        Which features are categorical. None if no feature is.
    categories_ : list of ndarray and None, or None
        For each categorical feature, its distinct values in `fit`: sorted, except that 0 comes
        first. The index of a value is the code that stands for it in the compiled trees. The entry
        of a numeric feature is None. None if no feature is categorical.
    oob_score_ : float
        Out-of-bag score of the samples that some tree was not grown on; NaN if there are none.
        Exists only if `oob_score` is not False.
    oob_prediction_ : ndarray of shape (n_samples,)
        Out-of-bag risks of the training samples, NaN for samples that every tree was grown on.
        Exists only if `oob_score` is not False.

    See Also
    --------
    RandomSurvivalForest : The same with the best thresholds.

    References
    ----------
    H. Ishwaran, U. B. Kogalur, E. H. Blackstone, M. S. Lauer, "Random survival forests", Annals of
    Applied Statistics 2, 2008.

    P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from spinney.survival import ExtraSurvivalTrees
    >>> rng = np.random.default_rng(0)
    >>> X, years = rng.random((60, 4)), rng.exponential(3, 60)
    >>> ExtraSurvivalTrees(20, random_state=0).fit(X, (years < 5, years)).predict(X).shape
    (60,)
    """

    max_features: MaxFeatures = "sqrt"
    replace: bool = True

    _splitter: ClassVar[str] = "random"
