//! The form of small subtrees for weights of any kind. The scores in lanes are rounded, and tell
//! which cuts may be the best ones; these are scored and compared by the criterion itself, which pushes
//! their rows.

use std::cmp::Ordering;

use super::format::{Cells, InTwoDoubles};
use super::kernel::{CriterionRows, Held, Lanes, Precision};
use super::{ByRow, MAX_ROWS, SmallCut};
use crate::criterion::statistics::Statistics;

/// In nodes of less weight a score that is close to the highest conceivable one is the highest one.
const DECIDED_BELOW: u64 = 1 << 40;

/// A criterion that has rounded scores in lanes.
pub trait Rough: Statistics {
    /// The form in which lanes hold the rows of a node.
    type Lanes: Lanes;
    /// Whether these score columns side by side.
    const SIDE_BY_SIDE: bool;
    /// Whether it takes less time to score a single cut as lanes do than to push its rows.
    const ROUGH_FIRST: bool;

    /// Whether the lanes are made for the target.
    fn is_served(&self) -> bool {
        true
    }

    /// Puts the rows of a subtree into the order in which lanes are to have them.
    fn arrange(&self, _samples: &mut [u32]) {}

    /// Sets the lanes to the rows of a node, which have these weights.
    fn set_lanes(&self, node: &Self::Totals, samples: &[u32], weights: &[u64], lanes: &mut Self::Lanes) -> Precision;

    /// Begins a scan of the node that has pushed these samples.
    fn pushed(&self, node: &Self::Totals, scan: &mut Self::Scan, samples: &[u32]) -> Self::Pushed {
        let mut pushed = self.begin(node, scan);
        for &sample in samples {
            self.push(node, scan, &mut pushed, sample);
        }
        pushed
    }

    /// No cut of the node has a higher [score](Statistics::score). A lower score is lower by at least the
    /// inverse of the node's weight, relatively. Only asked where that is more than
    /// [`MARGIN`](super::MARGIN).
    fn most_score(&self, _node: &Self::Totals) -> f64 {
        f64::INFINITY
    }

    /// See [`SmallRows::write_row_value`](super::SmallRows::write_row_value).
    fn write_row_value(&self, sample: u32, value: &mut [f64]);
}

/// Sets lanes whose scores are squares of an excess over the product of the weights of both sides.
/// `excess(sample, weight)` is the excess of a sample, with an error of at most 2^-50 of itself and of the
/// weight times `unit`. Returns how far the roots of scores may be off.
pub fn set_pairs(
    samples: &[u32],
    row_weights: &[u64],
    (node_weight, unit): (f64, f64),
    excess: impl Fn(u32, f64) -> f64,
    [weights, excesses]: &mut Cells<InTwoDoubles>,
) -> f64 {
    let (mut all, mut least) = (node_weight * 2.0 * unit, f64::INFINITY);
    let rows = weights.iter_mut().zip(excesses).zip(samples).zip(row_weights);
    for (((cell, excess_cell), &sample), &weight) in rows {
        *cell = weight as f64;
        *excess_cell = excess(sample, *cell);
        all += excess_cell.abs();
        least = cell.min(least);
    }
    // Each excess, and each of at most 256 additions, is off by a part of the sum of all excesses or weights.
    all * (1.0 / (1u64 << 43) as f64) / (least * (node_weight - least)).sqrt()
}

/// The rows of a small subtree.
pub struct Filter<C: Statistics> {
    /// By place in the subtree: the weight of the row.
    weights: ByRow<u64>,
    node: Option<C::Totals>,
    weight: u64,
    most_score: f64,
    /// The numbers of the node's rows, in the order of the node.
    samples: ByRow<u32>,
    row_weights: ByRow<u64>,
}

impl<C: Rough> Held for Filter<C> {
    type Lanes = C::Lanes;
    const ARE_EXACT: bool = false;
    const SIDE_BY_SIDE: bool = C::SIDE_BY_SIDE;
    const ROUGH_FIRST: bool = C::ROUGH_FIRST;
    const CATEGORIES: bool = false;
}

impl<C: Statistics> Filter<C> {
    fn node(&self) -> &C::Totals {
        let Some(node) = &self.node else { unreachable!("a node has been entered") };
        node
    }
}

impl<C: Rough> CriterionRows<C> for Filter<C> {
    /// The criterion's scan, and its statistics of the rows that it has pushed.
    type Left = (C::Scan, C::Pushed);

    fn new(criterion: &C) -> Option<Self> {
        criterion.is_served().then(|| Self {
            weights: [0; MAX_ROWS],
            node: None,
            weight: 0,
            most_score: 0.0,
            samples: [0; MAX_ROWS],
            row_weights: [0; MAX_ROWS],
        })
    }

    fn load(&mut self, criterion: &C, samples: &mut [u32]) -> bool {
        criterion.arrange(samples);
        for (weight, &sample) in self.weights.iter_mut().zip(&*samples) {
            *weight = criterion.sample_weight(sample);
        }
        true
    }

    fn enter(&mut self, criterion: &C, _places: &[u8], samples: &[u32]) {
        let node = criterion.totals(samples);
        self.weight = criterion.weight(&node);
        self.node = Some(node);
    }

    fn weight(&self) -> u64 {
        self.weight
    }

    fn is_pure(&self, criterion: &C) -> bool {
        criterion.is_pure(self.node())
    }

    fn impurity(&self, criterion: &C) -> f64 {
        criterion.impurity(self.node())
    }

    fn write_value(&self, criterion: &C, samples: &[u32], value: &mut [f64]) {
        criterion.write_value(self.node(), samples, value);
    }

    fn gain_of_split(&self, criterion: &C, left: &[u32]) -> f64 {
        criterion.gain_of_split(self.node(), &criterion.totals(left))
    }

    fn row_weight(&self, place: u8) -> u64 {
        self.weights[usize::from(place)]
    }

    fn write_row_value(&self, criterion: &C, _place: u8, sample: u32, value: &mut [f64]) {
        criterion.write_row_value(sample, value);
    }

    fn begin(&mut self, criterion: &C, places: &[u8], samples: &[u32]) {
        self.samples[..samples.len()].copy_from_slice(samples);
        for (weight, &place) in self.row_weights.iter_mut().zip(places) {
            *weight = self.weights[usize::from(place)];
        }
        self.most_score = if self.weight < DECIDED_BELOW { criterion.most_score(self.node()) } else { f64::INFINITY };
    }

    fn set_lanes(&self, criterion: &C, _places: &[u8], n: usize, lanes: &mut C::Lanes) -> Precision {
        criterion.set_lanes(self.node(), &self.samples[..n], &self.row_weights[..n], lanes)
    }

    fn most_score(&self) -> f64 {
        self.most_score
    }

    #[inline]
    fn lefts<const K: usize>(
        &self,
        criterion: &C,
        _lanes: &C::Lanes,
        ranks: &[u32],
        is_left: impl Fn(u32) -> [bool; K],
    ) -> [Self::Left; K] {
        std::array::from_fn(|i| {
            // Collected first, as a branch for each row would be mispredicted.
            let (mut left, mut n_left) = ([0; MAX_ROWS], 0);
            for (&rank, &sample) in ranks.iter().zip(&self.samples) {
                left[n_left] = sample;
                n_left += usize::from(is_left(rank)[i]);
            }
            let mut scan = criterion.scan();
            let pushed = criterion.pushed(self.node(), &mut scan, &left[..n_left]);
            (scan, pushed)
        })
    }

    fn cut(&self, criterion: &C, (scan, pushed): &Self::Left) -> SmallCut {
        SmallCut { score: criterion.score(self.node(), scan, *pushed), weight: C::pushed_weight(pushed) }
    }

    fn compare(&self, criterion: &C, (scan, pushed): &Self::Left, (other_scan, other): &Self::Left) -> Ordering {
        criterion.compare(self.node(), &criterion.proof(scan, *pushed), &criterion.proof(other_scan, *other))
    }
}
