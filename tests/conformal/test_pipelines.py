"""Models of pipelines that end in a forest, and bounds of what targets can be."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor as SklearnForest
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from spinney import RandomForestClassifier, RandomForestQuantileRegressor, RandomForestRegressor
from spinney.conformal import (
    ConformalizedQuantileRegressor,
    CrossConformalClassifier,
    CrossConformalRegressor,
    JackknifeAfterBootstrapClassifier,
    JackknifeAfterBootstrapRegressor,
)

X, Y = load_diabetes(return_X_y=True)
TRAIN, QUERY = slice(0, 100), slice(100, 120)
NUMBERS = RandomForestRegressor(20, random_state=0)
REGRESSORS = [
    JackknifeAfterBootstrapRegressor(NUMBERS),
    CrossConformalRegressor(NUMBERS),
    ConformalizedQuantileRegressor(RandomForestQuantileRegressor(20, random_state=0)),
]
CLASSIFIERS = [
    JackknifeAfterBootstrapClassifier(RandomForestClassifier(20, random_state=0)),
    CrossConformalClassifier(RandomForestClassifier(20, random_state=0)),
]
NAMES = {"ids": lambda model: type(model).__name__}


def predict(model, X):
    return (model.predict_set if hasattr(model, "predict_set") else model.predict_interval)(X)


@pytest.mark.filterwarnings("ignore:All trees have seen")
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("model", REGRESSORS + CLASSIFIERS, **NAMES)
def test_a_pipeline_is_its_forest_on_what_its_steps_return(model):
    y = Y > 140 if model in CLASSIFIERS else Y
    double = FunctionTransformer(lambda rows: np.hstack([rows, rows]))
    expected = clone(model).fit(np.hstack([X, X])[TRAIN], y[TRAIN])
    for steps in ([double], []):
        expected = clone(model).fit(double.transform(X[TRAIN]) if steps else X[TRAIN], y[TRAIN])
        pipeline = make_pipeline(*steps, clone(model.estimator))
        found = clone(model).set_params(estimator=pipeline).fit(X[TRAIN], y[TRAIN])
        assert found.n_features_in_ == X.shape[1]
        assert isinstance(found.estimator_, Pipeline)
        query = double.transform(X[QUERY]) if steps else X[QUERY]
        for own, of_forest in zip(predict(found, X[QUERY]), predict(expected, query), strict=True):
            np.testing.assert_array_equal(own, of_forest)
        weights = np.arange(100) % 3
        found.fit(X[TRAIN], y[TRAIN], sample_weight=weights)
        expected.fit(
            double.transform(X[TRAIN]) if steps else X[TRAIN], y[TRAIN], sample_weight=weights
        )
        np.testing.assert_array_equal(predict(found, X[QUERY])[1], predict(expected, query)[1])


def test_cross_conformal_fits_whole_pipelines_without_each_fold():
    pipeline = make_pipeline(SelectKBest(f_regression, k=3), NUMBERS)
    model = CrossConformalRegressor(pipeline, cv=4).fit(X[TRAIN], Y[TRAIN])
    assert len({id(own.steps[0][1]) for own in model.estimators_}) == 4
    own = clone(pipeline).fit(X[25:100], Y[25:100])
    expected = Y[:25] - own.predict(X[:25])
    np.testing.assert_array_equal(model.residuals_[:25], expected)


@pytest.mark.parametrize("last", [SklearnForest(), StandardScaler(), make_pipeline(NUMBERS)])
def test_other_pipelines_are_refused(last):
    model = JackknifeAfterBootstrapRegressor(make_pipeline(StandardScaler(), last))
    with pytest.raises(ValueError, match=r"'estimator' parameter.*a Pipeline that ends in one"):
        model.fit(X, Y)


@pytest.mark.filterwarnings("ignore:All trees have seen")
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("model", REGRESSORS, **NAMES)
def test_intervals_end_at_bounds(model):
    counts = np.random.default_rng(0).poisson(1, size=100)
    free = clone(model).fit(X[TRAIN], counts).predict_interval(X[QUERY])[1]
    assert free.min() < 0
    for bounds in [(0, None), (None, 3), [0, 9]]:
        if bounds[1] == 3:
            counts = np.minimum(counts, 3)
            free = clone(model).fit(X[TRAIN], counts).predict_interval(X[QUERY])[1]
        own = clone(model).set_params(bounds=bounds).fit(X[TRAIN], counts)
        low, high = (-np.inf if bounds[0] is None else 0), bounds[1] or np.inf
        np.testing.assert_array_equal(own.predict_interval(X[QUERY])[1], np.clip(free, low, high))
    with pytest.raises(ValueError, match=r"y must be within bounds=\(1, None\). Got \d+ target"):
        clone(model).set_params(bounds=(1, None)).fit(X[TRAIN], counts)
    for wrong in (3, (1, 0), (0, 1, 2), ("a", None), (True, None), (np.nan, None)):
        with pytest.raises(ValueError, match="The 'bounds' parameter"):
            clone(model).set_params(bounds=wrong).fit(X[TRAIN], counts)
