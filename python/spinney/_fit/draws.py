"""The samples that the trees of a forest are grown on."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney._common.messages import warn_caller
from spinney._fit.tree_samples import TreeSamples
from spinney._spinney import list_drawn_rows, mark_unseen

# A float as `max_samples` that leads to fewer draws than this, or than the cube root of the number
# of samples, is warned about, as in scikit-learn.
_FEW_DRAWS = 10
# A number that is as near to a whole number, relative to itself, is meant to be one.
_ROUNDING = 1e-12


class Strata(NamedTuple):
    """How many samples of each stratum a tree gets. The strata are the classes.

    The compiled part reads these fields.
    """

    of_row: NDArray[np.uint32]
    """The stratum of each sample."""
    n_draws: list[int | None]
    """Draws of each stratum per tree; None means all of its samples, once."""
    replace: bool
    """Whether a sample may be drawn several times."""
    n_draws_again: int | None
    """Draws with replacement from what was drawn; None means that all of it is used."""

    def is_sound(self, n_samples: int) -> bool:
        """Return whether the fields, which may come from a file, are what they are said to be."""
        counts = [n for n in (*self.n_draws, self.n_draws_again) if n is not None]
        return (
            self.of_row.dtype == np.uint32
            and self.of_row.shape == (n_samples,)
            and bool(np.all(self.of_row < len(self.n_draws)))
            and all(type(n) is int and 0 <= n < 2**32 for n in counts)
            and type(self.replace) is bool
        )


class Subforests(NamedTuple):
    """Which trees draw from the same half of the samples. The compiled part reads these fields."""

    tree_seeds: NDArray[np.uint64]
    """The seeds of all trees, in their order."""
    size: int
    """How many trees, one after the other, share a half."""

    def is_sound(self) -> bool:
        """Return whether the fields, which may come from a file, are what they are said to be."""
        seeds: Any = self.tree_seeds
        is_array = isinstance(seeds, np.ndarray) and seeds.dtype == np.uint64 and seeds.ndim == 1
        return is_array and type(self.size) is int and 0 < self.size < 2**63

    def is_alike(self, other: Subforests) -> bool:
        """Return whether trees that both have share the same halves."""
        n_common = min(self.tree_seeds.shape[0], other.tree_seeds.shape[0])
        return self.size == other.size and np.array_equal(
            self.tree_seeds[:n_common], other.tree_seeds[:n_common]
        )


class UnseenTrees:
    """Which trees have not seen each of some samples, a bit for each sample and tree.

    Parameters
    ----------
    bits : ndarray of shape (n_samples, n_bytes), uint8
        Eight trees in a byte, the first one in its lowest bit.
    n_trees : int
    """

    def __init__(self, bits: NDArray[np.uint8], n_trees: int) -> None:
        self.bits = bits
        self.n_trees = n_trees

    def of_rows(self, rows: tuple[int, int]) -> NDArray[np.uint8]:
        """Return, of shape (n_rows, n_trees), 1 where a tree has not seen a sample, else 0.

        `rows` are the first sample, and the end of the samples.
        """
        own = self.bits[rows[0] : rows[1]]
        return np.unpackbits(own, axis=1, count=self.n_trees, bitorder="little")

    def count_seen(self) -> int:
        """Return how many samples all trees have seen."""
        return int(np.count_nonzero(~self.bits.any(axis=1)))

    def take(self, rows: NDArray[np.int64]) -> UnseenTrees:
        """Return which trees have not seen samples with these numbers; none has seen number -1."""
        bits = self.bits[rows]
        bits[rows < 0] = np.packbits(np.ones(self.n_trees, dtype=bool), bitorder="little")
        return UnseenTrees(bits, self.n_trees)

    def join(self, group: list[int]) -> None:
        """Make a tree that has seen one of these samples have seen all of them."""
        self.bits[group] = np.bitwise_and.reduce(self.bits[group], axis=0)


class Draws(NamedTuple):
    """How samples are drawn: together with the seed of a tree this determines the tree's sample.

    The compiled part reads these fields.
    """

    scheme: str
    """"all", "with replacement", "without replacement", "poisson", "distinct", "strata", "given",
    "groups with replacement", "groups without replacement" or "halves".

    "distinct" draws without replacement, and weights are chances."""
    n_samples: int
    n_outputs: int
    n_draws: int | None
    """Draws per tree with or without replacement; None means one per sample."""
    sample_weight: NDArray[np.float64] | None
    """Weights of the samples, multiplied by the weights of their classes."""
    sample_ids: NDArray[np.uint64] | None
    strata: Strata | None = None
    """For the scheme "strata"."""
    given: TreeSamples | None = None
    """For the scheme "given"."""
    honest_fraction: float | None = None
    """The share of a tree's samples that choose its splits; None: all do, and all fill leaves."""
    groups: NDArray[np.uint32] | None = None
    """The number of the group of each sample, if groups are drawn, and divided, as a whole."""
    subforests: Subforests | None = None
    """For the scheme "halves"."""

    def copy_arrays(self, *, keep_weights: bool) -> Draws:
        """Return draws whose arrays are copies, so that a caller may write to the originals.

        Parameters
        ----------
        keep_weights : bool
            Whether to keep the weights of the scheme "all", in which no draw depends on them, and
            no part of an honest tree either.
        """
        depends = self.scheme != "all" or self.honest_fraction is not None
        weights = self.sample_weight if keep_weights or depends else None
        ids = self.sample_ids if self.scheme == "poisson" else None
        return self._replace(
            sample_weight=None if weights is None else weights.copy(),
            sample_ids=None if ids is None else ids.copy(),
            groups=None if self.groups is None else self.groups.copy(),
        )

    def is_sound(self) -> bool:
        """Return whether the fields, which may come from a file, are what they are said to be."""
        schemes = (
            "all",
            "with replacement",
            "without replacement",
            "poisson",
            "distinct",
            "strata",
            "given",
            "groups with replacement",
            "groups without replacement",
            "halves",
        )
        counts = [self.n_samples, self.n_outputs, 0 if self.n_draws is None else self.n_draws]
        weights, ids = self.sample_weight, self.sample_ids
        is_of_rows = all(
            array is None or array.shape == (self.n_samples,) for array in (weights, ids)
        )
        return (
            self.scheme in schemes
            and all(type(count) is int and 0 <= count < 2**63 for count in counts)
            and is_of_rows
            and (weights is None or (weights.dtype == np.float64 and bool(np.all(weights >= 0))))
            and (ids is None or ids.dtype == np.uint64)
            and (self.scheme == "strata") == (self.strata is not None)
            and (self.strata is None or self.strata.is_sound(self.n_samples))
            and (self.scheme == "given") == (self.given is not None)
            and (self.given is None or self.given.is_sound())
            and (self.honest_fraction is None or 0.0 < self.honest_fraction < 1.0)
            and (self.scheme == "halves") == (self.subforests is not None)
            and (self.subforests is None or self.subforests.is_sound())
            and (not self.scheme.startswith("groups") or self.groups is not None)
            and (
                self.groups is None
                or (
                    self.groups.dtype == np.uint32
                    and self.groups.shape == (self.n_samples,)
                    and bool(np.all(self.groups < self.n_samples))
                )
            )
        )

    @property
    def draws_by_weight(self) -> bool:
        """Whether weights are chances of draws, and no weights of the rows of a tree besides."""
        return self.scheme in ("with replacement", "distinct")

    def list_rows(self, seeds: list[int], n_threads: int) -> list[NDArray[Any]]:
        """Return the rows of each tree, sorted. A row that was drawn k times is listed k times."""
        dtype = np.int32 if self.n_samples <= np.iinfo(np.int32).max else np.int64
        if self.given is not None:
            # Trees of other data may have rows beyond `n_samples`.
            return [rows.astype(dtype) for rows in self.given.list_rows(seeds)]
        if self.scheme == "all":
            return [np.arange(self.n_samples, dtype=dtype) for _ in seeds]
        return [rows.astype(dtype) for rows in list_drawn_rows(self, seeds, n_threads)]

    def list_filling_rows(self, seeds: list[int], n_threads: int) -> list[NDArray[Any]]:
        """Return the rows that fill the leaves of each tree, as `list_rows` does."""
        if self.honest_fraction is None:
            return self.list_rows(seeds, n_threads)
        return list_drawn_rows(self, seeds, n_threads, only_filling=True)

    def mark_unseen(self, seeds: list[int], n_threads: int) -> UnseenTrees:
        """Return which of the trees with these seeds have not seen each sample."""
        return UnseenTrees(mark_unseen(self, seeds, n_threads), len(seeds))


class Growth(NamedTuple):
    """What an estimator of a tree of a forest needs besides the tree and its seed."""

    params: dict[str, Any]
    """Parameters of the estimator, without `random_state`."""
    max_features: int
    """Number of features that each node drew."""
    with_missing: NDArray[np.int64]
    """The features that had missing values in training."""


def mend_rounding(number: float) -> float:
    """Return a product or ratio; the whole number that it was before it was rounded, if any."""
    whole = round(number)
    return whole if abs(number - whole) <= _ROUNDING * abs(number) else number


def count_draws_with_replacement(
    max_samples: Any, n_samples: int, weights: NDArray[np.float64] | None
) -> int:
    """Return the number of draws per tree with replacement.

    A float is a fraction of the total weight, as in scikit-learn 1.9, so that a sample with weight
    k counts like k samples.
    """
    if max_samples is None:
        return n_samples
    if isinstance(max_samples, Integral):
        return int(max_samples)
    # Weights that balance classes are ratios of numbers of samples: rounding must not cost a draw.
    total = n_samples if weights is None else mend_rounding(float(weights.sum()))
    # Rounded as in scikit-learn, also where 0.29 * 100 is less than 29.
    n_draws = max(int(max_samples * total), 1)
    if n_draws < max(_FEW_DRAWS, n_samples ** (1 / 3)):
        whole = "number of samples" if weights is None else "total sum of sample weights"
        warn_caller(
            f"Using the fractional value {max_samples=} when the {whole} is {total} results in a "
            f"low number ({n_draws}) of bootstrap samples. We recommend passing `max_samples` as "
            "an integer instead."
        )
    return n_draws


def count_draws_without_replacement(
    max_samples: Any, n_samples: int, weights: NDArray[np.float64] | None
) -> int | None:
    """Return the number of draws per tree without replacement; None means one per sample.

    A float is a fraction of the number of samples with a positive weight.
    """
    if max_samples is None or isinstance(max_samples, Integral):
        return None if max_samples is None else int(max_samples)
    n_positive = n_samples if weights is None else int(np.count_nonzero(weights))
    return max(int(mend_rounding(max_samples * n_positive)), 1)
