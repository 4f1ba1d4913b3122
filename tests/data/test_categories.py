"""Categorical features: which they are, their codes, and splits on them."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import spinney
from spinney._data import categories as spinney_categories
from spinney._data.categorical_features import find_categorical_features
from spinney._data.categories import encode
from spinney._spinney import Columns, Forest, Tree

TREES = [
    spinney.DecisionTreeClassifier,
    spinney.DecisionTreeRegressor,
    spinney.ExtraTreeClassifier,
    spinney.ExtraTreeRegressor,
]
FORESTS = [
    spinney.RandomForestClassifier,
    spinney.RandomForestRegressor,
    spinney.ExtraTreesClassifier,
    spinney.ExtraTreesRegressor,
]
LAZY = [spinney.LazyForestClassifier, spinney.LazyForestRegressor]
ALL = TREES + FORESTS + LAZY


def make(estimator, **params):
    """Return an estimator that grows few trees, if it has several."""
    if not issubclass(estimator, tuple(TREES)):
        params["n_estimators"] = 3
    return estimator(random_state=0, **params)


def learn(X, mask, n_threads=1):
    """Return the codes of X as a matrix, and the categories."""
    coded, categories = spinney_categories.learn(X, mask, n_threads)
    return coded.decode() if isinstance(coded, Columns) else coded, categories


def columns():
    """Return a string, an integer and a numeric column, and a target, with missing values."""
    rng = np.random.default_rng(0)
    n = 60
    colors = rng.choice(np.array(["red", "blue", "green", None], dtype=object), n)
    sizes = rng.choice([-5, 0, 3, 70000], n)
    numbers = np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n))
    y = (rng.random(n) < 0.5).astype(int)
    return colors, sizes, numbers, y


# Where the type puts the categories in an order.
ORDERS = {"polars enum": ["red", "green", "blue"]}


def frames():
    """Return the columns in frames, by name of the kind of frame."""
    colors, sizes, numbers, _ = columns()
    data = {"color": colors, "size": sizes, "number": numbers}
    as_pandas = pd.DataFrame(data)
    levels = ["unused", "red", "green", "blue", "never"]
    as_polars = pl.DataFrame({**data, "color": list(colors)})
    return {
        "pandas object": as_pandas.astype({"color": object}),
        "pandas str": as_pandas.astype({"color": "string"}),
        "pandas categorical": as_pandas.assign(color=pd.Categorical(colors, levels)),
        "pandas categories": as_pandas.assign(
            color=pd.Categorical(colors, levels[::-1]), size=pd.Categorical(sizes)
        ),
        "pandas nullable": as_pandas.astype({"size": "Int64", "number": "Float64"}),
        "polars str": as_polars,
        "polars categorical": as_polars.with_columns(pl.col("color").cast(pl.Categorical)),
        "polars enum": as_polars.with_columns(pl.col("color").cast(pl.Enum(levels))),
        "objects": np.column_stack([column.astype(object) for column in data.values()]),
        "lists": list(map(list, zip(*data.values(), strict=True))),
    }


def expected_codes(order=("blue", "green", "red")):
    colors, sizes, numbers, _ = columns()
    of_color = {**{color: code for code, color in enumerate(order)}, None: np.nan}
    of_size = {0: 0, -5: 1, 3: 2, 70000: 3}
    return np.column_stack([[of_color[c] for c in colors], [of_size[s] for s in sizes], numbers])


# --- Which features -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        (None, None),
        ([], None),
        ([False, False, False], None),
        ([True, False, True], [True, False, True]),
        (np.array([0, 2], dtype=np.uint8), [True, False, True]),
        ([1], [False, True, False]),
        (("color", "number"), [True, False, True]),
        (np.array(["size"]), [False, True, False]),
        (pd.Index(["size"]), [False, True, False]),
    ],
)
def test_features_by_mask_index_and_name(features, expected):
    for name in ("pandas object", "polars str"):
        mask = find_categorical_features(frames()[name], features)
        assert mask is None if expected is None else mask.tolist() == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pandas object", None),
        ("pandas str", None),
        ("pandas categorical", [True, False, False]),
        ("pandas categories", [True, True, False]),
        ("polars str", None),
        ("polars categorical", [True, False, False]),
        ("polars enum", [True, False, False]),
        ("objects", None),
        ("lists", None),
    ],
)
def test_features_by_dtype(name, expected):
    mask = find_categorical_features(frames()[name], "from_dtype")
    assert mask is None if expected is None else mask.tolist() == expected


@pytest.mark.parametrize("kind", ["pandas categories", "polars categorical"])
def test_types_together_with_names_or_indices(kind):
    """The columns of categorical types, and others that are named."""
    X = frames()[kind]
    by_type = find_categorical_features(X, "from_dtype")
    for others in (["number"], [2]):
        for features in (["from_dtype", *others], (*others, "from_dtype")):
            mask = find_categorical_features(X, features)
            assert mask.tolist() == [*by_type[:2], True]
    dataset = spinney.Dataset(X, categorical_features=["from_dtype", "number"])
    tree = spinney.DecisionTreeClassifier(categorical_features=["from_dtype", "number"])
    assert tree.fit(dataset, columns()[-1]).is_categorical_.tolist() == [*by_type[:2], True]
    with pytest.raises(ValueError, match="must be None or name the features"):
        tree.set_params(categorical_features=["number"]).fit(dataset, columns()[-1])


NO_TYPES = {
    "frame": (pd.DataFrame({"a": [1.0, 2.0]}), "convert them, such as by astype"),
    "polars": (pl.DataFrame({"a": [1.0, 2.0]}), "convert them, such as by astype"),
    "array": (np.array([[1.0], [2.0]]), r'set_output\(transform="pandas"\)'),
    "sparse": (sparse.csr_matrix([[1.0], [2.0]]), "whose columns have no types"),
    "list": ([[1.0], [2.0]], "whose columns have no types"),
}


@pytest.mark.parametrize("features", ["from_dtype", ["from_dtype", 0]])
@pytest.mark.parametrize("kind", NO_TYPES)
def test_types_that_are_not_found_give_a_warning(kind, features, tmp_path):
    """No feature is categorical then, which nobody asked for."""
    X, advice = NO_TYPES[kind]
    told = f"finds no column of a categorical type.*{advice}"
    with pytest.warns(UserWarning, match=told):
        dataset = spinney.Dataset(X, categorical_features=features)
    if kind != "list":
        with pytest.warns(UserWarning, match=told):
            spinney.Dataset.write(tmp_path / "data", X, categorical_features=features)
        opened = spinney.Dataset.open(tmp_path / "data")
        assert str(opened.is_categorical) == str(dataset.is_categorical)
    for model in (
        spinney.DecisionTreeRegressor(),
        spinney.RandomForestRegressor(2),
        spinney.LazyForestRegressor(2),
    ):
        with pytest.warns(UserWarning, match=told):
            model.set_params(categorical_features=features).fit(X, [1.0, 2.0])
    if features == "from_dtype":
        with pytest.warns(UserWarning, match="no categorical feature in the Dataset"):
            spinney.DecisionTreeRegressor(categorical_features=features).fit(dataset, [1.0, 2.0])


def test_portions_of_a_file_without_types_give_no_warning(tmp_path):
    """There is one warning for all columns, or none."""
    X = pd.DataFrame({"a": [1.0, 2.0], "c": pd.Categorical(["x", "y"]), "b": [1.0, 2.0]})
    spinney.Dataset.write(
        tmp_path / "data", X, categorical_features=["from_dtype", "b"], max_memory=1
    )
    mask = spinney.Dataset.open(tmp_path / "data").is_categorical
    assert mask.tolist() == [False, True, True]


def test_names_behind_a_column_transformer():
    """The message has the two words that keep them."""
    X, y = frames()["pandas object"], columns()[-1]
    before = ColumnTransformer([("all", "passthrough", ["color", "size"])])
    model = make_pipeline(before, spinney.DecisionTreeClassifier(categorical_features=["color"]))
    with pytest.raises(ValueError, match=r'set_output\(transform="pandas"\) .* verbose_feat'):
        model.fit(X, y)
    before.set_output(transform="pandas")
    with pytest.raises(ValueError, match=r"'all__color', .*with verbose_feature_names_out=False"):
        model.fit(X, y)
    before.set_params(verbose_feature_names_out=False)
    assert model.fit(X, y)[-1].is_categorical_.tolist() == [True, False]


ILLEGAL = [
    ([0.5, 1.0, 2.0], "categorical_features must be an array-like of bool, int or str, got: float"),
    (np.array(["color", 1], dtype=object), "an array-like of bool, int or str, got: int"),
    ([True, False], r"must have shape \(n_features,\), got: \(2,\)"),
    ([0, 3], r"must be in \[0, n_features - 1\]"),
    ([-1], r"must be in \[0, n_features - 1\]"),
    (["colour"], "item value 'colour' which is not a valid feature name of the training data"),
]


@pytest.mark.parametrize(("features", "message"), ILLEGAL)
@pytest.mark.parametrize("estimator", [TREES[0], FORESTS[0], LAZY[0]])
def test_illegal_features_raise_as_in_scikit_learn(estimator, features, message):
    X, y = frames()["pandas object"], columns()[-1]
    for model in (
        make(estimator, categorical_features=features),
        HistGradientBoostingClassifier(categorical_features=features),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, y)
        with pytest.raises(NotFittedError):
            model.predict(X)


@pytest.mark.parametrize("X", ["objects", "lists"])
def test_names_need_a_frame(X):
    model = spinney.DecisionTreeClassifier(categorical_features=["color"])
    with pytest.raises(ValueError, match="fitted on data without feature names"):
        model.fit(frames()[X], columns()[-1])


@pytest.mark.parametrize("features", ["color", 1, [[True, False, False]]])
def test_features_are_a_list(features):
    model = spinney.DecisionTreeClassifier(categorical_features=features)
    with pytest.raises(ValueError, match="categorical_features must"):
        model.fit(frames()["pandas object"], columns()[-1])


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize("least", [0, -1, 1.5, None, "2"])
def test_min_samples_category_is_a_positive_int(estimator, least):
    with pytest.raises((ValueError, TypeError), match="'min_samples_category' parameter of"):
        make(estimator, min_samples_category=least).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("estimator", ALL)
def test_categorical_features_have_no_direction(estimator):
    X, y = expected_codes(), columns()[-1]
    with pytest.raises(ValueError, match="cannot have monotonic constraints"):
        make(estimator, categorical_features=[0], monotonic_cst=[1, 0, 0]).fit(X, y)
    model = make(estimator, categorical_features=[0], monotonic_cst=[0, 0, 1]).fit(X, y)
    assert model.is_categorical_.tolist() == [True, False, False]


# --- Codes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", frames())
def test_codes_do_not_depend_on_the_storage(name):
    X = frames()[name]
    mask = np.array([True, True, False])
    before = copy.deepcopy(X)
    codes, categories = learn(X, mask)
    assert X.equals(before) if hasattr(X, "equals") else repr(X) == repr(before)
    assert codes.dtype == np.float64
    order = ORDERS.get(name, ["blue", "green", "red"])
    assert_array_equal(codes, expected_codes(order))
    assert categories[0].tolist() == order
    assert categories[1].tolist() == [0, -5, 3, 70000]
    assert categories[2] is None
    for other in frames().values():
        assert_array_equal(encode(other, mask, categories), codes)


def test_unknown_categories_share_a_code():
    mask = np.array([True, True])
    _, categories = learn(pd.DataFrame({"a": ["x", "y", "x"], "b": [1, 2, 3]}), mask)
    unknown = pd.DataFrame({"a": ["z", None, "y"], "b": [0.0, np.nan, 1.5]})
    assert_array_equal(encode(unknown, mask, categories), [[2, 3], [np.nan, np.nan], [1, 3]])
    # Of another type, but for numbers that are equal.
    other = pd.DataFrame({"a": [1, 2, 3], "b": [True, False, True]})
    assert_array_equal(encode(other, mask, categories), [[2, 0], [2, 3], [2, 0]])


@pytest.mark.parametrize(
    "column",
    [
        np.array([True, False, True]),
        np.array([3, 1, 3], dtype=np.int8),
        np.array([2**63, 2**63 + 1, 2**63], dtype=np.uint64),
        np.array([0.1, np.inf, -np.inf]),
        np.array([1e300, np.nan, 5e-324]),
        np.array(["b", "a", "b"]),
        np.array([b"b", b"a", b"b"]),
        np.array(["2020-01-02", "NaT", "2020-01-01"], dtype="datetime64[s]"),
        np.array([(1, 2), None, (0, 5)], dtype=object),
        np.array(["a", np.nan, "a"], dtype=object),
        np.array(["a", pd.NA, "b"], dtype=object),
        pd.array([1, None, 2**60 + 1], dtype="Int64"),
        pd.array([True, None, False], dtype="boolean"),
        pd.Categorical([2.5, None, 1.5]),
    ],
    ids=str,
)
def test_columns_of_any_type(column):
    X = pd.DataFrame({"a": column, "b": 0.5})
    codes, categories = learn(X, np.array([True, False]))
    cells = X["a"].tolist()
    is_missing = X["a"].isna().to_numpy()
    assert_array_equal(np.isnan(codes[:, 0]), is_missing)
    present = [cell for cell, missing in zip(cells, is_missing, strict=True) if not missing]
    known = [categories[0][int(code)] for code in codes[~is_missing, 0]]
    assert all(a == b for a, b in zip(known, present, strict=True))
    assert len(categories[0]) == len(set(present))
    rest = [c for c in categories[0].tolist() if isinstance(c, (str, bytes, tuple)) or c != 0]
    assert rest == sorted(rest)
    assert_array_equal(encode(X, np.array([True, False]), categories), codes)


def test_columns_without_an_order_are_refused():
    y = [0, 1, 1]
    model = spinney.DecisionTreeClassifier(categorical_features=[0])
    with pytest.raises(
        TypeError, match=r"feature 'a' must hold .* Got values of the types int, str"
    ):
        model.fit(pd.DataFrame({"a": pd.Series([1, "x", 2], dtype=object)}), y)
    lists = np.empty((3, 1), dtype=object)
    lists[:, 0] = [[1], [2], [3]]
    with pytest.raises(TypeError, match=r"feature at index 0 must hold .* hashed"):
        model.fit(lists, y)


def test_strings_in_numeric_columns_are_refused():
    for name in ("pandas object", "polars str", "polars categorical", "objects"):
        for features in (None, [1]):
            model = spinney.DecisionTreeClassifier(categorical_features=features)
            with pytest.raises(ValueError, match="could not convert string to float"):
                model.fit(frames()[name], columns()[-1])


cells = st.sampled_from([0, 0, 0, 0, 1, 2, -1, 5, 300])


@given(
    st.integers(1, 4).flatmap(
        lambda m: st.tuples(
            st.lists(st.lists(cells, min_size=m, max_size=m), min_size=1, max_size=8),
            st.lists(st.lists(cells, min_size=m, max_size=m), min_size=1, max_size=8),
            st.lists(st.booleans(), min_size=m, max_size=m),
            st.lists(st.booleans(), min_size=m, max_size=m),
        )
    )
)
def test_sparse_columns_have_the_codes_of_dense_ones(case):
    X, query, mask, with_missing = case
    X, query, mask = np.array(X, float), np.array(query, float), np.array(mask)
    X[0, with_missing] = np.nan
    query[-1, with_missing] = np.nan
    codes, categories = learn(X, mask)
    expected = encode(query, mask, categories)
    for container in (sparse.csc_matrix, sparse.csr_matrix, sparse.coo_array, sparse.csr_array):
        stored = container(X)
        sparse_codes, same = learn(stored, mask)
        assert_array_equal(sparse_codes.toarray(), codes)
        assert_array_equal(stored.toarray(), X)
        for own, known in zip(same, categories, strict=True):
            assert own is known is None or own.tolist() == known.tolist()
        assert_array_equal(encode(container(query), mask, categories).toarray(), expected)
        # Zeros of a numeric column, and of one that had any in training, are not stored.
        limit = stored.nnz + sum(len(query) for known in categories if known is not None)
        assert sparse_codes.nnz <= limit


@given(
    cells=st.lists(
        st.sampled_from(
            [0.0, -0.0, 1.0, 2.5, -3.0, 7.0, 1e300, 5e-324, np.inf, np.nan, 2.0**53, 2.0**60]
        )
        | st.integers(-5, 5).map(float),
        min_size=1,
        max_size=12,
    ),
    dtype=st.sampled_from([np.float64, np.float32, np.int64, np.uint64, np.int8, np.float16, bool]),
    order=st.sampled_from(["C", "F"]),
)
def test_arrays_of_numbers_have_the_codes_of_objects(cells, dtype, order):
    """Arrays of numbers are encoded by compiled code, those of objects value by value."""
    cells = np.array(cells)
    with np.errstate(all="ignore"):
        if np.dtype(dtype).kind in "iu":
            cells = np.nan_to_num(np.clip(cells, np.iinfo(dtype).min, 2.0**60), posinf=1.0)
            # Two integers that no float tells apart.
            column = np.append(cells.astype(dtype), np.array([2**60 + 1]).astype(dtype))
        else:
            column = cells.astype(dtype)
    X = np.array(np.column_stack([column, column[::-1]]), order=order)
    mask = np.array([True, False])
    codes, categories = learn(X, mask)
    expected, objects = learn(X.astype(object), mask)
    assert_array_equal(codes, expected)
    assert categories[0].dtype == X.dtype
    assert categories[0].tolist() == objects[0].tolist()
    assert not np.signbit(categories[0][categories[0] == 0]).any()


@pytest.mark.parametrize("zeros", [False, True])
def test_numbers_are_encoded_once(zeros):
    """Their codes are ranks; but where 0 is not the least of them, it has to have code 0."""
    X = np.array([[3.0, 1.0], [-2.0, 1.0], [5.0 * (not zeros), 2.0]])
    coded, categories = spinney_categories.learn(X, np.array([True, False]), 1)
    assert isinstance(coded, Columns) is not zeros
    assert categories[0].tolist() == ([0, -2, 3] if zeros else [-2, 3, 5])


def test_sparse_matrices_are_never_dense():
    X = sparse.random_array((10_000, 1_000_000), density=1e-9, format="csr", rng=0)
    X += sparse.csr_array(([1.0, 2.0], ([0, 1], [3, 3])), shape=X.shape)
    mask = np.zeros(X.shape[1], dtype=bool)
    mask[[3, 500]] = True
    codes, categories = learn(X, mask)
    assert codes.nnz == X.nnz
    assert categories[3].tolist() == [0, 1, 2]
    assert categories[500].tolist() == [0]
    assert codes.shape == X.shape


def test_duplicates_in_a_sparse_matrix_are_added_first():
    arrays = (np.array([1.0, 1.0, 5.0]), (np.array([0, 0, 1]), np.array([0, 0, 0])))
    csr = sparse.csr_matrix((arrays[0], arrays[1][1], np.array([0, 2, 3, 3])), shape=(3, 1))
    codes, categories = learn(csr, np.array([True]))
    assert categories[0].tolist() == [0, 2, 5]
    assert codes.toarray().ravel().tolist() == [1, 2, 0]
    assert csr.nnz == 3


# float64 does not tell these apart.
LARGE = [2**53, 2**53 + 1, 0, -(2**60) - 1, -(2**60)]


def large_columns():
    """Return a column of large integers in every storage, by name."""
    column = np.array(LARGE)
    signed, unsigned = column[:, None], np.abs(column[:, None]).astype(np.uint64)
    series = pd.Series(column)
    return {
        "int64": signed,
        "uint64": unsigned,
        "Fortran": np.asfortranarray(signed),
        "big-endian": signed.astype(">i8"),
        "objects": signed.astype(object),
        "lists": signed.tolist(),
        "csr": sparse.csr_matrix(signed),
        "csc": sparse.csc_array(signed),
        "coo": sparse.coo_array(signed),
        "csr of uint64": sparse.csr_array(unsigned),
        "pandas int64": series.to_frame("c"),
        "pandas Int64": series.astype("Int64").to_frame("c"),
        "pandas UInt64": pd.DataFrame({"c": unsigned[:, 0]}).astype("UInt64"),
        "pandas Arrow": series.astype("int64[pyarrow]").to_frame("c"),
        "pandas categories": series.astype("category").to_frame("c"),
        "pandas sparse": pd.DataFrame({"c": pd.arrays.SparseArray(column)}),
        "polars": pl.DataFrame({"c": column}),
        "pyarrow": pa.table({"c": column}),
    }


@pytest.mark.valuewise
@pytest.mark.parametrize("name", large_columns())
@pytest.mark.parametrize("estimator", ALL)
def test_large_integers_stay_apart(estimator, name):
    """Also in a query in another storage, and in data sets."""
    X, y = large_columns()[name], np.arange(len(LARGE))
    forest = {} if issubclass(estimator, tuple(TREES)) else {"bootstrap": False}
    model = make(estimator, categorical_features=[0], **forest).fit(X, y)
    expected = [abs(value) for value in LARGE] if "uint64" in name.lower() else LARGE
    assert sorted(model.categories_[0].tolist()) == sorted(expected)
    assert_array_equal(model.predict(X), y)
    if estimator in TREES:
        dataset = spinney.Dataset(X, categorical_features=[0])
        grown = make(estimator).fit(dataset, y)
        assert_array_equal(grown.predict(X), y)
        assert_array_equal(grown.predict(dataset), y)
        assert_array_equal(model.predict(dataset), y)
    if "uint64" not in name.lower() and not hasattr(X, "columns"):
        for other in ("int64", "objects", "csr", "csc"):
            assert_array_equal(model.predict(large_columns()[other]), y)


def test_large_integers_are_summed_before_they_are_categories():
    """Duplicates in a sparse matrix whose sums float64 does not tell apart."""
    data = np.array([2**53, 1, 2**53, 5])
    X = sparse.csr_array((data, np.zeros(4, dtype=int), np.array([0, 2, 3, 4])), shape=(3, 1))
    tree = spinney.DecisionTreeClassifier(categorical_features=[0]).fit(X, [0, 1, 2])
    assert tree.categories_[0].tolist() == [5, 2**53, 2**53 + 1]
    assert tree.predict(X).tolist() == [0, 1, 2]


def test_large_integers_beside_numbers():
    """Numeric columns of integers are float64, as the docs say."""
    X = np.column_stack([LARGE[:2] * 2, LARGE[:2] * 2])
    for matrix in (X, sparse.csr_array(X)):
        numeric = spinney.DecisionTreeClassifier().fit(matrix, [0, 1, 0, 1])
        assert numeric.get_n_leaves() == 1
        mixed = spinney.DecisionTreeClassifier(categorical_features=[1]).fit(matrix, [0, 1, 0, 1])
        assert mixed.predict(matrix).tolist() == [0, 1, 0, 1]
        assert mixed.tree_.feature[0] == 1


def test_large_integers_that_would_merge_are_refused(tmp_path):
    """Sparse columns of several types, blocks of a file, and values of a sparse data set."""
    column = np.array([[2**53], [2**53 + 1]])
    frame = pd.DataFrame(
        {
            "id": pd.arrays.SparseArray(column[:, 0]),
            "x": pd.arrays.SparseArray([0.5, 0.0], fill_value=0.0),
        }
    )
    tree = spinney.DecisionTreeClassifier(categorical_features=["id"])
    with pytest.raises(ValueError, match=r"feature 'id' must hold integers below 2\*\*53, because"):
        tree.fit(frame, [0, 1])
    blocks = [sparse.csr_array(column * 0.5), sparse.csr_array(column)]
    with pytest.raises(ValueError, match=r"integers below 2\*\*53.* Got larger ones in block 1\."):
        spinney.Dataset.write(tmp_path / "data", iter(blocks), categorical_features=[0])
    spinney.Dataset.write(tmp_path / "data", iter(blocks))
    dataset = spinney.Dataset(sparse.csr_array(column), categorical_features=[0])
    with pytest.raises(ValueError, match=r"categories of the feature 0\. Pass the matrix itself"):
        dataset._read_values()
    dense = spinney.Dataset(column, categorical_features=[0])
    assert np.asarray(dense).tolist() == column.tolist()


def test_large_integers_of_one_row_are_explained():
    """A list of numbers stays one of integers and floats."""
    X = np.array([[2**53, 0.5], [2**53 + 1, 0.5]] * 4, dtype=object)
    tree = spinney.DecisionTreeRegressor(categorical_features=[0]).fit(X, [0.0, 1.0] * 4)
    assert tree.explain([2**53 + 1, 0.5]).prediction == 1.0
    assert tree.explain([2**53, 0.5]).prediction == 0.0


def test_sparse_queries_of_a_model_of_strings_hold_unknown_categories():
    mask = np.array([True, False])
    _, categories = learn(pd.DataFrame({"a": ["x", "y"], "b": [1.0, 2.0]}), mask)
    codes = encode(sparse.csr_matrix([[0.0, 1.0], [7.0, 0.0]]), mask, categories)
    assert_array_equal(codes.toarray(), [[2, 1], [2, 0]])


def test_frames_of_sparse_columns_stay_sparse():
    X = pd.DataFrame({"a": [0, 0, 7, 9], "b": [0.0, 1.0, 0.0, 0.0]})
    frame = X.astype(pd.SparseDtype(float, 0.0))
    codes, categories = learn(frame, np.array([True, False]))
    assert sparse.issparse(codes)
    assert categories[0].tolist() == [0, 7, 9]
    assert_array_equal(codes.toarray(), [[0, 0], [0, 1], [1, 0], [2, 0]])
    model = spinney.DecisionTreeRegressor(categorical_features=["a"]).fit(frame, [0, 0, 1, 1])
    assert model.feature_names_in_.tolist() == ["a", "b"]


# --- Estimators ---------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ALL)
def test_every_estimator_takes_categories(estimator):
    y = columns()[-1]
    models = {}
    for name, X in frames().items():
        features = [0, 1] if name in ("objects", "lists") else ["size", "color"]
        model = make(estimator, categorical_features=features).fit(X, y)
        models[name] = model
        assert model.is_categorical_.tolist() == [True, True, False]
        assert [None if c is None else c.tolist() for c in model.categories_] == [
            ORDERS.get(name, ["blue", "green", "red"]),
            [0, -5, 3, 70000],
            None,
        ]
        assert model.n_features_in_ == 3
        has_names = name not in ("objects", "lists")
        assert hasattr(model, "feature_names_in_") == has_names
    plain = models["objects"].predict(frames()["objects"])
    for name, model in models.items():
        assert_array_equal(model.predict(frames()[name]), plain)
        again = pickle.loads(pickle.dumps(model))
        assert_array_equal(again.predict(frames()[name]), plain)
        assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize("estimator", ALL)
def test_the_trees_know_the_numbers_of_categories(estimator):
    X, y = frames()["pandas str"], columns()[-1]
    model = make(estimator, categorical_features=["color"]).fit(X, y)
    numeric = make(estimator).fit(X[["number"]], y)
    assert numeric.is_categorical_ is None
    assert numeric.categories_ is None
    if estimator in TREES:
        assert numeric.tree_.n_categories.tolist() == [0]
    model.set_params(categorical_features=None).fit(X[["number"]], y)
    assert model.is_categorical_ is None
    assert model.feature_names_in_.tolist() == ["number"]


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize("name", ["pandas str", "polars str"])
def test_names_are_checked_when_predicting(estimator, name):
    X, y = frames()[name], columns()[-1]
    model = make(estimator, categorical_features=["color"]).fit(X, y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X[["size", "color", "number"]])
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X[["color", "size"]])
    model_of_array = make(estimator, categorical_features=[0]).fit(frames()["objects"], y)
    with pytest.raises(ValueError, match="expecting 3 features"):
        model_of_array.predict(frames()["objects"][:, :2])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(frames()["objects"])


@pytest.mark.parametrize("estimator", ALL)
def test_a_failed_fit_changes_nothing(estimator):
    X, y = frames()["pandas str"], columns()[-1]
    model = make(estimator, categorical_features=["color"]).fit(X, y)
    before = {**vars(model)}
    with pytest.raises(TypeError, match="must hold values that can be sorted"):
        model.fit(X.assign(color=pd.Series([1, "x"] * 30, dtype=object)), y)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X.iloc[::-1], [*y[:-1], np.nan])
    assert vars(model) == before


def test_shapes_are_checked_before_columns():
    model = spinney.DecisionTreeClassifier(categorical_features=[0])
    with pytest.raises(ValueError, match="Expected 2D array"):
        model.fit(np.arange(3.0), [0, 1, 0])
    with pytest.raises(ValueError, match="Found array with 0 sample"):
        model.fit(pd.DataFrame({"a": pd.Series([], dtype=object)}), [])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(pd.DataFrame({"a": ["x", "y"]}), [0, 1, 0])
    with pytest.raises(ValueError, match=r"y cannot be None|requires y to be passed"):
        model.fit(pd.DataFrame({"a": ["x", "y"]}), None)


def test_unchecked_input_is_encoded_too():
    codes, y = expected_codes(), columns()[-1]
    model = spinney.DecisionTreeClassifier(categorical_features=[0, 1], random_state=0)
    model.fit(codes, y, check_input=False)
    assert model.categories_[1].tolist() == [0, 1, 2, 3]
    assert_array_equal(model.predict(codes, check_input=False), model.predict(codes))
    with pytest.raises(ValueError, match="X must have 3 features"):
        model.predict(codes[:, :2], check_input=False)


@pytest.mark.parametrize("estimator", FORESTS)
def test_the_trees_of_a_forest_take_codes(estimator):
    X, y = frames()["pandas str"], columns()[-1]
    model = make(estimator, categorical_features=["color", "size"]).fit(X, y)
    codes, _ = learn(X, model.is_categorical_)
    for tree, samples in zip(model.estimators_, model.estimators_samples_, strict=True):
        assert tree.get_params()["categorical_features"] == [0, 1]
        assert tree.categories_[0].tolist() == [0, 1, 2]
        assert tree.categories_[1].tolist() == [0, 1, 2, 3]
        counts = np.bincount(samples, minlength=len(y)).astype(float)
        again = clone(tree).fit(codes, y, sample_weight=counts)
        assert_array_equal(again.tree_.threshold, tree.tree_.threshold)
        assert_array_equal(again.tree_.n_categories, tree.tree_.n_categories)
        assert_array_equal(again.predict(codes), tree.predict(codes))
    model.estimators_ = model.estimators_[:2]
    assert len(pickle.loads(pickle.dumps(model))) == 2


@pytest.mark.parametrize("estimator", FORESTS)
def test_a_warm_start_needs_the_same_categories(estimator):
    X, y = frames()["pandas str"], columns()[-1]
    model = make(estimator, categorical_features=["color"], warm_start=True).fit(X, y)
    model.set_params(n_estimators=5).fit(X.assign(color=X["color"].astype("category")), y)
    assert len(model) == 5
    model.set_params(n_estimators=6)
    with pytest.raises(ValueError, match=r"warm_start=True adds to the trees .* categories"):
        model.fit(X.assign(color=X["color"].fillna("none")), y)
    model.set_params(categorical_features=None)
    with pytest.raises(ValueError, match=r"warm_start=True adds to the trees .* categories"):
        model.fit(X.assign(color=0.0), y)
    assert len(model) == 5


@pytest.mark.parametrize("name", ["pandas str", "polars categorical"])
def test_pipelines_hand_frames_through(name):
    X, y = frames()[name], columns()[-1]
    model = make_pipeline(
        FunctionTransformer(), make(FORESTS[0], categorical_features=["color"])
    ).fit(X, y)
    assert model[-1].feature_names_in_.tolist() == ["color", "size", "number"]
    assert_array_equal(model.predict(X), model[-1].predict(X))


# --- Missing values of frames -------------------------------------------------------------------


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"a": pd.array([1, None, 0], dtype="Int64")}),
        pd.DataFrame({"a": pd.array([1, None, 0], dtype="Float64")}),
        pd.DataFrame({"a": pd.array([True, None, False], dtype="boolean")}),
        pd.DataFrame({"a": pd.Series([1, None, 0], dtype=object)}),
        pl.DataFrame({"a": [1, None, 0]}),
        pl.DataFrame({"a": [1.0, None, 0.0]}),
        pl.DataFrame({"a": [True, None, False]}),
    ],
    ids=lambda X: f"{type(X).__module__.split('.')[0]} {X['a'].dtype}",
)
@pytest.mark.parametrize("estimator", ALL)
def test_missing_cells_of_frames_are_nan(estimator, X):
    y = [0, 1, 0]
    expected = make(estimator).fit([[1.0], [np.nan], [0.0]], y)
    model = make(estimator).fit(X, y)
    assert_array_equal(model.predict(X), expected.predict([[1.0], [np.nan], [0.0]]))


# --- Trees --------------------------------------------------------------------------------------


def tree_of_two_splits(**changes):
    """Return a tree: category in {0, 2} of 3, then number <= 0.5, by its constructor.

    The header of a category set has the number of words of its bits from bit 32 on.
    """
    state = {
        "n_features": 2,
        "n_classes": [1],
        "children_left": np.array([1, -1, 3, -1, -1], dtype=np.int32),
        "children_right": np.array([2, -1, 4, -1, -1], dtype=np.int32),
        "feature": np.array([0, -2, 1, -2, -2], dtype=np.int32),
        "threshold": np.array([0.0, -2.0, 0.5, -2.0, -2.0]),
        "missing_go_to_left": np.array([0, 0, 1, 0, 0], dtype=np.uint8),
        "impurity": np.zeros(5),
        "n_node_samples": np.array([4, 2, 2, 1, 1]),
        "weighted_n_node_samples": np.array([4.0, 2.0, 2.0, 1.0, 1.0]),
        "value": np.arange(5.0).reshape(5, 1, 1),
        "n_categories": np.array([3, 0], dtype=np.uint32),
        "category_words": np.array([1 << 32, 0b101], dtype=np.uint64),
    }
    return Tree(*(state | changes).values())


def test_trees_send_categories_where_their_sets_say():
    tree = tree_of_two_splits()
    X = np.array([[0, 0], [1, 0], [2, 9], [1, 9], [3, 0], [np.nan, 9], [0.5, np.nan], [-1, 9.0]])
    leaves = [1, 3, 1, 4, 3, 4, 3, 4]
    assert tree.apply(X).tolist() == leaves
    assert tree.predict(X).ravel().tolist() == leaves
    assert tree.apply(sparse.csr_matrix(X)).tolist() == leaves
    assert Forest([tree], [0]).apply(X).ravel().tolist() == leaves
    assert tree.n_categories.tolist() == [3, 0]
    codes, go_left = tree.category_set(0)
    assert (codes.tolist(), go_left) == ([0, 2], True)
    assert [codes.tolist() for codes in tree.category_sets(0)] == [[0, 2], [1]]
    others_left = tree_of_two_splits(
        category_words=np.array([1 << 63 | 1 << 32, 0b010], dtype=np.uint64)
    )
    codes, go_left = others_left.category_set(0)
    assert (codes.tolist(), go_left) == ([1], False)
    assert [codes.tolist() for codes in others_left.category_sets(0)] == [[0, 2], [1]]
    assert others_left.apply([[3.0, 0.0]] @ np.eye(2)).tolist() == [1]
    for node in (1, 2):
        with pytest.raises(ValueError, match="one that splits a categorical feature"):
            tree.category_set(node)
        with pytest.raises(ValueError, match="one that splits a categorical feature"):
            tree.category_sets(node)
    for node in (5, -1):
        with pytest.raises(IndexError, match=rf"has 5 nodes\. Got node {node}"):
            tree.category_sets(node)


def test_categorical_splits_have_no_threshold():
    """A reader that takes the number of a set for a threshold would go wrong without a word."""
    tree = tree_of_two_splits()
    expected = [np.nan, -2.0, 0.5, -2.0, -2.0]
    for one in (tree, Forest([tree], [0]).tree(0), pickle.loads(pickle.dumps(tree))):
        assert_array_equal(one.threshold, expected)
        assert one.threshold.dtype == np.float64
        assert not one.threshold.flags.writeable
        assert np.shares_memory(one.threshold, one.threshold)
    kept = tree_of_two_splits().threshold
    assert_array_equal(kept, expected)


@pytest.mark.parametrize("estimator", ALL[:8])
def test_category_sets_are_where_values_go(estimator):
    """Of every node of a grown tree; forests give their trees codes."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 9, 200), rng.normal(size=200)])
    y = (X[:, 0] % 3 + (X[:, 1] > 0)).astype(int)
    model = make(estimator, categorical_features=[0]).fit(X, y)
    trees = [model] if hasattr(model, "tree_") else model.estimators_
    n_sets = 0
    for tree in trees:
        nodes, paths = tree.tree_, tree.decision_path(X).toarray().astype(bool)
        for node in np.flatnonzero(nodes.feature == 0):
            assert np.isnan(nodes.threshold[node])
            left, right = nodes.category_sets(node)
            assert sorted([*left, *right]) == list(range(9))
            here = paths[:, node]
            assert_array_equal(np.isin(X[here, 0], left), paths[here, nodes.children_left[node]])
            n_sets += 1
    assert n_sets > 0


def test_trees_with_sets_are_pickled():
    tree = tree_of_two_splits()
    forest = Forest([tree], [3])
    for other in (pickle.loads(pickle.dumps(tree)), pickle.loads(pickle.dumps(forest)).tree(0)):
        assert other.n_categories.tolist() == [3, 0]
        assert other.category_set(0)[0].tolist() == [0, 2]
        sections, expected = other.__reduce__()[1][1], tree.__reduce__()[1][1]
        for mine, theirs in zip(sections, expected, strict=True):
            assert_array_equal(mine, theirs)
    # The shape of trees over numeric features is an output, a feature, and the classes.
    numeric = spinney.DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]).tree_
    assert numeric.__reduce__()[1][1][0].view("<u4").tolist() == [1, 1, 2]


@pytest.mark.parametrize(
    "changes",
    [
        {"category_words": None},
        {"n_categories": None},
        {"n_categories": np.array([3], dtype=np.uint32)},
        {"n_categories": np.array([2, 0], dtype=np.uint32)},
        {"n_categories": np.array([3, 3], dtype=np.uint32)},
        {"n_categories": np.array([0, 3], dtype=np.uint32)},
        {"category_words": np.array([1 << 32], dtype=np.uint64)},
        {"category_words": np.array([1 << 32, 0], dtype=np.uint64)},
        {"category_words": np.array([1 << 32, 5, 0], dtype=np.uint64)},
        {"category_words": np.array([1, 5], dtype=np.uint64)},
        {"category_words": np.array([2**64 - 1, 5], dtype=np.uint64)},
        {"threshold": np.array([1.0, -2.0, 0.5, -2.0, -2.0])},
        {"threshold": np.array([np.nan, -2.0, 0.5, -2.0, -2.0])},
        {"threshold": np.array([0.0, -2.0, np.nan, -2.0, -2.0])},
    ],
)
def test_unsound_states_are_refused(changes):
    tree_of_two_splits()
    with pytest.raises(ValueError, match="the tree's"):
        tree_of_two_splits(**changes)


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize("name", ["csc_matrix", "csr_array"])
def test_sparse_models_are_those_of_dense_data(estimator, name):
    """Zeros that are stored or not, categories that are new, and columns that had no zeros."""
    container = getattr(sparse, name)
    rng = np.random.default_rng(1)
    X = rng.choice([0, 0, 0, 1, 2, -4, 9], (80, 4)).astype(float)
    X[:, 3] = rng.choice([5, 6, 7], 80)
    X[rng.random(X.shape) < 0.1] = np.nan
    query = rng.choice([0, 1, 2, -4, 9, 33, 6, np.nan], (50, 4))
    y = rng.integers(0, 2, 80)
    dense = make(estimator, categorical_features=[0, 3]).fit(X, y)
    stored = make(estimator, categorical_features=[0, 3]).fit(container(X), y)
    assert stored.categories_[3].tolist() == [5, 6, 7]
    expected = dense.predict(query)
    for model in (dense, stored):
        assert_array_equal(model.predict(query), expected)
        assert_array_equal(model.predict(container(query)), expected)


@pytest.mark.parametrize("estimator", ALL)
def test_names_and_order_of_categories_never_matter(estimator):
    """Neither in training nor in prediction."""
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 12, 200)
    y = np.array([3, 1, 4, 1.5, 9, 2.6, 5, 3.5, 8, 9.7, 2, 6])[codes]
    y = y if "Regressor" in estimator.__name__ else (y > 4).astype(int)
    names = rng.permutation([f"level {n}" for n in range(12)])
    one = make(estimator, categorical_features=["a"], max_features=None)
    other = clone(one).fit(pd.DataFrame({"a": names[codes]}), y)
    one.fit(pd.DataFrame({"a": codes}), y)
    for query in (codes, rng.integers(0, 14, 50)):
        given = np.where(query < 12, names[np.minimum(query, 11)], "unknown")
        predictions = other.predict(pd.DataFrame({"a": given}))
        assert_array_equal(one.predict(pd.DataFrame({"a": query})), predictions)
    if estimator in TREES[:2]:
        assert_array_equal(other.predict(pd.DataFrame({"a": names[codes]})), y)
        assert_array_equal(one.predict(pd.DataFrame({"a": codes})), y)


@pytest.mark.parametrize("estimator", TREES[:2])
def test_unknown_categories_go_with_the_larger_child(estimator):
    """The set of a split lists the categories of the other child."""
    X = pd.DataFrame({"a": ["x"] * 2 + ["y"] * 5 + ["z"] * 2})
    y = [1] * 2 + [0] * 5 + [1] * 2
    model = estimator(categorical_features=["a"]).fit(X, y)
    assert model.get_n_leaves() == 2
    assert model.predict(pd.DataFrame({"a": ["new", "y", "x", "z"]})).tolist() == [0, 0, 1, 1]
    codes, _ = model.tree_.category_set(0)
    assert codes.tolist() == [0, 2]


def test_rare_categories_are_not_told_apart():
    """Those with too few rows in a node share its side."""
    X = pd.DataFrame({"a": ["x"] * 5 + ["y"] * 5 + ["z", "w"]})
    y = [0.0] * 5 + [1.0] * 5 + [100.0, -100.0]
    for least, n_leaves in ((1, 4), (2, 3), (6, 1)):
        model = spinney.DecisionTreeRegressor(
            categorical_features=["a"], min_samples_category=least
        )
        assert model.fit(X, y).get_n_leaves() == n_leaves


@pytest.mark.pairwise
@pytest.mark.parametrize("kind", ["dense", "csr", "csc", "data set"])
@pytest.mark.parametrize("n", [10, 400])
@pytest.mark.parametrize("estimator", TREES)
def test_missing_values_count_as_a_category_that_may_be_rare(estimator, n, kind):
    """Two gaps stand alone if two rows are enough, and beside other rare categories if not."""
    column = np.array([1.0] * n + [2.0] * n + [3.0] * 2 + [np.nan] * 2)[:, None]
    y = np.array([0] * (2 * n + 2) + [1] * 2)
    X = {"dense": column, "csr": sparse.csr_array(column), "csc": sparse.csc_array(column)}
    X["data set"] = spinney.Dataset(column, categorical_features=[0])
    rare = np.array([[3.0], [np.nan]])
    for least, is_alone in ((2, True), (3, False)):
        model = make(estimator, categorical_features=[0], min_samples_category=least)
        leaves = model.fit(X[kind], y).apply(rare)
        assert (leaves[0] != leaves[1]) == is_alone
