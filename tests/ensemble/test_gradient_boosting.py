"""Gradient boosting beside scikit-learn's: the same trees but for ties, nearly the same numbers."""

import io
import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.ensemble
import sklearn.inspection
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import mean_gamma_deviance, mean_poisson_deviance, mean_tweedie_deviance

import spinney
from spinney import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from spinney.inspection import partial_dependence
from spinney.survival import GradientBoostingSurvival

N = 400
# Small nodes are parted alike by several features, and each library draws one of these.
LEAF = 12
# With these losses all gradients are one of two numbers, so that features often tie: one is enough.
OF_TWO_NUMBERS = ("absolute_error", "quantile")
NUMBER_LOSSES = ["squared_error", "absolute_error", "huber", "quantile"]


@pytest.fixture(scope="module")
def data():
    """Distinct numbers of float32, so that no two cuts part the samples alike by chance."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N, 5)).astype(np.float32)
    y = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + 0.3 * rng.normal(size=N)
    return X, y


def make_target(loss, y):
    return np.exp(y) if loss in ("gamma", "tweedie") else y


def both(kind, **parameters):
    """Return an estimator of ours and one of scikit-learn's with the same parameters."""
    name = f"GradientBoosting{kind}"
    given = {"n_estimators": 20, "random_state": 3, "min_samples_leaf": LEAF, **parameters}
    return getattr(spinney, name)(**given), getattr(sklearn.ensemble, name)(**given)


def assert_alike(ours, theirs, X, method, tolerance=1e-9):
    found, expected = getattr(ours, method)(X), getattr(theirs, method)(X)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(ours.train_score_, theirs.train_score_, rtol=1e-9)
    staged = list(getattr(ours, f"staged_{method}")(X))
    assert len(staged) == ours.n_estimators_ == theirs.n_estimators_
    np.testing.assert_array_equal(staged[-1], found)


@pytest.mark.pairwise
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", NUMBER_LOSSES)
@pytest.mark.parametrize("subsample", [1.0, 0.6])
def test_numbers_are_those_of_scikit_learn(data, loss, weighted, subsample):
    X, y = data
    X = X[:, :1] if loss in OF_TWO_NUMBERS else X
    weight = np.random.default_rng(0).integers(1, 4, N) if weighted else None
    ours, theirs = both("Regressor", loss=loss, subsample=subsample, alpha=0.75)
    ours.fit(X, y, sample_weight=weight)
    theirs.fit(X, y, sample_weight=weight)
    assert_alike(ours, theirs, X, "predict")
    for ours_tree, their_tree in zip(
        ours.estimators_.ravel(), theirs.estimators_.ravel(), strict=True
    ):
        np.testing.assert_array_equal(ours_tree.tree_.feature, their_tree.tree_.feature)
        np.testing.assert_allclose(
            ours_tree.tree_.value[:, 0, 0], their_tree.tree_.value[:, 0, 0], atol=1e-9
        )
    if subsample < 1.0:
        np.testing.assert_allclose(ours.oob_scores_, theirs.oob_scores_, rtol=1e-9)
        np.testing.assert_allclose(ours.oob_improvement_, theirs.oob_improvement_, atol=1e-9)
        assert ours.oob_score_ == ours.oob_scores_[-1]
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "parameters", [{}, {"subsample": 0.5}, {"max_leaf_nodes": 6, "max_depth": None}]
)
def test_classes_are_those_of_scikit_learn(data, n_classes, parameters):
    X, y = data
    labels = np.array(["a", "b", "c"])[np.digitize(y, [0.0, 0.8][: n_classes - 1])]
    # Weights that all differ, so that nothing ties.
    weight = np.random.default_rng(2).uniform(0.5, 1.5, N)
    ours, theirs = both("Classifier", **parameters)
    ours.fit(X, labels, sample_weight=weight)
    theirs.fit(X, labels, sample_weight=weight)
    assert_alike(ours, theirs, X, "predict_proba")
    assert_alike(ours, theirs, X, "decision_function")
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    assert ours.estimators_.shape == theirs.estimators_.shape
    assert ours.apply(X).shape == theirs.apply(X).shape


def test_exponential_loss_is_that_of_scikit_learn(data):
    X, y = data
    ours, theirs = both("Classifier", loss="exponential")
    assert_alike(ours.fit(X, y > 0), theirs.fit(X, y > 0), X, "predict_proba")
    with pytest.raises(ValueError, match="only suitable for a binary"):
        ours.fit(X, np.digitize(y, [0.0, 1.0]))


@pytest.mark.parametrize("init", ["zero", Ridge()])
def test_beginnings_of_numbers(data, init):
    X, y = data
    ours, theirs = both("Regressor", init=init)
    assert_alike(ours.fit(X, y), theirs.fit(X, y), X, "predict", 1e-6)


@pytest.mark.parametrize("init", ["zero", LogisticRegression()])
def test_beginnings_of_classes(data, init):
    X, y = data
    labels = np.digitize(y, [0.0, 0.8])
    ours, theirs = both("Classifier", init=init)
    assert_alike(ours.fit(X, labels), theirs.fit(X, labels), X, "predict_proba", 1e-6)


@pytest.mark.parametrize("kind", ["Regressor", "Classifier"])
def test_early_stopping_is_that_of_scikit_learn(data, kind):
    X, y = data
    target = y if kind == "Regressor" else np.digitize(y, [0.0, 0.8])
    ours, theirs = both(kind, n_estimators=200, n_iter_no_change=3, learning_rate=0.3)
    ours.fit(X, target)
    theirs.fit(X, target)
    assert 3 < ours.n_estimators_ == theirs.n_estimators_ < 200
    assert len(ours.forest_) == ours.n_estimators_ * ours.n_trees_per_iteration_
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-9)


def test_given_samples_of_validation_end_the_rounds(data):
    X, y = data
    train, val = slice(0, 300), slice(300, None)
    model = GradientBoostingRegressor(
        n_estimators=300, learning_rate=0.3, n_iter_no_change=4, random_state=0
    )
    model.fit(X[train], y[train], X_val=X[val], y_val=y[val])
    whole = GradientBoostingRegressor(n_estimators=300, learning_rate=0.3, random_state=0)
    losses = [
        np.mean((y[val] - prediction) ** 2)
        for prediction in whole.fit(X[train], y[train]).staged_predict(X[val])
    ]
    history, expected = np.full(4, np.inf), None
    for i, loss in enumerate(losses):
        if not np.any(loss + model.tol < history):
            expected = i + 1
            break
        history[i % 4] = loss
    assert model.n_estimators_ == expected
    labels = np.where(y > 0, "yes", "no")
    classifier = GradientBoostingClassifier(n_iter_no_change=3, random_state=0)
    classifier.fit(X[train], labels[train], X_val=X[val], y_val=labels[val])
    with pytest.raises(ValueError, match="y_val must have classes of y"):
        classifier.fit(X[train], labels[train], X_val=X[val], y_val=["other"] * 100)
    with pytest.raises(ValueError, match="y_val was not provided"):
        classifier.fit(X[train], labels[train], X_val=X[val])
    with pytest.raises(ValueError, match="X_val was not provided"):
        classifier.fit(X[train], labels[train], y_val=labels[val])
    with pytest.raises(ValueError, match="n_iter_no_change asks for"):
        GradientBoostingRegressor().fit(X, y, X_val=X, y_val=y)


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingRegressor(n_iter_no_change=3),
        GradientBoostingClassifier(n_iter_no_change=3),
        HistGradientBoostingRegressor(early_stopping=True),
        HistGradientBoostingClassifier(early_stopping=True),
        GradientBoostingSurvival(n_iter_no_change=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_illegal_validation_samples(model):
    X = np.random.default_rng(0).normal(size=(60, 2))
    labels = (X[:, 0] > 0).astype(int)
    times = np.arange(1.0, 61.0)
    ys = (labels == 1, times) if isinstance(model, GradientBoostingSurvival) else labels

    def fit(n_val, weights):
        y_val = tuple(part[:n_val] for part in ys) if isinstance(ys, tuple) else ys[:n_val]
        clone(model).fit(X, ys, X_val=X[:n_val], y_val=y_val, sample_weight_val=weights)

    for n_val, weights, message in (
        (0, None, "X_val has no samples"),
        (20, -np.ones(20), "sample_weight_val must not be negative"),
        (20, np.zeros(20), "sample_weight_val must be positive for at least one sample"),
        (20, np.full(20, np.nan), "sample_weight_val contains NaN"),
        (20, np.ones(3), "sample_weight_val must be a scalar"),
    ):
        with pytest.raises(ValueError, match=message):
            fit(n_val, weights)


def test_a_warm_start_goes_on(data):
    X, y = data
    for parameters in ({}, {"subsample": 0.7}, {"loss": "huber"}):
        whole = GradientBoostingRegressor(n_estimators=12, random_state=1, **parameters).fit(X, y)
        grown = GradientBoostingRegressor(
            n_estimators=5, random_state=1, warm_start=True, **parameters
        ).fit(X, y)
        first = grown.estimators_[0, 0]
        grown.set_params(n_estimators=12).fit(X, y)
        np.testing.assert_array_equal(grown.predict(X), whole.predict(X))
        np.testing.assert_array_equal(grown.train_score_, whole.train_score_)
        assert grown.estimators_[0, 0] is first
    with pytest.raises(ValueError, match=r"must be larger or equal to estimators_.shape\[0\]=12"):
        grown.set_params(n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match=r"their 5 feature\(s\)"):
        grown.set_params(n_estimators=20).fit(X[:, :3], y)
    with pytest.raises(ValueError, match=r"loss must be theirs\. Got 'squared_error'"):
        grown.set_params(loss="squared_error").fit(X, y)


def test_draws_go_on_after_a_file_and_after_a_failure(data):
    """Rounds draw the samples that a single call draws."""
    X, y = data
    parameters = {"subsample": 0.5, "max_features": 2, "random_state": 0}
    whole = GradientBoostingRegressor(n_estimators=9, **parameters).fit(X, y).predict(X)
    first = GradientBoostingRegressor(n_estimators=4, warm_start=True, **parameters).fit(X, y)
    file = io.BytesIO()
    first.save(file)
    loaded = spinney.load(file.getvalue()).set_params(n_estimators=9)
    np.testing.assert_array_equal(loaded.fit(X, y).predict(X), whole)
    first.set_params(n_estimators=9)
    with pytest.raises(ZeroDivisionError):
        first.fit(X, y, monitor=lambda number, *_: 1 / (7 - number) > 2)
    assert first.n_estimators_ == 4
    np.testing.assert_array_equal(first.fit(X, y).predict(X), whole)


def test_arguments_of_early_stopping_and_monitors_are_named(data):
    X, y = data
    unknown = np.where(np.arange(len(y)) == 3, np.nan, y)
    wrong = [
        ({"sample_weight_val": np.ones(3)}, "sample_weight_val is provided, but X_val"),
        ({"X_val": X, "y_val": unknown}, "^y_val: Input y contains NaN"),
        ({"X_val": X[:, :2], "y_val": y}, "^X_val: X has 2 features"),
        ({"monitor": 3}, "monitor must be a callable or None. Got 3"),
    ]
    for arguments, message in wrong:
        with pytest.raises((TypeError, ValueError), match=message):
            GradientBoostingRegressor(n_iter_no_change=2).fit(X, y, **arguments)


@pytest.mark.parametrize("kind", ["Regressor", "Classifier"])
def test_storage_and_threads_do_not_show(data, kind):
    X, y = data
    X = np.where(np.abs(X) < 0.8, 0.0, X.round(1))
    target = y if kind == "Regressor" else np.digitize(y, [0.0, 0.8])
    make = getattr(spinney, f"GradientBoosting{kind}")
    for parameters in ({}, {"max_leaf_nodes": 8, "max_depth": None}, {"max_features": 2}):
        models = [
            make(n_estimators=8, random_state=0, n_jobs=n_jobs, **parameters).fit(form, target)
            for form in (X, sp.csr_array(X), sp.csc_matrix(X), spinney.Dataset(X), pd.DataFrame(X))
            for n_jobs in (1, 2)
        ]
        for model in models:
            names = hasattr(model, "feature_names_in_")
            rows = pd.DataFrame(X) if names else X
            np.testing.assert_array_equal(model.predict(rows), models[0].predict(X))
            np.testing.assert_array_equal(model.train_score_, models[0].train_score_)


@pytest.mark.parametrize("second_order", [False, True])
def test_threads_share_the_rows_of_large_tables(second_order):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 1000, (40_000, 4)).astype(float)
    y = X[:, 0] + X[:, 1] ** 2 / 500 + rng.normal(size=len(X))
    for kind, target in (("Regressor", y), ("Classifier", np.digitize(y, [700.0, 1400.0]))):
        shape = {"n_estimators": 2, "max_depth": None, "max_leaf_nodes": 6, "random_state": 0}
        make = partial(
            getattr(spinney, f"GradientBoosting{kind}"), **shape, second_order=second_order
        )
        one, several = (make(n_jobs=n_jobs).fit(X, target) for n_jobs in (1, 3))
        np.testing.assert_array_equal(one.predict(X), several.predict(X))
        np.testing.assert_array_equal(one.train_score_, several.train_score_)
        assert one.estimators_[1, -1].tree_.node_count == 11


def test_weights_are_copies(data):
    X, y = data
    weight = np.random.default_rng(1).integers(0, 4, N)
    for loss in ["squared_error", "absolute_error", "quantile", "huber"]:
        make = GradientBoostingRegressor(loss=loss, n_estimators=10, random_state=0)
        weighted = make.fit(X, y, sample_weight=weight).predict(X)
        copied = make.fit(np.repeat(X, weight, 0), np.repeat(y, weight)).predict(X)
        np.testing.assert_allclose(weighted, copied, atol=1e-12)
    labels = np.digitize(y, [0.0, 0.8])
    make = GradientBoostingClassifier(n_estimators=10, random_state=0)
    weighted = make.fit(X, labels, sample_weight=weight).predict_proba(X)
    copied = make.fit(np.repeat(X, weight, 0), np.repeat(labels, weight)).predict_proba(X)
    np.testing.assert_allclose(weighted, copied, atol=1e-12)


@pytest.mark.parametrize(
    ("loss", "deviance"),
    [
        ("poisson", mean_poisson_deviance),
        ("gamma", mean_gamma_deviance),
        ("tweedie", lambda y, p: mean_tweedie_deviance(y, p, power=1.3)),
    ],
)
def test_deviances_fall(data, loss, deviance):
    X, y = data
    target = np.exp(y) if loss == "gamma" else np.random.default_rng(0).poisson(np.exp(y))
    model = GradientBoostingRegressor(loss=loss, power=1.3, n_estimators=60, random_state=0)
    model.fit(X, target)
    assert np.all(np.diff(model.train_score_) < 0)
    constant = np.full(N, target.mean())
    assert deviance(target, model.predict(X)) < 0.5 * deviance(target, constant)
    with pytest.raises(ValueError, match=r"requires (strictly positive|non-negative) y"):
        model.fit(X, -target - 1.0)


def test_missing_values_and_categories(data):
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame.loc[::7, "a"] = np.nan
    frame["f"] = pd.Categorical(np.where(y > 0, "up", "down"))
    model = GradientBoostingRegressor(categorical_features=["f"], n_estimators=15, random_state=0)
    model.fit(frame, y)
    worse = GradientBoostingRegressor(n_estimators=15, random_state=0)
    worse.fit(frame.drop(columns="f"), y)
    assert model.train_score_[-1] < worse.train_score_[-1]
    # What the rounds have added to the training samples is what predictions add.
    loss = np.mean((y - model.predict(frame)) ** 2)
    np.testing.assert_allclose(loss, model.train_score_[-1], rtol=1e-12)
    loss = np.mean((y - worse.predict(frame.drop(columns="f"))) ** 2)
    np.testing.assert_allclose(loss, worse.train_score_[-1], rtol=1e-12)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber", "log_loss"])
def test_monotonic_constraints_hold(data, loss, sign):
    X, y = data
    parameters = {"n_estimators": 30, "random_state": 0, "monotonic_cst": [sign, 0, 0, 0, 0]}
    if loss == "log_loss":
        model = GradientBoostingClassifier(**parameters).fit(X, y > 0)
        answer = model.decision_function
    else:
        model = GradientBoostingRegressor(loss=loss, **parameters).fit(X, y)
        answer = model.predict
    grid = np.repeat(X[:40], 30, 0)
    grid[:, 0] = np.tile(np.linspace(-3, 3, 30), 40)
    steps = sign * np.diff(answer(grid).reshape(40, 30), axis=1)
    assert steps.min() >= 0.0
    assert steps.max() > 0.0


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_contributions_add_up(data, n_classes):
    X, y = data
    if n_classes:
        target = np.digitize(y, [0.0, 0.8][: n_classes - 1])
        model = GradientBoostingClassifier(n_estimators=10, random_state=0).fit(X, target)
        raw = model.decision_function(X)
    else:
        model = GradientBoostingRegressor(n_estimators=10, random_state=0).fit(X, y)
        raw = model.predict(X)
    values = model.shap_values(X)
    np.testing.assert_allclose(values.sum(axis=1) + model.expected_value_, raw, atol=1e-12)
    pairs = model.shap_values(X[:5], interactions=True)
    np.testing.assert_allclose(pairs.sum(axis=2), values[:5], atol=1e-12)
    thin = model.shap_values(sp.csr_array(X))
    parts = thin if isinstance(thin, list) else [thin]
    together = np.stack([part.toarray() for part in parts], axis=-1)
    np.testing.assert_allclose(together.reshape(values.shape), values, atol=1e-14)


@pytest.mark.parametrize("name", ["GradientBoostingRegressor", "HistGradientBoostingRegressor"])
def test_what_boosting_of_sklearn_lacks_is_told(data, name):
    X, y = data
    make = getattr(spinney, name)
    theirs = "scikit-learn's GradientBoostingRegressor does not"
    with pytest.raises(ValueError, match=f"{name} has loss='poisson', which {theirs} have"):
        make(loss="poisson").fit(X, np.exp(y)).to_sklearn()
    with pytest.raises(
        ValueError, match=f"{name} was fitted to missing values, which {theirs} take"
    ):
        make().fit(np.where(X > 1.0, np.nan, X), y).to_sklearn()


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_files_pickles_and_scikit_learn(data, n_classes, tmp_path):
    X, y = data
    if n_classes:
        target = np.digitize(y, [0.0, 0.8][: n_classes - 1])
        model = GradientBoostingClassifier(n_estimators=6, random_state=0, subsample=0.8)
    else:
        target, model = y, GradientBoostingRegressor(n_estimators=6, random_state=0)
    model.fit(X, target)
    model.save(tmp_path / "model")
    method = "predict_proba" if n_classes else "predict"
    for other in (spinney.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(getattr(other, method)(X), getattr(model, method)(X))
        np.testing.assert_array_equal(other.train_score_, model.train_score_)
        assert other.get_params() == model.get_params()
        assert type(other.init_) is type(model.init_)
        assert other.set_params(n_estimators=7, warm_start=True).fit(X, target).n_estimators_ == 7
    theirs = model.to_sklearn()
    found, expected = getattr(theirs, method)(X), getattr(model, method)(X)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("init", [None, "zero", "estimator"])
def test_models_of_scikit_learn_become_ours(data, n_classes, init):
    X, y = data
    if init == "estimator":
        init = LogisticRegression() if n_classes else Ridge()
    _, theirs = both("Classifier" if n_classes else "Regressor", init=init, n_estimators=6)
    theirs.fit(X, np.digitize(y, [0.0, 0.8][: n_classes - 1]) if n_classes else y)
    ours = spinney.from_sklearn(theirs)
    method = "predict_proba" if n_classes else "predict"
    found, expected = getattr(ours, method)(X), getattr(theirs, method)(X)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_array_equal(ours.train_score_, theirs.train_score_)
    assert ours.estimators_.shape == theirs.estimators_.shape
    again = ours.to_sklearn()
    np.testing.assert_allclose(getattr(again, method)(X), expected, rtol=1e-12)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_dependence_is_of_raw_predictions(data, n_classes):
    X, y = data
    target = np.digitize(y, [0.0, 0.8][: n_classes - 1]) if n_classes else y
    kind = GradientBoostingClassifier if n_classes else GradientBoostingRegressor
    model = kind(n_estimators=8, random_state=0).fit(X, target)
    found = partial_dependence(model, X, [1], kind="both", grid_resolution=5)
    answer = model.decision_function if n_classes else model.predict
    for i, value in enumerate(found["grid_values"][0]):
        rows = X.copy()
        rows[:, 1] = value
        raw = answer(rows).reshape(N, -1)
        np.testing.assert_allclose(found["individual"][:, :, i].T, raw, atol=1e-12)
    of_sklearn = sklearn.inspection.partial_dependence(
        model, X, [1], method="recursion", custom_values={1: found["grid_values"][0]}
    )
    start = model.init_.predict(X[:1]) if not n_classes else model._start[:, np.newaxis]
    np.testing.assert_allclose(found["average"], of_sklearn["average"] + start, atol=1e-12)
    told = str(model.explain(X[0]))
    assert "raw prediction" in told
    assert "the sum of" in told


def test_monitors_stop(data):
    X, y = data
    seen = []

    def monitor(i, model, known):
        seen.append((i, model.train_score_[i], len(model.estimators_), known["i"]))
        return i == 4

    model = GradientBoostingRegressor(n_estimators=50, random_state=0).fit(X, y, monitor=monitor)
    assert [(i, n, j) for i, _, n, j in seen] == [(i, i + 1, i) for i in range(5)]
    assert model.n_estimators_ == len(model.train_score_) == 5


def test_verbose_prints_the_table_of_scikit_learn(data, capsys):
    X, y = data
    ours, theirs = both("Regressor", n_estimators=30, subsample=0.7, verbose=1)
    ours.fit(X, y)
    own = capsys.readouterr().out
    theirs.fit(X, y)
    expected = capsys.readouterr().out

    def without_time(text):
        return [line.split()[:3] for line in text.splitlines()]

    assert without_time(own) == without_time(expected)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"loss": "hinge"},
            "The 'loss' parameter of GradientBoostingRegressor must be a str among",
        ),
        ({"learning_rate": -1}, r"'learning_rate' .* must be a float in the range \[0.0, inf\)"),
        ({"n_estimators": 0}, "'n_estimators' .* must be an int"),
        ({"subsample": 0.0}, r"'subsample' .* must be a float in the range \(0.0, 1.0\]"),
        ({"alpha": 1.0}, r"'alpha' .* must be a float in the range \(0.0, 1.0\)"),
        ({"loss": "quantile", "alpha": np.array(0.5)}, "'alpha' .* must be a float"),
        ({"power": 0.5}, r"'power' .* must be a float in the range \[1.0, inf\)"),
        ({"validation_fraction": 1.0}, "'validation_fraction' .* must be a float"),
        ({"n_iter_no_change": 0}, r"'n_iter_no_change' .* must be an int in the range \[1, inf\)"),
        ({"tol": -1e-3}, "'tol' .* must be a float"),
        ({"init": "best"}, "'init' .* must be a str among {'zero'}, None or an object"),
        ({"init": 5}, "'init' .* must be a str among {'zero'}, None or an object"),
        ({"warm_start": 2}, "'warm_start' .* must be a bool"),
        ({"max_depth": 0}, "'max_depth' .* must be an int"),
    ],
)
def test_illegal_parameters_are_told(data, parameters, message):
    X, y = data
    with pytest.raises(ValueError, match=message):
        GradientBoostingRegressor(**parameters).fit(X, y)


def test_illegal_targets_are_told(data):
    X, y = data
    with pytest.raises(ValueError, match="y should be a 1d array"):
        GradientBoostingRegressor().fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="y contains 1 class after sample_weight"):
        GradientBoostingClassifier().fit(X, y > 0, sample_weight=(y > 0).astype(float))
    with pytest.raises(NotFittedError):
        GradientBoostingClassifier().predict(X)
    with pytest.warns(FutureWarning, match="`criterion` is deprecated"):
        GradientBoostingRegressor(criterion="squared_error", n_estimators=2).fit(X, y)


@pytest.mark.pairwise
@pytest.mark.parametrize("kind", ["GradientBoosting", "HistGradientBoosting"])
@pytest.mark.parametrize("task", ["Classifier", "Regressor"])
@pytest.mark.parametrize("categorical", [None, ["c"]])
@pytest.mark.parametrize("form", ["whole", "view", "head"])
def test_early_stopping_takes_the_rows_of_a_data_set(kind, task, categorical, form):
    """Of a view too, and where only rows that are left out have a category."""
    rng = np.random.default_rng(0)
    n = 300
    X = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    X["c"] = pd.Series(np.arange(n) // 2 % 70).map(lambda number: f"{number:03}")
    y = X["a"].to_numpy() * X["b"].to_numpy() + rng.normal(size=n)
    X = X if categorical else X[["a", "b"]]
    y = y > 0 if task == "Classifier" else y
    rows = {"whole": slice(None), "view": rng.permutation(n)[:200], "head": slice(200)}[form]
    early = {"n_iter_no_change": 3} if kind == "GradientBoosting" else {"early_stopping": True}
    parameters = {"random_state": 0, "categorical_features": categorical, **early}

    expected, found = (
        getattr(spinney, kind + task)(**parameters, warm_start=True) for _ in range(2)
    )
    data_set = spinney.Dataset(X, categorical_features=categorical)[rows]
    for _ in range(2):
        expected.fit(X.iloc[rows], y[rows])
        found.fit(data_set, y[rows])
        assert len(found) == len(expected)
        np.testing.assert_array_equal(found.predict(X), expected.predict(X))
