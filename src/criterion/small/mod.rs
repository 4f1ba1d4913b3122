//! The statistics of small subtrees: of at most [`MAX_ROWS`] rows that weigh at most [`MAX_WEIGHT`].
//!
//! Most nodes of a tree have few rows, and there the time of a split goes into what does not depend
//! on the rows: wide integers, buffers, proofs. In a small subtree all statistics are narrow
//! integers in a few arrays. The rows of the subtree are loaded once; a node is a list of *places*,
//! the positions of its rows among them.
//!
//! No column is sorted. For each row of the node, the rows of at most its rank are added up: n steps
//! for n rows, each for all sums side by side in vector registers. So all cuts of a column are known
//! after about n^2 / 16 additions, which for so few rows is less than a sort takes.
//!
//! The order of candidates is the exact one. Scores of different cuts differ by more than
//! [`MARGIN`], or the criterion compares them as integers.

mod binary;
mod classes;
mod none;
mod sums;

pub use binary::SmallBinary;
pub use classes::SmallClasses;
pub use none::NotSmall;
pub use sums::SmallSums;

use std::cmp::Ordering;

use super::Statistics;
use crate::simd::Level;

/// The most rows of a small subtree (bench `sweep` has the limit at which subtrees become small).
pub const MAX_ROWS: usize = 64;
/// The greatest total weight of the rows of a small subtree.
///
/// For one output of classes, a score is an integer divided by `w (W - w)`, where `w` is the weight
/// of a side and `W <= 256` that of the node. Two different scores differ by at least `16 / W^4`,
/// and no score exceeds `W^2 / 4`: so they differ by at least 2^-42 of the greater one.
pub const MAX_WEIGHT: u64 = 256;
/// Scores that differ by less than this share of the greater one are compared exactly. They have
/// fewer than eight roundings, each of at most 2^-53.
pub const MARGIN: f64 = 1.0 / (1u64 << 44) as f64;

/// The number of ranks that are compared side by side. Ranks are padded to a multiple of it.
pub const LANES: usize = 16;
/// The rank in padding, above the ranks of all rows.
pub const PADDING: u32 = u32::MAX;

/// One number for each row of a node.
pub type ByRow<T> = [T; MAX_ROWS];

/// A cut, as far as its rank among the cuts of a node depends on it.
#[derive(Debug, Clone, Copy)]
pub struct SmallCut {
    /// The score: the higher, the better the split.
    pub score: f64,
    /// The weight of the rows on the left.
    pub weight: u64,
    /// For numbers: the total weight, times the weighted sum of the targets on the left, less what
    /// that would be if the left had the mean of the node.
    pub excess: i64,
}

impl SmallCut {
    /// The order of two cuts by score, if their scores are far enough apart.
    fn compare_scores(&self, other: &Self) -> Option<Ordering> {
        let margin = self.score.max(other.score) * MARGIN;
        ((self.score - other.score).abs() > margin).then(|| self.score.total_cmp(&other.score))
    }
}

/// The rows of one small subtree, and the statistics of one of its nodes: the one that was
/// [entered](Self::enter) last.
pub trait SmallRows<C: Statistics + ?Sized>: Send + Sized {
    /// The buffers; `None` if the criterion has no statistics of small subtrees.
    fn new(criterion: &C) -> Option<Self>;

    /// Loads the rows of a subtree, at most [`MAX_ROWS`]. Returns false if their numbers are too
    /// large. O(rows).
    fn load(&mut self, criterion: &C, samples: &[u32]) -> bool;

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

    /// Begins the search of the node. Changes the order of its rows to that in which `ranks` are to
    /// be given. O(rows).
    fn begin(&mut self, places: &[u8], samples: &mut [u32]);

    /// No cut of the node has a higher score, up to [`MARGIN`].
    fn most_score(&self) -> f64 {
        f64::INFINITY
    }

    /// Sets `scores[i]` to the score of the cut that sends rows of at most the rank `ranks[i]` left,
    /// or to minus infinity if all rows go left. Returns the highest score. `ranks` has the ranks of
    /// the node's `n` rows and is padded to a multiple of [`LANES`]. O(rows^2).
    fn score_cuts(&mut self, level: Level, ranks: &[u32], n: usize, scores: &mut [f64]) -> f64;

    /// The cut whose score [`score_cuts`](Self::score_cuts) has set in `scores[i]`.
    fn cut(&self, i: usize, score: f64) -> SmallCut;

    /// The cut that sends rows of a rank below `end` left. O(rows).
    fn cut_below(&self, ranks: &[u32], end: u32) -> SmallCut;

    /// The exact order of two cuts; the greater one is the better split.
    fn compare(&self, a: &SmallCut, b: &SmallCut) -> Ordering {
        a.compare_scores(b).unwrap_or(Ordering::Equal)
    }
}
