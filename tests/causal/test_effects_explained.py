"""What is said of effects: contributions, dependence, scores, searches, pictures; and workers."""

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV

import spinney
from spinney.causal import CausalForest
from spinney.causal._moments import find_effects
from spinney.inspection import partial_dependence
from spinney.plotting import (
    plot_effect_intervals,
    plot_importance,
    plot_partial_dependence,
    plot_targeting,
)

N = 240
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 4))
T = (rng.random(N) < 1 / (1 + np.exp(-X[:, 1]))).astype(float)
Y = X[:, 1] + 3.0 * (X[:, 0] > 0) * T + 0.5 * rng.normal(size=N)
pytestmark = pytest.mark.filterwarnings("ignore:.* of the samples have a propensity:UserWarning")


def fit(x=X, t=T, y=Y, **parameters):
    parameters = {"n_estimators": 40, "random_state": 0, **parameters}
    return CausalForest(**parameters).fit(x, t, y)


@pytest.fixture(scope="module")
def forest():
    return fit()


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def effect_if_known(forest, row, known):
    """Return the effect by definition, but with the denominator of the whole sample.

    Moments are means over the trees; in each, a split on an unknown feature is followed to both
    sides by weight.
    """
    of_trees = []
    for number in range(len(forest.forest_)):
        tree = forest.forest_.tree(number)

        def walk(node, tree=tree):
            left, right = tree.children_left[node], tree.children_right[node]
            if left < 0:
                return tree.value[node].ravel()
            if tree.feature[node] in known:
                return walk(left if row[tree.feature[node]] <= tree.threshold[node] else right)
            weight = tree.weighted_n_node_samples
            return (weight[left] * walk(left) + weight[right] * walk(right)) / weight[node]

        of_trees.append(walk(0))
    return np.mean(of_trees, axis=0)


@pytest.mark.parametrize("weighted", [False, True])
def test_contributions_by_definition(weighted):
    """Shapley values of the equations of the regression, over all orders of three features."""
    weights = np.arange(N) % 3 + 0.5 if weighted else None
    forest = CausalForest(40, random_state=0, min_samples_leaf=10)
    forest.fit(X[:, :3], T, Y, sample_weight=weights)
    row = X[5, :3]
    subsets = [(), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
    moments = {known: effect_if_known(forest, row, known) for known in subsets}
    s, w, y, wy, ww = moments[()]
    a = (wy * s - w * y) / (ww * s - w * w)
    b = (y - a * w) / s
    assert forest.expected_value_ == pytest.approx(a)

    def game(known):
        s, w, y, wy, ww = moments[known]
        own_s, own_w, _, _, own_ww = moments[(0, 1, 2)]
        slope, level = wy - a * ww - b * w, y - a * w - b * s
        return (own_s * slope - own_w * level) / (own_ww * own_s - own_w**2)

    shares = {0: 1 / 3, 1: 1 / 6, 2: 1 / 3}
    expected = [
        sum(
            shares[len(known)] * (game(tuple(sorted((*known, feature)))) - game(known))
            for known in subsets
            if feature not in known
        )
        for feature in range(3)
    ]
    found = forest.shap_values(row[np.newaxis])[0]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert a + sum(expected) == pytest.approx(forest.predict(row[np.newaxis])[0])


def test_contributions_add_up(forest):
    """In all containers, pairs too, and for shap."""
    values = forest.shap_values(X[:20])
    np.testing.assert_allclose(values.sum(axis=1) + forest.expected_value_, forest.predict(X[:20]))
    assert np.argmax(np.abs(values).mean(axis=0)) == 0
    pairs = forest.shap_values(X[:20], interactions=True)
    np.testing.assert_allclose(pairs.sum(axis=2), values, atol=1e-12)
    as_sparse = forest.shap_values(sp.csr_array(X[:20]))
    np.testing.assert_allclose(as_sparse.toarray(), values, atol=1e-12)
    assert as_sparse.has_canonical_format
    np.testing.assert_array_equal(forest.shap_values(spinney.Dataset(X[:20])), values)


def test_one_effect_in_words():
    frame = pd.DataFrame(X, columns=list("abcd"))
    forest = fit(frame)
    text = str(forest.explain(frame.iloc[0]))
    low, high = (bound[0] for bound in forest.predict_interval(frame[:1]))
    assert f"95 % interval {low:.3g} to {high:.3g}" in text
    assert "effect" in text
    with pytest.raises(ValueError, match="'Y' parameter of explain must be None"):
        forest.explain(frame.iloc[0], Y=frame)


def test_dependence_is_the_effect_of_mean_moments(forest):
    """A row of unknown features but one; individual curves are predictions."""
    found = partial_dependence(forest, X, [0], kind="both", grid_resolution=4)
    (grid,) = found["grid_values"]
    moments = np.array([effect_if_known(forest, [value], {0}) for value in grid])
    np.testing.assert_allclose(found["average"][0], find_effects(moments), rtol=1e-9)
    changed = X.copy()
    changed[:, 0] = grid[2]
    np.testing.assert_array_equal(found["individual"][0, :, 2], forest.predict(changed))
    assert plot_partial_dependence(forest, X, 0).get_ylabel() == "effect"


def test_score_is_the_loss_of_centred_outcomes(forest):
    """By a forest that is fitted to the samples for what it expects of them."""
    new = np.random.default_rng(1)
    x = new.normal(size=(150, 4))
    t = new.integers(0, 2, 150)
    y = 3.0 * (x[:, 0] > 0) * t + 0.5 * new.normal(size=150)
    centring = CausalForest(40, random_state=forest._seed).fit(x, t, y)
    w, v = t - centring.expected_t_, y - centring.expected_y_
    losses = [np.mean((v - effect * w) ** 2) for effect in (forest.predict(x), w @ v / (w @ w))]
    assert forest.score(x, t, y) == pytest.approx(1 - losses[0] / losses[1])
    assert forest.score(x, t, y) > 0.1
    assert fit(max_depth=1, max_features=None).score(x, t, y) > fit(y=X[:, 1]).score(x, t, y)
    # Weights are copies, but for draws, which a known expectation does not need.
    known = fit(model_y=0.0, model_t=0.5)
    k = np.arange(150) % 3
    copies = np.repeat(np.arange(150), k)
    weighted = known.score(x, t, y, sample_weight=k)
    assert weighted == pytest.approx(known.score(x[copies], t[copies], y[copies]))


def test_treatments_and_outcomes_as_one_target():
    """As searches pass them on: two columns, a frame with labels, a structured array."""
    expected = fit().predict(X)
    labels = np.where(T > 0, "yes", "no")
    pairs = {
        "columns": np.column_stack([T, Y]),
        "frame": pd.DataFrame({"treated": labels, "outcome": Y}),
        "structured": np.array(list(zip(T > 0, Y, strict=True)), dtype=[("t", bool), ("y", float)]),
    }
    for name, pair in pairs.items():
        forest = CausalForest(40, random_state=0).fit(X, pair)
        np.testing.assert_array_equal(forest.predict(X), expected, err_msg=name)
        assert np.isfinite(forest.score(X, pair))
    # Labels mean what they meant in `fit`.
    forest = CausalForest(40, random_state=0).fit(X, pairs["frame"])
    for labels, message in (
        ("yes", "with and without.* Got 1 for all"),
        ("maybe", "it had in fit"),
    ):
        with pytest.raises(ValueError, match=f"T must have .*{message}"):
            forest.score(X, np.array([labels] * N), Y)
    for wrong in (T, np.column_stack([T, Y, Y])):
        with pytest.raises(ValueError, match="y must be the outcomes"):
            CausalForest(8).fit(X, wrong)


@pytest.mark.parametrize("model_t", [None, 0.5, LinearRegression()], ids=["ours", "known", "other"])
def test_searches_find_the_larger_score(model_t):
    t = rng.integers(0, 2, N)
    y = X[:, 1] + 4.0 * (X[:, 0] > 0) * t
    forest = CausalForest(40, model_t=model_t, random_state=0, max_features=None)
    search = GridSearchCV(forest, {"min_samples_leaf": [5, 29]}, cv=2)
    search.fit(X, np.column_stack([t, y]))
    assert search.best_params_ == {"min_samples_leaf": 5}
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_pictures(forest):
    effects, low, high = forest.predict(X[:30], interval=True, alpha=0.1)
    ax = plot_effect_intervals(forest, X[:30], alpha=0.1)
    assert ax.get_title() == f"{np.mean(low > 0):.1%} above 0, {np.mean(high < 0):.1%} below"
    bars, points = ax.collections
    segments = np.array(bars.get_segments())
    order = np.argsort(effects)
    np.testing.assert_allclose(segments[order, :, 1], np.column_stack([low, high])[order])
    np.testing.assert_array_equal(segments[order, 0, 0], np.arange(30))
    np.testing.assert_allclose(points.get_offsets()[:, 1], effects)
    _, ax = plt.subplots()
    age = pd.Series(X[:30, 0], name="age")
    assert plot_effect_intervals(forest, X[:30], by=age, ax=ax) is ax
    assert ax.get_xlabel() == "age"
    np.testing.assert_allclose(ax.collections[1].get_offsets()[:, 0], age)
    ax = plot_importance(forest, ax=plt.subplots()[1])
    assert len(ax.patches) == 4


def test_curve_of_targeting(forest):
    """By means of scores; it ends at 0, and the band is that of halves."""
    ax = plot_targeting(forest, X[:, 0], ax=plt.subplots()[1])
    shares, gains = ax.lines[1].get_data()
    scores = forest.scores()[np.argsort(-X[:, 0])]
    for place in (0, 49, 98):
        n = shares[place] * N
        below, above = int(np.floor(n)), int(np.ceil(n))
        ends = [scores[:m].mean() - scores.mean() for m in (below, above)]
        assert min(ends) - 1e-12 <= gains[place] <= max(ends) + 1e-12
    assert gains[-1] == pytest.approx(0.0, abs=1e-12)
    assert gains[:40].min() > 0.5
    band = ax.collections[0].get_paths()[0].vertices
    assert band[:, 1].max() > gains.max()
    # Of half of the samples.
    mask = X[:, 1] > 0
    ax = plot_targeting(forest, X[:, 0], subset=mask, ax=plt.subplots()[1])
    assert not np.allclose(ax.lines[1].get_ydata(), gains)


def test_illegal_arguments(forest):
    for draw in (plot_effect_intervals, plot_targeting):
        with pytest.raises(ValueError, match="must be a CausalForest"):
            draw(spinney.RandomForestRegressor(), X)
        with pytest.raises(ValueError, match=r"alpha must be a float"):
            draw(forest, X[:, 0] if draw is plot_targeting else X, alpha=0.0)
    with pytest.raises(ValueError, match="by must have a number for each of the 240 samples"):
        plot_effect_intervals(forest, X, by=X)
    with pytest.raises(ValueError, match="priorities must have"):
        plot_targeting(forest, X[:3, 0])
    with pytest.raises(ValueError, match="'monotonic_cst' parameter of CausalForest must be None"):
        fit(monotonic_cst=[1, 0, 0, 0])
    with pytest.raises(ValueError, match="model_t must have a value for each of the 20 samples"):
        fit(model_t=np.full(N, 0.5)).score(X[:20], T[:20], Y[:20])
