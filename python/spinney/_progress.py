"""How far a fit is, for `verbose`: a bar of tqdm's if it is installed, else lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Seconds between two lines, unless every one is wanted.
_INTERVAL = 1.0


@contextmanager
def progress(verbose: int, first: int, n_trees: int) -> Iterator[Callable[[int], None] | None]:
    """Yield what is to be called with the number of grown trees; None if nothing is to be shown.

    Parameters
    ----------
    verbose : int
        0: nothing. 1: a bar, or a line per second. More: a line for every step that is seen.
    first : int
        Trees that the forest has already.
    n_trees : int
        Trees that it gets.
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
            with tqdm(total=first + n_trees, initial=first, unit="tree") as bar:
                yield lambda done: bar.update(first + done - bar.n)
            return
    start = time.monotonic()
    shown = start

    def write_line(done: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if verbose > 1 or done == n_trees or now - shown >= _INTERVAL:
            shown = now
            line = f"building tree {first + done} of {first + n_trees}, {now - start:.1f} s\n"
            sys.stderr.write(line)

    yield write_line
