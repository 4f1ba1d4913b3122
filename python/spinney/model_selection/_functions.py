"""Cross-validation by scikit-learn's functions, in which folds share their work.

Results equal, bit for bit, the results of fitting the estimator to each fold by
`fit(X[train], y[train], sample_weight[train])`, with `sample_ids=train` where draws are made by
`bootstrap="poisson"`. The folds of the estimators of this package share the encoded data. All
other estimators, and what cannot be shared, are left to scikit-learn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import model_selection as of_sklearn

from spinney._common.asking import find_model
from spinney.model_selection._asked import AskedEstimator
from spinney.model_selection._sharing import CrossValidation, find_scoring_obstacle
from spinney.survival._scorers import read_scoring

# Methods that scikit-learn's function knows.
_METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")


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

    Does what :func:`sklearn.model_selection.cross_validate` does. For trees, forests and lazy
    forests of this package all folds share the encoded data. Scores are, bit for bit, as from
    fitting the estimator to each fold by `fit(X[train], y[train], sample_weight[train])`, with
    `sample_ids=train` if it has `bootstrap="poisson"`.

    Folds share the data if these conditions hold:

    - the training rows of each fold are distinct;
    - `scoring` contains no functions of the user's own;
    - `return_train_score` and `return_estimator` are False;
    - `params` contains nothing but `sample_weight` and `sample_ids`;
    - a subclass overrides no method that its base class has.

    Otherwise, and for other estimators, the estimator is refitted to each fold, and `verbose=1`
    says why. With `scoring`, `return_train_score` and `return_estimator`, the refits of trees and
    grown forests share the encoded data, unless features are categorical or there are several
    processes. An error that fitting to all rows would raise is raised as it is, whatever
    `error_score` is; an error of one fold is scored with it.

    Parameters
    ----------
    estimator : estimator object implementing 'fit'
        The estimator that is cloned and fitted for each fold.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The data.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        The targets.
    groups : array-like of shape (n_samples,), default=None
        Group labels of the samples, which are passed to the splitter `cv`.
    scoring : str, callable, list, tuple, or dict, default=None
        What to evaluate, as in scikit-learn. Survival models also have the names of
        :func:`spinney.survival.make_survival_scorer`.
    cv : int, cross-validation generator or an iterable, default=None
        How the data are split, as in scikit-learn.
    n_jobs : int, default=None
        Number of threads for the shared work. None means the estimator's own `n_jobs`. Where folds
        are refitted, the number of folds that are refitted in parallel.
    verbose : int, default=0
        1 or more reports on stderr how many trees, of all folds, are done. Where folds are
        refitted, as in scikit-learn.
    params : dict, default=None
        Parameters that are passed to the estimator's `fit`, the scorer and the splitter.
    pre_dispatch : int or str, default='2*n_jobs'
        Where folds are refitted, the number of folds that are dispatched at once.
    return_train_score : bool, default=False
        Whether to return scores on the training sets, too.
    return_estimator : bool, default=False
        Whether to return the fitted estimators.
    return_indices : bool, default=False
        Whether to return the indices of the training and test rows of each fold.
    error_score : 'raise' or numeric, default=np.nan
        The score of a fold whose fit fails. "raise" raises the error.

    Returns
    -------
    scores : dict of float arrays of shape (n_splits,)
        As in scikit-learn. Where folds share their work, which trains and predicts together, its
        duration in seconds, divided by the number of folds, counts as `fit_time`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from spinney import RandomForestClassifier
    >>> from spinney.model_selection import cross_validate
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(20, bootstrap="poisson", random_state=0)
    >>> scores = cross_validate(forest, X, y, cv=10, scoring=["accuracy", "roc_auc"])
    >>> bool(scores["test_roc_auc"].mean() > 0.97)
    True
    """
    scoring = read_scoring(scoring)
    work = CrossValidation(estimator, X, y, groups, cv, params, n_jobs, verbose)
    obstacle = find_scoring_obstacle(scoring, error_score, several=True)
    if return_train_score is not False:
        obstacle = "`return_train_score` asks for predictions of training samples"
    elif return_estimator is not False:
        obstacle = "`return_estimator` asks for the fitted estimators"
    shared = work.share(obstacle, fails=isinstance(error_score, str))
    scores: dict[str, Any] = of_sklearn.cross_validate(
        **(shared or work.prepare_refits()),
        scoring=scoring,
        pre_dispatch=pre_dispatch,
        return_train_score=return_train_score,
        return_estimator=return_estimator,
        return_indices=return_indices,
        error_score=error_score,
    )
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

    Does what :func:`sklearn.model_selection.cross_val_score` does. For trees, forests and lazy
    forests of this package all folds share the encoded data, as :func:`cross_validate` describes.

    Parameters
    ----------
    estimator : estimator object implementing 'fit'
        The estimator that is cloned and fitted for each fold.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The data.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        The targets.
    groups : array-like of shape (n_samples,), default=None
        Group labels of the samples, which are passed to the splitter `cv`.
    scoring : str or callable, default=None
        What to evaluate, as in scikit-learn. Survival models also have the names of
        :func:`spinney.survival.make_survival_scorer`.
    cv : int, cross-validation generator or an iterable, default=None
        How the data are split, as in scikit-learn.
    n_jobs : int, default=None
        Number of threads for the shared work. None means the estimator's own `n_jobs`. Where folds
        are refitted, the number of folds that are refitted in parallel.
    verbose : int, default=0
        1 or more reports on stderr how many trees, of all folds, are done. Where folds are
        refitted, as in scikit-learn.
    params : dict, default=None
        Parameters that are passed to the estimator's `fit`, the scorer and the splitter.
    pre_dispatch : int or str, default='2*n_jobs'
        Where folds are refitted, the number of folds that are dispatched at once.
    error_score : 'raise' or numeric, default=np.nan
        The score of a fold whose fit fails. "raise" raises the error.

    Returns
    -------
    scores : ndarray of shape (n_splits,), float64
        The score of each fold.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from spinney import RandomForestClassifier
    >>> from spinney.model_selection import cross_val_score
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(20, bootstrap="poisson", random_state=0)
    >>> bool(cross_val_score(forest, X, y, cv=10).mean() > 0.9)
    True
    """
    scoring = read_scoring(scoring)
    work = CrossValidation(estimator, X, y, groups, cv, params, n_jobs, verbose)
    obstacle = find_scoring_obstacle(scoring, error_score, several=False)
    shared = work.share(obstacle, fails=isinstance(error_score, str))
    scores: NDArray[np.float64] = of_sklearn.cross_val_score(
        **(shared or work.prepare_refits()),
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

    Does what :func:`sklearn.model_selection.cross_val_predict` does. For trees, forests and lazy
    forests of this package all folds share the encoded data, as :func:`cross_validate` describes,
    and `class_weight` names classes by their labels for all methods. scikit-learn's function fits
    to codes of classes where `method` predicts probabilities, and looks these up in `class_weight`.

    Parameters
    ----------
    estimator : estimator object implementing 'fit' and `method`
        The estimator that is cloned and fitted for each fold.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The data.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        The targets.
    groups : array-like of shape (n_samples,), default=None
        Group labels of the samples, which are passed to the splitter `cv`.
    cv : int, cross-validation generator or an iterable, default=None
        How the data are split, as in scikit-learn.
    n_jobs : int, default=None
        Number of threads for the shared work. None means the estimator's own `n_jobs`. Where folds
        are refitted, the number of folds that are refitted in parallel.
    verbose : int, default=0
        1 or more reports on stderr how many trees, of all folds, are done. Where folds are
        refitted, as in scikit-learn.
    params : dict, default=None
        Parameters that are passed to the estimator's `fit`, the scorer and the splitter.
    pre_dispatch : int or str, default='2*n_jobs'
        Where folds are refitted, the number of folds that are dispatched at once.
    method : str, default='predict'
        The method of the estimator that predicts: 'predict', 'predict_proba', 'predict_log_proba',
        'decision_function', or any other one that takes samples and returns an array of a row for
        each, such as 'predict_survival_function', 'predict_quantile' or 'predict_standard_error'.
        Those are also found at the end of a pipeline.

    Returns
    -------
    predictions : ndarray, or list of ndarray
        As in scikit-learn; of 'predict_survival_function' an array of functions of time. Columns of
        probabilities are in the order of the sorted classes. For a class that does not occur in a
        training set they are 0, and their logarithms the lowest finite number.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import LeaveOneOut
    >>> from spinney import RandomForestClassifier
    >>> from spinney.model_selection import cross_val_predict
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(20, bootstrap="poisson", random_state=0)
    >>> bool((cross_val_predict(forest, X, y, cv=LeaveOneOut()) == y).mean() > 0.9)
    True
    """
    work = CrossValidation(estimator, X, y, groups, cv, params, n_jobs, verbose)
    asked: Any = method
    holders = (estimator, find_model(estimator)) if isinstance(asked, str) else ()
    if method not in _METHODS and any(hasattr(holder, method) for holder in holders):
        refits = work.prepare_refits()
        refits["estimator"] = AskedEstimator(refits["estimator"], method)
        return of_sklearn.cross_val_predict(**refits, pre_dispatch=pre_dispatch)
    shared = None
    # scikit-learn fits to codes where predictions have a column for each class.
    is_coded = method in ("predict_proba", "predict_log_proba") and hasattr(estimator, method)
    if method == "predict" or is_coded:
        shared = work.share(join=True, encode=is_coded)
    return of_sklearn.cross_val_predict(
        **(shared or work.prepare_refits(encode=is_coded)),
        pre_dispatch=pre_dispatch,
        method=method,
    )
