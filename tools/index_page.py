"""Writes what a package index shows, `python/README.md`, from README.

    python tools/index_page.py          # writes
    python tools/index_page.py --check  # fails if something would be written

An index shows one page, without the files beside it, so no link may be relative. The addresses are
those of `[project.urls]` in `pyproject.toml`: pages of `docs` are linked by `Documentation`, other
files and pictures by `Repository`. Where an address is missing, the text of a link stays, and its
pictures go.
"""

from __future__ import annotations

import re
import sys
from pathlib import PurePosixPath

from written import REPOSITORY, write_all

PAGE = REPOSITORY / "python" / "README.md"
URLS = re.compile(r"(?ms)^\[project\.urls\]\n(.+?)(?=^\[|\Z)")
LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)]+)\)")


def find_addresses(configuration: str) -> dict[str, str]:
    """Return the addresses by name, without a slash at the end."""
    # Python 3.10 has no tomllib.
    section = URLS.search(configuration)
    found = re.findall(r'(?m)^(\w+) = "([^"]+)"', section[1]) if section else []
    return {name: address.rstrip("/") for name, address in found}


def find_address(path: PurePosixPath, addresses: dict[str, str], *, is_picture: bool) -> str | None:
    """Return the address of a file of the repository, or None if it has none."""
    if path.parts[0] == "docs" and path.suffix == ".md" and "Documentation" in addresses:
        return f"{addresses['Documentation']}/{path.relative_to('docs').with_suffix('.html')}"
    if "Repository" not in addresses:
        return None
    return f"{addresses['Repository']}/{'raw' if is_picture else 'blob'}/main/{path}"


def make_page(readme: str, addresses: dict[str, str]) -> str:
    """Return README with links that lead somewhere from anywhere."""

    def rewrite(link: re.Match[str]) -> str:
        picture, text, target = link["picture"], link["text"], link["target"]
        if re.match(r"https?://|#", target):
            return link[0]
        path, hash_mark, part = target.partition("#")
        address = find_address(PurePosixPath(path), addresses, is_picture=bool(picture))
        if address is None:
            return "" if picture else text
        return f"{picture}[{text}]({address}{hash_mark}{part})"

    page = LINK.sub(rewrite, re.sub(r"<!--.*?-->\n*", "", readme, flags=re.DOTALL))
    return re.sub(r"\n{3,}", "\n\n", page)


def main() -> int:
    configuration = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    return write_all({PAGE: make_page(readme, find_addresses(configuration))})


if __name__ == "__main__":
    sys.exit(main())
