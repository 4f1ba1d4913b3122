"""SHAP values: what each feature contributes to a prediction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from spinney._common.checks import is_bool
from spinney._common.messages import reject_parameter
from spinney._common.progress import show_progress
from spinney._common.types import Classes
from spinney._explain.one_prediction import ExplainedPrediction, explain
from spinney._spinney import (
    Forest,
    forest_expected_value,
    forest_shap_interactions,
    forest_shap_values,
)
from spinney.dataset import Dataset


class ShapValues(ABC):
    """Mixin of the estimators whose predictions are explained by the features."""

    n_features_in_: int
    n_outputs_: int
    _task: ClassVar[str]
    # What the contributions to numbers add up to, and the method that returns it.
    _explained: ClassVar[tuple[str, str]] = ("prediction", "predict")

    def _list_quantiles(self, row: Any) -> list[tuple[float, float]]:  # noqa: ARG002
        """Return levels and values of quantiles that are predicted for a row besides, if any."""
        return []

    def _describe_raw(
        self,
        rows: Any,  # noqa: ARG002
        values: Any,  # noqa: ARG002
    ) -> tuple[str, float, float, Any] | None:
        """Return what is explained of a sample, if it is a raw prediction.

        Its name, it, what is expected, and the contributions.
        """
        return None

    def _describe_agreement(self, rows: Any) -> str | None:  # noqa: ARG002
        """Return how sure the prediction of a sample is, if not by how the trees agree."""
        return None

    @property
    def expected_value_(self) -> Any:
        """The prediction if nothing is known of a sample.

        It is the mean over the trees of the means of their leaves by training weight. With the
        contributions of `shap_values` it adds up to the prediction.

        Returns
        -------
        expected : float, ndarray or list of ndarray
            A float for numbers, shape (n_outputs,) if there are several outputs. The shares of the
            classes for classes, shape (n_classes,), or a list of such arrays, one per output. The
            classes are in the order of `classes_`.
        """
        check_is_fitted(self)
        values = forest_expected_value(self._get_forest(), self._count_threads())
        expected = self._shape_explanation(values[np.newaxis, np.newaxis])
        if isinstance(expected, list):
            return [part[0, 0] for part in expected]
        return float(expected[0, 0]) if expected.ndim == 2 else expected[0, 0]

    def shap_values(self, X: Any, *, interactions: bool = False) -> Any:
        """Explain predictions by the contributions of the features.

        The contributions of all features and `expected_value_` add up to the prediction: to what
        `predict` returns for numbers, to `predict_proba` for classes. They are path-dependent SHAP
        values, as of :class:`shap.TreeExplainer` without background data: the mean, over all
        orders of the features, of what the prediction changes as the feature becomes known. At a
        split on a feature that is not known, both children count, in proportion to the training
        weight that they had.

        They are exact up to rounding, however deep the trees are. They take time in proportion to
        the samples times the nodes of the trees, and to the classes if there are more than two.
        They do not depend on `n_jobs` or on the other samples in `X`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        interactions : bool, default=False
            Whether to divide the contributions of each feature among its pairs with the others.

        Returns
        -------
        values : ndarray, CSR matrix, or list of these
            float64. Numbers: shape (n_samples, n_features), and
            (n_samples, n_features, n_outputs) if there are several outputs. Classes:
            (n_samples, n_features, n_classes), and a list of such arrays, one per output, if there
            are several outputs. These are the shapes of shap.

            If `X` is sparse, CSR matrices of shape (n_samples, n_features) without zeros take the
            place of the last axis: one matrix for a number, otherwise a list of them, one per class
            or output; for classes of several outputs a list of such lists. Features that no tree
            uses are 0. Others may contribute though the sample has a 0.

            Interactions have a second axis of features behind the first, also for sparse `X`. They
            are symmetric, each of the two places of a pair having half of its interaction, and the
            sum of a row is the contribution of the feature.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError, TypeError
            If `X` is illegal. The message says how.
        MemoryError
            If the contributions need more memory than there is.

        References
        ----------
        S. Lundberg et al., "From local explanations to global understanding with explainable AI for
        trees", Nature Machine Intelligence 2, 2020.

        R. Wettenstein, R. Mitchell, P. Yu, "Quadrature-TreeSHAP: Depth-Independent TreeSHAP and
        Shapley Interactions", arXiv 2605.04497, 2026.
        """
        check_is_fitted(self)
        return self._shape_explanation(self._contribute(self._get_forest(), X, interactions))

    def _contribute(self, forest: Forest, X: Any, interactions: Any) -> Any:
        """Return contributions to all values of a forest that has the splits of this model."""
        if not is_bool(interactions):
            reject_parameter("shap_values", "interactions", interactions, "a bool")
        if not interactions:
            is_sparse = X.is_sparse if isinstance(X, Dataset) else sparse.issparse(X)
            return self._explain(X, is_sparse, forest)
        X = self._validate_X_predict(X)
        with self._show_explaining() as watcher:
            values = forest_shap_interactions(forest, X, self._count_threads(), watcher)
        return self._finish_contributions(values, X, forest)

    def to_shap(self, X: Any) -> Any:
        """Explain predictions by the contributions of the features, for the plots of shap.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Contributions are dense, since the plots of shap want them so.

        Returns
        -------
        explanation : shap.Explanation
            `values` as `shap_values` returns them for dense samples, `base_values` with the
            expected value of each sample, `data` with the samples, the names of the features if
            `fit` saw any, and the names of the classes.

        Raises
        ------
        ImportError
            If shap is not installed.
        NotFittedError
            If the estimator is not fitted.
        ValueError, TypeError
            If `X` is illegal, or if there are several outputs of classes, which shap has no form
            for.
        """
        _import_shap()
        check_is_fitted(self)
        if self._task == "classification" and self.n_outputs_ > 1:
            raise ValueError(
                "to_shap explains one output of classes. "
                f"Got an estimator with {self.n_outputs_} outputs of classes."
            )
        forest = self._get_forest()
        values = self._shape_explanation(self._explain(X, sparse_output=False, forest=forest))
        classes = self.classes_ if self._task == "classification" else None
        return self._make_explanation(X, values, self.expected_value_, classes)

    def _make_explanation(self, X: Any, values: Any, expected: Any, outputs: Any) -> Any:
        """Return contributions, of shape (n_samples, n_features[, n_outputs]), for shap."""
        shap = _import_shap()
        X = X._read_values() if isinstance(X, Dataset) else X
        expected = np.asarray(expected)
        return shap.Explanation(
            values=values,
            base_values=np.broadcast_to(expected, (values.shape[0], *expected.shape)).copy(),
            data=X.toarray() if sparse.issparse(X) else np.asarray(X),
            feature_names=self._list_feature_names(),
            output_names=None if outputs is None else [str(label) for label in outputs],
        )

    def explain(self, row: Any, *, n_features: int = 8, Y: Any = None) -> ExplainedPrediction:
        """Explain the prediction for one sample in words, and as a picture.

        Parameters
        ----------
        row : array-like of shape (n_features,), or samples of shape (1, n_features)
            The sample, also as a row of a data frame or of a sparse matrix.
        n_features : int, default=8
            How many contributions to name; the others are added up.
        Y : {array-like, sparse matrix} of shape (n_others, n_features), default=None
            Samples among which to look for the nearest, usually the training samples. Forests
            only.

        Returns
        -------
        explanation : spinney.inspection.ExplainedPrediction
            `print` shows it: the expected value, the largest contributions with the names and
            values of their features, the prediction, how many trees agree, and the nearest samples.
            `plot()` draws the contributions. Of classes, the share of the predicted one is
            explained.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError, TypeError
            If an argument is illegal, or if there are several outputs. The message names it.
        """
        check_is_fitted(self)
        if Y is not None and not hasattr(self, "nearest"):
            expected = "None for an estimator without a method nearest"
            reject_parameter("explain", "Y", Y, expected)
        return explain(self, row, n_features, Y)

    def _list_feature_names(self) -> list[str] | None:
        """Return the names that `fit` saw; for a tree of a forest, the forest's names."""
        of_forest = getattr(self, "_names_of_forest", None)
        names = (
            getattr(self, "feature_names_in_", None) if of_forest is None else of_forest.features
        )
        return None if names is None else [str(name) for name in names]

    def _explain(self, X: Any, sparse_output: bool, forest: Forest) -> Any:
        """Return contributions to all values: (n_samples, n_features, n_values), or matrices."""
        X = self._validate_X_predict(X)
        with self._show_explaining() as watcher:
            values = forest_shap_values(forest, X, sparse_output, self._count_threads(), watcher)
        return self._finish_contributions(values, X, forest)

    def _finish_contributions(
        self,
        values: Any,
        rows: Any,  # noqa: ARG002 - effects need the arguments
        forest: Forest,  # noqa: ARG002
    ) -> Any:
        """Return contributions to the values of trees as contributions to what is predicted."""
        return values

    def _show_explaining(self) -> AbstractContextManager[Callable[[int], None] | None]:
        """Return a context that shows the trees that are finished, if the user wants it."""
        verbose = int(getattr(self, "verbose", 0))
        return show_progress(verbose, 0, len(self._get_forest()), "explaining")

    def _shape_explanation(self, values: Any) -> Any:
        """Give values of all outputs and classes, in the last place, the form that users expect."""
        is_list = isinstance(values, list)
        n_values = len(values) if is_list else values.shape[-1]
        if self._task != "classification":
            if n_values == 1:
                return values[0] if is_list else values[..., 0]
            return values
        if self.n_outputs_ == 1:
            return values
        n_each = n_values // self.n_outputs_
        parts = enumerate(np.atleast_1d(self.n_classes_))
        return [
            values[first : first + n] if is_list else values[..., first : first + n]
            for first, n in ((output * n_each, int(n)) for output, n in parts)
        ]

    @abstractmethod
    def _get_forest(self) -> Forest:
        """Return the trees."""

    @abstractmethod
    def _validate_X_predict(self, X: Any, check_input: bool = True) -> Any:
        """Return X in the form that the compiled part takes."""

    @abstractmethod
    def _count_threads(self) -> int:
        """Return the number of threads."""

    classes_: Classes
    n_classes_: int | NDArray[np.int64]


def _import_shap() -> Any:
    try:
        import shap
    except ImportError as error:
        raise ImportError(
            "to_shap makes an object of shap, which is not installed: pip install shap"
        ) from error
    return shap
