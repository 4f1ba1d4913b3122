"""The face: what scikit-learn's trees offer, under the same names and with the same meaning."""

import inspect
import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
import sklearn.tree
from sklearn.base import is_classifier, is_regressor
from sklearn.datasets import load_diabetes, load_iris
from sklearn.utils import Bunch

import spinney
from contract import expected_parameters, parameters_of
from oracle import NO_CHILD, TREE_ARRAYS, assert_same_tree, frozen
from spinney import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from strategies import CLASSIFIERS, ESTIMATORS, REGRESSORS

pytestmark = pytest.mark.oldest
every_estimator = pytest.mark.parametrize("tree_class", ESTIMATORS)
every_classifier = pytest.mark.parametrize("tree_class", CLASSIFIERS)
every_regressor = pytest.mark.parametrize("tree_class", REGRESSORS)
PUBLIC_METHODS = (
    "fit",
    "predict",
    "apply",
    "decision_path",
    "cost_complexity_pruning_path",
    "score",
    "get_depth",
    "get_n_leaves",
    "get_params",
    "set_params",
)


@pytest.fixture(scope="module")
def iris():
    """Return the iris measurements and species."""
    return load_iris(return_X_y=True)


def chain(n_levels):
    """Return rows whose exact tree takes off one row per level.

    The labels alternate along the only column. With d the difference of the two class counts in a
    side of w rows, that side adds (w + d * d / w) / 2 to the sum of squared counts over w. Every
    prefix of odd length has d = 1 and gains most when it is shortest, and ties go to the lowest
    threshold: so the first row is cut off again and again.
    """
    X = np.arange(n_levels + 1.0)[:, None]
    return X, np.arange(n_levels + 1) % 2


# --- Constructors, documentation ----------------------------------------------------------------


@every_estimator
def test_constructor_is_that_of_scikit_learn(tree_class):
    """Same parameter names and defaults, and some more."""
    own = {"n_jobs": None, "feature_sampling": "all", "min_samples_category": 1}
    own |= {"handle_unknown": "ignore", "interaction_cst": None}
    if tree_class in REGRESSORS:
        own["quantile"] = 0.5
    if tree_class.__name__.startswith("Decision"):
        own["category_order"] = "auto"
    theirs = getattr(sklearn.tree, tree_class.__name__)
    expected = expected_parameters(theirs, tree_class) | own
    parameters = inspect.signature(tree_class).parameters
    assert {p.name: p.default for p in parameters.values()} == expected
    assert {p.kind for p in parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}
    assert tree_class().get_params() == expected


@every_estimator
@pytest.mark.parametrize(
    "method",
    [
        "fit",
        "predict",
        "apply",
        "decision_path",
        "cost_complexity_pruning_path",
        "get_depth",
        "get_n_leaves",
        "score",
    ],
)
def test_method_signature_is_that_of_scikit_learn(tree_class, method):
    """A call that works there works here."""
    theirs = getattr(getattr(sklearn.tree, tree_class.__name__), method)
    ours = getattr(tree_class, method)
    expected = expected_parameters(theirs, ours)
    assert list(parameters_of(ours).items()) == list(expected.items())


@every_estimator
def test_public_methods_are_documented(tree_class):
    """The class, its public methods and its properties have docstrings."""
    # From 3.13 on, Python strips the indentation of docstrings; `getdoc` does so in all versions.
    doc = inspect.getdoc(tree_class)
    assert "\nParameters\n" in doc
    assert "\nAttributes\n" in doc
    for parameter in inspect.signature(tree_class).parameters:
        assert f"\n{parameter} : " in doc, parameter
    methods = PUBLIC_METHODS
    if tree_class in CLASSIFIERS:
        methods += ("predict_proba", "predict_log_proba")
    for name in (*methods, "feature_importances_"):
        assert inspect.getdoc(getattr(tree_class, name)), name


def test_names_of_the_package():
    """The package exports its estimators and its version."""
    for tree_class in ESTIMATORS:
        assert tree_class.__name__ in spinney.__all__
        assert tree_class.__module__.split(".")[0] == "spinney"
    assert all(hasattr(spinney, name) for name in spinney.__all__)
    assert spinney.__version__.split(".")[0].isdecimal()


@every_estimator
def test_repr_shows_what_was_changed(tree_class):
    """Only parameters that differ from the default are shown, and the text can be evaluated."""
    assert repr(tree_class()) == f"{tree_class.__name__}()"
    assert repr(tree_class(max_depth=3)) == f"{tree_class.__name__}(max_depth=3)"


@every_regressor
def test_friedman_mse_is_squared_error(tree_class):
    """The old name is accepted with a warning, as in scikit-learn."""
    X, y = load_diabetes(return_X_y=True)

    def friedman():
        tree = tree_class(criterion="friedman_mse", max_depth=3, random_state=0)
        return tree.fit(X, y)

    with pytest.warns(FutureWarning, match="friedman_mse"):
        tree = friedman()
    assert_same_tree(tree, tree_class(max_depth=3, random_state=0).fit(X, y))


def test_log_loss_is_entropy(iris):
    """Two names of one criterion."""
    trees = [
        DecisionTreeClassifier(criterion=criterion, random_state=0).fit(*iris)
        for criterion in ("entropy", "log_loss")
    ]
    assert_same_tree(*trees)
    assert trees[0].tree_.impurity[0] == pytest.approx(np.log2(3), rel=1e-12)


# --- Labels, targets, weights -------------------------------------------------------------------


@every_classifier
@pytest.mark.parametrize(
    "labels",
    [
        np.array(["setosa", "versicolor", "virginica"]),
        np.array(["setosa", "versicolor", "virginica"], dtype=object),
        np.array([10, -3, 7]),
        np.array([2.0, 0.0, 1.0]),
    ],
    ids=["str", "object", "int", "float"],
)
def test_labels_of_any_kind(tree_class, labels, iris):
    """Labels come back as they were given, and the classes stand in sorted order."""
    X, codes = iris
    y = labels[codes]
    tree = tree_class(random_state=0).fit(X, y)
    np.testing.assert_array_equal(tree.classes_, np.sort(labels))
    assert tree.n_classes_ == 3
    assert tree.n_outputs_ == 1
    predicted = tree.predict(X)
    assert predicted.dtype == y.dtype
    np.testing.assert_array_equal(predicted, y)
    assert tree.score(X, y) == 1.0
    order = np.argsort(labels)
    np.testing.assert_array_equal(tree.predict_proba(X), np.eye(3)[codes][:, order])


@every_classifier
def test_boolean_labels(tree_class):
    """Labels may be truth values."""
    tree = tree_class(random_state=0).fit([[0], [1], [2]], [False, True, True])
    assert tree.predict([[0], [2]]).tolist() == [False, True]
    assert tree.classes_.dtype == bool


@every_classifier
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_several_outputs_of_labels(tree_class, form, iris):
    """With several outputs, classes and probabilities are lists, one entry per output."""
    X, codes = iris
    names = np.array(["a", "b", "c"])
    y = np.column_stack([names[codes], np.where(X[:, 0] > 6, "long", "short")])
    tree = tree_class(random_state=0).fit(form(X), y)
    assert tree.n_outputs_ == 2
    assert [list(c) for c in tree.classes_] == [["a", "b", "c"], ["long", "short"]]
    assert list(tree.n_classes_) == [3, 2]
    np.testing.assert_array_equal(tree.predict(form(X)), y)
    proba = tree.predict_proba(form(X))
    assert [p.shape for p in proba] == [(150, 3), (150, 2)]
    with np.errstate(divide="ignore"):
        for p, log_p in zip(proba, tree.predict_log_proba(form(X)), strict=True):
            np.testing.assert_array_equal(log_p, np.log(p))
    assert tree.tree_.value.shape == (tree.tree_.node_count, 2, 3)
    assert (tree.tree_.value[:, 1, 2] == 0).all()


@every_regressor
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_several_outputs_of_numbers(tree_class, form):
    """Several targets are predicted at once; one target in a column gives one dimension."""
    X, y = load_diabetes(return_X_y=True)
    both = np.column_stack([y, -2 * y])
    tree = tree_class(random_state=0, min_samples_leaf=20).fit(form(X), both)
    predicted = tree.predict(form(X))
    assert predicted.shape == both.shape
    np.testing.assert_allclose(predicted[:, 1], -2 * predicted[:, 0], rtol=1e-10)
    column = tree_class(random_state=0, min_samples_leaf=20).fit(form(X), y[:, None])
    flat = tree_class(random_state=0, min_samples_leaf=20).fit(form(X), y)
    assert_same_tree(column, flat)
    assert column.predict(form(X)).shape == (len(y),)


@every_classifier
def test_probabilities(tree_class, iris):
    """Probabilities are the class fractions of the leaf; the largest one is predicted."""
    X, y = iris
    tree = tree_class(max_depth=2, random_state=0).fit(X, y)
    proba = tree.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    leaves = tree.apply(X)
    for leaf in np.unique(leaves):
        inside = leaves == leaf
        fractions = np.bincount(y[inside], minlength=3) / inside.sum()
        np.testing.assert_allclose(proba[inside], np.tile(fractions, (inside.sum(), 1)), rtol=1e-12)
    np.testing.assert_array_equal(tree.predict(X), proba.argmax(axis=1))
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(tree.predict_log_proba(X), np.log(proba))


def test_equal_probabilities_give_the_first_class():
    """Where two classes are equally frequent, the first one is predicted."""
    tree = DecisionTreeClassifier().fit([[0], [0]], ["b", "a"])
    assert tree.predict_proba([[0]]).tolist() == [[0.5, 0.5]]
    assert tree.predict([[0]]).tolist() == ["a"]


@every_classifier
@pytest.mark.parametrize(
    ("class_weight", "weights"),
    [
        ({"a": 2, "b": 1, "c": 0.5}, {"a": 2.0, "b": 1.0, "c": 0.5}),
        ({"a": 3.0}, {"a": 3.0, "b": 1.0, "c": 1.0}),
        # n_samples / (n_classes * count), with 60, 40 and 20 rows of the classes
        ("balanced", {"a": 120 / 180, "b": 120 / 120, "c": 120 / 60}),
    ],
)
def test_class_weight_is_a_sample_weight(tree_class, class_weight, weights, iris):
    """A class weight does what the sample weights it stands for do."""
    X = iris[0][np.r_[:60, 60:100, 100:120]]
    y = np.repeat(["a", "b", "c"], [60, 40, 20])
    sample_weight = np.random.default_rng(0).integers(1, 4, 120) / 2
    product = sample_weight * np.array([weights[label] for label in y])
    rules = {"max_depth": 4, "random_state": 0}
    one = tree_class(class_weight=class_weight, **rules)
    one.fit(X, y, sample_weight=sample_weight)
    assert_same_tree(one, tree_class(**rules).fit(X, y, sample_weight=product))
    unweighted = tree_class(**rules).fit(X, y, sample_weight=sample_weight)
    assert one.tree_.value[0].tolist() != unweighted.tree_.value[0].tolist()


@every_classifier
def test_class_weight_of_several_outputs(tree_class, iris):
    """A list of class weights has one entry per output, and the weights are multiplied."""
    X, y = iris
    both = np.column_stack([y, X[:, 0] > 6])
    class_weight = [{0: 1, 1: 2, 2: 4}, {0: 1, 1: 0.5}]
    product = np.array([1, 2, 4])[y] * np.where(both[:, 1], 0.5, 1.0)
    rules = {"max_depth": 3, "random_state": 0}
    one = tree_class(class_weight=class_weight, **rules).fit(X, both)
    assert_same_tree(one, tree_class(**rules).fit(X, both, sample_weight=product))
    balanced = tree_class(class_weight="balanced", **rules).fit(X, both)
    for output, n_classes in enumerate((3, 2)):
        share = balanced.tree_.value[0, output, :n_classes]
        assert share.sum() == pytest.approx(1.0, rel=1e-12)


def test_weight_zero_class_keeps_its_place():
    """A class whose rows all weigh nothing is still a class, of probability 0."""
    tree = DecisionTreeClassifier().fit([[0], [1], [2]], ["a", "b", "c"], sample_weight=[1, 0, 1])
    assert tree.classes_.tolist() == ["a", "b", "c"]
    assert tree.tree_.n_node_samples.tolist() == [2, 1, 1]
    assert tree.predict_proba([[0], [2]]).tolist() == [[1, 0, 0], [0, 0, 1]]


@every_estimator
def test_sample_weight_kinds(tree_class, iris):
    """Weights may be an array of any number type, a list or a series; None means one each."""
    X, y = iris
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    tree = tree_class(random_state=0).fit(X, y, sample_weight=weight)
    kinds = (weight.tolist(), weight.astype(np.float32), weight.astype(np.uint8), pd.Series(weight))
    for same in kinds:
        assert_same_tree(tree, tree_class(random_state=0).fit(X, y, sample_weight=same))
    tree.fit(X, y)
    ones = tree_class(random_state=0).fit(X, y, sample_weight=np.ones(len(y)))
    assert_same_tree(tree, ones)


# --- What a fitted tree tells -------------------------------------------------------------------


@every_estimator
@pytest.mark.parametrize("form", [np.asarray, sp.csc_matrix, sp.csr_array])
def test_paths_lead_to_the_leaves(tree_class, form, iris):
    """`decision_path` marks the nodes that a walk by hand visits, `apply` names the last."""
    X, y = iris
    tree = tree_class(random_state=1).fit(X, y)
    inner = tree.tree_
    path, leaves = tree.decision_path(form(X)), tree.apply(form(X))
    assert sp.issparse(path)
    assert path.format == "csr"
    assert path.shape == (150, inner.node_count)
    assert leaves.dtype == np.int64
    for row in range(150):
        node, visited = 0, [0]
        while inner.children_left[node] != NO_CHILD:
            left = X[row, inner.feature[node]] <= inner.threshold[node]
            node = (inner.children_left if left else inner.children_right)[node]
            visited.append(int(node))
        assert np.flatnonzero(path[[row]].toarray()).tolist() == visited
        assert leaves[row] == node
    np.testing.assert_array_equal(path.toarray().sum(axis=0), inner.n_node_samples)


@every_estimator
def test_tree_agrees_with_its_estimator(tree_class, iris):
    """`tree_` predicts, applies and describes as the estimator does."""
    X, y = iris
    tree = tree_class(random_state=0).fit(X, y)
    inner = tree.tree_
    X32 = X.astype(np.float32)
    np.testing.assert_array_equal(inner.apply(X32), tree.apply(X32))
    assert (inner.decision_path(X32) != tree.decision_path(X32)).nnz == 0
    predicted = inner.predict(X32)
    np.testing.assert_array_equal(predicted, inner.value[tree.apply(X32)].squeeze(1))
    np.testing.assert_array_equal(inner.compute_feature_importances(), tree.feature_importances_)
    assert inner.n_features == tree.n_features_in_ == 4
    assert inner.n_outputs == tree.n_outputs_ == 1
    n_classes = 3 if is_classifier(tree) else 1
    assert list(inner.n_classes) == [n_classes]
    assert inner.max_n_classes == n_classes
    assert inner.max_depth == tree.get_depth()
    assert inner.n_leaves == tree.get_n_leaves() == np.sum(inner.children_left == NO_CHILD)
    assert inner.node_count == 2 * inner.n_leaves - 1 == len(inner.feature)


@every_estimator
def test_tree_arrays_are_read_only_views(tree_class, iris):
    """Arrays of the tree have scikit-learn's types and cannot be written to."""
    tree = tree_class(random_state=0).fit(*iris)
    theirs = getattr(sklearn.tree, tree_class.__name__)(random_state=0).fit(*iris)
    for name in TREE_ARRAYS:
        array = getattr(tree.tree_, name)
        # Node ids and features are int32 here: half the memory.
        assert array.dtype.kind == getattr(theirs.tree_, name).dtype.kind, name
        assert array.ndim == getattr(theirs.tree_, name).ndim, name
        assert len(array) == tree.tree_.node_count
        assert not array.flags.writeable, name
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
        with pytest.raises(AttributeError):
            setattr(tree.tree_, name, array)


@every_estimator
def test_arrays_outlive_their_tree(tree_class, iris):
    """An array of the tree stays valid when the estimator is gone."""
    tree = tree_class(random_state=0).fit(*iris)
    arrays = {name: getattr(tree.tree_, name) for name in TREE_ARRAYS}
    bits = {name: array.tobytes() for name, array in arrays.items()}
    tree.fit(iris[0][:10], iris[1][:10])
    del tree
    assert {name: array.tobytes() for name, array in arrays.items()} == bits


@every_estimator
def test_feature_importances(tree_class, iris):
    """Importances are the normalised weighted decreases of impurity."""
    X, y = iris
    weight = np.random.default_rng(0).exponential(size=len(y))
    tree = tree_class(random_state=0, max_features=None).fit(X, y, sample_weight=weight)
    inner = tree.tree_
    expected = np.zeros(4)
    mass = inner.weighted_n_node_samples * inner.impurity
    for node in np.flatnonzero(inner.children_left != NO_CHILD):
        left, right = inner.children_left[node], inner.children_right[node]
        expected[inner.feature[node]] += mass[node] - mass[left] - mass[right]
    np.testing.assert_allclose(
        tree.feature_importances_, expected / expected.sum(), rtol=1e-9, atol=1e-12
    )
    raw = inner.compute_feature_importances(normalize=False)
    np.testing.assert_allclose(raw, expected / weight.sum(), rtol=1e-9, atol=1e-12)


@every_estimator
def test_importances_of_a_lone_root_are_zero(tree_class):
    """A tree without cuts finds no feature important."""
    tree = tree_class().fit([[0.0, 1.0]] * 3, [1, 1, 1])
    assert tree.get_depth() == 0
    assert tree.get_n_leaves() == 1
    assert tree.feature_importances_.tolist() == [0.0, 0.0]


@every_estimator
@pytest.mark.parametrize(
    ("max_features", "resolved"),
    [
        (None, 20),
        ("sqrt", 4),
        ("log2", 4),
        (1, 1),
        (20, 20),
        (0.5, 10),
        (0.49, 9),
        (1.0, 20),
        (1e-9, 1),
        (np.int64(3), 3),
    ],
)
def test_max_features_is_resolved(tree_class, max_features, resolved):
    """`max_features_` is the number of features drawn per node."""
    X = np.random.default_rng(0).normal(size=(10, 20))
    tree = tree_class(max_features=max_features).fit(X, [0, 1] * 5)
    assert tree.max_features_ == resolved


@every_estimator
def test_kind_and_tags(tree_class):
    """Classifiers are classifiers, regressors regressors."""
    tree = tree_class()
    assert is_classifier(tree) == (tree_class in CLASSIFIERS)
    assert is_regressor(tree) == (tree_class in REGRESSORS)
    assert hasattr(tree, "predict_proba") == (tree_class in CLASSIFIERS)


# --- Data frames --------------------------------------------------------------------------------


@every_estimator
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_data_frames(tree_class, make, iris):
    """A frame gives the tree of its values; its column names are kept and checked."""
    X, y = iris
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    columns = dict(zip(names, X.T, strict=True))
    frame = make(columns)
    tree = tree_class(random_state=0).fit(frame, y)
    assert_same_tree(tree, tree_class(random_state=0).fit(X, y))
    assert tree.feature_names_in_.tolist() == names
    assert tree.n_features_in_ == 4
    predicted = tree_class(random_state=0).fit(X, y).predict(X)
    np.testing.assert_array_equal(tree.predict(frame), predicted)
    with pytest.raises(ValueError, match="feature names"):
        tree.predict(make(dict(zip(names[::-1], X.T, strict=True))))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        tree.predict(X)
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        tree_class().fit(X, y).predict(frame)


@every_estimator
def test_names_are_forgotten_by_a_fit_without(tree_class, iris):
    """A second fit on an array drops the names of the first."""
    X, y = iris
    tree = tree_class().fit(pd.DataFrame(X, columns=list("abcd")), y)
    assert not hasattr(tree.fit(X, y), "feature_names_in_")


def test_frame_of_mixed_numbers(iris):
    """Columns of several number types are compared as numbers."""
    X = np.round(iris[0])
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame = frame.astype({"a": "int8", "b": "float32", "c": "int64"})
    one = DecisionTreeClassifier(random_state=0).fit(frame, iris[1])
    assert_same_tree(one, DecisionTreeClassifier(random_state=0).fit(X, iris[1]))


def test_target_as_series(iris):
    """Targets may be a pandas series, of strings as well."""
    X, y = iris
    names = pd.Series(np.array(["x", "y", "z"])[y])
    tree = DecisionTreeClassifier(random_state=0).fit(X, names)
    assert tree.score(X, names) == 1.0
    assert DecisionTreeRegressor(random_state=0).fit(X, pd.Series(y)).score(X, y) == 1.0


# --- Threads, unchecked input --------------------------------------------------------------------


@every_estimator
def test_parallel_config_is_honoured(tree_class, iris):
    """Under joblib's `parallel_config`, the tree is the same as with one thread."""
    X = np.tile(iris[0], (10, 4))
    y = np.tile(iris[1], 10)
    tree = tree_class(random_state=0, n_jobs=1).fit(X, y)
    with joblib.parallel_config(n_jobs=2):
        assert_same_tree(tree, tree_class(random_state=0).fit(X, y))
    for n_jobs in (-1, 2, np.int64(3), 300):
        assert_same_tree(tree, tree_class(random_state=0, n_jobs=n_jobs).fit(X, y))


@every_estimator
def test_check_input_may_be_skipped(tree_class, iris):
    """With `check_input=False` on checked data, results are the same."""
    X = np.ascontiguousarray(iris[0], dtype=np.float32)
    y = iris[1].astype(np.float64)
    tree = tree_class(random_state=0).fit(X, y)
    same = tree_class(random_state=0).fit(X, y, check_input=False)
    assert_same_tree(tree, same)
    np.testing.assert_array_equal(same.predict(X, check_input=False), tree.predict(X))
    np.testing.assert_array_equal(same.apply(X, check_input=False), tree.apply(X))
    path = same.decision_path(X, check_input=False)
    assert (path != tree.decision_path(X)).nnz == 0


@every_estimator
def test_check_input_is_no_metadata(tree_class):
    """As in scikit-learn, a pipeline does not pass it on."""
    assert "check_input" not in str(tree_class().get_metadata_routing())
    assert not hasattr(tree_class, "set_predict_proba_request")


# --- Extremes -----------------------------------------------------------------------------------


def test_chain_of_two_thousand_levels():
    """A tree as deep as its rows is grown, applied, described and pickled without recursion."""
    X, y = chain(2001)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    assert tree.get_depth() == 2001
    assert tree.get_n_leaves() == 2002
    np.testing.assert_array_equal(tree.predict(X), y)
    np.testing.assert_array_equal(tree.predict(sp.csr_matrix(X)), y)
    lengths = np.diff(tree.decision_path(X).indptr)
    np.testing.assert_array_equal(lengths[:-1], np.arange(2, 2003))
    back = pickle.loads(pickle.dumps(tree))
    assert_same_tree(tree, back)
    np.testing.assert_array_equal(back.predict(X), y)
    assert tree.feature_importances_.tolist() == [1.0]
    assert DecisionTreeClassifier(max_depth=500).fit(X, y).get_depth() == 500


@every_estimator
def test_one_row(tree_class):
    """A single row gives a single leaf."""
    tree = tree_class().fit([[1.0, 2.0]], [3])
    assert tree.tree_.node_count == 1
    assert tree.predict([[5.0, 5.0], [0.0, 0.0]]).tolist() == [3, 3]


@every_estimator
@pytest.mark.parametrize("form", [sp.csc_matrix, sp.csr_array])
def test_empty_sparse_matrix_of_many_columns(tree_class, form):
    """A matrix without entries has nothing to cut."""
    tree = tree_class().fit(form((4, 1000)), [0, 1, 0, 1])
    assert tree.tree_.node_count == 1
    assert tree.predict(form((2, 1000))).shape == (2,)


@every_regressor
def test_targets_of_any_size(tree_class):
    """Huge, tiny and far-off targets are told apart and predicted to full precision."""
    X = np.arange(64.0)[:, None]
    for y in (
        np.arange(64.0) * 1e150,
        np.arange(64.0) * 1e-150,
        1e15 + np.arange(64.0),
        -1e6 + np.arange(64.0) / 64,
        np.random.default_rng(0).normal(size=64),
    ):
        predicted = tree_class(random_state=0).fit(X, y).predict(X)
        np.testing.assert_allclose(predicted, y, rtol=1e-12, atol=np.ptp(y) * 1e-12)


@every_classifier
def test_weights_of_any_size(tree_class):
    """Only the ratios of the weights count, however large or small they are."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    weight = rng.integers(1, 9, 60) / 8
    tree = tree_class(random_state=0).fit(X, y, sample_weight=weight)
    for power in (-900, -60, 60, 900):
        other = tree_class(random_state=0).fit(X, y, sample_weight=np.ldexp(weight, power))
        assert_same_tree(tree, other, [a for a in TREE_ARRAYS if a != "weighted_n_node_samples"])


@every_estimator
def test_pruning_path_leaves_the_estimator_alone(tree_class, iris):
    """The path is that of the tree before pruning, and nothing is fitted or changed."""
    tree = tree_class(random_state=0, ccp_alpha=0.01)
    before = frozen(tree)
    path = tree.cost_complexity_pruning_path(*iris)
    assert isinstance(path, Bunch)
    assert frozen(tree) == before
    assert path.ccp_alphas[0] == 0.0
    assert path.ccp_alphas.dtype == path.impurities.dtype == np.float64
    unpruned = tree_class(random_state=0).fit(*iris).tree_
    assert path.impurities[-1] == unpruned.impurity[0]
    assert 1 < tree.fit(*iris).get_n_leaves() < unpruned.n_leaves


@every_classifier
def test_many_classes(tree_class):
    """A thousand classes are separated."""
    X = np.arange(3000.0)[:, None]
    y = np.random.default_rng(0).permutation(3000) % 1000
    tree = tree_class(random_state=0).fit(X, y)
    assert tree.n_classes_ == 1000
    np.testing.assert_array_equal(tree.predict(X), y)


@pytest.mark.parametrize("tree_class", [ExtraTreeClassifier, ExtraTreeRegressor])
def test_extra_tree_is_a_random_decision_tree(tree_class, iris):
    """Extra trees are decision trees with other defaults."""
    plain = DecisionTreeClassifier if tree_class in CLASSIFIERS else DecisionTreeRegressor
    params = {"splitter": "random", "max_features": tree_class().max_features}
    for seed in range(5):
        tree = tree_class(random_state=seed).fit(*iris)
        assert_same_tree(tree, plain(random_state=seed, **params).fit(*iris))
