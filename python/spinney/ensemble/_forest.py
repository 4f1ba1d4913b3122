"""What the grown forests share: growth, out-of-bag estimates and predictions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.multiclass import type_of_target

from spinney._cluster.active import get_workers
from spinney._cluster.growth import grow
from spinney._cluster.job import ForestJob
from spinney._common.blocks import divide_rows, join_blocks
from spinney._common.checks import check_int, is_bool
from spinney._common.messages import warn_caller
from spinney._data.arrays import to_rows
from spinney._explain.dependence import PartialDependence
from spinney._explain.neighbours import ForestNeighbours
from spinney._explain.oob_importance import OobImportance
from spinney._explain.oob_scores import find_scorer, is_scorer_name, score_values
from spinney._explain.out_of_bag import check_oob_score
from spinney._explain.shap import ShapValues
from spinney._explain.uncertainty import StandardErrors
from spinney._fit.draws import Draws, UnseenTrees
from spinney._fit.groups import share_halves
from spinney._fit.joined_draws import hold_samples
from spinney._fit.leaf_rows import LeafRows
from spinney._fit.target import EncodedTarget, make_class_attributes
from spinney._fit.task import Settings, Task, Watcher
from spinney._fit.tree_samples import list_seeds
from spinney._spinney import Forest
from spinney.dataset import Dataset
from spinney.ensemble._bagged import BaggedClassifier, BaggedRegressor, BaseBaggedTrees
from spinney.ensemble._forest_trees import ForestTrees, GrowTrees, ImpurityImportances

if TYPE_CHECKING:
    from typing_extensions import Self


class BaseForest(
    ForestTrees,
    BaseBaggedTrees,
    ImpurityImportances,
    ShapValues,
    PartialDependence,
    ForestNeighbours,
    OobImportance,
    StandardErrors,
):
    """Base class of the grown forests."""

    oob_score: Any
    warm_start: Any
    # Not parameters of all of them.
    honest: Any = False
    honest_fraction: Any = 0.5
    subforest_size: Any = None

    # The parameters that scikit-learn's forests hand to their trees. Ours hand on some more; see
    # `_select_estimator_params`.
    estimator_params: ClassVar[tuple[str, ...]] = (
        "criterion",
        "max_depth",
        "min_samples_split",
        "min_samples_leaf",
        "min_weight_fraction_leaf",
        "max_features",
        "max_leaf_nodes",
        "min_impurity_decrease",
        "random_state",
        "ccp_alpha",
        "monotonic_cst",
    )
    # The parameter `splitter` of the trees.
    _splitter: ClassVar[str]
    # The attributes that `fit` sets if `oob_score` is not False.
    _OOB_ATTRIBUTES: ClassVar[tuple[str, ...]]

    oob_score_: Any

    # --- Growth ---------------------------------------------------------------------------------

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, sample_ids: Any, samples: Any, groups: Any
    ) -> Self:
        before = self.__dict__.copy()
        settings = self._check_params()
        grow_trees: GrowTrees
        workers = get_workers()
        dataset = X
        if workers is not None:
            categorical = self.categorical_features
            dataset = Dataset(X, categorical_features=categorical, n_jobs=settings.n_threads)
        X, task, draws = self._read_data_of_bags(
            settings, dataset, y, sample_weight, sample_ids, samples, groups
        )
        if workers is None:
            grow_trees = partial(task.grow_forest, X, draws)
        else:
            grow_trees = partial(grow, workers, ForestJob(dataset, task._replace(draws=draws)))
        if draws.honest_fraction is not None:
            grow_trees = partial(_grow_honest_trees, grow_trees, task, X, draws)
        if self.oob_score:
            self._check_oob_target(task.target)
        grown = getattr(self, "forest_", None) if self.warm_start else None
        n_new = self._count_new_trees(grown)
        lacks_oob_score = bool(self.oob_score) and not hasattr(self, "oob_score_")
        if grown is not None and (n_new > 0 or lacks_oob_score):
            self._check_alike(before)
            if not self._have_seen(grown, X, draws, settings.n_threads):
                self._take_other_data(grown.seeds)
            if self.oob_score:
                self._know_draws(f"oob_score={self.oob_score!r}")
        if n_new > 0:
            self._grow(grow_trees, draws, grown, n_new)
            # The draws that are kept have no weights if none depend on them.
            draws = self._draws if self._is_joined and self._draws is not None else draws
            known = None if grown is None else before.get("_leaf_rows")
            self._learn_leaves(X, task.target, draws, settings.n_threads, known)
        elif not lacks_oob_score:
            # No tree was added: restore the attributes of the earlier fit.
            self.__dict__.clear()
            self.__dict__.update(before)
            return self
        if self.oob_score:
            draws = self._find_draws(f"oob_score={self.oob_score!r}")
            values, is_known = self._predict_oob(X, draws, settings.n_threads)
            self._set_oob_attributes(values, task.target, is_known)
        return self

    def _grow(self, grow_trees: GrowTrees, draws: Draws, grown: Forest | None, n_new: int) -> None:
        super()._grow(grow_trees, draws, grown, n_new)
        for name in self._OOB_ATTRIBUTES:
            self.__dict__.pop(name, None)

    def _read_data_of_bags(
        self,
        settings: Settings,
        X: Any,
        y: Any,
        sample_weight: Any,
        sample_ids: Any,
        samples: Any,
        groups: Any,
    ) -> tuple[Any, Task, Draws]:
        X, task, draws = super()._read_data_of_bags(
            settings, X, y, sample_weight, sample_ids, samples, groups
        )
        if self.honest:
            draws = draws._replace(honest_fraction=float(self.honest_fraction))
        if self.subforest_size is not None:
            seeds = list_seeds(settings.seed, int(self.n_estimators), self._list_grown_seeds())
            draws = share_halves(draws, self.max_samples, int(self.subforest_size), seeds)
        return X, task, draws

    def _have_seen(self, grown: Forest, X: Any, draws: Draws, n_threads: int) -> bool:
        """Return whether the trees of earlier calls were grown on these data."""
        known = self._draws if draws.given is None else draws
        assert known is not None
        return hold_samples(grown, to_rows(X), known, n_threads)

    def _take_other_data(self, grown_seeds: list[int]) -> None:
        """Note that the trees with these seeds were grown on other data than those of `fit`."""
        self._foreign_seeds = grown_seeds

    def _list_grown_seeds(self) -> list[int]:
        return self.forest_.seeds if self.warm_start and hasattr(self, "forest_") else []

    def _learn_leaves(
        self, X: Any, target: EncodedTarget, draws: Draws, n_threads: int, known: LeafRows | None
    ) -> None:
        """Keep what predictions need of the training rows besides the trees, if they do.

        `known` is what an earlier call of `fit` has kept, to whose trees this one adds.
        """

    def _check_own_params(self) -> None:
        super()._check_own_params()
        self._find_oob_scorer()
        if not is_bool(self.warm_start):
            self._reject("warm_start", "a bool")
        if self.oob_score and not self._leaves_samples_out():
            raise ValueError("Out of bag estimation only available if bootstrap=True")
        self._check_honest()
        if self.subforest_size is not None:
            self._check_subforests()

    def _check_subforests(self) -> None:
        """Raise an error unless trees can draw from halves that they share."""
        check_int(type(self).__name__, "subforest_size", self.subforest_size, 2)
        if self.n_estimators % self.subforest_size:
            self._reject("n_estimators", f"a multiple of subforest_size={self.subforest_size}")
        needed = {"bootstrap": True, "replace": True, "class_sampling": None}
        # Bools may be those of numpy.
        wrong = [name for name, value in needed.items() if getattr(self, name, value) != value]
        if wrong:
            raise ValueError(
                "subforest_size draws samples without replacement from halves that trees share, "
                "and needs bootstrap=True and the defaults of replace and class_sampling. Got "
                f"{wrong[0]}={getattr(self, wrong[0])!r}."
            )
        is_share = isinstance(self.max_samples, Real) and not isinstance(self.max_samples, Integral)
        if is_share and self.max_samples > 0.5:
            self._reject(
                "max_samples", "an int, a float in the range (0.0, 0.5] or None with subforest_size"
            )

    def _check_honest(self) -> None:
        if not is_bool(self.honest):
            self._reject("honest", "a bool")
        fraction = self.honest_fraction
        if not (isinstance(fraction, Real) and 0.0 < float(fraction) < 1.0):
            self._reject("honest_fraction", "a float in the range (0.0, 1.0)")
        if not self.honest:
            return
        if self.monotonic_cst is not None:
            raise ValueError(
                "honest=True fills leaves with other samples than those by which constraints hold: "
                f"monotonic_cst must be None. Got {self.monotonic_cst!r} instead."
            )
        if getattr(self, "category_order", None) == "tree" and not self._leaves_samples_out():
            raise ValueError(
                "category_order='tree' orders categories by samples out of bag, which honest=True "
                f"needs for it. Got bootstrap={self.bootstrap!r}: set bootstrap=True, or "
                "category_order='node'."
            )

    def _read_tree_params(self) -> dict[str, Any]:
        return super()._read_tree_params() | {"splitter": self._splitter}

    # --- Out-of-bag estimates -------------------------------------------------------------------

    def _check_oob_target(self, target: EncodedTarget) -> None:
        """Raise ValueError for targets that scikit-learn does not score out of bag."""

    def _find_oob_scorer(self) -> Any:
        """Return the scorer of scikit-learn that `oob_score` names or is; None if it is no scorer.

        Raises InvalidParameterError if it is nothing that scores.
        """
        score = self.oob_score
        if not (is_bool(score) or callable(score) or is_scorer_name(score)):
            expected = "a bool, a callable or a name among sklearn.metrics.get_scorer_names()"
            self._reject("oob_score", expected)
        return find_scorer(score)

    def _predict_oob(
        self, X: Any, draws: Draws, n_threads: int
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the mean for each sample over the trees that were not grown on it.

        Returns
        -------
        values : ndarray of shape (n_samples, n_values) or (n_samples, n_outputs, n_values)
            NaN where there are no such trees.
        is_known : ndarray of shape (n_samples,)
            Whether there are.
        """
        values, n_trees = self.forest_.predict_oob(to_rows(X), draws, n_threads)
        is_known = n_trees > 0
        n_seen = int(np.count_nonzero(~is_known))
        if n_seen > 0:
            values[~is_known] = np.nan
            warn_caller(
                f"Some inputs do not have OOB scores: all trees were grown on {n_seen} of "
                f"{n_trees.shape[0]} samples. Their out-of-bag predictions are NaN, and oob_score_ "
                "covers the others. This probably means too few trees were used to compute any "
                "reliable OOB estimates."
            )
        return self._split_outputs(values), is_known

    @abstractmethod
    def _set_oob_attributes(
        self, values: NDArray[np.float64], target: EncodedTarget, is_known: NDArray[np.bool_]
    ) -> None:
        """Set the attributes of out-of-bag estimates, given what `_predict_oob` returns."""

    def _score_oob(self, true: Any, predicted: NDArray[Any], default: Callable[..., Any]) -> Any:
        """Return the score of samples that have predictions out of bag; NaN if there are none."""
        if predicted.shape[0] == 0:
            return np.nan
        return (self.oob_score if callable(self.oob_score) else default)(true, predicted)

    # --- Predictions ----------------------------------------------------------------------------

    def _predict_values(self, X: Any) -> NDArray[np.float64]:
        X = self._validate_X_predict(X)
        return self._split_outputs(self.forest_.predict(X, self._count_threads()))


class ForestClassifier(BaggedClassifier, BaseForest):
    """Base class of the grown forests that classify."""

    _OOB_ATTRIBUTES: ClassVar[tuple[str, ...]] = ("oob_score_", "oob_decision_function_")

    oob_decision_function_: NDArray[np.float64]

    def _check_alike(self, before: dict[str, Any]) -> None:
        super()._check_alike(before)
        grown, given = (
            [classes] if self.n_outputs_ == 1 else classes
            for classes in (before["classes_"], self.classes_)
        )
        if not all(map(np.array_equal, grown, given)):
            raise ValueError(
                "warm_start=True adds to the trees of earlier calls: y must have their classes, "
                f"{before['classes_']}. Got {self.classes_} instead."
            )

    def _check_oob_target(self, target: EncodedTarget) -> None:
        kind = type_of_target(target.y.astype(np.float64))
        if kind in ("unknown", "multiclass-multioutput"):
            raise ValueError(
                f"The type of target cannot be used to compute OOB estimates. Got {kind} while "
                "only the following are supported: continuous, continuous-multioutput, binary, "
                "multiclass, multilabel-indicator."
            )

    def _set_oob_attributes(
        self, values: NDArray[np.float64], target: EncodedTarget, is_known: NDArray[np.bool_]
    ) -> None:
        # The outputs become the last axis, as in scikit-learn.
        decision = values if self.n_outputs_ == 1 else np.swapaxes(values, 1, 2)
        self.oob_decision_function_ = np.ascontiguousarray(decision)
        codes = target.y[is_known]
        scorer = self._find_oob_scorer()
        if scorer is not None:
            labels = self._take_labels(codes[:, 0] if self.n_outputs_ == 1 else codes)
            self.oob_score_ = score_values(self, values[is_known], labels, scorer)
            return
        predicted = np.argmax(self.oob_decision_function_[is_known], axis=1)
        self.oob_score_ = self._score_oob(codes.astype(np.float64), predicted, accuracy_score)

    def _predict_labels(self, X: Any) -> NDArray[Any]:
        # The compiled part holds the probabilities of a block of samples at a time.
        X = self._validate_X_predict(X)
        codes = self.forest_.predict_classes(X, self._count_threads())
        return self._take_labels(codes[:, 0] if self.n_outputs_ == 1 else codes)

    def _interpret_errors(self, errors: NDArray[np.float64]) -> Any:
        return self._list_probabilities(errors)

    def _make_tree_estimator(self, tree: int, seed: int) -> Any:
        estimator = super()._make_tree_estimator(tree, seed)
        codes = [np.arange(n, dtype=np.float64) for n in np.atleast_1d(self.n_classes_)]
        vars(estimator).update(make_class_attributes(codes))
        return estimator


class ForestRegressor(BaggedRegressor, BaseForest):
    """Base class of the grown forests that predict numbers."""

    _OOB_ATTRIBUTES: ClassVar[tuple[str, ...]] = ("oob_score_", "oob_prediction_")

    oob_prediction_: NDArray[np.float64]
    # By tree and node, the variance of the targets; made when it is first asked for.
    _variances: list[NDArray[np.float64]]

    def predict(self, X: Any, return_std: bool = False, *, oob_score: bool = False) -> Any:
        """Predict the target of each sample: the mean of what the trees predict.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        return_std : bool, default=False
            Whether to return the standard deviation of the target as well: by the law of total
            variance from the variances of the targets in the leaves, and the variance of the means
            of the trees. It needs `criterion="squared_error"` and one output.
        oob_score : bool, default=False
            Whether `X` are the training samples, and each is predicted by the trees that have not
            seen it. NaN, with a warning, where there are none.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            float64.
        std : ndarray of shape (n_samples,)
            If `return_std`.
        """
        check_return_std(return_std)
        check_oob_score(oob_score)
        if not (return_std or oob_score):
            return super().predict(X)
        rows, n_threads = self._validate_X_predict(X), self._count_threads()
        values = self._predict_means(rows, n_threads, oob_score)
        prediction = self._split_outputs(values)[..., 0]
        if not return_std:
            return prediction
        unseen = self._find_unseen_trees(rows.shape[0], n_threads) if oob_score else None
        return prediction, self._predict_std(rows, unseen)

    def _predict_std(self, X: Any, unseen: UnseenTrees | None) -> NDArray[np.float64]:
        if self.criterion != "squared_error" or self.n_outputs_ > 1:
            raise ValueError(
                "return_std=True needs criterion='squared_error', by which leaves know the "
                f"variance of their targets, and one output. Got criterion={self.criterion!r} and "
                f"{self.n_outputs_} output(s). RandomForestQuantileRegressor predicts quantiles of "
                "any targets."
            )
        if "_variances" not in vars(self):
            self._variances = [self.forest_.tree(t).impurity for t in range(len(self.forest_))]
        blocks = (
            self._predict_std_of(
                X, rows, None if unseen is None else unseen.of_rows(rows).astype(bool)
            )
            for rows in divide_rows(X.shape[0], len(self.forest_))
        )
        return join_blocks(X.shape[0], blocks)

    def _predict_std_of(
        self, X: Any, rows: tuple[int, int], counted: NDArray[np.bool_] | None
    ) -> NDArray[np.float64]:
        """Return the standard deviations of a block of rows.

        `counted`, of shape (n_rows, n_trees), says which trees count; None if all do.
        """
        n_threads = self._count_threads()
        leaves = self.forest_.apply(X, n_threads, rows)
        within = np.zeros(leaves.shape[0])
        for tree, variances in enumerate(self._variances):
            of_leaves = variances[leaves[:, tree]]
            within += of_leaves if counted is None else np.where(counted[:, tree], of_leaves, 0.0)
        values = self.forest_.predict_trees(X, n_threads, rows)[:, :, 0]
        std: NDArray[np.float64]
        if counted is None:
            std = np.sqrt(within / len(self.forest_) + values.var(axis=1))
            return std
        n_trees = np.count_nonzero(counted, axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = np.where(counted, values, 0.0).sum(axis=1) / n_trees
            squares = np.where(counted, (values - means[:, None]) ** 2, 0.0).sum(axis=1)
            std = np.sqrt((within + squares) / n_trees)
        return std

    def _interpret_errors(self, errors: NDArray[np.float64]) -> Any:
        return errors[..., 0]

    def _set_oob_attributes(
        self, values: NDArray[np.float64], target: EncodedTarget, is_known: NDArray[np.bool_]
    ) -> None:
        prediction = self.oob_prediction_ = values[..., 0]
        known, scorer = target.y[is_known], self._find_oob_scorer()
        if scorer is None:
            self.oob_score_ = self._score_oob(known, prediction[is_known], r2_score)
        else:
            known = known[:, 0] if self.n_outputs_ == 1 else known
            self.oob_score_ = score_values(self, values[is_known], known, scorer)


def _grow_honest_trees(
    grow_trees: GrowTrees,
    task: Task,
    X: Any,
    draws: Draws,
    first_tree: int,
    n_trees: int,
    watcher: Watcher,
) -> tuple[Forest, int, NDArray[np.int64]]:
    """Grow trees by one part of their samples, and fill their leaves by the other."""
    forest, max_features, with_missing = grow_trees(first_tree, n_trees, watcher)
    return task.fill_leaves(forest, to_rows(X), draws), max_features, with_missing


def check_return_std(return_std: Any) -> None:
    """Raise TypeError unless the argument of a prediction is a bool."""
    if not is_bool(return_std):
        raise TypeError(f"return_std must be a bool. Got {return_std!r} instead.")
