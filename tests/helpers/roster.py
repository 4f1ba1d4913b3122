"""All public estimators, small, each with data of its kind. They are found in the public modules.

A new estimator of a known kind joins by itself; any other fails the first test of
`tests/base/test_every_estimator.py` until it has an entry here.
"""

import inspect
import pkgutil
from importlib import import_module

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import get_tags

import spinney
from spinney import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomForestClassifier,
    RandomForestQuantileRegressor,
    RandomForestRegressor,
)
from spinney.ensemble._cluster_forest import ClusterForest

N = 36
# Modules that need packages which are not everywhere.
_OPTIONAL = ("spinney.dask", "spinney.ray")
# So that a test of all classes is quick.
_SMALL = {"n_estimators": 4, "random_state": 0, "confidence_level": 0.6, "max_iter": 3}
_PARAMETERS = {
    "AdaBoostClassifier": {"estimator": DecisionTreeClassifier(max_depth=1)},
    "AdaBoostRegressor": {"estimator": DecisionTreeRegressor(max_depth=3)},
    "BaggingClassifier": {"estimator": DecisionTreeClassifier(max_depth=2)},
    "BaggingRegressor": {"estimator": DecisionTreeRegressor(max_depth=2)},
    "Boruta": {"estimator": RandomForestClassifier(8), "perc": 50},
    "MissForestImputer": {"skip_complete": False},
    "CausalForest": {"subforest_size": 2},
    "ConformalizedQuantileRegressor": {
        "estimator": RandomForestQuantileRegressor(25, random_state=0)
    },
    "CrossConformalClassifier": {"estimator": RandomForestClassifier(4, random_state=0), "cv": 2},
    "CrossConformalRegressor": {"estimator": RandomForestRegressor(4, random_state=0), "cv": 2},
    "JackknifeAfterBootstrapClassifier": {"estimator": RandomForestClassifier(25, random_state=0)},
    "JackknifeAfterBootstrapRegressor": {"estimator": RandomForestRegressor(25, random_state=0)},
    "SplitConformalClassifier": {"estimator": DecisionTreeClassifier(max_depth=2, random_state=0)},
    "SplitConformalRegressor": {"estimator": DecisionTreeRegressor(max_depth=2, random_state=0)},
}
# What a fitted model has that depends on the container of `X`.
_OF_CONTAINERS = ("feature_names_in_", "categories_", "is_categorical_")
_VALUES = (np.ndarray, float, int)
# The methods that answer for samples, and how results of survival models become numbers.
METHODS = {
    "predict": {},
    "predict_proba": {},
    "predict_log_proba": {},
    "decision_function": {},
    "score_samples": {},
    "path_length": {},
    "transform": {},
    "apply": {},
    "decision_path": {},
    "shap_values": {},
    "predict_interval": {},
    "predict_set": {},
    "predict_survival_function": {"return_array": True},
    "predict_cumulative_hazard_function": {"return_array": True},
    "predict_cumulative_incidence_function": {"return_array": True},
    "explore": {},
}
# All but the slowest.
QUICK = [name for name in METHODS if name != "shap_values"]


def find_estimators():
    """Return all classes of estimators in `__all__` of the public modules, by module and name."""
    found = {}
    for module in pkgutil.iter_modules(spinney.__path__, "spinney."):
        if module.name.rpartition(".")[2].startswith("_"):
            continue
        try:
            public = import_module(module.name)
        except ImportError:
            if module.name not in _OPTIONAL:
                raise
            continue
        for name in public.__all__:
            kind = getattr(public, name)
            is_estimator = inspect.isclass(kind) and issubclass(kind, BaseEstimator)
            if is_estimator and not name.startswith("Base"):
                found[f"{module.name}.{name}"] = kind
    return found


# Forests of a cluster are, bit for bit, those of the local classes: `tests/cluster`.
EVERY = {
    name: kind for name, kind in find_estimators().items() if not issubclass(kind, ClusterForest)
}


def make(kind, **parameters):
    """Return a small estimator of a class, not fitted."""
    estimator = kind()
    own = estimator.get_params(deep=False)
    wanted = {**_SMALL, **_PARAMETERS.get(kind.__name__, {}), **parameters}
    return estimator.set_params(**{name: value for name, value in wanted.items() if name in own})


def kind_of_target(kind):
    """Return "classes", "numbers", "times", "effects" or "nothing": the `y` that `fit` takes."""
    if kind.__name__ == "Boruta":
        return "classes"
    if getattr(kind, "_task", None) == "survival":
        return "times"
    if getattr(kind, "_task", None) == "effects":
        return "effects"
    if not get_tags(kind()).target_tags.required:
        return "nothing"
    return "classes" if is_classifier(kind()) else "numbers"


def make_X():
    """Return rows of small whole numbers with many zeros, which all types of numbers hold."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 8, size=(N, 4)) * (rng.random((N, 4)) < 0.7)
    return X.astype(np.float64)


def make_y(target, X):
    """Return the target of a kind for rows."""
    score = X[:, 0] + X[:, 1] - X[:, 2]
    if target == "classes":
        return np.digitize(score, [2.0, 6.0])
    if target == "numbers":
        return np.round(score)
    if target == "times":
        return np.arange(len(X)) % 3 > 0, np.abs(score) + 1.0
    if target == "effects":
        return np.arange(len(X)) // 2 % 2, np.round(score)
    return None


def fit(kind, X, y):
    """Return a fitted estimator."""
    return make(kind).fit(X, *list_targets(kind, y))


def list_targets(kind, y):
    """Return the arguments of `fit` behind `X`: of effects, treatments and outcomes."""
    return tuple(y) if kind_of_target(kind) == "effects" else (y,)


def ask(model, X, methods=METHODS):
    """Return what a model answers for samples, and what it has learned, as arrays by name."""
    answers = {
        name: [np.asarray(value)]
        for name, value in vars(model).items()
        if name.endswith("_") and name not in _OF_CONTAINERS and isinstance(value, _VALUES)
    }
    for name in methods:
        if hasattr(model, name):
            found = getattr(model, name)(X, **METHODS[name])
            found = found if isinstance(found, (tuple, list)) else [found]
            answers[name] = [to_array(part) for part in found]
    return answers


def to_array(part):
    """Return an answer as an array: a frame, a sparse matrix, an `Exploration`."""
    part = getattr(part, "prediction", part)
    return part.toarray() if hasattr(part, "toarray") else np.asarray(part)


def assert_equal(found, expected):
    """Check that two answers have the same bits."""
    assert found.keys() == expected.keys()
    for name, parts in expected.items():
        for one, other in zip(found[name], parts, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=name)
