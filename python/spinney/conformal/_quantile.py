"""Intervals between quantiles, moved so that they cover (conformalized quantile regression)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from spinney._common.checks import check_targets_are_numbers
from spinney._common.messages import reject_parameter
from spinney._common.types import RandomState
from spinney._fit.params import store_parameters
from spinney.conformal._intervals import ConformalRegressor, find_quantile
from spinney.conformal._levels import BagConformal, find_mass
from spinney.conformal._models import fit_model, get_forest, transform
from spinney.conformal._split import Parting, fit_to, part_samples, read_parting
from spinney.conformal._weights import Training, read_training
from spinney.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestQuantileRegressor,
)
from spinney.ensemble._quantile_base import QuantileForestRegressor

if TYPE_CHECKING:
    from typing_extensions import Self

_BOOSTING = (GradientBoostingRegressor, HistGradientBoostingRegressor)


class ConformalizedQuantileRegressor(BagConformal, ConformalRegressor):
    """Intervals between quantiles of a model, corrected so that they cover new targets.

    Intervals between quantiles are wide where targets spread and narrow elsewhere, but may cover
    less or more often than they should. How far targets that the model has not seen lie outside of
    their quantiles determines by how much the bounds are moved. Of a forest, these are the training
    targets and their quantiles out of bag, and no second forest is grown. Boosting has no trees
    that have not seen a sample: samples are held out, and one model of the others predicts the
    quantiles of all levels and the median.

    Parameters
    ----------
    estimator : quantile forest, boosting of quantiles, Pipeline or None, default=None
        A `RandomForestQuantileRegressor` or `ExtraTreesQuantileRegressor`, not fitted, whose trees
        leave samples out; a ``GradientBoostingRegressor(loss="quantile")``, whose `alpha` is set to
        all quantiles, or a ``HistGradientBoostingRegressor(loss="quantile")``, whose `quantile` is;
        or a pipeline that ends in one of these. None means
        ``RandomForestQuantileRegressor(min_samples_leaf=5)``.
    confidence_level : float or list of float, default=0.9
        How often intervals shall cover.
    bounds : tuple of two float or None, default=None
        The least and the largest value that a target can have, None where there is no such value:
        ``(0, None)`` for counts. Intervals end there; the targets of `fit` must be within.
    conformalize_size : float or int, default=0.25
        How many samples are held out with boosting: a share, or a number. Forests hold none out.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice of the samples that are held out with boosting.

    Attributes
    ----------
    estimator_ : quantile forest, boosting of quantiles, or Pipeline
        The fitted model.
    conformity_scores_ : ndarray of shape (n_samples_not_seen, 2, n_levels)
        How far targets are below the lower quantile of each level, and how far above the upper one;
        negative inside. Of the samples out of bag, or of those that are held out.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    JackknifeAfterBootstrapRegressor : Intervals around means.

    Notes
    -----
    The paper keeps a part of the samples for calibration, as is done here with boosting: intervals
    then cover with a probability of at least the level, if samples are exchangeable. With forests,
    all samples both grow the forest and calibrate it, out of bag. The guarantee of the paper then
    does not hold; in practice coverage is close to the level.

    References
    ----------
    Y. Romano, E. Patterson, E. J. Candes, "Conformalized quantile regression", NeurIPS 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from spinney.conformal import ConformalizedQuantileRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ConformalizedQuantileRegressor().fit_conformalize(X[:400], y[:400])
    >>> median, intervals = model.predict_interval(X[400:])
    >>> intervals.shape
    (42, 2, 1)
    """

    conformalize_size: Any
    random_state: Any

    estimator_: Any
    conformity_scores_: NDArray[np.float64]

    def __init__(
        self,
        estimator: Any = None,
        *,
        confidence_level: Any = 0.9,
        bounds: Any = None,
        conformalize_size: Any = 0.25,
        random_state: RandomState = None,
    ) -> None:
        store_parameters(locals())

    def fit_conformalize(
        self, X: Any, y: Any, sample_weight: Any = None, samples: Any = None
    ) -> Self:
        """Fit the estimator, and find out by how much its quantiles must be moved.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples.
        y : array-like of shape (n_samples,)
            The targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights for the estimator and for the scores. Samples of weight 0 are as if absent. If
            all weights are whole numbers, the score of a sample of weight w counts as w scores,
            otherwise as many as its weight is of the mean weight.
        samples : default=None
            As for the forest: whole groups of samples can be left out of trees together. Must be
            None with boosting.

        Returns
        -------
        self : object
        """
        levels, parting = self._read_levels(), read_parting(self)
        self._read_bounds()
        model = self._make_forest(
            lambda: RandomForestQuantileRegressor(min_samples_leaf=5),
            (QuantileForestRegressor, *_BOOSTING),
        )
        forest = get_forest(model)
        if isinstance(forest, _BOOSTING):
            if samples is not None:
                raise ValueError("samples must be None with boosting: they are of single trees.")
            return self._fit_boosting(model, levels, parting, read_training(X, y, sample_weight))
        if not forest.bootstrap:
            raise ValueError(
                "Intervals come from trees that have not seen a sample: set bootstrap=True."
            )
        training = read_training(X, y, sample_weight)
        fit_model(
            model,
            training.X,
            training.y,
            sample_weight=training.sample_weight,
            samples=training.take_samples(samples),
        )
        self._check_one_output(forest)
        targets = self._read_targets(training.y).reshape(-1, 1)
        rows = transform(model, training.X)
        bounds = forest.predict(rows, _list_quantiles(levels), oob_score=True)
        scores = _score(bounds, targets)
        is_known = ~np.isnan(scores).any(axis=(1, 2))
        copies = training.count_copies()
        copies = None if copies is None else copies[is_known]
        self._check_levels(int(np.count_nonzero(is_known)), copies)
        return self._adopt(model, scores[is_known], levels, copies, training.X)

    def _fit_boosting(
        self, model: Any, levels: list[float], parting: Parting, training: Training
    ) -> Self:
        """Boost a part of the samples for all quantiles at once, and score the others."""
        boosting = get_forest(model)
        if boosting.loss != "quantile":
            reject_parameter(
                type(self).__name__,
                "estimator",
                self.estimator,
                'a quantile forest, or boosting with loss="quantile"',
            )
        check_consistent_length(training.X, training.y)
        targets = check_targets_are_numbers(training.y, ensure_2d=False)
        training = training._replace(y=self._read_targets(targets))
        fitted_to, held_out = part_samples(training, None, parting)
        quantiles = _list_quantiles(levels)
        boosting.set_params(**{boosting._level: sorted({*quantiles, 0.5})})
        model = fit_to(model, fitted_to)
        scores = _score(_predict(model, held_out.X, quantiles), held_out.y.reshape(-1, 1))
        copies = held_out.count_copies()
        self._check_levels(scores.shape[0], copies)
        return self._adopt(model, scores, levels, copies, held_out.X)

    def _adopt(
        self,
        model: Any,
        scores: NDArray[np.float64],
        levels: list[float],
        copies: NDArray[np.float64] | None,
        X: Any,
    ) -> Self:
        self.estimator_, self.conformity_scores_ = model, scores
        self.n_features_in_ = self._count_features(X)
        self._levels, self._copies = levels, copies
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the median of the target of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return _predict(self.estimator_, X, [0.5]).ravel()

    def _bound(
        self, X: Any, levels: list[float], shortest: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if levels != self._levels:
            raise ValueError(
                f"Quantiles were moved for confidence_level={self._levels}. Got {levels}: fit "
                "again."
            )
        bounds = _predict(self.estimator_, X, _list_quantiles(levels))
        per_level = np.moveaxis(self.conformity_scores_, 2, 0)
        find_moves = _find_shortest_moves if shortest else _find_equal_moves
        copies = self._copies
        self._check_levels(self.conformity_scores_.shape[0], copies, 2 if shortest else 1)
        moves = [
            find_moves(own, level, copies) for own, level in zip(per_level, levels, strict=True)
        ]
        down, up = np.array(moves).T
        lower, upper = bounds[:, : len(levels)] - down, bounds[:, len(levels) :] + up
        # Bounds that are moved inwards past each other meet in the middle.
        middle = (lower + upper) / 2.0
        return np.minimum(lower, middle), np.maximum(upper, middle)


def _predict(model: Any, X: Any, quantiles: list[float]) -> NDArray[np.float64]:
    """Return quantiles of shape (n_samples, n_quantiles); boosting knows those of its fit."""
    forest, rows = get_forest(model), transform(model, X)
    found: NDArray[np.float64]
    if isinstance(forest, _BOOSTING):
        known = getattr(forest, forest._level)
        found = forest.predict(rows)[:, [known.index(quantile) for quantile in quantiles]]
    else:
        found = forest.predict(rows, quantiles)
    return found


def _score(bounds: NDArray[np.float64], targets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far targets, of shape (n_samples, 1), are outside of bounds, for each level."""
    lower, upper = np.split(bounds, 2, axis=1)
    return np.stack([lower - targets, targets - upper], axis=1)


def _list_quantiles(levels: list[float]) -> list[float]:
    """Return the lower quantiles of all levels, and then the upper ones."""
    return [(1 - level) / 2 for level in levels] + [(1 + level) / 2 for level in levels]


def _find_equal_moves(
    scores: NDArray[np.float64], level: float, copies: NDArray[np.float64] | None
) -> tuple[float, float]:
    """Return by how much bounds must be moved outwards, both as far."""
    move = find_quantile(scores.max(axis=1), level, copies)
    return move, move


def _find_shortest_moves(
    scores: NDArray[np.float64], level: float, copies: NDArray[np.float64] | None
) -> tuple[float, float]:
    """Return by how much each bound must be moved outwards so that intervals are the shortest."""
    counts = np.ones(scores.shape[0]) if copies is None else copies
    # So many of the scores may be beyond the two moves; one more may be at either of them.
    n_beyond = counts.sum() - 1 - find_mass(level, counts.sum())
    orders = np.argsort(-scores, axis=0, kind="stable").T
    below, above = (scores[order, side] for side, order in enumerate(orders))
    beyond_down, beyond_up = (np.cumsum(counts[order]) - counts[order] for order in orders)
    n_downs = int(np.searchsorted(beyond_down, n_beyond, side="right"))
    rest = n_beyond - beyond_down[:n_downs]
    downs = below[:n_downs]
    ups = above[np.searchsorted(beyond_up, rest, side="right") - 1]
    best = int(np.argmin(downs + ups))
    return float(downs[best]), float(ups[best])
