"""What files hold beside plain values: estimators, trees, encoded columns, and ways to split data.

Each is a name of a fixed set and a few parts, which are values again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from inspect import signature
from typing import Any

import sklearn.model_selection

from spinney._common.formats import check_format, check_writer, damaged
from spinney._spinney import Columns, Forest, read_columns, read_forest
from spinney.storage._classes import find_class, list_classes

TREE_FORMAT = 2
"""The newest format of the sections of trees that is read."""
COLUMNS_FORMAT = 1
"""The format of the sections of encoded columns."""

# What estimators did before they had a parameter: its value where a file does not have it.
_BEFORE: dict[str, Any] = {
    "category_order": "node",
    "handle_unknown": "ignore",
    "class_sampling": None,
    "honest": False,
    "honest_fraction": 0.5,
    "subforest_size": None,
    "interaction_cst": None,
}
# Those of scikit-learn's that put each sample in one fold. Their parameters are attributes.
_SPLITTERS = (
    "GroupKFold",
    "KFold",
    "LeaveOneGroupOut",
    "LeaveOneOut",
    "PredefinedSplit",
    "StratifiedGroupKFold",
    "StratifiedKFold",
)


def leave_out_known(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return parameters without those whose values a file need not have.

    So earlier versions, which do not have them, read the file.
    """
    return {
        name: value
        for name, value in parameters.items()
        if not (name in _BEFORE and type(value) is type(_BEFORE[name]) and value == _BEFORE[name])
    }


def split_object(value: Any) -> tuple[str, list[Any]] | None:
    """Return the name and the parts of an object; None if files hold no such objects."""
    kind = type(value)
    if kind is Forest:
        return "Forest", [value.sections_format, *value.sections()]
    if kind is Columns:
        return "Columns", [COLUMNS_FORMAT, *map(list, value.sections())]
    name = kind.__name__
    if name in _SPLITTERS and getattr(sklearn.model_selection, name) is kind:
        return name, [{own: getattr(value, own) for own in signature(kind).parameters}]
    if hasattr(kind, "_restore") and find_class(name) is kind:
        return name, value._list_parts()
    return None


def find_maker(name: str, header: dict[str, Any], n_threads: int) -> Callable[..., Any]:
    """Return the function that makes an object with a name of its parts.

    Parameters
    ----------
    name : str
    header : dict
        Of the file, whose version messages tell.
    n_threads : int
        Threads that check what is read.

    Raises
    ------
    ValueError
        If no object has the name.
    """
    if name == "Forest":
        return lambda number, *sections: _read_trees(header, number, list(sections), n_threads)
    if name == "Columns":
        return lambda number, *sections: _read_columns(header, number, sections, n_threads)
    if name in _SPLITTERS:
        return lambda parameters: getattr(sklearn.model_selection, name)(**parameters)
    return partial(make_estimator, find_known_class(name, header), header)


def find_known_class(name: str, header: dict[str, Any]) -> Any:
    """Return the class of estimators that has a name; raise ValueError if there is none."""
    known = find_class(name)
    if known is None:
        check_writer(header.get("version"), f"the class {name!r}")
        raise damaged(f"the class {name!r} is none of {', '.join(dict(list_classes()))}")
    return known


def _read_trees(header: dict[str, Any], number: Any, sections: list[Any], n_threads: int) -> Forest:
    check_format("model", number, TREE_FORMAT, "Load", header.get("version"))
    return read_forest(number, sections, n_threads)


def _read_columns(
    header: dict[str, Any], number: Any, sections: Iterable[Any], n_threads: int
) -> Columns:
    check_format("model", number, COLUMNS_FORMAT, "Load", header.get("version"))
    return read_columns(number, [(name, data) for name, data in sections], n_threads)


def make_estimator(
    estimator_class: Any,
    header: dict[str, Any],
    parameters: dict[str, Any],
    attributes: dict[str, Any],
    *forest: Forest | None,
) -> Any:
    """Return an estimator; raise ValueError if anything that a file says of it is wrong.

    Parameters
    ----------
    estimator_class : type
    header : dict
        Of the file, whose version messages tell.
    parameters : dict
        By name, as `set_params` takes them.
    attributes : dict
        What `fit` has set.
    *forest : Forest or None
        The trees; None if the estimator has none. Nothing if it is not fitted.
    """
    estimator, name = estimator_class(), estimator_class.__name__
    expected = estimator.get_params(deep=False)
    for parameter in _BEFORE.keys() & expected.keys() - parameters.keys():
        parameters[parameter] = _BEFORE[parameter]
    if set(parameters) != set(expected):
        check_writer(header.get("version"), f"other parameters of {name}")
        raise damaged(f"{name} has other parameters")
    for attribute in attributes:
        # A class may say None of what `fit` need not set.
        is_own = attribute in parameters or getattr(estimator_class, attribute, None) is not None
        if is_own or not attribute.isidentifier() or attribute.startswith("__"):
            raise damaged(f"the attribute {attribute!r}")
    vars(estimator).update(parameters)
    try:
        if not forest:
            estimator._restore_requests(attributes)
            fault = "what fit sets in an estimator that is not fitted" if attributes else None
        else:
            fault = estimator._restore(attributes, *forest)
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        raise damaged(f"the attributes of the estimator: {error}") from None
    if fault is not None:
        raise damaged(fault)
    return estimator
