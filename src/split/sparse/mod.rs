//! Sparse columns: with what the parent knew while the node is large, one by one, or all together by its rows once
//! that is cheaper.

pub(crate) mod bounds;
mod by_bound;
mod by_rows;
mod entry_counts;
pub(crate) mod heritage;
pub mod intersect;
mod row_masks;

use std::ops::Range;

use super::best::Candidate;
use super::by_column::{ColumnSearch, PARALLEL_FROM, search_columns};
use super::samples::SampleSet;
use super::{Best, Found, Node, NodeColumn, NodeSearch, Outcome, Scratch, Search};
use crate::bitset::Bitset;
use crate::criterion::Criterion;
use crate::data::SparseColumns;
use crate::data::sparse::SparseColumn;
use crate::error::Result;
use crate::rng::{Permutation, Side};
use by_rows::search_rows;
use entry_counts::EntryCounts;
use heritage::LaneMap;
pub use heritage::{Division, Heirs, Heritage, Wanted};
use intersect::{Entry, Gather, NodeCosts, Strategy, ValueOrdered};
use row_masks::Block;

/// When partitioning, a row is looked up instead of the column being marked if the column has this many times more
/// entries to mark than the node has rows (bench `partition`).
const MARKS_PER_LOOKUP: usize = 8;
/// When partitioning, the rows of one side are moved one by one if the node has this many times more (bench
/// `partition`).
const STAY_PER_MOVE: usize = 8;
/// Scan one entry, in nanoseconds (bench `scan`).
const SCAN_COST: f64 = 2.5;

/// How much the searches with bounds have read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Effort {
    /// Nodes that were searched so.
    pub n_nodes: u64,
    /// Columns that they had entries in, or drew.
    pub n_columns: u64,
    /// Columns of those that were read.
    pub n_read: u64,
}

impl std::ops::AddAssign for Effort {
    fn add_assign(&mut self, other: Self) {
        self.n_nodes += other.n_nodes;
        self.n_columns += other.n_columns;
        self.n_read += other.n_read;
    }
}

/// Scratch of one worker. The default, of size 0, is for dense data.
#[derive(Debug, Default)]
pub struct SearchScratch {
    /// The rows of one node; empty between two uses.
    pub(super) members: Bitset,
    /// Features that the node draws; empty between two uses.
    pub(super) drawn: Bitset,
    pub(super) gather: Gather,
    pub(super) block: Block,
    pub(super) entries: Vec<Entry>,
    pub(super) lane_map: LaneMap,
    /// Bounds and lanes of the columns that may win.
    pub(super) candidates: Vec<(f64, u32)>,
    /// Rows that change sides.
    few: Vec<u32>,
    pub(super) effort: Effort,
}

impl SearchScratch {
    pub(super) fn new(n_samples: usize, n_features: usize) -> Self {
        Self {
            members: Bitset::new(n_samples),
            drawn: Bitset::new(n_features),
            gather: Gather::new(n_features),
            lane_map: LaneMap::new(n_features),
            ..Self::default()
        }
    }
}

struct SparseSearch<'a> {
    columns: &'a SparseColumns,
    samples: &'a [u32],
    members: &'a Bitset,
    /// Entries in the node, by feature.
    counts: Option<&'a [u32]>,
    costs: NodeCosts,
    forced: Option<Strategy>,
}

impl<C: Criterion> ColumnSearch<C> for SparseSearch<'_> {
    type Scratch = Vec<Entry>;

    fn lend(&self) -> Vec<Entry> {
        Vec::new()
    }

    fn search(
        &self,
        at: NodeSearch<'_, C>,
        feature: u32,
        scan: &mut C::Scan,
        scratch: &mut Vec<Entry>,
        best: &mut Best<C>,
    ) -> Outcome {
        let strategy = self.forced.unwrap_or_else(|| self.costs.strategy_for_column(self.columns.column_nnz(feature)));
        let entries = match strategy {
            Strategy::Search => intersect::by_search(self.columns, feature, self.samples, scratch),
            Strategy::Bitmap | Strategy::Gather | Strategy::Block | Strategy::Bounds => {
                intersect::by_bitmap(ValueOrdered::Stored(self.columns.column(feature)), self.members, scratch)
            }
        };
        let column = node_column(self.columns, self.samples, feature, entries);
        at.evaluate(column, scan, best)
    }

    fn best(&self, at: NodeSearch<'_, C>) -> Best<C> {
        Best::with_bar(at.search, at.node, 0.0)
    }

    fn warm(&self, feature: u32) {
        let column = self.columns.column(feature);
        if let Some(sample) = column.samples.first() {
            std::hint::black_box((*sample, column.ranks.at(0)));
        }
    }

    fn column_nnz(&self, feature: u32) -> usize {
        self.columns.column_nnz(feature)
    }

    fn counts_entries(&self) -> bool {
        self.counts.is_some()
    }

    fn most_entries(&self, feature: u32) -> usize {
        self.counts.map_or_else(|| self.columns.column_nnz(feature), |counts| counts[feature as usize] as usize)
    }
}

pub(super) fn node_column<'e>(
    columns: &SparseColumns,
    samples: &[u32],
    feature: u32,
    entries: &'e [Entry],
) -> NodeColumn<'e> {
    NodeColumn { feature, entries, n_common: samples.len() - entries.len(), common_rank: columns.zero_rank(feature) }
}

/// The best split of a node over sparse columns.
pub(super) fn best_split<C: Criterion>(
    search: &Search<'_, C>,
    node: &Node<'_, C>,
    heritage: Option<Heritage<C>>,
    columns: &SparseColumns,
    order: &Permutation,
    drawn: Option<&[u32]>,
    scratch: &mut Scratch<C>,
) -> Result<Found<C>> {
    let Scratch { scan, sparse, .. } = scratch;
    let heritage = heritage.or_else(|| Heritage::of_node(search, node, columns, scan, &mut sparse.gather));
    match heritage {
        Some(Heritage::Columns(mut known)) => {
            known.shrink(search.criterion, columns, node.n_entries, scan);
            let best = by_bound::best_split(search, node, columns, &mut known, order, scan, sparse)?;
            Ok(Found { best: best.candidate(), constants: None, heritage: Some(Heritage::Columns(known)) })
        }
        Some(Heritage::Counts(counts)) => {
            let found = search_anew(search, node, columns, order, drawn, Some(&counts), scan, sparse)?;
            Ok(Found { heritage: Some(Heritage::Counts(counts)), ..found })
        }
        None => search_anew(search, node, columns, order, drawn, None, scan, sparse),
    }
}

/// Searches a node without bounds.
#[allow(clippy::too_many_arguments, reason = "called once")]
fn search_anew<C: Criterion>(
    search: &Search<'_, C>,
    node: &Node<'_, C>,
    columns: &SparseColumns,
    order: &Permutation,
    drawn: Option<&[u32]>,
    counted: Option<&EntryCounts>,
    scan: &mut C::Scan,
    sparse: &mut SearchScratch,
) -> Result<Found<C>> {
    let ids = node.samples.ids();
    let costs = NodeCosts::new(ids.len(), node.n_entries);
    let counts = counted.and_then(EntryCounts::counts);
    let (by_columns, by_rows) = plan(search, node, columns, drawn, counts, &costs);
    let together = match search.params.force_strategy {
        Some(Strategy::Gather) => true,
        Some(Strategy::Bitmap | Strategy::Search) => false,
        Some(Strategy::Block) => ids.len() <= Block::CAPACITY,
        _ if counts.is_some() => false,
        // Only columns are searched by several threads.
        _ if by_columns >= PARALLEL_FROM => by_rows < by_columns / search.runtime.n_threads() as f64,
        _ => by_rows < by_columns,
    };
    if together {
        return search_rows(search, node, columns, order, drawn, scan, sparse);
    }
    let SearchScratch { members, entries, .. } = sparse;
    let forced = search.params.force_strategy;
    let work = by_columns + node.n_entries as f64 * SCAN_COST;
    let at = NodeSearch { search, node, order };
    if let Some(members) = counted.and_then(EntryCounts::members) {
        let one_by_one = SparseSearch { columns, samples: ids, members, counts, costs, forced };
        return search_columns(at, drawn, &one_by_one, work, scan, entries);
    }
    members.insert_all(ids);
    let one_by_one = SparseSearch { columns, samples: ids, members, counts, costs, forced };
    let found = search_columns(at, drawn, &one_by_one, work, scan, entries);
    members.remove_all(ids);
    found
}

/// What filling the drawn columns costs one by one, and by rows.
fn plan<C: Criterion>(
    search: &Search<'_, C>,
    node: &Node<'_, C>,
    columns: &SparseColumns,
    drawn: Option<&[u32]>,
    counts: Option<&[u32]>,
    costs: &NodeCosts,
) -> (f64, f64) {
    let kept = search.n_drawn() as f64 / search.data.n_features() as f64;
    let by_rows = costs.gather_cost(drawn.map(|_| kept));
    let Some(drawn) = drawn else {
        return (costs.columns_cost(columns.nnz() - node.constants.nnz()), by_rows);
    };
    if let Some(counts) = counts {
        let n_entries: usize = drawn.iter().map(|&feature| counts[feature as usize] as usize).sum();
        return (costs.columns_visited_cost(drawn.len()) + costs.columns_cost(n_entries), by_rows);
    }
    let mut by_columns = costs.columns_visited_cost(drawn.len());
    for &feature in drawn {
        if by_columns > by_rows {
            break;
        }
        if !node.constants.contains(feature) {
            by_columns += costs.column_cost(columns.column_nnz(feature));
        }
    }
    (by_columns, by_rows)
}

/// Partitions a node; returns the number of rows that go left. The side of the cut without the zeros is a front or a back
/// of the column in value order. O(its entries in the node) if the node knows its columns and these are few; else
/// O(W + marks), where rows are marked and each row of the node is tested, or O(W log(row length)), where each is looked
/// up.
pub(super) fn partition<C: Criterion>(
    columns: &SparseColumns,
    samples: &mut SampleSet<'_>,
    split: &Candidate,
    missing_rank: Option<u32>,
    heritage: Option<&Heritage<C>>,
    scratch: &mut SearchScratch,
) -> usize {
    let SearchScratch { members: marked, lane_map, few, .. } = scratch;
    let column = columns.column(split.feature);
    let zeros_left = column.zero_rank <= split.last_left;
    // No value has the rank that stands for no missing values.
    let missing_rank = missing_rank.unwrap_or(u32::MAX);
    let sides = Sides { split, missing_rank, zeros_left };
    let own = match heritage {
        Some(Heritage::Columns(known)) => {
            known.column_of(columns, lane_map, split.feature).map(|own| (own, known.members()))
        }
        Some(Heritage::Counts(counts)) => counts.members().map(|members| (ValueOrdered::Stored(column), members)),
        None => None,
    };
    let marks = match own {
        Some((own, members)) => {
            few.clear();
            match own {
                ValueOrdered::Stored(column) => few.extend(sides.marks(&column).into_iter().flatten()),
                ValueOrdered::Copied { entries, .. } => {
                    let ranges = sides.without_zeros(entries.len(), |at| entries[at].rank());
                    few.extend(ranges.into_iter().flat_map(|range| &entries[range]).map(|entry| entry.sample()));
                }
            }
            few.retain(|&sample| members.contains(sample));
            if few.len() * STAY_PER_MOVE < samples.len() {
                few.sort_unstable();
                return samples.move_few(few, !zeros_left);
            }
            [&few[..], &[]]
        }
        None => sides.marks(&column),
    };
    if marks.iter().map(|marks| marks.len()).sum::<usize>() / MARKS_PER_LOOKUP > samples.len() {
        return samples.partition(|sample| {
            let rank = columns.stored_rank(split.feature, sample);
            split.goes_left(rank.unwrap_or(column.zero_rank), missing_rank)
        });
    }
    for marks in marks {
        marked.insert_all(marks);
    }
    let n_left = samples.partition(|sample| marked.contains(sample) != zeros_left);
    for marks in marks {
        marked.remove_all(marks);
    }
    n_left
}

/// Which entries of a column are on which side of a cut.
struct Sides<'a> {
    split: &'a Candidate,
    /// Above all ranks of values.
    missing_rank: u32,
    zeros_left: bool,
}

impl Sides<'_> {
    /// The entries on the side without the zeros, of a column of so many in the order of their ranks: a run of values and
    /// the missing ones.
    fn without_zeros(&self, n_entries: usize, rank: impl Fn(usize) -> u32) -> [Range<usize>; 2] {
        let before = |end: u32| partition_point(n_entries, |at| rank(at) < end);
        let n_values = before(self.missing_rank);
        let middle = before(self.split.last_left + 1);
        let missing_left = self.split.missing == Some(Side::Left);
        let missing = if missing_left == self.zeros_left { n_entries..n_entries } else { n_values..n_entries };
        [if self.zeros_left { middle..n_values } else { 0..middle }, missing]
    }

    /// Their rows.
    fn marks<'c>(&self, column: &SparseColumn<'c>) -> [&'c [u32]; 2] {
        let ranges = self.without_zeros(column.samples.len(), |at| column.ranks.at(at));
        ranges.map(|range| &column.samples[range])
    }
}

/// The first of `0..n` for which `precedes` does not hold, as it does for all before, or `n`.
fn partition_point(n: usize, precedes: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low.midpoint(high);
        if precedes(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
