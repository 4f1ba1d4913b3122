"""imbalanced-learn's own tests of its balanced forest, on ours.

`make test-clients` installs it; without it these tests are skipped. boruta_py's wheel has no tests:
`tests/feature_selection` compares decisions with its rules.
"""

import pytest

from suites import check_outcomes, run_redirected

LISTED = {
    # Samples are counted, and not drawn by a sampler of each tree.
    "asks for samplers_": ["test_balanced_random_forest", "test_balanced_random_forest_attributes"],
}


@pytest.mark.timeout(600)
def test_what_fails_is_listed_and_what_is_listed_fails(tmp_path):
    pytest.importorskip("imblearn")
    outcomes = run_redirected("imblearn.ensemble.tests.test_forest", tmp_path)
    assert len(outcomes) > 10
    check_outcomes(outcomes, LISTED)
