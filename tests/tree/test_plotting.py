"""Pictures of trees and of importances: what they say, and that nothing covers anything else."""

import io
import re
import subprocess
import sys
from inspect import signature

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import sklearn.tree
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text
from sklearn.datasets import load_diabetes, load_digits, load_iris
from sklearn.exceptions import NotFittedError

import spinney
from spinney import export_graphviz, plot_tree
from spinney.tree._layout import place_nodes

STATES = [f"state {letter}{other}" for letter in "ABCDE" for other in "abcdefghij"] + ["DC"]


@pytest.fixture(autouse=True)
def _close_figures():
    # Other tests may have left one open.
    plt.close("all")
    yield
    plt.close("all")


def survey(n=1500):
    """Return a table with categories, missing values and long names, and three classes."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "state": rng.choice(STATES, n),
            "age": rng.integers(18, 90, n).astype(float),
            "household income before taxes, in dollars": rng.lognormal(10, 1, n),
        }
    )
    X.loc[rng.random(n) < 0.1, "age"] = np.nan
    y = np.where(X["state"].isin(STATES[:20]) & (X["age"].fillna(70) > 40), "yes", "no")
    return X, np.where(rng.random(n) < 0.3, rng.choice(["maybe", "yes", "no"], n), y)


def grow(depth=4, **params):
    X, y = survey()
    params = {"max_depth": depth, "categorical_features": ["state"], "random_state": 4, **params}
    return spinney.DecisionTreeClassifier(**params).fit(X, y)


def texts_of(ax):
    return [child for child in ax.get_children() if isinstance(child, Text) and child.get_text()]


def overlap(a, b):
    """Return the area that two boxes share."""
    width = min(a.x1, b.x1) - max(a.x0, b.x0)
    height = min(a.y1, b.y1) - max(a.y0, b.y0)
    return max(width, 0.0) * max(height, 0.0)


def check_drawing(boxes):
    """Check that boxes are apart, inside the figure, and around their texts."""
    ax = boxes[0].axes
    ax.figure.canvas.draw()
    extents = [box.get_window_extent() for box in boxes]
    whole = ax.figure.bbox
    for at, extent in enumerate(extents):
        assert whole.x0 <= extent.x0
        assert extent.x1 <= whole.x1
        assert whole.y0 <= extent.y0
        assert extent.y1 <= whole.y1
        assert all(overlap(extent, other) == 0.0 for other in extents[:at])
    n_inside = 0
    for text in texts_of(ax):
        extent = text.get_window_extent()
        covered = [box for box in extents if overlap(box, extent) > 0.0]
        # The legend and the answers at the edges stand beside the boxes.
        assert len(covered) <= 1
        for box in covered:
            n_inside += 1
            # Letters are as large as pixels allow.
            assert box.x0 <= extent.x0 + 1
            assert extent.x1 <= box.x1 + 1
            assert box.y0 <= extent.y0 + 1
            assert extent.y1 <= box.y1 + 1
    assert n_inside == len(boxes)


# --- Places -------------------------------------------------------------------------------------


@given(st.data())
def test_nodes_of_a_level_are_apart(data):
    """In any tree of boxes of any breadth; parents are in the middle of their children."""
    left, right, depths = [-1], [-1], [0]
    for _ in range(data.draw(st.integers(0, 20))):
        leaves = [node for node, child in enumerate(left) if child < 0]
        parent = data.draw(st.sampled_from(leaves))
        left[parent], right[parent] = len(left), len(left) + 1
        left += [-1, -1]
        right += [-1, -1]
        depths += [depths[parent] + 1] * 2
    breadths = [data.draw(st.integers(1, 60)) / 2 for _ in left]
    centres = place_nodes(left, right, breadths, 3.0)
    for node in range(len(left)):
        for other in range(node):
            if depths[node] == depths[other]:
                least = (breadths[node] + breadths[other]) / 2 + 3.0
                assert abs(centres[node] - centres[other]) >= least - 1e-9
        if left[node] >= 0:
            middle = (centres[left[node]] + centres[right[node]]) / 2
            assert centres[node] == pytest.approx(middle, abs=1e-9)
            assert centres[left[node]] < centres[right[node]]


def test_deep_trees_are_placed():
    """A chain: every split has a leaf on its left. Neither recursion nor quadratic time."""
    depth = 50_000
    left = [node + 1 if node % 2 == 0 else -1 for node in range(2 * depth)] + [-1]
    right = [node + 2 if node % 2 == 0 else -1 for node in range(2 * depth)] + [-1]
    centres = place_nodes(left, right, [1.0] * len(left), 1.0)
    assert centres[-1] == pytest.approx(depth)


# --- Pictures -----------------------------------------------------------------------------------


@pytest.mark.valuewise
@pytest.mark.parametrize("rotate", [None, False, True])
@pytest.mark.parametrize("size", [None, (11.7, 8.3), (8.3, 11.7), (6.4, 4.8)])
def test_sixteen_leaves_do_not_overlap(size, rotate):
    """On a screen and on paper, whichever way the tree grows."""
    tree = grow()
    assert tree.get_n_leaves() == 16
    if size is not None:
        plt.figure(figsize=size)
    boxes = plot_tree(tree, filled=True, rounded=True, rotate=rotate)
    assert len(boxes) == tree.tree_.node_count == 31
    check_drawing(boxes)


@pytest.mark.valuewise
@pytest.mark.parametrize("size", [(19.2, 10.8), (11.7, 8.3), None])
@pytest.mark.parametrize("dpi", [72, 100])
def test_text_keeps_away_from_the_borders(size, dpi):
    """Screens round the widths of letters up: still a fifth of a letter's height is free."""
    X, y = load_digits(return_X_y=True)
    names = np.array([f"handwritten figure {label}" for label in range(10)])
    tree = spinney.DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, names[y])
    if size is not None:
        plt.figure(figsize=size, dpi=dpi)
    boxes = plot_tree(tree)
    ax = boxes[0].axes
    ax.figure.canvas.draw()
    for text in texts_of(ax):
        extent = text.get_window_extent()
        free = 0.2 * text.get_fontsize() * ax.figure.dpi / 72
        for box in (box.get_window_extent() for box in boxes):
            if overlap(box, extent) > 0.0:
                assert box.x0 + free <= extent.x0
                assert extent.x1 <= box.x1 - free


def test_the_text_can_be_read():
    """At depth 4: on A4 paper at least 5 points, and 8 in a figure that is made for the tree."""
    for size, least in (((11.7, 8.3), 5.0), (None, 7.9)):
        if size is not None:
            plt.figure(figsize=size)
        boxes = plot_tree(grow())
        boxes[0].axes.figure.canvas.draw()
        assert all(text.get_fontsize() >= least for text in texts_of(boxes[0].axes))
        plt.close("all")


def test_text_follows_the_size_of_the_figure():
    boxes = plot_tree(grow())
    figure = boxes[0].axes.figure
    for factor in (0.5, 1.7):
        figure.set_size_inches(figure.get_size_inches() * factor)
        check_drawing(boxes)


@pytest.mark.parametrize("layout", ["tight", "constrained"])
def test_axes_of_the_user_are_used(layout):
    """And no others; what was there is gone."""
    figure, (one, other) = plt.subplots(1, 2, layout=layout, figsize=(16, 8))
    one.plot([0, 1])
    boxes = plot_tree(grow(2), ax=one)
    assert {box.axes for box in boxes} == {one}
    assert not one.lines
    assert not other.patches
    check_drawing(boxes)
    plt.sca(other)
    assert {box.axes for box in plot_tree(grow(2))} == {other}
    assert plt.gcf() is figure


def test_fonts_that_do_not_fit_are_told():
    plt.figure(figsize=(4, 3))
    with pytest.warns(UserWarning, match=r"does not fit .* fontsize=9.* by .* inches") as caught:
        boxes = plot_tree(grow(), fontsize=9)
    check_drawing(boxes)
    width, height = map(
        float, re.findall(r"Axes of (\S+) by (\S+) inches", str(caught[0].message))[0]
    )
    plt.figure(figsize=(width + 0.1, height + 0.1))
    boxes = plot_tree(grow(), fontsize=9)
    boxes[0].axes.figure.canvas.draw()
    assert texts_of(boxes[0].axes)[0].get_fontsize() == pytest.approx(9.0)


def shown(tree, **options):
    """Return the texts of the boxes in preorder."""
    boxes = plot_tree(tree, **options)
    extents = [box.get_window_extent() for box in boxes]
    texts = []
    for extent in extents:
        inside = [
            text.get_text()
            for text in texts_of(boxes[0].axes)
            if overlap(extent, text.get_window_extent()) > 0
        ]
        assert len(inside) == 1
        texts += inside
    plt.close("all")
    return texts


def test_nodes_say_what_is_asked():
    tree = grow()
    texts = shown(tree)
    nodes = tree.tree_
    for node, text in enumerate(texts):
        lines = text.split("\n")
        assert f"samples = {nodes.n_node_samples[node]}" in lines
        winner = int(np.argmax(nodes.value[node, 0]))
        share = 100 * nodes.value[node, 0, winner]
        assert lines[-1] == f"class = {tree.classes_[winner]} ({share:.0f}%)"
        if nodes.children_left[node] < 0:
            continue
        if nodes.feature[node] == 0:
            codes, go_left = nodes.category_set(node)
            sign = "in" if go_left else "not in"
            start = f"{sign} {{{len(codes)} of 51: {tree.categories_[0][codes[0]]}"
            assert lines[0].startswith(f"state {start}") or lines[1].startswith(start)
            assert lines[1].endswith("}") or lines[0].endswith("}")
            assert not any(line.startswith("missing") for line in lines)
        elif nodes.feature[node] == 1:
            assert lines[0] == f"age <= {nodes.threshold[node]:g}"
            answer = "yes" if nodes.missing_go_to_left[node] else "no"
            assert lines[1] == f"missing: {answer}"
        else:
            assert lines[0] == "household income befo…"
            assert lines[1].startswith("<= ")
    assert max(len(line) for text in texts for line in text.split("\n")) <= 45


def test_labels():
    iris = load_iris()
    tree = spinney.DecisionTreeClassifier(max_depth=1, random_state=0).fit(iris.data, iris.target)
    assert shown(tree)[1] == "gini = 0\nsamples = 50\nclass = 0 (100%)"
    assert shown(tree)[0].startswith("x[")
    options = {"class_names": iris.target_names, "feature_names": ["$a", "b_", "c\nd", "{e}"]}
    texts = shown(tree, **options, impurity=False, label="none", node_ids=True, proportion=True)
    assert texts[1] == "1\n33.3%\nsetosa (100%)"
    assert re.match(r"0\n(c d <= 2\.45\d*|\{e\} <= 0\.8\d*)\n100\.0%\nsetosa \(33%\)", texts[0])
    texts = shown(tree, **options, label="root", precision=0)
    assert "samples = 150" in texts[0]
    assert texts[2] == "0\n100\nversicolor (50%)" or texts[2].startswith("0.5\n100")
    assert shown(tree, max_depth=0)[1:] == ["(...)", "(...)"]


def test_symbolic_names_and_no_names_of_classes():
    """`class_names` may be a bool: True means the names that scikit-learn makes up."""
    iris = load_iris()
    tree = spinney.DecisionTreeClassifier(max_depth=2, random_state=0).fit(iris.data, iris.target)
    theirs = sklearn.tree.DecisionTreeClassifier(max_depth=2, random_state=0)
    expected = sklearn.tree.export_graphviz(theirs.fit(iris.data, iris.target), class_names=True)
    find_classes = re.compile(r"class = [^\\\"]*").findall
    for true in (True, np.True_):
        text = export_graphviz(tree, class_names=true)
        assert find_classes(text) == find_classes(expected)
        assert shown(tree, class_names=true)[1].endswith("class = y[0] (100%)")
    for false in (False, np.False_):
        assert "class" not in export_graphviz(tree, class_names=false)
        assert shown(tree, class_names=false)[1] == "gini = 0\nsamples = 50"
    legends = []
    for class_names in (None, True, False):
        boxes = plot_tree(tree, class_names=class_names)
        texts = {text.get_text() for text in texts_of(boxes[0].axes)}
        legends.append(texts & {"0", "1", "2", "y[0]", "y[1]", "y[2]"})
        assert len(boxes[0].axes.patches) > len(boxes)
        plt.close("all")
    assert legends == [{"0", "1", "2"}, {"y[0]", "y[1]", "y[2]"}, set()]
    X, y = load_diabetes(return_X_y=True)
    number = spinney.DecisionTreeRegressor(max_depth=1).fit(X, y)
    assert shown(number, class_names=True) == shown(number)
    both = np.column_stack([y > 100, y > 200])
    several = spinney.DecisionTreeClassifier(max_depth=1).fit(X, both)
    assert shown(several, class_names=True) == shown(several)
    assert "class" not in shown(several, class_names=False)[0]
    with pytest.raises(ValueError, match=r"'class_names' .* must be an array-like or None"):
        spinney.export_text(tree, class_names=True)


def test_no_precision_means_whole_numbers():
    """As in scikit-learn. Numbers below 1 keep a digit, as ever."""
    tree = spinney.DecisionTreeClassifier().fit([[0.0], [4.5], [5.5], [9.0]], [0, 0, 1, 1])
    assert shown(tree, precision=None)[0].startswith("x[0] <= 5\ngini = 0.5\n")
    assert export_graphviz(tree, precision=None) == export_graphviz(tree, precision=0)


@pytest.mark.parametrize("offset", [0.0, 1.0, 1.7e9])
@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1e-5, 0.0004, 1.0, 1e15, 1e300])
def test_thresholds_are_exact(scale, offset):
    """Unless `precision` is given, which is obeyed. Texts are no longer than they have to be."""
    X = (offset + scale * np.arange(1, 9))[:, None]
    tree = spinney.DecisionTreeRegressor().fit(X, np.arange(8.0) ** 2)
    splits = tree.tree_.children_left >= 0
    find = re.compile(r"x\[0\](?: |\n|\\n)<= ([-+.e\d]+)").findall
    thresholds = find(export_graphviz(tree, label="none"))
    assert [float(text) for text in thresholds] == tree.tree_.threshold[splits].tolist()
    assert max(map(len, thresholds), default=0) <= 24
    assert find("\n".join(shown(tree))) == thresholds
    if scale == 0.0004 and offset == 1.0:
        given = find(export_graphviz(tree, precision=3))
        assert set(given) == {"1.001", "1.002", "1.003"}
        assert set(find("\n".join(shown(tree, precision=3)))) == set(given)


def test_names_may_be_any_array_like():
    """Also one that knows nothing but how it becomes an array."""

    class Names:
        def __array__(self, dtype=None, copy=None):
            return np.array(["one", "other"])

    tree = spinney.DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    assert export_graphviz(tree, class_names=Names()).count("class = o") == 3


def test_numbers_and_several_outputs():
    X, y = load_diabetes(return_X_y=True)
    tree = spinney.DecisionTreeRegressor(max_depth=2, random_state=0)
    assert shown(tree.fit(X, y), filled=True)[0].endswith(f"value = {y.mean():.3f}")
    many = shown(tree.fit(X, np.column_stack([y] * 6)), filled=True)[0]
    assert re.search(r"value = \[(152\.133, ){4}…\]$", many)
    classes = np.column_stack([y > 100, y > 200])
    classifier = spinney.DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, classes)
    assert shown(classifier, filled=True)[0].endswith("class = True, False")
    stump = spinney.DecisionTreeRegressor().fit(X, np.full(len(X), 1e-7))
    assert shown(stump, filled=True) == ["squared_error = 0\nsamples = 442\nvalue = 1e-07"]


def test_bars_are_shares():
    """Their widths, in the order and the colours of the legend; white is none of them."""
    tree = grow(1)
    boxes = plot_tree(tree)
    ax = boxes[0].axes
    bars = [patch for patch in ax.patches if patch not in boxes]
    legend, bars = bars[:3], bars[3:]
    found = [bar.get_width() for bar in bars]
    shares = tree.tree_.value[:, 0].ravel()
    assert (shares > 0).all()
    widths = np.repeat([sum(found[at : at + 3]) for at in (0, 3, 6)], 3)
    np.testing.assert_allclose(found / widths, shares)
    colors = [patch.get_facecolor() for patch in legend]
    assert [bar.get_facecolor() for bar in bars] == colors * 3
    assert len(set(colors)) == 3


@pytest.mark.parametrize("n_classes", [1, 7, 8, 30])
def test_any_number_of_classes(n_classes):
    """Colours differ; where they are too many for a legend, there is none."""
    y = np.arange(90) % n_classes
    tree = spinney.DecisionTreeClassifier(max_depth=3, random_state=0).fit(y[:, None], y)
    boxes = plot_tree(tree, filled=True)
    check_drawing(boxes)
    names = {text.get_text() for text in texts_of(boxes[0].axes)}
    assert ({str(label) for label in range(n_classes)} <= names) == (n_classes <= 18)


def test_trees_of_forests_are_drawn_with_names():
    X, y = survey()
    forest = spinney.RandomForestClassifier(
        3, max_depth=3, max_features=None, categorical_features=["state"], random_state=0
    ).fit(X, y)
    for tree in forest.estimators_:
        text = "\n".join(shown(tree))
        assert "of 51: state " in text
        assert "class = yes" in text
        assert "class = 1" not in text
    assert "…" in text


# --- Graphviz -----------------------------------------------------------------------------------


@pytest.mark.parametrize("rotate", [False, True])
def test_graphviz_has_the_nodes_and_edges(rotate):
    tree = grow(3)
    text = export_graphviz(tree, filled=True, rounded=True, rotate=rotate)
    nodes = tree.tree_
    edges = {tuple(map(int, pair)) for pair in re.findall(r"^(\d+) -> (\d+)", text, re.MULTILINE)}
    inner = np.flatnonzero(nodes.children_left >= 0)
    children = (nodes.children_left, nodes.children_right)
    assert edges == {(node, int(side[node])) for node in inner for side in children}
    labels = dict(
        re.findall(r'^(\d+) \[label="(.*)", fillcolor="#[0-9a-f]{6}"\] ;$', text, re.MULTILINE)
    )
    assert sorted(map(int, labels)) == list(range(nodes.node_count))
    assert labels["0"].split("\\n") == [
        *shown(tree)[0].split("\n")[:-1],
        f"value = [{', '.join(str(int(n)) for n in nodes.value[0, 0] * 1500 + 0.5)}]",
        shown(tree)[0].split("\n")[-1].split(" (")[0],
    ]
    assert ("rankdir=LR" in text) == rotate
    assert text.startswith("digraph Tree {\n")
    assert text.endswith("\n}")


def test_graphviz_quotes_names():
    tree = spinney.DecisionTreeClassifier().fit([[0.0], [1.0]], ['a"b', "c\\"])
    text = export_graphviz(tree, feature_names=['say "x"'], special_characters=True, label="none")
    assert r'0 [label="say \"x\" ≤ 0.5\n0.5\n2\n[1, 1]\na\"b"] ;' in text
    assert r'2 [label="0\n1\n[0, 1]\nc\\"] ;' in text


def test_graphviz_options(tmp_path):
    tree = grow(3)
    expected = export_graphviz(tree)
    for file in (tmp_path / "a.dot", str(tmp_path / "b.dot")):
        assert export_graphviz(tree, file) is None
        assert (tmp_path / file).read_text(encoding="utf-8") == expected
    stream = io.StringIO()
    export_graphviz(tree, stream)
    assert stream.getvalue() == expected
    text = export_graphviz(tree, max_depth=1, leaves_parallel=True, fontname="serif")
    assert text.count('[label="(...)"]') == 4
    assert re.search(r"\{rank=same ; \d+ ; \d+ ; \d+ ; \d+\} ;", text)
    assert 'fontname="serif"' in text


HUGE = [
    [0.0, 1e200, -1e200, 3.0, 5.0, 1e160],
    [0.0, 1e300, 2e300, 0.0, 1.0, 2.0],
    [1.7e308, -1.7e308, 0.0, 0.0, 1.0, 1.0],
]


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("y", HUGE)
def test_impurities_that_overflow_have_colours(y, n_outputs, criterion):
    """Those nodes are as impure as can be, and numbers are no longer than they have to be."""
    X, target = np.arange(6.0)[:, None], np.column_stack([y] * n_outputs)
    tree = spinney.DecisionTreeRegressor(criterion=criterion).fit(X, target)
    text = export_graphviz(tree, filled=True)
    colors = re.findall(r'fillcolor="(#[0-9a-f]{6})"', text)
    assert len(colors) == tree.tree_.node_count
    assert max(map(len, re.findall(r"[\d.e+-]+", text))) < 12
    if n_outputs == 2 and criterion == "squared_error":
        assert np.isinf(tree.tree_.impurity[0])
        shades = dict(zip(tree.tree_.impurity.tolist(), colors, strict=True))
        assert shades[np.inf] != shades[0.0]
    boxes = plot_tree(tree, filled=True)
    assert len({box.get_facecolor() for box in boxes}) == len(set(colors))


# --- Arguments ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["plot_tree", "export_graphviz", "export_text"])
def test_signatures_are_those_of_scikit_learn(name):
    """And what is new comes after them."""
    ours, theirs = (
        [(p.name, p.kind, p.default) for p in signature(getattr(module, name)).parameters.values()]
        for module in (spinney, sklearn.tree)
    )
    assert ours[: len(theirs)] == theirs
    assert [p[0] for p in ours[len(theirs) :]] == (["rotate"] if name == "plot_tree" else [])


BAD = [
    ({"max_depth": -1}, r"'max_depth' .* int in the range \[0, inf\) or None. Got -1"),
    ({"precision": 1.5}, "'precision' .* Got 1.5 instead"),
    ({"label": "some"}, "'label' .* must be 'all', 'root' or 'none'. Got 'some'"),
    ({"filled": 3}, "'filled' .* must be a bool. Got 3"),
    ({"rotate": "yes"}, "'rotate' .* must be a bool"),
    ({"feature_names": ["a"]}, "feature_names must contain 4 elements, got 1"),
    ({"class_names": ["a"]}, "as many items as .* Got 1 while .* with 3 classes"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
@pytest.mark.parametrize("function", [plot_tree, export_graphviz])
def test_illegal_arguments_are_named(function, options, message):
    tree = spinney.DecisionTreeClassifier().fit(*load_iris(return_X_y=True))
    with pytest.raises(ValueError, match=message):
        function(tree, **options)


def test_illegal_arguments_of_single_functions_are_named():
    tree = spinney.DecisionTreeClassifier().fit(*load_iris(return_X_y=True))
    for size in (0, -1, "large", np.inf):
        with pytest.raises(ValueError, match=r"'fontsize' .* must be a positive number or None"):
            plot_tree(tree, fontsize=size)
    with pytest.raises(ValueError, match=r"'out_file' .* must be a file, a path or None. Got 3"):
        export_graphviz(tree, 3)
    with pytest.raises(ValueError, match=r"'fontname' .* must be a str"):
        export_graphviz(tree, fontname=3)
    with pytest.raises(ValueError, match=r"'leaves_parallel' .* must be a bool"):
        export_graphviz(tree, leaves_parallel=None)


def test_other_estimators_are_refused():
    other = sklearn.tree.DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    for function in (plot_tree, export_graphviz):
        with pytest.raises(TypeError, match=r"of spinney\. Got DecisionTreeClassifier"):
            function(other)
        with pytest.raises(NotFittedError):
            function(spinney.DecisionTreeClassifier())


def test_matplotlib_is_optional():
    """It is imported by the pictures alone, and its absence is told by name."""
    program = """
import sys
import spinney
assert "matplotlib" not in sys.modules
sys.modules["matplotlib"] = None
tree = spinney.DecisionTreeClassifier().fit([[0], [1]], [0, 1])
spinney.export_graphviz(tree), spinney.export_text(tree)
for function in (spinney.plot_tree, spinney.plot_importance):
    try:
        function(tree)
    except ImportError as error:
        print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        f"{name} draws by matplotlib, which is not installed."
        for name in ("plot_tree", "plot_importance")
    ]
