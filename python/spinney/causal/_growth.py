"""How the trees of a causal forest are grown and filled: some at a time, here or by workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney._cluster.growth import Workers, grow
from spinney._cluster.job import ForestJob
from spinney._data.arrays import to_rows
from spinney._fit.draws import Draws
from spinney._fit.task import Task
from spinney._fit.tree_samples import TreeSamples
from spinney._spinney import Forest, fill_leaves, list_tree_seeds
from spinney.causal._bags import LittleBags, draw_batch
from spinney.causal._moments import N_MOMENTS, N_MOMENTS_OF_INSTRUMENTS, find_effects
from spinney.dataset import Dataset

# The sum of the squares of treatments as integers: sums of such weights times targets are narrow.
_TOTAL = 2.0**30
# Cells of rows and trees whose draws are held at once.
_DRAWS_AT_ONCE = 2**21


class Source(NamedTuple):
    """The rows that trees are grown on, and who grows them."""

    columns: Any
    """Encoded."""
    dataset: Dataset | None
    """The same, for workers."""
    workers: Workers | None
    """None: threads of this process."""

    def grow(self, task: Task, draws: Draws, first: int, n_trees: int) -> tuple[Forest, int]:
        """Return the trees with the numbers from `first` on, and how many features nodes draw."""
        if self.workers is None or self.dataset is None:
            return task.grow_forest(self.columns, draws, first, n_trees, None)[:2]
        job = ForestJob(self.dataset, task._replace(draws=draws))
        return grow(self.workers, job, first, n_trees, None)[:2]


class Centred(NamedTuple):
    """Treatments and outcomes less what was expected of them, and weights: one for each row."""

    treatments: NDArray[np.float64]
    outcomes: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    instruments: NDArray[np.float64] | None = None
    """Less what was expected; None: the treatments."""

    def make_target(self, criterion: str) -> tuple[NDArray[np.float64], Any]:
        """Return the targets, of shape (n_samples, n_outputs), and the weights of the trees."""
        return self._label() if criterion == "het" else self._divide()

    def _label(self) -> tuple[NDArray[np.float64], Any]:
        """Return outcomes, treatments, and the labels of the root, which order categories."""
        w, y, z = self.treatments, self.outcomes, self.instruments
        s = np.ones(len(w)) if self.weights is None else self.weights
        given = [y, w] if z is None else [y, w, z]
        w, y, *others = (part - np.average(part, weights=s) for part in (w, y, *given[2:]))
        z = others[0] if others else w
        _check_spread(np.ptp(w) > 0)
        spread = s @ (z * w)
        labels = z * (y - (s @ (z * y) / spread * w if spread != 0 else 0.0))
        return np.column_stack([*given, labels]), self.weights

    def fill(self, grown: Forest, rows: Any, filling: TreeSamples, n_threads: int) -> Forest:
        """Return trees whose leaves predict the moments of the rows that fill them."""

        def fill(treatments: Any, outcomes: Any) -> Forest:
            given = (treatments, outcomes, self.weights)
            return fill_leaves(grown, rows, given, filling.starts, filling.rows, n_threads)

        if self.instruments is None:
            return fill(self.treatments, self.outcomes)
        # The moments of two regressions on the instrument: of outcomes, and of treatments.
        pair = [fill(self.instruments, values) for values in (self.outcomes, self.treatments)]
        trees = []
        for number in range(len(grown)):
            tree, other = (forest.tree(number) for forest in pair)
            of_outcomes, of_treatments = (
                one.value.reshape(tree.node_count, N_MOMENTS) for one in (tree, other)
            )
            s, z, y, zy, _ = of_outcomes.T
            _, _, w, zw, _ = of_treatments.T
            trees.append(tree.with_values(np.column_stack([s, w, y, zy, zw, z])))
        return Forest(trees, grown.seeds)

    def _divide(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the targets of the regression trees that lower the R-loss, and their weights."""
        w, y = self.treatments, self.outcomes
        s = np.ones(len(w)) if self.weights is None else self.weights
        largest = np.abs(w).max()
        _check_spread(largest > 0)
        w = w / largest
        # Squares are rounded to integers, and products of treatments and outcomes are kept.
        unit = s @ (w * w) / _TOTAL
        squares = np.rint(w * w / unit)
        quotients = np.divide(w * y, squares * unit, out=np.zeros(len(w)), where=squares > 0)
        return quotients.reshape(-1, 1), squares * s


def _check_spread(is_any: Any) -> None:
    if not is_any:
        raise ValueError("T must vary beyond what model_t expects. All treatments are as expected.")


class Filled(NamedTuple):
    """A forest that predicts moments."""

    forest: Forest
    max_features: int
    oob_effects: NDArray[np.float64]
    """NaN for rows that no tree has left out."""


def grow_filled(
    source: Source,
    task: Task,
    bags: LittleBags,
    data: Centred,
    n_trees: int,
    report: Callable[[int], None] | None,
) -> Filled:
    """Grow trees on one part of their rows, and fill their leaves by the other part."""
    targets, weights = data.make_target(task.params["criterion"])
    (n_samples, n_outputs), rows = targets.shape, to_rows(source.columns)
    task = task._replace(y=np.ascontiguousarray(targets))
    forest: Forest | None = None
    max_features = 0
    n_moments = N_MOMENTS if data.instruments is None else N_MOMENTS_OF_INSTRUMENTS
    sums, n_unseen = np.zeros((n_samples, n_moments)), np.zeros(n_samples)
    # Each tree is the work of one thread.
    step = max(4 * task.n_threads, _DRAWS_AT_ONCE // n_samples)
    for first in range(0, n_trees, step):
        n_new = min(step, n_trees - first)
        batch = draw_batch(bags, first, list_tree_seeds(task.seed, first, n_new))
        draws = Draws("given", n_samples, n_outputs, None, weights, None, given=batch.growing)
        grown, max_features = source.grow(task, draws, first, n_new)
        own = data.fill(grown, rows, batch.filling, task.n_threads)
        means, n_of_row = own.predict_counted(rows, batch.unseen, task.n_threads)
        is_any = n_of_row > 0
        sums[is_any] += means[is_any] * n_of_row[is_any, None]
        n_unseen += n_of_row
        # What the prediction has made takes as much memory as the trees.
        own = own.afresh()
        forest = own if forest is None else forest.extended(own)
        if report is not None:
            report(first + n_new)
    assert forest is not None
    n_unseen[bags.units.groups < 0] = 0
    with np.errstate(divide="ignore", invalid="ignore"):
        effects = find_effects(sums / n_unseen[:, None])
    return Filled(forest, max_features, effects)
