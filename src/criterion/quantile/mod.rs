//! Absolute error and quantile loss about the best constant, which is a weighted median or quantile
//! (Breiman et al., "Classification and Regression Trees", 1984, section 8.11, for the median;
//! Koenker and Bassett, "Regression quantiles", Econometrica 46, 1978, for the loss).
//!
//! The quantile of level `t` of some samples is the target at which their weights, added up in the
//! order of targets, pass the share `t` of the whole weight. If the sum meets the share exactly,
//! the quantile is half way between that target and the next. Any point between the two has the
//! same loss
//!
//! > `sum of w t (q - point)` over targets above `+ sum of w (1 - t) (point - q)` over those below,
//!
//! which is an integer, for fixed-point targets `q`, once multiplied by the denominator of `t`. The
//! absolute error is twice the loss for `t` one half. The score of a cut is the fall of the loss,
//! which is never below 0, rounded once per output. The order of candidates is the order of the
//! integers.
//!
//! Sums of targets do not tell a quantile. So the statistics of a node are its samples in the order
//! of their targets (`order`), and the losses of all cuts of a column come from one pass over the
//! column's samples before any cut is scored (`scan`, `peel`, `ring`). The idea is from "Faster
//! Regression Tree", section "L1 loss reduction", which inserts samples and must search for their
//! places; here samples are removed from a list, without a search. In large nodes most columns are
//! given up before such a pass, because sums by class of targets prove that they cannot win
//! (`bound`).
//!
//! In complexities, a node has n samples, and a pass pushes m of them.
//!
//! Bits, at worst: a weighted sum of targets is below 2^112. A loss has at most 126 bits: the
//! denominator of the level is made smaller if it must be, which only happens where targets need 61
//! bits and the total weight more than 36. Losses of outputs are brought to one scale (2^90) and
//! added (2^20): 126 + 90 + 20 < 640.

mod bound;
mod fenwick;
mod level;
mod line;
mod order;
mod peel;
mod ring;
mod scan;
mod sum;

use std::cmp::Ordering;
use std::sync::atomic::{AtomicU64, Ordering as Memory};

use smallvec::SmallVec;

use super::bounded::Bounded;
use super::ordered::Ordered;
use super::sample_order::difference;
use super::statistics::Statistics;
use super::sums::{factors, shifts};
use super::weights::Moment;
use crate::data::Target;
use crate::data::target::{Numbers, Weights, above_zero};
use crate::error::Result;
use crate::num::{Exact, Wide, bit_length, scale_by_power_of_two};
use crate::params::QuantileLevel;
use crate::runtime::Runtime;

use level::LossLevel;
use order::Ranking;
use scan::{OutputScan, PassScratch};
use sum::around;

/// Fractional bits of a mean loss in fixed-point units: weights are below 2^52.
const QUOTIENT_BITS: u32 = 128;
/// Most bits of a loss in an `i64` and in an `i128`, so that a difference of two losses fits too.
const NARROW_BITS: u32 = 62;
const WIDE_BITS: u32 = 126;

/// The loss about a quantile of the targets of samples; `S` is the integer type of sums of weighted
/// targets and of losses.
pub struct Quantile<'a, S> {
    numbers: &'a Numbers,
    weights: &'a Weights,
    are_unit: bool,
    level: QuantileLevel,
    /// The integer losses are the loss times this: the denominator of the level, or 1 for the
    /// absolute error.
    unit: f64,
    n_samples: usize,
    /// Per output, the order of the targets of all samples.
    rankings: Box<[Ranking]>,
    /// Per output: losses times the factor have one scale for all outputs.
    factors: Box<[f64]>,
    /// The identity of the next node, see [`QuantileTotals`].
    id: AtomicU64,
    sums: std::marker::PhantomData<fn() -> S>,
}

/// The samples of a node, in the order of their targets for each output.
pub struct QuantileTotals<S> {
    /// Tells the node from all others, so that a scan knows whose samples it has loaded; never 0.
    id: u64,
    weight: u64,
    outputs: SmallVec<[OutputOrder<S>; 1]>,
}

/// The samples of a node in the order of their targets for one output: their ranks, ascending.
struct OutputOrder<S> {
    ranks: Box<[u32]>,
    /// The ranks of the two samples between whose targets the quantile is half way; equal if the
    /// quantile is one target.
    quantiles: [u32; 2],
    loss: S,
}

/// Buffers of a scan. A pass is foreseen if [`Statistics::foresee`] was told its samples.
#[derive(Default)]
pub struct QuantileScan<S> {
    /// The identity of the node whose samples `outputs` have loaded; 0 before the first.
    node: u64,
    outputs: Box<[OutputScan<S>]>,
    pass: PassScratch,
    /// Whether the pass was foreseen, so that the losses of all its cuts are known.
    is_foreseen: bool,
    /// The pushed samples of a pass that was not foreseen.
    pushed: Vec<u32>,
}

/// The number of pushed samples, and their weight.
#[derive(Debug, Clone, Copy)]
pub struct QuantilePushed {
    n: u32,
    weight: u64,
}

/// The loss of both sides together, by output.
type QuantileProof = SmallVec<[i128; 1]>;

/// Bits of a weighted sum of the targets.
fn sum_bits(target: &Target, numbers: &Numbers) -> u32 {
    let weight = (0..target.n_samples()).map(|sample| target.weights().get(sample)).sum();
    numbers.bits - 1 + bit_length(weight)
}

/// The fraction that stands for a level in a tree with this target: its denominator leaves room for
/// the sums of losses. A tree resolves its level once, since a part of the rows would have room for
/// a larger denominator.
pub(super) fn resolve(level: QuantileLevel, target: &Target, numbers: &Numbers) -> QuantileLevel {
    level.within(WIDE_BITS - sum_bits(target, numbers))
}

/// Whether sums of 64 bits have room for the losses about the quantile of this level, which is
/// resolved; without a level, about the median.
pub(super) fn is_narrow(target: &Target, numbers: &Numbers, level: Option<QuantileLevel>) -> bool {
    sum_bits(target, numbers) + level.map_or(0, |level| bit_length(level.denominator())) <= NARROW_BITS
}

impl<'a, S: Moment> Quantile<'a, S> {
    /// The absolute error, or if a resolved level is given the loss about the quantile of that
    /// level.
    pub(super) fn new(
        target: &'a Target,
        numbers: &'a Numbers,
        level: Option<QuantileLevel>,
        runtime: &Runtime<'_>,
    ) -> Result<Self> {
        let weights = target.weights();
        let are_unit = matches!(weights, Weights::Unit);
        let weight = |sample| weights.get(sample as usize);
        let ranking = |output| Ranking::new(numbers, output, are_unit, weight, runtime);
        Ok(Self {
            numbers,
            weights,
            are_unit,
            level: level.unwrap_or(QuantileLevel::HALF),
            unit: level.map_or(1.0, |level| level.denominator() as f64),
            n_samples: target.n_samples(),
            rankings: (0..numbers.scale.len()).map(ranking).collect::<Result<_>>()?,
            factors: factors(&numbers.scale),
            id: AtomicU64::new(1),
            sums: std::marker::PhantomData,
        })
    }

    #[inline]
    fn is_half(&self) -> bool {
        self.level == QuantileLevel::HALF
    }

    /// Whether the quantile is the median of samples without weights, which has a simpler
    /// algorithm.
    #[inline]
    fn has_plain_median(&self) -> bool {
        self.are_unit && self.is_half()
    }

    fn totals_of(&self, weight: u64, orders: impl Iterator<Item = Box<[u32]>>) -> QuantileTotals<S> {
        let outputs = self.rankings.iter().zip(orders);
        let outputs = outputs.map(|(ranking, ranks)| summed(self.level, ranking, ranks, weight));
        QuantileTotals { id: self.id.fetch_add(1, Memory::Relaxed), weight, outputs: outputs.collect() }
    }

    /// The point half way between the targets, as given, of the samples with these ranks.
    fn raw_midpoint(&self, output: usize, ranks: [u32; 2]) -> f64 {
        let raw = |rank| self.numbers.raw[self.rankings[output].sample(rank) as usize * self.rankings.len() + output];
        let [least, greatest] = ranks.map(raw);
        // Turns -0.0 into 0.0: both zeros are one target.
        f64::midpoint(least, greatest) + 0.0
    }

    /// The loss of both sides together, by output.
    fn losses<'s>(
        &'s self,
        scan: &'s QuantileScan<S>,
        pushed: QuantilePushed,
    ) -> impl Iterator<Item = (&'s OutputScan<S>, S)> {
        scan.outputs.iter().map(move |output| {
            let loss =
                if scan.is_foreseen { output.foreseen(pushed.n as usize) } else { output.walked(self, &scan.pushed) };
            (output, loss)
        })
    }
}

/// The quantile and the loss of the samples with these ranks. O(n).
fn summed<S: Moment>(level: QuantileLevel, ranking: &Ranking, ranks: Box<[u32]>, weight: u64) -> OutputOrder<S> {
    let weight_of = |rank: u32| ranking.weights.get(rank as usize).copied().unwrap_or(1);
    let samples = ranks.iter().map(|&rank| (weight_of(rank), ranking.values[rank as usize]));
    let (n_below, below, loss) = around(level, weight, samples);
    let least = ranks[n_below];
    let meets = !level.exceeds(below + weight_of(least), weight);
    let greatest = if meets { ranks[n_below + 1] } else { least };
    OutputOrder { ranks, quantiles: [least, greatest], loss }
}

impl<S: Moment> Statistics for Quantile<'_, S> {
    type Totals = QuantileTotals<S>;
    type Scan = QuantileScan<S>;
    type Pushed = QuantilePushed;
    type Proof = QuantileProof;

    fn totals(&self, samples: &[u32]) -> Self::Totals {
        let weight = samples.iter().map(|&sample| self.sample_weight(sample)).sum();
        self.totals_of(weight, self.rankings.iter().map(|ranking| ranking.order.ranks(samples)))
    }

    fn minus(&self, node: &Self::Totals, child: &Self::Totals) -> Self::Totals {
        let outputs = node.outputs.iter().zip(&child.outputs);
        self.totals_of(node.weight - child.weight, outputs.map(|(all, some)| difference(&all.ranks, &some.ranks)))
    }

    fn weight(&self, totals: &Self::Totals) -> u64 {
        totals.weight
    }

    fn is_pure(&self, totals: &Self::Totals) -> bool {
        totals.outputs.iter().zip(&self.rankings).all(|(output, ranking)| {
            let value = |rank: &u32| ranking.values[*rank as usize];
            output.ranks.first().map(value) == output.ranks.last().map(value)
        })
    }

    fn impurity(&self, totals: &Self::Totals) -> f64 {
        let mean = |(output, &scale): (&OutputOrder<S>, &i32)| {
            let loss = output.loss.to_i128();
            if loss == 0 {
                return 0.0;
            }
            // Proportional weights give the same quotient, so the same bits.
            let scaled = Wide::<4>::from(loss as u128).shifted(QUOTIENT_BITS);
            let quotient = scaled.divided(totals.weight).to_f64() / self.unit;
            scale_by_power_of_two(quotient, -scale - QUOTIENT_BITS as i32)
        };
        totals.outputs.iter().zip(&self.numbers.scale).map(mean).sum::<f64>() / self.rankings.len() as f64
    }

    /// Writes the median, or the quantile, of the targets as given.
    fn write_value(&self, totals: &Self::Totals, _samples: &[u32], value: &mut [f64]) {
        for (output, value) in value.iter_mut().enumerate() {
            *value = self.mean(totals, output);
        }
    }

    fn n_means(&self) -> usize {
        self.rankings.len()
    }

    fn mean(&self, totals: &Self::Totals, output: usize) -> f64 {
        self.raw_midpoint(output, totals.outputs[output].quantiles)
    }

    /// The quantiles of both sides. The pass must not have been foreseen, as only then the pushed
    /// samples are marked. O(n).
    fn side_means(&self, node: &Self::Totals, scan: &Self::Scan, pushed: Self::Pushed, output: usize) -> [f64; 2] {
        let quantile = |is_pushed: bool, weight: u64| {
            let ranks = (1..).zip(&node.outputs[output].ranks);
            let mut ranks = ranks.filter(|&(place, _)| scan.outputs[output].is_marked(place) == is_pushed);
            let mut below = 0;
            let (_, &least) = ranks.find(|&(_, &rank)| {
                below += self.sample_weight(self.rankings[output].sample(rank));
                !self.level.falls_short(below, weight)
            })?;
            let greatest = if self.level.exceeds(below, weight) { None } else { ranks.next() };
            Some(self.raw_midpoint(output, [least, greatest.map_or(least, |(_, &rank)| rank)]))
        };
        let weights = [pushed.weight, node.weight - pushed.weight];
        [quantile(true, weights[0]), quantile(false, weights[1])].map(|mean| mean.unwrap_or(f64::NAN))
    }

    fn scan(&self) -> QuantileScan<S> {
        let outputs = self.rankings.iter().map(|_| OutputScan::new(self.n_samples)).collect();
        QuantileScan { outputs, ..QuantileScan::default() }
    }

    /// O(n) for the first column of a node, then O(number of samples that the last pass marked).
    fn begin(&self, node: &Self::Totals, scan: &mut Self::Scan) -> QuantilePushed {
        if scan.node != node.id {
            scan.node = node.id;
            for ((output, ranking), order) in scan.outputs.iter_mut().zip(&self.rankings).zip(&node.outputs) {
                output.load(self, ranking, &order.ranks, order.loss);
            }
        } else if !scan.pushed.is_empty() {
            for output in &mut scan.outputs {
                scan.pushed.iter().for_each(|&sample| output.mark(sample, false));
            }
        }
        scan.pushed.clear();
        scan.is_foreseen = false;
        QuantilePushed { n: 0, weight: 0 }
    }

    fn foresee(
        &self,
        node: &Self::Totals,
        scan: &mut Self::Scan,
        samples: impl Iterator<Item = u32> + Clone,
        floor: f64,
    ) -> f64 {
        let QuantileScan { outputs, pass, is_foreseen, .. } = scan;
        let is_only = outputs.len() == 1;
        for (output, &factor) in outputs.iter_mut().zip(&self.factors) {
            pass.list(output, samples.clone());
            if is_only && floor > 0.0 {
                let most = pass.most_gain(self, output) * factor;
                if most < floor {
                    return most;
                }
            }
            pass.foresee(self, output);
        }
        *is_foreseen = true;
        // The losses of pushing no sample and all samples are in the list too. If these are no
        // cuts, they gain 0.
        if let ([output], [factor]) = (&scan.outputs[..], &self.factors[..]) {
            return output.most_gain() * factor;
        }
        let scores =
            (0..scan.outputs[0].n_cuts() as u32).map(|n| self.score(node, scan, QuantilePushed { n, weight: 0 }));
        scores.fold(0.0, |most, score| if score > most { score } else { most })
    }

    #[inline]
    fn push(&self, _node: &Self::Totals, scan: &mut Self::Scan, pushed: &mut QuantilePushed, sample: u32) {
        pushed.n += 1;
        pushed.weight += self.sample_weight(sample);
        if !scan.is_foreseen {
            if scan.pushed.is_empty() {
                scan.outputs.iter_mut().for_each(OutputScan::sum_up);
            }
            scan.pushed.push(sample);
            scan.outputs.iter_mut().for_each(|output| output.mark(sample, true));
        }
    }

    #[inline]
    fn pushed_weight(pushed: &QuantilePushed) -> u64 {
        pushed.weight
    }

    /// O(1) if the pass was foreseen. Otherwise O(n), or O(m log m + log n) for m pushed samples
    /// that are few beside n.
    #[inline]
    fn score(&self, _node: &Self::Totals, scan: &Self::Scan, pushed: QuantilePushed) -> f64 {
        if let ([output], [factor], true) = (&scan.outputs[..], &self.factors[..], scan.is_foreseen) {
            return output.gain(output.foreseen(pushed.n as usize)) * factor;
        }
        let gains = self.losses(scan, pushed).zip(&self.factors);
        gains.fold(0.0, |score, ((output, loss), factor)| score + output.gain(loss) * factor)
    }

    /// No output gains less than 0, and the gain of each output is rounded twice.
    fn tolerance(&self, _node: &Self::Totals, score: f64) -> f64 {
        score * (8.0 + self.rankings.len() as f64) * f64::EPSILON
    }

    fn proof(&self, scan: &Self::Scan, pushed: QuantilePushed) -> QuantileProof {
        self.losses(scan, pushed).map(|(_, loss)| loss.to_i128()).collect()
    }

    fn compare(&self, _node: &Self::Totals, a: &QuantileProof, b: &QuantileProof) -> Ordering {
        if let ([a], [b]) = (&a[..], &b[..]) {
            return b.cmp(a);
        }
        let total = |losses: &QuantileProof| -> Wide {
            let losses = losses.iter().zip(shifts(&self.numbers.scale));
            losses.fold(Wide::ZERO, |sum, (&loss, shift)| sum.plus(&Wide::from(loss as u128).shifted(shift)))
        };
        total(b).cmp(&total(a))
    }

    fn cost(&self, totals: &Self::Totals) -> f64 {
        let losses = totals.outputs.iter().zip(&self.factors);
        losses.map(|(output, factor)| output.loss.to_f64() * factor).sum::<f64>() / self.unit
    }

    #[inline]
    fn sample_weight(&self, sample: u32) -> u64 {
        if self.are_unit { 1 } else { self.weights.get(sample as usize) }
    }
}

/// One order per output, by mean targets. The best cut of such an order need not be the best subset
/// for this loss.
impl<S: Moment> Ordered for Quantile<'_, S> {
    fn order(&self, order: usize) -> impl Fn(u32) -> u64 {
        let n_outputs = self.rankings.len();
        move |sample| above_zero(self.numbers.fixed[sample as usize * n_outputs + order])
    }
}

/// No bound of what a column can gain is known, so all columns are read.
impl<S: Moment> Bounded for Quantile<'_, S> {
    type Spread = ();
    type Mean = ();
}
