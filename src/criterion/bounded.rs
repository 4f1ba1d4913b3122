//! What the bounds of sparse columns (`split::sparse::bounds`) ask of a criterion.
//!
//! The bounds see targets as points (a class is a unit vector) and the cost of a node as the sum of
//! the weighted squared distances of its points from their mean, in any fixed unit. A criterion
//! whose cost is no such sum keeps the defaults: their bounds are infinite, so that all columns are
//! read.

use super::statistics::Statistics;

/// Factor that raises bounds by more than their rounding.
pub(super) const SLACK: f64 = 1.0 + 1e-9;

/// A summary of a set of samples: enough to bound the gain of splitting the set off.
#[derive(Debug, Clone, Copy, Default)]
pub struct Summary<S> {
    /// The weight of the samples, in the target's integer unit.
    pub weight: u64,
    /// See [`Bounded::Spread`].
    pub spread: S,
}

/// The numbers of a node that the bounds of its columns need.
#[derive(Debug)]
pub struct Ceiling<M> {
    /// The weight of the node, in the target's integer unit.
    pub weight: f64,
    /// An upper bound of the squared distance between the node's mean and the farthest of its
    /// samples.
    pub radius: f64,
    /// See [`Bounded::Mean`].
    pub mean: M,
}

/// Upper bounds of what splits can gain. A gain is the cost of a node less the costs of its
/// children.
pub trait Bounded: Statistics {
    /// How the targets of the samples of a summary are spread.
    type Spread: Copy + Default + Send + Sync;
    /// The mean of a node's targets, as the bounds need it.
    type Mean: Default + Send + Sync;
    /// Whether the cost is a sum of squared distances. If false, the bounds do not hold, and only
    /// [`best_conceivable`](Self::best_conceivable) may be used.
    fn is_squared_distance(&self) -> bool {
        false
    }

    /// The proof of the best conceivable split: one that no feature can better, whatever its values
    /// for these samples, which are all samples of a small node. `None` where computing it is not
    /// cheap. `scan` is scratch.
    fn best_conceivable(&self, _node: &Self::Totals, _samples: &[u32], _scan: &mut Self::Scan) -> Option<Self::Proof> {
        None
    }
    /// By how much a split with this score lowers the cost of the node, up to rounding. The default
    /// says nothing.
    fn gain(&self, _node: &Self::Totals, _score: f64) -> f64 {
        f64::INFINITY
    }
    /// Summarises these samples. `scan` is scratch.
    fn summary(&self, _samples: impl Iterator<Item = u32> + Clone, _scan: &mut Self::Scan) -> Summary<Self::Spread> {
        Summary::default()
    }
    /// Takes a sample out of a summary that has it.
    fn exclude(&self, _summary: &mut Summary<Self::Spread>, _sample: u32) {}
    /// An upper bound of the weighted squared distance between a sample and the farthest point that
    /// a sample of this target may have.
    fn farthest_distance(&self, _sample: u32) -> f64 {
        f64::INFINITY
    }
    /// A lower bound of the squared distance between a sample and the mean of a node whose ceiling
    /// is given.
    fn distance(&self, _node: &Self::Totals, _ceiling: &Ceiling<Self::Mean>, _sample: u32) -> f64 {
        0.0
    }
    /// Prepares [`most_gain`](Self::most_gain) for a node.
    fn ceiling(&self, _node: &Self::Totals) -> Ceiling<Self::Mean> {
        Ceiling { weight: 0.0, radius: f64::INFINITY, mean: Self::Mean::default() }
    }
    /// An upper bound of the gain of all splits of the node that have a subset of the summary's
    /// samples as one side.
    fn most_gain(_ceiling: &Ceiling<Self::Mean>, _summary: &Summary<Self::Spread>) -> f64 {
        f64::INFINITY
    }
}

/// An upper bound of the gain of splitting samples of total weight `weight` off a node of weight
/// `node_weight`, if all of them are within the squared distance `radius` of the node's mean. By the identity
/// `gain = w W / (W - w) |mean of S - mean|^2`, where `S` is the set split off, `w` its weight and `W` the
/// node's weight.
#[inline]
pub(super) fn most_gain_within(weight: f64, node_weight: f64, radius: f64) -> f64 {
    if weight < node_weight { weight * node_weight / (node_weight - weight) * radius } else { f64::INFINITY }
}
