"""Random estimators on random data against their plain twins, bit for bit.

The twin of `spinney.model_selection` is a loop of fits, that of a lazy forest the grown one, and
that of a score out of bag the mean over the trees that have not seen a row. What one of them
refuses, the other refuses with the same error.
"""

import warnings
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.model_selection as of_sklearn
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import PredefinedSplit

from loops import ABSENT, predict_by_fits
from spinney import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    LazyForestClassifier,
    LazyForestRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from spinney.model_selection import cross_val_predict, cross_val_score, cross_validate
from strategies import ESTIMATORS, FORESTS, LAZY_FORESTS, examples, stop_rules

LABELS = (
    [0, 1, 2],
    [1, 2, 3],
    [2, 0, 1],
    [-5, 7, 0],
    [10**12, -1, 3],
    [1.0, 2.0, -3.0],
    [True, False],
    ["b", "a", "cc"],
    np.array(["no", "yes", "?"], dtype=object),
    ["10", "9", "-1"],
)
CONTAINERS = (
    np.asarray,
    np.asarray,
    np.ndarray.tolist,
    lambda y: pd.Series(y) if y.ndim == 1 else pd.DataFrame(y),
)
NUMBERS = (None, "squared_error", "absolute_error", "quantile", "poisson")
METHODS = ("predict", *ABSENT)
SCORINGS = (None, "accuracy", "balanced_accuracy", "neg_log_loss", "f1_macro", "roc_auc_ovr")
OF_NUMBERS = (None, "r2", "neg_mean_squared_error", "neg_median_absolute_error")
LAZY_TWINS = {
    RandomForestClassifier: (LazyForestClassifier, "best"),
    ExtraTreesClassifier: (LazyForestClassifier, "random"),
    RandomForestRegressor: (LazyForestRegressor, "best"),
    ExtraTreesRegressor: (LazyForestRegressor, "random"),
}


class Case(NamedTuple):
    """An estimator and what it is fitted to."""

    estimator: Any
    X: Any
    y: np.ndarray
    given_y: Any
    """The targets as a list or a frame, or as they are."""
    params: dict
    """Weights and ids for `fit`."""


@st.composite
def class_weights(draw, columns, is_sampled):
    """Draw weights of the labels that are there, and seldom of others."""
    presets = (None, "balanced", "balanced_subsample") if is_sampled else (None, "balanced")
    kind = draw(st.sampled_from((*presets, "dict", "dict", "dict")))
    if kind != "dict":
        return kind
    dicts = []
    for column in columns:
        weight = st.sampled_from((0.25, 1, 1.0, 3, 20, 0.1))
        labels = np.unique(column).tolist()
        by_label = {label: draw(weight) for label in labels}
        if draw(st.integers(0, 5)) == 0:
            # Not a weight for each class, or one for a class that is not there.
            by_label.pop(labels[0])
            by_label |= draw(st.sampled_from(({}, {"nobody": 1.0}, {99: 2.0})))
        dicts.append(by_label)
    return dicts[0] if len(dicts) == 1 else dicts


@st.composite
def samplings(draw):
    """Draw how a forest draws."""
    bootstrap = draw(st.sampled_from((True, True, False, "poisson")))
    if bootstrap is not True:
        return {"bootstrap": bootstrap}
    replace = draw(st.sampled_from((True, True, False)))
    most = 1.5 if replace else 1.0
    share = draw(st.none() | st.integers(1, 8) | st.floats(0.1, most, allow_nan=False))
    return {"bootstrap": True, "replace": replace, "max_samples": share}


@st.composite
def cases(draw, estimator_class, max_samples=24):
    """Draw an estimator, data, weights and names."""
    n = draw(st.integers(4, max_samples))
    shape = (n, draw(st.integers(1, 3)))
    X = draw(hnp.arrays(np.float64, shape, elements=st.integers(-2, 2).map(float)))
    n_outputs = draw(st.sampled_from((1, 1, 1, 2)))
    is_sampled = estimator_class in (*FORESTS, *LAZY_FORESTS)
    params = dict(draw(stop_rules()), random_state=draw(st.integers(0, 2**32 - 1)))
    params["max_features"] = draw(st.sampled_from((None, 1, "sqrt")))
    if is_classifier(estimator_class()):
        names = np.asarray(draw(st.sampled_from(LABELS)))
        most = draw(st.integers(2, len(names)))
        codes = draw(hnp.arrays(np.int64, (n, n_outputs), elements=st.integers(0, most - 1)))
        y = names[codes]
        params["criterion"] = draw(st.sampled_from(("gini", "entropy")))
        params["class_weight"] = draw(class_weights(y.T, is_sampled))
    else:
        y = draw(hnp.arrays(np.float64, (n, n_outputs), elements=st.integers(0, 9).map(float)))
        params["criterion"] = draw(st.sampled_from(NUMBERS[1:]))
    if is_sampled:
        params |= draw(samplings()) | {"n_estimators": draw(st.integers(1, 5))}
    weight = st.sampled_from((0.0, 0.1, 0.25, 0.3, 1.0, 1.0, 2.0, 5.0))
    given = {}
    if draw(st.booleans()):
        given["sample_weight"] = draw(hnp.arrays(np.float64, n, elements=weight))
    if params.get("bootstrap") == "poisson" and draw(st.booleans()):
        given["sample_ids"] = draw(hnp.arrays(np.int64, n, elements=st.integers(0, 30)))
    y = y[:, 0] if n_outputs == 1 else y
    if draw(st.booleans()):
        X = draw(st.sampled_from((sp.csr_matrix, sp.csr_array)))(X)
    return Case(estimator_class(**params), X, y, draw(st.sampled_from(CONTAINERS))(y), given)


def outcome(call):
    """Return the result, or the type and the message of an error, without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except Exception as error:  # noqa: BLE001 - whatever the twin raises
            return (type(error), str(error).splitlines()[0])


def assert_same(found, expected):
    """Check arrays, or lists of them, or errors: of one type, and of one first line."""
    if isinstance(expected, list) and isinstance(expected[0], np.ndarray):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, np.ndarray):
        assert isinstance(found, np.ndarray), found
        assert found.shape == expected.shape
        np.testing.assert_array_equal(found, expected)
    else:
        assert found == expected


def of_loop(case):
    """Return what a refit takes so that its draws are those of the fold."""
    if getattr(case.estimator, "bootstrap", None) != "poisson":
        return case.params
    return {"sample_ids": np.arange(len(case.y)), **case.params}


def draw_folds(drawn, n):
    parts = drawn.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    assume(len(set(parts)) > 1)
    return PredefinedSplit(parts)


@examples(10)
@pytest.mark.parametrize("estimator_class", [*ESTIMATORS, *FORESTS, *LAZY_FORESTS])
@given(drawn=st.data())
def test_predictions_of_folds_are_those_of_a_loop(estimator_class, drawn):
    """Whatever is weighed, drawn and named, and also where folds have to be refitted."""
    case = drawn.draw(cases(estimator_class))
    is_class = is_classifier(case.estimator)
    method = drawn.draw(st.sampled_from(METHODS)) if is_class else "predict"
    cv = draw_folds(drawn, len(case.y))
    estimator = case.estimator
    if estimator_class in FORESTS and estimator.bootstrap and drawn.draw(st.booleans()):
        # This is refitted.
        estimator = clone(estimator).set_params(oob_score=True)
    expected = outcome(
        partial(predict_by_fits, estimator, case.X, case.y, cv.split(), method, of_loop(case))
    )
    options = {"cv": cv, "method": method, "params": case.params}
    found = outcome(partial(cross_val_predict, estimator, case.X, case.given_y, **options))
    assert_same(found, expected)


@examples(6)
@pytest.mark.parametrize("estimator_class", [*ESTIMATORS, *FORESTS, *LAZY_FORESTS])
@given(drawn=st.data())
def test_scores_of_folds_are_those_of_a_loop(estimator_class, drawn):
    """The loop is scikit-learn's, which scores labels as they are."""
    case = drawn.draw(cases(estimator_class))
    scorings = SCORINGS if is_classifier(case.estimator) else OF_NUMBERS
    scoring = drawn.draw(st.sampled_from(scorings))
    cv = draw_folds(drawn, len(case.y))
    options = {"cv": cv, "scoring": scoring, "error_score": "raise"}
    theirs = partial(of_sklearn.cross_val_score, case.estimator, case.X, case.given_y)
    expected = outcome(partial(theirs, params=of_loop(case), **options))
    ours = partial(cross_val_score, case.estimator, case.X, case.given_y, params=case.params)
    scores = outcome(partial(ours, **options))
    refits = partial(cross_validate, case.estimator, case.X, case.given_y, params=case.params)
    refitted = outcome(partial(refits, return_estimator=True, **options))
    if isinstance(refitted, dict):
        refitted = refitted["test_score"]
    for found in (scores, refitted):
        if isinstance(expected, tuple):
            # The loop scores a fold before it fits the next one, so that it may meet another error.
            assert isinstance(found, tuple), found
        else:
            assert_same(found, expected)


@examples(15)
@pytest.mark.parametrize("forest_class", FORESTS)
@given(drawn=st.data())
def test_lazy_forests_are_grown_ones(forest_class, drawn):
    """All predictions, by each traversal; what one refuses, the other does, too."""
    case = drawn.draw(cases(forest_class))
    lazy_class, splitter = LAZY_TWINS[forest_class]
    params = case.estimator.get_params()
    own = lazy_class().get_params().keys() & params.keys()
    lazy = lazy_class(**{name: params[name] for name in own}, splitter=splitter)
    traversal = drawn.draw(st.sampled_from(("auto", "batched", "single", "eager")))
    if lazy.max_leaf_nodes is None and lazy.ccp_alpha == 0:
        lazy.set_params(traversal=traversal)
    for method in METHODS if is_classifier(lazy) else METHODS[:1]:

        def ask(estimator, method=method):
            fitted = clone(estimator).fit(case.X, case.given_y, **case.params)
            return getattr(fitted, method)(case.X)

        assert_same(outcome(partial(ask, lazy)), outcome(partial(ask, case.estimator)))


@examples(20)
@pytest.mark.parametrize("forest_class", FORESTS)
@given(drawn=st.data())
def test_scores_out_of_bag_are_those_of_unseen_rows(forest_class, drawn):
    """Means over the trees that have not seen a row, of the rows that have such trees."""
    case = drawn.draw(cases(forest_class))
    forest = case.estimator
    assume(forest.bootstrap is not False)
    forest.set_params(oob_score=True)
    fitted = outcome(partial(forest.fit, case.X, case.given_y, **case.params))
    if isinstance(fitted, tuple):
        assert issubclass(fitted[0], ValueError), fitted
        return
    n, is_class = len(case.y), is_classifier(forest)
    unseen = np.array([np.bincount(rows, minlength=n) == 0 for rows in forest.estimators_samples_])
    of_trees = []
    for tree in forest.estimators_:
        values = tree.predict_proba(case.X) if is_class else tree.predict(case.X)
        if isinstance(values, list):
            # An output of one class beside one of two.
            most = max(of_output.shape[1] for of_output in values)
            padded = [np.pad(one, [(0, 0), (0, most - one.shape[1])]) for one in values]
            values = np.stack(padded, axis=-1)
        of_trees.append(values if values.ndim == 3 else values.reshape(n, -1))
    of_trees = np.array(of_trees)
    known = unseen.any(axis=0)
    mask = unseen.reshape(*unseen.shape, *[1] * (of_trees.ndim - 2))
    sums = np.zeros(of_trees.shape[1:])
    for values, is_unseen in zip(of_trees, mask, strict=True):
        sums = sums + np.where(is_unseen, values, 0.0)
    means = sums[known] / mask.sum(axis=0)[known]
    found = forest.oob_decision_function_ if is_class else forest.oob_prediction_.reshape(n, -1)
    assert np.isnan(found[~known]).all()
    np.testing.assert_array_equal(found[known], means)
    if not known.any():
        assert np.isnan(forest.oob_score_)
        return
    if is_class:
        classes = [forest.classes_] if case.y.ndim == 1 else forest.classes_
        columns = zip(classes, case.y.reshape(n, -1).T, strict=True)
        codes = np.column_stack([np.searchsorted(of, column) for of, column in columns])[known]
        expected = accuracy_score(codes, means.argmax(axis=1).reshape(codes.shape))
    else:
        with warnings.catch_warnings():
            # Of one sample.
            warnings.simplefilter("ignore")
            expected = r2_score(case.y.reshape(n, -1)[known], means)
    np.testing.assert_array_equal(forest.oob_score_, expected)
