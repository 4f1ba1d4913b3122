//! What a column's coarse histogram tells of its cuts: the scores of those between bins, exactly, and a bound on the
//! scores of those within.
//!
//! A histogram takes the place of a sort in large nodes. All sums are integers, so that the state of a scan at a
//! boundary of bins is had from the bins alone; scores and bounds are `f64`, with the errors that are stated.

mod binary;
mod classes;
pub mod lanes;
mod sums;

pub use binary::BinaryHistogram;
pub use classes::ClassHistogram;
pub use sums::SumHistogram;

use super::Criterion;
use lanes::{Keys, Scores};
use crate::simd::Level;

/// Most bins of a histogram: their numbers are bytes.
pub const MAX_BINS: usize = 256;

/// Up to this many bins are counted in several copies.
const FEW_BINS: usize = 16;

/// Raises bounds beyond their rounding.
const SLACK: f64 = 1.0 + 1e-9;

/// One number per bin.
pub type ByBin = [f64; MAX_BINS];

/// Statistics of a node's rows by bins of a column.
pub trait Histogram<C: Criterion + ?Sized>: Send {
    /// Weights and targets of a node's rows, in their order, packed as histograms read them.
    type Rows: Default + Send + Sync;

    /// An empty histogram, if there are any of this criterion and target.
    fn new(criterion: &C) -> Option<Self>
    where
        Self: Sized;

    /// Sets `rows` to those of a node. O(rows).
    fn load(&self, criterion: &C, node: &C::Totals, samples: &[u32], rows: &mut Self::Rows);

    /// Counts rows by their bins, `bins[i]` of `rows[i]`, all below `n_bins`. O(rows + bins).
    fn count(&mut self, node: &C::Totals, rows: &Self::Rows, bins: &[u8], n_bins: usize);

    /// Sets `scores`, one per bin, to that of the cut after it, as [`Criterion::score`] has it but for a relative rounding error of some units
    /// of 2^-52; minus infinity after a bin without rows or without rows beyond it. O(bins).
    fn scores(&self, level: Level, node: &C::Totals, scores: &mut [f64]);

    /// Sets `bounds`, one per bin, to no less than the score of any cut between two of its rows; minus infinity if none can be the node's
    /// best. Whoever restricts cuts passes false for `all_legal`: the best cut may then be one that is worse than those
    /// beside it. O(bins).
    fn bounds(&mut self, level: Level, node: &C::Totals, all_legal: bool, bounds: &mut [f64]);

    /// The state of a scan that has pushed the rows of the first `n_bins` bins.
    fn pushed(&self, criterion: &C, node: &C::Totals, scan: &mut C::Scan, n_bins: usize) -> C::Pushed;

    /// Sets `scores[i]` to those of the cuts after the `i`-th of the sorted `keys` of some columns, with the bits of
    /// [`Criterion::score`]; minus infinity where there is no cut. There is one more key than scores. Returns false, and sets
    /// nothing, where numbers are too large. O(rows).
    fn lane_scores(
        &mut self,
        level: Level,
        node: &C::Totals,
        rows: &Self::Rows,
        keys: &[Keys],
        scores: &mut [Scores],
    ) -> bool;

    /// The state of a scan that has pushed the rows with a rank below `end`; `ranks[i]` is that of `rows[i]`. O(rows).
    #[allow(clippy::too_many_arguments, reason = "a node, its rows, and where to cut them")]
    fn pushed_below(
        &self,
        level: Level,
        criterion: &C,
        node: &C::Totals,
        rows: &Self::Rows,
        ranks: &[u32],
        end: u32,
        scan: &mut C::Scan,
    ) -> C::Pushed;
}

/// For criteria and targets without a histogram.
#[derive(Debug)]
pub enum NoHistogram {}

impl<C: Criterion> Histogram<C> for NoHistogram {
    type Rows = ();

    fn new(_criterion: &C) -> Option<Self> {
        None
    }

    fn load(&self, _criterion: &C, _node: &C::Totals, _samples: &[u32], (): &mut ()) {
        match *self {}
    }

    fn count(&mut self, _node: &C::Totals, (): &(), _bins: &[u8], _n_bins: usize) {
        match *self {}
    }

    fn scores(&self, _level: Level, _node: &C::Totals, _scores: &mut [f64]) {
        match *self {}
    }

    fn bounds(&mut self, _level: Level, _node: &C::Totals, _all_legal: bool, _bounds: &mut [f64]) {
        match *self {}
    }

    fn pushed(&self, _criterion: &C, _node: &C::Totals, _scan: &mut C::Scan, _n_bins: usize) -> C::Pushed {
        match *self {}
    }

    fn lane_scores(&mut self, _level: Level, _node: &C::Totals, (): &(), _keys: &[Keys], _scores: &mut [Scores]) -> bool {
        match *self {}
    }

    fn pushed_below(
        &self,
        _level: Level,
        _criterion: &C,
        _node: &C::Totals,
        (): &(),
        _ranks: &[u32],
        _end: u32,
        _scan: &mut C::Scan,
    ) -> C::Pushed {
        match *self {}
    }
}
