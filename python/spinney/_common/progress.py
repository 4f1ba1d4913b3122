"""Reports of progress for `verbose`: a progress bar if tqdm is installed, otherwise lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Least number of seconds between two lines with verbose=1.
_INTERVAL = 1.0


@contextmanager
def show_progress(
    verbose: int, first: int, n_trees: int, work: str = "building", unit: str = "tree"
) -> Iterator[Callable[[int], None] | None]:
    """Yield a function to call with the number of new trees; None if nothing is to be shown.

    Parameters
    ----------
    verbose : int
        0: no report. 1: a bar, or at most a line per second. 2 or more: a line at every call.
    first : int
        Number of trees that the forest already has.
    n_trees : int
        Number of trees to be added.
    work : str, default="building"
        What is done with a tree.
    unit : str, default="tree"
        What a tree is, if it is something else.
    """
    if verbose < 1:
        yield None
        return
    if verbose == 1:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            pass
        else:
            with tqdm(total=first + n_trees, initial=first, unit=unit) as bar:
                yield lambda done: bar.update(first + done - bar.n)
            return
    start = time.monotonic()
    shown = start

    def write_line(done: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if verbose > 1 or done == n_trees or now - shown >= _INTERVAL:
            shown = now
            line = f"{work} {unit} {first + done} of {first + n_trees}, {now - start:.1f} s\n"
            sys.stderr.write(line)

    yield write_line
