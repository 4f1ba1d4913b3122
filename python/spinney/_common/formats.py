"""Numbers of formats, and errors about files that are not as they were written."""

from __future__ import annotations

from typing import Any

from sklearn.utils.fixes import parse_version

from spinney._spinney import __version__


class NewerFileError(ValueError):
    """A file is sound, but this version is too old for it."""


def check_format(what: str, number: Any, newest: int, read: str, writer: Any = None) -> None:
    """Raise ValueError unless a format number of a header is known.

    Parameters
    ----------
    what : str
        What the file holds.
    number : int
        The format number.
    newest : int
        The newest format that is known.
    read : {"Load", "Open"}
        What is done with the file.
    writer : object
        The version that wrote the file, as its header has it. None if it does not say.
    """
    if type(number) is not int or number < 1:
        raise damaged(f"the format {number!r}")
    if number > newest:
        known = f", such as {writer}, which wrote it" if type(writer) is str else ""
        raise NewerFileError(
            f"The {what} has format {number}; this version of spinney reads formats up to "
            f"{newest}. {read} it with a newer version{known}."
        )


def check_writer(writer: Any, found: str) -> None:
    """Raise ValueError for what this version does not know in a file, if a newer one wrote it."""
    if type(writer) is str and parse_version(writer) > parse_version(__version__):
        raise NewerFileError(
            f"The model file has {found}, which spinney {__version__} does not know. Load it with "
            f"version {writer}, which wrote it, or a newer one."
        )


def damaged(reason: Any) -> ValueError:
    """Return the error for a header that cannot be what was written."""
    return ValueError(f"The section 'header' is damaged: {reason}.")
