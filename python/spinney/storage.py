"""Reading model files."""

from __future__ import annotations

from typing import Any

from spinney._model_files import StoredModel
from spinney._stored_trees import restore
from spinney._threads import count_threads
from spinney.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from spinney.forest import RandomForestClassifier, RandomForestRegressor
from spinney.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

STORED_CLASSES: dict[str, Any] = {
    estimator.__name__: estimator
    for estimator in (
        DecisionTreeClassifier,
        DecisionTreeRegressor,
        ExtraTreeClassifier,
        ExtraTreeRegressor,
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
}


def load(path: Any, *, n_jobs: int | None = None) -> Any:
    """Load an estimator that its method `save` has written.

    The estimator predicts the same bits as the one that was saved. Nothing in the file is executed,
    and everything in it is checked: its checksums, header and lengths now, and the bytes of the
    trees of a forest when they are first needed. Until then the file is mapped into memory: nobody
    may write to it, but replacing it, as `save` does, is allowed.

    Parameters
    ----------
    path : str or path-like
        The file.
    n_jobs : int, default=None
        Threads that check the file, and later read the trees. None means 1 unless in a
        ``joblib.parallel_config``; -1 means one per core.

    Returns
    -------
    estimator : object
        A fitted estimator of one of the classes of spinney.

    Raises
    ------
    ValueError
        If the file is no model file, is of a newer format, or is damaged. The message names the
        section that is at fault.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import spinney
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> spinney.RandomForestClassifier(random_state=0).fit(X, y).save("iris.spinney")
    >>> spinney.load("iris.spinney").predict(X[:1])
    array([0])
    """
    n_threads = count_threads(n_jobs)
    return restore(StoredModel(path, n_threads), STORED_CLASSES, n_threads)
