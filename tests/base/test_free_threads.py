"""Several threads at once, with Python's lock and, where it can be off, without it."""

import pickle
import subprocess
import sys
import sysconfig
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

import spinney

N_THREADS = 8
CLASSES, TARGETS = load_breast_cancer(return_X_y=True), load_diabetes(return_X_y=True)
# What a forest makes when it is first asked for it, or lays out for predictions.
USES = {
    "apply": lambda forest, X: forest.apply(X),
    "estimators_": lambda forest, X: [tree.tree_.threshold for tree in forest.estimators_],
    "feature_importances_": lambda forest, X: forest.feature_importances_,
    "pickle": lambda forest, X: pickle.loads(pickle.dumps(forest)).predict(X),
    "predict": lambda forest, X: forest.predict(X),
    "shap_values": lambda forest, X: forest.shap_values(X[:20]),
}


def at_once(work, items):
    """Return what threads compute that begin together, one for each item."""
    barrier = threading.Barrier(len(items))

    def begin(item):
        barrier.wait(timeout=60)
        return work(item)

    with ThreadPoolExecutor(len(items)) as pool:
        return list(pool.map(begin, items))


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python always has its lock"
)
def test_an_import_leaves_the_lock_off():
    """A module that needs the lock would turn it on for the whole program."""
    code = "import sys, spinney._spinney; print(sys._is_gil_enabled())"
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("False\n", "")


@pytest.mark.parametrize("use", USES)
def test_threads_share_a_forest(use):
    """The first use of a forest is the one in which threads could get in each other's way."""
    (X, y), ask = TARGETS, USES[use]
    forest = spinney.RandomForestRegressor(20, random_state=0)
    expected = ask(forest.fit(X, y), X)
    for _ in range(5):
        fresh = spinney.RandomForestRegressor(20, random_state=0).fit(X, y)
        for found in at_once(lambda _, fresh=fresh: ask(fresh, X), range(N_THREADS)):
            np.testing.assert_equal(found, expected)


def test_threads_share_a_data_set():
    X, y = CLASSES
    dataset = spinney.Dataset(X)

    def fit(seed):
        forest = spinney.RandomForestClassifier(10, random_state=seed, n_jobs=seed % 3 + 1)
        return forest.fit(dataset, y).predict_proba(X)

    for seed, found in enumerate(at_once(fit, range(N_THREADS))):
        np.testing.assert_array_equal(found, fit(seed))


def test_threads_share_a_lazy_forest():
    X, y = CLASSES
    lazy = spinney.LazyForestClassifier(30, random_state=0).fit(X[:500], y[:500])
    queries = np.array_split(X[500:], N_THREADS)
    expected = lazy.predict_proba(X[500:])
    np.testing.assert_array_equal(np.concatenate(at_once(lazy.predict_proba, queries)), expected)
