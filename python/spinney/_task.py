"""What the compiled part is to do with a matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney._draws import Draws


class Task(NamedTuple):
    """All that trees are a function of, beside the matrix; and how they are grown.

    Whoever makes one names the fields, and so does the compiled part when it reads them.
    """

    y: NDArray[np.uint32] | NDArray[np.float64]
    """Targets of shape (n_samples, n_outputs), in C order: classes if `n_classes` is given."""
    n_classes: list[int] | None
    """Number of classes of each output."""
    params: dict[str, Any]
    """Hyperparameters of the trees under scikit-learn's names."""
    estimator: str
    """What error messages about parameters call the estimator."""
    seed: int
    draws: Draws | None = None
    """On which rows each tree is grown, with their weights; None: on all, with a weight of 1."""
    n_trees: int = 1
    first_tree: int = 0
    """Number of the first tree: trees are functions of the seed and their numbers."""
    balanced_subsample: bool = False
    """Weigh the rows of each tree's sample such that its classes weigh the same."""
    n_categories: list[int] | None = None
    """Of each feature the number of its categories, 0 if it is numeric; None if all are.

    Values of a categorical feature are 0 to that number less one, or NaN.
    """
    n_threads: int = 1
    watcher: Callable[[int], Any] | None = None
    """Is called now and then with the number of trees that are done."""
