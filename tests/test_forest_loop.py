"""The loop over the trees of a forest: the same bits however it is run, errors that say what."""

import numpy as np
import pytest
import scipy.sparse as sp

from oracle import TREE_ARRAYS
from spinney import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

N_SAMPLES = 300
FORESTS = {
    (True, "best"): RandomForestClassifier,
    (True, "random"): ExtraTreesClassifier,
    (False, "best"): RandomForestRegressor,
    (False, "random"): ExtraTreesRegressor,
}


@pytest.fixture(scope="module")
def problem():
    """Return a matrix, half of it zeros, and the targets of both tasks."""
    rng = np.random.default_rng(0)
    X = rng.integers(-4, 5, (N_SAMPLES, 20)).astype(np.float64)
    X[rng.random(X.shape) < 0.5] = 0
    signal = X[:, 1] + X[:, 5] * X[:, 6] + rng.normal(size=N_SAMPLES)
    return X, {"classes": np.digitize(signal, [-2.0, 0.0, 1.0]), "numbers": signal}


def forest(X, y, *, splitter="best", n_trees=6, bootstrap=True, weight=None, **params):
    """Grow a forest for classes, or for numbers if `y` holds floats, and return its trees."""
    forest_class = FORESTS[y.dtype.kind == "i", splitter]
    params = {"max_features": "sqrt", "random_state": 7, "bootstrap": bootstrap, **params}
    fitted = forest_class(n_trees, **params).fit(X, y, sample_weight=weight)
    return [estimator.tree_ for estimator in fitted.estimators_]


def bits(trees):
    return [[getattr(tree, name).tobytes() for name in TREE_ARRAYS] for tree in trees]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_threads_and_storage_do_not_matter(problem, task, splitter, bootstrap, weighted):
    """One thread or two, dense, CSC or CSR: the same forest, of trees that differ."""
    X, targets = problem
    y = targets[task]
    weight = np.random.default_rng(1).integers(0, 4, N_SAMPLES) / 2 if weighted else None
    kind = {"splitter": splitter, "bootstrap": bootstrap, "weight": weight}
    trees = bits(forest(X, y, **kind))
    assert len({b"".join(tree) for tree in trees}) == len(trees)
    for form in (X, X.astype(np.float32), sp.csc_matrix(X), sp.csr_array(X)):
        for n_jobs in (1, 2):
            assert bits(forest(form, y, n_jobs=n_jobs, **kind)) == trees
    assert bits(forest(X, y, n_trees=2, **kind)) == trees[:2]


def test_first_tree_without_bootstrap_is_the_tree(problem):
    """Tree number 0 is what the estimator with the same seed grows."""
    X, targets = problem
    y = targets["classes"]
    estimator = DecisionTreeClassifier(max_features="sqrt", random_state=3).fit(X, y)
    trees = forest(X, y, n_trees=1, bootstrap=False, random_state=3)
    assert bits(trees) == bits([estimator.tree_])


@pytest.mark.parametrize("weighted", [False, True])
def test_bootstrap_weights_are_counts(problem, weighted):
    """Nodes weigh the draws that reach them; rows of weight 0 are never drawn."""
    X, targets = problem
    weight = np.arange(N_SAMPLES) % 3 / 7 if weighted else None
    for max_samples in (None, 50, 1000):
        for tree in forest(X, targets["classes"], max_samples=max_samples, weight=weight):
            assert tree.weighted_n_node_samples[0] == (max_samples or N_SAMPLES)
            n_rows = N_SAMPLES if weight is None else np.count_nonzero(weight)
            assert tree.n_node_samples[0] < n_rows


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_trees": 0}, r"'n_estimators' parameter of RandomForestClassifier must be .* Got 0"),
        ({"max_samples": 0}, r"'max_samples' parameter of RandomForestClassifier .* Got 0"),
        ({"max_samples": 2**32}, r"'max_samples' parameter of .* Got 4294967296"),
        ({"n_trees": 2**40}, r"n_estimators is limited to"),
        ({"max_depth": 0}, r"'max_depth' parameter of RandomForestClassifier must be .* Got 0"),
        ({"weight": np.zeros(N_SAMPLES)}, "sample_weight must be"),
    ],
)
def test_illegal_arguments_are_named(problem, arguments, message):
    """A ValueError names the parameter, what it may be and what was got."""
    X, targets = problem
    with pytest.raises(ValueError, match=message):
        forest(X, targets["classes"], **arguments)


def test_empty_matrix_is_refused(problem):
    """No rows: an error, whatever the number of draws."""
    X, targets = problem
    for bootstrap in (False, True):
        with pytest.raises(ValueError, match=r"0 sample\(s\)"):
            forest(X[:0], targets["classes"], bootstrap=bootstrap)
