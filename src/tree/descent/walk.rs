//! A tree, as far as rows that are sent through it need it.

use super::clusters::Clusters;
use super::flat::{Cell, FlatTree};
use super::split_view::SplitView;
use super::zero_ways::Ways;
use crate::data::rows::{Row, for_each_row};

/// A tree that rows can be sent through.
pub trait Walk: Sync {
    /// Whether splits hold their sets, so that [`step_by_bits`](Self::step_by_bits) is faster than
    /// [`step`](Self::step).
    #[doc(hidden)]
    const HOLDS_SETS: bool = false;

    /// The position of the root, at which rows begin.
    fn root(&self) -> u32;
    /// The split at `at`, which is not a leaf.
    #[doc(hidden)]
    fn split(&self, at: u32) -> SplitView<'_>;
    /// The position that follows `at`, which is not a leaf, for a row whose value of a feature is
    /// `value(feature)`.
    fn step(&self, at: u32, value: impl Fn(u32) -> f64) -> u32;
    /// The position that follows, as [`step`](Self::step) finds it, for a row of which the
    /// [bits](super::row_bits) of its categories are known: `bit(feature)` each.
    #[doc(hidden)]
    #[inline]
    fn step_by_bits(&self, at: u32, value: impl Fn(u32) -> f64, _bit: impl Fn(u32) -> u64) -> u32 {
        self.step(at, value)
    }
    /// Adds the values of leaves, positions without [`AT_LEAF`](super::split_view::AT_LEAF), to `sums`, one
    /// after the other: class shares, padded to the output that has most, or means.
    fn add_values(&self, leaves: &[u32], sums: &mut [f64]);
    /// The id of the leaf that a row reaches whose value of a feature is `value(feature)`; `pass`
    /// is called with the id of each node on the way, the leaf's last. O(depth).
    fn descend(&self, value: impl Fn(u32) -> f64, pass: impl FnMut(usize)) -> usize;

    /// Number of leaves.
    fn n_leaves(&self) -> usize;
    /// Number of categories of each feature, 0 for a numeric one; nothing if all are numeric. The same for
    /// all trees of a forest.
    fn n_categories(&self) -> &[u32];
    /// The id of each leaf by its number, if they are not the same. O(nodes).
    fn leaf_ids(&self) -> Option<Vec<u32>> {
        None
    }

    /// The tree laid out for rows of `T` without missing values, if it can be. Its leaves have the numbers
    /// that positions have.
    #[doc(hidden)]
    fn flat<T: Cell>(&self) -> Option<&FlatTree<T>> {
        None
    }

    /// The tree as clusters for a batch of `n_rows` rows, if it can be and if that pays. Its leaves
    /// have the numbers that positions have.
    #[doc(hidden)]
    fn clusters(&self, _n_rows: usize) -> Option<&Clusters> {
        None
    }

    /// The ways of rows without entries for a batch of `n_rows` rows, if that pays. Its leaves have
    /// the numbers that positions have.
    #[doc(hidden)]
    fn ways(&self, _n_rows: usize) -> Option<&Ways> {
        None
    }

    /// The id of the leaf that a row reaches, as [`descend`](Self::descend) finds it.
    #[inline]
    fn leaf(&self, row: Row<'_>, pass: impl FnMut(usize)) -> usize {
        for_each_row!(row, |value| self.descend(value, pass))
    }
}
