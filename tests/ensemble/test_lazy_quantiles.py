"""Quantiles of lazy forests against those of the grown forests."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_regression

from spinney import (
    ExtraTreesQuantileRegressor,
    LazyForestRegressor,
    RandomForestQuantileRegressor,
)
from strategies import examples

QUANTILES = [0.0, 0.1, 0.5, 0.93, 1.0]
INTERPOLATIONS = ["linear", "lower", "higher", "midpoint", "nearest"]


@st.composite
def fits(draw):
    """Return parameters of forests, data to fit and samples to predict."""
    seed = draw(st.integers(0, 2**32 - 1))
    n_outputs = draw(st.integers(1, 2))
    rng = np.random.default_rng(seed)
    X, y = make_regression(
        draw(st.integers(2, 80)), 4, n_targets=n_outputs, noise=20, random_state=seed % 1000
    )
    X[rng.random(X.shape) < 0.3] = draw(st.sampled_from([0.0, np.nan]))
    params = {
        "n_estimators": draw(st.integers(1, 6)),
        "bootstrap": draw(st.sampled_from([True, False, "poisson"])),
        "min_samples_leaf": draw(st.integers(1, 8)),
        "max_features": draw(st.sampled_from([1.0, "sqrt"])),
        "criterion": draw(st.sampled_from(["squared_error", "absolute_error"])),
        "random_state": seed,
    }
    kind = draw(st.sampled_from([None, "copies", "real"]))
    weights = {
        None: None,
        "copies": rng.integers(1, 4, len(X)).astype(float),
        "real": rng.uniform(0.1, 2, len(X)),
    }[kind]
    return params, (X, np.round(y / 20), weights), rng.normal(size=(draw(st.integers(1, 90)), 4))


@examples(30)
@given(
    fits(),
    st.sampled_from(["best", "random"]),
    st.sampled_from(["auto", "batched", "single"]),
    st.sampled_from(INTERPOLATIONS),
)
def test_lazy_quantiles_are_those_of_the_grown_forest(fit, splitter, traversal, interpolation):
    params, (X, y, weights), query = fit
    grown_class = {"best": RandomForestQuantileRegressor, "random": ExtraTreesQuantileRegressor}
    grown = grown_class[splitter](**params).fit(X, y, sample_weight=weights)
    lazy = LazyForestRegressor(splitter=splitter, traversal=traversal, **params)
    lazy.fit(X, y, sample_weight=weights)
    for quantiles in (QUANTILES, 0.3):
        expected = grown.predict(query, quantiles, interpolation)
        found = lazy.predict(query, quantiles, interpolation)
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(lazy.predict(query, "mean"), grown.predict(query, "mean"))


def test_threads_and_storage_do_not_matter():
    X, y = make_regression(300, 6, noise=20, random_state=0)
    X[np.random.default_rng(0).random(X.shape) < 0.5] = 0
    lazy = LazyForestRegressor(10, min_samples_leaf=20, random_state=0).fit(X, y)
    expected = lazy.predict(X, QUANTILES)
    assert expected.shape == (300, 5)
    parallel = LazyForestRegressor(10, min_samples_leaf=20, n_jobs=3, random_state=0)
    parallel.fit(sparse.csc_matrix(X), y)
    np.testing.assert_array_equal(parallel.predict(sparse.csr_matrix(X), QUANTILES), expected)
    np.testing.assert_array_equal(lazy.predict(X[7:8], QUANTILES), expected[7:8])


def test_what_cannot_be_asked_is_told():
    X, y = make_regression(30, 3, random_state=0)
    lazy = LazyForestRegressor(3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"Quantiles must be in the range \[0, 1\], got 1.5"):
        lazy.predict(X, 1.5)
    with pytest.raises(ValueError, match="interpolation must be one of 'linear'"):
        lazy.predict(X, 0.5, "cubic")
    for params in ({"max_leaf_nodes": 4}, {"ccp_alpha": 0.1}):
        whole = LazyForestRegressor(3, random_state=0, **params).fit(X, y)
        with pytest.raises(ValueError, match="quantiles needs a lazy traversal"):
            whole.predict(X, 0.5)
        assert whole.predict(X).shape == (30,)
    eager = LazyForestRegressor(3, traversal="eager", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="Got 'eager'"):
        eager.predict(X, 0.5)
    leaves = LazyForestRegressor(3, criterion="quantile", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="criterion='quantile' predict the quantile"):
        leaves.predict(X, 0.5)
