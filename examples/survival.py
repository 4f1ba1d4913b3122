"""When pumps will fail: survival curves from machines of which most still run.

python examples/survival.py [picture.svg]
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from spinney.plotting import plot_survival_function
from spinney.survival import RandomSurvivalForest


def make_pumps(n_pumps: int) -> tuple[pd.DataFrame, tuple[np.ndarray, np.ndarray]]:
    """Return pumps, and for each whether it has failed and for how many days it has run."""
    rng = np.random.default_rng(0)
    pumps = pd.DataFrame(
        {
            "load": rng.beta(4, 3, n_pumps),
            "temperature": rng.normal(60, 8, n_pumps),
            "maker": pd.Categorical(rng.choice(["Ash", "Birch", "Cedar"], n_pumps)),
        }
    )
    life = 900 * np.exp(-2 * pumps["load"]) * np.where(pumps["maker"] == "Cedar", 0.5, 1.0)
    life *= np.where(pumps["temperature"] > 70, 0.4, 1.0)
    days = life.to_numpy() * rng.weibull(1.6, n_pumps)
    # The sensor of every tenth pump is broken.
    pumps.loc[::10, "temperature"] = np.nan
    # Pumps were put up at different times, and today we look at all of them.
    age = rng.uniform(10, 300, n_pumps)
    return pumps, (days <= age, np.minimum(days, age))


def main(picture: str) -> None:
    pumps, (failed, days) = make_pumps(1200)
    train, new = slice(0, 1000), slice(1000, 1200)
    forest = RandomSurvivalForest(200, categorical_features="from_dtype", random_state=0)
    forest.fit(pumps[train], (failed[train], days[train]))
    print(f"{1 - failed.mean():.0%} of the pumps still run")
    print(f"concordance {forest.score(pumps[new], (failed[new], days[new])):.2f}")
    risks = forest.predict(pumps[new])
    shown = pumps[new].iloc[np.argsort(risks)[[0, 60, 130, 199]]]
    running = forest.predict_survival_function(shown, return_array=True, times=[180])
    print("still running after half a year:", running[:, 0].round(2))

    plt.rcParams["svg.fonttype"] = "none"
    figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
    labels = [f"{pump.maker}, load {pump.load:.2f}" for pump in shown.itertuples()]
    plot_survival_function(forest, shown, (failed, days), labels=labels, ax=ax)
    ax.set_xlabel("days")
    ax.set_ylabel("probability that the pump runs")
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "survival.svg")
