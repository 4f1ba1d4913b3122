//! The exact best split of a fold among the columns that the filter could not decide between, by
//! the scan that all storages share.

use smallvec::SmallVec;

use super::FoldsNode;
use super::columns::{FoldScratch, fill_columns};
use crate::criterion::Criterion;
use crate::data::Entry;
use crate::error::Result;
use crate::split::best::Best;
use crate::split::candidate::Candidate;
use crate::split::node::{Node, NodeColumn, NodeSearch, Search};
use crate::split::samples::{SampleSet, Samples};

/// The most rows, summed over folds, that are listed at the same time; one fold may have more.
const CONTEST_ROWS: usize = 1 << 20;

/// A fold whose best split is in one of some columns.
pub struct Contest<'a, C: Criterion> {
    /// The number of the fold in the node.
    pub fold: usize,
    /// The statistics of the fold's rows.
    pub totals: &'a C::Totals,
    /// The features, one of whose columns has the best split.
    pub features: SmallVec<[u32; 4]>,
}

/// Finds the best split of the fold of each contest, in the order of the contests; `None` where no
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
        let mut features: Vec<u32> = contests.iter().flat_map(|contest| contest.features.iter().copied()).collect();
        features.sort_unstable();
        features.dedup();
        let samples = |contest: &Contest<'_, C>| {
            let is_in = |&sample: &u32| node.holders.is_in(contest.fold, sample);
            Samples::new(node.samples.iter().copied().filter(is_in).collect(), search.data.n_samples(), false)
        };
        let mut samples: Vec<Samples> = contests.iter().map(samples).collect();
        let samples: Vec<SampleSet<'_>> = samples.iter_mut().map(Samples::root).collect();
        let mut bests: Vec<Best<C>> = contests.iter().map(|_| Best::new()).collect();
        let mut own = Vec::new();
        fill_columns((search.data, search.runtime), node.samples, (&features, false), folds, &mut |column| {
            for ((contest, samples), best) in contests.iter().zip(&samples).zip(&mut bests) {
                if !contest.features.contains(&column.feature) {
                    continue;
                }
                own.clear();
                let is_in = |entry: &Entry| node.holders.is_in(contest.fold, entry.sample());
                own.extend(column.entries.iter().copied().filter(is_in));
                let (totals, key, constants) = (contest.totals, node.key, node.constants);
                let alone = Node { samples, n_entries: 0, totals, key, constants, limits: None };
                let at = NodeSearch { search, node: &alone, order: &order };
                at.evaluate(NodeColumn { entries: &own, n_common: samples.len() - own.len(), ..column }, scan, best);
            }
        })?;
        found.extend(bests.into_iter().map(Best::candidate));
    }
    Ok(found)
}
