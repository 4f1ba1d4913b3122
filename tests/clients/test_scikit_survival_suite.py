"""scikit-survival's own tests of trees and forests, on our classes of the same names.

They are not in its wheel: the environment variable SCIKIT_SURVIVAL_TESTS names the folder `tests`
of its source distribution, which `make test-clients` downloads. Without it these tests are skipped.
"""

import os
from pathlib import Path

import pytest

from suites import check_outcomes, run_redirected

LISTED = {
    "test_tree": {
        "asks for tree_.capacity": [
            "test_tree_one_split",
            "test_tree_two_split",
            "test_tree_split_all_censored",
            "test_toy_data",
            "test_breast_cancer_1",
            "test_breast_cancer_2",
        ],
        "0.5 and more is legal, and messages say what is": [
            "test_min_samples_leaf[*]",
            "test_min_samples_split[*]",
        ],
        "more features than there are mean all": ["test_max_features_too_large[*]"],
        # Ours are risks: curves are made of the samples in leaves. Nodes have as many samples.
        "asks tree_.value for curves": [
            "test_missing_values_best_splitter_to_max_samples",
            "test_missing_values_best_splitter_to_right_depth1",
            "test_missing_values_best_splitter_to_right_depth2",
            "test_missing_values_best_splitter_to_left",
        ],
    },
    "test_forest": {
        "compares numbers of a stream of random numbers": [
            "test_fit_predict[*]",
            "test_fit_missing_values[*]",
            "test_oob_score[*]",
            "test_fit_no_bootstrap",
            "test_estimators_samples[*]",
        ],
        "asks for private attributes": [
            "test_fit_with_sample_weight[*]",
            "test_max_samples_geq_one[*]",
        ],
        "words of messages": [
            "test_oob_too_little_estimators[*]",
            "test_fit_max_samples[*ValueError*]",
            "test_fit_max_samples[*TypeError*]",
        ],
        # It needs little memory in either case.
        "low_memory forbids nothing": ["test_predict_low_memory[*]"],
    },
}


@pytest.mark.parametrize("module", list(LISTED))
def test_what_fails_is_listed_and_what_is_listed_fails(tmp_path, module):
    pytest.importorskip("sksurv")
    folder = os.environ.get("SCIKIT_SURVIVAL_TESTS")
    if folder is None:
        pytest.skip("SCIKIT_SURVIVAL_TESTS does not name the tests of scikit-survival")
    outcomes = run_redirected(Path(folder).resolve() / f"{module}.py", tmp_path, "sksurv")
    assert len(outcomes) > 70
    check_outcomes(outcomes, LISTED[module])
