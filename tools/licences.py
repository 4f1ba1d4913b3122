"""Writes the licences of the crates that are compiled into the module, into `LICENSES-CRATES.txt`.

Wheels carry that file: those licences ask that copies come with their text. Cargo names the crates;
procedural macros run while the module is compiled and are no part of it. Where a crate offers
several licences, its MIT licence is taken.

    python tools/licences.py          # writes
    python tools/licences.py --check  # fails if something would be written
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from written import REPOSITORY, write_all

LICENCES = REPOSITORY / "LICENSES-CRATES.txt"
BEGIN = """The compiled module of Spinney contains these crates, each under the licence that follows
its name, and the standard library of Rust (MIT OR Apache-2.0, The Rust Project Contributors).
`python tools/licences.py` writes this file.
"""


def read_metadata() -> dict[str, Any]:
    """Return what Cargo knows of all packages, with the features that wheels have."""
    command = [os.environ.get("CARGO", "cargo"), "metadata", "--format-version=1", "--locked"]
    done = subprocess.run(
        [*command, "--features=python"], cwd=REPOSITORY, check=True, stdout=subprocess.PIPE
    )
    metadata: dict[str, Any] = json.loads(done.stdout)
    return metadata


def list_crates(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the crates that are linked into the module on some platform, by name and version."""
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    root = metadata["resolve"]["root"]
    found, waiting = set(), [root]
    while waiting:
        name = waiting.pop()
        is_macro = any("proc-macro" in target["kind"] for target in packages[name]["targets"])
        if name in found or is_macro:
            continue
        found.add(name)
        links = nodes[name]["deps"]
        waiting.extend(
            link["pkg"] for link in links if any(kind["kind"] is None for kind in link["dep_kinds"])
        )
    crates = [packages[name] for name in found - {root}]
    return sorted(crates, key=lambda crate: (crate["name"], crate["version"]))


def read_licence(crate: dict[str, Any]) -> str:
    """Return the name, the version and the licence of a crate."""
    folder = Path(crate["manifest_path"]).parent
    files = sorted(path for path in folder.iterdir() if path.name.upper().startswith("LICENSE"))
    chosen = [path for path in files if "MIT" in path.name] or files
    if not chosen:
        raise SystemExit(f"{crate['name']} {crate['version']} has no file of its licence")
    texts = [path.read_text(encoding="utf-8").strip() for path in chosen]
    head = f"{crate['name']} {crate['version']} ({crate['license']})"
    return "\n\n".join([f"{'-' * len(head)}\n{head}\n{'-' * len(head)}", *texts])


def write_licences() -> str:
    """Return the file."""
    texts = [BEGIN.rstrip(), *map(read_licence, list_crates(read_metadata()))]
    return "\n".join(line.rstrip() for line in "\n\n".join(texts).splitlines()) + "\n"


if __name__ == "__main__":
    sys.exit(write_all({LICENCES: write_licences()}))
