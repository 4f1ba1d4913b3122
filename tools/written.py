"""Writes what the other tools have made, or with `--check` says which files would change."""

from __future__ import annotations

import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]


def write_all(texts: dict[Path, str]) -> int:
    """Write the texts of files; with `--check` return 1, and write nothing, if one would change."""
    changed = [
        path
        for path, text in texts.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    if "--check" not in sys.argv:
        for path in changed:
            path.write_text(texts[path], encoding="utf-8")
        return 0
    if changed:
        names = ", ".join(path.relative_to(REPOSITORY).as_posix() for path in changed)
        sys.stderr.write(f"run `make format`: {names} would change\n")
    return int(bool(changed))
