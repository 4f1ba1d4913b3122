"""Random trees as a transformer: samples become the leaves that they reach."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import ensemble as of_sklearn
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted

from spinney._common.checks import check_int, check_sample_weight, check_verbose, is_bool
from spinney._common.sklearn_base import TransformerMixin
from spinney._common.types import HandleUnknown, RandomState
from spinney._data.arrays import to_native
from spinney._data.categories import count_categories
from spinney._data.feature_names import check_names_in
from spinney._fit.draws import Draws
from spinney._fit.params import read_tree_parameters, store_parameters
from spinney._fit.task import Task
from spinney._spinney import check_params
from spinney.conversion._to_sklearn import convert_embedding
from spinney.ensemble._forest_trees import ForestTrees, ImpurityImportances
from spinney.tree import ExtraTreeRegressor

if TYPE_CHECKING:
    from typing_extensions import Self


@of_sklearn.RandomTreesEmbedding.register
class RandomTreesEmbedding(TransformerMixin, ForestTrees, ImpurityImportances):
    """Random trees that code samples by the leaves they reach, dense or sparse.

    Each node draws a feature that varies in it, and a threshold between its extremes. A sample
    becomes a row with a 1 for each tree, in the column of its leaf. The transformer has the
    interface of :class:`sklearn.ensemble.RandomTreesEmbedding`, and takes missing values,
    categorical features and a :class:`~spinney.Dataset` as well. It is the same, bit for bit,
    however the numbers in `X` are stored and whatever the number of threads is. Tree number t does
    not depend on `n_estimators`.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    max_depth : int or None, default=5
        Largest depth of a leaf. None means no limit.
    min_samples_split : int or float, default=2
        A node with fewer samples becomes a leaf. A float is a fraction of the number of training
        samples.
    min_samples_leaf : int or float, default=1
        Each child of a split must have at least this many samples. A float is a fraction of the
        number of training samples.
    min_weight_fraction_leaf : float, default=0.0
        Each child of a split must have at least this fraction of the total sample weight.
    max_leaf_nodes : int, default=None
        Largest number of leaves of a tree. The tree is then grown best first: the next node to be
        split is the one whose split shortens paths most, as `min_impurity_decrease` measures it.
        None means no limit.
    min_impurity_decrease : float, default=0.0
        A node is split only if that shortens the mean path that would isolate one of its samples by
        at least this much. The decrease is multiplied by the node's fraction of the total sample
        weight.
    sparse_output : bool, default=True
        Whether to return a CSR matrix, or else an array.
    n_jobs : int, default=None
        Number of threads. None means 1 unless `joblib.parallel_config` sets another number, and -1
        means all processors. Results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of everything that is random: samples, features and thresholds. An int, which may be as
        large as 2**64 - 1, makes results repeatable.
    verbose : int, default=0
        Whether to report on stderr how many trees are grown. 0: no report. 1: a progress bar if
        tqdm is installed, otherwise at most one line per second. 2 or more: a line at every update.
    warm_start : bool, default=False
        If True, a further call of `fit` keeps the trees of the forest and adds trees until there
        are `n_estimators`. With the same data and an int as `random_state` the result is the forest
        that a single call grows. Features must have the names of the first call.
    categorical_features : None, "from_dtype" or array-like of bool, int or str, default=None
        Which features are categorical. None: no feature. "from_dtype": the columns of a data frame
        that have a categorical dtype. Otherwise a boolean mask, or the indices or names of the
        categorical features; a list may have "from_dtype" among them. A node sends a random subset
        of the categories to one child. Categories that did not occur in it go to the child with
        more samples.
    handle_unknown : {"ignore", "error"}, default="ignore"
        What predictions do with categories that did not occur in `fit`. "ignore": splits send them
        to the child with the larger weight, and a warning names features without any known
        category, perhaps because their type has changed. "error": they raise ValueError. Missing
        values are no unknown categories.

    Attributes
    ----------
    estimator_ : ExtraTreeRegressor
        The kind of tree that the forest consists of, not fitted.
    estimators_ : list of ExtraTreeRegressor
        The trees as estimators that share the memory of the forest. They are made when this
        attribute is first read. Where features are categorical they take codes, see `to_codes`.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Mean over the trees of the total decrease of mean path lengths by the cuts of each feature,
        normalised to a sum of 1.
    one_hot_encoder_ : OneHotEncoder
        Scikit-learn's encoder of the leaves: its `categories_` are the leaves of each tree. It is
        made when this attribute is read.
    forest_ : Forest
        The compiled forest.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen in `fit`. Exists only if `X` has names that are all strings.
    is_categorical_ : ndarray of shape (n_features_in_,) or None
        Which features are categorical. None if no feature is.
    categories_ : list or None
        For each categorical feature, its distinct values in `fit`: sorted, except that 0 comes
        first. The index of a value is the code that stands for it in the compiled trees. The entry
        of a numeric feature is None. None if no feature is categorical.

    See Also
    --------
    IsolationForest : The same trees, on a few samples each, find anomalies.

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63, 2006.

    F. Moosmann, B. Triggs, F. Jurie, "Fast discriminative visual codebooks using randomized
    clustering forests", NIPS 2007.

    Examples
    --------
    >>> from spinney.ensemble import RandomTreesEmbedding
    >>> X = [[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1]]
    >>> codes = RandomTreesEmbedding(n_estimators=5, max_depth=1, random_state=0).fit_transform(X)
    >>> codes.shape
    (5, 10)
    """

    max_depth: Any
    min_samples_split: Any
    min_samples_leaf: Any
    min_weight_fraction_leaf: Any
    max_leaf_nodes: Any
    min_impurity_decrease: Any
    sparse_output: Any
    verbose: Any
    warm_start: Any

    _tree_class = ExtraTreeRegressor
    # A path has one length. Not an attribute that `fit` sets.
    n_outputs_ = 1

    # What trees are grown by besides the parameters, as in scikit-learn; nothing is predicted.
    criterion = "squared_error"
    max_features = 1
    splitter = "random"
    ccp_alpha = 0.0
    monotonic_cst = None
    interaction_cst = None
    feature_sampling = "active"
    min_samples_category = 1

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_depth: int | None = 5,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        sparse_output: bool = True,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int | bool = 0,
        warm_start: bool = False,
        categorical_features: Any = None,
        handle_unknown: HandleUnknown = "ignore",
    ) -> None:
        store_parameters(locals())

    # --- Growth ---------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Grow the trees.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples: numbers of any real dtype, in any memory order or sparse format.
            Values are compared as float64. An entry that a sparse matrix does not store is 0. NaN
            is a missing value; so are None and NA in data frames. Columns of categorical features
            may hold strings or other values that can be sorted.
        y : None
            Is ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. None means 1 for all. Samples with weight 0 have no influence.

        Returns
        -------
        self : object
            The fitted transformer.

        Raises
        ------
        ValueError, TypeError
            If a parameter or an argument is illegal. The message names it. Whatever is raised, the
            transformer keeps the attributes it had before the call.
        """
        with self._restore_on_error():
            return self._fit(X, sample_weight)

    def _fit(self, X: Any, sample_weight: Any) -> Self:
        before = self.__dict__.copy()
        params = self._check_params()
        seed, n_threads = self._draw_seed(), self._count_threads()
        matrix = self._validate_X(X)
        self.n_features_in_ = matrix.shape[1]
        weights = None
        if sample_weight is not None:
            weights = check_sample_weight(sample_weight, matrix.shape[0])
        draws = Draws("all", matrix.shape[0], 1, None, weights, None)
        task = Task(
            y=None,
            n_classes=None,
            params=params,
            estimator=type(self).__name__,
            seed=seed,
            n_categories=count_categories(self.categories_),
            n_threads=n_threads,
        )
        grow_trees = partial(task.grow_forest, to_native(matrix), draws)
        self._grow_without_target(before, grow_trees, draws)
        return self

    def _check_params(self) -> dict[str, Any]:
        """Return the parameters of the trees; raise an error if a parameter is illegal."""
        name = type(self).__name__
        check_int(name, "n_estimators", self.n_estimators, 1)
        params = read_tree_parameters(self)
        check_params(params, name, "regression")
        for flag in ("sparse_output", "warm_start"):
            if not is_bool(getattr(self, flag)):
                self._reject(flag, "a bool")
        check_verbose(name, self.verbose)
        self._read_handle_unknown()
        return params

    def _select_estimator_params(self) -> dict[str, Any]:
        params = super()._select_estimator_params()
        del params["splitter"]
        return params | {"splitter": self.splitter}

    # --- Codes ----------------------------------------------------------------------------------

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Grow the trees, and code the training samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples.
        y : None
            Is ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, as for `fit`.

        Returns
        -------
        codes : CSR matrix or ndarray of shape (n_samples, n_leaves), float64
            1 in the column of the leaf of each tree, else 0.
        """
        return self.fit(X, y, sample_weight=sample_weight).transform(X)

    def transform(self, X: Any) -> Any:
        """Code samples by the leaves that they reach.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        codes : CSR matrix or ndarray of shape (n_samples, n_leaves), float64
            1 in the column of the leaf of each tree, else 0. The leaves of tree number 0 come
            first, in the order of their ids.
        """
        check_is_fitted(self)
        leaves = self.apply(X)
        starts, columns = self._number_leaves()
        n_samples, n_trees = leaves.shape
        dtype = np.int32 if leaves.size <= np.iinfo(np.int32).max else np.int64
        indices = columns.astype(dtype)[leaves + starts[:-1]].ravel()
        indptr = np.arange(0, leaves.size + 1, n_trees, dtype=dtype)
        shape = (n_samples, int(columns[-1]) + 1)
        codes = sparse.csr_matrix((np.ones(indices.shape[0]), indices, indptr), shape=shape)
        return codes if self.sparse_output else codes.toarray()

    def _number_leaves(self) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return where the nodes of each tree begin, and for each leaf the number of its column."""
        starts = np.concatenate([[0], np.cumsum(self.forest_.node_counts)])
        is_leaf = np.concatenate(self._find_leaves())
        return starts, np.cumsum(is_leaf, dtype=np.int64) - 1

    def _find_leaves(self) -> list[NDArray[np.bool_]]:
        trees = map(self.forest_.tree, range(len(self.forest_)))
        return [tree.children_left < 0 for tree in trees]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Is compared with the names that `fit` saw, if it saw any.

        Returns
        -------
        names : ndarray of str objects
            "randomtreesembedding_{tree}_{leaf}", where `leaf` is the id of a node of the tree.
        """
        check_is_fitted(self)
        check_names_in(self, input_features)
        names = [
            f"randomtreesembedding_{tree}_{leaf}"
            for tree, leaves in enumerate(map(np.flatnonzero, self._find_leaves()))
            for leaf in leaves
        ]
        return np.asarray(names, dtype=object)

    @property
    def one_hot_encoder_(self) -> OneHotEncoder:
        """Scikit-learn's encoder of the leaves.

        Returns
        -------
        encoder : OneHotEncoder
            It codes what `apply` returns, as `transform` does.
        """
        self._check_has_trees("one_hot_encoder_")
        leaves = [np.flatnonzero(is_leaf) for is_leaf in self._find_leaves()]
        encoder = OneHotEncoder(categories=leaves, sparse_output=self.sparse_output)
        encoder.fit(np.array([of_tree[:1] for of_tree in leaves]).T)
        return encoder.set_params(categories="auto")

    def _convert_to_sklearn(self) -> Any:
        return convert_embedding(self)
