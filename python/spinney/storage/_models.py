"""Model files: a fitted estimator as named sections of bytes, and back.

The section `header` is JSON: the class of the estimator, its parameters, and what `fit` has set.
Arrays of these are sections of their own, and so are the trees (`src/files`). Nothing is pickled,
and nothing that a file says is executed. `docs/model-files.md` describes the format.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray

from spinney._common.formats import check_format, damaged
from spinney._fit.draws import Draws, Growth, Strata, Subforests
from spinney._fit.leaf_rows import LeafRows
from spinney._fit.task import Task
from spinney._fit.tree_samples import TreeSamples
from spinney._spinney import Columns, Forest, frame_model, read_forest, split_model
from spinney.storage._header import (
    FIRST_FORMAT,
    HEADER_FORMAT,
    decode_part,
    read_header,
    write_header,
)
from spinney.storage._objects import TREE_FORMAT, find_maker, split_object
from spinney.storage._values import Decoder, Encoder

# The class in the header of a data set (`_dataset_files`).
DATASET_CLASS = "Dataset"
TREE_SECTIONS = ("shape", "index", "splits", "leaves", "statistics")
_MAGIC = b"\x89SPINNEY"
_ALIGNMENT = 64
_RECORDS = (Draws, Growth, LeafRows, Strata, Subforests, Task, TreeSamples)


def write_model(
    path: Any,
    description: dict[str, Any],
    parameters: dict[str, Any],
    attributes: dict[str, Any],
    forest: Forest | None,
    n_threads: int,
) -> None:
    """Write a model file. It takes the place of an older one at the end, or not at all.

    Parameters
    ----------
    path : str or path-like
    description : dict
        What the header begins with.
    parameters, attributes : dict
        Of the estimator.
    forest : Forest or None
        The trees of the estimator itself.
    n_threads : int
        Threads that compute the checksums.
    """
    trees: dict[str, int] = {}
    if forest is not None:
        trees = {
            "format": forest.sections_format,
            "number": len(forest),
            "nodes": int(forest.node_counts.sum()),
        }
    sections = write_header(
        {"scikit-learn": sklearn.__version__, **description, "trees": trees},
        {"parameters": parameters, "attributes": attributes},
        Encoder(_RECORDS, split_object),
        HEADER_FORMAT if forest is None else FIRST_FORMAT,
    )
    if forest is not None:
        sections += zip(TREE_SECTIONS, forest.sections(), strict=True)
    write_chunks(path, [frame_model(sections, n_threads), *(data for _, data in sections)])


def pad_chunks(chunks: list[NDArray[np.uint8]]) -> Iterator[memoryview | bytes]:
    """Yield the bytes of the chunks of a file, and those between them."""
    for n, chunk in enumerate(chunks):
        yield chunk.data
        if n + 1 < len(chunks):
            yield bytes(-chunk.shape[0] % _ALIGNMENT)


def write_chunks(path: Any, chunks: list[NDArray[np.uint8]]) -> None:
    """Write chunks, padded, to a file: a path, a URL that fsspec knows, or a file object."""
    if hasattr(path, "write"):
        for piece in pad_chunks(chunks):
            path.write(piece)
    elif is_url(path):
        with _get_fsspec(path).open(path, "wb") as file:
            write_chunks(file, chunks)
    else:
        replace_file(Path(os.path.realpath(path)), chunks)


def is_url(path: Any) -> bool:
    """Return whether a path belongs to another file system than the local one."""
    # One letter is a drive of Windows.
    return isinstance(path, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", path) is not None


def _get_fsspec(path: str) -> Any:
    try:
        return import_module("fsspec")
    except ImportError as error:
        raise ImportError(f"{path!r} is a URL, which the package fsspec opens.") from error


@contextmanager
def name_folder(path: Path) -> Iterator[None]:
    """Let errors of a temporary file name the folder of the file that is to be written."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        culprit = path if path.is_dir() else path.parent
        told = f"{error.strerror}: cannot write {path.name!r} there"
        raise OSError(error.errno, told, str(culprit)) from error


def replace_file(path: Path, chunks: list[NDArray[np.uint8]]) -> None:
    """Write chunks, padded, to a new file in the directory of `path`, and give it that name."""
    temporary = path.with_name(f".spinney-{secrets.token_hex(8)}.tmp")
    try:
        with name_folder(path):
            with temporary.open("xb") as file:
                for piece in pad_chunks(chunks):
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if os.name == "posix":
        # The new name is on disk when its directory is.
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def map_file(path: Any, what: str = "file") -> NDArray[np.uint8]:
    """Return the bytes of a file, mapped for reading. `what` says what it is if it is empty."""
    if Path(path).stat().st_size == 0:
        raise ValueError(f"{os.fspath(path)!r} is not a {what} of spinney: it is empty.")
    return np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))


def read_bytes(path: Any) -> NDArray[np.uint8]:
    """Return the bytes of a model file: a path, which is mapped, a URL, a file object, or bytes."""
    if isinstance(path, (bytes, bytearray, memoryview)):
        return np.frombuffer(path, np.uint8)
    if hasattr(path, "read"):
        return np.frombuffer(path.read(), np.uint8)
    if is_url(path):
        with _get_fsspec(path).open(path, "rb") as file:
            return read_bytes(file)
    return map_file(path, "model file")


# How pickles begin, as they are and as joblib compresses them: by gzip, zlib, bzip2, xz and LZMA.
_PICKLES = (b"\x80", b"\x1f\x8b", b"x", b"BZ", b"\xfd7", b"]\0")


def _find_other_format(data: NDArray[np.uint8]) -> str:
    """Return what to do with a file that is no model file of spinney, if it looks like one."""
    for beginnings, advice in (
        ((b"PK",), "It looks like one of skops: use skops.io.load."),
        (_PICKLES, "It looks like a pickle: use joblib.load or pickle.load."),
    ):
        if data[:2].tobytes().startswith(beginnings):
            return f" {advice}"
    return ""


class StoredModel:
    """The sections of a model file, all of whose bytes have been compared with its checksums.

    A file is mapped, as long as the sections are in use.

    Parameters
    ----------
    path : str, path-like, file object or bytes
    n_threads : int
    """

    def __init__(self, path: Any, n_threads: int = 1) -> None:
        data = read_bytes(path)
        if data[: len(_MAGIC)].tobytes() != _MAGIC:
            name = (
                repr(os.fspath(path)) if isinstance(path, (str, os.PathLike)) else "What was given"
            )
            raise ValueError(
                f"{name} is not a model file of spinney: it begins otherwise."
                f"{_find_other_format(data)}"
            )
        self.n_bytes = data.shape[0]
        self.sections = {name: data[start:end] for name, start, end in split_model(data, n_threads)}
        self.header = self._read_header()
        missing = [name for name in TREE_SECTIONS if name not in self.sections]
        if missing and self.header["trees"]:
            raise ValueError(f"The model file has no section {missing[0]!r}.")
        self._n_threads = n_threads
        self._decoder = Decoder(
            self._list_arrays(),
            _RECORDS,
            (LeafRows, Forest, Columns),
            lambda name: find_maker(name, self.header, n_threads),
        )

    def _read_header(self) -> dict[str, Any]:
        if "header" not in self.sections:
            raise ValueError("The model file has no section 'header'.")
        header = read_header(self.sections["header"])
        if header.get("class") == DATASET_CLASS:
            raise ValueError("The file holds a Dataset and no model: use spinney.Dataset.open.")
        parts = {"class": str, "parameters": dict, "attributes": dict, "trees": dict, "format": int}
        for name, kind in parts.items():
            if type(header.get(name)) is not kind:
                raise damaged(f"it has no {kind.__name__} {name!r}")
        writer = header.get("version")
        check_format("model", header["format"], HEADER_FORMAT, "Load", writer)
        if header["trees"] or header["format"] == FIRST_FORMAT:
            check_format("model", header["trees"].get("format"), TREE_FORMAT, "Load", writer)
        return header

    def _list_arrays(self) -> list[NDArray[np.uint8]]:
        names = [name for name in self.sections if name not in ("header", *TREE_SECTIONS)]
        if names != [f"array/{n}" for n in range(len(names))]:
            raise ValueError(f"The model file has unknown sections: {', '.join(names)}.")
        return [self.sections[name] for name in names]

    def read_forest(self) -> Forest | None:
        """Return the trees, if there are any; whatever is wrong with them is a ValueError."""
        if not self.header["trees"]:
            return None
        sections = [self.sections[name] for name in TREE_SECTIONS]
        return read_forest(self.header["trees"]["format"], sections, self._n_threads)

    def decode(self, part: str) -> dict[str, Any]:
        """Return the values of the part "parameters" or "attributes" of the header."""
        return decode_part(self.header[part], self._decoder)
