"""Peak memory that one fit adds, against the bytes of its input (Linux).

Every measurement has a fresh process: the imports, the data and a tiny fit to warm up come first,
freed memory is given back, the high-water mark is reset, and only then the fit that counts.
The growth is the high-water mark after the fit minus the resident memory before it.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from common import TREE_ARRAYS, print_versions
from data_sets import find_data

STATUS = Path("/proc/self/status")
CLEAR_REFS = Path("/proc/self/clear_refs")
RESET_PEAK = "5"  # see proc(5), clear_refs

NEWS20 = "news20_bydate_tfidf.npz"
NEWS20_META = "news20_bydate_meta.npz"
COVERTYPE = "covertype.npz"
GAMMA = "magic04.csv.gz"


def news20() -> tuple[sp.csc_matrix, np.ndarray]:
    meta = np.load(find_data(NEWS20_META))
    train = meta["is_train"]
    return sp.load_npz(find_data(NEWS20))[train].tocsc(), meta["y"][train]


def covertype() -> tuple[np.ndarray, np.ndarray]:
    arrays = np.load(find_data(COVERTYPE))
    train = np.random.default_rng(0).permutation(len(arrays["y"]))[: len(arrays["y"]) * 4 // 5]
    return arrays["X"][train], arrays["y"][train]


def gamma() -> tuple[np.ndarray, np.ndarray]:
    from lazy import gamma

    return gamma()


def random_sparse() -> tuple[sp.csc_matrix, np.ndarray]:
    from table1 import make_data

    return make_data(100_000, 1000, 0.05)


def random_dense() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(20)
    return rng.random((100_000, 30), dtype=np.float32), rng.integers(0, 2, size=100_000)


CASES: dict[str, Callable[[], tuple[object, np.ndarray]]] = {
    "20 Newsgroups TF-IDF": news20,
    "20 Newsgroups, forest": news20,
    "sparse 100000 x 1000, 0.05": random_sparse,
    "dense 100000 x 30": random_dense,
    "covertype, forest of 500": covertype,
    "Gamma, lazy forest of 50": gamma,
    "Gamma, lazy forest of 5000": gamma,
}
# Minutes of scikit-learn.
LONG_CASES = {"sparse 100000 x 1000, 0.05", "covertype, forest of 500"}
LIBRARIES = ("spinney", "scikit-learn")
# Grows a forest of that many trees instead of one tree.
FORESTS = {"20 Newsgroups, forest": 100, "covertype, forest of 500": 500}
# Predicts some rows by a lazy forest of that many trees, which must not show.
LAZY_FORESTS = {"Gamma, lazy forest of 50": 50, "Gamma, lazy forest of 5000": 5000}
N_QUERIES = 1000
# What the cases read.
FILES = {news20: (NEWS20, NEWS20_META), covertype: (COVERTYPE,), gamma: (GAMMA,)}


def make_tree(library: str, n_jobs: int):
    if library == "spinney":
        import spinney

        return spinney.DecisionTreeClassifier(random_state=0, n_jobs=n_jobs)
    import sklearn.tree

    return sklearn.tree.DecisionTreeClassifier(random_state=0)


def grow(case: str, library: str, n_jobs: int, X, y):
    """The case's model."""
    if case in LAZY_FORESTS:
        from spinney import LazyForestClassifier

        lazy = LazyForestClassifier(LAZY_FORESTS[case], random_state=0, n_jobs=n_jobs)
        lazy.fit(X[N_QUERIES:], y[N_QUERIES:]).predict_proba(X[:N_QUERIES])
        return lazy
    n_trees = FORESTS.get(case)
    if n_trees is None:
        return make_tree(library, n_jobs).fit(X, y)
    if library == "spinney":
        from spinney import RandomForestClassifier
    else:
        from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_trees, random_state=0, n_jobs=n_jobs).fit(X, y)


def trees(model) -> Iterator:
    """The trees, one after the other: spinney's forests unpack them, lazy ones have none."""
    if type(model).__name__.startswith("Lazy"):
        return
    if hasattr(model, "forest_"):
        yield from (model.forest_.tree(number) for number in range(len(model.forest_)))
    elif hasattr(model, "estimators_"):
        yield from (estimator.tree_ for estimator in model.estimators_)
    else:
        yield model.tree_


def model_bytes(tree) -> int:
    return sum(np.asarray(getattr(tree, name)).nbytes for name in TREE_ARRAYS)


def input_bytes(X) -> int:
    if sp.issparse(X):
        return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    return X.nbytes


def status_bytes(field: str) -> int:
    for line in STATUS.read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"{STATUS} has no field {field}")


def give_back_free_memory() -> None:
    """Return what loading has freed to the system; a fit that reused it would look too small."""
    gc.collect()
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):  # glibc; other allocators keep little
        libc.malloc_trim(0)


def measure(case: str, library: str, n_jobs: int) -> dict[str, int]:
    """Run one fit in this process and return the bytes of its input and of its growth."""
    X, y = CASES[case]()
    make_tree(library, n_jobs).fit(X[:50], y[:50])
    if case in FORESTS and library != "spinney":
        import sklearn.ensemble  # noqa: F401  (its imports are not part of the growth)
    give_back_free_memory()
    CLEAR_REFS.write_text(RESET_PEAK)
    before = status_bytes("VmRSS")
    model = grow(case, library, n_jobs, X, y)
    growth = status_bytes("VmHWM") - before
    sizes = [(model_bytes(tree), int(tree.node_count)) for tree in trees(model)]
    return {
        "input": input_bytes(X),
        "growth": growth,
        "model": sum(n_bytes for n_bytes, _ in sizes),
        "nodes": sum(n_nodes for _, n_nodes in sizes),
    }


def measure_in_fresh_process(case: str, library: str, n_jobs: int) -> dict[str, int]:
    command = [sys.executable, __file__, "--measure", case, library, "--n-jobs", str(n_jobs)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="leave out the case of minutes")
    parser.add_argument("--n-jobs", type=int, default=1, help="spinney's threads (default: 1)")
    parser.add_argument(
        "--measure", nargs=2, metavar=("CASE", "LIBRARY"), help="measure here, print JSON"
    )
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    if arguments.measure:
        print(json.dumps(measure(*arguments.measure, arguments.n_jobs)))
        return 0

    print("Peak memory that the fit of an unlimited tree, or a forest, adds")
    if not (STATUS.exists() and CLEAR_REFS.exists()):
        print(f"skipped: {STATUS} or {CLEAR_REFS} not found (Linux only)")
        return 0
    print_versions(arguments.n_jobs)
    print(
        f"{'case':28}{'library':14}{'input':>12}{'growth':>12}{'arrays':>12}{'(growth-arrays)/input':>22}"
        f"{'nodes':>10}"
    )
    for case, load in CASES.items():
        if arguments.quick and case in LONG_CASES:
            print(f"{case:28}left out by --quick")
            continue
        missing = [name for name in FILES.get(load, ()) if not find_data(name).exists()]
        if missing:
            print(f"{case:28}skipped: {missing[0]} not found")
            continue
        for library in LIBRARIES[:1] if case in LAZY_FORESTS else LIBRARIES:
            result = measure_in_fresh_process(case, library, arguments.n_jobs)
            print(
                f"{case:28}{library:14}{result['input'] / 1e6:>9.1f} MB"
                f"{result['growth'] / 1e6:>9.1f} MB{result['model'] / 1e6:>9.1f} MB"
                f"{(result['growth'] - result['model']) / result['input']:>22.2f}"
                f"{result['nodes']:>10}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
