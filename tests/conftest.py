"""Settings and fixtures shared by the Python tests."""

from collections import defaultdict
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

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
        help="run all cases of tests marked `pairwise`, and twenty times as many random examples",
    )


def pytest_configure(config):
    """Choose the number of random examples, before a test module asks for it."""
    if config.getoption("--all-cases"):
        settings.load_profile("spinney-all")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Of the tests marked `pairwise`, keep a sample of the cases that were asked for."""
    if config.getoption("--all-cases"):
        return
    groups = defaultdict(list)
    for item in items:
        if item.get_closest_marker("pairwise"):
            groups[item.nodeid.partition("[")[0]].append(item)
    left_out = set()
    for group in groups.values():
        left_out |= set(group) - covering_pairs(group)
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def covering_pairs(items):
    """Return few cases of a test that have every two values of two parameters in one of them.

    One after the other, a case with the most pairs that none before has; among those, one with the
    most triples.
    """
    pairs, triples = {}, {}
    for item in items:
        values = [(name, repr(value)) for name, value in sorted(item.callspec.params.items())]
        pairs[item] = set(combinations(values, min(2, len(values))))
        triples[item] = set(combinations(values, 3))
    missing, met, chosen = set().union(*pairs.values()), set(), set()
    while missing:
        best = max(items, key=lambda item: (len(pairs[item] & missing), len(triples[item] - met)))
        chosen.add(best)
        missing -= pairs[best]
        met |= triples[best]
    return chosen


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
