"""scikit-learn's base classes of estimators, with types.

scikit-learn has none, so that a checker would take any attribute for one of ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sklearn.utils import Tags
    from typing_extensions import Self

    class BaseEstimator:
        """Has parameters."""

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def get_metadata_routing(self) -> Any: ...
        def set_fit_request(self, **requests: bool | str | None) -> Self: ...
        def set_score_request(self, **requests: bool | str | None) -> Self: ...
        def __sklearn_tags__(self) -> Tags: ...
        def __sklearn_clone__(self) -> Any: ...
        def __getstate__(self) -> dict[str, Any]: ...
        def __setstate__(self, state: dict[str, Any]) -> None: ...

    class ClassifierMixin:
        """Scores by accuracy."""

        def __sklearn_tags__(self) -> Tags: ...
        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    class RegressorMixin:
        """Scores by R2."""

        def set_predict_request(self, **requests: bool | str | None) -> Self: ...
        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    class MultiOutputMixin:
        """Takes several outputs."""

    class TransformerMixin:
        """Transforms samples."""

        def set_output(self, *, transform: Any = None) -> Self: ...

    class OneToOneFeatureMixin:
        """Has the names of its features."""

        def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]: ...

    class OutlierMixin:
        """Predicts which samples are anomalies."""

        def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> Any: ...

else:
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        MultiOutputMixin,
        OneToOneFeatureMixin,
        OutlierMixin,
        RegressorMixin,
        TransformerMixin,
    )

__all__ = [
    "BaseEstimator",
    "ClassifierMixin",
    "MultiOutputMixin",
    "OneToOneFeatureMixin",
    "OutlierMixin",
    "RegressorMixin",
    "TransformerMixin",
]
