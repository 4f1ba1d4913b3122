"""A release is one commit, and the workflows that publish it run what they name."""

import importlib.util
import re
import shutil

import pytest

import spinney
from conftest import REPOSITORY

WORKFLOWS = sorted((REPOSITORY / ".github" / "workflows").glob("*.yml"))
LOCKS = ("Cargo.lock", "fuzz/Cargo.lock")
WRITTEN = ("CHANGELOG.md", "CITATION.cff", "Cargo.toml", "README.md", "python/README.md", *LOCKS)


@pytest.fixture
def tool():
    """Return the script that prepares a release."""
    path = REPOSITORY / "tools" / "release.py"
    spec = importlib.util.spec_from_file_location("release", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def copies(tmp_path):
    """Return a folder with copies of what a release changes, and a change that is unreleased."""
    (tmp_path / "fuzz").mkdir()
    (tmp_path / "python").mkdir()
    for name in WRITTEN:
        shutil.copy(REPOSITORY / name, tmp_path / name)
    add_a_change(tmp_path)
    return tmp_path


def add_a_change(folder):
    changelog = folder / "CHANGELOG.md"
    text = changelog.read_text(encoding="utf-8")
    if "## [Unreleased]\n\n### " not in text:
        text = text.replace("## [Unreleased]\n", "## [Unreleased]\n\n### Added\n\n- A change.\n")
        changelog.write_text(text, encoding="utf-8")


def read(folder, name):
    return (folder / name).read_text(encoding="utf-8")


def test_a_release_changes_every_place_that_has_the_version(tool, copies):
    tool.main("7.8.9", copies)
    assert re.search(r'^version = "7\.8\.9"$', read(copies, "Cargo.toml"), re.MULTILINE)
    for name in LOCKS:
        assert 'name = "spinney"\nversion = "7.8.9"\n' in read(copies, name)
    assert "\nversion: 7.8.9\ndate-released: 20" in read(copies, "CITATION.cff")
    assert "This is version 7.8." in read(copies, "README.md")
    assert re.search(
        r"^## \[Unreleased\]\n\n## \[7\.8\.9\] - \d{4}-\d\d-\d\d\n\n### \w+\n",
        read(copies, "CHANGELOG.md"),
        re.MULTILINE,
    )
    for name in WRITTEN:
        changed = set(read(copies, name).splitlines()) - set(read(REPOSITORY, name).splitlines())
        assert 1 <= len(changed) <= 2, name
    assert spinney.__version__ not in read(copies, "CITATION.cff")


def test_a_release_without_changes_is_refused(tool, copies):
    """The second release finds nothing under "Unreleased", and writes nothing at all."""
    tool.main("7.8.9", copies)
    with pytest.raises(SystemExit, match=r"error: CHANGELOG\.md must have one place like"):
        tool.main("7.9.0", copies)
    assert "7.9.0" not in read(copies, "Cargo.toml")


def test_a_release_is_dated_anew(tool, copies, monkeypatch):
    """Between the commit that prepares it and the tag may lie days."""
    tool.main("7.8.9", copies)
    before = {name: read(copies, name) for name in WRITTEN}
    day = re.search(r"^date-released: (.+)$", before["CITATION.cff"], re.MULTILINE)[1]
    changes = tool.find_changes
    monkeypatch.setattr(tool, "find_changes", lambda version, date: changes(version, "2999-12-31"))
    tool.main("7.8.9", copies)
    assert {name: read(copies, name).replace("2999-12-31", day) for name in WRITTEN} == before
    assert "## [7.8.9] - 2999-12-31\n" in read(copies, "CHANGELOG.md")


def test_a_version_has_one_section(tool, copies):
    """What is changed after a release was prepared belongs to it, or to the next one."""
    tool.main("7.8.9", copies)
    add_a_change(copies)
    with pytest.raises(SystemExit, match=r"CHANGELOG\.md must have one section of 7\.8\.9, got 2"):
        tool.main("7.8.9", copies)


def test_all_places_name_one_version():
    version = re.search(r'^version = "(.+)"$', read(REPOSITORY, "Cargo.toml"), re.MULTILINE)[1]
    short = version.rpartition(".")[0]
    for name in LOCKS:
        assert f'name = "spinney"\nversion = "{version}"\n' in read(REPOSITORY, name)
    assert f"This is version {short}." in read(REPOSITORY, "README.md")
    section = re.search(
        rf"^## \[{version}\] - (.+)$", read(REPOSITORY, "CHANGELOG.md"), re.MULTILINE
    )
    assert section, f"CHANGELOG.md has no section of {version}"
    citation = read(REPOSITORY, "CITATION.cff")
    assert f"\nversion: {version}\ndate-released: {section[1]}\n" in citation
    assert f"\n## {short}\n" in read(REPOSITORY, "docs/migration.md")


def test_the_wheel_has_the_licences_of_the_crates_of_the_lock_file():
    """That the texts are those of the crates is checked by `make lint`."""
    package = read(REPOSITORY, "pyproject.toml")
    assert 'license-files = ["LICENSE", "LICENSES-CRATES.txt"]' in package
    texts = read(REPOSITORY, "LICENSES-CRATES.txt")
    heads = re.findall(r"^([\w-]+) ([\d.]+) \(.+\)$", texts, re.MULTILINE)
    assert {"ndarray", "numpy", "pyo3", "rayon"} <= {name for name, _ in heads}
    lock = read(REPOSITORY, "Cargo.lock")
    for name, version in heads:
        assert f'name = "{name}"\nversion = "{version}"\n' in lock


@pytest.fixture
def page_tool(monkeypatch):
    """Return the script that writes the page that an index shows."""
    monkeypatch.syspath_prepend(REPOSITORY / "tools")
    return importlib.import_module("index_page")


LINKS = re.compile(r"\]\(([^)]+)\)")
ADDRESSES = {"Documentation": "https://docs.example.org", "Repository": "https://example.org/code"}


def test_the_page_of_an_index_has_no_relative_link(page_tool):
    page = read(REPOSITORY, "python/README.md")
    assert not [link for link in LINKS.findall(page) if not link.startswith(("https://", "#"))]
    assert "<!--" not in page
    # But the same words.
    readme = re.sub(r"<!--.*?-->", "", read(REPOSITORY, "README.md"), flags=re.DOTALL)
    told = re.sub(r"!\[[^]]*\]\([^)]*\)", "", readme)
    assert re.findall(r"\w+", LINKS.sub("", page)) == re.findall(r"\w+", LINKS.sub("", told))


def test_the_page_of_an_index_links_by_the_addresses_of_the_project(page_tool):
    readme = read(REPOSITORY, "README.md")
    links = LINKS.findall(page_tool.make_page(readme, ADDRESSES))
    assert len(links) == len(LINKS.findall(readme))
    assert all(link.startswith("https://") for link in links)
    assert "https://docs.example.org/sparse.html" in links
    assert "https://example.org/code/raw/main/docs/benchmarks.svg" in links
    assert "https://example.org/code/blob/main/CONTRIBUTING.md" in links


def test_addresses_are_read_from_the_configuration(page_tool):
    written = '[project.urls]\nDocumentation = "https://a.org/"\n\n[tool.b]\nx = "y"\n'
    assert page_tool.find_addresses(written) == {"Documentation": "https://a.org"}
    assert page_tool.find_addresses('[project]\nname = "a"\n') == {}


def test_the_page_of_versions_is_what_the_package_asks_for():
    package, page = read(REPOSITORY, "pyproject.toml"), read(REPOSITORY, "docs/versions.md")
    asked = package.partition("\ndependencies = [\n")[2].partition("\n]")[0]
    bounds = dict(re.findall(r'"([\w-]+)>=([\d.]+)"', asked))
    told = dict(re.findall(r"^\| ([\w-]+) \| ([\d.]+) and later \|$", page, re.MULTILINE))
    assert {name.lower(): version for name, version in told.items()} == bounds
    pythons = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', package)
    assert f'requires-python = ">={pythons[0]}"' in package
    assert f"| Python | {pythons[0]} to {pythons[-1]};" in page
    rust = re.search(r'^rust-version = "(.+)"$', read(REPOSITORY, "Cargo.toml"), re.MULTILINE)[1]
    assert f"| Rust, to build from source | {rust} and later |" in page


def test_what_developers_need_is_no_extra():
    """Extras are in the wheel's metadata, and each group that `make` installs exists."""
    package, makefile = read(REPOSITORY, "pyproject.toml"), read(REPOSITORY, "Makefile")
    _, extras, groups = re.split(
        r"^\[.*(?:optional-dependencies|-groups)\]\n", package, flags=re.MULTILINE
    )
    assert re.findall(r"^(\w+) = \[", extras, re.MULTILINE) == ["dask", "ray"]
    known = re.findall(r"^(\w+) = \[", groups.partition("[tool.")[0], re.MULTILINE)
    used = re.findall(r"^GROUPS_\w+ := (.+)$", makefile, re.MULTILINE)
    assert {name for names in used for name in names.split()} == set(known)


def test_a_release_goes_to_one_index_whose_page_is_true():
    """A second index could fail after the first; and pages that say "not yet" are not published."""
    workflow = read(REPOSITORY, ".github/workflows/release.yml")
    assert len(re.findall(r"^ +environment: ", workflow, re.MULTILINE)) == 1
    assert "cargo publish" not in workflow
    # Nothing is published before the tests of the same commit have passed.
    assert re.search(
        r"^  tests:\n(?:    .*\n)*    uses: ./.github/workflows/test.yml$", workflow, re.MULTILINE
    )
    assert re.search(r"^  check:\n    needs: \[tests, ", workflow, re.MULTILINE)
    assert re.search(r"^  publish:\n(?:    .*\n)*?    needs: \[check\]$", workflow, re.MULTILINE)
    assert "\npublish = false\n" in read(REPOSITORY, "Cargo.toml")
    wanted, name = re.search(r'run: grep -q "(pip .+)" (\S+)$', workflow, re.MULTILINE).groups()
    page = read(REPOSITORY, name)
    says_so = re.search(wanted, page, re.MULTILINE) is not None
    assert says_so != ("not on a package index" in page)
    assert re.search(wanted, "```console\npython -m pip install spinney\n```", re.MULTILINE)


@pytest.mark.parametrize("version", ["v0.2.0", "0.2", "0.2.0rc1"])
def test_an_odd_version_is_refused(tool, copies, version):
    with pytest.raises(SystemExit, match=f"must be three numbers with dots, got '{version}'"):
        tool.main(version, copies)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_to_commits(path):
    """A tag can be moved to other code; the comment says which version the commit was."""
    used = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    assert used
    for action in used:
        if action.startswith("./"):
            assert (REPOSITORY / action).exists(), action
        else:
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_call_targets_and_files_that_exist(path):
    text = path.read_text(encoding="utf-8")
    makefile = read(REPOSITORY, "Makefile")
    for target in re.findall(r"run: make ([a-z-]+)$", text, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for file in re.findall(r"\btests/\w+\.py", text):
        assert (REPOSITORY / file).exists(), file
