"""SHAP values, compared with what their definition gives in exact fractions."""

import itertools
import pickle
import time
from fractions import Fraction
from math import factorial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError

import spinney
from explained import list_trees, value_of
from made_models import CLASSIFIERS, REGRESSORS

EVERY_CLASS = CLASSIFIERS + REGRESSORS
every_class = pytest.mark.parametrize("estimator_class", EVERY_CLASS, ids=lambda c: c.__name__)


def make_task(estimator_class, n_outputs=1, n=150):
    """Return data with missing values and a category, and targets."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6)).round(1)
    X[:, 4] = rng.integers(0, 5, n)
    X[rng.random(X.shape) < 0.1] = np.nan
    score = np.nan_to_num(X[:, 0] * X[:, 1] + (X[:, 4] % 2) * X[:, 2]) + rng.normal(size=n) / 4
    if estimator_class in CLASSIFIERS:
        y = np.array(["a", "b", "c"])[np.digitize(score, [-0.5, 0.5])]
        return X, y if n_outputs == 1 else np.column_stack([y, np.where(score > 0, "p", "n")])
    return X, score + 3 if n_outputs == 1 else np.column_stack([score, score**2, score > 0])


def make_estimator(estimator_class, **params):
    params = {"random_state": 0, "max_depth": 4, **params}
    if "n_estimators" in estimator_class().get_params():
        params["n_estimators"] = 3
    return estimator_class(**params)


def explain_exactly(trees, row, interactions=False):
    """Return SHAP values (n_features, n_values) by their definition, and the expected value."""
    n = row.shape[0]
    features = range(n)
    games = {}
    for size in range(n + 1):
        for known in itertools.combinations(features, size):
            of_trees = [value_of(tree, row, known) for tree in trees]
            games[frozenset(known)] = [sum(v) / len(trees) for v in zip(*of_trees, strict=True)]
    n_values = len(games[frozenset()])
    shap = [[Fraction(0)] * n_values for _ in features]
    pairs = [[[Fraction(0)] * n_values for _ in features] for _ in features]
    for i in features:
        for known in games:
            if i in known:
                continue
            s = len(known)
            weight = Fraction(factorial(s) * factorial(n - s - 1), factorial(n))
            for v in range(n_values):
                shap[i][v] += weight * (games[known | {i}][v] - games[known][v])
            for j in features if interactions else ():
                if j == i or j in known:
                    continue
                weight = Fraction(factorial(s) * factorial(n - s - 2), 2 * factorial(n - 1))
                for v in range(n_values):
                    pairs[i][j][v] += weight * (
                        games[known | {i, j}][v]
                        - games[known | {i}][v]
                        - games[known | {j}][v]
                        + games[known][v]
                    )
    for i in features:
        for v in range(n_values):
            pairs[i][i][v] = shap[i][v] - sum(pairs[i][j][v] for j in features if j != i)
    result = pairs if interactions else shap
    return np.array(result, dtype=np.float64), np.array(games[frozenset()], dtype=np.float64)


def stack_outputs(values, n_each):
    """Return what `shap_values` returns as (..., n_values), padded as the trees' values are."""
    if not isinstance(values, list):
        return values
    padded = [
        np.concatenate([part, np.zeros((*part.shape[:-1], n_each - part.shape[-1]))], axis=-1)
        for part in values
    ]
    return np.concatenate(padded, axis=-1)


@pytest.mark.pairwise
@every_class
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("categories", [False, True])
def test_values_are_those_of_the_definition(estimator_class, n_outputs, categories):
    X, y = make_task(estimator_class, n_outputs)
    params = {"categorical_features": [4]} if categories else {}
    weights = np.random.default_rng(1).integers(0, 4, len(X)).astype(float)
    estimator = make_estimator(estimator_class, **params).fit(X, y, sample_weight=weights)
    rows = X[:4]
    found = estimator.shap_values(rows)
    codes = rows.copy()
    if categories:
        known = list(estimator.categories_[4])
        for row in codes:
            if not np.isnan(row[4]):
                row[4] = known.index(row[4])
    trees = list_trees(estimator)
    n_each = trees[0].max_n_classes
    found = stack_outputs(found, n_each)
    base = stack_outputs(estimator.expected_value_, n_each)
    for row, values in zip(codes, found, strict=True):
        expected, expected_base = explain_exactly(trees, row)
        np.testing.assert_allclose(values.reshape(expected.shape), expected, rtol=0, atol=2e-15)
        np.testing.assert_allclose(np.ravel(base), expected_base, rtol=0, atol=2e-15)


@every_class
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_shapes_are_those_of_shap(estimator_class, n_outputs):
    X, y = make_task(estimator_class, n_outputs)
    estimator = make_estimator(estimator_class).fit(X, y)
    values, base = estimator.shap_values(X[:7]), estimator.expected_value_
    if estimator_class in REGRESSORS and n_outputs == 1:
        assert values.shape == (7, 6)
        assert type(base) is float
        prediction = estimator.predict(X[:7])
    elif estimator_class in REGRESSORS:
        assert values.shape == (7, 6, 3)
        assert base.shape == (3,)
        prediction = estimator.predict(X[:7])
    elif n_outputs == 1:
        assert values.shape == (7, 6, 3)
        assert base.shape == (3,)
        prediction = estimator.predict_proba(X[:7])
    else:
        assert [part.shape for part in values] == [(7, 6, 3), (7, 6, 2)]
        assert [part.shape for part in base] == [(3,), (2,)]
        for part, expected, proba in zip(values, base, estimator.predict_proba(X[:7]), strict=True):
            np.testing.assert_allclose(part.sum(axis=1) + expected, proba, atol=1e-14)
        return
    np.testing.assert_allclose(values.sum(axis=1) + base, prediction, rtol=1e-13, atol=1e-14)


@every_class
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_interactions_are_those_of_the_definition(estimator_class, n_outputs):
    X, y = make_task(estimator_class, n_outputs)
    estimator = make_estimator(estimator_class, categorical_features=[4]).fit(X, y)
    rows = X[~np.isnan(X[:, 4])][:3]
    rows[:, 4] = [list(estimator.categories_[4]).index(code) for code in rows[:, 4]]
    trees = list_trees(estimator)
    raw = rows.copy()
    raw[:, 4] = [estimator.categories_[4][int(code)] for code in rows[:, 4]]
    found = stack_outputs(estimator.shap_values(raw, interactions=True), trees[0].max_n_classes)
    for row, values in zip(rows, found, strict=True):
        expected, _ = explain_exactly(trees, row, interactions=True)
        np.testing.assert_allclose(values.reshape(expected.shape), expected, rtol=0, atol=3e-15)


def test_interactions_add_up_to_contributions():
    X, y = load_breast_cancer(return_X_y=True)
    forest = spinney.RandomForestClassifier(10, random_state=0, n_jobs=2).fit(X, y)
    pairs = forest.shap_values(X[:20], interactions=True)
    assert pairs.shape == (20, 30, 30, 2)
    np.testing.assert_array_equal(pairs, np.swapaxes(pairs, 1, 2))
    np.testing.assert_allclose(pairs.sum(axis=2), forest.shap_values(X[:20]), atol=1e-14)
    one = forest.set_params(n_jobs=1).shap_values(X[:20], interactions=True)
    np.testing.assert_array_equal(one, pairs)
    sparse_rows = sparse.csr_matrix(X[:3])
    np.testing.assert_array_equal(forest.shap_values(sparse_rows, interactions=True), pairs[:3])
    # The trees of a small forest do not use all features.
    tree = spinney.DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, y)
    pairs = tree.shap_values(X[:5], interactions=True)
    assert pairs.shape == (5, 30, 30)
    unused = np.setdiff1d(np.arange(30), tree.tree_.feature)
    assert not pairs[:, unused].any()
    np.testing.assert_allclose(pairs.sum(axis=2), tree.shap_values(X[:5]), atol=1e-15)


def check_additivity(estimator, X, tolerance):
    values = estimator.shap_values(X)
    if hasattr(estimator, "predict_proba"):
        prediction = estimator.predict_proba(X)
    else:
        prediction = estimator.predict(X)
    error = np.abs(values.sum(axis=1) + estimator.expected_value_ - prediction)
    assert error.max() <= tolerance * np.abs(prediction).max()
    return values


def chain_of(order, n_features, n_levels=920):
    """Return a fitted estimator whose tree is a chain: each split cuts a leaf off.

    The splits are on the features `order`, in turn, and the shares of the leaves differ widely.
    """
    rng = np.random.default_rng(0)
    shares = rng.random(n_levels) ** 3 / 10
    n = 2 * n_levels + 1
    nodes = {name: np.full(n, -1, np.int32) for name in ("left", "right")}
    feature, threshold, weight = np.full(n, -2, np.int32), np.full(n, -2.0), np.empty(n)
    rest = 1.0
    for level, share in enumerate(shares):
        node = 2 * level
        feature[node], threshold[node] = order[level % n_features], level // n_features + 0.5
        nodes["left"][node], nodes["right"][node] = node + 1, node + 2
        weight[node], weight[node + 1] = rest, rest * share
        rest -= weight[node + 1]
    weight[-1] = rest
    value = rng.normal(size=(n, 1, 1))
    tree = spinney._spinney.Tree(
        n_features,
        [1],
        nodes["left"],
        nodes["right"],
        feature,
        threshold,
        np.zeros(n, np.uint8),
        np.zeros(n),
        np.ones(n, np.int64),
        weight,
        value,
    )
    estimator = spinney.DecisionTreeRegressor().fit(np.zeros((1, n_features)), [0.0])
    estimator.tree_ = tree
    return estimator


@pytest.mark.parametrize("n_features", [3, 920])
def test_values_add_up_on_deep_chains(n_features):
    rng = np.random.default_rng(1)
    order = rng.permutation(n_features)
    tree = chain_of(order, n_features)
    assert tree.tree_.max_depth == 920
    # Rows that go along all of the chain, along none of it, and to and fro.
    rows = [np.zeros(n_features), np.ones(n_features), np.full(n_features, 2000.0)]
    rows += [rng.integers(0, 2, n_features) * scale for scale in (1, 500, 1000)]
    rows += [rng.random(n_features) < share for share in (0.01, 0.1, 0.5, 0.9, 0.99)]
    check_additivity(tree, np.vstack(rows).astype(float), 1e-12)


@pytest.mark.parametrize("n_features", [17, 20, 40, 300])
def test_values_add_up_where_paths_meet_many_features(n_features):
    rng = np.random.default_rng(0)
    tree = chain_of(np.arange(n_features), n_features, n_features)
    rows = (rng.random((50, n_features)) < np.linspace(0, 1, 50)[:, None]).astype(float)
    check_additivity(tree, rows, 1e-12)


def integrate(polynomial):
    return sum(c / (k + 1) for k, c in enumerate(polynomial))


def multiply(polynomial, factor):
    result = [Fraction(0)] * (len(polynomial) + 1)
    for k, c in enumerate(polynomial):
        result[k] += c * factor[0]
        result[k + 1] += c * factor[1]
    return result


def test_values_of_long_paths_are_exact():
    """A chain on 24 features: integrals of polynomials, in fractions."""
    n_features = 24
    estimator = chain_of(np.arange(n_features), n_features, n_features)
    tree = estimator.tree_
    weights = [Fraction(float(weight)) for weight in tree.weighted_n_node_samples]
    rng = np.random.default_rng(2)
    for share in (0.2, 0.6):
        row = (rng.random(n_features) < share).astype(float)
        expected = [Fraction(0)] * n_features
        above = []
        for level in range(n_features + 1):
            ends = [2 * level + 1] if level < n_features else []
            node = 2 * level
            paths = [(above, node)] if level == n_features else []
            if ends:
                left, right = weights[node + 1], weights[node + 2]
                goes_left = row[level] <= 0.5
                paths.append(([*above, (level, goes_left, left / (left + right))], ends[0]))
                above = [*above, (level, not goes_left, right / (left + right))]
            for path, leaf in paths:
                value = Fraction(float(tree.value[leaf, 0, 0]))
                for feature, is_known_so, w in path:
                    product = [Fraction(1)]
                    for other, is_so, v in path:
                        if other != feature:
                            product = multiply(product, (v, int(is_so) - v))
                    expected[feature] += value * (int(is_known_so) - w) * integrate(product)
        found = estimator.shap_values(row[np.newaxis])[0]
        np.testing.assert_allclose(found, np.array(expected, float), rtol=0, atol=1e-13)


def test_values_add_up_in_deep_forests():
    X, y = load_diabetes(return_X_y=True)
    check_additivity(spinney.RandomForestRegressor(20, random_state=0).fit(X, y), X, 1e-13)
    X, y = load_breast_cancer(return_X_y=True)
    values = check_additivity(spinney.ExtraTreesClassifier(20, random_state=0).fit(X, y), X, 1e-13)
    np.testing.assert_array_equal(values[..., 0], -values[..., 1])


def make_sparse(n=300, n_features=700):
    rng = np.random.default_rng(0)
    X = sparse.random(n, n_features, 0.02, format="csr", random_state=0)
    score = np.ravel(X[:, :40].sum(axis=1) - X[:, 40:80].sum(axis=1)) + rng.normal(size=n) / 20
    return X, np.digitize(score, [-0.3, 0.3])


def test_sparse_rows_give_sparse_values():
    X, y = make_sparse()
    for estimator in (
        spinney.RandomForestClassifier(5, random_state=0).fit(X, y),
        spinney.RandomForestRegressor(5, random_state=0).fit(X, y),
        spinney.DecisionTreeClassifier(random_state=0).fit(X, y > 0),
    ):
        dense = estimator.shap_values(X.toarray())
        for matrix in (X, X.tocsc(), sparse.csr_array(X)):
            found = estimator.shap_values(matrix)
            parts = found if isinstance(found, list) else [found]
            dense_parts = np.moveaxis(dense, 2, 0) if isinstance(found, list) else [dense]
            for part, expected in zip(parts, dense_parts, strict=True):
                assert part.format == "csr"
                assert part.shape == X.shape
                assert part.has_canonical_format
                assert np.all(part.data != 0)
                assert part.indices.dtype == part.indptr.dtype == np.int32
                np.testing.assert_array_equal(part.toarray(), expected)
        used = np.unique(np.concatenate([t.feature for t in list_trees(estimator)]))
        assert set(part.indices) <= set(used)


def test_sparse_values_of_several_outputs():
    X, y = make_sparse()
    two = np.column_stack([y, y > 0])
    classifier = spinney.DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, two)
    found = classifier.shap_values(X[:5])
    assert [len(part) for part in found] == [3, 2]
    for part, expected in zip(found, classifier.shap_values(X[:5].toarray()), strict=True):
        for matrix, values in zip(part, np.moveaxis(expected, 2, 0), strict=True):
            np.testing.assert_array_equal(matrix.toarray(), values)
    regressor = spinney.DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, two)
    found, expected = regressor.shap_values(X[:5]), regressor.shap_values(X[:5].toarray())
    for matrix, values in zip(found, np.moveaxis(expected, 2, 0), strict=True):
        np.testing.assert_array_equal(matrix.toarray(), values)


def test_bits_do_not_depend_on_threads_batches_or_storage():
    X, y = load_iris(return_X_y=True)
    forest = spinney.RandomForestClassifier(20, random_state=0).fit(X, y)
    expected = forest.shap_values(X)
    for n_jobs in (2, 3):
        np.testing.assert_array_equal(forest.set_params(n_jobs=n_jobs).shap_values(X), expected)
    forest.set_params(n_jobs=1)
    in_parts = [forest.shap_values(X[first : first + 7]) for first in range(0, 150, 7)]
    np.testing.assert_array_equal(np.concatenate(in_parts), expected)
    for rows in (np.asfortranarray(X), X[::-1][::-1], pickle.loads(pickle.dumps(X))):
        np.testing.assert_array_equal(forest.shap_values(rows), expected)
    single = X.astype(np.float32)
    np.testing.assert_array_equal(
        forest.shap_values(single), forest.shap_values(single.astype(np.float64))
    )


def test_many_contributions_add_up_in_batches_and_on_threads():
    # So many that rows are worked on side by side instead of points.
    X, _ = make_sparse(600, 900)
    y = np.random.default_rng(1).integers(40, size=600)
    forest = spinney.ExtraTreesClassifier(10, random_state=0).fit(X, y)
    used = np.unique(np.concatenate([tree.feature for tree in list_trees(forest)]))
    assert (used.size - 1) * 40 > 16_384
    rows = X[:21]
    expected = forest.shap_values(rows)
    sums = np.column_stack([np.ravel(part.sum(axis=1)) for part in expected])
    error = sums + forest.expected_value_ - forest.predict_proba(rows)
    assert np.abs(error).max() < 1e-12
    in_parts = [forest.shap_values(rows[first : first + 5]) for first in range(0, 21, 5)]
    on_threads = forest.set_params(n_jobs=2).shap_values(rows)
    dense = np.moveaxis(forest.shap_values(rows.toarray()), 2, 0)
    for value, part in enumerate(expected):
        stacked = sparse.vstack([parts[value] for parts in in_parts])
        for found in (stacked.toarray(), on_threads[value].toarray(), dense[value]):
            np.testing.assert_array_equal(found, part.toarray())


def test_features_that_no_split_uses_contribute_nothing():
    X, y = load_iris(return_X_y=True)
    tree = spinney.DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    values = tree.shap_values(X)
    used = tree.tree_.feature[0]
    assert np.all(values[:, used] != 0)
    assert np.all(np.delete(values, used, axis=1) == 0)
    leaf = spinney.DecisionTreeRegressor(max_depth=3).fit(X, np.full(150, 7.0))
    assert leaf.expected_value_ == 7.0
    assert not leaf.shap_values(X).any()
    assert leaf.shap_values(sparse.csr_matrix(X)).nnz == 0


ONES = np.array([0, 1, 2, 2, 2, 2, 2, 2])
# Of most pairs of rows all have one value.
ALIKE = {
    "two classes": (spinney.RandomForestClassifier, ONES > 0),
    "three classes": (spinney.RandomForestClassifier, ONES),
    "outputs of classes": (spinney.RandomForestClassifier, np.column_stack([ONES, ONES > 0])),
    "numbers": (spinney.RandomForestRegressor, ONES / 3),
    "outputs of numbers": (spinney.RandomForestRegressor, np.column_stack([ONES, ONES / 3])),
    "extra trees": (spinney.ExtraTreesClassifier, ONES),
}


@pytest.mark.parametrize("kind", ALIKE)
@pytest.mark.parametrize("interactions", [False, True])
def test_trees_of_one_leaf_contribute_nothing(kind, interactions, tmp_path):
    """Whichever trees of a forest they are: a thread may meet one before it has any room."""
    estimator_class, y = ALIKE[kind]
    X = np.column_stack([np.arange(8), np.arange(8) % 3]).astype(float)
    seen = set()
    for seed in range(100):
        forest = estimator_class(
            3, max_samples=2, bootstrap=True, random_state=seed, n_jobs=1 + seed % 2
        ).fit(X, y)
        if seed % 3 == 0:
            forest.save(tmp_path / "model")
            forest = spinney.load(tmp_path / "model")
        trees = list_trees(forest)
        seen.add(tuple(tree.node_count == 1 for tree in trees))
        found = stack_outputs(
            forest.shap_values(X, interactions=interactions), trees[0].max_n_classes
        )
        for row, values in zip(X, found, strict=True):
            expected, _ = explain_exactly(trees, row, interactions)
            np.testing.assert_allclose(values.reshape(expected.shape), expected, atol=2e-15)
        if seed % 3 == 1 and kind == "two classes":
            forest.explain(X[:1])
        if len(seen) == 8 and seed > 10:
            break
    assert len(seen) == 8


def test_frames_with_categories():
    frame = pd.DataFrame({"colour": ["r", "g", "b", "r", None] * 10, "size": np.arange(50.0)})
    y = np.where(frame["colour"] == "r", 2.0, 0.0) + frame["size"] / 50
    tree = spinney.DecisionTreeRegressor(categorical_features=["colour"]).fit(frame, y)
    check_additivity(tree, frame, 1e-13)
    with pytest.warns(UserWarning, match="'colour' .1 value, such as 'unknown'"):
        assert check_additivity(tree, frame.assign(colour="unknown"), 1e-13).shape == (50, 2)


def test_illegal_calls():
    X, y = load_iris(return_X_y=True)
    forest = spinney.RandomForestClassifier(2)
    with pytest.raises(NotFittedError):
        forest.shap_values(X)
    with pytest.raises(NotFittedError):
        forest.expected_value_  # noqa: B018
    forest.fit(X, y)
    with pytest.raises(ValueError, match="X has 3 features"):
        forest.shap_values(X[:, :3])
    with pytest.raises(ValueError, match="'interactions' parameter of shap_values must be a bool"):
        forest.shap_values(X, interactions="yes")


def test_pairs_of_too_many_features_are_refused():
    n_features = 2_000_000
    X = sparse.csr_matrix(([1.0], ([0], [0])), shape=(2, n_features))
    tree = spinney.DecisionTreeClassifier().fit(X, [0, 1])
    assert tree.shap_values(X)[0].nnz == 2
    with pytest.raises(MemoryError, match="SHAP values"):
        tree.shap_values(X, interactions=True)


def test_shap_is_optional(monkeypatch):
    X, y = load_iris(return_X_y=True)
    tree = spinney.DecisionTreeClassifier().fit(X, y)
    monkeypatch.setitem(__import__("sys").modules, "shap", None)
    with pytest.raises(ImportError, match="pip install shap"):
        tree.to_shap(X)


def test_progress_counts_trees(capsys):
    X, y = load_iris(return_X_y=True)
    forest = spinney.RandomForestClassifier(11, random_state=0).fit(X, y).set_params(verbose=2)
    forest.shap_values(X)
    assert "explaining tree 11 of 11" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["forest", "tree"])
def test_what_no_row_changes_is_made_once(kind):
    """And it is no part of pickles."""
    rng = np.random.default_rng(0)
    X, y = rng.random((3000, 8)), rng.random(3000)
    model = spinney.RandomForestRegressor(10, random_state=0, n_jobs=1)
    model = (model if kind == "forest" else spinney.DecisionTreeRegressor(random_state=0)).fit(X, y)
    before = pickle.dumps(model)

    def seconds(copy):
        started = time.perf_counter()
        copy.shap_values(X[:1])
        return time.perf_counter() - started

    expected = model.shap_values(X[:5])
    np.testing.assert_array_equal(model.shap_values(X[:5]), expected)
    np.testing.assert_array_equal(model.shap_values(X[:1])[0], expected[0])
    assert pickle.dumps(model) == before
    copies = (pickle.loads(before) for _ in range(6))
    assert any(seconds(copy) > 2 * seconds(copy) for copy in copies)


def test_thresholds_next_to_values_are_found():
    """As the arrays of the trees have them."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 30, (300, 4)).astype(float), rng.random(300)
    X[rng.random(X.shape) < 0.1] = np.nan
    forest = spinney.RandomForestRegressor(5, random_state=0).fit(X, y)
    for row in X[:20]:
        low, high = forest.forest_.find_thresholds(row, 2)
        for feature, value in enumerate(row):
            trees = [tree.tree_ for tree in forest.estimators_]
            known = np.concatenate([t.threshold[t.feature == feature] for t in trees])
            assert low[feature] == max(known[known < value], default=-np.inf)
            assert high[feature] == min(known[known >= value], default=np.inf)
