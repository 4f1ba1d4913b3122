"""Files of estimators that hold others, or training data: what comes back, and what is refused.

That every public estimator comes back is in `tests/base/test_every_estimator.py`.
"""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, PredefinedSplit
from test_model_files import frame_sections, main

import spinney
from conftest import REPOSITORY
from sealed import sections_of
from spinney.conformal import CrossConformalRegressor
from spinney.feature_selection import Boruta
from spinney.impute import MissForestImputer
from spinney.storage import _models, _objects
from spinney.survival import LazySurvivalForest

N = 40
X = np.random.default_rng(0).normal(size=(N, 3))
X[:, 2] = np.arange(N) % 4
Y = X[:, 0] + X[:, 2]
TIMES = (np.arange(N) % 3, np.abs(Y) + 0.5)


def make_lazy():
    return spinney.LazyForestClassifier(3, random_state=0, categorical_features=[2]).fit(X, Y > 1)


def make_survival():
    return LazySurvivalForest(3, random_state=0, cause=1).fit(X, TIMES)


def make_imputer():
    holes = np.where(np.arange(3 * N).reshape(N, 3) % 7 == 0, np.nan, X)
    imputer = MissForestImputer(n_estimators=3, max_iter=2, categorical_features=[2])
    return imputer.set_params(random_state=0).fit(holes)


def make_conformal():
    forest = spinney.RandomForestRegressor(3, random_state=0)
    return CrossConformalRegressor(forest, confidence_level=0.5, cv=2).fit(X, Y)


MAKERS = (make_lazy, make_survival, make_imputer, make_conformal)


def bytes_of(estimator, path):
    estimator.save(path)
    return path.read_bytes()


def header_of(data):
    """Return the header of a file as JSON."""
    return json.loads(
        next(data[start : start + n] for name, _, start, n in sections_of(data) if name == "header")
    )


def test_files_ask_for_no_newer_version_than_they_need(tmp_path):
    """Plain values have format 1, which versions 0.2 and 0.3 read."""
    path = tmp_path / "model"
    forest = spinney.RandomForestRegressor(2, random_state=0).fit(X, Y)
    assert header_of(bytes_of(forest, path))["format"] == 1
    for make in (*MAKERS, lambda: Boruta(max_iter=1).fit(X, Y > 1)):
        header = header_of(bytes_of(make(), path))
        # The four keys that version 0.3 looks at before it compares formats.
        assert header["format"] == 2
        assert [type(header[key]) for key in ("class", "parameters", "attributes", "trees")] == [
            str,
            dict,
            dict,
            dict,
        ]


@pytest.mark.parametrize(
    "cv",
    [
        KFold(2, shuffle=True, random_state=3),
        GroupKFold(2),
        LeaveOneOut(),
        PredefinedSplit(np.arange(12) % 3),
        [(np.arange(6), np.arange(6, 12)), (np.arange(6, 12), np.arange(6))],
    ],
    ids=lambda cv: type(cv).__name__,
)
def test_ways_to_split_come_back(cv, tmp_path):
    """Those of scikit-learn that give each sample one fold, and lists of folds."""
    forest = spinney.RandomForestRegressor(2, random_state=0)
    model = CrossConformalRegressor(forest, confidence_level=0.5, cv=cv)
    groups = np.arange(12) % 4 if isinstance(cv, GroupKFold) else None
    model.fit_conformalize(X[:12], Y[:12], groups=groups)
    model.save(tmp_path / "model")
    loaded = spinney.load(tmp_path / "model")
    assert repr(loaded.cv) == repr(cv)
    np.testing.assert_array_equal(
        loaded.predict_interval(X)[1],
        model.predict_interval(X)[1],
    )


def test_estimators_that_are_not_fitted_come_back_as_parameters(tmp_path):
    """With their parameters and requests, and as such again."""
    forest = spinney.BalancedRandomForestClassifier(4, random_state=5, max_depth=2)
    boruta = Boruta(forest, n_estimators=3, max_iter=2, random_state=0).fit(X, Y > 1)
    boruta.save(tmp_path / "model")
    loaded = spinney.load(tmp_path / "model")
    assert repr(loaded) == repr(boruta)
    assert not hasattr(loaded.estimator, "n_features_in_")
    np.testing.assert_array_equal(loaded.fit(X, Y > 1).ranking_, boruta.ranking_)


def test_what_fits_after_loading(tmp_path):
    """A loaded lazy forest has as many trees as it is asked for, from the mapped data."""
    lazy = make_lazy()
    lazy.save(tmp_path / "model")
    for each in (lazy, loaded := spinney.load(tmp_path / "model")):
        each.set_params(n_estimators=7)
    np.testing.assert_array_equal(loaded.predict_proba(X), lazy.predict_proba(X))
    assert loaded.explore(X, weights=True) == lazy.explore(X, weights=True)


def test_imputers_of_frames_come_back(tmp_path):
    """Columns that pass through, whole numbers and categories."""
    frame = pd.DataFrame(X, columns=list("abc")).assign(day=pd.date_range("2020", periods=N))
    frame["c"] = pd.Categorical.from_codes(frame["c"].astype(int), list("wxyz"))
    frame["n"] = pd.array(np.where(np.arange(N) % 5, np.arange(N), None), dtype="Int64")
    frame.loc[::3, ["a", "c"]] = None
    imputer = MissForestImputer(n_estimators=3, random_state=0, skip_complete=False).fit(frame)
    imputer.save(tmp_path / "model")
    filled = spinney.load(tmp_path / "model").transform(frame)
    pd.testing.assert_frame_equal(filled, imputer.transform(frame))


@pytest.mark.parametrize("make", MAKERS)
def test_info_of_files_without_own_trees(make, tmp_path, capsys):
    """`python -m spinney info` tells of all estimators."""
    model = make()
    model.save(tmp_path / "model")
    assert main(["info", str(tmp_path / "model")]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"{type(model).__name__}, saved by spinney")
    assert "features  3" in printed


FORGERIES = {
    make_lazy: [
        ('"type": "Columns"', '"type": "Rows"'),
        ('"columns": {', '"columns": null, "x": {'),
        ('"n_classes": [', '"n_classes": [1, '),
        ('"survival": false', '"survival": true'),
        ('"seed": ', '"seed": -'),
        ('"n_trees": 3', '"n_trees": -3'),
        ('"n_trees": 3', '"n_trees": 1.5'),
        ('"type": "Task"', '"type": "Draws"'),
        ('"n_samples": 40', '"n_samples": 41'),
        ('"estimator": "LazyForestClassifier"', '"estimator": 4'),
        ('"class": "LazyForestClassifier"', '"class": "LazyForestRegressor"'),
        ('"class": "LazyForestClassifier"', '"class": "RandomForestClassifier"'),
        ('"n_categories": [', '"n_categories": [4, '),
        ('"dtype": "<u4"', '"dtype": "<i4"'),
        ('"criterion": "gini"', '"criterion": "gina"'),
    ],
    make_survival: [('"cause": 1\n', '"cause": -1\n'), ('"survival": true', '"survival": false')],
    make_imputer: [
        ('"type": "ExtraTreesRegressor"', '"type": "RandomForestClassifier"'),
        ('"type": "ExtraTreesRegressor"', '"type": "os.system"'),
        ('"type": "Forest"', '"type": "Tree"'),
        ('"n_iter_": ', '"n_iter_": "x", "y": '),
        ('"n_features_in_": 3', '"n_features_in_": 5'),
    ],
    make_conformal: [
        ('"n_features_in_": 3', '"n_features_in_": 4'),
        ('"type": "Forest",\n', '"type": "RandomForestRegressor",\n'),
        ('"class": "CrossConformalRegressor"', '"class": "CrossConformalClassifier"'),
    ],
}


@pytest.mark.parametrize(
    ("make", "old", "new"),
    [(make, old, new) for make, pairs in FORGERIES.items() for old, new in pairs],
)
def test_forged_objects_are_refused(make, old, new, tmp_path):
    """Whatever the header says of columns, tasks, trees and estimators may be forged."""
    data = bytes_of(make(), tmp_path / "model")
    named = {name: data[start : start + n] for name, _, start, n in sections_of(data)}
    assert old.encode() in named["header"]
    named["header"] = named["header"].replace(old.encode(), new.encode())
    with pytest.raises(ValueError, match="section 'header' is damaged"):
        spinney.load(frame_sections(named))


@pytest.mark.parametrize("make", MAKERS)
def test_damaged_arrays_are_refused_or_sound(make, tmp_path):
    """Bytes of columns, trees and numbers: an error that is a ValueError, or predictions."""
    data = bytes_of(make(), tmp_path / "model")
    rng = np.random.default_rng(0)
    named = {name: data[start : start + n] for name, _, start, n in sections_of(data)}
    arrays = [name for name, part in named.items() if name != "header" and part]
    n_refused = 0
    for _ in range(80):
        name = arrays[rng.integers(len(arrays))]
        forged = bytearray(named[name])
        forged[rng.integers(len(forged))] = rng.integers(256)
        try:
            loaded = spinney.load(frame_sections({**named, name: bytes(forged)}))
            getattr(loaded, "predict", getattr(loaded, "transform", None))(X)
        except ValueError:
            n_refused += 1
    assert n_refused


def test_the_page_names_every_type():
    """docs/model-files.md lists what a header can have."""
    page = (REPOSITORY / "docs" / "model-files.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)`", page))
    assert {record.__name__ for record in _models._RECORDS} <= named
    assert {"Forest", "Columns", *_objects._SPLITTERS} <= named
