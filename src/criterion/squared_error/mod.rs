//! Squared error: the variance around the mean (Breiman et al., "Classification and Regression Trees", 1984,
//! section 8.3; the O(1) update is from "Climbing trees 2" and "Faster Regression Tree", section "L2 loss
//! reduction").
//!
//! Let `q` be the fixed-point targets, `w` the weight of the pushed samples and `s = sum w q` their weighted
//! sum, and `W` and `S` the node's weight and sum. The excess `D = s - w S / W` is the weight `w` times the
//! distance between the mean of the pushed samples and the node's mean. The variance falls by a constant
//! times `D^2 / (w (W - w))`, which is the score. To lose nothing by cancellation, the node's sum is split in
//! integers, `S = mean W + rest` with `0 <= rest < W`. Then `D = (s - w mean) - w rest / W`, where the first
//! term is exact and the second is below `w`.
//!
//! The exact score is the integer `(W D)^2` over the integer `w (W - w)`. Bits, at worst:
//! `W < 2^52` and `|q| < 2^60`, so `|W D| <= 2 W^2 max |q| < 2^165`. That is squared, shifted by
//! the spread of the outputs' scales (2 * 90), summed over up to 2^20 outputs and multiplied by a
//! denominator below 2^102: 330 + 180 + 20 + 102 < 640.
//!
//! Where the targets of a node span few fixed-point units (beside outliers of many orders of
//! magnitude), its mean is computed from the targets as given, in a fixed point of its own.

mod bounds;

use std::cmp::Ordering;

use smallvec::SmallVec;

use super::ordered::Ordered;
use super::statistics::{QUOTIENT_SLACK, Statistics};
use super::sums::{
    MAX_OUTPUTS, NarrowTotals, OverSums, SQUARES, SumProof, SumPushed, Whole, are_same, factors, row, shifts,
};
use super::weights::{Moment, SampleWeights};
use crate::data::target::{ABOVE_ZERO, FINE_BITS, Numbers, above_zero};
use crate::num::{Exact, Ratio, Wide, exponent, quotient_by_two_to_128, round_ties_even, scale_by_power_of_two};

use bounds::Span;

/// A node whose standard deviation is below 2 to this power, in fixed-point units, has its mean
/// refined.
const REFINE_BELOW_BITS: i32 = 20;

/// Fractional bits of a variance in fixed-point units. Weights are below 2^52, so the least
/// variance above 0 is 2^-104, and keeps 24 bits.
const QUOTIENT_BITS: u32 = 128;

/// Squared error over the targets of samples.
pub struct SquaredError<'a, W> {
    pub(super) numbers: &'a Numbers,
    pub(super) weights: W,
    pub(super) n_outputs: usize,
    /// Per output: fixed-point values times the factor have one scale for all outputs.
    factors: Box<[f64]>,
    /// Per output, the range of the fixed-point targets.
    spans: Box<[Span]>,
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

impl<M: Moment> SumTotals<M> {
    /// The totals from the weight and, per output, `sum w q` and `sum w q^2`.
    fn new(weight: u64, outputs: impl Iterator<Item = (M, M::Exact)>) -> Self {
        let outputs = outputs.map(|(sum, squares)| {
            let (mean, rest) = sum.divided(weight);
            let magnitude = M::Exact::from(sum.to_i128().unsigned_abs());
            let variance = squares.times(&u128::from(weight).into()).minus(&magnitude.times(&magnitude));
            OutputTotals { sum, squares, variance, mean, rest, fraction: rest as f64 / weight as f64 }
        });
        Self { weight, outputs: outputs.collect() }
    }
}

impl<'a, W: SampleWeights> SquaredError<'a, W> {
    /// The criterion over these targets and weights.
    pub fn new(numbers: &'a Numbers, weights: W) -> Self {
        let n_outputs = numbers.scale.len();
        let spans = (0..n_outputs).map(|output| Span::of(numbers, output)).collect();
        let factors = factors(&numbers.scale);
        Self { numbers, weights, n_outputs, factors, spans }
    }

    /// The mean of an output, in the unit of the targets as given, from a sum of fixed-point
    /// targets.
    fn mean_of(&self, sum: W::Moment, weight: u64, output: usize) -> f64 {
        let (center, scale) = (self.numbers.center[output], self.numbers.scale[output]);
        // Only the quotient is rounded, unless center or sum need more than the 53 bits of a
        // double.
        let total = center * weight as f64 + scale_by_power_of_two(sum.to_f64(), -scale);
        if total.is_finite() {
            return total / weight as f64;
        }
        center + scale_by_power_of_two(sum.to_f64() / weight as f64, -scale)
    }

    /// The variance of an output in a node, in the unit of the targets as given. `exact` is the
    /// variance times the square of the node's weight, in fixed-point units.
    fn variance(&self, exact: <W::Moment as Moment>::Exact, weight: u64, output: usize) -> f64 {
        if exact.is_zero() {
            return 0.0;
        }
        // Proportional weights give the same quotient, so the same bits. The quotient has more than
        // 24 bits. Two divisions that round down give what one by the product gives.
        let scaled = exact.shifted(QUOTIENT_BITS);
        let quotient = match weight.checked_mul(weight) {
            Some(square) => scaled.divided(square),
            None => scaled.divided(weight).divided(weight),
        };
        self.unscaled_variance(quotient.to_f64(), output)
    }

    /// The variance in the unit of the targets as given, from one in fixed-point units times
    /// `2^QUOTIENT_BITS`.
    fn unscaled_variance(&self, quotient: f64, output: usize) -> f64 {
        scale_by_power_of_two(quotient, -2 * self.numbers.scale[output] - QUOTIENT_BITS as i32)
    }

    /// The prediction of a node with these samples for an output. `exact` is as in
    /// [`variance`](Self::variance), and `fixed` is the mean in fixed-point units.
    fn value(
        &self,
        samples: &[u32],
        output: usize,
        weight: u64,
        exact: <W::Moment as Moment>::Exact,
        fixed: f64,
    ) -> f64 {
        let square = weight as f64 * weight as f64;
        if exact.to_f64() < square * (1u64 << (2 * REFINE_BELOW_BITS)) as f64 {
            return self.refined_mean(samples, output);
        }
        self.numbers.center[output] + scale_by_power_of_two(fixed, -self.numbers.scale[output])
    }

    #[inline]
    pub(super) fn values(&self, sample: u32) -> &[i64] {
        row(&self.numbers.fixed, sample, self.n_outputs)
    }

    /// The mean of the targets as given, to some 60 bits of their range in the node. Does not
    /// depend on the order of samples. Exact if all targets are equal.
    pub(super) fn refined_mean(&self, samples: &[u32], output: usize) -> f64 {
        let raw = |sample: u32| self.numbers.raw[sample as usize * self.n_outputs + output];
        if let [sample] = *samples {
            return raw(sample);
        }
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
            let above = round_ties_even(scale_by_power_of_two(raw(sample) * half - low * half, scale));
            sum += i128::from(w) * i128::from(above as i64);
        }
        let (whole, rest) = (sum / i128::from(weight), sum % i128::from(weight));
        let above = scale_by_power_of_two(whole as f64 + rest as f64 / weight as f64, -scale);
        if half == 1.0 { low + above } else { low + above + above }
    }

    /// The squared excess `D^2` of the pushed samples, summed over outputs. `others` has their sums
    /// for all outputs but the first.
    #[inline]
    fn squares(&self, node: &SumTotals<W::Moment>, others: &[W::Moment], pushed: SumPushed<W::Moment>) -> f64 {
        let weight = pushed.weight as i64 as f64;
        let mut squares = 0.0;
        for ((sum, output), &factor) in pushed.sums(others).zip(&node.outputs).zip(&self.factors) {
            let excess = sum.minus_product(pushed.weight, output.mean).to_f64() - weight * output.fraction;
            squares += (excess * factor) * (excess * factor);
        }
        squares
    }

    /// The product `w (W - w)` of the weights of both sides.
    #[inline]
    fn product(node: &SumTotals<W::Moment>, pushed: SumPushed<W::Moment>) -> f64 {
        pushed.weight as i64 as f64 * (node.weight - pushed.weight) as i64 as f64
    }

    /// The score `(W D)^2 / (w (W - w))` of a cut, summed over outputs, as an exact quotient.
    fn ratio(&self, node: &SumTotals<W::Moment>, (pushed, others): &SumProof<W::Moment>) -> Ratio {
        let (node_weight, weight): (Wide, _) = (Wide::from(u128::from(node.weight)), pushed.weight);
        let mut numerator = Wide::ZERO;
        let sums = pushed.sums(others).zip(&node.outputs);
        for ((sum, output), shift) in sums.zip(shifts(&self.numbers.scale)) {
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

impl<W: SampleWeights> Statistics for SquaredError<'_, W> {
    type Totals = SumTotals<W::Moment>;
    /// The weighted sums of the pushed samples, for all outputs but the first.
    type Scan = Box<[W::Moment]>;
    type Pushed = SumPushed<W::Moment>;
    type Proof = SumProof<W::Moment>;

    fn totals(&self, samples: &[u32]) -> Self::Totals {
        let weight = samples.iter().map(|&sample| self.weights.weight(sample)).sum();
        let outputs = (0..self.n_outputs).map(|output| {
            let (mut sum, mut squares) = (W::Moment::default(), WideSquares::default());
            for &sample in samples {
                let (w, q) = (self.weights.weight(sample), self.values(sample)[output]);
                sum = sum.plus_product(w, q);
                squares.add(w, q.unsigned_abs());
            }
            (sum, squares.total())
        });
        SumTotals::new(weight, outputs)
    }

    fn minus(&self, node: &Self::Totals, child: &Self::Totals) -> Self::Totals {
        let outputs = node.outputs.iter().zip(&child.outputs);
        let outputs = outputs.map(|(a, b)| (a.sum - b.sum, a.squares.minus(&b.squares)));
        SumTotals::new(node.weight - child.weight, outputs)
    }

    fn weight(&self, totals: &Self::Totals) -> u64 {
        totals.weight
    }

    fn is_pure(&self, totals: &Self::Totals) -> bool {
        totals.outputs.iter().all(|output| output.variance.is_zero())
    }

    fn impurity(&self, totals: &Self::Totals) -> f64 {
        let variances = totals.outputs.iter().enumerate();
        let variances = variances.map(|(output, sums)| self.variance(sums.variance, totals.weight, output));
        variances.sum::<f64>() / self.n_outputs as f64
    }

    fn write_value(&self, totals: &Self::Totals, samples: &[u32], value: &mut [f64]) {
        for (output, (mean, sums)) in value.iter_mut().zip(&totals.outputs).enumerate() {
            let fixed = sums.mean as f64 + sums.fraction;
            *mean = self.value(samples, output, totals.weight, sums.variance, fixed);
        }
    }

    fn n_means(&self) -> usize {
        self.n_outputs
    }

    fn mean(&self, totals: &Self::Totals, output: usize) -> f64 {
        self.mean_of(totals.outputs[output].sum, totals.weight, output)
    }

    fn side_means(&self, node: &Self::Totals, others: &Self::Scan, pushed: Self::Pushed, output: usize) -> [f64; 2] {
        let sum = if output == 0 { pushed.first } else { others[output - 1] };
        let rest = node.outputs[output].sum - sum;
        [self.mean_of(sum, pushed.weight, output), self.mean_of(rest, node.weight - pushed.weight, output)]
    }

    fn scan(&self) -> Self::Scan {
        vec![W::Moment::default(); self.n_outputs - 1].into()
    }

    #[inline]
    fn begin(&self, _node: &Self::Totals, others: &mut Self::Scan) -> Self::Pushed {
        // With one output the list is empty, and a call that does nothing would still cost time.
        if !others.is_empty() {
            others.fill(W::Moment::default());
        }
        SumPushed::default()
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "one call per entry; left out of line it costs a fifth of bench `fit`")]
    fn push(&self, _node: &Self::Totals, others: &mut Self::Scan, pushed: &mut Self::Pushed, sample: u32) {
        pushed.push(others, self.weights.weight(sample), self.values(sample));
    }

    #[inline]
    fn pushed_weight(pushed: &Self::Pushed) -> u64 {
        pushed.weight
    }

    #[inline]
    fn score(&self, node: &Self::Totals, others: &Self::Scan, pushed: Self::Pushed) -> f64 {
        self.squares(node, others, pushed) / Self::product(node, pushed)
    }

    #[inline]
    fn may_score(&self, node: &Self::Totals, others: &Self::Scan, pushed: Self::Pushed, least: f64) -> bool {
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

    fn proof(&self, others: &Self::Scan, pushed: Self::Pushed) -> Self::Proof {
        (pushed, others.clone())
    }

    fn compare(&self, node: &Self::Totals, a: &Self::Proof, b: &Self::Proof) -> Ordering {
        if are_same(node.weight, node.outputs.iter().map(|output| output.sum), a, b) {
            return Ordering::Equal;
        }
        self.ratio(node, a).compare(&self.ratio(node, b))
    }

    fn cost(&self, totals: &Self::Totals) -> f64 {
        let variance = |(output, factor): (&OutputTotals<W::Moment>, &f64)| output.variance.to_f64() * factor * factor;
        totals.outputs.iter().zip(&self.factors).map(variance).sum::<f64>() / totals.weight as f64
    }

    fn sample_weight(&self, sample: u32) -> u64 {
        self.weights.weight(sample)
    }
}

impl<W: SampleWeights> OverSums for SquaredError<'_, W> {
    const LOSS: usize = SQUARES;
    type Sum = W::Moment;

    fn n_narrow_outputs(&self) -> Option<usize> {
        (self.n_outputs <= MAX_OUTPUTS).then_some(self.n_outputs)
    }

    fn n_small_outputs(&self) -> Option<usize> {
        self.n_narrow_outputs().filter(|_| W::ARE_SMALL)
    }

    fn shift(&self, output: usize) -> u32 {
        shifts(&self.numbers.scale).nth(output).unwrap_or_default()
    }

    fn are_unit(&self) -> bool {
        self.weights.are_unit()
    }

    fn unit(&self, output: usize) -> f64 {
        self.factors[output]
    }

    #[inline]
    fn rows(&self, output: usize) -> impl Fn(u32) -> (u64, i64) {
        let (numbers, weights, n_outputs) = (&self.numbers.fixed[..], self.weights, self.n_outputs);
        move |sample| (weights.weight(sample), numbers[sample as usize * n_outputs + output])
    }

    fn whole(node: &Self::Totals, output: usize, unit: f64) -> Whole {
        let OutputTotals { mean, fraction, .. } = node.outputs[output];
        let (weight, factor, bound_unit) = (node.weight as f64, unit, unit * unit);
        Whole { floor: mean, weight, fraction, factor, bound_unit, ..Whole::default() }
    }

    fn pushed_sums(
        &self,
        node: &Self::Totals,
        others: &mut Self::Scan,
        weight: u64,
        sums: impl Iterator<Item = W::Moment>,
    ) -> Self::Pushed {
        let sums = sums.zip(&node.outputs);
        let sums = sums.map(|(sum, output)| sum.plus_product(weight, output.mean));
        SumPushed::new(weight, sums, others)
    }

    fn narrow_impurity(&self, output: usize, totals: &NarrowTotals) -> f64 {
        let &NarrowTotals { weight, variance, .. } = totals;
        // The weight of a small subtree squared has 20 bits.
        match quotient_by_two_to_128(variance, weight * weight) {
            Some(quotient) => self.unscaled_variance(quotient, output),
            None => self.variance(<W::Moment as Moment>::Exact::from(variance), weight, output),
        }
    }

    fn narrow_value(&self, output: usize, samples: &[u32], totals: &NarrowTotals) -> f64 {
        let &NarrowTotals { weight, origin, sum, variance, .. } = totals;
        if variance == 0 {
            return self.refined_mean(samples, output);
        }
        let mean = origin + sum.div_euclid(weight as i64);
        let fixed = mean as f64 + sum.rem_euclid(weight as i64) as f64 / weight as f64;
        self.value(samples, output, weight, <W::Moment as Moment>::Exact::from(variance), fixed)
    }
}

impl<W: SampleWeights> Ordered for SquaredError<'_, W> {
    fn order(&self, order: usize) -> impl Fn(u32) -> u64 {
        move |sample| above_zero(self.values(sample)[order])
    }

    fn order_total(&self, totals: &Self::Totals, _samples: &[u32], order: usize) -> u128 {
        (totals.outputs[order].sum.to_i128() + i128::from(totals.weight) * i128::from(ABOVE_ZERO)) as u128
    }

    fn sum_pusher(&self) -> Option<impl Fn(&Self::Totals, &mut Self::Pushed, u64, u128)> {
        (self.n_outputs == 1).then_some(|_: &Self::Totals, pushed: &mut Self::Pushed, weight: u64, sum: u128| {
            pushed.weight += weight;
            pushed.first = pushed.first.plus_sum(sum as i128 - i128::from(weight) * i128::from(ABOVE_ZERO));
        })
    }
}

/// A sum `sum w q^2`, below 2^172, as `high * 2^64 + low`.
#[derive(Default)]
struct WideSquares {
    low: u128,
    high: u128,
}

impl WideSquares {
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
