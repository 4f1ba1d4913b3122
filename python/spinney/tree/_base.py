"""What the estimators of single trees share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from spinney._base.estimator import BaseTreeEstimator
from spinney._base.saving import StoredTrees, find_fault_of_growth
from spinney._data.categories import Categories
from spinney._explain.dependence import PartialDependence
from spinney._explain.shap import ShapValues
from spinney._fit.draws import Draws
from spinney._fit.target import EncodedTarget
from spinney._spinney import Forest, Tree
from spinney.conversion._to_sklearn import convert_tree

if TYPE_CHECKING:
    from typing_extensions import Self


class NamesOfForest(NamedTuple):
    """The names that a forest has for what its trees know by numbers."""

    features: NDArray[Any] | None
    """Names of the features, if `fit` saw any."""
    classes: Any
    """`classes_` of a classifier, else None."""
    categories: Categories | None


class BaseDecisionTree(StoredTrees, BaseTreeEstimator, ShapValues, PartialDependence):
    """Base class of the estimators of single trees."""

    # `check_input` only saves time. It is not metadata that a pipeline could pass on.
    __metadata_request__fit: ClassVar[dict[str, str]] = {"check_input": UNUSED}
    __metadata_request__predict: ClassVar[dict[str, str]] = {"check_input": UNUSED}

    splitter: Any

    tree_: Tree
    max_features_: int
    # The features that had missing values in training. Where missing values of any other feature go
    # has no meaning.
    _with_missing: NDArray[np.int64]
    # A tree of a forest takes codes. For texts and pictures it keeps the names that they stand for.
    _names_of_forest: NamesOfForest | None = None
    # How the forest of the tree draws samples, so that the tree can be assigned to another forest.
    # It is in no file and in no pickle: it may hold the weights of all samples.
    _draws_of_forest: Draws | None = None
    # The features of the forest that the tree has drawn, if it numbers these alone.
    _features_of_forest: NDArray[np.int64] | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples: numbers of any real dtype, in any memory order or sparse format.
            Values are compared as float64. An entry that a sparse matrix does not store is 0. NaN
            is a missing value; so are None and NA in data frames. Columns of categorical features
            may hold strings or other values that can be sorted.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The targets: class labels of any type that can be sorted, or numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. None means 1 for all. Samples with weight 0 have no influence.
        check_input : bool, default=True
            If False, scikit-learn's checks and conversions of `X` and `y` are skipped. They must
            then be arrays or CSC or CSR matrices.

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
            settings = self._check_params()
            for name in ("_names_of_forest", "_draws_of_forest", "_features_of_forest"):
                self.__dict__.pop(name, None)
            X, task, draws = self._read_data(settings, X, y, sample_weight, check_input=check_input)
            self.tree_, self.max_features_, self._with_missing = task.grow_tree(X, draws)
            self._learn_leaves(X, task.target, draws, settings.n_threads)
            return self

    def _learn_leaves(self, X: Any, target: EncodedTarget, draws: Draws, n_threads: int) -> None:
        """Keep what predictions need of the training rows besides the tree, if they do."""

    def _list_leaf_curves(self) -> dict[int, NDArray[np.float64]]:
        """Return functions that leaves predict, by node: points (x, y) of shape (n_points, 2).

        Pictures show them; x and y are in [0, 1].
        """
        return {}

    def _get_forest(self) -> Forest:
        return self.tree_.forest

    def __getstate__(self) -> Any:
        # A forest of the tree: skops would take the tree for scikit-learn's, whose class it names.
        state = super().__getstate__().copy()
        state.pop("_draws_of_forest", None)
        return {**state, "tree_": self._get_forest()} if "tree_" in state else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "tree_" in state:
            self.tree_ = state["tree_"].tree(0)

    def _convert_to_sklearn(self) -> Any:
        return convert_tree(self)

    def _list_stored_attributes(self) -> dict[str, Any]:
        attributes = super()._list_stored_attributes()
        for name in ("_draws_of_forest", "_features_of_forest"):
            attributes.pop(name, None)
        names = attributes.pop("_names_of_forest", None)
        return attributes if names is None else {**attributes, "names": list(names)}

    def _restore(self, attributes: dict[str, Any], forest: Forest) -> str | None:
        if "names" in attributes:
            self._names_of_forest = NamesOfForest(*attributes.pop("names"))
        if len(forest) != 1:
            return f"{len(forest)} trees of an estimator of one"
        self.tree_ = forest.tree(0)
        fault = super()._restore(attributes, forest)
        return fault or find_fault_of_growth(
            self.max_features_, self._with_missing, self.n_features_in_
        )

    def _validate_X_y(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        X, y = super()._validate_X_y(X, y)
        # Before lengths are compared, as in scikit-learn.
        self._check_counts(y)
        return X, y

    def _make_draws(
        self,
        n_samples: int,
        weights: NDArray[np.float64] | None,
        sample_ids: NDArray[np.uint64] | None,
    ) -> Draws:
        return Draws("all", n_samples, self.n_outputs_, None, weights, sample_ids)

    def _predict_values(self, X: Any, check_input: bool) -> NDArray[np.float64]:
        """Return the values of leaves, in the shape that `_split_outputs` describes."""
        X = self._validate_X_predict(X, check_input)
        return self.tree_.predict(X, self._count_threads())

    def apply(self, X: Any, check_input: bool = True) -> NDArray[np.int64]:
        """Return the leaf that each sample reaches.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        check_input : bool, default=True
            If False, scikit-learn's checks and conversions of `X` are skipped.

        Returns
        -------
        leaves : ndarray of shape (n_samples,), int64
            Ids of nodes, which are indices into the arrays of `tree_`.
        """
        X = self._validate_X_predict(X, check_input)
        return self.tree_.apply(X, self._count_threads())

    def decision_path(self, X: Any, check_input: bool = True) -> Any:
        """Return the nodes that each sample passes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        check_input : bool, default=True
            If False, scikit-learn's checks and conversions of `X` are skipped.

        Returns
        -------
        indicator : sparse matrix of shape (n_samples, node_count)
            CSR; 1 where the sample passes the node.
        """
        X = self._validate_X_predict(X, check_input)
        return self.tree_.decision_path(X, self._count_threads())

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """Return the subtrees that minimal cost-complexity pruning goes through.

        They are subtrees of a tree that is grown without pruning. The estimator itself does not
        change.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples: numbers of any real dtype, in any memory order or sparse format.
            Values are compared as float64. An entry that a sparse matrix does not store is 0. NaN
            is a missing value; so are None and NA in data frames. Columns of categorical features
            may hold strings or other values that can be sorted.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The targets: class labels of any type that can be sorted, or numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. None means 1 for all. Samples with weight 0 have no influence.

        Returns
        -------
        ccp_path : Bunch
            ccp_alphas : ndarray of shape (n_subtrees,), float64
                The lowest `ccp_alpha` with which pruning leads to each subtree, ascending. The
                first is 0, of the whole tree.
            impurities : ndarray of shape (n_subtrees,), float64
                For each subtree the sum of the impurities of its leaves, each multiplied by the
                leaf's fraction of the total weight.
        """
        unpruned = clone(self)
        # A subclass may lack the parameter, but has the attribute.
        unpruned.ccp_alpha = 0.0
        unpruned.fit(X, y, sample_weight=sample_weight)
        ccp_alphas, impurities = unpruned.tree_.cost_complexity_path()
        return Bunch(ccp_alphas=ccp_alphas, impurities=impurities)

    def get_depth(self) -> int:
        """Return the depth of the tree: the number of splits on the longest path to a leaf.

        Returns
        -------
        depth : int
            0 for a tree that consists of one leaf.
        """
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves.

        Returns
        -------
        n_leaves : int
            At least 1.
        """
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Total decrease of impurity by the splits on each feature, normalised to a sum of 1.

        Returns
        -------
        importances : ndarray of shape (n_features,), float64
            All 0 for a tree that consists of one leaf.
        """
        check_is_fitted(self)
        return self.tree_.compute_feature_importances()
