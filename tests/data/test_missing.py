"""Missing values and infinities, from the forms in which they come to what they predict."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.tree import DecisionTreeClassifier as ReferenceClassifier

from oracle import assert_same_tree
from spinney import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreesClassifier,
    LazyForestClassifier,
    LazyForestRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

NAN, INF = np.nan, np.inf
FORMS = {
    "dense": np.asarray,
    "fortran": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "frame": pd.DataFrame,
    "csc": sp.csc_matrix,
    "csr": sp.csr_array,
    "coo": sp.coo_array,
}
every_form = pytest.mark.parametrize("form", FORMS)


def holed(n_samples=300, n_features=6, share=0.2, seed=0):
    """Return data with zeros and missing values, of which some say something about the target."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n_samples, n_features)).astype(np.float64)
    y = (X[:, 0] + X[:, 1] > rng.integers(-2, 3, n_samples)).astype(np.int64)
    X[rng.random(X.shape) < share] = NAN
    X[(y == 1) & (rng.random(n_samples) < 0.5), 2] = NAN
    return X, y


@every_form
@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(random_state=0),
        DecisionTreeRegressor(criterion="absolute_error", random_state=0),
        ExtraTreeClassifier(random_state=0),
    ],
)
def test_forms_of_missing_values_grow_one_tree(estimator, form):
    """A stored NaN in a sparse matrix is what NaN is in a dense one."""
    X, y = holed()
    tree = type(estimator)(**estimator.get_params()).fit(FORMS[form](X), y)
    estimator.fit(X, y)
    assert_same_tree(tree, estimator, note=form)
    query, _ = holed(seed=1)
    sparse = sp.csr_array(query)
    assert np.array_equal(tree.predict(sparse), estimator.predict(query))
    assert np.array_equal(tree.apply(sparse), estimator.apply(query))
    assert (tree.decision_path(sparse) != estimator.decision_path(query)).nnz == 0


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    ("forest_class", "lazy_class"),
    [
        (RandomForestClassifier, LazyForestClassifier),
        (ExtraTreesClassifier, LazyForestClassifier),
        (RandomForestRegressor, LazyForestRegressor),
    ],
)
def test_forests_and_lazy_forests_agree(forest_class, lazy_class, n_jobs):
    """Eager and lazy, dense and sparse, on one thread and two: one prediction."""
    X, y = holed()
    query, _ = holed(seed=1)
    forest = forest_class(10, random_state=0).fit(X, y)
    expected = forest.predict(query)
    assert np.array_equal(
        forest.set_params(n_jobs=n_jobs).fit(sp.csc_matrix(X), y).predict(query), expected
    )
    params = {"random_state": 0, "n_jobs": n_jobs}
    if forest_class is ExtraTreesClassifier:
        params |= {"splitter": "random", "bootstrap": False}
    for traversal in ("batched", "single", "eager"):
        lazy = lazy_class(10, traversal=traversal, **params).fit(X, y)
        assert np.array_equal(lazy.predict(query), expected), traversal
        assert np.array_equal(lazy.predict(sp.csr_array(query)), expected), traversal


def test_missing_values_tell():
    """Where only missing values part the classes, they do, on either side."""
    X = np.array([[NAN], [1.0], [NAN], [2.0], [3.0]])
    y = [1, 0, 1, 0, 0]
    tree = DecisionTreeClassifier().fit(X, y)
    assert tree.tree_.node_count == 3
    assert tree.tree_.threshold[0] == INF
    assert not tree.tree_.missing_go_to_left[0]
    assert tree.predict([[NAN], [-INF], [INF], [7.0]]).tolist() == [1, 0, 0, 0]


def test_missing_values_go_with_those_that_are_like_them():
    """Both sides of every cut are tried."""
    X = np.array([[1.0], [2.0], [3.0], [4.0], [NAN], [NAN]])
    for y, side in (([0, 0, 1, 1, 0, 0], 0), ([0, 0, 1, 1, 1, 1], 1)):
        tree = DecisionTreeClassifier().fit(X, y).tree_
        assert (tree.threshold[0], tree.missing_go_to_left[0], tree.node_count) == (
            2.5,
            1 - side,
            3,
        )


def test_unseen_missing_values_go_with_most_of_the_weight():
    """Without missing values in training, the heavier child takes them."""
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 1]
    assert DecisionTreeClassifier().fit(X, y).predict([[NAN]]) == [1]
    weights = [5.0, 1.0, 1.0]
    assert DecisionTreeClassifier().fit(X, y, sample_weight=weights).predict([[NAN]]) == [0]


def test_a_column_of_missing_values_is_constant():
    """It is drawn, and cannot be cut."""
    X, y = holed(50)
    X[:, 3] = NAN
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    assert 3 not in tree.tree_.feature
    only = DecisionTreeClassifier().fit(X[:, 3:4], y)
    assert only.tree_.node_count == 1


def test_accuracy_is_that_of_scikit_learn():
    """Both try both sides; ties apart the trees predict alike."""
    X, y = holed(2000, 8)
    query, truth = holed(2000, 8, seed=1)
    ours = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y).score(query, truth)
    theirs = ReferenceClassifier(max_depth=6, random_state=0).fit(X, y).score(query, truth)
    assert ours == pytest.approx(theirs, abs=0.02)


# --- Infinities, and doubles as such -------------------------------------------------------------


@pytest.mark.parametrize("form", sorted(FORMS.keys() - {"float32"}))
@pytest.mark.parametrize(
    ("low", "high"),
    [
        (16777216.0, 16777217.0),
        (1.0, np.nextafter(1.0, 2.0)),
        (1e300, 2e300),
        (-1e300, 1e300),
        (5e-324, 1e-323),
        (1.0, INF),
        (-INF, 1.0),
        (-INF, INF),
        (np.finfo(np.float64).max, INF),
    ],
)
def test_any_two_doubles_are_told_apart(form, low, high):
    """In training and in prediction, by the same comparison."""
    X = FORMS[form](np.array([[low], [high]] * 3))
    y = [0, 1] * 3
    for tree_class in (DecisionTreeClassifier, ExtraTreeClassifier):
        tree = tree_class(random_state=0).fit(X, y)
        assert tree.tree_.node_count == 3
        assert low <= tree.tree_.threshold[0] < high
        assert tree.predict(X).tolist() == y
    forest = RandomForestClassifier(5, bootstrap=False, random_state=0).fit(X, y)
    assert forest.predict(X).tolist() == y
    lazy = LazyForestClassifier(5, bootstrap=False, random_state=0).fit(X, y)
    assert lazy.predict(X).tolist() == y


def test_infinities_and_missing_values_are_three_things():
    """Each of minus infinity, infinity, missing and a number has a leaf of its own."""
    X = np.array([[-INF], [0.0], [INF], [NAN]] * 2)
    y = [0, 1, 2, 3] * 2
    for container in (np.asarray, sp.csr_array):
        tree = DecisionTreeClassifier().fit(container(X), y)
        assert tree.get_n_leaves() == 4
        assert tree.predict(X).tolist() == y
