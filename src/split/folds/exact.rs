//! The exact best split of a lane (one fold, or all folds that hold nothing out) among the columns
//! that the filter could not decide between, by the scan that all storages share.

use super::FoldsNode;
use super::columns::{FoldScratch, fill_columns};
use crate::criterion::Criterion;
use crate::error::Result;
use crate::rng::Permutation;
use crate::split::best::Best;
use crate::split::candidate::Candidate;
use crate::split::entries::Entry;
use crate::split::node::{Node, NodeColumn, NodeSearch, Search};
use crate::split::samples::{SampleSet, Samples};

/// The most rows, summed over lanes, that are listed at the same time; one lane may have more.
const CONTEST_ROWS: usize = 1 << 20;

/// A lane whose best split is in one of some columns.
pub struct Contest<'a, C: Criterion> {
    /// The number of the lane in the node.
    pub lane: usize,
    /// The statistics of the lane's rows.
    pub totals: &'a C::Totals,
    /// The features, one of whose columns has the best split.
    pub features: &'a [u32],
}

/// Finds the best split of the lane of each contest, in the order of the contests; `None` where no
/// column varies. Exact, by the scan that all storages share.
pub fn best_among<C: Criterion>(
    search: &Search<'_, C>,
    node: &FoldsNode<'_>,
    contests: &[Contest<'_, C>],
    folds: &mut FoldScratch,
    scan: &mut C::Scan,
) -> Result<Vec<Option<Candidate>>> {
    let order = node.key.feature_order(search.data.n_features());
    let mut found = Vec::with_capacity(contests.len());
    let per_chunk = (CONTEST_ROWS / node.samples.len()).max(1);
    for contests in contests.chunks(per_chunk) {
        search.runtime.check_interrupt()?;
        found.extend(decide(search, node, &order, contests, folds, scan)?);
    }
    Ok(found)
}

/// Finds the best splits for so few contests that the rows of their lanes can be listed at the same
/// time.
fn decide<C: Criterion>(
    search: &Search<'_, C>,
    node: &FoldsNode<'_>,
    order: &Permutation,
    contests: &[Contest<'_, C>],
    folds: &mut FoldScratch,
    scan: &mut C::Scan,
) -> Result<Vec<Option<Candidate>>> {
    let mut features: Vec<u32> = contests.iter().flat_map(|contest| contest.features).copied().collect();
    features.sort_unstable();
    features.dedup();
    let mut samples: Vec<Samples> = contests
        .iter()
        .map(|contest| {
            let is_in = |&sample: &u32| node.lanes.is_in(contest.lane, sample);
            Samples::new(node.samples.iter().copied().filter(is_in).collect(), search.data.n_samples(), false)
        })
        .collect();
    let samples: Vec<SampleSet<'_>> = samples.iter_mut().map(Samples::root).collect();
    let mut bests: Vec<Best<C>> = contests.iter().map(|_| Best::new()).collect();
    let mut own = Vec::new();
    fill_columns(search, node.samples, (&features, false), folds, |column| {
        for ((contest, samples), best) in contests.iter().zip(&samples).zip(&mut bests) {
            if !contest.features.contains(&column.feature) {
                continue;
            }
            own.clear();
            let is_in = |entry: &Entry| node.lanes.is_in(contest.lane, entry.sample());
            own.extend(column.entries.iter().copied().filter(is_in));
            let (totals, n_common) = (contest.totals, samples.len() - own.len());
            let alone = Node { samples, n_entries: 0, totals, key: node.key, constants: node.constants, limits: None };
            let at = NodeSearch { search, node: &alone, order };
            at.evaluate(NodeColumn { entries: &own, n_common, ..column }, scan, best);
        }
    })?;
    Ok(bests.into_iter().map(Best::candidate).collect())
}
