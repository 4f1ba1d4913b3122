"""How sure predictions are: intervals that hold, and quantiles along one feature.

python examples/intervals.py [picture.svg]
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from spinney import RandomForestQuantileRegressor
from spinney.conformal import ConformalizedQuantileRegressor
from spinney.plotting import plot_prediction_intervals, plot_quantile_fan


def main(picture: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((1600, 3))
    # The noise grows with the first feature.
    y = 6 * np.sin(3 * X[:, 0]) + 3 * X[:, 1] + rng.normal(scale=0.3 + 2 * X[:, 0])
    train, new = slice(0, 1500), slice(1500, 1600)
    forest = RandomForestQuantileRegressor(200, min_samples_leaf=10, random_state=0)
    model = ConformalizedQuantileRegressor(forest, confidence_level=0.9)
    model.fit_conformalize(X[train], y[train])
    _, intervals = model.predict_interval(X[new])
    inside = (intervals[:, 0, 0] <= y[new]) & (y[new] <= intervals[:, 1, 0])
    print(f"{inside.sum()} of 100 new values are inside")

    plt.rcParams["svg.fonttype"] = "none"
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    plot_prediction_intervals(model, X[new], y[new], ax=left)
    plot_quantile_fan(model.estimator_, X[train], 0, ax=right)
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "intervals.svg")
