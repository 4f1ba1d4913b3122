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
use super::{Best, Found, Heirs, Node, NodeColumn, NodeSearch, Outcome, Scratch, Search, Wanted};
use crate::bitset::Bitset;
use crate::criterion::Criterion;
use crate::data::SparseColumns;
use crate::data::sparse::SparseColumn;
use crate::error::Result;
use crate::rng::{Permutation, Side};
use by_rows::search_rows;
use entry_counts::ColumnCounts;
use heritage::{Known, KnownColumns, LaneMap};
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
/// Nodes with this many rows and entries get columns and bounds of their own (bench `fit`).
const KNOWN_FROM_SAMPLES: usize = 24;
const KNOWN_FROM_ENTRIES: usize = 256;
/// A node that draws features and has this many entries per feature of the data set counts them (bench `fit`).
const COUNT_FROM: f64 = 0.25;

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
    /// The rows of nodes that know their columns, see [`Known`]: of the one that is searched, and of pending ones.
    pub(super) known_members: Bitset,
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
            known_members: Bitset::new(n_samples),
            drawn: Bitset::new(n_features),
            gather: Gather::new(n_features),
            lane_map: LaneMap::new(n_features),
            ..Self::default()
        }
    }

    /// No descendant of the node that knows its columns and has these rows will be searched.
    pub(super) fn forget(&mut self, samples: &[u32]) {
        self.known_members.remove_all(samples);
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
    known: Option<Known<C>>,
    columns: &SparseColumns,
    order: &Permutation,
    drawn: Option<&[u32]>,
    scratch: &mut Scratch<C>,
) -> Result<Found<C>> {
    let Scratch { scan, sparse, .. } = scratch;
    let ids = node.samples.ids();
    let known = known.or_else(|| {
        let is_root = search.criterion.weight(node.totals) == search.total_weight;
        is_worth_knowing(search, ids.len(), node.n_entries, is_root).then(|| {
            sparse.known_members.insert_all(ids);
            let (criterion, members) = (search.criterion, &sparse.known_members);
            match (drawn, is_root) {
                (Some(_), _) => Known::Counts(ColumnCounts::of_root(columns, members)),
                (None, true) => Known::Columns(Box::new(KnownColumns::of_whole(criterion, columns, members, scan))),
                (None, false) => {
                    let gather = &mut sparse.gather;
                    Known::Columns(Box::new(KnownColumns::of_rows(
                        criterion,
                        columns,
                        ids,
                        node.n_entries,
                        scan,
                        gather,
                    )))
                }
            }
        })
    });
    match known {
        Some(Known::Columns(mut known)) => {
            let members = std::mem::take(&mut sparse.known_members);
            known.shrink(search.criterion, columns, &members, node.n_entries, scan);
            let best = by_bound::best_split(search, node, columns, &mut known, &members, order, scan, sparse);
            sparse.known_members = members;
            let known = Some(Known::Columns(known));
            Ok(Found { best: best?.candidate(), constants: None, known })
        }
        None => search_anew(search, node, columns, order, drawn, None, scan, sparse),
        Some(Known::Counts(counts)) => {
            let found = search_anew(search, node, columns, order, drawn, Some(&counts), scan, sparse)?;
            Ok(Found { known: Some(Known::Counts(counts)), ..found })
        }
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
    known: Option<&ColumnCounts>,
    scan: &mut C::Scan,
    sparse: &mut SearchScratch,
) -> Result<Found<C>> {
    let ids = node.samples.ids();
    let costs = NodeCosts::new(ids.len(), node.n_entries);
    let counts = known.and_then(ColumnCounts::counts);
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
    let SearchScratch { members, known_members, entries, .. } = sparse;
    let forced = search.params.force_strategy;
    let work = by_columns + node.n_entries as f64 * SCAN_COST;
    let at = NodeSearch { search, node, order };
    if known.is_some_and(|known| known.holds_members) {
        let one_by_one = SparseSearch { columns, samples: ids, members: known_members, counts, costs, forced };
        return search_columns(at, drawn, &one_by_one, work, scan, entries);
    }
    members.insert_all(ids);
    let one_by_one = SparseSearch { columns, samples: ids, members, counts, costs, forced };
    let found = search_columns(at, drawn, &one_by_one, work, scan, entries);
    members.remove_all(ids);
    found
}

/// Whether a node that has taken nothing over gets something to hand on: bounds of all columns, or, if features are
/// drawn, at the root, counts.
fn is_worth_knowing<C: Criterion>(search: &Search<'_, C>, n_samples: usize, nnz: usize, is_root: bool) -> bool {
    let draws_all = search.draws_all();
    (is_root || draws_all)
        // A cut that is illegal in a node may be legal below, with more gain than the node's best.
        && (C::IS_SQUARED_DISTANCE && search.params.monotonic_cst.is_none() || !draws_all)
        && nnz > 0
        && (is_root || Gather::fits(nnz))
        && match search.params.force_strategy {
            Some(strategy) => strategy == Strategy::Bounds,
            None => n_samples >= KNOWN_FROM_SAMPLES && nnz >= KNOWN_FROM_ENTRIES,
        }
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

/// Divides what was known of a node among its children that are wanted; of both, only the larger always gets something. O(entries of the
/// smaller child).
#[allow(clippy::too_many_arguments, reason = "a node and its children")]
pub(super) fn bequeath<C: Criterion>(
    search: &Search<'_, C>,
    known: Known<C>,
    columns: &SparseColumns,
    totals: (&C::Totals, &C::Totals, &C::Totals),
    small: (&[u32], usize),
    n_large_entries: usize,
    wanted: Wanted,
    scratch: &mut Scratch<C>,
) -> Heirs<C> {
    let Scratch { scan, sparse, .. } = scratch;
    let SearchScratch { known_members, members, lane_map, .. } = sparse;
    let criterion = search.criterion;
    let (samples, nnz) = small;
    match known {
        Known::Columns(mut known) => {
            let mut branch = None;
            if wanted != Wanted::Large
                && !criterion.is_pure(totals.1)
                && is_worth_knowing(search, samples.len(), nnz, false)
            {
                members.insert_all(samples);
                branch = known.branch(criterion, columns, members, nnz, scan);
                members.remove_all(samples);
            }
            if branch.is_none() {
                known_members.remove_all(samples);
            }
            let small = branch.map(|branch| Known::Columns(Box::new(branch)));
            if wanted == Wanted::Small {
                return Heirs { small, large: None };
            }
            known.leave(criterion, columns, totals, samples, nnz, lane_map);
            Heirs { small, large: Some(Known::Columns(known)) }
        }
        Known::Counts(mut counts) => {
            if counts.holds_members {
                known_members.remove_all(samples);
            }
            let is_worth = |totals, nnz| !criterion.is_pure(totals) && is_worth_counting(search, nnz);
            let for_small = wanted != Wanted::Large && is_worth(totals.1, nnz);
            let for_large = wanted != Wanted::Small && is_worth(totals.2, n_large_entries);
            let small = counts.leave(columns, samples, for_small, for_large).map(Known::Counts);
            let is_kept = wanted != Wanted::Small && (counts.holds_members || for_large);
            let large = is_kept.then_some(Known::Counts(counts));
            Heirs { small, large }
        }
    }
}

/// Whether a child with these entries whose parent has counts gets some.
fn is_worth_counting<C: Criterion>(search: &Search<'_, C>, nnz: usize) -> bool {
    let least = COUNT_FROM * search.data.n_features() as f64;
    search.params.force_strategy.is_some() || nnz as f64 >= least
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
    known: Option<&Known<C>>,
    scratch: &mut SearchScratch,
) -> usize {
    let SearchScratch { members: marked, known_members, lane_map, few, .. } = scratch;
    let column = columns.column(split.feature);
    let zeros_left = column.zero_rank <= split.last_left;
    // No value has the rank that stands for no missing values.
    let missing_rank = missing_rank.unwrap_or(u32::MAX);
    let sides = Sides { split, missing_rank, zeros_left };
    let own = match known {
        Some(Known::Columns(known)) => known.column_of(columns, lane_map, split.feature),
        Some(Known::Counts(counts)) if counts.holds_members => Some(ValueOrdered::Stored(column)),
        Some(Known::Counts(_)) | None => None,
    };
    let marks = match own {
        Some(own) => {
            few.clear();
            match own {
                ValueOrdered::Stored(column) => few.extend(sides.marks(&column).into_iter().flatten()),
                ValueOrdered::Copied { entries, .. } => {
                    let ranges = sides.without_zeros(entries.len(), |at| entries[at].rank());
                    few.extend(ranges.into_iter().flat_map(|range| &entries[range]).map(|entry| entry.sample()));
                }
            }
            few.retain(|&sample| known_members.contains(sample));
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
