"""Anomalies: two moons of ordinary points, and a few that belong to neither.

python examples/anomalies.py [picture.svg]
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from spinney import IsolationForest


def main(picture: str) -> None:
    rng = np.random.default_rng(0)
    ordinary, _ = make_moons(600, noise=0.08, random_state=0)
    odd = rng.uniform([-2, -1.5], [3, 2], (30, 2))
    X = np.concatenate([ordinary, odd])
    forest = IsolationForest(n_estimators=300, contamination=30 / len(X), random_state=0)
    found = forest.fit_predict(X) == -1
    strays, others = found[-30:].sum(), found[:-30].sum()
    print(f"{strays} of 30 strays found, and {others} of 600 others taken for one")

    horizontal, vertical = np.meshgrid(np.linspace(-2, 3, 100), np.linspace(-1.5, 2, 70))
    grid = np.stack([horizontal.ravel(), vertical.ravel()], axis=1)
    scores = forest.decision_function(grid).reshape(horizontal.shape)
    plt.rcParams["svg.fonttype"] = "none"
    figure, axes = plt.subplots(figsize=(6, 3.9), layout="constrained")
    axes.imshow(
        scores, extent=(-2, 3, -1.5, 2), origin="lower", cmap="Blues", interpolation="nearest"
    )
    axes.scatter(*X[~found].T, s=4, color="black", label="ordinary")
    axes.scatter(*X[found].T, s=16, color="red", marker="x", label="anomalies")
    axes.legend(loc="upper right")
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "anomalies.svg")
