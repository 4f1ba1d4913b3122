"""What the two classes with the names of scikit-learn's histogram boosting share.

They are a face over boosting by second derivatives.
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.utils import _safe_indexing, check_random_state

from spinney._common.checks import check_int, is_bool
from spinney._data.arrays import to_rows
from spinney._spinney import Forest
from spinney.ensemble._boosting import (
    BaseGradientBoosting,
    RunningPredictions,
    Training,
    Validation,
    ValidationLoss,
)

if TYPE_CHECKING:
    from spinney._fit.target import EncodedTarget
    from spinney._fit.task import Settings, Task

# From this many samples on, "auto" stops early, as in scikit-learn.
_STOPS_EARLY_ABOVE = 10_000
# Training samples by which a scorer is asked after each round, as in scikit-learn.
_SCORED = 10_000


class HistogramBoosting(BaseGradientBoosting):
    """Base class of the two."""

    # What other boosting has as parameters.
    subsample: Any = 1.0
    criterion: Any = "deprecated"
    init: Any = None
    min_samples_split: Any = 2
    min_weight_fraction_leaf: Any = 0.0
    min_impurity_decrease: Any = 0.0
    ccp_alpha: Any = 0.0
    feature_sampling: Any = "all"
    min_samples_category: Any = 1
    category_order: Any = "auto"
    second_order: Any = True
    _names_constraints: ClassVar[bool] = True
    _expects_types: ClassVar[bool] = False

    max_iter: Any
    max_bins: Any
    early_stopping: Any
    scoring: Any

    do_early_stopping_: bool
    validation_score_: NDArray[np.float64]
    _scores: tuple[list[float], list[float]]
    # The learning rate of the last `fit`.
    _grown_rate: float

    @property
    def n_estimators(self) -> Any:
        """Number of rounds: `max_iter`."""
        return self.max_iter

    @property
    def n_iter_(self) -> int:
        """Number of rounds that were made."""
        if "n_estimators_" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'n_iter_'")
        return self.n_estimators_

    @property
    def _reads_losses(self) -> bool:  # type: ignore[override]
        return self.do_early_stopping_ and isinstance(self.scoring, str) and self.scoring == "loss"

    @property
    def _max_bins(self) -> int | None:  # type: ignore[override]
        return None if self.max_bins is None else int(self.max_bins)

    @property
    def _rate(self) -> float:
        # As in scikit-learn's classes, `set_params` does not change what is predicted.
        return self._grown_rate

    # --- Rounds ---------------------------------------------------------------------------------

    def _boost(self, *arguments: Any) -> None:
        rate = float(self.learning_rate)
        if "forest_" in vars(self) and rate != self._grown_rate:
            # The trees of earlier rounds keep what they add.
            self.forest_ = _scale(self.forest_, self._grown_rate / rate)
            vars(self).pop("_estimators", None)
        self._grown_rate = rate
        super()._boost(*arguments)

    # --- Parameters -----------------------------------------------------------------------------

    def _check_alike(self, before: dict[str, Any]) -> None:
        n_grown = before["n_estimators_"]
        if self.max_iter < n_grown:
            raise ValueError(
                f"max_iter={self.max_iter} must be larger than or equal to n_iter_={n_grown} when "
                "warm_start==True"
            )
        super()._check_alike(before)

    def _check_own_params(self) -> None:
        name = type(self).__name__
        check_int(name, "max_iter", self.max_iter, 1)
        most = self.max_bins
        if not (most is None or (isinstance(most, Integral) and 2 <= int(most) <= 255)):
            self._reject("max_bins", "an int in the range [2, 255] or None")
        is_auto = isinstance(self.early_stopping, str) and self.early_stopping == "auto"
        if not is_auto and not is_bool(self.early_stopping):
            self._reject("early_stopping", "a bool or 'auto'")
        is_name = isinstance(self.scoring, str) or self.scoring is None
        if not is_name and not callable(self.scoring):
            self._reject("scoring", "a str, a callable or None")
        if isinstance(self.scoring, str) and self.scoring not in ("loss", *get_scorer_names()):
            self._reject("scoring", "'loss', or one of sklearn.metrics.get_scorer_names()")
        check_int(name, "n_iter_no_change", self.n_iter_no_change, 1)
        self._check_real("learning_rate", 0.0, np.inf, "(0.0, inf)")
        super()._check_own_params()

    def _make_task(self, settings: Settings, target: EncodedTarget) -> Task:
        task = super()._make_task(settings, target)
        if not isinstance(self.max_features, float):
            return task
        # scikit-learn rounds shares of features up here.
        n_drawn = math.ceil(self.max_features * self.n_features_in_)
        return task._replace(params={**task.params, "max_features": n_drawn})

    def _check_validation_fraction(self) -> None:
        fraction = self.validation_fraction
        is_int = isinstance(fraction, Integral) and not is_bool(fraction)
        is_number = is_int and int(fraction) > 0
        if fraction is not None and not is_number:
            super()._check_validation_fraction()

    # --- Early stopping -------------------------------------------------------------------------

    def _leaves_out(self, n_samples: int, has_given: bool) -> bool:
        is_auto = isinstance(self.early_stopping, str)
        stops = n_samples > _STOPS_EARLY_ABOVE if is_auto else bool(self.early_stopping)
        if has_given and not is_auto and not stops:
            raise ValueError(
                "X_val and y_val are passed to fit while at the same time early_stopping is False. "
                "They are for early stopping: set it to 'auto' or True."
            )
        self.do_early_stopping_ = stops
        return stops and not has_given and self.validation_fraction is not None

    def _make_rng(self) -> np.random.RandomState:
        # scikit-learn's is not random where nodes search all features.
        is_random = self.max_features not in (None, 1.0) or isinstance(self.max_features, Integral)
        is_fixed = self.random_state is None and not is_random
        return np.random.RandomState(0) if is_fixed else super()._make_rng()

    def _make_split_state(self) -> Any:
        # scikit-learn draws this seed first.
        return int(super()._make_split_state().randint(2**32 - 1, dtype=np.uint64))

    def _make_stopping(self, validation: Validation | None, rounds: Any, training: Training) -> Any:
        return _Stopping(self, validation, rounds, training) if self.do_early_stopping_ else None

    def _make_scores(self, n_grown: int, draws_rows: bool) -> None:  # noqa: ARG002
        names = ("train_score_", "validation_score_")
        known = [vars(self).get(name, ()) if n_grown else () for name in names]
        self._scores = ([float(x) for x in known[0]], [float(x) for x in known[1]])

    def _keep_scores(self, first: int, losses: NDArray[np.float64], draws_rows: bool) -> None:
        """Do nothing: early stopping keeps scores."""

    def _cut_scores(self, n_rounds: int, draws_rows: bool) -> None:  # noqa: ARG002
        self.train_score_, self.validation_score_ = map(np.asarray, vars(self).pop("_scores"))

    def _make_report(self, n_grown: int) -> Any:  # noqa: ARG002 - others need it
        return _Report()


def _scale(forest: Forest, factor: float) -> Forest:
    """Return a forest whose trees predict `factor` times as much."""
    trees = (forest.tree(number) for number in range(len(forest)))
    scaled = [tree.with_values(tree.value.reshape(tree.node_count, -1) * factor) for tree in trees]
    return Forest(scaled, forest.seeds)


class _Stopping:
    """Says when scores have not risen for some rounds; they begin with that before the first."""

    def __init__(
        self,
        model: HistogramBoosting,
        validation: Validation | None,
        rounds: Any,
        training: Training,
    ) -> None:
        self._model, self._validation = model, validation
        self._train_scores, self._validation_scores = model._scores
        X, y, weights = training
        self._asks_loss = isinstance(model.scoring, str) and model.scoring == "loss"
        self._loss = None
        if self._asks_loss and validation is not None:
            self._loss = ValidationLoss(model, validation, rounds)
        if not self._asks_loss:
            self._scorer = check_scoring(model, model.scoring)
            rows = np.arange(len(y))
            if len(rows) > _SCORED:
                rng = check_random_state(0)
                rows = np.sort(rng.choice(rows, _SCORED, replace=False))
            own = None if weights is None else weights[rows]
            X = _safe_indexing(X, rows)
            coded = to_rows(model._validate_X_predict(X))
            start = model._start_of(X, len(rows))
            self._train = _Scored(model, X, coded, start, self._name(y[rows]), own)
            if validation is not None:
                targets = self._name(validation.y)
                parts = (validation.X_given, validation.X, validation.start)
                self._held_out = _Scored(model, *parts, targets, validation.weights)
        if not self._train_scores:
            self._begin(training, rounds)

    def _begin(self, training: Training, rounds: Any) -> None:
        """Keep the scores of the constant that the rounds begin with."""
        model, samples = self._model, self._validation
        X, codes, weights = training
        if self._asks_loss:
            start = model._start_of(X, len(codes))
            before = model._loss.mean(codes, start, weights, rounds.delta)
            self._train_scores.append(-before)
            if self._loss is not None:
                self._validation_scores.append(-self._loss.mean())
            return
        # The estimator of the constant knows classes by their codes.
        of_codes = [(self._train_scores, codes, weights)]
        if samples is not None:
            of_codes.append((self._validation_scores, samples.y, samples.weights))
        for scores, y, weight in of_codes:
            anything = np.zeros((len(y), 1))
            told = {} if weight is None else {"sample_weight": weight}
            scores.append(float(self._scorer(model.init_, anything, y, **told)))

    def _name(self, y: NDArray[np.float64]) -> NDArray[Any]:
        """Return targets as `fit` got them."""
        if self._model._task == "classification":
            names: NDArray[Any] = self._model.classes_[y.astype(np.int64)]
            return names
        return y

    def is_reached(self, i: int, new: Any, losses: NDArray[np.float64]) -> bool:  # noqa: ARG002
        """Return whether the round with these new trees and losses is the last."""
        samples = self._validation
        if self._asks_loss:
            self._train_scores.append(-float(losses[0, 1]) / self._model._loss.factor)
            if self._loss is not None:
                self._loss.add(new)
                self._validation_scores.append(-self._loss.mean())
        else:
            self._train_scores.append(self._train.ask(self._scorer, new))
            if samples is not None:
                self._validation_scores.append(self._held_out.ask(self._scorer, new))
        scores = self._train_scores if samples is None else self._validation_scores
        n_rounds = self._model.n_iter_no_change
        if len(scores) <= n_rounds:
            return False
        return bool(max(scores[-n_rounds:]) <= scores[-n_rounds - 1] + self._model.tol)


class _Scored(RunningPredictions):
    """Samples that a scorer is asked about after each round, without anew adding up all trees."""

    def __init__(
        self,
        model: HistogramBoosting,
        X: Any,
        coded: Any,
        start: NDArray[np.float64],
        y: NDArray[Any],
        weights: NDArray[np.float64] | None,
    ) -> None:
        super().__init__(model, coded, start)
        self._given, self._y = X, y
        self._told = {} if weights is None else {"sample_weight": weights}

    def ask(self, scorer: Any, new: Any) -> float:
        """Return the score after a round with these new trees."""
        self.add(new)
        model = self._model
        model._known = self._given, self.get()
        try:
            return float(scorer(model, self._given, self._y, **self._told))
        finally:
            del model._known


class _Report:
    """Prints the number of each round."""

    def update(self, i: int, model: HistogramBoosting) -> None:
        """Tell of round `i`."""
        shown = "".join(
            f", {name} score: {scores[-1]:.5f}"
            for name, scores in zip(("train", "validation"), model._scores, strict=True)
            if scores
        )
        print(f"[{i + 1}/{model.max_iter}] {model.n_trees_per_iteration_} tree(s){shown}")  # noqa: T201
