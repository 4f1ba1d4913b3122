"""Reading model files: `load`."""

from __future__ import annotations

from typing import Any

from spinney._common.formats import damaged
from spinney._common.threads import count_threads
from spinney._common.types import Source
from spinney.storage._classes import list_classes
from spinney.storage._models import StoredModel

# What estimators did before they had a parameter: its value where a file does not have it.
_BEFORE: dict[str, Any] = {
    "category_order": "node",
    "handle_unknown": "ignore",
    "class_sampling": None,
}


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
    n_threads = count_threads(n_jobs)
    return _restore(StoredModel(path, n_threads), n_threads)


def _restore(model: StoredModel, n_threads: int) -> Any:
    """Return the estimator of a file; raise ValueError if anything in the file is wrong."""
    name = model.header["class"]
    classes = dict(list_classes())
    if name not in classes:
        raise damaged(f"the class {name!r} is none of {', '.join(classes)}")
    parameters, attributes = model.decode("parameters"), model.decode("attributes")
    estimator = classes[name]()
    expected = estimator.get_params(deep=False)
    for parameter in _BEFORE.keys() & expected.keys() - parameters.keys():
        parameters[parameter] = _BEFORE[parameter]
    if set(parameters) != set(expected):
        raise damaged(f"{name} has other parameters")
    for attribute in attributes:
        is_own = attribute in parameters or hasattr(classes[name], attribute)
        if is_own or not attribute.isidentifier() or attribute.startswith("__"):
            raise damaged(f"the attribute {attribute!r}")
    vars(estimator).update(parameters)
    forest = model.read_forest(n_threads)
    try:
        fault = estimator._restore(attributes, forest)
    except (AttributeError, TypeError, ValueError, LookupError) as error:
        raise damaged(f"the attributes of the estimator: {error}") from None
    if fault is not None:
        raise damaged(fault)
    return estimator
