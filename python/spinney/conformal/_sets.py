"""What the classifiers with sets share: scores of classes, and which classes a set has."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spinney._common.blocks import divide_rows
from spinney._common.messages import reject_parameter
from spinney._common.sklearn_base import ClassifierMixin
from spinney.conformal._levels import Conformal, count_scores, find_mass
from spinney.conformal._models import get_forest

ProbabilitiesWithout = Callable[[tuple[int, int]], Callable[[tuple[int, int]], NDArray[np.float64]]]

# Numbers of a block of query rows, one for each training sample and class, that are held at once.
_NUMBERS_AT_ONCE = 2**22
_SCORES = ("lac", "aps")


class ConformalClassifier(ClassifierMixin, Conformal):
    """Base class of the classifiers that predict sets of classes."""

    conformity_score: Any

    _predicts: ClassVar[str] = "Sets"

    conformity_scores_: NDArray[np.float64]

    @property
    def classes_(self) -> NDArray[Any]:
        """The class labels, sorted."""
        classes: NDArray[Any] = get_forest(self.estimator_).classes_
        return classes

    def _check_score(self) -> None:
        if not isinstance(self.conformity_score, str) or self.conformity_score not in _SCORES:
            expected = "a str among {'lac', 'aps'}"
            reject_parameter(
                type(self).__name__, "conformity_score", self.conformity_score, expected
            )

    def _score_classes(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how little each class conforms, given probabilities along the last axis."""
        if self.conformity_score == "lac":
            return 1.0 - probabilities
        order = np.argsort(-probabilities, axis=-1, kind="stable")
        sums = np.cumsum(np.take_along_axis(probabilities, order, axis=-1), axis=-1)
        scores = np.empty_like(sums)
        np.put_along_axis(scores, order, sums, axis=-1)
        return scores

    def _score_known(
        self, probabilities: NDArray[np.float64], codes: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Return the scores of the classes that samples have."""
        scores = self._score_classes(probabilities)
        known: NDArray[np.float64] = scores[np.arange(codes.shape[0]), codes]
        return known

    # --- Predictions ----------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each sample, by the forest of all training samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        labels: NDArray[Any] = self.estimator_.predict(X)
        return labels

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of samples whose class is predicted, as the forest does.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        score : float
            The share, by weight.
        """
        check_is_fitted(self)
        score: float = self.estimator_.score(X, y, sample_weight)
        return score

    def predict_set(self, X: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Predict the class of each sample, and a set of classes that has it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            What `predict` returns.
        sets : ndarray of bool of shape (n_samples, n_classes, n_levels)
            Whether the set of a level has a class of `classes_`. A set may be empty: no class
            conforms.
        """
        check_is_fitted(self)
        levels = self._read_levels()
        n, copies = self.conformity_scores_.shape[0], self._copies
        self._check_levels(n, copies)
        masses = np.array([find_mass(level, count_scores(n, copies)) for level in levels])
        return self.predict(X), self._count_less(X)[..., None] < masses

    @abstractmethod
    def _count_less(self, X: Any) -> NDArray[np.float64]:
        """Return how many scores, copies counted, are less than those that classes would have.

        Returns
        -------
        n_less : ndarray of shape (n_samples, n_classes)
        """


class PlusClassifier(ConformalClassifier):
    """Base class of those whose scores are of several models, each compared with its own model."""

    def _count_less(self, X: Any) -> NDArray[np.float64]:
        known, copies = self.conformity_scores_, self._copies
        n, n_classes = known.shape[0], len(self.classes_)
        find_probabilities, n_samples = self._list_probabilities_without(X)
        counts = np.zeros((n_samples, n_classes))
        step = max(1, _NUMBERS_AT_ONCE // (n * n_classes))
        for start in range(0, n_samples, step):
            block = start, min(start + step, n_samples)
            find_without = find_probabilities(block)
            n_less = counts[slice(*block)]
            for training in divide_rows(n, (block[1] - start) * n_classes):
                scores = self._score_classes(find_without(training))
                own = slice(*training)
                # Rounding must not part scores that are equal.
                is_less = known[own, None, None] < scores - 1e-12
                weights = np.ones(scores.shape[0]) if copies is None else copies[own]
                n_less += np.tensordot(weights, is_less, axes=(0, 0))
        return counts

    @abstractmethod
    def _list_probabilities_without(self, X: Any) -> tuple[ProbabilitiesWithout, int]:
        """Return probabilities by models that have not seen a training sample.

        Returns
        -------
        probabilities : callable
            Returns, for a block of query rows, a function that returns them for a block of scores,
            of shape (n_scores, n_rows, n_classes).
        n_samples : int
            Number of query rows.
        """
