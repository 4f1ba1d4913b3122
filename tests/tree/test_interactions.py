"""Groups of features that may interact, in trees and forests."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.model_selection import cross_val_predict as predict_apart

from oracle import assert_same_tree, bits
from spinney import (
    BalancedRandomForestClassifier,
    Dataset,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesQuantileRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    LazyForestClassifier,
    LazyForestRegressor,
    RandomForestClassifier,
    RandomForestQuantileRegressor,
    RandomForestRegressor,
    load,
)
from spinney.causal import CausalForest
from spinney.feature_selection import Boruta
from spinney.model_selection import cross_val_predict
from spinney.survival import ExtraSurvivalTrees, RandomSurvivalForest, SurvivalTree

TREES = (DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor)
FORESTS = (
    BalancedRandomForestClassifier,
    ExtraTreesClassifier,
    ExtraTreesQuantileRegressor,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestQuantileRegressor,
    RandomForestRegressor,
)
OF_TIMES = (ExtraSurvivalTrees, RandomSurvivalForest, SurvivalTree)
ALL = (*TREES, *FORESTS, *OF_TIMES, CausalForest)
# What is asked for, and the groups that it means.
CONSTRAINTS = {
    "groups": ([[0, 1], (1, 2)], [{0, 1}, {1, 2}, {3, 4, 5}]),
    "set": ([{np.int64(5), 0}], [{0, 5}, {1, 2, 3, 4}]),
    "pairwise": ("pairwise", [{i, j} for i in range(6) for j in range(i)]),
    "no_interactions": ("no_interactions", [{i} for i in range(6)]),
}
# The ways that nodes and trees are searched: by rows or columns, with draws, best first, by copies.
WAYS = (
    {},
    {"max_features": 2},
    {"max_features": 3, "feature_sampling": "active"},
    {"max_leaf_nodes": 40},
    {"categorical_features": [1, 4]},
    {"min_samples_leaf": 3},
)


def table(n, seed=0):
    """Return few and many values, most of some columns 0, and a target of products."""
    rng = np.random.default_rng(seed)
    X = np.floor(rng.random((n, 6)) * [2, 5, 9, 40, 300, 1e6])
    X[:, 3:5] *= rng.random((n, 2)) < 0.3
    scaled = X / X.max(axis=0)
    y = scaled[:, 0] * scaled[:, 1] + scaled[:, 2] * scaled[:, 5] + scaled[:, 3] * scaled[:, 4]
    return X, np.round(y + 0.1 * rng.random(n), 3)


def fit(kind, X, y, **parameters):
    """Fit an estimator to a target of its kind."""
    if kind not in TREES and kind is not SurvivalTree:
        parameters = {"n_estimators": 4, **parameters}
    model = kind(random_state=3, **parameters)
    if kind is CausalForest:
        small = {"model_y": DecisionTreeRegressor(max_depth=2), "cv": 2}
        small["model_t"] = DecisionTreeClassifier(max_depth=1, min_samples_leaf=0.3)
        model.set_params(n_estimators=16, subforest_size=2, min_samples_leaf=2, **small)
        treated = np.random.default_rng(5).random(len(y)) < 0.5
        return model.fit(X, treated.astype(float), y * (1 + treated))
    if kind in OF_TIMES:
        return model.fit(X, (y > y.mean() / 2, y + 1.0))
    return model.fit(X, np.digitize(y, [0.6, 1.2]) if "Class" in kind.__name__ else y)


def trees_of(model):
    if isinstance(model, CausalForest):
        return [model.forest_.tree(i) for i in range(len(model.forest_))]
    return [tree.tree_ for tree in getattr(model, "estimators_", [model])]


def features_of_paths(tree):
    """Return the sets of features on the paths from the root to the leaves."""
    waiting, found = [(0, frozenset())], set()
    while waiting:
        node, above = waiting.pop()
        if tree.children_left[node] < 0:
            found.add(above)
            continue
        above = above | {int(tree.feature[node])}
        children = (tree.children_left[node], tree.children_right[node])
        waiting.extend((child, above) for child in children)
    return found


@pytest.mark.filterwarnings("ignore:All trees have seen")
@pytest.mark.parametrize("name", CONSTRAINTS)
@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_each_path_has_features_of_one_group(kind, name):
    X, y = table(250)
    asked, groups = CONSTRAINTS[name]
    found = set()
    for parameters in WAYS:
        for data in (X, csr_array(X)):
            model = fit(kind, data, y, interaction_cst=asked, **parameters)
            found |= set().union(*map(features_of_paths, trees_of(model)))
    assert all(any(path <= group for group in groups) for path in found), found
    # The trees are no stumps: some paths have all features of a group.
    assert any(path in groups for path in found)


@pytest.mark.parametrize("kind", [*TREES, *FORESTS], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("parameters", WAYS, ids=str)
def test_containers_and_threads_do_not_show(kind, parameters):
    X, y = table(700)
    parameters = {"interaction_cst": [[0, 1, 2], [2, 3, 5]], **parameters}
    expected = fit(kind, X, y, n_jobs=1, **parameters)
    others = [csr_array(X), csr_array(X).tocsc(), X.astype(np.float32)]
    if "categorical_features" not in parameters:
        others.append(Dataset(X))
    for data in others:
        assert bits(fit(kind, data, y, n_jobs=2, **parameters)) == bits(expected)


@pytest.mark.parametrize("kind", [*TREES, *FORESTS], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("parameters", WAYS, ids=str)
def test_groups_that_forbid_nothing_change_nothing(kind, parameters):
    X, y = table(700)
    expected = fit(kind, X, y, **parameters)
    for data in (X, csr_array(X)):
        groups = [[5, 4, 3, 2, 1, 0], [1, 2]]
        assert bits(fit(kind, data, y, interaction_cst=groups, **parameters)) == bits(expected)


def best_split(X, y, features):
    """Return the least sum of squares of two children, by one of these features."""
    costs = [
        y[left].var() * left.sum() + y[~left].var() * (~left).sum()
        for feature in features
        for value in np.unique(X[:, feature])[:-1]
        for left in [X[:, feature] <= value]
    ]
    return min(costs, default=None)


@pytest.mark.parametrize("name", CONSTRAINTS)
@pytest.mark.parametrize("is_sparse", [False, True])
def test_each_split_is_the_best_that_is_allowed(name, is_sparse):
    X, y = table(60, seed=1)
    asked, groups = CONSTRAINTS[name]
    tree = DecisionTreeRegressor(interaction_cst=asked).fit(csr_array(X) if is_sparse else X, y)
    tree, waiting = tree.tree_, [(0, np.arange(60), set())]
    while waiting:
        node, rows, above = waiting.pop()
        allowed = set().union(*(group for group in groups if above <= group))
        best = best_split(X[rows], y[rows], allowed)
        if tree.children_left[node] < 0:
            assert best is None or np.ptp(y[rows]) == 0
            continue
        feature = int(tree.feature[node])
        assert feature in allowed
        left = X[rows, feature] <= tree.threshold[node]
        cost = y[rows[left]].var() * left.sum() + y[rows[~left]].var() * (~left).sum()
        assert cost == pytest.approx(best, rel=1e-9, abs=1e-12)
        for child, own in (
            (tree.children_left[node], rows[left]),
            (tree.children_right[node], rows[~left]),
        ):
            waiting.append((child, own, above | {feature}))


@pytest.mark.parametrize(
    ("lazy", "grown"),
    [
        (LazyForestClassifier, RandomForestClassifier),
        (LazyForestRegressor, RandomForestRegressor),
    ],
)
def test_lazy_forests_predict_as_grown_ones(lazy, grown):
    X, y = table(300)
    for parameters in ({}, {"max_features": 2}, {"max_features": 3, "feature_sampling": "active"}):
        # Defaults differ.
        parameters = {"max_features": None, "interaction_cst": "pairwise", **parameters}
        expected = fit(grown, X, y, **parameters).predict(X[:80])
        for data in (X, csr_array(X)):
            found = fit(lazy, data, y, **parameters).predict(data[:80])
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("bootstrap", [False, "poisson"])
def test_folds_are_those_of_single_fits(bootstrap):
    X, y = table(120)
    y = (y > 1).astype(int)
    forest = RandomForestClassifier(
        4, bootstrap=bootstrap, max_features=None, interaction_cst=[[0, 5]], random_state=0
    )
    folds = {"cv": KFold(20), "method": "predict_proba"}
    ids = {"params": {"sample_ids": np.arange(120)}} if bootstrap else {}
    expected = predict_apart(forest, X, y, **folds, **ids)
    np.testing.assert_array_equal(cross_val_predict(forest, X, y, **folds, **ids), expected)


@pytest.mark.parametrize("asked", ["all", 3, [0, 1], [[6]], [[-1]], [["a"]], [[0.5]]])
def test_bad_groups_have_the_message_of_boosting(asked):
    X, y = table(40)

    def message_of(kind):
        with pytest.raises(ValueError, match=r"(?i)interaction") as caught:
            fit(kind, X, y, interaction_cst=asked)
        return str(caught.value)

    expected = message_of(GradientBoostingRegressor)
    kinds = (*ALL, LazyForestRegressor)
    assert {message_of(kind) for kind in kinds} == {expected}


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_the_parameter_is_kept(name, tmp_path):
    X, y = table(60)
    asked, _ = CONSTRAINTS[name]
    forest = fit(RandomForestRegressor, X, y, interaction_cst=asked)
    assert forest.get_params()["interaction_cst"] is asked
    assert clone(forest).interaction_cst == asked
    tree = forest.estimators_[0]
    assert tree.interaction_cst == asked
    assert_same_tree(clone(tree).set_params(max_features=2).fit(X, y), fit_alike(tree, X, y))
    forest.save(tmp_path / "forest")
    loaded = load(tmp_path / "forest")
    assert loaded.interaction_cst == asked
    assert bits(loaded.fit(X, y)) == bits(forest)


def fit_alike(tree, X, y):
    return clone(tree).set_params(max_features=2, n_jobs=2).fit(csr_array(X), y)


def test_shadows_may_interact_with_what_their_features_may():
    X, y = table(200)
    grown = []

    class Watched(RandomForestRegressor):
        def fit(self, X, y, **others):
            grown.append(self)
            return super().fit(X, y, **others)

    forest = Watched(10, interaction_cst=[[0, 1]], random_state=0)
    Boruta(forest, max_iter=3, random_state=0).fit(X, y)
    groups = [{0, 1, 6, 7}, {2, 3, 4, 5, 8, 9, 10, 11}]
    assert [set(map(int, group)) for group in grown[0].interaction_cst] == groups
    for model in grown:
        paths = set().union(*map(features_of_paths, trees_of(model)))
        own = [set(map(int, group)) for group in model.interaction_cst]
        assert all(any(path <= group for group in own) for path in paths)
