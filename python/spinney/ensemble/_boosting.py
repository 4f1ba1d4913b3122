"""What gradient boosting of classes and of numbers share: rounds, scores, early stopping."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from copy import deepcopy
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import Tags, _safe_indexing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from spinney._base.estimator import BaseTreeEstimator
from spinney._common.checks import (
    check_int,
    check_sample_weight,
    check_signs,
    check_verbose,
    is_bool,
)
from spinney._common.messages import name_argument, warn_caller
from spinney._common.seeds import FIRST_SEED, read_random_state
from spinney._data.arrays import CompressedMatrix, to_native, to_rows
from spinney._data.categories import have_same_categories
from spinney._fit.draws import Draws, Growth
from spinney._fit.params import TREE_PARAMETERS
from spinney._fit.target import EncodedTarget
from spinney._fit.task import Task
from spinney._spinney import Columns, sum_rounds
from spinney.dataset import Dataset
from spinney.ensemble._boosted_trees import BoostedTrees
from spinney.ensemble._boosting_report import VerboseReporter
from spinney.ensemble._losses import Loss
from spinney.ensemble._quantile_rounds import make_rounds

if TYPE_CHECKING:
    from typing_extensions import Self

# scikit-learn's trees draw a seed below this from the random state.
_N_SEEDS = 2**31 - 1
# Random numbers that are drawn at a time: 32 MB.
_DRAWN_AT_ONCE = 1 << 22


class Validation(NamedTuple):
    """Samples whose loss ends the rounds."""

    X: Any
    y: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    start: NDArray[np.float64]
    X_given: Any
    """As `fit` got them."""


# The samples as `fit` got them, and their targets and weights as numbers.
Training: TypeAlias = tuple[Any, NDArray[np.float64], NDArray[np.float64] | None]


class BaseGradientBoosting(BoostedTrees, BaseTreeEstimator):
    """Base class of gradient boosting."""

    _task_of_trees: ClassVar[str | None] = "regression"
    _shares_folds: ClassVar[bool] = False
    # Weights of classes are given as weights of samples.
    class_weight: Any = None
    # Losses that `loss` may name.
    _losses: ClassVar[tuple[str, ...]]
    # Samples that are scored after each round, and their raw predictions. None but then.
    _known: tuple[Any, NDArray[np.float64]] | None = None
    # The most bins of a column, if cuts are between bins alone.
    _max_bins: int | None = None
    # Whether the losses of rounds are kept or read.
    _reads_losses: bool = True
    # The chance of the trees of earlier rounds to be dropped while a tree is grown.
    dropout_rate: Any = 0.0

    loss: Any
    subsample: Any
    init: Any
    warm_start: Any
    verbose: Any
    validation_fraction: Any
    n_iter_no_change: Any
    tol: Any
    second_order: Any
    l2_regularization: Any
    category_order: Any

    init_: Any
    train_score_: NDArray[np.float64]
    # These exist if `subsample` is below 1.
    oob_improvement_: NDArray[np.float64]
    oob_scores_: NDArray[np.float64]
    oob_score_: float
    _rng: np.random.RandomState

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    # --- Parameters -----------------------------------------------------------------------------

    def _read_tree_params(self) -> dict[str, Any]:
        # A quantile is one of the loss, not of the trees.
        names = TREE_PARAMETERS - {"quantile"}
        params = {name: getattr(self, name) for name in names if hasattr(self, name)}
        return params | {"criterion": "squared_error", "splitter": "best"}

    def _check_own_params(self) -> None:
        super()._check_own_params()
        self._check_losses()
        check_int(type(self).__name__, "n_estimators", self.n_estimators, 1)
        self._check_real("learning_rate", 0.0, np.inf, "[0.0, inf)", is_open=False)
        self._check_real("subsample", 0.0, 1.0, "(0.0, 1.0]")
        self._check_validation_fraction()
        self._check_real("tol", 0.0, np.inf, "[0.0, inf)", is_open=False)
        if self.n_iter_no_change is not None:
            name = type(self).__name__
            check_int(name, "n_iter_no_change", self.n_iter_no_change, 1, " or None")
        for flag in ("warm_start", "second_order"):
            if not is_bool(getattr(self, flag)):
                self._reject(flag, "a bool")
        self._check_real("l2_regularization", 0.0, np.inf, "[0.0, inf)", is_open=False)
        if self.l2_regularization > 0.0 and not self.second_order:
            self._reject("l2_regularization", "0.0 unless second_order=True")
        self._check_newton()
        check_verbose(type(self).__name__, self.verbose)
        self._check_init()
        if self.criterion != "deprecated":
            warn_caller(
                "The parameter `criterion` is deprecated, as in scikit-learn, and has no effect. "
                "Leave it to its default value to avoid this warning.",
                FutureWarning,
            )

    def _check_validation_fraction(self) -> None:
        self._check_real("validation_fraction", 0.0, 1.0, "(0.0, 1.0)")
        if self.validation_fraction == 1.0:
            self._reject("validation_fraction", "a float in the range (0.0, 1.0)")

    def _check_newton(self) -> None:
        """Refuse what the engine of second derivatives and of interactions does not know."""
        by = "second_order=True" if self.second_order else "interaction_cst"
        if not self.second_order and self.interaction_cst is None:
            return
        if self.min_weight_fraction_leaf:
            self._reject("min_weight_fraction_leaf", f"0.0 with {by}")
        if self.feature_sampling != "all":
            self._reject("feature_sampling", f"'all' with {by}")

    def _check_losses(self) -> None:
        if not isinstance(self.loss, str) or self.loss not in self._losses:
            self._reject("loss", f"a str among {{{', '.join(map(repr, self._losses))}}}")

    def _check_real(
        self, name: str, least: float, most: float, legal: str, *, is_open: bool = True
    ) -> None:
        """Raise InvalidParameterError unless a parameter is a number between two others."""
        value = getattr(self, name)
        is_number = isinstance(value, Real) and not is_bool(value)
        if not is_number or not (least < value <= most or (value == least and not is_open)):
            self._reject(name, f"a float in the range {legal}")

    def _check_init(self) -> None:
        predict = "predict_proba" if self._task == "classification" else "predict"
        is_name = isinstance(self.init, str)
        is_estimator = hasattr(self.init, "fit") and hasattr(self.init, predict)
        if not (self.init == "zero" if is_name else self.init is None or is_estimator):
            others = f"None or an object implementing 'fit' and '{predict}'"
            self._reject("init", f"a str among {{'zero'}}, {others}")

    @abstractmethod
    def _make_loss(self, target: EncodedTarget) -> Loss:
        """Return the loss that `loss` names, for these targets."""

    # --- Growth ---------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        monitor: Callable[[int, Any, dict[str, Any]], Any] | None = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Grow the trees, round by round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples: numbers of any real dtype, in any memory order or sparse format.
            Values are compared as float64. An entry that a sparse matrix does not store is 0. NaN
            is a missing value; so are None and NA in data frames. Columns of categorical features
            may hold strings or other values that can be sorted.
        y : array-like of shape (n_samples,)
            The targets: class labels of any type that can be sorted, or numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. None means 1 for all. Samples with weight 0 have no influence.
        monitor : callable, default=None
            Is called after each round with the number of the round, the estimator and a dict of
            what `fit` works on. If it returns True, no further round begins.
        X_val : {array-like, sparse matrix} of shape (n_val, n_features), default=None
            Samples for early stopping with `n_iter_no_change`, in the place of a share of `X`.
        y_val : array-like of shape (n_val,), default=None
            Their targets.
        sample_weight_val : array-like of shape (n_val,), default=None
            Their weights.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            If a parameter or an argument is illegal. The message names it. Whatever is raised, the
            estimator keeps the attributes it had before the call.
        """
        with self._restore_on_error():
            return self._fit((X, y, sample_weight), monitor, (X_val, y_val, sample_weight_val))

    def _fit(
        self, training: tuple[Any, Any, Any], monitor: Any, given: tuple[Any, Any, Any]
    ) -> Self:
        before = self.__dict__.copy()
        settings = self._check_params()
        if monitor is not None and not callable(monitor):
            raise TypeError(f"monitor must be a callable or None. Got {monitor!r} instead.")
        for part, name in zip(given[1:], ("y_val", "sample_weight_val"), strict=True):
            if given[0] is None and part is not None:
                raise ValueError(f"{name} is provided, but X_val was not provided.")
        if given[0] is not None and given[1] is None:
            raise ValueError("X_val is provided, but y_val was not provided.")
        X, y, sample_weight = training
        if isinstance(X, Dataset):
            # The columns of a view do not know that rows are numbers in the view.
            X = X._own()
        matrix, task, draws = self._read_data(settings, X, y, sample_weight)
        leaves_out = self._leaves_out(task.target.y.shape[0], given[0] is not None)
        target = task.target
        is_warm = bool(self.warm_start) and "forest_" in before
        if is_warm:
            self._check_alike(before)
        self._loss = self._make_loss(target)
        if is_warm and self._loss.name != before["_loss"].name:
            raise ValueError(
                "warm_start=True adds to the trees of earlier calls: loss must be theirs. "
                f"Got {self.loss!r} instead."
            )
        y = np.ascontiguousarray(target.y[:, 0], dtype=np.float64)
        weights = draws.sample_weight
        rows, left_out = None, None
        if leaves_out:
            rows, left_out = self._leave_out(y)
            if isinstance(matrix, Columns) and not _have_all_categories(matrix, rows):
                # Columns of some rows number the categories of these; an array keeps the codes.
                matrix = to_native(matrix.decode())
        whole = (matrix, X, y, weights)
        if rows is not None:
            matrix, X, y, weights = (_take(part, rows) for part in whole)
        if not is_warm:
            self._forget()
            self._rng = self._make_rng()
            self._fit_init(X, y, weights, has_weights=sample_weight is not None)
        else:
            self._continue_draws(y.shape[0])
        validation = self._make_validation(given)
        if left_out is not None:
            held, X_held, y_held, weights_held = (_take(part, left_out) for part in whole)
            start = self._start_of(X_held, len(left_out))
            validation = Validation(to_rows(held), y_held, weights_held, start, X_held)
        task = task._replace(
            y=y.reshape(-1, 1),
            n_classes=None,
            draws=draws._replace(n_samples=y.shape[0], sample_weight=weights),
        )
        self._boost(task, matrix, (X, y, weights), validation, monitor)
        return self

    def _make_draws(
        self,
        n_samples: int,
        weights: NDArray[np.float64] | None,
        sample_ids: NDArray[np.uint64] | None,
    ) -> Draws:
        return Draws("all", n_samples, 1, None, weights, sample_ids)

    def _validate_X_y(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        X, y = super()._validate_X_y(X, y)
        self._check_outputs(y)
        return X, y

    def _check_outputs(self, y: NDArray[Any]) -> None:
        """Raise ValueError if there are several targets, and warn of one that is a column."""
        if y.ndim == 2 and y.shape[1] > 1:
            raise ValueError(
                f"y should be a 1d array, got an array of shape {y.shape} instead: gradient "
                "boosting predicts one target."
            )
        if y.ndim == 2:
            warn_caller(
                "A column-vector y was passed when a 1d array was expected. Please change the "
                "shape of y to (n_samples, ), for example using ravel().",
                DataConversionWarning,
            )

    def _check_alike(self, before: dict[str, Any]) -> None:
        """Raise ValueError if a warm start has other features or classes than the earlier call."""
        n_grown = before["n_estimators_"]
        if self.n_estimators < n_grown:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"estimators_.shape[0]={n_grown} when warm_start==True"
            )
        if before["n_features_in_"] != self.n_features_in_:
            raise ValueError(
                "warm_start=True adds to the trees of earlier calls: X must have their "
                f"{before['n_features_in_']} feature(s). Got {self.n_features_in_} instead."
            )
        if not have_same_categories(before.get("categories_"), self.categories_):
            raise ValueError(
                "warm_start=True adds to the trees of earlier calls: the categorical features of X "
                "must be theirs and have their categories, see categories_."
            )

    def _leaves_out(self, n_samples: int, has_given: bool) -> bool:  # noqa: ARG002
        """Return whether samples are left out for early stopping.

        Raises ValueError if there are samples for it, which is not asked for.
        """
        if has_given and self.n_iter_no_change is None:
            raise ValueError("X_val is for early stopping, which n_iter_no_change asks for.")
        return self.n_iter_no_change is not None and not has_given

    def _leave_out(self, y: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the rows to be trained on, and those that end the rounds, as scikit-learn does."""
        stratify = y if self._task == "classification" else None
        rows, left_out = train_test_split(
            np.arange(y.shape[0]),
            random_state=self._make_split_state(),
            test_size=self.validation_fraction,
            stratify=stratify,
        )
        if stratify is not None and np.unique(y[rows]).shape != np.unique(y).shape:
            raise ValueError(
                "The training data after the early stopping split is missing some classes. Try "
                "using another random seed."
            )
        return rows, left_out

    def _make_rng(self) -> np.random.RandomState:
        """Return what seeds of trees are drawn from."""
        return read_random_state(type(self).__name__, self.random_state)

    def _continue_draws(self, n_samples: int) -> None:
        """Let a warm start draw what a single call of `fit` would draw next."""
        is_own = isinstance(self.random_state, Integral)
        if "_rng" not in vars(self):
            # No file has it: the draws of the earlier rounds are made again.
            self._rng = self._make_rng()
            for _ in range(self.n_estimators_ if is_own else 0):
                self._draw(1, n_samples if self.subsample < 1.0 else None)
        elif is_own:
            # If the rounds fail, the earlier one has not moved.
            self._rng = deepcopy(self._rng)

    def _make_split_state(self) -> Any:
        """Return what chooses the samples that are left out."""
        return read_random_state(type(self).__name__, self.random_state)

    def _forget(self) -> None:
        """Drop what an earlier call of `fit` has set."""
        for name in ("forest_", "oob_improvement_", "oob_scores_", "oob_score_", "_estimators"):
            self.__dict__.pop(name, None)

    def _fit_init(
        self,
        X: Any,
        y: NDArray[np.float64],
        weights: NDArray[np.float64] | None,
        *,
        has_weights: bool,
    ) -> None:
        """Fit the estimator of the predictions that the rounds begin with."""
        if isinstance(self.init, str):
            self.init_ = self.init
        elif self.init is None:
            self.init_ = self._loss.fit_init(y, weights)
        else:
            self.init_ = clone(self.init)
            told = {}
            if has_weights:
                if not has_fit_parameter(self.init_, "sample_weight"):
                    raise ValueError(
                        f"The initial estimator {type(self.init_).__name__} does not support "
                        "sample weights."
                    )
                told = {"sample_weight": weights}
            self.init_.fit(X, y, **told)
        self._find_start()

    def _find_start(self) -> None:
        """Set what all raw predictions begin with; None if that depends on the sample."""
        self._start = None
        if isinstance(self.init, str):
            self._start = np.zeros(self._loss.n_raw)
        elif self.init is None:
            self._start = self._loss.link(self._ask_init(np.zeros((1, self.n_features_in_))))[0]

    def _start_of(self, X: Any, n_samples: int) -> NDArray[np.float64]:
        """Return what the raw predictions of samples begin with: (n_samples, n_raw)."""
        if self._start is not None:
            return np.tile(self._start, (n_samples, 1))
        start = self._loss.link(self._ask_init(X))
        if start.shape != (n_samples, self._loss.n_raw):
            raise ValueError(
                f"init must predict one number for each sample and class. Got {start.shape} for "
                f"{n_samples} samples."
            )
        return np.ascontiguousarray(start)

    def _ask_init(self, X: Any) -> NDArray[Any]:
        """Return the shares of classes, or the numbers, that the first estimator predicts."""
        is_of_classes = self._task == "classification"
        return np.asarray(self.init_.predict_proba(X) if is_of_classes else self.init_.predict(X))

    def _make_validation(self, given: tuple[Any, Any, Any]) -> Validation | None:
        X, y, weights = given
        if X is None:
            return None
        with name_argument("X_val"):
            rows = self._validate_X_predict(X)
        if rows.shape[0] == 0:
            raise ValueError("X_val has no samples: early stopping needs at least 1.")
        with name_argument("y_val"):
            targets = self._encode_y_val(y)
        if targets.shape[0] != rows.shape[0]:
            raise ValueError(
                f"X_val has {rows.shape[0]} samples, and y_val has {targets.shape[0]} targets."
            )
        if weights is not None:
            weights = check_sample_weight(weights, rows.shape[0], "sample_weight_val")
            check_signs(weights, "sample_weight_val")
        return Validation(to_rows(rows), targets, weights, self._start_of(X, rows.shape[0]), X)

    @abstractmethod
    def _encode_y_val(self, y: Any) -> NDArray[np.float64]:
        """Return the targets of validation as numbers, those of classes as their codes."""

    def _boost(
        self,
        task: Task,
        matrix: Any,
        training: Training,
        validation: Validation | None,
        monitor: Any,
    ) -> None:
        """Grow rounds until there are enough, or until something ends them."""
        X, y, _ = training
        loss, n_samples = self._loss, matrix.shape[0]
        n_grown = 0 if "forest_" not in vars(self) else self.n_estimators_
        start = self._start_of(X, n_samples)
        sums = np.zeros_like(start)
        if n_grown:
            sums = sum_rounds(self.forest_, to_rows(matrix), loss.n_raw, task.n_threads)
        l2 = float(self.l2_regularization) if self.second_order else None
        dropout_rate = float(self.dropout_rate)
        way = (float(self.learning_rate), l2, self._max_bins, dropout_rate)
        earlier = self.forest_ if n_grown and dropout_rate else None
        rounds = make_rounds(matrix, task, loss, way, start, sums, earlier)
        self.max_features_ = rounds.max_features
        growth = Growth(self._select_tree_params(), rounds.max_features, rounds.with_missing)
        growths = self._growths if n_grown else []
        self.n_trees_per_iteration_ = loss.n_raw
        draws_rows = self.subsample < 1.0
        n_in_bag = max(1, int(self.subsample * n_samples)) if draws_rows else 0
        self._make_scores(n_grown, draws_rows)
        report = self._make_report(n_grown) if self.verbose else None
        stop = self._make_stopping(validation, rounds, training)
        ends_early = stop is not None or monitor is not None
        n_at_once = 1 if ends_early or self.verbose else max(1, _DRAWN_AT_ONCE // n_samples)
        first = n_grown
        while first < self.n_estimators:
            n = min(n_at_once, self.n_estimators - first)
            uniform, seeds = self._draw(n, n_samples if draws_rows else None)
            losses = loss.factor * rounds.advance(seeds, uniform, n_in_bag, self._reads_losses)
            self._keep_scores(first, losses, draws_rows)
            new = rounds.take_trees()
            # With dropout these are all trees, of which earlier ones have changed.
            self.forest_ = new if first == 0 or dropout_rate else self.forest_.extended(new)
            first += n
            self.n_estimators_ = first
            self._growths = [*growths, (first, growth)]
            if report is not None:
                report.update(first - 1, self)
            if monitor is not None:
                known = {"i": first - 1, "X": X, "y": y, "rounds": rounds}
                if monitor(first - 1, self, known):
                    break
            if stop is not None and stop.is_reached(first - 1, new, losses):
                break
        self._cut_scores(first, draws_rows)
        if dropout_rate:
            self.__dict__.pop("_estimators", None)

    def _make_report(self, n_grown: int) -> Any:
        """Return what prints the progress after `n_grown` rounds."""
        return VerboseReporter(self.verbose, self, n_grown)

    def _make_stopping(
        self,
        validation: Validation | None,
        rounds: Any,
        training: Training,  # noqa: ARG002 - a class that scores them needs it
    ) -> Any:
        """Return what ends the rounds early, or None."""
        return _EarlyStopping(self, validation, rounds) if validation is not None else None

    def _draw(
        self, n_rounds: int, n_samples: int | None
    ) -> tuple[NDArray[np.float64] | None, NDArray[np.uint64]]:
        """Return what chooses the samples of rounds, and a seed for each of their trees.

        The random state is asked in the order in which scikit-learn asks it, so that the trees of
        both get the same samples.
        """
        n_seeds, rng = self._loss.n_seeds, self._rng
        if n_samples is None:
            drawn = rng.randint(_N_SEEDS, size=(n_rounds, n_seeds))
            return None, drawn.astype(np.uint64) + np.uint64(FIRST_SEED)
        uniform = np.empty((n_rounds, n_samples))
        seeds = np.empty((n_rounds, n_seeds), dtype=np.uint64)
        for of_round, of_trees in zip(uniform, seeds, strict=True):
            of_round[:] = rng.uniform(size=n_samples)
            of_trees[:] = [FIRST_SEED + rng.randint(_N_SEEDS) for _ in range(n_seeds)]
        return uniform, seeds

    def _make_scores(self, n_grown: int, draws_rows: bool) -> None:
        """Make room for the scores of all rounds; those of earlier calls stay."""
        names = ["train_score_"]
        if draws_rows or (n_grown and "oob_scores_" in vars(self)):
            names += ["oob_improvement_", "oob_scores_"]
            self.oob_score_ = np.nan
        for name in names:
            scores = np.zeros(self.n_estimators)
            known = vars(self).get(name) if n_grown else None
            if known is not None:
                scores[: len(known)] = known
            setattr(self, name, scores)

    def _keep_scores(self, first: int, losses: NDArray[np.float64], draws_rows: bool) -> None:
        for i, (before, in_bag, out_of_bag) in enumerate(losses, first):
            self.train_score_[i] = in_bag
            if draws_rows:
                self.oob_scores_[i] = out_of_bag
                previous = before if i == 0 else self.oob_scores_[i - 1]
                self.oob_improvement_[i] = previous - out_of_bag

    def _cut_scores(self, n_rounds: int, draws_rows: bool) -> None:
        for name in ("train_score_", "oob_improvement_", "oob_scores_"):
            if name in vars(self):
                setattr(self, name, getattr(self, name)[:n_rounds])
        if draws_rows:
            self.oob_score_ = float(self.oob_scores_[-1])

    # --- Predictions ----------------------------------------------------------------------------

    def _raw_predict(self, X: Any) -> NDArray[np.float64]:
        """Return raw predictions: (n_samples, n_raw)."""
        check_is_fitted(self)
        if self._known is not None and self._known[0] is X:
            return self._known[1].copy()
        rows = self._validate_X_predict(X)
        return self._start_of(X, rows.shape[0]) + self._add_rounds(rows)

    def _staged_raw_predict(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Yield raw predictions after each round."""
        check_is_fitted(self)
        rows, n_raw = self._validate_X_predict(X), self._loss.n_raw
        start = self._start_of(X, rows.shape[0])
        sums = np.zeros_like(start)
        n_at_once = max(1, _DRAWN_AT_ONCE // max(1, rows.shape[0] * n_raw))
        for first in range(0, self.n_estimators_, n_at_once):
            end = min(first + n_at_once, self.n_estimators_)
            some = self.forest_.part(first * n_raw, end * n_raw, 1)
            values = some.predict_trees(rows, self._count_threads())[:, :, 0]
            for i in range(end - first):
                sums += values[:, i * n_raw : (i + 1) * n_raw]
                yield start + self._rate * sums


class RunningPredictions:
    """Raw predictions of some samples after each round, to which new trees alone are added.

    Parameters
    ----------
    model : estimator
    X : ndarray, CompressedMatrix or Columns
        With codes in the place of categories.
    start : ndarray of shape (n_samples, n_raw)
        What the raw predictions begin with.
    """

    def __init__(self, model: BaseGradientBoosting, X: Any, start: NDArray[np.float64]) -> None:
        self._model, self._X, self._start = model, X, start
        self._sums = np.zeros_like(start)
        if "forest_" in vars(model):
            self.add(model.forest_)

    def add(self, trees: Any) -> None:
        """Add the trees of a round, or, with dropout, begin again with all trees."""
        n_threads = self._model._count_threads()
        if self._model.dropout_rate:
            self._sums[:] = 0.0
        self._sums += sum_rounds(trees, self._X, self._model._loss.n_raw, n_threads)

    def get(self) -> NDArray[np.float64]:
        """Return the raw predictions, of shape (n_samples, n_raw)."""
        raw: NDArray[np.float64] = self._start + self._model._rate * self._sums
        return raw


class ValidationLoss(RunningPredictions):
    """The loss of samples of validation, after each round."""

    def __init__(self, model: BaseGradientBoosting, validation: Validation, rounds: Any) -> None:
        super().__init__(model, validation.X, validation.start)
        self._validation, self._rounds = validation, rounds

    def mean(self) -> float:
        """Return the mean loss."""
        samples = self._validation
        loss = self._model._loss
        return loss.mean(samples.y, self.get(), samples.weights, self._rounds.delta)


class _EarlyStopping:
    """Says when the loss of samples of validation has not fallen for some rounds."""

    def __init__(self, model: BaseGradientBoosting, validation: Validation, rounds: Any) -> None:
        self._model, self._loss = model, ValidationLoss(model, validation, rounds)
        self._history = np.full(model.n_iter_no_change, np.inf)

    def is_reached(self, i: int, new: Any, losses: Any) -> bool:  # noqa: ARG002 - others read them
        """Return whether round `i` with its new trees is the last."""
        self._loss.add(new)
        now = self._model._loss.factor * self._loss.mean()
        if np.any(now + self._model.tol < self._history):
            self._history[i % len(self._history)] = now
            return False
        return True


def _have_all_categories(columns: Columns, rows: NDArray[Any]) -> bool:
    """Return whether each category of the columns is one of these rows."""
    if not columns.n_categories:
        return True
    present = _take(columns, rows).present_codes()
    return all(
        codes is None or len(codes) == n
        for codes, n in zip(present, columns.n_categories, strict=True)
    )


def _take(part: Any, rows: NDArray[Any]) -> Any:
    """Return some rows of a matrix in any form that `fit` has or makes; None stays None."""
    if part is None:
        return None
    if isinstance(part, Columns):
        return part.with_rows(rows.astype(np.uint32))
    if isinstance(part, CompressedMatrix):
        return part.take_rows(rows)
    return _safe_indexing(part, rows)
