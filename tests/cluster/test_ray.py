"""Forests that the workers of a Ray cluster grow have the bits of local ones."""

import contextlib
import os
import random
import signal
import warnings

import numpy as np
import pandas as pd
import pytest
from joblib import cpu_count, parallel_config
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes

import spinney
from spinney._common.threads import count_threads

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    ray = pytest.importorskip("ray", reason="ray is in the extra 'ray'")
    pytest.importorskip("ray.data", reason="ray is in the extra 'ray'")
    psutil = pytest.importorskip("psutil", reason="Ray's processes are found by psutil")
    import spinney.ray as on_ray

pytestmark = [
    pytest.mark.timeout(600),
    # Warnings of Ray are Ray's.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning:ray"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray"),
]


@pytest.fixture(scope="module")
def cluster():
    """Ray on this machine, with two workers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        options = {"include_dashboard": False, "log_to_driver": False}
        ray.init(num_cpus=2, object_store_memory=10**8, **options)
        yield
        ray.shutdown()


def assert_same(forest, local):
    assert forest.forest_.seeds == local.forest_.seeds
    for one, other in zip(forest.forest_.sections(), local.forest_.sections(), strict=True):
        assert one.tobytes() == other.tobytes()
    assert forest.feature_importances_.tobytes() == local.feature_importances_.tobytes()


@pytest.mark.parametrize("name", [name for name in on_ray.__all__ if name != "RayWorkers"])
def test_the_bits_of_the_local_forest(name, cluster):
    """With weights, and out-of-bag estimates."""
    load = load_breast_cancer if name.endswith("Classifier") else load_diabetes
    X, y = load(return_X_y=True)
    weights = np.linspace(0.5, 1.5, len(y))
    forest, local = (
        getattr(module, name)(40, random_state=3, bootstrap=True, oob_score=True)
        for module in (on_ray, spinney)
    )
    assert_same(forest.fit(X, y, weights), local.fit(X, y, weights))
    assert forest.oob_score_ == local.oob_score_
    assert forest.predict(X).tobytes() == local.predict(X).tobytes()
    assert type(forest.to_local()) is type(local)


def test_ray_data_sets(cluster):
    """A column may be the target; predictions are lazy."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300)})
    y = (X["a"] > X["b"]).to_numpy().astype(int)
    rows = ray.data.from_pandas([X.assign(y=y)[:100], X.assign(y=y)[100:]])
    local = spinney.RandomForestClassifier(5, random_state=0).fit(X, y)
    forest = on_ray.RandomForestClassifier(5, random_state=0)
    assert_same(forest.fit(rows, "y"), local)
    assert forest.feature_names_in_.tolist() == ["a", "b"]
    lazy = forest.predict(ray.data.from_pandas(X))
    assert isinstance(lazy, ray.data.Dataset)
    found = [row["prediction"] for row in lazy.take_all()]
    assert found == local.predict(X).tolist()


def test_blocks_without_rows(cluster):
    """They have no predictions, and do not change a fit."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300)})
    y = (X["a"] > X["b"]).to_numpy().astype(int)
    local = spinney.RandomForestClassifier(5, random_state=0).fit(X, y)
    forest = on_ray.RandomForestClassifier(5, random_state=0)
    rows = ray.data.from_pandas([X[:0], X[:100], X[100:100], X[100:]])
    assert_same(forest.fit(rows, y), local)
    for method in ("predict", "predict_proba"):
        found = [row["prediction"] for row in getattr(forest, method)(rows).take_all()]
        np.testing.assert_array_equal(np.stack(found), getattr(local, method)(X))
    assert forest.predict(ray.data.from_pandas([X[:0]])).take_all() == []


def test_blocks_of_other_types(cluster):
    """Whole numbers in one and others in the next; each has categories of its own."""
    rng = np.random.default_rng(0)
    halves = [
        pd.DataFrame({"a": np.arange(60), "b": pd.Categorical(rng.choice(["x", "y"], 60))}),
        pd.DataFrame({"a": np.arange(60) / 7, "b": pd.Categorical(rng.choice(["y", "z"], 60))}),
    ]
    X = pd.concat(halves, ignore_index=True).astype({"b": "category"})
    y = ((X["a"] > 5) ^ (X["b"] == "y")).to_numpy().astype(int)
    parameters = {"categorical_features": "from_dtype", "random_state": 0}
    local = spinney.RandomForestClassifier(5, **parameters).fit(X, y)
    forest = on_ray.RandomForestClassifier(5, **parameters)
    assert_same(forest.fit(ray.data.from_pandas(halves), y), local)
    assert forest.categories_[1].tolist() == ["x", "y", "z"]


def test_options(cluster):
    """They are those of tasks, and clones have them."""
    forest = on_ray.RandomForestClassifier(3, options={"num_cpus": 2})
    assert clone(forest).options == {"num_cpus": 2}
    X, y = load_breast_cancer(return_X_y=True)
    assert len(forest.fit(X, y).estimators_) == 3
    with pytest.raises(ValueError, match="'options' parameter of RandomForestClassifier must be"):
        on_ray.RandomForestClassifier(options=5).fit(X, y)


def test_the_workers_as_an_executor(cluster):
    """`grow_with` takes them, for the local classes."""
    X, y = load_breast_cancer(return_X_y=True)
    local = spinney.RandomForestClassifier(8, random_state=0).fit(X, y)
    with spinney.grow_with(on_ray.RayWorkers()):
        forest = clone(local).fit(X, y)
    assert_same(forest, local)


def test_committees_of_boosting(cluster):
    """Workers fit the estimators."""
    X, y = load_diabetes(return_X_y=True)
    boosting = spinney.GradientBoostingRegressor(n_estimators=8, subsample=0.7)
    local = spinney.BaggingRegressor(boosting, 5, random_state=0).fit(X, y)
    with spinney.grow_with(on_ray.RayWorkers()):
        committee = clone(local).fit(X, y)
    np.testing.assert_array_equal(committee.predict(X), local.predict(X))


def test_an_error_of_a_worker_reaches_the_user(cluster, monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    monkeypatch.setattr("spinney._cluster.job.__version__", "9.9.9")
    with pytest.raises(RuntimeError, match=r"same version of spinney, 9\.9\.9"):
        on_ray.RandomForestClassifier(3).fit(X, y)


def test_killed_workers(cluster, monkeypatch):
    """One of the processes that grow trees at every third task."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 20)).astype(np.float32)
    y = (X[:, :5].sum(axis=1) + rng.normal(size=len(X)) > 0).astype(int)
    local = spinney.RandomForestClassifier(40, random_state=0).fit(X, y)
    submitted, killed, chance = [], [], random.Random(0)
    submit = on_ray.RayWorkers.submit

    def submit_and_kill(self, *args):
        submitted.append(args)
        workers = list_workers()
        if len(submitted) % 3 == 0 and workers:
            killed.append(chance.choice(workers).pid)
            os.kill(killed[-1], signal.SIGKILL)
        return submit(self, *args)

    monkeypatch.setattr(on_ray.RayWorkers, "submit", submit_and_kill)
    # Short tasks, of which there are many.
    monkeypatch.setattr("spinney._cluster.growth._TASK_SECONDS", 0.1)
    forest = on_ray.RandomForestClassifier(40, random_state=0).fit(X, y)
    assert len(killed) >= 2
    assert_same(forest, local)


def list_workers():
    """Return the processes of this Ray that are running tasks of ours."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if "grow" in " ".join(process.cmdline()):
                found.append(process)
    return found


def test_n_jobs_means_threads_of_one_machine(cluster):
    """Not the cores of the cluster."""
    from ray.util.joblib import register_ray

    register_ray()
    with parallel_config("ray"):
        assert count_threads(None) == 1
        assert count_threads(-1) == cpu_count()


def test_no_connection():
    if ray.is_initialized():
        ray.shutdown()
    with pytest.raises(ValueError, match=r"Call ray\.init first"):
        on_ray.RandomForestClassifier().fit([[1.0], [2.0]], [0, 1])
