"""Tree-for-tree equality with scikit-learn where both must agree, like scores elsewhere.

Two correct learners of the same kind may differ, and do, for these reasons:

* Ties. Cuts that are exactly equally good (two features that cut a node into the same two sets,
  or into sets with the same counts) are chosen between at random by both, from different random
  numbers. Small nodes are full of ties: of two rows every feature is a perfect cut. So the trees
  compared here are stopped while nodes are large, on continuous data or with continuous weights,
  and `tie_free` makes sure that scikit-learn itself grows one and the same tree for any seed.
* Rounding. scikit-learn adds float64 numbers in the order of the sorted values and compares
  rounded sums; here the sums are integers and the comparison is exact. Cuts whose gains differ by
  less than about 1e-12 of the impurity may go either way there.
* float32. scikit-learn casts X to float32, merges values closer than 1e-7 and stops at an impurity
  of 2e-16. So X holds float32 numbers here, well apart.
* Random thresholds and random features come from different generators: with `splitter="random"`
  or `max_features` only the scores can be compared, as means over many seeds.
"""

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.tree
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import cross_val_score

from oracle import NO_CHILD, assert_same_paths
from spinney import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

CRITERIA = {
    "gini": DecisionTreeClassifier,
    "entropy": DecisionTreeClassifier,
    "log_loss": DecisionTreeClassifier,
    "squared_error": DecisionTreeRegressor,
    "poisson": DecisionTreeRegressor,
    "absolute_error": DecisionTreeRegressor,
}
every_criterion = pytest.mark.parametrize("criterion", CRITERIA)


def twin(tree_class):
    """Return scikit-learn's class of the same name."""
    return getattr(sklearn.tree, tree_class.__name__)


def continuous_data(criterion, n_outputs=1, density=1.0, n_samples=400, n_features=7):
    """Return float32 numbers in a float64 matrix, and labels or targets that depend on them."""
    rng = np.random.default_rng(42)
    X = rng.normal(size=(n_samples, n_features)).astype(np.float32).astype(np.float64)
    X[rng.random(X.shape) >= density] = 0
    signal = X @ rng.normal(size=(n_features, n_outputs)) + np.abs(X[:, [0]]) * X[:, [1]]
    signal += rng.normal(scale=0.5, size=signal.shape)
    if criterion == "poisson":
        y = np.maximum(np.exp(signal / 3) - 0.5, 0.0)
    else:
        numbers = criterion in ("squared_error", "absolute_error")
        y = signal if numbers else np.digitize(signal, [-1.0, 0.0, 1.5])
    weight = rng.exponential(size=n_samples) + 0.1
    return X, y[:, 0] if n_outputs == 1 else y, weight


# Trees of `tie_free`, which several forms of the same data are compared with.
TIE_FREE = {}


def tie_free(tree_class, X, y, weight, **params):
    """Return scikit-learn's tree, having made sure that its random tie breaks play no part."""
    key = joblib.hash((tree_class.__name__, X, y, weight, params))
    if key not in TIE_FREE:
        trees = [
            twin(tree_class)(random_state=seed, **params).fit(X, y, sample_weight=weight)
            for seed in range(6)
        ]
        for tree in trees[1:]:
            np.testing.assert_array_equal(tree.tree_.feature, trees[0].tree_.feature)
            np.testing.assert_array_equal(tree.tree_.threshold, trees[0].tree_.threshold)
        TIE_FREE[key] = trees[0]
    return TIE_FREE[key]


def assert_equal_trees(ours, theirs, X):
    """Check structure exactly, and numbers up to the rounding that scikit-learn does."""
    for name in ("node_count", "max_depth", "n_leaves", "n_outputs", "max_n_classes"):
        assert getattr(ours.tree_, name) == getattr(theirs.tree_, name), name
    for name in ("children_left", "children_right", "feature", "n_node_samples"):
        one, other = getattr(ours.tree_, name), getattr(theirs.tree_, name)
        np.testing.assert_array_equal(one, other, err_msg=name)
        # Node ids and features are int32 here: half the memory.
        assert one.dtype.kind == other.dtype.kind, name
    np.testing.assert_allclose(ours.tree_.threshold, theirs.tree_.threshold, rtol=2e-7)
    for name in ("value", "impurity", "weighted_n_node_samples"):
        one, other = getattr(ours.tree_, name), getattr(theirs.tree_, name)
        assert one.shape == other.shape, name
        # Node ids and features are int32 here: half the memory.
        assert one.dtype.kind == other.dtype.kind, name
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11, err_msg=name)
    np.testing.assert_array_equal(ours.apply(X), theirs.apply(X))
    assert_same_paths(ours.decision_path(X), theirs.decision_path(X))
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(
        ours.feature_importances_, theirs.feature_importances_, rtol=1e-9, atol=1e-11
    )


@pytest.mark.pairwise
@pytest.mark.parametrize(
    "rules",
    [
        {"max_depth": 3},
        {"min_samples_leaf": 20},
        {"min_samples_leaf": 0.05},
        {"min_samples_split": 80},
        {"min_samples_split": 0.3},
        {"min_weight_fraction_leaf": 0.06},
        {"min_impurity_decrease": 0.02, "min_samples_leaf": 5},
        {"max_depth": 5, "min_samples_leaf": 15, "min_samples_split": 40},
    ],
    ids=str,
)
@pytest.mark.parametrize("form", ["dense", "csc", "csr"])
@every_criterion
def test_same_tree_with_stop_rules(criterion, form, rules):
    """Weighted continuous data, each stop rule, dense and sparse."""
    X, y, weight = continuous_data(criterion, density=1.0 if form == "dense" else 0.6)
    stored = X if form == "dense" else sp.csr_array(X).asformat(form)
    theirs = tie_free(CRITERIA[criterion], X, y, weight, criterion=criterion, **rules)
    assert theirs.get_n_leaves() > 3
    ours = CRITERIA[criterion](criterion=criterion, random_state=0, **rules)
    assert_equal_trees(ours.fit(stored, y, sample_weight=weight), theirs, X)


@pytest.mark.parametrize("n_outputs", [1, 2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@every_criterion
def test_same_tree_with_outputs_and_weights(criterion, weighted, n_outputs):
    """One or more outputs, with and without weights."""
    X, y, weight = continuous_data(criterion, n_outputs)
    weight = weight if weighted else None
    params = {"criterion": criterion, "min_samples_leaf": 30}
    theirs = tie_free(CRITERIA[criterion], X, y, weight, **params)
    assert theirs.get_n_leaves() > 3
    ours = CRITERIA[criterion](random_state=0, **params).fit(X, y, sample_weight=weight)
    assert_equal_trees(ours, theirs, X)
    if CRITERIA[criterion] is DecisionTreeClassifier:
        one, other = ours.predict_proba(X), theirs.predict_proba(X)
        pairs = [(one, other)] if n_outputs == 1 else zip(one, other, strict=True)
        for p, q in pairs:
            np.testing.assert_allclose(p, q, rtol=1e-12, atol=1e-12)


def test_same_full_tree_of_one_feature():
    """With one feature only, even the full regression tree is free of ties."""
    X, y, _ = continuous_data("squared_error", n_features=2)
    X = X[:, :1]
    theirs = tie_free(DecisionTreeRegressor, X, y, None)
    assert theirs.get_n_leaves() == len(y)
    assert_equal_trees(DecisionTreeRegressor(random_state=0).fit(X, y), theirs, X)


@pytest.mark.pairwise
@pytest.mark.parametrize(
    "rules",
    [
        {"max_leaf_nodes": 2},
        {"max_leaf_nodes": 9, "min_samples_leaf": 5},
        {"max_leaf_nodes": 20, "min_samples_leaf": 12},
        {"max_leaf_nodes": 9, "max_depth": 4, "min_samples_leaf": 15},
        {"max_leaf_nodes": 12, "min_impurity_decrease": 0.01, "min_samples_leaf": 8},
    ],
    ids=str,
)
@pytest.mark.parametrize("form", ["dense", "csc"])
@pytest.mark.parametrize("n_outputs", [1, 2])
@every_criterion
def test_same_best_first_tree(criterion, n_outputs, form, rules):
    """The same nodes are split before the tree is full."""
    X, y, weight = continuous_data(criterion, n_outputs, 1.0 if form == "dense" else 0.6)
    stored = X if form == "dense" else sp.csc_matrix(X)
    # scikit-learn numbers these nodes as they come; pruning, here of nothing, puts them in order.
    theirs = tie_free(
        CRITERIA[criterion], X, y, weight, criterion=criterion, ccp_alpha=1e-30, **rules
    )
    ours = CRITERIA[criterion](criterion=criterion, random_state=0, **rules)
    assert_equal_trees(ours.fit(stored, y, sample_weight=weight), theirs, X)
    assert ours.get_n_leaves() <= rules["max_leaf_nodes"]


def assert_equal_paths(ours, theirs):
    """Check that two pruning paths are equal up to rounding."""
    assert set(ours) == set(theirs) == {"ccp_alphas", "impurities"}
    near = 1e-12 * (1 + theirs.impurities[-1])
    np.testing.assert_allclose(ours.ccp_alphas, theirs.ccp_alphas, rtol=1e-11, atol=near)
    np.testing.assert_allclose(ours.impurities, theirs.impurities, rtol=1e-11, atol=near)
    assert (np.diff(ours.ccp_alphas) >= 0).all()


@pytest.mark.pairwise
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
@every_criterion
def test_same_pruned_trees(criterion, weighted, n_outputs):
    """The same path, and the same subtree between any two of its prices."""
    X, y, weight = continuous_data(criterion, n_outputs)
    weight = weight if weighted else None
    params = {"criterion": criterion, "min_samples_leaf": 30}
    tie_free(CRITERIA[criterion], X, y, weight, **params)
    theirs = twin(CRITERIA[criterion])(random_state=0, **params)
    ours = CRITERIA[criterion](random_state=0, **params)
    path = theirs.cost_complexity_pruning_path(X, y, weight)
    assert_equal_paths(ours.cost_complexity_pruning_path(X, y, weight), path)
    alphas = np.unique(path.ccp_alphas)
    assert len(alphas) > 4
    for alpha in [*(alphas[1:] + alphas[:-1]) / 2, 2 * alphas[-1]]:
        for tree in (ours, theirs):
            tree.set_params(ccp_alpha=alpha).fit(X, y, sample_weight=weight)
        assert_equal_trees(ours, theirs, X)
    assert ours.get_n_leaves() == 1


@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
def test_same_path_of_a_full_tree(criterion):
    """Four hundred leaves are pruned in the same order."""
    X, y, _ = continuous_data(criterion, n_features=2)
    X, y = X[:, :1], y + 0.5
    theirs = tie_free(DecisionTreeRegressor, X, y, None, criterion=criterion)
    ours = DecisionTreeRegressor(random_state=0, criterion=criterion)
    path = ours.cost_complexity_pruning_path(X, y)
    assert len(path.ccp_alphas) > 100
    assert_equal_paths(path, theirs.cost_complexity_pruning_path(X, y))


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
def test_every_subtree_of_the_path_is_had(load):
    """A tree pruned at a price of the path has the impurity that the path says."""
    X, y = load(return_X_y=True)
    tree = DecisionTreeClassifier(random_state=0)
    path = tree.cost_complexity_pruning_path(X, y)
    for at, alpha in enumerate(path.ccp_alphas):
        if alpha in path.ccp_alphas[at + 1 :]:
            continue
        pruned = tree.set_params(ccp_alpha=alpha).fit(X, y).tree_
        leaves = pruned.children_left == NO_CHILD
        share = pruned.weighted_n_node_samples / len(y)
        impurity = (share * pruned.impurity)[leaves].sum()
        assert impurity == pytest.approx(path.impurities[at], abs=1e-12)
    assert pruned.node_count == 1


@pytest.mark.parametrize(
    ("y", "weight"),
    [
        ([[0, 1], [0, 2], [0, 5]], None),
        ([0, 0, 3], [1, 1, 0]),
        ([0, 0, 3], None),
        ([0, 2, 0], None),
        ([1, 2, 0], [2, 1, 1]),
    ],
)
def test_counts_of_zero(y, weight):
    """A side of a split whose counts are all zero is not allowed, nor any split of such a node."""
    X = [[0.0], [1.0], [2.0]]
    ours, theirs = (
        tree_class(criterion="poisson").fit(X, y, sample_weight=weight)
        for tree_class in (DecisionTreeRegressor, sklearn.tree.DecisionTreeRegressor)
    )
    for name in ("node_count", "threshold", "impurity", "value"):
        one, other = getattr(ours.tree_, name), getattr(theirs.tree_, name)
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12, err_msg=name)


@pytest.mark.parametrize(
    "weight",
    [
        None,
        [1, 1, 1, 1, 2],
        [3, 1, 1, 1, 0],
        [2, 1, 1, 1, 1],
        [0.25, 0.5, 0.75, 1.5, 0],
        [0, 0, 5, 0, 5],
    ],
)
@pytest.mark.parametrize("n_samples", [1, 2, 3, 4, 5])
def test_medians(n_samples, weight):
    """Even numbers of samples, and weights that meet one half exactly, give a middle value."""
    X, y = np.zeros((n_samples, 1)), np.array([7.0, -1.0, 3.5, 10.25, 3.0])[:n_samples]
    weight = None if weight is None else np.array(weight[:n_samples], dtype=float)
    if weight is not None and not weight.any():
        weight[0] = 1.0
    ours, theirs = (
        tree_class(criterion="absolute_error").fit(X, y, sample_weight=weight).tree_
        for tree_class in (DecisionTreeRegressor, sklearn.tree.DecisionTreeRegressor)
    )
    np.testing.assert_allclose(ours.value, theirs.value, rtol=1e-15)
    np.testing.assert_allclose(ours.impurity, theirs.impurity, rtol=1e-14, atol=1e-14)


def test_one_half_is_the_median():
    """The quantile of level one half has the tree of the absolute error and half its impurity."""
    X, y, weight = continuous_data("absolute_error", n_outputs=2)
    one, other = (
        DecisionTreeRegressor(random_state=0, **params).fit(X, y, sample_weight=weight).tree_
        for params in ({"criterion": "absolute_error"}, {"criterion": "quantile"})
    )
    assert one.node_count == other.node_count > 100
    for name in ("feature", "threshold", "value"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    np.testing.assert_array_equal(one.impurity, 2 * other.impurity)


@pytest.mark.parametrize("quantile", [0.05, 0.25, 1 / 3, 0.9])
@pytest.mark.parametrize("weighted", [False, True])
def test_leaves_hold_quantiles(quantile, weighted):
    """A leaf predicts NumPy's averaged inverse of the distribution, and has its pinball loss."""
    X, y, weight = continuous_data("absolute_error")
    weight = np.ceil(weight * 3).astype(int) if weighted else np.ones(len(y), dtype=int)
    tree = DecisionTreeRegressor(criterion="quantile", quantile=quantile, min_samples_leaf=30)
    tree.fit(X, y, sample_weight=weight)
    leaves = tree.apply(X)
    assert len(set(leaves)) > 5
    for leaf in set(leaves):
        inside = np.repeat(y[leaves == leaf], weight[leaves == leaf])
        expected = np.quantile(inside, quantile, method="averaged_inverted_cdf")
        assert tree.tree_.value[leaf, 0, 0] == pytest.approx(expected, rel=1e-12)
        loss = mean_pinball_loss(inside, np.full(len(inside), expected), alpha=quantile)
        assert tree.tree_.impurity[leaf] == pytest.approx(loss, rel=1e-9)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 1.0, 1: 3.0, 2: 0.5, 3: 2.0}])
def test_same_tree_with_class_weight(class_weight):
    """Class weights multiply the sample weights as in scikit-learn."""
    X, y, weight = continuous_data("gini")
    params = {"class_weight": class_weight, "min_samples_leaf": 25}
    theirs = tie_free(DecisionTreeClassifier, X, y, weight, **params)
    ours = DecisionTreeClassifier(random_state=0, **params).fit(X, y, sample_weight=weight)
    assert_equal_trees(ours, theirs, X)


def test_rows_of_weight_zero_are_left_out_in_both():
    """Rows of weight 0 are not counted, neither here nor there."""
    X, y, weight = continuous_data("squared_error")
    weight[::3] = 0
    theirs = tie_free(DecisionTreeRegressor, X, y, weight, max_depth=3)
    ours = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y, sample_weight=weight)
    assert ours.tree_.n_node_samples[0] == np.count_nonzero(weight)
    assert_equal_trees(ours, theirs, X)


@pytest.mark.parametrize(
    "load", [load_iris, load_wine, load_breast_cancer, load_digits, load_diabetes]
)
@pytest.mark.parametrize("kind", ["best", "random"])
def test_scores_are_comparable(load, kind):
    """Full trees on real data, where ties and random draws differ, score alike on average.

    The means over eight seeds differ by less than four standard errors. Where no tie is broken,
    all seeds have one score, and columns that float32 cannot hold move it in the fourth place.
    """
    X, y = load(return_X_y=True)
    classes = {
        ("best", False): DecisionTreeClassifier,
        ("best", True): DecisionTreeRegressor,
        ("random", False): ExtraTreeClassifier,
        ("random", True): ExtraTreeRegressor,
    }
    tree_class = classes[kind, load is load_diabetes]
    # A regression is stopped early, as the score of a full one is mostly noise.
    rules = {"min_samples_leaf": 10} if load is load_diabetes else {}

    def scores(one_of_us):
        trees = [one_of_us(random_state=seed, **rules) for seed in range(8)]
        return np.array([cross_val_score(tree, X, y, cv=4).mean() for tree in trees])

    ours, theirs = scores(tree_class), scores(twin(tree_class))
    standard_error = np.sqrt((ours.var(ddof=1) + theirs.var(ddof=1)) / 8)
    assert abs(ours.mean() - theirs.mean()) < 4 * standard_error + 0.001
    assert ours.mean() > (0.25 if load is load_diabetes else 0.7)


def test_random_trees_have_comparable_sizes():
    """Full trees with random cuts have about as many leaves as scikit-learn's."""
    X, y, _ = continuous_data("gini")

    def leaves(one_of_us):
        return [one_of_us(random_state=seed).fit(X, y).get_n_leaves() for seed in range(40)]

    ours, theirs = np.mean(leaves(ExtraTreeClassifier)), np.mean(leaves(twin(ExtraTreeClassifier)))
    assert ours == pytest.approx(theirs, rel=0.08)


def test_leaf_markers_are_those_of_scikit_learn():
    """Leaves hold -1 for the children and -2 for feature and threshold."""
    X, y, _ = continuous_data("gini")
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y).tree_
    leaves = tree.children_left == NO_CHILD
    assert set(tree.children_right[leaves]) == {-1}
    assert set(tree.feature[leaves]) == {-2}
    assert set(tree.threshold[leaves]) == {-2.0}


# --- Monotonic constraints ----------------------------------------------------------------------


@pytest.mark.pairwise
@pytest.mark.parametrize("form", ["dense", "csc"])
@pytest.mark.parametrize("constraints", [(1, -1, 0, 0, 1, 0, -1), (-1,) * 7, "against"])
@pytest.mark.parametrize("rules", [{"min_samples_leaf": 25}, {"max_leaf_nodes": 8}], ids=str)
@every_criterion
def test_same_tree_with_constraints(criterion, rules, constraints, form):
    """Weighted continuous data; numbers, or two classes."""
    X, y, weight = continuous_data(criterion, density=1.0 if form == "dense" else 0.6)
    if CRITERIA[criterion] is DecisionTreeClassifier:
        y = y > 1
    if constraints == "against":
        constraints = -np.sign(np.cov(X.T, y)[:7, 7]).astype(int) * (np.arange(7) > 3)
    params = {"criterion": criterion, "monotonic_cst": constraints, **rules}
    theirs = tie_free(CRITERIA[criterion], X, y, weight, **params)
    ours = CRITERIA[criterion](random_state=0, **params)
    ours.fit(sp.csc_array(X) if form == "csc" else X, y, sample_weight=weight)
    free = CRITERIA[criterion](**{**params, "monotonic_cst": None}).fit(X, y, sample_weight=weight)
    assert not np.array_equal(free.tree_.feature, theirs.tree_.feature), "constraints do something"
    if "max_leaf_nodes" in rules:
        # scikit-learn numbers nodes in the order of their turns.
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-11, atol=1e-11)
        assert ours.get_n_leaves() == theirs.get_n_leaves()
    else:
        assert_equal_trees(ours, theirs, X)
