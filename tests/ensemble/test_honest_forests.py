"""Honest trees: one part of their samples chooses the splits, the other one fills the leaves."""

import io
import pickle
import warnings
from inspect import signature

import numpy as np
import pytest
import scipy.sparse as sp

import spinney
from roster import EVERY
from spinney import (
    BalancedRandomForestClassifier,
    Dataset,
    ExtraTreesClassifier,
    ExtraTreesQuantileRegressor,
    ExtraTreesRegressor,
    LazyForestClassifier,
    RandomForestClassifier,
    RandomForestQuantileRegressor,
    RandomForestRegressor,
)
from spinney.causal import CausalForest
from spinney.model_selection import cross_val_predict
from spinney.survival import ExtraSurvivalTrees, RandomSurvivalForest

CLASSIFIERS = [RandomForestClassifier, ExtraTreesClassifier]
REGRESSORS = [RandomForestRegressor, ExtraTreesRegressor]
QUANTILES = [RandomForestQuantileRegressor, ExtraTreesQuantileRegressor]
SURVIVAL = [RandomSurvivalForest, ExtraSurvivalTrees]
FORESTS = [*CLASSIFIERS, *REGRESSORS, *QUANTILES, *SURVIVAL]
every_forest = pytest.mark.parametrize("kind", FORESTS)

# Ways to draw the samples of a tree.
DRAWS = [
    {},
    {"bootstrap": False},
    {"bootstrap": "poisson"},
    {"bootstrap": True, "replace": False, "max_samples": 0.5},
]


def make_data(kind, n=160, seed=0):
    """Return samples with missing values, and targets."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (n, 5)).astype(float)
    X[rng.random(X.shape) < 0.05] = np.nan
    signal = np.nan_to_num(X[:, 0]) + rng.normal(0, 3, n)
    if kind in CLASSIFIERS:
        return X, np.digitize(signal, [3, 8])
    if kind in SURVIVAL:
        return X, (rng.random(n) < 0.7, np.ceil(np.exp(signal / 6) * 4))
    # Multiples of an eighth are not rounded.
    return X, np.round(8 * signal) / 8


def make(kind, **parameters):
    defaults = {"n_estimators": 8, "honest": True, "bootstrap": True, "random_state": 3}
    return kind(**defaults | parameters)


def list_parts(forest, n_samples):
    """Return how often each sample counts in each part of each tree: growing, filling."""
    seeds = forest.forest_.seeds
    count = lambda rows: np.bincount(rows, minlength=n_samples)  # noqa: E731
    whole = [count(rows) for rows in forest.estimators_samples_]
    filling = [count(rows) for rows in forest._draws.list_filling_rows(seeds, 1)]
    return [(both - own, own) for both, own in zip(whole, filling, strict=True)]


def weigh(forest, counts, weights):
    """Return the weights of samples in a tree, given how often they count."""
    draws_by_weight = forest.bootstrap is True and forest.replace
    return counts * (1.0 if weights is None or draws_by_weight else weights)


def find_splits(tree, n_rows, node=0):
    """Return the splits of a tree in preorder, without nodes that have no rows."""
    left, right = tree.children_left[node], tree.children_right[node]
    if left < 0:
        return []
    if n_rows[left] == 0 or n_rows[right] == 0:
        return find_splits(tree, n_rows, right if n_rows[left] == 0 else left)
    own = (tree.feature[node], tree.threshold[node], tree.missing_go_to_left[node])
    return [own, *find_splits(tree, n_rows, left), *find_splits(tree, n_rows, right)]


def answer(forest, X):
    """Return all that depends on trees and leaves."""
    found = [forest.predict(X), forest.apply(X), forest.feature_importances_]
    if hasattr(forest, "predict_proba"):
        found.append(forest.predict_proba(X))
    if hasattr(forest, "quantile_ranks"):
        found.append(forest.predict(X, [0.1, 0.5, 0.9]))
    if hasattr(forest, "predict_survival_function"):
        found.append(forest.predict_survival_function(X, return_array=True))
    return [array.tobytes() for array in found]


# --- What the definition says ---------------------------------------------------------------------


@pytest.mark.pairwise
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("draws", DRAWS, ids=str)
@every_forest
def test_splits_are_of_one_part_and_nodes_are_of_the_other(kind, draws, weighted):
    """The tree of the growing rows, pruned where no row fills it; nodes count the filling rows."""
    X, y = make_data(kind)
    weights = np.random.default_rng(1).integers(0, 4, len(X)).astype(float) if weighted else None
    forest = make(kind, honest_fraction=0.6, **draws).fit(X, y, sample_weight=weights)
    parts = list_parts(forest, len(X))
    bags = [np.repeat(np.arange(len(X)), growing) for growing, _ in parts]
    weights_of_bags = None if weights is None else weigh(forest, np.ones(len(X)), weights)
    plain = make(kind, honest=False).fit(X, y, sample_weight=weights_of_bags, samples=bags)
    for tree, grown, (growing, filling) in zip(forest, plain, parts, strict=True):
        assert not np.any((growing > 0) & (filling > 0))
        rows = np.flatnonzero(weigh(forest, filling, weights) > 0)
        n_rows = np.asarray(grown.decision_path(X[rows]).sum(axis=0)).ravel()
        own, whole = tree.tree_, grown.tree_
        assert find_splits(own, own.n_node_samples) == find_splits(whole, n_rows)
        nodes = tree.decision_path(X[rows])
        np.testing.assert_array_equal(own.n_node_samples, np.asarray(nodes.sum(axis=0)).ravel())
        assert own.n_node_samples.min() > 0
        of_nodes = nodes.T @ weigh(forest, filling, weights)[rows]
        np.testing.assert_allclose(own.weighted_n_node_samples, of_nodes, rtol=1e-12)


@pytest.mark.pairwise
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("draws", DRAWS, ids=str)
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_leaves_have_the_class_shares_of_the_rows_that_fill_them(kind, criterion, draws, weighted):
    X, y = make_data(kind)
    weights = np.random.default_rng(1).integers(0, 4, len(X)).astype(float) if weighted else None
    forest = make(kind, criterion=criterion, **draws).fit(X, y, sample_weight=weights)
    total = np.zeros((len(X), 3))
    for tree, (_, filling) in zip(forest.estimators_, list_parts(forest, len(X)), strict=True):
        own = weigh(forest, filling, weights)
        leaves = tree.apply(X)
        for row, leaf in enumerate(leaves):
            counts = np.bincount(y, weights=own * (leaves == leaf), minlength=3)
            total[row] += counts / counts.sum()
        for leaf in np.unique(leaves):
            shares = np.bincount(y, weights=own * (leaves == leaf), minlength=3)
            shares = shares[shares > 0] / shares.sum()
            impurity = 1 - (shares**2).sum() if criterion == "gini" else -shares @ np.log2(shares)
            assert tree.tree_.impurity[leaf] == pytest.approx(impurity, abs=1e-12)
    np.testing.assert_allclose(forest.predict_proba(X), total / len(forest), rtol=1e-12)


@pytest.mark.pairwise
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("draws", DRAWS, ids=str)
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "quantile", "poisson"])
@pytest.mark.parametrize("kind", REGRESSORS)
def test_leaves_have_the_targets_of_the_rows_that_fill_them(kind, criterion, draws, weighted):
    X, y = make_data(kind)
    if criterion == "poisson":
        # Leaves may have no event at all.
        y = np.floor(np.maximum(y - 5, 0))
    weights = np.random.default_rng(1).integers(0, 4, len(X)).astype(float) if weighted else None
    forest = make(kind, criterion=criterion, **draws).fit(X, y, sample_weight=weights)
    total = np.zeros(len(X))
    for tree, (_, filling) in zip(forest.estimators_, list_parts(forest, len(X)), strict=True):
        own = weigh(forest, filling, weights).astype(int)
        leaves = tree.apply(X)
        for leaf in np.unique(leaves):
            is_in = leaves == leaf
            targets = np.repeat(y[is_in], own[is_in])
            is_median = criterion in ("absolute_error", "quantile")
            value = np.median(targets) if is_median else targets.mean()
            total[is_in] += value
            if criterion == "squared_error":
                assert tree.tree_.impurity[leaf] == pytest.approx(targets.var(), abs=1e-9)
            if criterion == "poisson":
                own_mean = targets / max(value, 1e-300)
                logs = np.log(own_mean, out=np.zeros(len(targets)), where=targets > 0)
                deviance = np.mean(targets * logs)
                assert tree.tree_.impurity[leaf] == pytest.approx(deviance, abs=1e-9)
    np.testing.assert_allclose(forest.predict(X), total / len(forest), rtol=1e-9, atol=1e-12)


def test_several_outputs_are_filled():
    X, y = make_data(RandomForestRegressor)
    both = np.column_stack([y, -2 * y])
    prediction = make(RandomForestRegressor).fit(X, both).predict(X)
    np.testing.assert_allclose(prediction[:, 1], -2 * prediction[:, 0], rtol=1e-9)
    X, y = make_data(RandomForestClassifier)
    one, other = make(RandomForestClassifier).fit(X, np.column_stack([y, y])).predict_proba(X)
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", QUANTILES)
def test_quantiles_are_of_the_rows_that_fill_leaves(kind):
    X, y = make_data(kind)
    forest = make(kind, min_samples_leaf=4).fit(X, y)
    found = forest.predict(X, [0.0, 0.5, 1.0])
    leaves = forest.apply(X)
    parts = list_parts(forest, len(X))
    for row in range(len(X)):
        targets = np.concatenate(
            [
                np.repeat(y, filling * (leaves[:, tree] == leaves[row, tree]))
                for tree, (_, filling) in enumerate(parts)
            ]
        )
        np.testing.assert_allclose(found[row], np.quantile(targets, [0.0, 0.5, 1.0]))


@pytest.mark.parametrize("kind", SURVIVAL)
def test_curves_are_of_the_rows_that_fill_leaves(kind):
    X, (events, times) = make_data(kind)
    forest = make(kind).fit(X, (events, times))
    found = forest.predict_cumulative_hazard_function(
        X, return_array=True, times=forest.event_times_
    )
    total = np.zeros_like(found)
    for tree, (_, filling) in zip(forest.estimators_, list_parts(forest, len(X)), strict=True):
        leaves = tree.apply(X)
        for row, leaf in enumerate(leaves):
            own = filling * (leaves == leaf)
            at_risk = [own[times >= time].sum() for time in forest.event_times_]
            died = [own[(times == time) & events].sum() for time in forest.event_times_]
            total[row] += np.cumsum(np.divide(died, np.maximum(at_risk, 1)))
    np.testing.assert_allclose(found, total / len(forest), rtol=1e-9)
    # What trees predict agrees with the curves.
    np.testing.assert_allclose(forest.predict(X), found.sum(axis=1), rtol=1e-9)


@every_forest
def test_samples_out_of_bag_are_in_neither_part(kind):
    X, y = make_data(kind)
    forest = make(kind, n_estimators=40, oob_score=True).fit(X, y)
    of_trees = [
        tree.predict_proba(X) if hasattr(tree, "predict_proba") else tree.predict(X)
        for tree in forest.estimators_
    ]
    is_unseen = np.ones((len(forest), len(X)), dtype=bool)
    for unseen, (growing, filling) in zip(is_unseen, list_parts(forest, len(X)), strict=True):
        unseen[(growing > 0) | (filling > 0)] = False
    name = "oob_decision_function_" if kind in CLASSIFIERS else "oob_prediction_"
    for row, found in enumerate(getattr(forest, name)):
        own = np.array([of_tree[row] for of_tree in of_trees])[is_unseen[:, row]]
        np.testing.assert_allclose(found, own.mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("fraction", [0.01, 0.3, 0.99])
def test_the_fraction_is_of_the_different_samples_of_a_tree(fraction):
    X, y = make_data(RandomForestRegressor)
    forest = make(RandomForestRegressor, honest_fraction=fraction).fit(X, y)
    for growing, filling in list_parts(forest, len(X)):
        n_growing, n_filling = np.count_nonzero(growing), np.count_nonzero(filling)
        n = n_growing + n_filling
        assert n_growing == min(max(round(fraction * n), 1), n - 1)


def test_class_weights_within_the_samples_of_trees():
    X, y = make_data(RandomForestClassifier)
    settings = {"class_weight": "balanced_subsample", "max_depth": 1, "n_estimators": 20}
    forest = make(RandomForestClassifier, **settings).fit(X, y)
    for tree in forest.estimators_:
        # All classes have the same weight among the rows that fill the tree.
        np.testing.assert_allclose(tree.tree_.value[0].ravel(), 1 / 3)


# --- Promises -------------------------------------------------------------------------------------


@every_forest
def test_neither_threads_nor_storage_show(kind):
    X, y = make_data(kind)
    X = np.nan_to_num(X)
    expected = answer(make(kind).fit(X, y), X)
    assert answer(make(kind, n_jobs=3).fit(X, y), X) == expected
    for matrix in (sp.csr_array(X), sp.csc_array(X), X.astype(np.float32), np.asfortranarray(X)):
        assert answer(make(kind).fit(matrix, y), X) == expected
    assert answer(make(kind).fit(Dataset(X), y), X) == expected


@every_forest
def test_copies_survive(kind):
    X, y = make_data(kind)
    forest = make(kind).fit(X, y)
    expected = answer(forest, X)
    buffer = io.BytesIO()
    forest.save(buffer)
    for again in (pickle.loads(pickle.dumps(forest)), spinney.load(buffer.getvalue())):
        assert answer(again, X) == expected
        assert [part.tobytes() for parts in list_parts(again, len(X)) for part in parts] == [
            part.tobytes() for parts in list_parts(forest, len(X)) for part in parts
        ]


@every_forest
def test_warm_starts_grow_the_same_forest(kind):
    X, y = make_data(kind)
    expected = answer(make(kind, n_estimators=9).fit(X, y), X)
    forest = make(kind, n_estimators=4, warm_start=True).fit(X, y)
    assert answer(forest.set_params(n_estimators=9).fit(X, y), X) == expected
    for change in ({"honest": False}, {"honest_fraction": 0.4}):
        forest.set_params(n_estimators=12, **change)
        with pytest.raises(ValueError, match="honest and honest_fraction must be theirs"):
            forest.fit(X, y)
        forest.set_params(honest=True, honest_fraction=0.5)
    assert answer(forest, X) == expected
    # Trees of another way to draw keep the parts of their rows.
    before = list_parts(forest, len(X))
    forest.set_params(n_estimators=11, max_samples=0.5).fit(X, y)
    for old, new in zip(before, list_parts(forest, len(X)), strict=False):
        np.testing.assert_array_equal(old, new)
    for tree, (_, filling) in zip(forest.estimators_, list_parts(forest, len(X)), strict=True):
        assert tree.tree_.n_node_samples[0] == np.count_nonzero(filling)


@pytest.mark.parametrize("kind", [*CLASSIFIERS, *REGRESSORS, *QUANTILES])
def test_weights_are_copies_of_the_rows_that_fill_leaves(kind):
    """Given the parts, a row of weight k fills a leaf as k rows do."""
    X, y = make_data(kind, 60)
    weights = np.random.default_rng(2).integers(1, 4, len(X))
    forest = make(kind, bootstrap=False).fit(X, y, sample_weight=weights)
    quartiles = [[0.25]] if kind in QUANTILES else []
    found = forest.predict_proba(X) if kind in CLASSIFIERS else forest.predict(X, *quartiles)
    leaves = forest.apply(X)
    for row in range(0, len(X), 7):
        values = []
        for tree, (_, filling) in enumerate(list_parts(forest, len(X))):
            copies = filling * weights * (leaves[:, tree] == leaves[row, tree])
            values.append(np.repeat(y, copies))
        if kind in CLASSIFIERS:
            shares = [np.bincount(own, minlength=3) / len(own) for own in values]
            np.testing.assert_allclose(found[row], np.mean(shares, axis=0))
        elif kind in QUANTILES:
            np.testing.assert_allclose(found[row], np.quantile(np.concatenate(values), 0.25))
        else:
            assert found[row] == pytest.approx(np.mean([own.mean() for own in values]))


def QUARTILES(kind):
    return ([0.25],) if kind in QUANTILES else ()


def test_categories_are_not_ordered_by_the_rows_that_fill_leaves():
    """Without samples out of bag nodes order them: other targets of filling rows, same splits."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 20, (200, 2)).astype(float)
    y = rng.normal(size=200)
    settings = {"bootstrap": False, "categorical_features": [0, 1], "n_estimators": 1}
    forest = make(RandomForestRegressor, **settings).fit(X, y)
    ((_, filling),) = list_parts(forest, len(X))
    other = np.where(filling > 0, rng.permutation(y), y)
    again = make(RandomForestRegressor, **settings).fit(X, other)
    np.testing.assert_array_equal(forest.apply(X), again.apply(X))
    assert not np.array_equal(forest.predict(X), again.predict(X))


def test_targets_of_filling_rows_never_choose_splits():
    for kind in (RandomForestRegressor, ExtraTreesRegressor):
        X, y = make_data(kind)
        forest = make(kind, n_estimators=1).fit(X, y)
        ((_, filling),) = list_parts(forest, len(X))
        again = make(kind, n_estimators=1).fit(X, np.where(filling > 0, -y, y))
        np.testing.assert_array_equal(forest.apply(X), again.apply(X))


def test_folds_are_those_of_refits():
    X, y = make_data(RandomForestRegressor)
    forest = make(RandomForestRegressor, n_estimators=5)
    found = cross_val_predict(forest, X, y, cv=3)
    from sklearn.model_selection import cross_val_predict as refit

    np.testing.assert_array_equal(found, refit(forest, X, y, cv=3))


def test_noise_is_found_out():
    """Trees that are fully grown on noise fit it; honest ones do not."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 5)), rng.normal(size=400)
    settings = {"n_estimators": 60, "min_samples_leaf": 5, "random_state": 0}
    plain = RandomForestRegressor(**settings).fit(X, y)
    honest = RandomForestRegressor(honest=True, **settings).fit(X, y)
    spread = [forest.predict(rng.normal(size=(400, 5))).std() for forest in (plain, honest)]
    assert spread[1] < 0.75 * spread[0]


# --- What is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"honest": 1}, "'honest' parameter .* must be a bool"),
        ({"honest_fraction": 0.0}, "honest_fraction"),
        ({"honest_fraction": 1}, "honest_fraction"),
        ({"honest_fraction": "half"}, "honest_fraction"),
        ({"honest_fraction": np.nan}, "honest_fraction"),
        ({"monotonic_cst": [1, 0, 0, 0, 0]}, "monotonic_cst must be None"),
        ({"bootstrap": False, "category_order": "tree"}, "category_order='tree'.*bootstrap=False"),
    ],
)
def test_illegal_parameters_are_named(parameters, message):
    X, y = make_data(RandomForestRegressor)
    with pytest.raises(ValueError, match=message):
        make(RandomForestRegressor, **parameters).fit(X, y)


@pytest.mark.filterwarnings("ignore:y has one event:UserWarning")
@every_forest
def test_trees_of_one_sample_cannot_be_divided(kind):
    X, y = make_data(kind)
    weights = np.zeros(len(X))
    weights[3] = 2.0
    if kind in SURVIVAL:
        y[0][3] = True
    for forest in (make(kind, bootstrap=False), make(kind)):
        with pytest.raises(ValueError, match=r"honest=True.*two"):
            forest.fit(X, y, sample_weight=weights)


def test_all_forests_with_the_parameter_are_here():
    """A new class joins the list of this file. Causal forests have tests of their own."""
    kinds = {kind for kind in EVERY.values() if "honest" in signature(kind).parameters}
    assert kinds - {CausalForest} == set(FORESTS)


def test_forests_without_the_parameter_say_so():
    for kind in (LazyForestClassifier, BalancedRandomForestClassifier):
        with pytest.raises(TypeError, match="honest"):
            kind(honest=True)


@every_forest
def test_forests_are_not_honest_by_default(kind):
    X, y = make_data(kind)
    parameters = {"n_estimators": 5, "bootstrap": True, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forest = kind(**parameters).fit(X, y)
    assert answer(forest, X) == answer(kind(honest=False, **parameters).fit(X, y), X)
    assert [t.tree_.n_node_samples[0] for t in forest.estimators_] == [
        len(set(rows.tolist())) for rows in forest.estimators_samples_
    ]
