//! Half Poisson deviance, for counts and rates: `sum w y ln(y / mean) / sum w` (Therneau and
//! Atkinson, "An introduction to recursive partitioning using the RPART routines", section 8, and
//! scikit-learn minimise it too).
//!
//! Targets are integers `q`, multiples of a power of two, with `COUNT_BITS` bits; a target above 0
//! never becomes 0. Let `s = sum w q` be the sum of a side and `w` its weight, `S` and `W` those of
//! the node, and `L` the fixed-point logarithm of `num::log2`. The deviance falls by
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

use smallvec::SmallVec;

use super::packed::NotPacked;
use super::squared_error::{SquaredError, SumTotals};
use super::weights::{Moment, SampleWeights, SquareSum};
use super::{Bounded, Ordered, Statistics};
use crate::data::target::{Numbers, SCALE_SPREAD, Weights};
use crate::error::{Error, Result};
use crate::num::log2::{FRACTION_BITS, Log2};
use crate::num::{Exact, Wide, exponent, scale_by_power_of_two};

/// Fixed-point targets are at most 2 to this power.
const COUNT_BITS: i32 = 60;
/// Fractional bits of a mean deviance in fixed-point units; weights are below 2^52.
const QUOTIENT_BITS: u32 = 64;

/// Half Poisson deviance over the targets of samples.
pub struct Poisson<'a> {
    /// Squared error of the same targets: predicts means and tells which nodes are pure.
    moments: SquaredError<'a, &'a Weights, i128>,
    weights: &'a Weights,
    n_outputs: usize,
    /// The fixed-point targets `q`, row-major `(n_samples, n_outputs)`.
    counts: Box<[u64]>,
    /// `q L(q)` for each target, row-major `(n_samples, n_outputs)`.
    terms: Box<[u128]>,
    /// Per output, the exponent of the unit: a target as given is `q * 2^-scale`.
    scale: Box<[i32]>,
    /// Per output, `shift = finest - scale` and `factor = 2^shift`: fixed-point values times the
    /// factor have one scale for all outputs.
    shifts: Box<[u32]>,
    factors: Box<[f64]>,
    log2: Log2,
}

/// Sums over the samples of a node.
pub struct PoissonTotals {
    moments: SumTotals<i128>,
    weight: u64,
    outputs: SmallVec<[OutputSums; 1]>,
}

/// Sums over the samples of a node for one output.
#[derive(Debug, Clone, Copy)]
struct OutputSums {
    /// `S = sum w q`.
    sum: u128,
    /// `sum w q L(q)` as `high * 2^64 + low`: the halves of `q L(q)` are added up apart, as their
    /// sum may exceed 128 bits.
    low: u128,
    high: u128,
    /// `m = L(S) - L(W)`; 0 if `S` is 0.
    mean_log: i128,
}

/// The weight of the pushed samples, and their weighted sum for the first output.
#[derive(Debug, Clone, Copy)]
pub struct PoissonPushed {
    weight: u64,
    first: u128,
}

/// The weight of the pushed samples and their sums: for the first output, and for the other
/// outputs.
type PoissonProof = (PoissonPushed, Box<[u128]>);

impl<'a> Poisson<'a> {
    /// The criterion over these targets and weights. Fails if a sample of a weight above 0 has a
    /// negative target.
    pub fn new(numbers: &'a Numbers, weights: &'a Weights) -> Result<Self> {
        let n_outputs = numbers.peak.len();
        let own = |&peak: &f64| (peak > 0.0).then(|| COUNT_BITS - 1 - exponent(peak));
        let coarsest = numbers.peak.iter().filter_map(own).min().unwrap_or(0);
        let scale: Box<[i32]> = numbers
            .peak
            .iter()
            .map(|peak| own(peak).map_or(coarsest, |own| own.min(coarsest + SCALE_SPREAD)))
            .collect();
        let finest = scale.iter().copied().max().unwrap_or(0);
        let shifts: Box<[u32]> = scale.iter().map(|scale| (finest - scale) as u32).collect();
        let log2 = Log2::new();
        let count = |(at, &y): (usize, &f64)| match weights.weight((at / n_outputs) as u32) {
            0 => Ok(0),
            _ if y < 0.0 => {
                let expected = "0 or more for the criterion 'poisson'".into();
                Err(Error::InvalidArgument { name: "y", got: y.to_string(), expected })
            }
            _ if y == 0.0 => Ok(0),
            _ => Ok((scale_by_power_of_two(y, scale[at % n_outputs]).round_ties_even() as u64).max(1)),
        };
        let counts = numbers.raw.iter().enumerate().map(count).collect::<Result<Box<[u64]>>>()?;
        Ok(Self {
            moments: SquaredError::new(numbers, weights),
            weights,
            n_outputs,
            terms: counts.iter().map(|&q| u128::from(q) * u128::from(log2.log2(q))).collect(),
            counts,
            scale,
            factors: shifts.iter().map(|&shift| 2f64.powi(shift as i32)).collect(),
            shifts,
            log2,
        })
    }

    /// The mean of an output, in the unit of the targets as given, from a sum of fixed-point
    /// targets.
    fn mean_of(&self, sum: u128, weight: u64, output: usize) -> f64 {
        scale_by_power_of_two(sum as f64 / weight as f64, -self.scale[output])
    }

    #[inline]
    fn counts(&self, sample: u32) -> &[u64] {
        if self.n_outputs == 1 {
            std::slice::from_ref(&self.counts[sample as usize])
        } else {
            &self.counts[sample as usize * self.n_outputs..][..self.n_outputs]
        }
    }

    fn summed(
        &self,
        moments: SumTotals<i128>,
        weight: u64,
        outputs: impl Iterator<Item = (u128, u128, u128)>,
    ) -> PoissonTotals {
        let weight_log = self.log2.log2_wide(weight.into());
        let outputs = outputs.map(|(sum, low, high)| {
            let mean_log = if sum == 0 { 0 } else { self.log2.log2_wide(sum) - weight_log };
            OutputSums { sum, low, high, mean_log }
        });
        PoissonTotals { moments, weight, outputs: outputs.collect() }
    }

    /// `sum w q (L(q) - L(mean))` over the samples of a node for one output, which has a target
    /// above 0.
    fn deviance(&self, totals: &PoissonTotals, output: &OutputSums) -> Wide {
        let times_log =
            |of: u128| -> Wide { Wide::from(output.sum).times(&Wide::from(self.log2.log2_wide(of) as u128)) };
        let own = Wide::from(output.high).shifted(64).plus(&Wide::from(output.low));
        let own = own.plus(&times_log(totals.weight.into()));
        let mean = times_log(output.sum);
        // Logarithms are rounded, so the difference may come out below 0.
        if own > mean { own.minus(&mean) } else { Wide::ZERO }
    }

    /// The exact score without its term `-m S`, which all cuts of the node share, as a pair of what
    /// is added and what is subtracted.
    fn exact(&self, node: &PoissonTotals, (pushed, others): &PoissonProof) -> (Wide, Wide) {
        let (mut plus, mut minus) = (Wide::ZERO, Wide::ZERO);
        let weight_logs =
            [pushed.weight, node.weight - pushed.weight].map(|weight| self.log2.log2_wide(weight.into()) as u128);
        let sums = std::iter::once(&pushed.first).chain(others);
        for ((&sum, output), &shift) in sums.zip(&node.outputs).zip(&self.shifts) {
            for (sum, weight_log) in [sum, output.sum - sum].into_iter().zip(weight_logs) {
                let times = |log: u128| Wide::from(sum).times(&Wide::from(log)).shifted(shift);
                plus = plus.plus(&times(self.log2.log2_wide(sum) as u128));
                minus = minus.plus(&times(weight_log));
            }
        }
        (plus, minus)
    }

    /// Whether two candidates have the same weights and sums on their sides, perhaps with the sides
    /// exchanged.
    fn are_same(node: &PoissonTotals, (a, a_others): &PoissonProof, (b, b_others): &PoissonProof) -> bool {
        let a_sums = || std::iter::once(&a.first).chain(a_others);
        let b_sums = || std::iter::once(&b.first).chain(b_others);
        let rest = || node.outputs.iter().zip(b_sums()).map(|(output, &sum)| output.sum - sum);
        (a.weight == b.weight && a_sums().eq(b_sums()))
            || (a.weight == node.weight - b.weight && a_sums().copied().eq(rest()))
    }
}

impl Statistics for Poisson<'_> {
    type Totals = PoissonTotals;
    /// The weighted sums of the pushed samples, for all outputs but the first.
    type Scan = Box<[u128]>;
    type Pushed = PoissonPushed;
    type Proof = PoissonProof;
    type Packed = NotPacked;
    const FORBIDS_CUTS: bool = true;

    fn totals(&self, samples: &[u32]) -> Self::Totals {
        let weight = samples.iter().map(|&sample| self.weights.weight(sample)).sum();
        let outputs = (0..self.n_outputs).map(|output| {
            let (mut sum, mut low, mut high) = (0u128, 0u128, 0u128);
            for &sample in samples {
                let at = sample as usize * self.n_outputs + output;
                let (w, term) = (u128::from(self.weights.weight(sample)), self.terms[at]);
                sum += w * u128::from(self.counts[at]);
                low += w * u128::from(term as u64);
                high += w * (term >> 64);
            }
            (sum, low, high)
        });
        self.summed(self.moments.totals(samples), weight, outputs)
    }

    fn minus(&self, node: &Self::Totals, child: &Self::Totals) -> Self::Totals {
        let outputs = node.outputs.iter().zip(&child.outputs);
        let outputs = outputs.map(|(a, b)| (a.sum - b.sum, a.low - b.low, a.high - b.high));
        self.summed(self.moments.minus(&node.moments, &child.moments), node.weight - child.weight, outputs)
    }

    fn weight(&self, totals: &Self::Totals) -> u64 {
        totals.weight
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
        if self.is_pure(totals) {
            return 0.0;
        }
        let mean = |(output, &scale): (&OutputSums, &i32)| {
            // Proportional weights give the same quotient, so the same bits.
            let quotient = self.deviance(totals, output).shifted(QUOTIENT_BITS).divided(totals.weight).to_f64();
            let bits = scale_by_power_of_two(quotient, -scale - (FRACTION_BITS + QUOTIENT_BITS) as i32);
            bits * std::f64::consts::LN_2
        };
        totals.outputs.iter().zip(&self.scale).map(mean).sum::<f64>() / self.n_outputs as f64
    }

    fn n_values(&self) -> usize {
        self.n_outputs
    }

    fn write_value(&self, totals: &Self::Totals, samples: &[u32], value: &mut [f64]) {
        self.moments.write_value(&totals.moments, samples, value);
    }

    fn n_means(&self) -> usize {
        self.n_outputs
    }

    fn mean(&self, totals: &PoissonTotals, output: usize) -> f64 {
        self.mean_of(totals.outputs[output].sum, totals.weight, output)
    }

    fn side_means(&self, node: &PoissonTotals, others: &Box<[u128]>, pushed: PoissonPushed, output: usize) -> [f64; 2] {
        let sum = if output == 0 { pushed.first } else { others[output - 1] };
        let rest = node.outputs[output].sum - sum;
        [self.mean_of(sum, pushed.weight, output), self.mean_of(rest, node.weight - pushed.weight, output)]
    }

    fn scan(&self) -> Box<[u128]> {
        vec![0; self.n_outputs - 1].into()
    }

    #[inline]
    fn begin(&self, _node: &Self::Totals, others: &mut Box<[u128]>) -> PoissonPushed {
        others.fill(0);
        PoissonPushed { weight: 0, first: 0 }
    }

    #[inline]
    fn push(&self, _node: &Self::Totals, others: &mut Box<[u128]>, pushed: &mut PoissonPushed, sample: u32) {
        let w = self.weights.weight(sample);
        pushed.weight += w;
        let counts = self.counts(sample);
        pushed.first += u128::from(w) * u128::from(counts[0]);
        for (sum, &q) in others.iter_mut().zip(&counts[1..]) {
            *sum += u128::from(w) * u128::from(q);
        }
    }

    #[inline]
    fn pushed_weight(pushed: &PoissonPushed) -> u64 {
        pushed.weight
    }

    fn score(&self, node: &Self::Totals, others: &Box<[u128]>, pushed: PoissonPushed) -> f64 {
        let weight_logs = [pushed.weight, node.weight - pushed.weight].map(|weight| self.log2.log2_wide(weight.into()));
        let mut score = 0.0;
        let sums = std::iter::once(&pushed.first).chain(others);
        for ((&sum, output), &factor) in sums.zip(&node.outputs).zip(&self.factors) {
            for (sum, weight_log) in [sum, output.sum - sum].into_iter().zip(weight_logs) {
                if sum == 0 {
                    return f64::NAN;
                }
                let log = self.log2.log2_wide(sum) - weight_log - output.mean_log;
                score += SquareSum::to_f64(sum) * Moment::to_f64(log) * factor;
            }
        }
        score
    }

    /// Each term of the score has a relative error of some units of 2^-53. With `x` the mean of a
    /// side over that of the node, a term is below 0 by at most `S max(-x log2 x) < 0.54 S`, and
    /// only one of the two terms of an output is. So the absolute values of the terms add up to the
    /// score and little more than `S`.
    fn tolerance(&self, node: &Self::Totals, score: f64) -> f64 {
        let sum = |(output, factor): (&OutputSums, &f64)| SquareSum::to_f64(output.sum) * factor;
        let sums: f64 = node.outputs.iter().zip(&self.factors).map(sum).sum();
        let terms = score.abs() + 2.0 * sums * 2f64.powi(FRACTION_BITS as i32);
        terms * (16.0 + self.n_outputs as f64) * f64::EPSILON
    }

    fn proof(&self, others: &Box<[u128]>, pushed: PoissonPushed) -> PoissonProof {
        (pushed, others.clone())
    }

    fn compare(&self, node: &Self::Totals, a: &PoissonProof, b: &PoissonProof) -> Ordering {
        if Self::are_same(node, a, b) {
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
        self.weights.weight(sample)
    }
}

impl Ordered for Poisson<'_> {
    fn n_orders(&self) -> usize {
        self.n_outputs
    }

    fn order(&self, order: usize) -> impl Fn(u32) -> u64 {
        move |sample| self.counts(sample)[order]
    }

    fn order_total(&self, totals: &PoissonTotals, _samples: &[u32], order: usize) -> u128 {
        totals.outputs[order].sum
    }
}

/// No bound of what a column can gain is known, so all columns are read.
impl Bounded for Poisson<'_> {
    type Summary = ();
    type Ceiling = ();
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::data::Target;
    use crate::data::target::TargetValues;

    fn numbers(y: &[f64], n_outputs: usize) -> Numbers {
        match Target::regression(y, n_outputs, None).unwrap().values() {
            TargetValues::Numbers(numbers) => numbers.clone(),
            TargetValues::Classes(_) => panic!("a regression target has numbers"),
        }
    }

    fn pushed(criterion: &Poisson<'_>, node: &PoissonTotals, samples: &[u32]) -> (f64, PoissonProof) {
        let mut scan = criterion.scan();
        let mut pushed = criterion.begin(node, &mut scan);
        for &sample in samples {
            criterion.push(node, &mut scan, &mut pushed, sample);
        }
        (criterion.score(node, &scan, pushed), criterion.proof(&scan, pushed))
    }

    #[test]
    fn impurity_is_half_the_mean_deviance() {
        // Mean 2: (1 ln(1/2) + 3 ln(3/2)) / 2 = (3 ln 3 - 4 ln 2) / 2.
        let numbers = numbers(&[1.0, 3.0, 0.0, 0.0], 1);
        let criterion = Poisson::new(&numbers, &Weights::Unit).unwrap();
        let exact = (3.0 * 3f64.ln() - 4.0 * 2f64.ln()) / 2.0;
        assert!((criterion.impurity(&criterion.totals(&[0, 1])) - exact).abs() < 1e-15);
        // Mean 1: 3 ln 3 + 1 ln 1 = 3 ln 3, of 4 samples.
        let all = criterion.totals(&[0, 1, 2, 3]);
        assert!((criterion.impurity(&all) - 0.75 * 3f64.ln()).abs() < 1e-15);
        assert_eq!(criterion.impurity(&criterion.totals(&[1])), 0.0);
        let none = criterion.minus(&all, &criterion.totals(&[0, 1]));
        assert_eq!(criterion.impurity(&none), f64::INFINITY);
        assert!(criterion.is_pure(&none) && !criterion.is_pure(&all));
        // The cut between {0, 0} and {1, 3} is forbidden, whichever side is pushed; the cut between
        // {1, 0} and {3, 0} is not.
        assert!(pushed(&criterion, &all, &[2, 3]).0.is_nan());
        assert!(pushed(&criterion, &all, &[0, 1]).0.is_nan());
        assert!(pushed(&criterion, &all, &[0, 2]).0 > 0.0);
    }

    #[test]
    fn negative_targets_are_refused_unless_they_weigh_nothing() {
        let numbers = numbers(&[1.0, -3.0], 1);
        assert!(Poisson::new(&numbers, &Weights::Unit).is_err());
        assert!(Poisson::new(&numbers, &Weights::Large([1, 0].into())).is_ok());
    }

    #[test]
    fn no_target_above_zero_becomes_zero() {
        let numbers = numbers(&[1e300, 1e-300, 5e-324, 0.0], 1);
        let criterion = Poisson::new(&numbers, &Weights::Unit).unwrap();
        assert_eq!(criterion.counts[1..], [1, 1, 0]);
        assert!(criterion.counts[0] <= 1 << COUNT_BITS && criterion.counts[0] > 1 << (COUNT_BITS - 2));
    }

    proptest! {
        /// The score is the fall of the deviance, and scores that differ by more than their
        /// tolerance have the order of the exact integers.
        #[test]
        fn scores_agree_with_libm_and_with_proofs(
            y in vec(prop_oneof![(0..6u8).prop_map(f64::from), 0.0..1e3, 0.0..1e-6], 2 * 6),
            weights in vec(1..=(1u64 << 48), 6),
            n_outputs in 1..=2usize,
        ) {
            let numbers = numbers(&y[..6 * n_outputs], n_outputs);
            let large = Weights::Large(weights.clone().into());
            let criterion = Poisson::new(&numbers, &large).unwrap();
            let all = criterion.totals(&[0, 1, 2, 3, 4, 5]);
            let unit = |score: f64| scale_by_power_of_two(score, -criterion.scale.iter().max().unwrap() - FRACTION_BITS as i32);
            let cost = |samples: &[u32]| -> f64 {
                (0..n_outputs).map(|output| {
                    let of = |&i: &u32| (weights[i as usize] as f64, y[i as usize * n_outputs + output]);
                    let (w, s) = samples.iter().map(of).fold((0.0, 0.0), |(w, s), (v, y)| (w + v, s + v * y));
                    let term = |(w1, y1): (f64, f64)| if y1 == 0.0 { 0.0 } else { w1 * y1 * (y1 * w / s).log2() };
                    samples.iter().map(of).map(term).sum::<f64>()
                }).sum()
            };
            let sum: f64 = (0..6 * n_outputs).map(|at| weights[at / n_outputs] as f64 * y[at]).sum();
            let cuts: Vec<_> = (1u32..63).map(|mask| {
                let (left, right): (Vec<u32>, Vec<u32>) = (0..6).partition(|i| mask >> i & 1 == 1);
                let (score, proof) = pushed(&criterion, &all, &left);
                (left, right, score, proof)
            }).collect();
            for (left, right, score, _) in &cuts {
                let has_none = |side: &[u32], output: usize| side.iter().all(|&i| y[i as usize * n_outputs + output] == 0.0);
                let forbidden = (0..n_outputs).any(|output| has_none(left, output) || has_none(right, output));
                prop_assert_eq!(forbidden, score.is_nan());
                if !forbidden {
                    let fall = cost(&[0, 1, 2, 3, 4, 5]) - cost(left) - cost(right);
                    prop_assert!((unit(*score) - fall).abs() <= 1e-11 * sum, "{} {}", unit(*score), fall);
                }
            }
            for a in cuts.iter().filter(|cut| !cut.2.is_nan()) {
                for b in cuts.iter().filter(|cut| !cut.2.is_nan()) {
                    let order = criterion.compare(&all, &a.3, &b.3);
                    prop_assert_eq!(order, criterion.compare(&all, &b.3, &a.3).reverse());
                    if (a.2 - b.2).abs() > criterion.tolerance(&all, a.2.max(b.2)) {
                        prop_assert_eq!(order, a.2.total_cmp(&b.2));
                    }
                }
            }
        }
    }
}
