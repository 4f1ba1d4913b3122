"""What comes back has the labels, the types and the range of what went in, in all containers."""

import datetime as dt
import warnings
from decimal import Decimal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline

from spinney import RandomForestRegressor
from spinney.impute import MissForestImputer

N = 24
HOLES = [1, 5, 14]
NUMBERS = np.arange(float(N))


def with_holes(values):
    return [None if row in HOLES else value for row, value in enumerate(values)]


FLOATS = with_holes(row / 3 for row in range(N))
INTS = with_holes(row // 3 for row in range(N))
BOOLS = with_holes(row % 3 == 0 for row in range(N))
LARGE = with_holes([2**63 - 1] * N)
HUGE = with_holes([2**64 - 1] * N)
DECIMALS = with_holes(Decimal(row) / 4 + Decimal("0.00") for row in range(N))
TEXTS = with_holes("xy"[row > N // 2] for row in range(N))
DAYS = with_holes(dt.date(2020, 1, 1 + row % 3) for row in range(N))
TIMES = with_holes(dt.datetime(2020, 1, 1 + row % 3, 4) for row in range(N))


def make_imputer(**params):
    return MissForestImputer(**{"n_estimators": 5, "max_iter": 2, "random_state": 0, **params})


def make_table(library, values, make_type):
    """Return a frame with a column of values, and one of numbers that tells of it."""
    module = pytest.importorskip(library)
    dtype = make_type(module)
    if library == "pyarrow":
        return module.table({"x": module.array(values, type=dtype), "n": NUMBERS})
    return module.DataFrame({"x": module.Series(values, dtype=dtype), "n": NUMBERS})


def list_types(table):
    """Return the names and types of the columns, as the library has them."""
    return dict(table.dtypes) if hasattr(table, "iloc") else list(table.schema)


NUMERIC = [
    ("pandas", FLOATS, lambda pd: "float16"),
    ("pandas", FLOATS, lambda pd: "float32"),
    ("pandas", FLOATS, lambda pd: "Float32"),
    ("pandas", FLOATS, lambda pd: "float[pyarrow]"),
    ("pandas", FLOATS, lambda pd: pd.SparseDtype(float, np.nan)),
    ("pandas", FLOATS, lambda pd: object),
    ("pandas", INTS, lambda pd: "Int8"),
    ("pandas", INTS, lambda pd: "uint8[pyarrow]"),
    ("pandas", INTS, lambda pd: object),
    ("pandas", LARGE, lambda pd: "Int64"),
    ("pandas", LARGE, lambda pd: "int64[pyarrow]"),
    ("pandas", LARGE, lambda pd: object),
    ("pandas", HUGE, lambda pd: "UInt64"),
    ("pandas", HUGE, lambda pd: object),
    ("pandas", BOOLS, lambda pd: "boolean"),
    ("pandas", BOOLS, lambda pd: "bool[pyarrow]"),
    ("pandas", BOOLS, lambda pd: object),
    ("pandas", DECIMALS, lambda pd: object),
    ("polars", FLOATS, lambda pl: pl.Float32),
    ("polars", INTS, lambda pl: pl.Int8),
    ("polars", LARGE, lambda pl: pl.Int64),
    ("polars", HUGE, lambda pl: pl.UInt64),
    ("polars", BOOLS, lambda pl: pl.Boolean),
    ("polars", DECIMALS, lambda pl: pl.Decimal(8, 2)),
    ("pyarrow", FLOATS, lambda pa: pa.float16()),
    ("pyarrow", INTS, lambda pa: pa.int8()),
    ("pyarrow", LARGE, lambda pa: pa.int64()),
    ("pyarrow", HUGE, lambda pa: pa.uint64()),
    ("pyarrow", BOOLS, lambda pa: pa.bool_()),
    ("pyarrow", DECIMALS, lambda pa: pa.decimal128(8, 2)),
]
CATEGORICAL = [
    ("pandas", TEXTS, lambda pd: "category"),
    ("pandas", TEXTS, lambda pd: "str"),
    ("pandas", TEXTS, lambda pd: "string"),
    ("pandas", TEXTS, lambda pd: object),
    ("pandas", INTS, lambda pd: "category"),
    ("pandas", FLOATS, lambda pd: "float32"),
    ("pandas", HUGE, lambda pd: "UInt64"),
    ("pandas", BOOLS, lambda pd: object),
    ("pandas", DAYS, lambda pd: object),
    ("pandas", TIMES, lambda pd: "datetime64[ns]"),
    ("pandas", TIMES, lambda pd: "datetime64[us, CET]"),
    ("polars", TEXTS, lambda pl: pl.String),
    ("polars", TEXTS, lambda pl: pl.Categorical),
    ("polars", TEXTS, lambda pl: pl.Enum(["y", "x"])),
    ("polars", HUGE, lambda pl: pl.UInt64),
    ("polars", BOOLS, lambda pl: pl.Boolean),
    ("polars", DAYS, lambda pl: pl.Date),
    ("polars", TIMES, lambda pl: pl.Datetime("ns")),
    ("polars", TIMES, lambda pl: pl.Datetime("us", "CET")),
    ("pyarrow", TEXTS, lambda pa: pa.large_string()),
    ("pyarrow", TEXTS, lambda pa: pa.dictionary(pa.int8(), pa.string())),
    ("pyarrow", LARGE, lambda pa: pa.int64()),
    ("pyarrow", DAYS, lambda pa: pa.date32()),
    ("pyarrow", TIMES, lambda pa: pa.timestamp("us", "CET")),
]
COLUMNS = [(*case, "from_dtype") for case in NUMERIC] + [(*case, ["x"]) for case in CATEGORICAL]


@pytest.mark.parametrize(("library", "values", "make_type", "categorical"), COLUMNS)
def test_filled_values_are_of_the_type_and_within_the_range(
    library, values, make_type, categorical
):
    table = make_table(library, values, make_type)
    imputer = make_imputer(categorical_features=categorical)
    known = nw.from_native(table)["x"].drop_nulls().to_list()
    # Of a pandas column of floats, whose missing values are NaN.
    known = [value for value in known if value == value]
    for filled in (imputer.fit_transform(table), imputer.transform(table)):
        assert type(filled) is type(table)
        assert list_types(filled) == list_types(table)
        cells = nw.from_native(filled)["x"].to_list()
        assert [cell for row, cell in enumerate(cells) if row not in HOLES] == known
        assert {type(cell) for cell in cells} == {type(value) for value in known}
        if categorical == ["x"]:
            assert set(cells) == set(known)
        else:
            assert min(known) <= min(cells) <= max(cells) <= max(known)


@pytest.mark.parametrize("values", [FLOATS, INTS, BOOLS, LARGE, TEXTS])
def test_a_row_without_a_value(values):
    """The type of the column then is that of missing values, or what fit knows."""
    categorical = ["x"] if values is TEXTS else None
    imputer = make_imputer(categorical_features=categorical)
    known = {value for value in values if value is not None}
    imputer.fit(pd.DataFrame({"x": pd.Series(values, dtype=object), "n": NUMBERS}))
    missing = [None] if values is not TEXTS else [None, np.nan]
    for value in missing:
        filled = imputer.transform(pd.DataFrame({"x": [value], "n": [7.0]}))["x"][0]
        assert type(filled) in set(map(type, known))
        assert filled in known if values is TEXTS else min(known) <= filled <= max(known)
    polars = pytest.importorskip("polars")
    filled = imputer.transform(polars.DataFrame({"x": [None], "n": [7.0]}))["x"][0]
    assert type(filled) in set(map(type, known))


LABELS = {
    "numbers": [0, 1, 2],
    "tuples": pd.Index([("a", 1), ("a", 2), ("b", 1)], tupleize_cols=False),
    "levels": pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]),
    "two of one name": ["a", "b", "b"],
    "dates": pd.date_range("2020", periods=3),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_any_labels(labels):
    array = np.random.default_rng(0).normal(size=(N, 3))
    array[HOLES, 2] = np.nan
    frame = pd.DataFrame(array, index=[0] * N)
    frame.columns = labels
    imputer = make_imputer()
    expected = make_imputer().fit_transform(array)
    for filled in (imputer.fit_transform(frame), imputer.transform(frame)):
        assert filled.columns.equals(frame.columns)
        assert filled.index.equals(frame.index)
        np.testing.assert_array_equal(filled.to_numpy(), expected)


def test_arrays_and_lists():
    """They come back as floats, or as objects where categories are no numbers."""
    cells = [[True, 1.0], [None, 1.0], [False, 0.0], [False, None]] * 6
    for table in (cells, np.array(cells, dtype=object)):
        filled = make_imputer().fit_transform(table)
        assert filled.dtype == np.float64
        assert set(filled[:, 0]) == {0.0, 1.0}
    mixed = [["a", 1.0], ["a", np.nan], ["b", 0.0], [None, 0.0]] * 6
    filled = make_imputer(categorical_features=[0]).fit_transform(mixed)
    assert filled[:4].tolist() == [["a", 1.0], ["a", 1.0], ["b", 0.0], ["b", 0.0]]


TIMELIKE = {
    "datetime": pd.date_range("2020", periods=N),
    "time zone": pd.date_range("2020", periods=N, tz="CET"),
    "duration": pd.to_timedelta(np.arange(N), unit="h"),
    "period": pd.period_range("2020", periods=N, freq="D"),
    "date": [dt.date(2020, 1, 1)] * N,
    "time": [dt.time(1)] * N,
}


# Only pandas has periods.
@pytest.mark.parametrize(
    ("library", "kind"),
    [(library, kind) for library in ("polars", "pyarrow") for kind in TIMELIKE if kind != "period"]
    + [("pandas", kind) for kind in TIMELIKE],
)
def test_complete_dates_pass_through(library, kind):
    times = TIMELIKE[kind]
    frame = pd.DataFrame({"x": pd.array(INTS, dtype="Int64"), "when": times, "n": NUMBERS})
    module = pytest.importorskip(library)
    if library != "pandas":
        frame = module.from_pandas(frame) if library == "polars" else module.table(frame)
    imputer = make_imputer(skip_complete=False)
    for filled in (imputer.fit_transform(frame), imputer.transform(frame)):
        assert list_types(filled) == list_types(frame)
        before, after = (nw.from_native(table)["when"].to_list() for table in (frame, filled))
        assert before == after
        assert nw.from_native(filled)["x"].null_count() == 0
    assert imputer.passes_through_.tolist() == [False, True, False]
    assert sorted(imputer.forests_) == [0, 2]
    assert imputer.forests_[0].n_features_in_ == 1


def test_missing_dates_are_refused():
    frame = pd.DataFrame({"x": FLOATS, "when": pd.date_range("2020", periods=N), "n": NUMBERS})
    imputer = make_imputer().fit(frame)
    frame.loc[3, "when"] = None
    for method in (imputer.transform, make_imputer().fit):
        with pytest.raises(TypeError, match=r"Column 'when' .* must be complete"):
            method(frame)
    # As categories they are filled.
    filled = make_imputer(categorical_features=["when"]).fit_transform(frame)
    assert filled["when"].notna().all()


def test_types_that_do_not_have_a_value():
    frame = pd.DataFrame({"x": pd.array(INTS, dtype="Int64") * 100, "n": NUMBERS})
    imputer = make_imputer().fit(frame)
    narrow = pd.DataFrame({"x": pd.array([1, None], dtype="Int8"), "n": [0.0, 20.0]})
    half = pd.DataFrame({"x": np.array([1, np.nan], dtype="float16"), "n": [0.0, 20.0]})
    with pytest.raises(ValueError, match="The column 'x' must have a type"):
        imputer.transform(narrow)
    imputer.fit(frame.assign(x=frame["x"] * 1e6))
    with pytest.raises(ValueError, match=r"The column 'x' must have .* Float16"):
        imputer.transform(half)
    text = pd.DataFrame({"x": ["1", None, "2"] * 8, "n": NUMBERS})
    with pytest.raises(TypeError, match="strings in the column 'x': name it in categorical"):
        make_imputer().fit(text)


def test_new_frames_may_have_other_categories():
    imputer = make_imputer().fit(pd.DataFrame({"x": pd.Categorical(TEXTS), "n": NUMBERS}))
    kinds = pd.Categorical(["x", None, "new"])
    filled = imputer.transform(pd.DataFrame({"x": kinds, "n": [0.0, 20.0, 0.0]}))
    assert filled["x"].tolist() == ["x", "y", "new"]
    ordered = pd.DataFrame({"x": pd.Categorical(["x", None], ordered=True), "n": [0.0, 20.0]})
    with pytest.raises(ValueError, match=r"The column 'x' must .* the value 'y'"):
        imputer.transform(ordered)


def test_new_frames_may_have_other_types():
    """Whole numbers that were objects in fit, as categories and as numbers, and are floats now."""
    frame = pd.DataFrame({"x": pd.Series(INTS, dtype=object), "n": NUMBERS})
    new = pd.DataFrame({"x": [0.0, np.nan], "n": [0.0, 23.0]})
    for categorical in (None, ["x"]):
        imputer = make_imputer(categorical_features=categorical).fit(frame)
        filled = imputer.transform(new)
        assert filled.dtypes.equals(new.dtypes)
        assert 6.0 <= filled["x"][1] <= 7.0


def test_unknown_categories_are_told_once_and_by_name():
    """The forests that predict columns are no business of the caller."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(N, 6)), columns=list("abcdef"))
    frame = frame.mask(rng.random(frame.shape) < 0.2).assign(kind=["x", "y"] * (N // 2))
    imputer = make_imputer(categorical_features=["kind"]).fit(frame)
    with pytest.warns(UserWarning, match="'kind'") as told:
        imputer.transform(frame.assign(kind="new"))
    assert len(told) == 1
    # Of some columns, all rows with missing values have a category that is new to the forest.
    partly = frame.assign(kind=np.where(frame["a"].isna(), "new", frame["kind"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        imputer.transform(partly)
        make_imputer(categorical_features=["kind"]).fit_transform(partly)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_output_has_types_whatever_the_library(library, output):
    pytest.importorskip("polars")
    kinds = {
        "pandas": lambda pd: "category",
        "polars": lambda pl: pl.Categorical,
        "pyarrow": lambda pa: pa.dictionary(pa.int32(), pa.string()),
    }
    table = make_table(library, TEXTS, kinds[library])
    for X in (table, make_imputer().fit_transform(table)):
        filled = nw.from_native(make_imputer().set_output(transform=output).fit_transform(X))
        assert filled.implementation.name.lower() == output
        assert filled.schema == {"x": nw.Categorical, "n": nw.Float64}


def test_column_transformers():
    frame = pd.DataFrame(
        {"x": pd.array(INTS, dtype="Int64"), "n": NUMBERS, "flag": pd.array(BOOLS, "boolean")}
    )
    columns = ColumnTransformer([("fill", make_imputer(), ["x", "n", "flag"])])
    for stacked in (columns.fit_transform(frame), columns.transform(frame)):
        assert stacked.dtype == np.float64
        assert set(stacked[:, 2]) == {0.0, 1.0}
    filled = columns.set_output(transform="pandas").fit_transform(frame)
    assert filled.dtypes.tolist() == frame.dtypes.tolist()
    # A frame that is no longer of numbers is read as pandas reads it.
    filled = make_imputer().fit_transform(frame)
    assert np.asarray(filled).dtype == np.float64
    filled["text"] = "a"
    assert np.asarray(filled).dtype == object
    y = np.arange(N)
    model = make_pipeline(columns, RandomForestRegressor(3, random_state=0)).fit(frame, y)
    assert model.predict(frame).shape == (N,)
