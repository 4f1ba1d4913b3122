"""The classes whose estimators files hold. They are found by name: they stand above this room."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

_MODULES = ("spinney.tree", "spinney.ensemble", "spinney.survival")


def list_classes() -> Iterator[tuple[str, Any]]:
    """Yield name and class of all estimators that can be saved."""
    for module in map(import_module, _MODULES):
        for name in module.__all__:
            known = getattr(module, name)
            if hasattr(known, "_restore") and not name.startswith("Base"):
                yield name, known
