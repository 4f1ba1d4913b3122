"""Trees and forests inside of what scikit-learn and joblib build from estimators."""

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
    AdaBoostRegressor,
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

from forests import every_forest
from oracle import bits
from spinney import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from strategies import (
    CLASSIFIERS,
    ESTIMATORS,
    FOREST_CLASSIFIERS,
    FOREST_OF_TASK,
    FOREST_REGRESSORS,
    FORESTS,
    REGRESSORS,
)

pytestmark = pytest.mark.oldest
every_estimator = pytest.mark.parametrize("estimator_class", ESTIMATORS + FORESTS)
every_classifier = pytest.mark.parametrize("estimator_class", CLASSIFIERS + FOREST_CLASSIFIERS)
every_regressor = pytest.mark.parametrize("estimator_class", REGRESSORS + FOREST_REGRESSORS)


@pytest.fixture(scope="module")
def iris():
    """Return the iris measurements and species."""
    return load_iris(return_X_y=True)


def small(estimator_class, n_estimators=8, **params):
    """Return an estimator that is quickly grown."""
    if estimator_class in FORESTS:
        params["n_estimators"] = n_estimators
    return estimator_class(random_state=0, **params)


# --- Searches, pipelines ------------------------------------------------------------------------


@every_estimator
def test_grid_search(estimator_class, iris):
    """The search sets parameters by name and refits the best, which for iris is not a stump."""
    grid = {"max_depth": [1, 4], "min_samples_leaf": [1, 60]}
    if estimator_class in FORESTS:
        grid |= {"n_estimators": [2, 6], "bootstrap": [True, "poisson"]}
    folds = KFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(small(estimator_class), grid, cv=folds).fit(*iris)
    assert search.best_params_["max_depth"] == 4
    assert search.best_params_["min_samples_leaf"] == 1
    assert search.best_score_ > 0.85
    best = small(estimator_class, **search.best_params_).fit(*iris)
    assert bits(search.best_estimator_) == bits(best)


@pytest.mark.parametrize("backend", ["loky", "threading"])
@pytest.mark.parametrize(
    "estimator_class", [DecisionTreeClassifier, RandomForestClassifier, ExtraTreesRegressor]
)
def test_parallel_search(estimator_class, backend, iris):
    """Workers in processes and in threads give what one process gives."""
    expected = cross_val_score(small(estimator_class), *iris, cv=3)
    alone = bits(small(estimator_class).fit(*iris))
    with joblib.parallel_config(backend=backend, n_jobs=2):
        found = cross_val_score(small(estimator_class), *iris, cv=3)
        fitted = joblib.Parallel()(
            joblib.delayed(small(estimator_class).fit)(*iris) for _ in range(3)
        )
    np.testing.assert_array_equal(found, expected)
    assert [bits(estimator) for estimator in fitted] == [alone] * 3


@every_estimator
def test_pipeline_passes_weights_on(estimator_class, iris):
    """Weights reach the last step by its name."""
    X, y = iris
    weight = (y != 1).astype(float)
    pipeline = make_pipeline(StandardScaler(), small(estimator_class))
    step = estimator_class.__name__.lower()
    pipeline.fit(X, y, **{f"{step}__sample_weight": weight})
    scaled = StandardScaler().fit_transform(X)
    alone = small(estimator_class).fit(scaled, y, sample_weight=weight)
    assert bits(pipeline[-1]) == bits(alone)
    assert bits(alone) != bits(small(estimator_class).fit(scaled, y))
    np.testing.assert_array_equal(pipeline.predict(X), alone.predict(scaled))


@every_estimator
def test_columns_of_words(estimator_class, iris):
    """Sparse columns of a transformer go through."""
    X, y = iris
    frame = pd.DataFrame({"word": np.array(["a", "b", "c"])[y], "size": X[:, 0]})
    encode = ColumnTransformer([("words", OneHotEncoder(), ["word"])], remainder="passthrough")
    encode.set_params(sparse_threshold=1.0)
    assert sp.issparse(encode.fit_transform(frame))
    assert make_pipeline(encode, small(estimator_class)).fit(frame, y).score(frame, y) > 0.99


def test_set_output(iris):
    """Frames in, frames out, where a forest is the last step behind a transformer."""
    X, y = iris
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    selection = SelectFromModel(small(RandomForestClassifier))
    pipeline = make_pipeline(StandardScaler(), selection, small(ExtraTreesClassifier))
    pipeline.set_output(transform="pandas").fit(frame, y)
    chosen = selection.get_feature_names_out()
    assert list(pipeline[-1].feature_names_in_) == list(chosen)
    assert 0 < len(chosen) < 4


# --- Ensembles of estimators --------------------------------------------------------------------


@every_classifier
def test_votes_and_stacks(estimator_class, iris):
    """Soft and hard votes, stacking."""
    X, y = iris
    members = [("a", small(estimator_class)), ("b", DecisionTreeClassifier(max_depth=2))]
    for voting in ("soft", "hard"):
        assert VotingClassifier(members, voting=voting).fit(X, y).score(X, y) > 0.9
    stack = StackingClassifier(members, small(RandomForestClassifier), cv=3)
    assert stack.fit(X, y).score(X, y) > 0.9


@every_regressor
def test_mean_of_regressors(estimator_class):
    """Votes of numbers, and a target that is transformed."""
    X, y = load_diabetes(return_X_y=True)
    members = [("a", small(estimator_class)), ("b", small(ExtraTreesRegressor))]
    mean = (small(estimator_class).fit(X, y).predict(X) + members[1][1].fit(X, y).predict(X)) / 2
    np.testing.assert_allclose(VotingRegressor(members).fit(X, y).predict(X), mean, rtol=1e-12)
    logarithmic = TransformedTargetRegressor(
        small(estimator_class), func=np.log, inverse_func=np.exp
    )
    expected = np.exp(small(estimator_class).fit(X, np.log(y)).predict(X))
    np.testing.assert_array_equal(logarithmic.fit(X, y).predict(X), expected)


@every_classifier
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration(estimator_class, method):
    """Calibrated probabilities."""
    X, y = load_breast_cancer(return_X_y=True)
    calibrated = CalibratedClassifierCV(small(estimator_class), method=method, cv=3).fit(X, y)
    assert calibrated.score(X, y) > 0.95


@pytest.mark.parametrize("base_class", [DecisionTreeClassifier, RandomForestClassifier])
def test_boosting_of_classifiers(base_class):
    """Boosted stumps beat one, which shows that the weights count; so do forests of stumps."""
    X, y = load_breast_cancer(return_X_y=True)
    stump = small(base_class, n_estimators=3, max_depth=1)
    boosted = AdaBoostClassifier(stump, n_estimators=20, random_state=0)
    alone = cross_val_score(stump, X, y, cv=3).mean()
    assert cross_val_score(boosted, X, y, cv=3).mean() > alone + 0.02


@pytest.mark.parametrize("base_class", [DecisionTreeRegressor, RandomForestRegressor])
def test_boosting_of_regressors(base_class):
    """Boosted stumps, and forests of them, beat one."""
    X, y = load_diabetes(return_X_y=True)
    stump = small(base_class, n_estimators=3, max_depth=1)
    boosted = AdaBoostRegressor(stump, n_estimators=20, random_state=0).fit(X, y)
    assert boosted.score(X, y) > stump.fit(X, y).score(X, y) + 0.02


@pytest.mark.parametrize("base_class", [ExtraTreeClassifier, ExtraTreesClassifier])
def test_bagging_of_classifiers(base_class, iris):
    """Subsets of the features, and weights: nothing is learnt from a class of weight 0."""
    X, y = iris
    bagged = BaggingClassifier(
        small(base_class, n_estimators=3), n_estimators=5, max_features=0.5, random_state=0
    )
    assert set(bagged.fit(X, y).predict(X)) == {0, 1, 2}
    assert bagged.score(X, y) > 0.8
    bagged.fit(X, y, sample_weight=(y != 1).astype(float))
    assert set(bagged.predict(X)) == {0, 2}
    assert bagged.score(X[y != 1], y[y != 1]) > 0.9


@pytest.mark.parametrize("base_class", [DecisionTreeRegressor, RandomForestRegressor])
def test_bagging_of_regressors(base_class):
    """The mean of the members, whose rows are told by weights or by copies."""
    X, y = load_diabetes(return_X_y=True)
    bagged = BaggingRegressor(small(base_class, n_estimators=3), 4, random_state=0).fit(X, y)
    for member, rows in zip(bagged.estimators_, bagged.estimators_samples_, strict=True):
        weight = np.bincount(rows, minlength=len(y))
        assert bits(member) in (
            bits(clone(member).fit(X, y, sample_weight=weight)),
            bits(clone(member).fit(X[rows], y[rows])),
        )
    mean = np.mean([member.predict(X) for member in bagged.estimators_], axis=0)
    np.testing.assert_allclose(bagged.predict(X), mean, rtol=1e-12)


def test_bagging_in_processes(iris):
    """Bagged trees are the same in one process and in two."""
    one, two = (
        BaggingClassifier(DecisionTreeClassifier(), 4, random_state=0, n_jobs=n_jobs).fit(*iris)
        for n_jobs in (1, 2)
    )
    assert bits(one) == bits(two)


@every_classifier
def test_one_model_per_label(estimator_class, iris):
    """One against the rest, and a chain."""
    X, y = iris
    assert OneVsRestClassifier(small(estimator_class)).fit(X, y).score(X, y) > 0.9
    labels = np.column_stack([y == 0, y == 1]).astype(int)
    chain = ClassifierChain(small(estimator_class), order=[0, 1]).fit(X, labels)
    assert (chain.predict(X) == labels).mean() > 0.9


# --- Importances --------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator_class", [DecisionTreeClassifier, *FORESTS])
def test_importances_elsewhere(estimator_class, iris):
    """Importances by permutation, and selection by the estimator's own."""
    X, y = iris
    estimator = small(estimator_class).fit(X, y)
    importance = permutation_importance(estimator, X, y, n_repeats=3, random_state=0)
    assert importance.importances_mean.argmax() in {2, 3}
    assert importance.importances_mean.max() > 0.2
    frame = pd.DataFrame(X, columns=list("abcd"))
    selection = SelectFromModel(small(estimator_class)).set_output(transform="pandas")
    chosen = selection.fit_transform(frame, y)
    own = estimator.feature_importances_
    assert list(chosen.columns) == list(frame.columns[own >= own.mean()])
    assert set(chosen.columns) <= {"c", "d"}


# --- Clones, metadata, files --------------------------------------------------------------------


@every_forest
def test_clone_keeps_parameters_and_forgets_the_rest(forest_class, iris):
    """A clone is unfitted and grows the same forest."""
    forest = small(forest_class, max_depth=3, bootstrap="poisson", replace=True).fit(*iris)
    copy = clone(forest)
    assert copy.get_params() == forest.get_params()
    assert not hasattr(copy, "forest_")
    assert bits(copy.fit(*iris)) == bits(forest)


@every_estimator
def test_requests_of_metadata(estimator_class):
    """Requests for weights are stored and told to a router."""
    with config_context(enable_metadata_routing=True):
        estimator = estimator_class().set_fit_request(sample_weight=True)
        estimator.set_score_request(sample_weight=False)
        for asking in (estimator, clone(estimator)):
            requests = asking.get_metadata_routing()
            assert requests.fit.requests["sample_weight"] is True
            assert requests.score.requests["sample_weight"] is False


def test_metadata_routing(iris):
    """Weights and ids go where they are requested, and nowhere else."""
    X, y = iris
    weight, ids = np.arange(len(y)) % 3 + 1.0, np.arange(len(y)) + 1000
    given = {"sample_weight": weight, "sample_ids": ids}
    forest = small(RandomForestClassifier, bootstrap="poisson")
    with config_context(enable_metadata_routing=True):
        asking = clone(forest).set_fit_request(sample_weight=True, sample_ids=True)
        routed = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), asking)
        routed.fit(X, y, **given)
        asking = clone(asking).set_score_request(sample_weight=False)
        scored = cross_validate(asking, X, y, cv=KFold(3), params=given)
        tree = DecisionTreeClassifier(random_state=0).set_fit_request(sample_weight=True)
        tree.set_score_request(sample_weight=False)
        search = GridSearchCV(tree, {"max_depth": [2]}, cv=3)
        search.fit(X, y, sample_weight=(y != 0).astype(float))
    plain = clone(forest).fit(StandardScaler().fit_transform(X), y, **given)
    assert bits(routed[-1]) == bits(plain)
    expected = [
        clone(forest)
        .fit(X[train], y[train], sample_weight=weight[train], sample_ids=ids[train])
        .score(X[test], y[test])
        for train, test in KFold(3).split(X)
    ]
    assert scored["test_score"].tolist() == expected
    assert search.best_estimator_.tree_.n_node_samples[0] == 100


@pytest.mark.parametrize("task", ["classes", "numbers", "medians"])
@pytest.mark.parametrize("bootstrap", ["poisson", True, False])
def test_folds_share_their_draws(task, bootstrap):
    """Cross-validation of named rows is `fit(X[train], y[train], sample_ids=train)`."""
    X, y = load_iris(return_X_y=True) if task == "classes" else load_diabetes(return_X_y=True)
    ids = np.arange(len(y))
    forest = small(FOREST_OF_TASK[task], bootstrap=bootstrap, max_depth=4)
    folds = KFold(3, shuffle=True, random_state=0)
    is_named = bootstrap == "poisson"
    params = {"sample_ids": ids} if is_named else None
    predicted = cross_val_predict(forest, X, y, cv=folds, params=params)
    whole = clone(forest).fit(X, y).estimators_samples_
    for train, test in folds.split(X):
        fold = clone(forest).fit(X[train], y[train], **({"sample_ids": train} if is_named else {}))
        np.testing.assert_array_equal(predicted[test], fold.predict(X[test]))
        if is_named:
            for rows, all_rows in zip(fold.estimators_samples_, whole, strict=True):
                counts = np.bincount(all_rows, minlength=len(y))[train]
                np.testing.assert_array_equal(np.bincount(rows, minlength=len(train)), counts)


@every_estimator
def test_joblib_files(estimator_class, tmp_path, iris):
    """Dumped, and loaded with its arrays mapped from the file, read-only."""
    X, y = iris
    estimator = small(estimator_class).fit(X, y)
    file = tmp_path / "estimator.joblib"
    joblib.dump(estimator, file)
    for mode in (None, "r"):
        back = joblib.load(file, mmap_mode=mode)
        assert bits(back) == bits(estimator)
        np.testing.assert_array_equal(back.predict(X), estimator.predict(X))
