"""Causal forests with an instrument: effects by loops, hidden confounders, averages, errors."""

import warnings

import numpy as np
import pytest

import spinney
from spinney.causal import CausalForest
from spinney.causal._bags import LittleBags, Units, draw_batch

N = 300
pytestmark = pytest.mark.filterwarnings(
    "ignore:.* of the samples have a propensity:UserWarning",
    "ignore:The instrument seems to move:UserWarning",
)


def make_data(n=N, seed=0):
    """Return features, treatments, outcomes and invitations; what moves both is hidden."""
    rng = np.random.default_rng(seed)
    X, hidden = rng.normal(size=(n, 3)), rng.normal(size=n)
    z = rng.integers(0, 2, n)
    t = (0.8 * hidden + 1.5 * z + rng.normal(size=n) > 0.75).astype(float)
    return X, t, 2.0 * hidden + (1.0 + (X[:, 0] > 0)) * t + 0.5 * rng.normal(size=n), z


def fit(X, t, y, z, n_estimators=40, **parameters):
    own = {"random_state": 0, "model_z": 0.5, **parameters}
    return CausalForest(n_estimators, **own).fit(X, t, y, instrument=z)


def test_effects_are_ratios_of_weighted_covariances():
    """By the leaves that queries share with the rows that fill them."""
    X, t, y, z = make_data()
    forest = fit(X, t, y, z)
    bags = LittleBags(Units(forest._groups), forest._seed, 4, N // 2, N // 4)
    seeds = forest.forest_.seeds
    filling = draw_batch(bags, 0, seeds).filling.list_rows(seeds)
    w, v, u = t - forest.expected_t_, y - forest.expected_y_, z - 0.5
    leaves, asked = forest.forest_.apply(X), forest.forest_.apply(X[:9])
    for query, effect in enumerate(forest.predict(X[:9])):
        alpha = np.zeros(N)
        for tree, rows in enumerate(filling):
            inside = rows[leaves[rows, tree] == asked[query, tree]]
            alpha[inside] += 1.0 / len(inside)
        alpha /= alpha.sum()
        u_, w_, v_ = (part - alpha @ part for part in (u, w, v))
        np.testing.assert_allclose(effect, (alpha @ (u_ * v_)) / (alpha @ (u_ * w_)), rtol=1e-7)


def test_a_treatment_is_its_own_instrument():
    X, t, y, _ = make_data()
    own = {"model_t": 0.4, "random_state": 0}
    plain = CausalForest(40, criterion="het", **own).fit(X, t, y)
    same = CausalForest(40, model_z=0.4, **own).fit(X, t, y, instrument=t)
    np.testing.assert_allclose(same.predict(X), plain.predict(X), rtol=1e-7)
    np.testing.assert_allclose(same.oob_prediction_, plain.oob_prediction_, rtol=1e-7)
    np.testing.assert_allclose(same.predict_and_var(X)[1], plain.predict_and_var(X)[1], rtol=1e-6)
    np.testing.assert_allclose(same.shap_values(X), plain.shap_values(X), rtol=1e-6, atol=1e-9)


def test_hidden_confounders():
    """The treated would have fared better anyway; the invitation was drawn."""
    X, t, y, z = make_data(2000)
    forest = fit(X, t, y, z, 200)
    found = forest.average_treatment_effect()
    # Those whom the invitation moves have the effects of all: 1.5 on average.
    assert abs(found.estimate - 1.5) < 3 * found.standard_error < 1.0
    biased = CausalForest(200, random_state=0).fit(X, t, y).average_treatment_effect()
    assert biased.estimate > 1.5 + 5 * biased.standard_error
    line = forest.best_linear_projection(X[:, 0] > 0)
    assert abs(line.coef[1] - 1.0) < 3 * line.standard_errors[1]
    assert forest.rank_average_treatment_effect(X[:, 0]).standard_error > 0
    values = forest.shap_values(X[:20])
    np.testing.assert_allclose(values.sum(axis=1) + forest.expected_value_, forest.predict(X[:20]))


def test_scores_by_definition():
    """Residuals by what is random of the invitation, and by what it changes the treatment."""
    X, t, y, z = make_data()
    forest = fit(X, t, y, z)
    tau, c = forest.oob_prediction_, forest._compliance
    left = y - forest.expected_y_ - tau * (t - forest.expected_t_)
    np.testing.assert_allclose(forest.scores(), tau + (z - 0.5) / 0.25 / c * left)
    # A twin of the forest, of treatments by invitations.
    assert 0.2 < np.median(c) < 0.7


def test_weak_instruments():
    """Scores are divided by what the instrument does."""
    X, t, y, z = make_data()
    strong = fit(X, t, y, z, 100, min_samples_leaf=20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        strong.scores()
    forest = fit(X, t, y, np.random.default_rng(1).integers(0, 2, N))
    with pytest.warns(UserWarning, match=r"seems to move .* of \d+\.\d % of the"):
        forest.average_treatment_effect()
    c = forest._compliance * np.sign(forest._compliance.mean())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forest.average_treatment_effect(subset=c > 0.02)


def test_files_and_groups(tmp_path):
    X, t, y, z = make_data()
    groups = np.arange(N) // 2
    forest = CausalForest(40, random_state=0).fit(X, t, y, instrument=z > 0, groups=groups)
    assert 0.3 < forest.expected_z_.mean() < 0.7
    forest.save(tmp_path / "model")
    again = spinney.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), forest.predict(X))
    assert again.average_treatment_effect() == forest.average_treatment_effect()
    plain = CausalForest(40, random_state=0).fit(X, t, y)
    assert plain.expected_z_ is None
    refitted = forest.fit(X, t, y)
    np.testing.assert_array_equal(refitted.predict(X), plain.predict(X))


def test_illegal_instruments():
    X, t, y, z = make_data()
    for instrument, message in (
        (np.ones(N), "instrument must vary"),
        (np.where(np.arange(N) == 3, np.nan, z), "instrument must be finite"),
        (z[:-1], "instrument must have a value for each of the 300 samples"),
        (["a"] * N, "instrument must hold numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            fit(X, t, y, instrument)
    with pytest.raises(ValueError, match="model_z must expect what is 0 or 1"):
        fit(X, t, y, z, model_z=1.5)
    with pytest.raises(ValueError, match="'model_z' parameter of CausalForest must be None"):
        CausalForest(8, model_z=0.5).fit(X, t, y)
    forest = fit(X, t, y, z + 0.5 * X[:, 1] ** 2, model_z=None)
    for ask, message in (
        (forest.average_treatment_effect, "need a binary instrument"),
        (
            lambda: forest.score(X, t, y),
            "score is for forests without an instrument. Take rank_average",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            ask()
    forest = fit(X, t, y, z)
    for ask, instead in (
        (lambda: forest.average_treatment_effect("treated"), "Take target='all'"),
        (forest.calibration, "Take rank_average_treatment_effect or best_linear_projection"),
    ):
        with pytest.raises(ValueError, match=f"is for forests without an instrument. {instead}"):
            ask()
