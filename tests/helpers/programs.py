"""Programs of the documentation, run in the process of the tests.

A process of their own would import libraries for two seconds.
"""

import io
import runpy
import sys
import warnings
from contextlib import contextmanager, redirect_stdout, suppress

import pytest
import sklearn

from conftest import REPOSITORY


@contextmanager
def as_program(folder, arguments=(), action="error"):
    """Give a program its folder, arguments and settings; yields the stream that it prints to."""
    printed = io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(printed),
        sklearn.config_context(),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter(action)
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["program", *map(str, arguments)])
        patch.setenv("MPLBACKEND", "agg")
        patch.setenv("SPINNEY_REPOSITORY", str(REPOSITORY))
        yield printed
    with suppress(ImportError):
        import matplotlib.pyplot as plt

        plt.close("all")


def run_blocks(blocks, folder, action="error"):
    """Run blocks of code one after the other in one namespace; return what each prints."""
    namespace = {"__name__": "__main__"}
    printed_by_each = []
    for number, block in enumerate(blocks):
        with as_program(folder, action=action) as printed:
            exec(compile(block, f"<block {number}>", "exec"), namespace)
        printed_by_each.append(printed.getvalue())
    return printed_by_each


def run_script(path, *arguments, folder):
    """Run a file as a program, and return what it prints."""
    with as_program(folder, arguments) as printed:
        runpy.run_path(str(path), run_name="__main__")
    return printed.getvalue()
