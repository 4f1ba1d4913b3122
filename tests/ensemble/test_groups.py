"""Groups that are drawn as a whole, and halves of the samples that trees share."""

import io
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import spinney
from spinney import (
    BalancedRandomForestClassifier,
    Dataset,
    ExtraTreesClassifier,
    ExtraTreesQuantileRegressor,
    ExtraTreesRegressor,
    LazyForestClassifier,
    LazyForestRegressor,
    RandomForestClassifier,
    RandomForestQuantileRegressor,
    RandomForestRegressor,
)
from spinney.survival import ExtraSurvivalTrees, LazySurvivalForest, RandomSurvivalForest

CLASSIFIERS = [RandomForestClassifier, ExtraTreesClassifier]
SURVIVAL = [RandomSurvivalForest, ExtraSurvivalTrees]
FORESTS = [
    *CLASSIFIERS,
    RandomForestRegressor,
    ExtraTreesRegressor,
    RandomForestQuantileRegressor,
    ExtraTreesQuantileRegressor,
    *SURVIVAL,
]
every_forest = pytest.mark.parametrize("kind", FORESTS)
N, N_GROUPS = 150, 30


def make_data(kind, seed=0):
    """Return samples, targets, and groups of different sizes."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, (N, 4)).astype(float)
    signal = X[:, 0] + rng.normal(0, 2, N)
    groups = np.concatenate([np.arange(N_GROUPS), rng.integers(0, N_GROUPS, N - N_GROUPS)])
    if kind in CLASSIFIERS or kind is LazyForestClassifier:
        return X, np.digitize(signal, [3, 6]), groups
    if kind in SURVIVAL or kind is LazySurvivalForest:
        return X, (rng.random(N) < 0.7, np.ceil(np.exp(signal / 6) * 4)), groups
    return X, np.round(signal, 1), groups


def make(kind, **parameters):
    return kind(**{"n_estimators": 6, "bootstrap": True, "random_state": 3} | parameters)


def bits(forest, X):
    method = "predict_proba" if hasattr(forest, "predict_proba") else "predict"
    return getattr(forest, method)(X).tobytes()


def count(rows):
    return np.bincount(rows, minlength=N)


# --- Groups ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("draws", "n_drawn"),
    [
        ({}, N_GROUPS),
        ({"max_samples": 11}, 11),
        ({"max_samples": 0.5}, 15),
        ({"max_samples": 1.5}, 45),
        ({"replace": False, "max_samples": 0.4}, 12),
        ({"bootstrap": "poisson"}, None),
        ({"subforest_size": 2}, 15),
        ({"subforest_size": 3, "max_samples": 0.2}, 6),
    ],
    ids=str,
)
@every_forest
def test_groups_are_drawn_as_a_whole(kind, draws, n_drawn):
    X, y, groups = make_data(kind)
    forest = make(kind, **draws).fit(X, y, groups=groups)
    for rows in forest.estimators_samples_:
        counts = count(rows)
        of_groups = np.array([counts[groups == group] for group in range(N_GROUPS)], dtype=object)
        assert all(len(set(of_group)) == 1 for of_group in of_groups)
        drawn = np.array([of_group[0] for of_group in of_groups])
        assert n_drawn is None or drawn.sum() == n_drawn
        if "replace" in draws or "subforest_size" in draws:
            assert drawn.max() == 1
    # The trees are those of the same samples, given by hand.
    if draws.get("bootstrap") != "poisson":
        given = make(kind).fit(X, y, samples=forest.estimators_samples_)
        assert bits(given, X) == bits(forest, X)


@every_forest
def test_both_parts_of_honest_trees_have_whole_groups(kind):
    X, y, groups = make_data(kind)
    ways = ({}, {"bootstrap": False}, {"bootstrap": "poisson"}, {"subforest_size": 2})
    for draws in ways:
        forest = make(kind, honest=True, **draws).fit(X, y, groups=groups)
        filling = forest._draws.list_filling_rows(forest.forest_.seeds, 1)
        for tree, rows, own in zip(
            forest.estimators_, forest.estimators_samples_, filling, strict=True
        ):
            fills, grows = set(groups[own]), set(groups[np.flatnonzero(count(rows) > count(own))])
            assert not fills & grows
            assert fills | grows == set(groups[rows])
            assert len(grows) == min(max(round(len(fills | grows) / 2), 1), len(fills | grows) - 1)
            assert tree.tree_.n_node_samples[0] == len(set(own))


@every_forest
def test_groups_of_one_sample_and_other_names_of_groups(kind):
    X, y, groups = make_data(kind)
    expected = bits(make(kind).fit(X, y, groups=groups), X)
    names = np.array([f"patient {group * 7 % N_GROUPS:03}" for group in groups])
    for other in (names, names.astype(object), groups[:, None][:, 0].tolist(), -5 * groups):
        assert bits(make(kind).fit(X, y, groups=other), X) == expected
    forest = make(kind).fit(X, y, groups=np.arange(N))
    assert all(len(rows) == N for rows in forest.estimators_samples_)


@pytest.mark.parametrize(
    ("kind", "grown", "parameters"),
    [
        (LazyForestClassifier, RandomForestClassifier, {}),
        (LazyForestRegressor, RandomForestRegressor, {"max_features": 1.0}),
        (LazySurvivalForest, RandomSurvivalForest, {}),
    ],
)
@pytest.mark.parametrize("bootstrap", [True, "poisson"])
def test_lazy_forests_draw_the_same_groups(kind, grown, parameters, bootstrap):
    X, y, groups = make_data(kind)
    settings = {"bootstrap": bootstrap, **parameters}
    lazy = make(kind, **settings).fit(X, y, groups=groups)
    assert bits(lazy, X) == bits(make(grown, **settings).fit(X, y, groups=groups), X)


def test_weights_are_copies_in_the_same_group():
    X, y, groups = make_data(RandomForestRegressor)
    weights = np.random.default_rng(1).integers(0, 4, N)
    parameters = {"min_samples_leaf": 1, "honest": True}
    forest = make(RandomForestRegressor, **parameters)
    weighted = forest.fit(X, y, sample_weight=weights, groups=groups).predict(X)
    rows = np.repeat(np.arange(N), weights)
    copies = forest.fit(X[rows], y[rows], groups=groups[rows]).predict(X)
    np.testing.assert_allclose(weighted, copies, rtol=1e-12)


def test_samples_out_of_bag_are_of_other_groups():
    """Copies of a sample say nothing of the error, unless they are one group."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 4)), rng.normal(size=40)
    X, y, groups = np.repeat(X, 5, axis=0), np.repeat(y, 5), np.repeat(np.arange(40), 5)
    forest = RandomForestRegressor(40, oob_score=True, random_state=0)
    assert forest.fit(X, y).oob_score_ > 0.5
    assert forest.fit(X, y, groups=groups).oob_score_ < 0.1


def test_standard_errors_are_by_groups():
    """Ten copies of each sample, as groups, have the standard errors of single samples."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + rng.normal(size=60)
    rows = np.repeat(np.arange(60), 10)
    for parameters in ({}, {"subforest_size": 4}, {"replace": False, "max_samples": 0.5}):
        forest = RandomForestRegressor(
            400, min_samples_split=2, max_depth=2, random_state=0, **parameters
        )
        single = forest.fit(X, y).predict_standard_error(X)
        grouped = forest.fit(X[rows], y[rows], groups=rows).predict_standard_error(X)
        apart = forest.fit(X[rows], y[rows]).predict_standard_error(X)
        assert 0.75 < np.nanmean(grouped) / np.nanmean(single) < 1.3
        assert np.nanmean(apart) < 0.6 * np.nanmean(grouped)


@every_forest
def test_copies_of_forests_know_their_groups(kind):
    X, y, groups = make_data(kind)
    for parameters in ({}, {"honest": True}, {"subforest_size": 2, "honest": True}):
        forest = make(kind, **parameters).fit(X, y, groups=groups)
        buffer = io.BytesIO()
        forest.save(buffer)
        for again in (pickle.loads(pickle.dumps(forest)), spinney.load(buffer.getvalue())):
            assert bits(again, X) == bits(forest, X)
            for one, other in zip(
                again.estimators_samples_, forest.estimators_samples_, strict=True
            ):
                np.testing.assert_array_equal(one, other)


@every_forest
def test_warm_starts_with_groups_grow_the_same_forest(kind):
    X, y, groups = make_data(kind)
    for parameters in ({}, {"honest": True}, {"subforest_size": 3}):
        whole = make(kind, n_estimators=9, **parameters).fit(X, y, groups=groups)
        forest = make(kind, n_estimators=3, warm_start=True, **parameters)
        forest.fit(X, y, groups=groups).set_params(n_estimators=9).fit(X, y, groups=groups)
        assert bits(forest, X) == bits(whole, X)
        for one, other in zip(forest.estimators_samples_, whole.estimators_samples_, strict=True):
            np.testing.assert_array_equal(one, other)
    for parameters in ({"honest": True}, {"subforest_size": 3}):
        forest = make(kind, n_estimators=3, warm_start=True, **parameters)
        forest.fit(X, y, groups=groups).set_params(n_estimators=6)
        before = bits(forest, X)
        with pytest.raises(ValueError, match=r"groups.* must be theirs"):
            forest.fit(X, y, groups=groups[::-1])
        assert bits(forest, X) == before


@pytest.mark.parametrize(
    ("parameters", "arguments", "message"),
    [
        ({"bootstrap": False}, {}, "groups are drawn as a whole.*bootstrap=False"),
        ({}, {"sample_ids": np.arange(N)}, "sample_ids"),
        ({}, {"samples": [np.arange(9)] * 6}, "samples must be None"),
        ({"class_sampling": "all"}, {}, "class_sampling must be None"),
        ({"replace": False, "max_samples": 40}, {}, "40 draws from 30 groups"),
        ({}, {"groups": "week"}, "groups must be an array-like"),
        ({}, {"groups": np.arange(N - 1)}, f"groups must have a value for each of the {N}"),
        ({}, {"groups": np.zeros((N, 2))}, "groups must have one value"),
        ({"honest": True}, {"groups": np.zeros(N)}, "honest=True.*two groups.*Got 1 for a tree"),
    ],
)
def test_what_groups_exclude(parameters, arguments, message):
    X, y, groups = make_data(RandomForestClassifier)
    with pytest.raises(ValueError, match=message):
        make(RandomForestClassifier, **parameters).fit(X, y, **{"groups": groups} | arguments)


def test_forests_that_draw_by_class_draw_no_groups():
    X, y, groups = make_data(RandomForestClassifier)
    with pytest.raises(ValueError, match="BalancedRandomForestClassifier draws samples of each"):
        BalancedRandomForestClassifier(4).fit(X, y, groups=groups)


# --- Halves ---------------------------------------------------------------------------------------


@every_forest
def test_trees_of_a_subforest_draw_from_one_half(kind):
    X, y, _ = make_data(kind)
    forest = make(kind, n_estimators=12, subforest_size=4, max_samples=0.3).fit(X, y)
    bags = [set(rows.tolist()) for rows in forest.estimators_samples_]
    assert all(len(bag) == 45 == len(rows) for bag, rows in zip(bags, bags, strict=True))
    for first in (0, 4, 8):
        own = bags[first : first + 4]
        # 4 * 45 draws of 75 rows, and not of more.
        assert len(set.union(*own)) <= N // 2
        assert len(set(map(frozenset, own))) == 4
    assert len(set.union(*bags)) > N // 2


@every_forest
def test_neither_threads_nor_storage_show_in_halves(kind):
    X, y, groups = make_data(kind)
    parameters = {"subforest_size": 2, "honest": True}
    expected = bits(make(kind, **parameters).fit(X, y, groups=groups), X)
    for matrix in (sp.csr_array(X), sp.csc_array(X), Dataset(X)):
        again = make(kind, n_jobs=2, **parameters).fit(matrix, y, groups=groups)
        assert bits(again, X) == expected


def test_standard_errors_are_those_of_little_bags():
    X, y, _ = make_data(RandomForestRegressor)
    forest = make(RandomForestRegressor, n_estimators=60, subforest_size=3).fit(X, y)
    found = forest.predict_standard_error(X)
    out_of_bag = forest.predict_standard_error(X, oob_score=True)
    trees = np.array([tree.predict(X) for tree in forest.estimators_])
    is_unseen = np.array([count(rows) == 0 for rows in forest.estimators_samples_])
    for row in range(N):
        for errors, counted in ((found, np.ones(60, bool)), (out_of_bag, is_unseen[:, row])):
            bags = [
                trees[bag : bag + 3, row] for bag in range(0, 60, 3) if counted[bag : bag + 3].all()
            ]
            values = np.array(bags) - np.mean(bags)
            between = np.mean(values.mean(axis=1) ** 2)
            noise = (np.mean(values**2) - between) / 2
            error = max(between, noise) * np.sqrt(2 / len(bags))
            # The mean of a normal distribution that is cut off at 0, by its density on a grid.
            grid = np.linspace(0, max(between - noise, 0) + 12 * error, 400_001)
            density = np.exp(-((grid - between + noise) ** 2) / (2 * error**2))
            expected = np.sqrt((grid * density).sum() / density.sum())
            assert errors[row] == pytest.approx(expected, rel=1e-3)


def test_standard_errors_of_classes_and_of_trees_that_agree():
    X, y, _ = make_data(RandomForestClassifier)
    forest = make(RandomForestClassifier, n_estimators=40, subforest_size=4).fit(X, y)
    errors = forest.predict_standard_error(X)
    assert errors.shape == (N, 3)
    assert (errors >= 0).all()
    constant = make(RandomForestRegressor, n_estimators=8, subforest_size=4).fit(X, np.full(N, 0.1))
    np.testing.assert_array_equal(constant.predict_standard_error(X), 0.0)
    few = make(RandomForestClassifier, n_estimators=4, subforest_size=4).fit(X, y)
    with pytest.raises(ValueError, match="4 trees, of which 4 share a half"):
        few.predict_standard_error(X)
    for trees in (forest.estimators_[::-1], forest.estimators_[:10]):
        forest.estimators_ = trees
        with pytest.raises(ValueError, match="one after the other"):
            forest.predict_standard_error(X)


def test_standard_errors_say_how_means_vary():
    """The error of a mean, over data sets: the reported one is right within a third."""
    rng = np.random.default_rng(0)
    query = np.zeros((1, 3))
    means, errors = [], []
    for seed in range(40):
        X = rng.normal(size=(200, 3))
        y = X[:, 0] + rng.normal(size=200)
        forest = RandomForestRegressor(
            200, subforest_size=4, max_samples=0.25, min_samples_leaf=5, random_state=seed
        ).fit(X, y)
        means.append(forest.predict(query)[0])
        errors.append(forest.predict_standard_error(query)[0])
    assert 0.75 < np.sqrt(np.mean(np.square(errors))) / np.std(means) < 1.6


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"subforest_size": 1}, "subforest_size"),
        ({"subforest_size": 2.0}, "subforest_size"),
        ({"subforest_size": 4}, "'n_estimators'.* must be a multiple of subforest_size=4"),
        ({"subforest_size": 2, "bootstrap": False}, "subforest_size.*bootstrap=False"),
        ({"subforest_size": 2, "bootstrap": "poisson"}, "subforest_size.*bootstrap='poisson'"),
        ({"subforest_size": 2, "replace": False}, "subforest_size.*replace=False"),
        ({"subforest_size": 2, "class_sampling": "all"}, "subforest_size.*class_sampling"),
        ({"subforest_size": 2, "max_samples": 0.6}, "'max_samples'.*0.5"),
        ({"subforest_size": 2, "max_samples": 76}, "max_samples.*76 draws of 150 samples"),
    ],
)
def test_what_halves_exclude(parameters, message):
    X, y, _ = make_data(RandomForestClassifier)
    with pytest.raises(ValueError, match=message):
        make(RandomForestClassifier, **parameters).fit(X, y)


def test_bools_may_be_those_of_numpy():
    X, y, _ = make_data(RandomForestClassifier)
    plain = {"bootstrap": True, "replace": True, "honest": True, "subforest_size": 2}
    of_numpy = {"bootstrap": np.True_, "replace": np.True_, "honest": np.True_}
    forests = [
        make(RandomForestClassifier, **parameters).fit(X, y)
        for parameters in (plain, plain | of_numpy)
    ]
    assert bits(forests[0], X) == bits(forests[1], X)


def test_halves_and_given_samples_exclude_each_other():
    X, y, _ = make_data(RandomForestClassifier)
    with pytest.raises(ValueError, match="subforest_size=2"):
        make(RandomForestClassifier, subforest_size=2).fit(X, y, samples=[np.arange(9)] * 6)


def test_a_warm_start_keeps_the_size_of_subforests():
    X, y, _ = make_data(RandomForestClassifier)
    for first, change in (
        ({"subforest_size": 2}, {"subforest_size": 3}),
        ({"subforest_size": 2}, {"subforest_size": None}),
        ({}, {"subforest_size": 2}),
        ({"subforest_size": 2}, {"max_samples": 0.1}),
    ):
        forest = make(RandomForestClassifier, warm_start=True, **first).fit(X, y)
        before = bits(forest, X)
        forest.set_params(n_estimators=12, **change)
        with pytest.raises(ValueError, match=r"subforest_size.*must be theirs"):
            forest.fit(X, y)
        assert bits(forest, X) == before
