"""The section `header` of a file: JSON, and sections of their own for the arrays that it names."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney._common.formats import NewerFileError, damaged
from spinney._spinney import __version__
from spinney.storage._values import Decoder, Encoder

Section = tuple[str, NDArray[np.uint8]]
"""The name and the bytes of a section."""

FIRST_FORMAT = 1
"""The format of headers whose values are plain: those of single trees, forests and data sets."""
HEADER_FORMAT = 2
"""The newest format, whose values may be estimators, trees and columns (`_objects`)."""


def write_header(
    description: dict[str, Any],
    parts: dict[str, dict[str, Any]],
    encoder: Encoder,
    least_format: int = FIRST_FORMAT,
) -> list[Section]:
    """Return the sections of a header.

    Parameters
    ----------
    description : dict
        What the header says as it is, after the versions.
    parts : dict of dict
        Values by name, which are encoded.
    encoder : Encoder
        Encodes the values, and has encoded none before.
    least_format : int
        The format unless a value needs a newer one.

    Raises
    ------
    TypeError
        If files cannot hold a value. The message names it.
    """
    coded = {
        part: {name: encoder.encode(value, name) for name, value in values.items()}
        for part, values in parts.items()
    }
    header = {
        "library": "spinney",
        "version": __version__,
        "format": HEADER_FORMAT if encoder.has_objects else least_format,
        **description,
        **coded,
    }
    text = json.dumps(header, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    pieces = [("header", text.encode("utf-8", "surrogatepass"))]
    pieces += [(f"array/{n}", array.tobytes()) for n, array in enumerate(encoder.arrays)]
    return [(name, np.frombuffer(piece, np.uint8)) for name, piece in pieces]


def decode_part(coded: dict[str, Any], decoder: Decoder) -> dict[str, Any]:
    """Return the values of a part of a header by name; a fault is a ValueError that names it."""
    name = ""
    try:
        values = {}
        for name, value in coded.items():
            values[name] = decoder.decode(value)
    except NewerFileError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        raise damaged(f"{name}: {error}") from None
    except RecursionError:
        raise damaged(f"{name} is nested too deeply") from None
    return values


def read_header(section: NDArray[np.uint8]) -> dict[str, Any]:
    """Return the JSON of the section `header`, an object."""
    try:
        text = section.tobytes().decode("utf-8", "surrogatepass")
        header = json.loads(text, parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        raise damaged(error) from None
    if not isinstance(header, dict):
        raise damaged("it is no object")
    return header


def _reject_constant(constant: str) -> Any:
    raise ValueError(f"the constant {constant}")
