"""The notes of benches are found: by who names them, and by their own links."""

import re

import pytest

from conftest import REPOSITORY

NOTES = REPOSITORY / "benches" / "notes"
FILES = sorted(NOTES.glob("*.md"))
FOLDERS = ("src", "python", "tests", "benches", "docs", "examples")
KINDS = (".rs", ".py", ".md", ".toml")
NAMED = re.compile(r"benches/notes/[\w./-]*\.md")
LINK = re.compile(r"\]\(([^)#\s]+)")


def list_texts():
    """Return the files that may name a note: sources, tests and documents."""
    named = [
        path for path in REPOSITORY.iterdir() if path.suffix in KINDS or path.name == "Makefile"
    ]
    for folder in FOLDERS:
        named += [path for path in (REPOSITORY / folder).rglob("*") if path.suffix in KINDS]
    return named


def test_notes_that_are_named_exist():
    missing = {
        f"{path.relative_to(REPOSITORY)}: {name}"
        for path in list_texts()
        for name in NAMED.findall(path.read_text(encoding="utf-8"))
        if not (REPOSITORY / name).is_file()
    }
    assert not missing


@pytest.mark.parametrize("note", FILES, ids=lambda note: note.name)
def test_links_of_notes_resolve(note):
    links = LINK.findall(note.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (note.parent / link).exists()]
    assert not missing


def test_the_contents_list_every_note():
    listed = LINK.findall((NOTES / "README.md").read_text(encoding="utf-8"))
    assert {note.name for note in FILES} - {"README.md"} == {
        link for link in listed if "/" not in link
    }
