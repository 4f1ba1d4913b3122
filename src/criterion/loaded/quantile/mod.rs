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
//! of their targets ([`Ranking`]), and the losses of all cuts of a column come from one pass over the
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
use std::sync::Arc;

use super::rule::{Pass, Proof, Pushed, Rule, pushed_in_order};
use super::sample_order::SampleOrder;
use super::{ListSum, NodeLists, NodeWeights};
use crate::criterion::sums::{factors, shifts};
use crate::criterion::weights::Moment;
use crate::data::target::Numbers;
use crate::data::{Entry, Target};
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
    weights: NodeWeights<'a>,
    level: QuantileLevel,
    /// The integer losses are the loss times this: the denominator of the level, or 1 for the
    /// absolute error.
    unit: f64,
    n_samples: usize,
    /// Per output, the order of the targets of all samples.
    rankings: Box<[Ranking]>,
    /// Per output: losses times the factor have one scale for all outputs.
    factors: Box<[f64]>,
    sums: std::marker::PhantomData<fn() -> S>,
}

/// Buffers of a scan. The scan is foreseen if [`Pass::foresee`] was told its samples.
struct QuantilePass<'a, S> {
    criterion: Arc<Quantile<'a, S>>,
    weights: NodeWeights<'a>,
    /// The identity of the node whose samples `outputs` have loaded; 0 before the first.
    node: u64,
    outputs: Box<[OutputScan<S>]>,
    scratch: PassScratch,
    /// Whether the scan was foreseen, so that the losses of all its cuts are known.
    is_foreseen: bool,
    /// The pushed samples of a scan that was not foreseen.
    pushed: Vec<u32>,
}

/// Bits of a weighted sum of the targets.
fn sum_bits(target: &Target, numbers: &Numbers) -> u32 {
    let weight = (0..target.n_samples()).map(|sample| target.weights().get(sample)).sum();
    numbers.bits - 1 + bit_length(weight)
}

/// The fraction that stands for a level in a tree with this target: its denominator leaves room for
/// the sums of losses. A tree resolves its level once, since a part of the rows would have room for
/// a larger denominator.
pub(in crate::criterion) fn resolve(level: QuantileLevel, target: &Target, numbers: &Numbers) -> QuantileLevel {
    level.within(WIDE_BITS - sum_bits(target, numbers))
}

/// Whether sums of 64 bits have room for the losses about the quantile of this level, which is
/// resolved; without a level, about the median.
pub(in crate::criterion) fn is_narrow(target: &Target, numbers: &Numbers, level: Option<QuantileLevel>) -> bool {
    sum_bits(target, numbers) + level.map_or(0, |level| bit_length(level.denominator())) <= NARROW_BITS
}

impl<'a, S: Moment> Quantile<'a, S> {
    /// The absolute error, or if a resolved level is given the loss about the quantile of that
    /// level.
    pub(in crate::criterion) fn new(
        target: &'a Target,
        numbers: &'a Numbers,
        level: Option<QuantileLevel>,
        runtime: &Runtime<'_>,
    ) -> Result<Self> {
        let weights = NodeWeights::new(target.weights());
        let ranking = |output| Ranking::new(numbers, output, weights, runtime);
        Ok(Self {
            numbers,
            weights,
            level: level.unwrap_or(QuantileLevel::HALF),
            unit: level.map_or(1.0, |level| level.denominator() as f64),
            n_samples: target.n_samples(),
            rankings: (0..numbers.scale.len()).map(ranking).collect::<Result<_>>()?,
            factors: factors(&numbers.scale),
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
        self.weights.are_unit && self.is_half()
    }

    /// The point half way between the targets, as given, of the samples with these ranks.
    fn raw_midpoint(&self, output: usize, ranks: [u32; 2]) -> f64 {
        let raw = |rank| self.numbers.raw[self.rankings[output].sample(rank) as usize * self.rankings.len() + output];
        let [least, greatest] = ranks.map(raw);
        // Turns -0.0 into 0.0: both zeros are one target.
        f64::midpoint(least, greatest) + 0.0
    }
}

impl<'a, S: Moment> Rule<'a> for Quantile<'a, S> {
    fn order(&self, output: usize) -> Option<&SampleOrder> {
        self.rankings.get(output).map(|ranking| &ranking.order)
    }

    /// The quantile and the loss of the samples with these ranks. O(n).
    fn sum_up(&self, output: usize, ranks: &[u32], weight: u64) -> ListSum {
        let ranking = &self.rankings[output];
        let weight_of = |rank: u32| ranking.weights.get(rank as usize).copied().unwrap_or(1);
        let samples = ranks.iter().map(|&rank| (weight_of(rank), ranking.values[rank as usize]));
        let (n_below, below, loss) = around::<S>(self.level, weight, samples);
        let least = ranks[n_below];
        let meets = !self.level.exceeds(below + weight_of(least), weight);
        let greatest = if meets { ranks[n_below + 1] } else { least };
        ListSum { quantiles: [least, greatest], loss: loss.to_i128(), ..ListSum::default() }
    }

    fn is_pure(&self, node: &NodeLists) -> bool {
        node.lists.iter().zip(&self.rankings).all(|(list, ranking)| {
            let value = |rank: &u32| ranking.values[*rank as usize];
            list.ranks.first().map(value) == list.ranks.last().map(value)
        })
    }

    fn impurity(&self, node: &NodeLists) -> f64 {
        let mean = |(loss, &scale): (i128, &i32)| {
            if loss == 0 {
                return 0.0;
            }
            // Proportional weights give the same quotient, so the same bits.
            let scaled = Wide::<4>::from(loss as u128).shifted(QUOTIENT_BITS);
            let quotient = scaled.divided(node.weight).to_f64() / self.unit;
            scale_by_power_of_two(quotient, -scale - QUOTIENT_BITS as i32)
        };
        let losses = node.lists.iter().map(|list| list.sum.loss);
        losses.zip(&self.numbers.scale).map(mean).sum::<f64>() / self.rankings.len() as f64
    }

    fn cost(&self, node: &NodeLists) -> f64 {
        let losses = node.lists.iter().map(|list| S::default().plus_sum(list.sum.loss).to_f64());
        losses.zip(&self.factors).map(|(loss, factor)| loss * factor).sum::<f64>() / self.unit
    }

    fn n_means(&self) -> usize {
        self.rankings.len()
    }

    /// The median, or the quantile, of the targets as given.
    fn mean(&self, node: &NodeLists, output: usize) -> f64 {
        self.raw_midpoint(output, node.lists[output].sum.quantiles)
    }

    fn numbers(&self) -> &'a [i64] {
        &self.numbers.fixed
    }

    /// No output gains less than 0, and the gain of each output is rounded twice.
    fn tolerance(&self, score: f64) -> f64 {
        score * (8.0 + self.rankings.len() as f64) * f64::EPSILON
    }

    /// The lower loss is the better one.
    fn compare(&self, a: &Proof, b: &Proof) -> Ordering {
        if let ([a], [b]) = (&a[..], &b[..]) {
            return b.cmp(a);
        }
        let total = |losses: &Proof| -> Wide {
            let losses = losses.iter().zip(shifts(&self.numbers.scale));
            losses.fold(Wide::ZERO, |sum, (&loss, shift)| sum.plus(&Wide::from(loss).shifted(shift)))
        };
        total(b).cmp(&total(a))
    }

    fn pass(self: Arc<Self>, weights: NodeWeights<'a>) -> Box<dyn Pass + 'a> {
        let outputs = self.rankings.iter().map(|_| OutputScan::new(self.n_samples)).collect();
        let (scratch, pushed) = Default::default();
        Box::new(QuantilePass { criterion: self, weights, node: 0, outputs, scratch, is_foreseen: false, pushed })
    }
}

impl<S: Moment> QuantilePass<'_, S> {
    /// The loss of both sides together, by output.
    fn losses(&self, pushed: Pushed) -> impl Iterator<Item = (&OutputScan<S>, S)> {
        self.outputs.iter().map(move |output| {
            let loss = if self.is_foreseen {
                output.foreseen(pushed.count as usize)
            } else {
                output.walked(&self.criterion, &self.pushed)
            };
            (output, loss)
        })
    }
}

impl<S: Moment> Pass for QuantilePass<'_, S> {
    /// O(n) for the first column of a node, then O(number of samples that the last pass marked).
    fn begin(&mut self, node: &NodeLists) {
        let Self { criterion, outputs, .. } = self;
        if self.node != node.id {
            self.node = node.id;
            for ((output, ranking), list) in outputs.iter_mut().zip(&criterion.rankings).zip(&node.lists) {
                output.load(criterion, ranking, &list.ranks, S::default().plus_sum(list.sum.loss));
            }
        } else if !self.pushed.is_empty() {
            for output in outputs {
                self.pushed.iter().for_each(|&sample| output.mark(sample, false));
            }
        }
        self.pushed.clear();
        self.is_foreseen = false;
    }

    fn foresee(&mut self, _node: &NodeLists, entries: [&[Entry]; 3], floor: f64) -> f64 {
        let Self { criterion, outputs, scratch, is_foreseen, .. } = self;
        let is_only = outputs.len() == 1;
        for (output, &factor) in outputs.iter_mut().zip(&criterion.factors) {
            scratch.list(output, pushed_in_order(entries));
            if is_only && floor > 0.0 {
                let most = scratch.most_gain(criterion, output) * factor;
                if most < floor {
                    return most;
                }
            }
            scratch.foresee(criterion, output);
        }
        *is_foreseen = true;
        // The losses of pushing no sample and all samples are in the list too. If these are no
        // cuts, they gain 0.
        if let ([output], [factor]) = (&self.outputs[..], &self.criterion.factors[..]) {
            return output.most_gain() * factor;
        }
        let scores =
            (0..self.outputs[0].n_cuts() as u64).map(|count| self.score(Pushed { count, ..Pushed::default() }));
        scores.fold(0.0, |most, score| if score > most { score } else { most })
    }

    #[inline]
    fn push(&mut self, pushed: &mut Pushed, sample: u32) {
        pushed.count += 1;
        pushed.weight += self.weights.of(sample);
        if !self.is_foreseen {
            if self.pushed.is_empty() {
                self.outputs.iter_mut().for_each(OutputScan::sum_up);
            }
            self.pushed.push(sample);
            self.outputs.iter_mut().for_each(|output| output.mark(sample, true));
        }
    }

    /// O(1) if the pass was foreseen. Otherwise O(n), or O(m log m + log n) for m pushed samples
    /// that are few beside n.
    #[inline]
    fn score(&self, pushed: Pushed) -> f64 {
        let factors = &self.criterion.factors;
        if let ([output], [factor], true) = (&self.outputs[..], &factors[..], self.is_foreseen) {
            return output.gain(output.foreseen(pushed.count as usize)) * factor;
        }
        let gains = self.losses(pushed).zip(factors);
        gains.fold(0.0, |score, ((output, loss), factor)| score + output.gain(loss) * factor)
    }

    fn proof(&self, pushed: Pushed) -> Proof {
        self.losses(pushed).map(|(_, loss)| loss.to_i128() as u128).collect()
    }

    /// The quantiles of both sides. The pass must not have been foreseen, as only then the pushed
    /// samples are marked. O(n).
    fn side_means(&self, node: &NodeLists, pushed: Pushed, output: usize) -> [f64; 2] {
        let Quantile { rankings, level, .. } = &*self.criterion;
        let quantile = |is_pushed: bool, weight: u64| {
            let ranks = (1..).zip(&node.lists[output].ranks);
            let mut ranks = ranks.filter(|&(place, _)| self.outputs[output].is_marked(place) == is_pushed);
            let mut below = 0;
            let (_, &least) = ranks.find(|&(_, &rank)| {
                below += self.weights.of(rankings[output].sample(rank));
                !level.falls_short(below, weight)
            })?;
            let greatest = if level.exceeds(below, weight) { None } else { ranks.next() };
            Some(self.criterion.raw_midpoint(output, [least, greatest.map_or(least, |(_, &rank)| rank)]))
        };
        [quantile(true, pushed.weight), quantile(false, node.weight - pushed.weight)]
            .map(|mean| mean.unwrap_or(f64::NAN))
    }
}
