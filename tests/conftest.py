"""Settings and fixtures shared by the Python tests."""

import os
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# One thread per worker for scikit-learn's OpenMP and for BLAS, whose idle threads keep a core busy:
# with two workers on two cores, a fit that scikit-learn's own boosting is compared with took ten
# seconds and not one. Our own threads are those of `n_jobs`.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

settings.register_profile(
    "spinney",
    max_examples=30,
    # The same examples at every run, so that a failure is one of the change at hand.
    derandomize=True,
    # A busy machine does not turn a slow example into a failure.
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile(
    "spinney-all",
    settings.get_profile("spinney"),
    # `strategies.examples` gives every test twenty times as many.
    max_examples=600,
    # New examples at every run, of the seed that `make test-all` prints.
    derandomize=False,
)
settings.load_profile("spinney")

REPOSITORY = Path(__file__).resolve().parents[1]


def pytest_addoption(parser):
    """Add the switch between `make test` and `make test-all`."""
    parser.addoption(
        "--all-cases",
        action="store_true",
        help="run all cases of tests marked `valuewise` or `pairwise`, and twenty times as many "
        "random examples",
    )


def pytest_configure(config):
    """Choose the number of random examples, before a test module asks for it."""
    if config.getoption("--all-cases"):
        settings.load_profile("spinney-all")


# Of how many parameters each combination of values is met.
STRENGTHS = {"valuewise": 1, "pairwise": 2}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Of the tests marked `valuewise` or `pairwise`, keep a sample of the cases asked for."""
    if config.getoption("--all-cases"):
        return
    groups = defaultdict(list)
    for item in items:
        for mark, strength in STRENGTHS.items():
            if item.get_closest_marker(mark):
                groups[item.nodeid.partition("[")[0], strength].append(item)
    left_out = set()
    for (_, strength), group in groups.items():
        left_out |= set(group) - covering_cases(group, strength)
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def covering_cases(items, strength):
    """Return few cases of a test that meet all values of so many parameters in one of them.

    One after the other, a case with the most combinations that none before has; among those, one
    with the most combinations of one parameter more.
    """
    wanted, larger = {}, {}
    for item in items:
        values = [(name, repr(value)) for name, value in sorted(item.callspec.params.items())]
        wanted[item] = set(combinations(values, min(strength, len(values))))
        larger[item] = set(combinations(values, strength + 1))
    missing, met, chosen = set().union(*wanted.values()), set(), set()
    while missing:
        best = max(items, key=lambda item: (len(wanted[item] & missing), len(larger[item] - met)))
        chosen.add(best)
        missing -= wanted[best]
        met |= larger[best]
    return chosen


@pytest.fixture(scope="session")
def all_cases(request):
    """Return whether all cases are asked for, and not a sample of them."""
    return request.config.getoption("--all-cases")


@pytest.fixture(scope="session")
def example_data():
    """Return the folder of the data that ships with the repository."""
    return REPOSITORY / "examples" / "data"


@pytest.fixture(scope="session")
def shared_data():
    """Return a function giving the path of a larger data file, or skipping where it is absent."""

    def path(name):
        file = REPOSITORY.parent / "shared" / "data" / name
        if not file.exists():
            pytest.skip(f"needs the data file ../shared/data/{name}, which is not here")
        return file

    return path
