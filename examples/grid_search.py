"""A grid search over a Dataset: the matrix is encoded once, for all fits of all folds.

python examples/grid_search.py [picture.svg]
"""

import sys
import time

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

from spinney import Dataset, RandomForestClassifier

GRID = {"max_features": [2, 8, 32], "min_samples_leaf": [1, 4, 16]}


def main(picture: str) -> None:
    X, y = load_digits(return_X_y=True)
    search = GridSearchCV(RandomForestClassifier(20, random_state=0), GRID, cv=3)
    for name, data in {"array": X, "Dataset": Dataset(X)}.items():
        start = time.process_time()
        search.fit(data, y)
        seconds = time.process_time() - start
        print(f"{name:8} {seconds:.1f} s, {search.best_score_:.3f} with {search.best_params_}")

    shape = [len(values) for values in GRID.values()]
    scores = search.cv_results_["mean_test_score"].reshape(shape)
    plt.rcParams["svg.fonttype"] = "none"
    figure, axes = plt.subplots(figsize=(4.6, 3.8), layout="constrained")
    axes.imshow(scores, cmap="viridis")
    for (row, column), score in ((at, scores[at]) for at in search_places(shape)):
        axes.text(column, row, f"{score:.3f}", ha="center", va="center", color="white")
    axes.set_yticks(range(shape[0]), GRID["max_features"])
    axes.set_xticks(range(shape[1]), GRID["min_samples_leaf"])
    axes.set(ylabel="max_features", xlabel="min_samples_leaf", title="Accuracy in three folds")
    figure.savefig(picture, metadata={"Date": None})


def search_places(shape: list[int]) -> list[tuple[int, int]]:
    return [(row, column) for row in range(shape[0]) for column in range(shape[1])]


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "grid_search.svg")
