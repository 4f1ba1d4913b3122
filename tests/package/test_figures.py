"""Figures in prose are those of the files of results.

A comment before a paragraph, a list or a table says where its figures come from, in their order:

    <!-- figures
    one tree, 20 Newsgroups: spinney; scikit-learn; scikit-learn x
    leave-one-out, Breast, 569 rows, gini: spinney / spinney, a fit
    papers/regression: 50,000 | L1, Spinney
    peers/project: all steps | Spinney
    peers/which: Model file, kB | geometric mean | Spinney, random forest / CatBoost
    3 by predict.py
    2 estimated
    -->

Each line is a row of `benches/results.json` with its libraries (seconds; with an x how many times
as long as ours; two with a slash for their quotient), a file of `benches/papers/results` or
`benches/peers/results` with rows and columns of its tables (before them perhaps the title of the
table; two columns with a slash for their quotient), or a number of figures that no file has: those
that a script of `benches/peers` prints, estimates, and those that somebody measured without a
script.
"""

import json
import re

import pytest

from conftest import REPOSITORY

BENCHES = REPOSITORY / "benches"
RESULTS = json.loads((BENCHES / "results.json").read_text(encoding="utf-8"))["rows"]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
# Decisions are records: their figures are those of the day on which they were made.
PAGES = [path for path in PAGES if not {"_build", "generated", "decisions"} & set(path.parts)]
FIGURE = re.compile(
    r"(?<![\w.,/])(\d[\d,]*(?:\.\d+)?)"
    r"(?:\s(s|ms|µs|seconds|times|fits|kB|MB|GB)\b|(x)(?!\w))"
)
PROGRAM = re.compile(r"^(`{3,}).*?^\1$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"^<!-- figures\n(.*?)^-->\n", re.MULTILINE | re.DOTALL)
# Seconds, multiples, or bytes.
UNITS = {"s": 1.0, "seconds": 1.0, "ms": 1e-3, "µs": 1e-6, "times": 1.0, "x": 1.0, "fits": 1.0}
UNITS |= {"kB": 1e3, "MB": 1e6, "GB": 1e9}


def find_figures(block):
    """Return the figures of a block: how they are written, their values and how exact these are."""
    figures = []
    for number, unit, times in FIGURE.findall(block):
        unit = unit or times
        decimals = len(number.partition(".")[2])
        value, half = float(number.replace(",", "")), 0.5 * 10.0**-decimals
        figures.append((f"{number} {unit}", value * UNITS[unit], half * UNITS[unit]))
    return figures


def find_in_tables(key, item):
    """Return a figure, or a quotient of two, of a row of a file that has tables."""
    folder, name = key.split("/")
    path = BENCHES / folder / "results" / f"{name}.json"
    *title, row_name, columns = item.split(" | ")
    columns = columns.split(" / ")
    for table in json.loads(path.read_text(encoding="utf-8"))["tables"]:
        if title and table["title"] != title[0]:
            continue
        for row in table["rows"]:
            if str(row[0]) == row_name and set(columns) <= set(table["head"]):
                found = [float(row[table["head"].index(column)]) for column in columns]
                return found[0] if len(found) == 1 else found[0] / found[1]
    raise KeyError(f"{path.name} has no {item}")


def find_recorded(key, item):
    """Return a figure of a file of results."""
    if key.startswith(("papers/", "peers/")):
        return find_in_tables(key, item)
    row = RESULTS[key]
    if " / " in item:
        above, below = item.split(" / ")
        return row["seconds"][above] / row["seconds"][below]
    if not item.endswith(" x"):
        return row["seconds"][item]
    library = item.removesuffix(" x")
    if library in row.get("ratios", {}):
        return row["ratios"][library]
    ours = row["seconds"].get("spinney", row["seconds"].get("spinney sparse"))
    return row["seconds"][library] / ours


def read_sources(comment):
    """Return where the figures of a block come from: a value for each, or None."""
    sources = []
    for line in comment.splitlines():
        if unrecorded := re.fullmatch(r"(\d+) (?:by (\w+\.py)|estimated|without a script)", line):
            script = unrecorded[2]
            assert script is None or (BENCHES / "peers" / script).exists(), line
            sources += [None] * int(unrecorded[1])
        else:
            key, _, items = line.rpartition(": ")
            sources += [find_recorded(key, item) for item in items.split("; ")]
    return sources


def find_blocks(text):
    """Return the blocks of a page that have figures, each with its comment, or None."""
    for block in re.split(r"\n\s*\n", PROGRAM.sub("", text)):
        comment = COMMENT.search(block + "\n")
        prose = COMMENT.sub("", block + "\n")
        if figures := find_figures(prose):
            yield figures, comment and comment[1]
        else:
            assert comment is None, f"no figure stands after {comment[1]!r}"


def check(text):
    """Compare the figures of a page with the results, and return how many are recorded."""
    n_recorded = 0
    for figures, comment in find_blocks(text):
        names = [name for name, *_ in figures]
        assert comment is not None, f"no comment says where these come from: {names}"
        sources = read_sources(comment)
        assert len(sources) == len(figures), f"the comment has {len(sources)} figures, not {names}"
        for (name, value, half), source in zip(figures, sources, strict=True):
            if source is not None:
                n_recorded += 1
                assert abs(value - source) <= half * 1.001, f"{name}, but the results: {source}"
    return n_recorded


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_figures_are_those_of_the_results(path):
    check(path.read_text(encoding="utf-8"))


def test_most_figures_of_the_first_page_are_recorded():
    assert check((REPOSITORY / "README.md").read_text(encoding="utf-8")) >= 17


NEWS = "<!-- figures\none tree, 20 Newsgroups: spinney; scikit-learn x\n-->\nIt takes {}.\n"


def test_a_figure_that_differs_is_found():
    seconds = RESULTS["one tree, 20 Newsgroups"]["seconds"]
    ours, ratio = seconds["spinney"], seconds["scikit-learn"] / seconds["spinney"]
    assert check(NEWS.format(f"{ours} s, and scikit-learn {ratio:.0f}x that")) == 2
    with pytest.raises(AssertionError, match=r"9\.9 s, but the results: "):
        check(NEWS.format(f"9.9 s, and scikit-learn {ratio:.0f}x that"))
    with pytest.raises(AssertionError, match=r"the comment has 2 figures, not \['0\.34 s'\]"):
        check(NEWS.format("0.34 s"))
    with pytest.raises(AssertionError, match=r"no comment says where these come from"):
        check("It takes 0.34 s.\n")
    with pytest.raises(AssertionError, match=r"no figure stands after"):
        check(NEWS.format("long"))
    with pytest.raises(KeyError, match="one tree, no data"):
        check("<!-- figures\none tree, no data: spinney\n-->\nIt takes 3 s.\n")
