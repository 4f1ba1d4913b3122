"""Cross-validated predictions by methods that scikit-learn's loop does not know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.metadata_routing import get_routing_for_object

from spinney._common.asking import ask

if TYPE_CHECKING:
    from typing_extensions import Self


class AskedEstimator(MetaEstimatorMixin, BaseEstimator):
    """An estimator whose `predict` is another method of the estimator that it holds.

    Parameters
    ----------
    estimator : estimator
        It is not changed.
    method : str
        The method of the estimator, or of the model at the end of a pipeline.
    """

    def __init__(self, estimator: Any, method: str) -> None:
        self.estimator = estimator
        self.method = method

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = get_tags(self.estimator)
        return tags

    def get_metadata_routing(self) -> Any:
        """Return what parameters the estimator asks for."""
        return get_routing_for_object(self.estimator)

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Fit a clone of the estimator."""
        self.estimator_ = clone(self.estimator).fit(X, y, **params)
        return self

    def predict(self, X: Any) -> Any:
        """Return what the method returns; raise TypeError unless that is a value per sample."""
        values = ask(self.estimator_, self.method, X)
        n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
        shape: Any = getattr(values, "shape", ())
        if len(shape) == 0 or shape[0] != n_samples:
            raise TypeError(
                f"method must return an array of a row for each of {n_samples} samples. "
                f"{self.method} returned a {type(values).__name__} of shape {shape}."
            )
        return values
