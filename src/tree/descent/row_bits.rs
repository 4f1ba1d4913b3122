//! The categories of rows as bits, for splits that hold their [small sets](crate::tree::sets) themselves: a
//! split then tests a category without a branch, and rows have their categories converted once for all trees.

use crate::tree::sets::SmallSet;
use crate::tuning::tuned;

tuned! {
    /// Rows get bits if there are at most so many categorical features for each tree (bench `sweep`).
    fn features_per_tree() -> usize = 4;
}

/// The most bits for a block of rows, a word for each: 8 MiB.
const MOST_BITS: usize = 1 << 20;

/// For some rows the bit of the category of each feature, 0 of numeric features.
#[derive(Debug)]
pub struct RowBits {
    n_features: usize,
    categorical: Vec<u32>,
    bits: Vec<u64>,
}

impl RowBits {
    /// Room for `n_rows` rows, whose features have these numbers of categories, that go through `n_trees`
    /// trees; nothing if there are no categories, or more than pays.
    pub fn new(n_categories: &[u32], n_rows: usize, n_trees: usize) -> Option<Self> {
        let n_categorical = n_categories.iter().filter(|&&n| n > 0).count();
        let n_bits = n_rows.saturating_mul(n_categories.len());
        if n_categorical == 0 || n_categorical > n_trees * features_per_tree() || n_bits > MOST_BITS {
            return None;
        }
        let mut categorical = Vec::with_capacity(n_categorical);
        categorical.extend((0..).zip(n_categories).filter(|&(_, &n)| n > 0).map(|(feature, _)| feature));
        Some(Self { n_features: n_categories.len(), categorical, bits: vec![0; n_bits] })
    }

    /// Sets the bits of a row.
    pub fn set(&mut self, row: usize, value: impl Fn(u32) -> f64) {
        let bits = &mut self.bits[row * self.n_features..][..self.n_features];
        for &feature in &self.categorical {
            bits[feature as usize] = SmallSet::bit(value(feature));
        }
    }

    /// The bit of a row for a feature.
    #[inline]
    pub fn bit(&self, row: usize, feature: u32) -> u64 {
        self.bits[row * self.n_features + feature as usize]
    }
}
