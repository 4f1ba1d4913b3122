"""Trees as text: scikit-learn's, with categories and missing values beyond."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
import sklearn.tree
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError

import spinney
from spinney import export_text
from spinney._spinney import Tree


@given(
    st.data(),
    st.integers(0, 6),
    st.integers(1, 5),
    st.integers(0, 4),
    st.booleans(),
    st.sampled_from(["classes", "names", "one class", "numbers", "outputs", "outputs of classes"]),
)
def test_the_text_is_that_of_scikit_learn(data, max_depth, spacing, decimals, show_weights, kind):
    """The best splits of distinct numbers are the same, so their text is."""
    seed = data.draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    n = data.draw(st.integers(1, 25))
    X = rng.permutation(n).reshape(-1, 1) * 1.25
    options = {}
    if kind in ("classes", "outputs of classes", "one class"):
        y = rng.integers(0, 1 if kind == "one class" else 3, n)
    elif kind == "names":
        y = np.array(["a", "bc", "d"])[rng.integers(0, 3, n)]
        options["class_names"] = [f"class {label}" for label in np.unique(y)]
    else:
        y = rng.normal(size=n)
    if kind.startswith("outputs"):
        y = np.column_stack([y, y])
    if data.draw(st.booleans()):
        options["feature_names"] = np.array(["a feature"])
    name = "Regressor" if y.dtype.kind == "f" else "Classifier"
    weights = rng.integers(1, 4, n) / 2
    texts = []
    for module, export in ((sklearn.tree, sklearn.tree.export_text), (spinney, export_text)):
        tree = getattr(module, f"DecisionTree{name}")(random_state=0)
        tree.fit(X, y, sample_weight=weights)
        arrays = {"max_depth": max_depth, "spacing": spacing, "decimals": decimals}
        texts.append(export(tree, show_weights=show_weights, **arrays, **options))
    assert texts[0] == texts[1]


def test_the_text_of_iris_and_diabetes():
    iris, diabetes = load_iris(), load_diabetes()
    for data, name in ((iris, "Classifier"), (diabetes, "Regressor")):
        features = data["feature_names"]
        # With more levels ties would be decided otherwise.
        depth = 2
        for names in (None, features):
            for show_weights in (False, True):
                ours, theirs = (
                    export(
                        getattr(module, f"DecisionTree{name}")(
                            max_depth=depth, random_state=1, min_impurity_decrease=0.1
                        ).fit(data["data"][:, 2:3], data["target"]),
                        feature_names=names if names is None else names[2:3],
                        show_weights=show_weights,
                        decimals=2,
                    )
                    for module, export in (
                        (spinney, export_text),
                        (sklearn.tree, sklearn.tree.export_text),
                    )
                )
                assert ours == theirs


@pytest.mark.parametrize(
    ("values", "threshold"),
    [
        ([0.0, 1.0], "0.50"),
        ([0.0, 0.35], None),
        ([0.17, 0.18], None),
        ([1e-6, 3e-6], None),
        ([1699999999.0, 1700000002.0], "1700000000.50"),
        ([1699999872.0, 1700000000.0], "1699999936.00"),
        ([1e300, 2e300], "1.5e+300"),
    ],
)
def test_thresholds_are_exact_and_short(values, threshold):
    """None means the shortest text of the double. A number of decimals that is given is obeyed."""
    tree = spinney.DecisionTreeRegressor().fit(np.array(values)[:, None], [0.0, 1.0])
    exact = float(tree.tree_.threshold[0])
    assert export_text(tree).startswith(f"|--- feature_0 <= {threshold or repr(exact)}\n")
    for decimals in (0, 2, 3):
        given = export_text(tree, decimals=decimals)
        assert given.startswith(f"|--- feature_0 <= {exact:.{decimals}f}\n")


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1e-4, 0.02])
def test_values_in_leaves_are_not_all_alike(scale):
    """Neither 0 nor the same, though small."""
    X, y = np.arange(8.0)[:, None], scale * np.arange(1, 9)
    tree = spinney.DecisionTreeRegressor().fit(X, y)
    for of in (1.0, -1.0):
        values = re.findall(r"value: \[(\S+)\]", export_text(tree.fit(X, of * y)))
        assert len(set(values)) == 8
        np.testing.assert_allclose(np.array(values, dtype=float), of * y, atol=scale / 2)
    X, y = np.arange(3.0)[:, None], [0.0, 1e-6, 100.0]
    values = re.findall(r"value: \[(\S+)\]", export_text(tree.fit(X, y)))
    assert values == ["0.00", "1e-06", "100.00"]
    weights = np.array([1.0, 2.0, 3.0]) * 1e-6
    classes = spinney.DecisionTreeClassifier().fit(X, [0, 1, 1], sample_weight=weights)
    assert "weights: [1e-06, 0.00]" in export_text(classes, show_weights=True)


def test_thresholds_of_categories_and_gaps_need_no_digits():
    X = np.array([[np.nan, 0.0], [np.nan, 1.0], [1.0, 2.0], [2.0, 2.0]])
    tree = spinney.DecisionTreeRegressor(categorical_features=[1], random_state=0)
    text = export_text(tree.fit(X, [5.0, 6.0, 1.0, 2.0]))
    assert "nan" not in text
    assert "inf" not in text


# --- Missing values -----------------------------------------------------------------------------


def test_missing_values_are_shown_where_there_were_any():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [np.nan, 2.0], [np.nan, 3.0]])
    model = spinney.DecisionTreeRegressor(max_features=None, random_state=0)
    assert export_text(model.fit(X[:, :1], [0, 1, 0, 0]), decimals=1) == (
        "|--- feature_0 <= 0.5 or missing\n"
        "|   |--- value: [0.0]\n"
        "|--- feature_0 >  0.5\n"
        "|   |--- value: [1.0]\n"
    )
    assert export_text(model.fit(X[:, :1], [1, 0, 0, 0]), decimals=1) == (
        "|--- feature_0 <= 0.5\n"
        "|   |--- value: [1.0]\n"
        "|--- feature_0 >  0.5 or missing\n"
        "|   |--- value: [0.0]\n"
    )
    assert export_text(model.fit(X[:, :1], [0, 0, 1, 1]), feature_names=["a"]) == (
        "|--- a is not missing\n|   |--- value: [0.00]\n|--- a is missing\n|   |--- value: [1.00]\n"
    )
    assert "missing" not in export_text(model.fit(X[:, 1:], [0, 0, 1, 1]))


def test_trees_of_forests_know_of_missing_values():
    X = np.where(np.arange(40) % 4 == 0, np.nan, np.arange(40.0))[:, None]
    y = np.arange(40) % 4 == 0
    model = spinney.RandomForestClassifier(3, random_state=0).fit(X, y)
    for tree in model.estimators_:
        assert "feature_0 is missing" in export_text(tree)
    other = spinney.RandomForestClassifier(1, random_state=0).fit(X, y)
    other.estimators_ = model.estimators_
    del other._estimators
    assert "feature_0 is missing" in export_text(other.estimators_[2])


# --- Categories ---------------------------------------------------------------------------------


def with_tree(codes, go_left, missing_left, with_missing, n=30):
    """Return a fitted tree whose root lists these categories of a feature that has `n`."""
    colors = [f"color {code:02}" for code in range(n)]
    X = pd.DataFrame({"color": colors, "size": np.arange(float(n))})
    model = spinney.DecisionTreeClassifier(categorical_features=["color"], random_state=0)
    if with_missing:
        X.loc[n] = [None, 0.0]
    model.fit(X, np.where(np.arange(len(X)) < 3, "few", "many"))
    first = min(codes, default=0) // 64
    words = [0] * (max(codes) // 64 - first + 1 if codes else 0)
    for code in codes:
        words[code // 64 - first] |= 1 << code % 64
    header = (0 if go_left else 1 << 63) | len(words) << 32 | first
    model.tree_ = Tree(
        2,
        [2],
        np.array([1, -1, -1], dtype=np.int32),
        np.array([2, -1, -1], dtype=np.int32),
        np.array([0, -2, -2], dtype=np.int32),
        np.array([0.0, -2.0, -2.0]),
        np.array([missing_left, 0, 0], dtype=np.uint8),
        np.zeros(3),
        np.array([4, 2, 2]),
        np.array([4.0, 2.0, 2.0]),
        np.array([[[0.5, 0.5]], [[1.0, 0.0]], [[0.0, 1.0]]]),
        np.array([n, 0], dtype=np.uint32),
        np.array([header, *words], dtype=np.uint64),
    )
    return model


@pytest.mark.parametrize(
    ("codes", "go_left", "missing_left", "with_missing", "left", "right"),
    [
        ([1], True, False, False, "in {1}", "not in {1}"),
        ([1, 4], True, True, False, "in {1, 4}", "not in {1, 4}"),
        ([1], False, False, False, "not in {1}", "in {1}"),
        ([1], True, False, True, "in {1}", "not in {1} or missing"),
        ([1], True, True, True, "in {1} or missing", "not in {1}"),
        ([1], False, True, True, "not in {1} or missing", "in {1}"),
        ([], True, True, True, "is missing", "is not missing"),
        ([], False, False, True, "is not missing", "is missing"),
        ([], True, False, True, "in {}", "not in {} or missing"),
        ([99], True, True, False, "in {99}", "not in {99}"),
    ],
)
def test_categories_are_named(codes, go_left, missing_left, with_missing, left, right):
    """After their number and that of all; in the cases above they stand without."""
    n = 120 if codes and max(codes) > 30 else 30
    model = with_tree(codes, go_left, missing_left, with_missing, n)
    if n > 100:
        model.categories_[0] = np.array([f"color {code}" for code in range(n)], dtype=object)
    listed = ", ".join(f"color {code:02}" for code in codes)
    of_cases = f"{{{', '.join(map(str, codes))}}}"
    if codes:
        members = f"{{{len(codes)} of {n}: {listed}}}"
        left, right = (side.replace(of_cases, members) for side in (left, right))
    assert export_text(model, feature_names=["it", "size"]) == (
        f"|--- it {left}\n|   |--- class: few\n|--- it {right}\n|   |--- class: many\n"
    )


def test_long_sets_are_cut_short():
    text = export_text(with_tree(list(range(3, 28)), True, False, False))
    names = ", ".join(f"color {code:02}" for code in range(3, 13))
    assert text.splitlines()[0] == f"|--- color in {{25 of 30: {names}, ... 15 more}}"
    assert text.splitlines()[2] == f"|--- color not in {{25 of 30: {names}, ... 15 more}}"


def test_whole_numbers_are_shown_as_such():
    model = with_tree([0, 1, 2], True, False, False)
    model.categories_[0] = np.array([0.0, -3.0, 0.5] + [9.0] * 27)
    assert export_text(model).splitlines()[0] == "|--- color in {3 of 30: 0, -3, 0.5}"


# --- Names --------------------------------------------------------------------------------------


def test_names_are_those_that_fit_saw():
    """Unless the user gives others."""
    X = pd.DataFrame({"size": [0.0, 1.0]})
    tree = spinney.DecisionTreeRegressor().fit(X, [0, 1])
    assert export_text(tree).startswith("|--- size <= 0.50\n")
    assert export_text(tree, feature_names=["a"]).startswith("|--- a <= 0.50\n")
    assert export_text(tree.fit(X.to_numpy(), [0, 1])).startswith("|--- feature_0 <= 0.50\n")


@pytest.mark.parametrize(
    "forest_class", [spinney.RandomForestClassifier, spinney.ExtraTreesClassifier]
)
def test_trees_of_forests_have_the_names_of_the_forest(forest_class):
    """Also after a pickle of the tree; a new fit has names of its own."""
    X = pd.DataFrame({"state": ["AL", "AK", "AZ", "CA"] * 10})
    y = np.where(X["state"].isin(["AL", "AK"]), "in", "out")
    forest = forest_class(
        3, max_features=None, max_depth=1, categorical_features=["state"], random_state=0
    )
    forest.fit(X, y)
    for tree in forest.estimators_:
        for one in (tree, pickle.loads(pickle.dumps(tree))):
            text = export_text(one)
            assert re.match(r"\|--- state (not )?in \{\d of 4: (A[LKZ]|CA)(, \w\w)*\}\n", text), (
                text
            )
            assert set(re.findall("class: .*", text)) <= {"class: in", "class: out"}
    tree = forest.estimators_[0].fit(np.arange(4.0)[:, None] % 2, [0.0, 1.0, 0.0, 1.0])
    assert tree._names_of_forest is None


# --- Arguments ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_depth": -1}, r"'max_depth' .* must be an int in the range \[0, inf\) or None. Got"),
        ({"max_depth": 1.5}, r"'max_depth' .* Got 1.5 instead"),
        ({"spacing": 0}, r"'spacing' .* must be an int in the range \[1, inf\)"),
        ({"spacing": None}, r"'spacing' .* Got None instead"),
        ({"decimals": -1}, r"'decimals' .* must be an int in the range \[0, inf\)"),
        ({"show_weights": 3}, r"'show_weights' .* must be a bool. Got 3 instead"),
        ({"feature_names": 5}, r"'feature_names' .* must be an array-like or None. Got 5"),
        ({"feature_names": ["a"]}, "feature_names must contain 4 elements, got 1"),
        ({"class_names": "abc"}, r"'class_names' .* must be an array-like or None"),
        ({"class_names": ["a"]}, r"as many items as .* Got 1 while .* with 3 classes"),
    ],
)
def test_illegal_arguments_are_named(options, message):
    tree = spinney.DecisionTreeClassifier().fit(*load_iris(return_X_y=True))
    with pytest.raises(ValueError, match=message):
        export_text(tree, **options)


def test_only_fitted_trees_have_a_text():
    with pytest.raises(NotFittedError):
        export_text(spinney.DecisionTreeClassifier())
    with pytest.raises(TypeError, match=r"must be a decision tree of spinney\. Got RandomForest"):
        export_text(RandomForestClassifier())


def test_deep_trees_are_no_problem():
    """A chain: every split has a leaf on its left."""
    depth = 3000
    n = 2 * depth + 1
    node = np.arange(n)
    is_split = (node % 2 == 0) & (node < n - 1)
    model = spinney.DecisionTreeRegressor().fit([[0.0], [1.0]], [0, 1])
    model.tree_ = Tree(
        1,
        [1],
        np.where(is_split, node + 1, -1).astype(np.int32),
        np.where(is_split, node + 2, -1).astype(np.int32),
        np.where(is_split, 0, -2).astype(np.int32),
        np.where(is_split, 0.5, -2.0),
        np.zeros(n, dtype=np.uint8),
        np.zeros(n),
        np.ones(n, dtype=np.int64),
        np.ones(n),
        np.zeros((n, 1, 1)),
    )
    lines = export_text(model, max_depth=None, spacing=1).splitlines()
    assert len(lines) == 2 * depth + depth + 1
    text = export_text(model, max_depth=0)
    assert text.splitlines()[-1] == f"|   |--- truncated branch of depth {depth}"
