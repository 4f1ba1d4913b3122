"""How many digits numbers need as text, so that it tells apart what differs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

Format = Callable[[float], str]
"""A function from a number to its text."""

# This many digits tell all numbers of double precision apart.
_ALL_DIGITS = 17
# Numbers with more decimal places are easier to read with an exponent.
_MOST_DECIMALS = 6
_FEWEST_DIGITS = 3
# Whole numbers from this one on have more digits than double precision.
_LONGEST = 1e16
# A rounding error of this share of a difference does not hide it.
_HARMLESS = 1 / 20


class Default(int):
    """The default of a parameter that counts decimal places: a user has asked for nothing.

    It is equal to the default that scikit-learn has, and shown as that.
    """


def fix_decimals(decimals: int) -> Format:
    """Return a format with a number of decimal places."""
    return lambda number: f"{number:.{decimals}f}"


def fix_digits(digits: int) -> Format:
    """Return a format with a number of significant digits."""
    return lambda number: f"{number:.{digits}g}"


def exactly(plain: Format) -> Format:
    """Return a format whose texts read as the numbers themselves, in double precision.

    Parameters
    ----------
    plain : callable
        The format of all numbers that read as themselves in it. Others have as few digits as that
        takes.
    """

    def format_number(number: float) -> str:
        text = plain(number) if abs(number) < _LONGEST else ""
        return text if text and float(text) == number else repr(float(number))

    return format_number


def resolve(numbers: NDArray[np.float64], make: Callable[[int], Format], decimals: int) -> Format:
    """Return the plainest format whose rounding is small beside the range of some numbers.

    None but 0 reads as 0, either.

    Parameters
    ----------
    numbers : ndarray
    make : callable
        Returns the plain format with a number of decimal places.
    decimals : int
        The smallest number of them.
    """
    distinct = np.unique(numbers[np.isfinite(numbers)])
    with np.errstate(over="ignore"):
        harmless = _HARMLESS * float(np.ptp(distinct)) if distinct.size > 1 else np.inf
    formats = _list_formats(make, decimals)
    chosen = next(
        choose for choose in formats if np.all(abs(_read(choose, distinct) - distinct) <= harmless)
    )

    def format_number(number: float) -> str:
        text = chosen(number)
        return fix_digits(_FEWEST_DIGITS)(number) if number != 0 and float(text) == 0 else text

    return format_number


def describe_near(number: float, scale: float, digits: int = 4) -> str:
    """Return a number with as many digits as show differences of a size.

    Parameters
    ----------
    number : float
    scale : float
        The size; 0 if nothing is to be compared with the number.
    digits : int
        The smallest number of digits.
    """
    for more in range(digits, _ALL_DIGITS):
        text = f"{number:.{more}g}"
        if scale == 0 or not abs(float(text) - number) > _HARMLESS * scale:
            return text if more == digits else _spell_out(text)
    return _spell_out(f"{number:.{_ALL_DIGITS}g}")


def describe_between(number: float, thresholds: NDArray[np.float64], digits: int = 4) -> str:
    """Return a number with as many digits as show on which side of each threshold it is.

    Parameters
    ----------
    number : float
    thresholds : ndarray
    digits : int
        The smallest number of digits.
    """
    is_below = number <= thresholds
    for more in range(digits, _ALL_DIGITS):
        text = f"{number:.{more}g}"
        if np.array_equal(float(text) <= thresholds, is_below):
            return text if more == digits else _spell_out(text)
    return _spell_out(f"{number:.{_ALL_DIGITS}g}")


def _spell_out(text: str) -> str:
    """Return a number that has an exponent as a whole number, if it is not too long."""
    return f"{float(text):.0f}" if "e+" in text and abs(float(text)) < _LONGEST else text


def _list_formats(make: Callable[[int], Format], decimals: int) -> Iterator[Format]:
    """Yield formats of ever more digits; the last one has all."""
    for more in range(decimals, max(decimals, _MOST_DECIMALS) + 1):
        yield make(more)
    for digits in range(_FEWEST_DIGITS, _ALL_DIGITS + 1):
        yield fix_digits(digits)


def _read(choose: Format, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what a reader of texts takes the numbers for."""
    return np.array([float(choose(number)) for number in numbers.tolist()], dtype=np.float64)
