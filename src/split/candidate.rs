//! A candidate for the split of a node, and the threshold of the candidate.

use crate::data::Dataset;
use crate::num::{mid_threshold, settled_threshold};
use crate::rng::{NodeKey, Side};

/// A possible split. Rows whose rank is at most `last_left` go left; `missing` says where missing
/// values go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// The number of the feature that is cut.
    pub feature: u32,
    /// The largest rank of a value that goes left; for a categorical feature, the last place in the
    /// order of the categories that goes left.
    pub last_left: u32,
    /// The side to which missing values go. `None` if the node has none in this column, and for a
    /// categorical feature until [`Search::divide`](crate::split::Search::divide) has set the side.
    pub missing: Option<Side>,
    /// For a categorical feature, the number of the order that gives each category its place (see
    /// `categorical`); 0 for a numerical feature.
    pub order: u32,
    /// From which values the threshold is computed.
    pub cut: Cut,
    /// The number of rows that go left; not yet known if `is_loose`.
    pub n_left: usize,
    /// Whether the two ranks beside the cut may be absent from the node, as in a cut between the
    /// bins of a histogram. A loose cut still parts the rows of the node correctly, but the winner
    /// needs the nearest ranks that the node has, and its number of rows, before the threshold is
    /// computed. A set of categories is loose if its number of rows is not yet known.
    pub is_loose: bool,
}

/// How the threshold of a candidate is computed. The values of ranks lie in tables far apart, so
/// they are looked up for the winner alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cut {
    /// Half way between the value of `last_left` and the value of this rank, the first that goes
    /// right.
    Before(u32),
    /// At a random position between the least and the greatest value of the column in the node.
    Random {
        /// The key of the node, from which the position is derived.
        key: NodeKey,
        /// The rank of the least value, which goes left.
        lowest: u32,
        /// The rank of the greatest value, which goes right.
        highest: u32,
    },
    /// At this threshold, which the search has computed.
    At(f64),
    /// There is no threshold: these of the ranks below 256, categories, go left; one bit for each.
    Ranks([u64; 4]),
}

impl Candidate {
    /// The cut of a numerical column between two ranks, `n_left` rows going left, where the node
    /// has no missing values.
    pub(crate) fn between(feature: u32, last_left: u32, first_right: u32, n_left: usize) -> Self {
        let cut = Cut::Before(first_right);
        Self { feature, last_left, missing: None, order: 0, cut, n_left, is_loose: false }
    }

    /// Whether missing values go left; false if the node has none.
    #[inline]
    pub fn missing_go_left(&self) -> bool {
        self.missing == Some(Side::Left)
    }

    /// Whether rows of this rank go left. `missing_rank` is the rank of missing values in the
    /// column, if it has any.
    #[inline]
    pub(crate) fn goes_left(&self, rank: u32, missing_rank: Option<u32>) -> bool {
        if Some(rank) == missing_rank { self.missing_go_left() } else { rank <= self.last_left }
    }

    /// The first rank that goes right, where the threshold is between two ranks.
    pub(crate) fn first_right(&self) -> Option<u32> {
        match self.cut {
            Cut::Before(first_right) => Some(first_right),
            Cut::Random { .. } | Cut::At(_) | Cut::Ranks(_) => None,
        }
    }

    /// From which values the threshold is computed. A cut of categories has none.
    pub fn threshold_rule(&self) -> ThresholdRule {
        match self.cut {
            Cut::Random { key, lowest, highest } => ThresholdRule::Random { key, lowest, highest },
            Cut::Before(first_right) => ThresholdRule::Between { last_left: self.last_left, first_right },
            Cut::At(threshold) => ThresholdRule::At(threshold),
            Cut::Ranks(_) => unreachable!("categories have no threshold"),
        }
    }

    /// The threshold. A cut of categories has none.
    pub fn threshold(&self, data: &Dataset) -> f64 {
        self.threshold_rule().threshold(data, self.feature)
    }
}

/// From which values a threshold is computed; see [`Cut`].
#[derive(Debug, Clone, Copy)]
pub enum ThresholdRule {
    /// Half way between the values of two ranks.
    Between {
        /// The largest rank that goes left.
        last_left: u32,
        /// The least rank that goes right.
        first_right: u32,
    },
    /// This threshold, which the search has computed.
    At(f64),
    /// See [`Cut::Random`].
    Random {
        /// The key of the node, from which the position is derived.
        key: NodeKey,
        /// The rank of the least value of the node, which goes left.
        lowest: u32,
        /// The rank of the greatest value of the node, which goes right.
        highest: u32,
    },
}

impl ThresholdRule {
    /// The threshold: values up to this one go left. Infinity if missing values are parted from all
    /// values.
    pub fn threshold(self, data: &Dataset, feature: u32) -> f64 {
        match self {
            Self::At(threshold) => threshold,
            Self::Random { key, lowest, highest } => random_threshold(data, key, feature, lowest, highest),
            Self::Between { first_right, .. } if data.missing_rank(feature) == Some(first_right) => f64::INFINITY,
            Self::Between { last_left, first_right } => {
                let value = |rank| data.value(feature, rank);
                mid_threshold(value(last_left), value(first_right))
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
    settled_threshold(between(low, high, key.threshold_position(feature)), low, high)
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
