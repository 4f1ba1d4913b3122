"""What the tests of the forests share."""

import numpy as np
import pytest
from hypothesis import strategies as st
from sklearn.base import is_classifier
from sklearn.datasets import load_diabetes, load_iris

from spinney import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from strategies import (
    FOREST_CLASSIFIERS,
    FOREST_REGRESSORS,
    FORESTS,
)

every_forest = pytest.mark.parametrize("forest_class", FORESTS)

every_classifier = pytest.mark.parametrize("forest_class", FOREST_CLASSIFIERS)

every_regressor = pytest.mark.parametrize("forest_class", FOREST_REGRESSORS)

TREE_OF_FOREST = {
    RandomForestClassifier: DecisionTreeClassifier,
    RandomForestRegressor: DecisionTreeRegressor,
    ExtraTreesClassifier: ExtraTreeClassifier,
    ExtraTreesRegressor: ExtraTreeRegressor,
}


def task_of(forest_class):
    """Return data with a signal for the kind of forest."""
    if is_classifier(forest_class()):
        return load_iris(return_X_y=True)
    X, y = load_diabetes(return_X_y=True)
    return X[:200], y[:200]


seeds = st.integers(0, 2**32 - 1)

samplings = st.sampled_from(
    [
        {"bootstrap": True},
        {"bootstrap": True, "max_samples": 1.7},
        {"bootstrap": True, "max_samples": 3},
        {"bootstrap": True, "replace": False},
        {"bootstrap": False},
        {"bootstrap": "poisson"},
    ]
)

# Samples of few rows are the point; that a share of them is small is no news.
few_rows = pytest.mark.filterwarnings("ignore:Using the fractional value:UserWarning")


def fit(forest, drawn, X=None):
    """Fit to drawn data, of which `X` may be another form."""
    return forest.fit(drawn.X if X is None else X, drawn.y, sample_weight=drawn.sample_weight)


def values_of(model, X):
    """Return what a model predicts before labels are made of it; (n_samples, n_values)."""
    if not is_classifier(model):
        return model.predict(X).reshape(len(X), -1)
    proba = model.predict_proba(X)
    return np.concatenate(proba if isinstance(proba, list) else [proba], axis=1)
