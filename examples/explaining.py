"""Why a prediction is what it is: contributions of features, exact and in the unit of the target.

Where shap is installed, `forest.to_shap(X)` returns them as its own object, which its plots take.

python examples/explaining.py [picture.svg]
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from spinney import RandomForestRegressor


def main(picture: str) -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    forest = RandomForestRegressor(50, random_state=0, n_jobs=-1).fit(X, y)
    values = forest.shap_values(X)
    sums = forest.expected_value_ + values.sum(axis=1)
    print("contributions add up:", np.allclose(sums, forest.predict(X)))
    print(forest.explain(X[:1], n_features=4))
    pairs = np.abs(forest.shap_values(X[:20], interactions=True)).mean(axis=0)
    np.fill_diagonal(pairs, 0)
    first, second = np.unravel_index(pairs.argmax(), pairs.shape)
    print("strongest pair:", X.columns[first], "and", X.columns[second])

    order = np.argsort(np.abs(values).mean(axis=0))[-6:]
    rng = np.random.default_rng(0)
    plt.rcParams["svg.fonttype"] = "none"
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    for place, column in enumerate(order):
        # A dot per patient: right if the feature raises the prediction, dark if its value is high.
        ranks = X.iloc[::4, column].rank(pct=True)
        height = place + rng.uniform(-0.3, 0.3, len(ranks))
        axes.scatter(values[::4, column], height, c=ranks, cmap="viridis_r", s=7)
    axes.axvline(0, color="gray", linewidth=1)
    axes.set_yticks(range(len(order)), X.columns[order])
    axes.set(xlabel="contribution to the prediction", title="Progression of diabetes")
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "explaining.svg")
