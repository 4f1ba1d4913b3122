"""What users are told: errors about parameters, and warnings."""

from __future__ import annotations

import inspect
import warnings
from typing import Any, NoReturn

_PACKAGE = __name__.partition(".")[0]


def reject_parameter(owner: str, name: str, got: Any, expected: str) -> NoReturn:
    """Raise ValueError for an illegal parameter, in scikit-learn's words.

    Parameters
    ----------
    owner : str
        Name of the class or function that has the parameter.
    name : str
    got : object
        The illegal value.
    expected : str
        What is legal.
    """
    raise ValueError(f"The {name!r} parameter of {owner} must be {expected}. Got {got!r} instead.")


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, and name the line outside this package that called it as the origin."""
    frame = inspect.currentframe()
    level = 1
    while frame is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == _PACKAGE
