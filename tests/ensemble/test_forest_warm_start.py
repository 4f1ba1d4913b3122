"""Forests that grow in several calls, and what they say of rows that a tree has not seen."""

from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.metrics import (
    balanced_accuracy_score,
    explained_variance_score,
    f1_score,
    get_scorer,
    log_loss,
    r2_score,
    roc_auc_score,
)

import spinney
from forests import every_classifier, every_forest, every_regressor, task_of
from oracle import bits
from spinney import Dataset, RandomForestClassifier, load


@pytest.fixture(scope="module")
def iris():
    """Return the iris measurements and species."""
    return load_iris(return_X_y=True)


# --- Warm start ---------------------------------------------------------------------------------


@every_forest
@pytest.mark.parametrize("bootstrap", [True, False, "poisson"])
def test_warm_start_is_growing_at_once(forest_class, bootstrap):
    """Three steps or one: the same forest, and it shares the trees it had."""
    X, y = task_of(forest_class)
    at_once = forest_class(9, bootstrap=bootstrap, random_state=42).fit(X, y)
    forest = forest_class(2, bootstrap=bootstrap, random_state=42, warm_start=True)
    for n in (2, 5, 9):
        forest.set_params(n_estimators=n).fit(X, y)
        assert len(forest) == len(forest.estimators_) == n
    assert bits(forest) == bits(at_once)
    assert [t.random_state for t in forest] == [t.random_state for t in at_once]
    np.testing.assert_array_equal(forest.predict(X), at_once.predict(X))


@every_forest
def test_warm_start_off_starts_anew(forest_class):
    """Without `warm_start` nothing is left of an earlier fit."""
    X, y = task_of(forest_class)
    forest = forest_class(3, warm_start=True, random_state=2).fit(X, y)
    forest.set_params(warm_start=False, random_state=1).fit(X, y)
    assert bits(forest) == bits(forest_class(3, random_state=1).fit(X, y))


@every_forest
def test_warm_start_with_fewer_trees(forest_class):
    """Trees are not thrown away."""
    X, y = task_of(forest_class)
    forest = forest_class(5, warm_start=True, random_state=0).fit(X, y)
    before = bits(forest)
    with pytest.raises(
        ValueError, match=r"n_estimators=4 must be larger or equal to len\(estimators_\)=5"
    ):
        forest.set_params(n_estimators=4).fit(X, y)
    assert bits(forest) == before


@every_forest
def test_warm_start_with_as_many_trees(forest_class):
    """A warning, and the forest as it was, whatever the data."""
    X, y = task_of(forest_class)
    forest = forest_class(4, warm_start=True, random_state=0).fit(X, y)
    before, outputs = bits(forest), forest.n_outputs_
    with pytest.warns(UserWarning, match="does not fit new trees"):
        forest.set_params(random_state=7).fit(X[:50, :2], np.column_stack([y, y])[:50])
    assert bits(forest) == before
    assert forest.n_outputs_ == outputs
    assert forest.predict(X).ndim == 1


@every_forest
def test_warm_start_on_other_data(forest_class):
    """Other rows are fine; other features, outputs or classes are refused."""
    X, y = task_of(forest_class)
    forest = forest_class(3, warm_start=True, random_state=0).fit(X, y)
    forest.set_params(n_estimators=5).fit(X[::2], y[::2])
    assert len(forest) == 5
    before = bits(forest)
    forest.set_params(n_estimators=7)
    for other, message in [
        ((X[:, 1:], y), "feature"),
        ((X, np.column_stack([y, y])), "output"),
    ]:
        with pytest.raises(ValueError, match=f"warm_start=True .*{message}"):
            forest.fit(*other)
    if is_classifier(forest):
        with pytest.raises(ValueError, match="must have their classes"):
            forest.fit(X, y + 1)
    assert bits(forest) == before
    assert forest.n_features_in_ == X.shape[1]


FRAMES = {
    "frame": pd.DataFrame,
    "polars": pl.from_pandas,
    "sparse columns": lambda X: X.astype(pd.SparseDtype(float, 0.0)),
    "Dataset": spinney.Dataset,
}


@every_forest
@pytest.mark.parametrize("kind", FRAMES)
def test_warm_start_on_other_names(forest_class, kind):
    """Columns of other names, or in another order, are refused in scikit-learn's words."""
    X, y = task_of(forest_class)
    X = pd.DataFrame(X).add_prefix("x")
    store, names = FRAMES[kind], list(X.columns)
    forest = forest_class(3, warm_start=True, random_state=0).fit(store(X), y)
    forest.set_params(n_estimators=5)
    before, attributes = bits(forest), set(vars(forest))
    for other, message in (
        (X[names[::-1]], "must be in the same order as they were in fit"),
        (X.rename(columns={"x1": "z"}), "unseen at fit time:\n- z\n.*now missing:\n- x1"),
        (X.drop(columns="x0"), "now missing:\n- x0"),
    ):
        with pytest.raises(ValueError, match=f"(?s)names should match those that.*{message}"):
            forest.fit(store(other), y)
        assert bits(forest) == before
        assert set(vars(forest)) == attributes
        assert list(forest.feature_names_in_) == names
    at_once = forest_class(5, random_state=0).fit(X, y)
    assert bits(forest.fit(store(X), y)) == bits(at_once)


@every_forest
@pytest.mark.parametrize("store", [np.asarray, lambda X: spinney.Dataset(X.to_numpy())])
def test_warm_start_with_and_without_names(forest_class, store):
    """A warning, as for predictions; the names are those of the first call."""
    X, y = task_of(forest_class)
    X = pd.DataFrame(X).add_prefix("x")
    forest = forest_class(3, warm_start=True, random_state=0).fit(X, y).set_params(n_estimators=5)
    with pytest.warns(UserWarning, match="X does not have valid feature names, but .* was fitted"):
        forest.fit(store(X), y)
    assert list(forest.feature_names_in_) == list(X.columns)
    assert len(forest) == 5
    forest = forest_class(3, warm_start=True, random_state=0).fit(store(X), y)
    forest.set_params(n_estimators=5)
    with pytest.warns(UserWarning, match="X has feature names, but .* was fitted without"):
        forest.fit(X, y)
    assert not hasattr(forest, "feature_names_in_")
    assert len(forest) == 5


def test_warm_start_with_a_generator(iris):
    """A generator goes on: new trees are new."""
    X, y = iris
    forest = RandomForestClassifier(3, warm_start=True, random_state=np.random.RandomState(0))
    forest.fit(X, y).set_params(n_estimators=6).fit(X, y)
    assert len({tree.random_state for tree in forest}) == 6


# --- Out of bag ---------------------------------------------------------------------------------


def out_of_bag_by_hand(forest, X):
    """Return the mean over the trees that have not seen a row, and their number."""
    values = 0
    seen = np.zeros((len(X), 1))
    for tree, rows in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        unseen = np.ones(len(X), dtype=bool)
        unseen[rows] = False
        proba = tree.predict_proba(X) if is_classifier(tree) else tree.predict(X)
        values = values + np.where(unseen[:, None], np.asarray(proba).reshape(len(X), -1), 0)
        seen += unseen[:, None]
    return values / np.maximum(seen, 1), seen[:, 0]


SAMPLINGS = [
    {},
    {"max_samples": 0.3},
    {"bootstrap": "poisson"},
    {"replace": False, "max_samples": 0.5},
]


@pytest.mark.pairwise
@every_forest
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_out_of_bag_by_hand(forest_class, sampling, weighted):
    """Attributes and score are what the samples of the trees say."""
    X, y = task_of(forest_class)
    weight = np.arange(len(y)) % 3 + 1.0 if weighted else None
    params = {"bootstrap": True, "oob_score": True, "random_state": 0, "n_jobs": 2, **sampling}
    # More trees than are looked at together.
    forest = forest_class(70, max_depth=3, **params).fit(X, y, sample_weight=weight)
    values, seen = out_of_bag_by_hand(forest, X)
    assert seen.min() > 0
    if is_classifier(forest):
        np.testing.assert_array_equal(forest.oob_decision_function_, values)
        assert forest.oob_score_ == np.mean(forest.classes_[values.argmax(axis=1)] == y)
        assert not hasattr(forest, "oob_prediction_")
    else:
        np.testing.assert_array_equal(forest.oob_prediction_, values[:, 0])
        residual = ((y - values[:, 0]) ** 2).sum() / ((y - y.mean()) ** 2).sum()
        np.testing.assert_allclose(forest.oob_score_, 1 - residual)
        assert not hasattr(forest, "oob_decision_function_")


@every_classifier
def test_out_of_bag_multilabel(forest_class, iris):
    """Outputs are last, as in scikit-learn; the score is that of whole rows."""
    X, y = iris
    labels = np.column_stack([y == 0, y == 1]).astype(int)
    forest = forest_class(40, bootstrap=True, oob_score=True, random_state=0).fit(X, labels)
    assert forest.oob_decision_function_.shape == (150, 2, 2)
    predicted = forest.oob_decision_function_.argmax(axis=1)
    assert forest.oob_score_ == (predicted == labels).all(axis=1).mean()
    assert forest.oob_score_ > 0.9


@every_regressor
def test_out_of_bag_several_outputs(forest_class):
    """A column per output; whole numbers are numbers."""
    X, y = task_of(forest_class)
    both = np.column_stack([y, -2 * y]).astype(int)
    forest = forest_class(40, bootstrap=True, oob_score=True, random_state=0).fit(X, both)
    assert forest.oob_prediction_.shape == both.shape
    np.testing.assert_allclose(forest.oob_prediction_[:, 1], -2 * forest.oob_prediction_[:, 0])


@every_forest
def test_out_of_bag_by_a_function(forest_class):
    """`oob_score` may be a function of what is true and what is predicted."""
    X, y = task_of(forest_class)
    is_class = is_classifier(forest_class())
    score = partial(f1_score, average="micro") if is_class else explained_variance_score
    params = {"n_estimators": 40, "bootstrap": True, "random_state": 0}
    forest = forest_class(oob_score=score, **params).fit(X, y)
    if is_class:
        expected = score(y, forest.oob_decision_function_.argmax(axis=1))
    else:
        expected = score(y, forest.oob_prediction_)
    assert forest.oob_score_ == expected


@every_classifier
def test_out_of_bag_of_multiclass_multioutput(forest_class, iris):
    """scikit-learn has no score for it and says so."""
    X, _ = iris
    y = np.random.default_rng(0).integers(0, 5, (150, 2))
    forest = forest_class(oob_score=True, bootstrap=True)
    with pytest.raises(ValueError, match=r"OOB estimates. Got multiclass-multioutput"):
        forest.fit(X, y)
    assert not hasattr(forest, "forest_")


@every_forest
def test_out_of_bag_needs_a_bootstrap(forest_class):
    """All rows are seen by all trees otherwise."""
    with pytest.raises(ValueError, match="only available if bootstrap=True"):
        forest_class(bootstrap=False, oob_score=True).fit(*task_of(forest_class))


@pytest.mark.pairwise
@every_forest
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("n_trees", [1, 3])
def test_samples_that_all_trees_have_seen_are_not_scored(forest_class, n_trees, sampling, weighted):
    """They have NaN, and the warning counts them; a function of the user gets the others alone."""
    X, y = task_of(forest_class)
    weight = np.arange(len(y)) % 3 + 1.0 if weighted else None
    # Scores by class 0 would not differ if the samples of class 0 were seen alone.
    y = y + 1 if is_classifier(forest_class()) else y
    params = {"bootstrap": True, "random_state": 0, **sampling}
    forest = forest_class(n_trees, oob_score=True, **params)
    with pytest.warns(UserWarning, match="Some inputs do not have OOB scores") as warned:
        forest.fit(X, y, sample_weight=weight)
    values, n_unseen = out_of_bag_by_hand(forest, X)
    known = n_unseen > 0
    assert 0 < known.sum() < len(y)
    counted = f" all trees were grown on {(~known).sum()} of {len(y)} samples."
    assert counted in str(warned[0].message)
    if is_classifier(forest):
        found = forest.oob_decision_function_
        labels = forest.classes_[values[known].argmax(axis=1)]
        assert forest.oob_score_ == np.mean(labels == y[known])
        of_known = (np.searchsorted(forest.classes_, y)[known], values[known].argmax(axis=1))
    else:
        found = forest.oob_prediction_[:, None]
        assert forest.oob_score_ == r2_score(y[known], values[known, 0])
        of_known = (y[known], values[known, 0])
    assert np.isnan(found[~known]).all()
    np.testing.assert_array_equal(found[known], values[known])

    def score(true, predicted):
        np.testing.assert_array_equal(true.ravel(), of_known[0])
        np.testing.assert_array_equal(predicted.ravel(), of_known[1])
        return "scored"

    with pytest.warns(UserWarning, match="Some inputs do not have OOB scores"):
        forest.set_params(oob_score=score).fit(X, y, sample_weight=weight)
    assert forest.oob_score_ == "scored"


@every_forest
def test_seen_samples_of_several_outputs_are_not_scored(forest_class):
    """A sample is seen or not for all outputs; whole rows count."""
    X, y = task_of(forest_class)
    is_class = is_classifier(forest_class())
    both = np.column_stack([y == 0, y == 1]).astype(int) if is_class else np.column_stack([y, -y])
    forest = forest_class(2, bootstrap=True, oob_score=True, random_state=0)
    with pytest.warns(UserWarning, match="Some inputs do not have OOB scores"):
        forest.fit(X, both)
    known = np.ones(len(y), dtype=bool)
    known[np.intersect1d(*forest.estimators_samples_)] = False
    found = forest.oob_decision_function_ if is_class else forest.oob_prediction_
    assert np.isnan(found[~known]).all()
    assert np.isfinite(found[known]).all()
    if is_class:
        assert forest.oob_score_ == (found.argmax(axis=1) == both)[known].all(axis=1).mean()
    else:
        assert forest.oob_score_ == r2_score(both[known], found[known])


@every_forest
def test_without_unseen_samples_the_score_is_nan(forest_class, tmp_path):
    """A function of the user is not asked then. Files keep the NaN."""
    X, y = task_of(forest_class)
    forest = forest_class(2, bootstrap=True, max_samples=100 * len(y), random_state=0)
    for score in (True, lambda *_: 1 / 0):
        with pytest.warns(UserWarning, match=f"were grown on {len(y)} of {len(y)} samples"):
            forest.set_params(oob_score=score).fit(X, y)
        assert np.isnan(forest.oob_score_)
        name = "oob_decision_function_" if is_classifier(forest) else "oob_prediction_"
        assert np.isnan(getattr(forest, name)).all()
    forest.set_params(oob_score=True).save(tmp_path / "forest")
    loaded = load(tmp_path / "forest")
    assert np.isnan(loaded.oob_score_)
    np.testing.assert_array_equal(getattr(loaded, name), getattr(forest, name))


@every_forest
@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_matrix, pd.DataFrame, Dataset])
def test_unseen_samples_are_the_same_in_every_storage(forest_class, form):
    """NaN and scores do not depend on how X is stored."""
    X, y = task_of(forest_class)
    forest = forest_class(2, bootstrap=True, oob_score=True, random_state=0)
    with pytest.warns(UserWarning, match="Some inputs do not have OOB scores"):
        dense = clone(forest).fit(X, y)
    with pytest.warns(UserWarning, match="Some inputs do not have OOB scores"):
        stored = forest.fit(form(X), y)
    name = "oob_decision_function_" if is_classifier(forest) else "oob_prediction_"
    np.testing.assert_array_equal(getattr(stored, name), getattr(dense, name))
    assert stored.oob_score_ == dense.oob_score_


@every_forest
def test_out_of_bag_and_warm_start(forest_class):
    """It is computed when asked for, over all trees, and not twice."""
    X, y = task_of(forest_class)
    params = {"bootstrap": True, "random_state": 1, "max_depth": 3}
    at_once = forest_class(30, oob_score=True, **params).fit(X, y)
    forest = forest_class(10, warm_start=True, **params).fit(X, y)
    assert not hasattr(forest, "oob_score_")
    forest.set_params(n_estimators=30, oob_score=True).fit(X, y)
    assert forest.oob_score_ == at_once.oob_score_
    calls = []

    def score(*given):
        calls.append(given)
        return 0.5

    late = forest_class(30, warm_start=True, **params).fit(X, y)
    late.set_params(oob_score=True)
    with pytest.warns(UserWarning, match="does not fit new trees"):
        late.fit(X, y)
    assert late.oob_score_ == at_once.oob_score_
    late.set_params(oob_score=score)
    with pytest.warns(UserWarning, match="does not fit new trees"):
        late.fit(X, y)
    assert calls == []
    late.set_params(n_estimators=31).fit(X, y)
    assert len(calls) == 1
    # What belongs to a forest that is no more does not stay.
    late.set_params(oob_score=False, n_estimators=32).fit(X, y)
    assert not hasattr(late, "oob_score_")


NAMES = {
    "classification": ["roc_auc_ovr", "neg_log_loss", "balanced_accuracy", "f1_macro"],
    "regression": ["neg_mean_absolute_error", "explained_variance", "r2"],
}


@every_forest
def test_out_of_bag_by_names_and_scorers(forest_class):
    """They get what they ask for: probabilities, or labels as they were given."""
    X, y = task_of(forest_class)
    task = "classification" if is_classifier(forest_class()) else "regression"
    y = np.array(["a", "b", "c"])[y] if task == "classification" else y
    params = {"n_estimators": 40, "bootstrap": True, "random_state": 0}
    plain = forest_class(oob_score=True, **params).fit(X, y)
    for name in NAMES[task]:
        forest = forest_class(oob_score=name, **params).fit(X, y)
        expected = score_by_hand(name, plain, y)
        assert forest.oob_score_ == pytest.approx(expected, rel=1e-12)
        scorer = forest_class(oob_score=get_scorer(name), **params).fit(X, y)
        assert scorer.oob_score_ == forest.oob_score_
    for wrong in ("rock_auc", 1.5, None):
        with pytest.raises(ValueError, match=r"'oob_score' parameter .* name among"):
            clone(plain).set_params(oob_score=wrong).fit(X, y)


def score_by_hand(name, forest, y):
    """Return a score of the attributes of a forest."""
    if not is_classifier(forest):
        functions = {"r2": r2_score, "explained_variance": explained_variance_score}
        if name in functions:
            return functions[name](y, forest.oob_prediction_)
        return -np.abs(y - forest.oob_prediction_).mean()
    shares = forest.oob_decision_function_
    labels = forest.classes_[shares.argmax(axis=1)]
    return {
        "roc_auc_ovr": lambda: roc_auc_score(y, shares, multi_class="ovr"),
        "neg_log_loss": lambda: -log_loss(y, shares),
        "balanced_accuracy": lambda: balanced_accuracy_score(y, labels),
        "f1_macro": lambda: f1_score(y, labels, average="macro"),
    }[name]()


@every_classifier
def test_probabilities_are_scored_of_samples_that_have_them(forest_class):
    """A name scores probabilities where a function scores classes; unseen samples alone."""
    X, y = load_iris(return_X_y=True)
    y = np.where(y == 1, "yes", "no")
    params = {"n_estimators": 3, "bootstrap": True, "random_state": 0, "max_depth": 2}
    with pytest.warns(UserWarning, match="Some inputs do not have OOB scores"):
        forest = forest_class(oob_score="roc_auc", **params).fit(X, y)
    shares = forest.oob_decision_function_
    known = ~np.isnan(shares[:, 0])
    assert forest.oob_score_ == roc_auc_score(y[known] == "yes", shares[known, 1])
    with pytest.warns(UserWarning, match="Some inputs do not have OOB scores"):
        hard = forest_class(oob_score=roc_auc_score, **params).fit(X, y)
    codes = shares[known].argmax(axis=1)
    assert hard.oob_score_ == roc_auc_score(y[known] == "yes", codes)
    assert hard.oob_score_ != forest.oob_score_
