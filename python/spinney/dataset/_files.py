"""Files of data sets: the container of model files, with the encoded columns as sections.

The section `header` is JSON: names, and what is categorical. Arrays of these are sections of their
own. `src/data/parts.rs` describes all other sections.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney._common.formats import check_format, damaged
from spinney._data.categories import Categories, count_categories
from spinney._spinney import Columns, frame_model, read_columns, split_model
from spinney.storage._header import (
    FIRST_FORMAT,
    Section,
    decode_part,
    read_header,
    write_header,
)
from spinney.storage._models import DATASET_CLASS, replace_file
from spinney.storage._objects import COLUMNS_FORMAT
from spinney.storage._values import Decoder, Encoder

_ALIGNMENT = 64

# Of the head of a file, which has checksums of everything else.
_HEAD = 64


class StoredDataset(NamedTuple):
    """What a data set has beside its columns."""

    is_categorical: NDArray[np.bool_] | None
    categories: Categories | None
    feature_names: NDArray[Any] | None


class Carrier:
    """The file that has all rows of a data set, or the bytes of such a file."""

    __slots__ = ("data", "head", "path")

    def __init__(self) -> None:
        self.path: Path | None = None
        self.head: NDArray[np.uint8] | None = None
        self.data: NDArray[np.uint8] | None = None


def list_chunks(columns: Columns, stored: StoredDataset, n_threads: int) -> list[NDArray[np.uint8]]:
    """Return the chunks of a file. All but the last are to be padded to multiples of 64 bytes."""
    return frame(list_sections(stored, columns.sections()), n_threads)


def frame(sections: list[Section], n_threads: int) -> list[NDArray[np.uint8]]:
    """Return what a file begins with, and the bytes of its sections."""
    return [frame_model(sections, n_threads), *(data for _, data in sections)]


def list_sections(stored: StoredDataset, columns: list[Section]) -> list[Section]:
    """Return all sections of a file, given the sections of the columns."""
    names = None if stored.feature_names is None else list(stored.feature_names)
    header = write_header(
        {"class": DATASET_CLASS, "columns": {"format": COLUMNS_FORMAT}},
        {"attributes": {**stored._asdict(), "feature_names": names}},
        Encoder(),
    )
    return header + columns


def join_chunks(chunks: list[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Return the chunks of a file as one array."""
    starts = np.cumsum([0, *(len(chunk) + -len(chunk) % _ALIGNMENT for chunk in chunks[:-1])])
    joined = np.zeros(starts[-1] + len(chunks[-1]), dtype=np.uint8)
    for start, chunk in zip(starts, chunks, strict=True):
        joined[start : start + len(chunk)] = chunk
    return joined


def write_dataset(
    path: Any, columns: Columns, stored: StoredDataset, n_threads: int
) -> NDArray[np.uint8]:
    """Write a file, which takes the place of an older one at the end; return its head."""
    chunks = list_chunks(columns, stored, n_threads)
    replace_file(Path(os.path.realpath(path)), chunks)
    return chunks[0][:_HEAD].copy()


def get_head(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return what tells the file from others: its head has checksums of everything."""
    return data[:_HEAD].copy()


def parse_dataset(data: NDArray[np.uint8], n_threads: int) -> tuple[Columns, StoredDataset]:
    """Return the data set of a file, whose bytes are not copied but for the tables of values.

    Raises
    ------
    ValueError
        If the file is of a newer format, damaged, or no data set. The message names the section.
    """
    sections = {name: data[start:end] for name, start, end in split_model(data, n_threads)}
    if "header" not in sections:
        raise ValueError("The file has no section 'header'.")
    header = read_header(sections.pop("header"))
    if header.get("class") != DATASET_CLASS:
        raise ValueError(
            f"The file holds a {header.get('class')!r} and no Dataset: use spinney.load."
        )
    columns = header.get("columns")
    format_number = columns.get("format") if isinstance(columns, dict) else None
    check_format("data set", header.get("format"), FIRST_FORMAT, "Open")
    check_format("data set", format_number, COLUMNS_FORMAT, "Open")
    arrays = [sections.pop(name) for name in list(sections) if name.startswith("array/")]
    is_categorical, categories, names = _read_attributes(header, arrays)
    encoded = read_columns(COLUMNS_FORMAT, list(sections.items()), n_threads)
    _check(encoded, is_categorical, categories, names)
    feature_names = None if names is None else np.array(names, dtype=object)
    return encoded, StoredDataset(is_categorical, categories, feature_names)


def _read_attributes(header: dict[str, Any], arrays: list[NDArray[np.uint8]]) -> tuple[Any, ...]:
    attributes = header.get("attributes")
    if not isinstance(attributes, dict):
        raise damaged("it has no dict 'attributes'")
    if set(attributes) != set(StoredDataset._fields):
        raise damaged(f"it has the attributes {', '.join(attributes)}")
    values = decode_part(attributes, Decoder(arrays))
    return tuple(values[name] for name in StoredDataset._fields)


def _check(columns: Columns, is_categorical: Any, categories: Any, names: Any) -> None:
    """Raise ValueError unless the header agrees with the columns."""
    n_features = columns.shape[1]
    if names is not None and (
        not isinstance(names, list)
        or len(names) != n_features
        or not all(type(name) is str for name in names)
    ):
        raise damaged("feature_names are no strings, or not one per feature")
    if (is_categorical is None) != (categories is None):
        raise damaged("is_categorical and categories contradict each other")
    if categories is None:
        counts = [0] * n_features
    else:
        is_sound = (
            isinstance(is_categorical, np.ndarray)
            and is_categorical.dtype == np.bool_
            and is_categorical.shape == (n_features,)
            and isinstance(categories, list)
            and len(categories) == n_features
            and all(
                known is None if not categorical else getattr(known, "ndim", 0) == 1
                for known, categorical in zip(categories, is_categorical, strict=True)
            )
        )
        if not is_sound:
            raise damaged("categories are not one array per categorical feature")
        counts = count_categories(categories) or []
    if (columns.n_categories or [0] * n_features) != counts:
        raise damaged("the columns have other categories")
