"""On which rows the trees of a forest are grown, and what weights mean."""

import inspect
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight

from forests import every_classifier, every_forest, task_of
from oracle import assert_same_tree, bits
from spinney import (
    BalancedRandomForestClassifier,
    RandomForestClassifier,
    RandomForestQuantileRegressor,
    RandomForestRegressor,
)
from spinney._fit.draws import count_draws_with_replacement, count_draws_without_replacement


@pytest.fixture(scope="module")
def iris():
    """Return the iris measurements and species."""
    return load_iris(return_X_y=True)


# --- Samples and weights ------------------------------------------------------------------------


@every_forest
@pytest.mark.parametrize("max_samples", [None, 1, 17, 0.5, 1.0, 1.5, 400])
def test_number_of_draws(forest_class, max_samples):
    """A number, or a share of the samples; more draws than samples are fine."""
    X, y = task_of(forest_class)
    n = len(y)
    forest = forest_class(4, bootstrap=True, max_samples=max_samples, random_state=0).fit(X, y)
    if isinstance(max_samples, float):
        expected = int(n * max_samples)
    else:
        expected = n if max_samples is None else max_samples
    for tree, samples in zip(forest, forest.estimators_samples_, strict=True):
        assert tree.tree_.weighted_n_node_samples[0] == expected == len(samples)
        assert tree.tree_.n_node_samples[0] == len(np.unique(samples))


def test_share_of_draws_is_one_of_the_total_weight(iris):
    """As in scikit-learn 1.9: `max_samples * sample_weight.sum()`, class weights counted in."""
    X, y = iris
    weight = np.arange(len(y)) % 4 / 2
    forest = RandomForestClassifier(2, max_samples=0.5, random_state=0)
    forest.fit(X, y, sample_weight=weight)
    assert len(forest.estimators_samples_[0]) == int(weight.sum() / 2)
    forest.set_params(class_weight={0: 2.0, 1: 1.0, 2: 0.0}).fit(X, y, sample_weight=weight)
    total = (weight * np.array([2.0, 1.0, 0.0])[y]).sum()
    assert len(forest.estimators_samples_[0]) == int(total / 2)
    assert all((y[samples] < 2).all() for samples in forest.estimators_samples_)
    forest = RandomForestClassifier(2, random_state=0).fit(X, y, sample_weight=weight)
    assert len(forest.estimators_samples_[0]) == len(y)


@pytest.mark.parametrize("class_weight", [None, "balanced_subsample"])
def test_few_draws_warn(class_weight):
    """A share that gives next to nothing is rounded up to one draw, with scikit-learn's warning."""
    X, y = load_wine(return_X_y=True)
    forest = RandomForestClassifier(3, max_samples=1e-4, class_weight=class_weight, random_state=0)
    with pytest.warns(UserWarning, match=r"max_samples=0.0001 when the number of samples is 178"):
        forest.fit(X, y)
    assert [len(samples) for samples in forest.estimators_samples_] == [1, 1, 1]
    with pytest.warns(UserWarning, match="total sum of sample weights"):
        forest.fit(X, y, sample_weight=np.ones(len(y)))


@pytest.mark.pairwise
@every_forest
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bootstrap", [True, False, "poisson"])
def test_estimators_samples(forest_class, bootstrap, weighted):
    """The samples are what the trees were grown on: growing on them again gives the same trees."""
    X, y = task_of(forest_class)
    y = np.round(y).astype(int)
    weight = np.arange(len(y)) % 3 / 2.0 if weighted else None
    # Scaled features make no difference to the tree, but ties between them would to its draws.
    forest = forest_class(6, bootstrap=bootstrap, max_features=0.5, random_state=3)
    forest.fit(X, y, sample_weight=weight)
    samples = forest.estimators_samples_
    assert isinstance(samples, list)
    for one, again in zip(samples, forest.estimators_samples_, strict=True):
        np.testing.assert_array_equal(one, again)
        assert one.dtype == np.int32
    codes = np.searchsorted(forest.classes_, y) if is_classifier(forest) else y
    for tree, rows in zip(forest, samples, strict=True):
        if bootstrap is False:
            np.testing.assert_array_equal(rows, np.arange(len(y)))
        else:
            assert (np.diff(rows) >= 0).all()
            assert len(np.unique(rows)) < len(y)
        if weighted and bootstrap:
            assert (weight[rows] > 0).all()
        counts = np.bincount(rows, minlength=len(y)).astype(float)
        if weighted and bootstrap is not True:
            counts *= weight
        same = clone(tree).fit(X, codes, sample_weight=counts)
        assert_same_tree(same, tree)
        copies = clone(tree).fit(X[rows], codes[rows])
        if not (weighted and bootstrap is not True):
            np.testing.assert_array_equal(copies.tree_.threshold, tree.tree_.threshold)


@every_forest
def test_samples_without_replacement(forest_class):
    """Distinct rows, as many as asked for, others for each tree; weights stay in the tree."""
    X, y = task_of(forest_class)
    n = len(y)
    weight = np.arange(n) % 4 / 2.0
    draw = partial(forest_class, 5, bootstrap=True, replace=False, random_state=0)
    for max_samples, expected in [(40, 40), (0.25, n // 4), (n, n), (1.0, n), (None, n)]:
        forest = draw(max_samples=max_samples).fit(X, y)
        for tree, rows in zip(forest, forest.estimators_samples_, strict=True):
            assert len(rows) == len(np.unique(rows)) == expected
            assert tree.tree_.weighted_n_node_samples[0] == expected
        assert len({rows.tobytes() for rows in forest.estimators_samples_}) == (
            1 if expected == n else 5
        )
    forest = draw(max_samples=0.5).fit(X, y, sample_weight=weight)
    for tree, rows in zip(forest, forest.estimators_samples_, strict=True):
        assert len(rows) == np.count_nonzero(weight) // 2
        assert (weight[rows] > 0).all()
        assert tree.tree_.weighted_n_node_samples[0] == weight[rows].sum()
    for max_samples in (n + 1, 1.2):
        with pytest.raises(ValueError, match="max_samples with replace=False must be at most"):
            draw(max_samples=max_samples).fit(X, y)


def test_rows_without_replacement_are_drawn_evenly():
    """Every row is in a fifth of the samples, every pair in a fifth of that."""
    X, y = np.arange(50.0)[:, None], np.arange(50) % 2
    forest = RandomForestClassifier(
        2000, bootstrap=True, replace=False, max_samples=10, max_depth=1, random_state=0
    ).fit(X, y)
    drawn = np.zeros((2000, 50))
    for tree, rows in enumerate(forest.estimators_samples_):
        drawn[tree, rows] = 1
    # Six standard deviations of a share.
    assert np.abs(drawn.mean(axis=0) - 0.2).max() < 6 * np.sqrt(0.2 * 0.8 / 2000)
    pairs = (drawn.T @ drawn / 2000)[np.triu_indices(50, 1)]
    chance = 0.2 * 9 / 49
    assert np.abs(pairs - chance).max() < 6 * np.sqrt(chance * (1 - chance) / 2000)


@every_forest
def test_poisson_counts_belong_to_ids(forest_class):
    """The count of a sample is a function of its id, tree and seed: parts of the data agree."""
    X, y = task_of(forest_class)
    n = len(y)
    forest = forest_class(6, bootstrap="poisson", random_state=0).fit(X, y)
    counts = [np.bincount(rows, minlength=n) for rows in forest.estimators_samples_]
    assert all(
        np.array_equal(t.tree_.weighted_n_node_samples[0], c.sum())
        for t, c in zip(forest, counts, strict=True)
    )
    assert len({c.tobytes() for c in counts}) == 6
    named = clone(forest).fit(X, y, sample_ids=np.arange(n))
    assert bits(named) == bits(forest)

    train = np.random.default_rng(0).permutation(n)[: n // 2]
    fold = clone(forest).fit(X[train], y[train], sample_ids=train)
    for rows, whole in zip(fold.estimators_samples_, counts, strict=True):
        np.testing.assert_array_equal(np.bincount(rows, minlength=len(train)), whole[train])
    # So is the forest of the rows in any order, and that of the whole where the others weigh 0.
    order = np.argsort(train)
    same = clone(forest).fit(X[train][order], y[train][order], sample_ids=train[order])
    np.testing.assert_array_equal(same.predict(X), fold.predict(X))
    weight = np.zeros(n)
    weight[train] = 1
    masked = clone(forest).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(masked.predict(X), fold.predict(X), rtol=1e-12)
    # Other names, other draws; the largest name there is.
    other = clone(forest).fit(X, y, sample_ids=np.arange(n, dtype=np.uint64) + np.uint64(2**64 - n))
    assert bits(other) != bits(forest)
    # More trees do not change those there are.
    more = clone(forest).set_params(n_estimators=8).fit(X, y)
    assert bits(more)[:6] == bits(forest)


def test_poisson_counts_multiply_weights(iris):
    """A tree sees the count times the weight."""
    X, y = iris
    weight = np.random.default_rng(0).random(len(y))
    forest = RandomForestClassifier(5, bootstrap="poisson", random_state=0)
    plain, weighted = clone(forest).fit(X, y), clone(forest).fit(X, y, sample_weight=weight)
    for one, other, tree in zip(
        plain.estimators_samples_, weighted.estimators_samples_, weighted, strict=True
    ):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(tree.tree_.weighted_n_node_samples[0], weight[other].sum())
    # Weights whose integers are as large as they get, before the counts are multiplied.
    even = np.full(128, 0.1249)
    even[0] = np.nextafter(0.1249, 1)
    full = clone(forest).set_params(n_estimators=20).fit(X[:128], y[:128], sample_weight=even)
    for tree, rows in zip(full, full.estimators_samples_, strict=True):
        total = tree.tree_.weighted_n_node_samples[0]
        np.testing.assert_allclose(total, len(rows) * 0.1249, rtol=1e-12)


def test_no_poisson_sample_is_empty():
    """One row or two: they are drawn again until there is one."""
    for n in (1, 2):
        X, y = np.arange(float(n))[:, None], np.arange(n)
        forest = RandomForestRegressor(200, bootstrap="poisson", random_state=0).fit(X, y)
        sizes = [len(rows) for rows in forest.estimators_samples_]
        assert min(sizes) == 1
        assert max(sizes) > 2


@pytest.mark.parametrize("bootstrap", [True, False])
@every_forest
def test_sample_ids_matter_to_poisson_alone(forest_class, bootstrap):
    """Where they would be ignored, they are refused."""
    X, y = task_of(forest_class)
    forest = forest_class(3, bootstrap=bootstrap, random_state=0)
    with pytest.raises(ValueError, match=f"Got bootstrap={bootstrap}: leave sample_ids out"):
        forest.fit(X, y, sample_ids=np.arange(len(y)))
    assert not hasattr(forest, "forest_")


@every_forest
def test_weights_are_chances_to_be_drawn(forest_class):
    """Under a bootstrap a row of weight k is drawn k times as often, and one of 0 never."""
    X, y = task_of(forest_class)
    weight = np.arange(len(y)) % 4
    forest = forest_class(300, bootstrap=True, max_depth=1, random_state=0)
    rows = np.concatenate(forest.fit(X, y, sample_weight=weight).estimators_samples_)
    shares = np.bincount(weight[rows], minlength=4) / len(rows)
    expected = np.bincount(weight, weights=weight, minlength=4) / weight.sum()
    assert shares[0] == 0
    np.testing.assert_allclose(shares, expected, atol=6 * 0.5 / np.sqrt(len(rows)))
    # A number of draws is one, however few rows can be drawn.
    for n_draws in (50, 1000):
        few = clone(forest).set_params(n_estimators=3, max_samples=n_draws)
        few.fit(X, y, sample_weight=weight)
        for tree, rows in zip(few, few.estimators_samples_, strict=True):
            assert tree.tree_.weighted_n_node_samples[0] == n_draws == len(rows)
            assert (weight[rows] > 0).all()
    # A common factor does not show.
    scaled = clone(forest).fit(X, y, sample_weight=weight * 0.3)
    assert bits(scaled) == bits(forest)


@every_forest
def test_copies_are_weights_under_a_bootstrap(forest_class):
    """A row of weight k and k copies of it: as many draws of the same rows."""
    X, y = task_of(forest_class)
    weight = np.arange(len(y)) % 3
    copies = np.repeat(np.arange(len(y)), weight)
    forest = forest_class(5, bootstrap=True, max_samples=100, random_state=0)
    weighted = clone(forest).fit(X, y, sample_weight=weight)
    copied = clone(forest).fit(X[copies], y[copies])
    for one, other in zip(weighted.estimators_samples_, copied.estimators_samples_, strict=True):
        np.testing.assert_array_equal(one, copies[other])
    for one, other in zip(weighted, copied, strict=True):
        np.testing.assert_array_equal(one.tree_.threshold, other.tree_.threshold)
    np.testing.assert_allclose(weighted.predict(X), copied.predict(X), rtol=1e-12)


# --- Class weights ------------------------------------------------------------------------------


@every_classifier
@pytest.mark.parametrize("bootstrap", [True, False])
def test_class_weights_are_sample_weights(forest_class, bootstrap, iris):
    """A dict of class weights multiplies the weights of the samples."""
    X, y = iris
    by_class = {0: 1.0, 1: 100.0, 2: 0.5}
    factor = np.array([1.0, 100.0, 0.5])[y]
    given = np.arange(len(y)) % 3 + 1.0
    forest = forest_class(5, bootstrap=bootstrap, random_state=0)
    weighing = clone(forest).set_params(class_weight=by_class)
    assert bits(clone(weighing).fit(X, y)) == bits(clone(forest).fit(X, y, sample_weight=factor))
    both = clone(forest).fit(X, y, sample_weight=given * factor)
    assert bits(weighing.fit(X, y, sample_weight=given)) == bits(both)


@every_classifier
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("preset", ["balanced", "balanced_subsample"])
def test_balanced_on_all_samples(forest_class, preset, weighted):
    """Without a bootstrap both presets balance the classes, the given weights counted in."""
    X, y = load_breast_cancer(return_X_y=True)
    given = np.arange(len(y)) % 5 + 1.0 if weighted else None
    plain = np.ones(len(y)) if given is None else given
    factors = plain.sum() / (2 * np.bincount(y, weights=plain))
    if "sample_weight" in inspect.signature(compute_class_weight).parameters:
        theirs = compute_class_weight("balanced", classes=np.unique(y), y=y, sample_weight=plain)
        np.testing.assert_allclose(factors, theirs)
    forest = forest_class(3, bootstrap=False, max_depth=3, random_state=0)
    expected = clone(forest).fit(X, y, sample_weight=plain * factors[y])
    got = clone(forest).set_params(class_weight=preset).fit(X, y, sample_weight=given)
    assert bits(got) == bits(expected)
    root = got[0].tree_.value[0, 0]
    np.testing.assert_allclose(root, [0.5, 0.5])


@every_classifier
def test_balanced_draws(forest_class):
    """Under a bootstrap "balanced" is about chances: classes are drawn alike often."""
    X, y = load_breast_cancer(return_X_y=True)
    forest = forest_class(
        100, bootstrap=True, class_weight="balanced", max_depth=1, random_state=0
    ).fit(X, y)
    rows = np.concatenate(forest.estimators_samples_)
    assert abs(y[rows].mean() - 0.5) < 6 * 0.5 / np.sqrt(len(rows))


@every_classifier
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("sampling", [{}, {"replace": False, "max_samples": 0.5}])
def test_balanced_subsample(forest_class, sampling, outputs):
    """In the sample of each tree classes weigh the same; draws do not know of it."""
    X, y = load_wine(return_X_y=True)
    if outputs == 2:
        y = np.column_stack([y, X[:, 0] > 13.5])
    forest = forest_class(
        6, bootstrap=True, class_weight="balanced_subsample", random_state=0, **sampling
    ).fit(X, y)
    plain = clone(forest).set_params(class_weight=None).fit(X, y)
    for tree, rows, same in zip(
        forest, forest.estimators_samples_, plain.estimators_samples_, strict=True
    ):
        np.testing.assert_array_equal(rows, same)
        weight = np.bincount(rows, minlength=len(y)) * compute_sample_weight(
            "balanced", y, indices=rows
        )
        again = clone(tree).fit(X, y, sample_weight=weight)
        np.testing.assert_array_equal(again.tree_.threshold, tree.tree_.threshold)
        np.testing.assert_allclose(again.tree_.value, tree.tree_.value, rtol=1e-12, atol=1e-15)
        if outputs == 1:
            np.testing.assert_allclose(tree.tree_.value[0, 0], np.full(3, 1 / 3))


def test_balanced_subsample_and_sample_weight(iris):
    """With replacement weights are spent on the draws; otherwise copies are balanced."""
    X, y = iris
    weight = np.arange(len(y)) % 3 + 1
    forest = RandomForestClassifier(4, class_weight="balanced_subsample", random_state=0)
    for kind, spent in [
        ({}, True),
        ({"replace": False, "max_samples": 0.5}, False),
        ({"bootstrap": "poisson"}, False),
    ]:
        fitted = clone(forest).set_params(**kind).fit(X, y, sample_weight=weight)
        for tree, rows in zip(fitted, fitted.estimators_samples_, strict=True):
            copies = rows if spent else np.repeat(rows, weight[rows])
            factors = compute_sample_weight("balanced", y, indices=copies)
            total = tree.tree_.weighted_n_node_samples[0]
            np.testing.assert_allclose(total, factors[copies].sum(), rtol=1e-12)
            np.testing.assert_allclose(tree.tree_.value[0, 0], np.full(3, 1 / 3))


@every_classifier
def test_class_weight_of_several_outputs(forest_class, iris):
    """A dict per output; their weights are multiplied."""
    X, y = iris
    both = np.column_stack([y, y == 0])
    per_output = [{0: 2.0, 1: 1.0, 2: 1.0}, {0: 1.0, 1: 4.0}]
    forest = forest_class(3, random_state=0, bootstrap=False)
    weight = np.where(y == 0, 8.0, 1.0)
    expected = clone(forest).fit(X, both, sample_weight=weight)
    assert bits(clone(forest).set_params(class_weight=per_output).fit(X, both)) == bits(expected)
    # The first output is balanced; in the second the 50 weigh 1.5 and the 100 weigh 0.75.
    balanced = clone(forest).set_params(class_weight="balanced").fit(X, both)
    np.testing.assert_allclose(balanced[0].tree_.value[0, 0], [0.5, 0.25, 0.25])


@every_classifier
def test_presets_warn_under_warm_start(forest_class, iris):
    """Balancing what is only a part of the data is seldom meant."""
    forest = forest_class(2, class_weight="balanced", warm_start=True, random_state=0)
    with pytest.warns(UserWarning, match="not recommended for warm_start"):
        forest.fit(*iris)


def test_weightless_classes_are_harmless(iris):
    """A class of weight 0 has no say in the balance."""
    X, y = iris
    forest = RandomForestClassifier(3, bootstrap=False, class_weight="balanced", random_state=0)
    forest.fit(X, y, sample_weight=(y != 1).astype(float))
    np.testing.assert_allclose(forest[0].tree_.value[0, 0], [0.5, 0.0, 0.5])
    assert set(forest.predict(X)) <= {0, 2}


def test_ids_beyond_int64_in_a_list():
    """NumPy makes floats of a list of ints of which some are beyond int64 and others are not."""
    ids = [0] * 6 + [2**64 - 1] * 6
    X, y = np.arange(12.0)[:, None], [0, 1] * 6
    forests = [
        RandomForestClassifier(3, bootstrap="poisson", random_state=0).fit(X, y, sample_ids=given)
        for given in (ids, np.array(ids, dtype=np.uint64))
    ]
    np.testing.assert_array_equal(forests[0].predict_proba(X), forests[1].predict_proba(X))


# --- Shares are not rounded down to one less ----------------------------------------------------


def test_a_share_of_the_samples_is_no_draw_less():
    """0.29 * 100 is 28.999999999999996; scikit-learn has no draws without replacement."""
    X, y = np.zeros((100, 1)), np.arange(100)
    for count in range(1, 101):
        share = count / 100
        assert count_draws_without_replacement(share, 100, None) == count
        weights = np.repeat([1.0, 0.0], 100)
        assert count_draws_without_replacement(share, 200, weights) == count
    forest = RandomForestRegressor(1, replace=False, max_samples=0.29).fit(X, y)
    assert len(forest.estimators_samples_[0]) == 29
    forest = BalancedRandomForestClassifier(1, bootstrap=True, max_samples=0.29).fit(X, y % 2)
    assert len(forest.estimators_samples_[0]) == 29
    # Draws with replacement are as many as scikit-learn draws.
    assert count_draws_with_replacement(0.29, 100, None) == 28


@pytest.mark.parametrize(("least", "most"), [(9, 14), (7, 25), (5, 29), (3, 4)])
def test_classes_are_drawn_in_the_ratio_that_is_asked_for(least, most):
    y = np.repeat([0, 1], [100, least])
    forest = RandomForestClassifier(1, class_sampling=least / most, max_depth=1)
    rows = forest.fit(np.zeros((len(y), 1)), y).estimators_samples_[0]
    assert np.bincount(y[rows]).tolist() == [most, least]


def test_a_share_of_the_samples_of_a_leaf_is_no_sample_more():
    """0.07 * 100 is 7.000000000000001."""
    X, y = np.zeros((100, 1)), np.arange(100.0)
    for count in (7, 14, 28, 55, 56, 57, 60):
        forest = RandomForestQuantileRegressor(1, bootstrap=False, max_samples_leaf=count / 100)
        (counts,) = forest.fit(X, y).proximity_counts(X[:1])
        assert len(counts) == count
