"""Whether the folds of a cross-validation can share their work, and how scikit-learn is called.

`CrossValidation.share` returns arguments for scikit-learn's functions with which these score
predictions that are already computed. `CrossValidation.prepare_refits` returns arguments with which
they fit the estimator to each fold.
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils import indexable

from spinney._cluster.active import get_workers
from spinney._common.messages import is_ours, warn_caller
from spinney._fit.survival import SurvivalTarget, make_indexable
from spinney._fit.target import ClassTarget
from spinney.dataset import Dataset
from spinney.ensemble._bagged import BaseBaggedTrees
from spinney.model_selection._coded_refits import CodedRefits
from spinney.model_selection._refits import ROWS, EncodedRefits
from spinney.model_selection._shared_work import (
    INPUT_ERRORS,
    FoldError,
    SharedWork,
    predict_splits,
)
from spinney.model_selection._splits import Splits, are_partition

# What a subclass may define without changing what `fit` and predictions do.
_HARMLESS = frozenset(
    {
        "__abstractmethods__",
        "__annotations__",
        "__annotate_func__",
        "__annotations_cache__",
        "__dict__",
        "__doc__",
        "__firstlineno__",
        "__init__",
        "__module__",
        "__qualname__",
        "__static_attributes__",
        "__weakref__",
        "_abc_impl",
    }
)


_LEFT_TO_CHECK = "scikit-learn checks the arguments"


class _RefitNeeded(Exception):
    """Why the folds of a cross-validation have to be refitted."""


@dataclass
class CrossValidation:
    """The arguments that scikit-learn's three functions of cross-validation have in common."""

    estimator: Any
    X: Any
    y: Any
    groups: Any
    cv: Any
    params: Any
    n_jobs: Any
    verbose: Any
    # Duration of the work that folds share.
    seconds: float = 0.0
    # Encoded rows for scikit-learn's loop.
    _refits: EncodedRefits | None = None

    def __post_init__(self) -> None:
        """Read the labels, so that scikit-learn splits and scores by what `fit` sees."""
        if isinstance(self.estimator, ClassTarget):
            self.y = self.estimator._read_y(self.y)
        elif any(isinstance(part, SurvivalTarget) for part in _list_parts(self.estimator)):
            self.y = make_indexable(self.y)

    def share(
        self,
        obstacle: str | None = None,
        *,
        join: bool = False,
        encode: bool = False,
        fails: bool = True,
    ) -> dict[str, Any] | None:
        """Predict all folds together; return arguments with which scikit-learn scores them.

        Return None if the folds have to be refitted, after `verbose` has said why. An error that
        fitting to all rows would raise is raised. What scikit-learn itself checks, it is left to
        tell.

        Parameters
        ----------
        obstacle : str or None
            Why the folds have to be refitted; None if the caller knows no reason.
        join : bool
            Whether to give scikit-learn one fold that tests all rows. This is possible if each
            sample is in the test set of one fold (otherwise the folds are refitted) and if the
            classes of all folds are the same. scikit-learn spends a tenth of a millisecond on each
            fold, which is too much for leave-one-out.
        encode : bool
            Whether scikit-learn replaces the targets by codes of their classes. A `class_weight`
            that names classes is read before that.
        fails : bool
            Whether to raise the error of a fold that cannot be fitted. Otherwise the folds are
            refitted, so that the others get their scores.
        """
        try:
            if obstacle is not None:
                raise _RefitNeeded(obstacle)
            return self._predict_together(join, encode, fails)
        except _RefitNeeded as reason:
            # A caller's reason leaves the data as they are, so that they can be encoded once.
            is_encoded = obstacle is not None and self._encode()
            if isinstance(self.verbose, int | np.integer | np.bool_) and self.verbose >= 1:
                how = ", to rows that are encoded once" if is_encoded else ""
                sys.stderr.write(f"spinney fits each fold on its own{how}: {reason}\n")
            return None

    def _encode(self) -> bool:
        """Encode all rows for refits by scikit-learn's loop; return whether that is possible."""
        # Other processes would get copies of the rows.
        one_process = self.n_jobs in (None, 1) and effective_n_jobs(self.n_jobs) == 1
        if not one_process or get_config()["enable_metadata_routing"]:
            return False
        try:
            self._check_arguments()
            X, y, _, params = self._read_arguments()
        except _RefitNeeded:
            return False
        start = time.perf_counter()
        # What is wrong with all folds is raised.
        work = SharedWork(self.estimator, X, y, params, None)
        dataset = Dataset._of_codes(
            work.X,
            work.template.is_categorical_,
            work.template.categories_,
            getattr(work.template, "feature_names_in_", None),
            work.task.n_threads,
        )
        self._refits = EncodedRefits(self.estimator, dataset)
        self.seconds = time.perf_counter() - start
        return True

    def _read_arguments(self) -> tuple[Any, Any, Splits, dict[str, Any]]:
        """Return indexable `X` and `y`, the splits, and the parameters for `fit`."""
        try:
            X, y = indexable(self.X, self.y)
            n_samples = _count_rows(X)
            splitter = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
            # Splits are made only once: a splitter may be random, or an iterator.
            self.cv = splits = Splits(splitter.split(X, y, self.groups), n_samples)
            return X, y, splits, self._select_row_params(n_samples)
        except INPUT_ERRORS as error:
            # scikit-learn makes the same checks, and others before them.
            raise _RefitNeeded(_LEFT_TO_CHECK) from error

    def _predict_together(self, join: bool, encode: bool, fails: bool) -> dict[str, Any]:
        """Do what `share` does; raise `_RefitNeeded` if the folds have to be refitted."""
        self._check_arguments()
        X, y, splits, params = self._read_arguments()
        n_samples = _count_rows(X)
        if splits.obstacle is not None:
            raise _RefitNeeded(splits.obstacle)
        if join and not are_partition(splits.list_known(), n_samples):
            raise _RefitNeeded("the test sets are not a partition of the samples")
        labels = y
        if encode:
            y = _encode_classes(y)
        reads_labels = encode and _weighs_labels(self.estimator)
        start = time.perf_counter()
        try:
            folds = predict_splits(
                self.estimator,
                X,
                labels if reads_labels else y,
                splits.list_known(),
                params,
                self.n_jobs,
                int(self.verbose),
                encode=reads_labels,
            )
        except FoldError as failed:
            if fails:
                raise failed.error from None
            raise _RefitNeeded(f"a fold cannot be fitted: {failed.error}") from failed
        self.seconds = time.perf_counter() - start
        if join:
            folds = folds.join() or folds
        return {
            "estimator": folds.make_estimator(),
            # The estimator takes row numbers in the place of X.
            "X": np.arange(n_samples),
            "y": y,
            "cv": folds,
            # The threads have done their work.
            "n_jobs": 1,
        }

    def _check_arguments(self) -> None:
        """Raise `_RefitNeeded` for what excludes shared work, whatever the data are."""
        is_routed = get_config()["enable_metadata_routing"]
        if get_workers() is not None:
            raise _RefitNeeded("the trees are grown by the workers of `grow_with`")
        if not _predicts_like_ours(type(self.estimator)):
            name = type(self.estimator).__name__
            raise _RefitNeeded(f"{name} is no estimator of spinney, or overrides what one does")
        if getattr(self.estimator, "oob_score", False):
            # It may also raise an error or a warning.
            raise _RefitNeeded("`oob_score` is computed from the forest of each fold")
        if getattr(self.estimator, "class_sampling", None) is not None:
            raise _RefitNeeded("`class_sampling` draws by the classes of each fold")
        if getattr(self.estimator, "honest", False):
            raise _RefitNeeded("`honest` needs the grown trees of each fold")
        if getattr(self.estimator, "subforest_size", None) is not None:
            raise _RefitNeeded("`subforest_size` halves the samples of each fold")
        if getattr(self.estimator, "handle_unknown", "ignore") != "ignore":
            # The matrix of all folds has the categories of all of them.
            raise _RefitNeeded("`handle_unknown` asks for the categories of each fold")
        if get_config()["array_api_dispatch"]:
            raise _RefitNeeded("`array_api_dispatch` is set")
        if is_routed and (self.params or self.groups is not None):
            raise _RefitNeeded("metadata are routed")
        are_legal = (
            self.y is not None
            and (self.params is None or isinstance(self.params, dict))
            and (self.n_jobs is None or (isinstance(self.n_jobs, Integral) and self.n_jobs != 0))
            and isinstance(self.verbose, (Integral, np.bool_))
            and int(self.verbose) >= 0
        )
        if not are_legal:
            raise _RefitNeeded(_LEFT_TO_CHECK)

    def _select_row_params(self, n_samples: int) -> dict[str, Any]:
        """Return the parameters for `fit`, which must be one known value per sample."""
        known = {"sample_weight"}
        # Other forests refuse ids, when they are refitted.
        if getattr(self.estimator, "bootstrap", None) == "poisson":
            known.add("sample_ids")
        given = {name: value for name, value in (self.params or {}).items() if value is not None}
        are_known = known.issuperset(self.params or {})
        if not (are_known and all(np.shape(value) == (n_samples,) for value in given.values())):
            raise _RefitNeeded("`params` has more than a weight and an id of each sample")
        return given

    def prepare_refits(self, *, encode: bool = False) -> dict[str, Any]:
        """Return arguments with which scikit-learn fits the estimator to each fold.

        Forests with `bootstrap="poisson"` get row numbers as `sample_ids`, so that a sample has the
        same counts in all folds.

        Parameters
        ----------
        encode : bool, default=False
            Whether scikit-learn replaces the targets by codes of their classes, before fits whose
            `class_weight` may name classes.
        """
        estimator, params = self.estimator, self.params
        if self._refits is not None:
            estimator = self._refits.make_estimator()
            params = {**(params or {}), ROWS: np.arange(_count_rows(self.X))}
        elif (
            isinstance(estimator, BaseBaggedTrees)
            # A subclass of the user's may have a `fit` that takes no ids.
            and is_ours(type(estimator).fit.__module__)
            and isinstance(estimator.bootstrap, str)
            and (params is None or (isinstance(params, dict) and params.get("sample_ids") is None))
            and (isinstance(self.X, (list, tuple)) or len(getattr(self.X, "shape", ())) > 0)
        ):
            params = {**(params or {}), "sample_ids": np.arange(_count_rows(self.X))}
            if get_config()["enable_metadata_routing"]:
                estimator = clone(estimator).set_fit_request(sample_ids=True)
        elif _draws_by_place(estimator) and "sample_ids" not in (params or {}):
            warn_caller(
                f"The forest with bootstrap='poisson' in {type(estimator).__name__} draws samples "
                "by their places in each fold, and a sample has other counts in other folds: ids "
                "of samples do not reach it. To route them, set enable_metadata_routing=True in "
                "sklearn.set_config, call set_fit_request(sample_ids=True) on the forest, and pass "
                "params={'sample_ids': numpy.arange(len(X))}."
            )
        if encode and _weighs_labels(estimator):
            # scikit-learn, which numbers the classes likewise, tells what is wrong with y.
            with suppress(*INPUT_ERRORS):
                estimator = CodedRefits(estimator, self.y).make_estimator()
        return {
            "estimator": estimator,
            "X": self.X,
            "y": self.y,
            "groups": self.groups,
            "cv": self.cv,
            "params": params,
            "n_jobs": self.n_jobs,
            "verbose": self.verbose,
        }


def find_scoring_obstacle(scoring: Any, error_score: Any, *, several: bool) -> str | None:
    """Return why scores depend on more than predictions for the test rows; None if they do not.

    A user's own function may do anything with the estimator, so the folds are refitted for it.

    Parameters
    ----------
    scoring, error_score : object
        The parameters of scikit-learn's functions.
    several : bool
        Whether `scoring` may be a collection of scorers.
    """
    is_word = isinstance(error_score, str) and error_score == "raise"
    if not (is_word or isinstance(error_score, Real)):
        return "scikit-learn checks `error_score`"
    if several and isinstance(scoring, dict):
        scoring = list(scoring.values())
    if several and isinstance(scoring, (list, tuple, set)):
        obstacles = (find_scoring_obstacle(one, error_score, several=False) for one in scoring)
        return next((obstacle for obstacle in obstacles if obstacle is not None), None)
    if isinstance(scoring, str):
        return None if scoring in get_scorer_names() else f"{scoring!r} is no known scorer"
    if scoring is None or type(scoring) is type(get_scorer("accuracy")):
        return None
    return "`scoring` is a function of the user's own, which may look at the fitted estimator"


def _count_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _predicts_like_ours(estimator_class: type) -> bool:
    """Return whether estimators of a class predict what this package's would.

    A subclass does if it has a constructor of its own and methods of other names, but overrides
    none that ours have.
    """
    ours = next((base for base in estimator_class.__mro__ if is_ours(base.__module__)), None)
    if ours is None or not getattr(ours, "_shares_folds", False):
        return False
    own = [base for base in estimator_class.__mro__ if not is_ours(base.__module__)]
    added = {name for base in own if not issubclass(ours, base) for name in vars(base)}
    # scikit-learn gives each class its own `set_fit_request` and the like.
    added = {name for name in added if not (name.startswith("set_") and name.endswith("_request"))}
    return not any(hasattr(ours, name) for name in added - _HARMLESS)


def _draws_by_place(estimator: Any) -> bool:
    """Return whether an estimator holds a forest whose draws depend on ids of samples."""
    parts = _list_parts(estimator)[1:]
    forests = (part for part in parts if isinstance(part, BaseBaggedTrees))
    return any(isinstance(forest.bootstrap, str) for forest in forests)


def _list_parts(estimator: Any) -> list[Any]:
    """Return an estimator and its parameters, among them the estimators that it holds."""
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        return [estimator]
    return [estimator, *estimator.get_params(deep=True).values()]


def _weighs_labels(estimator: Any) -> bool:
    """Return whether `class_weight` of an estimator of this package names classes."""
    if not isinstance(estimator, ClassTarget):
        return False
    return estimator.class_weight is not None and not isinstance(estimator.class_weight, str)


def _encode_classes(y: Any) -> NDArray[np.intp]:
    """Return the codes of the classes of each output."""
    y = np.asarray(y)
    if y.ndim == 1:
        return np.unique(y, return_inverse=True)[1]
    return np.column_stack([np.unique(column, return_inverse=True)[1] for column in y.T])
