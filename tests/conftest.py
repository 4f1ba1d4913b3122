"""Settings and fixtures shared by the Python tests."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Derandomised, so that a run is repeatable, and without deadlines, so that a busy machine does
# not turn a slow example into a failure.
settings.register_profile(
    "spinney",
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("spinney")

REPOSITORY = Path(__file__).resolve().parents[1]


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
