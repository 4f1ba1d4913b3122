"""Targets, weights and values at the limits of integers and fixed point."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from oracle import assert_same_tree
from spinney import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    LazyForestRegressor,
    RandomForestRegressor,
)

RNG_SEED = 3


@pytest.mark.parametrize("outlier", [1e6, 1e9, 1e12])
def test_an_outlier_does_not_drown_the_rest(outlier):
    """Distinct rows are told apart although one target is many orders of magnitude larger."""
    rng = np.random.default_rng(RNG_SEED)
    X = rng.random((500, 2))
    y = np.sin(9 * X[:, 0])
    y[7] = outlier
    tree = DecisionTreeRegressor(random_state=0).fit(X, y)
    np.testing.assert_array_equal(tree.predict(X), y)


def test_beyond_fixed_point_a_leaf_still_predicts_its_mean():
    """Targets closer than 2^-60 of the range are not told apart: their mean is predicted."""
    rng = np.random.default_rng(RNG_SEED)
    X, y = rng.random((300, 2)), rng.uniform(1, 2, 300)
    y[7] = 1e19
    tree = DecisionTreeRegressor(random_state=0).fit(X, y)
    leaves = tree.apply(X)
    for leaf in np.unique(leaves):
        members = y[leaves == leaf]
        predicted = tree.tree_.value[leaf, 0, 0]
        assert predicted == pytest.approx(members.mean(), rel=1e-14)


def test_long_tails():
    """A log-normal target of some thirty orders of magnitude: every row keeps its value."""
    rng = np.random.default_rng(RNG_SEED)
    X, y = rng.random((400, 3)), rng.lognormal(sigma=3.0, size=400)
    tree = DecisionTreeRegressor(random_state=0).fit(X, y)
    np.testing.assert_array_equal(tree.predict(X), y)


@pytest.mark.parametrize("unit", [0.1, 1 / 3, 1e-30])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_multiples_of_any_unit_are_integers(criterion, unit):
    """Weights of 1 and 2 units give the tree of weights 1 and 2."""
    rng = np.random.default_rng(RNG_SEED)
    X, y = rng.integers(0, 4, (60, 4)).astype(float), rng.integers(0, 3, 60)
    weights = rng.integers(1, 3, 60)
    grow = DecisionTreeClassifier(criterion=criterion, random_state=0).fit
    one, other = grow(X, y, weights).tree_, grow(X, y, weights * unit).tree_
    for name in ("children_left", "feature", "threshold", "value", "impurity"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_uniform_weights_are_copies_to_the_last_bit(k):
    """Means and variances of weight k and of k copies have the same bits, whatever the targets."""
    rng = np.random.default_rng(RNG_SEED)
    X, y = rng.random((60, 3)), rng.random(60)
    grow = DecisionTreeRegressor(random_state=0, max_depth=3).fit
    weighted = grow(X, y, np.full(60, k)).tree_
    copied = grow(np.repeat(X, k, axis=0), np.repeat(y, k)).tree_
    for name in ("children_left", "feature", "threshold", "value", "impurity"):
        one, other = getattr(weighted, name), getattr(copied, name)
        np.testing.assert_array_equal(one, other, err_msg=name)


def test_a_row_of_weight_zero_is_as_good_as_absent():
    """Not even its outlying target shows."""
    rng = np.random.default_rng(RNG_SEED)
    X, y = rng.random((80, 3)), rng.random(80)
    y[0] = 1e25
    weights = np.ones(80)
    weights[0] = 0
    with_row = DecisionTreeRegressor(random_state=0).fit(X, y, weights)
    without = DecisionTreeRegressor(random_state=0).fit(X[1:], y[1:])
    np.testing.assert_array_equal(with_row.tree_.threshold, without.tree_.threshold)
    np.testing.assert_array_equal(with_row.tree_.value, without.tree_.value)


def test_bools_of_any_byte_are_true():
    """NumPy takes every byte but 0 for True; so does the tree."""
    bytes_ = np.tile(np.array([[0, 255], [1, 0], [2, 0]], dtype=np.uint8), (4, 1))
    y = [0, 1, 1] * 4
    tree = DecisionTreeClassifier(random_state=0).fit(bytes_.view(bool), y)
    clean = DecisionTreeClassifier(random_state=0).fit(bytes_ != 0, y)
    assert_same_tree(tree, clean)
    assert tree.tree_.threshold[0] == 0.5


@pytest.mark.parametrize("kind", [sp.csc_array, sp.csr_array])
def test_true_twice_is_true(kind):
    """A sparse matrix of bools may store a cell twice."""
    n_rows = 4
    rows, columns = [0, 0, 1, 2, 3], [0, 0, 1, 0, 1]
    coo = sp.coo_array((np.ones(5, dtype=bool), (rows, columns)), shape=(n_rows, 2))
    order = np.lexsort((rows, columns) if kind is sp.csc_array else (columns, rows))
    major, minor = (columns, rows) if kind is sp.csc_array else (rows, columns)
    indptr = np.searchsorted(np.sort(major), np.arange((2 if kind is sp.csc_array else n_rows) + 1))
    X = kind((np.ones(5, dtype=bool), np.array(minor)[order], indptr), shape=coo.shape)
    tree = DecisionTreeClassifier(random_state=0).fit(X, [0, 1, 0, 1])
    assert tree.tree_.threshold[0] == 0.5
    assert X.nnz == 5, "the caller's matrix is left alone"
    np.testing.assert_array_equal(tree.predict(X), [0, 1, 0, 1])


@pytest.mark.parametrize("value", [np.array([0, 1]), "much", [0.5]])
@pytest.mark.parametrize("name", ["ccp_alpha", "max_leaf_nodes", "monotonic_cst"])
def test_illegal_parameters_of_any_type_are_refused(name, value):
    """The message names the parameter, also where comparing the value would fail."""
    tree = DecisionTreeClassifier(**{name: value})
    with pytest.raises(ValueError, match=name):
        tree.fit([[0.0], [1.0]], [0, 1])


def misaligned(array):
    """Return a copy that begins at an odd address, as buffers that came over a network may do."""
    memory = np.empty(array.nbytes + 1, dtype=np.uint8)
    moved = memory[1:].view(array.dtype).reshape(array.shape)
    moved[...] = array
    assert moved.size == 0 or moved.ctypes.data % 2 == 1
    return moved


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
@pytest.mark.parametrize("form", ["rows", "columns", "csr"])
def test_arrays_need_not_be_aligned(form, dtype):
    """Neither the matrix nor what comes with it, in a fit or a prediction."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (60, 4)).astype(dtype)
    y, weights, ids = rng.normal(size=60), rng.uniform(1, 2, 60), np.arange(60, dtype=np.uint64)
    if form == "rows":
        moved = misaligned(X)
    elif form == "columns":
        moved = misaligned(X.T.copy()).T
    else:
        moved = sp.csr_array(X)
        moved.data, moved.indices = misaligned(moved.data), misaligned(moved.indices)
        X = sp.csr_array(X)
    one = RandomForestRegressor(5, bootstrap="poisson", random_state=0)
    other = RandomForestRegressor(5, bootstrap="poisson", random_state=0)
    one.fit(X, y, weights, sample_ids=ids)
    other.fit(moved, misaligned(y), misaligned(weights), sample_ids=misaligned(ids))
    assert_array_equal(one.predict(X), other.predict(moved))
    assert_array_equal(one.apply(X), one.apply(moved))
    importances = one.permutation_importance_oob(X, y, random_state=0).importances
    others = other.permutation_importance_oob(moved, misaligned(y), random_state=0).importances
    assert_array_equal(importances, others)
    lazy = LazyForestRegressor(5, random_state=0)
    expected = lazy.fit(X, y).predict(X)
    assert_array_equal(lazy.fit(moved, misaligned(y)).predict(moved), expected)


@pytest.mark.parametrize("model", [DecisionTreeRegressor(), RandomForestRegressor(3)])
def test_buffers_beside_a_pickle_need_not_be_aligned(model):
    X = np.arange(20.0)[:, np.newaxis]
    model.fit(X, X[:, 0] ** 2)
    buffers = []
    pickled = pickle.dumps(model, protocol=5, buffer_callback=buffers.append)
    assert buffers
    moved = [misaligned(np.frombuffer(buffer.raw(), np.uint8)) for buffer in buffers]
    assert_array_equal(pickle.loads(pickled, buffers=moved).predict(X), model.predict(X))


@pytest.mark.parametrize("weight", [1e290, 1e-310, 3.0])
@pytest.mark.parametrize("estimator_class", [DecisionTreeRegressor, ExtraTreesRegressor])
def test_importances_are_shares_whatever_the_unit_of_weights(estimator_class, weight):
    """Products of weights and impurities do not overflow, and prices of pruning do not either."""
    X, y = np.arange(8.0)[:, None], np.arange(8.0) * 1e9
    model = estimator_class(random_state=0).fit(X, y, sample_weight=np.full(8, weight))
    assert_array_equal(model.feature_importances_, [1.0])
    path = DecisionTreeRegressor().cost_complexity_pruning_path(X, y, np.full(8, weight))
    plain = DecisionTreeRegressor().cost_complexity_pruning_path(X, y)
    np.testing.assert_allclose(path.ccp_alphas, plain.ccp_alphas)


def test_rare_types_of_numbers():
    """Long doubles are rounded; the indices of a matrix may be narrower than its row ends."""
    rng = np.random.default_rng(RNG_SEED)
    X, y = np.round(rng.random((60, 4)) * 4), rng.random(60)
    expected = DecisionTreeRegressor(random_state=0).fit(X, y)
    wide = X.astype(np.longdouble)
    assert_same_tree(DecisionTreeRegressor(random_state=0).fit(wide, y), expected)
    matrix = sp.csr_matrix(X)
    matrix.indptr = matrix.indptr.astype(np.int64)
    assert_same_tree(DecisionTreeRegressor(random_state=0).fit(matrix, y), expected)
    found = expected.predict(wide)
    assert_array_equal(found, expected.predict(X))


def test_one_weight_is_that_of_every_sample():
    rng = np.random.default_rng(RNG_SEED)
    X, y = rng.random((40, 3)), rng.random(40)
    tree = DecisionTreeRegressor(random_state=0).fit(X, y, 2.0)
    expected = DecisionTreeRegressor(random_state=0).fit(X, y, np.full(40, 2.0))
    assert_same_tree(tree, expected)


def test_targets_of_three_dimensions_are_refused():
    X = np.zeros((2, 1), dtype=np.float32)
    with pytest.raises(ValueError, match=r"y must have shape \(n_samples,\) .* Got 3 dimensions"):
        DecisionTreeRegressor().fit(X, np.zeros((2, 1, 1)), check_input=False)
