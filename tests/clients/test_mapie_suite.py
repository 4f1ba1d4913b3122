"""MAPIE's own tests of regressors and of what all its models share.

Scikit-learn's forests in them are ours, and so are the classes that have MAPIE's names:
`CrossConformalRegressor`, `JackknifeAfterBootstrapRegressor` and `CrossConformalClassifier`.
`make test-clients` installs it; without it these tests are skipped.
"""

import pytest

from suites import check_outcomes, run_redirected

LISTED = {
    "mapie.tests.test_common": {
        # Ours take the forests of spinney alone.
        "gives an estimator that is no forest": [
            "TestWrongMethodsOrderRaisesErrorForCrossTechniques::test_wrong_methods_order[*Conform*]",
            "TestWrongMethodsOrderRaisesErrorForCrossTechniques::test_wrong_methods_order[Jackknife*]",
            "TestCrossConformalRegressorReset::*",
            "TestJackknifeAfterBootstrapRegressorReset::*",
            "TestCrossConformalClassifierReset::*",
            "TestDeprecatedAggregatePointPredictionsRenaming::*",
        ],
        # Ours refuses it in fit_conformalize: its folds overlap.
        "wants a bootstrap refused in __init__": [
            "test_cross_conformal_regressor_rejects_subsample"
        ],
    },
    "mapie.tests.test_regression": {
        "asks for a private method": ["TestCheckAndConvertResamplingToCv::*"],
        # Ours have the method "plus" and absolute residuals.
        "asks for method or conformity_score": [
            "test_invalid_method[*]",
            "test_std_conformity_score_regression_strategies[cv_*]",
            "test_std_conformity_score_forwards_predict_params",
            "test_std_conformity_score_uses_groups_in_cv_split",
            "test_std_conformity_score_allows_infinite_intervals",
            "test_mapie_regressor_predict_with_alpha_std_branch",
            "test_mapie_regressor_conformalize_uses_std_branch",
            "test_mapie_regressor_init_fit_uses_ensemble_std_regressor",
        ],
    },
}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("module", list(LISTED))
def test_what_fails_is_listed_and_what_is_listed_fails(tmp_path, module):
    pytest.importorskip("mapie")
    outcomes = run_redirected(module, tmp_path)
    assert len(outcomes) > 70
    check_outcomes(outcomes, LISTED[module])
