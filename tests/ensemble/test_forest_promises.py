"""Same data, same forest; the mean of its trees; draws that know nothing of how they are used."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import Phase, given
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier

from forests import TREE_OF_FOREST, every_forest, few_rows, fit, samplings, seeds, values_of
from oracle import TREE_ARRAYS, assert_same_paths, assert_same_tree, bits
from strategies import FOREST_OF_TASK, data, dense_storages, examples, growth_rules, sparse_storages

every_task = pytest.mark.parametrize("task", ["classes", "numbers", "medians", "quantiles"])


def task_of(forest_class):
    return "classes" if is_classifier(forest_class()) else "numbers"


def criteria_of(forest_class):
    """Draw a criterion, of which the medians and quantiles are apart from the sums."""
    if is_classifier(forest_class()):
        return st.just({})
    names = ("squared_error", "absolute_error", "quantile")
    return st.sampled_from([{"criterion": name, "quantile": 0.3} for name in names])


@few_rows
@examples(15)
@every_forest
@given(drawn=st.data(), rules=growth_rules(), sampling=samplings, seed=seeds)
def test_forest_is_the_mean_of_its_trees(forest_class, drawn, rules, sampling, seed):
    """Bit for bit: the sum in the order of the trees, divided once."""
    criterion = drawn.draw(criteria_of(forest_class))
    drawn = drawn.draw(data(task_of(forest_class)))
    forest = fit(forest_class(5, random_state=seed, **criterion, **rules, **sampling), drawn)
    mean = sum(values_of(tree, drawn.X) for tree in forest) / 5
    np.testing.assert_array_equal(values_of(forest, drawn.X), mean)
    leaves = np.column_stack([tree.apply(drawn.X) for tree in forest])
    np.testing.assert_array_equal(forest.apply(drawn.X), leaves)
    paths = sp.hstack([tree.decision_path(drawn.X) for tree in forest], format="csr")
    assert_same_paths(forest.decision_path(drawn.X)[0], paths)


@few_rows
@examples(3, phases=[Phase.generate])
@every_forest
@given(drawn=st.data(), sampling=samplings, seed=seeds)
def test_storage_does_not_matter(forest_class, drawn, sampling, seed):
    """Every dense and sparse form of a matrix gives the same forest and predictions."""
    params = dict(sampling, random_state=seed, **drawn.draw(criteria_of(forest_class)))
    drawn = drawn.draw(data(task_of(forest_class), max_samples=12))
    forest = fit(forest_class(3, **params), drawn)
    predicted = forest.predict(drawn.X)
    for name, stored in [*dense_storages(drawn.X), *sparse_storages(drawn.X, seed)]:
        other = fit(forest_class(3, **params), drawn, stored)
        assert bits(other) == bits(forest), name
        np.testing.assert_array_equal(forest.predict(stored), predicted, err_msg=name)


@pytest.mark.pairwise
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bootstrap", [True, False, "poisson"])
@every_forest
def test_larger_data_give_one_forest(forest_class, bootstrap, weighted):
    """Neither storage nor threads matter to trees that are large enough for subtrees to be tasks.

    Nor does the number of trees matter to those that there are.
    """
    rng = np.random.default_rng(0)
    X = rng.integers(-4, 5, (300, 20)).astype(np.float64)
    X[rng.random(X.shape) < 0.5] = 0
    y = X[:, 1] + X[:, 5] * X[:, 6] + rng.normal(size=300)
    if is_classifier(forest_class()):
        y = np.digitize(y, [-2.0, 0.0, 1.0])
    weight = rng.integers(0, 4, 300) / 2 if weighted else None
    params = {"max_features": "sqrt", "random_state": 7, "bootstrap": bootstrap}
    trees = bits(forest_class(6, **params).fit(X, y, sample_weight=weight))
    assert len({b"".join(tree) for tree in trees}) == len(trees)
    for form in (X, X.astype(np.float32), sp.csc_matrix(X), sp.csr_array(X)):
        for n_jobs in (1, 2):
            forest = forest_class(6, n_jobs=n_jobs, **params).fit(form, y, sample_weight=weight)
            assert bits(forest) == trees
    assert bits(forest_class(2, **params).fit(X, y, sample_weight=weight)) == trees[:2]


@every_forest
def test_first_tree_without_bootstrap_is_the_tree(forest_class):
    """Tree number 0 is what the estimator with the same seed grows."""
    X = np.random.default_rng(0).normal(size=(100, 8))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    params = {"max_features": 2, "random_state": 3}
    forest = forest_class(1, bootstrap=False, **params).fit(X, y)
    assert_same_tree(forest[0], TREE_OF_FOREST[forest_class](**params).fit(X, y))


@few_rows
@examples(12)
@every_forest
@given(
    drawn=st.data(), sampling=samplings, seed=seeds, steps=st.sets(st.integers(1, 7), max_size=3)
)
def test_neither_threads_nor_steps_matter(forest_class, drawn, sampling, seed, steps):
    """One thread or two, at once or in several calls: the same forest."""
    params = dict(sampling, random_state=seed, **drawn.draw(criteria_of(forest_class)))
    drawn = drawn.draw(data(task_of(forest_class)))
    forest = fit(forest_class(8, **params), drawn)
    warm = forest_class(warm_start=True, n_jobs=2, **params)
    for n_estimators in sorted(steps | {8}):
        fit(warm.set_params(n_estimators=n_estimators), drawn)
    assert bits(warm) == bits(forest)
    np.testing.assert_array_equal(warm.predict(drawn.X), forest.predict(drawn.X))


@few_rows
@examples(12)
@every_forest
@given(drawn=st.data(), sampling=samplings, seed=seeds)
def test_every_tree_can_be_grown_again(forest_class, drawn, sampling, seed):
    """A clone of a tree, fitted to the tree's sample, is that tree."""
    params = dict(sampling, random_state=seed, **drawn.draw(criteria_of(forest_class)))
    drawn = drawn.draw(data(task_of(forest_class)))
    forest = fit(forest_class(4, **params), drawn)
    weight = np.ones(len(drawn.y)) if drawn.sample_weight is None else drawn.sample_weight
    is_spent = sampling["bootstrap"] is True and "replace" not in sampling
    y = drawn.y
    if is_classifier(forest):
        codes = [np.unique(column, return_inverse=True)[1] for column in np.atleast_2d(y.T)]
        y = np.column_stack(codes)
    for tree, rows in zip(forest, forest.estimators_samples_, strict=True):
        counts = np.bincount(rows, minlength=len(y)).astype(float)
        again = clone(tree).fit(drawn.X, y, sample_weight=counts if is_spent else counts * weight)
        # The fixed point of numbers is that of the whole forest: exact here, so means agree.
        same = [a for a in TREE_ARRAYS if is_classifier(forest) or a not in ("value", "impurity")]
        assert_same_tree(tree, again, same)
        np.testing.assert_allclose(again.tree_.value, tree.tree_.value, rtol=1e-12, atol=1e-12)


@every_task
@given(drawn=st.data(), seed=seeds, order=st.randoms(use_true_random=False))
def test_rows_with_ids_have_no_order(task, drawn, seed, order):
    """Poisson forests of named rows are forests of a set: order and absent rows do not show."""
    drawn = drawn.draw(data(task, max_samples=30))
    n = len(drawn.y)
    ids = np.arange(n) * 7 + 3
    forest = FOREST_OF_TASK[task](4, bootstrap="poisson", max_features=1, random_state=seed)
    forest.fit(drawn.X, drawn.y, sample_weight=drawn.sample_weight, sample_ids=ids)
    mixed = np.array(order.sample(range(n), n))
    weight = None if drawn.sample_weight is None else drawn.sample_weight[mixed]
    other = clone(forest)
    other.fit(drawn.X[mixed], drawn.y[mixed], sample_weight=weight, sample_ids=ids[mixed])
    for one, two in zip(forest, other, strict=True):
        assert_same_tree(one, two)
    for one, two in zip(forest.estimators_samples_, other.estimators_samples_, strict=True):
        np.testing.assert_array_equal(one, np.sort(mixed[two]))
