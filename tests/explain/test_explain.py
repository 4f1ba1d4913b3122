"""One prediction in words and as a picture."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes

import spinney


def test_the_text_adds_up_to_the_prediction():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    forest = spinney.RandomForestRegressor(50, random_state=0).fit(X, y)
    for row in (X[7:8], X.iloc[[7]]):
        explained = forest.explain(row, n_features=3, Y=X)
        assert explained.prediction == forest.predict(row)[0]
        assert explained.expected == forest.expected_value_
        total = explained.expected + sum(value for _, value in explained.contributions)
        np.testing.assert_allclose(total, explained.prediction, rtol=1e-12)
        values = forest.shap_values(row)[0]
        order = np.argsort(-np.abs(values))[:3]
        shown = [name for name, _ in explained.contributions]
        assert shown[3:] == ["7 other features"]
        for i, name in zip(order, shown, strict=False):
            feature, text = name.split(" = ")
            assert feature == X.columns[i]
            assert float(text) == pytest.approx(X.iloc[7, i], rel=5e-4)
        assert explained.nearest[0] == (7, 1.0)
        lines = str(explained).splitlines()
        assert lines[0].endswith("expected, if nothing is known")
        assert lines[1].split() == [f"{values[order[0]]:+.4g}", *shown[0].split()]
        assert lines[5] == f"{explained.prediction:.4g}".rjust(len(lines[5]) - 12) + "  prediction"
        of_trees = [tree.predict(row.to_numpy())[0] for tree in forest.estimators_]
        low, high = np.percentile(of_trees, [10, 90])
        assert lines[6] == f"eight of ten trees predict between {low:.4g} and {high:.4g}"
        assert lines[7].startswith("nearest samples: 7 (100% of the trees), ")


def test_the_share_of_the_predicted_class_is_explained():
    X, y = load_breast_cancer(return_X_y=True)
    labels = np.array(["bad", "good"])[y]
    forest = spinney.RandomForestClassifier(30, random_state=0).fit(X, labels)
    for row in (X[0], list(X[0]), X[:1], sparse.csr_matrix(X[:1])):
        explained = forest.explain(row)
        assert explained.target == "share of class bad"
        assert explained.prediction == forest.predict_proba(X[:1])[0, 0]
        n = sum(tree.predict(X[:1])[0] == 0 for tree in forest.estimators_)
        assert explained.agreement == f"{n} of 30 trees predict class bad"
        assert explained.nearest == []
        assert len(explained.contributions) == 9
        assert explained.contributions[-1][0].endswith(" other features")


def test_trees_categories_and_missing_values():
    frame = pd.DataFrame({"colour": ["red", "blue", None] * 20, "size": np.arange(60.0)})
    frame.loc[3, "size"] = np.nan
    y = (frame["colour"] == "red") * 3.0 + np.arange(60) / 30
    tree = spinney.DecisionTreeRegressor(categorical_features=["colour"], max_depth=4).fit(frame, y)
    explained = tree.explain(frame[3:4])
    assert {name for name, _ in explained.contributions} == {"colour = red", "size = missing"}
    assert explained.agreement == "one tree"
    plain = spinney.DecisionTreeRegressor(categorical_features=[0], max_depth=4)
    plain.fit(frame.to_numpy(dtype=object), y)
    names = {name for name, _ in plain.explain(["blue", 4.0]).contributions}
    assert names == {"x[0] = blue", "x[1] = 4"}
    assert "colour = missing" in str(tree.explain(frame[2:3]))
    forest = spinney.RandomForestRegressor(2, max_depth=2).fit(frame[["size"]], y)
    assert forest.estimators_[0].explain([5.0]).contributions[0][0] == "size = 5"


def test_a_row_of_a_frame_is_read_by_its_names():
    frame = pd.DataFrame({"colour": ["red", "blue"] * 30, "size": np.arange(60.0)})
    y = (frame["colour"] == "red") * 3.0 + frame["size"] / 30
    tree = spinney.DecisionTreeRegressor(categorical_features=["colour"]).fit(frame, y)
    expected = tree.explain(frame[7:8])
    row = frame.iloc[7]
    assert tree.explain(row) == expected
    # What scikit-learn says of a frame with its columns in another order.
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        tree.explain(row[::-1])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert tree.explain(row.to_numpy()) == expected
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert tree.explain([list(row)]) == expected
    assert repr(expected) == str(expected)


def test_sparse_rows_of_one_dimension():
    X, y = load_diabetes(return_X_y=True)
    tree = spinney.DecisionTreeRegressor(max_depth=3).fit(X, y)
    expected = tree.explain(X[:1])
    for row in (sparse.csr_array(X[:1]), sparse.coo_array(X[0])):
        assert str(tree.explain(row)) == str(expected)


def test_few_trees_are_all_in_the_range():
    X, y = load_diabetes(return_X_y=True)
    forest = spinney.RandomForestRegressor(3, random_state=0).fit(X, y)
    of_trees = [tree.predict(X[:1])[0] for tree in forest.estimators_]
    expected = f"3 trees predict between {min(of_trees):.4g} and {max(of_trees):.4g}"
    assert forest.explain(X[0]).agreement == expected


def test_the_picture_leads_from_the_expected_value_to_the_prediction():
    matplotlib = pytest.importorskip("matplotlib", reason="draws")
    matplotlib.use("Agg")
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    explained = spinney.RandomForestRegressor(10, random_state=0).fit(X, y).explain(X[:1])
    ax = explained.plot()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        f"expected: {explained.expected:.4g}",
        f"prediction: {explained.prediction:.4g}",
    ]
    bars = ax.patches
    assert len(bars) == len(explained.contributions)
    np.testing.assert_allclose(bars[0].get_x(), explained.expected)
    np.testing.assert_allclose(bars[-1].get_x() + bars[-1].get_width(), explained.prediction)
    _, own = matplotlib.pyplot.subplots()
    assert explained.plot(own) is own
    matplotlib.pyplot.close("all")


def test_pictures_are_readable():
    """Bars have one thickness, numbers are beside the frame, and names are what they are."""
    matplotlib = pytest.importorskip("matplotlib", reason="draws")
    matplotlib.use("Agg")
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X.columns = [f"a long name of a column, and its end: $x_{i}$" for i in range(10)]
    thickness = set()
    for n in (1, 3, 10):
        explained = spinney.RandomForestRegressor(10, random_state=0).fit(X.iloc[:, :n], y)
        ax = explained.explain(X.iloc[:1, :n], n_features=10).plot()
        ax.figure.canvas.draw()
        thickness |= {round(bar.get_window_extent().height) for bar in ax.patches}
        inside = ax.get_window_extent()
        numbers = [text.get_window_extent() for text in ax.texts]
        assert len(numbers) == n
        assert all(inside.x1 < box.x0 and box.x1 < ax.figure.bbox.x1 for box in numbers)
        assert all(inside.y0 < box.y0 and box.y1 < inside.y1 for box in numbers)
        names = [label.get_text() for label in ax.get_yticklabels()]
        assert all(name.startswith("a long name of a co…") for name in names)
        assert {name[20:].split(" = ")[0] for name in names} == {
            f"s end: $x_{i}$" for i in range(n)
        }
        edges = [label.get_window_extent().x0 for label in ax.get_yticklabels()]
        assert min(edges) > 0
    assert max(thickness) - min(thickness) <= 4
    with matplotlib.pyplot.style.context("dark_background"):
        lines = explained.explain(X.iloc[:1]).plot().get_lines()
        assert {line.get_color() for line in lines} == {"white", "#808080"}
    matplotlib.pyplot.close("all")


def test_one_tree_does_not_agree_with_others():
    X, y = load_breast_cancer(return_X_y=True)
    tree = spinney.DecisionTreeClassifier(max_depth=2).fit(X, y)
    expected = f"one tree, which predicts class {tree.predict(X[:1])[0]}"
    assert tree.explain(X[0]).agreement == expected


def test_illegal_arguments():
    X, y = load_diabetes(return_X_y=True)
    tree = spinney.DecisionTreeRegressor().fit(X, y)
    with pytest.raises(ValueError, match=r"row must be one sample\. Got 2"):
        tree.explain(X[:2])
    with pytest.raises(ValueError, match=r"row must be one sample\. Got 2"):
        tree.explain(X[:2].tolist())
    for row in (3, None, "row", [X[:1].tolist()]):
        with pytest.raises(ValueError, match="'row' parameter of explain must be an array-like"):
            tree.explain(row)
    with pytest.raises(ValueError, match="'n_features' parameter of explain must be an int"):
        tree.explain(X[0], n_features=0)
    with pytest.raises(ValueError, match="'Y' parameter of explain must be None"):
        tree.explain(X[0], Y=X)
    two = spinney.DecisionTreeRegressor().fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="explain takes one output"):
        two.explain(X[0])


def thresholds_of(model, feature):
    """Return the thresholds of a feature in all trees."""
    trees = getattr(model, "estimators_", [model])
    return np.concatenate([t.tree_.threshold[t.tree_.feature == feature] for t in trees])


@pytest.mark.parametrize("kind", ["array", "float32", "frame", "sparse", "list", "data set"])
@pytest.mark.parametrize(
    ("first", "step"), [(1.7e9, 100.0), (1.7e9, 0.5), (1e-6, 1e-9), (0.3, 1e-12), (-5e15, 1.0)]
)
def test_values_are_told_from_thresholds(first, step, kind):
    """Ten different times are ten different texts, each on its side of every threshold."""
    column = first + step * np.arange(10)
    X, y = column[:, None], np.arange(10.0)
    rows = {"frame": pd.DataFrame(X, columns=["time"]), "sparse": sparse.csr_array(X)}
    rows |= {"list": X.tolist(), "data set": spinney.Dataset(X)}
    X = rows.get(kind, X)
    if kind == "float32":
        X = (np.arange(10, dtype=np.float32) + 2**20)[:, None] / np.float32(1000)
        column = X[:, 0].astype(float)
    for model in (
        spinney.DecisionTreeRegressor(random_state=0).fit(X, y),
        spinney.RandomForestRegressor(5, bootstrap=False, random_state=0).fit(X, y),
    ):
        thresholds = thresholds_of(model, 0)
        texts = []
        for place, value in enumerate(column):
            row = X[place] if kind == "list" else X[place : place + 1]
            ((name, _),) = model.explain(row).contributions
            texts.append(name.split(" = ")[1])
            np.testing.assert_array_equal(float(texts[-1]) <= thresholds, value <= thresholds)
        assert len(set(texts)) == 10


def test_categories_are_told_apart():
    """Numbers that are categories have no thresholds; their texts are theirs alone."""
    column = 1234567.0 + np.arange(4) / 4
    tree = spinney.DecisionTreeRegressor(categorical_features=[0]).fit(
        column[:, None], np.arange(4)
    )
    texts = [tree.explain([value]).contributions[0][0] for value in column]
    assert texts == [
        f"x[0] = {text}" for text in ("1234567", "1234567.25", "1234567.5", "1234567.75")
    ]


@pytest.mark.parametrize("n_trees", [1, 3, 12])
def test_predictions_of_times_have_all_their_digits(n_trees):
    """The expected value and the prediction differ, and so do the ends of the range of trees."""
    X, y = np.arange(40.0)[:, None], 1.7e9 + 100.0 * np.arange(40)
    forest = spinney.RandomForestRegressor(n_trees, random_state=0).fit(X, y)
    explained = forest.explain([3.0])
    lines = str(explained).splitlines()
    ends = [float(lines[0].split()[0]), float(lines[-2].split()[0])]
    change = abs(explained.prediction - explained.expected)
    assert ends == pytest.approx([explained.expected, explained.prediction], abs=change / 20)
    if n_trees > 1:
        low, high = re.findall(r"[\d.e+]+", explained.agreement.partition("between")[2])
        assert float(low) < float(high)


def test_a_dict_by_name():
    """In any order of its names, which are those of the fit."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    forest = spinney.RandomForestRegressor(5, random_state=0).fit(X, y)
    row = X.iloc[3].to_dict()
    shuffled = dict(reversed(row.items()))
    assert str(forest.explain(shuffled)) == str(forest.explain(X.iloc[3:4]))
    with pytest.raises(ValueError, match=r"yet now missing:\n- bmi"):
        forest.explain({name: value for name, value in row.items() if name != "bmi"})
    with pytest.raises(ValueError, match="a dict has names, and the estimator was fitted without"):
        spinney.RandomForestRegressor(5).fit(X.to_numpy(), y).explain(row)
