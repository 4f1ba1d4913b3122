//! The statistics of small subtrees, of at most [`MAX_ROWS`] rows.
//!
//! Most nodes of a tree have few rows, and there the time of a split goes into what does not depend on the
//! rows: wide integers, buffers, proofs. In a small subtree whose rows weigh at most [`MAX_WEIGHT`] all
//! statistics are narrow integers in a few arrays. With any other weights they are doubles, with a bound of
//! their error. The rows of the subtree are loaded once; a node is a list of *places*, the positions of its
//! rows among them.
//!
//! No column is sorted. For each rank of the column in the node, the rows of at most that rank are
//! added up: n steps for n rows, each for [`LANES`] ranks side by side in vector registers. So all
//! cuts of a column are known after about n^2 / 16 additions, or after n if the column has few
//! values. For so few rows that is less than a sort takes.
//!
//! The order of cuts is the exact one: where scores are close, cuts are compared as integers.

mod binary;
mod by_class;
mod classes;
mod filter;
mod format;
mod kernel;
mod none;
mod several;
mod squares;
mod sums;

pub use binary::BinaryRows;
pub use classes::SmallClasses;
pub use filter::{Filter, Rough, set_pairs};
pub use format::{Components, InTwoDoubles};
pub use kernel::{CriterionRows, Precision, SmallKernel};
pub use none::NotSmall;
pub use squares::SquareRows;
pub use sums::SmallSums;

use std::cmp::Ordering;

use super::statistics::Statistics;
use crate::num::{Ratio, Wide};
use crate::simd::Level;

/// The most rows of a small subtree: a place is a byte.
pub const MAX_ROWS: usize = 256;
/// The greatest total weight of the rows of a small subtree, where weights are narrow integers: ten bits.
pub const MAX_WEIGHT: u64 = 1023;
/// Scores that differ by less than this share of the greater one are compared exactly. They have
/// fewer than 32 roundings, each of at most 2^-53.
pub const MARGIN: f64 = 1.0 / (1u64 << 44) as f64;

/// The number of ranks that are compared side by side.
pub const LANES: usize = 16;

/// One number for each row of a node.
pub type ByRow<T> = [T; MAX_ROWS];

/// The number of columns of a node of few rows that are searched side by side: the few cuts of one column do
/// not fill a register, and most of the time of such a node goes into work per column, not per cut.
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
    pub weight: u64,
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

    /// Whether nodes with columns of categories can be searched.
    fn has_categories(&self) -> bool {
        true
    }

    /// Loads the rows of a subtree, at most [`MAX_ROWS`], and changes their order to that in which all its
    /// nodes are to have their rows. Returns false if their numbers are too large. O(rows).
    fn load(&mut self, criterion: &C, samples: &mut [u32]) -> bool;

    /// Adds up the rows of a node. O(rows).
    fn enter(&mut self, criterion: &C, places: &[u8], samples: &[u32]);

    /// The weight of the node.
    fn weight(&self) -> u64;

    /// See [`Statistics::is_pure`].
    fn is_pure(&self, criterion: &C) -> bool;

    /// See [`Statistics::impurity`]; the same bits.
    fn impurity(&self, criterion: &C) -> f64;

    /// See [`Statistics::write_value`]; the same bits.
    fn write_value(&self, criterion: &C, samples: &[u32], value: &mut [f64]);

    /// See [`Statistics::gain_of_split`], given the node's rows on the left.
    fn gain_of_split(&self, _criterion: &C, _left: &[u32]) -> f64 {
        0.0
    }

    /// The weight of a row of the subtree.
    fn row_weight(&self, place: u8) -> u64;

    /// The [impurity](Self::impurity) of a node of one row. No node need be entered.
    fn row_impurity(&self, _place: u8) -> f64 {
        0.0
    }

    /// What a node of one row [predicts](Self::write_value), whose id is `sample`. No node need be entered.
    fn write_row_value(&self, criterion: &C, place: u8, sample: u32, value: &mut [f64]);

    /// Begins the search of the node, whose rows are in the order of [`load`](Self::load), as ranks are
    /// to be. Cuts with a child of less than `least_weight`, which is above 0, score minus infinity. O(rows).
    fn begin(&mut self, criterion: &C, places: &[u8], samples: &[u32], least_weight: f64);

    /// No cut of the node has a higher score, up to [`MARGIN`].
    fn most_score(&self) -> f64 {
        f64::INFINITY
    }

    /// Scores the cuts of a column. Cut number `i` sends rows of at most the rank `lasts[i]` left, where
    /// `lasts[i]` is at least the least rank of the node. Sets `scores[i]` to its score, or to minus infinity
    /// if all rows go left. Returns the highest score. `ranks` has the rank of each row of the node. Scores
    /// may be rounded, and have a unit of their own: see [`least_close`](Self::least_close). O(rows * cuts).
    fn score_cuts(
        &mut self,
        criterion: &C,
        level: Level,
        ranks: &[u32],
        lasts: &[[u32; LANES]],
        scores: &mut [[f64; LANES]],
    ) -> f64;

    /// Scores the cuts of the column that was [scored](Self::score_cuts) last again. `lasts` and `ranks` are
    /// unchanged, but that some rows on the right of all cuts now have rank 0, which no other row has.
    /// O(rows + cuts), or O(rows * cuts).
    fn score_again(
        &mut self,
        criterion: &C,
        level: Level,
        ranks: &[u32],
        lasts: &[[u32; LANES]],
        scores: &mut [[f64; LANES]],
    ) -> f64;

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

    /// Scores subsets of the units of a column of categories: cut number `i` sends the rows left whose unit,
    /// a bit, is one of `lefts[i]`. `units` has the unit of each row of the node. Sets the scores and returns
    /// the highest one as [`score_cuts`](Self::score_cuts) does. O(rows).
    fn score_subsets(
        &mut self,
        criterion: &C,
        level: Level,
        units: &[u32],
        lefts: &[u32; LANES],
        scores: &mut [f64; LANES],
    ) -> f64;

    /// Whether [`score_columns`](Self::score_columns) scores.
    fn scores_columns(&self) -> bool {
        false
    }

    /// As [`score_cuts`](Self::score_cuts), for [`COLUMNS`] columns of a node of at most [`FEW_ROWS`].
    /// `ranks` has the ranks of the node's rows in each column. Each column is cut after the rank of each
    /// row, and `scores` has the scores of these cuts. Returns the highest score of each column: minus
    /// infinity if the column does not vary. `None` if columns are only searched one by one. O(rows^2).
    fn score_columns(
        &mut self,
        _criterion: &C,
        _level: Level,
        _ranks: &[ByColumn<u32>],
        _scores: &mut [ByColumn<f64>],
    ) -> Option<ByColumn<f64>> {
        None
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

    /// How far [`SmallCut::score`] may be from the exact one beside [`MARGIN`].
    fn absolute(&self) -> f64 {
        0.0
    }

    /// Cut number `i` of the column that was scored last, which sends rows of at most the rank `last` left.
    /// `ranks` has the ranks of the node's rows in the column. O(rows).
    fn scored_cut(&self, criterion: &C, i: usize, ranks: &[u32], last: u32) -> SmallCut;

    /// The cut that sends rows of a rank below `end` left. There must be rows on both sides. O(rows).
    fn cut_below(&self, criterion: &C, ranks: &[u32], end: u32) -> SmallCut;

    /// The score of this cut, in the unit and with the error of [`score_cuts`](Self::score_cuts).
    #[inline]
    fn rough_below(&mut self, _criterion: &C, _level: Level, _ranks: &[u32], _end: u32) -> f64 {
        f64::INFINITY
    }

    /// The exact order of two of these cuts. O(rows).
    fn compare_below(&self, criterion: &C, a: (&[u32], u32), b: (&[u32], u32)) -> Ordering;

    /// Three cuts of a column in which some rows have the rank `missing`, above all others. On the left are
    /// the rows of a rank below `end`; all rows but the missing ones; the rows below `end` and the missing
    /// ones. There must be rows on both sides. O(rows).
    fn cuts_with_missing(&self, criterion: &C, ranks: &[u32], end: u32, missing: u32) -> [SmallCut; 3];

    /// The cut that sends the rows of the units of a subset left, which are bits. O(rows).
    fn subset_cut(&self, criterion: &C, units: &[u32], subset: u32) -> SmallCut;

    /// The exact order of two of these cuts. O(rows).
    fn compare_subsets(&self, criterion: &C, units: &[u32], a: u32, b: u32) -> Ordering;

    /// Compares the mean of a subset with the mean of the node. `None` for criteria that have not one
    /// [order](super::Ordered) by means.
    fn compare_subset_mean(&self, _criterion: &C, _units: &[u32], _subset: u32) -> Option<Ordering> {
        None
    }

    /// Adds up the rows of each unit of categories: `units[i]`, below `n_units`, is the unit of row
    /// `i` in the order of `ranks`. O(rows).
    fn add_units(&mut self, criterion: &C, units: &[u8], n_units: usize);

    /// No subset of the units that were [added up](Self::add_units) last makes a cut of a higher
    /// score, up to [`MARGIN`].
    fn most_score_of_units(&self) -> f64 {
        f64::INFINITY
    }

    /// Sorts the units that were [added up](Self::add_units) last, which ascend at first, in the `i`-th order
    /// of [`Ordered`](super::Ordered) to be tried. Returns false if there is no such order. If all cuts are
    /// legal, orders whose cuts are no better than the cuts of earlier orders are left out. Units with equal
    /// means ascend. O(units log(units)), or for the first principal component O(units * classes) more.
    fn sort_units(&mut self, i: usize, all_legal: bool, units: &mut [u8]) -> bool;
}

/// How a cut divides rows, as a parameter of loops that are compiled for either way: rows of at most
/// a rank go left, or rows of certain units of categories.
pub(crate) const BY_RANK: usize = 0;
pub(crate) const BY_UNIT: usize = 1;
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
pub(crate) fn goes_left<const BY: usize>(row: u32, left: u32) -> bool {
    if BY == BY_UNIT { row & left != 0 } else { row <= left }
}

/// The least score that must be compared exactly with this one, if both are scores of [`SmallCut`].
pub fn least_close(score: f64) -> f64 {
    score * (1.0 - MARGIN)
}

/// The higher one of two scores in each lane.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
pub(crate) fn higher<const N: usize>(mut highest: [f64; N], scores: &[f64; N]) -> [f64; N] {
    for lane in 0..N {
        highest[lane] = if scores[lane] > highest[lane] { scores[lane] } else { highest[lane] };
    }
    highest
}

/// The highest of some scores; their number is a power of two.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
pub(crate) fn highest_of<const N: usize>(mut scores: [f64; N]) -> f64 {
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
/// rows it would add up each lane apart, which takes twice as long (`benches/notes/small-subtrees.md`).
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
fn is_end(weight: i32) -> bool {
    weight == 0
}

#[cfg(test)]
mod tests;
