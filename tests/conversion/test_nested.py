"""`spinney.to_sklearn`: our models inside of scikit-learn's pipelines, searches and ensembles."""

import pickle
import sys

import numpy as np
import pytest
import sklearn.ensemble
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import spinney
import spinney.conformal
import spinney.impute

X, Y = load_iris(return_X_y=True)
X = X.astype(np.float32)


def tree():
    return spinney.DecisionTreeClassifier(max_depth=3, random_state=0)


def forest():
    return spinney.RandomForestClassifier(4, random_state=0)


MODELS = {
    "tree": tree(),
    "forest": forest(),
    "pipeline": make_pipeline(SelectFromModel(forest()), tree()),
    "search": GridSearchCV(make_pipeline(tree()), {"decisiontreeclassifier__max_depth": [1, 2]}),
    "vote": VotingClassifier([("tree", tree()), ("forest", forest())], voting="soft"),
    "stack": StackingClassifier([("tree", tree())], forest(), cv=2),
    "bags": BaggingClassifier(tree(), 3, random_state=0),
    "AdaBoost": spinney.AdaBoostClassifier(tree(), n_estimators=3, random_state=0),
    "search of AdaBoost": GridSearchCV(spinney.AdaBoostClassifier(tree()), {"n_estimators": [2]}),
    "calibrated": CalibratedClassifierCV(tree(), cv=2),
    "one against all": OneVsRestClassifier(forest()),
}


@pytest.mark.parametrize("name", MODELS)
def test_nothing_of_ours_is_left_and_predictions_stay(name):
    """The pickle names our package for parameters alone: templates that are not fitted stay."""
    model = MODELS[name].fit(X, Y)
    before = pickle.dumps(model)
    converted = spinney.to_sklearn(model)
    assert pickle.dumps(model) == before, "the model was changed"
    np.testing.assert_array_equal(converted.predict(X), model.predict(X))
    np.testing.assert_allclose(converted.predict_proba(X), model.predict_proba(X))
    found = list(list_fitted(converted, set()))
    assert found
    assert {type(each).__module__.partition(".")[0] for each in found} == {"sklearn"}


def list_fitted(value, seen):
    """Yield the fitted trees and forests inside of a value."""
    if id(value) in seen:
        return
    seen.add(id(value))
    is_of_ours = type(value).__module__.partition(".")[0] in ("sklearn", "spinney")
    if is_of_ours and hasattr(value, "feature_importances_"):
        yield value
        return
    parts = []
    if isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, (list, tuple)) or getattr(value, "dtype", None) is np.dtype(object):
        parts = list(value)
    elif is_of_ours and hasattr(value, "__dict__"):
        parts = list(vars(value).values())
    for part in parts:
        yield from list_fitted(part, seen)


def test_models_of_others_and_parameters_stay():
    scaler = StandardScaler().fit(X)
    assert type(spinney.to_sklearn(scaler)) is StandardScaler
    unfitted = make_pipeline(StandardScaler(), tree())
    assert isinstance(spinney.to_sklearn(unfitted)[-1], spinney.DecisionTreeClassifier)


def test_what_scikit_learn_cannot_express_is_told():
    model = make_pipeline(spinney.DecisionTreeClassifier(categorical_features=[0])).fit(X, Y)
    with pytest.raises(ValueError, match="categorical features"):
        spinney.to_sklearn(model)


@pytest.mark.parametrize(
    "model",
    [
        spinney.BaggingClassifier(tree(), n_estimators=2),
        spinney.LazyForestClassifier(2),
        spinney.conformal.JackknifeAfterBootstrapClassifier(spinney.RandomForestClassifier(50)),
        spinney.conformal.SplitConformalClassifier(tree()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_what_scikit_learn_does_not_have_is_told(model):
    pipeline = make_pipeline(StandardScaler(), model)
    assert spinney.to_sklearn(pipeline)[-1] is model
    with pytest.raises(TypeError, match=f"does not convert {type(model).__name__}"):
        spinney.to_sklearn(pipeline.fit(X, Y))


def test_transformers_stay():
    imputer = spinney.impute.MissForestImputer(n_estimators=5, random_state=0)
    pipeline = make_pipeline(imputer, forest())
    with_gaps = X.copy()
    with_gaps[::7, 1] = np.nan
    converted = spinney.to_sklearn(pipeline.fit(with_gaps, Y))
    assert converted[0] is pipeline[0]
    assert type(converted[1]) is sklearn.ensemble.RandomForestClassifier
    np.testing.assert_array_equal(converted.predict(with_gaps), pipeline.predict(with_gaps))


@pytest.mark.parametrize("base", [None, sklearn.ensemble.ExtraTreesClassifier(2)])
def test_committees_of_scikit_learn_are_refused(base):
    model = BaggingClassifier(base, n_estimators=2).fit(X, Y)
    with pytest.raises(TypeError, match="must be an estimator of one of scikit-learn's classes"):
        spinney.from_sklearn(model)


def test_register_onnx_needs_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    monkeypatch.setitem(sys.modules, "skl2onnx._supported_operators", None)
    with pytest.raises(ImportError, match="register_onnx needs the package skl2onnx"):
        spinney.conversion.register_onnx()
