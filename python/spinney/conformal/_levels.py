"""What all conformal models share: the forest, and the levels."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import Tags

from spinney._base.saving import Stored, StoredTrees
from spinney._common.checks import is_bool
from spinney._common.documentation import DocumentedEstimator
from spinney._common.messages import reject_parameter
from spinney.conformal._models import get_forest

if TYPE_CHECKING:
    from typing_extensions import Self


class Conformal(Stored, DocumentedEstimator):
    """Base class of the models whose intervals or sets cover as often as they say."""

    estimator: Any
    confidence_level: Any

    # What messages call the predictions that cover: intervals or sets.
    _predicts: ClassVar[str]

    estimator_: Any
    n_features_in_: int

    # How many rows each score counts as; None if each counts once.
    _copies: NDArray[np.float64] | None = None

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    def _read_levels(self) -> list[float]:
        """Return the confidence levels."""
        given = self.confidence_level
        levels = [given] if np.ndim(given) == 0 else list(given)
        for level in levels:
            is_legal = isinstance(level, Real) and not is_bool(level) and 0.0 < float(level) < 1.0
            if not is_legal:
                expected = "a float in the range (0.0, 1.0), or a list of such floats"
                reject_parameter(type(self).__name__, "confidence_level", given, expected)
        if not levels:
            reject_parameter(type(self).__name__, "confidence_level", given, "one level or more")
        return [float(level) for level in levels]

    def _make_forest(self, default: Callable[[], Any], kinds: tuple[type, ...]) -> Any:
        """Return a forest that is not fitted."""
        if self.estimator is None:
            return default()
        if not isinstance(get_forest(self.estimator), kinds):
            names = " or ".join(kind.__name__ for kind in kinds)
            expected = (
                f"None, an estimator of spinney.ensemble that is a {names}, or a Pipeline that "
                "ends in one"
            )
            reject_parameter(type(self).__name__, "estimator", self.estimator, expected)
        return clone(self.estimator)

    def _count_features(self, X: Any) -> int:
        """Return the number of features of the data; a pipeline may not know it."""
        n_features: int = getattr(self.estimator_, "n_features_in_", None) or np.shape(X)[1]
        return n_features

    def _check_one_output(self, forest: Any) -> None:
        if forest.n_outputs_ > 1:
            raise ValueError(
                f"{self._predicts} are of one output. Got {forest.n_outputs_} of them."
            )

    def _check_levels(
        self, n_scores: int, copies: NDArray[np.float64] | None, n_sides: int = 1
    ) -> None:
        """Raise ValueError for levels that need more than `n_scores` scores, copies counted.

        `n_sides` is the number of sides on which a score at least must be outside.
        """
        n = count_scores(n_scores, copies)
        for level in self._read_levels():
            if find_mass(level, n) > n + 1 - n_sides:
                most = (n + 1 - n_sides) / (n + 1)
                raise ValueError(
                    f"confidence_level={level} needs at least "
                    f"{math.ceil(n_sides / (1 - level) - 1 - 1e-9)} samples out of bag, of "
                    f"folds or held out; with {n:g} the level is at most {most:.4g}."
                )

    def _find_fault(self, forest: Any) -> str | None:  # noqa: ARG002 - there are no own trees
        forests = [self.estimator_, *getattr(self, "estimators_", [])]
        for own in forests:
            if not isinstance(own, StoredTrees) or own.n_outputs_ != 1:
                return "an estimator that is no forest of one output"
            if own.n_features_in_ != self.n_features_in_:
                return f"n_features_in_ is {self.n_features_in_} for forests of other features"
        return None


class BagConformal(Conformal):
    """Base class of the models of one forest, whose scores are out of bag."""

    @abstractmethod
    def fit_conformalize(
        self, X: Any, y: Any, sample_weight: Any = None, samples: Any = None
    ) -> Self:
        """Grow the forest, and find out how it does on targets that trees have not seen."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, samples: Any = None) -> Self:
        """Do what `fit_conformalize` does, under the name that scikit-learn calls."""
        return self.fit_conformalize(X, y, sample_weight, samples)


class FoldConformal(Conformal):
    """Base class of the models of several forests, whose scores are of folds."""

    @abstractmethod
    def fit_conformalize(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> Self:
        """Grow the forests, and find out how they do on the targets of their folds."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Do what `fit_conformalize` does, under the name that scikit-learn calls."""
        return self.fit_conformalize(X, y, sample_weight, groups)


def count_scores(n_scores: float, copies: NDArray[np.float64] | None) -> float:
    """Return the number of scores, copies counted."""
    return n_scores if copies is None else float(copies.sum())


def find_mass(level: float, n: float) -> float:
    """Return how many of `n` ordered scores there must be up to the bound for a level."""
    # Rounding must not cost a score: 0.9 of 10 is 9.
    return level * (n + 1) - 1e-9
