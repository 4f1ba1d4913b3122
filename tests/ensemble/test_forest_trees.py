"""The trees of a forest as estimators, and how its growth is shown and shared out."""

import os
import pickle
import sys
import types
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError

from forests import TREE_OF_FOREST, every_forest, task_of
from oracle import bits
from spinney import ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor


@pytest.fixture(scope="module")
def iris():
    """Return the iris measurements and species."""
    return load_iris(return_X_y=True)


# --- The trees as estimators --------------------------------------------------------------------


@every_forest
def test_trees_are_estimators(forest_class):
    """A list of fitted trees with the parameters of the forest; made once, sharing memory."""
    X, y = task_of(forest_class)
    forest = forest_class(4, max_depth=5, min_samples_leaf=2, random_state=0).fit(X, y)
    trees = forest.estimators_
    assert isinstance(trees, list)
    assert [type(tree) for tree in trees] == [TREE_OF_FOREST[forest_class]] * 4
    assert list(forest) == trees
    assert forest[1] is trees[1]
    assert forest[-2:] == trees[2:]
    assert len(np.array(trees)) == 4
    for tree in trees:
        params = tree.get_params()
        assert params["max_depth"] == 5
        assert params["min_samples_leaf"] == 2
        assert params["max_features"] == forest.max_features
        assert params["splitter"] == ("best" if "Random" in forest_class.__name__ else "random")
        assert tree.n_features_in_ == X.shape[1]
        assert tree.tree_.max_depth <= 5
        assert pickle.loads(pickle.dumps(tree)).predict(X).shape == (len(X),)
    if is_classifier(forest):
        assert trees[0].classes_.dtype == np.float64
        np.testing.assert_array_equal(trees[0].classes_, np.arange(3))
        assert trees[0].score(X, y) > 0.8
    # Unpacked once, when its arrays are first asked for.
    first = forest.estimators_[0].tree_
    assert np.shares_memory(first.threshold, trees[0].tree_.threshold)
    np.testing.assert_array_equal(first.threshold, forest.forest_.tree(0).threshold)


@every_forest
def test_trees_remember_how_they_were_grown(forest_class):
    """Parameters that are set later are those of later trees."""
    X, y = task_of(forest_class)
    forest = forest_class(2, max_depth=2, warm_start=True, random_state=0).fit(X, y)
    forest.set_params(max_depth=4, n_estimators=3, max_features=1)
    assert [tree.max_depth for tree in forest] == [2, 2]
    forest.fit(X, y)
    for view in (forest, pickle.loads(pickle.dumps(forest))):
        assert [tree.max_depth for tree in view] == [2, 2, 4]
        assert view[2].max_features_ == 1 < view[1].max_features_
        assert view[2].get_depth() > 2


@every_forest
def test_trees_are_assigned(forest_class):
    """A forest of some of its trees, and of those of another."""
    X, y = task_of(forest_class)
    forest, other = (forest_class(4, random_state=seed).fit(X, y) for seed in (0, 1))
    expected = sum(tree.tree_.predict(X) for tree in [*forest[:2], *other]) / 6
    forest.estimators_.clear()
    assert len(forest) == len(forest.estimators_) == 4
    forest.estimators_ = forest.estimators_[:2]
    forest.estimators_ += other.estimators_
    assert len(forest) == 6
    np.testing.assert_array_equal(forest.forest_.predict(X), expected)
    assert forest.forest_.seeds[2:] == other.forest_.seeds
    assert pickle.loads(pickle.dumps(forest)).estimators_[5].random_state == other[3].random_state
    before = bits(forest)
    fewer = forest_class(2, random_state=0).fit(X[:, 1:], y)
    for wrong, kind, message in [
        ([], ValueError, "at least one"),
        ([forest_class()], TypeError, "must be fitted tree estimators"),
        ([TREE_OF_FOREST[forest_class]()], TypeError, "must be fitted tree estimators"),
        (fewer.estimators_, ValueError, "numbers of features"),
        ([*forest, *fewer], ValueError, "alike"),
    ]:
        with pytest.raises(kind, match=message):
            forest.estimators_ = wrong
    assert bits(forest) == before


@every_forest
def test_pickle_holds_every_tree_once(forest_class):
    """Views of the trees are not written; what comes back is the same."""
    X, y = task_of(forest_class)
    forest = forest_class(5, bootstrap="poisson", random_state=0)
    forest.fit(X, y, sample_weight=np.arange(len(y)) % 3, sample_ids=np.arange(len(y)) + 5)
    plain = pickle.dumps(forest)
    assert len(forest.estimators_) == 5
    viewed = pickle.dumps(forest)
    assert len(viewed) == len(plain)
    back = pickle.loads(viewed)
    assert bits(back) == bits(forest)
    np.testing.assert_array_equal(back.predict(X), forest.predict(X))
    for one, other in zip(back.estimators_samples_, forest.estimators_samples_, strict=True):
        np.testing.assert_array_equal(one, other)
    back.set_params(warm_start=True, n_estimators=6)
    back.fit(X, y, sample_weight=np.arange(len(y)) % 3, sample_ids=np.arange(len(y)) + 5)
    forest.set_params(n_estimators=6)
    forest.fit(X, y, sample_weight=np.arange(len(y)) % 3, sample_ids=np.arange(len(y)) + 5)
    assert bits(back) == bits(forest)


def test_caller_may_change_weights_afterwards(iris):
    """What the draws are a function of is kept apart from the caller's arrays."""
    X, y = iris
    weight = np.ones(len(y))
    forest = RandomForestClassifier(2, random_state=0).fit(X, y, sample_weight=weight)
    before = forest.estimators_samples_[1]
    weight[:100] = 0
    np.testing.assert_array_equal(forest.estimators_samples_[1], before)


# --- Progress, threads --------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress_in_lines(n_jobs, iris, capsys, monkeypatch):
    """Without tqdm there are lines; the last says that all trees are there."""
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    forest = RandomForestClassifier(12, verbose=1, n_jobs=n_jobs, warm_start=True, random_state=0)
    forest.fit(*iris)
    assert "building tree 12 of 12" in capsys.readouterr().err.splitlines()[-1]
    forest.set_params(n_estimators=15, verbose=2).fit(*iris)
    assert "building tree 15 of 15" in capsys.readouterr().err.splitlines()[-1]
    forest.set_params(n_estimators=16, verbose=0).fit(*iris)
    assert capsys.readouterr() == ("", "")


def test_progress_as_a_bar(iris, monkeypatch):
    """With tqdm there is a bar that reaches its end."""
    bars = []

    class Bar:
        def __init__(self, **kwargs):
            self.kwargs, self.n = kwargs, kwargs["initial"]
            bars.append(self)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.closed = True

        def update(self, more):
            assert more > 0
            self.n += more

    fake = types.ModuleType("tqdm.auto")
    fake.tqdm = Bar
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", fake)
    forest = RandomForestClassifier(5, verbose=1, warm_start=True, random_state=0).fit(*iris)
    forest.set_params(n_estimators=8).fit(*iris)
    assert [bar.n for bar in bars] == [5, 8]
    assert [bar.kwargs["total"] for bar in bars] == [5, 8]
    assert all(bar.closed for bar in bars)


def test_an_error_in_the_display_ends_the_call(iris, monkeypatch):
    """What the display raises is raised, and the estimator stays as it was."""

    class Broken:
        def write(self, _):
            raise OSError("no such terminal")

    monkeypatch.setattr(sys, "stderr", Broken())
    forest = RandomForestClassifier(5, verbose=2, random_state=0)
    with pytest.raises(OSError, match="no such terminal"):
        forest.fit(*iris)
    assert vars(forest) == vars(RandomForestClassifier(5, verbose=2, random_state=0))


def test_number_of_threads(iris):
    """`n_jobs=None` is what joblib says, and nothing depends on it."""
    X, y = iris
    forest = RandomForestClassifier(6, random_state=0)
    expected = bits(clone(forest).fit(X, y))
    for n_jobs in (1, 2, 7, -1):
        assert bits(clone(forest).set_params(n_jobs=n_jobs).fit(X, y)) == expected
    for backend in ("threading", "loky"):
        with joblib.parallel_config(backend=backend, n_jobs=2):
            assert forest._count_threads() == 2
            assert bits(forest.fit(X, y)) == expected
    assert forest._count_threads() == 1
    # Thousands of threads would take minutes to start.
    for n_jobs in (10**6, 2**70):
        forest.set_params(n_jobs=n_jobs)
        assert forest._count_threads() <= 16 * os.cpu_count()
        assert bits(forest.fit(X, y)) == expected


@every_forest
def test_no_warning_on_the_plain_way(forest_class):
    """Fitting and predicting frames and arrays is silent."""
    X, y = task_of(forest_class)
    frame = pd.DataFrame(X).add_prefix("x")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forest = forest_class(3, random_state=0).fit(frame, y)
        forest.predict(frame)
        forest.apply(frame)
        forest.decision_path(frame)
    assert list(forest.feature_names_in_) == list(frame.columns)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        forest.predict(X)


# --- Importances --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [
        RandomForestClassifier(7, random_state=0),
        ExtraTreesRegressor(5, max_features=3, n_jobs=2, random_state=0),
        RandomForestClassifier(3, max_leaf_nodes=2, criterion="entropy", random_state=0),
    ],
)
def test_importances_of_trees(estimator):
    """Those of the estimators of the trees, which are not made for it, bit for bit."""
    X, y = load_digits(return_X_y=True)
    estimator.fit(X[:300], y[:300])
    found = estimator.tree_importances()
    assert "_estimators" not in vars(estimator)
    expected = np.array([tree.feature_importances_ for tree in estimator.estimators_])
    assert (found.dtype, found.shape) == (np.float64, expected.shape)
    assert found.tobytes() == expected.tobytes()
    mean = found.mean(axis=0)
    np.testing.assert_allclose(estimator.feature_importances_, mean / mean.sum(), rtol=1e-12)
    for n_threads in (1, 3):
        assert estimator.forest_.tree_importances(n_threads).tobytes() == found.tobytes()


def test_importances_of_single_leaves_are_zeros():
    forest = RandomForestRegressor(4, random_state=0).fit(np.zeros((5, 3)), np.arange(5))
    assert forest.tree_importances().tolist() == [[0.0] * 3] * 4
    with pytest.raises(NotFittedError):
        RandomForestRegressor().tree_importances()
