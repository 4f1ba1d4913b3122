//! The losses of all that is left of a set of samples while they are removed one by one, in any order.
//!
//! The samples are a list in the order of their targets, with a pointer to a quantile of those that are left ("Faster
//! Regression Tree", section "L1 loss reduction": the loss changes by the distance of the sample from the median; there samples
//! are inserted, which needs a search; a list gives them up in O(1)).
//!
//! * All weights 1, the median: the pointer is at the lower of the two medians. Whether it moves to a neighbour is decided by
//!   the parity of what is left and the side of the sample, and the loss falls by the sample's distance from where the pointer
//!   is while their number is odd. No sums, no searches, no branches on data.
//! * Otherwise: the balance of the weights below and above the pointer, which moves until neither side has more than its
//!   share; the balance says what the loss changes by. Few steps per removal unless weights are adverse; beyond
//!   [`STEPS_PER_SAMPLE`] of them per sample a tree of partial sums takes over.
//!
//! O(W), or O(W log W) with adverse weights. Integers throughout, so that the order of removal does not show.

use super::fenwick::Fenwick;
use super::level::{Balance, Level};
use super::sum::{Part, Sum};

/// Steps of the pointer, per sample of the list, that are cheaper than a tree.
const STEPS_PER_SAMPLE: usize = 8;

/// Samples in the order of their targets, by place from 1 on; place 0 closes the ring.
#[derive(Debug, Default)]
pub(super) struct Line {
    pub values: Vec<i64>,
    /// Only that of place 0 if all are 1 and nobody asks.
    pub weights: Vec<u64>,
}

impl Line {
    /// No samples.
    pub fn clear(&mut self) {
        self.values.clear();
        self.values.push(0);
        self.weights.clear();
        self.weights.push(0);
    }

    /// The weight at a place.
    pub fn weight(&self, place: usize) -> u64 {
        self.weights.get(place).copied().unwrap_or(1)
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.values.len() - 1
    }
}

/// The neighbours of each place: before, after.
pub(super) type Links = Vec<[u32; 2]>;

/// Links `n` places to a ring, and place 0.
pub(super) fn link_all(links: &mut Links, n: usize) {
    links.clear();
    links.extend((0..=n as u32).map(|i| [i.wrapping_sub(1), i + 1]));
    links[0][0] = n as u32;
    links[n][1] = 0;
}

/// Undoes the removal of these places, of the last first.
pub(super) fn relink(links: &mut Links, removed: &[u32]) {
    for &place in removed.iter().rev() {
        let [before, after] = links[place as usize];
        links[before as usize][1] = place;
        links[after as usize][0] = place;
    }
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "as `remove`")]
fn unlink(links: &mut Links, place: u32) {
    let [before, after] = links[place as usize];
    links[before as usize][1] = after;
    links[after as usize][0] = before;
}

/// A set that samples are removed from.
pub(super) trait Peel<S> {
    /// Removes the sample at a place; returns the loss of the rest.
    fn remove(&mut self, place: u32) -> S;
}

/// Unit weights, median.
pub(super) struct Plain<'a, S> {
    values: &'a [i64],
    links: &'a mut Links,
    n_left: usize,
    median: u32,
    loss: S,
}

impl<'a, S: Sum> Plain<'a, S> {
    /// All samples of a line that `links` link, and their loss.
    pub fn new(line: &'a Line, links: &'a mut Links, loss: S) -> Self {
        let n_left = line.len();
        Self { values: &line.values, links, n_left, median: n_left.div_ceil(2) as u32, loss }
    }

    /// The loss of all samples of a line.
    pub fn loss_of(line: &Line) -> S {
        let (low, high) = line.values[1..].split_at(line.len() / 2);
        let sum = |values: &[i64]| values.iter().fold(S::default(), |sum, &value| sum.plus_product(1, value));
        // Of an odd number, the one in the middle is its own median.
        let middle = if line.len() % 2 == 1 { S::from(high[0]) } else { S::default() };
        sum(high) - sum(low) - middle
    }
}

impl<S: Sum> Peel<S> for Plain<'_, S> {
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "the removals of two lists only overlap in one loop")]
    fn remove(&mut self, place: u32) -> S {
        let [before, after] = self.links[self.median as usize];
        let is_odd = self.n_left % 2 == 1;
        let old = self.median;
        // Only the parity is known in advance: a branch on the side would be mispredicted half the time.
        let (moves, to) = if is_odd { (place >= old, before) } else { (place <= old, after) };
        self.median = old ^ ((old ^ to) & u32::from(moves).wrapping_neg());
        let from = if is_odd { old } else { self.median };
        let distance = self.values[from as usize] - self.values[place as usize];
        self.loss = self.loss - S::from(distance.abs());
        unlink(self.links, place);
        self.n_left -= 1;
        self.loss
    }
}

/// Where the pointer of a list starts: the quantile of all of its samples.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Start<S> {
    pointer: u32,
    below: u64,
    weight: u64,
    /// The loss of all samples.
    pub loss: S,
}

impl<S: Sum> Start<S> {
    /// The start of a line. O(W).
    pub fn of(line: &Line, level: impl Level) -> Self {
        let samples = || line.weights.iter().copied().zip(line.values.iter().copied());
        let weight = line.weights.iter().sum();
        let (mut pointer, mut below) = (1, 0);
        while level.falls_short(below + line.weights[pointer], weight) {
            below += line.weights[pointer];
            pointer += 1;
        }
        let part = |samples: &mut dyn Iterator<Item = (u64, i64)>| {
            samples.fold(Part::<S>::default(), |part, (w, value)| part.with(w, value))
        };
        let point = line.values[pointer];
        let lack = part(&mut samples().take(pointer)).lack_of(point);
        let excess = part(&mut samples().skip(pointer + 1)).excess_over(point);
        Self { pointer: pointer as u32, below, weight, loss: level.loss(excess, lack) }
    }
}

/// Any weights, any level.
pub(super) struct Weighted<'a, S, L: Balance<S>> {
    line: &'a Line,
    links: &'a mut Links,
    level: L,
    pointer: u32,
    /// Of the pointer.
    balance: L::Integer,
    loss: S,
    n_steps: usize,
    tree: Option<Fenwick<S>>,
}

impl<'a, S: Sum, L: Balance<S>> Weighted<'a, S, L> {
    /// All samples of a line that `links` link.
    pub fn new(line: &'a Line, links: &'a mut Links, level: L, start: Start<S>) -> Self {
        let balance = level.below(start.below) - level.whole(start.weight);
        Self { line, links, level, pointer: start.pointer, balance, loss: start.loss, n_steps: 0, tree: None }
    }

    /// The weight and the target at a place.
    #[inline]
    fn at(&self, place: u32) -> (u64, i64) {
        (self.line.weights[place as usize], self.line.values[place as usize])
    }

    /// Moves the pointer until neither side has more than its share. The first step, often none, is without branches.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "as `remove`")]
    fn settle(&mut self) {
        let zero = L::Integer::default();
        let (mut w, mut value) = self.at(self.pointer);
        loop {
            let above = self.balance + self.level.below(w);
            let (goes_down, goes_up) = (self.balance > zero, above < zero);
            let neighbour = self.links[self.pointer as usize][usize::from(goes_up)];
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

    /// The tree of what is left.
    #[cold]
    fn plant(&self) -> Fenwick<S> {
        let mut weights = vec![0; self.line.len()];
        let mut place = self.links[0][1];
        while place != 0 {
            weights[place as usize - 1] = self.line.weights[place as usize];
            place = self.links[place as usize][1];
        }
        Fenwick::new(weights.into_iter().zip(self.line.values[1..].iter().copied()))
    }

    /// Removes the sample that the pointer is at: the pointer goes to the next, or to the last that is left.
    #[cold]
    fn leave(&mut self) {
        let [before, after] = self.links[self.pointer as usize];
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

impl<S: Sum, L: Balance<S>> Peel<S> for Weighted<'_, S, L> {
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "the removals of two lists only overlap in one loop")]
    fn remove(&mut self, place: u32) -> S {
        let (w, value) = self.at(place);
        if let Some(tree) = &mut self.tree {
            tree.remove(place as usize, w, value);
            return tree.loss(self.level, &self.line.values);
        }
        let is_below = place < self.pointer;
        let distance = self.line.values[self.pointer as usize] - value;
        self.loss = self.loss - self.level.loss_of(w, distance.abs(), is_below);
        let below = if is_below { self.level.below(w) } else { L::Integer::default() };
        self.balance = self.balance + self.level.whole(w) - below;
        if place == self.pointer {
            self.leave();
        }
        unlink(self.links, place);
        self.settle();
        if self.n_steps > STEPS_PER_SAMPLE * self.line.len() {
            self.tree = Some(self.plant());
        }
        self.loss
    }
}
