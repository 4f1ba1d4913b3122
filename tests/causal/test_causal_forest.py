"""Causal forests: moments and effects by loops, draws, intervals, estimates, arguments."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression, LogisticRegression

import spinney
from spinney.causal import CausalForest, _moments
from spinney.causal._bags import LittleBags, Units, draw_batch
from spinney.causal._estimates import _find_area
from spinney.causal._moments import find_variances, remove_noise

# Samples are few, so that forests take some treatments for nearly certain.
pytestmark = pytest.mark.filterwarnings("ignore:.* of the samples have a propensity:UserWarning")
N = 120


def make_data(n=N, seed=0, effect=2.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    T = (rng.random(n) < 1 / (1 + np.exp(-X[:, 1]))).astype(float)
    y = X[:, 1] + effect * (X[:, 0] > 0) * T + 0.5 * rng.normal(size=n)
    return X, T, y


def fit(X, T, y, n_estimators=20, **parameters):
    more = {
        name: parameters.pop(name) for name in ("sample_weight", "groups") if name in parameters
    }
    return CausalForest(n_estimators, random_state=0, **parameters).fit(X, T, y, **more)


def list_filling(forest, n_units, max_samples=0.5):
    """Return the rows that fill each tree, drawn again."""
    n_draws = int(max_samples * n_units)
    bags = LittleBags(
        Units(forest._groups),
        forest._seed,
        forest.subforest_size,
        n_draws,
        round(n_draws / 2) if forest.honest else 0,
    )
    batch = draw_batch(bags, 0, forest.forest_.seeds)
    return batch.growing.list_rows(forest.forest_.seeds), batch.filling.list_rows(
        forest.forest_.seeds
    )


@pytest.mark.parametrize("honest", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_effects_are_regressions_weighted_by_shared_leaves(honest, weighted):
    """Moments by loops over leaves; effects by `lstsq` with the weights of the forest."""
    X, T, y = make_data()
    s = np.random.default_rng(1).random(N) + 0.1 if weighted else np.ones(N)
    forest = fit(X, T, y, honest=honest, sample_weight=s if weighted else None)
    w, v = T - forest.expected_t_, y - forest.expected_y_
    query = make_data(15, seed=5)[0]
    leaves, asked = forest.forest_.apply(X), forest.forest_.apply(query)
    growing, filling = list_filling(forest, N)
    alphas = np.zeros((len(query), N))
    for tree, rows in enumerate(filling):
        if honest:
            assert not set(rows) & set(growing[tree])
        found = forest.forest_.tree(tree)
        for leaf in np.flatnonzero(found.children_left < 0):
            inside = rows[leaves[rows, tree] == leaf]
            assert len(inside) == found.n_node_samples[leaf] > 0
            moments = np.array([s, s * w, s * v, s * w * v, s * w * w])[:, inside].sum(axis=1)
            np.testing.assert_allclose(
                found.value[leaf].ravel(), moments / len(inside), rtol=1e-9, atol=1e-12
            )
            alphas[np.ix_(asked[:, tree] == leaf, inside)] += s[inside] / len(inside)
    for effect, alpha in zip(forest.predict(query), alphas, strict=True):
        root = np.sqrt(alpha)
        design = np.column_stack([np.ones(N), w]) * root[:, None]
        np.testing.assert_allclose(
            effect, np.linalg.lstsq(design, v * root, rcond=None)[0][1], rtol=1e-7
        )


def test_effects_out_of_bag_are_of_the_trees_without_a_row():
    """Both halves of such a tree lack the row."""
    X, T, y = make_data()
    forest = fit(X, T, y, 40)
    parts = list_filling(forest, N)
    unseen = np.ones((40, N), dtype=bool)
    for part in parts:
        for tree, rows in enumerate(part):
            unseen[tree, rows] = False
    of_trees = forest.forest_.predict_trees(X, 1)
    means = np.array([of_trees[row, unseen[:, row]].mean(axis=0) for row in range(N)])
    s, w, v, wv, ww = means.T
    np.testing.assert_allclose(forest.oob_predict(), (wv * s - w * v) / (ww * s - w * w))
    # The trees of a bag share a half of the rows. Those of the next bag have the other half.
    of_bags = ~unseen.reshape(10, 4, N).all(axis=1)
    assert np.all(of_bags.sum(axis=1) <= N // 2)
    assert not np.any(of_bags[::2] & of_bags[1::2])


def test_variances_by_loops():
    """The square of what is expected, less what bags with disjoint samples agree in."""
    X, T, y = make_data()
    forest = fit(X, T, y, 24, subforest_size=4)
    query = X[:6]
    of_trees = forest.forest_.predict_trees(query, 1)
    effects, variances = forest.predict_and_var(query)
    for trees, effect, variance in zip(of_trees, effects, variances, strict=True):
        s, w, v, _, ww = trees.mean(axis=0)
        mu, den = (v - effect * w) / s, ww * s - w * w
        rho = np.array(
            [
                (s * (b[3] - b[4] * effect - b[1] * mu) - w * (b[2] - b[1] * effect - b[0] * mu))
                / den
                for b in trees
            ]
        )
        first, second = rho.reshape(3, 2, 4).mean(axis=2).T
        agreement, size = np.mean(first * second), np.mean([first**2, second**2])
        error = np.sqrt((size**2 + agreement**2) / 3)
        expected = remove_noise(np.array([-agreement]), np.array([error]))
        np.testing.assert_allclose(variance, expected[0], rtol=1e-9)
    low, high = forest.predict_interval(query, alpha=0.1)
    np.testing.assert_allclose((high - low) / 2, 1.6448536 * np.sqrt(variances), rtol=1e-6)
    np.testing.assert_allclose(forest.effect(query, T0=1, T1=3), 2 * effects)
    np.testing.assert_allclose(forest.effect_interval(query, T0=1, T1=0, alpha=0.1)[1], -low)
    np.testing.assert_array_equal(forest.predict(query, interval=True, alpha=0.1)[1], low)
    np.testing.assert_allclose(forest.prediction_stderr(query) ** 2, variances)


def test_a_bag_without_a_partner_is_not_of_the_variance():
    X, T, y = make_data()
    forest = fit(X, T, y, 20, subforest_size=4)
    of_bags = forest.forest_.predict_trees(X[:6], 1, bag_size=4)
    of_trees = forest.forest_.predict_trees(X[:6], 1).reshape(6, 5, 4, 5)
    np.testing.assert_allclose(of_bags, of_trees.mean(axis=2), rtol=1e-12)
    variances = forest.predict_and_var(X[:6])[1]
    assert np.all(variances > 0)
    # Effects are of all trees, and the fifth bag has no partner.
    np.testing.assert_allclose(find_variances(of_bags), variances)
    others = of_bags + 0.0
    others[:, :4] = np.roll(others[:, :4], 2, axis=1)
    np.testing.assert_allclose(find_variances(others), variances)


def test_variances_are_right_on_average(monkeypatch):
    """For any function of a half: over all data sets of six coins, and all halves of each."""
    monkeypatch.setattr(_moments, "remove_noise", lambda difference, error: difference)
    halves = list(combinations(range(6), 3))
    # The other half of one that has row 0 is the one that comes as late in the list.
    order = [place for first in range(10) for place in (first, 19 - first)]
    effects, variances, by_halves = [], [], []
    for coins in product((-1.0, 1.0), repeat=6):
        x = np.array(coins)
        # Rows act in pairs and in threes, too, as they do if some choose splits for others.
        values = [x[[*half]].sum() ** 2 + x[[*half]].sum() + x[[*half]].prod() for half in halves]
        values = np.array(values)[order]
        moments = np.zeros((1, 20, 5))
        # Slopes of regressions in which treatments have mean 0 and variance 1.
        moments[0, :, 0] = moments[0, :, 4] = 1.0
        moments[0, :, 3] = values
        effects.append(values.mean())
        variances.append(find_variances(moments)[0])
        by_halves.append(values.var())
    np.testing.assert_allclose(np.mean(variances), np.var(effects))
    # What trees of halves vary by is more.
    assert np.mean(by_halves) > 1.5 * np.var(effects)


def test_reported_errors_are_true_ones():
    """On many data sets of a constant effect."""
    query = np.random.default_rng(0).random((40, 3))
    effects, variances = [], []
    for seed in range(40):
        rng = np.random.default_rng([1, seed])
        X, T = rng.random((150, 3)), rng.integers(0, 2, 150)
        forest = CausalForest(
            200, subforest_size=5, model_t=0.5, model_y=0.5, random_state=seed
        ).fit(X, T, T + rng.normal(size=150))
        for numbers, found in zip((effects, variances), forest.predict_and_var(query), strict=True):
            numbers.append(found)
    ratio = np.sqrt(np.mean(variances) / np.mean(np.var(effects, axis=0, ddof=1)))
    assert 0.9 < ratio < 1.25
    covered = np.mean(np.abs(np.subtract(effects, 1)) < 1.645 * np.sqrt(variances))
    assert 0.85 < covered < 0.95


def test_noise_is_removed_whatever_its_size():
    """The quotient of a density and a distribution function that both vanish is a number."""
    found = remove_noise(np.array([-1.0, 1.0, 0.0]), np.array([5e-4, 4e-7, 0.0]))
    assert np.isfinite(found).all()
    assert 0 < found[0] < 1e-6
    np.testing.assert_allclose(found[1:], [1.0, 0.0])


@pytest.mark.parametrize("more", [{}, {"sample_weight": np.arange(N) % 3}])
def test_threads_and_groups_of_one_do_not_show(more):
    X, T, y = make_data()
    one = fit(X, T, y, **more)
    for other in (
        fit(X, T, y, n_jobs=3, **more),
        fit(X, T, y, groups=[f"g{i}" for i in reversed(range(N))], **more),
        fit(sp.csc_array(X), T, y, **more),
        fit(spinney.Dataset(X), T, y, **more),
    ):
        np.testing.assert_array_equal(one.predict(X), other.predict(X))
        np.testing.assert_array_equal(one.oob_prediction_, other.oob_prediction_)
        np.testing.assert_array_equal(one.scores(), other.scores())
    assert one.average_treatment_effect() == other.average_treatment_effect()


def test_batches_of_draws_do_not_show(monkeypatch):
    X, T, y = make_data()
    one = fit(X, T, y)
    for module in ("_growth._DRAWS_AT_ONCE", "_centring._ROWS_AT_ONCE"):
        monkeypatch.setattr(f"spinney.causal.{module}", 3 * N)
    other = fit(X, T, y)
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-9)
    np.testing.assert_allclose(one.oob_prediction_, other.oob_prediction_, rtol=1e-9)


def test_groups_are_drawn_as_a_whole():
    """No tree has a part of a group; ten copies make standard errors those of one."""
    X, T, y = make_data(60)
    copies = np.repeat(np.arange(60), 10)
    forest = fit(X[copies], T[copies], y[copies], 40, groups=copies)
    for part in list_filling(forest, 60):
        for rows in part:
            assert (np.bincount(copies[rows], minlength=60) % 10 == 0).all()
    plain = fit(X, T, y, 40, min_samples_leaf=1)
    errors = [model.average_treatment_effect("overlap").standard_error for model in (forest, plain)]
    assert 0.7 < errors[0] / errors[1] < 1.4


def test_rescaled_and_labelled_treatments():
    """Two labels are 0 and 1; an effect per unit is smaller for larger units."""
    X, T, y = make_data()
    expected = fit(X, T, y).predict(X)
    for same in (T.astype(bool), np.where(T > 0, "yes", "no"), T.astype(object), T.tolist()):
        np.testing.assert_array_equal(fit(X, same, y).predict(X), expected)
    assert fit(X, np.where(T > 0, "yes", "no"), y).labels_.tolist() == ["no", "yes"]
    np.testing.assert_allclose(fit(X, T * 4, y).predict(X), expected / 4, rtol=1e-9)
    np.testing.assert_allclose(fit(X, T, y * 4 + 8).predict(X), expected * 4, rtol=1e-6)


def test_known_and_fitted_expectations():
    X, T, y = make_data()
    by_number = fit(X, T, y, model_y=0.5, model_t=0.25)
    by_array = fit(X, T, y, model_y=np.full(N, 0.5), model_t=[0.25] * N)
    np.testing.assert_array_equal(by_number.predict(X), by_array.predict(X))
    fitted = fit(X, T, y, model_y=LinearRegression(), model_t=LogisticRegression(), cv=4)
    assert np.corrcoef(fitted.expected_t_, X[:, 1])[0, 1] > 0.9
    groups = np.arange(N) // 4
    fitted = fit(X, T, y, model_y=LinearRegression(), groups=groups, sample_weight=np.ones(N))
    assert np.isfinite(fitted.expected_y_).all()
    assert fit(X, T, y).expected_t_.min() >= 0.0


def test_random_experiment():
    """With a known propensity of one half, estimates are those of the differences of means."""
    rng = np.random.default_rng(3)
    X, T = rng.normal(size=(400, 3)), rng.integers(0, 2, 400)
    y = 3 * T + rng.normal(size=400)
    forest = fit(X, T, y, 100, model_t=0.5)
    difference = y[T == 1].mean() - y[T == 0].mean()
    for target in ("all", "treated", "control", "overlap"):
        found = forest.average_treatment_effect(target)
        assert abs(found.estimate - difference) < 2 * found.standard_error
        assert 0.07 < found.standard_error < 0.13
        low, high = found.interval()
        assert low < 3 < high
    assert forest.best_linear_projection().coef[0] == pytest.approx(
        forest.average_treatment_effect().estimate
    )
    priorities = rng.random(400)
    for target in ("AUTOC", "QINI"):
        found = forest.rank_average_treatment_effect(priorities, target)
        assert abs(found.estimate) < 3 * found.standard_error


@pytest.mark.parametrize("criterion", ["r_loss", "het"])
@pytest.mark.parametrize("factor", [2.0**-1000, 2.0**-60, 2.0**12, 2.0**60, 2.0**1000])
def test_the_scale_of_weights_does_not_show(criterion, factor):
    X, T, y = make_data(300)
    s = np.random.default_rng(2).integers(1, 4, len(y)).astype(float)
    first, second = (
        fit(X, T, y, criterion=criterion, sample_weight=weights) for weights in (s, s * factor)
    )
    np.testing.assert_allclose(second.oob_prediction_, first.oob_prediction_, rtol=1e-9)
    estimates = [forest.average_treatment_effect() for forest in (first, second)]
    np.testing.assert_allclose(*estimates, rtol=1e-9)


@pytest.mark.parametrize(("name", "factor"), [("T", 1e300), ("T", 1e-300), ("y", 1e160)])
def test_units_beyond_computation(name, factor):
    treatments, outcomes = (T * factor, Y) if name == "T" else (T, Y * factor)
    with pytest.raises(ValueError, match=f"^{name} must have a largest magnitude from 1e-50"):
        fit(X, treatments, outcomes)


def test_priorities_that_are_all_the_same_gain_nothing():
    found = fit(X, T, Y).rank_average_treatment_effect(np.ones(N))
    assert found == (0.0, 0.0)


def test_effects_that_differ_are_found():
    X, T, y = make_data(800, effect=4.0)
    forest = fit(X, T, y, 100)
    assert np.argmax(forest.feature_importances_) == 0
    assert forest.calibration().p_values[1] < 1e-6
    found = forest.rank_average_treatment_effect(X[:, 0])
    assert found.estimate > 3 * found.standard_error
    line = forest.best_linear_projection(X[:, :2])
    assert line.p_values[1] < 1e-3
    high, low = (
        forest.average_treatment_effect(subset=side) for side in (X[:, 0] > 0, X[:, 0] < 0)
    )
    assert abs(high.estimate - 4) < 4 * high.standard_error
    assert abs(low.estimate) < 4 * low.standard_error
    mask = np.flatnonzero(X[:, 0] > 0)
    assert forest.average_treatment_effect(subset=mask) == high


def test_area_of_targeting_by_loops():
    """Ties share the mean of their scores, and a row of weight k is k rows."""
    rng = np.random.default_rng(0)
    scores, priorities, k = rng.normal(size=12), rng.integers(0, 5, 12), rng.integers(1, 4, 12)
    for target in ("AUTOC", "QINI"):
        rows = np.repeat(np.arange(12), k)
        s, p = scores[rows], priorities[rows]
        means = np.array([s[p == one].mean() for one in p])[np.argsort(-p, kind="stable")]
        curve = [means[: m + 1].mean() - s.mean() for m in range(len(s))]
        share = [1.0 if target == "AUTOC" else (m + 1) / len(s) for m in range(len(s))]
        expected = np.mean(np.array(curve) * share)
        copied = _find_area(s, p, np.ones(len(s)), target)
        np.testing.assert_allclose(copied, expected)


def test_nothing_to_find():
    """Of constant effects, intervals of 90 % cover about as often, rather more with few trees."""
    covered = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, T = rng.random((300, 4)), rng.integers(0, 2, 300)
        y = T + rng.normal(size=300)
        low, high = fit(X, T, y, 200, model_t=0.5).predict_interval(X[:40], alpha=0.1)
        covered.append(np.mean((low < 1) & (high > 1)))
    assert np.mean(covered) > 0.85


def test_amounts_of_a_treatment():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    T = X[:, 0] + rng.normal(size=400)
    y = X[:, 0] + 2 * T + rng.normal(size=400)
    forest = fit(X, T, y, 100)
    found = forest.average_treatment_effect()
    assert abs(found.estimate - 2) < 4 * found.standard_error
    with pytest.raises(ValueError, match="needs a binary treatment"):
        forest.average_treatment_effect("treated")


X, T, Y = make_data()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"T": np.zeros(N)}, "T must have samples with and without"),
        ({"T": np.where(np.arange(N) == 3, np.nan, T)}, "T must be finite"),
        ({"y": np.where(np.arange(N) == 3, np.nan, Y)}, "y must be finite"),
        ({"T": T[:-1]}, "T must have a value for each of the 120 samples"),
        ({"y": Y[:-1]}, "y must have a value for each of the 120 samples"),
        ({"T": np.array(list("abc") * 40)}, "Got 3 labels"),
        ({"T": [None, *(["a", "b"] * 60)[1:]]}, "1 missing values"),
        ({"y": ["a"] * N}, "y must hold numbers"),
        ({"y": np.arange(N).astype("M8[D]")}, "y must hold numbers"),
        ({"T": pd.Series(T > 0, dtype="boolean").mask(np.arange(N) < 2)}, "T must be known"),
        ({"T": np.array(["9", "10", "11"])[np.arange(N) % 3]}, "two labels"),
        ({"groups": np.ones((N, 2))}, "groups must have one value"),
        ({"groups": [1, 2]}, "groups must have a value for each"),
        ({"groups": [1] * N}, "must be at least four groups. Got 1"),
        ({"groups": [None, *(["a", "b"] * 60)[1:]]}, "groups must be known.*1 missing"),
        ({"groups": [pd.NA, *(["a", "b"] * 60)[1:]]}, "groups must be known.*1 missing"),
        ({"groups": [np.nan, *range(1, N)]}, "groups must be known.*1 missing"),
        ({"groups": np.arange(N) % 4, "model_y": LinearRegression()}, "cv must be at most the 4"),
        ({"T": np.array(["2026-01-01", "2026-01-02"] * 60, dtype="M8[D]")}, "T must be numbers"),
        ({"T": T + 0j}, "T must hold real numbers"),
        ({"sample_weight": -np.ones(N)}, "sample_weight must not be negative"),
        ({"sample_weight": np.zeros(N)}, "sample_weight must be positive"),
        ({"model_t": 2.0}, r"propensity in \[0, 1\]"),
        ({"model_t": [0.5]}, "model_t must have a value for each"),
        ({"model_y": "mean"}, "model_y must be None, a finite number"),
        ({"model_y": LinearRegression}, "model_y must be None, a finite number"),
        ({"model_t": np.nan}, "model_t must be None, a finite number"),
        ({"model_t": True}, "model_t must be None, a finite number"),
        ({"model_t": T}, "All treatments are as expected"),
        ({"n_estimators": 7}, r"n_estimators.*\[8, inf\)"),
        ({"subforest_size": 0}, "subforest_size"),
        ({"max_samples": 0.7}, "max_samples"),
        ({"max_samples": 61}, "must be 2 to half of the 120 samples"),
        ({"honest": 1}, "honest"),
        ({"honest_fraction": 1.0}, "honest_fraction"),
        ({"max_features": "all"}, "max_features"),
        ({"cv": 1}, "cv"),
    ],
    ids=lambda case: next(iter(case)) if isinstance(case, dict) else "",
)
def test_illegal_arguments(arguments, message):
    """The message names the argument, and a fitted estimator stays what it was."""
    with pytest.raises((TypeError, ValueError), match=message):
        fit(**{"X": X, "T": T, "y": Y, **arguments})


def test_illegal_questions():
    forest = fit(X, T, Y)
    for ask, message in (
        (lambda: forest.predict_interval(X, alpha=1.0), "alpha must be"),
        (lambda: forest.predict(X, interval=2), "interval must be a bool"),
        (lambda: forest.average_treatment_effect("some"), "target must be one of"),
        (lambda: forest.average_treatment_effect(subset=[N]), "subset must be"),
        (lambda: forest.average_treatment_effect(subset=[]), "subset"),
        (lambda: forest.rank_average_treatment_effect(X[:, 0], "auc"), "target must be"),
        (lambda: forest.rank_average_treatment_effect(X[:5, 0]), "priorities must have"),
        (lambda: forest.rank_average_treatment_effect(X[:, 0], subset=[3]), "at least 2 samples"),
        (lambda: forest.best_linear_projection(X[:5]), "A must have a row"),
        (lambda: forest.best_linear_projection(["a"] * N), "A must be an array-like of numbers"),
        (lambda: forest.average_treatment_effect().interval(2), "alpha must be"),
        (lambda: forest.effect(X, T0="none"), "T0 must be a finite number"),
        (lambda: forest.effect_interval(X, T1=np.nan), "T1 must be a finite number"),
        (lambda: forest.best_linear_projection(np.ones(N)), "linearly independent"),
    ):
        with pytest.raises(ValueError, match=message):
            ask()
    with pytest.raises(TypeError, match="cannot be fitted to a Dataset"):
        fit(spinney.Dataset(X), T, Y, model_y=LinearRegression())


def test_lack_of_overlap_is_told():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    T = (X[:, 0] + 0.2 * rng.normal(size=200) > 0).astype(int)
    with pytest.warns(UserWarning, match="have a propensity below 0.05 or above 0.95"):
        forest = fit(X, T, X[:, 0])
    with pytest.raises(ValueError, match="have no overlap"):
        forest.average_treatment_effect()
    assert np.isfinite(forest.average_treatment_effect("overlap").estimate)
