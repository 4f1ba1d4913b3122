"""A grid search on a Dask cluster that sends parameters and numbers of rows, but no data.

The data set is encoded once and written to a file that all hosts can read. Each worker opens the
file by its path, and all processes of a host share one copy. Run it with the path of a directory
that all hosts see, and the address of a scheduler:

    python examples/cluster_search.py /shared tcp://scheduler:8786

Without arguments it starts two workers on this machine.
"""

from __future__ import annotations

import pickle
import sys
import tempfile
from pathlib import Path

from distributed import Client
from joblib import parallel_config
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

from spinney import Dataset, RandomForestClassifier


def search(directory: Path) -> None:
    X, y = load_digits(return_X_y=True)
    dataset = Dataset(X)
    dataset.save(directory / "digits.spinney")
    print(f"{dataset!r} travels as {len(pickle.dumps(dataset))} bytes")
    grid = {"min_samples_leaf": [1, 2, 4], "max_features": ["sqrt", 0.3]}
    model = GridSearchCV(RandomForestClassifier(50, random_state=0), grid, cv=5)
    with parallel_config("dask"):
        model.fit(dataset, y)
    print(f"{model.best_params_}, accuracy {model.best_score_:.3f}")


def main() -> None:
    address = sys.argv[2] if len(sys.argv) > 2 else None
    options = {} if address else {"n_workers": 2, "dashboard_address": ":0"}
    with tempfile.TemporaryDirectory() as own, Client(address, **options):
        search(Path(sys.argv[1] if len(sys.argv) > 1 else own))


if __name__ == "__main__":
    main()
