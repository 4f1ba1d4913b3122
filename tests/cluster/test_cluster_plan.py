"""How a forest is grown on a cluster, on a cluster of the test's own that loses what it likes."""

import os
import random
import shutil

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from spinney import Dataset, RandomForestClassifier
from spinney._cluster import host_cache, plan, task
from spinney._cluster.plan import LostError, Worker, check_memory, grow
from spinney._cluster.task import Grown, Missing, Parcel, grow_range, make_job, report_host


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache of the test's own, and contents that no other test has opened."""
    monkeypatch.setenv(host_cache.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(task, "_contents", task._Contents())
    return tmp_path / "cache"


class Cluster:
    """Workers in this process, in an order and with losses that a seed chooses."""

    def __init__(self, seed, n_slots=3, p_lost=0.0):
        self.random, self.n_slots, self.p_lost = random.Random(seed), n_slots, p_lost
        self.ranges, self.cancelled, self.n_asked, self.pieces = [], [], 0, []

    def count_slots(self):
        return self.n_slots

    def ask(self, job_version, keys):
        self.n_asked += 1
        return {"worker": Worker(report_host(job_version, keys), self.n_slots, None)}

    def send(self, workers, piece, arguments):
        self.pieces.append((tuple(workers), len(piece)))

    def submit(self, job, first_tree, n_trees):
        self.ranges.append((first_tree, n_trees))
        return [job, first_tree, n_trees, len(self.ranges)].__iter__()

    def wait(self, tasks, seconds):
        return self.random.sample(tasks, self.random.randint(0, len(tasks)))

    def collect(self, task):
        if self.random.random() < self.p_lost:
            raise LostError("killed")
        job, first, n_trees, _ = task
        return grow_range(job, first, n_trees)

    def cancel(self, tasks):
        self.cancelled += tasks


@pytest.fixture(scope="module")
def problem():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:200], y[:200]


def make(problem, **parameters):
    """Return a job, and the forest that it is to be."""
    X, y = problem
    forest = RandomForestClassifier(23, random_state=1, **parameters)
    weights = np.linspace(0.5, 2.0, len(y))
    dataset = Dataset(X)
    _, task, draws = forest._read_data(forest._check_params(), X, y, weights)
    key = host_cache.add(dataset.list_chunks(1))
    size = (host_cache.get_directory() / key).stat().st_size
    return make_job(Parcel(key, size), task, draws), forest.fit(X, y, weights).forest_


def same(one, other):
    """Return whether two forests have the same bits."""
    pairs = zip(one.sections(), other.sections(), strict=True)
    return one.seeds == other.seeds and all(np.array_equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("bootstrap", [True, False, "poisson"])
def test_the_bits_do_not_depend_on_the_cluster(seed, bootstrap, problem, monkeypatch):
    """Tasks of any size that finish in any order, of which a third are lost."""
    monkeypatch.setattr(plan, "_TASK_SECONDS", [0.0, 0.01, 100.0][seed % 3])
    job, expected = make(problem, bootstrap=bootstrap)
    cluster = Cluster(seed, n_slots=1 + seed, p_lost=0.33 if seed % 2 else 0.0)
    seen = []
    forest, max_features, with_missing = grow(cluster, job, 0, 23, seen.append)
    assert same(forest, expected)
    assert (max_features, list(with_missing)) == (5, [])
    assert seen == sorted(seen)
    assert seen[-1] == 23
    n_grown = sum(n for _, n in cluster.ranges)
    assert n_grown > 23 if seed % 2 else n_grown == 23


@pytest.mark.parametrize("class_weight", ["balanced", "balanced_subsample", {0: 20.0, 1: 0.5}])
@pytest.mark.parametrize(
    "sampling",
    [{}, {"bootstrap": False}, {"bootstrap": "poisson"}, {"replace": False, "max_samples": 0.5}],
)
def test_weights_of_classes_reach_the_cluster(class_weight, sampling, problem):
    """Beside weights of samples, in every kind of sample."""
    job, expected = make(problem, class_weight=class_weight, **sampling)
    assert same(grow(Cluster(0), job, 0, 23, None)[0], expected)


def test_later_trees(problem):
    """A forest that goes on at a number."""
    job, expected = make(problem)
    first, _, _ = grow(Cluster(0), job, 0, 9, None)
    second, _, _ = grow(Cluster(1), job, 9, 14, None)
    assert same(first.extended(second), expected)


def test_tasks_take_the_time_that_they_should(problem, monkeypatch):
    """One tree at first, then as many as take some seconds, and fewer in the end."""
    monkeypatch.setattr(plan, "_TASK_SECONDS", 1e9)
    job, _ = make(problem)
    cluster = Cluster(0, n_slots=1)
    grow(cluster, job, 0, 23, None)
    sizes = [n for _, n in cluster.ranges]
    assert sizes[:2] == [1, 1]
    assert max(sizes) == (23 - 2) // 2
    assert sizes[-1] == 1


def test_a_host_that_has_lost_its_files_gets_them_again(problem, cache, monkeypatch):
    """A task says that they are missing; then they are sent, and the task runs again."""
    job, expected = make(problem)
    away = cache.with_name("away")

    class Forgetful(Cluster):
        def collect(self, task):
            if self.n_asked == 1:
                shutil.copytree(cache, away)
                (cache / job.dataset.key).unlink()
                result = super().collect(task)
                assert isinstance(result, Missing)
                # This host is also the one that sends.
                shutil.copy(away / job.dataset.key, cache)
                self.n_asked += 1
                return result
            return super().collect(task)

    cluster = Forgetful(0)
    forest, _, _ = grow(cluster, job, 0, 23, None)
    assert cluster.n_asked >= 3
    assert same(forest, expected)


def test_hosts_are_asked_again_when_nothing_gets_done(problem, monkeypatch):
    """A worker that comes late may have too little memory."""
    monkeypatch.setattr(plan, "_LOOK", 0.0)
    job, _ = make(problem)

    class Late(Cluster):
        def ask(self, job_version, keys):
            workers = super().ask(job_version, keys)
            if self.n_asked < 3:
                return {}
            return {at: worker._replace(memory=5) for at, worker in workers.items()}

        def wait(self, tasks, seconds):
            return []

    with pytest.raises(MemoryError, match="A worker of the cluster has 5 bytes"):
        grow(Late(0), job, 0, 2, None)


def test_pieces_are_sent_to_one_worker_of_each_host(problem, monkeypatch):
    """Hosts that have a file do not get it."""
    monkeypatch.setattr(plan, "_PIECE", 1000)
    job, _ = make(problem)

    class Hosts(Cluster):
        def ask(self, job_version, keys):
            hosts = {"a": ("A", keys), "b": ("A", keys), "c": ("B", keys[:1]), "d": ("C", [])}
            report = report_host(job_version, keys)
            return {
                at: Worker(report._replace(host=host, missing=missing), 1, None)
                for at, (host, missing) in hosts.items()
            }

    cluster = Hosts(0)
    plan.distribute(cluster, job)
    sent = {}
    for workers, size in cluster.pieces:
        for worker in workers:
            sent[worker] = sent.get(worker, 0) + size
    both = job.dataset.n_bytes + job.arrays.n_bytes
    assert sent == {"b": both, "c": job.dataset.n_bytes}
    assert max(size for _, size in cluster.pieces) == 1000


def test_too_little_disk_space(problem):
    """The message says how much is needed."""
    job, _ = make(problem)

    class Full(Cluster):
        def ask(self, job_version, keys):
            report = report_host(job_version, keys)._replace(missing=keys, free_space=5)
            return {"tcp://x": Worker(report, 1, None)}

    message = f"The host of tcp://x needs {job.dataset.n_bytes:,} bytes of disk .* and has 5. Set"
    with pytest.raises(OSError, match=message):
        grow(Full(0), job, 0, 2, None)


def test_too_little_memory(problem):
    """Of a worker, which counts mapped files as its own, or of a machine."""
    job, _ = make(problem)
    job = job._replace(draws=job.draws._replace(n_samples=10**6))
    report = report_host(job.version, [])
    check_memory(job, [Worker(report, 2, 10**8)])
    with pytest.raises(MemoryError, match=r"A worker .* 32,000,000 bytes of memory and 2 threads"):
        check_memory(job, [Worker(report, 2, 32 * 10**6)])
    small = Worker(report._replace(memory=10**8), 2, None)
    check_memory(job, [small])
    with pytest.raises(MemoryError, match=r"A host .* 4 threads: it needs at least 128,00"):
        check_memory(job, [small, small])


def test_workers_that_always_die(problem):
    """The call ends, and says why."""
    job, _ = make(problem)
    message = "has lost .* tasks in a row .* at least .* bytes .* The last loss: killed"
    with pytest.raises(RuntimeError, match=message):
        grow(Cluster(0, p_lost=1.0), job, 0, 5, None)


def test_no_workers(problem, monkeypatch):
    """The call ends after a while."""
    monkeypatch.setattr(plan, "_PATIENCE", 0.01)
    job, _ = make(problem)

    class Empty(Cluster):
        def wait(self, tasks, seconds):
            return []

    with pytest.raises(TimeoutError, match="no workers for"):
        grow(Empty(0, n_slots=0), job, 0, 5, None)


def test_what_is_interrupted_is_cancelled(problem):
    """Ctrl-C, or an error of the watcher: no task goes on."""
    job, _ = make(problem)
    cluster = Cluster(0, n_slots=2)

    def stop(_done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        grow(cluster, job, 0, 23, stop)
    assert 1 <= len(cluster.cancelled) <= 4


def test_other_versions(problem, monkeypatch):
    """A worker of another version grows nothing."""
    job, _ = make(problem)
    with pytest.raises(RuntimeError, match=r"the same version of spinney, 0\.0\.7\. Got "):
        grow(Cluster(0), job._replace(version="0.0.7"), 0, 2, None)
    with pytest.raises(RuntimeError, match="the same version"):
        grow_range(job._replace(version="0.0.7"), 0, 1)


# --- The files of a host ------------------------------------------------------------------------


def test_files_come_in_pieces(cache, tmp_path, monkeypatch):
    """A file appears when it is complete, and only if it is right."""
    data = np.random.default_rng(0).integers(0, 256, 5000).astype(np.uint8)
    key = host_cache.add([data])
    one_host = host_cache.get_host()
    monkeypatch.setenv(host_cache.VARIABLE, str(tmp_path / "other"))
    assert host_cache.get_host() != one_host
    for sender, damage in (("a", 0), ("b", 1)):
        assert host_cache.find(key) is None
        host_cache.receive(key, sender, 5000, 0, data[:3000] ^ np.uint8(1 - damage))
        if damage == 0:
            with pytest.raises(OSError, match="came damaged"):
                host_cache.receive(key, sender, 5000, 3000, data[3000:])
        else:
            host_cache.receive(key, sender, 5000, 3000, data[3000:])
    path = host_cache.find(key)
    assert path.read_bytes() == data.tobytes()
    assert sorted(p.name for p in path.parent.iterdir()) == sorted([key, "host"])


def test_a_piece_whose_begin_is_missing(cache):
    """The worker that had it has died: the file is sent again."""
    with pytest.raises(FileNotFoundError):
        host_cache.receive("0" * 40, "a", 5000, 3000, b"x" * 2000)


def test_one_content_is_written_once(cache):
    """A content has one name, and what nobody asks for goes after a day."""
    data = np.arange(100, dtype=np.uint8)
    key = host_cache.add([data[:7], data])
    first = host_cache.find(key).stat()
    assert first.st_size == 64 + 100
    assert host_cache.add([data[:7], data]) == key
    assert host_cache.find(key).stat().st_ino == first.st_ino
    os.utime(cache / key, (0, 0))
    host_cache.add([data])
    assert host_cache.find(key) is None


def test_grown_trees_tell_how_long_they_took(problem):
    """By which tasks are sized."""
    job, _ = make(problem)
    result = grow_range(job, 3, 2)
    assert isinstance(result, Grown)
    assert len(result.forest) == 2
    assert 0 < result.seconds < 60
