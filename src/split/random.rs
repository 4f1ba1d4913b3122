//! A random threshold of a column: uniform between its extremes in the node (Geurts, Ernst, Wehenkel, "Extremely
//! randomized trees", Machine Learning 63, 2006, table 1).
//!
//! One pass finds the extremes, a second pushes the side that the common value is not on. No sort. O(entries).

use super::best::{Best, Candidate, Cut};
use super::{NodeColumn, NodeSearch};
use crate::criterion::Criterion;
use crate::data::Dataset;
use crate::rng::{NodeKey, Side};

/// Up to this many rows of a column are searched for the threshold instead of all of its values (bench `scan`).
const FEW: usize = 16;

/// Offers one random cut of a column with entries in any order. Returns its score, minus infinity if it
/// is not legal; nothing if the column does not vary.
pub(super) fn random_cut<C: Criterion>(
    at: NodeSearch<'_, C>,
    column: NodeColumn<'_>,
    scan: &mut C::Scan,
    best: &mut Best<C>,
) -> Option<f64> {
    let NodeSearch { search, node, order } = at;
    let (criterion, feature) = (search.criterion, column.feature);
    let common = (column.n_common > 0).then_some(column.common_rank);
    let ranks = || column.entries.iter().map(|entry| entry.rank()).chain(common);
    let (lowest, highest) = (ranks().min()?, ranks().max()?);
    if lowest == highest {
        return None;
    }
    // Values lie far away, so they are not looked up where any threshold parts the same rows.
    let is_two_valued = ranks().all(|rank| rank == lowest || rank == highest);
    let first_right = if is_two_valued {
        highest
    } else {
        let threshold = random_threshold(search.data, node.key, feature, lowest, highest);
        if column.entries.len() < FEW {
            let mut own = [highest; FEW];
            own.iter_mut().zip(ranks()).for_each(|(own, rank)| *own = rank);
            own.sort_unstable();
            own[own.partition_point(|&rank| search.data.value(feature, rank) <= threshold)]
        } else {
            search.data.rank_above(feature, threshold, lowest + 1..highest)
        }
    };
    debug_assert!(lowest < first_right && first_right <= highest);

    let push_left = common.is_none_or(|common| common >= first_right);
    let mut pushed = criterion.begin(node.totals, scan);
    let mut n_pushed = 0;
    for entry in column.entries {
        if (entry.rank() < first_right) == push_left {
            criterion.push(node.totals, scan, &mut pushed, entry.sample());
            n_pushed += 1;
        }
    }
    let side = if push_left { Side::Left } else { Side::Right };
    if !search.is_legal(node, feature, (side, n_pushed), (scan, pushed)) {
        return Some(f64::NEG_INFINITY);
    }
    let score = criterion.score(node.totals, scan, pushed);
    if best.may_win(score) {
        let n_left = if push_left { n_pushed } else { node.samples.len() - n_pushed };
        let cut = Cut::Random { key: node.key, lowest, highest };
        let candidate = Candidate { feature, last_left: first_right - 1, cut, n_left, is_loose: false };
        best.offer(criterion, node.totals, order, (scan, pushed), score, candidate);
    }
    Some(score)
}

/// The random threshold of a feature in the node with this key, between the values of two ranks.
pub(super) fn random_threshold(data: &Dataset, key: NodeKey, feature: u32, lowest: u32, highest: u32) -> f64 {
    let value = |rank| data.value(feature, rank);
    threshold_between(key, feature, value(lowest), value(highest))
}

/// The random threshold of a feature in the node with this key, between two values.
pub(super) fn threshold_between(key: NodeKey, feature: u32, low: f64, high: f64) -> f64 {
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
