"""What the forests share: their rows, growth, prediction, and the views of their trees."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from spinney._arrays import to_native
from spinney._bagged import BaggedClassifier, BaggedRegressor, BaseBaggedTrees
from spinney._base import BaseDecisionTree
from spinney._categories import count_categories, have_same_categories, replace_by_codes
from spinney._draws import Draws
from spinney._messages import warn_caller
from spinney._progress import progress
from spinney._spinney import Forest, fit_forest
from spinney._target import EncodedTarget
from spinney._validation import is_bool

if TYPE_CHECKING:
    from typing_extensions import Self


class BaseForest(BaseBaggedTrees):
    """Base class of the forests; not for direct use."""

    # How the trees choose thresholds, and the estimator that shows one of them.
    _splitter: ClassVar[str]
    _tree_class: ClassVar[type[BaseDecisionTree]]

    forest_: Forest
    oob_score_: Any
    _estimators: list[Any]
    _draws: Draws
    # Of each tree, the parameters it was grown with, the number of features that its nodes draw and
    # the features that had missing values.
    _growths: list[tuple[dict[str, Any], int, NDArray[np.int64]]]

    # The attributes that come and go with `oob_score`.
    _OOB_ATTRIBUTES: ClassVar[tuple[str, ...]] = ("oob_score_",)

    # --- Growth ---------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, sample_ids: Any = None) -> Self:
        """Grow the forest.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples: any real dtype and memory order, CSC or CSR with either index
            width (other sparse formats are converted). Values are compared as float64; an entry
            that a sparse matrix does not store is 0. NaN is missing, and so are None and NA in data
            frames. Columns of categorical features may hold strings or anything that has an order.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The targets: class labels of any type, or numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights; None means 1 for all. Samples of weight 0 take no part. With
            `bootstrap=True` and `replace=True` samples are drawn in proportion to their weights and
            trees see the numbers of draws, as in scikit-learn; otherwise trees see the weights,
            with `bootstrap="poisson"` times the counts.
        sample_ids : array-like of int of shape (n_samples,), default=None
            Names of the samples, non-negative and not necessarily distinct; None means 0 to
            n_samples - 1. With `bootstrap="poisson"` the count of a sample in a tree is a function
            of its id, the number of the tree and `random_state`, so that forests on parts of one
            data set agree on their draws. Without influence otherwise.

        Returns
        -------
        self : object
            The fitted estimator. If anything fails, the estimator stays as it was.
        """
        with self._all_or_nothing():
            return self._fit(X, y, sample_weight, sample_ids)

    def _fit(self, X: Any, y: Any, sample_weight: Any, sample_ids: Any) -> Self:
        before = self.__dict__.copy()
        params = self._params()
        params["splitter"] = self._splitter
        n_threads = self._n_threads()
        self._check_forest_params()
        seed = self._seed()
        X, target, draws, params["monotonic_cst"] = self._read(X, y, sample_weight, sample_ids)
        if self.oob_score:
            self._check_oob_target(target)

        forest = getattr(self, "forest_", None) if self.warm_start else None
        n_grown = 0 if forest is None else len(forest)
        n_more = self.n_estimators - n_grown
        if n_more < 0:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={n_grown} when warm_start==True"
            )
        if forest is not None and (n_more > 0 or self._wants_oob_score()):
            self._check_alike(before)
        if n_more == 0:
            warn_caller(
                "Warm-start fitting without increasing n_estimators does not fit new trees."
            )
            if not self._wants_oob_score():
                # Nothing is new: whatever `X` and `y` are, they are not what the trees know.
                self.__dict__.clear()
                self.__dict__.update(before)
                return self
        else:
            with progress(int(self.verbose), n_grown, n_more) as watcher:
                more, max_features, with_missing = fit_forest(
                    X,
                    target.y,
                    target.n_classes,
                    draws,
                    self._balances_subsamples(),
                    type(self).__name__,
                    params,
                    seed,
                    n_grown,
                    n_more,
                    n_threads,
                    watcher,
                    count_categories(self.categories_),
                )
            self.forest_ = more if forest is None else forest.extended(more)
            growths = [] if forest is None else self._growths
            growth = (self._tree_params(), max_features, with_missing)
            self._growths = growths + [growth] * n_more
            self._draws = draws.kept()
            for name in ("_estimators", *self._OOB_ATTRIBUTES):
                self.__dict__.pop(name, None)
        if self.oob_score:
            self._set_oob_attributes(X, target, draws, n_threads)
        return self

    def _wants_oob_score(self) -> bool:
        return bool(self.oob_score) and not hasattr(self, "oob_score_")

    def _check_alike(self, before: dict[str, Any]) -> None:
        """Raise ValueError unless features, outputs and classes are those of an earlier call.

        Parameters
        ----------
        before : dict
            The attributes that the call has left.
        """
        grown = (before["n_features_in_"], before["n_outputs_"])
        given = (self.n_features_in_, self.n_outputs_)
        if grown != given:
            raise ValueError(
                "warm_start=True adds to the trees of earlier calls: X and y must have their "
                f"{grown[0]} feature(s) and {grown[1]} output(s). "
                f"Got {given[0]} and {given[1]} instead."
            )
        if not have_same_categories(before.get("categories_"), self.categories_):
            raise ValueError(
                "warm_start=True adds to the trees of earlier calls: the categorical features of X "
                "must be theirs and have their categories, see categories_."
            )

    def _check_forest_params(self) -> None:
        self._check_sampling_params()
        if not (is_bool(self.oob_score) or callable(self.oob_score)):
            self._reject("oob_score", "a bool or a callable")
        if not is_bool(self.warm_start):
            self._reject("warm_start", "a bool")
        if not self.bootstrap and self.oob_score:
            raise ValueError("Out of bag estimation only available if bootstrap=True")

    # --- Out of bag -----------------------------------------------------------------------------

    def _check_oob_target(self, target: EncodedTarget) -> None:
        """Raise ValueError for targets that scikit-learn does not score out of bag."""

    @abstractmethod
    def _set_oob_attributes(
        self, X: Any, target: EncodedTarget, draws: Draws, n_threads: int
    ) -> None:
        """Predict the training set out of bag and score that."""

    def _predict_oob(self, X: Any, draws: Draws, n_threads: int) -> NDArray[np.float64]:
        """Return means over the trees that have not seen a row; (n_samples, n_outputs, n_values).

        They are zeros where there is no such tree.
        """
        if getattr(X, "format", None) == "csc":
            X = to_native(sparse.csc_matrix((X.data, X.indices, X.indptr), shape=X.shape).tocsr())
        values, n_trees = self.forest_.predict_oob(X, draws, n_threads)
        if not n_trees.all():
            warn_caller(
                "Some inputs do not have OOB scores. This probably means too few trees were used "
                "to compute any reliable OOB estimates."
            )
        return values.reshape(values.shape[0], self.n_outputs_, -1)

    # --- The trees ------------------------------------------------------------------------------

    @property
    def estimator(self) -> BaseDecisionTree:
        """The kind of tree that the forest is made of, as in scikit-learn; not a parameter.

        Returns
        -------
        estimator : estimator
            It is not fitted.
        """
        return self._tree_class()

    @property
    def estimator_(self) -> BaseDecisionTree:
        """The kind of tree that the forest is made of: an estimator that is not fitted.

        Returns
        -------
        estimator : estimator
        """
        check_is_fitted(self)
        return self.estimator

    @property
    def estimators_(self) -> list[Any]:
        """The trees as fitted estimators.

        They are made when they are first asked for and share the memory of the forest. As in
        scikit-learn they know neither the names of the features nor the labels: a classifier's
        predict the codes of the classes, which are their indices in `classes_`, as floats. Nor do
        they know the categories of categorical features: for those they take codes, which are
        indices in `categories_`, and any other number for a category that is not known.

        A clone of one grows the same tree from the same sample. Its `random_state` sees to that,
        an int from 2**32 on, which scikit-learn's own estimators do not take. The sample is
        `X, codes` with the numbers of draws in `estimators_samples_` as weights, times whatever
        weights the trees of the forest saw. Numbers that are rounded are the exception, as the
        forest rounds alike for all its trees (ARCHITECTURE.md, "Integers and what is rounded").

        The list is the caller's. Assigning a list, of some of these or of trees of other forests
        too, makes a forest of them.

        Returns
        -------
        estimators : list of DecisionTree or ExtraTree estimators
        """
        if "forest_" not in vars(self):
            # Not NotFittedError: `hasattr` has to work, as in scikit-learn.
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'estimators_'")
        if "_estimators" not in vars(self):
            self._estimators = [
                self._tree_estimator(tree, seed) for tree, seed in enumerate(self.forest_.seeds)
            ]
        return self._estimators.copy()

    @estimators_.setter
    def estimators_(self, estimators: list[Any]) -> None:
        trees = list(estimators)
        for tree in trees:
            if not isinstance(tree, BaseDecisionTree) or not hasattr(tree, "tree_"):
                raise TypeError(
                    f"estimators_ must be fitted tree estimators of spinney. Got {tree!r} instead."
                )
        forest = Forest([tree.tree_ for tree in trees], [tree._seed() for tree in trees])
        if (known := self._shape_of(self.forest_)) != (given := self._shape_of(forest)):
            raise ValueError(
                "estimators_ must have the numbers of features, and of classes of each output, of "
                f"the trees that were there, {known}. Got {given} instead."
            )
        if self._n_categories_of(self.forest_) != self._n_categories_of(forest):
            raise ValueError(
                "estimators_ must have the categorical features of the trees that were there, and "
                "as many categories of each."
            )
        self._growths = [
            (without_seed(tree.get_params(deep=False)), tree.max_features_, tree._with_missing)
            for tree in trees
        ]
        self.forest_, self._estimators = forest, trees

    @staticmethod
    def _shape_of(forest: Forest) -> tuple[int, list[int]]:
        return forest.n_features, forest.tree(0).n_classes.tolist()

    @staticmethod
    def _n_categories_of(forest: Forest) -> list[int]:
        n_categories: list[int] = forest.tree(0).n_categories.tolist()
        return n_categories

    def _tree_params(self) -> dict[str, Any]:
        """Return the parameters that trees share with the forest."""
        own = self.get_params(deep=False)
        # Trees see codes, which have neither names nor dtypes.
        mask = self.is_categorical_
        own["categorical_features"] = None if mask is None else np.flatnonzero(mask).tolist()
        # Threads belong to the forest, and class weights were spent on the draws or are in the
        # weights of the nodes.
        names = parameter_names(self._tree_class) - {"class_weight", "n_jobs"}
        return without_seed({name: own[name] for name in names & own.keys()})

    def _tree_estimator(self, tree: int, seed: int) -> Any:
        params, max_features, with_missing = self._growths[tree]
        estimator: Any = self._tree_class(random_state=seed, **params)
        estimator.tree_ = self.forest_.tree(tree)
        estimator.max_features_ = max_features
        estimator._with_missing = with_missing
        estimator.n_features_in_ = self.n_features_in_
        estimator.n_outputs_ = self.n_outputs_
        estimator.is_categorical_ = self.is_categorical_
        estimator.categories_ = replace_by_codes(self.categories_)
        return estimator

    @property
    def estimators_samples_(self) -> list[NDArray[Any]]:
        """The samples that each tree was grown on.

        They are drawn again at each call, not kept: as many times from as many samples as in the
        last call of `fit`.

        Returns
        -------
        samples : list of ndarray of int32
            Indices of samples, one array per tree, ascending; a sample that was drawn k times is
            there k times.
        """
        if "forest_" not in vars(self):
            message = f"{type(self).__name__!r} object has no attribute 'estimators_samples_'"
            raise AttributeError(message)
        return self._draws.rows(self.forest_.seeds, self._n_threads())

    def __len__(self) -> int:
        """Return the number of trees."""
        return len(self.forest_)

    def __getitem__(self, index: Any) -> Any:
        """Return a tree, or several."""
        return self.estimators_[index]

    def __iter__(self) -> Iterator[Any]:
        """Return an iterator over the trees."""
        return iter(self.estimators_)

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        # Views: they would be written as trees of their own.
        return {name: value for name, value in state.items() if name != "_estimators"}

    # --- Prediction -----------------------------------------------------------------------------

    def _predict_values(self, X: Any) -> NDArray[np.float64]:
        """Return means over the trees; (n_samples, n_values), or one axis more for outputs."""
        X = self._validate_X_predict(X, True)
        values = self.forest_.predict(X, self._n_threads())
        if self.n_outputs_ == 1:
            return values
        return values.reshape(values.shape[0], self.n_outputs_, -1)

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Return the leaf that each sample reaches in each tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; CSC is converted to CSR.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_estimators), int64
            Node ids: indices into the arrays of the trees' `tree_`.
        """
        X = self._validate_X_predict(X, True)
        return self.forest_.apply(X, self._n_threads())

    def decision_path(self, X: Any) -> tuple[Any, NDArray[np.int64]]:
        """Return the nodes that each sample passes in all trees.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; CSC is converted to CSR.

        Returns
        -------
        indicator : sparse matrix of shape (n_samples, n_nodes)
            CSR; 1 where the sample passes the node.
        n_nodes_ptr : ndarray of shape (n_estimators + 1,)
            The columns `n_nodes_ptr[i]` to `n_nodes_ptr[i + 1]` are those of tree i.
        """
        X = self._validate_X_predict(X, True)
        return self.forest_.decision_path(X, self._n_threads())

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Mean decrease of impurity per feature: the mean of the trees', normalised.

        Returns
        -------
        importances : ndarray of shape (n_features,)
            Their sum is 1, unless all trees are single nodes.
        """
        check_is_fitted(self)
        return self.forest_.compute_feature_importances()


class ForestClassifier(BaggedClassifier, BaseForest):
    """Base class of the forests that classify; not for direct use."""

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
        self, X: Any, target: EncodedTarget, draws: Draws, n_threads: int
    ) -> None:
        # scikit-learn has the outputs last.
        decision = np.swapaxes(self._predict_oob(X, draws, n_threads), 1, 2)
        if self.n_outputs_ == 1:
            decision = decision[..., 0]
        self.oob_decision_function_ = np.ascontiguousarray(decision)
        score = self.oob_score if callable(self.oob_score) else accuracy_score
        codes = target.y.astype(np.float64)
        self.oob_score_ = score(codes, np.argmax(self.oob_decision_function_, axis=1))

    def _tree_estimator(self, tree: int, seed: int) -> Any:
        estimator = super()._tree_estimator(tree, seed)
        codes = [np.arange(n, dtype=np.float64) for n in np.atleast_1d(self.n_classes_)]
        estimator.classes_ = codes[0] if self.n_outputs_ == 1 else codes
        estimator.n_classes_ = self.n_classes_
        return estimator


class ForestRegressor(BaggedRegressor, BaseForest):
    """Base class of the forests that predict numbers; not for direct use."""

    _OOB_ATTRIBUTES: ClassVar[tuple[str, ...]] = ("oob_score_", "oob_prediction_")

    oob_prediction_: NDArray[np.float64]

    def _set_oob_attributes(
        self, X: Any, target: EncodedTarget, draws: Draws, n_threads: int
    ) -> None:
        prediction = self._predict_oob(X, draws, n_threads)[..., 0]
        self.oob_prediction_ = prediction[:, 0] if self.n_outputs_ == 1 else prediction
        score = self.oob_score if callable(self.oob_score) else r2_score
        self.oob_score_ = score(target.y, self.oob_prediction_)


@cache
def parameter_names(tree_class: type[BaseDecisionTree]) -> frozenset[str]:
    """Return the names of a class's parameters; to ask costs as much as growing some trees."""
    return frozenset(tree_class().get_params(deep=False))


def without_seed(params: dict[str, Any]) -> dict[str, Any]:
    """Return parameters without `random_state`."""
    return {name: value for name, value in params.items() if name != "random_state"}
