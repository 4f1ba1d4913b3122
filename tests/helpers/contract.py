"""The interface of the installed scikit-learn, as far as ours has to have it.

The tests know the interface up to one version completely. What a newer one adds does not make them
fail, as long as calls that were legal before stay so.
"""

import inspect

import sklearn
from sklearn.utils.fixes import parse_version

# The first version whose interface the tests do not know completely.
UNKNOWN_FROM = "1.10.dev0"

# Known additions of later versions that we have: parameters of estimators, and their defaults here.
# 1.10 gives its trees `categorical_features`, and forests are to have it too. The default there may
# become "from_dtype".
NEWER_PARAMETERS = {"categorical_features": None}

# Known additions of later versions that we do not have: attributes of fitted estimators.
NEWER_ATTRIBUTES = {"n_categories_in_feature_"}


def parameters_of(function):
    """Return the parameters of a function or class with their defaults, in their order."""
    return {name: p.default for name, p in inspect.signature(function).parameters.items()}


def expected_parameters(theirs, ours):
    """Return what the parameters of ours should be, apart from what only ours has.

    They are those of theirs. Known additions have our defaults. Of a version that the tests do not
    know completely, parameters that calls need not give are left out if ours lacks them.
    """
    expected = parameters_of(theirs)
    if parse_version(sklearn.__version__) >= parse_version(UNKNOWN_FROM):
        own = parameters_of(ours)
        optional = {
            name for name, value in expected.items() if value is not inspect.Parameter.empty
        }
        expected = {n: value for n, value in expected.items() if n in own or n not in optional}
    added = NEWER_PARAMETERS if inspect.isclass(theirs) else {}
    return expected | added
