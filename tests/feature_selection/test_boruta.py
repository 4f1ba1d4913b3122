"""Boruta: which features are more important than shadows of themselves."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import binom
from sklearn.base import clone
from sklearn.datasets import make_regression
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from spinney import (
    Dataset,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    plot_importance,
)
from spinney.feature_selection import Boruta
from spinney.feature_selection._shadows import number_values, with_shadows
from spinney.survival import RandomSurvivalForest

INFORMATIVE = 4


def make_data(n_samples=300, n_features=14, seed=0):
    """Return samples of which the first features matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features))
    noise = rng.normal(scale=0.3, size=n_samples)
    return X, (X[:, :INFORMATIVE].sum(axis=1) + noise > 0).astype(int)


EXPECTED = [True] * INFORMATIVE + [False] * 10


def test_features_that_matter_are_found():
    X, y = make_data()
    names = np.array(["no", "yes"])[y]
    selector = Boruta(max_iter=40, random_state=0).fit(X, names)
    assert selector.support_.tolist() == EXPECTED
    assert selector.n_features_ == INFORMATIVE
    assert selector.ranking_[:INFORMATIVE].tolist() == [1] * INFORMATIVE
    assert selector.ranking_[INFORMATIVE:].min() >= 2
    np.testing.assert_array_equal(selector.get_support(indices=True), range(INFORMATIVE))
    np.testing.assert_array_equal(selector.transform(X), X[:, :INFORMATIVE])
    assert selector.importance_history_.shape == (selector.n_iter_, 14)
    assert selector.shadow_history_.shape == (selector.n_iter_,)


def test_numbers_weights_and_frames():
    X, y = make_regression(300, 10, n_informative=3, shuffle=False, random_state=0)
    frame = pd.DataFrame(X, columns=[f"f{n}" for n in range(10)])
    selector = Boruta(max_iter=30, random_state=0).fit(frame, y, sample_weight=np.ones(300))
    assert selector.support_.tolist() == [True] * 3 + [False] * 7
    assert selector.get_feature_names_out().tolist() == ["f0", "f1", "f2"]
    framed = selector.set_output(transform="pandas").transform(frame)
    pd.testing.assert_frame_equal(framed, frame[["f0", "f1", "f2"]])


def test_nullable_columns_beside_categories():
    rng = np.random.default_rng(0)
    number, word = rng.normal(size=80), np.array(["no", "yes"])
    y = number > 0
    frame = pd.DataFrame(
        {
            "number": number,
            "noise": pd.array(rng.integers(0, 5, 80), dtype="Int64"),
            "count": pd.array(np.where(y, 3, 1 + rng.integers(0, 2, 80)), dtype="Int64"),
            "word": pd.Categorical(word[y.astype(int)]),
        }
    )
    frame.loc[3, "count"] = pd.NA
    selector = Boruta(max_iter=15, n_estimators=20, categorical_features="from_dtype")
    selector.set_params(random_state=0).fit(frame, y)
    assert selector.support_.tolist() == [True, False, True, True]
    expected = frame[["number", "count", "word"]].astype(object).to_numpy()
    expected[3, 1] = np.nan
    found = selector.transform(frame)
    pd.testing.assert_frame_equal(pd.DataFrame(found), pd.DataFrame(expected))
    selector.set_params(categorical_features=None).fit(frame.drop(columns="word"), y)
    found = selector.transform(frame.drop(columns="word"))
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, expected[:, :2].astype(float))
    with pytest.raises(ValueError, match="word"):
        selector.transform(frame)


@pytest.mark.parametrize("two_step", [False, True])
@pytest.mark.parametrize("perc", [90, 100])
def test_decisions_are_those_of_the_tests(two_step, perc):
    """The decisions follow from the history, by the rules of boruta_py."""
    X, y = make_data(120, 14, seed=3)
    alpha = 0.05
    selector = Boruta(
        RandomForestClassifier(max_depth=3),
        n_estimators=15,
        perc=perc,
        two_step=two_step,
        alpha=alpha,
        max_iter=25,
        random_state=0,
    ).fit(X, y)
    state, hits = np.zeros(14, dtype=int), np.zeros(14, dtype=int)
    for n, (row, limit) in enumerate(
        zip(selector.importance_history_, selector.shadow_history_, strict=True), 1
    ):
        active = np.flatnonzero(state >= 0)
        np.testing.assert_array_equal(np.flatnonzero(~np.isnan(row)), active)
        hits[active] += row[active] > limit
        for p, outcome in (
            (binom.sf(hits[active] - 1, n, 0.5), 1),
            (binom.cdf(hits[active], n, 0.5), -1),
        ):
            if two_step:
                # Benjamini and Hochberg: the largest rank whose p-value is small enough.
                order = np.argsort(p)
                below = np.flatnonzero(p[order] <= alpha * np.arange(1, len(p) + 1) / len(p))
                found = np.zeros(len(p), dtype=bool)
                found[order[: below.max(initial=-1) + 1]] = True
                found &= p <= alpha / n
            else:
                found = p <= alpha / 14
            state[active[found & (state[active] == 0)]] = outcome
    assert (state == 1).tolist() == selector.support_.tolist()
    rejected = state == -1
    assert (selector.ranking_[rejected] > 1).all()


def test_importances_are_those_of_the_forests():
    X, y = make_data(150, 6)
    selector = Boruta(n_estimators=10, max_iter=1, random_state=5).fit(X, y)
    # The same forest on the features and on any shadows has the same bits only by chance, but the
    # importances of one forest sum to 1.
    history = selector.importance_history_[0]
    assert 0 < history.sum() < 1
    assert selector.shadow_history_[0] < 1 - history.sum()


@pytest.mark.parametrize("importance_type", ["impurity", "corrected", "permutation"])
@pytest.mark.parametrize("kind", ["array", "csr", "missing"])
def test_importances_and_storages(importance_type, kind):
    X, y = make_data()
    if kind == "csr":
        X = np.where(np.abs(X) < 0.7, 0.0, X)
    if kind == "missing":
        X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    params = {"importance_type": importance_type, "max_iter": 40, "random_state": 1}
    selector = Boruta(**params).fit(sp.csr_matrix(X) if kind == "csr" else X, y)
    assert selector.support_.tolist() == EXPECTED
    again = Boruta(n_jobs=2, **params).fit(sp.csc_array(X) if kind == "csr" else X, y)
    np.testing.assert_array_equal(again.importance_history_, selector.importance_history_)


def test_categories():
    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b", "c"], 400)
    frame = pd.DataFrame(
        {
            "kind": pd.Categorical(kind),
            "noise": pd.Categorical(rng.choice(list("uvwxyz"), 400)),
            "number": rng.normal(size=400),
        }
    )
    y = (kind == "b") ^ (rng.random(400) < 0.1)
    selector = Boruta(max_iter=40, categorical_features="from_dtype", random_state=0)
    assert selector.fit(frame, y).support_.tolist() == [True, False, False]


@pytest.mark.parametrize("named", [["kind"], [1], [False, True], "from_dtype"], ids=str)
@pytest.mark.parametrize("estimator", [RandomForestClassifier, ExtraTreesClassifier])
def test_categories_of_the_estimator(estimator, named):
    """They are taken where Boruta itself names none."""
    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b", "c"], 60)
    frame = pd.DataFrame({"number": rng.normal(size=60), "kind": pd.Categorical(kind)})
    params = {"n_estimators": 5, "max_iter": 3, "random_state": 0}
    y = kind == "b"
    selector = Boruta(estimator(categorical_features=named), **params).fit(frame, y)
    assert selector.is_categorical_.tolist() == [False, True]
    expected = Boruta(estimator(), categorical_features=named, **params).fit(frame, y)
    np.testing.assert_array_equal(selector.importance_history_, expected.importance_history_)
    # What Boruta names comes before.
    one = Boruta(estimator(categorical_features=[0]), categorical_features=["kind"], **params)
    assert one.fit(frame, y).is_categorical_.tolist() == [False, True]


@pytest.mark.parametrize("params", [{"warm_start": True}, {"oob_score": True}], ids=str)
def test_parameters_that_are_not_used(params):
    """Each fit grows a forest of its own."""
    X, y = make_data(60, 6)
    of_boruta = {"n_estimators": 3, "max_iter": 4, "random_state": 0}
    expected = Boruta(RandomForestClassifier(), **of_boruta).fit(X, y).importance_history_
    selector = Boruta(RandomForestClassifier(bootstrap=True, **params), **of_boruta).fit(X, y)
    np.testing.assert_array_equal(selector.importance_history_, expected)
    assert (np.ptp(expected[:, 0]) > 0).all()


def test_monotonic_constraints_are_those_of_features():
    X, y = make_data(200, 6)
    params = {"n_estimators": 20, "max_iter": 3, "random_state": 0}
    # All features that matter help upwards.
    forest = RandomForestClassifier(monotonic_cst=[-1, 1, 1, 1, 0, 0])
    selector = Boruta(forest, **params).fit(X, y)
    history = selector.importance_history_
    assert (history[:, 0] < history[:, 1:4].min(axis=1)).all()
    with pytest.raises(ValueError, match="monotonic_cst has shape 2"):
        Boruta(RandomForestClassifier(monotonic_cst=[1, 0]), **params).fit(X, y)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("alpha", [0.05, 0.5])
def test_ranks_say_what_features_are(seed, alpha):
    """1 is confirmed, 2 is weak and nothing else, and the rest follow without a gap."""
    X = np.random.default_rng(seed).normal(size=(100, 5))
    selector = Boruta(n_estimators=10, max_iter=12, alpha=alpha, random_state=seed)
    selector.fit(X, X[:, 0] > 0)
    ranks = selector.ranking_
    np.testing.assert_array_equal(ranks == 1, selector.support_)
    np.testing.assert_array_equal(ranks == 2, selector.support_weak_)
    rest = set(ranks[ranks > 2])
    assert rest == set(range(3, 3 + len(rest)))


@pytest.mark.parametrize(
    "estimator", [None, RandomForestClassifier(), RandomForestRegressor()], ids=str
)
@pytest.mark.parametrize(
    "y",
    [
        [0.0, np.nan, 1.0] * 10,
        [0.5, np.inf, 1.0] * 10,
        np.array([0.25, np.nan, 1.0] * 10),
        pd.Series([0.5, None, 1.0] * 10),
        pd.Series([0.5, None, 1.0] * 10, dtype="Float64"),
        pd.Series([0, None, 1] * 10, dtype="Int64"),
        pd.Series([0, None, 1] * 10, dtype=object),
    ],
    ids=repr,
)
def test_targets_that_are_missing_are_called_y(estimator, y):
    with pytest.raises(ValueError, match="Input y contains"):
        Boruta(estimator, max_iter=2).fit(np.zeros((30, 2)), y)


def test_estimators_of_ones_own_stay_as_they_are():
    X, y = make_data()
    forest = ExtraTreesClassifier(7, max_depth=4, random_state=3)
    before = forest.get_params()
    selector = Boruta(forest, max_iter=30, random_state=0).fit(X, y)
    assert selector.support_.tolist() == EXPECTED
    assert forest.get_params() == before
    assert not hasattr(forest, "forest_")
    assert clone(selector).get_params()["estimator"].get_params() == before


def test_early_stopping():
    X, y = make_data()
    params = {"max_iter": 60, "n_estimators": 5, "perc": 80, "random_state": 0}
    stopped = Boruta(early_stopping=True, n_iter_no_change=2, **params).fit(X, y)
    full = Boruta(**params).fit(X, y)
    assert stopped.n_iter_ < full.n_iter_
    n = stopped.n_iter_
    np.testing.assert_array_equal(stopped.shadow_history_, full.shadow_history_[:n])


def test_in_a_pipeline():
    X, y = make_data()
    model = make_pipeline(Boruta(max_iter=20, random_state=0), LogisticRegression()).fit(X, y)
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("container", [np.asarray, sp.csc_matrix])
def test_shadows_have_the_values_of_their_features(container):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((60, 3)) < 0.5, 0.0, rng.normal(size=(60, 3)))
    matrix, features = with_shadows(container(X), 5, rng)
    dense = matrix.toarray() if sp.issparse(matrix) else matrix
    assert features.tolist() == [0, 1, 2, 0, 1, 2]
    np.testing.assert_array_equal(dense[:, :3], X)
    for shadow, feature in zip(dense.T[3:], features, strict=True):
        np.testing.assert_array_equal(np.sort(shadow), np.sort(X[:, feature]))
        assert (shadow != X[:, feature]).any()
    assert (dense[:, 3] != dense[:, 6]).any()


def test_numbers_of_values_grow_the_same_trees():
    X, y = make_data()
    X[::9, 2] = np.nan
    X[:, 3] = np.round(X[:, 3])
    numbers = number_values(X)
    assert numbers.dtype == np.float32
    importances = []
    for data in (X, numbers):
        forest = RandomForestRegressor(5, random_state=0).fit(data, y)
        importances.append(forest.feature_importances_)
    np.testing.assert_array_equal(*importances)


def test_events_and_times_as_a_pair():
    X = np.random.default_rng(0).normal(size=(60, 3))
    events, times = X[:, 1] > -1, np.exp(X[:, 0])
    frame = pd.DataFrame({"event": events, "time": times})
    found, expected = (
        Boruta(RandomSurvivalForest(5), max_iter=4, random_state=0).fit(X, y)
        for y in ((events, times), frame)
    )
    np.testing.assert_array_equal(found.importance_history_, expected.importance_history_)


def test_a_picture():
    pytest.importorskip("matplotlib").use("Agg")
    X, y = make_data()
    selector = Boruta(max_iter=10, random_state=0).fit(X, y)
    ax = plot_importance(selector, n_features=6)
    assert len(ax.get_yticklabels()) == 6
    assert "best shadow" in ax.get_xlabel()


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"estimator": LogisticRegression()}, "'estimator' .* a forest of spinney"),
        ({"n_estimators": 0}, "'n_estimators' .* or 'auto'"),
        ({"perc": 0}, r"'perc' .* in the range \(0, 100\]"),
        ({"perc": 101}, "'perc'"),
        ({"alpha": 0.0}, r"'alpha' .* in the range \(0, 1\]"),
        ({"max_iter": 0}, "'max_iter'"),
        ({"n_iter_no_change": 0}, "'n_iter_no_change'"),
        ({"two_step": 1}, "'two_step' .* a bool"),
        ({"early_stopping": "no"}, "'early_stopping' .* a bool"),
        ({"importance_type": "gain"}, "'importance_type' .* a str among"),
        ({"verbose": -1}, "'verbose'"),
        ({"n_jobs": 0}, "'n_jobs'"),
        ({"random_state": "a"}, "'random_state'"),
        (
            {"estimator": ExtraTreesClassifier(), "importance_type": "permutation"},
            "must have bootstrap=True",
        ),
    ],
)
def test_illegal_parameters(params, words):
    X, y = make_data(50)
    selector = Boruta(**params)
    before = dict(vars(selector))
    with pytest.raises(ValueError, match=words):
        selector.fit(X, y)
    assert vars(selector) == before


def test_progress_and_data_sets(capfd):
    X, y = make_data(100)
    params = {"max_iter": 5, "random_state": 0}
    selector = Boruta(verbose=2, **params).fit(Dataset(X), y)
    assert "growing forest 5 of 5" in capfd.readouterr().err
    expected = Boruta(**params).fit(X, y).importance_history_
    np.testing.assert_array_equal(selector.importance_history_, expected)
