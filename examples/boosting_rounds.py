"""How many rounds of boosting? The loss of new rows, round by round, for three learning rates.

    python examples/boosting_rounds.py [picture.svg]

Who earns more than 50,000 dollars? Small rates need more rounds; too many fit noise at any rate.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from spinney import Dataset, GradientBoostingClassifier

DATA = Path(__file__).resolve().parent / "data"


def main(picture: str) -> None:
    table = pd.read_csv(DATA / "adult.csv.gz", na_values="?").sample(6000, random_state=0)
    X, y = table.drop(columns="income"), (table["income"] == ">50K").to_numpy()
    strings = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    X_train, X_val, y_train, y_val = train_test_split(X, y, random_state=0)
    # Encoded once for all fits.
    train = Dataset(X_train, categorical_features=strings)

    plt.rcParams["svg.fonttype"] = "none"
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    for rate in (0.3, 0.1, 0.03):
        model = GradientBoostingClassifier(
            learning_rate=rate,
            n_estimators=400,
            max_depth=None,
            max_leaf_nodes=15,
            min_samples_leaf=20,
            second_order=True,
            random_state=0,
        ).fit(train, y_train)
        stages = model.staged_predict_proba(X_val)
        losses = [-np.log(np.where(y_val, *proba.T[::-1])).mean() for proba in stages]
        best = int(np.argmin(losses))
        print(f"rate {rate:<4}  lowest loss {losses[best]:.4f} after {best + 1} rounds")
        (line,) = axes.plot(range(1, len(losses) + 1), losses, label=f"learning_rate={rate}")
        axes.plot(best + 1, losses[best], "o", color=line.get_color())
        # As in scikit-learn, scores of two classes are twice the log loss.
        axes.plot(model.train_score_ / 2, ":", color=line.get_color(), linewidth=1)
    axes.set(xlabel="rounds", ylabel="log loss", ylim=(0.15, 0.45))
    axes.set_title("new rows (lines), training rows (dots), the best round", fontsize="medium")
    axes.legend()
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "boosting_rounds.svg")
