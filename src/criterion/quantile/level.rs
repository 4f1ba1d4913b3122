//! The level of a quantile: which share of the weight it asks for, and how distances from the
//! quantile become a loss. One half has an implementation of its own, which multiplies less.

use crate::criterion::weights::Moment;
use crate::params::QuantileLevel;

/// The share of the whole weight below a quantile, and the loss about the quantile.
pub(super) trait Level: Copy {
    /// Whether `part` is less than the level's share of `whole`.
    fn falls_short(self, part: u64, whole: u64) -> bool;
    /// Whether `part` is more than the level's share of `whole`.
    fn exceeds(self, part: u64, whole: u64) -> bool;
    /// The loss, times the level's denominator, of samples whose weighted distances from the
    /// quantile add up to `above` over the samples above it and to `below` over those below it.
    fn loss<S: Moment>(self, above: S, below: S) -> S;
}

/// Keeps track of the quantile while samples leave.
///
/// The balance of a place in the order of targets is the level's denominator times the weight
/// before the place, less the numerator times the whole weight. It is the slope of the loss just
/// below the target at that place. With the denominator times the place's own weight added, it is
/// the slope just above.
pub(super) trait Balance<S>: Level {
    /// The integer type of balances.
    type Integer: Moment;
    /// The denominator times a weight.
    fn below(self, weight: u64) -> Self::Integer;
    /// The numerator times a weight.
    fn whole(self, weight: u64) -> Self::Integer;
    /// A balance times a distance: the change of the loss along that distance.
    fn times(balance: Self::Integer, distance: i64) -> S;
    /// The loss, times the denominator, of one sample at this distance below or above the quantile.
    fn loss_of(self, weight: u64, distance: i64, is_below: bool) -> S;
}

/// The level one half. The loss times the denominator is the sum of all distances.
#[derive(Debug, Clone, Copy)]
pub(super) struct Half;

impl Level for Half {
    // Weights are below 2^53, so that twice a weight does not overflow.
    #[inline]
    fn falls_short(self, part: u64, whole: u64) -> bool {
        2 * part < whole
    }

    #[inline]
    fn exceeds(self, part: u64, whole: u64) -> bool {
        2 * part > whole
    }

    #[inline]
    fn loss<S: Moment>(self, above: S, below: S) -> S {
        above + below
    }
}

impl<S: Moment> Balance<S> for Half {
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

/// The type `S` is chosen so that it has room for the denominator.
impl<S: Moment> Balance<S> for QuantileLevel {
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

/// Any level. The loss is the pinball loss times the denominator.
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
    fn loss<S: Moment>(self, above: S, below: S) -> S {
        S::from(self.numerator() as i64) * above + S::from((self.denominator() - self.numerator()) as i64) * below
    }
}
