//! The level of a quantile: which share of the weight it asks for, and how distances from the
//! quantile become a loss. One half has a type of its own, so that it multiplies less.

use crate::criterion::weights::Moment;
use crate::params::QuantileLevel;

/// The share of the whole weight below a quantile, and the loss about the quantile.
pub(super) trait LossLevel: Copy {
    /// See [`QuantileLevel`].
    fn numerator(self) -> u64;
    /// See [`QuantileLevel`].
    fn denominator(self) -> u64;

    /// Whether `part` is less than the level's share of `whole`.
    #[inline]
    fn falls_short(self, part: u64, whole: u64) -> bool {
        u128::from(self.denominator()) * u128::from(part) < u128::from(self.numerator()) * u128::from(whole)
    }

    /// Whether `part` is more than the level's share of `whole`.
    #[inline]
    fn exceeds(self, part: u64, whole: u64) -> bool {
        u128::from(self.denominator()) * u128::from(part) > u128::from(self.numerator()) * u128::from(whole)
    }

    /// The pinball loss, times the level's denominator, of samples whose weighted distances from the quantile
    /// add up to `above` over the samples above it and to `below` over the samples below it.
    #[inline]
    fn loss<S: Moment>(self, above: S, below: S) -> S {
        S::from(self.numerator() as i64) * above + S::from((self.denominator() - self.numerator()) as i64) * below
    }
}

/// Keeps track of the quantile while samples leave.
///
/// The balance of a place in the order of targets is the level's denominator times the weight
/// before the place, less the numerator times the whole weight. It is the slope of the loss just
/// below the target at that place. With the denominator times the place's own weight added, it is
/// the slope just above.
pub(super) trait Balance<S: Moment>: LossLevel {
    /// The integer type of balances.
    type Integer: Moment + Into<S>;

    /// The denominator times a weight.
    #[inline]
    fn below(self, weight: u64) -> Self::Integer {
        Self::Integer::product(weight, self.denominator() as i64)
    }

    /// The numerator times a weight.
    #[inline]
    fn whole(self, weight: u64) -> Self::Integer {
        Self::Integer::product(weight, self.numerator() as i64)
    }

    /// A balance times a distance: the change of the loss along that distance.
    #[inline]
    fn times(balance: Self::Integer, distance: i64) -> S {
        let slope: S = balance.into();
        slope * S::from(distance)
    }

    /// The loss, times the denominator, of one sample at this distance below or above the quantile.
    #[inline]
    fn loss_of(self, weight: u64, distance: i64, is_below: bool) -> S {
        let slope = if is_below { self.denominator() - self.numerator() } else { self.numerator() };
        S::from(slope as i64) * S::product(weight, distance)
    }
}

/// The level one half. As the compiler knows its fraction, it takes no multiplications, and the
/// loss is the sum of all distances.
#[derive(Debug, Clone, Copy)]
pub(super) struct HalfLevel;

impl LossLevel for HalfLevel {
    #[inline]
    fn numerator(self) -> u64 {
        1
    }

    #[inline]
    fn denominator(self) -> u64 {
        2
    }

    // Weights are below 2^53, so that twice a weight does not overflow.
    #[inline]
    fn falls_short(self, part: u64, whole: u64) -> bool {
        2 * part < whole
    }
}

impl<S: Moment> Balance<S> for HalfLevel {
    type Integer = i64;
}

impl LossLevel for QuantileLevel {
    #[inline]
    fn numerator(self) -> u64 {
        self.numerator()
    }

    #[inline]
    fn denominator(self) -> u64 {
        self.denominator()
    }
}

/// The type `S` is chosen so that it has room for the denominator.
impl<S: Moment> Balance<S> for QuantileLevel {
    type Integer = S;
}
