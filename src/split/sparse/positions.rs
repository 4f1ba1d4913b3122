//! The positions at which a node draws the features of its entries: the inverse of the draw.

use std::ops::{ControlFlow, Range};

use crate::criterion::Criterion;
use crate::data::Entry;
use crate::data::SparseColumns;
use crate::error::Result;
use crate::simd::vectorized;
use crate::split::entries::entries_vary;
use crate::split::node::NodeSearch;

/// How many positions are tested together.
const CHUNK: usize = 32;

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

    /// Calls `visit(feature, entries)` for each feature that the node draws at one of the positions `range`
    /// and that has entries in the node, in the order of the draw, until `visit` breaks. Entries ascend.
    /// After the last call, its entries stay in `entries`.
    pub fn for_each_of<C: Criterion>(
        &mut self,
        at: NodeSearch<'_, C>,
        columns: &SparseColumns,
        range: Range<u32>,
        entries: &mut Vec<Entry>,
        mut visit: impl FnMut(u32, &mut [Entry]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
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
            visit(group[0].1, entries)?;
        }
        ControlFlow::Continue(())
    }

    /// The first feature that varies in the node, may split it, and is drawn at the position `start` or
    /// later; `entries` is set to its entries. `None` if there is none.
    ///
    /// Looks at one position first, and doubles the number of positions each time. So it costs O(entries) if
    /// the first feature that is met varies, and O(entries * log(features)) at most, also in rows that are
    /// all equal.
    pub fn first_varying<C: Criterion>(
        &mut self,
        at: NodeSearch<'_, C>,
        columns: &SparseColumns,
        mut start: u32,
        entries: &mut Vec<Entry>,
    ) -> Result<Option<u32>> {
        let mut n_positions = 1u32;
        loop {
            at.search.runtime.check_interrupt()?;
            start = first_from(at.search.level, &self.positions, start);
            if start == u32::MAX {
                return Ok(None);
            }
            let end = start.saturating_add(n_positions);
            let mut found = None;
            let _ = self.for_each_of(at, columns, start..end, entries, |feature, entries| {
                let may_split = !at.is_excluded(feature) && entries_vary(entries, at.node.samples.len());
                found = may_split.then_some(feature);
                if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            if found.is_some() {
                return Ok(found);
            }
            start = end;
            n_positions = n_positions.saturating_mul(2);
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
