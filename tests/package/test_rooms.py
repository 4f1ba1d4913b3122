"""The order of the packages in `python/spinney`: each imports only what stands below it."""

import ast
import pickle
import sys
from pathlib import Path

import pytest

import spinney
from conftest import REPOSITORY

# From the ground up. Packages of one line do not import each other.
FLOORS = [
    {"_spinney"},
    {"_common"},
    {"_data"},
    {"_fit"},
    {"storage"},
    {"conversion", "dataset", "__main__"},
    {"_base", "_cluster", "_explain"},
    {"tree"},
    {"ensemble"},
    {"causal", "conformal", "feature_selection", "impute", "survival"},
    {"inspection", "model_selection"},
    {"plotting"},
    {"dask", "ray"},
    {"__init__"},
]
FLOOR_OF = {name: floor for floor, names in enumerate(FLOORS) for name in names}
SOURCES = REPOSITORY / "python" / "spinney"


def room_of(path: Path) -> str:
    """Return the package, or the module beside the packages, that a file belongs to."""
    return path.relative_to(SOURCES).parts[0].removesuffix(".py").removesuffix(".pyi")


def list_imports(path: Path) -> set[str]:
    """Return the rooms that a file imports, wherever in the file."""
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            raise AssertionError(f"{path} has a relative import")
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        rooms |= {name.split(".")[1] for name in names if name.startswith("spinney.")}
    return rooms


FILES = [path for path in SOURCES.rglob("*.py*") if path.suffix in (".py", ".pyi")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCES)))
def test_imports_point_down(path):
    """A file imports its own room and rooms of lower floors."""
    room = room_of(path)
    too_high = {
        other
        for other in list_imports(path) - {room}
        if FLOOR_OF.get(other, -1) >= FLOOR_OF[room] and (SOURCES / other).exists()
    }
    assert not too_high, f"{path.relative_to(SOURCES)} imports {too_high}"


@pytest.mark.parametrize(
    ("name", "place"),
    [("forest", "ensemble"), ("neighbours", "inspection"), ("_draws", "ensemble")],
)
def test_modules_of_older_versions_say_where_they_are(name, place):
    """So do pickles, which import by these names."""
    pickled = f"cspinney.{name}\nRandomForestClassifier\n.".encode()
    with pytest.raises(ModuleNotFoundError, match=rf"is in spinney\.{place}.*`save`"):
        pickle.loads(pickled)
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'spinney\.other'"):
        pickle.loads(b"cspinney.other\nX\n.")


@pytest.mark.parametrize("name", ["tree", "ensemble"])
def test_our_names_are_where_scikit_learn_has_them(name):
    """A module has every name of scikit-learn's module that this package has anywhere."""
    theirs = __import__(f"sklearn.{name}", fromlist=["__all__"]).__all__
    ours = getattr(spinney, name).__all__
    anywhere = {
        public
        for module in ("", *(n for n in spinney.__all__ if f"spinney.{n}" in sys.modules))
        for public in getattr(spinney, module, spinney).__all__
    }
    assert set(theirs) & anywhere <= set(ours)
    assert all(hasattr(getattr(spinney, name), public) for public in ours)
