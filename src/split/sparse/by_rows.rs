//! The search of a node by its rows. Either one reading of the rows gives all columns, or the
//! features that the node draws are looked up in a block (see `row_masks`).

use crate::bitset::Bitset;
use crate::criterion::Criterion;
use crate::data::SparseColumns;
use crate::error::Result;
use crate::params::{Splitter, Strategy};
use crate::split::best::Best;
use crate::split::entries::Entry;
use crate::split::found::Found;
use crate::split::node::{NodeColumn, NodeSearch, Outcome, Search};
use crate::split::sparse::intersect::Gather;
use crate::split::sparse::row_masks::{Block, BlockRows};
use crate::split::sparse::scratch::{SearchScratch, Winner};
use crate::tuning::tuned;

tuned! {
    /// A node that draws less than this share of the features looks the drawn features up in a
    /// block (bench `sweep`).
    fn block_below() -> f64 = 0.05;
}

/// Finds the best split of a node by the node's rows: the drawn columns come from one reading of
/// the rows, or from a block.
pub(crate) fn search_rows<C: Criterion>(
    at: NodeSearch<'_, C>,
    columns: &SparseColumns,
    drawn: Option<&[u32]>,
    scan: &mut C::Scan,
    scratch: &mut SearchScratch,
) -> Result<Found<C>> {
    let NodeSearch { search, node, .. } = at;
    search.runtime.check_interrupt()?;
    let SearchScratch { drawn: filter, gather, block, positions, entries: buffer, winner, .. } = scratch;
    let samples = node.samples.ids();
    let best = Best::with_bar(search, node, 0.0);
    let in_block = drawn.is_some() && uses_block(search, samples.len());
    let best = if in_block && search.draws_in_order() { best.in_order() } else { best };
    let mut groups = Groups::new(at, columns, scan, winner, best);
    match drawn {
        None => gather.for_each(columns, samples, |feature, entries| groups.visit(feature, entries)),
        Some(features) if in_block => {
            if !block.holds(samples) {
                block.load(columns, samples);
            }
            for (feature, rows) in block.present(samples, features) {
                if groups.may_win(rows) {
                    buffer.clear();
                    // The block has found that the row stores the feature, so there is a rank.
                    let rank = |sample| columns.stored_rank(feature, sample).unwrap_or_default();
                    buffer.extend(rows.iter().map(|sample| Entry::new(rank(sample), sample)));
                    groups.visit(feature, buffer);
                }
            }
        }
        Some(features) => groups.visit_filtered(features, filter, gather),
    }
    if drawn.is_some() && groups.n_varying == 0 {
        positions.load(at, columns);
        if let Some(feature) = positions.first_varying(at, columns, search.n_drawn() as u32, buffer)? {
            groups.visit(feature, buffer);
        }
    }
    Ok(groups.into_found())
}

/// The search of columns that come one after the other, in no particular order, each with its
/// entries in the node.
pub(super) struct Groups<'a, C: Criterion> {
    at: NodeSearch<'a, C>,
    columns: &'a SparseColumns,
    scan: &'a mut C::Scan,
    winner: &'a mut Winner,
    best: Best<C>,
    /// How many of the columns vary.
    pub n_varying: usize,
}

impl<'a, C: Criterion> Groups<'a, C> {
    pub fn new(
        at: NodeSearch<'a, C>,
        columns: &'a SparseColumns,
        scan: &'a mut C::Scan,
        winner: &'a mut Winner,
        best: Best<C>,
    ) -> Self {
        Self { at, columns, scan, winner, best, n_varying: 0 }
    }

    pub fn into_found(self) -> Found<C> {
        Found { best: self.best.candidate(), constants: None, heritage: None }
    }

    /// Whether a column may win of which these rows of a block have entries, some rows of the node
    /// having none. Counts the column if it cannot win. Spares the look-ups of ranks.
    fn may_win(&mut self, rows: BlockRows<'_>) -> bool {
        let NodeSearch { search, node, .. } = self.at;
        let n_rows = rows.len();
        if n_rows == node.samples.len() {
            return true;
        }
        let weight: u64 = rows.iter().map(|sample| search.criterion.sample_weight(sample)).sum();
        let may_win = self.best.may_win_weighing(weight as f64)
            && (n_rows > 1 || {
                // The one entry is parted from all other rows by the only cut of the column.
                let mut pushed = search.criterion.begin(node.totals, self.scan);
                for sample in rows.iter() {
                    search.criterion.push(node.totals, self.scan, &mut pushed, sample);
                }
                self.best.may_win(search.criterion.score(node.totals, self.scan, pushed))
            });
        self.n_varying += usize::from(!may_win);
        may_win
    }

    /// Searches the column of a feature, which has these entries in the node.
    pub fn visit(&mut self, feature: u32, entries: &mut [Entry]) {
        if self.at.search.params.splitter == Splitter::Best && self.best.may_win_with(entries.len()) {
            entries.sort_unstable();
        }
        let zero_rank = self.columns.zero_rank(feature);
        let column = NodeColumn::new(feature, entries, self.at.node.samples.len(), zero_rank);
        let outcome = self.at.evaluate(column, self.scan, &mut self.best);
        self.n_varying += usize::from(outcome != Outcome::Constant);
        if self.best.feature() == Some(feature) {
            self.winner.keep(entries);
        }
    }

    /// Reads the rows of the node and searches the columns of `features`. `filter` is empty before
    /// and after.
    fn visit_filtered(&mut self, features: &[u32], filter: &mut Bitset, gather: &mut Gather) {
        filter.insert_all(features);
        let samples = self.at.node.samples.ids();
        gather.for_each_of(self.columns, samples, filter, |feature, entries| self.visit(feature, entries));
        filter.remove_all(features);
    }
}

/// Whether a node that draws features and is searched by rows uses a block: if the rows fit and the
/// node draws a small share of the features.
fn uses_block<C: Criterion>(search: &Search<'_, C>, n_samples: usize) -> bool {
    let kept = search.n_drawn() as f64 / search.data.n_features() as f64;
    n_samples <= Block::CAPACITY
        && match search.params.force_strategy {
            None => kept < block_below(),
            Some(strategy) => strategy == Strategy::Block,
        }
}
