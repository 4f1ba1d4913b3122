//! Weighted sums of the numbers of several outputs: what a scan keeps of the pushed samples, what
//! two candidates are compared by, and what the packed forms and the statistics of small subtrees
//! ask of a criterion that needs such sums alone.

use super::statistics::Statistics;
use super::weights::Moment;
use crate::num::log2::near_log2;

/// The most outputs of packed forms and of small subtrees.
pub const MAX_OUTPUTS: usize = 8;

/// The [`OverSums::LOSS`] of squared error: the score of a cut is a sum of squares over the product
/// of the weights of both sides. Loops take it as a parameter.
pub const SQUARES: usize = 0;
/// The [`OverSums::LOSS`] of Poisson deviance: the score of a cut is a sum of logarithms.
pub const LOGS: usize = 1;

/// A criterion whose scores follow from weighted sums of integers, one for each output.
pub trait OverSums: Statistics {
    /// [`SQUARES`] or [`LOGS`].
    const LOSS: usize;
    /// Sums of weights times numbers.
    type Sum: Moment;

    /// The number of outputs. `None` if there are more than [`MAX_OUTPUTS`], if a weight may need
    /// more than 32 bits, or if a sum of weights times [numbers](Self::rows) or of weights times
    /// differences between numbers may need more than 64 bits; 53 bits for logarithms.
    fn n_narrow_outputs(&self) -> Option<usize>;

    /// The number of outputs as [`n_narrow_outputs`](Self::n_narrow_outputs) says it. `None` also if
    /// [`narrow_value`](Self::narrow_value) cannot tell what a node predicts.
    fn n_small_outputs(&self) -> Option<usize>;

    /// By how many bits the unit of the numbers of an output is coarser than the finest of all
    /// outputs.
    fn shift(&self, output: usize) -> u32;

    /// Whether all weights are 1.
    fn are_unit(&self) -> bool;

    /// The unit of an output, see [`Whole::factor`].
    fn unit(&self, output: usize) -> f64;

    /// Tells the weight of a sample and its number in an output, one that has
    /// [few bits](Self::n_narrow_outputs). It is made once for a loop over samples, so that what does not
    /// change stays in registers.
    fn rows(&self, output: usize) -> impl Fn(u32) -> (u64, i64);

    /// The sums of a node in an output of this [unit](Self::unit).
    fn whole(node: &Self::Totals, output: usize, unit: f64) -> Whole;

    /// The state of a scan that has pushed rows of this weight and of these sums, one per output, of
    /// weights times the differences between numbers and [`Whole::floor`].
    fn pushed_sums(
        &self,
        node: &Self::Totals,
        scan: &mut Self::Scan,
        weight: u64,
        sums: impl Iterator<Item = Self::Sum>,
    ) -> Self::Pushed;

    /// The part of an output in the [impurity](Statistics::impurity) of a node that is not pure; the
    /// same bits, but not yet divided by the number of outputs.
    fn narrow_impurity(&self, output: usize, totals: &NarrowTotals) -> f64;

    /// The [value](Statistics::write_value) of an output in a node with these samples; the same bits.
    fn narrow_value(&self, output: usize, samples: &[u32], totals: &NarrowTotals) -> f64;
}

/// Exact sums of a small node in one output.
#[derive(Debug, Clone, Copy, Default)]
pub struct NarrowTotals {
    /// The weight of the node.
    pub weight: u64,
    /// A number from which the others are distances `q`.
    pub origin: i64,
    /// `sum w q`.
    pub sum: i64,
    /// `weight^2` times the variance of the numbers.
    pub variance: u128,
    /// For logarithms, `sum w q L(q)` (see `criterion::poisson`).
    pub terms: u128,
}

/// The sums of a node in one output, as loops over its cuts need them.
///
/// excess(S) = sum over the rows of S of weight * (number - floor - fraction)
#[derive(Debug, Clone, Copy, Default)]
pub struct Whole {
    /// An integer that is subtracted from all numbers.
    pub floor: i64,
    /// The weight of the node.
    pub weight: f64,
    /// The node's sum of weights times numbers, for logarithms alone.
    pub sum: f64,
    /// The fraction that is subtracted from all numbers, besides `floor`.
    pub fraction: f64,
    /// The mean of the node, less `floor + fraction`.
    pub mean: f64,
    /// Excesses are multiplied by this factor before they are squared. For logarithms: the unit of the score
    /// over the unit of the numbers.
    pub factor: f64,
    /// The unit of bounds. For squares, the score of a cut is `D^2 / (w (W - w))`, where `D` is the
    /// excess of a side, its square in the unit of bounds, and `w` and `W - w` are the weights of
    /// both sides.
    ///
    /// For logarithms, the score is at most `(1 + d) D^2 W / (w (W - w))` with `d = min(1, steepness |D| /
    /// min(w, W - w))`. That follows from `(1 + u) ln(1 + u) <= u + u^2 / 2` for `u >= 0`, and with `|u|^3 /
    /// 2` more for `-1 <= u < 0`, where `u` is the excess of the mean of a side over the mean of the node,
    /// relative to the mean of the node.
    pub bound_unit: f64,
    /// See [`bound_unit`](Self::bound_unit).
    pub steepness: f64,
    /// Bounds are raised by this, as scores and excesses are rounded.
    pub bound_error: f64,
}

impl Whole {
    /// The output's part of the score of a cut that has rows of this weight and excess on one side:
    /// the numerator for squares. For logarithms, minus infinity if the sum of a side is 0.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
    pub fn part<const LOSS: usize>(&self, weight: f64, excess: f64) -> f64 {
        if LOSS == LOGS {
            let rest = self.sum - excess;
            let log = |sum: f64, weight: f64| near_log2(sum * self.weight / (weight * self.sum));
            let part = (excess * log(excess, weight) + rest * log(rest, self.weight - weight)) * self.factor;
            if excess > 0.0 && rest > 0.0 { part } else { f64::NEG_INFINITY }
        } else {
            let excess = excess * self.factor;
            excess * excess
        }
    }
}

/// The numbers of a sample in an array with `n_outputs` numbers per sample.
#[inline]
pub(super) fn row<T>(all: &[T], sample: u32, n_outputs: usize) -> &[T] {
    if n_outputs == 1 {
        std::slice::from_ref(&all[sample as usize])
    } else {
        &all[sample as usize * n_outputs..][..n_outputs]
    }
}

/// Per output, by how many bits its scale is coarser than the finest: fixed-point values times
/// 2 to this power have one scale for all outputs.
pub(super) fn shifts(scale: &[i32]) -> impl Iterator<Item = u32> {
    let finest = scale.iter().copied().max().unwrap_or(0);
    scale.iter().map(move |scale| (finest - scale) as u32)
}

/// Per output, 2 to the power of its shift.
pub(super) fn factors(scale: &[i32]) -> Box<[f64]> {
    shifts(scale).map(|shift| 2f64.powi(shift as i32)).collect()
}

/// The weight of the pushed samples, and their weighted sum for the first output. A scan keeps the
/// sums for the other outputs, which are none in most trees.
#[derive(Debug, Clone, Copy, Default)]
pub struct SumPushed<S> {
    pub(super) weight: u64,
    pub(super) first: S,
}

/// The weight of the pushed samples and their sums: for the first output, and for the other
/// outputs.
pub type SumProof<S> = (SumPushed<S>, Box<[S]>);

impl<S: Moment> SumPushed<S> {
    /// Samples of this weight and these sums, one for each output; sets `others` to all but the
    /// first.
    pub(crate) fn new(weight: u64, mut sums: impl Iterator<Item = S>, others: &mut [S]) -> Self {
        let first = sums.next().unwrap_or_default();
        others.iter_mut().zip(sums).for_each(|(other, sum)| *other = sum);
        Self { weight, first }
    }

    /// Pushes a sample with this weight and these numbers.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "as `push` of a criterion")]
    pub(super) fn push(&mut self, others: &mut [S], weight: u64, numbers: &[i64]) {
        self.weight += weight;
        self.first = self.first.plus_product(weight, numbers[0]);
        for (sum, &number) in others.iter_mut().zip(&numbers[1..]) {
            *sum = sum.plus_product(weight, number);
        }
    }

    /// The sums of all outputs.
    #[inline]
    pub(super) fn sums(&self, others: &[S]) -> impl Iterator<Item = S> {
        std::iter::once(self.first).chain(others.iter().copied())
    }
}

/// Whether two candidates have the same weights and sums on their sides, perhaps with the sides exchanged.
/// `weight` and `sums` are the node's.
pub(super) fn are_same<S: Moment>(
    weight: u64,
    sums: impl Iterator<Item = S>,
    (a, a_others): &SumProof<S>,
    (b, b_others): &SumProof<S>,
) -> bool {
    let rest = sums.zip(b.sums(b_others)).map(|(whole, sum)| whole - sum);
    (a.weight == b.weight && a.sums(a_others).eq(b.sums(b_others)))
        || (a.weight == weight - b.weight && a.sums(a_others).eq(rest))
}
