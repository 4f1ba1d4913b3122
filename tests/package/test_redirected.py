"""scikit-learn's own tests of its trees and forests, on our classes.

Every test that fails is in a list here, with its reason, and every test of the list fails. The
differences are described in docs/differences.md.
"""

import pytest
import sklearn
import sklearn.ensemble
import sklearn.tree
from sklearn.base import is_regressor
from sklearn.datasets import load_iris
from sklearn.utils.fixes import parse_version

from conftest import REPOSITORY
from strategies import ESTIMATORS, FORESTS
from suites import check_outcomes, run_redirected

# The lists are those of the tests of this version.
VERSION = "1.9"

PRIVATE = "asks for private attributes or functions of scikit-learn"
STREAM = "asks for a figure that one random stream reaches and another one misses by little"
CLASS = "names a class that scikit-learn's modules have imported before the name stood for ours"

OF_TREES = {
    PRIVATE: [
        "test_build_pruned_tree_infinite_loop",  # hands `tree_` to compiled functions
        "test_build_pruned_tree_py",
        "test_pickle",  # attributes of its own `tree_`, such as `capacity`
    ],
    STREAM: [
        "test_importances",  # three importances above 0.1, of one tree with random thresholds
    ],
    "values are compared as float64, where scikit-learn takes values within 1e-7 for equal": [
        "test_almost_constant_feature[*]",
    ],
    "values beyond float32 are legal": ["test_big_input"],
    "memory is not reserved for all of max_leaf_nodes": ["test_huge_allocations"],
    "missing values may be stored in sparse matrices": ["test_missing_value_errors[*-csr_*]"],
    "random splits also try missing values against all others, at the threshold inf": [
        "test_random_splitter_missing_values_uses_non_missing_min_max[*]",
    ],
}
OF_FORESTS = {
    PRIVATE: [
        "test_class_weights_forest[*]",  # _sample_weight
        "test_max_samples_geq_one[*]",  # _n_samples_bootstrap
        "test_oob_not_computed_twice[*]",  # _set_oob_score_and_attributes
        "test_validate_y_class_weight[*]",
        "test_random_trees_embedding_raise_error_oob[*]",  # _set_oob_score_and_attributes
    ],
    STREAM: [
        # On average over seeds the scores are those of scikit-learn.
        "test_forest_classifier_oob[True-X1-y1-0.65-*-ExtraTreesClassifier]",
        "test_forest_regressor_oob[True-X0-y0-0.7-*-RandomForestRegressor]",
    ],
    "the random states of the trees are seeds from 2**32 on": [
        "test_forest_multioutput_integral_regression_target[*]",
    ],
    "trees are grown on threads of the compiled part, not by joblib": ["test_backend_respected"],
    "criteria are names, not objects of scikit-learn's compiled part": [
        "test_mse_criterion_object_segfault_smoke_test[*]",
    ],
}
OF_ISOLATION_FORESTS = {
    PRIVATE: [
        "test_iforest_chunks_works?[*]",  # get_chunk_n_rows
        "test_max_samples_consistency",  # _max_samples
    ],
}
OF_BOOSTING = {
    PRIVATE: ["test_max_feature_regression[*]", "test_huber_overfit"],  # _loss
    "cuts that tie tie exactly": ["test_squared_error_exact_backward_compat"],
    "the learning rate multiplies the sum of the leaves": [
        "test_multinomial_error_exact_backward_compat",  # the ninth digit of 8.6e-8
    ],
}
HISTOGRAMS = "sklearn.ensemble._hist_gradient_boosting.tests"
OF_HISTOGRAMS = {
    PRIVATE: [
        "test_should_stop[*]",
        "test_binning_train_validation_are_separated",  # _bin_mapper
        "test_small_trainset",  # _get_small_trainset
        "test_max_depth_max_leaf_nodes",  # _predictors
        "test_early_stopping_with_sample_weights",  # replaces a private function
        "test_raw_predict_is_called_with_custom_scorer",
        "test_single_node_trees[*Regressor]",  # _predictors
        "test_categorical_encoding_strategies",  # _predictors
        "test_check_interaction_cst[*]",
        "test_dataframe_categorical_results_same_as_ndarray[*]",  # _preprocessor
        "test_categorical_different_order_same_model[*]",  # _predictors
    ],
    STREAM: ["test_interaction_cst_numerically"],  # all of 1,125 rows above 0: one is at -.03
    "a category may be any value that can be sorted, and there may be any number of them": [
        "test_categorical_bad_encoding_errors[*]",
        "test_dataframe_categorical_errors[*]",
    ],
    "unknown categories go with the child of larger weight": [
        "test_unknown_categories_nan[*HistGradientBoostingRegressor-True]"
    ],
    "losses are names": ["test_custom_loss[*]"],
    "a classifier needs two classes": ["test_single_node_trees[*Classifier]"],
    "some messages say the same in other words": ["test_consistent_lengths"],
}
OF_EXPORTS = {
    # Of two features that part the samples alike, the other one.
    STREAM: ["test_export_text", "test_export_text_feature_class_names_array_support[*]"],
}
OF_BAGS = {
    CLASS: ["test_estimator"],  # of the trees that BaggingClassifier grows if it is given none
    "infinities are legal": ["test_bagging_*_with_missing_inputs"],
}
OF_SELECTIONS = {
    STREAM: ["test_prefit_get_feature_names_out"],  # the better one of two features, by two trees
}
MODULES = {
    "sklearn.tree.tests.test_tree": OF_TREES,
    "sklearn.ensemble.tests.test_forest": OF_FORESTS,
    "sklearn.ensemble.tests.test_iforest": OF_ISOLATION_FORESTS,
    "sklearn.ensemble.tests.test_gradient_boosting": OF_BOOSTING,
    f"{HISTOGRAMS}.test_gradient_boosting": OF_HISTOGRAMS,
    f"{HISTOGRAMS}.test_monotonic_constraints": {
        "some messages say the same in other words": ["test_input_error*"],
    },
    f"{HISTOGRAMS}.test_warm_start": {
        PRIVATE: [  # _predictors, _random_seed
            "test_warm_start_yields_identical_results[*]",
            "test_warm_start_max_depth[*]",
            "test_warm_start_equal_n_estimators[*]",
            "test_warm_start_clear[*]",
            "test_random_seeds_warm_start[*]",
        ]
    },
    "sklearn.ensemble.tests.test_bagging": OF_BAGS,
    "sklearn.ensemble.tests.test_weight_boosting": {},
    "sklearn.feature_selection.tests.test_from_model": OF_SELECTIONS,
    "sklearn.tree.tests.test_export": OF_EXPORTS,
    "sklearn.tree.tests.test_monotonic_tree": {},
    "sklearn.tree.tests.test_split": {},
}
# Fewer tests than this mean that a module was not collected as a whole; 15 for the others.
LEAST = {
    "sklearn.tree.tests.test_tree": 300,
    "sklearn.ensemble.tests.test_forest": 300,
    f"{HISTOGRAMS}.test_monotonic_constraints": 13,
}

# Takes a minute, so that `make test-all` alone runs it.
SLOW = "sklearn.ensemble.tests.test_bagging"

# Public names that scikit-learn's fitted estimators have and ours do not.
NO_ATTRIBUTES_OF_REGRESSORS = {"class_weight"}
NO_ATTRIBUTES_OF_TREES = {"capacity", "compute_node_depths", "compute_partial_dependence"}

needs_version = pytest.mark.skipif(
    parse_version(sklearn.__version__).release[:2] != parse_version(VERSION).release,
    reason=f"the lists are those of scikit-learn {VERSION}",
)


@pytest.mark.timeout(600)
@needs_version
@pytest.mark.parametrize("module", MODULES)
def test_what_fails_is_listed_and_what_is_listed_fails(module, tmp_path, pytestconfig):
    """A difference that is new, and one that is gone, are both told."""
    if module == SLOW and not pytestconfig.getoption("--all-cases"):
        pytest.skip("takes a minute: `make test-all` runs it")
    outcomes = run_redirected(module, tmp_path)
    assert len(outcomes) > LEAST.get(module, 15)
    check_outcomes(outcomes, MODULES[module])


def test_every_difference_is_described():
    """The reasons are in the page of the differences, too, but for what every difference may do."""
    page = (REPOSITORY / "docs" / "differences.md").read_text()
    words = " ".join(page.replace("`", "").lower().split())
    reasons = {reason for listed in MODULES.values() for reason in listed}
    for reason in reasons - {PRIVATE, STREAM, CLASS}:
        assert reason.lower() in words, reason
    assert "private attributes" in words
    assert "equal seeds do not give equal choices" in words
    assert "attribute class_weight" in words
    for name in NO_ATTRIBUTES_OF_TREES:
        assert name in words


@needs_version
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("ours", ESTIMATORS + FORESTS)
def test_public_names_are_those_of_scikit_learn(ours):
    """Those of fitted estimators, of their `tree_`, and the content of `estimator_params`."""
    is_forest = ours in FORESTS
    theirs = getattr(sklearn.ensemble if is_forest else sklearn.tree, ours.__name__)
    params = {"bootstrap": True, "n_estimators": 3, "oob_score": True} if is_forest else {}
    X, y = load_iris(return_X_y=True)
    theirs, ours = (which(random_state=0, **params).fit(X, y) for which in (theirs, ours))
    expected = NO_ATTRIBUTES_OF_REGRESSORS if is_regressor(ours) else set()
    assert list_public(theirs) - list_public(ours) == expected
    if is_forest:
        assert ours.estimator_params == theirs.estimator_params
        assert set(ours.estimator_params) <= set(ours.estimators_[0].get_params())
        theirs, ours = theirs.estimators_[0], ours.estimators_[0]
    assert list_public(theirs.tree_) - list_public(ours.tree_) == NO_ATTRIBUTES_OF_TREES


def list_public(thing):
    """Return the names of an object that do not begin with an underscore."""
    return {name for name in dir(thing) if not name.startswith("_")}
