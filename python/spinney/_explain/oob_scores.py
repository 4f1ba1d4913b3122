"""Importances by scores of what a forest predicts out of bag."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import check_scoring, get_scorer, get_scorer_names

from spinney._common.progress import show_progress
from spinney._common.rows import take_rows
from spinney._fit.draws import Draws
from spinney._fit.survival import read_survival, score_risks
from spinney._spinney import forest_oob_changes


class _OobEstimator(BaseEstimator):
    """Stands in scorers for a forest: predicts, out of bag, for the samples that it holds."""

    _forest: Any
    _sums: NDArray[np.float64]
    _counts: NDArray[np.uint32]

    def hold(self, forest: Any, sums: NDArray[np.float64], counts: NDArray[np.uint32]) -> None:
        """Take sums of what trees predict for samples, and the numbers of these trees."""
        self._forest, self._sums, self._counts = forest, sums, counts
        for name in ("n_features_in_", "n_outputs_", "classes_", "n_classes_", "cause"):
            if hasattr(forest, name):
                setattr(self, name, getattr(forest, name))

    def fit(self, X: Any, y: Any) -> NoReturn:  # noqa: ARG002 - scikit-learn asks for the method
        """Raise TypeError."""
        raise TypeError("A scorer gets an estimator that predicts out of bag and cannot be fitted.")

    def _find_values(self, X: Any) -> NDArray[np.float64]:
        """Return the means over the trees, in the shape that `_split_outputs` describes."""
        n_given = X.shape[0] if hasattr(X, "shape") else len(X)
        if n_given != self._sums.shape[0]:
            raise ValueError(
                "The estimator that a scorer gets predicts out of bag for all samples of its X, "
                f"{self._sums.shape[0]} of them, and for no others. Got {n_given} samples."
            )
        means = self._sums / self._counts[:, np.newaxis]
        values: NDArray[np.float64] = self._forest._split_outputs(means)
        return values


class _OobClassifier(ClassifierMixin, _OobEstimator):
    def predict(self, X: Any) -> NDArray[Any]:
        labels: NDArray[Any] = self._forest._choose_labels(self._find_values(X))
        return labels

    def predict_proba(self, X: Any) -> Any:
        return self._forest._list_probabilities(self._find_values(X))


class _OobRegressor(RegressorMixin, _OobEstimator):
    def predict(self, X: Any) -> NDArray[np.float64]:
        return self._find_values(X)[..., 0]


class _OobSurvival(_OobEstimator):
    def predict(self, X: Any) -> NDArray[np.float64]:
        return self._find_values(X)[..., 0]

    def score(self, X: Any, y: Any) -> float:
        return score_risks(read_survival(y), self.predict(X), self._forest.cause)


_ESTIMATORS = {
    "classification": _OobClassifier,
    "regression": _OobRegressor,
    "survival": _OobSurvival,
}


# What `make_scorer` returns.
_SCORER = type(get_scorer("accuracy"))


def is_scorer_name(name: Any) -> bool:
    """Return whether scikit-learn has a scorer of this name."""
    return isinstance(name, str) and name in get_scorer_names()


def find_scorer(score: Any) -> Any:
    """Return a scorer of scikit-learn, given it or its name; None for anything else."""
    if isinstance(score, str):
        return get_scorer(score)
    return score if isinstance(score, _SCORER) else None


def score_values(forest: Any, values: NDArray[np.float64], y: NDArray[Any], scorer: Any) -> float:
    """Return the score of what a forest predicts out of bag; NaN if there are no samples.

    Parameters
    ----------
    forest : grown forest
    values : ndarray
        Predicted values in the shape that `_split_outputs` describes.
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Targets: labels, or numbers.
    scorer : callable
        Is called with an estimator, X and y, and may ask the estimator for classes or
        probabilities. X has no values.
    """
    n_samples = values.shape[0]
    if n_samples == 0:
        return np.nan
    oob = _ESTIMATORS[forest._task]()
    oob.hold(forest, values.reshape(n_samples, -1), np.ones(n_samples, dtype=np.uint32))
    return _make_score(oob, np.broadcast_to(0.0, (n_samples, 1)), y, scorer, "oob_score")()


def score_permutations(
    forest: Any,
    X: Any,
    training: tuple[Any, Any, Draws, NDArray[np.bool_] | None],
    scoring: Any,
    groups: tuple[NDArray[np.uint32], int],
    repeats: tuple[int, int],
    verbose: int,
) -> NDArray[np.float64]:
    """Return what the score of a forest out of bag loses if columns are permuted.

    Parameters
    ----------
    forest : grown forest
    X : ndarray or CompressedMatrix of shape (n_samples, n_features)
        The training samples, in the form that the compiled part takes.
    training : tuple of (X, y, Draws, ndarray of bool of shape (n_samples,) or None)
        The samples and their targets as the user has given them, how samples were drawn, and which
        of them count.
    scoring : str or callable
    groups : tuple of (ndarray of shape (n_features,), int)
        The group of each feature, and the number of groups. Other features are left as they are.
    repeats : tuple of (int, int)
        Their number, and the seed of the permutations of samples, one per repeat, as
        `numpy.random.RandomState(seed)` draws them.
    verbose : int

    Returns
    -------
    importances : ndarray of shape (n_groups, n_repeats), float64
    """
    samples, y, draws, asked = training
    n_repeats, seed = repeats
    if forest.n_outputs_ == 1 and forest._task != "survival":
        y = np.ravel(y)
    group_of, n_groups = groups
    n_threads = forest._count_threads()
    sums, counts = forest.forest_.sum_oob(X, draws, n_threads)
    known = np.flatnonzero(counts if asked is None else counts * asked)
    if known.size == 0:
        raise ValueError("There is no tree that has not seen all samples.")
    if known.size < counts.size:
        samples, y = take_rows(samples, known), forest._take_given(y, known)
        sums, counts = sums[known], counts[known]
    # Where a sample is among those that a tree has not seen.
    place_of = np.zeros(X.shape[0], dtype=np.intp)
    place_of[known] = np.arange(known.size)
    oob = _ESTIMATORS[forest._task]()
    oob.hold(forest, sums, counts)
    score = _make_score(oob, samples, y, scoring)
    baseline = score()
    importances = np.zeros((n_groups, n_repeats))
    random = np.random.RandomState(seed)
    for repeat in range(n_repeats):
        donors = random.permutation(X.shape[0]).astype(np.uint32)
        with show_progress(verbose, 0, len(forest.forest_), "permuting") as watcher:
            starts, rows, changed = forest_oob_changes(
                forest.forest_, X, draws, group_of, n_groups, donors, asked, n_threads, watcher
            )
        for group in np.flatnonzero(np.diff(starts)):
            part = slice(starts[group], starts[group + 1])
            places = place_of[rows[part]]
            before = sums[places]
            sums[places] = changed[part]
            importances[group, repeat] = baseline - score()
            sums[places] = before
    return importances


def _make_score(
    oob: _OobEstimator, X: Any, y: Any, scoring: Any, name: str = "scoring"
) -> Callable[[], float]:
    """Return a function that scores the present predictions; `name` is the argument's."""
    scorer = check_scoring(oob, scoring=scoring)

    def score() -> float:
        value = scorer(oob, X, y)
        if not isinstance(value, Real):
            raise TypeError(
                f"{name} must return a number. Got {value!r} ({type(value).__name__}) instead."
            )
        return float(value)

    return score
