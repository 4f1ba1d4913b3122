"""Cross-validation over data that is encoded once: all folds are predicted in one call.

What they predict is handed out by estimators that know the answers, so that all else (scores,
errors, orders of classes) is left to scikit-learn.
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
from spinney._categories import count_categories
from spinney._draws import Draws
from spinney._forest import BaseForest
from spinney._progress import progress
from spinney._spinney import predict_folds
from spinney._target import ClassTarget, EncodedTarget
from spinney._validation import check_counts, check_sample_ids, check_sample_weight
from spinney.lazy import BaseLazyForest

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
    """Return an estimator that stands for one fitted to each split.

    Its clones are fitted with the numbers of the training rows in the place of `X`, and predict if
    they are given the numbers of the test rows. The values are those of refits, bit for bit.

    Parameters
    ----------
    estimator : a tree, a forest or a lazy forest
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Indexable; CSR if sparse.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
    splits : list of Split
    params : dict
        `sample_weight` and `sample_ids`, if any.
    n_jobs : int or None
        Threads; None: as many as the estimator has.
    verbose : int
        As for forests.
    """
    template = clone(estimator)
    tree_params = _checked_params(template)
    own_threads = template._n_threads()
    n_threads = own_threads if n_jobs is None else int(effective_n_jobs(n_jobs))
    seed = template._seed()
    class_weight = getattr(template, "class_weight", None)
    if class_weight is not None:
        # Each fold weighs its own classes.
        template.class_weight = None
    X, y = template._read_X_y(X, y)
    target = template._encode_y(y, None)
    if class_weight is not None:
        template.class_weight = class_weight
    tree_params["monotonic_cst"] = template._constraints(target)
    weights, ids = params.get("sample_weight"), params.get("sample_ids")
    if weights is not None:
        weights = check_sample_weight(weights, X.shape[0])
    if ids is not None:
        ids = check_sample_ids(ids, X.shape[0])
    parts = [_part(template, y, target, split.train, weights) for split in splits]
    is_forest = isinstance(template, BaseBaggedTrees)
    n_trees = int(template.n_estimators) if is_forest else 1
    with progress(verbose, 0, n_trees * len(splits)) as watcher:
        values = predict_folds(
            to_native(X),
            target.y,
            target.n_classes,
            [(*split, draws) for split, (draws, _) in zip(splits, parts, strict=True)],
            ids,
            is_forest and template._balances_subsamples(),
            type(template).__name__,
            tree_params,
            seed,
            n_trees,
            not is_forest,
            n_threads,
            watcher,
            count_categories(template.categories_),
        )
    n_outputs = template.n_outputs_
    folds = [
        Fold(split, attributes, v if n_outputs == 1 else v.reshape(v.shape[0], n_outputs, -1))
        for split, (_, attributes), v in zip(splits, parts, values, strict=True)
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


def _checked_params(template: Any) -> dict[str, Any]:
    """Return the hyperparameters of the trees; all are legal that `fit` can tell without data."""
    params: dict[str, Any] = template._params()
    if isinstance(template, BaseForest):
        template._check_forest_params()
        params["splitter"] = template._splitter
    elif isinstance(template, BaseLazyForest):
        template._check_sampling_params()
        is_whole = template.max_leaf_nodes is not None or template.ccp_alpha > 0.0
        if template._checked_traversal() in ("batched", "single") and is_whole:
            raise ValueError("trees with max_leaf_nodes or ccp_alpha are known only as a whole")
    return params


def _part(
    template: Any,
    y: NDArray[Any],
    target: EncodedTarget,
    train: NDArray[np.uint32],
    sample_weight: NDArray[np.float64] | None,
) -> tuple[Draws, dict[str, Any]]:
    """Return what a refit makes of the training rows: their draws, and fitted attributes."""
    n_samples = train.shape[0]
    weights = None if sample_weight is None else sample_weight[train]
    attributes: dict[str, Any] = {}
    if isinstance(template, ClassTarget):
        codes = target.y[train]
        assert target.n_classes is not None
        numbers = zip(codes.T, target.n_classes, strict=True)
        present = [np.flatnonzero(np.bincount(column, minlength=n)) for column, n in numbers]
        attributes = _classes(template, present)
        if template.class_weight is not None:
            columns = zip(present, codes.T, strict=True)
            own = np.column_stack([np.searchsorted(p, column) for p, column in columns])
            factors = template._class_weights(y[train], own.astype(np.uint32), weights)
            if factors is not None:
                weights = factors * (1.0 if weights is None else weights)
    elif template.criterion == "poisson":
        check_counts(target.y[train].astype(np.float64, copy=False), template._wanted_sum)
    if not isinstance(template, BaseBaggedTrees):
        return Draws("all", n_samples, template.n_outputs_, None, weights, None), attributes
    return template._resolve_draws(n_samples, weights, None), attributes


def _classes(template: Any, present: list[NDArray[np.intp]]) -> dict[str, Any]:
    """Return the attributes that tell the classes, of which some occur."""
    numbers = [occurring.shape[0] for occurring in present]
    if template.n_outputs_ == 1:
        return {"classes_": template.classes_[present[0]], "n_classes_": numbers[0]}
    classes = [labels[p] for labels, p in zip(template.classes_, present, strict=True)]
    return {"classes_": classes, "n_classes_": np.array(numbers, dtype=np.intp)}


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
