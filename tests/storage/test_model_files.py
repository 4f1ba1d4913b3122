"""Model files: everything comes back, and whatever is damaged is refused."""

import contextlib
import copy
import datetime as dt
import json
import os
import pickle
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import spinney
from conftest import REPOSITORY
from made_models import (
    CLASSIFIERS,
    NEWER,
    REGRESSORS,
    fit,
    make_data,
    make_many_categories,
    predict,
)
from sealed import reseal_table, seal, sections_of
from spinney.__main__ import main
from spinney.feature_selection import Boruta

EVERY_CLASS = CLASSIFIERS + REGRESSORS

MODELS = REPOSITORY / "tests" / "storage" / "models"
FORMATS = {1: MODELS, 2: MODELS / "format-2"}

every_class = pytest.mark.parametrize("estimator_class", EVERY_CLASS)


def assert_same(loaded, saved, X):
    """Check that two estimators have the same state and predict the same bits."""
    assert type(loaded) is type(saved)
    assert repr(loaded.get_params()) == repr(saved.get_params())
    assert predict(loaded, X) == predict(saved, X)
    np.testing.assert_array_equal(loaded.predict(X), saved.predict(X))
    np.testing.assert_array_equal(loaded.apply(X), saved.apply(X))
    np.testing.assert_array_equal(loaded.feature_importances_, saved.feature_importances_)
    before, after = vars(saved), vars(loaded)
    assert set(after) == set(before) - {"_estimators"}
    for name in sorted(set(after) - {"tree_", "forest_", "_growths", "_draws"}):
        if isinstance(before[name], np.ndarray):
            np.testing.assert_array_equal(after[name], before[name])
            assert after[name].dtype == before[name].dtype
        else:
            assert repr(after[name]) == repr(before[name]), name


@every_class
def test_everything_comes_back(estimator_class, tmp_path):
    """Categories, names, labels, missing values, and the arrays of every tree."""
    X, y = make_data()
    saved = fit(estimator_class, X, y)
    saved.save(tmp_path / "model.spinney")
    loaded = spinney.load(tmp_path / "model.spinney")
    assert_same(loaded, saved, X)
    trees = zip(
        getattr(loaded, "estimators_", [loaded]),
        getattr(saved, "estimators_", [saved]),
        strict=True,
    )
    for loaded_tree, saved_tree in trees:
        for name in ("threshold", "value", "impurity", "n_node_samples", "weighted_n_node_samples"):
            expected = getattr(saved_tree.tree_, name)
            np.testing.assert_array_equal(getattr(loaded_tree.tree_, name), expected)
        assert repr(loaded_tree.get_params()) == repr(saved_tree.get_params())
    # The same bytes again, and by threads.
    loaded.save(tmp_path / "again.spinney")
    assert (tmp_path / "again.spinney").read_bytes() == (tmp_path / "model.spinney").read_bytes()
    assert_same(spinney.load(str(tmp_path / "model.spinney"), n_jobs=2), saved, X)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.spinney", "model.spinney"]


@pytest.mark.parametrize("number", FORMATS)
@every_class
def test_files_of_every_format(estimator_class, number):
    """Files of every format that was ever current can be read for ever."""
    X, _ = make_data()
    path = FORMATS[number] / f"{estimator_class.__name__}.spinney"
    loaded = spinney.load(path)
    assert type(loaded) is estimator_class
    assert tree_format(path.read_bytes()) == number
    assert predict(loaded, X) == json.loads(path.with_suffix(".json").read_text())
    if number == 1:
        # The parameters are younger than the files, whose estimators were such.
        assert loaded.get_params().get("category_order", "node") == "node"
    assert loaded.handle_unknown == "ignore"


@pytest.mark.parametrize("estimator_class", NEWER)
def test_files_of_version_0_3(estimator_class):
    """Forests whose leaves have rows, survival models, balanced and isolation forests."""
    X, _ = make_data()
    path = MODELS / "version-0.3" / f"{estimator_class.__name__}.spinney"
    loaded = spinney.load(path)
    assert type(loaded) is estimator_class
    assert predict(loaded, X) == json.loads(path.with_suffix(".json").read_text())


@pytest.mark.parametrize("number", FORMATS)
def test_files_of_many_categories(number, tmp_path):
    """Sets of one category to hundreds, and categories that `fit` has not seen."""
    X, _ = make_many_categories()
    X = X[:400]
    path = FORMATS[number] / "many_categories.spinney"
    loaded = spinney.load(path)
    expected = json.loads(path.with_suffix(".json").read_text())
    assert predict(loaded, X) == expected
    # A file of an old format is written in the newest one.
    loaded.save(tmp_path / "model")
    again = spinney.load(tmp_path / "model")
    assert tree_format((tmp_path / "model").read_bytes()) == max(FORMATS)
    assert predict(again, X) == expected
    newest = spinney.load(FORMATS[max(FORMATS)] / "many_categories.spinney")
    for section, its in zip(again.forest_.sections(), newest.forest_.sections(), strict=True):
        np.testing.assert_array_equal(section, its)


def test_files_without_categories_are_of_format_1(tmp_path):
    """So that older versions read them."""
    X, y = load_iris(return_X_y=True)
    spinney.RandomForestClassifier(2).fit(X, y).save(tmp_path / "model")
    assert tree_format((tmp_path / "model").read_bytes()) == 1


def tree_format(data):
    """Return the number of the format of the trees in a file."""
    named = {name: data[start : start + n] for name, _, start, n in sections_of(data)}
    return json.loads(named["header"])["trees"]["format"]


def test_files_do_not_depend_on_the_run(tmp_path):
    """The same fit gives the same bytes."""
    X, y = make_data()
    for name in ("one", "two"):
        fit(spinney.RandomForestClassifier, X, y).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("estimator_class", [c for c in EVERY_CLASS if "Tree" not in c.__name__])
def test_forests_can_be_continued(estimator_class, tmp_path):
    """A loaded forest grows the trees that the saved one would grow, and knows its samples."""
    X, y = load_iris(return_X_y=True)
    y = y.astype(float)
    forest = estimator_class(3, bootstrap="poisson", oob_score=True, random_state=0)
    with pytest.warns(UserWarning, match="OOB"):
        forest.fit(X, y, sample_ids=np.arange(150) * 3)
    forest.save(tmp_path / "forest")
    loaded = spinney.load(tmp_path / "forest")
    assert_same(loaded, forest, X)
    for rows, expected in zip(loaded.estimators_samples_, forest.estimators_samples_, strict=True):
        np.testing.assert_array_equal(rows, expected)
    for each in (loaded, forest):
        each.set_params(warm_start=True, n_estimators=20).fit(X, y, sample_ids=np.arange(150) * 3)
    assert_same(loaded, forest, X)
    loaded.save(tmp_path / "forest")
    assert_same(spinney.load(tmp_path / "forest"), forest, X)


@pytest.mark.parametrize(
    "values",
    [
        ["a", "é", "\U0001f333", ""],
        [1.5, -2.0, 0.0],
        [1, 2, 2**70],
        [True, False],
        np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"),
        np.array([1, 5], dtype="m8[s]"),
        [dt.date(2020, 1, 1), dt.date(2021, 1, 1)],
        [dt.datetime(2020, 1, 1, 1, 2, 3, 4), dt.datetime(2021, 1, 1)],
        [dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc), dt.datetime(2021, 1, 1, tzinfo=dt.UTC)]
        if sys.version_info >= (3, 11)
        else [dt.datetime(2020, 1, 1)],
        [dt.timedelta(1, 2, 3), dt.timedelta(4)],
        [dt.time(1, 2, 3, 4), dt.time(5)],
        [dt.time(1, tzinfo=dt.timezone.utc), dt.time(1, tzinfo=dt.timezone(dt.timedelta(hours=2)))],
        [Fraction(1, 3), Fraction(-2)],
        [Decimal("1.10"), Decimal(2)],
        [(1, "a"), (2, "b")],
        [b"a", b"b"],
        list(pd.cut(pd.Series([1.0, 2.0, 3.0]), 2)),
        [pd.Timestamp("2020-01-01", tz="Europe/Berlin"), pd.Timestamp("2020-01-02", tz="UTC")],
        [pd.Timedelta(1), pd.Timedelta(2)],
        [pd.Period("2020-01", freq="M"), pd.Period("2020-02", freq="M")],
    ],
    ids=lambda values: type(values[0]).__name__,
)
def test_categories_of_any_type(values, tmp_path):
    """What categories can be, files can hold."""
    if isinstance(values, np.ndarray):
        column = np.tile(values, 10)
    else:
        column = np.empty(10 * len(values), dtype=object)
        column[:] = list(values) * 10
    X = column.reshape(-1, 1)
    y = np.arange(len(X)) % len(values)
    tree = spinney.DecisionTreeClassifier(categorical_features=[0]).fit(X, y)
    tree.save(tmp_path / "tree")
    loaded = spinney.load(tmp_path / "tree")
    known, expected = loaded.categories_[0], tree.categories_[0]
    assert known.dtype == expected.dtype
    assert list(map(type, known)) == list(map(type, expected))
    assert known.tolist() == expected.tolist()
    np.testing.assert_array_equal(loaded.predict(X), tree.predict(X))


def column_of(*values):
    """Return a matrix of one column of objects."""
    column = np.empty((len(values), 1), dtype=object)
    column[:, 0] = values
    return column


def frame_of(values, dtype=None):
    """Return a data frame of pandas with one column."""
    return pd.DataFrame({"c": pd.Series(values, dtype=dtype)})


# Columns of four rows, all of which can be categories.
COLUMNS = {
    "strings": column_of("a", "", "c", "a"),
    "empty strings": column_of("", "", "", ""),
    "odd strings": column_of("\ud800", "\0", "a\0", "a"),
    "array of strings": np.array([["a"], [""], ["bc"], ["a"]]),
    "array of empty strings": np.array([[""]] * 4),
    "array of bytes": np.array([[b"a"], [b""], [b"bc"], [b"a"]]),
    "all None": column_of(None, None, None, None),
    "some None": column_of("a", None, "b", None),
    "all NaN": np.full((4, 1), np.nan),
    "float64": np.array([[1.5], [0.0], [-0.0], [np.inf]]),
    "float32": np.array([[1.5], [0.0], [np.nan], [-np.inf]], dtype=np.float32),
    "float16": np.array([[1.5], [0.0], [np.nan], [2.0]], dtype=np.float16),
    "int64": np.array([[1], [0], [-3], [1]]),
    "uint64": np.array([[2**64 - 1], [2**64 - 2]] * 2, dtype=np.uint64),
    "integers of any size": column_of(2**70, 1, 0, 2**70 + 1),
    "bool": np.array([[True], [False]] * 2),
    "bools and numbers": column_of(True, 2, 2.5, Decimal(3)),
    "scalars of NumPy": column_of(np.int64(1), np.int8(2), np.float32(1.5), np.bool_(False)),
    "constant": np.ones((4, 1)),
    "dates": np.array([["2020-01-01"], ["NaT"], ["2021-01-01"], ["NaT"]], dtype="M8[D]"),
    "all NaT": np.full((4, 1), "NaT", dtype="M8[s]"),
    "durations": np.array([[1], [2], [3], [3]], dtype="m8[h]"),
    "dates of Python": column_of(*[dt.date(2020, 1, 1), dt.date(2021, 1, 1)] * 2),
    "tuples": column_of((), (1,), (1, "a"), ()),
    "pandas: all NA": frame_of([pd.NA] * 4, "Int64"),
    "pandas: NA as objects": frame_of([pd.NA] * 4, object),
    "pandas: nullable integers": frame_of([1, None, 0, 2**53 + 1], "Int64"),
    "pandas: nullable bools": frame_of([True, None, False, True], "boolean"),
    "pandas: nullable strings": frame_of(["a", None, "", "a"], "string"),
    "pandas: unused levels": frame_of(pd.Categorical(list("abab"), categories=list("xaby"))),
    "pandas: only unused levels": frame_of(pd.Categorical([None] * 4, categories=list("xy"))),
    "pandas: no levels": frame_of(pd.Categorical([None] * 4)),
    "pandas: times of a zone": frame_of(pd.date_range("2020", periods=4, tz="Europe/Berlin")),
    "pandas: periods": frame_of(pd.period_range("2020", periods=4, freq="W-TUE")),
    "pandas: intervals": frame_of(pd.cut(pd.Series([1.0, 2.0, 3.0, 4.0]), 3)),
    "polars: strings": pl.DataFrame({"c": ["a", None, "", "a"]}),
    "polars: all null": pl.DataFrame({"c": [None] * 4}),
    "polars: unused levels": pl.DataFrame({"c": pl.Series(list("abab"), dtype=pl.Enum("zba"))}),
    "polars: times": pl.DataFrame({"c": [dt.time(1), None] * 2}),
    "pyarrow: all null": pa.table({"c": pa.nulls(4)}),
    "pyarrow: integers": pa.table({"c": [1, None, 0, 2**53 + 1]}),
    "sparse": sp.csr_array(np.array([[1.0], [0.0], [0.0], [-2.5]])),
    "sparse, nothing stored": sp.csc_array((4, 1)),
    "sparse, all NaN": sp.csr_array(np.full((4, 1), np.nan)),
}


@pytest.mark.parametrize("n_rows", [4, 1])
@pytest.mark.parametrize("name", COLUMNS)
def test_whatever_can_be_fitted_comes_back(name, n_rows, tmp_path, all_cases):
    """Every estimator and data sets: from a file and from a pickle, the same bits.

    Of every two classes `make test` fits one to a single row and the other to four.
    """
    X = COLUMNS[name]
    X = X.head(n_rows) if hasattr(X, "head") else X[:n_rows]
    if isinstance(X, pa.Table):
        X = X.slice(0, n_rows)
    y = np.arange(n_rows) % 2
    parameters = {"categorical_features": [0], "random_state": 0}
    first = 0 if n_rows == 1 else 1
    some = [*EVERY_CLASS[first:-1:2], EVERY_CLASS[-1]]
    for estimator_class in EVERY_CLASS if all_cases else some:
        saved = estimator_class(**parameters)
        if hasattr(saved, "n_estimators"):
            saved.set_params(n_estimators=2)
        saved.fit(X, y).save(tmp_path / "model")
        loaded = spinney.load(tmp_path / "model")
        for found in (
            loaded,
            pickle.loads(pickle.dumps(saved)),
            pickle.loads(pickle.dumps(loaded)),
        ):
            assert predict(found, X) == predict(saved, X)
            known, expected = found.categories_[0], saved.categories_[0]
            assert known.dtype == expected.dtype
            assert list(map(type, known)) == list(map(type, expected))
            assert known.tolist() == expected.tolist()
    for estimator_class in (spinney.LazyForestClassifier, spinney.LazyForestRegressor):
        lazy = estimator_class(2, **parameters).fit(X, y)
        assert predict(pickle.loads(pickle.dumps(lazy)), X) == predict(lazy, X)
    dataset = spinney.Dataset(X, categorical_features=[0])
    pickled = pickle.loads(pickle.dumps(dataset))
    dataset.save(tmp_path / "data")
    opened = spinney.Dataset.open(tmp_path / "data")
    # `saved` is the last regressor, which is asked for the data sets and grown on them.
    for found in (dataset, pickled, opened, pickle.loads(pickle.dumps(dataset))):
        assert predict(saved, found) == predict(saved, X)
        grown = EVERY_CLASS[-1](**parameters, n_estimators=2).fit(found, y)
        assert predict(grown, X) == predict(saved, X)


@pytest.mark.parametrize(
    "y",
    [
        np.zeros(4, dtype=np.int64),
        np.array(["", "a", "", "b"]),
        np.array(["", "a", "", "b"], dtype=object),
        np.array([True, False, True, False]),
        np.array([-1.5e15, 0.0, -1.5e15, 2.0**60]),
        np.array([2**63, 2**63 + 1] * 2, dtype=np.uint64),
        np.array([[0, 1], [0, 2], [0, 1], [0, 3]]),
    ],
    ids=["one", "strings", "objects", "bools", "floats", "uint64", "outputs"],
)
@pytest.mark.parametrize("estimator_class", CLASSIFIERS)
def test_labels_come_back(estimator_class, y, tmp_path):
    """Also on numeric columns without a value, or with one."""
    X = np.column_stack([np.full(4, np.nan), np.ones(4), [0.0, np.inf, -np.inf, np.nan]])
    saved = estimator_class(random_state=0).fit(X, y)
    saved.save(tmp_path / "model")
    for loaded in (spinney.load(tmp_path / "model"), pickle.loads(pickle.dumps(saved))):
        assert loaded.predict(X).dtype == saved.predict(X).dtype
        np.testing.assert_array_equal(loaded.predict(X), saved.predict(X))
        np.testing.assert_array_equal(loaded.apply(X), saved.apply(X))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("random_state", np.random.RandomState(5)),
        ("max_features", np.float32(0.7)),
        ("min_samples_leaf", np.int64(2)),
        ("class_weight", {0: 1.0, 1: np.float64(2.0), 2: 0.1}),
        ("class_weight", "balanced"),
        ("monotonic_cst", np.array([1, 0, -1, 0])),
        ("monotonic_cst", (0, 1, 0, 0)),
        ("max_depth", 3),
        ("ccp_alpha", 1e-300),
    ],
)
def test_parameters_come_back(name, value, tmp_path):
    """Parameters keep their types."""
    X, y = load_iris(return_X_y=True)
    y = y % 2 if name == "monotonic_cst" else y
    forest = spinney.RandomForestClassifier(2, **{name: value}).fit(X, y)
    forest.save(tmp_path / "forest")
    loaded = spinney.load(tmp_path / "forest")
    given = getattr(loaded, name)
    assert type(given) is type(value)
    if isinstance(value, np.random.RandomState):
        np.testing.assert_array_equal(given.random_sample(3), value.random_sample(3))
    else:
        assert repr(given) == repr(value)
    assert predict(loaded, X) == predict(forest, X)


def test_several_outputs(tmp_path):
    """Labels of each output, and numbers."""
    X, y = load_iris(return_X_y=True)
    labels = np.column_stack([np.array(["a", "b", "c"])[y], np.array(["x", "y"])[y // 2]])
    for estimator, target in (
        (spinney.RandomForestClassifier(3, random_state=0), labels),
        (spinney.DecisionTreeRegressor(random_state=0), X[:, :2]),
    ):
        estimator.fit(X, target).save(tmp_path / "model")
        loaded = spinney.load(tmp_path / "model")
        np.testing.assert_array_equal(loaded.predict(X), estimator.predict(X))


@pytest.mark.parametrize("criterion", ["absolute_error", "poisson", "quantile"])
def test_every_criterion(criterion, tmp_path):
    """Statistics that do not follow from those of leaves."""
    X, _ = load_iris(return_X_y=True)
    weights = np.linspace(0.1, 2, 150)
    forest = spinney.RandomForestRegressor(3, criterion=criterion, random_state=0, max_depth=4)
    forest.fit(X[:, :3], X[:, 3], sample_weight=weights).save(tmp_path / "forest")
    loaded = spinney.load(tmp_path / "forest")
    for tree, expected in zip(loaded.estimators_, forest.estimators_, strict=True):
        for name in ("impurity", "value", "weighted_n_node_samples", "n_node_samples"):
            assert getattr(tree.tree_, name).tobytes() == getattr(expected.tree_, name).tobytes()


def test_what_cannot_be_saved_is_named(tmp_path):
    """The error names the parameter or attribute, and no file is left."""
    X, y = load_iris(return_X_y=True)
    forest = spinney.RandomForestClassifier(20, oob_score=lambda _y, _p: 0.0, random_state=0)
    forest.fit(X, y)
    with pytest.raises(TypeError, match=r"^oob_score cannot be saved.*function"):
        forest.save(tmp_path / "forest")
    forest.oob_score = True
    forest.colour = object()
    with pytest.raises(TypeError, match=r"^colour cannot be saved"):
        forest.save(tmp_path / "forest")

    class Mine(spinney.DecisionTreeClassifier):
        pass

    with pytest.raises(TypeError, match="Mine"):
        Mine().fit(X, y).save(tmp_path / "forest")
    with pytest.raises(NotFittedError):
        spinney.DecisionTreeClassifier().save(tmp_path / "forest")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError):
        spinney.DecisionTreeClassifier().fit(X, y).save(tmp_path / "nowhere" / "tree")
    boruta = Boruta(spinney.RandomForestClassifier(oob_score=lambda _y, _p: 0.0), max_iter=1)
    with pytest.raises(TypeError, match=r"^estimator\['oob_score'\] cannot be saved.*function"):
        boruta.fit(X, y).save(tmp_path / "boruta")


def test_an_older_file_stays_if_writing_fails(tmp_path, monkeypatch):
    """Files are replaced as a whole or not at all."""
    X, y = load_iris(return_X_y=True)
    tree = spinney.DecisionTreeClassifier().fit(X, y)
    path = tmp_path / "tree"
    tree.save(path)
    before = path.read_bytes()

    def fail(_descriptor):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="full"):
        spinney.DecisionTreeClassifier(max_depth=1).fit(X, y).save(path)
    assert path.read_bytes() == before
    assert [path] == list(tmp_path.iterdir())


@pytest.mark.skipif(os.name != "posix", reason="symbolic links need rights on Windows")
def test_a_link_stays_a_link(tmp_path):
    """The file that a link points to is replaced, not the link."""
    X, y = load_iris(return_X_y=True)
    (tmp_path / "link").symlink_to(tmp_path / "tree")
    spinney.DecisionTreeClassifier().fit(X, y).save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert spinney.load(tmp_path / "tree").score(X, y) == 1.0


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return the bytes of files of a classifier, with categories, and of a regressor."""
    X, y = make_data()
    path = tmp_path_factory.mktemp("files") / "model"
    data = []
    for estimator_class in (spinney.RandomForestClassifier, spinney.ExtraTreesRegressor):
        fit(estimator_class, X, y).save(path)
        data.append(path.read_bytes())
        assert seal(data[-1]) == data[-1]
    return data


def test_400_damaged_files_are_refused(files, tmp_path):
    """Truncated files, flipped bits, and forged lengths with checksums that agree."""
    rng = np.random.default_rng(0)
    path = tmp_path / "model"

    def refused(data, match):
        path.write_bytes(data)
        with pytest.raises(ValueError, match=match):
            spinney.load(path)

    section = r"section '[\w/]+' is damaged|is not a model file"
    for data in files:
        for _ in range(70):
            refused(data[: rng.integers(len(data))], section)
        for _ in range(70):
            flipped = bytearray(data)
            flipped[rng.integers(len(data))] ^= 1 << rng.integers(8)
            refused(bytes(flipped), section)
        for n in range(60):
            forged = bytearray(data)
            _, place, _, length = (found := sections_of(data))[n % len(found)]
            # The length of the file, of a section, or the words of a tree in the index.
            field = (place + 48, 16, place + 40)[n // 20]
            (old,) = struct.unpack_from("<Q", forged, field)
            wrong = [0, length + 1, abs(length - 1), 2**31, 2**40, 2**63, 2**64 - 1]
            wrong = [value for value in wrong if value != old]
            new = wrong[rng.integers(len(wrong))]
            struct.pack_into("<Q", forged, field, new)
            refused(reseal_table(forged), section)


def test_forged_trees_are_refused_or_sound(files, tmp_path):
    """Words of the index and bytes of trees, with checksums that agree.

    A forged length or number of splits is refused by `load`. A forged byte of a tree of a forest is
    found when the trees are first needed. It may make another sound tree (another threshold, say),
    which then predicts.
    """
    X, _ = make_data()
    rng = np.random.default_rng(1)
    path = tmp_path / "model"
    n_loaded = 0
    old = (MODELS / "RandomForestClassifier.spinney").read_bytes()
    for data in [*files, old]:
        places = {name: (offset, length) for name, _, offset, length in sections_of(data)}
        offset, length = places["index"]
        for word in range(length // 8):
            if word % 8 in (0, 6):
                # The seed of a tree, and the unit of its weights: any are sound.
                continue
            for new in (2**31, 2**40, 2**64 - 1):
                forged = bytearray(data)
                struct.pack_into("<Q", forged, offset + 8 * word, new)
                path.write_bytes(seal(forged))
                with pytest.raises(ValueError, match=r"section '(index|splits|leaves|statistics)'"):
                    spinney.load(path)
        for name in ("shape", "splits", "leaves", "statistics"):
            offset, length = places[name]
            for _ in range(60):
                forged = bytearray(data)
                forged[offset + rng.integers(length)] = rng.integers(256)
                path.write_bytes(seal(forged))
                with contextlib.suppress(ValueError):
                    loaded = spinney.load(path)
                    predicted = getattr(loaded, "predict_proba", loaded.predict)(X)
                    n_loaded += 1
                    assert np.isfinite(predicted).all()
                    assert len(loaded.feature_importances_) == 3
    assert n_loaded > 50


def test_forged_trees_are_refused_whenever_they_are_needed(files, tmp_path):
    """The trees of a forest are read by whoever needs them first, and again if that failed."""
    X, _ = make_data()
    forged = bytearray(files[0])
    offset = {name: offset for name, _, offset, _ in sections_of(forged)}["splits"]
    # The first node is no split any more.
    forged[offset] &= 0xFE
    (tmp_path / "model").write_bytes(seal(forged))
    loaded = spinney.load(tmp_path / "model")
    assert len(loaded) == 4
    for use in (
        lambda: loaded.predict(X),
        lambda: loaded.predict_proba(X),
        lambda: loaded.apply(X),
        lambda: loaded.decision_path(X),
        lambda: loaded.feature_importances_,
        lambda: loaded.estimators_,
        lambda: pickle.dumps(loaded),
        lambda: loaded.save(tmp_path / "again"),
        lambda: loaded[0],
    ):
        with pytest.raises(ValueError, match="section 'splits' is damaged"):
            use()


def test_threads_may_use_a_loaded_forest_at_once(tmp_path):
    """The trees are read once, or by several threads with the same result."""
    X, y = load_iris(return_X_y=True)
    forest = spinney.RandomForestClassifier(200, random_state=0).fit(X, y)
    forest.save(tmp_path / "model")
    expected = forest.predict_proba(X)
    for _ in range(5):
        loaded = spinney.load(tmp_path / "model")
        with ThreadPoolExecutor(8) as pool:
            for predicted in pool.map(loaded.predict_proba, [X] * 16):
                np.testing.assert_array_equal(predicted, expected)


HEADER_FORGERIES = [
    (b'"class": "RandomForestClassifier"', b'"class": "os.system"'),
    (b'"class": "RandomForestClassifier"', b'"class": "RandomForestRegressor"'),
    (b'"class": "RandomForestClassifier"', b'"class": "DecisionTreeClassifier"'),
    (b'"class": "RandomForestClassifier"', b'"class": ["a"]'),
    (b'"n_features_in_": 3', b'"n_features_in_": 4'),
    (b'"n_features_in_": 3', b'"n_features_in_": 3.0'),
    (b'"n_features_in_": 3', b'"n_features_in_": NaN'),
    (b'"n_outputs_": 1', b'"n_outputs_": 2'),
    (b'"n_classes_": 3', b'"n_classes_": 2'),
    (b'"n_outputs_": 1', b'"predict": 1, "n_outputs_": 1'),
    (b'"n_outputs_": 1', b'"__class__": 1, "n_outputs_": 1'),
    (b'"n_outputs_": 1', b'"a b": 1, "n_outputs_": 1'),
    (b'"n_outputs_": 1', b'"x": {"type": "function"}, "n_outputs_": 1'),
    (b'"n_outputs_": 1', b'"x": {}, "n_outputs_": 1'),
    (b'"n_outputs_": 1', b'"x": ' + b"[" * 100_000 + b"]" * 100_000 + b', "n_outputs_": 1'),
    (b'"number": 0', b'"number": 99'),
    (b'"number": 0', b'"number": -1'),
    (b'"shape": [\n', b'"shape": [\n 7,\n'),
    (b'"dtype": "<i8"', b'"dtype": "O"'),
    (b'"dtype": "<i8"', b'"dtype": "V8"'),
    (b'"dtype": "<i8"', b'"dtype": "<f8"'),
    (b'"dtype": "<i8"', b'"dtype": "i4,i4"'),
    (b'"criterion": "gini"', b'"kriterion": "gini"'),
    (b'"scheme": "with replacement"', b'"scheme": "at random"'),
    (b'"n_samples": 60', b'"n_samples": -60'),
    (b'"n_samples": 60', b'"samples": 60'),
    (b'"trees": {', b'"trees": 3, "x": {'),
    (b'"trees": {\n  "format": 2', b'"trees": {\n  "format": 0'),
    (b'"_growths": [\n   [\n    4', b'"_growths": [\n   [\n    4000000000000'),
    (b'"_growths": [\n   [\n    4', b'"_growths": [\n   [\n    -4'),
    (b'"_growths": [\n   [\n    4', b'"_growths": [\n   [\n    "4"'),
    (b'"red"', b'"red", "blue"'),
    (b'"max_features": 1,', b'"max_features": 9,'),
    (b'"max_features": 1,', b'"max_features": 1.0,'),
    (b'"type": "Growth"', b'"type": "Draws"'),
    (b'"params": {', b'"params": {"type": "names", "items": {"trees": 3}}, "x": {'),
    (b'[\n    "high"', b'"high", "x": [\n    "high"'),
    (b'[\n    3\n   ],\n   "items": [\n    "number"', b'[3, 1],\n   "items": [\n    "number"'),
    (b'"is_categorical_": {', b'"is_categorical_": null, "x": {'),
    (b'"min_impurity_decrease": 0.0', b'"min_impurity_decrease": {"type": "float", "value": "1"}'),
    (b'"dtype": "|b1"', b'"dtype": "<i4"'),
    (b"{", b""),
    (b"{", b"[{"),
    (b'"library"', b"\xff\xfe"),
]


@pytest.mark.parametrize(("old", "new"), HEADER_FORGERIES)
def test_forged_headers_are_refused(old, new, files, tmp_path):
    """The header is read as if an enemy had written it."""
    path = tmp_path / "model"
    path.write_bytes(replace_in_header(files[0], {old: new}))
    with pytest.raises(ValueError, match="section 'header' is damaged"):
        spinney.load(path)


def frame_sections(named):
    """Return the bytes of a file that has these sections."""
    arrays = [(name, np.frombuffer(part, np.uint8)) for name, part in named.items()]
    framed = spinney._spinney.frame_model(arrays).tobytes()
    for _, part in arrays:
        framed += bytes(-len(framed) % 64) + part.tobytes()
    return framed


@pytest.mark.parametrize("name", ["header", "splits", "array/0"])
def test_files_without_a_section_are_refused(name, files, tmp_path):
    data = files[0]
    named = {key: data[start : start + n] for key, _, start, n in sections_of(data) if key != name}
    (tmp_path / "model").write_bytes(frame_sections(named))
    with pytest.raises(ValueError, match=r"has no section|has unknown sections: array/1"):
        spinney.load(tmp_path / "model")
    with pytest.raises(ValueError, match=r"has no section|holds a 'RandomForestClassifier'"):
        spinney.Dataset.open(tmp_path / "model")


@pytest.mark.parametrize("header", [b"[1, 2]", b"3", b"[" * 200_000])
def test_headers_that_are_no_objects_are_refused(header, files, tmp_path):
    data = files[0]
    named = {key: data[start : start + n] for key, _, start, n in sections_of(data)}
    (tmp_path / "model").write_bytes(frame_sections({**named, "header": header}))
    with pytest.raises(ValueError, match="section 'header' is damaged"):
        spinney.load(tmp_path / "model")


def test_newer_formats_are_refused(files, tmp_path):
    """In files the container, the header and the trees have formats; in pickles the trees."""
    data = bytearray(files[0])
    struct.pack_into("<I", data, 8, 2)
    (tmp_path / "model").write_bytes(reseal_table(data))
    sentence = "has format 2; this version of spinney reads formats up to 1. Load it with a newer"
    with pytest.raises(ValueError, match=sentence):
        spinney.load(tmp_path / "model")
    of_trees = "has format 3; this version of spinney reads formats up to 2. Load it with a newer"
    told = rf"{of_trees} version, such as {spinney.__version__}, which wrote it\."
    for old, new, expected in (
        (b'"format": 1,\n "scikit', b'"format": 3,\n "scikit', told),
        (b'"format": 2,\n  "number"', b'"format": 3,\n  "number"', told),
    ):
        assert files[0].count(old) == 1
        (tmp_path / "model").write_bytes(seal(files[0].replace(old, new)))
        with pytest.raises(ValueError, match=expected):
            spinney.load(tmp_path / "model")
    X, y = make_data()
    forest = fit(spinney.RandomForestRegressor, X, y).forest_
    function, (number, sections) = forest.__reduce__()
    with pytest.raises(ValueError, match=of_trees):
        function(number + 1, sections)
    # Lazy forests have data and a task in the place of trees.
    lazy = spinney.LazyForestRegressor(3, categorical_features=["colour"]).fit(X, y)
    _, (_, task) = lazy.forest_.__reduce__()
    function, (number, fields) = task.__reduce__()
    with pytest.raises(ValueError, match=sentence):
        function(number + 1, fields)


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (b'"class": "RandomForestClassifier"', b'"class": "Boosting"', "the class 'Boosting'"),
        (b'"criterion": "gini"', b'"kriterion": "gini"', "other parameters of RandomForestClass"),
        (b'"type": "Draws"', b'"type": "Bags"', "the class 'Bags'"),
    ],
)
def test_files_of_newer_versions_say_so(old, new, found, files, tmp_path):
    """A class, a parameter or a type that this version does not know is no damage."""
    header = b'"version": "' + spinney.__version__.encode() + b'"'
    assert header in files[0]
    assert old in files[0]
    newer = {old: new, header: b'"version": "99.1"'}
    (tmp_path / "model").write_bytes(replace_in_header(files[0], newer))
    with pytest.raises(ValueError, match=f"{found}.*Load it with version 99.1, which wrote it"):
        spinney.load(tmp_path / "model")


def replace_in_header(data, changes):
    """Return a file whose header has other bytes, once each."""
    named = {name: data[start : start + n] for name, _, start, n in sections_of(data)}
    for old, new in changes.items():
        assert old in named["header"], old
        named["header"] = named["header"].replace(old, new, 1)
    return frame_sections(named)


def test_other_files_are_refused(tmp_path):
    """The message says that it is not a model file."""
    for data in (b"", b"\x89", b"PK\x03\x04", b"a" * 1000):
        (tmp_path / "other").write_bytes(data)
        with pytest.raises(ValueError, match="is not a model file of spinney"):
            spinney.load(tmp_path / "other")
    with pytest.raises(FileNotFoundError):
        spinney.load(tmp_path / "none")
    with pytest.raises(OSError):
        spinney.load(tmp_path)


PEAK = """
import resource, sys
from pathlib import Path
import spinney
good, *forged = sys.argv[1:]
assert spinney.load(good).estimators_  # what is imported late
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in forged:
    try:
        spinney.load(path).apply([[0.0] * 4])
    except ValueError:
        continue
    raise SystemExit("loaded")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has other units elsewhere")
def test_forged_lengths_take_no_memory(files, tmp_path):
    """Lengths are compared with the bytes that are there before anything is allocated."""
    rng = np.random.default_rng(0)
    X, y = rng.random((40_000, 4)), rng.random(40_000)
    (tmp_path / "good").write_bytes(files[0])
    spinney.RandomForestRegressor(4, random_state=0).fit(X, y).save(tmp_path / "model")
    data = (tmp_path / "model").read_bytes()
    offset = {name: offset for name, _, offset, _ in sections_of(data)}["index"]
    paths = []
    for word in (1, 2, 3, 4, 5):
        for new in (2**16, 2**24, 2**30, 2**31 - 1, 2**40):
            forged = bytearray(data)
            struct.pack_into("<Q", forged, offset + 8 * word, new)
            paths.append(tmp_path / f"{word}-{new}")
            paths[-1].write_bytes(seal(forged))
    ran = subprocess.run(
        [sys.executable, "-c", PEAK, *map(str, [tmp_path / "good", *paths])],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    grown, size = int(ran.stdout), len(data) // 1024
    assert size > 1500
    assert grown < 2 * size, f"{grown} kB for files of {size} kB"


@every_class
def test_pickles_carry_the_bytes_of_files(estimator_class, tmp_path):
    """Pickle, joblib and copies give back everything."""
    X, y = make_data()
    saved = fit(estimator_class, X, y)
    forest = saved._get_forest()
    pickled = pickle.dumps(saved)
    for section in forest.sections():
        assert section.tobytes() in pickled
    joblib.dump(saved, tmp_path / "model")
    joblib.dump(saved, tmp_path / "small", compress=3)
    for loaded in (
        pickle.loads(pickled),
        pickle.loads(pickle.dumps(saved, protocol=2)),
        joblib.load(tmp_path / "model"),
        joblib.load(tmp_path / "model", mmap_mode="r"),
        joblib.load(tmp_path / "small"),
        copy.deepcopy(saved),
        copy.copy(saved),
    ):
        assert_same(loaded, saved, X)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_pickles_of_single_trees_are_small(class_weight):
    """Weights are multiples of a unit, which the tree knows."""
    rng = np.random.default_rng(0)
    X = rng.random((5000, 4))
    tree = spinney.DecisionTreeClassifier(class_weight=class_weight, random_state=0)
    tree.fit(X, (X[:, 0] + rng.random(5000) > 1.1).astype(int))
    assert len(pickle.dumps(tree.tree_)) < 14 * tree.tree_.node_count


def test_damaged_pickles_are_refused():
    """The sections in a pickle are checked as those in a file are."""
    X, y = make_data()
    _, (number, sections) = fit(spinney.RandomForestClassifier, X, y).forest_.__reduce__()
    read = spinney._spinney.read_forest
    assert len(read(number, sections)) == 4
    with pytest.raises(ValueError, match="The sections must be shape, index"):
        read(number, sections[:-1])
    with pytest.raises(ValueError, match="section 'leaves' is damaged"):
        read(number, [*sections[:3], sections[3][:-1], sections[4]])
    with pytest.raises(ValueError, match="section 'index' is damaged"):
        read(number, [sections[0], sections[1][:-1], *sections[2:]])
    with pytest.raises(ValueError, match=r"The sections must be of one tree\. Got 4 trees"):
        spinney._spinney.read_tree(number, sections)


def test_info_prints_what_is_inside(tmp_path, capsys):
    """Class, trees, features, classes, categories, parameters and sections."""
    X, y = make_data()
    fit(spinney.RandomForestClassifier, X, y).save(tmp_path / "model")
    assert main(["info", str(tmp_path / "model")]) == 0
    printed = capsys.readouterr().out
    for part in (
        f"RandomForestClassifier, saved by spinney {spinney.__version__}",
        "trees     4 with",
        "features  3: number, count, colour",
        "classes   3: high, low, middle",
        "category  colour: 4: black, blue, green, red",
        "random_state = 7",
        "statistics",
    ):
        assert part in printed, part
    fit(spinney.ExtraTreeRegressor, X, y).save(tmp_path / "model")
    assert main(["info", str(tmp_path / "model")]) == 0
    assert "outputs   1 of numbers" in capsys.readouterr().out
    (tmp_path / "model").write_bytes((tmp_path / "model").read_bytes()[:-1])
    assert main(["info", str(tmp_path / "model")]) == 1
    assert capsys.readouterr().err.startswith("error: The section 'table' is damaged")
    with pytest.raises(SystemExit):
        main([])


@pytest.mark.parametrize("kind", [dt.datetime(2020, 1, 2, 3), dt.time(3, 4)])
def test_zones_with_rules_cannot_be_saved(kind, tmp_path):
    """An offset from UTC that depends on the day is more than a file holds."""
    model = spinney.DecisionTreeClassifier(random_state=0).fit([[0.0], [1.0]], [0, 1])
    model.note_ = kind.replace(tzinfo=ZoneInfo("Europe/Berlin"))
    with pytest.raises(TypeError, match="its time zone is none of a fixed offset from UTC"):
        model.save(tmp_path / "model")
    model.note_ = kind.replace(tzinfo=dt.timezone(dt.timedelta(hours=1)))
    if isinstance(kind, dt.datetime):
        model.save(tmp_path / "model")
        assert spinney.load(tmp_path / "model").note_ == model.note_
