"""The splits of a cross-validation, in little memory.

The training sets of leave-one-out have almost all rows each, so that lists of their rows would take
memory that grows with the square of the number of rows. A split is therefore kept as the rows that
are left out of training, if these are fewer than the training rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Split(NamedTuple):
    """The rows of a fold. The first three fields are what the compiled part takes."""

    rows: NDArray[np.uint32]
    """The training rows, distinct; or the rows that are left out of training, ascending."""
    are_left_out: bool
    """Whether `rows` are left out of training."""
    test: NDArray[np.uint32]
    n_samples: int
    """Number of rows of the data."""

    @property
    def n_train(self) -> int:
        """Number of training rows."""
        n_rows = int(self.rows.shape[0])
        return self.n_samples - n_rows if self.are_left_out else n_rows

    def list_train(self) -> NDArray[np.intp]:
        """Return the training rows, in the order in which the splitter gave them."""
        if not self.are_left_out:
            return self.rows.astype(np.intp)
        is_train = np.ones(self.n_samples, dtype=bool)
        is_train[self.rows] = False
        return np.flatnonzero(is_train)

    def list_rows(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the training rows and the test rows."""
        return self.list_train(), self.test.astype(np.intp)


class Splits:
    """Splits that have been made, as a cross-validation generator of scikit-learn.

    scikit-learn iterates over the result of `split` without making a list of it, so that the rows
    of one split are listed at a time.

    Parameters
    ----------
    splits : iterable of pairs of array-likes
        Training rows and test rows, as numbers or as boolean masks of all rows.
    n_samples : int
        Number of rows of the data.

    Attributes
    ----------
    obstacle : str or None
        Why not all of the splits can be predicted together; None if they can.
    """

    def __init__(self, splits: Iterable[Any], n_samples: int) -> None:
        self.obstacle: str | None = None
        # A split that cannot be read stays as it is: scikit-learn says what is wrong with it.
        self._splits: list[Split | Any] = []
        for split in splits:
            kept, obstacle = _read_split(split, n_samples)
            self._splits.append(kept)
            self.obstacle = self.obstacle or obstacle
        if not self._splits:
            self.obstacle = "there are no splits"

    def list_known(self) -> list[Split]:
        """Return the splits; only if there is no obstacle."""
        assert self.obstacle is None
        return self._splits

    def split(self, X: Any = None, y: Any = None, groups: Any = None) -> Iterator[Any]:  # noqa: ARG002
        """Yield the training rows and the test rows of each split."""
        for split in self._splits:
            yield split.list_rows() if isinstance(split, Split) else split

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        """Return the number of splits."""
        return len(self._splits)


def are_partition(splits: list[Split], n_samples: int) -> bool:
    """Return whether each sample is in the test set of one fold."""
    counts = np.bincount(np.concatenate([split.test for split in splits]), minlength=n_samples)
    return bool((counts == 1).all())


def _read_split(split: Any, n_samples: int) -> tuple[Split | Any, str | None]:
    """Return a split in little memory; or the split as it is, and why it cannot be read."""
    train, test = (_list_numbers(part, n_samples) for part in split)
    if train is None or test is None:
        return split, "a split has something else than numbers of rows, or no rows"
    is_train = np.zeros(n_samples, dtype=bool)
    is_train[train] = True
    n_train = np.count_nonzero(is_train)
    if n_train < train.shape[0]:
        return split, "training rows are repeated"
    test = test.astype(np.uint32)
    if 2 * n_train > n_samples and (train[1:] > train[:-1]).all():
        return Split(np.flatnonzero(~is_train).astype(np.uint32), True, test, n_samples), None
    return Split(train.astype(np.uint32), False, test, n_samples), None


def _list_numbers(part: Any, n_samples: int) -> NDArray[Any] | None:
    """Return the numbers of rows; None unless there are some, and all are in range."""
    part = np.asarray(part)
    if part.dtype.kind == "b" and part.shape == (n_samples,):
        part = np.flatnonzero(part)
    is_index = part.ndim == 1 and part.dtype.kind in "iu" and part.size > 0
    return part if is_index and part.min() >= 0 and part.max() < n_samples else None
