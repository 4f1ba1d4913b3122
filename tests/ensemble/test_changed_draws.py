"""Trees keep their own samples where a warm start draws in another way, or from other data."""

import pickle
import warnings

import numpy as np
import pytest

import spinney
from spinney import (
    BalancedRandomForestClassifier,
    ExtraTreesClassifier,
    ExtraTreesQuantileRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestQuantileRegressor,
    RandomForestRegressor,
)
from spinney.survival import ExtraSurvivalTrees, RandomSurvivalForest

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
FLIPS = RNG.integers(0, 2, size=80)
NUMBERS = RNG.normal(size=80)
LIFETIMES = (RNG.random(80) < 0.7, RNG.exponential(3.0, size=80).round(1))
WEIGHTS = RNG.integers(0, 3, size=80).astype(float)

CLASSIFIERS = [RandomForestClassifier, ExtraTreesClassifier]
WITH_LEAF_ROWS = [
    RandomForestQuantileRegressor,
    ExtraTreesQuantileRegressor,
    RandomSurvivalForest,
    ExtraSurvivalTrees,
]
FORESTS = [*CLASSIFIERS, RandomForestRegressor, *WITH_LEAF_ROWS]

# Parameters of two calls of `fit`.
CHANGES = [
    ({}, {"max_samples": 5}),
    ({"max_samples": 5}, {"max_samples": 0.9}),
    ({"max_samples": 20}, {"replace": False}),
    ({"replace": False, "max_samples": 0.5}, {"replace": True, "max_samples": None}),
    ({}, {"bootstrap": "poisson"}),
    ({"bootstrap": "poisson"}, {"bootstrap": False}),
    ({"bootstrap": False}, {"bootstrap": True}),
    ({}, {"random_state": 9, "max_samples": 11}),
]


def target_of(forest_class):
    name = forest_class.__name__
    if "Surviv" in name:
        return LIFETIMES
    return FLIPS if "Classifier" in name else NUMBERS


def grow(forest_class, first, second, *, weights=(None, None), data=(X, X)):
    """Return a forest of two calls, and the samples that its trees were grown on."""
    y = target_of(forest_class)
    settings = {"bootstrap": True, "random_state": 0, "max_depth": 4, "n_estimators": 6, **first}
    alone = [
        forest_class(**{**settings, **own}).fit(X, y, sample_weight=weight).estimators_samples_
        for own, weight in zip(({}, second), weights, strict=True)
    ]
    forest = forest_class(**{**settings, "n_estimators": 4}, warm_start=True)
    forest.fit(data[0], y, sample_weight=weights[0])
    forest.set_params(**second, n_estimators=6).fit(data[1], y, sample_weight=weights[1])
    return forest, [*alone[0][:4], *alone[1][4:]]


def copies(forest, tmp_path):
    forest.save(tmp_path / "model.spinney")
    return [forest, pickle.loads(pickle.dumps(forest)), spinney.load(tmp_path / "model.spinney")]


def assert_samples(forest, bags):
    for known, bag in zip(forest.estimators_samples_, bags, strict=True):
        np.testing.assert_array_equal(known, bag)


@pytest.mark.parametrize("forest_class", FORESTS)
@pytest.mark.parametrize(("first", "second"), CHANGES)
def test_trees_keep_the_samples_that_they_were_grown_on(forest_class, first, second, tmp_path):
    forest, bags = grow(forest_class, first, second)
    for copy in copies(forest, tmp_path):
        assert_samples(copy, bags)
    more = forest.set_params(n_estimators=7).fit(X, target_of(forest_class))
    assert_samples(more, [*bags, more.estimators_samples_[6]])


@pytest.mark.parametrize(
    ("forest_class", "first", "second"),
    [
        (RandomForestClassifier, {}, {"class_sampling": "all"}),
        (RandomForestClassifier, {"class_sampling": "all"}, {"class_sampling": {0: 3, 1: 4}}),
        (BalancedRandomForestClassifier, {}, {"sampling_strategy": {0: 3, 1: 4}}),
        (BalancedRandomForestClassifier, {}, {"replacement": False}),
        (BalancedRandomForestClassifier, {"bootstrap": False}, {"bootstrap": True}),
        (IsolationForest, {"max_depth": None}, {"max_samples": 5}),
        (IsolationForest, {"max_depth": None}, {"bootstrap": False}),
    ],
)
def test_draws_by_class_and_of_isolation_forests(forest_class, first, second):
    if forest_class is IsolationForest:
        first = {name: value for name, value in first.items() if name != "max_depth"}
        settings = {"bootstrap": True, "random_state": 0, **first}
        forest = forest_class(n_estimators=4, warm_start=True, **settings).fit(X)
        forest.set_params(n_estimators=6, **second).fit(X)
        alone = [forest_class(n_estimators=6, **{**settings, **own}).fit(X) for own in ({}, second)]
        bags = [*alone[0].estimators_samples_[:4], *alone[1].estimators_samples_[4:]]
    else:
        forest, bags = grow(forest_class, first, second)
    assert_samples(forest, bags)


@pytest.mark.parametrize("forest_class", FORESTS)
def test_weights_as_chances_are_those_of_the_call(forest_class):
    weights = (None, np.where(LIFETIMES[0], 1.0, 5.0))
    forest, bags = grow(forest_class, {}, {}, weights=weights)
    assert_samples(forest, bags)


@pytest.mark.parametrize("forest_class", [RandomForestClassifier, RandomForestRegressor])
@pytest.mark.parametrize(("first", "second"), CHANGES[:5])
def test_what_is_out_of_bag_follows(forest_class, first, second):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forest, bags = grow(forest_class, first, {**second, "oob_score": True})
    unseen = np.ones((80, 6), dtype=bool)
    for tree, bag in enumerate(bags):
        unseen[bag, tree] = False
    name = "predict_proba" if forest_class is RandomForestClassifier else "predict"
    values = np.stack([getattr(tree, name)(X).reshape(80, -1) for tree in forest], axis=1)
    known = unseen.any(axis=1)
    means = (values * unseen[:, :, None]).sum(axis=1)[known] / unseen.sum(axis=1)[known, None]
    found = forest.oob_decision_function_ if name == "predict_proba" else forest.oob_prediction_
    np.testing.assert_allclose(found.reshape(80, -1)[known], means, rtol=1e-12)
    leaves = forest.apply(X)
    both = unseen[0] & unseen[1]
    share = (leaves[0] == leaves[1])[both].mean() if both.any() else 0.0
    assert forest.proximity(X, oob_score=True)[0, 1] == share
    # Shuffled labels say nothing, whatever the trees were grown on.
    y = target_of(forest_class)
    forest.permutation_importance_oob(X, y, random_state=0)


def test_coin_flips_are_not_foreseen():
    """A tree of one sample does not make the samples of the others unseen."""
    forest = RandomForestClassifier(50, oob_score=True, warm_start=True, random_state=0)
    before = forest.fit(X, FLIPS).oob_score_
    forest.set_params(n_estimators=51, max_samples=1).fit(X, FLIPS)
    assert abs(forest.oob_score_ - before) < 0.1
    late = RandomForestClassifier(50, warm_start=True, random_state=0).fit(X, FLIPS)
    with pytest.warns(UserWarning, match="does not fit new trees"):
        late.set_params(oob_score=True, max_samples=1).fit(X, FLIPS)
    assert late.oob_score_ == before


@pytest.mark.parametrize(("first", "second"), CHANGES)
def test_leaves_hold_the_samples_of_their_trees(first, second):
    forest, bags = grow(RandomForestQuantileRegressor, first, second)
    leaves = forest.apply(X)
    found = forest.predict(X, quantiles=0.3)
    for row in range(0, 80, 9):
        pool = [
            y for tree, bag in enumerate(bags) for y in NUMBERS[bag[_share(leaves, row, tree, bag)]]
        ]
        assert found[row] == pytest.approx(np.quantile(pool, 0.3), rel=1e-12)
    forest, _ = grow(RandomSurvivalForest, first, second)
    hazards = forest.predict_cumulative_hazard_function(
        X, return_array=True, times=forest.event_times_
    )
    np.testing.assert_allclose(hazards.sum(axis=1), forest.predict(X), rtol=1e-9)


def _share(leaves, row, tree, bag):
    return leaves[bag, tree] == leaves[row, tree]


@pytest.mark.parametrize("forest_class", FORESTS)
def test_other_data_are_refused_where_samples_are_asked_for(forest_class):
    y = target_of(forest_class)
    other = X[::-1].copy()
    if forest_class in WITH_LEAF_ROWS:
        with pytest.raises(ValueError, match="X must be that of the earlier calls"):
            grow(forest_class, {}, {}, data=(X, other))
        return
    forest, bags = grow(forest_class, {}, {}, data=(X, other))
    assert_samples(forest, bags)
    for ask in (
        lambda: forest.proximity(other, oob_score=True),
        lambda: forest.predict_standard_error(other),
        lambda: forest.permutation_importance_oob(other, y),
        lambda: forest.set_params(n_estimators=7, oob_score=True).fit(other, y),
    ):
        with pytest.raises(ValueError, match="of 6 trees were grown on other data"):
            ask()
    # Without the trees of other data all is known.
    forest.estimators_ = forest.estimators_[4:]
    assert forest.proximity(other, oob_score=True).shape == (80, 80)
    fewer = forest_class(2, warm_start=True, random_state=0).fit(X, y)
    fewer.set_params(n_estimators=3).fit(X[:9], y[:9])
    assert [len(bag) for bag in fewer.estimators_samples_] == [
        len(bag)
        for n in (80, 80, 9)
        for bag in forest_class(1).fit(X[:n], y[:n]).estimators_samples_
    ]


@pytest.mark.parametrize("forest_class", WITH_LEAF_ROWS)
def test_leaves_have_one_target_and_one_weight_for_each_sample(forest_class):
    y = target_of(forest_class)
    forest = forest_class(2, warm_start=True, random_state=0, bootstrap="poisson").fit(X, y)
    before = forest.predict(X)
    forest.set_params(n_estimators=4)
    is_survival = isinstance(y, tuple)
    changed = [(y[0], y[1][::-1]), (~y[0], y[1])] if is_survival else [y[::-1], -y]
    for other in changed:
        with pytest.raises(ValueError, match=r"y.* must be that of the earlier calls"):
            forest.fit(X, other)
    with pytest.raises(ValueError, match="sample_weight must be that of the earlier calls"):
        forest.fit(X, y, sample_weight=np.arange(80) + 1.0)
    if is_survival:
        with pytest.raises(ValueError, match=r"cause must be theirs, None\. Got 1"):
            forest.set_params(cause=1).fit(X, y)
    np.testing.assert_array_equal(forest.predict(X), before)


def test_assigned_trees_bring_their_samples():
    one = RandomForestClassifier(3, random_state=0).fit(X, FLIPS)
    other = RandomForestClassifier(3, random_state=1, max_samples=7).fit(X, FLIPS)
    bags = [*one.estimators_samples_, *other.estimators_samples_]
    unknown = pickle.loads(pickle.dumps(other.estimators_))
    one.estimators_ += other.estimators_
    assert_samples(one, bags)
    one.estimators_ = one.estimators_[::-1]
    assert_samples(one, bags[::-1])
    one.estimators_ += unknown
    assert not hasattr(one, "estimators_samples_")
    with pytest.raises(ValueError, match="trees of other forests were assigned"):
        one.predict_standard_error(X)
    with pytest.raises(ValueError, match="warm_start=True cannot add to trees"):
        one.set_params(n_estimators=20, warm_start=True).fit(X, FLIPS)


@pytest.mark.pairwise
@pytest.mark.parametrize("forest_class", FORESTS)
@pytest.mark.parametrize(
    "params",
    [
        {"bootstrap": True},
        {"bootstrap": False},
        {"bootstrap": "poisson", "min_samples_category": 4},
        {"bootstrap": True, "replace": False, "max_leaf_nodes": 9, "ccp_alpha": 0.002},
    ],
)
@pytest.mark.parametrize("weight", [None, WEIGHTS])
def test_the_same_data_are_known_again(forest_class, params, weight):
    """With missing values, categories and weights, however they are stored."""
    y = target_of(forest_class)
    table = X.copy()
    table[::7, 1] = np.nan
    table[:, 2] = np.arange(80) * 7 % 23
    params = {**params, "categorical_features": [2], "random_state": 0}
    forest = forest_class(3, warm_start=True, **params).fit(table, y, sample_weight=weight)
    dataset = spinney.Dataset(table, categorical_features=[2])
    for n, stored in enumerate((table, np.asfortranarray(table), dataset), start=4):
        forest.set_params(n_estimators=n).fit(stored, y, sample_weight=weight)
    assert len(forest) == 6
    assert not vars(forest).get("_foreign_seeds")
    assert not vars(forest).get("_is_joined")
