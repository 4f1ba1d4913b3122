"""What survival models share: parameters, targets, and the training samples in leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from spinney._common.blocks import divide_rows, join_blocks
from spinney._common.checks import check_int, is_bool
from spinney._data.arrays import to_rows
from spinney._fit.draws import Draws, UnseenTrees
from spinney._fit.leaf_rows import LeafRows, list_leaf_rows, refuse_other_samples
from spinney._fit.survival import SurvivalTarget
from spinney._fit.target import EncodedTarget
from spinney._fit.task import Settings, Task
from spinney._spinney import Forest, predict_leaf_curves
from spinney.survival._curves import SurvivalCurves
from spinney.survival._explained import ExplainedCurves

if TYPE_CHECKING:
    from typing_extensions import Self


class SurvivalModel(SurvivalTarget, SurvivalCurves):
    """Base class of the survival models."""

    low_memory: Any
    min_events_leaf: Any
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
            check_int(type(self).__name__, "cause", self.cause, 1, end=2**63)

    def _make_task(self, settings: Settings, target: EncodedTarget) -> Task:
        task: Task = super()._make_task(settings, target)  # type: ignore[misc]
        cause = None if self.cause is None else int(self.cause)
        return task._replace(survival=True, cause=cause)

    def _read_data(
        self, settings: Settings, X: Any, y: Any, *arguments: Any, **others: Any
    ) -> tuple[Any, Task, Draws]:
        X, task, draws = super()._read_data(  # type: ignore[misc]
            settings, X, y, *arguments, **others
        )
        self._learn_times(task.target.y[:, ::-1], draws)
        return X, task, draws


class SurvivalForest(SurvivalModel):
    """Base class of the survival forests, grown and lazy ones."""

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        sample_ids: Any = None,
        samples: Any = None,
        groups: Any = None,
    ) -> Self:
        """Fit the forest: grow its trees or, for a lazy forest, encode the training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples: numbers of any real dtype, in any memory order or sparse format.
            Values are compared as float64. An entry that a sparse matrix does not store is 0. NaN
            is a missing value; so are None and NA in data frames. Columns of categorical features
            may hold strings or other values that can be sorted.
        y : structured array, data frame or pair of arrays
            Events and times: a structured array of an event (bool) and a time, a data frame or an
            array of these two columns, or a pair (events, times). An event is a bool, or the number
            of its cause, 0 for a censored time. Times are finite and not negative.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. None means 1 for all. Samples with weight 0 have no influence.
            With `bootstrap=True` and `replace=True` a sample is drawn with a probability
            proportional to its weight, and trees weigh it by the number of its draws, as in
            scikit-learn. Otherwise trees weigh samples by these weights, multiplied by the counts
            of `bootstrap="poisson"`.
        sample_ids : array-like of int of shape (n_samples,), default=None
            Non-negative ids of the samples, which need not be distinct. None means the row numbers.
            With `bootstrap="poisson"` the count of a sample in a tree is determined by its id, the
            number of the tree and `random_state`. Forests on parts of one data set therefore give a
            sample the same count if it has the same id. Not allowed otherwise.
        samples : list of array-like, ndarray or sparse matrix, default=None
            The samples of each tree, where `bootstrap=True` is not to draw them: blocks, groups or
            windows of time. A list with an array of indices (repeated for samples that count
            several times), or a mask, for each of the `n_estimators` trees; or an array or sparse
            matrix of counts of shape (n_estimators, n_samples). Trees weigh samples by
            `sample_weight` times the count. Samples that a tree does not get are out of bag for it.
            With `warm_start`, give the samples of all trees, including those that are already
            grown.
        groups : array-like of shape (n_samples,), default=None
            The group of each sample, such as a patient or a week, whose samples depend on each
            other. Trees draw whole groups, all with the same chance, and weigh their samples by
            `sample_weight` times the number of draws; `max_samples` counts groups, and
            `bootstrap="poisson"` has one count for each. Parts of honest trees, samples out of bag
            and standard errors are of whole groups, too.

        Returns
        -------
        self : object
        """
        forest: Self = super().fit(  # type: ignore[misc]
            X, y, sample_weight, sample_ids, samples, groups
        )
        return forest

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the risk of each sample: the expected number of events.

        It is the sum of the cumulative hazard at all `event_times_`: the higher it is, the earlier
        the event is expected.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        risks : ndarray of shape (n_samples,)
        """
        values: NDArray[np.float64] = self._predict_values(X)  # type: ignore[attr-defined]
        return values[:, 0]


class StoredSurvivalModel(ExplainedCurves, SurvivalModel):
    """Base class of the survival models that store trees and the training samples of leaves."""

    # In the order of times.
    _leaf_rows: LeafRows
    _events: NDArray[np.uint32]

    def _learn_leaves(
        self,
        X: Any,
        target: EncodedTarget,
        draws: Draws,
        n_threads: int,
        known: LeafRows | None = None,
    ) -> None:
        times, events = target.y.T
        forest: Forest = self._get_forest()  # type: ignore[attr-defined]
        rows = list_leaf_rows(
            forest, to_rows(X), draws, np.ascontiguousarray(times[:, None]), None, n_threads
        )
        sorted_events = events[rows.order].astype(np.uint32)
        if known is not None:
            rows.check_alike(known)
            if not np.array_equal(sorted_events, self._events):
                refuse_other_samples("y")
        self._leaf_rows, self._events = rows, sorted_events

    def _predict_curves(
        self, X: Any, at: NDArray[np.float64], curve: str | int, oob_score: bool
    ) -> NDArray[np.float64]:
        rows = self._validate_X_predict(X)  # type: ignore[attr-defined]
        n_threads = self._count_threads()  # type: ignore[attr-defined]
        forest: Forest = self._get_forest()  # type: ignore[attr-defined]
        unseen = self._find_unseen(rows.shape[0], n_threads) if oob_score else None
        curves = (
            self._find_curves(
                self._leaf_rows,
                forest.apply(rows, n_threads, block),
                at,
                curve,
                None if unseen is None else unseen.of_rows(block),
            )
            for block in divide_rows(rows.shape[0], len(forest))
        )
        return join_blocks(rows.shape[0], curves)

    def _find_unseen(self, n_rows: int, n_threads: int) -> UnseenTrees:  # noqa: ARG002
        """Return which trees have not seen each training sample."""
        refuse_oob_score(self)

    def _find_curves(
        self,
        rows: LeafRows,
        leaves: NDArray[np.int64],
        at: NDArray[np.float64],
        curve: str | int,
        counts: NDArray[np.uint8] | None = None,
    ) -> NDArray[np.float64]:
        """Return the curves of the trees that count; of all if `counts` is None."""
        n_threads = self._count_threads()  # type: ignore[attr-defined]
        return predict_leaf_curves(rows, leaves, counts, self._events, at, curve, n_threads)

    def _find_curves_of_tree(
        self, number: int, leaves: NDArray[np.int64], at: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the survival at some times in some leaves of a tree."""
        rows = self._leaf_rows.of_tree(number)
        return self._find_curves(rows, leaves[:, None], at, "survival")

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


def refuse_oob_score(model: Any) -> NoReturn:
    """Raise ValueError for a model without trees that have not seen a training sample."""
    raise ValueError(
        "oob_score=True needs a grown forest, which knows the samples that each tree has not seen, "
        f"such as RandomSurvivalForest. Got {type(model).__name__}."
    )
