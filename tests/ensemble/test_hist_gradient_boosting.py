"""The classes with the names of scikit-learn's histogram boosting."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
from scipy import sparse
from sklearn.datasets import make_classification, make_regression
from sklearn.metrics import log_loss, make_scorer, mean_absolute_error, r2_score

import spinney
from spinney import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

CLASSES = [HistGradientBoostingClassifier, HistGradientBoostingRegressor]


def make_data(kind, n=400):
    if kind is HistGradientBoostingClassifier:
        return make_classification(n, 6, n_informative=4, n_classes=3, random_state=0)
    return make_regression(n, 6, noise=5.0, random_state=0)


@pytest.mark.parametrize("kind", CLASSES)
def test_names_and_defaults_are_those_of_scikit_learn(kind):
    theirs = getattr(sklearn.ensemble, kind.__name__)
    ours = kind().get_params()
    assert {name: ours[name] for name in theirs().get_params()} == theirs().get_params()
    X, y = make_data(kind)
    fitted, of_theirs = kind().fit(X, y), theirs().fit(X, y)
    public = {name for name in dir(of_theirs) if not name.startswith("_")}
    assert public <= set(dir(fitted))
    assert isinstance(fitted, theirs)


@pytest.mark.parametrize("kind", CLASSES)
def test_early_stopping_leaves_out_the_samples_of_scikit_learn(kind):
    X, y = make_data(kind)
    X = np.round(X, 1)
    theirs = getattr(sklearn.ensemble, kind.__name__)
    options = {"early_stopping": True, "random_state": 3, "max_iter": 300}
    ours, others = kind(**options).fit(X, y), theirs(**options).fit(X, y)
    for name in ("train_score_", "validation_score_"):
        a, b = getattr(ours, name), getattr(others, name)
        assert len(a) == ours.n_iter_ + 1
        # The same samples: the first scores are of a constant, and the next ones of trees that are
        # equal but for ties.
        np.testing.assert_allclose(a[0], b[0], rtol=1e-12)
        np.testing.assert_allclose(a[1], b[1], rtol=0.01)


@pytest.mark.pairwise
@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("scoring", ["loss", None, "named", "scorer"])
@pytest.mark.parametrize("validation_fraction", [0.2, 50, None])
def test_rounds_end_when_scores_do_not_rise(kind, scoring, validation_fraction):
    X, y = make_data(kind)
    is_classifier = kind is HistGradientBoostingClassifier
    scoring = {
        "named": "accuracy" if is_classifier else "neg_mean_absolute_error",
        "scorer": make_scorer(mean_absolute_error, greater_is_better=False),
    }.get(scoring, scoring)
    model = kind(
        early_stopping=True,
        scoring=scoring,
        validation_fraction=validation_fraction,
        n_iter_no_change=3,
        tol=0.01,
        max_iter=200,
        random_state=0,
    ).fit(X, y)
    scores = model.train_score_ if validation_fraction is None else model.validation_score_
    assert (len(model.validation_score_) == 0) == (validation_fraction is None)
    assert len(scores) == model.n_iter_ + 1
    if model.n_iter_ < 200:
        assert scores[-3:].max() <= scores[-4] + 0.01
    ends = [i for i in range(4, len(scores)) if scores[i - 3 : i].max() <= scores[i - 4] + 0.01]
    assert not ends


def test_given_samples_end_the_rounds():
    X, y = make_data(HistGradientBoostingRegressor)
    model = HistGradientBoostingRegressor(early_stopping=True, max_iter=300)
    model.fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    assert model.n_iter_ < 300
    with pytest.raises(ValueError, match="early_stopping is False"):
        HistGradientBoostingRegressor(early_stopping=False).fit(X, y, X_val=X, y_val=y)


def test_many_samples_stop_early_by_themselves():
    X = np.random.default_rng(0).normal(size=(10_001, 2))
    y = X[:, 0] > 0
    model = HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=3)
    assert model.fit(X, y).do_early_stopping_
    assert not model.fit(X[1:], y[1:]).do_early_stopping_


def test_it_is_boosting_by_second_derivatives():
    X, y = make_data(HistGradientBoostingRegressor)
    ours = HistGradientBoostingRegressor(max_bins=None, random_state=0, l2_regularization=1.0)
    same = GradientBoostingRegressor(
        second_order=True,
        l2_regularization=1.0,
        max_depth=None,
        max_leaf_nodes=31,
        min_samples_leaf=20,
        random_state=0,
    )
    np.testing.assert_array_equal(ours.fit(X, y).predict(X), same.fit(X, y).predict(X))


@pytest.mark.parametrize("max_bins", [3, 16, 255])
def test_cuts_are_between_bins(max_bins):
    X = np.random.default_rng(0).normal(size=(2000, 1))
    y = np.sin(5 * X[:, 0])
    model = HistGradientBoostingRegressor(max_bins=max_bins, max_iter=30).fit(X, y)
    thresholds = {
        t for tree in model.estimators_.ravel() for t in tree.tree_.threshold if t != -2.0
    }
    parts = {tuple(X[:, 0] <= t) for t in thresholds}
    assert len(parts) <= max_bins - 1
    sizes = np.diff([0, *sorted(map(sum, parts)), 2000])
    assert max_bins > 16 or sizes.min() >= 2000 // max_bins - 1


def test_bins_have_equal_weight():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 2)), rng.normal(size=600)
    weight = rng.integers(0, 4, 600)
    copies = np.repeat(np.arange(600), weight)
    options = {"max_bins": 20, "min_samples_leaf": 1, "max_iter": 10, "random_state": 0}
    weighted = HistGradientBoostingRegressor(**options).fit(X, y, sample_weight=weight)
    copied = HistGradientBoostingRegressor(**options).fit(X[copies], y[copies])
    np.testing.assert_allclose(weighted.predict(X), copied.predict(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", CLASSES)
def test_sparse_files_and_frames(kind, tmp_path):
    X, y = make_data(kind)
    X[np.abs(X) < 0.7] = 0.0
    model = kind(max_iter=10, random_state=0, max_features=0.5).fit(X, y)
    other = kind(max_iter=10, random_state=0, max_features=0.5).fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    model.save(tmp_path / "model.spinney")
    loaded = spinney.load(tmp_path / "model.spinney")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.train_score_, model.train_score_)
    frame = pd.DataFrame(X).assign(kind=pd.Categorical(np.arange(len(y)) % 5)).rename(columns=str)
    mask = kind(max_iter=2).fit(frame, y).is_categorical_
    assert mask.tolist() == [False] * 6 + [True]


@pytest.mark.parametrize("kind", CLASSES)
def test_scikit_learn_gets_exact_boosting(kind):
    X, y = make_data(kind)
    X = X.astype(np.float32)
    model = kind(max_iter=7, random_state=0).fit(X, y)
    theirs = model.to_sklearn()
    assert type(theirs).__name__ == kind.__name__.removeprefix("Hist")
    np.testing.assert_allclose(theirs.predict(X), model.predict(X), rtol=1e-12)


def test_weights_of_classes():
    X, y = make_data(HistGradientBoostingClassifier)
    weights = {0: 3.0, 1: 1.0, 2: 0.5}
    by_class = HistGradientBoostingClassifier(max_iter=5, class_weight=weights, random_state=0).fit(
        X, y
    )
    by_sample = HistGradientBoostingClassifier(max_iter=5, random_state=0)
    by_sample.fit(X, y, sample_weight=[weights[label] for label in y])
    np.testing.assert_array_equal(by_class.predict_proba(X), by_sample.predict_proba(X))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_bins": 256}, "max_bins"),
        ({"max_bins": 1}, "max_bins"),
        ({"max_iter": 0}, "max_iter"),
        ({"early_stopping": "yes"}, "early_stopping"),
        ({"scoring": 3}, "scoring"),
        ({"validation_fraction": 1.0}, "validation_fraction"),
        ({"n_iter_no_change": None}, "n_iter_no_change"),
        ({"loss": "quantile"}, "quantile"),
        ({"loss": "huber"}, "loss"),
        ({"quantile": 2.0}, "quantile"),
        ({"monotonic_cst": {"a": 1}}, "monotonic_cst"),
    ],
)
def test_bad_parameters(parameters, message):
    X, y = make_data(HistGradientBoostingRegressor, 60)
    with pytest.raises((ValueError, TypeError), match=message):
        HistGradientBoostingRegressor(**parameters).fit(X, y)


def test_another_rate_is_for_later_rounds():
    """As in scikit-learn's class, which keeps what a round adds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = X[:, 0] + rng.normal(size=120)
    models = [
        kind(max_iter=10, warm_start=True, min_samples_leaf=5, random_state=0).fit(X, y)
        for kind in (
            spinney.HistGradientBoostingRegressor,
            sklearn.ensemble.HistGradientBoostingRegressor,
        )
    ]
    before = models[0].predict(X)
    for model in models:
        model.set_params(learning_rate=0.01)
    np.testing.assert_array_equal(models[0].predict(X), before)
    np.testing.assert_array_equal(models[0].to_sklearn().predict(X.astype("f4")).shape, (120,))
    own, theirs = (model.set_params(max_iter=12).fit(X, y).predict(X) for model in models)
    np.testing.assert_allclose(own, theirs, atol=1e-8)
    assert 0.0 < np.abs(own - before).max() < 0.05
    with pytest.raises(ValueError, match=r"'learning_rate' .* range \(0.0, inf\)"):
        models[0].set_params(learning_rate=0.0).fit(X, y)
    with pytest.raises(ValueError, match="'scoring' parameter of HistGradientBoostingRegressor"):
        spinney.HistGradientBoostingRegressor(scoring="nope").fit(X, y)


@pytest.mark.parametrize(
    "name", ["HistGradientBoostingClassifier", "HistGradientBoostingRegressor"]
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scorers_get_the_predictions_of_each_round(name, n_classes):
    """Those that all trees so far would make, though new trees alone are added up."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = X[:, 0] + X[:, 1] * X[:, 2]
    is_classifier = name.endswith("Classifier")
    y = np.digitize(y, [0.0, 1.0][: n_classes - 1]) if is_classifier else y
    train, val = slice(0, 100), slice(100, None)
    scoring = "neg_log_loss" if is_classifier else "r2"
    model = getattr(spinney, name)(
        max_iter=4, early_stopping=True, scoring=scoring, min_samples_leaf=5, warm_start=True
    )
    for max_iter in (4, 7):
        model.set_params(max_iter=max_iter)
        model.fit(X[train], y[train], X_val=X[val], y_val=y[val])
    for rows, found in ((train, model.train_score_), (val, model.validation_score_)):
        if is_classifier:
            expected = [-log_loss(y[rows], p) for p in model.staged_predict_proba(X[rows])]
        else:
            expected = [r2_score(y[rows], p) for p in model.staged_predict(X[rows])]
        np.testing.assert_allclose(found[1:], expected, rtol=1e-12)
    assert "_known" not in vars(model)
