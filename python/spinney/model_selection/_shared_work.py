"""The shared work of a cross-validation: all folds are predicted in one call of the compiled part.

scikit-learn's functions then score the folds, with an estimator that looks predictions up. So
scores, errors and orders of classes are scikit-learn's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from spinney._base.estimator import BaseTreeEstimator
from spinney._common.checks import check_sample_ids, check_sample_weight
from spinney._common.progress import show_progress
from spinney._common.threads import count_threads
from spinney._data.arrays import to_native, to_rows
from spinney._fit.draws import Draws
from spinney._fit.target import make_class_attributes
from spinney._fit.task import Task
from spinney.ensemble._bagged import BaseBaggedTrees
from spinney.model_selection._splits import Split

# The exceptions that illegal input raises. Warning is one of them where users have made warnings
# errors.
INPUT_ERRORS = (OverflowError, TypeError, ValueError, Warning)
# Number of weights, of all rows of all folds, that exist at the same time: 128 MB.
_WEIGHTS_AT_ONCE = 1 << 24


class Fold(NamedTuple):
    """What is known about the estimator of a fold."""

    split: Split
    attributes: dict[str, Any]
    """The fitted attributes that differ between folds: those that describe the classes."""
    values: NDArray[np.float64]
    """What `_predict_values` returns for the test rows."""


class PredictedFolds:
    """The folds of a cross-validation, for which predictions have been computed.

    Parameters
    ----------
    template : estimator
        Has the parameters, and the fitted attributes that are the same in all folds.
    folds : list of Fold
    """

    def __init__(self, template: Any, folds: list[Fold]) -> None:
        self._template = template
        self._folds = folds

    def make_estimator(self) -> Any:
        """Return an estimator that looks up what an estimator fitted to a fold would predict.

        It takes row numbers in the place of `X`: `fit` takes the training rows of a fold,
        predictions take the test rows. It raises RuntimeError for rows that no fold has.

        The estimator has the class of the template, because messages of scikit-learn name the class
        and scorers ask for its tags. Four attributes of the instance hide methods of the class.
        """
        estimator = copy(self._template)
        lookup = _Lookup(estimator, self._by_rows)
        estimator.fit = lookup.fit
        estimator._predict_values = lookup.predict_values
        estimator._predict_labels = lookup.predict_labels
        estimator.__sklearn_clone__ = self.make_estimator
        return estimator

    def join(self) -> PredictedFolds | None:
        """Return the folds as one fold that tests the rows of all of them.

        Return None if the estimators of the folds differ in more than what they predict, for
        example because a class is missing in a training set.
        """
        attributes = self._folds[0].attributes
        if not all(_are_equal(fold.attributes, attributes) for fold in self._folds):
            return None
        test = np.concatenate([fold.split.test for fold in self._folds])
        values = np.concatenate([fold.values for fold in self._folds])
        # No row numbers of a training set are needed. All rows stand for it.
        n_samples = self._folds[0].split.n_samples
        split = Split(np.empty(0, dtype=np.uint32), True, test, n_samples)
        return PredictedFolds(self._template, [Fold(split, attributes, values)])

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Any]:  # noqa: ARG002
        """Yield the rows of each fold, as a cross-validation generator of scikit-learn does."""
        for fold in self._folds:
            yield fold.split.list_rows()

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        """Return the number of folds."""
        return len(self._folds)

    @cached_property
    def _by_rows(self) -> dict[bytes, dict[bytes, Fold]]:
        """The folds by their training rows, and of equal training rows by their test rows."""
        by_rows: dict[bytes, dict[bytes, Fold]] = {}
        for fold in self._folds:
            of_training_rows = by_rows.setdefault(_hash_rows(fold.split.list_train()), {})
            of_training_rows[_hash_rows(fold.split.test)] = fold
        return by_rows


class _Lookup:
    """The methods of one estimator that looks predictions up."""

    def __init__(self, estimator: Any, by_rows: dict[bytes, dict[bytes, Fold]]) -> None:
        self._estimator = estimator
        self._by_rows = by_rows
        self._fitted: dict[bytes, Fold] = {}

    def fit(self, X: Any, y: Any = None) -> Any:  # noqa: ARG002 - the targets are known
        fitted = self._by_rows.get(_hash_rows(X))
        if fitted is None:
            raise RuntimeError("no fold has these training rows")
        self._fitted = fitted
        vars(self._estimator).update(next(iter(fitted.values())).attributes)
        return self._estimator

    def predict_values(self, X: Any, check_input: bool = True) -> NDArray[np.float64]:  # noqa: ARG002
        fold = self._fitted.get(_hash_rows(X))
        if fold is None:
            raise RuntimeError("no fold with these training rows has these test rows")
        return fold.values

    def predict_labels(self, X: Any) -> NDArray[Any]:
        labels: NDArray[Any] = self._estimator._choose_labels(self.predict_values(X))
        return labels


def _hash_rows(rows: Any) -> bytes:
    """Return a key that stands for row numbers. It is short, so that keys need little memory."""
    row_bytes = np.asarray(rows, dtype=np.uint32).tobytes()
    return blake2b(row_bytes, digest_size=16, usedforsecurity=False).digest()


def _are_equal(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return all(_are_equal(one[name], other[name]) for name in one)
    if isinstance(one, list):
        return all(map(_are_equal, one, other))
    return np.array_equal(one, other)


def predict_splits(
    estimator: BaseTreeEstimator,
    X: Any,
    y: Any,
    splits: list[Split],
    params: dict[str, Any],
    n_jobs: int | None,
    verbose: int,
    *,
    encode: bool = False,
) -> PredictedFolds:
    """Return what estimators fitted to each split predict, bit for bit.

    Parameters
    ----------
    estimator : a tree, a forest or a lazy forest
        It is not changed.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Indexable; CSR if sparse.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
    splits : list of Split
    params : dict
        `sample_weight` and `sample_ids`, if they are given.
    n_jobs : int or None
        Number of threads; None means the `n_jobs` of the estimator.
    verbose : int
        Whether to report progress, as for forests.
    encode : bool, default=False
        Whether the estimators that look predictions up have codes of classes as their classes.

    Raises
    ------
    FoldError
        If estimators cannot be fitted to their folds. Errors that have to do with all folds are
        raised as they are.
    """
    work = SharedWork(estimator, X, y, params, n_jobs, encode=encode)
    folds: list[Fold] = []
    with show_progress(verbose, 0, work.n_trees * len(splits)) as watcher:
        for portion in work.divide(splits):
            n_done = work.n_trees * len(folds)
            shifted = None if watcher is None else _shift(watcher, n_done)
            folds += work.predict(portion, shifted)
    return PredictedFolds(work.template, folds)


def _shift(watcher: Callable[[int], Any], n_done: int) -> Callable[[int], Any]:
    """Return a watcher that counts on from a number of trees."""
    return lambda done: watcher(n_done + done)


class FoldError(Exception):
    """Some estimators cannot be fitted to their folds, though the arguments are legal."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class SharedWork:
    """What the estimators of all folds have in common: data, targets, weights and parameters.

    Attributes
    ----------
    template : estimator
        Has the parameters, and the fitted attributes that are the same in all folds.
    n_trees : int
        Number of trees of each fold.
    n_samples : int
        Number of all rows.
    X : ndarray or CompressedMatrix
        All rows, as the compiled part takes them.
    task : Task
        For all rows, without draws.
    ids : ndarray of shape (n_samples,) or None
        Ids of all rows.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        params: dict[str, Any],
        n_jobs: int | None,
        *,
        encode: bool = False,
    ) -> None:
        template = self.template = clone(estimator)
        self._encode = encode
        settings = template._check_params()
        _check_traversal(template)
        if n_jobs is not None:
            settings = settings._replace(n_threads=count_threads(n_jobs))
        X, self._y = template._read_X_y(X, y)
        # scikit-learn has made CSR of sparse matrices, but frames of sparse columns become CSC.
        self.X = to_rows(to_native(X))
        self._target = template._encode_y(self._y)
        self.task: Task = template._make_task(settings, self._target)
        weights, ids = params.get("sample_weight"), params.get("sample_ids")
        n_samples = self.n_samples = int(X.shape[0])
        self._weights = None if weights is None else check_sample_weight(weights, n_samples)
        self.ids = None if ids is None else check_sample_ids(ids, n_samples)
        is_tree = not isinstance(template, BaseBaggedTrees)
        self._n_estimators = None if is_tree else int(template.n_estimators)
        self.n_trees = self._n_estimators or 1
        if self._target.n_classes is not None:
            columns = zip(self._target.y.T, self._target.n_classes, strict=True)
            # For each output the number of rows of each class.
            self._counts = [np.bincount(column, minlength=n) for column, n in columns]

    def divide(self, splits: list[Split]) -> Iterator[list[Split]]:
        """Yield the splits in portions, whose weights exist at the same time."""
        if self._weights is None and getattr(self.template, "class_weight", None) is None:
            yield splits
            return
        portion: list[Split] = []
        n_rows = 0
        for split in splits:
            if portion and n_rows + split.n_train > _WEIGHTS_AT_ONCE:
                yield portion
                portion, n_rows = [], 0
            portion.append(split)
            n_rows += split.n_train
        yield portion

    def predict(self, splits: list[Split], watcher: Callable[[int], Any] | None) -> list[Fold]:
        """Return what estimators fitted to each split predict.

        Raises
        ------
        FoldError
            If estimators cannot be fitted to their folds. Errors that have to do with all folds are
            raised as they are.
        """
        try:
            refits = [self.describe_refit(split) for split in splits]
            values = self._ask(splits, [draws for draws, _ in refits], watcher)
        except INPUT_ERRORS as error:
            # Whatever is wrong without any fold raises its own error.
            self._ask([], [], None)
            raise FoldError(error) from error
        return [
            Fold(split, attributes, self.template._split_outputs(of_fold))
            for split, (_, attributes), of_fold in zip(splits, refits, values, strict=True)
        ]

    def _ask(
        self, splits: list[Split], draws: list[Draws], watcher: Callable[[int], Any] | None
    ) -> list[NDArray[np.float64]]:
        folds = [(*split[:3], of_fold) for split, of_fold in zip(splits, draws, strict=True)]
        return self.task.predict_folds(self.X, folds, self.ids, self._n_estimators, watcher)

    def describe_refit(self, split: Split) -> tuple[Draws, dict[str, Any]]:
        """Return the draws, and the fitted attributes, of an estimator of the training rows."""
        template, target = self.template, self._target
        weights = None if self._weights is None else self._weights[split.list_train()]
        attributes: dict[str, Any] = {}
        if target.n_classes is None:
            if template.criterion == "poisson":
                template._check_counts(target.y[split.list_train()])
        else:
            present = [np.flatnonzero(counts) for counts in self._count_classes(split)]
            if self._encode:
                attributes = make_class_attributes(present)
            else:
                labels = [template.classes_] if template.n_outputs_ == 1 else template.classes_
                attributes = make_class_attributes(
                    [of_output[codes] for of_output, codes in zip(labels, present, strict=True)]
                )
            if template.class_weight is not None:
                train = split.list_train()
                own_codes = [
                    np.searchsorted(codes, column)
                    for codes, column in zip(present, target.y[train].T, strict=True)
                ]
                own_target = np.column_stack(own_codes).astype(np.uint32)
                weights = template._weigh_samples(self._y[train], own_target, weights)
        return template._make_draws(split.n_train, weights, None), attributes

    def _count_classes(self, split: Split) -> list[NDArray[np.intp]]:
        """Return for each output how many training rows each class has."""
        columns = zip(self._target.y[split.rows].T, self._counts, strict=True)
        pairs = [(np.bincount(column, minlength=n.shape[0]), n) for column, n in columns]
        return [n - listed if split.are_left_out else listed for listed, n in pairs]


def _check_traversal(template: Any) -> None:
    """Raise ValueError for a lazy forest whose traversal and pruning exclude each other."""
    traversal = getattr(template, "traversal", "auto")
    name = "max_leaf_nodes" if template.max_leaf_nodes is not None else "ccp_alpha"
    is_whole = template.max_leaf_nodes is not None or template.ccp_alpha > 0.0
    if is_whole and traversal in ("batched", "single"):
        raise ValueError(
            f"traversal must be 'eager' or 'auto' with {name}, by which trees are known only as a "
            f"whole. Got {traversal!r} instead."
        )
