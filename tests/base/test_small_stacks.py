"""Many threads with small stacks grow deep trees: one that waits takes over only a few tasks."""

import os
import subprocess
import sys

PROGRAM = """
import numpy as np
import spinney

rng = np.random.default_rng(0)
X = rng.random((40_000, 24), dtype=np.float32)
# Chains: each split parts a few rows from all others.
X[:, 0] = np.exp(30 * X[:, 0])
y = X[:, 0].astype(float) * rng.random(len(X))
queries = X[:50]
for estimator in (
    spinney.DecisionTreeRegressor(random_state=0),
    spinney.LazyForestRegressor(3, traversal="batched", random_state=0),
    spinney.LazyForestRegressor(3, traversal="eager", random_state=0),
):
    found = [
        estimator.set_params(n_jobs=n_jobs).fit(X, y).predict(queries).tobytes()
        for n_jobs in (1, 32)
    ]
    assert found[0] == found[1]
print("done")
"""


def test_small_stacks_are_enough():
    """A quarter of a megabyte, where systems give two to eight."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "RUST_MIN_STACK": str(1 << 18)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert done.stdout == "done\n"
