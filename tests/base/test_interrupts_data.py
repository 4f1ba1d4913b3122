"""Ctrl-C also ends what happens before and after growth: encoding targets, importances of forests.

Both once held the interpreter lock, so that nobody looked at signals. How long they take depends on
the machine: a call is timed first, and is then interrupted at a tenth of that time.
"""

import os

import pytest

from forked import start

PROGRAM = """
import signal
import time
import numpy as np
import spinney

signal.signal(signal.SIGALRM, signal.default_int_handler)
rng = np.random.default_rng(0)
{prepare}

def seconds(interrupt_after):
    started = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, interrupt_after)
    try:
        {work}
    except KeyboardInterrupt:
        assert interrupt_after
    signal.setitimer(signal.ITIMER_REAL, 0)
    return time.monotonic() - started

# A machine that is busy may be late, but not each time.
whole = seconds(0)
tell(any(seconds(whole / 10) < whole / 2 for _ in range(5)))
"""

# Trees that are unpacked one after the other. The copies of a forest share their trees.
MANY_TREES = """
X, y = rng.random((2000, 8)), rng.random(2000)
forest = spinney.RandomForestRegressor(64, random_state=0).fit(X, y).forest_
for _ in range(8):
    forest = forest.extended(forest)
"""

MANY_COLUMNS = """
import pathlib, tempfile
directory = tempfile.TemporaryDirectory()
path = pathlib.Path(directory.name) / "data"
data = spinney.Dataset(np.broadcast_to(np.arange(3.0)[:, np.newaxis], (3, 100_000)))
data.save(path)
"""

WORK = {
    # Numbers are sorted. Nothing can be split, so that this takes most of the time.
    "target": (
        """
y = rng.random(4_000_000)
X = np.zeros((len(y), 1), dtype=np.uint8)
model = spinney.DecisionTreeRegressor()
""",
        "model.fit(X, y, check_input=False)",
    ),
    "importances": (
        MANY_TREES,
        "forest.compute_feature_importances()",
    ),
    "importances of trees": (
        MANY_TREES,
        "forest.tree_importances(2)",
    ),
    # Strings are sorted.
    "labels": (
        """
from spinney._data.levels import number_distinct
y = rng.permutation(np.arange(1_000_000)).astype("U8")
""",
        "number_distinct(y)",
    ),
    # A section for each column.
    "writing many sections": (
        MANY_COLUMNS,
        "data.save(path)",
    ),
    "reading many sections": (
        MANY_COLUMNS,
        "spinney.Dataset.open(path)",
    ),
}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no alarms")
@pytest.mark.parametrize("kind", WORK)
def test_ctrl_c_does_not_wait(kind):
    """A call ends long before the end when it is told to soon after the beginning."""
    prepare, work = WORK[kind]
    process, told = start(PROGRAM.format(prepare=prepare, work=work))
    try:
        assert told.recv()
    finally:
        process.kill()
