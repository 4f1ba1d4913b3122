"""What the forests that predict quantiles share: the training rows of their leaves."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import r2_score
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from spinney._common.blocks import divide_rows, join_blocks
from spinney._common.checks import check_int, is_bool
from spinney._common.types import Interpolation, RankKind
from spinney._data.arrays import to_rows
from spinney._explain.out_of_bag import check_oob_score
from spinney._fit.draws import Draws, UnseenTrees, mend_rounding
from spinney._fit.leaf_rows import LeafRows, list_leaf_rows, refuse_other_samples
from spinney._fit.target import EncodedTarget
from spinney._spinney import (
    Forest,
    count_rows_in_leaves,
    predict_leaf_quantiles,
    rank_in_leaves,
)
from spinney.ensemble._forest import ForestRegressor, check_return_std

if TYPE_CHECKING:
    from typing_extensions import Self

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")
_KINDS = ("rank", "weak", "strict", "mean")


class QuantileForestRegressor(ForestRegressor):
    """Base class of the forests that know the training rows of their leaves."""

    default_quantiles: Any
    max_samples_leaf: Any

    # Quantiles are no means of trees.
    _shares_folds = False
    _leaf_rows: LeafRows
    # `explain` divides the mean among the features.
    _explained = ("mean", "_predict_mean")
    # It changes nothing, so that no pipeline need pass it on.
    __metadata_request__fit: ClassVar[dict[str, str]] = {"sparse_pickle": UNUSED}

    # --- Growth ---------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        sample_ids: Any = None,
        samples: Any = None,
        groups: Any = None,
        *,
        sparse_pickle: bool = False,
    ) -> Self:
        """Grow the trees of the forest, and list the training samples in their leaves.

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
        sparse_pickle : bool, default=False
            Has no effect, as leaves are kept in few bytes in any case. For quantile-forest's sake.

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
        if not is_bool(sparse_pickle):
            raise TypeError(f"sparse_pickle must be a bool. Got {sparse_pickle!r} instead.")
        return super().fit(X, y, sample_weight, sample_ids, samples, groups)

    def _check_own_params(self) -> None:
        super()._check_own_params()
        if isinstance(self.criterion, str) and self.criterion == "quantile":
            self._reject("criterion", "a str among {'squared_error', 'absolute_error', 'poisson'}")
        limit = self.max_samples_leaf
        if is_bool(limit):
            is_legal = False
        elif isinstance(limit, Integral):
            is_legal = int(limit) >= 1
        else:
            is_legal = limit is None or (isinstance(limit, Real) and 0.0 < float(limit) <= 1.0)
        if not is_legal:
            expected = "an int in the range [1, inf), a float in the range (0.0, 1.0] or None"
            self._reject("max_samples_leaf", expected)
        read_quantiles(self.default_quantiles, "default_quantiles")

    def _take_other_data(self, grown_seeds: list[int]) -> NoReturn:  # noqa: ARG002
        refuse_other_samples("X")

    def _learn_leaves(
        self, X: Any, target: EncodedTarget, draws: Draws, n_threads: int, known: LeafRows | None
    ) -> None:
        limit = self.max_samples_leaf
        if limit is not None:
            if not isinstance(limit, Integral):
                limit = math.ceil(mend_rounding(float(limit) * draws.n_samples))
            limit = min(int(limit), draws.n_samples)
        y = target.y.astype(np.float64, copy=False)
        rows = list_leaf_rows(self.forest_, to_rows(X), draws, y, limit, n_threads)
        if known is not None:
            rows.check_alike(known)
        self._leaf_rows = rows

    def _refuse_other_trees(self) -> NoReturn:
        raise AttributeError(
            "The trees of a quantile forest cannot be replaced: it knows the samples in the leaves "
            "of its own trees alone."
        )

    def _restore(self, attributes: dict[str, Any], forest: Forest) -> str | None:
        fault = super()._restore(attributes, forest)
        rows: Any = getattr(self, "_leaf_rows", None)
        is_sound = isinstance(rows, LeafRows) and rows.is_sound()
        return fault if is_sound else "the rows of leaves"

    def _convert_to_sklearn(self) -> NoReturn:
        raise TypeError(
            f"scikit-learn has no forests that predict quantiles, as {type(self).__name__} does."
        )

    # --- Predictions ----------------------------------------------------------------------------

    # The arguments are in quantile-forest's order.
    def predict(  # type: ignore[override]
        self,
        X: Any,
        quantiles: Any = None,
        interpolation: Interpolation = "linear",
        weighted_quantile: bool = True,
        weighted_leaves: bool = False,
        aggregate_leaves_first: bool = True,
        oob_score: bool = False,
        indices: Any = None,
        duplicates: Any = None,
        return_std: bool = False,
    ) -> Any:
        """Predict quantiles of the target, or its mean.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        quantiles : float, list of float or "mean", default=None
            The quantiles, in [0, 1]. "mean" is what a forest without quantiles predicts. None means
            `default_quantiles`.
        interpolation : {"linear", "lower", "higher", "midpoint", "nearest"}, default="linear"
            What a quantile between two targets is, as in :func:`numpy.quantile`.
        weighted_quantile : bool, default=True
            Without `weighted_leaves` both values mean the same here.
        weighted_leaves : bool, default=False
            Whether all leaves weigh the same, as in Meinshausen's paper, so that a sample weighs
            the less the more there are in its leaf. False: all samples of all leaves weigh the
            same.
        aggregate_leaves_first : bool, default=True
            Whether the samples of the leaves of all trees are put together. False: the mean of the
            quantiles of the trees.
        oob_score : bool, default=False
            Whether `X` are training samples, and each is predicted by the trees that have not seen
            it. NaN, with a warning, where there are none.
        indices : array-like of int of shape (n_samples,), default=None
            With `oob_score`, the rows of the training data that the samples are; -1 for other
            samples, which no tree has seen. None means all rows in their order.
        duplicates : list of list of int, default=None
            With `oob_score`, rows of the training data that are the same sample: a tree that has
            seen one of them has seen all.
        return_std : bool, default=False
            Whether to return the standard deviation of the target as well, as
            :meth:`RandomForestRegressor.predict` does.

        Returns
        -------
        y : ndarray of shape (n_samples,), (n_samples, n_quantiles) or \
                (n_samples, n_outputs, n_quantiles)
            The axes of outputs and of quantiles are left out if they have length 1.
        std : ndarray of shape (n_samples,)
            If `return_std`.
        """
        check_is_fitted(self)
        wanted = read_quantiles(self.default_quantiles if quantiles is None else quantiles)
        how = self._read_pooling(weighted_quantile, weighted_leaves, aggregate_leaves_first)
        check_interpolation(interpolation)
        _check_out_of_bag(oob_score, indices, duplicates)
        check_return_std(return_std)
        rows = self._validate_X_predict(X)
        n_threads = self._count_threads()
        of_bag = self._find_unseen(rows.shape[0], n_threads, oob_score, indices, duplicates)
        if wanted is None:
            values = self._average(rows, n_threads, of_bag)
            prediction = self._split_outputs(values)[..., 0]
        else:
            found = (
                predict_leaf_quantiles(
                    self._leaf_rows, leaves, counts, wanted, (interpolation, *how), n_threads
                )
                for _, leaves, counts in self._iter_leaves(rows, n_threads, of_bag)
            )
            # The outputs of a row come one after the other.
            joined = join_blocks(rows.shape[0] * self.n_outputs_, found)
            prediction = shape_quantiles(joined, self.n_outputs_)
        if not return_std:
            return prediction
        return prediction, self._predict_std(rows, of_bag)

    # The arguments are in quantile-forest's order.
    def score(  # type: ignore[override]
        self, X: Any, y: Any, quantiles: Any = 0.5, sample_weight: Any = None
    ) -> float:
        """Return R2 of predicted medians, or of another quantile.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        quantiles : float or "mean", default=0.5
            What is predicted, whatever `default_quantiles` is.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        score : float
            With several outputs their mean, weighted by the variances of the targets.
        """
        wanted = read_quantiles(quantiles)
        if wanted is not None and len(wanted) != 1:
            raise ValueError(f"score takes one of quantiles. Got {quantiles!r} instead.")
        prediction = self.predict(X, quantiles="mean" if wanted is None else wanted)
        return float(
            r2_score(y, prediction, sample_weight=sample_weight, multioutput="variance_weighted")
        )

    def _list_quantiles(self, row: Any) -> list[tuple[float, float]]:
        levels = read_quantiles(self.default_quantiles)
        if levels is None:
            return []
        return list(zip(levels.tolist(), np.ravel(self.predict(row)).tolist(), strict=True))

    def _predict_mean(self, X: Any) -> NDArray[np.float64]:
        mean: NDArray[np.float64] = self.predict(X, quantiles="mean")
        return mean

    def quantile_ranks(
        self,
        X: Any,
        y: Any,
        kind: RankKind = "rank",
        aggregate_leaves_first: bool = True,
        oob_score: bool = False,
        indices: Any = None,
        duplicates: Any = None,
    ) -> NDArray[np.float64]:
        """Return which share of the predicted distribution lies below targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        kind : {"rank", "weak", "strict", "mean"}, default="rank"
            How equal targets count, as in :func:`scipy.stats.percentileofscore`.
        aggregate_leaves_first : bool, default=True
        oob_score : bool, default=False
        indices : array-like of int, default=None
        duplicates : list of list of int, default=None
            As in `predict`.

        Returns
        -------
        ranks : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            In [0, 1].
        """
        check_is_fitted(self)
        if kind not in _KINDS:
            names = ", ".join(map(repr, _KINDS))
            raise ValueError(f"kind must be one of {names}. Got {kind!r} instead.")
        _check_out_of_bag(oob_score, indices, duplicates)
        rows = self._validate_X_predict(X)
        n_threads = self._count_threads()
        targets = np.asarray(y, dtype=np.float64)
        targets = np.ascontiguousarray(targets.reshape(-1, 1) if targets.ndim == 1 else targets)
        if targets.shape != (rows.shape[0], self.n_outputs_):
            raise ValueError(
                f"y must have a target for each of {rows.shape[0]} samples and {self.n_outputs_} "
                f"outputs. Got shape {np.shape(y)} instead."
            )
        how = self._read_pooling(True, False, aggregate_leaves_first)
        of_bag = self._find_unseen(rows.shape[0], n_threads, oob_score, indices, duplicates)
        found = (
            rank_in_leaves(self._leaf_rows, leaves, counts, targets[block], (kind, *how), n_threads)
            for block, leaves, counts in self._iter_leaves(rows, n_threads, of_bag)
        )
        ranks = join_blocks(rows.shape[0], found)
        return ranks[:, 0] if self.n_outputs_ == 1 else ranks

    def proximity_counts(
        self,
        X: Any,
        max_proximities: int | None = None,
        return_sorted: bool = True,
        oob_score: bool = False,
        indices: Any = None,
        duplicates: Any = None,
    ) -> list[list[tuple[int, int]]]:
        """Count how often training samples lie in the leaves that samples reach.

        Unlike :meth:`proximity`, this needs no training samples, and counts a sample in a tree as
        often as the tree has drawn it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.
        max_proximities : int, default=None
            How many training samples to return for each sample: the most counted, and of
            equal counts the first ones. None means all.
        return_sorted : bool, default=True
            Whether the largest counts come first. False: in the order of the training samples.
        oob_score : bool, default=False
        indices : array-like of int, default=None
        duplicates : list of list of int, default=None
            As in `predict`.

        Returns
        -------
        counts : list of list of tuple
            For each sample, the rows of the training data that are in its leaves, each with its
            count. Sample weights are not counted, but samples of weight 0 are in no leaf.
        """
        check_is_fitted(self)
        if max_proximities is not None:
            check_int("proximity_counts", "max_proximities", max_proximities, 1)
        if not is_bool(return_sorted):
            raise TypeError(f"return_sorted must be a bool. Got {return_sorted!r} instead.")
        _check_out_of_bag(oob_score, indices, duplicates)
        n_threads = self._count_threads()
        rows = self._validate_X_predict(X)
        of_bag = self._find_unseen(rows.shape[0], n_threads, oob_score, indices, duplicates)
        unweighted = self._leaf_rows._replace(weights=None)
        lists: list[list[tuple[int, int]]] = []
        for _, leaves, counts in self._iter_leaves(rows, n_threads, of_bag):
            starts, found, times = count_rows_in_leaves(
                unweighted, leaves, counts, max_proximities, n_threads
            )
            pairs = list(zip(found.tolist(), times.tolist(), strict=True))
            lists += [pairs[start:end] for start, end in pairwise(starts.tolist())]
        return lists if return_sorted else [sorted(own) for own in lists]

    def _read_pooling(self, weighted: Any, leaves: Any, first: Any) -> tuple[bool, bool]:
        """Return whether leaves weigh the same, and whether each is asked alone."""
        names = ("weighted_quantile", "weighted_leaves", "aggregate_leaves_first")
        for name, value in zip(names, (weighted, leaves, first), strict=True):
            if not is_bool(value):
                raise TypeError(f"{name} must be a bool. Got {value!r} instead.")
        return bool(weighted and leaves), not first

    def _average(self, X: Any, n_threads: int, of_bag: UnseenTrees | None) -> NDArray[np.float64]:
        """Return for each sample the means of the trees that count; None if all do."""
        if of_bag is None:
            return self.forest_.predict(X, n_threads)
        values, n_trees = self.forest_.predict_counted(X, of_bag.bits, n_threads)
        values[n_trees == 0] = np.nan
        return values

    # --- Out of bag -----------------------------------------------------------------------------

    def _iter_leaves(
        self, X: Any, n_threads: int, of_bag: UnseenTrees | None
    ) -> Iterator[tuple[slice, NDArray[np.int64], NDArray[np.uint8] | None]]:
        """Return, for blocks of samples, their leaves, and which trees count; None for all."""
        for rows in divide_rows(X.shape[0], len(self.forest_)):
            counts = None if of_bag is None else of_bag.of_rows(rows)
            yield slice(*rows), self.forest_.apply(X, n_threads, rows), counts

    def _find_unseen(
        self, n_rows: int, n_threads: int, oob_score: bool, indices: Any, duplicates: Any
    ) -> UnseenTrees | None:
        """Return which trees have not seen samples, and so count for them; None if all count."""
        if not oob_score:
            return None
        n_samples = self._leaf_rows.values.shape[1]
        draws = self._get_draws(n_rows if indices is None else n_samples)
        unseen = draws.mark_unseen(self.forest_.seeds, n_threads)
        for group in () if duplicates is None else duplicates:
            unseen.join(list(group))
        if indices is not None:
            given = np.asarray(indices)
            rows = given.astype(np.int64) if given.dtype.kind in "iuf" else given
            is_whole = given.dtype.kind in "iuf" and np.array_equal(rows, given)
            if not is_whole or rows.shape != (n_rows,):
                raise ValueError(
                    f"indices must be an int for each of {n_rows} samples. "
                    f"Got shape {given.shape} of type {given.dtype}."
                )
            if rows.size and not -1 <= rows.min() <= rows.max() < n_samples:
                raise ValueError(f"indices must be -1 or rows below {n_samples}.")
            unseen = unseen.take(rows)
        self._warn_of_seen(unseen.count_seen())
        return unseen


def read_quantiles(quantiles: Any, name: str = "quantiles") -> NDArray[np.float64] | None:
    """Return quantiles; None for the mean. Errors name the argument."""
    if quantiles is None or (isinstance(quantiles, str) and quantiles == "mean"):
        return None
    given = [quantiles] if np.ndim(quantiles) == 0 else list(quantiles)
    for quantile in given:
        is_number = isinstance(quantile, Real) and not is_bool(quantile)
        if not (is_number and 0.0 <= float(quantile) <= 1.0):
            raise ValueError(f"Quantiles must be in the range [0, 1], got {quantile!r} in {name}.")
    if not given:
        raise ValueError(f"Quantiles must be one number or more, or 'mean'. Got none in {name}.")
    return np.array(given, dtype=np.float64)


def _check_out_of_bag(oob_score: Any, indices: Any, duplicates: Any) -> None:
    """Raise an error unless training samples are told of predictions out of bag alone."""
    check_oob_score(oob_score)
    if not oob_score and not (indices is None and duplicates is None):
        raise ValueError("indices and duplicates are for oob_score=True.")


def check_interpolation(interpolation: Any) -> None:
    """Raise ValueError unless quantiles can be interpolated so."""
    if interpolation not in _INTERPOLATIONS:
        names = ", ".join(map(repr, _INTERPOLATIONS))
        raise ValueError(f"interpolation must be one of {names}. Got {interpolation!r} instead.")


def shape_quantiles(found: NDArray[np.float64], n_outputs: int) -> NDArray[np.float64]:
    """Return quantiles, of shape (n_samples * n_outputs, n_quantiles), in the shape of `predict`.

    The axes of outputs and of quantiles are left out if they have length 1.
    """
    values = found.reshape(-1, n_outputs, found.shape[1])
    if values.shape[2] == 1:
        values = values[:, :, 0]
    return values[:, 0] if values.shape[1] == 1 else values
