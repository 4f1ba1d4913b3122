"""One full regression tree by absolute error, and by a quantile, against scikit-learn's."""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np
import sklearn.tree
from sklearn.datasets import make_friedman1

import spinney
from common import mean_depth, print_versions, record_timings, time_interleaved

N_FEATURES = 10


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000, help="training rows (default: 50000)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each (default: 3)")
    arguments = parser.parse_args()
    if min(arguments.rows, arguments.repeats) < 1:
        parser.error("--rows and --repeats must be at least 1")
    # That the leaves of a full tree are too small for a quantile is known.
    warnings.simplefilter("ignore", UserWarning)

    n_samples = arguments.rows
    X, y = make_friedman1(2 * n_samples, N_FEATURES, noise=1.0, random_state=0)
    X = X.astype(np.float32)
    train, test = slice(n_samples), slice(n_samples, None)
    rng = np.random.default_rng(0)
    weights = {
        "none": None,
        "bootstrap": np.bincount(rng.integers(n_samples, size=n_samples), minlength=n_samples),
        "fractional": rng.exponential(size=n_samples),
    }

    print(f"One tree, friedman1, {n_samples} x {N_FEATURES}, fully grown; ratios to ours")
    print_versions()
    heads = f"{'ours':>10}{'sklearn':>11}{'ratio':>7}{'to variance':>13}{'ns/cell/level':>15}"
    print(f"{'criterion':<16}{'weights':<12}{heads}{'error':>9}{'sklearn':>9}")
    for criterion in ("absolute_error", "quantile"):
        for kind, weight in weights.items():

            def fit(module, criterion=criterion, weight=weight, **params):
                tree = module.DecisionTreeRegressor(criterion=criterion, random_state=0, **params)
                return tree.fit(X[train], y[train], sample_weight=weight)

            contenders = {
                "ours": lambda fit=fit: fit(spinney),
                "variance": lambda fit=fit: fit(spinney, "squared_error"),
            }
            if criterion == "absolute_error":
                contenders["theirs"] = lambda fit=fit: fit(sklearn.tree)
            else:
                contenders["ours"] = lambda fit=fit: fit(spinney, quantile=0.9)
            timings = time_interleaved(contenders, arguments.repeats)

            def error(name, timings=timings):
                return np.abs(timings[name].model.predict(X[test]) - y[test]).mean()

            ours = timings["ours"]
            seconds, ratio, their_error = "-", "-", "-"
            if "theirs" in timings:
                seconds = f"{timings['theirs'].median:.2f} s"
                ratio = f"{timings['theirs'].median / ours.median:.1f}"
                their_error = f"{error('theirs'):.3f}"
                record_timings(
                    f"one tree by absolute error, {n_samples} x {N_FEATURES}, weights: {kind}",
                    {"spinney": ours, "scikit-learn": timings["theirs"]},
                    {"spinney": error("ours"), "scikit-learn": error("theirs")},
                )
            cells = n_samples * N_FEATURES * mean_depth(ours.model.tree_)
            print(
                f"{criterion:<16}{kind:<12}{ours.median:>8.3f} s{seconds:>11}{ratio:>7}"
                f"{ours.median / timings['variance'].median:>13.1f}"
                f"{ours.median * 1e9 / cells:>15.1f}{error('ours'):>9.3f}{their_error:>9}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
