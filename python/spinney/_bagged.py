"""What forests share whether their trees are grown or not: samples, targets, predictions."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from spinney._arrays import to_native
from spinney._base import BaseTreeEstimator
from spinney._draws import Draws, number_of_draws, number_of_rows
from spinney._messages import warn_caller
from spinney._target import ClassTarget, EncodedTarget, NumberTarget
from spinney._validation import check_sample_ids, is_bool


class BaseBaggedTrees(BaseTreeEstimator):
    """Base class of what predicts by the mean of many trees; not for direct use."""

    def _check_sampling_params(self) -> None:
        if not isinstance(self.n_estimators, Integral) or self.n_estimators < 1:
            self._reject("n_estimators", "an int in the range [1, inf)")
        if not (is_bool(self.bootstrap) or self.bootstrap == "poisson"):
            self._reject("bootstrap", "a bool or 'poisson'")
        if not is_bool(self.replace):
            self._reject("replace", "a bool")
        self._checked_verbose()
        self._check_max_samples()

    def _checked_verbose(self) -> int:
        if not isinstance(self.verbose, (Integral, np.bool_)) or self.verbose < 0:
            self._reject("verbose", "an int in the range [0, inf) or a bool")
        return int(self.verbose)

    def _check_max_samples(self) -> None:
        drawing = is_drawing(self.bootstrap)
        if self.max_samples is None:
            legal = True
        elif isinstance(self.max_samples, Integral):
            legal = int(self.max_samples) >= 1
        else:
            legal = isinstance(self.max_samples, Real) and 0.0 < float(self.max_samples) < np.inf
        if not legal:
            expected = "an int in the range [1, inf), a float in the range (0.0, inf) or None"
            self._reject("max_samples", expected)
        if not drawing and self.max_samples is not None:
            raise ValueError(
                f"`max_sample` cannot be set if `bootstrap={self.bootstrap!r}`. "
                "Either switch to `bootstrap=True` or set `max_sample=None`."
            )
        if not drawing and not self.replace:
            self._reject("replace", "True unless bootstrap=True")

    def _read(
        self, X: Any, y: Any, sample_weight: Any, sample_ids: Any
    ) -> tuple[Any, EncodedTarget, Draws, list[int] | None]:
        """Return what `fit` is given as the compiled part wants it; the last are constraints."""
        X, y = self._read_X_y(X, y)
        n_samples = X.shape[0]
        if sample_ids is not None:
            sample_ids = check_sample_ids(sample_ids, n_samples)
        target, weights = self._check_target(y, sample_weight)
        constraints = self._constraints(target)
        draws = self._resolve_draws(n_samples, weights, sample_ids)
        return to_native(X), target, draws, constraints

    def _read_X_y(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        if sparse.issparse(y):
            raise ValueError("sparse multilabel-indicator for y is not supported.")
        X, y = self._validate_X_y(X, y)
        if y.ndim == 2 and y.shape[1] == 1:
            warn_caller(
                "A column-vector y was passed when a 1d array was expected. Please change the "
                "shape of y to (n_samples,), for example using ravel().",
                DataConversionWarning,
            )
        return X, self._remember_shape(X, y)

    def _resolve_draws(
        self,
        n_samples: int,
        weights: NDArray[np.float64] | None,
        sample_ids: NDArray[np.uint64] | None,
    ) -> Draws:
        n_draws = None
        if not is_drawing(self.bootstrap):
            scheme = "poisson" if self.bootstrap else "all"
        elif self.replace:
            scheme = "with replacement"
            n_draws = number_of_draws(self.max_samples, n_samples, weights)
        else:
            scheme = "without replacement"
            n_draws = number_of_rows(self.max_samples, n_samples, weights)
        return Draws(scheme, n_samples, self.n_outputs_, n_draws, weights, sample_ids)

    def _balances_subsamples(self) -> bool:
        """Return whether classes are balanced in the sample of each tree."""
        return False

    @abstractmethod
    def _predict_values(self, X: Any) -> NDArray[np.float64]:
        """Return means over the trees; (n_samples, n_values), or one axis more for outputs."""


class BaggedClassifier(ClassTarget, BaseBaggedTrees):
    """Base class of the forests that classify; not for direct use."""

    def _class_weights(
        self,
        y: NDArray[Any],
        codes: NDArray[np.uint32],
        sample_weight: NDArray[np.float64] | None,
    ) -> NDArray[np.float64] | None:
        if self.class_weight is None or isinstance(self.class_weight, (dict, list)):
            return self._given_class_weights(y)
        presets = ("balanced", "balanced_subsample")
        if not isinstance(self.class_weight, str) or self.class_weight not in presets:
            expected = "a str among {'balanced', 'balanced_subsample'}, a dict, a list or None"
            self._reject("class_weight", expected)
        if getattr(self, "warm_start", False):
            warn_caller(
                'class_weight presets "balanced" or "balanced_subsample" are not recommended for '
                "warm_start if the fitted data differs from the full dataset. In order to use "
                '"balanced" weights, use compute_class_weight("balanced", classes, y). In place of '
                "y you can use a large enough sample of the full training set target to properly "
                "estimate the class frequency distributions. Pass the resulting weights as the "
                "class_weight parameter."
            )
        return None if self._balances_subsamples() else balanced_weights(codes, sample_weight)

    def _balances_subsamples(self) -> bool:
        # On all samples it is "balanced".
        return bool(self.bootstrap) and self.class_weight == "balanced_subsample"

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each sample: the one of the largest mean probability.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; CSC is converted to CSR.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Class labels. Of equally probable classes, the first in `classes_`.
        """
        return self._labels(self._predict_values(X))

    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each class: the mean of what the trees predict.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; CSC is converted to CSR.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes), or list of one such array per output
            Columns in the order of `classes_`.
        """
        return self._probabilities(self._predict_values(X))


class BaggedRegressor(NumberTarget, BaseBaggedTrees):
    """Base class of the forests that predict numbers; not for direct use."""

    _wanted_sum: ClassVar[str] = "strictly positive"

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the target of each sample: the mean of what the trees predict.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; CSC is converted to CSR.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Means, float64.
        """
        return self._predict_values(X)[..., 0]


def is_drawing(bootstrap: Any) -> bool:
    """Return whether samples are drawn, rather than all taken or counted by Poisson draws."""
    return bool(bootstrap) and not isinstance(bootstrap, str)


def balanced_weights(
    codes: NDArray[np.uint32], sample_weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return weights per sample that make the classes weigh the same, as in scikit-learn 1.9.

    Parameters
    ----------
    codes : ndarray of shape (n_samples, n_outputs)
        Classes, of which each occurs.
    sample_weight : ndarray of shape (n_samples,) or None
        Counted in, so that the products of both weigh the same.
    """
    product = np.ones(codes.shape[0])
    for column in codes.T:
        totals = np.bincount(column, weights=sample_weight)
        # A class without weight has no say.
        factors = np.zeros_like(totals, dtype=np.float64)
        np.divide(totals.sum(), totals.shape[0] * totals, out=factors, where=totals > 0)
        product *= factors[column]
    return product
