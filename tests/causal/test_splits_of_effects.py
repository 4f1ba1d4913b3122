"""Splits of causal trees against brute force in fractions; least shares of rows in children."""

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
import scipy.sparse as sp

import spinney
from spinney._fit.draws import Draws
from spinney._fit.task import Task
from spinney._fit.tree_samples import place_rows
from spinney._spinney import Columns, list_tree_seeds
from spinney.causal import CausalForest
from spinney.causal._growth import Centred

CRITERIA = ("r_loss", "het")


def grow(criterion, X, w, y, s=None, **parameters):
    """Return a tree that is grown on all rows."""
    params = CausalForest(max_features=None, criterion=criterion)._make_tree_params(X.shape[1])
    params |= {"min_samples_leaf": 1, "alpha": 0.0, "max_features": None, **parameters}
    targets, weights = Centred(w, y, s).make_target(criterion)
    seeds = list_tree_seeds(0, 0, 1)
    rows = place_rows(seeds, [np.arange(len(w), dtype=np.uint32)])
    draws = Draws("given", len(w), targets.shape[1], None, weights, None, given=rows)
    task = Task(np.ascontiguousarray(targets), None, params, "CausalForest", 0)
    forest, _, _ = task.grow_forest(Columns(X, None, 1), draws, 0, 1, None)
    return forest


def list_labels(rows, w, y, s):
    """Return the labels of the rows of a node; None if treatments do not vary."""
    total = sum(s[i] for i in rows)
    mean_w, mean_y = (sum(s[i] * v[i] for i in rows) / total for v in (w, y))
    spread = sum(s[i] * (w[i] - mean_w) ** 2 for i in rows)
    if spread == 0:
        return None
    effect = sum(s[i] * (w[i] - mean_w) * (y[i] - mean_y) for i in rows) / spread
    return {i: (w[i] - mean_w) * (y[i] - mean_y - effect * (w[i] - mean_w)) for i in rows}


def score(criterion, sides, w, y, s, labels):
    """Return by how much the loss of a node falls."""
    if criterion == "het":
        return sum(
            sum(s[i] * labels[i] for i in side) ** 2 / sum(s[i] for i in side) for side in sides
        )
    return sum(
        sum(s[i] * w[i] * y[i] for i in side) ** 2 / sum(s[i] * w[i] ** 2 for i in side)
        for side in sides
    )


def list_cuts(X, rows):
    """Yield all ways to divide rows by one feature; missing values go to either side."""
    for column in X.T:
        missing = [i for i in rows if np.isnan(column[i])]
        known = sorted(set(column[rows]) - {v for v in column[rows] if np.isnan(v)})
        for value in known:
            left = [i for i in rows if column[i] <= value]
            right = [i for i in rows if column[i] > value]
            yield left, right + missing
            if missing:
                yield left + missing, right


def check_tree(forest, criterion, X, w, y, s, least, alpha):
    """Check each node: its split is a best one, and a leaf has none."""
    tree, leaves = forest.tree(0), forest.apply(X)[:, 0]
    w, y, s = ([Fraction(float(v)) for v in values] for values in (w, y, s))
    below = [{node} for node in range(tree.node_count)]
    for node in reversed(range(tree.node_count)):
        for child in (tree.children_left[node], tree.children_right[node]):
            below[node] |= below[child] if child >= 0 else set()
    n_splits = 0
    for node in range(tree.node_count):
        rows = [i for i in range(len(w)) if leaves[i] in below[node]]
        labels = list_labels(rows, w, y, s)
        fewest = max(least, ceil(alpha * len(rows)))
        scores = [
            score(criterion, sides, w, y, s, labels)
            for sides in list_cuts(X, rows)
            if min(map(len, sides)) >= fewest and labels is not None
        ]
        best = max(scores, default=None)
        if tree.children_left[node] < 0:
            is_small = best is None or len(rows) < 2
            effects = {y[i] / w[i] for i in rows}
            assert is_small or len(effects) == 1 or best < 1e-12, (node, rows)
            continue
        n_splits += 1
        left = [i for i in rows if leaves[i] in below[tree.children_left[node]]]
        sides = (left, sorted(set(rows) - set(left)))
        assert min(map(len, sides)) >= fewest
        found = score(criterion, sides, w, y, s, labels)
        assert found >= best * (1 - Fraction(1, 10**8)), (node, float(found), float(best))
    return n_splits


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("seed", range(8))
def test_splits_by_brute_force(criterion, seed):
    """Of numbers with ties and gaps, with weights, and least rows of both kinds."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 31))
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 4, n), rng.integers(0, 9, n)])
    X[rng.random(n) < 0.2 * (seed % 2), 2] = np.nan
    # Centred treatments of which none is negligible.
    w = rng.choice([-0.5, 0.5, 0.25], n) + 0.01 * rng.normal(size=n)
    y = w * (X[:, 0] > 0) + rng.normal(size=n)
    s = rng.integers(1, 4, n).astype(float) if seed % 3 else None
    least, alpha = [(1, 0.0), (2, 0.0), (1, 0.2), (3, 0.3)][seed % 4]
    forest = grow(criterion, X, w, y, s, min_samples_leaf=least, alpha=alpha)
    weights = np.ones(n) if s is None else s
    assert check_tree(forest, criterion, X, w, y, weights, least, alpha) > 0


@pytest.mark.parametrize("criterion", CRITERIA)
def test_weights_are_copies(criterion):
    """A row of weight k is k rows: the same splits, bit for bit."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 4)).round(1)
    w, k = rng.normal(size=80), rng.integers(1, 5, 80)
    y = X[:, 0] * w + rng.normal(size=80)
    copies = np.repeat(np.arange(80), k)
    # So that numbers of rows decide nothing.
    weighted = grow(criterion, X, w, y, k.astype(float), max_depth=4).tree(0)
    copied = grow(criterion, X[copies], w[copies], y[copies], max_depth=4).tree(0)
    assert weighted.node_count == copied.node_count > 10
    np.testing.assert_array_equal(weighted.feature, copied.feature)
    np.testing.assert_array_equal(weighted.threshold, copied.threshold)


def test_vanishing_treatments_have_no_part_in_splits():
    """Outcomes are divided by treatments: those of next to none must not decide."""
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(90, 3)), rng.choice([-0.5, 0.5], 90)
    y = w * (X[:, 0] > 0) + rng.normal(size=90)
    w[:20] *= np.repeat([0.0, 1e-9, 1e-200], [10, 5, 5])
    some, all_rows = (
        grow("r_loss", X[rows], w[rows], y[rows], max_depth=3).tree(0)
        for rows in (slice(20, None), slice(None))
    )
    np.testing.assert_array_equal(some.feature[:1], all_rows.feature[:1])
    assert all_rows.node_count > 5


def make_data(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).round(1)
    T = (rng.random(n) < 0.5).astype(float)
    return X, T, X[:, 1] + 2.0 * (X[:, 0] > 0) * T + rng.normal(size=n)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_storages_threads_and_order_of_growth_do_not_show(criterion):
    X, T, y = make_data()
    X[np.abs(X) < 0.7] = 0.0

    def fit(x, **parameters):
        forest = CausalForest(20, criterion=criterion, model_t=0.5, random_state=0, **parameters)
        return forest.fit(x, T, y)

    one = fit(X)
    for other in (
        fit(sp.csc_array(X)),
        fit(X, n_jobs=3),
        fit(spinney.Dataset(X)),
        fit(np.asfortranarray(X)),
    ):
        np.testing.assert_array_equal(one.forest_.predict(X), other.forest_.predict(X))
    few = fit(X, max_leaf_nodes=4)
    assert max(tree.n_leaves for tree in map(few.forest_.tree, range(20))) == 4
    assert few.feature_importances_.sum() == pytest.approx(1.0)


def test_labels_do_not_know_a_common_effect():
    """With `y + c W` the effect is larger by c, and the splits are the same."""
    X, T, y = make_data()
    own = {"criterion": "het", "model_y": 0.0, "model_t": 0.5, "random_state": 0}
    one, other = (CausalForest(40, **own).fit(X, T, y + c * (T - 0.5)) for c in (0.0, 3.0))
    np.testing.assert_allclose(one.predict(X) + 3.0, other.predict(X), rtol=1e-6)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_effects_of_categories(criterion):
    """Categories of a kind are told from the others, whatever their codes."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 8, 600)
    T = rng.integers(0, 2, 600)
    y = kind + 3.0 * np.isin(kind, [1, 4, 6]) * T + 0.3 * rng.normal(size=600)
    X = kind[:, np.newaxis].astype(float)
    forest = CausalForest(
        100, criterion=criterion, categorical_features=[0], model_t=0.5, random_state=0
    ).fit(X, T, y)
    effects = forest.predict(np.arange(8.0)[:, np.newaxis])
    assert effects[[1, 4, 6]].min() > 2.0 > 1.0 > effects[[0, 2, 3, 5, 7]].max()


@pytest.mark.parametrize("criterion", CRITERIA)
def test_children_have_a_share_of_their_parent(criterion):
    """Of the rows that choose the splits, which the tree before it is filled counts."""
    X, T, y = make_data()
    for alpha in (0.0, 0.1, 0.4):
        tree = grow(criterion, X, T - 0.5, y, alpha=alpha).tree(0)
        inner = np.flatnonzero(tree.children_left >= 0)
        n = tree.n_node_samples
        children = np.minimum(n[tree.children_left[inner]], n[tree.children_right[inner]])
        assert (children >= np.ceil(alpha * n[inner])).all()
    shares = (children / n[inner]).min()
    assert shares >= 0.4
    for illegal in (0.5, -0.1, "much", None):
        with pytest.raises(ValueError, match=r"'alpha' parameter of CausalForest must be a float"):
            CausalForest(8, alpha=illegal).fit(X, T, y)
    with pytest.raises(ValueError, match=r"must be a str among \{'r_loss', 'het'\}"):
        CausalForest(8, criterion="squared_error").fit(X, T, y)
    with pytest.raises(ValueError, match="'criterion' parameter of RandomForestRegressor"):
        spinney.RandomForestRegressor(4, criterion="het").fit(X, y)
