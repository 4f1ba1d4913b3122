"""Quantile forests of ours and of quantile-forest.

    python benches/peers/quantiles.py [--quick] [--repeats 3] [--large]

One thread. Fits of 100 trees to 15,000 rows of california, with all rows of the leaves and with
one, and three quantiles of 5,000 other rows and, out of bag, of the training rows. With `--large`
also 200,000 rows of nycflights, each package in a process of its own that reports its peak memory.
quantile-forest is optional: if it is not installed, that is said.
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable

import numpy as np

import spinney
from common import positive, print_versions, record, seconds
from real import load_numbers

SEED = 0
QUANTILES = [0.05, 0.5, 0.95]


def median_seconds(work: Callable[[], object], repeats: int) -> float:
    """Return the median of some runs."""
    return statistics.median(seconds(work) for _ in range(repeats))


def list_kinds() -> dict[str, type]:
    """Return the classes that are there."""
    kinds = {"spinney": spinney.RandomForestQuantileRegressor}
    if importlib.util.find_spec("quantile_forest") is None:
        print("skipped: quantile-forest is not installed")
    else:
        import quantile_forest

        kinds["quantile-forest"] = quantile_forest.RandomForestQuantileRegressor
    return kinds


def fit_large(who: str, n_train: int) -> None:
    """Print the seconds and the peak memory of a large forest; for a process of its own."""
    loaded = load_numbers("nycflights")
    if loaded is None:
        return
    X, y = loaded
    order = np.random.default_rng(SEED).permutation(len(y))
    train, query = order[:n_train], order[n_train : n_train + 5000]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    forest = list_kinds()[who](100, min_samples_leaf=5, max_samples_leaf=None, random_state=SEED)
    fit = seconds(lambda: forest.fit(X[train], y[train]))
    ask = seconds(lambda: forest.predict(X[query], QUANTILES))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"nycflights, {n_train} rows, {who}: fit {fit:.1f} s, 5000 rows {ask:.2f} s, "
        f"peak {peak / 2**20:.2f} GB, {(peak - before) / 2**20:.2f} GB of it after the data"
    )


def main() -> None:
    """Print a line for each piece of work."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--repeats", type=positive, default=3)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    print_versions()
    if arguments.only:
        fit_large(arguments.only, 20_000 if arguments.quick else 200_000)
        return
    kinds = list_kinds()
    if arguments.large:
        for who in kinds:
            options = ["--only", who, *(["--quick"] if arguments.quick else [])]
            done = subprocess.run([sys.executable, __file__, *options], check=False)
            if done.returncode:
                print(f"nycflights, {who}: ended with {done.returncode}")
    loaded = load_numbers("california")
    if loaded is None:
        return
    X, y = loaded
    n_train = 3000 if arguments.quick else 15_000
    train, query = X[:n_train], X[15_000:20_000]
    y = y[:n_train]
    for leaf in (1, 5):
        for kept in (1, None):
            forests = {
                who: kind(min_samples_leaf=leaf, max_samples_leaf=kept, random_state=SEED)
                for who, kind in kinds.items()
            }
            works = {
                "fit": lambda forest: forest.fit(train, y),
                "predict": lambda forest: forest.predict(query, QUANTILES),
                "out of bag": lambda forest: forest.predict(train, QUANTILES, oob_score=True),
            }
            for name, work in works.items():
                times = {
                    who: median_seconds(lambda: work(forest), arguments.repeats)  # noqa: B023
                    for who, forest in forests.items()
                }
                ratios = "".join(
                    f"  {who} {value:8.3f} ({value / times['spinney']:5.1f}x)"
                    for who, value in times.items()
                    if who != "spinney"
                )
                what = f"leaves of {leaf}, {'all' if kept is None else kept} kept, {name}"
                print(f"{what:40} spinney {times['spinney']:8.3f}{ratios}")
                record(what, times)
    rows = forests["spinney"]._leaf_rows
    arrays = (rows.rows, rows.counts, rows.firsts, rows.leaves)
    n_bytes = sum(array.nbytes for array in arrays if array is not None)
    print(f"rows of leaves: {n_bytes / n_train / 100:.2f} bytes for a row and tree")


if __name__ == "__main__":
    main()
