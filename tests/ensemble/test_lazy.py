"""Lazy forests predict, bit for bit, what forests predict, and visit no more than they have to."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from forests import few_rows, fit, samplings, seeds, values_of
from spinney import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    LazyForestClassifier,
    LazyForestRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from strategies import LAZY_FORESTS, data, examples, growth_rules, raw_sparse

EAGER = {
    ("classes", "best"): RandomForestClassifier,
    ("classes", "random"): ExtraTreesClassifier,
    ("numbers", "best"): RandomForestRegressor,
    ("numbers", "random"): ExtraTreesRegressor,
    ("counts", "best"): RandomForestRegressor,
    ("counts", "random"): ExtraTreesRegressor,
}
CRITERIA = {
    "classes": ("gini", "entropy", "log_loss"),
    "numbers": ("squared_error", "absolute_error", "quantile"),
    "counts": ("poisson",),
}
every_lazy = pytest.mark.parametrize("lazy_class", LAZY_FORESTS)
every_task = pytest.mark.parametrize("task", ["classes", "numbers", "counts"])
every_splitter = pytest.mark.parametrize("splitter", ["best", "random"])


def lazy_class_of(task):
    """Return the class of lazy forests for a task."""
    return LazyForestClassifier if task == "classes" else LazyForestRegressor


def task_of(lazy_class):
    """Return data with a signal, and further rows to be predicted."""
    if is_classifier(lazy_class()):
        X, y = load_breast_cancer(return_X_y=True)
        return X[:150, :8], y[:150], X[150:190, :8]
    X, y = load_diabetes(return_X_y=True)
    return X[:150], y[:150], X[150:190]


@few_rows
@examples(20)
@every_splitter
@every_task
@given(drawn=st.data(), rules=growth_rules(), sampling=samplings, seed=seeds)
def test_lazy_is_eager(task, splitter, drawn, rules, sampling, seed):
    """Whatever the parameters, the traversal, the storage, the threads and the batches."""
    criterion = drawn.draw(st.sampled_from(CRITERIA[task]))
    params = dict(rules, criterion=criterion, random_state=seed, n_estimators=3, **sampling)
    params["max_features"] = drawn.draw(st.sampled_from(("sqrt", 0.5, None)))
    if task == "classes":
        params["class_weight"] = drawn.draw(
            st.sampled_from((None, "balanced", "balanced_subsample"))
        )
    else:
        params["quantile"] = drawn.draw(st.sampled_from((0.3, 0.5)))
    problem = drawn.draw(data(task))
    queries = drawn.draw(st.permutations(range(len(problem.X))))
    Q = np.concatenate([problem.X[queries], problem.X + 0.5])
    expected = values_of(fit(EAGER[task, splitter](**params), problem), Q)
    lazy = lazy_class_of(task)(splitter=splitter, **params)
    stored = raw_sparse(sp.csr_matrix, problem.X, np.random.default_rng(seed), duplicates=True)
    for X in (problem.X, stored):
        fit(lazy.set_params(traversal="auto"), problem, X)
        np.testing.assert_array_equal(values_of(lazy, Q), expected)
        sparse_Q = sp.csr_matrix(Q)
        again = lazy.set_params(n_jobs=2).explore(sparse_Q)
        assert again.prediction.tobytes() == lazy.set_params(n_jobs=1).predict(Q).tobytes()
        if "max_leaf_nodes" in rules:
            continue
        for traversal in ("batched", "single", "eager"):
            lazy.set_params(traversal=traversal)
            np.testing.assert_array_equal(values_of(lazy, Q), expected)
        parts = [
            values_of(lazy.set_params(traversal="batched"), Q[i : i + 3])
            for i in range(0, len(Q), 3)
        ]
        np.testing.assert_array_equal(np.concatenate(parts), expected)


@every_lazy
@pytest.mark.parametrize("name", ["ccp_alpha", "max_leaf_nodes"])
def test_whole_trees_are_never_lazy(lazy_class, name):
    """Automatically eager; on demand refused, by `fit` and after it."""
    X, y, Q = task_of(lazy_class)
    params = {name: 0.01 if name == "ccp_alpha" else 5, "random_state": 0, "n_estimators": 4}
    eager = EAGER["classes" if is_classifier(lazy_class()) else "numbers", "best"](**params)
    lazy = lazy_class(**params).fit(X, y)
    np.testing.assert_array_equal(values_of(lazy, Q), values_of(eager.fit(X, y), Q))
    for traversal in ("batched", "single"):
        with pytest.raises(ValueError, match=f"'eager' or 'auto' with {name}.*'{traversal}'"):
            lazy_class(traversal=traversal, **params).fit(X, y)
        with pytest.raises(ValueError, match=f"'eager' or 'auto' with {name}.*'{traversal}'"):
            clone(lazy).fit(X, y).set_params(traversal=traversal).predict(Q)
    with pytest.raises(ValueError, match=f"weights=True needs a lazy traversal.*with {name}"):
        lazy.explore(Q, weights=True)


@every_lazy
@pytest.mark.parametrize("traversal", ["lazy", None, 3])
def test_illegal_traversals_are_named(lazy_class, traversal):
    """When it is fitted, and nothing has changed then."""
    X, y, _ = task_of(lazy_class)
    lazy = lazy_class(traversal=traversal)
    with pytest.raises(ValueError, match=f"'traversal' parameter of {lazy_class.__name__}"):
        lazy.fit(X, y)
    assert not hasattr(lazy, "forest_")


@every_lazy
def test_exploration_counts(lazy_class):
    """Nodes, rows and words by the grown trees' arrays; batched visits least."""
    X, y, Q = task_of(lazy_class)
    params = {"n_estimators": 5, "random_state": 1, "min_samples_split": 5}
    forest = EAGER["classes" if is_classifier(lazy_class()) else "numbers", "best"](**params)
    forest.fit(X, y)
    lazy = lazy_class(**params).fit(X, y)
    found = {
        traversal: lazy.set_params(traversal=traversal).explore(Q)
        for traversal in ("auto", "batched", "single", "eager")
    }
    for exploration in found.values():
        np.testing.assert_array_equal(exploration.prediction, forest.predict(Q))
        if is_classifier(lazy):
            np.testing.assert_array_equal(exploration.probabilities, forest.predict_proba(Q))
        else:
            assert exploration.probabilities is None
        assert exploration.weights is None

    paths = forest.decision_path(Q)[0].toarray().astype(bool)
    sizes = np.concatenate([tree.tree_.n_node_samples for tree in forest])
    visited = paths.any(axis=0)
    batched, single, eager = found["batched"], found["single"], found["eager"]
    assert found["auto"].n_visited_nodes == batched.n_visited_nodes == visited.sum()
    assert batched.n_visited_rows == sizes[visited].sum()
    assert single.n_visited_nodes == paths.sum()
    assert single.n_visited_rows == (paths * sizes).sum()
    assert eager.n_visited_nodes == len(sizes)
    assert eager.n_visited_rows == sizes.sum()
    for exploration in found.values():
        np.testing.assert_array_equal(exploration.path_lengths, paths.sum(axis=1))
    assert batched.n_visited_nodes < eager.n_visited_nodes
    assert batched.n_visited_nodes < single.n_visited_nodes
    assert single.peak_words <= batched.peak_words < eager.peak_words

    def stack(tree, node, held, reached):
        """Return the peak of words below a node, by recursion over the nodes reached."""
        held += tree.n_node_samples[node]
        children = [tree.children_left[node], tree.children_right[node]]
        followed = [child for child in children if child >= 0 and reached[child]]
        beside = sum(tree.n_node_samples[child] for child in followed)
        below = [
            stack(tree, child, held + beside - tree.n_node_samples[child], reached)
            for child in followed
        ]
        return max([held, *below])

    trees = [tree.tree_ for tree in forest]
    masks = np.split(visited, np.cumsum([tree.node_count for tree in trees])[:-1])
    assert batched.peak_words == max(map(stack, trees, [0] * 5, [0] * 5, masks))
    everything = [np.ones(tree.node_count, dtype=bool) for tree in trees]
    whole = map(stack, trees, [0] * 5, [0] * 5, everything)
    words = [words + 4 * tree.node_count for words, tree in zip(whole, trees, strict=True)]
    assert eager.peak_words == max(words)


@every_lazy
@pytest.mark.parametrize("bootstrap", [True, False, "poisson"])
def test_weights_explain_predictions(lazy_class, bootstrap):
    """The forest kernel by brute force: who shares how many leaves, weighed by the draws."""
    X, y, Q = task_of(lazy_class)
    weight = np.linspace(1, 2, len(X))
    params = {
        "n_estimators": 6,
        "random_state": 2,
        "min_samples_leaf": 4,
        "bootstrap": bootstrap,
    }
    forest = EAGER["classes" if is_classifier(lazy_class()) else "numbers", "best"](**params)
    forest.fit(X, y, sample_weight=weight)
    lazy = lazy_class(**params).fit(X, y, sample_weight=weight)
    weights = lazy.explore(Q, weights=True).weights
    assert sp.issparse(weights)
    assert weights.format == "csr"
    assert weights.shape == (len(Q), len(X))
    assert weights.has_sorted_indices
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)
    answers = values_of(lazy, Q)
    known = np.eye(2)[y] if is_classifier(lazy) else y[:, None]
    np.testing.assert_allclose(weights @ known, answers, rtol=1e-9, atol=1e-12)

    expected = np.zeros((len(Q), len(X)))
    samples = forest.estimators_samples_
    of_Q, of_X = forest.apply(Q), forest.apply(X)
    for tree in range(6):
        drawn = np.bincount(samples[tree], minlength=len(X)).astype(float)
        if bootstrap is not True:
            drawn *= weight
        kernel = (of_Q[:, [tree]] == of_X[None, :, tree]) * drawn
        expected += kernel / kernel.sum(axis=1, keepdims=True) / 6
    np.testing.assert_allclose(weights.toarray(), expected, rtol=1e-6, atol=1e-9)


MANY_TREES = """
import resource
from sklearn.datasets import load_diabetes
from spinney import LazyForestRegressor
X, y = load_diabetes(return_X_y=True)
for n_trees in (20, 300):
    LazyForestRegressor(n_trees, traversal={traversal!r}, random_state=0).fit(X, y).predict(X[:40])
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere ru_maxrss has other units")
@pytest.mark.parametrize("traversal", ["batched", "eager"])
def test_memory_does_not_grow_with_trees(traversal):
    """A grown forest of so many trees, of some 560 nodes each, takes 6 MB."""
    command = [sys.executable, "-c", MANY_TREES.format(traversal=traversal)]
    few, many = map(int, subprocess.check_output(command, text=True).split())
    assert many - few < 3000, "kB"


def test_weights_need_a_lazy_traversal():
    """Grown trees do not know the rows of their leaves."""
    X, y, Q = task_of(LazyForestRegressor)
    lazy = LazyForestRegressor(3, traversal="eager").fit(X, y)
    with pytest.raises(ValueError, match="'eager'"):
        lazy.explore(Q, weights=True)


@every_lazy
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, sp.csc_matrix])
@pytest.mark.parametrize("splitter", ["best", "random"])
def test_pickles_and_copies(lazy_class, kind, splitter):
    """They carry the training data, whatever has become of the arrays it came from."""
    X, y, Q = task_of(lazy_class)
    X, y, weight = X.copy(), y.copy(), np.linspace(0.1, 3, len(X))
    ids = np.arange(len(X), dtype=np.uint64) * 7
    lazy = lazy_class(5, bootstrap="poisson", max_features=0.5, random_state=0, splitter=splitter)
    lazy.fit(kind(X), y, sample_weight=weight, sample_ids=ids)
    expected = values_of(lazy, Q)
    for array in (X, y, weight, ids):
        array[...] = 1
    for other in (lazy, pickle.loads(pickle.dumps(lazy)), copy.deepcopy(lazy)):
        np.testing.assert_array_equal(values_of(other, Q), expected)
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(lazy))))
    np.testing.assert_array_equal(values_of(again, Q), expected)


def test_labels_frames_and_output():
    """String labels, several outputs, column names, pandas output of a pipeline's kind."""
    X, y, Q = task_of(LazyForestClassifier)
    labels = np.array(["no", "yes"])[y]
    both = np.column_stack([labels, np.array(["a", "b", "c"])[np.arange(len(y)) % 3]])
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    lazy = LazyForestClassifier(4, random_state=0).fit(frame, both)
    forest = RandomForestClassifier(4, random_state=0).fit(frame, both)
    assert list(lazy.feature_names_in_) == list(frame.columns)
    query = pd.DataFrame(Q, columns=frame.columns)
    np.testing.assert_array_equal(lazy.predict(query), forest.predict(query))
    for ours, theirs in zip(lazy.predict_proba(query), forest.predict_proba(query), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for ours, theirs in zip(
        lazy.predict_log_proba(query), forest.predict_log_proba(query), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    one = LazyForestClassifier(4, random_state=0).fit(X, labels)
    assert set(one.predict(Q)) <= {"no", "yes"}
    assert one.score(X, labels) > 0.9
    assert len(one) == 4


def test_verbose_counts_trees(capsys):
    """A line per look, when it is asked."""
    X, y, Q = task_of(LazyForestRegressor)
    lazy = LazyForestRegressor(4, verbose=2, random_state=0).fit(X, y)
    assert capsys.readouterr().err == ""
    lazy.predict(Q)
    assert "tree 4 of 4" in capsys.readouterr().err


def test_query_of_other_width_is_refused():
    """In scikit-learn's words."""
    X, y, Q = task_of(LazyForestRegressor)
    lazy = LazyForestRegressor(2).fit(X, y)
    with pytest.raises(ValueError, match="features"):
        lazy.predict(Q[:, 1:])


def test_as_many_trees_as_the_parameter_says_now():
    """No tree is grown before the prediction, so that `set_params` counts as `fit` does."""
    X, y = load_diabetes(return_X_y=True)
    lazy = LazyForestRegressor(3, random_state=0).fit(X, y)
    lazy.set_params(n_estimators=7)
    expected = RandomForestRegressor(7, random_state=0).fit(X, y)
    np.testing.assert_array_equal(lazy.predict(X[:20]), expected.predict(X[:20]))
    assert len(lazy) == 7
    np.testing.assert_array_equal(lazy.explore(X[:5]).prediction, expected.predict(X[:5]))
    loaded = pickle.loads(pickle.dumps(lazy))
    np.testing.assert_array_equal(loaded.predict(X[:5]), expected.predict(X[:5]))
    with pytest.raises(ValueError, match="'n_estimators' parameter of LazyForestRegressor"):
        lazy.set_params(n_estimators=0).predict(X[:5])


def test_explorations_can_be_compared():
    X, y = load_iris(return_X_y=True)
    lazy = LazyForestClassifier(3, random_state=0).fit(X, y)
    one, other = (lazy.explore(X[:4], weights=True) for _ in range(2))
    assert one == other
    assert one != lazy.explore(X[60:64], weights=True)
    assert one != lazy.explore(X[:4])
    assert one != "an exploration"
