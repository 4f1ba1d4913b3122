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
def client():
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


def test_a_path_is_read_where_it_is(client, tmp_path):
    """The job has the path, and not the bytes."""
    X, y = task_of("RandomForestRegressor")
    Dataset(X).save(tmp_path / "data")
    forest, local = pair("RandomForestRegressor", 6, max_depth=4)
    sizes, scatter = [], client.scatter
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            client,
            "scatter",
            lambda job, **options: sizes.append(len(pickle.dumps(job))) or scatter(job, **options),
        )
        assert_same(forest.fit(str(tmp_path / "data"), y), local.fit(X, y), X)
    assert len(sizes) == 1
    assert sizes[0] < 10 * len(y) + 2000


def test_the_client_as_an_executor(client):
    """`grow_with` takes it, for the local classes."""
    X, y = task_of("RandomForestClassifier")
    local = spinney.RandomForestClassifier(8, random_state=0).fit(X, y)
    with spinney.grow_with(client):
        forest = clone(local).fit(X, y)
    assert_same(forest, local, X)


@pytest.mark.parametrize("subsample", [1.0, 0.7])
def test_committees_of_boosting(client, subsample):
    """Workers fit the estimators; a warm start hands out the new ones alone."""
    X, y = load_breast_cancer(return_X_y=True)
    boosting = spinney.GradientBoostingClassifier(n_estimators=8, subsample=subsample)
    local = spinney.BaggingClassifier(
        boosting, 8, max_samples=0.3, oob_score=True, random_state=0
    ).fit(X, y)
    committee = clone(local).set_params(n_estimators=4, warm_start=True, oob_score=False)
    with spinney.grow_with(client):
        committee.fit(X, y).set_params(n_estimators=8, oob_score=True).fit(X, y)
    np.testing.assert_array_equal(committee.predict_proba(X), local.predict_proba(X))
    np.testing.assert_array_equal(committee.oob_decision_function_, local.oob_decision_function_)


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


@pytest.mark.parametrize("name", ["RandomForestClassifier", "ExtraTreesRegressor"])
def test_partitions_without_rows(client, name):
    """They have no predictions, also where all partitions are empty; they do not change a fit."""
    X, y = frame_of()
    forest, local = pair(name, 3, categorical_features=["b"])
    frame = dd.from_pandas(X.assign(y=y), npartitions=4, sort=False)
    kept = frame.map_partitions(lambda part: part if part.index[0] != 75 else part[:0])
    rows = kept.compute()
    assert [len(part) for part in kept.partitions] == [75, 0, 75, 75]
    local.fit(rows[["a", "b"]], rows["y"])
    assert_same(forest.fit(kept[["a", "b"]], kept["y"]), local, rows[["a", "b"]])
    nothing = frame.map_partitions(lambda part: part[:0])
    methods = ["predict"]
    if name.endswith("Classifier"):
        methods += ["predict_proba", "predict_log_proba"]
    for method in methods:
        expected = getattr(local, method)(rows[["a", "b"]])
        found = getattr(forest, method)(kept[["a", "b"]]).compute()
        assert found.tobytes() == expected.tobytes()
        none = getattr(forest, method)(nothing[["a", "b"]]).compute()
        assert (none.shape, none.dtype) == ((0, *expected.shape[1:]), expected.dtype)
    numbers = rows[["a"]].to_numpy()
    blocks = da.from_array(numbers, chunks=((0, 100, 0, 125), (1,)))
    targets = np.column_stack([rows["y"], rows["y"] > 0])
    forest, local = pair(name, 3)
    expected = local.fit(numbers, targets).predict(numbers)
    np.testing.assert_array_equal(forest.fit(blocks, targets).predict(blocks).compute(), expected)
    if name.endswith("Classifier"):
        for lazy, of_output in zip(
            forest.predict_proba(blocks), local.predict_proba(numbers), strict=True
        ):
            np.testing.assert_array_equal(lazy.compute(), of_output)


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
    share = on_dask.DaskWorkers.share

    def remove_and_share(self, job):
        path.unlink()
        return share(self, job)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(on_dask.DaskWorkers, "share", remove_and_share)
        with pytest.raises(OSError, match="All hosts must be able to read the file"):
            forest.fit(path, y)
    assert not hasattr(forest, "forest_")


def test_other_versions_on_workers(client, monkeypatch):
    X, y = task_of("RandomForestClassifier")
    monkeypatch.setattr("spinney._cluster.job.__version__", "9.9.9")
    with pytest.raises(RuntimeError, match=r"same version of spinney, 9\.9\.9"):
        on_dask.RandomForestClassifier(3).fit(X, y)


def test_no_client():
    code = "import spinney.dask as d; d.RandomForestClassifier().fit([[1.0], [2.0]], [0, 1])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "there is none. Make a distributed.Client, or pass one." in run.stderr


# --- What is sent -------------------------------------------------------------------------------


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


def test_workers_get_the_data_once():
    """From the client to one, and from there to the others; tasks have none of them."""
    X = np.random.default_rng(0).normal(size=(20_000, 50)).astype(np.float32)
    y = X[:, 0] + X[:, 1] > 0
    forest, local = pair("RandomForestClassifier", 12, max_depth=5)
    local.fit(X, y)
    with start(3), count_bytes() as sent:
        before = sum(sent)
        assert_same(forest.fit(X, y), local, X)
        n_bytes = Dataset(X).n_bytes
        assert n_bytes < sum(sent) - before < 1.5 * n_bytes + 12 * 50_000


def test_a_machine_that_does_not_answer(client, monkeypatch):
    """What could not be sent is sent again."""
    X, y = task_of("RandomForestClassifier")
    forest, local = pair("RandomForestClassifier", 6)
    scatter, failed = client.scatter, []

    def fail_first(*args, **options):
        if not failed:
            failed.append("scatter")
            raise OSError("Timed out trying to connect to tcp://10.0.0.1:1 after 30 s")
        return scatter(*args, **options)

    monkeypatch.setattr(client, "scatter", fail_first)
    assert_same(forest.fit(X, y), local.fit(X, y), X)
    assert failed


def test_little_memory(monkeypatch):
    """Workers that the data kill: the message says how much it takes."""
    monkeypatch.setattr("spinney._cluster.growth._LOSING", 10.0)
    monkeypatch.setattr("spinney._cluster.growth._MAX_LOSSES", 2)
    X = np.random.default_rng(0).normal(size=(400_000, 200)).astype(np.float32)
    y = np.arange(len(X)) % 2
    message = r"lost tasks for \d+ seconds .* needs at least 6\d\d,\d\d\d,\d\d\d bytes"
    with (
        start(1, memory_limit=300_000_000, silence_logs=50),
        pytest.raises(RuntimeError, match=message),
    ):
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


def test_killed_workers():
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


def test_results_that_die_with_the_last_worker(monkeypatch):
    """Dask would wait for another worker for ever."""
    X, y = task_of("RandomForestClassifier")
    with start(1, silence_logs=50) as client:
        submit = on_dask.DaskWorkers.submit

        def submit_and_remove(self, *args):
            task = submit(self, *args)
            client.cluster.scale(0)
            while client.nthreads():
                time.sleep(0.05)
            return task

        monkeypatch.setattr("spinney._cluster.growth._PATIENCE", 3.0)
        monkeypatch.setattr(on_dask.DaskWorkers, "submit", submit_and_remove)
        message = r"no workers for 3 seconds"
        with pytest.raises(TimeoutError, match=message):
            on_dask.RandomForestClassifier(5).fit(X, y)


def test_results_that_die_with_their_worker(monkeypatch):
    """Their ranges run again on the worker that is left."""
    X, y = task_of("RandomForestClassifier")
    forest, local = pair("RandomForestClassifier", 8)
    lost, submit = [], on_dask.DaskWorkers.submit
    with start(2, silence_logs=50) as client:

        def kill_one(self, *args):
            task = submit(self, *args)
            if len(self._tasks) == 3 and not lost:
                nannies = list(client.cluster.workers.values())
                lost.append(nannies[0].pid)
                os.kill(lost[0], signal.SIGKILL)
            return task

        monkeypatch.setattr(on_dask.DaskWorkers, "submit", kill_one)
        assert_same(forest.fit(X, y), local.fit(X, y), X)
    assert lost


def test_an_interrupt_cancels_the_tasks(client, monkeypatch):
    X, y = task_of("RandomForestClassifier")
    handed_out, submit = [], on_dask.DaskWorkers.submit

    def note(self, *args):
        coming = submit(self, *args)
        handed_out.append(self._tasks[-1])
        return coming

    def interrupt(tasks, seconds, return_when):
        raise KeyboardInterrupt

    monkeypatch.setattr(on_dask.DaskWorkers, "submit", note)
    monkeypatch.setattr("spinney._cluster.growth.wait", interrupt)
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
