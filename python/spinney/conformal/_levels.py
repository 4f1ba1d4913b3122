"""What all conformal models share: the forest, and the levels."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import Tags

from spinney._base.saving import Stored, StoredTrees
from spinney._common.checks import is_bool
from spinney._common.documentation import DocumentedEstimator
from spinney._common.messages import reject_parameter

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

    @abstractmethod
    def fit_conformalize(self, X: Any, y: Any) -> Self:
        """Fit the forest, and find out how it does on targets that it has not seen."""

    def fit(self, X: Any, y: Any) -> Self:
        """Do what `fit_conformalize` does, under the name that scikit-learn calls."""
        return self.fit_conformalize(X, y)

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
        if not isinstance(self.estimator, kinds):
            names = " or ".join(kind.__name__ for kind in kinds)
            expected = f"None or an estimator of spinney.ensemble that is a {names}"
            reject_parameter(type(self).__name__, "estimator", self.estimator, expected)
        return clone(self.estimator)

    def _check_one_output(self, forest: Any) -> None:
        if forest.n_outputs_ > 1:
            raise ValueError(
                f"{self._predicts} are of one output. Got {forest.n_outputs_} of them."
            )

    def _check_levels(self, n_scores: int, n_sides: int = 1) -> None:
        """Raise ValueError for levels that need more than `n_scores` scores.

        `n_sides` is the number of sides on which a score at least must be outside.
        """
        for level in self._read_levels():
            if find_rank(level, n_scores) > n_scores + 1 - n_sides:
                most = (n_scores + 1 - n_sides) / (n_scores + 1)
                raise ValueError(
                    f"confidence_level={level} needs at least "
                    f"{math.ceil(n_sides / (1 - level) - 1 - 1e-9)} samples out of bag or of "
                    f"folds; with {n_scores} the level is at most {most:.4g}."
                )

    def _find_fault(self, forest: Any) -> str | None:  # noqa: ARG002 - there are no own trees
        forests = [self.estimator_, *getattr(self, "estimators_", [])]
        for own in forests:
            if not isinstance(own, StoredTrees) or own.n_outputs_ != 1:
                return "an estimator that is no forest of one output"
            if own.n_features_in_ != self.n_features_in_:
                return f"n_features_in_ is {self.n_features_in_} for forests of other features"
        return None


def find_rank(level: float, n: int) -> int:
    """Return which of `n` ordered scores, counted from 1, is the bound for a level."""
    # Rounding must not cost a rank: 0.9 of 10 is 9.
    return max(math.ceil(level * (n + 1) - 1e-9), 1)
