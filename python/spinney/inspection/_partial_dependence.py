"""Partial dependence: the prediction as one or two features vary, and nothing else is known."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats.mstats import mquantiles
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from spinney._common.checks import check_int, is_bool
from spinney._common.messages import reject_parameter
from spinney._common.types import DependenceKind
from spinney._data.arrays import CompressedMatrix
from spinney._spinney import Forest
from spinney.causal import CausalForest
from spinney.ensemble._boosted_trees import BoostedTrees
from spinney.ensemble._forest import BaseForest
from spinney.survival._base import StoredSurvivalModel
from spinney.survival._curves import read_times
from spinney.tree._base import BaseDecisionTree

_NAME = "partial_dependence"
_KINDS = ("average", "individual", "both")


class _Axis(NamedTuple):
    """A feature that varies."""

    feature: int
    values: NDArray[Any]
    """What is shown: numbers, or categories."""
    codes: NDArray[np.float64]
    """What the compiled trees take."""


def partial_dependence(
    estimator: Any,
    X: Any,
    features: Any,
    *,
    kind: DependenceKind = "average",
    grid_resolution: int = 100,
    percentiles: tuple[float, float] = (0.05, 0.95),
    times: Any = None,
) -> Bunch:
    """Return the prediction of trees as one or two features vary.

    The average is a recursion over the trees: a split on a feature that varies is followed as its
    value says, and at any other split both children count, in proportion to the training weight
    that they had. It is what :func:`sklearn.inspection.partial_dependence` finds by
    ``method="recursion"``, for each class and each output, also with sample weights, missing
    values and categories. Individual curves (ICE) are predictions for the samples with the values
    of the grid in the place of their own.

    Parameters
    ----------
    estimator : tree or forest
        A fitted estimator of this package. Lazy forests have no trees.
    X : {array-like, sparse matrix, data frame, Dataset} of shape (n_samples, n_features)
        Samples: the grid spans their values, and individual curves are theirs. The values of a
        `Dataset` are copied into a matrix.
    features : int, str, or array-like of one or two of these
        The features that vary, by number or name.
    kind : {"average", "individual", "both"}, default="average"
        Whether to return the average, the curve of each sample, or both. The average is not the
        mean of the curves, because other features keep their values in the curves only.
    grid_resolution : int, default=100
        Number of values of a feature. If it has no more distinct values than this, or is
        categorical, the grid has all of them. Missing values are never in the grid, so a feature
        without any other is refused.
    percentiles : tuple of two floats, default=(0.05, 0.95)
        The first and the last value of the grid of a numeric feature, as quantiles.
    times : array-like of shape (n_times,), default=None
        For a survival model, times, ascending: what depends on the features is then the probability
        that no event has happened up to each of them. None means the risk.

    Returns
    -------
    predictions : Bunch
        average : ndarray of shape (n_targets, n_values_1[, n_values_2]), float64
            Numbers, shares of classes, or effects of a causal forest. The targets are the outputs;
            or the classes, of two classes the second alone; or `times`. Not with
            ``kind="individual"``.
        individual : ndarray of shape (n_targets, n_samples, n_values_1[, n_values_2]), float64
            Not with ``kind="average"``.
        grid_values : list of ndarray
            The values of each feature; categories by their names.

        :class:`sklearn.inspection.PartialDependenceDisplay` takes a list of these.

    Raises
    ------
    ValueError, TypeError
        If an argument is illegal, or for several outputs of classes. The message names it.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from spinney import RandomForestRegressor
    >>> from spinney.inspection import partial_dependence
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> forest = RandomForestRegressor(20, random_state=0).fit(X, y)
    >>> found = partial_dependence(forest, X, ["bmi"], grid_resolution=3)
    >>> found["average"].shape
    (1, 3)
    """
    if not isinstance(estimator, (BaseDecisionTree, BaseForest, BoostedTrees, CausalForest)):
        expected = "a tree, a forest or boosting of spinney"
        reject_parameter(_NAME, "estimator", estimator, expected)
    check_is_fitted(estimator)
    if kind not in _KINDS:
        reject_parameter(_NAME, "kind", kind, f"a str among {set(_KINDS)}")
    check_int(_NAME, "grid_resolution", grid_resolution, 2)
    if estimator._task == "classification" and estimator.n_outputs_ > 1:
        raise ValueError(
            f"{_NAME} takes one output of classes. Got {estimator.n_outputs_} of them."
        )
    if times is None:
        forest = estimator._get_forest()
    elif isinstance(estimator, StoredSurvivalModel):
        forest = estimator._make_forest_of_curves(read_times(times))
    else:
        reject_parameter(_NAME, "times", times, "None for a model that is no survival model")
    samples = estimator._validate_values(X)
    if isinstance(samples, CompressedMatrix):
        parts = (samples.data, samples.indices, samples.indptr)
        samples = sparse.csr_matrix(parts, shape=samples.shape)
    chosen = _read_features(estimator, features)
    axes = [
        _make_axis(estimator, samples, feature, grid_resolution, percentiles) for feature in chosen
    ]
    grid = np.array(np.meshgrid(*(axis.codes for axis in axes), indexing="ij"))
    points = grid.reshape(len(axes), -1)
    shape = tuple(axis.codes.shape[0] for axis in axes)
    result = Bunch(grid_values=[axis.values for axis in axes])
    if kind != "individual":
        average = estimator._average_over_others(chosen, points, forest)
        result["average"] = _select_targets(estimator, average).T.reshape(-1, *shape)
    if kind != "average":
        predict = partial(_predict_values, estimator, forest)
        curves = _predict_each(predict, samples, chosen, points)
        individual = np.moveaxis(_select_targets(estimator, curves), 2, 0)
        result["individual"] = individual.reshape(*individual.shape[:2], *shape)
    return result


def _read_features(estimator: Any, features: Any) -> list[int]:
    """Return the numbers of the features that vary."""
    is_several = isinstance(features, (list, tuple)) or np.ndim(features) == 1
    given = list(features) if is_several else [features]
    if len(given) == 1 and isinstance(given[0], (list, tuple)):
        # One pair, as scikit-learn's displays take several.
        given = list(given[0])
    names = list(getattr(estimator, "feature_names_in_", []))
    numbers = []
    for feature in given:
        if isinstance(feature, str) and feature in names:
            numbers.append(names.index(feature))
        elif (
            isinstance(feature, Integral)
            and not is_bool(feature)
            and 0 <= int(feature) < estimator.n_features_in_
        ):
            numbers.append(int(feature))
    if len(numbers) != len(given) or not 1 <= len(set(numbers)) == len(numbers) <= 2:
        expected = (
            "one or two different features, by their names or by ints in the range "
            f"[0, {estimator.n_features_in_})"
        )
        reject_parameter(_NAME, "features", features, expected)
    return numbers


def _make_axis(
    estimator: Any, samples: Any, feature: int, resolution: int, percentiles: Any
) -> _Axis:
    """Return the values of a feature."""
    if estimator.is_categorical_ is not None and estimator.is_categorical_[feature]:
        categories = estimator.categories_[feature]
        if len(categories) == 0:
            raise ValueError(
                f"features must have features that had values in fit. Got the feature {feature}, "
                "which is categorical and had none: all of its values were missing."
            )
        return _Axis(feature, categories, np.arange(len(categories), dtype=np.float64))
    column = samples[:, [feature]]
    column = np.ravel(column.toarray() if sparse.issparse(column) else column).astype(np.float64)
    column = column[~np.isnan(column)]
    values = np.unique(column)
    if values.size == 0:
        raise ValueError(f"X must have values of the feature {feature}. All are missing.")
    if values.size > resolution:
        try:
            first, last = (float(part) for part in percentiles)
        except (TypeError, ValueError):
            first, last = 1.0, 0.0
        if not 0 <= first < last <= 1:
            expected = "two floats in the range [0, 1], the first below the second"
            reject_parameter(_NAME, "percentiles", percentiles, expected)
        low, high = mquantiles(column, prob=(first, last))
        values = np.linspace(low, high, resolution)
    return _Axis(feature, values, values)


def _predict_values(estimator: Any, forest: Forest, rows: Any) -> NDArray[np.float64]:
    """Return what is averaged: means over trees, raw predictions of boosting, or effects."""
    if isinstance(estimator, BoostedTrees):
        raw: NDArray[np.float64] = estimator._add_rounds(rows) + estimator._get_constant()
        return raw
    values: NDArray[np.float64] = estimator._predict_dependent(rows, forest)
    return values


def _predict_each(
    predict: Callable[[Any], NDArray[np.float64]],
    samples: Any,
    features: list[int],
    points: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the predictions for samples with other values: (n_samples, n_points, n_values)."""
    cells: list[Any]
    if sparse.issparse(samples):
        # All cells of the features are stored, so that new values go where the old ones are.
        rows = samples.astype(np.float64).tolil()
        rows[:, features] = 1
        rows = rows.tocsr()
        cells = [np.flatnonzero(rows.indices == feature) for feature in features]
        stored = rows.data
    else:
        rows = stored = np.array(samples, dtype=np.float64)
        cells = [np.s_[:, feature] for feature in features]
    predictions = []
    for point in points.T:
        for of_feature, value in zip(cells, point, strict=True):
            stored[of_feature] = value
        predictions.append(predict(rows))
    return np.stack(predictions, axis=1)


def _select_targets(estimator: Any, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values that are shown, as scikit-learn has them: of two classes the second."""
    has_two_classes = estimator._task == "classification" and values.shape[-1] == 2
    return values[..., 1:] if has_two_classes else values
