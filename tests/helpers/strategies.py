"""Small random problems, and the many ways in which the same matrix can be stored."""

from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from spinney import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    LazyForestClassifier,
    LazyForestRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

CLASSIFIERS = (DecisionTreeClassifier, ExtraTreeClassifier)
REGRESSORS = (DecisionTreeRegressor, ExtraTreeRegressor)
ESTIMATORS = CLASSIFIERS + REGRESSORS
FOREST_CLASSIFIERS = (RandomForestClassifier, ExtraTreesClassifier)
FOREST_REGRESSORS = (RandomForestRegressor, ExtraTreesRegressor)
FORESTS = FOREST_CLASSIFIERS + FOREST_REGRESSORS
LAZY_CLASSIFIERS = (LazyForestClassifier,)
LAZY_REGRESSORS = (LazyForestRegressor,)
LAZY_FORESTS = LAZY_CLASSIFIERS + LAZY_REGRESSORS
FOREST_OF_TASK = {
    "classes": RandomForestClassifier,
    "numbers": RandomForestRegressor,
    "counts": partial(RandomForestRegressor, criterion="poisson"),
    "medians": partial(RandomForestRegressor, criterion="absolute_error"),
    "quantiles": partial(RandomForestRegressor, criterion="quantile", quantile=0.3),
}
TREE_OF_TASK = {
    "classes": DecisionTreeClassifier,
    "numbers": DecisionTreeRegressor,
    "counts": partial(DecisionTreeRegressor, criterion="poisson"),
    "medians": partial(DecisionTreeRegressor, criterion="absolute_error"),
    "quantiles": partial(DecisionTreeRegressor, criterion="quantile", quantile=0.3),
}

# Numbers that float32, float16 and small integers can hold, with many zeros and ties.
SMALL_INTEGERS = (-3, -2, -1, 0, 0, 0, 0, 1, 2, 3)
COUNTS = (0, 0, 0, 0, 1, 1, 2, 3)
# float64 numbers at which comparing, halving or rounding could go wrong.
AWKWARD_NUMBERS = (
    0.0,
    -0.0,
    1.0,
    np.nextafter(1.0, 2.0),
    np.nextafter(1.0, 0.0),
    0.1,
    0.1 + 1e-9,
    1 / 3,
    -1e-300,
    1e300,
    -1.7e308,
    1.7e308,
    2.0**53,
    2.0**53 + 2,
    np.inf,
    -np.inf,
)


def examples(number, **others):
    """Return settings for a number of random examples; `make test-all` has twenty times as many."""
    times = settings().max_examples / settings.get_profile("spinney").max_examples
    return settings(max_examples=round(number * times), **others)


class Data(NamedTuple):
    """A training set."""

    X: np.ndarray
    y: np.ndarray
    sample_weight: np.ndarray | None


@st.composite
def data(
    draw, task="classes", values=SMALL_INTEGERS, max_samples=20, max_features=4, missing=False
):
    """Draw a training set with ties, repeated rows, several outputs and exact weights.

    With `missing`, some have missing values.

    Labels and targets are integers or quarters, weights quarters, so that all of it is exact in
    fixed point numbers.
    """
    n_samples = draw(st.integers(1, max_samples))
    n_features = draw(st.integers(1, max_features))
    shape = (n_samples, n_features)
    X = draw(hnp.arrays(np.float64, shape, elements=st.sampled_from(values)))
    if missing:
        X[draw(hnp.arrays(np.bool_, shape, fill=st.just(False)))] = np.nan
    n_outputs = draw(st.sampled_from((1, 1, 2, 3)))
    if task == "classes":
        kind, elements = np.int64, st.integers(0, draw(st.integers(1, 4)))
    else:
        quarters = st.just(0) | st.integers(0, 20) if task == "counts" else st.integers(-20, 20)
        kind, elements = np.float64, quarters.map(lambda quarters: quarters / 4)
    y = draw(hnp.arrays(kind, (n_samples, n_outputs), elements=elements))
    if task == "counts" and not y.any():
        y[0, 0] = 1.0
    weight = st.integers(0, 8).map(lambda quarters: quarters / 4)
    sample_weight = draw(st.none() | hnp.arrays(np.float64, n_samples, elements=weight))
    if sample_weight is not None and not sample_weight.any():
        sample_weight[0] = 1.0
    return Data(X, y[:, 0] if n_outputs == 1 else y, sample_weight)


@st.composite
def stop_rules(draw):
    """Draw some of the parameters that stop the growth; the fractions are exact in binary."""
    return draw(
        st.fixed_dictionaries(
            {},
            optional={
                "max_depth": st.integers(1, 4),
                "min_samples_split": st.sampled_from((2, 3, 5, 0.25, 1.0)),
                "min_samples_leaf": st.sampled_from((1, 2, 4, 0.125, 0.25)),
                "min_weight_fraction_leaf": st.sampled_from((0.0, 0.0625, 0.25, 0.5)),
                "min_impurity_decrease": st.sampled_from((0.0, 0.01, 0.1, 0.5)),
                "max_leaf_nodes": st.integers(2, 9),
            },
        )
    )


@st.composite
def growth_rules(draw):
    """Draw stop rules, and which features may interact."""
    interactions = st.sampled_from((None, None, "pairwise", "no_interactions"))
    return draw(stop_rules()) | {"interaction_cst": draw(interactions)}


def raw_sparse(kind, X, rng, *, explicit_zeros=0.0, duplicates=False, shuffled=False):
    """Build a CSC or CSR container entry by entry, so that its structure may be unusual.

    A share `explicit_zeros` of the zeros is stored. With `duplicates`, about half of the entries
    are stored in two parts, and some zeros as 1 and -1. With `shuffled`, the entries of a column
    (or row) stand in no order.
    """
    X = np.asarray(X)
    stored = (X != 0) | (rng.random(X.shape) < explicit_zeros)
    row, col = np.nonzero(stored)
    value = X[row, col].astype(np.float64)
    if duplicates:
        twice = rng.random(len(value)) < 0.5
        zero_row, zero_col = np.nonzero((X == 0) & (rng.random(X.shape) < 0.1))
        one = np.ones(len(zero_row))
        row = np.concatenate([row, row[twice], zero_row, zero_row])
        col = np.concatenate([col, col[twice], zero_col, zero_col])
        parts = np.where(twice, value - 2, value)
        value = np.concatenate([parts, np.full(twice.sum(), 2.0), one, -one])
    if shuffled:
        order = rng.permutation(len(value))
        row, col, value = row[order], col[order], value[order]
    by_row = kind in (sp.csr_matrix, sp.csr_array)
    major, minor = (row, col) if by_row else (col, row)
    order = np.argsort(major, kind="stable") if shuffled else np.lexsort((minor, major))
    n_major = X.shape[0] if by_row else X.shape[1]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(major, minlength=n_major))])
    indices = minor[order].astype(np.int32)
    return kind((value[order], indices, indptr.astype(np.int32)), shape=X.shape)


def with_long_indices(container):
    """Return a sparse container whose index arrays are int64."""
    container = container.copy()
    container.indices = container.indices.astype(np.int64)
    container.indptr = container.indptr.astype(np.int64)
    return container


def dense_storages(X):
    """Yield the name and the data of dense forms of a matrix of small integers."""
    types = ["int8", "int16", "int32", "int64", "float16", "float32", "float64"]
    if X.min() >= 0:
        types += ["uint8", "uint16", "uint32", "uint64"]
    if np.isin(X, (0, 1)).all():
        types += ["bool"]
    if np.isnan(X).any():
        types = [dtype for dtype in types if dtype.startswith("float")]
    for dtype in types:
        yield f"C {dtype}", np.ascontiguousarray(X, dtype=dtype)
        yield f"F {dtype}", np.asfortranarray(X, dtype=dtype)
    for dtype in ("float32", "float64"):
        wide = np.full((2 * X.shape[0], 3 * X.shape[1]), 99, dtype=dtype)
        wide[::2, ::3] = X
        yield f"strided {dtype}", wide[::2, ::3]
        yield f"reversed {dtype}", X[::-1, ::-1].astype(dtype)[::-1, ::-1]
        locked = X.astype(dtype)
        locked.setflags(write=False)
        yield f"read-only {dtype}", locked
    yield "other byte order", X.astype(">f8")
    yield "negative zeros", np.where(X == 0, -0.0, X)
    yield "list", X.tolist()


def sparse_storages(X, seed=0):
    """Yield the name and the data of sparse forms of a matrix of small integers."""
    rng = np.random.default_rng(seed)
    for kind in (sp.csc_matrix, sp.csr_matrix, sp.csc_array, sp.csr_array):
        name = kind.__name__
        plain = raw_sparse(kind, X, rng)
        yield name, plain
        yield f"{name} int64 indices", with_long_indices(plain)
        for dtype in ("float32",) if np.isnan(X).any() else ("int8", "int64", "float32"):
            yield f"{name} {dtype}", plain.astype(dtype)
        yield f"{name} some explicit zeros", raw_sparse(kind, X, rng, explicit_zeros=0.5)
        yield f"{name} all explicit zeros", raw_sparse(kind, X, rng, explicit_zeros=1.0)
        yield f"{name} duplicates", raw_sparse(kind, X, rng, duplicates=True)
        yield f"{name} unsorted", raw_sparse(kind, X, rng, shuffled=True)
        everything = raw_sparse(kind, X, rng, explicit_zeros=0.3, duplicates=True, shuffled=True)
        yield f"{name} everything", everything
        yield f"{name} everything int64 indices", with_long_indices(everything)
        locked = raw_sparse(kind, X, rng, shuffled=True)
        for part in (locked.data, locked.indices, locked.indptr):
            part.setflags(write=False)
        yield f"{name} read-only unsorted", locked
    for form in ("coo", "lil", "dok", "bsr", "dia"):
        yield form, sp.csr_matrix(X).asformat(form)
