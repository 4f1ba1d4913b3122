"""Whether the folds of a cross-validation can share their work, and how scikit-learn is called.

`CrossValidation.share` returns arguments for scikit-learn's functions with which these score
predictions that are already computed. `CrossValidation.prepare_refits` returns arguments with which
they fit the estimator to each fold.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils import indexable

from spinney._bagged import BaseBaggedTrees
from spinney._crossval import Split, predict_splits
from spinney.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from spinney.forest import RandomForestClassifier, RandomForestRegressor
from spinney.lazy import LazyForestClassifier, LazyForestRegressor
from spinney.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

# A subclass of one of these may override any method, so its folds are refitted.
_SHARING_CLASSES = frozenset(
    {
        DecisionTreeClassifier,
        DecisionTreeRegressor,
        ExtraTreeClassifier,
        ExtraTreeRegressor,
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        LazyForestClassifier,
        LazyForestRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    }
)
# The exceptions that illegal input raises. Warning is one of them where users have made warnings
# errors.
_INPUT_ERRORS = (OverflowError, TypeError, ValueError, Warning)


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
    # Duration of the shared work.
    seconds: float = 0.0

    def share(self, *, join: bool = False, encode: bool = False) -> dict[str, Any] | None:
        """Predict all folds together; return arguments with which scikit-learn scores them.

        Return None if the folds have to be refitted, and also if something in the arguments is
        illegal: the refits then raise the errors that users of scikit-learn know.

        Parameters
        ----------
        join : bool
            Whether to give scikit-learn one fold that tests all rows. This is possible if each
            sample is in the test set of one fold (otherwise the folds are refitted) and if the
            classes of all folds are the same. scikit-learn spends a tenth of a millisecond on each
            fold, which is too much for leave-one-out.
        encode : bool
            Whether to replace the targets by codes of their classes.
        """
        if not self._may_share():
            return None
        try:
            X, y = indexable(self.X, self.y)
            n_samples = _count_rows(X)
            splitter = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
            # Splits are made only once: a splitter may be random, or an iterator.
            self.cv = list(splitter.split(X, y, self.groups))
            splits = _read_splits(self.cv, n_samples)
            params = self._select_row_params(n_samples)
            if splits is None or params is None or (join and not _is_partition(splits, n_samples)):
                return None
            if encode:
                y = _encode_classes(y)
            start = time.perf_counter()
            folds = predict_splits(
                self.estimator, X, y, splits, params, self.n_jobs, int(self.verbose)
            )
            self.seconds = time.perf_counter() - start
        except _INPUT_ERRORS:
            return None
        cv = self.cv
        if join and (joined := folds.join()) is not None:
            folds, split = joined
            cv = [split]
        return {
            "estimator": folds.make_estimator(),
            # The estimator takes row numbers in the place of X.
            "X": np.arange(n_samples),
            "y": y,
            "cv": cv,
            # The threads have done their work.
            "n_jobs": 1,
        }

    def _may_share(self) -> bool:
        config = get_config()
        is_routed = config["enable_metadata_routing"]
        return bool(
            type(self.estimator) in _SHARING_CLASSES
            # A refit also computes the out-of-bag score, which may raise an error or a warning.
            and not getattr(self.estimator, "oob_score", False)
            and self.y is not None
            and not config["array_api_dispatch"]
            and not (is_routed and (self.params or self.groups is not None))
            and (self.params is None or isinstance(self.params, dict))
            and (self.n_jobs is None or (isinstance(self.n_jobs, Integral) and self.n_jobs != 0))
            and isinstance(self.verbose, (Integral, np.bool_))
            and int(self.verbose) >= 0
        )

    def _select_row_params(self, n_samples: int) -> dict[str, Any] | None:
        """Return the parameters for `fit`; None if some are not one known value per sample."""
        known = {"sample_weight"}
        # Other forests refuse ids, when they are refitted.
        if getattr(self.estimator, "bootstrap", None) == "poisson":
            known.add("sample_ids")
        if not known.issuperset(self.params or {}):
            return None
        given = {name: value for name, value in (self.params or {}).items() if value is not None}
        return given if all(np.shape(v) == (n_samples,) for v in given.values()) else None

    def prepare_refits(self) -> dict[str, Any]:
        """Return arguments with which scikit-learn fits the estimator to each fold.

        Forests with `bootstrap="poisson"` get row numbers as `sample_ids`, so that a sample has the
        same counts in all folds.
        """
        estimator, params = self.estimator, self.params
        if (
            getattr(type(estimator), "fit", None) is BaseBaggedTrees.fit
            and isinstance(estimator.bootstrap, str)
            and (params is None or (isinstance(params, dict) and params.get("sample_ids") is None))
            and (isinstance(self.X, (list, tuple)) or len(getattr(self.X, "shape", ())) > 0)
        ):
            params = {**(params or {}), "sample_ids": np.arange(_count_rows(self.X))}
            if get_config()["enable_metadata_routing"]:
                estimator = clone(estimator).set_fit_request(sample_ids=True)
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


def accepts_error_score(error_score: Any) -> bool:
    """Return whether an `error_score` is legal."""
    return isinstance(error_score, Real) or (
        isinstance(error_score, str) and error_score == "raise"
    )


def uses_only_predictions(scoring: Any, *, several: bool) -> bool:
    """Return whether scores depend on predictions for the test rows and on nothing else.

    A user's own function may do anything with the estimator, so the folds are refitted for it.

    Parameters
    ----------
    scoring : object
        The parameter of scikit-learn's functions.
    several : bool
        Whether it may be a collection of scorers.
    """
    if scoring is None:
        return True
    if isinstance(scoring, str):
        return scoring in get_scorer_names()
    if several and isinstance(scoring, dict):
        scoring = list(scoring.values())
    if several and isinstance(scoring, (list, tuple, set)):
        return all(uses_only_predictions(one, several=False) for one in scoring if one is not None)
    return type(scoring) is type(get_scorer("accuracy"))


def _count_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _read_splits(splits: list[Any], n_samples: int) -> list[Split] | None:
    """Return the rows of the splits; None if there is none, or if folds have to be refitted.

    They have to be if row numbers are illegal, or if training rows are not ascending and distinct.
    """
    read = []
    for train, test in splits:
        train, test = np.asarray(train), np.asarray(test)
        for part in (train, test):
            is_index = part.ndim == 1 and part.dtype.kind in "iu" and part.size > 0
            if not (is_index and part.min() >= 0 and part.max() < n_samples):
                return None
        if not (train[1:] > train[:-1]).all():
            return None
        read.append(Split(train.astype(np.uint32), test.astype(np.uint32)))
    return read or None


def _is_partition(splits: list[Split], n_samples: int) -> bool:
    """Return whether each sample is in the test set of one fold."""
    counts = np.bincount(np.concatenate([split.test for split in splits]), minlength=n_samples)
    return bool((counts == 1).all())


def _encode_classes(y: Any) -> NDArray[np.intp]:
    """Return the codes of the classes of each output."""
    y = np.asarray(y)
    if y.ndim == 1:
        return np.unique(y, return_inverse=True)[1]
    return np.column_stack([np.unique(column, return_inverse=True)[1] for column in y.T])
