"""Boosting by second derivatives, and groups of features that may interact."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from spinney.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from strategies import examples

LEAST_HESSIAN = 1e-3


def table(n, n_features, seed, *, missing=0.0):
    """Columns of many and of few values, some of them missing."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, n_features)), rng.integers(0, 4))
    X[:, ::3] = rng.normal(size=(n, len(range(0, n_features, 3))))
    X[rng.random(X.shape) < missing] = np.nan
    signal = np.nan_to_num(X[:, 0]) - np.nan_to_num(X[:, -1]) ** 2
    return X, signal + rng.normal(size=n)


def gain(g, h, left, l2):
    """What the rows `left` and the others gain over all together."""

    def term(rows):
        return g[rows].sum() ** 2 / (h[rows].sum() + l2)

    return term(left) + term(~left) - term(np.full(len(g), fill_value=True))


def best_gain(X, g, h, l2, min_leaf):
    """The most that any cut of any column gains, by trying all of them."""
    best = -np.inf
    for x in X.T:
        is_missing = np.isnan(x)
        for threshold in [*np.unique(x[~is_missing]), -np.inf]:
            for missing_left in {False, bool(is_missing.any())}:
                left = np.where(is_missing, missing_left, x <= threshold)
                sides = [left, ~left]
                if all(side.sum() >= min_leaf and h[side].sum() >= LEAST_HESSIAN for side in sides):
                    best = max(best, gain(g, h, left, l2))
    return best


def rows_of_nodes(tree, X):
    """Which rows reach each node."""
    return tree.decision_path(X).toarray().astype(bool)


def check_tree(tree, X, g, h, l2, min_leaf):
    """Check that no node has a better split, and that leaves are Newton steps."""
    reached = rows_of_nodes(tree, X)
    t = tree.tree_
    for node in range(t.node_count):
        rows = reached[:, node]
        of_node = (X[rows], g[rows], h[rows])
        if t.children_left[node] == -1:
            value = t.value[node, 0, 0]
            assert value == pytest.approx(g[rows].sum() / (h[rows].sum() + l2), abs=1e-9)
            if rows.sum() >= 2 * min_leaf and t.max_depth > tree.get_depth():
                assert best_gain(*of_node, l2, min_leaf) <= 1e-9
            continue
        ours = gain(g[rows], h[rows], reached[rows, t.children_left[node]], l2)
        assert ours >= best_gain(*of_node, l2, min_leaf) - 1e-9 * max(1.0, ours)


@given(
    n=st.integers(2, 60),
    n_features=st.integers(1, 4),
    seed=st.integers(0, 2**32 - 1),
    l2=st.sampled_from([0.0, 0.5, 10.0]),
    min_leaf=st.integers(1, 5),
    missing=st.sampled_from([0.0, 0.3]),
    loss=st.sampled_from(["squared_error", "log_loss"]),
)
def test_no_cut_gains_more(n, n_features, seed, l2, min_leaf, missing, loss):
    X, y = table(n, n_features, seed, missing=missing)
    options = {
        "second_order": True,
        "l2_regularization": l2,
        "n_estimators": 1,
        "learning_rate": 1.0,
        "min_samples_leaf": min_leaf,
        "random_state": 0,
    }
    if loss == "squared_error":
        model = GradientBoostingRegressor(**options).fit(X, y)
        g, h = y - y.mean(), np.ones(n)
    else:
        labels = y > np.median(y)
        labels[0] = not labels[1]
        model = GradientBoostingClassifier(**options).fit(X, labels)
        p = labels.mean()
        g, h = labels - p, np.full(n, p * (1 - p))
    check_tree(model.estimators_[0, 0], X, g, h, l2, min_leaf)


@pytest.mark.parametrize("kind", [GradientBoostingRegressor, GradientBoostingClassifier])
@pytest.mark.parametrize("max_leaf_nodes", [None, 12])
@examples(15)
@given(
    n=st.integers(2, 400),
    seed=st.integers(0, 2**32 - 1),
    l2=st.sampled_from([0.0, 1.0]),
    shape=st.sampled_from([(3, 1), (None, 2), (4, 7)]),
)
def test_storage_and_threads_do_not_show(kind, max_leaf_nodes, n, seed, l2, shape):
    X, y = table(n, 5, seed, missing=0.1)
    rng = np.random.default_rng(seed)
    X[rng.random(X.shape) < 0.5] = 0.0
    if kind is GradientBoostingClassifier:
        y = np.digitize(y, np.quantile(y, [0.3, 0.7]))
        y[:3] = [0, 1, 2][: len(y)]
    options = {
        "second_order": True,
        "l2_regularization": l2,
        "n_estimators": 4,
        "max_depth": shape[0],
        "min_samples_leaf": shape[1],
        "max_leaf_nodes": max_leaf_nodes,
        "max_features": 0.7,
        "random_state": 3,
    }
    expected = kind(**options).fit(X, y)
    ways = [sparse.csr_array(X), sparse.csc_matrix(X), np.asfortranarray(X)]
    for other in ways:
        for n_jobs in (1, 2):
            found = kind(**options, n_jobs=n_jobs).fit(other, y)
            np.testing.assert_array_equal(
                _raw(found, X), _raw(expected, X), err_msg=f"{type(other)} {n_jobs}"
            )


def _raw(model, X):
    is_classifier = hasattr(model, "predict_proba")
    return model.decision_function(X) if is_classifier else model.predict(X)


@pytest.mark.parametrize("max_features", [None, 0.5])
def test_sparse_columns_of_few_entries_split_nothing(max_features):
    """Columns of fewer entries than a leaf has rows are left out, and the trees stay the same."""
    rng = np.random.default_rng(5)
    # The first column has more categories than a column has bins, each in one row.
    n, n_entries, min_samples_leaf = 900, [290, 300, 299, 500, 20, 0], 300
    X = np.zeros((n, len(n_entries)))
    for column, count in enumerate(n_entries):
        rows = rng.permutation(n)[:count]
        X[rows, column] = np.arange(1, count + 1) if column == 0 else 1 + rng.random(count)
    y = X[:, 1] + 3 * (X[:, 2] != 0) + X[:, 3] + X[:, 4] + rng.normal(size=n)
    options = {
        "second_order": True,
        "n_estimators": 5,
        "min_samples_leaf": min_samples_leaf,
        "categorical_features": [0],
        "max_features": max_features,
        "random_state": 1,
    }
    expected = GradientBoostingRegressor(**options).fit(X, y)
    found = GradientBoostingRegressor(**options).fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    splits = {int(f) for tree in found.estimators_.ravel() for f in tree.tree_.feature if f >= 0}
    assert splits
    assert splits <= {1, 3}


@given(n=st.integers(2, 60), seed=st.integers(0, 2**32 - 1))
def test_whole_weights_are_copies(n, seed):
    X, y = table(n, 3, seed)
    counts = np.random.default_rng(seed).integers(0, 4, n)
    counts[0] = 1
    options = {"second_order": True, "n_estimators": 3, "init": "zero", "random_state": 0}
    weighted = GradientBoostingRegressor(**options).fit(X, y, sample_weight=counts)
    copies = np.repeat(np.arange(n), counts)
    copied = GradientBoostingRegressor(**options).fit(X[copies], y[copies])
    np.testing.assert_array_equal(weighted.predict(X), copied.predict(X))


def test_many_rows_are_searched_within_bins():
    X, y = table(4000, 3, 5)
    X = np.random.default_rng(1).normal(size=X.shape)
    y = np.sin(4 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0.1234)
    options = {"n_estimators": 5, "max_leaf_nodes": 31, "max_depth": None, "random_state": 0}
    first = GradientBoostingRegressor(**options).fit(X, y)
    second = GradientBoostingRegressor(**options, second_order=True).fit(X, y)
    np.testing.assert_allclose(second.predict(X), first.predict(X), rtol=0, atol=1e-9)
    for ours, theirs in zip(second.estimators_[:, 0], first.estimators_[:, 0], strict=True):
        np.testing.assert_array_equal(ours.tree_.threshold, theirs.tree_.threshold)


@pytest.mark.parametrize("with_missing", [False, True])
@pytest.mark.parametrize("n_classes", [None, 2, 3])
def test_trees_are_those_of_histograms_where_bins_are_values(n_classes, with_missing):
    X = np.random.default_rng(0).integers(0, 40, size=(3000, 6)).astype(float)
    y = np.sin(X[:, 0] / 6) + X[:, 1] / 30 * (X[:, 2] > 17)
    if with_missing:
        X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    same = {"l2_regularization": 0.7, "min_samples_leaf": 20, "max_leaf_nodes": 15}
    of_ours = {"n_estimators": 20, "second_order": True, "max_depth": None, "random_state": 0}
    of_theirs = {"max_iter": 20, "early_stopping": False}
    if n_classes is None:
        ours = GradientBoostingRegressor(**same, **of_ours).fit(X, y)
        theirs = HistGradientBoostingRegressor(**same, **of_theirs).fit(X, y)
    else:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
        ours = GradientBoostingClassifier(**same, **of_ours).fit(X, y)
        theirs = HistGradientBoostingClassifier(**same, **of_theirs).fit(X, y)
    a, b = _raw(ours, X), _raw(theirs, X)
    # Theirs adds up gradients in single precision, so some near ties part.
    assert np.quantile(np.abs(a - b), 0.95) < 1e-3


def test_categories_are_ordered_by_their_means():
    rng = np.random.default_rng(2)
    n = 600
    colour = rng.integers(0, 9, n)
    effect = rng.normal(size=9)
    X = pd.DataFrame({"colour": pd.Categorical(colour), "x": rng.normal(size=n)})
    y = effect[colour] + 0.01 * rng.normal(size=n)
    model = GradientBoostingRegressor(
        second_order=True,
        n_estimators=1,
        learning_rate=1.0,
        max_depth=1,
        categorical_features="from_dtype",
    ).fit(X, y)
    predicted = model.predict(X)
    low = np.unique(colour[predicted == predicted.min()])
    order = np.argsort([y[colour == c].mean() for c in range(9)])
    cuts = [y[np.isin(colour, order[:k])].size for k in range(1, 9)]
    gains = [gain(y - y.mean(), np.ones(n), np.isin(colour, order[:k]), 0.0) for k in range(1, 9)]
    assert set(low) == set(order[: 1 + int(np.argmax(gains))]), cuts


def test_many_categories_share_a_bin():
    rng = np.random.default_rng(3)
    codes = np.minimum(rng.geometric(0.004, 6000), 1000)
    X = pd.DataFrame({"id": pd.Categorical(codes)})
    y = (codes % 2).astype(float)
    model = GradientBoostingRegressor(
        second_order=True,
        max_depth=1,
        n_estimators=1,
        learning_rate=1.0,
        categorical_features="from_dtype",
    ).fit(X, y)
    frequent = pd.Series(codes).value_counts().index[:200]
    is_frequent = np.isin(codes, frequent)
    error = np.abs(model.predict(X) - y)[is_frequent]
    assert np.mean(error < 0.5) > 0.95


@pytest.mark.parametrize("second_order", [False, True])
@pytest.mark.parametrize(
    ("interaction_cst", "groups"),
    [
        ([[0, 1], [1, 2]], [{0, 1}, {1, 2}, {3, 4}]),
        ("pairwise", None),
        ("no_interactions", [{0}, {1}, {2}, {3}, {4}]),
    ],
)
def test_each_path_has_features_of_one_group(interaction_cst, groups, second_order):
    X, y = table(500, 5, 7)
    y = y + X[:, 1] * X[:, 2] + X[:, 3] * X[:, 0]
    model = GradientBoostingRegressor(
        n_estimators=15, max_depth=4, interaction_cst=interaction_cst, second_order=second_order
    ).fit(X, y)
    most = 2 if groups is None else None
    for tree in model.estimators_.ravel():
        paths = rows_of_nodes(tree, X)
        for path in np.unique(paths, axis=0):
            used = {f for f in tree.tree_.feature[path] if f >= 0}
            if most:
                assert len(used) <= most
            else:
                assert any(used <= group for group in groups)


def test_constraints_hold():
    X, y = table(800, 3, 11)
    model = GradientBoostingRegressor(
        second_order=True, monotonic_cst=[1, 0, -1], n_estimators=40, l2_regularization=1.0
    ).fit(X, y)
    grid = np.linspace(-3, 3, 60)
    for feature, sign in ((0, 1), (2, -1)):
        for row in X[:30]:
            rows = np.tile(row, (60, 1))
            rows[:, feature] = grid
            assert np.all(sign * np.diff(model.predict(rows)) >= -1e-12)


@pytest.mark.parametrize("loss", ["absolute_error", "huber", "quantile"])
def test_losses_without_second_derivatives_have_their_leaves(loss):
    X, y = table(300, 3, 1)
    first = GradientBoostingRegressor(loss=loss, n_estimators=5, random_state=0).fit(X, y)
    second = GradientBoostingRegressor(
        loss=loss, n_estimators=5, random_state=0, second_order=True
    ).fit(X, y)
    np.testing.assert_allclose(second.train_score_, first.train_score_, rtol=0.02)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"l2_regularization": 1.0}, "l2_regularization"),
        ({"second_order": True, "l2_regularization": -1.0}, "l2_regularization"),
        ({"second_order": 1}, "second_order"),
        ({"second_order": True, "min_weight_fraction_leaf": 0.1}, "min_weight_fraction_leaf"),
        ({"second_order": True, "feature_sampling": "active"}, "feature_sampling"),
        ({"interaction_cst": [[0]], "feature_sampling": "active"}, "feature_sampling"),
        ({"interaction_cst": "all"}, "interaction_cst"),
        ({"interaction_cst": [[5]]}, "interaction_cst"),
        ({"interaction_cst": [0, 1]}, "interaction_cst"),
    ],
)
def test_bad_parameters(parameters, message):
    X, y = table(20, 3, 0)
    with pytest.raises(ValueError, match=message):
        GradientBoostingRegressor(**parameters).fit(X, y)


def test_interactions_are_named_in_messages():
    X, y = table(20, 3, 0)
    with pytest.raises(ValueError, match=r"integer indices .* interaction_cst with \[7\]"):
        GradientBoostingRegressor(interaction_cst=[[0, 7]]).fit(X, y)


@pytest.mark.parametrize("second_order", [False, True])
def test_derivatives_that_overflow_are_an_error(second_order):
    X, y = table(200, 2, 0)
    model = GradientBoostingRegressor(
        loss="poisson", learning_rate=1e6, second_order=second_order, n_estimators=20
    )
    with pytest.raises(ValueError, match=r"of the loss must be finite|of the loss.*finite"):
        model.fit(X, np.abs(y))
    assert not hasattr(model, "forest_")
