"""Boosting of several quantiles: rounds of each level, over samples that are encoded once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney._fit.task import Task
from spinney._spinney import Columns, Forest, Rounds
from spinney.ensemble._losses import Loss


def make_rounds(
    matrix: Any,
    task: Task,
    loss: Loss,
    way: Any,
    start: NDArray[np.float64],
    sums: NDArray[np.float64],
    trees: Forest | None,
) -> Rounds | RoundsOfLevels:
    """Return the state of boosting; see `Rounds` of the compiled part."""
    if loss.levels is None:
        return Rounds(matrix, task, loss.key, way, start, sums, trees)
    return RoundsOfLevels(matrix, task, loss, way, start, sums)


class RoundsOfLevels:
    """What `Rounds` is to one loss, for several levels of quantiles.

    Levels do not know of each other: each grows the trees that it would grow alone.
    """

    def __init__(
        self,
        matrix: Any,
        task: Task,
        loss: Loss,
        way: Any,
        start: NDArray[np.float64],
        sums: NDArray[np.float64],
    ) -> None:
        columns = matrix
        if not isinstance(matrix, Columns):
            columns = Columns(matrix, task.n_categories, task.n_threads)
        self._each = [
            Rounds(columns, task, part.key, way, start[:, [i]], sums[:, [i]])
            for i, part in enumerate(loss.parts)
        ]
        first = self._each[0]
        self.max_features, self.with_missing = first.max_features, first.with_missing
        self.delta = first.delta

    def advance(
        self,
        seeds: NDArray[np.uint64],
        uniform: NDArray[np.float64] | None,
        n_in_bag: int,
        has_losses: bool,
    ) -> NDArray[np.float64]:
        """Grow some rounds of each level; return mean losses, of shape (n_rounds, 3)."""
        losses = [rounds.advance(seeds, uniform, n_in_bag, has_losses) for rounds in self._each]
        means: NDArray[np.float64] = np.mean(losses, axis=0)
        return means

    def take_trees(self) -> Forest:
        """Return the new trees: round by round, with those of each level in turn."""
        by_level = join([rounds.take_trees() for rounds in self._each])
        n_trees = len(by_level)
        n_rounds = n_trees // len(self._each)
        return join([by_level.part(i, n_trees, n_rounds) for i in range(n_rounds)])


def join(forests: list[Forest]) -> Forest:
    """Return the trees of all forests, one after the other.

    Halves are joined first: each tree is then handed on a few times, not once for each forest.
    """
    if len(forests) == 1:
        return forests[0]
    middle = len(forests) // 2
    return join(forests[:middle]).extended(join(forests[middle:]))
