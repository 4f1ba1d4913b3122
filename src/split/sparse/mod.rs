//! The search of a node over sparse columns. A large node that draws all features uses the columns
//! and bounds that its parent hands on (`by_bound`). Other nodes are searched one column at a time
//! (`by_column`), or by their rows, all columns together, once that is cheaper (`by_rows`,
//! `by_positions`).

pub(crate) mod bounds;
mod by_bound;
pub(crate) mod by_positions;
mod by_rows;
pub(crate) mod column_weights;
pub(crate) mod heritage;
pub mod intersect;
mod leave;
pub(crate) mod partition;
mod positions;
pub(crate) mod scratch;

use crate::bitset::Bitset;
use crate::criterion::Criterion;
use crate::data::Entry;
use crate::data::SparseColumns;
use crate::error::Result;
use crate::params::Strategy;
use crate::split::best::Best;
use crate::split::by_column::{ColumnSearch, Progress, search_columns};
use crate::split::found::Found;
use crate::split::node::{Node, NodeColumn, NodeSearch, Outcome, Search};
use crate::split::sparse::by_rows::search_rows;
use crate::split::sparse::column_weights::{ColumnWeights, NarrowNumbers};
use crate::split::sparse::heritage::Heritage;
use crate::split::sparse::intersect::{NodeCosts, ValueOrdered};
use crate::split::sparse::scratch::SearchScratch;
use crate::split::spread::{Scans, parallel_from};

/// The cost of scanning one entry, in nanoseconds (bench `scan`).
const SCAN_COST: f64 = 2.5;

/// The search of single columns of one node.
struct SparseSearch<'a> {
    columns: &'a SparseColumns,
    /// The rows of the node.
    members: &'a Bitset,
    /// How much the entries of each feature weigh in the node, if the node's heritage tells, and
    /// how much a unit of these weights may stand for.
    weights: Option<(&'a NarrowNumbers, f64)>,
    costs: NodeCosts,
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
        let (forced, samples) = (at.search.params.force_strategy, at.node.samples.ids());
        let strategy = forced.unwrap_or_else(|| self.costs.strategy_for_column(self.columns.column_nnz(feature)));
        let entries = match strategy {
            Strategy::Search => intersect::by_search(self.columns, feature, samples, scratch),
            Strategy::Bitmap | Strategy::Gather | Strategy::Bounds | Strategy::Positions => {
                intersect::by_bitmap(ValueOrdered::Stored(self.columns.column(feature)), self.members, scratch)
            }
        };
        let column = NodeColumn::new(feature, entries, samples.len(), self.columns.zero_rank(feature));
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

    fn weights(&self) -> Option<&NarrowNumbers> {
        self.weights.map(|(weights, _)| weights)
    }

    fn may_win(&self, feature: u32, best: &Best<C>) -> bool {
        match self.weights {
            Some((weights, scale)) => best.may_win_weighing(f64::from(weights.at(feature)) * scale),
            None => best.may_win_with(self.columns.column_nnz(feature)),
        }
    }
}

/// Finds the best split of a node over sparse columns. A node without a heritage makes one first,
/// if that pays.
pub(crate) fn best_split<C: Criterion>(
    at: NodeSearch<'_, C>,
    heritage: Option<Heritage<C>>,
    columns: &SparseColumns,
    drawn: Option<&[u32]>,
    scans: &mut Scans<C>,
    scratch: &mut SearchScratch,
) -> Result<Found<C>> {
    let NodeSearch { search, node, .. } = at;
    let heritage = heritage.or_else(|| Heritage::of_node(search, node, columns, &mut scans.own, &mut scratch.gather));
    match heritage {
        Some(Heritage::Columns(mut known)) => {
            known.shrink(search.criterion, columns, node.n_entries, &mut scans.own);
            let best = by_bound::best_split(at, columns, &mut known, scans, scratch)?;
            Ok(Found { best: best.candidate(), constants: None, heritage: Some(Heritage::Columns(known)) })
        }
        Some(Heritage::Weights(weights)) => {
            let found = search_anew(at, columns, drawn, Some(&weights), scans, scratch)?;
            Ok(Found { heritage: Some(Heritage::Weights(weights)), ..found })
        }
        None => search_anew(at, columns, drawn, None, scans, scratch),
    }
}

/// Searches a node without bounds, one column at a time or by rows, whichever is cheaper.
fn search_anew<C: Criterion>(
    at: NodeSearch<'_, C>,
    columns: &SparseColumns,
    drawn: Option<&[u32]>,
    weighed: Option<&ColumnWeights>,
    scans: &mut Scans<C>,
    scratch: &mut SearchScratch,
) -> Result<Found<C>> {
    let NodeSearch { search, node, .. } = at;
    let ids = node.samples.ids();
    let costs = NodeCosts::new(ids.len(), node.n_entries);
    let weights = weighed.and_then(|weighed| Some((weighed.weights.as_ref()?, weighed.scale(search))));
    let (by_columns, by_rows) = estimate_costs(search, node, columns, drawn, weights.is_some(), &costs);
    let together = match search.params.force_strategy {
        Some(Strategy::Gather) => true,
        Some(Strategy::Bitmap | Strategy::Search) => false,
        _ if weights.is_some() => false,
        // Several threads can search columns, but only one thread can search by rows.
        _ if by_columns >= parallel_from() => by_rows < by_columns / search.runtime.n_threads() as f64,
        _ => by_rows < by_columns,
    };
    if together {
        return search_rows(at, columns, drawn, &mut scans.own, scratch);
    }
    let SearchScratch { members, entries, .. } = scratch;
    let work = by_columns + node.n_entries as f64 * SCAN_COST;
    let kept = weighed.and_then(|weighed| weighed.members.as_ref());
    if kept.is_none() {
        members.insert_all(ids);
    }
    let one_by_one = SparseSearch { columns, members: kept.unwrap_or(members), weights, costs };
    let found = search_columns(at, drawn, &one_by_one, work, scans, entries, Progress::new(one_by_one.best(at)));
    if kept.is_none() {
        members.remove_all(ids);
    }
    found
}

/// The cost of filling the drawn columns one by one, and the cost of filling them by rows, in
/// nanoseconds. `are_weighed` says that columns without entries in the node are not read.
fn estimate_costs<C: Criterion>(
    search: &Search<'_, C>,
    node: &Node<'_, C>,
    columns: &SparseColumns,
    drawn: Option<&[u32]>,
    are_weighed: bool,
    costs: &NodeCosts,
) -> (f64, f64) {
    let kept = search.n_drawn() as f64 / search.data.n_features() as f64;
    let by_rows = costs.gather_cost(drawn.map(|_| kept));
    let Some(drawn) = drawn else {
        return (costs.columns_cost(columns.nnz() - node.constants.nnz()), by_rows);
    };
    let mut by_columns = costs.columns_visited_cost(drawn.len());
    if are_weighed {
        return (by_columns + costs.columns_cost((kept * node.n_entries as f64) as usize), by_rows);
    }
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
