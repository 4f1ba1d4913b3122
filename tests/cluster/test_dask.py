"""Forests that the workers of a Dask cluster grow have the bits of local ones."""

import contextlib
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from joblib import cpu_count, parallel_config
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

import spinney
from conftest import REPOSITORY
from spinney import Dataset
from spinney._cluster import host_cache
from spinney._cluster.task import report_host
from spinney._common.threads import count_threads

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    distributed = pytest.importorskip("distributed", reason="dask is in the extra 'dask'")
    da = pytest.importorskip("dask.array", reason="dask is in the extra 'dask'")
    dd = pytest.importorskip("dask.dataframe", reason="dask is in the extra 'dask'")
    import spinney.dask as on_dask

pytestmark = [
    pytest.mark.timeout(600),
    # Of Dask's own sockets and processes, which tests kill.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:.*Sending large graph"),
]
NAMES = on_dask.__all__
every_forest = pytest.mark.parametrize("name", NAMES)


@contextlib.contextmanager
def start(n_workers=2, **options):
    """A cluster of processes of this machine, and its client."""
    settings = {"threads_per_worker": 1, "dashboard_address": ":0", **options}
    cluster = distributed.LocalCluster(n_workers=n_workers, **settings)
    try:
        with distributed.Client(cluster) as client:
            yield client
    finally:
        # Old versions wait in vain for killed workers that are about to start again.
        with contextlib.suppress(TimeoutError):
            cluster.close()


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """The cache of this host, which workers inherit."""
    with pytest.MonkeyPatch.context() as patch:
        path = tmp_path_factory.mktemp("cache")
        patch.setenv(host_cache.VARIABLE, str(path))
        yield path


@pytest.fixture(scope="module")
def client(cache):
    with start(threads_per_worker=2) as client:
        yield client


def task_of(name):
    classifies = name.endswith("Classifier")
    return (load_breast_cancer if classifies else load_diabetes)(return_X_y=True)


def pair(name, *args, **parameters):
    """Return the forest of Dask, and the local one."""
    parameters = {"random_state": 3, **parameters}
    return (getattr(m, name)(*args, **parameters) for m in (on_dask, spinney))


def assert_same(forest, local, X):
    """Trees, predictions and everything that `fit` sets have the same bits."""
    assert forest.forest_.seeds == local.forest_.seeds
    for one, other in zip(forest.forest_.sections(), local.forest_.sections(), strict=True):
        assert one.tobytes() == other.tobytes()
    assert forest.predict(X).tobytes() == local.predict(X).tobytes()
    assert forest.feature_importances_.tobytes() == local.feature_importances_.tobytes()
    fitted = {name for name in vars(local) if name.endswith("_")}
    assert fitted == {name for name in vars(forest) if name.endswith("_")}
    for name in fitted - {"forest_", "categories_"}:
        np.testing.assert_array_equal(getattr(forest, name), getattr(local, name))


@every_forest
@pytest.mark.parametrize("bootstrap", [True, "poisson"])
def test_the_bits_of_the_local_forest(name, bootstrap, client):
    """With weights, and out-of-bag estimates."""
    X, y = task_of(name)
    weights = np.linspace(0.1, 2.0, len(y))
    forest, local = pair(name, 17, bootstrap=bootstrap, oob_score=True, max_depth=6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert_same(forest.fit(X, y, weights), local.fit(X, y, weights), X)
    assert forest.oob_score_ == local.oob_score_
    assert len(forest.estimators_) == 17
    rows = zip(forest.estimators_samples_, local.estimators_samples_, strict=True)
    assert all(np.array_equal(one, other) for one, other in rows)
    assert forest.decision_path(X)[1].tolist() == local.decision_path(X)[1].tolist()


def frame_of(n_rows=300):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=n_rows), "b": rng.choice(list("xyz"), n_rows)})
    frame.loc[::7, "a"] = np.nan
    return frame, rng.integers(0, 3, n_rows)


def test_frames_with_categories(client):
    X, y = frame_of()
    forest, local = pair("RandomForestClassifier", 9, categorical_features=["b"])
    assert_same(forest.fit(X, y), local.fit(X, y), X)
    assert forest.feature_names_in_.tolist() == ["a", "b"]


def test_sparse_matrices_and_data_sets(client, tmp_path):
    """A matrix, a data set with and without a file, a view, and a path."""
    rng = np.random.default_rng(1)
    X = sparse.random(400, 50, 0.1, format="csr", random_state=rng)
    y = rng.normal(size=400)
    forest, local = pair("ExtraTreesRegressor", 11)
    local.fit(X, y)
    assert_same(forest.fit(X, y), local, X)
    dataset = Dataset(X)
    assert_same(forest.fit(dataset, y), local, X)
    dataset.save(tmp_path / "data")
    assert_same(forest.fit(dataset, y), local, X)
    assert_same(forest.fit(tmp_path / "data", y), local, X)
    rows = rng.permutation(400)[:300]
    assert_same(forest.fit(dataset[rows], y[rows]), local.fit(X[rows], y[rows]), X)


def test_a_path_is_read_where_it_is(client, cache, tmp_path):
    """The cache does not get a copy."""
    X, y = task_of("RandomForestRegressor")
    before = {path.name for path in cache.iterdir()}
    Dataset(X).save(tmp_path / "data")
    forest, local = pair("RandomForestRegressor", 6, max_depth=4)
    assert_same(forest.fit(str(tmp_path / "data"), y), local.fit(X, y), X)
    new = {path.name for path in cache.iterdir()} - before
    assert all((cache / name).stat().st_size < 10 * len(y) for name in new)


def test_warm_start(client):
    X, y = task_of("RandomForestClassifier")
    forest, local = pair("RandomForestClassifier", 5, warm_start=True, oob_score=True)
    for n_trees in (5, 12):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            forest.set_params(n_estimators=n_trees).fit(X, y)
            local.set_params(n_estimators=n_trees).fit(X, y)
        assert_same(forest, local, X)


def test_dask_arrays(client):
    """They are encoded in portions, and predictions for them are lazy."""
    X, y = task_of("RandomForestClassifier")
    forest, local = pair("RandomForestClassifier", 7)
    blocks = da.from_array(X, chunks=(100, 11))
    assert_same(forest.fit(blocks, da.from_array(y, chunks=50)), local.fit(X, y), X)
    for method in ("predict", "predict_proba", "predict_log_proba"):
        lazy = getattr(forest, method)(blocks)
        assert isinstance(lazy, da.Array)
        assert lazy.chunks[0] == blocks.chunks[0]
        with np.errstate(divide="ignore"):
            expected = getattr(local, method)(X)
        assert (lazy.shape, lazy.dtype) == (expected.shape, expected.dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            assert lazy.compute().tobytes() == expected.tobytes()


def test_several_outputs_for_dask_arrays(client):
    X, y = task_of("RandomForestClassifier")
    Y = np.column_stack([y, X[:, 0] > 14, np.arange(len(y)) % 3])
    blocks = da.from_array(X, chunks=(200, 30))
    forest, local = pair("ExtraTreesClassifier", 5)
    forest.fit(X, Y)
    local.fit(X, Y)
    np.testing.assert_array_equal(forest.predict(blocks).compute(), local.predict(X))
    for lazy, expected in zip(forest.predict_proba(blocks), local.predict_proba(X), strict=True):
        np.testing.assert_array_equal(lazy.compute(), expected)
    forest, local = pair("ExtraTreesRegressor", 5)
    forest.fit(X, X[:, :2])
    np.testing.assert_array_equal(forest.predict(blocks), local.fit(X, X[:, :2]).predict(X))


def test_dask_frames(client):
    X, y = frame_of()
    frame = dd.from_pandas(X, npartitions=3)
    forest, local = pair("RandomForestClassifier", 9, categorical_features=["b"])
    assert_same(forest.fit(frame, y), local.fit(X, y), X)
    lazy = forest.predict(frame)
    assert isinstance(lazy, da.Array)
    assert lazy.compute().tolist() == local.predict(X).tolist()


def test_copies_and_files(client, tmp_path):
    """Clones have the client; pickles and files do not."""
    X, y = task_of("RandomForestClassifier")
    forest = on_dask.RandomForestClassifier(4, random_state=0, client=client)
    assert forest.get_params()["client"] is client
    assert clone(forest).client is client
    assert isinstance(clone(forest), on_dask.RandomForestClassifier)
    with pytest.raises(NotFittedError):
        clone(forest.fit(X, y)).predict(X)
    assert "client" not in repr(on_dask.RandomForestClassifier())
    again = pickle.loads(pickle.dumps(forest))
    assert again.client is None
    local = forest.to_local()
    assert type(local) is spinney.RandomForestClassifier
    assert "client" not in vars(local)
    forest.save(tmp_path / "model")
    expected = spinney.RandomForestClassifier(4, random_state=0).fit(X, y).predict_proba(X)
    for model in (again, local, spinney.load(tmp_path / "model")):
        assert model.predict_proba(X).tobytes() == expected.tobytes()


def test_progress(client, capfd):
    X, y = task_of("RandomForestClassifier")
    on_dask.RandomForestClassifier(6, verbose=2).fit(X, y)
    assert "building tree 6 of 6" in capfd.readouterr().err


def test_bad_parameters(client):
    X, y = task_of("RandomForestClassifier")
    with pytest.raises(ValueError, match=r"'client' parameter .* distributed.Client or None"):
        on_dask.RandomForestClassifier(client=5).fit(X, y)
    with pytest.raises(ValueError, match="'n_estimators' parameter of RandomForestClassifier"):
        on_dask.RandomForestClassifier(0).fit(X, y)
    with pytest.raises(TypeError, match="unexpected keyword argument 'n_trees'"):
        on_dask.RandomForestClassifier(n_trees=5)


def test_an_error_of_a_worker_reaches_the_user(client, tmp_path):
    """A file that the client has opened and that workers do not find."""
    X, y = task_of("RandomForestClassifier")
    path = tmp_path / "data"
    Dataset(X).save(path)
    forest = on_dask.RandomForestClassifier(3)
    ship = type(forest)._ship

    def ship_and_remove(self, X):
        shipped = ship(self, X)
        path.unlink()
        return shipped

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(forest), "_ship", ship_and_remove)
        with pytest.raises(OSError, match="All hosts must be able to read the file"):
            forest.fit(path, y)
    assert not hasattr(forest, "forest_")


def test_other_versions_on_workers(client, monkeypatch):
    X, y = task_of("RandomForestClassifier")
    monkeypatch.setattr("spinney._cluster.task.__version__", "9.9.9")
    with pytest.raises(RuntimeError, match=r"The worker tcp://.* same version of spinney, 9\.9\.9"):
        on_dask.RandomForestClassifier(3).fit(X, y)


def test_no_client():
    code = "import spinney.dask as d; d.RandomForestClassifier().fit([[1.0], [2.0]], [0, 1])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "there is none. Make a distributed.Client, or pass one." in run.stderr


# --- Hosts that share nothing -------------------------------------------------------------------


@contextlib.contextmanager
def start_hosts(n_hosts, directory):
    """Workers with caches of their own stand for hosts."""
    scheduler = {"cls": distributed.Scheduler, "options": {"dashboard_address": ":0"}}
    hosts = {
        n: {
            "cls": distributed.Nanny,
            "options": {
                "nthreads": 1,
                "env": {host_cache.VARIABLE: str(directory / f"host-{n}")},
            },
        }
        for n in range(n_hosts)
    }
    with (
        distributed.SpecCluster(hosts, scheduler) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_hosts_get_the_data_once(cache, tmp_path):
    X = np.random.default_rng(0).normal(size=(20_000, 20)).astype(np.float32)
    y = X[:, 0] + X[:, 1] > 0
    forest, local = pair("RandomForestClassifier", 12, max_depth=5)
    local.fit(X, y)
    with start_hosts(3, tmp_path) as client:
        assert_same(forest.fit(X, y), local, X)
        hosts = client.run(report_host, spinney.__version__, [])
        assert len({report.host for report in hosts.values()}) == 3
        before = [
            sorted((path.name, path.stat().st_ino) for path in (tmp_path / f"host-{n}").iterdir())
            for n in range(3)
        ]
        assert all(len(files) == 3 for files in before)
        forest.fit(X, y)
        after = [
            sorted((path.name, path.stat().st_ino) for path in (tmp_path / f"host-{n}").iterdir())
            for n in range(3)
        ]
        assert after == before
        # A host that has lost its files gets them again, though its worker has them open.
        for path in (tmp_path / "host-1").glob("*[0-9a-f]"):
            path.unlink()
        assert_same(forest.fit(X, y), local, X)


def test_a_machine_that_does_not_answer(cache, tmp_path, monkeypatch):
    """What could not be sent is sent again."""
    X, y = task_of("RandomForestClassifier")
    forest, local = pair("RandomForestClassifier", 6)
    local.fit(X, y)
    error = OSError("Timed out trying to connect to tcp://10.0.0.1:1 after 30 s")
    with start_hosts(2, tmp_path) as client:
        scatter, run, failed = client.scatter, client.run, []

        def fail_first(*args, **options):
            if "scatter" not in failed:
                failed.append("scatter")
                raise error
            return scatter(*args, **options)

        def fail_second(*args, **options):
            # What is run on all workers is no piece of a file.
            if "workers" in options and "run" not in failed:
                failed.append("run")
                return {"tcp://10.0.0.1:1": error}
            return run(*args, **options)

        monkeypatch.setattr(client, "scatter", fail_first)
        monkeypatch.setattr(client, "run", fail_second)
        assert_same(forest.fit(X, y), local, X)
    assert failed == ["scatter", "run"]


def test_little_memory(cache, monkeypatch):
    """The message says how much it takes."""
    X, y = np.zeros((300_000, 1), dtype=np.float32), np.arange(300_000) % 2
    monkeypatch.setattr("spinney._cluster.plan._BYTES_PER_SAMPLE", 10_000)
    message = r"A worker .* 1,000,000,000 bytes of memory and 1 threads: it needs at least 3,00"
    with start(1, memory_limit=1_000_000_000), pytest.raises(MemoryError, match=message):
        on_dask.RandomForestClassifier(2).fit(X, y)


# --- Workers that die ---------------------------------------------------------------------------


def is_running(server):
    return server.status.name == "running"


@contextlib.contextmanager
def kill_workers(client, seconds, seed):
    """Kill a random worker every so often, but not the last; yield the list of those that were."""
    killed, stop, chance = [], threading.Event(), random.Random(seed)

    def kill():
        while not stop.wait(seconds):
            # Dask gives up a worker that dies while it starts, and somebody has to be left.
            nannies = client.cluster.workers.values()
            running = [n for n in nannies if n.process and is_running(n) and is_running(n.process)]
            if len(running) > 1:
                killed.append(chance.choice(running).pid)
                os.kill(killed[-1], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        stop.set()
        thread.join()


def test_killed_workers(cache):
    """Every second one of the workers: the bits are those of the local forest."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 20)).astype(np.float32)
    y = (X[:, :5].sum(axis=1) + rng.normal(size=len(X)) > 0).astype(int)
    forest, local = pair("RandomForestClassifier", 60)
    local.fit(X, y)
    with start(4, silence_logs=50) as client:
        with kill_workers(client, 1.0, seed=0) as killed:
            forest.fit(X, y)
        assert killed
        assert_same(forest, local, X[:100])


def test_results_that_die_with_the_last_worker(cache, monkeypatch):
    """Dask would wait for another worker for ever."""
    X, y = task_of("RandomForestClassifier")
    collect = on_dask.DaskCluster.collect
    with start(1, silence_logs=50) as client:

        def remove_workers(self, task):
            client.cluster.scale(0)
            while client.nthreads():
                time.sleep(0.05)
            return collect(self, task)

        monkeypatch.setattr("spinney._cluster.plan._PATIENCE", 3.0)
        monkeypatch.setattr(on_dask.DaskCluster, "collect", remove_workers)
        with pytest.raises(TimeoutError, match="no workers for 3 seconds"):
            on_dask.RandomForestClassifier(5).fit(X, y)


def test_results_that_die_with_their_worker(cache, monkeypatch):
    """Their ranges run again on the worker that is left."""
    X, y = task_of("RandomForestClassifier")
    forest, local = pair("RandomForestClassifier", 8)
    collect, lost = on_dask.DaskCluster.collect, []
    with start(2, silence_logs=50) as client:

        def kill_holder(self, task):
            if not lost:
                (holder,) = client.who_has([task])[task.key]
                lost.append(holder)
                nannies = client.cluster.workers.values()
                (pid,) = [n.pid for n in nannies if n.worker_address == holder]
                os.kill(pid, signal.SIGKILL)
            return collect(self, task)

        monkeypatch.setattr(on_dask.DaskCluster, "collect", kill_holder)
        assert_same(forest.fit(X, y), local.fit(X, y), X)
    assert lost


def test_an_interrupt_cancels_the_tasks(client, monkeypatch):
    X, y = task_of("RandomForestClassifier")
    plan = on_dask.DaskCluster
    handed_out = []
    submit = plan.submit

    def note(self, *args):
        handed_out.append(submit(self, *args))
        return handed_out[-1]

    def interrupt(self, tasks, seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(plan, "submit", note)
    monkeypatch.setattr(plan, "wait", interrupt)
    with pytest.raises(KeyboardInterrupt):
        on_dask.RandomForestClassifier(500).fit(X, y)
    assert handed_out
    assert all(task.cancelled() for task in handed_out)
    deadline = time.monotonic() + 60
    while any(client.processing().values()):
        assert time.monotonic() < deadline
        time.sleep(0.1)


# --- joblib -------------------------------------------------------------------------------------


def test_n_jobs_means_threads_of_one_machine(client):
    """Not the cores of the cluster."""
    with parallel_config("dask"):
        assert count_threads(None) == 1
        assert count_threads(-1) == cpu_count()
        assert count_threads(3) == 3
        X, y = task_of("RandomForestClassifier")
        forest = spinney.RandomForestClassifier(3, n_jobs=-1, random_state=0).fit(X, y)
    expected = spinney.RandomForestClassifier(3, random_state=0).fit(X, y)
    assert forest.predict_proba(X).tobytes() == expected.predict_proba(X).tobytes()


@contextlib.contextmanager
def count_bytes():
    """Yield a list of what this process, in which client and scheduler run, sends to others."""
    sent, write = [], distributed.comm.tcp.TCP.write

    async def count(self, *args, **options):
        n_bytes = await write(self, *args, **options)
        sent.append(n_bytes)
        return n_bytes

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distributed.comm.tcp.TCP, "write", count)
        yield sent


def test_a_search_sends_parameters_and_rows(client, tmp_path):
    """A data set with a file, and a view of it, travel as the path."""
    rng = np.random.default_rng(0)
    n_rows = 20_000
    X = rng.normal(size=(n_rows, 100)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    dataset = Dataset(X)
    dataset.save(tmp_path / "data")
    rows = rng.permutation(n_rows)
    grid = {"min_samples_leaf": [1, 5], "max_depth": [2, 4]}
    search = GridSearchCV(
        spinney.RandomForestClassifier(2, max_features=2, random_state=0), grid, cv=3, refit=False
    )
    n_tasks = 4 * 3
    # For each of two workers, and once to the scheduler: rows of folds, targets, rows of the view.
    ids = 3 * 8 * n_rows * (3 + 1 + 1)
    for data, values, target in ((dataset, X, y), (dataset[rows], X[rows], y[rows])):
        expected = search.fit(values, target).cv_results_["mean_test_score"]
        with parallel_config("dask"), count_bytes() as sent:
            found = clone(search).fit(data, target).cv_results_["mean_test_score"]
        np.testing.assert_array_equal(found, expected)
        assert 0 < sum(sent) < ids + n_tasks * 50_000 < X.nbytes / 2
    # What it is without a file: the test can fail.
    with parallel_config("dask"), count_bytes() as sent:
        clone(search).fit(Dataset(X), y)
    assert sum(sent) > X.nbytes


def test_the_example_of_the_gallery(tmp_path):
    """A forest of two workers of this machine, and its picture."""
    example = REPOSITORY / "examples" / "dask_forest.py"
    command = [sys.executable, str(example), str(tmp_path / "picture.svg")]
    environment = {**os.environ, "MPLBACKEND": "agg"}
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert "in 4 blocks" in run.stdout
    assert "the forest of one process: True" in run.stdout
    assert len(list(ET.parse(tmp_path / "picture.svg").iter())) > 50


def test_the_example_of_a_search(tmp_path):
    """A search on two workers of this machine."""
    example = REPOSITORY / "examples" / "cluster_search.py"
    command = [sys.executable, str(example), str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "travels as" in run.stdout
    assert "accuracy 0.9" in run.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["digits.spinney"]
