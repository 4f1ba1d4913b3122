"""Labels are refused, and warned of, as scikit-learn does, which gets few of them to look at."""

import warnings

import numpy as np
import pytest
from sklearn.utils.multiclass import check_classification_targets

from spinney import DecisionTreeClassifier
from spinney._fit import target

pytestmark = pytest.mark.oldest

FEW = np.arange(60) % 3
LABELS = {
    "integers": FEW,
    "whole floats": FEW.astype(float),
    "bools": FEW > 1,
    "strings": FEW.astype("U3"),
    "objects": np.array(["a", "b", "c"], dtype=object)[FEW],
    "halves": FEW / 2,
    "many halves": np.arange(60) / 2,
    "infinity": np.where(FEW > 1, np.inf, 0.5),
    "many integers": np.arange(60) // 2 * 3 + (np.arange(60) > 50),
    "just half": np.arange(60) // 2,
    "one more than half": np.maximum(np.arange(60) // 2, np.arange(60) - 30),
    "many strings": np.arange(60).astype("U3"),
    "many objects": np.arange(60).astype("U3").astype(object),
    "twenty strings": np.arange(20).astype("U3"),
    "tuples": np.array([((1, 2), "a")[place] for place in FEW % 1] + [None], dtype=object)[:1],
    "two outputs": np.column_stack([FEW, FEW > 1]),
    "two outputs of strings": np.column_stack([FEW, FEW > 1]).astype("U5"),
    "two outputs, one of halves": np.column_stack([FEW, FEW / 2]),
    "strings beside numbers": np.column_stack([FEW.astype("U3").astype(object), FEW]),
    "numbers beside strings": np.column_stack([FEW, FEW.astype("U3").astype(object)]),
}


def outcome(call, y):
    """Return the warnings and the error of a call."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            call(y)
        except (TypeError, ValueError) as error:
            return [str(w.message) for w in seen], type(error), str(error)
    return [str(w.message) for w in seen], None, None


@pytest.mark.parametrize("kind", LABELS)
def test_the_check_of_all_labels(kind):
    y = LABELS[kind].reshape(len(LABELS[kind]), -1)
    expected = outcome(check_classification_targets, y)
    assert outcome(DecisionTreeClassifier()._encode_y, y) == expected


@pytest.mark.parametrize("dtype", ["U3", object, bool, float])
def test_the_check_gets_few_of_many_labels(dtype, monkeypatch):
    """It sorts what it gets, and Ctrl-C has to wait."""
    seen = []
    monkeypatch.setattr(target, "check_classification_targets", lambda y: seen.append(len(y)))
    y = (np.arange(1000) % 2).astype("U3" if dtype is object else dtype).astype(dtype)
    encoded = DecisionTreeClassifier()._encode_y(y.reshape(-1, 1))
    assert encoded.y.ravel().tolist() == [0, 1] * 500
    assert sum(seen) <= 5
