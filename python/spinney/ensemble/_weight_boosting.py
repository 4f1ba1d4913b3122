"""What AdaBoost for classes and for numbers share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import Tags, check_X_y
from sklearn.utils.validation import check_is_fitted

from spinney._base.features import FeatureReader
from spinney._base.saving import Stored
from spinney._common.checks import check_targets, check_targets_are_numbers, refuse_dates
from spinney._common.messages import is_ours
from spinney._data.arrays import to_native
from spinney._fit.labels import read_labels
from spinney.dataset import Dataset
from spinney.ensemble._reweighted import FollowedEstimator, Rounds, TreeRounds, TreeRows
from spinney.tree._base import BaseDecisionTree

if TYPE_CHECKING:
    from typing_extensions import Self


class WeightBoosting(Stored, FeatureReader):
    """Mixin of scikit-learn's classes: lets them boost estimators of ours over encoded samples.

    Estimators of others are boosted as scikit-learn does it.
    """

    estimator: Any
    n_estimators: Any
    learning_rate: Any

    estimator_: Any
    estimators_: list[Any]
    estimator_weights_: NDArray[np.float64]
    estimator_errors_: NDArray[np.float64]
    classes_: NDArray[Any]
    n_classes_: int

    # scikit-learn's base class knows names of parameters that estimators take over.
    estimator_params: tuple[str, ...] = ()
    # Exists while `fit` runs.
    _rounds: Rounds | None = None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = is_of_ours(self._get_base())
        return tags

    # --- The estimator --------------------------------------------------------------------------

    def _get_base(self) -> Any:
        """Return the estimator of which copies are fitted."""
        return self._make_default() if self.estimator is None else self.estimator

    @abstractmethod
    def _make_default(self) -> Any:
        """Return the estimator that is used if none is given."""

    def _validate_estimator(self) -> None:
        super()._validate_estimator()  # type: ignore[misc]
        self.estimator_ = self._get_base()

    @property
    def _expects_types(self) -> bool:  # type: ignore[override]
        wanted: bool = self._get_base()._expects_types
        return wanted

    def _choose_categorical_features(self) -> Any:
        return self._get_base()._choose_categorical_features()

    def _read_handle_unknown(self) -> str:
        wanted: str = self.estimator_._read_handle_unknown()
        return wanted

    def _count_threads(self) -> int:
        n_threads: int = self._get_base()._count_threads()
        return n_threads

    # --- Training -------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit estimators, one after the other.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dataset} of shape (n_samples, n_features)
            The training samples: what the estimator takes. Samples for an estimator of ours are
            encoded once.
        y : array-like of shape (n_samples,)
            The targets: class labels of any type that can be sorted, or numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights that the first round begins with. None means 1 for all. Samples
            with weight 0 have no influence.

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
            self._validate_params()  # type: ignore[attr-defined]
            self.is_categorical_, self.categories_ = None, None
            if sample_weight is not None:
                refuse_dates(sample_weight, "sample_weight")
            base = self._get_base()
            if not is_of_ours(base):
                return self._boost_by_sklearn(X, y, sample_weight)
            coded = to_native(self._validate_X(X))
            names = ("n_features_in_", "feature_names_in_")
            features = {name: vars(self)[name] for name in names if name in vars(self)}
            if not isinstance(X, Dataset):
                X = Dataset._of_codes(
                    coded,
                    self.is_categorical_,
                    self.categories_,
                    features.get("feature_names_in_"),
                    self._count_threads(),
                )
            # scikit-learn gets the numbers of the samples, and the rounds know what they stand for.
            numbers = np.arange(len(X)).reshape(-1, 1)
            check_targets(type(self).__name__, y)
            is_of_classes = is_classifier(self)
            _, y = check_X_y(
                numbers,
                read_labels(y) if is_of_classes else check_targets_are_numbers(y, ensure_2d=False),
                y_numeric=not is_of_classes,
                estimator=self,
            )
            is_of_trees = can_be_followed(base)
            self._rounds = TreeRounds(X, y, coded, base) if is_of_trees else Rounds(X, y)
            self._boost_by_sklearn(numbers, self._rounds.y, sample_weight)
            del self._rounds
            vars(self).update(features)
            return self

    def _boost_by_sklearn(self, X: Any, y: Any, sample_weight: Any) -> Self:
        fitted: Self = super().fit(X, y, sample_weight)  # type: ignore[misc]
        return fitted

    def _make_estimator(self, append: bool = True, random_state: Any = None) -> Any:
        rounds = self._rounds
        if isinstance(rounds, TreeRounds) and append:
            # The draw that scikit-learn makes for a random state.
            made = rounds.make_tree(random_state.randint(np.iinfo(np.int32).max))
            self.estimators_.append(made)
        else:
            made = super()._make_estimator(append, random_state)  # type: ignore[misc]
        return made if rounds is None else FollowedEstimator(rounds, made)

    # --- Predictions ----------------------------------------------------------------------------

    def _check_X(self, X: Any) -> Any:
        """Return X, which estimators of ours check."""
        return X if is_of_ours(self.estimator_) else super()._check_X(X)  # type: ignore[misc]

    def _ask_each(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield what each estimator predicts: numbers, or the numbers of classes."""
        check_is_fitted(self)
        is_of_classes = is_classifier(self)
        if is_of_ours(self.estimator_):
            rows = self._validate_X_predict(X)
            if can_be_followed(self.estimator_) and (is_of_classes or self.categories_ is None):
                samples = TreeRows(rows, self._count_threads())
                yield from map(samples.predict, self.estimators_)
                return
        X = self._check_X(X)
        for estimator in self.estimators_:
            found = estimator.predict(X)
            yield np.searchsorted(self.classes_, found) if is_of_classes else found

    # --- Files ----------------------------------------------------------------------------------

    def _find_fault(self, forest: Any) -> str | None:  # noqa: ARG002 - there are no own trees
        shape = (self.n_estimators,)
        if self.estimator_weights_.shape != shape or self.estimator_errors_.shape != shape:
            return "estimator_weights_ or estimator_errors_ is of another number of estimators"
        if not 0 < len(self.estimators_) <= self.n_estimators:
            return f"{len(self.estimators_)} estimators of {self.n_estimators}"
        kind = type(self.estimator_)
        for own in self.estimators_:
            if type(own) is not kind or own.n_features_in_ != self.n_features_in_:
                return f"an estimator that is no {kind.__name__} of {self.n_features_in_} features"
            if is_classifier(self) and not np.array_equal(own.classes_, self.classes_):
                return "an estimator of other classes"
        if is_classifier(self) and self.n_classes_ != len(self.classes_):
            return f"n_classes_ is {self.n_classes_} for {len(self.classes_)} classes"
        return None


def is_of_ours(estimator: Any) -> bool:
    """Return whether an estimator takes a data set in the place of a matrix."""
    return isinstance(estimator, FeatureReader)


def can_be_followed(estimator: Any) -> bool:
    """Return whether an estimator is a single tree of ours; a class of users may fit otherwise."""
    return isinstance(estimator, BaseDecisionTree) and is_ours(type(estimator).__module__)
