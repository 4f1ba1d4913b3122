"""Intervals and sets from the trees that have not seen a sample (jackknife+ after bootstrap)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from spinney._common.blocks import divide_rows
from spinney._common.messages import warn_caller
from spinney._common.types import ConformityScore
from spinney._fit.draws import UnseenTrees
from spinney._fit.labels import read_labels
from spinney._fit.params import store_parameters
from spinney.conformal._intervals import ConformalRegressor
from spinney.conformal._levels import BagConformal
from spinney.conformal._models import fit_model, get_forest, predict_means, transform
from spinney.conformal._sets import PlusClassifier, ProbabilitiesWithout
from spinney.conformal._weights import Training, read_training
from spinney.ensemble import RandomForestClassifier, RandomForestRegressor
from spinney.ensemble._forest import ForestClassifier, ForestRegressor

if TYPE_CHECKING:
    from typing_extensions import Self


class Bags(NamedTuple):
    """A fitted forest, and what its trees say of the samples that they have not seen."""

    model: Any
    """The forest, or a pipeline that ends in it."""
    training: Training
    is_known: NDArray[np.bool_]
    """Which training samples some tree has not seen."""
    unseen: UnseenTrees
    """Of these samples."""
    means: NDArray[np.float64]
    """Of these samples, the means of the trees that have not seen them."""
    copies: NDArray[np.float64] | None


class JackknifeModel(BagConformal):
    """Base class of the models that ask the trees that have not seen a training sample."""

    # Of the samples that have a score. A pickle is without: it follows from the seeds of the trees.
    _unseen: UnseenTrees

    def _fit_bags(
        self, model: Any, X: Any, y: Any, sample_weight: Any, samples: Any, groups: Any
    ) -> Bags:
        training = read_training(X, y, sample_weight)
        fit_model(
            model,
            training.X,
            training.y,
            sample_weight=training.sample_weight,
            samples=training.take_samples(samples),
            groups=training.take_groups(groups),
        )
        forest = get_forest(model)
        self._check_one_output(forest)
        rows = forest._validate_X_predict(transform(model, training.X))
        means, n_trees = forest.forest_.predict_oob(rows, forest._draws, forest._count_threads())
        is_known = n_trees > 0
        n_seen = int(np.count_nonzero(~is_known))
        if n_seen:
            warn_caller(
                f"All trees have seen {n_seen} of {is_known.shape[0]} samples, so nothing is known "
                "of them out of bag: predictions come from the others. More trees leave fewer "
                "samples out."
            )
        copies = training.count_copies()
        copies = None if copies is None else copies[is_known]
        self._check_levels(is_known.shape[0] - n_seen, copies)
        return Bags(model, training, is_known, find_unseen(forest), means[is_known], copies)

    def _adopt(self, bags: Bags) -> None:
        self.estimator_, self._unseen, self._copies = bags.model, bags.unseen, bags.copies
        self.n_features_in_ = self._count_features(bags.training.X)

    def _list_unseen(self) -> UnseenTrees:
        """Return which trees have not seen the samples that have a score."""
        if "_unseen" not in vars(self):
            self._unseen = find_unseen(get_forest(self.estimator_))
        return self._unseen

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_unseen"}


def find_unseen(forest: Any) -> UnseenTrees:
    """Return which trees have not seen the training samples, without those that all have seen."""
    unseen: UnseenTrees = forest._draws.mark_unseen(forest.forest_.seeds, forest._count_threads())
    is_known = unseen.bits.any(axis=1)
    return unseen if is_known.all() else unseen.take(np.flatnonzero(is_known))


class JackknifeAfterBootstrapRegressor(JackknifeModel, ConformalRegressor):
    """Intervals by the out-of-bag residuals of one forest (jackknife+ after bootstrap).

    The residual of a training sample is its distance from the mean of the trees that have not seen
    it. For a new sample, each training sample gives two values: the prediction of these trees,
    minus and plus its residual. The bounds of the interval are order statistics of these values.
    No second forest is grown. The names are as in MAPIE's class.

    Parameters
    ----------
    estimator : forest regressor, Pipeline or None, default=None
        A forest of `spinney.ensemble`, not fitted, whose trees leave samples out, or a pipeline
        that ends in one. None means `RandomForestRegressor()`.
    confidence_level : float or list of float, default=0.9
        How often intervals shall cover.
    bounds : tuple of two float or None, default=None
        The least and the largest value that a target can have, None where there is no such value:
        ``(0, None)`` for counts. Intervals end there; the targets of `fit` must be within.

    Attributes
    ----------
    estimator_ : forest regressor
        The fitted forest.
    residuals_ : ndarray of shape (n_samples_out_of_bag,)
        Targets less predictions, of the training samples that some tree has not seen.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    CrossConformalRegressor : The same from forests that are grown for folds.
    ConformalizedQuantileRegressor : Intervals that are wider where targets spread more.

    Notes
    -----
    The intervals cover a new target with a probability of at least ``1 - 2 * alpha``, where `alpha`
    is ``1 - confidence_level``, if samples are exchangeable, and in practice with about
    ``1 - alpha`` (theorem 1 of the paper). A prediction takes O(training samples * trees / 8) for
    each sample: sums of eight trees are looked up in tables.

    The other steps of a pipeline are fitted once, to all training samples. A step that learns from
    targets so tells them to trees that should not know them: `CrossConformalRegressor` fits whole
    pipelines without each fold.

    References
    ----------
    B. Kim, C. Xu, R. F. Barber, "Predictive inference is free with the jackknife+-after-bootstrap",
    NeurIPS 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from spinney.conformal import JackknifeAfterBootstrapRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = JackknifeAfterBootstrapRegressor(confidence_level=[0.8, 0.9])
    >>> model.fit_conformalize(X[:400], y[:400]).predict_interval(X[400:])[1].shape
    (42, 2, 2)
    """

    estimator_: Any
    residuals_: NDArray[np.float64]

    def __init__(
        self, estimator: Any = None, *, confidence_level: Any = 0.9, bounds: Any = None
    ) -> None:
        store_parameters(locals())

    def fit_conformalize(
        self, X: Any, y: Any, sample_weight: Any = None, samples: Any = None, groups: Any = None
    ) -> Self:
        """Grow the forest, and keep the residuals of its training samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples.
        y : array-like of shape (n_samples,)
            The targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights for the forest and for the scores. Samples of weight 0 are as if absent. If all
            weights are whole numbers, the score of a sample of weight w counts as w scores,
            otherwise as many as its weight is of the mean weight.
        samples : default=None
            As for the forest: the samples of each tree.
        groups : array-like of shape (n_samples,), default=None
            The group of each sample, as for the forest: trees leave whole groups out together.

        Returns
        -------
        self : object
        """
        self._read_levels()
        self._read_bounds()
        model = self._make_forest(RandomForestRegressor, (ForestRegressor,))
        if not get_forest(model).bootstrap:
            raise ValueError(
                "Intervals come from trees that have not seen a sample: set bootstrap=True, or use "
                "CrossConformalRegressor."
            )
        bags = self._fit_bags(model, X, y, sample_weight, samples, groups)
        residuals = self._read_targets(bags.training.y)[bags.is_known] - bags.means[:, 0]
        self._adopt(bags)
        self.residuals_ = residuals
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the target of each sample: the mean of all trees.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples. Sparse formats other than CSR are converted to it.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return predict_means(self.estimator_, X)

    def _bound(
        self, X: Any, levels: list[float], shortest: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        forest = get_forest(self.estimator_)
        n_threads = forest._count_threads()
        rows = forest._validate_X_predict(transform(self.estimator_, X))
        unseen = self._list_unseen().bits
        parts = [
            self._bound_by_residuals(
                forest.forest_.predict_trees(rows, n_threads, block)[:, :, 0],
                unseen,
                levels,
                shortest,
                n_threads,
            )
            for block in divide_rows(rows.shape[0], len(forest.forest_))
        ]
        lower, upper = (np.concatenate(bounds) for bounds in zip(*parts, strict=True))
        return lower, upper


class JackknifeAfterBootstrapClassifier(JackknifeModel, PlusClassifier):
    """Sets of classes by the out-of-bag probabilities of one forest (jackknife+ after bootstrap).

    The score of a training sample says how little its class conforms to the trees that have not
    seen it. A class is in the set of a new sample unless it conforms less than the classes of most
    training samples do, each time by the trees that have not seen the training sample. No second
    forest is grown.

    Parameters
    ----------
    estimator : forest classifier, Pipeline or None, default=None
        A forest of `spinney.ensemble`, not fitted, whose trees leave samples out, or a pipeline
        that ends in one. None means `RandomForestClassifier()`.
    confidence_level : float or list of float, default=0.9
        How often sets shall have the true class.
    conformity_score : {"lac", "aps"}, default="lac"
        "lac": 1 minus the probability of the class; the smallest sets. "aps": the sum of the
        probabilities down to the class's own; sets that are larger where the forest is less sure.

    Attributes
    ----------
    estimator_ : forest classifier
        The fitted forest.
    conformity_scores_ : ndarray of shape (n_samples_out_of_bag,)
        The scores of the training samples that some tree has not seen.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    CrossConformalClassifier : The same from forests that are grown for folds.

    References
    ----------
    Y. Romano, M. Sesia, E. J. Candes, "Classification with valid and adaptive coverage", NeurIPS
    2020, section 2.4.

    B. Kim, C. Xu, R. F. Barber, "Predictive inference is free with the jackknife+-after-bootstrap",
    NeurIPS 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spinney.conformal import JackknifeAfterBootstrapClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = JackknifeAfterBootstrapClassifier(confidence_level=0.95).fit_conformalize(X, y)
    >>> labels, sets = model.predict_set(X)
    >>> sets.shape
    (150, 3, 1)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        confidence_level: Any = 0.9,
        conformity_score: ConformityScore = "lac",
    ) -> None:
        store_parameters(locals())

    def fit_conformalize(
        self, X: Any, y: Any, sample_weight: Any = None, samples: Any = None, groups: Any = None
    ) -> Self:
        """Grow the forest, and keep the scores of its training samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The training samples.
        y : array-like of shape (n_samples,)
            The class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights for the forest and for the scores. Samples of weight 0 are as if absent. If all
            weights are whole numbers, the score of a sample of weight w counts as w scores,
            otherwise as many as its weight is of the mean weight.
        samples : default=None
            As for the forest: the samples of each tree.
        groups : array-like of shape (n_samples,), default=None
            The group of each sample, as for the forest: trees leave whole groups out together.

        Returns
        -------
        self : object
        """
        self._read_levels()
        self._check_score()
        model = self._make_forest(RandomForestClassifier, (ForestClassifier,))
        if not get_forest(model)._leaves_samples_out():
            raise ValueError(
                "Sets come from trees that have not seen a sample: set bootstrap=True, or use "
                "CrossConformalClassifier."
            )
        bags = self._fit_bags(model, X, y, sample_weight, samples, groups)
        labels = np.ravel(np.asarray(read_labels(bags.training.y)))[bags.is_known]
        codes = np.searchsorted(get_forest(model).classes_, labels)
        self._adopt(bags)
        self.conformity_scores_ = self._score_known(bags.means, codes)
        return self

    def _list_probabilities_without(self, X: Any) -> tuple[ProbabilitiesWithout, int]:
        forest = get_forest(self.estimator_)
        rows = forest._validate_X_predict(transform(self.estimator_, X))
        unseen, n_threads = self._list_unseen(), forest._count_threads()

        def find(block: tuple[int, int]) -> Callable[[tuple[int, int]], NDArray[np.float64]]:
            values = forest.forest_.predict_trees(rows, n_threads, block)

            def find_without(training: tuple[int, int]) -> NDArray[np.float64]:
                known = unseen.of_rows(training)
                shares = known / known.sum(axis=1, keepdims=True)
                return np.tensordot(shares, values, axes=(1, 1))

            return find_without

        return find, rows.shape[0]
