"""Docstrings that share their descriptions of parameters and attributes.

The docstring of a class or function lists its parameters with their types and defaults, and leaves
out the descriptions that others need too:

    max_depth : int, default=None
    min_samples_leaf : int or float, default=1

`fill_docstring` inserts those descriptions, which are in `_descriptions`, when the module is
imported. So `help()` and numpydoc show them. Tools that only read the source show the list, which
is a numpydoc docstring in itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from textwrap import dedent, indent
from typing import TypeVar

Documented = TypeVar("Documented", bound=Callable[..., object])

# "name : type", the first line of an entry of a numpydoc section.
_ENTRY = re.compile(r"(?P<margin> *)(?P<name>\w+) : ")


def fill_docstring(vocabulary: str) -> Callable[[Documented], Documented]:
    """Return a decorator that describes the entries of a docstring that have no description.

    An entry is a parameter or an attribute in numpydoc's form. An entry that is not in the
    vocabulary stays as it is.

    Parameters
    ----------
    vocabulary : str
        One of those in `_descriptions`.
    """
    descriptions = _read_vocabulary(vocabulary)

    def fill(documented: Documented) -> Documented:
        # Python does not keep docstrings if it is run with -OO.
        if documented.__doc__ is not None:
            documented.__doc__ = _fill(documented.__doc__, descriptions)
        return documented

    return fill


def _fill(docstring: str, descriptions: dict[str, str]) -> str:
    lines = docstring.split("\n")
    filled = []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        filled.append(line)
        entry = _ENTRY.match(line)
        if entry is None or entry["name"] not in descriptions:
            continue
        margin = entry["margin"] + "    "
        if not following.startswith(margin):
            filled.append(indent(descriptions[entry["name"]], margin))
    return "\n".join(filled)


def _read_vocabulary(vocabulary: str) -> dict[str, str]:
    """Return the descriptions by name."""
    entries = re.findall(r"^(\w+)\n((?:    .*\n)+)", vocabulary, re.MULTILINE)
    return {name: dedent(description).strip() for name, description in entries}
