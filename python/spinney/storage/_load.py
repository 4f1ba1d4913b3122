"""Reading model files: `load`."""

from __future__ import annotations

from typing import Any

from spinney._common.threads import count_threads
from spinney._common.types import Source
from spinney.storage._models import StoredModel
from spinney.storage._objects import find_known_class, make_estimator


def load(path: Source, *, n_jobs: int | None = None) -> Any:
    """Load an estimator that its method `save` has written.

    The estimator predicts the same bits as the one that was saved. Nothing in the file is executed,
    and everything in it is checked: its checksums, header and lengths now, and the bytes of the
    trees of a forest when they are first needed. Until then the file is mapped into memory: nobody
    may write to it, but replacing it, as `save` does, is allowed.

    Parameters
    ----------
    path : str, path-like, file object or bytes
        The file; a str may be a URL that fsspec knows, such as "s3://models/forest". A file object
        is read to its end.
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
    model = StoredModel(path, count_threads(n_jobs))
    return make_estimator(
        find_known_class(model.header["class"], model.header),
        model.header,
        model.decode("parameters"),
        model.decode("attributes"),
        model.read_forest(),
    )
