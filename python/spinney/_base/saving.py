"""What can be done with fitted estimators: files, and conversions of those that have trees."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import config_context
from sklearn.utils.validation import check_is_fitted

from spinney._common.messages import is_ours
from spinney._common.threads import count_threads
from spinney._common.types import Sink
from spinney._data.arrays import CompressedMatrix
from spinney._data.categories import Categories, count_categories
from spinney._fit.target import ClassTarget
from spinney._spinney import Forest
from spinney.conversion._to_treelite import convert_to_treelite
from spinney.storage._models import write_model
from spinney.storage._objects import leave_out_known

# The attribute with the metadata that `set_fit_request` and its likes have requested.
_REQUEST = "_metadata_request"


class Stored(ABC):
    """Mixin of the estimators that files hold: all that can be fitted."""

    n_features_in_: int

    def save(self, path: Sink) -> None:
        """Write the fitted estimator to a file that :func:`spinney.load` reads.

        The file has everything that the estimator has: parameters, names, classes, categories,
        trees, and out-of-bag attributes. It is written beside `path` first and then given that
        name, so that nobody sees half of it, and an older file stays if anything fails.

        Parameters
        ----------
        path : str, path-like or file object
            The file. An existing one is replaced. A str may be a URL that fsspec knows, such as
            "s3://models/forest"; it and a file object are written from beginning to end.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If a parameter or an attribute cannot be stored, such as a function; the message names
            it. The same holds for an estimator of a subclass, which `load` would not know.
        OSError
            If the file cannot be written.
        """
        check_is_fitted(self)
        estimator = type(self)
        if not is_ours(estimator.__module__):
            raise TypeError(
                f"Files hold the estimators of spinney. Got {estimator.__qualname__} of the module "
                f"{estimator.__module__} instead; use pickle for it."
            )
        parameters, attributes, forest = self._list_parts()
        n_threads = count_threads(getattr(self, "n_jobs", None))
        write_model(path, {"class": estimator.__name__}, parameters, attributes, forest, n_threads)

    def _list_parts(self) -> list[Any]:
        """Return parameters, attributes, and the trees or None.

        An estimator that is not fitted, as the parameter of another one, has the first two alone.
        """
        parameters = leave_out_known(self.get_params(deep=False))  # type: ignore[attr-defined]
        if not hasattr(self, "n_features_in_"):
            return [parameters, self._list_requests()]
        attributes = dict(sorted(self._list_stored_attributes().items()))
        return [parameters, attributes, self._get_forest()]

    def _get_forest(self) -> Forest | None:
        """Return the trees as a forest, if the estimator has trees."""
        return None

    def _list_stored_attributes(self) -> dict[str, Any]:
        """Return the attributes that are neither parameters nor trees.

        What pickles leave out, because it can be made again, files leave out too.
        """
        others = {"tree_", "forest_", _REQUEST}
        others.update(self.get_params(deep=False))  # type: ignore[attr-defined]
        state: Any = self.__getstate__()
        attributes = {name: value for name, value in state.items() if name not in others}
        return attributes | self._list_requests()

    def _list_requests(self) -> dict[str, Any]:
        """Return what `set_fit_request` and its likes have requested, as an attribute."""
        if _REQUEST not in vars(self):
            return {}
        request = vars(self.get_metadata_routing())  # type: ignore[attr-defined]
        requests = {method: getattr(own, "requests", None) for method, own in request.items()}
        return {_REQUEST: {method: dict(names) for method, names in requests.items() if names}}

    def _restore(self, attributes: dict[str, Any], forest: Any) -> str | None:
        """Set attributes from a file; return in what they contradict the trees, if they do."""
        self._restore_requests(attributes)
        vars(self).update(attributes)
        return self._find_fault(forest)

    def _restore_requests(self, attributes: dict[str, Any]) -> None:
        """Take from attributes what `_list_requests` has added to them."""
        with config_context(enable_metadata_routing=True):
            for method, requested in attributes.pop(_REQUEST, {}).items():
                if requested:
                    getattr(self, f"set_{method}_request")(**requested)

    @abstractmethod
    def _find_fault(self, forest: Any) -> str | None:
        """Return in what attributes, which may be forged, contradict each other or the trees."""


class StoredTrees(Stored):
    """Mixin of the estimators that have trees."""

    n_outputs_: int
    is_categorical_: NDArray[np.bool_] | None
    categories_: Categories | None
    n_jobs: int | None

    def to_sklearn(self) -> Any:
        """Return a fitted estimator of scikit-learn with the same trees.

        It is of scikit-learn's class of the same name, so that what is made for scikit-learn works
        with it: shap, skl2onnx, dtreeviz, `sklearn.tree.plot_tree`. It predicts the same bits for
        values of float32, on one thread. scikit-learn rounds other values to float32 before it
        compares them; thresholds are rounded down to float32 accordingly.

        Parameters that scikit-learn does not have are left out, and so are the samples that the
        trees of a forest were grown on; ``bootstrap="poisson"`` becomes True, and the median as a
        quantile becomes ``criterion="absolute_error"``.

        Returns
        -------
        model : object
            A fitted estimator of scikit-learn.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If scikit-learn cannot express the trees: categorical features, quantiles other than the
            median, cuts at infinite values, and missing values with constraints or a criterion with
            which scikit-learn does not take them. (It does not take them in sparse matrices
            either, which its own `predict` says.)
        """
        check_is_fitted(self)
        return self._convert_to_sklearn()

    @abstractmethod
    def _convert_to_sklearn(self) -> Any:
        """Return a fitted estimator of scikit-learn; see `to_sklearn`."""

    def to_treelite(self) -> Any:
        """Return a model of treelite with the same trees, for use without Python.

        Thresholds stay float64, and categorical features stay categorical: the model takes codes,
        which are indices into `categories_`, as `to_codes` returns them. With categorical features
        the model is built node by node, which takes some 30 times as long.

        Returns
        -------
        model : treelite.Model
            It predicts probabilities or numbers. treelite adds up trees in single precision if its
            input is; results are within rounding of the estimator's.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ImportError
            If treelite is not installed.
        """
        check_is_fitted(self)
        return convert_to_treelite(self, self._get_forest())

    def to_codes(self, X: Any) -> Any:
        """Return samples as the numbers that the trees compare, and that treelite's model takes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, as predictions take them.

        Returns
        -------
        codes : ndarray of shape (n_samples, n_features), or sparse matrix
            float64; CSR if `X` is sparse. Categories are indices into `categories_`, and a category
            that is not known their number. Missing values are NaN.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError, TypeError
            If predictions do not take `X`.
        """
        rows = self._validate_values(X)  # type: ignore[attr-defined]
        if isinstance(rows, CompressedMatrix):
            return sparse.csr_matrix(
                (rows.data.astype(np.float64), rows.indices, rows.indptr), shape=rows.shape
            )
        return np.array(rows, dtype=np.float64, order="C")

    @abstractmethod
    def _get_forest(self) -> Forest:
        """Return the trees as a forest."""

    def _find_fault(self, forest: Forest) -> str | None:
        shape = (forest.n_features, forest.n_classes, forest.n_categories)
        return find_fault_of_target(self, *shape)


def find_fault_of_target(
    estimator: Any, n_features: int, n_classes: list[int], n_categories: list[int]
) -> str | None:
    """Return in what an estimator contradicts its trees; None if in nothing.

    Parameters
    ----------
    estimator : estimator instance
        Its attributes may come from a file.
    n_features : int
    n_classes : list of int
        For each output the number of classes; 1 for numbers.
    n_categories : list of int
        For each feature the number of its categories, 0 for a numeric one. Empty if all are.
    """
    if type(estimator.n_features_in_) is not int or estimator.n_features_in_ != n_features:
        return f"n_features_in_ is {estimator.n_features_in_} for trees of {n_features} features"
    if type(estimator.n_outputs_) is not int or estimator.n_outputs_ != len(n_classes):
        return f"n_outputs_ is {estimator.n_outputs_} for trees of {len(n_classes)} outputs"
    if isinstance(estimator, ClassTarget):
        labels = estimator.classes_ if len(n_classes) > 1 else [estimator.classes_]
        if [of_output.shape for of_output in labels] != [(n,) for n in n_classes]:
            return f"classes_ has other classes than the trees, which have {n_classes}"
        if np.atleast_1d(estimator.n_classes_).tolist() != n_classes:
            return f"n_classes_ is {estimator.n_classes_} for trees of {n_classes} classes"
    elif any(n != 1 for n in n_classes):
        return f"trees of {n_classes} classes in a regressor"
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and (names.shape != (n_features,) or names.dtype != object):
        return "feature_names_in_ is no array of a name for each feature"
    counts = count_categories(estimator.categories_) or []
    # A column without any value has no categories, and trees without categories have no counts.
    if (counts if any(counts) else []) != n_categories:
        return "categories_ has other numbers of categories than the trees"
    mask = None if estimator.is_categorical_ is None else estimator.is_categorical_.tolist()
    known = estimator.categories_
    if mask != (None if known is None else [of is not None for of in known]):
        return "is_categorical_ contradicts categories_"
    return None


def find_fault_of_growth(
    max_features: Any, with_missing: NDArray[Any], n_features: int
) -> str | None:
    """Return what cannot be of trees of `n_features` features; None if nothing."""
    if type(max_features) is not int or not 0 <= max_features <= n_features:
        return f"max_features_ is {max_features} of {n_features}"
    features = with_missing.tolist()
    is_sound = with_missing.dtype == np.int64 and all(0 <= f < n_features for f in features)
    return None if is_sound else "the features with missing values"
