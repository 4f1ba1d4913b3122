"""Neighbours in forests, compared with a comparison of all leaves."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris

import spinney
from spinney.inspection import class_prototypes, outlier_scores


@pytest.fixture(params=["class shares", "numbers", "extra trees"])
def forest(request):
    if request.param == "numbers":
        X, y = load_diabetes(return_X_y=True)
        return spinney.RandomForestRegressor(30, random_state=0, n_jobs=2).fit(X, y), X
    X, y = load_iris(return_X_y=True)
    if request.param == "extra trees":
        estimator = spinney.ExtraTreesClassifier(30, random_state=0, bootstrap="poisson")
        return estimator.fit(X, y), X
    return spinney.RandomForestClassifier(30, random_state=0).fit(X, y), X


def share_leaves(forest, X, Y):
    leaves, others = forest.apply(X), forest.apply(Y)
    return np.mean(leaves[:, np.newaxis] == others[np.newaxis], axis=2)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_proximities_are_shares_of_trees(forest, n_jobs):
    forest, X = forest
    forest.set_params(n_jobs=n_jobs)
    for found, expected in (
        (forest.proximity(X), share_leaves(forest, X, X)),
        (forest.proximity(X[:7], X[40:]), share_leaves(forest, X[:7], X[40:])),
        (forest.proximity(X, X[3:4]), share_leaves(forest, X, X[3:4])),
        (forest.proximity(sparse.csc_matrix(X[:7]), X), share_leaves(forest, X[:7], X)),
    ):
        assert found.format == "csr"
        assert found.has_canonical_format
        assert found.indices.dtype == np.int32
        assert np.all(found.data > 0)
        np.testing.assert_allclose(found.toarray(), expected, rtol=1e-15)


def test_proximities_in_many_trees():
    """More than the bits of a word; and classes in which all leaves are one."""
    X, y = load_iris(return_X_y=True)
    forest = spinney.RandomForestClassifier(150, random_state=0, max_depth=2).fit(X, y)
    leaves = forest.apply(X)
    unseen = np.ones(leaves.shape, dtype=bool)
    for tree, rows in enumerate(forest.estimators_samples_):
        unseen[rows, tree] = False
    both = unseen[:, np.newaxis] & unseen[np.newaxis]
    alike = both & (leaves[:, np.newaxis] == leaves[np.newaxis])
    expected = alike.sum(axis=2) / both.sum(axis=2)
    np.testing.assert_array_equal(forest.proximity(X, oob_score=True).toarray(), expected)
    stump = spinney.RandomForestClassifier(3, max_depth=1).fit(X, np.zeros(150))
    assert (stump.proximity(X[:4], X).toarray() == 1).all()


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_proximities_out_of_bag(forest, n_jobs):
    forest, X = forest
    forest.set_params(n_jobs=n_jobs)
    leaves = forest.apply(X)
    unseen = np.ones(leaves.shape, dtype=bool)
    for tree, rows in enumerate(forest.estimators_samples_):
        unseen[rows, tree] = False
    both = unseen[:, np.newaxis] & unseen[np.newaxis]
    alike = both & (leaves[:, np.newaxis] == leaves[np.newaxis])
    expected = alike.sum(axis=2) / np.maximum(both.sum(axis=2), 1)
    np.testing.assert_allclose(forest.proximity(X, oob_score=True).toarray(), expected, rtol=1e-15)


def test_nearest_rows_of_all_rows(forest):
    """The rows of several tasks, on several threads."""
    forest, X = forest
    expected = share_leaves(forest, X, X)
    for n_jobs in (1, 3):
        indices, shares = forest.set_params(n_jobs=n_jobs).nearest(X, 3, Y=X)
        np.testing.assert_array_equal(indices, np.argsort(-expected, axis=1, kind="stable")[:, :3])
        np.testing.assert_allclose(shares, np.take_along_axis(expected, indices, 1), rtol=1e-15)


def test_nearest_rows_of_a_forest(forest):
    forest, X = forest
    indices, shares = forest.nearest(X[:9], 4, Y=X)
    expected = share_leaves(forest, X[:9], X)
    np.testing.assert_array_equal(indices, np.argsort(-expected, axis=1, kind="stable")[:, :4])
    np.testing.assert_allclose(shares, np.take_along_axis(expected, indices, axis=1), rtol=1e-15)
    assert np.all(shares[:, 0] == 1)
    # There are fewer neighbours than asked for.
    indices, shares = forest.nearest(X[:1], 1000, Y=X[:2])
    assert set(indices[0, 2:]) == {-1}
    assert not shares[0, 2:].any()


def test_nearest_rows_of_a_lazy_forest():
    X, y = load_diabetes(return_X_y=True)
    forest = spinney.LazyForestRegressor(20, random_state=0).fit(X[10:], y[10:])
    indices, weights = forest.nearest(X[:10], 5)
    expected = forest.explore(X[:10], weights=True).weights.toarray()
    np.testing.assert_array_equal(indices, np.argsort(-expected, axis=1, kind="stable")[:, :5])
    np.testing.assert_array_equal(weights, np.take_along_axis(expected, indices, axis=1))


def test_outliers_are_far_from_their_class():
    X, y = load_iris(return_X_y=True)
    labels = y.copy()
    labels[3] = 2
    forest = spinney.RandomForestClassifier(100, random_state=0, min_samples_leaf=5)
    proximity = forest.fit(X, y).proximity(X)
    scores = outlier_scores(proximity, labels)
    dense = proximity.toarray()
    np.fill_diagonal(dense, 0)
    raw = np.array(
        [150 / (dense[row, labels == labels[row]] ** 2).sum() for row in range(150) if row != 3]
    )
    others = np.delete(labels, 3)
    # Most of the first class share all leaves.
    assert np.median(np.abs(scores[labels == 0])) == 0
    for label in (1, 2):
        members = raw[others == label]
        median = np.median(members)
        expected = (members - median) / np.median(np.abs(members - median))
        np.testing.assert_allclose(np.delete(scores, 3)[others == label], expected, atol=1e-9)
    assert np.isinf(scores[3])


def test_prototypes_are_typical():
    X, y = load_iris(return_X_y=True)
    forest = spinney.RandomForestClassifier(50, random_state=0).fit(X, y)
    prototypes, centres = class_prototypes(forest.proximity(X), X, y, k=15)
    np.testing.assert_array_equal(y[centres], [0, 1, 2])
    np.testing.assert_array_equal(forest.predict(prototypes), [0, 1, 2])
    nearest, _ = forest.nearest(X[centres[1:2]], 15, Y=X)
    members = [row for row in nearest[0] if y[row] == 1]
    np.testing.assert_array_equal(prototypes[1], np.median(X[members], axis=0))
    of_sparse, _ = class_prototypes(forest.proximity(X), sparse.csr_matrix(X), y, k=15)
    np.testing.assert_array_equal(of_sparse, prototypes)
    with_nan = X.copy()
    with_nan[:, 0] = np.nan
    assert np.isnan(class_prototypes(forest.proximity(X), with_nan, y)[0][:, 0]).all()


def test_the_old_name_of_oob_score_warns():
    X, y = load_iris(return_X_y=True)
    forest = spinney.RandomForestClassifier(3, random_state=0).fit(X, y)
    for asked in (True, False):
        with pytest.warns(FutureWarning, match=r"oob of proximity is now .*oob_score.*0\.6"):
            old = forest.proximity(X, oob=asked)
        assert (old != forest.proximity(X, oob_score=asked)).nnz == 0


def test_illegal_arguments():
    X, y = load_iris(return_X_y=True)
    forest = spinney.RandomForestClassifier(3, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="oob_score must be a bool"):
        forest.proximity(X, oob_score=2)
    with pytest.raises(ValueError, match="'Y' parameter of proximity must be None if oob_score"):
        forest.proximity(X, X, oob_score=True)
    with pytest.raises(ValueError, match=r"150 samples\. Got 149"):
        forest.proximity(X[1:], oob_score=True)
    for k in (0, 1.5, None):
        with pytest.raises(ValueError, match="'k' parameter of nearest must be an int"):
            forest.nearest(X, k, Y=X)
    proximity = forest.proximity(X)
    with pytest.raises(ValueError, match=r"proximity must have shape \(149, 149\)"):
        outlier_scores(proximity, y[1:])
    with pytest.raises(
        ValueError, match="'proximity' parameter of outlier_scores must be a sparse"
    ):
        outlier_scores(proximity.toarray(), y)
    with pytest.raises(ValueError, match="X must have a row for each of the 150 samples"):
        class_prototypes(proximity, X[1:], y)
    for missing in (np.nan, None):
        labels = y.astype(object)
        labels[4] = missing
        with pytest.raises(ValueError, match="y must have a label for each sample"):
            outlier_scores(proximity, labels)
        with pytest.raises(ValueError, match="y must have a label for each sample"):
            class_prototypes(proximity, X, labels)
    whole = spinney.ExtraTreesClassifier(3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="have seen all samples: set bootstrap"):
        whole.proximity(X, oob_score=True)
    converted = spinney.from_sklearn(forest.to_sklearn())
    assert converted.proximity(X).shape == (150, 150)
    with pytest.raises(ValueError, match="does not know the samples of all its trees"):
        converted.proximity(X, oob_score=True)
