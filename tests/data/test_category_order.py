"""Orders of categories once per tree, by samples that the tree is not grown on or half of all."""

import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.model_selection import KFold

import spinney
from identities import MASK, combine, contents_of_target, identify, mix, word_of
from oracle import assert_same_tree, bits
from spinney import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    LazyForestClassifier,
    LazyForestRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from spinney.model_selection import cross_val_predict

FORESTS = [RandomForestClassifier, RandomForestRegressor]
ALL = [*FORESTS, LazyForestClassifier, LazyForestRegressor]
SAMPLES = {
    "with replacement": {},
    "without replacement": {"replace": False, "max_samples": 0.6},
    "poisson": {"bootstrap": "poisson"},
}
TASKS = ["regression", "outputs", "two classes", "classes"]
# Rows at the mean of all rows that a category is taken to have; least standard errors; the least
# share of the correlation of one half that the other one must have.
ROWS_OF_ALL, LEAST_ERRORS, LEAST_CONFIRMED, N_STEPS = 10.0, 2.0, 0.5, 16
FEW, MANY = 10, 32


def data(task, n_levels=40, n_rows=500, effect=2.0, seed=0):
    """Return codes of categories of which some are missing, beside two numbers, and a target."""
    rng = np.random.default_rng(seed)
    levels = rng.permutation(
        np.concatenate([np.arange(n_levels), rng.integers(0, n_levels, n_rows)])
    )
    X = np.column_stack([rng.normal(size=len(levels)), levels, rng.normal(size=len(levels))])
    effects = rng.normal(size=(n_levels, 2)) * effect
    y = effects[levels] + X[:, :1] + rng.normal(size=(len(levels), 2))
    X[rng.random(len(X)) < 0.05, 1] = np.nan
    if task == "regression":
        return X, y[:, 0]
    if task == "outputs":
        return X, y
    if task == "two classes":
        return X, (y[:, 0] > 0).astype(int)
    return X, 2 * (y[:, 0] > 0) + (y[:, 1] > 0)


def make(task, estimator=None, **params):
    if estimator is None:
        estimator = RandomForestClassifier if "classes" in task else RandomForestRegressor
    params = {"n_estimators": 4, "random_state": 0, "categorical_features": [1]} | params
    return estimator(**params)


def lazy(task):
    return LazyForestClassifier if "classes" in task else LazyForestRegressor


# --- The order ----------------------------------------------------------------------------------


def standardised(y, weights):
    """Return targets as vectors."""
    if y.dtype.kind == "i" and y.max() == 1:
        return y[:, None].astype(float)
    if y.dtype.kind == "i":
        return np.eye(y.max() + 1)[y]
    y = y.reshape(len(y), -1)
    centred = y - np.average(y, axis=0, weights=weights)
    return centred / np.sqrt(np.average(centred**2, axis=0, weights=weights))


def places(X, y, counts, weights):
    """Return the place of each sample's category, and whether the order is of any use."""
    is_out = counts == 0
    sides = [(weights * is_out, weights**2 * is_out), (weights * ~is_out, weights**2 * ~is_out)]
    return places_by_sides(X, y, weights, *sides)


def correlation(a, b, weights):
    a, b = a - np.average(a, weights=weights), b - np.average(b, weights=weights)
    return (weights * a * b).sum() / np.sqrt((weights * a * a).sum() * (weights * b * b).sum())


def places_by_sides(X, y, weights, ordering, checking, *, are_halves=False):
    """As `places`. Each side has weights, and sums of squared weights of equal samples."""
    keys, levels = list_levels(X, y, weights)
    (out, out_squares), (inside, in_squares) = ordering, checking
    numbers = standardised(y, out + inside)
    mean = np.average(numbers, axis=0, weights=out)
    means = np.zeros((len(levels), numbers.shape[1]))
    total = np.zeros(len(levels))
    for at, level in enumerate(levels):
        rows = (out > 0) & (keys == level)
        total[at] = out[rows].sum()
        if total[at] > 0:
            n_rows = total[at] ** 2 / out_squares[rows].sum()
            own = np.average(numbers[rows], axis=0, weights=out[rows]) - mean
            means[at] = own * n_rows / (n_rows + ROWS_OF_ALL)
    # The first principal component, as far as some steps of power iteration come.
    axis = 1 / np.arange(1, numbers.shape[1] + 1)
    for _ in range(N_STEPS if len(axis) > 1 else 0):
        axis = (total * (means @ axis)) @ means
        axis /= axis[np.abs(axis).argmax()]
    along = means @ axis
    of_rows = dict(zip(levels, along, strict=True))
    a, b, w = np.array([of_rows.get(key, 0) for key in keys]), numbers @ axis, inside
    r = correlation(a, b, w)
    is_of_use = bool(r * w.sum() / np.sqrt(in_squares.sum()) >= LEAST_ERRORS)
    if are_halves:
        is_of_use &= bool(r >= LEAST_CONFIRMED * correlation(a, b, out))
    # Rounding must not decide on ties of categories with as many samples of the same targets.
    rounded = np.round(along / np.abs(along).max() * 2.0**40)
    order = np.lexsort((np.arange(len(levels)), rounded))
    place = dict(zip(np.array(levels)[order], range(len(levels)), strict=True))
    # Samples without weight may have categories that no other sample has.
    of_rows = [place.get(key, -1) for key in keys]
    return np.array(of_rows, dtype=float), is_of_use


def list_levels(X, y, weights):
    """Return the category of each sample, and the categories in the order that ties go by."""
    numbers = identify(X, y, weights, [1])[1]
    levels = [-1.0 if name == "missing" else name for name in numbers]
    return np.where(np.isnan(X[:, 1]), -1, X[:, 1]), levels


def exact_places(X, y, counts, weights):
    """As `places`, of numbers that are integers, without rounding."""
    keys, levels = list_levels(X, y, weights)
    keys = keys.tolist()
    y, counts, weights = (np.asarray(a, dtype=int).tolist() for a in (y, counts, weights))
    rows = [row for row, weight in enumerate(weights) if weight > 0]
    outside = [row for row in rows if counts[row] == 0]
    inside = [row for row in rows if counts[row] > 0]

    def mean(values, rows):
        total = sum(weights[row] for row in rows)
        return Fraction(sum(weights[row] * values[row] for row in rows)) / total if total else 0

    along = {}
    for key in levels:
        own = [row for row in outside if keys[row] == key]
        along[key] = Fraction(0)
        if own:
            total = sum(weights[row] for row in own)
            n_rows = Fraction(total**2, sum(weights[row] ** 2 for row in own))
            share = n_rows / (n_rows + int(ROWS_OF_ALL))
            along[key] = (mean(y, own) - mean(y, outside)) * share
    # Sorting keeps the order of ties.
    place = {key: at for at, key in enumerate(sorted(along, key=along.get))}
    of_rows = [along.get(key, 0) for key in keys]
    a, b = ([value - mean(values, inside) for value in values] for values in (of_rows, y))

    def product(one, other):
        return sum(weights[row] * one[row] * other[row] for row in inside)

    weight, squares = (sum(weights[row] ** power for row in inside) for power in (1, 2))
    # The correlation times the weight over the root of the squares, and all that squared.
    least = int(LEAST_ERRORS**2) * product(a, a) * product(b, b) * squares
    is_of_use = product(a, b) > 0 and (product(a, b) * weight) ** 2 >= least > 0
    of_rows = [place.get(key, -1) for key in keys]
    return np.array(of_rows, dtype=float), is_of_use, len(along)


@st.composite
def problems(draw):
    """Draw rows of many categories, some of which are missing, with few distinct targets."""
    n_rows = draw(st.integers(30, 90))
    n_levels = draw(st.sampled_from([3, FEW + 1, 20, MANY + 8, 70]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.integers(0, [4, n_levels, 3], (n_rows, 3)).astype(float)
    n_targets = draw(st.sampled_from([2, 2, 3, 9]))
    y = rng.integers(0, n_levels, n_levels)[X[:, 1].astype(int)] * draw(st.integers(0, 2))
    y = (y + rng.integers(0, n_levels, n_rows)) * n_targets // (3 * n_levels)
    X[rng.random(n_rows) < draw(st.sampled_from([0.0, 0.1])), 1] = np.nan
    weights = np.ones(n_rows, dtype=int)
    if draw(st.booleans()):
        weights = rng.integers(0, 4, n_rows)
    y[0], y[1] = 0, 1
    weights[:2] = 1
    return X, y, weights, draw(st.integers(0, 1000))


@given(problems(), st.sampled_from(["auto", "tree"]))
def test_orders_are_exact(problem, order):
    """Trees are those of the exact order, however they are grown and whatever the codes."""
    X, y, weights, seed = problem
    task = "two classes" if y.max() == 1 else "regression"
    target = y if task == "two classes" else y.astype(float)
    params = {
        "n_estimators": 2,
        "random_state": seed,
        "category_order": order,
        "max_features": None,
        "bootstrap": "poisson",
    }
    forest = make(task, **params).fit(X, y, sample_weight=weights)
    n_ranks = len(np.unique(X[weights > 0, 1]))
    tree_class = DecisionTreeClassifier if "classes" in task else DecisionTreeRegressor
    # The trees of a forest take codes in the place of categories.
    leaves = forest.apply(X).T
    for tree, own, counts in zip(forest.estimators_, leaves, draws(forest, len(X)), strict=True):
        numbers, is_of_use, n_categories = exact_places(X, target, counts, weights)
        if n_ranks <= (FEW if order == "auto" else 2):
            continue
        if n_categories > MANY and not is_of_use:
            numbers[:] = 0
        numbers = np.column_stack([X[:, 0], numbers, X[:, 2]])
        twin = tree_class(random_state=tree.random_state)
        twin.fit(numbers, y, sample_weight=counts * weights)
        for name in ("children_left", "children_right", "feature", "n_node_samples", "value"):
            assert_array_equal(getattr(tree.tree_, name), getattr(twin.tree_, name), name)
        inside = counts * weights > 0
        assert_array_equal(own[inside], twin.apply(numbers[inside]))
    model = make(task, lazy(task), **params).fit(X, y, sample_weight=weights)
    assert_array_equal(model.predict(X), forest.predict(X))
    model = make(task, **params).fit(sparse.csc_array(X), y, sample_weight=weights)
    assert bits(model) == bits(forest)
    codes = np.random.default_rng(seed).permutation(100).astype(float)
    other = X.copy()
    is_known = ~np.isnan(X[:, 1])
    other[is_known, 1] = codes[X[is_known, 1].astype(int)]
    model = make(task, **params).fit(other, y, sample_weight=weights)
    assert_array_equal(model.predict(other), forest.predict(X))


def draws(forest, n_rows):
    return [np.bincount(rows, minlength=n_rows) for rows in forest.estimators_samples_]


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("task", TASKS)
def test_trees_are_those_of_places_as_numbers(task, sample):
    """The trees of the forest are trees on a column of numbers, which are worked out here."""
    X, y = data(task)
    forest = make(task, category_order="tree", **SAMPLES[sample]).fit(X, y)
    tree_class = DecisionTreeClassifier if "classes" in task else DecisionTreeRegressor
    max_features = "sqrt" if "classes" in task else 1.0
    pairs = zip(forest.estimators_, draws(forest, len(X)), strict=True)
    for tree, counts in pairs:
        order, is_of_use = places(X, y, counts, np.ones(len(X)))
        assert is_of_use
        numbers = np.column_stack([X[:, 0], order, X[:, 2]])
        twin = tree_class(random_state=tree.random_state, max_features=max_features)
        twin.fit(numbers, y, sample_weight=counts)
        for name in ("children_left", "children_right", "feature", "n_node_samples"):
            assert_array_equal(getattr(tree.tree_, name), getattr(twin.tree_, name), name)
        assert (tree.tree_.feature == 1).sum() > 10
        is_own = tree.tree_.feature != 1
        assert_array_equal(tree.tree_.threshold[is_own], twin.tree_.threshold[is_own])
        # The rows of the tree find their leaves by the sets of categories.
        inside = counts > 0
        assert_array_equal(tree.apply(X[inside]), twin.apply(numbers[inside]))


@pytest.mark.parametrize("task", ["regression", "classes"])
def test_weights_count_in_the_order(task):
    X, y = data(task)
    weights = np.random.default_rng(3).integers(0, 4, len(X)).astype(float)
    forest = make(task, category_order="tree", bootstrap="poisson", max_features=None)
    forest.fit(X, y, sample_weight=weights)
    tree_class = DecisionTreeClassifier if "classes" in task else DecisionTreeRegressor
    for tree, counts in zip(forest.estimators_, draws(forest, len(X)), strict=True):
        # Counts of samples without weight are not known, nor needed.
        order, _ = places(X, y, counts, weights)
        numbers = np.column_stack([X[:, 0], order, X[:, 2]])
        twin = tree_class(random_state=tree.random_state)
        twin.fit(numbers, y, sample_weight=counts * weights)
        assert_array_equal(tree.tree_.feature, twin.tree_.feature)
        assert_array_equal(tree.tree_.n_node_samples, twin.tree_.n_node_samples)


def test_categories_go_by_their_number():
    """By default few are ordered by nodes and more by trees."""
    orders = ("auto", "node", "tree")
    for n_levels, like in ((FEW - 1, "node"), (FEW, "tree"), (MANY + 5, "tree")):
        # Missing values are one more category.
        X, y = data("regression", n_levels)
        grown = {order: bits(make("", category_order=order).fit(X, y)) for order in orders}
        assert grown["auto"] == grown[like]
        assert grown["tree"] != grown["node"]
    # Two categories have one order.
    X, y = data("regression", 2)
    X = X[~np.isnan(X[:, 1])]
    y = y[: len(X)]
    assert bits(make("", category_order="tree").fit(X, y)) == bits(make("").fit(X, y))


# --- Halves -------------------------------------------------------------------------------------

HALVES = 7
# Lesser ones are those of scikit-learn's random states.
SEED = 2**32 + 3


def halves(X, y, weights, seed, categorical=(1,)):
    """Return the sides of `places_by_sides`, of whole weights, which are numbers of samples."""
    rows = np.flatnonzero(weights)
    identities = identify(X, y, weights, categorical)
    contents = contents_of_target(y)
    for feature, column in enumerate(X.T):
        for row in rows:
            if feature in categorical:
                word = identities[feature]["missing" if np.isnan(column[row]) else column[row]]
            else:
                word = word_of(column[row])
            contents[row] = combine(contents[row], word)
    firsts, together = {}, np.zeros(len(X), dtype=int)
    for row in rows:
        together[firsts.setdefault(contents[row], row)] += int(weights[row])
    key = combine(combine(mix(seed), 0), HALVES)
    second = np.zeros(len(X), dtype=int)
    for row in np.flatnonzero(together):
        of_row, n = combine(key, contents[row]), int(together[row])
        for word in range(0, n, 64):
            random = combine(of_row, word // 64) << max(word + 64 - n, 0) & MASK
            second[row] += random.bit_count()
    # So many samples of weight 1.
    return [(n.astype(float), n.astype(float)) for n in (together - second, second)]


def tree_of(task):
    return DecisionTreeClassifier if "classes" in task else DecisionTreeRegressor


@pytest.mark.parametrize("task", TASKS)
def test_a_tree_of_all_samples_orders_by_half_of_them(task):
    X, y = data(task)
    # Some samples are there twice, and some weigh nothing.
    X, y = np.vstack([X, X[:60]]), np.concatenate([y, y[:60]])
    weights = np.random.default_rng(5).integers(0, 4, len(X)).astype(float)
    sides = halves(X, y, weights, SEED)
    assert sides[0][0].max() > 2
    order, is_of_use = places_by_sides(X, y, weights, *sides, are_halves=True)
    assert is_of_use
    numbers = np.column_stack([X[:, 0], order, X[:, 2]])
    twin = tree_of(task)(random_state=SEED).fit(numbers, y, sample_weight=weights)
    models = [tree_of(task)(categorical_features=[1])]
    models += [make(task, n_estimators=1, bootstrap=False, max_features=None)]
    for model in models:
        model.set_params(random_state=SEED).fit(X, y, sample_weight=weights)
        tree = getattr(model, "estimators_", [model])[0]
        for name in ("children_left", "children_right", "feature", "n_node_samples", "value"):
            assert_array_equal(getattr(tree.tree_, name), getattr(twin.tree_, name), name)
        assert (tree.tree_.feature == 1).sum() > 10


@pytest.mark.parametrize("n_copies", [1, 700])
@pytest.mark.parametrize("task", TASKS)
def test_weights_are_copies(task, n_copies):
    X, y = data(task, n_rows=500 if n_copies == 1 else 30)
    weights = np.random.default_rng(6).integers(0, 4, len(X)) * n_copies
    weighted = tree_of(task)(categorical_features=[1], random_state=1)
    weighted.fit(X, y, sample_weight=weights)
    copied = tree_of(task)(categorical_features=[1], random_state=1)
    copied.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights, axis=0))
    names = ("feature", "threshold", "value", "impurity", "weighted_n_node_samples")
    assert_same_tree(weighted, copied, names)
    assert_array_equal(weighted.predict(X), copied.predict(X))


def test_weights_that_are_not_whole_are_not_counts():
    """Then a sample is one, whatever it weighs."""
    X, y = data("regression")
    expected, tree = (DecisionTreeRegressor(categorical_features=[1], random_state=1) for _ in "12")
    expected.fit(X, y)
    for weight in (0.5, 1 / 3, 1.5):
        tree.fit(X, y, sample_weight=np.full(len(X), weight))
        assert_same_tree(tree, expected, ("feature", "threshold", "n_node_samples", "value"))


def test_a_category_and_a_target_may_be_all():
    """Most samples are equal to others. The categories are found as well."""
    rng = np.random.default_rng(0)
    towns = rng.integers(0, 300, 3000)
    y = (rng.permutation(300)[towns] < 150) ^ (rng.random(3000) < 0.05)
    tree = DecisionTreeClassifier(categorical_features=[0], max_depth=1, random_state=0)
    assert tree.fit(towns[:, None], y).score(towns[:, None], y) > 0.92
    noise = rng.random(3000) < 0.5
    assert tree.fit(towns[:, None], noise).get_depth() == 0


@pytest.mark.parametrize("task", TASKS)
def test_storage_and_folds_do_not_show_in_trees(task):
    X, y = data(task, 300, n_rows=1500)
    X = np.nan_to_num(X)
    tree = tree_of(task)(categorical_features=[1], random_state=0)
    expected = tree.fit(X, y).predict(X)
    for storage in (np.asfortranarray, sparse.csr_array, sparse.csc_array):
        assert_array_equal(tree.fit(storage(X), y).predict(X), expected)
    model = make(task, lazy(task), n_estimators=1, bootstrap=False, max_features=None)
    assert_array_equal(model.fit(X, y).predict(X), expected)
    folds = KFold(5, shuffle=True, random_state=0)
    predictions = cross_val_predict(tree, X, y, cv=folds)
    for train, test in folds.split(X):
        own = tree_of(task)(categorical_features=[1], random_state=0).fit(X[train], y[train])
        assert_array_equal(predictions[test], own.predict(X[test]))


def test_estimators_of_a_forest_grow_their_trees_again():
    X, y = data("regression")
    for order in ("auto", "node"):
        forest = make("", bootstrap=False, category_order=order).fit(X, y)
        for tree in forest.estimators_:
            before = bits(tree)
            assert bits(tree.fit(X, y)) == before


def test_small_categories_are_kept_together_by_nodes():
    """Whoever sets `min_samples_category` gets it."""
    X, y = data("regression")
    for model in (make(""), DecisionTreeRegressor(categorical_features=[1], random_state=0)):
        models = [
            model.set_params(min_samples_category=5, category_order=order).fit(X, y)
            for order in ("auto", "node")
        ]
        assert bits(models[0]) == bits(models[1])
    assert bits(model.set_params(min_samples_category=1).fit(X, y)) != bits(
        model.set_params(category_order="auto").fit(X, y)
    )


# --- Orders of no use ---------------------------------------------------------------------------


def test_an_order_of_no_use_is_not_used():
    """Columns of many categories are left out of such trees, others are not."""
    for n_levels in (MANY - 10, 300):
        X, y = data("regression", n_levels, effect=0.0, n_rows=1000)
        forest = make("", n_estimators=20).fit(X, y)
        useful = [places(X, y, counts, np.ones(len(X)))[1] for counts in draws(forest, len(X))]
        assert sum(useful) < 5
        uses = [1 in tree.tree_.feature for tree in forest.estimators_]
        assert uses == (useful if n_levels > MANY else [True] * 20)


@pytest.mark.parametrize("params", [{"max_features": 1}, {"feature_sampling": "active"}])
def test_a_feature_that_is_left_out_is_not_drawn(params):
    """Nodes draw on, as if it did not vary."""
    X, y = data("regression", 300, effect=0.0, n_rows=1000)
    n_leaves = []
    for storage in (np.asarray, sparse.csr_array):
        model = make("", n_estimators=5, **({"max_features": 1} | params))
        # In sparse data missing values are stored.
        model.fit(storage(np.nan_to_num(X)), y)
        n_leaves.append([tree.get_n_leaves() for tree in model.estimators_])
        for tree, counts in zip(model.estimators_, draws(model, len(X)), strict=True):
            if 1 not in tree.tree_.feature:
                assert tree.get_n_leaves() == (counts > 0).sum()
    assert n_leaves[0] == n_leaves[1]


# --- What must not show -------------------------------------------------------------------------


@pytest.mark.parametrize("task", TASKS)
def test_codes_and_unused_categories_do_not_show(task):
    X, y = data(task)
    names = np.array([f"{name:03}" for name in np.random.default_rng(1).permutation(60)])
    cells = [None if np.isnan(code) else names[int(code)] for code in X[:, 1]]
    frames = [
        pd.DataFrame({"a": X[:, 0], "b": column, "c": X[:, 2]})
        for column in (
            X[:, 1],
            np.array(cells, dtype=object),
            pd.Categorical(cells, categories=names[::-1]),
        )
    ]
    forests = [make(task, categorical_features=["b"]).fit(frame, y) for frame in frames]
    for forest, frame in zip(forests, frames, strict=True):
        assert_array_equal(forest.predict(frame), forests[0].predict(frames[0]))
        for one, other in zip(forest.estimators_, forests[0].estimators_, strict=True):
            names_of_arrays = ("feature", "n_node_samples", "value", "impurity")
            assert_same_tree(one, other, names_of_arrays)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("params", [{}, {"max_leaf_nodes": 20}, {"min_samples_leaf": 3}])
def test_storage_and_threads_do_not_show(task, params):
    X, y = data(task, 300, n_rows=1500)
    X[np.random.default_rng(2).random(len(X)) < 0.5, 1] = 0
    expected = make(task, **params).fit(X, y)
    assert any((tree.tree_.feature == 1).any() for tree in expected.estimators_)
    others = {
        "threads": make(task, n_jobs=2, **params).fit(X, y),
        "csr": make(task, **params).fit(sparse.csr_array(X), y),
        "csc": make(task, **params).fit(sparse.csc_array(X), y),
    }
    for forest in others.values():
        assert bits(forest) == bits(expected)
        assert_array_equal(forest.predict(sparse.csr_array(X)), expected.predict(X))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("sample", SAMPLES)
def test_lazy_forests_predict_the_same(task, sample):
    X, y = data(task)
    X_test, _ = data(task, n_levels=60, seed=1)
    forest = make(task, **SAMPLES[sample]).fit(X, y)
    for params in ({}, {"traversal": "single"}, {"traversal": "eager"}):
        model = make(task, lazy(task), **params, **SAMPLES[sample]).fit(X, y)
        assert_array_equal(model.predict(X_test), forest.predict(X_test))


@pytest.mark.pairwise
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("task", ["regression", "two classes", "classes"])
@pytest.mark.parametrize("sample", SAMPLES)
def test_folds_predict_as_if_refitted(task, sample, storage):
    X, y = data(task)
    X = storage(X if storage is np.asarray else np.nan_to_num(X))
    model = make(task, **SAMPLES[sample])
    folds = KFold(5, shuffle=True, random_state=0)
    predictions = cross_val_predict(model, X, y, cv=folds)
    for train, test in folds.split(X):
        fit_params = {"sample_ids": train} if sample == "poisson" else {}
        own = make(task, **SAMPLES[sample]).fit(X[train], y[train], **fit_params)
        assert_array_equal(predictions[test], own.predict(X[test]))


def test_trees_do_not_depend_on_their_number():
    X, y = data("regression")
    few = make("", n_estimators=2, warm_start=True).fit(X, y)
    many = make("", n_estimators=4).fit(X, y)
    assert bits(few) == bits(many)[:2]
    assert bits(few.set_params(n_estimators=4).fit(X, y)) == bits(many)


def test_models_survive_files_and_pickles(tmp_path):
    X, y = data("classes")
    for order in ("auto", "tree"):
        model = make("classes", category_order=order).fit(X, y)
        model.save(tmp_path / "model.spinney")
        for copy in (spinney.load(tmp_path / "model.spinney"), pickle.loads(pickle.dumps(model))):
            assert bits(copy) == bits(model)
            assert copy.category_order == order
            assert_array_equal(copy.predict_proba(X), model.predict_proba(X))


# --- What it is for -----------------------------------------------------------------------------


def test_noise_of_many_categories_does_no_harm():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(4000, 3)), rng.integers(0, 400, 4000)])
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=4000)
    train, test = slice(3000), slice(3000, None)
    scores = {}
    for order in ("auto", "node"):
        model = RandomForestRegressor(
            30, categorical_features=[3], category_order=order, random_state=0
        )
        scores[order] = model.fit(X[train], y[train]).score(X[test], y[test])
    without = RandomForestRegressor(30, random_state=0)
    without = without.fit(X[train, :3], y[train]).score(X[test, :3], y[test])
    assert scores["auto"] > without - 0.01
    assert scores["node"] < without - 0.1


def test_a_weak_effect_of_many_categories_does_no_harm_to_a_tree():
    """It is found, but splits would follow chance more than the effect."""
    X, y = data("regression", 150, n_rows=3000, effect=0.3)
    train, test = slice(2000), slice(2000, None)
    scores = []
    for order in ("auto", "node"):
        tree = DecisionTreeRegressor(
            categorical_features=[1], category_order=order, min_samples_leaf=20, random_state=0
        )
        scores.append(tree.fit(X[train], y[train]).score(X[test], y[test]))
    others = DecisionTreeRegressor(min_samples_leaf=20, random_state=0)
    scores.append(others.fit(X[train][:, [0, 2]], y[train]).score(X[test][:, [0, 2]], y[test]))
    assert scores[0] > scores[1] + 0.1
    assert scores[0] > scores[2] - 0.01


def test_noise_of_many_categories_does_no_harm_to_a_tree():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(4000, 3)), rng.integers(0, 400, 4000)])
    y = X[:, 0] + rng.normal(size=4000)
    for order, is_used in (("auto", False), ("node", True)):
        tree = DecisionTreeRegressor(
            categorical_features=[3], category_order=order, random_state=0
        ).fit(X, y)
        assert (tree.feature_importances_[3] > 0) == is_used


def test_effects_of_many_categories_are_found():
    X, y = data("regression", 200, n_rows=3000, effect=1.0)
    train, test = slice(2200), slice(2200, None)
    model = RandomForestRegressor(30, categorical_features=[1], random_state=0)
    # Of the variance, 1 is of the categories, 1 of a number, and 1 is noise.
    assert model.fit(X[train], y[train]).score(X[test], y[test]) > 0.5


# --- The parameter ------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [*ALL, DecisionTreeClassifier, DecisionTreeRegressor])
@pytest.mark.parametrize("order", ["once", "", None, 1, True])
def test_illegal_orders_raise(estimator, order):
    with pytest.raises(
        ValueError, match=r"'category_order' parameter of .* {'auto', 'node', 'tree'}"
    ):
        estimator(category_order=order).fit(*data("two classes"))


@pytest.mark.parametrize("estimator", FORESTS)
def test_least_samples_do_not_matter_to_orders_of_trees(estimator):
    X, y = data("two classes")
    one, other = (
        make("", estimator, category_order="tree", min_samples_category=least).fit(X, y)
        for least in (1, 20)
    )
    assert bits(one) == bits(other)
    with pytest.raises(ValueError, match="cannot have monotonic constraints"):
        make("", estimator, monotonic_cst=[0, 1, 0]).fit(X, y)
