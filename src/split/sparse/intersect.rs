//! Sparse column ∩ node: the entries of the rows of a node, by three kernels and one cost rule.
//!
//! After "Sparsified Trees" (section III; sparse.tex, on nonzero values), whose hybrid looks either every column
//! entry up in a mapping of rows to positions, or every row of the node up in the column. What differs here:
//!
//! * [`by_bitmap`] replaces the mapping: one bit per row tells membership. Columns are stored in value order, so the
//!   result needs no sort. O(column length).
//! * [`by_search`] looks the feature up in each row of the node, by binary search in the by-row twin, since a column in
//!   value order cannot be searched for a row. O(W log(row length)), then a sort of the hits.
//! * [`Gather`] reads the rows of the node once and groups their entries by feature: all columns in O(their entries), whatever
//!   their lengths. The seeds have no equivalent; it is what makes small nodes cheap.
//!
//! The kernels never see targets, and extract the same entries whichever is taken (property tests).

use crate::bitset::Bitset;
use crate::data::SparseColumns;
use crate::data::sparse::{SparseColumn, for_each_width};
use crate::params::Strategy;
use crate::split::entries::Entry;

// Costs in nanoseconds, from the bench `intersect`. Only their ratios matter, and only for speed.
/// Per entry of a column, by bitmap.
const BITMAP_COST: f64 = 0.6;
/// Per halving of a row, by search.
const SEARCH_COST: f64 = 1.5;
/// Per entry of the node's rows, grouped.
const GATHER_COST: f64 = 6.0;
/// Per entry of the node's rows, when a filter drops it.
const FILTER_COST: f64 = 0.7;
/// Per column that is visited one by one, however short.
const COLUMN_COST: f64 = 25.0;

/// A column whose entries are in value order: of the data set, or a copy.
#[derive(Debug, Clone, Copy)]
pub enum ValueOrdered<'a> {
    /// Of the data set.
    Stored(SparseColumn<'a>),
    /// A copy of some entries of a column.
    Copied {
        /// The entries, in value order.
        entries: &'a [Entry],
        /// The rank of all other rows.
        zero_rank: u32,
    },
}

impl ValueOrdered<'_> {
    /// Number of entries.
    pub fn len(&self) -> usize {
        match self {
            Self::Stored(column) => column.samples.len(),
            Self::Copied { entries, .. } => entries.len(),
        }
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rank of the rows that have no entry.
    pub fn zero_rank(&self) -> u32 {
        match self {
            Self::Stored(column) => column.zero_rank,
            Self::Copied { zero_rank, .. } => *zero_rank,
        }
    }

    /// Writes the entries whose rows are `members` to the front of `out`, which has room for all entries, and returns
    /// their number. O(column length), without branches on membership.
    pub fn take_members(&self, members: &Bitset, out: &mut [Entry]) -> usize {
        #[inline(always)]
        #[allow(clippy::inline_always, reason = "one loop for each type of entries")]
        fn take(entries: impl ExactSizeIterator<Item = Entry>, members: &Bitset, out: &mut [Entry]) -> usize {
            let out = &mut out[..entries.len()];
            let mut n = 0;
            for entry in entries {
                out[n] = entry;
                n += usize::from(members.contains(entry.sample()));
            }
            n
        }
        match *self {
            Self::Stored(SparseColumn { samples, ranks, .. }) => for_each_width!(ranks, |ranks| {
                let entries = samples.iter().zip(ranks);
                take(entries.map(|(&sample, &rank)| Entry::new(rank.into(), sample)), members, out)
            }),
            Self::Copied { entries, .. } => take(entries.iter().copied(), members, out),
        }
    }
}

/// The entries of a column whose rows are `members`, in value order. O(column length). `out` is assumed dirty and only
/// grows; the result is its front.
pub fn by_bitmap<'a>(column: ValueOrdered<'_>, members: &Bitset, out: &'a mut Vec<Entry>) -> &'a [Entry] {
    if out.len() < column.len() {
        out.resize(column.len(), Entry::default());
    }
    let n = column.take_members(members, out);
    &out[..n]
}

/// The entries of a feature in the rows `samples`, sorted by value. O(rows * log(row length) + hits * log(hits)).
pub fn by_search<'a>(sparse: &SparseColumns, feature: u32, samples: &[u32], out: &'a mut Vec<Entry>) -> &'a [Entry] {
    out.clear();
    for &sample in samples {
        if let Some(rank) = sparse.stored_rank(feature, sample) {
            out.push(Entry::new(rank, sample));
        }
    }
    out.sort_unstable();
    out
}

/// The entries of a node grouped by feature. Scratch: O(features) once, O(entries of the node) in use.
#[derive(Debug, Default)]
pub struct Gather {
    /// Entries per feature, then the end of each group; all 0 between two uses.
    cursor: Vec<u32>,
    /// The features of the groups, in order of appearance.
    features: Vec<u32>,
    entries: Vec<Entry>,
    /// What passed a filter.
    hits: Vec<(u32, Entry)>,
}

impl Gather {
    /// Scratch for `n_features`.
    pub fn new(n_features: usize) -> Self {
        Self { cursor: vec![0; n_features], ..Self::default() }
    }

    /// Whether so many entries can be grouped: positions are of 32 bits.
    pub fn fits(nnz: usize) -> bool {
        u32::try_from(nnz).is_ok()
    }

    /// Reads the rows `samples` and calls `visit(feature, entries)` for every feature that has entries there, in no
    /// particular order of features, entries in the order of `samples`. O(entries), twice read.
    pub fn for_each(&mut self, sparse: &SparseColumns, samples: &[u32], visit: impl FnMut(u32, &mut [Entry])) {
        let rows = || samples.iter().map(|&sample| (sample, sparse.row(sample)));
        for (_, row) in rows() {
            for &feature in row.features {
                self.count(feature);
            }
        }
        self.open_groups();
        for (sample, row) in rows() {
            for_each_width!(row.ranks, |ranks| {
                for (&feature, &rank) in row.features.iter().zip(ranks) {
                    let slot = &mut self.cursor[feature as usize];
                    self.entries[*slot as usize] = Entry::new(rank.into(), sample);
                    *slot += 1;
                }
            });
        }
        self.visit_groups(visit);
    }

    /// As [`for_each`](Self::for_each), for the features in `filter` only. The rows are read once, without branches on
    /// the filter: most entries fail it.
    pub fn for_each_of(
        &mut self,
        sparse: &SparseColumns,
        samples: &[u32],
        filter: &Bitset,
        visit: impl FnMut(u32, &mut [Entry]),
    ) {
        let mut hits = std::mem::take(&mut self.hits);
        let mut n = 0;
        for &sample in samples {
            let row = sparse.row(sample);
            if hits.len() < n + row.features.len() {
                hits.resize(2 * (n + row.features.len()), (0, Entry::default()));
            }
            let first = n;
            for (at, &feature) in row.features.iter().enumerate() {
                hits[n] = (at as u32, Entry::default());
                n += usize::from(filter.contains(feature));
            }
            for hit in &mut hits[first..n] {
                let at = hit.0 as usize;
                *hit = (row.features[at], Entry::new(row.ranks.at(at), sample));
            }
        }
        for &(feature, _) in &hits[..n] {
            self.count(feature);
        }
        self.open_groups();
        for &(feature, entry) in &hits[..n] {
            let slot = &mut self.cursor[feature as usize];
            self.entries[*slot as usize] = entry;
            *slot += 1;
        }
        self.hits = hits;
        self.visit_groups(visit);
    }

    #[inline]
    fn count(&mut self, feature: u32) {
        let count = &mut self.cursor[feature as usize];
        if *count == 0 {
            self.features.push(feature);
        }
        *count += 1;
    }

    /// Turns counts into the starts of groups.
    fn open_groups(&mut self) {
        let mut start = 0;
        for &feature in &self.features {
            start += std::mem::replace(&mut self.cursor[feature as usize], start);
        }
        if self.entries.len() < start as usize {
            self.entries.resize(start as usize, Entry::default());
        }
    }

    /// Ends the groups.
    fn visit_groups(&mut self, mut visit: impl FnMut(u32, &mut [Entry])) {
        let mut start = 0;
        for feature in self.features.drain(..) {
            let end = std::mem::take(&mut self.cursor[feature as usize]) as usize;
            visit(feature, &mut self.entries[start..end]);
            start = end;
        }
    }
}

/// What the cost rule knows of a node.
#[derive(Debug, Clone, Copy)]
pub struct NodeCosts {
    /// Entries that its rows store.
    nnz: usize,
    /// Of one column, by search.
    search: f64,
}

impl NodeCosts {
    /// The costs of a node of `n_samples` rows that store `nnz` entries.
    pub fn new(n_samples: usize, nnz: usize) -> Self {
        let row_length = nnz as f64 / n_samples as f64;
        Self { nnz, search: n_samples as f64 * (row_length + 1.0).log2().max(1.0) * SEARCH_COST }
    }

    /// The kernel for one column of `column_nnz` entries: the seeds' rule, `W log(row length) < c m_j`.
    #[inline]
    pub fn strategy_for_column(&self, column_nnz: usize) -> Strategy {
        if self.search < column_nnz as f64 * BITMAP_COST { Strategy::Search } else { Strategy::Bitmap }
    }

    /// The cost of all columns one by one, when they have `columns_nnz` entries in total.
    pub fn columns_cost(&self, columns_nnz: usize) -> f64 {
        columns_nnz as f64 * BITMAP_COST
    }

    /// The cost of visiting `n` columns, their entries aside.
    pub fn columns_visited_cost(&self, n: usize) -> f64 {
        n as f64 * COLUMN_COST
    }

    /// The cost of the entries of one column.
    #[inline]
    pub fn column_cost(&self, column_nnz: usize) -> f64 {
        self.search.min(column_nnz as f64 * BITMAP_COST)
    }

    /// The cost of all columns together, when a share of about `kept` of the entries passes a filter, or all.
    pub fn gather_cost(&self, kept: Option<f64>) -> f64 {
        if !Gather::fits(self.nnz) {
            return f64::INFINITY;
        }
        self.nnz as f64 * kept.map_or(GATHER_COST, |kept| FILTER_COST + kept * GATHER_COST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A node with more entries than 32 bits count is read column by column.
    #[test]
    fn huge_nodes_are_not_gathered() {
        let n_entries = [1usize << 31, (1 << 32) - 1, 1 << 32, 1 << 40];
        let costs = n_entries.map(|nnz| NodeCosts::new(1 << 24, nnz).gather_cost(Some(0.01)));
        assert_eq!(costs.map(f64::is_finite), [true, true, false, false]);
        assert!(costs[1] > costs[0] * 1.9);
    }
}
