"""The project that docs/project.md shows twice: its tables, its code, and a small run."""

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

from conftest import REPOSITORY

PEERS = REPOSITORY / "benches" / "peers"
PAGE = (REPOSITORY / "docs" / "project.md").read_text(encoding="utf-8")
SIDES = {"scikit-learn": "project_before.py", "Spinney": "project_after.py"}
BOOSTING = ["spinney.GradientBoostingRegressor", "spinney.HistGradientBoostingRegressor"]
# Steps for which scikit-learn needs another package.
OPTIONAL = {"explain one house": "shap", "effect of a deck": "econml"}
N_TABLES = 5


def test_the_tables_of_the_page_are_made_from_the_results():
    """What the script prints of the committed file stands on the page."""
    printed = subprocess.run(
        [sys.executable, PEERS / "project_tables.py"], capture_output=True, text=True, check=True
    )
    tables = printed.stdout.strip().split("\n\n")
    assert len(tables) == N_TABLES
    for table in tables:
        assert f"\n\n{table}\n\n" in PAGE


def test_the_page_has_no_other_tables():
    """A figure in a table is one of the results."""
    assert len(re.findall(r"^\| ---", PAGE, re.MULTILINE)) == N_TABLES


def test_sums_of_money_in_sentences_are_those_of_the_tables():
    """What a sentence says in dollars, or as a share of the prices, stands in a cell."""
    cells = {
        cell.strip() for line in PAGE.splitlines() if line[:1] == "|" for cell in line.split("|")
    }
    prose = "\n".join(line for line in PAGE.splitlines() if line[:1] != "|")
    sums = re.findall(r"([\d,]*\d) dollars|(?:standard error |\()([\d,]*\d)\)", prose)
    sums = {money for found in sums for money in found if money}
    shares = [int(number) for number in re.findall(r"([\d.]+) % of the held-out prices", prose)]
    assert len(sums) > 4
    assert len(shares) == 2
    assert sums <= cells
    assert {f"{share / 100:.2f}" for share in shares} <= {
        f"{float(cell):.2f}" for cell in cells if re.fullmatch(r"0\.\d{3}", cell)
    }


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
    done = subprocess.run(
        [*command, "--models", *SIDES, *BOOSTING],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    results = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    (before,), (after,) = (results["runs"][side] for side in SIDES)
    left_out = {step for step, package in OPTIONAL.items() if find_spec(package) is None}
    assert set(after["seconds"]) - set(before["seconds"]) == {"encode it once", *left_out}
    assert set(before["seconds"]) < set(after["seconds"])
    for step in OPTIONAL:
        assert (f"left out with scikit-learn: {step}\n" in done.stdout) == (step in left_out)
    assert set(before["importances"]) == set(after["importances"])
    assert "listing" in after["importances"]
    assert before["r2"] == pytest.approx(after["r2"], abs=0.15)
    assert after["r2"] > 0.5
    assert set(before["parameters"]) == set(after["parameters"])
    assert min(before["inside"], after["inside"]) > 0.8
    assert min(before["width"], after["width"]) > 0
    assert before["difference"] == after["difference"] > 0
    assert after["effect_error"] > 0
    assert (before["contributions"] is None) == ("explain one house" in left_out)
    assert (before["effect"] is None) == ("effect of a deck" in left_out)
    assert len(after["contributions"]) == 5
    for name in BOOSTING:
        (run,) = results["runs"][name]
        assert run["r2"] > 0.5


def test_the_page_says_what_was_measured():
    """The committed results have all steps on both sides, and all models."""
    results = json.loads((PEERS / "results" / "project.json").read_text(encoding="utf-8"))
    steps, _, scores, *_ = results["tables"]
    for name, _, before, after in steps["rows"]:
        assert after is not None
        assert (before is None) == (name == "encode it once")
    assert len(scores["rows"]) == 6
    warned = [run["warnings"]["effect of a deck"] for run in results["runs"]["Spinney"]]
    shares = sorted(float(text.partition(" ")[0]) for (text,) in warned)
    assert f"for {shares[0]:g} to {shares[-1]:g} % of the houses" in PAGE
    assert {"econml", "shap", "lightgbm"} <= set(results["versions"])


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
