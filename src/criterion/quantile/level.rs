//! What a level asks of weights, and makes of distances: compiled apart for one half.

use std::ops::{Add, Sub};

use super::sum::Sum;
use crate::params::QuantileLevel;

/// The share of the weight that is below a quantile, and the loss about it.
pub(super) trait Level: Copy {
    /// Whether a part of a weight is less than the share.
    fn falls_short(self, part: u64, whole: u64) -> bool;
    /// Whether a part of a weight is more than the share.
    fn exceeds(self, part: u64, whole: u64) -> bool;
    /// The loss of samples whose weighted distances from the quantile have these sums, above and below it.
    fn loss<S: Sum>(self, above: S, below: S) -> S;
}

/// The same, while samples leave: the balance of a point is the denominator times the weight below it minus the numerator times
/// the whole weight, which is what the loss changes by per distance if the point moves up.
pub(super) trait Balance<S>: Level {
    /// An integer for balances.
    type Integer: Copy + Add<Output = Self::Integer> + Sub<Output = Self::Integer> + PartialOrd + Default;
    /// The denominator times a weight.
    fn below(self, weight: u64) -> Self::Integer;
    /// The numerator times a weight.
    fn whole(self, weight: u64) -> Self::Integer;
    /// A balance times a distance.
    fn times(balance: Self::Integer, distance: i64) -> S;
    /// The loss of one sample at a distance above or below the quantile.
    fn loss_of(self, weight: u64, distance: i64, is_below: bool) -> S;
}

/// One half. The loss is the sum of all distances.
#[derive(Debug, Clone, Copy)]
pub(super) struct Half;

impl Level for Half {
    // Weights are below 2^53.
    #[inline]
    fn falls_short(self, part: u64, whole: u64) -> bool {
        2 * part < whole
    }

    #[inline]
    fn exceeds(self, part: u64, whole: u64) -> bool {
        2 * part > whole
    }

    #[inline]
    fn loss<S: Sum>(self, above: S, below: S) -> S {
        above + below
    }
}

impl<S: Sum> Balance<S> for Half {
    type Integer = i64;

    #[inline]
    fn below(self, weight: u64) -> i64 {
        2 * weight as i64
    }

    #[inline]
    fn whole(self, weight: u64) -> i64 {
        weight as i64
    }

    #[inline]
    fn times(balance: i64, distance: i64) -> S {
        S::from(balance) * S::from(distance)
    }

    #[inline]
    fn loss_of(self, weight: u64, distance: i64, _is_below: bool) -> S {
        S::from(weight as i64) * S::from(distance)
    }
}

/// Sums have room for the denominator.
impl<S: Sum> Balance<S> for QuantileLevel {
    type Integer = S;

    #[inline]
    fn below(self, weight: u64) -> S {
        S::from(self.denominator() as i64) * S::from(weight as i64)
    }

    #[inline]
    fn whole(self, weight: u64) -> S {
        S::from(self.numerator() as i64) * S::from(weight as i64)
    }

    #[inline]
    fn times(balance: S, distance: i64) -> S {
        balance * S::from(distance)
    }

    #[inline]
    fn loss_of(self, weight: u64, distance: i64, is_below: bool) -> S {
        let slope = if is_below { self.denominator() - self.numerator() } else { self.numerator() };
        S::from(slope as i64) * S::from(weight as i64) * S::from(distance)
    }
}

/// A fraction. The loss is that of `pinball`, times the denominator.
impl Level for QuantileLevel {
    #[inline]
    fn falls_short(self, part: u64, whole: u64) -> bool {
        u128::from(self.denominator()) * u128::from(part) < u128::from(self.numerator()) * u128::from(whole)
    }

    #[inline]
    fn exceeds(self, part: u64, whole: u64) -> bool {
        u128::from(self.denominator()) * u128::from(part) > u128::from(self.numerator()) * u128::from(whole)
    }

    #[inline]
    fn loss<S: Sum>(self, above: S, below: S) -> S {
        S::from(self.numerator() as i64) * above + S::from((self.denominator() - self.numerator()) as i64) * below
    }
}
