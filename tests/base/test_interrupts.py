"""Ctrl-C ends whatever takes long: soon, with KeyboardInterrupt, and nothing has changed then.

One test for each way from Python into the engine. That each loop of the engine looks at the flag
which Ctrl-C raises is tested in Rust.
"""

import os
import signal
import time

import pytest

from forked import start

# Seconds from Ctrl-C to the end of a call: the promise is one, and a busy machine gets one more.
PROMPT = 2.0
# A machine that is busier still may be late, but not each time.
N_ATTEMPTS = 3

PROGRAM = """
import signal
import time
import numpy as np
import scipy.sparse as sp
import spinney
from spinney.model_selection import cross_val_score

# Whoever started us may ignore interrupts, which programs inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
{prepare}
before = dict(vars(model))
tell("working")
try:
    while True:
        {work}
        before = dict(vars(model))
except KeyboardInterrupt:
    ended = time.monotonic()
    tell((ended, vars(model) == before))
"""

WORK = {
    # Sorting the values of a column takes much longer than looking for the only cut.
    "encode": (
        """
X = rng.random((2_000_000, 24), dtype=np.float32)
y = np.arange(len(X)) % 2
model = spinney.DecisionTreeClassifier(max_depth=1, n_jobs=2)
""",
        "model.fit(X, y)",
    ),
    # Few values are sorted soon: nearly all of the time goes into the growth of the tree.
    "fit of a tree": (
        """
X = rng.integers(0, 256, (400_000, 160), dtype=np.uint8)
y = rng.random(len(X))
model = spinney.DecisionTreeRegressor(random_state=0, n_jobs=1)
""",
        "model.fit(X, y)",
    ),
    "fit of a forest": (
        """
X = sp.random_array((40_000, 160), density=0.5, dtype=np.float32, rng=rng, format="csr")
y = rng.random(X.shape[0])
model = spinney.RandomForestRegressor(100_000, random_state=0, n_jobs=2)
""",
        "model.fit(X, y)",
    ),
    "fit of an isolation forest": (
        """
X = rng.random((50_000, 30))
model = spinney.IsolationForest(n_estimators=100_000, random_state=0, n_jobs=2)
""",
        "model.fit(X)",
    ),
    "prediction of a forest": (
        """
X = rng.random((2_000_000, 10), dtype=np.float32)
y = rng.random(2000)
model = spinney.RandomForestRegressor(100, random_state=0, n_jobs=1).fit(X[:2000], y)
""",
        "model.predict(X)",
    ),
    "growth by turns": (
        """
X = rng.random((200_000, 40), dtype=np.float32)
y = rng.random(len(X))
model = spinney.RandomForestRegressor(100_000, max_leaf_nodes=50_000, random_state=0, n_jobs=1)
""",
        "model.fit(X, y)",
    ),
    "paths of rows": (
        """
X = rng.random((1_000_000, 10), dtype=np.float32)
y = rng.random(2000)
model = spinney.RandomForestRegressor(100, random_state=0, n_jobs=1).fit(X[:2000], y)
""",
        "model.decision_path(X)",
    ),
    "contributions of pairs of features": (
        """
X = rng.random((100_000, 10), dtype=np.float32)
y = rng.random(2000)
model = spinney.RandomForestRegressor(100, random_state=0, n_jobs=1).fit(X[:2000], y)
""",
        "model.shap_values(X, interactions=True)",
    ),
    "contributions of features": (
        """
X = rng.random((100_000, 10), dtype=np.float32)
y = rng.random(2000)
model = spinney.RandomForestRegressor(100, random_state=0, n_jobs=1).fit(X[:2000], y)
""",
        "model.shap_values(X)",
    ),
    "lazy answer": (
        """
X = rng.random((80_000, 40), dtype=np.float32)
y = rng.random(len(X))
model = spinney.LazyForestRegressor(100_000, traversal="batched", random_state=0, n_jobs=2)
model.fit(X, y)
""",
        "model.explore(X[:2000], weights=True)",
    ),
    "concordance of risks": (
        """
from spinney.survival import concordance_index
events, times, risks = rng.random(2_000_000) < 0.5, *rng.random((2, 2_000_000))
model = spinney.RandomForestRegressor()
""",
        "concordance_index(events, times, risks)",
    ),
    # An interrupt is not taken for a fit that failed, which would have the score of errors.
    "cross-validation": (
        """
X, y = rng.random((20_000, 20)), rng.random(20_000)
model = spinney.RandomForestRegressor(100_000, random_state=0, n_jobs=2)
""",
        "cross_val_score(model, X, y, cv=3)",
    ),
    "refit of a fold": (
        """
X, y = rng.random((20_000, 20)), rng.random(20_000)
model = spinney.RandomForestRegressor(100_000, random_state=0)
""",
        "cross_val_score(model, X, y, cv=3, scoring=lambda *_: 0.0)",
    ),
}


def seconds_to_end(program, delay):
    """Return how long after Ctrl-C a program ends that tells when, and that nothing has changed."""
    process, told = start(program)
    try:
        assert told.recv() == "working"
        time.sleep(delay)
        assert process.is_alive()
        sent = time.monotonic()
        os.kill(process.pid, signal.SIGINT)
        assert told.poll(30), "does not end"
        ended, unchanged = told.recv()
        process.join(30)
        assert process.exitcode == 0
    finally:
        process.kill()
    assert unchanged
    return ended - sent


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send")
@pytest.mark.parametrize("kind", WORK)
def test_ctrl_c_ends_it(kind):
    """A call that would take several times as long ends when it is told to."""
    prepare, work = WORK[kind]
    program = PROGRAM.format(prepare=prepare, work=work)
    seconds = []
    for _ in range(N_ATTEMPTS):
        seconds.append(seconds_to_end(program, delay=0.4))
        if seconds[-1] < PROMPT:
            return
    pytest.fail(f"ended {seconds} seconds after Ctrl-C")
