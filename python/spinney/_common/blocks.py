"""Blocks of rows, so that numbers of each row and tree are held for some rows at a time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The most numbers of a block: 32 MiB of floats.
_NUMBERS_AT_ONCE = 2**22


def divide_rows(n_rows: int, n_numbers: int) -> Iterator[tuple[int, int]]:
    """Return where blocks of rows begin and end.

    Parameters
    ----------
    n_rows : int
        No rows are one empty block.
    n_numbers : int
        How many numbers are held for a row.
    """
    step = max(1, _NUMBERS_AT_ONCE // max(n_numbers, 1))
    for start in range(0, max(n_rows, 1), step):
        yield start, min(start + step, n_rows)


def join_blocks(n_rows: int, parts: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """Return the results of blocks of rows as one array, whose memory is asked for at once.

    Parameters
    ----------
    n_rows : int
        Of all blocks.
    parts : iterable of ndarray
        At least one.

    Raises
    ------
    MemoryError
        If the result cannot be had.
    """
    parts = iter(parts)
    first = next(parts)
    shape = (n_rows, *first.shape[1:])
    try:
        result: NDArray[Any] = np.empty(shape, first.dtype)
    except MemoryError:
        n_bytes = math.prod(shape) * first.dtype.itemsize
        raise MemoryError(f"Unable to allocate {n_bytes} bytes for the result.") from None
    result[: first.shape[0]] = first
    start = first.shape[0]
    for part in parts:
        result[start : start + part.shape[0]] = part
        start += part.shape[0]
    return result
