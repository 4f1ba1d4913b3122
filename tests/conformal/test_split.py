"""Split conformal models: by brute force, for any estimator, fitted before or not."""

import io
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import ShuffleSplit
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import spinney
from spinney.conformal import (
    ConformalizedQuantileRegressor,
    SplitConformalClassifier,
    SplitConformalRegressor,
)

N, HELD_OUT = 160, 60
CLASSES = [SplitConformalClassifier, SplitConformalRegressor]
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N + 400, 3))
NUMBERS = X[:, 0] * 2 + X[:, 1] * X[:, 2] + RNG.standard_normal(N + 400)
LABELS = np.array(["few", "more", "most"])[np.digitize(NUMBERS, [-1.0, 1.5])]
NEW = slice(N, None)


def targets(kind):
    """Return the targets of a class."""
    return LABELS if is_classifier(kind()) else NUMBERS


def make(kind, **parameters):
    """Return a quick model of a class."""
    tree = (
        spinney.DecisionTreeClassifier if is_classifier(kind()) else spinney.DecisionTreeRegressor
    )
    defaults = {"estimator": tree(max_depth=3, random_state=0), "random_state": 0}
    return kind(**{**defaults, "conformalize_size": HELD_OUT, **parameters})


def ask(model, rows):
    """Return predictions, and intervals or sets."""
    return (model.predict_set if is_classifier(model) else model.predict_interval)(rows)


@pytest.mark.parametrize("weights", [None, np.arange(HELD_OUT) % 3])
def test_bounds_are_order_statistics_of_residuals(weights):
    """Prediction minus and plus the residual of the right place, copies counted."""
    estimator = Ridge().fit(X[:100], NUMBERS[:100])
    held = slice(100, 100 + HELD_OUT)
    levels = [0.5, 0.8, 0.9]
    model = SplitConformalRegressor(estimator, prefit=True, confidence_level=levels)
    model.conformalize(X[held], NUMBERS[held], weights)
    assert model.estimator_ is estimator
    predicted, intervals = model.predict_interval(X[NEW])
    np.testing.assert_array_equal(predicted, estimator.predict(X[NEW]))
    counts = np.ones(HELD_OUT, dtype=int) if weights is None else weights
    residuals = np.abs(NUMBERS[held] - estimator.predict(X[held]))
    residuals = np.sort(np.repeat(residuals, counts))
    for n, level in enumerate(levels):
        widest = residuals[math.ceil(level * (len(residuals) + 1)) - 1]
        np.testing.assert_allclose(intervals[:, 0, n], predicted - widest)
        np.testing.assert_allclose(intervals[:, 1, n], predicted + widest)
    inside = (intervals[:, 0] <= NUMBERS[NEW, None]) & (NUMBERS[NEW, None] <= intervals[:, 1])
    assert np.all(np.abs(inside.mean(axis=0) - levels) < 0.12)
    shortest = model.predict_interval(X[NEW], minimize_interval_width=True)[1]
    assert np.all(np.ptp(shortest, axis=1)[:, 0] < np.ptp(intervals, axis=1)[:, 0])


@pytest.mark.parametrize("weights", [None, np.arange(HELD_OUT) % 3])
@pytest.mark.parametrize("score", ["lac", "aps"])
def test_sets_have_the_classes_that_conform(score, weights):
    """By the definition: the score of a class is not above that of the right place."""
    estimator = LogisticRegression().fit(X[:100], LABELS[:100])
    held = slice(100, 100 + HELD_OUT)
    levels = [0.6, 0.9]
    model = SplitConformalClassifier(
        estimator, prefit=True, confidence_level=levels, conformity_score=score
    ).conformalize(X[held], LABELS[held], weights)

    def score_classes(rows):
        shares = estimator.predict_proba(rows)
        if score == "lac":
            return 1 - shares
        # Down to the class's own.
        return np.array([[row[row >= own].sum() for own in row] for row in shares])

    codes = np.searchsorted(estimator.classes_, LABELS[held])
    counts = np.ones(HELD_OUT, dtype=int) if weights is None else weights
    known = np.sort(np.repeat(score_classes(X[held])[np.arange(HELD_OUT), codes], counts))
    predicted, sets = model.predict_set(X[NEW])
    np.testing.assert_array_equal(predicted, estimator.predict(X[NEW]))
    for n, level in enumerate(levels):
        highest = known[math.ceil(level * (len(known) + 1)) - 1]
        np.testing.assert_array_equal(sets[:, :, n], score_classes(X[NEW]) <= highest + 1e-12)
    codes = np.searchsorted(estimator.classes_, LABELS[NEW])
    assert np.all(np.abs(sets[np.arange(400), codes].mean(axis=0) - levels) < 0.12)


@pytest.mark.parametrize("kind", CLASSES)
def test_a_part_is_held_out(kind):
    """The estimator has seen the others alone; groups stay together; seeds repeat."""
    y = targets(kind)[:N]
    model = make(kind).fit_conformalize(X[:N], y)
    assert model.estimator_.tree_.n_node_samples[0] == N - HELD_OUT
    scores = "conformity_scores_" if is_classifier(model) else "residuals_"
    assert len(getattr(model, scores)) == HELD_OUT
    again = make(kind).fit(X[:N], y)
    np.testing.assert_array_equal(getattr(again, scores), getattr(model, scores))
    other = make(kind, random_state=1).fit(X[:N], y)
    assert not np.array_equal(getattr(other, scores), getattr(model, scores))
    # Rows 0 to 9 are one group, and so on: a leaf has the rows of each group that was fitted to.
    groups = np.arange(N) // 10
    tree = spinney.DecisionTreeRegressor(random_state=0)
    if is_classifier(model):
        tree = spinney.DecisionTreeClassifier(random_state=0)
    model = make(kind, estimator=tree, conformalize_size=0.25)
    model.fit_conformalize(groups[:, None], groups.astype(targets(kind).dtype), groups=groups)
    leaves = model.estimator_.tree_.n_node_samples[model.estimator_.tree_.feature < 0]
    assert leaves.tolist() == [10] * 12


@pytest.mark.parametrize("kind", CLASSES)
def test_weights_reach_the_estimator(kind):
    """Rows of weight 0 are absent from both parts."""
    y = targets(kind)[:N]
    weights = np.where(np.arange(N) % 2, 0.0, 2.0)
    model = make(kind, conformalize_size=0.25).fit_conformalize(X[:N], y, weights)
    alone = make(kind, conformalize_size=0.25).fit_conformalize(X[:N:2], y[::2], weights[::2])
    assert model.estimator_.tree_.n_node_samples[0] == N // 2 * 3 // 4
    assert model.estimator_.tree_.weighted_n_node_samples[0] == N * 3 // 4
    for one, other in zip(ask(model, X[NEW]), ask(alone, X[NEW]), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "estimator",
    [
        None,
        LinearRegression(),
        KNeighborsRegressor(),
        make_pipeline(StandardScaler(), spinney.GradientBoostingRegressor(n_estimators=5)),
        spinney.AdaBoostRegressor(n_estimators=3),
        spinney.LazyForestRegressor(3),
    ],
)
def test_any_regressor(estimator):
    """Of ours, of others, of a pipeline; the estimator that was given stays as it is."""
    model = make(SplitConformalRegressor, estimator=estimator).fit(X[:N], NUMBERS[:N])
    inside = model.predict_interval(X[NEW])[1]
    inside = (inside[:, 0, 0] <= NUMBERS[NEW]) & (NUMBERS[NEW] <= inside[:, 1, 0])
    assert 0.8 < inside.mean() < 0.99
    assert estimator is None or estimator is not model.estimator_
    again = model.conformalize(X[N : N + 80], NUMBERS[N : N + 80])
    assert len(again.residuals_) == 80


def test_bounds_end_intervals():
    """Targets are counts."""
    y = np.maximum(np.round(NUMBERS), 0)
    model = make(SplitConformalRegressor, bounds=(0, None)).fit(X[:N], y[:N])
    assert model.predict_interval(X[NEW])[1].min() == 0
    with pytest.raises(ValueError, match="y must be within bounds"):
        model.fit(X[:N], y[:N] - 0.5)


def test_a_class_that_the_classifier_does_not_know():
    """Its samples conform to no prediction, so that sets are larger."""
    known = LABELS[:100] != "most"
    estimator = LogisticRegression().fit(X[:100][known], LABELS[:100][known])
    model = SplitConformalClassifier(estimator, prefit=True, confidence_level=[0.5, 0.95])
    model.conformalize(X[100:N], LABELS[100:N])
    is_unknown = LABELS[100:N] == "most"
    np.testing.assert_array_equal(np.isinf(model.conformity_scores_), is_unknown)
    assert model.predict_set(X[NEW])[1].shape == (400, 2, 2)
    assert model.predict_set(X[NEW])[1][..., 1].all()


@pytest.mark.parametrize("kind", CLASSES)
def test_frames_and_files(kind):
    """Categories and missing values pass through; a file has the fitted estimator."""
    frame = pd.DataFrame(X, columns=list("abc"))
    frame.loc[::6, "a"] = np.nan
    frame["c"] = pd.Categorical(np.where(X[:, 2] > 0, "up", "down"))
    model = make(kind)
    model.set_params(estimator__categorical_features="from_dtype")
    model.fit(frame[:N], pd.Series(targets(kind)[:N]))
    expected = ask(model, frame[NEW])
    file = io.BytesIO()
    model.save(file)
    for one, other in zip(expected, ask(spinney.load(file.getvalue()), frame[NEW]), strict=True):
        np.testing.assert_array_equal(one, other)
    file = io.BytesIO()
    model.n_features_in_ = 2
    model.save(file)
    with pytest.raises(ValueError, match="n_features_in_ is 2"):
        spinney.load(file.getvalue())


WRONG = [
    ({"prefit": "yes"}, {}, "prefit"),
    ({"prefit": True, "estimator": None}, {}, "a fitted estimator"),
    ({"prefit": True}, {"groups": np.zeros(N)}, "groups must be None"),
    ({"estimator": StandardScaler()}, {}, "estimator"),
    ({"conformalize_size": 1.5}, {}, "conformalize_size"),
    ({"conformalize_size": 0}, {}, "conformalize_size"),
    ({"conformalize_size": True}, {}, "conformalize_size"),
    ({"random_state": "now"}, {}, "'random_state' parameter"),
    ({"random_state": -1}, {}, "'random_state' parameter"),
    ({"random_state": 2**64}, {}, "'random_state' parameter"),
    ({"conformalize_size": 4}, {}, "confidence_level=0.9 needs at least 9"),
    ({"confidence_level": 2}, {}, "confidence_level"),
    ({}, {"sample_weight": np.full(N, -1.0)}, "sample_weight"),
    ({}, {"sample_weight": np.ones(3)}, "sample_weight"),
    ({}, {"y": None}, "requires y"),
    ({}, {"y": np.column_stack([NUMBERS, NUMBERS])[:N]}, "1d array"),
]


@pytest.mark.parametrize(("parameters", "arguments", "message"), WRONG)
@pytest.mark.parametrize("kind", CLASSES)
def test_illegal_arguments(kind, parameters, arguments, message):
    """Errors name them."""
    model = make(kind)
    if parameters.get("prefit") is True:
        model.estimator.fit(X[:N], targets(kind)[:N])
    model.set_params(**parameters)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit_conformalize(**{"X": X[:N], "y": targets(kind)[:N], **arguments})


@pytest.mark.parametrize("kind", CLASSES)
def test_what_is_not_fitted(kind):
    """Neither the model nor the estimator that was given as fitted."""
    y = targets(kind)[:N]
    for model in (make(kind), make(kind, prefit=True)):
        with pytest.raises(NotFittedError):
            model.conformalize(X[:N], y)
        with pytest.raises(NotFittedError):
            ask(model, X[NEW])
    wrong = LinearRegression() if is_classifier(kind()) else LogisticRegression()
    with pytest.raises(ValueError, match="estimator"):
        make(kind, estimator=wrong).fit(X[:N], y)


def expected_to_fail(_model):
    """Return the checks that cannot hold, with the reason."""
    reason = "rows are parted by their places"
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@parametrize_with_checks(
    [make(kind, confidence_level=0.5, conformalize_size=0.3) for kind in CLASSES],
    expected_failed_checks=expected_to_fail,
)
def test_scikit_learn_check(estimator, check):
    """Run one check on one estimator."""
    check(estimator)


# --- Boosted quantiles --------------------------------------------------------------------------


def boost(levels, **parameters):
    """Return boosted quantiles that are moved."""
    boosting = spinney.GradientBoostingRegressor(loss="quantile", n_estimators=20, random_state=0)
    model = ConformalizedQuantileRegressor(
        boosting, confidence_level=levels, conformalize_size=HELD_OUT, random_state=0
    )
    return model.set_params(**parameters)


@pytest.mark.parametrize("weights", [None, np.arange(N) % 3 + 1])
@pytest.mark.parametrize("kind", ["GradientBoostingRegressor", "HistGradientBoostingRegressor"])
def test_boosted_quantiles_are_moved_by_samples_that_are_held_out(weights, kind):
    """By the definition of the paper, level by level; one model has the quantiles of all levels."""
    levels = [0.6, 0.9]
    boosting = getattr(spinney, kind)(loss="quantile", random_state=0)
    rounds, level = {"G": ("n_estimators", "alpha"), "H": ("max_iter", "quantile")}[kind[0]]
    model = boost(levels, estimator=boosting.set_params(**{rounds: 20}))
    model.fit_conformalize(X[:N], NUMBERS[:N], weights)
    parts = ShuffleSplit(1, test_size=HELD_OUT, random_state=0)
    rows, held = next(parts.split(np.arange(N)))
    counts = None if weights is None else weights[rows]
    copies = np.ones(HELD_OUT, dtype=int) if weights is None else weights[held]
    predicted, intervals = model.predict_interval(X[NEW])

    quantiles = [0.05, 0.2, 0.5, 0.8, 0.95]
    alone = clone(boosting).set_params(**{level: quantiles}).fit(X[rows], NUMBERS[rows], counts)
    np.testing.assert_array_equal(predicted, alone.predict(X[NEW])[:, 2])
    for n, pair in enumerate([(1, 3), (0, 4)]):
        low, high = alone.predict(X[held])[:, pair].T
        outside = np.maximum(low - NUMBERS[held], NUMBERS[held] - high)
        outside = np.sort(np.repeat(outside, copies))
        move = outside[math.ceil(levels[n] * (len(outside) + 1)) - 1]
        low, high = alone.predict(X[NEW])[:, pair].T
        middle = (low + high) / 2
        np.testing.assert_allclose(intervals[:, 0, n], np.minimum(low - move, middle))
        np.testing.assert_allclose(intervals[:, 1, n], np.maximum(high + move, middle))
    inside = (intervals[:, 0] <= NUMBERS[NEW, None]) & (NUMBERS[NEW, None] <= intervals[:, 1])
    assert np.all(np.abs(inside.mean(axis=0) - levels) < 0.12)


def test_boosted_quantiles_of_pipelines_and_in_files():
    """All steps are fitted to the same part; a file has the model; a forest takes its place."""
    model = boost(0.8).fit(X[:N], NUMBERS[:N])
    expected = model.predict_interval(X[NEW])
    scaled = boost(0.8, estimator=make_pipeline(StandardScaler(), model.estimator))
    found = scaled.fit(X[:N], NUMBERS[:N]).predict_interval(X[NEW])
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0.2, atol=0.2)
    file = io.BytesIO()
    model.save(file)
    loaded = spinney.load(file.getvalue())
    for one, other in zip(loaded.predict_interval(X[NEW]), expected, strict=True):
        np.testing.assert_array_equal(one, other)
    model.set_params(estimator=spinney.RandomForestQuantileRegressor(30, random_state=0))
    assert model.fit(X[:N], NUMBERS[:N]).predict_interval(X[NEW])[1].shape == (400, 2, 1)


@pytest.mark.parametrize(
    ("parameters", "arguments", "message"),
    [
        ({"estimator": spinney.GradientBoostingRegressor()}, {}, "estimator"),
        ({"conformalize_size": 2.0}, {}, "conformalize_size"),
        ({"conformalize_size": 3}, {}, "needs at least"),
        ({}, {"samples": [[0]]}, "samples must be None"),
        ({}, {"y": NUMBERS[:9]}, "inconsistent numbers of samples"),
    ],
)
def test_illegal_arguments_of_boosted_quantiles(parameters, arguments, message):
    """Errors name them."""
    with pytest.raises(ValueError, match=message):
        boost(0.9, **parameters).fit(**{"X": X[:N], "y": NUMBERS[:N], **arguments})


@pytest.mark.parametrize("seed", range(3))
def test_unknown_targets_are_refused_in_either_part(seed):
    """Whatever the draw holds out."""
    numbers = NUMBERS[:N].copy()
    numbers[: N // 2 : 9] = np.nan
    labels = (NUMBERS[:N] > 0).astype(float)
    labels[: N // 2 : 9] = np.nan
    models = [(boost(0.9), numbers), (make(SplitConformalRegressor), numbers)]
    for model, y in [*models, (make(SplitConformalClassifier), labels)]:
        with pytest.raises(ValueError, match="contains NaN"):
            model.set_params(random_state=seed).fit(X[:N], y)


def test_labels_that_the_classifier_does_not_know():
    y = np.where(NUMBERS[:N] > 0, "a", "b")
    fitted = make(SplitConformalClassifier).fit(X[:N], y).estimator_
    model = make(SplitConformalClassifier, estimator=fitted, prefit=True)
    with pytest.raises(ValueError, match=r"y must have classes .* \['a', 'b'\]. Got \[0, 1\]"):
        model.conformalize(X[:N], (y == "a").astype(int))


def test_forests_of_quantiles_check_what_boosting_needs():
    model = ConformalizedQuantileRegressor(conformalize_size="half")
    with pytest.raises(ValueError, match="conformalize_size"):
        model.fit_conformalize(np.zeros((20, 1)), np.arange(20.0))
    model.set_params(conformalize_size=0.5, random_state="now")
    with pytest.raises(ValueError, match="'random_state' parameter"):
        model.fit_conformalize(np.zeros((20, 1)), np.arange(20.0))


def test_seeds_beyond_those_of_scikit_learn():
    """They are those of all our classes, and each draws other samples."""
    shares = [
        make(SplitConformalRegressor, random_state=seed).fit(X[:N], NUMBERS[:N]).residuals_
        for seed in (2**32, 2**32, 2**64 - 1)
    ]
    np.testing.assert_array_equal(shares[0], shares[1])
    assert not np.array_equal(shares[0], shares[2])
