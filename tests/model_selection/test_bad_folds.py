"""Errors in arguments and in single folds are told as scikit-learn tells them."""

import re
from unittest import mock

import numpy as np
import pytest
import sklearn.model_selection as of_sklearn
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import (
    GroupKFold,
    PredefinedSplit,
)

import spinney._fit.task
import spinney.dataset
import spinney.model_selection._splits
from folds import FUNCTIONS, X_IRIS, Y_IRIS, every_function, oldest, ours, outcome, refitted, theirs
from spinney import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    LazyForestClassifier,
    RandomForestClassifier,
)
from spinney.model_selection import _shared_work as shared_work
from spinney.model_selection import cross_val_predict, cross_val_score, cross_validate


def test_what_is_wrong_with_all_folds_is_raised_at_once():
    """No fold is fitted, and the message is that of `fit`."""
    forest = RandomForestClassifier(3, max_depth=0)
    fit = mock.patch.object(RandomForestClassifier, "fit", side_effect=AssertionError)
    for function in FUNCTIONS:
        with (
            fit,
            pytest.raises(ValueError, match="The 'max_depth' parameter of RandomForestClassifier"),
        ):
            ours(function)(forest, X_IRIS, Y_IRIS, cv=3)


BAD_CALLS = {
    "too few y": {"y": Y_IRIS[1:]},
    "no y": {"y": None},
    "one dimension": {"X": X_IRIS[:, 0]},
    "strings": {"X": np.full((150, 2), "a")},
    "no X": {"X": None},
    "bad parameter": {"estimator": RandomForestClassifier(3, max_depth=0)},
    "bad type": {"estimator": RandomForestClassifier(3, max_features="all")},
    "bad number": {"estimator": RandomForestClassifier("many")},
    "huge number": {"estimator": RandomForestClassifier(2**70)},
    "bad criterion": {"estimator": RandomForestClassifier(3, criterion="squared_error")},
    "bad n_jobs of the estimator": {"estimator": RandomForestClassifier(3, n_jobs=0)},
    "bad random_state": {"estimator": RandomForestClassifier(3, random_state="a")},
    "bad traversal": {"estimator": LazyForestClassifier(3, traversal="a")},
    "impossible traversal": {
        "estimator": LazyForestClassifier(3, traversal="single", max_leaf_nodes=4)
    },
    "bad class weight": {"estimator": RandomForestClassifier(3, class_weight={7: 1.0})},
    "out of bag": {"estimator": RandomForestClassifier(3, bootstrap=False, oob_score=True)},
    "too many constraints": {"estimator": RandomForestClassifier(3, monotonic_cst=[1, 0, 0, 0])},
    "negative weights": {"params": {"sample_weight": np.full(150, -1.0)}},
    "no weights": {"params": {"sample_weight": np.zeros(150)}},
    "too few weights": {"params": {"sample_weight": np.ones(149)}},
    "unknown params": {"params": {"colour": np.ones(150)}},
    "names of samples": {"params": {"sample_ids": np.full(150, 0.5)}},
    "names of samples that are drawn by their place": {
        "estimator": RandomForestClassifier(3, bootstrap=True),
        "params": {"sample_ids": np.arange(150)},
    },
    "names of samples of a tree": {
        "estimator": DecisionTreeClassifier(),
        "params": {"sample_ids": np.arange(150)},
    },
    "params": {"params": 3},
    "too many splits": {"cv": 151},
    "one split": {"cv": 1},
    "no splitter": {"cv": "a"},
    "no splits": {"cv": []},
    "rows that are none": {"cv": [([0, 50, 999], [1])]},
    "no training rows": {"cv": [([], [1])]},
    "no groups": {"cv": GroupKFold(3)},
    "n_jobs": {"n_jobs": "a"},
    "verbose": {"verbose": "a"},
    "pre_dispatch": {"pre_dispatch": 1.5},
    "no estimator": {"estimator": 3},
    "a class": {"estimator": RandomForestClassifier},
}


@oldest
@pytest.mark.parametrize("name", BAD_CALLS)
@every_function
def test_bad_input_is_told_by_scikit_learn(function, name):
    """The same exception and message, or the same scores and warnings about failed fits.

    What is wrong with all folds is told at once, and not as the failure of each fit.
    """
    arguments = {
        "estimator": RandomForestClassifier(3, random_state=0),
        "X": X_IRIS,
        "y": Y_IRIS,
        "cv": 3,
        **BAD_CALLS[name],
    }
    found, found_warnings = outcome(lambda: ours(function)(**arguments))
    expected, expected_warnings = outcome(lambda: theirs(function)(**arguments))
    if isinstance(expected, tuple):
        # The other lines of an error may show data: of all rows, or of those of a fold.
        first_line = found[1].strip().splitlines()[0]
        if "All the 3 fits failed" in expected[1]:
            assert (
                "fits failed" in first_line or f"{found[0].__name__}: {first_line}" in expected[1]
            )
            return
        # scikit-learn claims parameters of the estimator, which we give back to it.
        owned = re.compile(
            f"parameter of ({function}|{type(arguments['estimator']).__name__}) must"
        )
        lines = (first_line, expected[1].strip().splitlines()[0])
        first_line, told = (owned.sub("parameter must", line) for line in lines)
        assert (found[0], first_line) == (expected[0], told)
    else:
        if function == "cross_validate":
            found, expected = found["test_score"], expected["test_score"]
        np.testing.assert_array_equal(found, expected)
        assert np.isnan(expected).all()
    assert found_warnings == expected_warnings


@pytest.mark.parametrize(
    "options",
    [
        {"scoring": "colour"},
        {"scoring": 3},
        {"scoring": []},
        {"scoring": ["accuracy", "accuracy"]},
        {"scoring": "r2", "error_score": "rise"},
        {"error_score": None},
        {"scoring": "roc_auc"},
        {"scoring": "roc_auc", "error_score": "raise"},
        {"return_train_score": "yes"},
    ],
)
def test_bad_options_are_told_by_scikit_learn(options):
    forest = RandomForestClassifier(3, random_state=0)
    found, found_warnings = outcome(lambda: cross_validate(forest, X_IRIS, Y_IRIS, cv=3, **options))
    expected, _ = outcome(
        lambda: of_sklearn.cross_validate(forest, X_IRIS, Y_IRIS, cv=3, **options)
    )
    if isinstance(expected, tuple):
        assert found == expected
    else:
        assert np.isnan(found["test_score"]).all()
        assert np.isnan(expected["test_score"]).all()
        assert set(found_warnings) == {UserWarning}


@pytest.mark.parametrize("method", ["decision_function", "transform", 3])
def test_bad_methods_are_told_by_scikit_learn(method):
    for estimator in (DecisionTreeClassifier(), DecisionTreeRegressor()):
        found, _ = outcome(lambda e=estimator: cross_val_predict(e, X_IRIS, Y_IRIS, method=method))
        expected, _ = outcome(
            lambda e=estimator: of_sklearn.cross_val_predict(e, X_IRIS, Y_IRIS, method=method)
        )
        assert found == expected
    with pytest.raises(AttributeError, match="predict_proba"):
        cross_val_predict(DecisionTreeRegressor(), X_IRIS, Y_IRIS, method="predict_proba")


def test_predictions_need_a_partition():
    splits = [([0, 1, 60], [2, 3]), ([2, 3, 70], [3, 4])]
    with refitted(), pytest.raises(ValueError, match="only works for partitions"):
        cross_val_predict(DecisionTreeClassifier(), X_IRIS, Y_IRIS, cv=splits)


@oldest
def test_one_bad_fold_has_the_score_of_errors():
    """The others have theirs."""
    X, y = load_diabetes(return_X_y=True)
    y = np.where(np.arange(len(y)) < 100, y, 0.0)
    tree = DecisionTreeRegressor(criterion="poisson", random_state=0)
    splits = [(np.arange(90), np.arange(90, 100)), (np.arange(200, 300), np.arange(10))]
    with pytest.warns(FitFailedWarning, match="1 fits failed"):
        scores = cross_val_score(tree, X, y, cv=splits, error_score=-7.0)
    assert scores[1] == -7.0
    assert scores[0] == tree.fit(X[:90], y[:90]).score(X[90:100], y[90:100])
    with pytest.raises(ValueError, match="Sum of y is not positive"):
        cross_val_score(tree, X, y, cv=splits, error_score="raise")
    parts = PredefinedSplit((np.arange(len(y)) < 100).astype(int))
    with pytest.raises(ValueError, match="Sum of y is not positive"):
        cross_val_predict(tree, X, y, cv=parts)


def test_folds_that_nobody_knows_are_refused():
    """What hands out the answers does not guess."""
    rows = np.arange(100, 150, dtype=np.uint32)
    split = spinney.model_selection._splits.Split(rows, True, rows, 150)
    folds = shared_work.predict_splits(
        DecisionTreeClassifier(), X_IRIS, Y_IRIS, [split], {}, None, 0
    )
    answers = folds.make_estimator()
    fold = clone(answers).fit(np.arange(100), Y_IRIS[:100])
    assert fold.classes_.tolist() == [0, 1]
    assert fold.predict(np.arange(100, 150)).shape == (50,)
    with pytest.raises(RuntimeError, match="no fold"):
        fold.predict(np.arange(50))
    with pytest.raises(RuntimeError, match="no fold"):
        clone(answers).fit(np.arange(99), Y_IRIS[:99])
