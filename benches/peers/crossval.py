"""Cross-validation: CPU seconds of `spinney.model_selection` against refitting each fold.

The table of "Batched Lazy Decision Trees" (Guillame-Bert & Dubrawski, 2016) for the samples that
folds can share: entropy trees, min_samples_split=5, max_depth=20, ten folds, against our own refits
fold by fold. Then leave-one-out, against one fit, and folds that are fitted one by one, against
the loop of scikit-learn. All times include fitting and encoding, and the two ways must agree in
every bit.
"""

from __future__ import annotations

import sys

import numpy as np
import sklearn.model_selection
from sklearn.datasets import make_classification
from sklearn.metrics import accuracy_score
from sklearn.model_selection import LeaveOneOut

from common import SHARED_DATA, print_versions, record
from lazy import DATA, QUICK, SEED, Problem, cpu_seconds, parse_arguments, tenfold
from spinney import DecisionTreeClassifier, RandomForestClassifier
from spinney.model_selection import cross_val_predict, cross_val_score

BOOTSTRAPS = ("poisson", False)
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


def forest(n_trees: int, bootstrap: object, criterion: str = "entropy") -> RandomForestClassifier:
    return RandomForestClassifier(
        n_trees,
        criterion=criterion,
        max_features=None,
        min_samples_split=5,
        max_depth=20,
        random_state=SEED,
        bootstrap=bootstrap,
    )


def refit(problem: Problem, folds: list, estimator: RandomForestClassifier) -> np.ndarray:
    """Return what a forest per fold predicts, in the order of the rows."""
    X, y = problem
    proba = np.empty((len(y), len(np.unique(y))))
    for train, test in folds:
        # The draws of "poisson" belong to the rows, wherever they stand.
        draws = {"sample_ids": train} if estimator.bootstrap == "poisson" else {}
        model = estimator.fit(X[train], y[train], **draws)
        proba[test] = model.predict_proba(X[test])
    return proba


def compare_tenfold(name: str, problem: Problem, bootstrap: object, arguments) -> None:
    X, y = problem
    folds = tenfold(y)

    estimator = forest(arguments.trees, bootstrap)

    def share() -> np.ndarray:
        return cross_val_predict(estimator, X, y, cv=folds, method="predict_proba")

    ours, found = cpu_seconds(share, arguments.repeats)
    refits, expected = cpu_seconds(lambda: refit(problem, folds, estimator), arguments.repeats)
    assert (found == expected).all(), "folds are refits"
    work = f"ten folds, {name}, bootstrap {bootstrap}"
    record(work, {"spinney": ours, "spinney, ten fits": refits})
    print(
        f"{name:12}{bootstrap!s:>10}{ours:>10.2f}{refits:>10.2f}{refits / ours:>10.2f}", flush=True
    )


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
    expected = refit((X, y), folds, estimator)
    assert (found[some] == expected[some]).all(), "folds are refits"
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
    if not SHARED_DATA.exists():
        print(f"skipped: {SHARED_DATA} not found")
        return 0
    print(f"\n{'ten folds':12}{'bootstrap':>10}{'shared':>10}{'refits':>10}{'ratio':>10}")
    for name in QUICK if arguments.quick else NAMES:
        problem = DATA[name]()
        for bootstrap in BOOTSTRAPS:
            compare_tenfold(name, problem, bootstrap, arguments)
    print(f"\n{'one left out':22}{'rows':>10}{'shared':>10}{'one fit':>10}{'fits':>10}")
    for name, n_rows in LEFT_OUT.items():
        for criterion in CRITERIA:
            compare_leave_one_out(name, DATA[name](), n_rows, criterion, arguments)
    print(f"\n{'scored by a function':20}{'ours':>10}{'scikit-learn':>14}{'ratio':>10}")
    compare_loops(2000 if arguments.quick else 20_000, arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
