"""Numbers of formats, and errors about files that are not as they were written."""

from __future__ import annotations

from typing import Any


def check_format(what: str, number: Any, newest: int, read: str) -> None:
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
    """
    if type(number) is not int or number < 1:
        raise damaged(f"the format {number!r}")
    if number > newest:
        raise ValueError(
            f"The {what} has format {number}; this version of spinney reads formats up to "
            f"{newest}. {read} it with a newer version."
        )


def damaged(reason: Any) -> ValueError:
    """Return the error for a header that cannot be what was written."""
    return ValueError(f"The section 'header' is damaged: {reason}.")
