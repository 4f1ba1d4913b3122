"""One deep tree over all features, on one thread and on several."""

from __future__ import annotations

import argparse
import sys

import spinney
from common import positive, print_versions, record, same_bits, time_interleaved
from table1 import ROWS, make_data

# Rows of Table I: long chains, and bushier trees.
SHOWN = (3, 6, 9, 10, 11)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=positive, default=2, help="threads (default: 2)")
    parser.add_argument("--repeats", type=positive, default=5, help="runs of each (default: 5)")
    arguments = parser.parse_args()

    print(f"One tree, all features, fully grown: 1 thread and {arguments.jobs}")
    print_versions(arguments.jobs)
    heads = f"{'1 thread':>12}{'threads':>12}{'ratio':>8}{'same tree':>11}"
    print(f"{'n':>8}{'d':>6}{'density':>9}" + heads)
    all_same = True
    for number in SHOWN:
        n_samples, n_features, density = ROWS[number - 1]
        X, y = make_data(n_samples, n_features, density)

        def fit(n_jobs, X=X, y=y):
            return spinney.DecisionTreeClassifier(random_state=0, n_jobs=n_jobs).fit(X, y)

        timings = time_interleaved(
            {"one": lambda fit=fit: fit(1), "many": lambda fit=fit: fit(arguments.jobs)},
            arguments.repeats,
        )
        one, many = timings["one"], timings["many"]
        same = same_bits(one.model.tree_, many.model.tree_)
        record(
            f"one tree, random {n_samples} x {n_features}, density {density}, "
            f"{arguments.jobs} threads",
            {"spinney": many.median, "spinney, one thread": one.median},
        )
        all_same &= same
        print(
            f"{n_samples:>8}{n_features:>6}{density:>9}{one.median:>10.3f} s{many.median:>10.3f} s"
            f"{one.median / many.median:>8.2f}{'yes' if same else 'NO':>11}",
            flush=True,
        )
    if not all_same:
        print("error: the number of threads shows in the tree", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
