//! The order of floating-point values.
//!
//! Two values are equal if their bits are equal, with one exception: `-0.0` equals `0.0`. There is
//! no tolerance.

/// A floating-point type that columns may hold. Each value has an integer key, and keys are ordered
/// as the values are.
pub trait SortKey: Copy + Send + Sync {
    /// An unsigned integer as wide as the value.
    type Key: Copy + Ord + Into<u64> + Send + Sync;
    /// A key and the number of a row as one integer. Cells are ordered by key, then by row.
    type Cell: Copy + Ord + Send + Sync;
    /// Positive zero.
    const ZERO: Self;
    /// Infinity.
    const INFINITY: Self;
    /// Minus infinity.
    const NEG_INFINITY: Self;
    /// The key of a value: `a < b` exactly if `a.key() < b.key()`, for all values but NaN. Both
    /// zeros have the same key.
    fn key(self) -> Self::Key;
    /// The cell of this value in a row.
    fn cell(self, row: u32) -> Self::Cell;
    /// The key of a cell.
    fn key_of(cell: Self::Cell) -> Self::Key;
    /// The row of a cell.
    fn row_of(cell: Self::Cell) -> u32;
    /// A number of this many bits, at most 32, that differs between most keys.
    fn hash(key: Self::Key, bits: u32) -> usize;
    /// The value that has this key. The key of both zeros gives positive zero.
    fn from_key(key: Self::Key) -> Self;
    /// The value as `f64`, exactly.
    fn widen(self) -> f64;
    /// The value as `f32`, or `None` if `f32` cannot hold it exactly.
    fn narrow(self) -> Option<f32>;
}

macro_rules! sort_key {
    ($float:ty, $bits:ty, $cell:ty) => {
        impl SortKey for $float {
            type Key = $bits;
            type Cell = $cell;
            const ZERO: $float = 0.0;
            const INFINITY: $float = <$float>::INFINITY;
            const NEG_INFINITY: $float = <$float>::NEG_INFINITY;

            #[inline]
            fn key(self) -> $bits {
                // Adding positive zero turns -0.0 into 0.0 and changes no other value.
                let bits = (self + 0.0).to_bits();
                let sign = 1 << (<$bits>::BITS - 1);
                // The bits of negative values grow as the values fall: flip all bits of a negative
                // value, and only the sign of a positive one.
                if bits & sign == 0 { bits | sign } else { !bits }
            }

            #[inline]
            fn cell(self, row: u32) -> $cell {
                <$cell>::from(self.key()) << u32::BITS | <$cell>::from(row)
            }

            #[inline]
            fn key_of(cell: $cell) -> $bits {
                (cell >> u32::BITS) as $bits
            }

            #[inline]
            fn row_of(cell: $cell) -> u32 {
                cell as u32
            }

            #[inline]
            fn hash(key: $bits, bits: u32) -> usize {
                // The multiplier of Fibonacci hashing (Knuth, "The Art of Computer Programming",
                // volume 3, section 6.4): the highest bits of the product depend on all bits.
                const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
                (key.wrapping_mul((MULTIPLIER >> (64 - <$bits>::BITS) | 1) as $bits) >> (<$bits>::BITS - bits)) as usize
            }

            #[inline]
            fn from_key(key: $bits) -> Self {
                let sign = 1 << (<$bits>::BITS - 1);
                <$float>::from_bits(if key & sign == 0 { !key } else { key & !sign })
            }

            #[inline]
            fn widen(self) -> f64 {
                f64::from(self)
            }

            #[inline]
            fn narrow(self) -> Option<f32> {
                let narrow = self as f32;
                (<$float>::from(narrow) == self).then_some(narrow)
            }
        }
    };
}

sort_key!(f32, u32, u64);
sort_key!(f64, u64, u128);

/// The integer next to a number of at least 0, the greater one of two; 0 if it is not a number, and the
/// greatest integer if it is above all. As `f64::round` does, which is a call on x86-64 without SSE4.1.
pub fn nearest(number: f64) -> u64 {
    let below = number as u64;
    below.saturating_add(u64::from(number - below as f64 >= 0.5))
}

/// The whole number next to a number, the even one of two. As `f64::round_ties_even` does, which is a call on
/// x86-64 without SSE4.1; zeros are positive.
#[inline]
pub fn round_ties_even(number: f64) -> f64 {
    // From here to its double, numbers of 64 bits are whole.
    const WHOLE_FROM: f64 = (1u64 << 52) as f64;
    const SHIFT: f64 = 1.5 * WHOLE_FROM;
    if number.abs() < WHOLE_FROM / 2.0 { (number + SHIFT) - SHIFT } else { number.round_ties_even() }
}

/// The quotient of two integers that are rounded first. Integers of 64 bits, as most are, need no calls of
/// functions for wider ones.
#[inline]
pub fn quotient(dividend: u128, divisor: u128) -> f64 {
    match (u64::try_from(dividend), u64::try_from(divisor)) {
        (Ok(dividend), Ok(divisor)) => dividend as f64 / divisor as f64,
        _ => dividend as f64 / divisor as f64,
    }
}

/// `value * 2^exponent`, correctly rounded unless the result is subnormal. Any exponent is allowed,
/// also if 2^exponent itself is out of range.
pub fn scale_by_power_of_two(mut value: f64, mut exponent: i32) -> f64 {
    const STEP: i32 = 1000;
    while exponent.abs() > STEP {
        let step = exponent.signum() * STEP;
        value *= 2f64.powi(step);
        exponent -= step;
    }
    // The bits of a power of two that is not subnormal.
    value * f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// `floor(log2(value))` of a positive finite value.
pub fn exponent(value: f64) -> i32 {
    const SUBNORMAL_SHIFT: i32 = 64;
    let biased = |value: f64| (value.to_bits() >> 52) as i32;
    match biased(value) {
        0 => biased(value * 2f64.powi(SUBNORMAL_SHIFT)) - 1023 - SUBNORMAL_SHIFT,
        biased => biased - 1023,
    }
}

/// Number of bits needed to write `value`, 0 for 0: the least `b` such that `value < 2^b`.
pub fn bit_length(value: u64) -> u32 {
    u64::BITS - value.leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_integers_are_those_of_round() {
        let odd = (1u64 << 52) as f64 + 1.0;
        let numbers = [0.0, 0.5, 0.499_999_999_999_999_94, 1.5, 2.499, odd, odd * 2.0, 1e18, 1e19, 1e30, f64::INFINITY];
        for number in numbers.into_iter().chain([f64::NAN]) {
            assert_eq!(nearest(number), number.round() as u64, "{number}");
        }
    }

    #[test]
    fn whole_numbers_are_those_of_the_standard_library() {
        let numbers = [0.0, 0.5, 1.5, 2.5, 0.499_999_999_999_999_94, 2.499, 7.3e14 + 0.5, 2f64.powi(51) + 0.5];
        let large = [2f64.powi(51) - 0.5, 2f64.powi(52) + 1.0, 1e300, f64::INFINITY];
        for number in numbers.into_iter().chain(large).flat_map(|number| [number, -number]) {
            assert_eq!(round_ties_even(number), number.round_ties_even(), "{number}");
        }
        assert!(round_ties_even(f64::NAN).is_nan());
    }

    #[test]
    fn keys_follow_the_order_of_values() {
        let values = [f64::NEG_INFINITY, -1e300, -1.5, -5e-324, 0.0, 5e-324, 1.0, 1.0 + f64::EPSILON, f64::INFINITY];
        for pair in values.windows(2) {
            assert!(pair[0].key() < pair[1].key(), "{pair:?}");
        }
        for value in values {
            assert_eq!(f64::from_key(value.key()).to_bits(), value.to_bits());
        }
        assert_eq!((-0.0f32).key(), 0.0f32.key());
    }

    #[test]
    fn powers_beyond_the_range_of_doubles() {
        assert_eq!(scale_by_power_of_two(5e-324, 1074), 1.0);
        assert_eq!(scale_by_power_of_two(1.0, -1074), 5e-324);
        assert_eq!(scale_by_power_of_two(3.0, 2), 12.0);
    }
}
