"""The face of the forests: what scikit-learn's offer, under the same names and meanings."""

import inspect
import pickle
import sys
import types
import warnings
from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.ensemble
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.metrics import explained_variance_score, f1_score
from sklearn.model_selection import train_test_split
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight

import spinney
from oracle import TREE_ARRAYS
from spinney import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from strategies import FOREST_CLASSIFIERS, FOREST_REGRESSORS, FORESTS

every_forest = pytest.mark.parametrize("forest_class", FORESTS)
every_classifier = pytest.mark.parametrize("forest_class", FOREST_CLASSIFIERS)
every_regressor = pytest.mark.parametrize("forest_class", FOREST_REGRESSORS)
TREE_OF_FOREST = {
    RandomForestClassifier: DecisionTreeClassifier,
    RandomForestRegressor: DecisionTreeRegressor,
    ExtraTreesClassifier: ExtraTreeClassifier,
    ExtraTreesRegressor: ExtraTreeRegressor,
}
OURS = {"feature_sampling": "all", "replace": True}


@pytest.fixture(scope="module")
def iris():
    """Return the iris measurements and species."""
    return load_iris(return_X_y=True)


def task_of(forest_class):
    """Return data with a signal for the kind of forest."""
    if is_classifier(forest_class()):
        return load_iris(return_X_y=True)
    X, y = load_diabetes(return_X_y=True)
    return X[:200], y[:200]


def bits(forest):
    return [
        [getattr(tree.tree_, name).tobytes() for name in TREE_ARRAYS] for tree in forest.estimators_
    ]


# --- Constructors, documentation ----------------------------------------------------------------


@every_forest
def test_constructor_is_that_of_scikit_learn(forest_class):
    """Same parameter names, order, kinds and defaults, and two more."""
    theirs = inspect.signature(getattr(sklearn.ensemble, forest_class.__name__)).parameters
    ours = inspect.signature(forest_class).parameters
    expected = {name: p.default for name, p in theirs.items()} | OURS
    assert {name: p.default for name, p in ours.items()} == expected
    assert {name: p.kind for name, p in ours.items() if name not in OURS} == {
        name: p.kind for name, p in theirs.items()
    }
    assert list(ours)[: -len(OURS)] == list(theirs)
    assert forest_class().get_params() == expected
    assert forest_class(7).n_estimators == 7


@every_forest
@pytest.mark.parametrize("method", ["predict", "apply", "decision_path", "score"])
def test_method_signature_is_that_of_scikit_learn(forest_class, method):
    """A call that works there works here."""
    theirs = inspect.signature(getattr(getattr(sklearn.ensemble, forest_class.__name__), method))
    ours = inspect.signature(getattr(forest_class, method))
    assert [(p.name, p.default) for p in ours.parameters.values()] == [
        (p.name, p.default) for p in theirs.parameters.values()
    ]


@every_forest
def test_everything_public_is_documented(forest_class):
    """Every parameter and every attribute of a fitted forest is in the docstring."""
    X, y = task_of(forest_class)
    forest = forest_class(3, bootstrap=True, oob_score=lambda *_: 0.5, random_state=0)
    with pytest.warns(UserWarning, match="Some inputs do not have OOB scores"):
        forest.fit(pd.DataFrame(X).add_prefix("x"), y)
    for name in inspect.signature(forest_class).parameters:
        assert f"    {name} : " in forest_class.__doc__, name
    fitted = [n for n in dir(forest) if n.endswith("_") and not n.startswith("_")]
    assert {"estimators_", "estimator_", "oob_score_", "feature_names_in_"} < set(fitted)
    for name in fitted:
        assert f"    {name} : " in forest_class.__doc__, name
    for name in ("fit", "predict", "apply", "decision_path", "estimators_", "feature_importances_"):
        assert inspect.getdoc(getattr(forest_class, name)), name


@every_forest
def test_attributes_are_those_of_scikit_learn(forest_class):
    """Whatever their fitted forests have under a name that ends in an underscore, ours have."""
    X, y = task_of(forest_class)
    params = {"n_estimators": 30, "bootstrap": True, "oob_score": True, "random_state": 0}
    theirs = getattr(sklearn.ensemble, forest_class.__name__)(**params).fit(X, y)
    ours = forest_class(**params).fit(X, y)
    names = [n for n in dir(theirs) if n.endswith("_") and not n.startswith("_")]
    assert [name for name in names if not hasattr(ours, name)] == []
    for name in set(names) - {"estimators_", "estimators_samples_", "estimator_"}:
        expected, got = getattr(theirs, name), getattr(ours, name)
        assert np.shape(got) == np.shape(expected), name
        assert np.asarray(got).dtype == np.asarray(expected).dtype, name
    assert type(ours.estimator_) is type(forest_class().estimator) is TREE_OF_FOREST[forest_class]
    assert ours.estimator.splitter == theirs.estimator.splitter
    assert not hasattr(forest_class(), "estimators_")
    assert not hasattr(forest_class(), "estimators_samples_")


def test_names_of_the_package():
    """The forests are exported and say where they come from."""
    for forest_class in FORESTS:
        assert forest_class.__name__ in spinney.__all__
        assert forest_class.__module__ == "spinney.forest"


# --- Fitting and predicting ---------------------------------------------------------------------


@every_classifier
@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss"])
def test_classifier_learns(forest_class, criterion, iris):
    """Labels of any type; probabilities sum to one and the logarithm is theirs."""
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    train, test = train_test_split(np.arange(len(y)), random_state=0, stratify=y)
    forest = forest_class(25, criterion=criterion, random_state=0).fit(X[train], names[train])
    assert is_classifier(forest)
    assert list(forest.classes_) == ["setosa", "versicolor", "virginica"]
    assert forest.n_classes_ == 3
    assert forest.score(X[test], names[test]) > 0.9
    proba = forest.predict_proba(X[test])
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(forest.predict_log_proba(X[test]), np.log(proba))
    np.testing.assert_array_equal(forest.predict(X[test]), forest.classes_[proba.argmax(axis=1)])


@every_regressor
def test_regressor_learns(forest_class):
    """Better than the mean by far; no attributes of classifiers."""
    X, y = load_diabetes(return_X_y=True)
    train, test = train_test_split(np.arange(len(y)), random_state=0)
    forest = forest_class(40, random_state=0).fit(X[train], y[train])
    assert is_regressor(forest)
    assert forest.score(X[test], y[test]) > 0.2
    assert not hasattr(forest, "classes_")
    assert not hasattr(forest, "n_classes_")
    assert forest.predict(X[test]).shape == y[test].shape


@every_regressor
def test_friedman_mse_is_squared_error(forest_class):
    """The deprecated name works as in scikit-learn, with its warning."""
    X, y = task_of(forest_class)
    forest = forest_class(3, criterion="friedman_mse", random_state=0)
    with pytest.warns(FutureWarning, match="friedman_mse"):
        forest.fit(X, y)
    assert bits(forest) == bits(forest_class(3, random_state=0).fit(X, y))


@every_classifier
def test_several_outputs_of_classes(forest_class, iris):
    """Lists of probabilities, columns of labels, strings too."""
    X, y = iris
    both = np.column_stack([np.array(["a", "b", "c"])[y], np.where(y == 1, "one", "other")])
    forest = forest_class(10, random_state=0).fit(X, both)
    assert [list(c) for c in forest.classes_] == [["a", "b", "c"], ["one", "other"]]
    assert list(forest.n_classes_) == [3, 2]
    proba = forest.predict_proba(X)
    assert [p.shape for p in proba] == [(150, 3), (150, 2)]
    assert [p.shape for p in forest.predict_log_proba(X)] == [(150, 3), (150, 2)]
    assert forest.predict(X).shape == both.shape
    assert (forest.predict(X) == both).mean() > 0.95
    for output, p in enumerate(proba):
        mean = sum(tree.predict_proba(X)[output] for tree in forest) / len(forest)
        np.testing.assert_array_equal(p, mean)


@every_regressor
def test_several_outputs_of_numbers(forest_class):
    """A column per output, each the mean of the trees'."""
    X, y = task_of(forest_class)
    forest = forest_class(5, random_state=0).fit(X, np.column_stack([y, -y, y * y]))
    assert forest.predict(X).shape == (len(y), 3)
    np.testing.assert_array_equal(forest.predict(X), sum(tree.predict(X) for tree in forest) / 5)
    np.testing.assert_allclose(forest.predict(X)[:, 1], -forest.predict(X)[:, 0])


@every_forest
def test_column_vector_warns(forest_class):
    """As in scikit-learn: a column of targets is taken for targets, with a warning."""
    X, y = task_of(forest_class)
    flat = forest_class(3, random_state=0).fit(X, y)
    with pytest.warns(DataConversionWarning, match=r"column-vector y.*ravel"):
        column = forest_class(3, random_state=0).fit(X, y[:, None])
    assert bits(column) == bits(flat)
    assert column.predict(X).ndim == 1


@every_forest
def test_unfitted(forest_class):
    """Before `fit` there is nothing to predict with."""
    forest = forest_class()
    for call in (forest.predict, forest.apply, forest.decision_path):
        with pytest.raises(NotFittedError):
            call([[0.0]])
    with pytest.raises(NotFittedError):
        _ = forest.feature_importances_
    assert not hasattr(forest, "forest_")


@every_forest
@pytest.mark.parametrize("form", [sp.csc_matrix, sp.csr_matrix, sp.csc_array, sp.coo_matrix])
def test_sparse_input(forest_class, form):
    """Any sparse form gives the forest of the dense one, out of bag too."""
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, (80, 6)) * (rng.random((80, 6)) < 0.4)
    y = rng.integers(0, 2, 80)
    params = {"n_estimators": 20, "bootstrap": True, "oob_score": True, "random_state": 0}
    dense, stored = forest_class(**params).fit(X, y), forest_class(**params).fit(form(X), y)
    assert bits(stored) == bits(dense)
    np.testing.assert_array_equal(stored.predict(form(X)), dense.predict(X))
    np.testing.assert_array_equal(stored.apply(form(X)), dense.apply(X))
    assert stored.oob_score_ == dense.oob_score_
    for one, other in zip(stored.decision_path(form(X)), dense.decision_path(X), strict=True):
        one, other = (m.toarray() if sp.issparse(m) else m for m in (one, other))
        np.testing.assert_array_equal(one, other)


@every_forest
def test_leaves_and_paths(forest_class):
    """Leaves and paths are those of the trees, side by side."""
    X, y = task_of(forest_class)
    forest = forest_class(7, max_depth=4, random_state=0).fit(X, y)
    leaves = forest.apply(X)
    assert leaves.shape == (len(X), 7)
    assert leaves.dtype == np.int64
    indicator, n_nodes_ptr = forest.decision_path(X)
    counts = [tree.tree_.node_count for tree in forest]
    np.testing.assert_array_equal(n_nodes_ptr, np.cumsum([0, *counts]))
    assert indicator.shape == (len(X), sum(counts))
    for t, tree in enumerate(forest):
        np.testing.assert_array_equal(leaves[:, t], tree.apply(X))
        part = indicator[:, n_nodes_ptr[t] : n_nodes_ptr[t + 1]]
        np.testing.assert_array_equal(part.toarray(), tree.decision_path(X).toarray())


@every_forest
def test_importances(forest_class):
    """Mean of the trees' importances; trees of one node are left out; zeros if all are."""
    X, y = task_of(forest_class)
    forest = forest_class(12, max_depth=2, random_state=0).fit(X, y)
    mean = np.mean([tree.feature_importances_ for tree in forest], axis=0)
    np.testing.assert_allclose(forest.feature_importances_, mean / mean.sum(), rtol=1e-14)
    lonely = forest_class(5).fit(np.zeros((10, 4)), np.arange(10) % 2)
    np.testing.assert_array_equal(lonely.feature_importances_, np.zeros(4))
    # Some samples of so few rows are of one class.
    small = RandomForestClassifier(60, random_state=0).fit([[0], [1], [2]], [0, 0, 1])
    sizes = {tree.tree_.node_count for tree in small}
    assert sizes == {1, 3}
    assert small.feature_importances_.sum() == 1


def test_informative_features_are_important():
    """Signal before noise, for any criterion."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    signal = X[:, 0] + X[:, 3]
    for forest in (
        RandomForestClassifier(20, random_state=0).fit(X, signal > 0),
        ExtraTreesRegressor(20, random_state=0).fit(X, signal),
    ):
        assert set(np.argsort(forest.feature_importances_)[-2:]) == {0, 3}


@pytest.mark.parametrize(
    "rules",
    [
        {"max_depth": 2},
        {"min_samples_split": 30},
        {"min_samples_leaf": 12},
        {"min_samples_leaf": 0.1},
        {"min_weight_fraction_leaf": 0.2},
        {"min_impurity_decrease": 0.05},
    ],
)
@every_forest
def test_stop_rules_reach_the_trees(forest_class, rules):
    """Every tree keeps the rules."""
    X, y = task_of(forest_class)
    y = (y > np.median(y)).astype(float)
    forest = forest_class(5, random_state=0, **rules).fit(X, y)
    free = forest_class(5, random_state=0).fit(X, y)
    for tree, larger in zip(forest, free, strict=True):
        assert tree.tree_.node_count < larger.tree_.node_count
        (name, value), nodes = *rules.items(), tree.tree_
        assert getattr(tree, name) == value
        inner, weight = nodes.children_left >= 0, nodes.weighted_n_node_samples
        if name == "max_depth":
            assert tree.get_depth() == 2
        elif name == "min_samples_split":
            assert nodes.n_node_samples[inner].min() >= 30
        elif name == "min_samples_leaf":
            assert nodes.n_node_samples.min() >= (12 if value == 12 else 0.1 * len(y))
        elif name == "min_weight_fraction_leaf":
            assert weight.min() >= 0.2 * weight[0]


def test_max_features_is_that_of_each_node(iris):
    """Fewer features give other trees, and the views know how many were drawn."""
    X, y = iris
    for max_features, n in [("sqrt", 2), ("log2", 2), (None, 4), (1, 1), (0.8, 3)]:
        forest = RandomForestClassifier(3, max_features=max_features, random_state=0).fit(X, y)
        assert [tree.max_features_ for tree in forest] == [n] * 3
    few = [RandomForestClassifier(3, max_features=n, random_state=0).fit(X, y) for n in (1, 4)]
    assert bits(few[0]) != bits(few[1])


def test_active_feature_sampling_reaches_the_trees():
    """Constant features are not drawn, so that trees need not go on drawing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 20))
    X[:, :16] = X[:, :16] > 2.0
    y = rng.integers(0, 2, 100)
    params = {"n_estimators": 4, "max_features": 5, "random_state": 0}
    forests = [
        RandomForestClassifier(feature_sampling=kind, **params).fit(X, y)
        for kind in ("all", "active")
    ]
    assert bits(forests[0]) != bits(forests[1])
    assert forests[1][0].feature_sampling == "active"


# --- Samples and weights ------------------------------------------------------------------------


@every_forest
@pytest.mark.parametrize("max_samples", [None, 1, 17, 0.5, 1.0, 1.5, 400])
def test_number_of_draws(forest_class, max_samples):
    """A number, or a share of the samples; more draws than samples are fine."""
    X, y = task_of(forest_class)
    n = len(y)
    forest = forest_class(4, bootstrap=True, max_samples=max_samples, random_state=0).fit(X, y)
    if isinstance(max_samples, float):
        expected = int(n * max_samples)
    else:
        expected = n if max_samples is None else max_samples
    for tree, samples in zip(forest, forest.estimators_samples_, strict=True):
        assert tree.tree_.weighted_n_node_samples[0] == expected == len(samples)
        assert tree.tree_.n_node_samples[0] == len(np.unique(samples))


def test_share_of_draws_is_one_of_the_total_weight(iris):
    """As in scikit-learn 1.9: `max_samples * sample_weight.sum()`, class weights counted in."""
    X, y = iris
    weight = np.arange(len(y)) % 4 / 2
    forest = RandomForestClassifier(2, max_samples=0.5, random_state=0)
    forest.fit(X, y, sample_weight=weight)
    assert len(forest.estimators_samples_[0]) == int(weight.sum() / 2)
    forest.set_params(class_weight={0: 2.0, 1: 1.0, 2: 0.0}).fit(X, y, sample_weight=weight)
    total = (weight * np.array([2.0, 1.0, 0.0])[y]).sum()
    assert len(forest.estimators_samples_[0]) == int(total / 2)
    assert all((y[samples] < 2).all() for samples in forest.estimators_samples_)
    forest = RandomForestClassifier(2, random_state=0).fit(X, y, sample_weight=weight)
    assert len(forest.estimators_samples_[0]) == len(y)


@pytest.mark.parametrize("class_weight", [None, "balanced_subsample"])
def test_few_draws_warn(class_weight):
    """A share that gives next to nothing is rounded up to one draw, with scikit-learn's warning."""
    X, y = load_wine(return_X_y=True)
    forest = RandomForestClassifier(3, max_samples=1e-4, class_weight=class_weight, random_state=0)
    with pytest.warns(UserWarning, match=r"max_samples=0.0001 when the number of samples is 178"):
        forest.fit(X, y)
    assert [len(samples) for samples in forest.estimators_samples_] == [1, 1, 1]
    with pytest.warns(UserWarning, match="total sum of sample weights"):
        forest.fit(X, y, sample_weight=np.ones(len(y)))


@every_forest
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bootstrap", [True, False, "poisson"])
def test_estimators_samples(forest_class, bootstrap, weighted):
    """The samples are what the trees were grown on: growing on them again gives the same trees."""
    X, y = task_of(forest_class)
    y = np.round(y).astype(int)
    weight = np.arange(len(y)) % 3 / 2.0 if weighted else None
    # Scaled features make no difference to the tree, but ties between them would to its draws.
    forest = forest_class(6, bootstrap=bootstrap, max_features=0.5, random_state=3)
    forest.fit(X, y, sample_weight=weight)
    samples = forest.estimators_samples_
    assert isinstance(samples, list)
    for one, again in zip(samples, forest.estimators_samples_, strict=True):
        np.testing.assert_array_equal(one, again)
        assert one.dtype == np.int32
    codes = np.searchsorted(forest.classes_, y) if is_classifier(forest) else y
    for tree, rows in zip(forest, samples, strict=True):
        if bootstrap is False:
            np.testing.assert_array_equal(rows, np.arange(len(y)))
        else:
            assert (np.diff(rows) >= 0).all()
            assert len(np.unique(rows)) < len(y)
        if weighted and bootstrap:
            assert (weight[rows] > 0).all()
        counts = np.bincount(rows, minlength=len(y)).astype(float)
        if weighted and bootstrap is not True:
            counts *= weight
        same = clone(tree).fit(X, codes, sample_weight=counts)
        for name in TREE_ARRAYS:
            ours, theirs = getattr(same.tree_, name), getattr(tree.tree_, name)
            np.testing.assert_array_equal(ours, theirs, err_msg=name)
        copies = clone(tree).fit(X[rows], codes[rows])
        if not (weighted and bootstrap is not True):
            np.testing.assert_array_equal(copies.tree_.threshold, tree.tree_.threshold)


@every_forest
def test_samples_without_replacement(forest_class):
    """Distinct rows, as many as asked for, others for each tree; weights stay in the tree."""
    X, y = task_of(forest_class)
    n = len(y)
    weight = np.arange(n) % 4 / 2.0
    draw = partial(forest_class, 5, bootstrap=True, replace=False, random_state=0)
    for max_samples, expected in [(40, 40), (0.25, n // 4), (n, n), (1.0, n), (None, n)]:
        forest = draw(max_samples=max_samples).fit(X, y)
        for tree, rows in zip(forest, forest.estimators_samples_, strict=True):
            assert len(rows) == len(np.unique(rows)) == expected
            assert tree.tree_.weighted_n_node_samples[0] == expected
        assert len({rows.tobytes() for rows in forest.estimators_samples_}) == (
            1 if expected == n else 5
        )
    forest = draw(max_samples=0.5).fit(X, y, sample_weight=weight)
    for tree, rows in zip(forest, forest.estimators_samples_, strict=True):
        assert len(rows) == np.count_nonzero(weight) // 2
        assert (weight[rows] > 0).all()
        assert tree.tree_.weighted_n_node_samples[0] == weight[rows].sum()
    for max_samples in (n + 1, 1.2):
        with pytest.raises(ValueError, match="max_samples with replace=False must be at most"):
            draw(max_samples=max_samples).fit(X, y)


def test_rows_without_replacement_are_drawn_evenly():
    """Every row is in a fifth of the samples, every pair in a fifth of that."""
    X, y = np.arange(50.0)[:, None], np.arange(50) % 2
    forest = RandomForestClassifier(
        2000, bootstrap=True, replace=False, max_samples=10, max_depth=1, random_state=0
    ).fit(X, y)
    drawn = np.zeros((2000, 50))
    for tree, rows in enumerate(forest.estimators_samples_):
        drawn[tree, rows] = 1
    # Six standard deviations of a share.
    assert np.abs(drawn.mean(axis=0) - 0.2).max() < 6 * np.sqrt(0.2 * 0.8 / 2000)
    pairs = (drawn.T @ drawn / 2000)[np.triu_indices(50, 1)]
    chance = 0.2 * 9 / 49
    assert np.abs(pairs - chance).max() < 6 * np.sqrt(chance * (1 - chance) / 2000)


@every_forest
def test_poisson_counts_belong_to_ids(forest_class):
    """The count of a sample is a function of its id, tree and seed: parts of the data agree."""
    X, y = task_of(forest_class)
    n = len(y)
    forest = forest_class(6, bootstrap="poisson", random_state=0).fit(X, y)
    counts = [np.bincount(rows, minlength=n) for rows in forest.estimators_samples_]
    assert all(
        np.array_equal(t.tree_.weighted_n_node_samples[0], c.sum())
        for t, c in zip(forest, counts, strict=True)
    )
    assert len({c.tobytes() for c in counts}) == 6
    named = clone(forest).fit(X, y, sample_ids=np.arange(n))
    assert bits(named) == bits(forest)

    train = np.random.default_rng(0).permutation(n)[: n // 2]
    fold = clone(forest).fit(X[train], y[train], sample_ids=train)
    for rows, whole in zip(fold.estimators_samples_, counts, strict=True):
        np.testing.assert_array_equal(np.bincount(rows, minlength=len(train)), whole[train])
    # So is the forest of the rows in any order, and that of the whole where the others weigh 0.
    order = np.argsort(train)
    same = clone(forest).fit(X[train][order], y[train][order], sample_ids=train[order])
    np.testing.assert_array_equal(same.predict(X), fold.predict(X))
    weight = np.zeros(n)
    weight[train] = 1
    masked = clone(forest).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(masked.predict(X), fold.predict(X), rtol=1e-12)
    # Other names, other draws; the largest name there is.
    other = clone(forest).fit(X, y, sample_ids=np.arange(n, dtype=np.uint64) + np.uint64(2**64 - n))
    assert bits(other) != bits(forest)
    # More trees do not change those there are.
    more = clone(forest).set_params(n_estimators=8).fit(X, y)
    assert bits(more)[:6] == bits(forest)


def test_poisson_counts_multiply_weights(iris):
    """A tree sees the count times the weight."""
    X, y = iris
    weight = np.random.default_rng(0).random(len(y))
    forest = RandomForestClassifier(5, bootstrap="poisson", random_state=0)
    plain, weighted = clone(forest).fit(X, y), clone(forest).fit(X, y, sample_weight=weight)
    for one, other, tree in zip(
        plain.estimators_samples_, weighted.estimators_samples_, weighted, strict=True
    ):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(tree.tree_.weighted_n_node_samples[0], weight[other].sum())
    # Weights whose integers are as large as they get, before the counts are multiplied.
    even = np.full(128, 0.1249)
    even[0] = np.nextafter(0.1249, 1)
    full = clone(forest).set_params(n_estimators=20).fit(X[:128], y[:128], sample_weight=even)
    for tree, rows in zip(full, full.estimators_samples_, strict=True):
        total = tree.tree_.weighted_n_node_samples[0]
        np.testing.assert_allclose(total, len(rows) * 0.1249, rtol=1e-12)


def test_no_poisson_sample_is_empty():
    """One row or two: they are drawn again until there is one."""
    for n in (1, 2):
        X, y = np.arange(float(n))[:, None], np.arange(n)
        forest = RandomForestRegressor(200, bootstrap="poisson", random_state=0).fit(X, y)
        sizes = [len(rows) for rows in forest.estimators_samples_]
        assert min(sizes) == 1
        assert max(sizes) > 2


@pytest.mark.parametrize("bootstrap", [True, False])
@every_forest
def test_sample_ids_matter_to_poisson_alone(forest_class, bootstrap):
    """They are checked, and have no influence on other samples."""
    X, y = task_of(forest_class)
    forest = forest_class(3, bootstrap=bootstrap, random_state=0)
    named = clone(forest).fit(X, y, sample_ids=np.arange(len(y))[::-1])
    assert bits(named) == bits(clone(forest).fit(X, y))


@every_forest
def test_weights_are_chances_to_be_drawn(forest_class):
    """Under a bootstrap a row of weight k is drawn k times as often, and one of 0 never."""
    X, y = task_of(forest_class)
    weight = np.arange(len(y)) % 4
    forest = forest_class(300, bootstrap=True, max_depth=1, random_state=0)
    rows = np.concatenate(forest.fit(X, y, sample_weight=weight).estimators_samples_)
    shares = np.bincount(weight[rows], minlength=4) / len(rows)
    expected = np.bincount(weight, weights=weight, minlength=4) / weight.sum()
    assert shares[0] == 0
    np.testing.assert_allclose(shares, expected, atol=6 * 0.5 / np.sqrt(len(rows)))
    # A common factor does not show.
    scaled = clone(forest).fit(X, y, sample_weight=weight * 0.3)
    assert bits(scaled) == bits(forest)


@every_forest
def test_copies_are_weights_under_a_bootstrap(forest_class):
    """A row of weight k and k copies of it: as many draws of the same rows."""
    X, y = task_of(forest_class)
    weight = np.arange(len(y)) % 3
    copies = np.repeat(np.arange(len(y)), weight)
    forest = forest_class(5, bootstrap=True, max_samples=100, random_state=0)
    weighted = clone(forest).fit(X, y, sample_weight=weight)
    copied = clone(forest).fit(X[copies], y[copies])
    for one, other in zip(weighted.estimators_samples_, copied.estimators_samples_, strict=True):
        np.testing.assert_array_equal(one, copies[other])
    for one, other in zip(weighted, copied, strict=True):
        np.testing.assert_array_equal(one.tree_.threshold, other.tree_.threshold)
    np.testing.assert_allclose(weighted.predict(X), copied.predict(X), rtol=1e-12)


# --- Class weights ------------------------------------------------------------------------------


@every_classifier
@pytest.mark.parametrize("bootstrap", [True, False])
def test_class_weights_are_sample_weights(forest_class, bootstrap, iris):
    """A dict of class weights multiplies the weights of the samples."""
    X, y = iris
    by_class = {0: 1.0, 1: 100.0, 2: 0.5}
    factor = np.array([1.0, 100.0, 0.5])[y]
    given = np.arange(len(y)) % 3 + 1.0
    forest = forest_class(5, bootstrap=bootstrap, random_state=0)
    weighing = clone(forest).set_params(class_weight=by_class)
    assert bits(clone(weighing).fit(X, y)) == bits(clone(forest).fit(X, y, sample_weight=factor))
    both = clone(forest).fit(X, y, sample_weight=given * factor)
    assert bits(weighing.fit(X, y, sample_weight=given)) == bits(both)


@every_classifier
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("preset", ["balanced", "balanced_subsample"])
def test_balanced_on_all_samples(forest_class, preset, weighted):
    """Without a bootstrap both presets balance the classes, the given weights counted in."""
    X, y = load_breast_cancer(return_X_y=True)
    given = np.arange(len(y)) % 5 + 1.0 if weighted else None
    plain = np.ones(len(y)) if given is None else given
    factors = plain.sum() / (2 * np.bincount(y, weights=plain))
    if "sample_weight" in inspect.signature(compute_class_weight).parameters:
        theirs = compute_class_weight("balanced", classes=np.unique(y), y=y, sample_weight=plain)
        np.testing.assert_allclose(factors, theirs)
    forest = forest_class(3, bootstrap=False, max_depth=3, random_state=0)
    expected = clone(forest).fit(X, y, sample_weight=plain * factors[y])
    got = clone(forest).set_params(class_weight=preset).fit(X, y, sample_weight=given)
    assert bits(got) == bits(expected)
    root = got[0].tree_.value[0, 0]
    np.testing.assert_allclose(root, [0.5, 0.5])


@every_classifier
def test_balanced_draws(forest_class):
    """Under a bootstrap "balanced" is about chances: classes are drawn alike often."""
    X, y = load_breast_cancer(return_X_y=True)
    forest = forest_class(
        100, bootstrap=True, class_weight="balanced", max_depth=1, random_state=0
    ).fit(X, y)
    rows = np.concatenate(forest.estimators_samples_)
    assert abs(y[rows].mean() - 0.5) < 6 * 0.5 / np.sqrt(len(rows))


@every_classifier
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("sampling", [{}, {"replace": False, "max_samples": 0.5}])
def test_balanced_subsample(forest_class, sampling, outputs):
    """In the sample of each tree classes weigh the same; draws do not know of it."""
    X, y = load_wine(return_X_y=True)
    if outputs == 2:
        y = np.column_stack([y, X[:, 0] > 13.5])
    forest = forest_class(
        6, bootstrap=True, class_weight="balanced_subsample", random_state=0, **sampling
    ).fit(X, y)
    plain = clone(forest).set_params(class_weight=None).fit(X, y)
    for tree, rows, same in zip(
        forest, forest.estimators_samples_, plain.estimators_samples_, strict=True
    ):
        np.testing.assert_array_equal(rows, same)
        weight = np.bincount(rows, minlength=len(y)) * compute_sample_weight(
            "balanced", y, indices=rows
        )
        again = clone(tree).fit(X, y, sample_weight=weight)
        np.testing.assert_array_equal(again.tree_.threshold, tree.tree_.threshold)
        np.testing.assert_allclose(again.tree_.value, tree.tree_.value, rtol=1e-12, atol=1e-15)
        if outputs == 1:
            np.testing.assert_allclose(tree.tree_.value[0, 0], np.full(3, 1 / 3))


def test_balanced_subsample_and_sample_weight(iris):
    """With replacement weights are spent on the draws; otherwise they multiply."""
    X, y = iris
    weight = np.arange(len(y)) % 3 + 1.0
    forest = RandomForestClassifier(4, class_weight="balanced_subsample", random_state=0)
    for kind, spent in [({}, True), ({"bootstrap": "poisson"}, False)]:
        fitted = clone(forest).set_params(**kind).fit(X, y, sample_weight=weight)
        for tree, rows in zip(fitted, fitted.estimators_samples_, strict=True):
            counts = np.bincount(rows, minlength=len(y))
            expected = counts * compute_sample_weight("balanced", y, indices=rows)
            if not spent:
                expected = expected * weight
            total = tree.tree_.weighted_n_node_samples[0]
            np.testing.assert_allclose(total, expected.sum(), rtol=1e-12)


@every_classifier
def test_class_weight_of_several_outputs(forest_class, iris):
    """A dict per output; their weights are multiplied."""
    X, y = iris
    both = np.column_stack([y, y == 0])
    per_output = [{0: 2.0, 1: 1.0, 2: 1.0}, {0: 1.0, 1: 4.0}]
    forest = forest_class(3, random_state=0, bootstrap=False)
    weight = np.where(y == 0, 8.0, 1.0)
    expected = clone(forest).fit(X, both, sample_weight=weight)
    assert bits(clone(forest).set_params(class_weight=per_output).fit(X, both)) == bits(expected)
    # The first output is balanced; in the second the 50 weigh 1.5 and the 100 weigh 0.75.
    balanced = clone(forest).set_params(class_weight="balanced").fit(X, both)
    np.testing.assert_allclose(balanced[0].tree_.value[0, 0], [0.5, 0.25, 0.25])


@every_classifier
def test_presets_warn_under_warm_start(forest_class, iris):
    """Balancing what is only a part of the data is seldom meant."""
    forest = forest_class(2, class_weight="balanced", warm_start=True, random_state=0)
    with pytest.warns(UserWarning, match="not recommended for warm_start"):
        forest.fit(*iris)


def test_weightless_classes_are_harmless(iris):
    """A class of weight 0 has no say in the balance."""
    X, y = iris
    forest = RandomForestClassifier(3, bootstrap=False, class_weight="balanced", random_state=0)
    forest.fit(X, y, sample_weight=(y != 1).astype(float))
    np.testing.assert_allclose(forest[0].tree_.value[0, 0], [0.5, 0.0, 0.5])
    assert set(forest.predict(X)) <= {0, 2}


# --- Warm start ---------------------------------------------------------------------------------


@every_forest
@pytest.mark.parametrize("bootstrap", [True, False, "poisson"])
def test_warm_start_is_growing_at_once(forest_class, bootstrap):
    """Three steps or one: the same forest, and it shares the trees it had."""
    X, y = task_of(forest_class)
    at_once = forest_class(9, bootstrap=bootstrap, random_state=42).fit(X, y)
    forest = forest_class(2, bootstrap=bootstrap, random_state=42, warm_start=True)
    for n in (2, 5, 9):
        forest.set_params(n_estimators=n).fit(X, y)
        assert len(forest) == len(forest.estimators_) == n
    assert bits(forest) == bits(at_once)
    assert [t.random_state for t in forest] == [t.random_state for t in at_once]
    np.testing.assert_array_equal(forest.predict(X), at_once.predict(X))


@every_forest
def test_warm_start_off_starts_anew(forest_class):
    """Without `warm_start` nothing is left of an earlier fit."""
    X, y = task_of(forest_class)
    forest = forest_class(3, warm_start=True, random_state=2).fit(X, y)
    forest.set_params(warm_start=False, random_state=1).fit(X, y)
    assert bits(forest) == bits(forest_class(3, random_state=1).fit(X, y))


@every_forest
def test_warm_start_with_fewer_trees(forest_class):
    """Trees are not thrown away."""
    X, y = task_of(forest_class)
    forest = forest_class(5, warm_start=True, random_state=0).fit(X, y)
    before = bits(forest)
    with pytest.raises(
        ValueError, match=r"n_estimators=4 must be larger or equal to len\(estimators_\)=5"
    ):
        forest.set_params(n_estimators=4).fit(X, y)
    assert bits(forest) == before


@every_forest
def test_warm_start_with_as_many_trees(forest_class):
    """A warning, and the forest as it was, whatever the data."""
    X, y = task_of(forest_class)
    forest = forest_class(4, warm_start=True, random_state=0).fit(X, y)
    before, outputs = bits(forest), forest.n_outputs_
    with pytest.warns(UserWarning, match="does not fit new trees"):
        forest.set_params(random_state=7).fit(X[:50, :2], np.column_stack([y, y])[:50])
    assert bits(forest) == before
    assert forest.n_outputs_ == outputs
    assert forest.predict(X).ndim == 1


@every_forest
def test_warm_start_on_other_data(forest_class):
    """Other rows are fine; other features, outputs or classes are refused."""
    X, y = task_of(forest_class)
    forest = forest_class(3, warm_start=True, random_state=0).fit(X, y)
    forest.set_params(n_estimators=5).fit(X[::2], y[::2])
    assert len(forest) == 5
    before = bits(forest)
    forest.set_params(n_estimators=7)
    for other, message in [
        ((X[:, 1:], y), "feature"),
        ((X, np.column_stack([y, y])), "output"),
    ]:
        with pytest.raises(ValueError, match=f"warm_start=True .*{message}"):
            forest.fit(*other)
    if is_classifier(forest):
        with pytest.raises(ValueError, match="must have their classes"):
            forest.fit(X, y + 1)
    assert bits(forest) == before
    assert forest.n_features_in_ == X.shape[1]


def test_warm_start_with_a_generator(iris):
    """A generator goes on: new trees are new."""
    X, y = iris
    forest = RandomForestClassifier(3, warm_start=True, random_state=np.random.RandomState(0))
    forest.fit(X, y).set_params(n_estimators=6).fit(X, y)
    assert len({tree.random_state for tree in forest}) == 6


# --- Out of bag ---------------------------------------------------------------------------------


def out_of_bag_by_hand(forest, X):
    """Return the mean over the trees that have not seen a row, and their number."""
    values = 0
    seen = np.zeros((len(X), 1))
    for tree, rows in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        unseen = np.ones(len(X), dtype=bool)
        unseen[rows] = False
        proba = tree.predict_proba(X) if is_classifier(tree) else tree.predict(X)
        values = values + np.where(unseen[:, None], np.asarray(proba).reshape(len(X), -1), 0)
        seen += unseen[:, None]
    return values / np.maximum(seen, 1), seen[:, 0]


SAMPLINGS = [
    {},
    {"max_samples": 0.3},
    {"bootstrap": "poisson"},
    {"replace": False, "max_samples": 0.5},
]


@every_forest
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_out_of_bag_by_hand(forest_class, sampling, weighted):
    """Attributes and score are what the samples of the trees say."""
    X, y = task_of(forest_class)
    weight = np.arange(len(y)) % 3 + 1.0 if weighted else None
    params = {"bootstrap": True, "oob_score": True, "random_state": 0, "n_jobs": 2, **sampling}
    # More trees than are looked at together.
    forest = forest_class(70, max_depth=3, **params).fit(X, y, sample_weight=weight)
    values, seen = out_of_bag_by_hand(forest, X)
    assert seen.min() > 0
    if is_classifier(forest):
        np.testing.assert_array_equal(forest.oob_decision_function_, values)
        assert forest.oob_score_ == np.mean(forest.classes_[values.argmax(axis=1)] == y)
        assert not hasattr(forest, "oob_prediction_")
    else:
        np.testing.assert_array_equal(forest.oob_prediction_, values[:, 0])
        residual = ((y - values[:, 0]) ** 2).sum() / ((y - y.mean()) ** 2).sum()
        np.testing.assert_allclose(forest.oob_score_, 1 - residual)
        assert not hasattr(forest, "oob_decision_function_")


@every_classifier
def test_out_of_bag_multilabel(forest_class, iris):
    """Outputs are last, as in scikit-learn; the score is that of whole rows."""
    X, y = iris
    labels = np.column_stack([y == 0, y == 1]).astype(int)
    forest = forest_class(40, bootstrap=True, oob_score=True, random_state=0).fit(X, labels)
    assert forest.oob_decision_function_.shape == (150, 2, 2)
    predicted = forest.oob_decision_function_.argmax(axis=1)
    assert forest.oob_score_ == (predicted == labels).all(axis=1).mean()
    assert forest.oob_score_ > 0.9


@every_regressor
def test_out_of_bag_several_outputs(forest_class):
    """A column per output; whole numbers are numbers."""
    X, y = task_of(forest_class)
    both = np.column_stack([y, -2 * y]).astype(int)
    forest = forest_class(40, bootstrap=True, oob_score=True, random_state=0).fit(X, both)
    assert forest.oob_prediction_.shape == both.shape
    np.testing.assert_allclose(forest.oob_prediction_[:, 1], -2 * forest.oob_prediction_[:, 0])


@every_forest
def test_out_of_bag_by_a_function(forest_class):
    """`oob_score` may be a function of what is true and what is predicted."""
    X, y = task_of(forest_class)
    is_class = is_classifier(forest_class())
    score = partial(f1_score, average="micro") if is_class else explained_variance_score
    params = {"n_estimators": 40, "bootstrap": True, "random_state": 0}
    forest = forest_class(oob_score=score, **params).fit(X, y)
    if is_class:
        expected = score(y, forest.oob_decision_function_.argmax(axis=1))
    else:
        expected = score(y, forest.oob_prediction_)
    assert forest.oob_score_ == expected


@every_classifier
def test_out_of_bag_of_multiclass_multioutput(forest_class, iris):
    """scikit-learn has no score for it and says so."""
    X, _ = iris
    y = np.random.default_rng(0).integers(0, 5, (150, 2))
    forest = forest_class(oob_score=True, bootstrap=True)
    with pytest.raises(ValueError, match=r"OOB estimates. Got multiclass-multioutput"):
        forest.fit(X, y)
    assert not hasattr(forest, "forest_")


@every_forest
def test_out_of_bag_needs_a_bootstrap(forest_class):
    """All rows are seen by all trees otherwise."""
    with pytest.raises(ValueError, match="only available if bootstrap=True"):
        forest_class(bootstrap=False, oob_score=True).fit(*task_of(forest_class))


@every_forest
def test_out_of_bag_of_few_trees_warns(forest_class):
    """Rows that all trees have seen have zeros."""
    X, y = task_of(forest_class)
    forest = forest_class(1, bootstrap=True, oob_score=True, random_state=0)
    with pytest.warns(UserWarning, match="Some inputs do not have OOB scores"):
        forest.fit(X, y)
    rows = np.unique(forest.estimators_samples_[0])
    values = (
        forest.oob_decision_function_ if is_classifier(forest) else forest.oob_prediction_[:, None]
    )
    assert not values[rows].any()
    assert np.delete(values, rows, axis=0).any(axis=1).all()


@every_forest
def test_out_of_bag_and_warm_start(forest_class):
    """It is computed when asked for, over all trees, and not twice."""
    X, y = task_of(forest_class)
    params = {"bootstrap": True, "random_state": 1, "max_depth": 3}
    at_once = forest_class(30, oob_score=True, **params).fit(X, y)
    forest = forest_class(10, warm_start=True, **params).fit(X, y)
    assert not hasattr(forest, "oob_score_")
    forest.set_params(n_estimators=30, oob_score=True).fit(X, y)
    assert forest.oob_score_ == at_once.oob_score_
    calls = []

    def score(*given):
        calls.append(given)
        return 0.5

    late = forest_class(30, warm_start=True, **params).fit(X, y)
    late.set_params(oob_score=True)
    with pytest.warns(UserWarning, match="does not fit new trees"):
        late.fit(X, y)
    assert late.oob_score_ == at_once.oob_score_
    late.set_params(oob_score=score)
    with pytest.warns(UserWarning, match="does not fit new trees"):
        late.fit(X, y)
    assert calls == []
    late.set_params(n_estimators=31).fit(X, y)
    assert len(calls) == 1
    # What belongs to a forest that is no more does not stay.
    late.set_params(oob_score=False, n_estimators=32).fit(X, y)
    assert not hasattr(late, "oob_score_")


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
    first = trees[0].tree_
    assert np.shares_memory(first.threshold, forest.forest_.tree(0).threshold)


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
            assert forest._n_threads() == 2
            assert bits(forest.fit(X, y)) == expected
    assert forest._n_threads() == 1


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
