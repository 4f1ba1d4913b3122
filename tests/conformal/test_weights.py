"""Rows of weight 0 are absent, whole weights are copies, and `fit` drops none of its arguments."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, PredefinedSplit

from spinney import RandomForestClassifier, RandomForestQuantileRegressor, RandomForestRegressor
from spinney.conformal import (
    ConformalizedQuantileRegressor,
    CrossConformalClassifier,
    CrossConformalRegressor,
    JackknifeAfterBootstrapClassifier,
    JackknifeAfterBootstrapRegressor,
)

LEVELS = [0.5, 0.8]
NUMBERS = RandomForestRegressor(30, random_state=0)
QUANTILES = RandomForestQuantileRegressor(30, min_samples_leaf=3, random_state=0)
CLASSES = RandomForestClassifier(30, min_samples_leaf=2, random_state=0)
BAGS = [
    JackknifeAfterBootstrapRegressor(NUMBERS, confidence_level=LEVELS),
    ConformalizedQuantileRegressor(QUANTILES, confidence_level=LEVELS),
    JackknifeAfterBootstrapClassifier(CLASSES, confidence_level=LEVELS),
]
FOLDS = [
    CrossConformalRegressor(NUMBERS, confidence_level=LEVELS, cv=4),
    CrossConformalClassifier(CLASSES, confidence_level=LEVELS, cv=4),
]
NAMES = {"ids": lambda model: type(model).__name__}
X = np.arange(60.0)[:, None]
QUERY = np.linspace(0, 60, 25)[:, None]
USED = np.arange(60) % 4 != 0
WEIGHTS = USED.astype(float)


def make_targets(model, wrong):
    """Return targets that follow X; those of weight 0 are wrong ones."""
    if hasattr(model, "predict_set"):
        y = np.minimum((np.arange(60) + 7 * (np.arange(60) % 5 == 0)) // 20, 2)
        return np.where(USED, y, 2 - y) if wrong else y
    return np.where(USED | (not wrong), X[:, 0], 1e6)


def predict(model):
    """Return the intervals or sets of all levels, the shortest ones too."""
    if hasattr(model, "predict_set"):
        return model.predict_set(QUERY)[1]
    shortest = model.predict_interval(QUERY, minimize_interval_width=True)[1]
    return np.stack([model.predict_interval(QUERY)[1], shortest])


@pytest.mark.filterwarnings("ignore:All trees have seen")
@pytest.mark.parametrize("model", BAGS + FOLDS, **NAMES)
def test_rows_of_weight_0_change_nothing(model):
    y = make_targets(model, True)
    found = clone(model).fit(X, y, sample_weight=WEIGHTS)
    expected = clone(model).fit(X[USED], y[USED])
    np.testing.assert_array_equal(predict(found), predict(expected))
    # They do not reach a level that the others cannot reach, either.
    found = clone(model).set_params(confidence_level=45 / 46 + 1e-3)
    with pytest.raises(ValueError, match=r"with \d+ the level is at most"):
        found.fit(X, y, sample_weight=WEIGHTS)


@pytest.mark.parametrize("model", BAGS, **NAMES)
def test_samples_are_those_of_the_rows_with_a_weight(model):
    rng = np.random.default_rng(0)
    y = make_targets(model, True)
    counts = np.array([np.bincount(rng.integers(60, size=60), minlength=60) for _ in range(30)])
    expected = clone(model).fit(X[USED], y[USED], samples=counts[:, USED])
    bags = [np.repeat(np.arange(60), of_tree) for of_tree in counts]
    for samples in (counts, sparse.csr_matrix(counts), bags):
        found = clone(model).fit(X, y, WEIGHTS, samples)
        np.testing.assert_array_equal(predict(found), predict(expected))
    masks = [of_tree > 0 for of_tree in counts]
    found = clone(model).fit(X, y, WEIGHTS, masks)
    expected = clone(model).fit(X[USED], y[USED], samples=(counts > 0)[:, USED])
    np.testing.assert_array_equal(predict(found), predict(expected))
    with pytest.raises(ValueError, match=r"samples must have indices in the range \[0, 60\)"):
        clone(model).fit(X, y, WEIGHTS, [*bags[:-1], [60]])


@pytest.mark.parametrize("model", FOLDS, **NAMES)
def test_folds_are_those_of_the_rows_with_a_weight(model):
    y, of_row = make_targets(model, True), np.arange(60) % 3
    folds = [(np.flatnonzero(of_row != k), np.flatnonzero(of_row == k)) for k in range(3)]
    own = of_row[USED]
    expected = clone(model).set_params(cv=PredefinedSplit(own)).fit(X[USED], y[USED])
    for cv in (PredefinedSplit(of_row), folds):
        found = clone(model).set_params(cv=cv).fit(X, y, sample_weight=WEIGHTS)
        np.testing.assert_array_equal(predict(found), predict(expected))
    # A fold of no other rows is none.
    of_row = np.where(USED, of_row, 3)
    found = clone(model).set_params(cv=PredefinedSplit(of_row)).fit(X, y, sample_weight=WEIGHTS)
    np.testing.assert_array_equal(predict(found), predict(expected))


@pytest.mark.parametrize("model", BAGS + FOLDS, **NAMES)
def test_whole_weights_are_copies(model):
    """Where trees do not draw: copies are in the same trees or folds, and leaves of one row."""
    y, times = make_targets(model, False), np.arange(60) % 3 + 1
    rows = np.repeat(np.arange(60), times)
    forest = model.estimator
    model = clone(model).set_params(estimator__max_features=None, estimator__min_samples_leaf=1)
    if model in BAGS or not hasattr(model, "cv"):
        rng = np.random.default_rng(0)
        masks = [rng.random(60) < 0.6 for _ in range(forest.n_estimators)]
        weighted = model.fit(X, y, sample_weight=times, samples=masks)
        found = predict(weighted)
        copied = clone(model).fit(X[rows], y[rows], samples=[mask[rows] for mask in masks])
    else:
        model.set_params(estimator__bootstrap=False, cv=PredefinedSplit(np.arange(60) % 4))
        found = predict(model.fit(X, y, sample_weight=times))
        split = PredefinedSplit((np.arange(60) % 4)[rows])
        copied = clone(model).set_params(cv=split).fit(X[rows], y[rows])
    np.testing.assert_allclose(found, predict(copied), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("model", BAGS + FOLDS, **NAMES)
def test_fractions_say_nothing_of_how_many_rows_there_are(model):
    y = make_targets(model, False)
    expected = predict(clone(model).fit(X, y))
    found = predict(clone(model).fit(X, y, sample_weight=np.full(60, 0.25)))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.filterwarnings("ignore:All trees have seen")
@pytest.mark.parametrize("model", BAGS + FOLDS, **NAMES)
def test_rows_of_almost_no_weight_change_almost_nothing(model):
    y = make_targets(model, True)
    model = clone(model).fit(X, y, sample_weight=np.where(USED, 1.0, 1e-9))
    if not hasattr(model, "predict_set"):
        assert np.abs(predict(model)).max() < 1e5
    assert model._copies.sum() == pytest.approx(len(model._copies), rel=0.4)


@pytest.mark.parametrize("model", FOLDS, **NAMES)
def test_fit_passes_groups_on(model):
    y, groups = make_targets(model, False), np.arange(60) // 6
    found = clone(model).set_params(cv=GroupKFold(5)).fit(X, y, groups=groups)
    expected = clone(model).set_params(cv=GroupKFold(5)).fit_conformalize(X, y, groups=groups)
    np.testing.assert_array_equal(predict(found), predict(expected))
    with pytest.raises(TypeError, match="samples"):
        clone(model).fit(X, y, samples=[[0]])
    with pytest.raises(TypeError, match="groups"):
        clone(BAGS[0]).fit(X, y, groups=groups)
