"""Errors name what users know: the class that they called, y as y, the folder of a file."""

import errno
import inspect
import os

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import spinney
from spinney import conformal, ensemble, feature_selection, impute, survival, tree
from spinney._common.documentation import DocumentedEstimator
from strategies import FOREST_REGRESSORS, FORESTS, LAZY_FORESTS

CLASSES = [
    value
    for module in (tree, ensemble, survival, conformal, impute, feature_selection)
    for value in (getattr(module, name) for name in module.__all__)
    if inspect.isclass(value) and issubclass(value, DocumentedEstimator)
]
CLASSES = [value for value in CLASSES if not inspect.isabstract(value)]


@pytest.mark.parametrize("estimator_class", CLASSES)
def test_errors_of_arguments_name_the_public_class(estimator_class):
    """Inner classes, which define the methods, are not known to users."""
    methods = [
        name
        for name, method in inspect.getmembers(estimator_class, inspect.isfunction)
        if not name.startswith("_") and method.__module__.startswith("spinney.")
    ]
    assert "fit" in methods or "fit_conformalize" in methods
    model = object.__new__(estimator_class)
    for name in methods:
        with pytest.raises(TypeError) as caught:
            getattr(model, name)(no_such_argument=1)
        assert str(caught.value).startswith(f"{estimator_class.__name__}.{name}()"), name


def test_classes_of_users_inherit_what_they_would_without_names():
    """A mixin that overrides a method comes first wherever Python puts it first."""

    class Forest(spinney.RandomForestRegressor):
        pass

    class Twice(spinney.RandomForestRegressor):
        def predict(self, X):
            return 2 * super().predict(X)

    class Both(Forest, Twice):
        pass

    class Thrice(Twice):
        def predict(self, X):
            return 1.5 * super().predict(X)

    class All(Both, Thrice):
        pass

    X, y = np.arange(8.0).reshape(-1, 1), np.arange(8.0)
    one, two, three = (kind(3, random_state=0).fit(X, y).predict(X) for kind in (Forest, Both, All))
    np.testing.assert_array_equal(two, 2 * one)
    np.testing.assert_array_equal(three, 3 * one)
    with pytest.raises(TypeError, match=r"RandomForestRegressor\.fit\(\) missing 1 required"):
        Both().fit(X)


SUPERVISED = [*FORESTS, *LAZY_FORESTS, tree.DecisionTreeRegressor, survival.SurvivalTree]
SUPERVISED += [survival.RandomSurvivalForest, feature_selection.Boruta]


@pytest.mark.parametrize("estimator_class", SUPERVISED)
@pytest.mark.parametrize("y", ["b", 3, 2.5, b"b"])
def test_a_name_in_the_place_of_targets(estimator_class, y):
    """It is told of before anything that may be wrong with X."""
    X = pd.DataFrame({"a": ["x", "y"], "b": [1.0, 2.0]})
    with pytest.raises(ValueError, match="y must be an array-like of the targets") as caught:
        estimator_class().fit(X, y)
    assert repr(y) in str(caught.value)
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        estimator_class().fit(X, None)


@pytest.mark.parametrize("estimator_class", [*FOREST_REGRESSORS, tree.DecisionTreeRegressor])
@pytest.mark.parametrize("form", [list, np.array, pd.Series, lambda y: np.array(y, dtype=object)])
def test_strings_as_numbers_to_predict(estimator_class, form):
    """The message says that it is y."""
    X = np.arange(4.0).reshape(-1, 1)
    with pytest.raises(ValueError, match=r"^y must hold numbers: could not convert .*classifiers"):
        estimator_class().fit(X, form(list("abab")))


REGRESSORS = [
    *FOREST_REGRESSORS,
    tree.DecisionTreeRegressor,
    ensemble.AdaBoostRegressor,
    ensemble.BaggingRegressor,
    ensemble.GradientBoostingRegressor,
    ensemble.HistGradientBoostingRegressor,
    conformal.SplitConformalRegressor,
]


@pytest.mark.parametrize("estimator_class", REGRESSORS)
@pytest.mark.parametrize("form", [np.asarray, pd.Series, pl.Series])
@pytest.mark.parametrize("unit", ["M8[D]", "M8[us]", "m8[ms]"])
def test_dates_as_numbers(estimator_class, form, unit):
    """They would depend on their unit."""
    X, y = np.arange(40.0).reshape(-1, 1), np.arange(40.0)
    dates = form(np.arange(40).astype(unit))
    with pytest.raises(TypeError, match=r"^y must hold numbers\. Got values of the type"):
        estimator_class().fit(X, dates)
    with pytest.raises(
        TypeError, match=r"^sample_weight must hold numbers\. Got values of the type"
    ):
        estimator_class().fit(X, y, sample_weight=dates)


SAVED = {
    "model": lambda path: tree.DecisionTreeRegressor().fit([[1.0], [2.0]], [1.0, 2.0]).save(path),
    "dataset": lambda path: spinney.Dataset([[1.0], [2.0]]).save(path),
    "columns": lambda path: spinney.Dataset.write(path, np.ones((3, 2))),
    "blocks": lambda path: spinney.Dataset.write(path, sparse.eye(3, format="csr")),
}


@pytest.mark.parametrize("kind", SAVED)
def test_files_that_cannot_be_written(kind, tmp_path):
    """The folder, or the folder that the file would replace, and no temporary file."""
    cases = [(tmp_path / "none" / "model", tmp_path / "none", errno.ENOENT)]
    if os.name == "posix":
        cases.append((tmp_path, tmp_path, errno.EISDIR))
    for path, culprit, number in cases:
        with pytest.raises(OSError) as caught:
            SAVED[kind](path)
        assert caught.value.errno == number
        assert caught.value.filename == str(culprit)
        assert path.name in str(caught.value)
        assert ".tmp" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
