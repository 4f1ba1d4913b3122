"""Importances by unseen samples, compared with permutations of whole columns."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.inspection import permutation_importance
from sklearn.metrics import get_scorer, log_loss, make_scorer, roc_auc_score

import spinney


def loss_of(forest, scoring, tree, rows, target):
    """Return the losses of one tree for rows, whose targets are codes or numbers."""
    values = tree.tree_.predict(np.ascontiguousarray(rows))
    values = values.reshape(len(rows), forest.n_outputs_, -1)
    losses = np.zeros(target.shape)
    for output in range(forest.n_outputs_):
        of_output, y = values[:, output], target[:, output]
        if scoring == "accuracy":
            losses[:, output] = np.argmax(of_output, axis=1) != y
        elif scoring == "neg_brier_score":
            losses[:, output] = ((of_output - np.eye(of_output.shape[1])[y]) ** 2).sum(axis=1)
        elif scoring == "neg_mean_squared_error":
            losses[:, output] = (of_output[:, 0] - y) ** 2
        else:
            losses[:, output] = np.abs(of_output[:, 0] - y)
    return losses.mean(axis=1)


def list_unseen(forest, n):
    return [np.setdiff1d(np.arange(n), rows) for rows in forest.estimators_samples_]


def fit(scoring, n_outputs):
    rng = np.random.default_rng(0)
    if scoring in ("accuracy", "neg_brier_score"):
        X, y = load_iris(return_X_y=True)
        X = np.column_stack([X, rng.random(len(X))])
        codes = y[:, np.newaxis] if n_outputs == 1 else np.column_stack([y, y > 0])
        labels = np.array(["a", "b", "c"])[codes]
        forest = spinney.RandomForestClassifier(8, random_state=0, max_features=2)
        return forest.fit(X, labels[:, 0] if n_outputs == 1 else labels), X, labels, codes
    X, y = load_diabetes(return_X_y=True)
    target = y[:, np.newaxis] if n_outputs == 1 else np.column_stack([y, X[:, 2]])
    forest = spinney.ExtraTreesRegressor(8, random_state=0, bootstrap=True, min_samples_leaf=3)
    return forest.fit(X, target[:, 0] if n_outputs == 1 else target), X, target, target


SCORINGS = ("accuracy", "neg_brier_score", "neg_mean_squared_error", "neg_mean_absolute_error")


@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_importances_are_those_of_permuted_columns(scoring, n_outputs):
    """With many repeats, by permutations of another source, up to what chance allows."""
    forest, X, y, codes = fit(scoring, n_outputs)
    y = y[:, 0] if n_outputs == 1 else y
    n_repeats = 60
    found = forest.permutation_importance_oob(
        X, y, n_repeats=n_repeats, scoring=scoring, random_state=1
    )
    assert found.importances.shape == (X.shape[1], n_repeats)
    np.testing.assert_allclose(found.importances_mean, found.importances.mean(axis=1))
    np.testing.assert_allclose(found.importances_std, found.importances.std(axis=1))
    rng = np.random.default_rng(1)
    expected = np.zeros((X.shape[1], n_repeats))
    for tree, rows in zip(forest.estimators_, list_unseen(forest, len(X)), strict=True):
        before = loss_of(forest, scoring, tree, X[rows], codes[rows])
        for feature in range(X.shape[1]):
            for repeat in range(n_repeats):
                permuted = X[rows]
                permuted[:, feature] = rng.permutation(permuted[:, feature])
                after = loss_of(forest, scoring, tree, permuted, codes[rows])
                expected[feature, repeat] += (after - before).mean() / len(forest)
    spread = np.sqrt((expected.var(axis=1) + found.importances.var(axis=1)) / n_repeats)
    difference = np.abs(expected.mean(axis=1) - found.importances_mean)
    assert np.all(difference <= 5 * spread + 1e-12)
    # The repeats vary as much.
    np.testing.assert_allclose(found.importances_std, expected.std(axis=1), rtol=0.6, atol=1e-3)


def test_groups_are_permuted_together():
    """A group of all features has new rows: the loss is that of other rows' predictions."""
    forest, X, y, _ = fit("neg_mean_squared_error", 1)
    y = y[:, 0]
    result = forest.permutation_importance_oob(
        X, y, groups=[range(10)], n_repeats=40, random_state=0
    )
    assert result.importances.shape == (1, 40)
    expected = 0.0
    for tree, rows in zip(forest.estimators_, list_unseen(forest, len(X)), strict=True):
        values, target = tree.predict(X[rows]), y[rows]
        of_pairs = (values[:, np.newaxis] - target) ** 2
        expected += (of_pairs.mean() - np.diag(of_pairs).mean()) / len(forest)
    np.testing.assert_allclose(result.importances_mean, expected, rtol=0.03)
    # Groups of one feature each are the features; others are left as they are.
    alone = forest.permutation_importance_oob(X, y, random_state=3).importances
    grouped = forest.permutation_importance_oob(X, y, groups=[[4], [2]], random_state=3)
    np.testing.assert_array_equal(grouped.importances, alone[[4, 2]])
    names = [f"f{i}" for i in range(10)]
    frame = pd.DataFrame(X, columns=names)
    forest.fit(frame, y)
    named = forest.permutation_importance_oob(frame, y, groups=[["f4"], ["f2"]], random_state=3)
    np.testing.assert_array_equal(named.importances, alone[[4, 2]])


def test_storage_threads_and_seeds():
    forest, X, y, _ = fit("accuracy", 1)
    y = y[:, 0]
    expected = forest.permutation_importance_oob(X, y, random_state=0)
    for rows in (X, np.asfortranarray(X), sparse.csr_matrix(X), sparse.csc_matrix(X)):
        for n_jobs in (1, 3):
            found = forest.set_params(n_jobs=n_jobs).permutation_importance_oob(
                rows, y, random_state=0
            )
            np.testing.assert_array_equal(found.importances, expected.importances)
    other = forest.permutation_importance_oob(X, y, random_state=1)
    assert np.any(other.importances != expected.importances)


def test_wide_sparse_columns_are_as_dense_ones():
    rng = np.random.default_rng(0)
    X = sparse.random(300, 700, 0.03, format="csr", random_state=0)
    y = np.ravel(X[:, :30].sum(axis=1)) + rng.normal(size=300) / 20
    forest = spinney.RandomForestRegressor(6, random_state=0).fit(X, y)
    of_sparse = forest.permutation_importance_oob(X, y, random_state=0)
    of_dense = forest.permutation_importance_oob(X.toarray(), y, random_state=0)
    np.testing.assert_array_equal(of_sparse.importances, of_dense.importances)
    used = np.unique(np.concatenate([tree.tree_.feature for tree in forest.estimators_]))
    unused = np.setdiff1d(np.arange(700), used)
    assert not of_sparse.importances[unused].any()
    assert of_sparse.p_values[np.argmax(of_sparse.importances_mean)] == 0
    assert np.all(of_sparse.p_values[of_sparse.importances_mean <= 0] >= 0.5)


class OutOfBag:
    """Predicts for each row of X by the trees that have not seen the training sample of its number.

    Rows that all trees have seen are left out.
    """

    def __init__(self, forest, n):
        self.forest = forest
        unseen = np.ones((n, len(forest)), dtype=bool)
        for tree, rows in enumerate(forest.estimators_samples_):
            unseen[rows, tree] = False
        self.unseen, self.rows = unseen, np.flatnonzero(unseen.any(axis=1))

    def find_values(self, X):
        shape = self.forest.estimators_[0].tree_.value.shape[1:]
        sums = np.zeros((len(self.unseen), *shape))
        # In the order of the trees, on which the last bits depend.
        for number, tree in enumerate(self.forest.estimators_):
            rows = self.unseen[:, number]
            leaves = tree.tree_.apply(np.ascontiguousarray(X)[rows])
            sums[rows] += tree.tree_.value[leaves]
        counts = self.unseen[self.rows].sum(axis=1)
        return sums[self.rows] / counts[:, np.newaxis, np.newaxis]


def permute_and_score(forest, X, y, score, n_repeats, seed, groups=None):
    """Return what the score of the predictions out of bag loses if columns of X are permuted."""
    oob = OutOfBag(forest, len(X))
    baseline = score(y[oob.rows], oob.find_values(X))
    groups = [[feature] for feature in range(X.shape[1])] if groups is None else groups
    losses = np.zeros((len(groups), n_repeats))
    seed = np.random.RandomState(seed).randint(np.iinfo(np.int32).max)
    random = np.random.RandomState(seed)
    for repeat in range(n_repeats):
        donors = random.permutation(len(X))
        for number, group in enumerate(groups):
            permuted = X.copy()
            permuted[:, group] = X[donors][:, group]
            losses[number, repeat] = baseline - score(y[oob.rows], oob.find_values(permuted))
    return losses


def share(scorer):
    return lambda y, values: scorer(y, values[:, 0])


@pytest.mark.parametrize("n_trees", [3, 12])
def test_scores_of_the_forest_are_those_of_permuted_columns(n_trees):
    """With three trees, all have seen some of the samples."""
    X, y = load_breast_cancer(return_X_y=True)
    X, labels = X[::2, ::4], np.array(["bad", "good"])[y[::2]]
    forest = spinney.RandomForestClassifier(n_trees, random_state=0, max_leaf_nodes=8)
    forest.fit(X, labels)
    three, flowers = load_iris(return_X_y=True)
    of_three = spinney.RandomForestClassifier(n_trees, random_state=0).fit(three, flowers)
    cases = (
        (forest, X, labels, "roc_auc", lambda y, p: roc_auc_score(y, p[:, 0, 1])),
        (forest, X, labels, "neg_log_loss", share(lambda y, p: -log_loss(y, p))),
        (
            forest,
            X,
            labels,
            get_scorer("accuracy"),
            share(lambda y, p: np.mean(y == forest.classes_[p.argmax(axis=1)])),
        ),
        (
            forest,
            X,
            labels,
            lambda estimator, X, y: estimator.predict_proba(X)[y == "bad", 0].mean(),
            share(lambda y, p: p[y == "bad", 0].mean()),
        ),
        (
            of_three,
            three,
            flowers,
            "roc_auc_ovr",
            share(lambda y, p: roc_auc_score(y, p, multi_class="ovr")),
        ),
        (
            of_three,
            three,
            flowers,
            "balanced_accuracy",
            share(lambda y, p: np.mean([np.mean(p[y == c].argmax(axis=1) == c) for c in range(3)])),
        ),
    )
    for model, rows, target, scoring, score in cases:
        found = model.permutation_importance_oob(
            rows, target, scoring=scoring, n_repeats=3, random_state=5
        )
        expected = permute_and_score(model, rows, target, score, 3, 5)
        if str(scoring).startswith("roc_auc"):
            # Ranks would show it if the last bits of predictions differed.
            np.testing.assert_array_equal(found.importances, expected)
        else:
            np.testing.assert_allclose(found.importances, expected, rtol=1e-11, atol=1e-14)
        assert np.any(expected != 0)
    for rows in (sparse.csr_matrix(X), spinney.Dataset(X)):
        for n_jobs in (1, 3):
            again, first = (
                forest.set_params(n_jobs=n_jobs).permutation_importance_oob(
                    data, labels, scoring="roc_auc", random_state=1
                )
                for data in (rows, X)
            )
            np.testing.assert_array_equal(again.importances, first.importances)
    groups = [[0, 3, 5], [6]]
    found = forest.permutation_importance_oob(
        X, labels, scoring="roc_auc", groups=groups, random_state=2
    )
    score = cases[0][-1]
    expected = permute_and_score(forest, X, labels, score, 5, 2, groups)
    np.testing.assert_allclose(found.importances, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_scores_of_numbers(n_outputs):
    forest, X, y, _ = fit("neg_mean_squared_error", n_outputs)
    y = y[:, 0] if n_outputs == 1 else y

    def score(y, values):
        found = values[:, 0, 0] if n_outputs == 1 else values[:, :, 0]
        residuals = ((y - found) ** 2).sum(axis=0)
        return np.mean(1 - residuals / ((y - y.mean(axis=0)) ** 2).sum(axis=0))

    expected = permute_and_score(forest, X, y, score, 5, 0)
    for scoring in ("r2", make_scorer(get_scorer("r2")._score_func)):
        found = forest.permutation_importance_oob(X, y, scoring=scoring, random_state=0)
        np.testing.assert_allclose(found.importances, expected, rtol=1e-10, atol=1e-13)
    column = y[:, np.newaxis] if n_outputs == 1 else y
    again = forest.permutation_importance_oob(X, column, scoring="r2", random_state=0)
    np.testing.assert_array_equal(again.importances, found.importances)


def test_scores_of_the_forest_agree_with_those_by_scikit_learn():
    """On average over permutations, which are drawn in another way."""
    X, y = load_iris(return_X_y=True)
    forest = spinney.RandomForestClassifier(8, random_state=0).fit(X, y)
    oob = OutOfBag(forest, len(X))
    scorer = make_scorer(roc_auc_score, response_method="predict_proba", multi_class="ovo")
    found = forest.permutation_importance_oob(X, y, scoring=scorer, n_repeats=30, random_state=0)

    def score(estimator, X, y):
        return roc_auc_score(y[oob.rows], oob.find_values(X)[:, 0], multi_class="ovo")

    expected = permutation_importance(forest, X, y, scoring=score, n_repeats=30, random_state=1)
    spread = np.sqrt((expected.importances_std**2 + found.importances_std**2) / 30)
    difference = np.abs(expected.importances_mean - found.importances_mean)
    assert np.all(difference <= 5 * spread)


def test_scorers_that_are_not_possible():
    forest, X, y, _ = fit("accuracy", 1)
    y = y[:, 0]
    ask = forest.permutation_importance_oob
    with pytest.raises(TypeError, match=r"scoring must return a number\. Got \{"):
        ask(X, y, scoring=lambda estimator, X, y: {"a": 1.0})
    with pytest.raises(ValueError, match="predicts out of bag for all samples of its X"):
        ask(X, y, scoring=lambda estimator, X, y: estimator.predict(X[:5]).shape[0])
    with pytest.raises(ValueError, match="scoring"):
        ask(X, y, scoring=roc_auc_score)
    with pytest.raises(ValueError, match=r"'scoring' parameter of .* must be None"):
        ask(X, y, scoring="roc_auc_ovr", importance_type="impurity")


def test_p_values_of_scores_of_the_forest():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + 0.3 * rng.normal(size=200)
    forest = spinney.RandomForestRegressor(20, random_state=0).fit(X, y)
    result = forest.permutation_importance_oob(X, y, scoring="r2", n_null_fits=9, random_state=0)
    assert result.p_values[0] == 0.1
    assert np.all(result.p_values[1:] > 0.1)


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("scoring", ["accuracy", "neg_mean_squared_error"])
def test_decreases_of_impurity_by_unseen_samples(scoring, n_outputs):
    forest, X, y, codes = fit(scoring, n_outputs)
    y = y[:, 0] if n_outputs == 1 else y
    result = forest.permutation_importance_oob(X, y, importance_type="impurity")
    assert result.importances.shape == (X.shape[1], len(forest))
    for number, rows in enumerate(list_unseen(forest, len(X))):
        tree = forest.estimators_[number].tree_
        expected = np.zeros(X.shape[1])
        passes = tree.decision_path(X[rows]).toarray().astype(bool)
        for node in np.flatnonzero((tree.feature >= 0) & passes.any(axis=0)):
            for output in range(n_outputs):
                target = codes[rows, output]
                if scoring == "accuracy":
                    target = np.eye(tree.max_n_classes)[target]
                target = target.reshape(len(rows), -1)
                centred = target - target[passes[:, node]].mean(axis=0, keepdims=True)
                for child in (tree.children_left[node], tree.children_right[node]):
                    added = tree.value[child, output] - tree.value[node, output]
                    expected[tree.feature[node]] += np.sum(centred[passes[:, child]] * added)
        expected /= len(rows) * n_outputs
        np.testing.assert_allclose(result.importances[:, number], expected, rtol=1e-9, atol=1e-12)


def test_noise_of_many_levels_is_not_important():
    """Over several data sets: in each of them, noise is by chance related to the target."""
    found = {"permutation": [], "impurity": []}
    for seed in range(16):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 2, (600, 6)).astype(float)
        y = (X[:, :5].sum(axis=1) + rng.normal(size=600) > 2.5).astype(int)
        X[:, 5] = rng.permutation(1000)[:600]
        forest = spinney.RandomForestClassifier(50, random_state=seed).fit(X, y)
        assert np.argmax(forest.feature_importances_) == 5
        for importance_type, of_noise in found.items():
            result = forest.permutation_importance_oob(
                X, y, random_state=seed, importance_type=importance_type
            )
            assert result.importances_mean[:5].min() > 0
            of_noise.append(result.importances_mean[5])
    for of_noise in found.values():
        assert abs(count_standard_errors(of_noise)) < 3


def test_noise_is_not_important_beside_continuous_columns():
    """If targets were not centred at each split, noise would be at 9 standard errors below 0."""
    of_noise = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        X = np.column_stack([rng.normal(size=(300, 5)), rng.integers(0, 1000, 300)])
        y = (X[:, :5].sum(axis=1) + rng.normal(size=300) > 0).astype(int)
        forest = spinney.RandomForestClassifier(20, random_state=seed).fit(X, y)
        result = forest.permutation_importance_oob(X, y, importance_type="impurity")
        of_noise.append(result.importances_mean[5])
    assert abs(count_standard_errors(of_noise)) < 3


def count_standard_errors(values):
    """Return how far from 0 the mean of the values is."""
    return np.mean(values) / (np.std(values, ddof=1) / np.sqrt(len(values)))


@pytest.mark.parametrize("importance_type", ["permutation", "impurity"])
def test_p_values_by_forests_for_permuted_targets(importance_type):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=200) > 0, "b", "a")
    forest = spinney.RandomForestClassifier(20, random_state=0, max_features=None).fit(X, y)
    p_values = [
        forest.permutation_importance_oob(
            X, y, importance_type=importance_type, n_null_fits=9, random_state=seed
        ).p_values
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(p_values[0], p_values[1])
    assert not np.array_equal(p_values[0], p_values[2])
    for found in p_values:
        # The least that nine forests can say, and tenths.
        assert found[0] == 0.1
        assert np.all(found[1:] > 0.1)
        np.testing.assert_allclose(found * 10, np.round(found * 10))


def test_missing_values_and_categories():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 6, 300), rng.normal(size=300)]).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0] % 2) + rng.normal(size=300) / 10
    forest = spinney.RandomForestRegressor(20, random_state=0, categorical_features=[0]).fit(X, y)
    result = forest.permutation_importance_oob(X, y, random_state=0)
    assert result.importances_mean[0] > 10 * np.abs(result.importances_mean[1])
    # Mixed in with columns of its own, scikit-learn's form of the result stays.
    assert set(result) == {"importances", "importances_mean", "importances_std", "p_values"}


def test_illegal_arguments():
    forest, X, y, _ = fit("accuracy", 1)
    y = y[:, 0]
    ask = forest.permutation_importance_oob
    for name, value in (
        ("n_repeats", 0),
        ("n_repeats", 1.5),
        ("scoring", "precise"),
        ("scoring", 3),
        ("importance_type", "gain"),
        ("n_null_fits", -1),
        ("groups", [[0, 9]]),
        ("groups", [[0], [0]]),
        ("groups", [[0.5]]),
        ("groups", [[]]),
        ("groups", 3),
        ("groups", "x"),
        ("groups", [["x"]]),
    ):
        with pytest.raises(ValueError, match=f"'{name}' parameter of permutation_importance_oob"):
            ask(X, y, **{name: value})
    with pytest.raises(ValueError, match=r"'groups' parameter of .* must be None"):
        ask(X, y, importance_type="impurity", groups=[[0]])
    with pytest.raises(ValueError, match="X must be the training samples, 150 rows"):
        ask(X[1:], y[1:])
    with pytest.raises(ValueError, match=r"y must have the 1 output\(s\) of training"):
        ask(X, np.column_stack([y, y]))
    for label, shown in (("x", "x"), ("alpha", "alpha")):
        with pytest.raises(ValueError, match=f"y must have the classes of training.*{shown}"):
            ask(X, np.where(y == "a", label, y.astype("U9")))
    with pytest.raises(ValueError, match="y must have the classes of training"):
        ask(X, np.zeros(150))
    numbers = spinney.RandomForestClassifier(2, random_state=0).fit(X, np.arange(150) % 3)
    for labels in (np.arange(150) % 3 + 0.7, np.array(["0", "1", "2"] * 50)):
        with pytest.raises(ValueError, match="y must have the classes of training"):
            numbers.permutation_importance_oob(X, labels)
    of_numbers, rows, target, _ = fit("neg_mean_squared_error", 1)
    target = target[:, 0].copy()
    target[3] = np.nan
    with pytest.raises(ValueError, match="y contains NaN"):
        of_numbers.permutation_importance_oob(rows, target)
    whole = spinney.ExtraTreesClassifier(2).fit(X, y)
    with pytest.raises(ValueError, match="trees have seen all samples"):
        whole.permutation_importance_oob(X, y)
    converted = spinney.from_sklearn(forest.to_sklearn())
    with pytest.raises(ValueError, match="does not know the samples of all its trees"):
        converted.permutation_importance_oob(X, y)


@pytest.mark.parametrize(
    "options",
    [{}, {"importance_type": "impurity"}, {"scoring": "balanced_accuracy"}, {"groups": [[0], [1]]}],
)
def test_trees_that_have_seen_all_samples_know_no_importances(options):
    """By no score is 0 an answer."""
    _, X, y, _ = fit("accuracy", 1)
    forest = spinney.RandomForestClassifier(3, max_samples=100 * len(y), random_state=0)
    forest.fit(X, y[:, 0])
    with pytest.raises(ValueError, match="There is no tree that has not seen all samples"):
        forest.permutation_importance_oob(X, y[:, 0], **options)
    no_groups = forest.set_params(max_samples=None).fit(X, y[:, 0])
    assert no_groups.permutation_importance_oob(X, y[:, 0], groups=[]).importances.shape == (0, 5)


@pytest.mark.parametrize("scoring", [None, "neg_mean_squared_error", "r2"])
@pytest.mark.parametrize("max_samples", [60, 0.25])
def test_only_some_samples_count(scoring, max_samples):
    """The targets of the others have no influence, and all of them count if that is wanted."""
    X, y = load_diabetes(return_X_y=True)
    forest = spinney.RandomForestRegressor(20, random_state=0).fit(X, y)

    def importances(y, max_samples):
        return forest.permutation_importance_oob(
            X, y, n_repeats=2, scoring=scoring, max_samples=max_samples, random_state=0
        ).importances

    of_all = importances(y, None)
    np.testing.assert_array_equal(importances(y, 1.0), of_all)
    np.testing.assert_array_equal(importances(y, len(y)), of_all)
    found = importances(y, max_samples)
    assert not np.array_equal(found, of_all)
    # A seed of scikit-learn's kind, whose first number is the seed of permutations and samples.
    seed = np.random.RandomState(0).randint(np.iinfo(np.int32).max)
    n_chosen = max_samples if isinstance(max_samples, int) else int(max_samples * len(y))
    others = np.random.RandomState(seed).permutation(len(y))[n_chosen:]
    changed = y.copy()
    changed[others] += 1000.0
    np.testing.assert_array_equal(importances(changed, max_samples), found)


def test_many_samples_are_not_all_needed(monkeypatch):
    from spinney._explain import oob_importance

    X, y = load_diabetes(return_X_y=True)
    forest = spinney.RandomForestRegressor(10, random_state=0).fit(X, y)
    expected = forest.permutation_importance_oob(X, y, max_samples=50, random_state=0).importances
    monkeypatch.setattr(oob_importance, "_ENOUGH_SAMPLES", 50)
    found = forest.permutation_importance_oob(X, y, random_state=0).importances
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("scoring", [None, "r2"])
def test_progress_is_shown_on_demand(scoring, capfd):
    X, y = load_diabetes(return_X_y=True)
    forest = spinney.RandomForestRegressor(4, random_state=0).fit(X, y)
    forest.permutation_importance_oob(X, y, scoring=scoring)
    assert capfd.readouterr().err == ""
    forest.permutation_importance_oob(X, y, scoring=scoring, n_repeats=1, verbose=2)
    assert "permuting tree 4 of 4" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("verbose", -1),
        ("verbose", "1"),
        ("max_samples", 0),
        ("max_samples", 1.5),
        ("max_samples", True),
    ],
)
def test_illegal_arguments_are_named(name, value):
    X, y = load_diabetes(return_X_y=True)
    forest = spinney.RandomForestRegressor(2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=name):
        forest.permutation_importance_oob(X, y, **{name: value})
