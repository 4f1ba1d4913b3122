"""What is expected of outcomes and treatments: by forests, estimators, or what a caller knows."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GroupKFold, KFold
from sklearn.utils.validation import has_fit_parameter

from spinney._common.checks import is_bool
from spinney._common.rows import take_rows
from spinney._fit.draws import Draws
from spinney._fit.task import Task
from spinney._spinney import list_tree_seeds
from spinney.causal._arguments import read_numbers
from spinney.causal._bags import Units, draw_bootstraps
from spinney.causal._growth import Source
from spinney.dataset import Dataset

# Bags that are held at once, in rows.
_ROWS_AT_ONCE = 2**24


class Centring(NamedTuple):
    """The rows and how their expectations are found."""

    X: Any
    """As it was given, for estimators."""
    source: Source
    """Encoded, for our forests."""
    task: Task
    """Without a target."""
    units: Units
    weights: NDArray[np.float64] | None
    n_trees: int
    cv: int

    def expect(
        self, model: Any, name: str, target: NDArray[np.float64], seed: int
    ) -> NDArray[np.float64]:
        """Return what is expected of each row, by what has not seen it; NaN if it has no weight.

        Parameters
        ----------
        model : None, float, array-like or estimator
            None: forests. A number or an array: known. An estimator: cross-fitted.
        name : str
            Of the parameter.
        target : ndarray of shape (n_samples,)
        seed : int
        """
        if model is None:
            expected = self._predict_oob(target, seed)
        elif hasattr(model, "fit") and not isinstance(model, type):
            expected = self._cross_fit(model, name, target, seed)
        elif np.ndim(model) == 0:
            is_number = isinstance(model, Real) and not is_bool(model)
            if not (is_number and np.isfinite(float(model))):
                raise ValueError(
                    f"{name} must be None, a finite number, an array-like of a value for each "
                    f"sample, or an estimator. Got {model!r}."
                )
            expected = np.full(len(target), float(model))
        else:
            expected = read_numbers(model, name, len(target))
        expected[self.units.groups < 0] = np.nan
        return expected

    def _predict_oob(self, target: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
        n_samples = len(target)
        task = self.task._replace(y=np.ascontiguousarray(target.reshape(-1, 1)), seed=seed)
        sums, n_trees = np.zeros(n_samples), np.zeros(n_samples)
        step = max(1, _ROWS_AT_ONCE // n_samples)
        for first in range(0, self.n_trees, step):
            n_new = min(step, self.n_trees - first)
            seeds = list_tree_seeds(seed, first, n_new)
            rows = draw_bootstraps(self.units, seeds)
            draws = Draws("given", n_samples, 1, None, self.weights, None, given=rows)
            forest = self.source.grow(task, draws, first, n_new)[0]
            values, n_unseen = forest.sum_oob(self.source.columns, draws, task.n_threads)
            sums += values[:, 0]
            n_trees += n_unseen
        seen = int(np.count_nonzero((n_trees == 0) & (self.units.groups >= 0)))
        if seen:
            raise ValueError(
                f"All trees that centre the data have seen {seen} of the samples. Set a larger "
                "n_estimators, or pass model_y and model_t."
            )
        return sums / n_trees

    def _cross_fit(
        self, model: Any, name: str, target: NDArray[np.float64], seed: int
    ) -> NDArray[np.float64]:
        if isinstance(self.X, Dataset):
            raise TypeError(
                f"{name}={model!r} cannot be fitted to a Dataset. Pass X itself, or what the "
                f"estimator expects as {name}."
            )
        is_drawn = self.units.groups >= 0
        rows = np.flatnonzero(is_drawn)
        is_grouped = self.units.n_units < len(rows)
        groups = self.units.groups[rows] if is_grouped else None
        random_state = seed % 2**32
        folds = (
            GroupKFold(self.cv)
            if is_grouped
            else KFold(self.cv, shuffle=True, random_state=random_state)
        )
        if is_grouped and self.units.n_units < self.cv:
            raise ValueError(f"cv must be at most the {self.units.n_units} groups. Got {self.cv}.")
        if self.weights is not None and not has_fit_parameter(model, "sample_weight"):
            raise ValueError(
                f"{name} must take sample_weight in fit, because there are weights. "
                f"Got {type(model).__name__}."
            )
        expected = np.full(len(target), np.nan)
        for train, test in folds.split(rows, groups=groups):
            fitted = clone(model)
            train, test = rows[train], rows[test]
            more = {} if self.weights is None else {"sample_weight": self.weights[train]}
            fitted.fit(take_rows(self.X, train), target[train], **more)
            asked = take_rows(self.X, test)
            if is_classifier(fitted):
                shares = fitted.predict_proba(asked)
                expected[test] = shares @ np.asarray(fitted.classes_, dtype=np.float64)
            else:
                expected[test] = np.ravel(fitted.predict(asked))
        return expected
