"""Rare classes: the rarer a class, the more a forest that draws by class finds of it.

python examples/rare_classes.py [picture.svg]
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split

from spinney import BalancedRandomForestClassifier, RandomForestClassifier

SHARES = (0.3, 0.1, 0.05, 0.03, 0.02)


def main(picture: str) -> None:
    curves = {"all samples": [], "drawn by class": []}
    for share in SHARES:
        X, y = make_classification(
            6000, weights=[1 - share], class_sep=0.8, flip_y=0, random_state=0
        )
        X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
        kinds = (RandomForestClassifier, BalancedRandomForestClassifier)
        for curve, kind in zip(curves.values(), kinds, strict=True):
            forest = kind(100, random_state=0).fit(X_train, y_train)
            curve.append(balanced_accuracy_score(y_test, forest.predict(X_test)))
    for name, curve in curves.items():
        print(f"{name:15} balanced accuracy {np.round(curve, 2)}")

    plt.rcParams["svg.fonttype"] = "none"
    figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
    for (name, curve), marker in zip(curves.items(), ("o", "s"), strict=True):
        axes.plot(SHARES, curve, marker=marker, label=name)
    axes.set_xscale("log")
    axes.set_xticks(SHARES, [f"{share:.0%}" for share in SHARES])
    axes.minorticks_off()
    axes.invert_xaxis()
    axes.set_xlabel("share of the rare class")
    axes.set_ylabel("balanced accuracy")
    axes.legend()
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "rare_classes.svg")
