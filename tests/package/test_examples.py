"""The programs of the gallery run, are short, and draw their pictures."""

import xml.etree.ElementTree as ET

import pytest

from conftest import REPOSITORY
from programs import run_script

# The demo is no part of the gallery, and the search on a cluster is a part of another page.
NOT_SHOWN = {"cluster_search", "demo"}
EVERY = sorted((REPOSITORY / "examples").glob("*.py"))
SHOWN = [path for path in EVERY if path.stem not in NOT_SHOWN]
# test_dask.py runs what needs Dask, and test_readme.py the demo.
EXAMPLES = [path for path in SHOWN if path.stem != "dask_forest"]
# What programs print, in part.
PRINTED = {
    "anomalies": "of 30 strays found",
    "boosting_rounds": "rate 0.1   lowest loss 0.3",
    "boruta": "0 of them noise",
    "categories": "AUC 0.9",
    "effects": "average effect 1.7",
    "explaining": "contributions add up: True",
    "fingerprints": "out of bag: R2 0.5",
    "grid_search": "Dataset",
    "imputation": "forests         error",
    "intervals": "of 100 new values are inside",
    "lazy_queries": "the digit 0 because of these: [0 0 0 0 0]",
    "leave_one_out": "accuracy 0.98",
    "medians": "median mean distance",
    "rare_classes": "drawn by class",
    "serving": "40 requests",
    "survival": "concordance 0.",
    "text_classification": "accuracy 0.8",
    "tuning": "digits  n_estimators  5: 1.",
}


def test_all_examples_are_known():
    assert {path.stem for path in EXAMPLES} == set(PRINTED)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(path, tmp_path):
    picture = tmp_path / "picture.svg"
    arguments = [picture, "40"] if path.stem == "serving" else [picture]
    printed = run_script(path, *arguments, folder=tmp_path)
    assert PRINTED[path.stem] in printed
    assert len(list(ET.parse(picture).iter())) > 50


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.stem)
def test_examples_are_short_and_shown(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) < 60
    gallery = (REPOSITORY / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert f"../examples/{path.name}\n" in gallery
    assert f"](gallery/{path.stem}.svg)" in gallery
    assert (REPOSITORY / "docs" / "gallery" / f"{path.stem}.svg").stat().st_size < 150_000
