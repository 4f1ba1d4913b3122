"""`import spinney`: one import is enough, and it costs nothing that is not used."""

import subprocess
import sys
from importlib import import_module
from inspect import get_annotations

import pytest
from sklearn.base import BaseEstimator

import spinney

MODULES = ("dataset", "ensemble", "inspection", "model_selection", "plotting", "tree")


def run(code):
    """Return what a new interpreter prints."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_every_public_name_is_loaded_when_it_is_used():
    """After `import spinney` alone, all names are listed, and each can be used."""
    code = "import spinney; print(set(spinney.__all__) <= set(dir(spinney)))"
    assert run(code) == "True"
    code = "import spinney; print([getattr(spinney, n).__class__.__name__ for n in {0!r}])"
    kinds = [type(getattr(spinney, name)).__name__ for name in spinney.__all__]
    assert run(code.format(spinney.__all__)) == str(kinds)


def test_public_modules_are_attributes_of_the_package():
    """As attributes they are the modules that `import` finds."""
    for name in MODULES:
        assert name in spinney.__all__
        assert getattr(spinney, name) is import_module(f"spinney.{name}")


def test_an_import_of_the_package_loads_nothing_else():
    """Neither scikit-learn nor the modules of the package are loaded before they are used."""
    code = "import sys, spinney; print([m for m in sys.modules if m in {0!r}])"
    heavy = ["sklearn", "pandas", "scipy", *(f"spinney.{name}" for name in MODULES)]
    assert run(code.format(heavy)) == "[]"


def test_cross_validation_needs_no_import_of_its_own():
    """The function is there after `import spinney`."""
    assert run("import spinney; print(spinney.model_selection.cross_val_score.__module__)") == (
        "spinney.model_selection._functions"
    )


@pytest.mark.parametrize("name", ["dask", "ray"])
def test_modules_of_clusters_are_attributes_too(name):
    """They are loaded when they are used, and are in no list of names, as they may be missing."""
    pytest.importorskip(name)
    assert name not in {*spinney.__all__, *run("import spinney; print(*dir(spinney))").split()}
    assert run(f"import spinney; print(spinney.{name}.__name__)") == f"spinney.{name}"


def test_an_unknown_name_is_an_attribute_error():
    """As for any module, also where `from spinney import` asks for it."""
    with pytest.raises(AttributeError, match="module 'spinney' has no attribute 'trees'"):
        _ = spinney.trees
    with pytest.raises(ImportError, match="cannot import name 'trees'"):
        import_names("trees")


def import_names(name):
    """Run `from spinney import name`."""
    exec(f"from spinney import {name}", {})


ROOMS = ("tree", "ensemble", "survival", "conformal", "impute", "feature_selection", "causal")
ESTIMATORS = [
    known
    for room in map(import_module, (f"spinney.{name}" for name in ROOMS))
    for known in (getattr(room, name) for name in room.__all__)
    if isinstance(known, type) and issubclass(known, BaseEstimator)
]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_type_checkers_know_the_parameters(estimator):
    """`__init__` stores them by one call, so that the classes must declare them."""
    declared = {name for known in estimator.__mro__ for name in get_annotations(known)}
    assert set(estimator._get_param_names()) <= declared
