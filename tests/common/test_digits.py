"""Numbers as text: distinct numbers are distinct, in as few digits as that takes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spinney._common.digits import (
    describe_between,
    describe_near,
    fix_decimals,
    resolve,
    tell_apart,
)

FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(FLOATS, max_size=20))
def test_distinct_numbers_have_distinct_texts(numbers):
    distinct = sorted(set(numbers))
    choose = tell_apart(np.array(numbers, dtype=np.float64), fix_decimals, 2)
    texts = [choose(number) for number in distinct]
    assert len({float(text) for text in texts}) == len(distinct)
    assert all(
        (float(text) == 0) == (number == 0) for text, number in zip(texts, distinct, strict=True)
    )


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
    ("numbers", "texts"),
    [
        ([0.5, 1.5], ["0.50", "1.50"]),
        ([1.5e-6, 2.5e-6], ["1.5e-06", "2.5e-06"]),
        ([0.001, 0.5], ["0.001", "0.500"]),
        ([0.0015, 0.5], ["0.0015", "0.5000"]),
        ([1700000050.0, 1700000150.0], ["1700000050.00", "1700000150.00"]),
        ([1.0, 1.0 + 2**-52], ["1", "1.0000000000000002"]),
        ([0.0, 1.0], ["0.00", "1.00"]),
    ],
)
def test_no_more_digits_than_it_takes(numbers, texts):
    choose = tell_apart(np.array(numbers), fix_decimals, 2)
    assert [choose(number) for number in numbers] == texts


def test_numbers_that_take_all_digits():
    third = 1 / 3
    assert float(describe_near(third, 1e-300)) == third
    assert float(describe_between(third, np.array([np.nextafter(third, 0), third]))) == third
