"""Leave-one-out on a small study: each case is judged by all others.

    python examples/leave_one_out.py [picture.svg]

With 178 wines a test set of a fifth says little. 178 forests say more, and cost a few.
"""

import sys
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import LeaveOneOut

from spinney import RandomForestClassifier
from spinney.model_selection import cross_val_predict


def main(picture: str) -> None:
    X, y = load_wine(return_X_y=True)
    # Poisson counts belong to a case, not to its place in a fold, so that folds share their work.
    forest = RandomForestClassifier(criterion="entropy", bootstrap="poisson", random_state=0)
    start = time.perf_counter()
    forest.fit(X, y)
    one = time.perf_counter() - start
    shares = cross_val_predict(forest, X, y, cv=LeaveOneOut(), method="predict_proba")
    spent = time.perf_counter() - start - one
    print(f"{len(y)} forests in the time of {spent / one:.0f}")
    print(f"accuracy {np.mean(shares.argmax(axis=1) == y):.3f}")
    own = shares[np.arange(len(y)), y]
    print("least sure of the cases", np.argsort(own)[:3])

    plt.rcParams["svg.fonttype"] = "none"
    figure, axes = plt.subplots(figsize=(5.4, 3.2), layout="constrained")
    for label in range(3):
        axes.plot(np.sort(own[y == label]), "o-", markersize=3, label=f"class {label}")
    axes.axhline(0.5, color="gray", linewidth=1)
    axes.set(xlabel="cases, sorted", ylabel="probability of the true class")
    axes.legend()
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "leave_one_out.svg")
