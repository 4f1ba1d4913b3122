"""scikit-learn's own checks of what an estimator has to do.

One is impossible: samples of weight k and k copies, in another order, cannot be the same forest if
rows are drawn by their place. scikit-learn expects it to fail for its random forests too. What does
hold is tested in `test_forests.py`.
"""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from spinney import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BalancedRandomForestClassifier,
    ExtraTreesQuantileRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    IsolationForest,
    RandomForestQuantileRegressor,
    RandomTreesEmbedding,
)
from spinney.feature_selection import Boruta
from spinney.impute import MissForestImputer
from strategies import ESTIMATORS, FORESTS, LAZY_FORESTS

pytestmark = pytest.mark.oldest


def instances():
    """Return one estimator of each class."""
    yield from (tree_class(random_state=0) for tree_class in ESTIMATORS)
    for forest_class in FORESTS + LAZY_FORESTS:
        yield forest_class(n_estimators=10, random_state=0)
    yield BalancedRandomForestClassifier(n_estimators=10, random_state=0)
    for forest_class in (RandomForestQuantileRegressor, ExtraTreesQuantileRegressor):
        yield forest_class(n_estimators=10, bootstrap=False, random_state=0)
    for boosting_class in (GradientBoostingClassifier, GradientBoostingRegressor):
        yield boosting_class(n_estimators=5, random_state=0)
    for boosting_class in (AdaBoostClassifier, AdaBoostRegressor):
        yield boosting_class(n_estimators=5, random_state=0)
    yield IsolationForest(n_estimators=10, random_state=0)
    yield RandomTreesEmbedding(n_estimators=10, random_state=0)
    # So few forests confirm nothing by the level and the percentile that are the default.
    yield Boruta(n_estimators=20, perc=30, alpha=1.0, max_iter=5, random_state=0)
    yield MissForestImputer(n_estimators=10, max_iter=2, random_state=0)


def expected_to_fail(estimator):
    """Return the checks that cannot hold, with the reason."""
    draws_rows = getattr(estimator, "bootstrap", False) or isinstance(
        estimator, (AdaBoostRegressor, BalancedRandomForestClassifier, IsolationForest)
    )
    if not draws_rows:
        return {}
    checks = (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    )
    return dict.fromkeys(checks, "rows are drawn by their place, which copies change")


# A selector that finds nothing in noise says so.
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
@parametrize_with_checks(list(instances()), expected_failed_checks=expected_to_fail)
def test_scikit_learn_check(estimator, check):
    """Run one check on one estimator."""
    check(estimator)


def checks_on_weights():
    """Return scikit-learn's checks on weights, with forests whose draws it does not have.

    Nothing else that it checks depends on how rows are drawn.
    """
    for forest_class in FORESTS + LAZY_FORESTS:
        forest = forest_class(n_estimators=10, bootstrap="poisson", random_state=0)
        checks = estimator_checks_generator(
            forest, expected_failed_checks=expected_to_fail(forest), mark="xfail"
        )
        for case in checks:
            # A check that is expected to fail is a `pytest.param`, and has the mark.
            _, check = getattr(case, "values", case)
            if "sample_weight" in check.func.__name__:
                marks = getattr(case, "marks", ())
                name = f"{forest_class.__name__}-{check.func.__name__}"
                yield pytest.param(forest, check, marks=marks, id=name)


@pytest.mark.parametrize(("forest", "check"), list(checks_on_weights()))
def test_check_on_weights_of_poisson_forests(forest, check):
    """Run one check on one forest."""
    check(forest)


@pytest.mark.parametrize("tree_class", ESTIMATORS + FORESTS + LAZY_FORESTS)
def test_no_check_is_expected_to_fail(tree_class):
    """Nothing in the tags says that a check may be passed over."""
    tags = tree_class().__sklearn_tags__()
    assert not tags.no_validation
    assert not tags._skip_test
    assert tags.input_tags.sparse
    assert tags.input_tags.allow_nan
    assert tags.target_tags.multi_output
    assert tags.target_tags.required
