"""Folds that share their work predict what refits to each fold predict."""

import tracemalloc
import warnings
from functools import partial
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn.model_selection as of_sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.metrics import make_scorer
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

import spinney._fit.task
import spinney.dataset
import spinney.model_selection._splits
from folds import (
    FUNCTIONS,
    SAMPLED,
    assert_same_bits,
    counted,
    every_function,
    ids_of,
    oldest,
    ours,
    outcome,
    parameters,
    random_folds,
    refitted,
    shared,
    small,
    task_of,
    theirs,
)
from forests import few_rows
from loops import predict_by_fits
from spinney import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    LazyForestClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from spinney.model_selection import cross_val_predict, cross_val_score, cross_validate
from strategies import ESTIMATORS, FORESTS, LAZY_FORESTS, examples, raw_sparse

ROWS = np.zeros((150, 1))

ALL = (*ESTIMATORS, *FORESTS, *LAZY_FORESTS)

every_estimator = pytest.mark.parametrize("estimator_class", ALL)


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


@few_rows
@examples(10)
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
@examples(12)
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


@pytest.mark.pairwise
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


@pytest.mark.valuewise
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
    frame, y = mixed_frame(30)
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


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
@pytest.mark.parametrize("bootstrap", ["poisson", False])
@pytest.mark.parametrize(
    "cv",
    [KFold(5, shuffle=True, random_state=1), RepeatedKFold(n_splits=4, n_repeats=2), LeaveOneOut()],
    ids=["kfold", "repeated", "loo"],
)
def test_folds_that_descend_together_are_refits(criterion, bootstrap, cv):
    X, y = load_iris(return_X_y=True)
    X, y = X[::4], y[::4]
    splits = list(cv.split(X, y))
    for estimator in (
        RandomForestClassifier(3, criterion=criterion, bootstrap=bootstrap, random_state=5),
        LazyForestClassifier(2, criterion=criterion, bootstrap=bootstrap, max_features=None),
        DecisionTreeClassifier(criterion=criterion, max_depth=4, random_state=5),
    ):
        estimator.set_params(random_state=5)
        expected = refits(estimator, X, y, splits, "predict_proba")
        assert_same_bits(recorded(estimator, X, y, cv=splits, method="predict_proba"), expected)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_leave_one_out_keeps_no_lists_of_training_rows(function):
    """Lists of the rows of all folds took 12 bytes for each pair of rows: 3 MB."""
    n = 500
    X = np.random.default_rng(0).integers(0, 9, (n, 3)).astype(float)
    y = (X.sum(axis=1) > 12).astype(int)
    tree = DecisionTreeClassifier(criterion="entropy", max_depth=2, random_state=0)
    tracemalloc.start()
    with shared():
        ours(function)(tree, X, y, cv=LeaveOneOut())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.2e6


@pytest.mark.parametrize("verbose", [0, 2])
def test_weights_of_folds_exist_in_portions(verbose, capsys):
    """Of some folds at a time, of at least one; `verbose` counts the trees of all."""
    X, y = load_iris(return_X_y=True)
    forest = LazyForestClassifier(2, class_weight="balanced", random_state=0)
    options = {"cv": KFold(15, shuffle=True, random_state=0), "method": "predict_proba"}
    options["params"] = {"sample_weight": np.arange(150) % 3 + 1.0}
    expected = cross_val_predict(forest, X, y, **options)
    for n_weights, n_calls in ((1, 15), (300, 8), (1 << 20, 1)):
        at_once = mock.patch.object(
            spinney.model_selection._shared_work, "_WEIGHTS_AT_ONCE", n_weights
        )
        with at_once, counted() as calls:
            found = cross_val_predict(forest, X, y, verbose=verbose, **options)
        assert calls.call_count == n_calls
        assert_same_bits([found], [expected])
        assert ("building tree 30 of 30" in capsys.readouterr().err) == bool(verbose)
