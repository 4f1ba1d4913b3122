"""Forests that are grown by the workers of a Ray cluster; `spinney[ray]` installs what they need.

The forests are, bit for bit, those of the classes of the same names in `spinney`, however many
workers there are and whatever becomes of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

try:
    import ray
    from ray.exceptions import (
        NodeDiedError,
        ObjectLostError,
        OutOfMemoryError,
        RayTaskError,
        TaskCancelledError,
        TaskUnschedulableError,
        WorkerCrashedError,
    )
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
except ImportError as error:
    raise ImportError(
        'spinney.ray needs the package ray: python -m pip install "spinney[ray]"'
    ) from error

from spinney import ensemble
from spinney._cluster import host_cache
from spinney._cluster.forest import ClusterClassifier, ClusterForest, ClusterRegressor
from spinney._cluster.plan import LostError, Worker
from spinney._cluster.task import Grown, Job, Missing, grow_range, report_host

__all__ = [
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
]

# What a task raises when its worker or its machine dies.
_LOST = (
    NodeDiedError,
    ObjectLostError,
    OutOfMemoryError,
    TaskCancelledError,
    TaskUnschedulableError,
    WorkerCrashedError,
)
# Seconds in which a machine answers.
_ANSWER = 60.0


class RayCluster:
    """The machines of the Ray cluster that this process is connected to.

    Parameters
    ----------
    options : dict
        Options of the tasks that grow trees.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        # The plan runs lost tasks again.
        options = {"num_cpus": 1, "max_retries": 0, **options}
        self._grow = ray.remote(grow_range).options(**options)

    def count_slots(self) -> int:
        """Return the cores of all machines."""
        return int(ray.cluster_resources().get("CPU", 0))

    def ask(self, job_version: str, keys: list[str]) -> dict[str, Worker]:
        """Return what each machine says."""
        nodes = {node["NodeID"]: node["Resources"] for node in ray.nodes() if node["Alive"]}
        reports = self._call(report_host, list(nodes), job_version, keys)
        workers = {}
        for node, report in reports.items():
            if isinstance(report, BaseException):
                raise RuntimeError(f"The machine {node} cannot grow trees: {report}") from report
            resources = nodes[node]
            workers[node] = Worker(report, int(resources.get("CPU", 0)), None)
        return workers

    def send(
        self, workers: list[str], piece: NDArray[np.uint8], arguments: tuple[str, str, int, int]
    ) -> None:
        """Put a piece into the object store, from which machines fetch it."""
        for result in self._call(host_cache.receive, workers, *arguments, ray.put(piece)).values():
            if isinstance(result, BaseException):
                raise result

    def _call(self, function: Any, nodes: list[str], *arguments: Any) -> dict[str, Any]:
        """Return what a function returns or raises on each machine, but for those that die."""
        remote = ray.remote(function)
        calls = {}
        for node in nodes:
            strategy = NodeAffinitySchedulingStrategy(node, soft=False)
            options = {"num_cpus": 0, "max_retries": 0, "scheduling_strategy": strategy}
            calls[remote.options(**options).remote(*arguments)] = node
        done, _ = ray.wait(list(calls), num_returns=len(calls), timeout=_ANSWER)
        results = {calls[call]: _get(call) for call in done}
        return {node: got for node, got in results.items() if not isinstance(got, _LOST)}

    def submit(self, job: Job, first_tree: int, n_trees: int) -> Any:
        """Start a task on any machine."""
        return self._grow.remote(job, first_tree, n_trees)

    def wait(self, tasks: list[Any], seconds: float) -> Iterable[Any]:
        """Return the tasks that are done."""
        done: list[Any] = ray.wait(tasks, num_returns=1, timeout=seconds)[0]
        return done

    def collect(self, task: Any) -> Grown | Missing:
        """Return the result of a task."""
        result: Grown | Missing | BaseException = _get(task)
        if isinstance(result, _LOST):
            raise LostError(result)
        if isinstance(result, BaseException):
            raise result
        return result

    def cancel(self, tasks: list[Any]) -> None:
        """Give up tasks: those that run stop within a tenth of a second."""
        for task in tasks:
            ray.cancel(task)


def _get(task: Any) -> Any:
    """Return what a task returns or raises."""
    try:
        return ray.get(task)
    except RayTaskError as error:
        return error.cause
    except _LOST as error:
        return error


class RayForest(ClusterForest):
    """Base class of the forests that are grown by Ray."""

    _connection: ClassVar[str] = "options"
    options: dict[str, Any] | None

    @contextmanager
    def _connect(self) -> Iterator[RayCluster]:
        if not (self.options is None or isinstance(self.options, dict)):
            self._reject("options", "a dict or None")
        if not ray.is_initialized():
            raise ValueError("There is no connection to a Ray cluster. Call ray.init first.")
        yield RayCluster(self.options or {})

    def _read_collections(self, X: Any, others: list[Any]) -> tuple[Any, list[Any]]:
        if not self._is_collection(X):
            return X, others
        # The blocks stay in their order, which that of rows depends on.
        rows = X.materialize()
        names = [other for other in others if isinstance(other, str)]
        values = [
            _read_frame(rows.select_columns([other]))[other].to_numpy()
            if isinstance(other, str)
            else other
            for other in others
        ]
        return _read_frame(rows.drop_columns(names) if names else rows), values

    def _is_collection(self, X: Any) -> bool:
        import ray.data

        return isinstance(X, ray.data.Dataset)

    def _apply_lazily(self, method: str, X: Any) -> Any:
        """Return a Ray data set with the column `prediction`."""
        if isinstance(self._make_sample(method), list):
            raise ValueError(f"{method} of several outputs takes no Ray data sets.")
        model = ray.put(self.to_local())

        def apply(frame: Any) -> dict[str, NDArray[Any]]:
            return {"prediction": getattr(ray.get(model), method)(frame)}

        return X.map_batches(apply, batch_format="pandas")


def _read_frame(rows: Any) -> Any:
    """Return a materialised Ray data set as a data frame."""
    import pyarrow as pa

    return pa.concat_tables(ray.get(rows.to_arrow_refs()), promote_options="default").to_pandas()


class ExtraTreesClassifier(RayForest, ClusterClassifier, ensemble.ExtraTreesClassifier):
    """Extremely randomised trees, grown by the workers of a Ray cluster.

    It is, bit for bit, the forest of the class of the same name in `spinney`, whose parameters and
    attributes it has. `n_jobs` is the number of threads of this machine, which encodes the data,
    estimates out of bag and predicts.

    Parameters
    ----------
    options : dict, default=None
        Options of the tasks, such as ``{"resources": {...}}``; see `ray.remote`. The cluster is the
        one of `ray.init`. Copies and pickles have None.

    Examples
    --------
    >>> import ray
    >>> from sklearn.datasets import load_iris
    >>> from spinney.ray import ExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> _ = ray.init()  # doctest: +SKIP
    >>> forest = ExtraTreesClassifier(random_state=0).fit(X, y)  # doctest: +SKIP
    """


class ExtraTreesRegressor(RayForest, ClusterRegressor, ensemble.ExtraTreesRegressor):
    """Extremely randomised trees, grown by the workers of a Ray cluster.

    It is, bit for bit, the forest of the class of the same name in `spinney`, whose parameters and
    attributes it has. `n_jobs` is the number of threads of this machine, which encodes the data,
    estimates out of bag and predicts.

    Parameters
    ----------
    options : dict, default=None
        Options of the tasks, such as ``{"resources": {...}}``; see `ray.remote`. The cluster is the
        one of `ray.init`. Copies and pickles have None.

    Examples
    --------
    >>> import ray
    >>> from sklearn.datasets import load_diabetes
    >>> from spinney.ray import ExtraTreesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> _ = ray.init()  # doctest: +SKIP
    >>> forest = ExtraTreesRegressor(random_state=0).fit(X, y)  # doctest: +SKIP
    """


class RandomForestClassifier(RayForest, ClusterClassifier, ensemble.RandomForestClassifier):
    """A random forest, grown by the workers of a Ray cluster.

    It is, bit for bit, the forest of the class of the same name in `spinney`, whose parameters and
    attributes it has. `n_jobs` is the number of threads of this machine, which encodes the data,
    estimates out of bag and predicts.

    Parameters
    ----------
    options : dict, default=None
        Options of the tasks, such as ``{"resources": {...}}``; see `ray.remote`. The cluster is the
        one of `ray.init`. Copies and pickles have None.

    Examples
    --------
    >>> import ray
    >>> from sklearn.datasets import load_iris
    >>> from spinney.ray import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> _ = ray.init()  # doctest: +SKIP
    >>> forest = RandomForestClassifier(random_state=0).fit(X, y)  # doctest: +SKIP
    """


class RandomForestRegressor(RayForest, ClusterRegressor, ensemble.RandomForestRegressor):
    """A random forest, grown by the workers of a Ray cluster.

    It is, bit for bit, the forest of the class of the same name in `spinney`, whose parameters and
    attributes it has. `n_jobs` is the number of threads of this machine, which encodes the data,
    estimates out of bag and predicts.

    Parameters
    ----------
    options : dict, default=None
        Options of the tasks, such as ``{"resources": {...}}``; see `ray.remote`. The cluster is the
        one of `ray.init`. Copies and pickles have None.

    Examples
    --------
    >>> import ray
    >>> from sklearn.datasets import load_diabetes
    >>> from spinney.ray import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> _ = ray.init()  # doctest: +SKIP
    >>> forest = RandomForestRegressor(random_state=0).fit(X, y)  # doctest: +SKIP
    """
