"""The map of the code leads somewhere: its paths, its links, the decisions."""

import re

import pytest

from conftest import REPOSITORY

MAP = REPOSITORY / "ARCHITECTURE.md"
DECISIONS = REPOSITORY / "docs" / "decisions"
PAGES = sorted(DECISIONS.glob("[0-9]*.md"))
PARTS = ["Decision", "Alternatives", "Price", "What would undo it"]
STATUS = re.compile(r"Status: (in force|replaced by (\d\d)|not built( \(.+\))?)")


def test_the_map_stays_small():
    assert MAP.stat().st_size <= 14 * 1024


def test_tasks_name_files_that_exist():
    _, _, rest = MAP.read_text(encoding="utf-8").partition("\n## To change X, open Y\n")
    section = rest.partition("\n## ")[0]
    tasks = re.findall(r"^\| (?!to change|--)(.+) \| (.+) \|$", section, re.MULTILINE)
    assert len(tasks) >= 20
    for task, files in tasks:
        paths = re.findall(r"`([^`]+)`", files)
        assert paths, task
        assert all((REPOSITORY / path).is_file() for path in paths), task


def test_the_map_has_all_rooms():
    """Every folder of the engine and of the Python layer has its line."""
    text = MAP.read_text(encoding="utf-8")
    for folder in (REPOSITORY / "src", REPOSITORY / "python" / "spinney"):
        rooms = [path.name for path in folder.iterdir() if path.is_dir() and path.name[1] != "_"]
        assert all(re.search(rf"^\|[^|]*`{room}`", text, re.MULTILINE) for room in rooms)


@pytest.mark.parametrize("path", [MAP, *DECISIONS.glob("*.md")], ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (path.parent / target).exists(), target


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_decisions_have_their_parts(path):
    text = path.read_text(encoding="utf-8")
    title, _, status, *_ = text.splitlines()
    assert title.startswith("# ")
    found = STATUS.fullmatch(status)
    assert found is not None, status
    assert found[2] is None or any(page.name.startswith(found[2]) for page in PAGES)
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == PARTS
    assert all(part.strip() for part in re.split(r"^## .+$", text, flags=re.MULTILINE))
    assert re.fullmatch(r"\d\d(-[a-z0-9]+)+\.md", path.name)


def test_decisions_are_listed():
    """Each once, by its number and title."""
    index = (DECISIONS / "index.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (\d\d) \| \[(.+?)\]\((.+?)\) \|", index, re.MULTILINE)
    titles = [page.read_text(encoding="utf-8").splitlines()[0] for page in PAGES]
    assert sorted((number, f"# {title}", name) for number, title, name in listed) == [
        (page.name[:2], title, page.name) for page, title in zip(PAGES, titles, strict=True)
    ]
