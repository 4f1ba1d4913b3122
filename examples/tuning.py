"""Tuning a forest: the loss of new rows by five parameters, in units of the loss of the defaults.

    python examples/tuning.py [picture.svg]

Squared errors, of probabilities or numbers: means over three splits. Each parameter has a picture.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes, load_digits
from sklearn.model_selection import train_test_split

from spinney import Dataset, RandomForestClassifier, RandomForestRegressor

CENSUS = Path(__file__).resolve().parent / "data" / "adult.csv.gz"
SIZES = {"n_estimators": [5, 10, 20, 50, 100, 300], "min_samples_leaf": [1, 2, 5, 10, 20, 50]}
SHARES = {"max_features": [0.1, 0.2, 0.4, 0.7, 1.0], "max_samples": [0.05, 0.1, 0.2, 0.4, 0.7, 1.0]}
CRITERIA = dict.fromkeys(["census", "digits"], ["gini", "entropy"])
CRITERIA["diabetes"] = ["squared_error", "absolute_error", "poisson"]


def measure_loss(parts, **parameters) -> float:
    train, new, y, held_out = parts
    if y.dtype.kind == "f":
        model = RandomForestRegressor(random_state=0, **parameters).fit(train, y)
        return np.mean((model.predict(new) - held_out) ** 2)
    model = RandomForestClassifier(random_state=0, **parameters).fit(train, y)
    return np.mean((model.predict_proba(new) - (held_out[:, None] == model.classes_)) ** 2)


def main(picture: Path) -> None:
    census = pd.read_csv(CENSUS, na_values="?").sample(1000, random_state=0)
    X, y = census.drop(columns="income"), census["income"].to_numpy()
    strings = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    tables = {"census": (Dataset(X, categorical_features=strings), y)}
    tables["digits"] = [array[:600] for array in load_digits(return_X_y=True)]
    tables["diabetes"] = load_diabetes(return_X_y=True)
    splits = {t: [train_test_split(*tables[t], random_state=s) for s in range(3)] for t in tables}
    plt.rcParams["svg.fonttype"] = "none"
    for name, values in {**SIZES, **SHARES, "criterion": None}.items():
        figure, axes = plt.subplots(figsize=(6, 2.8), layout="constrained")
        for table, parts in splits.items():
            tried, default = values or CRITERIA[table], sum(map(measure_loss, parts))
            losses = [sum(measure_loss(p, **{name: v}) for p in parts) / default for v in tried]
            print(table, name, *map("{}: {:.2f}".format, tried, losses), sep="  ")
            axes.plot(tried, losses, "o-" if values else "o", label=table)
        axes.axhline(1, color="gray", linewidth=0.8, linestyle="--")
        axes.set(xlabel=name, ylabel="loss, defaults = 1", ylim=(0.8, 1.6))
        if values:
            axes.set(xscale="log", xticks=values, xticklabels=values)
            axes.minorticks_off()
        axes.legend(frameon=False)
        end = "" if name == "n_estimators" else f"_{name}"
        figure.savefig(picture.with_stem(picture.stem + end), metadata={"Date": None})


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "tuning.svg"))
