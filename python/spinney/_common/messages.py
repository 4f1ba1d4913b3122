"""What users are told: errors about parameters, and warnings."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

try:
    # scikit-learn raises it for illegal parameters, but has no public name for it. The alias says
    # that the name is for other modules of this package, too.
    from sklearn.utils._param_validation import (
        InvalidParameterError as InvalidParameterError,  # noqa: PLC0414
    )
except ImportError:

    class InvalidParameterError(ValueError, TypeError):  # type: ignore[no-redef]
        """A parameter of an estimator or of a function is illegal."""


class ColumnError(ValueError, TypeError):
    """Several columns of a matrix are refused, whether for their types or for their values."""


_PACKAGE = __name__.partition(".")[0]


def reject_parameter(owner: str, name: str, got: Any, expected: str) -> NoReturn:
    """Raise InvalidParameterError for an illegal parameter, in scikit-learn's words.

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
    raise InvalidParameterError(
        f"The {name!r} parameter of {owner} must be {expected}. Got {got!r} instead."
    )


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, and name the line outside this package that called it as the origin."""
    frame = inspect.currentframe()
    level = 1
    while frame is not None and is_ours(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def name_argument(name: str) -> Iterator[None]:
    """Begin the messages of errors with the argument that they are about."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None


def is_ours(module: str) -> bool:
    """Return whether a module, given by its name, is one of this package."""
    return module.partition(".")[0] == _PACKAGE
