//! Packed forms: the statistics of a criterion laid out for loops over many rows. There are two
//! such loops: histograms of columns, and sums of the rows below a threshold.
//!
//! All sums are integers, so that the state of a scan at any cut can be made without the scan.
//! Scores of cuts have the bits of [`Statistics::score`] or a stated error. A bound is never below
//! the scores that it bounds.

mod binary;
mod classes;
mod entropy;
mod masks;
mod none;
mod row;
mod sums;

pub use binary::PackedBinary;
pub use classes::PackedClasses;
pub use none::NotPacked;
pub use sums::PackedSums;

use std::cmp::Ordering;

use super::bounded::SLACK;
use super::statistics::Statistics;
use crate::simd::Level;

/// The number of columns, or of bits, that are searched side by side, one per lane of a vector register.
pub const LANES: usize = 8;

/// Most bins of a histogram: the number of a bin is a byte.
pub const MAX_BINS: usize = 256;

/// Most classes of all outputs together: the counts of all bins should stay in the second-level cache.
const MAX_CLASSES: usize = 64;

/// Histograms of up to this many bins are counted [in turns](in_turns).
const FEW_BINS: usize = 16;
/// The copies of such a histogram, and words of bits that are set in turn.
const TURNS: usize = 4;

/// A bin of a histogram and the rows beside it, as far as they bound the gain of a cut within the
/// bin. excess(S) = |w(S) (mean(S) - mean(node))|, for a set of rows S of weight w(S).
///
/// `low` is the weight of the rows before the bin, `high` the weight of the rows up to its end;
/// `before` and `after` are the squared excesses of these two sets of rows. `middle` is the square
/// of the sum of both excesses, that is, of twice the excess half way through the bin.
/// `squares` is the sum of the weighted squared distances between the bin's rows and the node's
/// mean.
struct Inside {
    low: f64,
    high: f64,
    before: f64,
    after: f64,
    middle: f64,
    squares: f64,
}

impl Inside {
    /// An upper bound of the squared excess of the rows before a cut within the bin. By Cauchy and
    /// Schwarz, the excess of a subset of the bin differs from half the excess of the whole bin by
    /// at most half the root of the bin's weight times `squares`.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
    fn most_square(&self) -> f64 {
        let Self { low, high, middle, squares, .. } = *self;
        let spread = (high - low) * squares;
        (middle + spread + 2.0 * (middle * spread).sqrt()) * 0.25
    }

    /// An upper bound of the gain of cuts within the bin: the lower of two bounds.
    ///
    /// * By distance: by the excess, which is bounded by [`most_square`](Self::most_square).
    /// * By cost: a side costs no less than the bins that are certainly on it.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
    fn most_gain(&self, node_weight: f64) -> f64 {
        let Self { low, high, before, after, squares, .. } = *self;
        // Weights are integers, and either side of a cut within the bin has a row of the bin.
        let product = |weight: f64| weight * (node_weight - weight);
        let (at_low, at_high) = (product(low + 1.0), product(high - 1.0));
        let least = if at_low < at_high { at_low } else { at_high };
        let by_distance = if least > 0.0 { self.most_square() * node_weight / least } else { f64::INFINITY };
        let left = if low > 0.0 { before / low } else { 0.0 };
        let beyond = node_weight - high;
        let right = if beyond > 0.0 { after / beyond } else { 0.0 };
        let by_cost = left + right + squares;
        if by_distance < by_cost { by_distance } else { by_cost }
    }
}

/// The order of two means, given as sums and weights, by the products of each sum with the other
/// weight.
fn compare_means((sum, weight): (i64, u64), (other_sum, other_weight): (i64, u64)) -> Ordering {
    (i128::from(sum) * i128::from(other_weight)).cmp(&(i128::from(other_sum) * i128::from(weight)))
}

/// Calls `add(turn, row, bin)` for all rows and their bins, each row in its turn. Rows of different turns
/// are to be added up apart, as additions to one number would wait for each other.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a loop around one addition")]
fn in_turns<'a, R, B: Copy>(rows: &'a [R], bins: &[B], mut add: impl FnMut(usize, &'a R, B)) {
    let (rows, rest) = rows.as_chunks::<TURNS>();
    let (bins, rest_bins) = bins.as_chunks::<TURNS>();
    for (rows, bins) in rows.iter().zip(bins) {
        for turn in 0..TURNS {
            add(turn, &rows[turn], bins[turn]);
        }
    }
    rest.iter().zip(rest_bins).for_each(|(row, &bin)| add(0, row, bin));
}

/// For each lane, all bits of a number if a word does not have the bit of the lane, else none.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
fn masks_without(word: u64, bits: &[u32; LANES]) -> [u64; LANES] {
    let mut masks = [0; LANES];
    for lane in 0..LANES {
        masks[lane] = (word >> (bits[lane] & 63) & 1).wrapping_sub(1);
    }
    masks
}

/// A number for each bin.
pub type ByBin = [f64; MAX_BINS];

/// The packed forms of one criterion, and buffers for the loops over them.
pub trait Packed<C: Statistics + ?Sized>: Send {
    /// The weights and targets of a node's rows, in the order of the rows.
    type Rows: Default + Send + Sync;

    /// The buffers; `None` if the criterion has no packed forms for this target and kind of
    /// weights.
    fn new(criterion: &C) -> Option<Self>
    where
        Self: Sized;

    /// Sets `rows` to the rows of a node. O(rows).
    fn load(&self, criterion: &C, node: &C::Totals, samples: &[u32], rows: &mut Self::Rows);

    /// Counts rows into bins: `rows[i]` into the bin `bins[i]`, which is below `n_bins`.
    /// [`bounds`](Self::bounds) may be asked for only `with_bounds`. O(rows + bins).
    fn count(&mut self, node: &C::Totals, rows: &Self::Rows, bins: &[u8], n_bins: usize, with_bounds: bool);

    /// Moves the last bin, which holds the missing values, in front of all others. O(bins).
    fn rotate(&mut self, node: &C::Totals);

    /// Whether a bin has rows, as it was counted.
    fn bin_has_rows(&self, bin: u8) -> bool;

    /// The order of two bins that have rows by the means of order `number`
    /// (see [`Ordered`](super::Ordered)). Bins are numbered as they were counted.
    fn compare_bins(&self, number: usize, a: u8, b: u8) -> Ordering;

    /// The weight of a class in a bin, as it was counted. `None` for criteria that do not order by
    /// [shares](super::Ordered::n_shares).
    fn class_weights(&self) -> Option<impl Fn(usize, u8) -> f64> {
        None::<fn(usize, u8) -> f64>
    }

    /// Makes the histogram one of these bins alone, in this order. Bins are numbered as they were
    /// counted, and may be put in order again. O(bins).
    fn put_in_order(&mut self, node: &C::Totals, bins: &[u8]);

    /// Sets `scores[b]` to the score of the cut after bin `b`. The scores differ from
    /// [`Statistics::score`] by less than half of [`Statistics::tolerance`]. They are minus infinity
    /// after a bin that has no rows or has none after it. O(bins).
    fn scores(&mut self, level: Level, node: &C::Totals, scores: &mut [f64]);

    /// Sets `bounds[b]` to an upper bound of the scores of all cuts between two rows of bin `b`, or
    /// to minus infinity if no such cut can be the best of the node. The [scores](Self::scores) of
    /// this histogram must have been asked for.
    ///
    /// `all_legal` says whether every cut is legal. If not, the best legal cut may be worse than
    /// illegal cuts beside it, so that fewer bins can be ruled out. O(bins).
    fn bounds(&mut self, level: Level, node: &C::Totals, all_legal: bool, bounds: &mut [f64]);

    /// Adds up, for each of some columns side by side, the rows whose rank is below the column's
    /// end. `ranks[i]` has the ranks of `rows[i]`. At most [`LANES`] columns.
    /// O(rows).
    fn add_below<const N: usize>(&mut self, level: Level, rows: &Self::Rows, ranks: &[[u32; N]], ends: &[u32; N]);

    /// Adds up, for each of some bits side by side, the rows whose word does not have the bit.
    /// `words[i]` is the word of `rows[i]`. O(rows).
    fn add_without(&mut self, level: Level, rows: &Self::Rows, words: &[u64], bits: &[u32; LANES]);

    /// The state of a scan that has pushed these rows.
    fn pushed(&self, criterion: &C, node: &C::Totals, scan: &mut C::Scan, rows: Summed) -> C::Pushed;
}

/// Rows that have been added up.
#[derive(Debug, Clone, Copy)]
pub enum Summed {
    /// The rows of this many bins, the first ones.
    Bins(usize),
    /// The rows that [`Packed::add_below`] or [`Packed::add_without`] added up for the column of this
    /// lane.
    Lane(usize),
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::criterion::{Criterion, Visitor, visit};
    use crate::data::Target;
    use crate::error::Result;
    use crate::params::CriterionKind;
    use crate::runtime::Runtime;

    /// A column of a node: the rank of each sample, and the width of a bin of ranks as a power of
    /// two.
    struct Check<'a> {
        samples: &'a [u32],
        ranks: &'a [u32],
        shift: u32,
    }

    impl Visitor for Check<'_> {
        /// Whether the criterion has packed forms.
        type Output = bool;

        fn visit<C: Criterion>(self, criterion: &C) -> Result<bool> {
            let Self { samples, ranks, shift } = self;
            let Some(mut packed) = C::Packed::new(criterion) else { return Ok(false) };
            let node = criterion.totals(samples);
            if criterion.forbids_cuts() && criterion.is_pure(&node) {
                // Such a node is not searched.
                return Ok(true);
            }
            let mut rows = <C::Packed as Packed<C>>::Rows::default();
            packed.load(criterion, &node, samples, &mut rows);
            let bins: Vec<u8> = ranks.iter().map(|rank| (rank >> shift) as u8).collect();
            let n_bins = usize::from(*bins.iter().max().unwrap()) + 1;
            let mut scan = criterion.scan();
            // The score and the pushed weight of the cut that pushes the ranks below `end`.
            let mut cut = |end: u32| {
                let mut pushed = criterion.begin(&node, &mut scan);
                for (&sample, _) in samples.iter().zip(ranks).filter(|&(_, &rank)| rank < end) {
                    criterion.push(&node, &mut scan, &mut pushed, sample);
                }
                let score = criterion.score(&node, &scan, pushed);
                // Forbidden cuts score NaN.
                (if score.is_nan() { f64::NEG_INFINITY } else { score }, C::pushed_weight(&pushed))
            };
            let is_cut = |end: u32| ranks.iter().any(|&rank| rank < end) && ranks.iter().any(|&rank| rank >= end);
            for level in Level::supported() {
                let mut scores = vec![0.0; n_bins];
                packed.count(&node, &rows, &bins, n_bins, false);
                packed.scores(level, &node, &mut scores);
                let without_bounds = scores.clone();
                packed.count(&node, &rows, &bins, n_bins, true);
                packed.scores(level, &node, &mut scores);
                assert_eq!(scores, without_bounds);
                for (bin, &score) in scores.iter().enumerate() {
                    let end = (bin as u32 + 1) << shift;
                    let cut = (is_cut(end) && bins.contains(&(bin as u8))).then(|| cut(end));
                    let Some((expected, weight)) = cut.filter(|&(score, _)| score > f64::NEG_INFINITY) else {
                        assert_eq!(score, f64::NEG_INFINITY);
                        continue;
                    };
                    let tolerance = criterion.tolerance(&node, expected) / 2.0;
                    assert!((score - expected).abs() <= tolerance, "{score} {expected} {tolerance}");
                    let mut scan = criterion.scan();
                    let pushed = packed.pushed(criterion, &node, &mut scan, Summed::Bins(bin + 1));
                    assert_eq!(C::pushed_weight(&pushed), weight);
                    assert_eq!(criterion.score(&node, &scan, pushed), expected);
                }
                let all = (1..=*ranks.iter().max().unwrap()).filter(|&end| is_cut(end));
                let best = all.map(|end| cut(end).0).fold(f64::NEG_INFINITY, f64::max);
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
                        // A bin with the bound minus infinity must not hold the best cut, unless a
                        // cut beside the bin is as good.
                        let is_bounded = score <= bound || all_legal && bound == f64::NEG_INFINITY && score <= best;
                        assert!(!is_inside(0..end) || !is_inside(end..u32::MAX) || is_bounded, "{score} {bound}");
                        let check = |lane: usize, packed: &C::Packed| {
                            let mut scan = criterion.scan();
                            let pushed = packed.pushed(criterion, &node, &mut scan, Summed::Lane(lane));
                            let found = criterion.score(&node, &scan, pushed);
                            assert_eq!(if found.is_nan() { f64::NEG_INFINITY } else { found }, score);
                        };
                        let alone: Vec<[u32; 1]> = ranks.iter().map(|&rank| [rank]).collect();
                        packed.add_below(level, &rows, &alone, &[end]);
                        check(0, &packed);
                        // Several columns; the second has the ranks of the node.
                        let beside: Vec<[u32; LANES]> = ranks.iter().map(|&rank| [7, rank, 0, 9, 9, 9, 9, 9]).collect();
                        packed.add_below(level, &rows, &beside, &[9, end, 1, 5, 9, 0, 10, 11]);
                        check(1, &packed);
                        let above = |place: usize, bit: u32| u64::from(ranks[place] >= end) << bit;
                        let words: Vec<u64> =
                            (0..ranks.len()).map(|place| above(place, 63) | above(place, 3)).collect();
                        packed.add_without(level, &rows, &words, &[3, 0, 63, 1, 2, 0, 0, 3]);
                        for lane in [0, 2, 7] {
                            check(lane, &packed);
                        }
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
            n_outputs in 1..4usize,
            likes_zero in any::<bool>(),
            is_count in any::<bool>(),
        ) {
            let n = numbers.len();
            // Below a random rank, classes follow the ranks, so that some bins have one class only.
            let class = |i: usize| if ranks[i] < pure { ranks[i] / 300 } else { numbers[i].unsigned_abs() } % n_classes;
            // Other outputs take their classes from other rows.
            let of_output = |at: usize| class((at / n_outputs + 7 * (at % n_outputs)) % n);
            let classes: Vec<u32> = (0..n * n_outputs).map(of_output).collect();
            let values: Vec<f64> = numbers.iter().map(|&v| f64::from(v / step) + 0.1).collect();
            // Outputs of several scales; counts, most of them 0 or none.
            let several = |value: &dyn Fn(usize) -> f64| -> Vec<f64> {
                (0..n * n_outputs).map(|at| value(at * 7 % n) * [1.0, 0.25, 64.0][at % n_outputs]).collect()
            };
            let numbers_of = several(&|at| values[at]);
            let fraction = if is_count { 0.0 } else { 0.1 };
            let counts_of = several(&|at| {
                let count = (numbers[at] / step).max(i32::from(!likes_zero));
                f64::from(count) + if count > 0 { fraction } else { 0.0 }
            });
            let samples: Vec<u32> = (0..n as u32).collect();
            for kind in [
                CriterionKind::Gini,
                CriterionKind::Entropy,
                CriterionKind::SquaredError,
                CriterionKind::Poisson,
            ] {
                let target = match kind {
                    CriterionKind::SquaredError => Target::regression(&numbers_of, n_outputs, weights.as_deref()),
                    CriterionKind::Poisson => Target::regression(&counts_of, n_outputs, weights.as_deref()),
                    _ => Target::classification(&classes, &vec![n_classes; n_outputs], weights.as_deref()),
                };
                let check = Check { samples: &samples, ranks: &ranks, shift };
                let is_packed = visit(kind, &target.unwrap(), check, &Runtime::unstoppable()).unwrap();
                // Sums of numbers that are no counts may be too wide for Poisson deviance.
                prop_assert!(is_packed || kind == CriterionKind::Poisson && !is_count);
            }
        }
    }
}
