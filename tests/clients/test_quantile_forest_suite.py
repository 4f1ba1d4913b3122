"""quantile-forest's own tests, on our classes of the same names.

`make test-clients` installs it; without it these tests are skipped.
"""

import pytest

from suites import check_outcomes, run_redirected

LISTED = {
    "asks for private methods": [
        "test_max_samples_leaf[*]",  # _get_y_train_leaves
        "test_oob_samples[*]",  # _oob_samples
        "test_oob_samples_duplicates[*]",
        "test_predict_oob[*]",  # _get_unsampled_indices
        "test_sample_weight_stored_on_fit[*]",  # sample_weight_
        "test_sample_weight_unsampled_indices[*]",
    ],
    "asks scikit-learn which rows our seeds draw": [
        "test_proximity_counts[*]",
        "test_proximity_counts_oob[*]",
    ],
    "compares with scikit-learn's forest of the same seed": ["test_predict_quantiles[False-*]"],
    "constraints with all samples of leaves are legal": ["test_monotonic_constraints[1-*]"],
    "missing values are legal": ["test_missing_values[*]"],
}


@pytest.mark.timeout(900)
def test_what_fails_is_listed_and_what_is_listed_fails(tmp_path):
    pytest.importorskip("quantile_forest")
    outcomes = run_redirected("quantile_forest.tests.test_quantile_forest", tmp_path)
    assert len(outcomes) > 500
    check_outcomes(outcomes, LISTED)
