"""Numbers as text: distinct numbers are distinct, in as few digits as that takes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spinney._common.digits import (
    describe_between,
    describe_near,
    exactly,
    fix_decimals,
    resolve,
)

FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@given(FLOATS)
def test_exact_texts_read_as_the_numbers(number):
    text = exactly(fix_decimals(2))(number)
    assert float(text) == number
    assert len(text) <= max(len(repr(number)), len(f"{number:.2f}"))


@given(st.lists(FLOATS, max_size=20))
def test_values_show_their_range(numbers):
    """Errors are a twentieth of the range at most, and none but 0 reads as 0."""
    values = np.array(numbers, dtype=np.float64)
    choose = resolve(values, fix_decimals, 2)
    for number in numbers:
        assert (float(choose(number)) == 0) == (number == 0)
        if len(set(numbers)) > 1:
            error = abs(float(choose(number)) / 2 - number / 2)
            spread = max(numbers) / 2 - min(numbers) / 2
            is_tiny = 0 < abs(number) < 0.005
            assert error <= spread / 20 or (is_tiny and error <= 0.005 * abs(number))


@given(FLOATS, st.lists(FLOATS, max_size=20))
def test_numbers_are_on_their_side_of_thresholds(number, thresholds):
    text = describe_between(number, np.array(thresholds, dtype=np.float64))
    for threshold in thresholds:
        assert (float(text) <= threshold) == (number <= threshold)


@pytest.mark.parametrize(
    ("number", "scale", "text"),
    [
        (151.83, 20.0, "151.8"),
        (1700000300.0, 150.0, "1700000300"),
        (1700000300.0, 0.0, "1.7e+09"),
        (0.123456, 1e-5, "0.123456"),
        (1e300, 1e290, "1e+300"),
        (0.0, 1.0, "0"),
        (np.inf, 1.0, "inf"),
    ],
)
def test_predictions_have_the_digits_that_change(number, scale, text):
    assert describe_near(number, scale) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.5, "0.50"),
        (0.0, "0.00"),
        (0.175, "0.175"),
        (1.5e-6, "1.5e-06"),
        (1700000050.0, "1700000050.00"),
        (1700000050.125, "1700000050.125"),
        (1.0 + 2**-52, "1.0000000000000002"),
        (1e300, "1e+300"),
        (np.inf, "inf"),
    ],
)
def test_no_more_digits_than_it_takes(number, text):
    assert exactly(fix_decimals(2))(number) == text


def test_numbers_that_take_all_digits():
    third = 1 / 3
    assert float(describe_near(third, 1e-300)) == third
    assert float(describe_between(third, np.array([np.nextafter(third, 0), third]))) == third
