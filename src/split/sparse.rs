//! Sparse columns: one by one while the node is large, all together by its rows once that is cheaper.

use std::cell::Cell;
use std::ops::Range;

use super::best::{Best, Candidate};
use super::features::{Fill, PARALLEL_FROM, search_columns};
use super::members::Members;
use super::{Found, Node, NodeColumn, Scratch, Search};
use crate::bitset::Bitset;
use crate::criterion::Criterion;
use crate::data::SparseColumns;
use crate::data::sparse::Rank;
use crate::error::Result;
use crate::intersect::{self, Entry, Gather, NodeCosts, Strategy};
use crate::params::Splitter;
use crate::samples::SampleSet;

/// When partitioning, a row is looked up instead of the column being marked if the column has this many times more
/// entries to mark than the node has rows (bench `partition`).
const MARKS_PER_LOOKUP: usize = 8;
/// Scan one entry, in nanoseconds (bench `scan`).
const SCAN_COST: f64 = 2.5;

/// Scratch of one worker. The default, of size 0, is for dense data.
#[derive(Debug, Default)]
pub struct SearchScratch {
    /// The rows of the last node that was searched column by column.
    members: Members,
    /// The rows of one side of a split; empty between two uses.
    marks: Bitset,
    /// Features that the node draws; empty between two uses.
    drawn: Bitset,
    gather: Gather,
    entries: Vec<Entry>,
}

impl SearchScratch {
    pub(super) fn new(n_samples: usize, n_features: usize) -> Self {
        Self {
            members: Members::new(n_samples),
            marks: Bitset::new(n_samples),
            drawn: Bitset::new(n_features),
            gather: Gather::new(n_features),
            entries: Vec::new(),
        }
    }
}

struct ColumnFill<'a, R> {
    columns: &'a SparseColumns<R>,
    samples: &'a [u32],
    members: &'a Bitset,
    costs: NodeCosts,
    forced: Option<Strategy>,
}

impl<R: Rank> Fill for ColumnFill<'_, R> {
    type Scratch = Vec<Entry>;

    fn fill<'s>(&self, feature: u32, scratch: &'s mut Vec<Entry>) -> NodeColumn<'s> {
        let strategy = self.forced.unwrap_or_else(|| self.costs.strategy_for_column(self.columns.column_nnz(feature)));
        let entries = match strategy {
            Strategy::Search => intersect::by_search(self.columns, feature, self.samples, scratch),
            Strategy::Bitmap | Strategy::Gather => {
                intersect::by_bitmap(self.columns.column(feature), self.members, scratch)
            }
        };
        node_column(self.columns, self.samples, feature, entries)
    }

    fn column_nnz(&self, feature: u32) -> usize {
        self.columns.column_nnz(feature)
    }
}

fn node_column<'e, R: Rank>(
    columns: &SparseColumns<R>,
    samples: &[u32],
    feature: u32,
    entries: &'e [Entry],
) -> NodeColumn<'e> {
    NodeColumn { feature, entries, n_common: samples.len() - entries.len(), common_rank: columns.zero_rank(feature) }
}

/// The best split of a node over sparse columns.
pub(super) fn best_split<C: Criterion, R: Rank>(
    search: &Search<'_, C>,
    node: &Node<'_, C>,
    columns: &SparseColumns<R>,
    scratch: &mut Scratch<C>,
) -> Result<Found> {
    let Scratch { scan, sparse, .. } = scratch;
    let costs = NodeCosts { n_samples: node.range.len(), nnz: node.n_entries };
    let (by_columns, by_rows) = plan(search, node, columns, &costs);
    let together = match search.params.force_strategy {
        Some(strategy) => strategy == Strategy::Gather,
        // Only columns are searched by several threads.
        None if by_columns >= PARALLEL_FROM => by_rows < by_columns / search.runtime.n_threads() as f64,
        None => by_rows < by_columns,
    };
    if together {
        return search_rows(search, node, columns, scan, sparse);
    }
    let SearchScratch { members, entries, .. } = sparse;
    let members = members.of(node.set, &node.range);
    let forced = search.params.force_strategy;
    let fill = ColumnFill { columns, samples: node.samples(), members, costs, forced };
    let work = by_columns + costs.nnz as f64 * SCAN_COST;
    search_columns(search, node, &fill, work, scan, entries)
}

/// What filling the drawn columns costs one by one, and by rows.
fn plan<C: Criterion, R: Rank>(
    search: &Search<'_, C>,
    node: &Node<'_, C>,
    columns: &SparseColumns<R>,
    costs: &NodeCosts,
) -> (f64, f64) {
    let (n_drawn, n_features) = (search.n_drawn(), search.data.n_features());
    let by_rows = costs.gather_cost(n_drawn as f64 / n_features as f64);
    if search.draws_all() {
        return (costs.columns_cost(columns.nnz() - node.constants.nnz()), by_rows);
    }
    let order = node.key.feature_order(n_features);
    let mut by_columns = 0.0;
    for position in 0..n_drawn as u32 {
        let feature = order.at(position);
        if !node.constants.contains(feature) {
            by_columns += costs.column_cost(columns.column_nnz(feature));
        }
        if by_columns > by_rows {
            break;
        }
    }
    (by_columns, by_rows)
}

/// Searches all drawn columns from one reading of the node's rows.
fn search_rows<C: Criterion, R: Rank>(
    search: &Search<'_, C>,
    node: &Node<'_, C>,
    columns: &SparseColumns<R>,
    scan: &mut C::Scan,
    scratch: &mut SearchScratch,
) -> Result<Found> {
    search.runtime.check_interrupt()?;
    let SearchScratch { drawn, gather, .. } = scratch;
    let samples = node.samples();
    let order = node.key.feature_order(search.data.n_features());
    let sorted = search.params.splitter == Splitter::Best;
    let mut best = Best::new();
    let n_varying = Cell::new(0);
    let mut visit = |feature: u32, entries: &mut [Entry]| {
        if sorted {
            entries.sort_unstable();
        }
        let column = node_column(columns, samples, feature, entries);
        let varies = search.evaluate(node, &order, column, scan, &mut best);
        n_varying.set(n_varying.get() + usize::from(varies));
    };
    if search.draws_all() {
        gather.for_each(columns, samples, None, &mut visit);
    } else {
        let features: Vec<u32> = (0..search.n_drawn() as u32).map(|position| order.at(position)).collect();
        drawn.insert_all(&features);
        gather.for_each(columns, samples, Some(drawn), &mut visit);
        drawn.remove_all(&features);
        if n_varying.get() == 0
            && let Some(feature) = first_varying(columns, samples, gather, |feature| order.position(feature))
        {
            drawn.insert_all(&[feature]);
            gather.for_each(columns, samples, Some(drawn), &mut visit);
            drawn.remove_all(&[feature]);
        }
    }
    Ok(Found { best: best.candidate(), constants: node.constants.clone() })
}

/// The feature that varies in the node and is drawn first.
fn first_varying<R: Rank>(
    columns: &SparseColumns<R>,
    samples: &[u32],
    gather: &mut Gather,
    position: impl Fn(u32) -> u32,
) -> Option<u32> {
    let mut first: Option<(u32, u32)> = None;
    gather.for_each(columns, samples, None, |feature, entries| {
        let varies = entries.len() < samples.len() || entries.iter().any(|entry| entry.rank() != entries[0].rank());
        if varies {
            let candidate = (position(feature), feature);
            first = Some(first.map_or(candidate, |first| first.min(candidate)));
        }
    });
    first.map(|(_, feature)| feature)
}

/// Partitions a node; returns the start of the right child. The side of the cut without the zeros is a front or a back
/// of the column in value order: mark its rows and test each row of the node, or look each row up if there are far
/// fewer. O(W + marks) or O(W log(row length)).
pub(super) fn partition<R: Rank>(
    columns: &SparseColumns<R>,
    samples: &mut SampleSet,
    range: Range<usize>,
    split: &Candidate,
    scratch: &mut SearchScratch,
) -> usize {
    let marked = &mut scratch.marks;
    let column = columns.column(split.feature);
    let (left, right) = column.samples.split_at(column.ranks.partition_point(|rank| rank.widen() <= split.last_left));
    let zeros_left = column.zero_rank <= split.last_left;
    let marks = if zeros_left { right } else { left };
    if marks.len() / MARKS_PER_LOOKUP > range.len() {
        return samples.partition(range, |sample| {
            let rank = intersect::rank_in_row(columns, split.feature, sample);
            rank.unwrap_or(column.zero_rank) <= split.last_left
        });
    }
    marked.insert_all(marks);
    let middle = samples.partition(range, |sample| marked.contains(sample) != zeros_left);
    marked.remove_all(marks);
    middle
}
