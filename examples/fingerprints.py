"""Molecules: predict how they divide between octanol and water, from counts of substructures.

    python examples/fingerprints.py [picture.svg]

4,200 molecules with 7,956 columns, of which six in a thousand cells are stored.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from spinney import RandomForestRegressor

DATA = Path(__file__).resolve().parent / "data"


def main(picture: str) -> None:
    X = sparse.load_npz(DATA / "lipophilicity_ecfp4_counts.npz")
    with np.load(DATA / "lipophilicity_meta.npz") as meta:
        y = meta["y"]
    print(f"{X.shape[0]} molecules, {X.shape[1]} substructures, {X.nnz} counts")
    # The rows that a tree has not drawn predict honestly: no test set is needed.
    forest = RandomForestRegressor(100, max_features="sqrt", oob_score=True, random_state=0)
    forest.fit(X, y)
    error = np.sqrt(np.mean((forest.oob_prediction_ - y) ** 2))
    print(f"out of bag: R2 {forest.oob_score_:.2f}, error {error:.2f} of {y.std():.2f}")

    plt.rcParams["svg.fonttype"] = "none"
    figure, axes = plt.subplots(figsize=(4.6, 4), layout="constrained")
    axes.scatter(y[::12], forest.oob_prediction_[::12], s=6, alpha=0.6)
    axes.axline((0, 0), slope=1, color="gray", linewidth=1)
    axes.set(xlabel="measured logD", ylabel="predicted, out of bag", title="Lipophilicity")
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "fingerprints.svg")
