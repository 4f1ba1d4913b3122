"""What the survival models with stored trees share: the training samples in their leaves."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from spinney._common.checks import check_int, is_bool
from spinney._data.arrays import to_rows
from spinney._fit.draws import Draws
from spinney._fit.leaf_rows import LeafRows, list_leaf_rows
from spinney._fit.survival import SurvivalTarget
from spinney._fit.target import EncodedTarget
from spinney._fit.task import Settings, Task
from spinney._spinney import Forest, predict_leaf_curves
from spinney.survival._curves import SurvivalCurves


class SurvivalModel(SurvivalTarget, SurvivalCurves):
    """Base class of the survival models."""

    low_memory: Any
    # Log-rank statistics are no impurities, and curves have no one direction.
    min_impurity_decrease: Any = 0.0
    monotonic_cst: Any = None
    # Risks are sums over the event times of a training set.
    _shares_folds = False

    def _check_own_params(self) -> None:
        super()._check_own_params()  # type: ignore[misc]
        if not is_bool(self.low_memory):
            self._reject("low_memory", "a bool")  # type: ignore[attr-defined]
        if self.cause is not None:
            check_int(type(self).__name__, "cause", self.cause, 1)

    def _make_task(self, settings: Settings, target: EncodedTarget) -> Task:
        task: Task = super()._make_task(settings, target)  # type: ignore[misc]
        return task._replace(cause=None if self.cause is None else int(self.cause))

    def _read_data(
        self, settings: Settings, X: Any, y: Any, *arguments: Any, **others: Any
    ) -> tuple[Any, Task, Draws]:
        X, task, draws = super()._read_data(  # type: ignore[misc]
            settings, X, y, *arguments, **others
        )
        self._learn_times(task.target.y[:, ::-1], draws)
        return X, task, draws


class StoredSurvivalModel(SurvivalModel):
    """Base class of the survival models that store trees and the training samples of leaves."""

    # In the order of times.
    _leaf_rows: LeafRows
    _events: NDArray[np.uint32]

    def _learn_leaves(self, X: Any, target: EncodedTarget, draws: Draws, n_threads: int) -> None:
        times, events = target.y.T
        forest: Forest = self._get_forest()  # type: ignore[attr-defined]
        self._leaf_rows = list_leaf_rows(
            forest, to_rows(X), draws, np.ascontiguousarray(times[:, None]), None, n_threads
        )
        self._events = events[np.argsort(times, kind="stable")].astype(np.uint32)

    def _predict_curves(
        self, X: Any, at: NDArray[np.float64], curve: str | int
    ) -> NDArray[np.float64]:
        rows = self._validate_X_predict(X)  # type: ignore[attr-defined]
        n_threads = self._count_threads()  # type: ignore[attr-defined]
        leaves = self._get_forest().apply(rows, n_threads)  # type: ignore[attr-defined]
        return predict_leaf_curves(
            self._leaf_rows, leaves, None, self._events, at, curve, n_threads
        )

    def _restore(self, attributes: dict[str, Any], forest: Forest) -> str | None:
        fault: str | None = super()._restore(attributes, forest)  # type: ignore[misc]
        rows: Any = getattr(self, "_leaf_rows", None)
        events: Any = getattr(self, "_events", None)
        is_sound = (
            isinstance(rows, LeafRows)
            and rows.is_sound()
            and isinstance(events, np.ndarray)
            and events.dtype == np.uint32
            and events.shape == rows.values.shape[1:]
        )
        return fault if is_sound else "the rows of leaves"

    def _convert_to_sklearn(self) -> NoReturn:
        raise TypeError(f"scikit-learn has no survival models, as {type(self).__name__} is one.")
