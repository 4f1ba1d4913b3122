"""Public names that are loaded when they are first used (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def load_when_used(
    package: str, names: dict[str, tuple[str, ...]], modules: tuple[str, ...] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions `__getattr__` and `__dir__` of a package.

    Parameters
    ----------
    package : str
    names : dict of str to tuple of str
        For each module the names that the package takes from it.
    modules : tuple of str
        Modules of the package that are loaded when they are used. One whose requirements are not
        installed does not exist: its AttributeError says how to install them.
    """
    module_of = {name: module for module, of_module in names.items() for name in of_module}

    def get_attribute(name: str) -> Any:
        if name in module_of:
            value = getattr(import_module(module_of[name]), name)
        elif name in modules:
            try:
                value = import_module(f"{package}.{name}")
            except ImportError as error:
                raise AttributeError(str(error)) from error
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        return sorted(sys.modules[package].__all__)

    return get_attribute, list_names
