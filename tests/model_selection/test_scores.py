"""Scores, options and times are those of scikit-learn's functions."""

import subprocess
import sys
import time
from inspect import signature
from unittest import mock

import numpy as np
import pytest
import sklearn.model_selection as of_sklearn
from joblib import parallel_config
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import (
    StratifiedKFold,
)

import spinney._fit.task
import spinney.dataset
import spinney.model_selection._splits
from contract import expected_parameters, parameters_of
from folds import FUNCTIONS, counted, every_function, oldest, ours, refitted, shared, theirs
from spinney import (
    DecisionTreeClassifier,
    RandomForestClassifier,
)
from spinney.model_selection import cross_val_predict, cross_val_score, cross_validate


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
    work = spinney._fit.task.predict_folds
    seconds = []

    def slow(*args, **arguments):
        start = time.perf_counter()
        values = work(*args, **arguments)
        time.sleep(1.0)
        seconds.append(time.perf_counter() - start)
        return values

    with mock.patch.object(spinney._fit.task, "predict_folds", side_effect=slow):
        found = cross_validate(RandomForestClassifier(20, random_state=0), X, y, cv=5)
    assert found["fit_time"].min() >= seconds[0] / 5
    # A fold of a busy machine takes some more, but none has it all.
    assert found["fit_time"].max() < seconds[0] / 5 + 0.5


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


def test_it_is_imported_by_its_name():
    """Without anything else."""
    program = "import spinney.model_selection as m; print(sorted(m.__all__))"
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == str(sorted(FUNCTIONS, key=str))


@pytest.mark.parametrize("function", [cross_val_score, cross_validate])
def test_an_illegal_error_score_is_scikit_learns_to_refuse(function):
    with pytest.raises(ValueError, match="error_score"):
        function(spinney.DecisionTreeClassifier(), np.eye(6), [0, 1] * 3, cv=2, error_score="no")
