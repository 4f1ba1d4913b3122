"""The shared work of a cross-validation: all folds are predicted in one call of the compiled part.

scikit-learn's functions then score the folds, with an estimator that looks predictions up. So
scores, errors and orders of classes are scikit-learn's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, count
from typing import TYPE_CHECKING, Any, NamedTuple

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

if TYPE_CHECKING:
    from typing_extensions import Self


class Split(NamedTuple):
    """The rows of a fold."""

    train: NDArray[np.uint32]
    """Ascending and distinct."""
    test: NDArray[np.uint32]


class Fold(NamedTuple):
    """What the estimator of a split is asked for."""

    split: Split
    attributes: dict[str, Any]
    """The fitted ones that differ between folds."""
    values: NDArray[np.float64]
    """What `_predict_values` returns for the test rows."""


def answering(
    estimator: BaseTreeEstimator,
    X: Any,
    y: Any,
    splits: list[Split],
    params: dict[str, Any],
    n_jobs: int | None,
    verbose: int,
) -> Any:
    """Return an estimator that stands for one fitted to each split, bit for bit.

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
    return _class_of_answers(type(template))._over(template, folds, count())


def joined(estimator: Any) -> tuple[Any, Split] | None:
    """Return an estimator that stands for all folds as if they were one, and what that tests.

    Return None if the estimators of the folds differ in more than what they predict, as where
    classes are missing.

    Parameters
    ----------
    estimator : what `answering` returned
    """
    folds = estimator._folds
    attributes = folds[0].attributes
    if not all(_equal(list(fold.attributes.values()), list(attributes.values())) for fold in folds):
        return None
    test = np.concatenate([fold.split.test for fold in folds])
    values = np.concatenate([fold.values for fold in folds])
    split = Split(np.arange(len(test), dtype=np.uint32), test)
    return type(estimator)._over(estimator, [Fold(split, attributes, values)], count()), split


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    return np.array_equal(a, b)


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


class _Answering:
    """What is mixed into the class of an estimator so that it knows the answers."""

    _folds: list[Fold]
    _numbers: Iterator[int]
    # The fold whose turn it was when the clone was made: most likely the one it will be fitted to.
    _expected: Fold
    _train: NDArray[Any]

    @classmethod
    def _over(cls, template: Any, folds: list[Fold], numbers: Iterator[int]) -> Self:
        self = cls.__new__(cls)
        self.__dict__.update(template.__dict__)
        self._folds, self._numbers, self._expected = folds, numbers, folds[0]
        return self

    def __sklearn_clone__(self) -> Self:
        new = self._over(self, self._folds, self._numbers)
        new._expected = self._folds[next(self._numbers) % len(self._folds)]
        return new

    def fit(self, X: Any, y: Any = None, check_input: bool = True) -> Self:  # noqa: ARG002
        """Become the estimator of the fold with these training rows; all else is known already."""
        self._train = X
        self.__dict__.update(self._fold(None).attributes)
        return self

    def _predict_values(self, X: Any, check_input: bool = True) -> NDArray[np.float64]:  # noqa: ARG002
        return self._fold(X).values

    def _fold(self, test: Any) -> Fold:
        """Return the fold that this estimator was fitted to, with these test rows if given."""
        for fold in chain((self._expected,), self._folds):
            if np.array_equal(fold.split.train, self._train) and (
                test is None or np.array_equal(fold.split.test, test)
            ):
                return fold
        raise RuntimeError("no fold has these rows")


_CLASSES: dict[type, Any] = {}


def _class_of_answers(estimator_class: type) -> Any:
    if estimator_class not in _CLASSES:
        own = {"__module__": estimator_class.__module__}
        bases = (_Answering, estimator_class)
        _CLASSES[estimator_class] = type(estimator_class.__name__, bases, own)
    return _CLASSES[estimator_class]
