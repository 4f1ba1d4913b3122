//! The statistics of small subtrees: of at most [`MAX_ROWS`] rows that weigh at most
//! [`MAX_WEIGHT`].
//!
//! Most nodes of a tree have few rows, and there the time of a split goes into what does not depend
//! on the rows: wide integers, buffers, proofs. In a small subtree all statistics are narrow
//! integers in a few arrays. The rows of the subtree are loaded once; a node is a list of *places*,
//! the positions of its rows among them.
//!
//! No column is sorted. For each rank of the column in the node, the rows of at most that rank are
//! added up: n steps for n rows, each for [`LANES`] ranks side by side in vector registers. So all
//! cuts of a column are known after about n^2 / 16 additions, or after n if the column has few
//! values. For so few rows that is less than a sort takes.
//!
//! The order of cuts is the exact one: where scores are close, cuts are compared as integers.

mod binary;
mod classes;
mod none;
mod packed;
mod rounded;
mod sums;

pub use binary::SmallBinary;
pub use classes::SmallClasses;
pub use none::NotSmall;
pub use sums::SmallSums;

use std::cmp::Ordering;

use super::Statistics;
use crate::num::{Ratio, Wide};
use crate::simd::Level;

/// The most rows of a small subtree: a place is a byte.
pub const MAX_ROWS: usize = 256;
/// The greatest total weight of the rows of a small subtree: ten bits.
pub const MAX_WEIGHT: u64 = 1023;
/// Scores that differ by less than this share of the greater one are compared exactly. They have
/// fewer than 32 roundings, each of at most 2^-53.
pub const MARGIN: f64 = 1.0 / (1u64 << 44) as f64;

/// The number of ranks that are compared side by side.
pub const LANES: usize = 16;

/// One number for each row of a node.
pub type ByRow<T> = [T; MAX_ROWS];

/// The number of columns of a node of few rows that are searched side by side: the few cuts of one column
/// do not fill a register, and most of the time of such a node goes into what is done once per column.
pub const COLUMNS: usize = 8;

/// A number for each of these columns.
pub type ByColumn<T> = [T; COLUMNS];

/// A cut, as far as its rank among the cuts of a node depends on it.
#[derive(Debug, Clone, Copy)]
pub struct SmallCut {
    /// The score: the higher, the better the split. Only a few roundings are allowed to make it differ from
    /// the exact score.
    pub score: f64,
    /// The weight of the rows on the left.
    pub weight: u32,
}

impl SmallCut {
    /// Whether the scores of two cuts differ by so little that they do not tell which one is better.
    #[inline]
    fn is_close(&self, other: &Self) -> bool {
        (self.score - other.score).abs() <= self.score.max(other.score) * MARGIN
    }
}

/// The exact score of a cut, as a quotient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExactScore {
    /// The numerator.
    pub numerator: u128,
    /// The denominator: the product of the weights of both sides, or 1.
    pub denominator: u32,
}

impl ExactScore {
    /// The exact order of two scores.
    pub fn compare(&self, other: &Self) -> Ordering {
        if self.denominator == other.denominator {
            return self.numerator.cmp(&other.numerator);
        }
        let ratio =
            |score: &Self| Ratio { numerator: Wide::from(score.numerator), denominator: score.denominator.into() };
        ratio(self).compare(&ratio(other))
    }
}

/// The rows of one small subtree, and the statistics of one of its nodes: the one that was
/// [entered](Self::enter) last.
pub trait SmallRows<C: Statistics + ?Sized>: Send + Sized {
    /// The buffers; `None` if the criterion has no statistics of small subtrees.
    fn new(criterion: &C) -> Option<Self>;

    /// Loads the rows of a subtree, at most [`MAX_ROWS`], and changes their order to that in which all its
    /// nodes are to have their rows. Returns false if their numbers are too large. O(rows).
    fn load(&mut self, criterion: &C, samples: &mut [u32]) -> bool;

    /// Adds up the rows of a node. O(rows).
    fn enter(&mut self, places: &[u8]);

    /// The weight of the node.
    fn weight(&self) -> u64;

    /// See [`Statistics::is_pure`].
    fn is_pure(&self) -> bool;

    /// See [`Statistics::impurity`]; the same bits.
    fn impurity(&self, criterion: &C) -> f64;

    /// See [`Statistics::write_value`]; the same bits.
    fn write_value(&self, criterion: &C, samples: &[u32], value: &mut [f64]);

    /// The weight of a row of the subtree.
    fn row_weight(&self, place: u8) -> u32;

    /// The [impurity](Self::impurity) of a node of one row. No node need be entered.
    fn row_impurity(&self, _place: u8) -> f64 {
        0.0
    }

    /// What a node of one row [predicts](Self::write_value), whose id is `sample`. No node need be entered.
    fn write_row_value(&self, criterion: &C, place: u8, sample: u32, value: &mut [f64]);

    /// Begins the search of the node, whose rows are in the order of [`load`](Self::load), as ranks are
    /// to be. O(rows).
    fn begin(&mut self, places: &[u8]);

    /// No cut of the node has a higher score, up to [`MARGIN`].
    fn most_score(&self) -> f64 {
        f64::INFINITY
    }

    /// Scores the cuts of a column. Cut number `i` sends rows of at most the rank `lasts[i]` left,
    /// where `lasts[i]` is at least the least rank of the node. Sets `scores[i]` to its score, or
    /// to minus infinity if all rows go left. Returns the highest score. `ranks` are those of the
    /// node's rows. Scores may be rounded, and have a unit of their own: see
    /// [`least_close`](Self::least_close). O(rows * cuts).
    fn score_cuts(&mut self, level: Level, ranks: &[u32], lasts: &[[u32; LANES]], scores: &mut [[f64; LANES]]) -> f64;

    /// Scores the cuts of the column that was [scored](Self::score_cuts) last again. `lasts` are the same as
    /// before, and so are `ranks`, but for rows on the right of all cuts that now have rank 0, as no other
    /// row has. O(rows + cuts), or O(rows * cuts).
    fn score_again(&mut self, level: Level, ranks: &[u32], lasts: &[[u32; LANES]], scores: &mut [[f64; LANES]]) -> f64;

    /// The exact order of the cuts of the node; the greater one is the better split. `exactly` tells the
    /// order by exact scores, and is called only where scores are close.
    #[inline]
    fn compare(&self, cut: &SmallCut, other: &SmallCut, exactly: impl FnOnce() -> Ordering) -> Ordering {
        if self.are_scores_exact() || !cut.is_close(other) {
            return cut.score.partial_cmp(&other.score).unwrap_or(Ordering::Equal);
        }
        exactly()
    }

    /// Whether different exact scores of cuts of the node are so far apart that they do not round to the same
    /// number.
    fn are_scores_exact(&self) -> bool {
        false
    }

    /// Scores subsets of the units of a column of categories: cut number `i` sends the rows left
    /// whose unit, a bit, is one of `lefts[i]`. `units` are those of the node's rows. Sets the scores
    /// and returns the highest one as [`score_cuts`](Self::score_cuts) does. O(rows).
    fn score_subsets(&mut self, level: Level, units: &[u32], lefts: &[u32; LANES], scores: &mut [f64; LANES]) -> f64;

    /// Whether [`score_columns`](Self::score_columns) is there.
    fn scores_columns(&self) -> bool {
        false
    }

    /// As [`score_cuts`](Self::score_cuts), for [`COLUMNS`] columns of a node of at most
    /// [`FEW_ROWS`]. `ranks` are those of the node's rows in each column. Each column is cut after
    /// the ranks of all rows, and `scores` are those of the cuts after the ranks of each row.
    /// Returns the highest score of each column: minus infinity if the column does not vary.
    /// O(rows^2).
    fn score_columns(
        &mut self,
        _level: Level,
        _ranks: &[ByColumn<u32>],
        _scores: &mut [ByColumn<f64>],
    ) -> ByColumn<f64> {
        unreachable!("columns are searched one by one")
    }

    /// The least score that the best of some cuts may have if the highest score of these cuts is
    /// this one, both as [`score_cuts`](Self::score_cuts), [`score_again`](Self::score_again) or
    /// [`score_columns`](Self::score_columns) finds them.
    fn least_close(&self, highest: f64) -> f64 {
        least_close(highest)
    }

    /// The least score, as found, of a cut that may be as good as a [`SmallCut`] of this score.
    fn least_to_win(&self, score: f64) -> f64 {
        least_close(score)
    }

    /// Cut number `i` of the column that was scored last, which sends rows of at most the rank `last` left.
    /// `ranks` are those of the node's rows in the column. O(rows).
    fn scored_cut(&self, i: usize, _ranks: &[u32], _last: u32) -> SmallCut {
        self.cut(i)
    }

    /// Whether each of the subsets that were scored last has the mean of the node. Only for criteria
    /// with one [order](super::Ordered) by means.
    fn have_equal_means(&self) -> bool {
        unreachable!("the criterion has several orders")
    }

    /// Whether the rows on the left of cut number `i` of those that were scored last have the lower
    /// mean. Only for criteria with one [order](super::Ordered) by means.
    fn is_lower(&self, _i: usize) -> bool {
        unreachable!("the criterion has several orders")
    }

    /// Cut number `i` of those that were [scored](Self::score_subsets) last.
    fn cut(&self, i: usize) -> SmallCut;

    /// The exact score of this cut.
    fn exact(&self, i: usize) -> ExactScore;

    /// The cut that sends rows of a rank below `end` left. There must be rows on both sides.
    /// O(rows).
    fn cut_below(&self, ranks: &[u32], end: u32) -> SmallCut;

    /// The exact score of this cut. O(rows).
    fn exact_below(&self, ranks: &[u32], end: u32) -> ExactScore;

    /// The cuts of a column with rows of the rank `missing`, above all others: those of a rank below
    /// `end` on the left; all rows but the missing ones; those below `end` and the missing ones. There must
    /// be rows on both sides. O(rows).
    fn cuts_with_missing(&self, ranks: &[u32], end: u32, missing: u32) -> [SmallCut; 3];

    /// Adds up the rows of each unit of categories: `units[i]`, below `n_units`, is the unit of row
    /// `i` in the order of `ranks`. O(rows).
    fn add_units(&mut self, units: &[u8], n_units: usize);

    /// No subset of the units that were [added up](Self::add_units) last makes a cut of a higher
    /// score, up to [`MARGIN`].
    fn most_score_of_units(&self) -> f64 {
        f64::INFINITY
    }

    /// Sorts the units that were [added up](Self::add_units) last, which ascend at first, in one of
    /// the orders of [`Ordered`](super::Ordered) that are to be tried. `i` counts these orders. Returns
    /// false if there is no such order. Orders whose cuts are no better than those of the orders before are
    /// left out. Units with equal means ascend. O(units log(units)), or for the first principal component
    /// O(units * classes) more.
    fn sort_units(&mut self, i: usize, units: &mut [u8]) -> bool;
}

/// How a cut divides rows, as a parameter of loops that are compiled for either way: rows of at most
/// a rank go left, or rows of certain units of categories.
const BY_RANK: usize = 0;
const BY_UNIT: usize = 1;
/// By rank, in a node of at most [`FEW_ROWS`], which have no more cuts.
const BY_RANK_OF_FEW: usize = 2;
/// The most rows of a node that has few: its cuts fill half of the lanes, or its columns are searched
/// side by side.
pub const FEW_ROWS: usize = LANES / 2;

/// The number of lanes that may have a cut.
const fn n_lanes(by: usize) -> usize {
    if by == BY_RANK_OF_FEW { FEW_ROWS } else { LANES }
}

/// Whether a row goes left, by its rank and the last rank on the left, or by its unit and the units
/// on the left, which are bits.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
fn goes_left<const BY: usize>(row: u32, left: u32) -> bool {
    if BY == BY_UNIT { row & left != 0 } else { row <= left }
}

/// The least score that must be compared exactly with this one, if scores are those of [`SmallCut`].
pub fn least_close(score: f64) -> f64 {
    score * (1.0 - MARGIN)
}

/// The higher one of two scores in each lane.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
fn higher<const N: usize>(mut highest: [f64; N], scores: &[f64; N]) -> [f64; N] {
    for lane in 0..N {
        highest[lane] = if scores[lane] > highest[lane] { scores[lane] } else { highest[lane] };
    }
    highest
}

/// The highest of some scores; their number is a power of two.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
fn highest_of<const N: usize>(mut scores: [f64; N]) -> f64 {
    // By halves: one score after the other would wait for each other.
    let mut n = N;
    while n > 1 {
        n /= 2;
        for lane in 0..n {
            let other = scores[lane + n];
            scores[lane] = if scores[lane] > other { scores[lane] } else { other };
        }
    }
    scores[0]
}

/// Whether a list of rows has ended: no row weighs nothing, so the answer is always no. But the
/// compiler takes a loop that may end at any row for one that it cannot vectorise over the rows, and
/// puts the lanes of each row into registers, which is what the loops over rows are made for. Over
/// rows it would add up each lane apart, which takes twice as long (`benches/NOTES.md`).
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
fn is_end(weight: i32) -> bool {
    weight == 0
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

    /// A node at some places of the rows `samples`, and the ranks of its rows in a column.
    struct Check<'a> {
        samples: &'a [u32],
        places: &'a [u8],
        ranks: &'a [u32],
    }

    fn assert_same(cut: &SmallCut, expected: &SmallCut) {
        assert_eq!((cut.weight, cut.score.to_bits()), (expected.weight, expected.score.to_bits()));
    }

    /// The cuts with missing values are those of ranks that put them last or first.
    fn check_with_missing<C: Criterion>(rows: &C::Small, ranks: &[u32], end: u32, missing: u32) {
        let first: Vec<u32> = ranks.iter().map(|&rank| if rank == missing { 0 } else { rank + 1 }).collect();
        let expected = [rows.cut_below(ranks, end), rows.cut_below(ranks, missing), rows.cut_below(&first, end + 1)];
        for (cut, expected) in rows.cuts_with_missing(ranks, end, missing).iter().zip(expected) {
            assert_same(cut, &expected);
        }
    }

    /// Columns side by side have the scores of the cuts after each of the ranks `ends`. The last column does
    /// not vary.
    fn check_columns<C: Criterion>(
        rows: &mut C::Small,
        level: Level,
        ranks: &[u32],
        (ends, scores): (&[u32], &[f64]),
        highest: f64,
    ) {
        let column = |rank, i| if i + 1 < COLUMNS { rank } else { 7 };
        let lanes: Vec<ByColumn<u32>> = ranks.iter().map(|&rank| std::array::from_fn(|i| column(rank, i))).collect();
        let mut lanes_scores = vec![[0.0; COLUMNS]; lanes.len()];
        let highest_of_all = rows.score_columns(level, &lanes, &mut lanes_scores);
        let expected = std::array::from_fn(|i| if i + 1 < COLUMNS { highest } else { f64::NEG_INFINITY });
        assert_eq!(highest_of_all, expected);
        for (scores_of_row, rank) in lanes_scores.iter().zip(ranks) {
            let i = ends.binary_search(rank).unwrap();
            assert!(scores_of_row[..COLUMNS - 1].iter().all(|&score| score == scores[i]));
        }
    }

    /// A node of one row has the same impurity and value, whether it is entered or not.
    fn check_row<C: Criterion>(criterion: &C, rows: &mut C::Small, place: u8, sample: u32) {
        let [mut value, mut expected] = [vec![-1.0; criterion.n_values()], vec![0.0; criterion.n_values()]];
        let impurity = rows.row_impurity(place);
        rows.write_row_value(criterion, place, sample, &mut value);
        rows.enter(&[place]);
        rows.write_value(criterion, &[sample], &mut expected);
        assert_eq!(impurity.to_bits(), rows.impurity(criterion).to_bits());
        assert_eq!(u64::from(rows.row_weight(place)), rows.weight());
        assert_eq!(value, expected);
    }

    impl Visitor for Check<'_> {
        /// Whether the criterion has small statistics, and the numbers are small enough.
        type Output = bool;

        fn visit<C: Criterion>(self, criterion: &C) -> Result<bool> {
            let Self { samples, places, ranks } = self;
            let Some(mut rows) = C::Small::new(criterion) else { return Ok(false) };
            let mut samples = samples.to_vec();
            let before = samples.clone();
            if !rows.load(criterion, &mut samples) {
                return Ok(false);
            }
            assert!(before.iter().all(|sample| samples.contains(sample)));
            let node: Vec<u32> = places.iter().map(|&place| samples[usize::from(place)]).collect();
            let totals = criterion.totals(&node);
            rows.enter(places);
            assert_eq!(rows.weight(), criterion.weight(&totals));
            assert_eq!(rows.is_pure(), criterion.is_pure(&totals));
            assert_eq!(rows.impurity(criterion).to_bits(), criterion.impurity(&totals).to_bits());
            let [mut value, mut expected] = [vec![-1.0; criterion.n_values()], vec![0.0; criterion.n_values()]];
            rows.write_value(criterion, &node, &mut value);
            criterion.write_value(&totals, &node, &mut expected);
            assert_eq!(value, expected);

            if C::FORBIDS_CUTS && rows.is_pure() {
                // Such a node is not searched.
                return Ok(true);
            }
            rows.begin(places);
            check_row(criterion, &mut rows, places[0], node[0]);
            rows.enter(places);
            let weights = places.iter().map(|&place| u64::from(rows.row_weight(place)));
            assert_eq!(weights.sum::<u64>(), rows.weight());
            let mut ends = ranks.to_vec();
            ends.sort_unstable();
            ends.dedup();
            let mut lasts = ends.clone();
            lasts.resize(lasts.len().next_multiple_of(LANES), *ends.last().unwrap());
            let mut scan = criterion.scan();
            // `None` for forbidden cuts.
            let proofs: Vec<Option<C::Proof>> = ends[..ends.len() - 1]
                .iter()
                .map(|&end| {
                    let mut pushed = criterion.begin(&totals, &mut scan);
                    for (&sample, _) in node.iter().zip(ranks).filter(|&(_, &rank)| rank <= end) {
                        criterion.push(&totals, &mut scan, &mut pushed, sample);
                    }
                    let is_forbidden = criterion.score(&totals, &scan, pushed).is_nan();
                    (!is_forbidden).then(|| criterion.proof(&scan, pushed))
                })
                .collect();
            // The same cuts of the lower ranks, with the rows of the highest rank on the left.
            let missing = *ends.last().unwrap();
            let mut below = ends[..ends.len() - 1].to_vec();
            below.resize(below.len().next_multiple_of(LANES), below.last().copied().unwrap_or_default());
            let moved: Vec<u32> = ranks.iter().map(|&rank| if rank == missing { 0 } else { rank }).collect();
            for level in Level::supported() {
                let below = below.as_chunks().0;
                let mut scores = vec![[0.0; LANES]; below.len()];
                let highest = rows.score_cuts(level, &moved, below, &mut scores);
                let mut again = scores.clone();
                rows.score_cuts(level, ranks, below, &mut again);
                assert_eq!(rows.score_again(level, &moved, below, &mut again), highest);
                assert_eq!(scores, again);
                let cuts = below.as_flattened().iter().zip(scores.as_flattened()).enumerate();
                for (i, (&last, _)) in cuts.filter(|&(_, (_, &score))| score > f64::NEG_INFINITY) {
                    assert_same(&rows.scored_cut(i, &moved, last), &rows.cut_below(&moved, last + 1));
                }

                let mut scores = vec![[0.0; LANES]; lasts.len() / LANES];
                let highest = rows.score_cuts(level, ranks, lasts.as_chunks().0, &mut scores);
                let scores = scores.as_flattened();
                assert_eq!(highest, scores.iter().copied().fold(f64::NEG_INFINITY, f64::max));
                assert!(scores[proofs.len()..].iter().all(|&score| score == f64::NEG_INFINITY));
                let cut = |i: usize| rows.scored_cut(i, ranks, ends[i]);
                let cuts: Vec<SmallCut> = (0..proofs.len()).map(cut).collect();
                let are_rounded = rows.scores_columns();
                let exact: Vec<ExactScore> = ends.iter().map(|&end| rows.exact_below(ranks, end + 1)).collect();
                let compare = |i: usize, j: usize| rows.compare(&cuts[i], &cuts[j], || exact[i].compare(&exact[j]));
                for (i, a) in cuts.iter().enumerate() {
                    assert!(are_rounded || a.score.to_bits() == scores[i].to_bits());
                    let is_best = (0..cuts.len()).all(|j| compare(i, j) != Ordering::Less);
                    assert!(are_rounded || rows.exact(i) == exact[i]);
                    assert!(!is_best || scores[i] >= rows.least_close(highest));
                    let mut worse = (0..cuts.len()).filter(|&j| compare(i, j) != Ordering::Less);
                    assert!(worse.all(|j| scores[i] >= rows.least_to_win(cuts[j].score)));
                    assert_same(a, &rows.cut_below(ranks, ends[i] + 1));
                    if ends[i] + 1 < missing {
                        check_with_missing::<C>(&rows, ranks, ends[i] + 1, missing);
                    }
                    assert!(a.score <= rows.most_score() * (1.0 + MARGIN));
                    assert_eq!(a.score == f64::NEG_INFINITY, proofs[i].is_none());
                    let Some(proof) = &proofs[i] else { continue };
                    for (j, other) in proofs.iter().enumerate().filter_map(|(j, other)| Some((j, other.as_ref()?))) {
                        assert_eq!(compare(i, j), criterion.compare(&totals, proof, other));
                    }
                }

                if rows.scores_columns() && ranks.len() <= FEW_ROWS {
                    check_columns::<C>(&mut rows, level, ranks, (&ends, scores), highest);
                }
            }
            Ok(true)
        }
    }

    proptest! {
        #[test]
        fn small_statistics_agree_with_scans(
            (numbers, ranks, weights, is_in) in (2..=MAX_ROWS).prop_flat_map(|n| (
                vec(-1000..1000i32, n),
                vec(1..41u32, n),
                prop_oneof![Just(None), vec((1..4u8).prop_map(f64::from), n).prop_map(Some)],
                vec(any::<bool>(), n),
            )),
            step in prop::sample::select(vec![1, 300, 900]),
            n_classes in 2..9u32,
            outlier in prop::sample::select(vec![0.0, 1e9, 1e14]),
            n_outputs in 1..4usize,
            likes_zero in any::<bool>(),
            is_count in any::<bool>(),
        ) {
            let n = numbers.len();
            let classes: Vec<u32> = numbers.iter().map(|&v| v.unsigned_abs() / 7 % n_classes).collect();
            // An outlier, which may be in the node or not, squeezes all other targets.
            let value = |(i, &v): (usize, &i32)| if i == 0 { outlier } else { f64::from(v / step) + 0.1 };
            // The targets have scales of their own.
            let row = |cell| (0..n_outputs).map(move |output| value(cell) * (1 + 7 * output) as f64);
            let values: Vec<f64> = numbers.iter().enumerate().flat_map(row).collect();
            let fraction = if is_count { 0.0 } else { 0.1 };
            let count = |&v: &i32| {
                let count = (v / step).max(i32::from(!likes_zero));
                f64::from(count) + if count > 0 { fraction } else { 0.0 }
            };
            let row = |v| (0..n_outputs).map(move |output| count(v) * [1.0, 0.25, 64.0][output]);
            let counts: Vec<f64> = numbers.iter().flat_map(row).collect();
            let samples: Vec<u32> = (0..n as u32).collect();
            let mut places: Vec<u8> = (0..n).filter(|&i| is_in[i]).map(|i| i as u8).collect();
            if places.len() < 2 {
                places = vec![0, 1];
            }
            let ranks = &ranks[..places.len()];
            for kind in [CriterionKind::Gini, CriterionKind::SquaredError, CriterionKind::Poisson] {
                let target = match kind {
                    CriterionKind::SquaredError => Target::regression(&values, n_outputs, weights.as_deref()),
                    CriterionKind::Poisson => Target::regression(&counts, n_outputs, weights.as_deref()),
                    _ => Target::classification(&classes, &[n_classes], weights.as_deref()),
                };
                let check = Check { samples: &samples, places: &places, ranks };
                let is_small = visit(kind, &target.unwrap(), check, &Runtime::unstoppable()).unwrap();
                // Only outliers, great weights and scales that differ make the numbers of a
                // regression too wide.
                let may_be_wide = n > 64 || outlier > 0.0 || n_outputs > 1 && n > 16;
                let may_be_wide = may_be_wide && kind == CriterionKind::SquaredError;
                // Numbers that hardly vary have a centre, which squared error subtracts.
                prop_assert!(is_small || may_be_wide || kind == CriterionKind::Poisson && !is_count);
            }
        }
    }
}
