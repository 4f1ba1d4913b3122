"""What a fitted estimator consists of, and whether two are the same."""

import pickle

from numpy.testing import assert_equal
from sklearn.experimental import enable_halving_search_cv  # noqa: F401 - makes the class public

import spinney


def state(estimator):
    """Return all that an estimator consists of, in forms that can be compared."""
    attributes = dict(vars(estimator))
    for name in ("tree_", "forest_"):
        if name in attributes:
            attributes[name] = pickle.dumps(attributes[name])
    for growth in attributes.get("_growths", ()):
        attributes.setdefault("growths", []).append(growth._asdict())
    attributes.pop("_growths", None)
    if "_draws" in attributes:
        attributes["_draws"] = attributes["_draws"]._asdict()
    return attributes


def assert_same_fit(one, other):
    assert type(one) is type(other)
    assert_equal(state(one), state(other))


TREE = spinney.DecisionTreeClassifier(random_state=0)
