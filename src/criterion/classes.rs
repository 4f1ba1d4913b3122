//! Criteria that are functions of class counts.
//!
//! Gini impurity and entropy both compare splits by `sum_k f(c_k)` of the class counts `c_k` of
//! either side, with `f(c) = c^2` or `f(c) = c log2 c`, and by a term of the side's weight. Pushing
//! a sample changes one count on each side, so a step of the scan is O(1) per output whatever the
//! number of classes ("Climbing trees 2", section "Time complexity", keeps the counts too, but sums
//! over all classes at each step). Several outputs add up their sums.
//!
//! The counts of all outputs lie in one array; a class of an output is a slot of that array (see
//! `data::target::Classes`).

use std::cmp::Ordering;

use smallvec::{SmallVec, smallvec};

use super::bounded::{Bounded, Ceiling, Summary, most_gain_within};
use super::ordered::Ordered;
use super::statistics::{Statistics, few_roundings};
use super::sums::row;
use super::weights::{Moment, SampleWeights};
use crate::data::target::Classes;

/// The function `f` of counts, and the scores that come from its sums. A sum runs over all classes
/// of all outputs.
pub trait Measure: Sync {
    /// A sum of `f` over counts, exact.
    type Sum: Moment;
    /// See [`Bounded::is_squared_distance`].
    fn is_squared_distance(&self) -> bool;
    /// The growth of `f` when a count grows by `weight`: `f(count + weight) - f(count)`.
    fn growth(&self, count: u64, weight: u64) -> Self::Sum;
    /// The impurity, summed over outputs, of a node with this sum and weight.
    fn impurity(&self, sum: Self::Sum, weight: u64, n_outputs: usize) -> f64;
    /// The score at which nothing is gained: the score of a node with this sum and weight that is not split.
    fn score_of_none(&self, sum: Self::Sum, weight: u64, n_outputs: usize) -> f64;
    /// The cost, summed over outputs, of a node with this sum and weight.
    fn cost(&self, sum: Self::Sum, weight: u64, n_outputs: usize) -> f64;
    /// See [`Statistics::score`].
    fn score(&self, split: &Sides<Self::Sum>) -> f64;
    /// See [`Statistics::may_score`].
    #[inline]
    fn may_score(&self, split: &Sides<Self::Sum>, least: f64) -> bool {
        self.score(split) >= least
    }
    /// See [`Statistics::tolerance`]; for a node of this weight, and the number of classes of all
    /// outputs.
    #[inline]
    fn tolerance(&self, score: f64, _weight: u64, _n_outputs: usize, _n_slots: usize) -> f64 {
        few_roundings(score)
    }
    /// No score of a node of this weight is higher. A cut that does not part all classes completely scores
    /// less by at least the inverse of the weight, relatively.
    fn most_score(&self, weight: f64, n_outputs: f64) -> f64;
    /// How far a score by [`Terms`] may be off in a node of this weight, if terms of `n_terms` classes are
    /// added up.
    fn error_of_terms(&self, weight: f64, n_outputs: f64, n_terms: f64) -> f64;
    /// Calls the visitor with the terms of this measure.
    fn visit_terms<V: TermsVisitor>(&self, visitor: V) -> V::Output;
    /// See [`Statistics::compare`].
    fn compare(&self, a: &Sides<Self::Sum>, b: &Sides<Self::Sum>) -> Ordering;
}

/// The score of a measure in floating point, for loops that are compiled for it.
pub trait Terms {
    /// What a class adds to each of two sums, if it has these weights on both sides.
    fn class_terms(left: f64, right: f64) -> [f64; 2];
    /// The score that has these two sums over the classes of all outputs, and these weights on both sides.
    fn score_of_terms(terms: [f64; 2], weights: [f64; 2], n_outputs: f64) -> f64;
}

/// Code that needs the terms of a measure, whatever their type; see [`Measure::visit_terms`].
pub trait TermsVisitor {
    /// What the visitor returns.
    type Output;
    /// Runs the code with these terms.
    fn visit<T: Terms>(self) -> Self::Output;
}

/// The two sides of a candidate split, in no particular order.
#[derive(Debug, Clone, Copy)]
pub struct Sides<S> {
    /// The weight of each side, above 0.
    pub weights: [u64; 2],
    /// The sum of `f` over the counts of each side.
    pub sums: [S; 2],
}

impl<S: Copy> Sides<S> {
    fn swapped(self) -> Self {
        let ([w0, w1], [s0, s1]) = (self.weights, self.sums);
        Self { weights: [w1, w0], sums: [s1, s0] }
    }
}

/// Gini impurity or entropy of the classes of samples.
pub struct ClassCriterion<'a, W, M> {
    pub(super) classes: &'a Classes,
    pub(super) weights: W,
    pub(super) measure: M,
    pub(super) n_outputs: usize,
}

/// The class counts of a node: the weight of each class of each output.
#[derive(Debug)]
pub struct ClassTotals<S> {
    pub(super) weight: u64,
    pub(super) counts: SmallVec<[u64; 8]>,
    sum: S,
}

/// The weight of the pushed samples, and the sums of `f` over the counts of both sides.
#[derive(Debug, Clone, Copy)]
pub struct ClassPushed<S> {
    weight: u64,
    /// Over the counts of the pushed samples.
    inside: S,
    /// Over the counts of the rest.
    outside: S,
}

impl<'a, W: SampleWeights, M: Measure> ClassCriterion<'a, W, M> {
    /// The criterion of this measure over these classes and weights.
    pub fn new(classes: &'a Classes, weights: W, measure: M) -> Self {
        Self { classes, weights, measure, n_outputs: classes.first.len() - 1 }
    }

    /// The state of a scan that has pushed samples with these counts, one per slot. Also sets the
    /// counts in `scan`.
    pub(super) fn pushed(
        &self,
        node: &ClassTotals<M::Sum>,
        scan: &mut [u64],
        counts: impl Iterator<Item = u64>,
    ) -> ClassPushed<M::Sum> {
        let mut pushed = ClassPushed { weight: 0, inside: M::Sum::default(), outside: M::Sum::default() };
        for ((inside, count), &whole) in scan.iter_mut().zip(counts).zip(&node.counts) {
            *inside = count;
            pushed.weight += count;
            pushed.inside = pushed.inside + self.measure.growth(0, count);
            pushed.outside = pushed.outside + self.measure.growth(0, whole - count);
        }
        // Each sample has a class of each output.
        pushed.weight /= self.n_outputs as u64;
        pushed
    }

    pub(super) fn n_slots(&self) -> usize {
        self.classes.first[self.n_outputs] as usize
    }

    /// For each order, the output whose classes the order looks at, and the slot of the class whose
    /// shares it sorts by: every class, but of two classes only the second.
    pub(super) fn orders(&self) -> impl Iterator<Item = (usize, u32)> {
        self.classes.first.windows(2).enumerate().flat_map(|(output, range)| {
            let first = range[0] + u32::from(range[1] - range[0] == 2);
            (first..range[1]).map(move |slot| (output, slot))
        })
    }

    /// The order of this number among [`orders`](Self::orders). O(outputs): there may be many classes, and
    /// a search asks for each order by its number.
    fn order_at(&self, number: usize) -> Option<(usize, u32)> {
        let mut rest = number as u32;
        self.classes.first.windows(2).enumerate().find_map(|(output, range)| {
            let first = range[0] + u32::from(range[1] - range[0] == 2);
            let n_orders = range[1] - first;
            if rest < n_orders {
                return Some((output, first + rest));
            }
            rest -= n_orders;
            None
        })
    }

    #[inline]
    pub(super) fn slots(&self, sample: u32) -> &[u32] {
        row(&self.classes.slots, sample, self.n_outputs)
    }

    fn counted(&self, weight: u64, counts: SmallVec<[u64; 8]>) -> ClassTotals<M::Sum> {
        let sum = self.sum_of(counts.iter().copied());
        ClassTotals { weight, counts, sum }
    }

    /// The sum of `f` over these counts.
    fn sum_of(&self, counts: impl Iterator<Item = u64>) -> M::Sum {
        counts.fold(M::Sum::default(), |sum, count| sum + self.measure.growth(0, count))
    }

    /// The impurity of a node with these counts, averaged over outputs.
    pub(super) fn impurity_of(&self, counts: impl Iterator<Item = u64>, weight: u64) -> f64 {
        self.measure.impurity(self.sum_of(counts), weight, self.n_outputs) / self.n_outputs as f64
    }

    #[inline]
    fn sides(node: &ClassTotals<M::Sum>, pushed: ClassPushed<M::Sum>) -> Sides<M::Sum> {
        Sides { weights: [pushed.weight, node.weight - pushed.weight], sums: [pushed.inside, pushed.outside] }
    }
}

impl<W: SampleWeights, M: Measure> Statistics for ClassCriterion<'_, W, M> {
    type Totals = ClassTotals<M::Sum>;
    /// The counts of the pushed samples, one per slot.
    type Scan = Box<[u64]>;
    type Pushed = ClassPushed<M::Sum>;
    type Proof = ClassPushed<M::Sum>;

    fn totals(&self, samples: &[u32]) -> Self::Totals {
        let mut counts: SmallVec<[u64; 8]> = smallvec![0; self.n_slots()];
        let mut weight = 0;
        for &sample in samples {
            let w = self.weights.weight(sample);
            weight += w;
            for &slot in self.slots(sample) {
                counts[slot as usize] += w;
            }
        }
        self.counted(weight, counts)
    }

    fn minus(&self, node: &Self::Totals, child: &Self::Totals) -> Self::Totals {
        let counts = node.counts.iter().zip(&child.counts).map(|(a, b)| a - b).collect();
        self.counted(node.weight - child.weight, counts)
    }

    fn weight(&self, totals: &Self::Totals) -> u64 {
        totals.weight
    }

    fn is_pure(&self, totals: &Self::Totals) -> bool {
        totals.counts.iter().all(|&count| count == 0 || count == totals.weight)
    }

    fn impurity(&self, totals: &Self::Totals) -> f64 {
        self.measure.impurity(totals.sum, totals.weight, self.n_outputs) / self.n_outputs as f64
    }

    fn n_values(&self) -> usize {
        self.n_outputs * self.classes.first.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(1) as usize
    }

    fn write_value(&self, totals: &Self::Totals, _samples: &[u32], value: &mut [f64]) {
        let width = value.len() / self.n_outputs;
        for (output, range) in self.classes.first.windows(2).enumerate() {
            let counts = &totals.counts[range[0] as usize..range[1] as usize];
            for (share, &count) in value[output * width..].iter_mut().zip(counts) {
                *share = count as f64 / totals.weight as f64;
            }
        }
    }

    fn n_means(&self) -> usize {
        usize::from(*self.classes.first == [0, 2])
    }

    fn mean(&self, totals: &Self::Totals, output: usize) -> f64 {
        totals.counts[output + 1] as f64 / totals.weight as f64
    }

    fn side_means(&self, node: &Self::Totals, counts: &Box<[u64]>, pushed: Self::Pushed, output: usize) -> [f64; 2] {
        let own = counts[output + 1];
        let rest = node.counts[output + 1] - own;
        [own as f64 / pushed.weight as f64, rest as f64 / (node.weight - pushed.weight) as f64]
    }

    fn scan(&self) -> Box<[u64]> {
        vec![0; self.n_slots()].into()
    }

    #[inline]
    fn begin(&self, node: &Self::Totals, counts: &mut Box<[u64]>) -> Self::Pushed {
        counts.fill(0);
        ClassPushed { weight: 0, inside: M::Sum::default(), outside: node.sum }
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "one call per entry; left out of line it costs a fifth of bench `fit`")]
    fn push(&self, node: &Self::Totals, counts: &mut Box<[u64]>, pushed: &mut Self::Pushed, sample: u32) {
        let w = self.weights.weight(sample);
        pushed.weight += w;
        for &slot in self.slots(sample) {
            let inside = &mut counts[slot as usize];
            let outside = node.counts[slot as usize] - *inside;
            pushed.inside = pushed.inside + self.measure.growth(*inside, w);
            pushed.outside = pushed.outside - self.measure.growth(outside - w, w);
            *inside += w;
        }
    }

    #[inline]
    fn pushed_weight(pushed: &Self::Pushed) -> u64 {
        pushed.weight
    }

    #[inline]
    fn score(&self, node: &Self::Totals, _counts: &Box<[u64]>, pushed: Self::Pushed) -> f64 {
        self.measure.score(&Self::sides(node, pushed))
    }

    #[inline]
    fn may_score(&self, node: &Self::Totals, _counts: &Box<[u64]>, pushed: Self::Pushed, least: f64) -> bool {
        self.measure.may_score(&Self::sides(node, pushed), least)
    }

    #[inline]
    fn tolerance(&self, node: &Self::Totals, score: f64) -> f64 {
        self.measure.tolerance(score, node.weight, self.n_outputs, node.counts.len())
    }

    fn proof(&self, _counts: &Box<[u64]>, pushed: Self::Pushed) -> Self::Proof {
        pushed
    }

    fn compare(&self, node: &Self::Totals, a: &Self::Proof, b: &Self::Proof) -> Ordering {
        let [a, b] = [a, b].map(|pushed| Self::sides(node, *pushed));
        let is_tie = |b: Sides<M::Sum>| a.weights == b.weights && a.sums == b.sums;
        // The usual tie: both candidates part the same rows, perhaps with the sides exchanged.
        if is_tie(b) || is_tie(b.swapped()) { Ordering::Equal } else { self.measure.compare(&a, &b) }
    }

    fn cost(&self, totals: &Self::Totals) -> f64 {
        self.measure.cost(totals.sum, totals.weight, self.n_outputs)
    }

    fn sample_weight(&self, sample: u32) -> u64 {
        self.weights.weight(sample)
    }
}

impl<W: SampleWeights, M: Measure> Ordered for ClassCriterion<'_, W, M> {
    /// One order per class, by its share against all other classes; for an output of two classes,
    /// only the order by the second.
    fn n_orders(&self) -> usize {
        self.orders().count()
    }

    fn order(&self, order: usize) -> impl Fn(u32) -> u64 {
        let (output, slot) = self.order_at(order).unwrap_or_default();
        move |sample| u64::from(self.slots(sample)[output] == slot)
    }

    fn order_total(&self, totals: &Self::Totals, _samples: &[u32], order: usize) -> u128 {
        self.order_at(order).map_or(0, |(_, slot)| totals.counts[slot as usize].into())
    }

    fn n_shares(&self) -> usize {
        if self.n_outputs == 1 && self.n_slots() > 2 { self.n_slots() } else { 0 }
    }
}

impl<W: SampleWeights, M: Measure> Bounded for ClassCriterion<'_, W, M> {
    /// An upper bound of the weight of the most frequent class, summed over outputs.
    type Spread = u64;
    /// The sum of the squared class shares over all outputs.
    type Mean = f64;

    fn is_squared_distance(&self) -> bool {
        self.measure.is_squared_distance()
    }

    /// One class on either side, if the node has exactly two classes of one output.
    fn best_conceivable(&self, node: &Self::Totals, _samples: &[u32], scan: &mut Box<[u64]>) -> Option<Self::Proof> {
        let mut present = node.counts.iter().enumerate().filter(|&(_, &count)| count > 0).map(|(slot, _)| slot);
        let (Some(first), Some(_), None) = (present.next(), present.next(), present.next()) else { return None };
        if self.n_outputs > 1 {
            return None;
        }
        let one = node.counts.iter().enumerate().map(|(slot, &count)| if slot == first { count } else { 0 });
        Some(self.pushed(node, scan, one))
    }

    fn gain(&self, node: &Self::Totals, score: f64) -> f64 {
        score - self.measure.score_of_none(node.sum, node.weight, self.n_outputs)
    }

    fn summary(&self, samples: impl Iterator<Item = u32> + Clone, counts: &mut Box<[u64]>) -> Summary<u64> {
        // Clears only the counts that will be used: most columns have fewer entries than there are
        // classes.
        for sample in samples.clone() {
            for &slot in self.slots(sample) {
                counts[slot as usize] = 0;
            }
        }
        let mut weight = 0;
        let mut peaks: SmallVec<[u64; 1]> = smallvec![0; self.n_outputs];
        for sample in samples {
            let w = self.weights.weight(sample);
            weight += w;
            for (&slot, peak) in self.slots(sample).iter().zip(&mut peaks) {
                let count = &mut counts[slot as usize];
                *count += w;
                *peak = (*peak).max(*count);
            }
        }
        Summary { weight, spread: peaks.iter().sum() }
    }

    /// The bound of the most frequent class stays as it is: without the sample, the true weight can
    /// only be lower.
    #[inline]
    fn exclude(&self, summary: &mut Summary<u64>, sample: u32) {
        summary.weight -= self.weights.weight(sample);
    }

    fn farthest_distance(&self, sample: u32) -> f64 {
        2.0 * self.weights.weight(sample) as f64 * self.n_outputs as f64
    }

    fn distance(&self, node: &Self::Totals, ceiling: &Ceiling<f64>, sample: u32) -> f64 {
        let own = |&slot: &u32| 1.0 - 2.0 * node.counts[slot as usize] as f64 / ceiling.weight;
        self.slots(sample).iter().map(own).sum::<f64>() + ceiling.mean
    }

    fn ceiling(&self, node: &Self::Totals) -> Ceiling<f64> {
        let weight = node.weight as f64;
        let (mut radius, mut all_squares) = (0.0, 0.0);
        for range in self.classes.first.windows(2) {
            let counts = &node.counts[range[0] as usize..range[1] as usize];
            // The squared distance between the node's mean and the farthest of its classes:
            // |e_k - p|^2 = 1 - 2 p_k + sum p^2 is largest for the rarest class that the node has.
            let rarest = counts.iter().copied().filter(|&count| count > 0).min().unwrap_or(0);
            let squares: f64 = counts.iter().map(|&count| (count as f64 / weight).powi(2)).sum();
            radius += 1.0 - 2.0 * rarest as f64 / weight + squares;
            all_squares += squares;
        }
        Ceiling { weight, radius, mean: all_squares }
    }

    /// Let a subset have the class weights `s` and the weight `w`, and the node the class shares
    /// `p`. The subset's mean is off the node's mean by a vector `V / w` with
    /// `|V|^2 = sum s^2 - 2 w s.p + w^2 sum p^2`, and `sum s^2` is at most `w` times the largest of
    /// `s`.
    #[inline]
    fn most_gain(ceiling: &Ceiling<f64>, summary: &Summary<u64>) -> f64 {
        let weight = summary.weight as f64;
        let distance = (summary.spread as f64 / weight + ceiling.mean).min(ceiling.radius);
        most_gain_within(weight, ceiling.weight, distance)
    }
}
