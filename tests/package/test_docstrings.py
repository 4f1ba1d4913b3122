"""Docstrings are complete in the sources: `tools/docstrings.py` has written what they share."""

import ast
import inspect
import pkgutil
import re
import subprocess
import sys
from importlib import import_module

import pytest

import spinney
from conftest import REPOSITORY
from strategies import ESTIMATORS, FORESTS, LAZY_FORESTS

TOOL = REPOSITORY / "tools" / "docstrings.py"


@pytest.fixture
def tool(monkeypatch):
    """Return the functions of the tool."""
    monkeypatch.syspath_prepend(str(TOOL.parent))
    import docstrings

    return docstrings


def test_sources_have_the_shared_descriptions():
    """Nothing would be written."""
    subprocess.run([sys.executable, TOOL, "--check"], check=True)


def test_a_shared_description_is_written_below_its_entry(tool):
    """An old description is replaced; entries that are not in the vocabulary stay."""
    source = (
        'def f(a, b, c):\n    """Do.\n\n    a : int\n        Old.\n    b : int\n    c : {1, \\\n'
    )
    source += '            2}\n    """\n'
    written = tool.write_docstrings(source, {"f": "a\n    New\n    text.\nc\n    See `x = 1`.\n"})
    expected = source.replace("Old.", "New text.").replace("2}\n", "2}\n        See `x = 1`.\n")
    assert written == expected
    assert tool.write_docstrings(written, {"f": "a\n    New text.\n"}) == written


@pytest.mark.parametrize("estimator_class", ESTIMATORS + FORESTS + LAZY_FORESTS)
def test_what_help_shows_stands_in_the_source(estimator_class):
    """Editors and type checkers, which do not run the code, read the same text."""
    tree = ast.parse(inspect.getsource(estimator_class))
    assert inspect.cleandoc(ast.get_docstring(tree.body[0])) == inspect.getdoc(estimator_class)
    assert "Largest depth of a leaf. None means no limit." in inspect.getdoc(estimator_class)
    assert getattr(spinney, estimator_class.__name__) is estimator_class


def find_public_classes():
    """Return the classes of all public modules that can be imported here, with their modules."""
    for module in pkgutil.iter_modules(spinney.__path__, "spinney."):
        if module.name.rpartition(".")[2].startswith("_"):
            continue
        try:
            public = import_module(module.name)
        except ImportError:
            # Ray and Dask need not be there.
            continue
        for name in public.__all__:
            kind = getattr(public, name)
            if inspect.isclass(kind) and not name.startswith("Base"):
                yield pytest.param(kind, public, id=f"{module.name}.{name}")


@pytest.mark.parametrize(("kind", "module"), list(find_public_classes()))
def test_every_class_names_its_neighbours(kind, module):
    """Each name below "See Also" leads somewhere: within the module, in spinney or elsewhere."""
    sections = inspect.getdoc(kind).split("\nSee Also\n--------\n")
    assert len(sections) == 2
    names = re.findall(r"^(\S+) : ", sections[1].partition("\n\n")[0], re.MULTILINE)
    assert names
    for name in names:
        assert find(module, name) or find(spinney, name) or find(None, name), name


def find(start, name):
    """Return what a dotted name leads to, within a module or by its full path."""
    first, *others = name.split(".")
    found = import_module(first) if start is None else getattr(start, first, None)
    for other in others:
        found = getattr(found, other, None)
    return found
