"""Pictures of intervals and of quantiles along a feature."""

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from spinney import RandomForestQuantileRegressor, RandomForestRegressor
from spinney.conformal import ConformalizedQuantileRegressor, JackknifeAfterBootstrapRegressor
from spinney.plotting import plot_prediction_intervals, plot_quantile_fan

X, Y = load_diabetes(return_X_y=True, as_frame=True)
TRAIN, QUERY = slice(0, 300), slice(300, 400)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def forest():
    forest = RandomForestQuantileRegressor(30, min_samples_leaf=5, random_state=0)
    return forest.fit(X[TRAIN], Y[TRAIN])


@pytest.mark.parametrize(
    "model",
    [
        JackknifeAfterBootstrapRegressor(
            RandomForestRegressor(40, random_state=0), confidence_level=[0.5, 0.9]
        ),
        ConformalizedQuantileRegressor(
            RandomForestQuantileRegressor(40, random_state=0), confidence_level=[0.5, 0.9]
        ),
    ],
    ids=["jackknife", "quantiles"],
)
@pytest.mark.parametrize("level", [0, 1])
def test_intervals(model, level):
    model.fit_conformalize(X[TRAIN], Y[TRAIN])
    prediction, intervals = model.predict_interval(X[QUERY])
    low, high = intervals[:, 0, level], intervals[:, 1, level]
    targets = Y[QUERY].to_numpy()
    inside = (low <= targets) & (targets <= high)
    own = {"confidence_level": [0.5, 0.9][level]} if level else {}
    ax = plot_prediction_intervals(model, X[QUERY], Y[QUERY], **own)
    assert ax is plt.gca()
    title = f"{inside.mean():.1%} inside, mean width {(high - low).mean():.4g}"
    assert ax.get_title() == title
    order = np.argsort(prediction, kind="stable")
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), prediction[order])
    bars, points, others = ax.collections
    segments = np.array(bars.get_segments())[:, :, 1]
    np.testing.assert_array_equal(segments, np.column_stack([low, high])[order])
    assert len(points.get_offsets()) == inside.sum()
    assert len(others.get_offsets()) == (~inside).sum()


def test_intervals_of_a_quantile_forest(forest):
    _, ax = plt.subplots()
    assert plot_prediction_intervals(forest, X[QUERY], Y[QUERY], ax=ax) is ax
    low, high = forest.predict(X[QUERY], [0.05, 0.95]).T
    inside = np.mean((low <= Y[QUERY]) & (Y[QUERY] <= high))
    assert ax.get_title().startswith(f"{inside:.1%} inside")
    ax = plot_prediction_intervals(forest, X[QUERY], Y[QUERY], quantiles=(0.25, 0.75))
    assert ax.get_legend() is not None


@pytest.mark.parametrize("feature", [2, "bmi"])
def test_fans(forest, feature):
    ax = plot_quantile_fan(forest, X[TRAIN], feature, grid_resolution=7)
    assert ax.get_xlabel() == "bmi"
    grid, middle = ax.lines[0].get_data()
    np.testing.assert_allclose(grid, np.linspace(X[TRAIN]["bmi"].min(), X[TRAIN]["bmi"].max(), 7))
    rows = np.unique(np.linspace(0, 299, 50).astype(int))
    some = X.iloc[rows].copy()
    some["bmi"] = grid[3]
    expected = forest.predict(some, 0.5).mean()
    assert middle[3] == pytest.approx(expected)
    assert len(ax.collections) == 2
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["0.05 to 0.95", "0.25 to 0.75", "0.5"]


def test_fans_of_arrays():
    data = X.to_numpy()
    forest = RandomForestQuantileRegressor(10, random_state=0).fit(data, Y)
    ax = plot_quantile_fan(forest, data, 2, quantiles=[0.5], grid_resolution=5)
    assert ax.get_xlabel() == "x[2]"
    assert not ax.collections
    assert np.array_equal(data, X.to_numpy())


def test_illegal_arguments(forest):
    model = JackknifeAfterBootstrapRegressor(RandomForestRegressor(40, random_state=0))
    model.fit_conformalize(X[TRAIN], Y[TRAIN])
    with pytest.raises(TypeError, match=r"model must be a regressor of spinney.conformal"):
        plot_prediction_intervals(RandomForestRegressor(), X, Y)
    for level in (0.5, True, "all"):
        with pytest.raises(ValueError, match=r"must be one of the model's, \[0.9\]"):
            plot_prediction_intervals(model, X[QUERY], Y[QUERY], confidence_level=level)
    with (
        pytest.warns(FutureWarning, match=r"removed in spinney 0.6: confidence_level names"),
        pytest.raises(ValueError, match="level must be below 1"),
    ):
        plot_prediction_intervals(model, X[QUERY], Y[QUERY], level=1)
    with pytest.raises(ValueError, match="quantiles are for quantile forests"):
        plot_prediction_intervals(model, X[QUERY], Y[QUERY], quantiles=(0.1, 0.9))
    with pytest.raises(ValueError, match="y must have a target for each of 100 samples"):
        plot_prediction_intervals(model, X[QUERY], Y[:3])
    several = RandomForestQuantileRegressor(3).fit(X, np.column_stack([Y, Y]))
    with pytest.raises(ValueError, match="Intervals are of one output"):
        plot_prediction_intervals(several, X, Y)
    with pytest.raises(TypeError, match="must be a quantile forest"):
        plot_quantile_fan(model, X, 0)
    with pytest.raises(ValueError, match="an odd number"):
        plot_quantile_fan(forest, X, 0, quantiles=[0.1, 0.9])
    with pytest.raises(ValueError, match="feature must be one of"):
        plot_quantile_fan(forest, X, "weight")
    with pytest.raises(ValueError, match="feature must be below 10"):
        plot_quantile_fan(forest, X, 10)
