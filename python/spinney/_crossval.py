"""The shared work of a cross-validation: all folds are predicted in one call of the compiled part.

scikit-learn's functions then score the folds, with an estimator that looks predictions up. So
scores, errors and orders of classes are scikit-learn's own.
"""

from __future__ import annotations

from copy import copy
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone

from spinney._arrays import to_native
from spinney._bagged import BaseBaggedTrees
from spinney._base import BaseTreeEstimator
from spinney._draws import Draws
from spinney._progress import show_progress
from spinney._target import EncodedTarget, make_class_attributes
from spinney._validation import check_sample_ids, check_sample_weight


class Split(NamedTuple):
    """The rows of a fold."""

    train: NDArray[np.uint32]
    """Ascending and distinct."""
    test: NDArray[np.uint32]


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

        It takes row numbers in the place of `X`: `fit` those of the training rows of a fold,
        predictions those of the test rows. It raises RuntimeError for rows that no fold has.

        The estimator has the class of the template, because messages of scikit-learn name the class
        and scorers ask for its tags. Three attributes of the instance hide methods of the class.
        """
        estimator = copy(self._template)
        lookup = _Lookup(estimator, self._by_rows)
        estimator.fit = lookup.fit
        estimator._predict_values = lookup.predict_values
        estimator.__sklearn_clone__ = self.make_estimator
        return estimator

    def join(self) -> tuple[PredictedFolds, Split] | None:
        """Return the folds as one fold that tests the rows of all of them, and the split of it.

        Return None if the estimators of the folds differ in more than what they predict, for
        example because a class is missing in a training set.
        """
        attributes = self._folds[0].attributes
        if not all(_are_equal(fold.attributes, attributes) for fold in self._folds):
            return None
        test = np.concatenate([fold.split.test for fold in self._folds])
        values = np.concatenate([fold.values for fold in self._folds])
        # No row numbers of a training set are needed. These stand for it.
        split = Split(np.arange(len(test), dtype=np.uint32), test)
        return PredictedFolds(self._template, [Fold(split, attributes, values)]), split

    @cached_property
    def _by_rows(self) -> dict[bytes, dict[bytes, Fold]]:
        """The folds by their training rows, and of equal training rows by their test rows."""
        by_rows: dict[bytes, dict[bytes, Fold]] = {}
        for fold in self._folds:
            of_training_rows = by_rows.setdefault(_hash_rows(fold.split.train), {})
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
    """
    template: Any = clone(estimator)
    settings = template._check_params()
    _check_traversal(template)
    if n_jobs is not None:
        settings = settings._replace(n_threads=int(effective_n_jobs(n_jobs)))
    X, y = template._read_X_y(X, y)
    target = template._encode_y(y)
    task = template._make_task(settings, target)
    weights, ids = params.get("sample_weight"), params.get("sample_ids")
    if weights is not None:
        weights = check_sample_weight(weights, X.shape[0])
    if ids is not None:
        ids = check_sample_ids(ids, X.shape[0])
    refits = [_describe_refit(template, y, target, split.train, weights) for split in splits]
    n_trees = int(template.n_estimators) if isinstance(template, BaseBaggedTrees) else None
    with show_progress(verbose, 0, (n_trees or 1) * len(splits)) as watcher:
        values = task.predict_folds(
            to_native(X),
            [(*split, draws) for split, (draws, _) in zip(splits, refits, strict=True)],
            ids,
            n_trees,
            watcher,
        )
    folds = [
        Fold(split, attributes, template._split_outputs(of_fold))
        for split, (_, attributes), of_fold in zip(splits, refits, values, strict=True)
    ]
    return PredictedFolds(template, folds)


def _check_traversal(template: Any) -> None:
    """Raise ValueError for a lazy forest whose traversal and pruning exclude each other."""
    is_lazy = getattr(template, "traversal", "auto") in ("batched", "single")
    if is_lazy and (template.max_leaf_nodes is not None or template.ccp_alpha > 0.0):
        raise ValueError("max_leaf_nodes and ccp_alpha require trees that are grown completely")


def _describe_refit(
    template: Any,
    y: NDArray[Any],
    target: EncodedTarget,
    train: NDArray[np.uint32],
    sample_weight: NDArray[np.float64] | None,
) -> tuple[Draws, dict[str, Any]]:
    """Return the draws, and the fitted attributes, of an estimator fitted to the training rows."""
    weights = None if sample_weight is None else sample_weight[train]
    own_target = target.y[train]
    attributes: dict[str, Any] = {}
    if target.n_classes is None:
        template._check_counts(own_target)
    else:
        columns = list(zip(own_target.T, target.n_classes, strict=True))
        # The codes of the classes that occur in the training rows.
        present = [np.flatnonzero(np.bincount(column, minlength=n)) for column, n in columns]
        labels = [template.classes_] if template.n_outputs_ == 1 else template.classes_
        attributes = make_class_attributes(
            [of_output[codes] for of_output, codes in zip(labels, present, strict=True)]
        )
        if template.class_weight is not None:
            own_codes = [
                np.searchsorted(codes, column)
                for codes, column in zip(present, own_target.T, strict=True)
            ]
            own_target = np.column_stack(own_codes).astype(np.uint32)
            weights = template._weigh_samples(y[train], own_target, weights)
    return template._make_draws(train.shape[0], weights, None), attributes
