"""The trees of gradient boosting: as estimators, for explanations, in files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from spinney._base.features import FeatureReader
from spinney._base.saving import StoredTrees, find_fault_of_growth, find_fault_of_target
from spinney._common.messages import is_ours, warn_caller
from spinney._data.categories import replace_by_codes
from spinney._explain.dependence import PartialDependence
from spinney._explain.shap import ShapValues
from spinney._fit.draws import Growth
from spinney._fit.params import TREE_PARAMETERS
from spinney._spinney import Forest, forest_expected_value, sum_rounds
from spinney.conversion._to_sklearn import convert_boosting
from spinney.conversion._to_treelite import convert_boosting_to_treelite
from spinney.ensemble._losses import Loss, make_constant
from spinney.tree import DecisionTreeRegressor
from spinney.tree._base import NamesOfForest


class BoostedTrees(StoredTrees, FeatureReader, ShapValues, PartialDependence):
    """Base class that gives access to the trees of boosting.

    `forest_` has all trees: round by round, and in a round one for each raw prediction.
    """

    _explained: ClassVar[tuple[str, str]] = ("raw prediction", "decision_function")

    n_estimators: Any
    learning_rate: Any
    init: Any

    forest_: Forest
    n_estimators_: int
    n_trees_per_iteration_: int
    max_features_: int
    # For each call of `fit` that has added rounds: how many there were then, and their parameters.
    _growths: list[tuple[int, Growth]]
    _loss: Loss
    # What all raw predictions begin with; None if `init` is an estimator.
    _start: NDArray[np.float64] | None
    _estimators: NDArray[Any]
    classes_: Any

    @property
    def estimators_(self) -> NDArray[Any]:
        """The trees as fitted estimators, which predict what a round adds before the rate.

        The estimators are made when this attribute is first read, and share the memory of the
        trees. For categorical features they take codes of categories, which are indices into
        `categories_`.

        Returns
        -------
        estimators : ndarray of DecisionTreeRegressor, (n_estimators_, n_trees_per_iteration_)
        """
        if "forest_" not in vars(self):
            # AttributeError instead of NotFittedError, so that `hasattr` works, as in scikit-learn.
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'estimators_'")
        made = vars(self).get("_estimators", np.empty(0, dtype=object))
        if made.size < len(self.forest_):
            seeds = self.forest_.seeds
            new = range(made.size, len(seeds))
            trees = [*made.ravel(), *(self._make_tree(tree, seeds[tree]) for tree in new)]
            self._estimators = np.empty(len(trees), dtype=object)
            self._estimators[:] = trees
            self._estimators = self._estimators.reshape(-1, self.n_trees_per_iteration_)
        return self._estimators.copy()

    def _make_tree(self, tree: int, seed: int) -> DecisionTreeRegressor:
        """Return the estimator of a tree, given its number."""
        this_round = tree // self.n_trees_per_iteration_
        growth = next(growth for n_rounds, growth in self._growths if this_round < n_rounds)
        mask = self.is_categorical_
        estimator = DecisionTreeRegressor(random_state=seed, **growth.params)
        estimator.tree_ = self.forest_.tree(tree)
        estimator.max_features_ = growth.max_features
        estimator._with_missing = growth.with_missing
        estimator.n_features_in_ = self.n_features_in_
        estimator.n_outputs_ = 1
        estimator.is_categorical_ = mask
        estimator.categories_ = replace_by_codes(self.categories_)
        estimator._names_of_forest = NamesOfForest(
            getattr(self, "feature_names_in_", None), None, self.categories_
        )
        return estimator

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Mean over the trees of the decrease of impurity by the splits on each feature.

        Returns
        -------
        importances : ndarray of shape (n_features,), float64
            Normalised to a sum of 1. All 0 if every tree consists of one leaf.
        """
        check_is_fitted(self)
        trees = map(self.forest_.tree, range(len(self.forest_)))
        sums = sum(tree.compute_feature_importances(normalize=False) for tree in trees)
        total = np.sum(sums)
        importances: NDArray[np.float64] = np.asarray(sums / total if total > 0.0 else sums)
        return importances

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Return the leaf that each sample reaches in each tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        leaves : ndarray, int64
            Ids of nodes, which are indices into the arrays of the `tree_` of each tree. Classes,
            and several quantiles: of shape (n_samples, n_estimators_, n_trees_per_iteration_);
            other numbers: of shape (n_samples, n_estimators_).
        """
        X = self._validate_X_predict(X)
        leaves = self.forest_.apply(X, self._count_threads())
        if self._task != "classification" and self._loss.levels is None:
            return leaves
        return leaves.reshape(-1, self.n_estimators_, self.n_trees_per_iteration_)

    def __len__(self) -> int:
        """Return the number of rounds."""
        return self.n_estimators_

    def __getitem__(self, index: Any) -> Any:
        """Return the trees of a round, or of some rounds."""
        return self.estimators_[index]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        """Return an iterator over the trees of each round."""
        return iter(self.estimators_)

    def _select_tree_params(self) -> dict[str, Any]:
        """Return the parameters of an estimator of a tree: those that it shares with boosting."""
        names = TREE_PARAMETERS - {"criterion", "quantile"}
        params = {name: getattr(self, name) for name in names if hasattr(self, name)}
        # The estimators take codes, which have neither feature names nor categorical dtypes.
        mask = self.is_categorical_
        params["categorical_features"] = None if mask is None else np.flatnonzero(mask).tolist()
        return params

    # --- Explanations ---------------------------------------------------------------------------

    def _get_forest(self) -> Forest:
        return self.forest_

    def _list_parts_of_raw(self) -> list[Forest]:
        """Return the trees of each raw prediction."""
        n_raw = self.n_trees_per_iteration_
        if n_raw == 1:
            return [self.forest_]
        n_trees = len(self.forest_)
        return [self.forest_.part(first, n_trees, n_raw) for first in range(n_raw)]

    @property
    def _rate(self) -> float:
        """What the sums over all trees are multiplied by."""
        return float(self.learning_rate)

    def _scale_parts(self, parts: list[Any]) -> Any:
        """Return means over the trees of each raw prediction as what they add to it."""
        scale = self._rate * self.n_estimators_
        if isinstance(parts[0], list):
            return [scale * matrix for part in parts for matrix in part]
        return scale * np.concatenate(parts, axis=-1)

    @property
    def expected_value_(self) -> Any:
        """The raw prediction if nothing is known of a sample.

        With the contributions of `shap_values` it adds up to `decision_function`, or to the
        logarithm of what is predicted for numbers whose logarithm is. If `init` is an estimator,
        its predictions are in neither.

        Returns
        -------
        expected : float or ndarray of shape (n_classes,)
            A number for each class if there are more than two.
        """
        check_is_fitted(self)
        n_threads = self._count_threads()
        means = [forest_expected_value(part, n_threads) for part in self._list_parts_of_raw()]
        expected = self._scale_parts(means) + self._get_constant()
        return float(expected[0]) if len(expected) == 1 else expected

    def _contribute(
        self,
        forest: Forest,  # noqa: ARG002 - there is one for each raw prediction
        X: Any,
        interactions: Any,
    ) -> Any:
        contribute = super()._contribute
        parts = self._list_parts_of_raw()
        return self._scale_parts([contribute(part, X, interactions) for part in parts])

    def to_shap(self, X: Any) -> Any:
        """Explain raw predictions by the contributions of the features, for the plots of shap.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Contributions are dense, since the plots of shap want them so.

        Returns
        -------
        explanation : shap.Explanation
            `values` as `shap_values` returns them for dense samples, `base_values` with
            `expected_value_`, `data` with the samples, the names of the features if `fit` saw any,
            and of the classes if there are more than two.

        Raises
        ------
        ImportError
            If shap is not installed.
        NotFittedError
            If the estimator is not fitted.
        ValueError, TypeError
            If `X` is illegal.
        """
        check_is_fitted(self)
        dense = X.toarray() if sparse.issparse(X) else X
        outputs = self.classes_ if self.n_trees_per_iteration_ > 1 else None
        values = self.shap_values(dense)
        return self._make_explanation(X, values, self.expected_value_, outputs)

    def _shape_explanation(self, values: Any) -> Any:
        if isinstance(values, list):
            return values[0] if len(values) == 1 else values
        return values[..., 0] if values.shape[-1] == 1 else values

    def _describe_raw(self, rows: Any, values: Any) -> tuple[str, float, float, Any]:
        """Return what is explained of a sample: its name, it, what is expected, contributions.

        Of more than two classes it is the raw prediction of the class that is predicted, and of
        several quantiles that of the level nearest to 0.5.
        """
        raw, expected = self._raw_predict(rows)[0], np.atleast_1d(self.expected_value_)
        chosen, name = int(np.argmax(raw)), "raw prediction"
        if self._loss.levels is not None:
            chosen = int(np.argmin(np.abs(np.subtract(self._loss.levels, 0.5))))
            name += f" of the quantile {self._loss.levels[chosen]:g}"
        if self._task == "classification":
            name += f" of class {self.classes_[1 if len(raw) == 1 else chosen]}"
        if len(raw) > 1:
            values = values[chosen] if isinstance(values, list) else values[..., chosen]
        start = 0.0 if self._start is not None else self._start_of(rows, 1)[0, chosen]
        return name, float(raw[chosen] - start), float(expected[chosen]), values

    def _average_over_others(
        self, features: Any, points: NDArray[np.float64], forest: Forest | None = None
    ) -> NDArray[np.float64]:
        """Return mean raw predictions where only some features are known."""
        average = super()._average_over_others
        if forest is not None and forest is not self.forest_:
            return average(features, points, forest)
        means = [average(features, points, part) for part in self._list_parts_of_raw()]
        raw: NDArray[np.float64] = self._scale_parts(means) + self._get_constant()
        return raw

    def _add_rounds(self, rows: Any) -> NDArray[np.float64]:
        """Return what all rounds add to the raw predictions of rows of numbers and codes."""
        sums = sum_rounds(self.forest_, rows, self.n_trees_per_iteration_, self._count_threads())
        added: NDArray[np.float64] = self._rate * sums
        return added

    def _get_constant(self) -> Any:
        """Return what all raw predictions begin with; 0 if that depends on the sample."""
        return 0.0 if self._start is None else self._start

    @abstractmethod
    def _raw_predict(self, X: Any) -> NDArray[np.float64]:
        """Return raw predictions: (n_samples, n_raw)."""

    @abstractmethod
    def _start_of(self, X: Any, n_samples: int) -> NDArray[np.float64]:
        """Return what the raw predictions of samples begin with: (n_samples, n_raw)."""

    def _compute_partial_dependence_recursion(
        self, grid: NDArray[Any], target_features: Any
    ) -> NDArray[np.float64]:
        """Return what :func:`sklearn.inspection.partial_dependence` asks for, without the start."""
        if self.init is not None:
            warn_caller(
                "Using recursion method with a non-constant init predictor will lead to incorrect "
                f"partial dependence values. Got init={self.init}."
            )
        raw = self._average_over_others(target_features, np.asarray(grid).T)
        without_start: NDArray[np.float64] = (raw - self._get_constant()).T
        return without_start

    # --- Files and pickles ----------------------------------------------------------------------

    def _convert_to_sklearn(self) -> Any:
        return convert_boosting(self)

    def to_treelite(self) -> Any:
        """Return a model of treelite with the same trees, for use without Python.

        Thresholds stay float64, and categorical features stay categorical: the model takes codes,
        which are indices into `categories_`, as `to_codes` returns them. It is built node by node.

        Returns
        -------
        model : treelite.Model
            It predicts numbers, or the probabilities of the classes; of two classes that of the
            second. treelite adds up trees in single precision if its input is.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ImportError
            If treelite is not installed.
        ValueError
            If `init` is an estimator, for which treelite has nothing.
        """
        check_is_fitted(self)
        return convert_boosting_to_treelite(self)

    def __getstate__(self) -> Any:
        # A pickle would contain the trees twice.
        return {
            name: value for name, value in super().__getstate__().items() if name != "_estimators"
        }

    def _list_stored_attributes(self) -> dict[str, Any]:
        attributes = super()._list_stored_attributes()
        # A warm start of a loaded model makes the draws of its rounds again.
        attributes.pop("_rng", None)
        attributes["_loss"] = [*self._loss[:3], list(self._loss.levels or ())]
        if not is_ours(type(self.init_).__module__) and self._start is not None:
            # Made by us, and made again.
            del attributes["init_"]
        return attributes

    def _restore(self, attributes: dict[str, Any], forest: Forest) -> str | None:
        self.forest_ = forest
        known = attributes.pop("_loss")
        levels = tuple(map(float, known[3]))
        loss = Loss(str(known[0]), float(known[1]), int(known[2]))
        self._loss = Loss.of_quantiles(levels) if levels else loss
        fault = super()._restore(attributes, forest)
        if fault is None and "init_" not in vars(self):
            self.init_ = "zero" if isinstance(self.init, str) else self._make_init()
        return fault

    def _make_init(self) -> Any:
        """Return the estimator of the constant that the rounds have begun with."""
        assert self._start is not None
        if self._loss.levels is not None:
            return make_constant(self._start)
        best = np.asarray(self._loss.predict(self._start[np.newaxis]))[0]
        constants = np.atleast_1d(best)
        init = self._loss.make_init()
        is_of_classes = len(constants) > 1
        y = np.arange(len(constants)) if is_of_classes else constants
        return init.fit(y.reshape(-1, 1), y, sample_weight=constants if is_of_classes else None)

    def _find_fault(self, forest: Forest) -> str | None:
        n_raw, n_rounds = self._loss.n_raw, self.n_estimators_
        if type(n_rounds) is not int or forest.n_classes != [1] or len(forest) != n_raw * n_rounds:
            return f"n_estimators_ is {n_rounds} for {len(forest)} trees"
        n_classes = [int(self._loss.parameter)] if self._task == "classification" else [1]
        start = self._start
        if start is not None and (start.shape != (n_raw,) or start.dtype != np.float64):
            return "the start of the raw predictions"
        ends = [n for n, _ in self._growths]
        if not ends or ends != sorted(set(ends)) or ends[-1] != n_rounds:
            return f"the parameters of other rounds than the {n_rounds} that there are"
        known = set(DecisionTreeRegressor().get_params(deep=False)) - {"random_state"}
        for _, growth in self._growths:
            if type(growth) is not Growth or not set(growth.params) <= known:
                return "the parameters of a tree"
            shape = (growth.max_features, growth.with_missing, forest.n_features)
            fault = find_fault_of_growth(*shape)
            if fault is not None:
                return fault
        return find_fault_of_target(self, forest.n_features, n_classes, forest.n_categories)
