"""Intervals against loops over samples, and their coverage."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.model_selection import GroupKFold, KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from spinney import (
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestQuantileRegressor,
    RandomForestRegressor,
)
from spinney.conformal import (
    ConformalizedQuantileRegressor,
    CrossConformalRegressor,
    JackknifeAfterBootstrapClassifier,
    JackknifeAfterBootstrapRegressor,
)

X, Y = load_diabetes(return_X_y=True)
TRAIN, QUERY = slice(0, 120), slice(120, 150)
LEVELS = [0.5, 0.8, 0.95]
FOREST = RandomForestRegressor(40, min_samples_leaf=3, random_state=0)
SETS = RandomForestClassifier(40, min_samples_leaf=3, random_state=0)
ALL = [
    JackknifeAfterBootstrapRegressor(FOREST, confidence_level=LEVELS),
    CrossConformalRegressor(FOREST, confidence_level=LEVELS),
    ConformalizedQuantileRegressor(
        RandomForestQuantileRegressor(40, min_samples_leaf=3, random_state=0),
        confidence_level=LEVELS,
    ),
]


def bounds(places, residuals, level):
    """Return the order statistics of the paper, of all places sorted."""
    n, residuals = len(residuals), np.abs(residuals)
    upper = int(np.ceil(round(level * (n + 1), 9)))
    lower = n + 1 - upper
    return np.sort(places - residuals)[lower - 1], np.sort(places + residuals)[upper - 1]


def shortest_width(places, residuals, level):
    """Return the least distance of two places of which the ranks differ by enough."""
    ends = np.sort(places + residuals)
    gap = int(np.ceil(round(level * (len(ends) + 1), 9)))
    return min(ends[last] - ends[last - gap] for last in range(gap, len(ends)))


def test_jackknife_after_bootstrap():
    model = clone(ALL[0]).fit_conformalize(X[TRAIN], Y[TRAIN])
    forest = model.estimator_
    y, intervals = model.predict_interval(X[QUERY])
    np.testing.assert_array_equal(y, forest.predict(X[QUERY]))
    assert intervals.shape == (30, 2, 3)
    shortest = model.predict_interval(X[QUERY], minimize_interval_width=True)[1]
    unseen = [
        [row not in rows for rows in map(set, forest.estimators_samples_)] for row in range(120)
    ]
    of_train = np.column_stack([tree.predict(X[TRAIN]) for tree in forest.estimators_])
    of_query = np.column_stack([tree.predict(X[QUERY]) for tree in forest.estimators_])
    residuals = np.array([Y[row] - of_train[row][unseen[row]].mean() for row in range(120)])
    np.testing.assert_allclose(model.residuals_, residuals, rtol=1e-9)
    for row in range(30):
        places = np.array([of_query[row][unseen[train]].mean() for train in range(120)])
        for number, level in enumerate(LEVELS):
            expected = bounds(places, residuals, level)
            np.testing.assert_allclose(intervals[row, :, number], expected, rtol=1e-9)
            width = np.diff(shortest[row, :, number])
            assert width == pytest.approx(shortest_width(places, residuals, level))


def test_cross_conformal():
    model = CrossConformalRegressor(FOREST, confidence_level=LEVELS, cv=KFold(4, shuffle=False))
    model.fit_conformalize(X[TRAIN], Y[TRAIN])
    y, intervals = model.predict_interval(X[QUERY])
    np.testing.assert_array_equal(y, clone(FOREST).fit(X[TRAIN], Y[TRAIN]).predict(X[QUERY]))
    residuals, places = np.empty(120), np.empty((30, 120))
    for train, test in KFold(4).split(X[TRAIN]):
        forest = clone(FOREST).fit(X[train], Y[train])
        residuals[test] = Y[test] - forest.predict(X[test])
        places[:, test] = forest.predict(X[QUERY])[:, None]
    shortest = model.predict_interval(X[QUERY], minimize_interval_width=True)[1]
    for row in range(30):
        for number, level in enumerate(LEVELS):
            expected = bounds(places[row], residuals, level)
            np.testing.assert_allclose(intervals[row, :, number], expected, rtol=1e-12)
            width = np.diff(shortest[row, :, number])
            assert width == pytest.approx(shortest_width(places[row], residuals, level))


def test_conformalized_quantiles():
    model = clone(ALL[2]).fit_conformalize(X[TRAIN], Y[TRAIN])
    forest = model.estimator_
    y, intervals = model.predict_interval(X[QUERY])
    np.testing.assert_array_equal(y, forest.predict(X[QUERY], 0.5))
    shortest = model.predict_interval(X[QUERY], minimize_interval_width=True)[1]
    for number, level in enumerate(LEVELS):
        quantiles = [(1 - level) / 2, (1 + level) / 2]
        low, high = forest.predict(X[TRAIN], quantiles, oob_score=True).T
        scores = np.sort(np.maximum(low - Y[TRAIN], Y[TRAIN] - high))
        move = scores[int(np.ceil(round(level * 121, 9))) - 1]
        expected = forest.predict(X[QUERY], quantiles) + np.array([-move, move])
        np.testing.assert_allclose(intervals[:, :, number], expected, rtol=1e-12)
        # All pairs of moves beyond which there are not more of 121 targets than may be.
        below, above = np.sort(low - Y[TRAIN]), np.sort(Y[TRAIN] - high)
        most = 121 - int(np.ceil(round(level * 121, 9)))
        pairs = [
            (below[i], above[j])
            for i in range(120)
            for j in range(120)
            if (120 - i) + (120 - j) <= most
        ]
        down, up = min(pairs, key=sum)
        found = np.abs(shortest[:, :, number] - forest.predict(X[QUERY], quantiles))
        np.testing.assert_allclose(found.sum(axis=1), np.full(30, abs(down) + abs(up)), rtol=1e-9)


@pytest.mark.parametrize("model", ALL, ids=lambda model: type(model).__name__)
def test_intervals_cover(model):
    """On average over splits as often as they say, with a margin of five deviations."""
    covered, widths = [], []
    for seed in range(8):
        data, target = make_friedman1(500, noise=2.0, random_state=seed)
        train, query = slice(0, 250), slice(250, 500)
        own = clone(model).set_params(confidence_level=[0.8, 0.9])
        own.fit_conformalize(data[train], target[train])
        _, intervals = own.predict_interval(data[query])
        inside = (intervals[:, 0] <= target[query, None]) & (target[query, None] <= intervals[:, 1])
        covered.append(inside.mean(axis=0))
        assert np.all(intervals[:, 0, 1] <= intervals[:, 0, 0])
        assert np.all(intervals[:, 1, 1] >= intervals[:, 1, 0])
        _, shortest = own.predict_interval(data[query], minimize_interval_width=True)
        inside = (shortest[:, 0] <= target[query, None]) & (target[query, None] <= shortest[:, 1])
        covered.append(inside.mean(axis=0))
        widths.append([(own[:, 1] - own[:, 0]).mean() for own in (shortest, intervals)])
    assert np.mean(covered[::2], axis=0) == pytest.approx([0.8, 0.9], abs=0.06)
    assert np.mean(covered[1::2], axis=0) == pytest.approx([0.8, 0.9], abs=0.06)
    assert np.less(*np.mean(widths, axis=0))


@pytest.mark.parametrize("model", ALL, ids=lambda model: type(model).__name__)
def test_storage_threads_and_pickles_do_not_matter(model):
    expected = clone(model).fit_conformalize(X[TRAIN], Y[TRAIN]).predict_interval(X[QUERY])[1]
    stored = clone(model).fit_conformalize(sparse.csr_matrix(X[TRAIN]), Y[TRAIN])
    np.testing.assert_array_equal(stored.predict_interval(sparse.csr_matrix(X[QUERY]))[1], expected)
    copy = pickle.loads(pickle.dumps(stored))
    np.testing.assert_array_equal(copy.predict_interval(X[QUERY])[1], expected)
    parallel = clone(model).set_params(estimator__n_jobs=3).fit_conformalize(X[TRAIN], Y[TRAIN])
    np.testing.assert_array_equal(parallel.predict_interval(X[QUERY])[1], expected)


def test_one_level_and_fit():
    model = JackknifeAfterBootstrapRegressor(FOREST, confidence_level=0.8).fit(X[TRAIN], Y[TRAIN])
    y, intervals = model.predict_interval(X[QUERY])
    assert intervals.shape == (30, 2, 1)
    np.testing.assert_array_equal(y, model.predict(X[QUERY]))
    # The levels of residuals may change after the fit.
    model.set_params(confidence_level=[0.8, 0.9])
    np.testing.assert_array_equal(model.predict_interval(X[QUERY])[1][:, :, :1], intervals)


def test_groups_stay_together():
    groups = np.arange(120) // 6
    model = CrossConformalRegressor(FOREST, cv=GroupKFold(5))
    model.fit_conformalize(X[TRAIN], Y[TRAIN], groups=groups)
    folds = model._folds.reshape(20, 6)
    assert np.all(folds == folds[:, :1])
    bags = [np.flatnonzero(groups % 5 != fold) for fold in range(5)]
    few = RandomForestRegressor(5, random_state=0)
    jackknife = JackknifeAfterBootstrapRegressor(few)
    jackknife.fit_conformalize(X[TRAIN], Y[TRAIN], samples=bags)
    trees = jackknife.estimator_.estimators_
    for row in range(120):
        own = trees[groups[row] % 5].predict(X[row : row + 1])
        assert jackknife.residuals_[row] == pytest.approx(Y[row] - own[0])


@pytest.mark.parametrize(
    "model", [JackknifeAfterBootstrapRegressor(FOREST), JackknifeAfterBootstrapClassifier(SETS)]
)
def test_the_forest_of_the_jackknife_draws_whole_groups(model):
    groups, weights = np.arange(120) // 6, np.repeat([0.0, 1.0], [12, 108])
    y = Y[TRAIN] if isinstance(model, JackknifeAfterBootstrapRegressor) else Y[TRAIN] > Y.mean()
    for used, weight in ((slice(None), None), (slice(12, None), weights)):
        own = clone(model).fit_conformalize(X[TRAIN], y, sample_weight=weight, groups=groups)
        unseen = own._list_unseen().bits.reshape(-1, 6, own._list_unseen().bits.shape[1])
        assert (unseen == unseen[:, :1]).all()
        forest = clone(own.estimator_).fit(X[TRAIN][used], y[used], groups=groups[used])
        np.testing.assert_array_equal(own.predict(X[QUERY]), forest.predict(X[QUERY]))


def test_weights_reach_the_forests():
    weights = np.random.default_rng(0).random(120)
    forest = clone(FOREST).fit(X[TRAIN], Y[TRAIN], sample_weight=weights)
    for model in ALL[:2]:
        own = clone(model).fit_conformalize(X[TRAIN], Y[TRAIN], sample_weight=weights)
        np.testing.assert_array_equal(own.predict(X[QUERY]), forest.predict(X[QUERY]))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (JackknifeAfterBootstrapRegressor(confidence_level=1.0), "'confidence_level' parameter"),
        (CrossConformalRegressor(confidence_level=[0.9, 0]), "'confidence_level' parameter"),
        (ConformalizedQuantileRegressor(confidence_level=[]), "'confidence_level' parameter"),
        (JackknifeAfterBootstrapRegressor(RandomForestClassifier()), "'estimator' parameter"),
        (ConformalizedQuantileRegressor(FOREST), "'estimator' parameter.*QuantileForestRegressor"),
        (JackknifeAfterBootstrapRegressor(ExtraTreesRegressor()), "set bootstrap=True"),
        (
            ConformalizedQuantileRegressor(RandomForestQuantileRegressor(bootstrap=False)),
            "set bootstrap=True",
        ),
        (
            JackknifeAfterBootstrapRegressor(FOREST, confidence_level=0.999),
            "needs at least 999 samples out of bag, of folds or held out; with 120 the level is at",
        ),
        (CrossConformalRegressor(FOREST, cv=[([0, 1], [2])]), "each sample in one fold.*none"),
        (
            CrossConformalRegressor(FOREST, cv=[([0, 1], [2]), ([0, 1], [2])]),
            "each sample in one fold.*several",
        ),
    ],
)
def test_what_cannot_be_is_told(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit_conformalize(X[TRAIN], Y[TRAIN])
    assert not hasattr(model, "estimator_")


@pytest.mark.parametrize("model", ALL, ids=lambda model: type(model).__name__)
def test_several_outputs_are_refused(model):
    with pytest.raises(ValueError, match=r"Intervals are of one output. Got 2"):
        clone(model).fit_conformalize(X[TRAIN], np.column_stack([Y, Y])[TRAIN])


def test_samples_that_all_trees_have_seen():
    few = JackknifeAfterBootstrapRegressor(RandomForestRegressor(3, random_state=0))
    with pytest.warns(UserWarning, match="All trees have seen"):
        few.fit_conformalize(X[TRAIN], Y[TRAIN])
    assert 0 < len(few.residuals_) < 120
    quantiles = ConformalizedQuantileRegressor(confidence_level=0.5)
    quantiles.fit_conformalize(X[TRAIN], Y[TRAIN])
    quantiles.set_params(confidence_level=0.6)
    with pytest.raises(ValueError, match="fit again"):
        quantiles.predict_interval(X[QUERY])


def test_the_shortest_intervals_need_a_sample_on_each_side():
    model = CrossConformalRegressor(FOREST, confidence_level=0.99).fit_conformalize(
        X[:100], Y[:100]
    )
    assert model.predict_interval(X[QUERY])[1].shape == (30, 2, 1)
    with pytest.raises(ValueError, match=r"needs at least 199 samples.*with 100 the level is"):
        model.predict_interval(X[QUERY], minimize_interval_width=True)
    with pytest.raises(TypeError, match=r"minimize_interval_width must be a bool. Got 'yes'"):
        model.predict_interval(X[QUERY], minimize_interval_width="yes")


def expected_to_fail(model):
    """Return the checks that cannot hold, with the reason."""
    reason = "rows are drawn by their place"
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@parametrize_with_checks(
    [clone(model).set_params(confidence_level=0.5) for model in ALL],
    expected_failed_checks=expected_to_fail,
)
@pytest.mark.filterwarnings("ignore:All trees have seen")
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
def test_scikit_learn_check(estimator, check):
    check(estimator)
