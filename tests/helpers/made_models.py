"""Models of a table with all kinds of columns; as a program, the files in `tests/storage/models`.

The files are of the format that was current when they were written, and stay as they are, so that
every later version is tested to read them. A new format gets new files: run this script with the
directory of the new files as its argument. The files of format 1 lie in `models` itself, and those
of classes that are younger in `models/version-0.3`.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import is_classifier

import spinney
from spinney import survival

CLASSIFIERS = (
    spinney.DecisionTreeClassifier,
    spinney.ExtraTreeClassifier,
    spinney.RandomForestClassifier,
    spinney.ExtraTreesClassifier,
)
REGRESSORS = (
    spinney.DecisionTreeRegressor,
    spinney.ExtraTreeRegressor,
    spinney.RandomForestRegressor,
    spinney.ExtraTreesRegressor,
)


# Of version 0.3, whose files have more than trees, labels and draws.
NEWER = (
    spinney.BalancedRandomForestClassifier,
    spinney.IsolationForest,
    spinney.RandomForestQuantileRegressor,
    spinney.ExtraTreesQuantileRegressor,
    spinney.RandomTreesEmbedding,
    survival.RandomSurvivalForest,
    survival.ExtraSurvivalTrees,
    survival.SurvivalTree,
)


def make_data():
    """Return rows with a number, a count, and categories, all with missing values."""
    n = np.arange(60)
    number = np.where(n % 11 == 5, np.nan, np.sin(n * 1.7) * 3)
    colours = np.array(["red", "green", "blue", "black"], dtype=object)[n * 7 % 5 % 4]
    colours[n % 13 == 3] = None
    X = pd.DataFrame({"number": number, "count": n * 5 % 9, "colour": colours})
    y = np.nan_to_num(number) + (colours == "red") * 2 + n * 5 % 9 / 4
    return X, y


def frame():
    """Return rows with numbers of every width, categories and missing values."""
    X, y = make_data()
    many = np.random.default_rng(0).normal(size=len(X))
    return X.assign(many=many, one=1.0, size=pd.Categorical(X["count"].map(str))), y


def fit(estimator_class, X, y):
    """Return a fitted estimator of one of the classes."""
    parameters = {"random_state": 7, "categorical_features": ["colour"]}
    known = estimator_class().get_params()
    if "n_estimators" in known:
        more = {"n_estimators": 4, "bootstrap": True, "oob_score": False}
        parameters |= {name: value for name, value in more.items() if name in known}
    if "Surviv" in estimator_class.__name__:
        y = (np.arange(len(y)) % 3 > 0, np.abs(y))
    elif is_classifier(estimator_class()):
        y = np.array(["low", "middle", "high"], dtype=object)[np.digitize(y, [-1.0, 2.5])]
    return estimator_class(**parameters).fit(X, y)


def predict(estimator, X):
    """Return what an estimator predicts, exactly."""
    names = ("predict_proba", "score_samples", "predict_survival_function", "predict", "transform")
    name = next(name for name in names if hasattr(estimator, name))
    if name == "predict_survival_function":
        times = [0.5, 1.0, 2.0, 3.0]
        values = estimator.predict_survival_function(X, return_array=True, times=times)
    elif hasattr(estimator, "quantile_ranks"):
        values = estimator.predict(X, [0.1, 0.5, 0.9])
    else:
        values = getattr(estimator, name)(X)
    values = values.toarray() if sparse.issparse(values) else values
    return [float(value).hex() for value in values.ravel().tolist()]


def make_many_categories():
    """Return rows with 400 categories; `fit_many_categories` sees three quarters of them."""
    n = np.arange(1600)
    codes = n * 977 % 401 % 400
    numbers = np.sin(n * 1.7)
    return np.column_stack([codes, numbers]), np.sin(codes * codes * 1.0) + numbers / 4


def fit_many_categories():
    """Return a forest whose nodes order the categories, so that sets list many and few of them."""
    X, y = make_many_categories()
    seen = X[:, 0] % 4 < 3
    forest = spinney.RandomForestRegressor(
        2, random_state=7, categorical_features=[0], category_order="node", max_depth=6
    )
    return forest.fit(X[seen], y[seen])


def write(estimator, X, path):
    """Write a file, and beside it what the estimator predicts."""
    estimator.save(path)
    path.with_suffix(".json").write_text(json.dumps(predict(estimator, X)) + "\n")


def main(directory):
    """Write all files into a directory."""
    X, y = make_data()
    for estimator_class in CLASSIFIERS + REGRESSORS + NEWER:
        estimator = fit(estimator_class, X, y)
        write(estimator, X, directory / f"{estimator_class.__name__}.spinney")
    write(
        fit_many_categories(),
        make_many_categories()[0][:400],
        directory / "many_categories.spinney",
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
