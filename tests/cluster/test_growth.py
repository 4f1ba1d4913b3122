"""How workers grow a forest: those of the test's own, which lose what they like, and pools."""

import pickle
import random
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_all_start_methods, get_context

import numpy as np
import pandas as pd
import pytest
from joblib.externals import loky
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import cross_val_predict

import spinney
from spinney import Dataset, RandomForestClassifier
from spinney import model_selection as ours
from spinney._cluster import growth, job
from spinney._cluster.active import get_workers, use_workers
from spinney._cluster.growth import Workers
from spinney.causal import CausalForest


class Lost(Exception):
    """A worker has died."""


def run(task, shared, numbers, is_lost):
    """Do what a worker does."""
    try:
        if is_lost:
            raise Lost("killed")
        task.set_result(pickle.loads(shared).grow(*numbers))
    except (Lost, RuntimeError) as error:
        task.set_exception(error)


class Own(Workers):
    """Workers in this process, with losses that a seed chooses."""

    LOST = (Lost,)

    def __init__(self, seed=0, n_slots=3, p_lost=0.0):
        self.random, self.n_slots, self.p_lost = random.Random(seed), n_slots, p_lost
        self.ranges, self.n_shared, self.n_released, self.waiting = [], 0, 0, []

    def count(self):
        self.work()
        return self.n_slots

    def work(self):
        """End tasks in any order."""
        self.random.shuffle(self.waiting)
        for task, shared, numbers in self.waiting:
            run(task, shared, numbers, self.random.random() < self.p_lost)
        self.waiting = []

    def share(self, job):
        self.n_shared += 1
        if self.random.random() < self.p_lost:
            raise Lost("shared in vain")
        return pickle.dumps(job)

    def submit(self, shared, first_tree, n_trees):
        self.ranges.append((first_tree, n_trees))
        self.waiting.append((Future(), shared, (first_tree, n_trees)))
        task = self.waiting[-1][0]
        if len(self.ranges) % 4 == 0 or first_tree + n_trees == 23:
            self.work()
        return task

    def release(self):
        self.n_released += 1


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Nobody waits for a task that these workers end when they are asked again."""
    monkeypatch.setattr(growth, "_LOOK", 0.01)


@pytest.fixture(scope="module")
def problem():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:200], y[:200], np.linspace(0.5, 2.0, 200)


def same(one, other):
    """Return whether two forests have the same bits."""
    pairs = zip(one.forest_.sections(), other.forest_.sections(), strict=True)
    return one.forest_.seeds == other.forest_.seeds and all(np.array_equal(a, b) for a, b in pairs)


def make(**parameters):
    return RandomForestClassifier(23, random_state=1, **parameters)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("bootstrap", [True, False, "poisson"])
def test_the_bits_do_not_depend_on_the_workers(seed, bootstrap, problem, monkeypatch):
    """Tasks of any size that finish in any order, of which a third are lost."""
    monkeypatch.setattr(growth, "_TASK_SECONDS", [0.0, 0.01, 100.0][seed % 3])
    workers = Own(seed, n_slots=1 + seed, p_lost=0.33 if seed % 2 else 0.0)
    with use_workers(workers):
        forest = make(bootstrap=bootstrap).fit(*problem)
    assert same(forest, make(bootstrap=bootstrap).fit(*problem))
    n_grown = sum(n for _, n in workers.ranges)
    assert n_grown > 23 if seed % 2 else n_grown == 23
    # What has died with its workers is shared again.
    assert workers.n_shared > 1 if seed % 2 else workers.n_shared == 1
    assert workers.n_released == 1


@pytest.mark.parametrize("of_frame", [False, True])
def test_causal_forests_are_grown_by_workers(of_frame, problem, monkeypatch):
    """Those that centre the data, too, batch by batch; leaves are filled here."""
    monkeypatch.setattr("spinney.causal._growth._DRAWS_AT_ONCE", 17 * 200)
    X, y, weights = problem
    X, T = X[:, :6], (np.arange(200) * 7 % 10 < 5).astype(int)
    if of_frame:
        X = pd.DataFrame(X).rename(columns=str)
        X["kind"] = pd.Categorical(np.array(["a", "b", "c"])[np.arange(200) % 3])
    causal = CausalForest(40, categorical_features="from_dtype" if of_frame else None)
    causal.set_params(random_state=0)
    workers = Own(1, p_lost=0.2)
    with use_workers(workers):
        forest = clone(causal).fit(X, T, y + weights, sample_weight=weights)
    expected = causal.fit(X, T, y + weights, sample_weight=weights)
    assert same(forest, expected)
    np.testing.assert_array_equal(forest.expected_y_, expected.expected_y_)
    np.testing.assert_array_equal(forest.oob_prediction_, expected.oob_prediction_)
    # Two forests of 50 trees, and three batches of 40.
    assert workers.n_released == 5
    assert sum(n for _, n in workers.ranges) > 140


@pytest.mark.parametrize(
    "parameters", [{"honest": True}, {"honest": True, "subforest_size": 23}, {"max_samples": 30}]
)
def test_honest_trees_and_groups_reach_the_workers(parameters, problem):
    X, y, _ = problem
    groups = np.repeat(np.arange(50), 4)
    with use_workers(Own()):
        forest = make(**parameters).fit(X, y, groups=groups)
    assert same(forest, make(**parameters).fit(X, y, groups=groups))


@pytest.mark.parametrize("class_weight", ["balanced", "balanced_subsample", {0: 20.0, 1: 0.5}])
@pytest.mark.parametrize(
    "sampling",
    [{}, {"bootstrap": False}, {"bootstrap": "poisson"}, {"replace": False, "max_samples": 0.5}],
)
def test_weights_of_classes_reach_the_workers(class_weight, sampling, problem):
    """Beside weights of samples, in every kind of sample."""
    parameters = {"class_weight": class_weight, **sampling}
    with use_workers(Own()):
        forest = make(**parameters).fit(*problem)
    assert same(forest, make(**parameters).fit(*problem))


def test_tasks_take_the_time_that_they_should(problem, monkeypatch):
    """One tree at first, then as many as take some seconds, and fewer in the end."""
    monkeypatch.setattr(growth, "_TASK_SECONDS", 1e9)
    workers = Own(n_slots=1)
    with use_workers(workers):
        make().fit(*problem)
    sizes = [n for _, n in workers.ranges]
    assert sizes[:2] == [1, 1]
    assert max(sizes) == (23 - 2) // 2
    assert sizes[-1] == 1


def test_workers_that_always_die(problem, monkeypatch):
    monkeypatch.setattr(growth, "_LOSING", 0.2)
    with (
        use_workers(Own(p_lost=1.0)),
        pytest.raises(RuntimeError, match=r"without finishing one\. Workers .* at least \d"),
    ):
        make().fit(*problem)


def test_no_workers(problem, monkeypatch):
    monkeypatch.setattr(growth, "_PATIENCE", 0.5)
    workers = Own(n_slots=0)
    monkeypatch.setattr(workers, "work", lambda: None)
    start = time.monotonic()
    with use_workers(workers), pytest.raises(TimeoutError, match="no workers for 0 seconds"):
        make().fit(*problem)
    assert time.monotonic() - start < 30
    assert workers.n_released == 1


def test_other_versions(problem, monkeypatch):
    """The worker refuses a job of another version, and says both."""

    class Older(Own):
        def share(self, job):
            job._version = "9.9.9"
            return super().share(job)

    with (
        use_workers(Older()),
        pytest.raises(RuntimeError, match=r"same version of spinney, 9\.9\.9"),
    ):
        make().fit(*problem)


def test_a_failed_fit_leaves_no_forest(problem):
    class Broken(Own):
        def submit(self, shared, first_tree, n_trees):
            raise ValueError("no more tasks")

    workers, forest = Broken(), make()
    with use_workers(workers), pytest.raises(ValueError, match="no more tasks"):
        forest.fit(*problem)
    assert not hasattr(forest, "forest_")
    assert workers.n_released == 1
    assert get_workers() is None


def test_what_a_job_carries(problem, tmp_path):
    """The bytes of the data, or the path of their file; and a few arrays."""
    X, y, _ = problem
    large = Dataset(np.tile(X, (50, 1)))
    seen = []

    class Weighing(Own):
        def share(self, job):
            seen.append((len(super().share(job)), job.n_bytes))
            return super().share(job)

    for dataset in (large, large):
        with use_workers(Weighing()):
            RandomForestClassifier(2).fit(dataset, np.tile(y, 50))
        large.save(tmp_path / "data")
    (carried, n_bytes), (with_path, _) = seen
    assert n_bytes >= large.n_bytes
    assert carried > large.n_bytes
    assert with_path < 8 * len(large) + 2000


# --- Pools --------------------------------------------------------------------------------------

FORESTS = [
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
]


@pytest.fixture(scope="module")
def pool():
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        yield pool


def list_problems():
    """Every kind of X, with targets."""
    X, y = load_diabetes(return_X_y=True)
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    frame["d"] = pd.Categorical(np.where(y > 150, "high", "low"))
    return {
        "array": (X, y),
        "sparse": (sparse.csr_matrix(np.where(X > 0, X, 0.0)), y),
        "frame": (frame, y),
        "data set": (Dataset(X), y),
        "view": (Dataset(X)[::2], y[::2]),
    }


@pytest.mark.parametrize("name", FORESTS)
@pytest.mark.parametrize("kind", list_problems())
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
def test_the_bits_of_one_process(name, kind, pool):
    X, y = list_problems()[kind]
    y = y > 120 if name.endswith("Classifier") else y
    make = getattr(spinney, name)
    parameters = {
        "n_estimators": 9,
        "random_state": 0,
        "categorical_features": "from_dtype" if kind == "frame" else None,
        "bootstrap": True,
        "oob_score": True,
    }
    with spinney.grow_with(pool, max_workers=2):
        forest = make(**parameters).fit(X, y)
    local = make(**parameters).fit(X, y)
    assert same(forest, local)
    assert forest.oob_score_ == local.oob_score_
    assert forest.predict(X).tobytes() == local.predict(X).tobytes()
    assert vars(forest).keys() == vars(local).keys()


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_committees_of_forests(method, problem):
    """A worker grows the trees of its forest itself, also where it is a fork of this process."""
    if method not in get_all_start_methods():
        pytest.skip(f"processes do not start by {method} here")
    X, y, _ = problem
    committee = spinney.BaggingClassifier(RandomForestClassifier(3), n_estimators=2, random_state=0)
    expected = committee.fit(X, y).predict(X)
    pool = ProcessPoolExecutor(2, mp_context=get_context(method))
    with pool, spinney.grow_with(pool, max_workers=2):
        np.testing.assert_array_equal(clone(committee).fit(X, y).predict(X), expected)
    with ThreadPoolExecutor(1) as thread, spinney.grow_with(thread, max_workers=1):
        np.testing.assert_array_equal(clone(committee).fit(X, y).predict(X), expected)


def test_threads_and_loky(problem):
    """Other executors, and warm starts."""
    for executor in (ThreadPoolExecutor(2), loky.ProcessPoolExecutor(2)):
        forest, local = make(warm_start=True), make(warm_start=True)
        with executor:
            for n_trees in (5, 23):
                with spinney.grow_with(executor):
                    forest.set_params(n_estimators=n_trees).fit(*problem)
                assert same(forest, local.set_params(n_estimators=n_trees).fit(*problem))


def test_nothing_is_left_in_the_directory(pool, problem, tmp_path):
    """Where the data were for the workers; a data set that has a file is not written."""
    X, y, _ = problem
    dataset = Dataset(X)
    dataset.save(tmp_path / "data")
    seen, expected = [], make().fit(X, y)
    with_file = job.Job.with_file

    def note(self, path):
        result = with_file(self, path)
        seen.append(path.exists())
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job.Job, "with_file", note)
        with spinney.grow_with(pool, directory=tmp_path):
            for data in (X, dataset):
                assert same(make().fit(data, y), expected)
    assert seen == [True, False]
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_an_error_of_a_worker_reaches_the_user(pool, problem, tmp_path):
    """A file that goes away before the workers open it."""
    X, y, _ = problem
    dataset = Dataset(X)
    dataset.save(tmp_path / "data")
    (tmp_path / "data").unlink()
    with (
        spinney.grow_with(pool),
        pytest.raises(OSError, match="All hosts must be able to read the file of the data set"),
    ):
        make().fit(dataset, y)


def test_folds_are_refitted(problem, capfd):
    """The folds of a cross-validation are not shared, as the workers are to grow the trees."""
    X, y, _ = problem
    workers = Own()
    with use_workers(workers):
        found = ours.cross_val_predict(make(), X, y, cv=3, verbose=1)
    assert "grown by the workers" in capfd.readouterr().err
    assert workers.n_released == 3
    np.testing.assert_array_equal(found, cross_val_predict(make(), X, y, cv=3))


def test_bad_arguments(pool):
    cases = [
        ((3,), {}, "'executor' parameter of grow_with must be a concurrent.futures.Executor"),
        ((pool,), {"max_workers": 0}, "'max_workers' parameter of grow_with must be an int in"),
        ((Own(),), {"max_workers": 2}, "'max_workers' .* None for a cluster of Dask or Ray"),
        ((Own(),), {"directory": "x"}, "'directory' .* None for a cluster of Dask or Ray"),
    ]
    for args, parameters, message in cases:
        with pytest.raises(ValueError, match=message), spinney.grow_with(*args, **parameters):
            pass
    with (
        spinney.grow_with(pool, directory="/nowhere/at/all"),
        pytest.raises(FileNotFoundError, match="/nowhere/at/all"),
    ):
        make().fit([[0.0], [1.0]], [0, 1])
