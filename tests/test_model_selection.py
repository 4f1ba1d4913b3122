"""Cross-validation of encoded data: the results of refits, bit for bit; else scikit-learn's."""

import pickle
import re
import subprocess
import sys
import time
import tracemalloc
import warnings
from contextlib import contextmanager
from functools import partial
from inspect import signature
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
import sklearn.model_selection as of_sklearn
from hypothesis import given
from hypothesis import strategies as st
from joblib import parallel_config
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    LeavePGroupsOut,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import spinney._crossval
import spinney._splits
import spinney._task
import spinney.dataset
from contract import expected_parameters, parameters_of
from loops import predict_by_fits
from oracle import bits
from spinney import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    LazyForestClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    _encoded_columns,
)
from spinney._spinney import Columns
from spinney.model_selection import cross_val_predict, cross_val_score, cross_validate
from strategies import ESTIMATORS, FORESTS, LAZY_FORESTS, data, examples, raw_sparse, stop_rules
from test_forest_promises import few_rows, samplings, seeds

oldest = pytest.mark.oldest
X_IRIS, Y_IRIS = load_iris(return_X_y=True)
ROWS = np.zeros((150, 1))
ALL = (*ESTIMATORS, *FORESTS, *LAZY_FORESTS)
SAMPLED = (*FORESTS, *LAZY_FORESTS)
FUNCTIONS = ("cross_validate", "cross_val_score", "cross_val_predict")
every_estimator = pytest.mark.parametrize("estimator_class", ALL)
every_function = pytest.mark.parametrize("function", FUNCTIONS)


@contextmanager
def counted():
    """Count the calls of the shared work."""
    work = spinney._task.predict_folds
    with mock.patch.object(spinney._task, "predict_folds", side_effect=work) as calls:
        yield calls


@contextmanager
def shared():
    """Check that work is shared, once."""
    with counted() as calls:
        yield
    assert calls.call_count == 1


@contextmanager
def refitted():
    """Check that no work is shared."""
    with counted() as calls:
        yield
    assert calls.call_count == 0


def ours(function):
    return getattr(spinney.model_selection, function)


def theirs(function):
    return getattr(of_sklearn, function)


def small(estimator_class, **params):
    """Return an estimator that is quickly grown."""
    if estimator_class in SAMPLED:
        params = {"n_estimators": 4, "bootstrap": "poisson", **params}
    return estimator_class(random_state=0, **params)


def task_of(estimator):
    """Return data with a signal for the kind of estimator."""
    if is_classifier(estimator):
        return load_iris(return_X_y=True)
    X, y = load_diabetes(return_X_y=True)
    return X[:150], y[:150]


def ids_of(estimator, train):
    """Return what a refit takes so that its draws are those of the fold."""
    is_poisson = getattr(estimator, "bootstrap", None) == "poisson"
    return {"sample_ids": train} if is_poisson else {}


def refits(estimator, X, y, splits, method="predict", sample_weight=None):
    """Return what each fold predicts if it is refitted: the definition."""
    predictions = []
    for train, test in splits:
        fold = clone(estimator)
        weight = None if sample_weight is None else sample_weight[train]
        fold.fit(X[train], y[train], sample_weight=weight, **ids_of(estimator, train))
        predictions.append(getattr(fold, method)(X[test]))
    return predictions


class Recorder:
    """A metric that remembers what was predicted."""

    def __init__(self):
        self.predictions = []

    def __call__(self, y_true, y_pred):
        self.predictions.append(y_pred)
        return 0.0


def recorded(estimator, X, y, *, cv, method="predict", **options):
    """Return what each fold predicts in the shared work."""
    recorder = Recorder()
    scorer = make_scorer(recorder, response_method=method)
    with shared():
        cross_validate(estimator, X, y, cv=cv, scoring=scorer, error_score="raise", **options)
    return recorder.predictions


def assert_same_bits(found, expected):
    """Check lists of arrays, or of lists of them."""
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        if isinstance(b, list):
            assert_same_bits(a, b)
        else:
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            assert a.tobytes() == b.tobytes() or (a.tolist() == b.tolist() and a.dtype == object)


def parameters(draw, estimator_class):
    """Draw parameters of an estimator, and data for it."""
    params = dict(draw(stop_rules()), random_state=draw(seeds))
    if is_classifier(estimator_class()):
        task = "classes"
        params["criterion"] = draw(st.sampled_from(("gini", "entropy")))
        presets = (None, "balanced", {0: 2.0, 1: 0.5})
        if estimator_class in SAMPLED:
            presets += ("balanced_subsample",)
        params["class_weight"] = draw(st.sampled_from(presets))
    else:
        names = ("squared_error", "absolute_error", "quantile", "poisson")
        params["criterion"] = draw(st.sampled_from(names))
        task = "counts" if params["criterion"] == "poisson" else "numbers"
    if estimator_class in SAMPLED:
        params.update(draw(samplings), n_estimators=3)
    params["max_features"] = draw(st.sampled_from(("sqrt", 0.5, None)))
    problem = draw(data(task, max_samples=25, missing=True))
    if isinstance(params.get("class_weight"), dict) and problem.y.ndim == 2:
        params["class_weight"] = "balanced"
    return params, problem


def random_folds(draw, n_samples):
    """Draw folds of which the training rows are ascending; test rows may be any."""
    rows = st.lists(st.integers(0, n_samples - 1), min_size=1)
    folds = draw(st.lists(st.tuples(rows, rows), min_size=1, max_size=5))
    return [(np.unique(train), np.array(test)) for train, test in folds]


@few_rows
@examples(30)
@every_estimator
@given(drawn=st.data())
def test_folds_are_refits(estimator_class, drawn):
    """Whatever the parameters, the storage and the threads; bad folds fail as refits fail."""
    params, problem = parameters(drawn.draw, estimator_class)
    X, y, weight = problem
    estimator = estimator_class(**params)
    splits = random_folds(drawn.draw, len(X))
    options = {} if weight is None else {"params": {"sample_weight": weight}}
    with warnings.catch_warnings():
        # One class, or as many as there are rows.
        warnings.simplefilter("ignore")
        try:
            expected = refits(estimator, X, y, splits, sample_weight=weight)
        except ValueError:
            scorer = make_scorer(Recorder())
            with pytest.raises(ValueError):
                cross_validate(
                    estimator, X, y, cv=splits, scoring=scorer, error_score="raise", **options
                )
            return
        assert_same_bits(recorded(estimator, X, y, cv=splits, **options), expected)
        stored = raw_sparse(
            sp.csc_matrix, np.nan_to_num(X), np.random.default_rng(0), duplicates=True
        )
        expected = refits(estimator, stored.tocsr(), y, splits, sample_weight=weight)
        found = recorded(estimator, stored, y, cv=splits, n_jobs=2, **options)
        assert_same_bits(found, expected)


@few_rows
@examples(40)
@every_estimator
@given(drawn=st.data())
def test_probabilities_are_those_of_refits(estimator_class, drawn):
    """By scikit-learn's own loop over refits, absent classes and all; numbers likewise.

    scikit-learn looks up codes in a `class_weight` that has labels: then the loop is our own.
    """
    params, problem = parameters(drawn.draw, estimator_class)
    X, y, weight = problem
    estimator = estimator_class(**params)
    methods = ("predict", "predict_proba", "predict_log_proba")
    method = drawn.draw(st.sampled_from(methods)) if is_classifier(estimator) else "predict"
    parts = drawn.draw(st.lists(st.integers(0, 3), min_size=len(X), max_size=len(X)))
    params = {} if weight is None else {"sample_weight": weight}
    options = {"cv": PredefinedSplit(parts), "method": method}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = {**params, **ids_of(estimator, np.arange(len(X)))}
        if isinstance(getattr(estimator, "class_weight", None), dict):
            splits = PredefinedSplit(parts).split()
            expected, _ = outcome(partial(predict_by_fits, estimator, X, y, splits, method, given))
        else:
            expected, _ = outcome(
                lambda: of_sklearn.cross_val_predict(estimator, X, y, params=given, **options)
            )
        with counted() as calls:
            found, _ = outcome(lambda: cross_val_predict(estimator, X, y, params=params, **options))
    if isinstance(expected, tuple):
        assert found == expected
        return
    assert calls.call_count == 1
    as_list = isinstance(expected, list)
    assert isinstance(found, list) == as_list
    assert_same_bits(found if as_list else [found], expected if as_list else [expected])


SPLITTERS = {
    "int": 4,
    "default": None,
    "KFold": KFold(3),
    "shuffled KFold": KFold(3, shuffle=True, random_state=0),
    "drawn KFold": KFold(3, shuffle=True, random_state=np.random.RandomState(3)),
    "RepeatedKFold": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
    "LeavePGroupsOut": LeavePGroupsOut(2),
    "GroupKFold": GroupKFold(3),
    "TimeSeriesSplit": TimeSeriesSplit(4),
    "PredefinedSplit": PredefinedSplit(np.arange(150) % 7 - 1),
    "StratifiedKFold": StratifiedKFold(3, shuffle=True, random_state=0),
}


@pytest.mark.parametrize("name", SPLITTERS)
@pytest.mark.parametrize("estimator_class", [DecisionTreeRegressor, *SAMPLED])
def test_splitters_of_scikit_learn(estimator_class, name):
    """Scores and predictions are those of refits."""
    estimator = small(estimator_class)
    X, y = task_of(estimator)
    if name == "StratifiedKFold":
        y = (y > np.median(y)).astype(int)
    groups = np.arange(150) % 4 if "Group" in name else None
    cv = clone(SPLITTERS[name], safe=False)
    splitter = of_sklearn.check_cv(clone(cv, safe=False), y, classifier=is_classifier(estimator))
    splits = list(splitter.split(X, y, groups))
    found = recorded(estimator, X, y, cv=cv, groups=groups)
    assert_same_bits(found, refits(estimator, X, y, splits))
    ids = ids_of(estimator, np.arange(150))
    expected = of_sklearn.cross_val_score(estimator, X, y, cv=splits, params=ids)
    with shared():
        scores = cross_val_score(
            estimator, X, y, cv=clone(SPLITTERS[name], safe=False), groups=groups
        )
    assert scores.tolist() == expected.tolist()


@every_estimator
def test_leave_one_out(estimator_class):
    """Each row by an estimator of all others."""
    estimator = small(estimator_class)
    X, y = task_of(estimator)
    X, y = X[::4], y[::4]
    expected = np.concatenate(refits(estimator, X, y, LeaveOneOut().split(X)))
    for n_jobs in (1, 2):
        with shared():
            found = cross_val_predict(estimator, X, y, cv=LeaveOneOut(), n_jobs=n_jobs)
        assert_same_bits([found], [expected])


def masks(rows, n_samples):
    return np.isin(np.arange(n_samples), rows)


OTHER_SPLITS = {
    "backwards": [(train[::-1], test) for train, test in KFold(3).split(ROWS)],
    "shuffled": list(ShuffleSplit(3, random_state=0).split(ROWS)),
    "masks": [tuple(masks(p, 150) for p in pair) for pair in KFold(3).split(ROWS)],
    "lists": [(train.tolist(), test.tolist()) for train, test in KFold(3).split(ROWS)],
    "few rows": [(np.arange(i, 150, 9)[::-1], np.arange(i + 1, 150, 9)) for i in range(3)],
}


DRAWS = {
    "all": {"bootstrap": False},
    "poisson": {"bootstrap": "poisson"},
    "with replacement": {"bootstrap": True},
    "without replacement": {"bootstrap": True, "replace": False, "max_samples": 0.7},
}


@pytest.mark.parametrize("kind", OTHER_SPLITS)
@pytest.mark.parametrize(
    ("estimator_class", "params"),
    [(tree, {}) for tree in ESTIMATORS]
    + [
        pytest.param(of, DRAWS[name], id=f"{of.__name__}-{name}")
        for of in SAMPLED
        for name in DRAWS
    ],
)
def test_training_rows_in_any_form_and_order(estimator_class, params, kind):
    """Draws by the places of rows are those of the refit, whose rows have these places."""
    estimator = small(estimator_class, **params)
    X, y = task_of(estimator)
    splits = OTHER_SPLITS[kind]
    for weight in (None, np.arange(150) % 4 + 0.5):
        options = {} if weight is None else {"params": {"sample_weight": weight}}
        arrays = [tuple(map(np.asarray, split)) for split in splits]
        numbers = [(np.arange(150)[train], test) for train, test in arrays]
        expected = refits(estimator, X, y, numbers, sample_weight=weight)
        assert_same_bits(recorded(estimator, X, y, cv=splits, **options), expected)


@pytest.mark.parametrize("estimator_class", [DecisionTreeRegressor, *SAMPLED])
def test_training_rows_in_any_order_with_categories(estimator_class):
    """Categories first occur where the refit has them."""
    frame, y = mixed_frame(60)
    X = np.column_stack([column.astype(object) for column in frame.values()])
    estimator = small(estimator_class, categorical_features=[0, 2])
    splits = list(ShuffleSplit(4, random_state=1).split(X))
    assert_same_bits(recorded(estimator, X, y, cv=splits), refits(estimator, X, y, splits))


@every_function
def test_repeated_training_rows_are_refitted(function):
    """A row that is trained on twice weighs twice."""
    X, y = load_iris(return_X_y=True)
    splits = [(np.concatenate([train, train[:40]]), test) for train, test in KFold(3).split(X)]
    tree = DecisionTreeClassifier(random_state=0)
    with refitted():
        found = ours(function)(tree, X, y, cv=splits)
    expected = theirs(function)(tree, X, y, cv=splits)
    if function == "cross_validate":
        found, expected = found["test_score"], expected["test_score"]
    np.testing.assert_array_equal(found, expected)


# --- The functions ------------------------------------------------------------------------------


@oldest
@every_function
def test_signatures(function):
    """A user changes the import and nothing else."""
    own, other = ours(function), theirs(function)
    assert repr(parameters_of(own)) == repr(expected_parameters(other, own))
    for name, parameter in signature(own).parameters.items():
        assert parameter.kind is signature(other).parameters[name].kind


SCORINGS = {
    "default": None,
    "name": "neg_log_loss",
    "roc": "roc_auc_ovr",
    "list": ["accuracy", "f1_macro"],
    "tuple": ("accuracy", "roc_auc_ovo"),
    "dict": {"a": "accuracy", "b": make_scorer(mean_absolute_error, greater_is_better=False)},
    "scorer": make_scorer(mean_absolute_error),
}


@oldest
@pytest.mark.parametrize(
    ("name", "labels"),
    # Strings have no absolute errors.
    [(name, "numbers") for name in SCORINGS]
    + [(name, "strings") for name in SCORINGS if name not in ("dict", "scorer")],
)
def test_scores_are_those_of_scikit_learn(name, labels):
    """One metric or several, of labels or probabilities; the same keys."""
    X, y = load_iris(return_X_y=True)
    if labels == "strings":
        y = np.array(["setosa", "versicolor", "virginica"])[y]
    forest = RandomForestClassifier(3, bootstrap=False, max_features=1, random_state=0)
    options = {"scoring": SCORINGS[name], "cv": 4, "return_indices": True}
    expected = of_sklearn.cross_validate(forest, X, y, **options)
    with shared():
        found = cross_validate(forest, X, y, **options)
    assert found.keys() == expected.keys()
    for key, scores in found.items():
        if key.startswith("test"):
            assert scores.tolist() == expected[key].tolist()
        elif key != "indices":
            assert scores.shape == (4,)
            assert (scores > 0).all()
    for part in ("train", "test"):
        pairs = zip(found["indices"][part], expected["indices"][part], strict=True)
        assert all((a == b).all() for a, b in pairs)


def test_times_are_those_of_the_shared_work():
    """Each fold has an equal share."""
    X, y = load_breast_cancer(return_X_y=True)
    work = spinney._task.predict_folds
    seconds = []

    def slow(*args, **arguments):
        start = time.perf_counter()
        values = work(*args, **arguments)
        time.sleep(1.0)
        seconds.append(time.perf_counter() - start)
        return values

    with mock.patch.object(spinney._task, "predict_folds", side_effect=slow):
        found = cross_validate(RandomForestClassifier(20, random_state=0), X, y, cv=5)
    assert found["fit_time"].min() >= seconds[0] / 5
    # A fold of a busy machine takes some more, but none has it all.
    assert found["fit_time"].max() < seconds[0] / 5 + 0.5


@oldest
@every_function
def test_several_outputs(function):
    """Of classes, strings among them, and of numbers."""
    X, y = load_iris(return_X_y=True)
    Y = np.column_stack([np.array(["a", "b", "c"])[y], np.where(X[:, 0] > 5.8, "x", "y")])
    classifier = DecisionTreeClassifier(max_depth=2, random_state=0)
    regressor = RandomForestRegressor(3, bootstrap=False, max_features=1, random_state=0)
    cases = [(regressor, X[:, 2:], {})]
    if function == "cross_val_predict":
        methods = ("predict", "predict_proba", "predict_log_proba")
        cases += [(classifier, Y, {"method": method}) for method in methods]
    for estimator, targets, options in cases:
        options["cv"] = KFold(3, shuffle=True, random_state=0)
        expected = theirs(function)(estimator, X, targets, **options)
        with shared():
            found = ours(function)(estimator, X, targets, **options)
        if function == "cross_validate":
            found, expected = found["test_score"], expected["test_score"]
        assert_same_bits([found], [expected])


@oldest
@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba"])
@pytest.mark.parametrize("labels", [[0, 1, 2], [5, -1, 3], ["u", "w", "v"], [True, False, True]])
def test_classes_that_folds_lack(method, labels):
    """Columns, values and warnings are scikit-learn's."""
    X, y = load_iris(return_X_y=True)
    y = np.array(labels)[y]
    estimator = LazyForestClassifier(3, random_state=0)
    options = {"cv": PredefinedSplit(np.arange(150) // 50), "method": method}
    with warnings.catch_warnings(record=True) as expected_warnings:
        warnings.simplefilter("always")
        expected = of_sklearn.cross_val_predict(estimator, X, y, **options)
    with warnings.catch_warnings(record=True) as found_warnings, shared():
        warnings.simplefilter("always")
        found = cross_val_predict(estimator, X, y, **options)
    assert_same_bits([found], [expected])
    messages = [str(warning.message) for warning in expected_warnings]
    assert [str(warning.message) for warning in found_warnings] == messages
    assert bool(messages) == (method != "predict")


# --- Data ---------------------------------------------------------------------------------------


def mixed_frame(n_samples):
    """Return columns of all kinds with values that only some folds have, and targets."""
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], n_samples).astype(object)
    colour[0], colour[n_samples // 2] = "mauve", None
    size = rng.normal(size=n_samples).round(1)
    size[n_samples // 3] = np.nan
    count = rng.integers(0, 12, n_samples)
    frame = {"colour": colour, "size": size, "count": count}
    y = (colour == "red") * 2 + (size > 0) + count % 3
    return frame, y


# The loop of fits warns of a test row alone that has a category of its own.
@pytest.mark.filterwarnings("ignore:No category that occurs is known:UserWarning")
@pytest.mark.parametrize("library", ["pandas", "polars", "numpy"])
@pytest.mark.parametrize(
    ("estimator_class", "params"),
    # The others split by random thresholds or not by their class.
    [(estimator_class, {}) for estimator_class in ALL]
    + [(estimator_class, {"splitter": "random"}) for estimator_class in LAZY_FORESTS],
)
def test_mixed_data(estimator_class, params, library):
    """Categories and missing values that only test rows have go where a refit sends them."""
    frame, y = mixed_frame(45)
    categorical = ["colour", "count"]
    if library == "pandas":
        X = pd.DataFrame(frame).astype({"colour": "category"})
    elif library == "polars":
        X = pl.DataFrame({name: column.tolist() for name, column in frame.items()}, strict=False)
    else:
        X, categorical = np.column_stack([c.astype(object) for c in frame.values()]), [0, 2]
    estimator = small(estimator_class, categorical_features=categorical, **params)
    ids = ids_of(estimator, np.arange(len(y)))
    for cv in (KFold(3), KFold(len(y))):
        expected = of_sklearn.cross_val_predict(estimator, X, y, cv=cv, params=ids)
        with shared():
            found = cross_val_predict(estimator, X, y, cv=cv)
        assert_same_bits([found], [expected])


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "csr_array", "list", "float32", "int8"])
def test_storages(form):
    """Any that `fit` takes."""
    X, y = load_iris(return_X_y=True)
    X = (X * 2).round()
    forest = LazyForestClassifier(5, random_state=0)
    expected = cross_val_predict(forest, X, y, cv=3, method="predict_proba")
    if form == "list":
        X = X.tolist()
    elif form in ("float32", "int8"):
        X = X.astype(form)
    else:
        X = sp.csr_array(X) if form == "csr_array" else sp.csr_matrix(X).asformat(form)
    with shared():
        found = cross_val_predict(forest, X, y.tolist(), cv=3, method="predict_proba")
    assert_same_bits([found], [expected])
    with shared():
        cross_val_score(forest, X, pd.Series(y), cv=3)


@pytest.mark.parametrize("estimator_class", SAMPLED)
def test_names_of_samples(estimator_class):
    """Those of `params` are those of the rows, or their numbers are."""
    estimator = small(estimator_class)
    X, y = task_of(estimator)
    names = np.random.default_rng(0).permutation(1000)[:150]
    found = []
    for params in ({"sample_ids": names}, {"sample_ids": list(names)}, {"sample_ids": None}, None):
        with shared():
            found.append(cross_val_predict(estimator, X, y, cv=3, params=params))
    splits = list(of_sklearn.check_cv(3, y, classifier=is_classifier(estimator)).split(X, y))
    for prediction, ids in zip(found[1:3], (names, np.arange(150)), strict=True):
        for train, test in splits:
            fold = clone(estimator).fit(X[train], y[train], sample_ids=ids[train])
            assert fold.predict(X[test]).tobytes() == prediction[test].tobytes()
    assert_same_bits(found[::3], found[1:3])


def score_of_fold(fold, X, y):
    """Score a fitted fold: whatever is no metric of scikit-learn's makes folds be refitted."""
    return fold.score(X, y)


@pytest.mark.parametrize("function", ["cross_validate", "cross_val_score"])
@pytest.mark.parametrize("estimator_class", SAMPLED)
def test_refits_have_names_too(estimator_class, function):
    """So that it does not show which way was taken."""
    estimator = small(estimator_class)
    X, y = task_of(estimator)
    for options in ({"params": None}, {"params": {"sample_weight": np.arange(150) + 1.0}}):
        with shared():
            expected = ours(function)(estimator, X, y, cv=3, **options)
        # Routed weights go to those that ask for them: `test_metadata_routing`.
        for routing in (False, True) if options["params"] is None else (False,):
            with refitted(), sklearn.config_context(enable_metadata_routing=routing):
                found = ours(function)(estimator, X, y, cv=3, scoring=score_of_fold, **options)
            if function == "cross_validate":
                found, expected_scores = found["test_score"], expected["test_score"]
            else:
                expected_scores = expected
            assert found.tolist() == expected_scores.tolist()


@oldest
@every_function
def test_metadata_routing(function):
    """Without metadata work is shared; routed metadata are left to scikit-learn."""
    X, y = load_iris(return_X_y=True)
    weight = np.arange(150) + 1.0
    forest = RandomForestClassifier(3, bootstrap="poisson", random_state=0)
    with shared():
        plain = ours(function)(forest, X, y, cv=3)
    with shared():
        weighted = ours(function)(forest, X, y, cv=3, params={"sample_weight": weight})
    with sklearn.config_context(enable_metadata_routing=True):
        with shared():
            found = [ours(function)(forest, X, y, cv=3)]
        asking = clone(forest).set_fit_request(sample_weight=True)
        asking.set_score_request(sample_weight=False)
        with refitted():
            found.append(ours(function)(asking, X, y, cv=3, params={"sample_weight": weight}))
    expected = [plain, weighted]
    if function == "cross_validate":
        expected, found = ([r["test_score"] for r in results] for results in (expected, found))
    assert_same_bits(found, expected)


# --- Who shares ---------------------------------------------------------------------------------


class Contrary(RandomForestClassifier):
    """Predicts the last class."""

    def predict(self, X):
        return np.full(len(X), self.classes_[-1])


@oldest
@every_function
def test_other_estimators_are_refitted(function):
    """Those of others, pipelines, and subclasses that do as they like."""
    X, y = load_iris(return_X_y=True)
    estimators = [
        LogisticRegression(max_iter=1000),
        make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=0)),
        Contrary(2, random_state=0),
        RandomForestClassifier(30, oob_score=True, random_state=0),
    ]
    for estimator in estimators:
        with refitted():
            found = ours(function)(estimator, X, y, cv=3)
        expected = theirs(function)(estimator, X, y, cv=3)
        if function == "cross_validate":
            found, expected = found["test_score"], expected["test_score"]
        np.testing.assert_array_equal(found, expected)


@oldest
@pytest.mark.parametrize("option", ["return_train_score", "return_estimator"])
def test_fitted_estimators_are_made_by_refits(option):
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(3, bootstrap="poisson", random_state=0)
    with refitted():
        found = cross_validate(forest, X, y, cv=3, **{option: True})
    with shared():
        expected = cross_validate(forest, X, y, cv=3)
    assert found["test_score"].tolist() == expected["test_score"].tolist()
    if option == "return_estimator":
        splits = StratifiedKFold(3).split(X, y)
        for fold, (train, _) in zip(found["estimator"], splits, strict=True):
            refit = clone(forest).fit(X[train], y[train], sample_ids=train)
            assert fold.predict_proba(X).tobytes() == refit.predict_proba(X).tobytes()


@oldest
@pytest.mark.parametrize("in_dict", [False, True])
def test_functions_of_the_users_own_get_a_fitted_estimator(in_dict):
    """They may look at its trees."""
    X, y = load_iris(return_X_y=True)

    def n_leaves(tree, X, y):
        return tree.get_n_leaves()

    tree = DecisionTreeClassifier(random_state=0)
    scoring = {"n": n_leaves, "accuracy": "accuracy"} if in_dict else n_leaves
    with refitted():
        found = cross_validate(tree, X, y, cv=3, scoring=scoring)
    key = "test_n" if in_dict else "test_score"
    assert all(n > 3 for n in found[key])


@every_function
def test_splits_of_iterators_and_draws_are_made_once(function):
    """Also if they turn out not to be shared."""
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier(random_state=0)
    for repeats in (False, True):
        splits = [
            (np.repeat(train, 2) if repeats else train, test) for train, test in KFold(3).split(X)
        ]
        with refitted() if repeats else shared():
            found = ours(function)(tree, X, y, cv=iter(splits))
        expected = theirs(function)(tree, X, y, cv=splits)
        if function == "cross_validate":
            found, expected = found["test_score"], expected["test_score"]
        np.testing.assert_array_equal(found, expected)
    states = [np.random.RandomState(0), np.random.RandomState(0)]
    for of, state in zip((ours, theirs), states, strict=True):
        cv = StratifiedShuffleSplit(2, random_state=state) if function != "cross_val_predict" else 3
        of(function)(tree, X, y, cv=cv)
    assert states[0].randint(1 << 30) == states[1].randint(1 << 30)


@pytest.mark.parametrize("kind", ["int", "RandomState", "seed"])
@pytest.mark.parametrize("estimator_class", [DecisionTreeRegressor, ExtraTreesRegressor])
def test_random_states(estimator_class, kind):
    """All folds begin with the state as it is, which is not changed."""
    state = {"int": 7, "RandomState": np.random.RandomState(7), "seed": 2**40 + 1}[kind]
    params = {"n_estimators": 3} if estimator_class in SAMPLED else {}
    estimator = estimator_class(random_state=state, max_features=1, **params)
    X, y = task_of(estimator)
    expected = of_sklearn.cross_val_predict(estimator, X, y, cv=3)
    with shared():
        found = cross_val_predict(estimator, X, y, cv=3)
    assert_same_bits([found], [expected])
    if kind == "RandomState":
        assert state.randint(1 << 30) == np.random.RandomState(7).randint(1 << 30)
    estimator.set_params(random_state=None)
    first, second = (cross_val_predict(estimator, X, y, cv=3) for _ in range(2))
    assert (first != second).any()


def test_estimators_stay_as_they_are():
    """Fitted or not, and whatever becomes of the call."""
    X, y = load_iris(return_X_y=True)
    fitted = RandomForestClassifier(3, random_state=0).fit(X[:, :2], y)
    for forest in (fitted, clone(fitted)):
        before = dict(vars(forest))
        cross_val_score(forest, X, y, cv=3)
        assert vars(forest) == before
        with pytest.raises(ValueError):
            cross_val_score(forest, X, y[1:], cv=3)
        assert vars(forest) == before


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_threads_are_those_of_joblib_or_of_the_estimator(backend):
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(3, random_state=0)
    expected = cross_val_predict(forest, X, y, cv=3)

    def n_threads(**options):
        with counted() as calls:
            found = cross_val_predict(clone(forest).set_params(**own), X, y, cv=3, **options)
        assert found.tolist() == expected.tolist()
        return calls.call_args.args[1].n_threads

    own = {"n_jobs": None}
    assert n_threads() == 1
    assert n_threads(n_jobs=2) == 2
    with parallel_config(backend, n_jobs=2):
        assert n_threads() == 2
        assert n_threads(n_jobs=1) == 1
    own = {"n_jobs": 3}
    assert n_threads() == 3
    assert n_threads(n_jobs=2) == 2


@pytest.mark.parametrize("function", FUNCTIONS)
def test_progress(function, capsys):
    """Trees of all folds are counted."""
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(5, random_state=0)
    ours(function)(forest, X, y, cv=3, verbose=2)
    assert "building tree 15 of 15" in capsys.readouterr().err
    ours(function)(forest, X, y, cv=3)
    captured = capsys.readouterr()
    assert captured.err == captured.out == ""


class Counting(RandomForestClassifier):
    """Has a method of its own."""

    def count_leaves(self):
        return [tree.get_n_leaves() for tree in self.estimators_]


class Overriding(Counting):
    """Overrides what its base class inherits."""

    def fit(self, X, y, sample_weight=None, sample_ids=None):
        return super().fit(X, y, sample_weight, sample_ids)


def test_subclasses_that_override_nothing_share():
    """And not those that override something."""
    X, y = load_iris(return_X_y=True)
    expected = of_sklearn.cross_val_score(Counting(3, random_state=1), X, y, cv=3)
    for estimator_class, context in ((Counting, shared), (Overriding, refitted)):
        with context():
            found = cross_val_score(estimator_class(3, random_state=1), X, y, cv=3)
        assert found.tolist() == expected.tolist()


REASONS = {
    "LogisticRegression is no estimator of spinney": {
        "estimator": LogisticRegression(max_iter=999)
    },
    "Contrary .* overrides what one does": {"estimator": Contrary(2)},
    "`oob_score`": {"estimator": RandomForestClassifier(30, oob_score=True, random_state=0)},
    "`scoring` is a function of the user's own": {"scoring": score_of_fold},
    "`return_estimator`": {"return_estimator": True},
    "`return_train_score`": {"return_train_score": True},
    "training rows are repeated": {"cv": [([0, 50, 60, 0], [1, 2, 70])]},
    "a split has something else than numbers of rows": {"cv": [([0, 50, -5], [1, 2, 70])]},
}


@pytest.mark.parametrize("reason", REASONS)
def test_verbose_says_why_folds_are_refitted(reason, capfd):
    arguments = {"estimator": DecisionTreeClassifier(random_state=0), "cv": 3, **REASONS[reason]}
    message = f"spinney fits each fold on its own.*: .*{reason}"
    with refitted():
        cross_validate(X=X_IRIS, y=Y_IRIS, **arguments)
        assert "spinney" not in capfd.readouterr().err
        cross_validate(X=X_IRIS, y=Y_IRIS, verbose=1, **arguments)
    assert re.search(message, capfd.readouterr().err)


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


# --- Refits on rows that are encoded once -------------------------------------------------------


@contextmanager
def encoded():
    """Check that rows are encoded once, and that folds are fitted to what is encoded."""
    fits = [spinney._task.fit_tree, spinney._task.fit_forest]
    with (
        mock.patch.object(_encoded_columns, "Columns", side_effect=Columns) as rows,
        mock.patch.object(spinney._task, "fit_tree", side_effect=fits[0]) as trees,
        mock.patch.object(spinney._task, "fit_forest", side_effect=fits[1]) as forests,
    ):
        yield
    assert rows.call_count == 1
    assert all(type(call.args[0]) is Columns for call in trees.mock_calls + forests.mock_calls)


def assert_same_fit(found, expected, X):
    """Check that two fitted estimators are the same, attribute by attribute."""
    assert vars(found).keys() == vars(expected).keys()
    assert repr(found) == repr(expected)
    assert bits(found) == bits(expected)
    for name in ("max_features_", "_with_missing", "classes_", "n_classes_", "n_features_in_"):
        one, other = getattr(found, name, 0), getattr(expected, name, 0)
        pairs = [(one, other)] if not isinstance(one, list) else zip(one, other, strict=True)
        for a, b in pairs:
            np.testing.assert_array_equal(a, b)
    assert found.predict(X).tobytes() == expected.predict(X).tobytes()
    if hasattr(found, "estimators_samples_"):
        assert_same_bits(found.estimators_samples_, expected.estimators_samples_)
        assert found.tree_importances().tobytes() == expected.tree_importances().tobytes()


@few_rows
@examples(25)
@pytest.mark.parametrize("estimator_class", [*ESTIMATORS, *FORESTS])
@given(drawn=st.data())
def test_refits_on_encoded_rows_are_refits(estimator_class, drawn):
    """Whatever the parameters, the storage and the order of the rows."""
    params, problem = parameters(drawn.draw, estimator_class)
    X, y, weight = problem
    estimator = estimator_class(**params)
    splits = random_folds(drawn.draw, len(X))
    if drawn.draw(st.booleans()):
        splits = [(np.random.default_rng(0).permutation(train), test) for train, test in splits]
    if drawn.draw(st.booleans()):
        X = sp.csr_matrix(np.nan_to_num(X))
    options = {} if weight is None else {"params": {"sample_weight": weight}}
    options |= {"scoring": score_of_nothing, "return_estimator": True, "error_score": "raise"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = [
                clone(estimator).fit(
                    X[train],
                    y[train],
                    sample_weight=None if weight is None else weight[train],
                    **ids_of(estimator, train),
                )
                for train, _ in splits
            ]
        except ValueError:
            with pytest.raises(ValueError):
                cross_validate(estimator, X, y, cv=splits, **options)
            return
        with encoded():
            found = cross_validate(estimator, X, y, cv=splits, **options)["estimator"]
    for one, other in zip(found, expected, strict=True):
        assert_same_fit(one, other, X)


def score_of_nothing(fold, X, y):
    """Score a fitted fold without a look at it."""
    return 0.0


@pytest.mark.parametrize("estimator_class", [DecisionTreeClassifier, RandomForestClassifier])
def test_estimators_of_refits_are_like_any_other(estimator_class):
    """They can be pickled, cloned and fitted again, and know the names of the features."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    estimator = small(estimator_class)
    options = {"cv": 3, "scoring": score_of_fold, "return_train_score": True}
    with encoded():
        found = cross_validate(estimator, X, y, return_estimator=True, **options)
    expected = of_sklearn.cross_validate(
        estimator, X, y, params=ids_of(estimator, np.arange(150)), **options
    )
    assert found["test_score"].tolist() == expected["test_score"].tolist()
    assert found["train_score"].tolist() == expected["train_score"].tolist()
    for fold in found["estimator"]:
        again = pickle.loads(pickle.dumps(fold))
        assert again.predict(X).tolist() == fold.predict(X).tolist()
        assert fold.feature_names_in_.tolist() == list(X.columns)
        assert "fit" not in vars(fold)
        assert clone(fold).fit(X[:100], y[:100]).classes_.tolist() == [0, 1]


def test_what_cannot_be_encoded_once_is_refitted(capfd):
    """Several processes would get copies of the rows; and `verbose` says so."""
    X, y = load_iris(return_X_y=True)
    X = X.round()
    tree = DecisionTreeClassifier(random_state=0)
    cases = [
        (clone(tree).set_params(categorical_features=[0]), {}),
        (tree, {"n_jobs": 2}),
        (LazyForestClassifier(2, random_state=0), {}),
        (tree, {"cv": [([0, 60, 60, 120], [1, 61])]}),
    ]
    for estimator, options in cases:
        options = {"cv": 3, "scoring": score_of_fold, "verbose": 1, **options}
        n_encoded = 0 if "n_jobs" in options else 1
        encode = mock.patch.object(_encoded_columns, "Columns", side_effect=Columns)
        # Other processes could not import `score_of_fold`.
        with encode as encodings, parallel_config("threading"):
            found = cross_val_score(estimator, X, y, **options)
        assert encodings.call_count == n_encoded
        how = ", to rows that are encoded once" if n_encoded else ""
        message = f"spinney fits each fold on its own{how}: `scoring`"
        assert message in capfd.readouterr().err
        options |= {"verbose": 0, "n_jobs": 1}
        expected = of_sklearn.cross_val_score(estimator, X, y, **options)
        assert found.tolist() == expected.tolist()


# --- Bad input ----------------------------------------------------------------------------------


def outcome(call):
    """Return the type and the message of an error, the result, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call()
        except Exception as error:  # noqa: BLE001 - whatever scikit-learn raises
            result = (type(error), str(error))
    return result, [warning.category for warning in caught]


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
    split = spinney._splits.Split(rows, True, rows, 150)
    folds = spinney._crossval.predict_splits(
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


def test_it_is_imported_by_its_name():
    """Without anything else."""
    program = "import spinney.model_selection as m; print(sorted(m.__all__))"
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == str(sorted(FUNCTIONS, key=str))


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
@pytest.mark.parametrize("bootstrap", ["poisson", False])
@pytest.mark.parametrize(
    "cv",
    [KFold(5, shuffle=True, random_state=1), RepeatedKFold(n_splits=4, n_repeats=2), LeaveOneOut()],
    ids=["kfold", "repeated", "loo"],
)
def test_folds_that_descend_together_are_refits(criterion, bootstrap, cv):
    X, y = load_iris(return_X_y=True)
    X, y = X[::2], y[::2]
    splits = list(cv.split(X, y))
    for estimator in (
        RandomForestClassifier(3, criterion=criterion, bootstrap=bootstrap, random_state=5),
        LazyForestClassifier(2, criterion=criterion, bootstrap=bootstrap, max_features=None),
        DecisionTreeClassifier(criterion=criterion, max_depth=4, random_state=5),
    ):
        estimator.set_params(random_state=5)
        expected = refits(estimator, X, y, splits, "predict_proba")
        assert_same_bits(recorded(estimator, X, y, cv=splits, method="predict_proba"), expected)


# --- Memory -------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", FUNCTIONS)
def test_leave_one_out_keeps_no_lists_of_training_rows(function):
    """Lists of the rows of all folds took 12 bytes for each pair of rows: 12 MB."""
    n = 1000
    X = np.random.default_rng(0).integers(0, 9, (n, 3)).astype(float)
    y = (X.sum(axis=1) > 12).astype(int)
    tree = DecisionTreeClassifier(criterion="entropy", max_depth=2, random_state=0)
    tracemalloc.start()
    with shared():
        ours(function)(tree, X, y, cv=LeaveOneOut())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6e6


@pytest.mark.parametrize("verbose", [0, 2])
def test_weights_of_folds_exist_in_portions(verbose, capsys):
    """Of some folds at a time, of at least one; `verbose` counts the trees of all."""
    X, y = load_iris(return_X_y=True)
    forest = LazyForestClassifier(2, class_weight="balanced", random_state=0)
    options = {"cv": KFold(15, shuffle=True, random_state=0), "method": "predict_proba"}
    options["params"] = {"sample_weight": np.arange(150) % 3 + 1.0}
    expected = cross_val_predict(forest, X, y, **options)
    for n_weights, n_calls in ((1, 15), (300, 8), (1 << 20, 1)):
        at_once = mock.patch.object(spinney._crossval, "_WEIGHTS_AT_ONCE", n_weights)
        with at_once, counted() as calls:
            found = cross_val_predict(forest, X, y, verbose=verbose, **options)
        assert calls.call_count == n_calls
        assert_same_bits([found], [expected])
        assert ("building tree 30 of 30" in capsys.readouterr().err) == bool(verbose)
