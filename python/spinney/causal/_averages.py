"""What a causal forest says of its training samples: averages and summaries of effects."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spinney._common.messages import warn_caller
from spinney.causal._arguments import read_numbers
from spinney.causal._estimates import (
    Estimate,
    LinearEstimates,
    Scored,
    average,
    average_of_arm,
    average_of_overlap,
    rank_average,
    regress,
    trace_targeting,
)

# With an instrument, what is hidden moves both outcomes and treatments. So the effects that explain
# outcomes best by treatments are not the true ones.
INSTEAD = "Take rank_average_treatment_effect or best_linear_projection"
# What an instrument does to treatments, by their standard deviation, is next to nothing below this.
_WEAK = 0.01


class AverageEffects:
    """Mixin of the forests that know the effects at their training samples, out of bag."""

    is_binary_: bool
    oob_prediction_: NDArray[np.float64]
    expected_y_: NDArray[np.float64]
    expected_t_: NDArray[np.float64]
    expected_z_: NDArray[np.float64] | None
    # Of the training samples: treatments, outcomes, weights, numbers of groups (-1: of weight 0),
    # instruments, and what these do to treatments; and the variance of the treatment given the
    # features, unless it is binary or there are instruments.
    _treatments: NDArray[np.float64]
    _outcomes: NDArray[np.float64]
    _weights: NDArray[np.float64] | None
    _groups: NDArray[np.int64]
    _spread: NDArray[np.float64] | None
    _instruments: NDArray[np.float64] | None
    _compliance: NDArray[np.float64] | None
    _seed: int

    def scores(self) -> NDArray[np.float64]:
        """Return the doubly robust score of each training sample.

        The mean of the scores is the average effect, also if either the effects or the propensities
        are somewhat wrong. Means over groups of samples, and regressions on features, are estimates
        for these.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            float64. NaN for samples of weight 0.

        Raises
        ------
        ValueError
            If the treatment of a sample is certain, given its features.
        """
        scored, rows = self._list_scored(None)
        scores = np.full(len(self._treatments), np.nan)
        scores[rows] = scored.score()
        return scores

    def average_treatment_effect(
        self,
        target: Literal["all", "treated", "control", "overlap"] = "all",
        *,
        subset: Any = None,
    ) -> Estimate:
        """Return the average effect of the treatment, and its standard error.

        Parameters
        ----------
        target : {"all", "treated", "control", "overlap"}, default="all"
            Over which samples: all, those with or without the treatment, or all by the variance of
            their treatment, which is small where one of the arms is rare.
        subset : array-like of shape (n_samples,) or (n,), default=None
            A mask or indices of training samples. None: all.

        Returns
        -------
        estimate : Estimate
            The fields `estimate` and `standard_error`, and `interval(alpha)`.

        Raises
        ------
        ValueError
            If `target` is illegal, or if the treatment of a sample is certain, given its features.
        """
        targets = ("all", "treated", "control", "overlap")
        if target not in targets:
            raise ValueError(f"target must be one of {targets}. Got {target!r}.")
        self._check_fitted()
        if target != "all":
            self._refuse_instrument(f"target={target!r}", "Take target='all'")
        scored, _ = self._list_scored(subset)
        if target == "all":
            return average(scored.score(), scored)
        if target == "overlap":
            return average_of_overlap(scored)
        if not self.is_binary_:
            raise ValueError(f"target={target!r} needs a binary treatment. Use 'all' or 'overlap'.")
        return average_of_arm(scored, of_treated=target == "treated")

    def best_linear_projection(self, A: Any = None, *, subset: Any = None) -> LinearEstimates:
        """Return the linear regression of the effects on features.

        Parameters
        ----------
        A : array-like of shape (n_samples, n_columns), default=None
            Numbers of the training samples. None: the intercept alone.
        subset : array-like of shape (n_samples,) or (n,), default=None
            A mask or indices of training samples. None: all.

        Returns
        -------
        projection : LinearEstimates
            `coef`, `standard_errors` and `p_values` of shape (1 + n_columns,), the intercept first.
            Errors are HC3, by groups if there are any.
        """
        scored, rows = self._list_scored(subset)
        design = np.ones((len(rows), 1))
        if A is not None:
            try:
                table = np.asarray(A, dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise ValueError(f"A must be an array-like of numbers: {error}") from None
            table = table.reshape(-1, 1) if table.ndim == 1 else table
            if table.ndim != 2 or len(table) != len(self._treatments):
                raise ValueError(
                    f"A must have a row for each of the {len(self._treatments)} training samples. "
                    f"Got shape {table.shape}."
                )
            design = np.column_stack([design, table[rows]])
            if not np.isfinite(design).all():
                raise ValueError("A must be finite.")
        return regress(scored.score(), design, scored)

    def rank_average_treatment_effect(
        self,
        priorities: Any,
        target: Literal["AUTOC", "QINI"] = "AUTOC",
        *,
        subset: Any = None,
    ) -> Estimate:
        """Return how well priorities tell who gains from the treatment.

        Let the samples of highest priority be treated first: the curve of targeting is their mean
        effect less that of all, by their share. This is the area below it.

        Parameters
        ----------
        priorities : array-like of shape (n_samples,)
            Of the training samples, by a model that has not seen them: such as a forest of other
            data, or a rule.
        target : {"AUTOC", "QINI"}, default="AUTOC"
            "AUTOC": all shares count alike, which finds effects of a few samples. "QINI": by size.
        subset : array-like of shape (n_samples,) or (n,), default=None
            A mask or indices of training samples. None: all.

        Returns
        -------
        estimate : Estimate
            0 for priorities that tell nothing. The standard error is from halves of the samples, or
            of the groups.
        """
        if target not in ("AUTOC", "QINI"):
            raise ValueError(f"target must be 'AUTOC' or 'QINI'. Got {target!r}.")
        scored, given = self._rank(priorities, subset)
        return rank_average(scored.score(), given, scored, target, self._seed)

    def _trace_targeting(
        self, priorities: Any, subset: Any, shares: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the curve of targeting at some shares of the samples, and its standard errors."""
        scored, given = self._rank(priorities, subset)
        return trace_targeting(scored.score(), given, scored, shares, self._seed)

    def _rank(self, priorities: Any, subset: Any) -> tuple[Scored, NDArray[np.float64]]:
        given = read_numbers(priorities, "priorities", len(self._check_fitted()))
        scored, rows = self._list_scored(subset)
        if len(np.unique(scored.groups)) < 2:
            raise ValueError(
                "Standard errors of priorities are from halves: they need at least 2 samples of "
                f"positive weight, or 2 groups. Got 1 among {len(rows)} samples."
            )
        return scored, given[rows]

    def calibration(self) -> LinearEstimates:
        """Return whether the forest has found how effects differ.

        Outcomes are regressed on treatments times the mean of the effects, and times what effects
        differ from it, all out of bag.

        Returns
        -------
        calibration : LinearEstimates
            Two coefficients. The first is 1 if the mean is right. The second is 1 if the
            differences are right, and above 0 if there are any. P-values are of one side, against
            0.

        Raises
        ------
        ValueError
            If there are instruments: what is hidden moves outcomes along with treatments, so that
            no regression of the one on the other says whether effects are right.
        """
        self._check_fitted()
        self._refuse_instrument("calibration", INSTEAD)
        scored, _ = self._list_scored(None)
        mean = np.average(scored.effects, weights=scored.weights)
        design = np.column_stack(
            [scored.treatments * mean, scored.treatments * (scored.effects - mean)]
        )
        found = regress(scored.outcomes, design, scored)
        p_values = np.where(found.coef > 0, found.p_values / 2.0, 1.0 - found.p_values / 2.0)
        return found._replace(p_values=p_values)

    def _check_fitted(self) -> NDArray[np.float64]:
        """Return the treatments of the training samples; raise NotFittedError without any."""
        check_is_fitted(self)
        return self._treatments

    def _list_scored(self, subset: Any) -> tuple[Scored, NDArray[np.int64]]:
        """Return the training samples of a subset that have a weight, and their numbers."""
        n_samples = len(self._check_fitted())
        is_drawn = self._groups >= 0
        if subset is not None:
            chosen = np.asarray(subset)
            is_mask = chosen.dtype.kind == "b" and chosen.shape == (n_samples,)
            is_indices = (
                chosen.dtype.kind in "iu"
                and chosen.ndim == 1
                and bool(np.all((chosen >= 0) & (chosen < n_samples)))
            )
            if not (is_mask or is_indices):
                raise ValueError(
                    f"subset must be a mask of the {n_samples} training samples, or indices of "
                    f"some. Got shape {chosen.shape} of type {chosen.dtype}."
                )
            mask = np.zeros(n_samples, dtype=bool)
            mask[chosen] = True
            is_drawn = is_drawn & mask
        rows = np.flatnonzero(is_drawn)
        if len(rows) == 0:
            raise ValueError("subset has no samples of positive weight.")
        self._check_strength(rows)
        if not np.isfinite(self.oob_prediction_[rows]).all():
            raise ValueError(
                "There are samples without an effect out of bag: set a larger n_estimators, or "
                "leave them out by `subset`."
            )
        everything = Scored(
            self._outcomes - self.expected_y_,
            self._treatments - self.expected_t_,
            self.expected_t_,
            self.oob_prediction_,
            self._list_pushes(),
            np.ones(n_samples) if self._weights is None else self._weights,
            self._groups,
        )
        return everything.take(rows), rows

    def _check_strength(self, rows: NDArray[np.int64]) -> None:
        """Warn if instruments seem to move the treatments of some samples by nothing."""
        if self._compliance is None:
            return
        found = self._compliance[rows]
        found = found * np.sign(np.nanmean(found))
        is_weak = found <= _WEAK * np.std(self._treatments[rows])
        if is_weak.any():
            warn_caller(
                f"The instrument seems to move the treatment of {100.0 * is_weak.mean():.1f} % of "
                f"the samples by nothing, or the other way (at least {found.min():.2g}). Scores "
                "are divided by this. Set a larger min_samples_leaf or n_estimators, or leave such "
                "samples out by `subset`."
            )

    def _list_pushes(self) -> NDArray[np.float64]:
        """Return the weights of residuals in scores, of all training samples; see `Scored`."""
        given, expected = self._treatments, self.expected_t_
        if self._instruments is not None and self.expected_z_ is not None:
            given, expected = self._instruments, self.expected_z_
            if not np.isin(given, (0.0, 1.0)).all():
                raise ValueError("Averages of effects need a binary instrument, of 0 and 1.")
        spread = expected * (1.0 - expected) if self._spread is None else self._spread
        if self._compliance is not None:
            spread = spread * self._compliance
        pushes: NDArray[np.float64] = np.full(len(given), np.nan)
        np.divide(given - expected, spread, out=pushes, where=spread != 0)
        return pushes

    def _refuse_instrument(self, what: str, instead: str) -> None:
        if self._instruments is not None:
            raise ValueError(f"{what} is for forests without an instrument. {instead}.")
