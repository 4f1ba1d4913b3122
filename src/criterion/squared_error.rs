//! Squared error: the variance around the mean (Breiman et al., "Classification and Regression
//! Trees", 1984, section 8.3; the O(1) update is that of "Climbing trees 2" and "Faster Regression
//! Tree", section "L2 loss reduction").
//!
//! Let `q` be the fixed-point targets, `w` the weight of the pushed samples and `s = sum w q` their
//! weighted sum, and `W` and `S` those of the node. The excess `D = s - w S / W` is the weight `w`
//! times the distance between the mean of the pushed samples and the node's mean. The variance
//! falls by a constant times `D^2 / (w (W - w))`, which is the score. To lose nothing by
//! cancellation, the node's sum is split in integers, `S = mean W + rest` with `0 <= rest < W`.
//! Then `D = (s - w mean) - w rest / W`, where the first term is exact and the second is below `w`.
//!
//! The exact score is the integer `(W D)^2` over the integer `w (W - w)`. Bits, at worst:
//! `W < 2^52` and `|q| < 2^60`, so `|W D| <= 2 W^2 max |q| < 2^165`. That is squared, shifted by
//! the spread of the outputs' scales (2 * 90), summed over up to 2^20 outputs and multiplied by a
//! denominator below 2^102: 330 + 180 + 20 + 102 < 640.
//!
//! Where the targets of a node span few fixed-point units (beside outliers of many orders of
//! magnitude), its mean is computed from the targets as given, in a fixed point of its own.

use std::cmp::Ordering;

use std::marker::PhantomData;

use smallvec::SmallVec;

use super::packed::PackedSums;
use super::weights::{Moment, SampleWeights};
use super::{Bounded, Ordered, QUOTIENT_SLACK, Statistics};
use crate::data::target::{ABOVE_ZERO, FINE_BITS, Numbers, above_zero};
use crate::num::{Exact, Ratio, Wide, exponent, scale_by_power_of_two};

/// A node whose standard deviation is below 2 to this power, in fixed-point units, has its mean
/// refined.
const REFINE_BELOW_BITS: i32 = 20;

/// Fractional bits of a variance in fixed-point units. Weights are below 2^52, so the least
/// variance above 0 is 2^-104, and keeps 24 bits.
const QUOTIENT_BITS: u32 = 128;

/// Squared error over the targets of samples; `M` is the integer type of sums of weighted
/// fixed-point targets.
pub struct SquaredError<'a, W, M> {
    pub(super) numbers: &'a Numbers,
    pub(super) weights: W,
    pub(super) n_outputs: usize,
    /// Per output, `finest - scale`: fixed-point values times `2^shift` have one scale for all
    /// outputs.
    shifts: Box<[u32]>,
    /// Per output, `2^shift`.
    factors: Box<[f64]>,
    /// Per output, the range of the fixed-point targets.
    spans: Box<[Span]>,
    moment: PhantomData<M>,
}

/// The range of the fixed-point targets of an output, extended to include 0.
#[derive(Debug, Clone, Copy)]
struct Span {
    low: f64,
    high: f64,
    /// The mean of the targets without weights. Summaries measure distances from it.
    center: f64,
}

/// The weight of some samples, and an upper bound of the sum of their weighted squared distances
/// from the center.
#[derive(Debug, Clone, Copy, Default)]
pub struct SpreadSummary {
    weight: u64,
    spread: f64,
}

/// What the bounds need to know of a node.
#[derive(Debug, Default)]
pub struct SumCeiling {
    weight: f64,
    /// The distance between the node's mean and the center.
    shift: f64,
    /// The squared distance between the node's mean and the farthest target of all samples.
    radius: f64,
}

/// Sums over the samples of a node.
#[derive(Debug)]
pub struct SumTotals<M: Moment> {
    pub(super) weight: u64,
    pub(super) outputs: SmallVec<[OutputTotals<M>; 1]>,
}

/// Sums over the samples of a node for one output.
#[derive(Debug)]
pub struct OutputTotals<M: Moment> {
    /// `S = sum w q`.
    sum: M,
    /// `sum w q^2`.
    squares: M::Exact,
    /// `weight^2` times the variance, in fixed-point units.
    variance: M::Exact,
    /// `floor(sum / weight)`.
    pub(super) mean: i64,
    /// `sum - weight * mean`, in `[0, weight)`.
    rest: u64,
    /// `rest / weight`, in `[0, 1)`.
    pub(super) fraction: f64,
}

/// The weight of the pushed samples, and their weighted sum `s` for the first output.
#[derive(Debug, Clone, Copy)]
pub struct SumPushed<M> {
    pub(super) weight: u64,
    pub(super) first: M,
}

/// The weight of the pushed samples and their sums: for the first output, and for the other
/// outputs.
type SumProof<M> = (SumPushed<M>, Box<[M]>);

impl<'a, W: SampleWeights, M: Moment> SquaredError<'a, W, M> {
    /// The criterion over these targets and weights.
    pub fn new(numbers: &'a Numbers, weights: W) -> Self {
        let finest = numbers.scale.iter().copied().max().unwrap_or(0);
        let shifts: Box<[u32]> = numbers.scale.iter().map(|scale| (finest - scale) as u32).collect();
        let factors = shifts.iter().map(|&shift| 2f64.powi(shift as i32)).collect();
        let n_outputs = numbers.scale.len();
        let spans = (0..n_outputs).map(|output| {
            let values = || numbers.fixed.iter().skip(output).step_by(n_outputs).map(|&q| q as f64);
            let (low, high) = values().fold((0f64, 0f64), |(low, high), q| (low.min(q), high.max(q)));
            Span { low, high, center: values().sum::<f64>() / (values().len() as f64) }
        });
        let spans = spans.collect();
        Self { numbers, weights, n_outputs, shifts, factors, spans, moment: PhantomData }
    }

    /// The mean of an output, in the unit of the targets as given, from a sum of fixed-point
    /// targets.
    fn mean_of(&self, sum: M, weight: u64, output: usize) -> f64 {
        let (center, scale) = (self.numbers.center[output], self.numbers.scale[output]);
        // Only the quotient is rounded, unless center or sum need more than the 53 bits of a
        // double.
        let total = center * weight as f64 + scale_by_power_of_two(sum.to_f64(), -scale);
        if total.is_finite() {
            return total / weight as f64;
        }
        center + scale_by_power_of_two(sum.to_f64() / weight as f64, -scale)
    }

    #[inline]
    fn values(&self, sample: u32) -> &[i64] {
        if self.n_outputs == 1 {
            std::slice::from_ref(&self.numbers.fixed[sample as usize])
        } else {
            &self.numbers.fixed[sample as usize * self.n_outputs..][..self.n_outputs]
        }
    }

    fn summed(weight: u64, outputs: impl Iterator<Item = (M, M::Exact)>) -> SumTotals<M> {
        let outputs = outputs.map(|(sum, squares)| {
            let (mean, rest) = sum.divided(weight);
            let magnitude = M::Exact::from(sum.to_i128().unsigned_abs());
            let variance = squares.times(&u128::from(weight).into()).minus(&magnitude.times(&magnitude));
            OutputTotals { sum, squares, variance, mean, rest, fraction: rest as f64 / weight as f64 }
        });
        SumTotals { weight, outputs: outputs.collect() }
    }

    /// The mean of the targets as given, to some 60 bits of their range in the node. Does not
    /// depend on the order of samples. Exact if all targets are equal.
    fn refined_mean(&self, samples: &[u32], output: usize) -> f64 {
        let raw = |sample: u32| self.numbers.raw[sample as usize * self.n_outputs + output];
        let extremes = |(low, high): (f64, f64), &sample: &u32| (low.min(raw(sample)), high.max(raw(sample)));
        let (low, high) = samples.iter().fold((f64::INFINITY, f64::NEG_INFINITY), extremes);
        if low == high {
            return low;
        }
        // Where the range is too large for a double, all targets are halved.
        let half = if (high - low).is_finite() { 1.0 } else { 0.5 };
        let scale = FINE_BITS as i32 - 2 - exponent(high * half - low * half);
        let (mut weight, mut sum) = (0u64, 0i128);
        for &sample in samples {
            let w = self.weights.weight(sample);
            weight += w;
            sum +=
                i128::from(w) * scale_by_power_of_two(raw(sample) * half - low * half, scale).round_ties_even() as i128;
        }
        let (whole, rest) = (sum / i128::from(weight), sum % i128::from(weight));
        let above = scale_by_power_of_two(whole as f64 + rest as f64 / weight as f64, -scale);
        if half == 1.0 { low + above } else { low + above + above }
    }

    /// The squared distance between a sample and a point, over all outputs in the finest scale.
    /// `from` gives the distance in one output, from the fixed-point target and the output's span.
    #[inline]
    fn distance_from(&self, sample: u32, from: impl Fn(f64, &Span) -> f64) -> f64 {
        let values = self.values(sample).iter().zip(&self.spans).zip(&self.factors);
        values.map(|((&q, span), factor)| (from(q as f64, span) * factor).powi(2)).sum()
    }

    /// The weighted squared distance between a sample and the center.
    #[inline]
    fn spread(&self, sample: u32) -> f64 {
        self.weights.weight(sample) as f64 * self.distance_from(sample, |q, span| q - span.center)
    }

    /// The squared excess `D^2` of the pushed samples, summed over outputs. `others` has their sums
    /// for all outputs but the first.
    #[inline]
    fn squares(&self, node: &SumTotals<M>, others: &[M], pushed: SumPushed<M>) -> f64 {
        let weight = pushed.weight as i64 as f64;
        let mut squares = 0.0;
        let sums = std::iter::once(&pushed.first).chain(others);
        for ((&sum, output), &factor) in sums.zip(&node.outputs).zip(&self.factors) {
            let excess = sum.minus_product(pushed.weight, output.mean).to_f64() - weight * output.fraction;
            squares += (excess * factor) * (excess * factor);
        }
        squares
    }

    /// The product `w (W - w)` of the weights of both sides.
    #[inline]
    fn product(node: &SumTotals<M>, pushed: SumPushed<M>) -> f64 {
        pushed.weight as i64 as f64 * (node.weight - pushed.weight) as i64 as f64
    }

    /// Whether two candidates have the same weights and sums on their sides, perhaps with the sides
    /// exchanged.
    fn are_same(node: &SumTotals<M>, (a, a_others): &SumProof<M>, (b, b_others): &SumProof<M>) -> bool {
        let a_sums = || std::iter::once(&a.first).chain(a_others.iter());
        let b_sums = || std::iter::once(&b.first).chain(b_others.iter());
        let others = || node.outputs.iter().zip(b_sums()).map(|(output, &sum)| output.sum - sum);
        (a.weight == b.weight && a_sums().eq(b_sums()))
            || (a.weight == node.weight - b.weight && a_sums().copied().eq(others()))
    }

    /// The exact score.
    fn ratio(&self, node: &SumTotals<M>, (pushed, others): &SumProof<M>) -> Ratio {
        let (node_weight, weight): (Wide, _) = (Wide::from(u128::from(node.weight)), pushed.weight);
        let mut numerator = Wide::ZERO;
        let sums = std::iter::once(&pushed.first).chain(others.iter());
        for ((&sum, output), &shift) in sums.zip(&node.outputs).zip(&self.shifts) {
            // W D = W (s - w mean) - w rest
            let whole = sum.minus_product(weight, output.mean).to_i128();
            let product = node_weight.times(&Wide::from(whole.unsigned_abs()));
            let rest = Wide::from(u128::from(weight) * u128::from(output.rest));
            let excess = match (whole < 0, product >= rest) {
                (true, _) => product.plus(&rest),
                (false, true) => product.minus(&rest),
                (false, false) => rest.minus(&product),
            };
            numerator = numerator.plus(&excess.times(&excess).shifted(2 * shift));
        }
        Ratio { numerator, denominator: u128::from(weight) * u128::from(node.weight - weight) }
    }
}

impl<W: SampleWeights, M: Moment> Statistics for SquaredError<'_, W, M> {
    type Totals = SumTotals<M>;
    /// The weighted sums of the pushed samples, for all outputs but the first.
    type Scan = Box<[M]>;
    type Pushed = SumPushed<M>;
    type Proof = SumProof<M>;
    type Packed = PackedSums;

    fn totals(&self, samples: &[u32]) -> Self::Totals {
        let weight = samples.iter().map(|&sample| self.weights.weight(sample)).sum();
        let outputs = (0..self.n_outputs).map(|output| {
            let (mut sum, mut squares) = (M::default(), Squares::default());
            for &sample in samples {
                let (w, q) = (self.weights.weight(sample), self.values(sample)[output]);
                sum = sum.plus_product(w, q);
                squares.add(w, q.unsigned_abs());
            }
            (sum, squares.total())
        });
        Self::summed(weight, outputs)
    }

    fn minus(&self, node: &Self::Totals, child: &Self::Totals) -> Self::Totals {
        let outputs = node.outputs.iter().zip(&child.outputs);
        let outputs = outputs.map(|(a, b)| (a.sum - b.sum, a.squares.minus(&b.squares)));
        Self::summed(node.weight - child.weight, outputs)
    }

    fn weight(&self, totals: &Self::Totals) -> u64 {
        totals.weight
    }

    fn is_pure(&self, totals: &Self::Totals) -> bool {
        totals.outputs.iter().all(|output| output.variance.is_zero())
    }

    fn impurity(&self, totals: &Self::Totals) -> f64 {
        let variance = |(output, &scale): (&OutputTotals<M>, &i32)| {
            if output.variance.is_zero() {
                return 0.0;
            }
            // Proportional weights give the same quotient, so the same bits. The quotient has more
            // than 24 bits.
            let scaled = output.variance.shifted(QUOTIENT_BITS);
            let quotient = scaled.divided(totals.weight).divided(totals.weight).to_f64();
            scale_by_power_of_two(quotient, -2 * scale - QUOTIENT_BITS as i32)
        };
        totals.outputs.iter().zip(&self.numbers.scale).map(variance).sum::<f64>() / self.n_outputs as f64
    }

    fn write_value(&self, totals: &Self::Totals, samples: &[u32], value: &mut [f64]) {
        for (output, (mean, sums)) in value.iter_mut().zip(&totals.outputs).enumerate() {
            let square = totals.weight as f64 * totals.weight as f64;
            let is_coarse = sums.variance.to_f64() < square * 2f64.powi(2 * REFINE_BELOW_BITS);
            *mean = if is_coarse {
                self.refined_mean(samples, output)
            } else {
                let fixed = sums.mean as f64 + sums.fraction;
                self.numbers.center[output] + scale_by_power_of_two(fixed, -self.numbers.scale[output])
            };
        }
    }

    fn n_means(&self) -> usize {
        self.n_outputs
    }

    fn mean(&self, totals: &SumTotals<M>, output: usize) -> f64 {
        self.mean_of(totals.outputs[output].sum, totals.weight, output)
    }

    fn side_means(&self, node: &SumTotals<M>, others: &Box<[M]>, pushed: SumPushed<M>, output: usize) -> [f64; 2] {
        let sum = if output == 0 { pushed.first } else { others[output - 1] };
        let rest = node.outputs[output].sum - sum;
        [self.mean_of(sum, pushed.weight, output), self.mean_of(rest, node.weight - pushed.weight, output)]
    }

    fn scan(&self) -> Box<[M]> {
        vec![M::default(); self.n_outputs - 1].into()
    }

    #[inline]
    fn begin(&self, _node: &Self::Totals, others: &mut Box<[M]>) -> Self::Pushed {
        // With one output the list is empty, and a call that does nothing would still cost time.
        if !others.is_empty() {
            others.fill(M::default());
        }
        SumPushed { weight: 0, first: M::default() }
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "one call per entry; left out of line it costs a fifth of bench `fit`")]
    fn push(&self, _node: &Self::Totals, others: &mut Box<[M]>, pushed: &mut Self::Pushed, sample: u32) {
        let w = self.weights.weight(sample);
        pushed.weight += w;
        let values = self.values(sample);
        pushed.first = pushed.first.plus_product(w, values[0]);
        for (sum, &q) in others.iter_mut().zip(&values[1..]) {
            *sum = sum.plus_product(w, q);
        }
    }

    #[inline]
    fn pushed_weight(pushed: &Self::Pushed) -> u64 {
        pushed.weight
    }

    #[inline]
    fn score(&self, node: &Self::Totals, others: &Box<[M]>, pushed: Self::Pushed) -> f64 {
        self.squares(node, others, pushed) / Self::product(node, pushed)
    }

    #[inline]
    fn may_score(&self, node: &Self::Totals, others: &Box<[M]>, pushed: Self::Pushed, least: f64) -> bool {
        self.squares(node, others, pushed) >= least * Self::product(node, pushed) * QUOTIENT_SLACK
    }

    /// The excess `D` has a relative error of a few units of 2^-53, and an absolute error below
    /// `2^-50 w` fixed-point units.
    #[inline]
    fn tolerance(&self, node: &Self::Totals, score: f64) -> f64 {
        let coarsest = self.factors.iter().fold(1f64, |a, &b| a.max(b));
        let absolute = node.weight as f64 * self.n_outputs as f64 * coarsest * coarsest * 2f64.powi(-45);
        score * (64.0 * f64::EPSILON) + absolute
    }

    fn proof(&self, others: &Box<[M]>, pushed: Self::Pushed) -> Self::Proof {
        (pushed, others.clone())
    }

    fn compare(&self, node: &Self::Totals, a: &Self::Proof, b: &Self::Proof) -> Ordering {
        if Self::are_same(node, a, b) {
            return Ordering::Equal;
        }
        self.ratio(node, a).compare(&self.ratio(node, b))
    }

    fn cost(&self, totals: &Self::Totals) -> f64 {
        let variance = |(output, factor): (&OutputTotals<M>, &f64)| output.variance.to_f64() * factor * factor;
        totals.outputs.iter().zip(&self.factors).map(variance).sum::<f64>() / totals.weight as f64
    }

    fn sample_weight(&self, sample: u32) -> u64 {
        self.weights.weight(sample)
    }
}

impl<W: SampleWeights, M: Moment> Ordered for SquaredError<'_, W, M> {
    fn order(&self, order: usize) -> impl Fn(u32) -> u64 {
        move |sample| above_zero(self.values(sample)[order])
    }

    fn order_total(&self, totals: &Self::Totals, _samples: &[u32], order: usize) -> u128 {
        (totals.outputs[order].sum.to_i128() + i128::from(totals.weight) * i128::from(ABOVE_ZERO)) as u128
    }

    fn pushes_sums(&self) -> bool {
        self.n_outputs == 1
    }

    fn push_sum(&self, _node: &Self::Totals, pushed: &mut Self::Pushed, weight: u64, sum: u128) {
        pushed.weight += weight;
        pushed.first = pushed.first.plus_sum(sum as i128 - i128::from(weight) * i128::from(ABOVE_ZERO));
    }
}

impl<W: SampleWeights, M: Moment> Bounded for SquaredError<'_, W, M> {
    type Summary = SpreadSummary;
    type Ceiling = SumCeiling;
    const IS_SQUARED_DISTANCE: bool = true;

    /// The best cut of the samples in the order of their targets, for few samples of one output:
    /// the best partition of points on a line is into intervals (Fisher, "On grouping for maximum
    /// homogeneity", 1958).
    fn best_conceivable(&self, node: &Self::Totals, samples: &[u32], scan: &mut Box<[M]>) -> Option<Self::Proof> {
        const MOST: usize = 8;
        let n = samples.len();
        if self.n_outputs > 1 || n > MOST {
            return None;
        }
        let mut order = [(0, 0); MOST];
        let order = &mut order[..n];
        for (slot, &sample) in order.iter_mut().zip(samples) {
            *slot = (self.numbers.fixed[sample as usize], sample);
        }
        order.sort_unstable();
        let mut pushed = self.begin(node, scan);
        let mut best: Option<(f64, SumPushed<M>)> = None;
        for &(_, sample) in &order[..n - 1] {
            self.push(node, scan, &mut pushed, sample);
            let score = self.score(node, scan, pushed);
            let wins = best.is_none_or(|(highest, old)| {
                let tolerance = self.tolerance(node, highest.max(score));
                let proof = |pushed| (pushed, Box::default());
                if (score - highest).abs() > tolerance {
                    score > highest
                } else {
                    self.compare(node, &proof(pushed), &proof(old)) == Ordering::Greater
                }
            });
            if wins {
                best = Some((score, pushed));
            }
        }
        best.map(|(_, pushed)| (pushed, Box::default()))
    }

    fn gain(&self, node: &Self::Totals, score: f64) -> f64 {
        score * node.weight as f64
    }

    fn summary(&self, samples: impl Iterator<Item = u32> + Clone, _scan: &mut Box<[M]>) -> SpreadSummary {
        let mut summary = SpreadSummary::default();
        for sample in samples {
            summary.weight += self.weights.weight(sample);
            summary.spread = (summary.spread + self.spread(sample)) * (1.0 + 4.0 * f64::EPSILON);
        }
        summary
    }

    #[inline]
    fn exclude(&self, summary: &mut SpreadSummary, sample: u32) {
        summary.weight -= self.weights.weight(sample);
        let spread = summary.spread * (1.0 + 4.0 * f64::EPSILON) - self.spread(sample) * (1.0 - 4.0 * f64::EPSILON);
        summary.spread = spread.max(0.0);
    }

    #[inline]
    fn summary_weight(summary: &SpreadSummary) -> u64 {
        summary.weight
    }

    fn farthest_distance(&self, sample: u32) -> f64 {
        let distance = self.distance_from(sample, |q, span| (q - span.low).max(span.high - q));
        self.weights.weight(sample) as f64 * distance
    }

    fn distance(&self, node: &Self::Totals, _ceiling: &SumCeiling, sample: u32) -> f64 {
        let outputs = self.values(sample).iter().zip(&node.outputs).zip(&self.factors);
        outputs
            .map(|((&q, output), factor)| ((q as f64 - (output.mean as f64 + output.fraction)) * factor).powi(2))
            .sum()
    }

    fn ceiling(&self, node: &Self::Totals) -> SumCeiling {
        let (mut shift, mut radius) = (0.0, 0.0);
        for ((output, span), factor) in node.outputs.iter().zip(&self.spans).zip(&self.factors) {
            let mean = output.mean as f64 + output.fraction;
            shift += ((mean - span.center) * factor).powi(2);
            radius += ((mean - span.low).max(span.high - mean) * factor).powi(2);
        }
        SumCeiling { weight: node.weight as f64, shift: shift.sqrt(), radius }
    }

    /// By Cauchy and Schwarz, the gain of a subset is at most `W / (W - w)` times the sum of the
    /// weighted squared distances of all the summary's samples from the node's mean. The triangle
    /// inequality bounds that sum by the one from the center.
    #[inline]
    fn most_gain(ceiling: &SumCeiling, summary: &SpreadSummary) -> f64 {
        let (n, m) = (ceiling.weight, summary.weight as f64);
        let spread = (summary.spread.sqrt() + m.sqrt() * ceiling.shift).powi(2);
        if m < n { spread * n / (n - m) } else { f64::INFINITY }
    }

    fn radius(ceiling: &SumCeiling) -> f64 {
        ceiling.radius
    }
}

/// A sum `sum w q^2`, below 2^172, as `high * 2^64 + low`.
#[derive(Default)]
struct Squares {
    low: u128,
    high: u128,
}

impl Squares {
    #[inline]
    fn add(&mut self, weight: u64, value: u64) {
        // `weight * value` is below 2^112 and `value` below 2^60. Only the low half of the product
        // enters `low`, which stays below 2^124 + 2^64; what exceeds 64 bits of `low` is carried
        // over to `high`, so that both sums stay small.
        let product = u128::from(weight) * u128::from(value);
        self.low += u128::from(product as u64) * u128::from(value);
        self.high += (product >> 64) * u128::from(value) + (self.low >> 64);
        self.low = u128::from(self.low as u64);
    }

    fn total<E: Exact>(&self) -> E {
        E::from(self.high).shifted(64).plus(&E::from(self.low))
    }
}
