"""Random trees as a transformer: scikit-learn's meaning, and that storage does not show."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
from scipy import sparse
from sklearn.datasets import load_iris, make_circles
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import spinney
from spinney import Dataset, RandomTreesEmbedding

X_IRIS = load_iris().data


def make_data(n_samples, n_features, seed=0):
    """Return small integers, half of them 0, and some missing values."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n_samples, n_features)) * rng.integers(0, 2, (n_samples, n_features))
    return np.where(rng.random(X.shape) < 0.05, np.nan, X.astype(np.float64))


def test_codes_are_the_leaves():
    embedding = RandomTreesEmbedding(n_estimators=8, random_state=0)
    codes = embedding.fit_transform(X_IRIS)
    leaves = embedding.apply(X_IRIS)
    expected = embedding.one_hot_encoder_.transform(leaves)
    assert isinstance(codes, sparse.csr_matrix)
    assert codes.dtype == expected.dtype == np.float64
    np.testing.assert_array_equal(codes.toarray(), expected.toarray())
    np.testing.assert_array_equal(codes.sum(axis=1), 8)
    assert codes.has_sorted_indices
    names = embedding.get_feature_names_out()
    assert len(names) == codes.shape[1]
    column = codes.indices[0]
    assert names[column] == f"randomtreesembedding_0_{leaves[0, 0]}"
    dense = RandomTreesEmbedding(n_estimators=8, sparse_output=False, random_state=0)
    np.testing.assert_array_equal(dense.fit_transform(X_IRIS), codes.toarray())
    framed = dense.set_output(transform="pandas").transform(X_IRIS)
    assert framed.columns.tolist() == names.tolist()


def test_storage_threads_and_the_number_of_trees_do_not_show():
    X = make_data(500, 6)
    params = {"n_estimators": 5, "random_state": 1}
    codes = RandomTreesEmbedding(**params).fit_transform(X)
    for other in (
        np.asfortranarray(X),
        X.astype(np.float32),
        sparse.csr_matrix(X),
        sparse.csc_array(X),
        pd.DataFrame(X),
        Dataset(X),
        Dataset(sparse.csr_matrix(X)),
    ):
        same = RandomTreesEmbedding(n_jobs=2, **params).fit_transform(other)
        assert (same != codes).nnz == 0
    more = RandomTreesEmbedding(n_estimators=9, random_state=1).fit(X)
    grown = RandomTreesEmbedding(warm_start=True, **params).fit(X)
    before = grown[0]
    grown.set_params(n_estimators=9).fit(X)
    assert (grown.transform(X) != more.transform(X)).nnz == 0
    assert grown[0] is before
    # The first trees are those of fewer trees.
    assert (more.transform(X)[:, : codes.shape[1]] != codes).nnz == 0


@pytest.mark.parametrize(
    "params",
    [
        {"max_depth": 2},
        {"max_depth": None, "min_samples_leaf": 5},
        {"min_samples_split": 0.3},
        {"max_leaf_nodes": 6, "max_depth": None},
        {"min_weight_fraction_leaf": 0.1},
        {"min_impurity_decrease": 0.05},
    ],
)
def test_limits_of_trees(params):
    embedding = RandomTreesEmbedding(n_estimators=10, random_state=0, **params).fit(X_IRIS)
    for tree in (fitted.tree_ for fitted in embedding):
        is_leaf = tree.children_left < 0
        sizes = tree.n_node_samples
        assert tree.max_depth <= (params.get("max_depth", 5) or 150)
        assert sizes[is_leaf].min() >= params.get("min_samples_leaf", 1)
        assert all(sizes[~is_leaf] >= 150 * params.get("min_samples_split", 0.0))
        assert is_leaf.sum() <= params.get("max_leaf_nodes", 150)
        assert sizes[is_leaf].min() >= 150 * params.get("min_weight_fraction_leaf", 0.0)
        # A node's impurity is the mean path that would isolate one of its samples.
        decreases = [
            sizes[node] * tree.impurity[node]
            - sum(sizes[child] * tree.impurity[child] for child in children)
            for node, children in enumerate(
                zip(tree.children_left, tree.children_right, strict=True)
            )
            if children[0] >= 0
        ]
        assert min(decreases, default=150) / 150 >= params.get("min_impurity_decrease", 0.0) - 1e-12
    assert max(len(fitted.tree_.children_left) for fitted in embedding) > 3


def test_weights_are_copies():
    weights = np.arange(150) % 3
    params = {"n_estimators": 6, "min_weight_fraction_leaf": 0.02, "random_state": 0}
    weighted = RandomTreesEmbedding(**params).fit(X_IRIS, sample_weight=weights)
    copied = RandomTreesEmbedding(**params).fit(np.repeat(X_IRIS, weights, axis=0))
    np.testing.assert_array_equal(weighted.apply(X_IRIS), copied.apply(X_IRIS))


def test_categories_and_missing_values():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "number": np.where(rng.random(300) < 0.2, np.nan, rng.normal(size=300)),
            "kind": rng.choice(["a", "b", "c", None], 300),
        }
    )
    params = {"n_estimators": 20, "random_state": 0, "categorical_features": ["kind"]}
    codes = RandomTreesEmbedding(**params).fit_transform(frame)
    renamed = frame.assign(kind=frame["kind"].map({"a": "z", "b": "y", "c": "x"}))
    assert (RandomTreesEmbedding(**params).fit_transform(renamed) != codes).nnz == 0
    same = RandomTreesEmbedding(**params).fit(frame)
    same.set_params(handle_unknown="error")
    with pytest.raises(ValueError, match="kind"):
        same.transform(frame.assign(kind="new"))


def test_circles_are_parted():
    X, y = make_circles(200, factor=0.5, random_state=0)
    model = make_pipeline(RandomTreesEmbedding(30, random_state=0), LogisticRegression())
    assert model.fit(X, y).score(X, y) == 1.0


def test_files_pickles_and_conversion(tmp_path):
    X = X_IRIS.astype(np.float32)
    embedding = RandomTreesEmbedding(7, max_depth=4, random_state=0).fit(X)
    codes = embedding.transform(X)
    embedding.save(tmp_path / "trees")
    for same in (spinney.load(tmp_path / "trees"), pickle.loads(pickle.dumps(embedding))):
        assert type(same) is RandomTreesEmbedding
        assert same.get_params() == embedding.get_params()
        assert (same.transform(X) != codes).nnz == 0
    converted = embedding.to_sklearn()
    assert type(converted) is sklearn.ensemble.RandomTreesEmbedding
    assert (converted.transform(X) != codes).nnz == 0
    np.testing.assert_array_equal(
        converted.get_feature_names_out(), embedding.get_feature_names_out()
    )
    assert isinstance(embedding, sklearn.ensemble.RandomTreesEmbedding)


def test_trees_of_scikit_learn_code_alike_here():
    model = sklearn.ensemble.RandomTreesEmbedding(8, random_state=0).fit(X_IRIS)
    embedding = spinney.from_sklearn(model)
    assert type(embedding) is RandomTreesEmbedding
    assert (embedding.transform(X_IRIS) != model.transform(X_IRIS)).nnz == 0
    assert embedding.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()
    best_first = sklearn.ensemble.RandomTreesEmbedding(max_leaf_nodes=5).fit(X_IRIS)
    with pytest.raises(ValueError, match="max_leaf_nodes numbers its leaves"):
        spinney.from_sklearn(best_first)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"n_estimators": 0}, "'n_estimators' .* int in the range"),
        ({"max_depth": 0}, "'max_depth' .* int in the range"),
        ({"min_samples_leaf": 0}, "'min_samples_leaf'"),
        ({"max_leaf_nodes": 1}, "'max_leaf_nodes'"),
        ({"sparse_output": 1}, "'sparse_output' .* a bool"),
        ({"warm_start": None}, "'warm_start' .* a bool"),
        ({"verbose": -1}, "'verbose'"),
        ({"handle_unknown": "use"}, "'handle_unknown'"),
    ],
)
def test_illegal_parameters(params, words):
    embedding = RandomTreesEmbedding(**params)
    before = dict(vars(embedding))
    with pytest.raises(ValueError, match=words):
        embedding.fit(X_IRIS)
    assert vars(embedding) == before


def test_illegal_arguments():
    frame = load_iris(as_frame=True).data
    embedding = RandomTreesEmbedding(2).fit(frame)
    with pytest.raises(ValueError, match="is not equal to feature_names_in_"):
        embedding.get_feature_names_out(["a", "b", "c", "d"])
    embedding = RandomTreesEmbedding(2).fit(X_IRIS)
    with pytest.raises(ValueError, match=r"number of features \(4\), got 2"):
        embedding.get_feature_names_out(["a", "b"])
    with pytest.raises(ValueError, match="sample_weight"):
        RandomTreesEmbedding(2).fit(X_IRIS, sample_weight=np.zeros(150))
