"""Boosting of several quantiles: one model, whose quantiles do not cross."""

import io
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import d2_pinball_score, mean_pinball_loss
from sklearn.model_selection import cross_val_score

import spinney
from spinney import Dataset, GradientBoostingRegressor, HistGradientBoostingRegressor
from spinney.inspection import partial_dependence

# Not in order, so that columns must be found again.
LEVELS = [0.9, 0.05, 0.5]
IN_ORDER = np.argsort(LEVELS)
N = 300
NAMES = {GradientBoostingRegressor: "alpha", HistGradientBoostingRegressor: "quantile"}
both = pytest.mark.parametrize("kind", NAMES)


@pytest.fixture(scope="module")
def data():
    return make_table(0)


def make_table(seed, n_features=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, n_features)).astype(np.float32)
    return X, X[:, 0] + (1 + np.abs(X[:, 1])) * rng.standard_t(3, N)


def make(kind, levels=LEVELS, **parameters):
    rounds = {GradientBoostingRegressor: "n_estimators", HistGradientBoostingRegressor: "max_iter"}
    given = {"loss": "quantile", NAMES[kind]: levels, rounds[kind]: 25, "random_state": 0}
    return kind(**{**given, **parameters})


def predict_alone(kind, fit, X, **parameters):
    """Return what a model of each level predicts."""
    models = [fit(make(kind, level, **parameters)) for level in LEVELS]
    return np.column_stack([model.predict(X) for model in models]), models


def sort_rows(raw):
    ordered = np.empty_like(raw)
    ordered[:, IN_ORDER] = np.sort(raw, axis=1)
    return ordered


def mean_loss(y, predicted):
    columns = zip(LEVELS, predicted.T, strict=True)
    return np.mean([mean_pinball_loss(y, column, alpha=level) for level, column in columns])


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (GradientBoostingRegressor, {}),
        (GradientBoostingRegressor, {"subsample": 0.6, "max_features": 2}),
        (GradientBoostingRegressor, {"second_order": True, "l2_regularization": 1.0}),
        (GradientBoostingRegressor, {"interaction_cst": "no_interactions", "init": "zero"}),
        (GradientBoostingRegressor, {"init": LinearRegression()}),
        (HistGradientBoostingRegressor, {}),
        (HistGradientBoostingRegressor, {"max_bins": 16, "min_samples_leaf": 5}),
    ],
)
@pytest.mark.parametrize("form", ["dense", "sparse", "frame", "dataset"])
def test_each_level_has_the_bits_that_it_has_alone(data, kind, parameters, form):
    """Before they are sorted: with weights, and whatever `X` is."""
    X, y = data
    X = X * (np.abs(X) > 0.5)
    frame = pd.DataFrame(X).assign(c=pd.Series(X[:, 0] > 0, dtype="category"))
    frame.columns = list("abcde")
    forms = {"dense": X, "sparse": sp.csr_matrix(X), "frame": frame, "dataset": Dataset(X)}
    if isinstance(parameters.get("init"), LinearRegression) and form in ("frame", "dataset"):
        pytest.skip("the other estimator takes numbers")
    if form == "frame":
        parameters = {**parameters, "categorical_features": "from_dtype"}
    X = forms[form]
    weights = np.random.default_rng(1).integers(0, 4, N)

    def fit(model):
        return model.fit(X, y, sample_weight=weights)

    model = fit(make(kind, **parameters))
    alone, models = predict_alone(kind, fit, X, **parameters)
    np.testing.assert_array_equal(model.predict(X), sort_rows(alone))
    stages = list(model.staged_predict(X))
    staged = zip(*(one.staged_predict(X) for one in models), strict=True)
    for stage, expected in zip(stages, staged, strict=True):
        np.testing.assert_array_equal(stage, sort_rows(np.column_stack(expected)))
    np.testing.assert_array_equal(stages[-1], model.predict(X))
    leaves = np.stack([one.apply(X) for one in models], axis=2)
    np.testing.assert_array_equal(model.apply(X), leaves)
    assert model.estimators_.shape == (25, 3)
    if "init" not in parameters:
        assert model.predict(X[:0]).shape == (0, 3)
    if kind is GradientBoostingRegressor:
        scores = [one.train_score_ for one in models]
        np.testing.assert_allclose(model.train_score_, np.mean(scores, axis=0))
    if model.subsample < 1.0:
        scores = [one.oob_scores_ for one in models]
        np.testing.assert_allclose(model.oob_scores_, np.mean(scores, axis=0))


@both
def test_no_quantiles_cross_and_no_loss_is_larger(kind):
    """On 20 tables, for new rows, where those of single models do cross."""
    n_crossing = 0
    for seed in range(20):
        X, y = make_table(seed)
        half = slice(0, N // 2)

        def fit(model, X=X, y=y, half=half):
            return model.fit(X[half], y[half])

        predicted = fit(make(kind, min_samples_leaf=2, learning_rate=0.5)).predict(X)
        alone, _ = predict_alone(kind, fit, X, min_samples_leaf=2, learning_rate=0.5)
        n_crossing += np.count_nonzero(np.diff(alone[:, IN_ORDER]) < 0)
        assert np.all(np.diff(predicted[:, IN_ORDER]) >= 0)
        assert mean_loss(y, predicted) <= mean_loss(y, alone) + 1e-12
    assert n_crossing > 20


@both
def test_several_quantiles_are_restored_and_cloned(kind, data):
    """From files and pickles, with levels in any sequence; as a part of other tools."""
    X, y = data
    expected = make(kind).fit(X, y).predict(X)
    for levels in (tuple(LEVELS), np.array(LEVELS)):
        model = make(kind, levels).fit(X, y)
        file = io.BytesIO()
        model.save(file)
        for restored in (spinney.load(file.getvalue()), pickle.loads(pickle.dumps(model))):
            np.testing.assert_array_equal(restored.predict(X), expected)
            np.testing.assert_array_equal(restored.init_.predict(X), model.init_.predict(X))
            assert restored.score(X, y) == model.score(X, y)
        np.testing.assert_array_equal(clone(model).fit(X, y).predict(X), expected)
    np.testing.assert_array_equal(make(kind, n_jobs=3).fit(X, y).predict(X), expected)
    one = make(kind, [0.5]).fit(X, y)
    np.testing.assert_array_equal(one.predict(X)[:, 0], make(kind, 0.5).fit(X, y).predict(X))


@both
def test_the_score_is_the_mean_share_of_pinball_loss(kind, data):
    X, y = data
    weights = np.random.default_rng(1).integers(1, 4, N)
    model = make(kind).fit(X, y)
    columns = zip(LEVELS, model.predict(X).T, strict=True)
    shares = [d2_pinball_score(y, c, alpha=level, sample_weight=weights) for level, c in columns]
    assert model.score(X, y, weights) == pytest.approx(np.mean(shares))
    assert np.all(cross_val_score(model, X, y, cv=3) < 1.0)


@both
def test_rounds_of_several_quantiles_end_early_and_go_on(kind, data):
    """By the mean of the losses; a warm start makes the trees of one call."""
    X, y = data
    train, val = slice(0, 200), slice(200, None)
    early = {"early_stopping": True} if kind is HistGradientBoostingRegressor else {}
    model = make(kind, n_iter_no_change=3, tol=0.01, learning_rate=0.5, **early)
    model.fit(X[train], y[train], X_val=X[val], y_val=y[val])
    losses = [mean_loss(y[val], stage) for stage in model.staged_predict(X[val])]
    assert 3 <= len(losses) < 25
    assert min(losses[-3:]) > min(losses[:-3]) - 0.011
    left_out = make(kind, n_iter_no_change=3, **early).fit(X, y)
    assert len(left_out) <= 25

    rounds = "max_iter" if kind is HistGradientBoostingRegressor else "n_estimators"
    warm = make(kind, warm_start=True, **{rounds: 10}).fit(X, y)
    warm.set_params(**{rounds: 25}).fit(X, y)
    np.testing.assert_array_equal(warm.predict(X), make(kind).fit(X, y).predict(X))
    for other in (0.5, [0.05, 0.5]):
        warm.set_params(**{NAMES[kind]: other})
        with pytest.raises(ValueError, match=f"{NAMES[kind]} must have their levels"):
            warm.fit(X, y)


def test_an_estimator_may_begin_each_level_or_all(data):
    """A number for each sample is where all levels begin."""

    class Quantiles(LinearRegression):
        def predict(self, X):
            return super().predict(X)[:, np.newaxis] + [2.0, -2.0, 0.0]

    X, y = data
    model = make(GradientBoostingRegressor, init=Quantiles()).fit(X, y)
    assert mean_loss(y, model.predict(X)) < mean_loss(y, model.init_.predict(X))
    with pytest.raises(ValueError, match="init must predict one number for each"):
        make(GradientBoostingRegressor, [0.1, 0.9], init=Quantiles()).fit(X, y)
    assert isinstance(make(GradientBoostingRegressor).fit(X, y).init_, DummyRegressor)


@both
def test_raw_predictions_of_quantiles_are_explained(kind, data):
    """Those that are not sorted yet: contributions, words, dependence on features."""
    X, y = data
    model = make(kind).fit(X, y)
    raw, _ = predict_alone(kind, lambda one: one.fit(X, y), X)
    values = model.shap_values(X)
    assert values.shape == (N, 4, 3)
    np.testing.assert_allclose(values.sum(axis=1) + model.expected_value_, raw, atol=1e-8)
    assert "raw prediction of the quantile 0.5" in str(model.explain(X[0]))
    curves = partial_dependence(model, X, [0], grid_resolution=5)["average"]
    assert curves.shape == (3, 5)
    trees = [estimator.tree_ for estimator in model.estimators_.ravel()]
    sums = sum(tree.compute_feature_importances(normalize=False) for tree in trees)
    np.testing.assert_allclose(model.feature_importances_, sums / sums.sum())


@both
def test_several_quantiles_have_no_place_in_other_libraries(kind, data):
    model = make(kind).fit(*data)
    with pytest.raises(ValueError, match="fit a model for each level"):
        model.to_sklearn()
    pytest.importorskip("treelite")
    with pytest.raises(ValueError, match="fit a model for each level"):
        model.to_treelite()


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        (kind, {NAMES[kind]: wrong, **others}, NAMES[kind])
        for kind in NAMES
        for wrong, others in [
            ([], {}),
            ([0.5, 1.5], {}),
            ([0.5, "half"], {}),
            ([0.5, None], {}),
            ([True, 0.5], {}),
            ([[0.5, 0.9]], {}),
            ([0.1, 0.9], {"loss": "squared_error"}),
        ]
    ]
    + [
        (GradientBoostingRegressor, {"alpha": [0.0, 0.5]}, "alpha"),
        (GradientBoostingRegressor, {"alpha": [0.1, 0.9], "loss": "huber"}, "alpha"),
        (HistGradientBoostingRegressor, {"quantile": [0.1], "scoring": None}, "scoring"),
    ],
)
def test_illegal_levels_are_named(data, kind, parameters, message):
    with pytest.raises(ValueError, match=f"'{message}' parameter of"):
        make(kind, **parameters).fit(*data)
