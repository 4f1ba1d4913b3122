//! Gini impurity of two classes and one output, at half the work per sample of `gini`.
//!
//! Let `w` be the weight of the pushed samples and `c` the part of `w` that belongs to the second
//! class; `W` and `C` are the weights of the node likewise. With the excess `D = W c - w C`, the
//! impurity falls by a constant times `D^2 / (w (W - w))`, which is the score. Pushing a sample
//! adds its weight times `-C` or `W - C` to `D`: no counts are kept, and no count of the node is
//! looked up. `|D| <= W^2 / 4`. Candidates have the order that `gini` gives them, since both are
//! exact.

use std::cmp::Ordering;

use super::bounded::{Bounded, Ceiling, Summary, most_gain_within};
use super::ordered::Ordered;
use super::statistics::{QUOTIENT_SLACK, Statistics};
use super::weights::{Moment, SampleWeights};
use crate::data::target::Classes;
use crate::num::{Exact, Ratio, Wide, quotient};

/// Above the rounding of a difference of two products, relative to their sum.
const EXCESS_SLACK: f64 = 8.0 * f64::EPSILON;

/// Gini impurity of the two classes of one output.
pub struct BinaryGini<'a, W> {
    /// The class of each sample: 0 or 1.
    pub(super) classes: &'a [u32],
    pub(super) weights: W,
}

/// The weight of some samples, and the weight of the second class among them.
#[derive(Debug, Clone, Copy, Default)]
pub struct BinaryTotals {
    pub(super) weight: u64,
    pub(super) second: u64,
}

/// The mean of a node, as the bounds need it.
#[derive(Debug, Default)]
pub struct BinaryMean {
    /// The weight of the second class.
    second: f64,
    /// The squared distances of the first and of the second class from the node's mean: twice the
    /// squared share of the other class.
    distances: [f64; 2],
}

/// The weight and the excess `D` of the pushed samples.
#[derive(Debug, Clone, Copy)]
pub struct BinaryPushed<M> {
    weight: u64,
    excess: M,
}

impl<M: Moment> BinaryPushed<M> {
    /// The state of a scan that has pushed samples with these totals.
    #[inline]
    pub(super) fn new(node: &BinaryTotals, pushed: BinaryTotals) -> Self {
        let gained = M::product(pushed.second, node.weight as i64);
        Self { weight: pushed.weight, excess: gained.minus_product(pushed.weight, node.second as i64) }
    }
}

impl<'a, W: SampleWeights> BinaryGini<'a, W> {
    /// The criterion, if there is one output of exactly two classes.
    pub fn new(classes: &'a Classes, weights: W) -> Option<Self> {
        (*classes.first == [0, 2]).then_some(Self { classes: &classes.slots, weights })
    }

    fn counted(&self, samples: impl Iterator<Item = u32>) -> BinaryTotals {
        let mut totals = BinaryTotals { weight: 0, second: 0 };
        for sample in samples {
            let w = self.weights.weight(sample);
            totals.weight += w;
            totals.second += w * u64::from(self.classes[sample as usize]);
        }
        totals
    }
}

impl<W: SampleWeights> Statistics for BinaryGini<'_, W> {
    type Totals = BinaryTotals;
    type Scan = ();
    type Pushed = BinaryPushed<W::Moment>;
    type Proof = Self::Pushed;

    fn totals(&self, samples: &[u32]) -> BinaryTotals {
        self.counted(samples.iter().copied())
    }

    fn minus(&self, node: &BinaryTotals, child: &BinaryTotals) -> BinaryTotals {
        BinaryTotals { weight: node.weight - child.weight, second: node.second - child.second }
    }

    fn weight(&self, totals: &BinaryTotals) -> u64 {
        totals.weight
    }

    fn is_pure(&self, totals: &BinaryTotals) -> bool {
        totals.second == 0 || totals.second == totals.weight
    }

    fn impurity(&self, totals: &BinaryTotals) -> f64 {
        // 1 - p^2 - (1 - p)^2 = 2 p (1 - p). The numerator is an exact integer, as in `gini`.
        let (weight, second) = (u128::from(totals.weight), u128::from(totals.second));
        quotient(2 * second * (weight - second), weight * weight)
    }

    fn n_values(&self) -> usize {
        2
    }

    fn write_value(&self, totals: &BinaryTotals, _samples: &[u32], value: &mut [f64]) {
        value[0] = (totals.weight - totals.second) as f64 / totals.weight as f64;
        value[1] = totals.second as f64 / totals.weight as f64;
    }

    fn n_means(&self) -> usize {
        1
    }

    fn mean(&self, totals: &BinaryTotals, _output: usize) -> f64 {
        totals.second as f64 / totals.weight as f64
    }

    fn side_means(&self, node: &BinaryTotals, _scan: &(), pushed: Self::Pushed, output: usize) -> [f64; 2] {
        let gained = pushed.excess.to_i128() + i128::from(pushed.weight) * i128::from(node.second);
        let own = BinaryTotals { weight: pushed.weight, second: (gained / i128::from(node.weight)) as u64 };
        [self.mean(&own, output), self.mean(&self.minus(node, &own), output)]
    }

    fn scan(&self) {}

    #[inline]
    fn begin(&self, _node: &BinaryTotals, _scan: &mut ()) -> Self::Pushed {
        BinaryPushed { weight: 0, excess: W::Moment::default() }
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "one call per entry; left out of line it costs a fifth of bench `fit`")]
    fn push(&self, node: &BinaryTotals, _scan: &mut (), pushed: &mut Self::Pushed, sample: u32) {
        let w = self.weights.weight(sample);
        pushed.weight += w;
        // `W - C` for the second class, `-C` for the first, without a branch on the class.
        let class = i64::from(self.classes[sample as usize] & 1);
        pushed.excess = pushed.excess.plus_product(w, (node.weight as i64 & -class) - node.second as i64);
    }

    #[inline]
    fn pushed_weight(pushed: &Self::Pushed) -> u64 {
        pushed.weight
    }

    #[inline]
    fn score(&self, node: &BinaryTotals, _scan: &(), pushed: Self::Pushed) -> f64 {
        let excess = pushed.excess.to_f64();
        excess * excess / (pushed.weight as i64 as f64 * (node.weight - pushed.weight) as i64 as f64)
    }

    #[inline]
    fn may_score(&self, node: &BinaryTotals, _scan: &(), pushed: Self::Pushed, least: f64) -> bool {
        let excess = pushed.excess.to_f64();
        let product = pushed.weight as i64 as f64 * (node.weight - pushed.weight) as i64 as f64;
        excess * excess >= least * product * QUOTIENT_SLACK
    }

    fn proof(&self, _scan: &(), pushed: Self::Pushed) -> Self::Pushed {
        pushed
    }

    fn compare(&self, node: &BinaryTotals, a: &Self::Pushed, b: &Self::Pushed) -> Ordering {
        let product = |pushed: &Self::Pushed| u128::from(pushed.weight) * u128::from(node.weight - pushed.weight);
        let excess = |pushed: &Self::Pushed| pushed.excess.to_i128().unsigned_abs();
        if product(a) == product(b) {
            // The usual tie: both candidates part the same rows, perhaps with the sides exchanged.
            return excess(a).cmp(&excess(b));
        }
        let ratio = |pushed| {
            let excess: Wide = Wide::from(excess(pushed));
            Ratio { numerator: excess.times(&excess), denominator: product(pushed) }
        };
        ratio(a).compare(&ratio(b))
    }

    fn cost(&self, totals: &BinaryTotals) -> f64 {
        let (weight, second) = (u128::from(totals.weight), u128::from(totals.second));
        (2 * second * (weight - second)) as f64 / weight as f64
    }

    fn sample_weight(&self, sample: u32) -> u64 {
        self.weights.weight(sample)
    }
}

impl<W: SampleWeights> Ordered for BinaryGini<'_, W> {
    fn order(&self, _order: usize) -> impl Fn(u32) -> u64 {
        |sample| u64::from(self.classes[sample as usize])
    }

    fn order_total(&self, totals: &BinaryTotals, _samples: &[u32], _order: usize) -> u128 {
        totals.second.into()
    }

    fn sum_pusher(&self) -> Option<impl Fn(&BinaryTotals, &mut Self::Pushed, u64, u128)> {
        Some(|node: &BinaryTotals, pushed: &mut Self::Pushed, weight: u64, sum: u128| {
            let gained = pushed.excess.plus_product(sum as u64, node.weight as i64);
            let excess = gained.minus_product(weight, node.second as i64);
            *pushed = BinaryPushed { weight: pushed.weight + weight, excess };
        })
    }
}

impl<W: SampleWeights> Bounded for BinaryGini<'_, W> {
    /// The weight of the second class.
    type Spread = u64;
    type Mean = BinaryMean;

    fn is_squared_distance(&self) -> bool {
        true
    }

    /// One class on either side.
    fn best_conceivable(&self, node: &BinaryTotals, _samples: &[u32], _scan: &mut ()) -> Option<Self::Pushed> {
        Some(BinaryPushed::new(node, BinaryTotals { weight: node.second, second: node.second }))
    }

    fn gain(&self, node: &BinaryTotals, score: f64) -> f64 {
        2.0 * score / node.weight as f64
    }

    fn summary(&self, samples: impl Iterator<Item = u32> + Clone, _scan: &mut ()) -> Summary<u64> {
        let BinaryTotals { weight, second } = self.counted(samples);
        Summary { weight, spread: second }
    }

    #[inline]
    fn exclude(&self, summary: &mut Summary<u64>, sample: u32) {
        let w = self.weights.weight(sample);
        summary.weight -= w;
        summary.spread -= w * u64::from(self.classes[sample as usize]);
    }

    fn farthest_distance(&self, sample: u32) -> f64 {
        2.0 * self.weights.weight(sample) as f64
    }

    fn distance(&self, _node: &BinaryTotals, ceiling: &Ceiling<BinaryMean>, sample: u32) -> f64 {
        ceiling.mean.distances[self.classes[sample as usize] as usize & 1]
    }

    fn ceiling(&self, node: &BinaryTotals) -> Ceiling<BinaryMean> {
        // The share of the first class is no difference of doubles: beside heavy samples it may be less than
        // the rounding of 1.
        let share = |weight: u64| weight as f64 / node.weight as f64;
        let distances = [node.second, node.weight - node.second].map(|other| 2.0 * share(other).powi(2));
        Ceiling {
            weight: node.weight as f64,
            radius: distances[0].max(distances[1]),
            mean: BinaryMean { second: node.second as f64, distances },
        }
    }

    /// The gain is convex in the two class weights of the subset, so its maximum is at a corner: a side has
    /// all rows of one class of the summary and none of the other class, or all rows of both classes.
    fn most_gain(ceiling: &Ceiling<BinaryMean>, summary: &Summary<u64>) -> f64 {
        let [first, second] = ceiling.mean.distances;
        let n = ceiling.weight;
        // The summary may have samples that have left the node.
        let s = (summary.spread as f64).min(ceiling.mean.second);
        let m = ((summary.weight - summary.spread) as f64).min(n - ceiling.mean.second) + s;
        let alone = most_gain_within(m - s, n, first).max(most_gain_within(s, n, second));
        // Where the summary has all samples of the node, "all of both" is no split, and no split
        // betters the one that parts the classes.
        let (of_second, of_first) = (s * second.sqrt(), (m - s) * first.sqrt());
        let excess = (of_second - of_first).abs() + EXCESS_SLACK * (of_second + of_first);
        if m < n { alone.max(excess * excess * n / (m * (n - m)).max(1.0)) } else { alone }
    }
}
