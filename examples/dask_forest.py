"""A forest on a Dask cluster: its workers grow the trees, and predict block by block.

python examples/dask_forest.py [picture.svg] [address of a scheduler]

Without an address it starts two workers on this machine.
"""

import sys

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client
from sklearn.datasets import make_friedman1

import spinney
import spinney.dask


def main(picture: str, address: str | None) -> None:
    X, y = make_friedman1(20_500, noise=1.0, random_state=0)
    n_train = 20_000
    # Arrays of blocks of rows, as they come from many files.
    X_train = da.from_array(X[:n_train], chunks=(5000, -1))
    X_test = da.from_array(X[n_train:], chunks=(125, -1))
    parameters = {"n_estimators": 40, "min_samples_leaf": 5, "random_state": 0}
    options = {} if address else {"n_workers": 2, "dashboard_address": ":0"}
    with Client(address, **options) as client:
        forest = spinney.dask.RandomForestRegressor(**parameters, client=client)
        forest.fit(X_train, y[:n_train])
        lazy = forest.predict(X_test)
        print("predictions are", type(lazy).__module__, "in", lazy.numblocks[0], "blocks")
        predicted = lazy.compute()
    local = spinney.RandomForestRegressor(**parameters).fit(X[:n_train], y[:n_train])
    same = np.array_equal(predicted, local.predict(X[n_train:]))
    print("bit for bit the forest of one process:", same)
    plt.rcParams["svg.fonttype"] = "none"
    figure, axes = plt.subplots(figsize=(5, 4), layout="constrained")
    axes.plot(y[n_train:], predicted, ".", markersize=4)
    axes.axline((15, 15), slope=1, color="gray", linewidth=1)
    axes.set(xlabel="target", ylabel="prediction", aspect="equal")
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "dask_forest.svg", (sys.argv[2:] or [None])[0])
