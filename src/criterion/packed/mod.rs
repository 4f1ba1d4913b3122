//! A criterion's statistics in the packed forms of loops over many rows: histograms of large nodes, sorted columns of
//! small ones, sums below a threshold.
//!
//! All sums are integers, so that the state of a scan at any cut is had without the scan. Scores of cuts have the bits of
//! [`Statistics::score`](crate::criterion::Statistics::score) or a stated error, and bounds are no less than what they bound.

mod binary;
mod classes;
pub mod lanes;
mod none;
mod sums;

pub use binary::PackedBinary;
pub use classes::PackedClasses;
pub use none::NotPacked;
pub use sums::PackedSums;

use super::Statistics;
use crate::simd::Level;
use lanes::{Keys, Scores};

/// Most bins of a histogram: their numbers are bytes.
pub const MAX_BINS: usize = 256;

/// Up to this many bins are counted in several copies.
const FEW_BINS: usize = 16;

/// Raises bounds beyond their rounding.
const SLACK: f64 = 1.0 + 1e-9;

/// A bin as the bounds on what a cut within it gains see it: weights before it and after it, squared excesses over the
/// node's mean there, the length of twice the excess half way, and the squared distances of its rows from the mean.
struct Inside {
    low: f64,
    high: f64,
    before: f64,
    after: f64,
    twice_middle: f64,
    squares: f64,
}

impl Inside {
    /// Two bounds, of which the lower counts. By Cauchy and Schwarz, the excess of a subset is within half the root of
    /// (weight times squared distances) of half the excess of all. And a side costs no less than the bins that are
    /// certainly on it.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
    fn most_gain(&self, node_weight: f64) -> f64 {
        let Self { low, high, before, after, twice_middle, squares } = *self;
        let most = (twice_middle + ((high - low) * squares).sqrt()) * 0.5;
        // Weights are integers, and either side of a cut has a row.
        let product = |weight: f64| weight * (node_weight - weight);
        let (at_low, at_high) = (product(low + 1.0), product(high - 1.0));
        let least = if at_low < at_high { at_low } else { at_high };
        let by_distance = if least > 0.0 { most * most * node_weight / least } else { f64::INFINITY };
        let left = if low > 0.0 { before / low } else { 0.0 };
        let beyond = node_weight - high;
        let right = if beyond > 0.0 { after / beyond } else { 0.0 };
        let by_cost = left + right + squares;
        if by_distance < by_cost { by_distance } else { by_cost }
    }
}

/// One number per bin.
pub type ByBin = [f64; MAX_BINS];

/// Weights and targets in packed forms, for one criterion.
pub trait Packed<C: Statistics + ?Sized>: Send {
    /// Weights and targets of a node's rows, in their order.
    type Rows: Default + Send + Sync;

    /// Buffers, if there are packed forms for this criterion, target and kind of weights.
    fn new(criterion: &C) -> Option<Self>
    where
        Self: Sized;

    /// Sets `rows` to those of a node. O(rows).
    fn load(&self, criterion: &C, node: &C::Totals, samples: &[u32], rows: &mut Self::Rows);

    /// Counts rows by their bins, `bins[i]` of `rows[i]`, all below `n_bins`. O(rows + bins).
    fn count(&mut self, node: &C::Totals, rows: &Self::Rows, bins: &[u8], n_bins: usize);

    /// Moves the last bin in front of all others. O(bins).
    fn rotate(&mut self, node: &C::Totals);

    /// Sets `scores`, one per bin, to that of the cut after it, as [`Statistics::score`](crate::criterion::Statistics::score) has it but for a relative rounding
    /// error of some units of 2^-52; minus infinity after a bin without rows or without rows beyond it. O(bins).
    fn scores(&self, level: Level, node: &C::Totals, scores: &mut [f64]);

    /// Sets `bounds`, one per bin, to no less than the score of any cut between two of its rows; minus infinity if none can
    /// be the node's best. Whoever restricts cuts passes false for `all_legal`: the best cut may then be one that is worse
    /// than those beside it. O(bins).
    fn bounds(&mut self, level: Level, node: &C::Totals, all_legal: bool, bounds: &mut [f64]);

    /// The state of a scan that has pushed the rows of the first `n_bins` bins.
    fn pushed(&self, criterion: &C, node: &C::Totals, scan: &mut C::Scan, n_bins: usize) -> C::Pushed;

    /// Sets `scores[i]` to those of the cuts after the `i`-th of the sorted `keys` of some columns, with the bits of
    /// [`Statistics::score`](crate::criterion::Statistics::score); minus infinity where there is no cut. There is one more key than scores. With the
    /// ranks of missing values, also sets the scores of the cuts that have these on the left, but for the one that parts them from
    /// all others. Returns false, and sets nothing, where numbers are too large. O(rows).
    fn lane_scores(
        &mut self,
        level: Level,
        node: &C::Totals,
        rows: &Self::Rows,
        keys: &[Keys],
        missing: Option<(&Keys, &mut [Scores])>,
        scores: &mut [Scores],
    ) -> bool;

    /// Adds up, for each of some columns side by side, the rows with a rank below that column's end; `ranks[i]` are those of
    /// `rows[i]`. At most [`LANES`](lanes::LANES) columns. O(rows).
    fn add_below<const N: usize>(&mut self, level: Level, rows: &Self::Rows, ranks: &[[u32; N]], ends: &[u32; N]);

    /// The state of a scan that has pushed the rows that were added up for a column.
    fn pushed_below(&self, criterion: &C, node: &C::Totals, scan: &mut C::Scan, lane: usize) -> C::Pushed;
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::lanes::{LANES, PLACE_BITS};
    use super::*;
    use crate::criterion::{Criterion, Visitor, visit};
    use crate::data::Target;
    use crate::error::Result;
    use crate::params::CriterionKind;
    use crate::runtime::Runtime;

    /// A column of a node: ranks of its rows, and the width of a bin.
    struct Check<'a> {
        samples: &'a [u32],
        ranks: &'a [u32],
        shift: u32,
    }

    impl Visitor for Check<'_> {
        /// Whether there are packed forms.
        type Output = bool;

        fn visit<C: Criterion>(self, criterion: &C) -> Result<bool> {
            let Self { samples, ranks, shift } = self;
            let Some(mut packed) = C::Packed::new(criterion) else { return Ok(false) };
            let node = criterion.totals(samples);
            let mut rows = <C::Packed as Packed<C>>::Rows::default();
            packed.load(criterion, &node, samples, &mut rows);
            let bins: Vec<u8> = ranks.iter().map(|rank| (rank >> shift) as u8).collect();
            let n_bins = usize::from(*bins.iter().max().unwrap()) + 1;
            let mut scan = criterion.scan();
            // Score and weight with the ranks below `end` pushed.
            let mut cut = |end: u32| {
                let mut pushed = criterion.begin(&node, &mut scan);
                for (&sample, _) in samples.iter().zip(ranks).filter(|&(_, &rank)| rank < end) {
                    criterion.push(&node, &mut scan, &mut pushed, sample);
                }
                (criterion.score(&node, &scan, pushed), C::pushed_weight(&pushed))
            };
            let is_cut = |end: u32| ranks.iter().any(|&rank| rank < end) && ranks.iter().any(|&rank| rank >= end);
            for level in Level::supported() {
                packed.count(&node, &rows, &bins, n_bins);
                let mut scores = vec![0.0; n_bins];
                packed.scores(level, &node, &mut scores);
                for (bin, &score) in scores.iter().enumerate() {
                    let end = (bin as u32 + 1) << shift;
                    if is_cut(end) && bins.contains(&(bin as u8)) {
                        let (expected, weight) = cut(end);
                        assert!((score - expected).abs() <= expected.abs() * 1e-13, "{score} {expected}");
                        let pushed = packed.pushed(criterion, &node, &mut criterion.scan(), bin + 1);
                        assert_eq!(C::pushed_weight(&pushed), weight);
                        assert_eq!(criterion.score(&node, &criterion.scan(), pushed), expected);
                    } else {
                        assert_eq!(score, f64::NEG_INFINITY);
                    }
                }
                let best = (1..=*ranks.iter().max().unwrap()).map(|end| cut(end).0).filter(|score| !score.is_nan());
                let best = best.fold(f64::NEG_INFINITY, f64::max);
                for all_legal in [false, true] {
                    let mut bounds = vec![0.0; n_bins];
                    packed.bounds(level, &node, all_legal, &mut bounds);
                    for end in (1..=*ranks.iter().max().unwrap()).filter(|&end| is_cut(end)) {
                        let bin = (end - 1) >> shift;
                        let is_inside = |range: std::ops::Range<u32>| {
                            ranks.iter().any(|rank| rank >> shift == bin && range.contains(rank))
                        };
                        let (score, _) = cut(end);
                        let bound = bounds[bin as usize];
                        // A closed bin must not hold the best cut, unless one beside it is as good.
                        let is_bounded = score <= bound || all_legal && bound == f64::NEG_INFINITY && score <= best;
                        assert!(!is_inside(0..end) || !is_inside(end..u32::MAX) || is_bounded, "{score} {bound}");
                        let check = |lane: usize, packed: &C::Packed| {
                            let pushed = packed.pushed_below(criterion, &node, &mut criterion.scan(), lane);
                            assert_eq!(criterion.score(&node, &criterion.scan(), pushed), score);
                        };
                        let alone: Vec<[u32; 1]> = ranks.iter().map(|&rank| [rank]).collect();
                        packed.add_below(level, &rows, &alone, &[end]);
                        check(0, &packed);
                        // Columns of which one is that of the ranks.
                        let beside: Vec<Keys> = ranks.iter().map(|&rank| [7, rank, 0, 9, 9, 9, 9, 9]).collect();
                        packed.add_below(level, &rows, &beside, &[9, end, 1, 5, 9, 0, 10, 11]);
                        check(1, &packed);
                    }
                }
                let mut sorted: Vec<u32> =
                    ranks.iter().enumerate().map(|(place, rank)| rank << PLACE_BITS | place as u32).collect();
                sorted.sort_unstable();
                let keys: Vec<Keys> = sorted.iter().map(|&key| [key; LANES]).collect();
                let mut scores = vec![[0.0; LANES]; keys.len() - 1];
                if packed.lane_scores(level, &node, &rows, &keys, None, &mut scores) {
                    for (pair, scores) in keys.windows(2).zip(&scores) {
                        let end = lanes::rank(pair[1][0]);
                        let expected = if lanes::rank(pair[0][0]) < end { cut(end).0 } else { f64::NEG_INFINITY };
                        assert_eq!(scores, &[expected; LANES]);
                    }
                }
            }
            Ok(true)
        }
    }

    fn weights(n: usize) -> impl Strategy<Value = Option<Vec<f64>>> {
        prop_oneof![2 => Just(None), 2 => vec((1..5u8).prop_map(f64::from), n).prop_map(Some)]
    }

    proptest! {
        #[test]
        fn packed_forms_agree_with_scans(
            (numbers, ranks, weights, step) in (2..200usize).prop_flat_map(|n| (
                vec(-1000..1000i32, n),
                vec(0..1000u32, n),
                weights(n),
                prop::sample::select(vec![1, 10, 400, 900]),
            )),
            shift in 2..8u32,
            n_classes in 2..9u32,
            pure in 0..1000u32,
        ) {
            let n = numbers.len();
            // Classes that go with the ranks here and there, so that bins are pure.
            let class = |i: usize| if ranks[i] < pure { ranks[i] / 300 } else { numbers[i].unsigned_abs() } % n_classes;
            let classes: Vec<u32> = (0..n).map(class).collect();
            let values: Vec<f64> = numbers.iter().map(|&v| f64::from(v / step) + 0.1).collect();
            let samples: Vec<u32> = (0..n as u32).collect();
            for kind in [CriterionKind::Gini, CriterionKind::SquaredError] {
                let target = match kind {
                    CriterionKind::SquaredError => Target::regression(&values, 1, weights.as_deref()),
                    _ => Target::classification(&classes, &[n_classes], weights.as_deref()),
                };
                let check = Check { samples: &samples, ranks: &ranks, shift };
                prop_assert!(visit(kind, &target.unwrap(), check, &Runtime::unstoppable()).unwrap());
            }
        }
    }
}
