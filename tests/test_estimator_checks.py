"""scikit-learn's own checks of what an estimator has to do, with no exception made for us."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from strategies import ESTIMATORS


@parametrize_with_checks([tree_class(random_state=0) for tree_class in ESTIMATORS])
def test_scikit_learn_check(estimator, check):
    """Run one check on one estimator."""
    check(estimator)


@pytest.mark.parametrize("tree_class", ESTIMATORS)
def test_no_check_is_expected_to_fail(tree_class):
    """Nothing in the tags says that a check may be passed over."""
    tags = tree_class().__sklearn_tags__()
    assert not tags.no_validation
    assert not tags._skip_test
    assert tags.input_tags.sparse
    assert not tags.input_tags.allow_nan
    assert tags.target_tags.multi_output
    assert tags.target_tags.required
