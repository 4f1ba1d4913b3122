"""Real data: what ships with the repository, and larger sets where they are at hand.

`example_data` is in the repository; tests with `shared_data` read ../shared/data beside it and
say that they are skipped where that is absent.
"""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.tree

from oracle import assert_same_tree
from spinney import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)


@pytest.fixture(scope="module")
def mushrooms(example_data):
    """Return the mushrooms: one-hot columns, edible or poisonous, and the official split."""
    meta = np.load(example_data / "agaricus_meta.npz")
    return sp.load_npz(example_data / "agaricus.npz"), meta["y"], meta["is_train"]


@pytest.fixture(scope="module")
def molecules(example_data):
    """Return fingerprint counts of molecules and their lipophilicity."""
    y = np.load(example_data / "lipophilicity_meta.npz")["y"]
    return sp.load_npz(example_data / "lipophilicity_ecfp4_counts.npz"), y


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("tree_class", [DecisionTreeClassifier, ExtraTreeClassifier])
def test_mushrooms(tree_class, criterion, mushrooms):
    """The mushrooms are told apart without error, by one tree for dense and sparse."""
    X, y, is_train = mushrooms
    tree = tree_class(criterion=criterion, random_state=0).fit(X[is_train], y[is_train])
    for form in (X.toarray(), X.toarray().astype(bool), sp.csc_array(X)):
        same = tree_class(criterion=criterion, random_state=0, n_jobs=2)
        assert_same_tree(tree, same.fit(form[is_train], y[is_train]))
        np.testing.assert_array_equal(same.predict(form), tree.predict(X))
    assert tree.score(X[is_train], y[is_train]) == 1.0
    assert tree.score(X[~is_train], y[~is_train]) > 0.99
    if tree_class is DecisionTreeClassifier:  # the columns are one-hot
        assert set(tree.tree_.threshold[tree.tree_.feature >= 0]) == {0.5}


def test_mushrooms_need_a_small_tree(mushrooms):
    """The exact tree is about as small as scikit-learn's; only ties differ."""
    X, y, _ = mushrooms
    ours = DecisionTreeClassifier(random_state=0).fit(X, y)
    theirs = sklearn.tree.DecisionTreeClassifier(random_state=0).fit(X, y)
    assert ours.tree_.impurity[0] == pytest.approx(theirs.tree_.impurity[0], rel=1e-12)
    assert ours.tree_.feature[0] == theirs.tree_.feature[0]
    assert abs(ours.get_n_leaves() - theirs.get_n_leaves()) <= 5


@pytest.mark.parametrize("tree_class", [DecisionTreeRegressor, ExtraTreeRegressor])
def test_molecules(tree_class, molecules):
    """Counts of many columns: dense and sparse, one tree."""
    X, y = molecules
    X, y = X[:1500, :2500], y[:1500]
    params = {"random_state": 0, "min_samples_leaf": 3}
    tree = tree_class(**params).fit(X, y)
    for form in (X.toarray(), X.toarray().astype(np.uint8), X.tocsc()):
        assert_same_tree(tree, tree_class(n_jobs=2, **params).fit(form, y))
    assert tree.score(X, y) > 0.3


def test_molecules_score_like_scikit_learn(molecules):
    """Ties between columns make the trees differ from scikit-learn's, the scores hardly."""
    X, y = molecules
    train, test = np.arange(len(y)) % 4 != 0, np.arange(len(y)) % 4 == 0
    scores = [
        np.mean(
            [
                library(max_depth=12, min_samples_leaf=5, random_state=seed)
                .fit(X[train], y[train])
                .score(X[test], y[test])
                for seed in range(2)
            ]
        )
        for library in (DecisionTreeRegressor, sklearn.tree.DecisionTreeRegressor)
    ]
    assert scores[0] == pytest.approx(scores[1], abs=0.02)
    assert scores[0] > 0.1


def test_newsgroups(shared_data):
    """Words of twenty newsgroups: too wide for a dense twin; CSC, CSR and threads agree."""
    X = sp.load_npz(shared_data("news20_bydate_tfidf.npz"))
    meta = np.load(shared_data("news20_bydate_meta.npz"))
    X, y = X[meta["is_train"]][::3], meta["y"][meta["is_train"]][::3]
    params = {"max_depth": 25, "random_state": 0}
    tree = DecisionTreeClassifier(**params).fit(X, y)
    assert_same_tree(tree, DecisionTreeClassifier(n_jobs=2, **params).fit(X.tocsc(), y))
    assert tree.get_depth() == 25
    # a guess is right once in twenty times
    assert tree.score(X, y) > 0.3


def test_leukemia(shared_data):
    """Few rows and 12,625 dense columns; one gene is enough to tell the lineages apart."""
    data = np.load(shared_data("all_leukemia.npz"))
    X, y = data["X"], data["y_lineage"]
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    assert tree.score(X, y) == 1.0
    for form in (np.asfortranarray(X), X.astype(np.float64), sp.csc_matrix(X)):
        same = DecisionTreeClassifier(random_state=0, n_jobs=2).fit(form, y)
        assert_same_tree(tree, same)
    theirs = sklearn.tree.DecisionTreeClassifier(random_state=0).fit(X, y)
    assert tree.get_n_leaves() <= theirs.get_n_leaves() + 1


def test_covertype(shared_data):
    """A sample of the forest covers: small integers, Fortran order, seven classes."""
    data = np.load(shared_data("covertype.npz"))
    X, y = data["X"][::60], data["y"][::60]
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    for form in (X.astype(np.float32), sp.csr_matrix(X)):
        assert_same_tree(tree, DecisionTreeClassifier(random_state=0, n_jobs=2).fit(form, y))
    assert tree.score(X, y) == 1.0
    assert tree.score(data["X"][1::600], data["y"][1::600]) > 0.7
