"""Class labels of any library and type: distinct labels stay distinct, or are refused."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import KFold

import spinney
from spinney.model_selection import cross_val_predict, cross_val_score

CLASSIFIERS = [
    spinney.DecisionTreeClassifier,
    spinney.ExtraTreeClassifier,
    spinney.RandomForestClassifier,
    spinney.ExtraTreesClassifier,
    spinney.LazyForestClassifier,
]
# float64 does not tell these apart.
ONE, OTHER = 2**53, 2**53 + 1
X = np.arange(8.0)[:, None] % 2


def large(as_type):
    """Return eight large integers as labels."""
    return as_type([ONE, OTHER] * 4)


LARGE = {
    "list": large(list),
    "int64": large(np.array),
    "uint64": large(lambda values: np.array(values, dtype=np.uint64)),
    "objects": large(lambda values: np.array(values, dtype=object)),
    "pandas int64": large(pd.Series),
    "pandas Int64": large(lambda values: pd.Series(values, dtype="Int64")),
    "pandas UInt64": large(lambda values: pd.Series(values, dtype="UInt64")),
    "pandas Arrow": large(lambda values: pd.Series(values, dtype="int64[pyarrow]")),
    "pandas categories": large(lambda values: pd.Series(values, dtype="category")),
    "pandas array": large(lambda values: pd.array(values, dtype="Int64")),
    "pandas index": large(lambda values: pd.Index(values, dtype="Int64")),
    "pandas frame": large(lambda values: pd.DataFrame({"y": values}, dtype="Int64")),
    "polars": large(pl.Series),
    "polars frame": large(lambda values: pl.DataFrame({"y": values})),
    "pyarrow array": large(pa.array),
    "pyarrow chunks": large(lambda values: pa.chunked_array([values])),
    "pyarrow table": large(lambda values: pa.table({"y": values})),
}


def make(estimator, **params):
    """Return an estimator of few trees that sees every row."""
    if "Forest" in estimator.__name__ or "Trees" in estimator.__name__:
        params |= {"n_estimators": 3, "bootstrap": False}
    return estimator(random_state=0, **params)


@pytest.mark.valuewise
@pytest.mark.filterwarnings("ignore:A column-vector y")
@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_large_integers_stay_apart(estimator, name):
    model = make(estimator).fit(X, LARGE[name])
    assert model.classes_.tolist() == [ONE, OTHER]
    assert model.predict(X).tolist() == [ONE, OTHER] * 4


@pytest.mark.filterwarnings("ignore:A column-vector y")
@pytest.mark.parametrize("name", LARGE)
def test_scores_tell_large_integers_apart(name):
    """The score of an estimator, and of shared folds."""
    y = LARGE[name]
    tree = spinney.DecisionTreeClassifier(random_state=0).fit(X, y)
    assert tree.score(X, y) == 1.0
    assert tree.score(1 - X, y) == 0.0
    assert tree.score(X, y, sample_weight=np.arange(8)) == 1.0
    if not hasattr(y, "columns"):
        folds = KFold(2)
        assert cross_val_score(tree, X, y, cv=folds).tolist() == [1.0, 1.0]
        assert cross_val_predict(tree, X, y, cv=folds).tolist() == [ONE, OTHER] * 4


@pytest.mark.parametrize(
    "y",
    [
        pd.DataFrame({"a": [ONE, OTHER] * 4, "b": [OTHER, ONE] * 4}, dtype="Int64"),
        pd.DataFrame([[ONE, OTHER], [OTHER, ONE]] * 4, columns=["same", "same"]),
        pl.DataFrame({"a": [ONE, OTHER] * 4, "b": [OTHER, ONE] * 4}),
        np.array([[ONE, OTHER], [OTHER, ONE]] * 4, dtype=object),
        [[ONE, OTHER], [OTHER, ONE]] * 4,
    ],
    ids=["pandas", "equal names", "polars", "objects", "lists"],
)
def test_outputs_of_large_integers_stay_apart(y):
    model = spinney.DecisionTreeClassifier(random_state=0).fit(X, y)
    assert_array_equal(model.predict(X), np.array([[ONE, OTHER], [OTHER, ONE]] * 4))


@pytest.mark.parametrize(
    "y",
    [
        [-1, 2**63] * 4,
        [1.0, OTHER] * 4,
        np.array([1.0, OTHER] * 4, dtype=object),
        np.array([-1, 2**63] * 4, dtype=object),
        pd.DataFrame({"a": [ONE] * 8, "b": np.array([OTHER] * 8, dtype=np.uint64)}),
        pd.DataFrame({"a": pd.Series([ONE] * 8, dtype="Int64"), "b": [0.5] * 8}),
    ],
    ids=["list", "list of floats", "objects", "object integers", "frame", "frame of floats"],
)
def test_large_integers_of_no_common_type_are_refused(y):
    with pytest.raises(
        ValueError, match=r"y must hold integers below 2\*\*53 if it also .* Got \d"
    ):
        spinney.DecisionTreeClassifier().fit(X, y)


def test_integers_of_more_bits_are_refused():
    with pytest.raises(ValueError, match=rf"integers of at most 64 bits\. Got {2**70}"):
        spinney.DecisionTreeClassifier().fit(X, np.array([1, 2**70] * 4, dtype=object))


@pytest.mark.parametrize(
    "y",
    [
        pd.Series([1, 2, None, 2] * 2, dtype="Int64"),
        pd.Series([1, 2, None, 2] * 2, dtype="int64[pyarrow]"),
        pd.Series([True, False, None, True] * 2, dtype="boolean"),
        pd.Series(["a", "b", None, "a"] * 2, dtype="string"),
        pd.Series(["a", "b", None, "a"] * 2, dtype="category"),
        pd.Series(["a", "b", None, "a"] * 2, dtype=object),
        pd.array([1, 2, None, 2] * 2, dtype="Int64"),
        pd.DataFrame({"a": pd.Series([1, 2, None, 2] * 2, dtype="Int64"), "b": [1, 2] * 4}),
        pl.Series([1, 2, None, 2] * 2),
        pl.Series(["a", "b", None, "a"] * 2),
        pl.DataFrame({"a": ["a", "b", None, "a"] * 2}),
        np.array([1, 2, pd.NA, 2] * 2, dtype=object),
        np.array([["a", "b"], ["b", "a"], ["a", np.nan], ["b", "b"]] * 2, dtype=object),
        ["a", "b", None, "a"] * 2,
    ],
    ids=lambda y: f"{type(y).__module__.split('.')[0]} {type(y).__name__}",
)
@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_missing_labels_are_refused(estimator, y):
    with pytest.raises(ValueError, match=r"a label for each sample\. Got .* in row 2\."):
        make(estimator).fit(X, y)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([1, 2], "i"),
        ([np.int8(1), 2], "i"),
        ([True, False], "b"),
        ([1.0, 2.0], "f"),
        ([1, 2.0], "f"),
        (["a", "b"], "O"),
    ],
)
@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_objects_that_are_numbers_are_labels(estimator, labels, kind):
    """scikit-learn does not know the type of such labels."""
    y = np.array(labels * 4, dtype=object)
    weights = {labels[0]: 2, labels[1]: 1}
    model = make(estimator, class_weight=weights).fit(X, y)
    assert model.classes_.dtype.kind == kind
    assert model.predict(X).tolist() == labels * 4
    assert model.score(X, y) == 1.0


def test_shares_of_folds_of_objects():
    """The folds are stratified and scored as those of the same integers."""
    rng = np.random.default_rng(0)
    rows, y = rng.random((60, 2)), rng.integers(0, 2, 60)
    tree = spinney.DecisionTreeClassifier(random_state=0)
    expected = cross_val_score(tree, rows, y)
    assert_array_equal(cross_val_score(tree, rows, y.astype(object)), expected)
    assert_array_equal(cross_val_score(tree, rows, pd.Series(y, dtype="Int64")), expected)


def test_importances_out_of_bag_take_such_labels():
    rng = np.random.default_rng(0)
    rows = rng.random((60, 2))
    labels = np.where(rows[:, 0] > 0.5, OTHER, ONE)
    forest = spinney.RandomForestClassifier(10, random_state=0).fit(rows, labels)
    for scoring in (None, "balanced_accuracy"):
        found = [
            forest.permutation_importance_oob(rows, y, scoring=scoring, random_state=0)
            for y in (labels, pd.Series(labels, dtype="Int64"), labels.astype(object))
        ]
        for other in found[1:]:
            assert_array_equal(other.importances, found[0].importances)


def test_nullable_bools_stay_bools():
    y = pd.Series([True, False] * 4, dtype="boolean")
    for labels in (y, y.to_frame(), y.array):
        model = spinney.DecisionTreeClassifier().fit(X, labels)
        assert model.classes_.tolist() == [False, True]
        assert model.classes_.dtype == bool


def test_labels_of_several_kinds_are_refused():
    with pytest.raises(ValueError, match=r"can be sorted.*Got labels of the types int, str\."):
        spinney.DecisionTreeClassifier().fit(X, np.array([1, "a"] * 4, dtype=object))


def test_outputs_of_integers_beside_names():
    """Nullable integers in a frame whose other column holds objects."""
    y = pd.DataFrame({"a": pd.array([1, 2, 1, 2], dtype="Int64"), "b": list("xyxy")})
    y["b"] = y["b"].astype(object)
    with pytest.raises(TypeError, match="not supported between instances of"):
        spinney.DecisionTreeClassifier().fit(np.arange(4.0).reshape(-1, 1), y)


def test_rows_of_several_lengths_are_refused():
    with pytest.raises(ValueError, match="inhomogeneous shape"):
        spinney.DecisionTreeClassifier().fit([[0.0], [1.0]], [[0, 1], [1]])
