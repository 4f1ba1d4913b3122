"""AdaBoost of ours and of scikit-learn: 200 stumps, and 50 trees of depth 3.

    python benches/peers/adaboost.py [--quick] [--repeats 3] [--sets california adult ...]

One thread. Times are medians of runs that take turns, in milliseconds a round, encoding included:
rounds of numbers end where the mean loss is half of the largest one, which a tie between two cuts
can move. The last figures say how many rounds there are, in how many of them both make the same
errors, and the share of the training rows for which the final predictions differ.
"""

from __future__ import annotations

import argparse

import numpy as np
import scipy.sparse as sp
import sklearn.ensemble
import sklearn.tree

import spinney
from boosting import LOADERS
from common import positive, print_versions, record, time_interleaved
from data_sets import find_data
from real import SETS

# Depth of the trees, and how many.
PLANS = {1: 200, 3: 50}
# A tenth of the rounds on sparse matrices, where scikit-learn takes a second for one.
SPARSE_SHARE = 10


def make(module: object, kind: str, depth: int, rounds: int) -> object:
    """Return a model of a package, not fitted."""
    trees, boosting = (spinney, spinney) if module is spinney else (sklearn.tree, sklearn.ensemble)
    tree = getattr(trees, f"DecisionTree{kind}")(max_depth=depth)
    return getattr(boosting, f"AdaBoost{kind}")(tree, n_estimators=rounds, random_state=0)


def compare(name: str, depth: int, rounds: int, repeats: int) -> None:
    X, y, kind = LOADERS[name]()
    rounds = max(2, rounds // SPARSE_SHARE) if sp.issparse(X) else rounds
    works = {
        who: lambda module=module: make(module, kind, depth, rounds).fit(X, y)
        for who, module in (("spinney", spinney), ("scikit-learn", sklearn))
    }
    timings = time_interleaved(works, repeats)
    models = [timing.model for timing in timings.values()]
    a_round = {
        who: timing.median / len(timing.model.estimators_) for who, timing in timings.items()
    }
    ours, theirs = a_round.values()
    errors = [model.estimator_errors_ for model in models]
    n_equal = np.count_nonzero(np.isclose(*errors, rtol=1e-9) & (errors[0] < 1.0))
    rows = X[:5000]
    differ = np.mean(~np.isclose(*(model.predict(rows).astype(float) for model in models)))
    print(
        f"{name:14} depth {depth}: ms a round, spinney {1e3 * ours:8.2f}  scikit-learn "
        f"{1e3 * theirs:8.2f} ({theirs / ours:5.1f}x)  {len(models[0].estimators_)} rounds, "
        f"{n_equal} with equal errors; predictions differ for {differ:.1%}"
    )
    record(f"adaboost, {name}: depth {depth}", a_round)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rounds, once")
    parser.add_argument("--repeats", type=positive, default=3)
    sets = ("california", "adult", "20 newsgroups")
    parser.add_argument("--sets", nargs="+", choices=LOADERS, default=sets)
    arguments = parser.parse_args()
    print_versions()
    for name in arguments.sets:
        if name in SETS and not find_data(SETS[name][0]).exists():
            print(f"skipped: {name} is not there")
            continue
        for depth, rounds in PLANS.items():
            if arguments.quick:
                compare(name, depth, rounds // 10, 1)
            else:
                compare(name, depth, rounds, arguments.repeats)


if __name__ == "__main__":
    main()
