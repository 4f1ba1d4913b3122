"""Quantile forests against a loop over trees and samples."""

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import percentileofscore
from sklearn.datasets import load_diabetes, make_regression
from sklearn.metrics import r2_score

import spinney
from spinney import (
    Dataset,
    ExtraTreesQuantileRegressor,
    ExtraTreesRegressor,
    RandomForestQuantileRegressor,
    RandomForestRegressor,
    grow_with,
)
from spinney._fit import leaf_rows
from strategies import examples

FORESTS = [RandomForestQuantileRegressor, ExtraTreesQuantileRegressor]
QUANTILES = [0.0, 0.05, 0.37, 0.5, 0.9, 1.0]
X_DIABETES, Y_DIABETES = load_diabetes(return_X_y=True)


def make_data(n_samples=120, n_outputs=1, seed=0):
    """Return few distinct targets, so that they are equal now and then."""
    X, y = make_regression(n_samples, 5, n_targets=n_outputs, noise=30, random_state=seed)
    return X, np.round(y / 40)


def pool(forest, X, weights=None):
    """Return for each query row the targets of each tree's leaf, each as often as it counts."""
    query, train = forest.apply(X), forest.apply(forest.X)
    y = forest.y.reshape(len(forest.X), -1)
    bags = []
    for tree, rows in enumerate(forest.estimators_samples_):
        counts = np.bincount(rows, minlength=len(y))
        if weights is not None:
            counts = counts * weights
        bags.append((train[:, tree], counts))
    return [
        [
            np.repeat(y, counts * (leaves == query[row, tree]), axis=0)
            for tree, (leaves, counts) in enumerate(bags)
        ]
        for row in range(len(query))
    ]


def fit(forest, X, y, **arguments):
    forest.fit(X, y, **arguments)
    forest.X, forest.y = X, y
    return forest


@pytest.mark.pairwise
@pytest.mark.parametrize("forest_class", FORESTS)
@pytest.mark.parametrize("bootstrap", [True, False, "poisson"])
@pytest.mark.parametrize("min_samples_leaf", [1, 6])
@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest"])
def test_quantiles_are_those_of_the_targets_in_the_leaves(
    forest_class, bootstrap, min_samples_leaf, interpolation
):
    X, y = make_data()
    forest = forest_class(9, bootstrap=bootstrap, min_samples_leaf=min_samples_leaf, random_state=0)
    fit(forest, X, y)
    found = forest.predict(X[:25] + 0.1, QUANTILES, interpolation)
    for row, leaves in enumerate(pool(forest, X[:25] + 0.1)):
        targets = np.concatenate(leaves)[:, 0]
        expected = np.quantile(targets, QUANTILES, method=interpolation)
        np.testing.assert_allclose(found[row], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_samples", [40, 3000])
def test_many_and_few_rows_of_leaves(n_samples):
    X, y = make_data(n_samples)
    forest = fit(RandomForestQuantileRegressor(20, min_samples_leaf=15, random_state=0), X, y)
    found = forest.predict(X[:10], QUANTILES)
    for row, leaves in enumerate(pool(forest, X[:10])):
        expected = np.quantile(np.concatenate(leaves)[:, 0], QUANTILES)
        np.testing.assert_allclose(found[row], expected, rtol=1e-12, atol=1e-12)


def test_several_outputs():
    X, y = make_data(n_outputs=3)
    forest = fit(RandomForestQuantileRegressor(9, min_samples_leaf=4, random_state=0), X, y)
    found = forest.predict(X[:20], QUANTILES)
    assert found.shape == (20, 3, len(QUANTILES))
    for row, leaves in enumerate(pool(forest, X[:20])):
        expected = np.quantile(np.concatenate(leaves), QUANTILES, axis=0).T
        np.testing.assert_allclose(found[row], expected, rtol=1e-12, atol=1e-12)
    assert forest.predict(X[:20]).shape == (20, 3)
    np.testing.assert_array_equal(forest.predict(X[:20]), found[:, :, 3])


def test_shapes():
    X, y = make_data()
    forest = RandomForestQuantileRegressor(5, random_state=0).fit(X, y)
    assert forest.predict(X).shape == (120,)
    assert forest.predict(X, [0.5]).shape == (120,)
    assert forest.predict(X, (0.1, 0.9)).shape == (120, 2)
    assert forest.predict(X, np.array([0.1, 0.9])).shape == (120, 2)
    forest.set_params(default_quantiles=[0.1, 0.5, 0.9])
    assert forest.predict(X).shape == (120, 3)


@pytest.mark.parametrize(
    ("forest_class", "plain"),
    [
        (RandomForestQuantileRegressor, RandomForestRegressor),
        (ExtraTreesQuantileRegressor, ExtraTreesRegressor),
    ],
)
def test_means_and_trees_are_those_of_the_plain_forest(forest_class, plain):
    X, y = X_DIABETES, Y_DIABETES
    forest = forest_class(5, oob_score=True, bootstrap=True, random_state=0)
    with pytest.warns(UserWarning, match="OOB"):
        forest.fit(X, y)
    with pytest.warns(UserWarning, match="OOB"):
        expected = plain(5, oob_score=True, bootstrap=True, random_state=0).fit(X, y)
    np.testing.assert_array_equal(forest.predict(X, "mean"), expected.predict(X))
    assert forest.oob_score_ == expected.oob_score_
    forest.set_params(default_quantiles="mean")
    np.testing.assert_array_equal(forest.predict(X), expected.predict(X))
    with pytest.warns(UserWarning, match="OOB"):
        means = forest.predict(X, oob_score=True)
    np.testing.assert_array_equal(means, expected.oob_prediction_)
    some = [5, 300, 17]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some inputs do not have OOB")
        part = forest.predict(X[some], "mean", oob_score=True, indices=np.array(some, dtype=float))
        others = forest.predict(X[some], "mean", oob_score=True, indices=[-1, -1, -1])
    np.testing.assert_allclose(part, means[some])
    np.testing.assert_allclose(others, forest.predict(X[some]))


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("n_trees", [5, 150])
def test_means_out_of_bag_are_the_same_by_number(n_trees):
    """Sums of trees, more than 64 of them too, are added up in one order."""
    X, Y = X_DIABETES, Y_DIABETES
    forest = RandomForestQuantileRegressor(n_trees, min_samples_leaf=3, random_state=0)
    targets = np.column_stack([Y, Y**2])[:120]
    for y in (targets[:, 0], targets):
        forest.fit(X[:120], y)
        expected = forest.predict(X[:120], "mean", oob_score=True)
        for rows in (np.arange(120), np.array([7, 3, 99, 7])):
            found = forest.predict(X[rows], "mean", oob_score=True, indices=rows)
            np.testing.assert_array_equal(found, expected[rows])
        alone = forest.predict(X[:120], "mean", oob_score=True, duplicates=[[4]])
        np.testing.assert_array_equal(alone, expected)
        others = forest.predict(X[:5], "mean", oob_score=True, indices=[-1] * 5)
        np.testing.assert_array_equal(others, forest.predict(X[:5], "mean"))


def test_leaves_that_weigh_the_same():
    """The lower quantiles are those of the distribution of Meinshausen's weights."""
    X, y = X_DIABETES, Y_DIABETES
    forest = fit(RandomForestQuantileRegressor(40, min_samples_leaf=3, random_state=0), X, y)
    found = forest.predict(X[:15], [0.2, 0.8], weighted_leaves=True)
    for row, leaves in enumerate(pool(forest, X[:15])):
        weights = np.concatenate([np.full(len(leaf), 1 / len(leaf)) for leaf in leaves])
        targets = np.concatenate(leaves)[:, 0]
        order = np.argsort(targets)
        shares = np.cumsum(weights[order]) / weights.sum()
        for quantile, value in zip([0.2, 0.8], found[row], strict=True):
            # A quantile is between the targets whose shares are beside it, up to one sample.
            near = 1.5 / len(targets)
            low = targets[order][np.searchsorted(shares, quantile - near)]
            high = targets[order][min(np.searchsorted(shares, quantile + near), len(targets) - 1)]
            assert low <= value <= high
    pooled = forest.predict(X, [0.2, 0.8])
    weighted = forest.predict(X, [0.2, 0.8], weighted_leaves=True)
    assert not np.array_equal(pooled, weighted)
    same = forest.predict(X, [0.2, 0.8], weighted_quantile=False, weighted_leaves=True)
    np.testing.assert_array_equal(same, pooled)


def test_trees_one_by_one():
    X, y = make_data()
    forest = fit(RandomForestQuantileRegressor(9, min_samples_leaf=6, random_state=0), X, y)
    found = forest.predict(X[:20], QUANTILES, aggregate_leaves_first=False)
    for row, leaves in enumerate(pool(forest, X[:20])):
        expected = np.mean([np.quantile(leaf[:, 0], QUANTILES) for leaf in leaves], axis=0)
        np.testing.assert_allclose(found[row], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("replace", [True, False])
def test_weights_are_copies(replace):
    """Samples that trees weigh count as many times."""
    X, y = make_data()
    weights = np.random.default_rng(0).integers(0, 4, size=120)
    forest = RandomForestQuantileRegressor(7, replace=replace, min_samples_leaf=3, random_state=0)
    fit(forest, X, y, sample_weight=weights)
    found = forest.predict(X[:20], QUANTILES)
    # With replacement, weights are chances: trees count draws.
    for row, leaves in enumerate(pool(forest, X[:20], None if replace else weights)):
        expected = np.quantile(np.concatenate(leaves)[:, 0], QUANTILES)
        np.testing.assert_allclose(found[row], expected, rtol=1e-12, atol=1e-12)
    halves = RandomForestQuantileRegressor(7, replace=replace, min_samples_leaf=3, random_state=0)
    halves.fit(X, y, sample_weight=weights / 2)
    np.testing.assert_array_equal(halves.predict(X[:20], QUANTILES), found)
    copies = np.repeat(np.arange(120), weights)
    params = {"n_estimators": 3, "bootstrap": False, "max_features": 1.0, "min_samples_leaf": 1}
    weighted = RandomForestQuantileRegressor(**params, random_state=0)
    weighted.fit(X, y, sample_weight=weights)
    copied = RandomForestQuantileRegressor(**params, random_state=0).fit(X[copies], y[copies])
    np.testing.assert_array_equal(weighted.predict(X, QUANTILES), copied.predict(X, QUANTILES))


def test_out_of_bag():
    X, y = make_data()
    forest = fit(RandomForestQuantileRegressor(60, min_samples_leaf=4, random_state=0), X, y)
    found = forest.predict(X, QUANTILES, oob_score=True)
    seen = [np.unique(rows) for rows in forest.estimators_samples_]
    for row, leaves in enumerate(pool(forest, X)):
        unseen = [leaf for leaf, rows in zip(leaves, seen, strict=True) if row not in rows]
        expected = np.quantile(np.concatenate(unseen)[:, 0], QUANTILES)
        np.testing.assert_allclose(found[row], expected, rtol=1e-12, atol=1e-12)
    some = [7, 3, 100]
    part = forest.predict(X[some], QUANTILES, oob_score=True, indices=some)
    np.testing.assert_array_equal(part, found[some])
    others = forest.predict(X[some], QUANTILES, oob_score=True, indices=[-1, -1, 100])
    np.testing.assert_array_equal(others[:2], forest.predict(X[some[:2]], QUANTILES))
    np.testing.assert_array_equal(others[2], found[100])
    twins = forest.predict(X, QUANTILES, oob_score=True, duplicates=[[0, 1, 2]])
    np.testing.assert_array_equal(twins[3:], found[3:])
    unseen = [
        leaf
        for leaf, rows in zip(pool(forest, X[1:2])[0], seen, strict=True)
        if not set(rows) & {0, 1, 2}
    ]
    expected = np.quantile(np.concatenate(unseen)[:, 0], QUANTILES)
    np.testing.assert_allclose(twins[1], expected, rtol=1e-12, atol=1e-12)
    few = RandomForestQuantileRegressor(2, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="all trees were grown on"):
        values = few.predict(X, oob_score=True)
    assert np.isnan(values).any()
    assert not np.isnan(values).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_proximity_counts(weighted, tmp_path):
    X, y = make_data()
    weights = np.arange(120) % 3 if weighted else None
    forest = RandomForestQuantileRegressor(60, min_samples_leaf=4, random_state=0)
    fit(forest, X, y, sample_weight=weights)
    leaves, bags = forest.apply(X), forest.estimators_samples_
    times = np.array([np.bincount(rows, minlength=120) for rows in bags])
    if weighted:
        times[:, weights == 0] = 0

    def count(row, trees):
        shared = leaves[row, trees] == leaves[:, trees]
        return (times[trees] * shared.T).sum(axis=0)

    expected = [count(row, np.ones(60, dtype=bool)) for row in range(120)]
    found = forest.proximity_counts(X)
    for own, counts in zip(found, expected, strict=True):
        order = sorted(np.flatnonzero(counts), key=lambda row: (-counts[row], row))
        assert own == [(row, counts[row]) for row in order]
    assert forest.proximity_counts(X, 3) == [own[:3] for own in found]
    by_row = forest.proximity_counts(X, return_sorted=False)
    assert by_row == [sorted(own) for own in found]
    out_of_bag = forest.proximity_counts(X, oob_score=True)
    for row, own in enumerate(out_of_bag):
        unseen = np.array([row not in rows for rows in bags])
        counts = count(row, unseen)
        assert dict(own) == {other: counts[other] for other in np.flatnonzero(counts)}
    some = forest.proximity_counts(X[[7, 3]], oob_score=True, indices=[7, -1])
    assert some == [out_of_bag[7], found[3]]
    forest.save(tmp_path / "forest")
    assert spinney.load(tmp_path / "forest").set_params(n_jobs=2).proximity_counts(X) == found


def test_illegal_arguments_of_proximity_counts_are_named():
    X, y = make_data()
    forest = RandomForestQuantileRegressor(3, random_state=0).fit(X, y)
    for most in (0, 1.5):
        with pytest.raises(ValueError, match="The 'max_proximities' parameter of proximity_counts"):
            forest.proximity_counts(X, most)
    with pytest.raises(TypeError, match=r"return_sorted must be a bool. Got 1 instead"):
        forest.proximity_counts(X, return_sorted=1)


@pytest.mark.parametrize("kind", ["rank", "weak", "strict", "mean"])
def test_ranks(kind):
    X, y = make_data()
    forest = fit(RandomForestQuantileRegressor(9, min_samples_leaf=4, random_state=0), X, y)
    found = forest.quantile_ranks(X[:30], y[:30], kind=kind)
    for row, leaves in enumerate(pool(forest, X[:30])):
        expected = percentileofscore(np.concatenate(leaves)[:, 0], y[row], kind=kind) / 100
        assert found[row] == pytest.approx(expected, rel=1e-12)
    below = forest.quantile_ranks(X[:3], [-1e9, 0.5, 1e9], kind=kind)
    assert below[0] == 0.0
    assert below[2] == 1.0


@pytest.mark.parametrize("forest_class", FORESTS)
@pytest.mark.parametrize("limit", [1, 3, 0.02])
def test_leaves_keep_some_samples(forest_class, limit):
    X, y = make_data(200)
    forest = fit(forest_class(8, min_samples_leaf=10, max_samples_leaf=limit, random_state=0), X, y)
    all_kept = forest_class(8, min_samples_leaf=10, random_state=0).fit(X, y)
    most = limit if isinstance(limit, int) else 4
    rows, whole = forest._leaf_rows, all_kept._leaf_rows
    counts = np.ones(len(rows.rows)) if rows.counts is None else rows.counts
    n_leaves = sum(tree.get_n_leaves() for tree in forest.estimators_)
    assert counts.sum() == n_leaves * most
    assert len(rows.rows) < len(whole.rows)
    for row, leaves in enumerate(pool(forest, X[:20])):
        targets = np.concatenate(leaves)[:, 0]
        assert forest.predict(X[row : row + 1], 0.0, "lower") in targets


@given(
    seed=st.integers(0, 2**32 - 1),
    n_samples=st.integers(2, 60),
    n_outputs=st.integers(1, 2),
    max_samples=st.sampled_from([None, 3]),
)
@examples(12)
def test_storage_and_threads_do_not_matter(seed, n_samples, n_outputs, max_samples):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(n_samples, 4)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.integers(0, 5, size=(n_samples, n_outputs)).astype(float)
    y = y[:, 0] if n_outputs == 1 else y
    params = {"n_estimators": 6, "max_samples": max_samples, "random_state": 1}
    expected = RandomForestQuantileRegressor(**params).fit(X, y)
    values = expected.predict(X, QUANTILES)
    for stored in (np.asfortranarray(X), sparse.csr_matrix(X), sparse.csc_array(X), Dataset(X)):
        forest = RandomForestQuantileRegressor(**params, n_jobs=2).fit(stored, y)
        np.testing.assert_array_equal(forest.predict(X, QUANTILES), values)
        np.testing.assert_array_equal(forest.predict(sparse.csr_matrix(X), QUANTILES), values)


def test_files_and_pickles(tmp_path):
    X, y = make_data(n_outputs=2)
    forest = RandomForestQuantileRegressor(6, max_samples_leaf=5, random_state=0).fit(X, y)
    forest.save(tmp_path / "forest")
    for same in (spinney.load(tmp_path / "forest"), pickle.loads(pickle.dumps(forest))):
        assert type(same) is RandomForestQuantileRegressor
        np.testing.assert_array_equal(same.predict(X, QUANTILES), forest.predict(X, QUANTILES))
        np.testing.assert_array_equal(same.quantile_ranks(X, y), forest.quantile_ranks(X, y))
    with pytest.raises(TypeError, match="no forests that predict quantiles"):
        forest.to_sklearn()


def test_rows_of_leaves_are_mapped_and_not_read(tmp_path):
    X, y = make_data()
    forest = RandomForestQuantileRegressor(3, random_state=0).fit(X, y)
    forest.save(tmp_path / "forest")
    loaded = spinney.load(tmp_path / "forest")
    for name in ("rows", "firsts", "leaves", "values"):
        array = getattr(loaded._leaf_rows, name)
        assert not array.flags.owndata
        assert not array.flags.writeable
        np.testing.assert_array_equal(array, getattr(forest._leaf_rows, name))
    # What somebody might write to is a copy.
    assert loaded.n_features_in_ == 5
    loaded.set_params(warm_start=True, n_estimators=5).fit(X, y)
    whole = RandomForestQuantileRegressor(5, random_state=0).fit(X, y)
    np.testing.assert_array_equal(loaded.predict(X, QUANTILES), whole.predict(X, QUANTILES))


@pytest.mark.parametrize("max_samples_leaf", [1, None])
@pytest.mark.parametrize("n_draws", [3, 400])
def test_trees_are_listed_in_blocks(monkeypatch, max_samples_leaf, n_draws):
    X, y = make_data(4)
    params = {"max_samples": n_draws, "max_samples_leaf": max_samples_leaf, "random_state": 1}
    whole = RandomForestQuantileRegressor(7, **params).fit(X, y)
    monkeypatch.setattr(leaf_rows, "_LEAVES_AT_ONCE", 8)
    parts = RandomForestQuantileRegressor(7, **params).fit(X, y)
    for one, other in zip(whole._leaf_rows, parts._leaf_rows, strict=True):
        np.testing.assert_array_equal(one, other)
        assert (one is None) == (other is None)


def test_rows_take_little_memory():
    X, y = make_regression(2000, 8, noise=1, random_state=0)
    rows = RandomForestQuantileRegressor(10, random_state=0).fit(X, y)._leaf_rows
    arrays = (rows.rows, rows.counts, rows.firsts, rows.leaves)
    assert sum(array.nbytes for array in arrays) <= 4.5 * 2000 * 10


def test_counts_beyond_a_byte():
    X, y = make_data(3)
    forest = fit(RandomForestQuantileRegressor(3, max_samples=3000, random_state=0), X, y)
    assert forest._leaf_rows.counts.dtype == np.uint32
    for row, leaves in enumerate(pool(forest, X)):
        expected = np.quantile(np.concatenate(leaves)[:, 0], QUANTILES)
        np.testing.assert_allclose(forest.predict(X, QUANTILES)[row], expected)


def test_frames_with_categories():
    frame = pd.DataFrame({"kind": list("abcab") * 20, "size": np.arange(100) % 13})
    y = (frame["kind"] == "a") * 10.0 + frame["size"]
    forest = RandomForestQuantileRegressor(10, categorical_features=["kind"], random_state=0).fit(
        frame, y
    )
    low, high = forest.predict(frame, [0.05, 0.95]).T
    assert np.all(low <= high)
    assert np.mean((low <= y) & (y <= high)) > 0.8


def test_forests_of_workers():
    X, y = make_data()
    alone = RandomForestQuantileRegressor(7, random_state=0).fit(X, y)
    for data in (X, Dataset(X)):
        with ThreadPoolExecutor(2) as pool, grow_with(pool):
            forest = RandomForestQuantileRegressor(7, random_state=0).fit(data, y)
        np.testing.assert_array_equal(forest.predict(X, QUANTILES), alone.predict(X, QUANTILES))
        assert forest.proximity_counts(X) == alone.proximity_counts(X)


def test_warm_start_adds_trees():
    X, y = make_data()
    forest = RandomForestQuantileRegressor(3, warm_start=True, random_state=0).fit(X, y)
    forest.set_params(n_estimators=8).fit(X, y)
    whole = RandomForestQuantileRegressor(8, random_state=0).fit(X, y)
    np.testing.assert_array_equal(forest.predict(X, QUANTILES), whole.predict(X, QUANTILES))


def test_trees_cannot_be_replaced():
    X, y = make_data()
    forest = RandomForestQuantileRegressor(3, random_state=0).fit(X, y)
    before = forest.predict(X, QUANTILES)
    with pytest.raises(AttributeError, match="cannot be replaced"):
        forest.estimators_ = forest.estimators_[:2]
    np.testing.assert_array_equal(forest.predict(X, QUANTILES), before)


def test_given_samples():
    X, y = make_data()
    drawn = RandomForestQuantileRegressor(30, random_state=0).fit(X, y)
    given_rows = RandomForestQuantileRegressor(30, random_state=0)
    given_rows.fit(X, y, samples=drawn.estimators_samples_)
    for oob_score in (False, True):
        np.testing.assert_array_equal(
            given_rows.predict(X, QUANTILES, oob_score=oob_score),
            drawn.predict(X, QUANTILES, oob_score=oob_score),
        )


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"criterion": "quantile"}, "'criterion' parameter"),
        ({"max_samples_leaf": 0}, "'max_samples_leaf' parameter"),
        ({"max_samples_leaf": 1.5}, "'max_samples_leaf' parameter"),
        ({"max_samples_leaf": True}, "'max_samples_leaf' parameter"),
        (
            {"default_quantiles": 1.5},
            r"Quantiles must be in the range \[0, 1\], got 1.5 in default_quantiles",
        ),
        ({"default_quantiles": "median"}, r"Quantiles must be in the range \[0, 1\]"),
        ({"default_quantiles": []}, r"one number or more.* in default_quantiles"),
    ],
)
def test_illegal_parameters_are_named(params, message):
    forest = RandomForestQuantileRegressor(2, **params)
    with pytest.raises(ValueError, match=message):
        forest.fit(X_DIABETES, Y_DIABETES)
    assert not hasattr(forest, "forest_")


def test_a_limit_of_leaves_beyond_all_samples():
    X, y = make_data()
    plain, limited = (
        RandomForestQuantileRegressor(3, max_samples_leaf=limit, random_state=0).fit(X, y)
        for limit in (None, 2**70)
    )
    np.testing.assert_array_equal(limited.predict(X, QUANTILES), plain.predict(X, QUANTILES))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"quantiles": -0.1}, r"Quantiles must be in the range \[0, 1\], got -0.1"),
        ({"quantiles": [0.5, 2]}, r"Quantiles must be in the range \[0, 1\], got 2"),
        ({"quantiles": [0.5, np.nan]}, r"Quantiles must be in the range \[0, 1\]"),
        ({"interpolation": "cubic"}, "interpolation must be one of"),
        ({"indices": [0]}, "for oob_score=True"),
        ({"quantiles": "mean", "duplicates": [[0, 1]]}, "for oob_score=True"),
        ({"oob_score": 5}, "oob_score must be a bool. Got 5"),
        ({"quantiles": "mean", "oob_score": None}, "oob_score must be a bool. Got None"),
        ({"oob_score": True}, "X must be the training samples if oob_score=True: 120 samples"),
        ({"oob_score": True, "indices": [0]}, "an int for each of 10 samples"),
        ({"oob_score": True, "indices": [0.5] * 10}, "an int for each of 10 samples"),
        ({"oob_score": True, "indices": [120] * 10}, "-1 or rows below 120"),
        ({"weighted_leaves": 1}, "weighted_leaves must be a bool"),
    ],
)
def test_illegal_arguments_are_named(arguments, message):
    X, y = make_data()
    forest = RandomForestQuantileRegressor(3, random_state=0).fit(X, y)
    with pytest.raises((ValueError, TypeError), match=message):
        forest.predict(X[:10], **arguments)


def test_out_of_bag_needs_samples_that_trees_have_not_seen():
    X, y = make_data()
    forest = ExtraTreesQuantileRegressor(3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="oob_score=True needs samples that trees have not seen"):
        forest.predict(X, oob_score=True)
    with pytest.raises(ValueError, match="y must have a target for each of 120 samples"):
        forest.quantile_ranks(X, y[:3])
    with pytest.raises(ValueError, match="kind must be one of"):
        forest.quantile_ranks(X, y, kind="least")


# --- Scores, means and standard deviations ------------------------------------------------------


@pytest.mark.parametrize("forest_class", FORESTS)
@pytest.mark.parametrize("default", [0.9, [0.1, 0.5, 0.9], "mean"])
def test_the_median_is_scored(forest_class, default):
    """As quantile-forest does, whatever `default_quantiles` is."""
    X, y = X_DIABETES, Y_DIABETES
    both = np.column_stack([y, 3 * X[:, 0]])
    forest = forest_class(10, default_quantiles=default, min_samples_leaf=5, random_state=0)
    weight = np.arange(len(y)) % 3
    for target in (y, both):
        forest.fit(X, target, sparse_pickle=True)
        for asked, named in (
            (0.5, {}),
            (0.2, {"quantiles": [0.2]}),
            ("mean", {"quantiles": "mean"}),
        ):
            expected = r2_score(
                target,
                forest.predict(X, quantiles=asked),
                sample_weight=weight,
                multioutput="variance_weighted",
            )
            assert forest.score(X, target, sample_weight=weight, **named) == expected
    with pytest.raises(ValueError, match="score takes one of quantiles"):
        forest.score(X, both, quantiles=[0.1, 0.9])
    with pytest.raises(TypeError, match="sparse_pickle must be a bool"):
        forest.fit(X, y, sparse_pickle=1)


@pytest.mark.parametrize("forest_class", FORESTS)
def test_means_out_of_bag_have_one_road(forest_class):
    """With and without `indices` they are the bits of `oob_prediction_`."""
    X, y = X_DIABETES, Y_DIABETES
    for target in (y, np.column_stack([y, np.sqrt(y)])):
        forest = forest_class(70, bootstrap=True, oob_score=True, random_state=0).fit(X, target)
        ask = {"quantiles": "mean", "oob_score": True}
        rows = np.arange(len(X))
        for more in ({}, {"indices": rows}, {"duplicates": []}):
            np.testing.assert_array_equal(forest.predict(X, **ask, **more), forest.oob_prediction_)
        some = forest.predict(X[::3], **ask, indices=rows[::3])
        np.testing.assert_array_equal(some, forest.oob_prediction_[::3])


@pytest.mark.parametrize("oob", [{}, {"oob_score": True}])
def test_the_standard_deviation_is_that_of_the_plain_forest(oob):
    X, y = X_DIABETES, Y_DIABETES
    forest = RandomForestQuantileRegressor(30, random_state=0).fit(X, y)
    plain = RandomForestRegressor(30, random_state=0).fit(X, y)
    expected = plain.predict(X, return_std=True, **oob)
    for quantiles in ("mean", [0.1, 0.9]):
        found, std = forest.predict(X, quantiles=quantiles, return_std=True, **oob)
        np.testing.assert_array_equal(std, expected[1])
        np.testing.assert_array_equal(found, forest.predict(X, quantiles=quantiles, **oob))
    some = forest.predict(X[::3], return_std=True, oob_score=True, indices=np.arange(0, len(X), 3))
    of_all = plain.predict(X, return_std=True, oob_score=True)[1]
    np.testing.assert_array_equal(some[1], of_all[::3])
    with pytest.raises(TypeError, match="return_std must be a bool"):
        forest.predict(X, return_std=1)


@pytest.mark.parametrize("forest_class", FORESTS)
def test_an_explanation_says_that_it_is_of_the_mean(forest_class):
    X, y = X_DIABETES, Y_DIABETES
    forest = forest_class(20, default_quantiles=[0.1, 0.5, 0.9], random_state=0).fit(X, y)
    shown = forest.explain(X[0])
    assert shown.target == "mean"
    assert shown.prediction == forest.predict(X[:1], quantiles="mean")[0]
    parts = shown.expected + sum(value for _, value in shown.contributions)
    assert parts == pytest.approx(shown.prediction)
    assert shown.quantiles == list(zip([0.1, 0.5, 0.9], forest.predict(X[:1])[0], strict=True))
    text = str(shown)
    assert " mean\npredicted quantiles: " in text
    assert "(0.1), " in text
    assert "trees predict a mean between" in text
    assert forest.set_params(default_quantiles="mean").explain(X[0]).quantiles == []
