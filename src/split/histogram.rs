//! The best cut of a column in a large node without a sort: score the cuts between coarse bins, bound those within, and
//! sort the rows of the few bins that may still hold the best.
//!
//! Exact: bins are left closed only if no cut within them can reach the best candidate. Most of a node's cells are
//! read once, counted once, and never compared. O(rows + bins) per column, and O(m log m) for m rows of open bins.

use super::best::{Candidate, Cut};
use super::cells::Cells;
use super::scan::{Pass, Start};
use super::sort::SortScratch;
use super::{Best, NodeSearch, Outcome};
use crate::criterion::Criterion;
use crate::criterion::bulk::{Bulk, ByBin, MAX_BINS};
use crate::data::dense::DenseColumn;
use crate::intersect::Entry;
use crate::rng::Side;

/// Rows from which a histogram has all its bins (bench `fit`).
const ALL_BINS_FROM: usize = 1024;
/// The number of bins below.
const FEW_BINS: usize = 64;

/// Buffers of one worker, assumed dirty.
#[derive(Debug)]
pub(super) struct HistogramScratch {
    cells: Cells,
    open: SortScratch,
    scores: Box<ByBin>,
}

impl Default for HistogramScratch {
    fn default() -> Self {
        Self { cells: Cells::default(), open: SortScratch::default(), scores: Box::new([0.0; MAX_BINS]) }
    }
}

/// Offers the cuts of a column to `best`; `rows` are those of the node.
#[allow(clippy::too_many_arguments, reason = "a column of a node, and scratch")]
pub(super) fn best_cut<C: Criterion>(
    at: NodeSearch<'_, C>,
    feature: u32,
    column: &DenseColumn,
    rows: &<C::Bulk as Bulk<C>>::Rows,
    histogram: &mut C::Bulk,
    scratch: &mut HistogramScratch,
    scan: &mut C::Scan,
    best: &mut Best<C>,
) -> Outcome {
    let NodeSearch { search, node, .. } = at;
    let level = search.level;
    let (criterion, totals) = (search.criterion, node.totals);
    let cells = &mut scratch.cells;
    let n_samples = node.samples.len();
    let max_bins = if n_samples < ALL_BINS_FROM { FEW_BINS } else { MAX_BINS };
    cells.load_bins(column, node.samples.ids(), level, max_bins);
    if cells.n_bins == 1 {
        return Outcome::Constant;
    }
    histogram.count(totals, rows, &cells.bins, cells.n_bins);

    let all_legal = search.all_legal();
    let scores = &mut scratch.scores;
    histogram.scores(level, totals, &mut scores[..cells.n_bins]);
    let highest = maximum(&scores[..cells.n_bins]);
    if !cells.is_coarse() && highest == f64::NEG_INFINITY {
        return Outcome::Constant;
    }
    let mut least = best.floor();
    if all_legal && highest > f64::NEG_INFINITY {
        least = least.max(highest - 2.0 * criterion.tolerance(totals, highest));
    }
    if highest >= least {
        for bin in (0..cells.n_bins).filter(|&bin| scores[bin] >= least && scores[bin] > f64::NEG_INFINITY) {
            let pushed = histogram.pushed(criterion, totals, scan, bin + 1);
            let score = criterion.score(totals, scan, pushed);
            if !best.may_win(score) {
                continue;
            }
            let n_left = if all_legal { 0 } else { cells.n_up_to(level, bin) };
            if all_legal || search.is_legal(node, feature, (Side::Left, n_left), (scan, pushed)) {
                let last_left = cells.last_rank(bin);
                let cut = Cut::Before(last_left + 1);
                let candidate = Candidate { feature, last_left, cut, n_left, is_loose: true };
                best.offer(criterion, totals, at.order, (scan, pushed), score, candidate);
            }
        }
    }
    if cells.is_coarse() {
        let bounds = &mut scratch.scores[..cells.n_bins];
        histogram.bounds(level, totals, all_legal, bounds);
        let floor = best.floor();
        let mut is_open = [false; MAX_BINS];
        let mut any = false;
        for (is_open, &bound) in is_open.iter_mut().zip(&*bounds) {
            *is_open = bound >= floor && bound > f64::NEG_INFINITY;
            any |= *is_open;
        }
        if any {
            search_within(at, feature, &is_open, histogram, scratch, scan, best);
        }
    }
    Outcome::Highest(highest)
}

/// Offers the cuts within the open bins.
#[allow(clippy::too_many_arguments, reason = "a column of a node, and scratch")]
fn search_within<C: Criterion>(
    at: NodeSearch<'_, C>,
    feature: u32,
    is_open: &[bool; MAX_BINS],
    histogram: &C::Bulk,
    scratch: &mut HistogramScratch,
    scan: &mut C::Scan,
    best: &mut Best<C>,
) {
    let HistogramScratch { cells, open, .. } = scratch;
    let samples = at.node.samples.ids();
    let entries = &mut open.entries;
    entries.resize(samples.len(), Entry::default());
    let mut n = 0;
    for ((&bin, &rank), &sample) in cells.bins.iter().zip(&cells.ranks).zip(samples) {
        entries[n] = Entry::new(rank, sample);
        n += usize::from(is_open[bin as usize]);
    }
    entries.truncate(n);
    open.sort();
    let mut rest = &open.entries[..];
    for bin in (0..cells.n_bins).filter(|&bin| is_open[bin]) {
        let (entries, others) = rest.split_at(rest.partition_point(|entry| entry.rank() <= cells.last_rank(bin)));
        rest = others;
        if entries.first().map(|entry| entry.rank()) == entries.last().map(|entry| entry.rank()) {
            continue;
        }
        let n_pushed = match bin {
            _ if at.search.all_legal() => None,
            0 => Some(0),
            _ => Some(cells.n_up_to(at.search.level, bin - 1)),
        };
        let pushed = histogram.pushed(at.search.criterion, at.node.totals, scan, bin);
        Pass { at, feature, side: Side::Left }.run(
            entries.iter().copied(),
            Start { pushed, n_pushed },
            None,
            scan,
            best,
        );
    }
}

/// The highest of some scores, none of which is NaN.
fn maximum(scores: &[f64]) -> f64 {
    // In lanes, so that it is vectorised.
    let mut lanes = [f64::NEG_INFINITY; 8];
    let chunks = scores.chunks_exact(8);
    for &score in chunks.remainder() {
        lanes[0] = if score > lanes[0] { score } else { lanes[0] };
    }
    for chunk in chunks {
        for (lane, &score) in lanes.iter_mut().zip(chunk) {
            *lane = if score > *lane { score } else { *lane };
        }
    }
    lanes.into_iter().fold(f64::NEG_INFINITY, f64::max)
}
