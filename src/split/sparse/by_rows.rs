//! The search of a node by its rows: one reading of the rows gives all columns, or the columns that the node
//! draws.

use crate::bitset::Bitset;
use crate::criterion::Criterion;
use crate::data::Entry;
use crate::data::SparseColumns;
use crate::error::Result;
use crate::params::Splitter;
use crate::split::best::Best;
use crate::split::found::Found;
use crate::split::node::{NodeColumn, NodeSearch, Outcome};
use crate::split::sparse::intersect::Gather;
use crate::split::sparse::scratch::{SearchScratch, Winner};
/// Finds the best split of a node by the node's rows. O(entries of the rows).
pub(crate) fn search_rows<C: Criterion>(
    at: NodeSearch<'_, C>,
    columns: &SparseColumns,
    drawn: Option<&[u32]>,
    scan: &mut C::Scan,
    scratch: &mut SearchScratch,
) -> Result<Found<C>> {
    let NodeSearch { search, node, .. } = at;
    search.runtime.check_interrupt()?;
    let SearchScratch { drawn: filter, gather, positions, entries: buffer, winner, .. } = scratch;
    let samples = node.samples.ids();
    let mut groups = Groups::new(at, columns, scan, winner, Best::with_bar(search, node, 0.0));
    match drawn {
        None => gather.for_each(columns, samples, |feature, entries| groups.visit(feature, entries)),
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

    /// Searches the column of a feature, which has these entries in the node, if it may split the node.
    pub fn visit(&mut self, feature: u32, entries: &mut [Entry]) {
        if self.at.is_excluded(feature) {
            return;
        }
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
