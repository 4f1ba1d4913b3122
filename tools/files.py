"""Writes the list of source files, with what each is for, into `docs/files.md`.

A file is described by the first sentence of its header: the inner documentation of a Rust file in
`src/`, the docstring of a Python module in `python/spinney`. So the list is as true as the headers.

    python tools/files.py          # writes
    python tools/files.py --check  # fails if something would be written
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

from written import REPOSITORY, write_all

LIST = REPOSITORY / "docs" / "files.md"
# Folders that, with the files beside them, are the room `ground`.
GROUND = ("num", "rng")
BEGIN = """---
myst:
  html_meta:
    keywords: files, modules, source, code, map, rooms, list
---

# List of files

Every source file with the first sentence of its header, by room.
`make format` writes this page (`tools/files.py`).
To change a line here, change the header of the file.
`ARCHITECTURE.md` in the repository has the order of the rooms and says where to begin.
"""


def find_sentence(header: str) -> str:
    """Return the first sentence of a header, without citations and links."""
    text = " ".join(header.split("\n\n", maxsplit=1)[0].split())
    text = re.sub(r" \([^()]*\b(?:19|20)\d\d\b[^()]*\)", "", text)
    text = re.sub(r"\[(`[^`]+`)\](?:\([^)]*\))?|\[([^\]]+)\]\([^)]*\)", r"\1\2", text)
    end = re.search(r"(?<!\bal)(?<!\b[A-Z])\.(?= |$)|:$", text)
    return f"{text[: end.start()]}." if end else text


def read_header(path: Path) -> str:
    """Return the documentation at the head of a source file."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return ast.get_docstring(ast.parse(source)) or ""
    lines = re.match(r"(?://!.*\n)*", source)
    return re.sub(r"^//! ?", "", lines[0], flags=re.MULTILINE) if lines else ""


def list_files(folder: Path, pattern: str, ground: str) -> str:
    """Return a section for each room of a folder. `ground` names the files beside rooms."""
    rooms = defaultdict(list)
    for path in sorted(folder.rglob(pattern)):
        if path.name == "tests.rs":
            continue
        name = path.relative_to(folder)
        room = ground if len(name.parts) == 1 or name.parts[0] in GROUND else name.parts[0]
        sentence = find_sentence(read_header(path))
        if not sentence.endswith("."):
            raise SystemExit(f"{path}: its header should begin with a sentence, not {sentence!r}")
        rooms[room].append(f"| `{name.as_posix()}` | {sentence.replace('|', chr(92) + '|')} |")
    sections = [
        f"\n### {room}\n\n| file | what it is for |\n|---|---|\n" + "\n".join(lines) + "\n"
        for room, lines in sorted(rooms.items(), key=lambda item: (item[0] != ground, item[0]))
    ]
    return "".join(sections)


def write_list() -> str:
    """Return the page."""
    engine = list_files(REPOSITORY / "src", "*.rs", "ground")
    layer = list_files(REPOSITORY / "python" / "spinney", "*.py", "beside the packages")
    return f"{BEGIN}\n## Engine: `src`\n{engine}\n## Python layer: `python/spinney`\n{layer}"


if __name__ == "__main__":
    sys.exit(write_all({LIST: write_list()}))
