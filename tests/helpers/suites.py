"""Test suites of other packages, run on our classes (see `redirect`)."""

import json
import os
import re
import subprocess
import sys
from fnmatch import fnmatchcase

from conftest import REPOSITORY


def run_redirected(module, folder, package=None):
    """Return the outcome and the error of each test of a module of another package.

    `module` is the path of a file if the tests are not in the package.
    """
    settings = folder / "pytest.ini"
    settings.write_text("[pytest]\n")
    outcomes = folder / "outcomes.json"
    options = [
        "-q",
        "-p",
        "redirect",
        "-p",
        "no:cacheprovider",
        "-c",
        settings,
        "--rootdir",
        folder,
    ]
    # The package that is tested here is the one that is tested there.
    package = package or module.partition(".")[0]
    paths = [str(REPOSITORY / "tests" / "helpers"), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *map(str, options), "--pyargs", str(module)],
        env=os.environ
        | {
            "PYTHONPATH": os.pathsep.join(paths),
            "REDIRECT_OUTCOMES": str(outcomes),
            "REDIRECT_PACKAGE": package,
        },
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcomes.exists(), done.stdout + done.stderr
    return json.loads(outcomes.read_text())


def check_outcomes(outcomes, reasons):
    """Assert that the tests that fail are those that are listed.

    Parameters
    ----------
    outcomes : dict
        What `run_redirected` returns.
    reasons : dict
        Patterns of names of tests, by the reason for which they fail.
    """
    listed = [pattern for patterns in reasons.values() for pattern in patterns]
    failed = {name: error for name, (outcome, error) in outcomes.items() if outcome == "failed"}
    unlisted = {
        name: error
        for name, error in failed.items()
        if not any(matches(name, pattern) for pattern in listed)
    }
    assert not unlisted, "\n\n".join(f"{name}\n{error}" for name, error in unlisted.items())
    for pattern in listed:
        found = [name for name in outcomes if matches(name, pattern)]
        assert found, f"no test has the name {pattern}"
        assert [name for name in found if name not in failed] == [], f"listed as {pattern}"


def matches(name, pattern):
    """Return whether a test has the name of a pattern, in which brackets are no sets."""
    return fnmatchcase(name, re.sub(r"\[", "[[]", pattern))
