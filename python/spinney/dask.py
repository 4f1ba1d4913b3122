"""Forests that are grown by the workers of a Dask cluster; they need dask and distributed.

Bit for bit, the classes of the same names in `spinney` grow the same forests, however many
workers there are and whatever becomes of them.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

try:
    import dask
    import dask.array as da
    from dask.base import is_dask_collection
    from distributed import Client, get_client
except ImportError as error:
    raise ImportError(
        "spinney.dask needs the packages dask and distributed: "
        'python -m pip install "dask[array,dataframe]" distributed'
    ) from error

from spinney import ensemble
from spinney._cluster.dask_workers import DaskWorkers
from spinney.dataset import Dataset
from spinney.ensemble._cluster_forest import ClusterClassifier, ClusterForest

__all__ = [
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
]


class DaskForest(ClusterForest):
    """Base class of the forests that are grown by Dask."""

    _connection: ClassVar[str] = "client"
    client: Client | None

    def _connect(self) -> DaskWorkers:
        try:
            client = get_client() if self.client is None else self.client
        except ValueError:
            raise ValueError(
                "client=None means the current client of Dask, and there is none. Make a "
                "distributed.Client, or pass one."
            ) from None
        if not isinstance(client, Client):
            self._reject("client", "a distributed.Client or None")
        return DaskWorkers(client)

    def _read_collections(self, X: Any, others: list[Any]) -> tuple[Any, list[Any]]:
        others = list(dask.compute(*others))
        if not is_dask_collection(X):
            return X, others
        n_threads = self._count_threads()
        with TemporaryDirectory(prefix="spinney-", ignore_cleanup_errors=True) as directory:
            path = Path(directory) / "data"
            Dataset.write(path, X, categorical_features=self.categorical_features, n_jobs=n_threads)
            return Dataset._open_temporary(path, n_threads), others

    def _is_collection(self, X: Any) -> bool:
        return bool(is_dask_collection(X))

    def _apply_lazily(self, method: str, X: Any) -> Any:
        """Return dask arrays of what a method of the local class predicts for blocks of rows."""
        is_frame = not isinstance(X, da.Array)
        blocks = X.to_delayed() if is_frame else X.rechunk({1: -1}).to_delayed().ravel()
        lengths = [np.nan] * len(blocks) if is_frame else X.chunks[0]
        model = dask.delayed(self.to_local(), pure=False, traverse=False)
        results = [getattr(model, method)(block) for block in blocks]

        def join(parts: list[Any], of_output: NDArray[Any]) -> Any:
            shape, dtype = of_output.shape[1:], of_output.dtype
            pairs = zip(parts, lengths, strict=True)
            return da.concatenate(
                [da.from_delayed(part, (length, *shape), dtype) for part, length in pairs]
            )

        sample = self._make_sample(method)
        if not isinstance(sample, list):
            return join(results, sample)
        return [join([part[n] for part in results], sample[n]) for n in range(len(sample))]


class ExtraTreesClassifier(DaskForest, ClusterClassifier, ensemble.ExtraTreesClassifier):
    """Extremely randomised trees, grown by the workers of a Dask cluster.

    It is, bit for bit, the forest of the class of the same name in `spinney`, whose parameters and
    attributes it has. `n_jobs` is the number of threads of this machine, which encodes the data,
    estimates out of bag and predicts.

    Parameters
    ----------
    client : distributed.Client, default=None
        The cluster. None means the current client of Dask. Copies and pickles have None.

    See Also
    --------
    spinney.ExtraTreesClassifier : The same in one process, with the same bits.

    Examples
    --------
    >>> from distributed import Client
    >>> from sklearn.datasets import load_iris
    >>> from spinney.dask import ExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> with Client(n_workers=2) as client:  # doctest: +SKIP
    ...     forest = ExtraTreesClassifier(random_state=0).fit(X, y)
    """


class ExtraTreesRegressor(DaskForest, ensemble.ExtraTreesRegressor):
    """Extremely randomised trees, grown by the workers of a Dask cluster.

    It is, bit for bit, the forest of the class of the same name in `spinney`, whose parameters and
    attributes it has. `n_jobs` is the number of threads of this machine, which encodes the data,
    estimates out of bag and predicts.

    Parameters
    ----------
    client : distributed.Client, default=None
        The cluster. None means the current client of Dask. Copies and pickles have None.

    See Also
    --------
    spinney.ExtraTreesRegressor : The same in one process, with the same bits.

    Examples
    --------
    >>> from distributed import Client
    >>> from sklearn.datasets import load_diabetes
    >>> from spinney.dask import ExtraTreesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> with Client(n_workers=2) as client:  # doctest: +SKIP
    ...     forest = ExtraTreesRegressor(random_state=0).fit(X, y)
    """


class RandomForestClassifier(DaskForest, ClusterClassifier, ensemble.RandomForestClassifier):
    """A random forest, grown by the workers of a Dask cluster.

    It is, bit for bit, the forest of the class of the same name in `spinney`, whose parameters and
    attributes it has. `n_jobs` is the number of threads of this machine, which encodes the data,
    estimates out of bag and predicts.

    Parameters
    ----------
    client : distributed.Client, default=None
        The cluster. None means the current client of Dask. Copies and pickles have None.

    See Also
    --------
    spinney.RandomForestClassifier : The same in one process, with the same bits.

    Examples
    --------
    >>> from distributed import Client
    >>> from sklearn.datasets import load_iris
    >>> from spinney.dask import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> with Client(n_workers=2) as client:  # doctest: +SKIP
    ...     forest = RandomForestClassifier(random_state=0).fit(X, y)
    """


class RandomForestRegressor(DaskForest, ensemble.RandomForestRegressor):
    """A random forest, grown by the workers of a Dask cluster.

    It is, bit for bit, the forest of the class of the same name in `spinney`, whose parameters and
    attributes it has. `n_jobs` is the number of threads of this machine, which encodes the data,
    estimates out of bag and predicts.

    Parameters
    ----------
    client : distributed.Client, default=None
        The cluster. None means the current client of Dask. Copies and pickles have None.

    See Also
    --------
    spinney.RandomForestRegressor : The same in one process, with the same bits.

    Examples
    --------
    >>> from distributed import Client
    >>> from sklearn.datasets import load_diabetes
    >>> from spinney.dask import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> with Client(n_workers=2) as client:  # doctest: +SKIP
    ...     forest = RandomForestRegressor(random_state=0).fit(X, y)
    """
