"""The picture of partial dependence shows what the function finds."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from spinney import DecisionTreeRegressor, RandomForestClassifier, RandomForestRegressor
from spinney.inspection import partial_dependence
from spinney.plotting import plot_partial_dependence
from spinney.survival import RandomSurvivalForest

mpl.use("Agg")
import matplotlib.pyplot as plt

X = pd.DataFrame({"colour": ["red", "blue", None, "green"] * 10, "size": np.arange(40.0)})
Y = np.arange(40.0) % 7
PARAMETERS = {"categorical_features": ["colour"], "random_state": 0}


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.mark.parametrize("kind", ["average", "individual", "both"])
@pytest.mark.parametrize("feature", ["colour", "size", 0, 1])
def test_what_is_drawn(feature, kind):
    """A category is at the places of its values, also where some are missing."""
    forest = RandomForestRegressor(5, **PARAMETERS).fit(X, Y)
    found = partial_dependence(forest, X, [feature], kind=kind)
    ax = plot_partial_dependence(forest, X, feature, kind=kind)
    drawn = [line.get_ydata() for line in ax.lines]
    expected = [] if kind == "average" else list(found["individual"][0])
    expected += [] if kind == "individual" else list(found["average"])
    np.testing.assert_array_equal(drawn, expected)
    names = [label.get_text() for label in ax.get_xticklabels()]
    if feature in ("colour", 0):
        assert ax.get_xlabel() == "colour"
        assert names == ["blue", "green", "red"]
    else:
        assert ax.get_xlabel() == "size"
        np.testing.assert_array_equal(ax.lines[0].get_xdata(), found["grid_values"][0])


def test_several_targets_have_a_legend():
    """Classes by their labels, outputs by their numbers, and times."""
    classes = np.array(["x", "y", "z"])[(Y % 3).astype(int)]
    forest = RandomForestClassifier(5, **PARAMETERS).fit(X, classes)
    ax = plot_partial_dependence(forest, X, "size", ax=plt.figure().gca())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["x", "y", "z"]
    ax = plot_partial_dependence(forest, X, "size", target=2, ax=plt.figure().gca())
    found = partial_dependence(forest, X, ["size"])["average"]
    np.testing.assert_array_equal([line.get_ydata() for line in ax.lines], found[2:])
    assert ax.get_legend() is None
    tree = DecisionTreeRegressor(**PARAMETERS).fit(X, np.column_stack([Y, -Y]))
    ax = plot_partial_dependence(tree, X, "colour", ax=plt.figure().gca())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["output 0", "output 1"]
    curves = RandomSurvivalForest(5, **PARAMETERS).fit(X, (Y > 1, Y + 1))
    ax = plot_partial_dependence(curves, X, "colour", times=[1, 4], ax=plt.figure().gca())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["time 1", "time 4"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"feature": ["colour", "size"]}, "'feature' parameter .* one feature"),
        ({"feature": "weight"}, "one or two different features"),
        ({"feature": 0, "target": 1}, r"'target' parameter .* range \[0, 1\) or None"),
        ({"feature": 0, "kind": "mean"}, "'kind' parameter"),
    ],
)
def test_illegal_arguments(arguments, told):
    tree = DecisionTreeRegressor(**PARAMETERS).fit(X, Y)
    with pytest.raises(ValueError, match=told):
        plot_partial_dependence(tree, X, **arguments)


def test_trees_with_categories_name_the_methods_for_shap_values():
    """shap shows the text of a tree that it refuses."""
    forest = RandomForestRegressor(2, **PARAMETERS).fit(X, X["colour"] == "red")
    for shown in (repr, str):
        text = shown(forest.estimators_[0].tree_)
        assert "shap_values" in text
        assert "to_shap" in text
    plain = DecisionTreeRegressor().fit(X[["size"]], Y)
    assert repr(plain.tree_) == f"<a tree of spinney with {plain.tree_.node_count} nodes>"
