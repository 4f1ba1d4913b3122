"""Averages and summaries of effects by doubly robust scores, with standard errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, rankdata

from spinney.causal._moments import check_alpha, find_intervals

# Halves of the groups that are drawn for the standard error of a rank-weighted average.
_N_HALVES = 200


class Estimate(NamedTuple):
    """A number and its standard error.

    See Also
    --------
    CausalForest.average_treatment_effect : Returns such an object.

    Examples
    --------
    >>> from spinney.causal import Estimate
    >>> low, high = Estimate(2.0, 0.5).interval()
    >>> round(low, 2), round(high, 2)
    (1.02, 2.98)
    """

    estimate: float
    standard_error: float

    def interval(self, alpha: float = 0.05) -> tuple[float, float]:
        """Return the bounds of a normal interval that misses with a chance of `alpha`.

        Parameters
        ----------
        alpha : float, default=0.05

        Returns
        -------
        bounds : tuple of two float
        """
        check_alpha(alpha)
        low, high = find_intervals(self.estimate, self.standard_error, alpha)
        return float(low), float(high)


class LinearEstimates(NamedTuple):
    """The coefficients of a linear regression, their standard errors and p-values.

    See Also
    --------
    CausalForest.best_linear_projection : Returns such an object.

    Examples
    --------
    >>> from spinney.causal import LinearEstimates
    >>> LinearEstimates(coef=[1.0], standard_errors=[0.5], p_values=[0.046]).coef
    [1.0]
    """

    coef: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    p_values: NDArray[np.float64]


class Scored(NamedTuple):
    """The training rows that an estimate is made of."""

    outcomes: NDArray[np.float64]
    """Less what was expected."""
    treatments: NDArray[np.float64]
    """Less what was expected."""
    expected_treatments: NDArray[np.float64]
    effects: NDArray[np.float64]
    """Out of bag."""
    pushes: NDArray[np.float64]
    """What is random of a treatment, by its variance: the weights of residuals in scores.

    With an instrument this is of the instrument, by what it changes the treatment, too."""
    weights: NDArray[np.float64]
    groups: NDArray[np.int64]

    def take(self, rows: NDArray[Any]) -> Scored:
        """Return some of the rows."""
        return Scored(*(part[rows] for part in self))

    def score(self) -> NDArray[np.float64]:
        """Return doubly robust scores, whose mean is the average effect."""
        bad = int(np.count_nonzero(~np.isfinite(self.pushes)))
        if bad:
            raise ValueError(
                f"{bad} samples have no overlap: their treatment is certain, given their features "
                "(see expected_t_). Leave them out by `subset`, or estimate target='overlap'."
            )
        left = self.outcomes - self.effects * self.treatments
        return self.effects + self.pushes * left


def average(scores: NDArray[np.float64], scored: Scored) -> Estimate:
    """Return the weighted mean of scores."""
    total = scored.weights.sum()
    estimate = float(scored.weights @ scores / total)
    parts = scored.weights * (scores - estimate) / total
    return Estimate(estimate, _find_error(parts, scored.groups))


def average_of_arm(scored: Scored, *, of_treated: bool) -> Estimate:
    """Return the average effect on the treated, or on the others.

    What the forest predicts for them is corrected by the residuals of both arms. Those of the other
    arm weigh by the odds of being in this one, and weights are normalised.
    """
    e = scored.expected_treatments
    is_treated = scored.treatments + e > 0.5
    in_arm = is_treated == of_treated
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = e / (1.0 - e) if of_treated else (1.0 - e) / e
    bad = int(np.count_nonzero(~np.isfinite(odds[~in_arm])))
    if bad:
        raise ValueError(
            f"{bad} samples have no overlap: see expected_t_. Leave them out by `subset`, or "
            "estimate target='overlap'."
        )
    own = np.where(in_arm, scored.weights, 0.0)
    others = np.where(in_arm, 0.0, scored.weights * np.where(in_arm, 0.0, odds))
    if not (own.sum() > 0 and others.sum() > 0):
        raise ValueError("Both arms must have samples of positive weight in `subset`.")
    residuals = scored.outcomes - scored.effects * scored.treatments
    mean = own @ scored.effects / own.sum()
    sign = 1.0 if of_treated else -1.0
    corrections = sign * residuals * (own / own.sum() - others / others.sum())
    parts = own * (scored.effects - mean) / own.sum() + corrections
    return Estimate(float(mean + corrections.sum()), _find_error(parts, scored.groups))


def average_of_overlap(scored: Scored) -> Estimate:
    """Return the effect, averaged by the variance of the treatment: a linear regression."""
    design = np.column_stack([np.ones(len(scored.weights)), scored.treatments])
    found = regress(scored.outcomes, design, scored)
    return Estimate(float(found.coef[1]), float(found.standard_errors[1]))


def regress(y: NDArray[np.float64], design: NDArray[np.float64], scored: Scored) -> LinearEstimates:
    """Return weighted least squares with standard errors HC3, summed by groups.

    p-values are those of two sides.
    """
    roots = np.sqrt(scored.weights)
    scaled = design * roots[:, None]
    inverse = np.linalg.pinv(scaled.T @ scaled)
    if np.linalg.matrix_rank(scaled) < design.shape[1]:
        raise ValueError("The columns of the regression must be linearly independent.")
    coef = inverse @ (scaled.T @ (roots * y))
    leverage = np.einsum("ij,jk,ik->i", scaled, inverse, scaled)
    residuals = roots * (y - design @ coef) / np.maximum(1.0 - leverage, 1e-12)
    sums = _sum_by_group(scaled * residuals[:, None], scored.groups)
    errors = np.sqrt(np.diag(inverse @ (sums.T @ sums) @ inverse))
    return LinearEstimates(coef, errors, 2.0 * norm.sf(np.abs(coef) / errors))


def rank_average(
    scores: NDArray[np.float64],
    priorities: NDArray[np.float64],
    scored: Scored,
    target: str,
    seed: int,
) -> Estimate:
    """Return the area under the curve of targeting, and its error from halves of the groups."""
    areas = [
        _find_area(scores[rows], priorities[rows], scored.weights[rows], target)
        for rows in _list_halves(scored.groups, seed)
    ]
    estimate = _find_area(scores, priorities, scored.weights, target)
    return Estimate(estimate, float(np.std(areas, ddof=1)))


def trace_targeting(
    scores: NDArray[np.float64],
    priorities: NDArray[np.float64],
    scored: Scored,
    shares: NDArray[np.float64],
    seed: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the curve of targeting at some shares of the weight, and its errors from halves."""

    def trace(rows: Any) -> NDArray[np.float64]:
        _, found, curve = _find_curve(scores[rows], priorities[rows], scored.weights[rows])
        return np.interp(shares, found, curve)

    curves = [trace(rows) for rows in _list_halves(scored.groups, seed)]
    return trace(slice(None)), np.std(curves, axis=0, ddof=1)


def _list_halves(groups: NDArray[np.int64], seed: int) -> Iterator[NDArray[np.bool_]]:
    """Yield the rows of random halves of the groups."""
    codes = np.unique(groups, return_inverse=True)[1].ravel()
    n_groups = int(codes.max()) + 1
    generator = np.random.default_rng(seed)
    for _ in range(_N_HALVES):
        chosen = np.zeros(n_groups, dtype=bool)
        chosen[generator.permutation(n_groups)[: n_groups // 2]] = True
        yield chosen[codes]


def _find_area(
    scores: NDArray[np.float64],
    priorities: NDArray[np.float64],
    weights: NDArray[np.float64],
    target: str,
) -> float:
    of_rows, shares, curve = _find_curve(scores, priorities, weights)
    counted = np.ones_like(shares) if target == "AUTOC" else shares
    return float(of_rows @ (counted * curve) / of_rows.sum())


def _find_curve(
    scores: NDArray[np.float64], priorities: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return weights by priority, their cumulative shares, and what these gain above the mean."""
    places = rankdata(-priorities, method="dense") - 1
    # Rows of the same priority have the mean of their scores.
    of_place = np.bincount(places, weights)
    means = np.bincount(places, weights * scores) / of_place
    order = np.argsort(places, kind="stable")
    of_rows, means = weights[order], means[places[order]]
    sums = np.cumsum(of_rows)
    curve = np.cumsum(of_rows * means) / sums - of_rows @ means / sums[-1]
    if len(of_place) == 1:
        # Exactly: rounding is no effect of priorities that are all the same.
        curve[:] = 0.0
    return of_rows, sums / sums[-1], curve


def _sum_by_group(values: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    codes = np.unique(groups, return_inverse=True)[1].ravel()
    sums = np.zeros((int(codes.max()) + 1, *values.shape[1:]))
    np.add.at(sums, codes, values)
    return sums


def _find_error(parts: NDArray[np.float64], groups: NDArray[np.int64]) -> float:
    """Return the standard error of a sum over rows, by groups."""
    sums = _sum_by_group(parts, groups)
    n_groups = len(sums)
    if n_groups < 2:
        raise ValueError("A standard error needs at least two groups.")
    return float(np.sqrt(np.sum(sums**2) * n_groups / (n_groups - 1)))
