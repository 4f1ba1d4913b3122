"""The trees of a grown forest as estimators, and the forest as a sequence of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spinney._base.features import FeatureReader
from spinney._base.saving import StoredTrees, find_fault_of_growth
from spinney._common.messages import warn_caller
from spinney._common.progress import show_progress
from spinney._data.categories import have_same_categories, replace_by_codes
from spinney._data.feature_names import keep_names
from spinney._fit.draws import Draws, Growth
from spinney._fit.joined_draws import SAMPLES_UNKNOWN, draw_alike, join_draws
from spinney._fit.params import read_tree_parameters
from spinney._fit.task import Watcher
from spinney._spinney import Forest, Tree
from spinney.conversion._to_sklearn import convert_forest
from spinney.tree._base import BaseDecisionTree, NamesOfForest

GrowTrees = Callable[[int, int, Watcher], tuple[Forest, int, NDArray[np.int64]]]
"""Grows the trees with the numbers from the first argument on, as many as the second says."""


class ForestTrees(StoredTrees, FeatureReader):
    """Base class that gives access to the trees of a grown forest."""

    # The estimator of a single tree of the forest.
    _tree_class: ClassVar[type[BaseDecisionTree]]

    n_estimators: Any
    verbose: Any
    warm_start: Any
    n_outputs_: int
    forest_: Forest
    _estimators: list[Any]
    # None if the samples of some trees are not known: they come from scikit-learn, or are assigned.
    _draws: Draws | None
    # Whether several calls of `fit` have drawn in several ways, and `_draws` lists what they drew.
    _is_joined: bool = False
    # The seeds of the trees that were grown on other data than the last ones.
    _foreign_seeds: Sequence[int] = ()
    # One entry per tree.
    _growths: list[Growth]

    @property
    def estimator(self) -> BaseDecisionTree:
        """The kind of tree that the forest consists of. As in scikit-learn, not a parameter.

        Returns
        -------
        estimator : DecisionTree or ExtraTree estimator
            Not fitted, with default parameters.
        """
        return self._tree_class()

    @property
    def estimator_(self) -> BaseDecisionTree:
        """The kind of tree that the forest consists of.

        Returns
        -------
        estimator : DecisionTree or ExtraTree estimator
            Not fitted, with default parameters.
        """
        check_is_fitted(self)
        return self.estimator

    @property
    def estimators_(self) -> list[Any]:
        """The trees as fitted estimators.

        The estimators are made when this attribute is first read. They share the memory of the
        forest. As in scikit-learn they know neither the names of the features nor the labels of the
        classes: classifiers predict codes of classes, which are indices into `classes_` of the
        forest, as float64. For categorical features they take codes of categories, which are
        indices into `categories_` of the forest. Any other number is an unknown category.

        A clone of a tree estimator, fitted to the same sample, grows the same tree, because its
        `random_state` is the seed of the tree: an int from 2**32 on, which scikit-learn's own
        estimators do not take. To repeat the sample, fit to `X` and to the codes of the classes
        with weights: how often each index occurs in `estimators_samples_`, multiplied by the
        weights that the trees of the forest saw. But a tree alone has no samples out of bag by
        which to order categories (see `category_order`). Trees may also differ where numbers are
        rounded, because a forest rounds in the same way for all its trees (docs/decisions,
        "Weights and targets are integers").

        Changing the returned list does not change the forest. Assigning a list of trees, of this
        forest or of others, makes a forest of them. Trees of others are taken to be grown on the
        same data. Those that come from a pickle or a file do not know which samples they have seen,
        so that the forest has no `estimators_samples_` and nothing out of bag.

        Returns
        -------
        estimators : list of DecisionTree or ExtraTree estimators
        """
        self._check_has_trees("estimators_")
        # Trees of earlier calls of `fit` may have been made.
        made = vars(self).get("_estimators", [])
        if len(made) < len(self.forest_):
            seeds = list(enumerate(self.forest_.seeds))[len(made) :]
            self._estimators = made + [self._make_tree_estimator(*tree) for tree in seeds]
        return self._estimators.copy()

    @estimators_.setter
    def estimators_(self, estimators: list[Any]) -> None:
        self._refuse_other_trees()
        trees = list(estimators)
        for tree in trees:
            if not isinstance(tree, BaseDecisionTree) or not hasattr(tree, "tree_"):
                raise TypeError(
                    f"estimators_ must be fitted tree estimators of spinney. Got {tree!r} instead."
                )
        forest = Forest(list(map(self._widen, trees)), [tree._draw_seed() for tree in trees])
        known, given = _describe_shape(self.forest_), _describe_shape(forest)
        if known != given:
            raise ValueError(
                "estimators_ must have the numbers of features, and of classes of each output, of "
                f"the trees that were there, {known}. Got {given} instead."
            )
        if self.forest_.n_categories != forest.n_categories:
            raise ValueError(
                "estimators_ must have the categorical features of the trees that were there, and "
                "as many categories of each."
            )
        names = [name for name in self.estimator.get_params(deep=False) if name != "random_state"]
        self._growths = [
            Growth(
                {name: getattr(tree, name) for name in names if hasattr(tree, name)},
                tree.max_features_,
                tree._with_missing,
            )
            for tree in trees
        ]
        self._draws = self._join_draws_of(trees, forest.seeds)
        self.forest_, self._estimators = forest, trees
        self.__dict__.pop("_variances", None)
        self._keep_features(trees)

    def _widen(self, tree: Any) -> Tree:
        """Return the tree of an estimator, with the features of the forest."""
        compiled: Tree = tree.tree_
        return compiled

    def _keep_features(self, trees: list[Any]) -> None:
        """Keep which features trees that are assigned have drawn, where the forest knows it."""

    def _join_draws_of(self, trees: list[Any], seeds: list[int]) -> Draws | None:
        """Return how the samples of assigned trees were drawn; None if that is not known."""
        own = set(map(id, vars(self).get("_estimators", [])))
        draws = [self._draws if id(tree) in own else tree._draws_of_forest for tree in trees]
        known = [of_tree for of_tree in draws if of_tree is not None]
        if len(known) < len(draws) or not all(_are_joinable(of, known[0]) for of in known):
            return None
        for alike in (self._draws, known[0]):
            if alike is not None and all(draw_alike(of_tree, alike) for of_tree in known):
                return alike
        if len(set(seeds)) < len(seeds):
            # Draws are functions of seeds.
            return None
        self._is_joined = True
        parts = [(of_tree, [seed]) for of_tree, seed in zip(known, seeds, strict=True)]
        return join_draws(parts, self._count_threads())

    def _refuse_other_trees(self) -> None:
        """Raise an error if the trees must come from `fit`."""

    def _check_has_trees(self, attribute: str) -> None:
        # AttributeError instead of NotFittedError, so that `hasattr` works, as in scikit-learn.
        if "forest_" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {attribute!r}")

    def _select_estimator_params(self) -> dict[str, Any]:
        """Return the parameters of an estimator of a tree: those that it shares with the forest.

        `n_jobs` is not shared, and neither is `class_weight`: the weights of classes are already in
        the draws or in the weights of the nodes.
        """
        params = read_tree_parameters(self) | {"handle_unknown": self.handle_unknown}
        # The estimators take codes, which have neither feature names nor categorical dtypes.
        mask = self.is_categorical_
        params["categorical_features"] = None if mask is None else np.flatnonzero(mask).tolist()
        return params

    def _make_tree_estimator(self, tree: int, seed: int) -> Any:
        """Return the estimator of a tree, given its number."""
        growth = self._growths[tree]
        tree_class: Any = self._tree_class
        estimator = tree_class(random_state=seed, **growth.params)
        estimator.tree_ = self.forest_.tree(tree)
        estimator.max_features_ = growth.max_features
        estimator._with_missing = growth.with_missing
        if seed not in self._foreign_seeds:
            estimator._draws_of_forest = self._draws
        estimator.n_features_in_ = self.n_features_in_
        estimator.n_outputs_ = self.n_outputs_
        estimator.is_categorical_ = self.is_categorical_
        estimator.categories_ = replace_by_codes(self.categories_)
        estimator._names_of_forest = NamesOfForest(
            getattr(self, "feature_names_in_", None),
            getattr(self, "classes_", None),
            self.categories_,
        )
        return estimator

    @property
    def estimators_samples_(self) -> list[NDArray[Any]]:
        """The samples that each tree was grown on.

        They are not stored but drawn again whenever this attribute is read. Only if the calls of
        `fit` with `warm_start=True` have drawn in several ways, or from other data, each tree keeps
        its own.

        Returns
        -------
        samples : list of ndarray of int32
            For each tree the sorted indices of its samples. The index of a sample that was drawn k
            times occurs k times. int64 if there are more than 2**31 - 1 samples.
        """
        self._check_has_trees("estimators_samples_")
        if self._draws is None:
            raise AttributeError(SAMPLES_UNKNOWN)
        return self._draws.list_rows(self.forest_.seeds, self._count_threads())

    # --- Growth ---------------------------------------------------------------------------------

    def _count_new_trees(self, grown: Forest | None) -> int:
        """Return how many trees `fit` adds to those that there are; warn if it adds none."""
        n_grown = 0 if grown is None else len(grown)
        n_new: int = self.n_estimators - n_grown
        if n_new < 0:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={n_grown} when warm_start==True"
            )
        if n_new == 0:
            warn_caller(
                "Warm-start fitting without increasing n_estimators does not fit new trees."
            )
        return n_new

    def _grow_without_target(
        self, before: dict[str, Any], grow_trees: GrowTrees, draws: Draws
    ) -> None:
        """Grow the trees, or those that a warm start adds to the trees of earlier calls.

        Parameters
        ----------
        before : dict
            The attributes before this call of `fit`.
        grow_trees : callable
        draws : Draws
        """
        grown = getattr(self, "forest_", None) if self.warm_start else None
        n_new = self._count_new_trees(grown)
        if grown is not None:
            self._check_alike(before)
        if n_new > 0:
            self._grow(grow_trees, draws, grown, n_new)

    def _grow(self, grow_trees: GrowTrees, draws: Draws, grown: Forest | None, n_new: int) -> None:
        """Grow new trees and add them to the trees of earlier calls, if there are any."""
        n_grown = 0 if grown is None else len(grown)
        if grown is not None and self._draws is not None:
            _check_same_samples(self._draws, self._is_joined, draws)
        with show_progress(int(self.verbose), n_grown, n_new) as watcher:
            new, max_features, with_missing = grow_trees(n_grown, n_new, watcher)
        growth = Growth(self._select_estimator_params(), max_features, with_missing)
        self.forest_ = new if grown is None else grown.extended(new)
        growths = [] if grown is None else self._growths
        self._growths = growths + [growth] * len(new)
        draws = draws.copy_arrays(keep_weights=False)
        if grown is None:
            for name in ("_estimators", "_is_joined", "_foreign_seeds"):
                self.__dict__.pop(name, None)
        elif self._draws is not None and draws.given is None and not draw_alike(self._draws, draws):
            parts = [(self._draws, grown.seeds), (draws, new.seeds)]
            draws, self._is_joined = join_draws(parts, self._count_threads()), True
        self._draws = draws
        self.__dict__.pop("_variances", None)

    def _check_alike(self, before: dict[str, Any]) -> None:
        """Raise ValueError if features, outputs or classes differ from an earlier call's.

        Names of features stay as in the earlier call.

        Parameters
        ----------
        before : dict
            The attributes that the earlier call has set.
        """
        if before["_draws"] is None:
            raise ValueError(f"warm_start=True cannot add to trees. {SAMPLES_UNKNOWN}")
        grown, given = (
            {"feature": of["n_features_in_"], "output": of.get("n_outputs_", 1)}
            for of in (before, vars(self))
        )
        # Names say more than numbers. That only one of the calls has names is nothing to warn of
        # before an error.
        if grown == given or all("feature_names_in_" in names for names in (before, vars(self))):
            keep_names(self, before)
        for name, of in (("X", "feature"), ("y", "output")):
            if grown[of] != given[of]:
                raise ValueError(
                    f"warm_start=True adds to the trees of earlier calls: {name} must have their "
                    f"{grown[of]} {of}(s). Got {given[of]} instead."
                )
        if not have_same_categories(before.get("categories_"), self.categories_):
            raise ValueError(
                "warm_start=True adds to the trees of earlier calls: the categorical features of X "
                "must be theirs and have their categories, see categories_."
            )

    # --- Leaves ---------------------------------------------------------------------------------

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Return the leaf that each sample reaches in each tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_estimators), int64
            Ids of nodes, which are indices into the arrays of the `tree_` of each tree.
        """
        X = self._validate_X_predict(X)
        return self.forest_.apply(X, self._count_threads())

    def decision_path(self, X: Any) -> tuple[Any, NDArray[np.int64]]:
        """Return the nodes that each sample passes in all trees.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        indicator : sparse matrix of shape (n_samples, n_nodes)
            CSR; 1 where the sample passes the node.
        n_nodes_ptr : ndarray of shape (n_estimators + 1,), int64
            Columns `n_nodes_ptr[i]` to `n_nodes_ptr[i + 1] - 1` are the nodes of tree i.
        """
        X = self._validate_X_predict(X)
        return self.forest_.decision_path(X, self._count_threads())

    # --- A sequence of trees --------------------------------------------------------------------

    def __len__(self) -> int:
        """Return the number of trees."""
        return len(self.forest_)

    def __getitem__(self, index: Any) -> Any:
        """Return the estimator of a tree, or a list of estimators for a slice."""
        return self.estimators_[index]

    def __iter__(self) -> Iterator[Any]:
        """Return an iterator over the estimators of the trees."""
        return iter(self.estimators_)

    def _get_forest(self) -> Forest:
        return self.forest_

    def _convert_to_sklearn(self) -> Any:
        return convert_forest(self)

    def _list_stored_attributes(self) -> dict[str, Any]:
        attributes = super()._list_stored_attributes()
        # Trees of one call of `fit` share a growth, which is stored once.
        runs = [list(run) for _, run in groupby(self._growths, id)]
        attributes["_growths"] = [[len(run), run[0]] for run in runs]
        calls = [attributes.pop(name, None) for name in ("_is_joined", "_foreign_seeds")]
        return attributes if calls == [None, None] else attributes | {"_calls": calls}

    def _restore(self, attributes: dict[str, Any], forest: Forest) -> str | None:
        runs = attributes.pop("_growths")
        if sum(n for n, _ in runs) != len(forest) or any(n < 1 for n, _ in runs):
            return f"the parameters of other trees than the {len(forest)} that there are"
        self._growths = [growth for n, growth in runs for _ in range(n)]
        self.forest_ = forest
        for _, growth in runs:
            fault = self._find_fault_of(growth, forest.n_features)
            if fault is not None:
                return fault
        is_joined, foreign_seeds = attributes.pop("_calls", [None, None])
        if is_joined is not None:
            self._is_joined = bool(is_joined)
        if foreign_seeds is not None:
            self._foreign_seeds = list(foreign_seeds)
        fault = super()._restore(attributes, forest)
        draws: Any = self._draws
        has_draws = draws is None or (isinstance(draws, Draws) and draws.is_sound())
        return fault if has_draws else "the draws of rows"

    def _find_fault_of(self, growth: Any, n_features: int) -> str | None:
        tree_params = set(self._tree_class().get_params(deep=False)) - {"random_state"}
        if not isinstance(growth, Growth) or not set(growth.params) <= tree_params:
            return "the parameters of a tree"
        return find_fault_of_growth(growth.max_features, growth.with_missing, n_features)

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        # A pickle would contain the trees twice: in the forest, and in what is made of them.
        made = ("_estimators", "_variances")
        return {name: value for name, value in state.items() if name not in made}


class ImpurityImportances(FeatureReader):
    """Mixin of the forests whose splits say which features matter."""

    forest_: Forest

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Mean over the trees of the decrease of impurity by the splits on each feature.

        Returns
        -------
        importances : ndarray of shape (n_features,), float64
            Normalised to a sum of 1. All 0 if every tree consists of one leaf.
        """
        check_is_fitted(self)
        return self.forest_.compute_feature_importances()

    def tree_importances(self) -> NDArray[np.float64]:
        """Return the decrease of impurity by the splits on each feature, tree by tree.

        Their spread says how far the importances of the forest can be relied on. The estimators of
        the trees are not made.

        Returns
        -------
        importances : ndarray of shape (n_estimators, n_features), float64
            The `feature_importances_` of each tree: normalised to a sum of 1, and all 0 for a tree
            that consists of one leaf.
        """
        check_is_fitted(self)
        return self.forest_.tree_importances(self._count_threads())


def _are_joinable(one: Draws, other: Draws) -> bool:
    """Return whether `join_draws` can tell the samples of trees that were grown by both."""
    numbers = [(draws.n_samples, draws.honest_fraction) for draws in (one, other)]
    is_alike = one.honest_fraction is None or _have_same_groups(one, other)
    return numbers[0] == numbers[1] and is_alike


def _have_same_groups(one: Draws, other: Draws) -> bool:
    if one.groups is None or other.groups is None:
        return one.groups is other.groups
    return np.array_equal(one.groups, other.groups)


def _check_same_samples(before: Draws, is_joined: bool, now: Draws) -> None:
    """Raise ValueError if the samples of trees were given, and are not given again."""
    if before.honest_fraction != now.honest_fraction:
        raise ValueError(
            "warm_start=True adds to the trees of earlier calls: honest and honest_fraction must "
            "be theirs."
        )
    is_shared = before.subforests is not None or now.subforests is not None
    if is_shared and not draw_alike(before, now):
        raise ValueError(
            "warm_start=True adds to the trees of earlier calls: subforest_size, and max_samples, "
            "weights and groups with it, must be theirs."
        )
    if before.honest_fraction is not None and not _have_same_groups(before, now):
        raise ValueError(
            "warm_start=True adds to the trees of earlier calls, which honest=True has divided by "
            "groups: groups must be theirs."
        )
    was_given = before.given is not None and not is_joined
    is_same = was_given == (now.given is not None)
    if before.given is not None and now.given is not None:
        is_same = now.given.begins_with(before.given)
    if not is_same:
        raise ValueError(
            "warm_start=True adds to the trees of earlier calls: samples must be given for all "
            "trees or for none, and for the earlier trees they must be the same."
        )


def _describe_shape(forest: Forest) -> tuple[int, list[int]]:
    """Return the number of features, and the number of classes of each output."""
    return forest.n_features, forest.n_classes
