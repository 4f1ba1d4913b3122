"""Folds of a cross-validation, and what refits to them predict."""

import warnings
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pytest
import sklearn.model_selection as of_sklearn
from hypothesis import strategies as st
from sklearn.base import is_classifier
from sklearn.datasets import load_diabetes, load_iris

import spinney._fit.task
import spinney.dataset
import spinney.model_selection._splits
from forests import samplings, seeds
from strategies import FORESTS, LAZY_FORESTS, data, growth_rules

oldest = pytest.mark.oldest

X_IRIS, Y_IRIS = load_iris(return_X_y=True)

SAMPLED = (*FORESTS, *LAZY_FORESTS)

FUNCTIONS = ("cross_validate", "cross_val_score", "cross_val_predict")

every_function = pytest.mark.parametrize("function", FUNCTIONS)


@contextmanager
def counted():
    """Count the calls of the shared work."""
    work = spinney._fit.task.predict_folds
    with mock.patch.object(spinney._fit.task, "predict_folds", side_effect=work) as calls:
        yield calls


@contextmanager
def shared():
    """Check that work is shared, once."""
    with counted() as calls:
        yield
    assert calls.call_count == 1


@contextmanager
def refitted():
    """Check that no work is shared."""
    with counted() as calls:
        yield
    assert calls.call_count == 0


def ours(function):
    return getattr(spinney.model_selection, function)


def theirs(function):
    return getattr(of_sklearn, function)


def small(estimator_class, **params):
    """Return an estimator that is quickly grown."""
    if estimator_class in SAMPLED:
        params = {"n_estimators": 4, "bootstrap": "poisson", **params}
    return estimator_class(random_state=0, **params)


def task_of(estimator):
    """Return data with a signal for the kind of estimator."""
    if is_classifier(estimator):
        return load_iris(return_X_y=True)
    X, y = load_diabetes(return_X_y=True)
    return X[:150], y[:150]


def ids_of(estimator, train):
    """Return what a refit takes so that its draws are those of the fold."""
    is_poisson = getattr(estimator, "bootstrap", None) == "poisson"
    return {"sample_ids": train} if is_poisson else {}


def assert_same_bits(found, expected):
    """Check lists of arrays, or of lists of them."""
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        if isinstance(b, list):
            assert_same_bits(a, b)
        else:
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            assert a.tobytes() == b.tobytes() or (a.tolist() == b.tolist() and a.dtype == object)


def parameters(draw, estimator_class):
    """Draw parameters of an estimator, and data for it."""
    params = dict(draw(growth_rules()), random_state=draw(seeds))
    if is_classifier(estimator_class()):
        task = "classes"
        params["criterion"] = draw(st.sampled_from(("gini", "entropy")))
        presets = (None, "balanced", {0: 2.0, 1: 0.5})
        if estimator_class in SAMPLED:
            presets += ("balanced_subsample",)
        params["class_weight"] = draw(st.sampled_from(presets))
    else:
        names = ("squared_error", "absolute_error", "quantile", "poisson")
        params["criterion"] = draw(st.sampled_from(names))
        task = "counts" if params["criterion"] == "poisson" else "numbers"
    if estimator_class in SAMPLED:
        params.update(draw(samplings), n_estimators=3)
    params["max_features"] = draw(st.sampled_from(("sqrt", 0.5, None)))
    problem = draw(data(task, max_samples=25, missing=True))
    if isinstance(params.get("class_weight"), dict) and problem.y.ndim == 2:
        params["class_weight"] = "balanced"
    return params, problem


def random_folds(draw, n_samples):
    """Draw folds of which the training rows are ascending; test rows may be any."""
    rows = st.lists(st.integers(0, n_samples - 1), min_size=1)
    folds = draw(st.lists(st.tuples(rows, rows), min_size=1, max_size=5))
    return [(np.unique(train), np.array(test)) for train, test in folds]


def outcome(call):
    """Return the type and the message of an error, the result, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call()
        except Exception as error:  # noqa: BLE001 - whatever scikit-learn raises
            result = (type(error), str(error))
    return result, [warning.category for warning in caught]
