"""What every public estimator keeps: a table of all of them, which new ones join by themselves."""

import io
import pickle
from inspect import signature

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import get_tags

import spinney
from containers import BOOLS, DENSE, FORMS, LABEL_FORMS, LABELS, NUMBERS, SPARSE, content_of
from roster import (
    EVERY,
    METHODS,
    QUICK,
    N,
    ask,
    assert_equal,
    fit,
    kind_of_target,
    list_targets,
    make,
    make_X,
    make_y,
)
from spinney.feature_selection import Boruta

pytestmark = pytest.mark.filterwarnings(
    # Samples are few, and so are trees.
    "ignore:No features were selected:UserWarning",
    "ignore:Some inputs do not have OOB scores:UserWarning",
    "ignore:All trees have seen:UserWarning",
    "ignore:.* of the samples have a propensity:UserWarning",
    "ignore:A column-vector y was passed:sklearn.exceptions.DataConversionWarning",
    "ignore:divide by zero:RuntimeWarning",
    "ignore:X has feature names:UserWarning",
)
every_estimator = pytest.mark.parametrize("name", EVERY)


def start(name):
    """Return a class, samples and targets."""
    kind = EVERY[name]
    X = make_X()
    return kind, X, make_y(kind_of_target(kind), X)


def take(y, rows):
    """Return the targets of some rows."""
    if y is None:
        return None
    return tuple(part[rows] for part in y) if isinstance(y, tuple) else y[rows]


def takes_weights(kind):
    """Return whether `fit` of a class, or what it stands for, takes weights."""
    fit_method = getattr(kind, "fit_conformalize", kind.fit)
    return "sample_weight" in signature(fit_method).parameters


# Classes of one package read rows and targets by the same functions. So each of them, where there
# are so many, is given one form of three, by turns; `make test-all` gives all forms to each.
TURNS = 3


def by_turns(name, cases, all_cases):
    """Return the cases that a class is given."""
    package = name.rpartition(".")[0]
    members = [other for other in EVERY if other.rpartition(".")[0] == package]
    if all_cases or len(members) < TURNS:
        return cases
    return {case: cases[case] for case in list(cases)[members.index(name) % TURNS :: TURNS]}


def collect(cases, run):
    """Run cases by name, and fail with the names and errors of all that fail."""
    told = {name: find_error(run, case) for name, case in cases.items()}
    failed = [f"{name}: {error}" for name, error in told.items() if error]
    assert not failed, "\n".join(failed)


def find_error(run, case):
    """Return what is wrong with a case; None if nothing is."""
    try:
        run(case)
    except Exception as error:  # noqa: BLE001 - all are told
        return f"{type(error).__name__}: {error}"
    return None


@every_estimator
def test_every_estimator_answers(name):
    """A class without an answer for new samples needs an entry in `tests/helpers/roster.py`."""
    kind, X, y = start(name)
    answers = ask(fit(kind, X, y), X)
    assert set(answers) & set(METHODS)


@every_estimator
def test_every_container(name, all_cases):
    """Equal answers, and nobody writes to what was given."""
    kind, X, y = start(name)
    expected = ask(fit(kind, X, y), X, QUICK)
    takes_sparse = get_tags(kind()).input_tags.sparse

    def compare(make_container, X=X, answers=None):
        train, query = make_container(X), make_container(X)
        before = content_of(train), content_of(query)
        assert_equal(ask(fit(kind, train, y), query, QUICK), answers or expected)
        assert (content_of(train), content_of(query)) == before

    dense, sparse = (by_turns(name, forms, all_cases) for forms in (DENSE, SPARSE))
    collect(dense, compare)
    if kind is Boruta:
        # Shadows of sparse columns are drawn by their entries, which are few.
        matrix = sp.csr_array(X)
        expected = ask(fit(kind, matrix, y), matrix, QUICK)
        with pytest.raises(TypeError, match="Pass the matrix itself"):
            fit(kind, matrix, y).transform(spinney.Dataset(matrix))
        collect({n: c for n, c in sparse.items() if n != "Dataset, sparse"}, compare)
    elif takes_sparse:
        collect(sparse, compare)
    else:
        for make_container in sparse.values():
            with pytest.raises(TypeError, match="fills dense data"):
                fit(kind, make_container(X), y)
    bools = (X > 2).astype(float)
    of_bools = ask(fit(kind, bools, y), bools, QUICK)
    is_equal = takes_sparse and kind is not Boruta
    cases = {n: c for n, c in BOOLS.items() if is_equal or "csr" not in n}
    collect(cases, lambda case: compare(case, bools, of_bools))


@every_estimator
def test_every_form_of_y(name, all_cases):
    """Lists, arrays, columns, series, frames: the same model, and the same score."""
    kind, X, y = start(name)
    model = fit(kind, X, y)
    expected = ask(model, X, QUICK)
    is_scored = hasattr(model, "score") and y is not None
    score = model.score(X, *list_targets(kind, y)) if is_scored else None

    def compare(form):
        given = form(y)
        before = content_of(given)
        again = fit(kind, X, given)
        assert_equal(ask(again, X, QUICK), expected)
        if score is not None:
            assert again.score(X, *list_targets(kind, given)) == score
        assert content_of(given) == before

    collect(by_turns(name, FORMS[kind_of_target(kind)], all_cases), compare)


@pytest.mark.parametrize("name", [n for n, k in EVERY.items() if kind_of_target(k) == "classes"])
def test_every_kind_of_label(name, all_cases):
    """Labels of any type that can be sorted come back as they were given, in every form."""
    kind, X, codes = start(name)
    expected = ask(fit(kind, X, codes), X, QUICK)
    of_labels = ("predict", "classes_", "predict_set", "explore")

    def compare(labels):
        for form in LABEL_FORMS.values():
            model = fit(kind, X, form(labels[codes]))
            found = ask(model, X, QUICK)
            for method in of_labels:
                if method in expected:
                    labelled = np.empty(len(expected[method][0]), dtype=labels.dtype)
                    labelled[:] = labels[expected[method][0]]
                    assert found[method][0].tolist() == labelled.tolist(), method
                    found[method] = [expected[method][0], *found[method][1:]]
            assert_equal(found, expected)

    collect(by_turns(name, LABELS, all_cases), compare)


@every_estimator
def test_no_rows_in_none_out(name):
    """Arrays, frames and matrices without rows; `fit` refuses them in one clear sentence."""
    kind, X, y = start(name)
    model = fit(kind, X, y)
    # scikit-learn's own transformation of a selector refuses them.
    methods = METHODS if kind is not Boruta else ()
    cases = {name: DENSE[name] for name in ("read-only", "float32", "i4", "pandas", "polars")}
    if get_tags(model).input_tags.sparse:
        cases |= {name: SPARSE[name] for name in ("csr_array, i4", "csc_matrix, i8")}

    def compare(make_container):
        found = ask(model, make_container(X[:0]), methods)
        expected = ask(model, make_container(X), methods)
        for method in found.keys() & set(methods):
            # The places where the trees of a forest begin are the same.
            parts = zip(found[method], expected[method], strict=True)
            assert [one.shape for one, _ in parts if one.shape[:1] == (0,)]
            for one, other in zip(found[method], expected[method], strict=True):
                assert one.shape == ((0, *other.shape[1:]) if len(other) == N else other.shape)
                assert one.dtype == other.dtype

    collect(cases, compare)
    for make_container in cases.values():
        with pytest.raises(ValueError, match=r"0 sample\(s\)"):
            fit(kind, make_container(X[:0]), take(y, np.arange(0)))


# --- Weights ------------------------------------------------------------------------------------

WEIGHTED = [name for name, kind in EVERY.items() if takes_weights(kind)]


def weigh(model, X, y, weights):
    """Return a model that is fitted to samples with weights."""
    # `fit` of conformal models does not take them everywhere.
    fit_method = getattr(model, "fit_conformalize", model.fit)
    return fit_method(X, *list_targets(type(model), y), sample_weight=weights)


# A row of weight 2 is one residual or one draw: what these say of `sample_weight`.
NO_COPIES = {
    "AdaBoostRegressor": "rows are drawn by their places",
    "Boruta": "shadows are permuted by the places of rows",
    "BalancedRandomForestClassifier": "rows are drawn by their places",
    "CausalForest": "rows are drawn by their places",
    "ConformalizedQuantileRegressor": "rows are drawn by their places",
    "CrossConformalClassifier": "folds are of rows",
    "CrossConformalRegressor": "folds are of rows",
    "IsolationForest": "weights are chances of draws",
    "JackknifeAfterBootstrapClassifier": "rows are drawn by their places",
    "JackknifeAfterBootstrapRegressor": "rows are drawn by their places",
    "SplitConformalClassifier": "rows are parted by their places",
    "SplitConformalRegressor": "rows are parted by their places",
}
COPIED = [name for name in WEIGHTED if name.rpartition(".")[2] not in NO_COPIES]
# Nodes count rows and not weights.
OF_ROWS = {"bootstrap": False, "min_samples_leaf": 1, "min_samples_split": 2}


def test_estimators_whose_weights_are_no_copies_are_there():
    """So that none of them is left in the list by mistake."""
    assert set(NO_COPIES) <= {name.rpartition(".")[2] for name in WEIGHTED}


@pytest.mark.parametrize("name", COPIED)
def test_weights_are_copies(name):
    """A row of weight k is k rows of weight 1, and one of weight 0 is none: the same answers."""
    kind, X, y = start(name)
    k = np.arange(N) % 3
    copies = np.repeat(np.arange(N), k)
    model = make(kind, **OF_ROWS)
    weighted = clone(model).fit(X, y, sample_weight=k)
    copied = clone(model).fit(X[copies], take(y, copies))
    methods = [method for method in QUICK if method != "explore"]
    for method, parts in ask(copied, X, methods).items():
        for one, other in zip(ask(weighted, X, methods)[method], parts, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12, err_msg=method)


@pytest.mark.parametrize("name", WEIGHTED)
def test_rows_of_weight_zero_have_no_influence(name):
    """Whatever such rows hold, the model is the same bit for bit, with all that it has learned."""
    kind, X, y = start(name)
    is_used = np.arange(N) % 4 > 0
    other = X.copy()
    other[~is_used] = np.array([-1e6, 1e9, 0.5, -3.0])
    rest = np.roll(np.flatnonzero(is_used), 1)
    places = np.arange(N)
    places[~is_used] = rest[: N - is_used.sum()]
    target = take(y, places)
    if kind_of_target(kind) == "numbers":
        target[~is_used] = 1e6
    if kind_of_target(kind) in ("times", "effects"):
        target[1][~is_used] = 1e6
    models = [
        weigh(make(kind), rows, of_rows, is_used) for rows, of_rows in ((X, y), (other, target))
    ]
    assert_equal(*(ask(model, X, QUICK) for model in models))


@pytest.mark.parametrize("name", WEIGHTED)
def test_every_form_of_weights(name):
    """Lists, series, types; nobody writes to them."""
    kind, X, y = start(name)
    k = np.arange(N) % 3
    expected = ask(weigh(make(kind), X, y, k), X, QUICK)

    def compare(form):
        given = form(k)
        before = content_of(given)
        assert_equal(ask(weigh(make(kind), X, y, given), X, QUICK), expected)
        assert content_of(given) == before

    collect({name: NUMBERS[name] for name in ("list", "read-only", "Series", "float32")}, compare)


# --- Parameters, copies and files ---------------------------------------------------------------


@every_estimator
def test_parameters_are_those_that_were_given(name):
    """`get_params`, `set_params`, `clone`, and `fit`, which changes none of them."""
    kind, X, y = start(name)
    defaults = {key: p.default for key, p in signature(kind).parameters.items()}
    assert repr(kind().get_params(deep=False)) == repr(dict(sorted(defaults.items())))
    model = make(kind)
    before = model.get_params(deep=False)
    targets = list_targets(kind, y)
    model.fit(X, *targets)
    assert all(value is before[key] for key, value in model.get_params(deep=False).items())
    again = clone(model)
    assert not [key for key in vars(again) if key.endswith("_")]
    assert repr(again) == repr(model)
    assert repr(kind().set_params(**model.get_params(deep=False))) == repr(model)
    assert_equal(ask(again.fit(X, *targets), X, QUICK), ask(model, X, QUICK))
    with pytest.raises(ValueError, match="Invalid parameter 'trees'"):
        model.set_params(trees=3)


@every_estimator
def test_pickles_and_files_give_equal_answers(name, tmp_path):
    """And what was loaded can be saved again: the same bytes."""
    kind, X, y = start(name)
    model = fit(kind, X, y)
    targets = list_targets(kind, y)
    expected = ask(model, X)
    model.save(tmp_path / "model")
    for again in (pickle.loads(pickle.dumps(model)), spinney.load(tmp_path / "model")):
        assert type(again) is kind
        assert repr(again) == repr(model)
        assert_equal(ask(again, X), expected)
        again.save(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
        assert_equal(ask(again.fit(X, *targets), X), expected)


@every_estimator
def test_files_hold_categories_names_and_missing_values(name, tmp_path):
    """Of frames with a column of each kind."""
    kind, X, y = start(name)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["d"] = pd.Categorical.from_codes(X[:, 3].astype(int), list("stuvwxyz"))
    frame.loc[::5, "a"] = np.nan
    model = make(kind)
    forest = getattr(model, "estimator", None) if "estimator" in model.get_params() else model
    forest = clone(forest).set_params(categorical_features="from_dtype")
    if kind.__name__ == "Boruta":
        model.set_params(categorical_features="from_dtype")
    else:
        model = (
            forest
            if forest is not None and type(forest) is kind
            else model.set_params(estimator=forest)
        )
    model.fit(frame, *list_targets(kind, y))
    model.save(tmp_path / "model")
    loaded = spinney.load(tmp_path / "model")
    assert_equal(ask(loaded, frame, QUICK), ask(model, frame, QUICK))


# --- Warm starts --------------------------------------------------------------------------------

# What a user may set between two calls of `fit`, where the estimator has it.
CHANGES = [
    {},
    {"max_samples": 5},
    {"max_samples": 0.6},
    {"max_samples": 1},
    {"bootstrap": False, "max_samples": None},
    {"bootstrap": True},
    {"bootstrap": "poisson"},
    {"bootstrap": True, "replace": False, "max_samples": 9},
    {"replacement": False},
    {"sampling_strategy": "not minority"},
    {"class_sampling": {0: 2, 1: 2, 2: 2}, "bootstrap": True},
    {"class_weight": "balanced"},
    {"max_depth": 1},
    {"max_features": 1},
    {"min_samples_leaf": 4},
    {"criterion": "entropy"},
    {"criterion": "absolute_error"},
    {"criterion": "logrank_fast"},
    {"contamination": 0.3},
    {"oob_score": True, "bootstrap": True},
    {"honest": True},
    {"subforest_size": 2},
    {"random_state": 5},
    {"n_jobs": 2},
]
# Committees have no leaves; test_bagging.py has theirs.
WARM = [
    name
    for name, kind in EVERY.items()
    if "warm_start" in signature(kind).parameters and hasattr(kind, "apply")
]


def describe_draws(model):
    """Return the samples of each tree, where a forest knows them."""
    try:
        return [rows.tolist() for rows in model.estimators_samples_]
    except (AttributeError, ValueError):
        return []


def check_consistent(model, X, y):
    """Check that a forest is what its trees are, and that they know their samples."""
    for tree, rows in zip(model.estimators_, describe_draws(model), strict=False):
        assert tree.tree_.n_node_samples[0] == len(set(rows))
    if hasattr(model, "quantile_ranks"):
        mean = np.mean([tree.predict(X) for tree in model.estimators_], axis=0)
        np.testing.assert_allclose(model.predict(X, "mean"), mean, rtol=1e-9, atol=1e-12)
        lowest, highest = model.predict(X, [0.0, 1.0]).T
        assert ((lowest >= y.min()) & (highest <= y.max())).all()
        assert ((lowest <= mean + 1e-9) & (mean <= highest + 1e-9)).all()
    if kind_of_target(type(model)) == "times":
        curves = model.predict_cumulative_hazard_function(
            X, return_array=True, times=model.event_times_
        )
        if hasattr(model, "baseline_cumulative_hazard_"):
            hazards = np.outer(np.exp(model.predict(X)), model.baseline_cumulative_hazard_)
            np.testing.assert_allclose(curves, hazards, rtol=1e-9)
        else:
            np.testing.assert_allclose(curves.sum(axis=1), model.predict(X), rtol=1e-9)
    if getattr(model, "oob_score", False):
        check_out_of_bag(model, X)


def check_out_of_bag(model, X):
    """Check predictions out of bag by their definition."""
    method = "predict_proba" if hasattr(model, "predict_proba") else "predict"
    of_trees = np.array([getattr(tree, method)(X) for tree in model.estimators_])
    is_unseen = np.ones((len(model), len(X)), dtype=bool)
    for unseen, rows in zip(is_unseen, model.estimators_samples_, strict=True):
        unseen[rows] = False
    name = "oob_decision_function_" if method == "predict_proba" else "oob_prediction_"
    for row, found in enumerate(getattr(model, name)):
        known = of_trees[is_unseen[:, row], row]
        if len(known):
            np.testing.assert_allclose(found, known.mean(axis=0), atol=1e-12)
        else:
            assert np.isnan(found).all()


@pytest.mark.filterwarnings(
    "ignore:Using the fractional value:UserWarning",
    'ignore:class_weight presets "balanced":UserWarning',
    "ignore:Warm-start fitting without increasing:UserWarning",
)
@pytest.mark.parametrize("name", WARM)
def test_parameters_that_are_set_between_two_fits_of_a_warm_start(name):
    """Trees stay, and keep the samples that they had; or `fit` refuses, and nothing changes."""
    kind, X, y = start(name)
    own = {name for name, value in kind().get_params().items() if value != "deprecated"}
    n_trees = "n_estimators" if "n_estimators" in own else "max_iter"
    cases = {str(change): change for change in CHANGES if set(change) <= own}

    def compare(change):
        model = make(kind, warm_start=True).fit(X, y)
        leaves, draws, before = model.apply(X), describe_draws(model), ask(model, X, QUICK)
        n_before = len(model)
        model.set_params(**{n_trees: 7}, **change)
        try:
            model.fit(X, y)
        except ValueError:
            assert_equal(ask(model, X, QUICK), before)
            return
        assert len(model) == 7
        np.testing.assert_array_equal(model.apply(X)[:, :n_before], leaves)
        assert describe_draws(model)[:n_before] == draws
        check_consistent(model, X, y)
        answers = ask(model, X, QUICK)
        buffer = io.BytesIO()
        model.save(buffer)
        for again in (pickle.loads(pickle.dumps(model)), spinney.load(buffer.getvalue())):
            assert_equal(ask(again, X, QUICK), answers)
            assert describe_draws(again) == describe_draws(model)

    collect(cases, compare)
