"""Forms of targets of survival models, and mistakes in them."""

import datetime as dt
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from spinney.survival import (
    LazySurvivalForest,
    RandomSurvivalForest,
    SurvivalTree,
    concordance_index,
    kaplan_meier_estimator,
)

N = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
TIMES = np.ceil(8 * RNG.exponential(np.exp(X[:, 0])))
EVENTS = RNG.random(N) < 0.7
CAUSES = EVENTS * RNG.integers(1, 3, N)
MODELS = [
    SurvivalTree(random_state=0),
    RandomSurvivalForest(3, random_state=0),
    LazySurvivalForest(3, random_state=0),
]


def structure(first, second, names=("event", "time")):
    """Return a structured array."""
    kinds = [np.asarray(part).dtype for part in (first, second)]
    array = np.empty(len(first), dtype=list(zip(names, kinds, strict=True)))
    array[names[0]], array[names[1]] = first, second
    return array


# From events and times, in this order, to a target.
FORMS = {
    "pair": lambda first, second: (first, second),
    "lists": lambda first, second: (first.tolist(), second.tolist()),
    "series": lambda first, second: (
        pd.Series(first, index=np.arange(N)[::-1]),
        pl.Series(second),
    ),
    "rows": lambda first, second: list(zip(first.tolist(), second.tolist(), strict=True)),
    "array": lambda first, second: np.column_stack([first, second]),
    "objects": lambda first, second: np.array(
        list(zip(first.tolist(), second.tolist(), strict=True)), dtype=object
    ),
    "structured": structure,
    "pandas": lambda first, second: pd.DataFrame({"a": first, "b": second}, index=np.arange(N) + 9),
    "nullable": lambda first, second: pd.DataFrame({"a": first, "b": second}).convert_dtypes(),
    "polars": lambda first, second: pl.DataFrame({"a": first, "b": second}),
    "arrow": lambda first, second: pa.table({"a": first, "b": second}),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("events", [EVENTS, CAUSES, CAUSES.astype(np.uint8)])
def test_all_forms_are_the_same(form, events):
    y = FORMS[form](events, TIMES)
    expected = SurvivalTree(random_state=0).fit(X, (events, TIMES))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = SurvivalTree(random_state=0).fit(X, y)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    assert found.score(X, y) == expected.score(X, (events, TIMES))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("events", [EVENTS, EVENTS.astype(int), EVENTS + 1, CAUSES])
def test_events_and_times_that_are_swapped_are_told(form, events):
    # Days, of which there are many.
    days = np.arange(N) * 3 + 5
    with pytest.raises(ValueError, match=r"events first and times second.*swapped"):
        SurvivalTree().fit(X, FORMS[form](days, events))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_all_models_tell_what_is_swapped(model):
    swapped = ((np.arange(N), EVENTS), (np.arange(N), EVENTS + 1))
    for y in swapped:
        with pytest.raises(ValueError, match="events first and times second"):
            model.fit(X, y)
    fitted = clone(model).fit(X, (EVENTS, TIMES))
    for y in swapped:
        with pytest.raises(ValueError, match="events first and times second"):
            fitted.score(X, y)


@pytest.mark.parametrize(
    ("first", "second"), [("days", "died"), ("time_to_event", "status"), ("survival.years", "cens")]
)
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table, "series", "structured"])
def test_names_tell_that_events_and_times_are_swapped(first, second, kind):
    # Their values could be events and times.
    parts = np.array([1, 0, 1, 1]), np.array([5, 7, 9, 11])
    if kind == "series":
        swapped = pd.Series(parts[0], name=first), pd.Series(parts[1], name=second)
        right = pd.Series(parts[0], name=second), pd.Series(parts[1], name=first)
    elif kind == "structured":
        swapped, right = structure(*parts, (first, second)), structure(*parts, (second, first))
    else:
        swapped = kind(dict(zip((first, second), parts, strict=True)))
        right = kind(dict(zip((second, first), parts, strict=True)))
    tree = SurvivalTree(random_state=0)
    with pytest.raises(ValueError, match=f"Got '{first}' and '{second}': they are swapped"):
        tree.fit(X[:4], swapped)
    tree.fit(X[:4], right)
    with pytest.raises(ValueError, match="they are swapped"):
        tree.score(X[:4], swapped)


def test_few_rows_and_many_causes_are_no_mistake():
    times = np.array([1.0, 2.0, 3.0, 1.0, 2.0, 3.0])
    tree = SurvivalTree(random_state=0).fit(X[:6], (np.array([0, 1, 2, 3, 4, 1]), times))
    # A part of these rows may have two times and three causes.
    assert np.isfinite(tree.score(X[:3], (np.array([1, 2, 3]), np.array([1.0, 2.0, 2.0]))))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_codes_without_a_zero_are_warned_of(form, model):
    y = FORMS[form](EVENTS + 1, TIMES)
    with pytest.warns(UserWarning, match=r"codes of events in y are 1, 2, .* subtract 1") as caught:
        model.fit(X, y)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="No sample is censored"):
        kaplan_meier_estimator(EVENTS + 1, TIMES)
    # Rows of weight 0 are none.
    with pytest.warns(UserWarning, match="No sample is censored"):
        model.fit(X, (CAUSES, TIMES), sample_weight=(CAUSES > 0) * 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # All events are seen.
        model.fit(X, FORMS[form](np.ones(N, dtype=bool), TIMES))
        kaplan_meier_estimator(np.ones(N, dtype=int), TIMES)


def test_kaplan_meier_tells_what_is_swapped():
    for event, time in ((TIMES, EVENTS), (np.arange(N), EVENTS + 1)):
        with pytest.raises(ValueError, match="events first and times second"):
            kaplan_meier_estimator(event, time)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_one_event_is_warned_of(model):
    one = np.arange(N) == 7
    with pytest.warns(UserWarning, match="y has one event among 60 samples"):
        model.fit(X, (one, TIMES))
    with pytest.warns(UserWarning, match="y has one event of cause 2 among 60 samples"):
        clone(model).set_params(cause=2).fit(X, (np.where(one, 2, EVENTS), TIMES))
    weights = np.where(np.arange(N) < 3, 0.0, 1.0)
    with pytest.warns(UserWarning, match="y has one event among 57 samples"):
        model.fit(X, (one | (weights == 0), TIMES), sample_weight=weights)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (
            pd.DataFrame({"e": pd.array([True, None], dtype="boolean"), "t": [1.0, 2]}),
            "Events .* the first in row 1",
        ),
        (pl.DataFrame({"e": [True, None], "t": [1.0, 2.0]}), "Events .* the first in row 1"),
        (pl.DataFrame({"e": [True, False], "t": [1.0, None]}), "Times in y must be finite"),
        (([True, False], [None, "soon"]), "Times in y must be known .* the first in row 0"),
        (([True, False], [dt.date(2026, 1, 1), 2.0]), "Times in y must be numbers. Got objects"),
        (([3.5, 0.0], [1.0, 2.0]), "Got 3.5. Events come first, times second"),
    ],
)
def test_missing_values_are_told(y, message):
    with pytest.raises(ValueError, match=message):
        SurvivalTree().fit(X[:2], y)


def test_risks_are_scored_alike():
    tree = SurvivalTree(random_state=0).fit(X, (EVENTS, TIMES))
    assert (
        tree.score(X, (EVENTS, TIMES)) == concordance_index(EVENTS, TIMES, tree.predict(X)).cindex
    )
