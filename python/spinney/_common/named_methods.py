"""Methods that a class inherits, under the name of the class."""

from __future__ import annotations

from functools import update_wrapper
from types import FunctionType
from typing import Any

from spinney._common.messages import is_ours

# The attribute of copies.
_MARK = "_is_named_copy"


def name_methods(cls: type) -> None:
    """Let errors about the arguments of public methods that a class inherits name this class.

    Python writes the name of the class that defines a method, which users do not know:
    "BaseBaggedTrees.fit() missing 1 required positional argument: 'y'". So the class gets a copy
    of the method with its own name. Copies of its bases do not count: the methods are the ones that
    the class would inherit without any copy. A class of users gets one only where that takes one.
    """
    names = {name for base in cls.__mro__ if is_ours(base.__module__) for name in vars(base)}
    for name in sorted(name for name in names if not name.startswith("_")):
        owner, method = _find_method(cls, name)
        if owner is cls or not isinstance(method, FunctionType):
            continue
        # A copy in a base would hide a method of users that comes later.
        is_hidden = getattr(getattr(cls, name), "__code__", None) is not method.__code__
        if is_hidden or (is_ours(cls.__module__) and is_ours(method.__module__)):
            setattr(cls, name, _copy(method, f"{cls.__qualname__}.{name}"))


def _find_method(cls: type, name: str) -> tuple[type | None, Any]:
    """Return the class that defines an attribute, and the attribute; copies do not define it."""
    for base in cls.__mro__:
        found = vars(base).get(name)
        if found is not None and not hasattr(found, _MARK):
            return base, found
    return None, None


def _copy(method: FunctionType, name: str) -> FunctionType:
    code, namespace, defaults = method.__code__, method.__globals__, method.__defaults__
    copy = FunctionType(code, namespace, method.__name__, defaults, method.__closure__)
    update_wrapper(copy, method)
    # It calls nothing: it is the method.
    del copy.__wrapped__  # type: ignore[attr-defined]
    copy.__kwdefaults__, copy.__qualname__ = method.__kwdefaults__, name
    setattr(copy, _MARK, True)
    return copy
