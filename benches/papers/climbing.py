"""Climbing trees 2: the two trees that the post prints, and its categories."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.metrics import accuracy_score, f1_score, mean_squared_error

from paper import parse_arguments, write_results
from spinney import DecisionTreeClassifier, DecisionTreeRegressor, export_text

LIMITS = {"max_depth": 2, "min_samples_leaf": 3}
# What the post prints: the lines of a node, and its children if it is split.
POST = {
    "classification": (
        ["cat", "in {B}"],
        (["0.00"],),
        (["column 3", "≤ 0.44"], (["0.80"],), (["1.00"],)),
    ),
    "regression": (
        ["column 8", "≤ -0.00"],
        (["column 2", "≤ 0.01"], (["96.31"],), (["159.74"],)),
        (["column 2", "≤ 0.01"], (["162.68"],), (["225.88"],)),
    ),
}


def make_table() -> tuple[pd.DataFrame, np.ndarray]:
    """Return the table of the post, from its seed."""
    state = np.random.RandomState(42)
    X = pd.DataFrame(state.random_sample(size=(20, 4)))
    X.columns = X.columns.astype(str)
    X["cat"] = ["B"] * 9 + ["A"] * 6 + ["C"] * 5
    return X, np.array([0] * 10 + [1] * 10)


def weigh_split(rest: pd.DataFrame, y: np.ndarray, column: str, threshold: float) -> float:
    """Return the mean Gini impurity of the two sides of a cut."""
    left = (rest[column] <= threshold).to_numpy()
    sides = [y[left], y[~left]]
    return sum(len(side) * 2 * side.mean() * (1 - side.mean()) for side in sides) / len(y)


def list_nodes(model: DecisionTreeClassifier | DecisionTreeRegressor, node: int = 0) -> tuple:
    """Return the nodes of a tree, as in `POST`: of leaves, the mean outcome."""
    tree = model.tree_
    children = (int(tree.children_left[node]), int(tree.children_right[node]))
    if children[0] < 0:
        return ([f"{tree.value[node].ravel()[-1]:.2f}"],)
    return (describe_split(model, node), *(list_nodes(model, child) for child in children))


def describe_split(model: DecisionTreeClassifier | DecisionTreeRegressor, node: int) -> list[str]:
    feature, threshold = model.tree_.feature[node], model.tree_.threshold[node]
    if np.isnan(threshold):
        codes = model.tree_.category_set(node)
        return ["cat", f"in {{{', '.join(model.categories_[feature][codes])}}}"]
    return [f"column {feature}", f"≤ {threshold:.2f}"]


def mark_nodes(nodes: tuple, others: tuple) -> dict[str, Any]:
    """Return nodes as `report.py` draws them; those that are not the other tree's have color 1."""
    lines, *children = nodes
    pairs = zip(children, others[1:], strict=True)
    marked = {"lines": lines, "color": int(lines != others[0])}
    return marked | ({"children": [mark_nodes(*pair) for pair in pairs]} if children else {})


def make_plot(models: dict[str, Any]) -> dict[str, Any]:
    """Return the trees that are grown here, each beside that of the post."""
    trees = {}
    for name, model in models.items():
        ours, theirs = list_nodes(model), POST[name]
        trees[f"{name}, here"] = mark_nodes(ours, theirs)
        trees[f"{name}, in the post"] = mark_nodes(theirs, ours)
    return {
        "title": "The trees of the post",
        "keys": ["as in the other tree", "not as in the other tree"],
        "trees": trees,
    }


def main() -> int:
    arguments = parse_arguments(__doc__.splitlines()[0])
    X, y = make_table()
    first = DecisionTreeClassifier(**LIMITS, categorical_features=["cat"], random_state=0)
    first.fit(X, y, sample_weight=np.ones(len(y)) / 10)
    predicted = first.predict(X)
    scores = (f1_score(y, predicted, average="macro"), accuracy_score(y, predicted))
    others = (X["cat"] != "B").to_numpy()
    second_cuts = {
        column: weigh_split(X[others], y[others], column, threshold)
        for column, threshold in (("1", first.tree_.threshold[2]), ("3", 0.45))
    }
    numbers, target = load_diabetes(return_X_y=True)
    second = DecisionTreeRegressor(**LIMITS, random_state=0).fit(numbers, target)
    error = mean_squared_error(target, second.predict(numbers))
    leaves = second.tree_.value[second.tree_.children_left < 0].ravel()
    write_results(
        arguments.out,
        "climbing",
        title="Climbing trees 2",
        source="Climbing trees 2: implementing decision trees",
        tables=[
            {
                "title": "The two examples of the post",
                "head": ["figure", "here", "in the post"],
                "rows": [
                    ["classification: F1", f"{scores[0]:.2f}", "0.95"],
                    ["classification: accuracy", f"{scores[1]:.2%}", "95.00%"],
                    ["classification: first split", "cat, {B} to one side", "cat, {B}"],
                    ["classification: second split", "column 1", "column 3"],
                    [
                        "mean impurity of that split",
                        *(f"{impurity:.3f}" for impurity in second_cuts.values()),
                    ],
                    ["regression: mean squared error", f"{error:.2f}", "3360.05"],
                    [
                        "regression: leaves",
                        ", ".join(f"{leaf:.2f}" for leaf in leaves),
                        "96.31, 159.74, 162.68, 225.88",
                    ],
                ],
                "text": export_text(first) + "\n" + export_text(second, decimals=4),
                "note": "The regression tree is the post's, split for split, and so are the scores "
                "of both trees. The second split of the classification tree is another one: the "
                "cut of column 1 has a lower impurity than the post's cut of column 3, and three "
                "rows on its smaller side, as many as the post allows. Thresholds are midpoints "
                "here, and values of the column in the post.",
            }
        ],
        plots=[make_plot({"classification": first, "regression": second})],
    )
    for tree in (first, second):
        print(export_text(tree))
    print(*scores, error, leaves)
    return 0


if __name__ == "__main__":
    sys.exit(main())
