"""What grown and lazy forests share: parameters, samples, targets and predictions."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from spinney._base.estimator import BaseTreeEstimator
from spinney._common.checks import check_int, check_verbose, is_bool
from spinney._common.messages import warn_caller
from spinney._fit.class_sampling import ClassSampling
from spinney._fit.draws import (
    Draws,
    count_draws_with_replacement,
    count_draws_without_replacement,
)
from spinney._fit.groups import draw_groups
from spinney._fit.target import ClassTarget, EncodedTarget, NumberTarget
from spinney._fit.task import Settings, Task
from spinney._fit.tree_samples import list_seeds, read_samples

if TYPE_CHECKING:
    from typing_extensions import Self

_MAX_DRAWS = 2**32 - 1


class BaseBaggedTrees(BaseTreeEstimator):
    """Base class of the estimators that predict the mean of the predictions of many trees."""

    n_estimators: Any
    bootstrap: Any
    replace: Any
    max_samples: Any
    verbose: Any

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        sample_ids: Any = None,
        samples: Any = None,
        groups: Any = None,
    ) -> Self:
        """Fit the forest: grow its trees or, for a lazy forest, encode the training data.

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
            With `bootstrap=True` and `replace=True` a sample is drawn with a probability
            proportional to its weight, and trees weigh it by the number of its draws, as in
            scikit-learn. Otherwise trees weigh samples by these weights, multiplied by the counts
            of `bootstrap="poisson"`.
        sample_ids : array-like of int of shape (n_samples,), default=None
            Non-negative ids of the samples, which need not be distinct. None means the row numbers.
            With `bootstrap="poisson"` the count of a sample in a tree is determined by its id, the
            number of the tree and `random_state`. Forests on parts of one data set therefore give a
            sample the same count if it has the same id. Not allowed otherwise.
        samples : list of array-like, ndarray or sparse matrix, default=None
            The samples of each tree, where `bootstrap=True` is not to draw them: blocks, groups or
            windows of time. A list with an array of indices (repeated for samples that count
            several times), or a mask, for each of the `n_estimators` trees; or an array or sparse
            matrix of counts of shape (n_estimators, n_samples). Trees weigh samples by
            `sample_weight` times the count. Samples that a tree does not get are out of bag for it.
            With `warm_start`, give the samples of all trees, including those that are already
            grown.
        groups : array-like of shape (n_samples,), default=None
            The group of each sample, such as a patient or a week, whose samples depend on each
            other. Trees draw whole groups, all with the same chance, and weigh their samples by
            `sample_weight` times the number of draws; `max_samples` counts groups, and
            `bootstrap="poisson"` has one count for each. Parts of honest trees, samples out of bag
            and standard errors are of whole groups, too.

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
            return self._fit(X, y, sample_weight, sample_ids, samples, groups)

    @abstractmethod
    def _fit(
        self, X: Any, y: Any, sample_weight: Any, sample_ids: Any, samples: Any, groups: Any
    ) -> Self:
        """Fit the forest; see `fit`."""

    # --- Parameters -----------------------------------------------------------------------------

    def _check_n_estimators(self) -> None:
        check_int(type(self).__name__, "n_estimators", self.n_estimators, 1)

    def _check_own_params(self) -> None:
        self._check_n_estimators()
        is_name = isinstance(self.bootstrap, str)
        if not (self.bootstrap == "poisson" if is_name else is_bool(self.bootstrap)):
            self._reject("bootstrap", "a bool or 'poisson'")
        if not is_bool(self.replace):
            self._reject("replace", "a bool")
        self._read_verbose()
        self._check_max_samples()

    def _read_verbose(self) -> int:
        check_verbose(type(self).__name__, self.verbose)
        return int(self.verbose)

    def _check_max_samples(self) -> None:
        if self.max_samples is None:
            is_legal = True
        elif isinstance(self.max_samples, Integral):
            is_legal = int(self.max_samples) >= 1
        else:
            is_legal = isinstance(self.max_samples, Real) and 0.0 < float(self.max_samples) < np.inf
        if not is_legal:
            expected = "an int in the range [1, inf), a float in the range (0.0, inf) or None"
            self._reject("max_samples", expected)
        if self._draws_samples():
            return
        if self.max_samples is not None:
            raise ValueError(
                f"`max_sample` cannot be set if `bootstrap={self.bootstrap!r}`. "
                "Either switch to `bootstrap=True` or set `max_sample=None`."
            )
        if not self.replace:
            self._reject("replace", "True unless bootstrap=True")

    def _read_tree_params(self) -> dict[str, Any]:
        # The compiled part does not read `max_samples`, but a message about it shows this value.
        return super()._read_tree_params() | {"max_samples": self.max_samples}

    # --- Training data --------------------------------------------------------------------------

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
        """Return the arguments of `fit` in the form that the compiled part takes."""
        if samples is not None:
            self._check_draws_nothing()
        X, task, draws = self._read_data(settings, X, y, sample_weight, sample_ids)
        if samples is not None:
            seeds = list_seeds(settings.seed, int(self.n_estimators), self._list_grown_seeds())
            given = read_samples(samples, draws.n_samples, seeds)
            draws = draws._replace(scheme="given", n_draws=None, given=given)
        if groups is not None:
            self._check_draws_groups(samples, sample_ids)
            if draws.scheme == "strata":
                raise ValueError(
                    f"groups are drawn as a whole, and {type(self).__name__} draws samples of each "
                    "class: leave groups out."
                )
            draws = draw_groups(draws, groups, self.max_samples)
        return X, task, draws

    def _check_draws_groups(self, samples: Any, sample_ids: Any) -> None:
        """Raise ValueError if something else than groups says how samples are drawn."""
        others = {"samples": samples, "sample_ids": sample_ids}
        others["class_sampling"] = getattr(self, "class_sampling", None)
        wrong = [name for name, value in others.items() if value is not None]
        if wrong:
            raise ValueError(f"groups are drawn as a whole: {wrong[0]} must be None besides.")
        if not (self._leaves_samples_out() or getattr(self, "honest", False)):
            raise ValueError(
                "groups are drawn as a whole, and bootstrap=False draws nothing: leave groups out, "
                "or set bootstrap=True."
            )

    def _leaves_samples_out(self) -> bool:
        """Return whether there are samples that a tree has not seen."""
        return bool(self.bootstrap)

    def _check_draws_nothing(self) -> None:
        """Raise ValueError if parameters say how samples are drawn that are given."""
        others = {"max_samples": None, "replace": True, "class_sampling": None}
        others["subforest_size"] = None
        wrong = [name for name, value in others.items() if getattr(self, name, value) is not value]
        if not self._draws_samples():
            wrong = ["bootstrap"]
        if wrong:
            raise ValueError(
                f"samples says which samples each tree gets, and needs bootstrap=True and the "
                f"defaults of {', '.join(others)}. Got {wrong[0]}="
                f"{getattr(self, wrong[0])!r}."
            )

    def _list_grown_seeds(self) -> list[int]:
        """Return the seeds of the trees that a warm start keeps."""
        return []

    def _validate_X_y(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        if sparse.issparse(y):
            raise ValueError("sparse multilabel-indicator for y is not supported.")
        X, y = super()._validate_X_y(X, y)
        if y.ndim == 2 and y.shape[1] == 1:
            warn_caller(
                "A column-vector y was passed when a 1d array was expected. Please change the "
                "shape of y to (n_samples,), for example using ravel().",
                DataConversionWarning,
            )
        return X, y

    def _draws_samples(self) -> bool:
        """Return whether a tree is grown on drawn samples, rather than on all of them."""
        return bool(self.bootstrap) and not isinstance(self.bootstrap, str)

    def _make_draws(
        self,
        n_samples: int,
        weights: NDArray[np.float64] | None,
        sample_ids: NDArray[np.uint64] | None,
    ) -> Draws:
        if sample_ids is not None and not isinstance(self.bootstrap, str):
            raise ValueError(
                "sample_ids determine the draws of bootstrap='poisson' and of nothing else. "
                f"Got bootstrap={self.bootstrap!r}: leave sample_ids out, or set "
                "bootstrap='poisson'."
            )
        n_draws = None
        if not self._draws_samples():
            scheme = "poisson" if self.bootstrap else "all"
        elif self.replace:
            scheme = "with replacement"
            n_draws = count_draws_with_replacement(self.max_samples, n_samples, weights)
        else:
            scheme = "without replacement"
            n_draws = count_draws_without_replacement(self.max_samples, n_samples, weights)
        if n_draws is not None and n_draws > _MAX_DRAWS:
            # The compiled part takes no such number.
            expected = f"such that each tree draws between 1 and {_MAX_DRAWS} samples"
            self._reject("max_samples", expected)
        return Draws(scheme, n_samples, self.n_outputs_, n_draws, weights, sample_ids)

    # --- Predictions ----------------------------------------------------------------------------

    @abstractmethod
    def _predict_values(self, X: Any) -> NDArray[np.float64]:
        """Return means over the trees, in the shape that `_split_outputs` describes."""


class BaggedClassifier(ClassTarget, BaseBaggedTrees):
    """Base class of the forests that classify."""

    # Not a parameter of all of them.
    class_sampling: Any = None

    _class_weight_presets: ClassVar[tuple[str, ...]] = ("balanced", "balanced_subsample")

    def _check_own_params(self) -> None:
        super()._check_own_params()
        if self.class_sampling is None:
            return
        self._sample_classes().check(type(self).__name__)
        if not self._draws_samples():
            self._reject("class_sampling", "None unless bootstrap=True")
        if self.max_samples is not None:
            raise ValueError(
                "class_sampling says how many samples a tree gets. "
                f"Got max_samples={self.max_samples!r} besides."
            )

    def _sample_classes(self) -> ClassSampling:
        return ClassSampling("class_sampling", self.class_sampling, bool(self.replace))

    def _stratify(self, draws: Draws, y: NDArray[Any], target: EncodedTarget) -> Draws:
        if self.class_sampling is None:
            return draws
        strata, sizes = self._sample_classes().divide(
            draws, y, target, np.atleast_1d(self.classes_)
        )
        # A class that is not named has a draw for each of its samples.
        pairs = zip(sizes, strata.n_draws, strict=True)
        n_draws: list[int | None] = [int(size) if n is None else n for size, n in pairs]
        return draws._replace(
            scheme="strata", n_draws=None, strata=strata._replace(n_draws=n_draws)
        )

    def _weigh_classes(
        self,
        y: NDArray[Any],
        codes: NDArray[np.uint32],
        sample_weight: NDArray[np.float64] | None,
    ) -> NDArray[np.float64] | None:
        if not isinstance(self.class_weight, str):
            return self._read_class_weight(y)
        if getattr(self, "warm_start", False):
            warn_caller(
                'class_weight presets "balanced" or "balanced_subsample" are not recommended for '
                "warm_start if the fitted data differs from the full dataset. In order to use "
                '"balanced" weights, use compute_class_weight("balanced", classes, y). In place of '
                "y you can use a large enough sample of the full training set target to properly "
                "estimate the class frequency distributions. Pass the resulting weights as the "
                "class_weight parameter."
            )
        return None if self._balances_subsamples() else balance_classes(codes, sample_weight)

    def _balances_subsamples(self) -> bool:
        # If every tree is grown on all samples, "balanced_subsample" means "balanced".
        return bool(self.bootstrap) and self.class_weight == "balanced_subsample"

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each sample: the one with the largest mean probability.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Class labels. Of equally probable classes, the first in `classes_`.
        """
        return self._predict_labels(X)

    def _predict_labels(self, X: Any) -> NDArray[Any]:
        """Return what `predict` returns."""
        return self._choose_labels(self._predict_values(X))

    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each class: the mean of what the trees predict.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes), or list of one such array per output
            float64; columns are in the order of `classes_`.
        """
        return self._list_probabilities(self._predict_values(X))


class BaggedRegressor(NumberTarget, BaseBaggedTrees):
    """Base class of the forests that predict numbers."""

    _wanted_sum: ClassVar[str] = "strictly positive"

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the target of each sample: the mean of what the trees predict.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            float64.
        """
        return self._predict_values(X)[..., 0]


def balance_classes(
    codes: NDArray[np.uint32], sample_weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return weights by which all classes get the same total weight, as in scikit-learn 1.9.

    Parameters
    ----------
    codes : ndarray of shape (n_samples, n_outputs)
        Codes of classes. Each class has a sample.
    sample_weight : ndarray of shape (n_samples,) or None
        The totals are of the products of these weights and the returned ones.

    Returns
    -------
    weights : ndarray of shape (n_samples,)
        With several outputs, the product of the weights by each of them.
    """
    product = np.ones(codes.shape[0])
    for column in codes.T:
        totals = np.bincount(column, weights=sample_weight)
        # A class whose samples all have weight 0 is no class, and gets weight 0 instead of a
        # division by 0.
        n_classes = np.count_nonzero(totals)
        factors = np.zeros_like(totals, dtype=np.float64)
        np.divide(totals.sum(), n_classes * totals, out=factors, where=totals > 0)
        product *= factors[column]
    return product
