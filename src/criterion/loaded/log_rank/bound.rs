//! An upper bound of the scores of all cuts of a pass, which costs less than the scores: most columns of
//! large nodes are given up by it.
//!
//! The numerators of all cuts are sums, and cheap. So the bound is the largest numerator of a stretch of
//! cuts over a lower bound of their variances. Event times are put in blocks, and at the ends of a
//! stretch the pushed weight of each block is known. Let `L` and `R` be the weights of both sides after
//! a block. At an event time in the block, the weights `x` and `y` of the block's samples that are still
//! at risk on either side come on top, and `(L + x) (R + y)` is at least
//! `L R + min(L, R) (x + y)`, where `x + y` does not depend on the cut. A push changes the variance by
//! at most its weighted cumulative hazard, so within a stretch no variance is below the mean of those at
//! its ends less half of what the samples in between may change.
//!
//! That says nothing of the first cuts, nor of the last ones of a pass over the whole node. There the
//! variance is at least the sum of `w_k B_k` less the square of the sum of `w_k sqrt(C(t_k))` over the
//! smaller side, as `C(min(t_k, t_l))` is at most the root of `C(t_k) C(t_l)`.

use super::line::{HAZARD_BITS, Line, ONE};
use crate::criterion::weights::Moment;

/// Passes with fewer samples are not bounded.
const BOUND_FROM: usize = 1024;
/// The most blocks of event times.
const MAX_BLOCKS: usize = 64;
/// A pass is divided into this many parts; the first and the last part are bounded cut by cut.
const EDGE: usize = 128;
/// The weight on the smaller side grows by about this share in a stretch of cuts.
const STRETCH: f64 = 0.125;
/// Widens a bound by more than its rounding.
const SLACK: f64 = 1e-9;

/// A sample of a pass: twice its place and 1 more for an event, and its weight.
pub type Entry = (u32, u64);

/// The data of a node from which its passes are bounded.
#[derive(Default)]
pub(super) struct PassBound {
    blocks: Vec<Block>,
    /// Places that differ in the lowest `shift` bits alone are in one block.
    shift: u32,
    /// By place: `B`, and the root of `C`, as real numbers.
    terms: Vec<[f64; 2]>,
    /// The pushed weight of each block.
    pushed: Vec<f64>,
    /// The last samples of the pass.
    last: Vec<Entry>,
}

/// Event times that follow one another.
#[derive(Debug, Clone, Copy, Default)]
struct Block {
    /// By how much `C` grows over the block.
    growth: f64,
    /// The sum over the event times of the growth of `C` then, times the weight that is at risk then and
    /// not after the block.
    inner: f64,
    /// The weight of the node after the block.
    after: f64,
}

impl PassBound {
    /// Forgets the node, so that the next one is loaded.
    pub fn clear(&mut self) {
        self.blocks.clear();
    }

    /// Prepares the bounds of a node, unless it is loaded. `terms` are `C` and `B` of each place, in units
    /// of `2^-bits`. O(places).
    fn load<S: Moment>(&mut self, line: &Line, bits: i32, terms: impl Iterator<Item = (S, S)>) {
        if !self.blocks.is_empty() {
            return;
        }
        let unit = f64::powi(2.0, -bits);
        self.terms.clear();
        self.shift = 0;
        while line.weights.len() >> self.shift >= MAX_BLOCKS {
            self.shift += 1;
        }
        let size = 1 << self.shift;
        self.blocks.resize(line.weights.len().div_ceil(size), Block::default());
        let mut rest = line.weight;
        for (block, weights) in self.blocks.iter_mut().zip(line.weights.chunks(size)) {
            rest -= weights.iter().sum::<u64>();
            block.after = rest as f64;
        }
        let (mut before, mut at_risk) = (0.0, line.weight);
        for (place, ((own, with_all), &weight)) in terms.zip(&line.weights).enumerate() {
            let own = own.to_f64() * unit;
            let block = &mut self.blocks[place >> self.shift];
            block.growth += own - before;
            block.inner += (own - before) * (at_risk as f64 - block.after);
            self.terms.push([with_all.to_f64() * unit, own.sqrt()]);
            before = own;
            at_risk -= weight;
        }
    }

    /// A lower bound of the variance of the cut after the pushed samples.
    fn least_variance(&self) -> f64 {
        let (mut left, mut variance) = (0.0, 0.0);
        for (block, pushed) in self.blocks.iter().zip(&self.pushed).rev() {
            let right = block.after - left;
            variance += block.growth * left * right + left.min(right) * block.inner;
            left += pushed;
        }
        variance * (1.0 - SLACK)
    }

    /// An upper bound of the scores of the first cuts of a pass, or of the last ones if the samples come
    /// in the opposite order.
    fn most_at_edge(&self, line: &Line, samples: impl Iterator<Item = Entry>) -> f64 {
        let (mut numerator, mut sums, mut most) = (Numerator::of_none(line), [0.0; 2], 0f64);
        for (entry, weight) in samples {
            numerator.push(line, entry, weight);
            let term = self.terms[entry as usize >> 1];
            sums.iter_mut().zip(term).for_each(|(sum, term)| *sum += weight as f64 * term);
            // Before the first event time the cuts have no variance and are forbidden.
            if sums[0] > 0.0 {
                let variance = sums[0] * (1.0 - SLACK) - sums[1] * sums[1] * (1.0 + SLACK);
                most = most.max(quotient(numerator.value, variance));
            }
        }
        most
    }

    /// An upper bound of the scores of all cuts of a pass, the squared numerator over the variance in
    /// real numbers. Infinity where no bound is known, or if it would not be below `floor`. See
    /// [`load`](Self::load) for `terms`. O(samples).
    pub fn most_score<S: Moment>(
        &mut self,
        line: &Line,
        (bits, terms): (i32, impl Iterator<Item = (S, S)>),
        mut samples: impl Iterator<Item = Entry> + Clone,
        (n_node, floor): (usize, f64),
    ) -> f64 {
        let n = samples.clone().count();
        if n < BOUND_FROM {
            return f64::INFINITY;
        }
        self.load(line, bits, terms);
        // The error that the rounding of `C` adds to the changes of variances, for each unit of weight.
        let rounding = line.weight as f64 * f64::powi(2.0, -bits);
        let is_whole = n == n_node;
        let edge = n / EDGE;
        let mut most = self.most_at_edge(line, samples.clone().take(edge));
        self.pushed.clear();
        self.pushed.resize(self.blocks.len(), 0.0);
        let (mut numerator, mut n_pushed, mut previous) = (Numerator::of_none(line), 0, 0.0);
        let end = if is_whole { n - edge } else { n };
        let mut length = edge;
        while n_pushed < end && most < floor {
            let (mut highest, mut change) = (0, 0.0);
            for (entry, weight) in samples.by_ref().take(length.min(end - n_pushed)) {
                let hazard = numerator.push(line, entry, weight);
                highest = highest.max(numerator.value.unsigned_abs());
                change += weight as f64 * (hazard as f64 * UNIT + rounding);
                self.pushed[entry as usize >> 1 >> self.shift] += weight as f64;
            }
            let variance = self.least_variance();
            if n_pushed > 0 {
                let least = (previous + variance - change * (1.0 + SLACK)) / 2.0;
                most = most.max(quotient(highest as i128, least));
            }
            previous = variance;
            n_pushed += length.min(end - n_pushed);
            let smaller = if is_whole { n_pushed.min(n - n_pushed) } else { n_pushed };
            length = ((smaller as f64 * STRETCH) as usize).max(1);
        }
        if is_whole && most < floor {
            self.last.clear();
            self.last.extend(samples);
            most = most.max(self.most_at_edge(line, self.last.iter().rev().copied()));
        }
        if most < floor { most * (1.0 + SLACK) } else { f64::INFINITY }
    }
}

const UNIT: f64 = 1.0 / (1u64 << HAZARD_BITS) as f64;

/// The numerator of the cuts of a pass.
struct Numerator {
    value: i128,
}

impl Numerator {
    /// That before the first sample.
    fn of_none(line: &Line) -> Self {
        Self { value: line.expected - i128::from(line.events) * ONE }
    }

    /// Pushes a sample; returns its cumulative hazard.
    #[inline]
    fn push(&mut self, line: &Line, entry: u32, weight: u64) -> i64 {
        let hazard = line.hazards[entry as usize >> 1];
        let excess = i64::from(entry & 1) * ONE as i64 - hazard;
        self.value += 2 * i128::from(weight) * i128::from(excess);
        hazard
    }
}

/// The squared numerator over the variance, in real numbers; infinity unless the variance is above 0.
fn quotient(numerator: i128, variance: f64) -> f64 {
    let numerator = numerator.to_f64() * UNIT;
    if variance > 0.0 { numerator * numerator / variance } else { f64::INFINITY }
}
