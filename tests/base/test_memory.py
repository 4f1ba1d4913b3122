"""What would need more memory than there is fails with MemoryError, at once, and nothing else.

A sparse matrix of ten rows and two billion columns takes a few hundred bytes, and so does an array
that repeats one number. Tables that are made of them take up to a hundred gigabytes.
"""

import json
import re
import subprocess
import sys
from functools import cache

import pytest

# Room for what the programs below need, and for no table.
ROOM = 2 << 30

# Each of the works in a process of its own, which needs not import anything.
PROGRAM = """
import json
import os
import resource
import sys
import time
import numpy as np
import scipy.sparse as sp
import spinney
from sklearn.model_selection import KFold
from spinney._spinney import Forest, Tree, forest_shap_interactions, forest_shap_values
from spinney.model_selection import cross_val_predict
from spinney import RandomForestQuantileRegressor as Quantiles
from spinney.survival import RandomSurvivalForest as Survival

N_FEATURES = 2**31 - 1
columns = np.array([7, 0, N_FEATURES - 1])
rows = sp.csr_array((np.ones(3), (np.arange(3), columns)), shape=(10, N_FEATURES))
repeated = np.broadcast_to(np.float32(1), rows.shape)
y = np.arange(10) % 2


def make_tree(n_features):
    return Tree(
        n_features=n_features,
        n_classes=[1],
        children_left=np.array([1, -1, -1], dtype=np.int32),
        children_right=np.array([2, -1, -1], dtype=np.int32),
        feature=np.array([min(7, n_features - 1), -2, -2], dtype=np.int32),
        threshold=np.array([0.5, -2.0, -2.0]),
        missing_go_to_left=np.zeros(3, dtype=np.uint8),
        impurity=np.zeros(3),
        n_node_samples=np.array([10, 9, 1]),
        weighted_n_node_samples=np.array([10.0, 9.0, 1.0]),
        value=np.array([0.1, 0.0, 1.0]).reshape(3, 1, 1),
    )


tree, small = make_tree(N_FEATURES), make_tree(1)
# Rows that take no memory, but each of them has a result.
many = np.broadcast_to(np.float32(1), (2**33, 1))
some = np.broadcast_to(np.float32(1), (2**31, 1))
lots, several = many[: 2**29], many[: 2**20]
N_ROWS = 100_000
of_rows = np.arange(N_ROWS, dtype=np.float32)[:, np.newaxis]
times = np.zeros(1000, dtype=[("event", bool), ("time", float)])
line, shares = of_rows[:1000], np.linspace(0, 1, 2000).tolist()
times["event"], times["time"] = True, np.arange(1, 1001)
stump, halves = spinney.DecisionTreeClassifier(max_depth=1), KFold(2)
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
room, seconds = int(sys.argv[1]), int(sys.argv[2])
for work in json.loads(sys.argv[3]):
    sys.stdout.flush()
    if os.fork():
        _, status = os.wait()
        if status:
            print("ended with status", status)
        continue
    resource.setrlimit(resource.RLIMIT_AS, (used + room, used + room))
    started = time.monotonic()
    told = "no error"
    try:
        exec(work)
    except MemoryError as error:
        told = str(error)
    if time.monotonic() - started > seconds:
        told = "too late: " + told
    print(told, flush=True)
    os._exit(0)
"""

ENCODED = "for the encoded columns of X."
RESULT = "for the result."
SHAP = "for SHAP values."
WORK = {
    "tree": ("spinney.DecisionTreeClassifier().fit(rows, y)", ENCODED),
    "forest": ("spinney.RandomForestClassifier(2).fit(rows, y)", ENCODED),
    "lazy forest": ("spinney.LazyForestClassifier(2).fit(rows, y)", ENCODED),
    "dense": ("spinney.DecisionTreeClassifier().fit(repeated, y, check_input=False)", ENCODED),
    "rows of a tree": ("tree.predict(rows)", "for rows of X."),
    "rows of a forest": ("Forest([tree], [0]).predict(rows, 2)", "for rows of X."),
    "importances of a tree": (
        "tree.compute_feature_importances()",
        "for feature importances.",
    ),
    "importances of trees": (
        "Forest([tree], [0]).tree_importances()",
        "for feature importances.",
    ),
    "importances of a forest": (
        "Forest([tree], [0]).compute_feature_importances()",
        "for feature importances.",
    ),
    "predictions of a tree": ("small.predict(many)", RESULT),
    "leaves of a tree": ("small.apply(many)", RESULT),
    "path in a tree": ("small.decision_path(many)", RESULT),
    "predictions of a forest": ("Forest([small], [0]).predict(many, 2)", RESULT),
    "classes of a forest": ("Forest([small], [0]).predict_classes(many, 2)", RESULT),
    "leaves of a forest": ("Forest([small, small], [0, 0]).apply(many)", RESULT),
    "path in a forest": ("Forest([small, small], [0, 0]).decision_path(many)", RESULT),
    "contributions": ("forest_shap_values(Forest([small], [0]), many)", SHAP),
    "contributions of pairs": ("forest_shap_interactions(Forest([small], [0]), many)", SHAP),
    "lazy answer": (
        "spinney.LazyForestClassifier(2).fit(of_rows[:10], y).forest_.predict(some)",
        RESULT,
    ),
    "lazy leaves": (
        "spinney.LazyForestRegressor(2).fit(of_rows[:10], y).forest_.explore(some, 'eager')",
        RESULT,
    ),
    "isolation": (
        "spinney.IsolationForest(n_estimators=2).fit(rows)",
        "for the entries of the samples of a tree.",
    ),
    "anomalies": (
        "spinney.IsolationForest(n_estimators=2).fit(line).score_samples(lots)",
        RESULT,
    ),
    "standard errors": (
        "spinney.RandomForestRegressor(2).fit(line, line[:, 0]).predict_standard_error(lots)",
        RESULT,
    ),
    "quantiles": (
        "Quantiles(2).fit(line, line[:, 0]).predict(several, quantiles=shares)",
        "for quantiles.",
    ),
    "curves": (
        "Survival(2).fit(line, times).predict_survival_function(several, return_array=True)",
        "for curves.",
    ),
    "folds": (
        "cross_val_predict(stump, of_rows, np.arange(N_ROWS), cv=halves, method='predict_proba')",
        RESULT,
    ),
}


def ask(works, room, seconds):
    """Return what each of the works says when it has only so much room more."""
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(room), str(seconds)]
    command.append(json.dumps(works))
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    said = done.stdout.splitlines()
    assert len(said) == len(works), said
    return said


@cache
def ask_all():
    """Return what each kind of work says."""
    return dict(zip(WORK, ask([work for work, _ in WORK.values()], ROOM, 10), strict=True))


@pytest.mark.skipif(sys.platform != "linux", reason="reads and limits memory as Linux does")
@pytest.mark.parametrize("kind", WORK)
def test_what_cannot_be_had_is_an_error(kind):
    """The message says what the memory was for, and how much was asked for."""
    said, (_, told) = ask_all()[kind], WORK[kind]
    found = re.fullmatch(r"Unable to allocate (\d+) bytes (.*)", said)
    assert found, said
    assert int(found[1]) > ROOM
    assert found[2] == told


def test_a_tree_that_outgrows_memory_is_an_error():
    """With a class for each row, a tree grows with the square of the rows."""
    work = "spinney.DecisionTreeClassifier(n_jobs=1).fit(of_rows[:3000], np.arange(3000))"
    # Half of it is grown before.
    (said,) = ask([work], 100 << 20, 60)
    assert re.fullmatch(r"Unable to allocate \d+ bytes for the values of a tree\.", said)
