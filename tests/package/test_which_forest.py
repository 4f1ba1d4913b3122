"""The page that chooses a forest knows all classes, and the libraries that it compares."""

import importlib
import inspect
import json

import pytest
from sklearn.base import BaseEstimator

import spinney
from conftest import REPOSITORY
from programs import run_script

PAGE = REPOSITORY / "docs" / "which-forest.md"
RESULTS = REPOSITORY / "benches" / "peers" / "results"
# Modules whose classes are not in `spinney` itself.
MODULES = ("causal", "conformal", "feature_selection", "impute", "survival")
OURS = ("Spinney, random forest", "Spinney, extra trees")
OTHERS = ("scikit-learn, random forest", "scikit-learn, histogram boosting", "LightGBM")


def find_estimators():
    modules = [spinney, *(importlib.import_module(f"spinney.{name}") for name in MODULES)]
    found = [(name, getattr(module, name)) for module in modules for name in module.__all__]
    classes = [(name, value) for name, value in found if inspect.isclass(value)]
    return sorted({name for name, value in classes if issubclass(value, BaseEstimator)})


def read_tables():
    return json.loads((RESULTS / "which.json").read_text(encoding="utf-8"))["tables"]


@pytest.mark.parametrize("name", [*find_estimators(), "Dataset", "grow_with"])
def test_the_page_names_each_class(name):
    assert f"`{name}" in PAGE.read_text(encoding="utf-8")


def test_many_classes_are_looked_for():
    found = find_estimators()
    assert {"RandomForestClassifier", "Boruta", "SurvivalTree", "MissForestImputer"} <= set(found)
    assert len(found) >= 25


def test_the_results_have_the_libraries_that_the_page_compares():
    text = PAGE.read_text(encoding="utf-8")
    for table in read_tables():
        assert table["head"][0] == "table"
        assert {*OURS, *OTHERS} <= set(table["head"]), table["title"]
        assert {len(row) for row in table["rows"]} == {len(table["head"])}
        for name in table["head"][1:]:
            assert name.split(",")[0] in text


def test_each_set_is_in_all_results():
    sets = {table["title"]: {str(row[0]) for row in table["rows"]} for table in read_tables()}
    names = sets["Accuracy or R2"] - {"mean rank"}
    assert 6 <= len(names) < len(sets["Accuracy or R2"])
    assert sets["AUC"] == {name for name in names if name.endswith("2 classes")}
    with_means = {"Training rows a second, thousands", "Rows predicted a second, thousands"}
    for title in with_means | {"Model file, kB"}:
        assert sets[title] == {*names, "geometric mean"}


def test_the_tables_of_the_page_are_those_of_the_results(tmp_path):
    """`make chart` would change nothing."""
    report = REPOSITORY / "benches" / "papers" / "report.py"
    run_script(report, tmp_path, RESULTS / "which.json", folder=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["which.md"]
    made = (tmp_path / "which.md").read_text(encoding="utf-8")
    assert made == (RESULTS / "which.md").read_text(encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    assert "```{include} ../benches/peers/results/which.md\n" in page
