"""A panic of the engine, which is a bug, is an error like others: programs that catch errors go on.

Wheels with debug assertions, which `make test` builds, have a function that panics on purpose.
"""

import pickle
import threading

import numpy as np
import pytest
from sklearn.datasets import load_iris

import spinney
from spinney import _spinney
from spinney._fit import task

pytestmark = pytest.mark.skipif(
    not hasattr(_spinney, "_panic"), reason="published wheels have no function that panics"
)

TOLD = (
    'spinney has failed with the message "panicked on purpose". This is a bug in spinney. Please '
    "report it to its issue tracker, together with the call and what standard error shows of it."
)


# On the calling thread, and on others while it waits.
@pytest.mark.parametrize("n_threads", [1, 4])
def test_a_panic_asks_for_a_report(n_threads, capfd):
    for _ in range(3):
        with pytest.raises(RuntimeError) as caught:
            _spinney._panic(n_threads)
        assert str(caught.value) == TOLD
        assert isinstance(caught.value, Exception)
        assert "panicked on purpose" in capfd.readouterr().err


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize(
    "estimator_class",
    [spinney.DecisionTreeClassifier, spinney.RandomForestClassifier, spinney.LazyForestClassifier],
)
def test_an_estimator_stays_as_it_was(estimator_class, n_threads, monkeypatch):
    """Also with the threads of other calls, during the panic and after it."""
    X, y = load_iris(return_X_y=True)
    estimator = estimator_class(random_state=0, n_jobs=2).fit(X, y)
    before, expected = dict(vars(estimator)), estimator.predict_proba(X)
    answers = []
    others = [
        threading.Thread(target=lambda: answers.append(estimator.predict_proba(X)))
        for _ in range(4)
    ]
    for other in others:
        other.start()
    for name in ("fit_tree", "fit_forest", "LazyForest"):
        monkeypatch.setattr(task, name, lambda *_: _spinney._panic(n_threads))
    with pytest.raises(RuntimeError, match="This is a bug in spinney"):
        estimator.fit(X[::2], y[::2] > 0)
    monkeypatch.undo()
    for other in others:
        other.join()
    assert dict(vars(estimator)) == before
    for found in [*answers, estimator.predict_proba(X)]:
        np.testing.assert_array_equal(found, expected)
    again = pickle.loads(pickle.dumps(estimator)).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), expected)
