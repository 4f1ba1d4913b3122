"""Survival models against the textbook's estimators, and against each other."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.inspection import PartialDependenceDisplay
from sklearn.model_selection import cross_val_score

import spinney
from spinney import Dataset, grow_with
from spinney.inspection import partial_dependence
from spinney.plotting import plot_survival_function
from spinney.survival import (
    ExtraSurvivalTrees,
    LazySurvivalForest,
    RandomSurvivalForest,
    SurvivalTree,
    concordance_index,
    kaplan_meier_estimator,
)
from spinney.survival._step_function import StepFunction
from strategies import examples

FORESTS = [RandomSurvivalForest, ExtraSurvivalTrees]
MODELS = [SurvivalTree, LazySurvivalForest, *FORESTS]


def make_data(n_samples=150, seed=0, n_causes=1):
    """Return samples, events and times; times are equal now and then."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 5))
    times = np.ceil(4 * rng.exponential(np.exp(X[:, 0]))) / 4
    ends = np.ceil(4 * rng.uniform(0, 6, n_samples)) / 4
    events = (times <= ends) * rng.integers(1, n_causes + 1, n_samples)
    return X, events, np.minimum(times, ends)


X, EVENTS, TIMES = make_data()
Y = (EVENTS > 0, TIMES)


def estimate(events, times, weights, at, kind):
    """Return the textbook's estimate: "hazard", "survival", or of the incidence of a cause."""
    hazard, survival, incidence = 0.0, 1.0, 0.0
    found = np.zeros(len(at))
    start = 1.0 if kind == "survival" else 0.0
    found[:] = start
    for time in np.unique(times[weights > 0]):
        at_risk = weights[times >= time].sum()
        died = weights[(times == time) & (events > 0)].sum()
        of_cause = weights[(times == time) & (events == kind)].sum()
        incidence += survival * of_cause / at_risk
        hazard += died / at_risk
        survival *= 1 - died / at_risk
        value = {"hazard": hazard, "survival": survival}.get(kind, incidence)
        found[at >= time] = value
    return found


def loop(model, train, events, times, query, at, kind):
    """Return the mean over the trees of the estimates in the leaves of samples."""
    leaves, of_train = model.apply(query), model.apply(train)
    curves = np.zeros((len(query), len(at)))
    for tree, rows in enumerate(model.estimators_samples_):
        counts = np.bincount(rows, minlength=len(train))
        for row, leaf in enumerate(leaves[:, tree]):
            weights = counts * (of_train[:, tree] == leaf)
            curves[row] += estimate(events, times, weights, at, kind)
    return curves / len(model.estimators_samples_)


@pytest.mark.parametrize("forest_class", FORESTS)
@pytest.mark.parametrize("criterion", ["logrank", "logrank_fast"])
@pytest.mark.parametrize("bootstrap", [True, False, "poisson"])
def test_curves_are_those_of_the_samples_in_the_leaves(forest_class, criterion, bootstrap):
    train, events, times = make_data(n_causes=2)
    forest = forest_class(6, criterion=criterion, bootstrap=bootstrap, random_state=0)
    forest.fit(train, (events, times))
    query = train[:12] + 0.1
    at = forest.unique_times_
    for kind, found in (
        ("hazard", forest.predict_cumulative_hazard_function(query, return_array=True)),
        ("survival", forest.predict_survival_function(query, return_array=True)),
        (1, forest.predict_cumulative_incidence_function(query, return_array=True)),
        (2, forest.predict_cumulative_incidence_function(query, cause=2, return_array=True)),
    ):
        expected = loop(forest, train, events, times, query, at, kind)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("model_class", MODELS)
def test_risks_are_cumulative_hazards_at_the_times_of_events(model_class):
    model = model_class(random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.unique_times_, np.unique(TIMES))
    np.testing.assert_array_equal(model.event_times_, np.unique(TIMES[EVENTS > 0]))
    np.testing.assert_array_equal(model.causes_, [1])
    hazards = model.predict_cumulative_hazard_function(
        X, return_array=True, times=model.event_times_
    )
    np.testing.assert_allclose(model.predict(X), hazards.sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("model_class", MODELS)
def test_a_tree_of_one_leaf_is_the_textbook(model_class):
    params = {} if model_class is SurvivalTree else {"bootstrap": False, "n_estimators": 2}
    model = model_class(min_samples_leaf=100, random_state=0, **params).fit(X, Y)
    times, share = kaplan_meier_estimator(*Y)
    curves = model.predict_survival_function(X[:2], return_array=True)
    np.testing.assert_allclose(curves, [share, share], rtol=1e-12, atol=1e-15)
    weights = np.ones(len(X))
    expected = estimate(EVENTS, TIMES, weights, times, "hazard")
    found = model.predict_cumulative_hazard_function(X[:1], return_array=True)
    np.testing.assert_allclose(found[0], expected, rtol=1e-12)


def list_curves(model):
    """Return the three methods that predict curves, with what they are before the first event."""
    return [
        (model.predict_survival_function, 1.0),
        (model.predict_cumulative_hazard_function, 0.0),
        (model.predict_cumulative_incidence_function, 0.0),
    ]


@pytest.mark.parametrize("times", [None, [0.5], [0.1, 2.6, 90.0]])
@pytest.mark.parametrize("model_class", MODELS)
def test_functions_and_arrays_agree_at_every_time(model_class, times):
    model = model_class(random_state=0).fit(X, Y)
    last = TIMES.max()
    at = np.array([-1.0, 0.0, 0.1, TIMES.min(), 0.3, 1.0, 2.6, last, last + 1, 1e9])
    for ask, start in list_curves(model):
        functions, values = ask(X[:4], times=times), ask(X[:4], return_array=True, times=at)
        assert functions.shape == (4,)
        for function, of_row in zip(functions, values, strict=True):
            np.testing.assert_array_equal(function(at), of_row)
            assert set(model.unique_times_) | set(times or []) == set(function.x)
        np.testing.assert_array_equal(values[:, at < TIMES.min()], start)
        np.testing.assert_array_equal(values[:, at > last], values[:, [-1, -1]])
    one = model.predict_cumulative_incidence_function(X[:4], return_array=True)
    survival = model.predict_survival_function(X[:4], return_array=True)
    np.testing.assert_allclose(one, 1 - survival, atol=1e-12)


def test_curves_out_of_bag_are_those_of_trees_that_have_not_seen_a_sample():
    train, events, times = make_data(40, n_causes=2)
    forest = RandomSurvivalForest(8, max_samples=0.9, random_state=0).fit(train, (events, times))
    at = [0.2, 0.75, 1.5]
    unseen = np.array([~np.isin(np.arange(40), rows) for rows in forest.estimators_samples_]).T
    asks = ("survival", {}), ("cumulative_hazard", {}), ("cumulative_incidence", {"cause": 2})
    for name, cause in asks:
        options = {"return_array": True, "times": at, **cause}
        of_trees = [getattr(tree, f"predict_{name}_function")(train, **options) for tree in forest]
        ask = getattr(forest, f"predict_{name}_function")
        with pytest.warns(UserWarning, match="do not have OOB scores: all trees were grown on"):
            found = ask(train, oob_score=True, **options)
        for row in range(40):
            known = [
                of_tree[row]
                for of_tree, is_own in zip(of_trees, unseen[row], strict=True)
                if is_own
            ]
            expected = np.mean(known, axis=0) if known else np.full(3, np.nan)
            np.testing.assert_allclose(found[row], expected, atol=1e-12)
        with pytest.warns(UserWarning, match="OOB"):
            functions = ask(train, oob_score=True, **cause)
        np.testing.assert_array_equal([function(at) for function in functions], found)
        is_unknown = ~unseen.any(axis=1)
        np.testing.assert_array_equal(np.isnan([f(-1.0) for f in functions]), is_unknown)
    with pytest.raises(ValueError, match="X must be the training samples"):
        forest.predict_survival_function(train[:3], oob_score=True)
    with pytest.raises(TypeError, match="oob_score must be a bool"):
        forest.predict_survival_function(train, oob_score="yes")


@pytest.mark.parametrize("model_class", [SurvivalTree, LazySurvivalForest])
def test_what_knows_no_samples_out_of_bag_says_so(model_class):
    model = model_class(random_state=0).fit(X, Y)
    for ask, _ in list_curves(model):
        with pytest.raises(ValueError, match="oob_score=True needs a grown forest"):
            ask(X, oob_score=True)


@pytest.mark.parametrize("model_class", MODELS)
def test_quantiles_of_time_are_where_curves_fall_below(model_class):
    model = model_class(random_state=0).fit(X, Y)
    shares = [0.1, 0.5, 0.9]
    found = model.predict_quantile(X, shares)
    assert found.shape == (len(X), 3)
    np.testing.assert_array_equal(model.predict_quantile(X), found[:, 1])
    curves = model.predict_survival_function(X, return_array=True)
    for of_row, curve in zip(found, curves, strict=True):
        for share, time in zip(shares, of_row, strict=True):
            reached = model.unique_times_[curve <= 1 - share + 1e-12]
            assert time == (reached[0] if len(reached) else np.inf)
    assert np.isinf(found).any()
    for quantiles in (0, 1, [0.5, 2], "half", [], [[0.5]], np.nan):
        with pytest.raises(ValueError, match="'quantiles' parameter of predict_quantile"):
            model.predict_quantile(X, quantiles)


def test_the_median_of_five_times_is_the_third():
    """Shares are products: .8 * .75 * 2 / 3 is not .4 to the last bit."""
    for n in range(3, 30):
        times = np.arange(1.0, n + 1)
        tree = SurvivalTree(min_samples_split=n + 1).fit(np.zeros((n, 1)), (times > 0, times))
        expected = np.ceil(np.array([0.2, 0.5, 0.8]) * n - 1e-9)
        np.testing.assert_array_equal(tree.predict_quantile([[0.0]], [0.2, 0.5, 0.8])[0], expected)


@pytest.mark.parametrize("model_class", MODELS)
@pytest.mark.parametrize("criterion", ["logrank", "logrank_fast"])
def test_events_of_other_causes_are_as_censorings(model_class, criterion):
    train, events, times = make_data(n_causes=2)
    model = model_class(criterion=criterion, cause=2, random_state=0)
    model.fit(train, (events, times))
    alone = model_class(criterion=criterion, random_state=0).fit(train, (events == 2, times))
    np.testing.assert_array_equal(model.predict(train), alone.predict(train))
    np.testing.assert_array_equal(model.event_times_, alone.event_times_)
    np.testing.assert_array_equal(model.causes_, [1, 2])
    assert model.score(train, (events, times)) == alone.score(train, (events == 2, times))
    # But not for curves: who is struck by another cause cannot be struck by this one.
    both = [
        model.predict_cumulative_incidence_function(train, cause=cause, return_array=True)
        for cause in (1, 2)
    ]
    survival = model.predict_survival_function(train, return_array=True)
    np.testing.assert_allclose(sum(both), 1 - survival, atol=1e-12)
    other = 1 - alone.predict_survival_function(train, return_array=True)
    assert np.all(both[1] <= other + 1e-12)
    if model_class in FORESTS:
        scored = clone(model).set_params(oob_score=True).fit(train, (events, times))
        expected = concordance_index(events == 2, times, scored.oob_prediction_).cindex
        assert scored.oob_score_ == expected
        found = scored.permutation_importance_oob(train, (events, times), random_state=0)
        again = alone.permutation_importance_oob(train, (events == 2, times), random_state=0)
        np.testing.assert_array_equal(found.importances, again.importances)
    with pytest.raises(ValueError, match="but for events of other causes than 3"):
        model_class(cause=3).fit(train, (events, times))


@st.composite
def fits(draw):
    """Return parameters, a training set, and samples to predict."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    train, events, times = make_data(draw(st.integers(8, 80)), seed, n_causes=2)
    # Two events and a censored time, so that nothing is warned of.
    events[:3] = 1, 1, 0
    train[rng.random(train.shape) < 0.3] = draw(st.sampled_from([0.0, np.nan]))
    params = {
        "n_estimators": draw(st.integers(1, 5)),
        "criterion": draw(st.sampled_from(["logrank", "logrank_fast"])),
        "bootstrap": draw(st.sampled_from([True, False, "poisson"])),
        "min_samples_leaf": draw(st.integers(1, 6)),
        "min_samples_split": draw(st.integers(2, 8)),
        "max_features": draw(st.sampled_from([None, "sqrt"])),
        "random_state": seed,
    }
    return params, (train, (events, times)), rng.normal(size=(draw(st.integers(1, 60)), 5))


@examples(20)
@given(fits(), st.sampled_from(["best", "random"]), st.sampled_from(["auto", "batched", "single"]))
def test_lazy_forests_are_the_grown_ones(fit, splitter, traversal):
    params, (train, y), query = fit
    grown_class = {"best": RandomSurvivalForest, "random": ExtraSurvivalTrees}[splitter]
    grown = grown_class(**params).fit(train, y)
    lazy = LazySurvivalForest(splitter=splitter, traversal=traversal, **params).fit(train, y)
    np.testing.assert_array_equal(lazy.predict(query), grown.predict(query))
    for name in ("survival", "cumulative_hazard"):
        curves = [
            getattr(model, f"predict_{name}_function")(query, return_array=True)
            for model in (lazy, grown)
        ]
        np.testing.assert_array_equal(*curves)


@examples(15)
@given(fits(), st.sampled_from(FORESTS))
def test_storage_threads_and_order_do_not_matter(fit, forest_class):
    params, (train, (events, times)), query = fit
    expected = forest_class(**params).fit(train, (events, times))
    curves = expected.predict_survival_function(query, return_array=True)
    for stored in (np.asfortranarray(train), sparse.csc_array(train), Dataset(train)):
        forest = forest_class(n_jobs=2, **params).fit(stored, (events, times))
        np.testing.assert_array_equal(forest.predict(query), expected.predict(query))
        np.testing.assert_array_equal(
            forest.predict_survival_function(sparse.csr_array(query), return_array=True), curves
        )
    if params["bootstrap"] is False:
        order = np.random.default_rng(0).permutation(len(train))
        forest = forest_class(**params).fit(train[order], (events[order], times[order]))
        np.testing.assert_array_equal(forest.predict(query), expected.predict(query))


@pytest.mark.parametrize("criterion", ["logrank", "logrank_fast"])
@pytest.mark.parametrize("model_class", MODELS)
def test_a_weight_is_as_many_copies_and_zero_is_none(model_class, criterion):
    params = {"criterion": criterion, "min_samples_leaf": 1, "min_samples_split": 2}
    if model_class is not SurvivalTree:
        params |= {"bootstrap": False, "n_estimators": 3, "max_features": None}
    weights = np.random.default_rng(1).integers(0, 4, len(X))
    # A sample more counts for limits of samples, so that none is set.
    whole = model_class(random_state=0, max_depth=4, **params)
    copies = np.repeat(np.arange(len(X)), weights)
    one = clone(whole).fit(X, Y, sample_weight=weights)
    other = clone(whole).fit(X[copies], (Y[0][copies], TIMES[copies]))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    np.testing.assert_array_equal(one.unique_times_, other.unique_times_)
    curves = [model.predict_survival_function(X, return_array=True) for model in (one, other)]
    np.testing.assert_array_equal(*curves)


def test_all_forms_of_targets_are_the_same():
    expected = RandomSurvivalForest(4, random_state=0).fit(X, Y).predict(X)
    structured = np.array(list(zip(*Y, strict=True)), dtype=[("died", "?"), ("years", np.float64)])
    frame = pd.DataFrame({"died": Y[0], "years": TIMES})
    for y in (
        structured,
        frame,
        pl.from_pandas(frame),
        np.column_stack(Y),
        (Y[0].astype(int), TIMES.astype(np.float32).astype(float)),
    ):
        forest = RandomSurvivalForest(4, random_state=0).fit(X, y)
        np.testing.assert_array_equal(forest.predict(X), expected)
        assert forest.score(X, y) == forest.score(X, Y)
    scores = cross_val_score(RandomSurvivalForest(4, random_state=0), X, structured, cv=3)
    assert np.all(scores > 0.6)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ((Y[0], TIMES - 5), "Times in y must be finite and not below 0"),
        ((Y[0], np.where(TIMES[3] == TIMES, np.nan, TIMES)), "Got nan"),
        ((Y[0], np.full(len(X), np.inf)), "Got inf"),
        ((np.zeros(len(X), bool), TIMES), "only censored times"),
        (
            (pd.Series(Y[0], dtype="boolean").mask(np.arange(len(X)) == 3), TIMES),
            r"Events in y must be known .* 1 missing value\(s\), the first in row 3",
        ),
        ((Y[0], [None, *TIMES[1:]]), "Times in y must be known .* the first in row 0"),
        ((EVENTS - 1, TIMES), "Events in y must be bool, or the numbers of causes"),
        ((EVENTS * 0.5, TIMES), "numbers of causes, 0 for none. Got 0.5"),
        ((Y[0].astype(str), TIMES), "Events in y must be bool"),
        ((Y[0], TIMES.astype(str)), "Times in y must be numbers"),
        ((Y[0][1:], TIMES), "y must have an event and a time for each sample"),
        (TIMES, "y must be a structured array of events and times"),
        (np.column_stack([TIMES] * 3), r"Got an array of shape \(150, 3\)"),
        (pd.DataFrame({"a": TIMES}), "must have two columns"),
        (
            np.array([(1.0, True)], dtype=[("t", float), ("e", bool)]),
            "events first and times second",
        ),
        (np.array([(1.0,)], dtype=[("t", float)]), "must have two fields"),
        ((Y[0][:4], TIMES[:4]), "inconsistent numbers of samples"),
    ],
)
def test_illegal_targets_are_told(y, message):
    forest = RandomSurvivalForest(2, random_state=0)
    with pytest.raises(ValueError, match=message):
        forest.fit(X, y)
    assert not hasattr(forest, "forest_")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"criterion": "gini"}, "'logrank'"),
        ({"criterion": "squared_error"}, "'logrank_fast'"),
        ({"low_memory": "yes"}, "low_memory"),
        ({"cause": 0}, "cause"),
        ({"cause": 2**63}, r"'cause' parameter .* range \[1, 2\*\*63\)"),
        ({"min_samples_leaf": 0}, "min_samples_leaf"),
    ],
)
@pytest.mark.parametrize("model_class", MODELS)
def test_illegal_parameters_are_told(model_class, params, message):
    with pytest.raises(ValueError, match=message):
        model_class(**params).fit(X, Y)


def test_log_rank_is_no_criterion_of_regressors():
    with pytest.raises(ValueError, match="'squared_error'"):
        spinney.RandomForestRegressor(criterion="logrank").fit(X, TIMES)


def test_illegal_questions_are_told():
    forest = RandomSurvivalForest(2, random_state=0).fit(X, Y)
    with pytest.raises(TypeError, match="return_array must be a bool"):
        forest.predict_survival_function(X, return_array=1)
    for times in ([], [2.0, 1.0], [[1.0]], [np.nan]):
        with pytest.raises(ValueError, match="times must be finite numbers, ascending"):
            forest.predict_survival_function(X, times=times)
    with pytest.raises(ValueError, match=r"cause must be one of \[1\]. Got 2"):
        forest.predict_cumulative_incidence_function(X, cause=2)
    with pytest.raises(TypeError, match="no survival models"):
        forest.to_sklearn()
    with pytest.raises(AttributeError, match="cannot be replaced"):
        forest.estimators_ = forest.estimators_
    whole = LazySurvivalForest(2, max_leaf_nodes=4, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="a curve needs a lazy traversal"):
        whole.predict_survival_function(X)


@pytest.mark.parametrize("model_class", MODELS)
def test_files_and_pickles(model_class, tmp_path):
    model = model_class(random_state=0).fit(X, Y)
    copies = [pickle.loads(pickle.dumps(model))]
    if model_class is not LazySurvivalForest:
        model.save(tmp_path / "model")
        copies.append(spinney.load(tmp_path / "model"))
    for copy in copies:
        assert type(copy) is model_class
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))
        curves = [of.predict_survival_function(X, return_array=True) for of in (copy, model)]
        np.testing.assert_array_equal(*curves)
        np.testing.assert_array_equal(copy.event_times_, model.event_times_)


def test_trees_are_survival_trees():
    forest = RandomSurvivalForest(4, random_state=0).fit(X, Y)
    assert len(forest.estimators_) == 4
    assert isinstance(forest.estimator_, SurvivalTree)
    np.testing.assert_allclose(
        np.mean([tree.predict(X) for tree in forest], axis=0), forest.predict(X), rtol=1e-12
    )
    np.testing.assert_allclose(
        np.mean([t.predict_survival_function(X, return_array=True) for t in forest], axis=0),
        forest.predict_survival_function(X, return_array=True),
        atol=1e-12,
    )
    tree = forest[2]
    counts = np.bincount(forest.estimators_samples_[2], minlength=len(X))
    again = clone(tree).fit(X, Y, sample_weight=counts)
    np.testing.assert_array_equal(again.tree_.threshold, tree.tree_.threshold)


def test_warm_start_and_clusters():
    whole = RandomSurvivalForest(7, random_state=0).fit(X, Y)
    forest = RandomSurvivalForest(3, warm_start=True, random_state=0).fit(X, Y)
    forest.predict(X)
    forest.set_params(n_estimators=7).fit(X, Y)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as pool, grow_with(pool):
        grown = RandomSurvivalForest(7, random_state=0).fit(X, Y)
    for other in (forest, grown):
        np.testing.assert_array_equal(other.predict(X), whole.predict(X))
        curves = [of.predict_survival_function(X, return_array=True) for of in (other, whole)]
        np.testing.assert_array_equal(*curves)


@pytest.mark.parametrize("forest_class", FORESTS)
def test_out_of_bag(forest_class):
    forest = forest_class(30, oob_score=True, random_state=0).fit(X, Y)
    expected = np.zeros(len(X))
    for row in range(len(X)):
        unseen = [
            tree.predict(X[row : row + 1])[0]
            for tree, rows in zip(forest, forest.estimators_samples_, strict=True)
            if row not in rows
        ]
        expected[row] = np.mean(unseen)
    np.testing.assert_allclose(forest.oob_prediction_, expected, rtol=1e-9)
    assert forest.oob_score_ == concordance_index(*Y, forest.oob_prediction_).cindex
    assert forest.oob_score_ > 0.6

    with pytest.raises(ValueError, match="bootstrap=True"):
        forest_class(3, oob_score=True, bootstrap=False).fit(X, Y)


def test_what_matters_is_found():
    forest = RandomSurvivalForest(60, random_state=0).fit(X, Y)
    assert np.argmax(forest.feature_importances_) == 0
    assert forest.feature_importances_.sum() == pytest.approx(1)
    permuted = forest.permutation_importance_oob(X, Y, n_repeats=3, random_state=0)
    assert np.argmax(permuted.importances_mean) == 0
    assert permuted.importances_mean[0] > 0.05
    named = forest.permutation_importance_oob(
        X, Y, scoring=lambda oob, samples, y: oob.score(samples, y), n_repeats=3, random_state=0
    )
    np.testing.assert_array_equal(named.importances, permuted.importances)
    values = forest.shap_values(X[:9])
    np.testing.assert_allclose(
        values.sum(axis=1) + forest.expected_value_, forest.predict(X[:9]), rtol=1e-9
    )
    found = partial_dependence(forest, X, [0], grid_resolution=5)
    # The larger the feature, the later the event.
    assert found["average"][0, 0] > found["average"][0, -1]
    with pytest.warns(UserWarning, match="standard errors are NaN"):
        assert forest.predict_standard_error(X[:5]).shape == (5,)


def find_shares(tree, node, row, known):
    """Return the leaves that a row reaches, with the shares of the training weight that go there.

    Of the features of the row those in `known` are known.
    """
    if tree.children_left[node] < 0:
        return {node: 1.0}
    children = [tree.children_left[node], tree.children_right[node]]
    feature = tree.feature[node]
    if feature in known:
        shares = [float(row[feature] <= tree.threshold[node])]
        shares.append(1 - shares[0])
    else:
        weights = tree.weighted_n_node_samples[children]
        shares = weights / weights.sum()
    found = {}
    for child, share in zip(children, shares, strict=True):
        for leaf, of_leaf in find_shares(tree, child, row, known).items():
            found[leaf] = found.get(leaf, 0.0) + share * of_leaf
    return found


@pytest.mark.parametrize("model", [SurvivalTree, *FORESTS])
def test_partial_dependence_at_times(model):
    own = model(max_depth=4, random_state=0)
    if model is not SurvivalTree:
        own.set_params(n_estimators=4)
    own.fit(X, Y, sample_weight=np.arange(len(X)) % 3)
    at = [0.5, 1.25, 3.0]
    found = partial_dependence(own, X[:40], [0, 3], grid_resolution=4, kind="both", times=at)
    assert found["average"].shape == (3, 4, 4)
    assert found["individual"].shape == (3, 40, 4, 4)
    trees = [own] if model is SurvivalTree else own.estimators_
    for i, j in np.ndindex(4, 4):
        rows = X[:40].copy()
        rows[:, [0, 3]] = found["grid_values"][0][i], found["grid_values"][1][j]
        curves = own.predict_survival_function(rows, return_array=True, times=at)
        np.testing.assert_allclose(found["individual"][:, :, i, j].T, curves, atol=1e-12)
        expected = np.zeros(3)
        for tree in trees:
            leaves = tree.apply(X)
            for leaf, share in find_shares(tree.tree_, 0, rows[0], {0, 3}).items():
                inside = X[np.flatnonzero(leaves == leaf)[:1]]
                # Some training row is in each leaf.
                of_leaf = tree.predict_survival_function(inside, return_array=True, times=at)
                expected += share * of_leaf[0] / len(trees)
        np.testing.assert_allclose(found["average"][:, i, j], expected, atol=1e-12)


@pytest.mark.parametrize("model_class", MODELS)
def test_partial_dependence_is_drawn_by_scikit_learn(model_class):
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    model = model_class(random_state=0).fit(X, Y)
    shown = PartialDependenceDisplay.from_estimator(model, X[:9], [0, (0, 1)], grid_resolution=4)
    one, both = shown.pd_results
    assert both["average"].shape == (1, 4, 4)
    for value, average in zip(one["grid_values"][0], one["average"][0], strict=True):
        rows = X[:9].copy()
        rows[:, 0] = value
        assert average == pytest.approx(model.predict(rows).mean())
    plt.close("all")


def test_times_of_partial_dependence_are_checked():
    forest = RandomSurvivalForest(2, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match=r"times must be finite numbers, ascending. Got \[2, 1\]"):
        partial_dependence(forest, X, [0], times=[2, 1])
    for times in ("soon", [[1, 2], [3]], [], [[1.0]], [None], [np.nan]):
        with pytest.raises(ValueError, match="times must be finite numbers, ascending"):
            forest.predict_survival_function(X, times=times)
    others = spinney.RandomForestRegressor(2, random_state=0).fit(X, TIMES)
    with pytest.raises(ValueError, match="'times' parameter of partial_dependence must be None"):
        partial_dependence(others, X, [0], times=[1])


def test_pictures_of_trees_have_curves():
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib.collections import LineCollection

    tree = RandomSurvivalForest(1, max_depth=2, random_state=0).fit(X, Y).estimators_[0]
    boxes = spinney.plot_tree(tree)
    leaves = np.flatnonzero(tree.tree_.children_left < 0)
    assert len(boxes) == tree.tree_.node_count
    drawn = [
        lines.get_segments()
        for lines in boxes[0].axes.collections
        if isinstance(lines, LineCollection) and len(lines.get_segments()) == 2
    ]
    assert len(drawn) == len(leaves)
    samples = tree.apply(X)
    for leaf, (_, curve) in zip(leaves, drawn, strict=True):
        inside = X[np.flatnonzero(samples == leaf)[:1]]
        survival = tree.predict_survival_function(inside, return_array=True)[0]
        box = boxes[leaf].get_bbox()
        assert curve[:, 0].min() > box.x0
        assert curve[:, 0].max() < box.x1
        assert curve[:, 1].min() > box.y0
        assert curve[:, 1].max() < box.y1
        # The last value, in the height of the curve: y grows downwards.
        height = np.ptp(curve[:, 1]) / (1 - survival[-1])
        assert height == pytest.approx(27)
    import matplotlib.pyplot as plt

    plt.close("all")


def test_importances_of_a_tree_are_sums_of_statistics():
    tree = SurvivalTree(max_depth=1, max_features=None).fit(X, Y)
    np.testing.assert_array_equal(np.flatnonzero(tree.feature_importances_), [0])
    # What scipy calls the log-rank statistic is the root of ours.
    stats = pytest.importorskip("scipy.stats")
    left = X[:, 0] <= tree.tree_.threshold[0]
    samples = [
        stats.CensoredData.right_censored(TIMES[side], ~Y[0][side]) for side in (left, ~left)
    ]
    statistic = stats.logrank(*samples).statistic
    assert tree.tree_.impurity[0] * len(X) == pytest.approx(statistic**2, rel=1e-6)


@pytest.mark.parametrize("criterion", ["logrank", "logrank_fast"])
@pytest.mark.parametrize("splitter", ["best", "random"])
def test_leaves_have_events(criterion, splitter):
    tree = SurvivalTree(
        criterion=criterion,
        splitter=splitter,
        min_events_leaf=7,
        min_samples_leaf=1,
        random_state=0,
    ).fit(X, Y)
    leaves = tree.apply(X)
    counts = [EVENTS[leaves == leaf].sum() for leaf in np.unique(leaves)]
    assert len(counts) > 2
    assert min(counts) >= 7
    with pytest.raises(ValueError, match="min_events_leaf"):
        SurvivalTree(min_events_leaf=-1).fit(X, Y)


def test_frames_with_categories_and_missing_values():
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["f"] = pd.Categorical(np.where(X[:, 1] > 0, "x", "y"))
    frame.loc[::7, "a"] = np.nan
    forest = RandomSurvivalForest(20, categorical_features="from_dtype", random_state=0)
    forest.fit(frame, Y)
    assert list(forest.feature_names_in_) == list("abcdef")
    assert forest.score(frame, Y) > 0.7


@examples(30)
@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 6), st.integers(0, 6)), max_size=40),
)
def test_concordance_is_that_of_all_pairs(rows):
    events = np.array([row[0] for row in rows], dtype=bool)
    times, risks = (np.array([row[n] for row in rows], dtype=float) for n in (1, 2))
    found = concordance_index(events, times, risks)
    counts = [0, 0, 0, 0]
    for one in np.flatnonzero(events):
        for other in range(len(rows)):
            is_tied = times[other] == times[one] and not events[other]
            if times[other] > times[one] or is_tied:
                counts[3] += is_tied
                order = np.sign(risks[one] - risks[other])
                counts[{1.0: 0, -1.0: 1, 0.0: 2}[order]] += 1
    assert list(found[1:]) == counts
    n_pairs = sum(counts[:3])
    if n_pairs:
        assert found.cindex == pytest.approx((counts[0] + counts[2] / 2) / n_pairs)
    else:
        assert np.isnan(found.cindex)


def test_illegal_arguments_of_concordance_are_told():
    with pytest.raises(ValueError, match="event_indicator must be bool"):
        concordance_index([0, 1], [1.0, 2.0], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"must have shape \(n_samples,\)"):
        concordance_index([True], [1.0, 2.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="estimate must not be NaN"):
        concordance_index([True, False], [1.0, 2.0], [1.0, np.nan])


def test_step_functions_are_values():
    x, y = np.array([1.0, 2.0]), np.array([0.9, 0.4])
    step = StepFunction(x, y)
    assert step == StepFunction(x.copy(), y.copy())
    assert step != StepFunction(x, y, b=0.1)
    assert step != StepFunction(x, y[::-1])
    assert step != 3
    assert repr(step) == "StepFunction(x=array([1., 2.]), y=array([0.9, 0.4]), a=1.0, b=0.0)"
    many = StepFunction(np.arange(500.0), np.linspace(1, 0, 500), before=1.0)
    assert len(repr(many)) < 200
    assert repr(many).endswith("before=1.0)")
    assert step != StepFunction(x, y, before=1.0)
    np.testing.assert_array_equal(step([0.5, 1.5]), [0.9, 0.9])
    started = StepFunction(x, y, a=2.0, b=1.0, domain=(0, 3), before=1.0)
    np.testing.assert_array_equal(started([0.5, 1.5, 3.0]), [3.0, 2.8, 1.8])
    with pytest.raises(ValueError, match=r"x and y must have one shape .* Got \(2,\) and \(1,\)"):
        StepFunction(x, y[:1])
    with pytest.raises(ValueError, match="x must be finite"):
        step(np.nan)


def test_what_a_lazy_forest_explores():
    """The risk is the prediction; the weights of the training rows are shares."""
    forest = LazySurvivalForest(5, random_state=0).fit(X, Y)
    seen = forest.explore(X[:3], weights=True)
    np.testing.assert_array_equal(seen.prediction, forest.predict(X[:3]))
    np.testing.assert_allclose(np.ravel(seen.weights.sum(axis=1)), 1.0)


def test_what_curves_are_not_drawn_of():
    tree = SurvivalTree(random_state=0).fit(X, Y)
    for model, rows, labels, message in (
        (spinney.DecisionTreeRegressor(), X[:1], None, "must be a survival model, such as Surv"),
        (tree, X[:40], None, "X must have 1 to 30 samples. Got 40"),
        (tree, X[:2], ["a"], "labels must be 2 names. Got 1"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            plot_survival_function(model, rows, labels=labels)


@pytest.mark.parametrize("model_class", [SurvivalTree, *FORESTS])
def test_contributions_to_survival_at_times(model_class):
    model = model_class(random_state=0).fit(X, Y)
    at = [0.5, 1.25, 3.0]
    values = model.shap_values(X[:9], times=at)
    assert values.shape == (9, 5, 3)
    base = model.expected_survival(at)
    curves = model.predict_survival_function(X[:9], return_array=True, times=at)
    np.testing.assert_allclose(values.sum(axis=1) + base, curves, atol=1e-12)
    # Each time for itself, and as matrices.
    one = model.shap_values(X[:9], times=[1.25])
    np.testing.assert_allclose(one[..., 0], values[..., 1], atol=1e-12)
    matrices = model.shap_values(sparse.csr_array(X[:9]), times=at)
    for matrix, of_time in zip(matrices, np.moveaxis(values, 2, 0), strict=True):
        np.testing.assert_allclose(matrix.toarray(), of_time, atol=1e-12)
    pairs = model.shap_values(X[:9], interactions=True, times=at)
    np.testing.assert_allclose(pairs.sum(axis=2), values, atol=1e-12)
    with pytest.raises(ValueError, match="times must be finite numbers, ascending"):
        model.shap_values(X[:9], times=[2, 1])
    with pytest.raises(ValueError, match="'interactions' parameter of shap_values must be a bool"):
        model.shap_values(X[:9], interactions=1, times=at)


def test_shap_shows_survival_at_times():
    pytest.importorskip("shap")
    forest = RandomSurvivalForest(4, random_state=0).fit(X, Y)
    shown = forest.to_shap(X[:9], times=[0.5, 3.0])
    np.testing.assert_array_equal(shown.values, forest.shap_values(X[:9], times=[0.5, 3.0]))
    np.testing.assert_array_equal(shown.base_values[4], forest.expected_survival([0.5, 3.0]))
    assert list(shown.output_names) == ["0.5", "3"]
    assert forest.to_shap(X[:9]).values.shape == (9, 5)
