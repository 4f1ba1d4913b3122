"""How many features a node should draw on fingerprints: scores and seconds by `max_features`.

The best published random forest on ogbg-molhiv draws .2 of the features. The data here are the
molecules of that set, but the files have no SMILES, from which a scaffold split is made: a fifth
of the rows is drawn at random, by class. A split and the forest that learns from it have one seed.
Settings that take long on HIV are measured on its first split only.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score, root_mean_squared_error
from sklearn.model_selection import train_test_split

from paper import (
    find_missing,
    least_seconds,
    parse_arguments,
    positive,
    round_figures,
    write_results,
)
from spinney import RandomForestClassifier, RandomForestRegressor

SETS = ("lipophilicity", "hiv")
FILES = tuple(f"{name}_{kind}.npz" for name in SETS for kind in ("ecfp4_counts", "meta"))
TEST_SHARE = 0.2
# What a forest draws, by name; active: among the features that vary in the node.
ACTIVE = {"max_features": "sqrt", "feature_sampling": "active"}
SETTINGS: dict[str, dict[str, Any]] = {"sqrt": {"max_features": "sqrt"}, "sqrt, active": ACTIVE}
SETTINGS |= {str(share): {"max_features": share} for share in (0.02, 0.05, 0.1, 0.2, 0.3)}
# Settings that are measured on all splits of HIV, where a fit takes long; the others: on one.
SEVERAL = ("sqrt", "sqrt, active", "0.2")
N_SPLITS = 3
SOURCE = "the best published random forest on ogbg-molhiv, which draws .2 of the features"


def read(folder, name: str) -> tuple[sp.csr_matrix, np.ndarray]:
    y = np.load(folder / f"{name}_meta.npz")["y"]
    return sp.load_npz(folder / f"{name}_ecfp4_counts.npz"), y


def measure(X, y, parameters: dict, trees: int, seed: int, *, classify: bool) -> list[float]:
    """Return the processor seconds of a fit, and the AUC, or R2 and RMSE, on the test rows."""
    parts = train_test_split(
        X, y, test_size=TEST_SHARE, stratify=y if classify else None, random_state=seed
    )
    X_train, X_test, y_train, y_test = parts
    kind = RandomForestClassifier if classify else RandomForestRegressor
    model = kind(trees, random_state=seed, n_jobs=1, **parameters)
    seconds = least_seconds({"fit": lambda: model.fit(X_train, y_train)}, 1)["fit"]
    if classify:
        return [seconds, roc_auc_score(y_test, model.predict_proba(X_test)[:, 1])]
    rmse = root_mean_squared_error(y_test, model.predict(X_test))
    return [seconds, model.score(X_test, y_test), rmse]


def measure_all(X, y, trees: int, *, classify: bool) -> list[list]:
    """Return a row for each setting: its name, its measures on the first split, their means."""
    rows = []
    for name, parameters in SETTINGS.items():
        n_splits = N_SPLITS if not classify or name in SEVERAL else 1
        found = [measure(X, y, parameters, trees, k, classify=classify) for k in range(n_splits)]
        first, mean = found[0], np.mean(found, axis=0)
        if classify:
            several = f"{mean[1]:.3f}" if n_splits > 1 else ""
            row = [name, f"{first[1]:.3f}", several, round_figures(first[0])]
        else:
            row = [name, f"{mean[1]:.3f}", f"{mean[2]:.3f}", round_figures(float(mean[0]))]
        rows.append(row)
        print(*row, [round_figures(values[1], 4) for values in found], flush=True)
    return rows


def make_plot(regression: list[list], classes: list[list]) -> dict:
    """Return what is missing to a score of 1 by the seconds of a fit."""
    lines = {}
    for title, rows in (("HIV, 1 - AUC", classes), ("lipophilicity, 1 - R2", regression)):
        drawn = [row for row in rows if row[0] != "sqrt, active"]
        lines[title] = [[row[3], round_figures(1 - float(row[1]))] for row in drawn]
    title = "From sqrt to .3 of the features"
    return {"title": title, "x": "seconds of a fit", "y": "1 - score", "lines": lines}


def main() -> int:
    trees = {"type": positive, "default": 25, "help": "trees of a forest"}
    arguments = parse_arguments(__doc__.splitlines()[0], trees=trees)
    if find_missing(arguments.data, FILES):
        return 1
    regression, classes = (
        measure_all(*read(arguments.data, name), arguments.trees, classify=name == "hiv")
        for name in SETS
    )
    shared = f"forests of {arguments.trees} trees"
    tables = [
        {
            "title": f"HIV: 41,127 molecules, 50,392 features, {shared}",
            "head": ["max_features", "AUC", f"AUC, mean of {N_SPLITS}", "seconds"],
            "rows": classes,
            "note": "The first AUC and the seconds are of one random split, a fifth of the rows of "
            "each class to predict. A scaffold split, as ogbg-molhiv has, could differ: the "
            "files have no structures to make one from.",
        },
        {
            "title": f"Lipophilicity: 4,200 molecules, 7,956 features, {shared}",
            "head": ["max_features", "R2", "RMSE", "seconds"],
            "rows": regression,
            "note": f"Means over {N_SPLITS} random splits, a fifth of the rows to predict. "
            '"active" draws among the features that vary in a node '
            '(`feature_sampling="active"`).',
        },
    ]
    write_results(
        arguments.out,
        "max_features",
        title="max_features on fingerprints",
        source=SOURCE,
        tables=tables,
        plots=[make_plot(regression, classes)],
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
