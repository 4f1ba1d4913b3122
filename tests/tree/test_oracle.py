"""The engine grows exactly the trees that the brute-force oracle allows."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from oracle import NO_CHILD, assert_same_tree, check_tree, midpoint
from spinney import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from strategies import AWKWARD_NUMBERS, TREE_OF_TASK, data, examples, stop_rules

TASK_OF_CRITERION = {
    "gini": "classes",
    "entropy": "classes",
    "log_loss": "classes",
    "squared_error": "numbers",
    "poisson": "counts",
    "absolute_error": "medians",
    "quantile": "quantiles",
}
every_criterion = pytest.mark.parametrize("criterion", TASK_OF_CRITERION)
containers = st.sampled_from((np.asarray, sp.csc_matrix, sp.csr_array))


def fit_and_check(tree, drawn, container, slack=0.0):
    """Fit a tree to drawn data held in a container and check it with the oracle."""
    tree.fit(container(drawn.X), drawn.y, sample_weight=drawn.sample_weight)
    check_tree(tree, drawn.X, drawn.y, drawn.sample_weight, slack=slack)


@examples(20)
@every_criterion
@given(drawn=st.data(), container=containers, seed=st.integers(0, 3))
def test_full_tree_is_exact(criterion, drawn, container, seed):
    """A tree without stop rules has the best cut at every node and ends in pure leaves."""
    task = TASK_OF_CRITERION[criterion]
    tree = TREE_OF_TASK[task](criterion=criterion, random_state=seed)
    fit_and_check(tree, drawn.draw(data(task, missing=True)), container)


@examples(20)
@every_criterion
@given(drawn=st.data(), rules=stop_rules(), container=containers)
def test_stop_rules_are_exact(criterion, drawn, rules, container):
    """A node is a leaf exactly when a stop rule says so or no cut is allowed."""
    task = TASK_OF_CRITERION[criterion]
    tree = TREE_OF_TASK[task](criterion=criterion, random_state=0, **rules)
    fit_and_check(tree, drawn.draw(data(task, missing=True)), container)


@every_criterion
@given(drawn=st.data(), container=containers)
def test_thresholds_of_awkward_numbers(criterion, drawn, container):
    """Neighbouring, huge and tiny float64 values are told apart, as nothing is merged."""
    task = TASK_OF_CRITERION[criterion]
    tree = TREE_OF_TASK[task](criterion=criterion, random_state=0)
    fit_and_check(tree, drawn.draw(data(task, values=AWKWARD_NUMBERS)), container)


@given(
    drawn=data("numbers"),
    seed=st.integers(0, 2**32 - 1),
    container=containers,
    weighted=st.booleans(),
)
def test_arbitrary_floats_are_nearly_exact(drawn, seed, container, weighted):
    """Targets and weights that fixed point numbers only approximate give a nearly best cut."""
    rng = np.random.default_rng(seed)
    y = rng.normal(3.0, 10.0, drawn.y.shape)
    weight = rng.exponential(size=len(y)) if weighted else None
    tree = DecisionTreeRegressor(random_state=0)
    fit_and_check(tree, drawn._replace(y=y, sample_weight=weight), container, slack=1e-9)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@given(drawn=data("classes"), seed=st.integers(0, 2**32 - 1), container=containers)
def test_arbitrary_weights_are_nearly_exact(criterion, drawn, seed, container):
    """Weights that fixed point numbers only approximate give a nearly best cut."""
    weight = np.random.default_rng(seed).exponential(size=len(drawn.y))
    tree = DecisionTreeClassifier(criterion=criterion, random_state=0)
    fit_and_check(tree, drawn._replace(sample_weight=weight), container, slack=1e-9)


@examples(15)
@pytest.mark.parametrize("splitter", ["best", "random"])
@every_criterion
@given(
    drawn=st.data(),
    rules=stop_rules(),
    max_features=st.sampled_from((None, 1, 2, "sqrt", "log2", 0.5)),
    feature_sampling=st.sampled_from(("all", "active")),
    seed=st.integers(0, 2**31 - 1),
    container=containers,
)
def test_random_choices_are_valid(
    criterion, splitter, drawn, rules, max_features, feature_sampling, seed, container
):
    """With random thresholds or few features, every cut is valid and every leaf justified."""
    task = TASK_OF_CRITERION[criterion]
    drawn = drawn.draw(data(task, missing=True))
    tree = TREE_OF_TASK[task](
        criterion=criterion,
        splitter=splitter,
        max_features=max_features,
        feature_sampling=feature_sampling,
        random_state=seed,
        **rules,
    )
    if isinstance(max_features, int):
        tree.set_params(max_features=min(max_features, drawn.X.shape[1]))
    fit_and_check(tree, drawn, container)


@pytest.mark.parametrize("n_features", [1, 3])
@pytest.mark.parametrize("container", [np.asarray, sp.csc_matrix])
@every_criterion
def test_larger_problem_is_exact(criterion, container, n_features):
    """A hundred rows of continuous and discrete columns with weights agree with the oracle."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(100, n_features)).astype(np.float32)
    X[:, 0] = rng.poisson(0.7, size=100)
    task = TASK_OF_CRITERION[criterion]
    y = rng.integers(0, 3, 100) if task == "classes" else rng.integers(-30, 30, 100) / 8
    y = np.maximum(y, 0) if task == "counts" else y
    weight = rng.integers(0, 4, 100) / 2
    tree = TREE_OF_TASK[task](criterion=criterion, random_state=1)
    tree.fit(container(X), y, sample_weight=weight)
    check_tree(tree, X, y, weight)


def test_cut_without_gain_is_taken():
    """Exclusive or: no first cut gains anything, yet two levels of cuts separate the classes."""
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    tree = DecisionTreeClassifier(random_state=0).fit(X, [0, 1, 1, 0])
    assert tree.get_depth() == 2
    assert tree.score(X, [0, 1, 1, 0]) == 1.0
    assert DecisionTreeClassifier(min_impurity_decrease=1e-9).fit(X, [0, 1, 1, 0]).get_depth() == 0


def test_ties_between_features_are_broken_by_the_random_state():
    """Of equal columns each is taken for some seed, and the same one for the same seed."""
    X = np.repeat(np.arange(6.0)[:, None], 3, axis=1)
    y = [0, 0, 0, 1, 1, 1]
    trees = [DecisionTreeClassifier(random_state=seed).fit(X, y) for seed in range(40)]
    assert {int(tree.tree_.feature[0]) for tree in trees} == {0, 1, 2}
    for seed, tree in enumerate(trees):
        assert_same_tree(tree, DecisionTreeClassifier(random_state=seed).fit(X, y))


def test_ties_within_a_feature_take_the_lowest_threshold():
    """Labels 0 1 0: both cuts are equally good, and the lower one is taken."""
    tree = DecisionTreeClassifier(random_state=0).fit([[0], [1], [2]], [0, 1, 0])
    assert tree.tree_.threshold[0] == 0.5


@pytest.mark.parametrize(
    ("low", "high", "threshold"),
    [
        (1.0, 2.0, 1.5),
        (-1.0, 1.0, 0.0),
        (1.0, np.nextafter(1.0, 2.0), 1.0),
        (np.nextafter(1.0, 0.0), 1.0, np.nextafter(1.0, 0.0)),
        (1.6e308, 1.7e308, 1.65e308),
        (-1.7e308, 1.7e308, 0.0),
        (0.1, 0.1 + 1e-9, 0.1 + 5e-10),
        (2.0**53, 2.0**53 + 2, 2.0**53),
    ],
)
def test_threshold_lies_between_its_neighbours(low, high, threshold):
    """The threshold is the midpoint where that separates, and the lower value otherwise."""
    assert midpoint(low, high) == pytest.approx(threshold, rel=1e-15)
    for tree in (DecisionTreeRegressor(), DecisionTreeClassifier()):
        tree.fit([[low], [high]], [0, 1])
        assert tree.tree_.threshold[0] == midpoint(low, high)
        assert tree.predict([[low], [high]]).tolist() == [0, 1]


@pytest.mark.parametrize("tree_class", [ExtraTreeClassifier, ExtraTreeRegressor])
def test_random_thresholds_are_spread_evenly(tree_class):
    """Over many seeds, the random threshold of one column covers its whole range."""
    X = np.array([[0.0], [1.0], [1.0]])
    thresholds = np.array(
        [tree_class(random_state=s).fit(X, [0, 1, 1]).tree_.threshold[0] for s in range(400)]
    )
    assert thresholds.min() >= 0.0
    assert thresholds.max() < 1.0
    # the count in each tenth is binomial(400, 0.1): 40 with a standard deviation of 6
    counts, _ = np.histogram(thresholds, bins=10, range=(0, 1))
    assert counts.min() > 10
    assert counts.max() < 80


def test_draw_goes_on_until_a_feature_is_not_constant():
    """With one feature per node and nine constant ones, the tenth is found all the same."""
    X = np.ones((8, 10))
    X[:, 7] = np.arange(8)
    for seed in range(20):
        for tree_class in (DecisionTreeClassifier, ExtraTreeClassifier):
            tree = tree_class(max_features=1, random_state=seed).fit(X, [0, 1] * 4)
            inner = tree.tree_.children_left != NO_CHILD
            assert set(tree.tree_.feature[inner]) == {7}
            assert tree.get_n_leaves() == 8


def test_features_are_drawn_evenly():
    """With one feature per node, every feature is drawn about equally often at the root."""
    X = np.random.default_rng(0).normal(size=(10, 5))
    y = np.arange(10.0)
    roots = [
        DecisionTreeRegressor(max_features=1, max_depth=1, random_state=seed)
        .fit(X, y)
        .tree_.feature[0]
        for seed in range(400)
    ]
    # binomial(400, 0.2): 80 with a standard deviation of 8
    counts = np.bincount(roots, minlength=5)
    assert counts.min() > 40
    assert counts.max() < 120


def test_constant_features_count_as_drawn():
    """Of twelve columns ten are constant, so two draws seldom offer both of the others."""
    rng = np.random.default_rng(1)
    X = np.zeros((30, 12))
    X[:, 3] = np.arange(30)
    X[:, 8] = rng.permutation(30)
    y = X[:, 3]
    roots = [
        DecisionTreeRegressor(max_features=2, max_depth=1, random_state=seed)
        .fit(X, y)
        .tree_.feature[0]
        for seed in range(200)
    ]
    # Feature 3 wins whenever it is drawn. The draw ends after two features at the earliest, and
    # goes on until the first one that varies: feature 8 is taken if it comes before feature 3
    # and they are not the first two, i.e. with probability 1/2 - 1/(12 * 11). Were constant
    # features not counted, both would always be seen and feature 3 always taken.
    counts = np.bincount(roots, minlength=12)
    assert counts[3] + counts[8] == 200
    assert 65 < counts[8] < 135
