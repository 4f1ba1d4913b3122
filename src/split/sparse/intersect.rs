//! Sparse column ∩ node: the entries of the rows of a node, by three kernels and one cost rule.
//!
//! The idea is from "Sparsified Trees" (section III, and the paper's source `sparse.tex`, on
//! nonzero values). That hybrid either looks up every entry of a column in a mapping from rows to
//! positions, or looks up every row of the node in the column. The kernels here differ from it:
//!
//! * [`by_bitmap`] has one bit per row, instead of the mapping, to tell whether the row is in the
//!   node. Columns are stored in value order, so the result needs no sort. O(column length).
//! * [`by_search`] looks up the feature in each row of the node, by binary search in the by-row
//!   twin, since a column in value order cannot be searched for a row. `O(W log(row length))` for W
//!   rows, then a sort of the hits.
//! * [`Gather`] reads the rows of the node once and groups their entries by feature. So it finds
//!   the entries of all columns at a cost in proportion to the entries of the node, however long
//!   the columns are. The paper has no such kernel; it is what makes small nodes cheap.
//!
//! No kernel sees targets, and all kernels extract the same entries (property tests).

use crate::bitset::Bitset;
use crate::data::Entry;
use crate::data::SparseColumns;
use crate::data::sparse::{SparseColumn, for_each_width};
use crate::params::Strategy;

// Costs in nanoseconds, from the bench `intersect`. Only their ratios matter, and only for speed.
/// The cost per entry of a column, by bitmap.
const BITMAP_COST: f64 = 0.6;
/// The cost per halving of a row, by search.
const SEARCH_COST: f64 = 1.5;
/// The cost per entry of the node's rows that is put into a group.
const GATHER_COST: f64 = 6.0;
/// The cost per entry of the node's rows that a filter sees, before the cost of grouping an entry
/// that passes.
const FILTER_COST: f64 = 0.7;
/// The cost per column when columns are visited one by one, however short the column is.
const COLUMN_COST: f64 = 25.0;

/// A column whose entries are in value order: a column of the data set, or a copy.
#[derive(Debug, Clone, Copy)]
pub enum ValueOrdered<'a> {
    /// A column of the data set.
    Stored(SparseColumn<'a>),
    /// A copy of some entries of a column.
    Copied {
        /// The entries, in value order.
        entries: &'a [Entry],
        /// The rank of zero, which the rows without an entry have.
        zero_rank: u32,
    },
}

impl ValueOrdered<'_> {
    /// The number of entries, of all rows.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Stored(column) => column.samples.len(),
            Self::Copied { entries, .. } => entries.len(),
        }
    }

    /// The rank of zero, which the rows without an entry have.
    pub(crate) fn zero_rank(&self) -> u32 {
        match self {
            Self::Stored(column) => column.zero_rank,
            Self::Copied { zero_rank, .. } => *zero_rank,
        }
    }

    /// The number of entries whose rank is below `end`. O(log(column length)).
    pub(crate) fn n_below(&self, end: u32) -> usize {
        let end = Entry::new(end, 0);
        match *self {
            Self::Stored(SparseColumn { ranks, .. }) => {
                for_each_width!(ranks, |ranks| ranks.partition_point(|&rank| Entry::widened(rank, 0) < end))
            }
            Self::Copied { entries, .. } => entries.partition_point(|&entry| entry < end),
        }
    }

    /// Writes the entries whose rows are `members` to the front of `out` and returns how many there
    /// are. `out` must have room for all entries of the column. O(column length), without branches
    /// on membership.
    pub(crate) fn take_members(&self, members: &Bitset, out: &mut [Entry]) -> usize {
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
                take(entries.map(|(&sample, &rank)| Entry::widened(rank, sample)), members, out)
            }),
            Self::Copied { entries, .. } => take(entries.iter().copied(), members, out),
        }
    }
}

/// The entries of a column whose rows are `members`, in value order. O(column length). The result
/// is the front of `out`, which is assumed dirty and never shrinks.
pub fn by_bitmap<'a>(column: ValueOrdered<'_>, members: &Bitset, out: &'a mut Vec<Entry>) -> &'a [Entry] {
    if out.len() < column.len() {
        out.resize(column.len(), Entry::default());
    }
    let n = column.take_members(members, out);
    &out[..n]
}

/// The entries of a feature in the rows `samples`, sorted by value. O(rows * log(row length)) to
/// find the hits and O(hits * log(hits)) to sort them.
pub fn by_search<'a>(sparse: &SparseColumns, feature: u32, samples: &[u32], out: &'a mut Vec<Entry>) -> &'a [Entry] {
    out.clear();
    out.extend(samples.iter().filter_map(|&sample| Some(Entry::new(sparse.stored_rank(feature, sample)?, sample))));
    out.sort_unstable();
    out
}

/// Groups the entries of a node by feature. Takes O(features) of memory from the start, and
/// O(entries of the node) in use.
#[derive(Debug, Default)]
pub struct Gather {
    /// By feature: first the number of entries, then the position where the next entry of the group
    /// goes, and at last the end of the group. All 0 between two uses.
    cursor: Vec<u32>,
    /// The features of the groups, in the order in which they were first met.
    features: Vec<u32>,
    /// The entries, group after group.
    entries: Vec<Entry>,
    /// The entries that passed a filter, each with its feature.
    hits: Vec<(u32, Entry)>,
}

impl Gather {
    /// Scratch for a data set of `n_features` features.
    pub fn new(n_features: usize) -> Self {
        Self { cursor: vec![0; n_features], ..Self::default() }
    }

    /// Whether `nnz` entries can be grouped: positions have 32 bits.
    pub fn fits(nnz: usize) -> bool {
        u32::try_from(nnz).is_ok()
    }

    /// Reads the rows `samples` and calls `visit(feature, entries)` for every feature that has
    /// entries in these rows. Features come in no particular order, the entries of a feature in the
    /// order of `samples`. O(entries); each row is read twice.
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
                    self.entries[*slot as usize] = Entry::widened(rank, sample);
                    *slot += 1;
                }
            });
        }
        self.visit_groups(visit);
    }

    /// Does what [`for_each`](Self::for_each) does, for the features in `filter` alone. The rows
    /// are read once, without branches on the filter, which most entries fail.
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

    /// Counts an entry of a feature.
    #[inline]
    fn count(&mut self, feature: u32) {
        let count = &mut self.cursor[feature as usize];
        if *count == 0 {
            self.features.push(feature);
        }
        *count += 1;
    }

    /// Turns the counts into the starts of the groups, and makes room for the entries.
    fn open_groups(&mut self) {
        let mut start = 0;
        for &feature in &self.features {
            start += std::mem::replace(&mut self.cursor[feature as usize], start);
        }
        if self.entries.len() < start as usize {
            self.entries.resize(start as usize, Entry::default());
        }
    }

    /// Calls `visit` with every group, and leaves the scratch empty for the next use.
    fn visit_groups(&mut self, mut visit: impl FnMut(u32, &mut [Entry])) {
        let mut start = 0;
        for feature in self.features.drain(..) {
            let end = std::mem::take(&mut self.cursor[feature as usize]) as usize;
            visit(feature, &mut self.entries[start..end]);
            start = end;
        }
    }
}

/// The cost rule for one node. All costs are in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct NodeCosts {
    /// How many entries the rows of the node store.
    nnz: usize,
    /// The cost of one column by search.
    search: f64,
}

impl NodeCosts {
    /// The cost rule for a node of `n_samples` rows that store `nnz` entries.
    pub fn new(n_samples: usize, nnz: usize) -> Self {
        let row_length = nnz as f64 / n_samples as f64;
        Self { nnz, search: n_samples as f64 * (row_length + 1.0).log2().max(1.0) * SEARCH_COST }
    }

    /// The kernel for one column of `m = column_nnz` entries, by a rule like the one in "Sparsified Trees":
    /// search if `W log(row length) < c m`, for W rows and a constant c.
    #[inline]
    pub fn strategy_for_column(&self, column_nnz: usize) -> Strategy {
        if self.search < column_nnz as f64 * BITMAP_COST { Strategy::Search } else { Strategy::Bitmap }
    }

    /// The cost of reading columns one by one that have `columns_nnz` entries in total.
    pub fn columns_cost(&self, columns_nnz: usize) -> f64 {
        columns_nnz as f64 * BITMAP_COST
    }

    /// The cost of visiting `n` columns one by one, without the cost of their entries.
    pub fn columns_visited_cost(&self, n: usize) -> f64 {
        n as f64 * COLUMN_COST
    }

    /// The cost of the entries of one column, by the cheaper kernel.
    #[inline]
    pub fn column_cost(&self, column_nnz: usize) -> f64 {
        self.search.min(column_nnz as f64 * BITMAP_COST)
    }

    /// The cost of gathering all columns together. About the share `kept` of the entries passes the
    /// filter; `None` means that there is no filter. Infinite if there are too many entries to
    /// gather.
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

    /// A node with more entries than 32 bits can count is read column by column.
    #[test]
    fn huge_nodes_are_not_gathered() {
        let n_entries = [1usize << 31, (1 << 32) - 1, 1 << 32, 1 << 40];
        let costs = n_entries.map(|nnz| NodeCosts::new(1 << 24, nnz).gather_cost(Some(0.01)));
        assert_eq!(costs.map(f64::is_finite), [true, true, false, false]);
        assert!(costs[1] > costs[0] * 1.9);
    }
}
