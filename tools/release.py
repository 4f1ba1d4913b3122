"""Prepares a release: writes its version wherever the repository has it, and dates the changelog.

    python tools/release.py 0.3.0

What it writes is one commit; CONTRIBUTING.md says what comes before and after. Called again for the
same version it writes the day anew. It fails, and writes nothing, if a file does not look as it
expects, or if the changelog has nothing under "Unreleased" nor under this version, or both.
"""

from __future__ import annotations

import datetime as dt
import re
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
VERSION = re.compile(r"\d+\.\d+\.\d+")


def find_changes(version: str, date: str) -> dict[str, tuple[str, str]]:
    """Return for each file what is replaced, as a regular expression, and the replacement."""
    short = version.rpartition(".")[0]
    locked = (r'name = "spinney"\nversion = "[^"]+"', f'name = "spinney"\nversion = "{version}"')
    stated = (r"This is version \d+\.\d+\.", f"This is version {short}.")
    return {
        "Cargo.toml": (
            r'(?m)\A\[package\]\nname = "spinney"\nversion = "[^"]+"',
            f'[package]\nname = "spinney"\nversion = "{version}"',
        ),
        "Cargo.lock": locked,
        "fuzz/Cargo.lock": locked,
        "CITATION.cff": (
            r"(?m)^version: .+\n(date-released: .+\n)?",
            f"version: {version}\ndate-released: {date}\n",
        ),
        "README.md": stated,
        "python/README.md": stated,
        "CHANGELOG.md": (
            rf"(?m)^## \[Unreleased\]\n(\n## \[{re.escape(version)}\] - .+\n)?(?=\n### )",
            f"## [Unreleased]\n\n## [{version}] - {date}\n",
        ),
    }


def main(version: str, repository: Path = REPOSITORY) -> None:
    if not VERSION.fullmatch(version):
        sys.exit(f"error: the version must be three numbers with dots, got {version!r}")
    written = {}
    date = dt.datetime.now(tz=dt.timezone.utc).date().isoformat()
    for name, (pattern, replacement) in find_changes(version, date).items():
        text = (repository / name).read_text(encoding="utf-8")
        changed, n_changes = re.subn(pattern, replacement, text)
        if n_changes != 1:
            sys.exit(f"error: {name} must have one place like {pattern!r}, got {n_changes}")
        written[name] = changed
    if (n_sections := written["CHANGELOG.md"].count(f"\n## [{version}] - ")) != 1:
        sys.exit(f"error: CHANGELOG.md must have one section of {version}, got {n_sections}")
    for name, text in written.items():
        (repository / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) not in {2, 3}:
        sys.exit(__doc__)
    main(sys.argv[1], *map(Path, sys.argv[2:]))
