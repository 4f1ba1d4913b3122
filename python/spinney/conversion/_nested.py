"""Estimators of spinney inside others' estimators: pipelines, searches, ensembles."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator


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
        in a list, tuple, dict or array that is one. Estimators that are not fitted stay.

    Raises
    ------
    ValueError
        If scikit-learn cannot express an estimator, as for the method.

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
    if hasattr(value, "_convert_to_sklearn"):
        is_fitted = hasattr(value, "tree_") or hasattr(value, "forest_")
        converted = value.to_sklearn() if is_fitted else value
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


def _has_parts(value: Any) -> bool:
    """Return whether a value may have estimators as attributes.

    Not all of them are estimators: a calibrated classifier has a private class of its own.
    """
    is_of_sklearn = type(value).__module__.partition(".")[0] == "sklearn"
    return isinstance(value, BaseEstimator) or (is_of_sklearn and hasattr(value, "__dict__"))
