"""Sets of classes against loops over samples, and their coverage."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from spinney import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from spinney.conformal import (
    CrossConformalClassifier,
    JackknifeAfterBootstrapClassifier,
    _sets,
)

LEVELS = [0.5, 0.8, 0.95]
FOREST = RandomForestClassifier(40, min_samples_leaf=3, random_state=0)
ALL = [
    JackknifeAfterBootstrapClassifier(FOREST, confidence_level=LEVELS),
    CrossConformalClassifier(FOREST, confidence_level=LEVELS),
]


def make_data(seed=0, n_samples=150):
    """Return classes that cannot be told apart well, with names."""
    X, y = make_classification(
        n_samples,
        6,
        n_informative=4,
        n_classes=4,
        n_clusters_per_class=1,
        flip_y=0.15,
        class_sep=0.7,
        random_state=seed,
    )
    return X, np.array(["elm", "fir", "oak", "yew"])[y]


def score(probabilities, kind):
    """Return how little each class conforms."""
    if kind == "lac":
        return 1 - probabilities
    # The probabilities of classes that are at least as probable; of equal ones, the first first.
    order = np.argsort(-probabilities, kind="stable")
    scores = np.empty(len(order))
    scores[order] = np.cumsum(probabilities[order])
    return scores


def find_sets(known, codes, of_query, kind):
    """Return the sets by the rule of the paper.

    `known` has the probabilities of each training sample by models that have not seen it, and
    `of_query` those of a query row by the models that have not seen each training sample.
    """
    own = np.array([score(p, kind)[code] for p, code in zip(known, codes, strict=True)])
    scores = np.array([score(p, kind) for p in of_query])
    n_less = (own[:, None] < scores - 1e-12).sum(axis=0)
    limits = [round(level * (len(own) + 1), 9) for level in LEVELS]
    return np.array([[n < limit for limit in limits] for n in n_less])


@pytest.mark.parametrize("kind", ["lac", "aps"])
def test_jackknife_after_bootstrap(kind):
    X, y = make_data()
    train, query = slice(0, 110), slice(110, 150)
    model = clone(ALL[0]).set_params(conformity_score=kind).fit_conformalize(X[train], y[train])
    forest = model.estimator_
    labels, sets = model.predict_set(X[query])
    np.testing.assert_array_equal(labels, forest.predict(X[query]))
    assert sets.shape == (40, 4, 3)
    assert sets.dtype == bool
    unseen = np.array(
        [[row not in rows for rows in map(set, forest.estimators_samples_)] for row in range(110)]
    )
    of_train = np.stack([tree.predict_proba(X[train]) for tree in forest.estimators_])
    of_query = np.stack([tree.predict_proba(X[query]) for tree in forest.estimators_])
    codes = np.searchsorted(model.classes_, y[train])
    known = [of_train[unseen[row], row].mean(axis=0) for row in range(110)]
    for row in range(40):
        without = [of_query[unseen[sample], row].mean(axis=0) for sample in range(110)]
        np.testing.assert_array_equal(sets[row], find_sets(known, codes, without, kind))


@pytest.mark.parametrize("kind", ["lac", "aps"])
def test_cross_conformal(kind):
    X, y = make_data()
    train, query = slice(0, 110), slice(110, 150)
    model = clone(ALL[1]).set_params(conformity_score=kind).fit_conformalize(X[train], y[train])
    _, sets = model.predict_set(X[query])
    known, without = np.empty((110, 4)), np.empty((40, 110, 4))
    for own, test in StratifiedKFold(5).split(X[train], y[train]):
        forest = clone(FOREST).fit(X[own], y[own])
        known[test] = forest.predict_proba(X[test])
        without[:, test] = forest.predict_proba(X[query])[:, None]
    codes = np.searchsorted(model.classes_, y[train])
    for row in range(40):
        np.testing.assert_array_equal(sets[row], find_sets(known, codes, without[row], kind))


@pytest.mark.parametrize("kind", ["lac", "aps"])
@pytest.mark.parametrize("model", ALL, ids=lambda model: type(model).__name__)
def test_sets_cover(model, kind):
    """On average over splits at least as often as they say, less five deviations."""
    covered, sizes = [], []
    for seed in range(8):
        X, y = make_data(seed, 500)
        own = clone(model).set_params(confidence_level=[0.7, 0.9], conformity_score=kind)
        _, sets = own.fit_conformalize(X[:250], y[:250]).predict_set(X[250:])
        codes = np.searchsorted(own.classes_, y[250:])
        covered.append(sets[np.arange(250), codes].mean(axis=0))
        sizes.append(sets.sum(axis=1).mean(axis=0))
        assert np.all(sets[:, :, 1] >= sets[:, :, 0])
    assert np.all(np.mean(covered, axis=0) > [0.64, 0.85])
    if kind == "lac":
        assert np.mean(covered, axis=0) == pytest.approx([0.7, 0.9], abs=0.06)
    assert np.all(np.mean(sizes, axis=0) < [2.5, 3.5])


@pytest.mark.parametrize("model", ALL, ids=lambda model: type(model).__name__)
def test_storage_blocks_and_pickles_do_not_matter(model, monkeypatch):
    X, y = make_data()
    expected = clone(model).fit_conformalize(X, y).predict_set(X)[1]
    stored = clone(model).fit(sparse.csr_matrix(X), y)
    np.testing.assert_array_equal(stored.predict_set(sparse.csr_matrix(X))[1], expected)
    copy = pickle.loads(pickle.dumps(stored))
    np.testing.assert_array_equal(copy.predict_set(X)[1], expected)
    monkeypatch.setattr(_sets, "_NUMBERS_AT_ONCE", 1000)
    np.testing.assert_array_equal(stored.predict_set(X)[1], expected)


def test_a_fold_may_lack_a_class():
    X, y = load_iris(return_X_y=True)
    thirds = [(np.flatnonzero(y != kind), np.flatnonzero(y == kind)) for kind in range(3)]
    model = CrossConformalClassifier(FOREST, cv=thirds, confidence_level=0.9)
    model.fit_conformalize(X, y)
    # No forest has seen the class of its fold.
    np.testing.assert_array_equal(model.conformity_scores_, 1.0)
    assert model.predict_set(X)[1].shape == (150, 3, 1)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (JackknifeAfterBootstrapClassifier(confidence_level=2), "'confidence_level' parameter"),
        (CrossConformalClassifier(conformity_score="top"), "'conformity_score' parameter"),
        (CrossConformalClassifier(RandomForestRegressor()), "'estimator' parameter"),
        (JackknifeAfterBootstrapClassifier(ExtraTreesClassifier()), "set bootstrap=True"),
        (
            JackknifeAfterBootstrapClassifier(FOREST, confidence_level=0.999),
            "with 150 the level is at most 0.9934",
        ),
        (CrossConformalClassifier(FOREST, cv=[([0, 1, 2], [3])]), "each sample in one fold"),
    ],
)
def test_what_cannot_be_is_told(model, message):
    X, y = make_data()
    with pytest.raises(ValueError, match=message):
        model.fit_conformalize(X, y)
    assert not hasattr(model, "estimator_")


@pytest.mark.parametrize("model", ALL, ids=lambda model: type(model).__name__)
def test_several_outputs_are_refused(model):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"Sets are of one output. Got 2"):
        clone(model).fit_conformalize(X, np.column_stack([y, y]))


def expected_to_fail(model):
    """Return the checks that cannot hold, with the reason."""
    if isinstance(model, CrossConformalClassifier):
        return {}
    reason = "rows are drawn by their place"
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@parametrize_with_checks(
    [clone(model).set_params(confidence_level=0.5) for model in ALL],
    expected_failed_checks=expected_to_fail,
)
@pytest.mark.filterwarnings("ignore:All trees have seen")
@pytest.mark.filterwarnings("ignore:The least populated class")
def test_scikit_learn_check(estimator, check):
    check(estimator)
