"""Which features matter at all: those that are more important than shadows of themselves.

python examples/boruta.py [picture.svg]
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine

from spinney import plot_importance
from spinney.feature_selection import Boruta


def main(picture: str) -> None:
    X, y = load_wine(return_X_y=True, as_frame=True)
    rng = np.random.default_rng(0)
    noise = {f"noise {n}": rng.permutation(X[name]) for n, name in enumerate(X.columns[:5])}
    table = pd.concat([X, pd.DataFrame(noise)], axis=1)
    selector = Boruta(max_iter=50, random_state=0).fit(table, y)
    found = selector.get_feature_names_out()
    n_noise = sum("noise" in name for name in found)
    print(f"{len(found)} of {table.shape[1]} features matter, {n_noise} of them noise")

    plt.rcParams["svg.fonttype"] = "none"
    figure, axes = plt.subplots(figsize=(6, 4.6), layout="constrained")
    plot_importance(selector, ax=axes)
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "boruta.svg")
