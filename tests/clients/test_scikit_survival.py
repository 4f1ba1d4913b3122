"""Survival models beside scikit-survival's, and its functions with ours.

`make test-clients` installs it; without it these tests are skipped.
"""

import numpy as np
import pytest

import spinney.survival
from spinney.survival import (
    GradientBoostingSurvival,
    RandomSurvivalForest,
    StepFunction,
    SurvivalTree,
    concordance_index,
    kaplan_meier_estimator,
)

sksurv = pytest.importorskip("sksurv")


def make_data(seed, n_samples=200):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 4)).astype(np.float32)
    times, ends = rng.exponential(np.exp(X[:, 0])), rng.uniform(0, 5, n_samples)
    y = np.empty(n_samples, dtype=[("event", "?"), ("time", "<f8")])
    y["event"], y["time"] = times <= ends, np.ceil(8 * np.minimum(times, ends)) / 8
    return X, y


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("params", [{}, {"max_depth": 3}, {"min_samples_leaf": 20}])
def test_trees_have_the_same_curves(seed, params):
    from sksurv.tree import SurvivalTree as Theirs

    X, y = make_data(seed)
    ours, theirs = (kind(random_state=0, **params).fit(X, y) for kind in (SurvivalTree, Theirs))
    # A leaf is known by its curve.
    found = ours.predict_survival_function(X, return_array=True)
    expected = theirs.predict_survival_function(X, return_array=True)
    same = np.isclose(found, expected, atol=1e-9).all(axis=1)
    # Of cuts that are equally good each takes another one.
    assert same.mean() > 0.9
    np.testing.assert_array_equal(ours.unique_times_, theirs.unique_times_)
    np.testing.assert_allclose(ours.predict(X)[same], theirs.predict(X)[same], rtol=1e-9)
    hazards = ours.predict_cumulative_hazard_function(X, return_array=True)
    expected = theirs.predict_cumulative_hazard_function(X, return_array=True)
    np.testing.assert_allclose(hazards[same], expected[same], atol=1e-9)


def test_forests_are_as_good():
    from sksurv.ensemble import RandomSurvivalForest as Theirs

    X, y = make_data(0, 600)
    scores = [
        kind(100, random_state=seed).fit(X[:400], y[:400]).score(X[400:], y[400:])
        for kind in (RandomSurvivalForest, Theirs)
        for seed in (0, 1)
    ]
    assert min(scores[:2]) > max(scores[2:]) - 0.02


@pytest.mark.parametrize("decimals", [1, 8])
@pytest.mark.parametrize("subsample", [1.0, 0.5])
def test_boosting_has_its_trees(decimals, subsample):
    """Also with times that are tied, and with samples that each round draws."""
    from sksurv.ensemble import GradientBoostingSurvivalAnalysis as Theirs

    X, y = make_data(0, 300)
    y["time"] = np.round(y["time"], decimals)
    settings = {"n_estimators": 20, "max_depth": 2, "subsample": subsample, "random_state": 0}
    ours, theirs = (kind(**settings).fit(X, y) for kind in (GradientBoostingSurvival, Theirs))
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        ours.predict_survival_function(X, return_array=True),
        theirs.predict_survival_function(X, return_array=True),
        atol=1e-9,
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("decimals", [0, 1, 8])
def test_concordance(seed, decimals):
    from sksurv.metrics import concordance_index_censored

    rng = np.random.default_rng(seed)
    events = rng.random(120) < 0.6
    times, risks = (np.round(rng.exponential(2, 120), decimals) for _ in range(2))
    expected = concordance_index_censored(events, times, risks)
    found = concordance_index(events, times, risks)
    assert found[1:] == expected[1:]
    assert found.cindex == pytest.approx(expected[0], rel=1e-12)


def test_kaplan_meier_and_step_functions():
    from sksurv.functions import StepFunction as Theirs
    from sksurv.nonparametric import kaplan_meier_estimator as theirs

    _, y = make_data(3)
    for found, expected in zip(
        kaplan_meier_estimator(y["event"], y["time"]),
        theirs(y["event"], y["time"]),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    x, values = np.array([1.0, 2.0, 5.0]), np.array([0.9, 0.5, 0.2])
    for settings in ({}, {"a": 2.0, "b": 1.0}, {"domain": (None, 7)}):
        one, other = StepFunction(x, values, **settings), Theirs(x, values, **settings)
        assert one.domain == other.domain
        at = [1.0, 1.5, 2.0, 4.9, 5.0]
        np.testing.assert_array_equal(one(at), other(at))


def test_its_scores_take_our_curves():
    from sksurv.metrics import cumulative_dynamic_auc, integrated_brier_score

    X, y = make_data(1, 400)
    forest = RandomSurvivalForest(50, random_state=0).fit(X[:300], y[:300])
    times = np.array([0.5, 1.0, 1.5])
    curves = forest.predict_survival_function(X[300:], return_array=True, times=times)
    assert 0 < integrated_brier_score(y[:300], y[300:], curves, times) < 0.25
    functions = forest.predict_survival_function(X[300:])
    again = np.array([[function(time) for time in times] for function in functions])
    np.testing.assert_array_equal(again, curves)
    hazards = forest.predict_cumulative_hazard_function(X[300:], return_array=True, times=times)
    auc, _ = cumulative_dynamic_auc(y[:300], y[300:], hazards, times)
    assert np.all(auc > 0.6)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("decimals", [0, 1, 8])
def test_scores(seed, decimals):
    from sksurv import metrics

    rng = np.random.default_rng(seed)
    x = rng.normal(size=240)
    times, ends = 5 * rng.exponential(np.exp(-x)), rng.uniform(0, 12, 240)
    y = np.empty(240, dtype=[("event", "?"), ("time", "<f8")])
    y["event"] = times <= ends
    y["time"] = np.ceil(np.minimum(times, ends) * 10**decimals) / 10**decimals
    train, test = y[:120], y[120:]
    pairs = [(part["event"], part["time"]) for part in (train, test)]
    at = np.linspace(max(test["time"].min(), 0.1), 5.5, 7)
    curves = np.exp(-np.outer(np.exp(x[120:]), at) / 5)
    risks = np.round(x[120:] + rng.normal(size=120), 1)
    for name, estimate in (
        ("brier_score", curves),
        ("integrated_brier_score", curves),
        ("cumulative_dynamic_auc", risks),
        ("cumulative_dynamic_auc", 1 - curves),
    ):
        found = getattr(spinney.survival, name)(*pairs, estimate, at)
        expected = getattr(metrics, name)(train, test, estimate, at)
        if name == "integrated_brier_score":
            found, expected = [found], [expected]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
    found = spinney.survival.concordance_index_ipcw(*pairs, risks, tau=6)
    assert found.cindex == pytest.approx(
        metrics.concordance_index_ipcw(train, test, risks, tau=6)[0], rel=1e-12
    )
