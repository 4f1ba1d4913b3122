"""Forty things that users do on their first day: each works, or its error says what to do.

`python tests/package/test_first_day.py` walks through them and prints a line for each.
"""

import io
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectFromModel
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    cross_val_score,
    learning_curve,
    train_test_split,
    validation_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import plot_tree
from sklearn.utils import estimator_html_repr

import spinney
from spinney import DecisionTreeClassifier, RandomForestClassifier, RandomForestRegressor


@cache
def iris():
    """Return the iris measurements and species, in a training and a test set."""
    return train_test_split(*load_iris(return_X_y=True), random_state=0)


@cache
def people():
    """Return a frame with strings, numbers and missing cells, and whether each person came back."""
    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame(
        {
            "city": rng.choice(["Oslo", "Rome", "Bonn"], n),
            "age": rng.integers(18, 80, n),
            "income": rng.normal(30, 8, n),
        }
    )
    y = (frame["city"] == "Rome") ^ (frame["age"] > 50)
    return frame, y


def forest(**params):
    """Return a small forest."""
    return RandomForestClassifier(**{"n_estimators": 10, "random_state": 0, **params})


@contextmanager
def new_figure():
    """Give matplotlib's `pyplot`, which draws into memory, and close its figures afterwards."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    try:
        yield plt
    finally:
        plt.close("all")


# --- Models -------------------------------------------------------------------------------------


def test_change_the_import():
    """fit, predict, predict_proba, score: as with scikit-learn's class of this name."""
    X, X_test, y, y_test = iris()
    model = RandomForestClassifier(random_state=0).fit(X, y)
    assert model.score(X_test, y_test) > 0.9
    assert model.predict_proba(X_test).shape == (len(y_test), 3)


def test_write_a_subclass():
    """An `__init__` of one's own, with fewer parameters."""

    class Stump(DecisionTreeClassifier):
        def __init__(self, random_state=None):
            super().__init__(max_depth=1, random_state=random_state)

    X, _, y, _ = iris()
    assert clone(Stump(random_state=0)).fit(X, y).get_depth() == 1


def test_look_at_an_estimator():
    """repr, the picture of a notebook, parameters."""
    model = forest(max_depth=3)
    assert repr(model) == "RandomForestClassifier(max_depth=3, n_estimators=10, random_state=0)"
    assert "RandomForestClassifier" in estimator_html_repr(model)
    assert model.set_params(max_depth=2).get_params()["max_depth"] == 2


def test_read_the_help():
    """help() shows parameters with their descriptions."""
    assert "Largest depth of a leaf." in RandomForestClassifier.__doc__
    assert "The training samples" in RandomForestClassifier.fit.__doc__


def test_use_all_processors_and_watch():
    """n_jobs=-1 and verbose=2 report, and the result is the same."""
    X, X_test, y, _ = iris()
    quiet = forest().fit(X, y).predict_proba(X_test)
    np.testing.assert_array_equal(
        forest(n_jobs=-1, verbose=2).fit(X, y).predict_proba(X_test), quiet
    )


def test_weigh_classes_and_samples():
    """class_weight="balanced" and sample_weight together."""
    X, X_test, y, y_test = iris()
    model = forest(class_weight="balanced").fit(X, y, sample_weight=np.ones(len(y)))
    assert model.score(X_test, y_test) > 0.9


def test_ask_for_the_out_of_bag_score():
    """oob_score=True."""
    X, _, y, _ = iris()
    assert forest(n_estimators=50, oob_score=True).fit(X, y).oob_score_ > 0.9


def test_grow_further():
    """warm_start adds trees, which are those that one call grows."""
    X, X_test, y, _ = iris()
    model = forest(n_estimators=3, warm_start=True).fit(X, y).set_params(n_estimators=10).fit(X, y)
    np.testing.assert_array_equal(
        model.predict_proba(X_test), forest().fit(X, y).predict_proba(X_test)
    )


def test_shrink_a_warm_forest():
    """The error says which number is needed."""
    X, _, y, _ = iris()
    model = forest(warm_start=True).fit(X, y).set_params(n_estimators=3)
    with pytest.raises(ValueError, match=r"n_estimators=3 must be larger or equal to .*=10 when"):
        model.fit(X, y)


def test_ask_for_a_quantile():
    """With the default leaves the warning says what to set; then it is quiet."""
    X, y = load_diabetes(return_X_y=True)
    model = RandomForestRegressor(10, criterion="quantile", quantile=0.9, random_state=0)
    with pytest.warns(UserWarning, match="Set min_samples_leaf to 10 or more"):
        model.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        upper = model.set_params(min_samples_leaf=20).fit(X, y).predict(X)
    assert 0.8 < np.mean(y <= upper) < 1


# --- What scikit-learn builds from models ---------------------------------------------------------


def test_a_pipeline_with_a_column_transformer():
    """One-hot columns of strings beside scaled numbers."""
    X, y = people()
    columns = ColumnTransformer(
        [("city", OneHotEncoder(), ["city"]), ("numbers", StandardScaler(), ["age", "income"])]
    )
    model = make_pipeline(columns, forest(max_features=None)).fit(X, y)
    assert model.score(X, y) > 0.95


def test_a_grid_search_over_a_pipeline():
    """Parameters of the last step by name."""
    X, _, y, _ = iris()
    grid = {"randomforestclassifier__max_depth": [1, 3]}
    search = GridSearchCV(make_pipeline(StandardScaler(), forest()), grid, cv=3).fit(X, y)
    assert search.best_params_ == {"randomforestclassifier__max_depth": 3}


def test_a_random_search_in_processes():
    """Candidates are fitted by joblib's workers."""
    X, _, y, _ = iris()
    choices = {"max_depth": [1, 2, 3], "criterion": ["gini", "entropy"]}
    search = RandomizedSearchCV(forest(), choices, n_iter=3, cv=2, n_jobs=2, random_state=0)
    assert search.fit(X, y).best_score_ > 0.9


def test_a_calibrated_classifier():
    """CalibratedClassifierCV, by isotonic regression."""
    X, X_test, y, y_test = iris()
    model = CalibratedClassifierCV(forest(), method="isotonic", cv=3).fit(X, y)
    assert model.score(X_test, y_test) > 0.9


def test_permutation_importance():
    """Of a frame, in scikit-learn's function."""
    X, y = people()
    model = forest(categorical_features=["city"], max_features=None).fit(X, y)
    found = permutation_importance(model, X, y, n_repeats=3, random_state=0).importances_mean
    assert found[0] > found[2]
    assert found[1] > found[2]


def test_partial_dependence():
    """By number and by name of the feature."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = RandomForestRegressor(10, random_state=0).fit(X, y)
    by_name = partial_dependence(model, X, ["bmi"], grid_resolution=5)["average"]
    by_number = partial_dependence(model, X, [2], grid_resolution=5)["average"]
    np.testing.assert_array_equal(by_name, by_number)
    assert by_name[0, -1] > by_name[0, 0]


def test_a_learning_curve():
    """learning_curve and validation_curve."""
    X, _, y, _ = iris()
    _, _, scores = learning_curve(forest(), X, y, cv=3, train_sizes=[0.5, 1.0], shuffle=True)
    assert scores.shape == (2, 3)
    _, scores = validation_curve(forest(), X, y, param_name="max_depth", param_range=[1, 3], cv=3)
    assert scores[1].mean() > scores[0].mean()


def test_cross_validation_of_both_libraries():
    """The same numbers."""
    X, _, y, _ = iris()
    ours = spinney.model_selection.cross_val_score(forest(), X, y, cv=5)
    np.testing.assert_array_equal(ours, cross_val_score(forest(), X, y, cv=5))


def test_votes_stacks_and_bags():
    """As a part of other ensembles."""
    X, X_test, y, y_test = iris()
    parts = [("forest", forest()), ("linear", LogisticRegression(max_iter=1000))]
    for model in (
        VotingClassifier(parts, voting="soft"),
        StackingClassifier(parts, cv=3),
        BaggingClassifier(DecisionTreeClassifier(max_depth=3), 5, random_state=0),
    ):
        assert model.fit(X, y).score(X_test, y_test) > 0.85


def test_select_features():
    """SelectFromModel, with names."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    selected = SelectFromModel(forest()).set_output(transform="pandas").fit(X, y).transform(X)
    assert "petal width (cm)" in selected.columns


# --- Storing and stopping -------------------------------------------------------------------------


def test_a_pickle_goes_to_another_process():
    """And predicts the same there."""
    X, X_test, y, _ = iris()
    model = forest().fit(X, y)
    code = (
        "import pickle, sys; model, X = pickle.load(sys.stdin.buffer);"
        "sys.stdout.buffer.write(model.predict_proba(X).tobytes())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=pickle.dumps((model, X_test)),
        capture_output=True,
        check=True,
    )
    assert done.stdout == model.predict_proba(X_test).tobytes()


def test_a_joblib_file():
    """joblib.dump and load, compressed."""
    X, X_test, y, _ = iris()
    model = forest().fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.joblib"
        joblib.dump(model, file, compress=3)
        back = joblib.load(file)
    np.testing.assert_array_equal(back.predict(X_test), model.predict(X_test))


def test_ctrl_c():
    """Ends a long fit within a second or two, and the estimator can be fitted again."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 50)), rng.normal(size=20_000)
    model = RandomForestRegressor(10_000, random_state=0)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer.start()
    start = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - start < 30
    assert not hasattr(model, "forest_")
    model.set_params(n_estimators=1, max_depth=2).fit(X[:100], y[:100])


# --- Data -----------------------------------------------------------------------------------------


def test_pandas_with_missing_cells():
    """NA, None and NaN are missing values."""
    X, y = people()
    X = X.astype({"age": "Int64"})
    X.loc[::7, "age"], X.loc[::5, "city"], X.loc[::3, "income"] = pd.NA, None, np.nan
    model = forest(categorical_features=["city"]).fit(X, y)
    assert model.score(X, y) > 0.9


def test_pandas_categories():
    """Found by their dtype; a query may have other categories."""
    X, y = people()
    X = X.astype({"city": "category"})
    model = forest(categorical_features="from_dtype").fit(X, y)
    assert model.is_categorical_.tolist() == [True, False, False]
    assert len(model.predict(X.head(2).assign(city=["Paris", "Rome"]))) == 2


def test_polars_and_pyarrow():
    """They give the model of the pandas frame."""
    X, y = people()
    model = forest(categorical_features=["city"]).fit(X, y)
    for other in (pl.DataFrame(X.to_dict("list")), pa.table(X.to_dict("list"))):
        same = forest(categorical_features=["city"]).fit(other, y)
        np.testing.assert_array_equal(same.predict_proba(other), model.predict_proba(X))
        assert same.feature_names_in_.tolist() == ["city", "age", "income"]


def test_a_frame_of_sparse_columns():
    """It is read as a sparse matrix."""
    X = sp.random(100, 20, 0.1, random_state=0, format="csr")
    y = X[:, [0]].toarray().ravel() > 0
    frame = pd.DataFrame.sparse.from_spmatrix(X).add_prefix("x")
    np.testing.assert_array_equal(
        forest().fit(frame, y).predict(frame), forest().fit(X, y).predict(X)
    )


def test_text():
    """TF-IDF makes a sparse matrix."""
    words = ["good film", "bad film", "good story", "bad plot", "good", "bad bad"] * 5
    y = [word.startswith("good") for word in words]
    model = make_pipeline(TfidfVectorizer(), forest(max_features=None)).fit(words, y)
    assert model.predict(["a good one", "a bad one"]).tolist() == [True, False]


def test_one_row():
    """A frame of one row, and a row that forgot its second dimension."""
    X, y = people()
    model = forest(categorical_features=["city"]).fit(X, y)
    assert model.predict(X.head(1)).shape == (1,)
    X, _, y, _ = iris()
    with pytest.raises(ValueError, match="Reshape your data"):
        forest().fit(X, y).predict(X[0])


def test_columns_in_another_order():
    """The error says so."""
    X, y = people()
    model = forest(categorical_features=["city"]).fit(X, y)
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        model.predict(X[["age", "city", "income"]])


def test_a_column_that_is_missing():
    """The error names it."""
    X, y = people()
    model = forest(categorical_features=["city"]).fit(X, y)
    with pytest.raises(ValueError, match="yet now missing:\n- income"):
        model.predict(X[["city", "age"]])
    with pytest.raises(ValueError, match="has an item value 'town' which is not a valid feature"):
        forest(categorical_features=["town"]).fit(X, y)


def test_an_array_after_a_frame():
    """Predicts, with scikit-learn's warning about names."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = forest().fit(X, y)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        predicted = model.predict(X.to_numpy())
    np.testing.assert_array_equal(predicted, model.predict(X))


def test_strings_that_are_not_declared():
    """The error names the column and the parameter that takes it."""
    X, y = people()
    with pytest.raises(
        ValueError, match=r"'city' .* must hold numbers, or be named in categorical"
    ):
        forest().fit(X, y)


def test_dates():
    """The error says what to make of them."""
    X, y = people()
    X = X.assign(day=pd.Timestamp("2020-01-01"))
    with pytest.raises(
        TypeError, match=r"'day' holds values of the type Datetime.* Convert them to"
    ):
        forest(categorical_features=["city"]).fit(X, y)


# --- Targets --------------------------------------------------------------------------------------


def test_labels_of_any_type():
    """Strings, bools, and a series of pandas."""
    X, X_test, y, _ = iris()
    names = np.array(["setosa", "versicolor", "virginica"])
    assert set(forest().fit(X, names[y]).predict(X_test)) <= set(names)
    assert forest().fit(X, y == 0).predict(X_test).dtype == bool
    assert forest().fit(X, pd.Series(names[y], dtype="category")).classes_.tolist() == list(names)


def test_several_outputs_in_a_frame():
    """A frame of targets gives a column for each."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    targets = pd.DataFrame({"y": y, "double": 2 * y})
    predicted = RandomForestRegressor(5, random_state=0).fit(X, targets).predict(X)
    np.testing.assert_allclose(predicted[:, 1], 2 * predicted[:, 0])


def test_targets_of_a_wrong_shape():
    """A column is taken with a warning; another length is refused, with both numbers."""
    X, _, y, _ = iris()
    with pytest.warns(DataConversionWarning, match="using ravel"):
        forest().fit(X, y[:, None])
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[112, 111\]"):
        forest().fit(X, y[:-1])


def test_targets_that_are_missing_or_numbers():
    """NaN in `y`, and numbers for a classifier."""
    X, _, y, _ = iris()
    with pytest.raises(ValueError, match="Input y contains NaN"):
        RandomForestRegressor(5).fit(X, np.where(y == 0, np.nan, y))
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        forest().fit(X, y + 0.5)


# --- Mistakes -------------------------------------------------------------------------------------


def test_predict_before_fit():
    """scikit-learn's error."""
    with pytest.raises(NotFittedError, match="Call 'fit' with appropriate arguments"):
        forest().predict([[1.0]])


def test_parameters_that_are_wrong():
    """A value that is illegal, and a name that does not exist."""
    X, _, y, _ = iris()
    with pytest.raises(ValueError, match=r"'max_depth' .* must be an int in the range \[1, inf\)"):
        forest(max_depth=0).fit(X, y)
    with pytest.raises(TypeError, match="unexpected keyword argument 'max_dept'"):
        forest(max_dept=3)


def test_another_number_of_features():
    """The error has both numbers."""
    X, X_test, y, _ = iris()
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4 features"):
        forest().fit(X, y).predict(X_test[:, :3])


def test_a_cluster_without_its_package():
    """The error says how to install Ray, or Dask."""
    dask = '"dask[array,dataframe]" distributed'
    for name, missing, packages in (
        ("ray", "ray", '"ray[data]"'),
        ("dask", "dask", dask),
        ("dask", "distributed", dask),
    ):
        for use, kind in (
            (f"import spinney; assert not hasattr(spinney, {name!r}); spinney.{name}", "Attribute"),
            (f"import spinney.{name}", "Import"),
        ):
            code = f"import sys; sys.modules[{missing!r}] = None; {use}"
            done = subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=False
            )
            last = done.stderr.splitlines()[-1]
            assert last.startswith(f"{kind}Error: spinney.{name} needs the package")
            assert last.endswith(f": python -m pip install {packages}")


# --- Looking at models ----------------------------------------------------------------------------


def test_importances_and_text():
    """Which features, in numbers and as a picture, and the rules of a tree of the forest."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = forest().fit(X, y)
    assert X.columns[np.argmax(model.feature_importances_)].startswith("petal")
    text = spinney.export_text(model.estimators_[0], feature_names=list(X.columns))
    assert "petal" in text
    with new_figure() as plt:
        ax = spinney.plot_importance(model, n_features=2)
        assert all(label.get_text().startswith("petal") for label in ax.get_yticklabels())
        plt.savefig(io.BytesIO())


def test_a_picture_of_a_tree():
    """By matplotlib, and for Graphviz, with the names of the classes."""
    iris = load_iris()
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(iris.data, iris.target)
    with new_figure() as plt:
        boxes = spinney.plot_tree(tree, class_names=iris.target_names, filled=True)
        assert len(boxes) == tree.tree_.node_count
        assert "class = setosa (100%)" in "".join(text.get_text() for text in boxes[0].axes.texts)
        plt.savefig(io.BytesIO())
    text = spinney.export_graphviz(tree, class_names=iris.target_names, filled=True)
    assert text.count("->") == tree.tree_.node_count - 1
    assert "class = virginica" in text


def test_a_picture_of_a_tree_by_scikit_learn():
    """Its `plot_tree` takes our trees."""
    X, _, y, _ = iris()
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    with new_figure():
        assert len(plot_tree(tree)) >= tree.tree_.node_count


THINGS = [thing for name, thing in list(globals().items()) if name.startswith("test_")]


def test_there_are_forty():
    """What the first line says."""
    assert len(THINGS) >= 40


if __name__ == "__main__":
    for number, thing in enumerate(THINGS, 1):
        thing()
        print(f"{number:3} {thing.__name__[5:].replace('_', ' ')}")
