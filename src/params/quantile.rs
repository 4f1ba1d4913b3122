//! The level of a quantile as a fraction, so that criteria can compare shares of the weight with
//! the level in integers.
//!
//! 0.9 is no double, but nine tenths of ten rows are nine rows. So a level given as a double stands
//! for a fraction that a user may have written: of the convergents of the double's continued
//! fraction that are equal to the double when rounded, the one with the least denominator. For a
//! double that was written as a fraction with a denominator below 2^26, this is that fraction, by
//! Legendre's theorem. Close to 0 and 1, no convergent with a denominator of up to
//! [`MAX_DENOMINATOR`] may equal the double. Then the last convergent up to this denominator stands
//! for the level; in the place of a convergent that is 0 or 1, the fraction with this denominator
//! that is nearest to it.

use super::{legal, require};
use crate::error::Result;

/// The largest denominator of a level.
const MAX_DENOMINATOR: u64 = 1 << 30;

/// Doubles of at least 2^-31 are multiples of 2^-`SCALE_BITS`.
const SCALE_BITS: i32 = 84;

/// The level of a quantile: a fraction in lowest terms, above 0 and below 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuantileLevel {
    numerator: u64,
    denominator: u64,
}

impl QuantileLevel {
    /// The level 1/2: the median.
    pub const HALF: Self = Self { numerator: 1, denominator: 2 };

    /// The fraction that `level` stands for. Fails unless `level` lies between 0 and 1, both
    /// excluded.
    pub fn new(level: f64) -> Result<Self> {
        require(level > 0.0 && level < 1.0, "quantile", level, legal::QUANTILE)?;
        Ok(Self::convergent(level, MAX_DENOMINATOR))
    }

    /// The level `numerator / denominator`. Returns `None` unless it lies between 0 and 1, both
    /// excluded, and `denominator` is at most 2^30.
    pub const fn fraction(numerator: u64, denominator: u64) -> Option<Self> {
        let is_legal = 0 < numerator && numerator < denominator && denominator <= MAX_DENOMINATOR;
        let (mut a, mut b) = (denominator, numerator);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        if is_legal { Some(Self { numerator: numerator / a, denominator: denominator / a }) } else { None }
    }

    /// This level if its denominator is at most 2^`bits`, else the last convergent of its double
    /// for which that holds. `bits` counts as at least 1 and at most 30.
    pub(crate) fn within(self, bits: u32) -> Self {
        let most = 1 << bits.clamp(1, 30);
        if self.denominator <= most { self } else { Self::convergent(self.to_f64(), most) }
    }

    /// The numerator: of `denominator` equal parts of the weight, this many lie below the quantile.
    pub(crate) fn numerator(self) -> u64 {
        self.numerator
    }

    /// The denominator of the fraction in lowest terms.
    pub(crate) fn denominator(self) -> u64 {
        self.denominator
    }

    /// The double that is nearest to the level.
    pub fn to_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    fn convergent(level: f64, most: u64) -> Self {
        // Levels this close to 0 or 1 have no convergent between 0 and 1 with such a denominator.
        let close = 1.0 / (2.0 * most as f64);
        if level < close {
            return Self { numerator: 1, denominator: most };
        }
        if level > 1.0 - close {
            return Self { numerator: most - 1, denominator: most };
        }
        let (mut a, mut b) = (1u128 << SCALE_BITS, (level * 2f64.powi(SCALE_BITS)) as u128);
        // Convergents of b / a: [0; a1, a2, ...].
        let (mut before, mut last) = ((1u128, 0u128), (0u128, 1u128));
        while b > 0 {
            let quotient = a / b;
            (a, b) = (b, a - quotient * b);
            let next = (quotient * last.0 + before.0, quotient * last.1 + before.1);
            if next.1 > u128::from(most) {
                break;
            }
            (before, last) = (last, next);
            if last.0 as f64 / last.1 as f64 == level {
                break;
            }
        }
        let (numerator, denominator) = (last.0 as u64, last.1 as u64);
        if numerator == 0 {
            Self { numerator: 1, denominator: most }
        } else if numerator == denominator {
            Self { numerator: most - 1, denominator: most }
        } else {
            Self { numerator, denominator }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fraction(level: f64) -> (u64, u64) {
        let QuantileLevel { numerator, denominator } = QuantileLevel::new(level).unwrap();
        (numerator, denominator)
    }

    #[test]
    fn levels_are_the_fractions_they_were_written_as() {
        assert_eq!(fraction(0.5), (1, 2));
        assert_eq!(fraction(0.9), (9, 10));
        assert_eq!(fraction(0.1), (1, 10));
        assert_eq!(fraction(1.0 / 3.0), (1, 3));
        assert_eq!(fraction(0.123_456), (1929, 15625));
        assert_eq!(QuantileLevel::fraction(3, 6), Some(QuantileLevel::HALF));
        for (numerator, denominator) in [(0, 2), (2, 2), (3, 2), (1, 0), (1, (1 << 30) + 1)] {
            assert_eq!(QuantileLevel::fraction(numerator, denominator), None);
        }
        assert_eq!(fraction(1e-300), (1, 1 << 30));
        assert_eq!(fraction(1.0 - f64::EPSILON), ((1 << 30) - 1, 1 << 30));
        assert_eq!(QuantileLevel::new(0.123_456).unwrap().within(4), QuantileLevel { numerator: 1, denominator: 8 });
        assert_eq!(QuantileLevel::new(0.9).unwrap().within(1), QuantileLevel::HALF);
        for level in [0.0, 1.0, -0.1, 1.5, f64::NAN, f64::INFINITY] {
            let message = QuantileLevel::new(level).unwrap_err().to_string();
            assert!(message.contains("'quantile'"), "{message}");
        }
    }

    proptest! {
        #[test]
        fn fractions_are_close(level in 1e-9f64..0.999_999_999, a in 1u64..1 << 20, b in 1u64..1 << 20) {
            let close = QuantileLevel::new(level).unwrap();
            prop_assert!((close.to_f64() - level).abs() < 2f64.powi(-31));
            prop_assert!(close.numerator > 0 && close.numerator < close.denominator);
            prop_assert!(close.denominator <= MAX_DENOMINATOR);
            prop_assume!(a != b);
            let level = a.min(b) as f64 / a.max(b) as f64;
            prop_assert_eq!(QuantileLevel::new(level).unwrap().to_f64(), level);
        }
    }
}
