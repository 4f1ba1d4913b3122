"""Methods of models, also of those inside the pipelines and searches of scikit-learn."""

from __future__ import annotations

from typing import Any

from sklearn.base import MetaEstimatorMixin
from sklearn.pipeline import Pipeline


def find_model(estimator: Any) -> Any:
    """Return the model inside of a pipeline or search, fitted or not; others as they are."""
    if isinstance(estimator, Pipeline) and estimator.steps:
        return find_model(estimator.steps[-1][1])
    if hasattr(estimator, "best_estimator_"):
        return find_model(estimator.best_estimator_)
    is_meta = isinstance(estimator, MetaEstimatorMixin)
    inner = getattr(estimator, "estimator", None) if is_meta else None
    return estimator if inner is None else find_model(inner)


def ask(estimator: Any, method: str, X: Any, **options: Any) -> Any:
    """Return what a method of the model inside of a fitted estimator returns for samples."""
    if hasattr(estimator, method):
        return getattr(estimator, method)(X, **options)
    if isinstance(estimator, Pipeline):
        for _, step in estimator.steps[:-1]:
            X = X if step in (None, "passthrough") else step.transform(X)
        return ask(estimator.steps[-1][1], method, X, **options)
    if hasattr(estimator, "best_estimator_"):
        return ask(estimator.best_estimator_, method, X, **options)
    raise TypeError(f"{type(estimator).__name__} has no method {method}.")
