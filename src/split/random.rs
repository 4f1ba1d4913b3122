//! A random threshold of a column: uniform between its extremes in the node (Geurts, Ernst,
//! Wehenkel, "Extremely randomized trees", Machine Learning 63, 2006, table 1).
//!
//! One pass over the entries finds the extremes. A second pass pushes the rows on that side of the
//! threshold where the common value is not. Nothing is sorted. O(entries).

use crate::criterion::Criterion;
use crate::rng::Side;
use crate::split::best::Best;
use crate::split::candidate::{Candidate, Cut, random_threshold};
use crate::split::node::{NodeColumn, NodeSearch};

/// In a column with fewer entries than this, the rank next to the threshold is searched among the
/// ranks in the node instead of among all values of the column (bench `scan`).
const FEW: usize = 16;

/// Offers one random cut of a column, whose entries may be in any order. If the node has missing
/// values in the column, three cuts are offered: the random cut with missing values on the right,
/// the random cut with missing values on the left, and the cut that parts missing values from all
/// values. Without a target one of them is offered: a random cut if there is one, with missing
/// values on a random side. Returns the highest score of a legal cut, or minus infinity if no cut
/// is legal; `None` if the column does not vary.
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
    let candidate = Candidate { missing, ..Candidate::between(column.feature, highest, highest, 0) };
    if lowest < highest {
        let last_left = first_right(at, column, (lowest, highest), ranks) - 1;
        let cut = Cut::Random { key: at.node.key, lowest, highest };
        let candidate = Candidate { last_left, cut, ..candidate };
        if !at.search.criterion.has_target() {
            let missing = missing.map(|_| at.node.key.side_of_missing(column.feature));
            offer(Candidate { missing, ..candidate });
            return score;
        }
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

/// The first rank whose value is above the random threshold between the two different ranks
/// `lowest` and `highest`; or another rank that parts the rows of the node in the same way.
fn first_right<C: Criterion, I: Iterator<Item = u32>>(
    at: NodeSearch<'_, C>,
    column: NodeColumn<'_>,
    (lowest, highest): (u32, u32),
    ranks: impl Fn() -> I,
) -> u32 {
    let (data, feature) = (at.search.data, column.feature);
    // If the node has only two ranks, every threshold parts the same rows, and no value need be
    // looked up: values lie far away.
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

/// Counts the rows of a candidate and offers the candidate. Returns its score, or minus infinity if
/// its cut is not legal.
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
    let goes_left = |rank| candidate.goes_left(rank, missing_rank);
    let push_left = column.n_common == 0 || !goes_left(column.common_rank);
    let mut pushed = criterion.begin(node.totals, scan);
    let mut n_pushed = 0;
    let of_side = column.entries.iter().filter(|entry| goes_left(entry.rank()) == push_left);
    let samples = of_side.inspect(|_| n_pushed += 1).map(|entry| entry.sample());
    criterion.push_all(node.totals, scan, &mut pushed, samples);
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
