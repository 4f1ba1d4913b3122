"""Same data, same tree; same seed, same tree: bit for bit, however the data are held."""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import Phase, assume, given
from hypothesis import strategies as st
from sklearn.base import clone

from oracle import STRUCTURE, TREE_ARRAYS, assert_same_paths, assert_same_tree
from strategies import (
    COUNTS,
    ESTIMATORS,
    SMALL_INTEGERS,
    TREE_OF_TASK,
    data,
    dense_storages,
    examples,
    raw_sparse,
    sparse_storages,
    with_long_indices,
)

every_task = pytest.mark.parametrize(
    "task", ["classes", "numbers", "counts", "medians", "quantiles"]
)
every_splitter = pytest.mark.parametrize("splitter", ["best", "random"])
SOME_LEAVES = [
    {"max_leaf_nodes": 7},
    {"max_leaf_nodes": 12, "max_depth": 5},
    {"max_leaf_nodes": 9, "max_features": 2},
    {"ccp_alpha": 0.02},
]
FEATURES = [
    *({"max_features": max_features} for max_features in (None, "sqrt", 1, 0.5)),
    *({"max_features": n, "feature_sampling": "active"} for n in ("sqrt", 1)),
]
some_features = st.sampled_from(FEATURES)
every_features = pytest.mark.parametrize("features", FEATURES)
every_estimator = pytest.mark.parametrize("tree_class", ESTIMATORS)
value_pools = st.sampled_from((SMALL_INTEGERS, COUNTS, (0, 0, 0, 1)))
seeds = st.integers(0, 2**31 - 1)


def grow(drawn, task, X=None, **params):
    """Fit a tree to drawn data, of which `X` may be another form."""
    X = drawn.X if X is None else X
    return TREE_OF_TASK[task](**params).fit(X, drawn.y, sample_weight=drawn.sample_weight)


def assert_same_predictions(tree, X, stored, name=""):
    """Check that a tree sees in a stored form the same rows as in the dense form."""
    np.testing.assert_array_equal(tree.apply(stored), tree.apply(X), err_msg=name)
    np.testing.assert_array_equal(tree.predict(stored), tree.predict(X), err_msg=name)
    assert_same_paths(tree.decision_path(stored), tree.decision_path(X), name)


def rough_data(density, n_samples=3000, n_features=60, seed=0):
    """Return a matrix of a given density, with columns from empty to full, and two targets."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (n_samples, n_features)).astype(np.float64)
    share = np.clip(density * rng.gamma(1.0, 1.0, n_features), 0, 1)
    share[:4] = 0.0, 1.0, 1.5 / n_samples, 1 - 1.5 / n_samples
    X[rng.random(X.shape) >= share] = 0
    X[:, 4] = np.where(X[:, 4] != 0, rng.normal(size=n_samples), 0).astype(np.float32)
    signal = X[:, 1] + X[:, 5] * X[:, 6] + X[:, 4] + rng.normal(size=n_samples)
    classes = np.digitize(signal, [-2.0, 0.0, 1.0])
    numbers = dict.fromkeys(("numbers", "medians", "quantiles"), signal)
    return X, {"classes": classes, "counts": np.maximum(signal, 0), **numbers}


# Some eighty forms are tried for each example: few examples, which are small as they are.
@examples(3, phases=[Phase.generate])
@every_splitter
@every_task
@given(drawn=st.data(), values=value_pools, features=some_features, seed=seeds)
def test_storage_does_not_matter(task, splitter, drawn, values, features, seed):
    """Every dense and sparse form of a matrix gives the same tree and the same predictions."""
    drawn = drawn.draw(data(task, values=values, max_samples=14, missing=True))
    params = {"splitter": splitter, "random_state": seed, **features}
    tree = grow(drawn, task, **params)
    leaves, predicted = tree.apply(drawn.X), tree.predict(drawn.X)
    for name, stored in [*dense_storages(drawn.X), *sparse_storages(drawn.X, seed)]:
        assert_same_tree(tree, grow(drawn, task, stored, **params), note=name)
        np.testing.assert_array_equal(tree.apply(stored), leaves, err_msg=name)
        np.testing.assert_array_equal(tree.predict(stored), predicted, err_msg=name)


@examples(20)
@every_splitter
@every_task
@given(drawn=st.data(), values=value_pools, features=some_features, seed=seeds)
def test_row_order_does_not_matter(task, splitter, drawn, values, features, seed):
    """The same rows in another order give the same tree."""
    drawn = drawn.draw(data(task, values=values, missing=True))
    order = np.random.default_rng(seed).permutation(len(drawn.y))
    weight = drawn.sample_weight
    mixed = type(drawn)(drawn.X[order], drawn.y[order], weight if weight is None else weight[order])
    params = {"splitter": splitter, "random_state": seed, **features}
    tree = grow(drawn, task, **params)
    assert_same_tree(tree, grow(mixed, task, **params))
    assert_same_tree(tree, grow(mixed, task, sp.csc_matrix(mixed.X), **params))


@examples(20)
@every_splitter
@every_task
@given(drawn=st.data(), features=some_features, seed=seeds)
def test_weights_are_copies(task, splitter, drawn, features, seed):
    """A row of weight k is worth k rows, and a row of weight 0 none."""
    drawn = drawn.draw(data(task, missing=True))
    counts = np.random.default_rng(seed).integers(0, 4, len(drawn.y))
    counts[0] = 1
    weighted = drawn._replace(sample_weight=counts.astype(np.float64))
    copied = type(drawn)(
        np.repeat(drawn.X, counts, axis=0), np.repeat(drawn.y, counts, axis=0), None
    )
    # a label of weight 0 is still one of the classes, so `value` would have another shape
    labels = [len(np.unique(y, axis=0)) for y in (drawn.y, copied.y)]
    assume(task != "counts" or copied.y.any())
    assume(task != "classes" or labels[0] == labels[1])
    params = {"splitter": splitter, "random_state": seed, **features}
    one, other = grow(weighted, task, **params), grow(copied, task, **params)
    assert_same_tree(one, other, STRUCTURE)
    for name in ("value", "impurity", "weighted_n_node_samples"):
        ours, theirs = getattr(one.tree_, name), getattr(other.tree_, name)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12, err_msg=name)
    assert one.tree_.n_node_samples[0] == np.count_nonzero(counts)
    assert other.tree_.n_node_samples[0] == counts.sum()


@every_task
@given(drawn=st.data(), seed=seeds)
def test_unit_of_the_weights_does_not_matter(task, drawn, seed):
    """Weights of 1 are no weights, and a common factor of two changes no cut."""
    drawn = drawn.draw(data(task, missing=True))._replace(sample_weight=None)
    plain = grow(drawn, task, random_state=seed)
    ones = grow(drawn._replace(sample_weight=np.ones(len(drawn.y))), task, random_state=seed)
    twos = grow(drawn._replace(sample_weight=np.full(len(drawn.y), 2)), task, random_state=seed)
    assert_same_tree(plain, ones)
    assert_same_tree(plain, twos, [a for a in TREE_ARRAYS if a != "weighted_n_node_samples"])


@pytest.mark.pairwise
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("density", [0.05, 0.5])
@every_features
@every_splitter
@every_task
def test_larger_data_give_one_tree(task, splitter, features, density, weighted):
    """Storage, index width and threads do not matter where the parallel search is at work."""
    X, targets = rough_data(density)
    y = targets[task]
    weight = np.random.default_rng(1).integers(0, 3, len(y)) / 2 if weighted else None
    tree_class = TREE_OF_TASK[task]
    params = {"splitter": splitter, "random_state": 11, **features}
    tree = tree_class(**params).fit(X, y, sample_weight=weight)
    # The one cut that a node draws may leave no counts on a side, even at the root.
    least_depth = {"best": 4, "random": 1}[splitter] if task == "counts" else 9
    assert tree.get_depth() >= least_depth
    csc, csr = sp.csc_matrix(X), sp.csr_array(X)
    stored = [(X, 2), (np.asfortranarray(X, dtype=np.float32), 7), (csc, 1), (csc, 2)]
    stored += [(csc, 7), (csr, 1), (csr, 2), (with_long_indices(csr), 7)]
    for form, n_jobs in stored:
        other = tree_class(n_jobs=n_jobs, **params).fit(form, y, sample_weight=weight)
        assert_same_tree(tree, other)
    for form in (csc, csr, with_long_indices(csc)):
        assert_same_predictions(tree, X, form)


@pytest.mark.parametrize("small", [1e-300, 1e-30, 1e-3, 1.0])
def test_storage_does_not_matter_beside_a_heavy_row(small):
    """Of outputs of different scale, whose excesses cancel where one row weighs nearly all."""
    X = np.array([[13.0, 10.0], [13.0, 10.0], [19.0, 26.0], [15.0, 24.0], [0.0, 5.0]])
    y = np.array([[0.0, -1.0], [small, 0.0], [0.0, 1e8], [0.0, 0.0], [0.0, 0.0]])
    weight = np.array([0.75, 1e12, 1.0, 1.0, 1.0])
    dense, stored = (
        TREE_OF_TASK["numbers"](random_state=0).fit(form, y, sample_weight=weight).tree_
        for form in (X, sp.csc_matrix(X))
    )
    np.testing.assert_array_equal(dense.threshold, stored.threshold)
    # Two cuts part one row of zeros from the others, and the lower one wins.
    assert dense.threshold[1] == 6.5


@pytest.mark.pairwise
@pytest.mark.parametrize("leaves", SOME_LEAVES, ids=str)
@every_splitter
@every_task
@examples(10)
@given(drawn=st.data(), seed=seeds)
def test_storage_does_not_matter_for_the_number_of_leaves(task, splitter, leaves, drawn, seed):
    """The order in which nodes are split and pruned is that of the data, not of their form."""
    drawn = drawn.draw(data(task, missing=True))
    params = {"splitter": splitter, "random_state": seed, **leaves}
    tree = grow(drawn, task, **params)
    for form in (sp.csc_matrix(drawn.X), sp.csr_array(drawn.X)):
        assert_same_tree(tree, grow(drawn, task, form, **params))
        assert_same_tree(tree, grow(drawn, task, form, n_jobs=2, **params))


@pytest.mark.parametrize("density", [0.05, 0.5])
@every_task
def test_threads_do_not_matter_for_the_number_of_leaves(task, density):
    """Any number of threads and any storage give the same hundred leaves."""
    X, targets = rough_data(density)
    trees = [
        TREE_OF_TASK[task](random_state=3, max_leaf_nodes=100, n_jobs=n_jobs).fit(form, y)
        for y in [targets[task]]
        for n_jobs in (None, 2, 7)
        for form in (X, sp.csc_matrix(X), sp.csr_array(X))
    ]
    assert trees[0].get_n_leaves() == 100
    for tree in trees[1:]:
        assert_same_tree(trees[0], tree)


@every_task
@given(drawn=st.data(), seed=seeds)
def test_enough_leaves_are_no_limit(task, drawn, seed):
    """With as many leaves as there can be, the tree is the one without a limit."""
    drawn = drawn.draw(data(task, missing=True))
    tree = grow(drawn, task, random_state=seed)
    n_leaves = max(2, tree.get_n_leaves())
    assert_same_tree(tree, grow(drawn, task, random_state=seed, max_leaf_nodes=n_leaves))


@every_task
def test_threads_do_not_matter_at_any_size(task):
    """Around the sizes at which work is shared out, any number of threads gives one tree."""
    for n_samples in (2, 65, 500, 1100):
        for n_features in (1, 3, 130):
            X, targets = rough_data(0.3, n_samples, max(n_features, 8), seed=n_samples)
            X = X[:, :n_features]
            trees = [
                TREE_OF_TASK[task](random_state=3, n_jobs=n_jobs).fit(form, targets[task])
                for n_jobs in (1, 2, 7)
                for form in (X, sp.csc_matrix(X))
            ]
            for tree in trees[1:]:
                assert_same_tree(trees[0], tree)


@pytest.mark.parametrize("form", ["csc", "csr", "dense"])
@every_estimator
def test_input_is_left_as_it_was(tree_class, form):
    """Fitting and predicting neither sorts nor sums nor casts the caller's arrays in place."""
    rng = np.random.default_rng(0)
    X, targets = rough_data(0.4, 50, 8)
    y, weight = targets["classes"], rng.integers(0, 3, 50) / 2
    if form == "dense":
        given_parts = [X]
        stored = X
    else:
        kind = {"csc": sp.csc_matrix, "csr": sp.csr_array}[form]
        stored = raw_sparse(kind, X, rng, explicit_zeros=0.2, duplicates=True, shuffled=True)
        given_parts = [stored.data, stored.indices, stored.indptr]
    given_parts += [y, weight]
    before = [part.tobytes() for part in given_parts]
    parts = [stored] if form == "dense" else [stored.data, stored.indices, stored.indptr]
    tree = tree_class(random_state=0).fit(stored, y, sample_weight=weight)
    tree.predict(stored)
    tree.apply(stored)
    tree.decision_path(stored)
    assert [part.tobytes() for part in given_parts] == before
    if form != "dense":
        assert stored.data is parts[0]
        assert stored.indices is parts[1]
        assert stored.indptr is parts[2]


@every_task
def test_memory_mapped_file(task, tmp_path):
    """A matrix on disk gives the same tree as in memory, in both orders."""
    X, targets = rough_data(0.5, 200, 8)
    tree = TREE_OF_TASK[task](random_state=0).fit(X, targets[task])
    for order, array in {"C": X, "F": np.asfortranarray(X)}.items():
        file = tmp_path / f"{order}.npy"
        np.save(file, array)
        mapped = np.load(file, mmap_mode="r")
        assert isinstance(mapped, np.memmap)
        assert_same_tree(tree, TREE_OF_TASK[task](random_state=0).fit(mapped, targets[task]))
        np.testing.assert_array_equal(tree.predict(mapped), tree.predict(X))


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@every_estimator
def test_pickle_keeps_every_bit(tree_class, protocol):
    """A tree that went through pickle is the same and predicts the same."""
    X, targets = rough_data(0.3, 300, 12)
    tree = tree_class(random_state=5).fit(X, targets["classes"])
    back = pickle.loads(pickle.dumps(tree, protocol=protocol))
    assert_same_tree(tree, back)
    assert_same_predictions(back, X, sp.csr_matrix(X))
    np.testing.assert_array_equal(back.predict(X), tree.predict(X))
    np.testing.assert_array_equal(back.feature_importances_, tree.feature_importances_)
    assert back.get_params() == tree.get_params()


@every_estimator
def test_clone_and_refit_keep_every_bit(tree_class):
    """A clone is unfitted and grows the same tree; a second fit starts from nothing."""
    X, targets = rough_data(0.3, 300, 12)
    tree = tree_class(random_state=5, max_depth=6).fit(X, targets["classes"])
    copy = clone(tree)
    assert not hasattr(copy, "tree_")
    assert copy.get_params() == tree.get_params()
    assert_same_tree(tree, copy.fit(X, targets["classes"]))
    tree.fit(X[:, :9], targets["classes"][::-1])
    assert tree.n_features_in_ == 9
    assert tree.tree_.n_features == 9
    assert_same_tree(copy, tree.fit(X, targets["classes"]))


@every_estimator
def test_random_state(tree_class):
    """Seeds give different trees; a generator is consumed, a seed is not."""
    X, targets = rough_data(0.5, 200, 12)
    y = targets["classes"]

    def random_tree(random_state):
        tree = tree_class(splitter="random", max_features=2, random_state=random_state)
        return tree.fit(X, y).tree_.threshold.tobytes()

    assert len({random_tree(seed) for seed in range(5)}) == 5
    assert random_tree(3) == random_tree(3)
    # From 2**32 on an int is a seed itself.
    wide = (2**32, 2**32 + 3, 2**64 - 1)
    assert len({random_tree(seed) for seed in (0, 3, *wide)}) == 5
    assert random_tree(np.uint64(2**63)) == random_tree(2**63)
    generator = np.random.RandomState(0)
    assert random_tree(generator) != random_tree(generator)
    assert random_tree(np.random.RandomState(0)) == random_tree(np.random.RandomState(0))


@pytest.mark.parametrize("n_jobs", [1, 2])
@every_estimator
def test_threads_fit_and_predict_at_once(tree_class, n_jobs):
    """Two threads fitting and predicting together get what one alone gets."""
    X, targets = rough_data(0.3, 800, 20)
    y = targets["classes"]
    forms = [X, sp.csc_matrix(X), sp.csr_matrix(X)]
    alone = [tree_class(random_state=seed, n_jobs=n_jobs).fit(X, y) for seed in range(6)]
    predicted = alone[0].predict(X)
    together = threading.Barrier(2)

    def work(thread):
        together.wait()
        for seed, expected in enumerate(alone):
            form = forms[(seed + thread) % 3]
            tree = tree_class(random_state=seed, n_jobs=n_jobs).fit(form, y)
            assert_same_tree(expected, tree)
            np.testing.assert_array_equal(alone[0].predict(form), predicted)
        return True

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(work, range(2))) == [True, True]
