"""Pictures of how important features are."""

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import sklearn.tree
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError

import spinney
from spinney import plot_importance


@pytest.fixture(autouse=True)
def _close_figures():
    # Other tests may have left one open.
    plt.close("all")
    yield
    plt.close("all")


def test_plots_of_importances():
    """The most important features, from above, with the spread of the trees."""
    data = load_diabetes()
    X = pd.DataFrame(data.data, columns=data.feature_names)
    forest = spinney.RandomForestRegressor(20, random_state=0).fit(X, data.target)
    ax = plot_importance(forest, n_features=4)
    order = np.argsort(-forest.feature_importances_)[:4]
    assert [label.get_text() for label in ax.get_yticklabels()] == list(X.columns[order])
    widths = [bar.get_width() for bar in ax.patches]
    np.testing.assert_array_equal(widths, forest.feature_importances_[order])
    low, high = np.percentile(forest.tree_importances()[:, order], [10, 90], axis=0)
    segments = np.array(ax.collections[0].get_segments())
    np.testing.assert_array_equal(segments[:, :, 0], np.column_stack([low, high]))
    assert ax.yaxis_inverted()
    tree = spinney.DecisionTreeRegressor(max_depth=2).fit(data.data, data.target)
    _, own = plt.subplots()
    assert plot_importance(tree, n_features=None, ax=own) is own
    assert len(own.patches) == 10
    assert not own.collections
    assert plot_importance(tree) is own


def test_names_of_features_fit_into_the_figure():
    """Also into one that is there already, as long as nothing else is drawn in it."""
    X = pd.DataFrame(np.eye(40)[:, :2], columns=["mean of the third quarter", "a" * 60])
    tree = spinney.DecisionTreeRegressor().fit(X, np.arange(40.0))
    for size in (None, (6.4, 4.8), (6, 3)):
        own = None if size is None else plt.figure(figsize=size)
        ax = plot_importance(tree)
        assert own in (None, ax.get_figure())
        own = ax.get_figure()
        own.canvas.draw()
        for label in ax.get_yticklabels():
            assert label.get_window_extent().x0 >= 0
        plt.close(own)
    _, axes = plt.subplots(1, 2)
    plot_importance(tree)
    assert axes[0].get_figure().get_layout_engine() is None


def test_illegal_arguments_are_named():
    tree = spinney.DecisionTreeClassifier().fit(*load_iris(return_X_y=True))
    with pytest.raises(ValueError, match="'n_features' parameter"):
        plot_importance(tree, n_features=0)
    with pytest.raises(ValueError, match="feature_names must contain 4"):
        plot_importance(tree, feature_names=["a"])


def test_other_estimators_are_refused():
    other = sklearn.tree.DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    with pytest.raises(TypeError, match=r"of spinney\. Got DecisionTreeClassifier"):
        plot_importance(other)
    with pytest.raises(NotFittedError):
        plot_importance(spinney.DecisionTreeClassifier())
    with pytest.raises(
        TypeError, match="must be a tree, a forest, boosting or a Boruta of spinney"
    ):
        plot_importance(spinney.LazyForestClassifier(2).fit([[0], [1]], [0, 1]))
