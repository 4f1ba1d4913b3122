//! The loss of the remaining samples of a set, while samples are removed one by one in any order.
//!
//! The samples are a list in the order of their targets, with a pointer to a quantile of the remaining ones.
//! "Faster Regression Tree", section "L1 loss reduction", has the idea: the loss changes by the distance of
//! the sample from the median. There samples are inserted, which needs a search for their places; a list
//! removes them in O(1).
//!
//! * All weights 1, the median ([`Plain`]): the pointer is at the lower of the two medians. The
//!   parity of the number of samples left and the side of the removed sample decide whether the
//!   pointer moves to a neighbour. The loss falls by the distance between the removed sample and
//!   the median of the odd number of samples that were there before the removal or are left after
//!   it. No sums, no searches, no branches on data.
//! * Otherwise ([`Weighted`]): the pointer moves until neither side has more than its share of the
//!   weight. The balance of the pointer's place (see [`Balance`]) tells whether to move, and what
//!   the loss changes by. A removal moves the pointer few steps unless weights are adverse. Beyond
//!   [`STEPS_PER_SAMPLE`] steps per sample a tree of partial sums takes over.
//!
//! O(n) for n samples, or O(n log n) with adverse weights. All numbers are integers, so the order of removals
//! does not change the losses. `ring` has two kinds of lists.

use super::fenwick::Fenwick;
use super::level::{Balance, LossLevel};
use super::line::Line;
use super::ring::Ring;
use super::sum::around;
use crate::criterion::weights::Moment;

/// A tree is cheaper than the list once the pointer has moved more than this many steps per sample
/// of the list.
const STEPS_PER_SAMPLE: usize = 8;

/// A set of samples, by place, from which samples are removed.
pub(super) trait Peel<S> {
    /// Removes the sample at a place; returns the loss of the samples that are left.
    fn remove(&mut self, place: u32) -> S;
}

/// Samples with unit weights, and their loss about the median.
pub(super) struct Plain<R, S> {
    ring: R,
    n_left: usize,
    median: u32,
    /// The median of the odd number of samples: of the remaining samples if their number is odd, else of the
    /// samples before the last removal.
    point: i64,
    loss: S,
}

impl<R: Ring, S: Moment> Plain<R, S> {
    /// The set of all `n` samples of a ring; `loss` is their loss.
    pub fn new(ring: R, n: usize, loss: S) -> Self {
        let median = n.div_ceil(2) as u32;
        Self { n_left: n, median, point: ring.value(median), ring, loss }
    }
}

/// The loss of all samples of a line about their median, with unit weights.
pub(super) fn plain_loss<S: Moment>(line: &Line) -> S {
    let (low, high) = line.values[1..].split_at(line.len() / 2);
    let sum = |values: &[i64]| values.iter().fold(S::default(), |sum, &value| sum.plus_product(1, value));
    // Of an odd number of samples, the middle one is the median itself, and is in `high`.
    let middle = if line.len() % 2 == 1 { S::from(high[0]) } else { S::default() };
    sum(high) - sum(low) - middle
}

impl<R: Ring, S: Moment> Peel<S> for Plain<R, S> {
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "the removals of two lists only overlap in one loop")]
    fn remove(&mut self, place: u32) -> S {
        let old = self.median;
        let value = self.ring.value(place);
        // Branching on the parity is cheap, as it alternates. A branch on the side of the sample
        // would be mispredicted half the time.
        let choose = |moves: bool, to: u32| old ^ ((old ^ to) & u32::from(moves).wrapping_neg());
        if self.n_left % 2 == 1 {
            self.median = choose(place >= old, self.ring.before(old));
        } else {
            self.median = choose(place <= old, self.ring.after(old));
            // The number of samples left is about to be odd: this is their median, about which the
            // next removal is measured too.
            self.point = self.ring.value(self.median);
        }
        self.loss = self.loss - S::from((self.point - value).abs());
        self.ring.unlink(place);
        self.n_left -= 1;
        self.loss
    }
}

/// Where the pointer of a list starts: at the quantile of all samples of a line. `below` is the
/// weight of the places before it, `weight` the whole weight.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ListStart<S> {
    pointer: u32,
    below: u64,
    weight: u64,
    /// The loss of all samples about the quantile.
    pub loss: S,
}

impl<S: Moment> ListStart<S> {
    /// The start for a line. O(n).
    pub fn of(line: &Line, level: impl LossLevel) -> Self {
        let weight = line.weights.iter().sum();
        let samples = line.weights.iter().copied().zip(line.values.iter().copied()).skip(1);
        let (n_below, below, loss) = around(level, weight, samples);
        Self { pointer: 1 + n_below as u32, below, weight, loss }
    }
}

/// Samples with any weights, and their loss about the quantile of any level.
pub(super) struct Weighted<'a, R, S: Moment, L: Balance<S>> {
    line: &'a Line,
    ring: R,
    level: L,
    pointer: u32,
    /// The balance of the place that the pointer is at, see [`Balance`].
    balance: L::Integer,
    loss: S,
    n_steps: usize,
    tree: Option<Fenwick<S>>,
}

impl<'a, R: Ring, S: Moment, L: Balance<S>> Weighted<'a, R, S, L> {
    /// The set of all samples of a line; `ring` is the list of the line's places.
    pub fn new(line: &'a Line, ring: R, level: L, start: ListStart<S>) -> Self {
        let balance = level.below(start.below) - level.whole(start.weight);
        Self { line, ring, level, pointer: start.pointer, balance, loss: start.loss, n_steps: 0, tree: None }
    }

    /// The weight and the target at a place.
    #[inline]
    fn at(&self, place: u32) -> (u64, i64) {
        (self.line.weights[place as usize], self.ring.value(place))
    }

    /// Moves the pointer until neither side has more than its share of the weight. The first step,
    /// which is often no step, has no branches.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "as `remove`")]
    fn move_pointer(&mut self) {
        let zero = L::Integer::default();
        let (mut w, mut value) = self.at(self.pointer);
        loop {
            let above = self.balance + self.level.below(w);
            let (goes_down, goes_up) = (self.balance > zero, above < zero);
            let neighbour = self.ring.neighbour(self.pointer, goes_up);
            self.pointer = if goes_down | goes_up { neighbour } else { self.pointer };
            let (next_w, next_value) = self.at(self.pointer);
            let slope = if goes_down { self.balance } else { above };
            self.loss = self.loss + L::times(slope, next_value - value);
            let lower = self.balance - self.level.below(next_w);
            let unmoved = if goes_up { above } else { self.balance };
            self.balance = if goes_down { lower } else { unmoved };
            (w, value) = (next_w, next_value);
            if self.balance <= zero && self.balance + self.level.below(w) >= zero {
                return;
            }
            self.n_steps += 1;
        }
    }

    /// The tree of the samples that are left.
    #[cold]
    fn build_tree(&self) -> Fenwick<S> {
        let mut weights = vec![0; self.line.len()];
        let mut place = self.ring.after(0);
        while place != 0 {
            weights[place as usize - 1] = self.line.weights[place as usize];
            place = self.ring.after(place);
        }
        Fenwick::new(weights.into_iter().zip(self.line.values[1..].iter().copied()))
    }

    /// Moves the pointer off its sample, which is about to be removed: to the next sample, or if
    /// there is none to the last one before.
    #[cold]
    fn leave(&mut self) {
        let (before, after) = (self.ring.before(self.pointer), self.ring.after(self.pointer));
        let (_, value) = self.at(self.pointer);
        if after != 0 {
            self.loss = self.loss + L::times(self.balance, self.at(after).1 - value);
            self.pointer = after;
        } else if before != 0 {
            let (w, last) = self.at(before);
            self.loss = self.loss + L::times(self.balance, last - value);
            self.balance = self.balance - self.level.below(w);
            self.pointer = before;
        } else {
            self.pointer = 0;
        }
    }
}

impl<R: Ring, S: Moment, L: Balance<S>> Peel<S> for Weighted<'_, R, S, L> {
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "the removals of two lists only overlap in one loop")]
    fn remove(&mut self, place: u32) -> S {
        let (w, value) = self.at(place);
        if let Some(tree) = &mut self.tree {
            tree.remove(place as usize, w, value);
            return tree.loss(self.level, &self.line.values);
        }
        let is_below = place < self.pointer;
        let distance = self.ring.value(self.pointer) - value;
        self.loss = self.loss - self.level.loss_of(w, distance.abs(), is_below);
        let below = if is_below { self.level.below(w) } else { L::Integer::default() };
        self.balance = self.balance + self.level.whole(w) - below;
        if place == self.pointer {
            self.leave();
        }
        self.ring.unlink(place);
        self.move_pointer();
        if self.n_steps > STEPS_PER_SAMPLE * self.line.len() {
            self.tree = Some(self.build_tree());
        }
        self.loss
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::criterion::loaded::quantile::level::HalfLevel;
    use crate::criterion::loaded::quantile::ring::{Mask, PlaceLinks};

    /// Removes the places of a list in this order; returns whether a tree took over.
    fn run<R: Ring>(mut list: Weighted<'_, R, i64, HalfLevel>, order: impl Iterator<Item = u32>) -> bool {
        let last = order.map(|place| list.remove(place)).last();
        assert_eq!(last, Some(0));
        list.tree.is_some()
    }

    /// Whether a tree takes over while the places are removed in this order.
    fn falls_back(weights: impl Iterator<Item = u64>, order: impl Iterator<Item = u32>, is_small: bool) -> bool {
        let mut line = Line::default();
        line.clear();
        line.weights.extend(weights);
        line.values.extend((1..line.weights.len()).map(|place| place as i64));
        let n = line.len();
        let start = ListStart::<i64>::of(&line, HalfLevel);
        if is_small {
            run(Weighted::new(&line, Mask::new(&line, n), HalfLevel, start), order)
        } else {
            let mut links = PlaceLinks::default();
            links.link_all(&line);
            run(Weighted::new(&line, links.ring(), HalfLevel, start), order)
        }
    }

    #[test]
    fn a_tree_takes_over_when_the_pointer_runs() {
        // Of 3m places, the m in the middle are light. The heavy ones leave in turns from both
        // ends, so that each removal moves the pointer across the light ones: m^2 steps in all.
        for (m, is_small) in [(20u32, true), (20, false), (200, false)] {
            let is_light = |place: u32| (m..2 * m).contains(&(place - 1));
            let weights = |heavy: u64| (1..=3 * m).map(move |place| if is_light(place) { 1 } else { heavy });
            let order = || (0..m).flat_map(|i| [1 + i, 3 * m - i]).chain(m + 1..=2 * m);
            assert!(!falls_back(weights(1), order(), is_small));
            assert_eq!(falls_back(weights(100_000), order(), is_small), m * m > 8 * 3 * m, "{m}");
        }
    }
}
