"""Fit time of one fully grown classification tree on random matrices, sparse and dense.

The twelve shapes and densities are those of Table I of the work that brought sparse input to
scikit-learn's trees. Matrices come from `scipy.sparse.random` with a fixed seed, values uniform
float32, labels random and binary, so every tree is grown until its leaves are pure. All contenders
get float32 and, if sparse, CSC, hence no one pays for a conversion. Dense is C order.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import sklearn.tree

import spinney
from common import (
    Timing,
    geometric_mean,
    positive,
    print_versions,
    record_timings,
    same_bits,
    time_interleaved,
)

# (n_samples, n_features, density), in the order of the original table.
ROWS = (
    (10_000, 1000, 0.01),
    (100_000, 100, 0.01),
    (100_000, 1000, 0.01),
    (10_000, 1000, 0.05),
    (100_000, 100, 0.05),
    (100_000, 1000, 0.05),
    (10_000, 1000, 0.1),
    (100_000, 100, 0.1),
    (100_000, 1000, 0.1),
    (10_000, 1000, 0.5),
    (100_000, 100, 0.5),
    (100_000, 1000, 0.5),
)
QUICK_ROWS = 8
SEED = 20
# Columns drawn at once: bounds the scratch memory of scipy.sparse.random, which holds every
# candidate cell.
BLOCK_COLUMNS = 100

SPINNEY_SPARSE, SPINNEY_DENSE = "spinney sparse", "spinney dense"
SKLEARN_SPARSE, SKLEARN_DENSE = "sklearn sparse", "sklearn dense"


@dataclass(frozen=True)
class Ratio:
    """How many times longer `slow` takes than `fast`."""

    title: str
    slow: str
    fast: str


RATIOS = (
    Ratio("skl/spi sparse", SKLEARN_SPARSE, SPINNEY_SPARSE),
    Ratio("skl/spi dense", SKLEARN_DENSE, SPINNEY_DENSE),
    Ratio("spi dense/sparse", SPINNEY_DENSE, SPINNEY_SPARSE),
)


def make_data(n_samples: int, n_features: int, density: float) -> tuple[sp.csc_matrix, np.ndarray]:
    rng = np.random.default_rng(SEED)
    blocks = [
        sp.random(
            n_samples,
            min(BLOCK_COLUMNS, n_features - start),
            density,
            format="csc",
            dtype=np.float32,
            random_state=rng,
        )
        for start in range(0, n_features, BLOCK_COLUMNS)
    ]
    X = sp.csc_matrix(sp.hstack(blocks, format="csc"))
    X.sort_indices()
    return X, rng.integers(0, 2, size=n_samples)


def make_contenders(
    X: sp.csc_matrix, y: np.ndarray, dense_peer: bool
) -> dict[str, Callable[[], object]]:
    dense = X.toarray(order="C")

    def spinney_fit(matrix):
        return spinney.DecisionTreeClassifier(random_state=0, n_jobs=1).fit(matrix, y)

    def sklearn_fit(matrix):
        return sklearn.tree.DecisionTreeClassifier(random_state=0).fit(matrix, y)

    contenders = {
        SPINNEY_SPARSE: lambda: spinney_fit(X),
        SPINNEY_DENSE: lambda: spinney_fit(dense),
        SKLEARN_SPARSE: lambda: sklearn_fit(X),
    }
    if dense_peer:
        contenders[SKLEARN_DENSE] = lambda: sklearn_fit(dense)
    return contenders


def parse_rows(text: str, n_rows: int = len(ROWS)) -> list[int]:
    """Row numbers from a list such as ``1,4-6``; the first row is 1."""
    numbers: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        try:
            numbers.extend(range(int(first), int(last or first) + 1))
        except ValueError:
            raise argparse.ArgumentTypeError(f"{part!r} is not a number or a range") from None
    if not numbers or min(numbers) < 1 or max(numbers) > n_rows:
        raise argparse.ArgumentTypeError(f"rows are 1 to {n_rows}, got {text!r}")
    return numbers


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"the first {QUICK_ROWS} rows only")
    parser.add_argument("--rows", type=parse_rows, help="these rows only, e.g. 1,4-6")
    parser.add_argument(
        "--repeats",
        type=positive,
        default=3,
        help="runs per contender, of which the median counts; slow ones run once (default: 3)",
    )
    parser.add_argument(
        "--skip-dense-peer", action="store_true", help="leave out scikit-learn on dense input"
    )
    arguments = parser.parse_args()
    if arguments.rows is None:
        arguments.rows = list(range(1, (QUICK_ROWS if arguments.quick else len(ROWS)) + 1))
    return arguments


def header(names: list[str], ratios: list[Ratio]) -> str:
    cells = [f"{'row':>3}{'n':>8}{'d':>6}{'density':>9}"]
    cells += [f"{name:>16}" for name in names]
    cells += [f"{ratio.title:>18}" for ratio in ratios]
    return "".join([*cells, f"{'nodes':>8}{'same tree':>11}"])


def line(
    number: int, timings: dict[str, Timing], ratios: dict[Ratio, float], nodes: int, same: bool
) -> str:
    n_samples, n_features, density = ROWS[number - 1]
    cells = [f"{number:>3}{n_samples:>8}{n_features:>6}{density:>9}"]
    cells += [f"{timing.median:>10.3f} s x{len(timing.seconds):<2}" for timing in timings.values()]
    cells += [f"{value:>18.2f}" for value in ratios.values()]
    return "".join([*cells, f"{nodes:>8}{'yes' if same else 'NO':>11}"])


def main() -> int:
    arguments = parse_arguments()
    dense_peer = not arguments.skip_dense_peer
    ratios = [ratio for ratio in RATIOS if dense_peer or ratio.slow != SKLEARN_DENSE]
    names = [SPINNEY_SPARSE, SPINNEY_DENSE, SKLEARN_SPARSE] + [SKLEARN_DENSE] * dense_peer

    print("Table I: one tree, fully grown; median seconds x number of runs")
    print_versions()
    print(header(names, ratios), flush=True)
    seen: dict[Ratio, list[float]] = {ratio: [] for ratio in ratios}
    all_same = True
    for number in arguments.rows:
        X, y = make_data(*ROWS[number - 1])
        timings = time_interleaved(make_contenders(X, y, dense_peer), arguments.repeats)
        n_samples, n_features, density = ROWS[number - 1]
        record_timings(f"one tree, random {n_samples} x {n_features}, density {density}", timings)
        row = {r: timings[r.slow].median / timings[r.fast].median for r in ratios}
        for ratio, value in row.items():
            seen[ratio].append(value)
        sparse, dense = timings[SPINNEY_SPARSE].model.tree_, timings[SPINNEY_DENSE].model.tree_
        same = same_bits(sparse, dense)
        all_same &= same
        print(line(number, timings, row, sparse.node_count, same), flush=True)

    for ratio, values in seen.items():
        print(
            f"{ratio.slow} / {ratio.fast}: minimum {min(values):.2f}, "
            f"geometric mean {geometric_mean(values):.2f}"
        )
    if not all_same:
        print("error: spinney's sparse and dense trees differ", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
