"""Packages that go by the names of classes know ours once they are registered."""

import sys
from types import ModuleType

import numpy as np
import pytest
import sklearn.ensemble
import sklearn.tree
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import spinney
from spinney.conversion import register_m2cgen, register_mlflow, register_onnx
from spinney.conversion._classes import list_counterparts

X, Y = load_wine(return_X_y=True)
X = X.astype(np.float32)

KNOWN_AS = {
    "BalancedRandomForestClassifier": "RandomForestClassifier",
    "RandomForestQuantileRegressor": "RandomForestRegressor",
    "ExtraTreesQuantileRegressor": "ExtraTreesRegressor",
}
TREES_AND_FORESTS = [
    spinney.DecisionTreeClassifier,
    spinney.ExtraTreeRegressor,
    spinney.RandomForestClassifier,
    spinney.ExtraTreesRegressor,
    *(getattr(spinney, name) for name in KNOWN_AS),
]
every_class = pytest.mark.parametrize(
    "estimator_class", TREES_AND_FORESTS, ids=lambda known: known.__name__
)


def fit(estimator_class, **params):
    model = estimator_class(max_depth=4, random_state=0, **params)
    if hasattr(model, "n_estimators"):
        model.set_params(n_estimators=8)
    return model.fit(X, Y)


def mean_of(model, rows):
    """Return what the trees predict in the mean."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(rows)
    is_quantile = hasattr(model, "default_quantiles")
    return model.predict(rows, quantiles="mean") if is_quantile else model.predict(rows)


def test_every_tree_and_forest_is_known_as_one_of_scikit_learn():
    known = {ours.__name__: theirs for ours, theirs in list_counterparts()}
    for name, theirs in known.items():
        wanted = KNOWN_AS.get(name, name)
        assert theirs in (
            getattr(sklearn.tree, wanted, None),
            getattr(sklearn.ensemble, wanted, None),
        )
    assert set(KNOWN_AS) < set(known)
    assert {"IsolationForest", "ExtraTreeClassifier", "RandomForestRegressor"} < set(known)
    assert not any("Survival" in name for name in known)


@every_class
def test_shap_explains_the_mean(estimator_class):
    shap = pytest.importorskip("shap")
    model = fit(estimator_class)
    values = shap.TreeExplainer(model).shap_values(X[:5])
    np.testing.assert_allclose(values, model.shap_values(X[:5]), atol=1e-9)


@every_class
def test_onnx_predicts_the_mean(estimator_class):
    skl2onnx = pytest.importorskip("skl2onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    register_onnx()
    register_onnx()
    model = fit(estimator_class)
    options = {"zipmap": False} if hasattr(model, "predict_proba") else None
    converted = skl2onnx.to_onnx(model, X[:1], options=options).SerializeToString()
    session = onnxruntime.InferenceSession(converted)
    found = session.run(None, {session.get_inputs()[0].name: X})[-1]
    expected = mean_of(model, X)
    np.testing.assert_allclose(found.reshape(expected.shape), expected, atol=5e-7)


@pytest.mark.parametrize(
    "model",
    [
        spinney.GradientBoostingClassifier(n_estimators=10),
        spinney.GradientBoostingRegressor(n_estimators=10, second_order=True),
        spinney.HistGradientBoostingClassifier(max_iter=10),
        spinney.HistGradientBoostingRegressor(max_iter=10),
        make_pipeline(StandardScaler(), spinney.HistGradientBoostingRegressor(max_iter=10)),
        spinney.IsolationForest(n_estimators=10, random_state=0),
    ],
    ids=repr,
)
def test_onnx_predicts_what_boosting_and_isolation_forests_do(model):
    """Their converters read what `to_sklearn` makes."""
    skl2onnx = pytest.importorskip("skl2onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    register_onnx()
    model.fit(X, Y)
    converted = skl2onnx.to_onnx(model, X[:1], target_opset={"": 18, "ai.onnx.ml": 3})
    session = onnxruntime.InferenceSession(converted.SerializeToString())
    found = session.run(None, {session.get_inputs()[0].name: X})[-1]
    if hasattr(model, "predict_proba"):
        found = np.array([[of_row[label] for label in model.classes_] for of_row in found])
    names = ("predict_proba", "decision_function", "predict")
    expected = getattr(model, next(name for name in names if hasattr(model, name)))(X)
    np.testing.assert_allclose(found.reshape(expected.shape), expected, atol=1e-6)
    with pytest.raises(ValueError, match="ONNX has no splits by sets of categories"):
        skl2onnx.to_onnx(
            spinney.HistGradientBoostingRegressor(max_iter=2, categorical_features=[0]).fit(
                X.astype(int) % 5, Y
            ),
            X[:1],
        )


class Assembler:
    """Stands for an assembler of m2cgen."""

    def __init__(self, model):
        self.model = model


@pytest.fixture
def m2cgen_table(monkeypatch):
    """Return the table of a package that is like m2cgen."""
    theirs = ("DecisionTreeClassifier", "ExtraTreeRegressor")
    forests = ("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesRegressor")
    assemblers = ModuleType("m2cgen.assemblers")
    assemblers.SUPPORTED_MODELS = {f"sklearn_{name}": Assembler for name in theirs + forests}
    monkeypatch.setitem(sys.modules, "m2cgen", ModuleType("m2cgen"))
    monkeypatch.setitem(sys.modules, "m2cgen.assemblers", assemblers)
    return assemblers.SUPPORTED_MODELS


@every_class
def test_m2cgen_refuses_what_it_has_no_words_for(m2cgen_table, estimator_class):
    register_m2cgen()
    register_m2cgen()
    make = m2cgen_table[f"spinney_{estimator_class.__name__}"]
    model = fit(estimator_class)
    assert make(model).model is model
    assert "spinney_IsolationForest" not in m2cgen_table
    with pytest.raises(ValueError, match="has categorical features"):
        make(estimator_class(categorical_features=[0]).fit(X.round(), Y))
    with_gaps = X.copy()
    with_gaps[::5, 1] = np.nan
    with pytest.raises(ValueError, match="where missing values go"):
        make(estimator_class().fit(with_gaps, Y))
    if "Balanced" not in estimator_class.__name__:
        with pytest.raises(ValueError, match="no several outputs"):
            make(estimator_class().fit(X, np.column_stack([Y, Y])))


@every_class
def test_code_of_m2cgen_predicts_the_mean(estimator_class):
    m2cgen = pytest.importorskip("m2cgen")
    register_m2cgen()
    model = fit(estimator_class)
    names = {}
    exec(m2cgen.export_to_python(model), names)
    found = np.array([names["score"](row) for row in X[:20].astype(float).tolist()])
    np.testing.assert_allclose(found, mean_of(model, X[:20]), rtol=1e-12, atol=1e-15)


def test_mlflow_lists_our_estimators_once(monkeypatch):
    utils = ModuleType("mlflow.sklearn.utils")
    utils._all_estimators = lambda: [("Theirs", object)]
    for name in ("mlflow", "mlflow.sklearn"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "mlflow.sklearn.utils", utils)
    register_mlflow()
    register_mlflow()
    listed = utils._all_estimators()
    assert listed[0] == ("Theirs", object)
    assert len(listed) == len(set(listed))
    for known in (*TREES_AND_FORESTS, spinney.LazyForestRegressor, spinney.IsolationForest):
        assert (known.__name__, known) in listed


@pytest.mark.parametrize(
    ("register", "package"),
    [(register_m2cgen, "m2cgen"), (register_mlflow, "mlflow"), (register_onnx, "skl2onnx")],
)
def test_missing_packages_are_named(monkeypatch, register, package):
    for name in ("m2cgen.assemblers", "mlflow.sklearn.utils", "skl2onnx._supported_operators"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=f"needs the package {package}"):
        register()
