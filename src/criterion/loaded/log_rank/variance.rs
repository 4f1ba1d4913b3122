//! The variance by which the square of the log-rank numerator is divided.
//!
//! **Exact.** The variance of the numerator is the sum over event times `j` of `v_j (L_j / Y_j) (R_j / Y_j)`,
//! where `L_j` and `R_j` are the weights at risk on either side. With `C(t)`, the sum of `v_j / Y_j^2` up to
//! `t`, it is the sum over all pairs of a sample `k` on the left and a sample `l` on the right of `w_k w_l
//! C(min(t_k, t_l))`: both are at risk at the event times up to the earlier of their times. `C` is rounded
//! once to fixed point, so this is a sum of integers that are not negative, the same whichever side is
//! pushed. A pushed sample `i` adds `w_i (B_i - w_i C(t_i) - 2 A_i)` to it: `B_i` is the sum of `w_k
//! C(min(t_i, t_k))` over the node, and `A_i` the sum over the samples pushed before. `A_i` comes from two
//! sums over the pushed samples before `t_i`: their weight, and their weighted `C`. A binary tree over event
//! times has the sums of the left half below each of its nodes, as Fenwick's tree has ("A new data structure
//! for cumulative frequency tables", Software: Practice and Experience 24, 1994). But here a push takes
//! equally many steps for every time, and no branch: branches on times would be mispredicted.
//!
//! **Fast.** The first form of the test (Peto and Peto, "Asymptotically efficient rank invariant test
//! procedures", JRSS A 135, 1972), which `LeBlanc` and Crowley use for cuts (1995, see the parent module),
//! divides by the harmonic sum of the expected numbers of events on either side,
//! `E_L E_R / (E_L + E_R)`. It needs sums alone.

use super::bound::{Entry, PassBound};
use super::line::{HAZARD_BITS, Line, to_fixed};
use crate::criterion::weights::Moment;
use crate::num::bit_length;

/// A node whose weight has more bits has sums of 128 bits.
pub(super) const NARROW_BITS: u32 = 26;

/// Fractional bits of `C` in a node of this weight. `C` is at most the sum of the squared inverses of all
/// integers, below 2; `A` and `B` are at most the cumulative hazard, below 2^6; and weighted sums of them are
/// at most the weight of the node. So `C`, `A` and `B` fit in 62 bits if the node is narrow; otherwise they
/// and the weighted sums fit in 126 bits.
fn variance_bits(weight: u64) -> i32 {
    if bit_length(weight) <= NARROW_BITS { 56 } else { 122 - bit_length(weight) as i32 }
}

/// The divisor of the squared numerator, as a sum over the pushed samples.
pub trait Variance: Default + Send {
    /// Loads a node. No sample is pushed.
    fn load(&mut self, line: &Line);
    /// Begins a pass: no sample is pushed.
    fn clear(&mut self);
    /// Pushes a sample of this place; returns what it adds to the sum.
    fn push(&mut self, place: u32, weight: u64) -> i128;
    /// An upper bound of the scores of all cuts of a pass over a node of `n_node` samples, if it is known
    /// and below `floor`; else infinity.
    fn most_score(
        &mut self,
        _line: &Line,
        _samples: impl Iterator<Item = Entry> + Clone,
        (_n_node, _floor): (usize, f64),
    ) -> f64 {
        f64::INFINITY
    }
    /// Two integers whose product is the divisor, but for a factor of the node. `expected` is the weighted
    /// sum of the cumulative hazards of the pushed samples, and `sum` of what [`push`](Self::push) returned.
    fn factors(line: &Line, expected: i128, sum: i128) -> [u128; 2];
    /// The log-rank statistic of a cut, from the events of one side above expectation, and their
    /// variance; and from the expected events of both sides. 0 if the divisor is 0.
    fn statistic(excess: f64, variance: f64, expected: [f64; 2]) -> f64;
}

/// The exact variance, from sums of pairs; `S` is the integer type of `C`, `A` and `B`.
#[derive(Default)]
pub struct Pairs<S> {
    /// By place: `C`, and `B`.
    terms: Vec<Term<S>>,
    /// The binary tree: the children of node `i`, from 1 on, are the nodes `2 i` and `2 i + 1`; nodes from
    /// the length of the list on are the places. A node has the sums over the places below its left child.
    nodes: Vec<PushedSums<S>>,
    /// The weight of all pushed samples from the first event time on.
    weight: u64,
    /// The places of the pushed samples.
    pushed: Vec<u32>,
    bound: PassBound,
}

#[derive(Debug, Clone, Copy, Default)]
struct Term<S> {
    own: S,
    with_all: S,
}

/// The weight of some pushed samples, and the sum of their weighted `C`.
#[derive(Debug, Clone, Copy, Default)]
struct PushedSums<S> {
    weight: u64,
    sum: S,
}

impl<S: Moment> Variance for Pairs<S> {
    fn load(&mut self, line: &Line) {
        let bits = variance_bits(line.weight);
        self.bound.clear();
        self.terms.clear();
        let (mut earlier, mut rest) = (S::default(), line.weight);
        for (&variance, &weight) in line.variances.iter().zip(&line.weights) {
            let own = S::default().plus_sum(to_fixed(variance, bits));
            let term = Term { own, with_all: earlier + times(rest, own) };
            self.terms.push(term);
            earlier = earlier + times(weight, own);
            rest -= weight;
        }
        self.nodes.clear();
        self.nodes.resize(self.terms.len().next_power_of_two(), PushedSums::default());
        self.pushed.clear();
        self.weight = 0;
    }

    fn clear(&mut self) {
        if self.pushed.len() < self.nodes.len() / 16 {
            for &place in &self.pushed {
                let mut node = self.nodes.len() + place as usize;
                while node > 1 {
                    node /= 2;
                    self.nodes[node] = PushedSums::default();
                }
            }
        } else {
            self.nodes.fill(PushedSums::default());
        }
        self.pushed.clear();
        self.weight = 0;
    }

    #[inline]
    fn push(&mut self, place: u32, weight: u64) -> i128 {
        if place == 0 {
            return 0;
        }
        let Term { own, with_all } = self.terms[place as usize];
        let weighted = times(weight, own);
        let mut earlier = PushedSums::<S>::default();
        let mut node = self.nodes.len() + place as usize;
        while node > 1 {
            let is_right = (node as u64 & 1).wrapping_neg();
            node /= 2;
            let left = &mut self.nodes[node];
            earlier = earlier.plus(left.masked(is_right));
            *left = left.plus(PushedSums { weight, sum: weighted }.masked(!is_right));
        }
        // Samples of one place have one `C`, so they may count among the samples of later places.
        let with_pushed = earlier.sum + times(self.weight - earlier.weight, own);
        self.weight += weight;
        self.pushed.push(place);
        let growth = with_all - weighted - with_pushed - with_pushed;
        i128::from(weight) * growth.to_i128()
    }

    fn most_score(
        &mut self,
        line: &Line,
        samples: impl Iterator<Item = Entry> + Clone,
        (n_node, floor): (usize, f64),
    ) -> f64 {
        let bits = variance_bits(line.weight);
        let scale = f64::powi(2.0, 2 * HAZARD_BITS - bits);
        let terms = self.terms.iter().map(|term| (term.own, term.with_all));
        self.bound.most_score(line, (bits, terms), samples, (n_node, floor / scale)) * scale
    }

    #[inline]
    fn factors(_line: &Line, _expected: i128, sum: i128) -> [u128; 2] {
        [sum as u128, 1]
    }

    fn statistic(excess: f64, variance: f64, _expected: [f64; 2]) -> f64 {
        if variance > 0.0 { excess * excess / variance } else { 0.0 }
    }
}

impl<S: Moment> PushedSums<S> {
    #[inline]
    fn plus(self, other: Self) -> Self {
        Self { weight: self.weight + other.weight, sum: self.sum + other.sum }
    }

    /// The sums, or nothing; the mask has all bits or none.
    #[inline]
    fn masked(self, mask: u64) -> Self {
        Self { weight: self.weight & mask, sum: self.sum.masked(mask) }
    }
}

#[inline]
fn times<S: Moment>(weight: u64, term: S) -> S {
    S::from(weight as i64) * term
}

/// The harmonic sum of the expected events of both sides.
#[derive(Default)]
pub struct Expected;

impl Variance for Expected {
    fn load(&mut self, _line: &Line) {}

    fn clear(&mut self) {}

    #[inline]
    fn push(&mut self, _place: u32, _weight: u64) -> i128 {
        0
    }

    #[inline]
    fn factors(line: &Line, expected: i128, _sum: i128) -> [u128; 2] {
        [expected as u128, (line.expected - expected) as u128]
    }

    fn statistic(excess: f64, _variance: f64, [left, right]: [f64; 2]) -> f64 {
        if left > 0.0 && right > 0.0 { excess * excess * (1.0 / left + 1.0 / right) } else { 0.0 }
    }
}
