//! The search of a node of few entries, by the positions at which the node draws their features.
//!
//! A node that draws k of many features must find those of its entries whose features are drawn:
//! few entries, or none. One way is to draw the k features, and to look each of them up. The way
//! here goes backwards: the inverse of the node's permutation tells at which position the feature
//! of each entry is drawn, and the entries at the first k positions are those that are wanted. It
//! needs neither the draw nor a look-up, and the positions are at hand for ties, and for the first
//! feature that varies if none of the drawn ones does. O(entries).

use std::ops::Range;

use crate::criterion::Criterion;
use crate::data::SparseColumns;
use crate::error::Result;
use crate::params::{FeatureSampling, Strategy};
use crate::simd::vectorized;
use crate::split::best::Best;
use crate::split::entries::{Entry, entries_vary};
use crate::split::found::Found;
use crate::split::node::{Node, NodeSearch, Search};
use crate::split::sparse::by_rows::Groups;
use crate::split::sparse::scratch::SearchScratch;
use crate::tuning::tuned;

tuned! {
    /// A node with fewer entries than this many times the features that it draws computes the
    /// positions of its entries (bench `sweep`).
    fn positions_below() -> f64 = 2.0;
}

/// How many positions are tested together.
const CHUNK: usize = 32;

/// Whether a node is searched in this way.
pub(crate) fn is_cheapest<C: Criterion>(search: &Search<'_, C>, node: &Node<'_, C>) -> bool {
    search.params.feature_sampling == FeatureSampling::All
        && !search.draws_all()
        && match search.params.force_strategy {
            None => (node.n_entries as f64) < positions_below() * search.n_drawn() as f64,
            Some(strategy) => strategy == Strategy::Positions,
        }
}

/// Finds the best split of a node that draws some features. The draw is not needed.
pub(crate) fn search_positions<C: Criterion>(
    at: NodeSearch<'_, C>,
    columns: &SparseColumns,
    scan: &mut C::Scan,
    scratch: &mut SearchScratch,
) -> Result<Found<C>> {
    at.search.runtime.check_interrupt()?;
    let SearchScratch { positions, entries, .. } = scratch;
    let best = Best::with_bar(at.search, at.node, 0.0).in_order();
    let mut groups = Groups::new(at, columns, scan, best);
    let n_drawn = at.search.n_drawn() as u32;
    positions.load(at, columns);
    positions.for_each_of(at, columns, 0..n_drawn, entries, |feature, entries| groups.visit(feature, entries));
    if groups.n_varying == 0
        && let Some(feature) = positions.first_varying(at, columns, n_drawn, entries)
    {
        groups.visit(feature, entries);
    }
    Ok(groups.into_found())
}

/// The positions at which a node draws the features of its entries.
#[derive(Debug, Default)]
pub(crate) struct Positions {
    /// The position of each entry, row after row.
    positions: Vec<u32>,
    /// Some entries, each with the position and the number of its feature.
    drawn: Vec<(u32, u32, Entry)>,
}

impl Positions {
    /// Computes the positions of all entries of a node. O(entries).
    pub fn load<C: Criterion>(&mut self, at: NodeSearch<'_, C>, columns: &SparseColumns) {
        let NodeSearch { search, node, order } = at;
        // All are written below, so that their old values do not matter.
        self.positions.resize(node.n_entries, 0);
        let mut rest = &mut self.positions[..];
        for &sample in node.samples.ids() {
            let features = columns.row(sample).features;
            let (own, others) = rest.split_at_mut(features.len());
            order.positions(search.level, features, own);
            rest = others;
        }
    }

    /// Calls `visit(feature, entries)` for each feature that the node draws at one of the positions
    /// `range` and that has entries in the node, in the order of the draw. Entries ascend.
    fn for_each_of<C: Criterion>(
        &mut self,
        at: NodeSearch<'_, C>,
        columns: &SparseColumns,
        range: Range<u32>,
        entries: &mut Vec<Entry>,
        mut visit: impl FnMut(u32, &mut [Entry]),
    ) {
        let Self { positions, drawn } = self;
        drawn.clear();
        let mut rest = &positions[..];
        for &sample in at.node.samples.ids() {
            let row = columns.row(sample);
            let (own, others) = rest.split_at(row.features.len());
            rest = others;
            for (chunk, start) in own.chunks(CHUNK).zip((0..).step_by(CHUNK)) {
                if n_within(at.search.level, chunk, range.start, range.end) == 0 {
                    continue;
                }
                for (&position, at) in chunk.iter().zip(start..) {
                    if range.contains(&position) {
                        drawn.push((position, row.features[at], Entry::new(row.ranks.at(at), sample)));
                    }
                }
            }
        }
        drawn.sort_unstable();
        for group in drawn.chunk_by(|a, b| a.0 == b.0) {
            entries.clear();
            entries.extend(group.iter().map(|&(_, _, entry)| entry));
            visit(group[0].1, entries);
        }
    }

    /// The first feature that varies in the node, of those that it draws at the position `start` or
    /// later; `entries` is set to its entries. `None` if none of them varies. O(entries) for each
    /// feature that is met.
    pub fn first_varying<C: Criterion>(
        &mut self,
        at: NodeSearch<'_, C>,
        columns: &SparseColumns,
        mut start: u32,
        entries: &mut Vec<Entry>,
    ) -> Option<u32> {
        loop {
            let first = first_from(at.search.level, &self.positions, start);
            if first == u32::MAX {
                return None;
            }
            let mut found = None;
            self.for_each_of(at, columns, first..first + 1, entries, |feature, entries| {
                found = entries_vary(entries, at.node.samples.len()).then_some(feature);
            });
            if found.is_some() {
                return found;
            }
            start = first + 1;
        }
    }
}

vectorized! {
    /// How many of the positions lie between `start` and `end`.
    fn n_within(positions: &[u32], start: u32, end: u32) -> u32 {
        positions.iter().map(|&position| u32::from(position >= start && position < end)).sum()
    }
}

vectorized! {
    /// The least of the positions that are not below `start`; `u32::MAX` if there is none.
    fn first_from(positions: &[u32], start: u32) -> u32 {
        positions.iter().fold(u32::MAX, |least, &position| least.min(if position >= start { position } else { u32::MAX }))
    }
}
