"""What the tests of the forests share."""

import pytest
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
from strategies import FOREST_CLASSIFIERS, FOREST_REGRESSORS, FORESTS

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
