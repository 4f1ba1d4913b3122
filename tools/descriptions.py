"""Descriptions of parameters and attributes that several docstrings share; see `docstrings`.

In each vocabulary names are at the margin and descriptions are indented. Where a vocabulary has a
name twice, the second description counts.
"""

from __future__ import annotations

# What is known of the features of any training data.
FEATURES = """
n_features_in_
    Number of features seen in `fit`.
feature_names_in_
    Names of the features seen in `fit`. Exists only if `X` has names that are all strings.
is_categorical_
    Which features are categorical. None if no feature is.
categories_
    For each categorical feature, its distinct values in `fit`: sorted, except that 0 comes
    first. The index of a value is the code that stands for it in the compiled trees. The
    entry of a numeric feature is None. None if no feature is categorical.
"""

_ESTIMATOR = """
interaction_cst
    Groups of features that may interact: each path of a tree has features of one group alone. A
    sequence of collections of feature numbers, in which features that are in none of them are one
    more group; "pairwise": all groups of two; "no_interactions": each feature alone. None: no
    constraint. A feature that may not split a node counts as one that is constant there: see
    `max_features`.
max_depth
    Largest depth of a leaf. None means no limit.
min_samples_split
    A node with fewer samples becomes a leaf. A float is a fraction of the number of
    training samples.
min_samples_leaf
    Each child of a split must have at least this many samples. A float is a fraction of the
    number of training samples.
min_weight_fraction_leaf
    Each child of a split must have at least this fraction of the total sample weight.
max_features
    Number of features that each node draws as candidates for its split. A float is a
    fraction of all features, "sqrt" and "log2" are functions of their number, and None
    means all. Features that are constant in the node count as drawn, unless
    `feature_sampling="active"`. If all drawn features are constant, the node goes on
    drawing until it finds one that is not.
max_leaf_nodes
    Largest number of leaves of a tree. The tree is then grown best first: the next node to
    be split is the one whose split reduces the impurity of the tree most. None means no
    limit.
min_impurity_decrease
    A node is split only if the split reduces the impurity by at least this much. The
    reduction is multiplied by the node's fraction of the total sample weight.
ccp_alpha
    Price of a leaf in minimal cost-complexity pruning. A grown tree is cut back to the
    subtree with the lowest sum of impurity and prices of leaves. 0.0 means no pruning.
n_jobs
    Number of threads for `fit` and for predictions. None means 1 unless
    `joblib.parallel_config` sets another number, and -1 means all processors. Results do
    not depend on it.
random_state
    Seed of everything that is random: the features that nodes draw, the order that decides
    between equally good splits, random thresholds, and the samples of the trees of a
    forest. An int, which may be as large as 2**64 - 1, makes results repeatable.
feature_sampling
    The features among which a node draws `max_features`: "all" of them, or only the
    "active" ones, which are not constant in the node. If a node has fewer active features
    than it draws, it uses all of them.
splitter
    How the threshold of a feature is chosen. "best" takes the best of all thresholds.
    "random" draws one threshold uniformly between the smallest and the largest value that
    the feature has in the node.
categorical_features
    Which features are categorical. None: no feature. "from_dtype": the columns of a data
    frame that have a categorical dtype. Otherwise a boolean mask, or the indices or names
    of the categorical features; a list may have "from_dtype" among them. A categorical column
    may have any number of distinct values, of any type that can be sorted, such as strings. A
    split sends a set of categories to one child. Categories that do not occur in the node, or
    did not occur in `fit`, go to the child with the larger weight.
min_samples_category
    In each node, all categories of a feature that have fewer samples than this are treated
    as one category. Missing values are a category here: if they are fewer, they go where the
    other rare categories go.
category_order
    Which samples order the categories of a feature; a split cuts this order in two. "node":
    the samples of the node, in each node. "tree": samples that the tree is not grown on, or,
    if it is grown on all, a random half of them, once per tree; this keeps splits from
    fitting noise. `min_samples_category` has no effect on such features, and a tree drops a
    feature with more than 32 categories if its order does not correlate with the targets of
    the other samples. "auto": "tree" for features with more than 10 categories, unless
    `min_samples_category` is above 1; otherwise "node". Random thresholds need no order.
handle_unknown
    What predictions do with categories that did not occur in `fit`. "ignore": splits send
    them to the child with the larger weight, and a warning names features without any known
    category, perhaps because their type has changed. "error": they raise
    ValueError. Missing values are no unknown categories.
expected_value_
    The prediction if nothing is known of a sample: with the contributions of `shap_values` it
    adds up to the prediction.
n_outputs_
    Number of outputs (columns of `y`).
"""

_TREE = """
feature_importances_
    Total decrease of impurity by the splits on each feature, normalised to a sum of 1.
max_features_
    Number of features that each node draws.
tree_
    The compiled tree: read-only arrays with one entry per node.
"""

# Of grown forests and of lazy ones.
_FOREST = """
n_estimators
    Number of trees.
bootstrap
    The samples that each tree is grown on. True: drawn ones. False: all samples. "poisson":
    all samples, the weight of each multiplied by a random count with mean 1 from a Poisson
    distribution. That count is determined by the id of the sample (see `fit`), the number
    of the tree and `random_state`.
max_samples
    Number of draws per tree with `bootstrap=True`. None means as many as there are samples.
    A float is a fraction of the total sample weight and may exceed 1.0. With
    `replace=False` it is a fraction of the number of samples with a positive weight.
replace
    Whether `bootstrap=True` draws with replacement. If False, no sample is drawn twice,
    drawn samples keep their weights, and `max_samples` must not exceed the number of
    samples with a positive weight.
verbose
    Whether to report on stderr how many trees are grown. 0: no report. 1: a progress bar if
    tqdm is installed, otherwise at most one line per second. 2 or more: a line at every
    update.
"""

_GROWN_FOREST = """
warm_start
    If True, a further call of `fit` keeps the trees of the forest and adds trees until
    there are `n_estimators`. With the same data and an int as `random_state` the result is
    the forest that a single call grows. Features must have the names of the first call.
estimator_
    The kind of tree that the forest consists of, not fitted.
estimators_
    The trees as estimators that share the memory of the forest. They are made when this
    attribute is first read. Where features are categorical they take codes, see `to_codes`.
estimators_samples_
    For each tree, the sorted indices of the samples it was grown on. They are drawn again
    when this attribute is read.
feature_importances_
    Mean over the trees of the total decrease of impurity by the splits on each feature,
    normalised to a sum of 1.
forest_
    The compiled forest.
oob_score_
    Out-of-bag score of the samples that some tree was not grown on; NaN if there are none. Exists
    only if `oob_score` is not False.
oob_decision_function_
    Out-of-bag probabilities of the training samples, NaN for samples that every tree was
    grown on. Exists only if `oob_score` is not False.
oob_prediction_
    Out-of-bag predictions of the training samples, NaN for samples that every tree was grown
    on. Exists only if `oob_score` is not False.
"""

_HONEST = """
honest
    Whether one part of the samples of a tree chooses its splits, and the other part fills its
    leaves, so that no leaf predicts what its splits have looked for. A leaf that gets no sample
    gives its place to its sibling. Limits such as `min_samples_leaf` are of the samples that choose
    splits; nodes, their importances too, know the samples that fill leaves. Samples in neither
    part are out of bag. Not with `monotonic_cst`.
honest_fraction
    The share of the different samples of a tree that choose its splits, with `honest`.
subforest_size
    How many trees, one after the other, share a drawn half of the samples, from which each draws
    its own without replacement: `max_samples`, at most half of all, or the whole half (None).
    `predict_standard_error` then tells the error from what these groups of trees differ by.
    `n_estimators` is a multiple of it; it needs `bootstrap=True`. None: each tree draws for itself.
"""

_LAZY_FOREST = """
traversal
    How query rows descend a tree. Predictions do not depend on it. "batched": all rows
    together, visiting only nodes that some row reaches. "single": one row after the other,
    each along its own path. "eager": each tree is grown completely, asked for predictions
    and dropped, as `max_leaf_nodes` and `ccp_alpha` require. "auto": "eager" where these
    two parameters require it or there are at least twice as many query rows as training
    rows, otherwise "batched".
verbose
    Whether to report on stderr, during predictions, how many trees are done. 0: no report.
    1: a progress bar if tqdm is installed, otherwise at most one line per second. 2 or
    more: a line at every update.
forest_
    The encoded training data.
"""

_CLASSIFIER = """
criterion
    The impurity that splits minimise: Gini impurity, or Shannon entropy in bits. "log_loss"
    is another name of "entropy".
class_weight
    Weights of the classes, by which the weights of their samples are multiplied. A dict
    maps labels to weights; a list has one dict per output. "balanced" weighs each class
    inversely to its frequency in `y`. None means 1 for all classes.
monotonic_cst
    For each feature 1 if predictions must not fall as the feature grows, -1 if they must
    not rise, 0 if there is no constraint. The constrained prediction is the probability of
    the second class. More than two classes, and several outputs, are not supported.
classes_
    The class labels, sorted. A list with one array per output if there are several outputs.
n_classes_
    Number of classes. An array with one entry per output if there are several outputs.
"""

_REGRESSOR = """
criterion
    The loss that splits minimise. It also determines what a leaf predicts. "squared_error":
    variance, the mean. "absolute_error": mean absolute error, the median. "quantile": mean
    pinball loss, the quantile given by `quantile`. "poisson": half the mean Poisson
    deviance, the mean; this is for targets that are counts or rates, and each child of a
    split must have a target above 0.
monotonic_cst
    For each feature 1 if predictions must not fall as the feature grows, -1 if they must
    not rise, 0 if there is no constraint. The constraints hold for each output.
quantile
    The quantile that leaves predict with `criterion="quantile"`: the fraction of a leaf's
    weight whose targets lie below the prediction, above 0.0 and below 1.0. If the targets
    up to one of them have exactly this fraction, the prediction is half way from that one
    to the next larger one, so that 0.5 gives the median. Leaves should be larger than
    `1 / min(quantile, 1 - quantile)`: see `min_samples_leaf`.
"""

_FOREST_CLASSIFIER = """
class_weight
    Weights of the classes, by which the weights of their samples are multiplied. A dict
    maps labels to weights; a list has one dict per output. "balanced" gives each class the
    same total weight, `sample_weight` included. "balanced_subsample" does so within the
    sample of each tree, where samples have the weights that `fit` describes. With
    `bootstrap=True` and `replace=True` these weights become probabilities to be drawn, but
    for "balanced_subsample", which is applied after drawing. None means 1 for all classes.
oob_score
    Whether to predict each training sample by the trees that were not grown on it, and to
    score these out-of-bag predictions. True: by accuracy. The name of a scorer
    of scikit-learn, such as "roc_auc", or a scorer that `make_scorer` returns, scores the
    out-of-bag probabilities or classes, whichever it asks for. Any other callable is called with
    the true classes and the predicted ones, both as indices into `classes_`, never with
    probabilities, and returns the score. Samples that every tree was grown on are left out,
    with a warning. Needs a `bootstrap` other than False.
"""

_CLASS_SAMPLING = """
class_sampling
    How many samples of each class a tree gets with `bootstrap=True`, in imbalanced-learn's words.
    None: classes are ignored. "all": every class gets as many samples as the smallest one.
    "not minority", "majority" and so on: only these classes do. A float: the samples of the
    smaller of two classes divided by the samples of the larger one. A dict maps labels to numbers
    of samples; a callable is called with `y` and returns such a dict. Classes that are not named
    get as many draws as they have samples. Within a class all samples are equally likely, and
    trees weigh them by their weights.
"""

_FOREST_REGRESSOR = """
oob_score
    Whether to predict each training sample by the trees that were not grown on it, and to
    score these out-of-bag predictions. True: by R2. The name of a scorer of
    scikit-learn, or a scorer that `make_scorer` returns, scores by it. Any other callable is called
    with the true targets and the predicted ones, and returns the score. Samples that every tree
    was grown on are left out, with a warning. Needs a `bootstrap` other than False.
"""

# Of a forest whose samples are drawn by class.
_BALANCED = """
bootstrap
    Whether each tree is grown on a bootstrap sample of the samples that were drawn by class,
    rather than on these.
max_samples
    Number of draws of the bootstrap sample with `bootstrap=True`. None means as many as samples
    were drawn by class; a float is a fraction of them, and may exceed 1.0.
class_weight
    Weights of the classes, by which the weights of the samples that were drawn are multiplied.
    "balanced" gives each class of the training data the same total weight,
    "balanced_subsample" each class among the samples of a tree. None means 1 for all classes.
oob_score
    Whether to predict each training sample by the trees that were not grown on it, and to score
    these out-of-bag predictions. True: by accuracy. The name of a scorer
    of scikit-learn, such as "roc_auc", or a scorer that `make_scorer` returns, scores the
    out-of-bag probabilities or classes, whichever it asks for. Any other callable is called with
    the true classes and the predicted ones, both as indices into `classes_`, never with
    probabilities, and returns the score. Samples that
    every tree was grown on are left out, with a warning.
"""

# Of trees that are grown without a target.
_WITHOUT_TARGET = """
n_jobs
    Number of threads. None means 1 unless `joblib.parallel_config` sets another number, and -1
    means all processors. Results do not depend on it.
random_state
    Seed of everything that is random: samples, features and thresholds. An int, which may be as
    large as 2**64 - 1, makes results repeatable.
categorical_features
    Which features are categorical. None: no feature. "from_dtype": the columns of a data frame
    that have a categorical dtype. Otherwise a boolean mask, or the indices or names of the
    categorical features; a list may have "from_dtype" among them. A node sends a random subset
    of the categories to one child. Categories that did not occur in it go to the child with
    more samples.
"""

_EMBEDDING = """
max_leaf_nodes
    Largest number of leaves of a tree. The tree is then grown best first: the next node to be
    split is the one whose split shortens paths most, as `min_impurity_decrease` measures it. None
    means no limit.
min_impurity_decrease
    A node is split only if that shortens the mean path that would isolate one of its samples by at
    least this much. The decrease is multiplied by the node's fraction of the total sample weight.
feature_importances_
    Mean over the trees of the total decrease of mean path lengths by the cuts of each feature,
    normalised to a sum of 1.
"""

_ISOLATION = """
max_samples
    Number of samples that each tree draws. A float is a fraction of the samples, and "auto" is
    256. No more are drawn than there are.
max_features
    Number of features that a tree has, chosen at random; each node draws one of them. A
    float is a fraction of the features.
bootstrap
    Whether samples are drawn with replacement. A sample that is drawn k times counts as k.
estimators_
    The trees as estimators. They predict the length of the path of a sample, given its
    `estimators_features_`. They are made when this attribute is first read.
"""

_QUANTILE_FOREST = """
default_quantiles
    What `predict` returns if `quantiles` is not given: quantiles in [0, 1], or "mean" (None means
    the same).
criterion
    The loss that splits minimise: variance, mean absolute error, or half the mean Poisson deviance.
max_samples_leaf
    Largest number of samples that a leaf keeps, drawn at random. A float is a fraction of the
    number of training samples. None means all: quantile-forest keeps one by default.
monotonic_cst
    For each feature 1 if the means of leaves must not fall as the feature grows, -1 if they must
    not rise, 0 if there is no constraint. Quantiles are not constrained.
warm_start
    If True, a further call of `fit` keeps the trees of the forest and adds trees until there are
    `n_estimators`. It must be to the same data, whose samples the leaves of all trees get.
oob_score
    Whether to predict the mean of each training sample by the trees that were not grown on it, and
    to score these out-of-bag predictions. True: by R2. The name of a scorer of
    scikit-learn, or a scorer that `make_scorer` returns, scores by it. Any other callable is called
    with the true targets and the predicted ones, and returns the score. Samples that every tree
    was grown on are left out, with a warning. Needs a `bootstrap` other than False.
"""

_SURVIVAL = """
criterion
    What splits maximise: the log-rank statistic of the two children ("logrank"), or LeBlanc and
    Crowley's approximation of it by the hazard of the node ("logrank_fast").
ccp_alpha
    Price of a leaf in split-complexity pruning: a grown tree is cut back to the subtree with the
    highest sum of log-rank statistics of its splits, less the prices of leaves. 0.0 means no
    pruning.
max_leaf_nodes
    Largest number of leaves of a tree. The tree is then grown best first: the next node to be split
    is the one whose split has the highest statistic. None means no limit.
min_events_leaf
    Each child of a split must have events of at least this weight. None means no limit.
cause
    The number of the cause whose events are predicted: splits, risks and scores see events of other
    causes as censorings. None means that all events are alike.
low_memory
    Has no effect: curves are computed when they are asked for. It exists for compatibility with
    scikit-survival.
unique_times_
    The distinct times of the training samples, ascending.
event_times_
    Those at which there was an event (of `cause`).
causes_
    The numbers of the causes of events, ascending: 1 if `y` has bools.
feature_importances_
    Mean over the trees of the sum of the log-rank statistics of the splits on each feature,
    normalised to a sum of 1. They are biased towards features with many distinct values, such as
    ids, which can fit noise: `permutation_importance_oob` is not.
oob_score
    Whether to predict the risk of each training sample by the trees that were not grown on it, and
    to score these out-of-bag predictions. True: by concordance. "concordance",
    "concordance_ipcw", "cumulative_dynamic_auc" or what `make_survival_scorer` returns for them
    scores by it. Any other callable is called with the events and times, in the form in which `fit`
    got them, and the predicted risks, and returns the score. Samples that every tree was grown on
    are left out, with a warning. Needs a `bootstrap` other than False.
oob_prediction_
    Out-of-bag risks of the training samples, NaN for samples that every tree was grown on. Exists
    only if `oob_score` is not False.
warm_start
    If True, a further call of `fit` keeps the trees of the forest and adds trees until there are
    `n_estimators`. It must be to the same data, whose samples the leaves of all trees get.
expected_value_
    The risk if nothing is known of a sample: with the contributions of `shap_values` it adds up to
    the predicted risk.
"""

_HISTOGRAM_BOOSTING = """
max_iter
    Number of rounds. A round grows one tree, or one for each class if there are more than two.
min_samples_leaf
    Each child of a split must have at least this many samples. A float is a fraction of the number
    of training samples.
max_features
    How many features a node draws: an int is a number, a float a fraction of all, rounded up. If
    none of them can be cut, the draw goes on.
max_bins
    The most bins of the values of a feature, missing ones aside, up to 255: cuts are between bins.
    None: cuts are between any two values that differ.
monotonic_cst
    For each feature 1 if raw predictions must not fall as the feature grows, -1 if they must
    not rise, 0 if there is no constraint; or a dict of names of features with them. More than two
    classes are not supported.
early_stopping
    Whether rounds end early: see `n_iter_no_change`. "auto": if there are more than 10,000 samples.
scoring
    What early stopping goes by. "loss": the loss. Otherwise the name of a scorer of scikit-learn, a
    scorer, or None for `score`; they see up to 10,000 of the training samples.
validation_fraction
    Share, or number, of the samples that is left out for early stopping, unless `fit` gets
    `X_val`. None: early stopping goes by the training samples.
n_iter_no_change
    With early stopping, no further round begins when the score has not risen by `tol` in so many
    rounds.
tol
    By how much the score must rise; see `n_iter_no_change`.
verbose
    Whether to print the number of each round, and its scores if there are some.
random_state
    Seed of everything that is random: the features that nodes draw, the order that decides between
    equally good splits, and the samples that are left out for early stopping. An int makes results
    repeatable.
quantile
    The level of the quantile that is predicted with `loss="quantile"`; or a list of levels, whose
    quantiles do not cross: `predict` then has a column for each.
class_weight
    Weights of the classes, by which the weights of samples are multiplied: a dict, or "balanced"
    for weights that give all classes the same total. None: 1 for all.
do_early_stopping_
    Whether rounds could end early.
n_iter_
    Number of rounds that were made.
train_score_
    Scores of training samples: before the first round, and after each. Higher is better; of
    `scoring="loss"`, they are the negative loss. Empty without early stopping.
validation_score_
    The same of the samples that were left out or given.
"""

_BOOSTING = """
learning_rate
    What each tree's contribution is multiplied by. Smaller rates need more rounds, and usually
    predict better.
n_estimators
    Number of rounds. A round grows one tree, or one for each class if there are more than two.
subsample
    Share of the samples that the trees of a round are grown on, drawn anew for each round
    without replacement. Below 1.0 the others score the round: see `oob_improvement_`.
criterion
    Has no effect. As in scikit-learn, any other value than the default warns.
init
    What the rounds begin with. None: the best constant. "zero": 0. An estimator: what it
    predicts, once it is fitted to `X` and `y`.
random_state
    Seed of everything that is random: the samples of rounds, the features that nodes draw, the
    order that decides between equally good splits, and the samples that are left out for early
    stopping. An int makes results repeatable. For ints below 2**32, rounds and early stopping
    draw the samples that scikit-learn draws.
alpha
    The level of the quantile with `loss="quantile"`, or a list of levels, whose quantiles do not
    cross: `predict` then has a column for each. With `loss="huber"`, the share of the residuals
    that count as small.
power
    With `loss="tweedie"`, the power of the mean that is in proportion to the variance. 1.0 is
    `loss="poisson"`, and 2.0 `loss="gamma"`.
verbose
    Whether to print the losses of rounds. 0: no. 1: of the first rounds and then ever more
    rarely. 2 or more: of every round.
warm_start
    If True, a further call of `fit` keeps the trees and adds rounds until there are
    `n_estimators`.
validation_fraction
    Share of the samples that is left out for early stopping, unless `fit` gets `X_val`.
n_iter_no_change
    If given, no further round begins when the loss of the samples for validation has not fallen
    by `tol` in so many rounds. None: all rounds are made.
tol
    By how much the loss must fall; see `n_iter_no_change`.
second_order
    Whether splits and leaves use second derivatives of the loss, as in LightGBM, XGBoost and
    scikit-learn's `HistGradientBoosting`: with sums G of negative gradients and H of second
    derivatives, a leaf adds `G / (H + l2_regularization)`, and a split gains the sum of
    `G**2 / (H + l2_regularization)` over its children, less that of the node. Children with H below
    0.001 are illegal. For losses without second derivatives H is the number of samples, and leaves
    add quantiles of residuals. It grows trees of all data by the fast engine, and takes no
    `min_weight_fraction_leaf` and no `feature_sampling="active"`. Categories are ordered by
    `G / (H + l2_regularization + 10)`, and of more than 256 categories the rare ones are one.
l2_regularization
    Is added to sums of second derivatives, so that leaves of few samples add less. Needs
    `second_order=True`.
interaction_cst
    Groups of features that may interact: each path of a tree has features of one group alone. A
    sequence of collections of feature numbers, in which features that are in none of them are one
    more group; "pairwise": all groups of two; "no_interactions": each feature alone. None: no
    constraint. Takes no `min_weight_fraction_leaf` and no `feature_sampling="active"`.
monotonic_cst
    For each feature 1 if raw predictions must not fall as the feature grows, -1 if they must
    not rise, 0 if there is no constraint. Of two classes, the raw prediction is of the second;
    more classes are not supported.
n_estimators_
    Number of rounds that were made.
n_trees_per_iteration_
    Number of trees of a round.
estimators_
    The trees as estimators, of shape (n_estimators_, n_trees_per_iteration_). They are made
    when this attribute is first read. Where features are categorical they take codes, see
    `to_codes`.
forest_
    The compiled trees, round by round.
init_
    What the rounds begin with: a fitted estimator, or "zero".
train_score_
    The loss of the samples in bag after each round.
oob_improvement_
    By how much each round has lowered the loss of the samples out of bag. Exists only if
    `subsample` is below 1.0.
oob_scores_
    The loss of the samples out of bag after each round. Exists only if `subsample` is below
    1.0.
oob_score_
    The last of `oob_scores_`.
max_features_
    Number of features that each node draws.
expected_value_
    The raw prediction if nothing is known of a sample: with the contributions of `shap_values`
    it adds up to the raw prediction.
feature_importances_
    Mean over the trees of the total decrease of impurity by the splits on each feature,
    normalised to a sum of 1.
"""

_CAUSAL = """
min_samples_leaf
    Each child of a split must have at least this many of the samples that choose splits. A
    float is a fraction of the number of all samples. Leaves that none of the other samples
    reach are removed.
max_features
    Number of features that each node draws as candidates for its split. "auto" is the square
    root of their number, rounded up, plus 20, or all if there are fewer. A float is a fraction
    of all features, "sqrt" and "log2" are functions of their number, and None means all.
random_state
    Seed of everything that is random: halves and samples of trees, features that nodes draw,
    folds, and the order that decides between equally good splits. An int, which may be as large
    as 2**64 - 1, makes results repeatable.
"""

_ANY_ESTIMATOR = FEATURES + _ESTIMATOR
_ANY_FOREST = _ANY_ESTIMATOR + _FOREST
_ANY_GROWN_FOREST = _ANY_FOREST + _GROWN_FOREST + _HONEST
TREE_CLASSIFIER = _ANY_ESTIMATOR + _TREE + _CLASSIFIER
TREE_REGRESSOR = _ANY_ESTIMATOR + _TREE + _REGRESSOR
FOREST_CLASSIFIER = _ANY_GROWN_FOREST + _CLASSIFIER + _FOREST_CLASSIFIER + _CLASS_SAMPLING
BALANCED_CLASSIFIER = FOREST_CLASSIFIER + _BALANCED
FOREST_REGRESSOR = _ANY_GROWN_FOREST + _REGRESSOR + _FOREST_REGRESSOR
QUANTILE_FOREST = FOREST_REGRESSOR + _QUANTILE_FOREST
ISOLATION_FOREST = _ANY_GROWN_FOREST + _WITHOUT_TARGET + _ISOLATION
EMBEDDING = _ANY_GROWN_FOREST + _WITHOUT_TARGET + _EMBEDDING
LAZY_CLASSIFIER = _ANY_FOREST + _LAZY_FOREST + _CLASSIFIER + _FOREST_CLASSIFIER + _CLASS_SAMPLING
LAZY_REGRESSOR = _ANY_FOREST + _LAZY_FOREST + _REGRESSOR
BOOSTING = _ANY_ESTIMATOR + _BOOSTING
HISTOGRAM_BOOSTING = BOOSTING + _HISTOGRAM_BOOSTING
CAUSAL_FOREST = _ANY_ESTIMATOR + _CAUSAL
SURVIVAL_TREE = _ANY_ESTIMATOR + _TREE + _SURVIVAL
SURVIVAL_FOREST = _ANY_GROWN_FOREST + _SURVIVAL
LAZY_SURVIVAL_FOREST = _ANY_FOREST + _LAZY_FOREST + _SURVIVAL

SURVIVAL_BOOSTING = (
    BOOSTING
    + """
cause
    The number of the cause whose events are predicted: events of other causes are censorings. None
    means that all events are alike.
loss
    What the trees lower. "coxph": the negative logarithm of Cox's partial likelihood, of ties as
    Breslow has it. "squared": squared errors of the logarithms of times, where a censored sample
    has no error if a later time is predicted. "ipcwls": squared errors of the logarithms of times,
    where a sample whose event is seen stands for those that were censored before.
dropout_rate
    The chance of each earlier tree to be dropped while a tree is grown; one at least is. Of k
    dropped trees and the new one, leaves are then divided by k + 1, and those of dropped trees
    multiplied by k, so that no tree stands for most of the prediction. 0.0: none is dropped.
n_estimators
    Number of rounds. A round grows one tree.
monotonic_cst
    For each feature 1 if raw predictions must not fall as the feature grows, -1 if they must
    not rise, 0 if there is no constraint.
expected_value_
    The raw prediction if nothing is known of a sample: with the contributions of `shap_values`
    it adds up to the raw prediction, which is the logarithm of a relative hazard, or of a time.
unique_times_
    The distinct times of the training samples, ascending.
event_times_
    Those at which there was an event (of `cause`).
causes_
    The numbers of the causes of events, ascending: 1 if `y` has bools.
"""
)

# Arguments of `fit`.
TRAINING = """
X
    The training samples: numbers of any real dtype, in any memory order or sparse format.
    Values are compared as float64. An entry that a sparse matrix does not store is 0. NaN
    is a missing value; so are None and NA in data frames. Columns of categorical features
    may hold strings or other values that can be sorted.
y
    The targets: class labels of any type that can be sorted, or numbers.
sample_weight
    Non-negative weights. None means 1 for all. Samples with weight 0 have no influence.
"""

_FOREST_TRAINING = """
sample_weight
    Non-negative weights. None means 1 for all. Samples with weight 0 have no influence.
    With `bootstrap=True` and `replace=True` a sample is drawn with a probability
    proportional to its weight, and trees weigh it by the number of its draws, as in
    scikit-learn. Otherwise trees weigh samples by these weights, multiplied by the counts
    of `bootstrap="poisson"`.
sample_ids
    Non-negative ids of the samples, which need not be distinct. None means the row numbers.
    With `bootstrap="poisson"` the count of a sample in a tree is determined by its id, the
    number of the tree and `random_state`. Forests on parts of one data set therefore give a
    sample the same count if it has the same id. Not allowed otherwise.
samples
    The samples of each tree, where `bootstrap=True` is not to draw them: blocks, groups or windows
    of time. A list with an array of indices (repeated for samples that count several times), or a
    mask, for each of the `n_estimators` trees; or an array or sparse matrix of counts of shape
    (n_estimators, n_samples). Trees weigh samples by `sample_weight` times the count. Samples that
    a tree does not get are out of bag for it. With `warm_start`, give the samples of all trees,
    including those that are already grown.
groups
    The group of each sample, such as a patient or a week, whose samples depend on each other. Trees
    draw whole groups, all with the same chance, and weigh their samples by `sample_weight` times
    the number of draws; `max_samples` counts groups, and `bootstrap="poisson"` has one count for
    each. Parts of honest trees, samples out of bag and standard errors are of whole groups, too.
"""

FOREST_TRAINING = TRAINING + _FOREST_TRAINING
_EVENTS = """
y
    Events and times: a structured array of an event (bool) and a time, a data frame or an array of
    these two columns, or a pair (events, times). An event is a bool, or the number of its cause, 0
    for a censored time. Times are finite and not negative.
"""
SURVIVAL_TRAINING = TRAINING + _EVENTS
SURVIVAL_FOREST_TRAINING = FOREST_TRAINING + _EVENTS

# Arguments of predictions.
QUERY = """
X
    The samples. Sparse formats other than CSR are converted to it.
check_input
    If False, scikit-learn's checks and conversions of `X` are skipped.
"""

# Arguments of the functions of `model_selection`.
CROSS_VALIDATION = """
estimator
    The estimator that is cloned and fitted for each fold.
X
    The data.
y
    The targets.
groups
    Group labels of the samples, which are passed to the splitter `cv`.
cv
    How the data are split, as in scikit-learn.
n_jobs
    Number of threads for the shared work. None means the estimator's own `n_jobs`. Where
    folds are refitted, the number of folds that are refitted in parallel.
verbose
    1 or more reports on stderr how many trees, of all folds, are done. Where folds are
    refitted, as in scikit-learn.
params
    Parameters that are passed to the estimator's `fit`, the scorer and the splitter.
pre_dispatch
    Where folds are refitted, the number of folds that are dispatched at once.
error_score
    The score of a fold whose fit fails. "raise" raises the error.
"""
