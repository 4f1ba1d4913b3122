"""Files of sparse data sets whose matrix does not fit in memory: from blocks of rows.

Each block is written by columns to a scratch file. Then some columns at a time are put together
from all blocks and encoded. A sparse data set also has its entries by rows: these are put together
in the end, some rows at a time, from the rows of the columns that were encoded together.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spinney._data.arrays import secure_sparse
from spinney._data.categorical_features import mark_categorical, warn_of_no_type
from spinney._data.categories import DOUBLE, are_exact
from spinney._spinney import Columns, join_heads
from spinney.dataset._files import StoredDataset, frame, list_sections
from spinney.dataset._writer import (
    BYTES_PER_CELL,
    HEAD,
    join_stored,
    show_columns,
    take_head,
)
from spinney.storage._models import name_folder, replace_file

# Bytes per entry of a block while it is written by columns: the block and its twin.
_BYTES_PER_ENTRY = 2 * (8 + 8)
# The engine's ids of rows have 32 bits.
_MAX_ROWS = 2**32 - 1


class _Room(NamedTuple):
    """Where scratch files are, and what closes them."""

    path: Path
    """The file that is to be written. Scratch files are in its directory."""
    files: ExitStack


class _Scratch:
    """Arrays in a file without a name, mapped when they are read.

    Parameters
    ----------
    room : _Room
        Where the file is, and until when.
    dtype : dtype
    """

    def __init__(self, room: _Room, dtype: Any) -> None:
        self.dtype, self.length = np.dtype(dtype), 0
        with name_folder(room.path):
            file = tempfile.TemporaryFile(dir=room.path.parent)  # noqa: SIM115 - closed by the room
        self._file = room.files.enter_context(file)

    def add(self, array: NDArray[Any]) -> slice:
        """Append an array; return where it is."""
        self._file.write(np.ascontiguousarray(array, self.dtype).data)
        start, self.length = self.length, self.length + len(array)
        return slice(start, self.length)

    def read(self) -> NDArray[Any]:
        """Return all arrays as one."""
        self._file.flush()
        if self.length == 0:
            return np.empty(0, self.dtype)
        return np.asarray(np.memmap(self._file, self.dtype, "r"))


def are_blocks(source: Any) -> bool:
    """Return whether a source is to be iterated over, and is no matrix and no list of numbers."""
    is_matrix = isinstance(source, (str, bytes, os.PathLike)) or hasattr(source, "shape")
    if is_matrix or not isinstance(source, Iterable):
        return False
    return not isinstance(source, (list, tuple)) or any(map(sparse.issparse, source))


def write_blocks(
    path: Path,
    blocks: Iterable[Any],
    categorical_features: Any,
    max_memory: int,
    encode: Callable[[Any, Any], tuple[Columns, StoredDataset]],
    n_threads: int,
    verbose: int,
) -> None:
    """Write the file of a sparse data set, given blocks of rows; see `write_source`."""
    with ExitStack() as files:
        room = _Room(path, files)
        stored = _Blocks(room)
        exact = _check_categories(blocks, categorical_features)
        for block in merge_blocks(exact, max(1, max_memory // _BYTES_PER_ENTRY)):
            stored.add(block)
        if not stored.counts:
            raise ValueError("source must have at least one block of rows. Got none.")
        writer = _SparseWriter(room, stored.n_rows)
        parts: list[tuple[StoredDataset, int]] = []
        n_features = stored.shape[1]
        mask = mark_categorical(categorical_features, stored.shape, None)
        warn_of_no_type(sparse.csr_matrix((0, 0)), categorical_features)
        with show_columns(verbose, n_features) as watcher:
            for start, end in stored.divide(max_memory):
                wanted = None if mask is None else mask[start:end]
                columns, described = encode(stored.read(start, end), wanted)
                writer.add(dict(columns.sections()), end - start)
                parts.append((described, end - start))
                watcher(end)
        sections = writer.finish(max_memory)
        replace_file(path, frame(list_sections(join_stored(parts), sections), n_threads))


def _check_categories(blocks: Iterable[Any], categorical_features: Any) -> Iterator[Any]:
    """Yield the blocks; raise ValueError for categories that would merge as float64."""
    for number, block in enumerate(blocks):
        is_sparse_of_integers = sparse.issparse(block) and block.dtype.kind in "iu"
        if is_sparse_of_integers and not are_exact(block.data):
            entries = sparse.coo_matrix(secure_sparse(block))
            columns = entries.col[np.abs(entries.data.astype(np.float64)) >= DOUBLE]
            mask = mark_categorical(categorical_features, block.shape, None)
            if mask is not None and mask[columns].any():
                raise ValueError(
                    "Categories in an iterable of sparse matrices must be integers below 2**53, "
                    "because the values of all blocks are kept as float64. Got larger ones in "
                    f"block {number}."
                )
        yield block


def merge_blocks(blocks: Iterable[Any], n_entries: int) -> Iterator[Any]:
    """Yield CSR matrices of at least `room` entries each, but for the last.

    Raises
    ------
    TypeError
        If a block is no sparse matrix.
    ValueError
        If blocks have different numbers of columns.
    """
    waiting: list[Any] = []
    n_features = None
    for number, block in enumerate(blocks):
        if not sparse.issparse(block):
            raise TypeError(
                "source must be an iterable of sparse matrices. "
                f"Got a {type(block).__name__} as block {number} instead."
            )
        n_features = block.shape[1] if n_features is None else n_features
        if block.shape[1] != n_features:
            raise ValueError(
                f"All blocks must have the {n_features} columns of the first one. "
                f"Got {block.shape[1]} in block {number} instead."
            )
        waiting.append(sparse.csr_matrix(secure_sparse(block)))
        if sum(block.nnz for block in waiting) >= n_entries:
            yield sparse.vstack(waiting, format="csr")
            waiting = []
    if waiting:
        yield sparse.vstack(waiting, format="csr")


class _Blocks:
    """Blocks of rows, each of them by columns.

    Parameters
    ----------
    room : _Room
        Where scratch files are.
    """

    def __init__(self, room: _Room) -> None:
        self._samples = _Scratch(room, np.uint32)
        self._values = _Scratch(room, np.float64)
        self._ends = _Scratch(room, np.int64)
        self.counts: list[slice] = []
        self.n_rows = 0
        self._n_entries = np.zeros(0, np.int64)
        self._is_single = True

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.n_rows, len(self._n_entries)

    def add(self, block: Any) -> None:
        """Add rows."""
        if self.n_rows + block.shape[0] > _MAX_ROWS:
            raise ValueError(f"source must have at most {_MAX_ROWS:,} rows.")
        columns = block.tocsc()
        columns.sum_duplicates()
        self._is_single &= columns.dtype == np.float32
        taken = self._samples.add(columns.indices + np.int64(self.n_rows))
        self._values.add(columns.data)
        self.counts.append(self._ends.add(columns.indptr + np.int64(taken.start)))
        n_entries = np.diff(columns.indptr)
        self._n_entries = n_entries + (self._n_entries if len(self._n_entries) else 0)
        self.n_rows += block.shape[0]

    def divide(self, max_memory: int) -> Iterator[tuple[int, int]]:
        """Yield the first and the end of portions of columns that are encoded in that memory."""
        ends = np.cumsum(self._n_entries)
        budget = max(1, max_memory // BYTES_PER_CELL)
        start = before = 0
        while start < len(ends):
            end = max(start + 1, int(np.searchsorted(ends, before + budget, side="right")))
            yield start, end
            start, before = end, int(ends[end - 1])

    def read(self, start: int, end: int) -> Any:
        """Return some columns of all blocks as a CSC matrix."""
        samples, values, ends = self._samples.read(), self._values.read(), self._ends.read()
        bounds = [ends[where][start : end + 1] for where in self.counts]
        n_each = [np.diff(of_block) for of_block in bounds]
        taken = [slice(of_block[0], of_block[-1]) for of_block in bounds]
        indptr, indices = interleave(n_each, [samples[where] for where in taken])
        _, data = interleave(n_each, [values[where] for where in taken])
        if self._is_single:
            data = data.astype(np.float32)
        if self.n_rows <= np.iinfo(np.int32).max and len(indices) <= np.iinfo(np.int32).max:
            indptr, indices = indptr.astype(np.int32), indices.astype(np.int32)
        shape = (self.n_rows, end - start)
        return sparse.csc_matrix((data, indices.astype(indptr.dtype), indptr), shape=shape)


class _SparseWriter:
    """Collects encoded columns, and makes the sections of the whole of them.

    Parameters
    ----------
    room : _Room
        Where scratch files are.
    n_rows : int
    """

    def __init__(self, room: _Room, n_rows: int) -> None:
        self._room, self._n_rows = room, n_rows
        self._samples, self._ranks, self._features, self._row_ranks, self._ends = (
            _Scratch(room, dtype)
            for dtype in (np.uint32, np.uint32, np.uint32, np.uint32, np.int64)
        )
        self._portions: list[slice] = []
        self._heads: list[tuple[NDArray[np.uint8], ...]] = []
        self._n_features = 0
        # Bytes of the widest ranks.
        self._width = 1

    def add(self, parts: dict[str, NDArray[np.uint8]], n_features: int) -> None:
        """Add the sections of some columns."""
        self._heads.append(take_head(parts))
        samples = parts["samples"].view("<u4")
        width = len(parts["ranks"]) // max(1, len(samples)) or 1
        self._width = max(self._width, width)
        self._samples.add(samples)
        self._ranks.add(parts["ranks"].view(f"<u{width}"))
        start = self._features.length
        self._features.add(parts["features"].view("<u4") + np.uint32(self._n_features))
        self._row_ranks.add(parts["row_ranks"].view(f"<u{width}"))
        ends = parts["row_ends"].view("<u8").astype(np.int64)
        self._portions.append(self._ends.add(np.concatenate([[0], ends]) + start))
        self._n_features += n_features

    def finish(self, max_memory: int) -> list[tuple[str, NDArray[np.uint8]]]:
        """Return the sections of all columns."""
        rank = f"<u{self._width}"
        ranks = self._narrow(self._ranks, rank, max_memory)
        row_ends, features, row_ranks = self._join_rows(rank, max_memory)
        arrays = {
            "samples": self._samples.read(),
            "ranks": ranks,
            "row_ends": row_ends,
            "features": features,
            "row_ranks": row_ranks,
        }
        sections = list(zip(HEAD, join_heads(self._heads), strict=True))
        return sections + [(name, array.view(np.uint8)) for name, array in arrays.items()]

    def _narrow(self, scratch: _Scratch, dtype: str, max_memory: int) -> NDArray[Any]:
        """Return numbers in another type, which some portions at a time are converted to."""
        wide, narrow = scratch.read(), _Scratch(self._room, dtype)
        for start in range(0, len(wide), max(1, max_memory // BYTES_PER_CELL)):
            narrow.add(wide[start : start + max(1, max_memory // BYTES_PER_CELL)])
        return narrow.read()

    def _join_rows(self, rank: str, max_memory: int) -> tuple[NDArray[Any], ...]:
        """Return where rows end, and the features and ranks of all entries, by rows."""
        ends, features, ranks = self._ends.read(), self._features.read(), self._row_ranks.read()
        bounds = [ends[where] for where in self._portions]
        row_ends = sum(of_portion[1:] - of_portion[0] for of_portion in bounds)
        row_ends = np.asarray(row_ends, dtype="<u8")
        new_features = _Scratch(self._room, "<u4")
        new_ranks = _Scratch(self._room, rank)
        start = before = 0
        while start < self._n_rows:
            budget = before + max(1, max_memory // BYTES_PER_CELL)
            end = max(start + 1, int(np.searchsorted(row_ends, budget, side="right")))
            here = [of_portion[start : end + 1] for of_portion in bounds]
            n_each = [np.diff(of_portion) for of_portion in here]
            taken = [slice(of_portion[0], of_portion[-1]) for of_portion in here]
            new_features.add(interleave(n_each, [features[where] for where in taken])[1])
            new_ranks.add(interleave(n_each, [ranks[where] for where in taken])[1])
            start, before = end, int(row_ends[end - 1])
        return row_ends, new_features.read(), new_ranks.read()


def interleave(
    n_each: list[NDArray[np.int64]], parts: list[NDArray[Any]]
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return lists of numbers, each joined from its parts.

    Parameters
    ----------
    n_each : list of ndarray of shape (n_lists,)
        How many numbers of each list a part has.
    parts : list of ndarray
        The numbers of a part, list by list.

    Returns
    -------
    indptr : ndarray of shape (n_lists + 1,)
        Where each list begins; then their end.
    joined : ndarray
        The numbers, list by list, and within a list part by part.
    """
    indptr = np.concatenate([[0], np.cumsum(np.sum(n_each, axis=0))])
    joined = np.empty(indptr[-1], parts[0].dtype)
    starts = indptr[:-1].copy()
    for counts, part in zip(n_each, parts, strict=True):
        # Where a list of this part begins, less where it begins in the part.
        shift = starts - (np.cumsum(counts) - counts)
        joined[np.repeat(shift, counts) + np.arange(len(part))] = part
        starts += counts
    return indptr, joined
