"""Lazy forests: trees are expanded at prediction time, only along paths that a query row takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spinney._common.progress import show_progress
from spinney._common.types import (
    ClassCriterion,
    ForestClassWeight,
    Interpolation,
    MaxFeatures,
    NumberCriterion,
    SamplesByClass,
)
from spinney._fit.params import with_parameters
from spinney._fit.signatures import ImpurityParameters, LazyParameters
from spinney.ensemble._bagged import BaggedClassifier, BaggedRegressor
from spinney.ensemble._lazy_base import BaseLazyForest
from spinney.ensemble._quantile_base import check_interpolation, read_quantiles, shape_quantiles


@with_parameters
class LazyForestClassifier(BaggedClassifier, BaseLazyForest, LazyParameters, ImpurityParameters):
    """A forest of classification trees that are never stored.

    `fit` only encodes the training data. A prediction expands the nodes of each tree that some
    query row reaches, and no others. Predictions equal, bit for bit, the predictions of a
    :class:`RandomForestClassifier` with the same parameters and `random_state` (with
    `splitter="random"`, of an :class:`ExtraTreesClassifier`). They depend neither on which
    query rows are predicted together nor on the number of threads. A lazy forest pays for few query
    rows, and its memory does not grow with the number of trees.

    Out-of-bag estimates and `warm_start` are missing, because no tree is kept. Pickles and files
    have the training data.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        The impurity that splits minimise: Gini impurity, or Shannon entropy in bits. "log_loss" is
        another name of "entropy".
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
    class_weight : dict, list of dict, "balanced" or "balanced_subsample", default=None
        Weights of the classes, by which the weights of their samples are multiplied. A dict maps
        labels to weights; a list has one dict per output. "balanced" gives each class the same
        total weight, `sample_weight` included. "balanced_subsample" does so within the sample of
        each tree, where samples have the weights that `fit` describes. With `bootstrap=True` and
        `replace=True` these weights become probabilities to be drawn, but for "balanced_subsample",
        which is applied after drawing. None means 1 for all classes.
    ccp_alpha : float, default=0.0
        Price of a leaf in minimal cost-complexity pruning. A grown tree is cut back to the subtree
        with the lowest sum of impurity and prices of leaves. 0.0 means no pruning.
    max_samples : int or float, default=None
        Number of draws per tree with `bootstrap=True`. None means as many as there are samples. A
        float is a fraction of the total sample weight and may exceed 1.0. With `replace=False` it
        is a fraction of the number of samples with a positive weight.
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
    class_sampling : str, float, dict, callable or None, default=None
        How many samples of each class a tree gets with `bootstrap=True`, in imbalanced-learn's
        words. None: classes are ignored. "all": every class gets as many samples as the smallest
        one. "not minority", "majority" and so on: only these classes do. A float: the samples of
        the smaller of two classes divided by the samples of the larger one. A dict maps labels to
        numbers of samples; a callable is called with `y` and returns such a dict. Classes that are
        not named get as many draws as they have samples. Within a class all samples are equally
        likely, and trees weigh them by their weights.
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

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or list of ndarray
        The class labels, sorted. A list with one array per output if there are several outputs.
    n_classes_ : int, or ndarray of int
        Number of classes. An array with one entry per output if there are several outputs.
    forest_ : LazyForest
        The encoded training data.
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
    n_outputs_ : int
        Number of outputs (columns of `y`).

    See Also
    --------
    LazyForestRegressor : The same for numbers.
    RandomForestClassifier : The same with stored trees, for many queries.

    References
    ----------
    M. Guillame-Bert and A. Dubrawski, "Batched Lazy Decision Trees", 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spinney import LazyForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> lazy = LazyForestClassifier(20, random_state=0).fit(X[:-1], y[:-1])
    >>> int(lazy.predict(X[-1:])[0])
    2
    """

    criterion: ClassCriterion = "gini"
    max_features: MaxFeatures = "sqrt"
    class_weight: ForestClassWeight = None
    class_sampling: SamplesByClass | None = None

    def _interpret(self, values: NDArray[np.float64]) -> tuple[NDArray[Any], Any]:
        return self._choose_labels(values), self._list_probabilities(values)


@with_parameters
class LazyForestRegressor(BaggedRegressor, BaseLazyForest, LazyParameters, ImpurityParameters):
    """A forest of regression trees that are never stored.

    `fit` only encodes the training data. A prediction expands the nodes of each tree that some
    query row reaches, and no others. Predictions equal, bit for bit, the predictions of a
    :class:`RandomForestRegressor` with the same parameters and `random_state` (with
    `splitter="random"`, of an :class:`ExtraTreesRegressor`). They depend neither on which
    query rows are predicted together nor on the number of threads. A lazy forest pays for few query
    rows, and its memory does not grow with the number of trees.

    Out-of-bag estimates and `warm_start` are missing, because no tree is kept. Pickles and files
    have the training data.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"squared_error", "absolute_error", "quantile", "poisson"}, default="squared_error"
        The loss that splits minimise. It also determines what a leaf predicts. "squared_error":
        variance, the mean. "absolute_error": mean absolute error, the median. "quantile": mean
        pinball loss, the quantile given by `quantile`. "poisson": half the mean Poisson deviance,
        the mean; this is for targets that are counts or rates, and each child of a split must have
        a target above 0.
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
    min_samples_split : int or float, default=2
        A node with fewer samples becomes a leaf. A float is a fraction of the number of training
        samples.
    min_samples_leaf : int or float, default=1
        Each child of a split must have at least this many samples. A float is a fraction of the
        number of training samples.
    min_weight_fraction_leaf : float, default=0.0
        Each child of a split must have at least this fraction of the total sample weight.
    max_features : int, float, {"sqrt", "log2"} or None, default=1.0
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
    ccp_alpha : float, default=0.0
        Price of a leaf in minimal cost-complexity pruning. A grown tree is cut back to the subtree
        with the lowest sum of impurity and prices of leaves. 0.0 means no pruning.
    max_samples : int or float, default=None
        Number of draws per tree with `bootstrap=True`. None means as many as there are samples. A
        float is a fraction of the total sample weight and may exceed 1.0. With `replace=False` it
        is a fraction of the number of samples with a positive weight.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        For each feature 1 if predictions must not fall as the feature grows, -1 if they must not
        rise, 0 if there is no constraint. The constraints hold for each output.
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
    quantile : float, default=0.5
        The quantile that leaves predict with `criterion="quantile"`: the fraction of a leaf's
        weight whose targets lie below the prediction, above 0.0 and below 1.0. If the targets up to
        one of them have exactly this fraction, the prediction is half way from that one to the next
        larger one, so that 0.5 gives the median. Leaves should be larger than
        `1 / min(quantile, 1 - quantile)`: see `min_samples_leaf`.
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
    forest_ : LazyForest
        The encoded training data.
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
    n_outputs_ : int
        Number of outputs (columns of `y`).

    See Also
    --------
    LazyForestClassifier : The same for classes.
    RandomForestRegressor : The same with stored trees, for many queries.
    spinney.survival.LazySurvivalForest : The same for times.

    References
    ----------
    M. Guillame-Bert and A. Dubrawski, "Batched Lazy Decision Trees", 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from spinney import LazyForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> lazy = LazyForestRegressor(20, random_state=0).fit(X, y)
    >>> lazy.explore(X[:1], weights=True).weights.shape
    (1, 442)
    """

    criterion: NumberCriterion = "squared_error"
    max_features: MaxFeatures = 1.0
    quantile: float = 0.5

    def predict(
        self, X: Any, quantiles: Any = None, interpolation: Interpolation = "linear"
    ) -> NDArray[np.float64]:
        """Predict the mean of what the trees predict, or quantiles of the target.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        quantiles : float, list of float or "mean", default=None
            The quantiles, in [0, 1], of the training targets in the leaves that a sample reaches:
            bit for bit what `RandomForestQuantileRegressor` predicts (with `splitter="random"`,
            what `ExtraTreesQuantileRegressor` does). They need trees that are not grown completely.
            None and "mean": the mean of the trees.
        interpolation : {"linear", "lower", "higher", "midpoint", "nearest"}, default="linear"
            What a quantile between two targets is, as in :func:`numpy.quantile`.

        Returns
        -------
        y : ndarray of shape (n_samples,), (n_samples, n_quantiles) or \
                (n_samples, n_outputs, n_quantiles)
            float64. The axes of outputs and of quantiles are left out if they have length 1.
        """
        check_is_fitted(self)
        wanted = read_quantiles(quantiles)
        check_interpolation(interpolation)
        if wanted is None:
            return super().predict(X)
        if self.criterion == "quantile":
            raise ValueError("Leaves of criterion='quantile' predict the quantile that it names.")
        X, n_threads, forest = (
            self._validate_X_predict(X),
            self._count_threads(),
            self._take_trees(),
        )
        traversal = self._choose_lazy(forest, "quantiles")
        with show_progress(self._read_verbose(), 0, len(forest)) as watcher:
            found = forest.quantiles(X, wanted, interpolation, traversal, n_threads, watcher)
        return shape_quantiles(found, self.n_outputs_)

    def _interpret(self, values: NDArray[np.float64]) -> tuple[NDArray[Any], Any]:
        prediction = values[..., 0]
        return prediction, None
