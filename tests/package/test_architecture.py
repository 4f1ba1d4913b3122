"""The map of the code and what it leads to: paths, links, decisions, notes of benches."""

import re

import pytest

from conftest import REPOSITORY

MAP = REPOSITORY / "ARCHITECTURE.md"
DECISIONS = REPOSITORY / "docs" / "decisions"
PAGES = sorted(DECISIONS.glob("[0-9]*.md"))
LINKING = [MAP, *DECISIONS.glob("*.md"), *(REPOSITORY / "benches" / "notes").glob("*.md")]
FOLDERS = ("src", "python", "tests", "benches", "docs", "examples")
KINDS = (".rs", ".py", ".md", ".toml")


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


@pytest.mark.parametrize("path", LINKING, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8")):
        assert "://" in target or (path.parent / target).exists(), target


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_what_replaces_a_decision_exists(path):
    """And the page has a status."""
    status = path.read_text(encoding="utf-8").splitlines()[2]
    assert status.startswith("Status: ")
    for number in re.findall(r"replaced by (\d\d)", status):
        assert any(page.name.startswith(number) for page in PAGES)


def test_decisions_are_listed():
    """Each once, by its number and title."""
    index = (DECISIONS / "index.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (\d\d) \| \[(.+?)\]\((.+?)\) \|", index, re.MULTILINE)
    titles = [page.read_text(encoding="utf-8").splitlines()[0] for page in PAGES]
    assert sorted((number, f"# {title}", name) for number, title, name in listed) == [
        (page.name[:2], title, page.name) for page, title in zip(PAGES, titles, strict=True)
    ]


def test_notes_that_are_named_exist():
    """Sources, tests and documents name them as the reasons for numbers."""
    texts = [
        path for path in REPOSITORY.iterdir() if path.suffix in KINDS or path.name == "Makefile"
    ]
    for folder in FOLDERS:
        texts += [path for path in (REPOSITORY / folder).rglob("*") if path.suffix in KINDS]
    missing = {
        f"{path.relative_to(REPOSITORY)}: {name}"
        for path in texts
        for name in re.findall(r"benches/notes/[\w./-]*\.md", path.read_text(encoding="utf-8"))
        if not (REPOSITORY / name).is_file()
    }
    assert not missing
