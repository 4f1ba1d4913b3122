"""Scores of survival models, against their definitions."""

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import model_selection as of_sklearn
from sklearn.base import clone
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spinney.model_selection import cross_val_predict, cross_val_score, cross_validate
from spinney.survival import (
    LazySurvivalForest,
    RandomSurvivalForest,
    SurvivalTree,
    brier_score,
    concordance_index,
    concordance_index_ipcw,
    cumulative_dynamic_auc,
    integrated_brier_score,
    make_survival_scorer,
)
from strategies import examples

NAMES = [
    "concordance",
    "concordance_ipcw",
    "cumulative_dynamic_auc",
    "neg_integrated_brier_score",
]


def make_data(seed, n=40, n_causes=1, n_times=12):
    """Return risks, codes of events, and times; some are equal, and the last ones are seen."""
    rng = np.random.default_rng(seed)
    risks = np.round(rng.normal(size=n), 1)
    times = rng.integers(1, n_times, n).astype(float)
    events = (rng.random(n) < 0.7) * rng.integers(1, n_causes + 1, n)
    events[:n_causes] = np.arange(n_causes) + 1
    late = times >= times.max() - 1
    events[late] = np.maximum(events[late], 1)
    return risks, events, times


def find_unseen(events, times, at):
    """Return the probability not to be censored up to a time: events come first."""
    share = 1.0
    for time in np.unique(times[times <= at]):
        at_risk = ((times > time) | ((times == time) & (events == 0))).sum()
        if at_risk:
            share *= 1 - ((times == time) & (events == 0)).sum() / at_risk
    return share


targets = st.tuples(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 3]))


@examples(12)
@given(targets)
def test_scores_are_their_definitions(target):
    seed, n_causes = target
    risks, events, times = make_data(seed, n_causes=n_causes)
    _, *train = make_data(seed + 1, n_causes=n_causes)
    cause = None if n_causes == 1 else 2
    is_event = events > 0 if cause is None else events == cause
    rng = np.random.default_rng(seed)
    at = np.array([2.0, 3.5, 6.0])
    chances = rng.random((40, 3))
    estimate = 1 - chances if cause is None else chances
    unseen = np.array([find_unseen(*train, time) for time in times])
    scores, areas = np.zeros(3), np.full(3, np.nan)
    for place, time in enumerate(at):
        of_time = find_unseen(*train, time)
        weights = np.array(
            [(events[i] > 0) / unseen[i] if times[i] <= time else 1 / of_time for i in range(40)]
        )
        is_case = is_event & (times <= time)
        scores[place] = np.mean(weights * (is_case - chances[:, place]) ** 2)
        found = total = 0.0
        for i in np.flatnonzero(is_case):
            for j in np.flatnonzero(~is_case):
                pair = weights[i] * weights[j]
                total += pair
                found += pair * ((risks[i] > risks[j]) + 0.5 * (risks[i] == risks[j]))
        areas[place] = found / total if total else np.nan
    y_train, y = tuple(train), (events, times)
    same, found = brier_score(y_train, y, estimate, at, cause)
    np.testing.assert_array_equal(same, at)
    np.testing.assert_allclose(found, scores, rtol=1e-10)
    integral = (scores[0] + scores[1]) / 2 * 1.5 + (scores[1] + scores[2]) / 2 * 2.5
    found = integrated_brier_score(y_train, y, estimate, at, cause)
    assert found == pytest.approx(integral / 4, rel=1e-10)
    found, mean = cumulative_dynamic_auc(y_train, y, risks, at, cause=cause)
    np.testing.assert_allclose(found, areas, rtol=1e-10)
    assert np.nanmin(areas) - 1e-12 <= mean <= np.nanmax(areas) + 1e-12
    by_time, _ = cumulative_dynamic_auc(y_train, y, np.column_stack([risks] * 3), at, cause=cause)
    np.testing.assert_array_equal(by_time, found)

    sums, n_pairs = np.zeros(3), np.zeros(3, dtype=int)
    for i in np.flatnonzero(is_event & (times < 9)):
        for j in range(40):
            is_later = times[j] > times[i] or (times[j] == times[i] and events[j] == 0)
            competes = events[j] > 0 and not is_event[j] and times[j] <= times[i]
            if is_later or competes:
                kind = int(1 - np.sign(risks[i] - risks[j]))
                sums[kind] += 1 / (unseen[i] * (unseen[i] if is_later else unseen[j]))
                n_pairs[kind] += 1
    found = concordance_index_ipcw(y_train, y, risks, tau=9.0, cause=cause)
    expected = (sums[0] + sums[1] / 2) / sums.sum() if sums.sum() else np.nan
    np.testing.assert_allclose(found.cindex, expected, rtol=1e-10)
    assert found[1:4] == (n_pairs[0], n_pairs[2], n_pairs[1])


@examples(12)
@given(targets)
def test_without_censoring_weights_are_one(target):
    risks, _, times = make_data(target[0])
    y = (np.ones(40, dtype=bool), times)
    found = concordance_index_ipcw(y, y, risks)
    expected = concordance_index(*y, risks)
    assert found[1:] == expected[1:]
    assert found.cindex == pytest.approx(expected.cindex)


def test_curves_may_be_functions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = (np.ones(80, dtype=bool), rng.exponential(np.exp(X[:, 0])))
    curves = cross_val_predict(SurvivalTree(), X, y, cv=3, method="predict_survival_function")
    at = [0.2, 0.5, 1.0]
    expected = brier_score(y, y, np.array([curve(at) for curve in curves]), at)
    np.testing.assert_array_equal(brier_score(y, y, curves, at), expected)
    assert brier_score(y, y, curves, 0.5)[1][0] == pytest.approx(expected[1][1])
    assert 0.05 < expected[1].mean() < 0.5


Y = ([True, True, False, True], [1.0, 2.0, 2.5, 4.0])


@pytest.mark.parametrize(
    ("score", "arguments", "message"),
    [
        (brier_score, (Y, Y, np.zeros((4, 1)), [5.0]), "times must be at most 4, up to which"),
        (brier_score, (Y, Y, np.zeros((4, 2)), [2.0, 1.0]), "times must be finite numbers, asc"),
        (brier_score, (Y, Y, np.zeros(4), [1.0]), r"shape \(4, 1\), a probability at each time"),
        (brier_score, (Y, Y, np.zeros((3, 1)), [1.0]), "a row for each of 4 samples"),
        (brier_score, (Y, Y, np.full((4, 1), np.nan), [1.0]), "estimate must not be NaN"),
        (brier_score, (Y, ([], []), np.zeros((0, 1)), [1.0]), "y_test must have samples"),
        (integrated_brier_score, (Y, Y, np.zeros((4, 1)), [1.0]), "two times or more"),
        (integrated_brier_score, (Y, Y, np.zeros((4, 2)), [1, 2], 2), r"one of \[1\]. Got 2"),
        (
            cumulative_dynamic_auc,
            (([True, False], [1.0, 2.0]), ([True, False], [1.0, 3.0]), [2, 1], [2.0]),
            "times must be below 2",
        ),
        (cumulative_dynamic_auc, (([1, 2], [1, 2]), Y, np.zeros(4), [1.0]), r"of \[1, 2\], the c"),
        (concordance_index_ipcw, (Y, Y, [1.0, 2.0]), "estimate must be 4 risks without NaN"),
        (concordance_index_ipcw, (Y, Y, [1.0, 2.0, np.nan, 1.0]), "estimate must be 4 risks"),
        (
            concordance_index_ipcw,
            (([True, False], [1.0, 2.0]), Y, [1.0, 2.0, 3.0, 4.0]),
            "tau must be at most 2, from where on all samples of y_train are censored. Got None",
        ),
    ],
)
def test_illegal_arguments_are_told(score, arguments, message):
    with pytest.raises(ValueError, match=message):
        score(*arguments)


def make_forest_data(n_causes=1):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    times, ends = rng.exponential(np.exp(X[:, 0])), rng.uniform(0, 5, 120)
    events = (times <= ends) * rng.integers(1, n_causes + 1, 120)
    return X, (events, np.minimum(times, ends))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "model",
    [
        RandomSurvivalForest(8, random_state=0),
        LazySurvivalForest(8, random_state=0),
        SurvivalTree(random_state=0, min_samples_leaf=10),
        make_pipeline(StandardScaler(), RandomSurvivalForest(8, random_state=0)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_scorers_have_names(name, model):
    X, y = make_forest_data()
    scorer = make_survival_scorer(name)
    found = cross_val_score(model, X, y, cv=3, scoring=name)
    assert found.shape == (3,)
    floor = {"neg_integrated_brier_score": -0.25}.get(name, 0.5)
    assert (found > floor).all()
    structured = np.array(list(zip(*y, strict=True)), dtype=[("event", int), ("time", float)])
    again = of_sklearn.cross_val_score(model, X, structured, cv=3, scoring=scorer)
    np.testing.assert_array_equal(again, found)
    several = cross_validate(model, X, y, cv=3, scoring=["concordance", name])
    np.testing.assert_array_equal(several[f"test_{name}"], found)
    if name == "concordance":
        np.testing.assert_array_equal(cross_val_score(model, X, y, cv=3), found)


@pytest.mark.parametrize("name", NAMES)
def test_scorers_serve_scikit_learn(name):
    X, y = make_forest_data()
    y = np.array(list(zip(*y, strict=True)), dtype=[("event", int), ("time", float)])
    scorer = make_survival_scorer(name)
    search = GridSearchCV(
        RandomSurvivalForest(5, random_state=0), {"max_depth": [1, 3]}, scoring=scorer, cv=2
    )
    search.fit(X, y)
    assert scorer(search, X, y) == scorer(search.best_estimator_, X, y)
    found = permutation_importance(search, X, y, scoring=scorer, n_repeats=2, random_state=0)
    assert np.argmax(found.importances_mean) == 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("of_model", [None, 1, 2])
def test_scorers_by_cause(name, of_model):
    X, (causes, times) = make_forest_data(n_causes=2)
    model = RandomSurvivalForest(8, cause=of_model, random_state=0).fit(X, (causes, times))
    at = np.quantile(times[causes == 2], [0.2, 0.5, 0.8])
    is_auc_or_brier = not name.startswith("concordance")
    options = {"times": at} if is_auc_or_brier else {}
    found = make_survival_scorer(name, cause=2, **options)(model, X, (causes, times))
    y = (causes, times)
    curves = model.predict_cumulative_incidence_function(
        X, cause=2, return_array=True, times=at if is_auc_or_brier else None
    )
    if name == "neg_integrated_brier_score":
        assert found == -integrated_brier_score(y, y, curves, at, 2)
        one = make_survival_scorer(name, times=at[1], cause=2)(model, X, y)
        assert one == -brier_score(y, y, curves[:, [1]], at[1], 2)[1][0]
    elif name == "cumulative_dynamic_auc":
        risks = model.predict(X) if of_model == 2 else curves.mean(axis=1)
        assert found == cumulative_dynamic_auc(y, y, risks, at, cause=2)[1]
    elif of_model == 2:
        expected = {
            "concordance": model.score(X, y),
            "concordance_ipcw": concordance_index_ipcw(
                y, y, model.predict(X), tau=times.max(), cause=2
            ).cindex,
        }
        assert found == pytest.approx(expected[name], abs=1e-12)
    else:
        assert found > 0.6
    if of_model is None:
        # Of a model of any event, by default any event.
        any_event = make_survival_scorer(name, **options)(model, X, y)
        assert any_event == make_survival_scorer(name, **options)(model, X, (causes > 0, times))


def test_scorers_of_folds_without_events_are_nan():
    X, (events, times) = make_forest_data()
    forest = RandomSurvivalForest(3, random_state=0).fit(X, (events, times))
    for name in NAMES:
        assert np.isnan(make_survival_scorer(name)(forest, X, (events * 0, times)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "accuracy"}, "'name' parameter of make_survival_scorer must be a str among"),
        ({"name": "concordance", "times": [1]}, "'times' parameter .* None for 'concordance'"),
        ({"name": "concordance", "tau": 1}, "'tau' parameter"),
        ({"name": "concordance", "cause": 0}, "'cause' parameter"),
        ({"name": "cumulative_dynamic_auc", "times": [2, 1]}, "times must be finite numbers, asc"),
    ],
)
def test_illegal_scorers_are_told(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_survival_scorer(**arguments)


def test_scorers_show_their_arguments():
    scorer = make_survival_scorer("cumulative_dynamic_auc", times=[1, 2], cause=1)
    shown = "make_survival_scorer('cumulative_dynamic_auc', times=[1.0, 2.0], cause=1)"
    assert repr(scorer) == shown


def structure(events, times):
    """Return a structured array."""
    return np.array(
        list(zip(events.tolist(), times.tolist(), strict=True)), dtype=[("e", bool), ("t", float)]
    )


FORMS = {
    "pair": (lambda events, times: (events, times), lambda y: (y[0], y[1])),
    "lists": (
        lambda events, times: (events.tolist(), times.tolist()),
        lambda y: (np.array(y[0], dtype=bool), np.array(y[1])),
    ),
    "structured": (structure, lambda y: (y["e"], y["t"])),
    "pandas": (
        lambda events, times: pd.DataFrame({"e": events, "t": times}, index=np.arange(120) + 5),
        lambda y: (y["e"], y["t"]),
    ),
    "polars": (
        lambda events, times: pl.DataFrame({"e": events, "t": times}),
        lambda y: (y["e"], y["t"]),
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("max_samples", [None, 0.95])
def test_functions_get_targets_as_fit_got_them(form, max_samples):
    X, (events, times) = make_forest_data()
    make, unpack = FORMS[form]
    y = make(events > 0, times)
    seen = []

    def score(y, risks):
        seen.append(y)
        return concordance_index(*unpack(y), risks).cindex

    def score_forest(oob, samples, y):
        assert len(samples) == len(unpack(y)[0])
        return score(y, oob.predict(samples))

    # With few trees some samples are in all bags, and are left out.
    n_trees = 30 if max_samples is None else 4
    forest = RandomSurvivalForest(
        n_trees, max_samples=max_samples, oob_score=score, replace=max_samples is None
    )
    forest.set_params(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forest.fit(X, y)
        plain = clone(forest).set_params(oob_score=True).fit(X, y)
    assert forest.oob_score_ == plain.oob_score_
    assert type(seen[0]) is type(y)
    n_known = np.count_nonzero(~np.isnan(forest.oob_prediction_))
    assert len(unpack(seen[0])[0]) == n_known
    assert (n_known < 120) == (max_samples is not None)
    options = {"n_repeats": 1, "random_state": 0}
    found = forest.permutation_importance_oob(X, y, scoring=score_forest, **options)
    expected = forest.permutation_importance_oob(X, y, **options)
    np.testing.assert_array_equal(found.importances, expected.importances)
    if max_samples is None:
        # Forests for permuted targets, too.
        forest.set_params(n_estimators=20)
        found = forest.permutation_importance_oob(
            X, y, scoring=score_forest, n_null_fits=1, **options
        )
        assert found.p_values.shape == (3,)
    assert {type(one) for one in seen} == {type(y)}
    assert not hasattr(forest, "_given")


@pytest.mark.parametrize("name", NAMES)
def test_importances_out_of_bag_by_names(name):
    X, y = make_forest_data()
    forest = RandomSurvivalForest(20, random_state=0).fit(X, y)
    ask = forest.permutation_importance_oob
    if name == "neg_integrated_brier_score":
        with pytest.raises(ValueError, match="a score of risks, such as concordance, concord"):
            ask(X, y, scoring=name)
        return
    found = ask(X, y, scoring=name, random_state=0).importances
    again = ask(X, y, scoring=make_survival_scorer(name), random_state=0).importances
    np.testing.assert_array_equal(found, again)
    assert np.argmax(found.mean(axis=1)) == 0
    if name == "concordance":
        np.testing.assert_array_equal(ask(X, y, random_state=0).importances, found)
    by_cause = RandomSurvivalForest(20, cause=1, random_state=0).fit(X, y)
    again = by_cause.permutation_importance_oob(X, y, scoring=name, random_state=0).importances
    np.testing.assert_allclose(again, found, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_out_of_bag_scores_by_names(name):
    X, y = make_forest_data()
    scorer = make_survival_scorer(name)
    forest = RandomSurvivalForest(20, random_state=0)
    for score in (name, scorer, "accuracy", 3):
        forest.set_params(oob_score=score)
        if name == "neg_integrated_brier_score" or score not in (name, scorer):
            with pytest.raises(ValueError, match=r"'oob_score' .* a score of risks among"):
                forest.fit(X, y)
            continue
        forest.fit(X, y)
        # A model that has these predictions gets the same score.
        known = SimpleNamespace(predict=lambda _, risks=forest.oob_prediction_: risks)
        assert forest.oob_score_ == scorer(known, X, y)
        assert 0.5 < forest.oob_score_ < 1
