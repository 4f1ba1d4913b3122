"""Data sets of what does not fit in memory: the file is that of the same matrix in memory."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import spinney
from fits import assert_same_fit
from made_models import frame
from spinney import Dataset

FOREST = spinney.RandomForestRegressor(4, random_state=0)


@pytest.mark.parametrize("max_memory", [1, 48 * 60 * 2, 2**30])
def test_a_parquet_file_becomes_the_file_of_the_frame(max_memory, tmp_path):
    X, _ = frame()
    X.to_parquet(tmp_path / "X.parquet")
    read = pd.read_parquet(tmp_path / "X.parquet")
    for categorical in (["colour", "size"], [False, False, True, False, False, True], [2, 5]):
        Dataset(read, categorical_features=categorical).save(tmp_path / "expected")
        Dataset.write(
            tmp_path / "found",
            tmp_path / "X.parquet",
            categorical_features=categorical,
            max_memory=max_memory,
            n_jobs=2,
        )
        assert (tmp_path / "found").read_bytes() == (tmp_path / "expected").read_bytes()


@pytest.mark.parametrize("compression", ["uncompressed", "lz4"])
@pytest.mark.parametrize("max_memory", [1, 2**30])
def test_arrow_files_and_frames_become_the_file_of_the_frame(compression, max_memory, tmp_path):
    """A file is mapped; so may be a table of pyarrow, which is read some columns at a time."""
    X, _ = frame()
    X.to_feather(tmp_path / "X.feather", compression=compression)
    read = pd.read_feather(tmp_path / "X.feather")
    Dataset(read, categorical_features=["colour", "size"]).save(tmp_path / "expected")
    table = pa.Table.from_pandas(read)
    for source in (tmp_path / "X.feather", str(tmp_path / "X.feather"), table, read):
        Dataset.write(
            tmp_path / "found",
            source,
            categorical_features=["colour", "size"],
            max_memory=max_memory,
        )
        assert (tmp_path / "found").read_bytes() == (tmp_path / "expected").read_bytes()


def test_sources_of_other_kinds(tmp_path):
    (tmp_path / "X.csv").write_text("a,b\n1,2\n")
    (tmp_path / "empty").touch()
    before = sorted(tmp_path.iterdir())
    for name in ("X.csv", "empty"):
        with pytest.raises(ValueError, match=f"Parquet file, or of an Arrow file .*{name}"):
            Dataset.write(tmp_path / "data", tmp_path / name)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        Dataset.write(tmp_path / "data", tmp_path / "nowhere")
    sparse = pd.arrays.SparseArray([0.0, 1.0], fill_value=0.0)
    ones = pd.DataFrame({"a": sparse, "b": [1.0, 2.0]})
    with pytest.raises(TypeError, match=r"a dense data frame, .* Got a DataFrame instead"):
        Dataset.write(tmp_path / "data", ones)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_mapped_array_becomes_the_file_of_the_array(order, tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 7)).astype(np.float32)
    X[:, 3] = X[:, 3].round()
    X[::9, 2] = np.nan
    np.save(tmp_path / "X.npy", np.asarray(X, order=order))
    Dataset(X).save(tmp_path / "expected")
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    Dataset.write(tmp_path / "found", mapped, max_memory=300 * 48 * 2)
    assert (tmp_path / "found").read_bytes() == (tmp_path / "expected").read_bytes()
    # A column of doubles among columns of singles.
    wide = X.astype(float)
    wide[:, 5] += 0.1
    Dataset(wide).save(tmp_path / "expected")
    Dataset.write(tmp_path / "found", wide, max_memory=1)
    opened = Dataset.open(tmp_path / "found")
    y = np.nan_to_num(wide).sum(axis=1)
    assert_same_fit(clone(FOREST).fit(opened, y), clone(FOREST).fit(wide, y))


def divide_rows(X, size):
    """Yield blocks of rows."""
    for start in range(0, X.shape[0], size):
        yield X[start : start + size]


@pytest.mark.parametrize("max_memory", [1, 48 * 700, 2**30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_blocks_of_rows_become_the_file_of_the_matrix(max_memory, dtype, tmp_path):
    rng = np.random.default_rng(0)
    X = sp.random(900, 40, 0.1, format="csr", random_state=rng)
    X.data = (rng.normal(size=X.nnz) * 9).round(1)
    if dtype != np.int64:
        X.data[::50] = np.nan
    X = X.astype(dtype)
    # A column and rows without entries.
    X = sp.vstack([X[:300], sp.csr_matrix((5, 40), dtype=dtype), X[300:]], format="csr")
    X = sp.hstack([X, sp.csr_matrix((905, 1), dtype=dtype)], format="csr")
    Dataset(X).save(tmp_path / "expected")
    Dataset.write(tmp_path / "found", divide_rows(X, 64), max_memory=max_memory)
    assert (tmp_path / "found").read_bytes() == (tmp_path / "expected").read_bytes()
    for source in ([X.tocoo()], X, X.tocsc()):
        Dataset.write(tmp_path / "found", source, n_jobs=2)
        assert (tmp_path / "found").read_bytes() == (tmp_path / "expected").read_bytes()
    assert len(list(tmp_path.iterdir())) == 2


def test_blocks_with_ranks_of_several_widths(tmp_path):
    """A column of more than 65,536 values widens the ranks of all; codes stay categories."""
    n_rows = 70_000
    wide = np.random.default_rng(0).permutation(n_rows) + 1.0
    X = np.column_stack([np.arange(n_rows) % 3, wide, np.arange(n_rows) % 2])
    X = sp.csr_matrix(X)
    Dataset(X, categorical_features=[0]).save(tmp_path / "expected")
    blocks = divide_rows(X, 9_000)
    Dataset.write(tmp_path / "found", blocks, categorical_features=[0], max_memory=10_000)
    assert (tmp_path / "found").read_bytes() == (tmp_path / "expected").read_bytes()


def test_svmlight_files(tmp_path):
    """In parts, by the loader of scikit-learn."""
    X = sp.random(500, 30, 0.2, format="csr", random_state=0)
    path = tmp_path / "data.svm"
    dump_svmlight_file(X, np.arange(500), str(path))
    part = path.stat().st_size // 7 + 1

    def read(offset):
        arguments = {"n_features": 30, "zero_based": True, "offset": offset, "length": part}
        return load_svmlight_file(str(path), **arguments)[0]

    Dataset.write(tmp_path / "found", (read(n * part) for n in range(7)))
    Dataset(load_svmlight_file(str(path))[0]).save(tmp_path / "expected")
    assert (tmp_path / "found").read_bytes() == (tmp_path / "expected").read_bytes()


def test_illegal_blocks(tmp_path):
    X = sp.csr_matrix(np.eye(4))
    path = tmp_path / "data"
    with pytest.raises(TypeError, match="Got a ndarray as block 1 instead"):
        Dataset.write(path, iter([X, np.eye(4)]))
    with pytest.raises(ValueError, match=r"the 4 columns of the first one\. Got 3 in block 1"):
        Dataset.write(path, [X, X[:, :3]])
    with pytest.raises(ValueError, match="at least one block of rows"):
        Dataset.write(path, iter([]))
    with pytest.raises(ValueError, match="must be in"):
        Dataset.write(path, [X], categorical_features=[4])
    damaged = sp.csr_matrix(np.eye(4))
    damaged.indices[2] = 9
    with pytest.raises(ValueError, match="indices"):
        Dataset.write(path, [damaged])
    assert list(tmp_path.iterdir()) == []


def test_progress_of_writing(tmp_path, capfd):
    X = np.random.default_rng(0).normal(size=(50, 3))
    Dataset.write(tmp_path / "data", X, max_memory=1, verbose=2)
    assert "encoding column 3 of 3" in capfd.readouterr().err
    Dataset.write(tmp_path / "data", [sp.csr_matrix(X)], max_memory=1, verbose=2)
    assert "encoding column 3 of 3" in capfd.readouterr().err
    with pytest.raises(ValueError, match=r"'verbose' parameter of Dataset\.write must be an int"):
        Dataset.write(tmp_path / "data", X, verbose=-1)


def test_writing_leaves_no_half_file(tmp_path):
    (tmp_path / "data").write_bytes(b"old")
    X = np.ones((20, 3))
    with pytest.raises(
        TypeError, match=r"source must be the path of a Parquet or Arrow file, a two-dim"
    ):
        Dataset.write(tmp_path / "data", [[1.0]])
    with pytest.raises(ValueError, match=r"'max_memory' parameter of Dataset\.write must be"):
        Dataset.write(tmp_path / "data", X, max_memory=0)
    with pytest.raises(ValueError, match="at least one column"):
        Dataset.write(tmp_path / "data", X[:, :0])
    with pytest.raises(ValueError, match="0 sample"):
        Dataset.write(tmp_path / "data", X[:0])
    with pytest.raises(ValueError, match="must be in"):
        Dataset.write(tmp_path / "data", X, categorical_features=[3])
    pd.DataFrame({"a": [1.0], "b": ["x"]}).to_parquet(tmp_path / "X")
    with pytest.raises(ValueError, match="'c' which is not a valid feature name of the data set"):
        Dataset.write(tmp_path / "data", tmp_path / "X", categorical_features=["c"])
    with pytest.raises((ValueError, TypeError)):
        # A column of strings, after one that has been encoded.
        Dataset.write(tmp_path / "data", tmp_path / "X", max_memory=1)
    (tmp_path / "X").unlink()
    assert (tmp_path / "data").read_bytes() == b"old"
    assert [tmp_path / "data"] == list(tmp_path.iterdir())
