//! The weights and weighted targets of the samples that are left, as a tree of partial sums
//! (Fenwick, "A new data structure for cumulative frequency tables", Software: Practice and
//! Experience 24, 1994).
//!
//! Removing a sample and finding a quantile cost O(log n), whatever the weights are. A list is
//! faster as long as the quantile moves little; see `peel`.

use super::level::LossLevel;
use super::sum::WeightedSum;
use crate::criterion::weights::Moment;

/// Partial sums by place, from 1 on: node `i` has the sum over the `i & -i` places up to and
/// including `i`.
pub(super) struct Fenwick<S> {
    nodes: Vec<WeightedSum<S>>,
    total: WeightedSum<S>,
}

impl<S: Moment> Fenwick<S> {
    /// The tree of these samples (weight and target), by place from 1 on. A weight of 0 stands for
    /// a place without a sample.
    pub fn new(samples: impl ExactSizeIterator<Item = (u64, i64)>) -> Self {
        let mut nodes = vec![WeightedSum::default(); samples.len() + 1];
        let mut total = WeightedSum::default();
        for (i, (weight, value)) in (1..).zip(samples) {
            nodes[i] = nodes[i].with(weight, value);
            total = total.with(weight, value);
            let parent = i + (i & i.wrapping_neg());
            if parent < nodes.len() {
                nodes[parent] = nodes[parent].plus(nodes[i]);
            }
        }
        Self { nodes, total }
    }

    /// Removes the sample at a place, whose weight and target are given.
    pub fn remove(&mut self, place: usize, weight: u64, value: i64) {
        self.total = self.total.without(weight, value);
        let mut i = place;
        while i < self.nodes.len() {
            self.nodes[i] = self.nodes[i].without(weight, value);
            i += i & i.wrapping_neg();
        }
    }

    /// The loss of the samples that are left about their quantile. `values` has the target of each
    /// place.
    pub fn loss(&self, level: impl LossLevel, values: &[i64]) -> S {
        if self.total.weight == 0 {
            return S::default();
        }
        // Finds the longest run of places from 1 on whose weight falls short of the level's share.
        // The quantile is at the place after it.
        let (mut place, mut below) = (0, WeightedSum::<S>::default());
        let mut step = self.nodes.len().next_power_of_two() / 2;
        while step > 0 {
            if let Some(node) = self.nodes.get(place + step) {
                let more = below.plus(*node);
                if level.falls_short(more.weight, self.total.weight) {
                    (place, below) = (place + step, more);
                }
            }
            step /= 2;
        }
        let quantile = values[place + 1];
        let rest = self.total.minus(below);
        level.loss(rest.excess_over(quantile), below.lack_of(quantile))
    }
}
