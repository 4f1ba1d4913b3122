"""Cross-validation with scikit-learn's functions, of data that are encoded once for all folds.

Whatever is returned is, bit for bit, what refitting each fold gives, that is
`fit(X[train], y[train], sample_weight[train], sample_ids=train)`. Estimators of others, and all
that cannot be shared, are left to scikit-learn.
"""

from __future__ import annotations

import time
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn import model_selection as of_sklearn
from sklearn.base import clone, is_classifier
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils import indexable

from spinney._bagged import BaseBaggedTrees
from spinney._crossval import Split, answering, joined
from spinney.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from spinney.forest import RandomForestClassifier, RandomForestRegressor
from spinney.lazy import LazyForestClassifier, LazyForestRegressor
from spinney.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

__all__ = ["cross_val_predict", "cross_val_score", "cross_validate"]

# Subclasses may do anything else.
_SHARING = frozenset(
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
_PROBABILITIES = ("predict_proba", "predict_log_proba")
# What bad input raises, here or in a refit, also where warnings are errors.
_ORDINARY = (OverflowError, TypeError, ValueError, Warning)


class _Work:
    """A cross-validation: the arguments that scikit-learn's functions have in common."""

    # Those of the shared work.
    seconds: float

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        groups: Any,
        cv: Any,
        params: Any,
        n_jobs: Any,
        verbose: Any,
    ) -> None:
        self.estimator = estimator
        self.X = X
        self.y = y
        self.groups = groups
        self.cv = cv
        self.params = params
        self.n_jobs = n_jobs
        self.verbose = verbose

    def share(self, *, partition: bool = False, encode: bool = False) -> dict[str, Any] | None:
        """Do the shared work; return the arguments by which scikit-learn makes use of it.

        Return None if there is nothing to be shared, or if something fails: then refits fail in the
        way that scikit-learn's users know.

        Parameters
        ----------
        partition : bool
            Whether each sample must be tested once.
        encode : bool
            Whether targets are replaced by the numbers of their classes.
        """
        if not self._may_share():
            return None
        try:
            X, y = indexable(self.X, self.y)
            n_samples = _number_of_rows(X)
            splitter = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
            # Once and for all: a splitter may draw, or be an iterator.
            self.cv = list(splitter.split(X, y, self.groups))
            splits = _rows_of(self.cv, n_samples, partition=partition)
            params = self._params_of_rows(n_samples)
            if splits is None or params is None:
                return None
            if encode:
                y = _codes(y)
            start = time.perf_counter()
            estimator = answering(
                self.estimator, X, y, splits, params, self.n_jobs, int(self.verbose)
            )
            self.seconds = time.perf_counter() - start
        except _ORDINARY:
            return None
        return {
            "estimator": estimator,
            # Rows are told by their numbers.
            "X": np.arange(n_samples),
            "y": y,
            "cv": self.cv,
            # The work is done.
            "n_jobs": 1,
        }

    def _may_share(self) -> bool:
        config = get_config()
        is_routed = config["enable_metadata_routing"]
        return bool(
            type(self.estimator) in _SHARING
            # Their scores out of bag may fail or warn.
            and not getattr(self.estimator, "oob_score", False)
            and self.y is not None
            and not config["array_api_dispatch"]
            and not (is_routed and (self.params or self.groups is not None))
            and (self.params is None or isinstance(self.params, dict))
            and (self.n_jobs is None or (isinstance(self.n_jobs, Integral) and self.n_jobs != 0))
            and isinstance(self.verbose, (Integral, np.bool_))
            and int(self.verbose) >= 0
        )

    def _params_of_rows(self, n_samples: int) -> dict[str, Any] | None:
        """Return what is passed to `fit`, if it is nothing but values of the samples."""
        given = {name: value for name, value in (self.params or {}).items() if value is not None}
        legal = {"sample_weight"}
        if isinstance(self.estimator, BaseBaggedTrees):
            legal.add("sample_ids")
        if not legal.issuperset(self.params or {}):
            return None
        return given if all(np.shape(v) == (n_samples,) for v in given.values()) else None

    def alone(self) -> dict[str, Any]:
        """Return the arguments by which scikit-learn refits each fold.

        Forests with Poisson counts get the names of the samples, so that folds agree on the counts.
        """
        estimator, params = self.estimator, self.params
        fit = getattr(type(estimator), "fit", None)
        if (
            fit is BaseBaggedTrees.fit
            and isinstance(estimator.bootstrap, str)
            and (params is None or (isinstance(params, dict) and params.get("sample_ids") is None))
            and (isinstance(self.X, (list, tuple)) or len(getattr(self.X, "shape", ())) > 0)
        ):
            params = {**(params or {}), "sample_ids": np.arange(_number_of_rows(self.X))}
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


def _number_of_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _rows_of(splits: list[Any], n_samples: int, *, partition: bool) -> list[Split] | None:
    """Return the rows of the splits, unless they are such that folds have to be refitted."""
    rows = []
    for train, test in splits:
        train, test = np.asarray(train), np.asarray(test)
        for part in (train, test):
            is_index = part.ndim == 1 and part.dtype.kind in "iu" and part.size > 0
            if not (is_index and part.min() >= 0 and part.max() < n_samples):
                return None
        if not (train[1:] > train[:-1]).all():
            return None
        rows.append(Split(train.astype(np.uint32), test.astype(np.uint32)))
    if partition and rows:
        counts = np.bincount(np.concatenate([row.test for row in rows]), minlength=n_samples)
        if not (counts == 1).all():
            return None
    return rows or None


def _codes(y: Any) -> NDArray[np.intp]:
    """Return the numbers of the classes of each output."""
    y = np.asarray(y)
    if y.ndim == 1:
        return np.unique(y, return_inverse=True)[1]
    return np.column_stack([np.unique(column, return_inverse=True)[1] for column in y.T])


def _is_error_score(error_score: Any) -> bool:
    return isinstance(error_score, Real) or (
        isinstance(error_score, str) and error_score == "raise"
    )


def _only_predicts(scoring: Any, *, several: bool) -> bool:
    """Return whether scores are made of predictions for the test rows, and of nothing else.

    Functions of the user's own may do anything with the estimator.
    """
    if scoring is None:
        return True
    if isinstance(scoring, str):
        return scoring in get_scorer_names()
    if several and isinstance(scoring, dict):
        scoring = list(scoring.values())
    if several and isinstance(scoring, (list, tuple, set)):
        return all(_only_predicts(one, several=False) for one in scoring if one is not None)
    return type(scoring) is type(get_scorer("accuracy"))


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    scoring: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    params: dict[str, Any] | None = None,
    pre_dispatch: Any = "2*n_jobs",
    return_train_score: bool = False,
    return_estimator: bool = False,
    return_indices: bool = False,
    error_score: Any = np.nan,
) -> dict[str, Any]:
    """Evaluate metrics by cross-validation, and record times.

    :func:`sklearn.model_selection.cross_validate`, but trees, forests and lazy forests of spinney
    share the encoded data of all folds. Scores are those of refitting each fold by
    `fit(X[train], y[train], sample_weight[train], sample_ids=train)`, bit for bit.

    It is shared if the training rows of each fold are ascending and distinct (not those of shuffled
    splits such as `ShuffleSplit`), `scoring` does not hold functions of the user's own,
    `return_train_score` and `return_estimator` are False, and nothing but `sample_weight` and
    `sample_ids` is in `params`. Otherwise, and for estimators of others, each fold is refitted.

    Parameters
    ----------
    estimator : estimator object implementing 'fit'
        The object to use to fit the data.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The data to fit.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        The target variable to try to predict.
    groups : array-like of shape (n_samples,), default=None
        Group labels for the samples used while splitting.
    scoring : str, callable, list, tuple, or dict, default=None
        Strategy to evaluate the estimator, as in scikit-learn.
    cv : int, cross-validation generator or an iterable, default=None
        Splitting strategy, as in scikit-learn.
    n_jobs : int, default=None
        Threads for the shared work; None means the estimator's own `n_jobs`. Where folds are
        refitted, the number of folds in parallel.
    verbose : int, default=0
        1 or more shows how many trees, of all folds, have been asked. Where folds are refitted, as
        in scikit-learn.
    params : dict, default=None
        Parameters to pass to the estimator's `fit`, the scorer, and the splitter.
    pre_dispatch : int or str, default='2*n_jobs'
        The number of folds that are dispatched at once where they are refitted.
    return_train_score : bool, default=False
        Whether to include train scores.
    return_estimator : bool, default=False
        Whether to return the estimators fitted on each split.
    return_indices : bool, default=False
        Whether to return the train-test indices selected for each split.
    error_score : 'raise' or numeric, default=np.nan
        Value to assign to the score if an error occurs in fitting.

    Returns
    -------
    scores : dict of float arrays of shape (n_splits,)
        As in scikit-learn. `fit_time` is a fold's share of the time of the shared work, in which
        training and prediction are one.
    """
    may_share = (
        return_train_score is False
        and return_estimator is False
        and _is_error_score(error_score)
        and _only_predicts(scoring, several=True)
    )
    work = _Work(estimator, X, y, groups, cv, params, n_jobs, verbose)
    arguments = work.share() if may_share else None
    scores: dict[str, Any] = of_sklearn.cross_validate(
        **(arguments or work.alone()),
        scoring=scoring,
        pre_dispatch=pre_dispatch,
        return_train_score=return_train_score,
        return_estimator=return_estimator,
        return_indices=return_indices,
        error_score=error_score,
    )
    if arguments is not None:
        scores["fit_time"] = scores["fit_time"] + work.seconds / scores["fit_time"].shape[0]
    return scores


def cross_val_score(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    scoring: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    params: dict[str, Any] | None = None,
    pre_dispatch: Any = "2*n_jobs",
    error_score: Any = np.nan,
) -> NDArray[np.float64]:
    """Evaluate a score by cross-validation.

    :func:`sklearn.model_selection.cross_val_score`, but trees, forests and lazy forests of spinney
    share the encoded data of all folds, as :func:`cross_validate` describes.

    Parameters
    ----------
    estimator : estimator object implementing 'fit'
        The object to use to fit the data.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The data to fit.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        The target variable to try to predict.
    groups : array-like of shape (n_samples,), default=None
        Group labels for the samples used while splitting.
    scoring : str or callable, default=None
        Strategy to evaluate the estimator, as in scikit-learn.
    cv : int, cross-validation generator or an iterable, default=None
        Splitting strategy, as in scikit-learn.
    n_jobs : int, default=None
        Threads for the shared work; None means the estimator's own `n_jobs`. Where folds are
        refitted, the number of folds in parallel.
    verbose : int, default=0
        1 or more shows how many trees, of all folds, have been asked. Where folds are refitted, as
        in scikit-learn.
    params : dict, default=None
        Parameters to pass to the estimator's `fit`, the scorer, and the splitter.
    pre_dispatch : int or str, default='2*n_jobs'
        The number of folds that are dispatched at once where they are refitted.
    error_score : 'raise' or numeric, default=np.nan
        Value to assign to the score if an error occurs in fitting.

    Returns
    -------
    scores : ndarray of float of shape (n_splits,)
        The score of each split.
    """
    may_share = _is_error_score(error_score) and _only_predicts(scoring, several=False)
    work = _Work(estimator, X, y, groups, cv, params, n_jobs, verbose)
    scores: NDArray[np.float64] = of_sklearn.cross_val_score(
        **((may_share and work.share()) or work.alone()),
        scoring=scoring,
        pre_dispatch=pre_dispatch,
        error_score=error_score,
    )
    return scores


def cross_val_predict(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    params: dict[str, Any] | None = None,
    pre_dispatch: Any = "2*n_jobs",
    method: str = "predict",
) -> Any:
    """Predict each sample by an estimator that was fitted without it.

    :func:`sklearn.model_selection.cross_val_predict`, but trees, forests and lazy forests of
    spinney share the encoded data of all folds, as :func:`cross_validate` describes.

    Parameters
    ----------
    estimator : estimator object implementing 'fit' and `method`
        The object to use to fit the data.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The data to fit.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        The target variable to try to predict.
    groups : array-like of shape (n_samples,), default=None
        Group labels for the samples used while splitting.
    cv : int, cross-validation generator or an iterable, default=None
        Splitting strategy, as in scikit-learn; the test sets must be a partition.
    n_jobs : int, default=None
        Threads for the shared work; None means the estimator's own `n_jobs`. Where folds are
        refitted, the number of folds in parallel.
    verbose : int, default=0
        1 or more shows how many trees, of all folds, have been asked. Where folds are refitted, as
        in scikit-learn.
    params : dict, default=None
        Parameters to pass to the estimator's `fit` and the splitter.
    pre_dispatch : int or str, default='2*n_jobs'
        The number of folds that are dispatched at once where they are refitted.
    method : {'predict', 'predict_proba', 'predict_log_proba', 'decision_function'}, \
            default='predict'
        The method to be invoked.

    Returns
    -------
    predictions : ndarray, or list of ndarray
        As in scikit-learn: columns of probabilities are in the order of the sorted classes, and of
        a class that does not occur in a training set, 0 or the least finite logarithm.
    """
    work = _Work(estimator, X, y, groups, cv, params, n_jobs, verbose)
    arguments = None
    if method == "predict":
        arguments = work.share(partition=True)
    elif method in _PROBABILITIES and hasattr(estimator, method):
        # What scikit-learn fits to where there are columns per class.
        arguments = work.share(partition=True, encode=True)
    if arguments is not None and (one := joined(arguments["estimator"])) is not None:
        # A tenth of a millisecond per fold is more than leaving one row out may cost.
        arguments["estimator"], arguments["cv"] = one[0], [one[1]]
    return of_sklearn.cross_val_predict(
        **(arguments or work.alone()), pre_dispatch=pre_dispatch, method=method
    )
