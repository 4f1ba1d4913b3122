"""Estimators that have trees, and what is done with the trees: files and conversions."""

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

# The attribute with the metadata that `set_fit_request` and its likes have requested.
_REQUEST = "_metadata_request"
_METHODS = ("fit", "score")


class StoredTrees(ABC):
    """Mixin of the estimators that have trees."""

    n_features_in_: int
    n_outputs_: int
    is_categorical_: NDArray[np.bool_] | None
    categories_: Categories | None
    n_jobs: int | None

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
        write_model(
            path,
            {"class": estimator.__name__},
            self.get_params(deep=False),  # type: ignore[attr-defined]
            self._list_stored_attributes(),
            self._get_forest(),
            count_threads(self.n_jobs),
        )

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

    def _list_stored_attributes(self) -> dict[str, Any]:
        """Return the attributes that are neither parameters nor trees."""
        others = {"tree_", "forest_", "_estimators", "_variances", _REQUEST}
        others.update(self.get_params(deep=False))  # type: ignore[attr-defined]
        attributes = {name: value for name, value in vars(self).items() if name not in others}
        if _REQUEST in vars(self):
            # What `set_fit_request` and its likes have requested.
            request = self.get_metadata_routing()  # type: ignore[attr-defined]
            attributes[_REQUEST] = {
                method: dict(getattr(request, method).requests) for method in _METHODS
            }
        return attributes

    def _restore(self, attributes: dict[str, Any], forest: Forest) -> str | None:
        """Set attributes from a file; return in what they contradict the trees, if they do."""
        requests = attributes.pop(_REQUEST, {})
        vars(self).update(attributes)
        with config_context(enable_metadata_routing=True):
            for method, requested in requests.items():
                if requested:
                    getattr(self, f"set_{method}_request")(**requested)
        return self._find_fault(forest)

    def _find_fault(self, forest: Forest) -> str | None:
        n_classes, n_features = forest.n_classes, forest.n_features
        if type(self.n_features_in_) is not int or self.n_features_in_ != n_features:
            return f"n_features_in_ is {self.n_features_in_} for trees of {n_features} features"
        if type(self.n_outputs_) is not int or self.n_outputs_ != len(n_classes):
            return f"n_outputs_ is {self.n_outputs_} for trees of {len(n_classes)} outputs"
        if isinstance(self, ClassTarget):
            labels = self.classes_ if len(n_classes) > 1 else [self.classes_]
            if [of_output.shape for of_output in labels] != [(n,) for n in n_classes]:
                return f"classes_ has other classes than the trees, which have {n_classes}"
            if np.atleast_1d(self.n_classes_).tolist() != n_classes:
                return f"n_classes_ is {self.n_classes_} for trees of {n_classes} classes"
        elif any(n != 1 for n in n_classes):
            return f"trees of {n_classes} classes in a regressor"
        names = getattr(self, "feature_names_in_", None)
        if names is not None and (names.shape != (n_features,) or names.dtype != object):
            return "feature_names_in_ is no array of a name for each feature"
        counts = count_categories(self.categories_) or []
        # A column without any value has no categories, and trees without categories have no counts.
        if (counts if any(counts) else []) != forest.n_categories:
            return "categories_ has other numbers of categories than the trees"
        mask = None if self.is_categorical_ is None else self.is_categorical_.tolist()
        known = self.categories_
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
