"""Files of data sets: everything comes back, nothing is copied, whatever is damaged is refused."""

import contextlib
import os
import pickle
import struct
import subprocess
import sys
import time
from ipaddress import ip_address

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from joblib import Parallel, delayed
from numpy.testing import assert_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV

import spinney
from fits import TREE, assert_same_fit
from made_models import frame
from sealed import reseal_table, seal, sections_of
from spinney import Dataset
from strategies import AWKWARD_NUMBERS, SMALL_INTEGERS, data, examples


def make(is_sparse):
    X, y = frame()
    if not is_sparse:
        return Dataset(X, categorical_features=["colour", "size"]), y
    numbers = X.assign(colour=X["colour"].astype("category").cat.codes, size=X["count"])
    return Dataset(sp.csr_matrix(numbers.to_numpy(float)), categorical_features=[2, 5]), y


FOREST = spinney.RandomForestRegressor(4, random_state=0)
both = pytest.mark.parametrize("is_sparse", [False, True])


def assert_same_data(found, expected, y):
    assert found.shape == expected.shape
    assert found.feature_names == expected.feature_names
    assert_equal(found.is_categorical, expected.is_categorical)
    assert_same_fit(clone(FOREST).fit(found, y), clone(FOREST).fit(expected, y))
    extra = spinney.ExtraTreesRegressor(2, random_state=0)
    assert_same_fit(clone(extra).fit(found[::2], y[::2]), extra.fit(expected[::2], y[::2]))
    assert_equal(extra.predict(found), extra.predict(expected))


@both
def test_everything_comes_back(is_sparse, tmp_path):
    dataset, y = make(is_sparse)
    path = tmp_path / "data.spinney"
    dataset.save(path)
    opened = Dataset.open(path, n_jobs=2)
    assert_same_data(opened, dataset, y)
    # A data set that comes from a file is written again, byte for byte; a view as what it shows.
    opened.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    own = np.array([5, 3, 3, 40])
    dataset[own].save(tmp_path / "view")
    assert_same_data(Dataset.open(tmp_path / "view"), dataset[own], y[own])
    assert sorted(child.name for child in tmp_path.iterdir()) == ["again", "data.spinney", "view"]


@examples(20, deadline=None)
@given(st.data(), st.booleans())
def test_any_matrix_comes_back(tmp_path_factory, drawn, is_sparse):
    values = drawn.draw(st.sampled_from((SMALL_INTEGERS, AWKWARD_NUMBERS)))
    X, y, _ = drawn.draw(data("numbers", values=values, missing=True))
    X = sp.csr_matrix(X) if is_sparse else X
    path = tmp_path_factory.mktemp("any") / "data"
    dataset = Dataset(X)
    dataset.save(path)
    tree = spinney.DecisionTreeRegressor(random_state=0)
    assert_same_fit(clone(tree).fit(Dataset.open(path), y), clone(tree).fit(X, y))


@pytest.mark.parametrize("n_distinct", [200, 5000, 70_000])
@both
def test_ranks_of_every_width(is_sparse, n_distinct, tmp_path):
    X = (np.arange(70_000.0) * 7 % n_distinct)[:, np.newaxis] - 3
    dataset = Dataset(sp.csc_matrix(X) if is_sparse else X)
    dataset.save(tmp_path / "data")
    opened = Dataset.open(tmp_path / "data")
    tree = spinney.DecisionTreeRegressor(max_depth=4, random_state=0)
    expected = clone(tree).fit(X, X[:, 0] ** 2)
    assert_same_fit(clone(tree).fit(opened, X[:, 0] ** 2), expected)


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the maps of a process are Linux's"
)
@both
def test_files_are_mapped(is_sparse, tmp_path):
    """The memory of the process has the file, and not a copy of it."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 100, (200_000, 30)).astype(np.float32)
    X = sp.csr_matrix(X * (rng.random(X.shape) < 0.2)) if is_sparse else X
    Dataset(X).save(tmp_path / "data")
    script = """
import sys
import spinney
def anonymous():
    with open("/proc/self/smaps_rollup") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("Anonymous:"))
import numpy as np
spinney.Dataset(np.eye(3))
before = anonymous()
dataset = spinney.Dataset.open(sys.argv[1])
print(anonymous() - before, sys.argv[1] in open("/proc/self/maps").read())
"""
    command = [sys.executable, "-c", script, str(tmp_path / "data")]
    added, is_mapped = subprocess.run(
        command, check=True, capture_output=True, text=True
    ).stdout.split()
    size = (tmp_path / "data").stat().st_size / 1024
    assert is_mapped == "True"
    # Of sparse data, the ends of rows are in memory: while they are read, up to twice 8 bytes.
    assert int(added) < (0.5 if is_sparse else 0.1) * size


def describe(dataset):
    """Return what a process sees: rows, and whether the data set comes from a file."""
    return dataset.shape, dataset._carrier.path is not None


@both
def test_pickles(is_sparse, tmp_path):
    dataset, y = make(is_sparse)
    assert_same_data(pickle.loads(pickle.dumps(dataset)), dataset, y)
    assert_same_data(pickle.loads(pickle.dumps(dataset[7:30])), dataset[7:30], y[7:30])
    dataset.save(tmp_path / "data")
    pickled = pickle.dumps(dataset)
    # The path, and what identifies the file.
    assert len(pickled) < 600
    assert_same_data(pickle.loads(pickled), dataset, y)
    assert describe(pickle.loads(pickled)) == (dataset.shape, True)
    assert len(pickle.dumps(Dataset.open(tmp_path / "data"))) < 600
    # A view carries its rows as well, 4 bytes each.
    view = Dataset.open(tmp_path / "data")[::-1][7:30]
    assert len(pickle.dumps(view)) < 600 + 4 * 23 + 200
    assert_same_data(pickle.loads(pickle.dumps(view)), dataset[::-1][7:30], y[::-1][7:30])
    assert describe(pickle.loads(pickle.dumps(view))) == (view.shape, True)
    dataset[1:].save(tmp_path / "data")
    with pytest.raises(ValueError, match="has changed since the Dataset was pickled"):
        pickle.loads(pickled)
    # An opened file that is replaced stays as it was.
    opened = Dataset.open(tmp_path / "data")
    dataset.save(tmp_path / "data")
    assert_same_data(opened, dataset[1:], y[1:])


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the maps of a process are Linux's"
)
@pytest.mark.parametrize("has_file", [False, True])
def test_processes(has_file, tmp_path):
    """They get the path of the file, or one copy that joblib maps for all of them."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 20)), rng.integers(0, 2, 20_000)
    dataset = Dataset(X)
    if has_file:
        dataset.save(tmp_path / "data")
    search = GridSearchCV(clone(TREE).set_params(max_depth=3), {"max_features": [1, 5]}, cv=3)
    expected = search.fit(X, y).cv_results_["mean_test_score"]
    search.n_jobs = 2
    assert_equal(search.fit(dataset, y).cv_results_["mean_test_score"], expected)

    # Processes cannot import this module, but they get a function in a function as code.
    def find_maps(dataset):
        with open("/proc/self/maps") as maps:  # noqa: PTH123 - no file
            text = maps.read()
        path = dataset._carrier.path
        return str(path) in text if path is not None else "joblib_memmapping_folder" in text

    found = Parallel(n_jobs=2, temp_folder=tmp_path)(delayed(find_maps)(dataset) for _ in range(4))
    assert all(found)
    assert dataset._carrier.data is None or not has_file


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return the bytes of a dense and of a sparse data set."""
    path = tmp_path_factory.mktemp("files") / "data"
    found = []
    for is_sparse in (False, True):
        make(is_sparse)[0].save(path)
        found.append(path.read_bytes())
        assert seal(found[-1]) == found[-1]
    return found


def test_damaged_files_are_refused(files, tmp_path):
    """Truncated files, flipped bits, and forged lengths with checksums that agree."""
    rng = np.random.default_rng(0)
    path = tmp_path / "data"

    def refused(forged):
        path.write_bytes(forged)
        with pytest.raises(ValueError, match=r"section '[\w/]+' is damaged|it is empty"):
            Dataset.open(path)

    for original in files:
        refused(b"")
        for _ in range(60):
            refused(original[: rng.integers(len(original))])
        for _ in range(60):
            flipped = bytearray(original)
            flipped[rng.integers(len(original))] ^= 1 << rng.integers(8)
            refused(bytes(flipped))
        for n in range(60):
            forged = bytearray(original)
            found = sections_of(original)
            _, place, _, length = found[n % len(found)]
            field = (place + 48, 16, place + 40)[n // 20]
            (old,) = struct.unpack_from("<Q", forged, field)
            wrong = [v for v in (0, length + 1, abs(length - 1), 2**40, 2**64 - 1) if v != old]
            struct.pack_into("<Q", forged, field, wrong[rng.integers(len(wrong))])
            refused(reseal_table(forged))


def test_forged_columns_are_refused_or_sound(files, tmp_path):
    """Any byte of any section, with checksums that agree: a ValueError, or columns to grow on."""
    rng = np.random.default_rng(1)
    path = tmp_path / "data"
    y = rng.normal(size=60)
    refusals, n_sound = [], 0
    tree = spinney.DecisionTreeRegressor(random_state=0)
    for original in files:
        for name, _, offset, length in sections_of(original):
            for _ in range(60 if length else 0):
                forged = bytearray(original)
                forged[offset + rng.integers(length)] = rng.integers(256)
                path.write_bytes(seal(forged))
                try:
                    opened = Dataset.open(path)
                except ValueError as error:
                    refusals.append((name, str(error)))
                    continue
                n_sound += 1
                with contextlib.suppress(ValueError):
                    assert clone(tree).fit(opened[:60], y).predict(opened[:60]).shape == (60,)
    assert len(refusals) > 300
    assert all("is damaged" in message or name == "header" for name, message in refusals)
    assert n_sound > 100


@pytest.mark.parametrize(
    ("section", "where", "value", "is_sparse"),
    [
        ("shape", 0, 61, False),
        ("shape", 8, 7, True),
        ("shape", 16, 2, False),
        ("shape", 24, 5, False),
        ("columns", 16, 1, False),
        ("columns", 20, 255, False),
        ("column/0", 0, 255, False),
        ("column/0", 0, 0, False),
        ("samples", 0, 61, True),
        ("samples", 0, 60, True),
        ("features", 0, 5, True),
        ("row_ends", 0, 99, True),
    ],
)
def test_what_contradicts_itself_is_refused(section, where, value, is_sparse, files, tmp_path):
    forged = bytearray(files[is_sparse])
    offset = {name: offset for name, _, offset, _ in sections_of(forged)}[section]
    forged[offset + where] = value
    (tmp_path / "data").write_bytes(seal(forged))
    with pytest.raises(ValueError, match=r"The section '[\w/]+' is damaged"):
        Dataset.open(tmp_path / "data")


def test_halves_of_two_matrices_are_refused(tmp_path):
    """Each half of the entries is legal, by columns and by rows, and they have the same counts."""
    path = tmp_path / "data"
    first, second = (
        sp.csr_matrix(np.tile(block, (4, 3)).astype(np.float32))
        for block in ([[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]])
    )
    written = []
    for matrix in (first, second):
        Dataset(matrix).save(path)
        written.append(path.read_bytes())
    forged = bytearray(written[0])
    for name, _, offset, length in sections_of(forged):
        if name in ("features", "row_ranks", "row_ends"):
            forged[offset : offset + length] = written[1][offset : offset + length]
    path.write_bytes(seal(forged))
    message = "'features' is damaged: the entries of rows and columns differ"
    with pytest.raises(ValueError, match=message):
        Dataset.open(path)
    # The features of a row in another order.
    forged = bytearray(written[0])
    (offset,) = [offset for name, _, offset, _ in sections_of(forged) if name == "features"]
    forged[offset : offset + 8] = forged[offset + 4 : offset + 8] + forged[offset : offset + 4]
    path.write_bytes(seal(forged))
    with pytest.raises(ValueError, match="'features' is damaged: the features of a row are out"):
        Dataset.open(path)


def test_other_files(tmp_path, monkeypatch):
    dataset, y = make(False)
    clone(FOREST).fit(np.eye(60), y).save(tmp_path / "model")
    with pytest.raises(ValueError, match="holds a 'RandomForestRegressor' and no Dataset"):
        Dataset.open(tmp_path / "model")
    dataset.save(tmp_path / "data")
    with pytest.raises(ValueError, match=r"and no model: use spinney\.Dataset\.open"):
        spinney.load(tmp_path / "data")
    with pytest.raises(FileNotFoundError):
        Dataset.open(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError):
        dataset.save(tmp_path / "nowhere" / "data")
    data = (tmp_path / "data").read_bytes()
    for part in (b'"format": 1,\n "class"', b'"format": 1\n  }'):
        other = data.replace(part, part.replace(b"1", b"9", 1))
        if other == data:
            continue
        (tmp_path / "newer").write_bytes(seal(other))
        with pytest.raises(ValueError, match="has format 9; this version of spinney reads"):
            Dataset.open(tmp_path / "newer")

    def fail(_descriptor):
        raise OSError("the disk is full")

    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="full"):
        dataset[1:].save(tmp_path / "data")
    assert (tmp_path / "data").read_bytes() == data
    assert sorted(tmp_path.iterdir()) == before


def test_categories_that_files_cannot_hold(tmp_path):
    one, other = ip_address("10.0.0.1"), ip_address("10.0.0.2")
    dataset = Dataset(pd.DataFrame({"a": [one, other, one]}), categorical_features=["a"])
    with pytest.raises(TypeError, match="categories cannot be saved"):
        dataset.save(tmp_path / "data")
    assert list(tmp_path.iterdir()) == []


def test_a_bigger_search_on_a_file(tmp_path):
    """What is grown on an opened file is what is grown on the matrix."""
    X, y = load_breast_cancer(return_X_y=True)
    Dataset(X).save(tmp_path / "data")
    grid = {"max_depth": [2, 5], "max_features": ["sqrt", None]}
    search = GridSearchCV(spinney.RandomForestClassifier(5, random_state=0), grid, cv=3)
    found = clone(search).fit(Dataset.open(tmp_path / "data"), y)
    expected = search.fit(X, y)
    assert_equal(found.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"])


def test_files_of_many_columns_take_linear_time(tmp_path):
    """A dense data set has a section for each column, which are looked up and not searched."""

    def seconds(n_columns):
        data = Dataset(np.broadcast_to(np.arange(3.0)[:, np.newaxis], (3, n_columns)))
        times = []
        for _ in range(3):
            started = time.perf_counter()
            data.save(tmp_path / "data")
            Dataset.open(tmp_path / "data")
            times.append(time.perf_counter() - started)
        return min(times)

    # Eight times as many columns: 64 times as long if each looked at all.
    assert seconds(48_000) < 25 * seconds(6_000)
