"""Cross-validation of survival models: targets in all forms, and curves out of fold."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spinney import RandomForestQuantileRegressor, RandomForestRegressor
from spinney.model_selection import cross_val_predict, cross_val_score, cross_validate
from spinney.survival import (
    ExtraSurvivalTrees,
    LazySurvivalForest,
    RandomSurvivalForest,
    SurvivalTree,
)

N = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
TIMES = RNG.exponential(np.exp(X[:, 0]))
EVENTS = RNG.random(N) < 0.7
CV = KFold(3, shuffle=True, random_state=0)
FOREST = RandomSurvivalForest(4, random_state=0)
MODELS = [
    FOREST,
    ExtraSurvivalTrees(4, bootstrap="poisson", random_state=0),
    LazySurvivalForest(4, random_state=0),
    SurvivalTree(random_state=0),
    make_pipeline(StandardScaler(), FOREST),
    GridSearchCV(make_pipeline("passthrough", FOREST), {"randomsurvivalforest__max_depth": [2]}),
]
FORMS = {
    "pair": (EVENTS, TIMES),
    "lists": (EVENTS.tolist(), TIMES.tolist()),
    "series": (pd.Series(EVENTS, index=np.arange(N)[::-1]), pl.Series(TIMES)),
    "causes": (EVENTS.astype(np.uint8), TIMES),
    "array": np.column_stack([EVENTS, TIMES]),
    "pandas": pd.DataFrame({"event": EVENTS, "time": TIMES}, index=np.arange(N) + 7),
    "polars": pl.DataFrame({"event": EVENTS, "time": TIMES}),
    "arrow": pa.table({"event": EVENTS, "time": TIMES}),
}


def fit_folds(model):
    """Yield models that are fitted to the training rows of folds, with the test rows."""
    from sklearn.base import clone

    for train, test in CV.split(X):
        ids = {"sample_ids": train} if getattr(model, "bootstrap", None) == "poisson" else {}
        yield clone(model).fit(X[train], (EVENTS[train], TIMES[train]), **ids), test


def score_as_it_does(fold, X, y):
    return fold.score(X, y)


@pytest.mark.parametrize("model", MODELS[:4], ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("form", FORMS)
def test_targets_in_all_forms(model, form):
    y = FORMS[form]
    expected = [fold.score(X[test], (EVENTS[test], TIMES[test])) for fold, test in fit_folds(model)]
    assert cross_val_score(model, X, y, cv=CV).tolist() == expected
    found = cross_validate(model, X, y, cv=CV, scoring=score_as_it_does)
    assert found["test_score"].tolist() == expected
    risks = cross_val_predict(model, X, y, cv=CV)
    for fold, test in fit_folds(model):
        np.testing.assert_array_equal(risks[test], fold.predict(X[test]))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_curves_out_of_fold(model):
    y = FORMS["pair"]
    if isinstance(model, GridSearchCV):
        assert np.isfinite(cross_val_score(model, X, y, cv=CV)).all()
        model = model.estimator
    at = [0.0, 0.1, 0.5, 2.0, 99.0]
    for name in ("survival", "cumulative_hazard", "cumulative_incidence"):
        method = f"predict_{name}_function"
        curves = cross_val_predict(model, X, y, cv=CV, method=method)
        assert curves.shape == (N,)
        values = np.array([curve(at) for curve in curves])
        if not hasattr(model, "steps"):
            for fold, test in fit_folds(model):
                expected = getattr(fold, method)(X[test], return_array=True, times=at)
                np.testing.assert_array_equal(values[test], expected)
    medians = cross_val_predict(model, X, y, cv=CV, method="predict_quantile")
    assert medians.shape == (N,)


def test_curves_of_searches():
    search, y = MODELS[-1], FORMS["pair"]
    method = "predict_survival_function"
    found = cross_val_predict(search, X, y, cv=CV, method=method)
    # Only one depth is searched.
    model = search.estimator.set_params(randomsurvivalforest__max_depth=2)
    expected = cross_val_predict(model, X, y, cv=CV, method=method)
    assert list(found) == list(expected)


@pytest.mark.filterwarnings("ignore:.* standard errors are NaN")
def test_other_methods_of_other_forests():
    forest = RandomForestQuantileRegressor(4, default_quantiles=[0.1, 0.9], random_state=0)
    errors = cross_val_predict(forest, X, TIMES, cv=CV, method="predict_standard_error")
    for train, test in CV.split(X):
        fold = forest.fit(X[train], TIMES[train])
        np.testing.assert_array_equal(errors[test], fold.predict_standard_error(X[test]))


def test_methods_that_cannot_be_asked_are_told():
    for method in ("predict_soon", "predict_proba_", 3, None, ["predict"]):
        with pytest.raises(ValueError, match="'method' parameter of cross_val_predict must be"):
            cross_val_predict(FOREST, X, FORMS["pair"], method=method)
    with pytest.raises(TypeError, match="method must return an array of a row for each of 12"):
        cross_val_predict(RandomForestRegressor(2), X, TIMES, method="decision_path")
