"""AdaBoost: scikit-learn's rounds, tree by tree, on everything that our trees take."""

import io

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.ensemble
import sklearn.tree
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import spinney
from spinney import AdaBoostClassifier, AdaBoostRegressor
from spinney._data.arrays import to_native
from spinney.ensemble import _reweighted

N = 240
CLASSES = [AdaBoostClassifier, AdaBoostRegressor]
REGRESSIONS = [
    {"loss": "linear"},
    {"loss": "square", "learning_rate": 0.4},
    {"loss": "exponential"},
]
CASES = [
    (AdaBoostClassifier, 2, {}),
    (AdaBoostClassifier, 2, {"learning_rate": 0.7}),
    (AdaBoostClassifier, 4, {}),
    *((AdaBoostRegressor, 0, options) for options in REGRESSIONS),
]


def make_data(n_classes, n_samples=N):
    """Return normal rows, and targets."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n_samples, 5)).astype(np.float32)
    score = X[:, 0] * X[:, 1] + X[:, 2] + rng.standard_normal(n_samples)
    if not n_classes:
        return X, score
    return X, np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)


def make_tree(kind, of=spinney, **parameters):
    """Return a tree for a class of boosting, of this package or of scikit-learn."""
    name = "DecisionTreeClassifier" if is_classifier(kind()) else "DecisionTreeRegressor"
    module = sklearn.tree if of is sklearn else spinney
    return getattr(module, name)(**{"max_depth": 2, **parameters})


def assert_same_rounds(one, other, **tolerance):
    """Check weights, errors and importances of the rounds."""
    assert len(one) == len(other)
    for name in ("estimator_weights_", "estimator_errors_", "feature_importances_"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), **tolerance)


def ask(model, X):
    """Return all that a model answers."""
    names = ["predict", "predict_proba", "predict_log_proba", "decision_function"]
    answers = {name: getattr(model, name)(X) for name in names if hasattr(model, name)}
    for name in [name for name in dir(model) if name.startswith("staged_") and "score" not in name]:
        answers[name] = np.array(list(getattr(model, name)(X)))
    return answers


@pytest.mark.filterwarnings("ignore:divide by zero")  # of scikit-learn's class
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("kind", "n_classes", "options"), CASES)
def test_rounds_are_those_of_scikit_learn(kind, n_classes, options, weighted):
    """Tree by tree, and in all that is predicted.

    No two cuts of a node are equally good here: leaves are large, and the seed of the data is one
    where no counts are equal by chance.
    """
    X, y = make_data(n_classes)
    weights = np.arange(N) % 4 / 3 if weighted else None
    pair = []
    for of, boosting in ((spinney, kind), (sklearn, getattr(sklearn.ensemble, kind.__name__))):
        tree = make_tree(kind, of, min_samples_leaf=20)
        model = boosting(tree, n_estimators=9, random_state=7, **options)
        pair.append(model.fit(X, y, weights))
    ours, theirs = pair
    assert len(ours) > 3
    assert_same_rounds(ours, theirs, rtol=1e-9)
    for one, other in zip(ours, theirs, strict=True):
        assert one.random_state == other.random_state
        for name in ("feature", "n_node_samples", "children_left"):
            np.testing.assert_array_equal(getattr(one.tree_, name), getattr(other.tree_, name))
    expected = ask(theirs, X)
    for name, found in ask(ours, X).items():
        np.testing.assert_allclose(found, expected[name], rtol=1e-9, atol=1e-12, err_msg=name)
    np.testing.assert_allclose(list(ours.staged_score(X, y)), list(theirs.staged_score(X, y)))


def test_defaults_are_those_of_scikit_learn():
    """The parameters, and the trees where none is given."""
    for kind in CLASSES:
        theirs = getattr(sklearn.ensemble, kind.__name__)
        expected = theirs().get_params()
        # Below 1.8, without effect.
        expected.pop("algorithm", None)
        assert kind().get_params() == expected
        X, y = make_data(2 if is_classifier(kind()) else 0)
        model = kind().fit(X, y)
        assert repr(model.estimator_) == repr(theirs().fit(X, y).estimator_)
        assert type(model.estimator_) is type(make_tree(kind))
        assert isinstance(model, theirs)


def make_table(kind):
    """Return a frame with missing values and categories of numbers and of strings, and targets."""
    X, y = make_data(3 if is_classifier(kind()) else 0)
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame.loc[::7, "a"] = np.nan
    letters = np.array(["x", "y", None, "z"])[np.digitize(X[:, 3], [-1, 0, 1])]
    # Samples that are drawn mostly lack some of these, and the codes of the others are then lower.
    letters[:4] = list("abcd")
    frame["d"] = pd.Categorical(letters)
    frame["e"] = pd.Categorical(np.digitize(X[:, 4], np.linspace(-2, 2, 14)))
    return frame, y


ESTIMATORS = {
    "trees": {},
    "random cuts": {"splitter": "random", "max_features": 3, "max_depth": 4},
    "leaves": {"min_samples_leaf": 7, "max_depth": None, "min_impurity_decrease": 1e-4},
    "best first": {"max_leaf_nodes": 5, "max_depth": None},
    "node orders": {"category_order": "node", "min_samples_category": 5},
}


@pytest.mark.parametrize("columns", ["abcde", "abc"])
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("kind", CLASSES)
def test_trees_of_the_rounds_are_those_that_fit_grows(kind, name, columns):
    """scikit-learn's loop over the matrix itself: the same bits, though nothing is checked here."""
    X, y = make_table(kind)
    X = X[list(columns)]
    types = "from_dtype" if "d" in columns else None
    tree = make_tree(kind, category_order="node", categorical_features=types)
    tree.set_params(**ESTIMATORS[name])
    if is_classifier(kind()):
        tree.set_params(class_weight={"low": 1.2, "middle": 1.0, "high": 0.9})
        y = np.array(["low", "high", "middle"], dtype=object)[y]
    model = kind(tree, n_estimators=6, random_state=1).fit(X, y)

    class Plain(type(tree)):
        """Is a stranger to the rounds, so that each call of `fit` and `predict` is a whole one."""

    plain = Plain(**tree.get_params())
    assert type(make_rounds(kind, plain, X, y)) is _reweighted.Rounds
    rounds = make_rounds(kind, tree, X, y)
    assert rounds._weighs_draws == (columns == "abc" and name != "leaves")
    expected = kind(plain, n_estimators=6, random_state=1).fit(X, y)
    assert len(model) > 2
    assert_same_rounds(model, expected, rtol=0)
    for one, other in zip(model, expected, strict=True):
        assert one.get_params() == other.get_params()
        assert vars(one).keys() == vars(other).keys()
        np.testing.assert_array_equal(one.predict(X), other.predict(X))
        assert one.tree_.n_node_samples.tolist() == other.tree_.n_node_samples.tolist()
        np.testing.assert_array_equal(
            one.tree_.weighted_n_node_samples, other.tree_.weighted_n_node_samples
        )
    answers = ask(expected, X)
    for method, found in ask(model, X).items():
        np.testing.assert_array_equal(found, answers[method], err_msg=method)


def make_rounds(kind, estimator, X, y):
    """Return the rounds of a fit."""
    found = []

    class Watched(kind):
        def _boost(self, *arguments):
            found.append(self._rounds)
            return super()._boost(*arguments)

    Watched(estimator, n_estimators=1, random_state=0).fit(X, y)
    return found[0]


@pytest.mark.parametrize("kind", CLASSES)
def test_containers_and_files(kind):
    """Dense, sparse, a Dataset and a view: the same model; a file has all of it."""
    X, y = make_data(3 if is_classifier(kind()) else 0)
    X = np.where(np.abs(X) < 0.7, 0, X)
    model = kind(make_tree(kind), n_estimators=5, random_state=2).fit(X, y)
    expected = ask(model, X)
    dataset = spinney.Dataset(np.vstack([X[::-1], X]))
    forms = [sp.csr_matrix(X), sp.csc_array(X), spinney.Dataset(X), dataset[N:]]
    buffer = io.BytesIO()
    model.save(buffer)
    loaded = spinney.load(buffer.getvalue())
    for other, form in [(loaded, X), *((model, form) for form in forms)]:
        if form is not X:
            other = kind(make_tree(kind), n_estimators=5, random_state=2).fit(form, y)
        for name, found in ask(other, form).items():
            np.testing.assert_array_equal(found, expected[name])


@pytest.mark.parametrize(
    ("kind", "estimator"),
    [
        (AdaBoostClassifier, spinney.RandomForestClassifier(3, max_depth=2)),
        (AdaBoostClassifier, spinney.GradientBoostingClassifier(n_estimators=2)),
        (AdaBoostClassifier, spinney.HistGradientBoostingClassifier(max_iter=2)),
        (AdaBoostRegressor, spinney.ExtraTreesRegressor(3, max_depth=2)),
        (AdaBoostRegressor, spinney.LazyForestRegressor(2)),
        (AdaBoostClassifier, LogisticRegression()),
        (AdaBoostClassifier, sklearn.tree.DecisionTreeClassifier(max_depth=1)),
        (AdaBoostRegressor, LinearRegression()),
        (AdaBoostRegressor, make_pipeline(StandardScaler(), spinney.DecisionTreeRegressor())),
    ],
)
def test_any_estimator_is_boosted(kind, estimator):
    """As scikit-learn's own class boosts it."""
    X, y = make_data(3 if is_classifier(kind()) else 0)
    boosting = getattr(sklearn.ensemble, kind.__name__)
    ours, theirs = (
        which(estimator, n_estimators=3, random_state=0).fit(X, y) for which in (kind, boosting)
    )
    np.testing.assert_array_equal(ours.estimator_errors_, theirs.estimator_errors_)
    for name, found in ask(theirs, X).items():
        np.testing.assert_allclose(ask(ours, X)[name], found, rtol=1e-12, atol=1e-14)


def test_samples_are_encoded_once(monkeypatch):
    """Neither rounds nor predictions read the matrix again."""
    encoded, checked = [], []
    encode = spinney.Dataset._encode
    check = spinney.DecisionTreeClassifier._validate_X_predict
    monkeypatch.setattr(spinney.Dataset, "_encode", lambda *a: encoded.append(1) or encode(*a))
    monkeypatch.setattr(
        spinney.DecisionTreeClassifier,
        "_validate_X_predict",
        lambda *a, **k: checked.append(1) or check(*a, **k),
    )
    X, y = make_data(2)
    AdaBoostClassifier(n_estimators=9).fit(X, y).predict(X)
    assert len(encoded) == 1
    assert not checked


def test_one_class():
    """All votes are for it, as in scikit-learn."""
    X = np.zeros((4, 2))
    model = AdaBoostClassifier().fit(X, ["a"] * 4)
    assert model.predict(X).tolist() == ["a"] * 4
    assert model.predict_proba(sp.csr_matrix(X)).tolist() == [[1.0]] * 4
    assert model.decision_function(spinney.Dataset(X)).tolist() == [[0.0]] * 4


@pytest.mark.parametrize("kind", CLASSES)
def test_illegal_arguments(kind):
    """Errors name them, and a model that is fitted stays as it is."""
    X, y = make_data(2 if is_classifier(kind()) else 0)
    with pytest.raises(NotFittedError):
        kind().predict(X)
    model = kind(make_tree(kind), n_estimators=2, random_state=0).fit(X, y)
    expected = ask(model, X)
    wrong = [
        ((X, y[:-1]), {}, "inconsistent numbers of samples"),
        ((X, None), {}, "requires y to be passed"),
        ((X, np.column_stack([y, y])), {}, "y should be a 1d array"),
        ((X[:, :0], y), {}, "0 feature"),
        ((X, y, -np.ones(N)), {}, "sample_weight"),
        ((X, y), {"n_estimators": 0}, "n_estimators"),
        ((X, y), {"learning_rate": -1}, "learning_rate"),
        ((X, y), {"estimator__max_depth": 0}, "max_depth"),
        ((X, y), {"estimator__categorical_features": [9]}, "categorical_features"),
    ]
    before = model.get_params()
    for arguments, parameters, message in wrong:
        with pytest.raises((ValueError, TypeError), match=message):
            model.set_params(**parameters).fit(*arguments)
        model.set_params(**before)
        for name, found in ask(model, X).items():
            np.testing.assert_array_equal(found, expected[name])
    with pytest.raises(ValueError, match="expecting 5 features"):
        model.predict(X[:, :3])


def test_estimators_of_several_quantiles_are_refused():
    X, y = make_data(0)
    boosting = spinney.GradientBoostingRegressor(loss="quantile", alpha=[0.1, 0.9], n_estimators=2)
    with pytest.raises(ValueError, match="estimator must predict one number"):
        AdaBoostRegressor(boosting).fit(X, y)


def test_files_that_are_forged_are_refused():
    """Whatever contradicts itself in a file is told."""
    X, y = make_data(2)
    model = AdaBoostClassifier(n_estimators=3, random_state=0).fit(X, y)
    changes = [
        {"estimator_weights_": np.ones(2)},
        {"estimators_": []},
        {"estimators_": [make_tree(AdaBoostRegressor).fit(X, y)] * 3},
        {"estimators_": [make_tree(AdaBoostClassifier).fit(X[:, :2], y)] * 3},
        {"classes_": np.arange(1, 3)},
        {"n_classes_": 3},
    ]
    for change in changes:
        forged = io.BytesIO()
        other = AdaBoostClassifier(n_estimators=3, random_state=0).fit(X, y)
        vars(other).update(change)
        other.save(forged)
        with pytest.raises(ValueError, match="damaged"):
            spinney.load(forged.getvalue())
    vars(model).update(estimators_=[LogisticRegression().fit(X, y)] * 3)
    with pytest.raises(TypeError, match="LogisticRegression"):
        model.save(io.BytesIO())


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("form", ["dense", "columns", "integers", "csr", "csc"])
def test_small_trees_divide_all_rows_as_rows_descend(form, splitter, depth):
    """Missing values on both sides, and the threshold infinity, included."""
    X, y = make_data(2)
    X = (X * 3).round()
    if form != "integers":
        X[::5, 0], X[::7, 1] = np.nan, np.nan
        y = np.where(np.isnan(X[:, 0]), 1, y)
    forms = {
        "dense": np.asarray,
        "columns": np.asfortranarray,
        "integers": lambda X: X.astype(np.int32),
        "csr": sp.csr_matrix,
        "csc": sp.csc_matrix,
    }
    X = forms[form](X)
    rows = _reweighted.TreeRows(to_native(X), 1)
    for seed in range(5):
        tree = make_tree(AdaBoostClassifier, max_depth=depth, splitter=splitter, random_state=seed)
        tree.fit(X, y)
        np.testing.assert_array_equal(rows.predict(tree), tree.predict(X))
        np.testing.assert_array_equal(rows._divide(tree.tree_), tree.apply(X))
        np.testing.assert_array_equal(rows._descend(tree.tree_), tree.apply(X))
