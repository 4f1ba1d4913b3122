"""What the estimators share: conventions on one side, `_spinney` on the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MultiOutputMixin, clone
from sklearn.utils import Bunch, Tags, check_consistent_length, check_random_state
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted, validate_data

from spinney._arrays import convert_objects, secure_sparse, to_native
from spinney._categorical_features import find_categorical_features
from spinney._categories import Categories, count_categories, encode, learn
from spinney._messages import reject_parameter, warn_caller
from spinney._spinney import Tree, fit_tree
from spinney._target import EncodedTarget
from spinney._validation import check_monotonic_cst, check_sample_weight

if TYPE_CHECKING:
    from typing_extensions import Self

# NaN is missing, and infinities are values like others.
_CHECK_X = {"accept_sparse": ("csc", "csr"), "ensure_all_finite": False}
_CHECK_Y = {"ensure_2d": False, "dtype": None}


class BaseTreeEstimator(MultiOutputMixin, BaseEstimator, ABC):
    """Base class of the estimators of trees and forests; not for direct use."""

    n_features_in_: int
    n_outputs_: int
    is_categorical_: NDArray[np.bool_] | None
    categories_: Categories | None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    @abstractmethod
    def _encode_y(
        self, y: NDArray[Any], sample_weight: NDArray[np.float64] | None
    ) -> EncodedTarget:
        """Return the targets of shape (n_samples, n_outputs) as the compiled part wants them."""

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Let the estimator stay as it was if anything fails."""
        before = self.__dict__.copy()
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _validate_X_y(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        """Return X with codes for categories, and y."""
        with _quiet():
            coded = self._learn_categories(X)
            checked, y = validate_data(
                self, secure_sparse(coded), y, validate_separately=(_CHECK_X, _CHECK_Y)
            )
            if coded is not X:
                # Codes have no names.
                validate_data(self, X, skip_check_array=True)
        return convert_objects(checked), y

    def _learn_categories(self, X: Any) -> Any:
        """Return X with codes for categories, from now on for the same ones."""
        self.is_categorical_ = find_categorical_features(X, self.categorical_features)
        self.categories_ = None
        if self.is_categorical_ is not None:
            X, self.categories_ = learn(X, self.is_categorical_)
        return X

    def _read_X_y(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        """Return X with codes for categories, and y with an axis for the outputs."""
        X, y = self._validate_X_y(X, y)
        return X, self._remember_shape(X, y)

    def _remember_shape(self, X: Any, y: NDArray[Any]) -> NDArray[Any]:
        """Return the targets with an axis for the outputs."""
        self.n_features_in_ = X.shape[1]
        y = np.atleast_1d(y)
        if y.ndim == 1:
            y = y.reshape(-1, 1)
        if y.ndim != 2:
            raise ValueError(
                "y must have shape (n_samples,) or (n_samples, n_outputs). "
                f"Got {y.ndim} dimensions instead."
            )
        check_consistent_length(X, y)
        self.n_outputs_ = y.shape[1]
        return y

    def _check_target(
        self, y: NDArray[Any], sample_weight: Any
    ) -> tuple[EncodedTarget, NDArray[np.float64] | None]:
        """Return the encoded target, and the weights of samples and classes together."""
        weights = None
        if sample_weight is not None:
            weights = check_sample_weight(sample_weight, y.shape[0])
        target = self._encode_y(y, weights)
        if target.class_weights is not None:
            weights = target.class_weights * (1.0 if weights is None else weights)
        return target, weights

    def _constraints(self, target: EncodedTarget) -> list[int] | None:
        """Return the monotonic constraints, in scikit-learn's words if they are illegal."""
        if self.monotonic_cst is None:
            return None
        if target.n_classes is not None and self.n_outputs_ > 1:
            raise ValueError(
                "Monotonicity constraints are not supported with multiple outputs of classes."
            )
        if target.n_classes is not None and target.n_classes[0] > 2:
            raise ValueError(
                "Monotonicity constraints are not supported with multiclass classification"
            )
        constraints = check_monotonic_cst(self.monotonic_cst, self.n_features_in_)
        if self.is_categorical_ is not None and np.any(np.array(constraints)[self.is_categorical_]):
            raise ValueError("Categorical features cannot have monotonic constraints.")
        return constraints

    def _reject(self, name: str, expected: str) -> NoReturn:
        """Raise ValueError for the value of a parameter."""
        reject_parameter(type(self).__name__, name, getattr(self, name), expected)

    def _seed(self) -> int:
        if isinstance(self.random_state, Integral) and 2**32 <= int(self.random_state) < 2**64:
            return int(self.random_state)
        try:
            random_state = check_random_state(self.random_state)
        except ValueError:
            random_state = None
        if random_state is None:
            expected = "an int in the range [0, 2**64), a numpy.random.RandomState or None"
            self._reject("random_state", expected)
        # Beyond what scikit-learn takes for a random state, so that it stands for itself if it
        # becomes one.
        return 2**32 + int(random_state.randint(np.iinfo(np.int32).max))

    def _n_threads(self) -> int:
        if self.n_jobs is not None and (not isinstance(self.n_jobs, Integral) or self.n_jobs == 0):
            self._reject("n_jobs", "an int other than 0 or None")
        return int(effective_n_jobs(self.n_jobs))

    def _params(self) -> dict[str, Any]:
        params: dict[str, Any] = self.get_params(deep=False)
        if params["criterion"] == "friedman_mse":
            warn_caller(
                "criterion='friedman_mse' is deprecated, as in scikit-learn; it is the same as "
                "'squared_error'.",
                FutureWarning,
            )
            params["criterion"] = "squared_error"
        return params

    def _validate_X_predict(self, X: Any, check_input: bool) -> Any:
        check_is_fitted(self)
        if self.is_categorical_ is not None:
            assert self.categories_ is not None
            with _quiet():
                if check_input:
                    validate_data(self, X, skip_check_array=True, reset=False)
                X = encode(X, self.is_categorical_, self.categories_)
            return to_native(X.tocsr() if hasattr(X, "tocsr") else X)
        if check_input:
            with _quiet():
                X = validate_data(
                    self,
                    secure_sparse(X),
                    accept_sparse="csr",
                    ensure_all_finite=False,
                    reset=False,
                )
            X = convert_objects(X)
        return to_native(X)


class BaseDecisionTree(BaseTreeEstimator):
    """Base class of the estimators of one tree; not for direct use."""

    # `check_input` is an optimisation, nothing for a pipeline to pass around.
    __metadata_request__fit: ClassVar[dict[str, str]] = {"check_input": UNUSED}
    __metadata_request__predict: ClassVar[dict[str, str]] = {"check_input": UNUSED}

    tree_: Tree
    max_features_: int
    # The features that had missing values in training: what is told of others is moot.
    _with_missing: NDArray[np.int64]

    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Self:
        """Grow the tree.

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
            Non-negative weights; None means 1 for all. Samples of weight 0 take no part.
        check_input : bool, default=True
            False skips scikit-learn's checks and conversions of `X` and `y`: they must be arrays
            or CSC/CSR matrices already. Don't use it unless you know what you are doing.

        Returns
        -------
        self : object
            The fitted estimator. If anything fails, the estimator stays as it was.
        """
        with self._all_or_nothing():
            return self._fit(X, y, sample_weight, check_input)

    def _fit(self, X: Any, y: Any, sample_weight: Any, check_input: bool) -> Self:
        params = self._params()
        seed = self._seed()
        n_threads = self._n_threads()
        if check_input:
            X, y = self._validate_X_y(X, y)
        else:
            X = self._learn_categories(X)
        y = self._remember_shape(X, y)
        target, weights = self._check_target(y, sample_weight)
        params["monotonic_cst"] = self._constraints(target)
        self.tree_, self.max_features_, self._with_missing = fit_tree(
            to_native(X),
            target.y,
            target.n_classes,
            weights,
            type(self).__name__,
            params,
            seed,
            n_threads,
            count_categories(self.categories_),
        )
        return self

    def _predict_values(self, X: Any, check_input: bool) -> NDArray[np.float64]:
        X = self._validate_X_predict(X, check_input)
        return self.tree_.predict(X, self._n_threads())

    def apply(self, X: Any, check_input: bool = True) -> NDArray[np.int64]:
        """Return the leaf that each sample reaches.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; CSC is converted to CSR.
        check_input : bool, default=True
            False skips scikit-learn's checks and conversions of `X`.

        Returns
        -------
        leaves : ndarray of shape (n_samples,), int64
            Node ids: indices into the arrays of `tree_`.
        """
        X = self._validate_X_predict(X, check_input)
        return self.tree_.apply(X, self._n_threads())

    def decision_path(self, X: Any, check_input: bool = True) -> Any:
        """Return the nodes that each sample passes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; CSC is converted to CSR.
        check_input : bool, default=True
            False skips scikit-learn's checks and conversions of `X`.

        Returns
        -------
        indicator : sparse matrix of shape (n_samples, node_count)
            CSR; 1 where the sample passes the node.
        """
        X = self._validate_X_predict(X, check_input)
        return self.tree_.decision_path(X, self._n_threads())

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """Return the subtrees that minimal cost-complexity pruning goes through.

        A tree is grown without pruning; the estimator stays as it is.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples, as for `fit`.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights; None means 1 for all.

        Returns
        -------
        ccp_path : Bunch
            ccp_alphas : ndarray
                The price per leaf from which on each subtree is the best, ascending; 0 for the
                whole tree.
            impurities : ndarray
                The sum of the impurities of its leaves, weighted by their shares of the weight.
        """
        unpruned = clone(self).set_params(ccp_alpha=0.0)
        unpruned.fit(X, y, sample_weight=sample_weight)
        ccp_alphas, impurities = unpruned.tree_.cost_complexity_path()
        return Bunch(ccp_alphas=ccp_alphas, impurities=impurities)

    def get_depth(self) -> int:
        """Return the depth of the tree: the distance from the root to its farthest leaf.

        Returns
        -------
        depth : int
        """
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves.

        Returns
        -------
        n_leaves : int
        """
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Mean decrease of impurity per feature, normalised to a sum of 1.

        Returns
        -------
        importances : ndarray of shape (n_features,)
        """
        check_is_fitted(self)
        return self.tree_.compute_feature_importances()


def _quiet() -> np.errstate:
    """Return a context for scikit-learn's test of finiteness, which sums: large values overflow."""
    return np.errstate(over="ignore", invalid="ignore")
