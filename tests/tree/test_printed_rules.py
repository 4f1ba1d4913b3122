"""Rules in texts and pictures send each training row as the tree does."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import spinney


def make_tables():
    """Return tables of three columns with nearby values: two of them, three, or many."""
    tables = {"iris": load_iris().data}
    for name, start, step in (
        ("hundredths", 0.17, 0.01),
        ("whole numbers", 0.0, 1.0),
        ("rates", 1e-6, 1e-6),
        ("seconds since 1970", 1.7e9, 1.0),
        ("milliseconds since 1970", 1.7e9, 0.001),
        ("neighbouring doubles", 1.0, 2.0**-52),
        ("huge", 1e300, 1e298),
        ("tiny", 0.0, 1e-300),
        ("negative", -0.35, 0.005),
    ):
        for n_values in (2, 3, 40):
            steps = np.random.default_rng(0).integers(0, n_values, (60, 3))
            tables[f"{n_values} {name}"] = start + step * steps
    tables["single precision"] = tables["2 hundredths"].astype(np.float32)
    return tables


TABLES = make_tables()
RULES = {
    spinney.export_text: r"feature_(\d+) <= (\S+)",
    spinney.export_graphviz: r"x\[(\d+)\](?: |\\n)<= ([-+.e\d]+)",
}


def follow(tree, rules, X):
    """Return the leaf that each row reaches by the printed rules, which are in preorder."""
    nodes = tree.tree_
    printed = iter(rules)
    splits = {node: next(printed) for node in np.flatnonzero(nodes.children_left >= 0)}
    leaves = []
    for row in X.astype(np.float64).tolist():
        node = 0
        while node in splits:
            feature, threshold = splits[node]
            child = nodes.children_left if row[feature] <= threshold else nodes.children_right
            node = int(child[node])
        leaves.append(node)
    return leaves


@pytest.mark.pairwise
@pytest.mark.parametrize("export", RULES)
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("tree_class", [spinney.DecisionTreeRegressor, spinney.ExtraTreeRegressor])
def test_printed_rules_send_each_training_row_as_the_tree_does(tree_class, name, export):
    X = TABLES[name]
    y = np.random.default_rng(1).normal(size=len(X))
    tree = tree_class(random_state=0).fit(X, y)
    found = re.findall(RULES[export], export(tree, max_depth=None))
    rules = [(int(feature), float(threshold)) for feature, threshold in found]
    assert len(rules) == tree.get_n_leaves() - 1
    np.testing.assert_array_equal(follow(tree, rules, X), tree.apply(X))


@pytest.mark.parametrize("name", TABLES)
def test_explained_values_are_on_their_side_of_each_threshold(name):
    X = pd.DataFrame(TABLES[name]).rename(columns=str)
    y = np.random.default_rng(1).normal(size=len(X))
    forest = spinney.RandomForestRegressor(5, random_state=0).fit(X, y)
    for number in range(5):
        explained = forest.explain(X.iloc[[number]], n_features=X.shape[1])
        printed = dict(text.split(" = ") for text, _ in explained.contributions)
        row = X.iloc[[number]].astype(np.float64)
        copy = row.assign(**{feature: float(value) for feature, value in printed.items()})
        np.testing.assert_array_equal(forest.apply(copy), forest.apply(row))
