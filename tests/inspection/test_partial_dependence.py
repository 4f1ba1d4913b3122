"""Partial dependence, compared with scikit-learn's recursion and with exact fractions."""

import numpy as np
import pandas as pd
import pytest
import sklearn.inspection
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris

import spinney
from explained import list_trees, value_of
from made_models import CLASSIFIERS, REGRESSORS
from spinney.inspection import partial_dependence

EVERY_CLASS = CLASSIFIERS + REGRESSORS
every_class = pytest.mark.parametrize("estimator_class", EVERY_CLASS, ids=lambda c: c.__name__)


def fit(estimator_class, n_classes=3, **params):
    """Fit to codes of categories, numbers, missing values and weights."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 5, 200), rng.normal(size=(200, 3)).round(1)]).astype(float)
    X[rng.random(X.shape) < 0.05] = np.nan
    score = np.nan_to_num(X[:, 0] % 2 * X[:, 1] + X[:, 2]) + rng.normal(size=200) / 4
    if estimator_class in CLASSIFIERS:
        y = np.digitize(score, np.linspace(-0.5, 0.5, n_classes - 1))
    else:
        y = score if n_classes == 3 else np.column_stack([score, score**2])
    if "n_estimators" in estimator_class().get_params():
        params["n_estimators"] = 3
    estimator = estimator_class(max_depth=5, random_state=0, categorical_features=[0], **params)
    return estimator.fit(X, y, sample_weight=rng.integers(0, 3, 200)), X


@pytest.mark.pairwise
@every_class
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("features", [[0], [2], [0, 2], [3, 1]])
def test_averages_are_those_of_the_trees(estimator_class, n_classes, features):
    estimator, X = fit(estimator_class, n_classes)
    found = partial_dependence(estimator, X, features, grid_resolution=6)
    assert set(found) == {"average", "grid_values"}
    trees = list_trees(estimator)
    sizes = [len(values) for values in found.grid_values]
    expected = np.empty((len(trees[0].value[0].ravel()), *sizes))
    for place in np.ndindex(*sizes):
        row = np.full(4, np.nan)
        for axis, feature in enumerate(features):
            # The categories of the first feature are their own codes.
            row[feature] = found.grid_values[axis][place[axis]]
        of_trees = [np.array(value_of(tree, row, set(features)), float) for tree in trees]
        expected[(slice(None), *place)] = np.mean(of_trees, axis=0)
    if estimator_class in CLASSIFIERS and n_classes == 2:
        expected = expected[1:]
    np.testing.assert_allclose(found.average, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("features", [[2], [2, 8]])
def test_averages_are_those_of_scikit_learn(features):
    X, y = load_diabetes(return_X_y=True)
    X = X.astype(np.float32)
    forest = spinney.RandomForestRegressor(10, random_state=0, min_samples_leaf=3).fit(X, y)
    expected = sklearn.inspection.partial_dependence(
        forest.to_sklearn(), X, features, method="recursion", grid_resolution=20
    )
    found = partial_dependence(forest, X, features, grid_resolution=20)
    for values, grid in zip(found.grid_values, expected.grid_values, strict=True):
        np.testing.assert_allclose(values, grid, rtol=1e-6)
    np.testing.assert_allclose(found.average, expected.average, rtol=1e-9)


@every_class
@pytest.mark.parametrize("features", [[1], [1, 2]])
def test_individual_curves_are_predictions(estimator_class, features):
    X, y = load_iris(return_X_y=True)
    estimator = estimator_class(random_state=0, max_depth=4).fit(X, y)
    rows = X[::15]
    expected = sklearn.inspection.partial_dependence(
        estimator, rows, features, kind="individual", method="brute", grid_resolution=5
    )
    for given in (rows, sparse.csr_matrix(rows)):
        found = partial_dependence(estimator, given, features, kind="both", grid_resolution=5)
        np.testing.assert_allclose(found.individual, expected.individual, atol=1e-14)
        assert set(found) == {"average", "individual", "grid_values"}
    found = partial_dependence(estimator, rows, features, kind="individual", grid_resolution=5)
    np.testing.assert_allclose(found.individual, expected.individual, atol=1e-14)
    assert set(found) == {"individual", "grid_values"}
    of_array = partial_dependence(estimator, rows, np.array(features), grid_resolution=5)
    of_list = partial_dependence(estimator, rows, features, grid_resolution=5)
    np.testing.assert_array_equal(of_array.average, of_list.average)


def test_displays_of_scikit_learn_draw_results():
    matplotlib = pytest.importorskip("matplotlib", reason="draws")
    matplotlib.use("Agg")
    frame = pd.DataFrame({"colour": ["r", "g", "b", "r", "g"] * 20, "size": np.arange(100.0)})
    y = np.where(frame["colour"] == "r", 2.0, 0.0) + frame["size"] / 50
    forest = spinney.RandomForestRegressor(5, categorical_features=["colour"], random_state=0)
    forest.fit(frame, y)
    results = [
        partial_dependence(forest, frame, "colour"),
        partial_dependence(forest, frame, 1, kind="average"),
    ]
    assert list(results[0].grid_values[0]) == ["b", "g", "r"]
    assert results[0].average[0, 2] > results[0].average[0, 0] + 1
    display = sklearn.inspection.PartialDependenceDisplay(
        results,
        features=[(0,), (1,)],
        feature_names=list(frame.columns),
        target_idx=0,
        deciles={1: np.quantile(frame["size"], np.arange(0.1, 1, 0.1))},
        is_categorical=[(True,), (False,)],
    )
    display.plot()
    assert len(display.bars_.ravel()) == 2
    matplotlib.pyplot.close("all")


def test_illegal_arguments():
    X, y = load_iris(return_X_y=True)
    tree = spinney.DecisionTreeClassifier().fit(X, y)
    for name, value in (
        ("features", [4]),
        ("features", [0, 0]),
        ("features", True),
        ("features", [[0, 1], [0, 2]]),
        ("features", [0, 1, 2]),
        ("features", "length"),
        ("kind", "all"),
        ("grid_resolution", 1),
        ("percentiles", (0.5, 0.1)),
        ("percentiles", None),
    ):
        arguments = {"features": [0], "grid_resolution": 5, name: value}
        with pytest.raises(ValueError, match=f"The '{name}' parameter of partial_dependence"):
            partial_dependence(tree, X, **arguments)
    with pytest.raises(ValueError, match="'estimator' parameter of partial_dependence"):
        partial_dependence(spinney.LazyForestClassifier(), X, [0])
    two = spinney.DecisionTreeClassifier().fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="one output of classes"):
        partial_dependence(two, X, [0])
    with pytest.raises(ValueError, match="All are missing"):
        partial_dependence(tree, np.full((3, 4), np.nan), [0])


@pytest.mark.parametrize("kind", ["average", "individual", "both"])
@pytest.mark.parametrize(
    "estimator_class", [spinney.DecisionTreeRegressor, spinney.RandomForestClassifier]
)
def test_features_without_values_are_refused(estimator_class, kind):
    """A categorical column that is all missing has no grid; other features have theirs."""
    X = np.array([[None, 1.0], [None, 2.0], [None, 3.0], [None, 4.0]], dtype=object)
    params = {"categorical_features": [0], "random_state": 0}
    model = estimator_class(**params).fit(X, [0, 1, 0, 1])
    for features in ([0], [1, 0]):
        with pytest.raises(ValueError, match=r"^features must .* Got the feature 0, which is cat"):
            partial_dependence(model, X, features, kind=kind)
    known = X.copy()
    known[:, 0] = "a"
    unknown = pytest.warns(UserWarning, match="No category that occurs is known")
    with unknown, pytest.raises(ValueError, match="Got the feature 0"):
        partial_dependence(model, known, [0], kind=kind)
    assert partial_dependence(model, X, [1])["average"].shape == (1, 4)


def test_a_pair_in_a_list():
    """As scikit-learn's displays take pairs."""
    X, y = load_diabetes(return_X_y=True)
    forest = spinney.RandomForestRegressor(5, random_state=0).fit(X, y)
    found = partial_dependence(forest, X, [(2, 8)], grid_resolution=4)
    expected = partial_dependence(forest, X, [2, 8], grid_resolution=4)
    np.testing.assert_array_equal(found["average"], expected["average"])


def test_threads_do_not_show():
    X, y = load_diabetes(return_X_y=True)
    found = [
        partial_dependence(
            spinney.RandomForestRegressor(5, random_state=0, n_jobs=n_jobs).fit(X, y), X, [2, 8]
        )["average"]
        for n_jobs in (1, 2)
    ]
    np.testing.assert_array_equal(*found)
