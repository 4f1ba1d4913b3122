"""What says nothing about the data changes no prediction: names, orders, copies, precision."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.datasets import load_diabetes, load_iris

from spinney import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    LazyForestClassifier,
    LazyForestRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

TREES = [DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor]
FORESTS = [
    RandomForestClassifier,
    RandomForestRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    LazyForestClassifier,
    LazyForestRegressor,
]


def classifies(estimator_class):
    return estimator_class.__name__.endswith("Classifier")


def make(estimator_class, **params):
    params = {"random_state": 0} | params
    if estimator_class in FORESTS:
        params = {"n_estimators": 5} | params
    return estimator_class(**params)


def values_of(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def table(rng, n_rows, n_levels):
    """Return a table with categories of which many have one row, numbers, and missing values."""
    towns = rng.integers(0, n_levels, n_rows)
    frame = pd.DataFrame(
        {
            "town": np.array([f"t{town:02}" for town in towns], dtype=object),
            "kind": rng.choice(["x", "y", "z"], n_rows).astype(object),
            # No two rows are alike: equal categories would be told apart by nothing else.
            "size": rng.permutation(n_rows).astype(float) // 2 + rng.integers(0, 2, n_rows) / 8,
        }
    )
    frame.loc[rng.random(n_rows) < 0.1, "town"] = None
    return frame, (towns % 3 + rng.integers(0, 2, n_rows)) % 3


# --- Categories ---------------------------------------------------------------------------------


@given(
    st.sampled_from(TREES),
    st.integers(0, 2**32 - 1),
    st.sampled_from([4, 9, 30, 60]),
    st.sampled_from(["gini", "entropy", "squared_error", "poisson"]),
)
def test_categories_are_known_by_what_their_rows_hold(estimator_class, seed, n_levels, criterion):
    """Neither names, unused levels, the order of rows, copies nor rows of weight 0 matter."""
    if classifies(estimator_class) != (criterion in ("gini", "entropy")):
        criterion = "gini" if classifies(estimator_class) else "squared_error"
    rng = np.random.default_rng(seed)
    frame, y = table(rng, 60, n_levels)
    weights = rng.integers(1, 4, len(frame))
    categories = ["town", "kind"]
    tree = make(estimator_class, categorical_features=categories, criterion=criterion)
    expected = values_of(tree.fit(frame, y, sample_weight=weights), frame)

    order = rng.permutation(len(frame))
    tree.fit(frame.iloc[order], y[order], sample_weight=weights[order])
    assert_array_equal(values_of(tree, frame), expected)

    names = {f"t{n:02}": name for n, name in enumerate(rng.permutation(n_levels).astype(str))}
    renamed = frame.assign(town=frame["town"].map(names, na_action="ignore"))
    tree.fit(renamed, y, sample_weight=weights)
    assert_array_equal(values_of(tree, renamed), expected)

    levels = ["unused", *sorted(frame["town"].dropna().unique()), "zz"]
    levelled = frame.assign(town=pd.Categorical(frame["town"], categories=levels[::-1]))
    tree.fit(levelled, y, sample_weight=weights)
    assert_array_equal(values_of(tree, levelled), expected)

    # The order of copies does not matter, as that of rows does not.
    rows = rng.permutation(np.repeat(np.arange(len(frame)), weights))
    tree.fit(frame.iloc[rows], y[rows])
    assert_array_equal(values_of(tree, frame), expected)

    others, targets = table(rng, 20, n_levels + 20)
    more = pd.concat([others, frame], ignore_index=True)
    order = rng.permutation(len(more))
    with_zeros = np.concatenate([np.zeros(20, dtype=int), weights])
    tree.fit(more.iloc[order], np.concatenate([targets, y])[order], sample_weight=with_zeros[order])
    assert_array_equal(values_of(tree, frame), expected)


@pytest.mark.parametrize("estimator_class", FORESTS)
@pytest.mark.parametrize("n_levels", [6, 40])
def test_names_of_categories_do_not_matter_in_forests(estimator_class, n_levels):
    rng = np.random.default_rng(n_levels)
    frame, y = table(rng, 80, n_levels)
    forest = make(estimator_class, categorical_features=["town", "kind"])
    expected = values_of(forest.fit(frame, y), frame)
    names = {f"t{n:02}": name for n, name in enumerate(rng.permutation(n_levels).astype(str))}
    renamed = frame.assign(town=frame["town"].map(names, na_action="ignore"))
    assert_array_equal(values_of(forest.fit(renamed, y), renamed), expected)


@pytest.mark.parametrize("estimator_class", FORESTS)
@pytest.mark.parametrize("n_levels", [6, 20, 60])
def test_weights_are_copies_where_categories_are_ordered(estimator_class, n_levels):
    """With replacement, the copies of a heavy row that are not drawn order categories too."""
    rng = np.random.default_rng(n_levels)
    frame, _ = table(rng, 120, n_levels)
    y = rng.integers(0, 2, n_levels + 1)[frame["town"].astype("category").cat.codes]
    y = np.where(rng.random(len(y)) < 0.2, 1 - y, y)
    weights = rng.integers(0, 7, len(frame))
    params = {"bootstrap": True, "max_samples": 150, "categorical_features": ["town", "kind"]}
    forest = make(estimator_class, **params)
    expected = values_of(forest.fit(frame, y, sample_weight=weights), frame)
    rows = np.repeat(np.arange(len(frame)), weights)
    assert_array_equal(values_of(forest.fit(frame.iloc[rows], y[rows]), frame), expected)


def test_heavy_rows_order_categories_too():
    """Categories are in the order of their weighted means, whatever the rows that are heavy."""
    rng = np.random.default_rng(0)
    n_levels = 30
    towns = np.repeat(np.arange(n_levels), 20)
    # In each town four rows of weight 25 are as the town is, and the others as chance will have it.
    is_heavy = np.tile(np.arange(20) < 4, n_levels)
    y = np.where(is_heavy, towns / n_levels, rng.random(len(towns)) * 3)
    for factor in (1.0, 0.37):
        weights = np.where(is_heavy, 25.0, 1.0) * factor
        forest = RandomForestRegressor(
            100, random_state=0, categorical_features=[0], max_leaf_nodes=4, max_samples=2000
        )
        forest.fit(towns[:, None], y, sample_weight=weights)
        means = np.array(
            [np.average(y[towns == t], weights=weights[towns == t]) for t in range(30)]
        )
        assert np.corrcoef(forest.predict(np.arange(n_levels)[:, None]), means)[0, 1] > 0.95


# --- Weights ------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator_class", [*TREES, *FORESTS])
@pytest.mark.parametrize("kind", ["fractions", "integers", "reals"])
def test_rows_of_weight_0_do_not_matter(estimator_class, kind):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3)).round(1)
    y = rng.integers(0, 3, 60) if classifies(estimator_class) else rng.normal(size=60)
    weights = {
        "fractions": rng.choice([0.1, 0.2, 0.3, 0.7], 60),
        "integers": rng.integers(1, 5, 60).astype(float),
        "reals": rng.exponential(size=60),
    }[kind]
    model = make(estimator_class)
    if estimator_class in FORESTS:
        model.set_params(bootstrap=True, max_samples=40)
    expected = values_of(model.fit(X, y, sample_weight=weights), X)
    zeros = np.zeros(900)
    more = np.vstack([rng.normal(size=(900, 3)), X])
    targets = np.concatenate([np.resize(y[::-1], 900), y])
    model.fit(more, targets, sample_weight=np.concatenate([zeros, weights]))
    assert_array_equal(values_of(model, X), expected)
    appended = np.roll(np.arange(960), -900)
    model.fit(more[appended], targets[appended], sample_weight=np.concatenate([weights, zeros]))
    assert_array_equal(values_of(model, X), expected)


@pytest.mark.parametrize("estimator_class", [*TREES, *FORESTS])
@pytest.mark.parametrize("weights", [[1e308, 1e308], [1e308, 1e307], [1.7e308, 0.0, 1.7e308]])
def test_weights_without_a_finite_total_are_refused(estimator_class, weights):
    X = np.arange(len(weights), dtype=float)[:, None]
    model = make(estimator_class)
    with pytest.raises(ValueError, match=r"sample_weight.*finite total"):
        model.fit(X, np.arange(len(weights)) % 2, sample_weight=weights)


@given(st.lists(st.integers(1, 300), min_size=2, max_size=4), st.sampled_from(TREES[::2]))
def test_balanced_classes_weigh_the_same(counts, estimator_class):
    """Where there is nothing to split on, all classes are equal, and the first one is predicted."""
    y = np.repeat(np.arange(len(counts)), counts)
    X = np.zeros((len(y), 1))
    tree = estimator_class(class_weight="balanced").fit(X, y)
    assert len(set(tree.predict_proba(X[:1])[0])) == 1
    assert tree.predict(X[:1]) == [0]
    forest = ExtraTreesClassifier(2, class_weight="balanced", random_state=0).fit(X, y)
    assert forest.predict(X[:1]) == [0]


# --- Targets ------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
@pytest.mark.parametrize("small", [60.0, 1e-3])
def test_small_targets_beside_large_ones_stay_apart(criterion, small):
    largest = small * 1.3e13
    # Both sides of a split by Poisson deviance need a count.
    least = small / 8 if criterion == "poisson" else 0.0
    y = np.concatenate([[least, small], np.arange(1, 9) / 8 * largest])
    X = np.arange(len(y), dtype=float)[:, None]
    tree = DecisionTreeRegressor(criterion=criterion).fit(X, y)
    np.testing.assert_allclose(tree.predict(X), y, rtol=1e-12)


# --- Precision ----------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator_class", [*TREES, *FORESTS])
@pytest.mark.parametrize("kind", ["decimals", "scaled", "missing"])
def test_single_precision_is_decided_as_double(estimator_class, kind):
    """A model that was fitted to doubles says the same of the same rows in single precision."""
    X, y = (
        load_iris(return_X_y=True)
        if classifies(estimator_class)
        else load_diabetes(return_X_y=True)
    )
    if kind == "scaled":
        X = (X - X.mean(axis=0)) / X.std(axis=0) * 1e5
    if kind == "missing":
        X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    model = make(estimator_class).fit(X, y)
    expected = values_of(model, X)
    assert_array_equal(values_of(model, X.astype(np.float32)), expected)
    assert_array_equal(values_of(model, X.astype(np.float32).astype(np.float64)), expected)
