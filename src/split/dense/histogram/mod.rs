//! The best cut of a column in a large node, without sorting the column: score the cuts between coarse bins,
//! bound the scores of the cuts within bins, and sort only the rows of bins that may still hold the best cut
//! (the open bins).
//!
//! The result is exact: a bin stays closed only if no cut within the bin can reach the score of the
//! best candidate. Most cells of a node are read once and counted once, and never compared. O(rows
//! + bins) per column, and O(m log m) for the m rows of open bins.

mod postponed;

use crate::criterion::Criterion;
use crate::criterion::packed::{ByBin, MAX_BINS, Packed, Summed};
use crate::data::dense::DenseColumn;
use crate::data::{Entry, Run};
use crate::rng::Side;
use crate::split::best::Best;
use crate::split::candidate::Candidate;
use crate::split::dense::cells::Cells;
use crate::split::dense::offer;
use crate::split::entries::SortScratch;
use crate::split::node::{NodeSearch, Outcome};
use crate::split::scan::{Pass, PassStart};
use crate::tuning::tuned;

pub(crate) use postponed::Postponed;

tuned! {
    /// From this many rows on, a histogram has all its bins (bench `sweep`).
    fn all_bins_from() -> usize = 1024;
    /// The most bins of values in the histogram of a node with fewer rows (bench `sweep`).
    fn few_bins() -> usize = 64;
}

/// Buffers of one worker. Each search assumes that they are dirty.
#[derive(Debug)]
pub(crate) struct HistogramScratch {
    column: BinnedColumn,
    /// An entry for each row of the largest node with open bins so far. The first ones are the rows of open
    /// bins.
    candidates: Vec<Entry>,
    open: SortScratch,
}

impl HistogramScratch {
    pub fn new() -> Self {
        Self { column: BinnedColumn::new(), candidates: Vec::new(), open: SortScratch::default() }
    }
}

/// The cells of a column in a node, and a number for each bin of their histogram.
#[derive(Debug)]
struct BinnedColumn {
    cells: Cells,
    /// The scores of the cuts after the bins, then bounds of the scores of the cuts within the bins.
    scores: Box<ByBin>,
}

impl BinnedColumn {
    fn new() -> Self {
        Self { cells: Cells::default(), scores: Box::new([0.0; MAX_BINS]) }
    }
}

/// Offers the cuts of a column to `best`. `rows` are the rows of the node in packed form. Cuts within
/// open bins may be postponed.
#[allow(clippy::too_many_arguments, reason = "a column of a node, and scratch")]
pub(crate) fn best_cut<C: Criterion>(
    at: NodeSearch<'_, C>,
    feature: u32,
    column: &DenseColumn,
    rows: &<C::Packed as Packed<C>>::Rows,
    histogram: &mut Box<C::Packed>,
    scratch: &mut HistogramScratch,
    postponed: &mut Postponed<C>,
    scan: &mut C::Scan,
    best: &mut Best<C>,
) -> Outcome {
    let NodeSearch { search, node, .. } = at;
    let HistogramScratch { column: binned, candidates, open } = scratch;
    let cells = &mut binned.cells;
    let n_samples = node.samples.len();
    let max_bins = if n_samples < all_bins_from() { few_bins() } else { MAX_BINS };
    cells.load_bins(column, search.data.missing_rank(feature), node.samples.ids(), search.level, max_bins);
    if cells.n_bins == 1 {
        return Outcome::Constant;
    }
    let missing = (cells.n_missing > 0).then_some(Side::Right);
    histogram.count(node.totals, rows, &cells.bins, cells.n_bins, cells.is_coarse());
    let mut counted = CountedColumn { at, feature, missing, histogram, column: binned, candidates, open };
    let mut highest = counted.offer(scan, best);
    if missing.is_some() {
        counted.search_open(scan, best);
        counted.histogram.rotate(node.totals);
        counted.missing = Some(Side::Left);
        highest = highest.max(counted.offer(scan, best));
        counted.search_open(scan, best);
    } else if counted.is_any_open(best) && !postponed.take(at, feature, best.position(), histogram, binned) {
        let mut counted = CountedColumn { at, feature, missing, histogram, column: binned, candidates, open };
        counted.search_open(scan, best);
    }
    Outcome::Highest(highest)
}

/// A column whose rows have been counted into the histogram.
struct CountedColumn<'a, C: Criterion> {
    at: NodeSearch<'a, C>,
    feature: u32,
    /// The side to which missing values go; `None` if the node has none in this column. If they go left their
    /// bin is the first of the histogram, if they go right the last.
    missing: Option<Side>,
    histogram: &'a mut C::Packed,
    column: &'a mut BinnedColumn,
    candidates: &'a mut Vec<Entry>,
    open: &'a mut SortScratch,
}

impl<C: Criterion> CountedColumn<'_, C> {
    /// The place in the histogram of the first bin of values.
    fn first(&self) -> usize {
        usize::from(self.missing == Some(Side::Left))
    }

    /// The number of bins without the bin of missing values.
    fn n_value_bins(&self) -> usize {
        self.column.cells.n_bins - usize::from(self.missing.is_some())
    }

    /// The number of rows on the left of the cut before a bin of values. O(rows).
    fn n_before(&self, bin: usize) -> usize {
        let cells = &self.column.cells;
        let n_missing = if self.missing == Some(Side::Left) { cells.n_missing } else { 0 };
        n_missing + if bin == 0 { 0 } else { cells.n_up_to(self.at.search.level, bin - 1) }
    }

    /// Offers all cuts between two bins that may win, and bounds the scores of the cuts within bins.
    /// With missing values on the left, this leaves out the cut between missing values and all values,
    /// which has been offered with missing values on the right. Returns the highest score of a cut
    /// between two bins.
    fn offer(&mut self, scan: &mut C::Scan, best: &mut Best<C>) -> f64 {
        let NodeSearch { search, node, .. } = self.at;
        let (criterion, totals, level) = (search.criterion, node.totals, search.level);
        let (first, n_bins, n_value_bins) = (self.first(), self.column.cells.n_bins, self.n_value_bins());
        let all_legal = search.all_legal();
        self.histogram.scores(level, totals, &mut self.column.scores[..n_bins]);
        self.column.scores[..first].fill(f64::NEG_INFINITY);
        let highest = maximum(&self.column.scores[..n_bins]);
        let mut least = best.floor();
        if all_legal && highest > f64::NEG_INFINITY {
            least = least.max(highest - 2.0 * criterion.tolerance(totals, highest));
        }
        if highest >= least {
            for bin in 0..n_value_bins {
                let score = self.column.scores[first + bin];
                if score >= least && score > f64::NEG_INFINITY {
                    self.offer_after(bin, scan, best);
                }
            }
        }
        if self.column.cells.is_coarse() {
            self.histogram.bounds(level, totals, all_legal, &mut self.column.scores[..n_bins]);
        }
        highest
    }

    /// Bounds of the scores of the cuts within the bins of values; empty if each bin has one rank.
    fn bounds_within(&self) -> &[f64] {
        let first = self.first();
        if self.column.cells.is_coarse() { &self.column.scores[first..first + self.n_value_bins()] } else { &[] }
    }

    /// Whether a cut within a bin of values may win.
    fn is_any_open(&self, best: &Best<C>) -> bool {
        self.bounds_within().iter().any(|&bound| is_open(bound, best))
    }

    /// Offers the cuts within the bins of values that may win.
    fn search_open(&mut self, scan: &mut C::Scan, best: &mut Best<C>) {
        let mut are_open = [false; MAX_BINS];
        let mut any = false;
        for (open, &bound) in are_open.iter_mut().zip(self.bounds_within()) {
            *open = is_open(bound, best);
            any |= *open;
        }
        if any {
            self.search_within(&are_open, scan, best);
        }
    }

    /// Offers the cut after a bin of values.
    fn offer_after(&self, bin: usize, scan: &mut C::Scan, best: &mut Best<C>) {
        let NodeSearch { search, node, .. } = self.at;
        let pushed = self.histogram.pushed(search.criterion, node.totals, scan, Summed::Bins(self.first() + bin + 1));
        let last = self.column.cells.last_rank(bin);
        let cut = Candidate::between(self.feature, last, last + 1, 0);
        let candidate = Candidate { missing: self.missing, is_loose: true, ..cut };
        offer(self.at, candidate, (scan, pushed), || self.n_before(bin + 1), best);
    }

    /// Offers the cuts within the open bins of values.
    fn search_within(&mut self, is_open: &[bool; MAX_BINS], scan: &mut C::Scan, best: &mut Best<C>) {
        let at = self.at;
        let Self { column: BinnedColumn { cells, .. }, candidates, open, .. } = self;
        let samples = at.node.samples.ids();
        if candidates.len() < samples.len() {
            candidates.resize(samples.len(), Entry::default());
        }
        let (candidates, mut n) = (&mut candidates[..samples.len()], 0);
        for ((&bin, &rank), &sample) in cells.bins.iter().zip(&cells.ranks).zip(samples) {
            candidates[n] = Entry::new(rank, sample);
            n += usize::from(is_open[bin as usize]);
        }
        open.entries.clear();
        open.entries.extend_from_slice(&candidates[..n]);
        open.sort();
        let Self { column: BinnedColumn { cells, .. }, open, .. } = &*self;
        let mut rest = &open.entries[..];
        for bin in (0..self.n_value_bins()).filter(|&bin| is_open[bin]) {
            let (entries, others) = rest.split_at(rest.partition_point(|entry| entry.rank() <= cells.last_rank(bin)));
            rest = others;
            if entries.first().map(|entry| entry.rank()) == entries.last().map(|entry| entry.rank()) {
                continue;
            }
            let n_pushed = if at.search.all_legal() { None } else { Some(self.n_before(bin)) };
            let before = Summed::Bins(self.first() + bin);
            let pushed = self.histogram.pushed(at.search.criterion, at.node.totals, scan, before);
            let start = PassStart { pushed, n_pushed, first: &[] };
            let pass = Pass { at, feature: self.feature, side: Side::Left, missing: self.missing, order: 0 };
            pass.run(Run::<false>::new(entries), start, None, scan, best);
        }
    }
}

/// Whether a cut may win whose score is at most this bound.
fn is_open<C: Criterion>(bound: f64, best: &Best<C>) -> bool {
    bound >= best.floor() && bound > f64::NEG_INFINITY
}

/// The highest of some scores, which must not be NaN.
fn maximum(scores: &[f64]) -> f64 {
    // Eight partial maxima, so that the loop is vectorised.
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
