"""Packages around scikit-learn that take our estimators in the place of scikit-learn's own.

`make test-clients` installs the packages; without them these tests are skipped.
"""

import contextlib

import numpy as np
import pytest
from sklearn import ensemble, tree
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import spinney

pytestmark = pytest.mark.filterwarnings("ignore")
CLASSES, NUMBERS = load_breast_cancer(return_X_y=True), load_diabetes(return_X_y=True)
# Their types, which skops asks its users to trust.
TRUSTED = [
    "spinney._fit.draws.Draws",
    "spinney._fit.draws.Growth",
    "spinney._spinney.Forest",
    "spinney.ensemble._random_forest.RandomForestClassifier",
]


@pytest.fixture(scope="module")
def classifier():
    return spinney.RandomForestClassifier(20, random_state=0).fit(*CLASSES)


@pytest.fixture(scope="module")
def regressor():
    return spinney.RandomForestRegressor(20, random_state=0).fit(*NUMBERS)


@pytest.fixture(scope="module")
def single_tree():
    return spinney.DecisionTreeClassifier(max_depth=4, random_state=0).fit(*CLASSES)


def test_scikit_learn(regressor, single_tree):
    """Its own functions ask for its classes, too."""
    from sklearn.inspection import partial_dependence

    lines = tree.export_text(single_tree).splitlines()
    assert len(lines) == len(tree.export_text(single_tree.to_sklearn()).splitlines())
    found = partial_dependence(regressor, NUMBERS[0], [2, 8], grid_resolution=20)["average"]
    theirs = partial_dependence(regressor.to_sklearn(), NUMBERS[0], [2, 8], grid_resolution=20)
    np.testing.assert_allclose(found, theirs["average"])


def test_shap(classifier, regressor):
    shap = pytest.importorskip("shap")
    for model, (X, _) in ((classifier, CLASSES), (regressor, NUMBERS)):
        values = shap.TreeExplainer(model).shap_values(X[:30])
        np.testing.assert_allclose(values, model.shap_values(X[:30]), atol=1e-9)


def test_dtreeviz(single_tree):
    dtreeviz = pytest.importorskip("dtreeviz")
    names = [f"f{feature}" for feature in range(CLASSES[0].shape[1])]
    model = dtreeviz.model(single_tree, *CLASSES, feature_names=names, target_name="y")
    (split,) = single_tree.tree_.feature[:1]
    assert f"f{split}" in model.explain_prediction_path(CLASSES[0][0])


def attempt(interpreter, model):
    """Return what treeinterpreter finds for numbers, or None if it fails."""
    with contextlib.suppress(ValueError):
        return interpreter.predict(model, NUMBERS[0][:5])[0].ravel()
    return None


def test_treeinterpreter(classifier, regressor):
    """It writes into the values of a classifier's trees, which do not change: NumPy says so."""
    interpreter = pytest.importorskip("treeinterpreter.treeinterpreter")
    theirs = ensemble.RandomForestRegressor(2, random_state=0).fit(*NUMBERS)
    found, expected = (attempt(interpreter, model) for model in (regressor, theirs))
    if expected is None:
        # As with versions of NumPy that treeinterpreter does not know.
        assert found is None
    else:
        np.testing.assert_allclose(found, regressor.predict(NUMBERS[0][:5]))
    with pytest.raises(ValueError, match="read-only"):
        interpreter.predict(classifier, CLASSES[0][:5])
    predictions = interpreter.predict(classifier.to_sklearn(), CLASSES[0][:5])[0]
    np.testing.assert_allclose(predictions, classifier.predict_proba(CLASSES[0][:5]))


def test_eli5(classifier, regressor, single_tree):
    eli5 = pytest.importorskip("eli5")
    for model in (classifier, single_tree):
        assert "feature importances" in eli5.format_as_text(eli5.explain_weights(model)).lower()
    assert "<BIAS>" in eli5.format_as_text(eli5.explain_prediction(regressor, NUMBERS[0][0]))


def test_forestci(regressor):
    """It repeats scikit-learn's draws unless it is given ours; it refuses our seeds."""
    forestci = pytest.importorskip("forestci")
    X, _ = NUMBERS
    for model in (regressor, regressor.to_sklearn()):
        with pytest.raises(ValueError, match="Seed must be between 0 and"):
            forestci.random_forest_error(model, X.shape, X[:20])
    counts = [np.bincount(rows, minlength=len(X)) for rows in regressor.estimators_samples_]
    variances = forestci.random_forest_error(
        regressor, X.shape, X[:20], inbag=np.column_stack(counts)
    )
    assert np.all(np.isfinite(variances))
    assert np.any(variances > 0)


def test_skops(classifier):
    skops = pytest.importorskip("skops.io")
    stored = skops.dumps(classifier)
    assert set(skops.get_untrusted_types(data=stored)) == set(TRUSTED)
    loaded = skops.loads(stored, trusted=TRUSTED)
    np.testing.assert_array_equal(
        loaded.predict_proba(CLASSES[0]), classifier.predict_proba(CLASSES[0])
    )
    pipeline = make_pipeline(StandardScaler(), classifier)
    pipeline[:-1].fit(*CLASSES)
    loaded = skops.loads(skops.dumps(pipeline), trusted=TRUSTED)
    np.testing.assert_array_equal(loaded.predict(CLASSES[0]), pipeline.predict(CLASSES[0]))
    single = spinney.DecisionTreeRegressor(max_depth=3).fit(*NUMBERS)
    stored = skops.dumps(single)
    loaded = skops.loads(stored, trusted=skops.get_untrusted_types(data=stored))
    np.testing.assert_array_equal(loaded.predict(NUMBERS[0]), single.predict(NUMBERS[0]))
    np.testing.assert_array_equal(loaded.tree_.threshold, single.tree_.threshold)


def test_mlflow(classifier, tmp_path):
    """Its default format is that of skops."""
    mlflow = pytest.importorskip("mlflow")
    mlflow.sklearn.save_model(classifier, tmp_path / "model", skops_trusted_types=TRUSTED)
    loaded = mlflow.sklearn.load_model(str(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.predict(CLASSES[0]), classifier.predict(CLASSES[0]))


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_onnx(kind, classifier, regressor):
    skl2onnx = pytest.importorskip("skl2onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    spinney.conversion.register_onnx()
    model, (X, _) = (classifier, CLASSES) if kind == "classes" else (regressor, NUMBERS)
    X = X.astype(np.float32)
    session = onnxruntime.InferenceSession(skl2onnx.to_onnx(model, X[:1]).SerializeToString())
    found = session.run(None, {session.get_inputs()[0].name: X})[0]
    np.testing.assert_allclose(found.ravel(), model.predict(X), rtol=1e-5)


def test_onnx_of_categories_is_refused():
    """Also inside of other estimators; a wrong model would say nothing."""
    skl2onnx = pytest.importorskip("skl2onnx")
    spinney.conversion.register_onnx()
    X, y = np.tile(np.eye(4), (5, 1)).astype(np.float32), np.tile([0, 1, 1, 0], 5)
    for model in (
        spinney.DecisionTreeClassifier(categorical_features=[0]),
        spinney.ExtraTreesRegressor(3, categorical_features=[0]),
        ensemble.VotingClassifier(
            [("forest", spinney.RandomForestClassifier(3, categorical_features=[0]))],
            voting="soft",
            flatten_transform=False,
        ),
    ):
        with pytest.raises(ValueError, match="the estimator has categorical features"):
            skl2onnx.to_onnx(model.fit(X, y), X[:1])


def test_onnx_has_the_outputs_of_scikit_learn(classifier):
    """By default shares are dicts by class, and options change that."""
    skl2onnx = pytest.importorskip("skl2onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    spinney.conversion.register_onnx()
    X = CLASSES[0].astype(np.float32)
    for choice in (None, False, "columns"):
        outputs = []
        for model in (classifier, classifier.to_sklearn()):
            options = None if choice is None else {id(model): {"zipmap": choice}}
            stored = skl2onnx.to_onnx(model, X[:1], options=options).SerializeToString()
            found = onnxruntime.InferenceSession(stored).get_outputs()
            outputs.append([(output.name, output.type) for output in found])
        assert outputs[0] == outputs[1]


def test_treelite(regressor):
    treelite = pytest.importorskip("treelite")
    model = treelite.sklearn.import_model(regressor)
    found = treelite.gtil.predict(model, NUMBERS[0]).ravel()
    np.testing.assert_allclose(found, regressor.predict(NUMBERS[0]))


def test_imbalanced_learn():
    pytest.importorskip("imblearn")
    from imblearn.ensemble import BalancedBaggingClassifier
    from imblearn.over_sampling import SMOTE
    from imblearn.pipeline import make_pipeline
    from imblearn.under_sampling import InstanceHardnessThreshold

    bags = BalancedBaggingClassifier(spinney.DecisionTreeClassifier(), random_state=0)
    forest = spinney.RandomForestClassifier(10, random_state=0)
    assert bags.fit(*CLASSES).score(*CLASSES) > 0.95
    assert make_pipeline(SMOTE(random_state=0), forest).fit(*CLASSES).score(*CLASSES) > 0.95
    kept, _ = InstanceHardnessThreshold(estimator=forest, random_state=0).fit_resample(*CLASSES)
    assert len(kept) < len(CLASSES[0])
