//! Exact comparison of split scores.
//!
//! A score in `f64` orders nearly all candidates. The few candidates whose scores lie within the
//! rounding error of each other are compared as exact rationals. So "the best split" and "a tie"
//! mean what they mean in mathematics, and do not depend on the formula, the storage or the order
//! of evaluation. 640 bits hold every product that the bounds in `data/target.rs` allow; the
//! largest product is counted in `criterion/squared_error.rs`.

use std::cmp::Ordering;

use super::order::scale_by_power_of_two;

/// An unsigned integer of `LIMBS` limbs of 64 bits, the least significant limb first. `LIMBS` must
/// be at least two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wide<const LIMBS: usize = 10>([u64; LIMBS]);

impl<const LIMBS: usize> From<u128> for Wide<LIMBS> {
    #[inline]
    fn from(value: u128) -> Self {
        let mut limbs = [0; LIMBS];
        limbs[0] = value as u64;
        limbs[1] = (value >> 64) as u64;
        Self(limbs)
    }
}

impl<const LIMBS: usize> Ord for Wide<LIMBS> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.iter().rev().cmp(other.0.iter().rev())
    }
}

impl<const LIMBS: usize> PartialOrd for Wide<LIMBS> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<const LIMBS: usize> Wide<LIMBS> {
    /// The number 0.
    pub const ZERO: Self = Self([0; LIMBS]);

    /// Applies `step` limb by limb from the least significant one on, and once more with the carry
    /// of the limb before. Also returns whether a carry is left.
    #[inline]
    fn rippled(mut self, other: &Self, step: impl Fn(u64, u64) -> (u64, bool)) -> (Self, bool) {
        let mut carry = false;
        for (a, b) in self.0.iter_mut().zip(other.0) {
            let (limb, first) = step(*a, b);
            let (limb, second) = step(limb, u64::from(carry));
            *a = limb;
            carry = first || second;
        }
        (self, carry)
    }

    fn used(&self) -> usize {
        LIMBS - self.0.iter().rev().take_while(|&&limb| limb == 0).count()
    }
}

/// The arithmetic of [`Wide`] integers, whatever the number of limbs.
pub trait Exact: Copy + std::fmt::Debug + From<u128> + Send + Sync {
    /// `self + other`; the sum must fit.
    #[must_use]
    fn plus(self, other: &Self) -> Self;
    /// `self - other`, which must not be negative.
    #[must_use]
    fn minus(self, other: &Self) -> Self;
    /// `self * other`; the product must fit. Takes one multiplication per pair of nonzero limbs.
    #[must_use]
    fn times(&self, other: &Self) -> Self;
    /// `floor(self / divisor)`; the divisor must not be 0.
    #[must_use]
    fn divided(self, divisor: u64) -> Self;
    /// `self * 2^bits`. The result must fit, even if all bits of the topmost nonzero limb were set.
    #[must_use]
    fn shifted(&self, bits: u32) -> Self;
    /// The nearest `f64`, up to one rounding error per limb that holds significant bits.
    fn to_f64(&self) -> f64;
    /// Whether the value is 0.
    fn is_zero(&self) -> bool;
}

impl<const LIMBS: usize> Exact for Wide<LIMBS> {
    fn plus(self, other: &Self) -> Self {
        let (sum, carry) = self.rippled(other, u64::overflowing_add);
        debug_assert!(!carry, "the sum exceeds {} bits", 64 * LIMBS);
        sum
    }

    fn minus(self, other: &Self) -> Self {
        let (difference, borrow) = self.rippled(other, u64::overflowing_sub);
        debug_assert!(!borrow, "the difference is negative");
        difference
    }

    fn times(&self, other: &Self) -> Self {
        let mut product = [0u64; LIMBS];
        let (rows, columns) = (self.used(), other.used());
        debug_assert!(rows + columns <= LIMBS + 1, "the product exceeds {} bits", 64 * LIMBS);
        for i in 0..rows {
            let mut carry = 0u128;
            for j in 0..columns.min(LIMBS - i) {
                let cell = u128::from(self.0[i]) * u128::from(other.0[j]) + u128::from(product[i + j]) + carry;
                product[i + j] = cell as u64;
                carry = cell >> 64;
            }
            if i + columns < LIMBS {
                product[i + columns] = carry as u64;
            } else {
                debug_assert_eq!(carry, 0, "the product exceeds {} bits", 64 * LIMBS);
            }
        }
        Self(product)
    }

    fn divided(mut self, divisor: u64) -> Self {
        let mut rest = 0u64;
        for limb in self.0.iter_mut().rev() {
            // Most limbs take no division of 128 bits, which is slow.
            let quotient = match rest {
                0 => *limb / divisor,
                _ => ((u128::from(rest) << 64 | u128::from(*limb)) / u128::from(divisor)) as u64,
            };
            rest = limb.wrapping_sub(quotient.wrapping_mul(divisor));
            *limb = quotient;
        }
        self
    }

    fn shifted(&self, bits: u32) -> Self {
        debug_assert!(self.is_zero() || 64 * self.used() as u32 + bits <= 64 * LIMBS as u32, "the result is too wide");
        let (limbs, bits) = ((bits / 64) as usize, bits % 64);
        let mut out = [0u64; LIMBS];
        for i in 0..LIMBS - limbs {
            out[i + limbs] |= self.0[i] << bits;
            if bits > 0 && i + limbs + 1 < LIMBS {
                out[i + limbs + 1] = self.0[i] >> (64 - bits);
            }
        }
        Self(out)
    }

    fn to_f64(&self) -> f64 {
        let top = self.used();
        let mut value = 0.0;
        // The topmost three limbs hold more significant bits than a double has.
        for i in (top.saturating_sub(3)..top).rev() {
            value = value * 18_446_744_073_709_551_616.0 + self.0[i] as f64;
        }
        scale_by_power_of_two(value, 64 * top.saturating_sub(3) as i32)
    }

    fn is_zero(&self) -> bool {
        self.used() == 0
    }
}

/// The quotient of two integers, rounded down to a multiple of 2^-128, times 2^128. [`Wide`] integers round
/// the product to the same number, but take longer. `None` if the quotient is below 1.
pub fn quotient_by_two_to_128(dividend: u128, divisor: u64) -> Option<f64> {
    const TWO_TO_64: f64 = (1u128 << 64) as f64;
    let whole = dividend / u128::from(divisor);
    // Only the two highest of the numbers of 64 bits matter: the next one is less than half of the last bit
    // of both together.
    let joined = |high: u64, low: u64| (high as f64 * TWO_TO_64 + low as f64) * TWO_TO_64;
    match ((whole >> 64) as u64, whole as u64) {
        (0, 0) => None,
        (0, low) => {
            let rest = dividend - whole * u128::from(divisor);
            Some(joined(low, ((rest << 64) / u128::from(divisor)) as u64))
        }
        (high, low) => Some(joined(high, low) * TWO_TO_64),
    }
}

/// A non-negative rational number with an exact order.
#[derive(Debug, Clone, Copy)]
pub struct Ratio {
    /// The numerator.
    pub numerator: Wide,
    /// The denominator, above 0.
    pub denominator: u128,
}

impl Ratio {
    /// The exact order of two ratios, found by cross-multiplication.
    pub fn compare(&self, other: &Self) -> Ordering {
        if self.denominator == other.denominator {
            return self.numerator.cmp(&other.numerator);
        }
        let left = self.numerator.times(&Wide::from(other.denominator));
        let right = other.numerator.times(&Wide::from(self.denominator));
        left.cmp(&right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigUint;
    use proptest::prelude::*;

    fn big<const LIMBS: usize>(wide: &Wide<LIMBS>) -> BigUint {
        wide.0.iter().rev().fold(BigUint::from(0u32), |sum, &limb| (sum << 64u32) + limb)
    }

    proptest! {
        #[test]
        fn quotients_are_those_of_wide_integers(dividend: u128, fewer in 0u32..128, divisor in 1u64.., less in 0u32..63) {
            let (dividend, divisor) = (dividend >> fewer, (divisor >> less).max(1));
            let whole = dividend / u128::from(divisor);
            let expected = Wide::<4>::from(dividend).shifted(128).divided(divisor).to_f64();
            let quotient = quotient_by_two_to_128(dividend, divisor);
            prop_assert_eq!(quotient.is_some(), whole > 0);
            prop_assert_eq!(quotient.unwrap_or(expected).to_bits(), expected.to_bits());
        }

        #[test]
        fn arithmetic_agrees_with_big_integers(a: u128, b: u128, c: u128, bits in 0u32..200) {
            let (wa, wb, wc): (Wide, Wide, Wide) = (Wide::from(a), Wide::from(b), Wide::from(c));
            let product = wa.times(&wb).times(&wc);
            prop_assert_eq!(big(&product), BigUint::from(a) * b * c);
            prop_assert_eq!(big(&product.plus(&wb)), BigUint::from(a) * b * c + b);
            prop_assert_eq!(big(&product.plus(&wb).minus(&product)), BigUint::from(b));
            prop_assert_eq!(big(&product.shifted(bits)), (BigUint::from(a) * b * c) << bits);
            let divisor = c as u64 | 1;
            prop_assert_eq!(big(&product.divided(divisor)), BigUint::from(a) * b * c / divisor);
            prop_assert_eq!(wa.cmp(&wb), a.cmp(&b));
            let close = (product.to_f64() - a as f64 * b as f64 * c as f64).abs();
            prop_assert!(close <= product.to_f64() * 1e-14);
        }

        #[test]
        fn widths_agree(a: u128, b: u64, c: u64, bits in 0u32..=128) {
            let (narrow, wide): (Wide<4>, Wide) = (Wide::from(a).shifted(bits), Wide::from(a).shifted(bits));
            prop_assert_eq!(narrow.to_f64(), wide.to_f64());
            prop_assert_eq!(big(&narrow.divided(b | 1)), big(&wide.divided(b | 1)));
            let (narrow, wide): (Wide<4>, Wide) = (Wide::from(a), Wide::from(a));
            let (product, expected) = (narrow.times(&Wide::from(u128::from(c))), wide.times(&Wide::from(u128::from(c))));
            prop_assert_eq!(big(&product), big(&expected));
            prop_assert_eq!(big(&product.plus(&narrow)), big(&expected.plus(&wide)));
            prop_assert_eq!(product.is_zero(), expected.is_zero());
        }

        #[test]
        fn ratios_compare_as_rationals(a: u64, b: u64, c in 1u64.., d in 1u64..) {
            let left = Ratio { numerator: Wide::from(u128::from(a)), denominator: u128::from(c) };
            let right = Ratio { numerator: Wide::from(u128::from(b)), denominator: u128::from(d) };
            let exact = (u128::from(a) * u128::from(d)).cmp(&(u128::from(b) * u128::from(c)));
            prop_assert_eq!(left.compare(&right), exact);
        }
    }
}
