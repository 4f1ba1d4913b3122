"""Categories that `fit` has not seen: warnings, and the parameter `handle_unknown`."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict
from sklearn.utils._param_validation import InvalidParameterError

import spinney
from spinney import Dataset
from spinney.inspection import partial_dependence
from strategies import ESTIMATORS, FORESTS, LAZY_FORESTS

pytestmark = pytest.mark.oldest
EVERY = ESTIMATORS + FORESTS + LAZY_FORESTS
ZIPS = [8001, 8002, 8003, 8001, 8002, 8004]
N = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
Y = [0, 1, 1, 0, 1, 0]
X = pd.DataFrame({"zip": ZIPS, "n": N})
AS_TEXT = X.assign(zip=X["zip"].astype(str))
NO_ONE_KNOWN = "No category that occurs is known"


def fit(estimator_class, X=X, **params):
    """Return an estimator that is fitted to integer zip codes."""
    if "bootstrap" in estimator_class().get_params():
        params = {"n_estimators": 3, "bootstrap": True} | params
    return estimator_class(categorical_features=[0], random_state=0, **params).fit(X, Y)


def ask(model, name, X):
    """Ask for predictions in one of many ways."""
    if name == "nearest" and not hasattr(model, "explore"):
        return model.nearest(X, 2, Y=X)
    if name == "explain":
        row = X[:1] if hasattr(X, "columns") or isinstance(X, Dataset) else X[:1, :]
        return model.explain(row, Y=X if hasattr(model, "nearest") else None)
    if name == "partial_dependence":
        return partial_dependence(model, X, [1])
    if name in ("score", "permutation_importance_oob"):
        return getattr(model, name)(X, Y)
    return getattr(model, name)(X)


WAYS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "score",
    "apply",
    "decision_path",
    "shap_values",
    "explain",
    "explore",
    "nearest",
    "proximity",
    "partial_dependence",
    "permutation_importance_oob",
)


def ways_of(model):
    """Return the ways of prediction that an estimator has."""
    is_grown = not hasattr(model, "explore")
    return [way for way in WAYS if hasattr(model, way) or (way.startswith("part") and is_grown)]


KINDS = {
    "pandas": lambda X: X,
    "pandas category": lambda X: X.astype({"zip": "category"}),
    "polars": pl.from_pandas,
    "array of objects": lambda X: X.to_numpy(dtype=object),
    "Dataset": lambda X: Dataset(X, categorical_features=[0]),
    "view": lambda X: Dataset(
        pd.concat([AS_OTHERS, X], ignore_index=True), categorical_features=[0]
    )[-len(X) :],
    "array": lambda X: X.to_numpy(dtype=float),
    "CSR": lambda X: sparse.csr_array(X.to_numpy(dtype=float)),
    "CSC": lambda X: sparse.csc_matrix(X.to_numpy(dtype=float)),
}
# What a view leaves out.
AS_OTHERS = AS_TEXT.assign(zip=["x", "y", "z", "x", "y", "z"])
OF_NUMBERS = ("array", "CSR", "CSC")


@pytest.mark.valuewise
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("estimator_class", EVERY)
def test_every_way_of_prediction_warns_once(estimator_class, kind):
    """The warning names the column, the number of its values, and the types that differ."""
    train = X if kind not in ("array of objects", *OF_NUMBERS) else X.to_numpy()
    model = fit(estimator_class, train)
    unknown = X.assign(zip=X["zip"] + 100) if kind in OF_NUMBERS else AS_TEXT
    query = KINDS[kind](unknown)
    name = "at index 0" if train is not X else "'zip'"
    for way in ways_of(model):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ask(model, way, query)
        told = [str(warning.message) for warning in caught]
        # One row of them is explained, and compared with all. A new category of a known type in
        # one row is nothing to warn of.
        n_expected = 1
        if way == "explain":
            n_expected = (kind not in OF_NUMBERS) + hasattr(model, "proximity")
        assert len(told) == n_expected, (way, told)
        assert all(NO_ONE_KNOWN in text and f"feature {name} (" in text for text in told)
        if way != "explain":
            assert "(4 distinct values, such as " in told[0]
        if kind not in OF_NUMBERS:
            assert "of the type str, where `fit` got the type number" in told[0]
        # scikit-learn has the method `score`.
        assert way == "score" or all(warning.filename == __file__ for warning in caught)


@pytest.mark.valuewise
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("estimator_class", EVERY)
def test_every_way_of_prediction_refuses(estimator_class, kind):
    """With handle_unknown="error", one unknown category is enough."""
    train = X if kind not in ("array of objects", *OF_NUMBERS) else X.to_numpy()
    model = fit(estimator_class, train, handle_unknown="error")
    before = dict(vars(model))
    store = KINDS["Dataset" if kind == "view" else kind]
    query = store(X.assign(zip=[8001, 8002, 8003, 8001, 7, 9]))
    if kind == "view":
        query = query[np.arange(6)]
    name = "at index 0" if train is not X else "'zip'"
    for way in ways_of(model):
        if way == "explain":
            continue
        with pytest.raises(ValueError, match=rf"unknown categories \[7(\.0)?, 9.*feature {name}"):
            ask(model, way, query)
    assert vars(model) == before
    # All of these are known.
    known = store(X)
    for way in ways_of(model):
        ask(model, way, known)


@pytest.mark.parametrize("handle_unknown", ["ignore", "error"])
@pytest.mark.parametrize("estimator_class", EVERY)
def test_missing_values_are_not_unknown(estimator_class, handle_unknown):
    """Neither are levels that no row has, nor the values of rows that a view leaves out."""
    model = fit(estimator_class, handle_unknown=handle_unknown)
    levels = [7, 8001, 8002, 8003, 8004, 9]
    missing = X.assign(zip=pd.Categorical([None] * 6, categories=levels))
    used = X.assign(zip=pd.Categorical(ZIPS, categories=levels))
    rows = Dataset(
        pd.concat([X, X.assign(zip=7)], ignore_index=True), categorical_features=["zip"]
    )[:6]
    expected = model.predict(X)
    for query in (missing, X.assign(zip=np.nan), used, rows):
        predicted = model.predict(query)
        if query is used or query is rows:
            np.testing.assert_array_equal(predicted, expected)


def test_one_known_category_is_enough():
    """Single unknown categories are what splits have a rule for."""
    model = fit(spinney.RandomForestClassifier)
    model.predict(X.assign(zip=[1, 2, 3, 4, 5, 8001]))
    with pytest.warns(UserWarning, match=r"'zip' \(5 distinct values, such as 1\.0\)\. Splits"):
        model.predict(X.assign(zip=[1, 2, 3, 4, 5, None]))
    with pytest.warns(UserWarning, match=r"'zip' \(1 value, such as 7\)"):
        model.predict(X.assign(zip=7))


def test_several_columns():
    """One warning names all of them; an error the first."""
    train = X.assign(town=list("abcabc"))
    model = spinney.DecisionTreeRegressor(categorical_features=["zip", "town"]).fit(train, Y)
    query = AS_TEXT.assign(town=[("a", 1)] * 6)
    with pytest.warns(UserWarning, match=NO_ONE_KNOWN) as caught:
        model.predict(query)
    (text,) = (str(warning.message) for warning in caught)
    assert "'zip' (4 distinct values, such as '8001', of the type str, where" in text
    assert (
        "'town' (1 value, such as ('a', 1), of the type tuple, where `fit` got the type str" in text
    )
    model.set_params(handle_unknown="error")
    with pytest.raises(
        ValueError, match=r"feature 'zip', whose 4 categories are in categories_.0."
    ):
        model.predict(query)
    many = train.assign(town=list("uvwxyz"))
    with pytest.raises(ValueError, match=r"\['u', 'v', 'w', 'x', 'y'\] and 1 more in .*'town'"):
        model.predict(many)


@pytest.mark.parametrize("estimator_class", EVERY)
@pytest.mark.parametrize("value", ["warn", None, True])
def test_illegal_values(estimator_class, value):
    """They are found before the data are looked at, and when predicting."""
    told = rf"'handle_unknown' parameter of .* {{'ignore', 'error'}}\. Got {value!r} instead"
    with pytest.raises(InvalidParameterError, match=told):
        estimator_class(handle_unknown=value).fit("no data", "no target")
    with pytest.raises(InvalidParameterError, match=told):
        fit(estimator_class).set_params(handle_unknown=value).predict(X)


@pytest.mark.parametrize("estimator_class", EVERY)
def test_copies_and_files_keep_it(estimator_class, tmp_path):
    """Pickles of versions without the parameter do as they did."""
    model = fit(estimator_class, handle_unknown="error")
    copies = [clone(model).fit(X, Y), pickle.loads(pickle.dumps(model))]
    if hasattr(model, "save"):
        model.save(tmp_path / "model")
        copies.append(spinney.load(tmp_path / "model"))
    for tree in getattr(model, "estimators_", []):
        assert tree.handle_unknown == "error"
    for copy in copies:
        with pytest.raises(ValueError, match="unknown categories"):
            copy.predict(AS_TEXT)
    del vars(model)["handle_unknown"]
    old = pickle.loads(pickle.dumps(model))
    assert old.get_params()["handle_unknown"] == "ignore"
    with pytest.warns(UserWarning, match=NO_ONE_KNOWN):
        old.predict(AS_TEXT)


@pytest.mark.parametrize("estimator_class", EVERY)
def test_folds_are_those_of_a_loop(estimator_class):
    """A category that only the test rows of a fold have is unknown there."""
    params = {"categorical_features": ["zip"], "random_state": 0, "handle_unknown": "error"}
    model = estimator_class(**params)
    with pytest.raises(ValueError, match=r"unknown categories \[800[34]\]"):
        spinney.model_selection.cross_val_predict(model, X, Y, cv=3)
    twice = pd.concat([X, X], ignore_index=True)
    folds = [(np.arange(6), np.arange(6, 12)), (np.arange(6, 12), np.arange(6))]
    np.testing.assert_array_equal(
        spinney.model_selection.cross_val_predict(model, twice, Y * 2, cv=folds),
        cross_val_predict(model, twice, Y * 2, cv=folds),
    )
