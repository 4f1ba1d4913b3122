"""Tuning a forest: the loss of new rows by five parameters, in units of the loss of the defaults.

    python examples/tuning.py [picture.svg]

Squared errors, of probabilities or numbers: means over two splits. Each parameter has a picture.
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
SHARES = {"max_features": [0.1, 0.2, 0.4, 0.7, 1.0], "max_samples": [0.05, 0.1, 0.3, 0.7, 1.0]}
OF_CLASSES, OF_NUMBERS = ["gini", "entropy"], ["squared_error", "absolute_error", "poisson"]


def measure_loss(parts, **parameters) -> float:
    train, new, y, held_out = parts
    if y.dtype.kind == "f":
        model = RandomForestRegressor(random_state=0, **parameters).fit(train, y)
        return np.mean((model.predict(new) - held_out) ** 2)
    model = RandomForestClassifier(random_state=0, **parameters).fit(train, y)
    return np.mean((model.predict_proba(new) - (held_out[:, None] == model.classes_)) ** 2)


def main(picture: Path) -> None:
    X = pd.read_csv(CENSUS, na_values="?").sample(1000, random_state=0)
    y = X.pop("income").to_numpy()
    X = Dataset(X, categorical_features=list(X.select_dtypes(exclude="number")))
    tables = {"census": (X, y), "digits": [a[:500] for a in load_digits(return_X_y=True)]}
    tables["diabetes"] = load_diabetes(return_X_y=True)
    splits = {t: [train_test_split(*tables[t], random_state=s) for s in range(2)] for t in tables}
    defaults = {table: sum(map(measure_loss, parts)) for table, parts in splits.items()}
    plt.rcParams["svg.fonttype"] = "none"
    for name, values in {**SIZES, **SHARES, "criterion": None}.items():
        figure, axes = plt.subplots(figsize=(6, 2.8), layout="constrained")
        for table, parts in splits.items():
            tried = values or (OF_NUMBERS if table == "diabetes" else OF_CLASSES)
            sums = [sum(measure_loss(part, **{name: value}) for part in parts) for value in tried]
            losses = [total / defaults[table] for total in sums]
            print(table, name, *map("{}: {:.2f}".format, tried, losses), sep="  ")
            axes.plot(list(map(str, tried)), losses, "o-" if values else "o", label=table)
        axes.axhline(1, color="gray", linewidth=0.8, ls="--")
        axes.set(xlabel=name, ylabel="loss, defaults = 1", ylim=(0.8, 1.6))
        axes.legend(frameon=False)
        end = "" if name == "n_estimators" else f"_{name}"
        figure.savefig(picture.with_stem(picture.stem + end), metadata={"Date": None})


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "tuning.svg"))
