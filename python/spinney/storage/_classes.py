"""The classes whose estimators files hold. They are found by name: they stand above this room."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

_MODULES = (
    "spinney.tree",
    "spinney.ensemble",
    "spinney.survival",
    "spinney.causal",
    "spinney.conformal",
    "spinney.impute",
    "spinney.feature_selection",
)


def find_class(name: str) -> Any:
    """Return the class of estimators that has a name; None if there is none.

    Modules are imported one after the other until one of them has the name.
    """
    for module in map(import_module, _MODULES):
        if name in module.__all__:
            known = getattr(module, name)
            is_kept = hasattr(known, "_restore") and not name.startswith("Base")
            return known if is_kept else None
    return None


def list_classes() -> Iterator[tuple[str, Any]]:
    """Yield name and class of all estimators that can be saved."""
    for module in _MODULES:
        for name in import_module(module).__all__:
            known = find_class(name)
            if known is not None:
                yield name, known
