"""Missing values: forests fill them better than means and neighbours do.

python examples/imputation.py [picture.svg]
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.preprocessing import StandardScaler

from spinney.impute import MissForestImputer

SHARES = (0.05, 0.15, 0.3)


def main(picture: str) -> None:
    X = StandardScaler().fit_transform(load_breast_cancer().data[:200])
    rng = np.random.default_rng(0)
    imputers = {
        "means": SimpleImputer(),
        "five neighbours": KNNImputer(),
        "forests": MissForestImputer(n_estimators=30, max_features="sqrt", random_state=0),
    }
    errors = {name: [] for name in imputers}
    for share in SHARES:
        is_missing = rng.random(X.shape) < share
        holed = np.where(is_missing, np.nan, X)
        for name, imputer in imputers.items():
            difference = (imputer.fit_transform(holed) - X)[is_missing]
            errors[name].append(np.sqrt(np.mean(difference**2)))
    for name, values in errors.items():
        print(f"{name:15} error in standard deviations {np.round(values, 2)}")

    plt.rcParams["svg.fonttype"] = "none"
    figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
    for place, (name, values) in enumerate(errors.items()):
        axes.bar(np.arange(len(SHARES)) + 0.27 * (place - 1), values, width=0.25, label=name)
    axes.set_xticks(np.arange(len(SHARES)), [f"{share:.0%} missing" for share in SHARES])
    axes.set_ylabel("error in standard deviations")
    axes.legend()
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "imputation.svg")
