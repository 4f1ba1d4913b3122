"""The samples of trees, as they are given to `fit`, or drawn by class."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_classification
from sklearn.model_selection import GroupKFold
from sklearn.model_selection import cross_val_score as sklearn_cross_val_score

import spinney
from spinney import (
    BalancedRandomForestClassifier,
    Dataset,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    LazyForestClassifier,
    LazyForestRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from spinney.model_selection import cross_val_score

CLASSIFIERS = [RandomForestClassifier, ExtraTreesClassifier]
FORESTS = [*CLASSIFIERS, RandomForestRegressor, ExtraTreesRegressor]
N_TREES = 6
SETTINGS = {"n_estimators": N_TREES, "bootstrap": True, "random_state": 3}


def make_data(n_samples=120):
    return make_classification(
        n_samples,
        6,
        n_informative=4,
        n_classes=3,
        weights=[0.6, 0.3, 0.1],
        flip_y=0.1,
        random_state=0,
    )


def draw_bags(n_samples=120, seed=0):
    """Return bags of different sizes with repeated samples."""
    rng = np.random.default_rng(seed)
    return [rng.integers(n_samples, size=20 + 15 * tree) for tree in range(N_TREES)]


def count(bags, n_samples=120):
    return np.array([np.bincount(bag, minlength=n_samples) for bag in bags])


def bits(forest, X):
    method = "predict_proba" if hasattr(forest, "predict_proba") else "predict"
    return getattr(forest, method)(X).tobytes()


@pytest.mark.parametrize("forest_class", FORESTS)
def test_samples_that_a_forest_has_drawn_grow_the_forest_again(forest_class):
    X, y = make_data()
    settings = {**SETTINGS, "n_estimators": 30, "oob_score": True}
    drawn = forest_class(**settings).fit(X, y)
    given = forest_class(**settings)
    given.fit(X, y, samples=drawn.estimators_samples_)
    assert bits(given, X) == bits(drawn, X)
    assert given.oob_score_ == drawn.oob_score_
    for one, other in zip(given.estimators_samples_, drawn.estimators_samples_, strict=True):
        assert np.array_equal(one, other)
    importances = [
        forest.permutation_importance_oob(X, y, random_state=0) for forest in (given, drawn)
    ]
    assert np.array_equal(*(of.importances for of in importances))


def test_all_forms_of_samples_are_the_same():
    X, y = make_data()
    bags = draw_bags()
    expected = RandomForestClassifier(**SETTINGS).fit(X, y, samples=bags)
    counts = count(bags)
    forms = [
        [bag.tolist() for bag in bags],
        tuple(bag[::-1].astype(np.int16) for bag in bags),
        counts,
        counts.astype(float),
        sparse.csr_matrix(counts),
        sparse.coo_array(counts),
    ]
    for form in forms:
        forest = RandomForestClassifier(**SETTINGS).fit(X, y, samples=form)
        assert bits(forest, X) == bits(expected, X)
    masks = [np.isin(np.arange(120), bag) for bag in bags]
    once = RandomForestClassifier(**SETTINGS).fit(X, y, samples=[np.unique(bag) for bag in bags])
    for form in (masks, np.array(masks)):
        assert bits(RandomForestClassifier(**SETTINGS).fit(X, y, samples=form), X) == bits(once, X)


@pytest.mark.parametrize("forest_class", FORESTS)
@pytest.mark.parametrize("weighted", [False, True])
def test_trees_weigh_samples_by_weight_times_count(forest_class, weighted):
    X, y = make_data()
    bags = draw_bags()
    weights = np.random.default_rng(1).integers(0, 4, size=120) if weighted else np.ones(120)
    forest = forest_class(**SETTINGS).fit(
        X, y, sample_weight=weights if weighted else None, samples=bags
    )
    for tree, counts in zip(forest.estimators_, count(bags), strict=True):
        codes = y.astype(float)
        alone = clone(tree)
        alone.fit(X, codes, sample_weight=weights * counts)
        assert np.array_equal(alone.predict(X), tree.predict(X))


@pytest.mark.parametrize("storage", ["dense", "csr", "csc", "dataset"])
def test_storage_and_threads_do_not_matter(storage):
    X, y = make_data()
    X = np.where(X > 0, X.round(1), 0.0)
    bags = draw_bags()
    expected = RandomForestClassifier(**SETTINGS, oob_score=True).fit(X, y, samples=bags)
    stored = {
        "dense": np.asfortranarray(X),
        "csr": sparse.csr_matrix(X),
        "csc": sparse.csc_matrix(X),
        "dataset": Dataset(X),
    }[storage]
    forest = RandomForestClassifier(**SETTINGS, oob_score=True, n_jobs=2)
    forest.fit(stored, y, samples=bags)
    assert bits(forest, X) == bits(expected, X)
    assert np.array_equal(
        forest.oob_decision_function_, expected.oob_decision_function_, equal_nan=True
    )


@pytest.mark.parametrize("class_sampling", [None, "all"])
def test_lazy_forests_follow(class_sampling):
    X, y = make_data()
    fit = {"samples": draw_bags()} if class_sampling is None else {}
    own = {} if class_sampling is None else {"class_sampling": class_sampling}
    eager = RandomForestClassifier(**SETTINGS, **own).fit(X, y, **fit)
    lazy = LazyForestClassifier(**SETTINGS, **own, max_features="sqrt").fit(X, y, **fit)
    assert bits(eager, X) == bits(lazy, X)
    for traversal in ("batched", "single", "eager"):
        assert bits(lazy.set_params(traversal=traversal), X) == bits(eager, X)


def test_a_lazy_forest_has_no_more_trees_than_samples_were_given_for():
    X, y = load_diabetes(return_X_y=True)
    bags = draw_bags(len(X))
    lazy = LazyForestRegressor(**SETTINGS).fit(X, y, samples=bags)
    fewer = lazy.set_params(n_estimators=2).predict(X)
    eager = RandomForestRegressor(2, random_state=3, max_features=lazy.max_features)
    assert np.array_equal(fewer, eager.fit(X, y, samples=bags[:2]).predict(X))
    lazy.set_params(n_estimators=9)
    with pytest.raises(ValueError, match="samples must be given for each tree"):
        lazy.predict(X)


def test_files_and_pickles_keep_the_samples(tmp_path):
    X, y = make_data()
    bags = draw_bags()
    forest = RandomForestClassifier(**SETTINGS).fit(X, y, samples=bags)
    forest.save(tmp_path / "forest.spinney")
    for copy in (spinney.load(tmp_path / "forest.spinney"), pickle.loads(pickle.dumps(forest))):
        assert bits(copy, X) == bits(forest, X)
        for rows, bag in zip(copy.estimators_samples_, bags, strict=True):
            assert np.array_equal(rows, np.sort(bag))
    lazy = LazyForestClassifier(**SETTINGS, max_features="sqrt").fit(X, y, samples=bags)
    assert bits(pickle.loads(pickle.dumps(lazy)), X) == bits(forest, X)


def test_warm_start_adds_trees_whose_samples_are_given():
    X, y = make_data()
    bags = draw_bags()
    for random_state in (3, None):
        forest = RandomForestClassifier(2, warm_start=True, random_state=random_state)
        forest.fit(X, y, samples=bags[:2])
        forest.set_params(n_estimators=N_TREES).fit(X, y, samples=bags)
        assert len(forest) == N_TREES
        assert all(
            np.array_equal(rows, np.sort(bag))
            for rows, bag in zip(forest.estimators_samples_, bags, strict=True)
        )
    whole = RandomForestClassifier(**SETTINGS).fit(X, y, samples=bags)
    forest = RandomForestClassifier(2, warm_start=True, random_state=3).fit(X, y, samples=bags[:2])
    forest.set_params(n_estimators=N_TREES)
    for samples in (None, [bags[1], bags[0], *bags[2:]]):
        with pytest.raises(ValueError, match="warm_start=True adds to the trees"):
            forest.fit(X, y, samples=samples)
        assert len(forest) == 2
    assert bits(forest.fit(X, y, samples=bags), X) == bits(whole, X)


def test_blocks_stay_out_of_bag_together():
    X, y = make_data()
    groups = np.arange(120) // 10
    bags = [np.flatnonzero(groups % N_TREES != tree) for tree in range(N_TREES)]
    forest = RandomForestClassifier(**SETTINGS, oob_score=True).fit(X, y, samples=bags)
    for tree, estimator in enumerate(forest.estimators_):
        rows = groups % N_TREES == tree
        assert np.array_equal(forest.oob_decision_function_[rows], estimator.predict_proba(X[rows]))


X_SMALL, Y_SMALL = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([[0, 1]], r"each of the 2 trees.*Got 1 of them"),
        (7, r"each of the 2 trees.*Got int"),
        ([[0, 4], [1]], r"indices in the range \[0, 4\). Got 4 for tree 0"),
        ([[0], [-1]], r"indices in the range \[0, 4\). Got -1 for tree 1"),
        ([[0], []], r"a sample for each tree. Got none for tree 1"),
        ([[0], [0.5]], r"1D array of indices, or a mask.*float64 for tree 1"),
        ([[0], [[0, 1]]], r"1D array of indices, or a mask.*Got 2 dimensions"),
        ([[0], [True, False]], r"A mask in samples must be of the 4 samples. Got 2 values"),
        (np.ones((3, 4), dtype=int), r"shape \(n_estimators, n_samples\), \(2, 4\). Got \(3, 4\)"),
        (np.full((2, 4), -1), r"whole numbers that are not negative"),
        (np.full((2, 4), 0.5), r"whole numbers that are not negative"),
        (np.full((2, 4), np.nan), r"whole numbers that are not negative"),
        (np.zeros((2, 4), dtype=int), r"a sample for each tree. Got none for tree 0"),
    ],
)
def test_illegal_samples_are_named(samples, message):
    forest = RandomForestClassifier(2)
    with pytest.raises(ValueError, match=message):
        forest.fit(X_SMALL, Y_SMALL, samples=samples)
    assert not hasattr(forest, "forest_")


@pytest.mark.parametrize(
    "params",
    [
        {"bootstrap": False},
        {"bootstrap": "poisson"},
        {"max_samples": 2},
        {"replace": False},
        {"class_sampling": "all"},
    ],
)
def test_samples_exclude_parameters_that_draw(params):
    forest = RandomForestClassifier(2, **params)
    with pytest.raises(ValueError, match=f"needs bootstrap=True.*Got {next(iter(params))}="):
        forest.fit(X_SMALL, Y_SMALL, samples=[[0, 1], [2, 3]])


def test_samples_without_weight_are_refused():
    with pytest.raises(ValueError, match="samples of weight 0 for tree 1"):
        RandomForestClassifier(2).fit(
            X_SMALL, Y_SMALL, sample_weight=[1, 1, 0, 0], samples=[[0, 1], [2, 3]]
        )
    with pytest.raises(ValueError, match="needs bootstrap=True"):
        BalancedRandomForestClassifier(2).fit(X_SMALL, Y_SMALL, samples=[[0, 1], [2, 3]])


# --- Draws by class ------------------------------------------------------------------------------


def count_classes(forest, y):
    return np.array([np.bincount(y[rows], minlength=3) for rows in forest.estimators_samples_])


@pytest.mark.parametrize("forest_class", CLASSIFIERS)
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize(
    ("class_sampling", "drawn"),
    [("all", "least"), ("majority", [0]), ({0: 7, 2: 3}, None), (lambda _: {1: 5}, None)],
)
def test_trees_get_the_samples_of_each_class_that_are_asked_for(
    forest_class, replace, class_sampling, drawn
):
    X, y = make_data()
    sizes = np.bincount(y)
    expected = sizes.copy()
    if drawn == "least":
        expected[:] = sizes.min()
    elif drawn is not None:
        expected[drawn] = sizes.min()
    else:
        wanted = class_sampling if isinstance(class_sampling, dict) else class_sampling(y)
        for label, n in wanted.items():
            expected[label] = n
    forest = forest_class(**SETTINGS, replace=replace, class_sampling=class_sampling).fit(X, y)
    assert np.all(count_classes(forest, y) == expected)
    if not replace:
        assert all(len(np.unique(rows)) == len(rows) for rows in forest.estimators_samples_)
    again = forest_class(**SETTINGS).fit(X, y, samples=forest.estimators_samples_)
    assert bits(again, X) == bits(forest, X)


def test_draws_by_class_are_those_of_the_balanced_forest():
    X, y = make_data()
    balanced = BalancedRandomForestClassifier(N_TREES, random_state=3).fit(X, y)
    forest = RandomForestClassifier(**SETTINGS, class_sampling="all").fit(X, y)
    assert bits(forest, X) == bits(balanced, X)


def test_folds_are_refitted():
    X, y = make_data()
    forest = RandomForestClassifier(**SETTINGS, class_sampling="all")
    cv = GroupKFold(3)
    groups = np.arange(120) % 6
    ours = cross_val_score(forest, X, y, cv=cv, groups=groups)
    theirs = sklearn_cross_val_score(forest, X, y, cv=cv, groups=groups)
    assert np.array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"class_sampling": "some"}, "'class_sampling' parameter"),
        ({"class_sampling": 1.5}, "'class_sampling' parameter"),
        ({"class_sampling": "all", "bootstrap": False}, "None unless bootstrap=True"),
        ({"class_sampling": "all", "bootstrap": "poisson"}, "None unless bootstrap=True"),
        ({"class_sampling": "all", "max_samples": 3}, "Got max_samples=3 besides"),
        ({"class_sampling": {5: 1}}, "class_sampling must have classes of y"),
        ({"class_sampling": {0: 3}, "replace": False}, "at most its 2 samples"),
    ],
)
def test_illegal_class_sampling_is_named(params, message):
    with pytest.raises(ValueError, match=message):
        RandomForestClassifier(2, **params).fit(X_SMALL, Y_SMALL)
    with pytest.raises(ValueError, match=message):
        LazyForestClassifier(2, **{"bootstrap": True, **params}).fit(X_SMALL, Y_SMALL)


def test_class_sampling_takes_one_output():
    two = [[0, 1], [1, 0], [1, 1], [0, 0]]
    with pytest.raises(ValueError, match=r"one output of classes.*Got 2"):
        RandomForestClassifier(2, class_sampling="all").fit(X_SMALL, two)
