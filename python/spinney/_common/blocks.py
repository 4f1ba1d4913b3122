"""Blocks of rows, so that numbers of each row and tree are held for some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator

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
