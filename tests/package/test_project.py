"""The project that docs/project.md shows twice: its tables, its code, and a small run."""

import json
import os
import re
import subprocess
import sys

import pytest

from conftest import REPOSITORY

PEERS = REPOSITORY / "benches" / "peers"
PAGE = (REPOSITORY / "docs" / "project.md").read_text(encoding="utf-8")
SIDES = {"scikit-learn": "project_before.py", "Spinney": "project_after.py"}


def test_the_tables_of_the_page_are_made_from_the_results():
    """What the script prints of the committed file stands on the page."""
    printed = subprocess.run(
        [sys.executable, PEERS / "project_tables.py"], capture_output=True, text=True, check=True
    )
    tables = printed.stdout.strip().split("\n\n")
    assert len(tables) == 4
    for table in tables:
        assert f"\n\n{table}\n\n" in PAGE


def test_the_page_has_no_other_tables():
    """A figure in a table is one of the results."""
    assert len(re.findall(r"^\| ---", PAGE, re.MULTILINE)) == 4


@pytest.mark.parametrize("file", SIDES.values())
def test_the_page_shows_the_code_that_is_measured(file):
    """It includes the file, and links to it for readers on GitHub."""
    assert f"```{{literalinclude}} ../benches/peers/{file}\n" in PAGE
    assert f"[{file}](../benches/peers/{file})" in PAGE


def test_the_results_are_those_of_the_code():
    """The lines that the results count are the lines of the files."""
    results = json.loads((PEERS / "results" / "project.json").read_text(encoding="utf-8"))
    sizes = {row[0]: row[2:] for row in results["tables"][1]["rows"]}
    for file, recorded in zip(SIDES.values(), sizes["lines of code"], strict=True):
        lines = [line.strip() for line in (PEERS / file).read_text(encoding="utf-8").splitlines()]
        assert len([line for line in lines if line and not line.startswith('"""')]) == recorded


def test_both_sides_run_and_agree(shared_data, tmp_path):
    """On few houses and trees: the same steps, the same columns, scores that are alike."""
    shared_data("ames_housing.csv.gz")
    command = [sys.executable, "-W", "error", PEERS / "project.py", "--quick", "--out", "out.json"]
    # Each side in a process of its own.
    subprocess.run([*command, "--models", *SIDES], cwd=tmp_path, check=True)
    results = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    (before,), (after,) = (results["runs"][side] for side in SIDES)
    assert set(after["seconds"]) - set(before["seconds"]) == {"encode it once"}
    assert set(before["importances"]) == set(after["importances"])
    assert "listing" in after["importances"]
    assert before["r2"] == pytest.approx(after["r2"], abs=0.15)
    assert after["r2"] > 0.5
    assert set(before["parameters"]) == set(after["parameters"])


def test_without_the_data_the_script_says_so(tmp_path):
    """It ends without an error, so that `make peers` goes on."""
    program = """
import pathlib, sys, urllib.error
import sklearn.datasets
sys.path.insert(0, sys.argv[1])
import common
common.SHARED_DATA = pathlib.Path("beside")
def fetch_openml(*_, **__):
    raise urllib.error.URLError("no network")
sklearn.datasets.fetch_openml = fetch_openml
sys.argv = ["project.py"]
import project
sys.exit(project.main())
"""
    done = subprocess.run(
        [sys.executable, "-c", program, PEERS],
        cwd=tmp_path,
        env=os.environ | {"SCIKIT_LEARN_DATA": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "left out: ames_housing.csv.gz cannot be fetched (URLError: " in done.stdout
    assert done.stdout.endswith("skipped: ames_housing.csv.gz is not there\n")
