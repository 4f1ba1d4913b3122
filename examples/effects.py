"""What works, and for whom: the effect of a course on wages by age, and whom to invite first.

python examples/effects.py [picture.svg]
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from spinney.causal import CausalForest
from spinney.plotting import plot_targeting


def make_people(n_people: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return people, who of them takes the course, and their wages afterwards."""
    rng = np.random.default_rng(0)
    people = pd.DataFrame(
        {
            "age": rng.integers(18, 65, n_people),
            "years_of_school": rng.integers(8, 19, n_people),
            "town": pd.Categorical(rng.choice(["Ash", "Birch", "Cedar"], n_people)),
        }
    )
    age, school = people["age"].to_numpy(), people["years_of_school"].to_numpy()
    # The young take the course more often, and it does the most for them. Wages rise with age.
    took = rng.random(n_people) < 0.75 - 0.5 * (age - 18) / 47
    effect = 4.0 / (1 + np.exp((age - 38) / 4))
    wages = 8 + 0.15 * age + 0.4 * school + effect * took + rng.normal(scale=2, size=n_people)
    return people, took, wages


def main(picture: str) -> None:
    people, took, wages = make_people(3000)
    forest = CausalForest(1000, categorical_features="from_dtype", random_state=0)
    forest.fit(people, took, wages)
    print(f"difference of means {wages[took].mean() - wages[~took].mean():.2f}")
    found = forest.average_treatment_effect()
    print(f"average effect {found.estimate:.2f}, standard error {found.standard_error:.2f}")

    plt.rcParams["svg.fonttype"] = "none"
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    # People who differ in their age alone.
    ages = np.arange(18, 65)
    same = people.iloc[[0] * len(ages)].assign(age=ages)
    effects, low, high = forest.predict(same, interval=True)
    left.fill_between(ages, low, high, color="#8fc3e8", alpha=0.6, linewidth=0)
    left.plot(ages, effects, color="#20425c", label="forest, 95 %")
    left.plot(ages, 4.0 / (1 + np.exp((ages - 38) / 4)), color="#c8452f", ls="--", label="truth")
    left.set(xlabel="age", ylabel="effect on wages")
    left.legend(frameon=False)
    plot_targeting(forest, -people["age"], ax=right)
    right.set_xlabel("share that is invited, the youngest first")
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "effects.svg")
