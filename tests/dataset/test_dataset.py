"""Data sets: what is grown on them and predicted for them is what the matrix gives, bit for bit."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import BaggingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401 - makes the class public
from sklearn.model_selection import (
    GridSearchCV,
    HalvingRandomSearchCV,
    cross_val_predict,
    cross_validate,
    learning_curve,
    permutation_test_score,
    train_test_split,
)
from sklearn.pipeline import make_pipeline

import spinney
from fits import TREE, assert_same_fit
from made_models import make_data
from spinney import Dataset
from spinney.inspection import class_prototypes
from strategies import (
    AWKWARD_NUMBERS,
    CLASSIFIERS,
    FOREST_CLASSIFIERS,
    FOREST_OF_TASK,
    FORESTS,
    LAZY_FORESTS,
    SMALL_INTEGERS,
    TREE_OF_TASK,
    data,
    dense_storages,
    examples,
    growth_rules,
    sparse_storages,
)

CLASSES = [*CLASSIFIERS, *FOREST_CLASSIFIERS, spinney.LazyForestClassifier]


def small(estimator_class, **parameters):
    is_forest = hasattr(estimator_class, "estimators_") or "Forest" in str(estimator_class)
    is_forest |= "Trees" in str(estimator_class)
    return estimator_class(
        **({"n_estimators": 3} if is_forest else {}), random_state=0, **parameters
    )


@st.composite
def rows(draw, n_samples):
    """Draw a key of rows, and the numbers of these rows."""
    numbers = st.integers(-n_samples, n_samples - 1)
    kind = draw(st.sampled_from(("all", "slice", "list", "array", "mask")))
    if kind == "all":
        return slice(None)
    if kind == "slice":
        return slice(draw(st.none() | numbers), None, draw(st.sampled_from((1, 2, -1))))
    if kind == "mask":
        return np.array(draw(st.lists(st.booleans(), min_size=n_samples, max_size=n_samples)))
    listed = draw(st.lists(numbers, min_size=1, max_size=2 * n_samples))
    return listed if kind == "list" else np.array(listed, dtype=draw(st.sampled_from(("i4", "i8"))))


@examples(30, deadline=None)
@given(st.data(), st.sampled_from((*TREE_OF_TASK,)), st.booleans(), st.booleans())
def test_rows_of_a_data_set_give_the_bits_of_the_rows(draw, task, is_sparse, is_forest):
    """Any task, storage, splitter, kind of draw, stop rule, weights, missing values, categories."""
    values = draw.draw(st.sampled_from((SMALL_INTEGERS, AWKWARD_NUMBERS)))
    X, y, weight = draw.draw(data(task, values=values, missing=True))
    key = draw.draw(rows(len(X)))
    own = np.arange(len(X))[key]
    if own.size == 0:
        return
    categorical = None
    if values is SMALL_INTEGERS:
        mask = draw.draw(st.lists(st.booleans(), min_size=X.shape[1], max_size=X.shape[1]))
        categorical = np.array(mask) if any(mask) else None
    parameters = draw.draw(growth_rules())
    parameters |= {
        "splitter": draw.draw(st.sampled_from(("best", "random"))),
        "max_features": draw.draw(st.sampled_from((None, 1, "sqrt"))),
        "feature_sampling": draw.draw(st.sampled_from(("all", "active"))),
        "categorical_features": categorical,
        "random_state": draw.draw(st.integers(0, 9)),
    }
    estimator = TREE_OF_TASK[task](**parameters)
    if is_forest:
        lazy = {"classes": spinney.LazyForestClassifier, "numbers": spinney.LazyForestRegressor}
        if task in lazy:
            estimator = lazy[task](n_estimators=3, **parameters)
        else:
            del parameters["splitter"]
            estimator = FOREST_OF_TASK[task](n_estimators=3, **parameters)
        estimator.bootstrap = draw.draw(st.sampled_from((True, False, "poisson")))
    weight = None if weight is None or not weight[own].any() else weight[own]
    if task == "counts" and not y[own].any():
        return
    X = sp.csr_matrix(X) if is_sparse else X
    dataset = Dataset(X, categorical_features=categorical)
    expected = clone(estimator).fit(X[own], y[own], sample_weight=weight)
    found = clone(estimator).fit(dataset[key], y[own], sample_weight=weight)
    if is_forest and "Lazy" in type(estimator).__name__:
        assert found.forest_.max_features == expected.forest_.max_features
        vars_found, vars_expected = vars(found).copy(), vars(expected).copy()
        del vars_found["forest_"], vars_expected["forest_"]
        assert_equal(vars_found, vars_expected)
    else:
        assert_same_fit(found, expected)
    predict = "predict_proba" if task == "classes" else "predict"
    assert_equal(getattr(found, predict)(X), getattr(expected, predict)(X))
    assert_equal(getattr(found, predict)(dataset), getattr(expected, predict)(X))
    assert_equal(getattr(found, predict)(dataset[key]), getattr(expected, predict)(X[own]))


@pytest.mark.parametrize("estimator_class", [*FORESTS, *LAZY_FORESTS])
@pytest.mark.parametrize("bootstrap", [True, False, "poisson"])
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
def test_forests_of_every_kind(estimator_class, bootstrap):
    X, y = load_breast_cancer(return_X_y=True)
    X[::7, 3] = np.nan
    own = np.random.default_rng(0).permutation(len(X))[:300]
    estimator = small(estimator_class, bootstrap=bootstrap, n_jobs=2)
    if bootstrap and not hasattr(estimator, "traversal"):
        estimator.oob_score = True
    dataset = Dataset(X)
    expected, found = clone(estimator).fit(X[own], y[own]), estimator.fit(dataset[own], y[own])
    assert_equal(found.predict(dataset[::-1]), expected.predict(X[::-1]))
    if not hasattr(estimator, "traversal"):
        assert_same_fit(found, expected)
        assert_equal(found.apply(dataset), expected.apply(X))
        found_path, expected_path = found.decision_path(dataset), expected.decision_path(X)
        assert (found_path[0] != expected_path[0]).nnz == 0


@pytest.mark.parametrize("estimator_class", CLASSES)
def test_every_storage(estimator_class):
    rng = np.random.default_rng(1)
    X, y = rng.integers(-2, 3, (40, 5)), rng.integers(0, 3, 40)
    own = np.flatnonzero(rng.random(40) < 0.7)
    expected = small(estimator_class).fit(X[own], y[own])
    probabilities = expected.predict_proba(X)
    for name, stored in (*dense_storages(X), *sparse_storages(X)):
        dataset = Dataset(stored, n_jobs=2)
        found = small(estimator_class).fit(dataset[own], y[own])
        assert_equal(found.predict_proba(X), probabilities, err_msg=name)
        assert_equal(found.predict_proba(dataset), probabilities, err_msg=name)


def test_a_wide_sparse_matrix():
    """Its rows are read entry by entry."""
    rng = np.random.default_rng(0)
    X = sp.random(300, 5000, density=0.02, format="csr", rng=rng)
    y = (
        np.asarray(X[:, :2000].sum(axis=1)).ravel()
        > np.asarray(X[:, 2000:4000].sum(axis=1)).ravel()
    )
    dataset, own = Dataset(X), np.flatnonzero(rng.random(300) < 0.8)
    for estimator_class in CLASSES:
        expected = small(estimator_class).fit(X[own], y[own])
        found = small(estimator_class).fit(dataset[own], y[own])
        assert_equal(found.predict_proba(dataset), expected.predict_proba(X))
        assert_equal(found.predict_proba(dataset[own]), expected.predict_proba(X[own]))


@pytest.mark.parametrize("estimator_class", [*FORESTS, *LAZY_FORESTS, *CLASSIFIERS])
def test_frames_with_categories(estimator_class):
    X, y = make_data()
    y = np.digitize(y, [-1.0, 2.5])
    # Rows that lack a category, and a missing value in each column.
    own = np.flatnonzero((X["colour"] != "blue").to_numpy())
    estimator = small(estimator_class, categorical_features=["colour"])
    dataset = Dataset(X, categorical_features=["colour"])
    assert dataset.feature_names == ["number", "count", "colour"]
    assert dataset.is_categorical.tolist() == [False, False, True]
    expected = clone(estimator).fit(X.iloc[own], y[own])
    for categorical_features in (["colour"], None, "from_dtype", [2], [False, False, True]):
        parameters = {"categorical_features": categorical_features}
        found = clone(estimator).set_params(**parameters).fit(dataset[own], y[own])
        assert_equal(found.categories_[2], expected.categories_[2])
        assert_equal(found.feature_names_in_, expected.feature_names_in_)
        assert_equal(found.predict(X), expected.predict(X))
        # "blue" is unknown to the estimator, and the codes of the other colours differ.
        assert_equal(found.predict(dataset), expected.predict(X))
        assert_equal(found.predict(dataset[own]), expected.predict(X.iloc[own]))
    other = Dataset(X.iloc[::-1][:20], categorical_features=["colour"])
    assert_equal(expected.predict(other), expected.predict(X.iloc[::-1][:20]))


def test_a_sparse_matrix_with_categories():
    rng = np.random.default_rng(3)
    X = sp.csr_matrix(rng.choice([0, 0, 3, 7, 9], (80, 4)).astype(float))
    y = rng.integers(0, 2, 80)
    mask = [True, False, True, False]
    # No row of these has a 0 in feature 0, so that the first other category has the code 0.
    own = np.flatnonzero(X[:, [0]].toarray().ravel() > 0)
    dataset = Dataset(X, categorical_features=mask)
    for estimator_class in CLASSES:
        estimator = small(estimator_class, categorical_features=mask)
        expected = clone(estimator).fit(X[own], y[own])
        found = clone(estimator).fit(dataset[own], y[own])
        assert_equal(found.categories_[0], expected.categories_[0])
        assert_equal(found.predict_proba(dataset), expected.predict_proba(X))
        assert_equal(found.predict_proba(dataset[own]), expected.predict_proba(X[own]))


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    X[::5, 2] = np.nan
    return X[:300], y[:300]


SEARCH = {"max_depth": [2, 4], "min_samples_leaf": [1, 5]}

FOREST = spinney.RandomForestClassifier(4, random_state=0)


def halving(X, y):
    search = HalvingRandomSearchCV(TREE, SEARCH, random_state=0, cv=3, n_candidates=4)
    return search.fit(X, y).cv_results_["mean_test_score"]


TOOLS = {
    "GridSearchCV": lambda X, y: GridSearchCV(FOREST, SEARCH, cv=3).fit(X, y).predict_proba(X),
    "GridSearchCV of processes": lambda X, y: (
        GridSearchCV(TREE, SEARCH, cv=3, n_jobs=2).fit(X, y).cv_results_["mean_test_score"]
    ),
    "HalvingRandomSearchCV": halving,
    "cross_validate": lambda X, y: [
        estimator.predict_proba(X)
        for estimator in cross_validate(FOREST, X, y, cv=3, return_estimator=True)["estimator"]
    ],
    "cross_val_predict": lambda X, y: cross_val_predict(TREE, X, y, cv=3, method="predict_proba"),
    "learning_curve": lambda X, y: learning_curve(TREE, X, y, cv=3)[:3],
    "permutation_test_score": lambda X, y: permutation_test_score(
        TREE, X, y, cv=3, n_permutations=3, random_state=0
    ),
    "BaggingClassifier": lambda X, y: (
        BaggingClassifier(TREE, 3, max_samples=0.5, random_state=0).fit(X, y).predict_proba(X)
    ),
    "Pipeline": lambda X, y: make_pipeline("passthrough", FOREST).fit(X, y).predict_proba(X),
    "train_test_split": lambda X, y: (
        clone(TREE).fit(train_test_split(X, random_state=0)[0], y[:225]).predict_proba(X)
    ),
    "spinney cross_val_predict": lambda X, y: spinney.model_selection.cross_val_predict(
        FOREST, X, y, method="predict_proba"
    ),
    "spinney cross_val_score": lambda X, y: spinney.model_selection.cross_val_score(
        clone(FOREST).set_params(bootstrap="poisson"), X, y
    ),
    "spinney cross_validate": lambda X, y: [
        estimator.predict_proba(X)
        for estimator in spinney.model_selection.cross_validate(
            FOREST, X, y, return_estimator=True
        )["estimator"]
    ],
    "cost_complexity_pruning_path": lambda X, y: TREE.cost_complexity_pruning_path(X, y)[
        "ccp_alphas"
    ],
    "explore": lambda X, y: (
        spinney.LazyForestClassifier(3, random_state=0)
        .fit(X, y)
        .explore(X, weights=True)
        .weights.toarray()
    ),
    "warm_start": lambda X, y: (
        clone(FOREST)
        .set_params(warm_start=True)
        .fit(X, y)
        .set_params(n_estimators=6)
        .fit(X, y)
        .predict_proba(X)
    ),
}


@pytest.mark.oldest
@pytest.mark.parametrize("tool", TOOLS)
def test_tools_take_data_sets(tool, cancer):
    X, y = cancer
    assert_equal(TOOLS[tool](Dataset(X), y), TOOLS[tool](X, y))


def test_bags_of_categories():
    """The values come back with their categories."""
    X, _ = make_data()
    dataset = Dataset(X, categorical_features=["colour"])[3:]
    table = np.asarray(dataset)
    assert table.dtype == object
    assert_equal(table[:, 0].astype(float), X["number"].to_numpy()[3:])
    is_missing = X["colour"].isna().to_numpy()[3:]
    assert_equal(table[~is_missing, 2], X["colour"].to_numpy()[3:][~is_missing])
    assert all(np.isnan(cell) for cell in table[is_missing, 2])
    numbers = Dataset(X[["number", "count"]], categorical_features=["count"])
    assert_equal(np.asarray(numbers, dtype=np.float32), X[["number", "count"]].to_numpy(np.float32))


@pytest.mark.parametrize("is_sparse", [False, True])
def test_pickles(is_sparse, tmp_path):
    X, y = make_data()
    X = X.assign(colour=X["colour"].astype("category").cat.codes)
    X = sp.csr_matrix(X.to_numpy()) if is_sparse else X
    y = y > 0
    dataset = Dataset(X, categorical_features=[2])
    joblib.dump(dataset, tmp_path / "dataset")
    view = dataset[10:50]
    for original, copied in (
        (dataset, pickle.loads(pickle.dumps(dataset))),
        (dataset, joblib.load(tmp_path / "dataset")),
        (view, pickle.loads(pickle.dumps(view))),
    ):
        labels = y[: len(original)]
        assert copied.shape == original.shape
        assert copied.feature_names == original.feature_names
        assert_same_fit(clone(FOREST).fit(copied, labels), clone(FOREST).fit(original, labels))


def test_what_it_says():
    X = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": ["x", "y", "x"]})
    dataset = Dataset(X, categorical_features=["b"])
    assert len(dataset) == 3
    assert dataset.shape == (3, 2)
    assert dataset.n_bytes < 200
    assert repr(dataset).startswith(
        "<Dataset: 3 rows, 1 numeric and 1 categorical features, 2 to 2 distinct values, "
        "1 features with missing values, dense, "
    )
    view = dataset[[0, 0, -1]]
    assert repr(view).startswith("<Dataset: view of 3 rows, ")
    assert view.shape == view[:, ...].shape == (3, 2)
    assert dataset[np.array([True, False, True])][1:].shape == (1, 2)
    assert Dataset(np.eye(3)).feature_names is None
    assert Dataset(np.eye(3)).is_categorical is None
    assert "sparse" in repr(Dataset(sp.eye(3, format="csr")))


def test_views_are_of_the_same_memory():
    dataset = Dataset(np.arange(10.0)[:, np.newaxis])
    part = dataset[2:8][::2]
    assert_equal(np.asarray(part).ravel(), [2, 4, 6])
    assert part.n_bytes == dataset.n_bytes
    assert Dataset(part).shape == (3, 1)


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        (3, TypeError, "must be a slice, or an array-like of ints or bools"),
        ("a", TypeError, "must be a slice"),
        ([0.5], TypeError, "must be a slice"),
        ([[0]], TypeError, "must be a slice"),
        ((slice(None), 0), TypeError, "must be a slice"),
        ([4], IndexError, "must be ints from -4 to 3. Got 4 instead."),
        (np.array([7], dtype=np.uint64), IndexError, "Got 7 instead."),
        ([-5], IndexError, "Got -5 instead."),
        ([True], IndexError, "must have 4 values, one per row. Got 1 instead."),
    ],
)
def test_keys_that_are_no_rows(key, error, message):
    with pytest.raises(error, match=message):
        Dataset(np.eye(4))[key]


def test_bad_input():
    X, y = make_data()
    y = y > 0
    dataset = Dataset(X, categorical_features=["colour"])
    numbers = Dataset(X[["number", "count"]])
    with pytest.raises(ValueError, match="Found array with 0 sample"):
        TREE.fit(dataset[:0], y[:0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        clone(TREE).fit(dataset[:5], y)
    with pytest.raises(
        ValueError, match=r"features that are categorical in the Dataset, \[2\]\. Got \[1\]"
    ):
        clone(TREE).set_params(categorical_features=[1]).fit(dataset, y)
    with pytest.raises(
        ValueError, match="'size' which is not a valid feature name of the data set"
    ):
        clone(TREE).set_params(categorical_features=["size"]).fit(dataset, y)
    with pytest.raises(ValueError, match="'from_dtype' or None"):
        clone(TREE).set_params(categorical_features="other").fit(dataset, y)
    tree = clone(TREE).fit(numbers, y)
    with pytest.raises(ValueError, match="Feature names unseen at fit time:\n- colour"):
        tree.predict(dataset)
    with pytest.raises(ValueError, match="must be in the same order"):
        tree.predict(Dataset(X[["count", "number"]]))
    with pytest.raises(ValueError, match="seen at fit time, yet now missing:\n- count"):
        tree.predict(Dataset(X[["number"]]))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        tree.predict(Dataset(X[["number", "count"]].to_numpy()))
    nameless = clone(TREE).fit(Dataset(X[["number", "count"]].to_numpy()), y)
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        nameless.predict(numbers)
    with pytest.raises(
        ValueError, match="X has 3 features, but DecisionTreeClassifier is expecting 2"
    ):
        nameless.predict(Dataset(np.eye(3)))
    with pytest.raises(ValueError, match=r"features of the estimator, \[\]. Got \[1\] instead"):
        nameless.predict(Dataset(X[["number", "count"]].to_numpy(), categorical_features=[1]))
    with pytest.raises(
        ValueError, match="'n_jobs' parameter of Dataset must be an int other than 0"
    ):
        Dataset(X, n_jobs=0)
    with pytest.raises(ValueError, match="could not convert string to float"):
        Dataset(X)
    with pytest.raises(TypeError, match="cannot be iterated over"):
        list(numbers)
    with pytest.raises(TypeError, match="sparse Dataset does not become an array"):
        np.asarray(Dataset(sp.eye(3, format="csr")))
    with pytest.raises(ValueError, match="copy=False is not possible"):
        numbers.__array__(copy=False)
    with pytest.raises(ValueError, match="requires y to be passed"):
        clone(TREE).fit(numbers, None)


def test_explanations(cancer):
    X, y = cancer
    forest = spinney.RandomForestClassifier(8, random_state=0).fit(X, y)
    for samples in (X, sp.csr_matrix(X), sp.csc_matrix(X)):
        dataset, rows = Dataset(samples), samples[:20]
        for found, expected in zip(
            forest.shap_values(dataset[:20]), forest.shap_values(rows), strict=True
        ):
            assert sp.issparse(found) == sp.issparse(samples)
            assert_equal(*(sp.csr_matrix(values).toarray() for values in (found, expected)))
        for found, expected in (
            (forest.proximity(dataset[:20], dataset), forest.proximity(rows, samples)),
            (forest.proximity(dataset, oob_score=True), forest.proximity(samples, oob_score=True)),
        ):
            assert_equal(found.toarray(), expected.toarray())
        for found, expected in zip(
            forest.nearest(dataset[:3], 4, Y=dataset), forest.nearest(rows[:3], 4, Y=X), strict=True
        ):
            assert_equal(found, expected)
        one = forest.explain(dataset[7:8], Y=dataset)
        assert one == forest.explain(rows[7:8], Y=samples)
        assert len(one.nearest) == 5
        for arguments in ({}, {"groups": [[0, 3], [1]]}, {"importance_type": "impurity"}):
            found, expected = (
                forest.permutation_importance_oob(data, y, random_state=0, **arguments)
                for data in (dataset, samples)
            )
            assert_equal(found.importances, expected.importances)
        for feature in (0, [1, 5]):
            found, expected = (
                spinney.inspection.partial_dependence(
                    forest, data, feature, kind="both", grid_resolution=5
                )
                for data in (dataset[:20], rows)
            )
            for name in ("average", "individual"):
                assert_equal(found[name], expected[name])
    tree = forest.estimators_[0]
    assert_equal(tree.shap_values(Dataset(X[:5])), tree.shap_values(X[:5]))
    assert tree.explain(Dataset(X[:1])) == tree.explain(X[:1])
    prototypes, _ = class_prototypes(forest.proximity(X), X, y)
    for samples in (X, sp.csr_matrix(X)):
        found, _ = class_prototypes(forest.proximity(X), Dataset(samples), y)
        assert_equal(found, prototypes)
    with pytest.raises(ValueError, match="X has 29 features"):
        forest.permutation_importance_oob(Dataset(X[:, 1:]), y)
    with pytest.raises(ValueError, match="row must be one sample"):
        forest.explain(Dataset(X[:2]))


def test_explanations_with_categories():
    """Those of the values, also if a view has not all categories, or the estimator has others."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "colour": rng.choice(["red", "blue", "green", None], 120),
            "size": np.where(rng.random(120) < 0.1, np.nan, rng.normal(size=120).round(2)),
            "level": rng.integers(10_000, 10_006, 120),
        }
    )
    y = (frame["colour"] == "red") * 2.0 + frame["level"] % 3
    categorical = ["colour", "level"]
    forest = spinney.RandomForestRegressor(5, random_state=0, categorical_features=categorical)
    forest.fit(frame, y)
    dataset = Dataset(frame, categorical_features=categorical)
    other = Dataset(frame[::-1][:60], categorical_features=categorical)
    parts = ((dataset, frame), (dataset[50:], frame[50:]), (other, frame[::-1][:60]))
    for encoded, samples in parts:
        for row in range(4):
            one = forest.explain(encoded[row : row + 1], Y=encoded)
            assert one == forest.explain(samples[row : row + 1], Y=samples)
        for feature in ("colour", "level", ["size", "colour"]):
            found, expected = (
                spinney.inspection.partial_dependence(
                    forest, rows, feature, kind="both", grid_resolution=4
                )
                for rows in (encoded, samples)
            )
            for name in ("average", "individual"):
                assert_equal(found[name], expected[name])
    found, expected = (
        forest.permutation_importance_oob(rows, y, random_state=0, n_null_fits=2)
        for rows in (dataset, frame)
    )
    assert_equal(found.importances, expected.importances)
    assert_equal(found.p_values, expected.p_values)


def test_values_of_sparse_categories():
    """0 is not stored, also if no row has it, and whatever its code is."""
    rng = np.random.default_rng(0)
    cells = rng.integers(-2, 3, (40, 3)).astype(float)
    cells[:, 1] = rng.integers(3, 6, 40)
    cells[rng.random(40) < 0.2, 2] = np.nan
    dataset = Dataset(sp.csr_matrix(cells), categorical_features=[0, 1])
    for encoded, expected in ((dataset, cells), (dataset[[3, 1, 8]], cells[[3, 1, 8]])):
        assert_equal(encoded._read_values().toarray(), expected)
    forest = spinney.RandomForestRegressor(4, random_state=0, categorical_features=[0, 1])
    forest.fit(sp.csr_matrix(cells), cells[:, 0] % 2 + cells[:, 1])
    for row in range(4):
        expected = forest.explain(sp.csr_matrix(cells[row : row + 1]))
        assert forest.explain(dataset[row : row + 1]) == expected


def test_what_users_see_is_what_they_need():
    """What only estimators call is private: a public name is a promise."""
    names = {name for name in dir(Dataset) if not name.startswith("_")}
    assert names == {
        *("feature_names", "is_categorical", "is_sparse", "n_bytes", "shape"),
        *("open", "save", "write"),
    }
