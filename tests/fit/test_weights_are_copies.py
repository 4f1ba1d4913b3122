"""What samples weigh in each tree: their own weight, that of their class and their draws.

The oracle computes it from `estimators_samples_` and the definition alone, in plain loops. Where
draws allow it, rows of weight k are compared with k copies.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from forests import every_classifier
from oracle import bits
from spinney import (
    ExtraTreesClassifier,
    LazyForestClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from spinney.model_selection import cross_val_predict
from strategies import examples

pairwise = pytest.mark.pairwise
N = 60
# Weights that are no multiples of a unit are rounded to 52 bits of their total, of which the least
# here are a billionth.
ROUNDED = 1e-6
CLASS_WEIGHTS = (None, "balanced", "balanced_subsample", "dicts")
SAMPLE_WEIGHTS = {
    "none": None,
    "ints": np.arange(N) % 3 + 1,
    "floats": (np.arange(N) % 7 + 1) * 0.3,
    "with zeros": np.arange(N) % 4,
    "floats with zeros": (np.arange(N) % 5) * 0.7,
    "a class of weight 0": (np.arange(N) % 6 > 0) * (np.arange(N) % 4 + 0.5),
    "of wide range": 10.0 ** (np.arange(N) % 9 - 6),
}
# With and without a bootstrap; numbers and shares of draws.
SAMPLINGS = {
    "all rows": {"bootstrap": False},
    "Poisson": {"bootstrap": "poisson"},
    "draws": {"bootstrap": True},
    "a number of draws": {"bootstrap": True, "max_samples": 45},
    "a share of draws": {"bootstrap": True, "max_samples": 0.6},
    "more draws": {"bootstrap": True, "max_samples": 2.5},
    "distinct draws": {"bootstrap": True, "replace": False},
    "a number of distinct draws": {"bootstrap": True, "replace": False, "max_samples": 25},
    "a share of distinct draws": {"bootstrap": True, "replace": False, "max_samples": 0.7},
}
every_class_weight = pytest.mark.parametrize("class_weight", CLASS_WEIGHTS)
every_sample_weight = pytest.mark.parametrize("weights", SAMPLE_WEIGHTS)
every_sampling = pytest.mark.parametrize("sampling", SAMPLINGS)
of_outputs = pytest.mark.parametrize("n_outputs", [1, 2])


def table(n_outputs):
    """Return rows of noise, and labels of which a sixth is of the first class."""
    rng = np.random.default_rng(0)
    y = np.column_stack([np.arange(N) % 6 > 0, (np.arange(N) // 6) % 3])[:, :n_outputs] * 2 + 3
    return rng.normal(size=(N, 3)), y[:, 0] if n_outputs == 1 else y


def dicts_for(n_outputs):
    by_output = [{3: 4.0, 5: 0.5}, {3: 1.0, 5: 2.0, 7: 0.25}]
    return by_output[0] if n_outputs == 1 else by_output


def weigh_given(y, class_weight):
    """Return for each row the product of what dicts say of its labels."""
    columns = y.reshape(len(y), -1)
    per_output = class_weight if isinstance(class_weight, list) else [class_weight]
    return [
        np.prod([weight[label] for weight, label in zip(per_output, row, strict=True)])
        for row in columns.tolist()
    ]


def balance(y, weights):
    """Return factors by which classes weigh the same, and all rows together as they do already.

    With several outputs, the product of the factors by each.
    """
    exact = [Fraction(float(weight)) for weight in weights]
    product = [1.0] * len(exact)
    for column in y.reshape(len(y), -1).T.tolist():
        totals = {}
        for label, weight in zip(column, exact, strict=True):
            totals[label] = totals.get(label, 0) + weight
        present = {label: total for label, total in totals.items() if total > 0}
        for row, label in enumerate(column):
            # A class that is not there has no rows to weigh.
            share = present.get(label)
            product[row] *= 0.0 if share is None else float(sum(exact) / (len(present) * share))
    return product


def weigh_rows(forest, y, sample_weight):
    """Return what each row weighs in each tree, and in the draws: the definition."""
    given = np.ones(N) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    class_weight, bootstrap = forest.class_weight, forest.bootstrap
    balances_bags = class_weight == "balanced_subsample" and bootstrap is not False
    if class_weight is not None and not balances_bags:
        is_preset = isinstance(class_weight, str)
        given = given * (balance(y, given) if is_preset else weigh_given(y, class_weight))
    of_trees = []
    for rows in forest.estimators_samples_:
        counts = np.bincount(rows, minlength=N).astype(float)
        if bootstrap is False:
            weights = given
        elif bootstrap is True and forest.replace:
            # The weights have been spent on the draws.
            weights = counts
        else:
            weights = counts * given
        of_trees.append(weights * balance(y, weights) if balances_bags else weights)
    return of_trees, given


def shares_of(y, weights):
    """Return the share of each class of each output, in one list."""
    columns = y.reshape(len(y), -1)
    return [
        weights[column == label].sum() / weights.sum()
        for column in columns.T
        for label in np.unique(column)
    ]


def make(forest_class, class_weight, sampling, n_outputs, **params):
    if class_weight == "dicts":
        class_weight = dicts_for(n_outputs)
    return forest_class(
        5, class_weight=class_weight, random_state=0, **SAMPLINGS[sampling], **params
    )


@pairwise
@every_classifier
@every_class_weight
@every_sample_weight
@every_sampling
@of_outputs
def test_roots_weigh_what_the_definition_says(
    n_outputs, sampling, weights, class_weight, forest_class
):
    """Shares of classes, the total weight, the number of draws, and which rows can be drawn."""
    X, y = table(n_outputs)
    sample_weight = SAMPLE_WEIGHTS[weights]
    forest = make(forest_class, class_weight, sampling, n_outputs)
    forest.fit(X, y, sample_weight=sample_weight)
    of_trees, given = weigh_rows(forest, y, sample_weight)
    n_classes = np.atleast_1d(forest.n_classes_)
    places = [(output, code) for output, n in enumerate(n_classes) for code in range(n)]
    are_balanced = class_weight == "balanced_subsample" or (
        class_weight == "balanced" and forest.bootstrap is False
    )
    for tree, expected, rows in zip(forest, of_trees, forest.estimators_samples_, strict=True):
        root = tree.tree_
        np.testing.assert_allclose(root.weighted_n_node_samples[0], expected.sum(), rtol=ROUNDED)
        found = [root.value[0][place] for place in places]
        np.testing.assert_allclose(found, shares_of(y, expected), rtol=ROUNDED, atol=1e-15)
        assert root.n_node_samples[0] == np.count_nonzero(expected)
        if are_balanced and n_outputs == 1:
            there = [share for share in found if share > 0]
            np.testing.assert_allclose(there, 1 / len(there))
        if forest.bootstrap is not False:
            assert (given[rows] > 0).all()
        if forest.bootstrap is True:
            n_drawable = float(given.sum()) if forest.replace else np.count_nonzero(given)
            n_rows = N if forest.replace else n_drawable
            share = forest.max_samples
            share = n_rows if share is None else share
            n_draws = int(share * n_drawable + 1e-9) if isinstance(share, float) else share
            assert len(rows) == n_draws


@pairwise
@every_class_weight
@every_sample_weight
@every_sampling
@of_outputs
@pytest.mark.parametrize("extra", [False, True])
def test_lazy_and_shared_forests_weigh_alike(extra, n_outputs, sampling, weights, class_weight):
    """Lazy forests, forests of folds and grown ones predict the same bits."""
    X, y = table(n_outputs)
    sample_weight = SAMPLE_WEIGHTS[weights]
    eager_class = ExtraTreesClassifier if extra else RandomForestClassifier
    eager = make(eager_class, class_weight, sampling, n_outputs)
    lazy = make(LazyForestClassifier, class_weight, sampling, n_outputs)
    if extra:
        lazy.set_params(splitter="random")
    kept = {"sample_weight": sample_weight}
    fitted = clone(eager).fit(X, y, **kept)
    expected = np.array(fitted.predict_proba(X) if n_outputs == 1 else fitted.predict(X))
    for traversal in ("batched", "single", "eager"):
        other = clone(lazy).set_params(traversal=traversal).fit(X, y, **kept)
        found = np.array(other.predict_proba(X) if n_outputs == 1 else other.predict(X))
        np.testing.assert_array_equal(found, expected)
    ids = {"sample_ids": np.arange(N)} if eager.bootstrap == "poisson" else {}
    thirds = np.arange(N).reshape(3, -1)
    cv = [(np.delete(thirds, i, axis=0).ravel(), thirds[i]) for i in range(3)]
    given = {} if sample_weight is None else kept
    of_fits = np.empty(y.shape, dtype=y.dtype)
    for train, test in cv:
        options = {name: value[train] for name, value in {**given, **ids}.items()}
        of_fits[test] = clone(eager).fit(X[train], y[train], **options).predict(X[test])
    for estimator in (eager, lazy):
        found = cross_val_predict(estimator, X, y, cv=cv, params=given)
        np.testing.assert_array_equal(found, of_fits)


@pairwise
@every_classifier
@every_class_weight
@pytest.mark.parametrize("weights", ["ints", "with zeros"])
@pytest.mark.parametrize(
    "sampling", ["all rows", "Poisson", "a number of draws", "a share of draws", "more draws"]
)
@of_outputs
def test_weights_are_copies(n_outputs, sampling, weights, class_weight, forest_class):
    """A row of weight k and k copies of it, with the same name: the same trees."""
    X, y = table(n_outputs)
    k = SAMPLE_WEIGHTS[weights]
    copies = np.repeat(np.arange(N), k)
    forest = make(forest_class, class_weight, sampling, n_outputs)
    is_named = forest.bootstrap == "poisson"
    ids = {"sample_ids": np.arange(N)} if is_named else {}
    ids_of_copies = {"sample_ids": copies} if is_named else {}
    weighted = clone(forest).fit(X, y, sample_weight=k, **ids)
    copied = clone(forest).fit(X[copies], y[copies], **ids_of_copies)
    for one, other in zip(weighted, copied, strict=True):
        np.testing.assert_array_equal(one.tree_.threshold, other.tree_.threshold)
        np.testing.assert_array_equal(one.tree_.feature, other.tree_.feature)
        np.testing.assert_allclose(one.tree_.value, other.tree_.value, rtol=ROUNDED, atol=1e-15)
        np.testing.assert_allclose(
            one.tree_.weighted_n_node_samples, other.tree_.weighted_n_node_samples, rtol=ROUNDED
        )


@every_class_weight
@every_sampling
def test_rows_of_a_class_without_weight_do_not_count(class_weight, sampling):
    """Neither as rows nor as a class: as if they were left out, in every balance."""
    X, y = table(1)
    is_there = y != 3
    forest = make(RandomForestClassifier, class_weight, sampling, 1)
    if sampling in ("draws", "a share of distinct draws"):
        forest.set_params(max_samples=30)
    if class_weight == "dicts":
        forest.set_params(class_weight={3: 4.0, 5: 0.5})
    y = np.where(is_there & (np.arange(N) % 5 == 0), 9, y)
    if class_weight == "dicts":
        forest.set_params(class_weight={5: 0.5, 9: 4.0, 3: 1.0})
    named = forest.bootstrap == "poisson"
    ids = {"sample_ids": np.arange(N)} if named else {}
    ids_of_rest = {"sample_ids": np.flatnonzero(is_there)} if named else {}
    masked = clone(forest).fit(X, y, sample_weight=is_there.astype(float), **ids)
    if class_weight == "dicts":
        forest.set_params(class_weight={5: 0.5, 9: 4.0})
    alone = clone(forest).fit(X[is_there], y[is_there], **ids_of_rest)
    if forest.bootstrap is True and not forest.replace:
        # Which rows are drawn depends on the number of rows.
        n_drawn = [len(rows) for rows in masked.estimators_samples_]
        assert n_drawn == [len(rows) for rows in alone.estimators_samples_]
        return
    for one, other in zip(masked, alone, strict=True):
        np.testing.assert_array_equal(one.tree_.threshold, other.tree_.threshold)
        np.testing.assert_allclose(
            one.tree_.weighted_n_node_samples, other.tree_.weighted_n_node_samples, rtol=ROUNDED
        )
    np.testing.assert_allclose(masked.predict_proba(X)[:, 1:], alone.predict_proba(X), rtol=ROUNDED)


@examples(30)
@given(drawn=st.data())
def test_root_weights_of_any_weights(drawn):
    """Random labels and weights, also where a sample lacks classes."""
    n = drawn.draw(st.integers(2, 12))
    y = np.array(drawn.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    values = st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0, 3.0, 1e-3, 1e6])
    weight = np.array(drawn.draw(st.lists(values, min_size=n, max_size=n)))
    if not weight.any():
        weight[0] = 1.0
    sampling = drawn.draw(st.sampled_from([{"bootstrap": "poisson"}, {"replace": False}, {}]))
    seed = drawn.draw(st.integers(0, 99))
    forest = RandomForestClassifier(
        3, class_weight="balanced_subsample", random_state=seed, **sampling
    )
    forest.fit(np.arange(n)[:, None], y, sample_weight=weight)
    spent = forest.bootstrap is True and forest.replace
    for tree, rows in zip(forest, forest.estimators_samples_, strict=True):
        counts = np.bincount(rows, minlength=n).astype(float)
        of_rows = counts if spent else counts * weight
        expected = of_rows * balance(y, of_rows)
        root = tree.tree_
        np.testing.assert_allclose(root.weighted_n_node_samples[0], expected.sum(), rtol=1e-9)
        classes = [1 / len(set(y[of_rows > 0])) if c in y[of_rows > 0] else 0 for c in np.unique(y)]
        np.testing.assert_allclose(root.value[0, 0], classes, rtol=1e-9)


def test_regressors_have_no_classes_to_balance():
    """The weights of their trees are counts and weights alone."""
    X, _ = table(1)
    weight = SAMPLE_WEIGHTS["floats"]
    for name in ("Poisson", "a share of distinct draws", "all rows"):
        forest = RandomForestRegressor(4, random_state=0, **SAMPLINGS[name])
        forest.fit(X, X[:, 0], sample_weight=weight)
        for tree, rows in zip(forest, forest.estimators_samples_, strict=True):
            expected = weight[rows].sum()
            np.testing.assert_allclose(tree.tree_.weighted_n_node_samples[0], expected)
    assert bits(forest) == bits(clone(forest).fit(X, X[:, 0], sample_weight=weight))


@pytest.mark.parametrize("class_weight", [None, "balanced", "balanced_subsample", {0: 1e300}])
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_totals_must_be_finite(sampling, class_weight):
    """Before numbers of draws and balances are computed of them."""
    X, y = np.arange(4.0)[:, None], [0, 1, 0, 1]
    forest = RandomForestClassifier(2, class_weight=class_weight, **SAMPLINGS[sampling])
    for weight in ([1e308] * 4, [1.7e308, 0.0, 0.0, 1e308]):
        with pytest.raises(
            ValueError, match=r"^sample_weight must be .* finite total\. Got a large"
        ):
            forest.fit(X, y, sample_weight=weight)
    if isinstance(class_weight, dict):
        with pytest.raises(ValueError, match=r"^sample_weight times class_weight must be small"):
            forest.fit(X, y, sample_weight=[1e10, 1.0, 1.0, 1.0])
