"""Every public name has an example in its docstring, which prints what it says."""

import ast
import doctest
import inspect
import types

import pytest

import spinney
from conftest import REPOSITORY

# Their examples need a cluster; tests/package/test_docs.py runs some on the page about clusters.
CLUSTERS = ("dask", "ray")


def find_public(module, prefix=""):
    """Return the public classes and functions of a module, by the names that users write."""
    found = {}
    for name in module.__all__:
        value = getattr(module, name)
        if isinstance(value, types.ModuleType):
            found |= find_public(value, f"{prefix}{name}.")
        elif callable(value) and not inspect.isabstract(value):
            found[prefix + name] = value
    return found


PUBLIC = find_public(spinney)


def test_public_names_are_found():
    """Those of modules, too."""
    assert {"Dataset", "load", "model_selection.cross_validate", "ensemble.Exploration"} <= set(
        PUBLIC
    )
    assert len(PUBLIC) > 25


# Each class and function once, however many modules show it.
@pytest.mark.parametrize("name", {value: name for name, value in PUBLIC.items()}.values())
def test_the_example_prints_what_it_says(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    (test,) = doctest.DocTestFinder(recurse=False).find(PUBLIC[name], name)
    assert test.examples, f"{name} has no example"
    failures = []
    doctest.DocTestRunner(verbose=False).run(test, out=failures.append)
    assert not failures, "".join(failures)


@pytest.mark.parametrize("carrier", CLUSTERS)
def test_classes_for_clusters_have_an_example(carrier):
    """Their modules import what is not installed everywhere, hence from the sources."""
    path = REPOSITORY / "python" / "spinney" / f"{carrier}.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    public = [node for node in classes if node.name.endswith(("Classifier", "Regressor"))]
    assert len(public) == 4
    for node in public:
        assert ">>> " in ast.get_docstring(node), node.name
