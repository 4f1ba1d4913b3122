"""Forests fill missing values of numbers and categories."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.metrics import mean_squared_error
from sklearn.pipeline import make_pipeline

from spinney import Dataset, ExtraTreesClassifier, ExtraTreesRegressor, RandomForestRegressor
from spinney.impute import MissForestImputer


def make_frame(n_samples=200, seed=0):
    """Return a frame in which each column tells of the others, and the same with holes."""
    rng = np.random.default_rng(seed)
    number = rng.normal(size=n_samples)
    frame = pd.DataFrame(
        {
            "number": number,
            "double": 2 * number + 0.1 * rng.normal(size=n_samples),
            "count": pd.array(np.rint(10 * number).astype(int), dtype="Int64"),
            "sign": pd.Categorical(
                np.where(number > 0, "plus", "minus"), categories=["plus", "minus", "never"]
            ),
            "text": np.where(number > 0.5, "large", "small").astype(object),
        }
    )
    holed = frame.copy()
    for name in frame.columns:
        holed.loc[rng.random(n_samples) < 0.2, name] = None
    return frame, holed


FRAME = {"n_estimators": 20, "categorical_features": ["sign", "text"], "random_state": 0}


def test_a_frame_comes_back_with_its_types():
    frame, holed = make_frame()
    before = holed.copy()
    imputer = MissForestImputer(**FRAME)
    filled = imputer.fit_transform(holed)
    pd.testing.assert_frame_equal(holed, before)
    assert filled.dtypes.tolist() == holed.dtypes.tolist()
    assert not filled.isna().any().any()
    known = holed.notna()
    for name in frame:
        assert (filled[name][known[name]] == holed[name][known[name]]).all()
    errors = {
        name: np.mean(np.abs((filled[name] - frame[name])[~known[name]].astype(float)))
        for name in ("number", "double", "count")
    }
    assert errors["number"] < 0.2
    assert errors["double"] < 0.4
    assert errors["count"] < 2
    for name in ("sign", "text"):
        assert (filled[name] == frame[name])[~known[name]].mean() > 0.85
    np.testing.assert_array_equal(imputer.get_feature_names_out(), frame.columns)
    # Out of bag the forests know how good they are.
    assert imputer.oob_error_[0] < 0.1
    assert imputer.oob_error_[3] < 0.1


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_other_frames(library):
    module = pytest.importorskip(library)
    _, holed = make_frame()
    native = module.from_pandas(holed) if library == "polars" else module.Table.from_pandas(holed)
    expected = MissForestImputer(**FRAME).fit_transform(holed)
    filled = MissForestImputer(**FRAME).fit_transform(native)
    assert type(filled) is type(native)
    for name in ("number", "count"):
        np.testing.assert_array_equal(
            np.asarray(filled[name], dtype=float), expected[name].to_numpy(float)
        )
    assert filled["text"].to_pylist() if library == "pyarrow" else True
    assert list(filled["sign"].to_pandas()) == list(expected["sign"])


def test_one_cycle_is_a_forest_for_each_column():
    """The first cycle, column by column, by forests of one's own."""
    X = load_iris().data.copy()
    rng = np.random.default_rng(0)
    for feature, share in enumerate((0.3, 0.1, 0.0, 0.2)):
        X[rng.random(150) < share, feature] = np.nan
    imputer = MissForestImputer(max_iter=1, n_estimators=40, random_state=0)
    filled = imputer.fit_transform(X)
    expected = X.copy()
    for feature in (1, 3, 0):
        is_known = ~np.isnan(X[:, feature])
        others = np.delete(expected, feature, axis=1)
        forest = clone(imputer.forests_[feature]).set_params(oob_score=mean_squared_error)
        forest.fit(others[is_known], X[is_known, feature])
        assert type(forest) is ExtraTreesRegressor
        assert forest.oob_score_ == pytest.approx(imputer.oob_error_[feature])
        expected[~is_known, feature] = forest.predict(others[~is_known])
    np.testing.assert_array_equal(filled, expected)
    assert list(imputer.forests_) == [1, 3, 0]
    assert np.isnan(imputer.oob_error_[2])
    assert imputer.n_iter_ == 1


def test_cycles_end_when_changes_grow():
    X = load_diabetes().data.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    is_missing = np.isnan(X)
    params = {"n_estimators": 10, "random_state": 0}
    states = [
        MissForestImputer(max_iter=n, **params).fit_transform(X)[is_missing] for n in range(1, 9)
    ]
    changes = [np.sum((b - a) ** 2) / np.sum(b**2) for a, b in pairwise(states)]
    imputer = MissForestImputer(max_iter=50, **params)
    filled = imputer.fit_transform(X)[is_missing]
    n_iter = imputer.n_iter_
    assert 2 <= n_iter < 50
    np.testing.assert_array_equal(filled, states[min(n_iter, 8) - 1])
    # Changes have fallen up to there.
    assert all(b <= a for a, b in pairwise(changes[: n_iter - 1]))


def test_threads_and_copies_do_not_show():
    _, holed = make_frame()
    filled = MissForestImputer(**FRAME).fit_transform(holed)
    pd.testing.assert_frame_equal(MissForestImputer(n_jobs=2, **FRAME).fit_transform(holed), filled)
    dataset = Dataset(holed, categorical_features=["sign", "text"])
    params = {**FRAME, "categorical_features": None}
    of_dataset = MissForestImputer(**params).fit(dataset)
    np.testing.assert_array_equal(
        of_dataset.oob_error_, MissForestImputer(**FRAME).fit(holed).oob_error_
    )


def test_data_sets_have_the_names_of_their_frames():
    _, holed = make_frame()
    dataset = Dataset(holed, categorical_features=["sign", "text"])
    imputer = MissForestImputer(**FRAME).fit(holed)
    filled = imputer.transform(dataset)
    for place, name in enumerate(holed):
        if name != "count":
            assert filled[:, place].tolist() == imputer.transform(holed)[name].tolist()


def test_new_samples():
    frame, holed = make_frame(400)
    imputer = MissForestImputer(**FRAME).fit(holed[:300])
    new = holed[300:]
    filled = imputer.transform(new)
    assert not filled.isna().any().any()
    assert filled.dtypes.tolist() == new.dtypes.tolist()
    missing = new["sign"].isna()
    assert (filled["sign"] == frame["sign"][300:])[missing].mean() > 0.8
    # What is complete stays as it is.
    pd.testing.assert_frame_equal(imputer.transform(frame[300:]), frame[300:])


def test_columns_that_were_complete():
    X = load_iris().data.copy()
    X[::5, 0] = np.nan
    new = load_iris().data.copy()
    new[0, 2] = np.nan
    imputer = MissForestImputer(n_estimators=5, random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"column 2, which had none in fit .* skip_complete=False"):
        imputer.transform(new)
    able = MissForestImputer(n_estimators=5, skip_complete=False, random_state=0).fit(X)
    assert not np.isnan(able.transform(new)).any()
    assert sorted(able.forests_) == [0, 1, 2, 3]


def test_infinity():
    X = load_iris().data.copy()
    X[::5, 0] = np.nan
    X[1, 0] = X[1, 1] = np.inf
    for params, told in (({}, "column 0"), ({"skip_complete": False}, "column 0, 1")):
        with pytest.raises(ValueError, match=f"must be finite. Got infinity in {told}."):
            MissForestImputer(n_estimators=5, **params).fit(X)
    # What only tells of other columns may be infinite.
    X[1, 0] = 0.0
    assert np.isfinite(MissForestImputer(n_estimators=5).fit_transform(X)[:, 0]).all()


def test_splitters_and_kinds_of_forests():
    X = load_iris().data.copy()
    X[::5, 0] = np.nan
    X[:, 3] = np.round(X[:, 3])
    X[::7, 3] = np.nan
    params = {"n_estimators": 5, "categorical_features": [3], "random_state": 0}
    imputer = MissForestImputer(splitter="best", **params).fit(X)
    assert type(imputer.forests_[0]) is RandomForestRegressor
    imputer = MissForestImputer(columns="descending", **params).fit(X)
    assert list(imputer.forests_) == [0, 3]
    assert type(imputer.forests_[3]) is ExtraTreesClassifier
    # Categories that are numbers come back as they are.
    assert set(np.unique(imputer.transform(X)[:, 3])) <= {0.0, 1.0, 2.0}


def test_nothing_to_fill():
    X = load_iris().data
    imputer = MissForestImputer(random_state=0)
    np.testing.assert_array_equal(imputer.fit_transform(X), X)
    assert imputer.n_iter_ == 1
    assert imputer.forests_ == {}


def test_in_a_pipeline():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    imputer = MissForestImputer(n_estimators=5, max_iter=2, random_state=0)
    model = make_pipeline(imputer.set_output(transform="pandas"), RandomForestRegressor(5))
    assert model.fit(X, y).predict(X).shape == y.shape
    assert list(model[0].transform(X).columns) == list(X.columns)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"max_iter": 0}, "'max_iter' parameter of MissForestImputer"),
        ({"n_estimators": 0}, "'n_estimators' parameter of MissForestImputer"),
        ({"max_features": 0}, "'max_features' parameter of MissForestImputer"),
        ({"min_samples_leaf": 0}, "'min_samples_leaf' parameter of MissForestImputer"),
        ({"columns": "random"}, "'columns' .* 'ascending' or 'descending'"),
        ({"splitter": "some"}, "'splitter' .* a str among"),
        ({"skip_complete": 1}, "'skip_complete' .* a bool"),
        ({"verbose": -1}, "'verbose'"),
        ({"n_jobs": 0}, "'n_jobs' parameter of"),
        ({"random_state": "a"}, "'random_state'"),
        ({"handle_unknown": "use"}, "'handle_unknown'"),
    ],
)
def test_illegal_parameters(params, words):
    imputer = MissForestImputer(**params)
    before = dict(vars(imputer))
    with pytest.raises(ValueError, match=words):
        imputer.fit(load_iris().data)
    assert vars(imputer) == before


def test_illegal_matrices():
    X = load_iris().data.copy()
    with pytest.raises(TypeError, match="sparse data"):
        MissForestImputer().fit(sp.csr_matrix(X))
    X[:, 2] = np.nan
    with pytest.raises(ValueError, match=r"must have a value in some sample. Got none in column 2"):
        MissForestImputer().fit(X)
    frame, holed = make_frame()
    imputer = MissForestImputer(**FRAME).fit(holed)
    with pytest.raises(ValueError, match="feature names"):
        imputer.transform(frame.rename(columns={"number": "other"}))


@pytest.mark.parametrize("categorical", [None, ["flag"]])
def test_nullable_bools_stay_bools(categorical):
    """A missing bool is a rounded prediction, or the predicted category."""
    flags = pd.array([True, None, True, False] * 5, dtype="boolean")
    frame = pd.DataFrame({"flag": flags, "number": [1.0, 1.0, 1.0, 0.0] * 5})
    imputer = MissForestImputer(n_estimators=5, random_state=0, categorical_features=categorical)
    filled = imputer.fit_transform(frame)
    assert filled["flag"].dtype == "boolean"
    assert filled["flag"].tolist() == [True, True, True, False] * 5


@pytest.mark.parametrize("X", [[[1.0], [np.nan]], pd.DataFrame({"a": pd.Categorical(["x", None])})])
def test_a_single_column_has_nothing_to_be_predicted_from(X):
    with pytest.raises(ValueError, match="X must have at least 2 columns"):
        MissForestImputer().fit(X)


def test_progress_and_data_sets(capfd):
    """A cycle that changes nothing is the last; a `Dataset` is filled as the array is."""
    X = np.column_stack([np.arange(40.0), np.arange(40) % 2])
    X[3, 1] = np.nan
    imputer = MissForestImputer(n_estimators=3, random_state=0, verbose=2).fit(X)
    assert "cycle 1, growing forest 1 of" in capfd.readouterr().err
    np.testing.assert_array_equal(imputer.transform(Dataset(X)), imputer.transform(X))
    with pytest.raises(ValueError, match="features"):
        imputer.transform(Dataset(X[:, :1]))
