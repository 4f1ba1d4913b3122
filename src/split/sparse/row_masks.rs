//! Which rows of a small node store a feature: a copy of the sparsity pattern of up to 64 rows, as
//! one word per feature with one bit per row.
//!
//! A node that draws k features needs the entries of these features in its rows. There are few:
//! most of the drawn features have no entry in the node. To load a block, each row sets its bit in
//! the words of its features. Then each feature costs one look-up, in the node and in all
//! descendants of the node, whose rows are a subset. The alternative is to filter all entries of
//! the rows by the draw, which costs each node all its entries. O(entries of the rows) to load a
//! block, O(k) per node.

use crate::data::SparseColumns;

/// Up to 64 rows, and which of them store each feature.
#[derive(Debug, Default)]
pub(crate) struct Block {
    /// By feature: bit `i` says whether `rows[i]` stores the feature.
    masks: Vec<u64>,
    /// The rows of the block.
    rows: Vec<u32>,
    /// By row: its place in `rows`. The number of a row outside the block means nothing.
    places: Vec<u8>,
    /// Buffer: the drawn features that some row of a node stores, each with the bits of these rows.
    present: Vec<(u32, u64)>,
}

impl Block {
    /// The greatest number of rows in a block.
    pub const CAPACITY: usize = 64;

    /// Whether the block has all these rows, which must be the rows of one node. That node must not
    /// be a proper ancestor of the node that was loaded: then the block has either all rows of the
    /// node or none, and a look at the first row is enough.
    pub fn holds(&self, rows: &[u32]) -> bool {
        let place = |row: u32| self.places.get(row as usize).map(|&place| usize::from(place));
        rows.first().is_some_and(|&row| place(row).and_then(|place| self.rows.get(place)) == Some(&row))
    }

    /// Replaces the rows of the block. O(entries of the old and the new rows).
    pub fn load(&mut self, columns: &SparseColumns, rows: &[u32]) {
        debug_assert!(rows.len() <= Self::CAPACITY);
        self.masks.resize(columns.n_features(), 0);
        self.places.resize(columns.n_samples(), 0);
        for &row in &self.rows {
            for &feature in columns.row(row).features {
                self.masks[feature as usize] = 0;
            }
        }
        self.rows.clear();
        self.rows.extend_from_slice(rows);
        for (place, &row) in rows.iter().enumerate() {
            self.places[row as usize] = place as u8;
            for &feature in columns.row(row).features {
                self.masks[feature as usize] |= 1 << place;
            }
        }
    }

    /// Finds which of `features` some of these rows store, and which of the rows store each. All
    /// rows must be in the block. O(rows + features).
    pub fn present(&mut self, rows: &[u32], features: &[u32]) -> impl Iterator<Item = (u32, BlockRows<'_>)> {
        let node = rows.iter().fold(0, |node, &row| node | 1 << self.places[row as usize]);
        if self.present.len() < features.len() {
            self.present.resize(features.len(), (0, 0));
        }
        // Most features are absent from the node, and a branch on that could not be predicted: so
        // there is none.
        let mut n = 0;
        for &feature in features {
            let mask = self.masks[feature as usize] & node;
            self.present[n] = (feature, mask);
            n += usize::from(mask != 0);
        }
        let Self { present, rows, .. } = self;
        present[..n].iter().map(|&(feature, mask)| (feature, BlockRows { rows, mask }))
    }
}

/// Some rows of a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockRows<'a> {
    rows: &'a [u32],
    mask: u64,
}

impl BlockRows<'_> {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.mask.count_ones() as usize
    }

    /// The rows, in no particular order.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        let mut rest = self.mask;
        std::iter::from_fn(move || {
            let place = rest.trailing_zeros() as usize;
            // Clears the lowest bit.
            rest &= rest.wrapping_sub(1);
            self.rows.get(place).copied()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::data::{Columns, Dataset, Format, SparseView};
    use crate::runtime::Runtime;

    proptest! {
        /// Several blocks are loaded one after the other, and asked for some subsets of their rows.
        #[test]
        fn rows_with_a_feature(
            cells in vec(vec(prop::bool::weighted(0.2), 7), 100),
            blocks in vec((prop::sample::subsequence((0..100u32).collect::<Vec<_>>(), 1..=64), vec(any::<u64>(), 3)), 1..4),
            features in prop::sample::subsequence((0..7u32).collect::<Vec<_>>(), 0..=7),
        ) {
            let (mut indptr, mut indices) = (vec![0i32], Vec::new());
            for row in &cells {
                indices.extend((0..7i32).filter(|&feature| row[feature as usize]));
                indptr.push(indices.len() as i32);
            }
            let data = vec![1f32; indices.len()];
            let stop = AtomicBool::new(false);
            let view = SparseView::new((100, 7), Format::Csr, &indptr, &indices, &data).unwrap();
            let data = Dataset::from_sparse(&view, &Runtime::new(1, &stop)).unwrap();
            let Columns::Sparse(columns) = data.columns() else { unreachable!() };
            let mut block = Block::default();
            prop_assert!(!block.holds(&[0]));
            for (rows, subsets) in blocks {
                block.load(columns, &rows);
                prop_assert!((0..100).all(|row| block.holds(&[row]) == rows.contains(&row)));
                for subset in subsets {
                    let node: Vec<u32> =
                        rows.iter().enumerate().filter(|(i, _)| subset >> i & 1 == 1).map(|(_, &row)| row).collect();
                    let found: Vec<(u32, Vec<u32>)> =
                        block.present(&node, &features).map(|(feature, rows)| (feature, rows.iter().collect())).collect();
                    let has = |feature: u32| -> Vec<u32> {
                        node.iter().copied().filter(|&row| cells[row as usize][feature as usize]).collect()
                    };
                    let expected: Vec<(u32, Vec<u32>)> =
                        features.iter().map(|&f| (f, has(f))).filter(|(_, rows)| !rows.is_empty()).collect();
                    prop_assert_eq!(found, expected);
                    prop_assert!(block.present(&node, &features).all(|(feature, rows)| rows.len() == has(feature).len()));
                }
            }
        }
    }
}
