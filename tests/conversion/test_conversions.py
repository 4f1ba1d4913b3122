"""Conversions to and from scikit-learn, and what other libraries make of the results."""

import contextlib
import importlib
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
import sklearn.tree
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import spinney
from made_models import CLASSIFIERS, REGRESSORS, make_data
from oracle import TREE_ARRAYS
from spinney.conversion._to_treelite import _build

pytestmark = pytest.mark.oldest

EVERY_CLASS = CLASSIFIERS + REGRESSORS
every_class = pytest.mark.parametrize("estimator_class", EVERY_CLASS, ids=lambda c: c.__name__)
# Thresholds are rounded on the way.
SAME_ARRAYS = [name for name in TREE_ARRAYS if name != "threshold"]


def optional(name):
    """Import a library of the group `clients`, or skip the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, reason=f"{name} is in the dependency group 'clients'")


@contextlib.contextmanager
def foreign_warnings():
    """Warnings of other libraries are theirs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def counterpart_of(estimator_class):
    """Return scikit-learn's class of the same name."""
    name = estimator_class.__name__
    return getattr(sklearn.tree, name, None) or getattr(sklearn.ensemble, name)


def task_of(estimator_class, n_outputs=1):
    """Return data of float32 and a target."""
    if estimator_class in CLASSIFIERS:
        X, y = load_iris(return_X_y=True)
        y = np.array(["a", "b", "c"])[y]
        return X.astype(np.float32), y if n_outputs == 1 else np.column_stack([y, y == "b"])
    X, y = load_diabetes(return_X_y=True)
    return X.astype(np.float32), y if n_outputs == 1 else np.column_stack([y, X[:, 0], -y])


def values_of(model, X):
    """Return probabilities, or numbers, as one array."""
    values = getattr(model, "predict_proba", model.predict)(X)
    return np.hstack(values) if isinstance(values, list) else values


def small(estimator_class, **parameters):
    """Return an estimator with few trees."""
    if "n_estimators" in estimator_class().get_params():
        parameters = {"n_estimators": 5, **parameters}
    return estimator_class(random_state=0, **parameters)


def assert_same_bits(one, other):
    assert one.shape == other.shape
    assert one.tobytes() == other.tobytes()


# --- To scikit-learn ----------------------------------------------------------------------------


@pytest.mark.parametrize("n_outputs", [1, 2])
@every_class
def test_to_sklearn(estimator_class, n_outputs):
    """A genuine fitted estimator with the same arrays, which predicts the same bits of float32."""
    X, y = task_of(estimator_class, n_outputs)
    estimator = small(estimator_class, min_samples_leaf=2).fit(X, y)
    model = estimator.to_sklearn()
    assert type(model) is counterpart_of(estimator_class)
    check_is_fitted(model)
    assert_same_bits(values_of(model, X), values_of(estimator, X))
    np.testing.assert_array_equal(model.predict(X), estimator.predict(X))
    assert model.score(X, y) == estimator.score(X, y) if n_outputs == 1 else True
    np.testing.assert_array_equal(model.apply(X), estimator.apply(X))
    np.testing.assert_allclose(model.feature_importances_, estimator.feature_importances_)
    assert model.n_features_in_ == X.shape[1]
    assert model.min_samples_leaf == 2
    trees = zip(
        getattr(model, "estimators_", [model]),
        getattr(estimator, "estimators_", [estimator]),
        strict=True,
    )
    for tree, own in trees:
        for name in SAME_ARRAYS:
            np.testing.assert_array_equal(getattr(tree.tree_, name), getattr(own.tree_, name))
        threshold = tree.tree_.threshold
        assert (threshold.astype(np.float32) == threshold).all()
        assert tree.get_depth() == own.get_depth()
        np.testing.assert_array_equal(tree.predict(X), own.predict(X))
    assert_same_bits(values_of(pickle.loads(pickle.dumps(model)), X), values_of(model, X))
    # Grown anew by scikit-learn.
    clone(model).fit(X, y)


@every_class
def test_doubles_go_the_same_way_in_sklearn(estimator_class):
    """scikit-learn rounds rows to float32; thresholds lie where that changes nothing."""
    is_class = estimator_class.__name__.endswith("Classifier")
    X, y = (load_iris if is_class else load_diabetes)(return_X_y=True)
    estimator = small(estimator_class).fit(X, y)
    np.testing.assert_array_equal(estimator.to_sklearn().apply(X), estimator.apply(X))


@every_class
def test_thresholds_are_rounded_down(estimator_class):
    """Values of float32 next to each other, and far apart, are told apart as before."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2**32, size=(400, 3), dtype=np.uint32).view(np.float32)
    X[~np.isfinite(X)] = 0
    start = np.float32(0.1).view(np.uint32)
    X[:, 1] = (start + rng.integers(0, 5, 400).astype(np.uint32)).view(np.float32)
    y = rng.integers(0, 3, 400)
    estimator = small(estimator_class).fit(X, y)
    model = estimator.to_sklearn()
    assert_same_bits(values_of(model, X), values_of(estimator, X))
    queries = np.where(rng.random(X.shape) < 0.5, np.nextafter(X, np.float32(np.inf)), X)
    queries[~np.isfinite(queries)] = 0
    assert_same_bits(values_of(model, queries), values_of(estimator, queries))


@every_class
def test_missing_values_go_to_sklearn(estimator_class):
    """Missing values go the same way, where scikit-learn takes them."""
    X, y = task_of(estimator_class)
    rng = np.random.default_rng(0)
    X[rng.random(X.shape) < 0.2] = np.nan
    estimator = small(estimator_class).fit(X, y)
    model = estimator.to_sklearn()
    assert_same_bits(values_of(model, X), values_of(estimator, X))
    # Missing values that training did not have.
    full = np.nan_to_num(X)
    estimator.fit(full, y)
    assert_same_bits(values_of(estimator.to_sklearn(), X), values_of(estimator, X))


def test_names_labels_and_out_of_bag_estimates_go_along():
    """Attributes that mean the same there."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    forest = spinney.RandomForestClassifier(50, oob_score=True, random_state=2**40).fit(X, y)
    model = forest.to_sklearn()
    np.testing.assert_array_equal(model.feature_names_in_, forest.feature_names_in_)
    assert model.oob_score_ == forest.oob_score_
    assert_same_bits(model.oob_decision_function_, forest.oob_decision_function_)
    assert model.random_state is None
    # The samples are drawn otherwise there.
    assert not hasattr(model, "estimators_samples_")
    assert (model.predict(X) == forest.predict(X)).all()
    forest = spinney.RandomForestClassifier(5, bootstrap="poisson").fit(X, y)
    assert forest.to_sklearn().bootstrap is True
    text = sklearn.tree.export_text(model.estimators_[0], feature_names=list(X.columns))
    assert "petal" in text


def test_what_sklearn_cannot_express_is_refused():
    """The error says what it is."""
    X, y = make_data()
    for estimator in (
        spinney.DecisionTreeRegressor(categorical_features=["colour"]),
        spinney.RandomForestRegressor(3, categorical_features=["colour"]),
    ):
        with pytest.raises(ValueError, match="has categorical features"):
            estimator.fit(X, y).to_sklearn()
    X = X[["number", "count"]]
    with pytest.raises(ValueError, match=r"missing values.*criterion='absolute_error'"):
        spinney.DecisionTreeRegressor(criterion="absolute_error").fit(X, y).to_sklearn()
    with pytest.raises(ValueError, match=r"missing values.*monotonic"):
        spinney.RandomForestRegressor(2, monotonic_cst=[1, 0]).fit(X, y).to_sklearn()
    X = X.fillna(0.0)
    quantile = spinney.DecisionTreeRegressor(
        criterion="quantile", quantile=0.9, min_samples_leaf=10
    )
    with pytest.raises(ValueError, match=r"level 0\.9"):
        quantile.fit(X, y).to_sklearn()
    median = quantile.set_params(quantile=0.5).fit(X, y)
    assert median.to_sklearn().criterion == "absolute_error"
    np.testing.assert_array_equal(
        median.to_sklearn().predict(X.astype(np.float32)), median.predict(X.astype(np.float32))
    )
    infinite = np.where(np.arange(60) < 30, -np.inf, 1.0).reshape(-1, 1)
    with pytest.raises(ValueError, match="infinite"):
        spinney.DecisionTreeClassifier().fit(infinite, infinite[:, 0] > 0).to_sklearn()
    with pytest.raises(NotFittedError):
        spinney.DecisionTreeClassifier().to_sklearn()


# --- From scikit-learn --------------------------------------------------------------------------


@pytest.mark.parametrize("n_outputs", [1, 2])
@every_class
def test_from_sklearn(estimator_class, n_outputs):
    """The same bits, for values of any dtype."""
    X, y = task_of(estimator_class, n_outputs)
    model = small(counterpart_of(estimator_class), max_features=2).fit(X, y)
    estimator = spinney.from_sklearn(model)
    assert type(estimator) is estimator_class
    assert estimator.max_features == 2
    for queries in (X, X.astype(np.float64) + 1e-9, np.asfortranarray(X)):
        assert_same_bits(values_of(estimator, queries), values_of(model, queries))
        np.testing.assert_array_equal(estimator.predict(queries), model.predict(queries))
        np.testing.assert_array_equal(estimator.apply(queries), model.apply(queries))
    np.testing.assert_allclose(estimator.feature_importances_, model.feature_importances_)
    for name in ("impurity", "value", "n_node_samples", "weighted_n_node_samples"):
        tree = getattr(estimator, "estimators_", [estimator])[0].tree_
        expected = getattr(model, "estimators_", [model])[0].tree_
        np.testing.assert_array_equal(getattr(tree, name), getattr(expected, name))
    assert_same_bits(values_of(pickle.loads(pickle.dumps(estimator)), X), values_of(model, X))
    estimator.fit(X, y)


@every_class
def test_values_between_those_of_float32(estimator_class):
    """scikit-learn rounds them first; thresholds of converted trees are where the rounding is."""
    rng = np.random.default_rng(0)
    X = rng.random((300, 2)).astype(np.float32)
    model = small(counterpart_of(estimator_class)).fit(X, rng.integers(0, 4, 300))
    estimator = spinney.from_sklearn(model)
    trees = getattr(model, "estimators_", [model])
    cuts = np.unique(np.concatenate([tree.tree_.threshold for tree in trees])).astype(np.float32)
    around = [cuts, np.nextafter(cuts, np.float32(-9)), np.nextafter(cuts, np.float32(9))]
    around = [cut.astype(np.float64) for cut in around]
    around += [(around[0] + around[1]) / 2, (around[0] + around[2]) / 2]
    around += [np.nextafter(a, toward) for a in around for toward in (-9, 9)]
    queries = np.concatenate(around)
    queries = np.column_stack([queries, rng.permutation(queries)])
    assert_same_bits(values_of(estimator, queries), values_of(model, queries))


@every_class
def test_missing_values_from_sklearn(estimator_class):
    """Missing values, of training and of queries alone."""
    X, y = task_of(estimator_class)
    rng = np.random.default_rng(0)
    missing = np.where(rng.random(X.shape) < 0.2, np.float32(np.nan), X)
    for training in (missing, X):
        model = small(counterpart_of(estimator_class)).fit(training, y)
        assert_same_bits(values_of(spinney.from_sklearn(model), missing), values_of(model, missing))


@pytest.mark.parametrize("parameters", [{"max_leaf_nodes": 9}, {"ccp_alpha": 0.01}])
@every_class
def test_nodes_in_another_order(estimator_class, parameters):
    """Trees that scikit-learn grew best-first, or pruned, come in preorder."""
    X, y = task_of(estimator_class)
    model = small(counterpart_of(estimator_class), **parameters).fit(X, y)
    estimator = spinney.from_sklearn(model)
    assert_same_bits(values_of(estimator, X), values_of(model, X))
    np.testing.assert_allclose(estimator.feature_importances_, model.feature_importances_)


@every_class
def test_round_trips(estimator_class, tmp_path):
    """There and back, either way; and through a file."""
    X, y = task_of(estimator_class)
    estimator = small(estimator_class).fit(X, y)
    back = spinney.from_sklearn(estimator.to_sklearn())
    assert_same_bits(values_of(back, X), values_of(estimator, X))
    back.save(tmp_path / "model")
    loaded = spinney.load(tmp_path / "model")
    assert_same_bits(values_of(loaded, X), values_of(estimator, X))
    model = small(counterpart_of(estimator_class)).fit(X, y)
    again = spinney.from_sklearn(model).to_sklearn()
    for queries in (X, X.astype(np.float64) + 1e-9):
        assert_same_bits(values_of(again, queries), values_of(model, queries))


def test_what_a_converted_forest_does_not_know():
    """The samples of its trees, so that no tree can be added either."""
    X, y = load_iris(return_X_y=True)
    model = sklearn.ensemble.RandomForestClassifier(4, random_state=0, oob_score=False).fit(X, y)
    forest = spinney.from_sklearn(model)
    assert len(forest) == 4
    assert not hasattr(forest, "estimators_samples_")
    with pytest.raises(ValueError, match="it comes from scikit-learn"):
        forest.set_params(warm_start=True, n_estimators=5).fit(X, y)
    assert_same_bits(forest.predict_proba(X), model.predict_proba(X))


def test_other_models_are_refused():
    """The error lists the classes that are known."""
    for model in (
        sklearn.ensemble.HistGradientBoostingClassifier(),
        spinney.DecisionTreeClassifier(),
        3,
    ):
        with pytest.raises(TypeError, match="RandomForestClassifier"):
            spinney.from_sklearn(model)
    with pytest.raises(NotFittedError):
        spinney.from_sklearn(sklearn.tree.DecisionTreeClassifier())


# --- Other libraries ----------------------------------------------------------------------------


@every_class
def test_shap_values_add_up(estimator_class):
    """shap explains converted estimators: base value and contributions are the prediction."""
    shap = optional("shap")
    X, y = task_of(estimator_class)
    estimator = small(estimator_class, max_depth=5).fit(X, y)
    with foreign_warnings():
        explainer = shap.TreeExplainer(estimator.to_sklearn())
        explained = explainer(X[:20])
    total = explained.values.sum(axis=1) + explained.base_values.reshape(20, -1).squeeze()
    np.testing.assert_allclose(total, values_of(estimator, X[:20]), atol=1e-6)


@every_class
def test_onnx_agrees(estimator_class):
    """skl2onnx converts, and onnxruntime predicts; in single precision."""
    skl2onnx, onnxruntime = optional("skl2onnx"), optional("onnxruntime")
    X, y = task_of(estimator_class)
    estimator = small(estimator_class).fit(X, y)
    with foreign_warnings():
        options = {"zipmap": False} if is_classifier(estimator) else None
        model = skl2onnx.to_onnx(estimator.to_sklearn(), X[:1], options=options)
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        outputs = session.run(None, {session.get_inputs()[0].name: X})
    expected = values_of(estimator, X)
    np.testing.assert_allclose(outputs[-1].reshape(expected.shape), expected, rtol=1e-5, atol=1e-6)
    if is_classifier(estimator):
        np.testing.assert_array_equal(outputs[0], estimator.predict(X))


def predict_by_treelite(estimator, X):
    """Return what treelite's reference implementation predicts, in the shape of `values_of`."""
    optional("treelite")
    gtil = importlib.import_module("treelite.gtil")
    return gtil.predict(estimator.to_treelite(), np.ascontiguousarray(X), nthread=1)


@pytest.mark.parametrize("n_outputs", [1, 2])
@every_class
def test_treelite_agrees(estimator_class, n_outputs):
    """All outputs and classes, in double precision, missing values included."""
    X, y = task_of(estimator_class, n_outputs)
    X = X.astype(np.float64)
    X[::7, 1] = np.nan
    estimator = small(estimator_class).fit(X, y)
    predicted = predict_by_treelite(estimator, X)
    values = getattr(estimator, "predict_proba", estimator.predict)(X)
    if not isinstance(values, list):
        values = [values] if is_classifier(estimator) else list(values.reshape(len(X), -1).T)
    for output, expected in enumerate(values):
        expected = expected.reshape(len(X), -1)
        got = predicted[:, output, : expected.shape[1]]
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


def test_treelite_knows_categories():
    """Sets of categories, values that are unknown, and missing values."""
    optional("treelite")
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 40, 500).astype(np.float64)
    X = np.column_stack([codes, rng.random(500)])
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.isin(codes, [1, 3, 5, 22, 39]) * 2.0 + X[:, 1].round(1)
    y = np.nan_to_num(y)
    forest = spinney.RandomForestRegressor(5, categorical_features=[0], random_state=0).fit(X, y)
    X[:3, 0] = 77
    predicted = predict_by_treelite(forest, X)[:, 0, 0]
    np.testing.assert_allclose(predicted, forest.predict(X), rtol=1e-12)
    # Names, those that are unknown among them, become codes by one call.
    names = pd.DataFrame({"kind": [f"k{code:02.0f}" for code in codes], "x": X[:, 1]})
    forest = spinney.RandomForestRegressor(5, categorical_features=["kind"], random_state=0)
    forest.fit(names, y)
    names.loc[:5, "kind"] = ["new", None, "other", "k03", "k04", "k00"]
    predicted = predict_by_treelite(forest, forest.to_codes(names))[:, 0, 0]
    np.testing.assert_allclose(predicted, forest.predict(names), rtol=1e-12)


@pytest.mark.parametrize("kind", [spinney.RandomForestClassifier, spinney.ExtraTreeRegressor])
def test_codes_are_the_numbers_that_trees_compare(kind):
    frame = pd.DataFrame({"kind": list("abcab"), "x": [1, 2, None, 4, 5]})
    model = kind(categorical_features=["kind"], random_state=0).fit(frame, [0, 1, 2, 1, 0])
    frame.loc[4, "kind"] = "z"
    expected = [[0, 1], [1, 2], [2, np.nan], [0, 4], [3, 5]]
    for rows in (frame, spinney.Dataset(frame, categorical_features=["kind"])):
        codes = model.to_codes(rows)
        assert codes.dtype == np.float64
        np.testing.assert_array_equal(codes, expected)
    numbers = np.arange(6, dtype=np.float32).reshape(3, 2)
    model = kind(random_state=0).fit(numbers, [0, 1, 2])
    for rows in (numbers, sparse.csc_matrix(numbers)):
        codes = model.to_codes(rows)
        codes = codes.toarray() if sparse.issparse(codes) else codes
        np.testing.assert_array_equal(codes, numbers)
        assert not np.shares_memory(codes, numbers)


@pytest.mark.parametrize("n_classes", [[1], [2], [3], [2, 3]])
def test_treelite_reads_arrays_as_if_it_was_built_by_nodes(n_classes):
    treelite = optional("treelite")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.column_stack([rng.integers(n, size=60) for n in n_classes])
    forest = spinney.RandomForestClassifier(4, random_state=0).fit(X, y.squeeze())
    built = _build(treelite.model_builder, forest, forest.forest_)
    models = (forest.to_treelite(), built)
    assert len({(model.input_type, model.output_type) for model in models}) == 1
    np.testing.assert_array_equal(*(treelite.gtil.predict(model, X) for model in models))


@pytest.mark.parametrize("loss", ["squared_error", "poisson", "log_loss", "exponential", "classes"])
def test_treelite_adds_up_boosting(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    X[::9, 0] = np.nan
    y = np.digitize(X[:, 1] + rng.normal(size=80), [-0.5, 0.7])
    if loss in ("squared_error", "poisson"):
        model = spinney.GradientBoostingRegressor(loss=loss, n_estimators=7, random_state=0)
    else:
        name = "log_loss" if loss == "classes" else loss
        model = spinney.GradientBoostingClassifier(loss=name, n_estimators=7, random_state=0)
        y = y if loss == "classes" else y > 0
    model.fit(X, y)
    predicted = predict_by_treelite(model, X)[:, 0]
    if loss in ("squared_error", "poisson"):
        expected = model.predict(X)[:, np.newaxis]
    else:
        expected = model.predict_proba(X)[:, 0 if loss == "classes" else 1 :]
    np.testing.assert_allclose(predicted, expected, rtol=1e-6)
    if loss in ("squared_error", "log_loss"):
        kind = "Regressor" if loss == "squared_error" else "Classifier"
        model.set_params(init=getattr(spinney, f"DecisionTree{kind}")())
        with pytest.raises(ValueError, match="begin with an estimator"):
            model.fit(np.nan_to_num(X), y).to_treelite()


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_contributions_to_boosting_are_those_of_shap(n_classes):
    shap = optional("shap")
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.digitize(X[:, 0] * X[:, 1], [0.0, 0.5][: n_classes - 1]) if n_classes else X[:, 0]
    kind = "Classifier" if n_classes else "Regressor"
    model = getattr(spinney, f"GradientBoosting{kind}")(n_estimators=6, random_state=0).fit(X, y)
    explanation = model.to_shap(X[:10])
    np.testing.assert_array_equal(explanation.values, model.shap_values(X[:10]))
    if n_classes < 3:
        # shap does not know several classes of scikit-learn's boosting.
        expected = shap.TreeExplainer(model.to_sklearn()).shap_values(X[:10])
        np.testing.assert_allclose(explanation.values, expected, atol=1e-6)


def test_treelite_is_optional(monkeypatch):
    """The error says how to install it."""
    tree = spinney.DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    monkeypatch.setitem(__import__("sys").modules, "treelite", None)
    with pytest.raises(ImportError, match="pip install treelite"):
        tree.to_treelite()


def test_sklearn_draws_converted_trees():
    """plot_tree takes a converted tree as it is."""
    matplotlib = pytest.importorskip(
        "matplotlib", reason="matplotlib is in the dependency group 'clients'"
    )
    matplotlib.use("Agg")
    X, y = load_breast_cancer(return_X_y=True)
    tree = spinney.DecisionTreeClassifier(max_depth=2).fit(X, y)
    assert len(sklearn.tree.plot_tree(tree.to_sklearn())) >= 5


def test_frames_of_converted_estimators():
    """Names are checked as scikit-learn checks them."""
    X, y = make_data()
    X = X[["number", "count"]]
    tree = spinney.from_sklearn(sklearn.tree.DecisionTreeRegressor().fit(X, y))
    with pytest.raises(ValueError, match="feature names"):
        tree.predict(pd.DataFrame({"count": X["count"], "number": X["number"]}))


@every_class
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_shap_explains_converted_trees_alike(estimator_class, n_outputs):
    """TreeExplainer finds the contributions and the interactions that we find."""
    shap = optional("shap")
    X, y = task_of(estimator_class, n_outputs)
    if estimator_class in CLASSIFIERS and n_outputs > 1:
        pytest.skip("shap has no several outputs of classes")
    params = {"n_estimators": 5} if hasattr(estimator_class, "n_estimators") else {}
    estimator = estimator_class(max_depth=6, random_state=0, **params).fit(X, y)
    rows = X[::20]
    with foreign_warnings():
        explainer = shap.TreeExplainer(estimator.to_sklearn())
        values = explainer.shap_values(rows, check_additivity=False)
        pairs = explainer.shap_interaction_values(rows)
    scale = np.abs(values).max()
    np.testing.assert_allclose(estimator.shap_values(rows), values, atol=1e-9 * scale)
    found = estimator.shap_values(rows, interactions=True)
    np.testing.assert_allclose(found, pairs, atol=1e-9 * scale)
    expected = np.ravel(explainer.expected_value)
    found = np.ravel(estimator.expected_value_)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_plots_of_shap_take_explanations():
    """`to_shap` has names, samples and base values."""
    shap = optional("shap")
    matplotlib = optional("matplotlib")
    matplotlib.use("Agg")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    forest = spinney.RandomForestClassifier(5, random_state=0).fit(X, y)
    explanation = forest.to_shap(X[:20])
    assert isinstance(explanation, shap.Explanation)
    assert list(explanation.feature_names) == list(X.columns)
    sums = explanation.values.sum(axis=1) + explanation.base_values
    np.testing.assert_allclose(sums, forest.predict_proba(X[:20]), atol=1e-14)
    with foreign_warnings():
        shap.plots.waterfall(explanation[0, :, 1], show=False)
        shap.plots.beeswarm(explanation[..., 1], show=False)
        matplotlib.pyplot.close("all")
    tree = spinney.DecisionTreeRegressor(max_depth=3).fit(X, y)
    assert tree.to_shap(X[:3]).base_values.shape == (3,)
    two = spinney.DecisionTreeClassifier().fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="2 outputs of classes"):
        two.to_shap(X)


@pytest.mark.parametrize("name", ["children_left", "children_right", "feature", "n_node_samples"])
def test_integers_of_trees_have_the_type_code_of_scikit_learns(name):
    X, y = load_iris(return_X_y=True)
    ours = spinney.DecisionTreeClassifier(random_state=0).fit(X, y).tree_
    theirs = sklearn.tree.DecisionTreeClassifier(random_state=0).fit(X, y).tree_
    assert getattr(ours, name).dtype.char == getattr(theirs, name).dtype.char
    assert not getattr(ours, name).flags.writeable
