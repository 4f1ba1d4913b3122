"""Estimators of spinney inside others' estimators: pipelines, searches, ensembles."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import sklearn.ensemble
from sklearn.base import BaseEstimator

from spinney._common.messages import is_ours


def to_sklearn(model: Any) -> Any:
    """Return a fitted model in which estimators of scikit-learn replace estimators of spinney.

    Tools that go by exact classes take the result. A model of spinney itself becomes what its
    method `to_sklearn` returns.

    Parameters
    ----------
    model : estimator
        A fitted estimator of spinney, or one of scikit-learn that holds such: a pipeline, a search,
        a stack and so on, to any depth. It is not changed.

    Returns
    -------
    model : estimator
        A copy in which each fitted estimator of spinney is replaced, wherever it is an attribute or
        in a list, tuple, dict or array that is one. Estimators that are not fitted stay, and so do
        transformers that scikit-learn does not have: `MissForestImputer` and `Boruta`.

    Raises
    ------
    ValueError
        If scikit-learn cannot express an estimator, as for the method.
    TypeError
        If scikit-learn has no such estimator. Committees, such as `BaggingClassifier`, are not
        converted either.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import spinney
    >>> X, y = load_iris(return_X_y=True)
    >>> pipeline = make_pipeline(StandardScaler(), spinney.RandomForestClassifier(random_state=0))
    >>> type(spinney.to_sklearn(pipeline.fit(X, y))[-1]).__module__
    'sklearn.ensemble._forest'
    """
    return _convert(model, {})


def _convert(value: Any, known: dict[int, tuple[Any, Any]]) -> Any:
    """Convert a value; `known` holds what was converted before, with its original, by identity."""
    if id(value) in known:
        return known[id(value)][1]
    converted: Any = value
    if isinstance(value, BaseEstimator) and is_ours(type(value).__module__):
        converted = _convert_ours(value, known) if _is_fitted(value) else value
    elif isinstance(value, np.ndarray) and value.dtype == object:
        converted = value.copy()
        converted.flat = [_convert(item, known) for item in value.flat]
    elif type(value) in (list, tuple):
        converted = type(value)(_convert(item, known) for item in value)
    elif isinstance(value, dict):
        # A `Bunch`, such as `named_estimators_`, keeps its class.
        converted = copy(value)
        converted.update({key: _convert(item, known) for key, item in value.items()})
    elif _has_parts(value):
        converted = copy(value)
        known[id(value)] = (value, converted)
        for name, attribute in vars(value).items():
            vars(converted)[name] = _convert(attribute, known)
    known[id(value)] = (value, converted)
    return converted


def _convert_ours(model: Any, known: dict[int, tuple[Any, Any]]) -> Any:
    """Convert a fitted estimator of spinney."""
    if hasattr(model, "_convert_to_sklearn"):
        return model.to_sklearn()
    name = type(model).__name__
    theirs = getattr(sklearn.ensemble, name, None)
    if theirs is not None and isinstance(model, theirs):
        # Ours is one of theirs, around estimators of ours: AdaBoost.
        params = model.get_params(deep=False)
        converted = theirs(**{key: params[key] for key in theirs().get_params() if key in params})
        for key in _OF_ADA_BOOST:
            if key in vars(model):
                setattr(converted, key, _convert(vars(model)[key], known))
        return converted
    if hasattr(model, "transform"):
        return model
    raise TypeError(f"to_sklearn does not convert {name} into an estimator of scikit-learn.")


def _is_fitted(model: Any) -> bool:
    return any(name.endswith("_") and not name.startswith("_") for name in vars(model))


# What `fit` of AdaBoost finds out, there and here.
_OF_ADA_BOOST = (
    "classes_",
    "estimator_",
    "estimator_errors_",
    "estimator_weights_",
    "estimators_",
    "feature_names_in_",
    "n_classes_",
    "n_features_in_",
)


def _has_parts(value: Any) -> bool:
    """Return whether a value may have estimators as attributes.

    Not all of them are estimators: a calibrated classifier has a private class of its own.
    """
    is_of_sklearn = type(value).__module__.partition(".")[0] == "sklearn"
    return isinstance(value, BaseEstimator) or (is_of_sklearn and hasattr(value, "__dict__"))
