//! What the bounds of sparse columns (`split::sparse::bounds`) ask of a criterion.
//!
//! The bounds see targets as points (a class as a unit vector) and the cost of a node as the sum of the weighted squared
//! distances to the node's mean, in any fixed unit. A criterion whose cost is no such sum takes the defaults: they bound
//! nothing, and all columns are read.

use super::Statistics;

/// Bounds on what splits can gain.
pub trait Bounded: Statistics {
    /// What is kept of a set of samples to bound what splitting it off can gain.
    type Summary: Copy + Default + Send + Sync;
    /// What the bounds need of a node.
    type Ceiling: Default + Send + Sync;
    /// Whether the cost is a sum of squared distances. If not, nothing here is asked for.
    const IS_SQUARED_DISTANCE: bool = false;

    /// The best split that any feature could make of these samples, which are all of a small node; `None` where that is not
    /// cheap to compute. `scan` is scratch.
    fn best_conceivable(&self, _node: &Self::Totals, _samples: &[u32], _scan: &mut Self::Scan) -> Option<Self::Proof> {
        None
    }
    /// By how much a split with this score lowers the cost of the node, or more.
    fn gain(&self, _node: &Self::Totals, _score: f64) -> f64 {
        f64::INFINITY
    }
    /// The summary of these samples. `scan` is scratch.
    fn summary(&self, _samples: impl Iterator<Item = u32> + Clone, _scan: &mut Self::Scan) -> Self::Summary {
        Self::Summary::default()
    }
    /// Takes a sample out of a summary.
    fn exclude(&self, _summary: &mut Self::Summary, _sample: u32) {}
    /// The weight of a summary's samples.
    fn summary_weight(_summary: &Self::Summary) -> u64 {
        0
    }
    /// The weighted squared distance of a sample from the farthest point that any sample may have, or more.
    fn farthest_distance(&self, _sample: u32) -> f64 {
        f64::INFINITY
    }
    /// The squared distance of a sample from the mean of a node, or less.
    fn distance(&self, _node: &Self::Totals, _ceiling: &Self::Ceiling, _sample: u32) -> f64 {
        0.0
    }
    /// Prepares [`most_gain`](Self::most_gain) for a node.
    fn ceiling(&self, _node: &Self::Totals) -> Self::Ceiling {
        Self::Ceiling::default()
    }
    /// What a split of the node can gain at most if one side is any subset of the summary's samples.
    fn most_gain(_ceiling: &Self::Ceiling, _summary: &Self::Summary) -> f64 {
        f64::INFINITY
    }
    /// The squared distance of the node's mean from the farthest of its samples, or more.
    fn radius(_ceiling: &Self::Ceiling) -> f64 {
        f64::INFINITY
    }
}

/// The most that splitting off `weight` of a node of `node_weight` can gain, all of it within `radius` (squared) of the
/// node's mean. By the identity `gain = w W / (W - w) |mean of S - mean|^2`.
#[inline]
pub(super) fn most_gain_within(weight: f64, node_weight: f64, radius: f64) -> f64 {
    if weight < node_weight { weight * node_weight / (node_weight - weight) * radius } else { f64::INFINITY }
}
