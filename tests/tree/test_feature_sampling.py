"""Drawing among all features, or among those that are not constant in the node."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from oracle import NO_CHILD, assert_same_tree
from spinney import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier
from strategies import ESTIMATORS

every_estimator = pytest.mark.parametrize("tree_class", ESTIMATORS)
STORAGES = {"dense": np.asarray, "csc": sp.csc_matrix, "csr": sp.csr_array}
every_storage = pytest.mark.parametrize("storage", STORAGES.values(), ids=STORAGES)


def mostly_empty(n_samples=60, n_features=2000, n_varying=6):
    """Return a matrix of few columns that vary, some full and all others empty, and labels."""
    rng = np.random.default_rng(0)
    X = np.zeros((n_samples, n_features))
    X[:, rng.choice(n_features, 50, replace=False)] = 3.0
    varying = rng.choice(n_features, n_varying, replace=False)
    X[:, varying] = rng.integers(0, 4, (n_samples, n_varying))
    return X, varying, rng.integers(0, 2, n_samples)


def bag_of_words(n_documents=500, n_words=3000, n_topics=5, seed=0):
    """Return counts of words of which a few are frequent and most are rare, and topics.

    A document has 60 words. Every third is of the words of its topic, and both kinds follow
    Zipf's law.
    """
    rng = np.random.default_rng(seed)
    zipf = 1 / np.arange(1, n_words + 1)
    zipf /= zipf.sum()
    topics = rng.integers(0, n_topics, n_documents)
    orders = np.array([rng.permutation(n_words) for _ in range(n_topics)])
    words = rng.choice(n_words, (n_documents, 60), p=zipf)
    words[:, ::3] = orders[topics[:, None], words[:, ::3]]
    documents = np.repeat(np.arange(n_documents), 60)
    counts = sp.coo_array((np.ones(words.size), (documents, words.ravel())))
    counts.resize((n_documents, n_words))
    return counts.tocsr(), topics


@every_estimator
def test_parameter_of_the_estimator(tree_class):
    """It is a parameter like any other."""
    tree = tree_class(feature_sampling="active")
    assert tree.get_params()["feature_sampling"] == "active"
    assert clone(tree).feature_sampling == "active"
    assert tree_class().feature_sampling == "all"
    assert tree.set_params(feature_sampling="all").feature_sampling == "all"
    assert repr(tree_class(feature_sampling="active")).endswith("(feature_sampling='active')")


@pytest.mark.parametrize("value", ["Active", "none", None, 1, ["all"]])
@every_estimator
def test_illegal_value(tree_class, value):
    """The message says what is allowed."""
    message = (
        f"The 'feature_sampling' parameter of {tree_class.__name__} must be a str among "
        f"{{'all', 'active'}}. Got {value!r} instead."
    )
    with pytest.raises(ValueError) as caught:
        tree_class(feature_sampling=value).fit([[0.0], [1.0]], [0, 1])
    assert str(caught.value) == message


@pytest.mark.parametrize("max_features", [1, 2, "sqrt"])
@every_estimator
def test_mostly_empty_columns(tree_class, max_features):
    """Nodes are cut at columns that vary, whatever the storage, down to the same bits."""
    X, varying, y = mostly_empty()
    params = {"max_features": max_features, "feature_sampling": "active"}
    for seed in range(3):
        tree = tree_class(random_state=seed, **params).fit(X, y)
        inner = tree.tree_.children_left != NO_CHILD
        assert inner.sum() > 5
        assert set(tree.tree_.feature[inner]) <= set(varying)
        for storage in STORAGES.values():
            for n_jobs in (1, 2):
                other = tree_class(random_state=seed, n_jobs=n_jobs, **params).fit(storage(X), y)
                assert_same_tree(tree, other)


@every_storage
def test_constant_features_do_not_count(storage):
    """Of twelve columns two vary, and two are drawn: always those."""
    X = np.zeros((30, 12))
    X[:, 0] = 1.0
    X[:, 3] = np.arange(30)
    X[:, 8] = np.random.default_rng(1).permutation(30)
    params = {"max_features": 2, "max_depth": 1, "feature_sampling": "active"}
    for seed in range(50):
        tree = DecisionTreeRegressor(random_state=seed, **params).fit(storage(X), X[:, 3])
        assert tree.tree_.feature[0] == 3


@every_storage
def test_varying_features_are_drawn_evenly(storage):
    """With one feature per node, each of those that vary is drawn about equally often."""
    X, varying, y = mostly_empty(n_varying=4)
    X = storage(X)
    params = {"max_features": 1, "max_depth": 1, "feature_sampling": "active"}
    roots = [
        ExtraTreeClassifier(random_state=seed, **params).fit(X, y).tree_.feature[0]
        for seed in range(200)
    ]
    features, counts = np.unique(roots, return_counts=True)
    assert set(features) == set(varying)
    # binomial(200, 0.25): 50 with a standard deviation of 6
    assert counts.min() > 23
    assert counts.max() < 77


@every_storage
@every_estimator
def test_no_feature_varies(tree_class, storage):
    """Equal rows are a leaf."""
    tree = tree_class(max_features=2, feature_sampling="active")
    assert tree.fit(storage(np.ones((6, 5))), [0, 1] * 3).get_n_leaves() == 1


@every_estimator
def test_all_features_are_all_that_vary(tree_class):
    """If all features are drawn, or as many as vary, the tree is the same."""
    X, varying, y = mostly_empty()
    X = sp.csc_matrix(X)
    tree = tree_class(max_features=None, random_state=1).fit(X, y)
    for max_features in (None, 1.0, len(varying), X.shape[1] - 1):
        params = {"max_features": max_features, "feature_sampling": "active"}
        assert_same_tree(tree, tree_class(random_state=1, **params).fit(X, y))


@pytest.mark.parametrize("splitter", ["best", "random"])
def test_trees_of_words_are_smaller(splitter):
    """In a small node most words do not occur: drawing those that do finds better cuts."""
    X, y = bag_of_words()
    params = {"splitter": splitter, "max_features": "sqrt"}
    depths, sizes = {}, {}
    for feature_sampling in ("all", "active"):
        trees = [
            DecisionTreeClassifier(
                feature_sampling=feature_sampling, random_state=seed, **params
            ).fit(X, y)
            for seed in range(10)
        ]
        depths[feature_sampling] = np.mean([tree.get_depth() for tree in trees])
        sizes[feature_sampling] = np.mean([tree.get_n_leaves() for tree in trees])
    assert depths["active"] < 0.8 * depths["all"]
    assert sizes["active"] < 0.9 * sizes["all"]
    tree = DecisionTreeClassifier(feature_sampling="active", random_state=0, **params).fit(X, y)
    for form in (X.toarray(), X.tocsc()):
        same = DecisionTreeClassifier(feature_sampling="active", random_state=0, n_jobs=2, **params)
        assert_same_tree(tree, same.fit(form, y))


@pytest.mark.parametrize("max_features", [1, "sqrt", 0.3])
def test_the_draw_goes_on_until_a_feature_varies(max_features):
    """Sparse rows that are equal but for a few columns have the trees of dense ones."""
    rng = np.random.default_rng(0)
    for seed in range(20):
        dense = np.tile(rng.integers(0, 3, 200), (24, 1)).astype(float)
        varying = rng.choice(200, seed % 4, replace=False)
        dense[:, varying] = rng.integers(0, 2, (24, len(varying)))
        y = rng.integers(0, 2, 24)
        tree = DecisionTreeClassifier(max_features=max_features, random_state=seed)
        expected = clone(tree).fit(dense, y)
        for form in (sp.csr_array(dense), sp.csc_array(dense)):
            assert_same_tree(expected, clone(tree).fit(form, y))


def test_equal_sparse_rows_do_not_take_for_ever():
    """No feature varies: each is met, and the entries of all rows are not read for each of them."""
    n_samples, n_features = 32, 1 << 18
    indices = np.tile(np.arange(n_features, dtype=np.int32), n_samples)
    indptr = np.arange(n_samples + 1, dtype=np.int32) * n_features
    shape = (n_samples, n_features)
    X = sp.csr_array((np.ones(len(indices), np.float32), indices, indptr), shape=shape)
    tree = DecisionTreeClassifier(max_features="sqrt", random_state=0)
    assert tree.fit(X, np.arange(n_samples) % 2).get_n_leaves() == 1
