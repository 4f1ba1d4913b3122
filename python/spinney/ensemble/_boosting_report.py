"""What boosting prints with `verbose`: the table that scikit-learn prints."""

from __future__ import annotations

import time
from typing import Any


class VerboseReporter:
    """Prints losses and the time that is left, at the first rounds and then ever more rarely.

    Parameters
    ----------
    verbose : int
        1: after every round, then after every ten, hundred and so on. More: after every round.
    model : estimator
    first : int
        The number of rounds that there are.
    """

    def __init__(self, verbose: int, model: Any, first: int) -> None:
        self._verbose, self._first, self._every = verbose, first, 1
        self._started = time.monotonic()
        self._has_bags = model.subsample < 1.0
        columns = ["Train Loss", *(["OOB Improve"] if self._has_bags else []), "Remaining Time"]
        print(f"{'Iter':>10} " + " ".join(f"{name:>16}" for name in columns))  # noqa: T201

    def update(self, i: int, model: Any) -> None:
        """Tell of round `i`, if it is its turn."""
        n = i + 1 - self._first
        if n % self._every:
            return
        numbers = [model.train_score_[i], *([model.oob_improvement_[i]] if self._has_bags else [])]
        left = (model.n_estimators - (i + 1)) * (time.monotonic() - self._started) / n
        shown = f"{left / 60.0:.2f}m" if left > 60.0 else f"{left:.2f}s"
        print(  # noqa: T201
            f"{i + 1:>10d} " + " ".join(f"{number:>16.4f}" for number in numbers) + f" {shown:>16}"
        )
        if self._verbose == 1 and n // (self._every * 10) > 0:
            self._every *= 10
