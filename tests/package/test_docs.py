"""What the site shows works: each page's code runs, in order, and prints what the page says."""

import json
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

from conftest import REPOSITORY
from programs import run_blocks, run_script

DOCS = REPOSITORY / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
# Pages of this folder are written by Sphinx.
PAGES = [page for page in PAGES if not page.startswith(("api/generated", "_build"))]
BLOCK = re.compile(r"^```(python|output)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^(`{3,}).*?^\1$", re.MULTILINE | re.DOTALL)
CONTENTS = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Libraries of the group `clients` and the extra `dask`, which `make test` does not install.
OPTIONAL = ("distributed", "onnxruntime", "shap", "skl2onnx", "treelite")


def read(page):
    return (DOCS / page).read_text(encoding="utf-8")


def find_blocks(text):
    """Return the programs of a page, and of each what it is said to print, or None."""
    found = BLOCK.findall(text)
    programs, outputs = [], []
    for kind, content in found:
        if kind == "python":
            programs.append(content)
            outputs.append(None)
        else:
            assert outputs, "an output needs a program before it"
            assert outputs[-1] is None, "a program has one output"
            outputs[-1] = content
    return programs, outputs


def find_optional(text):
    """Return the libraries that a page uses and `make test` does not install."""
    return [name for name in OPTIONAL if re.search(rf"^(import|from) {name}\b", text, re.MULTILINE)]


@pytest.mark.parametrize("page", [page for page in PAGES if "```python" in read(page)])
def test_blocks_run_and_print_what_the_page_says(page, tmp_path):
    text = read(page)
    programs, outputs = find_blocks(text)
    optional = find_optional(text)
    for name in optional:
        if find_spec(name) is None:
            pytest.skip(f"`make test` does not install {name}")
    # Warnings of other libraries are theirs.
    printed_by_each = run_blocks(programs, tmp_path, "ignore" if optional else "error")
    for printed, output in zip(printed_by_each, outputs, strict=True):
        if output is not None:
            assert printed == output


@pytest.mark.parametrize("page", PAGES)
def test_blocks_have_a_known_language(page):
    """A block with a misspelt language would not be run."""
    fences = re.findall(r"^(`{3,})(.*)$", read(page), re.MULTILINE)
    known = {"", "console", "json", "output", "python", "rust", "text"}
    for opening, closing in zip(fences[::2], fences[1::2], strict=True):
        assert closing == (opening[0], "")
        assert opening[1] in known or opening[1].startswith("{"), opening


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    file = DOCS / page
    for target in re.findall(r"\]\(([^)#\s]+)", read(page)):
        if not target.startswith(("https://", "api/generated", "../api/generated", "generated/")):
            assert (file.parent / target).exists(), target


def find_anchors(text):
    """Return the anchors of the headings of a page, as code hosting sites make them."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    "file", [REPOSITORY / "README.md", *(DOCS / page for page in PAGES)], ids=str
)
def test_anchors_are_headings(file):
    text = FENCED.sub("", file.read_text(encoding="utf-8"))
    for target, anchor in re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", text):
        page = file.parent / target if target else file
        assert anchor in find_anchors(page.read_text(encoding="utf-8")), f"{target}#{anchor}"


def test_the_page_of_clusters_installs_what_the_extras_have():
    package = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    for name in ("dask", "ray"):
        packages = re.search(rf"^{name} = \[(.+)\]$", package, re.MULTILINE)[1].split(", ")
        assert f"python -m pip install {' '.join(packages)}\n" in read("clusters.md")


def test_every_page_is_in_the_contents():
    listed = {"index.md"}
    for page in PAGES:
        for tree in CONTENTS.findall(read(page)):
            names = [line for line in tree.splitlines() if line and not line.startswith(":")]
            parent = (DOCS / page).parent
            files = [file for name in names for file in parent.glob(f"{name}.md")]
            listed |= {file.resolve().relative_to(DOCS).as_posix() for file in files}
    assert listed == set(PAGES)


def test_drawings_are_what_the_script_draws(tmp_path):
    """`make drawings` would change nothing."""
    folder = DOCS / "drawings"
    run_script(folder / "draw.py", tmp_path, folder=tmp_path)
    drawn = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert drawn == {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.svg")}


def test_reports_are_what_the_results_give(tmp_path):
    """The pages and plots of the papers' experiments are made from the committed results."""
    folder = REPOSITORY / "benches" / "papers"
    run_script(folder / "report.py", tmp_path, folder=tmp_path)
    made = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    kept = [path for path in (folder / "results").iterdir() if path.suffix != ".json"]
    assert made == {path.name: path.read_text(encoding="utf-8") for path in kept}
    shown = read("benchmarks.md")
    assert all(f"results/{name}" in shown for name in made)


@pytest.mark.parametrize(
    ("name", "option", "n_missing", "file"),
    [
        ("sparsified", "data", 2, "news20_bydate_tfidf.npz"),
        ("covertype", "data", 1, "covertype.npz"),
        ("max_features", "data", 4, "hiv_ecfp4_counts.npz"),
        ("breiman", "keel", 28, "pima.dat"),
    ],
)
def test_scripts_of_papers_say_what_is_missing(name, option, n_missing, file, tmp_path):
    script = REPOSITORY / "benches" / "papers" / f"{name}.py"
    arguments = [f"--{option}", tmp_path, "--out", tmp_path]
    done = subprocess.run(
        [sys.executable, script, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout.count("missing: ") == n_missing
    assert f"{file} (another folder: --{option} FOLDER)" in done.stdout


def test_an_experiment_writes_a_file_of_results(tmp_path):
    script = REPOSITORY / "benches" / "papers" / "regression.py"
    arguments = ["--rows", "100", "200", "--repeats", "1", "--out", tmp_path]
    # A process of its own, as the script imports a file that lies beside it.
    subprocess.run([sys.executable, "-W", "error", script, *arguments], check=True)
    results = json.loads((tmp_path / "regression.json").read_text(encoding="utf-8"))
    assert results["format"] == 1
    assert [row[0] for row in results["tables"][0]["rows"]] == ["100", "200"]
    assert set(results["plots"][0]["lines"]) == set(results["tables"][0]["head"][1:5])
