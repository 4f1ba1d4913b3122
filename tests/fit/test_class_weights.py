"""Class weights in cross-validation: they belong to labels, whatever predicts and scores."""

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.model_selection as of_sklearn
from joblib import parallel_config
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import brier_score_loss, fbeta_score, make_scorer
from sklearn.model_selection import KFold, StratifiedKFold

from folds import counted
from loops import predict_by_fits
from spinney import (
    DecisionTreeClassifier,
    ExtraTreeClassifier,
    ExtraTreesClassifier,
    LazyForestClassifier,
    RandomForestClassifier,
)
from spinney.model_selection import cross_val_predict, cross_val_score, cross_validate

oldest = pytest.mark.oldest
METHODS = ("predict", "predict_proba", "predict_log_proba")
# Two classes, the rarer one first; the names that `class_weight` has for them.
LABELS = {
    "ints": ([1, 2], [1, 2]),
    "ints of other order": ([1, 0], [1, 0]),
    "negative ints": ([-7, 3], [-7, 3]),
    "floats": ([1.0, 2.0], [1.0, 2.0]),
    "bools": ([True, False], [True, False]),
    "strings": (["yes", "no"], ["yes", "no"]),
    "objects": (np.array(["yes", "no"], dtype=object), ["yes", "no"]),
}
CONTAINERS = {
    "array": np.asarray,
    "list": lambda y: y.tolist(),
    "Series": lambda y: pd.Series(y, index=np.arange(len(y))[::-1]),
    "categorical": lambda y: pd.Series(pd.Categorical(y)),
}
ESTIMATORS = {
    "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
    "random tree": ExtraTreeClassifier(max_depth=3, random_state=0),
    "forest": RandomForestClassifier(4, max_depth=3, random_state=0),
    "Poisson forest": ExtraTreesClassifier(4, bootstrap="poisson", max_depth=3, random_state=0),
    "lazy forest": LazyForestClassifier(4, max_depth=3, random_state=0),
    # These are refitted, by scikit-learn's loop.
    "forest with a score": RandomForestClassifier(9, max_depth=3, oob_score=True, random_state=0),
}
WEIGHTS = ("rare", "both", "balanced", "balanced_subsample")
# Of rows of large weight few are out of bag.
pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
pairwise = pytest.mark.pairwise
every_label = pytest.mark.parametrize("labels", LABELS)
every_estimator = pytest.mark.parametrize("name", ESTIMATORS)
every_weight = pytest.mark.parametrize("weights", WEIGHTS)
with_and_without = pytest.mark.parametrize("weighted", [False, True])


def rare_class(labels, n=90):
    """Return rows of noise, of which a sixth is of the first class, and all of them in order."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, np.asarray(LABELS[labels][0])[(np.arange(n) % 6 > 0).astype(int)]


def params_of(estimator, n, weighted):
    """Return sample weights, if asked for, and the names that samples have in folds."""
    params = {"sample_weight": np.arange(n) % 4 / 2.0} if weighted else {}
    names = {}
    if getattr(estimator, "bootstrap", None) == "poisson":
        names["sample_ids"] = np.arange(n)
    return params, {**params, **names}


def weighing(name, labels, weights):
    """Return an estimator with weights of classes."""
    rare, common = LABELS[labels][1]
    dicts = {"rare": {rare: 20}, "both": {rare: 20.0, common: 0.5}}
    if "tree" in name and weights == "balanced_subsample":
        weights = "balanced"
    return clone(ESTIMATORS[name]).set_params(class_weight=dicts.get(weights, weights))


def assert_equal(found, expected):
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_equal(one, other)
    else:
        assert found.shape == expected.shape
        np.testing.assert_array_equal(found, expected)


@oldest
def test_weights_belong_to_labels():
    """Labels 1 and 2 are not the codes 0 and 1, of which the second has the name of the first."""
    X, y = rare_class("ints")
    weights = {1: 2000}
    tree = DecisionTreeClassifier(min_samples_leaf=25, class_weight=weights, random_state=0)
    found = cross_val_predict(tree, X, y, method="predict_proba")
    assert found[:, 0].mean() > 0.9


@oldest
@pairwise
@every_label
@every_estimator
@every_weight
@with_and_without
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("lacks", [False, True])
def test_predictions_are_those_of_a_loop_of_fits(lacks, method, weighted, weights, name, labels):
    """For every kind of labels and of weights, by folds of which one may lack a class."""
    X, y = rare_class(labels)
    cv = list(StratifiedKFold(3).split(X, y))
    if lacks:
        common = np.flatnonzero(np.arange(90) % 6)
        cv = [(np.arange(45), np.arange(45, 90)), (common, np.arange(45))]
        # A dict that has not the only class of a fold is refused, by the loop as well.
        weights = "both" if weights == "rare" else weights
    estimator = weighing(name, labels, weights)
    params, of_fits = params_of(estimator, len(y), weighted)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Number of classes in training fold")
        expected = predict_by_fits(estimator, X, y, cv, method, of_fits)
        with counted() as calls:
            found = cross_val_predict(estimator, X, y, cv=cv, method=method, params=params)
    assert_equal(found, expected)
    assert calls.call_count == (name != "forest with a score")


@oldest
@pairwise
@every_estimator
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("labels", ["ints", "strings"])
def test_targets_of_every_container(labels, method, container, name):
    """Lists, Series with an index of their own, and categoricals have labels, too."""
    X, y = rare_class(labels)
    given = CONTAINERS[container](y)
    estimator = weighing(name, labels, "both")
    cv = StratifiedKFold(3)
    params, of_fits = params_of(estimator, len(y), True)
    expected = predict_by_fits(estimator, X, y, cv.split(X, y), method, of_fits)
    found = cross_val_predict(estimator, X, given, cv=cv, method=method, params=params)
    assert_equal(found, expected)


@oldest
@pairwise
@every_estimator
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("preset", [None, "balanced"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_several_outputs_have_a_dict_each(shuffle, preset, method, name):
    """Of strings and of numbers; classes that a fold lacks are those of an output."""
    X, y = load_iris(return_X_y=True)
    Y = np.column_stack([np.array(["b", "c", "a"])[y], np.where(X[:, 0] > 5.8, "x", "y")])
    dicts = [{"a": 20, "b": 1.0, "c": 0.25}, {"x": 1, "y": 5}]
    if name == "forest with a score":
        # Only labels that are or are not there are scored.
        Y = np.column_stack([y == 0, X[:, 0] > 5.8]).astype(int) + 3
        dicts = [{3: 20.0, 4: 0.5}, {3: 1, 4: 5}]
    # Without a shuffle a fold has two species.
    cv = KFold(3, shuffle=True, random_state=0) if shuffle else KFold(3)
    estimator = clone(ESTIMATORS[name]).set_params(class_weight=preset or dicts)
    params, of_fits = params_of(estimator, len(y), True)
    options = {"cv": cv, "method": method, "params": params}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Number of classes in training fold")
        expected = predict_by_fits(estimator, X, Y, cv.split(X), method, of_fits)
        assert_equal(cross_val_predict(estimator, X, Y, **options), expected)
        as_frame = cross_val_predict(estimator, X, pd.DataFrame(Y), **options)
    assert_equal(as_frame, expected)


SCORINGS = {
    "default": None,
    "balanced_accuracy": "balanced_accuracy",
    "roc_auc": "roc_auc",
    "neg_log_loss": "neg_log_loss",
    "several": ["accuracy", "roc_auc", "neg_log_loss", "balanced_accuracy"],
    "of a response": lambda rare: make_scorer(
        brier_score_loss, response_method="predict_proba", greater_is_better=False, pos_label=rare
    ),
    "of labels": lambda rare: make_scorer(fbeta_score, beta=2.0, pos_label=rare),
}


@oldest
@pairwise
@pytest.mark.parametrize("labels", ["negative ints", "bools", "strings", "objects"])
@every_estimator
@every_weight
@with_and_without
@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("refits", [False, True])
def test_scores_are_those_of_a_loop_of_fits(refits, scoring, weighted, weights, name, labels):
    """scikit-learn's own loop fits to labels where it scores: the same bits."""
    X, y = rare_class(labels)
    scorer = SCORINGS[scoring]
    if callable(scorer):
        scorer = scorer(LABELS[labels][1][0])
    estimator = weighing(name, labels, weights)
    params, of_fits = params_of(estimator, len(y), weighted)
    options = {"cv": StratifiedKFold(3), "scoring": scorer, "error_score": "raise"}
    expected = of_sklearn.cross_validate(estimator, X, y, params=of_fits, **options)
    found = cross_validate(estimator, X, y, params=params, return_estimator=refits, **options)
    for key in expected:
        if key.startswith("test"):
            np.testing.assert_array_equal(found[key], expected[key])
    if scoring != "several":
        scores = cross_val_score(estimator, X, y, params=params, **options)
        np.testing.assert_array_equal(scores, expected["test_score"])


@oldest
@pytest.mark.parametrize("estimator", [ESTIMATORS["tree"], ESTIMATORS["forest"]])
def test_weights_of_a_class_that_is_not_there_are_refused_alike(estimator):
    """By `fit`, by the shared work and by refits; a fold that lacks a class fails alone."""
    X, y = rare_class("strings")
    wrong = clone(estimator).set_params(class_weight={0: 1.0, 1: 2.0})
    with pytest.raises(ValueError, match="The 'class_weight' parameter is illegal") as by_fit:
        wrong.fit(X, y)
    for method in METHODS:
        with pytest.raises(ValueError, match="The 'class_weight' parameter is illegal") as error:
            cross_val_predict(wrong, X, y, method=method)
        assert str(error.value) == str(by_fit.value)
    rare = clone(estimator).set_params(class_weight={"yes": 20})
    folds = [(np.arange(45), np.arange(45, 90)), (np.flatnonzero(np.arange(90) % 6), np.arange(45))]
    with pytest.warns(FitFailedWarning, match="1 fits failed"):
        expected = of_sklearn.cross_val_score(rare, X, y, cv=folds)
    with pytest.warns(FitFailedWarning, match="1 fits failed"):
        found = cross_val_score(rare, X, y, cv=folds)
    np.testing.assert_array_equal(found, expected)
    assert np.isnan(found).tolist() == [False, True]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_refits_in_other_processes_know_labels(n_jobs):
    """What the loop is given can be cloned and pickled, and leaves the estimator alone."""
    method = "predict_log_proba"
    X, y = rare_class("strings")
    forest = weighing("forest with a score", "strings", "both")
    with parallel_config("loky"):
        found = cross_val_predict(forest, X, y, cv=3, n_jobs=n_jobs, method=method)
    expected = predict_by_fits(forest, X, y, StratifiedKFold(3).split(X, y), method)
    assert_equal(found, expected)
    assert not hasattr(forest, "classes_")
