//! Sums of weights and of weighted targets over some samples.

use super::level::LossLevel;
use crate::criterion::weights::Moment;

/// The weight of some samples and the sum of their weighted targets.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct WeightedSum<S> {
    pub(super) weight: u64,
    sum: S,
}

impl<S: Moment> WeightedSum<S> {
    /// The sums with one sample more.
    #[inline]
    pub(super) fn with(self, weight: u64, value: i64) -> Self {
        Self { weight: self.weight + weight, sum: self.sum.plus_product(weight, value) }
    }

    /// The sums with one sample less.
    #[inline]
    pub(super) fn without(self, weight: u64, value: i64) -> Self {
        Self { weight: self.weight - weight, sum: self.sum.minus_product(weight, value) }
    }

    /// The sums over the samples of both parts, which share none.
    pub(super) fn plus(self, other: Self) -> Self {
        Self { weight: self.weight + other.weight, sum: self.sum + other.sum }
    }

    /// Subtracts `other`, whose samples must all be in this part: the sums over the remaining samples.
    pub(super) fn minus(self, other: Self) -> Self {
        Self { weight: self.weight - other.weight, sum: self.sum - other.sum }
    }

    /// The sum of the weighted distances from a point, which no target is below.
    #[inline]
    pub(super) fn excess_over(self, point: i64) -> S {
        self.sum.minus_product(self.weight, point)
    }

    /// The sum of the weighted distances from a point, which no target is above.
    #[inline]
    pub(super) fn lack_of(self, point: i64) -> S {
        S::product(self.weight, point) - self.sum
    }
}

/// The number and the weight of the samples below the quantile, and the loss of all samples, which come in
/// the order of their targets as weight and target. `weight` is their total weight. O(n).
pub(super) fn around<S: Moment>(
    level: impl LossLevel,
    weight: u64,
    mut samples: impl Iterator<Item = (u64, i64)>,
) -> (usize, u64, S) {
    let (mut n_below, mut below, mut point) = (0, WeightedSum::<S>::default(), 0);
    for (w, value) in samples.by_ref() {
        if !level.falls_short(below.weight + w, weight) {
            point = value;
            break;
        }
        below = below.with(w, value);
        n_below += 1;
    }
    let above: WeightedSum<S> = samples.fold(WeightedSum::default(), |part, (w, value)| part.with(w, value));
    (n_below, below.weight, level.loss(above.excess_over(point), below.lack_of(point)))
}
