"""Whatever was done to an estimator, it is what a fresh fit with its parameters makes of its data.

Hypothesis chooses what is done: fits, more trees, other parameters, copies, pickles, files, fits
that fail and fits that are interrupted. After each step the predictions are those of a plain twin,
which has met nothing of it.
"""

import copy
import io
import pickle
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError

import spinney
from oracle import frozen
from spinney import (
    LazyForestClassifier,
    LazyForestRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from strategies import ESTIMATORS, FORESTS, LAZY_FORESTS

LAZY_OF_FOREST = {
    RandomForestClassifier: LazyForestClassifier,
    RandomForestRegressor: LazyForestRegressor,
}

# Two matrices of different widths, and a frame of numbers and categories; all have missing values.
DATA = ("narrow", "wide", "frame")
# What holds the same numbers.
FORMS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "csr": sp.csr_array,
    "csc": sp.csc_array,
    "dataset": spinney.Dataset,
}
FRAME_FORMS = {
    "frame": lambda X: X,
    "dataset": lambda X: spinney.Dataset(X, categorical_features="from_dtype"),
}


def forms_of(data):
    """Return the functions by name that store a matrix or a frame in another form."""
    return FRAME_FORMS if data == "frame" else FORMS


@cache
def rows(data):
    """Return the matrix, or the frame, of a data set."""
    rng = np.random.default_rng(DATA.index(data))
    X = rng.integers(-4, 5, (30, 3 if data == "narrow" else 5)).astype(np.float64)
    X[rng.random(X.shape) < 0.1] = np.nan
    if data != "frame":
        return X
    names = np.array(["ash", "beech", "elm", "oak"])
    return pd.DataFrame(
        {
            "size": X[:, 0],
            "wood": pd.Categorical(names[rng.integers(0, 4, len(X))]),
            "age": X[:, 2],
            "kind": pd.Categorical(
                np.where(rng.random(len(X)) < 0.9, names[rng.integers(0, 4, len(X))], None),
                categories=["oak", "yew", "elm", "beech", "ash"],
            ),
        }
    )


@cache
def targets(data, task):
    """Return labels that are words, or numbers."""
    rng = np.random.default_rng(10 + DATA.index(data))
    X = rows(data)
    first = X["size"].to_numpy() if data == "frame" else X[:, 0]
    signal = np.nan_to_num(first) + rng.integers(0, 4, len(first))
    return np.where(signal > 2, "tall", "low").astype(object) if task == "classes" else signal / 4


@cache
def stored(data, form):
    """Return a data set in a form."""
    return forms_of(data)[form](rows(data))


class Fit(NamedTuple):
    """A fit that ended well: the data set, the parameters by name with their types, the weights.

    As a feature and all features are 1 and 1.0, which are equal, types tell them apart.
    """

    data: str
    typed_params: tuple
    is_weighted: bool

    @property
    def params(self):
        """The parameters by name."""
        return {name: value for name, value, _ in self.typed_params}


def weights(fit_is_weighted):
    """Return weights of the rows, some of them 0, or None."""
    return np.arange(30) % 3 if fit_is_weighted else None


def seen_by_trees(fit):
    """Return the parameters, with their types, on which trees depend."""
    others = ("n_estimators", "n_jobs", "warm_start", "verbose")
    return [param for param in fit.typed_params if param[0] not in others]


@cache
def twin_of(kind, fits):
    """Return a fresh estimator that was fitted so, in one step if the trees are alike."""
    task = task_of(kind)
    if all(seen_by_trees(fit) == seen_by_trees(fits[-1]) for fit in fits):
        fits = fits[-1:]
    twin = kind()
    for fit in fits:
        twin.set_params(**fit.params, n_jobs=1)
        X = rows(fit.data)
        twin.fit(X, targets(fit.data, task), sample_weight=weights(fit.is_weighted))
    return twin


def task_of(kind):
    """Return what an estimator predicts."""
    return "classes" if is_classifier(kind()) else "numbers"


class Interrupting(io.StringIO):
    """Where reports of progress are written to by someone who then presses Ctrl-C."""

    def write(self, text):
        raise KeyboardInterrupt(text)


class Uncooperative:
    """A matrix that is no matrix when it is asked for."""

    shape = (30, 3)

    def __array__(self, *args, **kwargs):
        raise KeyboardInterrupt


def pickled(model):
    """Return what comes out of a pickle."""
    return pickle.loads(pickle.dumps(model))


PARAMS = {
    "max_depth": (None, 1, 3),
    "min_samples_leaf": (1, 2, 0.1),
    "max_features": (None, 1, "sqrt"),
    "max_leaf_nodes": (None, 4),
    "min_impurity_decrease": (0.0, 0.05),
    "ccp_alpha": (0.0, 0.02),
    "random_state": (0, 1),
    "n_jobs": (1, 2),
}
FOREST_PARAMS = {"bootstrap": (True, False, "poisson"), "n_estimators": (2, 5)}
ILLEGAL = {
    "max_depth": 0,
    "min_samples_leaf": 0.0,
    "max_features": "most",
    "random_state": "dice",
    "n_jobs": "all",
}


class Estimators(RuleBasedStateMachine):
    """An estimator, and the fits that made what it holds."""

    kinds = ()

    @initialize(data=st.data())
    def begin(self, data):
        """Choose the estimator."""
        self.kind = data.draw(st.sampled_from(self.kinds), label="kind")
        params = {"random_state": 0, "categorical_features": "from_dtype"}
        if "n_estimators" in self.kind().get_params():
            params["n_estimators"] = 2
        self.model = self.kind(**params)
        self.fits = ()

    # --- What ends well -------------------------------------------------------------------------

    def is_forest(self):
        """Whether trees can be added."""
        return self.kind in FORESTS

    def fit_as(self, data, form, is_weighted):
        """Fit, which must end well."""
        X, y = stored(data, form), targets(data, task_of(self.kind))
        assert self.model.fit(X, y, sample_weight=weights(is_weighted)) is self.model
        params = self.model.get_params()
        params.pop("n_jobs")
        typed = tuple((name, value, type(value)) for name, value in params.items())
        fit = Fit(data, typed, is_weighted)
        self.fits = (*self.fits, fit) if self.adds_trees() else (fit,)

    def adds_trees(self):
        """Whether a fit adds trees to those that are there."""
        return self.is_forest() and self.model.warm_start and bool(self.fits)

    @rule(draw=st.data(), data=st.sampled_from(DATA), is_weighted=st.booleans())
    def fit(self, draw, data, is_weighted):
        """Fit anew."""
        if self.is_forest():
            self.model.set_params(warm_start=False)
        self.fit_as(data, draw.draw(st.sampled_from(sorted(forms_of(data)))), is_weighted)

    @precondition(lambda self: self.fits and self.is_forest())
    @rule(draw=st.data(), n_more=st.integers(1, 3))
    def grow_more(self, draw, n_more):
        """Add trees, of the same rows in any form."""
        self.model.set_params(warm_start=True, n_estimators=len(self.model.forest_) + n_more)
        last = self.fits[-1]
        form = draw.draw(st.sampled_from(sorted(forms_of(last.data))))
        self.fit_as(last.data, form, last.is_weighted)

    @rule(draw=st.data())
    def set_params(self, draw):
        """Change a parameter, which changes nothing that was fitted."""
        own = self.model.get_params()
        table = {name: PARAMS[name] for name in PARAMS if name in own}
        table |= {name: FOREST_PARAMS[name] for name in FOREST_PARAMS if name in own}
        name = draw.draw(st.sampled_from(sorted(table)))
        self.model.set_params(**{name: draw.draw(st.sampled_from(table[name]))})

    @rule()
    def clone(self):
        """A clone has the parameters, and nothing else."""
        params = self.model.get_params()
        self.model = clone(self.model)
        assert self.model.get_params() == params
        assert not any(name.endswith("_") for name in vars(self.model))
        self.fits = ()

    @rule(copied=st.sampled_from((copy.copy, copy.deepcopy, pickled)))
    def copy(self, copied):
        """A copy is as good."""
        params = self.model.get_params()
        self.model = copied(self.model)
        assert self.model.get_params() == params

    @precondition(lambda self: self.fits and self.kind not in LAZY_FORESTS)
    @rule()
    def save_and_load(self):
        """A file holds all that is needed."""
        params = self.model.get_params()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.spinney"
            self.model.save(path)
            loaded = spinney.load(path)
        assert type(loaded) is self.kind
        assert loaded.get_params() == params
        self.model = loaded

    # --- What does not --------------------------------------------------------------------------

    def assert_fails(self, error, call, *args, **kwargs):
        """Check that a call fails and leaves the estimator as it was."""
        before = frozen(self.model)
        with pytest.raises(error):
            call(*args, **kwargs)
        assert frozen(self.model) == before

    @rule(draw=st.data(), data=st.sampled_from(DATA))
    def fit_what_is_illegal(self, draw, data):
        """Targets of another length, illegal weights, no rows, illegal parameters."""
        X, y = rows(data), targets(data, task_of(self.kind))
        if self.is_forest():
            # With no tree to be added there would be a warning, and nothing to fail.
            self.model.set_params(warm_start=False)
        fault = draw.draw(st.sampled_from(("length", "weight", "no rows", *sorted(ILLEGAL))))
        if fault == "length":
            self.assert_fails(ValueError, self.model.fit, X, y[:-1])
        elif fault == "weight":
            self.assert_fails(ValueError, self.model.fit, X, y, sample_weight=np.full(30, -1.0))
        elif fault == "no rows":
            self.assert_fails(ValueError, self.model.fit, X[:0], y[:0])
        else:
            before = self.model.get_params()[fault]
            self.model.set_params(**{fault: ILLEGAL[fault]})
            self.assert_fails((ValueError, TypeError), self.model.fit, X, y)
            self.model.set_params(**{fault: before})

    @precondition(lambda self: self.fits and self.is_forest())
    @rule(data=st.sampled_from(DATA[:2]))
    def grow_more_of_other_data(self, data):
        """Trees of other columns are not added."""
        if rows(data).shape[1] == rows(self.fits[-1].data).shape[1]:
            return
        before = {name: self.model.get_params()[name] for name in ("warm_start", "n_estimators")}
        n_more = len(self.model.forest_) + 1
        self.model.set_params(warm_start=True, n_estimators=n_more)
        self.assert_fails(ValueError, self.model.fit, rows(data), targets(data, task_of(self.kind)))
        self.model.set_params(**before)

    @precondition(lambda self: self.fits)
    @rule()
    def predict_what_is_illegal(self):
        """Rows of other columns are refused."""
        X = rows(self.fits[-1].data)
        fewer = X.iloc[:, 1:] if self.fits[-1].data == "frame" else X[:, 1:]
        self.assert_fails(ValueError, self.model.predict, fewer)

    @rule(data=st.sampled_from(DATA), n_jobs=st.sampled_from((1, 2)))
    def interrupt_a_fit(self, data, n_jobs):
        """Ctrl-C while trees grow, or while the matrix is read."""
        y = targets(data, task_of(self.kind))
        before = self.model.get_params()
        self.assert_fails(KeyboardInterrupt, self.model.fit, Uncooperative(), y)
        if self.is_forest():
            self.model.set_params(n_jobs=n_jobs, warm_start=False, verbose=2)
            with mock.patch.object(sys, "stderr", Interrupting()):
                self.assert_fails(KeyboardInterrupt, self.model.fit, rows(data), y)
            names = ("n_jobs", "warm_start", "verbose")
            self.model.set_params(**{name: before[name] for name in names})

    # --- What must hold -------------------------------------------------------------------------

    def twin(self):
        """Return the plain twin."""
        twin = twin_of(self.kind, self.fits)
        if self.kind in LAZY_FORESTS:
            # No tree is grown before the prediction: the parameter counts as it is now.
            twin.set_params(n_estimators=self.model.n_estimators)
        return twin

    @invariant()
    def nothing_is_predicted_before_a_fit(self):
        """Without a fit there is nothing to ask."""
        if not self.fits:
            with pytest.raises(NotFittedError):
                self.model.predict(rows("narrow"))

    @precondition(lambda self: self.fits)
    @invariant()
    def predictions_are_those_of_the_twin(self):
        """Bit for bit."""
        X = rows(self.fits[-1].data)
        np.testing.assert_array_equal(self.model.predict(X), self.twin().predict(X))

    @precondition(lambda self: self.fits)
    @rule(draw=st.data(), n_jobs=st.sampled_from((1, 2)))
    def ask(self, draw, n_jobs):
        """Every way of prediction, of rows in any form."""
        data, twin = self.fits[-1].data, self.twin()
        X = rows(data)
        form = stored(data, draw.draw(st.sampled_from(sorted(forms_of(data)))))
        before = self.model.n_jobs
        self.model.set_params(n_jobs=n_jobs)
        for name in ("predict", "predict_proba", "predict_log_proba", "apply"):
            if hasattr(self.model, name):
                found, expected = getattr(self.model, name)(form), getattr(twin, name)(X)
                np.testing.assert_array_equal(found, expected, err_msg=name)
        if hasattr(self.model, "feature_importances_"):
            importances = self.model.feature_importances_
            np.testing.assert_array_equal(importances, twin.feature_importances_)
        self.model.set_params(n_jobs=before)

    @precondition(lambda self: len(self.fits) == 1 and self.kind in LAZY_OF_FOREST)
    @rule(n_jobs=st.sampled_from((1, 2)))
    def ask_the_lazy_twin(self, n_jobs):
        """A lazy forest predicts the same without the trees."""
        fit = self.fits[-1]
        lazy = LAZY_OF_FOREST[self.kind](n_jobs=n_jobs)
        own = lazy.get_params()
        lazy.set_params(**{name: value for name, value in fit.params.items() if name in own})
        X, y = rows(fit.data), targets(fit.data, task_of(self.kind))
        lazy.fit(X, y, sample_weight=weights(fit.is_weighted))
        np.testing.assert_array_equal(lazy.predict(X), self.model.predict(X))


# Steps of a run, and runs: `make test-all` has twenty times as many runs.
N_STEPS = 20
N_RUNS = {"trees": 15, "forests": 20, "lazy forests": 8}


# Columns are found by their types in arrays, too, which have none.
@pytest.mark.filterwarnings('ignore:categorical_features="from_dtype" finds no')
@pytest.mark.parametrize(
    ("name", "kinds"),
    [("trees", ESTIMATORS), ("forests", FORESTS), ("lazy forests", LAZY_FORESTS)],
)
def test_an_estimator_is_what_a_fresh_fit_makes(name, kinds):
    """No way to a fit leaves a trace in it."""
    machine = type(f"Estimators of {name}", (Estimators,), {"kinds": kinds})
    times = settings().max_examples / settings.get_profile("spinney").max_examples
    runs = settings(max_examples=round(N_RUNS[name] * times), stateful_step_count=N_STEPS)
    run_state_machine_as_test(machine, settings=runs)
