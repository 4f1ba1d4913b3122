//! Numbers of rows as integers, so that sums depend neither on the order of rows nor on threads.

use crate::data::target::Weights;
use crate::error::{Error, Result};
use crate::num::exponent;

/// If all weights together are below this, a row is rounded before it is weighted: then a weight of k is
/// exactly k copies.
const WEIGHED_EXACTLY: u64 = 1 << 26;

/// Weighted numbers of rows as multiples of a power of two.
pub struct Fixed<'a> {
    weights: &'a Weights,
    is_weighed_exactly: bool,
    scale: f64,
}

impl<'a> Fixed<'a> {
    /// Chooses the power of two: sums over all rows, whose weights are `total` together, are below two to
    /// `sum_bits`. No number is further from 0 than `peak`.
    pub fn new(peak: f64, (weights, total): (&'a Weights, u64), sum_bits: i32) -> Result<Self> {
        if !peak.is_finite() {
            let (got, expected) = (peak.to_string(), "finite".into());
            return Err(Error::InvalidArgument { name: "the derivatives of the loss", got, expected });
        }
        // The least ones would need a scale beyond f64.
        let bits = if peak > 0.0 { exponent(peak).max(-900) + 1 } else { 0 };
        let scale = f64::powi(2.0, sum_bits - (total.max(1).ilog2() as i32 + 1) - bits);
        Ok(Self { weights, is_weighed_exactly: total < WEIGHED_EXACTLY, scale })
    }

    /// The integer that stands for 1.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// The integer for a number of weight 1.
    pub fn of_one(&self, number: f64) -> i64 {
        round(number * self.scale)
    }

    /// The integer for the number of a row.
    #[inline]
    pub fn of(&self, row: usize, number: f64) -> i64 {
        let number = number * self.scale;
        match self.weights.get(row) {
            1 => round(number),
            weight if self.is_weighed_exactly => round(number) * weight as i64,
            weight => round(number * weight as f64),
        }
    }
}

/// `number.round()` as an integer, for numbers below 2^63. `f64::round` is a call on processors of the
/// baseline.
#[inline]
fn round(number: f64) -> i64 {
    let whole = number as i64;
    let rest = number - whole as f64;
    whole + i64::from(rest >= 0.5) - i64::from(rest <= -0.5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rounds_as_the_standard_library(number in -4.6e18..4.6e18f64, shift in 0..70i32) {
            for number in [number, number * 2f64.powi(-shift), (number * 2f64.powi(-shift)).floor() + 0.5] {
                prop_assert_eq!(round(number), number.round() as i64);
            }
        }
    }
}
