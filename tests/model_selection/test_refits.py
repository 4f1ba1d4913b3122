"""What cannot be shared is refitted by scikit-learn, to rows that are encoded once if possible."""

import pickle
import re
import warnings
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
import sklearn.model_selection as of_sklearn
from hypothesis import given
from hypothesis import strategies as st
from joblib import parallel_config
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import spinney._fit.task
import spinney.dataset
import spinney.model_selection._splits
from folds import (
    SAMPLED,
    X_IRIS,
    Y_IRIS,
    assert_same_bits,
    every_function,
    ids_of,
    oldest,
    ours,
    parameters,
    random_folds,
    refitted,
    shared,
    small,
    task_of,
    theirs,
)
from forests import few_rows
from oracle import bits
from spinney import (
    DecisionTreeClassifier,
    LazyForestClassifier,
    RandomForestClassifier,
)
from spinney._spinney import Columns
from spinney.dataset import _encoded_columns
from spinney.model_selection import cross_val_predict, cross_val_score, cross_validate
from strategies import ESTIMATORS, FORESTS, examples


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


@contextmanager
def encoded():
    """Check that rows are encoded once, and that folds are fitted to what is encoded."""
    fits = [spinney._fit.task.fit_tree, spinney._fit.task.fit_forest]
    with (
        mock.patch.object(_encoded_columns, "Columns", side_effect=Columns) as rows,
        mock.patch.object(spinney._fit.task, "fit_tree", side_effect=fits[0]) as trees,
        mock.patch.object(spinney._fit.task, "fit_forest", side_effect=fits[1]) as forests,
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
@examples(8)
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


def test_poisson_forests_inside_of_others_draw_by_place():
    """A warning says so and how to route the ids, with which folds draw as those of the forest."""
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(4, bootstrap="poisson", random_state=0)
    pipeline = make_pipeline(StandardScaler(), forest)
    with pytest.warns(UserWarning, match=r"in Pipeline draws samples by.*set_fit_request"):
        cross_val_score(pipeline, X, y, cv=3)
    expected = cross_val_predict(forest, StandardScaler().fit_transform(X), y, cv=3)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = clone(forest).set_fit_request(sample_ids=True)
        found = cross_val_predict(
            make_pipeline(StandardScaler(with_mean=False, with_std=False), asking),
            StandardScaler().fit_transform(X),
            y,
            cv=3,
            params={"sample_ids": np.arange(150)},
        )
    np.testing.assert_array_equal(found, expected)
