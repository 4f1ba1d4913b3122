"""Isolation forests: scikit-learn's meaning, and that storage and threads do not show."""

import pickle
import time

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble._iforest import _average_path_length
from sklearn.metrics import roc_auc_score

import spinney
from spinney import Dataset, IsolationForest
from strategies import examples

X_IRIS = load_iris().data


def make_data(n_samples, n_features, seed=0):
    """Return small integers, half of them 0, and some missing values."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n_samples, n_features)) * rng.integers(0, 2, (n_samples, n_features))
    return np.where(rng.random(X.shape) < 0.05, np.nan, X.astype(np.float64))


def compute_path_lengths(forest, X):
    """Return mean path lengths, from the arrays of the trees."""
    lengths = np.zeros(len(X))
    for tree in forest.estimators_:
        leaves = tree.apply(X)
        n_nodes = np.asarray(tree.decision_path(X).sum(axis=1)).ravel()
        lengths += n_nodes - 1 + _average_path_length(tree.tree_.weighted_n_node_samples[leaves])
    return lengths / len(forest)


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("max_samples", ["auto", 20, 0.5, 1.0, 1, 2])
def test_scores_are_those_of_the_paths(bootstrap, max_samples):
    forest = IsolationForest(
        n_estimators=20, max_samples=max_samples, bootstrap=bootstrap, random_state=0
    ).fit(X_IRIS)
    lengths = compute_path_lengths(forest, X_IRIS)
    np.testing.assert_allclose(forest.path_length(X_IRIS), lengths, rtol=1e-12)
    usual = _average_path_length([forest.max_samples_])[0]
    expected = -(2.0 ** -(lengths / usual)) if usual > 0 else np.full(len(X_IRIS), -0.5)
    np.testing.assert_allclose(forest.score_samples(X_IRIS), expected, rtol=1e-12)
    np.testing.assert_array_equal(
        forest.decision_function(X_IRIS), forest.score_samples(X_IRIS) - forest.offset_
    )
    assert forest.offset_ == -0.5
    np.testing.assert_array_equal(
        forest.predict(X_IRIS), np.where(forest.score_samples(X_IRIS) < -0.5, -1, 1)
    )


def test_trees_have_the_samples_that_they_say():
    forest = IsolationForest(n_estimators=7, max_samples=30, random_state=3).fit(X_IRIS)
    for tree, rows in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        assert len(np.unique(rows)) == len(rows) == 30
        assert tree.tree_.n_node_samples[0] == 30
        assert tree.tree_.max_depth <= 5
        # Every leaf has the samples that reach it.
        leaves = np.bincount(tree.apply(X_IRIS[rows]), minlength=tree.tree_.node_count)
        is_leaf = tree.tree_.children_left < 0
        np.testing.assert_array_equal(leaves[is_leaf], tree.tree_.n_node_samples[is_leaf])


@examples(20)
@given(
    n_samples=st.integers(1, 300),
    n_features=st.integers(1, 8),
    bootstrap=st.booleans(),
    max_samples=st.sampled_from(["auto", 5, 0.3, 1.0]),
    max_features=st.sampled_from([1.0, 0.5, 1]),
    seed=st.integers(0, 2**32),
)
def test_storage_threads_and_the_number_of_trees_do_not_show(
    n_samples, n_features, bootstrap, max_samples, max_features, seed
):
    X = make_data(n_samples, n_features, seed)
    max_samples = min(max_samples, n_samples) if isinstance(max_samples, int) else max_samples
    params = {
        "max_samples": max_samples,
        "max_features": max_features,
        "bootstrap": bootstrap,
        "random_state": seed,
        "contamination": 0.1,
    }
    forest = IsolationForest(n_estimators=5, **params).fit(X)
    scores = forest.score_samples(X)
    for other in (
        np.asfortranarray(X),
        X.astype(np.float32),
        sparse.csr_matrix(X),
        sparse.csc_array(X),
        np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
        pd.DataFrame(X),
        Dataset(X),
        Dataset(sparse.csr_matrix(X)),
    ):
        same = IsolationForest(n_estimators=5, n_jobs=2, **params).fit(other)
        np.testing.assert_array_equal(same.score_samples(other), scores)
        assert same.offset_ == forest.offset_
    more = IsolationForest(n_estimators=9, **params).fit(X)
    grown = IsolationForest(n_estimators=5, warm_start=True, **params).fit(X)
    own = X[:, more.estimators_features_[3]]
    np.testing.assert_array_equal(more[3].predict(own), forest[3].predict(own))
    grown.set_params(n_estimators=9).fit(X)
    np.testing.assert_array_equal(grown.score_samples(X), more.score_samples(X))


def test_only_drawn_rows_matter():
    X = make_data(5000, 6)
    forest = IsolationForest(n_estimators=3, max_samples=40, random_state=0).fit(X)
    unseen = np.setdiff1d(np.arange(5000), np.concatenate(forest.estimators_samples_))
    other = X.copy()
    other[unseen] = np.inf
    same = IsolationForest(n_estimators=3, max_samples=40, random_state=0).fit(other)
    np.testing.assert_array_equal(same.score_samples(X), forest.score_samples(X))


@pytest.mark.parametrize("bootstrap", [False, True])
def test_weights_are_chances(bootstrap):
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 4, 60).astype(float)
    X = rng.normal(size=(60, 3))
    params = {"n_estimators": 2000, "max_samples": 2, "bootstrap": bootstrap, "random_state": 0}
    forest = IsolationForest(**params).fit(X, sample_weight=weights)
    firsts = np.bincount(np.concatenate(forest.estimators_samples_), minlength=60) / 4000
    np.testing.assert_allclose(firsts, weights / weights.sum(), atol=0.012)
    assert not firsts[weights == 0].any()
    # Rows of weight 0 change nothing, in the threshold either.
    kept = weights > 0
    params["contamination"] = 0.2
    forest = IsolationForest(**params).fit(X, sample_weight=weights)
    alone = IsolationForest(**params).fit(X[kept], sample_weight=weights[kept])
    np.testing.assert_array_equal(forest.score_samples(X), alone.score_samples(X))
    assert forest.offset_ == alone.offset_


def test_missing_values_and_categories():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "number": np.where(rng.random(400) < 0.2, np.nan, rng.normal(size=400)),
            "kind": rng.choice(["a", "b", "c", None], 400),
            "many": rng.choice([f"id {i}" for i in range(90)], 400),
        }
    )
    params = {"n_estimators": 50, "random_state": 0, "categorical_features": ["kind", "many"]}
    forest = IsolationForest(**params).fit(frame)
    scores = forest.score_samples(frame)
    assert forest.categories_[0] is None
    assert forest.categories_[1].tolist() == ["a", "b", "c"]
    dataset = Dataset(frame, categorical_features=["kind", "many"])
    same = IsolationForest(**{**params, "categorical_features": None}).fit(dataset)
    np.testing.assert_array_equal(same.score_samples(dataset), scores)
    # Names of categories do not matter.
    renamed = frame.assign(
        kind=frame["kind"].map({"a": "z", "b": "y", "c": "x"}),
        many=frame["many"].str[::-1],
    )
    other = IsolationForest(**params).fit(renamed)
    np.testing.assert_array_equal(other.score_samples(renamed), scores)
    # A rare category is an anomaly, and so is a value among missing ones.
    odd = frame.assign(kind="a")
    odd.loc[0, "kind"] = "odd"
    odd["number"] = np.nan
    odd.loc[1, "number"] = 0.0
    odd["many"] = "one"
    assert set(np.argsort(IsolationForest(**params).fit(odd).score_samples(odd))[:2]) == {0, 1}
    with pytest.raises(ValueError, match="kind"):
        forest.set_params(handle_unknown="error").predict(frame.assign(kind="new"))


def test_missing_values_go_to_either_side():
    X = np.r_[np.linspace(0, 1, 50), np.full(50, np.nan)][:, None]
    forest = IsolationForest(n_estimators=200, random_state=0).fit(X)
    sides = [bool(tree.tree_.missing_go_to_left[0]) for tree in forest]
    assert 0.35 < np.mean(sides) < 0.65


def test_features_of_each_tree():
    X = np.random.default_rng(0).normal(size=(500, 10))
    forest = IsolationForest(n_estimators=50, max_features=0.3, random_state=0).fit(X)
    assert [len(features) for features in forest.estimators_features_] == [3] * 50
    for tree, features in zip(forest.estimators_, forest.estimators_features_, strict=True):
        assert tree.n_features_in_ == tree.tree_.n_features == 3
        used = np.unique(tree.tree_.feature[tree.tree_.feature >= 0])
        np.testing.assert_array_equal(used, np.arange(3))
        assert np.all(np.diff(features) > 0)
    counts = np.bincount(np.concatenate(forest.estimators_features_), minlength=10)
    assert counts.min() > 4
    everything = IsolationForest(n_estimators=2, random_state=0).fit(X)
    np.testing.assert_array_equal(everything.estimators_features_, [np.arange(10)] * 2)


def mean_length(forest, X):
    """Return the mean over the trees, each of which takes its own features."""
    pairs = zip(forest.estimators_, forest.estimators_features_, strict=True)
    return np.mean([tree.predict(X[:, features]) for tree, features in pairs], axis=0)


def with_categories():
    """Return a frame with a category of few values and one of many, and its codes."""
    rng = np.random.default_rng(0)
    codes = np.column_stack([rng.normal(size=(300, 3)), rng.integers(200, size=300)])
    codes = np.column_stack([codes, np.arange(300) % 3])
    frame = pd.DataFrame(codes[:, :3], columns=list("abc"))
    frame["many"] = pd.Categorical(codes[:, 3].astype(int))
    frame["few"] = pd.Categorical(codes[:, 4].astype(int))
    known = [frame[name].cat.categories.to_list() for name in ("many", "few")]
    codes[:, 3] = [known[0].index(code) for code in codes[:, 3]]
    return frame, codes


@pytest.mark.parametrize("data", ["numbers", "categories"])
@pytest.mark.parametrize("max_features", [1, 0.5, 0.8, 1.0])
def test_trees_number_the_features_that_they_have_drawn(data, max_features, tmp_path):
    """As in scikit-learn; what the forest predicts is made of the same trees."""
    X = codes = make_data(300, 5)
    params = {"max_features": max_features, "random_state": 0}
    if data == "categories":
        X, codes = with_categories()
        params["categorical_features"] = "from_dtype"
    forest = IsolationForest(n_estimators=12, **params).fit(X)
    lengths = forest.path_length(X)
    n_own = max(1, int(max_features * 5)) if isinstance(max_features, float) else max_features
    assert {tree.n_features_in_ for tree in forest} == {n_own}
    forest.save(tmp_path / "forest")
    for same in (forest, spinney.load(tmp_path / "forest"), pickle.loads(pickle.dumps(forest))):
        np.testing.assert_allclose(mean_length(same, codes), lengths)
        for tree, features in zip(same[:3], same.estimators_features_[:3], strict=True):
            copy = pickle.loads(pickle.dumps(tree))
            part = codes[:, features]
            np.testing.assert_array_equal(copy.predict(part), tree.predict(part))
            assert spinney.tree.export_text(tree) == spinney.tree.export_text(copy)
    same.estimators_ = same.estimators_[::-1]
    np.testing.assert_allclose(same.path_length(X), lengths)
    np.testing.assert_allclose(mean_length(same, codes), lengths)
    copy = pickle.loads(pickle.dumps(same))
    np.testing.assert_allclose(mean_length(copy, codes), lengths)
    copy.set_params(warm_start=True, n_estimators=14, max_features=2).fit(X)
    assert [len(own) for own in copy.estimators_features_] == [n_own] * 12 + [2] * 2
    np.testing.assert_allclose(mean_length(copy, codes), copy.path_length(X))


@pytest.mark.parametrize("max_features", [0.5, 1.0])
def test_converted_trees_have_the_features_of_scikit_learn(max_features):
    X = make_data(200, 6).astype(np.float32)
    model = sklearn.ensemble.IsolationForest(
        n_estimators=5, max_features=max_features, random_state=0
    ).fit(X)
    ours = spinney.from_sklearn(model)
    back = ours.to_sklearn()
    for one in (ours, back):
        for tree, known in zip(one.estimators_, model.estimators_, strict=True):
            assert tree.n_features_in_ == known.n_features_in_
            np.testing.assert_array_equal(tree.tree_.feature, known.tree_.feature)
        np.testing.assert_allclose(one.score_samples(X), model.score_samples(X), rtol=1e-12)


def test_sparse_data_with_many_features():
    rng = np.random.default_rng(0)
    X = sparse.random(800, 3000, 0.003, format="csr", random_state=0, data_rvs=rng.random)
    for max_features in (1.0, 20):
        params = {"n_estimators": 10, "max_features": max_features, "random_state": 0}
        forest = IsolationForest(contamination=0.05, **params).fit(X)
        dense = IsolationForest(contamination=0.05, **params).fit(X.toarray())
        np.testing.assert_array_equal(forest.score_samples(X), dense.score_samples(X.toarray()))
        assert forest.offset_ == dense.offset_
        assert np.mean(forest.predict(X) == -1) <= 0.06


@pytest.mark.parametrize("contamination", [0.01, 0.2, 0.5])
def test_contamination_is_the_share_of_anomalies(contamination):
    forest = IsolationForest(contamination=contamination, random_state=0)
    share = np.mean(forest.fit_predict(X_IRIS) == -1)
    assert abs(share - contamination) < 0.03
    expected = np.percentile(forest.score_samples(X_IRIS), 100 * contamination)
    assert forest.offset_ == expected


def test_anomalies_are_found_as_by_scikit_learn():
    X, y = load_breast_cancer(return_X_y=True)
    is_kept = (y == 1) | (np.arange(len(y)) % 10 == 0)
    X, is_ill = X[is_kept], y[is_kept] == 0
    ours, theirs = (
        [
            roc_auc_score(is_ill, -kind(random_state=seed).fit(X).score_samples(X))
            for seed in range(5)
        ]
        for kind in (IsolationForest, sklearn.ensemble.IsolationForest)
    )
    assert abs(np.mean(ours) - np.mean(theirs)) < 0.01


def test_scores_agree_with_those_of_scikit_learn():
    """Many trees: the means of both packages are those of the same distribution."""
    X = X_IRIS.astype(np.float32)
    params = {"n_estimators": 1500, "max_samples": 64, "random_state": 0}
    ours = IsolationForest(**params).fit(X).score_samples(X)
    theirs = sklearn.ensemble.IsolationForest(**params).fit(X).score_samples(X)
    np.testing.assert_allclose(ours, theirs, atol=0.012)


@pytest.mark.parametrize("max_features", [1.0, 2])
def test_conversion_to_scikit_learn(max_features):
    X = X_IRIS.astype(np.float32).copy()
    X[::7, 1] = np.nan
    params = {"n_estimators": 12, "contamination": 0.1, "random_state": 0}
    forest = IsolationForest(max_features=max_features, **params).fit(X)
    converted = forest.to_sklearn()
    assert type(converted) is sklearn.ensemble.IsolationForest
    np.testing.assert_allclose(converted.score_samples(X), forest.score_samples(X), rtol=1e-12)
    np.testing.assert_array_equal(converted.predict(X), forest.predict(X))
    assert isinstance(forest, sklearn.ensemble.IsolationForest)


@pytest.mark.parametrize("max_features", [1.0, 0.5])
def test_forests_of_scikit_learn_score_alike_here(max_features, tmp_path):
    X = make_data(500, 5)
    params = {"n_estimators": 12, "contamination": 0.1, "random_state": 0}
    model = sklearn.ensemble.IsolationForest(max_features=max_features, **params).fit(X)
    forest = spinney.from_sklearn(model)
    assert type(forest) is IsolationForest
    assert forest.get_params()["max_features"] == max_features
    np.testing.assert_allclose(forest.score_samples(X), model.score_samples(X), rtol=1e-12)
    np.testing.assert_array_equal(forest.predict(X), model.predict(X))
    shap = forest.shap_values(X[:20])
    lengths = forest.path_length(X[:20])
    np.testing.assert_allclose(shap.sum(axis=1) + forest.expected_value_, lengths)
    forest.save(tmp_path / "forest")
    again = spinney.load(tmp_path / "forest")
    np.testing.assert_array_equal(again.score_samples(X), forest.score_samples(X))
    assert not hasattr(forest, "estimators_samples_")
    for own, known in zip(forest.estimators_features_, model.estimators_features_, strict=True):
        np.testing.assert_array_equal(own, known)
    with pytest.raises(ValueError, match=r"cannot add to trees. .*comes from scikit-learn"):
        forest.set_params(warm_start=True, n_estimators=20).fit(X)


def test_files_and_pickles(tmp_path):
    X = make_data(300, 4)
    params = {"n_estimators": 9, "max_samples": 50, "max_features": 0.5, "random_state": 0}
    forest = IsolationForest(contamination=0.1, **params).fit(X)
    forest.save(tmp_path / "forest")
    for same in (spinney.load(tmp_path / "forest"), pickle.loads(pickle.dumps(forest))):
        assert type(same) is IsolationForest
        assert same.get_params() == forest.get_params()
        np.testing.assert_array_equal(same.score_samples(X), forest.score_samples(X))
        np.testing.assert_array_equal(same.predict(X), forest.predict(X))
        for rows, known in zip(same.estimators_samples_, forest.estimators_samples_, strict=True):
            np.testing.assert_array_equal(rows, known)
        np.testing.assert_array_equal(
            np.array(same.estimators_features_), np.array(forest.estimators_features_)
        )
        own = X[:, same.estimators_features_[2]]
        np.testing.assert_array_equal(same[2].predict(own), forest[2].predict(own))


def test_shap_values_of_the_path_length():
    X = make_data(200, 5)
    forest = IsolationForest(n_estimators=30, random_state=0).fit(X)
    for samples in (X, sparse.csr_matrix(X)):
        values = forest.shap_values(samples)
        values = values.toarray() if sparse.issparse(values) else values
        total = values.sum(axis=1) + forest.expected_value_
        np.testing.assert_allclose(total, forest.path_length(X), rtol=1e-9)
    explained = forest.explain(X[:1])
    assert explained.target == "path length"
    assert explained.prediction == forest.path_length(X[:1])[0]
    with pytest.raises(ValueError, match="None for an estimator without a method nearest"):
        forest.explain(X[:1], Y=X)


def test_warm_start_refuses_other_features():
    forest = IsolationForest(n_estimators=2, warm_start=True, random_state=0).fit(X_IRIS)
    forest.set_params(n_estimators=4)
    with pytest.raises(ValueError, match="X must have their 4 feature"):
        forest.fit(X_IRIS[:, :2])
    assert len(forest) == 2
    with pytest.raises(ValueError, match="n_estimators=1 must be larger"):
        forest.set_params(n_estimators=1).fit(X_IRIS)
    with pytest.warns(UserWarning, match="does not fit new trees"):
        forest.set_params(n_estimators=2).fit(X_IRIS)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"n_estimators": 0}, "'n_estimators' .* int in the range"),
        ({"max_samples": 0}, "'max_samples' .* 'auto', an int"),
        ({"max_samples": 1.5}, "'max_samples'"),
        ({"max_samples": "all"}, "'max_samples'"),
        ({"max_features": 0.0}, "'max_features'"),
        ({"max_features": "auto"}, "'max_features'"),
        ({"max_features": 5}, "max_features must be at most the number of features, 4. Got 5"),
        ({"contamination": 0.0}, "'contamination' .* 'auto' or a float in the range"),
        ({"contamination": 0.6}, "'contamination'"),
        ({"contamination": "some"}, "'contamination'"),
        ({"bootstrap": "poisson"}, "'bootstrap' .* a bool"),
        ({"warm_start": 1}, "'warm_start'"),
        ({"verbose": -1}, "'verbose'"),
        ({"n_jobs": 0}, "'n_jobs'"),
        ({"random_state": -1}, "'random_state'"),
        ({"handle_unknown": "use"}, "'handle_unknown'"),
    ],
)
def test_illegal_parameters(params, words):
    forest = IsolationForest(**params)
    before = dict(vars(forest))
    with pytest.raises(ValueError, match=words):
        forest.fit(X_IRIS)
    assert vars(forest) == before


def test_illegal_arguments():
    with pytest.raises(ValueError, match="sample_weight"):
        IsolationForest().fit(X_IRIS, sample_weight=np.zeros(150))
    with pytest.raises(ValueError, match="sample_weight"):
        IsolationForest().fit(X_IRIS, sample_weight=[1.0])
    with pytest.raises(ValueError, match="sample_weight"):
        IsolationForest().fit(X_IRIS, sample_weight=np.full(150, -1.0))
    with pytest.raises(ValueError, match="categorical features"):
        IsolationForest(categorical_features=[0], random_state=0).fit(X_IRIS).to_sklearn()
    with pytest.warns(UserWarning, match="max_samples \\(200\\) is greater"):
        forest = IsolationForest(max_samples=200, n_estimators=2).fit(X_IRIS)
    assert forest.max_samples_ == 150
    # No more are drawn than have a weight.
    weights = np.zeros(150)
    weights[:3] = 1
    forest = IsolationForest(n_estimators=2, random_state=0).fit(X_IRIS, sample_weight=weights)
    assert forest.max_samples_ == 3


def test_progress_of_a_forest_that_grows_on(capfd):
    forest = IsolationForest(n_estimators=3, warm_start=True, verbose=2, random_state=0).fit(X_IRIS)
    assert "building tree 3 of 3" in capfd.readouterr().err
    forest.set_params(n_estimators=5).fit(X_IRIS)
    assert "building tree 5 of 5" in capfd.readouterr().err


def seconds_to_fit(X):
    started = time.perf_counter()
    IsolationForest(n_estimators=2, max_samples=1.0, random_state=0, n_jobs=1).fit(X)
    return time.perf_counter() - started


@pytest.mark.parametrize("kind", ["half of the cells", "ones", "three values"])
def test_sparse_trees_of_all_rows_take_about_as_long_as_dense_ones(kind):
    """Quadratic growth took 40 times as long, links alone three times with half of the cells."""
    rng = np.random.default_rng(0)
    X = {
        "half of the cells": rng.normal(size=(6000, 20)) * rng.integers(0, 2, (6000, 20)),
        "ones": np.ones((6000, 20)),
        "three values": rng.integers(0, 3, (6000, 6)).astype(float),
    }[kind]
    csr = sparse.csr_matrix(X)
    # What interrupts one of a pair of fits does not interrupt all of them.
    ratios = (seconds_to_fit(csr) / seconds_to_fit(X) for _ in range(5))
    assert any(ratio < 2.5 for ratio in ratios)
