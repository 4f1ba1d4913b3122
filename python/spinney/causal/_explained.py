"""What the features contribute to an effect, and how it depends on a few of them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from spinney._data.arrays import to_rows
from spinney._explain.dependence import PartialDependence
from spinney._explain.shap import ShapValues
from spinney._spinney import Forest, forest_expected_value
from spinney.causal._effects import EffectPredictions
from spinney.causal._moments import find_effects, find_weights


class ExplainedEffects(EffectPredictions, PartialDependence, ShapValues):
    """Base class of the forests of effects, which are explained.

    Moments are means over trees, so that the exact contributions of features to them are known.
    The effect is a quotient of moments. Let a and b be the effect and the intercept if nothing is
    known of a sample. Its own effect solves the two equations of a regression: with its moments,
    the effect is a + (s (WY - a WW - b W) - W (Y - a W - b s)) / (s WW - W W). The brackets are
    linear in moments, and 0 for the moments that a and b come from. So the contributions to
    moments, with these factors, add up to the effect.
    """

    _explained: ClassVar[tuple[str, str]] = ("effect", "predict")
    n_outputs_: ClassVar[int] = 1  # type: ignore[misc]

    @property
    def expected_value_(self) -> float:
        """The effect if nothing is known of a sample.

        With the contributions of `shap_values` it adds up to the effect.

        Returns
        -------
        expected : float
        """
        return float(find_effects(self._expect_moments())[0])

    def _expect_moments(self) -> NDArray[np.float64]:
        check_is_fitted(self)
        return forest_expected_value(self.forest_, self._count_threads())[np.newaxis]

    def shap_values(self, X: Any, *, interactions: bool = False) -> Any:
        """Explain effects by the contributions of the features.

        The contributions of all features and `expected_value_` add up to what `predict` returns.
        They say what the effect differs by from that of a sample of which nothing is known; not
        what the outcome differs by.

        An effect is the slope of a regression, in the moments that the forest predicts. The
        contributions to each moment are exact, path-dependent SHAP values. They are added up with
        the factors that turn a difference of moments into one of effects, at the sample: the
        regression is linear in them, but for its denominator, which is that of the sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        interactions : bool, default=False
            Whether to divide the contributions of each feature among its pairs with the others.

        Returns
        -------
        values : ndarray or CSR matrix of shape (n_samples, n_features)
            float64. A CSR matrix if `X` is sparse. Interactions have a second axis of features
            behind the first, also for sparse `X`.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError, TypeError
            If `X` is illegal. The message says how.
        MemoryError
            If the contributions need more memory than there is.
        """
        return super().shap_values(X, interactions=interactions)

    def _finish_contributions(self, values: Any, rows: Any, forest: Forest) -> Any:
        """Return contributions to moments as contributions to effects."""
        moments = forest.predict(to_rows(rows), self._count_threads())
        weights = find_weights(moments, self._expect_moments())
        if not isinstance(values, list):
            found = np.einsum("i...k,ik->i...", values, weights)
            return found[..., np.newaxis]
        pairs = zip(weights.T, values, strict=True)
        parts = (sparse.diags(of_moment) @ part for of_moment, part in pairs)
        total = sum(parts, start=values[0] * 0.0)
        found = type(values[0])(total)
        found.sum_duplicates()
        found.eliminate_zeros()
        return [found]

    def _average_over_others(
        self, features: Any, points: NDArray[np.float64], forest: Forest | None = None
    ) -> NDArray[np.float64]:
        moments = super()._average_over_others(features, points, forest)
        return find_effects(moments)[:, np.newaxis]

    def _predict_dependent(self, rows: Any, forest: Forest) -> NDArray[np.float64]:
        """Return what the dependence on features is shown of, of shape (n_samples, 1)."""
        return find_effects(forest.predict(rows, self._count_threads()))[:, np.newaxis]

    def _describe_agreement(self, rows: Any) -> str:
        """Return how sure the effect of a sample is, in words."""
        low, high = (bound[0] for bound in self.predict_interval(rows))
        return f"95 % interval {low:.3g} to {high:.3g}"
