"""Standard errors and spreads against loops over samples and trees."""

import pickle
import re

import numpy as np
import pytest
import sklearn.ensemble
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris

import spinney
from spinney import (
    BalancedRandomForestClassifier,
    Dataset,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from spinney._common import blocks
from spinney._explain import draw_products

X, Y = load_diabetes(return_X_y=True)
TRAIN, QUERY = slice(0, 150), slice(150, 190)


# Forests of few trees cannot tell all standard errors.
pytestmark = pytest.mark.filterwarnings("ignore:.*standard errors are NaN")


def jackknife(forest, values, factor=1.0):
    """Return the standard errors by the sums of the paper, of shape (n_query,).

    `values` are what the trees predict, of shape (n_query, n_trees). `factor` is for draws without
    replacement. NaN if chance explains more than all of the variance.
    """
    n_trees = values.shape[1]
    n_samples = len(X[TRAIN]) if forest.n_features_in_ == X.shape[1] else 150
    counts = np.array(
        [np.bincount(rows, minlength=n_samples) for rows in forest.estimators_samples_]
    )
    variance = counts.var(axis=0).mean()
    errors = []
    for of_trees in values:
        centred = of_trees - of_trees.mean()
        total = 0.0
        for row in range(n_samples):
            own = counts[:, row]
            total += (np.sum((own - own.mean()) * centred) / n_trees) ** 2
        total -= n_samples * variance * np.sum(centred**2) / n_trees**2
        errors.append(np.sqrt(factor * total) if total >= 0 or np.ptp(of_trees) == 0 else np.nan)
    return np.array(errors)


@pytest.mark.parametrize(
    ("params", "factor"),
    [
        ({}, 1.0),
        ({"max_samples": 60}, 1.0),
        ({"replace": False, "max_samples": 80}, 150 * 149 / 70**2),
        ({"bootstrap": "poisson"}, 1.0),
    ],
)
def test_errors_are_those_of_the_infinitesimal_jackknife(params, factor):
    forest = RandomForestRegressor(60, min_samples_leaf=3, random_state=0, **params)
    forest.fit(X[TRAIN], Y[TRAIN])
    found = forest.predict_standard_error(X[QUERY])
    values = np.column_stack([tree.predict(X[QUERY]) for tree in forest.estimators_])
    np.testing.assert_allclose(found, jackknife(forest, values, factor), rtol=1e-7, atol=1e-7)
    assert np.count_nonzero(found > 0) > 10


def subsets(n_units, n_drawn, units, n_trees, replace=False):
    """Return the rows of each tree: those of drawn units."""
    rng = np.random.default_rng(0)
    bags = []
    for _ in range(n_trees):
        drawn = rng.choice(n_units, n_drawn, replace=replace)
        bags.append(np.concatenate([np.flatnonzero(units == unit) for unit in drawn]))
    return bags


ROWS, PAIRS = np.arange(60), np.repeat(np.arange(30), 2)
WEIGHTS = np.tile([1.0, 1.0, 0.0], 20)


@pytest.mark.parametrize(
    ("params", "fit", "n_units"),
    [
        ({}, {}, 60),
        ({"bootstrap": "poisson"}, {}, 60),
        ({"replace": False, "max_samples": 0.5}, {}, 60),
        ({"replace": False, "max_samples": 15}, {}, 60),
        ({"replace": False, "max_samples": 20}, {"sample_weight": WEIGHTS}, 40),
        ({}, {"samples": subsets(60, 30, ROWS, 1000)}, 60),
        ({}, {"samples": subsets(60, 30, ROWS, 1000), "sample_weight": WEIGHTS}, 40),
        ({}, {"samples": subsets(30, 15, PAIRS, 1000)}, 30),
        ({}, {"samples": subsets(30, 30, PAIRS, 1000, replace=True)}, 30),
    ],
)
def test_the_error_of_a_mean_is_its_deviation_by_the_root_of_the_samples(params, fit, n_units):
    """Where nothing can be split on, the forest is a mean of independent rows or pairs of rows."""
    y = np.tile([0, 0, 9, 1, 1, 9], 10) if n_units == 40 else np.tile([0, 0, 1, 1], 15)
    y = y if n_units < 60 else np.tile([0, 1], 30)
    forest = RandomForestRegressor(1000, random_state=0, **params).fit(np.zeros((60, 1)), y, **fit)
    found = forest.predict_standard_error(np.zeros((1, 1)))[0]
    assert found == pytest.approx(0.5 / np.sqrt(n_units), rel=0.12)


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        (RandomForestClassifier, {"class_sampling": {0: 50, 1: 15}}),
        (RandomForestClassifier, {"class_sampling": {0: 50, 1: 15}, "replace": False}),
        (BalancedRandomForestClassifier, {"sampling_strategy": {0: 50, 1: 15}}),
        (
            BalancedRandomForestClassifier,
            {"sampling_strategy": {0: 50, 1: 15}, "bootstrap": True, "replacement": True},
        ),
    ],
)
def test_classes_have_factors_of_their_own(kind, params):
    """A share of classes with x = 0, by the delta method."""
    x, y = np.tile([0.0, 0.0, 1.0], 50)[:, None], np.repeat([0, 1], [120, 30])
    forest = kind(1500, random_state=0, **params).fit(x, y)
    found = forest.predict_standard_error([[0.0]])[0, 0]
    # Two thirds of each class have x = 0.
    drawn, sizes = np.array([50, 15]), np.array([120, 30])
    share = drawn[0] / drawn.sum()
    relative = (1 / 3) / (2 / 3) / sizes
    assert found == pytest.approx(share * (1 - share) * np.sqrt(relative.sum()), rel=0.15)


def test_what_few_trees_do_not_tell_is_nan_and_the_trees_that_would_are_named():
    few = RandomForestRegressor(100, min_samples_leaf=15, random_state=0).fit(X, Y)
    with pytest.warns(UserWarning, match="standard errors are NaN: 100 trees") as told:
        errors = few.predict_standard_error(X)
    assert 0.1 < np.isnan(errors).mean() < 0.5
    assert np.all(errors[~np.isnan(errors)] > 0)
    n_trees = int(re.search(r"About (\d+) trees", str(told[0].message))[1])
    many = few.set_params(n_estimators=n_trees).fit(X, Y)
    assert np.isnan(many.predict_standard_error(X)).mean() < 0.02
    # Trees that agree are sure.
    same = RandomForestRegressor(20, random_state=0).fit(X, np.full(len(X), 0.1))
    np.testing.assert_array_equal(same.predict_standard_error(X), 0.0)


def test_errors_of_several_outputs_and_of_shares():
    both = np.column_stack([Y, -2 * Y + X[:, 0]])
    forest = RandomForestRegressor(60, min_samples_leaf=3, random_state=0)
    forest.fit(X[TRAIN], both[TRAIN])
    found = forest.predict_standard_error(X[QUERY])
    assert found.shape == (40, 2)
    for output in range(2):
        trees = [tree.predict(X[QUERY])[:, output] for tree in forest.estimators_]
        expected = jackknife(forest, np.column_stack(trees))
        np.testing.assert_allclose(found[:, output], expected, rtol=1e-7, atol=1e-6)
    flowers, kinds = load_iris(return_X_y=True)
    classifier = RandomForestClassifier(50, random_state=0).fit(flowers, kinds)
    found = classifier.predict_standard_error(flowers[::10])
    assert found.shape == (15, 3)
    for kind in range(3):
        trees = [tree.predict_proba(flowers[::10])[:, kind] for tree in classifier.estimators_]
        expected = jackknife(classifier, np.column_stack(trees))
        np.testing.assert_allclose(found[:, kind], expected, rtol=1e-7, atol=1e-7)
    several = RandomForestClassifier(20, random_state=0)
    several.fit(flowers, np.column_stack([kinds, kinds > 0]))
    errors = several.predict_standard_error(flowers)
    assert [of_output.shape for of_output in errors] == [(150, 3), (150, 2)]


def test_blocks_and_storage_do_not_matter(monkeypatch):
    forest = RandomForestRegressor(30, random_state=0).fit(X[TRAIN], Y[TRAIN])
    expected = forest.predict_standard_error(X[QUERY])
    for query in (sparse.csr_matrix(X[QUERY]), Dataset(X[QUERY])):
        np.testing.assert_array_equal(forest.predict_standard_error(query), expected)
    spreads = forest.predict(X[TRAIN], return_std=True, oob_score=True)[1]
    monkeypatch.setattr(draw_products, "_COUNTS_AT_ONCE", 1000)
    monkeypatch.setattr(blocks, "_NUMBERS_AT_ONCE", 1000)
    found = forest.predict_standard_error(X[QUERY])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    found = forest.predict(X[TRAIN], return_std=True, oob_score=True)[1]
    np.testing.assert_array_equal(found, spreads)


def test_standard_errors_need_trees_of_different_samples():
    forest = ExtraTreesRegressor(5, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match=r"bootstrap=True and several trees. Got 5 tree\(s\)"):
        forest.predict_standard_error(X)
    subsample = RandomForestRegressor(5, replace=False, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match=r"Got 5 tree\(s\), and all.*max_samples must leave"):
        subsample.predict_standard_error(X)
    given = RandomForestRegressor(5, random_state=0).fit(X, Y, samples=[np.arange(400)] * 5)
    with pytest.raises(ValueError, match="grown on different samples"):
        given.predict_standard_error(X)
    sampled = RandomForestClassifier(5, class_sampling="all", replace=False).fit(X, Y > 200)
    with pytest.raises(ValueError, match=r"all .* samples of class number 1"):
        sampled.predict_standard_error(X)
    with pytest.raises(ValueError, match=r"Got 1 tree\(s\)"):
        RandomForestRegressor(1, random_state=0).fit(X, Y).predict_standard_error(X)
    model = sklearn.ensemble.RandomForestRegressor(3, random_state=0).fit(X, Y)
    converted = spinney.from_sklearn(model)
    with pytest.raises(ValueError, match="does not know the samples"):
        converted.predict_standard_error(X)
    with pytest.raises(ValueError, match="oob_score=True is not possible"):
        converted.predict_standard_error(X, oob_score=True)


@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
@pytest.mark.parametrize("bootstrap", [True, False])
def test_spreads_are_those_of_the_law_of_total_variance(kind, bootstrap):
    forest = kind(12, min_samples_leaf=4, bootstrap=bootstrap, random_state=0)
    forest.fit(X[TRAIN], Y[TRAIN])
    mean, std = forest.predict(X[QUERY], return_std=True)
    np.testing.assert_array_equal(mean, forest.predict(X[QUERY]))
    leaves, of_train = forest.apply(X[QUERY]), forest.apply(X[TRAIN])
    for row in range(5):
        means, variances = [], []
        for tree, drawn in enumerate(forest.estimators_samples_):
            targets = Y[TRAIN][drawn][of_train[drawn, tree] == leaves[row, tree]]
            means.append(targets.mean())
            variances.append(targets.var())
        expected = np.sqrt(np.mean(variances) + np.var(means))
        assert std[row] == pytest.approx(expected, rel=1e-9)


def test_spreads_follow_the_trees(tmp_path):
    forest = RandomForestRegressor(4, warm_start=True, random_state=0).fit(X, Y)
    forest.predict(X, return_std=True)
    for copy in (pickle.loads(pickle.dumps(forest)),):
        assert "_variances" not in vars(copy)
    forest.save(tmp_path / "forest")
    loaded = spinney.load(tmp_path / "forest")
    for of_forest, of_loaded in zip(
        forest.predict(X, return_std=True), loaded.predict(X, return_std=True), strict=True
    ):
        np.testing.assert_array_equal(of_forest, of_loaded)
    forest.set_params(n_estimators=9).fit(X, Y)
    whole = RandomForestRegressor(9, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(
        forest.predict(X, return_std=True)[1], whole.predict(X, return_std=True)[1]
    )


def test_spreads_are_those_of_trees_that_are_put_in():
    forest = RandomForestRegressor(8, random_state=0).fit(X, Y)
    forest.predict(X, return_std=True)
    forest.estimators_ = forest.estimators_[::-1][:5]
    _, std = forest.predict(X[:3], return_std=True)
    assert len(forest._variances) == 5
    for row in range(3):
        leaves = [tree.apply(X[row : row + 1])[0] for tree in forest.estimators_]
        variances = [
            tree.tree_.impurity[leaf] for tree, leaf in zip(forest.estimators_, leaves, strict=True)
        ]
        means = [tree.predict(X[row : row + 1])[0] for tree in forest.estimators_]
        assert std[row] == pytest.approx(np.sqrt(np.mean(variances) + np.var(means)))


def test_what_has_no_spread_is_told():
    forest = RandomForestRegressor(3, criterion="poisson", random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="needs criterion='squared_error'"):
        forest.predict(X, return_std=True)
    several = RandomForestRegressor(3, random_state=0).fit(X, np.column_stack([Y, Y]))
    with pytest.raises(ValueError, match=r"2 output\(s\)"):
        several.predict(X, return_std=True)
    with pytest.raises(TypeError, match="return_std must be a bool"):
        several.predict(X, return_std="yes")


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("n_trees", [4, 40])
def test_out_of_bag_only_trees_that_have_not_seen_a_sample_count(n_trees):
    forest = RandomForestRegressor(n_trees, min_samples_leaf=3, oob_score=True, random_state=0)
    forest.fit(X[TRAIN], Y[TRAIN])
    mean, std = forest.predict(X[TRAIN], return_std=True, oob_score=True)
    np.testing.assert_array_equal(mean, forest.oob_prediction_)
    errors = forest.predict_standard_error(X[TRAIN], oob_score=True)
    drawn = [set(rows) for rows in forest.estimators_samples_]
    leaves = forest.apply(X[TRAIN])
    n_few = 0
    for row in range(len(X[TRAIN])):
        unseen = [tree for tree in range(n_trees) if row not in drawn[tree]]
        n_few += len(unseen) < 2
        means = [forest.estimators_[tree].predict(X[row : row + 1])[0] for tree in unseen]
        if not unseen:
            assert np.isnan(std[row])
            continue
        variances = [forest.estimators_[tree].tree_.impurity[leaves[row, tree]] for tree in unseen]
        assert std[row] == pytest.approx(np.sqrt(np.mean(variances) + np.var(means)))
        assert np.isnan(errors[row]) or len(unseen) > 1
    assert (n_few > 0) == (n_trees == 4)


def test_errors_out_of_bag_are_those_of_the_trees_that_count():
    forest = RandomForestRegressor(60, min_samples_leaf=3, random_state=0)
    forest.fit(X[TRAIN], Y[TRAIN])
    found = forest.predict_standard_error(X[TRAIN], oob_score=True)
    counts = np.array([np.bincount(rows, minlength=150) for rows in forest.estimators_samples_])
    variance = counts.var(axis=0).mean()
    for row in range(0, 150, 10):
        unseen = counts[:, row] == 0
        values = np.array([tree.predict(X[row : row + 1])[0] for tree in forest.estimators_])
        centred, own = values[unseen] - values[unseen].mean(), counts[unseen]
        shared = (own - own.mean(axis=0)).T @ centred / len(own)
        total = np.sum(shared**2) - 150 * variance * np.sum(centred**2) / len(own) ** 2
        expected = np.sqrt(total) if total > 0 else np.nan
        assert found[row] == pytest.approx(expected, rel=1e-7, abs=1e-7, nan_ok=True)
    assert np.count_nonzero(found > 0) > 10


@pytest.mark.parametrize("ask", ["predict", "predict_standard_error"])
def test_out_of_bag_means_the_training_samples(ask):
    forest = RandomForestRegressor(9, random_state=0).fit(X[TRAIN], Y[TRAIN])
    with pytest.raises(ValueError, match="X must be the training samples if oob_score=True: 150"):
        getattr(forest, ask)(X[QUERY], oob_score=True)
    with pytest.raises(TypeError, match=r"oob_score must be a bool. Got 0"):
        getattr(forest, ask)(X[TRAIN], oob_score=0)
    with pytest.raises(TypeError, match=r"oob_score must be a bool. Got 'yes'"):
        getattr(forest, ask)(X[TRAIN], oob_score="yes")
    whole = ExtraTreesRegressor(9, random_state=0).fit(X[TRAIN], Y[TRAIN])
    with pytest.raises(ValueError, match="set bootstrap"):
        getattr(whole, ask)(X[TRAIN], oob_score=True)
