"""Forests inside of what scikit-learn and joblib build from estimators."""

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    StackingClassifier,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.feature_selection import SelectFromModel
from sklearn.inspection import permutation_importance
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from forests import bits, every_classifier, every_forest, every_regressor
from spinney import (
    DecisionTreeClassifier,
    ExtraTreeClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from strategies import FOREST_OF_TASK


@pytest.fixture(scope="module")
def iris():
    """Return the iris measurements and species."""
    return load_iris(return_X_y=True)


def few(forest_class, n_estimators=8, **params):
    return forest_class(n_estimators, random_state=0, **params)


@every_forest
def test_grid_search(forest_class, iris):
    """The search sets parameters by name and refits the best."""
    grid = {"n_estimators": [2, 6], "max_depth": [1, 4], "bootstrap": [True, "poisson"]}
    folds = KFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(few(forest_class), grid, cv=folds).fit(*iris)
    assert search.best_params_["max_depth"] == 4
    assert len(search.best_estimator_) == search.best_params_["n_estimators"]


@every_forest
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_parallel_search(forest_class, backend, iris):
    """Workers in processes and in threads give what one process gives."""
    expected = cross_val_score(few(forest_class), *iris, cv=3)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        np.testing.assert_array_equal(cross_val_score(few(forest_class), *iris, cv=3), expected)
        forests = joblib.Parallel()(
            joblib.delayed(clone(few(forest_class)).fit)(*iris) for _ in range(3)
        )
    assert all(bits(forest) == bits(forests[0]) for forest in forests)


@every_forest
def test_pipeline(forest_class, iris):
    """Weights reach the forest by the name of its step; sparse columns go through."""
    X, y = iris
    pipeline = make_pipeline(StandardScaler(), few(forest_class))
    step = forest_class.__name__.lower()
    pipeline.fit(X, y, **{f"{step}__sample_weight": (y != 1).astype(float)})
    assert not (np.round(pipeline.predict(X)) == 1).all()
    frame = pd.DataFrame({"word": np.array(["a", "b", "c"])[y], "size": X[:, 0]})
    encode = ColumnTransformer([("words", OneHotEncoder(), ["word"])], remainder="passthrough")
    encode.set_params(sparse_threshold=1.0)
    assert sp.issparse(encode.fit_transform(frame))
    assert make_pipeline(encode, few(forest_class)).fit(frame, y).score(frame, y) > 0.99


@every_classifier
def test_votes_and_stacks(forest_class, iris):
    """Soft and hard votes, stacking."""
    X, y = iris
    members = [("a", few(forest_class)), ("b", DecisionTreeClassifier(max_depth=2))]
    for voting in ("soft", "hard"):
        assert VotingClassifier(members, voting=voting).fit(X, y).score(X, y) > 0.9
    stack = StackingClassifier(members, few(RandomForestClassifier), cv=3)
    assert stack.fit(X, y).score(X, y) > 0.9


@every_regressor
def test_mean_of_regressors(forest_class):
    """Votes of numbers, and a target that is transformed."""
    X, y = load_diabetes(return_X_y=True)
    members = [("a", few(forest_class)), ("b", few(ExtraTreesRegressor))]
    assert VotingRegressor(members).fit(X, y).score(X, y) > 0.5
    log = TransformedTargetRegressor(few(forest_class), func=np.log, inverse_func=np.exp)
    assert log.fit(X, y).score(X, y) > 0.5


@every_classifier
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration(forest_class, method):
    """Calibrated probabilities of a forest."""
    X, y = load_breast_cancer(return_X_y=True)
    calibrated = CalibratedClassifierCV(few(forest_class), method=method, cv=3).fit(X, y)
    assert calibrated.score(X, y) > 0.95


def test_trees_are_boosted(iris):
    """Trees, and forests, as the base of AdaBoost."""
    X, y = iris
    for base in (DecisionTreeClassifier(max_depth=1), few(RandomForestClassifier, 3, max_depth=1)):
        boosted = AdaBoostClassifier(base, n_estimators=10, random_state=0).fit(X, y)
        assert boosted.score(X, y) > 0.9


def test_trees_are_bagged(iris):
    """Bagging trees, and forests, with weights and subsets of the features."""
    X, y = iris
    for base in (ExtraTreeClassifier(), few(ExtraTreesClassifier, 3)):
        bagged = BaggingClassifier(base, n_estimators=5, max_features=0.5, random_state=0)
        assert bagged.fit(X, y, sample_weight=np.ones(len(y))).score(X, y) > 0.8
    X, y = load_diabetes(return_X_y=True)
    assert BaggingRegressor(few(RandomForestRegressor, 3), 3, random_state=0).fit(X, y).score(X, y)


@every_classifier
def test_one_model_per_label(forest_class, iris):
    """One against the rest, and a chain."""
    X, y = iris
    assert OneVsRestClassifier(few(forest_class)).fit(X, y).score(X, y) > 0.9
    labels = np.column_stack([y == 0, y == 1]).astype(int)
    chain = ClassifierChain(few(forest_class), order=[0, 1]).fit(X, labels)
    assert (chain.predict(X) == labels).mean() > 0.9


@every_forest
def test_importances_elsewhere(forest_class, iris):
    """Importances by permutation, and selection by the forest's own."""
    X, y = iris
    forest = few(forest_class).fit(X, y)
    importance = permutation_importance(forest, X, y, n_repeats=3, random_state=0)
    assert importance.importances_mean.argmax() in {2, 3}
    selected = SelectFromModel(few(forest_class)).fit(X, y)
    assert set(np.flatnonzero(selected.get_support())) <= {2, 3}


@every_forest
def test_clone_keeps_parameters_and_forgets_the_rest(forest_class, iris):
    """A clone is unfitted and grows the same forest."""
    forest = few(forest_class, max_depth=3, bootstrap="poisson", replace=True).fit(*iris)
    copy = clone(forest)
    assert copy.get_params() == forest.get_params()
    assert not hasattr(copy, "forest_")
    assert bits(copy.fit(*iris)) == bits(forest)


def test_set_output(iris):
    """Frames in, frames out, where a forest is the last step behind a transformer."""
    X, y = iris
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    pipeline = make_pipeline(
        StandardScaler(), SelectFromModel(few(RandomForestClassifier)), few(ExtraTreesClassifier)
    ).set_output(transform="pandas")
    pipeline.fit(frame, y)
    assert list(pipeline[-1].feature_names_in_) == list(pipeline[:-1].transform(frame).columns)
    assert set(pipeline[-1].feature_names_in_) <= {"a", "b", "c", "d"}


def test_metadata_routing(iris):
    """Weights and ids go where they are requested, and nowhere else."""
    X, y = iris
    weight, ids = np.arange(len(y)) % 3 + 1.0, np.arange(len(y)) + 1000
    given = {"sample_weight": weight, "sample_ids": ids}
    forest = few(RandomForestClassifier, bootstrap="poisson")
    with config_context(enable_metadata_routing=True):
        asking = clone(forest).set_fit_request(sample_weight=True, sample_ids=True)
        routed = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), asking)
        routed.fit(X, y, **given)
        scored = cross_validate(
            asking.set_score_request(sample_weight=False), X, y, cv=3, params=given
        )
    assert len(scored["test_score"]) == 3
    plain = clone(forest).fit(StandardScaler().fit_transform(X), y, **given)
    assert bits(routed[-1]) == bits(plain)


@pytest.mark.parametrize("task", ["classes", "numbers", "medians"])
@pytest.mark.parametrize("bootstrap", ["poisson", True, False])
def test_folds_share_their_draws(task, bootstrap):
    """Cross-validation with ids is `fit(X[train], y[train], sample_ids=train)`, fold by fold."""
    X, y = load_iris(return_X_y=True) if task == "classes" else load_diabetes(return_X_y=True)
    ids = np.arange(len(y))
    forest = few(FOREST_OF_TASK[task], bootstrap=bootstrap, max_depth=4)
    folds = KFold(3, shuffle=True, random_state=0)
    predicted = cross_val_predict(forest, X, y, cv=folds, params={"sample_ids": ids})
    whole = clone(forest).fit(X, y).estimators_samples_
    for train, test in folds.split(X):
        fold = clone(forest).fit(X[train], y[train], sample_ids=train)
        np.testing.assert_array_equal(predicted[test], fold.predict(X[test]))
        if bootstrap == "poisson":
            for rows, all_rows in zip(fold.estimators_samples_, whole, strict=True):
                counts = np.bincount(all_rows, minlength=len(y))[train]
                np.testing.assert_array_equal(np.bincount(rows, minlength=len(train)), counts)


@every_forest
def test_joblib_files(forest_class, tmp_path, iris):
    """Dumped, and loaded with its arrays mapped from the file, read-only."""
    X, y = iris
    forest = few(forest_class).fit(X, y)
    file = tmp_path / "forest.joblib"
    joblib.dump(forest, file)
    for mode in (None, "r"):
        back = joblib.load(file, mmap_mode=mode)
        assert bits(back) == bits(forest)
        np.testing.assert_array_equal(back.predict(X), forest.predict(X))
