"""The face of the forests: what scikit-learn's offer, under the same names and meanings."""

import inspect
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.ensemble
from sklearn.base import is_classifier, is_regressor
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import train_test_split

import spinney
from contract import NEWER_ATTRIBUTES, expected_parameters, parameters_of
from forests import TREE_OF_FOREST, every_classifier, every_forest, every_regressor, task_of
from oracle import assert_same_paths, bits
from spinney import (
    ExtraTreesRegressor,
    RandomForestClassifier,
)
from strategies import FOREST_REGRESSORS, FORESTS

pytestmark = pytest.mark.oldest
OURS = {"feature_sampling": "all", "replace": True, "min_samples_category": 1}
OURS |= {
    "handle_unknown": "ignore",
    "honest": False,
    "honest_fraction": 0.5,
    "interaction_cst": None,
    "subforest_size": None,
}


@pytest.fixture(scope="module")
def iris():
    """Return the iris measurements and species."""
    return load_iris(return_X_y=True)


# --- Constructors, documentation ----------------------------------------------------------------


@every_forest
def test_constructor_is_that_of_scikit_learn(forest_class):
    """Same parameter names, order, kinds and defaults, and some more."""
    theirs = getattr(sklearn.ensemble, forest_class.__name__)
    own = OURS | ({"quantile": 0.5} if forest_class in FOREST_REGRESSORS else {})
    own |= {} if forest_class.__name__.startswith("Extra") else {"category_order": "auto"}
    own |= {} if forest_class in FOREST_REGRESSORS else {"class_sampling": None}
    expected = expected_parameters(theirs, forest_class) | own
    ours = inspect.signature(forest_class).parameters
    assert {name: p.default for name, p in ours.items()} == expected
    kinds = [p.kind for p in ours.values()]
    assert kinds[0] is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert set(kinds[1:]) == {inspect.Parameter.KEYWORD_ONLY}
    assert next(iter(ours)) == next(iter(parameters_of(theirs))) == "n_estimators"
    assert forest_class().get_params() == expected
    assert forest_class(7).n_estimators == 7


@every_forest
@pytest.mark.parametrize("method", ["predict", "apply", "decision_path", "score"])
def test_method_signature_is_that_of_scikit_learn(forest_class, method):
    """A call that works there works here."""
    theirs = getattr(getattr(sklearn.ensemble, forest_class.__name__), method)
    ours = getattr(forest_class, method)
    expected = expected_parameters(theirs, ours)
    if method == "predict" and forest_class in FOREST_REGRESSORS:
        expected |= {"return_std": False, "oob_score": False}
    assert list(parameters_of(ours).items()) == list(expected.items())


@every_forest
def test_everything_public_is_documented(forest_class):
    """Every parameter and every attribute of a fitted forest is in the docstring."""
    X, y = task_of(forest_class)
    forest = forest_class(3, bootstrap=True, oob_score=lambda *_: 0.5, random_state=0)
    with pytest.warns(UserWarning, match="Some inputs do not have OOB scores"):
        forest.fit(pd.DataFrame(X).add_prefix("x"), y)
    doc = inspect.getdoc(forest_class)
    for name in inspect.signature(forest_class).parameters:
        assert f"\n{name} : " in doc, name
    fitted = [n for n in dir(forest) if n.endswith("_") and not n.startswith("_")]
    assert {"estimators_", "estimator_", "oob_score_", "feature_names_in_"} < set(fitted)
    for name in fitted:
        assert f"\n{name} : " in doc, name
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
    names = [name for name in names if name not in NEWER_ATTRIBUTES]
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
        assert forest_class.__name__ in spinney.ensemble.__all__
        assert forest_class.__module__.startswith("spinney.ensemble.")


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
    with pytest.warns(FutureWarning, match="friedman_mse"):
        forest = forest_class(3, criterion="friedman_mse", random_state=0)
    assert bits(forest.fit(X, y)) == bits(forest_class(3, random_state=0).fit(X, y))


@every_regressor
def test_quantile_is_handed_to_the_trees(forest_class):
    """Its trees have the level and leaves of quantiles; one half is the median's forest."""
    X, y = task_of(forest_class)
    params = {"min_samples_leaf": 20, "random_state": 0}
    low, high = (
        forest_class(10, criterion="quantile", quantile=level, **params).fit(X, y)
        for level in (0.1, 0.9)
    )
    for level, forest in ((0.1, low), (0.9, high)):
        assert [tree.quantile for tree in forest] == [level] * 10
        assert abs((y <= forest.predict(X)).mean() - level) < 0.1
    assert (low.predict(X) <= high.predict(X)).all()
    median = forest_class(3, criterion="absolute_error", **params).fit(X, y)
    half = forest_class(3, criterion="quantile", **params).fit(X, y)
    np.testing.assert_array_equal(half.apply(X), median.apply(X))
    np.testing.assert_array_equal(half.predict(X), median.predict(X))


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
    (paths, n_nodes_ptr), (same, same_ptr) = stored.decision_path(form(X)), dense.decision_path(X)
    assert_same_paths(paths, same)
    np.testing.assert_array_equal(n_nodes_ptr, same_ptr)


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
        assert_same_paths(part, tree.decision_path(X))


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


# --- Arrays that need no check -------------------------------------------------------------------


@every_forest
def test_plain_floats_skip_the_checks_of_scikit_learn(forest_class, iris, monkeypatch):
    """They would pass, and take longer than the forest; everything else is checked."""
    X, y = iris
    forest = forest_class(5, random_state=0).fit(X, y)
    expected = forest.predict(X.tolist())

    def refuse(*_args, **_kwargs):
        raise AssertionError("checked")

    monkeypatch.setattr("spinney._base.features.validate_data", refuse)
    for plain in (X, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]):
        assert forest.predict(plain).tobytes() == expected.tobytes()
        assert forest.predict(plain.astype(np.float32)).shape == (len(X),)
    assert np.isfinite(forest.predict(np.full((1, X.shape[1]), np.nan))).all()
    others = (
        X.tolist(),
        X[:0],
        X[:, 1:],
        X.astype(int),
        X.astype(np.float16),
        X.astype(">f8"),
    )
    for other in (*others, np.ma.array(X), sp.csr_matrix(X)):
        with pytest.raises(AssertionError, match="checked"):
            forest.predict(other)
    with pytest.raises(ValueError, match="Expected 2D array"):
        forest.predict(X[0])


def test_names_are_missed(iris):
    """An estimator that knows names of features says that an array has none."""
    X, y = iris
    frame = pd.DataFrame(X, columns=list("abcd"))
    forest = RandomForestClassifier(3, random_state=0).fit(frame, y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        forest.predict(X)
    with pytest.raises(NotFittedError):
        RandomForestClassifier().predict(X)


@pytest.mark.parametrize("n_features", [1, 16, 17, 40, 128, 129])
def test_batches_predict_what_rows_predict(n_features):
    """Rows one by one and in blocks, rounded, missing and of any type: the same bits."""
    rng = np.random.default_rng(n_features)
    X = rng.standard_normal((700, n_features))
    X[:, 0] = np.round(X[:, 0], 1)
    y = np.digitize(X[:, 0] + X[:, -1], [-0.5, 0.5])
    X[rng.random(X.shape) < 0.02] = np.nan
    forest = RandomForestClassifier(7, random_state=0).fit(X, y)
    for rows in (X, X.astype(np.float32), np.nan_to_num(X), np.nan_to_num(X).astype(np.float32)):
        one_by_one = [forest.predict_proba(rows[i : i + 1]).tobytes() for i in range(700)]
        ids = np.concatenate([forest.apply(rows[i : i + 1]) for i in range(700)])
        for size in (64, 700):
            parts = [rows[start : start + size] for start in range(0, 700, size)]
            found = b"".join(forest.predict_proba(part).tobytes() for part in parts)
            assert found == b"".join(one_by_one)
            assert np.array_equal(np.concatenate([forest.apply(part) for part in parts]), ids)
        by_column = np.asfortranarray(rows)
        found = forest.set_params(n_jobs=2).predict_proba(by_column).tobytes()
        assert found == b"".join(one_by_one)
        assert np.array_equal(forest.estimators_[0].apply(rows), ids[:, 0])


def test_labels_are_the_first_of_the_largest_probabilities():
    """Labels are chosen from a block of samples at a time; ties go to the first class."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (1500, 2)).astype(float)
    for y in (np.array(["b", "a", "c"])[rng.integers(0, 3, 1500)], rng.integers(0, 4, (1500, 2))):
        for n_estimators in (1, 2, 30):
            forest = RandomForestClassifier(n_estimators, random_state=0).fit(X, y)
            probabilities, classes = forest.predict_proba(X), forest.classes_
            if y.ndim == 1:
                probabilities, classes = [probabilities], [classes]
            chosen = [c[p.argmax(axis=1)] for c, p in zip(classes, probabilities, strict=True)]
            assert np.array_equal(forest.predict(X), np.column_stack(chosen).reshape(y.shape))


def test_labels_of_many_samples_need_no_table_of_probabilities():
    program = """
import resource
import numpy as np
from spinney import RandomForestClassifier

X = np.arange(40_000.0).reshape(-1, 1)
forest = RandomForestClassifier(1, max_depth=2, random_state=0).fit(X, np.arange(X.size) % 500)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert forest.predict(X).shape == (40_000,)
added = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
# Kilobytes; the table would have 160 MB.
assert added < 40_000, added
"""
    subprocess.run([sys.executable, "-c", program], check=True)
