"""What the first page shows works: code, commands, links and the chart; and so does the demo."""

import json
import os
import re
import subprocess
import sys

import pytest

import spinney
from conftest import REPOSITORY
from programs import run_blocks, run_script

PAGES = (
    "README.md",
    "docs/differences.md",
    "docs/benchmarks.md",
    "docs/model-files.md",
)
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
COMMANDS = re.findall(r"^```console\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
OUTPUTS = re.findall(r"^```output\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_blocks_are_found():
    """No block is hidden by its mark."""
    assert len(BLOCKS) == 9
    assert README.count("```") == 2 * (len(BLOCKS) + len(COMMANDS) + len(OUTPUTS))


def test_it_begins_with_the_two_commands():
    """Below what the package is and what they need, and before anything else."""
    title, needs, commands = README.split("\n\n")[:3]
    assert title == "# Spinney"
    assert needs.count("\n") == 1
    above = README.partition("make test")[0]
    assert above.count("\n") <= 25
    for need in ("Python 3.10", "`venv`", "Rust", "linker", "make", "network", "minutes"):
        assert need in needs
    lines = commands.removeprefix("```console\n").removesuffix("\n```").splitlines()
    assert [line.partition("#")[0].strip() for line in lines] == ["make demo", "make test"]
    assert all(line.partition("# ")[2] for line in lines)


def test_the_first_program_comes_soon():
    """What a reader has to read before it."""
    assert len(README.partition("```python")[0].split()) <= 250


def test_questions_have_their_classes_before_the_installation():
    """A row for each, with its page and the name to import."""
    above = README.partition("\n## Install\n")[0]
    for page, name in {
        "uncertainty": "spinney.conformal",
        "quantiles": "RandomForestQuantileRegressor",
        "survival": "spinney.survival",
        "anomalies": "IsolationForest",
        "imputation": "MissForestImputer",
        "boruta": "Boruta",
        "causal": "spinney.causal.CausalForest",
        "rare-classes": "BalancedRandomForestClassifier",
        "boosting": "HistGradientBoosting*",
    }.items():
        found = re.search(rf"^\|.*\(docs/{page}\.md\).*\|$", above, re.MULTILINE)
        assert found, page
        assert f"`{name}`" in found[0]


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_blocks_run(number, tmp_path):
    """Each on its own, in an empty folder, and it prints something."""
    assert run_blocks([BLOCKS[number]], tmp_path)[0].strip()


def test_the_first_block_is_a_change_of_one_import(tmp_path):
    lines = BLOCKS[0].splitlines()
    assert len([line for line in lines if line]) <= 6
    theirs = BLOCKS[0].replace("from spinney import", "from sklearn.ensemble import")
    printed = [run_blocks([block], tmp_path)[0] for block in (BLOCKS[0], theirs)]
    assert printed[0] == OUTPUTS[0]
    assert abs(float(printed[0]) - float(printed[1])) < 0.02


def test_commands_are_targets_of_make():
    """Those that build are left to whoever builds."""
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    lines = [line for block in COMMANDS for line in block.splitlines()]
    targets = [line.split()[1] for line in lines if line.startswith("make ")]
    targets += re.findall(r"`make ([a-z-]+)`", README)
    assert {"demo", "test", "wheel", "lint", "help", "peers"} <= set(targets)
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    # Debian's and Homebrew's Python install only into an environment.
    assert [line for line in lines if not line.startswith("make ")] == [
        "python3 -m venv env",
        "env/bin/python -m pip install dist/*.whl",
    ]


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    file = REPOSITORY / page
    for target in re.findall(r"\]\(([^)#]+)", file.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (file.parent / target).exists(), target


def test_versions_agree():
    """What README and the citation say is what the package is."""
    citation = (REPOSITORY / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {spinney.__version__}\n" in citation
    assert f"version {'.'.join(spinney.__version__.split('.')[:2])}." in README


def test_the_chart_is_drawn_from_the_results(tmp_path):
    """`make chart` would change nothing."""
    chart = REPOSITORY / "docs" / "benchmarks.svg"
    script, results = REPOSITORY / "benches" / "chart.py", REPOSITORY / "benches" / "results.json"
    run_script(script, results, tmp_path / "chart.svg", folder=tmp_path)
    drawn = (tmp_path / "chart.svg").read_text(encoding="utf-8")
    assert drawn == chart.read_text(encoding="utf-8")
    assert len(re.findall("<rect", drawn)) > 15


def test_the_tables_of_the_site_are_made_from_the_results(tmp_path):
    """`make chart` would change nothing, and each table has its command."""
    tables, benches = tmp_path / "tables.md", REPOSITORY / "benches"
    run_script(benches / "tables.py", benches / "results.json", tables, folder=tmp_path)
    written = tables.read_text(encoding="utf-8")
    assert written == (benches / "tables.md").read_text(encoding="utf-8")
    page = (REPOSITORY / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    results = json.loads((benches / "results.json").read_text(encoding="utf-8"))
    assert set(results["scripts"]) == set(results["rows"])
    for script in set(results["scripts"].values()):
        assert (benches / "peers" / script).exists()
        assert f"<!-- {script} -->\n\n```console\npython benches/peers/{script}\n" in written
        start = f'```{{include}} ../benches/tables.md\n:start-after: "<!-- {script} -->"\n'
        assert f'{start}:end-before: "<!--"\n```\n' in page


def test_charts_have_what_results_have(tmp_path):
    """Other libraries, other figures, and nothing that is not there."""
    rows = {"one tree, 20 Newsgroups": {"seconds": {"spinney": 2.0, "scikit-learn": 40.0}}}
    results = tmp_path / "results.json"
    results.write_text(json.dumps({"format": 1, "rows": rows}))
    script = REPOSITORY / "benches" / "chart.py"
    run_script(script, results, tmp_path / "chart.svg", folder=tmp_path)
    drawn = (tmp_path / "chart.svg").read_text(encoding="utf-8")
    assert "20x (40 s, not 2 s)" in drawn
    assert "covertype" not in drawn
    assert "Dense data" not in drawn


def test_scripts_write_the_results_that_the_chart_reads(tmp_path):
    program = """
from common import Timing, record, record_timings
timings = {"spinney": Timing([1, 3, 2]), "scikit-learn": Timing([8])}
record_timings("one tree, 20 Newsgroups", timings)
record("random forest, geometric mean of 12 real tables", {"scikit-learn": 3.0}, "ratios")
"""
    # A process of its own, which finds `common` as the scripts of that folder do.
    peers = REPOSITORY / "benches" / "peers"
    environment = os.environ | {"SPINNEY_RESULTS": "results.json", "PYTHONPATH": str(peers)}
    command = [sys.executable, "-W", "error", "-c", program]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["rows"]["one tree, 20 Newsgroups"] == {
        "seconds": {"spinney": 2.0, "scikit-learn": 8.0}
    }
    assert results["versions"]["spinney"] == spinney.__version__
    assert set(results["scripts"]) == set(results["rows"])
    run_script(REPOSITORY / "benches" / "tables.py", "results.json", "tables.md", folder=tmp_path)
    written = (tmp_path / "tables.md").read_text(encoding="utf-8")
    assert "| one tree, 20 Newsgroups | 2 s | 8 s (4.0x) |" in written
    run_script(REPOSITORY / "benches" / "chart.py", "results.json", "chart.svg", folder=tmp_path)
    drawn = (tmp_path / "chart.svg").read_text(encoding="utf-8")
    assert "4.0x (8 s, not 2 s)" in drawn
    assert "3.0x<" in drawn


def test_the_demo_runs(tmp_path):
    """On a twentieth of its rows and trees."""
    printed = run_script(REPOSITORY / "examples" / "demo.py", "--scale", "0.05", folder=tmp_path)
    assert len(re.findall(r"^ +scikit-learn .* times as long$", printed, re.MULTILINE)) == 4
    assert len(re.findall(r"^\d\. ", printed, re.MULTILINE)) == 4
    assert (tmp_path / "spinney_tree.png").read_bytes().startswith(b"\x89PNG")
