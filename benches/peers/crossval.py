"""Cross-validation: CPU seconds of `spinney.model_selection` against refitting each fold.

The table of "Batched Lazy Decision Trees" (Guillame-Bert & Dubrawski, 2016): ten folds, trees with
min_samples_split=5 and max_depth=20, by scikit-learn's loop over our forests; folds share their
samples with "poisson" and without a bootstrap. Then leave-one-out, against one fit, and folds that
are fitted one by one, against the loop of scikit-learn. All times include fitting and encoding, and
the two ways must agree in every bit.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
import sklearn.model_selection
from sklearn.datasets import make_classification
from sklearn.metrics import accuracy_score
from sklearn.model_selection import LeaveOneOut

from common import print_versions, record
from lazy import QUICK, SEED, Problem, cpu_seconds, load, parse_arguments, tenfold
from spinney import DecisionTreeClassifier, RandomForestClassifier, RandomForestRegressor
from spinney.model_selection import cross_val_predict, cross_val_score

BOOTSTRAPS = (True, "poisson", False)
CRITERIA = ("entropy", "gini")
NAMES = ("Breast", "Adult", "Gamma", "ALL", "C-to-U")
# Of each, so many rows are left out one by one; all of them if None.
LEFT_OUT = {"Breast": None, "Gamma": 600}
# What is scored by a function of the user's own, and so fitted fold by fold.
FITTED_ALONE = {
    "full tree": DecisionTreeClassifier(random_state=SEED),
    "tree of depth 5": DecisionTreeClassifier(max_depth=5, random_state=SEED),
    "forest of 10": RandomForestClassifier(10, random_state=SEED),
}


Forest = RandomForestClassifier | RandomForestRegressor


def forest(n_trees: int, bootstrap: object, criterion: str = "entropy") -> Forest:
    kind = RandomForestRegressor if criterion == "squared_error" else RandomForestClassifier
    return kind(
        n_trees,
        criterion=criterion,
        max_features=None,
        min_samples_split=5,
        max_depth=20,
        random_state=SEED,
        bootstrap=bootstrap,
    )


def method_of(estimator: Forest) -> str:
    return "predict_proba" if hasattr(estimator, "predict_proba") else "predict"


def refit(problem: Problem, folds: list, estimator: Forest) -> np.ndarray:
    """Return what a forest per fold predicts, in the order of the rows of the folds."""
    X, y = problem
    found = []
    for train, test in folds:
        # The draws of "poisson" belong to the rows, wherever they stand.
        draws = {"sample_ids": train} if estimator.bootstrap == "poisson" else {}
        model = estimator.fit(X[train], y[train], **draws)
        found.append(getattr(model, method_of(model))(X[test]))
    return np.concatenate(found)


def compare_tenfold(name: str, problem: Problem, criterion: str, arguments) -> None:
    X, y = problem
    folds = tenfold(y)
    rows = np.concatenate([test for _, test in folds])
    loops = {
        "spinney": cross_val_predict,
        "spinney, loop of scikit-learn": sklearn.model_selection.cross_val_predict,
    }
    for bootstrap in BOOTSTRAPS:
        estimator = forest(arguments.trees, bootstrap, criterion)
        seconds: dict[str, list[float]] = {who: [] for who in loops}
        for _ in range(arguments.repeats):
            for who, loop in loops.items():
                work = partial(loop, estimator, X, y, cv=folds, method=method_of(estimator))
                time, found = cpu_seconds(work, 1)
                seconds[who].append(time)
                if who == "spinney":
                    ours = found
        # The loop of scikit-learn draws other "poisson" samples.
        expected = refit(problem, folds, estimator) if bootstrap == "poisson" else found[rows]
        assert (ours[rows] == expected).all(), "folds are refits"
        medians = {who: float(np.median(times)) for who, times in seconds.items()}
        ratio = np.median(np.divide(*reversed(seconds.values())))
        record(f"ten folds, {name}, {criterion}, bootstrap {bootstrap}", medians)
        cells = "".join(f"{time:>10.2f}" for time in medians.values())
        print(f"{name:12}{criterion:>14}{bootstrap!s:>10}{cells}{ratio:>10.2f}", flush=True)


def compare_leave_one_out(
    name: str, problem: Problem, n_rows: int | None, criterion: str, arguments
) -> None:
    X, y = problem
    if n_rows is not None:
        rows = np.sort(np.random.default_rng(SEED).permutation(len(y))[:n_rows])
        X, y = X[rows], y[rows]
    estimator = forest(arguments.trees, "poisson", criterion)

    def share() -> np.ndarray:
        return cross_val_predict(estimator, X, y, cv=LeaveOneOut(), method="predict_proba")

    ours, found = cpu_seconds(share, arguments.repeats)
    fit, _ = cpu_seconds(lambda: estimator.fit(X, y), arguments.repeats)
    # A few of them the slow way.
    some = np.random.default_rng(SEED).permutation(len(y))[:5]
    folds = [(np.delete(np.arange(len(y)), row), [row]) for row in some]
    assert (found[some] == refit((X, y), folds, estimator)).all(), "folds are refits"
    work = f"leave-one-out, {name}, {len(y)} rows, {criterion}"
    record(work, {"spinney": ours, "spinney, a fit": fit})
    print(
        f"{name:12}{criterion:>10}{len(y):>10}{ours:>10.2f}{fit:>10.3f}{ours / fit:>10.1f}",
        flush=True,
    )


def score(estimator, X: np.ndarray, y: np.ndarray) -> float:
    return accuracy_score(y, estimator.predict(X))


def compare_loops(n_rows: int, arguments) -> None:
    """Ten folds, fitted one by one: our loop encodes the rows once, scikit-learn's ten times."""
    X, y = make_classification(n_rows, n_features=30, n_informative=10, random_state=SEED)
    for name, estimator in FITTED_ALONE.items():

        def validate(cross_val_score, estimator=estimator) -> np.ndarray:
            return cross_val_score(estimator, X, y, cv=10, scoring=score)

        ours, found = cpu_seconds(lambda v=validate: v(cross_val_score), arguments.repeats)
        theirs, expected = cpu_seconds(
            lambda v=validate: v(sklearn.model_selection.cross_val_score), arguments.repeats
        )
        assert (found == expected).all(), "the loops are the same"
        print(f"{name:20}{ours:>10.2f}{theirs:>14.2f}{theirs / ours:>10.2f}", flush=True)
        work = f"ten folds of {n_rows:,} x 30, scored by a function, {name}"
        record(work, {"spinney": ours, "spinney, loop of scikit-learn": theirs})


def main() -> int:
    arguments = parse_arguments(__doc__.splitlines()[0])
    print(f"Cross-validation of forests of {arguments.trees} trees: CPU seconds")
    print_versions()
    print(
        f"\n{'ten folds':12}{'criterion':>14}{'bootstrap':>10}{'ours':>10}{'loop':>10}{'ratio':>10}"
    )
    for name, problem in load(QUICK if arguments.quick else NAMES):
        for criterion in (*CRITERIA, "squared_error"):
            compare_tenfold(name, problem, criterion, arguments)
    print(f"\n{'one left out':22}{'rows':>10}{'shared':>10}{'one fit':>10}{'fits':>10}")
    for name, problem in load(LEFT_OUT):
        for criterion in CRITERIA:
            compare_leave_one_out(name, problem, LEFT_OUT[name], criterion, arguments)
    print(f"\n{'scored by a function':20}{'ours':>10}{'scikit-learn':>14}{'ratio':>10}")
    compare_loops(2000 if arguments.quick else 20_000, arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
