"""How boosting by second derivatives orders categories."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse

from spinney.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from strategies import examples

# What is added to the sum of second derivatives of a category.
SMOOTHING = 10.0
KINDS = [GradientBoostingRegressor, GradientBoostingClassifier]


def table(n, n_categories, seed):
    """Codes whose effect depends on the sign of a number beside them."""
    rng = np.random.default_rng(seed)
    code = rng.integers(0, n_categories, n)
    x = np.round(rng.normal(size=n), 1)
    effect = rng.normal(size=n_categories)
    y = effect[code] * np.where(x > 0, 1.0, 0.3) + 0.3 * x + 0.2 * rng.normal(size=n)
    return np.column_stack([code.astype(float), x]), y


def grow(X, g, w, depth, places_of):
    """Return what a tree predicts, by trying all cuts. Places are of the rows of a node."""
    value = np.full(len(g), (w * g).sum() / w.sum())
    if depth == 0 or len(g) < 2:
        return value
    best, chosen = 1e-9 * (w * g * g).sum(), None
    for column in (places_of(X[:, 0], g, w), X[:, 1]):
        for cut in np.unique(column)[:-1]:
            left = column <= cut
            sums = [((w * g)[side].sum(), w[side].sum()) for side in (left, ~left)]
            gain = sum(s * s / h for s, h in sums) - (w * g).sum() ** 2 / w.sum()
            if gain > best:
                best, chosen = gain, left
    if chosen is not None:
        for side in (chosen, ~chosen):
            value[side] = grow(X[side], g[side], w[side], depth - 1, places_of)
    return value


def order_of(code, g, w, least=1):
    """Return the place of each row's category in the order of means; rare categories are one."""
    codes, own, counts = np.unique(code, return_inverse=True, return_counts=True)
    unit = np.where(counts < least, -1, np.arange(len(codes)))[own]
    mean = {u: (w * g)[unit == u].sum() / (w[unit == u].sum() + SMOOTHING) for u in np.unique(unit)}
    ranks = {u: place for place, u in enumerate(sorted(mean, key=mean.get))}
    return np.array([ranks[u] for u in unit])


def one_tree(**options):
    return GradientBoostingRegressor(
        n_estimators=1,
        learning_rate=1.0,
        categorical_features=[0],
        second_order=True,
        random_state=0,
        **options,
    )


@examples(20)
@given(n=st.integers(30, 200), least=st.sampled_from([1, 5, 9]), seed=st.integers(0, 2**32 - 1))
def test_nodes_order_categories_by_their_means(n, least, seed):
    X, y = table(n, 17, seed)
    w = np.ones(n)
    model = one_tree(category_order="node", min_samples_category=least, max_depth=3).fit(X, y)
    mean = y.mean()
    expected = mean + grow(X, y - mean, w, 3, lambda *rows: order_of(*rows, least))
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-9)


@examples(20)
@given(
    n=st.integers(60, 200),
    n_categories=st.sampled_from([5, 12, 17]),
    seed=st.integers(0, 2**32 - 1),
)
def test_trees_keep_the_order_of_half_of_the_rows(n, n_categories, seed):
    """Of a million copies of each row, a half has nearly the means of all."""
    X, y = table(n, n_categories, seed)
    w = np.full(n, 1e6)
    model = one_tree(max_depth=3).fit(X, y, sample_weight=w)
    mean = y.mean()
    means = pd.Series(y).groupby(X[:, 0]).mean().sort_values()
    assume(np.diff(means).min() > 0.005 and len(means) == n_categories)
    of_root = order_of(X[:, 0], y - mean, w)
    places = dict(zip(X[:, 0], of_root, strict=True))
    if n_categories > 10:
        expected = grow(X, y - mean, w, 3, lambda code, *_: np.array([places[c] for c in code]))
    else:
        expected = grow(X, y - mean, w, 3, order_of)
    np.testing.assert_allclose(model.predict(X), mean + expected, atol=1e-6)


def boosted(kind, **options):
    return kind(
        n_estimators=6, categorical_features=[0], second_order=True, random_state=0, **options
    )


def targets(kind, y):
    return y if kind is GradientBoostingRegressor else np.digitize(y, np.quantile(y, [0.3, 0.7]))


def raw(model, X):
    return model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)


@pytest.mark.parametrize("kind", KINDS)
@examples(8)
@given(
    n=st.integers(40, 300),
    n_categories=st.sampled_from([12, 60, 400]),
    order=st.sampled_from(["auto", "tree", "node"]),
    subsample=st.sampled_from([1.0, 0.6]),
    seed=st.integers(0, 2**32 - 1),
)
def test_neither_storage_nor_threads_nor_codes_show(kind, n, n_categories, order, subsample, seed):
    X, y = table(n, n_categories, seed)
    y = targets(kind, y)
    options = {"category_order": order, "subsample": subsample, "min_samples_leaf": 3}
    expected = raw(boosted(kind, **options).fit(X, y), X)
    two = boosted(kind, n_jobs=2, **options).fit(X, y)
    np.testing.assert_array_equal(raw(two, X), expected)
    stored = sparse.csr_array(X)
    np.testing.assert_array_equal(raw(boosted(kind, **options).fit(stored, y), stored), expected)
    if order != "node":
        renamed = X.copy()
        renamed[:, 0] = np.random.default_rng(seed).permutation(n_categories)[X[:, 0].astype(int)]
        model = boosted(kind, **options).fit(renamed, y)
        np.testing.assert_allclose(raw(model, renamed), expected, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@examples(8)
@given(
    n=st.integers(40, 150),
    n_categories=st.sampled_from([12, 60]),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_whole_weight_is_as_many_copies(kind, n, n_categories, seed):
    X, y = table(n, n_categories, seed)
    y = targets(kind, y)
    counts = np.random.default_rng(seed).integers(1, 4, n)
    order = np.random.default_rng(seed + 1).permutation(counts.sum())
    copies = np.repeat(np.arange(n), counts)[order]
    weighted = boosted(kind).fit(X, y, sample_weight=counts)
    repeated = boosted(kind).fit(X[copies], y[copies])
    np.testing.assert_allclose(raw(weighted, X), raw(repeated, X), atol=1e-9)


@pytest.mark.parametrize("n_categories", [40, 1000])
@pytest.mark.parametrize("kind", [HistGradientBoostingRegressor, HistGradientBoostingClassifier])
def test_categories_that_say_nothing_do_little_harm(kind, n_categories):
    rng = np.random.default_rng(1)
    n = 3000
    X = np.column_stack([rng.integers(0, n_categories, n).astype(float), rng.normal(size=n)])
    y = np.sign(X[:, 1]) + rng.normal(size=n)
    if kind is HistGradientBoostingClassifier:
        y = y > 0
    train, test = slice(0, 1500), slice(1500, None)
    model = kind(max_iter=60, categorical_features=[0], early_stopping=False, random_state=0)
    with_label = model.fit(X[train], y[train]).score(X[test], y[test])
    alone = model.set_params(categorical_features=None)
    without = alone.fit(X[train, 1:], y[train]).score(X[test, 1:], y[test])
    assert with_label > without - 0.03
