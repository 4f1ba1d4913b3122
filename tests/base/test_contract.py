"""The contract with scikit-learn, tried from outside: subclasses, clones, errors, warnings."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn.ensemble
import sklearn.tree
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import InvalidParameterError

import spinney
from spinney import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    LazyForestClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from strategies import ESTIMATORS, FORESTS, LAZY_FORESTS, REGRESSORS

pytestmark = pytest.mark.oldest
SHARED = ESTIMATORS + FORESTS


@pytest.fixture(scope="module")
def iris():
    """Return the iris measurements and species."""
    return load_iris(return_X_y=True)


def theirs(estimator_class):
    """Return the class of scikit-learn that has the same name."""
    name = estimator_class.__name__
    return getattr(sklearn.tree, name, None) or getattr(sklearn.ensemble, name)


# --- Subclasses ---------------------------------------------------------------------------------


class Stump(DecisionTreeClassifier):
    """A tree with fewer parameters."""

    def __init__(self, random_state=None):
        super().__init__(max_depth=1, random_state=random_state)


class Named(DecisionTreeClassifier):
    """A tree with another parameter."""

    def __init__(self, name="tree", *, max_depth=None, random_state=None):
        super().__init__(max_depth=max_depth, random_state=random_state)
        self.name = name


class SmallForest(RandomForestClassifier):
    """A forest with fewer parameters and another one."""

    def __init__(self, size=4, random_state=None):
        super().__init__(n_estimators=size, max_depth=2, random_state=random_state)
        self.size = size


class SmallLazyForest(LazyForestClassifier):
    """A lazy forest with fewer parameters."""

    def __init__(self, random_state=None):
        super().__init__(n_estimators=4, max_depth=2, random_state=random_state)


class Floor(RandomForestRegressor):
    """A forest that overrides a method."""

    def __init__(self, random_state=None):
        super().__init__(4, random_state=random_state)

    def predict(self, X):
        return np.floor(super().predict(X))


SUBCLASSES = (
    (Stump(0), DecisionTreeClassifier(max_depth=1, random_state=0)),
    (
        Named("oak", max_depth=2, random_state=0),
        DecisionTreeClassifier(max_depth=2, random_state=0),
    ),
    (SmallForest(3, 0), RandomForestClassifier(3, max_depth=2, random_state=0)),
    (SmallLazyForest(0), LazyForestClassifier(4, max_depth=2, random_state=0)),
)


class Bare(RandomForestRegressor):
    """A forest whose `__init__` forgets the parameters of its base class."""

    def __init__(self, n_estimators=3):
        self.n_estimators = n_estimators


def test_a_parameter_that_no_one_has_set_is_an_attribute_error():
    """As in scikit-learn the message names the class and an attribute."""
    with pytest.raises(AttributeError, match="'Bare' object has no attribute 'ccp_alpha'"):
        Bare().fit([[0.0], [1.0]], [0.0, 1.0])


@pytest.mark.parametrize(("own", "plain"), SUBCLASSES)
def test_a_subclass_chooses_its_parameters(own, plain, iris):
    """Attributes count, as in scikit-learn: parameters that `__init__` lacks have them too."""
    X, y = iris
    expected = plain.fit(X, y).predict_proba(X)
    for model in (own, clone(own), pickle.loads(pickle.dumps(own))):
        np.testing.assert_array_equal(model.fit(X, y).predict_proba(X), expected)
        assert set(model.get_params()) == set(own.get_params())
    for scores in (cross_val_score, spinney.model_selection.cross_val_score):
        np.testing.assert_array_equal(scores(own, X, y, cv=3), scores(plain, X, y, cv=3))
    search = GridSearchCV(own, {"random_state": [0]}, cv=3).fit(X, y)
    np.testing.assert_array_equal(search.predict_proba(X), expected)


def test_a_subclass_of_a_tree_has_a_pruning_path(iris):
    """It is grown without pruning, also where `ccp_alpha` is no parameter."""
    path = Stump(0).cost_complexity_pruning_path(*iris)
    plain = DecisionTreeClassifier(max_depth=1, random_state=0)
    np.testing.assert_array_equal(
        path.ccp_alphas, plain.cost_complexity_pruning_path(*iris).ccp_alphas
    )


def test_the_trees_of_a_subclass_of_a_forest(iris):
    """Trees of a forest are those of its class, and can become those of another forest."""
    forest = SmallForest(3, 0).fit(*iris)
    assert [tree.max_depth for tree in forest.estimators_] == [2] * 3
    forest.estimators_ = [Stump(seed).fit(iris[0], iris[1]) for seed in range(2)]
    assert [tree.get_depth() for tree in forest.estimators_] == [1, 1]
    assert len(clone(forest).fit(*iris)) == 3


def test_a_subclass_may_override_predictions(iris):
    """Cross-validation asks the method of the subclass."""
    X, y = load_diabetes(return_X_y=True)
    predicted = spinney.model_selection.cross_val_predict(Floor(0), X, y, cv=3)
    np.testing.assert_array_equal(predicted, np.floor(predicted))


@pytest.mark.parametrize("estimator_class", ESTIMATORS + FORESTS + LAZY_FORESTS)
def test_attributes_that_are_set_count(estimator_class):
    """A parameter that is assigned is the one that `fit` takes, as after `set_params`."""
    X, y = load_iris(return_X_y=True)
    one, other = estimator_class(random_state=0), estimator_class(random_state=0, max_depth=1)
    one.max_depth = 1
    np.testing.assert_array_equal(one.fit(X, y).predict(X), other.fit(X, y).predict(X))
    assert one.get_params() == other.get_params()


# --- Parameters of parts, clones ----------------------------------------------------------------


def test_parameters_of_parts(iris):
    """`set_params` reaches our estimators inside of scikit-learn's, and `clone` keeps it."""
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(3, random_state=0))
    pipeline.set_params(randomforestclassifier__max_depth=1)
    assert clone(pipeline)[-1].max_depth == 1
    bagging = BaggingClassifier(DecisionTreeClassifier(), n_estimators=3, random_state=0)
    bagging.set_params(estimator__max_depth=1).fit(*iris)
    assert [tree.get_depth() for tree in bagging.estimators_] == [1, 1, 1]
    search = GridSearchCV(pipeline, {"randomforestclassifier__max_depth": [1, 3]}, cv=3).fit(*iris)
    assert search.best_estimator_[-1].estimators_[0].get_depth() == 3
    with pytest.raises(ValueError, match="Invalid parameter 'depth' for estimator"):
        pipeline.set_params(randomforestclassifier__depth=1)


class Frozen(DecisionTreeClassifier):
    """A tree that stays fitted when it is cloned."""

    def __sklearn_clone__(self):
        return self


def test_an_estimator_decides_how_it_is_cloned(iris):
    """`__sklearn_clone__` is asked, here as in scikit-learn."""
    tree = Frozen(max_depth=1).fit(*iris)
    assert clone(tree) is tree
    assert BaseEstimator.__sklearn_clone__(tree) is not tree
    for folds in (sklearn.model_selection, spinney.model_selection):
        trained = folds.cross_validate(tree, *iris, cv=2, return_estimator=True)["estimator"]
        assert trained == [tree, tree]


@pytest.mark.parametrize("estimator_class", ESTIMATORS + FORESTS + LAZY_FORESTS)
def test_a_clone_has_the_parameters_and_nothing_else(estimator_class, iris):
    """The parameters are the same objects or copies, and nothing is fitted."""
    weights = {"class_weight": {0: 2.0}} if hasattr(estimator_class(), "class_weight") else {}
    cst = np.zeros(4)
    X, y = iris
    estimator = estimator_class(monotonic_cst=cst, random_state=0, **weights).fit(X, y == 0)
    copied = clone(estimator)
    assert not [name for name in vars(copied) if name.endswith("_")]
    assert {n: repr(p) for n, p in copied.get_params().items()} == {
        n: repr(p) for n, p in estimator.get_params().items()
    }


# --- Errors -------------------------------------------------------------------------------------

ILLEGAL = [
    ("criterion", "best"),
    ("splitter", "worst"),
    ("max_depth", 0),
    ("max_depth", 2.5),
    ("min_samples_split", 1),
    ("min_samples_split", 1.5),
    ("min_samples_leaf", 0),
    ("min_samples_leaf", 1.0),
    ("min_weight_fraction_leaf", 0.6),
    ("max_features", 0),
    ("max_features", "auto"),
    ("random_state", -1),
    ("random_state", "seed"),
    ("max_leaf_nodes", 1),
    ("min_impurity_decrease", -1.0),
    ("ccp_alpha", -1.0),
    ("class_weight", "heavy"),
    ("class_weight", 2.0),
    ("monotonic_cst", "up"),
    ("monotonic_cst", 1),
    ("n_estimators", 0),
    ("n_jobs", 1.5),
    ("bootstrap", "bayes"),
    ("oob_score", "exactness"),
    ("warm_start", 1),
    ("verbose", -1),
    ("max_samples", 0),
    ("max_samples", "half"),
]


@pytest.mark.parametrize(("name", "value"), ILLEGAL)
def test_illegal_parameters_are_the_error_of_scikit_learn(name, value, iris):
    """The same exception, in both before the data are looked at."""
    classes = [c for c in SHARED if name in theirs(c)().get_params()]
    assert classes
    for estimator_class in classes:
        for kind in (theirs(estimator_class), estimator_class):
            with pytest.raises(
                InvalidParameterError, match=f"The {name!r} parameter of {kind.__name__}"
            ):
                kind(**{name: value}).fit("no data", "no target")


def test_own_parameters_are_checked_before_the_data():
    """Those that scikit-learn does not have behave as those that it has."""
    for name, value in {"feature_sampling": "some", "quantile": 2.0}.items():
        with pytest.raises(InvalidParameterError, match=name):
            DecisionTreeRegressor(**{name: value}).fit("no data", "no target")
    with pytest.raises(InvalidParameterError, match="replace"):
        ExtraTreesRegressor(replace=3).fit("no data", "no target")
    with pytest.raises(InvalidParameterError, match="traversal"):
        LazyForestClassifier(traversal="none").fit("no data", "no target")
    with pytest.raises(InvalidParameterError, match="categorical_features"):
        DecisionTreeRegressor(categorical_features="all").fit([[1.0], [2.0]], [1, 2])


@pytest.mark.parametrize("regressor", REGRESSORS)
def test_counts_are_checked_before_lengths(regressor):
    """The order of scikit-learn's trees: what targets are, then how many."""
    X = np.arange(5.0)[:, None]
    for kind in (theirs(regressor), regressor):
        with pytest.raises(ValueError, match=r"y is not positive.*Poisson"):
            kind(criterion="poisson").fit(X, np.zeros(3))
        with pytest.raises(ValueError, match=r"negative.*Poisson"):
            kind(criterion="poisson").fit(X, [-1.0, 2.0])


@pytest.mark.parametrize("estimator_class", [c for c in SHARED if "quantile" in c().get_params()])
def test_friedman_mse_warns_when_it_is_given(estimator_class):
    """The estimator has the name that is left, as in scikit-learn 1.9."""
    with pytest.warns(FutureWarning, match="friedman_mse") as caught:
        estimator = estimator_class(criterion="friedman_mse")
    assert [warning.filename for warning in caught] == [__file__]
    assert estimator.criterion == "squared_error"
    clone(estimator)
    X, y = load_diabetes(return_X_y=True)
    with pytest.warns(FutureWarning, match="friedman_mse"):
        estimator.set_params(criterion="friedman_mse").fit(X[:50], y[:50])


def test_criteria_of_numbers_are_none_of_classes():
    """A classifier does not know the name, and does not warn."""
    with pytest.raises(
        InvalidParameterError, match="'criterion' parameter of DecisionTreeClassifier"
    ):
        DecisionTreeClassifier(criterion="friedman_mse").fit([[1.0], [2.0]], [0, 1])


# --- Warnings that say what to do ---------------------------------------------------------------

SMALL_LEAVES = [
    ({"quantile": 0.9}, 10, 1),
    ({"quantile": 0.1, "min_samples_leaf": 9}, 10, 9),
    ({"quantile": 0.5}, 2, 1),
    ({"quantile": 0.99, "min_samples_leaf": 0.1}, 100, 45),
    ({"quantile": 1 / 3, "min_samples_leaf": 2}, 3, 2),
]


@pytest.mark.parametrize(("params", "needed", "smallest"), SMALL_LEAVES)
@pytest.mark.parametrize("regressor", [DecisionTreeRegressor, RandomForestRegressor])
def test_leaves_that_are_too_small_for_a_quantile(regressor, params, needed, smallest):
    """The warning names the size that is needed, and with that size there is none."""
    X, y = load_diabetes(return_X_y=True)
    model = regressor(criterion="quantile", max_depth=2, random_state=0, **params)
    model.set_params(**({"n_estimators": 2} if hasattr(model, "n_estimators") else {}))
    told = (
        f"leaves of at least {needed} samples. With min_samples_leaf=.* leaves may have {smallest}:"
    )
    with pytest.warns(UserWarning, match=told) as caught:
        model.fit(X, y)
    assert [warning.filename for warning in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(min_samples_leaf=needed).fit(X, y)
        model.set_params(criterion="absolute_error", min_samples_leaf=1).fit(X, y)


def test_leaves_of_the_size_that_is_asked_for_cover_what_they_should():
    """What the warning is about: with small leaves the quantile of new rows is far off."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 3)), rng.normal(size=4000)
    covered = {}
    for leaf in (1, 50):
        forest = RandomForestRegressor(
            50, criterion="quantile", quantile=0.9, min_samples_leaf=leaf, random_state=0
        )
        covered[leaf] = np.mean(y[2000:] <= forest.fit(X[:2000], y[:2000]).predict(X[2000:]))
    assert covered[1] < 0.7
    assert abs(covered[50] - 0.9) < 0.05
