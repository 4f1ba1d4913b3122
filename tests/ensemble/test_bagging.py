"""Committees: their samples, their means, and the workers that fit them."""

import io
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.ensemble import BaggingClassifier as OfSklearn
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

import spinney
from spinney import (
    BaggingClassifier,
    BaggingRegressor,
    Dataset,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)

N = 200
BASES = [
    GradientBoostingClassifier(n_estimators=5, subsample=0.7),
    HistGradientBoostingClassifier(max_iter=5),
    GradientBoostingRegressor(n_estimators=5, max_features=2),
    HistGradientBoostingRegressor(max_iter=5),
    RandomForestRegressor(3),
]
every_base = pytest.mark.parametrize("base", BASES, ids=lambda base: type(base).__name__)


def make(base, **parameters):
    kind = BaggingClassifier if is_classifier(base) else BaggingRegressor
    return kind(base, **{"n_estimators": 4, "random_state": 0, **parameters})


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(N, 3)), columns=list("abc"))
    X["d"] = rng.integers(0, 30, N).astype(str)
    return X, X["a"].to_numpy() + X["d"].astype(int).to_numpy() / 10 + rng.normal(size=N)


def target_of(base, y):
    return np.digitize(y, [0.5, 2.0]).astype(str) if is_classifier(base) else y


def ask(model, X):
    return model.predict_proba(X) if is_classifier(model) else model.predict(X)


@pytest.mark.pairwise
@every_base
@pytest.mark.parametrize("sampling", [{}, {"bootstrap": False, "max_samples": 0.5}])
@pytest.mark.parametrize("weighted", [False, True])
def test_estimators_are_those_of_their_rows(base, sampling, weighted, table):
    """Each is what its class fits to the rows of the frame, with its random state."""
    X, y = table
    y = target_of(base, y)
    base = clone(base).set_params(categorical_features=["d"])
    weights = np.random.default_rng(1).integers(1, 3, N) if weighted else None
    model = make(base, **sampling).fit(X, y, weights)
    expected = []
    for own, rows in zip(model, model.estimators_samples_, strict=True):
        told = {} if weights is None else {"sample_weight": weights[rows]}
        alone = clone(own).fit(X.iloc[rows], y[rows], **told)
        expected.append(ask(alone, X))
        np.testing.assert_array_equal(ask(own, X), expected[-1])
        assert len(rows) == (N // 2 if sampling else N)
        assert (np.unique(rows).size == len(rows)) == bool(sampling)
    np.testing.assert_allclose(ask(model, X), np.mean(expected, axis=0))
    assert len({own.random_state for own in model}) == len(model) == 4
    assert model.feature_importances_.shape == (4,)
    of_data_set = make(base, **sampling).fit(Dataset(X, categorical_features=["d"]), y, weights)
    np.testing.assert_array_equal(ask(of_data_set, X), ask(model, X))


@every_base
@pytest.mark.parametrize("sampling", [{}, {"bootstrap": False, "max_samples": 0.5}])
def test_samples_without_weight_are_as_if_absent(base, sampling, table):
    """A committee is the one that is fitted without them, and each estimator has a weight."""
    X, y = table
    X, y = X[["a", "b", "c"]].to_numpy(), target_of(base, y)
    weights = (np.arange(N) % 10 == 0).astype(float)
    kept = np.flatnonzero(weights)
    model = make(base, **sampling).fit(X, y, weights)
    without = make(base, **sampling).fit(X[kept], y[kept], weights[kept])
    np.testing.assert_array_equal(ask(model, X), ask(without, X))
    for rows, expected in zip(model.estimators_samples_, without.estimators_samples_, strict=True):
        np.testing.assert_array_equal(rows, kept[expected])
    with pytest.raises(ValueError, match="only samples of weight 0 for estimator 1"):
        make(base, n_estimators=2).fit(X, y, weights, samples=[kept, kept + 1])


@every_base
def test_sparse_matrices_files_and_warm_starts(base, table):
    """All of them give the bits of one call of `fit`."""
    X, y = table
    numbers = X[["a", "b", "c"]].to_numpy()
    X, y = sp.csr_matrix(numbers * (np.abs(numbers) > 0.5)), target_of(base, y)
    model = make(base).fit(X, y)
    expected = ask(model, X)
    np.testing.assert_array_equal(ask(make(base).fit(X.toarray(), y), X), expected)
    file = io.BytesIO()
    model.save(file)
    for restored in (spinney.load(file.getvalue()), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(ask(restored, X), expected)
    warm = make(base, n_estimators=2, warm_start=True).fit(X, y)
    np.testing.assert_array_equal(ask(warm.set_params(n_estimators=4).fit(X, y), X), expected)
    with pytest.warns(UserWarning, match="fits no new estimators"):
        warm.fit(X, y)
    with pytest.raises(ValueError, match="must have their 3 features"):
        warm.set_params(n_estimators=5).fit(X[:, :2], y)
    with pytest.raises(ValueError, match="larger or equal"):
        warm.set_params(n_estimators=1).fit(X, y)


@every_base
def test_out_of_bag_predictions_are_of_estimators_that_have_not_seen_a_row(base, table):
    X, y = table
    X, y = X[["a", "b", "c"]], target_of(base, y)
    model = make(base, n_estimators=16, oob_score=True).fit(X, y)
    unseen = np.array([~np.isin(np.arange(N), rows) for rows in model.estimators_samples_])
    each = np.array([ask(own, X) for own in model])
    means = np.array([each[unseen[:, row], row].mean(axis=0) for row in range(N)])
    if is_classifier(base):
        np.testing.assert_allclose(model.oob_decision_function_, means)
        assert model.oob_score_ == np.mean(model.classes_[np.argmax(means, axis=1)] == y)
    else:
        np.testing.assert_allclose(model.oob_prediction_, means)
        assert model.oob_score_ == pytest.approx(r2_score(y, means))
    with pytest.warns(UserWarning, match="drawn for all estimators"):
        make(base, n_estimators=1, oob_score=True).fit(X, y)


def test_folds_and_seeds_are_committees(table):
    """Of given rows, and of all rows with other random states."""
    X, y = table
    X = X[["a", "b", "c"]].to_numpy()
    base = GradientBoostingRegressor(n_estimators=5, subsample=0.5)
    folds = [train for train, _ in KFold(4, shuffle=True, random_state=0).split(X)]
    model = make(base, oob_score=True).fit(X, y, samples=folds)
    for own, rows in zip(model.estimators_samples_, folds, strict=True):
        np.testing.assert_array_equal(own, np.sort(rows))
    assert np.isfinite(model.oob_prediction_).all()
    seeds = make(base, bootstrap=False).fit(X, y)
    assert all(np.array_equal(rows, np.arange(N)) for rows in seeds.estimators_samples_)
    assert np.unique([own.predict(X[:1]) for own in seeds]).size == 4
    with pytest.raises(ValueError, match="have not seen all"):
        make(base, bootstrap=False, oob_score=True).fit(X, y)
    with pytest.raises(ValueError, match="samples says which"):
        make(base, bootstrap=False).fit(X, y, samples=folds)


def test_several_quantiles_of_a_committee_do_not_cross(table):
    X, y = table
    base = GradientBoostingRegressor(loss="quantile", alpha=[0.1, 0.5, 0.9], n_estimators=10)
    predicted = make(base).fit(X[["a"]], y).predict(X[["a"]])
    assert predicted.shape == (N, 3)
    assert np.all(np.diff(predicted, axis=1) >= 0)
    with pytest.raises(ValueError, match="scores one number for each sample"):
        make(base, n_estimators=16, oob_score=True).fit(X[["a"]], y)


def test_rare_classes_and_categories(table):
    """Estimators lack some; the committee knows all, and refuses those that nobody knows."""
    X, _ = table
    y = np.where(np.arange(N) < 2, "rare", np.where(X["a"] > 0, "up", "down"))
    base = GradientBoostingClassifier(
        n_estimators=3, categorical_features=["d"], handle_unknown="error"
    )
    model = make(base, n_estimators=20).fit(X, y)
    assert min(len(own.classes_) for own in model) == 2
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    with pytest.raises(ValueError, match="pirate"):
        model.predict(X[:1].assign(d="pirate"))


@every_base
def test_workers_fit_the_same_committee(base, table):
    X, y = table
    y = target_of(base, y)
    base = clone(base).set_params(categorical_features=["d"])
    expected = make(base).fit(X, y)
    with ThreadPoolExecutor(2) as pool, spinney.grow_with(pool, max_workers=2):
        model = make(base).fit(X, y)
    np.testing.assert_array_equal(ask(model, X), ask(expected, X))


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"estimator": LogisticRegression()}, "estimator"),
        ({"estimator": GradientBoostingRegressor()}, "estimator"),
        ({"n_estimators": 0}, "n_estimators"),
        ({"max_samples": 0}, "max_samples"),
        ({"max_samples": 1.5}, "max_samples"),
        ({"max_samples": 2**63}, "max_samples"),
        ({"max_samples": N + 1, "bootstrap": False}, "max_samples"),
        ({"bootstrap": "yes"}, "bootstrap"),
        ({"oob_score": None}, "oob_score"),
        ({"warm_start": 1}, "warm_start"),
        ({"random_state": "now"}, "random_state"),
    ],
)
def test_illegal_parameters_are_named(parameters, name, table):
    X, y = table
    with pytest.raises(ValueError, match=f"'{name}' parameter of BaggingClassifier"):
        BaggingClassifier(**parameters).fit(X[["a"]], y > 0)


def test_parameters_are_those_of_scikit_learn():
    """But features are drawn by the estimators, which also have the threads."""
    theirs, own = set(OfSklearn().get_params()), set(BaggingClassifier().get_params())
    assert theirs - own == {"max_features", "bootstrap_features", "n_jobs", "verbose"}
    assert own <= theirs


def expected_to_fail(_model):
    """Return the checks that cannot hold, with the reason."""
    reason = "rows are drawn by their place"
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@parametrize_with_checks(
    [BaggingClassifier(n_estimators=3), BaggingRegressor(n_estimators=3)],
    expected_failed_checks=expected_to_fail,
)
def test_scikit_learn_check(estimator, check):
    """Run one check on one estimator."""
    check(estimator)


def test_a_share_of_samples_is_not_rounded_down():
    """0.29 * 100 is a little less than 29."""
    X, y = np.arange(100.0).reshape(-1, 1), np.arange(100.0)
    for bootstrap in (False, True):
        model = BaggingRegressor(max_samples=0.29, bootstrap=bootstrap, n_estimators=2).fit(X, y)
        assert [len(rows) for rows in model.estimators_samples_] == [29, 29]
