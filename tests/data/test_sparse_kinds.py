"""Frames of sparse columns, and sparse matrices of every format, wherever a matrix is taken."""

from functools import lru_cache

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from spinney import (
    Dataset,
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    LazyForestClassifier,
    RandomForestClassifier,
)
from spinney.inspection import partial_dependence
from spinney.model_selection import cross_val_predict, cross_val_score, cross_validate

pytestmark = pytest.mark.oldest
FORMATS = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")
ESTIMATORS = {
    "tree": DecisionTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(4, random_state=0),
    "forest with scores out of bag": RandomForestClassifier(40, oob_score=True, random_state=0),
    "extra trees": ExtraTreesClassifier(4, bootstrap=True, random_state=0),
    "lazy forest": LazyForestClassifier(4, random_state=0),
}


def task():
    """Return a frame of sparse columns of one-hot codes, and classes."""
    rng = np.random.default_rng(0)
    values = pd.DataFrame(
        {"town": rng.choice(list("abcde"), 60), "kind": rng.choice(list("xy"), 60)}
    )
    return pd.get_dummies(values, sparse=True), rng.integers(0, 3, 60)


def store(frame, kind):
    """Return the values of the frame in another form."""
    if kind == "frame":
        return frame
    if kind == "frame of floats":
        return frame.astype(pd.SparseDtype(float, 0.0))
    if kind == "frame with a dense column":
        return frame.assign(**{frame.columns[0]: frame.iloc[:, 0].sparse.to_dense()})
    name, kind = kind.split()
    make = sparse.csr_array if kind == "array" else sparse.csr_matrix
    return make(frame.to_numpy().astype(float)).asformat(name)


KINDS = (
    "frame",
    "frame of floats",
    "frame with a dense column",
    *(f"{name} {kind}" for name in FORMATS for kind in ("matrix", "array")),
)


def take_first(X):
    """Return the first row, in the form that the matrix has."""
    return sparse.csr_matrix(X)[:1].asformat(X.format) if sparse.issparse(X) else X[:1]


def list_results(estimator, X, y):
    """Return what everything that takes a matrix answers."""
    results = {
        "cross_val_predict": cross_val_predict(estimator, X, y, cv=2),
        "probabilities": cross_val_predict(estimator, X, y, cv=2, method="predict_proba"),
        "cross_val_score": cross_val_score(estimator, X, y, cv=2),
        "cross_validate": cross_validate(estimator, X, y, cv=2)["test_score"],
    }
    estimator.fit(X, y)
    row = X.iloc[:1] if hasattr(X, "iloc") else take_first(X)
    results |= {"predict": estimator.predict(X), "predict_proba": estimator.predict_proba(X)}
    results["score"] = estimator.score(X, y)
    results["Dataset"] = estimator.predict_proba(Dataset(X))
    if isinstance(estimator, LazyForestClassifier):
        results["explore"] = estimator.explore(X).probabilities
        results["nearest"] = estimator.nearest(X, 2)[0]
        return results
    results["apply"], paths = estimator.apply(X), estimator.decision_path(X)
    results["decision_path"] = (paths[0] if isinstance(paths, tuple) else paths).toarray()
    contributions = estimator.shap_values(X)
    if isinstance(contributions, list):
        contributions = np.stack([of_class.toarray() for of_class in contributions], axis=-1)
    results["shap_values"] = contributions
    results["explain"] = [by for _, by in estimator.explain(row).contributions]
    results["partial_dependence"] = partial_dependence(estimator, X, [0])["average"]
    if hasattr(estimator, "proximity"):
        results["proximity"] = estimator.proximity(X).toarray()
        results["nearest"] = estimator.nearest(X, 2, Y=X)[0]
        results["permutation_importance_oob"] = estimator.permutation_importance_oob(
            X, y, n_repeats=1, random_state=0
        ).importances
    if estimator.get_params().get("oob_score"):
        results["oob"] = estimator.oob_decision_function_
    return results


@lru_cache
def list_dense_results(name):
    """Return what the estimator of a name answers for the dense matrix."""
    frame, y = task()
    return list_results(ESTIMATORS[name], frame.to_numpy().astype(float), y)


@pytest.mark.valuewise
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_sparse_kind_is_taken_everywhere(name, kind):
    """Fits, predictions, folds and explanations are those of the dense matrix."""
    frame, y = task()
    expected, got = list_dense_results(name), list_results(ESTIMATORS[name], store(frame, kind), y)
    assert got.keys() == expected.keys()
    for result, values in expected.items():
        np.testing.assert_array_equal(got[result], values, err_msg=result)


@pytest.mark.parametrize("kind", ["frame", "csc matrix", "coo array"])
def test_folds_of_sparse_categories(kind):
    """Categories of sparse columns have their codes in every fold."""
    frame, y = task()
    params = {"categorical_features": [0, 3], "random_state": 0}
    for estimator in (DecisionTreeClassifier(**params), RandomForestClassifier(4, **params)):
        expected = cross_val_predict(estimator, frame.to_numpy().astype(float), y)
        np.testing.assert_array_equal(cross_val_predict(estimator, store(frame, kind), y), expected)
