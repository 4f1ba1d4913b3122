//! Random thresholds of dense columns: gather the node's ranks, find their extremes, and sum the rows below the threshold.
//!
//! No sort and no comparison of values: a threshold becomes a rank. Values lie far away, so a few columns go through each
//! step together and their cache misses overlap. O(W) per column.

use super::best::{Best, Candidate, Cut};
use super::cells::{Cells, n_below};
use super::dense::RowsOf;
use super::random::threshold_between;
use super::{Found, NodeSearch};
use crate::criterion::Criterion;
use crate::criterion::bulk::Bulk;
use crate::data::DenseColumns;
use crate::error::Result;

/// Columns that go together, unless the node is large (bench `fit`).
const TOGETHER: usize = 8;
/// Nodes from this size on are worth more than a miss: their columns go one by one.
const LARGE_FROM: usize = 4096;
/// Nodes up to this size do not hand on which columns are constant: to find out costs less.
const FORGETFUL_UP_TO: usize = 64;

/// Buffers of one worker, assumed dirty.
#[derive(Debug, Default)]
pub(super) struct RandomScratch {
    features: Vec<u32>,
    cells: [Cells; TOGETHER],
}

/// The best of one random cut per column.
pub(super) fn best_split<C: Criterion>(
    at: NodeSearch<'_, C>,
    columns: &DenseColumns,
    drawn: Option<&[u32]>,
    rows: &mut RowsOf<C>,
    bulk: &C::Bulk,
    scan: &mut C::Scan,
    scratch: &mut RandomScratch,
) -> Result<Found<C>> {
    let NodeSearch { search, node, order } = at;
    let samples = node.samples.ids();
    let n_features = search.data.n_features() as u32;
    let RandomScratch { features, cells } = scratch;
    at.list_features(drawn, features);
    let summit = if features.len() > TOGETHER { at.summit(scan) } else { None };
    bulk.load(search.criterion, node.totals, samples, rows);
    let mut cuts = RandomCuts { at, columns, rows, bulk, scan, best: Best::in_order(summit), constants: Vec::new() };
    let mut n_varying = 0;
    let together = if samples.len() < LARGE_FROM { TOGETHER } else { 1 };
    for batch in features.chunks(together) {
        search.runtime.check_interrupt()?;
        n_varying += cuts.search(batch, cells);
        if cuts.best.is_final(search.criterion, node.totals) {
            break;
        }
    }
    // Of those that are not drawn, the first that varies.
    for position in search.n_drawn() as u32..n_features {
        if n_varying > 0 {
            break;
        }
        search.runtime.check_interrupt()?;
        n_varying += cuts.search(&[order.at(position)], cells);
    }
    let constants = if samples.len() > FORGETFUL_UP_TO { &cuts.constants[..] } else { &[] };
    let constants = node.constants.with(constants, |_| samples.len());
    Ok(Found { best: cuts.best.candidate(), constants, known: None })
}

struct RandomCuts<'a, C: Criterion> {
    at: NodeSearch<'a, C>,
    columns: &'a DenseColumns,
    rows: &'a RowsOf<C>,
    bulk: &'a C::Bulk,
    scan: &'a mut C::Scan,
    best: Best<C>,
    constants: Vec<u32>,
}

/// What is known of a column on the way to its cut.
#[derive(Clone, Copy, Default)]
struct Column {
    lowest: u32,
    highest: u32,
    low: f64,
    high: f64,
    threshold: f64,
    /// The first rank beyond the threshold is one of these, or the one after.
    start: u32,
    end: u32,
}

impl<C: Criterion> RandomCuts<'_, C> {
    /// Offers one random cut of each column of the batch. Returns the number of columns that vary.
    fn search(&mut self, batch: &[u32], cells: &mut [Cells; TOGETHER]) -> usize {
        let NodeSearch { search, node, .. } = self.at;
        let data = search.data;
        let mut known = [Column::default(); TOGETHER];
        let each = || batch.iter().copied();
        for ((feature, column), cells) in each().zip(&mut known).zip(&mut *cells) {
            cells.load_ranks(self.columns.column(feature), node.samples.ids());
            (column.lowest, column.highest) = cells.range(search.level);
        }
        for (feature, column) in each().zip(&mut known) {
            column.low = data.value(feature, column.lowest);
            column.high = data.value(feature, column.highest);
        }
        for (feature, column) in each().zip(&mut known) {
            column.threshold = threshold_between(node.key, feature, column.low, column.high);
            let around = data.ranks_around(feature, column.threshold);
            column.start = around.start.max(column.lowest + 1);
            column.end = around.end.min(column.highest);
        }
        let mut n_varying = 0;
        for ((feature, column), cells) in each().zip(&known).zip(&*cells) {
            if column.lowest == column.highest {
                self.constants.push(feature);
            } else {
                n_varying += 1;
                self.offer(feature, column, &cells.ranks);
            }
        }
        n_varying
    }

    fn offer(&mut self, feature: u32, column: &Column, ranks: &[u32]) {
        let NodeSearch { search, node, order } = self.at;
        let (criterion, level) = (search.criterion, search.level);
        let &Column { lowest, highest, threshold, start, end, .. } = column;
        // Where no row has one of the ranks around the threshold, any of them parts the rows as it does.
        let is_clear = start >= end || n_below(level, ranks, start) == n_below(level, ranks, end);
        let first_right =
            if is_clear { start.min(highest) } else { search.data.rank_above(feature, threshold, start..end) };
        let pushed = self.bulk.pushed_below(level, criterion, node.totals, self.rows, ranks, first_right, self.scan);
        let score = criterion.score(node.totals, self.scan, pushed);
        if !self.best.may_win(score) {
            return;
        }
        let n_left = n_below(level, ranks, first_right);
        if search.is_legal(node, n_left, C::pushed_weight(&pushed)) {
            let cut = Cut::Random { key: node.key, lowest, highest };
            let candidate = Candidate { feature, last_left: first_right - 1, cut, n_left, is_loose: false };
            self.best.offer(criterion, node.totals, order, (self.scan, pushed), score, candidate);
        }
    }
}
