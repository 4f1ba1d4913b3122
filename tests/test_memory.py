"""What would need more memory than there is fails with MemoryError, at once, and nothing else.

A sparse matrix of ten rows and two billion columns takes a few hundred bytes, and so does an array
that repeats one number. Tables that are made of them take up to a hundred gigabytes.
"""

import re
import subprocess
import sys

import pytest

# Room for what the programs below need, and for no table.
ROOM = 4 << 30

PROGRAM = """
import resource
import time
import numpy as np
import scipy.sparse as sp
import spinney
from spinney._spinney import Forest, Tree

N_FEATURES = 2**31 - 1
columns = np.array([7, 0, N_FEATURES - 1])
rows = sp.csr_array((np.ones(3), (np.arange(3), columns)), shape=(10, N_FEATURES))
repeated = np.broadcast_to(np.float32(1), rows.shape)
y = np.arange(10) % 2
tree = Tree(
    n_features=N_FEATURES,
    n_classes=[1],
    children_left=np.array([1, -1, -1], dtype=np.int32),
    children_right=np.array([2, -1, -1], dtype=np.int32),
    feature=np.array([7, -2, -2], dtype=np.int32),
    threshold=np.array([0.5, -2.0, -2.0]),
    missing_go_to_left=np.zeros(3, dtype=np.uint8),
    impurity=np.zeros(3),
    n_node_samples=np.array([10, 9, 1]),
    weighted_n_node_samples=np.array([10.0, 9.0, 1.0]),
    value=np.array([0.1, 0.0, 1.0]).reshape(3, 1, 1),
)

with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + {room}, used + {room}))
started = time.monotonic()
try:
    {work}
    print("no error")
except MemoryError as error:
    print(error)
assert time.monotonic() - started < 10
"""

ENCODED = "for the encoded columns of X."
WORK = {
    "tree": ("spinney.DecisionTreeClassifier().fit(rows, y)", ENCODED),
    "forest": ("spinney.RandomForestClassifier(2).fit(rows, y)", ENCODED),
    "lazy forest": ("spinney.LazyForestClassifier(2).fit(rows, y)", ENCODED),
    "dense": ("spinney.DecisionTreeClassifier().fit(repeated, y, check_input=False)", ENCODED),
    "rows of a tree": ("tree.predict(rows)", "for rows of X."),
    "rows of a forest": ("Forest([tree], [0]).predict(rows, 2)", "for rows of X."),
    "importances of a tree": (
        "tree.compute_feature_importances()",
        "for feature importances.",
    ),
    "importances of trees": (
        "Forest([tree], [0]).tree_importances()",
        "for feature importances.",
    ),
    "importances of a forest": (
        "Forest([tree], [0]).compute_feature_importances()",
        "for feature importances.",
    ),
}


@pytest.mark.skipif(sys.platform != "linux", reason="reads and limits memory as Linux does")
@pytest.mark.parametrize("kind", WORK)
def test_what_cannot_be_had_is_an_error(kind):
    """The message says what the memory was for, and how much was asked for."""
    work, told = WORK[kind]
    command = [sys.executable, "-c", PROGRAM.format(work=work, room=ROOM)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = re.fullmatch(r"Unable to allocate (\d+) bytes (.*)\n", done.stdout)
    assert found, done.stdout
    assert int(found[1]) > ROOM
    assert found[2] == told
