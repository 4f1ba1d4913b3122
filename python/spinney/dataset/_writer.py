"""Files of data sets whose matrix does not fit in memory: encoded some columns at a time."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney._common.progress import show_progress
from spinney._data.categorical_features import (
    divide_by_type,
    mark_categorical,
    warn_of_no_type,
)
from spinney._data.categories import Categories
from spinney._data.frames import (
    are_categorical,
    get_names,
    is_frame,
    is_sparse_frame,
    take_columns,
)
from spinney._spinney import Columns, join_heads
from spinney.dataset._files import StoredDataset, frame, list_sections
from spinney.storage._models import name_folder, replace_file

if TYPE_CHECKING:
    from typing_extensions import Self

# Bytes that a cell takes while its column is encoded: the value as it is read, a float, and two
# pairs of a sort key and a row.
BYTES_PER_CELL = 8 + 8 + 2 * 16
# The sections that say what a data set is, beside the ranks of its cells.
HEAD = ("shape", "columns", "values")


class Source(NamedTuple):
    """A matrix that is read some columns at a time."""

    shape: tuple[int, int]
    names: list[str] | None
    read: Callable[[int, int], Any]
    """Returns the columns from a first one up to another, as an array or a frame."""

    def divide(self, max_memory: int) -> Iterator[tuple[int, int]]:
        """Yield the first and the end of portions of columns that are encoded in that memory."""
        n_rows, n_features = self.shape
        size = max(1, max_memory // max(1, n_rows * BYTES_PER_CELL))
        for start in range(0, n_features, size):
            yield start, min(start + size, n_features)


def open_source(source: Any) -> Source:
    """Return the columns of a file, of an array or a frame that may be mapped, or of a collection.

    Raises
    ------
    TypeError
        If it is none of these.
    ValueError
        If a file is of another format than Parquet or Arrow.
    ImportError
        If it is a path, and pyarrow is not installed.
    """
    if isinstance(source, np.ndarray) and source.ndim == 2:
        return Source(source.shape, None, lambda start, end: np.asarray(source[:, start:end]))
    if hasattr(source, "__dask_graph__") and getattr(source, "ndim", 0) == 2:
        return _open_collection(source)
    if isinstance(source, (str, os.PathLike)):
        return _open_file(source)
    if is_frame(source):
        names = get_names(source)
        columns = (take_columns(source, n, n + 1) for n in range(len(names)))
        # A portion of sparse columns would be a sparse matrix.
        if not any(map(is_sparse_frame, columns)):
            shape = (len(source), len(names))
            return Source(shape, names, lambda start, end: take_columns(source, start, end))
    raise TypeError(
        "source must be the path of a Parquet or Arrow file, a two-dimensional array, a dense data "
        "frame, a dask array or data frame, a sparse matrix, or an iterable of sparse matrices. "
        f"Got a {type(source).__name__} instead."
    )


def _open_file(path: Any) -> Source:
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    with Path(path).open("rb") as file:
        begin = file.read(6)
    if begin[:4] == b"PAR1":
        parquet = ParquetFile(path, memory_map=True)
        names = list(parquet.schema_arrow.names)
        shape = (parquet.metadata.num_rows, len(names))
        return Source(shape, names, lambda start, end: parquet.read(columns=names[start:end]))
    if begin != b"ARROW1":
        raise ValueError(
            "source must be the path of a Parquet file, or of an Arrow file (IPC or Feather). "
            f"{os.fspath(path)!r} is neither."
        )

    def read(start: int, end: int) -> Any:
        options = pa.ipc.IpcReadOptions(included_fields=list(range(start, end)))
        with pa.memory_map(os.fspath(path)) as file:
            return pa.ipc.open_file(file, options=options).read_all()

    with pa.memory_map(os.fspath(path)) as file:
        names = list(pa.ipc.open_file(file).schema.names)
    return Source((read(0, 1).num_rows if names else 0, len(names)), names, read)


def _open_collection(source: Any) -> Source:
    if hasattr(source, "columns"):
        names = list(source.columns)
        shape = (len(source), len(names))
        return Source(shape, names, lambda start, end: source[names[start:end]].compute())
    if any(np.isnan(length) for length in source.chunks[0]):
        source = source.compute_chunk_sizes()
    return Source(source.shape, None, lambda start, end: source[:, start:end].compute())


def write_source(
    path: Path,
    source: Source,
    categorical_features: Any,
    max_memory: int,
    encode: Callable[[Any, Any], tuple[Columns, StoredDataset]],
    n_threads: int,
    verbose: int,
) -> None:
    """Write the file of a dense data set.

    Parameters
    ----------
    path : Path
        It is replaced at the end, or not at all.
    source : Source
    categorical_features : None, "from_dtype" or array-like of bool, int or str
    max_memory : int
        Bytes for the columns that are encoded at a time.
    encode : callable
        Encodes some columns, given their values and which of them are categorical.
    n_threads : int
        Threads that compute the checksums.
    verbose : int
        As `verbose` of forests.
    """
    wanted = mark_categorical(categorical_features, source.shape, source.names)
    by_type = categorical_features is not None and divide_by_type(categorical_features)[0]
    portion: Any = None
    has_types = False
    parts: list[tuple[StoredDataset, int]] = []
    with _ColumnWriter(path) as writer, show_columns(verbose, source.shape[1]) as watcher:
        for start, end in source.divide(max_memory):
            portion = source.read(start, end)
            mask = np.zeros(end - start, dtype=bool) if wanted is None else wanted[start:end]
            if by_type and is_frame(portion):
                of_type = are_categorical(portion)
                mask, has_types = mask | of_type, has_types or bool(of_type.any())
            columns, stored = encode(portion, mask)
            writer.add(columns.sections())
            parts.append((stored, end - start))
            watcher(end)
        if not parts:
            raise ValueError(f"source must have at least one column. Got shape {source.shape}.")
        if by_type and not has_types:
            warn_of_no_type(portion, categorical_features)
        writer.finish(join_stored(parts), n_threads)


@contextmanager
def show_columns(verbose: int, n_features: int) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of columns that are encoded."""
    with show_progress(verbose, 0, n_features, "encoding", "column") as watcher:
        yield watcher or (lambda _done: None)


class _ColumnWriter:
    """Collects encoded columns in a file without a name, and writes the file of a data set.

    Parameters
    ----------
    path : Path
        The file that `finish` writes. Its directory has the room for two of it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with name_folder(path):
            self._scratch = tempfile.TemporaryFile(dir=path.parent)  # noqa: SIM115 - closed by `__exit__`
        self._lengths: list[int] = []
        self._heads: list[tuple[NDArray[np.uint8], ...]] = []

    def add(self, sections: list[tuple[str, NDArray[np.uint8]]]) -> None:
        """Add the sections of some columns."""
        self._heads.append(take_head(dict(sections)))
        for name, data in sections:
            if name.startswith("column/"):
                self._scratch.write(data.data)
                self._lengths.append(len(data))

    def finish(self, stored: StoredDataset, n_threads: int) -> None:
        """Write the file, given the names and categories of all columns."""
        self._scratch.flush()
        columns = np.memmap(self._scratch, dtype=np.uint8, mode="r")
        ends = np.cumsum([0, *self._lengths])
        sections = list(zip(HEAD, join_heads(self._heads), strict=True))
        sections += [
            (f"column/{feature}", np.asarray(columns[start:end]))
            for feature, (start, end) in enumerate(pairwise(ends))
        ]
        replace_file(self._path, frame(list_sections(stored, sections), n_threads))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        """Give back the disk space of the columns."""
        self._scratch.close()


def take_head(sections: dict[str, NDArray[np.uint8]]) -> tuple[NDArray[np.uint8], ...]:
    """Return copies of the sections of columns that `join_heads` takes: the others may be large."""
    return tuple(sections[name].copy() for name in HEAD)


def join_stored(parts: list[tuple[StoredDataset, int]]) -> StoredDataset:
    """Return what all columns have beside their ranks, given this for parts, and their lengths."""
    names = [part.feature_names for part, _ in parts if part.feature_names is not None]
    feature_names = np.concatenate(names) if len(names) == len(parts) else None
    if all(part.is_categorical is None for part, _ in parts):
        return StoredDataset(None, None, feature_names)
    masks = [
        np.zeros(n, dtype=bool) if part.is_categorical is None else part.is_categorical
        for part, n in parts
    ]
    categories: Categories = []
    for part, n in parts:
        categories += [None] * n if part.categories is None else part.categories
    return StoredDataset(np.concatenate(masks), categories, feature_names)
