"""Categories and missing values: a table of strings and gaps, as it is.

    python examples/categories.py [picture.svg]

Who earns more than 50,000 dollars? Eight of fourteen columns are strings, and some cells are empty.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from spinney import DecisionTreeClassifier, RandomForestClassifier, plot_tree

DATA = Path(__file__).resolve().parent / "data"


def main(picture: str) -> None:
    table = pd.read_csv(DATA / "adult.csv.gz", na_values="?")
    X, y = table.drop(columns="income"), table["income"] == ">50K"
    strings = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    print(f"{len(X)} people, {len(strings)} columns of strings, {X.isna().sum().sum()} empty cells")
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    forest = RandomForestClassifier(
        100, categorical_features=strings, min_samples_leaf=3, random_state=0, n_jobs=-1
    )
    forest.fit(X_train, y_train)
    print(f"AUC {roc_auc_score(y_test, forest.predict_proba(X_test)[:, 1]):.3f}")
    # Categories that training did not have are no error.
    stranger = X_test[:1].assign(workclass="pirate", age=None)
    print("a pirate of unknown age:", forest.predict_proba(stranger).round(2)[0])

    tree = DecisionTreeClassifier(
        categorical_features=strings, max_leaf_nodes=5, min_samples_category=50
    )
    tree.fit(X_train, y_train)
    plt.rcParams["svg.fonttype"] = "none"
    figure, axes = plt.subplots(figsize=(9, 5), layout="constrained")
    plot_tree(tree, class_names=["up to 50K", "over 50K"], ax=axes)
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "categories.svg")
