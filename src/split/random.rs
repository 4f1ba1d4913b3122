//! A random threshold of a column: uniform between its extremes in the node (Geurts, Ernst, Wehenkel, "Extremely
//! randomized trees", Machine Learning 63, 2006, table 1).
//!
//! One pass finds the extremes, a second pushes the side that the common value is not on. No sort. O(entries).

use crate::criterion::Criterion;
use crate::rng::Side;
use crate::split::best::Best;
use crate::split::candidate::{Candidate, Cut, random_threshold};
use crate::split::node::{NodeColumn, NodeSearch};

/// Up to this many rows of a column are searched for the threshold instead of all of its values (bench `scan`).
const FEW: usize = 16;

/// Offers one random cut of a column with entries in any order; where the node has missing values, with these on either
/// side, and the cut that parts them from all others. Returns the highest score, minus infinity if none is
/// legal; nothing if the column does not vary.
pub(crate) fn random_cut<C: Criterion>(
    at: NodeSearch<'_, C>,
    column: NodeColumn<'_>,
    scan: &mut C::Scan,
    best: &mut Best<C>,
) -> Option<f64> {
    let data = at.search.data;
    let common = (column.n_common > 0).then_some(column.common_rank);
    let missing_rank = data.missing_rank(column.feature);
    let all_ranks = || column.entries.iter().map(|entry| entry.rank()).chain(common);
    let ranks = || all_ranks().filter(|&rank| Some(rank) != missing_rank);
    let missing_rank = missing_rank.filter(|&missing| all_ranks().any(|rank| rank == missing));
    let (lowest, highest) = (ranks().min()?, ranks().max()?);
    let mut score = None;
    let mut offer = |candidate| {
        let new = offer(at, column, candidate, missing_rank, scan, best);
        score = Some(score.map_or(new, |score: f64| score.max(new)));
    };
    let missing = missing_rank.map(|_| Side::Right);
    let candidate = Candidate {
        feature: column.feature,
        last_left: highest,
        missing,
        order: 0,
        cut: Cut::Before(highest),
        n_left: 0,
        is_loose: false,
    };
    if lowest < highest {
        let last_left = first_right(at, column, (lowest, highest), ranks) - 1;
        let cut = Cut::Random { key: at.node.key, lowest, highest };
        let candidate = Candidate { last_left, cut, ..candidate };
        offer(candidate);
        if missing_rank.is_some() {
            offer(Candidate { missing: Some(Side::Left), ..candidate });
        }
    }
    if let Some(missing_rank) = missing_rank {
        offer(Candidate { cut: Cut::Before(missing_rank), ..candidate });
    }
    score
}

/// The first rank beyond the random threshold between two different ranks, or a lower one that parts the rows as it does.
fn first_right<C: Criterion, I: Iterator<Item = u32>>(
    at: NodeSearch<'_, C>,
    column: NodeColumn<'_>,
    (lowest, highest): (u32, u32),
    ranks: impl Fn() -> I,
) -> u32 {
    let (data, feature) = (at.search.data, column.feature);
    // Values lie far away, so they are not looked up where any threshold parts the same rows.
    if ranks().all(|rank| rank == lowest || rank == highest) {
        return highest;
    }
    let threshold = random_threshold(data, at.node.key, feature, lowest, highest);
    let first_right = if column.entries.len() < FEW {
        let mut own = [highest; FEW];
        own.iter_mut().zip(ranks()).for_each(|(own, rank)| *own = rank);
        own.sort_unstable();
        own[own.partition_point(|&rank| data.value(feature, rank) <= threshold)]
    } else {
        data.rank_above(feature, threshold, lowest + 1..highest)
    };
    debug_assert!(lowest < first_right && first_right <= highest);
    first_right
}

/// Offers a candidate whose rows have not been counted. Returns its score, minus infinity if it is not legal.
fn offer<C: Criterion>(
    at: NodeSearch<'_, C>,
    column: NodeColumn<'_>,
    mut candidate: Candidate,
    missing_rank: Option<u32>,
    scan: &mut C::Scan,
    best: &mut Best<C>,
) -> f64 {
    let NodeSearch { search, node, order } = at;
    let criterion = search.criterion;
    let goes_left = |rank| match missing_rank {
        Some(missing_rank) => candidate.goes_left(rank, missing_rank),
        None => rank <= candidate.last_left,
    };
    let push_left = column.n_common == 0 || !goes_left(column.common_rank);
    let mut pushed = criterion.begin(node.totals, scan);
    let mut n_pushed = 0;
    for entry in column.entries {
        if goes_left(entry.rank()) == push_left {
            criterion.push(node.totals, scan, &mut pushed, entry.sample());
            n_pushed += 1;
        }
    }
    let side = if push_left { Side::Left } else { Side::Right };
    if !search.is_legal(node, column.feature, (side, n_pushed), (scan, pushed)) {
        return f64::NEG_INFINITY;
    }
    let score = criterion.score(node.totals, scan, pushed);
    if best.may_win(score) {
        candidate.n_left = if push_left { n_pushed } else { node.samples.len() - n_pushed };
        best.offer(criterion, node.totals, order, (scan, pushed), score, candidate);
    }
    score
}
