"""What to say of modules that version 0.2 had: imports name them, and so do its pickles."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder

_PACKAGE = __name__.partition(".")[0]
_PLACES = {
    "_decision_tree": "tree",
    "_draws": "ensemble",
    "_extra_tree": "tree",
    "_lazy": "ensemble",
    "_task": "ensemble",
    "extra_trees": "ensemble",
    "forest": "ensemble",
    "lazy": "ensemble",
    "neighbours": "inspection",
}


class _MovedModules(MetaPathFinder):
    """Is asked for a module after all others have not found it."""

    def find_spec(self, fullname: str, *_: object) -> None:
        """Raise ModuleNotFoundError for a module that was moved."""
        package, name = fullname.rpartition(".")[::2]
        if package == _PACKAGE and name in _PLACES:
            raise ModuleNotFoundError(
                f"The module {fullname} of spinney 0.2 is gone: what it had is in "
                f"{_PACKAGE}.{_PLACES[name]}. If a pickle asks for it: a pickle is read by the "
                "version that wrote it. Load it with spinney 0.2 and write a file by the method "
                "`save`, which every later version reads.",
                name=fullname,
            )


def explain_moved_modules() -> None:
    """Let imports of modules that were moved say where these are."""
    sys.meta_path.append(_MovedModules())
