"""Random forests whose trees get a given number of samples of each class."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn import ensemble as of_sklearn
from sklearn.utils import Tags

from spinney._common.checks import is_bool
from spinney._common.types import (
    CategoryOrder,
    ClassCriterion,
    ForestClassWeight,
    MaxFeatures,
    SamplesByClass,
)
from spinney._fit.class_sampling import ClassSampling
from spinney._fit.draws import Draws, count_draws_without_replacement
from spinney._fit.params import with_parameters
from spinney._fit.signatures import GrownParameters, ImpurityParameters
from spinney._fit.target import EncodedTarget
from spinney.ensemble._forest import ForestClassifier
from spinney.tree import DecisionTreeClassifier


@of_sklearn.RandomForestClassifier.register
@with_parameters
class BalancedRandomForestClassifier(ForestClassifier, GrownParameters, ImpurityParameters):
    """A random forest whose trees get equally many samples of each class, for rare classes.

    Each tree is grown on samples that are drawn by class, by default as many of each as the
    smallest class has. The forest has the interface of imbalanced-learn's class of the same name.
    Nothing is copied or encoded for a tree: samples are counted, and all trees share the encoded
    data. The forest is the same, bit for bit, however the numbers in `X` are stored (dense or
    sparse, dtype, memory order) and whatever the number of threads is. Tree number t does not
    depend on `n_estimators`.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        The impurity that splits minimise: Gini impurity, or Shannon entropy in bits. "log_loss" is
        another name of "entropy".
    max_depth : int, default=None
        Largest depth of a leaf. None means no limit.
    min_samples_split : int or float, default=2
        A node with fewer samples becomes a leaf. A float is a fraction of the number of training
        samples.
    min_samples_leaf : int or float, default=1
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
        split is the one whose split reduces the impurity of the tree most. None means no limit.
    min_impurity_decrease : float, default=0.0
        A node is split only if the split reduces the impurity by at least this much. The reduction
        is multiplied by the node's fraction of the total sample weight.
    bootstrap : bool, default=False
        Whether each tree is grown on a bootstrap sample of the samples that were drawn by class,
        rather than on these.
    oob_score : bool, str or callable, default=False
        Whether to predict each training sample by the trees that were not grown on it, and to score
        these out-of-bag predictions. True: by accuracy. The name of a scorer of scikit-learn, such
        as "roc_auc", or a scorer that `make_scorer` returns, scores the out-of-bag probabilities or
        classes, whichever it asks for. Any other callable is called with the true classes and the
        predicted ones, both as indices into `classes_`, never with probabilities, and returns the
        score. Samples that every tree was grown on are left out, with a warning.
    sampling_strategy : float, str, dict or callable, default="all"
        How many samples of each class a tree gets. "all": every class gets as many samples as the
        smallest one. "not minority" (also named "auto"), "not majority", "majority": only these
        classes do, and the others have all their samples once. A float, for two classes: the
        samples of the smaller one divided by those of the larger one. A dict maps labels to numbers
        of samples. A callable is called with `y` and returns such a dict.
    replacement : bool, default=True
        Whether samples of a class are drawn with replacement.
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
        are `n_estimators`. With the same data and an int as `random_state` the result is the forest
        that a single call grows. Features must have the names of the first call.
    class_weight : dict, "balanced" or "balanced_subsample", default=None
        Weights of the classes, by which the weights of the samples that were drawn are multiplied.
        "balanced" gives each class of the training data the same total weight, "balanced_subsample"
        each class among the samples of a tree. None means 1 for all classes.
    ccp_alpha : float, default=0.0
        Price of a leaf in minimal cost-complexity pruning. A grown tree is cut back to the subtree
        with the lowest sum of impurity and prices of leaves. 0.0 means no pruning.
    max_samples : int or float, default=None
        Number of draws of the bootstrap sample with `bootstrap=True`. None means as many as samples
        were drawn by class; a float is a fraction of them, and may exceed 1.0.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        For each feature 1 if predictions must not fall as the feature grows, -1 if they must not
        rise, 0 if there is no constraint. The constrained prediction is the probability of the
        second class. More than two classes, and several outputs, are not supported.
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

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted. A list with one array per output if there are several outputs.
    n_classes_ : int
        Number of classes. An array with one entry per output if there are several outputs.
    estimator_ : DecisionTreeClassifier
        The kind of tree that the forest consists of, not fitted.
    estimators_ : list of DecisionTreeClassifier
        The trees as estimators that share the memory of the forest. They are made when this
        attribute is first read. Where features are categorical they take codes, see `to_codes`.
    estimators_samples_ : list of ndarray
        For each tree, the sorted indices of the samples it was grown on. They are drawn again when
        this attribute is read.
    feature_importances_ : ndarray of shape (n_features,)
        Mean over the trees of the total decrease of impurity by the splits on each feature,
        normalised to a sum of 1.
    forest_ : Forest
        The compiled forest.
    sampling_strategy_ : dict
        The number of draws per tree of each class that is drawn.
    n_features_in_ : int
        Number of features seen in `fit`.
    expected_value_ : ndarray of shape (n_classes,) or list of such arrays
        The prediction if nothing is known of a sample: with the contributions of `shap_values` it
        adds up to the prediction.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`. Exists only if `X` has names that are all strings.
    is_categorical_ : ndarray of bool of shape (n_features_in_,), or None
        Which features are categorical. None if no feature is.
    categories_ : list of (ndarray or None), or None
        For each categorical feature, its distinct values in `fit`: sorted, except that 0 comes
        first. The index of a value is the code that stands for it in the compiled trees. The entry
        of a numeric feature is None. None if no feature is categorical.
    n_outputs_ : int
        Number of outputs (columns of `y`).
    oob_score_ : float
        Out-of-bag score of the samples that some tree was not grown on; NaN if there are none.
        Exists only if `oob_score` is not False.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes) or \
            (n_samples, n_classes, n_outputs)
        Out-of-bag probabilities of the training samples, NaN for samples that every tree was grown
        on. Exists only if `oob_score` is not False.

    See Also
    --------
    RandomForestClassifier : `class_weight="balanced_subsample"` weighs samples in place of drawing
        fewer.

    Notes
    -----
    Samples that a tree has not drawn are out of bag for it, so that `oob_score`, importances out of
    bag and proximities are there without a bootstrap.

    References
    ----------
    C. Chen, A. Liaw, L. Breiman, "Using random forest to learn imbalanced data", University of
    California, Berkeley, technical report 666, 2004.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from spinney import BalancedRandomForestClassifier
    >>> X, y = make_classification(1000, weights=[0.95], random_state=0)
    >>> forest = BalancedRandomForestClassifier(20, random_state=0).fit(X, y)
    >>> sorted(forest.sampling_strategy_.items()) == [(0, 54), (1, 54)]
    True
    """

    criterion: ClassCriterion = "gini"
    max_features: MaxFeatures = "sqrt"
    bootstrap: bool = False
    sampling_strategy: SamplesByClass = "all"
    replacement: bool = True
    class_weight: ForestClassWeight = None
    category_order: CategoryOrder = "auto"

    _splitter: ClassVar[str] = "best"
    _tree_class: ClassVar[type[DecisionTreeClassifier]] = DecisionTreeClassifier
    # The folds of a cross-validation have classes of their own sizes.
    _shares_folds = False
    # Samples of a bootstrap are drawn with replacement. Not a parameter.
    replace = True

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        tags.target_tags.single_output = True
        tags.classifier_tags.multi_label = False
        return tags

    # --- Parameters -----------------------------------------------------------------------------

    def _check_own_params(self) -> None:
        super()._check_own_params()
        if not is_bool(self.bootstrap):
            self._reject("bootstrap", "a bool")
        if not is_bool(self.replacement):
            self._reject("replacement", "a bool")
        self._sample_classes().check(type(self).__name__)

    def _sample_classes(self) -> ClassSampling:
        return ClassSampling("sampling_strategy", self.sampling_strategy, bool(self.replacement))

    def _leaves_samples_out(self) -> bool:
        return True

    def _balances_subsamples(self) -> bool:
        return isinstance(self.class_weight, str) and self.class_weight == "balanced_subsample"

    # --- Draws ----------------------------------------------------------------------------------

    def _stratify(self, draws: Draws, y: NDArray[Any], target: EncodedTarget) -> Draws:
        strata, sizes = self._sample_classes().divide(
            draws, y, target, np.atleast_1d(self.classes_)
        )
        self.sampling_strategy_: dict[Any, int] = {
            label: n
            for label, n in zip(self.classes_.tolist(), strata.n_draws, strict=True)
            if n is not None
        }
        # A class that is not named has all its samples.
        pairs = zip(sizes, strata.n_draws, strict=True)
        n_drawn = sum(int(size) if n is None else n for size, n in pairs)
        n_again = None
        if self.bootstrap:
            n_again = count_draws_without_replacement(self.max_samples, n_drawn, None) or n_drawn
        strata = strata._replace(n_draws_again=n_again)
        return draws._replace(scheme="strata", n_draws=None, strata=strata)
