"""Boosting of times, compared with loops over samples and with the rest of boosting."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import spinney
from spinney.survival import GradientBoostingSurvival, concordance_index
from spinney.tree import DecisionTreeRegressor


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, size=(160, 4)).astype(float)
    times = np.ceil(5 * rng.exponential(np.exp(0.2 * X[:, 0] - 0.1 * X[:, 1])))
    ends = np.ceil(rng.exponential(30, size=160))
    return X, (times <= ends, np.minimum(times, ends))


def gradient(events, times, raw, weights):
    """Return the negative gradient of the loss by each sample, per weight."""
    pulls = np.empty(len(raw))
    for row in range(len(raw)):
        exposure = 0.0
        for other in np.flatnonzero(events & (times <= times[row])):
            exposure += weights[other] / np.sum((weights * np.exp(raw))[times >= times[other]])
        pulls[row] = events[row] - np.exp(raw[row]) * exposure
    return pulls


@pytest.mark.parametrize("weighted", [False, True])
def test_trees_follow_the_gradient_of_the_partial_likelihood(data, weighted):
    X, (events, times) = data
    weights = 1.0 + np.arange(160) % 3 if weighted else np.ones(160)
    model = GradientBoostingSurvival(n_estimators=6, max_depth=2, learning_rate=0.5, random_state=0)
    model.fit(X, (events, times), sample_weight=weights if weighted else None)
    raw = np.zeros(160)
    for number in range(6):
        pulls = gradient(events, times, raw, weights)
        # A split that ties with another may be any of them, so that values are compared.
        tree = model.estimators_[number, 0].tree_
        leaves = model.apply(X)[:, number]
        for leaf in np.unique(leaves):
            rows = leaves == leaf
            mean = np.average(pulls[rows], weights=weights[rows])
            np.testing.assert_allclose(tree.value[leaf, 0, 0], mean, rtol=1e-9, atol=1e-12)
        twin = DecisionTreeRegressor(max_depth=2, random_state=0)
        twin.fit(X, pulls, sample_weight=weights)
        error = np.average((pulls - twin.predict(X)) ** 2, weights=weights)
        own = np.average((pulls - tree.value[leaves, 0, 0]) ** 2, weights=weights)
        np.testing.assert_allclose(own, error, rtol=1e-6)
        raw += 0.5 * tree.value[leaves, 0, 0]
    np.testing.assert_allclose(model.predict(X), raw, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_censored_times_have_no_error_where_later_ones_are_predicted(data, weighted):
    X, (events, times) = data
    weights = 1.0 + np.arange(160) % 3 if weighted else np.ones(160)
    model = GradientBoostingSurvival(loss="squared", n_estimators=6, learning_rate=0.5)
    model.fit(X, (events, times), sample_weight=weights if weighted else None)
    logs = np.log(times)
    raw = np.full(160, np.average(logs[events], weights=weights[events]))
    for number, staged in enumerate(model.staged_predict(X)):
        pulls = np.where(~events & (raw >= logs), 0.0, logs - raw)
        leaves, tree = model.apply(X)[:, number], model.estimators_[number, 0].tree_
        for leaf in np.unique(leaves):
            rows = leaves == leaf
            mean = np.average(pulls[rows], weights=weights[rows])
            np.testing.assert_allclose(tree.value[leaf, 0, 0], mean, rtol=1e-9, atol=1e-12)
        raw = raw + 0.5 * tree.value[leaves, 0, 0]
        np.testing.assert_allclose(staged, np.exp(raw), rtol=1e-12)
        errors = np.where(~events & (raw >= logs), 0.0, logs - raw)
        loss = np.average(errors**2, weights=weights) / 2
        np.testing.assert_allclose(model.train_score_[number], loss, rtol=1e-12)


def test_dropped_trees_share_with_the_new_one_what_they_add(data):
    """DART (Rashmi, Gilad-Bachrach 2015), round by round: fewer rounds have the same draws."""
    X, (events, times) = data
    model = GradientBoostingSurvival(dropout_rate=0.3, max_depth=2, random_state=0)
    before, how_many = np.zeros((0, 160)), []
    for n_rounds in range(1, 8):
        model.set_params(n_estimators=n_rounds).fit(X, (events, times))
        after = np.array([tree.predict(X) for tree in model.estimators_.ravel()])
        ratios = np.linalg.norm(after[:-1], axis=1) / np.linalg.norm(before, axis=1)
        is_dropped = ratios < 1.0 - 1e-9
        n_dropped = np.count_nonzero(is_dropped)
        how_many.append(n_dropped)
        share = n_dropped / (n_dropped + 1)
        expected = np.where(is_dropped[:, np.newaxis], share, 1.0) * before
        np.testing.assert_allclose(after[:-1], expected, rtol=1e-9, atol=1e-12)
        pulls = gradient(events, times, 0.1 * before[~is_dropped].sum(axis=0), np.ones(160))
        leaves = model.apply(X)[:, -1]
        for leaf in np.unique(leaves):
            rows = leaves == leaf
            np.testing.assert_allclose(
                after[-1, rows], (1 - share) * pulls[rows].mean(), rtol=1e-9, atol=1e-12
            )
        np.testing.assert_allclose(model.predict(X), 0.1 * after.sum(axis=0), rtol=1e-9)
        raw = model.predict(X)
        at_risk = [np.log(np.sum(np.exp(raw[times >= time]))) for time in times[events]]
        np.testing.assert_allclose(model.train_score_[-1], np.sum(at_risk - raw[events]) / 160)
        before = after
    assert how_many[:2] == [0, 1]
    assert min(how_many[1:]) == 1
    assert max(how_many) > 1


def test_dropout_does_not_depend_on_how_rounds_are_watched(data):
    X, y = data
    model = GradientBoostingSurvival(
        dropout_rate=0.4, subsample=0.7, n_estimators=6, random_state=0
    )
    expected = clone(model).fit(X, y)
    watched = clone(model).fit(X, y, monitor=lambda *_: False)
    np.testing.assert_array_equal(watched.predict(X), expected.predict(X))
    np.testing.assert_array_equal(watched.oob_scores_, expected.oob_scores_)
    # The loss that ends the rounds is of the trees as they are after each of them.
    ended = clone(model).set_params(n_iter_no_change=100).fit(X, y, X_val=X, y_val=y)
    np.testing.assert_array_equal(ended.predict(X), expected.predict(X))
    stopped = clone(model).set_params(n_estimators=300, n_iter_no_change=2)
    first, last = (tuple(part[rows] for part in y) for rows in (slice(100), slice(100, 160)))
    stopped.fit(X[:100], first, X_val=X[100:], y_val=last)
    assert stopped.n_estimators_ < 300


def test_scores_of_rounds_are_partial_likelihoods(data):
    X, (events, times) = data
    model = GradientBoostingSurvival(n_estimators=3, random_state=0).fit(X, (events, times))
    for staged, score in zip(model.staged_predict(X), model.train_score_, strict=True):
        at_risk = [np.log(np.sum(np.exp(staged[times >= time]))) for time in times[events]]
        np.testing.assert_allclose(score, np.sum(at_risk - staged[events]) / 160, rtol=1e-12)


def test_leaves_of_second_order_are_steps_of_newton(data):
    X, (events, times) = data
    model = GradientBoostingSurvival(
        n_estimators=1, max_depth=2, second_order=True, l2_regularization=0.5, random_state=0
    ).fit(X, (events, times))
    sizes = [1.0 / np.sum(times >= time) for time in times[events]]
    first = np.array([np.sum(np.array(sizes)[times[events] <= t]) for t in times])
    second = np.array([np.sum(np.square(sizes)[times[events] <= t]) for t in times])
    pulls, curvatures = events - first, first - second
    leaves, tree = model.apply(X)[:, 0], model.estimators_[0, 0].tree_
    for leaf in np.unique(leaves):
        rows = leaves == leaf
        expected = pulls[rows].sum() / (curvatures[rows].sum() + 0.5)
        np.testing.assert_allclose(tree.value[leaf, 0, 0], expected, rtol=1e-6)


def test_steps_that_are_too_long_are_told_of(data):
    X, (events, times) = data
    model = GradientBoostingSurvival(second_order=True, learning_rate=1.5, n_estimators=3)
    with pytest.warns(UserWarning, match="has risen from .* Raise l2_regularization"):
        clone(model).fit(X, (events, times))
    model.set_params(l2_regularization=2.0, learning_rate=0.1).fit(X, (events, times))
    assert model.train_score_[-1] < model.train_score_[0]


def test_curves_follow_from_the_baseline_and_the_relative_hazard(data):
    X, (events, times) = data
    model = GradientBoostingSurvival(n_estimators=20, random_state=0).fit(X, (events, times))
    raw, baseline = model.predict(X), 0.0
    for place, time in enumerate(model.event_times_):
        n_events = np.sum(events & (times == time))
        baseline += n_events / np.sum(np.exp(raw[times >= time]))
        np.testing.assert_allclose(model.baseline_cumulative_hazard_[place], baseline, rtol=1e-12)
        hazards = model.predict_cumulative_hazard_function(X, return_array=True, times=[time])
        np.testing.assert_allclose(hazards[:, 0], baseline * np.exp(raw), rtol=1e-12)
    survival = model.predict_survival_function(X[:5])
    array = model.predict_survival_function(X[:5], return_array=True)
    for function, values in zip(survival, array, strict=True):
        np.testing.assert_array_equal(function(model.unique_times_), values)
        assert function(-1.0) == 1.0
    incidence = model.predict_cumulative_incidence_function(X[:5], return_array=True)
    np.testing.assert_allclose(incidence, 1.0 - array)
    assert (model.predict_quantile(X[:5]) > 0).all()


def test_without_features_curves_are_those_of_all_samples(data):
    _, (events, times) = data
    model = GradientBoostingSurvival(n_estimators=2).fit(np.zeros((160, 1)), (events, times))
    found = model.predict_survival_function(np.zeros((1, 1)), return_array=True)[0]
    hazards = [
        np.sum(events & (times == time)) / np.sum(times >= time) for time in np.unique(times)
    ]
    np.testing.assert_allclose(found, np.exp(-np.cumsum(hazards)), rtol=1e-12)


@pytest.mark.parametrize("loss", ["coxph", "squared", "ipcwls"])
@pytest.mark.parametrize("second_order", [False, True])
def test_same_predictions_for_any_storage_threads_and_copies(data, loss, second_order):
    X, (events, times) = data
    model = GradientBoostingSurvival(
        loss=loss, n_estimators=15, second_order=second_order, random_state=0
    )
    expected = clone(model).fit(X, (events, times)).predict(X)
    frame = pd.DataFrame({"died": events, "days": times})
    for rows, y, n_jobs in (
        (sparse.csr_matrix(X), frame, 1),
        (sparse.csc_matrix(X), (events.astype(int), times), 3),
        (pd.DataFrame(X), (events, times), 2),
        (spinney.Dataset(X), (events, times), 1),
    ):
        found = clone(model).set_params(n_jobs=n_jobs).fit(rows, y).predict(X)
        np.testing.assert_array_equal(found, expected)
    counts = np.arange(160) % 3
    copies = np.repeat(np.arange(160), counts)
    weighted = clone(model).fit(X, (events, times), sample_weight=counts)
    repeated = clone(model).fit(X[copies], (events[copies], times[copies]))
    if loss != "ipcwls":
        np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)
        for name in ("event_times_", "unique_times_"):
            np.testing.assert_array_equal(getattr(weighted, name), getattr(repeated, name))


def test_it_orders_new_samples():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1500, 5))
    times = rng.exponential(np.exp(-X[:, 0] + 0.5 * X[:, 1] ** 2))
    ends = rng.exponential(3.0, size=1500)
    y = (times <= ends, np.minimum(times, ends))
    first, last = slice(0, 1000), slice(1000, 1500)
    of = lambda rows: (y[0][rows], y[1][rows])  # noqa: E731
    truth = concordance_index(*of(last), (X[:, 0] - 0.5 * X[:, 1] ** 2)[last]).cindex
    # Squared errors see the times of events alone.
    for loss, less in (("coxph", 0.02), ("squared", 0.03), ("ipcwls", 0.05)):
        model = GradientBoostingSurvival(loss=loss, random_state=0).fit(X[first], of(first))
        assert model.score(X[last], of(last)) > truth - less, loss


def test_missing_values_categories_and_early_stopping(data):
    X, (events, times) = data
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["d"] = pd.Categorical.from_codes((X[:, 3] % 3).astype(int), ["x", "y", "z"])
    frame.loc[::7, "a"] = np.nan
    model = GradientBoostingSurvival(
        n_estimators=200, n_iter_no_change=3, categorical_features=["d"], random_state=0
    ).fit(frame, (events, times))
    assert model.n_estimators_ < 200
    assert np.isfinite(model.predict(frame)).all()
    given = GradientBoostingSurvival(n_estimators=200, n_iter_no_change=3, random_state=0)
    given.fit(
        X[:120], (events[:120], times[:120]), X_val=X[120:], y_val=(events[120:], times[120:])
    )
    assert given.n_estimators_ < 200


def test_causes_are_events_of_one_kind(data):
    X, (events, times) = data
    codes = np.where(events, 1 + np.arange(160) % 2, 0)
    found = GradientBoostingSurvival(n_estimators=5, cause=2, random_state=0).fit(X, (codes, times))
    alone = GradientBoostingSurvival(n_estimators=5, random_state=0).fit(X, (codes == 2, times))
    np.testing.assert_array_equal(found.predict(X), alone.predict(X))
    assert found.score(X, (codes, times)) == alone.score(X, (codes == 2, times))
    with pytest.raises(ValueError, match="competing causes"):
        found.predict_cumulative_incidence_function(X, cause=2)


@pytest.mark.parametrize("dropout_rate", [0.0, 0.3])
def test_explanations_and_files(data, dropout_rate, tmp_path):
    X, y = data
    for loss in ("coxph", "squared", "ipcwls"):
        model = GradientBoostingSurvival(
            loss=loss, n_estimators=8, dropout_rate=dropout_rate, random_state=0
        ).fit(X, y)
        raw = model.predict(X) if loss == "coxph" else np.log(model.predict(X))
        sums = model.shap_values(X).sum(axis=1) + model.expected_value_
        np.testing.assert_allclose(sums, raw, rtol=1e-9)
        model.save(tmp_path / "model.spinney")
        for copy in (spinney.load(tmp_path / "model.spinney"), pickle.loads(pickle.dumps(model))):
            np.testing.assert_array_equal(copy.predict(X), model.predict(X))
            if loss == "coxph":
                np.testing.assert_array_equal(
                    copy.predict_survival_function(X, return_array=True),
                    model.predict_survival_function(X, return_array=True),
                )
        more = clone(model).set_params(warm_start=True, n_estimators=4).fit(X, y)
        assert len(more.estimators_) == 4
        more.set_params(n_estimators=8).fit(X, y)
        # Dropout adds to sums what it has taken away, so that these are rounded otherwise.
        np.testing.assert_allclose(more.predict(X), model.predict(X), rtol=1e-9 * dropout_rate)
        for own, other in zip(more.estimators_.ravel(), model.estimators_.ravel(), strict=True):
            np.testing.assert_allclose(own.tree_.value, other.tree_.value, rtol=1e-9, atol=1e-12)
        *_, last = model.staged_predict(X)
        np.testing.assert_allclose(last, model.predict(X), rtol=1e-12)
        with pytest.raises(TypeError, match="scikit-learn has no survival models"):
            model.to_sklearn()


def test_bad_arguments_are_named(data):
    X, (events, times) = data
    with pytest.raises(ValueError, match="loss"):
        GradientBoostingSurvival(loss="huber").fit(X, (events, times))
    with pytest.raises(ValueError, match="cause"):
        GradientBoostingSurvival(cause=0).fit(X, (events, times))
    for rate in (-0.1, 1.0, True, "0.5"):
        with pytest.raises(ValueError, match="dropout_rate"):
            GradientBoostingSurvival(dropout_rate=rate).fit(X, (events, times))
    for loss in ("squared", "ipcwls"):
        with pytest.raises(ValueError, match=f"{loss}' needs times of events above 0"):
            GradientBoostingSurvival(loss=loss).fit(X, (events, times - times[events].min()))
    for loss in ("coxph", "squared", "ipcwls"):
        with pytest.raises(ValueError, match="but for events of other causes than 2"):
            GradientBoostingSurvival(loss=loss, cause=2).fit(X, (events.astype(int), times))
        with pytest.raises(ValueError, match="at least one time that ends with an event"):
            GradientBoostingSurvival(loss=loss).fit(X, (events, times), ~events)
    model = GradientBoostingSurvival(n_estimators=1).fit(X, (events, times))
    with pytest.raises(ValueError, match="oob_score=True needs a grown forest"):
        model.predict_survival_function(X, oob_score=True)
    model = GradientBoostingSurvival(loss="ipcwls", n_estimators=1).fit(X, (events, times))
    with pytest.raises(ValueError, match="need loss='coxph'"):
        model.predict_survival_function(X)
