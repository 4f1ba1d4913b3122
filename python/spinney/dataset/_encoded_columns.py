"""Encoded columns, in memory, in files and in pickles."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spinney._common.threads import count_threads
from spinney._data.categories import Categories, count_categories
from spinney._spinney import Columns
from spinney.dataset._files import (
    Carrier,
    StoredDataset,
    get_head,
    join_chunks,
    list_chunks,
    parse_dataset,
    write_dataset,
)
from spinney.storage._models import map_file

if TYPE_CHECKING:
    from typing_extensions import Self


class EncodedColumns:
    """The encoded columns of a matrix, in memory and in files: base class of `Dataset`."""

    __slots__ = (
        "__weakref__",
        "_carrier",
        "_categories",
        "_columns",
        "_feature_names",
        "_is_categorical",
        "_rows",
    )

    _columns: Columns
    # What a pickle of all rows carries. Views share it.
    _carrier: Carrier
    # The rows of the columns that this is a view of, uint32; None for all.
    _rows: NDArray[np.uint32] | None
    _is_categorical: NDArray[np.bool_] | None
    # The categories of all rows.
    _categories: Categories | None
    _feature_names: NDArray[Any] | None

    @classmethod
    def _of_codes(
        cls,
        X: Any,
        is_categorical: NDArray[np.bool_] | None,
        categories: Categories | None,
        feature_names: NDArray[Any] | None,
        n_threads: int = 1,
    ) -> Self:
        """Return the data set of a matrix that has codes in the place of categories.

        Parameters
        ----------
        X : ndarray, CompressedMatrix or Columns
        is_categorical : ndarray of bool of shape (n_features,), or None
        categories : Categories or None
        feature_names : ndarray of str of shape (n_features,), or None
        n_threads : int
            Threads that encode.
        """
        dataset = object.__new__(cls)
        dataset._is_categorical, dataset._categories = is_categorical, categories
        dataset._feature_names = feature_names
        dataset._encode(X, n_threads)
        return dataset

    def _encode(self, X: Any, n_threads: int) -> None:
        self._columns = Columns(X, count_categories(self._categories), n_threads)
        self._rows, self._carrier = None, Carrier()
        for known in self._categories or ():
            if known is not None:
                # Estimators share it.
                known.flags.writeable = False

    # --- Files and pickles ----------------------------------------------------------------------

    def save(self, path: Any, *, n_jobs: int | None = None) -> None:
        """Write the encoded columns to a file, from which `Dataset.open` maps them.

        Pickles of the data set, and of views of it, then carry the path of the file in place of its
        bytes. A view is written as a data set of its rows. A file that exists is replaced at the
        end of the call, or not at all.

        Parameters
        ----------
        path : str or path-like
        n_jobs : int, default=None
            Threads that compute the checksums.

        Raises
        ------
        TypeError
            If files cannot hold the categories.
        OSError
            If the file cannot be written.
        """
        own = self._own()
        n_threads = count_threads(n_jobs)
        head = write_dataset(path, own._columns, own._get_stored(), n_threads)
        if self._rows is None:
            self._carrier.path, self._carrier.head = Path(os.path.realpath(path)), head

    @classmethod
    def open(cls, path: Any, *, n_jobs: int | None = None) -> Self:
        """Open a file that `save` has written.

        The columns are mapped and not read into memory of the process: processes share one copy,
        and the operating system can drop what is not in use. All bytes are compared with their
        checksums, and all that growth relies on is checked. As long as the data set lives, nobody
        may write to the file; replacing it, as `save` does, is allowed.

        Parameters
        ----------
        path : str or path-like
        n_jobs : int, default=None
            Threads that check the file.

        Returns
        -------
        dataset : Dataset

        Raises
        ------
        ValueError
            If the file is no data set, is of a newer format, or is damaged. The message names the
            section that is at fault.
        OSError
            If the file cannot be read.
        """
        data = map_file(path)
        dataset = cls._parse(data, count_threads(n_jobs))
        dataset._carrier.path = Path(os.path.realpath(path))
        dataset._carrier.head = get_head(data)
        return dataset

    def __reduce__(self) -> Any:
        """Return what a pickle holds: the path of the file and the rows, or the bytes of one."""
        # The array of bytes is made once, so that joblib maps one copy for all of its processes.
        carrier = self._carrier
        if carrier.path is not None:
            return type(self)._reopen, (carrier.path, carrier.head, self._rows)
        if self._rows is not None:
            return type(self)._parse, (self._join(),)
        if carrier.data is None:
            carrier.data = self._join()
        return type(self)._parse, (carrier.data,)

    @classmethod
    def _parse(cls, data: NDArray[np.uint8], n_threads: int = 1) -> Self:
        """Return the data set of the bytes of a file."""
        data = np.asarray(data)
        columns, stored = parse_dataset(data, n_threads)
        dataset = cls._of_codes(columns, *stored)
        dataset._carrier.data = data
        return dataset

    def _join(self) -> NDArray[np.uint8]:
        return join_chunks(self._list_chunks(1))

    def _list_chunks(self, n_threads: int) -> list[NDArray[np.uint8]]:
        """Return the bytes that `save` writes, in chunks whose padding is left out."""
        own = self._own()
        return list_chunks(own._columns, own._get_stored(), n_threads)

    def _with_file(self, path: Path) -> Self:
        """Return these rows as a data set that has a file: this one, or one of a new file."""
        if self._carrier.path is not None:
            return self
        own = self._own()
        write_dataset(path, own._columns, own._get_stored(), 1)
        return type(self).open(path)

    @classmethod
    def _open_temporary(cls, path: Path, n_threads: int) -> Self:
        """Open a file that is about to be removed: pickles carry its bytes."""
        return cls._parse(map_file(path), n_threads)

    @classmethod
    def _reopen(cls, path: Path, head: NDArray[np.uint8], rows: NDArray[np.uint32] | None) -> Self:
        """Return the data set of a file, which must not have changed, or a view of some rows."""
        dataset = cls.open(path)
        found = dataset._carrier.head
        if found is None or found.tobytes() != head.tobytes():
            raise ValueError(f"{str(path)!r} has changed since the Dataset was pickled.")
        return dataset if rows is None else dataset._view(rows)

    def _share(self, other: EncodedColumns) -> None:
        """Take over what another data set consists of."""
        self._columns, self._rows, self._carrier = other._columns, other._rows, other._carrier
        self._is_categorical, self._categories = other._is_categorical, other._categories
        self._feature_names = other._feature_names

    def _view(self, rows: NDArray[np.uint32]) -> Self:
        """Return some rows, which share the memory of all."""
        view = object.__new__(type(self))
        view._share(self)
        view._rows = rows if self._rows is None else self._rows[rows]
        view._columns = self._columns.with_rows(view._rows)
        return view

    def _own(self) -> Self:
        """Return a data set of these rows alone; itself if it is no view."""
        if self._rows is None:
            return self
        categories = self._list_categories()
        columns = self._columns.own()
        return type(self)._of_codes(columns, self._is_categorical, categories, self._feature_names)

    def _get_stored(self) -> StoredDataset:
        return StoredDataset(self._is_categorical, self._categories, self._feature_names)

    def _list_categories(self) -> Categories | None:
        """Return the categories that occur in these rows."""
        if self._rows is None or self._categories is None:
            return self._categories
        present = self._columns.present_codes()
        return [
            None if known is None else known[:0] if codes is None else known[codes]
            for known, codes in zip(self._categories, present, strict=True)
        ]
