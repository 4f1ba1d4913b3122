//! Half Poisson deviance, for counts and rates: `sum w y ln(y / mean) / sum w` (Therneau and
//! Atkinson, "An introduction to recursive partitioning using the RPART routines", section 8, and
//! scikit-learn minimise it too).
//!
//! Targets are integers `q`, multiples of a power of two: of the power that squared error takes, if squared
//! error needs no finer one and no centre, else of one that leaves `COUNT_BITS` bits. A target above 0 never
//! becomes 0. Let `s = sum w q` be the sum of a side and `w` its weight, `S` and `W` the node's sum and
//! weight, and `L` the fixed-point logarithm of `num::log2`. The deviance falls by
//!
//! > `sum over sides of s (L(s) - L(w) - m)` with `m = L(S) - L(W)`,
//!
//! an integer. The score is this integer, rounded once per term. The exact order of candidates is
//! the order of these integers, so it is total and the same on every platform. `L` is within 2^-56
//! of the logarithm: cuts whose deviances differ by less than 2^-54 `S` may come in either order,
//! and so may cuts that differ by less than the rounding of targets. Cuts into equal sums tie.
//!
//! A side whose targets are all 0 would predict 0, and a prediction of 0 makes any count above 0
//! impossible. As in scikit-learn, a cut with such a side in any output is forbidden: its score is
//! NaN. A node whose targets are all 0 has an infinite impurity.
//!
//! Bits, at worst: `W < 2^52` and `q <= 2^60`, so `s < 2^112`; `L < 2^65`; the spread of the
//! outputs' scales is 2^90, and there are up to 2^20 outputs: 112 + 65 + 90 + 20 + 1 < 640.

use std::cmp::Ordering;
use std::f64::consts::LOG2_E;

use smallvec::SmallVec;

use super::bounded::{Bounded, SLACK};
use super::ordered::Ordered;
use super::squared_error::{SquaredError, SumTotals};
use super::statistics::Statistics;
use super::sums::{
    LOGS, MAX_OUTPUTS, NarrowTotals, OverSums, SumProof, SumPushed, Whole, are_same, factors, row, shifts,
};
use super::weights::{Moment, SampleWeights};
use crate::data::target::{COARSE_BITS, Numbers, SCALE_SPREAD, Weights};
use crate::error::{Error, Result};
use crate::num::log2::{FRACTION_BITS, Log2, ROUGH_ERROR, ULP, rough_log2};
use crate::num::{Exact, Wide, exponent, round_ties_even, scale_by_power_of_two};

/// Fixed-point targets are at most 2 to this power.
const COUNT_BITS: i32 = 60;
/// Fractional bits of a mean deviance in fixed-point units; weights are below 2^52.
const QUOTIENT_BITS: u32 = 64;

/// Narrow sums of weights times targets have at most this many bits.
const NARROW_BITS: u32 = 62;
/// Sums are at most 2 to this power times the least target above 0. Then the sum of a side is 0 if it is 0 as
/// a difference of sums that are rounded to doubles.
const MOST_TO_LEAST_BITS: u32 = 50;
/// Bounds are raised by this share of the sum of the targets.
const BOUND_ERROR: f64 = 1e-12;

/// Per output, how many low bits of all fixed-point targets are 0, if narrow sums suffice.
fn narrow_bits(counts: &[i64], weights: &Weights, n_outputs: usize) -> Option<Box<[u32]>> {
    if n_outputs > MAX_OUTPUTS || matches!(weights, Weights::Large(_)) {
        return None;
    }
    let of_output = |output: usize| {
        let counts = || counts.iter().skip(output).step_by(n_outputs);
        let shift = counts().fold(0, |bits, count| bits | count).trailing_zeros() % i64::BITS;
        let sum: u128 = (0..).zip(counts()).map(|(row, &q)| u128::from(weights.get(row)) * (q >> shift) as u128).sum();
        let least = counts().filter(|&&q| q > 0).min().map_or(1, |&q| q >> shift) as u128;
        (sum < 1 << NARROW_BITS && sum <= least << MOST_TO_LEAST_BITS).then_some(shift)
    };
    (0..n_outputs).map(of_output).collect()
}

/// A sum of fixed-point targets, rounded. Converting 62 bits with a sign is quicker than converting 64 bits.
#[inline]
fn rough(sum: i128) -> f64 {
    const HALF: i128 = 1 << 62;
    (sum >> 62) as i64 as f64 * HALF as f64 + (sum & (HALF - 1)) as i64 as f64
}

/// Half Poisson deviance over the targets of samples.
pub struct Poisson<'a> {
    /// Squared error of the same targets: predicts means and tells which nodes are pure.
    moments: SquaredError<'a, &'a Weights>,
    /// The fixed-point targets `q`, row-major `(n_samples, n_outputs)`.
    counts: Box<[i64]>,
    /// `q L(q)` for each target, row-major `(n_samples, n_outputs)`.
    terms: Box<[u128]>,
    /// Per output, the exponent of the unit: a target as given is `q * 2^-scale`.
    scale: Box<[i32]>,
    /// Per output: fixed-point values times the factor have one scale for all outputs.
    factors: Box<[f64]>,
    /// Per output, how many low bits of all fixed-point targets are 0; empty if sums of weights
    /// times targets are not [narrow](NARROW_BITS) without these bits.
    narrow: Box<[u32]>,
    /// Per output, how the fixed-point targets of squared error follow from these, if they do.
    lines: Option<Box<[TargetLine]>>,
    log2: Log2,
}

/// The fixed-point targets of squared error, written as `origin + (q << shift)`. The `q` are the fixed-point
/// targets of Poisson deviance, shifted right past the low bits that are 0 in all of them.
#[derive(Debug, Clone, Copy)]
struct TargetLine {
    origin: i64,
    shift: u32,
}

impl TargetLine {
    /// The line through all targets of an output of positive weight. `q` are the `counts` without their
    /// `shift` lowest bits.
    fn through(
        numbers: &Numbers,
        weights: &Weights,
        counts: &[i64],
        output: usize,
        scale: i32,
        shift: u32,
    ) -> Option<Self> {
        let n_outputs = numbers.scale.len();
        // An output that does not vary may have a coarser scale.
        let up = u32::try_from(numbers.scale[output] - (scale - shift as i32)).unwrap_or(0);
        if up >= COARSE_BITS {
            return None;
        }
        let rows = (0..numbers.fixed.len() / n_outputs).filter(|&row| weights.is_positive(row));
        // No target of squared error that is on the line has more bits than this.
        let mut origins = rows.map(|row| {
            let (q, fixed) = (counts[row * n_outputs + output] >> shift, numbers.fixed[row * n_outputs + output]);
            (q < 1 << COARSE_BITS >> up).then(|| fixed - (q << up))
        });
        let origin = origins.next()??;
        (numbers.bits <= COARSE_BITS && origins.all(|other| other == Some(origin)))
            .then_some(Self { origin, shift: up })
    }
}

/// Sums over the samples of a node.
pub struct PoissonTotals {
    moments: SumTotals<i128>,
    outputs: SmallVec<[OutputSums; 1]>,
}

/// Sums over the samples of a node for one output.
#[derive(Debug, Clone, Copy)]
struct OutputSums {
    /// `S = sum w q`.
    sum: i128,
    /// `sum w q L(q)` as `high * 2^64 + low`: the halves of `q L(q)` are added up apart, as their
    /// sum may exceed 128 bits.
    low: u128,
    high: u128,
    /// `m = L(S) - L(W)`; 0 if `S` is 0.
    mean_log: i128,
    /// `S` and `m` in bits, rounded.
    rough_sum: f64,
    rough_mean_log: f64,
    /// `S` without the low bits that are 0 in all targets, if it is narrow.
    narrow_sum: f64,
    /// The factor of the output over `S`.
    part: f64,
}

impl<'a> Poisson<'a> {
    /// The criterion over these targets and weights. Fails if a sample of a weight above 0 has a
    /// negative target.
    pub fn new(numbers: &'a Numbers, weights: &'a Weights) -> Result<Self> {
        let n_outputs = numbers.peak.len();
        let own = |&peak: &f64| (peak > 0.0).then(|| COUNT_BITS - 1 - exponent(peak));
        let coarsest = numbers.peak.iter().filter_map(own).min().unwrap_or(0);
        let scale = if numbers.bits <= COARSE_BITS && numbers.center.iter().all(|&center| center == 0.0) {
            numbers.scale.clone()
        } else {
            let limited = |own: i32| own.min(coarsest + SCALE_SPREAD);
            numbers.peak.iter().map(|peak| own(peak).map_or(coarsest, limited)).collect()
        };
        let log2 = Log2::new();
        let count = |(at, &y): (usize, &f64)| match weights.weight((at / n_outputs) as u32) {
            0 => Ok(0),
            _ if y < 0.0 => {
                let expected = "0 or more for the criterion 'poisson'".into();
                Err(Error::InvalidArgument { name: "y", got: y.to_string(), expected })
            }
            _ if y == 0.0 => Ok(0),
            _ => Ok((round_ties_even(scale_by_power_of_two(y, scale[at % n_outputs])) as i64).max(1)),
        };
        let counts = numbers.raw.iter().enumerate().map(count).collect::<Result<Box<[i64]>>>()?;
        let narrow = narrow_bits(&counts, weights, n_outputs).unwrap_or_default();
        let line = |(output, &shift): (usize, &u32)| {
            TargetLine::through(numbers, weights, &counts, output, scale[output], shift)
        };
        let lines = narrow.iter().enumerate().map(line).collect();
        Ok(Self {
            narrow,
            lines,
            moments: SquaredError::new(numbers, weights),
            terms: counts.iter().map(|&q| q as u128 * u128::from(log2.log2(q as u64))).collect(),
            counts,
            factors: factors(&scale),
            scale,
            log2,
        })
    }

    /// The mean of an output, in the unit of the targets as given, from a sum of fixed-point
    /// targets.
    fn mean_of(&self, sum: i128, weight: u64, output: usize) -> f64 {
        scale_by_power_of_two(sum as f64 / weight as f64, -self.scale[output])
    }

    #[inline]
    fn counts(&self, sample: u32) -> &[i64] {
        row(&self.counts, sample, self.moments.n_outputs)
    }

    fn summed(&self, moments: SumTotals<i128>, outputs: impl Iterator<Item = (i128, u128, u128)>) -> PoissonTotals {
        let weight_log = self.log2.log2_wide(moments.weight.into());
        let narrow = self.narrow.iter().copied().chain(std::iter::repeat(0));
        let outputs = outputs.zip(&self.factors).zip(narrow).map(|(((sum, low, high), factor), narrow)| {
            let mean_log = if sum == 0 { 0 } else { self.log2.log2_wide(sum as u128) - weight_log };
            let rough_mean_log = mean_log.to_f64() * ULP;
            let rough_sum = rough(sum);
            let narrow_sum = rough_sum * 0.5f64.powi(narrow as i32);
            OutputSums { sum, low, high, mean_log, rough_sum, rough_mean_log, narrow_sum, part: factor / rough_sum }
        });
        PoissonTotals { moments, outputs: outputs.collect() }
    }

    /// `sum w q (L(q) - L(mean))` over the samples of a node for one output, which has a target
    /// above 0.
    fn deviance(&self, totals: &PoissonTotals, output: &OutputSums) -> Wide {
        let times_log =
            |of: u128| -> Wide { Wide::from(output.sum as u128).times(&Wide::from(self.log2.log2_wide(of) as u128)) };
        let own = Wide::from(output.high).shifted(64).plus(&Wide::from(output.low));
        let own = own.plus(&times_log(totals.moments.weight.into()));
        let mean = times_log(output.sum as u128);
        // Logarithms are rounded, so the difference may come out below 0.
        if own > mean { own.minus(&mean) } else { Wide::ZERO }
    }

    /// The deviance of an output in a node of this weight, over the weight, in the unit that users see.
    fn mean_deviance(&self, deviance: impl Exact, weight: u64, output: usize) -> f64 {
        // Proportional weights give the same quotient, so the same bits.
        let quotient = deviance.shifted(QUOTIENT_BITS).divided(weight).to_f64();
        let bits = scale_by_power_of_two(quotient, -self.scale[output] - (FRACTION_BITS + QUOTIENT_BITS) as i32);
        bits * std::f64::consts::LN_2
    }

    /// Whether the score may be at least `least`, by logarithms in floating point, which take a
    /// tenth of the time of the score.
    #[cold]
    #[inline(never)]
    fn may_exceed(&self, node: &PoissonTotals, others: &[i128], pushed: SumPushed<i128>, least: f64) -> bool {
        let weights = [pushed.weight, node.moments.weight - pushed.weight].map(|weight| weight as i64 as f64);
        let (mut score, mut sums) = (0.0, 0.0);
        for ((sum, output), &factor) in pushed.sums(others).zip(&node.outputs).zip(&self.factors) {
            for (sum, weight) in [sum, output.sum - sum].into_iter().zip(weights) {
                if sum == 0 {
                    return false;
                }
                let sum = rough(sum);
                score += sum * (rough_log2(sum, weight) - output.rough_mean_log) * factor;
                sums += sum * factor;
            }
        }
        // The errors of both logarithms, and the errors of all roundings, which are far smaller.
        score + 2.0 * ROUGH_ERROR * sums >= least * ULP
    }

    /// The exact score without its term `-m S`, which all cuts of the node share, as a pair: a number that is
    /// added, and a number that is subtracted.
    fn exact(&self, node: &PoissonTotals, (pushed, others): &SumProof<i128>) -> (Wide, Wide) {
        let (mut plus, mut minus) = (Wide::ZERO, Wide::ZERO);
        let weight_logs = [pushed.weight, node.moments.weight - pushed.weight]
            .map(|weight| self.log2.log2_wide(weight.into()) as u128);
        let sums = pushed.sums(others).zip(&node.outputs);
        for ((sum, output), shift) in sums.zip(shifts(&self.scale)) {
            for (sum, weight_log) in [sum as u128, (output.sum - sum) as u128].into_iter().zip(weight_logs) {
                let times = |log: u128| Wide::from(sum).times(&Wide::from(log)).shifted(shift);
                plus = plus.plus(&times(self.log2.log2_wide(sum) as u128));
                minus = minus.plus(&times(weight_log));
            }
        }
        (plus, minus)
    }
}

impl Statistics for Poisson<'_> {
    type Totals = PoissonTotals;
    /// The weighted sums of the pushed samples, for all outputs but the first.
    type Scan = Box<[i128]>;
    type Pushed = SumPushed<i128>;
    type Proof = SumProof<i128>;

    fn forbids_cuts(&self) -> bool {
        true
    }

    fn totals(&self, samples: &[u32]) -> Self::Totals {
        let outputs = (0..self.moments.n_outputs).map(|output| {
            let (mut sum, mut low, mut high) = (0i128, 0u128, 0u128);
            for &sample in samples {
                let at = sample as usize * self.moments.n_outputs + output;
                let (w, term) = (self.moments.weights.weight(sample), self.terms[at]);
                sum = sum.plus_product(w, self.counts[at]);
                low += u128::from(w) * u128::from(term as u64);
                high += u128::from(w) * (term >> 64);
            }
            (sum, low, high)
        });
        self.summed(self.moments.totals(samples), outputs)
    }

    fn minus(&self, node: &Self::Totals, child: &Self::Totals) -> Self::Totals {
        let outputs = node.outputs.iter().zip(&child.outputs);
        let outputs = outputs.map(|(a, b)| (a.sum - b.sum, a.low - b.low, a.high - b.high));
        self.summed(self.moments.minus(&node.moments, &child.moments), outputs)
    }

    fn weight(&self, totals: &Self::Totals) -> u64 {
        totals.moments.weight
    }

    /// A node with an output whose targets are all 0 counts as pure too, as all its cuts are
    /// forbidden.
    fn is_pure(&self, totals: &Self::Totals) -> bool {
        self.moments.is_pure(&totals.moments) || totals.outputs.iter().any(|output| output.sum == 0)
    }

    fn impurity(&self, totals: &Self::Totals) -> f64 {
        if totals.outputs.iter().any(|output| output.sum == 0) {
            return f64::INFINITY;
        }
        self.impurity_of_filled(totals)
    }

    /// Targets that are all 0 deviate by 0 from their mean.
    fn impurity_of_filled(&self, totals: &Self::Totals) -> f64 {
        if self.moments.is_pure(&totals.moments) {
            return 0.0;
        }
        let mean = |(output, sums): (usize, &OutputSums)| match sums.sum {
            0 => 0.0,
            _ => self.mean_deviance(self.deviance(totals, sums), totals.moments.weight, output),
        };
        totals.outputs.iter().enumerate().map(mean).sum::<f64>() / self.moments.n_outputs as f64
    }

    fn write_value(&self, totals: &Self::Totals, samples: &[u32], value: &mut [f64]) {
        self.moments.write_value(&totals.moments, samples, value);
    }

    fn n_means(&self) -> usize {
        self.moments.n_outputs
    }

    fn mean(&self, totals: &Self::Totals, output: usize) -> f64 {
        self.mean_of(totals.outputs[output].sum, totals.moments.weight, output)
    }

    fn side_means(&self, node: &Self::Totals, others: &Self::Scan, pushed: Self::Pushed, output: usize) -> [f64; 2] {
        let sum = if output == 0 { pushed.first } else { others[output - 1] };
        let rest = node.outputs[output].sum - sum;
        [self.mean_of(sum, pushed.weight, output), self.mean_of(rest, node.moments.weight - pushed.weight, output)]
    }

    fn scan(&self) -> Self::Scan {
        vec![0; self.moments.n_outputs - 1].into()
    }

    #[inline]
    fn begin(&self, _node: &Self::Totals, others: &mut Self::Scan) -> Self::Pushed {
        others.fill(0);
        SumPushed::default()
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "as `may_score`")]
    fn push(&self, _node: &Self::Totals, others: &mut Self::Scan, pushed: &mut Self::Pushed, sample: u32) {
        pushed.push(others, self.moments.weights.weight(sample), self.counts(sample));
    }

    #[inline]
    fn pushed_weight(pushed: &Self::Pushed) -> u64 {
        pushed.weight
    }

    fn score(&self, node: &Self::Totals, others: &Self::Scan, pushed: Self::Pushed) -> f64 {
        let weight_logs =
            [pushed.weight, node.moments.weight - pushed.weight].map(|weight| self.log2.log2_wide(weight.into()));
        let mut score = 0.0;
        for ((sum, output), &factor) in pushed.sums(others).zip(&node.outputs).zip(&self.factors) {
            for (sum, weight_log) in [sum, output.sum - sum].into_iter().zip(weight_logs) {
                if sum == 0 {
                    return f64::NAN;
                }
                let log = self.log2.log2_wide(sum as u128) - weight_log - output.mean_log;
                score += sum.unsigned_to_f64() * log.to_f64() * factor;
            }
        }
        score
    }

    /// First bounds the score without logarithms. Let `D = s W - w S` be the excess of a side and `u = D / w
    /// S` the excess of its mean, relative to the mean of the node. With `(1 + u) ln (1 + u) <= u + u^2 / 2`
    /// for `u >= 0`, and with `|u|^3 / 2` more for `u < 0`, an output's part of the score is at most
    ///
    /// > `D^2 / (S w v) * (1 + |D| w / (W S v)) / (2 ln 2)`
    ///
    /// where `v` is the weight of the side whose mean is below the node's mean, and `w` the weight of the
    /// other side. Where this does not decide, estimates the logarithms.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call in the loop of a scan takes a tenth of its time")]
    fn may_score(&self, node: &Self::Totals, others: &Self::Scan, pushed: Self::Pushed, least: f64) -> bool {
        let [weight, rest] = [pushed.weight, node.moments.weight - pushed.weight].map(|weight| weight as i64 as f64);
        let of_node = node.moments.weight as i64 as f64;
        let of_output = |sum: i128, output: &OutputSums| {
            let (own, expected) = (rough(sum) * of_node, output.rough_sum * weight);
            // With more than the rounding of both products.
            let excess = (own - expected).abs() + (own + expected) * (8.0 * f64::EPSILON);
            let [below, above] = if own < expected { [weight, rest] } else { [rest, weight] };
            let part = of_node * output.rough_sum * below;
            (excess * excess * output.part, part, part + excess * above)
        };
        let wanted = least * (ULP * 2.0 / (LOG2_E * SLACK)) * (weight * rest);
        if let ([], [output]) = (&others[..], &node.outputs[..]) {
            let (square, part, more) = of_output(pushed.first, output);
            return square * more >= wanted * part && self.may_exceed(node, others, pushed, least);
        }
        let outputs = pushed.sums(others).zip(&node.outputs).map(|(sum, output)| of_output(sum, output));
        outputs.map(|(square, part, more)| square * (more / part)).sum::<f64>() >= wanted
            && self.may_exceed(node, others, pushed, least)
    }

    /// Each term of the score has a relative error of some units of 2^-53. With `x` the mean of a side over
    /// the mean of the node, a term is below 0 by at most `S max(-x log2 x) < 0.54 S`, and only one of the
    /// two terms of an output is. So the absolute values of the terms add up to the score and little more
    /// than `S`.
    fn tolerance(&self, node: &Self::Totals, score: f64) -> f64 {
        let sum = |(output, factor): (&OutputSums, &f64)| output.sum.unsigned_to_f64() * factor;
        let sums: f64 = node.outputs.iter().zip(&self.factors).map(sum).sum();
        let terms = score.abs() + 2.0 * sums * 2f64.powi(FRACTION_BITS as i32);
        terms * (16.0 + self.moments.n_outputs as f64) * f64::EPSILON
    }

    fn proof(&self, others: &Self::Scan, pushed: Self::Pushed) -> Self::Proof {
        (pushed, others.clone())
    }

    fn compare(&self, node: &Self::Totals, a: &Self::Proof, b: &Self::Proof) -> Ordering {
        if are_same(node.moments.weight, node.outputs.iter().map(|output| output.sum), a, b) {
            return Ordering::Equal;
        }
        let ((a_plus, a_minus), (b_plus, b_minus)) = (self.exact(node, a), self.exact(node, b));
        a_plus.plus(&b_minus).cmp(&b_plus.plus(&a_minus))
    }

    fn cost(&self, totals: &Self::Totals) -> f64 {
        let deviance = |(output, factor): (&OutputSums, &f64)| match output.sum {
            0 => f64::INFINITY,
            _ => self.deviance(totals, output).to_f64() * factor,
        };
        totals.outputs.iter().zip(&self.factors).map(deviance).sum()
    }

    fn sample_weight(&self, sample: u32) -> u64 {
        self.moments.weights.weight(sample)
    }
}

impl OverSums for Poisson<'_> {
    const LOSS: usize = LOGS;
    type Sum = i64;

    fn n_narrow_outputs(&self) -> Option<usize> {
        (!self.narrow.is_empty()).then_some(self.narrow.len())
    }

    fn n_small_outputs(&self) -> Option<usize> {
        self.n_narrow_outputs().filter(|_| self.lines.is_some())
    }

    fn shift(&self, output: usize) -> u32 {
        let shift = |(shift, &narrow)| shift + narrow;
        let all = || shifts(&self.scale).zip(&self.narrow).map(shift);
        all().nth(output).unwrap_or_default() - all().min().unwrap_or_default()
    }

    fn are_unit(&self) -> bool {
        matches!(self.moments.weights, Weights::Unit)
    }

    fn unit(&self, output: usize) -> f64 {
        2f64.powi((FRACTION_BITS + self.narrow[output]) as i32) * self.factors[output]
    }

    #[inline]
    fn rows(&self, output: usize) -> impl Fn(u32) -> (u64, i64) {
        let (weights, shift) = (self.moments.weights, self.narrow[output]);
        move |sample| (weights.weight(sample), self.counts(sample)[output] >> shift)
    }

    fn whole(node: &Self::Totals, output: usize, unit: f64) -> Whole {
        let (weight, sum) = (node.moments.weight as f64, node.outputs[output].narrow_sum);
        let mean = sum / weight;
        let bound_unit = unit * LOG2_E / (2.0 * mean);
        Whole {
            floor: 0,
            weight,
            sum,
            fraction: 0.0,
            mean,
            factor: unit,
            bound_unit,
            steepness: 1.0 / (mean * bound_unit.sqrt()),
            bound_error: sum * unit * BOUND_ERROR,
        }
    }

    fn pushed_sums(
        &self,
        _node: &Self::Totals,
        others: &mut Self::Scan,
        weight: u64,
        sums: impl Iterator<Item = i64>,
    ) -> Self::Pushed {
        SumPushed::new(weight, sums.zip(&self.narrow).map(|(sum, &narrow)| i128::from(sum) << narrow), others)
    }

    fn narrow_impurity(&self, output: usize, totals: &NarrowTotals) -> f64 {
        let log = |of: u64| u128::from(self.log2.log2(of));
        // Below 2^120 each, as the sum has no more than 56 bits.
        let (sum, own) = (totals.sum as u128, totals.terms + totals.sum as u128 * log(totals.weight));
        let deviance = own.saturating_sub(sum * log(totals.sum as u64));
        self.mean_deviance(Wide::<4>::from(deviance).shifted(self.narrow[output]), totals.weight, output)
    }

    fn narrow_value(&self, output: usize, samples: &[u32], totals: &NarrowTotals) -> f64 {
        let TargetLine { origin, shift } =
            self.lines.as_ref().map_or(TargetLine { origin: 0, shift: 0 }, |lines| lines[output]);
        let (sum, variance) = (totals.sum << shift, totals.variance << (2 * shift));
        self.moments.narrow_value(output, samples, &NarrowTotals { origin, sum, variance, ..*totals })
    }
}

impl Ordered for Poisson<'_> {
    fn order(&self, order: usize) -> impl Fn(u32) -> u64 {
        move |sample| self.counts(sample)[order] as u64
    }

    fn order_total(&self, totals: &Self::Totals, _samples: &[u32], order: usize) -> u128 {
        totals.outputs[order].sum as u128
    }
}

/// No bound of what a column can gain is known, so all columns are read.
impl Bounded for Poisson<'_> {
    type Spread = ();
    type Mean = ();
}

#[cfg(test)]
mod tests;
