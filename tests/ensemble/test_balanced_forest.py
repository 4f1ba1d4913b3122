"""Forests whose trees get as many samples of each class as is asked for."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import cross_val_score as sklearn_cross_val_score
from sklearn.model_selection import train_test_split

import spinney
from spinney import BalancedRandomForestClassifier, Dataset, RandomForestClassifier
from spinney.model_selection import cross_val_score


def make_data(shares=(0.9, 0.1), n_samples=600, seed=0):
    """Return samples of classes with these shares."""
    return make_classification(
        n_samples,
        8,
        n_informative=5,
        n_classes=len(shares),
        weights=list(shares),
        flip_y=0.02,
        random_state=seed,
    )


def count_classes(forest, y):
    """Return for each tree the number of its samples of each class, repeats included."""
    n_classes = len(forest.classes_)
    codes = np.searchsorted(forest.classes_, y)
    return np.array(
        [np.bincount(codes[rows], minlength=n_classes) for rows in forest.estimators_samples_]
    )


def test_conversion():
    X, y = make_data()
    forest = BalancedRandomForestClassifier(8, random_state=0).fit(X, y)
    np.testing.assert_array_equal(forest.to_sklearn().predict(X), forest.predict(X))


SHARES = (0.6, 0.3, 0.1)


@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize(
    ("strategy", "drawn"),
    [
        ("all", [True, True, True]),
        ("auto", [True, True, False]),
        ("not minority", [True, True, False]),
        ("majority", [True, False, False]),
        ("not majority", [False, True, True]),
    ],
)
def test_trees_have_the_samples_that_are_asked_for(strategy, drawn, replacement):
    X, y = make_data(SHARES)
    names = np.array(["often", "seldom", "rare"])[y]
    forest = BalancedRandomForestClassifier(
        8, sampling_strategy=strategy, replacement=replacement, random_state=0
    ).fit(X, names)
    sizes = np.array([np.sum(names == label) for label in forest.classes_])
    is_drawn = np.array(drawn)[np.argsort(["often", "seldom", "rare"])]
    expected = np.where(is_drawn, sizes.min(), sizes)
    np.testing.assert_array_equal(count_classes(forest, names), [expected] * 8)
    assert forest.sampling_strategy_ == {
        label: sizes.min()
        for label, of_class in zip(forest.classes_, is_drawn, strict=True)
        if of_class
    }
    for rows in forest.estimators_samples_:
        repeats = np.bincount(rows, minlength=len(y))
        assert (repeats.max() > 1) == replacement
    # The root of a tree weighs what was drawn.
    roots = [tree.tree_.weighted_n_node_samples[0] for tree in forest]
    assert roots == [expected.sum()] * 8


def test_dicts_callables_and_shares():
    X, y = make_data()
    sizes = np.bincount(y)
    for strategy, expected in (
        ({0: 30}, [30, sizes[1]]),
        ({0: 30, 1: 5}, [30, 5]),
        ({1: 2 * sizes[1]}, [sizes[0], 2 * sizes[1]]),
        (lambda labels: {0: int(np.sum(labels == 1)) + 1}, [sizes[1] + 1, sizes[1]]),
        (0.5, [int(sizes[1] / 0.5), sizes[1]]),
        (1.0, [sizes[1], sizes[1]]),
    ):
        forest = BalancedRandomForestClassifier(3, sampling_strategy=strategy, random_state=0)
        np.testing.assert_array_equal(count_classes(forest.fit(X, y), y), [expected] * 3)


def test_trees_are_those_of_their_samples():
    """A tree is that of a tree estimator with the numbers of draws as weights."""
    X, y = make_data(SHARES)
    weights = np.arange(len(y)) % 4
    forest = BalancedRandomForestClassifier(6, class_weight={0: 3, 1: 1, 2: 2}, random_state=0)
    forest.fit(X, y, sample_weight=weights)
    for tree, rows in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        counts = np.bincount(rows, minlength=len(y))
        assert not counts[weights == 0].any()
        own = weights * counts * np.array([3, 1, 2])[y]
        same = spinney.DecisionTreeClassifier(max_features="sqrt", random_state=tree.random_state)
        same.fit(X, y, sample_weight=own)
        np.testing.assert_array_equal(same.tree_.threshold, tree.tree_.threshold)
        np.testing.assert_array_equal(same.tree_.value, tree.tree_.value)


def test_a_bootstrap_is_drawn_from_the_samples_of_the_classes():
    X, y = make_data()
    n = np.bincount(y)[1]
    for max_samples, expected in ((None, 2 * n), (0.5, n), (7, 7)):
        forest = BalancedRandomForestClassifier(
            200, replacement=False, bootstrap=True, max_samples=max_samples, random_state=0
        ).fit(X, y)
        counts = count_classes(forest, y)
        np.testing.assert_array_equal(counts.sum(axis=1), expected)
        assert abs(counts[:, 0].mean() - expected / 2) < 0.1 * expected
    balanced = BalancedRandomForestClassifier(
        5, sampling_strategy="majority", class_weight="balanced_subsample", random_state=0
    ).fit(X, y)
    for tree in balanced:
        np.testing.assert_allclose(tree.tree_.value[0], [[0.5, 0.5]])


def test_samples_are_drawn_evenly():
    X, y = make_data()
    forest = BalancedRandomForestClassifier(2000, max_depth=1, random_state=0).fit(X, y)
    counts = np.bincount(np.concatenate(forest.estimators_samples_), minlength=len(y)) / 2000
    sizes = np.bincount(y)
    for label in (0, 1):
        share = sizes[1] / sizes[label]
        np.testing.assert_allclose(counts[y == label], share, atol=7 * np.sqrt(share / 2000))


def test_storage_threads_files_and_warm_starts_do_not_show(tmp_path):
    X, y = make_data()
    X = np.round(X)
    params = {"random_state": 3, "oob_score": True}
    forest = BalancedRandomForestClassifier(40, **params).fit(X, y)
    proba = forest.predict_proba(X)
    for other in (np.asfortranarray(X), sparse.csr_matrix(X), pd.DataFrame(X), Dataset(X)):
        same = BalancedRandomForestClassifier(40, n_jobs=2, **params).fit(other, y)
        np.testing.assert_array_equal(same.predict_proba(other), proba)
        assert same.oob_score_ == forest.oob_score_
    grown = BalancedRandomForestClassifier(25, warm_start=True, **params).fit(X, y)
    grown.set_params(n_estimators=40).fit(X, y)
    np.testing.assert_array_equal(grown.predict_proba(X), proba)
    forest.save(tmp_path / "forest")
    for same in (spinney.load(tmp_path / "forest"), pickle.loads(pickle.dumps(forest))):
        assert type(same) is BalancedRandomForestClassifier
        assert same.sampling_strategy_ == forest.sampling_strategy_
        np.testing.assert_array_equal(same.predict_proba(X), proba)
        for rows, known in zip(same.estimators_samples_, forest.estimators_samples_, strict=True):
            np.testing.assert_array_equal(rows, known)


def test_out_of_bag_values_are_those_of_unseen_samples():
    X, y = make_data()
    forest = BalancedRandomForestClassifier(40, oob_score=True, random_state=0).fit(X, y)
    sums, n_trees = np.zeros((len(y), 2)), np.zeros(len(y))
    for tree, rows in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        unseen = np.setdiff1d(np.arange(len(y)), rows)
        sums[unseen] += tree.predict_proba(X[unseen])
        n_trees[unseen] += 1
    np.testing.assert_allclose(forest.oob_decision_function_, sums / n_trees[:, None], rtol=1e-12)
    importances = forest.permutation_importance_oob(X, y, random_state=0)
    assert importances.importances_mean.shape == (8,)


def test_rare_classes_are_found():
    X, y = make_data((0.97, 0.03), 4000)
    X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
    scores = [
        balanced_accuracy_score(
            y_test, kind(100, random_state=0).fit(X_train, y_train).predict(X_test)
        )
        for kind in (RandomForestClassifier, BalancedRandomForestClassifier)
    ]
    assert scores[1] > scores[0] + 0.05


def test_cross_validation_is_that_of_scikit_learn():
    X, y = make_data()
    forest = BalancedRandomForestClassifier(5, random_state=0)
    np.testing.assert_array_equal(
        cross_val_score(forest, X, y, cv=3), sklearn_cross_val_score(forest, X, y, cv=3)
    )


def test_classes_without_weight_are_not_drawn():
    X, y = make_data(SHARES)
    weights = (y != 2).astype(float)
    forest = BalancedRandomForestClassifier(3, random_state=0).fit(X, y, sample_weight=weights)
    counts = count_classes(forest, y)
    assert counts[:, 2].tolist() == [0, 0, 0]
    np.testing.assert_array_equal(counts[:, 0], counts[:, 1])


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"sampling_strategy": "most"}, "'sampling_strategy' .* a str among"),
        ({"sampling_strategy": 0.0}, "'sampling_strategy' .* a float in the range"),
        ({"sampling_strategy": True}, "'sampling_strategy'"),
        ({"sampling_strategy": 0.01}, "would need .* it must be at least"),
        ({"sampling_strategy": {5: 3}}, r"classes of y, \[0, 1\]. Got 5"),
        ({"sampling_strategy": {0: 1.5}}, "number of samples for the class 0. Got 1.5"),
        ({"sampling_strategy": {0: -1}}, "number of samples for the class 0"),
        (
            {"sampling_strategy": {1: 10_000}, "replacement": False},
            "at most its [0-9]+ samples. Got 10000",
        ),
        ({"sampling_strategy": {0: 0, 1: 0}}, "leave a sample"),
        ({"sampling_strategy": len}, "must return a dict"),
        ({"replacement": 1}, "'replacement' .* a bool"),
        ({"bootstrap": "poisson"}, "'bootstrap' .* a bool"),
        ({"max_samples": 5}, "cannot be set if `bootstrap=False`"),
    ],
)
def test_illegal_parameters(params, words):
    X, y = make_data()
    forest = BalancedRandomForestClassifier(2, **params)
    before = dict(vars(forest))
    with pytest.raises(ValueError, match=words):
        forest.fit(X, y)
    assert vars(forest) == before


def test_illegal_targets():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"two classes\. Got 3"):
        BalancedRandomForestClassifier(2, sampling_strategy=0.5).fit(X, y)
    with pytest.raises(ValueError, match="needs one output of classes"):
        BalancedRandomForestClassifier(2).fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="sample_ids"):
        BalancedRandomForestClassifier(2).fit(X, y, sample_ids=np.arange(150))
