"""A lazy forest for a handful of queries: only the branches that they reach are grown.

python examples/lazy_queries.py [picture.svg]
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from spinney import LazyForestClassifier, RandomForestClassifier


def main(picture: str) -> None:
    X, y = load_digits(return_X_y=True)
    queries, X, y = X[:200], X[200:], y[200:]
    lazy = LazyForestClassifier(200, traversal="batched", random_state=0, n_jobs=-1).fit(X, y)
    forest = RandomForestClassifier(200, random_state=0, n_jobs=-1).fit(X, y)
    n_nodes = sum(tree.tree_.node_count for tree in forest.estimators_)
    sizes = (1, 3, 10, 30, 100, 200)
    shares = []
    for size in sizes:
        seen = lazy.explore(queries[:size])
        assert (seen.probabilities == forest.predict_proba(queries[:size])).all()
        shares.append(seen.n_visited_nodes / n_nodes)
        print(f"{size:4} queries: {shares[-1]:6.1%} of {n_nodes} nodes")
    rows, _ = lazy.nearest(queries[:1], k=5)
    print("the digit", lazy.predict(queries[:1])[0], "because of these:", y[rows[0]])

    plt.rcParams["svg.fonttype"] = "none"
    figure, axes = plt.subplots(figsize=(5, 3.4), layout="constrained")
    axes.bar(np.arange(len(sizes)), shares)
    axes.set_xticks(np.arange(len(sizes)), sizes)
    axes.set(xlabel="queries", ylabel="share of all nodes", title="Nodes that are visited")
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "lazy_queries.svg")
