"""Every heading of docs/errors.md is what a message says, for the reason that the page gives."""

from __future__ import annotations

import importlib
import importlib.util
import re
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import spinney
from spinney import RandomForestClassifier, RandomForestRegressor
from spinney.survival import RandomSurvivalForest

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"

X = np.random.default_rng(0).normal(size=(40, 4))
Y = (X[:, 0] > 0).astype(int)
NAMED = pd.DataFrame(X, columns=list("abcd"))
CITIES = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0] * 5, "city": list("abca") * 5})
CITY_Y = [0, 1, 0, 1] * 5


def classifier(**parameters: object) -> RandomForestClassifier:
    return RandomForestClassifier(3, random_state=0, **parameters)


def regressor(**parameters: object) -> RandomForestRegressor:
    return RandomForestRegressor(3, random_state=0, **parameters)


def of_cities(**parameters: object) -> RandomForestClassifier:
    frame = CITIES.astype({"city": "category"})
    return classifier(categorical_features="from_dtype", **parameters).fit(frame, CITY_Y)


def unknown_cities(n: int) -> pd.DataFrame:
    return pd.DataFrame({"size": [1.0] * n, "city": ["z"] * n}).astype({"city": "category"})


def load_text(folder: Path) -> None:
    (folder / "model").write_bytes(b"a text, and no model")
    spinney.load(folder / "model")


# What leads to the message of each heading, which is known by its beginning.
CAUSES: dict[str, Callable[[Path], object]] = {
    "could not convert": lambda _: classifier().fit(CITIES, CITY_Y),
    "categorical_features has": lambda _: classifier(categorical_features=["town"]).fit(
        CITIES, CITY_Y
    ),
    "Input y contains NaN": lambda _: regressor().fit(X, np.where(Y, np.nan, 1.0)),
    "Unknown label type": lambda _: classifier().fit(X, X[:, 0]),
    "Some value(s) of y": lambda _: regressor(criterion="poisson").fit(X, X[:, 0]),
    "The 'criterion' parameter": lambda _: regressor(criterion="mse").fit(X, Y),
    "The 'max_features' parameter": lambda _: regressor(max_features="auto").fit(X, Y),
    "Found input variables": lambda _: regressor().fit(X, Y[:10]),
    "Out of bag estimation": lambda _: regressor(bootstrap=False, oob_score=True).fit(X, Y),
    "Some inputs do not": lambda _: regressor(oob_score=True).fit(X, Y),
    "sample_weight must be": lambda _: regressor().fit(X, Y, sample_weight=-np.ones(len(Y))),
    "monotonic_cst has shape": lambda _: classifier(monotonic_cst=[1, 0]).fit(X, Y),
    "n_estimators=": lambda _: (
        classifier(warm_start=True).fit(X, Y).set_params(n_estimators=2).fit(X, Y)
    ),
    "y must be a structured": lambda _: RandomSurvivalForest(3).fit(X, Y),
    "y must have events": lambda _: RandomSurvivalForest(3).fit(X, (np.arange(len(Y)), Y)),
    "No sample is censored": lambda _: RandomSurvivalForest(3).fit(X, (Y + 1, X[:, 0] ** 2)),
    "This … instance": lambda _: classifier().predict(X),
    "X has … columns": lambda _: classifier().fit(CITIES.assign(land="x"), CITY_Y),
    'categorical_features="from_dtype" finds': lambda _: classifier(
        categorical_features="from_dtype"
    ).fit(NAMED, Y),
    "Categorical features hold": lambda _: classifier(categorical_features=["day"]).fit(
        pd.DataFrame({"day": ["2024-01-31", "2024-02-01"]}), [0, 1]
    ),
    "categorical_features should": lambda _: classifier(categorical_features=["a"]).fit(X, Y),
    "X has … features": lambda _: classifier().fit(X, Y).predict(X[:, :3]),
    "The feature names": lambda _: classifier().fit(NAMED, Y).predict(NAMED[list("bacd")]),
    "X does not have": lambda _: classifier().fit(NAMED, Y).predict(X),
    "Expected 2D array, got 1D": lambda _: classifier().fit(X, Y).predict(X[0]),
    "Expected 2D array, got a dict": lambda _: (
        classifier().fit(NAMED, Y).predict(NAMED.iloc[0].to_dict())
    ),
    "Found unknown categories": lambda _: of_cities(handle_unknown="error").predict(
        unknown_cities(1)
    ),
    "No category that occurs": lambda _: of_cities().predict(unknown_cities(3)),
    "… is not a model file": load_text,
    "The module": lambda _: importlib.import_module("spinney.forest"),
    "spinney.ray needs": lambda _: spinney.ray,
    "This … has categorical": lambda _: of_cities().to_sklearn(),
}


def headings() -> list[str]:
    return re.findall(r"^### `(.*)`$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_each_heading_has_one_cause():
    causes = [[cause for cause in CAUSES if heading.startswith(cause)] for heading in headings()]
    assert [len(found) for found in causes] == [1] * len(CAUSES)


@pytest.mark.parametrize("heading", headings())
def test_headings_are_what_messages_say(heading, tmp_path):
    if heading.startswith("spinney.ray") and importlib.util.find_spec("ray"):
        pytest.skip("Ray is installed")
    (cause,) = (work for start, work in CAUSES.items() if heading.startswith(start))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((ValueError, AttributeError, ImportError, UserWarning)) as caught:
            cause(tmp_path)
    pattern = ".*".join(re.escape(part) for part in heading.rstrip(" …").split("…"))
    said = str(caught.value).replace("`", "")
    assert re.match(pattern, said, flags=re.DOTALL), said
