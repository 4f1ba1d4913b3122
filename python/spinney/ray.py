"""Forests that are grown by the workers of a Ray cluster; they need ray.

Bit for bit, the classes of the same names in `spinney` grow the same forests, however many
workers there are and whatever becomes of them.
"""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, ClassVar

from numpy.typing import NDArray

try:
    import ray
    from ray import exceptions
except ImportError as error:
    raise ImportError(
        'spinney.ray needs the package ray: python -m pip install "ray[data]"'
    ) from error

from spinney import ensemble
from spinney._cluster.growth import Workers
from spinney._cluster.job import Job
from spinney.ensemble._cluster_forest import ClusterClassifier, ClusterForest

__all__ = [
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RayWorkers",
]


class RayWorkers(Workers):
    """The workers of the Ray cluster that this process is connected to, for `spinney.grow_with`.

    Parameters
    ----------
    options : dict, default=None
        Options of the tasks that grow trees, such as ``{"num_cpus": 2}``; see `ray.remote`.

    Raises
    ------
    ValueError
        If there is no connection.

    Examples
    --------
    >>> import ray
    >>> import spinney
    >>> from sklearn.datasets import load_iris
    >>> from spinney.ray import RayWorkers
    >>> X, y = load_iris(return_X_y=True)
    >>> _ = ray.init()  # doctest: +SKIP
    >>> with spinney.grow_with(RayWorkers()):  # doctest: +SKIP
    ...     forest = spinney.RandomForestClassifier(random_state=0).fit(X, y)
    """

    LOST = (
        exceptions.NodeDiedError,
        exceptions.ObjectLostError,
        exceptions.OutOfMemoryError,
        exceptions.TaskCancelledError,
        exceptions.TaskUnschedulableError,
        exceptions.WorkerCrashedError,
    )

    def __init__(self, options: dict[str, Any] | None = None) -> None:
        if not ray.is_initialized():
            raise ValueError("There is no connection to a Ray cluster. Call ray.init first.")
        self._grow = ray.remote(Job.grow).options(**{"num_cpus": 1, **(options or {})})
        self._tasks: list[Any] = []

    def count(self) -> int:
        """Return the cores of all machines."""
        return int(ray.cluster_resources().get("CPU", 0))

    def share(self, job: Job) -> Any:
        """Put the job into the object store, from which machines fetch it."""
        return ray.put(job)

    def submit(self, shared: Any, first_tree: int, n_trees: int) -> Future[Any]:
        """Start a task; Ray runs it again when its worker dies."""
        task = self._grow.remote(shared, first_tree, n_trees)
        self._tasks.append(task)
        coming: Future[Any] = task.future()
        return coming

    def release(self) -> None:
        """Give up tasks: those that run stop within a tenth of a second."""
        for task in self._tasks:
            ray.cancel(task)
        self._tasks = []


class RayForest(ClusterForest):
    """Base class of the forests that are grown by Ray."""

    _connection: ClassVar[str] = "options"
    options: dict[str, Any] | None

    def _connect(self) -> RayWorkers:
        if not (self.options is None or isinstance(self.options, dict)):
            self._reject("options", "a dict or None")
        return RayWorkers(self.options)

    def _read_collections(self, X: Any, others: list[Any]) -> tuple[Any, list[Any]]:
        if not self._is_collection(X):
            return X, others
        import pyarrow as pa

        # The blocks stay in their order, because the order of rows depends on it. Ray's own
        # `to_pandas` would lose the categories of blocks that have different ones.
        tables = ray.get(X.materialize().to_arrow_refs())
        frame = pa.concat_tables(tables, promote_options="permissive").to_pandas()
        names = [other for other in others if isinstance(other, str)]
        values = [frame[other].to_numpy() if isinstance(other, str) else other for other in others]
        return frame.drop(columns=names), values

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

    See Also
    --------
    spinney.ExtraTreesClassifier : The same in one process, with the same bits.

    Examples
    --------
    >>> import ray
    >>> from sklearn.datasets import load_iris
    >>> from spinney.ray import ExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> _ = ray.init()  # doctest: +SKIP
    >>> forest = ExtraTreesClassifier(random_state=0).fit(X, y)  # doctest: +SKIP
    """


class ExtraTreesRegressor(RayForest, ensemble.ExtraTreesRegressor):
    """Extremely randomised trees, grown by the workers of a Ray cluster.

    It is, bit for bit, the forest of the class of the same name in `spinney`, whose parameters and
    attributes it has. `n_jobs` is the number of threads of this machine, which encodes the data,
    estimates out of bag and predicts.

    Parameters
    ----------
    options : dict, default=None
        Options of the tasks, such as ``{"resources": {...}}``; see `ray.remote`. The cluster is the
        one of `ray.init`. Copies and pickles have None.

    See Also
    --------
    spinney.ExtraTreesRegressor : The same in one process, with the same bits.

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

    See Also
    --------
    spinney.RandomForestClassifier : The same in one process, with the same bits.

    Examples
    --------
    >>> import ray
    >>> from sklearn.datasets import load_iris
    >>> from spinney.ray import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> _ = ray.init()  # doctest: +SKIP
    >>> forest = RandomForestClassifier(random_state=0).fit(X, y)  # doctest: +SKIP
    """


class RandomForestRegressor(RayForest, ensemble.RandomForestRegressor):
    """A random forest, grown by the workers of a Ray cluster.

    It is, bit for bit, the forest of the class of the same name in `spinney`, whose parameters and
    attributes it has. `n_jobs` is the number of threads of this machine, which encodes the data,
    estimates out of bag and predicts.

    Parameters
    ----------
    options : dict, default=None
        Options of the tasks, such as ``{"resources": {...}}``; see `ray.remote`. The cluster is the
        one of `ray.init`. Copies and pickles have None.

    See Also
    --------
    spinney.RandomForestRegressor : The same in one process, with the same bits.

    Examples
    --------
    >>> import ray
    >>> from sklearn.datasets import load_diabetes
    >>> from spinney.ray import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> _ = ray.init()  # doctest: +SKIP
    >>> forest = RandomForestRegressor(random_state=0).fit(X, y)  # doctest: +SKIP
    """
