"""Medians and quantiles: outliers do no harm, and an interval says how sure a prediction is.

python examples/medians.py [picture.svg]
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from spinney import RandomForestRegressor


def make_data(n_rows: int, rng: np.random.Generator):
    """A wave whose noise grows, and one measurement in thirty is far off."""
    x = rng.random(n_rows) * 10
    y = np.sin(x) + rng.normal(scale=0.05 + x / 30)
    return x[:, None], np.where(rng.random(n_rows) < 1 / 30, y + 10, y)


def main(picture: str) -> None:
    rng = np.random.default_rng(0)
    X, y = make_data(1500, rng)
    grid = np.linspace(0, 10, 300)[:, None]
    truth = np.sin(grid[:, 0])
    curves = {}
    for name, options in {
        "mean": {"criterion": "squared_error"},
        "median": {"criterion": "absolute_error"},
        "0.1": {"criterion": "quantile", "quantile": 0.1},
        "0.9": {"criterion": "quantile", "quantile": 0.9},
    }.items():
        forest = RandomForestRegressor(100, min_samples_leaf=30, random_state=0, **options)
        curves[name] = forest.fit(X, y).predict(grid)
    for name in ("mean", "median"):
        print(f"{name:6} mean distance to the wave {np.abs(curves[name] - truth).mean():.3f}")

    plt.rcParams["svg.fonttype"] = "none"
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    axes.scatter(X[::6, 0], y[::6], s=4, color="gray", alpha=0.5)
    axes.fill_between(grid[:, 0], curves["0.1"], curves["0.9"], alpha=0.25, label="0.1 to 0.9")
    axes.plot(grid, curves["median"], label="median")
    axes.plot(grid, curves["mean"], linestyle="--", label="mean")
    axes.set_ylim(-2.5, 3.5)
    axes.legend()
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "medians.svg")
