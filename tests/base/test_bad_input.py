"""Bad input is refused with a clear exception, and leaves the estimator as it was."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import InvalidParameterError

from oracle import assert_same_tree, frozen
from spinney import DecisionTreeClassifier, DecisionTreeRegressor, LazyForestClassifier
from strategies import (
    CLASSIFIERS,
    ESTIMATORS,
    FOREST_CLASSIFIERS,
    FOREST_REGRESSORS,
    FORESTS,
    LAZY_CLASSIFIERS,
    LAZY_FORESTS,
    LAZY_REGRESSORS,
    REGRESSORS,
)

every_tree = pytest.mark.parametrize("tree_class", ESTIMATORS)
every_forest = pytest.mark.parametrize("forest_class", FORESTS)
every_bagged = pytest.mark.parametrize("forest_class", FORESTS + LAZY_FORESTS)
every_estimator = pytest.mark.parametrize("tree_class", ESTIMATORS + FORESTS + LAZY_FORESTS)
every_classifier = pytest.mark.parametrize(
    "tree_class", CLASSIFIERS + FOREST_CLASSIFIERS + LAZY_CLASSIFIERS
)
every_regressor = pytest.mark.parametrize(
    "tree_class", REGRESSORS + FOREST_REGRESSORS + LAZY_REGRESSORS
)
NAN, INF = float("nan"), float("inf")
N_SAMPLES, N_FEATURES = 30, 5


@pytest.fixture(scope="module")
def good():
    """Return a matrix of small integers, about half of them zero, and labels."""
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, (N_SAMPLES, N_FEATURES)) * rng.integers(0, 2, (N_SAMPLES, N_FEATURES))
    return X.astype(np.float64), rng.integers(0, 3, N_SAMPLES)


def assert_refused(call, estimator, kinds, *fragments):
    """Check that a call raises, says what it has to say, and changes nothing.

    Every fragment has to be in the message; of a tuple of fragments, one has to be: some messages
    are scikit-learn's, and classifiers and regressors have different ones.
    """
    before, same = frozen(estimator), dict(vars(estimator))
    with pytest.raises(kinds) as caught:
        call()
    message = str(caught.value)
    for fragment in fragments:
        choices = fragment if isinstance(fragment, tuple) else (fragment,)
        assert any(choice in message for choice in choices), f"{fragment!r} not in: {message}"
    assert frozen(estimator) == before
    assert all(vars(estimator)[name] is value for name, value in same.items())


def assert_fit_refused(tree, good, args, kinds, *fragments, **keywords):
    """Check that an estimator refuses to be fitted, new or fitted before."""
    X, y = good
    assert_refused(lambda: tree.fit(*args, **keywords), tree, kinds, *fragments)
    assert not {"tree_", "forest_"} & vars(tree).keys()
    refused = tree.get_params()
    tree.set_params(**type(tree)(random_state=0).get_params()).fit(X, y)
    predicted = tree.predict(X)
    tree.set_params(**refused)
    assert_refused(lambda: tree.fit(*args, **keywords), tree, kinds, *fragments)
    # What is illegal for predict too is refused there: the model is the same under legal ones.
    legal = {"n_jobs": None, "verbose": 0, "traversal": "auto", "n_estimators": 100}
    legal = {name: legal[name] for name in legal.keys() & refused.keys()}
    np.testing.assert_array_equal(tree.set_params(**legal).predict(X), predicted)


def askers_of(fitted):
    """Return the methods that read a matrix as prediction does."""
    if isinstance(fitted, LAZY_FORESTS):
        return fitted.predict, fitted.explore
    return fitted.predict, fitted.apply, fitted.decision_path


# --- Parameters ---------------------------------------------------------------------------------

BAD_PARAMETERS = [
    ("criterion", "best", ("gini", "squared_error")),
    ("criterion", 1, ("gini", "squared_error")),
    ("max_depth", 0, "[1, inf)"),
    ("max_depth", -1, "[1, inf)"),
    ("max_depth", 2.5, "int"),
    ("max_depth", "deep", "int"),
    ("min_samples_split", 1, "[2, inf)"),
    ("min_samples_split", 0.0, "(0.0, 1.0]"),
    ("min_samples_split", 1.1, "(0.0, 1.0]"),
    ("min_samples_split", NAN, "(0.0, 1.0]"),
    ("min_samples_leaf", 0, "[1, inf)"),
    ("min_samples_leaf", 1.0, "(0.0, 1.0)"),
    ("min_samples_leaf", 0.0, "(0.0, 1.0)"),
    ("min_samples_leaf", "one", "(0.0, 1.0)"),
    ("min_weight_fraction_leaf", -0.1, "[0.0, 0.5]"),
    ("min_weight_fraction_leaf", 0.6, "[0.0, 0.5]"),
    ("min_weight_fraction_leaf", NAN, "[0.0, 0.5]"),
    ("max_features", 0, "[1, inf)"),
    ("max_features", -3, "[1, inf)"),
    ("max_features", 0.0, "(0.0, 1.0]"),
    ("max_features", 1.5, "(0.0, 1.0]"),
    ("max_features", "auto", "'sqrt'"),
    ("feature_sampling", "some", "a str among {'all', 'active'}"),
    ("feature_sampling", None, "a str among {'all', 'active'}"),
    ("feature_sampling", True, "a str among {'all', 'active'}"),
    ("min_impurity_decrease", -1e-9, "[0.0, inf)"),
    ("min_impurity_decrease", NAN, "[0.0, inf)"),
    ("min_impurity_decrease", "no", "[0.0, inf)"),
    ("max_leaf_nodes", 1, "[2, inf)"),
    ("max_leaf_nodes", -5, "[2, inf)"),
    ("max_leaf_nodes", 4.0, "int"),
    ("max_leaf_nodes", "many", "or None"),
    ("ccp_alpha", -0.1, "[0.0, inf)"),
    ("ccp_alpha", NAN, "[0.0, inf)"),
    ("ccp_alpha", INF, "[0.0, inf)"),
    ("ccp_alpha", "cheap", "float"),
    ("ccp_alpha", None, "float"),
    ("random_state", -1, "RandomState"),
    ("random_state", 2**64, "[0, 2**64)"),
    ("random_state", "seed", "RandomState"),
    ("n_jobs", 1.5, "int"),
    ("n_jobs", "all", "int"),
]


@pytest.mark.parametrize(("name", "value", "allowed"), BAD_PARAMETERS)
@every_estimator
def test_illegal_parameter(tree_class, name, value, allowed, good):
    """The message names the parameter, the class, what was got and what is allowed."""
    told = (name, tree_class.__name__, repr(value), allowed)
    assert_fit_refused(tree_class(**{name: value}), good, good, InvalidParameterError, *told)


@pytest.mark.parametrize(("value", "allowed"), [("worst", "'best'"), (None, "'random'")])
@pytest.mark.parametrize("tree_class", ESTIMATORS + LAZY_FORESTS)
def test_illegal_splitter(tree_class, value, allowed, good):
    """A tree splits at the best threshold or at a random one."""
    told = ("splitter", tree_class.__name__, repr(value), allowed)
    assert_fit_refused(tree_class(splitter=value), good, good, InvalidParameterError, *told)


BAD_FOREST_PARAMETERS = [
    ("n_estimators", 0, "[1, inf)"),
    ("n_estimators", 2.0, "int"),
    ("n_estimators", "many", "int"),
    ("bootstrap", "bayes", "a bool or 'poisson'"),
    ("bootstrap", None, "a bool or 'poisson'"),
    ("bootstrap", 1, "a bool or 'poisson'"),
    ("bootstrap", np.array([1, 2]), "a bool or 'poisson'"),
    ("oob_score", "exactness", "a bool, a callable or a name among"),
    ("warm_start", 1, "a bool"),
    ("replace", None, "a bool"),
    ("verbose", -1, "[0, inf)"),
    ("verbose", "loud", "int"),
    ("max_samples", 0, "[1, inf)"),
    ("max_samples", -2, "[1, inf)"),
    ("max_samples", 0.0, "(0.0, inf)"),
    ("max_samples", NAN, "(0.0, inf)"),
    ("max_samples", INF, "(0.0, inf)"),
    ("max_samples", "half", "(0.0, inf)"),
]

# Parameters that lazy forests do not have.
OF_KEPT_TREES = ("oob_score", "warm_start")


@pytest.mark.parametrize(("name", "value", "allowed"), BAD_FOREST_PARAMETERS)
@every_bagged
def test_illegal_forest_parameter(forest_class, name, value, allowed, good):
    """The message names the parameter, the class, what was got and what is allowed."""
    if forest_class in LAZY_FORESTS and name in OF_KEPT_TREES:
        with pytest.raises(TypeError, match=name):
            forest_class(**{name: value})
        return
    forest = forest_class(**{"bootstrap": True, name: value})
    told = (f"{name!r} parameter of {forest_class.__name__}", repr(value), allowed)
    assert_fit_refused(forest, good, good, InvalidParameterError, *told)


CONTRADICTIONS = [
    ({"bootstrap": False, "max_samples": 0.5}, "`max_sample` cannot be set if `bootstrap=False`"),
    ({"bootstrap": "poisson", "max_samples": 9}, "cannot be set if `bootstrap='poisson'`"),
    ({"bootstrap": False, "replace": False}, "'replace' parameter of"),
    ({"bootstrap": "poisson", "replace": False}, "'replace' parameter of"),
    ({"bootstrap": False, "oob_score": True}, "only available if bootstrap=True"),
    ({"bootstrap": True, "replace": False, "max_samples": 31}, "31 draws from 30 samples"),
    ({"bootstrap": True, "max_samples": 2**32}, "between 1 and 4294967295 samples. Got 4294967296"),
    ({"bootstrap": True, "max_samples": 2**64}, "4294967295 samples. Got 18446744073709551616"),
    ({"bootstrap": True, "max_samples": 1e30}, "between 1 and 4294967295 samples. Got 1e+30"),
    ({"n_estimators": 2**40}, "n_estimators is limited to"),
]


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [("verbose", "loud", "'verbose'"), ("traversal", "lazy", "'traversal'")],
)
@pytest.mark.parametrize("forest_class", LAZY_FORESTS)
def test_parameters_of_lazy_answers(forest_class, name, value, told, good):
    """What is asked for when predicting is checked when predicting."""
    forest = forest_class(3, random_state=0).fit(*good).set_params(**{name: value})
    for call in askers_of(forest):
        assert_refused(partial(call, good[0]), forest, InvalidParameterError, told, repr(value))


@pytest.mark.parametrize(
    ("forest_class", "params", "told"),
    [
        (forest_class, params, told)
        for params, told in CONTRADICTIONS
        for forest_class in (FORESTS if "oob_score" in params else FORESTS + LAZY_FORESTS)
    ],
)
def test_parameters_that_contradict_each_other(forest_class, params, told, good):
    """Nothing is ignored: what would have no meaning is refused."""
    assert_fit_refused(forest_class(**params), good, good, ValueError, told)


BAD_IDS = {
    "negative": (np.r_[np.arange(29), -1], "[0, 2**64)", "-1"),
    "too large": ([2**64] * 30, "[0, 2**64)", "object"),
    "fractions": (np.arange(30) + 0.5, "[0, 2**64)", "float64"),
    "bools": (np.arange(30) > 3, "[0, 2**64)", "bool"),
    "words": (["word"] * 30, "[0, 2**64)", "<U4"),
    "too short": (np.arange(29), "(30,)", "(29,)"),
    "two dimensions": (np.arange(30)[:, None], "(30,)", "(30, 1)"),
    "a number": (3, "(30,)", "()"),
}


@pytest.mark.pairwise
@pytest.mark.parametrize("bootstrap", [True, False, "poisson"])
@pytest.mark.parametrize("case", BAD_IDS)
@every_bagged
def test_bad_sample_ids(forest_class, case, bootstrap, good):
    """Ids are one non-negative integer per sample, whether they matter or not."""
    ids, *told = BAD_IDS[case]
    forest = forest_class(3, bootstrap=bootstrap)
    assert_fit_refused(forest, good, good, ValueError, "sample_ids", *told, sample_ids=ids)


@every_forest
def test_index_of_a_tree(forest_class, good):
    """There are as many trees as there are."""
    forest = forest_class(3).fit(*good)
    with pytest.raises(IndexError):
        forest[3]
    with pytest.raises(IndexError, match="the forest has 3 trees"):
        forest.forest_.tree(3)


@every_estimator
def test_zero_jobs(tree_class, good):
    """No number of threads is called 0."""
    told = f"The 'n_jobs' parameter of {tree_class.__name__} must be an int other than 0 or None"
    assert_fit_refused(tree_class(n_jobs=0), good, good, InvalidParameterError, told, "Got 0")


@every_classifier
@pytest.mark.parametrize("class_weight", ["heavy", 2.0, {0: -1.0}])
def test_illegal_class_weight(tree_class, class_weight, good):
    """A class weight is None, "balanced", a dict or a list, and not negative."""
    tree = tree_class(class_weight=class_weight)
    told = ("The 'class_weight' parameter", f"Got {class_weight!r} instead")
    assert_fit_refused(tree, good, good, ValueError, *told)


@every_classifier
def test_class_weights_for_another_number_of_outputs(tree_class, good):
    """A list of class weights has one entry per output."""
    X, y = good
    tree = tree_class(class_weight=[{0: 1}] * 3)
    assert_fit_refused(tree, good, (X, np.column_stack([y, y])), ValueError, "class_weight")


@pytest.mark.parametrize(
    ("monotonic_cst", "told"),
    [
        ([0, 1], "monotonic_cst has shape 2 but the input data X has"),
        ([2, 0], "monotonic_cst must be None or an array-like of -1, 0 or 1"),
        ([0.5, 0], "monotonic_cst must be None or an array-like of -1, 0 or 1"),
        ("up", "parameter of {} must be an array-like or None. Got 'up' instead."),
        (3, "parameter of {} must be an array-like or None. Got 3 instead."),
        ([[0]], "monotonic_cst must be None or an array-like of -1, 0 or 1"),
    ],
)
@every_estimator
def test_illegal_constraints(tree_class, monotonic_cst, told, good):
    """A constraint per feature, each -1, 0 or 1, in scikit-learn's words."""
    X, y = good
    if isinstance(monotonic_cst, list) and "must be" in told and len(monotonic_cst) == 2:
        monotonic_cst = monotonic_cst[:1] + [0] * (np.shape(X)[1] - 1)
    y = np.asarray(y) == np.asarray(y)[0]
    tree = tree_class(monotonic_cst=monotonic_cst)
    assert_fit_refused(tree, (X, y), (X, y), ValueError, told.format(tree_class.__name__))


@every_classifier
def test_constraints_on_classes_without_an_order(tree_class, good):
    """More than two classes and several outputs of classes are refused, in scikit-learn's words."""
    X, _ = good
    constraints = [1] * np.shape(X)[1]
    y = np.arange(np.shape(X)[0]) % 3
    told = "Monotonicity constraints are not supported with multi"
    for illegal in (y, np.column_stack([y, y])):
        tree = tree_class(monotonic_cst=constraints)
        assert_fit_refused(tree, (X, y > 0), (X, illegal), ValueError, told)


@pytest.mark.parametrize("y", [[-1.0, 2.0, 3.0], [[1.0, -1e-9]] * 3])
@every_regressor
def test_negative_counts(tree_class, y):
    """Poisson regression has no negative targets, in scikit-learn's words."""
    X = np.arange(3.0)[:, None]
    tree = tree_class(criterion="poisson")
    told = "Some value(s) of y are negative which is not allowed for Poisson regression."
    assert_fit_refused(tree, (X, [1.0, 2.0, 3.0]), (X, y), ValueError, told)


@pytest.mark.parametrize("y", [[0.0] * 3, [[0, -0.0]] * 3])
@every_regressor
def test_no_counts_at_all(tree_class, y):
    """Poisson regression needs a target above zero, in scikit-learn's words."""
    X = np.arange(3.0)[:, None]
    tree = tree_class(criterion="poisson")
    told = "positive which is necessary for Poisson regression."
    assert_fit_refused(tree, (X, [1.0, 2.0, 3.0]), (X, y), ValueError, told)


@pytest.mark.pairwise
@pytest.mark.parametrize("quantile", [0.0, 1.0, -0.5, 2, NAN, INF, "half", None])
@pytest.mark.parametrize("criterion", ["quantile", "squared_error"])
@pytest.mark.parametrize("tree_class", REGRESSORS + FOREST_REGRESSORS)
def test_illegal_quantile(tree_class, criterion, quantile, good):
    """A level lies between 0 and 1, whether or not the criterion asks for it."""
    tree = tree_class(criterion=criterion, quantile=quantile)
    told = ("quantile", tree_class.__name__, repr(quantile), "a float in the range (0.0, 1.0)")
    assert_fit_refused(tree, good, good, ValueError, *told)


@pytest.mark.parametrize(
    ("classes", "criterion"),
    [
        (CLASSIFIERS + FOREST_CLASSIFIERS + LAZY_CLASSIFIERS, "squared_error"),
        (CLASSIFIERS + FOREST_CLASSIFIERS + LAZY_CLASSIFIERS, "absolute_error"),
        (REGRESSORS + FOREST_REGRESSORS + LAZY_REGRESSORS, "gini"),
    ],
)
def test_criterion_of_the_other_task(classes, criterion, good):
    """A classifier does not take the variance, nor a regressor the Gini index."""
    for tree_class in classes:
        tree = tree_class(criterion=criterion)
        assert_fit_refused(tree, good, good, ValueError, "criterion", criterion)


# --- X, y and weights at fit --------------------------------------------------------------------

FORMS = {
    "dense": np.asarray,
    "list": np.ndarray.tolist,
    "frame": pd.DataFrame,
    "csc": sp.csc_matrix,
    "csr": sp.csr_array,
    "coo": sp.coo_array,
}


BAD_MATRICES = {
    "one dimension": (np.arange(30.0), ValueError, "2D", "1D"),
    "a number": (3.0, ValueError, "2D", "scalar"),
    "three dimensions": (np.zeros((30, 2, 2)), ValueError, "dim 3"),
    "no rows": (np.empty((0, 5)), ValueError, "0 sample"),
    "no columns": (np.empty((30, 0)), ValueError, "0 feature"),
    "no rows, sparse": (sp.csr_matrix((0, 5)), ValueError, "0 sample"),
    "no columns, frame": (pd.DataFrame(index=range(30)), ValueError, "0 feature"),
    "no columns, sparse": (sp.csc_matrix((30, 0)), ValueError, "0 feature"),
    "strings": (np.full((30, 5), "word"), ValueError, "compatible with arrays of bytes/strings"),
    "objects": (np.full((30, 5), {}, dtype=object), TypeError, "not 'dict'"),
    "complex": (np.ones((30, 5)) * 1j, ValueError, "Complex data not supported"),
    "complex, sparse": (
        sp.csr_matrix(np.eye(30, 5) * 1j),
        ValueError,
        "Complex data not supported",
    ),
    "None": (None, ValueError, "Expected 2D array, got scalar array instead:\narray=None"),
    "ragged": ([[1.0, 2.0]] * 29 + [[1.0]], ValueError, "setting an array element with a sequence"),
    "too few rows": (np.ones((29, 5)), ValueError, "numbers of samples: [29, 30]"),
    "too many rows, sparse": (
        sp.csc_matrix(np.ones((31, 5))),
        ValueError,
        "numbers of samples: [31, 30]",
    ),
}


@pytest.mark.parametrize("case", BAD_MATRICES)
@every_estimator
def test_bad_matrix(tree_class, case, good):
    """A matrix of the wrong shape or kind is refused."""
    X, *expected = BAD_MATRICES[case]
    assert_fit_refused(tree_class(), good, (X, good[1]), *expected)


BAD_TARGETS = {
    "too short": (np.arange(29) % 2, ValueError, "numbers of samples: [30, 29]"),
    "too long": (np.arange(31) % 2, ValueError, "numbers of samples: [30, 31]"),
    "missing": (np.r_[np.arange(29) % 2, NAN], ValueError, "Input y contains NaN"),
    "infinite": (np.r_[np.arange(29) % 2, INF], ValueError, "Input y contains infinity"),
    "None": (None, ValueError, "requires y to be passed, but the target y is None"),
    "empty": (np.array([]), ValueError, "0 sample(s) (shape=(0,))"),
    "three dimensions": (np.zeros((30, 2, 2)), ValueError, "Found array with dim 3"),
    "complex": (np.ones(30) * 1j, ValueError, "Complex data not supported"),
    "sparse": (
        sp.csr_matrix(np.ones((30, 1))),
        (ValueError, TypeError),
        ("sparse multilabel-indicator for y", "Sparse data was passed for y"),
    ),
}


@pytest.mark.parametrize("case", BAD_TARGETS)
@every_estimator
def test_bad_target(tree_class, case, good):
    """A target of the wrong shape or kind is refused."""
    y, *expected = BAD_TARGETS[case]
    assert_fit_refused(tree_class(), good, (good[0], y), *expected)


@every_classifier
def test_continuous_labels(tree_class, good):
    """A classifier does not take real numbers for labels."""
    y = np.random.default_rng(0).normal(size=N_SAMPLES)
    assert_fit_refused(tree_class(), good, (good[0], y), ValueError, "continuous")


@every_regressor
def test_words_for_numbers(tree_class, good):
    """A regressor does not take words."""
    y = np.full(N_SAMPLES, "word")
    told = "could not convert string to float"
    assert_fit_refused(tree_class(), good, (good[0], y), ValueError, told, "word")


BAD_WEIGHTS = {
    "negative": (np.r_[np.ones(29), -1.0], "must be finite and non-negative. Got -1 at position"),
    "missing": (np.r_[np.ones(29), NAN], "Input sample_weight contains NaN"),
    "infinite": (np.r_[np.ones(29), INF], "Input sample_weight contains infinity"),
    "all zero": (np.zeros(30), "must be positive for at least one sample. Got only zeros"),
    "too short": (np.ones(29), "must be a scalar or a 1D array of shape (30,). Got shape (29,)"),
    "too long": (np.ones(31), "must be a scalar or a 1D array of shape (30,). Got shape (31,)"),
    "two dimensions": (np.ones((30, 2)), "a 1D array of shape (30,). Got shape (30, 2)"),
}


@pytest.mark.pairwise
@pytest.mark.parametrize("form", ["dense", "csc"])
@pytest.mark.parametrize("case", BAD_WEIGHTS)
@every_estimator
def test_bad_sample_weight(tree_class, case, form, good):
    """Weights that are negative, not finite, all zero or of another length are refused."""
    weight, told = BAD_WEIGHTS[case]
    args = FORMS[form](good[0]), good[1]
    told = ("sample_weight", told)
    assert_fit_refused(tree_class(), good, args, ValueError, *told, sample_weight=weight)


@every_estimator
def test_weights_of_words(tree_class, good):
    """Weights are numbers."""
    weight = np.full(N_SAMPLES, "word")
    told = ("sample_weight must hold numbers", "could not convert string to float", "word")
    assert_fit_refused(tree_class(), good, good, ValueError, *told, sample_weight=weight)


# --- Prediction ---------------------------------------------------------------------------------


@every_estimator
def test_not_fitted(tree_class, good):
    """Whatever needs a fitted tree says that it is not fitted."""
    tree, (X, y) = tree_class(), good
    calls = [partial(call, X) for call in askers_of(tree)]
    calls += [lambda: tree.score(X, y)]
    if tree_class not in LAZY_FORESTS:
        calls += [lambda: tree.feature_importances_]
    if tree_class in ESTIMATORS:
        calls += [tree.get_depth, tree.get_n_leaves]
    if tree_class in CLASSIFIERS + FOREST_CLASSIFIERS + LAZY_CLASSIFIERS:
        calls += [lambda: tree.predict_proba(X), lambda: tree.predict_log_proba(X)]
    for call in calls:
        assert_refused(call, tree, NotFittedError, tree_class.__name__, "not fitted yet")


@pytest.mark.parametrize("form", ["dense", "csc", "csr", "list"])
@every_estimator
def test_wrong_number_of_features(tree_class, form, good):
    """Prediction needs as many columns as the fit had, and says how many came."""
    X, y = good
    tree = tree_class().fit(X, y)
    for width in (N_FEATURES - 1, N_FEATURES + 2):
        wrong = FORMS[form](np.ones((3, width)))
        for call in askers_of(tree):
            told = ("X", f"{width} features", f"{N_FEATURES} features")
            assert_refused(lambda c=call, w=wrong: c(w), tree, ValueError, *told)


@pytest.mark.parametrize("check_input", [True, False])
@every_tree
def test_wrong_number_of_features_unchecked(tree_class, check_input, good):
    """The number of columns is checked even where `check_input` is off."""
    X, y = good
    tree = tree_class().fit(X, y)
    wrong = np.ones((3, N_FEATURES - 1), dtype=np.float32)
    for call in (tree.predict, tree.apply, tree.decision_path):
        assert_refused(
            lambda c=call: c(wrong, check_input=check_input), tree, ValueError, "4 features"
        )


@pytest.mark.parametrize("case", [c for c in BAD_MATRICES if "row" not in c and "column" not in c])
@every_estimator
def test_bad_matrix_at_prediction(tree_class, case, good):
    """A matrix that cannot be fitted cannot be predicted either, unless it only has no rows."""
    wrong, *expected = BAD_MATRICES[case]
    tree = tree_class().fit(*good)
    for call in askers_of(tree):
        assert_refused(lambda call=call: call(wrong), tree, *expected)


@every_estimator
def test_tree_refuses_what_it_cannot_read(tree_class, good):
    """`tree_` and `forest_` check their argument too: they are public."""
    fitted = tree_class().fit(*good)
    inner = fitted.tree_ if tree_class in ESTIMATORS else fitted.forest_
    if tree_class in LAZY_FORESTS:
        askers = inner.predict, inner.explore
    else:
        askers = inner.predict, inner.apply, inner.decision_path
    for call in askers:
        for wrong in (np.ones((3, 4), dtype=np.float32), np.ones(5, dtype=np.float32), "X", None):
            with pytest.raises((ValueError, TypeError)):
                call(wrong)


# --- Hostile sparse structure -------------------------------------------------------------------
# SciPy checks a structure when it is built, so valid ones are made and then tampered with.


def set_item(part, position, value):
    """Return a tampering that overwrites one number of an index array in place."""

    def tamper(X):
        getattr(X, part)[position] = value

    return tamper


def replace(part, change):
    """Return a tampering that puts another array in the place of one."""

    def tamper(X):
        setattr(X, part, change(getattr(X, part)))

    return tamper


# What is wrong with an index array, in the words of the message.
INDEX = "indices must be in the range [0, "
ORDER = "indptr must start at 0, never fall and end at most at"
LENGTH = "indptr must have"
LENGTHS = "indices and data must have the same length"
KIND = "X.indptr and X.indices must be 1-dimensional and both int32 or both int64"
DATA = "X must be sparse with 1-dimensional indices and data"
TAMPERINGS = {
    "index just out of range": (
        lambda X: set_item("indices", 4, X.shape[X.format == "csr"])(X),
        INDEX,
    ),
    "index far out of range": (set_item("indices", 4, 2**31 - 1), INDEX),
    "last index out of range": (set_item("indices", -1, 10_000), INDEX),
    "negative index": (set_item("indices", 4, -1), INDEX),
    "most negative index": (set_item("indices", 0, -(2**31)), INDEX),
    "every index out of range": (replace("indices", lambda a: a + 1000), INDEX),
    "indptr goes down": (lambda X: set_item("indptr", 2, X.indptr[1] - 1)(X), ORDER),
    "indptr jumps up and down": (set_item("indptr", 1, 60), ORDER),
    "indptr does not start at 0": (set_item("indptr", 0, 1), ORDER),
    "indptr starts below 0": (set_item("indptr", 0, -5), ORDER),
    "indptr holds a negative number": (set_item("indptr", 2, -4), ORDER),
    "indptr ends beyond the data": (set_item("indptr", -1, 1000), ORDER),
    "indptr ends far beyond the data": (set_item("indptr", -1, 2**31 - 1), ORDER),
    "indptr ends below 0": (set_item("indptr", -1, -1), ORDER),
    "indptr too short": (replace("indptr", lambda a: a[:-1].copy()), LENGTH),
    "indptr far too short": (replace("indptr", lambda a: a[:1].copy()), LENGTH),
    "indptr empty": (replace("indptr", lambda a: a[:0].copy()), LENGTH),
    "indptr too long": (replace("indptr", lambda a: np.append(a, a[-1]).astype(a.dtype)), LENGTH),
    "indices too short": (replace("indices", lambda a: a[:-3].copy()), LENGTHS),
    "indices empty": (replace("indices", lambda a: a[:0].copy()), LENGTHS),
    "data too short": (replace("data", lambda a: a[:-3].copy()), LENGTHS),
    "data empty": (replace("data", lambda a: a[:0].copy()), LENGTHS),
    "indices of floats": (replace("indices", lambda a: a.astype(np.float64)), KIND),
    "indptr of floats": (replace("indptr", lambda a: a.astype(np.float64)), KIND),
    "indices of two dimensions": (replace("indices", lambda a: a[:, None].copy()), KIND),
    "data of two dimensions": (replace("data", lambda a: a[:, None].copy()), DATA),
}
LONG_TAMPERINGS = {
    "index beyond 32 bits": (set_item("indices", 4, 2**32), INDEX),
    "index beyond 63 bits less one": (set_item("indices", 4, 2**63 - 1), INDEX),
    "most negative long index": (set_item("indices", 4, -(2**63)), INDEX),
    "indptr beyond 32 bits": (set_item("indptr", -1, 2**32 + 3), ORDER),
    "indptr in the middle beyond 32 bits": (set_item("indptr", 2, 2**32), ORDER),
}
KINDS = {kind.__name__: kind for kind in (sp.csc_matrix, sp.csr_matrix, sp.csc_array, sp.csr_array)}


def tampered(X, kind, tamper, index_type):
    """Return a sparse container whose structure was valid until it was tampered with."""
    container = KINDS[kind](X)
    container.indices = container.indices.astype(index_type)
    container.indptr = container.indptr.astype(index_type)
    tamper(container)
    return container


def assert_structure_refused(make, tree_class, good, *fragments):
    """Check that a hostile matrix is refused at fit and at prediction."""
    X, y = good
    kinds = (ValueError, TypeError)
    new = tree_class()
    assert_refused(lambda: new.fit(make(), y), new, kinds, *fragments)
    tree = tree_class(random_state=0).fit(X, y)
    predicted = tree.predict(X)
    for call in (tree.fit, *askers_of(tree)):
        args = (make(), y) if call == tree.fit else (make(),)
        assert_refused(lambda c=call, a=args: c(*a), tree, kinds, *fragments)
    np.testing.assert_array_equal(tree.predict(X), predicted)


@pytest.mark.pairwise
@pytest.mark.parametrize("index_type", [np.int32, np.int64], ids=["int32", "int64"])
@pytest.mark.parametrize("case", TAMPERINGS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "tree_class", [DecisionTreeClassifier, DecisionTreeRegressor, LazyForestClassifier]
)
def test_hostile_structure(tree_class, kind, case, index_type, good):
    """A structure that does not hold together is named and refused, and nothing is read by it."""
    tamper, told = TAMPERINGS[case]
    make = partial(tampered, good[0], kind, tamper, index_type)
    assert_structure_refused(make, tree_class, good, told)


@pytest.mark.pairwise
@pytest.mark.parametrize("case", LONG_TAMPERINGS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tree_class", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_hostile_long_structure(tree_class, kind, case, good):
    """Numbers that would be harmless if cut to 32 bits are refused."""
    tamper, told = LONG_TAMPERINGS[case]
    make = partial(tampered, good[0], kind, tamper, np.int64)
    assert_structure_refused(make, tree_class, good, told)


@pytest.mark.parametrize(
    ("axis", "value"), [("row", 1000), ("row", -1), ("col", 1000), ("col", -7)]
)
def test_hostile_coordinates(axis, value, good):
    """A matrix of coordinates is checked, by SciPy, before it is converted."""

    def make():
        X = sp.coo_array(good[0])
        getattr(X, axis)[3] = value
        return X

    told = f"axis {('row', 'col').index(axis)} index"
    assert_structure_refused(make, DecisionTreeClassifier, good, told, str(value))


@pytest.mark.parametrize(
    ("tamper", "told"),
    [
        (set_item("indices", 2, 1000), "column index values must be < 5 (now max 1000)"),
        (set_item("indptr", 1, 1000), "index pointer values must form a non-decreasing sequence"),
    ],
    ids=["indices", "indptr"],
)
def test_hostile_blocks(tamper, told, good):
    """A matrix of blocks is checked, by SciPy, before it is converted."""

    def make():
        X = sp.bsr_array(good[0], blocksize=(3, 1))
        tamper(X)
        return X

    assert_structure_refused(make, DecisionTreeClassifier, good, told)


@pytest.mark.parametrize("kind", KINDS)
def test_spare_room_is_not_read(kind, good):
    """Room behind the last entry, which SciPy allows, may hold anything."""
    X, y = good
    roomy = KINDS[kind](X)
    roomy.indices = np.append(roomy.indices, [10_000, -1]).astype(np.int32)
    roomy.data = np.append(roomy.data, [NAN, 5.0])
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    assert_same_tree(tree, DecisionTreeClassifier(random_state=0).fit(roomy, y))
    np.testing.assert_array_equal(tree.predict(roomy), tree.predict(X))
