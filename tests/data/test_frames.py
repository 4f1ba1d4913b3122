"""Data frames of pandas, polars and pyarrow, with columns of every type."""

import datetime as dt
import pickle
import tracemalloc
from contextlib import nullcontext
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import spinney._data.categories
from oracle import bits
from spinney import Dataset, DecisionTreeRegressor, LazyForestRegressor, RandomForestClassifier
from spinney._data.categories import encode, learn
from spinney._data.frames import are_categorical, get_columns

pytestmark = pytest.mark.oldest
NAN = np.nan
COLORS = ["red", "blue", None, "green", "red", "blue"]
Y = [1.0, 2.0, 3.0, 4.0, 1.5, 2.5]


def arrow(values, dtype):
    """Return a column of pandas in Arrow's memory."""
    return pd.array(values, dtype=pd.ArrowDtype(dtype))


# --- Numbers ------------------------------------------------------------------------------------

NUMBERS = [1, 0, None, 3, 1, 0]
REALS = [1.5, 0.0, None, NAN, 1.5, -2.0]
BOOLS = [True, False, None, True, True, False]
NUMERIC = {
    "pandas float64": pd.DataFrame({"a": np.array(REALS, dtype=float)}),
    "pandas float32": pd.DataFrame({"a": np.array(REALS, dtype=np.float32)}),
    "pandas object": pd.DataFrame({"a": pd.Series(REALS, dtype=object)}),
    "pandas NA": pd.DataFrame({"a": pd.Series([1.5, 0.0, pd.NA, NAN, 1.5, -2.0], dtype=object)}),
    "pandas Decimal": pd.DataFrame(
        {"a": [None if v is None or v != v else Decimal(v) for v in REALS]}
    ),
    "pandas Float64": pd.DataFrame({"a": pd.array(np.array(REALS, dtype=float), dtype="Float64")}),
    "pandas Int64": pd.DataFrame({"a": pd.array(NUMBERS, dtype="Int64")}),
    "pandas UInt8": pd.DataFrame({"a": pd.array(NUMBERS, dtype="UInt8")}),
    "pandas boolean": pd.DataFrame({"a": pd.array(BOOLS, dtype="boolean")}),
    "pandas double[pyarrow]": pd.DataFrame({"a": arrow(REALS, pa.float64())}),
    "pandas int8[pyarrow]": pd.DataFrame({"a": arrow(NUMBERS, pa.int8())}),
    "pandas bool[pyarrow]": pd.DataFrame({"a": arrow(BOOLS, pa.bool_())}),
    "pandas category of numbers": pd.DataFrame({"a": pd.Categorical(NUMBERS)}),
    "polars Float32": pl.DataFrame({"a": pl.Series(REALS, dtype=pl.Float32)}),
    "polars Int64": pl.DataFrame({"a": NUMBERS}),
    "polars Boolean": pl.DataFrame({"a": BOOLS}),
    "polars Decimal": pl.DataFrame({"a": pl.Series(NUMBERS).cast(pl.Decimal(10, 2))}),
    "pyarrow double": pa.table({"a": pa.array(REALS, pa.float64())}),
    "pyarrow int32": pa.table({"a": pa.array(NUMBERS, pa.int32())}),
    "pyarrow bool": pa.table({"a": pa.array(BOOLS)}),
    "pyarrow dictionary of int": pa.table({"a": pa.array(NUMBERS).dictionary_encode()}),
    "pandas dictionary of int[pyarrow]": pd.DataFrame(
        {"a": arrow(NUMBERS, pa.dictionary(pa.uint16(), pa.int64()))}
    ),
}


def expected_numbers(kind):
    if "bool" in kind.lower():
        values = BOOLS
    else:
        is_int = any(word in kind.lower() for word in ("int", "polars decimal", "category"))
        values = NUMBERS if is_int else REALS
    return np.array(values, dtype=float)[:, None]


@pytest.mark.parametrize("with_categories", [False, True])
@pytest.mark.parametrize("kind", NUMERIC)
def test_numbers_of_every_type(kind, with_categories):
    """A frame gives the model of its numbers, alone and beside a category."""
    X, params, expected = NUMERIC[kind], {}, expected_numbers(kind)
    if with_categories:
        X, params = (
            add_column(X, "c", ["x", "y", "x", "y", "x", "x"]),
            {"categorical_features": [1]},
        )
        expected = np.column_stack([expected, [0, 1, 0, 1, 0, 0]])
    plain = DecisionTreeRegressor(random_state=0, **params).fit(expected, Y)
    model = DecisionTreeRegressor(random_state=0, **params).fit(X, Y)
    assert bits(model) == bits(plain)
    np.testing.assert_array_equal(model.predict(X), plain.predict(expected))
    assert model.feature_names_in_.tolist() == (["a", "c"] if with_categories else ["a"])
    np.testing.assert_array_equal(model.predict(X[:1]), plain.predict(expected[:1]))


def add_column(X, name, values):
    """Return a frame with another column."""
    if isinstance(X, pa.Table):
        return X.append_column(name, pa.array(values))
    if isinstance(X, pl.DataFrame):
        return X.with_columns(pl.Series(name, values))
    return X.assign(**{name: values})


def test_mixed_columns_of_a_frame_keep_their_digits():
    """A column in single precision does not cost another one its digits."""
    X = pd.DataFrame(
        {"a": np.float32([0.1, 0.2, 0.3]), "b": [1.0, 1.0 + 1e-12, 1.0], "c": list("xyx")}
    )
    tree = DecisionTreeRegressor(categorical_features=["c"], random_state=0).fit(X, [0.0, 1.0, 0.0])
    coded, _ = learn(X, np.array([False, False, True]), 1)
    assert coded.dtype == np.float64
    np.testing.assert_array_equal(coded[:, 1], X["b"])
    np.testing.assert_array_equal(tree.predict(X), [0.0, 1.0, 0.0])


def test_a_frame_of_small_numbers_is_one_matrix_in_single_precision():
    """Half of the memory: single precision has all of its values."""
    n = 1000
    small = pd.DataFrame(
        {
            "c": pd.Categorical(["x", "y"] * (n // 2)),
            "f": np.float32(0.1),
            "i": np.int16(7),
            "b": True,
        }
    )
    mask = np.array([True, False, False, False])
    coded, categories = learn(small, mask, 1)
    assert coded.dtype == np.float32
    assert encode(small, mask, categories).dtype == np.float32
    most = 2**24
    for number in (-most, most):
        wide = learn(small.assign(i=number), mask, 1)[0]
        assert wide.dtype == np.float32
        assert (wide[:, 2] == number).all()
        assert learn(small.assign(i=number + np.sign(number)), mask, 1)[0].dtype == np.float64


# --- Sparse columns -----------------------------------------------------------------------------


@pytest.mark.parametrize("fill_value", [0, 0.0, 1.0, NAN])
@pytest.mark.parametrize("categorical", [None, [0]])
def test_sparse_columns_of_pandas(fill_value, categorical):
    """Whatever value is not stored, and beside columns that are dense."""
    dense = np.array([[0.0, 1.0], [0.0, 0.0], [2.0, 0.0], [0.0, 3.0], [2.0, 1.0], [0.0, 0.0]])
    columns = {
        c: pd.arrays.SparseArray(dense[:, i], fill_value=fill_value) for i, c in enumerate("ab")
    }
    params = {"categorical_features": categorical, "random_state": 0}
    plain = DecisionTreeRegressor(**params).fit(dense, Y)
    model = DecisionTreeRegressor(**params).fit(pd.DataFrame(columns), Y)
    np.testing.assert_array_equal(model.predict(pd.DataFrame(columns)), plain.predict(dense))
    assert bits(model) == bits(plain)
    mixed = pd.DataFrame(columns | {"b": dense[:, 1]})
    assert bits(DecisionTreeRegressor(**params).fit(mixed, Y)) == bits(plain)


# --- Categories ---------------------------------------------------------------------------------

CATEGORICAL = {
    "pandas object": pd.DataFrame({"c": pd.Series(COLORS, dtype=object)}),
    "pandas string": pd.DataFrame({"c": pd.array(COLORS, dtype="string")}),
    "pandas string[pyarrow]": pd.DataFrame({"c": arrow(COLORS, pa.string())}),
    "pandas category": pd.DataFrame(
        {"c": pd.Categorical(COLORS, ["never", "red", "green", "blue"])}
    ),
    "pandas dictionary[pyarrow]": pd.DataFrame(
        {"c": arrow(COLORS, pa.dictionary(pa.int32(), pa.string()))}
    ),
    "polars String": pl.DataFrame({"c": COLORS}),
    "polars Categorical": pl.DataFrame({"c": pl.Series(COLORS, dtype=pl.Categorical)}),
    "polars Enum": pl.DataFrame(
        {"c": pl.Series(COLORS, dtype=pl.Enum(["never", "red", "green", "blue"]))}
    ),
    "pyarrow string": pa.table({"c": COLORS}),
    "pyarrow large_string": pa.table({"c": pa.array(COLORS, pa.large_string())}),
    "pyarrow dictionary": pa.table({"c": pa.array(COLORS).dictionary_encode()}),
    "pyarrow chunks": pa.table(
        {"c": pa.chunked_array([pa.array(COLORS[:2]), pa.array(COLORS[2:])])}
    ),
    "pyarrow chunks of dictionaries": pa.table(
        {
            "c": pa.chunked_array(
                [pa.array(part).dictionary_encode() for part in (COLORS[:2], COLORS[2:])]
            )
        }
    ),
}
INDICES = [pa.int8, pa.int64, pa.uint8, pa.uint16, pa.uint32, pa.uint64]


def dictionary(values, index, of=pa.string):
    """Return a column of Arrow's memory with indices of some type."""
    return pa.array(values, of()).dictionary_encode().cast(pa.dictionary(index(), of()))


for index in INDICES:
    # The chunks have different dictionaries.
    chunks = [dictionary(part, index) for part in (COLORS[:2], COLORS[2:3], COLORS[3:])]
    table = pa.table({"c": pa.chunked_array(chunks)})
    CATEGORICAL[f"pyarrow dictionary of {index.__name__}"] = table
    CATEGORICAL[f"pandas dictionary of {index.__name__}"] = table.to_pandas(
        types_mapper=pd.ArrowDtype
    )
for of in (pa.large_string, pa.string_view):
    table = pa.table({"c": dictionary(COLORS, pa.uint32, of)})
    CATEGORICAL[f"pyarrow dictionary of {of.__name__}"] = table
CATEGORICAL["polars Categorical in Arrow"] = CATEGORICAL["polars Categorical"].to_arrow()
CATEGORICAL["pyarrow dictionary with a missing value"] = pa.table(
    {
        "c": pa.DictionaryArray.from_arrays(
            pa.array([0, 1, None, 2, 0, 1], pa.uint8()), ["red", "blue", "green"]
        )
    }
)
CATEGORICAL["pyarrow dictionary that has one"] = pa.table(
    {
        "c": pa.DictionaryArray.from_arrays(
            pa.array([0, 1, 3, 2, 0, 1], pa.uint8()), ["red", "blue", "green", None]
        )
    }
)
WITH_DTYPE = [
    kind for kind in CATEGORICAL if any(w in kind for w in ("cat", "Cat", "Enum", "dict"))
]
CODES = np.array([2.0, 0.0, NAN, 1.0, 2.0, 0.0])


@pytest.mark.parametrize("kind", CATEGORICAL)
def test_categories_of_every_type(kind):
    """Strings and dictionaries have the same codes, and every kind may ask any model."""
    mask = np.array([True])
    coded, categories = learn(CATEGORICAL[kind], mask, 1)
    # The type may put its categories in an order.
    order = ["red", "green", "blue"] if kind == "polars Enum" else ["blue", "green", "red"]
    assert categories[0].tolist() == order
    words = ["blue", "green", "red"]
    codes = [np.nan if np.isnan(code) else order.index(words[int(code)]) for code in CODES]
    np.testing.assert_array_equal(coded[:, 0], codes)
    for other in CATEGORICAL.values():
        np.testing.assert_array_equal(encode(other, mask, categories)[:, 0], codes)


@pytest.mark.parametrize("kind", CATEGORICAL)
def test_categorical_columns_by_dtype(kind):
    """Those that are dictionaries or enums; strings are not, unless they are asked for."""
    X = CATEGORICAL[kind]
    tree = DecisionTreeRegressor(categorical_features="from_dtype", random_state=0)
    if kind in WITH_DTYPE:
        expected = DecisionTreeRegressor(categorical_features=["c"], random_state=0).fit(X, Y)
        np.testing.assert_array_equal(tree.fit(X, Y).predict(X), expected.predict(X))
        if kind != "polars Enum":
            assert bits(tree) == bits(expected)
        assert tree.is_categorical_.tolist() == [True]
        assert encode(X, tree.is_categorical_, tree.categories_).dtype == np.float32
        dataset = Dataset(X, categorical_features="from_dtype")
        np.testing.assert_array_equal(tree.predict(dataset), expected.predict(X))
    else:
        with pytest.raises(ValueError, match=r"'c' .* must hold numbers, or be named"):
            tree.fit(X, Y)


def test_columns_of_one_name_are_read_by_place():
    """And the frame keeps its names, of whatever type they are."""
    X = pd.DataFrame({0: [1.5, 2.5], "c": pd.Categorical(["b", "a"]), "d": [3, 4]})
    X.columns = pd.Index([0, "c", "c"], dtype=object)
    assert are_categorical(X).tolist() == [False, True, False]
    for mask in ([False] * 3, [False, True, False], [True] * 3):
        columns = get_columns(X, np.array(mask))
        assert [list(column) for column in columns] == [[1.5, 2.5], ["b", "a"], [3, 4]]
    assert X.columns.tolist() == [0, "c", "c"]


DATES = [dt.date(2020, 1, day) for day in (3, 1, 3)]
NUMBERLESS = {
    "pandas dates": pd.DataFrame({"t": pd.to_datetime(["2020-01-03", None, "2020-01-03"])}),
    "pandas time zones": pd.DataFrame({"t": pd.to_datetime(DATES).tz_localize("UTC")}),
    "pandas durations": pd.DataFrame({"t": pd.to_timedelta([1, None, 3])}),
    "pandas timestamp[pyarrow]": pd.DataFrame({"t": arrow(DATES, pa.timestamp("s"))}),
    "polars Date": pl.DataFrame({"t": DATES}),
    "polars Duration": pl.DataFrame({"t": [dt.timedelta(day) for day in (1, 2, 3)]}),
    "polars Time": pl.DataFrame({"t": [dt.time(hour) for hour in (1, 2, 3)]}),
    "pyarrow date": pa.table({"t": DATES}),
    "pyarrow timestamp": pa.table({"t": pa.array([1, None, 3], pa.timestamp("s"))}),
}


@pytest.mark.parametrize("with_categories", [False, True])
@pytest.mark.parametrize("kind", NUMBERLESS)
def test_dates_and_durations_are_no_numbers(kind, with_categories):
    """They are refused, also beside categorical columns and in a query."""
    X, params = NUMBERLESS[kind], {}
    if with_categories:
        X, params = add_column(X, "c", ["x", "y", "x"]), {"categorical_features": ["c"]}
    tree = DecisionTreeRegressor(**params)
    told = "'t' holds values of the type .*, which are no numbers. Convert them to numbers"
    with pytest.raises(TypeError, match=told):
        tree.fit(X, [1.0, 2.0, 3.0])
    numbers = {"t": [1.0, 2.0, 3.0], "c": ["x", "y", "x"]}
    numbers = pd.DataFrame(numbers if with_categories else {"t": numbers["t"]})
    tree.fit(numbers, [1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match=told):
        tree.predict(X)


@pytest.mark.parametrize("kind", NUMBERLESS)
def test_dates_are_categories_where_they_are_asked_for(kind):
    """Any type that can be sorted makes categories."""
    X = NUMBERLESS[kind]
    tree = DecisionTreeRegressor(categorical_features=["t"], random_state=0).fit(X, [1.0, 2.0, 3.0])
    n_values = 3 if kind in ("polars Duration", "polars Time") else 2
    has_missing = kind in ("pandas dates", "pandas durations", "pyarrow timestamp")
    if has_missing:
        n_values = 1 if kind == "pandas dates" else 2
    assert len(tree.categories_[0]) == n_values
    assert np.isfinite(tree.predict(X)).all()


def test_dates_of_arrays_are_no_numbers():
    """Neither alone nor beside categorical columns."""
    X = np.array([["2020-01-01", "2020-01-02"], ["NaT", "2020-01-02"]], dtype="M8[D]")
    for params in ({}, {"categorical_features": [1]}):
        with pytest.raises(TypeError, match=r"datetime64\[D\], which are no numbers. Convert them"):
            DecisionTreeRegressor(**params).fit(X, [1.0, 2.0])
    tree = DecisionTreeRegressor(categorical_features=[0, 1]).fit(X, [1.0, 2.0])
    np.testing.assert_array_equal(tree.predict(X), [1.0, 2.0])


# --- Columns that are refused -------------------------------------------------------------------

REFUSED = {
    "city": ["Bern", None, "Chur"],
    "day": ["2024-01-31", "2024-02-01", None],
    "month": ["3 Feb 2024", "Mar 4, 2024", "5 May 2024"],
    "price": ["1.5", "?", "2"],
    "type": pd.Categorical(["a", "b", None]),
    "when": pd.to_datetime(["2024-01-31"] * 3),
    "number": [1.0, 2.0, 3.0],
}
CURES = {
    "city": "must hold numbers, or be named in categorical_features.",
    "day": "holds dates as text. Read them (pandas.to_datetime, str.to_date of polars)",
    "month": "holds dates as text.",
    "price": "If the text stands for missing values, make them missing (pandas.to_numeric(",
    "type": 'categorical_features="from_dtype" reads all columns of such types',
    "when": "which are no numbers. Convert them to numbers, such as days since a date",
}


def make_refused(kind):
    frame = pd.DataFrame(REFUSED)
    if kind == "pandas":
        return frame
    table = pa.Table.from_pandas(frame)
    return table if kind == "pyarrow" else pl.from_arrow(table)


@pytest.mark.parametrize("named", [None, ["city"], "from_dtype", ["from_dtype", "day"]])
@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_all_refused_columns_are_in_one_message(kind, named):
    """Each has its cure; those that are categories by name or type are not refused."""
    X = make_refused(kind)
    with pytest.raises(ValueError, match="columns that are refused") as caught:
        DecisionTreeRegressor(categorical_features=named).fit(X, [1.0, 2.0, 3.0])
    lines = str(caught.value).splitlines()[1:]
    taken = set(named) if isinstance(named, list) else {"type"} if named else set()
    taken |= {"type"} if "from_dtype" in taken else set()
    expected = {name: cure for name, cure in CURES.items() if name not in taken}
    assert len(lines) == len(expected)
    for line, (name, cure) in zip(lines, expected.items(), strict=True):
        assert f"olumn '{name}'" in line
        assert cure in line


def test_refused_columns_of_arrays_and_of_queries():
    """Arrays have no names; a query is told of all columns, too; a long list is cut."""
    cells = pd.DataFrame(REFUSED)[["city", "day", "number"]].to_numpy(dtype=object)
    for model in (DecisionTreeRegressor(), DecisionTreeRegressor(categorical_features=[2])):
        with pytest.raises(ValueError, match=r"index 0 must(.*\n)*.*index 1 holds dates as text"):
            model.fit(cells, [1.0, 2.0, 3.0])
    tree = DecisionTreeRegressor().fit(pd.DataFrame({"a": [1, 2], "b": [1, 2]}), [1.0, 2.0])
    with pytest.raises(ValueError, match=r"'a' of .* must hold(.*\n)*.*'b' of .* must hold"):
        tree.predict(pd.DataFrame({"a": ["x"], "b": ["y"]}))
    with pytest.raises(ValueError, match=r"30 columns that are refused:\n(.*\n)*.*and 10 more"):
        tree.fit(pd.DataFrame({f"c{n}": ["x"] for n in range(30)}), [1.0])


def test_dates_as_text_that_are_named_give_a_warning():
    """They would be categories, of which no later one is known."""
    X = pd.DataFrame({"day": ["2024-01-31", None, "2024-02-01"], "code": ["7.5.1", "8", "2024"]})
    tree = DecisionTreeRegressor(categorical_features=["day", "code"])
    with pytest.warns(UserWarning, match=r"dates as text: 'day'\. Dates that"):
        tree.fit(X, [1.0, 2.0, 3.0])


# --- What is no matrix --------------------------------------------------------------------------

MIXED = pd.DataFrame({"c": ["x", "y", "x"], "n": [1.0, 2.0, 3.0]})
ROW = r"Expected 2D array, got 1D array instead:\n.* pass a frame of one row"
RECORD = (
    r"Expected 2D array, got a dict instead. Pass a frame of one row: pandas.DataFrame\(\[row\]"
)
NO_MATRIX = {
    "series": (MIXED.iloc[0], ROW),
    "column": (MIXED["n"], ROW),
    "polars series": (pl.Series([1.0, 2.0]), ROW),
    "arrow array": (pa.array([1.0, 2.0]), ROW),
    "arrow chunks": (pa.chunked_array([[1.0, 2.0]]), ROW),
    "list": (["x", 1.0], ROW),
    "tuple": (("x", 1.0), ROW),
    "array": (np.array(["x", 1.0], dtype=object), ROW),
    "dict": (MIXED.iloc[0].to_dict(), RECORD),
    "columns": (MIXED.to_dict("list"), r"got a dict instead. Pass a frame: pandas.DataFrame\(col"),
    "records": (MIXED.to_dict("records"), r"got a list of dict instead. .* frame of these rows"),
    "record": (MIXED[:1].to_dict("records"), r"got a list of dict instead. .* frame of one row"),
    "number": (3.0, "got scalar array instead"),
    "string": ("x", "got scalar array instead"),
    "nothing": (None, "got scalar array instead"),
}


@pytest.mark.parametrize("named", [None, ["c"]])
@pytest.mark.parametrize("kind", NO_MATRIX)
def test_rows_and_records_are_no_matrix(kind, named):
    """The message says what to pass, with names and categories as without."""
    X, told = NO_MATRIX[kind]
    train = MIXED if named else MIXED[["n"]]
    for model in (DecisionTreeRegressor(), RandomForestClassifier(2), LazyForestRegressor(2)):
        model.set_params(categorical_features=named).fit(train, [1, 2, 1])
        with pytest.raises(ValueError, match=told):
            model.predict(X)
        with pytest.raises(ValueError, match=told):
            model.fit(X, [1, 2, 1])
    with pytest.raises(ValueError, match=told):
        Dataset(X, categorical_features=named)


# --- Queries ------------------------------------------------------------------------------------

OF_OTHER_TYPES = {
    "ints": [7, 8],
    "floats": [0.5, NAN],
    "strings": ["red", "7"],
    "dates": pd.to_datetime(["2020", "2021"]),
    "tuples": pd.Series([("red",), (1, 2)]),
    "lists, which cannot be hashed": pd.Series([["red"], [1, 2]]),
    "mixed": pd.Series([1, "red"], dtype=object),
}


@pytest.mark.parametrize("known", ["strings", "ints"])
@pytest.mark.parametrize("kind", OF_OTHER_TYPES)
def test_values_of_other_types_are_unknown(kind, known):
    """A query is never refused for the values of a categorical column."""
    train = ["red", "blue", "red"] if known == "strings" else [7, 5, 7]
    X = pd.DataFrame({"c": train})
    tree = DecisionTreeRegressor(categorical_features=["c"], random_state=0).fit(X, [1.0, 2.0, 1.0])
    query = pd.DataFrame({"c": OF_OTHER_TYPES[kind]})
    codes = encode(query, tree.is_categorical_, tree.categories_)[:, 0].tolist()
    values = [None if value is NAN else value for value in query["c"].tolist()]
    of_known = "red" if known == "strings" else 7
    expected = [
        NAN if value is None or value != value else 1.0 if value == of_known else 2.0
        for value in values
    ]
    np.testing.assert_array_equal(codes, expected)
    as_objects = query.to_numpy(dtype=object)
    np.testing.assert_array_equal(
        encode(as_objects, tree.is_categorical_, tree.categories_)[:, 0], codes
    )
    are_known = [code for code in codes if code == code and code != 2.0]
    with nullcontext() if are_known else pytest.warns(UserWarning, match="No category that occ"):
        assert np.isfinite(tree.predict(query)).all()


def test_the_look_up_of_a_column_is_made_once(monkeypatch):
    """It belongs to the categories of a fit, not to a prediction, and is no attribute."""
    X = CATEGORICAL["pandas category"]
    model = RandomForestClassifier(3, categorical_features=["c"], random_state=0).fit(X, [0, 1] * 3)
    before = set(vars(model))
    listed = []
    list_items = spinney._data.categories.list_items
    monkeypatch.setattr(
        spinney._data.categories, "list_items", lambda v: listed.append(v) or list_items(v)
    )
    expected = model.predict(X)
    for _ in range(2):
        model.predict(X)
    assert sum(values is model.categories_[0] for values in listed) == 1
    assert set(vars(model)) == before
    assert type(model.categories_) is list
    back = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(back.predict(X), expected)
    # Another fit has other categories.
    train = pd.DataFrame({"c": ["red", "red", "blue"]})
    np.testing.assert_array_equal(model.fit(train, [1, 1, 0]).predict(train), [1, 1, 0])
    train = pd.DataFrame({"c": ["amber", "red", "blue"]})
    np.testing.assert_array_equal(
        model.set_params(bootstrap=False).fit(train, [1, 0, 1]).predict(train), [1, 0, 1]
    )


def test_names_and_order_of_columns_are_checked():
    """In scikit-learn's words, for every library."""
    a, b = [1.0, 2.0, 3.0], [0.0, 1.0, 0.0]
    for kind in (pd.DataFrame, pl.DataFrame, pa.table):
        model = DecisionTreeRegressor().fit(kind({"a": a, "b": b}), [1.0, 2.0, 3.0])
        with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
            model.predict(kind({"b": b, "a": a}))
        with pytest.raises(
            ValueError, match="Feature names seen at fit time, yet now missing:\n- b"
        ):
            model.predict(kind({"a": a}))
        with pytest.raises(ValueError, match="unseen at fit time:\n- z"):
            model.predict(kind({"a": a, "b": b, "z": b}))


def test_wide_numeric_frames_are_left_to_numpy(monkeypatch):
    """A frame of NumPy's numbers is one block of memory; columns are not read one by one."""
    monkeypatch.setattr(spinney._data.categories, "get_columns", None)
    X = pd.DataFrame(np.arange(6.0).reshape(3, 2), columns=["a", "b"])
    LazyForestRegressor(3).fit(X, [1.0, 2.0, 3.0]).predict(X)


def test_sparse_matrices_and_lists_are_no_frames():
    """They have no columns by name."""
    for X in (sparse.csr_matrix(np.eye(3)), np.eye(3), np.eye(3).tolist()):
        assert not spinney._data.categories.is_frame(X)


def test_a_frame_is_encoded_without_another_copy_of_it():
    """Beside the matrix there is memory for a column or two, not for all."""
    n, n_columns = 50_000, 20
    columns = {f"f{i}": np.arange(n, dtype=float) for i in range(n_columns - 1)}
    X = pd.DataFrame(columns | {"c": pd.Categorical(["x", "y"] * (n // 2))})
    mask = np.arange(n_columns) == n_columns - 1
    for call in (lambda: learn(X, mask, 1), lambda: encode(X, mask, learn(X, mask, 1)[1])):
        tracemalloc.start()
        call()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1.3 * n * n_columns * 8


def test_frames_that_are_not_read_yet_are_refused():
    """The error says what X should be."""
    X = pl.LazyFrame({"a": [1.0, 2.0]})
    tree = DecisionTreeRegressor().fit(X.collect(), [1.0, 2.0])
    with pytest.raises(TypeError, match=r"Got a LazyFrame .* collect it into a data"):
        tree.predict(X)
    for wanted in (None, ["a"], [0], "from_dtype"):
        with pytest.raises(TypeError, match=r"Got a LazyFrame .* collect it into a data"):
            DecisionTreeRegressor(categorical_features=wanted).fit(X, [1.0, 2.0])


NESTED = (
    pa.table({"a": pa.array([[1, 2], [3, 4]])}),
    pa.table({"a": pa.array([[1, 2], [3, 4]])}).to_pandas(types_mapper=pd.ArrowDtype),
    pl.DataFrame({"a": [[1, 2], [3, 4]]}),
    pl.DataFrame({"a": [[1, 2], [3, 4]]}, schema={"a": pl.Array(pl.Int64, 2)}),
    pl.DataFrame({"a": [{"x": 1, "y": 2}, {"x": 3, "y": 4}]}),
)


@pytest.mark.parametrize("X", NESTED, ids=lambda X: str(type(X)))
def test_cells_of_several_values_are_refused(X):
    """The errors name the column, whether it is numeric or categorical."""
    with pytest.raises(TypeError, match=r"Column 'a' holds values of the type (List|Array|Str)"):
        DecisionTreeRegressor().fit(X, [0.0, 1.0])
    with pytest.raises(TypeError, match="feature 'a' must hold strings, numbers or other values"):
        DecisionTreeRegressor(categorical_features=["a"]).fit(X, [0.0, 1.0])
    # In a query they are unknown values.
    train = pd.DataFrame({"a": ["x", "y", "y"]})
    tree = DecisionTreeRegressor(categorical_features=["a"]).fit(train, [0.0, 1.0, 1.0])
    with pytest.warns(
        UserWarning, match=r"'a' \(2 distinct values, .* where `fit` got the type str"
    ):
        assert tree.predict(X).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("categorical", [None, ["a"]])
def test_frames_without_rows(categorical):
    """Nothing is predicted for no rows; `fit` refuses them as scikit-learn does."""
    X = pd.DataFrame({"a": pd.array([1, 2], dtype="Int64")})
    for train in (X, X.astype("float64"), pl.from_pandas(X), pa.Table.from_pandas(X)):
        tree = DecisionTreeRegressor(categorical_features=categorical).fit(train, [0.0, 1.0])
        assert tree.predict(train[:0]).shape == (0,)
        with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\) \(shape=\(0, 1\)\)"):
            tree.fit(train[:0], [])


@pytest.mark.parametrize(
    "y",
    [
        pl.Series([0, 1, 0, 1, 0, 1]),
        pl.Series(["a", "b"] * 3),
        pa.chunked_array([["a", "b"] * 3]),
        pd.Series(["a", "b"] * 3, dtype="category"),
        pd.Series([True, False] * 3, dtype="boolean"),
        pl.DataFrame({"one": [0, 1] * 3, "two": [1, 0] * 3}),
    ],
    ids=lambda y: f"{type(y).__module__.split('.')[0]} {type(y).__name__}",
)
def test_targets_of_other_libraries(y):
    """Series and frames of labels."""
    X = pl.DataFrame({"a": [0.0, 1.0] * 3})
    model = RandomForestClassifier(20, bootstrap=False, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), np.asarray(y))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_ordered_categories_keep_their_order(library):
    """That of their type, in which they are shown; the trees are those of the same words."""
    sizes, words = ["small", "medium", "large"], ["large", "small", "medium", "small"] * 20
    if library == "pandas":
        column = pd.Categorical(words, categories=[*sizes, "huge"], ordered=True)
        X = pd.DataFrame({"size": column})
    else:
        X = pl.DataFrame({"size": words}, schema={"size": pl.Enum([*sizes, "huge"])})
    y = np.arange(80.0) % 4
    model = DecisionTreeRegressor(categorical_features="from_dtype", random_state=0).fit(X, y)
    assert model.categories_[0].tolist() == sizes
    plain = pd.DataFrame({"size": words})
    other = DecisionTreeRegressor(categorical_features=["size"], random_state=0).fit(plain, y)
    assert other.categories_[0].tolist() == ["large", "medium", "small"]
    np.testing.assert_array_equal(model.predict(X), other.predict(plain))
    grid = spinney.inspection.partial_dependence(model, X, ["size"])
    assert list(grid["grid_values"][0]) == sizes


def test_complex_columns_are_refused():
    frame = pd.DataFrame({"a": ["x", "y"], "b": np.array([1j, 2.0])})
    with pytest.raises(ValueError, match="Complex data not supported"):
        DecisionTreeRegressor(categorical_features=["a"]).fit(frame, [0, 1])
