//! A candidate for the split of a node, and where its threshold is.

use crate::data::Dataset;
use crate::num::mid_threshold;
use crate::rng::NodeKey;
use crate::rng::Side;

/// A split: rows whose rank is at most `last_left` go left, but for missing values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// The feature.
    pub feature: u32,
    /// The largest rank of a value that goes left.
    pub last_left: u32,
    /// Where missing values go, if the node has any.
    pub missing: Option<Side>,
    /// The order in which categories have these ranks; 0 for numbers.
    pub order: u32,
    /// Where the values of the two sides part.
    pub cut: Cut,
    /// Number of rows that go left.
    pub n_left: usize,
    /// Whether the ranks beside the cut may be absent from the node, which part the same rows as those that are there, and the
    /// number of rows is not known.
    pub is_loose: bool,
}

/// Where a candidate cuts. Values are in tables far apart, so they are only looked up for the winner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cut {
    /// Half way to the value of the first rank that goes right.
    Before(u32),
    /// At a random value between those of two ranks, the extremes in the node with this key.
    Random {
        /// The node's.
        key: NodeKey,
        /// Goes left.
        lowest: u32,
        /// Goes right.
        highest: u32,
    },
}

impl Candidate {
    /// Whether missing values go left.
    #[inline]
    pub fn missing_go_left(&self) -> bool {
        self.missing == Some(Side::Left)
    }

    /// Whether rows of a rank go left, given that of missing values.
    #[inline]
    pub(crate) fn goes_left(&self, rank: u32, missing_rank: u32) -> bool {
        if rank == missing_rank { self.missing_go_left() } else { rank <= self.last_left }
    }
    /// The first rank that goes right, where the threshold is not random.
    pub(crate) fn first_right(&self) -> u32 {
        match self.cut {
            Cut::Before(first_right) => first_right,
            Cut::Random { .. } => unreachable!("the threshold is not random"),
        }
    }

    /// Values up to this one go left: infinity if missing values are parted from all others.
    pub fn threshold(&self, data: &Dataset) -> f64 {
        match self.cut {
            Cut::Random { key, lowest, highest } => random_threshold(data, key, self.feature, lowest, highest),
            Cut::Before(first_right) if data.missing_rank(self.feature) == Some(first_right) => f64::INFINITY,
            Cut::Before(first_right) => {
                let value = |rank| data.value(self.feature, rank);
                mid_threshold(value(self.last_left), value(first_right))
            }
        }
    }
}

/// The random threshold of a feature in the node with this key, between the values of two ranks.
pub(crate) fn random_threshold(data: &Dataset, key: NodeKey, feature: u32, lowest: u32, highest: u32) -> f64 {
    let value = |rank| data.value(feature, rank);
    threshold_between(key, feature, value(lowest), value(highest))
}

/// The random threshold of a feature in the node with this key, between two values.
pub(crate) fn threshold_between(key: NodeKey, feature: u32, low: f64, high: f64) -> f64 {
    between(low, high, key.threshold_position(feature))
}

/// The threshold at `position` in [0, 1) between two values: `low <= threshold < high`.
fn between(low: f64, high: f64, position: f64) -> f64 {
    let width = high - low;
    let threshold = if width.is_finite() { low + width * position } else { low * (1.0 - position) + high * position };
    if low <= threshold && threshold < high { threshold } else { low }
}

#[cfg(test)]
mod tests {
    use super::between;

    #[test]
    fn thresholds_stay_in_range() {
        assert_eq!(between(1.0, 3.0, 0.25), 1.5);
        assert_eq!(between(-f64::MAX, f64::MAX, 0.5), 0.0);
        assert_eq!(between(1.0, 1.0 + f64::EPSILON, 0.99), 1.0);
        assert_eq!(between(f64::NEG_INFINITY, 1.0, 0.5), f64::NEG_INFINITY);
        assert_eq!(between(0.0, f64::INFINITY, 0.0), 0.0);
    }
}
